//! The sockets: which connections are accepted, the time limits of clients, and the shutdown. A client that does not read or write delays neither the
//! end of the daemon nor other clients. What a request means is not known here.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tower::ServiceExt as _;
use tower_http::timeout::TimeoutBody;

use super::connections::{ConnectionRegistry, RegisteredConnection};
use super::{App, router};
use crate::config::Config;

/// How long answers may take to leave once everything else has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a socket that was cut may take to be gone.
const CUT_TIMEOUT: Duration = Duration::from_secs(1);

/// The pause after a connection could not be accepted, and how often that is told.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// A server that serves.
#[derive(Debug)]
pub struct Server {
    /// Every socket, also one that has become a WebSocket.
    sockets: TaskTracker,
    /// Ends every socket where it stands.
    cut: CancellationToken,
    /// Nobody accepts connections any more.
    ended: CancellationToken,
}

impl Server {
    /// Serves until `closing` of the app is cancelled.
    pub fn start(listener: TcpListener, app: App, config: &Config) -> Self {
        let (sockets, cut, ended) = (TaskTracker::new(), CancellationToken::new(), CancellationToken::new());
        let accepting = Accepting {
            listener,
            closing: app.closing.clone(),
            // Made once and shared: a router that is not finished would be copied for every connection.
            router: router(app, config).with_state(()),
            connections: ConnectionRegistry::new(config.max_strangers, cut.clone()),
            sockets: sockets.clone(),
            patience: Duration::from_secs(config.request_seconds.into()),
            told: None,
        };
        sockets.spawn(until_ended(accepting.run(), ended.clone().drop_guard()));
        Self { sockets, cut, ended }
    }

    /// Resolves when nobody accepts connections any more.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Waits until every answer has left, but not for those who do not take theirs. The app is closing already.
    pub async fn stop(self) {
        self.sockets.close();
        if tokio::time::timeout(DRAIN_TIMEOUT, self.sockets.wait()).await.is_ok() {
            return;
        }
        tracing::debug!(sockets = self.sockets.len(), "clients that do not read are cut off");
        self.cut.cancel();
        if tokio::time::timeout(CUT_TIMEOUT, self.sockets.wait()).await.is_err() {
            tracing::warn!(sockets = self.sockets.len(), "sockets are left behind");
        }
    }
}

/// Runs a task, and tells when it is over: also when it panics.
async fn until_ended(task: impl Future<Output = ()>, ended: DropGuard) {
    let _ended = ended;
    task.await;
}

struct Accepting {
    listener: TcpListener,
    closing: CancellationToken,
    router: Router,
    connections: ConnectionRegistry,
    sockets: TaskTracker,
    patience: Duration,
    /// When it was last told that connections cannot be accepted.
    told: Option<Instant>,
}

impl Accepting {
    async fn run(mut self) {
        loop {
            let accepted = tokio::select! {
                () = self.closing.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => self.serve(stream),
                Err(error) => {
                    self.failed(&error);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn serve(&self, stream: TcpStream) {
        // A frame leaves when it is written, however small it is.
        drop(stream.set_nodelay(true));
        let registered = self.connections.enter();
        let socket = Socket::new(stream, registered.clone(), self.sockets.token());
        let connection = Connection {
            router: self.router.clone(),
            registered,
            closing: self.closing.clone(),
            patience: self.patience,
        };
        self.sockets.spawn(connection.run(socket));
    }

    /// Handles a failed accept. If descriptors or memory ran out, the oldest unknown connection is closed before any known one.
    fn failed(&mut self, error: &io::Error) {
        let exhausted =
            matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS));
        if exhausted {
            self.connections.end_oldest_unknown();
        }
        // A client that left before it was let in is nobody's business.
        if exhausted && self.told.is_none_or(|told| told.elapsed() >= LOG_INTERVAL) {
            self.told = Some(Instant::now());
            tracing::error!(%error, "a connection could not be accepted; the daemon goes on and tries again. Raise the limit of open files if this lasts");
        } else {
            tracing::debug!(%error, "a connection could not be accepted");
        }
    }
}

/// One client and its requests.
struct Connection {
    router: Router,
    registered: RegisteredConnection,
    closing: CancellationToken,
    patience: Duration,
}

impl Connection {
    async fn run(self, socket: Socket) {
        let Self { router, registered, closing, patience } = self;
        let asked = registered.clone();
        let service = hyper::service::service_fn(move |request: Request<Incoming>| {
            registered.request_received();
            let mut request = request.map(|body| Body::new(TimeoutBody::new(patience, body)));
            request.extensions_mut().insert(registered.clone());
            router.clone().oneshot(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(patience)
            // It panics where the clock stands before 1970.
            .auto_date_header(false)
            .serve_connection(TokioIo::new(socket), service)
            .with_upgrades();
        tokio::pin!(connection);
        let served = tokio::select! {
            served = connection.as_mut() => served,
            () = asked.ended() => return,
            () = closing.cancelled() => {
                // A connection without a request gets no answer.
                if !asked.has_requested() {
                    return;
                }
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    served = connection => served,
                    () = asked.ended() => return,
                }
            }
        };
        if let Err(error) = served {
            tracing::trace!(%error, "a connection broke");
        }
    }
}

/// A socket that can be ended from elsewhere, also after it has become a WebSocket.
struct Socket {
    stream: TcpStream,
    // Reading and writing may be done by two tasks, and each must be woken.
    reading: Pin<Box<WaitForCancellationFutureOwned>>,
    writing: Pin<Box<WaitForCancellationFutureOwned>>,
    /// It counts among the strangers for as long as it is open.
    _visitor: RegisteredConnection,
    _counted: TaskTrackerToken,
}

impl Socket {
    fn new(stream: TcpStream, registered: RegisteredConnection, counted: TaskTrackerToken) -> Self {
        let ended = || Box::pin(registered.end_token().cancelled_owned());
        Self { stream, reading: ended(), writing: ended(), _visitor: registered, _counted: counted }
    }

    fn poll_writable(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.writing.as_mut().poll(cx).is_ready() { Err(cut()) } else { Ok(()) }
    }
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the daemon ended this connection")
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.reading.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(cut()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_writable(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_writable(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_writable(cx)?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_panics_is_seen_to_have_ended() {
        let server =
            Server { sockets: TaskTracker::new(), cut: CancellationToken::new(), ended: CancellationToken::new() };
        server.sockets.spawn(until_ended(async { panic!("on purpose") }, server.ended.clone().drop_guard()));
        server.ended().await;
        server.stop().await;
    }
}
