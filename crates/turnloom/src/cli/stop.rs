//! `turnloom stop`: stops a turn.

use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;

use super::Context;
use super::connect::{self, path};

/// Stop the running turn of a session; what waits is held until `turnloom continue`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session: its id, the beginning of its id, or `last`
    id: String,
    /// What becomes of the messages that wait
    #[arg(long, value_name = "WHAT", value_enum, default_value = "hold")]
    then: Then,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Then {
    /// They wait for `turnloom continue`
    Hold,
    /// They go on by themselves
    Continue,
}

#[derive(Deserialize)]
struct Stopped {
    stopped: bool,
    /// What a stop leaves alone.
    #[serde(default)]
    background: usize,
}

impl Stopped {
    fn words(&self) -> String {
        let turn = match (self.stopped, self.background) {
            (true, _) => "Stopped",
            (false, 0) => "Nothing was running",
            (false, _) => "No turn was running",
        };
        match self.background {
            0 => format!("{turn}.\n"),
            1 => format!("{turn}; 1 task goes on in the background.\n"),
            tasks => format!("{turn}; {tasks} tasks go on in the background.\n"),
        }
    }
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    let session = connect::session(&client, &args.id).await?;
    let then = match args.then {
        Then::Hold => "hold",
        Then::Continue => "continue",
    };
    let stopped: Stopped = client.post(&path(&session.session_id, "/stop"), &json!({ "then": then })).await?;
    context.terminal.talk(&stopped.words());
    let id = &session.session_id;
    match connect::session(&client, id.as_str()).await?.held {
        0 => {}
        1 => context.terminal.talk(&format!("1 message waits for `turnloom continue {id}`.\n")),
        held => context.terminal.talk(&format!("{held} messages wait for `turnloom continue {id}`.\n")),
    }
    Ok(ExitCode::SUCCESS)
}
