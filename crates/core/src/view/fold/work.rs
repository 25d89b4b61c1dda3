//! Sub-agents, and what goes on between turns.

use super::{Key, Step, tell};
use crate::event::{
    BackgroundEnded, BackgroundKind, BackgroundStarted, DelegationStarted, DelegationUpdated, SubagentEnded,
    SubagentStarted, SubagentUpdated,
};
use crate::id::{BackgroundId, SessionId, SubagentId};
use crate::nesting::MAX_SUBAGENTS;
use crate::view::begin;
use crate::view::block::{DelegationBlock, SubagentBlock, ToolBlock, ToolStatus};
use crate::view::nodes::BackgroundWork;

impl Step<'_> {
    pub(super) fn subagent_started(&mut self, started: &SubagentStarted) {
        let parent = started.parent_subagent_id.as_ref().map(|id| Key::Subagent(id.to_string()));
        let inside = parent.and_then(|key| self.place(&key));
        let mut inside = inside.unwrap_or_else(|| vec![self.agent_message()]);
        inside.truncate(MAX_SUBAGENTS);
        let path = self.insert_in(inside, |birth| begin::subagent(birth, started));
        self.fold.open.places.insert(key(&started.subagent_id), path);
        if started.background == Some(true) {
            self.subagent_in_background(&started.subagent_id);
        }
    }

    pub(super) fn subagent_updated(&mut self, updated: &SubagentUpdated) {
        self.edit_subagent(&key(&updated.subagent_id), |block| block.background = updated.background);
        if updated.background == Some(true) {
            self.subagent_in_background(&updated.subagent_id);
        }
    }

    pub(super) fn subagent_ended(&mut self, ended: &SubagentEnded) {
        self.leave_background(ended.subagent_id.as_str());
        let at = self.envelope.ts;
        self.edit_subagent(&key(&ended.subagent_id), |block| {
            block.status = ended.status.into();
            block.tool_calls = ended.tool_calls;
            block.file_changes = ended.file_changes;
            block.ended_at = Some(at);
        });
    }

    /// The card of another session stands for the call that began it.
    pub(super) fn delegation_started(&mut self, started: &DelegationStarted) {
        let card = delegation(&started.child_session_id);
        self.insert_as(card, |birth| begin::delegation(birth, started));
        if let Some(path) = started.tool_use_id.as_ref().and_then(|call| self.place(&Key::Tool(call.to_string()))) {
            let now = Some(started.child_session_id.to_string());
            self.set_at(&path, "covered_by", now, |block: &mut ToolBlock, now| block.covered_by = now);
        }
    }

    pub(super) fn delegation_updated(&mut self, updated: &DelegationUpdated) {
        let at = self.envelope.ts;
        self.edit(&delegation(&updated.child_session_id), |block: &mut DelegationBlock| {
            block.state = updated.state;
            block.activity.clone_from(&updated.activity);
            block.asks.clone_from(&updated.asks);
            let has_ended = updated.turn_id.is_some() || updated.text.is_some() || updated.reason.is_some();
            if has_ended {
                (block.text, block.reason) = (updated.text.clone(), updated.reason.clone());
            }
            block.ended_at = (!updated.state.is_open()).then(|| block.ended_at.filter(|_| !has_ended).unwrap_or(at));
        });
    }

    /// Counts something that a sub-agent did.
    pub(super) fn count_for_subagent(&mut self, count: impl FnOnce(&mut SubagentBlock)) {
        if let Some(id) = &self.envelope.subagent_id {
            self.edit_subagent(&key(id), count);
        }
    }

    /// A sub-agent that goes on between turns is listed with the rest of what does.
    fn subagent_in_background(&mut self, id: &SubagentId) {
        let label = self.block_of(&key(id)).map(|block: &SubagentBlock| block.name.clone()).unwrap_or_default();
        self.fold.view.background.push(BackgroundWork {
            background_id: BackgroundId::trusted(id.as_str()),
            kind: BackgroundKind::Agent,
            label,
            tool_use_id: None,
            started_at: self.envelope.ts,
        });
        tell!(self, background);
    }

    pub(super) fn background_started(&mut self, started: &BackgroundStarted) {
        self.fold.view.background.push(BackgroundWork {
            background_id: started.background_id.clone(),
            kind: started.kind,
            label: started.label.clone(),
            tool_use_id: started.tool_use_id.clone(),
            started_at: self.envelope.ts,
        });
        tell!(self, background);
        if let Some(tool_use_id) = &started.tool_use_id {
            let key = Key::Tool(tool_use_id.to_string());
            self.edit(&key, |block: &mut ToolBlock| block.status = ToolStatus::Background);
        }
    }

    pub(super) fn background_ended(&mut self, ended: &BackgroundEnded) {
        let Some(work) = self.leave_background(ended.background_id.as_str()) else { return };
        let (Some(tool_use_id), at) = (work.tool_use_id, self.envelope.ts) else { return };
        let key = Key::Tool(tool_use_id.to_string());
        self.edit(&key, |block: &mut ToolBlock| {
            block.status = ended.status.into();
            block.output.clone_from(&ended.output);
            block.exit_code = ended.exit_code;
            block.blob.clone_from(&ended.blob);
            block.images.clone_from(&ended.images);
            block.ended_at = Some(at);
            block.clear_progress();
        });
        self.closed(&key);
    }

    fn leave_background(&mut self, id: &str) -> Option<BackgroundWork> {
        let known = self.fold.view.background.iter().find(|work| work.background_id.as_str() == id).cloned()?;
        self.fold.view.background.retain(|work| work.background_id.as_str() != id);
        tell!(self, background);
        Some(known)
    }
}

fn key(subagent_id: &SubagentId) -> Key {
    Key::Subagent(subagent_id.to_string())
}

fn delegation(child: &SessionId) -> Key {
    Key::Delegation(child.to_string())
}
