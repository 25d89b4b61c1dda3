//! The command line, from the outside: the real program, a data directory of its own for each test, ports that are free.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "the helpers of a test may fail it")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::{Value, json};

#[path = "cli/access.rs"]
mod access;
#[path = "cli/agents.rs"]
mod agents;
#[path = "support/eventually.rs"]
mod eventually;
#[path = "cli/home.rs"]
mod home;
#[path = "cli/https.rs"]
mod https;
#[path = "cli/policy.rs"]
mod policy;
#[path = "cli/recordings.rs"]
mod recordings;
#[path = "cli/snapshots.rs"]
mod snapshots;

use home::{DEADLINE, Home, Running, eventually};

/// A text without what differs from run to run.
fn stable(text: &str) -> String {
    let filters = [
        (r"\d+(\.\d)? m?s\b", "[TIME]"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}", "[UUID]"),
        (r"127\.0\.0\.1:\d+", "[ADDRESS]"),
        (r"token=\w+", "token=[TOKEN]"),
        (r"port \d{5}\s+", "port [PORT] "),
        (r"/\S*/\.tmp\w+", "[DATA]"),
    ];
    filters.iter().fold(text.to_owned(), |text, (pattern, name)| {
        regex::Regex::new(pattern).unwrap().replace_all(&text, *name).into_owned()
    })
}

macro_rules! snapshot {
    ($name:literal, $text:expr) => {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("cli");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!($name, stable(&$text)));
    };
}

#[test]
fn every_command_explains_itself() {
    let home = Home::new();
    let help = home.run(&["--help"]).code(0).out();
    // All that it lists, so that none is forgotten here.
    let listed = help.lines().take_while(|line| *line != "Options:").filter_map(|line| line.strip_prefix("  "));
    let commands: Vec<&str> =
        listed.filter_map(|line| line.split(' ').next()).filter(|name| !name.is_empty()).collect();
    assert!(commands.len() > 15, "{commands:?}");
    snapshot!("help", help);
    let all: Vec<String> = commands.iter().map(|name| home.run(&[name, "--help"]).code(0).out()).collect();
    snapshot!("help_of_commands", all.join("\n================\n"));
}

#[test]
fn wrong_usage_is_2() {
    let home = Home::new();
    home.run(&[]).code(2).says("Usage: turnloom");
    home.run(&["run"]).code(2).says("<PROMPT>");
    home.run(&["sessions", "--nope"]).code(2).says("--nope");
    home.run(&["answer", "s", "a"]).code(2).says("--once");
    home.run(&["answer", "s", "a", "--once", "--reject"]).code(2).says("cannot be used with");
    home.run(&["up", "--no-token", "--token", "t"]).code(2).says("cannot be used with");
}

#[test]
fn a_turn_needs_no_daemon() {
    let ran = Home::new().run(&["run", "echo hi"]).code(0);
    assert_eq!(ran.out(), "hi\n");
    snapshot!("run_echo", ran.err());
}

#[test]
fn a_prompt_may_come_from_stdin() {
    assert_eq!(Home::new().pipe(&["run", "-"], "echo piped\n").code(0).out(), "piped\n");
    Home::new().pipe(&["run", "-"], " \n").code(1).says("hint: say something");
}

#[test]
fn the_demo_is_shown_and_stored() {
    let home = Home::new();
    let ran = home.run(&["run", "demo", "--yes"]).code(0);
    snapshot!("run_demo", ran.err());
    snapshot!("run_demo_answer", ran.out());

    let stored = home.run(&["events", "last", "--json"]).code(0).out();
    let events: Vec<Value> = stored.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seqs: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    assert_eq!(events.last().unwrap()["type"], "done");

    // A daemon sends the very bytes.
    let up = home.up(&[]);
    let session = events[0]["session_id"].as_str().unwrap();
    let sent = sse(&up.url, &token(&home), session, events.len());
    assert_eq!(sent, stored.lines().collect::<Vec<_>>());
    assert_eq!(home.run(&["events", "last", "--json"]).code(0).out(), stored);

    let some = home.run(&["events", "last", "--json", "--after", "3", "--types", "done,user_message"]).code(0).out();
    let last = stored.lines().last().unwrap();
    assert_eq!(some.lines().last().unwrap(), last);
    assert!(some.lines().count() <= 2);
}

#[test]
fn a_token_that_was_given_is_wanted_in_another_terminal_and_never_printed() {
    let home = Home::new();
    let token = "a-token-that-nobody-guesses-7d1f3a90";
    let mut child = home.command(&["up", "--port", "0", "--no-open", "--token", token]).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let _running = Running(child);
    let mut greeting = String::new();
    while !greeting.contains("--follow") {
        assert!(out.read_line(&mut greeting).unwrap() > 0);
    }
    assert!(greeting.contains("\n  export TURNLOOM_TOKEN=...   # the token you gave\n"), "{greeting}");
    assert!(!greeting.contains(token) && !greeting.contains("--token"), "{greeting}");
    // What it says to try works as it says.
    home.run(&["sessions"]).code(1).says("token");
    let mut sessions = home.command(&["sessions"]);
    sessions.env("TURNLOOM_TOKEN", token);
    assert!(home.end(sessions).code(0).out().contains("try-me"));
}

/// The data of a stream of events, without our own client.
fn sse(url: &str, token: &str, session: &str, count: usize) -> Vec<String> {
    let host = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    // Without chunks, so that lines are lines.
    let head = format!("GET /api/sessions/{session}/events?after=0 HTTP/1.0\r\nHost: {host}\r\n");
    write!(stream, "{head}Authorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n").unwrap();
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned)).take(count).collect()
}

fn token(home: &Home) -> String {
    fs::read_to_string(home.0.path().join("token")).unwrap().trim().to_owned()
}

#[test]
fn a_turn_that_fails_is_1_and_says_what_to_do() {
    let ran = Home::new().run(&["run", "error"]).code(1);
    snapshot!("run_error", ran.err());
    Home::new().run(&["run", "crash"]).code(1).says("exit");
}

#[test]
fn what_is_not_there_is_1_and_says_what_to_do() {
    let home = Home::new();
    home.run(&["run", "--session", "nope", "hi"]).code(1).says("hint: list them with `turnloom sessions`");
    home.run(&["events", "nope"]).code(1).says("error: there is no session \"nope\"");
    home.run(&["events", "last"]).code(1).says("hint: make one with `turnloom run \"demo\"`");
    home.run(&["run", "--runtime", "nope", "hi"]).code(1).says("there is no runtime \"nope\"");
    for args in [&["send", "last", "hi"][..], &["stop", "last"], &["asks"], &["open"], &["events", "last", "--follow"]]
    {
        home.run(args).code(1).says("error: no daemon runs for").says("hint: start one with `turnloom up`");
    }
    home.run(&["--url", "http://127.0.0.1:1", "sessions"]).code(1).says("does not answer").says("hint: start one");
    home.run(&["--url", "ftp://x", "sessions"]).code(1).says("must begin with http://");
}

#[test]
fn without_a_person_the_answer_is_no_and_why() {
    let ran = Home::new().run(&["run", "permission"]).code(0).says("hint: nobody is at this terminal");
    assert_eq!(ran.out(), "I did not run it: nobody is at the terminal to ask.\n");
    let ran = Home::new().run(&["run", "question"]).code(0);
    assert_eq!(ran.out(), "Then I will choose myself.\n");
}

#[test]
fn ctrl_c_stops_the_turn() {
    let home = Home::new();
    let mut child = home.command(&["run", "hang"]).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    // Its words are held until they end, so the log is asked.
    let running = Running(child);
    home.await_session();
    home.await_event("last", "delta");
    running.signal(Signal::INT);
    running.end().code(130).says("Stopped after");
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "Waiting.\n");
    assert!(home.run(&["events", "last"]).code(0).out().contains("stopped"));
    nothing_is_left(&home);
}

#[test]
fn whoever_stops_in_a_terminal_keeps_what_waits() {
    for by_key in [false, true] {
        let home = Home::new();
        let _up = home.up(&["--no-sample"]);
        let turn = Running(home.command(&["run", "hang"]).spawn().unwrap());
        home.await_session();
        home.await_event("last", "delta");
        home.run(&["send", "last", "echo later"]).code(0);
        if by_key {
            turn.signal(Signal::INT);
            turn.end().code(130);
        } else {
            home.run(&["stop", "last"]).code(0).says("Stopped").says("1 message waits for `turnloom continue");
        }
        home.await_event("last", "done");
        let queue = || {
            let session: Value = serde_json::from_str(&home.run(&["sessions", "--json"]).code(0).out()).unwrap();
            (session["queued"].as_u64().unwrap(), session["held"].as_u64().unwrap())
        };
        assert_eq!(queue(), (1, 1), "by key: {by_key}");
        home.run(&["continue", "last"]).code(0);
        eventually("it goes on", || (queue() == (0, 0)).then_some(()));
    }
}

#[test]
fn more_ctrl_c_leave_at_once() {
    let home = Home::new();
    let mut running = Running(home.command(&["run", "stubborn"]).spawn().unwrap());
    home.await_session();
    home.await_event("last", "turn_started");
    // Signals that come together count as one, so they are sent until they are heard.
    eventually("the program ends", || {
        let ended = running.0.try_wait().unwrap();
        if ended.is_none() {
            running.signal(Signal::INT);
        }
        ended
    });
    running.end().code(130);
    nothing_is_left(&home);
}

#[test]
fn a_conversation_takes_one_line_per_turn() {
    let ran = Home::new().pipe(&["chat"], "echo one\n\necho two\n").code(0);
    assert_eq!(ran.out(), "one\n\ntwo\n");
    let ran = Home::new().pipe(&["chat", "--yes"], "permission\n").code(0);
    assert_eq!(ran.out(), "Done, with your permission.\n");
    assert_eq!(Home::new().pipe(&["chat"], "/quit\necho never\n").code(0).out(), "");
}

#[test]
fn a_daemon_greets_lists_and_ends() {
    let home = Home::new();
    let mut child = home.command(&["up", "--port", "0", "--no-open"]).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut greeting = String::new();
    while !greeting.contains("--follow") {
        assert!(out.read_line(&mut greeting).unwrap() > 0);
    }
    let running = Running(child);
    snapshot!("up", greeting);
    home.await_event("try-me", "done"); // of its greeting

    snapshot!("sessions", home.run(&["sessions"]).code(0).out());
    let listed = home.run(&["sessions", "--json", "-q", "try"]).code(0).out();
    assert_eq!(serde_json::from_str::<Value>(&listed).unwrap()["session_id"], "try-me");
    home.run(&["sessions", "--archived"]).code(0).says("There are no sessions");
    home.run(&["up", "--port", "0", "--no-open"])
        .code(1)
        .says("is in use by another turnloom")
        .says("hint: stop it first");
    assert!(home.run(&["open", "--no-open"]).code(0).out().contains("/login?token="));

    home.run(&["send", "try-me", "hang"]).code(0);
    home.await_event("try-me", "delta");
    running.signal(Signal::TERM);
    running.end().code(0);
    nothing_is_left(&home);
}

/// Whoever a daemon started carries its name; nobody does now.
fn nothing_is_left(home: &Home) {
    let instance = fs::read_to_string(home.0.path().join("instance")).unwrap();
    let names = |path: std::path::PathBuf| {
        fs::read(path).is_ok_and(|bytes| bytes.windows(instance.len()).any(|part| part == instance.as_bytes()))
    };
    eventually("no process is left", || {
        let mut processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let left = processes.any(|path| names(path.join("environ")) || names(path.join("cmdline")));
        (!left).then_some(())
    });
}

#[test]
fn a_port_that_is_taken_is_said_so() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = Home::new().run(&["up", "--port", &port, "--no-open"]).code(1).says("is in use by another program");
    ran.says("hint: stop that program, or choose another port");
    Home::new()
        .run(&["up", "--host", "0.0.0.0", "--port", "0", "--no-token", "--no-open"])
        .code(1)
        .says("loopback only");
}

#[test]
fn messages_and_answers_go_through_a_daemon() {
    let home = Home::new();
    let _up = home.up(&["--durability", "process"]);
    home.await_event("try-me", "done"); // of its greeting
    home.run(&["asks"]).code(0).says("Nothing waits");
    home.run(&["stop", "last"]).code(0).says("Nothing was running");

    let sent = home.run(&["send", "try-me", "permission", "--id", "msg_1"]).code(0);
    assert_eq!(sent.out(), "msg_1\n");
    assert_eq!(home.run(&["send", "try-me", "permission", "--id", "msg_1"]).code(0).out(), "msg_1\n");
    let asked = home.await_event("try-me", "permission_request");
    let ask_id = asked["data"]["ask_id"].as_str().unwrap();
    snapshot!("asks", home.run(&["asks"]).code(0).out());
    let asks = home.run(&["asks", "--json"]).code(0).out();
    assert_eq!(serde_json::from_str::<Value>(&asks).unwrap()["ask_id"], ask_id);
    home.run(&["send", "try-me", "no", "--when", "reject"])
        .code(1)
        .says("a turn is running")
        .says("hint: wait for the turn");
    home.run(&["answer", "try-me", "last", "--value", "1"]).code(1).says("hint: it takes --once, --always or --reject");
    home.run(&["answer", "try", ask_id, "--reject", "--message", "not now"]).code(0);
    home.run(&["answer", "try-me", ask_id, "--once"]).code(1).says("cli answered this first");
    home.await_event("try-me", "done");
    assert_eq!(home.await_event("try-me", "permission_resolved")["data"]["reason"], "not now");

    home.run(&["send", "try-me", "question"]).code(0);
    home.await_event("try-me", "question_request");
    home.run(&["answer", "try-me", "last", "--answer", "1"]).code(1).says("there are 2 questions, and 1 answers");
    home.run(&["answer", "try-me", "last", "--answer", "2", "--answer", "9"]).code(1).says("type a number from 1 to 3");
    home.run(&["answer", "try-me", "last", "--answer", "2", "--answer", "1,weld"]).code(0);
    let answered = home.await_event("try-me", "question_resolved");
    assert_eq!(answered["data"]["answers"], json!([["Silk"], ["Indigo", "Weld"]]));

    home.run(&["run", "--session", "try-me", "interrupt", "--yes"]).code(0);
    assert_eq!(home.run(&["run", "--session", "last", "echo again"]).code(0).out(), "again\n");
    home.run(&["run", "--session", "try-me", "background forever"]).code(0);
    home.run(&["stop", "last"]).code(0).says("No turn was running; 1 task goes on in the background.");
}

#[test]
fn a_daemon_may_have_a_token_of_its_own() {
    let home = Home::new();
    let up = home.up(&["--token", "secret"]);
    home.run(&["sessions"]).code(1).says("hint: give its token with --token");
    assert!(home.run(&["sessions", "--token", "secret"]).code(0).out().contains("try-me"));
    let elsewhere = Home::new();
    assert!(elsewhere.run(&["--url", &up.url, "--token", "secret", "sessions"]).code(0).out().contains("try-me"));
}

#[test]
fn following_survives_a_restart() {
    let home = Home::new();
    let up = home.up(&[]);
    home.await_event("try-me", "done"); // of its greeting
    let mut child = home.command(&["events", "try-me", "--follow", "--json"]).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let follower = Running(child);
    home.run(&["run", "--session", "try-me", "echo one"]).code(0);
    let mut lines = vec![];
    let mut read_to = |text: &str| loop {
        let mut line = String::new();
        assert!(out.read_line(&mut line).unwrap() > 0);
        let found = line.contains(text);
        lines.push(line);
        if found {
            return;
        }
    };
    read_to("\"text\":\"one\"");
    read_to("\"type\":\"done\"");
    up.running.signal(Signal::TERM);
    up.running.end().code(0);
    let up = home.up(&[]);
    home.run(&["run", "--session", "try-me", "echo two"]).code(0);
    read_to("\"text\":\"two\"");
    read_to("\"type\":\"done\"");
    assert_eq!(home.run(&["events", "try-me", "--json"]).code(0).out(), lines.concat());
    drop(follower);
    drop(up);
}

#[test]
fn a_reader_may_leave() {
    let home = Home::new();
    home.run(&["run", "stream 3000 64"]).code(0);
    let mut child = home.command(&["events", "last", "--json"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ran = Running(child).end().code(0);
    assert_eq!(ran.err(), "");
}

#[test]
fn doctor_says_what_is_wrong() {
    let home = Home::new();
    // Whether this machine has an agent must not matter.
    let agents = "[claude]\nprogram = \"/nowhere/claude\"\n[codex]\nprogram = \"/nowhere/codex\"\n";
    // Nor whether it has control groups.
    let config = |port: u16| {
        let text = format!("port = {port}\ncontrol_groups = \"never\"\n{agents}");
        fs::write(home.0.path().join("config.toml"), text).unwrap();
    };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    config(port);
    let ran = home.run(&["doctor"]).code(1).says("1 thing to mend");
    assert!(
        ran.out().contains(&format!("✗ port {port}")) && ran.out().contains("fix: stop the program"),
        "{}",
        ran.out()
    );
    drop(taken);
    home.run(&["run", "hi"]).code(0);
    snapshot!("doctor", home.run(&["doctor"]).code(0).out());
    let up = home.up(&[]);
    let well = home.run(&["doctor"]).code(0).out();
    assert!(well.contains(&up.url) && well.contains("in use by the daemon"), "{well}");
    // The port that counts is the one it listens on, and not the one of the settings.
    let listens = up.url.rsplit(':').next().unwrap();
    let row = well.lines().find(|line| line.contains("port ")).unwrap();
    assert!(row.contains(&format!("port {listens} ")) && row.ends_with("used by the daemon"), "{well}");

    fs::write(home.0.path().join("config.toml"), "colour = 1\n").unwrap();
    let ran = home.run(&["doctor"]).code(1);
    assert!(ran.out().contains("fix: correct the file"), "{}", ran.out());
    let file = home.0.path().join("file");
    fs::write(&file, "").unwrap();
    let ran = home.run(&["doctor", "--data", file.to_str().unwrap()]).code(1);
    assert!(ran.out().contains("is not a directory") && ran.out().contains("fix: use another --data"), "{}", ran.out());
}

#[test]
fn doctor_says_what_keeps_hold_of_agents() {
    let home = Home::new();
    let row = |report: &str| report.lines().find(|line| line.contains("containment")).unwrap().to_owned();
    // Which of the two it is depends on the machine; that the daemon and the doctor say the same does not.
    let alone = row(&home.run(&["doctor"]).out());
    let _up = home.up(&["--no-sample"]);
    let beside = row(&home.run(&["doctor"]).out());
    for said in [&alone, &beside] {
        let groups = said.contains("control groups in /") && said.contains("nothing an agent starts gets away");
        assert!(groups || said.contains("process groups and environment, because "), "{said}");
    }
    assert_eq!(alone.contains("control groups in /"), beside.contains("control groups in /"), "{alone}\n{beside}");
    let other = Home::new();
    fs::write(other.0.path().join("config.toml"), "control_groups = \"never\"").unwrap();
    let never = row(&other.run(&["doctor"]).out());
    assert!(never.contains("process groups and environment, because "), "{never}");
}

#[test]
fn a_session_goes_to_a_file_and_back() {
    let home = Home::new();
    home.run(&["run", "big 40000"]).code(0);
    let file = home.0.path().join("session.jsonl");
    let path = file.to_str().unwrap();
    fs::write(&file, "something that everybody could read").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    home.run(&["export", "last", "-o", path]).code(0).says("Wrote");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let exported = fs::read_to_string(&file).unwrap();
    assert_eq!(home.run(&["export", "last"]).code(0).out(), exported);
    assert!(exported.contains("\"base64\":"));
    let events = home.run(&["events", "last", "--json"]).code(0).out();

    let other = Home::new();
    let id = other.run(&["import", path]).code(0).out();
    assert_eq!(other.run(&["events", id.trim(), "--json"]).code(0).out(), events);
    assert_eq!(other.run(&["export", "last"]).code(0).out(), exported);
    other.run(&["import", path]).code(1).says("exists").says("hint: give it another id with --as");
    let _up = other.up(&[]);
    assert_eq!(other.run(&["import", path, "--as", "copy"]).code(0).out(), "copy\n");
    // Under another name only the address changes.
    let moved = |line: &str| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        event["session_id"] = json!("copy");
        event
    };
    let copied = other.run(&["events", "copy", "--json"]).code(0).out();
    let copied: Vec<Value> = copied.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(copied == events.lines().map(moved).collect::<Vec<_>>());
    // It came from a file, so somebody is asked; without a person the answer is no.
    assert!(!other.run(&["run", "--session", "copy", "echo on"]).out().contains("on\n"));
    assert_eq!(other.run(&["run", "--yes", "--session", "copy", "echo on"]).code(0).out(), "on\n");
    assert_eq!(other.run(&["run", "--session", "copy", "echo more"]).code(0).out(), "more\n");

    let lines: Vec<&str> = exported.lines().collect();
    let broken = |text: String, error: &str| {
        fs::write(&file, text).unwrap();
        other.run(&["import", path, "--as", "broken"]).code(1).says(error).says("hint: ");
    };
    broken([&lines[..3], &lines[4..]].concat().join("\n"), "the sequence must be dense");
    broken(lines[..lines.len() - 1].join("\n"), "is missing");
    broken(lines[..lines.len() - 3].join("\n"), "the file ends at event");
    broken("{}\n".to_owned(), "not the beginning of an exported session");
    broken(String::new(), "the file is empty");
    broken(exported.replacen("\"base64\":\"", "\"base64\":\"AAAA", 1), "is not what its name says");
    other.run(&["import", "/nowhere/at/all"]).code(1).says("cannot read /nowhere/at/all");
}

#[test]
fn shells_can_complete() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(home.run(&["completions", shell]).code(0).out().contains("turnloom"), "{shell}");
    }
    home.run(&["completions", "cmd"]).code(2);
}
