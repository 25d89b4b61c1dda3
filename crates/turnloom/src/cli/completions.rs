//! `turnloom completions`: what a shell needs to complete commands.

use std::process::ExitCode;

use anyhow::Result;

use super::{Context, help};

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "For example: turnloom completions bash > ~/.local/share/bash-completion/completions/turnloom")]
pub(super) struct Args {
    /// bash, elvish, fish, powershell or zsh
    #[arg(hide_possible_values = true)]
    shell: clap_complete::Shell,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "turnloom", &mut script);
    context.terminal.data_bytes(&script)?;
    Ok(ExitCode::SUCCESS)
}
