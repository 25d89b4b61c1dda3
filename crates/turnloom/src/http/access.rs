//! Access control. A caller needs a bearer token, or the cookie that a one-time login sets. Host and Origin are checked on every request, so that a
//! foreign page cannot reach the daemon by a name of its own. A cookie is sent to every port of a host, so it counts only together with a proof that
//! a page of ours sent the request.

mod signer;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use self::signer::Signer;
use super::App;
use super::connections::RegisteredConnection;
use super::dialect::refuse;
use super::dialect::universal::problem::Refused;
use super::problem::Problem;
use super::sign_ins::{SignIns, SignedIn};
use super::{channels, component_pages};
use crate::config::{is_host, is_origin};
use crate::reader::UNBUFFERED;
use crate::scoped_tokens::{Holder, Need, ScopedTokens};
use crate::sync::Locked;
pub use crate::token::random_token;

pub(super) const COOKIE: &str = "turnloom";

/// What our own page sends along, for browsers that do not say where a request comes from. No page of another origin can send it: the browser asks us first.
const PAGE: &str = "turnloom-page";

/// How long a login link works.
const LINK_LIFETIME: Duration = Duration::from_mins(15);

/// Links that may be open at once; the oldest go first.
const MAX_LINKS: usize = 64;

/// Foreign hosts and origins that are told of in the daemon's log, once each, and how much of each.
const MAX_LOGGED: usize = 64;
const MAX_LOGGED_CHARACTERS: usize = 200;

type TokenDigest = [u8; 32];

/// What the daemon accepts. Secrets are kept as digests only.
#[derive(Debug)]
pub struct Access {
    /// Nothing when the daemon runs without a token.
    token: Option<TokenDigest>,
    links: Locked<HashMap<TokenDigest, Instant>>,
    sign_ins: SignIns,
    scoped: ScopedTokens,
    hosts: Vec<String>,
    origins: Vec<String>,
    told: Locked<HashSet<String>>,
    signer: Signer,
}

/// How a request was let in.
enum Entry {
    /// By the token, or because none is needed.
    Free,
    SignedIn(SignedIn),
    /// By a token that opens some things.
    Scoped(Holder),
    /// By a proof in the address.
    Signed,
    /// Everybody may see this.
    Open,
}

/// Why a request was not let in.
enum Refusal {
    Unauthorized,
    /// It has a sign-in, or needs none, but a page of somebody else may have sent it.
    ForeignPage,
}

impl Access {
    pub fn new(
        token: Option<&str>,
        (sign_ins, scoped): (SignIns, ScopedTokens),
        hosts: &[String],
        origins: Vec<String>,
    ) -> Self {
        let hosts = hosts.iter().map(|host| without_usual_port(host).to_owned()).collect();
        Self {
            token: token.map(digest),
            links: Locked::default(),
            sign_ins,
            scoped,
            hosts,
            origins,
            told: Locked::default(),
            signer: Signer::default(),
        }
    }

    pub(super) fn sign_ins(&self) -> &SignIns {
        &self.sign_ins
    }

    pub(super) fn scoped_tokens(&self) -> &ScopedTokens {
        &self.scoped
    }

    /// A new one-time token for `/login`.
    pub fn login_token(&self) -> String {
        let token = random_token();
        let mut links = self.links.lock();
        let now = Instant::now();
        links.retain(|_, made| now.duration_since(*made) < LINK_LIFETIME);
        if links.len() >= MAX_LINKS {
            let oldest = links.iter().min_by_key(|(_, made)| **made).map(|(digested, _)| *digested);
            oldest.map(|digested| links.remove(&digested));
        }
        links.insert(digest(&token), now);
        token
    }

    pub(super) fn redeem(&self, token: &str) -> bool {
        let made = self.links.lock().remove(&digest(token));
        made.is_some_and(|made| made.elapsed() < LINK_LIFETIME)
    }

    /// Whether this is the token; any is, when the daemon runs without one.
    #[cfg(feature = "socketio")]
    pub(super) fn knows(&self, token: &str) -> bool {
        self.token.is_none_or(|known| digest(token.trim()).ct_eq(&known).into())
    }

    /// Whether a request of this kind with these headers may pass.
    #[cfg(feature = "socketio")]
    pub(super) fn admits(&self, method: &Method, headers: &HeaderMap) -> bool {
        matches!(self.admit(method, headers), Ok(Entry::Free | Entry::SignedIn(_)))
    }

    /// The origin is known to be trusted, if there is one.
    fn admit(&self, method: &Method, headers: &HeaderMap) -> Result<Entry, Refusal> {
        let given = text(headers, header::AUTHORIZATION).and_then(secret);
        let given = given.or_else(|| offered(headers).map(Cow::Owned));
        if let Some(holder) = given.as_deref().and_then(|given| self.scoped.find(given.trim())) {
            return Ok(Entry::Scoped(holder));
        }
        let Some(token) = &self.token else {
            return if is_of_others(headers) { Err(Refusal::ForeignPage) } else { Ok(Entry::Free) };
        };
        if let Some(given) = given {
            let is_right = bool::from(digest(given.trim()).ct_eq(token));
            return if is_right { Ok(Entry::Free) } else { Err(Refusal::Unauthorized) };
        }
        let mut secrets = cookies(headers).filter(|(name, _)| *name == COOKIE).map(|(_, secret)| secret);
        let signed_in = secrets.find_map(|secret| self.sign_ins.find(secret)).ok_or(Refusal::Unauthorized)?;
        if self.is_of_our_page(method, headers) { Ok(Entry::SignedIn(signed_in)) } else { Err(Refusal::ForeignPage) }
    }

    /// Whether a page of ours must have sent this, or a person who typed its address.
    fn is_of_our_page(&self, method: &Method, headers: &HeaderMap) -> bool {
        match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
            Some(b"same-origin") => true,
            Some(b"none") => method.is_safe(),
            Some(_) => has_origin(headers),
            None => {
                let own = text(headers, header::REFERER).and_then(origin_of).is_some_and(|origin| self.trusts(origin));
                has_origin(headers) || headers.contains_key(PAGE) || own
            }
        }
    }

    /// A path that may be read without a token, for a while.
    pub(super) fn sign(&self, path: &str, lifetime: Duration) -> String {
        self.signer.sign(path, lifetime)
    }

    /// A request for a host that is not ours was sent here by a name somebody else controls.
    fn serves(&self, host: &str) -> bool {
        let host = without_usual_port(host);
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
    }

    fn trusts(&self, origin: &str) -> bool {
        let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        own.is_some_and(|host| self.serves(host)) || self.origins.iter().any(|known| known == origin)
    }

    /// Logs once what to do if a legitimate client was refused.
    fn log_once(&self, setting: &'static str, name: &str) {
        let name: String = name.chars().take(MAX_LOGGED_CHARACTERS).collect();
        let mut told = self.told.lock();
        if told.len() < MAX_LOGGED && told.insert(format!("{setting} {name}")) {
            drop(told);
            let advice = match setting {
                "origins" if !is_origin(&name) => NO_ORIGIN.to_owned(),
                "hosts" if !is_host(&name) => "that is no host".to_owned(),
                _ => format!("if it should be let in, add {setting} = [{name:?}] to config.toml"),
            };
            tracing::warn!("refused {name:?}; {advice}");
        }
    }
}

/// What to do about a page that says `null`: no setting can name it.
const NO_ORIGIN: &str = "a page from a file or in a sandboxed frame has no origin that could be let in; \
    serve it over HTTP and add that address to `origins` in config.toml";

pub(super) fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn has_origin(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN)
}

/// Whether the browser says that a page of another origin sent this, and does not say which. One that is trusted would be named.
fn is_of_others(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    matches!(site, Some(b"cross-site" | b"same-site")) && !has_origin(headers)
}

/// The origin of an address.
fn origin_of(address: &str) -> Option<&str> {
    let host = address.find("://")? + 3;
    let end = address.get(host..)?.find('/').map_or(address.len(), |end| host + end);
    address.get(..end)
}

/// Browsers leave out the port that everybody uses.
fn without_usual_port(host: &str) -> &str {
    host.strip_suffix(":443").or_else(|| host.strip_suffix(":80")).unwrap_or(host)
}

/// The token in an `Authorization` header: as it is, or as the password of somebody.
fn secret(value: &str) -> Option<Cow<'_, str>> {
    let (scheme, rest) = value.split_once(' ')?;
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" | "token" => Some(Cow::Borrowed(rest)),
        "basic" => {
            let decoded = BASE64_STANDARD.decode(rest.trim()).ok()?;
            let text = String::from_utf8(decoded).ok()?;
            let password = text.split_once(':').map(|(_, password)| password.to_owned());
            Some(Cow::Owned(password.unwrap_or(text)))
        }
        _ => None,
    }
}

/// What stands before the token, in base64url, among the protocols that a WebSocket asks for: pages cannot send headers with one.
const PROTOCOL_TOKEN: &str = "turnloom.token.";

fn offered(headers: &HeaderMap) -> Option<String> {
    let lines = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).into_iter().filter_map(|value| value.to_str().ok());
    let encoded = lines.flat_map(|line| line.split(',')).find_map(|name| name.trim().strip_prefix(PROTOCOL_TOKEN))?;
    String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()
}

fn digest(text: &str) -> TokenDigest {
    Sha256::digest(text.as_bytes()).into()
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// The first thing every request passes: from where it comes. Also a browser's question before a request, which nobody behind this hears of.
pub(super) async fn check_origin(State(app): State<App>, request: Request, next: Next) -> Response {
    match check_host_and_origin(&app, &request) {
        Ok(()) => next.run(request).await,
        Err(refused) => *refused,
    }
}

/// The second: who sends it.
pub(super) async fn check(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let entry = match admit_request(&app, &request) {
        Ok(entry) => entry,
        Err(refused) => return *refused,
    };
    let matched = request.extensions().get::<MatchedPath>().map(|matched| matched.as_str().to_owned());
    let need = app.needs.of(request.method(), matched.as_deref(), request.uri().path());
    let ended = match entry {
        Entry::Scoped(holder) if holder.may(need) => {
            request.extensions_mut().insert(holder.clone());
            holder.ended().boxed()
        }
        Entry::Scoped(holder) => return forbidden(request.uri().path(), holder.name()),
        Entry::SignedIn(_) if need == Need::Owner => return forbidden(request.uri().path(), "a browser"),
        Entry::SignedIn(signed_in) => {
            request.extensions_mut().insert(signed_in.clone());
            signed_in.ended.cancelled_owned().boxed()
        }
        Entry::Signed => {
            // It was made to be shown, also by pages of others.
            let mut response = next.run(request).await;
            response.headers_mut().insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
            return response;
        }
        Entry::Free => return next.run(request).await,
        Entry::Open => {
            return match enter_gateway(&mut request) {
                Ok(()) => next.run(request).await,
                Err(problem) => problem.into_response(),
            };
        }
    };
    let response = next.run(request).await;
    if !is_stream(&response) {
        return response;
    }
    // Signing out, or revoking a token, also ends open streams.
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(ended)))
}

fn forbidden(path: &str, who: &str) -> Response {
    let detail = format!("{who} may not do this; see the scopes in `turnloom tokens`");
    refuse(path, Problem::new(StatusCode::FORBIDDEN, "forbidden", detail))
}

/// Until when what a request opens may stay open.
pub(super) struct Ends(BoxFuture<'static, ()>);

impl Ends {
    pub(super) async fn ended(self) {
        self.0.await;
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Ends {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let extensions = &parts.extensions;
        let signed_in = extensions.get::<SignedIn>().map(|signed_in| signed_in.ended.clone().cancelled_owned().boxed());
        let scoped = extensions.get::<Holder>().map(|holder| holder.clone().ended().boxed());
        Ok(Self(signed_in.or(scoped).unwrap_or_else(|| std::future::pending().boxed())))
    }
}

/// Whether a request was sent to a name of ours, by a page that may.
fn check_host_and_origin(app: &App, request: &Request) -> Result<(), Box<Response>> {
    let (headers, path) = (request.headers(), request.uri().path());
    let refused = |status, code, detail: String| Err(Box::new(refuse(path, Problem::new(status, code, detail))));
    let host = text(headers, header::HOST)
        .or_else(|| request.uri().authority().map(axum::http::uri::Authority::as_str))
        .unwrap_or_default();
    if !app.access.serves(host) {
        app.access.log_once("hosts", host);
        let detail =
            format!("this daemon does not serve the host {host:?}; add it to `hosts` in config.toml if it should");
        return refused(StatusCode::MISDIRECTED_REQUEST, "foreign_host", detail);
    }
    // A frame without an origin loads the files of its page; they are the same for everybody.
    let is_for_frames = is_frame_file(path) && request.method().is_safe();
    if let Some(origin) = headers.get(header::ORIGIN).filter(|_| !is_for_frames) {
        let origin = String::from_utf8_lossy(origin.as_bytes());
        if !app.access.trusts(&origin) {
            app.access.log_once("origins", &origin);
            let advice = "add it to `origins` in config.toml if they should";
            let advice = if is_origin(&origin) { advice } else { NO_ORIGIN };
            let detail = format!("pages of {origin} may not call this daemon; {advice}");
            return refused(StatusCode::FORBIDDEN, "foreign_origin", detail);
        }
    }
    Ok(())
}

/// How a request may pass.
fn admit_request(app: &App, request: &Request) -> Result<Entry, Box<Response>> {
    let (headers, path) = (request.headers(), request.uri().path());
    let refused = |status, code, detail: String| Err(Box::new(refuse(path, Problem::new(status, code, detail))));
    match app.access.admit(request.method(), headers) {
        Ok(entry) => {
            if let Some(registered) = request.extensions().get::<RegisteredConnection>() {
                registered.mark_known();
            }
            Ok(entry)
        }
        Err(_) if is_open(path) => Ok(Entry::Open),
        Err(_) if app.access.signer.admits(request.method(), request.uri()) => Ok(Entry::Signed),
        Err(Refusal::Unauthorized) if path.starts_with("/universal/") => {
            Err(Box::new(Refused::token().into_response()))
        }
        Err(Refusal::Unauthorized) => {
            let detail = "send `Authorization: Bearer TOKEN`, or open a link that `turnloom open` prints";
            refused(StatusCode::UNAUTHORIZED, "unauthorized", detail.to_owned())
        }
        Err(Refusal::ForeignPage) => {
            let detail = format!("only the workbench's own pages may do this; send `{PAGE}: 1` if you are one");
            refused(StatusCode::FORBIDDEN, "foreign_page", detail)
        }
    }
}

/// The page itself holds no secret; what it shows does.
fn is_open(path: &str) -> bool {
    matches!(path, "/health" | "/universal/v1/health" | "/login" | "/" | "/favicon.svg" | "/theme.js")
        // What makes the page an app.
        || matches!(path, "/sw.js" | "/app.webmanifest")
        || path.starts_with("/icons/")
        // What describes the API is the same for everybody.
        || matches!(path, "/api/openapi.json" | "/api/asyncapi.json" | "/api/events.schema.json")
        || path.starts_with("/static/")
        // Each channel asks for its own signature.
        || path.starts_with(channels::PREFIX)
        || is_frame_file(path)
        || is_gateway(path)
}

fn is_frame_file(path: &str) -> bool {
    path.starts_with(component_pages::PREFIX)
}

/// Every stream asks proxies not to collect it, whatever it is written in.
fn is_stream(response: &Response) -> bool {
    response.headers().contains_key(UNBUFFERED)
}

pub(super) const RESOURCE_POLICY: &str = "cross-origin-resource-policy";

/// What every answer says of itself: it is what it says it is, and nothing for pages of others to embed.
pub(super) async fn protect(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
    headers.entry(RESOURCE_POLICY).or_insert(HeaderValue::from_static("same-origin"));
    response
}

/// A device may have several connections, and shows its token on one of them: all are known then. Until that it takes one of the strangers' places.
fn enter_gateway(request: &mut Request) -> Result<(), Problem> {
    let registered =
        request.extensions().get::<RegisteredConnection>().filter(|_| is_gateway(request.uri().path())).cloned();
    let Some(registered) = registered else { return Ok(()) };
    let session = request.uri().query().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("sid="));
    if let Some(session) = session {
        registered.join_session(session);
        return Ok(());
    }
    let place = registered.take_place().ok_or_else(|| {
        let detail = "too many devices are connected that have not shown a token; see max_strangers";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_strangers", detail)
    })?;
    request.extensions_mut().insert(place);
    Ok(())
}

/// The gateway asks for the token itself: its clients cannot send one with a request.
fn is_gateway(path: &str) -> bool {
    #[cfg(feature = "socketio")]
    return path.trim_end_matches('/') == super::dialect::socketio::PATH;
    #[cfg(not(feature = "socketio"))]
    return path.is_empty();
}

#[cfg(test)]
mod tests;
