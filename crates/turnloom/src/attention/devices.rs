//! Where people are reached: browsers by Web Push, and services such as ntfy by a request.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use sha2::{Digest as _, Sha256};
use turnloom_core::attention::DoneChoice;
use turnloom_core::time::Timestamp;

use super::{Attention, Error, push};
use crate::secrets::{self, NewSecret, SecretSource, Secrets};
use crate::session::now;

const MAX_NAME_CHARS: usize = 100;
const MAX_URL_BYTES: usize = 2_000;

/// A subscription as a browser gives it (`PushSubscription.toJSON()`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PushSubscription")]
pub struct Subscription {
    pub endpoint: String,
    pub keys: PushKeys,
}

/// The keys of a browser, in base64url.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PushKeys {
    pub p256dh: String,
    pub auth: String,
}

/// A service that takes messages for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotificationService")]
pub struct Webhook {
    /// For ntfy the address of the topic: `https://ntfy.sh/my-topic`.
    pub url: String,
    #[serde(default)]
    pub preset: Preset,
}

/// What a service understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "NotificationPreset")]
pub enum Preset {
    #[default]
    Ntfy,
    /// One JSON object with `type`, `tag`, `title`, `body` and `url`.
    Json,
}

/// How a device is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    Push(Subscription),
    Service { webhook: Webhook, token: Option<SecretSource> },
}

/// A device that is told.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    pub device_id: String,
    pub name: String,
    pub way: Way,
    /// Which ended turns it is told of; as the settings say, if it has no choice of its own.
    pub done: Option<DoneChoice>,
    pub created_at: Timestamp,
}

/// A device to be added: with one of `push` and `service`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewNotificationDevice")]
pub struct NewDevice {
    /// For people.
    pub name: Option<String>,
    pub push: Option<Subscription>,
    pub service: Option<Webhook>,
    /// What the service wants to be shown: it is sent as `Authorization: Bearer`.
    pub token: Option<NewSecret>,
    /// Which ended turns it is told of; as the settings say, if absent.
    pub done: Option<DoneChoice>,
}

/// What became of a try.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "NotificationTried")]
pub struct Reached {
    /// Whether it was taken.
    pub delivered: bool,
    pub status: Option<u16>,
    pub error: Option<String>,
    pub milliseconds: u64,
}

impl NewDevice {
    /// Refuses what could never be reached.
    pub(super) fn checked(self, attention: &Attention) -> Result<Device, Error> {
        let name = self.name.unwrap_or_default().trim().to_owned();
        if name.chars().count() > MAX_NAME_CHARS {
            return Err(Error::Invalid(format!("a name has at most {MAX_NAME_CHARS} characters")));
        }
        let url = match (&self.push, &self.service) {
            (Some(push), None) => &push.endpoint,
            (None, Some(service)) => &service.url,
            _ => return Err(Error::Invalid("a device has one of `push` and `service`".to_owned())),
        };
        if url.len() > MAX_URL_BYTES {
            return Err(Error::Invalid(format!("an address has at most {MAX_URL_BYTES} bytes")));
        }
        let target = attention.0.sender.check(url)?;
        let device_id = device_id(url);
        let name = if name.is_empty() { target.host.clone() } else { name };
        let way = match (self.push, self.service) {
            (Some(push), _) => {
                push::check_keys(&push.keys).map_err(Error::Invalid)?;
                if self.token.is_some() {
                    return Err(Error::Invalid("`token` is for a service; a browser needs none".to_owned()));
                }
                Way::Push(push)
            }
            (None, Some(webhook)) => {
                if webhook.preset == Preset::Ntfy && super::service::topic(&target.path).is_none() {
                    return Err(Error::Invalid(
                        "`url` of an ntfy service ends with its topic: https://ntfy.sh/my-topic".to_owned(),
                    ));
                }
                let token = self.token.map(|token| attention.0.secrets.keep(&secret_name(&device_id), token));
                Way::Service { webhook, token: token.transpose()? }
            }
            (None, None) => return Err(Error::Invalid("a device has one of `push` and `service`".to_owned())),
        };
        Ok(Device { device_id, name, way, done: self.done, created_at: now() })
    }
}

fn device_id(url: &str) -> String {
    let hash = Sha256::digest(url.as_bytes());
    let beginning = hash.get(..15).unwrap_or_default();
    format!("dv_{}", BASE64_URL_SAFE_NO_PAD.encode(beginning))
}

pub(super) fn secret_name(device: &str) -> String {
    format!("notification/{device}")
}

pub(super) fn forget_secret(secrets: &Secrets, device: &Device) -> Result<(), secrets::Error> {
    match &device.way {
        Way::Service { token: Some(_), .. } => secrets.forget(&secret_name(&device.device_id)),
        Way::Service { .. } | Way::Push(_) => Ok(()),
    }
}
