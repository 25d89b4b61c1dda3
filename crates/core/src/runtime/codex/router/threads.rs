//! Whose thread is whose. Those that nobody has asked for are strangers, until it is known whose child they are.

use serde_json::json;

use super::{Call, ClientId, Means, Routed, Router, Stranger, Thread};
use crate::runtime::Line;

/// How much is held of threads whose parent is not known yet, all together.
const MAX_HELD_LINES: usize = 4_096;
/// How many of them there may be for one to be asked for that has not said anything.
const MAX_STRANGERS: usize = 256;
/// How often the server may refuse to say who one is.
const MAX_REFUSED: usize = 3;
/// How many threads are remembered that nobody listens to any more.
const MAX_FORGOTTEN: usize = 4_096;

/// Who listens to a thread.
pub(super) enum Whose {
    Of(ClientId),
    Forgotten,
    Unknown,
}

impl Router {
    pub(super) fn own(&mut self, thread_id: &str, client: ClientId, cwd: Option<String>) {
        self.recall(thread_id);
        let new = Thread { owner: client, parent: None, turn: None, cwd: None };
        let thread = self.threads.entry(thread_id.to_owned()).or_insert(new);
        thread.owner = client;
        thread.cwd = cwd.or(thread.cwd.take());
    }

    /// Somebody wants a thread again; what its children say is of interest again as well.
    fn recall(&mut self, thread_id: &str) {
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

    /// A thread has come. If nobody waits for it any more it is let go, unless somebody else has gone on with it.
    pub(super) fn opened(&mut self, client: ClientId, thread_id: &str, cwd: Option<String>, out: &mut Routed) {
        out.entered.extend(cwd.clone());
        if self.threads.get(thread_id).is_some_and(|thread| thread.owner != client) {
            return;
        }
        self.own(thread_id, client, cwd);
        // Also for one that is let go: what it has said tells what has to be stopped.
        self.let_in(thread_id, out);
        if !self.clients.contains(&client) {
            self.let_go(thread_id, out);
        }
    }

    /// It could not be had, so nobody listens to it, as before.
    pub(super) fn disown(&mut self, thread_id: &str, client: ClientId) {
        if self.threads.get(thread_id).is_some_and(|thread| thread.owner == client)
            && let Some(thread) = self.threads.remove(thread_id)
        {
            self.remember_forgotten(thread_id, thread.parent);
        }
    }

    /// Whether a thread works in this directory, or may begin to.
    pub fn works_in(&self, cwd: &str) -> bool {
        self.threads.values().any(|thread| thread.cwd.as_deref() == Some(cwd))
    }

    /// Whether any turn runs.
    pub fn is_working(&self) -> bool {
        self.threads.values().any(|thread| thread.turn.is_some())
    }

    pub(super) fn desert(&self, cwd: Option<String>, out: &mut Routed) {
        let busy = |cwd: &String| {
            self.threads.values().any(|thread| thread.turn.is_some() && thread.cwd.as_ref() == Some(cwd))
        };
        out.deserted.extend(cwd.filter(|cwd| !busy(cwd)));
    }

    pub(super) fn whose(&self, thread_id: &str) -> Whose {
        match self.threads.get(thread_id) {
            Some(thread) => Whose::Of(thread.owner),
            None if self.forgotten.iter().any(|(known, _)| known == thread_id) => Whose::Forgotten,
            None => Whose::Unknown,
        }
    }

    /// Keeps what a thread says until it is known whose it is.
    pub(super) fn hold(&mut self, thread_id: &str, line: &[u8], out: &mut Routed) {
        if self.held >= MAX_HELD_LINES {
            // Whoever it is, it has had its time.
            self.forget_strangers(out);
        }
        self.ask_for_parent(thread_id, out);
        if let Some(stranger) = self.strangers.get_mut(thread_id) {
            self.held += 1;
            stranger.lines.push(line.to_vec());
        }
    }

    fn ask_for_parent(&mut self, thread_id: &str, out: &mut Routed) {
        if !self.strangers.contains_key(thread_id) {
            self.strangers.insert(thread_id.to_owned(), Stranger::default());
            self.read_thread(thread_id, out);
        }
    }

    fn read_thread(&mut self, thread_id: &str, out: &mut Routed) {
        let params = json!({ "threadId": thread_id });
        self.call(Call::Parent { thread_id: thread_id.to_owned() }, "thread/read", &params, out);
    }

    /// A server that is busy refuses what it would answer a moment later.
    pub(super) fn parent_refused(&mut self, thread_id: &str, out: &mut Routed) {
        let Some(stranger) = self.strangers.get_mut(thread_id) else { return };
        stranger.refused += 1;
        if stranger.refused < MAX_REFUSED {
            self.read_thread(thread_id, out);
        } else {
            self.parent_known(thread_id, None, out);
        }
    }

    pub(super) fn parent_known(&mut self, thread_id: &str, parent: Option<&str>, out: &mut Routed) {
        let room = self.strangers.len() < MAX_STRANGERS;
        let whose = parent.map(|parent| (parent, self.whose(parent)));
        let Some(stranger) = self.strangers.get_mut(thread_id) else { return };
        match whose {
            Some((parent, Whose::Of(client))) => {
                let cwd = self.threads.get(parent).and_then(|parent| parent.cwd.clone());
                self.own(thread_id, client, cwd);
                if let Some(thread) = self.threads.get_mut(thread_id) {
                    thread.parent = Some(parent.to_owned());
                }
                self.let_in(thread_id, out);
            }
            // Whoever wanted its parent has left, so what it does is wanted by nobody. What it has said tells what has to be stopped.
            Some((parent, Whose::Forgotten)) => {
                self.own(thread_id, ClientId::NOBODY, None);
                if let Some(thread) = self.threads.get_mut(thread_id) {
                    thread.parent = Some(parent.to_owned());
                }
                self.let_in(thread_id, out);
                self.let_go_all_of(ClientId::NOBODY, out);
            }
            // A child of a child that is not known either.
            Some((parent, Whose::Unknown)) if room => {
                stranger.parent = Some(parent.to_owned());
                self.ask_for_parent(parent, out);
            }
            // Perhaps the thread of a client that still waits for the answer.
            Some((_, Whose::Unknown)) | None => self.settle_strangers(out),
        }
    }

    /// When nothing is on its way that could tell whose they are, nobody will.
    pub(super) fn settle_strangers(&mut self, out: &mut Routed) {
        let open = |call: &Call| matches!(call, Call::Client { means: Means::Thread { .. }, .. } | Call::Parent { .. });
        if !self.calls.values().any(open) {
            self.forget_strangers(out);
        }
    }

    fn forget_strangers(&mut self, out: &mut Routed) {
        let strangers: Vec<String> = self.strangers.keys().cloned().collect();
        for stranger in &strangers {
            self.forget(stranger, out);
        }
    }

    /// Hears again what was held, of a thread and then of its children.
    fn let_in(&mut self, thread_id: &str, out: &mut Routed) {
        let lines = self.strangers.remove(thread_id).unwrap_or_default().lines;
        self.held = self.held.saturating_sub(lines.len());
        for line in lines {
            self.from_server(Line::Text(&line), out);
        }
        let theirs =
            |(id, stranger): (&String, &Stranger)| (stranger.parent.as_deref() == Some(thread_id)).then(|| id.clone());
        let children: Vec<String> = self.strangers.iter().filter_map(theirs).collect();
        for child in &children {
            self.parent_known(child, Some(thread_id), out);
        }
    }

    fn forget(&mut self, thread_id: &str, out: &mut Routed) {
        let parent = self.strangers.get(thread_id).and_then(|stranger| stranger.parent.clone());
        self.remember_forgotten(thread_id, parent);
        self.let_in(thread_id, out);
    }

    pub(super) fn remember_forgotten(&mut self, thread_id: &str, parent: Option<String>) {
        if self.forgotten.len() >= MAX_FORGOTTEN {
            self.forgotten.pop_front();
        }
        self.forgotten.push_back((thread_id.to_owned(), parent));
    }
}
