//! Browsers that are signed in: each has a secret of its own in a cookie, ends by itself when it is not used, and can be ended by hand. They are kept in a
//! file, so that a page stays signed in when the daemon is restarted; secrets are kept as digests, mixed with the token, so that a new token ends them all.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use turnloom_core::time::Timestamp;

use super::App;
use super::access::{COOKIE, random_token};
use super::problem::Problem;
use crate::private;
use crate::session::now;
use crate::sync::Locked;

/// However much it is used, a sign-in ends after this time.
pub(super) const LONGEST: Duration = Duration::from_hours(30 * 24);

/// Sign-ins that may be open at once; the one that was not used for the longest time goes first.
const MAX_OPEN: usize = 64;

/// How exactly the file knows when a sign-in was last used.
const WRITE_EVERY: Duration = Duration::from_hours(1);

/// The longest name of a browser that is kept.
const MAX_NAME: usize = 200;

/// All of them.
#[derive(Debug)]
pub struct SignIns {
    file: PathBuf,
    /// How long one lives that is not used.
    idle: Duration,
    /// What secrets are mixed with.
    salt: Vec<u8>,
    open: Locked<HashMap<String, SignIn>>,
}

/// One browser that is signed in. Its name in the map is the digest of its secret.
#[derive(Debug)]
struct SignIn {
    id: String,
    browser: String,
    at: Timestamp,
    seen_at: Timestamp,
    age: Since,
    unused: Since,
    /// Since the file knew when it was last used.
    unwritten: Since,
    ended: CancellationToken,
}

/// Time that has passed, also while there was no daemon. A clock that is set does not change it.
#[derive(Debug, Clone, Copy)]
struct Since {
    before: Duration,
    counting: Instant,
}

impl Since {
    fn now() -> Self {
        Self { before: Duration::ZERO, counting: Instant::now() }
    }

    fn then(at: Timestamp) -> Self {
        let ms = now().millis().saturating_sub(at.millis());
        Self { before: Duration::from_millis(u64::try_from(ms).unwrap_or(0)), counting: Instant::now() }
    }

    fn passed(self) -> Duration {
        self.before.saturating_add(self.counting.elapsed())
    }
}

/// As it stands in the file.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    digest: String,
    id: String,
    browser: String,
    signed_in_at: Timestamp,
    seen_at: Timestamp,
}

/// Says that a request came with a sign-in; set for its handler.
#[derive(Debug, Clone)]
pub(super) struct SignedIn {
    id: String,
    /// The sign-in was ended; so must be what it opened.
    pub(super) ended: CancellationToken,
}

impl SignIns {
    /// Those that an earlier daemon left. A file that cannot be read signs nobody in.
    pub fn open(file: PathBuf, idle: Duration, token: &str) -> Self {
        let stored: Vec<Stored> =
            fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let open = stored.into_iter().take(MAX_OPEN).map(|stored| {
            let sign_in = SignIn {
                id: stored.id,
                browser: stored.browser,
                at: stored.signed_in_at,
                seen_at: stored.seen_at,
                age: Since::then(stored.signed_in_at),
                unused: Since::then(stored.seen_at),
                unwritten: Since::now(),
                ended: CancellationToken::new(),
            };
            (stored.digest, sign_in)
        });
        Self { file, idle, salt: token.as_bytes().to_vec(), open: Locked::new(open.collect()) }
    }

    /// Signs a browser in; its secret comes back.
    pub(super) fn add(&self, browser: &str) -> String {
        let secret = random_token();
        let at = now();
        let sign_in = SignIn {
            id: random_token().chars().take(12).collect(),
            browser: browser.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect(),
            at,
            seen_at: at,
            age: Since::now(),
            unused: Since::now(),
            unwritten: Since::now(),
            ended: CancellationToken::new(),
        };
        let mut open = self.lock();
        if open.len() >= MAX_OPEN {
            let stalest = open.iter().max_by_key(|(_, sign_in)| sign_in.unused.passed());
            if let Some(gone) = stalest.map(|(digest, _)| digest.clone()).and_then(|digest| open.remove(&digest)) {
                gone.ended.cancel();
            }
        }
        open.insert(self.digest(&secret), sign_in);
        self.write(&open);
        secret
    }

    /// Whose secret this is.
    pub(super) fn find(&self, secret: &str) -> Option<SignedIn> {
        let digest = self.digest(secret);
        let mut open = self.lock();
        let sign_in = open.get_mut(&digest)?;
        if sign_in.is_over(self.idle) {
            self.remove(&mut open, |known, _| *known == digest);
            return None;
        }
        (sign_in.unused, sign_in.seen_at) = (Since::now(), now());
        let found = SignedIn { id: sign_in.id.clone(), ended: sign_in.ended.clone() };
        if sign_in.unwritten.passed() >= WRITE_EVERY {
            sign_in.unwritten = Since::now();
            self.write(&open);
        }
        Some(found)
    }

    /// Ends a sign-in, and what was opened with it. False if there is none.
    fn end(&self, id: &str) -> bool {
        self.remove(&mut self.lock(), |_, sign_in| sign_in.id == id)
    }

    fn end_all(&self) {
        self.remove(&mut self.lock(), |_, _| true);
    }

    fn list(&self, current: Option<&SignedIn>) -> Vec<Listed> {
        let mut open = self.lock();
        self.remove(&mut open, |_, sign_in| sign_in.is_over(self.idle));
        let mut listed: Vec<Listed> = open
            .values()
            .map(|sign_in| Listed {
                id: sign_in.id.clone(),
                browser: sign_in.browser.clone(),
                signed_in_at: sign_in.at,
                seen_at: sign_in.seen_at,
                current: current.is_some_and(|current| current.id == sign_in.id),
            })
            .collect();
        listed.sort_by(|left, right| (right.seen_at, &right.id).cmp(&(left.seen_at, &left.id)));
        listed
    }

    fn remove(&self, open: &mut HashMap<String, SignIn>, gone: impl Fn(&String, &SignIn) -> bool) -> bool {
        let before = open.len();
        open.retain(|digest, sign_in| {
            let gone = gone(digest, sign_in);
            if gone {
                sign_in.ended.cancel();
            }
            !gone
        });
        let changed = open.len() < before;
        if changed {
            self.write(open);
        }
        changed
    }

    /// That it cannot be written is told, and costs a new sign-in after the next start.
    fn write(&self, open: &HashMap<String, SignIn>) {
        let stored: Vec<Stored> = open
            .iter()
            .map(|(digest, sign_in)| Stored {
                digest: digest.clone(),
                id: sign_in.id.clone(),
                browser: sign_in.browser.clone(),
                signed_in_at: sign_in.at,
                seen_at: sign_in.seen_at,
            })
            .collect();
        let json = serde_json::to_vec(&stored).unwrap_or_default();
        if let Err(error) = private::replace(&self.file, &json) {
            tracing::warn!(file = %self.file.display(), %error, "who is signed in cannot be kept");
        }
    }

    fn digest(&self, secret: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(b"turnloom sign-in\0");
        hash.update(&self.salt);
        hash.update(b"\0");
        hash.update(secret.as_bytes());
        turnloom_core::blob::hex(&hash.finalize())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, SignIn>> {
        self.open.lock()
    }
}

impl SignIn {
    fn is_over(&self, idle: Duration) -> bool {
        self.unused.passed() >= idle || self.age.passed() >= LONGEST
    }
}

/// Browsers that are signed in.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SignIns")]
pub(super) struct List {
    sign_ins: Vec<Listed>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SignIn")]
struct Listed {
    id: String,
    /// What it calls itself.
    browser: String,
    signed_in_at: Timestamp,
    seen_at: Timestamp,
    /// It is the one that asks.
    current: bool,
}

/// The name by which a browser ends its own.
const CURRENT: &str = "current";

type Asking = Option<Extension<SignedIn>>;

pub(super) async fn list(State(app): State<App>, asking: Asking) -> Json<List> {
    let current = asking.map(|Extension(signed_in)| signed_in);
    Json(List { sign_ins: app.access.sign_ins().list(current.as_ref()) })
}

pub(super) async fn end(State(app): State<App>, asking: Asking, Path(id): Path<String>) -> Result<Response, Problem> {
    let current = asking.map(|Extension(signed_in)| signed_in.id);
    let id = if id == CURRENT { current.clone().unwrap_or(id) } else { id };
    if !app.access.sign_ins().end(&id) {
        let detail = format!("there is no sign-in {id:?}; GET /api/sign-ins lists them");
        return Err(Problem::new(StatusCode::NOT_FOUND, "sign_in_not_found", detail));
    }
    Ok(if current == Some(id) { signed_out() } else { StatusCode::NO_CONTENT.into_response() })
}

pub(super) async fn end_all(State(app): State<App>) -> Response {
    app.access.sign_ins().end_all();
    signed_out()
}

fn signed_out() -> Response {
    let cookie = format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign_ins(folder: &tempfile::TempDir, token: &str, idle: Duration) -> SignIns {
        SignIns::open(folder.path().join("sign-ins"), idle, token)
    }

    #[test]
    fn a_sign_in_outlives_the_daemon_but_not_its_token_its_time_or_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let (day, first) = (Duration::from_hours(24), sign_ins(&folder, "token", Duration::from_hours(24)));
        let (secret, other) = (first.add("Browser\n1"), first.add("Browser 2"));
        assert_eq!(first.list(None).len(), 2);
        assert!(first.find("guess").is_none());
        let text = fs::read_to_string(folder.path().join("sign-ins")).unwrap();
        assert!(!text.contains(&secret) && text.contains("Browser1"), "{text}");

        let next = sign_ins(&folder, "token", day);
        let current = next.find(&secret).expect("it is still signed in");
        assert_eq!(next.list(Some(&current)).iter().filter(|listed| listed.current).count(), 1);
        assert!(sign_ins(&folder, "another", day).find(&secret).is_none(), "another token");
        assert!(sign_ins(&folder, "token", Duration::ZERO).find(&secret).is_none(), "not used for too long");

        let next = sign_ins(&folder, "token", day);
        assert!(next.find(&secret).is_none(), "what is over stays so");
        let id = next.find(&other).unwrap().id;
        assert!(next.end(&id) && !next.end(&id));
        assert!(next.find(&other).is_none());
        assert!(sign_ins(&folder, "token", day).find(&other).is_none());
    }

    #[test]
    fn one_too_many_ends_the_one_that_was_not_used_for_longest() {
        let folder = tempfile::tempdir().unwrap();
        let all = sign_ins(&folder, "token", Duration::from_hours(24));
        let secrets: Vec<String> = (0..MAX_OPEN).map(|number| all.add(&number.to_string())).collect();
        assert!(all.find(&secrets[0]).is_some());
        all.add("one more");
        assert!(all.find(&secrets[0]).is_some() && all.find(&secrets[1]).is_none());
    }
}
