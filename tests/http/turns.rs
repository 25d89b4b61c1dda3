//! A message and its turn on one response, when the turn does not come: the response ends, and its last word says why.

use serde_json::{Value, json};

use crate::support::client::SseEvent;
use crate::support::{Client, Daemon, Sse, eventually};

/// A session that is busy, and the response of a message that waits in it.
fn waiting(client: &Client, id: &str) -> Sse {
    client.mock(id);
    client.say(id, "hang");
    let mut stream = follow(client, id);
    assert_eq!(stream.next_event().unwrap().kind, "accepted");
    stream
}

fn follow(client: &Client, id: &str) -> Sse {
    let body = json!({ "message": "echo later", "message_id": "later" });
    Sse::post(client, &format!("/api/sessions/{id}/turn"), &body)
}

/// The last word of a response that tells of no turn.
fn problem(mut stream: Sse) -> Value {
    let rest: Vec<SseEvent> = std::iter::from_fn(|| stream.next_event()).collect();
    let told: Vec<&SseEvent> = rest.iter().filter(|event| event.kind != "accepted").collect();
    assert_eq!(told.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(), ["problem"], "{rest:?}");
    assert_eq!(told[0].id, None, "it is no fact of the log");
    serde_json::from_str(&told[0].data).unwrap()
}

#[test]
fn a_message_that_is_taken_out_of_the_queue_ends_its_response() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let stream = waiting(client, "s");
    // What else happens to the queue is not its end.
    client.post("/api/sessions/s/message", &json!({ "message": "echo other", "message_id": "other" }));
    client.patch("/api/sessions/s/queue", &json!({ "order": ["other", "later"] }));
    client.delete("/api/sessions/s/queue/other");
    assert_eq!(client.delete("/api/sessions/s/queue/later").status, 200);
    let last = problem(stream);
    assert_eq!((&last["code"], &last["status"]), (&json!("not_queued"), &json!(409)));
    // Whoever sends it again hears the same.
    assert_eq!(problem(follow(client, "s")), last);
}

#[test]
fn a_message_whose_turn_comes_is_told_to_its_end() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let mut stream = waiting(client, "s");
    client.post("/api/sessions/s/stop", &json!({}));
    let events = stream.until("done");
    assert_eq!(events.first().unwrap().kind, "user_message");
    assert_eq!(stream.next_event(), None);
}

#[test]
fn a_session_that_is_put_away_ends_the_response_of_what_waits() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let stream = waiting(client, "archived");
    assert_eq!(client.delete("/api/sessions/archived").status, 200);
    assert_eq!(problem(stream)["code"], "archived");
    // It still waits, and its turn comes with the session.
    assert_eq!(problem(follow(client, "archived"))["code"], "archived");
    client.post("/api/sessions/archived/unarchive", &json!({}));
    follow(client, "archived").until("done");

    let stream = waiting(client, "removed");
    assert_eq!(client.delete("/api/sessions/removed?purge=true").status, 204);
    assert!(matches!(problem(stream)["code"].as_str(), Some("archived" | "session_not_found")));
}

#[test]
fn a_daemon_that_ends_says_so_to_those_who_wait() {
    let mut daemon = Daemon::start();
    let stream = waiting(&daemon.client, "s");
    daemon.terminate();
    assert_eq!(problem(stream)["code"], "shutting_down");
    // What was accepted is done.
    daemon.again();
    follow(&daemon.client, "s").until("done");
}

#[test]
fn clients_of_other_protocols_hear_of_it_too() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let post = |path: &str, accept: &str, body: &Value| {
        let headers = [("content-type", "application/json"), ("accept", accept)];
        client.request("POST", path, &headers, body.to_string().as_bytes()).body
    };
    let told = |protocol: &str, id: &str| match protocol {
        "ai" => {
            let message = json!({ "id": "later", "role": "user", "parts": [{ "type": "text", "text": "echo later" }] });
            post("/ai-sdk/chat", "*/*", &json!({ "id": id, "messages": [message] }))
        }
        "ag" => {
            let messages = json!([{ "id": "later", "role": "user", "content": "echo later" }]);
            post(&format!("/ag-ui/{id}"), "*/*", &json!({ "threadId": id, "runId": "r", "messages": messages }))
        }
        _ => {
            let body = json!({ "message": "echo later", "message_id": "later" });
            post(&format!("/api/sessions/{id}/turn"), "text/plain", &body)
        }
    };
    for (protocol, last_word) in [("ai", r#""type":"error""#), ("ag", "RUN_ERROR"), ("text", "error: ")] {
        let (out, away) = (format!("{protocol}-out"), format!("{protocol}-away"));
        std::thread::scope(|scope| {
            for (id, why) in [(&out, "taken out of the queue"), (&away, "archived")] {
                client.mock(id);
                client.say(id, "hang");
                let first = scope.spawn(|| told(protocol, id));
                eventually("it waits", || (client.session(id)["queued"] == 1).then_some(()));
                if *id == out {
                    client.delete(&format!("/api/sessions/{id}/queue/later"));
                } else {
                    client.delete(&format!("/api/sessions/{id}"));
                }
                for body in [first.join().unwrap(), told(protocol, id)] {
                    assert!(body.contains(last_word) && body.contains(why), "{protocol}: {body}");
                }
            }
        });
    }
}
