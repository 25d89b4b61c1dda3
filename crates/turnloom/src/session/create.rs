//! New sessions: created, and forked from others.

use serde_json::{Map, Value};
use turnloom_core::client_tools;
use turnloom_core::command::Refusal;
use turnloom_core::event::{Record, readdress};
use turnloom_core::id::{IdSource, Seq, SessionId, TurnId};
use turnloom_core::session::{Machine, Output, Setup, State};

use super::{Error, Sessions, now};
use crate::log::{self, Created, ReadRange, SessionRow};
use crate::runtime::Runtime;

/// What every runtime understands at creation.
const COMMON_PARAMS: &[&str] =
    &["cwd", "system_prompt", "model", "mode", "permission_mode", "env", "mcp_servers", "title", client_tools::GIVEN];

/// How much of a log is read at a time.
pub(super) const PAGE: usize = 4_096;

/// A wish for a session.
#[derive(Debug)]
pub struct NewSession {
    pub id: Option<SessionId>,
    pub runtime: String,
    pub params: Map<String, Value>,
}

/// A wish for a copy of one.
#[derive(Debug)]
pub struct Fork {
    pub id: Option<SessionId>,
    /// The last turn to keep; the last one that ended, if not given.
    pub at_turn: Option<TurnId>,
}

impl Sessions {
    /// Creates a session, or finds the one that an earlier try of the same request made.
    pub async fn create(&self, new: NewSession) -> Result<(SessionRow, Created), Error> {
        self.check_params(&new.runtime, &new.params)?;
        let at = now();
        let mut ids = IdSource::seeded(seed());
        let id = new.id.unwrap_or_else(|| SessionId::fresh(&mut ids, at));
        let params = Value::Object(new.params);
        let mut machine = self.machine(id.clone(), &new.runtime, params.clone(), State::default())?;
        let mut out = Output::default();
        machine.create(at, &mut out);
        let created = self.store_new(&machine, out, Vec::new(), &new.runtime, &params, None).await?;
        if let Created::Exists(row) = &created
            && (row.runtime != new.runtime || row.params != params)
        {
            return Err(Error::Conflict(id));
        }
        Ok((self.row(&id).await?, created))
    }

    /// Creates a session that begins with a copy of another's facts.
    pub async fn fork(&self, parent_id: &SessionId, fork: Fork) -> Result<SessionRow, Error> {
        let parent = self.row(parent_id).await?;
        if !self.runtime(&parent.runtime)?.capabilities().fork {
            return Err(Refusal::Unsupported { what: "fork" }.into());
        }
        let at = now();
        let mut ids = IdSource::seeded(seed());
        let id = fork.id.unwrap_or_else(|| SessionId::fresh(&mut ids, at));
        let facts = self.read_all(parent_id).await?;
        let fork_point = fold(&facts)?.fork_point(fork.at_turn.as_ref()).ok_or_else(|| {
            Error::Invalid(
                "\"at_turn\" must name a turn of this session that has ended and was not rolled back".to_owned(),
            )
        })?;
        let kept = facts.iter().take_while(|record| record.seq <= fork_point);
        let copy: Vec<Record> =
            kept.map(|record| readdress(record, &id)).collect::<Result<_, _>>().map_err(|error| unreadable(&error))?;
        let mut machine = self.machine(id.clone(), &parent.runtime, parent.params.clone(), fold(&copy)?)?;
        let mut out = Output::default();
        machine.settle_fork(at, &mut out, parent_id.clone());
        let created =
            self.store_new(&machine, out, copy, &parent.runtime, &parent.params, Some(parent_id.clone())).await?;
        match created {
            Created::New => self.row(&id).await,
            Created::Exists(_) => Err(Error::Conflict(id)),
        }
    }

    pub(super) async fn store_new(
        &self,
        machine: &Machine,
        out: Output,
        mut records: Vec<Record>,
        runtime: &str,
        params: &Value,
        share_blobs_of: Option<SessionId>,
    ) -> Result<Created, Error> {
        let at = now();
        records.extend(out.facts.iter().map(turnloom_core::event::Envelope::encode));
        let new = log::NewSession {
            id: machine.session_id().clone(),
            runtime: runtime.to_owned(),
            params: params.clone(),
            created_at: at,
            records,
            blobs: out.blobs,
            summary: machine.state().summary(),
            share_blobs_of,
        };
        Ok(self.log().create(new).await?)
    }

    pub(super) fn machine(&self, id: SessionId, runtime: &str, params: Value, state: State) -> Result<Machine, Error> {
        let found = self.runtime(runtime)?;
        let setup = Setup {
            session_id: id,
            runtime: runtime.to_owned(),
            params,
            capabilities: found.capabilities(),
            limits: self.0.config.limits(found.idle_ms()),
            ids: IdSource::seeded(seed()),
        };
        Ok(Machine::new(setup, state))
    }

    pub(super) async fn read_all(&self, id: &SessionId) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        let mut after = Seq::ZERO;
        loop {
            let page = self.log().read(id, ReadRange::After { after, limit: PAGE }).await?;
            let Some(last) = page.last() else { return Ok(records) };
            after = last.seq;
            let whole = page.len() == PAGE;
            records.extend(page);
            if !whole {
                return Ok(records);
            }
        }
    }

    /// Refuses a mode that the session's runtime does not have, and settings that it cannot change.
    pub async fn check_changes(
        &self,
        id: &SessionId,
        mode: Option<&str>,
        settings: &Map<String, Value>,
    ) -> Result<(), Error> {
        if mode.is_none() && settings.is_empty() {
            return Ok(());
        }
        let row = self.row(id).await?;
        let runtime = self.runtime(&row.runtime)?;
        mode.map_or(Ok(()), |mode| check_mode(runtime, "mode", mode))?;
        let known = runtime.settings();
        // Of the tools the session itself says what it thinks.
        for (name, value) in settings.iter().filter(|(name, _)| *name != client_tools::GIVEN) {
            let Some(setting) = known.iter().find(|setting| setting.name == name) else {
                let known: Vec<&str> = known.iter().map(|setting| setting.name).collect();
                let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
                let message = format!("`settings.{name}` cannot be changed; {} can change {known}", row.runtime);
                return Err(Error::Invalid(message));
            };
            setting.check(value).map_err(|why| Error::Invalid(format!("`settings.{name}` {why}")))?;
        }
        Ok(())
    }

    pub(super) fn check_params(&self, runtime: &str, params: &Map<String, Value>) -> Result<(), Error> {
        let own = self.runtime(runtime)?.own_params();
        if let Some(name) =
            params.keys().find(|name| !COMMON_PARAMS.contains(&name.as_str()) && !own.contains(&name.as_str()))
        {
            let known = [COMMON_PARAMS, own].concat().join(", ");
            return Err(Error::Invalid(format!("unknown field `params.{name}`; {runtime} knows {known}")));
        }
        for name in ["cwd", "system_prompt", "model", "mode", "permission_mode", "title"] {
            if params.get(name).is_some_and(|value| !value.is_string()) {
                return Err(Error::Invalid(format!("`params.{name}` must be a string")));
            }
        }
        for name in ["mode", "permission_mode"] {
            if let Some(mode) = params.get(name).and_then(Value::as_str) {
                check_mode(self.runtime(runtime)?, &format!("params.{name}"), mode)?;
            }
        }
        for setting in self.runtime(runtime)?.settings() {
            if let Some(value) = params.get(setting.name) {
                setting.check(value).map_err(|why| Error::Invalid(format!("`params.{}` {why}", setting.name)))?;
            }
        }
        if let Some(tools) = params.get(client_tools::GIVEN) {
            if !self.runtime(runtime)?.capabilities().client_tools {
                return Err(Refusal::Unsupported { what: "call tools that clients run" }.into());
            }
            client_tools::read(tools)
                .map_err(|error| Error::Invalid(format!("`params.{}`: {error}", client_tools::GIVEN)))?;
        }
        if let Some(cwd) = params.get("cwd").and_then(Value::as_str)
            && !std::path::Path::new(cwd).is_dir()
        {
            return Err(Error::Invalid(format!("`params.cwd` must be a directory that exists; {cwd:?} is not")));
        }
        Ok(())
    }
}

/// A mode that nobody knows would leave the agent in another than the one somebody believes it to be in.
fn check_mode(runtime: &dyn Runtime, name: &str, mode: &str) -> Result<(), Error> {
    let known = runtime.modes();
    if known.is_empty() || known.contains(&mode) {
        return Ok(());
    }
    Err(Error::Invalid(format!("`{name}` must be one of {}; {mode:?} is not", known.join(", "))))
}

pub(super) fn fold(records: &[Record]) -> Result<State, Error> {
    let mut state = State::default();
    for record in records {
        state.apply(&record.decode().map_err(|error| unreadable(&error))?);
    }
    Ok(state)
}

fn unreadable(error: &turnloom_core::event::Error) -> Error {
    Error::Invalid(format!("the log holds something unreadable: {error}"))
}

/// Randomness for ids, from the operating system by way of a version 7 id.
pub(super) fn seed() -> u64 {
    let (high, low) = uuid::Uuid::now_v7().as_u64_pair();
    high.rotate_left(32) ^ low
}
