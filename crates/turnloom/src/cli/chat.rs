//! `turnloom chat`: many turns, one line each.

use std::process::ExitCode;

use anyhow::Result;

use super::connect::Purpose;
use super::run::With;
use super::talk::{Conversation, Ended};
use super::{Context, interrupted};

/// Talk to an agent, turn after turn
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each line is a message; what is typed while a turn runs waits for its end.
/stop stops the turn, /continue lets go on what waits, /quit or the end of the input leaves.")]
pub(super) struct Args {
    #[command(flatten)]
    with: With,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let connection = context.target.connect(Purpose::Work).await?;
    let ended = async {
        let session = args.with.session(&connection.client).await?;
        let mut conversation = Conversation::new(
            &context.target,
            &connection.client,
            &session,
            args.with.asking(),
            &mut context.terminal,
        )?;
        conversation.many().await
    }
    .await;
    connection.finish().await?;
    Ok(match ended? {
        Ended::Well | Ended::Badly => ExitCode::SUCCESS,
        Ended::Stopped | Ended::Left => interrupted(),
    })
}
