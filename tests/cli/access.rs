//! Who may call, as a person at a terminal meets it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use rustix::process::Signal;

use crate::home::{DEADLINE, Home, Up};

#[test]
fn a_token_that_protects_nothing_is_refused() {
    let home = Home::new();
    let empty = "hint: leave --token and TURNLOOM_TOKEN out";
    home.run(&["up", "--no-open", "--token", ""]).code(2).says("the token is empty").says(empty);
    let mut command = home.command(&["up", "--no-open"]);
    command.env("TURNLOOM_TOKEN", "");
    home.end(command).code(2).says("the token is empty");
    home.run(&["sessions", "--token", ""]).code(2).says("the token is empty");
    home.run(&["up", "--no-open", "--token", " secret"]).code(2).says("begins or ends with a space");
    home.run(&["up", "--no-open", "--token", "s\u{e9}cret"]).code(2).says("a header cannot carry");
    // Who can be reached by others needs one that cannot be guessed; nothing is opened before that is known.
    let weak = "too easy to guess";
    home.run(&["up", "--no-open", "--port", "0", "--host", "192.0.2.1", "--token", "secret"]).code(1).says(weak);
    fs::write(home.0.path().join("config.toml"), "hosts = [\"loom.example\"]").unwrap();
    home.run(&["up", "--no-open", "--port", "0", "--token", "secret"]).code(1).says(weak);
    // Without any it is for programs of this machine only: not for whoever comes by a name.
    home.run(&["up", "--no-open", "--port", "0", "--no-token"]).code(1).says("`hosts` names loom.example");
    fs::write(home.0.path().join("token"), "secret").unwrap();
    home.run(&["up", "--no-open", "--port", "0"]).code(1).says(weak);
    fs::remove_file(home.0.path().join("config.toml")).unwrap();
    let everywhere = ["up", "--no-open", "--port", "0", "--no-token", "--host", "192.0.2.1"];
    home.run(&everywhere).code(1).says("192.0.2.1:0 is not");
}

#[test]
fn settings_that_make_no_sense_are_named() {
    let home = Home::new();
    for (config, named) in [
        ("origins = [\"*\"]", "\"*\" in `origins` is not an origin"),
        ("max_followers = 9223372036854775807", "`max_followers` must be between 1 and 1000000"),
    ] {
        fs::write(home.0.path().join("config.toml"), config).unwrap();
        home.run(&["up", "--no-open", "--port", "0"]).code(1).says(named);
        let doctor = home.run(&["doctor"]).code(1);
        assert!(doctor.out().contains(named), "{}", doctor.out());
    }
}

/// The status of a request with these headers.
fn status(url: &str, method: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    write!(stream, "{method} /health HTTP/1.1\r\n{headers}connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_whitespace().nth(1).unwrap().to_owned()
}

#[test]
fn refused_hosts_and_origins_are_told_once_with_what_to_do() {
    let home = Home::new();
    let up = home.up(&["--no-sample"]);
    let host = up.url.strip_prefix("http://").unwrap().to_owned();
    let of = |origin: &str| format!("host: {host}\r\norigin: {origin}\r\naccess-control-request-method: POST\r\n");
    for _ in 0..3 {
        assert_eq!(status(&up.url, "GET", "host: loom.example\r\n"), "421");
        assert_eq!(status(&up.url, "GET", &of("https://app.example")), "403");
        // A page that sends JSON or a token gets no further than the question whether it may.
        assert_eq!(status(&up.url, "OPTIONS", &of("https://chat.example")), "403");
        assert_eq!(status(&up.url, "OPTIONS", &of("null")), "403");
    }
    up.running.signal(Signal::TERM);
    let told = up.running.end().code(0).err();
    for advice in [
        "hosts = [\"loom.example\"]",
        "origins = [\"https://app.example\"]",
        "origins = [\"https://chat.example\"]",
        "serve it over HTTP",
    ] {
        assert_eq!(told.matches(advice).count(), 1, "{advice}: {told}");
    }
    assert!(!told.contains("[\"null\"]"), "no setting takes that: {told}");
}

#[test]
fn browsers_are_listed_and_signed_out() {
    let home = Home::new();
    let up = home.up(&["--no-sample"]);
    home.run(&["sign-ins"]).code(0).says("No browser is signed in");
    let link = home.run(&["open", "--no-open"]).code(0).out();
    let path = link.trim().strip_prefix(&up.url).unwrap().to_owned();
    let mut stream = TcpStream::connect(up.url.strip_prefix("http://").unwrap()).unwrap();
    let host = up.url.strip_prefix("http://").unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nuser-agent: Browser 7\r\nconnection: close\r\n\r\n")
        .unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    let listed = home.run(&["sign-ins"]).code(0).says("1 browser signed in").out();
    let (id, rest) = listed.split_once(' ').unwrap();
    assert!(rest.contains("Browser 7"), "{listed}");
    home.run(&["sign-ins", "--end", "nobody"]).code(1).says("there is no sign-in");
    home.run(&["sign-ins", "--end", id]).code(0);
    assert_eq!(home.run(&["sign-ins", "--json"]).code(0).out(), "");
    home.run(&["sign-ins", "--end-all"]).code(0);
}

/// A daemon with a limit that a shell sets.
#[expect(clippy::disallowed_methods, reason = "this is the person, not the daemon")]
fn limited(home: &Home, limit: &str) -> Up {
    let program = home.command(&[]).get_program().to_owned();
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &format!("{limit} && exec \"$0\" \"$@\"")]).arg(program);
    shell.args(["up", "--port", "0", "--no-open", "--no-sample"]).env_clear();
    shell.env("TURNLOOM_DATA", home.0.path()).env("HOME", home.0.path()).env("PATH", "/usr/bin:/bin");
    home.up_by(shell)
}

#[test]
fn running_out_of_files_is_told_and_survived() {
    let home = Home::new();
    let up = limited(&home, "ulimit -n 64");
    let host = up.url.strip_prefix("http://").unwrap();
    let strangers: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(host).unwrap()).collect();
    // It stands behind them in the line.
    assert_eq!(status(&up.url, "GET", &format!("host: {host}\r\n")), "200");
    drop(strangers);
    up.running.signal(Signal::TERM);
    let told = up.running.end().code(0).err();
    assert_eq!(told.matches("a connection could not be accepted; the daemon goes on").count(), 1, "{told}");
}

#[test]
fn the_limit_of_open_files_is_raised_or_its_lack_is_told() {
    let limits = |limit: &str| {
        let home = Home::new();
        let up = limited(&home, limit);
        let limits = fs::read_to_string(format!("/proc/{}/limits", up.running.0.id())).unwrap();
        let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        let soft: u64 = line.split_whitespace().nth(3).unwrap().parse().unwrap();
        up.running.signal(Signal::TERM);
        (soft, up.running.end().code(0).err())
    };
    let (soft, told) = limits("ulimit -Sn 300");
    assert!(soft >= 4096 && !told.contains("max_followers"), "{soft}: {told}");
    let (soft, told) = limits("ulimit -n 300");
    assert!(soft == 300 && told.contains("may open 300 files and sockets"), "{soft}: {told}");
}
