//! Signatures of the Standard Webhooks scheme, `v1`: HMAC-SHA256 over `ID.TIME.BODY` with a secret that is written as `whsec_BASE64`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

pub const PREFIX: &str = "whsec_";

/// What the scheme allows a key to have.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A secret from random bytes.
pub fn secret(random: &[u8]) -> String {
    format!("{PREFIX}{}", BASE64_STANDARD.encode(random))
}

/// Whether a text is such a secret.
pub fn is_secret(text: &str) -> bool {
    key(text).is_some_and(|key| KEY_BYTES.contains(&key.len()))
}

/// The header `webhook-signature`; nothing if the secret is none.
pub fn sign(secret: &str, id: &str, timestamp: &str, body: &[u8]) -> Option<String> {
    let key = key(secret)?;
    let signed = hmac(&key, &[id.as_bytes(), b".", timestamp.as_bytes(), b".", body]);
    Some(format!("v1,{}", BASE64_STANDARD.encode(signed)))
}

/// HMAC-SHA256 over these bytes, one after the other.
pub(crate) fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

fn key(secret: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(secret.strip_prefix(PREFIX)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmac_is_that_of_rfc_4231() {
        let hex = |bytes: [u8; 32]| crate::blob::hex(&bytes);
        assert_eq!(
            hex(hmac(&[0x0b; 20], &[b"Hi There"])),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            hex(hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"])),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn secrets_are_told_from_other_texts() {
        assert!(is_secret(&secret(&[7; 32])));
        for text in ["", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_not base64!"] {
            assert!(!is_secret(text), "{text}");
        }
    }

    #[test]
    fn everything_that_is_signed_counts() {
        let secret = secret(&[1; 32]);
        let of = |id, at, body: &[u8]| sign(&secret, id, at, body);
        let right = of("msg_1", "1700000000", b"{}").unwrap();
        assert!(right.starts_with("v1,"));
        for other in
            [of("msg_2", "1700000000", b"{}"), of("msg_1", "1700000001", b"{}"), of("msg_1", "1700000000", b"{ }")]
        {
            assert_ne!(other.as_ref(), Some(&right));
        }
        assert_eq!(sign("no secret", "a", "1", b""), None);
    }
}
