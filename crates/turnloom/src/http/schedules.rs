//! Schedules over HTTP. What is due and what becomes of it is decided in `schedules`.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;
use turnloom_core::budget::Limits;
use turnloom_core::schedule::{self, Definition, MissedRule, NotNow, Overlap, Run, Target, When, check_id};
use turnloom_core::time::Timestamp;

use super::App;
use super::extract::{Body, Query};
use super::problem::Problem;
use super::sessions::page_size;
use super::table::{Route, delete, get, patch, post};
use crate::schedules::{self, Created, Error, ScheduleView};

/// Runs on a page, unless asked for another number.
const PAGE: usize = 50;
const MAX_PAGE: usize = 200;

/// Times of a preview, unless asked for another number.
const TIMES: usize = 5;
const MAX_TIMES: usize = 50;

pub(super) fn routes() -> Vec<Route> {
    let nightly = json!({
        "schedule_id": "nightly",
        "title": "Dependencies, every night",
        "when": { "type": "cron", "expression": "0 3 * * *" },
        "zone": "Europe/Berlin",
        "prompt": "echo update the dependencies, {{date}}",
        "runtime": "mock"
    });
    vec![
        post("/api/schedules", "Create a schedule: a prompt that is sent by itself", create)
            .named("create_schedule")
            .body::<New>()
            .example(nightly)
            .answers::<ScheduleView>(201, "Created")
            .answers::<ScheduleView>(200, "The schedule exists already, from the same request"),
        get("/api/schedules", "List the schedules", list)
            .named("list_schedules")
            .answers::<List>(200, "The complete list, by id"),
        post("/api/schedules/preview", "Tell when a schedule would be due, without creating it", preview)
            .named("preview_schedule")
            .body::<Preview>()
            .example(json!({ "when": { "type": "cron", "expression": "0 3 * * *" }, "zone": "Europe/Berlin" }))
            .answers::<Times>(200, "The next times"),
        get("/api/schedules/{id}", "Get a schedule", show)
            .named("show_schedule")
            .answers::<ScheduleView>(200, "The schedule, with its next times and its last run"),
        patch("/api/schedules/{id}", "Change, pause or resume a schedule", update)
            .named("update_schedule")
            .body::<Update>()
            .example(json!({ "paused": true }))
            .answers::<ScheduleView>(200, "As it is now"),
        delete("/api/schedules/{id}", "Remove a schedule and its history; its sessions stay", remove)
            .named("remove_schedule")
            .answers_empty(204, "Removed"),
        post("/api/schedules/{id}/run", "Run a schedule now", run)
            .named("run_schedule")
            .answers::<Run>(202, "The run; it is queued, if another goes on"),
        get("/api/schedules/{id}/runs", "List the runs of a schedule, newest first", runs)
            .named("list_runs")
            .query::<RunsQuery>()
            .answers::<Runs>(200, "One page of runs"),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewSchedule")]
pub(super) struct New {
    /// Chosen by the client, so that a retry is safe; made by the daemon if absent.
    schedule_id: Option<String>,
    title: String,
    when: When,
    /// The time zone of a cron expression, and of dates in the prompt; UTC, if absent.
    zone: Option<String>,
    /// What the agent is told. `{{date}}`, `{{time}}`, `{{last_result}}`, `{{run_id}}` and the variables are put in when a run starts.
    prompt: String,
    #[serde(default)]
    variables: BTreeMap<String, String>,
    /// Who runs it; not where runs take place in a session that is there already.
    runtime: Option<String>,
    /// What new sessions are created with.
    #[serde(default)]
    params: Map<String, Value>,
    /// What each run may spend.
    budget: Option<Limits>,
    /// What all runs may spend together.
    total_budget: Option<Limits>,
    #[serde(default)]
    session: Target,
    #[serde(default)]
    overlap: Overlap,
    #[serde(default)]
    missed: MissedRule,
    /// Runs start up to so much later than they are due, always equally much.
    #[serde(default)]
    jitter_seconds: u32,
    #[serde(default)]
    paused: bool,
}

/// What is to be different; the rest stays.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ScheduleUpdate")]
pub(super) struct Update {
    title: Option<String>,
    when: Option<When>,
    zone: Option<String>,
    prompt: Option<String>,
    /// All of them.
    variables: Option<BTreeMap<String, String>>,
    runtime: Option<String>,
    /// All of them.
    params: Option<Map<String, Value>>,
    /// `{}` takes it back.
    budget: Option<Limits>,
    /// `{}` takes it back.
    total_budget: Option<Limits>,
    /// With a session that is there already, `runtime` and `params` are forgotten.
    session: Option<Target>,
    overlap: Option<Overlap>,
    missed: Option<MissedRule>,
    jitter_seconds: Option<u32>,
    paused: Option<bool>,
}

impl Update {
    fn apply(self, before: Definition) -> Definition {
        let session = self.session.unwrap_or(before.session);
        let creates = matches!(session, Target::New | Target::Same { session_id: None });
        // What was said of sessions that are created means nothing where none are; what is said now is refused there.
        let (runtime, params) = if creates { (before.runtime, before.params) } else { (None, Map::new()) };
        let kept = |limits: Option<Limits>| limits.filter(|limits| creates && !limits.is_empty());
        Definition {
            title: self.title.unwrap_or(before.title),
            when: self.when.unwrap_or(before.when),
            zone: self.zone.unwrap_or(before.zone),
            prompt: self.prompt.unwrap_or(before.prompt),
            variables: self.variables.unwrap_or(before.variables),
            runtime: self.runtime.or(runtime),
            params: self.params.unwrap_or(params),
            budget: self.budget.or(kept(before.budget)).filter(|limits| !limits.is_empty()),
            total_budget: self.total_budget.or(kept(before.total_budget)).filter(|limits| !limits.is_empty()),
            session,
            overlap: self.overlap.unwrap_or(before.overlap),
            missed: self.missed.unwrap_or(before.missed),
            jitter_seconds: self.jitter_seconds.unwrap_or(before.jitter_seconds),
            paused: self.paused.unwrap_or(before.paused),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Schedules")]
pub(super) struct List {
    schedules: Vec<ScheduleView>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SchedulePreview")]
pub(super) struct Preview {
    when: When,
    /// UTC, if absent.
    zone: Option<String>,
    /// How many times; five, if absent.
    count: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScheduleTimes")]
pub(super) struct Times {
    /// When it would be due, in words: `at 03:00 every day`.
    words: String,
    times: Vec<Timestamp>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunsQuery {
    /// Runs in a page.
    limit: Option<usize>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScheduleRuns")]
pub(super) struct Runs {
    runs: Vec<Run>,
    next_cursor: Option<String>,
}

impl From<schedule::Error> for Problem {
    fn from(error: schedule::Error) -> Self {
        let status = match &error {
            schedule::Error::Field { .. } => StatusCode::BAD_REQUEST,
            schedule::Error::NoSession(_) => StatusCode::NOT_FOUND,
            schedule::Error::Cron { .. }
            | schedule::Error::Zone(_)
            | schedule::Error::Interval { .. }
            | schedule::Error::Never
            | schedule::Error::Past(_)
            | schedule::Error::Template(_) => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, error.code(), error.to_string())
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        match error {
            Error::NotFound(_) => Self::new(StatusCode::NOT_FOUND, "schedule_not_found", detail),
            Error::Exists(_) => Self::new(StatusCode::CONFLICT, "schedule_exists", detail),
            Error::TooMany => Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_schedules", detail),
            Error::NotNow(NotNow::Active(run)) => {
                Self::new(StatusCode::CONFLICT, "run_active", detail).with("run_id", run.as_str())
            }
            Error::NotNow(NotNow::Full) => Self::new(StatusCode::TOO_MANY_REQUESTS, "queue_full", detail),
            Error::Definition(error) => error.into(),
            Error::Session(error) => error.into(),
            Error::Log(error) => error.into(),
            Error::ShuttingDown => Self::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", detail),
        }
    }
}

pub(super) async fn create(
    State(app): State<App>,
    Body(new): Body<New>,
) -> Result<(StatusCode, Json<ScheduleView>), Problem> {
    let id = new.schedule_id.as_deref().map(check_id).transpose()?;
    let definition = Definition {
        title: new.title,
        when: new.when,
        zone: new.zone.unwrap_or_else(|| "UTC".to_owned()),
        prompt: new.prompt,
        variables: new.variables,
        runtime: new.runtime,
        params: new.params,
        budget: new.budget,
        total_budget: new.total_budget,
        session: new.session,
        overlap: new.overlap,
        missed: new.missed,
        jitter_seconds: new.jitter_seconds,
        paused: new.paused,
    };
    let (view, created) = app.schedules.create(id, definition).await?;
    let status = match created {
        Created::New => StatusCode::CREATED,
        Created::Before => StatusCode::OK,
    };
    Ok((status, Json(view)))
}

pub(super) async fn list(State(app): State<App>) -> Result<Json<List>, Problem> {
    Ok(Json(List { schedules: app.schedules.list().await? }))
}

pub(super) async fn preview(Body(preview): Body<Preview>) -> Result<Json<Times>, Problem> {
    let count = page_size(preview.count, TIMES, MAX_TIMES)?;
    let zone = preview.zone.as_deref().unwrap_or("UTC");
    let (words, times) = schedules::preview(&preview.when, zone, count)?;
    Ok(Json(Times { words, times }))
}

pub(super) async fn show(State(app): State<App>, Path(id): Path<String>) -> Result<Json<ScheduleView>, Problem> {
    Ok(Json(app.schedules.show(&id).await?))
}

pub(super) async fn update(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(update): Body<Update>,
) -> Result<Json<ScheduleView>, Problem> {
    Ok(Json(app.schedules.edit(&id, Box::new(|before| update.apply(before))).await?))
}

pub(super) async fn remove(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    app.schedules.remove(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn run(State(app): State<App>, Path(id): Path<String>) -> Result<(StatusCode, Json<Run>), Problem> {
    Ok((StatusCode::ACCEPTED, Json(app.schedules.run_now(&id).await?)))
}

pub(super) async fn runs(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(query): Query<RunsQuery>,
) -> Result<Json<Runs>, Problem> {
    let limit = page_size(query.limit, PAGE, MAX_PAGE)?;
    let page = app.schedules.runs(&id, query.cursor, limit).await?;
    Ok(Json(Runs { runs: page.runs, next_cursor: page.next }))
}
