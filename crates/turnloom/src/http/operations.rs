//! What operators and tools ask: health, metrics, the document.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::App;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Health {
    status: &'static str,
    version: &'static str,
}

pub(super) async fn health() -> Json<Health> {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

pub(super) async fn metrics(State(app): State<App>) -> Response {
    let gauge = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
    app.metrics.sessions_awake.set(gauge(app.sessions.awake()));
    app.metrics.agents_alive.set(gauge(app.spawner.alive()));
    let text = app.metrics.render(app.store.stats(), app.store.pending());
    ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response()
}

pub(super) async fn openapi(State(app): State<App>) -> Json<serde_json::Value> {
    Json(app.openapi.clone())
}
