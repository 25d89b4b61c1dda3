//! Whether a delivery comes from who it says it does: signatures and secrets of services, given the bytes and the time. Secrets are compared in constant
//! time.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

use super::{Headers, Kind, Refusal};
use crate::time::Timestamp;
use crate::webhook::sign;

/// How far the time of a delivery may be from ours, in seconds: what services suggest.
pub const MAX_AGE_SECONDS: i64 = 5 * 60;

/// What a channel's secret is known as.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// Signatures need it.
    Text(String),
    /// The SHA-256 of one that is only compared.
    Digest([u8; 32]),
}

/// Never shown.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Where a plain HMAC stands, and how it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HmacHeader {
    pub header: String,
    /// What stands before the signature.
    pub prefix: String,
    pub encoding: Encoding,
    /// A header with the seconds since 1970. What is signed is then `TIME.BODY`, and what is older than five minutes is refused.
    pub timestamp_header: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SignatureEncoding")]
pub enum Encoding {
    #[default]
    Hex,
    Base64,
}

impl Default for HmacHeader {
    fn default() -> Self {
        Self {
            header: "x-signature-256".to_owned(),
            prefix: "sha256=".to_owned(),
            encoding: Encoding::Hex,
            timestamp_header: None,
        }
    }
}

/// A delivery as it came.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub headers: &'a Headers,
    pub body: &'a [u8],
    pub now: Timestamp,
}

/// Refuses a delivery that is forged, changed on its way or late.
pub fn verify(kind: Kind, hmac: &HmacHeader, secret: &Secret, request: Request<'_>) -> Result<(), Refusal> {
    let Request { headers, body, now } = request;
    let header = |name: &str| headers.get(name).ok_or_else(|| Refusal::SignatureMissing(name.to_owned()));
    match kind {
        Kind::Hmac => {
            let given = header(&hmac.header)?;
            let given = given.strip_prefix(&hmac.prefix).ok_or(Refusal::SignatureWrong)?;
            let signed = match &hmac.timestamp_header {
                None => hmac_sha256(text(secret)?, &[body]),
                Some(name) => {
                    let at = header(name)?;
                    check_time(at, now)?;
                    hmac_sha256(text(secret)?, &[at.as_bytes(), b".", body])
                }
            };
            let expected = match hmac.encoding {
                Encoding::Hex => crate::blob::hex(&signed),
                Encoding::Base64 => BASE64_STANDARD.encode(signed),
            };
            let given = if hmac.encoding == Encoding::Hex { given.to_ascii_lowercase() } else { given.to_owned() };
            equal(&given, &expected)
        }
        Kind::Github => {
            let given = header("x-hub-signature-256")?.strip_prefix("sha256=").ok_or(Refusal::SignatureWrong)?;
            equal(&given.to_ascii_lowercase(), &crate::blob::hex(&hmac_sha256(text(secret)?, &[body])))
        }
        Kind::Slack => {
            let (given, at) = (header("x-slack-signature")?, header("x-slack-request-timestamp")?);
            let given = given.strip_prefix("v0=").ok_or(Refusal::SignatureWrong)?;
            check_time(at, now)?;
            let signed = hmac_sha256(text(secret)?, &[b"v0:", at.as_bytes(), b":", body]);
            equal(&given.to_ascii_lowercase(), &crate::blob::hex(&signed))
        }
        Kind::Standard => {
            let (id, at) = (header("webhook-id")?, header("webhook-timestamp")?);
            let given = header("webhook-signature")?;
            check_time(at, now)?;
            let expected = sign::sign(text(secret)?, id, at, body).ok_or(Refusal::SecretMissing)?;
            // A sender that changes its secret signs with both for a while.
            let right = given.split(' ').fold(false, |right, one| right | is_equal(one, &expected));
            right.then_some(()).ok_or(Refusal::SignatureWrong)
        }
        Kind::Telegram => compare(header("x-telegram-bot-api-secret-token")?, secret),
        Kind::Bearer => {
            let given = header("authorization")?;
            let (scheme, given) = given.split_once(' ').ok_or(Refusal::SignatureWrong)?;
            if !scheme.eq_ignore_ascii_case("bearer") {
                return Err(Refusal::SignatureWrong);
            }
            compare(given.trim(), secret)
        }
    }
}

/// The digest of a secret that is only compared.
pub fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// HMAC-SHA256 over these bytes, one after the other.
pub fn hmac_sha256(key: &str, parts: &[&[u8]]) -> [u8; 32] {
    sign::hmac(key.as_bytes(), parts)
}

fn text(secret: &Secret) -> Result<&str, Refusal> {
    match secret {
        Secret::Text(text) if !text.is_empty() => Ok(text),
        Secret::Text(_) | Secret::Digest(_) => Err(Refusal::SecretMissing),
    }
}

/// Digests are compared: their length says nothing about the secret's.
fn compare(given: &str, secret: &Secret) -> Result<(), Refusal> {
    let expected = match secret {
        Secret::Text(text) if text.is_empty() => return Err(Refusal::SecretMissing),
        Secret::Text(text) => digest(text),
        Secret::Digest(digest) => *digest,
    };
    bool::from(digest(given).ct_eq(&expected)).then_some(()).ok_or(Refusal::SignatureWrong)
}

fn equal(given: &str, expected: &str) -> Result<(), Refusal> {
    is_equal(given, expected).then_some(()).ok_or(Refusal::SignatureWrong)
}

fn is_equal(given: &str, expected: &str) -> bool {
    given.as_bytes().ct_eq(expected.as_bytes()).into()
}

fn check_time(at: &str, now: Timestamp) -> Result<(), Refusal> {
    let at: i64 = at.parse().map_err(|_| Refusal::Late)?;
    let off = (now.millis() / 1000).saturating_sub(at).saturating_abs();
    (off <= MAX_AGE_SECONDS).then_some(()).ok_or(Refusal::Late)
}

#[cfg(test)]
mod tests;
