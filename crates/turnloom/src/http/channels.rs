//! Channels: the address where services deliver, and the routes that manage channels. Whether a delivery is taken is decided by its channel.

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;
use turnloom_core::channel::{Channel, Headers, Refusal};
use turnloom_core::id::{MessageId, SessionId};
use turnloom_core::time::Timestamp;

use super::App;
use super::connections::RegisteredConnection;
use super::extract::{Body, Query};
use super::problem::Problem;
use super::table::{Route, delete, get, patch, post};
use crate::channels::{Counts, DeliveryView, Error, MAX_BODY_BYTES, MAX_LISTED, MAX_WAITING, Shown, Taken};
use crate::scoped_tokens::Need;
use crate::secrets::{self, NewSecret, SecretSource};

/// Where services deliver.
pub(super) const PREFIX: &str = "/hooks/";

/// Seconds after which a service may try again when a channel is full.
const RETRY_AFTER: &str = "5";

pub(super) fn routes() -> Vec<Route> {
    vec![
        post("/hooks/{channel}", "Deliver to a channel; needs no token, but the channel's own signature", deliver)
            .named("deliver")
            .open()
            .body_as("*/*")
            .answers::<Delivered>(200, "Nothing new for an agent, or the answer, if the channel waits for it")
            .answers::<Delivered>(202, "Accepted and stored"),
        get("/api/channels", "List the channels", list)
            .answers::<Channels>(200, "The complete list, by name"),
        post("/api/channels", "Create a channel", create)
            .needs(|_| Need::Person)
            .body::<NewChannel>()
            .example(json!({
                "name": "issues", "kind": "github", "runtime": "mock", "secret": { "value": "a secret that GitHub has too" },
                "events": ["issues.opened", "issue_comment.created"],
            }))
            .answers::<ChannelView>(201, "The channel; its secrets are not shown"),
        get("/api/channels/{name}", "Get a channel", show).answers::<ChannelView>(200, "The channel"),
        patch("/api/channels/{name}", "Change a channel", update)
            .needs(|_| Need::Person)
            .body::<ChannelPatch>()
            .example(json!({ "paused": true }))
            .answers::<ChannelView>(200, "As it is now"),
        delete("/api/channels/{name}", "Remove a channel; its sessions stay", remove)
            .needs(|_| Need::Person)
            .answers_empty(204, "Removed, with its secrets and what is known of its deliveries"),
        get("/api/channels/{name}/deliveries", "List the newest deliveries of a channel", deliveries)
            .query::<DeliveriesQuery>()
            .answers::<Deliveries>(200, "Newest first"),
        post(
            "/api/channels/{name}/deliveries/{delivery_id}/retry",
            "Try a delivery again that failed: its turn, or its answer",
            retry,
        )
        .answers::<DeliveryView>(200, "As it is now"),
    ]
}

/// What is answered to a service.
#[skip_serializing_none]
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Delivered {
    accepted: bool,
    /// It was accepted before.
    duplicate: Option<bool>,
    /// Why it is nothing for an agent: `ping`, `filtered`, `bot`.
    ignored: Option<&'static str>,
    /// What Slack asks back.
    challenge: Option<String>,
    delivery_id: Option<String>,
    session_id: Option<SessionId>,
    message_id: Option<MessageId>,
    /// What the agent answered, if the channel waits for it and it came in time.
    answer: Option<String>,
}

pub(super) async fn deliver(
    State(app): State<App>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Response> {
    let channels = &app.channels;
    let refuse = |code: &'static str, problem: Problem| {
        channels.count_refused(&name, code);
        problem.into_response()
    };
    if channels.show(&name).is_err() {
        // Nobody learns more of what there is.
        let detail = "there is no such channel";
        return Err(refuse("channel_not_found", Problem::new(StatusCode::NOT_FOUND, "channel_not_found", detail)));
    }
    let Some(_permit) = channels.admit() else {
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_deliveries", "too many deliveries at once");
        return Err(refuse("too_many_deliveries", problem));
    };
    let (parts, body) = request.into_parts();
    let headers = headers(&parts.headers);
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else {
        let refusal = Refusal::TooLarge;
        return Err(refuse(
            refusal.code(),
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, refusal.code(), refusal.to_string()),
        ));
    };
    let taken = channels.take(&name, &headers, &body).await;
    if let (Ok(_), Some(registered)) = (&taken, parts.extensions.get::<RegisteredConnection>()) {
        // Whoever signs is no stranger.
        registered.mark_known();
    }
    match taken.map_err(|error| full(Problem::from(error)))? {
        Taken::Challenge(challenge) => {
            Ok(Json(Delivered { challenge: Some(challenge), ..Delivered::default() }).into_response())
        }
        Taken::Ignored(why) => {
            Ok(Json(Delivered { ignored: Some(why.code()), ..Delivered::default() }).into_response())
        }
        Taken::Accepted { view, is_new, answer } => {
            let answer = match answer {
                Some(answer) => answer.wait().await,
                None => None,
            };
            let status = if is_new && answer.is_none() { StatusCode::ACCEPTED } else { StatusCode::OK };
            let delivered = Delivered {
                accepted: true,
                duplicate: (!is_new).then_some(true),
                delivery_id: Some(view.delivery_id),
                session_id: Some(view.session_id),
                message_id: Some(view.message_id),
                answer,
                ..Delivered::default()
            };
            Ok((status, Json(delivered)).into_response())
        }
    }
}

/// A full channel takes longer to empty than a second.
fn full(problem: Problem) -> Response {
    let is_full = problem.status() == StatusCode::TOO_MANY_REQUESTS;
    let mut response = problem.into_response();
    if is_full {
        response
            .headers_mut()
            .insert(axum::http::header::RETRY_AFTER, axum::http::HeaderValue::from_static(RETRY_AFTER));
    }
    response
}

/// The headers that are text.
fn headers(given: &HeaderMap) -> Headers {
    Headers::new(given.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))))
}

/// A channel to be made: what a channel is, and its secrets.
#[derive(Debug)]
pub(super) struct NewChannel {
    channel: Channel,
    secret: Option<NewSecret>,
    reply_token: Option<NewSecret>,
}

/// What a body holds beside the settings.
fn take_secret<E: serde::de::Error>(members: &mut Map<String, Value>, name: &str) -> Result<Option<NewSecret>, E> {
    let given = members.remove(name).filter(|given| !given.is_null());
    given
        .map(|given| serde_json::from_value(given).map_err(|error| E::custom(format!("`{name}`: {error}"))))
        .transpose()
}

impl<'de> Deserialize<'de> for NewChannel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Map::deserialize(deserializer)?;
        let secret = take_secret(&mut members, "secret")?;
        let reply_token = take_secret(&mut members, "reply_token")?;
        let channel = serde_json::from_value(members.into()).map_err(D::Error::custom)?;
        Ok(Self { channel, secret, reply_token })
    }
}

/// Describes a body that has the members of a type and some secrets beside them.
pub(super) fn with_secrets<T: JsonSchema>(
    generator: &mut SchemaGenerator,
    secrets: &[&str],
    partly: Required,
) -> Schema {
    let mut schema = T::json_schema(generator);
    let secret = generator.subschema_for::<NewSecret>().to_value();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for name in secrets {
            properties.insert((*name).to_owned(), secret.clone());
        }
        if partly == Required::Nothing {
            for property in properties.values_mut() {
                *property = json!({ "anyOf": [property.take(), { "type": "null" }] });
            }
        }
    }
    if partly == Required::Nothing {
        schema.remove("required");
    }
    schema
}

/// Whether a body must have what its type must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Required {
    AsItsType,
    Nothing,
}

impl JsonSchema for NewChannel {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NewChannel".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        with_secrets::<Channel>(generator, &["secret", "reply_token"], Required::AsItsType)
    }
}

/// What is to be changed; `null` takes back what was set.
#[derive(Debug)]
pub(super) struct ChannelPatch {
    changes: Map<String, Value>,
    secret: Option<NewSecret>,
    reply_token: Option<NewSecret>,
}

impl<'de> Deserialize<'de> for ChannelPatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut changes = Map::deserialize(deserializer)?;
        let secret = take_secret(&mut changes, "secret")?;
        let reply_token = take_secret(&mut changes, "reply_token")?;
        Ok(Self { changes, secret, reply_token })
    }
}

impl JsonSchema for ChannelPatch {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ChannelPatch".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        with_secrets::<Channel>(generator, &["secret", "reply_token"], Required::Nothing)
    }
}

/// A channel as clients see it.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Channel")]
pub(super) struct ChannelView {
    #[serde(flatten)]
    channel: Channel,
    /// Where its secret is; the secret itself is not shown.
    secret: SecretSource,
    reply_token: Option<SecretSource>,
    /// Where the service delivers.
    path: String,
    /// Deliveries that are accepted and not done with.
    waiting: usize,
    /// Since the daemon started.
    counts: Counts,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<Shown> for ChannelView {
    fn from(shown: Shown) -> Self {
        let Shown { channel, secret, reply_token, counts, waiting, created_at, updated_at } = shown;
        let path = format!("{PREFIX}{}", channel.name);
        Self { channel, secret, reply_token, path, waiting, counts, created_at, updated_at }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Channels {
    channels: Vec<ChannelView>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChannelDeliveries")]
pub(super) struct Deliveries {
    deliveries: Vec<DeliveryView>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DeliveriesQuery {
    /// How many; 50, if not given.
    limit: Option<usize>,
}

const PAGE: usize = 50;

pub(super) async fn list(State(app): State<App>) -> Json<Channels> {
    Json(Channels { channels: app.channels.list().into_iter().map(ChannelView::from).collect() })
}

pub(super) async fn create(State(app): State<App>, Body(new): Body<NewChannel>) -> Result<Response, Problem> {
    let made = app.channels.create(new.channel, new.secret, new.reply_token).await?;
    Ok((StatusCode::CREATED, Json(ChannelView::from(made))).into_response())
}

pub(super) async fn show(State(app): State<App>, Path(name): Path<String>) -> Result<Json<ChannelView>, Problem> {
    Ok(Json(app.channels.show(&name)?.into()))
}

pub(super) async fn update(
    State(app): State<App>,
    Path(name): Path<String>,
    Body(patch): Body<ChannelPatch>,
) -> Result<Json<ChannelView>, Problem> {
    let ChannelPatch { changes, secret, reply_token } = patch;
    Ok(Json(app.channels.change(&name, changes, secret, reply_token).await?.into()))
}

pub(super) async fn remove(State(app): State<App>, Path(name): Path<String>) -> Result<StatusCode, Problem> {
    app.channels.remove(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn deliveries(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(query): Query<DeliveriesQuery>,
) -> Result<Json<Deliveries>, Problem> {
    let limit = query.limit.unwrap_or(PAGE).min(MAX_LISTED + MAX_WAITING);
    Ok(Json(Deliveries { deliveries: app.channels.deliveries(&name, limit)? }))
}

pub(super) async fn retry(
    State(app): State<App>,
    Path((name, delivery)): Path<(String, String)>,
) -> Result<Json<DeliveryView>, Problem> {
    Ok(Json(app.channels.retry(&name, &delivery).await?))
}

impl From<secrets::Error> for Problem {
    fn from(error: secrets::Error) -> Self {
        match error {
            secrets::Error::None | secrets::Error::TooLong => Self::invalid(error.to_string()),
            secrets::Error::Write(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "secrets_not_written", error.to_string())
            }
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        match error {
            Error::NotFound(_) => Self::new(StatusCode::NOT_FOUND, "channel_not_found", detail),
            Error::DeliveryNotFound(_) => Self::new(StatusCode::NOT_FOUND, "delivery_not_found", detail),
            Error::Exists(_) => Self::new(StatusCode::CONFLICT, "channel_exists", detail),
            Error::NoSecret => Self::new(StatusCode::BAD_REQUEST, "channel_needs_secret", detail),
            Error::Channel(_) | Error::Invalid(_) => Self::invalid(detail),
            Error::TooMany => Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_channels", detail),
            Error::Secrets(error) => error.into(),
            Error::Log(error) => error.into(),
            Error::Refused(refusal) => {
                let status = match &refusal {
                    Refusal::SignatureMissing(_) | Refusal::SignatureWrong | Refusal::Late => StatusCode::UNAUTHORIZED,
                    Refusal::SecretMissing | Refusal::Paused => StatusCode::SERVICE_UNAVAILABLE,
                    Refusal::Malformed(_) => StatusCode::BAD_REQUEST,
                    Refusal::Nowhere(_) => StatusCode::UNPROCESSABLE_ENTITY,
                    Refusal::Full => StatusCode::TOO_MANY_REQUESTS,
                    Refusal::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
                };
                Self::new(status, refusal.code(), detail)
            }
        }
    }
}
