//! What lies in the data directory, and what comes from a file: too deep, not ours, damaged, much.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::{Answer, Client, Daemon, assert_lawful, of_kind};

/// An exported session: these parameters and, after the first, these events.
pub(crate) fn file(params: &Value, events: &[(&str, Value)]) -> String {
    let ready = ("session_ready", json!({ "runtime": "mock", "session_id": "s" }));
    let events: Vec<(&str, Value)> = std::iter::once(ready).chain(events.iter().cloned()).collect();
    let header = json!({
        "turnloom_session": 1, "session_id": "s", "runtime": "mock", "params": params, "created_at": "2026-01-01T00:00:00.000Z",
        "head": events.len(),
    });
    let mut file = format!("{header}\n");
    for (seq, (kind, data)) in (1..).zip(&events) {
        let event =
            json!({ "seq": seq, "ts": "2026-01-01T00:00:00.000Z", "type": kind, "session_id": "s", "data": data });
        file.push_str(&event.to_string());
        file.push('\n');
    }
    file
}

pub(crate) fn import(client: &Client, file: &str, id: &str) -> Answer {
    client.request("POST", &format!("/api/sessions/import?session_id={id}"), &[], file.as_bytes())
}

/// Twelve patches, each of which would nest the state twice as deep.
fn deepening() -> Vec<Value> {
    let mut patches = vec![json!([{ "op": "add", "path": "/a", "value": {} }])];
    let mut depth = 1;
    for _ in 0..12 {
        patches.push(json!([{ "op": "copy", "from": "", "path": "/a".repeat(depth + 1) }]));
        depth = depth * 2 + 1;
    }
    patches
}

#[test]
fn a_state_is_not_nested_deeper_than_a_stack() {
    let mut daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let answers: Vec<Answer> = deepening().iter().map(|patch| client.patch("/api/sessions/s/state", patch)).collect();
    assert!(answers.iter().filter(|answer| answer.status == 200).count() >= 5);
    answers.iter().find(|answer| answer.status != 200).expect("one too many").is_problem(422, "too_deep");
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let patch = json!([{ "op": "add", "path": "/deep", "value": deep }]);
    client.patch("/api/sessions/s/state", &patch).is_problem(422, "too_deep");
    let params = json!({ "runtime": "mock", "params": { "env": deep } });
    client.post("/api/sessions", &params).is_problem(422, "too_deep");
    // A name with dots is a path: each of its parts is a level.
    for runtime in ["codex", "codex-exec"] {
        let config = json!({ vec!["a"; 200_000].join("."): 1 });
        let params = json!({ "runtime": runtime, "params": { "config": config } });
        client.post("/api/sessions", &params).is_problem(422, "too_deep");
    }
    assert_eq!(client.get("/api/sessions/s/view").status, 200);
    client.turn("s", "state");
    daemon.kill();
    daemon.again();
    daemon.client.turn("s", "echo still here");
    assert_lawful(&daemon.client.log("s"));
}

#[test]
fn a_file_that_nests_its_state_without_end_is_read_all_the_same() {
    let mut daemon = Daemon::start();
    let deltas: Vec<_> =
        deepening().into_iter().map(|patch| ("state_delta", json!({ "patch": patch, "by": "x" }))).collect();
    assert_eq!(import(&daemon.client, &file(&json!({}), &deltas), "s").status, 201);
    // Sub-agents that start each other do the same to a view.
    let started = |n: usize| {
        let parent = n.checked_sub(1).map(|parent| format!("a{parent}"));
        ("subagent_started", json!({ "subagent_id": format!("a{n}"), "name": "x", "parent_subagent_id": parent }))
    };
    let ended = |n: usize| {
        let data = json!({ "subagent_id": format!("a{n}"), "status": "completed", "tool_calls": 0, "file_changes": 0 });
        ("subagent_ended", data)
    };
    let subagents: Vec<_> = (0..3_000).map(started).chain((0..3_000).map(ended)).collect();
    assert_eq!(import(&daemon.client, &file(&json!({}), &subagents), "t").status, 201);
    for _ in 0..2 {
        for id in ["s", "t"] {
            assert_eq!(daemon.client.get(&format!("/api/sessions/{id}/view")).status, 200);
        }
        assert_eq!(daemon.client.get("/api/sessions/s/state").status, 200);
        daemon.kill();
        daemon.again();
    }
    let deep = format!(r"{}1{}", "[".repeat(90), "]".repeat(90));
    let deep = file(&json!({}), &[("state_snapshot", json!({ "state": "DEEP" }))]).replace("\"DEEP\"", &deep);
    import(&daemon.client, &deep, "u").is_problem(422, "broken_file");
}

#[test]
fn a_file_says_nothing_that_an_export_would_not() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let refused = |file: &str, code: &str, why: &str| {
        let answer = import(client, file, "s");
        let status = if code == "unknown_runtime" { 400 } else { 422 };
        let problem = answer.is_problem(status, code);
        assert!(problem["detail"].as_str().unwrap().contains(why), "{why}: {problem}");
        client.get("/api/sessions/s").is_problem(404, "session_not_found");
    };
    for (params, why) in [
        (json!({ "env": { "LD_PRELOAD": "/tmp/x.so" } }), "env"),
        (json!({ "mcp_servers": { "x": { "command": "/bin/sh" } } }), "mcp_servers"),
        (json!({ "allow_bypass": true }), "allow_bypass"),
        (json!({ "cwd": ["/"] }), "invalid type"),
        (json!({ "imported_to": 0 }), "imported_to"),
    ] {
        refused(&file(&params, &[]), "broken_file", why);
    }
    let updated =
        |settings: Value| file(&json!({}), &[("session_updated", json!({ "settings": settings, "by": "x" }))]);
    refused(&updated(json!({ "env": { "LD_PRELOAD": "/tmp/x.so" } })), "broken_file", "settings.env");
    refused(&updated(json!({ "mcp_servers": {} })), "broken_file", "settings.mcp_servers");
    let ready = |data: Value| file(&json!({}), &[("session_ready", data)]);
    let option = json!({ "runtime": "mock", "provider_session_id": "--dangerously-skip-permissions" });
    refused(&ready(option), "broken_file", "provider_session_id");
    refused(&file(&json!({}), &[("unreadable", json!({ "error": "x" }))]), "broken_file", "could not be read");
    refused(
        &file(&json!({}), &[]).replacen("\"runtime\":\"mock\"", "\"runtime\":\"nobody\"", 1),
        "unknown_runtime",
        "nobody",
    );
    let blob = json!({ "blob": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", "media_type": "x\ny", "base64": "Zm9v" });
    refused(&format!("{}{blob}\n", file(&json!({}), &[])), "broken_file", "is not a media type");
}

#[test]
fn what_others_wrote_gets_our_form() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let (header, events) = file(&json!({}), &[("mode_changed", json!({ "mode": "plan" }))])
        .split_once('\n')
        .map(|(header, events)| (header.to_owned(), events.to_owned()))
        .unwrap();
    let spaced = events.replace("\":", "\" : ").replace(",\"", " , \"");
    let answer = import(client, &format!("{header}\n{spaced}"), "s");
    assert_eq!(answer.status, 201, "{}", answer.body);
    let page = client.get("/api/sessions/s/events?types=session_ready");
    assert_eq!(page.json()["events"].as_array().unwrap().len(), 1, "{}", page.body);
    assert!(!page.body.contains(" : "), "{}", page.body);
}

#[test]
fn an_imported_session_asks_before_its_first_agent_runs() {
    let mut daemon = Daemon::start();
    let imported = import(&daemon.client, &file(&json!({ "title": "From afar" }), &[]), "s");
    assert_eq!(imported.status, 201, "{}", imported.body);
    let client = &daemon.client;
    client.post("/api/sessions/s/resume", &json!({})).is_problem(409, "not_agreed");
    client.say("s", "echo hello");
    let ask = client.ask("s");
    let asked = client.get("/api/asks").json()["asks"][0].clone();
    assert_eq!(asked["request"]["tool_input"]["runtime"], "mock", "{asked}");
    assert!(of_kind(&client.log("s"), "delta").is_empty());
    assert_eq!(client.post(&format!("/api/sessions/s/permissions/{ask}"), &json!({ "reply": "once" })).status, 200);
    client.until_idle("s");
    assert!(client.log("s").iter().any(|event| event["data"]["text"] == "hello"));
    // Once is enough, whatever happens.
    daemon.kill();
    daemon.again();
    daemon.client.turn("s", "echo again");
    assert_lawful(&daemon.client.log("s"));
}

/// Changes what is stored while nobody looks.
pub(crate) fn tamper(daemon: &mut Daemon, sql: &str) {
    assert_eq!(daemon.terminate(), Some(0));
    rusqlite::Connection::open(daemon.data.join("turnloom.db")).unwrap().execute_batch(sql).unwrap();
    daemon.again();
}

#[test]
fn a_damaged_session_stands_in_nobodys_way() {
    let mut daemon = Daemon::start();
    for id in ["whole", "summary", "params", "runtime", "event"] {
        daemon.client.mock(id);
        daemon.client.turn(id, "echo hi");
    }
    tamper(
        &mut daemon,
        "UPDATE session SET summary = 'x', at_rest = 0 WHERE id = 'summary';
         UPDATE session SET params = '{', at_rest = 0 WHERE id = 'params';
         UPDATE session SET runtime = 'gone', at_rest = 0 WHERE id = 'runtime';
         UPDATE event SET body = '{\"seq\":2,' WHERE seq = 2 AND session = (SELECT key FROM session WHERE id = 'event');",
    );
    let client = &daemon.client;
    let send = |id: &str| client.post(&format!("/api/sessions/{id}/message"), &json!({ "message": "echo more" }));
    send("event").is_problem(409, "session_damaged");
    let detail = send("event").json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("event 2 cannot be read"), "{detail}");
    let list = client.get("/api/sessions").json();
    let status = |id: &str| {
        let sessions = list["sessions"].as_array().unwrap();
        sessions.iter().find(|session| session["session_id"] == id).expect(id).clone()
    };
    assert_eq!(status("whole")["status"], "idle");
    for id in ["summary", "params", "runtime", "event"] {
        assert_eq!(
            (&status(id)["status"], &status(id)["problem"]["code"]),
            (&json!("damaged"), &json!("session_damaged"))
        );
        let page = client.get(&format!("/api/sessions/{id}/events"));
        assert!(page.json()["events"].as_array().unwrap().len() > 5, "{id} can be read: {}", page.body);
        assert_eq!(client.get(&format!("/api/sessions/{id}/view")).status, 200);
        send(id).is_problem(409, "session_damaged");
        client.post(&format!("/api/sessions/{id}/fork"), &json!({})).is_problem(409, "session_damaged");
        // Whoever comes in another way reads what there is, too, and nothing fails because of it.
        for path in [
            format!("/api/sessions/{id}/export"),
            format!("/api/sessions/{id}/files"),
            format!("/ai-sdk/chat/{id}/messages"),
            format!("/ag-ui/{id}/messages"),
            format!("/universal/v1/sessions/{id}/events"),
            format!("/agent-ui/sessions/{id}"),
            "/api/tasks/active".to_owned(),
            "/agent-ui/sessions".to_owned(),
            "/universal/v1/sessions".to_owned(),
        ] {
            let answer = client.get(&path);
            assert!(answer.status < 500, "{path}: {} {}", answer.status, answer.body);
        }
    }
    let events = client.log("event");
    assert_eq!(of_kind(&events, "unreadable").len(), 1, "it is said as such");
    for id in ["summary", "params", "runtime", "event"] {
        assert_eq!(client.delete(&format!("/api/sessions/{id}?purge=true")).status, 204, "{id}");
        client.get(&format!("/api/sessions/{id}")).is_problem(404, "session_not_found");
    }
    client.turn("whole", "echo still here");
}

#[test]
fn a_log_that_has_lost_a_row_is_damaged() {
    let mut daemon = Daemon::start();
    for id in ["middle", "last", "forked"] {
        daemon.client.mock(id);
        daemon.client.turn(id, "echo hi");
    }
    let of = |id: &str| format!("session = (SELECT key FROM session WHERE id = '{id}')");
    let last = |id: &str| format!("{} AND seq = (SELECT max(seq) FROM event WHERE {})", of(id), of(id));
    let sql = format!(
        "DELETE FROM event WHERE {} AND seq = 3; DELETE FROM event WHERE {}; DELETE FROM event WHERE {};",
        of("middle"),
        last("last"),
        last("forked")
    );
    tamper(&mut daemon, &sql);
    let client = &daemon.client;
    // Whoever finds it first: the next message, or a fork.
    client.post("/api/sessions/forked/fork", &json!({})).is_problem(409, "session_damaged");
    for id in ["middle", "last", "forked"] {
        let sent = client.post(&format!("/api/sessions/{id}/message"), &json!({ "message": "echo more" }));
        let problem = sent.is_problem(409, "session_damaged");
        assert!(problem["detail"].as_str().unwrap().contains("is missing"), "{problem}");
        assert_eq!(client.session(id)["status"], "damaged");
        assert!(client.log(id).len() > 5, "it can be read");
        assert!(client.get(&format!("/api/sessions/{id}/view")).body.contains("hi"));
        assert_eq!(client.delete(&format!("/api/sessions/{id}?purge=true")).status, 204, "{id}");
    }
}

#[test]
fn what_an_agent_understood_last_is_known_before_the_next_one_starts() {
    let mut daemon = Daemon::start();
    for id in ["older", "newer", "from-a-file"] {
        daemon.client.mock(id);
        daemon.client.turn(id, "echo hi");
    }
    let tell = |id: &str| {
        format!(
            "UPDATE event SET body = json_set(body, '$.data.commands', json('[{{\"name\":\"{id}\",\"hint\":\"FILE\"}}]'))
             WHERE seq = 1 AND session = (SELECT key FROM session WHERE id = '{id}');"
        )
    };
    let imported = "UPDATE session SET params = json_set(params, '$.imported_to', 100) WHERE id = 'from-a-file';";
    tamper(&mut daemon, &[tell("older"), tell("newer"), tell("from-a-file"), imported.to_owned()].concat());
    let agents = daemon.client.get("/api/agents").json();
    let agent = |id: &str| agents["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == id).unwrap().clone();
    assert_eq!(agent("mock")["commands"], json!([{ "name": "newer", "hint": "FILE" }]));
    assert_eq!(agent("claude").get("commands"), None);
}

#[test]
fn something_rare_is_looked_for_in_steps() {
    let mut daemon = Daemon::start();
    daemon.client.mock("s");
    daemon.client.turn("s", "echo hi");
    tamper(
        &mut daemon,
        r#"WITH RECURSIVE place(seq) AS (SELECT 101 UNION ALL SELECT seq + 1 FROM place WHERE seq < 120000)
           INSERT INTO event SELECT key, seq, '{"seq":' || seq || ',"ts":"2026-01-01T00:00:00.000Z","type":"usage","session_id":"s","data":{"input_tokens":1,"output_tokens":1}}'
             FROM session, place WHERE id = 's';
           UPDATE session SET head = 120000;"#,
    );
    let client = &daemon.client;
    let mut after = 0;
    let mut requests = 0;
    let page =
        |after: u64| client.get(&format!("/api/sessions/s/events?types=artifact_removed&limit=1&after={after}")).json();
    loop {
        let page = page(after);
        requests += 1;
        assert_eq!(page["events"], json!([]));
        let next = page["next"].as_u64().expect("where to go on");
        assert!(next > after && next - after <= 60_000, "bounded work: {after} to {next}");
        after = next;
        if page["has_more"] == false {
            break;
        }
    }
    assert_eq!((after, requests), (120_000, 3));
    let found = client.get("/api/sessions/s/events?types=usage&limit=1&after=100000").json();
    assert_eq!((found["events"].as_array().unwrap().len(), found["next"].as_u64()), (1, Some(100_001)));
}

#[test]
fn a_page_of_large_events_ends_where_it_is_large() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    for n in 0..12 {
        let value = "x".repeat(900_000);
        let patch = json!([{ "op": "add", "path": "/x", "value": format!("{n}{value}") }]);
        assert_eq!(client.patch("/api/sessions/s/state", &patch).status, 200);
    }
    let page = client.get("/api/sessions/s/events?limit=1000");
    assert!(page.bytes.len() < 6_000_000, "{} bytes", page.bytes.len());
    assert_eq!(page.json()["has_more"], true);
    assert_eq!(client.log("s").len(), 13, "the others are on the next pages");
}

#[test]
fn the_daemons_files_are_its_owners_only() {
    let data = tempfile::tempdir().unwrap();
    std::fs::set_permissions(data.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(data.path().join("token"), "a token that somebody wrote with an editor").unwrap();
    std::fs::set_permissions(data.path().join("token"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let daemon = Daemon::on(data.path(), &[]);
    daemon.client.mock("s");
    daemon.client.turn("s", "echo hi");
    let mut seen = 0;
    for file in std::fs::read_dir(data.path()).unwrap().map(Result::unwrap).filter(|file| file.path().is_file()) {
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.path().display());
        seen += 1;
    }
    assert!(seen >= 5, "only {seen} files");
}
