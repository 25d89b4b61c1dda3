//! Upgrades a request to a WebSocket. What is sent over it is not known here.

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_util::task::TaskTracker;

use crate::http::problem::Problem;

pub(in crate::http) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// What a browser asks for beside its token, because it must get an answer to one of the names it gives.
const PROTOCOL: &str = "turnloom";

/// The largest op; a message may carry an image.
const MAX_OP_BYTES: usize = 20 * 1024 * 1024;

/// What is read at a time, for each socket. Ops are small.
const READ_BYTES: usize = 16 * 1024;

/// A request that wants to become a WebSocket.
pub(in crate::http) struct Upgrade {
    accept: String,
    protocol: Option<&'static str>,
    upgrading: OnUpgrade,
    largest: usize,
}

impl<S: Send + Sync> FromRequestParts<S> for Upgrade {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let has =
            |name: HeaderName, word: &str| names(&parts.headers, name).any(|known| known.eq_ignore_ascii_case(word));
        let asks = has(CONNECTION, "upgrade") && has(UPGRADE, "websocket") && has(SEC_WEBSOCKET_VERSION, "13");
        let key = parts.headers.get(SEC_WEBSOCKET_KEY).filter(|_| asks);
        let (Some(key), Some(upgrading)) = (key, parts.extensions.get::<OnUpgrade>()) else {
            let detail =
                "this address takes WebSockets only; a proxy on the way has to pass on `Connection` and `Upgrade`";
            return Err(Problem::new(StatusCode::UPGRADE_REQUIRED, "upgrade_required", detail));
        };
        let protocol = names(&parts.headers, SEC_WEBSOCKET_PROTOCOL).any(|name| name == PROTOCOL).then_some(PROTOCOL);
        Ok(Self {
            accept: derive_accept_key(key.as_bytes()),
            protocol,
            upgrading: upgrading.clone(),
            largest: MAX_OP_BYTES,
        })
    }
}

/// The words of a header that lists some.
fn names(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

impl Upgrade {
    /// The same, for messages of another size.
    pub(in crate::http) fn with_largest(self, largest: usize) -> Self {
        Self { largest, ..self }
    }

    /// The answer, after which the socket is served by a task of its own.
    pub(in crate::http) fn then<F>(
        self,
        tasks: &TaskTracker,
        serve: impl FnOnce(Socket) -> F + Send + 'static,
    ) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { accept, protocol, upgrading, largest } = self;
        tasks.spawn(async move {
            // A client that left meanwhile needs no socket.
            let Ok(upgraded) = upgrading.await else { return };
            let config = WebSocketConfig::default()
                .max_message_size(Some(largest))
                .max_frame_size(Some(largest))
                .read_buffer_size(READ_BYTES);
            serve(WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await).await;
        });
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        // It is base64, so it always is a value.
        headers.extend(HeaderValue::try_from(accept).ok().map(|accept| (SEC_WEBSOCKET_ACCEPT, accept)));
        headers.extend(protocol.map(|protocol| (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol))));
        response
    }
}
