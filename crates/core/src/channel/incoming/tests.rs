use serde_json::json;

use super::*;

#[expect(clippy::needless_pass_by_value, reason = "each is written where it is used")]
fn channel(kind: Kind, more: Value) -> Channel {
    let mut settings = json!({ "name": "talk", "kind": kind, "runtime": "mock" });
    for (name, value) in more.as_object().unwrap() {
        settings[name] = value.clone();
    }
    let channel: Channel = serde_json::from_value(settings).unwrap();
    channel.check().unwrap();
    channel
}

fn read_json(channel: &Channel, headers: &[(&str, &str)], payload: &Value) -> Result<Incoming, Refusal> {
    read(channel, &Headers::new(headers.iter().copied()), payload.to_string().as_bytes())
}

fn message(read: Result<Incoming, Refusal>) -> Delivery {
    match read {
        Ok(Incoming::Message(delivery)) => *delivery,
        other => panic!("{other:?}"),
    }
}

fn github_issue(action: &str, number: u64) -> Value {
    json!({
        "action": action,
        "issue": { "number": number, "title": "It does not start", "body": "After the update.", "user": { "login": "ada" } },
        "repository": { "full_name": "loom/turn", "private": false },
        "sender": { "login": "ada", "type": "User" },
    })
}

const ISSUES: &[(&str, &str)] =
    &[("X-GitHub-Event", "issues"), ("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")];
const COMMENTS: &[(&str, &str)] = &[("X-GitHub-Event", "issue_comment"), ("X-GitHub-Delivery", "another-delivery")];

#[test]
fn an_issue_and_its_comments_are_one_session() {
    let channel = channel(Kind::Github, json!({ "reply": { "to": "github" } }));
    let opened = message(read_json(&channel, ISSUES, &github_issue("opened", 7)));
    assert_eq!(opened.event.as_deref(), Some("issues.opened"));
    assert_eq!(opened.sender.as_deref(), Some("ada"));
    assert_eq!(opened.conversation, "loom/turn#7");
    assert_eq!(opened.delivery_id, "72d3162e-cc78-11e3-81ab-4c9367dc0958");
    assert_eq!(opened.text, "ada wrote in loom/turn#7 (It does not start):\n\nAfter the update.");
    assert_eq!(opened.title.as_deref(), Some("loom/turn#7 It does not start"));
    assert_eq!(opened.reply_to, Some(ReplyAddress::Github { repository: "loom/turn".to_owned(), number: 7 }));
    assert!(
        SessionId::parse(opened.session_id.as_str()).is_ok() && MessageId::parse(opened.message_id.as_str()).is_ok()
    );

    let mut comment = github_issue("created", 7);
    comment["comment"] = json!({ "body": "And now?", "user": { "login": "ada" } });
    let commented = message(read_json(&channel, COMMENTS, &comment));
    assert_eq!(commented.session_id, opened.session_id);
    assert_ne!(commented.message_id, opened.message_id);
    assert!(commented.text.ends_with("\n\nAnd now?"));
    let elsewhere = message(read_json(&channel, ISSUES, &github_issue("opened", 8)));
    assert_ne!(elsewhere.session_id, opened.session_id);
    assert_eq!(message(read_json(&channel, ISSUES, &github_issue("opened", 7))), opened, "the same again is the same");
}

#[test]
fn a_form_of_github_is_read_too() {
    let channel = channel(Kind::Github, json!({}));
    let mut payload = github_issue("opened", 7);
    payload["issue"]["body"] = json!("50 % + é & more");
    let encoded: String = payload.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
    let body = format!("x=1&payload={}", encoded.replace("%20", "+"));
    let mut headers = ISSUES.to_vec();
    headers.push(("content-type", "application/x-www-form-urlencoded"));
    let read = read(&channel, &Headers::new(headers.iter().copied()), body.as_bytes());
    assert!(message(read).text.ends_with("50 % + é & more"));
}

#[test]
fn bots_and_we_ourselves_are_not_answered() {
    let channel = channel(Kind::Github, json!({}));
    let ignored = |payload: &Value| read_json(&channel, COMMENTS, payload).unwrap();
    let mut comment = github_issue("created", 7);
    comment["comment"] = json!({ "body": format!("an answer\n\n{MARK}") });
    assert_eq!(ignored(&comment), Incoming::Ignored(Ignored::Bot));
    comment["comment"]["body"] = json!("hello");
    comment["sender"]["type"] = json!("Bot");
    assert_eq!(ignored(&comment), Incoming::Ignored(Ignored::Bot));
    let ping = read_json(&channel, &[("x-github-event", "ping"), ("x-github-delivery", "p")], &json!({ "zen": "" }));
    assert_eq!(ping, Ok(Incoming::Ignored(Ignored::Ping)));
}

#[test]
fn only_what_a_channel_wants_is_taken() {
    let issue = github_issue("opened", 7);
    for (settings, taken) in [
        (json!({}), true),
        (json!({ "events": ["issues"] }), true),
        (json!({ "events": ["issues.opened"] }), true),
        (json!({ "events": ["issues.closed", "issue"] }), false),
        (json!({ "senders": ["ada"] }), true),
        (json!({ "senders": ["bob"] }), false),
        (json!({ "only": [{ "at": "/issue/title", "contains": "start" }] }), true),
        (json!({ "only": [{ "at": "/issue/title", "contains": "stop" }] }), false),
        (
            json!({ "only": [{ "at": "/repository/private", "in": ["false"] }, { "at": "/issue/number", "not_in": ["7"] }] }),
            false,
        ),
        (
            json!({ "only": [{ "header": "X-GitHub-Event", "in": ["issues"] }, { "at": "/pull_request", "exists": false }] }),
            true,
        ),
        (json!({ "only": [{ "at": "/nothing", "in": ["x"] }] }), false),
        (json!({ "only": [{ "at": "/nothing", "not_in": ["x"] }] }), true),
    ] {
        let channel = channel(Kind::Github, settings.clone());
        let read = read_json(&channel, ISSUES, &issue).unwrap();
        assert_eq!(matches!(read, Incoming::Message(_)), taken, "{settings}");
    }
    let unlisted = read_json(&channel(Kind::Github, json!({})), ISSUES, &github_issue("labeled", 7));
    assert_eq!(unlisted, Ok(Incoming::Ignored(Ignored::Filtered)));
}

#[test]
fn a_thread_of_slack_is_one_session() {
    let channel = channel(Kind::Slack, json!({ "reply": { "to": "slack" } }));
    let asked = json!({ "type": "url_verification", "token": "x", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P" });
    let challenge = "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P".to_owned();
    assert_eq!(read_json(&channel, &[], &asked), Ok(Incoming::Challenge(challenge)));
    let event = |event: Value| json!({ "type": "event_callback", "team_id": "T1", "event_id": "Ev08MFMKH6", "event_time": 1_234_567_890, "event": event });
    let first = json!({ "type": "app_mention", "user": "U061F7AUR", "text": "<@U0LAN0Z89> build?", "ts": "1515449522.000016", "channel": "C0LAN2Q65" });
    let started = message(read_json(&channel, &[], &event(first.clone())));
    assert_eq!(started.text, "<@U0LAN0Z89> build?");
    let thread = "1515449522.000016".to_owned();
    assert_eq!(started.reply_to, Some(ReplyAddress::Slack { channel: "C0LAN2Q65".to_owned(), thread }));
    let mut next = first.clone();
    next["thread_ts"] = next["ts"].clone();
    next["ts"] = json!("1515449999.000001");
    next["client_msg_id"] = json!("d9c1b6a0-0000");
    let went_on = message(read_json(&channel, &[], &event(next)));
    assert_eq!(went_on.session_id, started.session_id);
    assert_eq!(went_on.delivery_id, "d9c1b6a0-0000");
    let mut bot = first.clone();
    bot["bot_id"] = json!("B1");
    assert_eq!(read_json(&channel, &[], &event(bot)), Ok(Incoming::Ignored(Ignored::Bot)));
    let mut edited = first;
    edited["subtype"] = json!("message_changed");
    assert_eq!(read_json(&channel, &[], &event(edited)), Ok(Incoming::Ignored(Ignored::Filtered)));
}

#[test]
fn a_chat_of_telegram_is_one_session() {
    let channel = channel(Kind::Telegram, json!({ "reply": { "to": "telegram" } }));
    let update = |number: u64, text: &str| {
        json!({ "update_id": number, "message": {
            "message_id": number * 10, "from": { "id": 1111, "is_bot": false, "username": "ada" },
            "chat": { "id": -100_123, "type": "supergroup" }, "date": 1_441_645_532, "text": text,
        } })
    };
    let first = message(read_json(&channel, &[], &update(1, "hello")));
    assert_eq!(
        (first.text.as_str(), first.delivery_id.as_str(), first.event.as_deref()),
        ("hello", "1", Some("message"))
    );
    assert_eq!(first.reply_to, Some(ReplyAddress::Telegram { chat: -100_123, thread: None, message: Some(10) }));
    assert_eq!(message(read_json(&channel, &[], &update(2, "more"))).session_id, first.session_id);
    let mut topic = update(3, "elsewhere");
    topic["message"]["message_thread_id"] = json!(5);
    assert_ne!(message(read_json(&channel, &[], &topic)).session_id, first.session_id);
    let edited = json!({ "update_id": 4, "edited_message": update(4, "x")["message"] });
    assert_eq!(read_json(&channel, &[], &edited), Ok(Incoming::Ignored(Ignored::Filtered)));
}

#[test]
fn a_service_without_ids_means_the_same_by_the_same_body() {
    let channel = channel(Kind::Bearer, json!({}));
    let delivery = |payload: Value| message(read_json(&channel, &[], &payload));
    let (first, again) = (delivery(json!({ "message": "hi" })), delivery(json!({ "message": "hi" })));
    assert_eq!(first, again);
    let other = delivery(json!({ "message": "ho" }));
    assert_ne!((&other.message_id, &other.session_id), (&first.message_id, &first.session_id));
    let long = message(read_json(&channel, &[("webhook-id", &"x y".repeat(30))], &json!({ "message": "hi" })));
    assert!(is_id(&long.delivery_id));
    let one = delivery(json!({ "message": "a", "conversation": "c" }));
    assert_eq!(one.session_id, delivery(json!({ "message": "b", "conversation": "c" })).session_id);
}

#[test]
fn what_cannot_be_read_is_refused_and_named() {
    let plain = channel(Kind::Bearer, json!({}));
    let code = |body: &[u8]| read(&plain, &Headers::default(), body).unwrap_err().code();
    assert_eq!(code(b"not json"), "payload_malformed");
    assert_eq!(code(b"[1]"), "payload_malformed");
    assert_eq!(code(format!("{}1{}", "[".repeat(100), "]".repeat(100)).as_bytes()), "payload_malformed");
    assert_eq!(code(b"{\"message\": \" \"}"), "payload_malformed");
    assert_eq!(code(b"{}"), "template_leads_nowhere");
    let own = channel(Kind::Bearer, json!({ "message": "{/a/b}" }));
    let refusal = read_json(&own, &[], &json!({ "a": {} })).unwrap_err();
    assert!(refusal.to_string().contains("`{/a/b}` leads nowhere"), "{refusal}");
}

#[test]
fn names_cannot_be_made_to_meet() {
    assert_ne!(session_id("a", "b-c"), session_id("a-b", "c"));
    assert_ne!(short_hash(&[b"ab", b"c"]), short_hash(&[b"a", b"bc"]));
}
