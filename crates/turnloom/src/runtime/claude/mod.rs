//! Claude Code on this machine: finding it, starting it, what it has stored. What it says is read in `turnloom_core::runtime::claude`.

mod private;
mod stored;

use std::path::{Path, PathBuf};

use turnloom_core::runtime::claude::{
    CAPABILITIES, ClaudeProtocol, MODES, OLDEST, Options, PARAMS, SETTINGS, gives_instructions, launch, may_have_mode,
};
use turnloom_core::runtime::{Beginning, Capabilities, Hearing, Opening, Setting, StartFailure};

use self::private::PrivateFiles;
use self::stored::Stored;
use super::instructions;
use super::program::{self, ConversationLock, Environment, ProgramConfig, RequiredProgram, Versions};
use super::{
    AdoptError, AgentInfo, AgentKind, Conversation, History, LaunchContext, Running, Runtime, RuntimeFuture,
    StartFuture, listed_params, start_failure,
};
use crate::process::Launch;

const ID: &str = "claude";
const NAME: &str = "Claude Code";
const REQUIRED_PROGRAM: RequiredProgram = RequiredProgram {
    name: NAME,
    oldest: OLDEST,
    install: "install it with `npm install -g @anthropic-ai/claude-code`, or set `program` below `[claude]` in config.toml",
    update: "update it with `claude update` or npm",
};

/// What of the daemon's environment is meant for this program.
const INHERITED_ENV: &[&str] = &[
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
        Environment::of_daemon(INHERITED_ENV, &self.config)
    }

    fn find(&self, environment: &Environment) -> Option<PathBuf> {
        let home = environment.path("HOME").unwrap_or_default();
        let usual = [".local/bin/claude", ".claude/local/claude", ".npm-global/bin/claude", "node_modules/.bin/claude"];
        let mut usual: Vec<PathBuf> = usual.iter().map(|place| home.join(place)).collect();
        usual.push("/usr/local/bin/claude".into());
        program::find(ID, &self.config, environment, &usual)
    }

    /// The program and its version, if it is one that can be driven.
    async fn check(
        &self,
        environment: &Environment,
        context: &LaunchContext,
    ) -> Result<(PathBuf, String), StartFailure> {
        REQUIRED_PROGRAM.check(self.find(environment), &self.config, &self.versions, environment, context).await
    }

    async fn launch(&self, opening: &Opening, context: &LaunchContext) -> Result<Running, StartFailure> {
        let mut environment = self.environment();
        environment.of_session(&opening.params);
        // It would switch the program's hooks off, and with them the rules.
        environment.remove("CLAUDE_CODE_SIMPLE");
        let (program, _) = self.check(&environment, context).await?;
        let stored = Stored::new(&environment);
        let (conversation_missing, conversations) = (conversation_missing(opening, &stored)?, stored.conversations());
        let end_missing = if conversation_missing.is_none() { end_missing(opening, stored).await } else { None };
        let options = Options {
            new_conversation: uuid::Uuid::new_v4().to_string(),
            conversation_missing,
            end_missing,
            instructions: opening.cwd.as_deref().filter(|_| gives_instructions(opening)).and_then(parent_instructions),
            conversations: conversations.to_string_lossy().into_owned(),
        };
        let mut command = launch(opening, &options);
        let given = PrivateFiles::of(&command.files).map_err(|error| StartFailure {
            message: format!("cannot hand over the settings: {error}"),
            code: "agent_start_failed".to_owned(),
            fix: Some("send the message again".to_owned()),
        })?;
        command.args.extend(given.args());
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
            line_limit: context.max_line_bytes,
        };
        let agent = context.spawner.spawn(launch).await.map_err(|error| start_failure(NAME, &error))?;
        Ok(Running { agent, protocol: Box::new(ClaudeProtocol::new(options)), held: Some(Box::new((lock, given))) })
    }
}

/// Why the agent cannot go on with the conversation, if it cannot. Asked for by a client, that is an error; otherwise the session says so and goes on.
fn conversation_missing(opening: &Opening, stored: &Stored) -> Result<Option<String>, StartFailure> {
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

/// Whether the end of the conversation is missing where the program keeps it: a program that was killed as it ended a turn may not have written it.
async fn end_missing(opening: &Opening, stored: Stored) -> Option<String> {
    let (Beginning::Resume { provider_session_id, .. }, Some(anchor)) = (&opening.beginning, &opening.anchor) else {
        return None;
    };
    let has_it = stored.has_entry(provider_session_id, anchor).await;
    let words = "has not stored the end of the conversation, so it does not remember all of the last turn";
    (!has_it).then(|| format!("{NAME} {words}"))
}

/// What the folders of the project above the working directory say. The program reads the working directory's own.
fn parent_instructions(cwd: &str) -> Option<String> {
    let cwd = Path::new(cwd);
    let project = program::project_of(cwd).filter(|project| *project != cwd)?;
    let said = instructions::of_project(project, cwd.parent()?, &["CLAUDE.md", ".claude/CLAUDE.md"]);
    let said =
        said.into_iter().map(|(folder, text)| format!("# CLAUDE.md instructions for {}\n\n{text}", folder.display()));
    Some(said.collect::<Vec<_>>().join("\n\n")).filter(|all| !all.is_empty())
}

impl Runtime for Claude {
    fn id(&self) -> &'static str {
        ID
    }

    fn info<'a>(&'a self, context: &'a LaunchContext) -> RuntimeFuture<'a, AgentInfo> {
        Box::pin(async move {
            let environment = self.environment();
            let mut info = AgentInfo {
                id: ID.to_owned(),
                name: NAME.to_owned(),
                installed: true,
                version: None,
                capabilities: CAPABILITIES,
                modes: Vec::new(),
                settings: SETTINGS,
                params: listed_params(self),
                commands: None,
                kind: AgentKind::Builtin,
                connected: None,
                problem: None,
                fix: None,
            };
            match self.check(&environment, context).await {
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

    fn hearing(&self) -> Hearing {
        Hearing::Messages
    }

    fn modes(&self) -> &'static [&'static str] {
        MODES
    }

    fn params(&self) -> &'static [Setting] {
        PARAMS
    }

    fn may_have_mode(&self, mode: &str, params: &serde_json::Value) -> Result<(), String> {
        may_have_mode(mode, params)
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn idle_ms(&self) -> i64 {
        i64::from(self.config.idle_seconds) * 1000
    }

    fn start<'a>(&'a self, opening: &'a Opening, context: &'a LaunchContext) -> StartFuture<'a> {
        Box::pin(self.launch(opening, context))
    }

    fn conversations<'a>(
        &'a self,
        cwd: &'a Path,
        _: &'a LaunchContext,
    ) -> RuntimeFuture<'a, Result<Vec<Conversation>, AdoptError>> {
        let stored = Stored::new(&self.environment());
        Box::pin(async move { stored.list(cwd).await })
    }

    fn history<'a>(&'a self, id: &'a str, _: &'a LaunchContext) -> RuntimeFuture<'a, Result<History, AdoptError>> {
        let stored = Stored::new(&self.environment());
        Box::pin(async move { stored.history(id).await })
    }
}
