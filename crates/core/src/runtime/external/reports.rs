//! Lines to reports. An agent may leave out what the session can know by itself; what is wrong in what it does say is named.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::may_say;
use crate::event::{
    AGENT, Activity, EndReason, Event, Failure, Interrupt, ModelChoice, Origin, Outcome, PermissionReply,
    PermissionRequest, QuestionRequest, SlashCommand,
};
use crate::id::{MessageId, SubagentId, TurnId};
use crate::runtime::{AskRequest, Ready, Report, StartFailure};

/// The longest names that an agent may give to what it asks and to the turns it begins.
const MAX_KEY_BYTES: usize = 256;

/// One message of an agent. What stands in `data` depends on its type.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) session_id: Option<Cow<'a, str>>,
    pub(super) n: Option<u64>,
    #[serde(borrow)]
    pub(super) turn_id: Option<Cow<'a, str>>,
    pub(super) subagent_id: Option<SubagentId>,
    #[serde(default)]
    data: Map<String, Value>,
}

#[derive(Deserialize)]
struct ReadyData {
    provider_session_id: Option<String>,
    #[serde(default)]
    resumed: bool,
    reason: Option<String>,
    model: Option<String>,
    mode: Option<String>,
    version: Option<String>,
    commands: Option<Vec<SlashCommand>>,
    models: Option<Vec<ModelChoice>>,
}

#[derive(Deserialize)]
struct StartFailedData {
    message: String,
    #[serde(default = "start_failed")]
    code: String,
    fix: Option<String>,
}

fn start_failed() -> String {
    "agent_start_failed".to_owned()
}

#[derive(Deserialize)]
struct AskData {
    key: String,
    permission: Option<Map<String, Value>>,
    question: Option<Map<String, Value>>,
    interrupt: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct WithdrawnData {
    key: String,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct SteerData {
    message_id: MessageId,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct TurnStartedData {
    turn: String,
}

#[derive(Deserialize)]
struct TurnEndedData {
    outcome: Outcome,
    reason: Option<String>,
    failure: Option<FailureData>,
}

#[derive(Deserialize)]
struct FailureData {
    message: String,
    #[serde(default = "failed")]
    code: String,
    #[serde(default)]
    retryable: bool,
    fix: Option<String>,
}

fn failed() -> String {
    "agent_failed".to_owned()
}

#[derive(Deserialize)]
struct AnchorData {
    anchor: String,
}

#[derive(Deserialize)]
struct RenamedData {
    provider_session_id: String,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct RolledBackData {
    #[serde(default)]
    files_restored: bool,
    #[serde(default)]
    branched: bool,
}

#[derive(Deserialize)]
struct ReasonData {
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct SessionEndedData {
    #[serde(default)]
    reason: EndReason,
    message: Option<String>,
}

/// What a message reports; nothing, if it is of a type that we do not know, or about the connection alone.
pub(super) fn report(message: &Message<'_>, turn: Option<&TurnId>) -> Result<Option<Report>, String> {
    let data = &message.data;
    let report = match &*message.kind {
        "ready" => {
            let ReadyData { provider_session_id, resumed, reason, model, mode, version, commands, models } =
                read(data)?;
            let ready = Ready { provider_session_id, resumed, reason, model, mode, version, commands, models };
            Report::Ready(Box::new(ready))
        }
        "start_failed" => {
            let StartFailedData { message, code, fix } = read(data)?;
            Report::StartFailed(StartFailure { message, code, fix })
        }
        "ask" => ask(message.subagent_id.clone(), read(data)?)?,
        "ask_withdrawn" => {
            let WithdrawnData { key, reason } = read(data)?;
            Report::AskWithdrawn { key, reason }
        }
        "steer_delivered" => {
            let SteerData { message_id, .. } = read(data)?;
            Report::SteerDelivered { message_id }
        }
        "steer_rejected" => {
            let SteerData { message_id, reason } = read(data)?;
            Report::SteerRejected { message_id, reason }
        }
        "turn_started" => {
            let TurnStartedData { turn } = read(data)?;
            TurnId::parse(&turn).map_err(|error| format!("`turn`: {error}"))?;
            Report::TurnStarted { origin: Origin::Agent, name: Some(turn) }
        }
        "turn_ended" => {
            let TurnEndedData { outcome, reason, failure } = read(data)?;
            let failure =
                failure.map(|FailureData { message, code, retryable, fix }| Failure { message, code, retryable, fix });
            Report::TurnEnded { outcome, reason, failure }
        }
        "anchor" => Report::Anchor(read::<AnchorData>(data)?.anchor),
        "renamed" => {
            let RenamedData { provider_session_id, reason } = read(data)?;
            Report::Renamed { provider_session_id, reason }
        }
        "rolled_back" => {
            let RolledBackData { files_restored, branched } = read(data)?;
            Report::RolledBack { files_restored, branched }
        }
        "rollback_refused" => Report::RollbackRefused { reason: read::<ReasonData>(data)?.reason },
        "session_ended" => {
            let SessionEndedData { reason, message } = read(data)?;
            Report::SessionEnded { reason, message }
        }
        kind if Event::KINDS.contains(&kind) => fact(kind, message, turn)?,
        _ => return Ok(None),
    };
    Ok(Some(report))
}

fn read<T: DeserializeOwned>(data: &Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(data.clone())).map_err(|error| format!("`data`: {error}"))
}

fn fact(kind: &str, message: &Message<'_>, turn: Option<&TurnId>) -> Result<Report, String> {
    let mut data = message.data.clone();
    // That is for others to say.
    data.remove("emit_id");
    let missing = |data: &mut Map<String, Value>, name: &str, value: Value| {
        data.entry(name).or_insert(value);
    };
    match kind {
        "delta" | "thinking" => {
            let voice = if kind == "delta" { "text" } else { "thinking" };
            let turn = message.turn_id.as_deref().or(turn.map(TurnId::as_str)).unwrap_or_default();
            let by = message.subagent_id.as_ref().map(|id| format!("-{id}")).unwrap_or_default();
            missing(&mut data, "block_id", json!(format!("{voice}-{turn}{by}")));
            missing(&mut data, "text", json!(""));
        }
        "tool_result" => {
            missing(&mut data, "output", json!(""));
            missing(&mut data, "is_error", json!(false));
        }
        // Whoever changes what clients change too is named; and an agent cannot pass for somebody else.
        "state_delta" | "session_updated" | "model_changed" | "mode_changed" => {
            data.insert("by".to_owned(), json!(AGENT));
        }
        _ => {}
    }
    let event = Event::from_value(kind, &Value::Object(data));
    match &event {
        Event::Unknown(_) => Err(format!("`data` is not that of a `{kind}`; see /api/events.schema.json")),
        event if !may_say(event) => Err(format!("`{kind}` is not for an agent to say")),
        Event::Status(status) if status.state == Activity::Stopping => {
            Err("`stopping` is for the session to say".to_owned())
        }
        _ => Ok(Report::Fact { subagent_id: message.subagent_id.clone(), event }),
    }
}

fn ask(subagent_id: Option<SubagentId>, data: AskData) -> Result<Report, String> {
    let AskData { key, permission, question, interrupt } = data;
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(format!("`key` has 1 to {MAX_KEY_BYTES} bytes"));
    }
    let request = match (permission, question, interrupt) {
        (Some(mut asked), None, None) => {
            asked.insert("ask_id".to_owned(), json!(""));
            asked.remove("judged");
            let once = json!({ "reply": PermissionReply::Once, "label": "Allow once" });
            let reject = json!({ "reply": PermissionReply::Reject, "label": "Reject" });
            asked.entry("options").or_insert(json!([once, reject]));
            asked.entry("tool_input").or_insert(json!({}));
            AskRequest::Permission(read_in::<PermissionRequest>("permission", asked)?)
        }
        (None, Some(mut asked), None) => {
            asked.insert("ask_id".to_owned(), json!(""));
            let questions = asked.get_mut("questions").and_then(Value::as_array_mut).into_iter().flatten();
            for question in questions.filter_map(Value::as_object_mut) {
                question.entry("options").or_insert(json!([]));
                question.entry("multiple").or_insert(json!(false));
                let is_open = question.get("options").and_then(Value::as_array).is_none_or(Vec::is_empty);
                question.entry("free_text").or_insert(json!(is_open));
            }
            AskRequest::Question(read_in::<QuestionRequest>("question", asked)?)
        }
        (None, None, Some(mut asked)) => {
            asked.insert("interrupt_id".to_owned(), json!(""));
            asked.entry("surface").or_insert(json!("chat"));
            asked.entry("props").or_insert(json!({}));
            AskRequest::Interrupt(read_in::<Interrupt>("interrupt", asked)?)
        }
        _ => return Err("an `ask` has one of `permission`, `question` and `interrupt`".to_owned()),
    };
    Ok(Report::Ask { key, subagent_id, request })
}

fn read_in<T: DeserializeOwned>(name: &str, asked: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(asked)).map_err(|error| format!("`{name}`: {error}"))
}
