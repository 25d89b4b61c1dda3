//! Signed addresses that need no token for a limited time: for what a browser requests by itself, such as a picture. A signed address gives access to
//! that one resource and nothing else.

use std::time::{Duration, Instant};

use axum::http::{Method, Uri};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

/// Signs and checks. The key lives as long as the daemon, and so do its addresses at most.
#[derive(Debug)]
pub(super) struct Signer {
    key: String,
    /// Times are counted from here, so that nobody's clock makes an address last longer.
    started: Instant,
}

impl Default for Signer {
    fn default() -> Self {
        Self { key: super::random_token(), started: Instant::now() }
    }
}

impl Signer {
    pub(super) fn sign(&self, path: &str, lifetime: Duration) -> String {
        let until = self.started.elapsed().saturating_add(lifetime).as_secs();
        format!("{path}?until={until}&signature={}", self.signature(path, until))
    }

    /// Whether a request carries a proof that still holds. Only reading is ever signed.
    pub(super) fn admits(&self, method: &Method, uri: &Uri) -> bool {
        let fields = uri.query().and_then(|query| query.strip_prefix("until=")?.split_once("&signature="));
        let Some((until, signature)) = fields else { return false };
        let Ok(until) = until.parse::<u64>() else { return false };
        let holds = until > self.started.elapsed().as_secs() && matches!(*method, Method::GET | Method::HEAD);
        holds && bool::from(self.signature(uri.path(), until).as_bytes().ct_eq(signature.as_bytes()))
    }

    /// Hashed twice with the key, so that nobody can go on from a signature to that of something longer.
    fn signature(&self, path: &str, until: u64) -> String {
        let keyed = |text: &[u8]| -> [u8; 32] {
            let mut hash = Sha256::new();
            hash.update(self.key.as_bytes());
            hash.update(text);
            hash.finalize().into()
        };
        turnloom_core::blob::hex(&keyed(&keyed(format!("{until} {path}").as_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_signed_is_admitted_and_only_for_a_while() {
        let signer = Signer::default();
        let admits = |method: Method, uri: &str| signer.admits(&method, &uri.parse().unwrap());
        let link = signer.sign("/api/blobs/a", Duration::from_mins(1));
        assert!(admits(Method::GET, &link));
        assert!(admits(Method::HEAD, &link));
        assert!(!admits(Method::DELETE, &link));
        assert!(!admits(Method::GET, &link.replace("/a?", "/b?")));
        assert!(!admits(Method::GET, &link.replace("until=", "until=9")));
        assert!(!admits(Method::GET, &format!("{link}0")));
        assert!(!admits(Method::GET, "/api/blobs/a?until=999&signature="));
        assert!(!admits(Method::GET, &signer.sign("/api/blobs/a", Duration::ZERO)));
        assert!(!Signer::default().admits(&Method::GET, &link.parse().unwrap()), "another daemon");
    }
}
