//! The inbox over all sessions: what is in it, in which order, and what people say of it. How devices are told is in tests/clients.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Sse, eventually};
use crate::websocket::{open, tell, until};

fn inbox(client: &Client) -> Value {
    client.get("/api/inbox").json()
}

fn kinds(inbox: &Value) -> Vec<(String, String)> {
    let word = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    let items = inbox["items"].as_array().unwrap();
    items.iter().map(|item| (word(item, "session_id"), word(item, "kind"))).collect()
}

fn pair(session: &str, kind: &str) -> (String, String) {
    (session.to_owned(), kind.to_owned())
}

fn item_of(client: &Client, session: &str) -> String {
    let inbox = client.get("/api/inbox?all=true").json();
    let all = inbox["items"].as_array().unwrap().iter().chain(inbox["snoozed"].as_array().unwrap());
    let found = all.into_iter().find(|item| item["session_id"] == session);
    found.unwrap_or_else(|| panic!("nothing of {session} in {inbox}"))["item_id"].as_str().unwrap().to_owned()
}

#[test]
fn everything_that_is_for_a_person_is_in_one_list() {
    let mut daemon = Daemon::start();
    let client = &daemon.client;
    for (id, message) in [("done", "echo hello"), ("broken", "error"), ("asks", "permission"), ("heavy", "permission")]
    {
        client.mock(id);
        client.say(id, message);
        eventually("it has something to tell", || {
            inbox(client)["items"].as_array().unwrap().iter().any(|item| item["session_id"] == id).then_some(())
        });
    }
    for _ in 0..60 {
        client.say("heavy", "echo later");
    }
    let weighed = eventually("what blocks more stands first", || {
        Some(inbox(client)).filter(|inbox| inbox["items"][0]["session_id"] == "heavy")
    });
    let expected = [pair("heavy", "ask"), pair("asks", "ask"), pair("broken", "failed"), pair("done", "finished")];
    assert_eq!(kinds(&weighed), expected);
    assert_eq!(
        (&weighed["needs"], &weighed["unread"], &weighed["items"][0]["blocks"]),
        (&json!(2), &json!(2), &json!(61))
    );
    assert_eq!(weighed["items"][3]["title"], "hello");
    assert!(weighed["items"][2]["problem"]["message"].is_string());

    // Answered where every ask is answered, with what the item says.
    let ask = &weighed["items"][1]["ask"];
    let path = format!("/api/sessions/asks/permissions/{}", ask["ask_id"].as_str().unwrap());
    assert_eq!(client.post(&path, &json!({ "reply": "once" })).status, 200);
    client.until_idle("asks");
    eventually("it is done now", || kinds(&inbox(client)).contains(&pair("asks", "finished")).then_some(()));

    // After a restart the asks are lost and the queue is held; what was read stays read.
    let done = item_of(client, "done");
    assert_eq!(client.post(&format!("/api/inbox/{done}/read"), &json!({})).status, 204);
    daemon.kill();
    daemon.again();
    let client = &daemon.client;
    let after = kinds(&inbox(client));
    assert!(after.contains(&pair("heavy", "lost_ask")) && after.contains(&pair("heavy", "held")), "{after:?}");
    assert!(
        after.contains(&pair("broken", "failed")) && !after.iter().any(|(session, _)| session == "done"),
        "{after:?}"
    );
    assert_eq!(item_of(client, "done"), done);
    // Whoever goes on with a session needs no news of its past.
    client.turn("broken", "echo better");
    assert!(kinds(&inbox(client)).contains(&pair("broken", "finished")));
    client.delete("/api/sessions/broken");
    assert!(!kinds(&inbox(client)).iter().any(|(session, _)| session == "broken"), "archived");
}

#[test]
fn marks_are_made_and_taken_back() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "echo hello");
    let item = item_of(client, "s");
    let say = |what: &str, body: &Value| client.post(&format!("/api/inbox/{item}/{what}"), body);
    let listed =
        || (inbox(client)["items"].as_array().unwrap().len(), inbox(client)["snoozed"].as_array().unwrap().len());
    assert_eq!(listed(), (1, 0));
    assert_eq!(say("read", &json!({})).status, 204);
    assert_eq!(listed(), (0, 0));
    assert_eq!(say("unread", &json!({})).status, 204);
    assert_eq!(say("snooze", &json!({ "minutes": 5 })).status, 200);
    assert_eq!(listed(), (0, 1));
    assert_eq!(say("unsnooze", &json!({})).status, 204);
    assert_eq!(listed(), (1, 0));
    for wrong in [
        json!({}),
        json!({ "minutes": 0 }),
        json!({ "until": "2020-01-01T00:00:00Z" }),
        json!({ "minutes": 1, "until": "2099-01-01T00:00:00Z" }),
    ] {
        say("snooze", &wrong).is_problem(400, "invalid_request");
    }
    client.post("/api/inbox/in_nothing/read", &json!({})).is_problem(404, "inbox_item_not_found");
    client.post("/api/inbox/read", &json!({ "seq": 3 })).is_problem(400, "invalid_request");
    assert_eq!(
        client.post("/api/inbox/read", &json!({ "session_id": "s", "seq": 1 })).json()["marked"],
        0,
        "it stands further on"
    );
    assert_eq!(client.post("/api/inbox/read", &json!({})).json()["marked"], 1);
    assert_eq!(listed(), (0, 0));
    // What was forked or copied ended elsewhere.
    assert_eq!(client.post("/api/sessions/s/fork", &json!({ "session_id": "copy" })).status, 201);
    assert_eq!(client.get("/api/inbox?all=true").json()["items"].as_array().unwrap().len(), 1);
}

#[test]
fn it_is_followed_as_server_sent_events_and_on_a_socket() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let mut stream = Sse::open(client, "/api/inbox");
    let first = stream.next_event().unwrap();
    assert_eq!(first.kind, "inbox");
    let mut socket = open(client);
    tell(&mut socket, &json!({ "op": "subscribe", "ref": 1, "stream": "inbox", "all": true }));
    until(&mut socket, |told| told["op"] == "frame" && told["data"]["items"] == json!([]));
    client.mock("s");
    client.say("s", "permission");
    let needs = |told: &Value| told["op"] == "frame" && told["name"] == "inbox" && told["data"]["needs"] == 1;
    let (_, told) = until(&mut socket, needs);
    assert_eq!(told["data"]["items"][0]["ask"]["title"], "Run rm -rf build");
    loop {
        let event = stream.next_event().unwrap();
        if event.kind == "inbox" && serde_json::from_str::<Value>(&event.data).unwrap()["needs"] == 1 {
            break;
        }
    }
}

#[test]
fn notifications_are_set_and_devices_are_added() {
    let daemon = Daemon::start_with("allow_private_targets = true", &[]);
    let client = &daemon.client;
    let shown = client.get("/api/notifications").json();
    assert_eq!(shown["settings"], json!({ "done": "failed", "delay_seconds": 5 }));
    let key = shown["push_key"].clone();
    let quiet = json!({ "from": "22:00", "to": "07:00", "zone": "America/New_York", "except_needs_you": true });
    let changed = client.patch("/api/notifications", &json!({ "quiet": quiet, "done": "all" })).json();
    assert_eq!(changed["settings"], json!({ "done": "all", "quiet": quiet, "delay_seconds": 5 }));
    let taken = client.patch("/api/notifications", &json!({ "quiet": null, "done": null })).json();
    assert_eq!(taken["settings"], shown["settings"]);
    client
        .patch("/api/notifications", &json!({ "quiet": { "from": "7", "to": "8", "zone": "UTC" } }))
        .is_problem(400, "invalid_request");
    let service = json!({ "service": { "url": "http://127.0.0.1:9/topic", "preset": "ntfy" }, "done": "none" });
    let made = client.post("/api/notifications/devices", &service);
    assert_eq!(made.status, 201, "{}", made.body);
    let again = client.post("/api/notifications/devices", &service).json();
    assert_eq!(made.json(), again, "the same address is the same device");
    let path = format!("/api/notifications/devices/{}", again["device_id"].as_str().unwrap());
    assert_eq!(client.patch(&path, &json!({ "done": null })).json().get("done"), None);
    assert_eq!(client.post(&format!("{path}/test"), &json!({})).json()["delivered"], false);
    let listed = client.get("/api/notifications").json();
    assert_eq!((listed["devices"].as_array().unwrap().len(), &listed["push_key"]), (1, &key));
    assert_eq!(client.delete(&path).status, 204);
    client.delete(&path).is_problem(404, "device_not_found");
}
