//! A client that disconnects, for whatever reason, leaves nothing running. Neither does the server when it exits.

use serde_json::json;

use super::{Asked, Call, ClientId, Handshake, OnResponse, Routed, Router, Thread, encoded};
use crate::runtime::codex::gate::denial;
use crate::runtime::jsonrpc::{Error, Id};

impl Router {
    /// A client is gone. Its running turns and commands are stopped, and further lines for it are dropped.
    pub fn disconnect(&mut self, client: ClientId, out: &mut Routed) {
        if !self.clients.remove(&client) {
            return;
        }
        for call in self.calls.values_mut() {
            let Call::Client { client: waiting, on_response, .. } = call else { continue };
            if *waiting != client {
                continue;
            }
            *call = match on_response {
                // What is still on its way is let go or stopped when it comes.
                OnResponse::Thread { .. } => continue,
                OnResponse::Turn { thread_id } => {
                    let cwd = self.threads.get(thread_id).and_then(|thread| thread.cwd.clone());
                    Call::OrphanedTurn { thread_id: std::mem::take(thread_id), cwd }
                }
                OnResponse::Nothing
                | OnResponse::CommandsListed { .. }
                | OnResponse::Ended { .. }
                | OnResponse::Name { .. } => Call::Ignore,
            };
        }
        if let Handshake::Pending { waiting } = &mut self.handshake {
            waiting.retain(|(waiting, _)| *waiting != client);
        }
        self.refuse_all(|asked| asked.client == client, out);
        self.release_threads_of(client, out);
    }

    pub(super) fn release_threads_of(&mut self, client: ClientId, out: &mut Routed) {
        let theirs = |(id, thread): (&String, &Thread)| (thread.owner == client).then(|| id.clone());
        let threads: Vec<String> = self.threads.iter().filter_map(theirs).collect();
        for thread_id in &threads {
            self.release_thread(thread_id, out);
        }
    }

    pub(super) fn release_thread(&mut self, thread_id: &str, out: &mut Routed) {
        let Some(Thread { turn, cwd, parent, .. }) = self.threads.remove(thread_id) else { return };
        self.refuse_all(|asked| asked.thread_id.as_deref() == Some(thread_id), out);
        self.stop(thread_id, turn.as_deref(), cwd, out);
        self.call(Call::Ignore, "thread/unsubscribe", &json!({ "threadId": thread_id }), out);
        self.remember_forgotten(thread_id, parent);
    }

    /// Ends what a thread has running.
    pub(super) fn stop(&mut self, thread_id: &str, turn: Option<&str>, cwd: Option<String>, out: &mut Routed) {
        if let Some(turn) = turn {
            let params = json!({ "threadId": thread_id, "turnId": turn });
            self.call(Call::Ignore, "turn/interrupt", &params, out);
        }
        let params = json!({ "threadId": thread_id });
        self.call(Call::EndCommands { cwd }, "thread/backgroundTerminals/clean", &params, out);
    }

    fn refuse_all(&mut self, which: impl Fn(&Asked) -> bool, out: &mut Routed) {
        let asked: Vec<Id> = self.asked.iter().filter(|(_, asked)| which(asked)).map(|(id, _)| id.clone()).collect();
        for id in &asked {
            self.refuse(id, out);
        }
    }

    pub(super) fn refuse(&mut self, id: &Id, out: &mut Routed) {
        self.asked.remove(id);
        if self.decide(id, || denial("nobody is there to judge it"), out) {
            return;
        }
        let error = Error::new(Error::GONE, "nobody is there to answer");
        out.to_server.extend(encoded(&json!({ "id": id, "error": error })));
    }

    /// The server has exited. Every waiting client gets an error, and every client has to connect again.
    pub fn server_closed(&mut self, reason: &str, out: &mut Routed) {
        let error = Error::new(Error::GONE, reason);
        let refused = |id: &Id| encoded(&json!({ "id": id, "error": error }));
        if let Handshake::Pending { waiting } = std::mem::take(&mut self.handshake) {
            out.to_clients.extend(waiting.iter().map(|(client, id)| (*client, refused(id))));
        }
        for call in std::mem::take(&mut self.calls).into_values() {
            if let Call::Client { client, id, .. } = call
                && self.clients.contains(&client)
            {
                out.to_clients.push((client, refused(&id)));
            }
        }
        out.left.extend(std::mem::take(&mut self.clients));
        out.idle_dirs.extend(std::mem::take(&mut self.threads).into_values().filter_map(|thread| thread.cwd));
        self.asked.clear();
        self.proposals.clear();
        self.unclaimed.clear();
        self.announced.clear();
        self.forgotten.clear();
        self.named.clear();
        self.held = 0;
    }
}
