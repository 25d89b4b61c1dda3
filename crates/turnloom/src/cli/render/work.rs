//! What an agent makes and starts: plans, changes, sub-agents, background work, components, artifacts.

use std::mem;

use serde_json::Value;
use turnloom_core::event::{
    ArtifactCreated, ArtifactVersion, BackgroundEnded, BackgroundStarted, CompactionEnd, ComponentUpdate,
    DelegationStarted, DelegationState, DelegationUpdated, DiffUpdated, FileChange, PlanStep, PlanUpdated, StepStatus,
    SubagentEnded, SubagentStarted, SubagentUpdated, WorkStatus,
};
use turnloom_core::id::SubagentId;

use super::style::Ink;
use super::text::{bytes, clean, count, number, one_line};
use super::{Channel, Renderer, Section};

/// How much of one change is shown.
const DIFF_LINES: usize = 40;

/// A sub-agent that runs.
#[derive(Debug)]
pub(super) struct Subagent {
    name: String,
    depth: usize,
}

impl Renderer {
    pub(super) fn depth(&self, by: Option<&SubagentId>) -> usize {
        by.map_or(0, |id| self.subagents.get(id).map_or(1, |subagent| subagent.depth))
    }

    pub(super) fn subagent_started(&mut self, started: &SubagentStarted) {
        let parent = started.parent_subagent_id.as_ref();
        let name = one_line(&started.name);
        let background = if started.background == Some(true) { " in the background" } else { "" };
        self.note(parent, Ink::Cyan, "◆", &format!("{name} started{background}"));
        let depth = self.depth(parent) + 1;
        self.subagents.insert(started.subagent_id.clone(), Subagent { name, depth });
        self.delegated.extend(started.parent_tool_use_id.clone());
    }

    pub(super) fn delegation_started(&mut self, by: Option<&SubagentId>, started: &DelegationStarted) {
        let what = format!("{}: {} ({})", started.runtime, one_line(&started.title), started.child_session_id);
        self.note(by, Ink::Cyan, "◆", &what);
    }

    /// How it ended, and that it asks. What it does would only stand in the way.
    pub(super) fn delegation_updated(&mut self, by: Option<&SubagentId>, updated: &DelegationUpdated) {
        let id = &updated.child_session_id;
        if let Some(asked) = updated.asks.first() {
            self.note(by, Ink::Yellow, "◆", &format!("{id} asks: {}", one_line(&asked.ask.title)));
        } else if !updated.state.is_open() && (updated.turn_id.is_some() || updated.reason.is_some()) {
            let reason = updated.reason.as_deref().map(|reason| format!(": {}", one_line(reason)));
            let ink = if updated.state == DelegationState::Completed { Ink::Cyan } else { Ink::Yellow };
            self.note(by, ink, "◆", &format!("{id} {}{}", updated.state.as_str(), reason.unwrap_or_default()));
        }
    }

    pub(super) fn subagent_updated(&mut self, updated: &SubagentUpdated) {
        let name = self.subagents.get(&updated.subagent_id).map(|subagent| subagent.name.clone());
        if let (Some(name), Some(true)) = (name, updated.background) {
            self.note(Some(&updated.subagent_id), Ink::Dim, "◆", &format!("{name} goes on in the background"));
        }
    }

    pub(super) fn subagent_ended(&mut self, ended: &SubagentEnded) {
        let depth = self.depth(Some(&ended.subagent_id));
        let Some(subagent) = self.subagents.remove(&ended.subagent_id) else { return };
        let calls = count(usize::try_from(ended.tool_calls).unwrap_or(usize::MAX), "tool call");
        let changes = match usize::try_from(ended.file_changes).unwrap_or(usize::MAX) {
            0 => String::new(),
            n => format!(", {}", count(n, "file change")),
        };
        let (ink, word) = status(ended.status);
        // It stands where its start stood, one step further out than its own lines.
        let parent = self.subagents.iter().find(|(_, other)| other.depth + 1 == depth).map(|(id, _)| id.clone());
        self.section(Section::Lines);
        self.note(parent.as_ref(), ink, "◆", &format!("{} {word}  {calls}{changes}", subagent.name));
    }

    pub(super) fn background_started(&mut self, by: Option<&SubagentId>, started: &BackgroundStarted) {
        // The tool goes on, but nobody waits for it.
        if let Some(id) = &started.tool_use_id {
            self.tools.remove(id);
            self.tool_order.retain(|open| open != id);
        }
        let label = one_line(&started.label);
        self.names.insert(started.background_id.to_string(), label.clone());
        self.note(by, Ink::Cyan, "◇", &format!("{label} goes on in the background"));
    }

    pub(super) fn background_ended(&mut self, by: Option<&SubagentId>, ended: &BackgroundEnded) {
        let (ink, word) = status(ended.status);
        let code = ended.exit_code.map(|code| format!("  exit {code}")).unwrap_or_default();
        let name = self.named(ended.background_id.as_str());
        self.note(by, ink, "◇", &format!("{name} {word} in the background{code}"));
    }

    /// The whole plan the first time; afterwards only what changed.
    pub(super) fn plan_updated(&mut self, by: Option<&SubagentId>, plan: &PlanUpdated) {
        let before = mem::replace(&mut self.plan, plan.steps.clone());
        let same_steps =
            before.len() == plan.steps.len() && before.iter().zip(&plan.steps).all(|(a, b)| a.text == b.text);
        let changed: Vec<&PlanStep> = if same_steps {
            before.iter().zip(&plan.steps).filter(|(a, b)| a.status != b.status).map(|(_, b)| b).collect()
        } else {
            plan.steps.iter().collect()
        };
        if changed.is_empty() {
            return;
        }
        let done = plan.steps.iter().filter(|step| step.status == StepStatus::Done).count();
        let progress = if done == 0 { String::new() } else { format!("  {done} of {}", plan.steps.len()) };
        self.section(Section::Box);
        self.line(by, &format!("Plan{progress}"), Ink::Bold);
        if let Some(why) = &plan.explanation {
            self.line(by, &one_line(why), Ink::Dim);
        }
        for step in changed {
            let (ink, mark) = match step.status {
                StepStatus::Done => (Ink::Green, "✓"),
                StepStatus::Running => (Ink::Cyan, "▸"),
                StepStatus::Pending => (Ink::Dim, "○"),
            };
            let line = format!("{}{} {}\n", self.margin(by), self.activity.paint(ink, mark), one_line(&step.text));
            self.print(Channel::Activity, &line);
        }
    }

    pub(super) fn diff_updated(&mut self, by: Option<&SubagentId>, diff: &DiffUpdated) {
        for file in &diff.files {
            let word = match file.kind {
                FileChange::Added => "Added",
                FileChange::Modified => "Changed",
                FileChange::Deleted => "Deleted",
                FileChange::Renamed => "Renamed",
            };
            self.note(by, Ink::Cyan, "±", &format!("{word} {}  {}", one_line(&file.path), diff_size(&file.diff)));
            self.diff_lines(by, &file.diff);
        }
    }

    pub(super) fn diff_lines(&mut self, by: Option<&SubagentId>, diff: &str) {
        let diff = clean(diff);
        // The names of the files stand in the line above.
        let lines: Vec<&str> =
            diff.lines().filter(|line| !line.starts_with("--- ") && !line.starts_with("+++ ")).collect();
        for line in lines.iter().take(DIFF_LINES) {
            let ink = match line.chars().next() {
                Some('+') => Ink::Green,
                Some('-') => Ink::Red,
                _ => Ink::Dim,
            };
            self.line(by, &format!("  {line}"), ink);
        }
        if lines.len() > DIFF_LINES {
            self.line(by, &format!("  … {} more", count(lines.len() - DIFF_LINES, "line")), Ink::Dim);
        }
    }

    pub(super) fn component(&mut self, by: Option<&SubagentId>, update: &ComponentUpdate) {
        let name = one_line(&update.name);
        self.names.insert(update.component_id.clone(), name.clone());
        self.detail(by, &format!("Component {name}"), &update.props.to_string());
    }

    pub(super) fn state_changed(&mut self, by: Option<&SubagentId>, patch: &Value) {
        let text = |op: &Value, name: &str| op.get(name).and_then(Value::as_str).map(one_line).unwrap_or_default();
        let ops: Vec<String> = patch
            .as_array()
            .map(|ops| ops.iter().map(|op| format!("{} {}", text(op, "op"), text(op, "path"))).collect())
            .unwrap_or_default();
        self.detail(by, "State", &ops.join(", "));
    }

    pub(super) fn artifact_created(&mut self, by: Option<&SubagentId>, artifact: &ArtifactCreated) {
        let title = one_line(&artifact.title);
        self.names.insert(artifact.artifact_id.clone(), title.clone());
        let size = artifact.blob.as_ref().map(|blob| blob.size);
        let size = size.or_else(|| artifact.content.as_ref().map(|content| content.len() as u64)).map(bytes);
        let place = artifact.path.as_deref().map(one_line);
        let what: Vec<String> = [Some(one_line(&artifact.media_type)), size, place].into_iter().flatten().collect();
        self.detail(by, &format!("Artifact {title}"), &what.join(", "));
    }

    pub(super) fn artifact_version(&mut self, by: Option<&SubagentId>, version: &ArtifactVersion) {
        let label = version.label.as_deref().map(|label| format!(", {}", one_line(label))).unwrap_or_default();
        let name = self.named(&version.artifact_id);
        self.detail(by, &format!("Artifact {name}"), &format!("version {}{label}", version.version));
    }

    pub(super) fn compacted(&mut self, by: Option<&SubagentId>, end: &CompactionEnd) {
        self.doing = None;
        if end.failed == Some(true) {
            return self.note(by, Ink::Yellow, "!", "Compaction did not finish; the conversation goes on as it was");
        }
        let size = match (end.tokens_before, end.tokens_after) {
            (Some(before), Some(after)) => format!(": {} tokens became {}", number(before), number(after)),
            _ => String::new(),
        };
        self.note(by, Ink::Dim, "▪", &format!("Compacted{size}"));
    }
}

fn status(status: WorkStatus) -> (Ink, &'static str) {
    match status {
        WorkStatus::Completed => (Ink::Green, "ended"),
        WorkStatus::Failed => (Ink::Red, "failed"),
        WorkStatus::Interrupted => (Ink::Yellow, "was interrupted"),
    }
}

/// `+2 -1`.
pub(super) fn diff_size(diff: &str) -> String {
    let lines = |sign: char, header: &str| {
        diff.lines().filter(|line| line.starts_with(sign) && !line.starts_with(header)).count()
    };
    format!("+{} -{}", lines('+', "+++ "), lines('-', "--- "))
}
