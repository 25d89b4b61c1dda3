//! `turnloom up`: runs the daemon until it is stopped.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use turnloom_core::command::{ClientCommand, Command};
use turnloom_core::id::SessionId;
use turnloom_scripted::Server;

use super::connect::program;
use super::failure::Failure;
use super::render::Ink;
use super::{Context, browser, scripted};
use crate::config::Config;
use crate::daemon::{self, Daemon, Options, Token};
use crate::log::CrashSafety;
use crate::log::SessionQuery;
use crate::session::NewSession;

/// Start the daemon and open the workbench
#[derive(Debug, clap::Args)]
#[command(after_help = "With --token T the daemon takes T instead of the token kept in the data directory.")]
pub(super) struct Args {
    /// The port to listen on; 0 for any that is free [default: 7171]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// The address to listen on [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    host: Option<String>,
    /// Settings [default: config.toml in the data directory, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
    /// Do not create a first session to try things in
    #[arg(long)]
    no_sample: bool,
    /// Have a session of Claude Code whose model plays a script: the real agent, no key, no network
    #[arg(long)]
    demo_claude: bool,
    /// Let everybody on this machine in; only on loopback
    #[arg(long, conflicts_with = "token")]
    no_token: bool,
    /// What an event survives once it is seen: a power cut, or only the end of the daemon [default: power]
    #[arg(long, value_name = "LEVEL")]
    durability: Option<Level>,
    /// How the daemon's own log is written, to stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// How much of it: error, warn, info, debug, trace, or a filter such as turnloom=debug
    #[arg(long, value_name = "LEVEL", env = "TURNLOOM_LOG", hide_env_values = true, default_value = "warn")]
    log: String,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Level {
    Power,
    Process,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// The session that is there before anybody made one.
const FIRST_SESSION: &str = "try-me";

pub(super) async fn run(args: Args, data_given: bool, context: &mut Context) -> Result<ExitCode> {
    start_log(&args, context)?;
    let mut signals = Signals::new()?;
    let options = options(&args, context)?;
    let daemon = Daemon::start(options).await.map_err(explain)?;
    daemon.schedules.begin().await;
    // The model of the demo ends with the daemon.
    let demo = if args.demo_claude { make_demo(&daemon, context).await? } else { None };
    let first = if args.no_sample || demo.is_some() { None } else { make_first_session(&daemon).await? };
    print_welcome(&daemon, data_given, demo.as_ref().map(|(_, session)| session), context)?;
    if let Some(first) = first {
        // Its agent writes a greeting by itself; nobody has to wait for it.
        daemon
            .sessions
            .execute(
                &first,
                ClientCommand { by: "turnloom".to_owned(), command: Command::Resume { provider_session_id: None } },
            )
            .await?;
    }
    if !args.no_open
        && let Ok(opener) = browser::opener()
    {
        // A link of its own: the one on the screen is still good when this one is used.
        browser::open(&opener, &daemon.login_url());
    }
    let failed = tokio::select! {
        () = signals.next() => None,
        error = daemon.failed() => Some(error),
    };
    let stopping = async {
        let stopped = daemon.stop().await;
        if let Some((model, _)) = demo {
            model.stop().await;
        }
        stopped
    };
    if let Some(error) = failed {
        // What can still be ended in order is; that the log cannot is known.
        drop(stopping.await);
        return Err(Failure::new(format!("{error}, so the daemon stopped"), "run `turnloom doctor`").into());
    }
    context.terminal.talk("Stopping. Once more to leave at once.\n");
    tokio::select! {
        stopped = stopping => stopped?,
        () = signals.next() => return Ok(super::interrupted()),
    }
    Ok(ExitCode::SUCCESS)
}

fn options(args: &Args, context: &Context) -> Result<Options> {
    let mut config = Config::read(args.config.as_deref(), &context.target.data)?;
    if let Some(port) = args.port {
        config.port = port;
    }
    if let Some(host) = &args.host {
        config.host.clone_from(host);
    }
    if let Some(level) = args.durability {
        config.durability = match level {
            Level::Power => CrashSafety::Power,
            Level::Process => CrashSafety::Process,
        };
    }
    let token = match &context.target.token {
        _ if args.no_token => Token::None,
        Some(token) => Token::Given(token.clone()),
        None => Token::Kept,
    };
    Ok(Options { config, data: context.target.data.clone(), token, program: program() })
}

fn explain(error: daemon::Error) -> anyhow::Error {
    if let daemon::Error::Listen { address, cause } = &error
        && cause.kind() == std::io::ErrorKind::AddrInUse
    {
        let what = format!("{address} is in use by another program");
        return Failure::new(what, "stop that program, or choose another port: `turnloom up --port 7172`").into();
    }
    error.into()
}

fn start_log(args: &Args, context: &Context) -> Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_new(&args.log)
        .with_context(|| format!("{:?} is not a level or a filter for --log", args.log))?;
    let colored = context.terminal.err.color == super::render::Color::On;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colored);
    // There is one log in a process; a second one could only be a test's.
    drop(match args.log_format {
        LogFormat::Text => log.compact().try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    });
    Ok(())
}

/// A new place is not empty: somebody is there to talk to.
async fn make_first_session(daemon: &Daemon) -> Result<Option<SessionId>> {
    for archived in [false, true] {
        let query = SessionQuery { archived, limit: 1, ..SessionQuery::default() };
        if !daemon.sessions.log().sessions(query).await?.sessions.is_empty() {
            return Ok(None);
        }
    }
    let params = json!({ "title": "Try me", "greet": true }).as_object().cloned().unwrap_or_default();
    let id = SessionId::trusted(FIRST_SESSION);
    daemon.sessions.create(NewSession { id: Some(id.clone()), runtime: "mock".to_owned(), params }).await?;
    Ok(Some(id))
}

/// The session of the demo and its model; without Claude Code, what to do to have them.
async fn make_demo(daemon: &Daemon, context: &mut Context) -> Result<Option<(Server, SessionId)>> {
    match scripted::demo(daemon, &context.target.data).await? {
        Ok(demo) => Ok(Some(demo)),
        Err(scripted::NoDemo { problem, fix }) => {
            context.terminal.failed(&format!("there is no demo with Claude Code: {problem}"), Some(&fix));
            Ok(None)
        }
    }
}

fn print_welcome(daemon: &Daemon, data_given: bool, demo: Option<&SessionId>, context: &mut Context) -> Result<()> {
    let look = context.terminal.out;
    let data = context.target.data.display().to_string();
    let program = if data_given { format!("turnloom --data {data}") } else { "turnloom".to_owned() };
    let name = |name: &str| look.paint(Ink::Dim, &format!("{name:<6}"));
    let mut text = format!("{} {}\n\n", look.paint(Ink::Bold, "Turnloom"), env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "  {} {}", name("Open"), look.paint(Ink::Cyan, &daemon.login_url()));
    let _ = writeln!(text, "  {} {data}", name("Data"));
    let _ = writeln!(text, "  {} Ctrl-C", name("Stop"));
    if daemon.token.is_none() {
        let _ = writeln!(text, "  {} everybody on this machine may call it", name("Token"));
    }
    if daemon.recovered > 0 {
        let sessions = super::render::count(daemon.recovered, "session");
        let _ = writeln!(text, "\nAn earlier daemon did not end in order; {sessions} settled.");
    }
    text.push_str("\nTry in another terminal:\n\n");
    if context.target.token.is_some() {
        // It is in no file, and a command line can be read by others.
        text.push_str("  export TURNLOOM_TOKEN=...   # the token you gave\n");
    }
    let (talk, whom) = match demo {
        Some(session) => (format!("chat --session {session}"), "talk to Claude Code, whose model plays a script"),
        None => (format!("chat --session {FIRST_SESSION}"), "talk to it"),
    };
    let widest = talk.len().max(22);
    for (command, what) in [
        ("run \"demo\"", "one turn with the mock agent, with everything there is to see"),
        (talk.as_str(), whom),
        ("events last --follow", "watch the log grow"),
    ] {
        let _ = writeln!(text, "  {program} {command:<widest$} {}", look.paint(Ink::Dim, what));
    }
    text.push('\n');
    Ok(context.terminal.data(&text)?)
}

/// The signals that end the daemon.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
