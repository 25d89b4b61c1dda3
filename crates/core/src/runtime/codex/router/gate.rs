//! Proposals: what the hook of a thread asks before a call. They come from programs that Codex has started, not from the server, but they belong to a
//! thread, and so they are routed like what the server asks.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Asked, Routed, Router, encoded};
use crate::runtime::Line;
use crate::runtime::codex::gate::denial;
use crate::runtime::jsonrpc::Id;

/// Our own methods, not Codex's: a call is proposed, and nobody waits for the verdict any more.
pub(in crate::runtime::codex) const PROPOSE: &str = "host/propose";
pub(in crate::runtime::codex) const PROPOSAL_GONE: &str = "host/proposalGone";

/// How the names of proposals begin. The server's own requests have numbers.
const PREFIX: &str = "proposal-";

/// What is needed to route a proposal.
#[derive(Debug, Deserialize)]
struct Hook {
    #[serde(rename = "session_id")]
    conversation: String,
    #[serde(rename = "turn_id")]
    turn: Option<String>,
    /// The thread of a sub-agent.
    #[serde(rename = "agent_id")]
    agent: Option<String>,
}

impl Router {
    /// A hook waits to hear whether a call may run. The verdict comes in [`Routed::verdicts`].
    pub fn propose(&mut self, number: u64, hook: &[u8], out: &mut Routed) {
        let read = serde_json::from_slice::<Value>(hook);
        let routed = read.and_then(|value| Hook::deserialize(&value).map(|hook| (hook, value)));
        let (Hook { conversation, turn, agent }, hook) = match routed {
            Ok(routed) => routed,
            Err(error) => return out.verdicts.push((number, denial(&format!("the call could not be read: {error}")))),
        };
        let thread_id = agent.unwrap_or(conversation);
        self.proposals.insert(number);
        let params = json!({ "threadId": thread_id, "turnId": turn, "hook": hook });
        let line = json!({ "id": id_of(number), "method": PROPOSE, "params": params }).to_string();
        self.from_server(Line::Text(line.as_bytes()), out);
    }

    /// The hook does not wait any more.
    pub fn proposal_gone(&mut self, number: u64, out: &mut Routed) {
        if !self.proposals.remove(&number) {
            return;
        }
        let id = id_of(number);
        if let Some(Asked { client, thread_id }) = self.asked.remove(&id) {
            let params = json!({ "threadId": thread_id, "proposal": id });
            out.to_clients.push((client, encoded(&json!({ "method": PROPOSAL_GONE, "params": params }))));
        }
    }

    /// Whether a request is a proposal that nobody waits for any more.
    pub(super) fn is_stale(&self, id: &Id) -> bool {
        number_of(id).is_some_and(|number| !self.proposals.contains(&number))
    }

    /// Gives a proposal its verdict. False for what the server has asked.
    pub(super) fn decide(&mut self, id: &Id, verdict: impl FnOnce() -> Value, out: &mut Routed) -> bool {
        let Some(number) = number_of(id) else { return false };
        if self.proposals.remove(&number) {
            out.verdicts.push((number, verdict()));
        }
        true
    }
}

fn id_of(number: u64) -> Id {
    Id::Text(format!("{PREFIX}{number}"))
}

fn number_of(id: &Id) -> Option<u64> {
    match id {
        Id::Text(text) => text.strip_prefix(PREFIX)?.parse().ok(),
        Id::Number(_) => None,
    }
}
