//! Agents that connect to the daemon. Each name has a hub: the processes that are connected, the sessions they have, and a pipe to each session. What
//! they say is read in `core::runtime::external`; the sockets themselves are in `http`.

mod hub;
mod seat;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use turnloom_core::id::SessionId;
use turnloom_core::runtime::external::{Cursor, ExternalProtocol, Framing, limited};
use turnloom_core::runtime::{Capabilities, Opening};

use self::hub::{Claims, Hub};
pub use self::hub::{Close, Connection, Hello, Listed, MAX_MESSAGE_BYTES, Outgoing};
use self::seat::Waiting;
use super::{AgentInfo, AgentKind, LaunchContext, Running, Runtime, RuntimeFuture, StartFuture, listed_params};
use crate::config::{AgentConfig, AgentConfigKind, Config, is_free_agent_name};
use crate::process::Agent;
use crate::scoped_tokens::ScopedTokens;
use crate::sync::Locked;

/// Names that may ever connect in the life of a daemon. Each stays known, so that its sessions do.
const MAX_NAMES: usize = 1_000;

/// Every agent that connects, or may. Cloning shares them.
#[derive(Debug, Clone)]
pub struct ExternalAgents(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    configured: BTreeMap<String, AgentConfig>,
    tokens: ScopedTokens,
    /// They live as long as the daemon: sessions refer to them, and there are never many.
    known: Locked<BTreeMap<String, &'static External>>,
}

impl ExternalAgents {
    pub fn new(config: &Config, tokens: ScopedTokens) -> Self {
        let configured = config.agents.iter().filter(|(_, agent)| agent.kind == AgentConfigKind::External);
        let configured = configured.map(|(name, agent)| (name.clone(), agent.clone())).collect();
        Self(Arc::new(Inner { configured, tokens, known: Locked::default() }))
    }

    /// The agent of this name, if it may exist: it is in the settings, somebody has a token for it, or it is connected.
    pub fn get(&self, name: &str) -> Option<&'static External> {
        let known = self.0.known.lock().get(name).copied();
        let is_wanted = || self.0.configured.contains_key(name) || self.0.tokens.has_agent(name);
        match known {
            Some(agent) => (agent.hub.connected() > 0 || is_wanted()).then_some(agent),
            None => is_wanted().then(|| self.connecting(name)).flatten(),
        }
    }

    pub fn all(&self) -> Vec<&'static External> {
        let mut names: Vec<String> = self.0.configured.keys().cloned().chain(self.0.tokens.agents()).collect();
        names.extend(
            self.0.known.lock().iter().filter(|(_, agent)| agent.hub.connected() > 0).map(|(name, _)| name.clone()),
        );
        names.sort();
        names.dedup();
        names.iter().filter_map(|name| self.get(name)).collect()
    }

    /// The agent of this name, for somebody who may be it.
    pub fn connecting(&self, name: &str) -> Option<&'static External> {
        if !is_free_agent_name(name) {
            return None;
        }
        let mut known = self.0.known.lock();
        if let Some(agent) = known.get(name) {
            return Some(*agent);
        }
        if known.len() >= MAX_NAMES {
            return None;
        }
        let config = self.0.configured.get(name).cloned().unwrap_or_default();
        let agent: &'static External = Box::leak(Box::new(External::new(name, config)));
        known.insert(name.to_owned(), agent);
        Some(agent)
    }
}

/// One agent that connects.
#[derive(Debug)]
pub struct External {
    name: &'static str,
    config: AgentConfig,
    hub: Hub,
}

impl External {
    fn new(name: &str, config: AgentConfig) -> Self {
        Self { name: String::leak(name.to_owned()), config, hub: Hub::default() }
    }

    /// Takes a process in, after its first words. What comes back is its end of the hub; the first thing on it is the welcome.
    pub fn connect(
        &'static self,
        hello: &Hello,
        turns: &BTreeMap<SessionId, Option<String>>,
    ) -> (Connection, Outgoing) {
        self.hub.connect(hello, turns)
    }

    fn claims(&self) -> Claims {
        self.hub.claims()
    }

    fn running(
        &self,
        session: &SessionId,
        protocol: ExternalProtocol,
        waiting: Waiting,
        context: &LaunchContext,
    ) -> Running {
        let seat = self.hub.seat(session.clone(), waiting);
        let agent = Agent::in_process(&context.tracker, context.max_line_bytes, |pipes| seat.serve(pipes));
        Running { agent, protocol: Box::new(protocol), held: None }
    }

    fn not_connected(&self) -> (String, String) {
        let name = self.name;
        let fix = format!("start {name}; it needs a token of `turnloom token new {name} --scope agent:{name}`");
        (format!("{name} is not connected"), fix)
    }
}

impl Runtime for External {
    fn id(&self) -> &'static str {
        self.name
    }

    fn info<'a>(&'a self, _context: &'a LaunchContext) -> RuntimeFuture<'a, AgentInfo> {
        let (connected, claims) = (self.hub.connected(), self.claims());
        let (problem, fix) = if connected == 0 { Some(self.not_connected()).unzip() } else { (None, None) };
        let info = AgentInfo {
            id: self.name.to_owned(),
            name: self.config.title.clone().or(claims.title).unwrap_or_else(|| self.name.to_owned()),
            installed: connected > 0,
            version: claims.version,
            kind: AgentKind::External,
            connected: Some(connected),
            capabilities: self.capabilities(),
            modes: claims.modes,
            settings: &[],
            params: listed_params(self),
            commands: None,
            problem,
            fix,
        };
        Box::pin(std::future::ready(info))
    }

    /// What the process that came last has said. Before anybody came, what the settings promise.
    fn capabilities(&self) -> Capabilities {
        let claims = self.claims();
        match (&self.config.capabilities, claims.capabilities) {
            (Some(allowed), Some(claimed)) => limited(claimed, allowed),
            (None, Some(claimed)) => claimed,
            (Some(allowed), None) => {
                let named = allowed.iter().map(|name| (name.clone(), true.into()));
                turnloom_core::runtime::external::capabilities(&named.collect())
            }
            (None, None) => Capabilities::default(),
        }
    }

    fn takes_any_params(&self) -> bool {
        true
    }

    fn idle_ms(&self) -> i64 {
        i64::from(self.config.idle_seconds) * 1000
    }

    fn grace_ms(&self) -> Option<i64> {
        Some(i64::from(self.config.grace_seconds) * 1000)
    }

    fn wait_ms(&self) -> i64 {
        i64::from(self.config.wait_seconds) * 1000
    }

    fn start<'a>(&'a self, opening: &'a Opening, context: &'a LaunchContext) -> StartFuture<'a> {
        let id = &opening.session_id;
        let (message, fix) = self.not_connected();
        let wait = Duration::from_secs(self.config.wait_seconds.into());
        let message = format!("{message}; the session waited for {} s", wait.as_secs());
        let waiting = Waiting::ForSomebody { epoch: opening.epoch, wait, message, fix };
        let protocol = ExternalProtocol::new(self.name, Framing::Numbered, id.clone());
        Box::pin(std::future::ready(Ok(self.running(id, protocol, waiting, context))))
    }

    fn attach(&self, session: &SessionId, cursor: &Cursor, context: &LaunchContext) -> Option<Running> {
        let protocol = ExternalProtocol::resumed(self.name, session.clone(), cursor);
        Some(self.running(session, protocol, Waiting::ForItsOwner(cursor.clone()), context))
    }
}
