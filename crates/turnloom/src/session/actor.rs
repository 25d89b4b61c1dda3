//! The one task that owns a session: only it appends to the session's log and speaks with the agent. It decides nothing. It passes inputs to the
//! machine, appends the facts to the log, then carries out the effects, in that order.

use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use turnloom_core::event::{Envelope, Event, Part};
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::policy::{self, Call, Judgement, Mode, World as _};
use turnloom_core::runtime::{self, Opening, Order, Protocol};
use turnloom_core::session::{Effect, Input, Machine, Output, ReplyTo};
use turnloom_core::time::Timestamp;

use super::clock::Clock;
use super::state::Saved;
use super::{Answer, Error, Request, Sessions, output_files};
use crate::log::{Append, BlobRange, Durability, Epoch, Log, SessionRow, Tail};
use crate::policy::ThisMachine;
use crate::process::{self, Line};
use crate::roles;
use crate::runtime::program::default_directory;
use crate::runtime::{Running, describe};

/// How many commands are handled before the next append. They share its sync; more would make the first of them wait.
const COMMANDS_PER_APPEND: usize = 32;

pub(super) struct Actor {
    sessions: Sessions,
    row: SessionRow,
    requests: mpsc::Receiver<Request>,
}

impl Actor {
    pub(super) fn new(sessions: Sessions, row: SessionRow, requests: mpsc::Receiver<Request>) -> Self {
        Self { sessions, row, requests }
    }

    pub(super) async fn run(self) {
        let Actor { sessions, row, mut requests } = self;
        let id = row.id.clone();
        let failure = match Session::load(sessions.clone(), row).await {
            Ok(mut session) => {
                let failure = session.serve(&mut requests).await.err();
                // The next actor of this session must find the old agent gone.
                if let Some(agent) = session.agent.take() {
                    agent.process.handle.kill();
                    agent.process.handle.wait().await;
                }
                if failure.is_none() {
                    session.save_at_rest().await;
                }
                failure
            }
            Err(error) => Some(error),
        };
        if let Some(error) = &failure {
            sessions.note_damage(error);
            tracing::error!(session = %id, %error, "the session cannot go on");
        }
        // Remove the actor from the list first: later commands wake a new actor. Commands that are already queued are sent there below.
        sessions.actor_exited(&id);
        requests.close();
        while let Some(Request { command, answer }) = requests.recv().await {
            let answered = match &failure {
                Some(error) => answer.send(Answer::Failed(error.clone())),
                None => answer.send(Answer::NotTaken(command)),
            };
            drop(answered);
        }
    }
}

/// A session that is awake.
struct Session {
    sessions: Sessions,
    id: SessionId,
    machine: Machine,
    clock: Clock,
    epoch: Epoch,
    /// What is kept of the machine's state.
    saved: Saved,
    /// Keeps recent events in memory for followers.
    _tail: Tail,
    agent: Option<RunningAgent>,
    waiting: std::collections::HashMap<ReplyTo, oneshot::Sender<Answer>>,
    next_reply: ReplyTo,
    turn_started: Option<Instant>,
}

struct RunningAgent {
    process: process::Agent,
    protocol: Box<dyn Protocol>,
    /// Its output has ended; only its exit is still to come.
    silent: bool,
    _held: Option<Box<dyn std::any::Any + Send>>,
}

/// What woke the session.
enum WakeReason {
    Command(Request),
    AllSendersGone,
    Lines(usize),
    Written(Result<(), process::Error>),
    Exited(process::Exit),
    Deadline,
    Shutdown,
    Idle,
}

impl Session {
    async fn load(sessions: Sessions, row: SessionRow) -> Result<Self, Error> {
        let id = row.id.clone();
        let claim = sessions.log().claim(&id).await?;
        let (state, saved) = sessions.load_state(&id, claim.head).await?;
        let machine = sessions.machine(id.clone(), &row.runtime, row.params, state)?;
        let tail = sessions.log().hold(&id);
        let mut session = Self {
            sessions,
            id,
            machine,
            clock: Clock::start(),
            epoch: claim.epoch,
            saved,
            _tail: tail,
            agent: None,
            waiting: std::collections::HashMap::new(),
            next_reply: 0,
            turn_started: None,
        };
        let mut out = Output::default();
        let at = session.now();
        session.machine.recover(at, &mut out);
        session.carry_out(out).await?;
        Ok(session)
    }

    async fn serve(&mut self, requests: &mut mpsc::Receiver<Request>) -> Result<(), Error> {
        let shutdown = self.sessions.0.shutdown.clone();
        let linger = Duration::from_secs(self.sessions.0.config.linger_seconds.into());
        let mut lines = Vec::new();
        loop {
            let leaving = self.machine.can_unload() && self.agent.is_none();
            if leaving && (self.machine.is_shutting_down() || self.machine.state().is_archived()) && requests.is_empty()
            {
                return Ok(());
            }
            let left = self.time_left();
            let reason = tokio::select! {
                biased;
                () = shutdown.cancelled(), if !self.machine.is_shutting_down() => WakeReason::Shutdown,
                request = requests.recv() => request.map_or(WakeReason::AllSendersGone, WakeReason::Command),
                reason = listen(&mut self.agent, &mut lines) => reason,
                () = sleep(left) => WakeReason::Deadline,
                () = tokio::time::sleep(linger), if leaving => WakeReason::Idle,
            };
            let at = self.now();
            let mut out = Output::default();
            match reason {
                WakeReason::Command(request) => self.commands(request, requests, at, &mut out),
                WakeReason::Lines(0) => {
                    if let Some(agent) = &mut self.agent {
                        agent.silent = true;
                    }
                }
                WakeReason::Lines(_) => {
                    self.sessions.0.taps.agent_wrote(&self.id, &lines);
                    self.receive_lines(lines.drain(..), at, &mut out).await;
                }
                WakeReason::Written(Ok(())) => {}
                // The agent is exiting; its exit says why.
                WakeReason::Written(Err(error)) => {
                    tracing::debug!(session = %self.id, %error, "the agent's input is broken");
                    if let Some(agent) = &mut self.agent {
                        agent.process.input.close();
                    }
                }
                WakeReason::Exited(exit) => {
                    self.agent = None;
                    let description = describe(&exit);
                    self.machine.handle(Input::Exited { exit_code: exit.code, description }, at, &mut out);
                }
                WakeReason::Deadline => self.machine.handle(Input::Tick, at, &mut out),
                WakeReason::Shutdown => self.machine.handle(Input::Shutdown, at, &mut out),
                WakeReason::Idle | WakeReason::AllSendersGone => return Ok(()),
            }
            self.carry_out(out).await?;
        }
    }

    /// What the wall clock says. If it was set, deadlines stay as far away as they were.
    fn now(&mut self) -> Timestamp {
        let (at, set_by) = self.clock.read();
        self.machine.clock_was_set(set_by);
        at
    }

    /// How long it is until something is due.
    fn time_left(&mut self) -> Option<Duration> {
        let at = self.now();
        let ms = self.machine.next_deadline()?.millis().saturating_sub(at.millis());
        Some(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
    }

    /// Takes what waits, up to a bound: all of it shares one append.
    fn commands(&mut self, first: Request, requests: &mut mpsc::Receiver<Request>, at: Timestamp, out: &mut Output) {
        let more = std::iter::from_fn(|| requests.try_recv().ok()).take(COMMANDS_PER_APPEND);
        for Request { command, answer } in std::iter::once(first).chain(more) {
            let reply_to = self.next_reply;
            self.next_reply += 1;
            self.waiting.insert(reply_to, answer);
            self.machine.handle(Input::Command { command, reply_to }, at, out);
        }
    }

    async fn receive_lines(&mut self, lines: impl Iterator<Item = Line>, at: Timestamp, out: &mut Output) {
        let Some(agent) = &mut self.agent else { return };
        let mut protocol_output = runtime::Output::default();
        for line in lines {
            let line = match &line {
                Line::Text(text) => runtime::Line::Text(text),
                Line::TooLong { size, sha256, head } => runtime::Line::TooLong { size: *size, sha256, head },
            };
            agent.protocol.line(line, &mut protocol_output);
        }
        self.apply_protocol_output(protocol_output, at, out).await;
    }

    /// Moves what a protocol wants: bytes to the agent, reports to the machine.
    async fn apply_protocol_output(&mut self, protocol_output: runtime::Output, at: Timestamp, out: &mut Output) {
        if let Some(agent) = self.agent.as_mut().filter(|_| !protocol_output.bytes.is_empty()) {
            match agent.process.input.queue(&protocol_output.bytes) {
                Ok(()) => self.sessions.0.taps.session_wrote(&self.id, &protocol_output.bytes),
                Err(error) => {
                    tracing::warn!(session = %self.id, %error, "an agent could not be told something");
                    agent.process.handle.kill();
                }
            }
        }
        // A stop request waits until all of these are read, so they share one deadline.
        let deadline = tokio::time::Instant::now() + output_files::READ_TIMEOUT;
        for report in protocol_output.reports {
            let report =
                output_files::with_whole_output(report, self.sessions.0.context.max_line_bytes, deadline).await;
            let input = match self.judge(&report) {
                Some(judgement) => Input::Judged { report, judgement },
                None => Input::Report(report),
            };
            self.machine.handle(input, at, out);
        }
    }

    /// What the rules say about a call that the agent wants to make, if it wants to make one.
    fn judge(&self, report: &runtime::Report) -> Option<Judgement> {
        let call = self.machine.to_judge(report)?;
        let workspace =
            self.machine.workspace().map_or_else(|| default_directory().display().to_string(), str::to_owned);
        let workspace = ThisMachine.resolve(&workspace).unwrap_or(workspace);
        let rules = self.sessions.0.rules.of(&workspace);
        let mode = self.machine.mode().unwrap_or_default();
        let runtime = self.sessions.runtime(self.machine.runtime()).ok()?;
        // A mode with rules that have been taken away still asks; it must not become one of the agent's own.
        let is_agents = mode.is_empty() || runtime.modes().is_empty() || runtime.modes().contains(&mode);
        let is_ruled = runtime.capabilities().gate && (rules.has_mode(mode) || !is_agents);
        let call = Call {
            tool: call.tool,
            input: call.input,
            runtime: self.machine.runtime(),
            mode: if is_ruled { Mode::Rules(mode) } else { Mode::Agent(mode) },
            directory: call.directory.unwrap_or(&workspace),
            workspace: &workspace,
            caller: call.caller,
            origin: call.origin,
            session: self.id.as_str(),
        };
        Some(policy::judge(&rules, &call, &ThisMachine))
    }

    /// Makes facts durable, then does what follows from them. What follows may lead to more facts.
    async fn carry_out(&mut self, out: Output) -> Result<(), Error> {
        let mut next = Some(out);
        while let Some(mut out) = next.take() {
            self.append(&mut out).await?;
            let mut after = Output::default();
            for effect in std::mem::take(&mut out.effects) {
                self.perform(effect, &mut after).await?;
            }
            if !after.facts.is_empty() || !after.effects.is_empty() {
                next = Some(after);
            }
        }
        Ok(())
    }

    async fn append(&mut self, out: &mut Output) -> Result<(), Error> {
        let (Some(first), Some(last)) = (out.facts.first(), out.facts.last()) else { return Ok(()) };
        let (expected_head, at) = (Seq(first.seq.0 - 1), last.ts);
        self.count(&out.facts);
        let summary = self.machine.state().summary();
        let came_to_rest = summary.turn.is_none()
            && summary.queued == summary.held
            && out.facts.iter().any(|fact| matches!(fact.event, Event::Done(_)));
        let durability = out.facts.iter().map(|fact| fact.event.durability()).max().unwrap_or(Durability::Grouped);
        let append = Append {
            session: self.id.clone(),
            epoch: self.epoch,
            expected_head,
            records: std::mem::take(&mut out.facts).into_iter().map(Envelope::into_record).collect(),
            blobs: std::mem::take(&mut out.blobs),
            summary,
            at,
            durability,
        };
        if came_to_rest {
            // Before the end of the turn becomes visible: a tap that is opened after it is meant for the next turn.
            self.sessions.0.taps.idle(&self.id);
        }
        let head = self.sessions.log().append(append).await?;
        self.save_when_due(head);
        self.sessions.0.slash_commands.remember(self.machine.runtime(), &out.facts);
        Ok(())
    }

    /// Nothing waits for it: what the agent says meanwhile is appended before it or after it.
    fn save_when_due(&mut self, head: Seq) {
        let state = self.machine.state();
        // What is not in the log yet must not be kept beside it.
        if self.saved.is_due(head) && state.head == head {
            let (saved, saving) = self.sessions.save_state(&self.id, state);
            self.saved = saved;
            self.sessions.0.tracker.spawn(saving);
        }
    }

    async fn save_at_rest(&mut self) {
        let state = self.machine.state();
        if self.saved.is_due_at_rest(state.head) {
            self.sessions.save_state(&self.id, state).1.await;
        }
    }

    fn count(&mut self, facts: &[Envelope]) {
        let metrics = &self.sessions.0.metrics;
        for fact in facts {
            match &fact.event {
                Event::TurnStarted(_) => {
                    metrics.turns_started.inc();
                    self.turn_started = Some(Instant::now());
                }
                Event::Done(done) => metrics.turn_ended(done.outcome, self.turn_started.take()),
                Event::AgentUnparsed(_) => {
                    metrics.unparsed.inc();
                }
                _ => {}
            }
        }
    }

    async fn perform(&mut self, effect: Effect, after: &mut Output) -> Result<(), Error> {
        match effect {
            Effect::Reply { to, outcome } => {
                if let Some(answer) = self.waiting.remove(&to) {
                    // The client may have gone; the fact stays.
                    drop(answer.send(Answer::Outcome(outcome)));
                }
            }
            Effect::Start(opening) => self.start(opening, after).await,
            Effect::Order(order) => {
                let order = with_content(self.sessions.log(), order).await?;
                let mut protocol_output = runtime::Output::default();
                if let Some(agent) = &mut self.agent {
                    agent.protocol.order(&order, &mut protocol_output);
                }
                let at = self.now();
                self.apply_protocol_output(protocol_output, at, after).await;
            }
            Effect::StoreRule { rule, scope: _, by, at } => {
                let note = format!("{by}, {at}, in session {}", self.id);
                if let Err(error) = self.sessions.0.rules.always().add(&rule, &note) {
                    // The answer stands for this once, and the next equal call asks again.
                    tracing::error!(session = %self.id, %error, "a rule could not be kept");
                }
            }
            Effect::Terminate => self.agent.iter().for_each(|agent| agent.process.handle.terminate()),
            Effect::Kill => self.agent.iter().for_each(|agent| agent.process.handle.kill()),
        }
        Ok(())
    }

    /// Where an agent is to build, its sub-agents get roles. That they cannot is no reason not to start.
    fn prepare_workspace(&self, opening: &Opening) {
        let config = &self.sessions.0.config.roles;
        let (Some(cwd), Some(roles::MODE), false) = (&opening.cwd, opening.mode.as_deref(), config.off) else { return };
        if let Err(error) = roles::prepare(config, self.machine.runtime(), std::path::Path::new(cwd)) {
            tracing::warn!(session = %self.id, %error, "the workspace could not be prepared");
        }
    }

    async fn start(&mut self, opening: Opening, after: &mut Output) {
        let sessions = self.sessions.clone();
        self.prepare_workspace(&opening);
        sessions.wait_for_mirror(&self.id).await;
        let started = match sessions.runtime(self.machine.runtime()) {
            Ok(runtime) => runtime.start(&opening, &sessions.0.context).await,
            Err(error) => {
                Err(runtime::StartFailure { message: error.to_string(), code: "unknown_runtime".to_owned(), fix: None })
            }
        };
        match started {
            Ok(Running { agent, mut protocol, held }) => {
                let mut protocol_output = runtime::Output::default();
                protocol.open(&opening, &mut protocol_output);
                self.agent = Some(RunningAgent { process: agent, protocol, silent: false, _held: held });
                let at = self.now();
                self.apply_protocol_output(protocol_output, at, after).await;
            }
            Err(failure) => {
                let at = self.now();
                self.machine.handle(Input::StartFailed(failure), at, after);
            }
        }
    }
}

/// Whatever comes from the agent, and the flushing of what goes to it. Without an agent, nothing ever does.
async fn listen(agent: &mut Option<RunningAgent>, lines: &mut Vec<Line>) -> WakeReason {
    let Some(RunningAgent { process, silent, .. }) = agent else { return std::future::pending().await };
    let waiting = process.input.is_waiting();
    tokio::select! {
        count = process.output.next_batch(lines), if !*silent => WakeReason::Lines(count),
        written = process.input.flush(), if waiting => WakeReason::Written(written),
        exit = process.handle.wait(), if *silent => WakeReason::Exited(exit),
    }
}

/// Brings back the content that left a message for a blob: an agent needs all of it.
async fn with_content(log: &Log, mut order: Order) -> Result<Order, Error> {
    let messages: Vec<&mut runtime::Prompt> = match &mut order {
        Order::Prompt { messages, .. } => messages.iter_mut().collect(),
        Order::Steer { message, .. } => vec![message],
        Order::Interrupt
        | Order::Answer { .. }
        | Order::Verdict { .. }
        | Order::SetModel { .. }
        | Order::SetMode { .. }
        | Order::Compact { .. }
        | Order::StopBackground { .. }
        | Order::Configure { .. }
        | Order::State { .. }
        | Order::Callback(_)
        | Order::Rollback(_)
        | Order::Close => return Ok(order),
    };
    for part in messages.into_iter().flat_map(|message| &mut message.content) {
        if let Part::Image { data: data @ None, blob: Some(blob), .. } = part {
            let slice = log.blob(&blob.id, BlobRange::default()).await?;
            *data = slice.map(|slice| String::from_utf8_lossy(&slice.bytes).into_owned());
        }
    }
    Ok(order)
}

async fn sleep(left: Option<Duration>) {
    match left {
        None => std::future::pending().await,
        Some(left) => tokio::time::sleep(left).await,
    }
}
