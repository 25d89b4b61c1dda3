//! What the agent asks of people, and what they answered.

use super::{Key, Step, tell};
use crate::event::{
    Interrupt, InterruptResolved, PermissionRequest, PermissionResolved, QuestionRequest, QuestionResolved, Unanswered,
};
use crate::id::{AskId, ToolUseId};
use crate::summary::AskKind;
use crate::view::begin;
use crate::view::block::{
    InterruptBlock, InterruptState, PermissionBlock, PermissionState, QuestionBlock, QuestionState, ToolBlock,
};
use crate::view::change::Path;
use crate::view::nodes::OpenAsk;

impl Step<'_> {
    pub(super) fn permission_request(&mut self, request: &PermissionRequest) {
        let path = self.insert_as(key(&request.ask_id), |birth| begin::permission(birth, request));
        self.opened(&request.ask_id, AskKind::Permission, path);
    }

    pub(super) fn permission_resolved(&mut self, resolved: &PermissionResolved) {
        let (at, unanswered) = (self.envelope.ts, resolved.why_unanswered());
        self.edit(&key(&resolved.ask_id), |block: &mut PermissionBlock| {
            block.state = match resolved.allowed {
                // Nobody answered, but its rule had said how it ends then.
                _ if unanswered.is_some_and(|why| why != Unanswered::Expired) => PermissionState::Withdrawn,
                true => PermissionState::Allowed,
                false => PermissionState::Rejected,
            };
            block.reply = Some(resolved.reply);
            block.by = Some(resolved.by.clone());
            block.reason.clone_from(&resolved.reason);
            block.rule.clone_from(&resolved.rule);
            block.along_with.clone_from(&resolved.along_with);
            block.unanswered = unanswered;
            block.ended_at = Some(at);
        });
        self.settled(&resolved.ask_id);
    }

    pub(super) fn question_request(&mut self, request: &QuestionRequest) {
        let path = self.insert_as(key(&request.ask_id), |birth| begin::question(birth, request));
        self.opened(&request.ask_id, AskKind::Question, path);
        self.cover_row(request.covers.as_ref(), &request.ask_id);
    }

    pub(super) fn question_resolved(&mut self, resolved: &QuestionResolved) {
        let (at, unanswered) = (self.envelope.ts, resolved.why_unanswered());
        self.edit(&key(&resolved.ask_id), |block: &mut QuestionBlock| {
            block.state = match resolved.answers {
                _ if unanswered.is_some() => QuestionState::Withdrawn,
                Some(_) => QuestionState::Answered,
                None => QuestionState::Rejected,
            };
            block.answers.clone_from(&resolved.answers);
            block.by = Some(resolved.by.clone());
            block.reason.clone_from(&resolved.reason);
            block.unanswered = unanswered;
            block.ended_at = Some(at);
        });
        self.settled(&resolved.ask_id);
    }

    pub(super) fn interrupt(&mut self, request: &Interrupt) {
        let path = self.insert_as(key(&request.interrupt_id), |birth| begin::interrupt(birth, request));
        self.opened(&request.interrupt_id, AskKind::Interrupt, path);
        self.cover_row(request.covers.as_ref(), &request.interrupt_id);
    }

    /// The row of a call that waits for a person says nothing that the ask does not say.
    fn cover_row(&mut self, covers: Option<&ToolUseId>, ask_id: &AskId) {
        if let Some(path) = covers.and_then(|call| self.place(&Key::Tool(call.to_string()))) {
            let now = Some(ask_id.to_string());
            self.set_at(&path, "covered_by", now, |block: &mut ToolBlock, now| block.covered_by = now);
        }
    }

    pub(super) fn interrupt_resolved(&mut self, resolved: &InterruptResolved) {
        let at = self.envelope.ts;
        self.edit(&key(&resolved.interrupt_id), |block: &mut InterruptBlock| {
            block.state = match (&resolved.value, resolved.is_error) {
                (None, _) => InterruptState::Withdrawn,
                (Some(_), Some(true)) => InterruptState::Failed,
                (Some(_), _) => InterruptState::Answered,
            };
            block.value.clone_from(&resolved.value);
            block.by = Some(resolved.by.clone());
            block.reason.clone_from(&resolved.reason);
            block.unanswered = resolved.why_unanswered();
            block.ended_at = Some(at);
        });
        self.settled(&resolved.interrupt_id);
    }

    fn opened(&mut self, ask_id: &AskId, kind: AskKind, path: Path) {
        let (ask_id, asked_at) = (ask_id.clone(), self.envelope.ts);
        self.fold.view.asks.push(OpenAsk { ask_id, kind, path, asked_at });
        tell!(self, asks);
    }

    fn settled(&mut self, ask_id: &AskId) {
        self.closed(&key(ask_id));
        self.fold.view.asks.retain(|ask| ask.ask_id != *ask_id);
        tell!(self, asks);
    }
}

fn key(ask_id: &AskId) -> Key {
    Key::Ask(ask_id.to_string())
}
