//! `turnloom agents`: the roles that agents give to their sub-agents.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use super::Context;
use crate::config::Config;
use crate::roles;

/// Prepare a directory for agents that share work
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Init(Init),
}

/// Copy role files for sub-agents into a directory, where they are missing
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What is there already is never changed. A session in the mode `implement` does the same when its agent starts.
Other roles: set `templates` below `[roles]` in config.toml.")]
struct Init {
    /// The directory [default: the current one]
    directory: Option<PathBuf>,
    /// Only for one kind of agent: claude or codex
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<ExitCode> {
    let Command::Init(init) = &args.command;
    let config = Config::read(None, &context.target.data)?;
    let directory = match &init.directory {
        Some(directory) => directory.clone(),
        None => std::env::current_dir().context("there is no current directory")?,
    };
    anyhow::ensure!(directory.is_dir(), "{} is not a directory", directory.display());
    let known: Vec<&str> = roles::KINDS.iter().map(|(kind, _)| *kind).collect();
    if let Some(kind) = &init.kind {
        anyhow::ensure!(
            known.contains(&kind.as_str()),
            "there are no roles for {kind:?}; there are {}",
            known.join(", ")
        );
    }
    let mut written = Vec::new();
    for kind in known.iter().filter(|kind| init.kind.as_deref().is_none_or(|wanted| wanted == **kind)) {
        written.extend(roles::prepare(&config.roles, kind, &directory)?);
    }
    if written.is_empty() {
        context.terminal.talk("Everything is there already.\n");
    }
    for path in written {
        context.terminal.data(&format!("{}\n", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
