//! Routes for operators and tools: health, metrics, the OpenAPI document.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::App;
use super::access::RESOURCE_POLICY;
use super::extract::Body;
use super::problem::Problem;
use crate::metrics::PageStep;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Health {
    status: &'static str,
    version: &'static str,
}

/// Pages of others may see that somebody is here, so that they can say what is missing when they are refused.
pub(super) async fn health() -> impl IntoResponse {
    let health = Health { status: "ok", version: env!("CARGO_PKG_VERSION") };
    ([(RESOURCE_POLICY, "cross-origin")], Json(health))
}

pub(super) async fn metrics(State(app): State<App>) -> Response {
    let gauge = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
    app.metrics.sessions_awake.set(gauge(app.sessions.awake()));
    app.metrics.agents_alive.set(gauge(app.spawner.alive()));
    let text = app.metrics.render(app.sessions.log().stats(), app.sessions.log().pending());
    ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response()
}

/// Measurements a page may send at once.
const MAX_TIMINGS: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Timings {
    timings: Vec<Timing>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Timing {
    step: PageStep,
    ms: f64,
}

/// What only the page can know: how long a person waited.
pub(super) async fn timings(
    State(app): State<App>,
    Body(Timings { timings }): Body<Timings>,
) -> Result<StatusCode, Problem> {
    if timings.len() > MAX_TIMINGS {
        return Err(Problem::invalid(format!("at most {MAX_TIMINGS} timings at once, not {}", timings.len())));
    }
    if let Some(wrong) = timings.iter().find(|timing| !timing.ms.is_finite() || timing.ms < 0.0) {
        return Err(Problem::invalid(format!("`ms` must not be negative, as {} is", wrong.ms)));
    }
    for Timing { step, ms } in timings {
        app.metrics.page_took(step, ms);
    }
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn openapi(State(app): State<App>) -> Json<serde_json::Value> {
    Json(app.openapi.clone())
}

pub(super) async fn asyncapi() -> Json<serde_json::Value> {
    Json(super::asyncapi())
}

pub(super) async fn event_schema() -> Json<serde_json::Value> {
    Json(turnloom_core::event::schema())
}
