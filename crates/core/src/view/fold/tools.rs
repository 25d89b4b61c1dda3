//! What the agent does.

use super::{Early, Key, Step};
use crate::event::{ToolDecided, ToolProgress, ToolResult, ToolStart};
use crate::view::begin;
use crate::view::block::{Decision, ToolBlock};
use crate::view::change::TextField;

impl Step<'_> {
    pub(super) fn tool_start(&mut self, start: &ToolStart) {
        let id = start.tool_use_id.to_string();
        let decision = self.fold.open.decided.remove(&id);
        let covered_by = start.component.as_ref().and_then(|component| self.cover_of(&id, &component.component_id));
        let path = self.insert_as(Key::Tool(id.clone()), |birth| begin::tool(birth, start, decision, covered_by));
        if let Some(component) = &start.component {
            self.fold.open.places.insert(Key::CoveredRow(component.component_id.clone()), path.clone());
        }
        self.count_for_subagent(|block| block.tool_calls += 1);
        if let Some(Early { at, result, .. }) = self.fold.open.early.remove(&id) {
            self.edit_at(&path, |block: &mut ToolBlock| block.finish(start, &result, at));
            self.closed(&Key::Tool(id));
        } else {
            self.fold.open.calls.insert(id, start.clone());
        }
    }

    pub(super) fn tool_decided(&mut self, decided: &ToolDecided) {
        let key = Key::Tool(decided.tool_use_id.to_string());
        let decision = Decision::from(&decided.judged);
        match self.place(&key) {
            Some(path) => self.set_at(&path, "decision", decision, |block: &mut ToolBlock, now| {
                block.decision = Some(now);
            }),
            // Its call may still come.
            None => {
                self.fold.open.decided.insert(decided.tool_use_id.to_string(), decision);
            }
        }
    }

    pub(super) fn tool_progress(&mut self, progress: &ToolProgress) {
        let key = Key::Tool(progress.tool_use_id.to_string());
        let Some(path) = self.place(&key) else { return };
        if let Some(text) = &progress.text {
            self.append(&path, TextField::Live, text, |block: &mut ToolBlock| block.live.get_or_insert_default());
        }
        if let Some(fraction) = progress.fraction {
            self.set_at(&path, "fraction", fraction, |block: &mut ToolBlock, now| block.fraction = Some(now));
        }
    }

    pub(super) fn tool_result(&mut self, result: &ToolResult) {
        let id = result.tool_use_id.to_string();
        let key = Key::Tool(id.clone());
        let Some(path) = self.place(&key) else {
            // Its call may still come.
            let (at, turn_id) = (self.envelope.ts, self.envelope.turn_id.clone());
            self.fold.open.early.insert(id, Early { at, turn_id, result: result.clone() });
            return;
        };
        let start = self.fold.open.calls.remove(&id).unwrap_or_default();
        let (at, goes_on) = (self.envelope.ts, self.is_background_call(&id));
        self.edit_at(&path, |block: &mut ToolBlock| {
            if goes_on {
                // This only says so.
                block.take_output(result);
            } else {
                block.finish(&start, result, at);
            }
        });
        if !goes_on {
            self.closed(&key);
        }
        if result.diff.is_some() {
            self.count_for_subagent(|block| block.file_changes += 1);
        }
    }

    /// Whether this call goes on in the background.
    fn is_background_call(&self, tool_use_id: &str) -> bool {
        let of_call = |id: &crate::id::ToolUseId| id.as_str() == tool_use_id;
        self.fold.view.background.iter().any(|work| work.tool_use_id.as_ref().is_some_and(of_call))
    }
}
