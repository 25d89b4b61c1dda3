//! `turnloom export`: writes a session to a file.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use turnloom_core::summary::SessionStatus;

use super::Context;
use super::connect::{self, Purpose};
use crate::private;

/// Write a session to a file, with everything it needs to be read elsewhere
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session: its id, the beginning of its id, or `last`
    id: String,
    /// Where to [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let connection = context.target.connect(Purpose::Read).await?;
    let exported = async {
        let session = connect::session(&connection.client, &args.id).await?;
        let path = connect::path(&session.session_id, "/export");
        Ok::<_, anyhow::Error>((connection.client.get_bytes(&path).await?, session))
    }
    .await;
    connection.finish().await?;
    let (file, session) = exported?;
    match &args.output {
        None => context.terminal.data_bytes(&file)?,
        Some(path) => {
            private::write(path, &file).with_context(|| format!("cannot write {}", path.display()))?;
            let size = super::render::bytes(file.len() as u64);
            context.terminal.talk(&format!("Wrote {size} to {}.\n", path.display()));
        }
    }
    if matches!(session.status, SessionStatus::Running | SessionStatus::Waiting | SessionStatus::Stopping) {
        context
            .terminal
            .hint("the session is at work, so the file can be read but not imported; export it again when it rests");
    }
    Ok(ExitCode::SUCCESS)
}
