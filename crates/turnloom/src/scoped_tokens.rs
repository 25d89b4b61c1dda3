//! Tokens for others than the owner of the daemon: each has a name, which stands in the log, and scopes, which say what it opens. They are kept as digests
//! in a file; those that a process of ours is given are kept in memory and end with it. What each route asks for stands in the table of routes.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use turnloom_core::event::{AGENT, DAEMON};
use turnloom_core::id::SessionId;
use turnloom_core::runtime::external::is_agent_name;
use turnloom_core::time::Timestamp;

use crate::private;
use crate::session::now;
use crate::sync::Locked;
use crate::token::random_token;

/// What every scoped token begins with, so that people and scanners recognise one.
const PREFIX: &str = "tl_";

/// Tokens that are kept, and scopes of one. Each is read at every start and looked through by people.
const MAX_TOKENS: usize = 1_000;
const MAX_SCOPES: usize = 32;
const MAX_NAME: usize = 64;

/// How far a scope reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    All,
    One(SessionId),
}

impl Reach {
    /// Nobody names a session where all are meant.
    fn covers(&self, session: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::One(id) => session == Some(id.as_str()),
        }
    }
}

/// What a token opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Everything but tokens.
    Full,
    /// Connect as this agent, and read the blobs of its sessions.
    Agent(String),
    /// Add facts.
    Emit(Reach),
    Read(Reach),
    /// Send messages, answer, change the shared state; and read.
    Use(Reach),
}

/// Why a token was not made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "{0:?} is not a scope; there are agent:NAME, emit:SESSION, read:SESSION, use:SESSION (or * for all of them) and full"
    )]
    Scope(String),
    #[error(
        "the name of a token has 1 to {MAX_NAME} letters, digits, spaces and signs, and is neither {AGENT} nor {DAEMON}"
    )]
    Name,
    #[error("a token has 1 to {MAX_SCOPES} scopes")]
    Scopes,
    #[error("a token must end in the future")]
    Expired,
    #[error("there are {MAX_TOKENS} tokens; revoke some first")]
    TooMany,
    #[error("the tokens could not be written down: {0}")]
    Write(Arc<std::io::Error>),
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Scope(text.to_owned());
        if text == "full" {
            return Ok(Self::Full);
        }
        let (kind, of) = text.split_once(':').ok_or_else(wrong)?;
        let reach = || match of {
            "*" => Ok(Reach::All),
            id => SessionId::parse(id).map(Reach::One).map_err(|_| wrong()),
        };
        match kind {
            "agent" if is_agent_name(of) => Ok(Self::Agent(of.to_owned())),
            "emit" => Ok(Self::Emit(reach()?)),
            "read" => Ok(Self::Read(reach()?)),
            "use" => Ok(Self::Use(reach()?)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reach = |reach: &Reach| match reach {
            Reach::All => "*".to_owned(),
            Reach::One(id) => id.to_string(),
        };
        match self {
            Self::Full => f.write_str("full"),
            Self::Agent(name) => write!(f, "agent:{name}"),
            Self::Emit(to) => write!(f, "emit:{}", reach(to)),
            Self::Read(of) => write!(f, "read:{}", reach(of)),
            Self::Use(of) => write!(f, "use:{}", reach(of)),
        }
    }
}

/// What a route, or an op of a socket, asks of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need<'a> {
    /// Everybody may.
    Nothing,
    /// Only the daemon's own token will do.
    Owner,
    /// The daemon's own token, or a browser in which somebody has signed in: no token that was given to a program.
    Person,
    Full,
    /// Of one session; of all, if it names none.
    Read(Option<&'a str>),
    Use(Option<&'a str>),
    Emit(Option<&'a str>),
    /// Something of some session: what exactly is asked again behind it.
    ReadSomething,
    /// To be an agent: which one is asked again behind it.
    BeSomeAgent,
    /// A blob: whose it is, is asked again behind it.
    SomeBlob,
}

/// Somebody with a scoped token; set for the handler of a request.
#[derive(Debug, Clone)]
pub struct Holder(Arc<Entry>);

impl Holder {
    /// What the log calls it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub fn may(&self, need: Need<'_>) -> bool {
        self.0.scopes.iter().any(|scope| opens(scope, need))
    }

    pub fn may_be(&self, agent: &str) -> bool {
        self.0.scopes.iter().any(|scope| match scope {
            Scope::Full => true,
            Scope::Agent(name) => name == agent,
            Scope::Emit(_) | Scope::Read(_) | Scope::Use(_) => false,
        })
    }

    /// Resolves when the token is revoked or has run out. Whatever was opened with it must end then.
    pub async fn ended(self) {
        let left = self.0.expires_at.map(|at| at.millis().saturating_sub(now().millis()));
        let Some(left) = left else { return self.0.ended.cancelled().await };
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        tokio::select! {
            () = self.0.ended.cancelled() => {}
            () = tokio::time::sleep(left) => {}
        }
    }
}

fn opens(scope: &Scope, need: Need<'_>) -> bool {
    match (scope, need) {
        (_, Need::Nothing) => true,
        (_, Need::Owner | Need::Person) => false,
        (Scope::Full, _) => true,
        (Scope::Read(of) | Scope::Use(of), Need::Read(session)) => of.covers(session),
        (Scope::Use(of), Need::Use(session)) => of.covers(session),
        (Scope::Emit(to), Need::Emit(session)) => to.covers(session),
        (Scope::Read(_) | Scope::Use(_), Need::ReadSomething) => true,
        (Scope::Agent(_), Need::BeSomeAgent) => true,
        (Scope::Agent(_) | Scope::Read(_) | Scope::Use(_), Need::SomeBlob) => true,
        (Scope::Agent(_) | Scope::Emit(_) | Scope::Read(_) | Scope::Use(_), _) => false,
    }
}

#[derive(Debug)]
struct Entry {
    id: String,
    name: String,
    scopes: Vec<Scope>,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    /// Not written down: it ends with the process it was made for.
    lent: bool,
    ended: CancellationToken,
}

impl Entry {
    fn is_over(&self) -> bool {
        self.expires_at.is_some_and(|at| at <= now())
    }
}

/// As it stands in the file.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    digest: String,
    #[serde(flatten)]
    token: Listed,
}

/// A token as people see it, without the secret.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ScopedToken")]
pub struct Listed {
    pub token_id: String,
    pub name: String,
    pub scopes: Vec<String>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}

impl From<&Entry> for Listed {
    fn from(entry: &Entry) -> Self {
        Self {
            token_id: entry.id.clone(),
            name: entry.name.clone(),
            scopes: entry.scopes.iter().map(Scope::to_string).collect(),
            created_at: entry.created_at,
            expires_at: entry.expires_at,
        }
    }
}

/// A request for a token.
#[derive(Debug)]
pub struct NewToken {
    pub name: String,
    pub scopes: Vec<String>,
    pub expires_at: Option<Timestamp>,
}

/// All of them. Cloning shares them.
#[derive(Debug, Clone)]
pub struct ScopedTokens(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: PathBuf,
    /// By digest of the secret.
    known: Locked<HashMap<String, Arc<Entry>>>,
}

impl ScopedTokens {
    /// Those that were made before. A file that cannot be read opens nothing; it is put aside, so that nothing is written over it.
    pub fn open(file: PathBuf) -> Self {
        let stored = match std::fs::read(&file) {
            Ok(bytes) => serde_json::from_slice::<Vec<Stored>>(&bytes).unwrap_or_else(|error| {
                let aside = file.with_extension("broken");
                let moved = std::fs::rename(&file, &aside);
                tracing::error!(file = %file.display(), aside = %aside.display(), ?moved, %error, "the tokens cannot be read; make new ones");
                Vec::new()
            }),
            Err(_) => Vec::new(),
        };
        let known = stored.into_iter().filter_map(|Stored { digest, token }| {
            let Listed { token_id: id, name, scopes, created_at, expires_at } = token;
            let scopes = scopes.iter().map(|scope| scope.parse()).collect::<Result<_, _>>().ok()?;
            let ended = CancellationToken::new();
            Some((digest, Arc::new(Entry { id, name, scopes, created_at, expires_at, lent: false, ended })))
        });
        Self(Arc::new(Inner { file, known: Locked::new(known.collect()) }))
    }

    /// A new token: what is known of it, and the secret, which nobody can be told again.
    pub fn make(&self, new: NewToken) -> Result<(Listed, String), Error> {
        let NewToken { name, scopes, expires_at } = new;
        let name = name.trim().to_owned();
        if name.is_empty()
            || name.len() > MAX_NAME
            || name.chars().any(char::is_control)
            || [AGENT, DAEMON].contains(&name.as_str())
        {
            return Err(Error::Name);
        }
        if scopes.is_empty() || scopes.len() > MAX_SCOPES {
            return Err(Error::Scopes);
        }
        let scopes = scopes.iter().map(|scope| scope.parse()).collect::<Result<_, _>>()?;
        if expires_at.is_some_and(|at| at <= now()) {
            return Err(Error::Expired);
        }
        let (entry, secret) = entry(name, scopes, expires_at, false);
        let listed = Listed::from(&*entry);
        let mut known = self.0.known.lock();
        known.retain(|_, entry| !entry.is_over());
        if known.values().filter(|entry| !entry.lent).count() >= MAX_TOKENS {
            return Err(Error::TooMany);
        }
        let digest = digest(&secret);
        known.insert(digest.clone(), entry);
        if let Err(error) = self.write(&known) {
            known.remove(&digest);
            return Err(error);
        }
        Ok((listed, secret))
    }

    /// A token for a process of ours. It ends when what comes back with it is dropped.
    pub fn lend(&self, name: &str, scopes: Vec<Scope>) -> (String, Loan) {
        let (entry, secret) = entry(name.to_owned(), scopes, None, true);
        let digest = digest(&secret);
        self.0.known.lock().insert(digest.clone(), entry);
        (secret, Loan { tokens: self.clone(), digest })
    }

    /// Whose secret this is.
    pub fn find(&self, secret: &str) -> Option<Holder> {
        if !secret.starts_with(PREFIX) {
            return None;
        }
        let entry = self.0.known.lock().get(&digest(secret)).cloned()?;
        (!entry.is_over()).then_some(Holder(entry))
    }

    /// Whether somebody has a token to connect as this agent.
    pub fn has_agent(&self, agent: &str) -> bool {
        let is_it = |scope: &Scope| matches!(scope, Scope::Agent(name) if name == agent);
        self.0.known.lock().values().any(|entry| !entry.is_over() && entry.scopes.iter().any(is_it))
    }

    /// Every agent for which there is a token.
    pub fn agents(&self) -> Vec<String> {
        let known = self.0.known.lock();
        let scopes = known.values().filter(|entry| !entry.is_over()).flat_map(|entry| &entry.scopes);
        let mut agents: Vec<String> =
            scopes.filter_map(|scope| if let Scope::Agent(name) = scope { Some(name.clone()) } else { None }).collect();
        agents.sort();
        agents.dedup();
        agents
    }

    /// Those that people made, the oldest first.
    pub fn list(&self) -> Vec<Listed> {
        let known = self.0.known.lock();
        let kept = known.values().filter(|entry| !entry.lent && !entry.is_over());
        let mut listed: Vec<Listed> = kept.map(|entry| Listed::from(&**entry)).collect();
        listed.sort_by(|left, right| (left.created_at, &left.token_id).cmp(&(right.created_at, &right.token_id)));
        listed
    }

    /// Ends a token, and whatever was opened with it. False if there is none.
    pub fn revoke(&self, id: &str) -> Result<bool, Error> {
        let mut known = self.0.known.lock();
        let found = known.iter().find(|(_, entry)| entry.id == id && !entry.lent).map(|(digest, _)| digest.clone());
        let Some(entry) = found.and_then(|digest| known.remove(&digest)) else { return Ok(false) };
        entry.ended.cancel();
        self.write(&known).map(|()| true)
    }

    fn write(&self, known: &HashMap<String, Arc<Entry>>) -> Result<(), Error> {
        let kept = known.iter().filter(|(_, entry)| !entry.lent);
        let stored: Vec<Stored> =
            kept.map(|(digest, entry)| Stored { digest: digest.clone(), token: Listed::from(&**entry) }).collect();
        let json = serde_json::to_vec(&stored).unwrap_or_default();
        private::replace(&self.0.file, &json).map_err(|error| Error::Write(Arc::new(error)))
    }
}

/// That a token is lent to a process.
#[derive(Debug)]
pub struct Loan {
    tokens: ScopedTokens,
    digest: String,
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(entry) = self.tokens.0.known.lock().remove(&self.digest) {
            entry.ended.cancel();
        }
    }
}

fn entry(name: String, scopes: Vec<Scope>, expires_at: Option<Timestamp>, lent: bool) -> (Arc<Entry>, String) {
    let id = random_token().chars().take(12).collect();
    let ended = CancellationToken::new();
    let entry = Entry { id, name, scopes, created_at: now(), expires_at, lent, ended };
    (Arc::new(entry), format!("{PREFIX}{}", random_token()))
}

fn digest(secret: &str) -> String {
    turnloom_core::blob::hex(&Sha256::digest(secret.trim().as_bytes()))
}

#[cfg(test)]
mod tests;
