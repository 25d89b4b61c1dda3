//! New sessions: created, and forked from others.

use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::{Map, Value};
use turnloom_core::budget;
use turnloom_core::client_tools;
use turnloom_core::command::Refusal;
use turnloom_core::component;
use turnloom_core::delegation;
use turnloom_core::event::{Delegated, Record, readdress};
use turnloom_core::id::{IdSource, Seq, SessionId, TurnId};
use turnloom_core::nesting;
use turnloom_core::runtime::Takes;
use turnloom_core::session::{Delivery, Machine, Output, Setup, State, params_of_copy};

use super::{Error, Sessions, now};
use crate::log::{self, Created, SessionQuery, SessionRow};
use crate::runtime::SHARED_PARAMS;

/// What every runtime understands at creation.
const COMMON_PARAMS: &[&str] = &[
    "cwd",
    "system_prompt",
    "model",
    "mode",
    "permission_mode",
    "env",
    "mcp_servers",
    "title",
    EMIT,
    client_tools::SESSION_TOOLS,
    component::SESSION_COMPONENTS,
    component::SESSION_RULES,
    budget::OWN,
    budget::GROUP,
    delegation::ALLOWED,
];

/// Whether the agent gets what its scripts need to add facts.
pub(super) const EMIT: &str = "emit";

/// What agents call the server of the session's own tools.
const OWN_SERVER: &str = "turnloom";

/// What agents call the mode in which they ask nobody.
const BYPASS: &str = "bypassPermissions";

/// Forks of one title that are told apart; of more, some may be called the same.
const MAX_FORK_TITLES: usize = 500;

/// Facts of a copy between two looks at whether it is still wanted.
const STEP: usize = 1_024;

/// A request to create a session.
#[derive(Debug)]
pub struct NewSession {
    pub id: Option<SessionId>,
    pub runtime: String,
    pub params: Map<String, Value>,
}

/// A request to fork a session.
#[derive(Debug)]
pub struct Fork {
    pub id: Option<SessionId>,
    /// The last turn to keep; the last one that ended, if not given.
    pub at_turn: Option<TurnId>,
}

impl Sessions {
    /// Creates a session, or finds the one that an earlier try of the same request made.
    pub async fn create(&self, new: NewSession) -> Result<(SessionRow, Created), Error> {
        self.create_as(new, None).await
    }

    /// The same, for a session that works for another one.
    pub(super) async fn create_as(
        &self,
        new: NewSession,
        delegated: Option<Delegated>,
    ) -> Result<(SessionRow, Created), Error> {
        self.check_params(&new.runtime, &new.params)?;
        let at = now();
        let mut ids = IdSource::seeded(seed());
        let id = new.id.unwrap_or_else(|| SessionId::fresh(&mut ids, at));
        let params = Value::Object(new.params);
        let mut machine = self.machine(id.clone(), &new.runtime, params.clone(), State::default())?;
        let mut out = Output::default();
        match delegated {
            Some(delegated) => machine.create_for(delegated, at, &mut out),
            None => machine.create(at, &mut out),
        }
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
        self.check_fork(&parent)?;
        let at = now();
        let mut ids = IdSource::seeded(seed());
        let id = fork.id.unwrap_or_else(|| SessionId::fresh(&mut ids, at));
        let _turn = self.0.copying.acquire().await;
        let facts = self.read_all(parent_id).await?;
        let (parent_name, fork_name) = (parent_id.clone(), id.clone());
        let shutdown = self.0.shutdown.clone();
        // A long log takes its time: others must not wait for it, nor the end of the daemon.
        let copying = self.0.tracker.spawn_blocking(move || {
            let parent = (&parent_name, parent.head);
            copy(facts, parent, &fork_name, fork.at_turn.as_ref(), &|| !shutdown.is_cancelled())
        });
        let copied = copying.await.map_err(|_| Error::ShuttingDown)?;
        let (copy, state) = copied.inspect_err(|error| self.note_damage(error))?;
        let params = params_of_copy(&parent.params, state.head);
        let mut machine = self.machine(id.clone(), &parent.runtime, params.clone(), state)?;
        let mut out = Output::default();
        let title = self.fork_title(&machine.state().summary().title).await?;
        machine.settle_fork(at, &mut out, parent_id.clone(), title);
        let created = self.store_new(&machine, out, copy, &parent.runtime, &params, Some(parent_id.clone())).await?;
        match created {
            Created::New => self.row(&id).await,
            Created::Exists(_) => Err(Error::Conflict(id)),
        }
    }

    /// A title that tells a fork from where it comes from, and from its other forks. None where there is none to begin with.
    async fn fork_title(&self, title: &str) -> Result<Option<String>, Error> {
        if title.is_empty() {
            return Ok(None);
        }
        let base = without_number(title);
        let query = |archived| SessionQuery {
            archived,
            runtime: None,
            q: Some(format!("{base} (fork")),
            limit: MAX_FORK_TITLES,
            cursor: None,
        };
        let mut taken = self.log().sessions(query(false)).await?.sessions;
        taken.extend(self.log().sessions(query(true)).await?.sessions);
        let is_free = |title: &String| taken.iter().all(|row| row.summary.title != *title);
        let numbered = (1..=taken.len() + 1).map(|number| match number {
            1 => format!("{base} (fork)"),
            number => format!("{base} (fork {number})"),
        });
        Ok(numbered.into_iter().find(is_free))
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
        let id = new.id.clone();
        let created = self.log().create(new).await?;
        if created == Created::New {
            self.save_first_state(&id, machine.state()).await;
        }
        Ok(created)
    }

    pub(super) fn machine(&self, id: SessionId, runtime: &str, params: Value, state: State) -> Result<Machine, Error> {
        self.machine_of_agent(id, runtime, params, state, false)
    }

    /// The same, for a session that its agent may have already.
    pub(super) fn machine_of_agent(
        &self,
        id: SessionId,
        runtime: &str,
        params: Value,
        state: State,
        open: bool,
    ) -> Result<Machine, Error> {
        let found = self.runtime(runtime)?;
        let setup = Setup {
            session_id: id,
            runtime: runtime.to_owned(),
            params,
            capabilities: found.capabilities(),
            limits: self.0.config.limits(found.idle_ms(), found.wait_ms()),
            ids: IdSource::seeded(seed()),
            components: Arc::clone(&self.0.components.borrow()),
            budgets: Arc::clone(self.0.budgets.rules()),
            delegation: self.0.config.delegation.rules(),
        };
        let delivery = found.grace_ms().map_or(Delivery::Pipe, |grace_ms| Delivery::Log { open, grace_ms });
        Ok(Machine::new(setup, state).told_by(delivery).hearing_by(found.hearing()))
    }

    pub(super) async fn read_all(&self, id: &SessionId) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        let take = |record| {
            records.push(record);
            ControlFlow::Continue(())
        };
        self.log().scan(id, Seq::ZERO, Seq(u64::MAX), take).await?;
        Ok(records)
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
        mode.map_or(Ok(()), |mode| self.check_mode(runtime, "mode", mode, &row.params))?;
        if let (Some(mode), Some(parent)) = (mode, &row.summary.parent_session_id) {
            self.check_not_looser(mode, parent).await?;
        }
        let known = runtime.settings();
        // Of the tools and components the session itself says what it thinks.
        let of_session = [
            client_tools::SESSION_TOOLS,
            component::SESSION_COMPONENTS,
            component::SESSION_RULES,
            budget::OWN,
            budget::GROUP,
            delegation::ALLOWED,
        ];
        if settings.get(delegation::ALLOWED).is_some_and(|value| !value.is_boolean()) {
            return Err(Error::Invalid(format!("`settings.{}` must be true or false", delegation::ALLOWED)));
        }
        for (name, value) in settings.iter().filter(|(name, _)| !of_session.contains(&name.as_str())) {
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

    /// Refuses a fork that its runtime cannot make.
    pub fn check_fork(&self, parent: &SessionRow) -> Result<(), Error> {
        if let Some(why) = self.damage(parent) {
            return Err(Error::Damaged { id: parent.id.clone(), why });
        }
        if !self.runtime(&parent.runtime)?.capabilities().fork {
            return Err(Refusal::Unsupported { what: "fork" }.into());
        }
        Ok(())
    }

    /// Whether sessions of a runtime know a parameter by this name.
    pub fn takes_param(&self, runtime: &str, name: &str) -> bool {
        let Ok(found) = self.runtime(runtime) else { return false };
        COMMON_PARAMS.contains(&name)
            || found.own_params().contains(&name)
            || found.params().iter().any(|param| param.name == name)
    }

    /// Whether sessions of this runtime can be created with these parameters.
    pub fn check_params(&self, runtime: &str, params: &Map<String, Value>) -> Result<(), Error> {
        let found = self.runtime(runtime)?;
        if !params.values().all(|value| nesting::fits(value, nesting::MAX_DEPTH)) || !found.params_fit(params) {
            return Err(Refusal::TooDeep.into());
        }
        let mut known = [COMMON_PARAMS, found.own_params()].concat();
        known.extend(found.params().iter().map(|param| param.name).filter(|name| !found.own_params().contains(name)));
        let is_unknown = |name: &&String| !found.takes_any_params() && !known.contains(&name.as_str());
        if let Some(name) = params.keys().find(is_unknown) {
            let known = known.join(", ");
            return Err(Error::Invalid(format!("unknown field `params.{name}`; {runtime} knows {known}")));
        }
        for name in ["cwd", "system_prompt", "model", "mode", "permission_mode", "title"] {
            if params.get(name).is_some_and(|value| !value.is_string()) {
                return Err(Error::Invalid(format!("`params.{name}` must be a string")));
            }
        }
        for name in [EMIT, delegation::ALLOWED] {
            if params.get(name).is_some_and(|value| !value.is_boolean()) {
                return Err(Error::Invalid(format!("`params.{name}` must be true or false")));
            }
        }
        for name in ["mode", "permission_mode"] {
            if let Some(mode) = params.get(name).and_then(Value::as_str) {
                // Rules have no part in a permission mode: there, to bypass is to skip the agent's own asks.
                let mode = if name == "permission_mode" && mode == "bypass" { BYPASS } else { mode };
                self.check_mode(found, &format!("params.{name}"), mode, &Value::Object(params.clone()))?;
            }
        }
        for setting in found.params().iter().chain(SHARED_PARAMS.iter().filter(|param| param.takes == Takes::Object)) {
            if let Some(value) = params.get(setting.name) {
                setting.check(value).map_err(|why| Error::Invalid(format!("`params.{}` {why}", setting.name)))?;
            }
        }
        let mut variables = params.get("env").and_then(Value::as_object).into_iter().flatten();
        if let Some((name, value)) = variables.find(|(_, value)| !value.is_string()) {
            return Err(Error::Invalid(format!("`params.env.{name}` must be a text; {value} is not")));
        }
        if params.get("mcp_servers").and_then(|servers| servers.get(OWN_SERVER)).is_some() {
            // Its tools would pass for the session's own.
            return Err(Error::Invalid(format!("`params.mcp_servers.{OWN_SERVER}`: this name is the daemon's own")));
        }
        if let Some(tools) = params.get(client_tools::SESSION_TOOLS) {
            if !self.runtime(runtime)?.capabilities().client_tools {
                return Err(Refusal::Unsupported { what: "call tools that clients run" }.into());
            }
            client_tools::read(tools)
                .map_err(|error| Error::Invalid(format!("`params.{}`: {error}", client_tools::SESSION_TOOLS)))?;
        }
        component::check_params(params).map_err(|(name, why)| Error::Invalid(format!("`params.{name}`: {why}")))?;
        budget::check_params(params).map_err(|(name, why)| Error::Invalid(format!("`params.{name}`: {why}")))?;
        if let Some(cwd) = params.get("cwd").and_then(Value::as_str)
            && !std::path::Path::new(cwd).is_dir()
        {
            return Err(Error::Invalid(format!("`params.cwd` must be a directory that exists; {cwd:?} is not")));
        }
        Ok(())
    }
}

/// The facts that a fork begins with, and what they make of it.
fn copy(
    facts: Vec<Record>,
    (parent, head): (&SessionId, Seq),
    fork: &SessionId,
    at_turn: Option<&TurnId>,
    is_wanted: &dyn Fn() -> bool,
) -> Result<(Vec<Record>, State), Error> {
    let fold_all = |id: &SessionId, facts: &[Record]| {
        let mut state = State::default();
        for some in facts.chunks(STEP) {
            is_wanted().then_some(()).ok_or(Error::ShuttingDown)?;
            fold(&mut state, id, some)?;
        }
        Ok::<State, Error>(state)
    };
    let state = fold_all(parent, &facts)?;
    // It may have grown since, but not shrunk.
    check_end(&state, parent, head.max(state.head))?;
    let fork_point = state.fork_point(at_turn).ok_or_else(|| {
        Error::Invalid("\"at_turn\" must name a turn of this session that has ended and was not rolled back".to_owned())
    })?;
    let kept = facts.into_iter().take_while(|record| record.seq <= fork_point);
    let copy: Vec<Record> = kept
        .map(|record| readdress(&record, fork).map_err(|error| unreadable(parent, &record, &error)))
        .collect::<Result<_, _>>()?;
    let state = fold_all(fork, &copy)?;
    Ok((copy, state))
}

/// Folds stored records. A log with a hole in it is nothing to go on from.
pub(crate) fn fold(state: &mut State, id: &SessionId, records: &[Record]) -> Result<(), Error> {
    for record in records {
        let expected = state.head.next();
        if record.seq != expected {
            return Err(missing_event(id, expected));
        }
        let envelope = record.decode().map_err(|error| unreadable(id, record, &error))?;
        if record.is_unreadable() {
            let found = envelope.event.data();
            return Err(unreadable(id, record, &found.get("error").and_then(Value::as_str).unwrap_or_default()));
        }
        if envelope.seq != expected {
            return Err(unreadable(id, record, &format!("it calls itself event {}", envelope.seq)));
        }
        state.apply(&envelope);
    }
    Ok(())
}

/// Makes sure that a log that was folded ends where it should.
pub(super) fn check_end(state: &State, id: &SessionId, head: Seq) -> Result<(), Error> {
    match state.head.cmp(&head) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(missing_event(id, state.head.next())),
        Ordering::Greater => {
            Err(Error::Damaged { id: id.clone(), why: format!("it should end with event {head}, and goes on") })
        }
    }
}

fn missing_event(id: &SessionId, seq: Seq) -> Error {
    Error::Damaged { id: id.clone(), why: format!("event {seq} is missing") }
}

fn unreadable(id: &SessionId, record: &Record, error: &dyn std::fmt::Display) -> Error {
    Error::Damaged { id: id.clone(), why: format!("event {} cannot be read: {error}", record.seq) }
}

/// Randomness for ids, from the operating system by way of a random id.
pub(crate) fn seed() -> u64 {
    let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
    high.rotate_left(32) ^ low
}

/// A title without what an earlier fork added to it.
fn without_number(title: &str) -> &str {
    let marked = title.rsplit_once(" (fork").filter(|(_, mark)| {
        let number = mark.strip_suffix(')').map(str::trim_start);
        number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
    });
    marked.map_or(title, |(base, _)| base)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use turnloom_core::event::{Envelope, SessionUpdated};
    use turnloom_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_copy_that_nobody_wants_any_more_is_not_made() {
        let id = SessionId::trusted("s");
        let fact = |seq| {
            let event = SessionUpdated { by: "x".to_owned(), ..SessionUpdated::default() }.into();
            let ts = Timestamp::from_millis(0);
            Envelope { seq: Seq(seq), ts, session_id: id.clone(), turn_id: None, subagent_id: None, event }.encode()
        };
        let head = 5 * STEP as u64;
        let facts: Vec<Record> = (1..=head).map(fact).collect();
        let looks = Cell::new(0);
        let is_wanted = || looks.replace(looks.get() + 1) < 3;
        let copied = copy(facts, (&id, Seq(head)), &SessionId::trusted("fork"), None, &is_wanted);
        assert!(matches!(copied, Err(Error::ShuttingDown)), "{copied:?}");
        assert_eq!(looks.get(), 4, "it is given up at once");
    }
}
