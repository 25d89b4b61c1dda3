//! The commands that a client may send to a session, and the replies. Routes and other wire formats are translated to these elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use crate::blob::is_media_type;
use crate::component::{self, MAX_PAYLOAD_BYTES};
use crate::delegation::{ChildNews, Inherited, NewChild};
use crate::event::{AfterStop, Event, MessageSource, Origin, Part, PermissionReply, QueueItem};
use crate::id::{AskId, MessageId, Seq, SessionId, ToolUseId, TurnId};
use crate::nesting::MAX_DEPTH;
use crate::shared;
use crate::summary::AskKind;

/// One command of a client, and who the client is.
#[derive(Debug, Clone)]
pub struct ClientCommand {
    pub by: String,
    pub command: Command,
}

#[derive(Debug, Clone)]
pub enum Command {
    Send {
        message: Message,
        when: When,
    },
    Stop {
        turn_id: Option<TurnId>,
        then: AfterStop,
    },
    /// End a turn without asking its agent first: nothing was heard of it for too long.
    ForceStop {
        turn_id: TurnId,
    },
    Answer {
        ask_id: AskId,
        answer: Answer,
    },
    /// The same, because another ask was answered so.
    AnswerAlong {
        ask_id: AskId,
        answer: Answer,
        with: AskId,
    },
    Resume {
        provider_session_id: Option<String>,
    },
    Rollback {
        turns: usize,
        files: Files,
    },
    Compact,
    /// End a task or a sub-agent of the background.
    StopBackground {
        id: String,
    },
    Update(Update),
    Archive,
    Unarchive,
    Unqueue {
        message_id: MessageId,
    },
    Reorder {
        order: Vec<MessageId>,
    },
    /// Say other words in a message that waits. It keeps its id and its place.
    EditQueued {
        message_id: MessageId,
        edit: Edit,
    },
    /// All that a message that waits says.
    ReadQueued {
        message_id: MessageId,
    },
    /// Let the messages that are held go on.
    Continue,
    /// Change the shared state by a JSON Patch.
    PatchState {
        patch: Value,
    },
    CallBack(Callback),
    /// Add facts to the session, all of them or none.
    Emit(Emit),
    /// A client makes a session that works for this one.
    AddChild(Box<NewChild>),
    /// What has become of a session that works for this one.
    Child(Box<ChildNews>),
    /// The result of a tool that a client runs; `answer` is an interrupt's or a failure.
    ToolResult {
        tool_use_id: ToolUseId,
        answer: Answer,
    },
}

/// What a person did in a component that the agent shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Callback {
    pub component_id: String,
    /// What was pressed, in the component's own words.
    pub action: String,
    pub payload: Value,
    /// The caller's; the same one again is taken once.
    pub callback_id: Option<String>,
}

/// Facts that somebody beside the agent adds.
#[derive(Debug, Clone)]
pub struct Emit {
    /// The caller's; the same one again is taken once.
    pub id: Option<String>,
    /// The turn in which they have to stand; whichever is open, if not given, or none.
    pub turn_id: Option<TurnId>,
    pub events: Vec<Event>,
}

/// What is to be changed of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Update {
    pub title: Option<String>,
    pub model: Option<String>,
    pub mode: Option<String>,
    /// Parameters that only the runtime understands.
    pub settings: Map<String, Value>,
}

/// What a rollback does to the files that the agent changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    Keep,
    /// As they were before the turns, where the agent can do that.
    Restore,
}

/// What a person, or something that stands for one, says to an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub id: Option<MessageId>,
    pub content: Vec<Part>,
    pub origin: Origin,
    /// The delivery that it came with, if it came through a channel.
    pub source: Option<MessageSource>,
}

/// What becomes of what a message says.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Other words; pictures and files stay.
    Words(String),
    All(Vec<Part>),
}

/// What to do with a message to a session that is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Send it when the turn has ended.
    #[default]
    Queue,
    /// Put it into the running turn.
    Steer,
    /// Refuse it.
    Reject,
}

/// An answer to an ask.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Permission {
        reply: PermissionReply,
        /// Run the tool with this input instead of the one that was asked about.
        updated_input: Option<Value>,
        /// Why, for the agent to read.
        message: Option<String>,
        /// Which of the rules that were offered `always` shall store; the first, if not given.
        rule: Option<String>,
        /// End the turn as well.
        and_then: AfterAnswer,
    },
    /// One list per question, or nothing when the person will not answer.
    Question {
        answers: Option<Vec<Vec<String>>>,
    },
    Interrupt {
        value: Value,
    },
    /// The client could not run its tool, or will not.
    ToolFailed {
        output: Value,
    },
}

/// What happens to the turn after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterAnswer {
    GoOn,
    Stop(AfterStop),
}

/// Refuses a picture whose kind no program could read.
pub(crate) fn check_pictures(content: &[Part]) -> Result<(), Refusal> {
    let broken = content.iter().find_map(|part| match part {
        Part::Image { media_type, .. } if !is_media_type(media_type) => Some(media_type),
        Part::Text { .. } | Part::Image { .. } | Part::File { .. } => None,
    });
    broken.map_or(Ok(()), |broken| Err(Refusal::Invalid(format!("`media_type`: {broken:?} is not a media type"))))
}

impl Answer {
    pub fn kind(&self) -> AskKind {
        match self {
            Answer::Permission { .. } => AskKind::Permission,
            Answer::Question { .. } => AskKind::Question,
            Answer::Interrupt { .. } | Answer::ToolFailed { .. } => AskKind::Interrupt,
        }
    }
}

/// That a message was taken, and where it went. A retry with the same id gets the same receipt.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    pub accepted: bool,
    pub message_id: MessageId,
    pub turn_id: Option<TurnId>,
    pub queued: bool,
    /// Its place in the queue, from 1.
    pub position: Option<u64>,
}

/// What a session answers to a command it carried out, after the facts are durable.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Accepted {
        receipt: Receipt,
        /// Not if it was only sent again: then this is what was said to it the first time.
        is_new: bool,
    },
    Stopped {
        stopped: bool,
        /// How many things go on in the background: a stop ends the turn and leaves them.
        background: usize,
    },
    Resolved {
        seq: Seq,
    },
    /// The command is carried out; the session's state tells the rest.
    Done,
    Queue(Vec<QueueItem>),
    /// What a message in the queue says.
    Queued(Vec<Part>),
    /// The shared state, and where the log last changed it.
    State {
        state: Value,
        seq: Seq,
    },
    /// What a session is made with that works for this one.
    Inherited(Box<Inherited>),
    /// It is in the log, here.
    Noted {
        seq: Seq,
    },
}

/// Why a command was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("a turn is running; wait for it, stop it, or send with \"when\": \"queue\"")]
    Busy,
    #[error("this runtime cannot {what}")]
    Unsupported { what: &'static str },
    #[error("{by} answered this first: {how}")]
    AlreadyResolved { by: String, how: String, seq: Seq },
    #[error("there is no ask {0} in this session")]
    AskNotFound(AskId),
    #[error("{0}")]
    Invalid(String),
    #[error("the session is archived; unarchive it first")]
    Archived,
    #[error("the session has ended; resume it first")]
    Ended,
    #[error("message {0} is not in the queue: it was never there, or its turn has begun")]
    NotQueued(MessageId),
    #[error("{message}")]
    AgentFailed { message: String, code: String, fix: Option<String> },
    #[error("the daemon is shutting down")]
    ShuttingDown,
    #[error("the queue is full ({0} messages); wait for a turn to end or remove one")]
    QueueFull(usize),
    #[error("{0}")]
    Patch(shared::Error),
    #[error("what was sent is nested too deep; {MAX_DEPTH} levels are kept")]
    TooDeep,
    #[error(
        "this session came from a file, and nobody has agreed to run its agent here; send it a message and answer what it asks"
    )]
    NotAgreed,
    #[error("there is no component {0:?} in this session")]
    ComponentNotFound(String),
    #[error("the value does not fit: {0}")]
    InvalidValue(component::Misfit),
    #[error("the edited call is denied: {0}")]
    DeniedByRule(String),
    #[error("what goes with a callback has at most {MAX_PAYLOAD_BYTES} bytes")]
    PayloadTooLarge,
    #[error("no call {0} waits for a client in this session")]
    CallNotFound(ToolUseId),
    #[error("turn {0} is not open any more")]
    TurnOver(TurnId),
    #[error("{0}")]
    NotForEmit(String),
    #[error("nothing called {0:?} runs in the background of this session")]
    BackgroundNotFound(String),
    #[error("session {0} cannot work for one that works for it, or for itself; choose another session_id")]
    DelegationCycle(SessionId),
    #[error("{0}")]
    DelegationLimit(String),
}

impl Refusal {
    /// The stable word for this refusal.
    pub fn code(&self) -> &str {
        match self {
            Refusal::Busy => "busy",
            Refusal::Unsupported { .. } => "unsupported",
            Refusal::AlreadyResolved { .. } => "already_resolved",
            Refusal::AskNotFound(_) => "ask_not_found",
            Refusal::Invalid(_) => "invalid_request",
            Refusal::Archived => "archived",
            Refusal::Ended => "session_ended",
            Refusal::NotQueued(_) => "not_queued",
            Refusal::AgentFailed { code, .. } => code,
            Refusal::ShuttingDown => "shutting_down",
            Refusal::QueueFull(_) => "queue_full",
            Refusal::Patch(shared::Error::TestFailed { .. }) => "test_failed",
            Refusal::Patch(shared::Error::DoesNotFit { .. } | shared::Error::Malformed(_)) => "invalid_patch",
            Refusal::Patch(shared::Error::TooLarge) => "state_too_large",
            Refusal::Patch(shared::Error::TooDeep) | Refusal::TooDeep => "too_deep",
            Refusal::NotAgreed => "not_agreed",
            Refusal::Patch(shared::Error::TooMuch) => "patch_too_large",
            Refusal::ComponentNotFound(_) => "component_not_found",
            Refusal::InvalidValue(_) => "invalid_value",
            Refusal::DeniedByRule(_) => "denied_by_rule",
            Refusal::PayloadTooLarge => "payload_too_large",
            Refusal::CallNotFound(_) => "tool_call_not_found",
            Refusal::TurnOver(_) => "turn_over",
            Refusal::NotForEmit(_) => "not_for_emit",
            Refusal::BackgroundNotFound(_) => "background_not_found",
            Refusal::DelegationCycle(_) => "delegation_cycle",
            Refusal::DelegationLimit(_) => "delegation_limit",
        }
    }
}

/// What became of a command.
pub type Outcome = Result<Reply, Refusal>;
