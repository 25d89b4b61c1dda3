//! `turnloom tokens`: lists the tokens that were made for others.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;

use super::Context;
use super::render::{Ink, age, one_line};
use crate::scoped_tokens::Listed;
use crate::session::now;

/// List the tokens that were made for others, the oldest first
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct List<T> {
    tokens: Vec<T>,
}

pub(super) async fn run(args: &Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    if args.json {
        let List { tokens } = client.get::<List<Value>>("/api/tokens").await?;
        let lines: Vec<String> = tokens.iter().map(|token| format!("{token}\n")).collect();
        context.terminal.data(&lines.concat())?;
        return Ok(ExitCode::SUCCESS);
    }
    let List { tokens } = client.get::<List<Listed>>("/api/tokens").await?;
    let look = context.terminal.out;
    let mut table = String::new();
    for Listed { token_id, name, scopes, created_at, expires_at } in &tokens {
        let made = look.paint(Ink::Dim, &format!("{:>4}", age(now().millis() - created_at.millis())));
        let until = expires_at.map(|at| look.paint(Ink::Dim, &format!("  until {at}"))).unwrap_or_default();
        let _ = writeln!(table, "{token_id}  {made}  {}  {}{until}", one_line(name), scopes.join(" "));
    }
    context.terminal.data(&table)?;
    if tokens.is_empty() {
        context.terminal.talk("There are none. `turnloom token new NAME --scope SCOPE` makes one.\n");
    }
    Ok(ExitCode::SUCCESS)
}
