//! A real agent instead of the mock: what the daemon adds between its line and the follower's frame, and what a live session costs the daemon.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde_json::json;
use turnloom_scripted::{Options, Script, Server};

use super::agent::stamp;
use super::latency::{Spread, WARM_UP, read_marks};
use super::loom::{Served, directory, runtime};
use super::memory::weigh_each;
use super::support::{Client, Daemon};
use super::table::{Rounds, Table, Unit};
use super::{Scale, floor, wire};

/// How far apart the model's words are: as fast as models talk.
const APART_MS: u64 = 10;

pub(crate) fn measure(scale: Scale, table: &mut Table) {
    let Some(program) = program("claude/claude") else { return };
    let count = scale.of(400, 5) + WARM_UP;
    let apart = std::time::Duration::from_millis(APART_MS);
    let (mut lines, mut syncs, mut sends) = (Spread::default(), Spread::default(), Spread::default());
    for _ in 0..scale.of(3, 1) {
        lines.push(from_line(&program, count));
        syncs.push(floor::paced_syncs(count, apart));
        sends.push(floor::paced_sends(count, apart));
    }
    lines.rows(table, "Claude Code's line to follower, 100/s", &syncs.plus(&sends));
    let mut live = Rounds::default();
    live.push(live_sessions(&program, scale.of(8, 1)));
    table.row("memory, each live session of Claude Code, in the daemon", Unit::Kib, live, None);
}

/// A program that the tests use.
pub(crate) fn program(path: &str) -> Option<PathBuf> {
    let var = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = var("XDG_CACHE_HOME").or_else(|| Some(var("HOME")?.join(".cache")));
    let agents = var("TURNLOOM_AGENTS").or_else(|| Some(cache?.join("turnloom/agents")))?;
    let found = Some(agents.join(path)).filter(|program| program.is_file());
    if found.is_none() {
        eprintln!("{path} is not installed for tests, so it is not measured; run `cargo xtask agents` once");
    }
    found
}

/// A model that says this many words with room for a time in each.
pub(crate) fn model(runtime: &tokio::runtime::Runtime, words: usize, apart_ms: u64) -> Server {
    let text = vec!["x".repeat(24); words].join(" ");
    let script = format!(
        "[[reply]]\nwhen = {{ user = \"measure\" }}\nalways = true\nstep = [{{ text = \"{text}\", every_ms = {apart_ms} }}]\n\
         [[reply]]\nalways = true\nstep = [{{ text = \"Hello.\" }}]\n"
    );
    let script = Script::parse(&script).expect("a script");
    let address = "127.0.0.1:0".parse().expect("an address");
    runtime.block_on(Server::start_with(script, address, Options::fresh())).expect("a model")
}

fn environment(model: &Server, home: &Path) -> Vec<(String, String)> {
    let home = home.display().to_string();
    [("ANTHROPIC_BASE_URL", model.url()), ("ANTHROPIC_API_KEY", "dummy".to_owned()), ("HOME", home)]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

/// The agent's lines get the time they leave at on their way; a socket reads them.
fn from_line(program: &Path, count: usize) -> Vec<f64> {
    let (home, models) = (directory(), runtime());
    let model = model(&models, count, APART_MS);
    let wrapper = stamped(home.path(), program);
    let served = Served::start_with(|config| {
        config.claude.program = Some(wrapper);
        config.claude.env = environment(&model, home.path()).into_iter().collect();
    });
    let body = json!({ "session_id": "s", "runtime": "claude", "params": { "cwd": home.path() } });
    assert_eq!(served.client.post("/api/sessions", &body).status, 201);
    served.client.turn("s", "hello");
    let head = served.client.session("s")["head"].as_u64().expect("a head");
    let mut stream = TcpStream::connect(&served.client.address).expect("a connection");
    wire::request(&mut stream, &served.client, &format!("/api/sessions/s/events?after={head}"), "text/event-stream");
    let reader = std::thread::spawn(move || {
        let mut samples = Vec::with_capacity(count);
        read_marks(stream, count, |mark, now| samples.push(now.saturating_sub(mark) as f64 / 1e6));
        samples
    });
    served.client.say("s", "measure");
    let samples = reader.join().expect("the reader");
    served.stop();
    models.block_on(model.stop());
    samples
}

/// The same program, with [`stamp_lines`] before it.
pub(crate) fn stamped(folder: &Path, program: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join("stamped");
    let this = std::env::current_exe().expect("this program");
    let script = format!("#!/bin/sh\nexec '{}' stamp '{}' \"$@\"\n", this.display(), program.display());
    std::fs::write(&path, script).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    path
}

/// What stands between the daemon and the real program: it puts the time into what streams.
pub(crate) fn stamp_lines(program: &str, args: &[&str]) -> ExitCode {
    let mut command = Command::new(program);
    let mut child = command.args(args).stdout(Stdio::piped()).spawn().expect("the program");
    let mut stdout = std::io::stdout().lock();
    let lines = BufReader::new(child.stdout.take().expect("its output")).split(b'\n');
    for mut line in lines.map_while(Result::ok) {
        if wire::contains(&line, "text_delta") || wire::contains(&line, "item/agentMessage/delta") {
            stamp(&mut line);
        }
        line.push(b'\n');
        if stdout.write_all(&line).and_then(|()| stdout.flush()).is_err() {
            break;
        }
    }
    let code = child.wait().ok().and_then(|status| status.code()).unwrap_or(1);
    u8::try_from(code).unwrap_or(1).into()
}

/// Sessions whose agent is warm, after a turn.
fn live_sessions(program: &Path, count: usize) -> f64 {
    let (home, models) = (directory(), runtime());
    let model = model(&models, 1, APART_MS);
    let config = format!("durability = \"process\"\n[claude]\nprogram = \"{}\"\n", program.display());
    let mut env = environment(&model, home.path());
    env.push(("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()));
    let mut daemon = Daemon::start_in(&config, env);
    let cwd = home.path().to_owned();
    let talk = |client: &Client, id: &str| {
        let body = json!({ "session_id": id, "runtime": "claude", "params": { "cwd": cwd } });
        assert_eq!(client.post("/api/sessions", &body).status, 201);
        client.turn(id, "hello");
    };
    talk(&daemon.client, "first");
    let each = weigh_each(&daemon, count, || (0..count).for_each(|n| talk(&daemon.client, &format!("live-{n}"))));
    daemon.terminate();
    models.block_on(model.stop());
    each
}
