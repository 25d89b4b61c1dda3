//! Task events: every turn of every session in one small stream, a list of what runs, and what a run is and how it is cancelled. What a task is stands
//! in `turnloom_core::dialect::tasks`; `hub` folds them from the feed of all sessions.

mod hub;
mod list;
mod stream;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;
use turnloom_core::command::{ClientCommand, Command, Reply};
use turnloom_core::dialect::tasks::{Kind, Presence, Status, Task, TaskHistory, is_zombie};
use turnloom_core::event::{AfterStop, Origin};
use turnloom_core::id::{SessionId, TurnId};
use turnloom_core::time::Timestamp;

pub use self::hub::Hub;
pub(in super::super) use self::stream::{EventsQuery, TaskFrame, TaskStream};
use super::super::App;
use super::super::extract::{Client, Query};
use super::super::problem::Problem;
use super::super::shapes::dialects::ActiveTasks;
use super::super::table::{Route, get, post};
use super::find;
use crate::log::SessionRow;
use crate::session::now;

pub(in super::super) fn routes() -> Vec<Route> {
    vec![
        get("/api/tasks/events", "Stream the turns of all sessions", stream::events)
            .query::<stream::EventsQuery>()
            .answers_as(
                200,
                "`connected`, then `task:started`, `task:progress`, `task:completed`, `heartbeat`",
                "text/event-stream",
            ),
        get("/api/tasks", "List turns of all sessions, running and ended, newest first", list::list)
            .named("list_tasks")
            .query::<list::ListQuery>()
            .answers::<list::TaskList>(200, "A page of turns"),
        get("/api/tasks/active", "List the running turns", active)
            .answers::<ActiveTasks>(200, "`tasks`, and the `position` in the stream they belong to"),
        get("/api/agent-runs/{turn_id}/status", "Get the status of a turn, and whether it is still alive", status)
            .query::<RunQuery>()
            .answers::<RunStatus>(200, "The turn as it is now"),
        post("/api/agent-runs/{turn_id}/cancel", "Cancel a turn; a dead one is ended by force", cancel)
            .query::<CancelQuery>()
            .answers::<Cancelled>(200, "The turn has ended"),
    ]
}

/// Whatever was committed before somebody asked is in the answer.
async fn catch_up(app: &App) {
    app.tasks.caught_up(app.sessions.log().feed().head().position).await;
}

async fn active(State(app): State<App>) -> Json<Value> {
    catch_up(&app).await;
    let (tasks, position) = app.tasks.active();
    Json(json!({ "tasks": tasks, "position": position.0, "timestamp": now() }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RunStatusQuery")]
struct RunQuery {
    /// The session of the turn; needed for turns that ended long ago.
    session_id: Option<SessionId>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CancelRunQuery")]
struct CancelQuery {
    /// The session of the turn; needed for turns that ended long ago.
    session_id: Option<SessionId>,
    /// Only if it is dead: one that has come back to life goes on.
    #[serde(default)]
    force: bool,
}

/// A turn as those see it who wait for it. Some members have two names, because clients of two kinds read them.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
struct RunStatus {
    run_id: String,
    session_id: String,
    /// `running`, `succeeded`, `failed`, `cancelled`.
    status: &'static str,
    /// It runs, and nothing was heard of it for too long. Decided here; a turn that waits for a person is not one.
    is_zombie: bool,
    #[serde(rename = "isZombie")]
    is_zombie_too: bool,
    waits_for_person: bool,
    last_heartbeat_at: Timestamp,
    #[serde(rename = "updatedAt")]
    updated_at: Timestamp,
    origin: Origin,
    #[serde(rename = "type")]
    kind: Kind,
    presence: Presence,
    /// The runtime.
    #[serde(rename = "pipelineName")]
    pipeline_name: String,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    #[serde(rename = "completedAt")]
    completed_at_too: Option<Timestamp>,
    duration_ms: Option<i64>,
    #[serde(rename = "durationMs")]
    duration_ms_too: Option<i64>,
    error: Option<String>,
}

/// The turn and its session.
async fn run(app: &App, turn: &str, query: RunQuery) -> Result<(Task, SessionRow), Problem> {
    let turn = TurnId::trusted(turn);
    let unknown = || {
        let detail = format!("there is no run {turn} here; if it ended long ago, say its session with `session_id`");
        Problem::new(StatusCode::NOT_FOUND, "run_not_found", detail)
    };
    catch_up(app).await;
    if let Some(task) = app.tasks.find(&turn) {
        let row = find(app, &task.session_id).await?.ok_or_else(unknown)?;
        return Ok((task, row));
    }
    let id = query.session_id.ok_or_else(unknown)?;
    let row = find(app, &id).await?.ok_or_else(unknown)?;
    let found = app.reader.folds().ask(&row, |tasks: &TaskHistory| tasks.task(&turn).cloned()).await?;
    found.map(|task| (task, row)).ok_or_else(unknown)
}

fn describe(app: &App, task: &Task, row: &SessionRow) -> RunStatus {
    let runs = task.status == Status::Running && row.summary.turn.as_ref() == Some(&task.run_id);
    let waits_for_person = runs && !row.summary.asks.is_empty();
    let last_activity = if runs { hub::last_activity(row) } else { task.last_activity_at };
    let dead = runs && is_zombie(app.tasks.silence_of(&task.session_id), waits_for_person, app.zombie_after);
    RunStatus {
        run_id: task.run_id.to_string(),
        session_id: task.session_id.to_string(),
        status: task.status.as_str(),
        is_zombie: dead,
        is_zombie_too: dead,
        waits_for_person,
        last_heartbeat_at: last_activity,
        updated_at: last_activity,
        origin: task.origin,
        kind: task.kind,
        presence: task.presence,
        pipeline_name: row.runtime.clone(),
        started_at: task.started_at,
        completed_at: task.completed_at,
        completed_at_too: task.completed_at,
        duration_ms: task.duration_ms,
        duration_ms_too: task.duration_ms,
        error: task.error.clone(),
    }
}

async fn status(
    State(app): State<App>,
    Path(turn): Path<String>,
    Query(query): Query<RunQuery>,
) -> Result<Json<RunStatus>, Problem> {
    let (task, row) = run(&app, &turn, query).await?;
    Ok(Json(describe(&app, &task, &row)))
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
struct Cancelled {
    cancelled: bool,
    /// The turn was dead.
    forced: Option<bool>,
}

async fn cancel(
    State(app): State<App>,
    Path(turn): Path<String>,
    Query(CancelQuery { session_id, force }): Query<CancelQuery>,
    Client(by): Client,
) -> Result<Json<Cancelled>, Problem> {
    let (task, row) = run(&app, &turn, RunQuery { session_id }).await?;
    let over = |status: &str| {
        let detail = format!("run {} is not running: {status}", task.run_id);
        Problem::new(StatusCode::CONFLICT, "not_running", detail).with("run_status", status)
    };
    if task.status != Status::Running {
        return Err(over(task.status.as_str()));
    }
    let is_dead = describe(&app, &task, &row).is_zombie;
    if force && !is_dead {
        let detail = format!("run {} is alive; cancel it without `force`", task.run_id);
        return Err(Problem::new(StatusCode::CONFLICT, "run_is_alive", detail));
    }
    let turn_id = task.run_id.clone();
    // A dead turn is not asked: its agent is ended by signals.
    let (command, forced) = if is_dead {
        (Command::ForceStop { turn_id }, Some(true))
    } else {
        (Command::Stop { turn_id: Some(turn_id), then: AfterStop::Continue }, None)
    };
    match app.sessions.execute(&row.id, ClientCommand { by, command }).await? {
        Reply::Stopped { stopped: true, .. } => Ok(Json(Cancelled { cancelled: true, forced })),
        Reply::Stopped { .. }
        | Reply::Accepted { .. }
        | Reply::Resolved { .. }
        | Reply::Done
        | Reply::Queue(_)
        | Reply::Queued(_)
        | Reply::State { .. }
        | Reply::Inherited(_)
        | Reply::Noted { .. } => Err(over("it has just ended")),
    }
}
