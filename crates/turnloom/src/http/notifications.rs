//! Notifications: which devices are told of the inbox, and what, and when.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;
use turnloom_core::attention::{DoneChoice, Settings};
use turnloom_core::time::Timestamp;

use super::App;
use super::channels::{Required, with_secrets};
use super::extract::Body;
use super::problem::Problem;
use super::table::{Route, delete, get, patch, post};
use crate::attention::{Device, NewDevice, Preset, Reached, Way};
use crate::scoped_tokens::Need;

pub(super) fn routes() -> Vec<Route> {
    let device = json!({ "name": "Phone", "service": { "url": "https://ntfy.sh/my-topic", "preset": "ntfy" } });
    vec![
        get("/api/notifications", "Get which devices are told of the inbox, and when", show)
            .named("show_notifications")
            .answers::<Notifications>(200, "Settings, devices, and the key that browsers subscribe with"),
        patch("/api/notifications", "Change what is told, and when", update)
            .named("change_notifications")
            .body::<SettingsPatch>()
            .example(json!({ "done": "all", "quiet": { "from": "22:00", "to": "07:00", "zone": "Europe/Berlin" } }))
            .answers::<Notifications>(200, "As it is now"),
        post("/api/notifications/devices", "Add a device: a browser, or a service such as ntfy", add)
            .named("add_notification_device")
            .body::<NewDevice>()
            .example(device)
            .answers::<DeviceView>(201, "Added; the same address again is the same device"),
        patch("/api/notifications/devices/{id}", "Choose which ended turns a device is told of", choose)
            .named("change_notification_device")
            .body::<Choice>()
            .example(json!({ "done": "all" }))
            .answers::<DeviceView>(200, "As it is now"),
        delete("/api/notifications/devices/{id}", "Remove a device", remove)
            .named("remove_notification_device")
            .answers_empty(204, "Removed; it is told nothing more"),
        post("/api/notifications/devices/{id}/test", "Send a test notification at once", test)
            .named("test_notification_device")
            .needs(|_| Need::Full)
            .answers::<Reached>(200, "What its service answered"),
    ]
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Notifications {
    settings: Settings,
    /// Oldest first.
    devices: Vec<DeviceView>,
    /// The key of this daemon, for `PushManager.subscribe`, in base64url.
    push_key: String,
}

/// A device as people see it: not the address by which it is reached, which is a secret.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NotificationDevice")]
pub(super) struct DeviceView {
    device_id: String,
    name: String,
    kind: DeviceKind,
    /// Where it is reached.
    host: String,
    /// Which ended turns it is told of, if it has a choice of its own.
    done: Option<DoneChoice>,
    created_at: Timestamp,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "NotificationDeviceKind")]
pub(super) enum DeviceKind {
    /// A browser, by Web Push.
    Push,
    Ntfy,
    Json,
}

impl From<Device> for DeviceView {
    fn from(device: Device) -> Self {
        let (kind, url) = match &device.way {
            Way::Push(subscription) => (DeviceKind::Push, &subscription.endpoint),
            Way::Service { webhook, .. } => match webhook.preset {
                Preset::Ntfy => (DeviceKind::Ntfy, &webhook.url),
                Preset::Json => (DeviceKind::Json, &webhook.url),
            },
        };
        let host = turnloom_core::webhook::address::Target::parse(url).map(|target| target.host).unwrap_or_default();
        let Device { device_id, name, done, created_at, .. } = device;
        Self { device_id, name, kind, host, done, created_at }
    }
}

/// What is to be changed; `null` takes back what was set.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct SettingsPatch(Map<String, Value>);

impl JsonSchema for SettingsPatch {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NotificationSettingsPatch".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        with_secrets::<Settings>(generator, &[], Required::Nothing)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NotificationDeviceChoice")]
pub(super) struct Choice {
    /// `null`: as the settings say.
    done: Option<DoneChoice>,
}

fn view(app: &App) -> Result<Json<Notifications>, Problem> {
    let mut devices = app.attention.devices();
    devices.sort_by(|left, right| (left.created_at, &left.device_id).cmp(&(right.created_at, &right.device_id)));
    let devices = devices.into_iter().map(DeviceView::from).collect();
    Ok(Json(Notifications { settings: app.attention.settings(), devices, push_key: app.attention.push_key()? }))
}

async fn show(State(app): State<App>) -> Result<Json<Notifications>, Problem> {
    app.attention.known().await;
    view(&app)
}

async fn update(
    State(app): State<App>,
    Body(SettingsPatch(changes)): Body<SettingsPatch>,
) -> Result<Json<Notifications>, Problem> {
    app.attention.known().await;
    let mut settings = json!(app.attention.settings());
    if let Some(members) = settings.as_object_mut() {
        for (member, value) in changes {
            if value.is_null() {
                members.remove(&member);
            } else {
                members.insert(member, value);
            }
        }
    }
    let settings = serde_json::from_value(settings)
        .map_err(|error| Problem::invalid(format!("the settings are not right: {error}")))?;
    app.attention.change_settings(settings).await?;
    view(&app)
}

async fn add(State(app): State<App>, Body(new): Body<NewDevice>) -> Result<Response, Problem> {
    let device = app.attention.add_device(new).await?;
    Ok((StatusCode::CREATED, Json(DeviceView::from(device))).into_response())
}

async fn choose(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(Choice { done }): Body<Choice>,
) -> Result<Json<DeviceView>, Problem> {
    app.attention.known().await;
    Ok(Json(app.attention.choose(&id, done).await?.into()))
}

async fn remove(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    app.attention.remove_device(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn test(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Reached>, Problem> {
    app.attention.known().await;
    Ok(Json(app.attention.test_device(&id).await?))
}
