//! What a session and its agent write to each other.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::{Client, Daemon};

/// The lines of a stream that is open.
struct Wire(BufReader<TcpStream>);

impl Wire {
    fn open(client: &Client, query: &str) -> Self {
        let mut reader =
            client.send("GET", &format!("/api/sessions/s/wire{query}"), &[("accept-encoding", "gzip")], b"");
        let mut line = String::new();
        let mut head = String::new();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
            head.push_str(&line);
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("content-type: application/x-ndjson") && !head.contains("gzip"), "{head}");
        Self(reader)
    }

    /// Everything until it ends, without the chunks' sizes.
    fn until_it_ends(self) -> Vec<Value> {
        let lines = self.0.lines().map_while(Result::ok).filter(|line| line.starts_with('{'));
        lines.map(|line| serde_json::from_str(&line).unwrap()).collect()
    }
}

#[test]
fn the_wire_is_heard_from_the_first_word_on() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let (one, other) = (Wire::open(client, "?until=idle"), Wire::open(client, "?until=idle"));
    client.turn("s", "garbage");
    let lines = one.until_it_ends();
    let said: Vec<(&str, &Value)> = lines.iter().map(|line| (line["dir"].as_str().unwrap(), &line["line"])).collect();
    assert_eq!((said[0].0, &said[0].1["do"]), ("in", &json!("open")));
    assert_eq!((said[1].0, &said[1].1["say"]), ("out", &json!("ready")));
    assert_eq!((said[2].0, &said[2].1["do"]), ("in", &json!("prompt")));
    assert!(said.iter().any(|line| *line == ("out", &json!("this is { not JSON"))), "{said:?}");
    assert_eq!(said.last().unwrap().1["say"], "turn_end");
    let times: Vec<u64> = lines.iter().map(|line| line["at_ms"].as_u64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(other.until_it_ends().len(), lines.len());
}

#[test]
fn the_wire_ends_with_the_daemon() {
    let mut daemon = Daemon::start();
    daemon.client.mock("s");
    let wire = Wire::open(&daemon.client, "");
    daemon.client.turn("s", "echo one");
    daemon.client.turn("s", "echo two");
    assert_eq!(daemon.terminate(), Some(0));
    let prompts = wire.until_it_ends().iter().filter(|line| line["line"]["do"] == "prompt").count();
    assert_eq!(prompts, 2);
}

#[test]
fn the_wire_is_not_for_everybody() {
    let daemon = Daemon::start();
    daemon.client.mock("s");
    daemon.client.get("/api/sessions/nobody/wire").is_problem(404, "session_not_found");
    daemon.client.get("/api/sessions/s/wire?until=sometime").is_problem(400, "invalid_request");
    Client::new(&daemon.client.address, None).get("/api/sessions/s/wire").is_problem(401, "unauthorized");
}
