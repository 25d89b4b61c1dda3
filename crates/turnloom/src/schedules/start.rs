//! Starts and stops runs. Everything here may be done again: sessions and messages are named by their run.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::Value;
use turnloom_core::command::{ClientCommand, Command, Emit, Message, Reply, When};
use turnloom_core::event::{AfterStop, Event, Origin, Part, Record, ScheduleMissed};
use turnloom_core::id::{MessageId, ScheduleId, Seq, SessionId};
use turnloom_core::schedule::{Definition, MissedRange, Reason, Run, RunFold, RunState, Started, Target};
use turnloom_core::session::SCHEDULES;

use crate::log::{self, Log};
use crate::session::{self, Fork, NewSession, Sessions};

/// What the log says of who sent the message.
const BY: &str = "schedule";

/// How often a session that is too busy to answer is asked again, and how long after.
const TRIES: u32 = 30;
const PAUSE: Duration = Duration::from_secs(1);

/// What a fold of a run has to see of a log; the rest need not be read.
const KINDS: &[&str] = &[
    "user_message",
    "queue_changed",
    "session_updated",
    "session_ready",
    "session_ended",
    "usage",
    "result",
    "error",
    "done",
];

/// A run that has to be started, and all that is needed for it.
#[derive(Debug)]
pub(super) struct Start {
    pub schedule: ScheduleId,
    pub definition: Definition,
    pub run: Run,
    /// Where all runs take place, if one of them has been there.
    pub shared: Option<SessionId>,
}

/// What became of it.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The message is in the session. The fold has read the log as far as it goes.
    Started(Started, Box<RunFold>),
    Failed(Reason),
    /// The daemon ends; the next one tries again.
    Later,
}

pub(super) async fn start(sessions: &Sessions, start: &Start) -> Outcome {
    let mut tries = 0;
    loop {
        let error = match try_to_start(sessions, start).await {
            Ok((started, fold)) => return Outcome::Started(started, Box::new(fold)),
            Err(Stop::Failed(reason)) => return Outcome::Failed(reason),
            Err(Stop::Session(error)) => error,
        };
        match &error {
            session::Error::ShuttingDown => return Outcome::Later,
            session::Error::Log(error) if !matches!(error, log::Error::NotFound(_)) => {
                tracing::warn!(run = %start.run.run_id, %error, "a run is left to the next daemon");
                return Outcome::Later;
            }
            session::Error::Overloaded if tries < TRIES => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            _ => return Outcome::Failed(reason(&error)),
        }
    }
}

/// Why a run did not start.
enum Stop {
    Failed(Reason),
    Session(session::Error),
}

impl From<session::Error> for Stop {
    fn from(error: session::Error) -> Self {
        Self::Session(error)
    }
}

impl From<log::Error> for Stop {
    fn from(error: log::Error) -> Self {
        Self::Session(error.into())
    }
}

async fn try_to_start(sessions: &Sessions, start: &Start) -> Result<(Started, RunFold), Stop> {
    let run = &start.run;
    let session_id = run.session_id.clone().unwrap_or_else(|| SessionId::trusted(run.run_id.as_str()));
    let mut fold = RunFold::new(&run.run_id);
    let row = sessions.log().session(&session_id).await?;
    let before = match &row {
        Some(row) => {
            // An earlier daemon may have come further than it could write down.
            read_on(sessions.log(), &session_id, run.after.unwrap_or(Seq::ZERO), &mut fold).await?;
            // Where the message is there already, the run began before it.
            let begins = if fold.has_message() { Seq::ZERO } else { row.head };
            run.after.unwrap_or(begins)
        }
        None => Seq::ZERO,
    };
    if fold.turn().is_none() {
        if row.is_none() {
            create(sessions, start, &session_id).await?;
        }
        tell_missed(sessions, start, &session_id).await?;
        let text = run.prompt.clone().unwrap_or_default();
        let id = Some(MessageId::trusted(run.run_id.as_str()));
        let message = Message { id, content: vec![Part::Text { text }], origin: Origin::Schedule, source: None };
        let command = Command::Send { message, when: When::Queue };
        sessions.execute(&session_id, ClientCommand { by: BY.to_owned(), command }).await?;
        read_on(sessions.log(), &session_id, before, &mut fold).await?;
    }
    Ok((Started { session_id, turn_id: fold.turn().cloned(), after: before }, fold))
}

/// Says in the run's session what was missed before it. The same run says it once.
async fn tell_missed(sessions: &Sessions, start: &Start, session: &SessionId) -> Result<(), Stop> {
    let Some(missed) = start.run.missed_before else { return Ok(()) };
    let MissedRange { first, last, count, and_more } = missed;
    let (schedule_id, run_id) = (start.schedule.clone(), start.run.run_id.clone());
    let id = Some(format!("missed.{run_id}"));
    let fact = ScheduleMissed { schedule_id, first, last, count, and_more, run_id, emit_id: None };
    let emit = Emit { id, turn_id: None, events: vec![Event::ScheduleMissed(fact)] };
    let command = ClientCommand { by: SCHEDULES.to_owned(), command: Command::Emit(emit) };
    sessions.execute(session, command).await?;
    Ok(())
}

async fn create(sessions: &Sessions, start: &Start, id: &SessionId) -> Result<(), Stop> {
    let Start { definition, run, shared, .. } = start;
    let gone =
        |id: &SessionId| Stop::Failed(Reason::new("session_not_found", format!("session {id} is not there any more")));
    let was_there = run.state == RunState::Running || shared.as_ref() == Some(id);
    match &definition.session {
        Target::New | Target::Same { session_id: None } if !was_there => {
            let runtime = definition.runtime.clone().unwrap_or_default();
            let params = definition.session_params(&start.schedule);
            if let Some(cwd) = params.get("cwd").and_then(Value::as_str)
                && !std::path::Path::new(cwd).is_dir()
            {
                let message = format!("the directory {cwd:?} is not there");
                return Err(Stop::Failed(Reason::new("directory_missing", message)));
            }
            match sessions.create(NewSession { id: Some(id.clone()), runtime, params }).await {
                // Nobody else makes sessions of this name.
                Ok(_) | Err(session::Error::Conflict(_)) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
        Target::Fork { session_id } if !was_there => {
            match sessions.fork(session_id, Fork { id: Some(id.clone()), at_turn: None }).await {
                Ok(_) | Err(session::Error::Conflict(_)) => Ok(()),
                Err(session::Error::Log(log::Error::NotFound(_))) => Err(gone(session_id)),
                Err(error) => Err(error.into()),
            }
        }
        Target::New | Target::Same { .. } | Target::Fork { .. } => Err(gone(id)),
    }
}

/// Brings a fold to the end of its log.
pub(super) async fn read_on(log: &Log, id: &SessionId, after: Seq, fold: &mut RunFold) -> Result<(), log::Error> {
    let after = after.max(fold.seq());
    let take = |record: Record| {
        step(fold, &record);
        ControlFlow::Continue(())
    };
    log.scan(id, after, Seq(u64::MAX), take).await
}

pub(super) fn step(fold: &mut RunFold, record: &Record) {
    if KINDS.contains(&record.kind())
        && let Ok(envelope) = record.decode()
    {
        fold.step(&envelope);
    }
}

/// Ends a run's turn, or takes its message back. That it has ended is heard from its log.
pub(super) async fn stop(sessions: &Sessions, run: &Run) {
    let Some(session) = &run.session_id else { return };
    let command = match &run.turn_id {
        Some(turn) => Command::Stop { turn_id: Some(turn.clone()), then: AfterStop::default() },
        None => Command::Unqueue { message_id: MessageId::trusted(run.run_id.as_str()) },
    };
    let stopped = sessions.execute(session, ClientCommand { by: BY.to_owned(), command }).await;
    if let Ok(Reply::Stopped { stopped: false, .. }) | Err(_) = &stopped {
        tracing::debug!(run = %run.run_id, ?stopped, "a run had ended before it was stopped");
    }
}

fn reason(error: &session::Error) -> Reason {
    let code = match error {
        session::Error::Refused(refusal) => refusal.code(),
        session::Error::Log(_) => "session_not_found",
        session::Error::UnknownRuntime { .. } => "unknown_runtime",
        session::Error::Damaged { .. } => "session_damaged",
        session::Error::Conflict(_) => "session_exists",
        session::Error::Invalid(_) => "invalid_request",
        session::Error::Overloaded => "overloaded",
        session::Error::ShuttingDown => "shutting_down",
        session::Error::BrokenFile(_)
        | session::Error::ConversationNotFound(_)
        | session::Error::ConversationUnreadable(_) => "failed",
    };
    Reason::new(code, error.to_string())
}
