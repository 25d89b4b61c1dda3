//! `turnloom budget`: what was spent, and what may be.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;

use super::Context;
use super::render::{Ink, Look, one_line};
use crate::client::escape;

/// Show what was spent, and what may be
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only of this session
    id: Option<String>,
    /// How many days, with today
    #[arg(long, default_value_t = 7, conflicts_with = "id")]
    days: usize,
    /// The daemon's answer, as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Usage {
    daemon: Amounts,
    days: Vec<Sum>,
    groups: Vec<Sum>,
    limits: Vec<Limit>,
}

#[derive(Deserialize)]
struct Sum {
    id: String,
    spent: Amounts,
}

#[derive(Deserialize)]
struct Amounts {
    tokens: u64,
    usd: f64,
    turns: u64,
    minutes: f64,
}

#[derive(Deserialize)]
struct Limit {
    scope: String,
    id: Option<String>,
    measure: String,
    #[serde(rename = "limit")]
    amount: f64,
    spent: f64,
}

#[derive(Deserialize)]
struct SessionBudget {
    spent: Amounts,
    turn: Amounts,
    limits: Vec<Limit>,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    let look = context.terminal.out;
    let mut text = String::new();
    if let Some(id) = &args.id {
        let mut session: Value = client.get(&format!("/api/sessions/{}", escape(id))).await?;
        let budget = session.get_mut("budget").map(Value::take);
        if args.json {
            context.terminal.data(&format!("{}\n", budget.unwrap_or_default()))?;
            return Ok(ExitCode::SUCCESS);
        }
        let Some(SessionBudget { spent, turn, limits }) = budget.map(serde_json::from_value).transpose()? else {
            context.terminal.talk("It has spent nothing, and nothing limits it.\n");
            return Ok(ExitCode::SUCCESS);
        };
        line(&mut text, "session", &spent);
        line(&mut text, "last turn", &turn);
        for limit in &limits {
            limit_line(&mut text, limit, look);
        }
    } else {
        let path = format!("/api/usage?days={}", args.days);
        if args.json {
            let usage: Value = client.get(&path).await?;
            context.terminal.data(&format!("{usage}\n"))?;
            return Ok(ExitCode::SUCCESS);
        }
        let Usage { daemon, days, groups, limits } = client.get(&path).await?;
        line(&mut text, "all sessions", &daemon);
        for day in &days {
            line(&mut text, &day.id, &day.spent);
        }
        for group in &groups {
            line(&mut text, &one_line(&group.id), &group.spent);
        }
        for limit in &limits {
            limit_line(&mut text, limit, look);
        }
        if limits.is_empty() {
            context.terminal.talk("Nothing limits all sessions together; see `budgets` in config.toml.\n");
        }
    }
    context.terminal.data(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn line(text: &mut String, name: &str, spent: &Amounts) {
    let Amounts { tokens, usd, turns, minutes } = spent;
    let _ = writeln!(text, "{name:<14} {tokens:>12} tokens  ${usd:>9.4}  {turns:>5} turns  {minutes:>8.1} minutes");
}

fn limit_line(text: &mut String, limit: &Limit, look: Look) {
    let Limit { scope, id, measure, amount: limit, spent } = limit;
    let name = id.as_ref().map_or_else(|| scope.clone(), |id| format!("{scope} {}", one_line(id)));
    let used = format!("{:.0} %", spent / limit * 100.0);
    let ink = if spent >= limit { Ink::Red } else { Ink::Dim };
    let _ = writeln!(text, "{name:<20} {} of {limit} {measure}", look.paint(ink, &format!("{used:>6}")));
}
