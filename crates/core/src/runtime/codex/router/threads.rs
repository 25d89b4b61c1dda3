//! Which client owns which thread. A thread that no client asked for is unclaimed until its parent is known.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::{Call, ClientId, OnResponse, Routed, Router, Thread, UnclaimedThread};
use crate::runtime::Line;

/// How much is held of threads whose parent is not known yet, all together.
const MAX_HELD_LINES: usize = 4_096;
/// How many of them there may be for one to be asked for that has not said anything.
const MAX_UNCLAIMED: usize = 256;
/// How often the server may refuse to say who one is: it does so until it has written the thread's file. All but the first time with a pause.
const MAX_REFUSED: usize = 300;
/// How many children are remembered that were told of and have not said anything.
const MAX_ANNOUNCED: usize = 4_096;
/// How many threads are remembered that nobody listens to any more.
const MAX_FORGOTTEN: usize = 4_096;

/// The owner of a thread.
pub(super) enum Owner {
    Client(ClientId),
    Forgotten,
    Unknown,
}

/// Commands that run. Which they are is the client's affair.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CommandList {
    data: Vec<IgnoredAny>,
}

/// An item that names other threads.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ItemParams {
    item: ItemThreads,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ItemThreads {
    agent_thread_id: Option<String>,
    receiver_thread_ids: Vec<String>,
}

/// The threads that an item says were started, or spoken to.
fn children_in(params: &str) -> Vec<String> {
    // Most items name nobody, and some are large.
    if !params.contains("ThreadId") {
        return Vec::new();
    }
    let item = serde_json::from_str::<ItemParams>(params).unwrap_or_default().item;
    item.agent_thread_id.into_iter().chain(item.receiver_thread_ids).filter(|id| !id.is_empty()).collect()
}

impl Router {
    pub(super) fn claim(&mut self, thread_id: &str, client: ClientId, cwd: Option<String>) {
        self.unforget(thread_id);
        self.announced.remove(thread_id);
        let new = Thread { owner: client, parent: None, turn: None, interrupted: false, commands: 0, cwd: None };
        let thread = self.threads.entry(thread_id.to_owned()).or_insert(new);
        thread.owner = client;
        thread.cwd = cwd.or(thread.cwd.take());
    }

    /// A client wants this thread again, so the thread and its children are no longer forgotten.
    fn unforget(&mut self, thread_id: &str) {
        let mut wanted = vec![thread_id.to_owned()];
        while let Some(parent) = wanted.pop() {
            self.forgotten.retain(|(id, of)| {
                let is_child = of.as_ref() == Some(&parent);
                if is_child {
                    wanted.push(id.clone());
                }
                !is_child && *id != parent
            });
        }
    }

    /// A thread was opened. If its client has disconnected, the thread is released, unless another client owns it by now.
    pub(super) fn opened(&mut self, client: ClientId, thread_id: &str, cwd: Option<String>, out: &mut Routed) {
        out.entered_dirs.extend(cwd.clone());
        if self.threads.get(thread_id).is_some_and(|thread| thread.owner != client) {
            return;
        }
        self.claim(thread_id, client, cwd);
        // Also for one that is let go: what it has said tells what has to be stopped, and which children it has.
        self.replay_held_lines(thread_id, out);
        if !self.clients.contains(&client) {
            self.release_threads_of(client, out);
        }
    }

    /// The thread could not be opened, so it has no owner, as before.
    pub(super) fn unclaim(&mut self, thread_id: &str, client: ClientId) {
        if self.threads.get(thread_id).is_some_and(|thread| thread.owner == client)
            && let Some(thread) = self.threads.remove(thread_id)
        {
            self.remember_forgotten(thread_id, thread.parent);
        }
    }

    /// Whether a thread works in this directory, or may begin to.
    pub fn has_thread_in(&self, cwd: &str) -> bool {
        self.threads.values().any(|thread| thread.cwd.as_deref() == Some(cwd))
    }

    /// Whether any turn runs.
    pub fn is_working(&self) -> bool {
        self.threads.values().any(|thread| thread.turn.is_some())
    }

    pub(super) fn report_idle_dir(&self, cwd: Option<String>, out: &mut Routed) {
        let busy = |cwd: &String| {
            self.threads.values().any(|thread| thread.turn.is_some() && thread.cwd.as_ref() == Some(cwd))
        };
        out.idle_dirs.extend(cwd.filter(|cwd| !busy(cwd)));
    }

    /// Which commands of a thread run. An interrupt may have ended some by force, and there may be none left.
    pub(super) fn commands_listed(
        &mut self,
        thread_id: &str,
        from_first: bool,
        result: Option<&str>,
        out: &mut Routed,
    ) {
        let list: CommandList = result.and_then(|result| serde_json::from_str(result).ok()).unwrap_or_default();
        let Some(thread) = self.threads.get_mut(thread_id) else { return };
        thread.commands = list.data.len() + if from_first { 0 } else { thread.commands };
        if thread.interrupted && thread.commands == 0 {
            let cwd = thread.cwd.clone();
            self.report_idle_dir(cwd, out);
        }
    }

    /// A command was ended by force. What its sandbox has left protects the others, as long as there are any.
    pub(super) fn command_ended(&mut self, thread_id: &str, out: &mut Routed) {
        let Some(thread) = self.threads.get_mut(thread_id) else { return };
        thread.commands = thread.commands.saturating_sub(1);
        if thread.commands == 0 {
            let cwd = thread.cwd.clone();
            self.report_idle_dir(cwd, out);
        }
    }

    pub(super) fn owner_of(&self, thread_id: &str) -> Owner {
        match self.threads.get(thread_id) {
            Some(thread) => Owner::Client(thread.owner),
            None if self.forgotten.iter().any(|(known, _)| known == thread_id) => Owner::Forgotten,
            None => Owner::Unknown,
        }
    }

    /// Keeps what a thread says until it is known whose it is.
    pub(super) fn hold(&mut self, thread_id: &str, line: &[u8], out: &mut Routed) {
        if self.held >= MAX_HELD_LINES {
            // Too many lines are held; give up on all unclaimed threads.
            self.forget_unclaimed(out);
        }
        self.ask_for_parent(thread_id, out);
        if let Some(thread) = self.unclaimed.get_mut(thread_id) {
            self.held += 1;
            thread.lines.push(line.to_vec());
        }
    }

    fn ask_for_parent(&mut self, thread_id: &str, out: &mut Routed) {
        if !self.unclaimed.contains_key(thread_id) {
            self.unclaimed.insert(thread_id.to_owned(), UnclaimedThread::default());
            self.read_thread(thread_id, out);
        }
    }

    fn read_thread(&mut self, thread_id: &str, out: &mut Routed) {
        let params = json!({ "threadId": thread_id });
        self.call(Call::ReadParent { thread_id: thread_id.to_owned() }, "thread/read", &params, out);
    }

    /// A server that is busy refuses what it would answer a moment later.
    pub(super) fn parent_refused(&mut self, thread_id: &str, out: &mut Routed) {
        let Some(thread) = self.unclaimed.get_mut(thread_id) else { return };
        thread.refused += 1;
        match thread.refused {
            1 => self.read_thread(thread_id, out),
            2..MAX_REFUSED => thread.retry_later = true,
            _ => self.parent_known(thread_id, None, out),
        }
    }

    /// Whether the server has refused something that the router will ask again later.
    pub fn has_retries(&self) -> bool {
        self.unclaimed.values().any(|thread| thread.retry_later)
    }

    /// Asks the server again what it has refused.
    pub fn retry_refused(&mut self, out: &mut Routed) {
        let retry_later =
            |(id, thread): (&String, &mut UnclaimedThread)| std::mem::take(&mut thread.retry_later).then(|| id.clone());
        let waiting: Vec<String> = self.unclaimed.iter_mut().filter_map(retry_later).collect();
        for thread_id in &waiting {
            self.read_thread(thread_id, out);
        }
    }

    /// A thread may announce the threads that it has started. That counts where the server does not name a parent.
    pub(super) fn note_children(&mut self, parent: &str, client: ClientId, params: &str) {
        for child in children_in(params) {
            match self.owner_of(&child) {
                Owner::Client(_) => {}
                Owner::Forgotten => self.claim_child(&child, parent, client),
                Owner::Unknown => {
                    if self.announced.len() >= MAX_ANNOUNCED {
                        self.announced.clear();
                    }
                    self.announced.insert(child, parent.to_owned());
                }
            }
        }
    }

    fn claim_child(&mut self, thread_id: &str, parent: &str, client: ClientId) {
        let cwd = self.threads.get(parent).and_then(|parent| parent.cwd.clone());
        self.claim(thread_id, client, cwd);
        if let Some(thread) = self.threads.get_mut(thread_id) {
            thread.parent = Some(parent.to_owned());
        }
    }

    pub(super) fn parent_known(&mut self, thread_id: &str, parent: Option<&str>, out: &mut Routed) {
        let room = self.unclaimed.len() < MAX_UNCLAIMED;
        let announced = self.announced.get(thread_id).cloned();
        let parent = parent.or(announced.as_deref());
        let owner = parent.map(|parent| (parent, self.owner_of(parent)));
        let Some(thread) = self.unclaimed.get_mut(thread_id) else { return };
        match owner {
            Some((parent, Owner::Client(client))) => {
                self.claim_child(thread_id, parent, client);
                self.replay_held_lines(thread_id, out);
            }
            // The client of its parent has disconnected, so nobody wants this thread. Its held lines say what has to be stopped.
            Some((parent, Owner::Forgotten)) => {
                self.claim(thread_id, ClientId::NOBODY, None);
                if let Some(thread) = self.threads.get_mut(thread_id) {
                    thread.parent = Some(parent.to_owned());
                }
                self.replay_held_lines(thread_id, out);
                self.release_threads_of(ClientId::NOBODY, out);
            }
            // A child of a child that is not known either.
            Some((parent, Owner::Unknown)) if room => {
                thread.parent = Some(parent.to_owned());
                self.ask_for_parent(parent, out);
            }
            // Perhaps the thread of a client that still waits for the answer.
            Some((_, Owner::Unknown)) | None => self.settle_unclaimed(out),
        }
    }

    /// Forgets the unclaimed threads once no pending answer can name their owner.
    pub(super) fn settle_unclaimed(&mut self, out: &mut Routed) {
        let open = |call: &Call| {
            matches!(call, Call::Client { on_response: OnResponse::Thread { .. }, .. } | Call::ReadParent { .. })
        };
        if !self.calls.values().any(open) && !self.has_retries() {
            self.forget_unclaimed(out);
        }
    }

    fn forget_unclaimed(&mut self, out: &mut Routed) {
        let unclaimed: Vec<String> = self.unclaimed.keys().cloned().collect();
        for thread in &unclaimed {
            self.forget(thread, out);
        }
    }

    /// Routes the held lines of a thread again, then those of its children.
    fn replay_held_lines(&mut self, thread_id: &str, out: &mut Routed) {
        let lines = self.unclaimed.remove(thread_id).unwrap_or_default().lines;
        self.held = self.held.saturating_sub(lines.len());
        for line in lines {
            self.from_server(Line::Text(&line), out);
        }
        let theirs = |(id, thread): (&String, &UnclaimedThread)| {
            (thread.parent.as_deref() == Some(thread_id)).then(|| id.clone())
        };
        let children: Vec<String> = self.unclaimed.iter().filter_map(theirs).collect();
        for child in &children {
            self.parent_known(child, Some(thread_id), out);
        }
    }

    fn forget(&mut self, thread_id: &str, out: &mut Routed) {
        let parent = self.unclaimed.get(thread_id).and_then(|thread| thread.parent.clone());
        self.remember_forgotten(thread_id, parent);
        self.replay_held_lines(thread_id, out);
    }

    pub(super) fn remember_forgotten(&mut self, thread_id: &str, parent: Option<String>) {
        if self.forgotten.len() >= MAX_FORGOTTEN {
            self.forgotten.pop_front();
        }
        self.forgotten.push_back((thread_id.to_owned(), parent));
    }
}
