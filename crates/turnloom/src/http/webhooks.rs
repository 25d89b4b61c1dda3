//! Webhooks: the routes that manage who is told what happens in sessions.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;
use turnloom_core::time::Timestamp;
use turnloom_core::webhook::Subscription;

use super::App;
use super::channels::{Required, with_secrets};
use super::extract::Body;
use super::problem::Problem;
use super::table::{Route, delete, get, patch, post};
use crate::outgoing;
use crate::scoped_tokens::Need;
use crate::secrets::{NewSecret, SecretSource};
use crate::webhooks::{Deliveries, Error, Shown, Tested};

pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/api/webhooks", "List the webhooks", list).answers::<Webhooks>(200, "The complete list, oldest first"),
        post("/api/webhooks", "Subscribe an address to what happens in sessions", create)
            .needs(|_| Need::Person)
            .body::<NewWebhook>()
            .example(json!({ "url": "https://hooks.example/turnloom", "events": ["turn.completed", "turn.failed"] }))
            .answers::<MadeWebhook>(201, "The webhook, and its secret, which cannot be shown again"),
        get("/api/webhooks/{id}", "Get a webhook", show).answers::<WebhookView>(200, "The webhook"),
        patch("/api/webhooks/{id}", "Change a webhook", update)
            .needs(|_| Need::Person)
            .body::<WebhookPatch>()
            .example(json!({ "paused": true }))
            .answers::<WebhookView>(200, "As it is now"),
        delete("/api/webhooks/{id}", "Remove a webhook", remove)
            .needs(|_| Need::Person)
            .answers_empty(204, "Removed; nothing more is sent"),
        get("/api/webhooks/{id}/deliveries", "List what was sent, what waits and what nobody took", deliveries)
            .answers::<Deliveries>(200, "The last tries, what is tried again, and the dead letters"),
        post("/api/webhooks/{id}/redeliver", "Send an event again", redeliver)
            .needs(|_| Need::Person)
            .body::<Redeliver>()
            .example(json!({ "delivery_id": "msg_2b1e0c6d5a4f3e2d1c0b9a8f7e6d5c4b" }))
            .answers_empty(202, "It is sent after what waits in its session"),
        post("/api/webhooks/{id}/test", "Send a test event at once", test)
            .needs(|_| Need::Person)
            .answers::<Tested>(200, "What the receiver answered"),
    ]
}

/// A subscription to be made.
#[derive(Debug)]
pub(super) struct NewWebhook {
    subscription: Subscription,
    secret: Option<NewSecret>,
}

fn take_secret<E: serde::de::Error>(members: &mut Map<String, Value>) -> Result<Option<NewSecret>, E> {
    let given = members.remove("secret").filter(|given| !given.is_null());
    given
        .map(|given| serde_json::from_value(given).map_err(|error| E::custom(format!("`secret`: {error}"))))
        .transpose()
}

impl<'de> Deserialize<'de> for NewWebhook {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Map::deserialize(deserializer)?;
        let secret = take_secret(&mut members)?;
        let subscription = serde_json::from_value(members.into()).map_err(D::Error::custom)?;
        Ok(Self { subscription, secret })
    }
}

impl JsonSchema for NewWebhook {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NewWebhook".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        with_secrets::<Subscription>(generator, &["secret"], Required::AsItsType)
    }
}

/// What is to be changed; `null` takes back what was set.
#[derive(Debug)]
pub(super) struct WebhookPatch {
    changes: Map<String, Value>,
    secret: Option<NewSecret>,
}

impl<'de> Deserialize<'de> for WebhookPatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut changes = Map::deserialize(deserializer)?;
        let secret = take_secret(&mut changes)?;
        Ok(Self { changes, secret })
    }
}

impl JsonSchema for WebhookPatch {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WebhookPatch".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        with_secrets::<Subscription>(generator, &["secret"], Required::Nothing)
    }
}

/// A subscription as clients see it.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Webhook")]
pub(super) struct WebhookView {
    webhook_id: String,
    #[serde(flatten)]
    subscription: Subscription,
    /// Where its secret is; the secret itself is not shown.
    secret: SecretSource,
    /// Why it was paused, if nobody did it.
    disabled: Option<String>,
    /// Up to where in the feed of all sessions everything is sent, or kept to be tried again.
    position: u64,
    /// What is read and not delivered.
    waiting: usize,
    /// Since the daemon started.
    delivered: u64,
    /// Tries that failed since the daemon started.
    failed: u64,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<Shown> for WebhookView {
    fn from(shown: Shown) -> Self {
        let Shown { id, subscription, secret, disabled, created_at, updated_at, progress } = shown;
        Self {
            webhook_id: id,
            subscription,
            secret,
            disabled,
            position: progress.position,
            waiting: progress.waiting,
            delivered: progress.delivered,
            failed: progress.failed,
            created_at,
            updated_at,
        }
    }
}

/// A subscription that was just made.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MadeWebhook {
    webhook: WebhookView,
    /// `whsec_...`, if none was given.
    secret: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Webhooks {
    webhooks: Vec<WebhookView>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Redeliver {
    /// The `webhook-id` of a delivery that is listed.
    delivery_id: String,
}

pub(super) async fn list(State(app): State<App>) -> Json<Webhooks> {
    Json(Webhooks { webhooks: app.webhooks.list().into_iter().map(WebhookView::from).collect() })
}

pub(super) async fn create(State(app): State<App>, Body(new): Body<NewWebhook>) -> Result<Response, Problem> {
    let (made, secret) = app.webhooks.create(new.subscription, new.secret).await?;
    Ok((StatusCode::CREATED, Json(MadeWebhook { webhook: made.into(), secret })).into_response())
}

pub(super) async fn show(State(app): State<App>, Path(id): Path<String>) -> Result<Json<WebhookView>, Problem> {
    Ok(Json(app.webhooks.show(&id)?.into()))
}

pub(super) async fn update(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(patch): Body<WebhookPatch>,
) -> Result<Json<WebhookView>, Problem> {
    Ok(Json(app.webhooks.change(&id, patch.changes, patch.secret).await?.into()))
}

pub(super) async fn remove(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    app.webhooks.remove(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn deliveries(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Deliveries>, Problem> {
    Ok(Json(app.webhooks.deliveries(&id)?))
}

pub(super) async fn redeliver(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(Redeliver { delivery_id }): Body<Redeliver>,
) -> Result<StatusCode, Problem> {
    app.webhooks.redeliver(&id, &delivery_id).await?;
    Ok(StatusCode::ACCEPTED)
}

pub(super) async fn test(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Tested>, Problem> {
    Ok(Json(app.webhooks.test(&id).await?))
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        match error {
            Error::NotFound(_) => Self::new(StatusCode::NOT_FOUND, "webhook_not_found", detail),
            Error::DeliveryNotFound(_) => Self::new(StatusCode::NOT_FOUND, "delivery_not_found", detail),
            Error::Invalid(_) => Self::invalid(detail),
            Error::Target(outgoing::Error::Private(_)) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "private_target", detail)
            }
            Error::Target(_) => Self::invalid(detail),
            Error::TooMany => Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_webhooks", detail),
            Error::Secrets(error) => error.into(),
            Error::Log(error) => error.into(),
            Error::ShuttingDown => Self::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", detail),
        }
    }
}
