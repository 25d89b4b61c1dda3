//! Facts that scripts and tools add to a session. What may be added is decided by the session.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use turnloom_core::command::{self, ClientCommand, Command, Reply};
use turnloom_core::event::Event;
use turnloom_core::id::{Seq, SessionId, TurnId};

use super::App;
use super::extract::{Body, Client, Session};
use super::problem::Problem;
use crate::sync::Locked;

const MAX_EVENTS: usize = 100;
const MAX_BYTES: usize = 256 * 1024;

/// Calls of one session in a second.
const MAX_CALLS: u32 = 50;
const SECOND: Duration = Duration::from_secs(1);

/// Sessions that are counted at once; those of the last second are few.
const MAX_COUNTED: usize = 4_096;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Emit {
    /// The same one again is taken once.
    id: Option<String>,
    /// Refused if this turn is not open any more.
    turn_id: Option<TurnId>,
    /// At most 100, of 256 KiB together.
    events: Vec<Emitted>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Emitted {
    /// `component_update`, `component_remove`, `state_delta`, `artifact_created`, `artifact_updated`, `artifact_version`, `artifact_removed`,
    /// `evidence_changed` or `tool_progress`.
    #[serde(rename = "type")]
    kind: String,
    /// As that event has it.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    data: Box<RawValue>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EmitAccepted")]
pub(super) struct Accepted {
    accepted: usize,
    /// Where the last of them stands.
    seq: Seq,
}

/// How often each session was called in this second.
#[derive(Debug, Default)]
pub(super) struct Calls(Locked<HashMap<SessionId, (Instant, u32)>>);

impl Calls {
    fn allows(&self, session: &SessionId) -> bool {
        let (mut calls, now) = (self.0.lock(), Instant::now());
        if calls.len() >= MAX_COUNTED {
            calls.retain(|_, (since, _)| now.duration_since(*since) < SECOND);
        }
        let (since, count) = calls.entry(session.clone()).or_insert((now, 0));
        if now.duration_since(*since) >= SECOND {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count <= MAX_CALLS
    }
}

pub(super) async fn emit(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
    Body(emit): Body<Emit>,
) -> Result<Json<Accepted>, Problem> {
    if !app.emits.allows(&id) {
        let detail = format!("a session takes {MAX_CALLS} calls a second; put more events into each");
        return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_emits", detail));
    }
    let Emit { id: emit_id, turn_id, events } = emit;
    let bytes: usize = events.iter().map(|event| event.data.get().len()).sum();
    if events.len() > MAX_EVENTS || bytes > MAX_BYTES {
        let detail = format!("one call has at most {MAX_EVENTS} events and {MAX_BYTES} bytes");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "emit_too_large", detail));
    }
    let accepted = events.len();
    let events = events.iter().map(read).collect::<Result<_, _>>()?;
    let command = Command::Emit(command::Emit { id: emit_id, turn_id, events });
    match app.sessions.execute(&id, ClientCommand { by, command }).await? {
        Reply::Noted { seq } => Ok(Json(Accepted { accepted, seq })),
        _ => Err(Problem::unexpected("an emit")),
    }
}

/// Who emits need not say what the session says for it.
fn read(emitted: &Emitted) -> Result<Event, Problem> {
    let mut data: serde_json::Map<String, serde_json::Value> = serde_json::from_str(emitted.data.get())
        .map_err(|error| Problem::invalid(format!("`data` of a {:?}: {error}", emitted.kind)))?;
    match emitted.kind.as_str() {
        "state_delta" => {
            data.insert("by".to_owned(), "".into());
        }
        "component_update" => {
            data.entry("merge").or_insert(false.into());
        }
        _ => {}
    }
    Ok(Event::from_value(&emitted.kind, &data.into()))
}
