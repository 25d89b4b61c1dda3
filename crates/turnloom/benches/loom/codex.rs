//! Many sessions of Codex on one app-server: what each costs the daemon and the server, and what the daemon adds while all of them talk.

use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use turnloom_scripted::Server;

use super::latency::{Spread, WARM_UP, read_marks};
use super::loom::{Served, directory, runtime};
use super::memory::weigh_each;
use super::real::{model, program, stamped};
use super::support::{Client, Daemon, processes_with};
use super::table::{Rounds, Table, Unit, percentile};
use super::{Scale, floor, wire};

/// From one word of a session to its next.
const APART_MS: u64 = 100;

pub(crate) fn measure(scale: Scale, table: &mut Table) {
    let Some(program) = program("codex/codex") else { return };
    let sessions = scale.of(50, 2);
    let (mut daemon, mut server) = (Rounds::default(), Rounds::default());
    let (mut alone, mut among) = (Rounds::default(), Rounds::default());
    let (mut lines, mut syncs, mut sends) = (Spread::default(), Spread::default(), Spread::default());
    for _ in 0..scale.of(3, 1) {
        let weight = weigh(&program, sessions);
        daemon.push(weight.daemon);
        server.push(weight.server);
        alone.push(weight.alone);
        among.push(weight.among);
        let words = scale.of(40, WARM_UP);
        lines.push(all_talk(&program, sessions, words));
        let apart = Duration::from_millis(APART_MS) / u32::try_from(sessions).unwrap_or(1);
        syncs.push(floor::paced_syncs(sessions * words + WARM_UP, apart));
        sends.push(floor::paced_sends(sessions * words + WARM_UP, apart));
    }
    let what = format!("Codex's line to follower, {sessions} sessions talk, 10/s each");
    lines.rows(table, &what, &syncs.plus(&sends));
    table.row(format!("a turn of Codex among {sessions} live sessions, p50"), Unit::Millis, among, Some(alone));
    table.row(format!("memory, each of {sessions} live sessions of Codex, in the daemon"), Unit::Kib, daemon, None);
    table.row("memory, each of them, in the app-server they share (private)", Unit::Kib, server, None);
}

/// A model, and a home for Codex that knows it.
fn place(models: &tokio::runtime::Runtime, words: usize) -> (Server, TempDir) {
    let (model, home) = (model(models, words, APART_MS), directory());
    let settings = format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"Scripted\"\nbase_url = \"{}/v1\"\n\
         wire_api = \"responses\"\nrequires_openai_auth = false\nenv_key = \"SCRIPTED_KEY\"\n",
        model.url()
    );
    std::fs::create_dir(home.path().join(".codex")).expect("a folder");
    std::fs::write(home.path().join(".codex/config.toml"), settings).expect("settings");
    (model, home)
}

fn environment(home: &Path) -> Vec<(String, String)> {
    let home = home.display().to_string();
    // Codex does not want its home below the folder for temporary files.
    [("SCRIPTED_KEY", "dummy".to_owned()), ("HOME", home), ("TMPDIR", "/var/tmp".to_owned())]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

fn create(client: &Client, id: &str, cwd: &Path) {
    let params = json!({ "cwd": cwd, "sandbox": "danger-full-access" });
    let body = json!({ "session_id": id, "runtime": "codex", "params": params });
    assert_eq!(client.post("/api/sessions", &body).status, 201);
}

/// What sessions cost, in KiB each, and turns, in milliseconds.
struct Weight {
    daemon: f64,
    server: f64,
    alone: f64,
    among: f64,
}

fn weigh(program: &Path, sessions: usize) -> Weight {
    let models = runtime();
    let (model, home) = place(&models, 1);
    let config = format!(
        "durability = \"process\"\n[codex]\nprogram = \"{}\"\npass_env = [\"SCRIPTED_KEY\"]\n",
        program.display()
    );
    let mut env = environment(home.path());
    env.push(("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()));
    let mut daemon = Daemon::start_in(&config, env);
    let turn = |id: &str| {
        let begun = Instant::now();
        daemon.client.turn(id, "hello");
        begun.elapsed().as_secs_f64() * 1000.0
    };
    create(&daemon.client, "first", home.path());
    turn("first");
    let alone = median((0..20).map(|_| turn("first")));
    let before = private(home.path());
    let weight = weigh_each(&daemon, sessions, || {
        for id in (0..sessions).map(|n| format!("live-{n}")) {
            create(&daemon.client, &id, home.path());
            turn(&id);
        }
    });
    let server = (private(home.path()) - before).max(0.0) / sessions as f64;
    let among = median((0..20).map(|_| turn("first")));
    daemon.terminate();
    models.block_on(model.stop());
    Weight { daemon: weight, server, alone, among }
}

fn median(samples: impl Iterator<Item = f64>) -> f64 {
    let mut samples: Vec<f64> = samples.collect();
    samples.sort_by(f64::total_cmp);
    percentile(&samples, 0.5)
}

/// What the server has for itself alone, in KiB.
fn private(home: &Path) -> f64 {
    let servers = processes_with(&format!("HOME={}", home.display()));
    let is_server =
        |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| wire::contains(&line, "app-server"));
    let server = servers.into_iter().find(is_server).expect("a server");
    let maps = std::fs::read_to_string(format!("/proc/{server}/smaps_rollup")).expect("its memory");
    let line = maps.lines().find(|line| line.starts_with("Private_Dirty:")).expect("the field");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

/// Every session talks at once, each to a follower of its own.
fn all_talk(program: &Path, sessions: usize, words: usize) -> Vec<f64> {
    let models = runtime();
    let (model, home) = place(&models, words);
    let wrapper = stamped(home.path(), program);
    let served = Served::start_with(|config| {
        config.codex.program = Some(wrapper);
        config.codex.env = environment(home.path()).into_iter().collect();
    });
    let ids: Vec<String> = (0..sessions).map(|n| format!("s{n}")).collect();
    for id in &ids {
        create(&served.client, id, home.path());
        served.client.turn(id, "hello");
    }
    let follow = |id: &String| {
        let head = served.client.session(id)["head"].as_u64().expect("a head");
        let mut stream = TcpStream::connect(&served.client.address).expect("a connection");
        let path = format!("/api/sessions/{id}/events?after={head}");
        wire::request(&mut stream, &served.client, &path, "text/event-stream");
        std::thread::spawn(move || {
            let mut samples = Vec::with_capacity(words);
            read_marks(stream, words, |mark, now| samples.push(now.saturating_sub(mark) as f64 / 1e6));
            samples
        })
    };
    let readers: Vec<_> = ids.iter().map(follow).collect();
    for id in &ids {
        served.client.say(id, "measure");
    }
    let samples = readers.into_iter().flat_map(|reader| reader.join().expect("a reader")).collect();
    served.stop();
    models.block_on(model.stop());
    samples
}
