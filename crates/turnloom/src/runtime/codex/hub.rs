//! One app-server and everybody who shares it. The hub is a task that owns the process and the [`Router`]; a session sees an agent inside this
//! process whose pipe ends here. The router decides who hears what; this moves the lines.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use turnloom_core::runtime;
use turnloom_core::runtime::codex::{ClientId, Routed, Router};

use super::placeholders::Placeholders;
use crate::process::{Agent, InProcess, Line, Spawner};
use crate::runtime::{LaunchContext, describe};
use crate::sync::Locked;

/// What may wait for the hub; a client that writes faster waits for a place.
const TO_HUB: usize = 256;
/// What may wait for one client. A session takes what is there with each append, so this is many appends.
const TO_CLIENT: usize = 8_192;
/// How long the hub waits for a client that does not read before it goes on without it.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a server may say nothing at all while somebody waits to be let in, before it is taken for dead. Longer than a session waits.
const SILENCE: Duration = Duration::from_secs(90);
/// How long the hub waits before it asks again what a busy server has refused.
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// How long a server may take to end what its clients had running.
const SETTLE: Duration = Duration::from_secs(5);

/// A server that runs. A cheap handle.
#[derive(Debug, Clone)]
pub(super) struct Hub {
    said: mpsc::Sender<Said>,
    gone: Arc<Gone>,
}

/// Clients that have left while the hub had no room to be told. At most as many as there are clients.
#[derive(Debug, Default)]
struct Gone {
    clients: Locked<Vec<ClientId>>,
    told: Notify,
}

impl Gone {
    fn tell(&self, client: ClientId) {
        self.clients.lock().push(client);
        self.told.notify_one();
    }

    fn take(&self) -> Vec<ClientId> {
        std::mem::take(&mut *self.clients.lock())
    }
}

#[derive(Debug)]
enum Said {
    Join { inbox: mpsc::Sender<Inbox>, answer: oneshot::Sender<ClientId> },
    Line { client: ClientId, line: Vec<u8> },
    Gone { client: ClientId },
}

/// What a client gets.
#[derive(Debug)]
enum Inbox {
    Lines(Vec<u8>),
    End { code: i32 },
}

impl Hub {
    /// Takes a server that was just started. It ends when nobody has used it for a while.
    pub(super) fn start(server: Agent, idle_seconds: u32, common: Placeholders, context: &LaunchContext) -> Self {
        Self::start_with(server, idle_seconds, SILENCE, common, context)
    }

    fn start_with(
        server: Agent,
        idle_seconds: u32,
        silence: Duration,
        common: Placeholders,
        context: &LaunchContext,
    ) -> Self {
        let (said, heard) = mpsc::channel(TO_HUB);
        let gone = Arc::new(Gone::default());
        let task = Task {
            gone: Arc::clone(&gone),
            server,
            router: Router::default(),
            clients: HashMap::new(),
            workspaces: HashMap::new(),
            common,
            spawner: context.spawner.clone(),
            idle: Duration::from_secs(idle_seconds.max(1).into()),
            silence,
            closing: context.closing.clone(),
        };
        context.tracker.spawn(task.run(heard));
        Self { said, gone }
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.said.is_closed()
    }

    /// A place at this server, as an agent. Nothing when the server is gone.
    pub(super) async fn join(&self, context: &LaunchContext) -> Option<Agent> {
        let (inbox, messages) = mpsc::channel(TO_CLIENT);
        let (answer, joined) = oneshot::channel();
        self.said.send(Said::Join { inbox, answer }).await.ok()?;
        let client = Client { id: joined.await.ok()?, hub: self.said.clone(), gone: Arc::clone(&self.gone) };
        Some(Agent::in_process(&context.tracker, context.max_line_bytes, |pipes| client.serve(pipes, messages)))
    }
}

/// One session's end of the pipe.
#[derive(Debug)]
struct Client {
    id: ClientId,
    hub: mpsc::Sender<Said>,
    gone: Arc<Gone>,
}

impl Client {
    async fn serve(self, pipes: InProcess, mut inbox: mpsc::Receiver<Inbox>) -> i32 {
        let InProcess { input, mut output, terminated } = pipes;
        let mut lines = BufReader::new(input).split(b'\n');
        loop {
            tokio::select! {
                biased;
                () = terminated.cancelled() => return 0,
                message = inbox.recv() => match message {
                    Some(Inbox::Lines(lines)) => if output.write_all(&lines).await.is_err() {
                        return 0; // nobody listens any more
                    },
                    Some(Inbox::End { code }) => {
                        drop(output.flush().await);
                        return code;
                    }
                    None => return 1,
                },
                line = lines.next_segment() => match line {
                    Ok(Some(line)) => if self.hub.send(Said::Line { client: self.id, line }).await.is_err() {
                        return 1;
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
        if let Err(mpsc::error::TrySendError::Full(_)) = self.hub.try_send(Said::Gone { client: self.id }) {
            self.gone.tell(self.id);
        }
    }
}

fn hear(router: &mut Router, lines: &mut Vec<Line>, out: &mut Routed) {
    for line in lines.drain(..) {
        let line = match &line {
            Line::Text(text) => runtime::Line::Text(text),
            Line::TooLong { size, sha256, head } => runtime::Line::TooLong { size: *size, sha256, head },
        };
        router.from_server(line, out);
    }
}

struct Task {
    gone: Arc<Gone>,
    server: Agent,
    router: Router,
    clients: HashMap<ClientId, mpsc::Sender<Inbox>>,
    workspaces: HashMap<String, Placeholders>,
    /// Outside all workspaces.
    common: Placeholders,
    spawner: Spawner,
    /// How long it is kept without anybody.
    idle: Duration,
    /// How long it may leave somebody before the door.
    silence: Duration,
    /// The daemon ends.
    closing: CancellationToken,
}

impl Task {
    async fn run(mut self, mut heard: mpsc::Receiver<Said>) {
        let mut lines = Vec::new();
        let mut silent = false;
        let mut alone = None;
        let mut handshake_since = None;
        let mut asked_again = None;
        let exit = loop {
            let waiting = self.server.input.is_waiting();
            alone = self.router.is_empty().then(|| alone.unwrap_or_else(Instant::now));
            let nobody = alone.is_some();
            let until = alone.unwrap_or_else(Instant::now) + self.idle;
            handshake_since = self.router.has_pending_handshake().then(|| handshake_since.unwrap_or_else(Instant::now));
            let hangs = handshake_since.map(|handshake_since| handshake_since + self.silence);
            asked_again = self.router.has_refused().then(|| asked_again.unwrap_or_else(Instant::now));
            let ask_again = asked_again.unwrap_or_else(Instant::now) + ASK_AGAIN;
            let mut routed = Routed::default();
            tokio::select! {
                said = heard.recv() => match said {
                    Some(said) => self.hear_client(said, &mut routed),
                    // Nobody can come any more: the daemon ends, or the session whose own server this is.
                    None => break None,
                },
                () = self.gone.told.notified() => {
                    let gone = self.gone.take();
                    // What they said before they left comes first.
                    for said in std::iter::from_fn(|| heard.try_recv().ok()).take(TO_HUB) {
                        self.hear_client(said, &mut routed);
                    }
                    for client in gone {
                        self.hear_client(Said::Gone { client }, &mut routed);
                    }
                }
                count = self.server.output.next_batch(&mut lines), if !silent => {
                    silent = count == 0;
                    handshake_since = None;
                    hear(&mut self.router, &mut lines, &mut routed);
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
                () = tokio::time::sleep_until(ask_again), if asked_again.is_some() => {
                    asked_again = None;
                    self.router.ask_again(&mut routed);
                }
                () = self.closing.cancelled(), if nobody => break None,
            }
            self.pass_on(routed).await;
        };
        // Whoever comes from here on has to start another one.
        heard.close();
        let reason = match exit {
            Some(exit) => format!("codex ended: {}", describe(&exit)),
            None => self.end().await,
        };
        tracing::info!(%reason, "an app-server of codex is gone");
        let mut routed = Routed::default();
        self.router.server_gone(&reason, &mut routed);
        self.deliver(routed, 1).await;
    }

    fn hear_client(&mut self, said: Said, routed: &mut Routed) {
        match said {
            Said::Join { inbox, answer } => {
                let client = self.router.connect();
                self.clients.insert(client, inbox);
                if answer.send(client).is_err() {
                    self.router.disconnect(client, routed);
                }
            }
            Said::Line { client, line } => self.router.from_client(client, &line, routed),
            Said::Gone { client } => {
                self.clients.remove(&client);
                self.router.disconnect(client, routed);
            }
        }
    }

    /// Ends a server that nobody uses: the end of its input is all it needs.
    async fn end(&mut self) -> String {
        if tokio::time::timeout(SETTLE, self.settle()).await.is_err() {
            tracing::warn!("codex did not end in time what its sessions had running");
        }
        drop(self.server.input.flush().await);
        self.server.input.close();
        if tokio::time::timeout(PATIENCE, self.server.handle.wait()).await.is_err() {
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
            hear(&mut self.router, &mut lines, &mut routed);
            self.pass_on(routed).await;
        }
    }

    async fn pass_on(&mut self, mut routed: Routed) {
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
        for reason in &routed.unreadable {
            tracing::warn!(%reason, "a line of codex could not be read");
        }
        for cwd in routed.entered {
            if let Entry::Vacant(entry) = self.workspaces.entry(cwd) {
                let placeholders = Placeholders::missing_in(entry.key().as_ref(), &self.spawner).await;
                entry.insert(placeholders);
            }
        }
        for cwd in routed.deserted {
            if let Some(placeholders) = self.workspaces.get(&cwd) {
                placeholders.remove();
            }
            if !self.router.is_working() {
                self.common.remove();
            }
            if !self.router.works_in(&cwd) {
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
                        self.send(client, Inbox::Lines(lines), &mut lost).await;
                    }
                }
            }
        }
        if let Some((client, lines)) = batch {
            self.send(client, Inbox::Lines(lines), &mut lost).await;
        }
        for client in routed.left {
            self.send(client, Inbox::End { code }, &mut lost).await;
            self.clients.remove(&client);
        }
        lost
    }

    async fn send(&mut self, client: ClientId, message: Inbox, lost: &mut Vec<ClientId>) {
        let Some(inbox) = self.clients.get(&client) else { return };
        if inbox.send_timeout(message, PATIENCE).await.is_err() && !lost.contains(&client) {
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
        LaunchContext { spawner, tracker, max_line_bytes: 1 << 20, closing }
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
        let hub = Hub::start_with(server, 3_600, Duration::from_millis(20), common, &context);
        let mut agent = hub.join(&context).await.unwrap();
        agent.input.write_all(b"{\"id\":1,\"method\":\"initialize\",\"params\":{}}\n").await.unwrap();
        assert_ne!(agent.handle.wait().await.code, Some(0));
        assert!(!hub.is_alive(), "the next one starts another");
    }

    #[tokio::test]
    async fn a_client_that_leaves_while_the_hub_has_no_room_is_heard_of() {
        let (context, id) = (context(), Router::default().connect());
        let (hub, _heard) = mpsc::channel(1);
        hub.try_send(Said::Gone { client: id }).unwrap();
        let gone = Arc::new(Gone::default());
        drop(Client { id, hub, gone: Arc::clone(&gone) });
        assert_eq!(gone.take(), [id]);
        // The hub lets it go.
        let mute = |pipes: InProcess| async move {
            let _pipes = pipes;
            std::future::pending().await
        };
        let server = Agent::in_process(&context.tracker, 1 << 20, mute);
        let common = Placeholders::none(&context.spawner).await;
        let hub = Hub::start_with(server, 3_600, SILENCE, common, &context);
        let agent = hub.join(&context).await.unwrap();
        hub.gone.tell(id);
        assert_eq!(agent.handle.wait().await.code, Some(1), "it is the first one there");
    }
}
