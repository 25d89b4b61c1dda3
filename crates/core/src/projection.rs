//! Folds of a log, as readers see them: one trait for the view, dialects, histories and whatever else is told or asked.
//!
//! A [`Projection`] is fed a log from its beginning: first what was there when its reader came, then [`Projection::caught_up`], then whatever happens.
//! What comes out before and at `caught_up` is the snapshot, what comes after it is live; both are made by `apply`, so they cannot disagree. Nothing is
//! kept that is not in the log, so a projection can be dropped at any time and folded again.
//!
//! Not here: where events come from and where frames go. That is the `reader` room of the `turnloom` crate.

use serde::Serialize;

use crate::event::Envelope;

/// A fold of one session's log.
pub trait Projection: Send {
    /// Where it writes what readers have to be told. Nothing, for a fold that is asked instead.
    type Output: Muted;

    /// Whether readers come back for one turn, so that it is worth keeping how the fold stood before it.
    const IS_READ_BY_TURN: bool = false;

    /// Takes the next fact.
    fn apply(&mut self, envelope: &Envelope, out: &mut Self::Output);

    /// Everything that had happened when the reader came has been taken: says what is needed to be there. Comes exactly once.
    fn caught_up(&mut self, _out: &mut Self::Output) {}

    /// Everything that is there for now was taken: what was held back so that it could be told once must go out.
    fn flush(&mut self, _out: &mut Self::Output) {}

    /// Whether `flush` would tell something. Each time is the whole of it again, so a server lets some time pass between two.
    fn has_buffered(&self) -> bool {
        false
    }

    /// The last frame was made; nothing more will come.
    fn is_done(&self) -> bool {
        false
    }

    /// About how much memory it takes, in bytes.
    fn weight(&self) -> usize {
        4_096
    }
}

/// An output that nobody reads: for folds of the past, which everybody knows or nobody wants.
pub trait Muted {
    fn muted() -> Self;
}

impl Muted for () {
    fn muted() -> Self {}
}

impl Muted for Frames {
    fn muted() -> Self {
        Self { muted: true, ..Self::default() }
    }
}

/// Frames on their way out: JSON, each perhaps with a name. One buffer for all of them, because a long log makes many.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    ends: Vec<End>,
    muted: bool,
}

/// What is known of a frame besides its body.
#[derive(Debug)]
struct End {
    at: usize,
    name: Option<&'static str>,
    id: Option<u64>,
}

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What an SSE stream calls it, in the protocols that name their frames.
    pub name: Option<&'static str>,
    /// Where a reader who has it goes on: a position of the log, or a number that the protocol counts.
    pub id: Option<u64>,
    /// JSON on one line; text, in the one dialect that is only text.
    pub body: &'a [u8],
}

impl Frames {
    pub fn push(&mut self, frame: &impl Serialize) {
        self.put(None, None, frame);
    }

    pub fn push_named(&mut self, name: &'static str, frame: &impl Serialize) {
        self.put(Some(name), None, frame);
    }

    /// For a protocol that numbers all of its frames.
    pub fn push_numbered(&mut self, number: u64, frame: &impl Serialize) {
        self.put(None, Some(number), frame);
    }

    /// A reader that has the last of these frames has everything that was made of the log up to here.
    pub fn mark(&mut self, position: u64) {
        if let Some(last) = self.ends.last_mut() {
            last.id.get_or_insert(position);
        }
    }

    /// A frame that is not JSON.
    pub fn push_text(&mut self, text: &str) {
        if !self.muted {
            self.bytes.extend_from_slice(text.as_bytes());
            self.ends.push(End { at: self.bytes.len(), name: None, id: None });
        }
    }

    fn put(&mut self, name: Option<&'static str>, id: Option<u64>, frame: &impl Serialize) {
        if self.muted {
            return;
        }
        let start = self.bytes.len();
        // Frames have string keys only and writing to a Vec cannot fail; a frame that failed all the same must not be sent half.
        if serde_json::to_writer(&mut self.bytes, frame).is_err() {
            return self.bytes.truncate(start);
        }
        self.ends.push(End { at: self.bytes.len(), name, id });
    }

    pub fn is_muted(&self) -> bool {
        self.muted
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// How much there is to send.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The bodies of all frames, one behind the other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn iter(&self) -> impl Iterator<Item = Frame<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let body = self.bytes.get(start..end.at).unwrap_or_default();
            start = end.at;
            Frame { name: end.name, id: end.id, body }
        })
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}
