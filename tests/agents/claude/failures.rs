//! What goes wrong, and how it is said.

use serde_json::json;

use super::session;
use crate::place::Place;

#[test]
fn errors_of_the_model_have_codes_of_their_own() {
    for (status, code) in [
        (401, "key_refused"),
        (429, "rate_limited"),
        (500, "model_error"),
        (529, "overloaded"),
        (400, "request_refused"),
    ] {
        let script = format!(
            "[[reply]]\nwhen = {{ user = \"go on\" }}\nstep = [{{ text = \"Fine.\" }}]\n\
             [[reply]]\nalways = true\nstep = [{{ error = {{ status = {status}, message = \"no\" }} }}]"
        );
        let (place, id) = session(&script);
        let turn = place.turn(&id, "fail").failed(code);
        let retries = turn.of_kind("status").iter().filter(|event| event["data"]["state"] == "retrying").count();
        assert_eq!(retries > 0, status != 400, "{status}");
        assert_eq!(place.turn(&id, "go on").completed().text(), "Fine.");
        place.end();
    }
}

#[test]
fn an_answer_that_does_not_come_to_its_end_says_why() {
    for (stop, code) in
        [("refusal", "refused_by_policy"), ("max_tokens", "output_limit"), ("context_window", "context_too_long")]
    {
        let script = format!("[[reply]]\nalways = true\nstop = \"{stop}\"\nstep = [{{ text = \"half\" }}]");
        let (place, id) = session(&script);
        place.turn(&id, "go").failed(code);
        place.end();
    }
}

#[test]
fn a_compaction_that_fails_is_a_turn_that_fails() {
    let (place, id) = session(
        r#"
        [[reply]]
        when = { kind = "compact" }
        always = true
        step = [{ error = { status = 400, message = "not today" } }]
        [[reply]]
        always = true
        step = [{ text = "Yes." }]
        "#,
    );
    place.turn(&id, "one").completed();
    place.turn(&id, "two").completed();
    let turn = place.turn(&id, "/compact").failed("compaction_failed");
    assert_eq!(turn.only("compaction_start")["trigger"], "manual");
    assert_eq!(turn.only("compaction_end")["failed"], true);
    place.end();
}

#[test]
fn a_broken_stream_is_begun_anew_and_nothing_is_doubled() {
    let (place, id) = session(
        r#"
        [[reply]]
        when = { user = "tell me" }
        step = [{ text = "It broke off" }, { wait_ms = 100 }, { cut = true }]
        [[reply]]
        when = { user = "tell me" }
        always = true
        step = [{ text = "It is told to the end." }]
        "#,
    );
    let turn = place.turn(&id, "tell me").completed();
    assert_eq!(turn.text(), "It is told to the end.");
    assert!(!turn.of_kind("retracted").is_empty(), "what was streamed is taken back");
    place.end();
}

#[test]
fn nobody_is_logged_in() {
    let mut place =
        Place::claude_with("[[reply]]\nalways = true\nstep = [{ text = \"Hi.\" }]", "", &[("ANTHROPIC_API_KEY", "")]);
    let claude = place.agent_info("claude");
    assert_eq!(claude["version"], "2.1.325");
    assert!(claude["problem"].as_str().unwrap().contains("neither a login nor a key"), "{claude}");
    let id = place.session("claude", json!({}));
    place.turn(&id, "hello").failed("not_logged_in");
    place.end();
}

#[test]
fn nothing_listens_where_the_model_should_be() {
    let mut place = Place::claude_with(
        "[[reply]]\nalways = true\nstep = [{ text = \"Hi.\" }]",
        "",
        &[("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")],
    );
    let id = place.session("claude", json!({}));
    place.turn(&id, "hello").failed("connection_failed");
    place.end();
}

#[test]
fn the_working_directory_is_gone() {
    let (place, id) = session("[[reply]]\nalways = true\nstep = [{ text = \"Hi.\" }]");
    std::fs::remove_dir_all(place.dir()).unwrap();
    place.turn(&id, "hello").failed("cwd_unusable");
    std::fs::create_dir(place.dir()).unwrap();
    place.turn(&id, "hello").completed();
    place.end();
}

#[test]
fn nothing_of_the_users_own_settings_leaks_in_where_that_is_not_wanted() {
    let mut place = Place::claude(
        r#"
        [[reply]]
        name = "touch"
        when = { user = "make it" }
        always = true
        step = [{ run = "touch made.txt" }]
        [[reply]]
        always = true
        step = [{ text = "Hm." }]
        "#,
    );
    let id = place.session("claude", json!({ "setting_sources": "" }));
    let settings = place.home.path().join(".claude");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("settings.json"), r#"{ "permissions": { "allow": ["Bash"] } }"#).unwrap();
    place.say(&id, "make it");
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "reject", "stop": true }));
    place.until_idle(&id);
    // No tool with which sessions could talk to each other is offered.
    let seen = place.asked_turns();
    assert!(!seen[0].tools.iter().any(|tool| tool == "SendMessage" || tool == "ListAgents"), "{:?}", seen[0].tools);
    place.end();
}
