//! What is common to runtimes whose agent is a program on this machine: where it is, which version, in which environment it runs, and that no two
//! processes share one conversation. What it says and what it is told is not here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use turnloom_core::id::SessionId;
use turnloom_core::runtime::StartFailure;

use super::LaunchContext;
use crate::private;
use crate::process::{Launch, Line};
use crate::sync::Locked;

/// How long a program may take to say its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// Settings of a runtime whose agent is a program.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProgramConfig {
    /// The program, where it is not found by itself.
    pub program: Option<PathBuf>,
    /// Environment for every agent of this runtime.
    pub env: BTreeMap<String, String>,
    /// Names of variables of the daemon that agents get too, besides the usual ones.
    pub pass_env: Vec<String>,
    /// Seconds an agent without work is kept.
    pub idle_seconds: u32,
}

impl Default for ProgramConfig {
    fn default() -> Self {
        Self { program: None, env: BTreeMap::new(), pass_env: Vec::new(), idle_seconds: 300 }
    }
}

/// What every program may know of the daemon's surroundings; nothing else of them is passed on.
const INHERITED_ENV: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// The whole environment of an agent: later layers win.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, OsString>);

/// Without the values: keys are among them.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Environment {
    /// What the daemon passes on: the usual, and what this runtime and its settings name. A name that ends in `*` stands for all that begin so.
    pub fn of_daemon(own: &[&str], config: &ProgramConfig) -> Self {
        let wanted: Vec<&str> =
            INHERITED_ENV.iter().chain(own).copied().chain(config.pass_env.iter().map(String::as_str)).collect();
        let is_wanted = |name: &str| {
            wanted.iter().any(|wanted| match wanted.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => *wanted == name,
            })
        };
        let passed = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let mut environment = Self(passed.filter(|(name, _)| is_wanted(name)).collect());
        environment.set("TERM", "dumb");
        environment.extend(config.env.iter().map(|(name, value)| (name.clone(), value.clone())));
        environment
    }

    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.0.insert(name.to_owned(), value.into());
    }

    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    pub fn extend(&mut self, variables: impl IntoIterator<Item = (String, String)>) {
        self.0.extend(variables.into_iter().map(|(name, value)| (name, value.into())));
    }

    /// What the client of a session gave as `env`.
    pub fn of_session(&mut self, params: &Value) {
        let given = params.get("env").and_then(Value::as_object).into_iter().flatten();
        self.extend(given.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))));
    }

    pub fn get(&self, name: &str) -> Option<&OsString> {
        self.0.get(name).filter(|value| !value.is_empty())
    }

    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    pub fn into_vec(self) -> Vec<(OsString, OsString)> {
        self.0.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }
}

/// Looks for a program: where the settings say, in `PATH`, in the usual places. A program that the settings name is not looked for elsewhere.
pub fn find(name: &str, config: &ProgramConfig, environment: &Environment, usual: &[PathBuf]) -> Option<PathBuf> {
    if let Some(program) = &config.program {
        return Some(program.clone()).filter(|program| program.is_file());
    }
    let in_path = environment.get("PATH").map(std::env::split_paths).into_iter().flatten();
    in_path.map(|folder| folder.join(name)).chain(usual.iter().cloned()).find(|program| is_executable(program))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The versions of programs, asked once for each file that is there.
#[derive(Debug, Default)]
pub struct Versions(Locked<BTreeMap<PathBuf, (Option<SystemTime>, String)>>);

impl Versions {
    /// What the program answers to `--version`, or what it said instead.
    pub async fn of(
        &self,
        program: &Path,
        environment: Environment,
        context: &LaunchContext,
    ) -> Result<String, String> {
        let changed = program.metadata().and_then(|metadata| metadata.modified()).ok();
        let known = self.lock().get(program).filter(|(at, _)| *at == changed).map(|(_, version)| version.clone());
        if let Some(version) = known {
            return Ok(version);
        }
        let version = ask_version(program, environment, context).await?;
        self.lock().insert(program.to_owned(), (changed, version.clone()));
        Ok(version)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<PathBuf, (Option<SystemTime>, String)>> {
        self.0.lock()
    }
}

async fn ask_version(program: &Path, environment: Environment, context: &LaunchContext) -> Result<String, String> {
    let launch = Launch {
        program: program.to_owned(),
        args: vec!["--version".into()],
        cwd: std::env::temp_dir(),
        env: environment.into_vec(),
        session: SessionId::trusted(format!("version-{}", uuid::Uuid::new_v4())),
        line_limit: 4096,
    };
    let mut agent = context.spawner.spawn(launch).await.map_err(|error| error.to_string())?;
    let mut said = Vec::new();
    let reading = async {
        let mut lines = Vec::new();
        while agent.output.next_batch(&mut lines).await > 0 {
            said.append(&mut lines);
        }
        agent.handle.wait().await
    };
    let exit = tokio::time::timeout(VERSION_TIMEOUT, reading)
        .await
        .map_err(|_| format!("it did not say its version within {} s", VERSION_TIMEOUT.as_secs()))?;
    let text = said.iter().find_map(|line| match line {
        Line::Text(bytes) => Some(String::from_utf8_lossy(bytes).trim().to_owned()).filter(|text| !text.is_empty()),
        Line::TooLong { .. } => None,
    });
    text.filter(|_| exit.code == Some(0)).ok_or_else(|| super::describe(&exit))
}

/// What must be known of a program to say what is wrong with it.
#[derive(Debug, Clone, Copy)]
pub struct RequiredProgram {
    pub name: &'static str,
    pub oldest: (u32, u32, u32),
    /// How to get it.
    pub install: &'static str,
    /// How to get a newer one.
    pub update: &'static str,
}

impl RequiredProgram {
    /// The program and its version, if it is one that can be driven.
    pub async fn check(
        &self,
        found: Option<PathBuf>,
        config: &ProgramConfig,
        versions: &Versions,
        environment: &Environment,
        context: &LaunchContext,
    ) -> Result<(PathBuf, String), StartFailure> {
        let RequiredProgram { name, oldest, install, update } = *self;
        let failure = |message: String, code: &str, fix: &str| StartFailure {
            message,
            code: code.to_owned(),
            fix: Some(fix.to_owned()),
        };
        let Some(program) = found else {
            let message = match &config.program {
                Some(program) => format!("{name} is not at {}", program.display()),
                None => format!("{name} is not installed"),
            };
            return Err(failure(message, "agent_not_found", install));
        };
        let version = versions.of(&program, environment.clone(), context).await.map_err(|error| {
            failure(format!("{} does not run: {error}", program.display()), "agent_not_executable", install)
        })?;
        match version_numbers(&version) {
            Some(numbers) if numbers >= oldest => Ok((program, version)),
            _ => {
                let (major, minor, patch) = oldest;
                let message = format!("{version} is too old; {name} {major}.{minor}.{patch} or newer is needed");
                Err(failure(message, "agent_too_old", update))
            }
        }
    }
}

/// The numbers in a version such as `2.1.325 (Claude Code)` or `codex-cli 0.166.0`.
pub fn version_numbers(text: &str) -> Option<(u32, u32, u32)> {
    text.split_whitespace().find_map(|word| {
        let mut numbers = word
            .trim_start_matches('v')
            .split('.')
            .map(|part| part.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok());
        Some((numbers.next()??, numbers.next()??, numbers.next().flatten().unwrap_or(0)))
    })
}

/// That a conversation is ours while this is held: agents do not lock them, and two processes on one would fork its history unseen.
#[derive(Debug)]
pub struct ConversationLock(#[expect(dead_code, reason = "held, not read: the lock ends with the file")] File);

impl ConversationLock {
    /// Nothing, when another process of this user has the conversation open.
    pub fn take(runtime: &str, conversation: &str) -> std::io::Result<Option<Self>> {
        // One place for all daemons of this user, whatever data they have.
        let user = rustix::process::getuid().as_raw();
        Self::take_in(&std::env::temp_dir().join(format!("turnloom-{user}")), runtime, conversation)
    }

    fn take_in(folder: &Path, runtime: &str, conversation: &str) -> std::io::Result<Option<Self>> {
        let folder = private::folder(folder)?;
        let safe: String =
            conversation.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(folder, format!("{runtime}-{safe}.lock"), flags, Mode::RUSR | Mode::WUSR)?);
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The folder that agents take for the project: the nearest one, from the working directory up, that has something called `.git`.
pub fn project_of(cwd: &Path) -> Option<&Path> {
    cwd.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())
}

/// Where an agent works when its session does not say.
pub fn default_directory() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| std::env::temp_dir())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::ConversationLock;

    #[test]
    fn a_lock_is_in_a_folder_of_ours_and_destroys_nothing() {
        let place = tempfile::tempdir().unwrap();
        let (folder, precious) = (place.path().join("locks"), place.path().join("precious"));
        fs::write(&precious, "kept").unwrap();
        let held = ConversationLock::take_in(&folder, "claude", "a/b").unwrap();
        assert!(held.is_some() && ConversationLock::take_in(&folder, "claude", "a/b").unwrap().is_none());
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        // A link that somebody put there is not followed, and neither is one in the place of the folder.
        symlink(&precious, folder.join("claude-linked.lock")).unwrap();
        assert!(ConversationLock::take_in(&folder, "claude", "linked").is_err());
        symlink(&folder, place.path().join("elsewhere")).unwrap();
        assert!(ConversationLock::take_in(&place.path().join("elsewhere"), "claude", "c").is_err());
        assert_eq!(fs::read_to_string(&precious).unwrap(), "kept");
    }
}
