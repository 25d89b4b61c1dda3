//! Sessions from a file: what they are called, what they hold, and what they do before somebody has agreed.

use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::stored::{file, import};
use crate::support::{Client, Daemon, assert_lawful, eventually, of_kind};

const MANY: usize = 32 * 1024 * 1024;

/// A mock session with these turns, from a file.
fn talked(client: &Client, id: &str, turns: &[&str]) {
    let original = format!("{id}-original");
    client.mock(&original);
    for turn in turns {
        client.turn(&original, turn);
    }
    client.until_idle(&original);
    let exported = client.get(&format!("/api/sessions/{original}/export"));
    let imported = import(client, &exported.body, id);
    assert_eq!(imported.status, 201, "{}", imported.body);
}

fn allow(client: &Client, id: &str) {
    let ask = client.ask(id);
    assert_eq!(client.post(&format!("/api/sessions/{id}/permissions/{ask}"), &json!({ "reply": "once" })).status, 200);
}

#[test]
fn a_fork_of_an_imported_session_asks_once() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    talked(client, "s", &["echo one", "echo two"]);
    let turn = of_kind(&client.log("s"), "turn_started")[0]["turn_id"].clone();
    let forked = client.post("/api/sessions/s/fork", &json!({ "session_id": "f", "at_turn": turn }));
    assert_eq!(forked.status, 201, "{}", forked.body);
    client.say("f", "echo hello");
    allow(client, "f");
    client.until_idle("f");
    let log = client.log("f");
    assert_eq!(of_kind(&log, "permission_request").len(), 1);
    assert!(log.iter().any(|event| event["data"]["text"] == "hello"));
    assert_lawful(&log);
}

#[test]
fn a_file_gives_no_name_that_no_session_can_have() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    for name in ["..", ".", "a/b", "", "a b", &"x".repeat(200)] {
        let named = file(&json!({}), &[]).replacen("\"session_id\":\"s\"", &format!("\"session_id\":\"{name}\""), 1);
        let answer = client.request("POST", "/api/sessions/import", &[], named.as_bytes());
        answer.is_problem(422, "broken_file");
    }
    assert_eq!(client.get("/api/sessions").json()["sessions"], json!([]));
    assert_eq!(client.request("POST", "/api/sessions/import", &[], file(&json!({}), &[]).as_bytes()).status, 201);
}

#[test]
fn whatever_is_in_a_file_has_a_kind_that_can_be_told() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let picture = json!([{ "type": "image", "media_type": "x\ny", "data": "AA==" }]);
    let blob = json!({ "id": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", "size": 3, "media_type": "<b>",
        "head": "", "tail": "" });
    let files: [(&str, Value); 8] = [
        ("user_message", json!({ "message_id": "m", "content": picture, "origin": "user" })),
        ("steer", json!({ "message_id": "m", "state": "delivered", "content": picture })),
        (
            "queue_changed",
            json!({ "queue": [], "added": { "message_id": "m", "content": picture, "origin": "user", "position": 1 } }),
        ),
        (
            "tool_result",
            json!({ "tool_use_id": "t", "output": "", "is_error": false, "images": [{ "media_type": "" }] }),
        ),
        ("tool_result", json!({ "tool_use_id": "t", "output": "", "is_error": false, "blob": blob })),
        ("artifact_created", json!({ "artifact_id": "a", "title": "", "media_type": "html" })),
        ("artifact_updated", json!({ "artifact_id": "a", "blob": blob })),
        ("background_ended", json!({ "background_id": "b", "status": "completed", "blob": blob })),
    ];
    for (kind, data) in files {
        let answer = import(client, &file(&json!({}), &[(kind, data)]), "s");
        let problem = answer.is_problem(422, "broken_file");
        assert!(problem["detail"].as_str().unwrap().contains("is not a media type"), "{kind}: {problem}");
    }
    // Nor does anybody say such a thing here, so what is exported can be imported.
    client.mock("m");
    client.post("/api/sessions/m/message", &json!({ "message": picture })).is_problem(400, "invalid_request");
}

#[test]
fn one_that_had_ended_is_resumed_and_then_asks() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    talked(client, "s", &["end"]);
    client.post("/api/sessions/s/message", &json!({ "message": "echo hi" })).is_problem(409, "session_ended");
    let resumed = client.post("/api/sessions/s/resume", &json!({}));
    assert_eq!(resumed.status, 200, "{}", resumed.body);
    client.say("s", "echo hello");
    allow(client, "s");
    client.until_idle("s");
    assert!(client.log("s").iter().any(|event| event["data"]["text"] == "hello"));
}

#[test]
fn to_put_one_away_or_name_it_starts_no_agent() {
    let place = tempfile::tempdir().unwrap();
    let (program, marker) = (place.path().join("codex"), place.path().join("started"));
    std::fs::write(&program, format!("#!/bin/sh\ntouch {}\nexit 1\n", marker.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut daemon = Daemon::start_with(&format!("[codex]\nprogram = {:?}\n", program.to_str().unwrap()), &[]);
    let client = &daemon.client;
    let thread = json!({ "runtime": "codex", "provider_session_id": "0199a213-81c0-7800-8aa1-bbab2a035a53" });
    let foreign = file(&json!({}), &[("session_ready", thread)]).replace("\"mock\"", "\"codex\"");
    assert_eq!(import(client, &foreign, "s").status, 201);
    assert_eq!(client.patch("/api/sessions/s", &json!({ "title": "Mine" })).status, 200);
    assert_eq!(client.delete("/api/sessions/s").status, 200);
    // Who ends waits for all that goes on.
    assert_eq!(daemon.terminate(), Some(0));
    assert!(!marker.exists(), "nobody has agreed to run it");
}

#[test]
fn files_that_come_slowly_cost_no_memory_and_hold_nobody_up() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let token = client.token.as_deref().unwrap();
    let piece = vec![b'x'; MANY];
    let before = daemon.memory();
    let slow: Vec<TcpStream> = (0..6)
        .map(|_| {
            let mut stream = TcpStream::connect(&client.address).unwrap();
            let head = format!(
                "POST /api/sessions/import HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n",
                client.address,
                MANY * 2
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&piece).unwrap();
            stream
        })
        .collect();
    // All of it has been read, but for what lies in the sockets.
    eventually("the files are on the disk", || (kept(&daemon) > (MANY * 5) as u64).then_some(()));
    let grown = daemon.memory().saturating_sub(before);
    assert!(grown < 48 * 1024 * 1024, "{grown} bytes");
    assert_eq!(import(client, &file(&json!({}), &[]), "s").status, 201, "others are not held up");
    client.mock("m");
    client.turn("m", "echo hi");
    assert_eq!(client.post("/api/sessions/m/fork", &json!({})).status, 201);
    drop(slow);
    eventually("what was sent in vain is gone", || (kept(&daemon) == 0).then_some(()));
}

/// How much the daemon holds in files that have no name any more.
fn kept(daemon: &Daemon) -> u64 {
    let open = std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap().flatten();
    let nameless = open.filter(|file| {
        let target = std::fs::read_link(file.path()).unwrap_or_default();
        target.starts_with(&daemon.data) && target.to_string_lossy().ends_with("(deleted)")
    });
    nameless.filter_map(|file| Some(std::fs::metadata(file.path()).ok()?.len())).sum()
}

#[test]
fn a_file_says_only_what_an_event_says() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    // A known type with a payload of its own would be kept under the known name, and read by nobody.
    let strange = [("result", json!({ "text": { "not": "text" } })), ("done", json!("nothing"))];
    for (kind, data) in strange {
        let problem = import(client, &file(&json!({}), &[(kind, data)]), "s").is_problem(422, "broken_file");
        assert!(problem["detail"].as_str().unwrap().contains(&format!("what a `{kind}` says")), "{problem}");
    }
    // What a newer version says of a known event is refused by name, because it may change what the event means.
    let newer = [
        ("session_updated", json!({ "title": "A", "by": "x", "title_of_nobody": { "a": 1 } }), "data.title_of_nobody"),
        (
            "plan_updated",
            json!({ "steps": [{ "text": "A", "status": "pending" }, { "text": "B", "status": "pending", "due": 1 }] }),
            "data.steps.1.due",
        ),
    ];
    for (kind, data, member) in newer {
        let problem = import(client, &file(&json!({}), &[(kind, data)]), "s").is_problem(422, "broken_file");
        let why = format!("a `{kind}` has `{member}`, which this turnloom does not know");
        assert!(problem["detail"].as_str().unwrap().contains(&why), "{problem}");
    }
    let more =
        file(&json!({}), &[]).replacen("\"session_id\":\"s\",\"data\"", "\"extra\":1,\"session_id\":\"s\",\"data\"", 1);
    let problem = import(client, &more, "s").is_problem(422, "broken_file");
    assert!(problem["detail"].as_str().unwrap().contains("`extra`"), "{problem}");
    // What is empty says nothing, and each member is there once; a type that nobody knows is kept.
    let line = |seq: u64, kind: &str, data: &str| {
        format!(r#"{{"seq":{seq},"ts":"2026-01-01T00:00:00.000Z","type":"{kind}","session_id":"s","data":{data}}}"#)
    };
    let header = file(&json!({}), &[]).lines().next().unwrap().replace("\"head\":1", "\"head\":3");
    let text = [
        header,
        line(1, "session_ready", r#"{"runtime":"mock","session_id":"s"}"#),
        line(2, "session_updated", r#"{"title":"\u0041","by":"x","title_of_nobody":null}"#),
        line(3, "of_tomorrow", r#"{"a":1,"a":2,"b":"\u0042"}"#),
    ];
    assert_eq!(import(client, &text.join("\n"), "s").status, 201);
    let kept = client.get("/api/sessions/s/export").body;
    assert!(kept.contains(r#""data":{"title":"A","by":"x"}}"#), "{kept}");
    assert!(kept.contains(r#""type":"of_tomorrow","session_id":"s","data":{"a":2,"b":"B"}}"#), "{kept}");
    let blob = r#"{"blob":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","media_type":"text/plain","base64":"Zm9v"#;
    let with = |end: &str| format!("{}{blob}{end}\n", file(&json!({}), &[]));
    assert_eq!(import(client, &with("\"}"), "b").status, 201);
    import(client, &with("\",\"more\":1}"), "c").is_problem(422, "broken_file");
}

#[test]
fn a_file_takes_no_guard_away_and_names_no_path() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let import_codex = |params: Value, kind: &str, data: Value, id: &str| {
        let text = file(&params, &[(kind, data)]).replace("\"mock\"", "\"codex\"");
        import(client, &text, id)
    };
    let codex = |params: Value, kind: &str, data: Value| import_codex(params, kind, data, "s");
    let updated = |settings: Value| json!({ "settings": settings, "by": "x" });
    // The guards are back when the session is here, and the file's own facts stay as they were.
    for (id, settings, guarded) in [
        ("a", json!({ "sandbox": "danger-full-access" }), json!({ "sandbox": "read-only" })),
        ("b", json!({ "sandbox": "dangerFullAccess" }), json!({ "sandbox": "read-only" })),
        ("c", json!({ "approval_policy": "never" }), json!({ "approval_policy": "on-request" })),
        ("d", json!({ "approval_policy": { "granular": {} } }), json!({ "approval_policy": "on-request" })),
    ] {
        let taken = import_codex(json!({}), "session_updated", updated(settings.clone()), id);
        assert_eq!(taken.status, 201, "{}", taken.body);
        assert_eq!(client.session(id)["settings"], guarded);
        let log = client.log(id);
        assert_eq!((&log[1]["data"]["settings"], &log[2]["data"]["settings"]), (&settings, &guarded));
        assert_eq!(log[2]["data"]["by"], "turnloom");
    }
    for (id, params, mode) in [("e", json!({}), "full-access"), ("f", json!({ "mode": "bypass" }), "bypass")] {
        let taken = import_codex(params, "mode_changed", json!({ "mode": mode }), id);
        assert_eq!((taken.status, &taken.json()["mode"]), (201, &json!("default")), "{}", taken.body);
    }
    // Somebody here may take them away again, and nothing runs before somebody has agreed.
    let chosen = client.patch("/api/sessions/f", &json!({ "mode": "full-access" }));
    assert_eq!((chosen.status, &chosen.json()["mode"]), (200, &json!("full-access")));
    client.post("/api/sessions/f/resume", &json!({})).is_problem(409, "not_agreed");
    // And it can leave and come back.
    let again = import(client, &client.get("/api/sessions/f/export").body, "g");
    assert_eq!((again.status, &again.json()["mode"]), (201, &json!("default")), "{}", again.body);
    for name in ["a/b", "/etc/passwd"] {
        let ready = json!({ "runtime": "codex", "provider_session_id": name });
        codex(json!({}), "session_ready", ready).is_problem(422, "broken_file");
    }
    let fine = updated(json!({ "sandbox": "read-only", "approval_policy": "on-request" }));
    let taken = codex(json!({}), "session_updated", fine);
    assert_eq!(taken.status, 201, "{}", taken.body);
}

#[test]
fn only_so_many_files_lie_on_the_disk() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let token = client.token.as_deref().unwrap();
    let head = format!(
        "POST /api/sessions/import HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-length: 9\r\n\r\n{{",
        client.address
    );
    let slow: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = TcpStream::connect(&client.address).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    eventually("one byte of each is there", || (kept(&daemon) == 8).then_some(()));
    import(client, &file(&json!({}), &[]), "s").is_problem(503, "overloaded");
    drop(slow);
    eventually("there is room again", || (import(client, &file(&json!({}), &[]), "s").status == 201).then_some(()));
}

#[test]
fn ending_does_not_wait_for_a_file_that_is_being_read() {
    let mut daemon = Daemon::start();
    let client = daemon.client.clone();
    // It takes seconds to be read.
    let says = ("session_updated", json!({ "title": "x".repeat(300), "by": "x" }));
    let large = file(&json!({}), &vec![says; 200_000]);
    let size = large.len() as u64;
    let importing = std::thread::spawn(move || import(&client, &large, "s").status);
    eventually("it is on the disk", || (kept(&daemon) == size).then_some(()));
    assert_eq!(daemon.terminate(), Some(0));
    assert_eq!(importing.join().unwrap(), 503, "it is told to come again");
    daemon.again();
    daemon.client.get("/api/sessions/s").is_problem(404, "session_not_found");
    assert_eq!(import(&daemon.client, &file(&json!({}), &[]), "s").status, 201);
}
