//! Turns, tools, sub-agents: what an agent does when nothing stands in its way.

use serde_json::json;

use super::{ECHO, free, one_server, session, until_servers};
use crate::place::{Place, Turn};
use crate::support::{eventually, of_kind, processes_of};

#[test]
fn two_threads_of_one_server_work_at_once() {
    let mut place = Place::codex(
        r#"
        [[reply]]
        when = { user = "warp" }
        step = [{ text = "The warp" }, { wait_for = "warp" }, { text = " is long." }]
        [[reply]]
        when = { user = "weft" }
        step = [{ text = "The weft" }, { wait_for = "weft" }, { text = " is short." }]
        [[reply]]
        when = { user = "shuttle" }
        step = [{ text = "To and fro." }]
        "#,
    );
    let (one, two) = (place.session("codex", free("never")), place.session("codex", free("never")));
    place.say(&one, "warp");
    place.say(&two, "weft");
    place.model.until_waiting("warp");
    place.model.until_waiting("weft");
    one_server(&place);
    assert!(processes_of(&one).is_empty(), "the server is nobody's own");
    place.model.release("weft");
    assert_eq!(place.until_idle(&two).completed().text(), "The weft is short.");
    assert_eq!(place.client().session(&one)["status"], "running");
    place.model.release("warp");
    let first = place.until_idle(&one).completed();
    assert_eq!(first.text(), "The warp is long.");
    assert_eq!(first.only("result")["text"], "The warp is long.");
    assert!(first.only("usage")["output_tokens"].as_u64().unwrap() > 0);
    assert!(first.only("done")["anchor"].is_string());
    let log = place.client().log(&one);
    let ready = of_kind(&log, "session_ready");
    assert_eq!(ready.len(), 2, "created, started");
    assert_eq!(ready[1]["data"]["version"], "0.166.0");
    assert!(!ready[1]["data"]["models"].as_array().unwrap().is_empty());
    assert_eq!(place.turn(&one, "shuttle").completed().text(), "To and fro.");
    place.end();
}

#[test]
fn reasoning_is_heard_before_the_answer() {
    let (place, id) = session(
        r#"
        [[reply]]
        when = { user = "think" }
        step = [{ thinking = "It is a thread." }, { text = "A thread." }]
        "#,
    );
    let turn = place.turn(&id, "think").completed();
    assert_eq!(turn.thinking(), "It is a thread.");
    assert_eq!(turn.text(), "A thread.");
    place.end();
}

#[test]
fn a_plan() {
    let (place, id) = session(
        r#"
        [[reply]]
        name = "plan"
        when = { user = "make a list" }
        step = [{ plan = [{ text = "Spin", state = "completed" }, { text = "Weave", state = "in_progress" }, { text = "Dye" }] }]
        [[reply]]
        when = { after = "plan" }
        step = [{ text = "Listed." }]
        "#,
    );
    let turn = place.turn(&id, "make a list").completed();
    let steps = json!([
        { "text": "Spin", "status": "done" },
        { "text": "Weave", "status": "running" },
        { "text": "Dye", "status": "pending" },
    ]);
    assert_eq!(turn.of_kind("plan_updated").last().unwrap()["data"]["steps"], steps);
    place.end();
}

#[test]
fn parallel_commands_that_read_are_known_as_such() {
    let (place, id) = session(
        r#"
        [[reply]]
        name = "look"
        when = { user = "look around" }
        step = [{ read = "a.txt" }, { run = "printf %s beta" }]
        [[reply]]
        when = { after = "look" }
        step = [{ text = "I saw both." }]
        "#,
    );
    std::fs::write(place.dir().join("a.txt"), "alpha\n").unwrap();
    let turn = place.turn(&id, "look around").completed();
    assert_eq!(turn.tools(), ["Bash", "Bash"]);
    let results = turn.of_kind("tool_result");
    let reads: Vec<_> = results.iter().filter(|event| event["data"]["is_file_read"] == true).collect();
    assert_eq!(reads.len(), 1, "{results:#?}");
    assert!(reads[0]["data"]["output"].as_str().unwrap().contains("alpha"));
    assert!(reads[0]["data"]["file_path"].as_str().unwrap().ends_with("a.txt"), "{}", reads[0]);
    assert_eq!(turn.text(), "I saw both.");
    place.end();
}

#[test]
fn a_large_output_is_kept_whole() {
    let (place, id) = session(
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
    let turn = place.turn(&id, "print a lot").completed();
    let result = turn.only("tool_result");
    assert!(result["output"].as_str().unwrap().contains("bytes left out"), "{result}");
    let blob = result["blob"]["id"].as_str().expect("a blob");
    let whole = place.client().get(&format!("/api/blobs/{blob}")).body;
    let lines: Vec<usize> = whole.lines().map(|line| line.parse().unwrap()).collect();
    assert!(lines.into_iter().eq(1..=60_000), "every line is there, in order");
    place.end();
}

#[test]
fn an_image_and_a_file_reach_the_model() {
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let (place, id) = session("[[reply]]\nwhen = { user = \"what is this\" }\nstep = [{ text = \"One pixel.\" }]");
    std::fs::write(place.dir().join("cloth.txt"), "blue\n").unwrap();
    let parts = json!([
        { "type": "text", "text": "what is this" },
        { "type": "image", "media_type": "image/png", "data": PIXEL },
        { "type": "file", "path": place.dir().join("cloth.txt") },
    ]);
    let answer = place.client().post(&format!("/api/sessions/{id}/message"), &json!({ "message": parts }));
    assert_eq!(answer.status, 202, "{}", answer.body);
    assert_eq!(place.until_idle(&id).completed().text(), "One pixel.");
    place.end();
}

#[test]
fn a_picture_that_the_agent_looks_at_is_kept() {
    const PIXEL: &[u8] = &[
        0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0,
        0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 13, b'I', b'D', b'A', b'T', 0x78, 0xda, 0x63, 0x64, 0xf8, 0xcf, 0x50,
        0x0f, 0, 0x03, 0x86, 0x01, 0x80, 0x5a, 0x34, 0x7d, 0x6b, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60,
        0x82,
    ];
    let (place, id) = session(
        r#"
        [[reply]]
        name = "look"
        when = { user = "look" }
        step = [{ tool = { name = "view_image", input = { path = "cloth.png" } } }]
        [[reply]]
        when = { after = "look" }
        step = [{ text = "One pixel." }]
        "#,
    );
    std::fs::write(place.dir().join("cloth.png"), PIXEL).unwrap();
    let turn = place.turn(&id, "look").completed();
    let blob = turn.only("tool_result")["images"][0]["blob"]["id"].as_str().expect("a picture").to_owned();
    assert_eq!(place.client().get(&format!("/api/blobs/{blob}")).header("content-type"), Some("image/png"));
    place.end();
}

#[test]
fn a_sub_agent() {
    let (place, id) = session(
        r#"
        [[reply]]
        name = "delegate"
        when = { user = "have it counted" }
        step = [{ text = "I hand this on." }, { tool = { name = "multi_agent_v1.spawn_agent", input = { message = "count the threads" } } }]
        [[reply]]
        name = "count"
        when = { user = "count the threads" }
        step = [{ text = "I look." }, { run = "cat threads.txt" }]
        [[reply]]
        when = { after = "count" }
        step = [{ text = "There are three." }]
        [[reply]]
        when = { after = "delegate" }
        step = [{ text = "It counts" }, { wait_for = "counted" }, { text = " while we talk." }]
        [[reply]]
        always = true
        step = [{ text = "The other one counted three." }]
        "#,
    );
    std::fs::write(place.dir().join("threads.txt"), "a\nb\nc\n").unwrap();
    place.say(&id, "have it counted");
    place.until(&id, "the sub-agent ends", |event| event["type"] == "subagent_ended");
    place.model.release("counted");
    let turn = place.until_idle(&id).completed();
    let started = turn.only("subagent_started");
    assert_eq!(started["background"], true, "its parent goes on");
    let sub = &started["subagent_id"];
    let log = Turn(place.client().log(&id));
    let ended = log.only("subagent_ended");
    assert_eq!((&ended["subagent_id"], &ended["status"], &ended["tool_calls"]), (sub, &json!("completed"), &json!(1)));
    let inside: Vec<_> = log.0.iter().filter(|event| &event["data"]["subagent_id"] == sub).collect();
    assert!(inside.iter().any(|event| event["type"] == "tool_start" && event["data"]["tool"] == "Bash"));
    let said: String = inside
        .iter()
        .filter(|event| event["type"] == "delta")
        .map(|event| event["data"]["text"].as_str().unwrap())
        .collect();
    assert!(said.contains("There are three."), "{said}");
    // Codex tells the agent of the end in this turn, if it is quick enough.
    let said = turn.text();
    let rest = said.strip_prefix("I hand this on.It counts while we talk.").unwrap_or_else(|| panic!("{said}"));
    assert!(["", "The other one counted three."].contains(&rest), "{said}");
    place.end();
}

#[test]
fn one_sub_agent_is_stopped_and_the_conversation_goes_on() {
    let (place, id) = session(
        r#"
        [[reply]]
        name = "delegate"
        when = { user = "have it counted" }
        step = [{ tool = { name = "multi_agent_v1.spawn_agent", input = { message = "count the threads" } } }]
        [[reply]]
        when = { user = "count the threads" }
        step = [{ text = "I count" }, { wait_for = "counted" }, { text = " them." }]
        [[reply]]
        when = { after = "delegate" }
        step = [{ text = "It counts." }]
        [[reply]]
        always = true
        step = [{ text = "Yes." }]
        "#,
    );
    place.turn(&id, "have it counted").completed();
    place.model.until_waiting("counted");
    let started = place.until(&id, "the sub-agent", |event| event["type"] == "subagent_started");
    let sub = started["data"]["subagent_id"].as_str().unwrap();
    let path = format!("/api/sessions/{id}/background/{sub}/stop");
    assert_eq!(place.client().post(&path, &json!({})).json(), json!({ "stopping": true }));
    let ended = place.until(&id, "its end", |event| event["type"] == "subagent_ended");
    assert_eq!((&ended["data"]["subagent_id"], &ended["data"]["status"]), (&json!(sub), &json!("interrupted")));
    assert_eq!(place.turn(&id, "are you there").completed().text(), "Yes.");
    place.end();
}

#[test]
fn model_effort_and_policy_can_be_changed() {
    let mut place = Place::codex(
        r#"
        [[reply]]
        name = "make"
        when = { user = "make it" }
        step = [{ run = "touch made.txt" }]
        [[reply]]
        when = { after = "make" }
        step = [{ text = "Made." }]
        [[reply]]
        always = true
        step = [{ text = "Yes." }]
        "#,
    );
    let id = place.session("codex", free("untrusted"));
    place.turn(&id, "are you there").completed();
    let path = format!("/api/sessions/{id}");
    let body = json!({ "model": "gpt-5.4", "settings": { "effort": "high", "approval_policy": "never" } });
    let changed = place.client().patch(&path, &body);
    assert_eq!(changed.status, 200, "{}", changed.body);
    place.turn(&id, "make it").completed();
    assert!(place.file("made.txt").is_some(), "nobody is asked with this policy");
    assert_eq!(place.asked_turns().last().unwrap().model.as_deref(), Some("gpt-5.4"));
    let refused = place.client().patch(&path, &json!({ "settings": { "colour": "blue" } }));
    refused.is_problem(400, "invalid_request");
    place.end();
}

#[test]
fn sessions_share_a_server_only_in_the_same_surroundings() {
    let mut place = Place::codex(
        r#"
        [[reply]]
        when = { tool_result = "" }
        always = true
        step = [{ text = "It says: {{tool_result}}" }]
        [[reply]]
        always = true
        step = [{ run = "echo thread is $THREAD" }]
        "#,
    );
    let with = |thread: &str| json!({ "sandbox": "danger-full-access", "approval_policy": "never", "env": { "THREAD": thread } });
    let [silk, wool, more_wool] = ["silk", "wool", "wool"].map(|thread| place.session("codex", with(thread)));
    for (id, thread) in [(&silk, "silk"), (&wool, "wool"), (&more_wool, "wool")] {
        let said = place.turn(id, "which thread").completed().text();
        assert!(said.contains(&format!("thread is {thread}")), "{said}");
    }
    // One for each environment.
    until_servers(&place, 2);
    place.end();
}

#[test]
fn one_process_per_turn() {
    let mut place = Place::codex(ECHO);
    let id = place.session("codex-exec", json!({ "sandbox": "danger-full-access" }));
    assert_eq!(place.turn(&id, "one").completed().text(), "You said: one");
    eventually("nothing waits for the next turn", || place.agents().is_empty().then_some(()));
    assert_eq!(place.turn(&id, "two").completed().text(), "You said: two");
    let requests = place.asked_turns();
    assert_eq!(requests.last().unwrap().heard, ["one", "two"], "it remembers");
    let log = place.client().log(&id);
    let mut blocks: Vec<_> = of_kind(&log, "result").iter().map(|event| event["turn_id"].clone()).collect();
    blocks.dedup();
    let names = |turn: &serde_json::Value| -> Vec<String> {
        let deltas = of_kind(&log, "delta").into_iter().filter(|event| event["turn_id"] == *turn);
        deltas.map(|event| event["data"]["block_id"].to_string()).collect()
    };
    let (first, second) = (names(&blocks[0]), names(&blocks[1]));
    assert!(!first.is_empty() && first.iter().all(|name| !second.contains(name)), "{first:?} {second:?}");
    place.end();
}

#[test]
fn a_workspace_to_build_in_gets_roles_for_sub_agents() {
    let mut place = Place::codex(ECHO);
    let own = place.dir().join(".codex/agents/tester.toml");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(&own, "description = \"mine\"\n").unwrap();
    let id = place.session("codex", json!({ "mode": "implement" }));
    place.turn(&id, "are you there").completed();
    assert!(place.file(".codex/agents/reviewer.toml").is_some());
    assert!(place.file(".codex/agents/tester.toml").unwrap().contains("mine"), "what was there is left alone");
    assert!(!place.dir().join(".claude").exists());
    place.end();
}

#[test]
fn who_only_plans_per_turn_only_reads() {
    let mut place = Place::codex(
        r#"
        [[reply]]
        when = { tool_result = "" }
        step = [{ text = "I have tried." }]
        [[reply]]
        always = true
        step = [{ run = "touch made.txt" }]
        "#,
    );
    let id = place.session("codex-exec", json!({ "mode": "plan" }));
    assert_eq!(place.turn(&id, "make it").completed().text(), "I have tried.");
    assert!(place.file("made.txt").is_none());
    place.end();
}
