//! The command line: one file per subcommand, each a client of a daemon. What a session decides or how a log is kept is not here.
//!
//! Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.

mod adopt;
mod agents;
mod answer;
mod answering;
mod asks;
mod browser;
mod budget;
mod channel;
mod chat;
mod completions;
mod connect;
mod continue_queue;
mod doctor;
mod emit;
mod events;
mod export;
mod failure;
mod follow;
mod help;
mod import;
mod inbox;
mod keyboard;
mod open;
mod policy;
mod record;
mod reference;
pub mod render;
mod replay;
mod rules;
mod run;
mod schedule;
mod scripted;
mod send;
mod sessions;
mod sign_ins;
mod stop;
mod talk;
mod terminal;
mod token;
mod tokens;
mod up;
mod webhook;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{FromArgMatches as _, Parser, Subcommand};

use self::connect::Target;
pub use self::reference::reference;
use self::terminal::{ColorWhen, Terminal};
use crate::config;

/// Threads for a daemon that serves one person for one command.
const COMMAND_THREADS: usize = 2;

/// What a shell gets for arguments that make no sense.
const WRONG_USAGE: u8 = 2;

/// One daemon between coding agents and user interfaces.
#[derive(Debug, Parser)]
#[command(name = "turnloom", version, arg_required_else_help = true, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: Global,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    /// Where Turnloom keeps its data [default: ~/.local/share/turnloom]
    #[arg(long, global = true, value_name = "DIR", env = "TURNLOOM_DATA", hide_env_values = true)]
    data: Option<PathBuf>,
    /// Talk to the daemon at this address instead of the one that uses the data directory
    #[arg(long, global = true, env = "TURNLOOM_URL", hide_env_values = true)]
    url: Option<String>,
    /// The daemon's token, if it is not the one kept in the data directory
    #[arg(long, global = true, env = "TURNLOOM_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    color: ColorWhen,
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(up::Args),
    Open(open::Args),
    SignIns(sign_ins::Args),
    Token(token::Args),
    Tokens(tokens::Args),
    Doctor(doctor::Args),
    Emit(emit::Args),
    Run(run::Args),
    Chat(chat::Args),
    Sessions(sessions::Args),
    Events(events::Args),
    Send(send::Args),
    Stop(stop::Args),
    Continue(continue_queue::Args),
    Inbox(inbox::Args),
    Asks(asks::Args),
    Answer(answer::Args),
    Rules(rules::Args),
    Policy(policy::Args),
    Budget(budget::Args),
    Channel(channel::Args),
    Webhook(webhook::Args),
    Schedule(schedule::Args),
    Export(export::Args),
    Import(import::Args),
    Adopt(adopt::Args),
    Record(record::Args),
    Replay(replay::Args),
    Scripted(scripted::Args),
    Agents(agents::Args),
    Completions(completions::Args),
}

/// What a command has to work with.
struct Context {
    terminal: Terminal,
    target: Target,
}

/// The whole program but for the roles it plays for itself.
pub fn main() -> ExitCode {
    let parsed = help::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // Help that was asked for goes to stdout and is no failure; clap knows which is which.
            drop(error.print());
            return u8::try_from(error.exit_code()).unwrap_or(2).into();
        }
    };
    let Global { data, url, token, color } = cli.global;
    let given = data.is_some();
    let target = Target { data: data.unwrap_or_else(config::default_data), url, token };
    let mut context = Context { terminal: Terminal::new(color), target };
    if let Err(error) = context.target.token.as_deref().map_or(Ok(()), crate::token::check) {
        let (what, hint) = failure::explain(&error.into());
        context.terminal.failed(&what, hint.as_deref());
        return WRONG_USAGE.into();
    }
    match start(cli.command, given, &mut context) {
        Ok(code) => code,
        Err(error) if failure::reader_left(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let (what, hint) = failure::explain(&error);
            context.terminal.failed(&what, hint.as_deref());
            ExitCode::FAILURE
        }
    }
}

fn start(command: Command, data_given: bool, context: &mut Context) -> Result<ExitCode> {
    // This must work where nothing else does.
    if let Command::Completions(args) = &command {
        return completions::run(args, context);
    }
    if let Command::Replay(args) = &command {
        return replay::run(args, context);
    }
    let command = match command {
        Command::Policy(args) if !args.reads_logs() => return policy::run_alone(args, context),
        command => command,
    };
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if !matches!(command, Command::Up(_)) {
        builder.worker_threads(COMMAND_THREADS);
    }
    let runtime = builder.enable_all().build().context("cannot start threads")?;
    let result = runtime.block_on(async {
        match command {
            Command::Up(args) => up::run(args, data_given, context).await,
            Command::Open(args) => open::run(args, context).await,
            Command::SignIns(args) => sign_ins::run(args, context).await,
            Command::Token(args) => token::run(args, context).await,
            Command::Tokens(args) => tokens::run(&args, context).await,
            Command::Emit(args) => emit::run(args, context).await,
            Command::Doctor(args) => Box::pin(doctor::run(args, context)).await,
            Command::Run(args) => Box::pin(run::run(args, context)).await,
            Command::Chat(args) => Box::pin(chat::run(args, context)).await,
            Command::Sessions(args) => Box::pin(sessions::run(args, context)).await,
            Command::Events(args) => Box::pin(events::run(args, context)).await,
            Command::Send(args) => send::run(args, context).await,
            Command::Stop(args) => stop::run(args, context).await,
            Command::Continue(args) => continue_queue::run(args, context).await,
            Command::Inbox(args) => Box::pin(inbox::run(args, context)).await,
            Command::Asks(args) => asks::run(args, context).await,
            Command::Answer(args) => answer::run(args, context).await,
            Command::Export(args) => Box::pin(export::run(args, context)).await,
            Command::Import(args) => Box::pin(import::run(args, context)).await,
            Command::Adopt(args) => Box::pin(adopt::run(args, context)).await,
            Command::Scripted(args) => scripted::run(args, context).await,
            Command::Record(args) => record::run(args, context).await,
            Command::Replay(args) => replay::run(&args, context),
            Command::Rules(args) => Box::pin(rules::run(args, context)).await,
            Command::Policy(args) => Box::pin(policy::run(args, context)).await,
            Command::Budget(args) => budget::run(args, context).await,
            Command::Channel(args) => Box::pin(channel::run(args, context)).await,
            Command::Webhook(args) => Box::pin(webhook::run(args, context)).await,
            Command::Schedule(args) => Box::pin(schedule::run(args, context)).await,
            Command::Agents(args) => agents::run(&args, context),
            Command::Completions(args) => completions::run(&args, context),
        }
    });
    // The thread that reads the keyboard may block for ever; do not wait for it.
    runtime.shutdown_background();
    result
}

/// Left by Ctrl-C.
fn interrupted() -> ExitCode {
    ExitCode::from(130)
}
