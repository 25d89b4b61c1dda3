//! The law of every dialect: whenever a client comes, what it holds in the end is what a client holds that was there from the beginning.

mod ag_ui;
mod agent_ui;
mod ai_sdk;
mod answers;
pub(crate) mod logs;
mod shared;
mod snapshot;
mod tasks;
mod text;
mod universal;
