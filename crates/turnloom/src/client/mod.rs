//! A client of the daemon, for the command line: JSON calls and the stream of events. HTTP, or HTTPS to a proxy; which daemon to talk to, and what to
//! say to a person when it does not answer, is decided in `cli`.

mod connector;
mod events;
pub mod sse;
mod wire;

use std::fmt::Display;
use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use self::connector::Connector;
pub use self::events::{Backoff, Events, Received};
pub use self::wire::Wire;

/// How the daemon writes down who did something.
const NAME: &str = "cli";

/// Stopping a turn is answered when it is settled, which an agent that does not listen can draw out.
const CALL_TIMEOUT: Duration = Duration::from_mins(2);

/// A daemon that is alive says so at once.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// The largest answer that is read: a page of large events.
const MAX_ANSWER_BYTES: usize = 512 * 1024 * 1024;

/// What the daemon said no with.
#[derive(Debug, Clone, Deserialize, thiserror::Error)]
#[error("{detail}")]
pub struct Problem {
    #[serde(default)]
    pub status: u16,
    /// A stable word.
    #[serde(default)]
    pub code: String,
    pub detail: String,
    /// What to do about it, where the daemon knows.
    pub fix: Option<String>,
}

/// Why a call was not answered as it should.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Problem(#[from] Problem),
    #[error("the daemon at {url} does not answer: {cause}")]
    Unreachable { url: String, cause: String },
    #[error("{url} did not answer as a turnloom daemon does: {cause}")]
    NotOurs { url: String, cause: String },
    #[error(
        "{0:?} is not the address of a daemon; it must begin with http:// or https://, such as http://127.0.0.1:7171"
    )]
    BadUrl(String),
    #[error(
        "the certificates of this machine cannot be read: {0}; install them (`ca-certificates`), or name a file in SSL_CERT_FILE"
    )]
    Certificates(std::io::Error),
}

impl Error {
    /// The daemon's word for it, if the daemon said it.
    pub fn code(&self) -> Option<&str> {
        match self {
            Error::Problem(problem) => Some(&problem.code),
            Error::Unreachable { .. } | Error::NotOurs { .. } | Error::BadUrl(_) | Error::Certificates(_) => None,
        }
    }
}

/// One daemon and how to call it. Cloning shares the connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: HttpClient<Connector, Full<Bytes>>,
    base: String,
    token: Option<String>,
}

impl Client {
    pub fn new(url: &str, token: Option<String>) -> Result<Self, Error> {
        let base = url.trim_end_matches('/').to_owned();
        let host = base.strip_prefix("http://").or_else(|| base.strip_prefix("https://"));
        let usable = host.is_some_and(|host| !host.is_empty() && !host.contains('/'));
        if !usable || base.parse::<hyper::Uri>().is_err() {
            return Err(Error::BadUrl(url.to_owned()));
        }
        let connector = connector::to(&base).map_err(Error::Certificates)?;
        Ok(Self { http: HttpClient::builder(TokioExecutor::new()).build(connector), base, token })
    }

    pub fn url(&self) -> &str {
        &self.base
    }

    /// The version of the daemon, if one is there.
    pub async fn health(&self) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Health {
            version: String,
        }
        let call = self.get::<Health>("/health");
        let health =
            tokio::time::timeout(HEALTH_TIMEOUT, call).await.map_err(|_| self.unreachable("it takes too long"))?;
        health.map(|health| health.version)
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.call(Method::GET, path, Bytes::new()).await
    }

    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Error> {
        self.call(Method::POST, path, self.encode(body)?).await
    }

    /// A body that is already what the route takes.
    pub async fn post_bytes<T: DeserializeOwned>(&self, path: &str, body: Bytes) -> Result<T, Error> {
        self.call(Method::POST, path, body).await
    }

    pub async fn patch<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Error> {
        self.call(Method::PATCH, path, self.encode(body)?).await
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.call(Method::DELETE, path, Bytes::new()).await
    }

    /// The bytes of an answer that is not JSON.
    pub async fn get_bytes(&self, path: &str) -> Result<Bytes, Error> {
        let response = self.send(Method::GET, path, "*/*", Bytes::new()).await?;
        self.collect(response).await
    }

    fn encode(&self, body: &impl Serialize) -> Result<Bytes, Error> {
        serde_json::to_vec(body).map(Bytes::from).map_err(|cause| self.not_ours(cause))
    }

    async fn call<T: DeserializeOwned>(&self, method: Method, path: &str, body: Bytes) -> Result<T, Error> {
        let exchange = async {
            let response = self.send(method, path, "application/json", body).await?;
            self.collect(response).await
        };
        let answer = tokio::time::timeout(CALL_TIMEOUT, exchange);
        let answer = answer.await.map_err(|_| self.unreachable("it takes too long"))??;
        // Nothing at all is an answer too, where nothing is expected.
        let answer: &[u8] = if answer.is_empty() { b"null" } else { &answer };
        serde_json::from_slice(answer).map_err(|cause| self.not_ours(cause))
    }

    /// Sends a request and reads its problem, if it has one.
    async fn send(&self, method: Method, path: &str, accept: &str, body: Bytes) -> Result<Response<Incoming>, Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(header::ACCEPT, accept)
            .header("turnloom-client", NAME);
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Full::new(body)).map_err(|_| Error::BadUrl(format!("{}{path}", self.base)))?;
        let response = self.http.request(request).await.map_err(|error| self.unreachable(reason(&error)))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = self.collect(response).await?;
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => Err(Problem { status: status.as_u16(), ..problem }.into()),
            Err(_) => Err(self.not_ours(status_text(status))),
        }
    }

    async fn collect(&self, response: Response<Incoming>) -> Result<Bytes, Error> {
        let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect().await;
        body.map(http_body_util::Collected::to_bytes).map_err(|cause| self.unreachable(cause))
    }

    fn unreachable(&self, cause: impl Display) -> Error {
        Error::Unreachable { url: self.base.clone(), cause: cause.to_string() }
    }

    fn not_ours(&self, cause: impl Display) -> Error {
        Error::NotOurs { url: self.base.clone(), cause: cause.to_string() }
    }
}

/// The innermost cause: what is around it only says that a client could not connect.
fn reason(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn status_text(status: StatusCode) -> String {
    format!("it said {status}")
}

/// Makes a text safe as one member of a path or a query.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => escaped.push(char::from(byte)),
            _ => {
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_daemons_are_taken() {
        for (url, base) in [
            ("http://127.0.0.1:7171", Some("http://127.0.0.1:7171")),
            ("http://localhost:7171/", Some("http://localhost:7171")),
            ("https://loom.example/", Some("https://loom.example")),
            ("ftp://127.0.0.1:7171", None),
            ("https://", None),
            ("127.0.0.1:7171", None),
            ("http://", None),
            ("http://a b", None),
            ("http://host/path", None),
        ] {
            assert_eq!(Client::new(url, None).ok().map(|client| client.base), base.map(str::to_owned), "{url}");
        }
    }

    #[test]
    fn what_would_change_a_path_is_escaped() {
        assert_eq!(escape("a-b_c.d~9"), "a-b_c.d~9");
        assert_eq!(escape("a/b?c=d&é"), "a%2Fb%3Fc%3Dd%26%C3%A9");
    }
}
