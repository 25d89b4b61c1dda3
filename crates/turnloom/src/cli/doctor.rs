//! `turnloom doctor`: checks what is installed, what is wrong, and how to fix it. It changes nothing, except that `--deep` removes wrong snapshots.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use turnloom_core::summary::Problem;

use super::connect::{Target, program};
use super::render::{Ink, Look, one_line, width};
use super::{Context, browser};
use crate::client::Client;
use crate::config::Config;
use crate::daemon::{self, Daemon, Options, Token};
use crate::log::{self, CrashSafety, Log, SessionQuery};
use crate::process::{Containment, ControlGroups};
use crate::runtime::program::project_of;
use crate::snapshots;

/// Check what is installed, what is wrong, and how to mend it
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Also fold every log again, and remove what is kept beside it and differs
    #[arg(long)]
    deep: bool,
}

/// One thing that was looked at.
#[derive(Debug)]
struct Finding {
    state: State,
    what: String,
    found: String,
    fix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// Not there, and that is all right.
    Absent,
    Broken,
}

impl Finding {
    fn new(state: State, what: &str, found: impl Into<String>) -> Self {
        Self { state, what: what.to_owned(), found: found.into(), fix: None }
    }

    fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Our errors say what is wrong and what to do in one sentence.
    fn broken(what: &str, error: &dyn std::error::Error) -> Self {
        let text = error.to_string();
        match text.rsplit_once("; ") {
            Some((found, fix)) => Self::new(State::Broken, what, found).fix(fix),
            None => Self::new(State::Broken, what, text),
        }
    }
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let target = context.target.clone();
    let running = target.find().await;
    let mut findings = vec![data(&target.data)];
    let config = Config::read(None, &target.data);
    findings.push(settings(&target.data, &config));
    let in_use = running.as_ref().is_ok_and(Option::is_some);
    findings.push(log_of(&target.data, in_use).await);
    if args.deep {
        findings.extend(stored_snapshots(&target.data, in_use).await);
    }
    findings.push(daemon(&target, &running).await);
    let config = config.unwrap_or_default();
    if target.url.is_none() {
        findings.push(port(&config, running.as_ref().ok().and_then(Option::as_ref)));
    }
    let running = running.ok().flatten();
    let failed_sessions = match &running {
        Some(client) => failed_sessions(client).await,
        None => Vec::new(),
    };
    findings.extend(std::env::current_dir().ok().map(|cwd| project(&cwd)));
    findings.extend(runtimes(running, config).await);
    findings.extend(failed_sessions);
    findings.push(match browser::opener() {
        Ok(opener) => Finding::new(State::Good, "browser", opener.display().to_string()),
        Err(why) => Finding::new(State::Absent, "browser", why).fix("open the link that `turnloom up` prints by hand"),
    });
    let look = context.terminal.out;
    context.terminal.data(&report(&findings, look))?;
    let broken = findings.iter().filter(|finding| finding.state == State::Broken).count();
    if broken > 0 {
        context.terminal.talk(&format!("{} to mend.\n", super::render::count(broken, "thing")));
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn report(findings: &[Finding], look: Look) -> String {
    let widest = findings.iter().map(|finding| width(&finding.what)).max().unwrap_or(0);
    let mut report = String::new();
    for Finding { state, what, found, fix } in findings {
        let (ink, mark) = match state {
            State::Good => (Ink::Green, "✓"),
            State::Absent => (Ink::Dim, "–"),
            State::Broken => (Ink::Red, "✗"),
        };
        let _ = writeln!(report, "{} {what:<widest$}  {}", look.paint(ink, mark), one_line(found));
        if let Some(fix) = fix {
            let name = look.paint(Ink::Cyan, "fix:");
            let _ = writeln!(report, "  {:<widest$}  {name} {}", "", one_line(fix));
        }
    }
    report
}

fn data(path: &Path) -> Finding {
    let name = "data directory";
    let shown = path.display().to_string();
    match std::fs::metadata(path) {
        Ok(found) if !found.is_dir() => {
            Finding::new(State::Broken, name, format!("{shown} is not a directory")).fix("use another --data")
        }
        Ok(_) => {
            // Permissions are not all that can be in the way, so it is tried.
            let probe = path.join(format!(".probe-{}", uuid::Uuid::new_v4()));
            match std::fs::write(&probe, b"") {
                Ok(()) => {
                    drop(std::fs::remove_file(&probe));
                    Finding::new(State::Good, name, shown)
                }
                Err(error) => Finding::new(State::Broken, name, format!("{shown} cannot be written: {error}"))
                    .fix("make it writable for you, or use another --data"),
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Finding::new(State::Absent, name, format!("{shown} is not there yet")).fix("`turnloom up` makes it")
        }
        Err(error) => Finding::new(State::Broken, name, format!("{shown}: {error}"))
            .fix("make it readable for you, or use another --data"),
    }
}

/// Which folder agents take for the project when they work here. They read its instructions and keep rules in it.
fn project(cwd: &Path) -> Finding {
    let name = "project";
    let Some(found) = project_of(cwd) else {
        let found = format!("{} itself: no folder above it has a .git", cwd.display());
        return Finding::new(State::Good, name, found);
    };
    let git = found.join(".git");
    let is_empty = std::fs::read_dir(&git).is_ok_and(|mut inside| inside.next().is_none());
    if is_empty {
        let said = format!(
            "agents that work in {} take {} for the project, because of an empty .git",
            cwd.display(),
            found.display()
        );
        return Finding::new(State::Broken, name, said).fix(format!("rmdir {}", git.display()));
    }
    Finding::new(State::Good, name, found.display().to_string())
}

fn settings(data: &Path, config: &Result<Config, crate::config::Error>) -> Finding {
    if let Err(error) = config {
        return Finding::broken("settings", error).fix("correct the file, or remove it to use the defaults");
    }
    let path = data.join("config.toml");
    let found = if path.exists() { path.display().to_string() } else { "the defaults".to_owned() };
    Finding::new(State::Good, "settings", found)
}

/// Opens the log as a daemon would, and closes it again.
async fn log_of(data: &Path, in_use: bool) -> Finding {
    if in_use {
        return Finding::new(State::Good, "log", "in use by the daemon");
    }
    if !Log::exists(data) {
        return Finding::new(State::Absent, "log", "empty");
    }
    let opened = async {
        let store = Log::open(data, CrashSafety::Power)?;
        let page = store.sessions(SessionQuery { limit: 1, ..SessionQuery::default() }).await;
        store.close().await?;
        page.map(drop)
    };
    match opened.await {
        Ok(()) => Finding::new(State::Good, "log", "opens"),
        Err(error @ log::Error::Locked { .. }) => {
            Finding::broken("log", &error).fix("stop that process; it holds the log and does not answer")
        }
        Err(error) => Finding::broken("log", &error),
    }
}

/// Makes what is kept beside the logs again. What was wrong is gone afterwards.
async fn stored_snapshots(data: &Path, in_use: bool) -> Vec<Finding> {
    let name = "snapshots";
    if in_use {
        let found = "not checked, because the daemon uses the log";
        return vec![Finding::new(State::Absent, name, found).fix("stop the daemon, then `turnloom doctor --deep`")];
    }
    if !Log::exists(data) {
        return vec![Finding::new(State::Absent, name, "none")];
    }
    let checked = async {
        let store = Log::open(data, CrashSafety::Power)?;
        let report = snapshots::check(&store).await;
        store.close().await?;
        report
    };
    let snapshots::Report { right, outdated, wrong, unreadable } = match checked.await {
        Ok(report) => report,
        Err(error) => return vec![Finding::broken(name, &error)],
    };
    let older = if outdated > 0 { format!(", {outdated} of another version") } else { String::new() };
    let summed_up = Finding::new(State::Good, name, format!("{right} made again and the same{older}"));
    let wrong = wrong.into_iter().map(|snapshots::Wrong { session, kind, seq }| {
        let found = format!("the {kind} of {session} after event {seq} was not what its log says, and is removed");
        Finding::new(State::Broken, name, found).fix("nothing to do: it is made from the log when it is needed")
    });
    let unreadable = unreadable.into_iter().map(|why| Finding::new(State::Broken, "log", why));
    std::iter::once(summed_up).chain(wrong).chain(unreadable).collect()
}

async fn daemon(target: &Target, running: &Result<Option<Client>>) -> Finding {
    let name = "daemon";
    match running {
        Ok(Some(client)) => {
            let version = client.health().await.unwrap_or_default();
            let token = client.get::<serde::de::IgnoredAny>("/api/agents").await;
            match token {
                Ok(_) => Finding::new(State::Good, name, format!("{} (version {version})", client.url())),
                Err(error) => Finding::new(State::Broken, name, format!("{}: {error}", client.url()))
                    .fix("give its token with --token or TURNLOOM_TOKEN"),
            }
        }
        Ok(None) => match daemon::find(&target.data).filter(|(found, _)| super::connect::is_alive(found.pid)) {
            Some((found, _)) => {
                let what = format!("process {} said it is at {}, and does not answer", found.pid, found.url);
                Finding::new(State::Broken, name, what)
                    .fix(format!("end it with `kill {}`, then `turnloom up`", found.pid))
            }
            None => Finding::new(State::Absent, name, "not running").fix("start it with `turnloom up`"),
        },
        Err(error) => Finding::new(State::Broken, name, format!("{error:#}")).fix("check --url"),
    }
}

fn port(config: &Config, running: Option<&Client>) -> Finding {
    // Where a daemon listens counts, and not where one would.
    if let Some(client) = running {
        return Finding::new(State::Good, &format!("port {}", port_of(client.url())), "used by the daemon");
    }
    let address = format!("{}:{}", config.host, config.port);
    let name = format!("port {}", config.port);
    match TcpListener::bind(&address) {
        Ok(_) => Finding::new(State::Good, &name, "free"),
        Err(error) => Finding::new(State::Broken, &name, error.to_string()).fix(format!(
            "stop the program that listens there, or choose another port: `turnloom up --port {}`",
            config.port.saturating_add(1)
        )),
    }
}

/// The port in an address, or the usual one of its scheme.
fn port_of(url: &str) -> &str {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let host = rest.split('/').next().unwrap_or_default();
    // The colons inside brackets are an address's own.
    let given = host.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.is_empty() && !port.contains(']'));
    given.unwrap_or(if scheme == "https" { "443" } else { "80" })
}

#[derive(Deserialize)]
struct Agents {
    agents: Vec<Agent>,
    containment: Containment,
}

#[derive(Deserialize)]
struct Agent {
    id: String,
    name: String,
    installed: bool,
    version: Option<String>,
    problem: Option<String>,
    fix: Option<String>,
}

/// Asks the daemon that runs, because its surroundings count; or one that lives only for the question, in a directory of its own.
async fn runtimes(running: Option<Client>, config: Config) -> Vec<Finding> {
    let is_off = config.control_groups == ControlGroups::Never;
    let agents = match running {
        Some(client) => client.get::<Agents>("/api/agents").await.map_err(anyhow::Error::from),
        None => ask_new_daemon(config).await,
    };
    match agents {
        Ok(Agents { agents, containment: found }) => {
            std::iter::once(containment(found, is_off)).chain(agents.into_iter().map(agent)).collect()
        }
        Err(error) => vec![Finding::new(State::Broken, "agents", format!("{error:#}"))],
    }
}

/// Both keep what agents start from staying behind. Only one of them cannot be evaded.
fn containment(found: Containment, is_off: bool) -> Finding {
    let name = "containment";
    let fix = if is_off {
        "to use control groups, remove `control_groups` from config.toml"
    } else {
        "to use control groups, run the daemon in one that it may divide: `systemd-run --user --scope turnloom up`, or `Delegate=yes` in its unit"
    };
    match found {
        Containment::ControlGroup { folder } => Finding::new(
            State::Good,
            name,
            format!("control groups in {}; nothing an agent starts gets away", folder.display()),
        ),
        Containment::ProcessGroup { why } => {
            Finding::new(State::Absent, name, format!("process groups and environment, because {why}")).fix(fix)
        }
    }
}

#[derive(Deserialize)]
struct Listed {
    sessions: Vec<Session>,
}

#[derive(Deserialize)]
struct Session {
    session_id: String,
    problem: Option<Problem>,
}

/// How many sessions in trouble are told of.
const MAX_FAILED_SESSIONS: usize = 5;

/// Sessions whose last turn met with something, newest first. Nothing is wrong with the daemon then, but somebody may look here for what happened.
async fn failed_sessions(client: &Client) -> Vec<Finding> {
    let Ok(Listed { sessions }) = client.get("/api/sessions?limit=200").await else { return Vec::new() };
    let finding = |Session { session_id, problem }| {
        let Problem { code, message, fix } = problem?;
        let finding = Finding::new(State::Absent, "session", format!("{session_id}: {message} ({code})"));
        Some(match fix {
            Some(fix) => finding.fix(fix),
            None => finding,
        })
    };
    sessions.into_iter().filter_map(finding).take(MAX_FAILED_SESSIONS).collect()
}

async fn ask_new_daemon(config: Config) -> Result<Agents> {
    let place = Scratch::new()?;
    // Where the agents are is a setting too; the address is nobody's business but ours.
    let config = Config { host: "127.0.0.1".to_owned(), port: 0, hosts: Vec::new(), ..config };
    let options = Options { config, data: place.0.clone(), token: Token::Kept, program: program() };
    let daemon = Daemon::start_to_read(options).await?;
    let client = Client::new(&daemon.url(), daemon.token.clone())?;
    let agents = client.get("/api/agents").await;
    drop(client);
    daemon.stop().await?;
    Ok(agents?)
}

/// A directory that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("turnloom-doctor-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn agent(agent: Agent) -> Finding {
    let Agent { id, name, installed, version, problem, fix } = agent;
    let version = version.map(|version| format!(" {version}")).unwrap_or_default();
    // Some problems name the agent themselves.
    let told = |problem: String| {
        if problem.starts_with(&name) { problem } else { format!("{name}{version}: {problem}") }
    };
    let finding = match (installed, problem) {
        (true, None) => Finding::new(State::Good, &id, format!("{name}{version}")),
        (true, Some(problem)) => Finding::new(State::Broken, &id, told(problem)),
        // Nobody needs every agent.
        (false, problem) => {
            Finding::new(State::Absent, &id, told(problem.unwrap_or_else(|| "not installed".to_owned())))
        }
    };
    match fix {
        Some(fix) => finding.fix(fix),
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::{State, port_of, project};

    #[test]
    fn an_address_without_a_port_has_the_usual_one() {
        for (url, port) in [
            ("http://127.0.0.1:7171", "7171"),
            ("https://loom.example", "443"),
            ("https://loom.example/", "443"),
            ("https://loom.example:8443/loom", "8443"),
            ("http://loom.example", "80"),
            ("http://[::1]", "80"),
            ("http://[::1]:7171/", "7171"),
        ] {
            assert_eq!(port_of(url), port, "{url}");
        }
    }

    #[test]
    fn the_project_is_said_and_an_empty_git_folder_is_found() {
        let place = tempfile::tempdir().unwrap();
        let (outer, inner) = (place.path().join("outer"), place.path().join("outer/inner"));
        std::fs::create_dir_all(outer.join(".git")).unwrap();
        std::fs::create_dir(&inner).unwrap();
        let finding = project(&inner);
        assert_eq!(finding.state, State::Broken);
        assert_eq!(finding.fix, Some(format!("rmdir {}", outer.join(".git").display())));
        std::fs::write(outer.join(".git/HEAD"), "").unwrap();
        let finding = project(&inner);
        assert_eq!((finding.state, finding.found), (State::Good, outer.display().to_string()));
    }
}
