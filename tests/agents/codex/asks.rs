//! Permissions, questions, tools of others: what an agent wants of a person. What every agent does in the same way is in `both`.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{free, session};
use crate::place::Place;
use crate::support::eventually;

const RUN: &str = r#"
    [[reply]]
    name = "run"
    when = { user = "run it" }
    always = true
    step = [{ run = "touch made.txt && echo made" }]
    [[reply]]
    when = { after = "run" }
    always = true
    step = [{ text = "That was it." }]
"#;

fn asking(script: &str) -> (Place, String) {
    let mut place = Place::codex(script);
    let id = place.session("codex", free("untrusted"));
    (place, id)
}

#[test]
fn a_command_is_refused_and_the_reason_is_read() {
    let (place, id) = asking(
        r#"
        [[reply]]
        name = "run"
        when = { user = "run it" }
        step = [{ run = "touch made.txt" }]
        [[reply]]
        when = { user = "not on a Sunday" }
        step = [{ text = "Then on Monday." }]
        [[reply]]
        when = { after = "run" }
        step = [{ text = "Why not?" }]
        "#,
    );
    place.say(&id, "run it");
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "reject", "message": "not on a Sunday" }));
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.only("tool_result")["denied"], true);
    assert!(turn.text().ends_with("Then on Monday."), "{}", turn.text());
    assert!(place.file("made.txt").is_none());
    place.end();
}

#[test]
fn a_command_that_needs_nobody() {
    let (place, id) = session(RUN);
    let turn = place.turn(&id, "run it").completed();
    assert!(turn.of_kind("permission_request").is_empty());
    assert_eq!(turn.only("tool_result")["exit_code"], 0);
    place.end();
}

const SERVE: &str = r#"
    [[reply]]
    name = "serve"
    when = { user = "serve it" }
    step = [{ tool = { name = "exec_command", input = { cmd = "echo up; while [ ! -e end ]; do sleep 0.1; done; echo down", yield_time_ms = 300 } } }]
    [[reply]]
    when = { after = "serve" }
    step = [{ text = "It runs." }]
"#;

/// A command that goes on after its turn is in the background, until it ends.
fn outlives_its_turn(place: Place, id: &str, turn: &crate::place::Turn) {
    assert_eq!(turn.text(), "It runs.");
    let started = turn.only("background_started");
    assert_eq!(started["tool_use_id"], turn.only("tool_start")["tool_use_id"]);
    assert!(turn.of_kind("tool_result").is_empty(), "it has not ended: {turn:?}");
    std::fs::write(place.dir().join("end"), "").unwrap();
    let ended = place.until(id, "its end", |event| event["type"] == "background_ended");
    assert_eq!((&ended["data"]["status"], &ended["data"]["exit_code"]), (&json!("completed"), &json!(0)), "{ended}");
    let output = ended["data"]["output"].as_str().unwrap();
    assert!(output.contains("up") && output.contains("down"), "{output:?}");
    place.end();
}

#[test]
fn a_command_that_needs_nobody_outlives_its_turn() {
    let (place, id) = session(SERVE);
    let turn = place.turn(&id, "serve it").completed();
    outlives_its_turn(place, &id, &turn);
}

#[test]
fn a_command_that_was_allowed_outlives_its_turn() {
    let (place, id) = asking(SERVE);
    place.say(&id, "serve it");
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    let turn = place.until_idle(&id).completed();
    outlives_its_turn(place, &id, &turn);
}

#[test]
fn one_command_in_the_background_is_stopped_and_the_rest_goes_on() {
    let (place, id) = session(
        r#"
        [[reply]]
        name = "serve"
        when = { user = "serve it" }
        always = true
        step = [{ tool = { name = "exec_command", input = { cmd = "echo $$ >> pids; while [ ! -e end ]; do sleep 0.1; done; echo down", yield_time_ms = 300 } } }]
        [[reply]]
        when = { after = "serve" }
        always = true
        step = [{ text = "It runs." }]
        "#,
    );
    assert_eq!(place.agent_info("codex")["capabilities"]["stop_background"], true);
    let started =
        |turn: crate::place::Turn| turn.only("background_started")["background_id"].as_str().unwrap().to_owned();
    let one = started(place.turn(&id, "serve it").completed());
    let other = started(place.turn(&id, "serve it again").completed());
    let pids = place.file("pids").unwrap();
    let runs = |line: usize| std::path::Path::new("/proc").join(pids.lines().nth(line).unwrap()).exists();
    assert!(runs(0) && runs(1));
    let path = |task: &str| format!("/api/sessions/{id}/background/{task}/stop");
    assert_eq!(place.client().post(&path(&one), &json!({})).json(), json!({ "stopping": true }));
    let ended = place.until(&id, "its end", |event| event["type"] == "background_ended");
    assert_eq!(
        (&ended["data"]["background_id"], &ended["data"]["status"]),
        (&json!(one), &json!("interrupted")),
        "{ended}"
    );
    eventually("the command is gone", || (!runs(0)).then_some(()));
    assert!(runs(1), "nobody wanted to stop the other one");
    place.client().post(&path(&one), &json!({})).is_problem(404, "background_not_found");
    std::fs::write(place.dir().join("end"), "").unwrap();
    let is_other =
        |event: &Value| event["type"] == "background_ended" && event["data"]["background_id"] == other.as_str();
    assert_eq!(place.until(&id, "the end of the other one", is_other)["data"]["status"], "completed");
    place.end();
}

/// Models of the newer kind call their tools in a script.
const SCRIPTED_CALLS: &str = r#"
    [[reply]]
    name = "three"
    when = { user = "all three" }
    step = [{ tool = { name = "exec", input = "await Promise.all([0, 1, 2].map(i => tools.exec_command({ cmd: `touch made${i}.txt` })));" } }]
    [[reply]]
    when = { after = "three" }
    step = [{ text = "That was it." }]
    [[reply]]
    when = { user = "hello" }
    step = [{ text = "Hello." }]
"#;

#[test]
fn what_is_dropped_with_a_rejected_call_does_not_stay_in_the_background() {
    let mut place = Place::codex(SCRIPTED_CALLS);
    let mut params = free("untrusted");
    params["model"] = "gpt-6.1-sol".into();
    let id = place.session("codex", params);
    place.say(&id, "all three");
    let asks = eventually("three asks", || {
        let asks = place.client().get("/api/asks").json();
        Some(asks["asks"].as_array()?.clone()).filter(|asks| asks.len() == 3)
    });
    // The first no ends the script, and what is allowed after that is not run.
    for (ask, reply) in asks.iter().zip(["reject", "once", "once"]) {
        let path = format!("/api/sessions/{id}/permissions/{}", ask["ask_id"].as_str().unwrap());
        place.client().post(&path, &json!({ "reply": reply }));
    }
    let turn = place.until_idle(&id).completed();
    assert!(turn.of_kind("background_started").is_empty(), "{turn:?}");
    let starts = turn.tools().into_iter().filter(|tool| *tool == "Bash").count();
    assert_eq!((starts, turn.of_kind("tool_result").len()), (3, turn.tools().len()), "each has its end: {turn:?}");
    let failed = turn.of_kind("tool_result").into_iter().filter(|event| event["data"]["is_error"] == true).count();
    assert!(failed >= 3, "{turn:?}");
    assert!((0..3).all(|number| place.file(&format!("made{number}.txt")).is_none()));
    assert_eq!(place.turn(&id, "hello").completed().text(), "Hello.");
    place.end();
}

const DYE: &str = r#"
    [[reply]]
    name = "edit"
    when = { user = "dye it" }
    always = true
    step = [{ edit = { path = "cloth.txt", old = "undyed", new = "blue" } }]
    [[reply]]
    name = "write"
    when = { user = "label it" }
    step = [{ write = { path = "label.txt", text = "blue cloth\n" } }]
    [[reply]]
    when = { tool_result = "" }
    always = true
    step = [{ text = "That was it." }]
"#;

#[test]
fn a_patch_is_shown_and_allowed() {
    let (place, id) = asking(DYE);
    std::fs::write(place.dir().join("cloth.txt"), "weft\nundyed\nwarp\n").unwrap();
    place.say(&id, "dye it");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["tool_name"], "Edit");
    assert!(ask["request"]["tool_input"]["diff"].as_str().unwrap().contains("-undyed\n+blue\n"), "{ask}");
    assert_eq!(place.file("cloth.txt").as_deref(), Some("weft\nundyed\nwarp\n"), "nothing has happened yet");
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    let turn = place.until_idle(&id).completed();
    assert!(turn.only("tool_result")["diff"].as_str().unwrap().contains("-undyed\n+blue\n"));
    assert_eq!(place.file("cloth.txt").as_deref(), Some("weft\nblue\nwarp\n"));
    let diffs = turn.of_kind("diff_updated");
    assert_eq!(diffs.len(), 1, "the same diff is not told twice: {diffs:#?}");
    assert!(diffs[0]["data"]["files"][0]["path"].as_str().unwrap().ends_with("cloth.txt"));
    place.end();
}

#[test]
fn a_patch_that_does_not_fit_is_told() {
    let (place, id) = session(DYE);
    std::fs::write(place.dir().join("cloth.txt"), "weft\nwarp\n").unwrap();
    let turn = place.turn(&id, "dye it").completed();
    assert_eq!(turn.tools(), ["Edit"]);
    let result = turn.only("tool_result");
    assert_eq!(result["is_error"], true);
    assert!(result["output"].as_str().unwrap().contains("verification failed"), "{result}");
    place.end();
}

/// Codex itself tells of these only in the process in which a thread began.
#[test]
fn a_patch_that_does_not_fit_is_told_in_every_process() {
    let script = format!("{DYE}\n[[reply]]\nalways = true\nstep = [{{ text = \"Yes.\" }}]");
    for (runtime, params) in [("codex", free("never")), ("codex-exec", json!({ "sandbox": "danger-full-access" }))] {
        let mut place = Place::codex(&script);
        std::fs::write(place.dir().join("cloth.txt"), "weft\nwarp\n").unwrap();
        let id = place.session(runtime, params);
        place.turn(&id, "hello").completed();
        if runtime == "codex" {
            assert_eq!(place.daemon.terminate(), Some(0));
            place.daemon.again();
        }
        let turn = place.turn(&id, "dye it").completed();
        assert_eq!(turn.tools(), ["Edit"], "{runtime}");
        let result = turn.only("tool_result");
        assert_eq!(result["is_error"], true);
        assert!(result["output"].as_str().unwrap().contains("verification failed"), "{runtime}: {result}");
        let turn = place.turn(&id, "and now").completed();
        assert_eq!(turn.tools(), [""; 0], "{runtime}: it is told once");
        place.end();
    }
}

#[test]
fn a_patch_is_refused() {
    let (place, id) = asking(DYE);
    place.say(&id, "label it");
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "reject" }));
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.only("tool_result")["denied"], true);
    assert!(place.file("label.txt").is_none());
    place.end();
}

#[test]
fn the_hosts_own_tool_asks_in_every_mode() {
    let (place, id) = session(
        r#"
        [[reply]]
        name = "ask"
        when = { user = "weave" }
        always = true
        step = [{ tool = { name = "ask_user", input = { questions = [{ question = "How wide?", options = [{ label = "narrow" }, { label = "wide" }] }] } } }]
        [[reply]]
        when = { after = "ask" }
        always = true
        step = [{ text = "I heard: {{tool_result}}" }]
        "#,
    );
    place.say(&id, "weave");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["questions"][0]["prompt"], "How wide?");
    place.answer(&id, &ask, &json!([["wide"]]));
    let turn = place.until_idle(&id).completed();
    assert!(turn.text().contains("I heard: wide"), "{}", turn.text());
    assert!(turn.only("tool_result")["is_error"] != true);
    place.say(&id, "weave");
    let ask = place.ask(&id);
    let path = format!("/api/sessions/{id}/questions/{}/reject", ask["ask_id"].as_str().unwrap());
    assert_eq!(place.client().post(&path, &json!({})).status, 200);
    assert!(place.until_idle(&id).completed().text().contains("did not answer"));
    place.end();
}

/// A whole MCP server: a tool that only reads, one that changes something, one that asks a person, one that shows a picture.
const LOOM_SERVER: &str = r#"#!/bin/sh
say() { printf '%s\n' "$1"; }
text() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"$2\"}]}}"; }
tool() { printf '{"name":"%s","description":"%s","inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":%s,"destructiveHint":%s}}' "$1" "$1" "$2" "$3"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"method":"initialize"'*)
        say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"loom\",\"version\":\"1.0.0\"}}}" ;;
    *'"method":"tools/list"'*)
        say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[$(tool look true false),$(tool cut false true),$(tool measure true false),$(tool show true false)]}}" ;;
    *'"method":"tools/call"'*'"name":"look"'* | *'"name":"look"'*'"method":"tools/call"'*) text "$id" "three threads" ;;
    *'"method":"tools/call"'*'"name":"show"'* | *'"name":"show"'*'"method":"tools/call"'*)
        say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"here\"},{\"type\":\"image\",\"data\":\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==\",\"mimeType\":\"image/png\"}]}}" ;;
    *'"method":"tools/call"'*'"name":"cut"'* | *'"name":"cut"'*'"method":"tools/call"'*) text "$id" "cut" ;;
    *'"method":"tools/call"'*'"name":"measure"'* | *'"name":"measure"'*'"method":"tools/call"'*)
        call=$id
        say '{"jsonrpc":"2.0","id":900,"method":"elicitation/create","params":{"message":"How wide is the loom?","requestedSchema":{"type":"object","properties":{"width":{"type":"string","title":"Width"}},"required":["width"]}}}'
        read -r answer
        width=$(printf '%s' "$answer" | sed -n 's/.*"width":"\([^"]*\)".*/\1/p')
        text "$call" "it is ${width:-unknown}" ;;
    *'"id":'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}" ;;
    esac
done
"#;

fn with_loom_server(script: &str) -> (Place, String) {
    with_loom_server_in("codex", free("on-request"), script)
}

pub(super) fn with_loom_server_in(runtime: &str, mut params: Value, script: &str) -> (Place, String) {
    let mut place = Place::codex(script);
    let program = place.home.path().join("loom-server");
    std::fs::write(&program, LOOM_SERVER).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    params["mcp_servers"] = json!({ "loom": { "command": program, "env": { "A \"quoted\" name": "it's \\ fine" } } });
    let id = place.session(runtime, params);
    (place, id)
}

fn call(tool: &str) -> String {
    format!(
        "[[reply]]\nname = \"call\"\nwhen = {{ user = \"use it\" }}\nalways = true\nstep = [{{ tool = {{ name = \"mcp__loom.{tool}\", input = {{}} }} }}]\n\
         [[reply]]\nwhen = {{ after = \"call\" }}\nalways = true\nstep = [{{ text = \"It says: {{{{tool_result}}}}\" }}]\n"
    )
}

#[test]
fn a_tool_of_an_mcp_server_that_only_reads() {
    let (app_server, exec) = (free("on-request"), json!({ "sandbox": "danger-full-access" }));
    for (runtime, params) in [("codex", app_server), ("codex-exec", exec)] {
        let (place, id) = with_loom_server_in(runtime, params, &call("look"));
        let turn = place.turn(&id, "use it").completed();
        assert_eq!(turn.tools(), ["mcp__loom__look"], "{runtime}");
        assert!(turn.only("tool_result")["output"].to_string().contains("three threads"), "{turn:?}");
        assert!(turn.text().contains("three threads"));
        place.end();
    }
}

#[test]
fn a_picture_of_an_mcp_server_is_kept() {
    for (runtime, params) in [("codex", free("on-request")), ("codex-exec", json!({ "sandbox": "danger-full-access" }))]
    {
        let (place, id) = with_loom_server_in(runtime, params, &call("show"));
        let turn = place.turn(&id, "use it").completed();
        let result = turn.only("tool_result");
        assert_eq!(result["output"], "here\n[image]", "{runtime}");
        let blob = result["images"][0]["blob"]["id"].as_str().expect("a picture");
        assert_eq!(place.client().get(&format!("/api/blobs/{blob}")).header("content-type"), Some("image/png"));
        place.end();
    }
}

#[test]
fn a_tool_of_an_mcp_server_that_is_asked_about() {
    let (place, id) = with_loom_server(&call("cut"));
    place.say(&id, "use it");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["tool_name"], "mcp__loom__cut");
    place.permit(&id, &ask, &json!({ "reply": "reject" }));
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.only("tool_result")["is_error"], true);
    place.say(&id, "use it");
    let ask = place.ask(&id);
    let options = ask["request"]["options"].as_array().unwrap();
    let rule =
        options.iter().find(|option| option["scope"] == "session").expect("a rule for the session")["rule"].clone();
    place.permit(&id, &ask, &json!({ "reply": "always", "rule": rule }));
    let turn = place.until_idle(&id).completed();
    assert!(turn.text().contains("cut"), "{}", turn.text());
    let again = place.turn(&id, "use it").completed();
    assert!(again.of_kind("permission_request").is_empty(), "it is not asked again");
    place.end();
}

#[test]
fn an_mcp_server_asks_a_person() {
    let (place, id) = with_loom_server(&call("measure"));
    place.say(&id, "use it");
    let ask = place.ask(&id);
    let questions: &Value = &ask["request"]["questions"];
    assert!(ask["title"].as_str().unwrap().contains("How wide is the loom?"), "{ask}");
    assert_eq!(questions.as_array().unwrap().len(), 1);
    place.answer(&id, &ask, &json!([["two metres"]]));
    assert!(place.until_idle(&id).completed().text().contains("it is two metres"));
    place.end();
}

#[test]
fn a_client_runs_a_tool_for_codex() {
    let mut place = Place::codex(
        r#"
        [[reply]]
        name = "look"
        when = { user = "weather" }
        step = [{ tool = { name = "get_weather", input = { city = "Ghent" } } }]
        [[reply]]
        when = { after = "look" }
        step = [{ text = "I heard: {{tool_result}}" }]
        "#,
    );
    let tools = json!([{ "name": "get_weather", "description": "The weather in a city." }]);
    let id = place.session("codex", json!({ "client_tools": tools }));
    place.say(&id, "weather");
    let ask = place.ask(&id);
    assert_eq!((&ask["kind"], &ask["request"]["component_name"]), (&json!("interrupt"), &json!("get_weather")));
    assert_eq!(ask["request"]["props"], json!({ "city": "Ghent" }));
    let path = format!("/api/sessions/{id}/tool-results/{}", ask["request"]["tool_use_id"].as_str().unwrap());
    let given = place.client().post(&path, &json!({ "output": "clear skies" }));
    assert_eq!(given.status, 200, "{}", given.body);
    let turn = place.until_idle(&id).completed();
    assert!(turn.text().contains("clear skies"), "{}", turn.text());
    let start = turn.only("tool_start");
    assert_eq!((&start["tool"], &start["client_tool"]), (&json!("get_weather"), &json!(true)));
    assert_eq!(
        (&turn.only("tool_result")["output"], turn.of_kind("permission_request").len()),
        (&json!("clear skies"), 0)
    );
    place.end();
}

#[test]
fn an_edited_command_is_not_run_as_it_was() {
    let (place, id) = asking(RUN);
    place.say(&id, "run it");
    let ask = place.ask(&id);
    let path = format!("/api/sessions/{id}/permissions/{}", ask["ask_id"].as_str().unwrap());
    let edited = json!({ "reply": "once", "updated_input": { "command": "true" } });
    place.client().post(&path, &edited).is_problem(422, "unsupported");
    assert_eq!(place.ask(&id), ask, "it waits as before");
    place.permit(&id, &ask, &json!({ "reply": "reject" }));
    place.until_idle(&id).completed();
    assert!(place.file("made.txt").is_none());
    place.end();
}
