//! The server over a real socket: what is pure is tested beside its code.

#![expect(clippy::expect_used, reason = "the helpers of a test may fail it")]

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use turnloom_scripted::{DEMO, Kind, Options, Script, Server, StartError};

struct Peer {
    server: Server,
    client: Client<HttpConnector, Full<Bytes>>,
}

const LOOPBACK: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

impl Peer {
    async fn new(script: &str) -> Self {
        let script = Script::parse(script).expect("a script");
        let server = Server::start(script, LOOPBACK.into()).await.expect("starts");
        Self { server, client: Client::builder(TokioExecutor::new()).build_http() }
    }

    async fn send(&self, method: Method, path: &str, body: impl Into<Bytes>) -> Response<Incoming> {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.server.url()));
        let request = request.body(Full::new(body.into())).expect("a request");
        self.client.request(request).await.expect("an answer")
    }

    async fn json(&self, method: Method, path: &str, body: impl Into<Bytes>) -> (u16, Value) {
        let response = self.send(method, path, body).await;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.expect("a whole body").to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn claude(&self, text: &str) -> Response<Incoming> {
        let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": text}]});
        self.send(Method::POST, "/v1/messages?beta=true", body.to_string()).await
    }

    async fn codex(&self, text: &str) -> Response<Incoming> {
        let body = json!({"model": "m", "stream": true, "input": text});
        self.send(Method::POST, "/v1/responses", body.to_string()).await
    }

    /// Until so many streams wait there.
    async fn waiting(&self, gate: &str, count: usize) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.server.waiting(gate) != count {
            assert!(Instant::now() < deadline, "nobody waits for {gate}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// What arrives, and whether it ends as it should.
async fn heard(response: Response<Incoming>) -> (String, bool) {
    let mut body = response.into_body();
    let mut text = String::new();
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => text.push_str(&String::from_utf8_lossy(frame.data_ref().expect("data"))),
            Err(_) => return (text, false),
        }
    }
    (text, true)
}

#[tokio::test]
async fn both_apis_play_the_same_script() {
    let peer =
        Peer::new("[[reply]]\nname = 'greet'\ntimes = 2\nwhen = { user = 'hello' }\nstep = [{ text = 'Good day' }]")
            .await;
    let response = peer.claude("hello").await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (text, ended) = heard(response).await;
    assert!(ended && text.contains(r#""text":"Good ""#) && text.contains("event: message_stop"), "{text}");
    let (text, ended) = heard(peer.codex("hello").await).await;
    assert!(ended && text.contains(r#""delta":"Good ""#) && text.contains("event: response.completed"), "{text}");
    // It has been used up by now.
    let (text, _) = heard(peer.codex("hello").await).await;
    assert!(text.contains("The script has nothing for this message."), "{text}");

    let seen = peer.server.requests();
    let shown: Vec<_> = seen.iter().map(|seen| (seen.path.as_str(), seen.reply.as_deref(), seen.miss)).collect();
    assert_eq!(
        shown,
        [
            ("/v1/messages", Some("greet"), false),
            ("/v1/responses", Some("greet"), false),
            ("/v1/responses", None, true),
        ]
    );
    let (_, listed) = peer.json(Method::GET, "/_scripted/requests", "").await;
    assert_eq!(listed, serde_json::to_value(&seen).expect("json"));
    assert_eq!(listed[0]["user"], "hello");
    assert_eq!(seen[0].kind, Some(Kind::Turn));
}

#[tokio::test]
async fn an_error_is_the_whole_answer() {
    let peer = Peer::new(
        "[[reply]]\nalways = true\nstep = [{ error = { status = 429, message = 'slow down', retry_after = 7 } }]",
    )
    .await;
    for (response, kind) in [(peer.claude("a").await, "rate_limit_error"), (peer.codex("a").await, "requests")] {
        assert_eq!(
            (response.status().as_u16(), &response.headers()["retry-after"]),
            (429, &"7".parse().expect("a header"))
        );
        let (text, _) = heard(response).await;
        let body: Value = serde_json::from_str(&text).expect("json");
        assert_eq!((&body["error"]["type"], &body["error"]["message"]), (&json!(kind), &json!("slow down")));
    }
    assert!(peer.server.requests().iter().all(|seen| seen.status == 429));
}

#[tokio::test]
async fn a_request_that_is_none_gets_that_apis_own_error() {
    let peer = Peer::new("").await;
    for (path, body) in [
        ("/v1/messages", "no"),
        ("/v1/messages", r#"{"model": "m"}"#),
        ("/v1/messages/count_tokens", "no"),
        ("/v1/responses", "no"),
        ("/responses", r#"{"model": "m"}"#),
    ] {
        let (status, answer) = peer.json(Method::POST, path, body).await;
        assert_eq!((status, &answer["error"]["type"]), (400, &json!("invalid_request_error")), "{path}");
        assert_eq!(answer["type"] == "error", path.contains("messages"), "{path}");
    }
    let (status, answer) = peer.json(Method::GET, "/v1/other", "").await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!("not_found")));
    assert_eq!(peer.json(Method::GET, "/v1/messages", "").await.0, 404);
}

#[tokio::test]
async fn a_cut_stream_has_no_end() {
    let peer = Peer::new("[[reply]]\nalways = true\nstep = [{ text = 'half a' }, { cut = true }]").await;
    for response in [peer.claude("a").await, peer.codex("a").await] {
        let (text, ended) = heard(response).await;
        assert!(!ended, "the connection must break");
        assert!(text.contains("half") && !text.contains("_stop") && !text.contains("completed\""), "{text}");
    }
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "a"}]}).to_string();
    let (_, ended) = heard(peer.send(Method::POST, "/v1/messages", body).await).await;
    assert!(!ended, "a whole answer breaks too");
}

#[tokio::test]
async fn a_stream_waits_until_it_is_released() {
    let peer =
        Peer::new("[[reply]]\nalways = true\nstep = [{ text = 'before ' }, { wait_for = 'gate' }, { text = 'after' }]")
            .await;
    let mut first = peer.claude("a").await.into_body();
    let mut text = String::new();
    while !text.contains("before ") {
        let frame = first.frame().await.expect("more").expect("data");
        text.push_str(&String::from_utf8_lossy(frame.data_ref().expect("data")));
    }
    peer.waiting("gate", 1).await;
    assert_eq!(peer.json(Method::GET, "/_scripted/gates", "").await.1, json!({"gate": 1}));

    assert_eq!(peer.json(Method::POST, "/_scripted/release/gate", "").await.0, 204);
    let rest = first.collect().await.expect("the rest").to_bytes();
    assert!(String::from_utf8_lossy(&rest).contains("after"));

    // Who comes after the release does not wait, and one release is for one.
    assert!(peer.server.release("gate"));
    assert!(heard(peer.codex("a").await).await.1);
    let held = peer.codex("a").await;
    peer.waiting("gate", 1).await;
    // A client that leaves takes its place with it.
    drop(held);
    peer.waiting("gate", 0).await;

    assert_eq!(peer.json(Method::POST, "/_scripted/release/other", "").await.0, 404);
    assert!(!peer.server.release("other"));
}

#[tokio::test]
async fn an_error_can_be_held_back() {
    let peer = Peer::new("[[reply]]\nstep = [{ wait_for = 'gate' }, { error = { status = 500 } }]").await;
    assert!(peer.server.release("gate"));
    assert_eq!(peer.claude("a").await.status().as_u16(), 500);
}

#[tokio::test]
async fn what_agents_ask_beside_turns() {
    let peer = Peer::new("[[reply]]\nstep = [{ text = 'x' }]").await;
    assert_eq!(peer.send(Method::HEAD, "/", "").await.status().as_u16(), 200);
    let (status, counted) = peer.json(Method::POST, "/v1/messages/count_tokens?beta=true", r#"{"messages": []}"#).await;
    assert_eq!((status, &counted), (200, &json!({"input_tokens": 4})));
    assert_eq!(peer.json(Method::GET, "/v1/models", "").await.1["data"][0]["id"], "scripted");
    let title = json!({"model": "m", "system": "You are Claude Code", "messages": [{"role": "user", "content": "x"}]});
    let (_, message) = peer.json(Method::POST, "/v1/messages", title.to_string()).await;
    assert_eq!(message["content"][0]["text"], r#"{"title": "Scripted session"}"#);
    assert!(
        peer.server.requests().iter().all(|seen| seen.reply.is_none() && !seen.miss),
        "nothing of the script was used"
    );
    assert!(heard(peer.claude("a").await).await.0.contains('x'));
}

#[tokio::test]
async fn stopping_ends_what_is_being_said() {
    let peer = Peer::new("[[reply]]\nalways = true\nstep = [{ text = 'a' }, { wait_for = 'gate' }]").await;
    let response = peer.claude("a").await;
    peer.waiting("gate", 1).await;
    let url = peer.server.url();
    peer.server.stop().await;
    assert!(!heard(response).await.1, "the stream must break");
    let address: SocketAddr = url.trim_start_matches("http://").parse().expect("an address");
    // Nobody listens there now.
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_server_that_is_started_again_has_other_ids() {
    let mut ids = Vec::new();
    for options in [Options::default(), Options { ids: "b".to_owned() }, Options::fresh()] {
        let server =
            Server::start_with(Script::parse(DEMO).expect("the demo"), LOOPBACK.into(), options).await.expect("starts");
        let peer = Peer { server, client: Client::builder(TokioExecutor::new()).build_http() };
        let body = json!({"model": "m", "messages": [{"role": "user", "content": "ask me"}]}).to_string();
        let (_, message) = peer.json(Method::POST, "/v1/messages", body).await;
        ids.push(message["content"][1]["id"].as_str().expect("an id").to_owned());
    }
    assert_eq!(ids[..2], ["toolu_1_r11", "toolu_b_1_r11"]);
    assert!(ids[2].starts_with("toolu_") && !ids[..2].contains(&ids[2]), "{ids:?}");
}

#[tokio::test]
async fn it_stays_at_home() {
    let script = Script::parse("").expect("a script");
    let refused = Server::start(script, ([0, 0, 0, 0], 0).into()).await.expect_err("not loopback");
    assert!(matches!(refused, StartError::NotLoopback(_)), "{refused}");
}
