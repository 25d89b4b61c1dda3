//! `turnloom policy`: what the rules say about a call. It needs no daemon, starts nothing and stores nothing.

use std::io::{BufRead as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use turnloom_core::policy::{self, Act, Call, Decision, Location, Policy, World as _};

use super::Context;
use super::failure::Failure;
use crate::policy::{Rules, ThisMachine};

/// What the rules say about a call of a tool
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Rules: what ships; policy.toml and modes/*.toml in the data directory; .turnloom/policy.toml of a
project that policy.toml trusts. Nothing is run, and no daemon is needed. See docs/policy.md.")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Explain(Explain),
    Check(Check),
}

/// Show what a call would do, and which rule decides about it
#[derive(Debug, clap::Args)]
struct Explain {
    /// The tool, as the agent names it
    #[arg(long, default_value = "Bash")]
    tool: String,
    /// A command for a shell; `-` reads it from stdin
    #[arg(long, conflicts_with = "input", required_unless_present = "input", allow_hyphen_values = true)]
    command: Option<String>,
    /// The tool's input, as JSON
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    #[command(flatten)]
    place: Place,
    /// The decision as JSON
    #[arg(long)]
    json: bool,
}

/// Judge calls from stdin, one JSON object per line
#[derive(Debug, clap::Args)]
#[command(after_help = "\
In:  {\"tool\":\"Bash\",\"input\":{\"command\":\"ls\"}}
Out: {\"decision\":\"allow\",\"rule\":\"implement/read\",\"reason\":\"…\",\"opaque\":false}
A line that is no call gets {\"error\":…} in its place, and the exit code is 1.")]
struct Check {
    #[command(flatten)]
    place: Place,
    /// One JSON object per line; there is no other form
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Place {
    /// plan, implement, ask, bypass, or a mode of your own
    #[arg(long, default_value = "implement")]
    mode: String,
    /// The kind of agent, for rules that name one
    #[arg(long, default_value = "")]
    runtime: String,
    /// The working directory [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

/// A call by itself and the rules for it.
struct Judge {
    policy: Arc<Policy>,
    world: ThisMachine,
    directory: String,
    place: Place,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    match args.command {
        Command::Explain(args) => explain(args, context),
        Command::Check(args) => check(args, context),
    }
}

fn explain(args: Explain, context: &mut Context) -> Result<ExitCode> {
    let input = match (args.command.as_deref(), args.input) {
        (Some("-"), _) => {
            let mut script = String::new();
            std::io::stdin().read_to_string(&mut script).context("cannot read stdin")?;
            json!({ "command": script })
        }
        (Some(command), _) => json!({ "command": command }),
        (None, input) => serde_json::from_str(&input.unwrap_or_default()).context("--input is not JSON")?,
    };
    let judge = Judge::new(args.place, &context.target.data)?;
    let decision = judge.decide(&args.tool, &input);
    if args.json {
        context.terminal.data(&format!("{}\n", serde_json::to_string(&decision)?))?;
    } else {
        context.terminal.data(&decision_text(&decision, &judge.place.mode))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(args: Check, context: &mut Context) -> Result<ExitCode> {
    let judge = Judge::new(args.place, &context.target.data)?;
    let mut code = ExitCode::SUCCESS;
    for line in std::io::stdin().lock().lines() {
        let line = line.context("cannot read stdin")?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = match serde_json::from_str::<Value>(&line) {
            Ok(call) if call.get("tool").is_some_and(Value::is_string) => {
                let tool = call.get("tool").and_then(Value::as_str).unwrap_or_default();
                let decision = judge.decide(tool, call.get("input").unwrap_or(&Value::Null));
                json!({
                    "decision": decision.effect.as_str(),
                    "rule": decision.rule.to_string(),
                    "reason": decision.reason,
                    "opaque": decision.opaque,
                })
            }
            Ok(_) => {
                code = ExitCode::FAILURE;
                json!({ "error": "there is no tool in it" })
            }
            Err(error) => {
                code = ExitCode::FAILURE;
                json!({ "error": error.to_string() })
            }
        };
        context.terminal.data(&format!("{answer}\n"))?;
    }
    Ok(code)
}

impl Judge {
    fn new(place: Place, data: &Path) -> Result<Self> {
        let world = ThisMachine;
        let directory = match &place.cwd {
            Some(directory) => std::path::absolute(directory).context("--cwd is no directory")?,
            None => std::env::current_dir().context("there is no working directory")?,
        };
        let directory = world.resolve(&directory.to_string_lossy()).unwrap_or_default();
        let rules = Rules::open(data);
        let policy = rules.of(&directory);
        // Nothing is judged by half of the rules.
        if let Some(problem) = rules.problems().into_iter().next() {
            return Err(problem.into());
        }
        if !policy.has_mode(&place.mode) {
            let known: Vec<&str> = policy.modes().collect();
            let hint = format!("there are {}", known.join(", "));
            return Err(Failure::new(format!("there is no mode {:?}", place.mode), hint).into());
        }
        Ok(Self { policy, world, directory, place })
    }

    fn decide(&self, tool: &str, input: &Value) -> Decision {
        let call = Call { runtime: &self.place.runtime, ..Call::new(tool, input, &self.place.mode, &self.directory) };
        policy::decide(&self.policy, &call, &self.world)
    }
}

/// The decision for people.
fn decision_text(decision: &Decision, mode: &str) -> String {
    let mut lines =
        vec![format!("{}  {}  in {mode} mode", decision.effect.as_str(), decision.rule), decision.reason.clone()];
    for (at, command) in decision.commands.iter().enumerate() {
        let inside: Vec<String> = command.inside.iter().map(|name| format!("{name} > ")).collect();
        let words = if command.words.is_empty() { "(the call itself)".to_owned() } else { command.words.join(" ") };
        lines.extend([String::new(), format!("{}{words}", inside.concat())]);
        for (index, act) in command.acts.iter().enumerate() {
            let mark = if decision.decided_by == (at, index) { "  <- decides" } else { "" };
            lines.push(format!("  {}{mark}", line(act)));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

fn line(act: &Act) -> String {
    let kind = serde_json::to_value(act.kind).ok();
    let mut parts = vec![kind.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()];
    if let Some(place) = &act.place {
        let place_of = match place.location {
            Location::Inside => "inside",
            Location::Outside => "outside",
            Location::Found => "found by another command",
            Location::Unknown => "unknown",
        };
        parts.push(format!("{}{} ({place_of})", place.path, if place.contents { "/*" } else { "" }));
    }
    parts.extend(act.host.clone());
    parts.extend(act.server.clone());
    parts.extend(act.why.clone());
    parts.join("  ")
}
