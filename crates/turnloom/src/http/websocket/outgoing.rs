//! Text on its way to a client. Large texts are shared by all who are sent them, and leave in fragments: a client that does not read costs one fragment.

use bytes::Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

/// What is copied for one client at a time.
const FRAGMENT: usize = 64 * 1024;

/// One JSON object: its pieces, in order.
#[derive(Debug)]
pub(super) struct Outgoing(Vec<Bytes>);

impl From<String> for Outgoing {
    fn from(text: String) -> Self {
        Self(vec![text.into()])
    }
}

impl Outgoing {
    /// An object whose last member is this JSON. `before` is all that stands before it.
    pub(super) fn ending_with(before: String, json: impl Into<Bytes>) -> Self {
        Self(vec![before.into(), json.into(), Bytes::from_static(b"}")])
    }

    /// The parts of the text. Nothing is copied.
    pub(super) fn into_pieces(self) -> Vec<Bytes> {
        self.0
    }

    /// One message, whole if it is small.
    pub(super) fn frames(self) -> impl Iterator<Item = Frame> {
        let is_small = self.0.iter().map(Bytes::len).sum::<usize>() <= FRAGMENT;
        let pieces = if is_small { vec![self.0.concat().into()] } else { self.0 };
        let mut fragments = pieces.into_iter().flat_map(fragments).peekable();
        let mut kind = Data::Text;
        std::iter::from_fn(move || {
            let payload = fragments.next()?;
            let kind = std::mem::replace(&mut kind, Data::Continue);
            Some(Frame::message(payload, OpCode::Data(kind), fragments.peek().is_none()))
        })
    }
}

/// The parts of a piece. Nothing is copied.
fn fragments(mut piece: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || (!piece.is_empty()).then(|| piece.split_to(piece.len().min(FRAGMENT))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(outgoing: Outgoing) -> (Vec<OpCode>, String) {
        let frames: Vec<Frame> = outgoing.frames().collect();
        let (last, before) = frames.split_last().unwrap();
        assert!(last.header().is_final && before.iter().all(|frame| !frame.header().is_final));
        assert!(frames.iter().all(|frame| frame.payload().len() <= FRAGMENT));
        let kinds = frames.iter().map(|frame| frame.header().opcode).collect();
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.payload().to_vec()).collect();
        (kinds, String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_text_is_whole_or_in_fragments_that_make_it() {
        let (kinds, text) = sent(Outgoing::ending_with(r#"{"op":"event","event":"#.to_owned(), "1"));
        assert_eq!((kinds, text.as_str()), (vec![OpCode::Data(Data::Text)], r#"{"op":"event","event":1}"#));
        let long = format!("\"{}\"", "é".repeat(FRAGMENT));
        let (kinds, text) = sent(Outgoing::ending_with(r#"{"data":"#.to_owned(), long.clone()));
        assert_eq!(text, format!("{{\"data\":{long}}}"));
        assert_eq!(kinds[0], OpCode::Data(Data::Text));
        assert!(kinds.len() > 3 && kinds[1..].iter().all(|kind| *kind == OpCode::Data(Data::Continue)));
    }

    #[test]
    fn what_is_shared_is_not_copied() {
        let shared = Bytes::from(vec![b'1'; 3 * FRAGMENT]);
        let frames: Vec<Frame> = Outgoing::ending_with("{\"data\":".to_owned(), shared.clone()).frames().collect();
        assert_eq!(frames[1].payload().as_ptr(), shared.as_ptr());
    }
}
