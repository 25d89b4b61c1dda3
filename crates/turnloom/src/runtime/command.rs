//! Agents that others write and that the daemon starts: one process per session, which speaks the language of `core::runtime::external` on its pipes.

use std::path::PathBuf;

use turnloom_core::runtime::external::{ExternalProtocol, Framing, capabilities};
use turnloom_core::runtime::{Capabilities, Opening, StartFailure};

use super::program::{self, Environment, ProgramConfig};
use super::{
    AgentInfo, AgentKind, LaunchContext, Running, Runtime, RuntimeFuture, StartFuture, listed_params, start_failure,
};
use crate::config::{AgentConfig, AgentConfigKind, Config};
use crate::process::Launch;

#[derive(Debug)]
pub struct CommandAgent {
    /// There are as many as the settings name, for as long as the daemon lives.
    name: &'static str,
    config: AgentConfig,
}

impl CommandAgent {
    /// All that the settings name.
    pub fn all(config: &Config) -> impl Iterator<Item = Self> {
        let commands = config.agents.iter().filter(|(_, agent)| agent.kind == AgentConfigKind::Command);
        commands.map(|(name, agent)| Self { name: String::leak(name.clone()), config: agent.clone() })
    }

    fn environment(&self) -> Environment {
        let AgentConfig { env, pass_env, .. } = self.config.clone();
        Environment::of_daemon(&[], &ProgramConfig { env, pass_env, ..ProgramConfig::default() })
    }

    fn program(&self, environment: &Environment) -> Option<PathBuf> {
        let name = self.config.command.first()?;
        let config = ProgramConfig { program: name.contains('/').then(|| name.into()), ..ProgramConfig::default() };
        program::find(name, &config, environment, &[])
    }

    fn not_found(&self) -> StartFailure {
        let program = self.config.command.first().map(String::as_str).unwrap_or_default();
        StartFailure {
            message: format!("{program} was not found"),
            code: "agent_not_found".to_owned(),
            fix: Some(format!("install it, or name it by its full path in `[agents.{}]` of config.toml", self.name)),
        }
    }

    async fn launch(&self, opening: &Opening, context: &LaunchContext) -> Result<Running, StartFailure> {
        let mut environment = self.environment();
        environment.of_session(&opening.params);
        let (variables, loan) = context.emit_env(self.name, &opening.session_id);
        environment.extend(variables);
        let launch = Launch {
            program: self.program(&environment).ok_or_else(|| self.not_found())?,
            args: self.config.command.iter().skip(1).map(Into::into).collect(),
            cwd: opening.cwd.as_ref().map_or_else(program::default_directory, PathBuf::from),
            env: environment.into_vec(),
            session: opening.session_id.clone(),
            line_limit: context.max_line_bytes,
        };
        let agent = context.spawner.spawn(launch).await.map_err(|error| start_failure(self.name, &error))?;
        let protocol = ExternalProtocol::new(self.name, Framing::Plain, opening.session_id.clone());
        Ok(Running { agent, protocol: Box::new(protocol), held: Some(Box::new(loan)) })
    }
}

impl Runtime for CommandAgent {
    fn id(&self) -> &'static str {
        self.name
    }

    fn info<'a>(&'a self, _context: &'a LaunchContext) -> RuntimeFuture<'a, AgentInfo> {
        let missing = self.program(&self.environment()).is_none().then(|| self.not_found());
        let info = AgentInfo {
            id: self.name.to_owned(),
            name: self.config.title.clone().unwrap_or_else(|| self.name.to_owned()),
            installed: missing.is_none(),
            version: None,
            kind: AgentKind::Command,
            connected: None,
            capabilities: self.capabilities(),
            modes: Vec::new(),
            settings: &[],
            params: listed_params(self),
            commands: None,
            problem: missing.as_ref().map(|missing| missing.message.clone()),
            fix: missing.and_then(|missing| missing.fix),
        };
        Box::pin(std::future::ready(info))
    }

    fn capabilities(&self) -> Capabilities {
        let named = self.config.capabilities.iter().flatten().map(|name| (name.clone(), true.into()));
        capabilities(&named.collect())
    }

    fn takes_any_params(&self) -> bool {
        true
    }

    fn idle_ms(&self) -> i64 {
        i64::from(self.config.idle_seconds) * 1000
    }

    fn start<'a>(&'a self, opening: &'a Opening, context: &'a LaunchContext) -> StartFuture<'a> {
        Box::pin(self.launch(opening, context))
    }
}
