//! Claude Code on this machine: finding it, starting it, what it has stored. What it says is read in `turnloom_core::runtime::claude`.

mod stored;

use std::path::{Path, PathBuf};

use turnloom_core::runtime::claude::{CAPABILITIES, ClaudeProtocol, MODES, OLDEST, Options, PARAMS, SETTINGS, launch};
use turnloom_core::runtime::{Beginning, Capabilities, Opening, Setting, StartFailure};

use self::stored::Stored;
use super::program::{self, ConversationLock, Environment, ProgramConfig, Versions, Wanted};
use super::{
    AdoptError, AgentInfo, Asking, Conversation, History, Running, Runtime, Starting, Workshop, start_failure,
};
use crate::process::Launch;

const ID: &str = "claude";
const NAME: &str = "Claude Code";
const WANTED: Wanted = Wanted {
    name: NAME,
    oldest: OLDEST,
    install: "install it with `npm install -g @anthropic-ai/claude-code`, or set `program` below `[claude]` in config.toml",
    update: "update it with `claude update` or npm",
};

/// What of the daemon's environment is meant for this program.
const PASSED_ON: &[&str] = &[
    "ANTHROPIC_*",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_MAX_RETRIES",
    "AWS_*",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "CLOUD_ML_REGION",
    "IS_SANDBOX",
];

/// A key or a login, wherever it may come from.
const CREDENTIALS: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
];

#[derive(Debug)]
pub struct Claude {
    config: ProgramConfig,
    versions: Versions,
}

impl Claude {
    pub fn new(config: ProgramConfig) -> Self {
        Self { config, versions: Versions::default() }
    }

    fn environment(&self) -> Environment {
        Environment::of_daemon(PASSED_ON, &self.config)
    }

    fn find(&self, environment: &Environment) -> Option<PathBuf> {
        let home = environment.path("HOME").unwrap_or_default();
        let usual = [".local/bin/claude", ".claude/local/claude", ".npm-global/bin/claude", "node_modules/.bin/claude"];
        let mut usual: Vec<PathBuf> = usual.iter().map(|place| home.join(place)).collect();
        usual.push("/usr/local/bin/claude".into());
        program::find(ID, &self.config, environment, &usual)
    }

    /// The program and its version, if it is one that can be driven.
    async fn check(&self, environment: &Environment, workshop: &Workshop) -> Result<(PathBuf, String), StartFailure> {
        WANTED.check(self.find(environment), &self.config, &self.versions, environment, workshop).await
    }

    async fn launch(&self, opening: &Opening, workshop: &Workshop) -> Result<Running, StartFailure> {
        let mut environment = self.environment();
        environment.of_session(&opening.params);
        let (program, _) = self.check(&environment, workshop).await?;
        let stored = Stored::new(&environment);
        let options = Options { new_conversation: uuid::Uuid::new_v4().to_string(), lost: lost(opening, &stored)? };
        let command = launch(opening, &options);
        let lock = ConversationLock::take(ID, &command.conversation).map_err(|error| StartFailure {
            message: format!("cannot lock the conversation: {error}"),
            code: "agent_start_failed".to_owned(),
            fix: Some("check that the folder for temporary files can be written".to_owned()),
        })?;
        let Some(lock) = lock else {
            return Err(StartFailure {
                message: format!("conversation {} is open in another session", command.conversation),
                code: "conversation_in_use".to_owned(),
                fix: Some("stop the other session, or fork this one".to_owned()),
            });
        };
        environment.extend(command.env);
        let launch = Launch {
            program,
            args: command.args.into_iter().map(Into::into).collect(),
            cwd: opening.cwd.as_ref().map_or_else(program::default_directory, PathBuf::from),
            env: environment.into_vec(),
            session: opening.session_id.clone(),
            line_limit: workshop.max_line_bytes,
        };
        let agent = workshop.spawner.spawn(launch).await.map_err(|error| start_failure(NAME, &error))?;
        Ok(Running { agent, protocol: Box::new(ClaudeProtocol::new(options)), held: Some(Box::new(lock)) })
    }
}

/// Why the agent cannot go on with the conversation, if it cannot. Asked for by a client, that is an error; otherwise the session says so and goes on.
fn lost(opening: &Opening, stored: &Stored) -> Result<Option<String>, StartFailure> {
    let (id, wanted) = match &opening.beginning {
        Beginning::Fresh => return Ok(None),
        Beginning::Resume { provider_session_id, wanted } => (provider_session_id, *wanted),
        Beginning::Fork { provider_session_id, .. } => (provider_session_id, false),
    };
    if stored.find(id).is_some() {
        return Ok(None);
    }
    let message = format!("{NAME} does not have conversation {id} (any more)");
    if wanted {
        return Err(StartFailure {
            message,
            code: "conversation_not_found".to_owned(),
            fix: Some("check the id; `turnloom adopt claude` lists the conversations there are".to_owned()),
        });
    }
    Ok(Some(format!("{message}, so it starts without memory of what was said")))
}

impl Runtime for Claude {
    fn id(&self) -> &'static str {
        ID
    }

    fn info<'a>(&'a self, workshop: &'a Workshop) -> Asking<'a, AgentInfo> {
        Box::pin(async move {
            let environment = self.environment();
            let mut info = AgentInfo {
                id: ID.to_owned(),
                name: NAME.to_owned(),
                installed: true,
                version: None,
                capabilities: CAPABILITIES,
                modes: MODES,
                settings: SETTINGS,
                problem: None,
                fix: None,
            };
            match self.check(&environment, workshop).await {
                Ok((_, version)) => {
                    info.version = Some(version.split_whitespace().next().unwrap_or(&version).to_owned());
                    let logged_in = CREDENTIALS.iter().any(|name| environment.get(name).is_some())
                        || Stored::new(&environment).has_login();
                    if !logged_in {
                        info.problem = Some("there is neither a login nor a key".to_owned());
                        let fix = "log in with `claude` in a terminal, or set ANTHROPIC_API_KEY for the daemon";
                        info.fix = Some(fix.to_owned());
                    }
                }
                Err(failure) => {
                    info.installed = failure.code != "agent_not_found";
                    info.problem = Some(failure.message);
                    info.fix = failure.fix;
                }
            }
            info
        })
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn modes(&self) -> &'static [&'static str] {
        MODES
    }

    fn own_params(&self) -> &'static [&'static str] {
        PARAMS
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn idle_ms(&self) -> i64 {
        i64::from(self.config.idle_seconds) * 1000
    }

    fn start<'a>(&'a self, opening: &'a Opening, workshop: &'a Workshop) -> Starting<'a> {
        Box::pin(self.launch(opening, workshop))
    }

    fn conversations<'a>(
        &'a self,
        cwd: &'a Path,
        _: &'a Workshop,
    ) -> Asking<'a, Result<Vec<Conversation>, AdoptError>> {
        let stored = Stored::new(&self.environment());
        Box::pin(async move { stored.list(cwd).await })
    }

    fn history<'a>(&'a self, id: &'a str, _: &'a Workshop) -> Asking<'a, Result<History, AdoptError>> {
        let stored = Stored::new(&self.environment());
        Box::pin(async move { stored.history(id).await })
    }
}
