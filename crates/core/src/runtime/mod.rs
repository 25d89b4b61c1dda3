//! The interface to every kind of agent. A [`Protocol`] is pure: bytes and orders in, reports and bytes out. The `turnloom` crate finds the program,
//! starts it and moves the bytes. Protocols know events; they know neither the laws of turns nor views.

pub mod claude;
pub mod codex;
pub mod external;
pub mod jsonrpc;
pub mod mock;
mod output_file;
mod setting;
mod text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::external::{Control, Cursor};
pub use self::output_file::{EntryOutput, OutputEntry, OutputFile, PICTURE_PLACE, add_picture, set_output};
pub use self::setting::{Setting, Takes, guarded, skips_approvals, texts_of};
pub use self::text::{StreamedText, TextKind};
use crate::command::{Answer, Files};
use crate::event::{
    AgentUnparsed, ComponentCallback, EndReason, Event, Failure, ModelChoice, Origin, Outcome, Part, SlashCommand,
    Usage,
};
use crate::host_tools::HostTool;
use crate::id::{AskId, MessageId, SessionId, SubagentId, ToolUseId, TurnId};
use crate::replay::Recorded;
pub use crate::summary::AskRequest;
use crate::time::Timestamp;

/// What an agent of one runtime can do. A call for something it cannot do is refused, so this must be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// Takes a message into the running turn.
    pub steer: bool,
    /// Remembers a conversation across its own restarts.
    pub resume: bool,
    pub fork: bool,
    pub rollback: bool,
    pub compact: bool,
    pub set_model: bool,
    pub set_mode: bool,
    pub permissions: bool,
    /// Makes no call before it has heard what the rules say about it, so the modes with rules hold.
    pub gate: bool,
    /// Runs a tool with the input that a person made of the one it was asked about, unless the ask says that its input is fixed.
    pub edit_input: bool,
    pub questions: bool,
    pub images: bool,
    pub files: bool,
    pub thinking: bool,
    pub plan: bool,
    pub subagents: bool,
    pub background: bool,
    /// Ends one thing that runs in the background, when told to.
    pub stop_background: bool,
    /// Shows components, and hears what people do in them.
    pub components: bool,
    /// Shares a state with its clients, and hears of their changes.
    pub state: bool,
    pub usage: bool,
    /// Calls tools that clients run.
    pub client_tools: bool,
    /// Puts files back as they were when turns are taken back.
    pub restore_files: bool,
    /// Has conversations of its own on this machine that can become sessions.
    pub adopt: bool,
}

/// Why an agent could not be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartFailure {
    pub message: String,
    pub code: String,
    pub fix: Option<String>,
}

/// How a conversation begins in a new agent process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beginning {
    Fresh,
    /// Go on with a conversation the agent has stored.
    Resume {
        provider_session_id: String,
        /// A client asked for this very one: without it there is nothing to go on with.
        wanted: bool,
    },
    /// Go on from a copy of one, up to where it stood at `at`; all of it, if not given.
    Fork {
        provider_session_id: String,
        at: Option<String>,
    },
}

/// What an agent process is told before anything else.
#[derive(Debug, Clone)]
pub struct Opening {
    pub session_id: SessionId,
    pub cwd: Option<String>,
    pub model: Option<String>,
    pub mode: Option<String>,
    pub system_prompt: Option<String>,
    pub beginning: Beginning,
    /// Where the conversation stood when the agent was last heard, in its own words: what it must have stored to remember all of it.
    pub anchor: Option<String>,
    /// What the client gave beyond the above, for the runtime that understands it.
    pub params: Value,
    /// What the agent and its clients share; null if they share nothing yet.
    pub state: Value,
    /// How often an agent was opened for this session, with this time.
    pub epoch: u64,
    /// The tools that the session serves.
    pub host_tools: Vec<HostTool>,
}

/// A message on its way to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    pub message_id: MessageId,
    pub content: Vec<Part>,
    pub origin: Origin,
}

/// A call that an agent wants to make.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedCall {
    pub tool_use_id: ToolUseId,
    /// As the agent names it.
    pub tool: String,
    pub input: Value,
    /// Where it would run, if the agent says so.
    pub directory: Option<String>,
}

/// What an agent is told about a call that it wants to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Deny {
        /// For the agent to read.
        reason: String,
    },
    /// It shall ask a person.
    Ask {
        reason: String,
    },
    /// No rule is about it: the agent goes by its own mode.
    UpToAgent,
}

/// What the session wants of its agent.
#[derive(Debug, Clone)]
pub enum Order {
    Prompt {
        turn_id: TurnId,
        messages: Vec<Prompt>,
    },
    Steer {
        turn_id: TurnId,
        message: Prompt,
    },
    Interrupt {
        turn_id: Option<TurnId>,
    },
    /// `key` is what the agent called its ask.
    Answer {
        key: String,
        answer: Answer,
        /// Which ask it was; nothing, if rules have answered before it was one.
        about: Option<Box<Answered>>,
    },
    /// `key` is what the agent called its proposal.
    Verdict {
        key: String,
        verdict: Verdict,
    },
    SetModel {
        model: String,
    },
    SetMode {
        mode: String,
    },
    Compact {
        turn_id: TurnId,
    },
    /// End this task or sub-agent of the background. Only for those whose capabilities say so.
    StopBackground {
        id: String,
    },
    /// `key` is what the agent called its [call](HostCall).
    HostResult {
        key: String,
        output: String,
        is_error: bool,
    },
    /// The session serves other tools from here on.
    HostTools(Vec<HostTool>),
    /// Change what `params` said at the opening.
    Configure {
        settings: Map<String, Value>,
    },
    /// A client changed the shared state, or the agent is new and does not know it. Only for those whose capabilities say so.
    State {
        state: Value,
        /// What was changed, and by whom, unless the agent is new.
        patch: Option<Value>,
        by: Option<String>,
    },
    /// Somebody did something in a component. Only for those whose capabilities say so.
    Callback(CallbackOrder),
    /// Forget the last turns of the conversation.
    Rollback(RollbackOrder),
    /// Nothing more will be asked; end.
    Close {
        reason: CloseReason,
    },
}

/// How an agent hears what people do on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hearing {
    /// By [`Order::Callback`] and [`Order::State`].
    #[default]
    Orders,
    /// By messages that the session makes of it.
    Messages,
}

/// A call of a tool that the session serves.
#[derive(Debug, Clone, Default)]
pub struct HostCall {
    /// What the agent calls it.
    pub key: String,
    pub name: String,
    pub input: Value,
    pub tool_use_id: Option<ToolUseId>,
    pub subagent_id: Option<SubagentId>,
    /// What is in the file that it names. Whoever can read files adds it.
    pub file: Option<HostFile>,
}

/// A file that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostFile {
    Content(Vec<u8>),
    /// Why there is none, for the agent.
    Unreadable(String),
}

/// Which ask was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub ask_id: AskId,
    pub by: String,
    /// A call of a tool that a client runs.
    pub is_tool: bool,
}

/// What was done in a component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallbackOrder {
    pub component_id: String,
    /// What sort of component it is.
    pub name: Option<String>,
    pub action: String,
    pub payload: Value,
    pub by: String,
}

impl CallbackOrder {
    pub fn of(fact: &ComponentCallback) -> Self {
        let ComponentCallback { component_id, name, action, payload, by, .. } = fact.clone();
        Self { component_id, name, action, payload, by }
    }
}

/// Why an agent is not needed any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    Idle,
    Archived,
    Ended,
    Shutdown,
}

/// Which turns to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackOrder {
    pub turn_ids: Vec<TurnId>,
    /// How many turns stay.
    pub kept: usize,
    /// Where the conversation stood at the end of the last turn that stays, if the agent said so then.
    pub to: Option<String>,
    /// The message that began the first of the turns.
    pub first_message: Option<MessageId>,
    pub files: Files,
}

/// What an agent reports when its handshake is done.
#[derive(Debug, Clone, Default)]
pub struct Ready {
    pub provider_session_id: Option<String>,
    /// True only if the agent showed that it has the conversation.
    pub resumed: bool,
    pub reason: Option<String>,
    pub model: Option<String>,
    pub mode: Option<String>,
    pub version: Option<String>,
    pub commands: Option<Vec<SlashCommand>>,
    pub models: Option<Vec<ModelChoice>>,
}

/// What an agent says, translated.
#[derive(Debug, Clone)]
pub enum Report {
    /// The handshake is over.
    Ready(Box<Ready>),
    /// There will be no handshake.
    StartFailed(StartFailure),
    /// The agent goes on under another name for the conversation.
    Renamed {
        provider_session_id: String,
        reason: String,
    },
    /// Where the conversation stands now; the last one said in a turn is kept with its end.
    Anchor(String),
    /// A turn that nobody sent a message for.
    TurnStarted {
        origin: Origin,
        /// What the agent calls it, if it names its turns.
        name: Option<String>,
    },
    /// Something about this turn. If that is not the one that is open, it comes too late.
    OfTurn {
        turn: String,
        report: Box<Report>,
    },
    /// Nobody is there who could be the agent. Somebody may come.
    NotConnected,
    /// The connection to the agent is lost; it may come back.
    Away,
    /// It is back on this connection, and has heard so many orders.
    Back {
        connection: u64,
        heard: u64,
    },
    Fact {
        subagent_id: Option<SubagentId>,
        event: Event,
    },
    /// What the turn has used so far, all of it. A fact where somebody counts it; of the whole turn there is a fact in any case.
    Used(Box<Usage>),
    /// A fact of which something is cut or missing, and the file in which the agent keeps that. The session reads the file before it hears the next
    /// report.
    FactWithOutputFile {
        file: Box<OutputFile>,
        subagent_id: Option<SubagentId>,
        event: Event,
    },
    /// A call that the agent makes only after it has heard a verdict.
    Propose {
        key: String,
        subagent_id: Option<SubagentId>,
        call: ProposedCall,
    },
    /// A call of a tool that the session serves.
    HostCall(Box<HostCall>),
    /// `key` is what the agent calls it.
    Ask {
        key: String,
        subagent_id: Option<SubagentId>,
        request: AskRequest,
    },
    /// The agent no longer waits.
    AskWithdrawn {
        key: String,
        reason: String,
    },
    SteerDelivered {
        message_id: MessageId,
    },
    SteerRejected {
        message_id: MessageId,
        reason: String,
    },
    RolledBack {
        files_restored: bool,
        /// The process must end, and the next one go on from a copy.
        branched: bool,
    },
    RollbackRefused {
        reason: String,
    },
    TurnEnded {
        outcome: Outcome,
        reason: Option<String>,
        failure: Option<Failure>,
    },
    SessionEnded {
        reason: EndReason,
        message: Option<String>,
    },
}

/// A fact that the agent itself, not one of its sub-agents, brought about.
impl<E: Into<Event>> From<E> for Report {
    fn from(event: E) -> Self {
        Report::Fact { subagent_id: None, event: event.into() }
    }
}

/// One line of an agent's output.
#[derive(Debug, Clone, Copy)]
pub enum Line<'a> {
    /// Without its line end; perhaps not UTF-8.
    Text(&'a [u8]),
    /// A line over the limit, of which only this is known.
    TooLong { size: u64, sha256: &'a str, head: &'a [u8] },
}

/// What a protocol wants to happen.
#[derive(Debug, Default)]
pub struct Output {
    pub reports: Vec<Report>,
    /// Whole lines for the agent's input.
    pub bytes: Vec<u8>,
}

impl Output {
    /// Queues one JSON line for the agent.
    pub fn write_line(&mut self, line: &Value) {
        // A `Value` always encodes, and writing to a Vec cannot fail.
        drop(serde_json::to_writer(&mut self.bytes, line));
        self.bytes.push(b'\n');
    }

    pub fn report(&mut self, report: impl Into<Report>) {
        self.reports.push(report.into());
    }
}

/// A turn that took place before the session was there: read from what an agent has stored.
#[derive(Debug, Clone)]
pub struct ImportedTurn {
    pub message_id: MessageId,
    pub content: Vec<Part>,
    pub started_at: Timestamp,
    pub events: Vec<(Timestamp, Event)>,
    pub ended_at: Timestamp,
    pub anchor: Option<String>,
}

/// One agent's language. Whatever comes in, it neither panics nor stops: what it cannot read becomes a report that says so.
pub trait Protocol: Send {
    fn open(&mut self, opening: &Opening, out: &mut Output);
    fn order(&mut self, order: &Order, out: &mut Output);
    fn line(&mut self, line: Line<'_>, out: &mut Output);

    /// An order with its number, for agents that may lose their connection.
    fn numbered(&mut self, _number: u64, order: &Order, out: &mut Output) {
        self.order(order, out);
    }

    /// How far the agent has been heard, if it numbers what it says.
    fn cursor(&self) -> Option<Cursor> {
        None
    }

    /// What the agent said up to this number is durable.
    fn committed(&mut self, _said: u64, _out: &mut Output) {}

    /// Tells whoever moves the lines something.
    fn control_hub(&mut self, _control: Control, _out: &mut Output) {}
}

/// Makes what reads a recording.
pub type MakeRecorded = fn() -> Box<dyn Recorded>;

/// Every runtime whose recordings can be played.
pub const RECORDED: &[(&str, MakeRecorded)] = &[
    ("claude", || Box::new(claude::RecordedClaude::default())),
    ("codex", || Box::new(codex::RecordedCodex::default())),
    ("codex-exec", || Box::new(codex::RecordedExec::default())),
    ("mock", || Box::new(mock::RecordedMock)),
];

/// How much of an unreadable line is kept in the log.
const UNPARSED_BYTES: usize = 2 * 1024;

/// A message about how far a tool is, as a line of its own: readers put what tools say of their progress behind each other.
pub(crate) fn progress_line(message: &str) -> String {
    format!("{}\n", message.trim_end_matches(['\r', '\n']))
}

/// The fact that a line could not be read.
pub fn unparsed(location: &str, error: &dyn std::fmt::Display, line: Line<'_>) -> Event {
    let (raw, size, sha256) = match line {
        Line::Text(bytes) => (bytes, bytes.len() as u64, None),
        Line::TooLong { size, sha256, head } => (head, size, Some(sha256.to_owned())),
    };
    let kept = raw.get(..raw.len().min(UNPARSED_BYTES)).unwrap_or_default();
    AgentUnparsed {
        location: location.to_owned(),
        error: error.to_string(),
        raw: String::from_utf8_lossy(kept).into_owned(),
        size: Some(size),
        sha256,
    }
    .into()
}
