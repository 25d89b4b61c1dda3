//! Codex, driven through its app-server: one conversation as if it had a server of its own. Pure: lines and orders in, reports and lines out.
//! Finding and starting the program, and sharing one server among many sessions, is the `turnloom` crate's work; what a shared server needs to
//! know is in `router`.
//!
//! | file | what is in it |
//! |---|---|
//! | `protocol` `notifications` | the conversation as a whole: which line goes where, each notification by name |
//! | `opening` `orders` `settings` `config` | how a thread begins, what is wanted of it, what may be changed |
//! | `turn` `ending` | the running turn: how it begins and ends, what it used |
//! | `terminals` | commands that outlive their turn |
//! | `work` | what goes on in one thread: items, text, tools |
//! | `items` `commands` `changes` `pictures` | single kinds of items |
//! | `unlisted` `rollout` | what happens without an item, and where it is found |
//! | `threads` | sub-agents, which are threads of their own |
//! | `asks` `forms` | whatever waits for a person, and the answers |
//! | `gate` | calls that are proposed before they run, and what becomes of them |
//! | `failure` | what went wrong, in words with a code and a way out |
//! | `ignored` | what is not worth an event, by name |
//! | `wire` | the shapes of what is read |
//! | `router` | many conversations over one server |
//! | `exec` | the other way to drive Codex: one process per turn |
//! | `history` | threads the program has stored |
//! | `recorded` | how recordings of other hosts are read |

mod asks;
mod changes;
mod commands;
mod config;
mod ending;
mod exec;
mod failure;
mod forms;
mod gate;
mod history;
mod ignored;
mod items;
mod notifications;
mod opening;
mod orders;
mod pictures;
mod protocol;
mod recorded;
mod rollout;
mod router;
mod settings;
mod terminals;
#[cfg(test)]
mod tests;
mod threads;
mod turn;
mod unlisted;
mod wire;
mod work;

pub use self::config::config_fits;
pub use self::exec::{ExecProtocol, Run, RunEnd, RunnerCommand};
pub use self::gate::PATIENCE_SECONDS;
pub use self::history::{StoredThread, stored_threads, stored_turns};
pub use self::protocol::CodexProtocol;
pub use self::recorded::{RecordedCodex, RecordedExec};
pub use self::rollout::{RolloutCalls, RolloutRequest};
pub use self::router::{ClientId, Routed, Router};
pub use self::settings::MODES;
use super::{Capabilities, Setting, Takes};
use crate::host_tools::{HOST_TOOLS_SETTING, STATE_WAKES_SETTING};

/// The oldest version that is driven. What is read here was seen on 0.166.0; this one is tested too. Those before it leave out what a command
/// prints in its first moments.
pub const OLDEST: (u32, u32, u32) = (0, 158, 0);

/// Parameters of a session that only Codex understands.
pub const PARAMS: &[Setting] = &[
    EFFORT,
    SANDBOX,
    APPROVAL_POLICY,
    Setting { name: "approvals_reviewer", takes: Takes::Choice, choices: &["user", "auto_review"] },
    ADD_DIRS,
    NETWORK_ACCESS,
    PROFILE,
    CONFIG,
    PROJECT_INSTRUCTIONS,
    TRUST_PROJECT,
    CUSTOM_SYSTEM_PROMPT,
    OUTPUT_SCHEMA,
    takes("model_provider", Takes::Text),
    takes("ask_user", Takes::Flag),
    takes("own_process", Takes::Flag),
    CODEX_HOME,
    HOST_TOOLS_SETTING,
    STATE_WAKES_SETTING,
];

/// Those that `codex exec` has too.
pub const EXEC_PARAMS: &[Setting] = &[
    EFFORT,
    SANDBOX,
    ADD_DIRS,
    NETWORK_ACCESS,
    PROFILE,
    CONFIG,
    PROJECT_INSTRUCTIONS,
    TRUST_PROJECT,
    CUSTOM_SYSTEM_PROMPT,
    OUTPUT_SCHEMA,
    CODEX_HOME,
];

/// Which of them may be changed later.
pub const SETTINGS: &[Setting] = &[EFFORT, SANDBOX, APPROVAL_POLICY, HOST_TOOLS_SETTING, STATE_WAKES_SETTING];

/// Those that `codex exec` has too.
pub const EXEC_SETTINGS: &[Setting] = &[EFFORT, SANDBOX];

/// Which of these a model has is its own affair; a word that is none of them is passed on by Codex as it is.
const EFFORT: Setting = Setting {
    name: "effort",
    takes: Takes::Choice,
    choices: &["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"],
};
const SANDBOX: Setting =
    Setting { name: "sandbox", takes: Takes::Choice, choices: &["read-only", "workspace-write", "danger-full-access"] };
const APPROVAL_POLICY: Setting =
    Setting { name: "approval_policy", takes: Takes::ChoiceOrObject, choices: &["untrusted", "on-request", "never"] };
const ADD_DIRS: Setting = takes("add_dirs", Takes::Texts);
const NETWORK_ACCESS: Setting = takes("network_access", Takes::Flag);
const PROFILE: Setting = takes("profile", Takes::Text);
const CONFIG: Setting = takes("config", Takes::Object);
const PROJECT_INSTRUCTIONS: Setting = takes("project_instructions", Takes::Flag);
const TRUST_PROJECT: Setting = takes("trust_project", Takes::Flag);
const CUSTOM_SYSTEM_PROMPT: Setting = takes("custom_system_prompt", Takes::Text);
const OUTPUT_SCHEMA: Setting = takes("output_schema", Takes::Object);
const CODEX_HOME: Setting = takes("codex_home", Takes::Text);

const fn takes(name: &'static str, takes: Takes) -> Setting {
    Setting { name, takes, choices: &[] }
}

/// What the app-server can do.
pub const CAPABILITIES: Capabilities = Capabilities {
    steer: true,
    resume: true,
    fork: true,
    rollback: true,
    compact: true,
    set_model: true,
    set_mode: true,
    permissions: true,
    gate: true,
    edit_input: true,
    questions: true,
    images: true,
    files: true,
    thinking: true,
    plan: true,
    subagents: true,
    background: true,
    stop_background: true,
    components: true,
    state: true,
    usage: true,
    client_tools: true,
    restore_files: false,
    adopt: true,
};

/// What `codex exec` can do: nobody can be asked and nothing can be said while it runs.
pub const EXEC_CAPABILITIES: Capabilities = Capabilities {
    steer: false,
    resume: true,
    fork: false,
    rollback: false,
    compact: false,
    set_model: true,
    set_mode: false,
    permissions: false,
    gate: false,
    edit_input: false,
    questions: false,
    images: false,
    files: true,
    thinking: true,
    plan: true,
    subagents: false,
    background: false,
    stop_background: false,
    components: false,
    state: false,
    usage: true,
    client_tools: false,
    restore_files: false,
    adopt: false,
};
