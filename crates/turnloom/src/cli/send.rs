//! `turnloom send`: sends a message to a session without waiting for the result.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use turnloom_core::command::Receipt;

use super::Context;
use super::connect::{self, path};

/// Send a message to a session
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session: its id, the beginning of its id, or `last`
    id: String,
    /// What to say
    text: String,
    /// What to do when a turn is running
    #[arg(long, value_name = "WHEN", default_value = "queue")]
    when: When,
    /// Choose the message's id: the same id again is the same message
    #[arg(long = "id", value_name = "MESSAGE_ID")]
    message_id: Option<String>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum When {
    /// Send it when the turn has ended
    Queue,
    /// Put it into the running turn
    Steer,
    /// Refuse it
    Reject,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    let session = connect::session(&client, &args.id).await?;
    let when = match args.when {
        When::Queue => "queue",
        When::Steer => "steer",
        When::Reject => "reject",
    };
    let mut body = json!({ "message": args.text, "when": when });
    if let (Some(id), Some(body)) = (args.message_id, body.as_object_mut()) {
        body.insert("message_id".to_owned(), id.into());
    }
    let receipt: Receipt = client.post(&path(&session.session_id, "/message"), &body).await?;
    context.terminal.data(&format!("{}\n", receipt.message_id))?;
    if receipt.queued {
        let position = receipt.position.unwrap_or(1);
        context.terminal.talk(&format!("It waits for the running turn, at place {position}.\n"));
    }
    Ok(ExitCode::SUCCESS)
}
