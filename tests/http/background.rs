//! What runs in the background, and how one thing of it is ended.

use serde_json::json;

use crate::support::{Daemon, assert_lawful, eventually, of_kind};

#[test]
fn one_thing_in_the_background_is_ended() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "background forever");
    let log = client.log("s");
    let task = of_kind(&log, "background_started")[0]["data"]["background_id"].as_str().unwrap().to_owned();
    // A stop is for the turn; it says what it leaves.
    let stop = client.post("/api/sessions/s/stop", &json!({}));
    assert_eq!(stop.json(), json!({ "stopped": false, "background": 1 }));
    client.post("/api/sessions/s/background/nothing/stop", &json!({})).is_problem(404, "background_not_found");
    let told = client.post(&format!("/api/sessions/s/background/{task}/stop"), &json!({}));
    assert_eq!((told.status, told.json()), (200, json!({ "stopping": true })));
    let ended =
        eventually("its end", || of_kind(&client.log("s"), "background_ended").first().map(|end| (*end).clone()));
    assert_eq!(ended["data"]["status"], "interrupted");
    assert_eq!(client.post("/api/sessions/s/stop", &json!({})).json(), json!({ "stopped": false }));
    client.post(&format!("/api/sessions/s/background/{task}/stop"), &json!({})).is_problem(404, "background_not_found");
    assert_lawful(&client.log("s"));
}

#[test]
fn who_asks_is_said_when_it_is_a_sub_agent() {
    let daemon = Daemon::start();
    daemon.client.mock("s");
    daemon.client.say("s", "subagent permission");
    let ask = eventually("its ask", || daemon.client.get("/api/asks").json()["asks"].as_array()?.first().cloned());
    let log = daemon.client.log("s");
    let started = &of_kind(&log, "subagent_started")[0]["data"];
    assert_eq!((&ask["subagent_id"], &ask["subagent_name"]), (&started["subagent_id"], &started["name"]));
}
