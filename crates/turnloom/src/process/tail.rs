//! The end of a text that may be endless.

/// Enough for a stack trace, little enough for an event.
const TAIL_BYTES: usize = 8 * 1024;

#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    cut: bool,
}

impl Tail {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Moved only when as much again has come, so that a flood is copied about once.
        if self.bytes.len() > 2 * TAIL_BYTES {
            self.cut();
        }
    }

    pub(super) fn into_text(mut self) -> String {
        self.cut();
        let mut text = self.bytes.as_slice();
        // A cut may go through a character; what is left of it is not worth a replacement sign.
        while self.cut
            && let Some((0x80..=0xbf, rest)) = text.split_first()
        {
            text = rest;
        }
        String::from_utf8_lossy(text).into_owned()
    }

    fn cut(&mut self) {
        let extra = self.bytes.len().saturating_sub(TAIL_BYTES);
        self.bytes.drain(..extra);
        self.cut |= extra > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_end() {
        let mut tail = Tail::default();
        for n in 0..10_000 {
            tail.push(format!("{n}\n").as_bytes());
            assert!(tail.bytes.len() <= 2 * TAIL_BYTES);
        }
        let text = tail.into_text();
        assert!(text.ends_with("9998\n9999\n"));
        assert_eq!(text.len(), TAIL_BYTES);
    }

    #[test]
    fn cuts_between_characters() {
        let mut tail = Tail::default();
        tail.push("é".repeat(TAIL_BYTES).as_bytes());
        tail.push(b"!");
        let text = tail.into_text();
        assert!(text.starts_with('é') && text.ends_with("é!"), "{text:?}");
    }

    #[test]
    fn keeps_what_is_no_text() {
        let mut tail = Tail::default();
        tail.push(b"\x80a\xff");
        assert_eq!(tail.into_text(), "\u{fffd}a\u{fffd}");
    }
}
