//! Universal events: the compatibility list of the protocol, as far as our mock plays the same things.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::{Answer, Client, Daemon, Sse, eventually};

const V1: &str = "/universal/v1";

fn create(client: &Client, id: &str) {
    let made = client.post(&format!("{V1}/sessions/{id}"), &json!({ "agent": "mock" }));
    assert_eq!((made.status, &made.json()["healthy"]), (200, &json!(true)), "{}", made.body);
}

fn say(client: &Client, id: &str, text: &str) {
    let said = client.post(&format!("{V1}/sessions/{id}/messages"), &json!({ "message": text }));
    assert_eq!((said.status, said.body.as_str()), (204, ""));
}

fn poll(client: &Client, id: &str, query: &str) -> Value {
    client.get(&format!("{V1}/sessions/{id}/events?{query}")).json()
}

#[track_caller]
fn refused(answer: &Answer, status: u16, code: &str) -> Value {
    assert_eq!(answer.status, status, "{}", answer.body);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let problem = answer.json();
    assert_eq!(problem["type"], format!("urn:sandbox-agent:error:{code}"));
    assert_eq!(problem["status"], status);
    problem
}

/// Events up to one of this type.
fn until(stream: &mut Sse, kind: &str) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    while let Some(event) = stream.next_event() {
        let data: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!(event.id, data["sequence"].as_u64());
        events.push(data);
        if events.last().unwrap()["type"] == kind {
            return events;
        }
    }
    panic!("the stream ended before {kind}");
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[test]
fn agents_and_access() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let stranger = Client { token: None, ..client.clone() };
    assert_eq!(stranger.get(&format!("{V1}/health")).json(), json!({ "status": "ok" }));
    refused(&stranger.get(&format!("{V1}/agents")), 401, "token_invalid");
    let wrong = client.request("GET", &format!("{V1}/agents"), &[("authorization", "Bearer wrong")], b"");
    refused(&wrong, 401, "token_invalid");
    let token = client.token.clone().unwrap();
    let named = format!("Token {token}");
    assert_eq!(client.request("GET", &format!("{V1}/agents"), &[("authorization", &named)], b"").status, 200);
    let agents = client.get(&format!("{V1}/agents")).json();
    let mock = agents["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == "mock").unwrap();
    assert_eq!((&mock["installed"], &mock["credentialsAvailable"]), (&json!(true), &json!(true)));
    let flags = mock["capabilities"].as_object().unwrap();
    assert!(flags.len() == 18 && flags.values().all(Value::is_boolean), "{flags:?}");
    let agents = client.get(&format!("{V1}/agents")).json();
    for agent in agents["agents"].as_array().unwrap() {
        let is_shared = &agent["capabilities"]["sharedProcess"];
        assert_eq!(*is_shared, json!(agent["id"] == "codex"), "one server of Codex serves many sessions: {agent}");
    }
    assert_eq!(client.post(&format!("{V1}/agents/mock/install"), &json!({})).status, 204);
    refused(&client.post(&format!("{V1}/agents/nope/install"), &json!({})), 400, "unsupported_agent");
    let found = client.get(&format!("{V1}/agents/mock/modes")).json();
    assert_eq!(found["modes"][0]["id"], "build");
    let models = client.get(&format!("{V1}/agents/mock/models")).json();
    assert_eq!((&models["defaultModel"], &models["models"][0]["id"]), (&json!("mock"), &json!("mock")));
    refused(&client.get(&format!("{V1}/agents/nope/modes")), 400, "unsupported_agent");
}

#[test]
fn sessions_are_created_listed_and_refused() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    create(client, "plain");
    create(client, "a%20b%2F%C3%BC%3F");
    let again = refused(
        &client.post(&format!("{V1}/sessions/plain"), &json!({ "agent": "mock" })),
        409,
        "session_already_exists",
    );
    assert_eq!(again["sessionId"], "plain");
    for (body, code) in [
        (json!({ "agent": "nope" }), "unsupported_agent"),
        (json!({ "agent": "mock", "agentMode": "zzz" }), "mode_not_supported"),
        (json!({ "agent": "mock", "permissionMode": "zzz" }), "invalid_request"),
    ] {
        refused(&client.post(&format!("{V1}/sessions/bad"), &body), 400, code);
    }
    let full = json!({ "agent": "mock", "agentMode": "plan", "permissionMode": "bypass", "model": "m1", "variant": "high", "title": "A title",
        "mcp": { "fs": { "type": "local", "command": ["npx", "fs"], "environment": { "A": "1" } } } });
    assert_eq!(client.post(&format!("{V1}/sessions/full"), &full).status, 200);
    let listed = client.get(&format!("{V1}/sessions")).json();
    let listed = listed["sessions"].as_array().unwrap();
    let find = |name: &str| listed.iter().find(|session| session["sessionId"] == name).unwrap();
    find("a b/\u{fc}?");
    let full = find("full");
    assert_eq!(
        (&full["agentMode"], &full["permissionMode"], &full["model"]),
        (&json!("plan"), &json!("bypass"), &json!("m1"))
    );
    for key in ["variant", "nativeSessionId", "directory"] {
        assert!(full.as_object().unwrap().contains_key(key));
    }
    assert!(full["createdAt"].is_number() && full["updatedAt"].is_number() && full["ended"] == false);
    assert!(listed.windows(2).all(|pair| pair[0]["createdAt"].as_i64() >= pair[1]["createdAt"].as_i64()));
    for (method, path) in [
        ("GET", "events"),
        ("GET", "events/sse"),
        ("POST", "messages"),
        ("POST", "messages/stream"),
        ("POST", "terminate"),
        ("POST", "permissions/p/reply"),
        ("POST", "questions/q/reply"),
        ("POST", "questions/q/reject"),
    ] {
        let body = json!({ "message": "x", "reply": "once", "answers": [["x"]] }).to_string();
        let headers = [("content-type", "application/json")];
        let answer = client.request(method, &format!("{V1}/sessions/nope/{path}"), &headers, body.as_bytes());
        assert_eq!(refused(&answer, 404, "session_not_found")["sessionId"], "nope");
    }
}

#[test]
fn a_stream_a_page_and_a_turn_tell_the_same() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    create(client, "s");
    let mut stream = Sse::open(client, &format!("{V1}/sessions/s/events/sse?offset=0"));
    say(client, "s", "echo hello");
    let told = until(&mut stream, "turn.ended");
    // The mock thinks before it speaks, and that is an item of its own.
    assert_eq!(
        types(&told)[..5],
        ["session.started", "turn.started", "item.started", "item.completed", "item.started"]
    );
    assert_eq!(types(&told)[told.len() - 4..], ["item.started", "item.delta", "item.completed", "turn.ended"]);
    for event in &told {
        let keys: Vec<&str> = event.as_object().unwrap().keys().map(String::as_str).collect();
        let wanted = [
            "event_id",
            "sequence",
            "time",
            "session_id",
            "native_session_id",
            "synthetic",
            "source",
            "type",
            "data",
            "raw",
        ];
        assert_eq!(keys, wanted);
    }
    assert_eq!(told[told.len() - 2]["data"]["item"]["content"][0], json!({ "type": "text", "text": "hello" }));
    let page = poll(client, "s", "offset=0");
    assert_eq!((&page["events"], &page["hasMore"]), (&json!(told), &json!(false)));
    let page = poll(client, "s", "offset=2&limit=3");
    assert_eq!((&page["events"], &page["hasMore"]), (&json!(told[2..5]), &json!(true)));
    assert_eq!(poll(client, "s", "offset=999"), json!({ "events": [], "hasMore": false }));
    assert_eq!(poll(client, "s", "offset=0&limit=0"), json!({ "events": [], "hasMore": true }));
    // From the last one on there is only what is new, on every way.
    let offset = told.len();
    let mut later = Sse::open(client, &format!("{V1}/sessions/s/events/sse?offset={offset}"));
    let mut turn = Sse::post(client, &format!("{V1}/sessions/s/messages/stream"), &json!({ "message": "echo again" }));
    let told = until(&mut turn, "turn.ended");
    assert_eq!(told[0]["type"], "turn.started");
    assert!(turn.next_event().is_none(), "a turn stream ends with its turn");
    assert_eq!(until(&mut later, "turn.ended"), told);
    assert_eq!(poll(client, "s", &format!("offset={offset}"))["events"], json!(told));
}

#[test]
fn what_the_agent_says_has_its_parts() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    create(client, "s");
    let run = |text: &str| {
        let mut turn =
            Sse::post(client, &format!("{V1}/sessions/s/messages/stream?includeRaw=true"), &json!({ "message": text }));
        let mut events: Vec<Value> = Vec::new();
        while let Some(event) = turn.next_event() {
            events.push(serde_json::from_str(&event.data).unwrap());
        }
        client.until_idle("s");
        events
    };
    let parts = |events: &[Value]| {
        let parts = events
            .iter()
            .filter(|event| event["type"] == "item.completed")
            .flat_map(|event| event["data"]["item"]["content"].as_array().unwrap().clone());
        parts.map(|part| part["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let tool = run("tool");
    assert!(["tool_call", "tool_result", "file_ref"].iter().all(|kind| parts(&tool).iter().any(|part| part == kind)));
    assert!(
        tool.iter()
            .any(|event| event["data"]["item"]["kind"] == "tool_result" && event["data"]["item"]["status"] == "failed")
    );
    assert!(parts(&run("status")).contains(&"status".to_owned()));
    assert!(parts(&run("image")).contains(&"image".to_owned()));
    let error = run("error");
    assert_eq!(error.last().unwrap()["type"], "error");
    let page = poll(client, "s", "offset=0");
    assert!(page["events"].as_array().unwrap().iter().any(|event| event["type"] == "agent.unparsed"), "{page}");
    let writes = |part: &Value| part["type"] == "file_ref" && part["action"] == "write" && part["diff"].is_string();
    let written =
        tool.iter().flat_map(|event| event["data"]["item"]["content"].as_array().cloned().unwrap_or_default());
    assert!(written.into_iter().any(|part| writes(&part)), "a file is written");
    assert!(run("unknown").iter().any(|event| event["data"]["item"]["kind"] == "unknown"));
    assert_eq!(run("unparsed").last().unwrap()["type"], "agent.unparsed");
    let garbage = run("garbage");
    let last = garbage.last().unwrap();
    assert_eq!((&last["type"], last["raw"].is_string()), (&json!("agent.unparsed"), true));
    let page = poll(client, "s", "offset=0");
    let unparsed = page["events"].as_array().unwrap().iter().find(|event| event["type"] == "agent.unparsed").unwrap();
    assert!(unparsed["raw"].is_null(), "nobody asked for it");
}

#[test]
fn asks_are_settled_once_and_in_their_own_words() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    create(client, "s");
    let mut stream = Sse::open(client, &format!("{V1}/sessions/s/events/sse"));
    for (reply, status) in [("once", "accept"), ("always", "accept_for_session"), ("reject", "reject")] {
        let mut turn =
            Sse::post(client, &format!("{V1}/sessions/s/messages/stream"), &json!({ "message": "permission" }));
        let asked = until(&mut turn, "permission.requested").pop().unwrap();
        assert!(turn.next_event().is_none(), "a turn stream ends where somebody has to answer");
        let id = asked["data"]["permission_id"].as_str().unwrap();
        let path = format!("{V1}/sessions/s/permissions/{id}/reply");
        let wrong = client.post(&path, &json!({ "reply": "maybe" }));
        assert_eq!((wrong.status, wrong.header("content-type")), (422, Some("text/plain; charset=utf-8")));
        assert_eq!(client.post(&path, &json!({ "reply": reply })).status, 204);
        refused(&client.post(&path, &json!({ "reply": reply })), 400, "invalid_request");
        let settled = until(&mut stream, "permission.resolved").pop().unwrap();
        assert_eq!((&settled["data"]["status"], &settled["data"]["permission_id"]), (&json!(status), &json!(id)));
        assert_eq!(settled["data"]["metadata"], asked["data"]["metadata"]);
        until(&mut stream, "turn.ended");
    }
    for rejected in [false, true] {
        say(client, "s", "question");
        let asked = until(&mut stream, "question.requested").pop().unwrap();
        assert_eq!(asked["data"]["options"], json!(["Wool", "Silk", "Linen"]));
        let path = format!("{V1}/sessions/s/questions/{}", asked["data"]["question_id"].as_str().unwrap());
        let answered = if rejected {
            client.request("POST", &format!("{path}/reject"), &[], b"")
        } else {
            client.post(&format!("{path}/reply"), &json!({ "answers": [["Silk"]] }))
        };
        assert_eq!(answered.status, 204, "{}", answered.body);
        let settled = until(&mut stream, "question.resolved").pop().unwrap();
        let expected = if rejected { (json!("rejected"), Value::Null) } else { (json!("answered"), json!("Silk")) };
        assert_eq!((settled["data"]["status"].clone(), settled["data"]["response"].clone()), expected);
        until(&mut stream, "turn.ended");
    }
    refused(
        &client.request("POST", &format!("{V1}/sessions/s/questions/nope/reject"), &[], b""),
        400,
        "invalid_request",
    );
    for _ in 0..2 {
        assert_eq!(client.request("POST", &format!("{V1}/sessions/s/terminate"), &[], b"").status, 204);
    }
    refused(&client.post(&format!("{V1}/sessions/s/messages"), &json!({ "message": "hi" })), 400, "invalid_request");
    let ended = until(&mut stream, "session.ended").pop().unwrap();
    assert_eq!(ended["data"], json!({ "reason": "terminated", "terminated_by": "daemon" }));
}

#[test]
fn bad_input_is_refused_in_plain_text_and_leaves_no_stream() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    create(client, "s");
    let path = format!("{V1}/sessions/s/messages/stream");
    for (body, headers, status) in [
        ("{", vec![("content-type", "application/json")], 400),
        ("{}", vec![("content-type", "application/json")], 422),
        (r#"{"message":1}"#, vec![("content-type", "application/json")], 422),
        (r#"{"message":"x"}"#, vec![], 415),
    ] {
        let answer = client.request("POST", &path, &headers, body.as_bytes());
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (status, Some("text/plain; charset=utf-8")),
            "{body}"
        );
    }
    assert_eq!(client.get(&format!("{V1}/sessions/s/events?offset=x")).status, 400);
    assert_eq!(client.get(&format!("{V1}/sessions/s/events?limit=-1")).status, 400);
    let gone = client.request("GET", &format!("{V1}/sessions/s/events/sse"), &[("last-event-id", "x")], b"");
    refused(&gone, 400, "invalid_request");
    assert_eq!(client.log("s").len(), 1, "nothing of it reached the session");
}

#[test]
fn files() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let body = json!({ "agent": "mock", "directory": root });
    assert_eq!(client.post(&format!("{V1}/sessions/fs"), &body).status, 200);
    let call = |method: &str, path: &str, body: &[u8]| {
        client.request(method, &format!("{V1}/fs/{path}&sessionId=fs"), &[("content-type", "application/json")], body)
    };
    assert_eq!(call("POST", "mkdir?path=d%2Fe", b"").json(), json!({ "path": format!("{root}/d/e") }));
    let written = call("PUT", "file?path=d%2Fe%2Ff.txt", b"hello").json();
    assert_eq!(written, json!({ "path": format!("{root}/d/e/f.txt"), "bytesWritten": 5 }));
    let read = call("GET", "file?path=d%2Fe%2Ff.txt", b"");
    assert_eq!((read.body.as_str(), read.header("content-type")), ("hello", Some("application/octet-stream")));
    let stat = call("GET", "stat?path=d%2Fe%2Ff.txt", b"").json();
    assert_eq!((&stat["entryType"], &stat["size"]), (&json!("file"), &json!(5)));
    assert!(stat["modified"].as_str().unwrap().ends_with("+00:00"));
    assert_eq!(call("GET", "entries?path=d", b"").json()[0]["name"], "e");
    let moved = call("POST", "move?x=1", json!({ "from": "d/e/f.txt", "to": "d/g.txt" }).to_string().as_bytes());
    assert_eq!(moved.json()["to"], format!("{root}/d/g.txt"));
    call("PUT", "file?path=d%2Fh.txt", b"x");
    refused(
        &call("POST", "move?x=1", json!({ "from": "d/h.txt", "to": "d/g.txt" }).to_string().as_bytes()),
        400,
        "invalid_request",
    );
    refused(&call("GET", "file?path=..%2F..%2Fetc%2Fhosts", b""), 400, "invalid_request");
    refused(&call("GET", "stat?path=zzz", b""), 400, "invalid_request");
    refused(&call("GET", "file?path=d", b""), 400, "invalid_request");
    refused(&call("DELETE", "entry?path=d", b""), 502, "stream_error");
    // Whatever else a path can be is no fault of the daemon, and nobody waits for a pipe that nobody reads.
    refused(&call("PUT", "file?path=d", b"x"), 400, "invalid_request");
    refused(&call("POST", "mkdir?path=d%2Fg.txt", b""), 400, "invalid_request");
    let over = json!({ "from": "d/g.txt", "to": "d/e", "overwrite": true }).to_string();
    refused(&call("POST", "move?x=1", over.as_bytes()), 400, "invalid_request");
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for method in ["GET", "PUT"] {
        refused(&call(method, "file?path=pipe", b"x"), 400, "invalid_request");
    }
    if !rustix::process::getuid().is_root() {
        std::fs::set_permissions(folder.path().join("d/e"), std::fs::Permissions::from_mode(0o500)).unwrap();
        refused(&call("PUT", "file?path=d%2Fe%2Fz", b"x"), 403, "permission_denied");
    }
    assert_eq!(call("DELETE", "entry?path=d&recursive=true", b"").status, 200);
    refused(&call("POST", "upload-batch?path=up", &[1; 700]), 400, "invalid_request");
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(5);
    archive.append_data(&mut header, "a.txt", &b"hello"[..]).unwrap();
    let archive = archive.into_inner().unwrap();
    let uploaded = call("POST", "upload-batch?path=up", &archive).json();
    assert_eq!(uploaded, json!({ "paths": [format!("{root}/up/a.txt")], "truncated": false }));
    assert_eq!(std::fs::read(folder.path().join("up/a.txt")).unwrap(), b"hello");
}

#[test]
fn a_stream_ends_with_its_session_and_with_the_daemon() {
    let mut daemon = Daemon::start();
    let client = daemon.client.clone();
    create(&client, "s");
    let mut stream = Sse::open(&client, &format!("{V1}/sessions/s/events/sse"));
    until(&mut stream, "session.started");
    eventually("it follows", || client.get("/metrics").body.contains("followers 1").then_some(()));
    daemon.terminate();
    assert!(stream.next_event().is_none());
}

#[test]
fn what_is_taken_back_is_told() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("a");
    let log = client.turn("a", "echo hello");
    client.post("/api/sessions/a/rollback", &json!({ "turns": 1 }));
    let events = client.get("/universal/v1/sessions/a/events").json();
    let item = &events["events"].as_array().unwrap().last().unwrap()["data"]["item"];
    assert_eq!((&item["kind"], &item["content"][0]["label"]), (&json!("status"), &json!("Taken back")));
    assert_eq!(item["content"][1]["json"]["turn_ids"][0], log.last().unwrap()["turn_id"]);
}
