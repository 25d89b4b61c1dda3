//! Agents that the daemon starts: a shell script will do.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::support::{Daemon, assert_lawful, eventually, of_kind, processes_of};

/// Says that it is ready, then plays one turn for each prompt, and reports by itself with what is in its environment.
const SCRIPT: &str = r#"#!/bin/sh
echo "starting, and this is no message" >&2
while read -r line; do
  case "$line" in
    *'"type":"open"'*) echo '{"type":"ready","data":{}}' ;;
    *'"type":"prompt"'*)
      case "$line" in *"please die"*) echo "it hurts" >&2; exit 3 ;; esac
      echo "this is no JSON"
      echo '{"type":"delta","data":{"text":"Hello from a shell, '"$DIGEST_MODE"'"}}'
      echo '{"type":"tool_start","data":{"tool_use_id":"t1","tool":"sleep"}}'
      echo '{"type":"component_update","data":{"component_id":"env","name":"json","surface":"chat","props":{"url":"'"$TURNLOOM_URL"'","session":"'"$TURNLOOM_SESSION"'","token":"'"$TURNLOOM_TOKEN"'","secret":"'"$NOT_PASSED"'"},"merge":false}}'
      echo '{"type":"turn_ended","data":{"outcome":"completed"}}' ;;
    *'"type":"close"'*) exit 0 ;;
  esac
done
"#;

fn daemon() -> (Daemon, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("digest.sh");
    std::fs::write(&script, SCRIPT).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!(
        "[agents.digest]\nkind = \"command\"\ncommand = [\"{}\"]\ncapabilities = [\"components\"]\nenv = {{ DIGEST_MODE = \"demo\" }}\n[agents.none]\nkind = \"command\"\ncommand = [\"no-such-program-anywhere\"]\n",
        script.display()
    );
    (Daemon::start_with(&config, &[]), folder)
}

#[test]
fn a_script_is_an_agent() {
    let (daemon, _folder) = daemon();
    let client = &daemon.client;
    let made = client.post("/api/sessions", &json!({ "session_id": "shell-agent", "runtime": "digest" }));
    assert_eq!(made.status, 201, "{}", made.body);
    let events = client.turn("shell-agent", "go");
    let text: String = of_kind(&events, "delta").iter().map(|delta| delta["data"]["text"].as_str().unwrap()).collect();
    assert_eq!(text, "Hello from a shell, demo");
    assert_eq!(of_kind(&events, "agent_unparsed")[0]["data"]["raw"], "this is no JSON");
    assert_eq!(of_kind(&events, "tool_result")[0]["data"]["interrupted"], true, "what it left open is closed");
    let props = &of_kind(&events, "component_update")[0]["data"]["props"];
    assert_eq!((&props["session"], &props["secret"]), (&json!("shell-agent"), &json!("")));
    // Its token opens its own session, for as long as it lives.
    let script = crate::support::Client::new(&client.address, props["token"].as_str());
    assert_eq!(props["url"].as_str().unwrap(), format!("http://{}", client.address));
    let event =
        json!({ "type": "evidence_changed", "data": { "evidence_id": "e", "kind": "k", "title": "t", "status": "s" } });
    let emitted = script.post("/api/sessions/shell-agent/emit", &json!({ "events": [event] }));
    assert_eq!(emitted.status, 200, "{}", emitted.body);
    script.get("/api/sessions/shell-agent").is_problem(403, "forbidden");
    script.post("/api/sessions/other/emit", &json!({ "events": [event] })).is_problem(403, "forbidden");

    let failed = client.turn("shell-agent", "please die");
    assert_eq!(of_kind(&failed, "done")[0]["data"]["outcome"], "interrupted");
    assert!(of_kind(&failed, "error")[0]["data"]["message"].as_str().unwrap().contains("it hurts"));
    eventually("its token is gone with it", || {
        (script.post("/api/sessions/shell-agent/emit", &json!({ "events": [event] })).status == 401).then_some(())
    });
    assert_lawful(&client.log("shell-agent"));
    let agents = client.get("/api/agents").json();
    let none = agents["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == "none").unwrap().clone();
    assert_eq!((&none["kind"], &none["installed"]), (&json!("command"), &json!(false)));
    eventually("nothing is left", || processes_of("shell-agent").is_empty().then_some(()));
}
