//! One app-server and the sessions that share it. The hub is a task that owns the process and the [`Router`]. Each session sees an agent inside this
//! process whose pipe ends here. The router decides which client gets a line; the hub moves the lines.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use turnloom_core::runtime;
use turnloom_core::runtime::codex::{ClientId, Routed, Router};

use super::gate::Gate;
use super::placeholders::Placeholders;
use super::rollout;
use crate::process::{Agent, InProcess, Line, Spawner};
use crate::runtime::{LaunchContext, describe};
use crate::sync::Locked;

/// What may wait for the hub; a client that writes faster waits for a place.
const TO_HUB: usize = 256;
/// What may wait for one client. A session takes what is there with each append, so this is many appends.
const TO_CLIENT: usize = 8_192;
/// How long the hub waits for a client that does not read, or for a server that should exit, before it goes on without it.
const PEER_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a server may stay silent while a client waits for its handshake, before the server is taken for dead. Longer than a session waits.
const SERVER_SILENCE_LIMIT: Duration = Duration::from_secs(90);
/// How long the hub waits before it asks again what a busy server has refused.
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// How long a server may take to end what its clients had running.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that runs. A cheap handle.
#[derive(Debug, Clone)]
pub(super) struct Hub {
    sender: mpsc::Sender<HubMessage>,
    /// The command line of the hook in which calls are proposed.
    hook: Arc<str>,
    left: Arc<LeftClients>,
}

/// Clients that disconnected while the hub's queue was full. At most as many as there are clients.
#[derive(Debug, Default)]
struct LeftClients {
    clients: Locked<Vec<ClientId>>,
    notify: Notify,
}

impl LeftClients {
    fn push(&self, client: ClientId) {
        self.clients.lock().push(client);
        self.notify.notify_one();
    }

    fn take(&self) -> Vec<ClientId> {
        std::mem::take(&mut *self.clients.lock())
    }
}

#[derive(Debug)]
pub(super) enum HubMessage {
    Join {
        inbox: mpsc::Sender<ClientMessage>,
        answer: oneshot::Sender<ClientId>,
    },
    Line {
        client: ClientId,
        line: Vec<u8>,
    },
    Left {
        client: ClientId,
    },
    /// A hook waits to hear whether a call may run. An answer that is dropped is a no.
    Propose {
        number: u64,
        call: Vec<u8>,
        answer: oneshot::Sender<Value>,
    },
    /// It does not wait any more.
    ProposalGone {
        number: u64,
    },
}

/// What a client gets.
#[derive(Debug)]
pub(super) enum ClientMessage {
    Lines(Vec<u8>),
    End { code: i32 },
}

impl Hub {
    /// Takes a server that was just started. It ends when nobody has used it for a while.
    pub(super) fn start(
        server: Agent,
        idle_seconds: u32,
        common: Placeholders,
        context: &LaunchContext,
    ) -> io::Result<Self> {
        Self::start_with(server, idle_seconds, SERVER_SILENCE_LIMIT, common, context)
    }

    fn start_with(
        server: Agent,
        idle_seconds: u32,
        silence: Duration,
        common: Placeholders,
        context: &LaunchContext,
    ) -> io::Result<Self> {
        let gate = Gate::open()?;
        let hook = gate.command()?.into();
        let over = CancellationToken::new();
        let (sender, messages) = mpsc::channel(TO_HUB);
        let left = Arc::new(LeftClients::default());
        let task = Task {
            left: Arc::clone(&left),
            server,
            router: Router::default(),
            clients: HashMap::new(),
            proposals: HashMap::new(),
            workspaces: HashMap::new(),
            common,
            spawner: context.spawner.clone(),
            idle: Duration::from_secs(idle_seconds.max(1).into()),
            silence,
            closing: context.closing.clone(),
            _over: over.clone().drop_guard(),
        };
        context.tracker.spawn(task.run(messages));
        context.tracker.spawn(gate.serve(sender.downgrade(), over));
        Ok(Self { sender, hook, left })
    }

    /// The command line of the hook for threads of this server.
    pub(super) fn hook(&self) -> String {
        self.hook.to_string()
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.sender.is_closed()
    }

    /// A place at this server, as an agent. Nothing when the server is gone.
    pub(super) async fn join(&self, context: &LaunchContext) -> Option<Agent> {
        let (inbox, messages) = mpsc::channel(TO_CLIENT);
        let (answer, joined) = oneshot::channel();
        self.sender.send(HubMessage::Join { inbox, answer }).await.ok()?;
        let client = Client { id: joined.await.ok()?, hub: self.sender.clone(), left: Arc::clone(&self.left) };
        Some(Agent::in_process(&context.tracker, context.max_line_bytes, |pipes| client.serve(pipes, messages)))
    }
}

/// One session's end of the pipe.
#[derive(Debug)]
struct Client {
    id: ClientId,
    hub: mpsc::Sender<HubMessage>,
    left: Arc<LeftClients>,
}

impl Client {
    async fn serve(self, pipes: InProcess, mut inbox: mpsc::Receiver<ClientMessage>) -> i32 {
        let InProcess { input, mut output, terminated } = pipes;
        let mut lines = BufReader::new(input).split(b'\n');
        loop {
            tokio::select! {
                biased;
                () = terminated.cancelled() => return 0,
                message = inbox.recv() => match message {
                    Some(ClientMessage::Lines(lines)) => if output.write_all(&lines).await.is_err() {
                        return 0; // nobody listens any more
                    },
                    Some(ClientMessage::End { code }) => {
                        drop(output.flush().await);
                        return code;
                    }
                    None => return 1,
                },
                line = lines.next_segment() => match line {
                    Ok(Some(line)) => match rollout::answer(&line).await {
                        Some(answer) => if output.write_all(&answer).await.is_err() {
                            return 0;
                        },
                        None => if self.hub.send(HubMessage::Line { client: self.id, line }).await.is_err() {
                            return 1;
                        },
                    },
                    Ok(None) | Err(_) => return 0,
                },
            }
        }
    }
}

/// However a client ends, also where it is killed: what it had running must not go on.
impl Drop for Client {
    fn drop(&mut self) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.hub.try_send(HubMessage::Left { client: self.id }) {
            self.left.push(self.id);
        }
    }
}

fn route_lines(router: &mut Router, lines: &mut Vec<Line>, out: &mut Routed) {
    for line in lines.drain(..) {
        let line = match &line {
            Line::Text(text) => runtime::Line::Text(text),
            Line::TooLong { size, sha256, head } => runtime::Line::TooLong { size: *size, sha256, head },
        };
        router.from_server(line, out);
    }
}

struct Task {
    left: Arc<LeftClients>,
    server: Agent,
    router: Router,
    clients: HashMap<ClientId, mpsc::Sender<ClientMessage>>,
    /// Hooks that wait.
    proposals: HashMap<u64, oneshot::Sender<Value>>,
    workspaces: HashMap<String, Placeholders>,
    /// Outside all workspaces.
    common: Placeholders,
    spawner: Spawner,
    /// How long it is kept without anybody.
    idle: Duration,
    /// How long the server may stay silent while a client waits for its handshake.
    silence: Duration,
    /// The daemon ends.
    closing: CancellationToken,
    /// Ends the gate.
    _over: DropGuard,
}

impl Task {
    async fn run(mut self, mut messages: mpsc::Receiver<HubMessage>) {
        let mut lines = Vec::new();
        let mut silent = false;
        let mut alone = None;
        let mut handshake_since = None;
        let mut retry_since = None;
        let exit = loop {
            let waiting = self.server.input.is_waiting();
            alone = self.router.is_empty().then(|| alone.unwrap_or_else(Instant::now));
            let nobody = alone.is_some();
            let until = alone.unwrap_or_else(Instant::now) + self.idle;
            handshake_since = self.router.has_pending_handshake().then(|| handshake_since.unwrap_or_else(Instant::now));
            let hangs = handshake_since.map(|handshake_since| handshake_since + self.silence);
            retry_since = self.router.has_retries().then(|| retry_since.unwrap_or_else(Instant::now));
            let retry_at = retry_since.unwrap_or_else(Instant::now) + RETRY_DELAY;
            let mut routed = Routed::default();
            tokio::select! {
                message = messages.recv() => match message {
                    Some(message) => self.handle_client(message, &mut routed),
                    // Nobody can come any more: the daemon ends, or the session whose own server this is.
                    None => break None,
                },
                () = self.left.notify.notified() => {
                    let left = self.left.take();
                    // What they said before they left comes first.
                    for message in std::iter::from_fn(|| messages.try_recv().ok()).take(TO_HUB) {
                        self.handle_client(message, &mut routed);
                    }
                    for client in left {
                        self.handle_client(HubMessage::Left { client }, &mut routed);
                    }
                }
                count = self.server.output.next_batch(&mut lines), if !silent => {
                    silent = count == 0;
                    handshake_since = None;
                    route_lines(&mut self.router, &mut lines, &mut routed);
                }
                written = self.server.input.flush(), if waiting => if let Err(error) = written {
                    tracing::debug!(%error, "the input of codex is broken");
                    self.server.input.close();
                },
                exit = self.server.handle.wait(), if silent => break Some(exit),
                () = tokio::time::sleep_until(until), if nobody => break None,
                () = tokio::time::sleep_until(hangs.unwrap_or(until)), if hangs.is_some() => {
                    tracing::warn!("an app-server of codex does not answer and is ended");
                    handshake_since = None;
                    self.server.handle.kill();
                }
                () = tokio::time::sleep_until(retry_at), if retry_since.is_some() => {
                    retry_since = None;
                    self.router.retry_refused(&mut routed);
                }
                () = self.closing.cancelled(), if nobody => break None,
            }
            self.write_routed(routed).await;
        };
        // From here on, a new session has to start another server.
        messages.close();
        let reason = match exit {
            Some(exit) => format!("codex ended: {}", describe(&exit)),
            None => self.end().await,
        };
        tracing::info!(%reason, "an app-server of codex is gone");
        let mut routed = Routed::default();
        self.router.server_closed(&reason, &mut routed);
        self.deliver(routed, 1).await;
    }

    fn handle_client(&mut self, message: HubMessage, routed: &mut Routed) {
        match message {
            HubMessage::Join { inbox, answer } => {
                let client = self.router.connect();
                self.clients.insert(client, inbox);
                if answer.send(client).is_err() {
                    self.router.disconnect(client, routed);
                }
            }
            HubMessage::Line { client, line } => self.router.from_client(client, &line, routed),
            HubMessage::Left { client } => {
                self.clients.remove(&client);
                self.router.disconnect(client, routed);
            }
            HubMessage::Propose { number, call, answer } => {
                self.proposals.insert(number, answer);
                self.router.propose(number, &call, routed);
            }
            HubMessage::ProposalGone { number } => {
                self.proposals.remove(&number);
                self.router.proposal_gone(number, routed);
            }
        }
    }

    /// Ends a server that nobody uses: the end of its input is all it needs.
    async fn end(&mut self) -> String {
        if tokio::time::timeout(SETTLE_TIMEOUT, self.settle()).await.is_err() {
            tracing::warn!("codex did not end in time what its sessions had running");
        }
        drop(self.server.input.flush().await);
        self.server.input.close();
        if tokio::time::timeout(PEER_TIMEOUT, self.server.handle.wait()).await.is_err() {
            self.server.handle.kill();
            self.server.handle.wait().await;
        }
        "codex was not needed any more".to_owned()
    }

    /// Waits until whatever clients had running is ended.
    async fn settle(&mut self) {
        let mut lines = Vec::new();
        while !self.router.is_settled() {
            let mut routed = Routed::default();
            if self.server.input.flush().await.is_err() || self.server.output.next_batch(&mut lines).await == 0 {
                return;
            }
            route_lines(&mut self.router, &mut lines, &mut routed);
            self.write_routed(routed).await;
        }
    }

    async fn write_routed(&mut self, mut routed: Routed) {
        loop {
            if !routed.to_server.is_empty()
                && let Err(error) = self.server.input.queue(&routed.to_server)
            {
                tracing::warn!(%error, "codex could not be told something");
                self.server.handle.kill();
            }
            routed.to_server = Vec::new();
            let lost = self.deliver(routed, 0).await;
            if lost.is_empty() {
                return;
            }
            routed = Routed::default();
            for client in lost {
                self.clients.remove(&client);
                self.router.disconnect(client, &mut routed);
            }
        }
    }

    /// Gives every client what is for it, and says who does not take it.
    async fn deliver(&mut self, routed: Routed, code: i32) -> Vec<ClientId> {
        for (number, verdict) in routed.verdicts {
            if let Some(answer) = self.proposals.remove(&number) {
                // The hook may have been ended.
                drop(answer.send(verdict));
            }
        }
        for reason in &routed.unreadable {
            tracing::warn!(%reason, "a line of codex could not be read");
        }
        for cwd in routed.entered_dirs {
            if let Entry::Vacant(entry) = self.workspaces.entry(cwd) {
                let placeholders = Placeholders::missing_in(entry.key().as_ref(), &self.spawner).await;
                entry.insert(placeholders);
            }
        }
        for cwd in routed.idle_dirs {
            if let Some(placeholders) = self.workspaces.get(&cwd) {
                placeholders.remove();
            }
            if !self.router.is_working() {
                self.common.remove();
            }
            if !self.router.has_thread_in(&cwd) {
                self.workspaces.remove(&cwd);
            }
        }
        let mut lost = Vec::new();
        // Neighbouring lines of one client are one write.
        let mut batch: Option<(ClientId, Vec<u8>)> = None;
        for (client, line) in routed.to_clients {
            match &mut batch {
                Some((same, lines)) if *same == client => lines.extend(line),
                _ => {
                    if let Some((client, lines)) = batch.replace((client, line)) {
                        self.send(client, ClientMessage::Lines(lines), &mut lost).await;
                    }
                }
            }
        }
        if let Some((client, lines)) = batch {
            self.send(client, ClientMessage::Lines(lines), &mut lost).await;
        }
        for client in routed.left {
            self.send(client, ClientMessage::End { code }, &mut lost).await;
            self.clients.remove(&client);
        }
        lost
    }

    async fn send(&mut self, client: ClientId, message: ClientMessage, lost: &mut Vec<ClientId>) {
        let Some(inbox) = self.clients.get(&client) else { return };
        if inbox.send_timeout(message, PEER_TIMEOUT).await.is_err() && !lost.contains(&client) {
            lost.push(client);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::process::{ControlGroups, Spawner};

    /// What starts nothing: the server of these tests is inside this process.
    fn context() -> LaunchContext {
        let (tracker, closing) = (TaskTracker::new(), CancellationToken::new());
        let spawner =
            Spawner::start(PathBuf::new(), ControlGroups::Never, tracker.clone(), tokio::runtime::Handle::current())
                .unwrap();
        let tokens = crate::scoped_tokens::ScopedTokens::open(PathBuf::new());
        LaunchContext { spawner, tracker, max_line_bytes: 1 << 20, closing, url: String::new(), tokens }
    }

    #[tokio::test]
    async fn a_server_that_never_answers_is_ended() {
        let context = context();
        let deaf = |pipes: InProcess| async move {
            // It holds its pipes and says nothing.
            let _pipes = pipes;
            std::future::pending().await
        };
        let server = Agent::in_process(&context.tracker, 1 << 20, deaf);
        let common = Placeholders::none(&context.spawner).await;
        let hub = Hub::start_with(server, 3_600, Duration::from_millis(20), common, &context).unwrap();
        let mut agent = hub.join(&context).await.unwrap();
        agent.input.write_all(b"{\"id\":1,\"method\":\"initialize\",\"params\":{}}\n").await.unwrap();
        assert_ne!(agent.handle.wait().await.code, Some(0));
        assert!(!hub.is_alive(), "the next one starts another");
    }

    #[tokio::test]
    async fn a_client_that_leaves_while_the_hub_has_no_room_is_heard_of() {
        let (context, id) = (context(), Router::default().connect());
        let (hub, _heard) = mpsc::channel(1);
        hub.try_send(HubMessage::Left { client: id }).unwrap();
        let left = Arc::new(LeftClients::default());
        drop(Client { id, hub, left: Arc::clone(&left) });
        assert_eq!(left.take(), [id]);
        // The hub lets it go.
        let mute = |pipes: InProcess| async move {
            let _pipes = pipes;
            std::future::pending().await
        };
        let server = Agent::in_process(&context.tracker, 1 << 20, mute);
        let common = Placeholders::none(&context.spawner).await;
        let hub = Hub::start_with(server, 3_600, SERVER_SILENCE_LIMIT, common, &context).unwrap();
        let agent = hub.join(&context).await.unwrap();
        hub.left.push(id);
        assert_eq!(agent.handle.wait().await.code, Some(1), "it is the first one there");
    }
}
