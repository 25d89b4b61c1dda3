//! What goes wrong, and how it is said.

use super::{ECHO, free, session};
use crate::place::{Model, Place};

#[test]
fn errors_of_the_model_have_codes_of_their_own() {
    for (status, code, tried_again) in [
        (401, "key_refused", true),
        (429, "rate_limited", true),
        (500, "model_error", true),
        (400, "model_error", false),
    ] {
        let script = format!(
            "[[reply]]\nwhen = {{ user = \"go on\" }}\nstep = [{{ text = \"Fine.\" }}]\n\
             [[reply]]\nalways = true\nstep = [{{ error = {{ status = {status}, message = \"no\", retry_after = 1 }} }}]"
        );
        let mut place = Place::codex_with(&script, "stream_max_retries = 2");
        let id = place.session("codex", free("never"));
        let turn = place.turn(&id, "fail").failed(code);
        let retries = turn.of_kind("status").iter().filter(|event| event["data"]["state"] == "retrying").count();
        assert_eq!(retries > 0, tried_again, "{status}: {turn:?}");
        assert_eq!(place.turn(&id, "go on").completed().text(), "Fine.");
        place.end();
    }
}

#[test]
fn an_answer_that_is_too_long_has_a_code_of_its_own() {
    for (runtime, params) in [("codex", free("never")), ("codex-exec", serde_json::json!({}))] {
        let mut place =
            Place::codex("[[reply]]\nalways = true\nstop = \"max_tokens\"\nstep = [{ text = \"It is a long\" }]");
        let id = place.session(runtime, params);
        place.turn(&id, "tell me").failed("output_limit");
        place.end();
    }
}

#[test]
fn a_compaction_that_fails_says_so() {
    let mut place = Place::codex_with(
        r#"
        [[reply]]
        when = { kind = "compact" }
        always = true
        step = [{ error = { status = 400, message = "no" } }]
        [[reply]]
        always = true
        step = [{ text = "Yes." }]
        "#,
        "stream_max_retries = 1",
    );
    let id = place.session("codex", free("never"));
    place.turn(&id, "are you there").completed();
    place.turn(&id, "/compact").failed("compaction_failed");
    place.turn(&id, "and now").completed();
    place.end();
}

#[test]
fn a_retry_that_works_is_no_error() {
    let mut place = Place::codex_with(
        r#"
        [[reply]]
        when = { user = "tell me" }
        step = [{ error = { status = 500, message = "not now" } }]
        [[reply]]
        when = { user = "tell me" }
        step = [{ text = "It broke off" }, { wait_ms = 100 }, { cut = true }]
        [[reply]]
        when = { user = "tell me" }
        always = true
        step = [{ text = "It is told to the end." }]
        "#,
        "stream_max_retries = 3",
    );
    let id = place.session("codex", free("never"));
    let turn = place.turn(&id, "tell me").completed();
    assert_eq!(turn.text(), "It is told to the end.");
    assert!(turn.of_kind("error").is_empty());
    assert!(!turn.of_kind("retracted").is_empty(), "what was streamed is taken back");
    place.end();
}

#[test]
fn nobody_is_logged_in() {
    let model = Model::start(ECHO);
    let config = format!("[codex]\nprogram = \"{}\"\n", crate::place::codex_program().display());
    let mut place = Place::with(&config, &[("TMPDIR", "/var/tmp")], model);
    let codex = place.agent_info("codex");
    assert_eq!(codex["version"], "0.166.0");
    assert!(codex["problem"].as_str().unwrap().contains("neither a login nor a key"), "{codex}");
    assert!(place.doctor().contains("neither a login nor a key"), "{}", place.doctor());
    // A provider that wants a login, on loopback, so that nothing is asked elsewhere.
    place.configure_codex(&format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"Scripted\"\nbase_url = \"{}/v1\"\n\
         wire_api = \"responses\"\nrequires_openai_auth = false\nenv_key = \"SCRIPTED_KEY\"\n",
        place.model.server().url()
    ));
    let id = place.session("codex", free("never"));
    place.turn(&id, "hello").failed("not_logged_in");
    assert!(place.doctor().contains("not_logged_in"), "{}", place.doctor());
    place.end();
}

#[test]
fn its_settings_cannot_be_read() {
    let (place, id) = session(ECHO);
    let settings = std::fs::read_to_string(place.home.path().join(".codex/config.toml")).unwrap();
    place.configure_codex("model = [this is not TOML");
    place.turn(&id, "hello").failed("agent_config_invalid");
    let codex = place.agent_info("codex");
    assert!(codex["problem"].as_str().unwrap().contains("config.toml"), "{codex}");
    let said = place.doctor();
    assert!(said.contains("is not TOML") && said.contains("agent_config_invalid"), "{said}");
    place.configure_codex(&settings);
    place.turn(&id, "hello again").completed();
    place.end();
}
