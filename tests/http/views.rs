//! The view: a snapshot from anywhere and the changes after it are the snapshot at the end.

use serde_json::{Value, json};

use crate::support::{Daemon, Sse};

/// All that a client has to know.
fn apply(view: &mut Value, op: &Value) {
    let mut path: Vec<&str> = op["path"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let last = if op["op"] == "remove" { path.pop() } else { None };
    let (mut node, mut children) = (view, "messages");
    let id_of = |child: &Value| child["id"].as_str().or(child["component_id"].as_str()).map(str::to_owned);
    for id in path {
        if id == "@components" {
            children = "components";
            continue;
        }
        let found =
            node[children].as_array_mut().unwrap().iter_mut().rev().find(|child| id_of(child).as_deref() == Some(id));
        let Some(found) = found else { return };
        (node, children) = (found, "blocks");
    }
    match op["op"].as_str().unwrap() {
        "append" => {
            let field = op["field"].as_str().unwrap();
            node[field] =
                json!(format!("{}{}", node[field].as_str().unwrap_or_default(), op["text"].as_str().unwrap()));
        }
        "set" => {
            for (name, value) in op["fields"].as_object().unwrap() {
                match value {
                    Value::Null => drop(node.as_object_mut().unwrap().remove(name)),
                    value => node[name] = value.clone(),
                }
            }
        }
        "insert" => node[children].as_array_mut().unwrap().push(op["node"].clone()),
        _ => node[children].as_array_mut().unwrap().retain(|child| id_of(child).as_deref() != last),
    }
}

fn follow(stream: &mut Sse, mut view: Value, until: u64) -> (Value, usize) {
    let mut frames = 0;
    while view["seq"].as_u64().unwrap_or(0) < until {
        let event = stream.next_event().expect("the stream goes on");
        let data: Value = serde_json::from_str(&event.data).unwrap();
        match event.kind.as_str() {
            "snapshot" => view = data,
            "ops" => {
                assert_eq!(event.id, data["seq"].as_u64());
                data["ops"].as_array().unwrap().iter().for_each(|op| apply(&mut view, op));
                view["seq"] = data["seq"].clone();
            }
            "heartbeat" => {}
            other => panic!("{other}"),
        }
        frames += 1;
    }
    (view, frames)
}

/// Streams leave out what the blocks say anyway.
pub(crate) fn as_streamed(mut view: Value) -> Value {
    for message in view["messages"].as_array_mut().unwrap() {
        message.as_object_mut().unwrap().remove("content").expect("who asks is told");
    }
    view
}

#[test]
fn the_demo_looks_the_same_live_and_replayed() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut live = Sse::open(client, "/api/sessions/s/view/stream?messages=500");
    client.say("s", "demo");
    let ask = client.ask("s");
    let before = as_streamed(client.get("/api/sessions/s/view?messages=500").json());
    let waiting: Vec<&Value> = before["asks"].as_array().unwrap().iter().collect();
    assert_eq!(waiting[0]["ask_id"], *ask);
    client.post(&format!("/api/sessions/s/permissions/{ask}"), &json!({ "reply": "once" }));
    let ask = client.ask("s");
    client.post(&format!("/api/sessions/s/questions/{ask}"), &json!({ "answers": [["Silk"], ["Weld"]] }));
    client.until_idle("s");
    let head = client.session("s")["head"].as_u64().unwrap();
    let replayed = as_streamed(client.get("/api/sessions/s/view?messages=500").json());
    assert_eq!(follow(&mut live, json!({}), head).0, replayed);
    // From the middle of the turn as well, with what was held there.
    let after = before["seq"].as_u64().unwrap();
    let mut resumed = Sse::open(client, &format!("/api/sessions/s/view/stream?after={after}"));
    assert_eq!(follow(&mut resumed, before, head).0, replayed);

    let blocks = replayed["messages"][1]["blocks"].as_array().unwrap();
    let kinds: std::collections::BTreeSet<_> = blocks.iter().map(|block| block["kind"].as_str().unwrap()).collect();
    for kind in [
        "text",
        "thinking",
        "tool",
        "permission",
        "question",
        "component",
        "subagent",
        "plan",
        "diff",
        "artifact",
        "image",
        "compaction",
    ] {
        assert!(kinds.contains(kind), "{kind} is not in {kinds:?}");
    }
    assert!(replayed["activity"].is_null() && replayed["asks"] == json!([]));
    assert_eq!(replayed["plan"]["steps"][2]["status"], "done");
    assert_eq!(replayed["state"]["rows"], 2);
}

#[test]
fn a_burst_is_few_frames_and_the_same_text() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut live = Sse::open(client, "/api/sessions/s/view/stream");
    client.turn("s", "stream 5000 40");
    let head = client.session("s")["head"].as_u64().unwrap();
    let (view, frames) = follow(&mut live, json!({}), head);
    let asked = client.get("/api/sessions/s/view").json();
    assert_eq!(asked["messages"][1]["content"].as_str().unwrap().len(), 5000 * 40);
    assert_eq!(view, as_streamed(asked));
    assert!(frames < 1000, "{frames} frames for 5000 deltas");
}

#[test]
fn the_newest_come_first_and_older_ones_by_page() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    for n in 0..8 {
        client.turn("s", &format!("echo {n}"));
    }
    let ids = |view: &Value| -> Vec<String> {
        view["messages"].as_array().unwrap().iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect()
    };
    let all = ids(&client.get("/api/sessions/s/view?messages=500").json());
    let mut seen = Vec::new();
    let mut before = String::new();
    loop {
        let page = client.get(&format!("/api/sessions/s/view?messages=5{before}")).json();
        seen.splice(0..0, ids(&page));
        match page["before"].as_str() {
            Some(id) => before = format!("&before={id}"),
            None => break,
        }
    }
    assert_eq!(seen, all);
    client.get("/api/sessions/s/view?before=nothing").is_problem(400, "bad_cursor");
    client.get("/api/sessions/s/view?messages=0").is_problem(400, "invalid_request");
    client.get("/api/sessions/s/view/stream?after=99999").is_problem(400, "bad_cursor");
    client.get("/api/sessions/nobody/view").is_problem(404, "session_not_found");
}

#[test]
fn a_view_survives_the_daemon() {
    let mut daemon = Daemon::start();
    daemon.client.mock("s");
    daemon.client.turn("s", "tool");
    let before = daemon.client.get("/api/sessions/s/view").json();
    daemon.kill();
    daemon.again();
    assert_eq!(daemon.client.get("/api/sessions/s/view").json(), before);
}
