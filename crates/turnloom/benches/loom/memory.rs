//! What the daemon holds in memory: by itself, and for each session and each follower.

use std::time::Duration;

use serde_json::json;

use super::loom::directory;
use super::support::{Client, Daemon, eventually};
use super::table::{Rounds, Table, Unit};
use super::{Scale, wire};

/// How long things are left alone before they are weighed.
const SETTLE: Duration = Duration::from_millis(500);

const CONFIG: &str = "linger_seconds = 0\ndurability = \"process\"\n";

pub(crate) fn measure(scale: Scale, table: &mut Table) {
    let (mut resident, mut own) = (Rounds::default(), Rounds::default());
    let (mut idle, mut followed) = (Rounds::default(), Rounds::default());
    let (mut in_process, mut children) = (Rounds::default(), Rounds::default());
    for _ in 0..scale.of(3, 1) {
        with_daemon(|daemon| {
            resident.push(field(daemon, "VmRSS:") / 1024.0);
            own.push(field(daemon, "RssAnon:") / 1024.0);
            idle.push(idle_sessions(daemon, scale.of(1000, 20)));
        });
        with_daemon(|daemon| followed.push(followers(daemon, scale.of(100, 10))));
        with_daemon(|daemon| in_process.push(live_sessions(daemon, scale.of(100, 5), true)));
        with_daemon(|daemon| children.push(live_sessions(daemon, scale.of(100, 5), false)));
    }
    table.row("memory, idle daemon, resident", Unit::Mib, resident, None);
    table.row("memory, idle daemon, its own (anonymous)", Unit::Mib, own, None);
    table.row("memory, each session asleep", Unit::Kib, idle, None);
    table.row("memory, each session awake, agent in the daemon", Unit::Kib, in_process, None);
    table.row("memory, each session awake, agent a child", Unit::Kib, children, None);
    table.row("memory, each follower", Unit::Kib, followed, None);
}

fn with_daemon(weigh: impl FnOnce(&Daemon)) {
    let data = directory();
    std::fs::write(data.path().join("config.toml"), CONFIG).expect("a configuration");
    let mut daemon = Daemon::on(data.path(), &[]);
    std::thread::sleep(SETTLE);
    weigh(&daemon);
    daemon.kill();
}

/// Sessions that had one turn and went to sleep.
fn idle_sessions(daemon: &Daemon, count: usize) -> f64 {
    let client = &daemon.client;
    let talk = |id: &str| {
        create(client, id, true);
        client.say(id, "echo hello");
    };
    // The first ones pay for caches and thread stacks that all share.
    (0..count / 10).for_each(|n| talk(&format!("first-{n}")));
    until_awake(client, 0);
    weigh_each(daemon, count, || {
        (0..count).for_each(|n| talk(&format!("idle-{n}")));
        until_awake(client, 0);
    })
}

/// Sessions whose agent is in the middle of a turn.
fn live_sessions(daemon: &Daemon, count: usize, in_process: bool) -> f64 {
    let client = &daemon.client;
    let hang = |id: &str| {
        create(client, id, in_process);
        client.say(id, "hang");
    };
    hang("first");
    client.until_thinking("first");
    weigh_each(daemon, count, || {
        let ids: Vec<String> = (0..count).map(|n| format!("live-{n}")).collect();
        for id in &ids {
            hang(id);
        }
        for id in &ids {
            client.until_thinking(id);
        }
        until_awake(client, count + 1);
    })
}

/// Followers of a session where nothing happens.
fn followers(daemon: &Daemon, count: usize) -> f64 {
    let client = &daemon.client;
    create(client, "quiet", true);
    let follow = || {
        let mut stream = wire::follow(client, "quiet");
        wire::read_events(&mut stream, 1, |_| {});
        stream
    };
    let first = follow();
    let mut open = Vec::new();
    let bytes = weigh_each(daemon, count, || open.extend((0..count).map(|_| follow())));
    drop((first, open));
    bytes
}

fn create(client: &Client, id: &str, in_process: bool) {
    let params = json!({ "pace_ms": 0, "in_process": in_process });
    let body = json!({ "session_id": id, "runtime": "mock", "params": params });
    assert_eq!(client.post("/api/sessions", &body).status, 201);
}

fn until_awake(client: &Client, count: usize) {
    let wanted = format!("turnloom_sessions_awake {count}");
    eventually("so many are awake", || client.get("/metrics").body.lines().any(|line| line == wanted).then_some(()));
}

/// What each of so many adds, in KiB.
pub(crate) fn weigh_each(daemon: &Daemon, count: usize, add: impl FnOnce()) -> f64 {
    std::thread::sleep(SETTLE);
    let before = field(daemon, "RssAnon:");
    add();
    std::thread::sleep(SETTLE);
    (field(daemon, "RssAnon:") - before).max(0.0) / count as f64
}

/// A line of the daemon's status, in KiB.
fn field(daemon: &Daemon, name: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).expect("its status");
    let line = status.lines().find(|line| line.starts_with(name)).expect("the field");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}
