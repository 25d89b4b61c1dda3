//! The daemon's metrics for Prometheus.

use std::fmt::Write as _;
use std::time::Instant;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use schemars::JsonSchema;
use serde::Deserialize;
use turnloom_core::event::Outcome;

use crate::log::Stats;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// What a page measures, where the person is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, JsonSchema, EncodeLabelValue)]
#[serde(rename_all = "snake_case")]
pub enum PageStep {
    /// From the person's act to their message on the page.
    SubmitToShown,
    SentToAccepted,
    AcceptedToFirstEvent,
    FirstEventToFirstStatus,
    FirstStatusToFirstText,
    FirstTextToPainted,
    /// How long the oldest change waited for a frame.
    BacklogAge,
    OpenToShell,
    /// Until what happens in the session is heard.
    OpenToLive,
    OpenToMessages,
    OpenToIdle,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabel {
    step: PageStep,
}

/// What became of a delivery, an answer or a webhook. Names are those of channels and subscriptions that are there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    name: String,
    result: &'static str,
}

#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    channel_deliveries: Family<ResultLabel, Counter>,
    channel_replies: Family<ResultLabel, Counter>,
    webhook_deliveries: Family<ResultLabel, Counter>,
    pub turns_started: Counter,
    turns_ended: Family<OutcomeLabel, Counter>,
    turn_seconds: Histogram,
    /// Lines of agents that could not be read.
    pub unparsed: Counter,
    /// What agents said about turns that had ended.
    pub stale: Counter,
    /// Streams that are followed now.
    pub followers: Gauge,
    /// Open connections that carry any number of streams: `WebSocket`s, and channels where those do not get through.
    pub sockets: Gauge,
    /// How far behind the head a follower was when it was written to.
    pub follower_lag: Histogram,
    page: Family<StepLabel, Histogram>,
    pub sessions_awake: Gauge,
    pub agents_alive: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("turnloom");
        let metrics = Self {
            channel_deliveries: Family::default(),
            channel_replies: Family::default(),
            webhook_deliveries: Family::default(),
            turns_started: Counter::default(),
            turns_ended: Family::default(),
            turn_seconds: Histogram::new(exponential_buckets(0.05, 3.0, 10)),
            unparsed: Counter::default(),
            stale: Counter::default(),
            followers: Gauge::default(),
            sockets: Gauge::default(),
            follower_lag: Histogram::new(exponential_buckets(1.0, 4.0, 10)),
            page: Family::new_with_constructor(|| Histogram::new(exponential_buckets(1.0, 2.5, 10))),
            sessions_awake: Gauge::default(),
            agents_alive: Gauge::default(),
            registry: Registry::default(),
        };
        registry.register("turns_started", "Turns that began", metrics.turns_started.clone());
        registry.register("turns_ended", "Turns that ended, by outcome", metrics.turns_ended.clone());
        registry.register("turn_seconds", "How long turns took", metrics.turn_seconds.clone());
        registry.register("agent_unparsed", "Lines of agents that could not be read", metrics.unparsed.clone());
        registry.register("agent_stale", "What agents said about turns that had ended", metrics.stale.clone());
        registry.register("followers", "Streams that are followed now", metrics.followers.clone());
        registry.register("sockets", "WebSockets and channels that are open", metrics.sockets.clone());
        registry.register(
            "follower_lag_events",
            "How many events behind the head a follower was when written to",
            metrics.follower_lag.clone(),
        );
        registry.register("page_milliseconds", "What pages measured, by step", metrics.page.clone());
        registry.register("sessions_awake", "Sessions in memory", metrics.sessions_awake.clone());
        registry.register("children_alive", "Agent processes alive", metrics.agents_alive.clone());
        registry.register(
            "channel_deliveries",
            "Deliveries to channels, by what became of them",
            metrics.channel_deliveries.clone(),
        );
        registry.register(
            "channel_replies",
            "Answers of channels that went back or failed",
            metrics.channel_replies.clone(),
        );
        registry.register("webhook_deliveries", "Tries to deliver a webhook", metrics.webhook_deliveries.clone());
        Self { registry, ..metrics }
    }
}

impl Metrics {
    pub fn turn_ended(&self, outcome: Outcome, started: Option<Instant>) {
        let outcome = match outcome {
            Outcome::Completed => "completed",
            Outcome::Stopped => "stopped",
            Outcome::Interrupted => "interrupted",
            Outcome::Failed => "failed",
        };
        self.turns_ended.get_or_create(&OutcomeLabel { outcome }).inc();
        if let Some(started) = started {
            self.turn_seconds.observe(started.elapsed().as_secs_f64());
        }
    }

    /// A channel was sent something; no channel, if it has no name.
    pub fn channel_delivery(&self, channel: &str, result: &'static str) {
        self.channel_deliveries.get_or_create(&ResultLabel { name: channel.to_owned(), result }).inc();
    }

    pub fn channel_reply(&self, channel: &str, result: &'static str) {
        self.channel_replies.get_or_create(&ResultLabel { name: channel.to_owned(), result }).inc();
    }

    pub fn webhook_delivery(&self, webhook: &str, result: &'static str) {
        self.webhook_deliveries.get_or_create(&ResultLabel { name: webhook.to_owned(), result }).inc();
    }

    /// Takes one measurement of a page.
    pub fn page_took(&self, step: PageStep, milliseconds: f64) {
        self.page.get_or_create(&StepLabel { step }).observe(milliseconds);
    }

    /// The exposition text. The log keeps its own counts; they are written beside ours.
    pub fn render(&self, log: &Stats, pending: usize) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        let end = text.trim_end().strip_suffix("# EOF").unwrap_or(&text).len();
        text.truncate(end);
        let mut counter = |name: &str, help: &str, value: u64| {
            let _ = write!(
                text,
                "# HELP turnloom_{name} {help}.\n# TYPE turnloom_{name} counter\nturnloom_{name}_total {value}\n"
            );
        };
        counter("events", "Events committed", log.events());
        counter("commits", "Transactions committed", log.commits());
        counter("appends", "Appends committed", log.writes());
        let _ = write!(
            text,
            "# HELP turnloom_appends_pending Appends that wait for a commit.\n# TYPE turnloom_appends_pending gauge\n\
             turnloom_appends_pending {pending}\n# HELP turnloom_commit_appends How many appends shared a commit.\n\
             # TYPE turnloom_commit_appends histogram\n"
        );
        let mut below = 0;
        for (bound, count) in log.group_sizes() {
            below += count;
            let _ = writeln!(text, "turnloom_commit_appends_bucket{{le=\"{bound}\"}} {below}");
        }
        let _ = write!(
            text,
            "turnloom_commit_appends_bucket{{le=\"+Inf\"}} {0}\nturnloom_commit_appends_sum {1}\nturnloom_commit_appends_count {0}\n# EOF\n",
            log.commits(),
            log.writes(),
        );
        text
    }
}
