//! Forks, compaction, and conversations that are not there or not free.

use serde_json::json;
use turnloom_scripted::Kind;

use super::{Agent, ECHO, for_each_agent};

for_each_agent! {
    a_fork_remembers_what_came_before_it_and_nothing_else compaction an_unknown_conversation_is_not_resumed
    two_sessions_do_not_share_a_conversation
}

fn a_fork_remembers_what_came_before_it_and_nothing_else(agent: &Agent) {
    let (mut place, id) = agent.session(ECHO);
    let first = place.turn(&id, "remember the warp").completed();
    place.turn(&id, "forget the weft").completed();
    let turn = first.of_kind("done")[0]["turn_id"].clone();
    let forked = place.client().post(&format!("/api/sessions/{id}/fork"), &json!({ "at_turn": turn }));
    assert_eq!(forked.status, 201, "{}", forked.body);
    let branch = forked.json()["session_id"].as_str().unwrap().to_owned();
    place.adopt(&branch);
    place.turn(&branch, "what was it").completed();
    let heard = place.last_conversation();
    assert!(heard.contains("remember the warp") && !heard.contains("forget the weft"), "{heard}");
    let (parent, child) = (place.client().session(&id), place.client().session(&branch));
    assert_ne!(parent["provider_session_id"], child["provider_session_id"]);
    // The parent does not know of it.
    place.turn(&id, "and you").completed();
    let heard = place.last_conversation();
    assert!(heard.contains("forget the weft") && !heard.contains("what was it"), "{heard}");
    place.end();
}

fn compaction(agent: &Agent) {
    let (place, id) = agent.session(ECHO);
    place.turn(&id, "remember the warp").completed();
    place.turn(&id, "and the weft").completed();
    assert_eq!(place.client().post(&format!("/api/sessions/{id}/compact"), &json!({})).status, 202);
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.only("compaction_start")["trigger"], "manual");
    let end = turn.only("compaction_end");
    assert!(end["failed"].is_null() && end["tokens_before"].is_number(), "{end}");
    let asked = place.model.server().requests();
    assert!(asked.iter().any(|seen| seen.kind == Some(Kind::Compact)), "a summary was asked for");
    place.turn(&id, "go on").completed();
    place.end();
}

fn an_unknown_conversation_is_not_resumed(agent: &Agent) {
    let (place, id) = agent.session(ECHO);
    let body = json!({ "provider_session_id": "00000000-0000-4000-8000-000000000000" });
    let answer = place.client().post(&format!("/api/sessions/{id}/resume"), &body);
    answer.is_problem(502, "conversation_not_found");
    assert!(place.doctor().contains("conversation_not_found"), "{}", place.doctor());
    place.turn(&id, "hello").completed();
    place.end();
}

fn two_sessions_do_not_share_a_conversation(agent: &Agent) {
    let (mut place, id) = agent.session(ECHO);
    place.turn(&id, "hello").completed();
    let conversation = place.client().session(&id)["provider_session_id"].clone();
    let other = place.session(agent.runtime, (agent.free)());
    let body = json!({ "provider_session_id": conversation });
    let answer = place.client().post(&format!("/api/sessions/{other}/resume"), &body);
    answer.is_problem(502, "conversation_in_use");
    place.end();
}
