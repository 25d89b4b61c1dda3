//! `turnloom stop`: the end of a turn.

use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;

use super::Context;
use super::connect::{self, path};

/// Stop the running turn of a session
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session: its id, the beginning of its id, or `last`
    id: String,
}

#[derive(Deserialize)]
struct Stopped {
    stopped: bool,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    let session = connect::session(&client, &args.id).await?;
    let stopped: Stopped = client.post(&path(&session.session_id, "/stop"), &json!({})).await?;
    let said = if stopped.stopped { "Stopped.\n" } else { "Nothing was running.\n" };
    context.terminal.talk(said);
    Ok(ExitCode::SUCCESS)
}
