//! `turnloom schedule add`: a schedule from options.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::cli::failure::Failure;

/// Add a schedule
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  turnloom schedule add --cron '0 3 * * *' --zone Europe/Berlin --runtime claude \"update the dependencies\"
  turnloom schedule add --every 6h --same-session \"what is new since {{last_result}}?\"
  turnloom schedule add --at 2027-01-01T00:00:00Z \"echo a new year\"")]
pub(super) struct Args {
    /// What the agent is told; `{{date}}`, `{{time}}`, `{{last_result}}`, `{{run_id}}` and variables are put in
    prompt: String,
    /// Its id, to run, pause and remove it by [default: made up]
    #[arg(long)]
    id: Option<String>,
    /// What it is called [default: the beginning of the prompt]
    #[arg(long)]
    title: Option<String>,
    /// When, as a cron expression: minute, hour, day of month, month, day of week
    #[arg(long, value_name = "EXPRESSION", group = "times")]
    cron: Option<String>,
    /// How often: 15m, 6h, 1h 30m
    #[arg(long, value_name = "TIME", group = "times")]
    every: Option<String>,
    /// When, once: 2027-01-01T00:00:00Z
    #[arg(long, value_name = "TIME", group = "times")]
    at: Option<String>,
    /// The time zone of a cron expression and of dates [default: this machine's, or UTC]
    #[arg(long, value_name = "NAME")]
    zone: Option<String>,
    /// The kind of agent [default: mock]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["in_session", "fork"])]
    runtime: Option<String>,
    /// Where the agent works [default: here]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["in_session", "fork"])]
    cwd: Option<PathBuf>,
    /// The model
    #[arg(long, conflicts_with_all = ["in_session", "fork"])]
    model: Option<String>,
    /// The mode, such as plan: what the agent may do
    #[arg(long, conflicts_with_all = ["in_session", "fork"])]
    mode: Option<String>,
    /// A parameter of the sessions; may be given several times
    #[arg(long = "param", value_name = "KEY=VALUE", value_parser = super::super::run::param, conflicts_with_all = ["in_session", "fork"])]
    params: Vec<(String, Value)>,
    /// A variable of the prompt; may be given several times
    #[arg(long = "var", value_name = "NAME=TEXT", value_parser = variable)]
    variables: Vec<(String, String)>,
    /// Run everything in one session instead of a new one each time
    #[arg(long, group = "place")]
    same_session: bool,
    /// Run everything in this session
    #[arg(long, value_name = "SESSION", group = "place")]
    in_session: Option<String>,
    /// Run in a new fork of this session each time
    #[arg(long, value_name = "SESSION", group = "place")]
    fork: Option<String>,
    /// When a run is due while another goes on: skip, queue, or stop the old one
    #[arg(long, value_name = "HOW", default_value = "skip", value_parser = ["skip", "queue", "stop"], hide_possible_values = true)]
    overlap: String,
    /// What was due while the daemon was off: once, skip, or how many of them run at most
    #[arg(long, value_name = "HOW", default_value = "once", value_parser = missed)]
    missed: Value,
    /// Start up to so many seconds later, always equally much
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    jitter: u32,
    /// How many tokens a run may use before a person is asked
    #[arg(long, value_name = "N")]
    budget_tokens: Option<u64>,
    /// How many dollars
    #[arg(long, value_name = "USD")]
    budget_usd: Option<f64>,
    /// How many minutes
    #[arg(long, value_name = "N")]
    budget_minutes: Option<u32>,
    /// How many dollars all runs may use together
    #[arg(long, value_name = "USD")]
    total_usd: Option<f64>,
    /// Let nothing run until it is resumed
    #[arg(long)]
    paused: bool,
}

impl Args {
    /// The request that creates it.
    pub(super) fn body(&self) -> Result<Value> {
        let when = match (&self.cron, &self.every, &self.at) {
            (Some(expression), _, _) => json!({ "type": "cron", "expression": expression }),
            (_, Some(every), _) => json!({ "type": "interval", "every": every }),
            (_, _, Some(at)) => json!({ "type": "once", "at": at }),
            (None, None, None) => {
                return Err(Failure::new("when shall it run?".to_owned(), "give --cron, --every or --at").into());
            }
        };
        let session = match (&self.in_session, &self.fork, self.same_session) {
            (Some(session), _, _) => json!({ "type": "same", "session_id": session }),
            (_, Some(session), _) => json!({ "type": "fork", "session_id": session }),
            (_, _, true) => json!({ "type": "same" }),
            (None, None, false) => json!({ "type": "new" }),
        };
        let first_line = self.prompt.trim().lines().next().unwrap_or_default();
        let title = self.title.clone().unwrap_or_else(|| first_line.chars().take(60).collect());
        let zone = self.zone.clone().or_else(local_zone).unwrap_or_else(|| "UTC".to_owned());
        let mut body = json!({
            "title": title,
            "when": when,
            "zone": zone,
            "prompt": self.prompt,
            "variables": self.variables.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "session": session,
            "overlap": self.overlap,
            "missed": self.missed,
            "jitter_seconds": self.jitter,
            "paused": self.paused,
        });
        let Some(fields) = body.as_object_mut() else { return Ok(body) };
        if let Some(id) = &self.id {
            fields.insert("schedule_id".to_owned(), json!(id));
        }
        if self.in_session.is_none() && self.fork.is_none() {
            fields.insert("runtime".to_owned(), json!(self.runtime.as_deref().unwrap_or("mock")));
            fields.insert("params".to_owned(), Value::Object(self.params()?));
        }
        let budget = self.budget();
        if !budget.is_empty() {
            fields.insert("budget".to_owned(), Value::Object(budget));
        }
        if let Some(usd) = self.total_usd {
            fields.insert("total_budget".to_owned(), json!({ "usd": usd }));
        }
        Ok(body)
    }

    fn params(&self) -> Result<Map<String, Value>> {
        let cwd = match &self.cwd {
            Some(cwd) => std::path::absolute(cwd)?,
            None => std::env::current_dir()?,
        };
        let mut params = Map::from_iter([("cwd".to_owned(), json!(cwd))]);
        params.extend(self.params.iter().cloned());
        for (name, value) in [("model", &self.model), ("mode", &self.mode)] {
            if let Some(value) = value {
                params.insert(name.to_owned(), json!(value));
            }
        }
        Ok(params)
    }

    fn budget(&self) -> Map<String, Value> {
        let given = [
            ("tokens", self.budget_tokens.map(|n| json!(n))),
            ("usd", self.budget_usd.map(|n| json!(n))),
            ("minutes", self.budget_minutes.map(|n| json!(n))),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

fn variable(given: &str) -> Result<(String, String), String> {
    let (name, text) = given.split_once('=').ok_or("a variable is written NAME=TEXT")?;
    Ok((name.trim().to_owned(), text.to_owned()))
}

fn missed(given: &str) -> Result<Value, String> {
    match given {
        "once" | "skip" => Ok(json!({ "type": given })),
        number => {
            let at_most: u32 = number.parse().map_err(|_| "write once, skip, or a number")?;
            Ok(json!({ "type": "all", "at_most": at_most }))
        }
    }
}

/// The name of this machine's zone, if it has one.
fn local_zone() -> Option<String> {
    let named = std::env::var("TZ").ok().map(|zone| zone.trim_start_matches(':').to_owned());
    named.filter(|zone| !zone.is_empty() && !zone.starts_with('/')).or_else(|| {
        let target = std::fs::read_link("/etc/localtime").ok()?;
        let (_, name) = target.to_str()?.split_once("zoneinfo/")?;
        Some(name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed() {
        assert_eq!(missed("once"), Ok(json!({ "type": "once" })));
        assert_eq!(missed("7"), Ok(json!({ "type": "all", "at_most": 7 })));
        assert!(missed("never").is_err());
        assert_eq!(variable("branch=a=b"), Ok(("branch".to_owned(), "a=b".to_owned())));
        assert!(variable("branch").is_err());
    }
}
