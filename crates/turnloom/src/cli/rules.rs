//! `turnloom rules`: what people have answered with *always*, and its removal.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;
use turnloom_core::event::RuleScope;

use super::Context;
use super::connect::Purpose;
use super::render::{Ink, count, one_line};
use crate::client::escape;
use crate::policy::StoredRule;

/// List the rules that were chosen with "always", or remove one
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Remove(Remove),
}

/// Remove a rule, so that equal calls ask again
#[derive(Debug, clap::Args)]
struct Remove {
    /// The rule's id
    id: String,
}

#[derive(Deserialize)]
struct Rules<T> {
    rules: Vec<T>,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let connection = context.target.connect(Purpose::Read).await?;
    let client = &connection.client;
    if let Some(Command::Remove(Remove { id })) = args.command {
        let removed = client.delete::<()>(&format!("/api/rules/{}", escape(&id))).await;
        connection.finish().await?;
        removed?;
        context.terminal.talk("Removed.\n");
        return Ok(ExitCode::SUCCESS);
    }
    let listed = client.get::<Rules<Value>>("/api/rules").await;
    connection.finish().await?;
    let Rules { rules } = listed?;
    if args.json {
        let lines: Vec<String> = rules.iter().map(|rule| format!("{rule}\n")).collect();
        context.terminal.data(&lines.concat())?;
        return Ok(ExitCode::SUCCESS);
    }
    let look = context.terminal.out;
    let mut table = String::new();
    for rule in &rules {
        let StoredRule { id, scope, rule, note, .. } = serde_json::from_value(rule.clone())?;
        let scope = match scope {
            RuleScope::Session => "session",
            RuleScope::Project => "project",
            RuleScope::User => "user",
            RuleScope::Mode => "mode",
            RuleScope::Absolute => "absolute",
        };
        let note = note.map(|note| format!("  {}", look.paint(Ink::Dim, &one_line(&note))));
        let _ = writeln!(table, "{id}  {scope:<7}  {}{}", in_one_line(&rule), note.unwrap_or_default());
    }
    context.terminal.data(&table)?;
    if rules.is_empty() {
        context.terminal.talk("Nothing is always allowed. Your own rules are in policy.toml.\n");
    } else {
        let all = count(rules.len(), "rule");
        context.terminal.talk(&format!("{all}; remove one with `turnloom rules remove ID`.\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// A rule in TOML, on one line.
pub(super) fn in_one_line(rule: &str) -> String {
    one_line(&rule.lines().collect::<Vec<_>>().join(", "))
}
