//! Server-sent events out of a stream of bytes that may be cut anywhere. Pure: no socket, no clock. What an event means is not known here.

use bytes::Bytes;

/// The largest event that is kept. A message of the daemon's largest body fits in, twice.
pub const MAX_FRAME_BYTES: usize = 64 * 1024 * 1024;

/// One event as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// Only if this very frame had one.
    pub id: Option<String>,
    /// `message` unless the frame says otherwise.
    pub event: String,
    pub data: Bytes,
}

/// An event over the limit. What comes after it cannot be trusted to begin where it seems to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {MAX_FRAME_BYTES} bytes")]
pub struct TooLarge;

/// Takes bytes, gives frames.
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    /// The line that is not over yet.
    line: Vec<u8>,
    /// A carriage return ended the last line; a line feed right after it belongs to it.
    after_return: bool,
    at_start: bool,
    id: Option<String>,
    event: Option<String>,
    data: Option<Vec<u8>>,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_limit(MAX_FRAME_BYTES)
    }
}

impl Parser {
    pub fn with_limit(limit: usize) -> Self {
        Self { limit, line: Vec::new(), after_return: false, at_start: true, id: None, event: None, data: None }
    }

    /// Reads on, and adds the frames that are whole now.
    pub fn push(&mut self, mut bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), TooLarge> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return)
                && let Some(rest) = bytes.strip_prefix(b"\n")
            {
                bytes = rest;
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, rest) = bytes.split_at_checked(end.unwrap_or(bytes.len())).unwrap_or((bytes, &[]));
            if self.line.len() + self.data.as_ref().map_or(0, Vec::len) + part.len() > self.limit {
                return Err(TooLarge);
            }
            self.line.extend_from_slice(part);
            let Some((end, rest)) = rest.split_first() else { return Ok(()) };
            self.after_return = *end == b'\r';
            bytes = rest;
            let line = std::mem::take(&mut self.line);
            frames.extend(self.line(&line));
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> Option<Frame> {
        let line =
            if std::mem::take(&mut self.at_start) { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        if line.is_empty() {
            return self.dispatch();
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at_checked(colon).unwrap_or((line, &[]));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"event" => self.event = Some(String::from_utf8_lossy(value).into_owned()),
            b"id" if !value.contains(&0) => self.id = Some(String::from_utf8_lossy(value).into_owned()),
            // Comments have an empty name; other fields are for other clients.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Frame> {
        let (id, event, data) = (self.id.take(), self.event.take(), self.data.take());
        let event = event.filter(|event| !event.is_empty()).unwrap_or_else(|| "message".to_owned());
        data.map(|data| Frame { id, event, data: data.into() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(pieces: &[&[u8]]) -> Vec<(Option<String>, String, String)> {
        let mut parser = Parser::default();
        let mut frames = Vec::new();
        for piece in pieces {
            parser.push(piece, &mut frames).unwrap();
        }
        let text = |frame: Frame| (frame.id, frame.event, String::from_utf8(frame.data.to_vec()).unwrap());
        frames.into_iter().map(text).collect()
    }

    fn frame(id: Option<&str>, event: &str, data: &str) -> (Option<String>, String, String) {
        (id.map(str::to_owned), event.to_owned(), data.to_owned())
    }

    #[test]
    fn frames_are_read_as_they_are_written() {
        for (text, frames) in [
            ("id: 7\nevent: delta\ndata: {\"a\":1}\n\n", vec![frame(Some("7"), "delta", "{\"a\":1}")]),
            (": connected\n\n", vec![]),
            ("data: a\n\ndata: b\n\n", vec![frame(None, "message", "a"), frame(None, "message", "b")]),
            ("data:tight\n\n", vec![frame(None, "message", "tight")]),
            ("data:  two\n\n", vec![frame(None, "message", " two")]),
            ("data: a\ndata: b\n\n", vec![frame(None, "message", "a\nb")]),
            ("data: a\r\ndata: b\r\n\r\n", vec![frame(None, "message", "a\nb")]),
            ("data: a\rdata: b\r\r", vec![frame(None, "message", "a\nb")]),
            ("data\n\n", vec![frame(None, "message", "")]),
            ("event: lonely\n\n", vec![]),
            ("\u{feff}data: a\n\n", vec![frame(None, "message", "a")]),
            ("id: a\0b\ndata: x\n\n", vec![frame(None, "message", "x")]),
            ("retry: 10\nother: x\ndata: y\n\n", vec![frame(None, "message", "y")]),
            ("data: never ended\n", vec![]),
            ("id: 1\ndata: x\n\ndata: y\n\n", vec![frame(Some("1"), "message", "x"), frame(None, "message", "y")]),
        ] {
            assert_eq!(parse(&[text.as_bytes()]), frames, "{text:?}");
        }
    }

    #[test]
    fn a_frame_over_the_limit_is_an_error_wherever_it_is_cut() {
        let mut frames = Vec::new();
        assert_eq!(Parser::with_limit(8).push(b"data: 123456789\n\n", &mut frames), Err(TooLarge));
        let mut parser = Parser::with_limit(16);
        parser.push(b"data: 12345678\n", &mut frames).unwrap();
        assert_eq!(parser.push(b"data: 12345678\n", &mut frames), Err(TooLarge));
        let mut parser = Parser::with_limit(16);
        for _ in 0..10 {
            parser.push(b"data: 12345678\n\n", &mut frames).unwrap();
        }
        assert_eq!(frames.len(), 10);
    }

    proptest! {
        #[test]
        fn cutting_changes_nothing(text in "(data|id|event|:|x)?:? ?[a-c]{0,3}(\n|\r\n|\r){0,2}{0,12}", cuts in proptest::collection::vec(0_usize..80, 0..6)) {
            let whole = parse(&[text.as_bytes()]);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &text.as_bytes()[cut[0]..cut[1]]).collect();
            prop_assert_eq!(parse(&pieces), whole);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Parser::with_limit(64).push(&bytes, &mut Vec::new());
        }
    }
}
