//! `turnloom replay`: a recording, played without an agent. It starts nothing and stores nothing.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use turnloom_core::event::{Envelope, Event};
use turnloom_core::laws::{self, Ending};
use turnloom_core::replay;
use turnloom_core::runtime::RECORDED;

use super::failure::Failure;
use super::render::{Medium, count, cut, line, one_line};
use super::{Context, events};

/// Play a recording without an agent, and print the events it leads to
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Recordings are made with `turnloom record` or `turnloom run --record`. No program is started and nothing is stored.
With --check the exit code is 1 if a law of the log is broken. What could not be read is told and is no failure.")]
pub(super) struct Args {
    /// The kind of agent that was recorded
    runtime: String,
    /// The recording; `-` reads it from stdin
    file: PathBuf,
    /// Check the laws of the log, and say what was not understood
    #[arg(long)]
    check: bool,
    /// One short line per event instead of JSON
    #[arg(long)]
    brief: bool,
}

/// How much of an unreadable line is told.
const MAX_RAW_CHARS: usize = 160;

pub(super) fn run(args: &Args, context: &mut Context) -> Result<ExitCode> {
    let Some((_, recorded)) = RECORDED.iter().find(|(name, _)| *name == args.runtime) else {
        let known: Vec<&str> = RECORDED.iter().map(|(name, _)| *name).collect();
        let what = format!("recordings of {:?} cannot be played", args.runtime);
        return Err(Failure::new(what, format!("there are {}", known.join(", "))).into());
    };
    let name = args.file.display();
    let entries = replay::read(&text(args)?).map_err(|error| anyhow::anyhow!("{name} cannot be played: {error}"))?;
    if entries.is_empty() {
        let hint = "make one with `turnloom run --record FILE \"demo\"`";
        return Err(Failure::new(format!("{name} is empty, so it is not a recording"), hint).into());
    }
    let log = replay::play(recorded().as_mut(), &entries);
    print(&log, args, context)?;
    if !args.check {
        return Ok(ExitCode::SUCCESS);
    }
    for envelope in &log {
        if let Event::AgentUnparsed(unparsed) = &envelope.event {
            let raw = cut(&one_line(&unparsed.raw), MAX_RAW_CHARS);
            let what = format!("{}: {}: {raw}", unparsed.location, unparsed.error);
            context.terminal.talk(&format!("not understood, event {}: {what}\n", envelope.seq));
        }
    }
    let broken = laws::check(&log, Ending::AtRest);
    for violation in &broken {
        context.terminal.talk(&format!("broken, {violation}\n"));
    }
    let (lines, events) = (count(entries.len(), "line"), count(log.len(), "event"));
    if broken.is_empty() {
        context.terminal.talk(&format!("{lines}, {events}, every law holds.\n"));
        return Ok(ExitCode::SUCCESS);
    }
    context.terminal.failed(&format!("{lines}, {events}, {} broken", count(broken.len(), "law")), None);
    Ok(ExitCode::FAILURE)
}

fn text(args: &Args) -> Result<String> {
    let mut bytes = Vec::new();
    if args.file.as_os_str() == "-" {
        std::io::stdin().read_to_end(&mut bytes).context("cannot read stdin")?;
    } else {
        bytes = std::fs::read(&args.file).with_context(|| format!("cannot read {}", args.file.display()))?;
    }
    String::from_utf8(bytes)
        .map_err(|_| anyhow::anyhow!("{} is not text, so it is not a recording", args.file.display()))
}

fn print(log: &[Envelope], args: &Args, context: &mut Context) -> Result<()> {
    let mut look = context.terminal.out;
    if look.medium == Medium::Pipe {
        look.width = events::PIPE_WIDTH;
    }
    let mut out = Vec::new();
    for envelope in log {
        if args.brief {
            out.extend_from_slice(line(envelope, look).as_bytes());
        } else {
            out.extend_from_slice(&envelope.encode().json);
        }
        out.push(b'\n');
    }
    Ok(context.terminal.data_bytes(&out)?)
}
