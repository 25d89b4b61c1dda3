//! Codex on this machine: finding it, starting it, what it has stored. What it says is read in `turnloom_core::runtime::codex`.

mod exec;
mod gate;
pub mod hook;
mod hub;
mod placeholders;
mod profile;
mod rollout;
mod stored;
mod trust;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use turnloom_core::id::SessionId;
use turnloom_core::runtime::codex::{CAPABILITIES, CodexProtocol, MODES, OLDEST, PARAMS, SETTINGS, config_fits};
use turnloom_core::runtime::{Capabilities, Hearing, Opening, Setting, StartFailure};

pub use self::exec::CodexExec;
use self::hub::Hub;
use self::placeholders::Placeholders;
use super::program::{self, Environment, ProgramConfig, RequiredProgram, Versions};
use super::{
    AdoptError, AgentInfo, AgentKind, Conversation, History, LaunchContext, MirrorUpdate, Running, Runtime,
    RuntimeFuture, StartFuture, listed_params, start_failure,
};
use crate::process::Launch;
use crate::sync::Locked;

const ID: &str = "codex";
const NAME: &str = "Codex";
const REQUIRED_PROGRAM: RequiredProgram = RequiredProgram {
    name: NAME,
    oldest: OLDEST,
    install: "install it with `npm install -g @openai/codex`, or set `program` below `[codex]` in config.toml",
    update: "update it with `npm install -g @openai/codex`",
};

/// What of the daemon's environment is meant for this program.
const INHERITED_ENV: &[&str] = &["OPENAI_*", "CODEX_*", "AZURE_OPENAI_*", "OLLAMA_*", "OPENROUTER_API_KEY"];

/// What Codex does at its start besides working: ask for updates, report, fetch plugins. And the plan, which it leaves out unless told.
const STARTUP_SETTINGS: &[&str] = &[
    "check_for_update_on_startup=false",
    "analytics.enabled=false",
    "features.plugins=false",
    "features.apps=false",
    "tools.update_plan.enabled=true",
];

/// Driven through its app-server. Sessions in the same surroundings share one server, unless they want one of their own.
#[derive(Debug)]
pub struct Codex {
    installed: Installed,
    hubs: Locked<Vec<(Environment, Hub)>>,
    /// Servers are started one after the other, so that sessions that begin together share one.
    starting: tokio::sync::Mutex<()>,
}

impl Codex {
    pub fn new(config: ProgramConfig) -> Self {
        Self { installed: Installed::new(config), hubs: Locked::default(), starting: tokio::sync::Mutex::default() }
    }

    async fn launch(&self, opening: &Opening, context: &LaunchContext) -> Result<Running, StartFailure> {
        let profile = self.installed.profile(&opening.params)?;
        let own = opening.params.get("own_process").and_then(Value::as_bool) == Some(true);
        let hub = if own {
            let environment = self.installed.environment(&opening.params)?;
            self.start_server(environment, opening.session_id.clone(), context).await?
        } else {
            self.shared(&opening.params, context).await?
        };
        let agent = hub.join(context).await.ok_or_else(|| StartFailure {
            message: format!("{NAME} ended before anybody could speak with it"),
            code: "agent_start_failed".to_owned(),
            fix: Some("run `turnloom doctor`, then send the message again".to_owned()),
        })?;
        let protocol = CodexProtocol::with_profile(profile).with_gate(hub.hook());
        Ok(Running { agent, protocol: Box::new(protocol), held: None })
    }

    /// The server for such sessions, started if there is none, or none any more.
    async fn shared(&self, params: &Value, context: &LaunchContext) -> Result<Hub, StartFailure> {
        let environment = self.installed.environment(params)?;
        let _one_at_a_time = self.starting.lock().await;
        let known =
            self.lock().iter().find(|(known, hub)| *known == environment && hub.is_alive()).map(|(_, hub)| hub.clone());
        if let Some(hub) = known {
            return Ok(hub);
        }
        let server = SessionId::trusted(format!("codex-{}", uuid::Uuid::new_v4()));
        let hub = self.start_server(environment.clone(), server, context).await?;
        let mut hubs = self.lock();
        hubs.retain(|(_, hub)| hub.is_alive());
        hubs.push((environment, hub.clone()));
        Ok(hub)
    }

    async fn start_server(
        &self,
        environment: Environment,
        session: SessionId,
        context: &LaunchContext,
    ) -> Result<Hub, StartFailure> {
        let (program, _) = self.installed.check(&environment, context).await?;
        let common = Placeholders::missing_in_common(&environment, &context.spawner).await;
        let mut args = vec!["app-server".into()];
        args.extend(STARTUP_SETTINGS.iter().flat_map(|setting| ["-c".into(), (*setting).into()]));
        let launch = Launch {
            program,
            args,
            cwd: program::default_directory(),
            env: environment.into_vec(),
            session,
            line_limit: context.max_line_bytes,
        };
        let agent = context.spawner.spawn(launch).await.map_err(|error| start_failure(NAME, &error))?;
        let hub = Hub::start(agent, self.installed.config.idle_seconds, common, context);
        hub.map_err(|error| StartFailure {
            message: format!("the socket on which {NAME} asks before its calls could not be made: {error}"),
            code: "agent_start_failed".to_owned(),
            fix: Some(
                "see that the folder for temporary files can be written to, and that its name is short".to_owned(),
            ),
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Environment, Hub)>> {
        self.hubs.lock()
    }
}

impl Runtime for Codex {
    fn id(&self) -> &'static str {
        ID
    }

    fn info<'a>(&'a self, context: &'a LaunchContext) -> RuntimeFuture<'a, AgentInfo> {
        Box::pin(self.installed.info(self, NAME, context))
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn hearing(&self) -> Hearing {
        Hearing::Messages
    }

    fn modes(&self) -> &'static [&'static str] {
        MODES
    }

    fn params(&self) -> &'static [Setting] {
        PARAMS
    }

    fn params_fit(&self, params: &Map<String, Value>) -> bool {
        params.get("config").is_none_or(config_fits)
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn idle_ms(&self) -> i64 {
        i64::from(self.installed.config.idle_seconds) * 1000
    }

    fn start<'a>(&'a self, opening: &'a Opening, context: &'a LaunchContext) -> StartFuture<'a> {
        Box::pin(self.launch(opening, context))
    }

    fn conversations<'a>(
        &'a self,
        cwd: &'a Path,
        context: &'a LaunchContext,
    ) -> RuntimeFuture<'a, Result<Vec<Conversation>, AdoptError>> {
        Box::pin(async move {
            let hub =
                self.shared(&Value::Null, context).await.map_err(|failure| AdoptError::Unreadable(failure.message))?;
            stored::list(&hub, cwd, context).await
        })
    }

    fn mirrors(&self) -> bool {
        true
    }

    fn push<'a>(
        &'a self,
        id: &'a str,
        params: &'a Value,
        update: &'a MirrorUpdate,
        context: &'a LaunchContext,
    ) -> RuntimeFuture<'a, Result<(), AdoptError>> {
        Box::pin(async move {
            let hub = self.shared(params, context).await;
            let hub = hub.map_err(|failure| AdoptError::Unreadable(failure.message))?;
            stored::push(&hub, id, update, context).await
        })
    }

    fn history<'a>(
        &'a self,
        id: &'a str,
        context: &'a LaunchContext,
    ) -> RuntimeFuture<'a, Result<History, AdoptError>> {
        Box::pin(async move {
            let hub =
                self.shared(&Value::Null, context).await.map_err(|failure| AdoptError::Unreadable(failure.message))?;
            stored::history(&hub, id, context).await
        })
    }
}

/// The program, wherever it is.
#[derive(Debug)]
struct Installed {
    config: ProgramConfig,
    versions: Versions,
}

impl Installed {
    fn new(config: ProgramConfig) -> Self {
        Self { config, versions: Versions::default() }
    }

    /// The surroundings that a session wants.
    fn environment(&self, params: &Value) -> Result<Environment, StartFailure> {
        let mut environment = Environment::of_daemon(INHERITED_ENV, &self.config);
        if let Some(home) = params.get("codex_home").and_then(Value::as_str).map(Path::new) {
            // Codex does not start where its home is not there.
            std::fs::create_dir_all(home).map_err(|error| StartFailure {
                message: format!("the home of Codex {} cannot be made: {error}", home.display()),
                code: "agent_start_failed".to_owned(),
                fix: Some("choose another `codex_home`".to_owned()),
            })?;
            environment.set("CODEX_HOME", home);
        }
        environment.of_session(params);
        Ok(environment)
    }

    /// The settings that a session's profile stands for.
    fn profile(&self, params: &Value) -> Result<Map<String, Value>, StartFailure> {
        profile::of_session(home_of(&self.environment(params)?).as_deref(), params)
    }

    /// The program itself. What npm puts into `PATH` is a launcher, which costs memory and does not pass signals on.
    fn find(&self, environment: &Environment) -> Option<PathBuf> {
        let home = environment.path("HOME").unwrap_or_default();
        let usual = [".local/bin/codex", ".npm-global/bin/codex", "node_modules/.bin/codex"];
        let mut usual: Vec<PathBuf> = usual.iter().map(|place| home.join(place)).collect();
        usual.push("/usr/local/bin/codex".into());
        let found = program::find(ID, &self.config, environment, &usual)?;
        Some(native_program(&found).unwrap_or(found))
    }

    /// The program and its version, if it is one that can be driven.
    async fn check(
        &self,
        environment: &Environment,
        context: &LaunchContext,
    ) -> Result<(PathBuf, String), StartFailure> {
        REQUIRED_PROGRAM.check(self.find(environment), &self.config, &self.versions, environment, context).await
    }

    async fn info(&self, runtime: &dyn Runtime, name: &str, context: &LaunchContext) -> AgentInfo {
        let mut info = AgentInfo {
            id: runtime.id().to_owned(),
            name: name.to_owned(),
            installed: true,
            version: None,
            capabilities: runtime.capabilities(),
            modes: Vec::new(),
            settings: runtime.settings(),
            params: listed_params(runtime),
            commands: None,
            kind: AgentKind::Builtin,
            connected: None,
            problem: None,
            fix: None,
        };
        let environment = Environment::of_daemon(INHERITED_ENV, &self.config);
        match self.check(&environment, context).await {
            Ok((_, version)) => {
                info.version = Some(version.split_whitespace().last().unwrap_or(&version).to_owned());
                if let Some(problem) = settings_problem(&environment) {
                    info.problem = Some(problem);
                    info.fix = Some("mend the file; no conversation can be opened before".to_owned());
                } else if !has_login(&environment) {
                    info.problem = Some("there is neither a login nor a key".to_owned());
                    info.fix = Some("log in with `codex login`, or set OPENAI_API_KEY for the daemon".to_owned());
                }
            }
            Err(failure) => {
                info.installed = failure.code != "agent_not_found";
                (info.problem, info.fix) = (Some(failure.message), failure.fix);
            }
        }
        info
    }
}

fn home_of(environment: &Environment) -> Option<PathBuf> {
    environment.path("CODEX_HOME").or_else(|| Some(environment.path("HOME")?.join(".codex")))
}

/// Why Codex could not read its own settings, if there are any.
fn settings_problem(environment: &Environment) -> Option<String> {
    let file = home_of(environment)?.join("config.toml");
    let text = std::fs::read_to_string(&file).ok()?;
    let error = profile::read(&text).err()?;
    Some(format!("{} {error}", file.display()))
}

/// A key in the environment, a login, or settings that may name a provider of their own.
fn has_login(environment: &Environment) -> bool {
    let stored = home_of(environment)
        .is_some_and(|home| ["auth.json", "config.toml"].iter().any(|file| home.join(file).is_file()));
    stored
        || ["OPENAI_API_KEY", "CODEX_API_KEY", "AZURE_OPENAI_API_KEY"].iter().any(|key| environment.get(key).is_some())
}

/// The native program behind `bin/codex.js`, in the package for this machine.
fn native_program(found: &Path) -> Option<PathBuf> {
    let launcher = found.canonicalize().ok().filter(|path| path.extension().is_some_and(|end| end == "js"))?;
    let package = launcher.parent()?.parent()?;
    let (short, triple) = match std::env::consts::ARCH {
        "aarch64" => ("arm64", "aarch64-unknown-linux-musl"),
        _ => ("x64", "x86_64-unknown-linux-musl"),
    };
    let native = format!("codex-linux-{short}");
    let inside = PathBuf::from("vendor").join(triple);
    let packages = [
        package.parent().map(|scope| scope.join(&native)),
        Some(package.join("node_modules/@openai").join(&native)),
        Some(package.to_owned()),
    ];
    let places = packages.into_iter().flatten().map(|package| package.join(&inside));
    places.flat_map(|place| [place.join("bin/codex"), place.join("codex/codex")]).find(|program| program.is_file())
}
