//! Sub-agents. A message is one list of parts, so the work of a sub-agent is shown as the preliminary output of its call; only its asks are parts of
//! their own.

use serde_json::json;

use super::{AiSdk, name};
use crate::dialect::{Frames, keep_tail};
use crate::event::{Envelope, Event, SubagentEnded, SubagentStarted, WorkStatus};
use crate::id::SubagentId;

/// How much of what a sub-agent says is shown, and how much it says before that is told again.
const TEXT_BYTES: usize = 2_000;
const UPDATE_EVERY_BYTES: usize = 200;

/// The calls of a sub-agent that are shown.
const MAX_CALLS: usize = 50;

/// A sub-agent, or a tree of them: those inside one are part of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Lane {
    /// The lane this one is inside of.
    within: Option<String>,
    name: String,
    call: Option<String>,
    text: String,
    unsent_bytes: usize,
    calls: Vec<String>,
    status: &'static str,
}

impl AiSdk {
    pub(super) fn lane_started(&mut self, started: &SubagentStarted, out: &mut Frames) {
        let within = started.parent_subagent_id.as_ref().map(|parent| self.outermost(parent.as_str()));
        let lane = Lane {
            within,
            name: started.name.clone(),
            call: started.parent_tool_use_id.as_ref().map(|id| name(id.as_str()).to_owned()),
            status: "running",
            ..Lane::default()
        };
        let id = started.subagent_id.as_str();
        self.lanes.insert(id.to_owned(), lane);
        self.write_lane(id, out);
    }

    pub(super) fn lane_ended(&mut self, ended: &SubagentEnded, out: &mut Frames) {
        let id = ended.subagent_id.as_str();
        if let Some(lane) = self.lanes.get_mut(id) {
            lane.status = match ended.status {
                WorkStatus::Completed => "completed",
                WorkStatus::Failed => "failed",
                WorkStatus::Interrupted => "interrupted",
            };
            self.write_lane(id, out);
        }
    }

    fn outermost(&self, id: &str) -> String {
        self.lanes.get(id).and_then(|lane| lane.within.clone()).unwrap_or_else(|| id.to_owned())
    }

    pub(super) fn in_lane(&mut self, subagent: &SubagentId, envelope: &Envelope, out: &mut Frames) {
        let id = self.outermost(subagent.as_str());
        match &envelope.event {
            Event::Delta(delta) => {
                let Some(lane) = self.lanes.get_mut(&id) else { return };
                keep_tail(&mut lane.text, &delta.text, TEXT_BYTES);
                lane.unsent_bytes += delta.text.len();
                if lane.unsent_bytes >= UPDATE_EVERY_BYTES || (delta.done && lane.unsent_bytes > 0) {
                    self.write_lane(&id, out);
                }
            }
            Event::ToolStart(start) => {
                let Some(lane) = self.lanes.get_mut(&id) else { return };
                if lane.calls.len() < MAX_CALLS {
                    lane.calls.push(start.tool.clone());
                    self.write_lane(&id, out);
                }
            }
            Event::ToolProgress(progress) if self.is_shown(name(progress.tool_use_id.as_str())) => {
                self.tool_progress(progress, out);
            }
            Event::ToolResult(result) if self.is_shown(name(result.tool_use_id.as_str())) => {
                self.tool_result(result, out);
            }
            Event::PermissionRequest(_) | Event::QuestionRequest(_) | Event::Interrupt(_) => self.ask(envelope, out),
            Event::PermissionResolved(_) | Event::QuestionResolved(_) | Event::InterruptResolved(_) => {
                self.answer(envelope, out);
            }
            Event::SubagentStarted(started) => self.lane_started(started, out),
            Event::SubagentEnded(ended) => self.lane_ended(ended, out),
            _ => {}
        }
    }

    fn write_lane(&mut self, id: &str, out: &mut Frames) {
        let Some(lane) = self.lanes.get_mut(id).filter(|lane| lane.within.is_none()) else { return };
        lane.unsent_bytes = 0;
        let told = json!({ "name": lane.name, "status": lane.status, "text": lane.text, "tools": lane.calls });
        match lane.call.clone().filter(|call| self.is_running(call)) {
            Some(call) => self.preliminary(&call, &told, out),
            None => self.part("subagent", name(id), told, out),
        }
    }
}
