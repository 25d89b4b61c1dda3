//! How often schedules, channels and webhooks have changed, for those who look at them. Not here: what has changed; whoever is told looks again.

use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;

use crate::session::now;

/// A number for each, which goes up with every change. It begins with the time, so that it is another one after a restart too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AutomationVersions")]
pub struct Versions {
    schedules: u64,
    channels: u64,
    webhooks: u64,
}

/// What has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Schedules,
    Channels,
    Webhooks,
}

/// Tells those who look that something has changed. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Changes(watch::Sender<Versions>);

impl Default for Changes {
    fn default() -> Self {
        let from = now().millis().unsigned_abs();
        Self(watch::Sender::new(Versions { schedules: from, channels: from, webhooks: from }))
    }
}

impl Changes {
    pub fn note(&self, part: Part) {
        self.0.send_modify(|versions| {
            *match part {
                Part::Schedules => &mut versions.schedules,
                Part::Channels => &mut versions.channels,
                Part::Webhooks => &mut versions.webhooks,
            } += 1;
        });
    }

    pub fn versions(&self) -> Versions {
        *self.0.borrow()
    }

    pub fn watch(&self) -> watch::Receiver<Versions> {
        self.0.subscribe()
    }
}
