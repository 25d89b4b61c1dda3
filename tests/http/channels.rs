//! Channels: payloads as services send them start and continue the right sessions, answers go back, and what is forged, late or replayed does nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use turnloom_core::blob::hex;
use turnloom_core::channel::hmac_sha256;

use crate::support::{Act, Answer, Client, Daemon, Receiver, eventually, of_kind};

const PRIVATE: &str = "allow_private_targets = true";
const SECRET: &str = "a secret that both know";

#[expect(clippy::needless_pass_by_value, reason = "each is written where it is used")]
fn add(client: &Client, settings: Value) -> Value {
    let mut body = json!({ "runtime": "mock", "params": { "pace_ms": 0 }, "secret": { "value": SECRET } });
    for (name, value) in settings.as_object().unwrap() {
        body[name] = value.clone();
    }
    let made = client.post("/api/channels", &body);
    assert_eq!(made.status, 201, "{}", made.body);
    assert!(!made.body.contains(SECRET), "a secret is never shown: {}", made.body);
    made.json()
}

/// A delivery without the daemon's token.
fn deliver(client: &Client, channel: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let headers = [&[("content-type", "application/json")], headers].concat();
    let stranger = Client { address: client.address.clone(), token: None };
    stranger.request("POST", &format!("/hooks/{channel}"), &headers, body)
}

fn github(client: &Client, channel: &str, event: &str, delivery: &str, payload: &Value) -> Answer {
    let body = payload.to_string();
    let signature = format!("sha256={}", hex(&hmac_sha256(SECRET, &[body.as_bytes()])));
    let headers = [
        ("x-github-event", event),
        ("x-github-delivery", delivery),
        ("x-hub-signature-256", signature.as_str()),
        ("user-agent", "GitHub-Hookshot/044aadd"),
    ];
    deliver(client, channel, &headers, body.as_bytes())
}

fn issue(action: &str, number: u64, title: &str) -> Value {
    json!({
        "action": action,
        "issue": {
            "url": "https://api.github.com/repos/octo/loom/issues/1", "number": number, "title": title, "state": "open",
            "user": { "login": "ada", "id": 1, "type": "User" }, "labels": [], "body": "echo from the issue",
        },
        "repository": { "id": 35_129_377, "name": "loom", "full_name": "octo/loom", "private": false, "owner": { "login": "octo" } },
        "sender": { "login": "ada", "id": 1, "type": "User" },
    })
}

fn done(client: &Client, channel: &str, delivery: &str) -> Value {
    eventually("the delivery is done with", || {
        let listed = client.get(&format!("/api/channels/{channel}/deliveries?limit=2000")).json();
        let found = listed["deliveries"].as_array()?.iter().find(|one| one["delivery_id"] == delivery)?.clone();
        matches!(found["state"].as_str(), Some("done" | "failed")).then_some(found)
    })
}

fn user_messages(client: &Client, session: &str) -> Vec<Value> {
    of_kind(&client.log(session), "user_message").into_iter().cloned().collect()
}

#[test]
fn an_issue_becomes_a_session_and_its_answers_become_comments() {
    let (daemon, service) = (Daemon::start_with(PRIVATE, &[]), Receiver::start(|_| Act::Answer(201, "{}")));
    let client = &daemon.client;
    add(
        client,
        json!({
            "name": "issues", "kind": "github", "message": "{/comment/body|/issue/body}",
            "reply": { "to": "github", "base_url": service.url }, "reply_token": { "value": "ghp_a_token" },
        }),
    );
    let opened = github(client, "issues", "issues", "d-1", &issue("opened", 7, "It does not start"));
    assert_eq!(opened.status, 202, "{}", opened.body);
    let session = opened.json()["session_id"].as_str().unwrap().to_owned();
    let view = done(client, "issues", "d-1");
    assert_eq!((&view["state"], &view["outcome"]), (&json!("done"), &json!("completed")), "{view}");
    let mut comment = issue("created", 7, "It does not start");
    comment["comment"] = json!({ "id": 99, "body": "echo and now", "user": { "login": "ada" } });
    assert_eq!(github(client, "issues", "issue_comment", "d-2", &comment).json()["session_id"], session);
    done(client, "issues", "d-2");
    let other = github(client, "issues", "issues", "d-3", &issue("opened", 8, "Another"));
    assert_ne!(other.json()["session_id"], session);
    done(client, "issues", "d-3");

    let log = client.log(&session);
    let messages = of_kind(&log, "user_message");
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0]["data"]["origin"], "webhook");
    assert_eq!(
        messages[0]["data"]["source"],
        json!({ "channel": "issues", "kind": "github", "delivery": "d-1", "sender": "ada" })
    );
    let task = client.get("/api/tasks?type=channel").json()["tasks"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(task["presence"], "background");
    assert_eq!(
        task["metadata"],
        json!({ "channel": "issues", "channelType": "github", "deliveryId": "d-1", "sender": "ada" })
    );
    assert_eq!(of_kind(&log, "turn_started")[0]["data"]["origin"], "webhook");
    assert_eq!(client.session(&session)["title"], "octo/loom#7 It does not start");

    let sent = service.received();
    let mut paths: Vec<&str> = sent.iter().map(|one| one.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "/repos/octo/loom/issues/7/comments",
            "/repos/octo/loom/issues/7/comments",
            "/repos/octo/loom/issues/8/comments"
        ]
    );
    assert_eq!(sent[0].header("authorization"), Some("Bearer ghp_a_token"));
    assert!(sent[0].json()["body"].as_str().unwrap().starts_with("from the issue"), "{}", sent[0].json());
    // What we wrote ourselves comes back as an event, and is not answered.
    comment["comment"]["body"] = sent[0].json()["body"].clone();
    assert_eq!(github(client, "issues", "issue_comment", "d-4", &comment).json()["ignored"], "bot");
    let listed = client.get("/api/channels").json();
    let channel = &listed["channels"][0];
    assert_eq!((&channel["counts"]["accepted"], &channel["counts"]["replied"]), (&json!(3), &json!(3)), "{channel}");
    assert_eq!(channel["secret"], json!({ "from": "stored" }));
    let secrets = daemon.data.join("secrets");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&secrets).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert!(std::fs::read_to_string(secrets).unwrap().contains(SECRET));
}

const EVENT: [(&str, &str); 2] = [("x-github-event", "issues"), ("x-github-delivery", "d-1")];

fn with(signature: &str) -> Vec<(&str, &str)> {
    [&EVENT[..], &[("x-hub-signature-256", signature)]].concat()
}

#[test]
fn what_is_forged_replayed_or_late_does_nothing() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    add(client, json!({ "name": "issues", "kind": "github", "message": "{/issue/body}" }));
    add(client, json!({ "name": "chat", "kind": "slack" }));
    let payload = issue("opened", 7, "x");
    let (body, now) = (payload.to_string(), turnloom::session::now().millis() / 1000);
    let wrong = format!("sha256={}", hex(&hmac_sha256("another secret", &[body.as_bytes()])));
    deliver(client, "issues", &with(&wrong), body.as_bytes()).is_problem(401, "signature_wrong");
    deliver(client, "issues", &EVENT, body.as_bytes()).is_problem(401, "signature_missing");
    let right = format!("sha256={}", hex(&hmac_sha256(SECRET, &[body.as_bytes()])));
    let changed = body.replace("from the issue", "rm -rf");
    deliver(client, "issues", &with(&right), changed.as_bytes()).is_problem(401, "signature_wrong");
    deliver(client, "nothing", &with(&right), body.as_bytes()).is_problem(404, "channel_not_found");
    let large = vec![b' '; 1024 * 1024 + 1];
    deliver(client, "issues", &with(&right), &large).is_problem(413, "body_too_large");
    let broken = format!("sha256={}", hex(&hmac_sha256(SECRET, &[b"{"])));
    deliver(client, "issues", &with(&broken), b"{").is_problem(400, "payload_malformed");
    assert_eq!(client.get("/api/sessions").json()["sessions"], json!([]), "nothing came of it");

    let slack = |at: i64, event: &str| {
        let event = json!({ "type": "app_mention", "user": "U1", "text": "echo hi", "ts": "1.1", "channel": "C1", "client_msg_id": event });
        let body = json!({ "type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event }).to_string();
        let (at, signed) =
            (at.to_string(), hmac_sha256(SECRET, &[b"v0:", at.to_string().as_bytes(), b":", body.as_bytes()]));
        let signature = format!("v0={}", hex(&signed));
        deliver(
            client,
            "chat",
            &[("x-slack-signature", &signature), ("x-slack-request-timestamp", &at)],
            body.as_bytes(),
        )
    };
    slack(now - 301, "late").is_problem(401, "delivery_too_old");
    slack(now + 400, "early").is_problem(401, "delivery_too_old");
    let first = slack(now, "one");
    assert_eq!(first.status, 202, "{}", first.body);
    let again = slack(now, "one");
    assert_eq!((again.status, &again.json()["duplicate"]), (200, &json!(true)));
    done(client, "chat", "one");
    assert_eq!(slack(now, "one").json()["duplicate"], true);
    assert_eq!(user_messages(client, first.json()["session_id"].as_str().unwrap()).len(), 1);

    let refused = &client.get("/api/channels/issues").json()["counts"]["refused"];
    assert_eq!(
        *refused,
        json!({ "body_too_large": 1, "payload_malformed": 1, "signature_missing": 1, "signature_wrong": 2 })
    );
    let metrics = client.get("/metrics").body;
    for line in [
        "turnloom_channel_deliveries_total{name=\"issues\",result=\"signature_wrong\"} 2",
        "turnloom_channel_deliveries_total{name=\"\",result=\"channel_not_found\"} 1",
        "turnloom_channel_deliveries_total{name=\"chat\",result=\"accepted\"} 1",
        "turnloom_channel_deliveries_total{name=\"chat\",result=\"duplicate\"} 2",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[test]
fn a_thread_of_slack_goes_on_and_is_answered_in_it() {
    let (daemon, service) = (Daemon::start_with(PRIVATE, &[]), Receiver::taking());
    let client = &daemon.client;
    add(
        client,
        json!({
            "name": "chat", "kind": "slack", "reply": { "to": "slack", "base_url": service.url, "limit": 200 }, "reply_token": { "value": "xoxb-1" },
        }),
    );
    let post = |body: Value| {
        let (body, at) = (body.to_string(), (turnloom::session::now().millis() / 1000).to_string());
        let signed = hmac_sha256(SECRET, &[b"v0:", at.as_bytes(), b":", body.as_bytes()]);
        let signature = format!("v0={}", hex(&signed));
        deliver(
            client,
            "chat",
            &[("x-slack-signature", &signature), ("x-slack-request-timestamp", &at)],
            body.as_bytes(),
        )
    };
    let asked = post(json!({ "type": "url_verification", "token": "x", "challenge": "3eZbrw1a" }));
    assert_eq!((asked.status, &asked.json()["challenge"]), (200, &json!("3eZbrw1a")));
    let event = |id: &str, ts: &str, thread: Option<&str>, text: &str| {
        let mut event = json!({ "type": "message", "user": "U061F7AUR", "text": text, "ts": ts, "channel": "C0LAN2Q65", "channel_type": "channel" });
        if let Some(thread) = thread {
            event["thread_ts"] = json!(thread);
        }
        post(
            json!({ "token": "z", "team_id": "T061EG9R6", "api_app_id": "A0", "event": event, "type": "event_callback", "event_id": id, "event_time": 1 }),
        )
    };
    let long = format!("echo ```\n{}```", "a < b && c > d\n".repeat(30));
    let first = event("Ev1", "1700.1", None, &long).json();
    done(client, "chat", "Ev1");
    let next = event("Ev2", "1700.9", Some("1700.1"), "echo more").json();
    assert_eq!(first["session_id"], next["session_id"]);
    done(client, "chat", "Ev2");
    let sent = service.received();
    assert!(sent.len() > 3, "it is split");
    for one in &sent {
        let body = one.json();
        assert_eq!(
            (one.path.as_str(), &body["channel"], &body["thread_ts"]),
            ("/chat.postMessage", &json!("C0LAN2Q65"), &json!("1700.1"))
        );
        let text = body["text"].as_str().unwrap();
        assert!(text.chars().count() <= 200 && text.matches("```").count() % 2 == 0 && !text.contains('<'), "{text}");
    }
    assert_eq!(sent.last().unwrap().json()["text"], "more");
    assert!(client.get("/api/sessions").body.len() > 2);
}

#[test]
fn telegram_and_plain_posts_are_answered_too() {
    let (daemon, service) = (Daemon::start_with(PRIVATE, &[]), Receiver::taking());
    let client = &daemon.client;
    add(
        client,
        json!({
            "name": "bot", "kind": "telegram", "reply": { "to": "telegram", "base_url": service.url }, "reply_token": { "value": "123:abc" },
        }),
    );
    let update = json!({ "update_id": 10_000, "message": {
        "date": 1_441_645_532, "chat": { "last_name": "L", "id": 1_111_111, "type": "private", "first_name": "F" },
        "message_id": 1365, "from": { "id": 1_111_111, "is_bot": false, "first_name": "F", "username": "ada" }, "text": "echo hello",
    } });
    let token = [("x-telegram-bot-api-secret-token", SECRET)];
    let wrong = [("x-telegram-bot-api-secret-token", "wrong")];
    deliver(client, "bot", &wrong, update.to_string().as_bytes()).is_problem(401, "signature_wrong");
    assert_eq!(deliver(client, "bot", &token, update.to_string().as_bytes()).status, 202);
    done(client, "bot", "10000");
    let sent = service.received().pop().unwrap();
    assert_eq!(sent.path, "/bot123:abc/sendMessage");
    assert_eq!((&sent.json()["chat_id"], &sent.json()["text"]), (&json!(1_111_111), &json!("hello")));
    // Only its digest is kept.
    let everything =
        std::fs::read_dir(&daemon.data).unwrap().flatten().filter_map(|entry| std::fs::read(entry.path()).ok());
    let found =
        everything.filter(|bytes| bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())).count();
    assert_eq!(found, 0, "the secret of a channel that only compares it is stored nowhere");

    add(
        client,
        json!({
            "name": "plain", "kind": "bearer", "respond_seconds": 30,
            "reply": { "to": "post", "url": format!("{}/late", service.url), "text": "{outcome}: {answer}" },
        }),
    );
    let bearer = format!("Bearer {SECRET}");
    let say = |text: &str, id: &str| {
        let body = json!({ "message": text, "conversation": "c" }).to_string();
        deliver(client, "plain", &[("authorization", &bearer), ("webhook-id", id)], body.as_bytes())
    };
    let quick = say("echo quick", "q-1");
    assert_eq!((quick.status, &quick.json()["answer"]), (200, &json!("quick")), "{}", quick.body);
    assert_eq!(client.patch("/api/channels/plain", &json!({ "respond_seconds": 0 })).status, 200);
    assert_eq!(say("echo later", "q-2").status, 202);
    done(client, "plain", "q-2");
    let late = service.received().pop().unwrap();
    assert_eq!(
        (late.path.as_str(), &late.json()["text"], &late.json()["delivery_id"]),
        ("/late", &json!("completed: later"), &json!("q-2"))
    );
}

#[test]
fn an_answer_is_sent_again_until_the_service_takes_it() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let service = Receiver::start(move |_| match counted.fetch_add(1, Ordering::SeqCst) {
        0 => Act::Close,
        1 => Act::Answer(503, ""),
        _ => Act::Answer(200, "{}"),
    });
    let mut daemon = Daemon::start_with(PRIVATE, &[]);
    add(&daemon.client, json!({ "name": "plain", "kind": "bearer", "reply": { "to": "post", "url": service.url } }));
    let bearer = format!("Bearer {SECRET}");
    let headers = [("authorization", bearer.as_str()), ("webhook-id", "w-1")];
    assert_eq!(deliver(&daemon.client, "plain", &headers, br#"{"message":"echo kept"}"#).status, 202);
    eventually("the first try", || (tries.load(Ordering::SeqCst) > 0).then_some(()));
    daemon.kill();
    daemon.again();
    let view = done(&daemon.client, "plain", "w-1");
    assert_eq!(view["state"], "done", "{view}");
    assert!(tries.load(Ordering::SeqCst) >= 3);
    assert!(service.received().iter().all(|one| one.json()["text"] == "kept"));
    // What nobody will ever take fails, and can be tried again by hand.
    let never = Receiver::start(|_| Act::Answer(404, ""));
    assert_eq!(
        daemon.client.patch("/api/channels/plain", &json!({ "reply": { "to": "post", "url": never.url } })).status,
        200
    );
    let headers = [("authorization", bearer.as_str()), ("webhook-id", "w-2")];
    assert_eq!(deliver(&daemon.client, "plain", &headers, br#"{"message":"echo lost"}"#).status, 202);
    let view = done(&daemon.client, "plain", "w-2");
    assert_eq!((&view["state"], &view["error"]), (&json!("failed"), &json!("status 404")));
    let again = daemon.client.post("/api/channels/plain/deliveries/w-2/retry", &json!({}));
    assert_eq!((again.status, &again.json()["state"]), (200, &json!("answered")));
    eventually("it was tried twice", || (never.received().len() == 2).then_some(()));
    daemon.client.post("/api/channels/plain/deliveries/w-1/retry", &json!({})).is_problem(400, "invalid_request");
    daemon.client.post("/api/channels/plain/deliveries/none/retry", &json!({})).is_problem(404, "delivery_not_found");
}

#[test]
fn what_makes_no_sense_of_a_channel_is_refused() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let with = |settings: Value| {
        let mut body = json!({ "name": "a", "kind": "bearer", "runtime": "mock", "secret": { "value": "x" } });
        for (name, value) in settings.as_object().unwrap() {
            body[name] = value.clone();
        }
        client.post("/api/channels", &body)
    };
    with(json!({ "secret": null })).is_problem(400, "channel_needs_secret");
    with(json!({ "secret": { "value": " " } })).is_problem(400, "invalid_request");
    with(json!({ "secret": { "value": "a", "env": "B" } })).is_problem(400, "invalid_request");
    for (settings, named) in [
        (json!({ "name": "A b" }), "name"),
        (json!({ "runtime": "nothing" }), "nothing"),
        (json!({ "params": { "cwd": "/not/there" } }), "cwd"),
        (json!({ "message": "{/a" }), "closed"),
        (json!({ "message": "{answer}" }), "answer"),
        (json!({ "colour": 1 }), "colour"),
        (json!({ "max_running": 0 }), "max_running"),
        (json!({ "only": [{ "at": "x", "exists": true }] }), "pointer"),
        (json!({ "reply": { "to": "github" } }), "post"),
        (json!({ "kind": "github", "reply": { "to": "github" } }), "reply_token"),
        (json!({ "reply": { "to": "post", "url": "http://127.0.0.1:1/" } }), "allow_private_targets"),
    ] {
        let problem = with(settings.clone()).is_problem(400, "invalid_request");
        assert!(problem["detail"].as_str().unwrap().contains(named), "{settings}: {problem}");
    }
    assert_eq!(with(json!({})).status, 201);
    with(json!({})).is_problem(409, "channel_exists");
    client.patch("/api/channels/a", &json!({ "name": "b" })).is_problem(400, "invalid_request");
    client.patch("/api/channels/a", &json!({ "kind": "github" })).is_problem(400, "invalid_request");
    assert_eq!(client.patch("/api/channels/a", &json!({ "message": "{/not/there}" })).status, 200);
    let bearer = [("authorization", "Bearer x")];
    let problem = deliver(client, "a", &bearer, b"{}").is_problem(422, "template_leads_nowhere");
    assert!(problem["detail"].as_str().unwrap().contains("`{/not/there}`"));
    assert_eq!(client.patch("/api/channels/a", &json!({ "paused": true, "message": null })).status, 200);
    deliver(client, "a", &bearer, br#"{"message":"x"}"#).is_problem(503, "channel_paused");
    // A secret that is not where it should be.
    assert_eq!(with(json!({ "name": "env", "secret": { "env": "TURNLOOM_NO_SUCH_VARIABLE" } })).status, 201);
    deliver(client, "env", &bearer, br#"{"message":"x"}"#).is_problem(503, "channel_secret_missing");
    let file = daemon.data.join("a-secret");
    std::fs::write(&file, "from a file\n").unwrap();
    assert_eq!(client.patch("/api/channels/env", &json!({ "secret": { "file": file } })).status, 200);
    let from_file = [("authorization", "Bearer from a file")];
    assert_eq!(deliver(client, "env", &from_file, br#"{"message":"echo x"}"#).status, 202);
    assert_eq!(client.delete("/api/channels/a").status, 204);
    client.get("/api/channels/a").is_problem(404, "channel_not_found");
    deliver(client, "a", &bearer, b"{}").is_problem(404, "channel_not_found");
}

#[test]
fn many_deliveries_are_refused_rather_than_lost() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    add(client, json!({ "name": "many", "kind": "bearer", "max_running": 1 }));
    let bearer = format!("Bearer {SECRET}");
    let say = |text: &str, id: &str| {
        let body = json!({ "message": text, "conversation": "c" }).to_string();
        deliver(client, "many", &[("authorization", &bearer), ("webhook-id", id)], body.as_bytes())
    };
    // Nothing leaves while the first turn hangs.
    let session = say("hang", "first").json()["session_id"].as_str().unwrap().to_owned();
    let (mut accepted, mut refused) = (1, 0);
    for number in 0..1_050 {
        match say("echo x", &format!("n-{number}")) {
            answer if answer.status == 202 => accepted += 1,
            answer => {
                answer.is_problem(429, "channel_full");
                assert_eq!(answer.header("retry-after"), Some("5"));
                refused += 1;
            }
        }
    }
    assert_eq!((accepted, refused), (1_000, 51));
    assert_eq!(client.get("/api/channels/many").json()["waiting"], 1_000);
    client.until_thinking(&session);
    assert_eq!(client.post(&format!("/api/sessions/{session}/stop"), &json!({})).status, 200);
    eventually("there is room again", || {
        (client.get("/api/channels/many").json()["waiting"].as_u64()? < 1_000).then_some(())
    });
    assert_eq!(say("echo x", "later").status, 202);
}

#[test]
fn a_channel_keeps_to_its_budget() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    add(client, json!({ "name": "cheap", "kind": "bearer", "budget": { "turns": 1 } }));
    let bearer = format!("Bearer {SECRET}");
    let say = |conversation: &str| {
        let body = json!({ "message": "echo x", "conversation": conversation }).to_string();
        let answer = deliver(client, "cheap", &[("authorization", &bearer)], body.as_bytes());
        answer.json()["session_id"].as_str().unwrap().to_owned()
    };
    let first = say("one");
    eventually("its turn is counted", || {
        let usage = client.get("/api/usage?group=channel/cheap").json();
        (usage["groups"][0]["spent"]["turns"] == 1).then_some(())
    });
    let second = say("two");
    assert_ne!(first, second);
    let ask = eventually("a person is asked", || client.get("/api/asks").json()["asks"].get(0).cloned());
    assert_eq!(ask["session_id"], second.as_str());
    let wrong = json!({ "budget": { "turns": 0 } });
    client.patch("/api/channels/cheap", &wrong).is_problem(400, "invalid_request");
}
