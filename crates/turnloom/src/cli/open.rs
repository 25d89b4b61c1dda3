//! `turnloom open`: a link that signs a browser in, once.

use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;

use super::{Context, browser};

/// Print a fresh link to the workbench, and open it
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only print the link
    #[arg(long)]
    no_open: bool,
}

#[derive(Deserialize)]
struct Link {
    path: String,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    let link: Link = client.post("/api/login-links", &serde_json::json!({})).await?;
    let url = format!("{}{}", client.url(), link.path);
    context.terminal.data(&format!("{url}\n"))?;
    if !args.no_open
        && let Ok(opener) = browser::opener()
    {
        browser::open(&opener, &url);
    }
    Ok(ExitCode::SUCCESS)
}
