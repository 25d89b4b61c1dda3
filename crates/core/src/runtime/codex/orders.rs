//! Orders of the session, written as requests to the server.

use serde_json::{Map, Value, json};

use super::gate::not_in_force;
use super::protocol::{Call, CodexProtocol};
use super::turn::Turn;
use super::wire::{Page, Turn as WireTurn};
use crate::event::{EvidenceChanged, Outcome, Part};
use crate::id::TurnId;
use crate::policy;
use crate::runtime::jsonrpc;
use crate::runtime::{Order, Output, Prompt, Report, RollbackOrder};

/// How many turns are looked at at a time.
const PAGE: u64 = 100;

impl CodexProtocol {
    pub(super) fn carry_out(&mut self, order: &Order, out: &mut Output) {
        match order {
            Order::Prompt { turn_id, messages } => self.prompt(turn_id, messages, out),
            Order::Steer { message, .. } => self.steer(message.clone(), out),
            Order::Interrupt { .. } => self.interrupt(out),
            Order::Answer { key, answer, .. } => self.answer(key, answer, out),
            Order::Verdict { key, verdict } => self.verdict(key, verdict, out),
            Order::SetModel { model } => {
                self.settings.set_model(model);
                self.model = Some(model.clone());
            }
            Order::SetMode { mode } => self.set_mode(mode, out),
            Order::Compact { turn_id } => self.compact(turn_id, out),
            Order::Configure { settings } => settings.iter().for_each(|(name, value)| self.settings.set(name, value)),
            Order::Rollback(order) => self.roll_back(order, out),
            Order::Close { .. } => self.close(out),
            Order::StopBackground { id } => self.stop_background(id, out),
            Order::HostResult { key, output, is_error } => self.host_result(key, output, *is_error, out),
            // It keeps the tools that its conversation began with, and hears of the others by messages.
            Order::HostTools(_) | Order::State { .. } | Order::Callback(_) => {}
        }
    }

    /// A mode holds at once, also for sub-agents and for turns that begin without a message. The next message says it again.
    fn set_mode(&mut self, mode: &str, out: &mut Output) {
        let was_ruled = self.settings.is_ruled();
        self.settings.set_mode(mode);
        self.mode_note = Some(policy::mode_note(mode, self.settings.is_ruled()));
        let Some(thread_id) = self.thread.clone().filter(|_| was_ruled || self.settings.is_ruled()) else { return };
        let params = self.settings.mode_params();
        let helpers: Vec<String> = self.subagents.all_work().map(|(thread_id, _)| thread_id.clone()).collect();
        let calls = std::iter::once((thread_id, Call::Sandbox)).chain(helpers.into_iter().map(|id| (id, Call::Ignore)));
        for (thread_id, call) in calls {
            let mut params = params.clone();
            params.insert("threadId".to_owned(), json!(thread_id));
            self.call("thread/settings/update", Value::Object(params), call, out);
        }
        if !was_ruled && (self.turn.is_some() || !self.subagents.running().is_empty()) {
            // Codex asks as it did when the turn began, which is not enough.
            self.warn(
                format!("what ran is stopped: {mode} has rules, and Codex would not have asked before its calls"),
                out,
            );
            if self.turn.is_some() { self.interrupt(out) } else { self.interrupt_helpers(out) }
        }
    }

    fn prompt(&mut self, turn_id: &TurnId, messages: &[Prompt], out: &mut Output) {
        let Some(thread_id) = self.thread.clone() else { return };
        self.finish_pending_end(&thread_id, out);
        if let Some(why) = self.gate_refused().filter(|_| self.settings.is_ruled()) {
            let failure = Some(not_in_force(&why));
            return out.report(Report::TurnEnded { outcome: Outcome::Failed, reason: None, failure });
        }
        let slash = messages.first().and_then(slash_command);
        self.turn = Some(Turn { ours: Some(turn_id.clone()), ..Turn::default() });
        let turn_id = turn_id.clone();
        match slash {
            Some(("review", "")) => {
                let params = json!({ "threadId": thread_id, "target": { "type": "uncommittedChanges" } });
                self.call("review/start", params, Call::StartTurn { turn_id }, out);
            }
            Some(("review", instructions)) => {
                let target = json!({ "type": "custom", "instructions": instructions });
                let params = json!({ "threadId": thread_id, "target": target });
                self.call("review/start", params, Call::StartTurn { turn_id }, out);
            }
            Some(("compact", "")) => {
                self.main.compaction_wanted = true;
                self.call("thread/compact/start", json!({ "threadId": thread_id }), Call::Compact { turn_id }, out);
            }
            _ => {
                let mut params = self.settings.turn_params(self.model.as_deref());
                params.insert("threadId".to_owned(), json!(thread_id));
                let note = self.mode_note.take().map(|text| json!({ "type": "text", "text": text }));
                params.insert("input".to_owned(), note.into_iter().chain(messages.iter().flat_map(input_of)).collect());
                let id = messages.first().map(|message| message.message_id.to_string());
                params.extend(id.map(|id| ("clientUserMessageId".to_owned(), json!(id))));
                self.call("turn/start", Value::Object(params), Call::StartTurn { turn_id }, out);
            }
        }
    }

    fn compact(&mut self, turn_id: &TurnId, out: &mut Output) {
        let Some(thread_id) = self.thread.clone() else { return };
        self.finish_pending_end(&thread_id, out);
        self.turn = Some(Turn { ours: Some(turn_id.clone()), ..Turn::default() });
        self.main.compaction_wanted = true;
        let call = Call::Compact { turn_id: turn_id.clone() };
        self.call("thread/compact/start", json!({ "threadId": thread_id }), call, out);
    }

    pub(super) fn steer(&mut self, message: Prompt, out: &mut Output) {
        let (Some(thread_id), Some(turn)) = (self.thread.clone(), &mut self.turn) else {
            let (message_id, reason) = (message.message_id, "no turn is running".to_owned());
            return out.report(Report::SteerRejected { message_id, reason });
        };
        let Some(name) = turn.name().map(str::to_owned) else { return turn.steers.push(message) };
        let params = json!({
            "threadId": thread_id,
            "expectedTurnId": name,
            "clientUserMessageId": message.message_id,
            "input": input_of(&message),
        });
        self.call("turn/steer", params, Call::Steer { message_id: message.message_id }, out);
    }

    /// The answer to an interrupt may take until a later turn has ended; nothing waits for it.
    pub(super) fn interrupt(&mut self, out: &mut Output) {
        let (Some(thread_id), Some(turn)) = (self.thread.clone(), &mut self.turn) else { return };
        turn.interrupt = true;
        let Some(name) = turn.name().map(str::to_owned) else { return };
        let params = json!({ "threadId": thread_id, "turnId": name });
        self.call("turn/interrupt", params, Call::Interrupt { name }, out);
        // An interrupt also stops the sub-agents.
        self.interrupt_helpers(out);
    }

    pub(super) fn interrupt_helpers(&mut self, out: &mut Output) {
        for (thread_id, turn_id) in self.subagents.running() {
            let params = json!({ "threadId": thread_id, "turnId": turn_id });
            self.call("turn/interrupt", params, Call::Ignore, out);
        }
    }

    /// A call for the running turn was answered with no turn to stop.
    pub(super) fn not_interrupted(&mut self, name: &str, error: &jsonrpc::Error, out: &mut Output) {
        let Some(turn) = &self.turn else { return };
        let Some(at) = turn.names.iter().position(|known| known == name) else { return };
        if error.message.contains("no active turn") {
            // It may have ended by itself, and only wait to hear what it leaves running.
            let ended = self.thread.as_ref().and_then(|thread_id| self.ending.remove(thread_id));
            return match ended {
                Some(end) => self.turn_ends(end, None, out),
                None => self.finish_turn("interrupted", None, out),
            };
        }
        // A review has two names, and answers to one of them.
        if let (Some(next), Some(thread_id)) = (turn.names.get(at + 1).cloned(), self.thread.clone()) {
            let params = json!({ "threadId": thread_id, "turnId": next });
            self.call("turn/interrupt", params, Call::Interrupt { name: next }, out);
        }
    }

    fn roll_back(&mut self, order: &RollbackOrder, out: &mut Output) {
        let Some(thread_id) = self.thread.clone() else { return };
        self.turns_to_roll_back = order.turn_ids.len();
        let known = order.turn_ids.first().and_then(|first| self.turn_names.iter().find(|(id, _)| id == first));
        match known.map(|(_, name)| name.clone()) {
            Some(name) => self.revert(&name, out),
            None if order.to.is_none() && order.kept > 0 => {
                let reason = "it is not known where the conversation stood then".to_owned();
                out.report(Report::RollbackRefused { reason });
            }
            // Another process made these turns: Codex knows what follows the last one that stays.
            None => self.list_turns(&thread_id, None, order.to.clone(), None, out),
        }
    }

    fn list_turns(
        &mut self,
        thread_id: &str,
        cursor: Option<String>,
        to: Option<String>,
        oldest: Option<String>,
        out: &mut Output,
    ) {
        let mut params = Map::new();
        params.insert("threadId".to_owned(), json!(thread_id));
        params.insert("limit".to_owned(), json!(PAGE));
        params.insert("itemsView".to_owned(), json!("notLoaded"));
        params.extend(cursor.map(|cursor| ("cursor".to_owned(), json!(cursor))));
        self.call("thread/turns/list", Value::Object(params), Call::Turns { to, oldest }, out);
    }

    /// Newest first: the last one before `to` is the first that goes.
    pub(super) fn turns_listed(
        &mut self,
        page: Result<Page, String>,
        to: Option<String>,
        mut oldest: Option<String>,
        out: &mut Output,
    ) {
        let (page, thread_id) = match (page, self.thread.clone()) {
            (Ok(page), Some(thread_id)) => (page, thread_id),
            (Err(reason), _) => return out.report(Report::RollbackRefused { reason }),
            (Ok(_), None) => return,
        };
        for turn in page.data {
            let turn: WireTurn = serde_json::from_value(turn).unwrap_or_default();
            if to.as_ref() == Some(&turn.id) {
                return match oldest {
                    Some(name) => self.revert(&name, out),
                    None => out.report(Report::RolledBack { files_restored: false, branched: false }),
                };
            }
            oldest = Some(turn.id).filter(|id| !id.is_empty()).or(oldest);
        }
        match (page.next_cursor, to, oldest) {
            (Some(cursor), to, oldest) => self.list_turns(&thread_id, Some(cursor), to, oldest, out),
            (None, None, Some(name)) => self.revert(&name, out),
            (None, ..) => {
                out.report(Report::RollbackRefused { reason: "Codex does not have these turns".to_owned() });
            }
        }
    }

    fn revert(&mut self, name: &str, out: &mut Output) {
        let params = json!({ "threadId": self.thread, "beforeTurnId": name });
        self.call("thread/revert", params, Call::Revert, out);
    }

    /// Threads that older versions have made cannot be reverted; there turns are counted from the end instead.
    pub(super) fn not_reverted(&mut self, error: jsonrpc::Error, out: &mut Output) {
        if error.message.contains("unknown variant") || error.message.contains("paginated threads") {
            let params = json!({ "threadId": self.thread, "numTurns": self.turns_to_roll_back });
            return self.call("thread/rollback", params, Call::Rollback, out);
        }
        self.rolled_back(Err(error), out);
    }

    pub(super) fn rolled_back(&mut self, result: Result<(), jsonrpc::Error>, out: &mut Output) {
        match result {
            Ok(()) => {
                self.turn_names.clear();
                self.main.usage_meter.reset_baseline();
                out.report(Report::RolledBack { files_restored: false, branched: false });
            }
            Err(error) => out.report(Report::RollbackRefused { reason: error.message }),
        }
    }

    fn close(&self, out: &mut Output) {
        // Not Codex's word: it is for the router, which ends what this session has running, as for one that goes without a word.
        out.write_line(&self.peer.notification("exit", None));
    }

    /// What waited for the turn's name.
    pub(super) fn turn_named(&mut self, out: &mut Output) {
        let Some(turn) = &mut self.turn else { return };
        let steers = std::mem::take(&mut turn.steers);
        if turn.interrupt {
            self.interrupt(out);
        }
        for message in steers {
            self.steer(message, out);
        }
    }

    /// The turn could not even begin.
    pub(super) fn turn_refused(&mut self, what: &str, error: &jsonrpc::Error, out: &mut Output) {
        self.turn = None;
        self.main.compaction_wanted = false;
        self.settings.restore_changes();
        let failure = Some(super::failure::of_refusal(what, error));
        out.report(Report::TurnEnded { outcome: Outcome::Failed, reason: None, failure });
    }
}

/// Something a person should know, though nothing failed. Each has a number, or the last one would take the place of the others.
pub(super) fn warning(number: usize, message: &str) -> EvidenceChanged {
    EvidenceChanged {
        evidence_id: format!("warning.{number}"),
        kind: "warning".to_owned(),
        title: message.to_owned(),
        status: "warning".to_owned(),
        detail: None,
        ..EvidenceChanged::default()
    }
}

/// `/review the tests` as its name and what follows.
fn slash_command(message: &Prompt) -> Option<(&str, &str)> {
    let [Part::Text { text }] = message.content.as_slice() else { return None };
    let command = text.trim().strip_prefix('/')?;
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    Some((name, rest.trim()))
}

fn input_of(message: &Prompt) -> Vec<Value> {
    message.content.iter().filter_map(part).collect()
}

fn part(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } => Some(json!({ "type": "text", "text": text })),
        Part::Image { media_type, data, .. } => {
            let data = data.as_ref()?;
            Some(json!({ "type": "image", "url": format!("data:{media_type};base64,{data}") }))
        }
        Part::File { path } => {
            let name = path.rsplit('/').next().unwrap_or(path);
            Some(json!({ "type": "mention", "name": name, "path": path }))
        }
    }
}
