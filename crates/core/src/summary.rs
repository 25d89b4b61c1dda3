//! What a list of sessions shows of each: the part of a session's state that is stored beside its log, in the append that changed it. Like
//! everything else it is a fold of the log; it is kept only so that nobody has to fold a thousand logs to draw a list.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use crate::budget::Tally;
use crate::event::{
    DelegatedAsk, Envelope, Event, Hold, Interrupt, Origin, Outcome, Part, PermissionRequest, Question, QuestionRequest,
};
use crate::id::{AskId, Seq, SessionId, SubagentId, ToolUseId, TurnId};
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
    /// What is stored of it cannot be understood; it can be read as far as that goes, and removed.
    Damaged,
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
            Self::Damaged => "damaged",
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
    /// How many of these wait for somebody to let them go on.
    pub held: usize,
    /// Since when, and why.
    pub held_since: Option<HeldSince>,
    /// How its last turn ended; nothing while the next one runs.
    pub last_end: Option<TurnEnd>,
    /// What nobody could answer any more, because the daemon or the agent ended; until the next turn.
    pub lost_ask: Option<LostAsk>,
    /// What went wrong since the last turn began.
    pub problem: Option<Problem>,
    /// Somebody has set the shared state.
    pub shares_state: bool,
    /// The newest run that said so brought tools.
    pub has_run_tools: bool,
    /// Where somebody last agreed that a session from a file may run.
    pub agreed_at: Option<Seq>,
    /// How full the agent's context is, if it says so.
    pub context: Option<ContextUse>,
    /// What it has spent, if it has.
    pub spent: Option<Box<Tally>>,
    /// The session that it works for.
    pub parent_session_id: Option<SessionId>,
    /// What the sessions that work for it ask of a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delegated_asks: Vec<DelegatedAsk>,
    /// Nothing is open and nothing waits: a crash now would lose nothing and leave nothing half done.
    pub at_rest: bool,
}

/// Since when messages are held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldSince {
    pub seq: Seq,
    pub at: Timestamp,
    pub why: Hold,
}

/// How a turn ended.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEnd {
    pub turn_id: Option<TurnId>,
    pub seq: Seq,
    pub at: Timestamp,
    pub outcome: Outcome,
    pub origin: Origin,
    pub reason: Option<String>,
    /// The first line of its answer.
    pub line: Option<String>,
}

/// How much of what an agent can hold in mind it holds, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextUse {
    pub used: u64,
    pub window: u64,
}

impl ContextUse {
    /// Brings what is known of a session's context forward. Sub-agents have their own.
    pub(crate) fn fold(known: &mut Option<Self>, envelope: &Envelope) {
        if envelope.subagent_id.is_some() {
            return;
        }
        match &envelope.event {
            Event::Usage(usage) => {
                let window = usage.context_window.or(known.map(|context| context.window)).filter(|window| *window > 0);
                if let (Some(used), Some(window)) = (usage.context_used, window) {
                    *known = Some(Self { used, window });
                }
            }
            Event::CompactionEnd(end) if end.failed != Some(true) => {
                if let (Some(used), Some(context)) = (end.tokens_after, known) {
                    context.used = used;
                }
            }
            _ => {}
        }
    }
}

/// What went wrong with a session, as its log says it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SessionProblem")]
pub struct Problem {
    pub code: String,
    pub message: String,
    /// What to do about it.
    pub fix: Option<String>,
}

/// An ask that nobody has answered yet.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    #[schemars(with = "Value")]
    pub request: AskRequest,
    /// Who asks, when it is a sub-agent, and what it was called to do.
    pub subagent_id: Option<SubagentId>,
    pub subagent_name: Option<String>,
}

/// What is asked of a person. In an ask, its kind says which it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AskRequest {
    Permission(PermissionRequest),
    Question(QuestionRequest),
    Interrupt(Interrupt),
}

/// An ask that ended before anybody could answer it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostAsk {
    pub ask_id: AskId,
    pub kind: AskKind,
    /// One line for a person.
    pub title: String,
    pub asked_at: Timestamp,
    pub lost_at: Timestamp,
    pub reason: String,
}

/// A request that is not what the kind of its ask says is an error.
impl<'de> Deserialize<'de> for PendingAsk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Stored {
            ask_id: AskId,
            kind: AskKind,
            turn_id: Option<TurnId>,
            seq: Seq,
            asked_at: Timestamp,
            title: String,
            request: Value,
            subagent_id: Option<SubagentId>,
            subagent_name: Option<String>,
        }
        let Stored { ask_id, kind, turn_id, seq, asked_at, title, request, subagent_id, subagent_name } =
            Stored::deserialize(deserializer)?;
        let request = match kind {
            AskKind::Permission => serde_json::from_value(request).map(AskRequest::Permission),
            AskKind::Question => serde_json::from_value(request).map(AskRequest::Question),
            AskKind::Interrupt => serde_json::from_value(request).map(AskRequest::Interrupt),
        };
        let request = request.map_err(D::Error::custom)?;
        Ok(Self { ask_id, kind, turn_id, seq, asked_at, title, request, subagent_id, subagent_name })
    }
}

impl PendingAsk {
    /// The call that waits, when a client has to run a tool.
    pub fn client_call(&self) -> Option<&str> {
        match &self.request {
            AskRequest::Interrupt(request) => request.tool_use_id.as_ref().map(ToolUseId::as_str),
            AskRequest::Permission(_) | AskRequest::Question(_) => None,
        }
    }

    /// What is asked, if it is a question.
    pub fn questions(&self) -> &[Question] {
        match &self.request {
            AskRequest::Question(request) => &request.questions,
            AskRequest::Permission(_) | AskRequest::Interrupt(_) => &[],
        }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_that_does_not_fit_its_kind_is_an_error() {
        let ask = |kind: &str, request: &Value| {
            let ask = json!({ "ask_id": "a", "kind": kind, "seq": 1, "asked_at": "2026-01-01T00:00:00.000Z", "title": "?", "request": request });
            serde_json::from_value::<PendingAsk>(ask)
        };
        let question = json!({ "ask_id": "a", "questions": [{ "prompt": "Which?", "options": [], "multiple": false, "free_text": true }] });
        let read = ask("question", &question).unwrap();
        assert_eq!(read.questions().len(), 1);
        assert_eq!(serde_json::to_value(&read).unwrap()["request"], question, "it is stored as it stands in its event");
        for (kind, request) in
            [("permission", &question), ("interrupt", &question), ("question", &json!({})), ("question", &json!(7))]
        {
            assert!(ask(kind, request).is_err(), "{kind} {request}");
        }
    }
}
