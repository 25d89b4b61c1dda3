//! How a turn of a session ended, for another session: a fold of its log.

use super::{MAX_TEXT_BYTES, cut};
use crate::event::{Activity, DelegationState, Envelope, Event, Origin, Outcome};
use crate::id::{BlockId, MessageId, Seq, TurnId};

/// What the fold has to see of a log.
pub const KINDS: &[&str] = &["turn_started", "delta", "result", "error", "done"];

/// A turn that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    pub turn_id: Option<TurnId>,
    pub origin: Origin,
    /// What it was about.
    pub message_ids: Vec<MessageId>,
    pub state: DelegationState,
    /// What the agent said last.
    pub text: Option<String>,
    pub reason: Option<String>,
    /// Where the log says that it has ended.
    pub seq: Seq,
}

/// The turn that runs, as far as somebody else wants to know.
#[derive(Debug, Clone, Default)]
pub struct TurnFold {
    turn: Option<TurnId>,
    origin: Origin,
    message_ids: Vec<MessageId>,
    block: Option<BlockId>,
    said: String,
    result: Option<String>,
    failure: Option<String>,
}

impl TurnFold {
    /// Whether it has seen the beginning of this turn.
    pub fn knows(&self, turn: Option<&TurnId>) -> bool {
        self.turn.is_some() && self.turn.as_ref() == turn
    }

    /// Whether a turn runs.
    pub fn knows_any(&self) -> bool {
        self.turn.is_some()
    }

    /// Takes in a fact, and says how the turn ended if it is its end.
    pub fn step(&mut self, envelope: &Envelope) -> Option<TurnEnd> {
        if let Event::TurnStarted(started) = &envelope.event {
            let (turn, origin) = (envelope.turn_id.clone(), started.origin);
            *self = Self { turn, origin, message_ids: started.message_ids.clone(), ..Self::default() };
            return None;
        }
        if envelope.subagent_id.is_some() || envelope.turn_id != self.turn {
            return None;
        }
        match &envelope.event {
            Event::Delta(delta) => {
                if self.block.as_ref() != Some(&delta.block_id) && !delta.text.is_empty() {
                    self.block = Some(delta.block_id.clone());
                    self.said.clear();
                }
                let room = MAX_TEXT_BYTES.saturating_sub(self.said.len());
                self.said.push_str(cut(&delta.text, room));
            }
            Event::TurnResult(result) => self.result = Some(cut(&result.text, MAX_TEXT_BYTES).to_owned()),
            Event::Failure(failure) => {
                let fix = failure.fix.as_ref().map(|fix| format!("; {fix}")).unwrap_or_default();
                self.failure = Some(format!("{}{fix}", failure.message));
            }
            Event::Done(done) => {
                let state = match done.outcome {
                    Outcome::Completed => DelegationState::Completed,
                    Outcome::Stopped => DelegationState::Stopped,
                    Outcome::Interrupted => DelegationState::Interrupted,
                    Outcome::Failed => DelegationState::Failed,
                };
                let ended = std::mem::take(self);
                let text = ended.result.unwrap_or(ended.said);
                let reason = ended.failure.or_else(|| done.reason.clone());
                return Some(TurnEnd {
                    turn_id: ended.turn,
                    origin: ended.origin,
                    message_ids: ended.message_ids,
                    state,
                    text: Some(text).filter(|text| !text.trim().is_empty()),
                    reason: reason.filter(|_| state != DelegationState::Completed),
                    seq: envelope.seq,
                });
            }
            _ => {}
        }
        None
    }
}

/// What a session does, in a few words, if a fact says so.
pub fn activity_of(event: &Event) -> Option<String> {
    const WORDS: usize = 120;
    let words = match event {
        Event::Status(status) => match (&status.label, status.state) {
            (Some(label), _) => label.clone(),
            (None, Activity::Accepted | Activity::Starting) => "Starting".to_owned(),
            (None, Activity::Thinking) => "Thinking".to_owned(),
            (None, Activity::Responding) => "Responding".to_owned(),
            (None, Activity::Tool) => "Working".to_owned(),
            (None, Activity::Waiting) => "Waiting for a person".to_owned(),
            (None, Activity::Retrying) => "Trying again".to_owned(),
            (None, Activity::Compacting) => "Compacting".to_owned(),
            (None, Activity::Stopping) => "Stopping".to_owned(),
        },
        Event::ToolStart(start) => {
            let about = start.command.as_ref().or(start.file_path.as_ref()).or(start.pattern.as_ref());
            about.map_or_else(|| start.tool.clone(), |about| format!("{} {about}", start.tool))
        }
        _ => return None,
    };
    Some(words.lines().next().unwrap_or_default().chars().take(WORDS).collect())
}
