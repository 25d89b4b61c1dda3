//! The reader's side of a stream, as cheap as it can be: it counts bytes and does not parse.

use std::io::{Read, Write as _};
use std::net::TcpStream;

use super::support::Client;

/// Room for what is read at once.
pub(crate) const BUFFER: usize = 256 * 1024;

/// Sends a request and leaves the answer to be read.
pub(crate) fn request(stream: &mut TcpStream, client: &Client, path: &str, accept: &str) {
    let (address, token) = (&client.address, client.token.as_deref().unwrap_or("none"));
    let head =
        format!("GET {path} HTTP/1.1\r\nhost: {address}\r\naccept: {accept}\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("a request");
}

/// Follows a session from its beginning.
pub(crate) fn follow(client: &Client, session: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&client.address).expect("a connection");
    request(&mut stream, client, &format!("/api/sessions/{session}/events?after=0"), "text/event-stream");
    stream
}

/// Counts the events in a stream.
///
/// A frame has four line feeds and the greeting two. Everything that HTTP adds, the head and the sizes of chunks, is lines that end with a carriage
/// return and a line feed, and JSON has neither. So the difference of the two tells.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    difference: isize,
    /// The last bytes: the last frame begins there.
    end: Vec<u8>,
}

impl Counter {
    const END: usize = 1024;

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.difference += count(bytes, b'\n').cast_signed() - count(bytes, b'\r').cast_signed();
        self.end.extend_from_slice(&bytes[bytes.len().saturating_sub(Self::END)..]);
        let surplus = self.end.len().saturating_sub(Self::END);
        self.end.drain(..surplus);
    }

    pub(crate) fn events(&self) -> usize {
        usize::try_from((self.difference - 2) / 4).unwrap_or_default()
    }

    /// Whether the last bytes hold this.
    pub(crate) fn ends_with(&self, text: &str) -> bool {
        contains(&self.end, text)
    }

    /// Whether the last bytes hold this and the rest of its frame.
    pub(crate) fn ends_with_frame(&self, text: &str) -> bool {
        let at = self.end.windows(text.len()).position(|window| window == text.as_bytes());
        at.is_some_and(|at| contains(&self.end[at + text.len()..], "\n\n"))
    }
}

pub(crate) fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// In pieces whose count fits a byte, which the compiler turns into a few wide instructions.
fn count(bytes: &[u8], wanted: u8) -> usize {
    let in_piece = |piece: &[u8]| piece.iter().map(|&byte| u8::from(byte == wanted)).sum::<u8>();
    bytes.chunks(192).map(|piece| usize::from(in_piece(piece))).sum()
}

/// Reads until so many events were there; all bytes go to `keep`.
pub(crate) fn read_events(stream: &mut impl Read, events: usize, mut keep: impl FnMut(&[u8])) -> Counter {
    let mut counter = Counter::default();
    let mut buffer = vec![0; BUFFER];
    while counter.events() < events {
        let read = stream.read(&mut buffer).expect("a read");
        assert!(read > 0, "the stream ended after {} of {events} events", counter.events());
        counter.take(&buffer[..read]);
        keep(&buffer[..read]);
    }
    counter
}
