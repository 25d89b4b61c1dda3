//! How turns end: open items are closed, and running commands are reported as background work.

use std::collections::BTreeSet;

use super::asks::Kind;
use super::failure;
use super::gate::denial;
use super::protocol::CodexProtocol;
use super::terminals::ListPurpose;
use super::wire::{Item, Turn, TurnError, TurnNotification};
use crate::event::{Outcome, TurnResult, WorkStatus};
use crate::runtime::{Output, Report};

/// How many turns are remembered by Codex's name for them.
const MAX_TURN_NAMES: usize = 4_096;
/// How many turns are remembered that are over, so that what still comes of them is not taken for another one's.
const MAX_ENDED: usize = 64;

impl CodexProtocol {
    pub(super) fn turn_completed(&mut self, notice: TurnNotification, out: &mut Output) {
        if !(self.runs(&notice) && !self.ending.contains_key(&notice.thread_id) && self.reads_rollout(&notice, out)) {
            self.turn_told(notice, out);
        }
    }

    fn runs(&self, TurnNotification { thread_id, turn }: &TurnNotification) -> bool {
        let ours = self.turn.as_ref().is_some_and(|running| running.names.contains(&turn.id));
        if self.is_main(thread_id) { ours } else { self.subagents.is_open(thread_id) }
    }

    /// A turn is over, and its calls have been told.
    pub(super) fn turn_told(&mut self, notice: TurnNotification, out: &mut Output) {
        let runs = self.runs(&notice);
        let TurnNotification { thread_id, turn } = &notice;
        let leaves_commands = self.work(thread_id).is_some_and(|work| work.has_open_commands());
        if !(runs && leaves_commands && turn.status != "interrupted") {
            return self.turn_ends(notice, None, out);
        }
        // A command that is still open was left running, or it was dropped with the script that called it. Only Codex knows.
        if !self.ending.contains_key(thread_id) {
            let (thread_id, turn_id) = (thread_id.clone(), turn.id.clone());
            self.ending.insert(thread_id.clone(), notice);
            self.list_terminals(&thread_id, ListPurpose::AfterTurn(turn_id), out);
        }
    }

    /// Codex has said which commands run; if it does not know, all of them do.
    pub(super) fn left_running(
        &mut self,
        thread_id: &str,
        turn_id: &str,
        running: Option<BTreeSet<String>>,
        out: &mut Output,
    ) {
        if self.ending.get(thread_id).is_some_and(|end| end.turn.id == turn_id)
            && let Some(end) = self.ending.remove(thread_id)
        {
            return self.turn_ends(end, running.as_ref(), out);
        }
        if let (Some(running), Some(work)) = (running, self.work(thread_id)) {
            work.drop_background(|(turn, _)| turn == turn_id, &running, out);
        }
    }

    /// A turn is over. `running`: the commands that go on, if that is known.
    pub(super) fn turn_ends(&mut self, notice: TurnNotification, running: Option<&BTreeSet<String>>, out: &mut Output) {
        let TurnNotification { thread_id, turn } = notice;
        if let (Some(running), Some(work)) = (running, self.work(&thread_id)) {
            work.drop_commands(running, out);
        }
        self.turn_over(&thread_id, turn, out);
        if let (Some(running), Some(work)) = (running, self.work(&thread_id)) {
            work.verified(running);
        }
    }

    fn turn_over(&mut self, thread_id: &str, turn: Turn, out: &mut Output) {
        if !self.is_main(thread_id) {
            let (outcome, status) = match turn.status.as_str() {
                "completed" => ("completed", WorkStatus::Completed),
                "failed" => ("failed", WorkStatus::Failed),
                _ => ("interrupted", WorkStatus::Interrupted),
            };
            self.end_work(thread_id, outcome, out);
            return self.subagents.ended(thread_id, status, out);
        }
        let Some(running) = &self.turn else { return };
        if self.has_ended(&turn.id) {
            return;
        }
        if running.names.is_empty() && !running.joined {
            // One of ours that has no name yet has not begun, as far as is known: this is the end of another one.
            self.unnamed_end = Some(TurnNotification { thread_id: thread_id.to_owned(), turn });
            return;
        }
        if self.main.answer.is_none()
            && let Some(Item::AgentMessage { text, .. }) =
                turn.items.last().and_then(|item| serde_json::from_value(item.clone()).ok())
        {
            self.main.answer = Some((true, text));
        }
        if !turn.id.is_empty() {
            let anchor = turn.id.clone();
            if let Some(turn_id) = running.ours.clone() {
                if self.turn_names.len() >= MAX_TURN_NAMES {
                    self.turn_names.remove(0);
                }
                self.turn_names.push((turn_id, anchor.clone()));
            }
            out.report(Report::Anchor(anchor));
        }
        self.finish_turn(&turn.status, turn.error, out);
    }

    /// Ends the running turn in the log.
    pub(super) fn finish_turn(&mut self, status: &str, error: Option<TurnError>, out: &mut Output) {
        for thread_id in self.subagents.unclaimed() {
            self.adopt(&thread_id, None, None, out);
        }
        self.unnamed_end = None;
        self.forget_turn();
        let answer = self.main.answer.take();
        let refused = self.refused.take().filter(|_| answer.is_none());
        if let Some((_, text)) = answer.filter(|_| status == "completed") {
            let structured_output = self.settings.structured(&text);
            out.report(TurnResult { text, structured_output });
        }
        let thread_id = self.thread.clone().unwrap_or_default();
        let compacting = self.main.compacting.is_some();
        self.end_work(&thread_id, status, out);
        self.main.compaction_wanted = false;
        if let Some(usage) = self.main.usage_meter.turn_usage(self.subagents.take_used()) {
            out.report(usage);
        }
        let failed = error.or(self.failed.take());
        let gate_failure = self.gate_failure.take();
        let (outcome, reason, failure) = match status {
            _ if gate_failure.is_some() => (Outcome::Failed, None, gate_failure),
            "completed" => match refused {
                Some(said) => (Outcome::Failed, None, Some(failure::of_refused_answer(said))),
                None => (Outcome::Completed, None, None),
            },
            "failed" => {
                let error = failed.unwrap_or_else(|| TurnError {
                    message: "Codex did not say why".to_owned(),
                    ..TurnError::default()
                });
                let failure = failure::of_turn(&error);
                (Outcome::Failed, None, Some(if compacting { failure::of_compaction(failure) } else { failure }))
            }
            _ => (Outcome::Interrupted, Some("Codex interrupted the turn".to_owned()), None),
        };
        self.failed = None;
        out.report(Report::TurnEnded { outcome, reason, failure });
    }

    /// The running turn is over; its names are remembered for what still comes of it.
    fn forget_turn(&mut self) {
        for name in self.turn.take().into_iter().flat_map(|turn| turn.names) {
            if self.ended.len() >= MAX_ENDED {
                self.ended.pop_front();
            }
            self.ended.push_back(name);
        }
    }

    /// The session wants a new turn while one that it did not begin waits to end: that one is over now, and the new one is not ended by it.
    pub(super) fn finish_pending_end(&mut self, thread_id: &str, out: &mut Output) {
        if let Some(end) = self.ending.remove(thread_id) {
            self.forget_turn();
            self.end_work(thread_id, &end.turn.status, out);
        }
    }

    /// Closes what a thread's turn leaves open, also on the side of Codex.
    pub(super) fn end_work(&mut self, thread_id: &str, status: &str, out: &mut Output) {
        self.ending.remove(thread_id);
        for open in self.asks.forget(thread_id) {
            match open.kind {
                Kind::Proposal { .. } => self.respond(&open.id, denial("the turn has ended"), out),
                _ => drop(self.peer.withdraw(&open.id)),
            }
        }
        let Some(work) = self.work(thread_id) else { return };
        let turn_id = work.turn.clone().unwrap_or_default();
        work.end_turn(status, out);
        if status == "interrupted" {
            // Codex leaves commands running, including ones that it has not reported yet; a stopped turn must stop them too.
            self.list_terminals(thread_id, ListPurpose::EndAll(turn_id), out);
        }
    }
}
