//! The words in payloads: enums whose values are words on the wire. They are a contract with every client, as the payloads in `data` are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares enums whose values are words on the wire.
macro_rules! words {
    ($($(#[$attribute:meta])* $name:ident { $($body:tt)* })*) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($body)* }
    )*};
}

words! {
    /// What made a turn or a message.
    Origin {
        #[default]
        User,
        Schedule,
        Webhook,
        Delegation,
        Api,
        Agent,
        Import,
        /// What a person did in a component, told to the agent as a message.
        Component,
    }
    /// How a turn ended.
    Outcome { #[default] Completed, Stopped, Interrupted, Failed }
    /// What a session is doing for the person who waits.
    Activity { #[default] Accepted, Starting, Thinking, Responding, Tool, Waiting, Retrying, Compacting, Stopping }
    /// What became of a message meant for the running turn.
    SteerState { #[default] Accepted, Delivered, Rejected, Returned }
    /// Why a session ended.
    EndReason { #[default] Completed, Error, Terminated }
    /// A person's answer to a permission request.
    PermissionReply { #[default] Once, Always, Reject }
    /// What the rules say about a call.
    PolicyEffect { #[default] Allow, Ask, Deny }
    /// How far a rule reaches.
    RuleScope {
        /// Everywhere and in every mode; no rule can allow it.
        Absolute,
        /// In one mode.
        #[default]
        Mode,
        /// For this user, wherever an agent works.
        User,
        /// In one working directory.
        Project,
        /// In one session.
        Session,
    }
    /// How a sub-agent or a background task ended.
    WorkStatus { #[default] Completed, Failed, Interrupted }
    /// What runs in the background.
    BackgroundKind {
        #[default]
        Command,
        Agent,
        /// Another tool, whose call goes on.
        Tool,
        /// Nothing runs yet: the agent wakes itself at a time it has set.
        Schedule,
    }
    /// Where a component may appear.
    Surface { #[default] Chat, Sidebar, Panel, Overlay, Canvas }
    /// How the props of a change meet those that are there.
    MergeMode {
        /// Instead of all.
        #[default]
        Replace,
        /// Key by key; `null` is a value.
        Shallow,
        /// RFC 7396: objects are merged, `null` removes, lists are replaced.
        Deep,
        /// Lists and texts are continued; all else is replaced.
        Append,
        /// RFC 6902, in `patch`.
        Patch,
    }
    /// Whether a component has what it shows.
    ComponentStatus { Loading, #[default] Ready, Error }
    /// What a component takes from the call that it covers.
    ToolMapping {
        /// The input, and the result over it.
        #[default]
        Merge,
        Output,
        Input,
    }
    /// How far a step of the plan is.
    StepStatus { #[default] Pending, Running, Done }
    /// What happened to a file.
    FileChange { Added, #[default] Modified, Deleted, Renamed }
    /// Why history was compacted.
    CompactionReason { Tokens, Count, Summary, #[default] Manual }
    /// Who asked for a compaction.
    CompactionTrigger { #[default] Manual, Auto }
    /// Where a message in the queue stands.
    QueueState { #[default] Waiting, Returned }
    /// What becomes of the queue when a turn is stopped.
    AfterStop { #[default] Continue, Hold }
    /// Why a message in the queue waits for somebody to say that it may go on.
    Hold { #[default] Stopped, Restarted, NotStarted, Archived, Ended }
    /// What is said about a limit.
    BudgetState {
        /// Most of it is spent.
        #[default]
        Warned,
        /// All of it is spent.
        Reached,
        /// The work waits for a person: `ask_id` is what is asked, `how` what is held.
        Paused,
        /// The agent could not be held, so its turn is interrupted; it goes on in another one, once a person says so.
        Interrupted,
        /// A person lets the work go on.
        Raised,
        /// A person does not.
        Stopped,
        /// Money is limited, and what this costs is not known.
        Unmeasured,
    }
    /// What a limit is about.
    BudgetScope {
        Turn,
        #[default]
        Session,
        /// All sessions that name the same group.
        Group,
        /// All sessions, on one day.
        Day,
        /// All sessions.
        Daemon,
    }
    /// What is counted.
    BudgetMeasure {
        #[default]
        Tokens,
        Usd,
        Turns,
        /// Of work, without those in which a person is waited for.
        Minutes,
        /// Equal calls with equal results, while no call brings anything new.
        Repeats,
        /// Compactions, while no call brings anything new.
        Compactions,
        /// Minutes without a word of the agent.
        Silence,
    }
    /// What is held while the work waits.
    BudgetHold {
        /// The agent's next call.
        #[default]
        Call,
        /// The message that the turn is about: the agent has not heard of it.
        Message,
    }
    /// Why an ask ended without an answer: the agent took it back, the turn was stopped, whoever asked is gone, or its time had come.
    Unanswered { #[default] Withdrawn, Stopped, Interrupted, Expired }
}

impl Surface {
    pub const ALL: &[Self] = &[Self::Chat, Self::Sidebar, Self::Panel, Self::Overlay, Self::Canvas];
}
