//! Taps that record what a session and its agent write to each other. A tap exists before the agent does, never makes a session wait, and ends with
//! an error rather than lose a line. It does not know what the lines mean.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_with::skip_serializing_none;
use tokio::sync::mpsc;
use turnloom_core::id::SessionId;
use turnloom_core::replay::Direction;

use super::{Error, Sessions};
use crate::process::Line;
use crate::sync::Locked;

/// What may wait for a listener: so many pieces (a batch of lines each), and so many bytes. A file on this machine is never so far behind.
const WAITING_PIECES: usize = 1024;
const WAITING_BYTES: usize = 64 * 1024 * 1024;

/// When a tap ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// When nobody listens any more.
    Left,
    /// When a turn has ended and nothing waits.
    Idle,
}

/// A listener was too slow, so lines are missing from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the listener fell behind, so the recording ends here")]
pub struct FellBehind;

/// All taps of a daemon. Usually there are none; then the cost is one atomic read.
#[derive(Debug, Default)]
pub(super) struct Taps {
    open: AtomicUsize,
    next: AtomicU64,
    by_session: Locked<HashMap<SessionId, Vec<Tap>>>,
}

#[derive(Debug)]
struct Tap {
    number: u64,
    opened: Instant,
    until: Until,
    sender: mpsc::Sender<Bytes>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting_bytes: AtomicUsize,
    fell_behind: AtomicBool,
}

/// One line as it is recorded.
#[skip_serializing_none]
#[derive(Serialize)]
struct Entry<'a> {
    dir: Direction,
    at_ms: u64,
    line: RecordedLine<'a>,
    /// The length of a line of which only the beginning is here.
    cut_bytes: Option<u64>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum RecordedLine<'a> {
    Json(&'a RawValue),
    Text(std::borrow::Cow<'a, str>),
}

impl<'a> RecordedLine<'a> {
    /// A line is JSON if it is; one that is a JSON string is kept as the text it was written as, because strings stand for other lines.
    fn of(line: &'a [u8]) -> Self {
        let is_string = line.trim_ascii_start().first() == Some(&b'"');
        match serde_json::from_slice::<&RawValue>(line) {
            Ok(json) if !is_string => Self::Json(json),
            _ => Self::Text(String::from_utf8_lossy(line)),
        }
    }
}

impl Taps {
    /// The agent said these lines.
    pub(super) fn agent_wrote(&self, id: &SessionId, lines: &[Line]) {
        self.send_to_taps(id, |at_ms, out| {
            for line in lines {
                match line {
                    Line::Text(line) => write(out, Direction::Out, at_ms, line, None),
                    Line::TooLong { size, head, .. } => write(out, Direction::Out, at_ms, head, Some(*size)),
                }
            }
        });
    }

    /// The session wrote these whole lines.
    pub(super) fn session_wrote(&self, id: &SessionId, bytes: &[u8]) {
        self.send_to_taps(id, |at_ms, out| {
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                write(out, Direction::In, at_ms, line, None);
            }
        });
    }

    /// A turn has ended, and the session is at rest.
    pub(super) fn idle(&self, id: &SessionId) {
        self.change(id, |taps| taps.retain(|tap| tap.until != Until::Idle));
    }

    fn send_to_taps(&self, id: &SessionId, write: impl Fn(u64, &mut Vec<u8>)) {
        self.change(id, |taps| {
            taps.retain(|tap| {
                let mut out = Vec::new();
                write(u64::try_from(tap.opened.elapsed().as_millis()).unwrap_or(u64::MAX), &mut out);
                tap.send(out)
            });
        });
    }

    fn change(&self, id: &SessionId, change: impl FnOnce(&mut Vec<Tap>)) {
        if self.open.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut by_session = self.lock();
        let Some(taps) = by_session.get_mut(id) else { return };
        let before = taps.len();
        change(taps);
        self.open.fetch_sub(before - taps.len(), Ordering::AcqRel);
        if taps.is_empty() {
            by_session.remove(id);
        }
    }

    fn open(&self, id: &SessionId, until: Until) -> (u64, mpsc::Receiver<Bytes>, Arc<Shared>) {
        let (sender, receiver) = mpsc::channel(WAITING_PIECES);
        let shared = Arc::new(Shared::default());
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let tap = Tap { number, opened: Instant::now(), until, sender, shared: Arc::clone(&shared) };
        let mut by_session = self.lock();
        by_session.entry(id.clone()).or_default().push(tap);
        self.open.fetch_add(1, Ordering::AcqRel);
        (number, receiver, shared)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<Tap>>> {
        self.by_session.lock()
    }
}

impl Tap {
    /// False when there is nobody left to send to.
    fn send(&self, piece: Vec<u8>) -> bool {
        let size = piece.len();
        if size == 0 {
            return true;
        }
        // One piece is always taken, however large a line was.
        let waiting = self.shared.waiting_bytes.fetch_add(size, Ordering::AcqRel);
        let has_room = waiting == 0 || waiting + size <= WAITING_BYTES;
        let sent = if has_room { self.sender.try_send(piece.into()).is_ok() } else { false };
        if !sent {
            self.shared.fell_behind.store(true, Ordering::Release);
        }
        sent
    }
}

fn write(out: &mut Vec<u8>, dir: Direction, at_ms: u64, line: &[u8], cut_bytes: Option<u64>) {
    let entry = Entry { dir, at_ms, line: RecordedLine::of(line), cut_bytes };
    // Everything in it has string keys, and writing to a Vec cannot fail.
    drop(serde_json::to_writer(&mut *out, &entry));
    out.push(b'\n');
}

/// A tap, on the listener's side. It is closed when this is dropped.
#[derive(Debug)]
pub struct Wire {
    sessions: Sessions,
    id: SessionId,
    number: u64,
    receiver: mpsc::Receiver<Bytes>,
    shared: Arc<Shared>,
}

impl Wire {
    /// The next whole lines; nothing when the tap has ended by itself. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Bytes>, FellBehind> {
        if let Some(piece) = self.receiver.recv().await {
            self.shared.waiting_bytes.fetch_sub(piece.len(), Ordering::AcqRel);
            return Ok(Some(piece));
        }
        if self.shared.fell_behind.load(Ordering::Acquire) { Err(FellBehind) } else { Ok(None) }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.sessions.0.taps.change(&self.id, |taps| taps.retain(|tap| tap.number != self.number));
    }
}

impl Sessions {
    /// Listens to what a session and its agent write to each other from now on. The session need not be awake, and is not woken.
    pub async fn wire(&self, id: &SessionId, until: Until) -> Result<Wire, Error> {
        self.row(id).await?;
        let (number, receiver, shared) = self.0.taps.open(id, until);
        Ok(Wire { sessions: self.clone(), id: id.clone(), number, receiver, shared })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> SessionId {
        SessionId::trusted("s")
    }

    #[test]
    fn lines_are_kept_as_they_were() {
        let taps = Taps::default();
        taps.session_wrote(&id(), b"nobody listens\n");
        let (_, mut receiver, _) = taps.open(&id(), Until::Left);
        taps.session_wrote(&id(), b"{\"do\": 1}\n[1.50]\n");
        let head = Bytes::from_static(b"{\"long");
        taps.agent_wrote(
            &id(),
            &[
                Line::Text(Bytes::from_static(b"not { json")),
                Line::Text(Bytes::from_static(b"\"a string\"")),
                Line::Text(Bytes::from_static(b"\xff")),
                Line::TooLong { size: 99, sha256: String::new(), head },
            ],
        );
        taps.session_wrote(&SessionId::trusted("another"), b"{}\n");
        let mut text = String::new();
        while let Ok(piece) = receiver.try_recv() {
            text.push_str(std::str::from_utf8(&piece).unwrap());
        }
        let entries = turnloom_core::replay::read(&text).unwrap();
        let lines: Vec<(Direction, String)> =
            entries.iter().map(|entry| (entry.direction, entry.line.to_string())).collect();
        let expected = [
            (Direction::In, "{\"do\":1}"),
            (Direction::In, "[1.5]"),
            (Direction::Out, "\"not { json\""),
            (Direction::Out, "\"\\\"a string\\\"\""),
            (Direction::Out, "\"\u{fffd}\""),
            (Direction::Out, "\"{\\\"long\""),
        ];
        assert_eq!(lines, expected.map(|(direction, line)| (direction, line.to_owned())));
        assert!(text.contains("\"line\":[1.50]") && text.contains("\"cut_bytes\":99"), "{text}");
    }

    #[test]
    fn who_falls_behind_is_left_and_told() {
        let taps = Taps::default();
        let (_, mut slow, told) = taps.open(&id(), Until::Left);
        for _ in 0..=WAITING_PIECES {
            taps.session_wrote(&id(), b"{}\n");
        }
        assert_eq!(taps.open.load(Ordering::Acquire), 0);
        assert!(told.fell_behind.load(Ordering::Acquire));
        let mut pieces = 0;
        while slow.try_recv().is_ok() {
            pieces += 1;
        }
        assert_eq!(pieces, WAITING_PIECES);
        assert!(taps.lock().is_empty());
    }

    #[test]
    fn only_those_who_want_end_when_the_session_rests() {
        let taps = Taps::default();
        let (_, mut ends, told) = taps.open(&id(), Until::Idle);
        let (_, mut stays, _) = taps.open(&id(), Until::Left);
        taps.idle(&id());
        taps.session_wrote(&id(), b"{}\n");
        assert_eq!(ends.try_recv(), Err(mpsc::error::TryRecvError::Disconnected));
        assert!(!told.fell_behind.load(Ordering::Acquire));
        assert!(stays.try_recv().is_ok());
    }
}
