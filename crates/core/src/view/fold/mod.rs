//! Folds events into a view and emits the changes.

mod asks;
mod components;
mod edit;
mod messages;
mod parts;
mod surfaces;
mod text;
mod tools;
mod work;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::parts::Parts;
pub use self::parts::{NotUsable, Part};
use super::block::Decision;
use super::change::{Ops, Path};
use super::nodes::{FileSummary, View};
use super::window::{Snapshot, Window};
use crate::changes::Changes;
use crate::component::Shown;
use crate::event::{Envelope, Event, ToolResult, ToolStart};
use crate::id::{Seq, TurnId};
use crate::projection::Projection;
use crate::time::Timestamp;

/// A view and what is needed to bring it forward. All of it comes from the log.
#[derive(Debug, Default)]
pub struct Fold {
    /// Of its messages those that are loaded: the newest at least.
    view: View,
    open: Open,
    parts: Parts,
    /// The files that are different now, over the whole session. Absent while it is only stored.
    changes: Option<Changes>,
    /// Where the log last said something of files.
    changes_at: Seq,
}

/// What later events may speak of.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Open {
    turn: Option<TurnId>,
    /// The agent's message that is being written.
    agent: Option<String>,
    /// A message for what happens between turns, as long as nothing else comes.
    system: Option<String>,
    /// Where things are that later events speak of.
    #[serde(with = "pairs")]
    places: BTreeMap<Key, Path>,
    /// Calls that have no result yet.
    calls: BTreeMap<String, ToolStart>,
    /// Results that had no call yet.
    early: BTreeMap<String, Early>,
    /// Decisions that had no call yet.
    decided: BTreeMap<String, Decision>,
    /// The components, in the conversation or beside it.
    components: Shown,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Early {
    at: Timestamp,
    turn_id: Option<TurnId>,
    result: ToolResult,
}

/// A map whose keys are no text, as a list.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Key, Path};

    pub(super) fn serialize<S: Serializer>(map: &BTreeMap<Key, Path>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Key, Path>, D::Error> {
        Vec::deserialize(deserializer).map(|pairs| pairs.into_iter().collect())
    }
}

/// What later events call a block.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Key {
    /// Agents name blocks anew in each turn; a background sub-agent's belong to none.
    Text(Option<TurnId>, String),
    Tool(String),
    Ask(String),
    Subagent(String),
    /// A session that works for this one.
    Delegation(String),
    Component(String),
    /// The row of the call that this component shows.
    CoveredRow(String),
    Artifact(String),
    /// The one plan of a message.
    Plan(String),
    /// The one diff of a message.
    Diff(String),
    Compaction,
}

impl Projection for Fold {
    type Output = Ops;

    fn apply(&mut self, envelope: &Envelope, out: &mut Ops) {
        self.view.seq = envelope.seq;
        Step { fold: self, envelope, out }.take();
    }
}

impl Fold {
    pub fn seq(&self) -> Seq {
        self.view.seq
    }

    /// A window of it, as it is sent.
    pub fn snapshot<'a>(&'a self, window: &'a Window) -> Snapshot<'a> {
        Snapshot { view: &self.view, window, has_older: self.parts.has_absent() }
    }

    pub fn has_message(&self, id: &str) -> bool {
        self.view.messages.iter().any(|message| message.id == id)
    }

    /// What the session has made of its files; nothing while that is only stored.
    pub fn changes(&self) -> Option<&Changes> {
        static NONE: Changes = Changes::NONE;
        self.changes.as_ref().or_else(|| (self.changes_at == Seq::ZERO).then_some(&NONE))
    }

    /// Passes over an event that cannot be read; one bad record must not hold up all that follow.
    pub fn miss(&mut self, seq: Seq) {
        self.view.seq = seq;
    }
}

/// One event on its way into a view.
struct Step<'a> {
    fold: &'a mut Fold,
    envelope: &'a Envelope,
    out: &'a mut Ops,
}

/// Tells what a field of the view is now.
macro_rules! tell {
    ($step:ident, $field:ident) => {
        $step.out.set(&[], stringify!($field), &$step.fold.view.$field)
    };
}
use tell;

impl Step<'_> {
    fn take(&mut self) {
        self.files();
        let envelope = self.envelope;
        // What shows the state follows it, and what a rollback leaves finds its place when the messages are gone. All else comes first: a component
        // stands before the row of its call, and no message is put away with one that is loading.
        let follows = matches!(&envelope.event, Event::StateSnapshot(_) | Event::StateDelta(_) | Event::Rollback(_));
        if follows {
            self.take_fact();
            self.components();
        } else {
            self.components();
            self.take_fact();
        }
    }

    fn take_fact(&mut self) {
        let envelope = self.envelope;
        match &envelope.event {
            Event::UserMessage(message) => self.user_message(message),
            Event::TurnStarted(_) => self.turn_started(),
            Event::Done(done) => self.done(done),
            Event::Status(status) => self.status(status),
            Event::Delta(delta) => self.delta(delta),
            Event::Thinking(thinking) => self.thinking(thinking),
            Event::Retracted(retracted) => self.retracted(retracted.block_id.as_str()),
            Event::ToolStart(start) => self.tool_start(start),
            Event::ToolProgress(progress) => self.tool_progress(progress),
            Event::ToolResult(result) => self.tool_result(result),
            Event::ToolDecided(decided) => self.tool_decided(decided),
            Event::TurnResult(result) => self.final_text(&result.text),
            Event::Usage(usage) => self.usage(usage),
            Event::Failure(failure) => {
                self.insert(|birth| super::begin::error(birth, failure));
            }
            Event::PermissionRequest(request) => self.permission_request(request),
            Event::PermissionResolved(resolved) => self.permission_resolved(resolved),
            Event::QuestionRequest(request) => self.question_request(request),
            Event::QuestionResolved(resolved) => self.question_resolved(resolved),
            Event::Interrupt(request) => self.interrupt(request),
            Event::InterruptResolved(resolved) => self.interrupt_resolved(resolved),
            Event::SubagentStarted(started) => self.subagent_started(started),
            Event::SubagentUpdated(updated) => self.subagent_updated(updated),
            Event::SubagentEnded(ended) => self.subagent_ended(ended),
            Event::BackgroundStarted(started) => self.background_started(started),
            Event::BackgroundEnded(ended) => self.background_ended(ended),
            _ => self.take_rest(),
        }
    }

    fn take_rest(&mut self) {
        let envelope = self.envelope;
        match &envelope.event {
            Event::SessionReady(ready) => self.session_ready(ready),
            Event::SessionUpdated(updated) => self.session_updated(updated),
            Event::ModeChanged(changed) => {
                let mode = Some(changed.mode.clone());
                self.session(|session| session.mode = mode);
            }
            Event::ModelChanged(changed) => {
                let model = Some(changed.model.clone());
                self.session(|session| session.model = model);
            }
            Event::SessionEnded(ended) => {
                self.session(|session| session.ended = Some(ended.clone()));
                self.note("The session has ended");
            }
            Event::Delegated(delegated) => {
                let parent = delegated.parent_session_id.clone();
                self.session(|session| session.parent_session_id = parent);
            }
            Event::DelegationStarted(started) => self.delegation_started(started),
            Event::DelegationUpdated(updated) => self.delegation_updated(updated),
            Event::StateSnapshot(snapshot) => self.shared_state(snapshot.state.clone()),
            Event::StateDelta(delta) => self.patched_state(delta),
            Event::PlanUpdated(plan) => self.plan(plan),
            Event::DiffUpdated(diff) => self.diff(diff),
            Event::ArtifactCreated(created) => {
                self.insert_as(Key::Artifact(created.artifact_id.clone()), |birth| {
                    super::begin::artifact(birth, created)
                });
            }
            Event::ArtifactUpdated(updated) => self.artifact_updated(updated),
            Event::ArtifactVersion(version) => self.artifact_version(version),
            Event::ArtifactRemoved(removed) => self.remove(&Key::Artifact(removed.artifact_id.clone())),
            Event::CompactionStart(start) => self.compaction_started(start),
            Event::CompactionEnd(end) => self.compaction_ended(end),
            Event::Forked(forked) => self.forked(forked),
            Event::Rollback(rollback) => self.rollback(&rollback.turn_ids),
            Event::QueueChanged(changed) => {
                self.fold.view.queue.clone_from(&changed.queue);
                tell!(self, queue);
            }
            Event::Steer(steer) => self.steer(steer),
            Event::EvidenceChanged(evidence) => self.note(&format!("{}: {}", evidence.title, evidence.status)),
            Event::AgentUnparsed(unparsed) => {
                self.warn(&format!("The agent said something unreadable: {}", unparsed.error));
            }
            Event::Unknown(unknown) => self.unknown(unknown),
            _ => {}
        }
    }

    fn files(&mut self) {
        if !Changes::concerns(&self.envelope.event) {
            return;
        }
        let changes = self.fold.changes.get_or_insert_default();
        self.fold.changes_at = self.envelope.seq;
        if changes.step(self.envelope) {
            let files = changes.files().into_iter();
            let summary = |file: crate::changes::ChangedFile| FileSummary {
                path: file.path,
                kind: file.kind,
                added: file.added,
                removed: file.removed,
            };
            self.fold.view.files = files.map(summary).collect();
            tell!(self, files);
        }
    }
}
