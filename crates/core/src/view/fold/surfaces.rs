//! Updates of what is shown beside the conversation: the session itself, shared state, artifacts, plans, notes.

use serde_json::Value;

use super::{Key, Step, tell};
use crate::blob::BlobRef;
use crate::event::{
    ArtifactUpdated, ArtifactVersion, CompactionEnd, CompactionStart, DiffUpdated, Forked, PlanUpdated, SessionReady,
    SessionUpdated, StateDelta, Status, Steer, SteerState, StepStatus, Unknown,
};
use crate::id::SessionId;
use crate::shared;
use crate::view::block::{
    ArtifactBlock, CompactionBlock, CompactionStatus, DiffBlock, ImageBlock, NoteBlock, NoteLevel, PlanBlock,
    UnknownBlock,
};
use crate::view::nodes::{CurrentActivity, PendingSteer, Plan, PlanStep, PlanStepStatus};

impl Step<'_> {
    /// Takes all that it says of the session; why it was not resumed is said once, as a warning.
    pub(super) fn session_ready(&mut self, ready: &SessionReady) {
        self.session(|session| {
            session.runtime = Some(ready.runtime.clone());
            session.ended = None;
            keep(&mut session.session_id, ready.session_id.as_ref());
            keep(&mut session.provider_session_id, ready.provider_session_id.as_ref());
            keep(&mut session.resumed, ready.resumed.as_ref());
            keep(&mut session.title, ready.title.as_ref());
            keep(&mut session.cwd, ready.cwd.as_ref());
            keep(&mut session.model, ready.model.as_ref());
            keep(&mut session.mode, ready.mode.as_ref());
            keep(&mut session.version, ready.version.as_ref());
            keep(&mut session.commands, ready.commands.as_ref());
            keep(&mut session.models, ready.models.as_ref());
        });
        if ready.resumed == Some(false) {
            let reason = ready.reason.as_deref().unwrap_or("it did not say why");
            self.warn(&format!("The agent does not remember this conversation: {reason}"));
        }
    }

    pub(super) fn session_updated(&mut self, updated: &SessionUpdated) {
        if updated.title.is_some() || updated.archived.is_some() {
            self.session(|session| {
                keep(&mut session.title, updated.title.as_ref());
                keep(&mut session.archived, updated.archived.as_ref());
            });
        }
    }

    pub(super) fn status(&mut self, status: &Status) {
        self.fold.view.activity = Some(CurrentActivity {
            state: status.state,
            label: status.label.clone(),
            attempt: status.attempt,
            detail: status.detail.clone(),
            since: self.envelope.ts,
        });
        tell!(self, activity);
    }

    pub(super) fn steer(&mut self, steer: &Steer) {
        if steer.state == SteerState::Accepted {
            self.name_after(steer.content.as_deref().unwrap_or_default());
            let (message_id, content) = (steer.message_id.clone(), steer.content.clone());
            self.fold.view.steers.push(PendingSteer { message_id, content });
        } else {
            self.fold.view.steers.retain(|known| known.message_id != steer.message_id);
        }
        tell!(self, steers);
    }

    pub(super) fn shared_state(&mut self, state: Value) {
        self.fold.view.state = Some(state).filter(|state| !state.is_null());
        tell!(self, state);
    }

    pub(super) fn patched_state(&mut self, delta: &StateDelta) {
        let state = self.fold.view.state.as_ref().unwrap_or(&Value::Null);
        // A patch that does not fit changes nothing; the log keeps it.
        if let Ok(state) = shared::patched(state, &delta.patch) {
            self.shared_state(state);
        }
    }

    pub(super) fn plan(&mut self, updated: &PlanUpdated) {
        let status = |status: StepStatus| match status {
            StepStatus::Pending => PlanStepStatus::Pending,
            StepStatus::Running => PlanStepStatus::Running,
            StepStatus::Done => PlanStepStatus::Done,
        };
        let steps = updated.steps.iter();
        let steps: Vec<PlanStep> =
            steps.map(|step| PlanStep { text: step.text.clone(), status: status(step.status) }).collect();
        let explanation = updated.explanation.clone();
        self.fold.view.plan = Some(Plan { steps: steps.clone(), explanation: explanation.clone() });
        tell!(self, plan);
        let message = self.agent_message();
        let key = Key::Plan(message.clone());
        if self.fold.open.places.contains_key(&key) {
            return self.edit(&key, |block: &mut PlanBlock| (block.steps, block.explanation) = (steps, explanation));
        }
        let path = self.insert_in(vec![message], |birth| {
            PlanBlock { id: birth.id, started_at: birth.at, steps, explanation, ..PlanBlock::default() }.into()
        });
        self.fold.open.places.insert(key, path);
    }

    pub(super) fn diff(&mut self, updated: &DiffUpdated) {
        let message = self.agent_message();
        let (key, files) = (Key::Diff(message.clone()), updated.files.clone());
        if self.fold.open.places.contains_key(&key) {
            return self.edit(&key, |block: &mut DiffBlock| block.files = files);
        }
        let path = self.insert_in(vec![message], |birth| {
            DiffBlock { id: birth.id, started_at: birth.at, files, ..DiffBlock::default() }.into()
        });
        self.fold.open.places.insert(key, path);
    }

    pub(super) fn artifact_updated(&mut self, updated: &ArtifactUpdated) {
        let key = Key::Artifact(updated.artifact_id.clone());
        self.edit(&key, |block: &mut ArtifactBlock| {
            block.title = updated.title.clone().unwrap_or_else(|| std::mem::take(&mut block.title));
            replace(&mut block.content, &mut block.blob, updated);
        });
        self.edit(&key, |block: &mut ImageBlock| {
            keep(&mut block.title, updated.title.as_ref());
            replace(&mut block.content, &mut block.blob, updated);
        });
    }

    pub(super) fn artifact_version(&mut self, version: &ArtifactVersion) {
        let key = Key::Artifact(version.artifact_id.clone());
        let (number, label) = (Some(version.version), &version.label);
        self.edit(&key, |block: &mut ArtifactBlock| {
            block.version = number;
            block.label.clone_from(label);
        });
        self.edit(&key, |block: &mut ImageBlock| {
            block.version = number;
            block.label.clone_from(label);
        });
    }

    pub(super) fn compaction_started(&mut self, start: &CompactionStart) {
        self.insert_as(Key::Compaction, |birth| {
            let block = CompactionBlock::default();
            CompactionBlock { id: birth.id, started_at: birth.at, trigger: start.trigger, ..block }.into()
        });
    }

    pub(super) fn compaction_ended(&mut self, end: &CompactionEnd) {
        let at = self.envelope.ts;
        self.edit(&Key::Compaction, |block: &mut CompactionBlock| {
            block.status = if end.failed == Some(true) { CompactionStatus::Failed } else { CompactionStatus::Done };
            block.removed = end.removed;
            block.kept = end.kept;
            block.tokens_before = end.tokens_before;
            block.tokens_after = end.tokens_after;
            block.reason = Some(end.reason);
            block.failed = end.failed;
            block.ended_at = Some(at);
        });
        self.fold.open.places.remove(&Key::Compaction);
    }

    pub(super) fn forked(&mut self, forked: &Forked) {
        let title = forked.from_title.as_deref().filter(|title| !title.is_empty()).unwrap_or("another session");
        let from = Some(forked.from_session.clone());
        self.line(NoteLevel::Info, format!("Forked from {title}"), from);
        // A copy works for nobody.
        self.session(|session| session.parent_session_id = None);
    }

    pub(super) fn note(&mut self, label: &str) {
        self.line(NoteLevel::Info, label.to_owned(), None);
    }

    pub(super) fn warn(&mut self, label: &str) {
        self.line(NoteLevel::Warning, label.to_owned(), None);
    }

    fn line(&mut self, level: NoteLevel, label: String, session_id: Option<SessionId>) {
        self.insert(|birth| {
            let (id, started_at, block) = (birth.id, birth.at, NoteBlock::default());
            NoteBlock { id, started_at, level, label, session_id, ..block }.into()
        });
    }

    pub(super) fn unknown(&mut self, unknown: &Unknown) {
        let data = serde_json::from_str(unknown.data.get()).unwrap_or_default();
        let event_type = unknown.kind.clone();
        self.insert(|birth| {
            UnknownBlock { id: birth.id, started_at: birth.at, event_type, data, ..UnknownBlock::default() }.into()
        });
    }
}

/// What is in an artifact is in the event or elsewhere, and where it was before it is not any more.
fn replace(content: &mut Option<String>, blob: &mut Option<BlobRef>, updated: &ArtifactUpdated) {
    if updated.content.is_some() || updated.blob.is_some() {
        content.clone_from(&updated.content);
        blob.clone_from(&updated.blob);
    }
}

/// Takes a value that was told; what was not told stays.
fn keep<T: Clone>(known: &mut Option<T>, told: Option<&T>) {
    if told.is_some() {
        *known = told.cloned();
    }
}
