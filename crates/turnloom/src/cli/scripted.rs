//! `turnloom scripted`: a model that plays a file, for real agents without a key; and the session that `up --demo-claude` has for it.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};
use tokio::signal::unix::{SignalKind, signal};
use turnloom_core::id::SessionId;
use turnloom_scripted::{DEMO, Options, Script, Server, StartError};

use super::Context;
use super::failure::Failure;
use super::render::Ink;
use crate::daemon::Daemon;
use crate::session::NewSession;

/// Start a model that plays a file, for agents without a key
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Listens on loopback only and takes any key, until Ctrl-C. docs/scripted-model.md explains the format of scripts.
`turnloom up --demo-claude` starts one together with a session of Claude Code that uses it.")]
pub(super) struct Args {
    /// What the model says
    #[arg(long, value_name = "FILE", required_unless_present = "demo")]
    script: Option<PathBuf>,
    /// Play the built-in demo
    #[arg(long, conflicts_with = "script")]
    demo: bool,
    /// The port to listen on [default: any that is free]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let script = read(args.script.as_deref())?;
    // Before anything is said: who reads it may answer with Ctrl-C at once.
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen to signals")?;
    let server = start(script, args.port).await.map_err(|error| explain(&error))?;
    let url = server.url();
    let look = context.terminal.out;
    let mut text = format!("{} {}\n\n", look.paint(Ink::Bold, "Scripted model"), look.paint(Ink::Cyan, &url));
    let _ = writeln!(text, "{}", look.paint(Ink::Dim, "Claude Code:"));
    let _ = writeln!(text, "  ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=dummy claude\n");
    let _ = writeln!(
        text,
        "{}",
        look.paint(Ink::Dim, "Codex, in its config.toml, with SCRIPTED_KEY=dummy in the environment:")
    );
    let _ = writeln!(text, "  model_provider = \"scripted\"");
    let _ = writeln!(text, "  [model_providers.scripted]");
    let _ = writeln!(text, "  name = \"Scripted\"");
    let _ = writeln!(text, "  base_url = \"{url}/v1\"");
    let _ = writeln!(text, "  wire_api = \"responses\"");
    let _ = writeln!(text, "  requires_openai_auth = false");
    let _ = writeln!(text, "  env_key = \"SCRIPTED_KEY\"\n");
    let _ = writeln!(text, "{}", look.paint(Ink::Dim, "What was asked:"));
    let _ = writeln!(text, "  {url}/_scripted/requests");
    let told = context.terminal.data(&text);
    if told.is_ok() {
        interrupt.recv().await;
    }
    server.stop().await;
    told?;
    Ok(ExitCode::SUCCESS)
}

fn read(file: Option<&Path>) -> Result<Script> {
    let Some(file) = file else { return Ok(Script::parse(DEMO)?) };
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Script::parse(&text).map_err(|error| {
        let what = format!("{} is not a script: {error}", file.display());
        Failure::new(what, "docs/scripted-model.md explains the format").into()
    })
}

async fn start(script: Script, port: u16) -> Result<Server, StartError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    Server::start_with(script, address, Options::fresh()).await
}

fn explain(error: &StartError) -> anyhow::Error {
    Failure::new(error.to_string(), "choose another --port, or leave it out for any that is free").into()
}

/// The session of `up --demo-claude`, while nobody has made another of this name.
const SESSION: &str = "claude-scripted";
const RUNTIME: &str = "claude";

/// Why there is no demo with Claude Code, and what to do.
#[derive(Debug)]
pub(super) struct NoDemo {
    pub(super) problem: String,
    pub(super) fix: String,
}

/// Starts the model of the demo, and makes a session of Claude Code that talks to it. The model lives as long as what comes back.
pub(super) async fn demo(daemon: &Daemon, data: &Path) -> Result<Result<(Server, SessionId), NoDemo>> {
    let sessions = &daemon.sessions;
    let Some(runtime) = sessions.runtimes().get(RUNTIME) else {
        let fix = "update turnloom".to_owned();
        return Ok(Err(NoDemo { problem: "this turnloom does not know Claude Code".to_owned(), fix }));
    };
    let info = runtime.info(sessions.launch_context()).await;
    // That there is no login is no obstacle: a scripted model takes any key.
    if info.version.is_none() {
        let problem = info.problem.unwrap_or_else(|| "Claude Code is not installed".to_owned());
        return Ok(Err(NoDemo { problem, fix: info.fix.unwrap_or_else(|| "run `turnloom doctor`".to_owned()) }));
    }
    // A session keeps the address it was made with, so the model comes back to it, if it can.
    let id = SessionId::trusted(SESSION);
    let made_before = sessions.log().session(&id).await?;
    let usable = made_before.as_ref().filter(|row| row.runtime == RUNTIME && !row.summary.archived);
    if let Some(port) = usable.and_then(|row| port_of(&row.params))
        && let Ok(server) = start(Script::parse(DEMO)?, port).await
    {
        return Ok(Ok((server, id)));
    }
    let server = start(Script::parse(DEMO)?, 0).await.map_err(|error| explain(&error))?;
    let params = params(&server.url(), &data.join("demo"))?;
    let id = if made_before.is_none() { Some(id) } else { None };
    let (row, _) = sessions.create(NewSession { id, runtime: RUNTIME.to_owned(), params }).await?;
    Ok(Ok((server, row.id)))
}

/// A place of its own: neither the person's project nor the person's Claude Code is touched.
fn params(url: &str, place: &Path) -> Result<Map<String, Value>> {
    let place = std::path::absolute(place).context("cannot tell where the data directory is")?;
    let (work, config) = (place.join("work"), place.join("claude"));
    for folder in [&work, &config] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let readme = work.join("README.md");
    if !readme.exists() {
        std::fs::write(&readme, README).with_context(|| format!("cannot write {}", readme.display()))?;
    }
    let params = json!({
        "title": "Claude Code, scripted",
        "cwd": work.to_string_lossy(),
        "env": {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "scripted-model-takes-any-key",
            "CLAUDE_CONFIG_DIR": config.to_string_lossy(),
            "CLAUDE_CODE_MAX_RETRIES": "1",
        },
    });
    Ok(params.as_object().cloned().unwrap_or_default())
}

const README: &str = "\
# A folder to play in

Claude Code works here when `turnloom up --demo-claude` was started.
The model that it talks to plays a script; the files and the commands are real.
";

fn port_of(params: &Value) -> Option<u16> {
    let url = params.pointer("/env/ANTHROPIC_BASE_URL").and_then(Value::as_str)?;
    url.rsplit(':').next()?.parse().ok()
}
