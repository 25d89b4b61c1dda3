//! Requests as Codex sends them, and streams as it reads them.

use serde_json::{Value, json};

use super::{error, frames, read, whole};
use crate::choose::ScriptPlayer;
use crate::frame::Frame;
use crate::ids::Ids;
use crate::plan::{Plan, Speech, plan};
use crate::request::{InputForm, Kind, ModelRequest};
use crate::script::{Refusal, Script};

fn asked(input: &Value) -> ModelRequest {
    let tools = json!([
        {"type": "function", "name": "exec_command"},
        {"type": "custom", "name": "apply_patch"},
        {"type": "namespace", "name": "mcp__demo", "tools": [{"type": "function", "name": "ping"}]},
        {"type": "web_search"},
    ]);
    read(json!({"model": "m", "stream": true, "tools": tools, "input": input}).to_string().as_bytes(), None)
        .expect("a request")
}

fn speech(steps: &str) -> Speech {
    let script = Script::parse(&format!("[[reply]]\n{steps}")).expect("parses");
    let asked = asked(&json!("hi"));
    match plan(ScriptPlayer::new(script).choose(&asked).expect("a reply"), &asked) {
        Plan::Speak(speech) => speech,
        Plan::Refuse { .. } => panic!("refused"),
    }
}

fn shown(steps: &str) -> String {
    let frames = frames(&speech(steps), "m", &mut Ids::new(""));
    frames
        .iter()
        .map(|frame| if let Frame::Send(text) = frame { text.clone() } else { format!("{frame:?}\n\n") })
        .collect()
}

fn said(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
}

#[test]
fn only_what_the_user_says_is_the_users() {
    let result = |id: &str, output: Value| json!({"type": "function_call_output", "call_id": id, "output": output});
    let call = json!({"type": "function_call", "call_id": "call_1_r3", "name": "x", "arguments": "{}"});
    for (input, user, tool_result, after) in [
        (json!("hi"), Some("hi"), None, vec![]),
        (
            json!([
                said("developer", "rules"),
                said("user", "<environment_context>\n<cwd>/w</cwd>"),
                said("user", "hi")
            ]),
            Some("hi"),
            None,
            vec![],
        ),
        (
            json!([said("user", "first"), said("user", "<turn_aborted>"), said("user", "second")]),
            Some("second"),
            None,
            vec![],
        ),
        (json!([said("user", "hi"), said("user", "<environment_context>\n")]), Some("hi"), None, vec![]),
        (
            json!([said("user", "hi"), call, result("call_1_r3", json!("one")),
                   {"type": "custom_tool_call_output", "call_id": "z", "output": [{"type": "input_text", "text": "two"}]}]),
            None,
            Some("one\ntwo"),
            vec![3],
        ),
        (json!([call, result("a", json!("one")), said("user", "more")]), Some("more"), Some("one"), vec![]),
        (json!([said("user", "hi"), said("assistant", "x")]), None, None, vec![]),
    ] {
        let asked = asked(&input);
        assert_eq!(
            (asked.user.as_deref(), asked.tool_result.as_deref(), asked.after),
            (user, tool_result, after),
            "{input}"
        );
    }
}

#[test]
fn tools_are_found_wherever_they_are_offered() {
    let added = json!({"type": "additional_tools", "role": "developer", "tools": [
        {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}]});
    let asked = asked(&json!([added, said("user", "<environment_context><cwd>/w</cwd>"), said("user", "hi")]));
    let shown: Vec<_> =
        asked.tools.iter().map(|tool| (tool.name.as_str(), tool.namespace.as_deref(), tool.input)).collect();
    assert_eq!(
        shown,
        [
            ("exec_command", None, InputForm::Object),
            ("apply_patch", None, InputForm::Text),
            ("ping", Some("mcp__demo"), InputForm::Object),
            ("exec", None, InputForm::Text),
        ]
    );
    assert_eq!((asked.user.as_deref(), asked.directory.as_deref()), (Some("hi"), Some("/w")));
}

#[test]
fn a_request_says_what_it_is_for() {
    let body = json!({"model": "m", "input": "hi"}).to_string();
    for (metadata, kind) in [
        (None, Kind::Turn),
        (Some("not json"), Kind::Turn),
        (Some(r#"{"request_kind": "turn"}"#), Kind::Turn),
        (Some(r#"{"request_kind": "compaction"}"#), Kind::Compact),
        (Some(r#"{"request_kind": "memory"}"#), Kind::Side),
    ] {
        assert_eq!(
            read(body.as_bytes(), metadata.map(str::as_bytes)).map(|asked| asked.kind),
            Ok(kind),
            "{metadata:?}"
        );
    }
}

#[test]
fn a_request_that_is_none_is_refused() {
    for (body, part) in [("{", "could not parse"), ("{}", "'model'"), (r#"{"model": "m", "input": []}"#, "'input'")] {
        let message = read(body.as_bytes(), None).expect_err(body).0;
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn everything_that_can_be_said() {
    insta::assert_snapshot!(shown(
        r#"usage = { input = 7, cached = 3, output = 5 }
        step = [
            { thinking = "let me see" },
            { raw_thinking = "hm" },
            { text = "First", every_ms = 4 }, { wait_for = "gate" }, { text = " then more", every_ms = 4 },
            { run = "ls" },
            { write = { path = "a", text = "b" } },
            { tool = { name = "ping" } },
            { text = "Last" },
        ]"#
    ));
}

#[test]
fn a_stream_that_is_cut() {
    insta::assert_snapshot!(shown(r#"step = [{ text = "half a", pieces = 1 }, { cut = true }]"#));
}

#[test]
fn a_stream_that_fails() {
    insta::assert_snapshot!(shown(
        r#"step = [{ text = "half a", pieces = 1 }, { stream_error = { message = "too long", code = "context_length_exceeded" } }]"#
    ));
}

#[test]
fn one_response_says_the_same() {
    let steps = r#"stop = "max_tokens"
        step = [{ wait_ms = 5 }, { text = "Done" }]"#;
    let (pauses, response) = whole(&speech(steps), "m", &mut Ids::new("p"));
    assert_eq!(pauses.len(), 1);
    insta::assert_json_snapshot!(response.expect("a response"));
}

#[test]
fn errors_have_their_names() {
    for (status, code, name, known) in [
        (400, None, "invalid_request_error", Value::Null),
        (401, None, "invalid_request_error", json!("invalid_api_key")),
        (429, None, "requests", json!("rate_limit_exceeded")),
        (429, Some("usage_limit_reached"), "usage_limit_reached", json!("usage_limit_reached")),
        (500, None, "server_error", Value::Null),
        (503, None, "server_error", Value::Null),
    ] {
        let refusal = Refusal { status, message: "m".to_owned(), code: code.map(str::to_owned), retry_after: None };
        let error = &error(&refusal)["error"];
        assert_eq!((&error["type"], &error["code"], &error["message"]), (&json!(name), &known, &json!("m")));
    }
}
