//! Turns, tools, sub-agents: what an agent does when nothing stands in its way.

use serde_json::json;

use super::session;
use crate::place::Place;
use crate::support::{of_kind, processes_of};

#[test]
fn two_turns_with_thinking_in_one_process() {
    let (place, id) = session(
        r#"
        [[reply]]
        when = { user = "hello" }
        step = [{ thinking = "Somebody is there." }, { text = "Hello, I am here." }]
        [[reply]]
        when = { user = "and again" }
        step = [{ text = "Here I still am." }]
        "#,
    );
    let first = place.turn(&id, "hello").completed();
    assert_eq!(first.text(), "Hello, I am here.");
    assert_eq!(first.thinking(), "Somebody is there.");
    assert_eq!(first.only("result")["text"], "Hello, I am here.");
    assert!(first.only("usage")["output_tokens"].as_u64().unwrap() > 0);
    assert!(first.only("done")["anchor"].is_string());
    let agents = processes_of(&id);
    let second = place.turn(&id, "and again").completed();
    assert_eq!(second.text(), "Here I still am.");
    // Beside the one that matters there may be others for a moment.
    assert!(processes_of(&id).iter().any(|pid| agents.contains(pid)), "the agent stays warm");
    let log = place.client().log(&id);
    let ready = of_kind(&log, "session_ready");
    assert_eq!(ready.len(), 2, "created, started");
    assert_eq!(ready[1]["data"]["version"], "2.1.325");
    assert!(!ready[1]["data"]["commands"].as_array().unwrap().is_empty());
    assert!(place.model.server().requests().iter().all(|seen| !seen.miss));
    place.end();
}

#[test]
fn parallel_tools_that_need_nobody() {
    let (place, id) = session(
        r#"
        [[reply]]
        name = "look"
        when = { user = "look around" }
        step = [{ read = "a.txt" }, { read = "b.txt" }]
        [[reply]]
        when = { after = "look" }
        step = [{ text = "I saw both." }]
        "#,
    );
    std::fs::write(place.dir().join("a.txt"), "alpha\n").unwrap();
    std::fs::write(place.dir().join("b.txt"), "beta\n").unwrap();
    let turn = place.turn(&id, "look around").completed();
    assert_eq!(turn.tools(), ["Read", "Read"]);
    let results = turn.of_kind("tool_result");
    // They run side by side, so either may be first.
    let mut outputs: Vec<_> = results.iter().map(|event| event["data"]["output"].as_str().unwrap()).collect();
    outputs.sort_unstable();
    assert!(outputs[0].contains("alpha") && outputs[1].contains("beta"), "{outputs:?}");
    assert!(results.iter().all(|event| event["data"]["is_file_read"] == true));
    assert_eq!(turn.text(), "I saw both.");
    place.end();
}

#[test]
fn a_large_output_is_kept_whole_in_the_agents_own_words() {
    let mut place = Place::claude(
        r#"
        [[reply]]
        name = "print"
        when = { user = "print a lot" }
        step = [{ run = "seq 1 60000" }]
        [[reply]]
        when = { after = "print" }
        step = [{ text = "That was a lot." }]
        "#,
    );
    let id = place.session("claude", json!({ "allowed_tools": ["Bash"] }));
    let turn = place.turn(&id, "print a lot").completed();
    let result = turn.only("tool_result");
    assert!(result["output"].as_str().unwrap().contains("bytes left out"), "{result}");
    let blob = result["blob"]["id"].as_str().expect("a blob");
    let whole = place.client().get(&format!("/api/blobs/{blob}")).body;
    assert!(whole.starts_with("1\n2\n3\n") && whole.len() > 20_000, "{} bytes", whole.len());
    place.end();
}

#[test]
fn an_image_reaches_the_model() {
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let (place, id) = session("[[reply]]\nwhen = { user = \"what is this\" }\nstep = [{ text = \"One pixel.\" }]");
    let parts = json!([{ "type": "text", "text": "what is this" }, { "type": "image", "media_type": "image/png", "data": PIXEL }]);
    let answer = place.client().post(&format!("/api/sessions/{id}/message"), &json!({ "message": parts }));
    assert_eq!(answer.status, 202, "{}", answer.body);
    assert_eq!(place.until_idle(&id).completed().text(), "One pixel.");
    place.end();
}

#[test]
fn a_to_do_list_is_a_plan() {
    let (place, id) = session(
        r#"
        [[reply]]
        name = "plan"
        when = { user = "make a list" }
        step = [{ tool = { name = "TaskCreate", input = { subject = "Weave", description = "Weave the cloth" } } }]
        [[reply]]
        name = "begin"
        when = { after = "plan" }
        step = [{ tool = { name = "TaskUpdate", input = { taskId = "1", status = "in_progress" } } }]
        [[reply]]
        when = { after = "begin" }
        step = [{ text = "Listed." }]
        "#,
    );
    let turn = place.turn(&id, "make a list").completed();
    let plans = turn.of_kind("plan_updated");
    assert_eq!(plans.last().unwrap()["data"]["steps"], json!([{ "text": "Weave", "status": "running" }]));
    place.end();
}

const DELEGATE: &str = r#"
    [[reply]]
    name = "delegate"
    when = { user = "in the foreground" }
    step = [{ text = "I hand this on." }, { tool = { name = "Agent", input = { description = "Count", prompt = "count the threads", subagent_type = "general-purpose", run_in_background = false } } }]
    [[reply]]
    name = "delegate away"
    when = { user = "in the background" }
    step = [{ tool = { name = "Agent", input = { description = "Count", prompt = "count the threads", subagent_type = "general-purpose", run_in_background = true } } }]
    [[reply]]
    name = "count"
    when = { user = "count the threads" }
    always = true
    step = [{ text = "I look." }, { read = "threads.txt" }]
    [[reply]]
    when = { after = "count" }
    always = true
    step = [{ text = "There are three." }]
    [[reply]]
    when = { after = "delegate" }
    step = [{ text = "The other one counted three." }]
    [[reply]]
    when = { after = "delegate away" }
    step = [{ text = "It counts while we talk." }]
    [[reply]]
    always = true
    step = [{ text = "It came back with three." }]
"#;

#[test]
fn a_sub_agent_in_the_foreground() {
    let (place, id) = session(DELEGATE);
    std::fs::write(place.dir().join("threads.txt"), "a\nb\nc\n").unwrap();
    let turn = place.turn(&id, "in the foreground").completed();
    let started = turn.only("subagent_started");
    assert_eq!(started["name"], "Count");
    let sub = &started["subagent_id"];
    let ended = turn.only("subagent_ended");
    assert_eq!((&ended["subagent_id"], &ended["status"], &ended["tool_calls"]), (sub, &json!("completed"), &json!(1)));
    let inside: Vec<_> = turn.0.iter().filter(|event| &event["data"]["subagent_id"] == sub).collect();
    assert!(inside.iter().any(|event| event["type"] == "tool_start" && event["data"]["tool"] == "Read"));
    assert!(inside.iter().any(|event| event["type"] == "delta" && event["data"]["text"] == "There are three."));
    assert_eq!(turn.text(), "I hand this on.The other one counted three.");
    place.end();
}

#[test]
fn a_sub_agent_in_the_background_brings_a_turn_of_its_own() {
    let (place, id) = session(DELEGATE);
    std::fs::write(place.dir().join("threads.txt"), "a\nb\nc\n").unwrap();
    place.turn(&id, "in the background").completed();
    let ended = place.until(&id, "the sub-agent ends", |event| event["type"] == "subagent_ended");
    assert_eq!(ended["data"]["status"], "completed");
    let turn = place.until(&id, "a turn that nobody asked for", |event| {
        event["type"] == "turn_started" && event["data"]["origin"] == "agent"
    });
    assert_eq!(turn["data"]["message_ids"], json!([]));
    assert_eq!(place.until_idle(&id).completed().text(), "It came back with three.");
    place.end();
}

#[test]
fn a_steer_that_comes_too_late_gets_a_turn_of_its_own() {
    let (place, id) = session(
        r#"
        [[reply]]
        when = { user = "tell me" }
        step = [{ text = "It is" }, { wait_for = "end" }, { text = " so." }]
        [[reply]]
        when = { user = "why" }
        step = [{ text = "Because." }]
        "#,
    );
    place.say(&id, "tell me");
    place.model.until_waiting("end");
    let steer = json!({ "message": "why", "when": "steer", "message_id": "late" });
    assert_eq!(place.client().post(&format!("/api/sessions/{id}/message"), &steer).status, 202);
    place.until(&id, "the steer is accepted", |event| event["type"] == "steer");
    place.model.release("end");
    place.until(&id, "it is returned", |event| event["data"]["state"] == "returned");
    let turn = place.until(&id, "its turn", |event| event["data"]["message_ids"] == json!(["late"]));
    place.until(&id, "its end", |event| event["type"] == "done" && event["turn_id"] == turn["turn_id"]);
    assert_eq!(place.until_idle(&id).completed().text(), "Because.");
    let asked = place
        .model
        .server()
        .requests()
        .iter()
        .filter(|seen| seen.user.as_deref().is_some_and(|text| text.contains("why")))
        .count();
    assert_eq!(asked, 1, "the message was answered once");
    place.end();
}

#[test]
fn model_and_mode_can_be_changed() {
    let mut place = Place::claude(
        r#"
        [[reply]]
        name = "write"
        when = { user = "write it" }
        step = [{ write = { path = "note.txt", text = "warp\n" } }]
        [[reply]]
        when = { after = "write" }
        step = [{ text = "Written." }]
        [[reply]]
        always = true
        step = [{ text = "Yes." }]
        "#,
    );
    let id = place.session("claude", json!({ "permission_mode": "default" }));
    place.turn(&id, "are you there").completed();
    let path = format!("/api/sessions/{id}");
    let changed = place.client().patch(&path, &json!({ "model": "claude-sonnet-5-5", "mode": "acceptEdits" }));
    assert_eq!(changed.status, 200, "{}", changed.body);
    place.turn(&id, "write it").completed();
    assert_eq!(place.file("note.txt").as_deref(), Some("warp\n"), "edits need no permission in this mode");
    let seen = place.asked_turns();
    assert_eq!(seen.last().unwrap().model.as_deref(), Some("claude-sonnet-5-5"));
    let refused = place.client().patch(&path, &json!({ "settings": { "colour": "blue" } }));
    refused.is_problem(400, "invalid_request");
    place.end();
}

#[test]
fn a_file_is_mentioned_to_the_agent() {
    let (place, id) = session("[[reply]]\nwhen = { user = \"what is in\" }\nstep = [{ text = \"Cloth.\" }]");
    std::fs::write(place.dir().join("cloth.txt"), "blue\n").unwrap();
    let file = place.dir().join("cloth.txt");
    let parts = json!([{ "type": "text", "text": "what is in" }, { "type": "file", "path": file }]);
    let answer = place.client().post(&format!("/api/sessions/{id}/message"), &json!({ "message": parts }));
    assert_eq!(answer.status, 202, "{}", answer.body);
    place.until_idle(&id).completed();
    let heard = place.last_conversation();
    assert!(heard.contains(&format!("@{}", file.display())), "{heard}");
    place.end();
}

#[test]
fn a_workspace_to_build_in_gets_roles_for_sub_agents() {
    let mut place = Place::claude("[[reply]]\nalways = true\nstep = [{ text = \"Yes.\" }]");
    let own = place.dir().join(".claude/agents/tester.md");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(&own, "---\nname: tester\ndescription: mine\n---\nMine.\n").unwrap();
    let id = place.session("claude", json!({ "mode": "implement", "setting_sources": "project" }));
    place.turn(&id, "are you there").completed();
    assert!(place.file(".claude/agents/reviewer.md").is_some());
    assert!(place.file(".claude/agents/tester.md").unwrap().contains("Mine."), "what was there is left alone");
    assert!(!place.dir().join(".codex").exists());
    place.end();
}
