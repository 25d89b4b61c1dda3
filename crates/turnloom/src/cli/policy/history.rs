//! `turnloom policy test` and `turnloom policy suggest`: recorded calls of all sessions, judged again. The daemon that runs reads its logs, or one that
//! lives only for the question.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use turnloom_core::policy::{Report, RulesFile, Suggestion};
use turnloom_core::time::Timestamp;

use crate::cli::Context;
use crate::cli::connect::Purpose;
use crate::cli::failure::Failure;
use crate::cli::render::{Ink, count, one_line};
use crate::client::escape;
use crate::session::now;

/// Tell what would change if a file took the place of your rules
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every recorded call of every session is judged twice, by the rules as they are and as they would be.
Nothing is run and nothing is changed.")]
pub(super) struct Test {
    /// Rules as in policy.toml
    file: PathBuf,
    #[command(flatten)]
    since: Since,
    /// The report as JSON
    #[arg(long)]
    json: bool,
}

/// Suggest rules from what people keep allowing or refusing
#[derive(Debug, clap::Args)]
pub(super) struct Suggest {
    #[command(flatten)]
    since: Since,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Since {
    /// Only what happened since: a time (2026-01-31T00:00:00Z), or how long ago (12h, 30d)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
}

impl Since {
    fn time(&self) -> Result<Option<Timestamp>> {
        self.since.as_deref().map(|text| parse(text, now())).transpose()
    }
}

fn parse(text: &str, now: Timestamp) -> Result<Timestamp> {
    let unit = match text.chars().last() {
        Some('m') => 60_000,
        Some('h') => 3_600_000,
        Some('d') => 86_400_000,
        _ => 0,
    };
    let ago = text.get(..text.len().saturating_sub(1)).and_then(|number| number.parse::<i64>().ok());
    if let Some(ago) = ago.filter(|ago| unit > 0 && *ago >= 0) {
        return Ok(Timestamp::from_millis(now.millis().saturating_sub(ago.saturating_mul(unit))));
    }
    let hint = "give a time as 2026-01-31T00:00:00Z, or how long ago as 30m, 12h or 7d";
    serde_json::from_value(json!(text)).map_err(|_| Failure::new(format!("{text:?} is no time"), hint).into())
}

pub(super) async fn test(args: Test, context: &mut Context) -> Result<ExitCode> {
    let name = args.file.display().to_string();
    let rules = std::fs::read_to_string(&args.file).with_context(|| format!("cannot read {name}"))?;
    // Its name and its line are told as `explain` tells them.
    RulesFile::read(&name, &rules)?;
    let body = json!({ "rules": rules, "since": args.since.time()? });
    let connection = context.target.connect(Purpose::Read).await?;
    let report = connection.client.post::<Value>("/api/policy/test", &body).await;
    connection.finish().await?;
    let report = report?;
    if args.json {
        context.terminal.data(&format!("{report}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let report: Report = serde_json::from_value(report)?;
    let look = context.terminal.out;
    let mut text = String::new();
    for call in &report.changed {
        let place = look.paint(Ink::Dim, &format!("{} {}", call.session_id, call.seq));
        let change = format!("{} -> {}", call.old.as_str(), call.new.as_str());
        let (tool, what) = (one_line(&call.tool), one_line(&call.what));
        let _ = writeln!(text, "{}  {tool}  {what}  {}  {place}", look.paint(Ink::Bold, &change), call.new_rule);
    }
    context.terminal.data(&text)?;
    let changed: u64 = report.counts.iter().map(|count| count.calls).sum();
    let mut said = format!("{} of {} recorded calls would change.\n", changed, report.calls);
    for count in &report.counts {
        let _ = writeln!(said, "  {:>8}  {} -> {}", count.calls, count.old.as_str(), count.new.as_str());
    }
    if changed > report.changed.len() as u64 {
        let _ = writeln!(said, "The first {} are listed.", report.changed.len());
    }
    if report.not_judged > 0 {
        let _ = writeln!(said, "{} more were too large for the log and could not be judged.", report.not_judged);
    }
    context.terminal.talk(&said);
    Ok(ExitCode::SUCCESS)
}

#[derive(Deserialize)]
struct Suggestions<T> {
    suggestions: Vec<T>,
}

pub(super) async fn suggest(args: Suggest, context: &mut Context) -> Result<ExitCode> {
    let since = args.since.time()?.map(|since| format!("?since={}", escape(&since.to_string())));
    let path = format!("/api/policy/suggestions{}", since.unwrap_or_default());
    let connection = context.target.connect(Purpose::Read).await?;
    let found = connection.client.get::<Suggestions<Value>>(&path).await;
    connection.finish().await?;
    let Suggestions { suggestions } = found?;
    if args.json {
        let lines: Vec<String> = suggestions.iter().map(|suggestion| format!("{suggestion}\n")).collect();
        context.terminal.data(&lines.concat())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for suggestion in suggestions {
        let Suggestion { rule, label, calls, .. } = serde_json::from_value(suggestion)?;
        let _ = writeln!(text, "# {}: {}", count(calls.len(), "answer"), one_line(&label));
        for call in &calls {
            let _ = writeln!(text, "#   {} {}  {}", call.session_id, call.seq, one_line(&call.what));
        }
        let _ = writeln!(text, "[[rule]]\n{rule}\n");
    }
    if text.is_empty() {
        context.terminal.talk("Nothing was answered the same way often enough.\n");
    }
    context.terminal.data(&text)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_or_how_long_ago() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        assert_eq!(parse("2h", now).unwrap().millis(), 1_800_000_000_000 - 7_200_000);
        assert_eq!(parse("1d", now).unwrap().millis(), 1_800_000_000_000 - 86_400_000);
        assert_eq!(parse("1970-01-01T00:00:01Z", now).unwrap().millis(), 1000);
        for wrong in ["", "d", "-2h", "yesterday", "2w"] {
            assert!(parse(wrong, now).is_err(), "{wrong:?}");
        }
    }
}
