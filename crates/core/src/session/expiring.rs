//! Asks that end by themselves, because the rule that asks says so. The deadline is kept beside the log: after a restart nobody waits for the answer
//! any more, and the ask has ended with its agent.

use super::machine::{Machine, Output};
use crate::command::{AfterAnswer, Answer};
use crate::event::{AskExpiry, DAEMON, Event, PermissionReply, PermissionResolved, Unanswered};
use crate::id::AskId;
use crate::runtime::{Answered, Order};
use crate::summary::AskRequest;
use crate::time::Timestamp;

impl Machine {
    /// Remembers when an ask that is about to be open ends by itself.
    pub(super) fn note_expiry(&mut self, asked: &Event) {
        let Self { expiries, state, .. } = self;
        expiries.retain(|ask_id, _| state.open.asks.contains_key(ask_id));
        if let Event::PermissionRequest(request) = asked
            && let Some(expiry) = &request.expiry
        {
            self.expiries.insert(request.ask_id.clone(), expiry.at);
        }
    }

    /// When the next ask ends by itself. A turn that is being stopped ends them all.
    pub(super) fn next_expiry(&self) -> Option<Timestamp> {
        let open = self.expiries.iter().filter(|(ask_id, _)| self.state.open.asks.contains_key(*ask_id));
        open.map(|(_, at)| *at).min().filter(|_| self.stop.is_none())
    }

    pub(super) fn expire_asks(&mut self, at: Timestamp, out: &mut Output) {
        if self.stop.is_some() {
            return;
        }
        let mut due: Vec<(Timestamp, AskId)> =
            self.expiries.iter().filter(|(_, due)| **due <= at).map(|(ask_id, due)| (*due, ask_id.clone())).collect();
        due.sort();
        for (_, ask_id) in due {
            self.expiries.remove(&ask_id);
            self.ask_expired(&ask_id, at, out);
        }
    }

    fn ask_expired(&mut self, ask_id: &AskId, at: Timestamp, out: &mut Output) {
        let Some(ask) = self.state.open.asks.get(ask_id) else { return };
        let AskRequest::Permission(request) = &ask.pending.request else { return };
        let Some(AskExpiry { allowed, .. }) = request.expiry else { return };
        let rule = request.judged.as_ref().map(|judged| judged.rule.as_str()).unwrap_or_default();
        let becomes = if allowed { "allows" } else { "denies" };
        let reason = format!("nobody answered in time, and the rule {rule} {becomes} it then");
        let reply = if allowed { PermissionReply::Once } else { PermissionReply::Reject };
        let resolved = PermissionResolved {
            ask_id: ask_id.clone(),
            tool_name: ask.tool_name.clone(),
            allowed,
            reply,
            by: DAEMON.to_owned(),
            reason: Some(reason.clone()),
            unanswered: Some(Unanswered::Expired),
            ..PermissionResolved::default()
        };
        let owner = ask.owner.clone();
        let turn_id = self.turn_of(owner.as_ref());
        self.emit_as(at, out, owner, turn_id, resolved.into());
        if let Some(key) = self.ask_keys.remove(ask_id) {
            let message = Some(reason).filter(|_| !allowed);
            let answer =
                Answer::Permission { reply, message, updated_input: None, rule: None, and_then: AfterAnswer::GoOn };
            let about = Answered { ask_id: ask_id.clone(), by: DAEMON.to_owned(), is_tool: false };
            out.order(Order::Answer { key, answer, about: Some(Box::new(about)) });
        }
        self.update_status_after_ask(at, out);
    }
}
