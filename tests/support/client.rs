//! HTTP by hand, so that a test can send what no library would, and see exactly what comes back.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::PATIENCE;
use super::contract::{CONTRACT, STREAMS, Seen};

#[derive(Clone)]
pub struct Client {
    pub address: String,
    pub token: Option<String>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// That it is a problem document with this status and code.
    #[track_caller]
    pub fn is_problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status);
        assert!(problem["title"].is_string() && problem["type"].is_string(), "{problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
        problem
    }
}

impl Client {
    pub fn new(address: &str, token: Option<&str>) -> Self {
        Self { address: address.to_owned(), token: token.map(|token| token.trim().to_owned()) }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.request("POST", path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    pub fn put(&self, path: &str, body: &Value) -> Answer {
        self.request("PUT", path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    pub fn patch(&self, path: &str, body: &Value) -> Answer {
        self.request("PATCH", path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", path, &[], b"")
    }

    /// Headers given here win over those that are sent anyway; an empty value leaves one out. What comes back is what the document says.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut reader = self.send(method, path, headers, body);
        let (status, headers) = read_head(&mut reader);
        let mut bytes = Vec::new();
        let length = header(&headers, "content-length").and_then(|length| length.parse().ok());
        if header(&headers, "transfer-encoding").is_some_and(|encoding| encoding.contains("chunked")) {
            while let Some(chunk) = read_chunk(&mut reader) {
                bytes.extend(chunk);
            }
        } else if let Some(length) = length {
            bytes.resize(length, 0);
            reader.read_exact(&mut bytes).expect("the body");
        } else {
            reader.read_to_end(&mut bytes).expect("the body");
        }
        let is_plain = header(&headers, "content-encoding").is_none();
        CONTRACT.check(&Seen { method, path, status, headers: &headers, body: is_plain.then_some(&bytes) });
        Answer { status, headers, body: String::from_utf8_lossy(&bytes).into_owned(), bytes }
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> BufReader<TcpStream> {
        let given = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let mut line = |name: &str, value: &str| {
            if !value.is_empty() {
                let _ = write!(head, "{name}: {value}\r\n");
            }
        };
        if !given("host") {
            line("host", &self.address);
        }
        if let Some(token) = self.token.as_ref().filter(|_| !given("authorization") && !given("cookie")) {
            line("authorization", &format!("Bearer {token}"));
        }
        if !given("content-length") {
            line("content-length", &body.len().to_string());
        }
        line("connection", "close");
        for (name, value) in headers {
            line(name, value);
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.write_all(head.as_bytes()).expect("the head is sent");
        // A server that refuses may close before it has read everything.
        drop(stream.write_all(body));
        BufReader::new(stream)
    }
}

fn read_head(reader: &mut BufReader<TcpStream>) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    reader.read_line(&mut line).expect("a status line");
    let status = line.split_whitespace().nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).expect("a header");
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
            None => return (status, headers),
        }
    }
}

pub fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// `None` at the end, and also when the connection broke: a stream that ends is a stream that ends.
fn read_chunk(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let size = usize::from_str_radix(line.trim(), 16).ok()?;
    let mut chunk = vec![0; size + 2];
    reader.read_exact(&mut chunk).ok()?;
    chunk.truncate(size);
    (size > 0).then_some(chunk)
}

/// A stream of server-sent events.
pub struct Sse {
    reader: BufReader<TcpStream>,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    text: String,
    /// What the document calls it.
    channel: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    pub id: Option<u64>,
    pub kind: String,
    pub data: String,
}

impl Sse {
    pub fn open(client: &Client, path: &str) -> Self {
        Self::with(client, path, &[])
    }

    pub fn with(client: &Client, path: &str, headers: &[(&str, &str)]) -> Self {
        let headers = [headers, &[("accept", "text/event-stream")]].concat();
        Self::new(client.send("GET", path, &headers, b""), "GET", path)
    }

    pub fn post(client: &Client, path: &str, body: &Value) -> Self {
        let headers = [("content-type", "application/json")];
        Self::new(client.send("POST", path, &headers, body.to_string().as_bytes()), "POST", path)
    }

    fn new(mut reader: BufReader<TcpStream>, method: &str, path: &str) -> Self {
        let (status, headers) = read_head(&mut reader);
        CONTRACT.check(&Seen { method, path, status, headers: &headers, body: None });
        let is_stream = header(&headers, "content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        let channel = STREAMS.channel_of(path).filter(|_| is_stream);
        Self { reader, status, headers, text: String::new(), channel }
    }

    /// The next event; `None` when the stream has ended. What comes is what the document says.
    pub fn next_event(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let frame: String = self.text.drain(..end + 2).collect();
                let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
                if let Some(data) = field("data: ") {
                    let id = field("id: ").and_then(|id| id.parse().ok());
                    let kind = field("event: ").unwrap_or_default();
                    if let Some(channel) = self.channel {
                        STREAMS.check_frame(channel, &kind, &data);
                    }
                    return Some(SseEvent { id, kind, data });
                }
                continue; // a comment
            }
            let chunk = read_chunk(&mut self.reader)?;
            self.text.push_str(std::str::from_utf8(&chunk).expect("a frame is whole UTF-8"));
        }
    }

    /// Events with a position, up to the one of this type.
    pub fn until(&mut self, kind: &str) -> Vec<SseEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.next_event() {
            if event.id.is_some() {
                events.push(event);
            }
            if events.last().is_some_and(|event| event.kind == kind) {
                return events;
            }
        }
        panic!("the stream ended before {kind}: {:?}", events.last());
    }
}
