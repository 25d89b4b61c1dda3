//! Requests as Claude Code sends them, and streams as it reads them.

use serde_json::{Value, json};

use super::{error, frames, read, whole};
use crate::choose::ScriptPlayer;
use crate::frame::Frame;
use crate::ids::Ids;
use crate::plan::{Break, Plan, Speech, plan};
use crate::request::{Kind, ModelRequest};
use crate::script::{Refusal, Script};

fn asked(messages: &Value) -> ModelRequest {
    let system = json!([{"type": "text", "text": "x-anthropic-billing-header: a"}, {"type": "text", "text": "Working directory: /w\nmore"}]);
    let tools = json!([{"name": "Bash"}]);
    let body = json!({"model": "m", "stream": true, "system": system, "tools": tools, "messages": messages});
    read(body.to_string().as_bytes()).expect("a request")
}

fn speech(steps: &str) -> Speech {
    let script = Script::parse(&format!("[[reply]]\n{steps}")).expect("parses");
    let asked = asked(&json!([{"role": "user", "content": "hi"}]));
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

#[test]
fn only_what_the_user_says_is_the_users() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let result = |id: &str, content: Value| json!({"type": "tool_result", "tool_use_id": id, "content": content});
    let steered = "The user sent a new message while you were working:\nstop\n\nThis is how Claude Code surfaces it";
    for (messages, user, tool_result, after) in [
        (json!([{"role": "user", "content": "hi"}]), Some("hi"), None, vec![]),
        (
            json!([{"role": "user", "content": [text("<system-reminder>x</system-reminder>"), text("hi"), text("there")]},
                   {"role": "system", "content": [text("# Environment")]}]),
            Some("hi\nthere"),
            None,
            vec![],
        ),
        (
            json!([{"role": "user", "content": [text("first"), text("[Request interrupted by user]"), text("second")]}]),
            Some("second"),
            None,
            vec![],
        ),
        (
            json!([{"role": "user", "content": [text("<command-name>/compact"), text("<local-command-stdout>"), text("on")]}]),
            Some("on"),
            None,
            vec![],
        ),
        (
            json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"},
                   {"role": "user", "content": [result("toolu_1_r2", json!("one")), result("toolu_2_r2", json!([text("two")])),
                                                text("<system-reminder>y")]}]),
            None,
            Some("one\ntwo"),
            vec![2, 2],
        ),
        (
            json!([{"role": "assistant", "content": "x"}, {"role": "user", "content": [result("other", json!("one"))]},
                   {"role": "system", "content": [text(steered)]}]),
            Some("stop"),
            Some("one"),
            vec![],
        ),
        (json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "prefix"}]), None, None, vec![]),
    ] {
        let asked = asked(&messages);
        assert_eq!(
            (asked.user.as_deref(), asked.tool_result.as_deref(), asked.after),
            (user, tool_result, after),
            "{messages}"
        );
    }
}

#[test]
fn a_request_says_what_it_is_for() {
    let summary = "CRITICAL: Respond with TEXT ONLY.\nYour task is to create a detailed summary of the conversation";
    assert_eq!(asked(&json!([{"role": "user", "content": "hi"}])).kind, Kind::Turn);
    assert_eq!(asked(&json!([{"role": "user", "content": summary}])).kind, Kind::Compact);
    let title = json!({"model": "m", "system": "You are Claude Code", "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(read(title.to_string().as_bytes()).map(|asked| asked.kind), Ok(Kind::Side));
    let stranger = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(read(stranger.to_string().as_bytes()).map(|asked| asked.kind), Ok(Kind::Turn));
    assert_eq!(asked(&json!([{"role": "user", "content": "hi"}])).directory.as_deref(), Some("/w"));
}

#[test]
fn a_request_that_is_none_is_refused() {
    for (body, part) in [
        ("", "not valid JSON"),
        ("[]", "model"),
        (r#"{"model": "m"}"#, "messages"),
        (r#"{"model": "m", "messages": []}"#, "messages"),
    ] {
        let message = read(body.as_bytes()).expect_err(body).0;
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn everything_that_can_be_said() {
    insta::assert_snapshot!(shown(
        r#"usage = { input = 7, cached = 3, output = 5 }
        step = [
            { thinking = "let me see" },
            { text = "First", every_ms = 4 }, { wait_for = "gate" }, { text = " then more", every_ms = 4 },
            { run = "ls" },
            { tool = { name = "Other" } },
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
        r#"step = [{ text = "half a", pieces = 1 }, { wait_ms = 5 }, { stream_error = { message = "Overloaded" } }]"#
    ));
}

#[test]
fn one_message_says_the_same() {
    let steps = r#"stop = "max_tokens"
        step = [{ thinking = "let me see" }, { wait_ms = 5 }, { text = "Done" }, { run = "ls" }]"#;
    let (pauses, message) = whole(&speech(steps), "m", &mut Ids::new("p"));
    assert_eq!(pauses.len(), 1);
    insta::assert_json_snapshot!(message.expect("a message"));
    let (_, broken) = whole(&speech("step = [{ cut = true }]"), "m", &mut Ids::new(""));
    assert_eq!(broken, Err(Break::Cut));
}

#[test]
fn errors_have_their_names() {
    for (status, name) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ] {
        let refusal = Refusal { status, message: "m".to_owned(), code: None, retry_after: None };
        let body = error(&refusal);
        assert_eq!(
            (&body["type"], &body["error"]["type"], &body["error"]["message"]),
            (&json!("error"), &json!(name), &json!("m"))
        );
    }
}
