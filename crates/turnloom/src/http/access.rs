//! Who may call: a bearer token, or the cookie that a one-time login sets. And from where: Host and Origin are checked on every request, so that a page
//! of somebody else cannot reach the daemon by a name of its own.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::App;
use super::dialect::refuse;
use super::dialect::universal::problem::Refused;
use super::extract::Query;
use super::problem::Problem;

pub(super) const COOKIE: &str = "turnloom";

/// How long a login link works.
const LINK_LIFETIME: Duration = Duration::from_mins(15);

/// Links that may be open at once; the oldest go first.
const MAX_LINKS: usize = 64;

type Digested = [u8; 32];

/// What the daemon accepts. Secrets are kept as digests only.
#[derive(Debug)]
pub struct Access {
    /// Nothing when the daemon runs without a token.
    token: Option<Digested>,
    /// Derived from the token, so that a page stays signed in when the daemon is restarted.
    cookie: String,
    links: Mutex<HashMap<Digested, Instant>>,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Access {
    pub fn new(token: Option<&str>, hosts: Vec<String>, origins: Vec<String>) -> Self {
        let cookie = hex(&digest(&format!("turnloom cookie {}", token.unwrap_or_default())));
        Self { token: token.map(digest), cookie, links: Mutex::default(), hosts, origins }
    }

    /// A new one-time token for `/login`.
    pub fn login_token(&self) -> String {
        let token = random_token();
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        links.retain(|_, made| now.duration_since(*made) < LINK_LIFETIME);
        if links.len() >= MAX_LINKS {
            let oldest = links.iter().min_by_key(|(_, made)| **made).map(|(digested, _)| *digested);
            oldest.map(|digested| links.remove(&digested));
        }
        links.insert(digest(&token), now);
        token
    }

    fn redeem(&self, token: &str) -> bool {
        let made = self.links.lock().unwrap_or_else(PoisonError::into_inner).remove(&digest(token));
        made.is_some_and(|made| made.elapsed() < LINK_LIFETIME)
    }

    /// Whether this is the token; any is, when the daemon runs without one.
    #[cfg(feature = "socketio")]
    pub(super) fn knows(&self, token: &str) -> bool {
        self.token.is_none_or(|known| digest(token.trim()).ct_eq(&known).into())
    }

    pub(super) fn admits(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(secret);
        if let Some(given) = given {
            return digest(given.trim()).ct_eq(token).into();
        }
        let wanted = self.cookie.as_bytes();
        cookies(headers).any(|(name, value)| name == COOKIE && bool::from(value.as_bytes().ct_eq(wanted)))
    }

    /// A request for a host that is not ours was sent here by a name somebody else controls.
    fn serves(&self, host: &str) -> bool {
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
    }

    fn trusts(&self, origin: &str) -> bool {
        let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        own.is_some_and(|host| self.serves(host)) || self.origins.iter().any(|known| known == origin)
    }
}

/// The token in an `Authorization` header: as it is, or as the password of somebody.
fn secret(value: &str) -> Option<Cow<'_, str>> {
    let (scheme, rest) = value.split_once(' ')?;
    match scheme {
        "Bearer" | "Token" => Some(Cow::Borrowed(rest)),
        "Basic" => {
            let decoded = BASE64_STANDARD.decode(rest.trim()).ok()?;
            let text = String::from_utf8(decoded).ok()?;
            let password = text.split_once(':').map(|(_, password)| password.to_owned());
            Some(Cow::Owned(password.unwrap_or(text)))
        }
        _ => None,
    }
}

/// 256 random bits.
pub fn random_token() -> String {
    let random = [uuid::Uuid::now_v7(), uuid::Uuid::now_v7(), uuid::Uuid::now_v7(), uuid::Uuid::now_v7()];
    let mut hash = Sha256::new();
    for part in random {
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize().into())
}

fn digest(text: &str) -> Digested {
    Sha256::digest(text.as_bytes()).into()
}

fn hex(bytes: &Digested) -> String {
    turnloom_core::blob::hex(bytes)
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// The first thing every request passes.
pub(super) async fn check(State(app): State<App>, request: Request, next: Next) -> Response {
    let (headers, path) = (request.headers(), request.uri().path());
    let text = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST)
        .or_else(|| request.uri().authority().map(axum::http::uri::Authority::as_str))
        .unwrap_or_default();
    if !app.access.serves(host) {
        let detail =
            format!("this daemon does not serve the host {host:?}; add it to `hosts` in config.toml if it should");
        return refuse(path, Problem::new(StatusCode::MISDIRECTED_REQUEST, "foreign_host", detail));
    }
    if let Some(origin) = text(header::ORIGIN).filter(|origin| !app.access.trusts(origin)) {
        let detail =
            format!("pages of {origin} may not call this daemon; add it to `origins` in config.toml if they should");
        return refuse(path, Problem::new(StatusCode::FORBIDDEN, "foreign_origin", detail));
    }
    // The page itself holds no secret; what it shows does.
    let open = matches!(path, "/health" | "/universal/v1/health" | "/login" | "/" | "/favicon.svg" | "/theme.js")
        || path.starts_with("/static/")
        || is_gateway(path);
    if !open && path.starts_with("/universal/") && !app.access.admits(headers) {
        return Refused::token().into_response();
    }
    if !open && !app.access.admits(headers) {
        let detail = "send `Authorization: Bearer TOKEN`, or open a link that `turnloom open` prints";
        return refuse(path, Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail));
    }
    next.run(request).await
}

/// The gateway asks for the token itself: its clients cannot send one with a request.
fn is_gateway(path: &str) -> bool {
    #[cfg(feature = "socketio")]
    return path.trim_end_matches('/') == super::dialect::socketio::PATH;
    #[cfg(not(feature = "socketio"))]
    return path.is_empty();
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Login {
    token: String,
}

/// Trades a one-time token for a cookie.
pub(super) async fn login(State(app): State<App>, Query(login): Query<Login>) -> Response {
    if !app.access.redeem(&login.token) {
        let detail = "this link was used before or is too old; run `turnloom open` for a new one";
        return Problem::new(StatusCode::UNAUTHORIZED, "login_expired", detail).into_response();
    }
    let cookie = format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000", app.access.cookie);
    (StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_owned())]).into_response()
}

/// A link that signs a browser in, once.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LoginLink {
    /// Relative to the daemon's address.
    path: String,
}

pub(super) async fn login_link(State(app): State<App>) -> axum::Json<LoginLink> {
    axum::Json(LoginLink { path: format!("/login?token={}", app.access.login_token()) })
}
