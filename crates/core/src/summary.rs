//! What a list of sessions shows of each: the part of a session's state that is stored beside its log, in the append that changed it. Like
//! everything else it is a fold of the log; it is kept only so that nobody has to fold a thousand logs to draw a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use crate::event::Part;
use crate::id::{AskId, Seq, TurnId};
use crate::time::Timestamp;

/// How much of a message a queue shows, and a title that nobody has chosen.
const FIRST_LINE_CHARS: usize = 120;

/// The first line of what a message says: what a queue shows of it, and the title of a session that begins with it.
pub(crate) fn first_line(content: &[Part]) -> String {
    let text = content.iter().find_map(|part| match part {
        Part::Text { text } => text.lines().map(str::trim).find(|line| !line.is_empty()),
        Part::Image { .. } => Some("an image"),
        Part::File { path } => Some(path.as_str()),
    });
    text.unwrap_or_default().chars().take(FIRST_LINE_CHARS).collect()
}

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    #[default]
    Idle,
    Running,
    /// A person has to answer something.
    Waiting,
    Stopping,
    Archived,
    /// Its last turn failed.
    Failed,
}

impl SessionStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Stopping => "stopping",
            Self::Archived => "archived",
            Self::Failed => "failed",
        }
    }
}

/// The part of a session's state that is stored beside its log.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Summary {
    pub status: SessionStatus,
    pub title: String,
    pub archived: bool,
    pub cwd: Option<String>,
    pub model: Option<String>,
    pub mode: Option<String>,
    /// What of the runtime's own settings was changed since the session was made.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
    pub provider_session_id: Option<String>,
    /// The turn that runs.
    pub turn: Option<TurnId>,
    pub asks: Vec<PendingAsk>,
    pub queued: usize,
    /// What went wrong since the last turn began.
    pub problem: Option<Problem>,
    /// Somebody has set the shared state.
    pub shares_state: bool,
    /// The newest run that said so brought tools.
    pub has_run_tools: bool,
    /// Nothing is open and nothing waits: a crash now would lose nothing and leave nothing half done.
    pub at_rest: bool,
}

/// What went wrong with a session, as its log says it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    pub code: String,
    pub message: String,
    /// What to do about it.
    pub fix: Option<String>,
}

/// An ask that nobody has answered yet.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PendingAsk {
    pub ask_id: AskId,
    pub kind: AskKind,
    pub turn_id: Option<TurnId>,
    /// Where its request stands in the log.
    pub seq: Seq,
    pub asked_at: Timestamp,
    /// One line for a person.
    pub title: String,
    /// The request's payload, as in its event.
    pub request: serde_json::Value,
}

impl PendingAsk {
    /// The call that waits, when a client has to run a tool.
    pub fn client_call(&self) -> Option<&str> {
        let call = self.request.get("tool_use_id").and_then(serde_json::Value::as_str);
        call.filter(|_| self.kind == AskKind::Interrupt)
    }
}

/// What kind of answer an ask takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    Permission,
    Question,
    Interrupt,
}
