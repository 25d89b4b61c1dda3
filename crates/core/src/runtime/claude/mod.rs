//! Claude Code, driven over its stdin and stdout as one long-lived process per conversation. Pure: lines and orders in, reports and lines out.
//! Finding and starting the program is the `turnloom` crate's work.
//!
//! | file | what is in it |
//! |---|---|
//! | `protocol` | the conversation as a whole: handshake, orders, which line goes where |
//! | `prompt` | messages to the program |
//! | `turn` | when a turn begins and ends, which messages it covers, what it used |
//! | `blocks` | text and thinking, streamed and final |
//! | `tools` | tool calls and their results, to-do lists |
//! | `output` | what a tool said: words, pictures, exit codes, diffs |
//! | `asks` | permissions, questions, plans, elicitations, and the answers |
//! | `tasks` | sub-agents and work in the background |
//! | `schedule` | when the agent wakes itself |
//! | `host_tools` | the tools this host serves to the agent |
//! | `failure` | what went wrong, in words with a code and a way out |
//! | `launch` | the command line and the environment |
//! | `wire` | the shapes of what is read |
//! | `history` | conversations the program has stored |
//! | `recorded` | how recordings of other hosts are read |

mod asks;
mod blocks;
mod failure;
mod gate;
mod history;
mod host_tools;
mod launch;
mod output;
mod prompt;
mod protocol;
mod recorded;
mod schedule;
mod tasks;
#[cfg(test)]
mod tests;
mod tools;
mod turn;
mod wire;

pub use self::history::{Outline, read_stored};
pub use self::launch::{Launch, MODES, Options, PARAMS, SETTINGS, gives_instructions, launch, may_have_mode};
pub use self::protocol::ClaudeProtocol;
pub use self::recorded::RecordedClaude;
use super::Capabilities;

/// The oldest program that is driven: what is read here was seen on it.
pub const OLDEST: (u32, u32, u32) = (2, 1, 197);

/// What every version that is driven can do.
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
    restore_files: true,
    adopt: true,
};
