//! `turnloom import`: adds a session from a file.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use super::Context;
use super::connect::{Purpose, Session};
use crate::archive::Archive;
use crate::client::escape;

/// Add a session from a file that `turnloom export` wrote
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file; `-` reads it from stdin
    file: PathBuf,
    /// Give it another id
    #[arg(long = "as", value_name = "ID")]
    id: Option<String>,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let mut file = Vec::new();
    if args.file.as_os_str() == "-" {
        std::io::stdin().read_to_end(&mut file).context("cannot read stdin")?;
    } else {
        file = std::fs::read(&args.file).with_context(|| format!("cannot read {}", args.file.display()))?;
    }
    // A broken file is refused here already, before anything is started for it.
    Archive::read(&file).with_context(|| format!("{} cannot be imported", args.file.display()))?;
    let connection = context.target.connect(Purpose::Read).await?;
    let query = args.id.as_deref().map(|id| format!("?session_id={}", escape(id))).unwrap_or_default();
    let imported = connection.client.post_bytes::<Session>(&format!("/api/sessions/import{query}"), file.into()).await;
    connection.finish().await?;
    let imported = imported.map_err(|error| match error.code() {
        Some("session_exists") => {
            super::failure::Failure::new(error.to_string(), "give it another id with --as").into()
        }
        _ => anyhow::Error::from(error),
    })?;
    context.terminal.data(&format!("{}\n", imported.session_id))?;
    Ok(ExitCode::SUCCESS)
}
