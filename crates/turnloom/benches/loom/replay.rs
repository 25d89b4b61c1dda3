//! How fast a long log is read back.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::loom::{Served, Writer, directory};
use super::support::Client;
use super::table::{Rounds, Table, Unit};
use super::{Scale, floor, wire};

const PAGE: usize = 1000;

pub(crate) fn measure(scale: Scale, table: &mut Table) {
    let events = scale.of(100_000, 2 * PAGE);
    let served = Served::start();
    served.runtime.block_on(async {
        let mut writer = Writer::create(served.log(), "s").await;
        for _ in 0..events / PAGE {
            served.log().append(writer.next(PAGE)).await.expect("an append");
        }
    });
    let client = &served.client;
    let directory = directory();
    let file = directory.path().join("floor");
    let mut frames = Vec::new();
    wire::read_events(&mut wire::follow(client, "s"), events, |bytes| frames.extend_from_slice(bytes));
    std::fs::write(&file, &frames).expect("a file");

    let (mut stream, mut pages, mut raw) = (Rounds::default(), Rounds::default(), Rounds::default());
    for _ in 0..scale.rounds() {
        stream.push_rate(events, by_stream(client, events));
        pages.push_rate(events, by_pages(client, events));
        raw.push_rate(events, from_file(&file, events));
    }
    table.row(format!("replay of {events} events, stream"), Unit::PerSecond, stream, Some(raw.clone()));
    table.row(format!("replay of {events} events, pages of {PAGE}"), Unit::PerSecond, pages, Some(raw));
    served.stop();
}

fn by_stream(client: &Client, events: usize) -> Duration {
    let started = Instant::now();
    let counter = wire::read_events(&mut wire::follow(client, "s"), events, |_| {});
    let took = started.elapsed();
    assert!(counter.events() == events && counter.ends_with(&format!("id: {events}\n")));
    took
}

/// Page after page over one connection.
fn by_pages(client: &Client, events: usize) -> Duration {
    let started = Instant::now();
    let mut stream = TcpStream::connect(&client.address).expect("a connection");
    let mut reader = BufReader::with_capacity(wire::BUFFER, stream.try_clone().expect("a second end"));
    let mut body = Vec::new();
    for after in (0..events).step_by(PAGE) {
        let path = format!("/api/sessions/s/events?after={after}&limit={PAGE}");
        wire::request(&mut stream, client, &path, "application/json");
        read_body(&mut reader, &mut body);
        let last = after + PAGE;
        let end = &body[body.len() - 300..];
        let more = if last < events { "\"has_more\":true" } else { "\"has_more\":false" };
        assert!(wire::contains(end, &format!("\"seq\":{last},")) && wire::contains(end, more));
    }
    started.elapsed()
}

fn read_body(reader: &mut BufReader<TcpStream>, body: &mut Vec<u8>) {
    let (mut line, mut length) = (String::new(), None);
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line).expect("a header");
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().ok();
        }
    }
    if let Some(length) = length {
        body.resize(length, 0);
        return reader.read_exact(body).expect("a body");
    }
    // What is large leaves in pieces, each with its length in front and a line's end behind it.
    body.clear();
    loop {
        line.clear();
        reader.read_line(&mut line).expect("a length");
        let (start, length) = (body.len(), usize::from_str_radix(line.trim(), 16).expect("a number"));
        body.resize(start + length + 2, 0);
        reader.read_exact(&mut body[start..]).expect("a piece");
        body.truncate(start + length);
        if length == 0 {
            return;
        }
    }
}

/// The same bytes from a file to a bare socket.
fn from_file(path: &Path, events: usize) -> Duration {
    let (mut from, mut to) = floor::socket_pair();
    let started = Instant::now();
    let reader = std::thread::spawn(move || wire::read_events(&mut to, events, |_| {}));
    let mut file = File::open(path).expect("the file");
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer).expect("a read") {
            0 => break,
            read => from.write_all(&buffer[..read]).expect("a write"),
        }
    }
    reader.join().expect("the reader");
    started.elapsed()
}
