//! Webhooks: what happens in sessions is told, signed and in order; receivers that misbehave hurt nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use turnloom_core::webhook::sign::sign;

use crate::support::{Act, Client, Daemon, Received, Receiver, eventually};

const PRIVATE: &str = "allow_private_targets = true";

fn subscribe(client: &Client, body: &Value) -> (String, String) {
    let made = client.post("/api/webhooks", body);
    assert_eq!(made.status, 201, "{}", made.body);
    let made = made.json();
    let secret = made["secret"].as_str().unwrap().to_owned();
    let id = made["webhook"]["webhook_id"].as_str().unwrap().to_owned();
    assert!(!client.get("/api/webhooks").body.contains(&secret), "it is shown once");
    (id, secret)
}

fn types(told: &[Received]) -> Vec<String> {
    told.iter().map(|one| one.json()["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn turns_and_asks_are_told_and_signed() {
    let (daemon, receiver) = (Daemon::start_with(PRIVATE, &[]), Receiver::taking());
    let client = &daemon.client;
    let (id, secret) = subscribe(client, &json!({ "url": format!("{}/all", receiver.url) }));
    client.mock("told");
    client.turn("told", "echo hello");
    client.say("told", "permission");
    let ask = client.ask("told");
    let answered = client.post(&format!("/api/sessions/told/permissions/{ask}"), &json!({ "reply": "once" }));
    assert_eq!(answered.status, 200);
    client.until_idle("told");
    client.turn("told", "crash");
    let told = eventually("all are told", || Some(receiver.received()).filter(|all| all.len() >= 5));
    assert_eq!(types(&told), ["turn.completed", "ask.opened", "ask.resolved", "turn.completed", "turn.failed"]);
    let first = told[0].json();
    assert_eq!((&first["data"]["text"], &first["data"]["origin"]), (&json!("hello"), &json!("user")), "{first}");
    assert_eq!((&first["data"]["session_id"], &first["data"]["runtime"]), (&json!("told"), &json!("mock")));
    assert_eq!(
        (&told[1].json()["data"]["ask_id"], &told[1].json()["data"]["kind"]),
        (&json!(ask), &json!("permission"))
    );
    assert_eq!(told[2].json()["data"]["resolution"]["allowed"], true);
    for one in &told {
        let (id, at) = (one.header("webhook-id").unwrap(), one.header("webhook-timestamp").unwrap());
        assert_eq!(one.header("webhook-signature"), sign(&secret, id, at, &one.body).as_deref());
        assert_eq!(one.path, "/all");
    }
    let seqs: Vec<u64> = told.iter().map(|one| one.json()["data"]["seq"].as_u64().unwrap()).collect();
    assert!(seqs.is_sorted());
    // A receiver has the last one before the daemon has its answer.
    let shown = || client.get(&format!("/api/webhooks/{id}")).json();
    eventually("all count as delivered", || (shown()["delivered"] == 5).then_some(()));
    let deliveries = client.get(&format!("/api/webhooks/{id}/deliveries")).json();
    assert_eq!(deliveries["recent"].as_array().unwrap().len(), 5);
    let again = json!({ "delivery_id": told[0].header("webhook-id").unwrap() });
    assert_eq!(client.post(&format!("/api/webhooks/{id}/redeliver"), &again).status, 202);
    let told = eventually("it is told again", || Some(receiver.received()).filter(|all| all.len() >= 6));
    assert_eq!((told[5].header("webhook-id"), &told[5].body), (told[0].header("webhook-id"), &told[0].body));
    let unknown = json!({ "delivery_id": "msg_unknown" });
    client.post(&format!("/api/webhooks/{id}/redeliver"), &unknown).is_problem(404, "delivery_not_found");
    let tested = client.post(&format!("/api/webhooks/{id}/test"), &json!({})).json();
    assert_eq!((&tested["delivered"], &tested["status"]), (&json!(true), &json!(200)));
    assert_eq!(receiver.received().last().unwrap().json()["type"], "webhook.test");
    assert_eq!(client.delete(&format!("/api/webhooks/{id}")).status, 204);
    client.get(&format!("/api/webhooks/{id}")).is_problem(404, "webhook_not_found");
}

#[test]
fn only_what_was_asked_for_is_told() {
    let (daemon, receiver) = (Daemon::start_with(PRIVATE, &[]), Receiver::taking());
    let client = &daemon.client;
    for (path, filter) in [
        ("session", json!({ "sessions": ["one"] })),
        ("events", json!({ "events": ["turn.failed", "turn.stopped"] })),
        ("origin", json!({ "origins": ["webhook"] })),
        ("runtime", json!({ "runtimes": ["claude"] })),
        ("all", json!({})),
    ] {
        let mut body = filter;
        body["url"] = json!(format!("{}/{path}", receiver.url));
        subscribe(client, &body);
    }
    client.mock("one");
    client.mock("two");
    client.turn("one", "echo a");
    client.turn("two", "echo b");
    client.say("two", "hang");
    client.until_thinking("two");
    assert_eq!(client.post("/api/sessions/two/stop", &json!({})).status, 200);
    let of = |path: &str| -> Vec<String> {
        let all = receiver.received();
        let told = all.iter().filter(|one| one.path == format!("/{path}"));
        told.map(|one| {
            format!("{} {}", one.json()["data"]["session_id"].as_str().unwrap(), one.json()["type"].as_str().unwrap())
        })
        .collect()
    };
    eventually("everything is told", || (of("all").len() == 3 && of("events").len() == 1).then_some(()));
    eventually("every courier has read it", || {
        let listed = client.get("/api/webhooks").json();
        let all = listed["webhooks"].as_array()?;
        let positions: Vec<u64> = all.iter().filter_map(|one| one["position"].as_u64()).collect();
        (all.iter().all(|one| one["waiting"] == 0) && positions.iter().all(|position| *position == positions[0]))
            .then_some(())
    });
    assert_eq!(of("session"), ["one turn.completed"]);
    assert_eq!(of("events"), ["two turn.stopped"]);
    assert!(of("origin").is_empty() && of("runtime").is_empty());
    // A copy is not something that happens.
    assert_eq!(client.post("/api/sessions/one/fork", &json!({ "session_id": "copy" })).status, 201);
    client.turn("copy", "echo c");
    eventually("the turn of the copy is told", || (of("all").len() == 4).then_some(()));
    assert_eq!(of("all").last().unwrap(), "copy turn.completed");
}

#[test]
fn one_receiver_that_is_silent_sends_us_elsewhere_or_fails_delays_nobody() {
    let daemon = Daemon::start_with(PRIVATE, &[]);
    let client = &daemon.client;
    let trap = Receiver::taking();
    let location = format!("location: {}/trap", trap.url);
    let (silent, moved) =
        (Receiver::start(|_| Act::Silence), Receiver::start(move |_| Act::AnswerWith(307, location.clone())));
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let flaky = Receiver::start(move |_| {
        if counted.fetch_add(1, Ordering::SeqCst) < 2 { Act::Answer(500, "") } else { Act::Answer(204, "") }
    });
    let (gone, good) = (Receiver::start(|_| Act::Answer(410, "")), Receiver::taking());
    let ids: Vec<String> = [&silent, &moved, &flaky, &gone, &good]
        .map(|receiver| subscribe(client, &json!({ "url": receiver.url })).0)
        .to_vec();
    client.mock("told");
    client.turn("told", "echo a");
    eventually("the good one is told at once", || (good.received().len() == 1).then_some(()));
    eventually("the flaky one is told at last", || (tries.load(Ordering::SeqCst) == 3).then_some(()));
    let names: Vec<String> = flaky.received().iter().map(|one| one.header("webhook-id").unwrap().to_owned()).collect();
    assert!(names.iter().all(|name| *name == names[0]), "the same event has the same id");
    let waiting = eventually("the redirect is not followed", || {
        let listed = client.get(&format!("/api/webhooks/{}/deliveries", ids[1])).json();
        listed["waiting"].get(0).cloned()
    });
    assert_eq!(waiting["last_error"], "status 307");
    assert!(trap.received().is_empty());
    let paused = eventually("who wants no more gets no more", || {
        Some(client.get(&format!("/api/webhooks/{}", ids[3])).json()).filter(|one| one["paused"] == true)
    });
    assert!(paused["disabled"].as_str().unwrap().contains("410"), "{paused}");
    let tested = client.post(&format!("/api/webhooks/{}/test", ids[1]), &json!({})).json();
    assert_eq!((&tested["delivered"], &tested["status"]), (&json!(false), &json!(307)));
}

#[test]
fn nobody_makes_us_reach_into_our_own_network() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    for url in [
        "http://127.0.0.1:80/",
        "http://[::1]/",
        "http://10.0.0.1/",
        "http://169.254.169.254/",
        "http://[::ffff:127.0.0.1]/",
    ] {
        client.post("/api/webhooks", &json!({ "url": url })).is_problem(422, "private_target");
    }
    for url in ["ftp://a.example", "a.example", "https://user:pass@a.example", "https://a.example:0"] {
        client.post("/api/webhooks", &json!({ "url": url })).is_problem(400, "invalid_request");
    }
    // A name says only when it is looked up where it leads.
    let (id, _) = subscribe(
        client,
        &json!({ "url": format!("http://localhost:{}/", client.address.rsplit(':').next().unwrap()) }),
    );
    let tested = client.post(&format!("/api/webhooks/{id}/test"), &json!({})).json();
    assert!(tested["error"].as_str().unwrap().contains("allow_private_targets"), "{tested}");
    client
        .post("/api/webhooks", &json!({ "url": "https://a.example", "secret": { "value": "short" } }))
        .is_problem(400, "invalid_request");
    client
        .post("/api/webhooks", &json!({ "url": "https://a.example", "events": ["turn.ended"] }))
        .is_problem(400, "invalid_request");
    client
        .post("/api/webhooks", &json!({ "url": "https://a.example", "colour": 1 }))
        .is_problem(400, "invalid_request");
    // Somebody with a token for a session does not decide who is told of all.
    let token = client.post("/api/tokens", &json!({ "name": "x", "scopes": ["full"] })).json();
    let other = Client { address: client.address.clone(), token: token["token"].as_str().map(str::to_owned) };
    other.post("/api/webhooks", &json!({ "url": "https://a.example" })).is_problem(403, "forbidden");
    assert_eq!(other.get("/api/webhooks").status, 200);
}

#[test]
fn a_paused_webhook_is_told_afterwards_what_it_missed() {
    let (mut daemon, receiver) = (Daemon::start_with(PRIVATE, &[]), Receiver::taking());
    let (id, _) = subscribe(&daemon.client, &json!({ "url": receiver.url, "paused": true }));
    daemon.client.mock("told");
    daemon.client.turn("told", "echo a");
    daemon.kill();
    daemon.again();
    daemon.client.turn("told", "echo b");
    assert!(receiver.received().is_empty());
    assert_eq!(daemon.client.patch(&format!("/api/webhooks/{id}"), &json!({ "paused": false })).status, 200);
    let told = eventually("both are told", || Some(receiver.received()).filter(|all| all.len() == 2));
    let texts: Vec<Value> = told.iter().map(|one| one.json()["data"]["text"].clone()).collect();
    assert_eq!(texts, ["a", "b"]);
}
