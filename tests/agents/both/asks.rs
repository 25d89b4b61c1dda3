//! What an agent wants of a person, and what it makes of the answer.

use serde_json::json;

use super::{Agent, for_each_agent};

for_each_agent! {
    a_command_is_allowed_once_and_asked_about_again a_command_is_allowed_for_the_session a_command_is_refused_and_the_turn_ends
    a_question_is_answered_or_not a_sub_agent_that_asks_is_named
}

const TOUCH: &str = r#"
    [[reply]]
    name = "touch"
    when = { user = "make it" }
    always = true
    step = [{ run = "touch made.txt" }]
    [[reply]]
    when = { after = "touch" }
    always = true
    step = [{ text = "That was it." }]
"#;

fn a_command_is_allowed_once_and_asked_about_again(agent: &Agent) {
    let (place, id) = agent.asking_session(TOUCH);
    place.say(&id, "make it");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["tool_name"], "Bash");
    assert_eq!(ask["request"]["tool_input"]["command"], "touch made.txt");
    assert!(place.file("made.txt").is_none(), "nothing has happened yet");
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    let turn = place.until_idle(&id).completed();
    assert_eq!((turn.tools(), turn.text().as_str()), (vec!["Bash"], "That was it."));
    assert_eq!(turn.only("tool_result")["exit_code"], 0);
    assert!(place.file("made.txt").is_some());
    place.say(&id, "make it");
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "reject" }));
    assert_eq!(place.until_idle(&id).completed().only("tool_result")["denied"], true);
    place.end();
}

fn a_command_is_allowed_for_the_session(agent: &Agent) {
    let (place, id) = agent.asking_session(TOUCH);
    place.say(&id, "make it");
    let ask = place.ask(&id);
    let options = ask["request"]["options"].as_array().unwrap();
    let mut rules = options.iter().filter_map(|option| option["rule"].as_str());
    let rule = rules.find(|rule| rule.contains("session")).expect("a rule for the session");
    let path = format!("/api/sessions/{id}/permissions/{}", ask["ask_id"].as_str().unwrap());
    let unknown = place.client().post(&path, &json!({ "reply": "always", "rule": "session: everything" }));
    unknown.is_problem(400, "invalid_request");
    place.permit(&id, &ask, &json!({ "reply": "always", "rule": rule }));
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.only("permission_resolved")["rule"], rule);
    let again = place.turn(&id, "make it").completed();
    assert!(again.of_kind("permission_request").is_empty(), "it is not asked again");
    let written = [place.dir().join(".claude"), place.home.path().join(".codex/rules")];
    assert!(!written.iter().any(|path| path.exists()), "a rule for the session is written nowhere");
    place.end();
}

fn a_command_is_refused_and_the_turn_ends(agent: &Agent) {
    let (place, id) = agent.asking_session(TOUCH);
    place.say(&id, "make it");
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "reject", "stop": true }));
    let turn = place.until_idle(&id);
    assert_eq!(turn.outcome(), "stopped");
    assert_eq!(turn.only("tool_result")["denied"], true);
    assert!(place.file("made.txt").is_none());
    place.say(&id, "make it");
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    place.until_idle(&id).completed();
    place.end();
}

fn a_sub_agent_that_asks_is_named(agent: &Agent) {
    let script = format!(
        "[[reply]]\nname = \"delegate\"\nwhen = {{ user = \"hand it on\" }}\nstep = [{}]\n\
         [[reply]]\nwhen = {{ after = \"delegate\" }}\nstep = [{{ text = \"It is made.\" }}]\n\
         {TOUCH}\n[[reply]]\nalways = true\nstep = [{{ text = \"I heard.\" }}]",
        agent.delegate
    );
    let (place, id) = agent.asking_session(&script);
    place.say(&id, "hand it on");
    let ask = place.ask(&id);
    let started = place.until(&id, "the sub-agent", |event| event["type"] == "subagent_started");
    assert_eq!(ask["subagent_id"], started["data"]["subagent_id"], "{ask}");
    assert_eq!(ask["subagent_name"], started["data"]["name"], "{ask}");
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    place.until(&id, "its end", |event| event["type"] == "subagent_ended");
    assert!(place.file("made.txt").is_some());
    place.end();
}

fn a_question_is_answered_or_not(agent: &Agent) {
    let mut place = (agent.place)(
        r#"
        [[reply]]
        name = "ask"
        when = { user = "weave" }
        always = true
        step = [{ ask = { question = "Which colour?", header = "Colour", options = ["Blue", "Green"] } }]
        [[reply]]
        when = { after = "ask" }
        always = true
        step = [{ text = "I heard: {{tool_result}}" }]
        "#,
    );
    let id = place.session(agent.runtime, (agent.inquiring)());
    place.say(&id, "weave");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["questions"][0]["prompt"], "Which colour?");
    place.answer(&id, &ask, &json!([["Green"]]));
    assert!(place.until_idle(&id).completed().text().contains("Green"));
    place.say(&id, "weave");
    let ask = place.ask(&id);
    let path = format!("/api/sessions/{id}/questions/{}/reject", ask["ask_id"].as_str().unwrap());
    assert_eq!(place.client().post(&path, &json!({})).status, 200);
    assert!(!place.until_idle(&id).completed().text().contains("Green"));
    place.end();
}
