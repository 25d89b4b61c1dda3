use super::super::Headers;
use super::*;

fn reply(settings: Value) -> Reply {
    serde_json::from_value(settings).unwrap()
}

fn body(outgoing: &Outgoing) -> Value {
    serde_json::from_slice(&outgoing.body).unwrap()
}

fn header<'a>(outgoing: &'a Outgoing, name: &str) -> Option<&'a str> {
    outgoing.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

#[test]
fn each_service_gets_what_it_takes() {
    let github = reply(json!({ "to": "github", "base_url": "http://127.0.0.1:1/" }));
    let address = ReplyAddress::Github { repository: "a/b".to_owned(), number: 7 };
    let sent = request(&github, &address, "done", Some("t"), &Value::Null);
    assert_eq!(sent.url, "http://127.0.0.1:1/repos/a/b/issues/7/comments");
    assert_eq!(header(&sent, "authorization"), Some("Bearer t"));
    assert_eq!(body(&sent)["body"], format!("done\n\n{MARK}"));

    let slack = reply(json!({ "to": "slack" }));
    let address = ReplyAddress::Slack { channel: "C1".to_owned(), thread: "1.2".to_owned() };
    let sent = request(&slack, &address, "<!channel> a & b", Some("xoxb"), &Value::Null);
    assert_eq!(sent.url, "https://slack.com/api/chat.postMessage");
    assert_eq!(body(&sent)["text"], "&lt;!channel&gt; a &amp; b");
    assert_eq!((&body(&sent)["channel"], &body(&sent)["thread_ts"]), (&json!("C1"), &json!("1.2")));

    let telegram = reply(json!({ "to": "telegram" }));
    let address = ReplyAddress::Telegram { chat: -5, thread: Some(3), message: Some(9) };
    let sent = request(&telegram, &address, "hi", Some("1:abc"), &Value::Null);
    assert_eq!(sent.url, "https://api.telegram.org/bot1:abc/sendMessage");
    assert_eq!(header(&sent, "authorization"), None);
    assert_eq!((&body(&sent)["chat_id"], &body(&sent)["message_thread_id"]), (&json!(-5), &json!(3)));
    assert_eq!(body(&sent)["reply_parameters"]["message_id"], 9);
    assert!(!format!("{sent:?}").contains("abc"));

    let post = reply(json!({ "to": "post", "url": "https://a.example/x" }));
    let address = ReplyAddress::Post { url: "https://a.example/x".to_owned() };
    let sent = request(&post, &address, "hi", None, &json!({ "part": 1 }));
    assert_eq!(body(&sent), json!({ "text": "hi", "part": 1 }));
}

#[test]
fn a_payload_does_not_choose_where_we_send() {
    let headers = Headers::default();
    let at = |settings: Value, payload: Value| {
        address(&reply(settings), Scope { payload: &payload, headers: &headers, names: &[] })
    };
    let post = json!({ "to": "post", "url": "{/reply_url}", "hosts": ["a.example", "b.example:8443"] });
    for (url, may) in [
        ("https://a.example/x", true),
        ("https://A.EXAMPLE/x", true),
        ("https://b.example:8443/", true),
        ("https://b.example/", false),
        ("https://c.example/", false),
        ("https://a.example@c.example/", false),
        ("https://c.example/?a.example", false),
        ("https://c.example\\a.example/", false),
        ("file:///etc/passwd", false),
        ("http://169.254.169.254/", false),
    ] {
        assert_eq!(at(post.clone(), json!({ "reply_url": url })).is_some(), may, "{url}");
    }
    for name in ["a/../../b", "a/..", "../x", "a", "a/b/c", "a/b?x", "a/b#", "a/ b", "/b"] {
        let payload = json!({ "repository": { "full_name": name }, "issue": { "number": 1 } });
        assert_eq!(at(json!({ "to": "github" }), payload), None, "{name}");
    }
    let negative = json!({ "repository": { "full_name": "a/b" }, "issue": { "number": -1 } });
    assert_eq!(at(json!({ "to": "github" }), negative), None);
}

#[test]
fn settings_that_make_no_sense_are_named() {
    for (kind, settings, named) in [
        (Kind::Bearer, json!({ "to": "github" }), "`post`"),
        (Kind::Bearer, json!({ "to": "post" }), "`url`"),
        (Kind::Bearer, json!({ "to": "post", "url": "{/x}" }), "`hosts`"),
        (Kind::Bearer, json!({ "to": "post", "url": "ftp://x" }), "http"),
        (Kind::Github, json!({ "to": "github", "url": "https://x" }), "`base_url`"),
        (Kind::Github, json!({ "to": "github", "base_url": "x" }), "`base_url`"),
        (Kind::Github, json!({ "to": "github", "limit": 3 }), "`limit`"),
        (Kind::Github, json!({ "to": "github", "text": "{nothing}" }), "`text`"),
    ] {
        let error = reply(settings.clone()).check(kind).unwrap_err();
        assert!(error.contains(named), "{settings}: {error}");
    }
    assert_eq!(reply(json!({ "to": "github", "text": "{answer} ({outcome})" })).check(Kind::Github), Ok(()));
}

#[test]
fn long_answers_become_as_many_messages_as_the_service_needs() {
    let telegram = reply(json!({ "to": "telegram" }));
    let answer = "word ".repeat(2_000);
    let sent = parts(&telegram, &[("answer", &answer)]);
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|part| part.encode_utf16().count() <= TELEGRAM_UNITS));
    let short = reply(json!({ "to": "telegram", "limit": 64, "text": "{answer}!" }));
    let sent = parts(&short, &[("answer", &"x".repeat(10_000))]);
    assert_eq!(sent.len(), MAX_PARTS + 1);
    assert!(sent.last().unwrap().contains("goes on"));
    assert_eq!(parts(&short, &[("answer", "a")]), ["a!"]);
    assert!(parts(&telegram, &[("answer", " ")]).is_empty());
}

#[test]
fn answers_of_services_are_understood() {
    let of = |to, status, body: &str| judge(to, status, Some(3), body.as_bytes());
    assert_eq!(of(ReplyService::Github, 201, ""), Verdict::Taken);
    assert_eq!(of(ReplyService::Slack, 200, r#"{"ok":true}"#), Verdict::Taken);
    assert!(matches!(
        of(ReplyService::Slack, 200, r#"{"ok":false,"error":"ratelimited"}"#),
        Verdict::Again { after_seconds: Some(3), .. }
    ));
    assert!(
        matches!(of(ReplyService::Slack, 200, r#"{"ok":false,"error":"channel_not_found"}"#), Verdict::Never { why } if why == "channel_not_found")
    );
    assert!(matches!(of(ReplyService::Slack, 200, "garbage"), Verdict::Again { .. }));
    assert!(
        matches!(of(ReplyService::Github, 404, r#"{"message":"Not Found"}"#), Verdict::Never { why } if why.contains("Not Found"))
    );
    let busy = judge(ReplyService::Telegram, 429, None, br#"{"ok":false,"parameters":{"retry_after":35}}"#);
    assert!(matches!(busy, Verdict::Again { after_seconds: Some(35), .. }));
    for status in [302, 401, 403, 429, 500, 503] {
        assert!(matches!(of(ReplyService::Post, status, ""), Verdict::Again { .. }), "{status}");
    }
}
