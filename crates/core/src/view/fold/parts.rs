//! A fold as bytes, in parts, so that a long log is not folded again from its beginning, and a long view is not read whole.
//!
//! The *head* is all that later events may speak of, with the newest messages. Older messages are cut into parts when their turns are over; they are
//! read back when somebody looks at them, or when an event changes something in them after all. What was changed in files is a part of its own.
//! Where parts are cut follows from the log alone, so that the same log is always the same bytes.
//!
//! Where the bytes are kept is not decided here. They are never more than a shortcut: what cannot be used is folded anew.

use serde::{Deserialize, Serialize};

use super::{Fold, Key, Open};
use crate::changes::Changes;
use crate::event::{Envelope, Event};
use crate::id::{BlockId, Seq, SubagentId, ToolUseId};
use crate::view::block::{
    Block, CompactionStatus, InterruptState, PermissionState, QuestionState, SubagentStatus, ToolStatus,
};
use crate::view::nodes::{Message, View};
use crate::view::window::Window;

/// Messages in a part. A head has up to twice as many, so that the usual window needs nothing else.
const PART: usize = if cfg!(test) { 2 } else { 32 };

/// Which part of a stored view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    Head,
    /// Older messages; the first are the oldest.
    Messages(u32),
    Changes,
}

impl Part {
    /// Its number in a store.
    pub fn number(self) -> u32 {
        match self {
            Self::Head => 0,
            Self::Messages(at) => at.saturating_add(1).min(u32::MAX - 1),
            Self::Changes => u32::MAX,
        }
    }

    pub fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Head,
            u32::MAX => Self::Changes,
            number => Self::Messages(number - 1),
        }
    }
}

/// What is stored is not what this fold stored, or not all of it is there.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("what is stored of a view cannot be used")]
pub struct NotUsable;

/// How older messages are divided.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Parts {
    cut: Vec<Cut>,
    /// So many of them, from the oldest on, are only stored.
    absent: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Cut {
    messages: usize,
    /// The event that last changed something in it.
    changed_at: Seq,
}

impl Parts {
    pub(super) fn has_absent(&self) -> bool {
        self.absent > 0
    }

    pub(super) fn are_loaded(&self) -> bool {
        self.absent < self.cut.len()
    }

    /// The messages that are loaded and in a part.
    fn loaded(&self) -> usize {
        self.cut.iter().skip(self.absent).map(|cut| cut.messages).sum()
    }

    /// Whether the loaded message at this place is in a part.
    pub(super) fn holds(&self, at: usize) -> bool {
        at < self.loaded()
    }

    /// The part that the loaded message at this place is in.
    fn at(&mut self, at: usize) -> Option<&mut Cut> {
        let mut end = 0;
        self.cut.iter_mut().skip(self.absent).find(|cut| {
            end += cut.messages;
            at < end
        })
    }

    pub(super) fn touched(&mut self, at: usize, seq: Seq) {
        if let Some(cut) = self.at(at) {
            cut.changed_at = seq;
        }
    }

    /// The loaded message that was at this place is gone.
    pub(super) fn removed(&mut self, at: usize) {
        if let Some(cut) = self.at(at) {
            cut.messages -= 1;
        }
    }
}

/// The head as it is written; what it is read from is [`OwnedHead`].
#[derive(Serialize)]
struct Head<'a> {
    view: &'a View,
    open: &'a Open,
    cut: &'a [Cut],
    changes_at: Seq,
}

#[derive(Deserialize)]
struct OwnedHead {
    view: View,
    open: Open,
    cut: Vec<Cut>,
    changes_at: Seq,
}

impl Fold {
    /// Raised with every change to what is stored, and to what the fold makes of a log: what an older version stored is then folded anew. The tests
    /// notice both.
    pub const VERSION: u32 = 4;

    /// What a store should hold of this fold: each part, and the event that last changed it. It is stored with that position.
    pub fn parts(&self) -> Vec<(Part, Seq)> {
        let messages = (0..).zip(&self.parts.cut).map(|(at, cut)| (Part::Messages(at), cut.changed_at));
        let changes = (self.changes_at > Seq::ZERO).then_some((Part::Changes, self.changes_at));
        [(Part::Head, self.seq())].into_iter().chain(messages).chain(changes).collect()
    }

    /// The bytes of a part, if it is loaded. The same fold is the same bytes.
    pub fn store(&mut self, part: Part) -> Option<Vec<u8>> {
        match part {
            Part::Head => {
                let tail = self.view.messages.split_off(self.parts.loaded());
                let older = std::mem::replace(&mut self.view.messages, tail);
                let (view, open) = (&self.view, &self.open);
                let head = Head { view, open, cut: &self.parts.cut, changes_at: self.changes_at };
                let bytes = serde_json::to_vec(&head).ok();
                let tail = std::mem::replace(&mut self.view.messages, older);
                self.view.messages.extend(tail);
                bytes
            }
            Part::Messages(at) => {
                let at = usize::try_from(at).ok()?.checked_sub(self.parts.absent)?;
                let cuts = self.parts.cut.get(self.parts.absent..)?;
                let start: usize = cuts.iter().take(at).map(|cut| cut.messages).sum();
                let end = start + cuts.get(at)?.messages;
                serde_json::to_vec(self.view.messages.get(start..end)?).ok()
            }
            Part::Changes => serde_json::to_vec(self.changes.as_ref()?).ok(),
        }
    }

    /// A fold from its head. Its other parts are read when something needs them.
    pub fn load(head: &[u8]) -> Result<Self, NotUsable> {
        let OwnedHead { view, open, cut, changes_at } = serde_json::from_slice(head).map_err(|_| NotUsable)?;
        let parts = Parts { absent: cut.len(), cut };
        Ok(Self { view, open, parts, changes: None, changes_at })
    }

    /// Takes a part that was missing, stored with the position that [`Fold::parts`] gave it.
    pub fn restore(&mut self, part: Part, stored_at: Seq, bytes: &[u8]) -> Result<(), NotUsable> {
        match part {
            Part::Head => return Err(NotUsable),
            Part::Changes => {
                let changes = serde_json::from_slice(bytes).map_err(|_| NotUsable)?;
                if stored_at != self.changes_at || self.changes.is_some() {
                    return Err(NotUsable);
                }
                self.changes = Some(changes);
            }
            Part::Messages(_) => {
                let next = self.parts.absent.checked_sub(1).ok_or(NotUsable)?;
                let cut = *self.parts.cut.get(next).ok_or(NotUsable)?;
                let mut messages: Vec<Message> = serde_json::from_slice(bytes).map_err(|_| NotUsable)?;
                if cut.changed_at != stored_at || cut.messages != messages.len() {
                    return Err(NotUsable);
                }
                messages.append(&mut self.view.messages);
                self.view.messages = messages;
                self.parts.absent = next;
            }
        }
        Ok(())
    }

    /// The part that has to be read before this event can be taken.
    pub fn missing_for(&self, envelope: &Envelope) -> Option<Part> {
        if self.changes.is_none() && self.changes_at > Seq::ZERO && Changes::concerns(&envelope.event) {
            return Some(Part::Changes);
        }
        let older = self.next_older()?;
        let is_absent = |key: Key| {
            let message = self.open.places.get(&key).and_then(|path| path.first());
            message.is_some_and(|id| self.view.message(id).is_none())
        };
        let tool = |id: &ToolUseId| is_absent(Key::Tool(id.to_string()));
        let subagent = |id: &SubagentId| is_absent(Key::Subagent(id.to_string()));
        let text = |id: &BlockId| is_absent(Key::Text(envelope.turn_id.clone(), id.to_string()));
        let absent = match &envelope.event {
            Event::Delta(delta) => text(&delta.block_id),
            Event::Thinking(thinking) => text(&thinking.block_id),
            Event::Retracted(retracted) => text(&retracted.block_id),
            Event::ToolProgress(progress) => tool(&progress.tool_use_id),
            Event::ToolResult(result) => tool(&result.tool_use_id),
            Event::ToolDecided(decided) => tool(&decided.tool_use_id),
            Event::BackgroundStarted(started) => started.tool_use_id.as_ref().is_some_and(tool),
            Event::BackgroundEnded(ended) => {
                let work = self.view.background.iter().find(|work| work.background_id == ended.background_id);
                work.and_then(|work| work.tool_use_id.as_ref()).is_some_and(tool)
            }
            Event::PermissionResolved(resolved) => is_absent(Key::Ask(resolved.ask_id.to_string())),
            Event::QuestionResolved(resolved) => is_absent(Key::Ask(resolved.ask_id.to_string())),
            Event::InterruptResolved(resolved) => is_absent(Key::Ask(resolved.interrupt_id.to_string())),
            Event::SubagentStarted(started) => started.parent_subagent_id.as_ref().is_some_and(subagent),
            Event::SubagentUpdated(updated) => subagent(&updated.subagent_id),
            Event::SubagentEnded(ended) => subagent(&ended.subagent_id),
            Event::DelegationStarted(started) => is_absent(Key::Delegation(started.child_session_id.to_string())),
            Event::DelegationUpdated(updated) => is_absent(Key::Delegation(updated.child_session_id.to_string())),
            Event::ArtifactUpdated(updated) => is_absent(Key::Artifact(updated.artifact_id.clone())),
            Event::ArtifactVersion(version) => is_absent(Key::Artifact(version.artifact_id.clone())),
            Event::ArtifactRemoved(removed) => is_absent(Key::Artifact(removed.artifact_id.clone())),
            Event::CompactionEnd(_) => is_absent(Key::Compaction),
            // Which parts have these turns is not known.
            Event::Rollback(_) => true,
            _ => false,
        };
        let touched = self.open.components.touched_by(&envelope.event);
        let is_absent_component =
            |id: &&str| is_absent(Key::Component((*id).to_owned())) || is_absent(Key::CoveredRow((*id).to_owned()));
        let absent = absent || touched.iter().any(is_absent_component);
        (absent || envelope.subagent_id.as_ref().is_some_and(subagent)).then_some(older)
    }

    /// The part that has to be read before this window can be shown.
    pub fn missing_in(&self, window: &Window) -> Option<Part> {
        let older = self.next_older()?;
        let before = match &window.before {
            None => Some(self.view.messages.len()),
            Some(id) => self.view.messages.iter().position(|message| message.id == *id),
        };
        before.is_none_or(|before| before < window.messages).then_some(older)
    }

    /// The part that has to be read before the files are known.
    pub fn missing_files(&self) -> Option<Part> {
        self.changes().is_none().then_some(Part::Changes)
    }

    fn next_older(&self) -> Option<Part> {
        let next = self.parts.absent.checked_sub(1)?;
        u32::try_from(next).ok().map(Part::Messages)
    }

    /// A turn is over: lets go of what no later event can speak of, and cuts off what has become old.
    pub(super) fn settle(&mut self) {
        let (view, has_absent) = (&self.view, self.parts.has_absent());
        // What is only stored is open, or it would have been let go when it closed.
        let is_stored = |path: &[String]| has_absent && path.first().is_none_or(|id| view.message(id).is_none());
        let is_open = |path: &[String]| view.block(path).is_some_and(Block::is_open) || is_stored(path);
        let Open { places, components, .. } = &mut self.open;
        places.retain(|key, path| match key {
            Key::Text(None, _) | Key::Tool(_) | Key::Ask(_) => is_open(path),
            Key::Text(Some(_), _) | Key::Plan(_) | Key::Diff(_) => false,
            Key::CoveredRow(id) => components.contains(id),
            Key::Subagent(_) | Key::Delegation(_) | Key::Component(_) | Key::Artifact(_) | Key::Compaction => true,
        });
        self.open.early.clear();
        self.open.decided.clear();
        while self.view.messages.len() >= self.parts.loaded() + 2 * PART {
            self.parts.cut.push(Cut { messages: PART, changed_at: self.view.seq });
        }
    }
}

impl Block {
    /// Whether something of it is still to come.
    fn is_open(&self) -> bool {
        match self {
            Self::Text(block) => !block.done,
            Self::Thinking(block) => !block.done,
            Self::Tool(block) => matches!(block.status, ToolStatus::Running | ToolStatus::Background),
            Self::Permission(block) => block.state == PermissionState::Pending,
            Self::Question(block) => block.state == QuestionState::Pending,
            Self::Interrupt(block) => block.state == InterruptState::Pending,
            Self::Subagent(block) => block.status == SubagentStatus::Running,
            Self::Delegation(block) => block.state.is_open(),
            Self::Compaction(block) => block.status == CompactionStatus::Running,
            Self::Component(_) | Self::Artifact(_) | Self::Image(_) => true,
            Self::Plan(_) | Self::Diff(_) | Self::Error(_) | Self::Note(_) | Self::Unknown(_) => false,
        }
    }
}
