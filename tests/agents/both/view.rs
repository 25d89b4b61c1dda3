//! One scripted conversation through both agents: whoever looks at a session must not need to know which agent works in it.

use serde_json::{Value, json};

use crate::place::Place;

/// Words, thoughts, a command, a new file, a question, a refusal.
const CONVERSATION: &str = r#"
    [[reply]]
    when = { user = "hello" }
    step = [{ thinking = "Somebody is there." }, { text = "Hello, I am here." }]
    [[reply]]
    name = "run"
    when = { user = "count the threads" }
    step = [{ text = "I count." }, { run = "printf 'warp\nweft\n' > threads.txt; wc -l < threads.txt" }]
    [[reply]]
    when = { after = "run" }
    step = [{ text = "There are two." }]
    [[reply]]
    name = "write"
    when = { user = "label it" }
    step = [{ write = { path = "label.txt", text = "blue cloth\n" } }]
    [[reply]]
    when = { after = "write" }
    step = [{ text = "It has a label." }]
    [[reply]]
    name = "ask"
    when = { user = "dye it" }
    step = [{ ask = { question = "Which colour?", header = "Colour", options = ["Blue", "Green"] } }]
    [[reply]]
    when = { after = "ask" }
    step = [{ text = "Green it is." }]
    [[reply]]
    name = "cut"
    when = { user = "cut it" }
    step = [{ run = "rm threads.txt" }]
    [[reply]]
    when = { after = "cut" }
    step = [{ text = "Then not." }]
"#;

fn converse(mut place: Place, runtime: &str, params: Value) -> Value {
    let id = place.session(runtime, params);
    place.turn(&id, "hello").completed();
    for (message, reply) in [("count the threads", "once"), ("label it", "once"), ("cut it", "reject")] {
        place.say(&id, message);
        let ask = place.ask(&id);
        place.permit(&id, &ask, &json!({ "reply": reply }));
        place.until_idle(&id).completed();
    }
    place.say(&id, "dye it");
    let ask = place.ask(&id);
    place.answer(&id, &ask, &json!([["Green"]]));
    place.until_idle(&id).completed();
    assert!(place.file("threads.txt").is_some() && place.file("label.txt").is_some());
    let view = place.client().get(&format!("/api/sessions/{id}/view")).json();
    let dir = place.dir().to_str().unwrap().to_owned();
    place.end();
    // Two workspaces, and diffs name files without their first slash.
    let text = view.to_string().replace(&dir, "/work").replace(&dir[1..], "work");
    serde_json::from_str(&text).unwrap()
}

/// What two agents cannot have in common: names and times, what they count, what their tools are called and take, the rules they offer.
const OWN: &[&str] = &[
    "id",
    "turn_id",
    "ask_id",
    "tool_use_id",
    "started_at",
    "ended_at",
    "usage",
    "tool",
    "tool_name",
    "input",
    "tool_input",
    "options",
    "judged",
    "fixed_input",
    "decision",
    "title",
];

fn common(view: &Value) -> Value {
    match view {
        Value::Object(fields) => {
            let kind = fields.get("kind").and_then(Value::as_str);
            let is_command = fields.contains_key("command") && fields["status"] == "done";
            let keep = |(name, value): (&String, &Value)| match name.as_str() {
                own if OWN.contains(&own) => None,
                // The output of a command is the command's own; of any other tool it is what the agent tells its model.
                "output" if !is_command => None,
                "output" => Some((name.clone(), json!(value.as_str().unwrap().trim_end()))),
                "summary" if kind == Some("tool") && !is_command => None,
                _ => Some((name.clone(), common(value))),
            };
            Value::Object(fields.iter().filter_map(keep).collect())
        }
        Value::Array(items) => {
            // Only Codex sums up what a turn has changed; each change is told by both.
            items.iter().filter(|item| item["kind"] != "diff").map(common).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn the_view_of_a_conversation_does_not_depend_on_the_agent() {
    let claude = converse(Place::claude(CONVERSATION), "claude", json!({}));
    let more = "[features]\ndefault_mode_request_user_input = true";
    let place = Place::codex_with(CONVERSATION, more);
    let settings = std::fs::read_to_string(place.home.path().join(".codex/config.toml")).unwrap();
    place.configure_codex(&format!("suppress_unstable_features_warning = true\n{settings}"));
    let codex = converse(place, "codex", json!({ "approval_policy": "untrusted", "sandbox": "danger-full-access" }));
    let messages = |view: &Value| view["messages"].as_array().unwrap().iter().map(common).collect::<Vec<_>>();
    let (of_claude, of_codex) = (messages(&claude), messages(&codex));
    assert_eq!(of_claude.len(), 10, "five messages and five answers");
    for (one, other) in of_claude.iter().zip(&of_codex) {
        assert_eq!(one, other, "\n{one:#}\n{other:#}");
    }
    assert_eq!(of_claude.len(), of_codex.len());
    for part in ["asks", "queue", "steers", "components", "background", "state", "plan"] {
        assert_eq!(common(&claude[part]), common(&codex[part]), "{part}");
    }
}
