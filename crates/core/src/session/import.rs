//! Sessions that came from a file. Their log says what an agent is to be started with, and somebody else wrote it: so a person of this machine is
//! asked, with all of it on the table, before the first agent runs. What a file may hold at all is decided where it is read.

use serde_json::{Map, Value, json};

use super::machine::{Machine, Output};
use crate::command::Refusal;
use crate::event::{
    Activity, DAEMON, Hold, ModeChanged, Outcome, PermissionOption, PermissionReply, PermissionRequest, SessionUpdated,
};
use crate::id::{AskId, Seq};
use crate::runtime::{guarded, skips_approvals};
use crate::time::Timestamp;

#[cfg(test)]
mod tests;

/// The parameter that says up to where a session came from a file. It is stored, and neither a client's to give nor a file's.
pub const IMPORTED: &str = "imported_to";

/// Whether somebody has to agree before an agent may run. Only an answer that was given here counts, not one that is in the file.
pub fn needs_consent(params: &Value, agreed_at: Option<Seq>) -> bool {
    let imported_to = params.get(IMPORTED).and_then(Value::as_u64).map(Seq);
    imported_to.is_some_and(|end| agreed_at.is_none_or(|agreed| agreed <= end))
}

/// The parameters of a copy that ends here: no more of it came from the file than there is of it.
pub fn params_of_copy(params: &Value, end: Seq) -> Value {
    let mut params = params.clone();
    if let Some(imported_to) = params.get_mut(IMPORTED)
        && imported_to.as_u64().is_some_and(|position| position > end.0)
    {
        *imported_to = end.0.into();
    }
    params
}

/// What the ask about it is about.
pub(super) const TOOL: &str = "Run an imported session";

impl Machine {
    /// Puts the guards back that a file took away, with facts of this machine after those of the file. Whoever wants an agent without them says so here.
    pub fn settle_import(&mut self, at: Timestamp, out: &mut Output) {
        let unguarded = self.state.settings().iter().filter(|(name, value)| skips_approvals(name, value));
        let settings: Map<String, Value> =
            unguarded.filter_map(|(name, _)| Some((name.clone(), guarded(name)?.into()))).collect();
        let by = DAEMON.to_owned();
        if !settings.is_empty() {
            let by = by.clone();
            self.emit(at, out, SessionUpdated { settings: Some(settings), by, ..SessionUpdated::default() });
        }
        let mode = self.state.mode.as_deref().filter(|mode| skips_approvals("mode", &(*mode).into()));
        if let Some(mode) = mode.and_then(|_| guarded("mode")) {
            self.emit(at, out, ModeChanged { mode: mode.to_owned(), by: Some(by) });
        }
        self.settle_imported_children(at, out);
    }

    pub(super) fn needs_consent(&self) -> bool {
        needs_consent(&self.setup.params, self.state.agreed_at)
    }

    /// What cannot be done before somebody has agreed.
    pub(super) fn require_consent(&self) -> Result<(), Refusal> {
        if self.needs_consent() { Err(Refusal::NotAgreed) } else { Ok(()) }
    }

    /// Asks whether the agent may run; the turn waits.
    pub(super) fn ask_consent(&mut self, at: Timestamp, out: &mut Output) {
        if self.consent.as_ref().is_some_and(|ask_id| self.state.open.asks.contains_key(ask_id)) {
            return;
        }
        let ask_id = AskId::fresh(&mut self.setup.ids, at);
        let mut params = self.state.params(&self.setup.params);
        if let Value::Object(params) = &mut params {
            params.retain(|name, _| !["title", "cwd", "model", "mode", IMPORTED].contains(&name.as_str()));
        }
        let tool_input = json!({
            "runtime": self.setup.runtime,
            "cwd": self.state.cwd,
            "mode": self.state.mode,
            "model": self.state.model,
            "conversation": self.state.provider_session_id,
            "settings": params,
        });
        let option = |reply, label: &str| PermissionOption { reply, label: label.to_owned(), rule: None, scope: None };
        let request = PermissionRequest {
            ask_id: ask_id.clone(),
            tool_name: TOOL.to_owned(),
            tool_input,
            title: Some("This session came from a file. Run its agent on this machine?".to_owned()),
            options: vec![option(PermissionReply::Once, "Run it"), option(PermissionReply::Reject, "Do not run it")],
            ..PermissionRequest::default()
        };
        self.emit(at, out, request);
        self.consent = Some(ask_id);
        self.emit_status_if_changed(at, out, Activity::Waiting, Some("Waiting for your permission".to_owned()));
    }

    pub(super) fn is_consent(&self, ask_id: &AskId) -> bool {
        self.consent.as_ref() == Some(ask_id)
    }

    /// Goes on after the answer.
    pub(super) fn consent_answered(&mut self, allowed: bool, by: &str, at: Timestamp, out: &mut Output) {
        self.consent = None;
        if allowed {
            return self.deliver(at, out);
        }
        // What waits behind it would only ask again.
        self.hold(at, out, Hold::Stopped);
        let reason = format!("{by} did not let the imported session run");
        self.finish_turn(at, out, Outcome::Stopped, Some(reason), None, None);
        self.proceed(at, out);
    }
}
