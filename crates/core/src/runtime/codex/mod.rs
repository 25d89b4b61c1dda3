//! Codex, driven through its app-server: one conversation as if it had a server of its own. Pure: lines and orders in, reports and lines out.
//! Finding and starting the program, and sharing one server among many sessions, is the `turnloom` crate's work; what a shared server needs to
//! know is in `router`.
//!
//! | file | what is in it |
//! |---|---|
//! | `protocol` `told` | the conversation as a whole: which line goes where, each notification by name |
//! | `opening` `orders` `settings` | how a thread begins, what is wanted of it, what may be changed |
//! | `turn` | the running turn: when it begins and ends, what it used |
//! | `work` | what goes on in one thread: items, text, tools |
//! | `items` `commands` `changes` | single kinds of items |
//! | `threads` | sub-agents, which are threads of their own |
//! | `asks` `forms` | whatever waits for a person, and the answers |
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
mod exec;
mod failure;
mod forms;
mod history;
mod ignored;
mod items;
mod opening;
mod orders;
mod protocol;
mod recorded;
mod router;
mod settings;
#[cfg(test)]
mod tests;
mod threads;
mod told;
mod turn;
mod wire;
mod work;

pub use self::exec::{Do, ExecProtocol, Run, RunEnd};
pub use self::history::{StoredThread, stored_threads, stored_turns};
pub use self::protocol::CodexProtocol;
pub use self::recorded::{RecordedCodex, RecordedExec};
pub use self::router::{ClientId, Routed, Router};
pub use self::settings::MODES;
use super::{Capabilities, Setting, Takes};

/// The oldest version that is driven. What is read here was seen on 0.166.0; this one is tested too.
pub const OLDEST: (u32, u32, u32) = (0, 150, 0);

/// Parameters of a session that only Codex understands.
pub const PARAMS: &[&str] = &[
    "effort",
    "sandbox",
    "approval_policy",
    "approvals_reviewer",
    "model_provider",
    "config",
    "own_process",
    "codex_home",
    "ask_user",
];

/// Which of them may be changed later.
pub const SETTINGS: &[Setting] = &[EFFORT, SANDBOX, APPROVAL_POLICY];

/// Those that `codex exec` has too.
pub const EXEC_SETTINGS: &[Setting] = &[EFFORT, SANDBOX];

/// Which efforts there are is the model's affair.
const EFFORT: Setting =
    Setting { name: "effort", takes: Takes::Text, choices: &["minimal", "low", "medium", "high", "xhigh"] };
const SANDBOX: Setting =
    Setting { name: "sandbox", takes: Takes::Choice, choices: &["read-only", "workspace-write", "danger-full-access"] };
const APPROVAL_POLICY: Setting =
    Setting { name: "approval_policy", takes: Takes::ChoiceOrObject, choices: &["untrusted", "on-request", "never"] };

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
    edit_input: false,
    questions: true,
    images: true,
    files: true,
    thinking: true,
    plan: true,
    subagents: true,
    background: true,
    components: false,
    state: false,
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
    edit_input: false,
    questions: false,
    images: false,
    files: true,
    thinking: true,
    plan: true,
    subagents: false,
    background: false,
    components: false,
    state: false,
    usage: true,
    client_tools: false,
    restore_files: false,
    adopt: false,
};
