//! `turnloom continue`: releases the held messages.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::Context;
use super::connect::{self, path};

/// Let the messages go on that wait since a session was stopped
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session: its id, the beginning of its id, or `last`
    id: String,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    let session = connect::session(&client, &args.id).await?;
    client.post::<Value>(&path(&session.session_id, "/continue"), &json!({})).await?;
    let said = match session.held {
        0 => "Nothing was held.\n".to_owned(),
        1 => "1 message goes on.\n".to_owned(),
        held => format!("{held} messages go on.\n"),
    };
    context.terminal.talk(&said);
    Ok(ExitCode::SUCCESS)
}
