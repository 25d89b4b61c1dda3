//! What a task is: one turn, as a list of work shows it. Not here: how facts change it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::channel;
use crate::event::{Activity, MessageSource, Origin};
use crate::id::{MessageId, SessionId, TurnId};
use crate::summary::ContextUse;
use crate::time::Timestamp;

/// One turn, as a list of tasks shows it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub run_id: TurnId,
    pub session_id: SessionId,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub status: Status,
    pub origin: Origin,
    pub trigger_type: &'static str,
    pub presence: Presence,
    pub metadata: Metadata,
    /// The first line of what the turn is about.
    pub prompt: Option<String>,
    /// Absent when the turn began before anybody counted.
    pub started_at: Option<Timestamp>,
    pub last_activity_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    pub duration_ms: Option<i64>,
    pub error: Option<String>,
    /// What it does now.
    pub activity: Option<TaskActivity>,
    /// How many asks wait for a person.
    pub needs_input: usize,
    /// What is waited for; of several things the one that says most.
    pub waits_for: Option<WaitsFor>,
    /// How many messages wait for their turn.
    pub queued: usize,
    /// How many sub-agents run.
    pub subagents: usize,
    pub tool_name: Option<String>,
    pub context: Option<ContextUse>,
    /// It runs, and nothing was heard of it for too long. Decided by the daemon; a turn that waits for a person is not one.
    pub is_zombie: bool,
    #[serde(skip)]
    pub(super) tail: String,
    #[serde(skip)]
    pub(super) cut: bool,
}

/// What kind of work it is, by what began it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TaskType")]
pub enum Kind {
    Chat,
    Scheduled,
    Delegation,
    Channel,
}

impl Kind {
    pub fn of(origin: Origin) -> Self {
        match origin {
            Origin::User | Origin::Component | Origin::Api | Origin::Agent | Origin::Import => Self::Chat,
            Origin::Schedule => Self::Scheduled,
            Origin::Delegation => Self::Delegation,
            Origin::Webhook => Self::Channel,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TaskStatus")]
pub enum Status {
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Whether somebody is there for a turn. Decided here once, so that no client has a rule of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TaskPresence")]
pub enum Presence {
    /// A person began it, in a view that they look at.
    Foreground,
    /// Something else did: a schedule, a channel, another session, a program, or the agent itself.
    Background,
}

impl Presence {
    pub fn of(origin: Origin) -> Self {
        match origin {
            Origin::User | Origin::Component => Self::Foreground,
            Origin::Schedule | Origin::Webhook | Origin::Delegation | Origin::Api | Origin::Agent | Origin::Import => {
                Self::Background
            }
        }
    }
}

/// Where the work comes from.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TaskMetadata")]
pub struct Metadata {
    /// The run of a schedule.
    pub scheduled_run_id: Option<String>,
    pub is_delegation: Option<bool>,
    /// The session that gave the work away.
    pub parent_session_id: Option<SessionId>,
    /// What kind of channel it came by.
    pub channel_type: Option<channel::Kind>,
    /// The channel by its name, its own id of the delivery, and who wrote.
    pub channel: Option<String>,
    pub delivery_id: Option<String>,
    pub sender: Option<String>,
    /// The turn that was interrupted for its budget and goes on with this one.
    pub continues: Option<TurnId>,
}

impl Metadata {
    pub(super) fn of(origin: Origin, message: Option<&MessageId>, source: Option<MessageSource>) -> Self {
        let mut metadata = Self { is_delegation: (origin == Origin::Delegation).then_some(true), ..Self::default() };
        // The message of a run is named after it, so that it is sent once.
        metadata.scheduled_run_id = message.filter(|_| origin == Origin::Schedule).map(ToString::to_string);
        if let Some(MessageSource { channel, kind, delivery, sender }) = source {
            (metadata.channel, metadata.channel_type) = (Some(channel), kind);
            (metadata.delivery_id, metadata.sender) = (Some(delivery), sender);
        }
        metadata
    }
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TaskActivity {
    pub state: Activity,
    pub label: Option<String>,
    pub since: Timestamp,
}

/// What a person is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitsFor {
    /// A component waits for a value, or a call for the client that runs it.
    Input,
    Question,
    Permission,
    /// A plan is written and waits for approval.
    Plan,
}

impl Task {
    pub(super) fn new(session_id: &SessionId, run_id: TurnId, origin: Origin, at: Timestamp) -> Self {
        let trigger_type = match origin {
            Origin::User | Origin::Component => "chat",
            Origin::Api => "api",
            Origin::Agent | Origin::Import => "job",
            Origin::Delegation => "delegation",
            Origin::Schedule => "cron",
            Origin::Webhook => "webhook",
        };
        Self {
            run_id,
            session_id: session_id.clone(),
            kind: Kind::of(origin),
            status: Status::Running,
            origin,
            trigger_type,
            presence: Presence::of(origin),
            metadata: Metadata::of(origin, None, None),
            prompt: None,
            started_at: None,
            last_activity_at: at,
            completed_at: None,
            duration_ms: None,
            error: None,
            activity: None,
            needs_input: 0,
            waits_for: None,
            queued: 0,
            subagents: 0,
            tool_name: None,
            context: None,
            is_zombie: false,
            tail: String::new(),
            cut: false,
        }
    }

    /// When it began, as far as that is known.
    pub fn began_at(&self) -> Timestamp {
        self.started_at.or(self.completed_at).unwrap_or(self.last_activity_at)
    }

    /// How the task goes on, small whatever the agent says.
    pub fn progress(&self) -> Progress<'_> {
        Progress {
            event_type: "task:progress",
            run_id: &self.run_id,
            kind: self.kind,
            session_id: &self.session_id,
            text: self.tail.trim(),
            limited: self.cut,
            activity: self.activity.as_ref(),
            tool_name: self.tool_name.as_deref(),
            needs_input: self.needs_input,
            waits_for: self.waits_for,
            queued: self.queued,
            subagents: self.subagents,
            context: self.context,
            is_zombie: self.is_zombie,
            started_at: self.started_at,
            timestamp: self.last_activity_at,
        }
    }
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TaskProgress")]
pub struct Progress<'a> {
    event_type: &'static str,
    run_id: &'a TurnId,
    #[serde(rename = "type")]
    kind: Kind,
    session_id: &'a SessionId,
    /// The end of what the agent said.
    #[serde(rename = "progressText")]
    text: &'a str,
    #[serde(rename = "progressContentLimited")]
    limited: bool,
    activity: Option<&'a TaskActivity>,
    tool_name: Option<&'a str>,
    needs_input: usize,
    waits_for: Option<WaitsFor>,
    queued: usize,
    subagents: usize,
    context: Option<ContextUse>,
    is_zombie: bool,
    started_at: Option<Timestamp>,
    timestamp: Timestamp,
}
