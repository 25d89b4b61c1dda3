//! This protocol's clients choose their sessions' names freely; ours have an alphabet. So a name that is not one of ours is spelled with it, and can be
//! read back.

use turnloom_core::dialect::own_id;
use turnloom_core::id::SessionId;

/// What a spelled name begins with.
const MARK: &str = "u:";

/// Ours for theirs.
pub(super) fn id_of(name: &str) -> SessionId {
    if !name.starts_with(MARK)
        && let Ok(id) = SessionId::parse(name)
    {
        return id;
    }
    let mut spelled = MARK.to_owned();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            spelled.push(char::from(byte));
        } else {
            spelled.push('.');
            spelled.push_str(&turnloom_core::blob::hex(&[byte]));
        }
    }
    // A name that is too long is known by its digest only.
    SessionId::parse(&spelled).unwrap_or_else(|_| SessionId::trusted(own_id(name)))
}

/// Theirs for ours.
pub(super) fn name_of(id: &SessionId) -> String {
    let read_back = || {
        let spelled = id.as_str().strip_prefix(MARK)?;
        let mut bytes = Vec::new();
        let mut rest = spelled.bytes();
        while let Some(byte) = rest.next() {
            if byte == b'.' {
                let digits = [rest.next()?, rest.next()?];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            } else {
                bytes.push(byte);
            }
        }
        String::from_utf8(bytes).ok()
    };
    read_back().unwrap_or_else(|| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::{id_of, name_of};

    #[test]
    fn every_name_comes_back() {
        for name in ["plain-1", "a b/\u{fc}?", "u:x", "dots.and:colons", "..", "%2F", "\u{1f9f6}"] {
            assert_eq!(name_of(&id_of(name)), name);
        }
        let long = "\u{fc}".repeat(200);
        assert_eq!(id_of(&long), id_of(&long));
        assert_ne!(id_of(&long), id_of(&format!("{long}x")));
    }
}
