//! Requests that the daemon sends to others: webhooks and replies. Somebody else may have chosen where they go, so every address is looked at before it
//! is connected to: a name is resolved here, and the connection goes to an address that was checked. No redirect is followed.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Method, Request, header};
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use turnloom_core::webhook::address::{self, Target, is_public};

/// How long a receiver may take for everything.
const TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection is kept for the next request.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// How much of an answer is read: services say in a few lines what was wrong.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The longest that a receiver may ask us to wait, in seconds.
const MAX_RETRY_AFTER: u64 = 24 * 3600;

/// Which receivers are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Only those on the open network.
    Public,
    /// Also this machine and its own network.
    Anywhere,
}

/// Why a request was not answered.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Address(#[from] address::Error),
    #[error(
        "{0} is an address of this machine or its network; set `allow_private_targets` in config.toml if it should be reached"
    )]
    Private(String),
    #[error("{0}")]
    Unreachable(String),
    #[error("no answer within {} seconds", TIMEOUT.as_secs())]
    Timeout,
    #[error("the certificates of this machine cannot be read: {0}")]
    Certificates(String),
}

impl Error {
    /// The stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address(_) => "invalid_address",
            Self::Private(_) => "private_target",
            Self::Unreachable(_) => "unreachable",
            Self::Timeout => "timeout",
            Self::Certificates(_) => "certificates",
        }
    }
}

/// What a receiver answered.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    /// Seconds that it asks us to wait.
    pub retry_after: Option<u64>,
    pub body: Bytes,
}

/// Sends requests. Cloning shares the connections.
#[derive(Debug, Clone)]
pub struct Sender(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    reach: Reach,
    client: OnceLock<Result<HttpClient, String>>,
}

type HttpClient = Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>;

impl Sender {
    pub fn new(reach: Reach) -> Self {
        Self(Arc::new(Inner { reach, client: OnceLock::new() }))
    }

    /// Refuses an address that says by itself that it leads nowhere.
    pub fn check(&self, url: &str) -> Result<Target, Error> {
        let target = Target::parse(url)?;
        match target.host.parse::<IpAddr>() {
            Ok(address) if self.0.reach == Reach::Public && !is_public(address) => Err(Error::Private(target.host)),
            Ok(_) | Err(_) => Ok(target),
        }
    }

    /// Posts a body, and reads what is answered.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(&'static str, String)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, Error> {
        self.send(Method::POST, url, headers, body.into()).await
    }

    /// Asks that something is deleted, and reads what is answered.
    pub async fn delete(&self, url: &str, headers: &[(&'static str, String)]) -> Result<Answer, Error> {
        self.send(Method::DELETE, url, headers, Bytes::new()).await
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&'static str, String)],
        body: Bytes,
    ) -> Result<Answer, Error> {
        let target = self.check(url)?;
        let scheme = if target.secure { "https" } else { "http" };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{scheme}://{}{}", target.authority(), target.path))
            .header(header::USER_AGENT, concat!("turnloom/", env!("CARGO_PKG_VERSION")));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(Full::new(body)).map_err(|error| Error::Unreachable(error.to_string()))?;
        let client = self.0.client.get_or_init(|| client(self.0.reach)).as_ref();
        let client = client.map_err(|error| Error::Certificates(error.clone()))?;
        let exchange = async {
            let response = client.request(request).await.map_err(|error| explain(&error))?;
            let status = response.status().as_u16();
            let wait = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            // What is longer than that says nothing that we need.
            let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect().await;
            let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            Ok(Answer { status, retry_after: wait.map(|wait: u64| wait.min(MAX_RETRY_AFTER)), body })
        };
        tokio::time::timeout(TIMEOUT, exchange).await.map_err(|_| Error::Timeout)?
    }
}

fn client(reach: Reach) -> Result<HttpClient, String> {
    let mut connector = HttpConnector::new_with_resolver(Resolver(reach));
    connector.enforce_http(false);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?.with_native_roots().map_err(|error| error.to_string())?;
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(config.with_no_client_auth())
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(KEEP_ALIVE)
        .build(connector))
}

/// The innermost cause: what is around it only says that a client could not connect.
fn explain(error: &(dyn std::error::Error + 'static)) -> Error {
    let mut innermost = error;
    loop {
        // An I/O error shows what is in it as itself, not as its source.
        let inside = innermost.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
        if let Some(refused) = inside.and_then(|inside| inside.downcast_ref::<Error>()) {
            return refused.clone();
        }
        match innermost.source() {
            Some(source) => innermost = source,
            None => return Error::Unreachable(innermost.to_string()),
        }
    }
}

/// Resolves a name to addresses that may be connected to. A name that leads to this network too is refused whole: it is not what it seems.
#[derive(Debug, Clone, Copy)]
struct Resolver(Reach);

impl tower::Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let Self(reach) = *self;
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let is_private = |address: &&SocketAddr| reach == Reach::Public && !is_public(address.ip());
            match found.iter().find(is_private) {
                Some(private) => Err(io::Error::other(Error::Private(format!("{name} ({})", private.ip())))),
                None => Ok(found.into_iter()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_reachable_from_here_only_is_not_reached() {
        let sender = Sender::new(Reach::Public);
        for url in [
            "http://127.0.0.1:1/",
            "http://localhost:1/",
            "http://[::1]:1/",
            "http://[::ffff:127.0.0.1]:1/",
            "http://169.254.169.254/latest/meta-data",
            "http://10.0.0.1/",
            // What else the system takes for an address.
            "http://2130706433:1/",
            "http://0x7f.1:1/",
            "http://127.1:1/",
        ] {
            let error = sender.post(url, &[], "").await.unwrap_err();
            assert!(matches!(error, Error::Private(_)), "{url}: {error}");
        }
        let error = Sender::new(Reach::Anywhere).post("http://127.0.0.1:1/", &[], "").await.unwrap_err();
        assert!(matches!(error, Error::Unreachable(_)), "{error}");
    }
}
