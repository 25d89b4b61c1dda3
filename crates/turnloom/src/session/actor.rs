//! The one task that owns a session: only it appends to the session's log and speaks with the agent. It decides nothing. It passes inputs to the
//! machine, appends the facts to the log, then carries out the effects, in that order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use turnloom_core::delegation::Heard;
use turnloom_core::event::{Envelope, Event, Part};
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::policy;
use turnloom_core::runtime::external::Control;
use turnloom_core::runtime::{self, Opening, Order, Protocol};
use turnloom_core::session::{Effect, Input, Machine, Output, ReplyTo};
use turnloom_core::time::Timestamp;

use super::clock::Clock;
use super::outbox::{Outbox, is_numbered};
use super::state::Saved;
use super::{Answer, Error, Request, Sessions, host_files, output_files};
use crate::log::{Append, BlobRange, Durability, Epoch, Log, SessionRow, Tail};
use crate::policy::Chosen;
use crate::process::{self, Line};
use crate::roles;
use crate::runtime::program::default_directory;
use crate::runtime::{Running, describe};
use crate::scoped_tokens::Loan;

/// How many commands are handled before the next append. They share its sync; more would make the first of them wait.
const COMMANDS_PER_APPEND: usize = 32;

pub(super) struct Actor {
    sessions: Sessions,
    row: SessionRow,
    requests: mpsc::Receiver<Request>,
    heard: Heard,
}

impl Actor {
    pub(super) fn new(sessions: Sessions, row: SessionRow, requests: mpsc::Receiver<Request>, heard: Heard) -> Self {
        Self { sessions, row, requests, heard }
    }

    pub(super) async fn run(self) {
        let Actor { sessions, row, mut requests, heard } = self;
        let id = row.id.clone();
        let failure = match Session::load(sessions.clone(), row, heard).await {
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
pub(super) struct Session {
    pub(super) sessions: Sessions,
    pub(super) id: SessionId,
    pub(super) machine: Machine,
    clock: Clock,
    epoch: Epoch,
    /// What is kept of the machine's state.
    saved: Saved,
    /// Keeps recent events in memory for followers.
    _tail: Tail,
    pub(super) agent: Option<RunningAgent>,
    waiting: std::collections::HashMap<ReplyTo, oneshot::Sender<Answer>>,
    pub(super) next_reply: ReplyTo,
    turn_started: Option<Instant>,
    /// What an agent was told that may lose its connection, and how far it has been heard.
    pub(super) outbox: Outbox,
}

pub(super) struct RunningAgent {
    pub(super) process: process::Agent,
    pub(super) protocol: Box<dyn Protocol>,
    /// Its output has ended; only its exit is still to come.
    pub(super) silent: bool,
    pub(super) _held: Option<Box<dyn std::any::Any + Send>>,
    /// The token that its scripts were lent.
    pub(super) _loan: Option<Loan>,
}

/// What woke the session.
enum WakeReason {
    Command(Request),
    AllSendersGone,
    Lines(usize),
    Written(Result<(), process::Error>),
    Exited(process::Exit),
    /// Somebody has answered *always*, here or elsewhere.
    RuleStored,
    /// Some session has spent something.
    Spent,
    Deadline,
    Shutdown,
    Idle,
}

impl Session {
    async fn load(sessions: Sessions, row: SessionRow, heard_of_children: Heard) -> Result<Self, Error> {
        let id = row.id.clone();
        let claim = sessions.log().claim(&id).await?;
        let (state, saved) = sessions.load_state(&id, claim.head).await?;
        // What was read before the claim may be older than what the last owner wrote.
        let heard = sessions.row(&id).await?.agent;
        let open = heard.as_ref().is_some_and(|heard| heard.open);
        let sent = state.told().1;
        let machine = sessions.machine_of_agent(id.clone(), &row.runtime, row.params, state, open)?;
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
            outbox: Outbox::new(heard, sent),
        };
        let mut out = Output::default();
        let at = session.now();
        session.hear_of_spending(at, &mut out);
        if let Some(parent) = session.machine.parent() {
            session.sessions.works_for(&session.id, parent);
        }
        session.look_at_children(heard_of_children, &mut out).await?;
        let at = session.now();
        session.machine.recover(at, &mut out);
        session.carry_out(out).await?;
        Ok(session)
    }

    async fn serve(&mut self, requests: &mut mpsc::Receiver<Request>) -> Result<(), Error> {
        let shutdown = self.sessions.0.shutdown.clone();
        let linger = Duration::from_secs(self.sessions.0.config.linger_seconds.into());
        let mut rule_stored = self.sessions.0.rule_stored.subscribe();
        let mut components = self.sessions.0.components.subscribe();
        self.machine.set_components(Arc::clone(&components.borrow_and_update()));
        let mut spent = self.sessions.0.budgets.watch();
        let mut lines = Vec::new();
        loop {
            let is_shared = self.machine.budget().is_shared();
            let leaving = self.machine.can_unload() && self.agent.is_none();
            if leaving && (self.machine.is_shutting_down() || self.machine.state().is_archived()) && requests.is_empty()
            {
                return Ok(());
            }
            let left = self.time_left();
            let reason = tokio::select! {
                biased;
                () = shutdown.cancelled(), if !self.machine.is_shutting_down() => WakeReason::Shutdown,
                Ok(()) = rule_stored.changed() => WakeReason::RuleStored,
                Ok(()) = spent.changed(), if is_shared => WakeReason::Spent,
                request = requests.recv() => request.map_or(WakeReason::AllSendersGone, WakeReason::Command),
                reason = listen(&mut self.agent, &mut lines) => reason,
                () = sleep(left) => WakeReason::Deadline,
                () = tokio::time::sleep(linger), if leaving => WakeReason::Idle,
            };
            // Before anything is made of what came: a fact is made by the components that are there then.
            if components.has_changed().is_ok_and(|changed| changed) {
                self.machine.set_components(Arc::clone(&components.borrow_and_update()));
            }
            let at = self.now();
            let mut out = Output::default();
            match reason {
                WakeReason::Command(request) => {
                    self.hear_of_spending(at, &mut out);
                    self.commands(request, requests, at, &mut out);
                }
                WakeReason::Spent => self.hear_of_spending(at, &mut out),
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
                WakeReason::RuleStored => {
                    let stored = rule_stored.borrow_and_update().clone();
                    self.settle_allowed(stored, at, &mut out);
                }
                WakeReason::Deadline => self.machine.handle(Input::Tick, at, &mut out),
                WakeReason::Shutdown => self.machine.handle(Input::Shutdown, at, &mut out),
                WakeReason::Idle | WakeReason::AllSendersGone => return Ok(()),
            }
            self.carry_out(out).await?;
            self.sessions.0.metrics.stale.inc_by(self.machine.take_stale());
            if self.machine.is_shutting_down() && self.machine.is_told_by_log() {
                // Its agent has the turn, and the next daemon goes on with it.
                return Ok(());
            }
        }
    }

    /// Tells the machine what other sessions have spent, if that matters to it.
    fn hear_of_spending(&mut self, at: Timestamp, out: &mut Output) {
        let plan = self.machine.budget();
        if plan.is_shared() {
            let shared = self.sessions.0.budgets.shared(&self.id, &plan, self.machine.is_in_turn());
            self.machine.handle(Input::Shared(Box::new(shared)), at, out);
        }
    }

    /// What the wall clock says. If it was set, deadlines stay as far away as they were.
    pub(super) fn now(&mut self) -> Timestamp {
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
            let edited = self.machine.edited_call(&command.command).and_then(|call| self.judge_call(call));
            let input = match edited {
                Some(judgement) => Input::JudgedEdit { command, judgement, reply_to },
                None => Input::Command { command, reply_to },
            };
            self.machine.handle(input, at, out);
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
    pub(super) async fn apply_protocol_output(
        &mut self,
        protocol_output: runtime::Output,
        at: Timestamp,
        out: &mut Output,
    ) {
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
            if matches!(report, runtime::Report::Ready(_) | runtime::Report::Back { .. })
                && let Ok(runtime) = self.sessions.runtime(self.machine.runtime())
            {
                self.machine.set_capabilities(runtime.capabilities());
            }
            if let runtime::Report::Back { connection, heard } = report {
                self.tell_again(connection, heard).await;
            }
            let judgement = self.judge(&report);
            let may_read = !matches!(
                judgement.as_ref().and_then(|judgement| judgement.effect),
                Some(policy::Effect::Deny | policy::Effect::Ask)
            );
            let report = if may_read { self.with_file(report, deadline).await } else { report };
            let input = match judgement {
                Some(judgement) => Input::Judged { report, judgement },
                None => Input::Report(report),
            };
            self.machine.handle(input, at, out);
        }
    }

    /// A call with the file that it names, if it names one.
    async fn with_file(&mut self, report: runtime::Report, deadline: tokio::time::Instant) -> runtime::Report {
        let Some(path) = self.machine.wanted_file(&report).map(str::to_owned) else { return report };
        let workspace = self.workspace();
        let file = host_files::read(&workspace, &path, deadline).await;
        match report {
            runtime::Report::HostCall(mut call) => {
                call.file = Some(file);
                runtime::Report::HostCall(call)
            }
            other => other,
        }
    }

    /// The folder in which the agent works.
    pub(super) fn workspace(&self) -> String {
        self.machine.workspace().map_or_else(|| default_directory().display().to_string(), str::to_owned)
    }

    /// Makes facts durable, then does what follows from them. What follows may lead to more facts.
    async fn carry_out(&mut self, out: Output) -> Result<(), Error> {
        let mut next = Some(out);
        while let Some(mut out) = next.take() {
            self.append(&mut out).await?;
            let mut after = Output::default();
            self.tell(std::mem::take(&mut out.orders), &mut after).await?;
            for effect in std::mem::take(&mut out.effects) {
                self.perform(effect, &mut after).await?;
            }
            if !after.facts.is_empty() || !after.effects.is_empty() || !after.orders.is_empty() {
                next = Some(after);
            }
        }
        Ok(())
    }

    async fn append(&mut self, out: &mut Output) -> Result<(), Error> {
        let cursor = self.newly_heard();
        if out.facts.is_empty() && cursor.is_none() {
            return Ok(());
        }
        let head = self.machine.head();
        let expected_head = out.facts.first().map_or(head, |first| Seq(first.seq.0 - 1));
        let at = out.facts.last().map_or_else(|| self.now(), |last| last.ts);
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
            agent: cursor.clone(),
        };
        if came_to_rest {
            // Before the end of the turn becomes visible: a tap that is opened after it is meant for the next turn.
            self.sessions.0.taps.idle(&self.id);
        }
        let head = self.sessions.log().append(append).await?;
        self.acknowledge(cursor);
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
            Effect::Attach => self.attach(after),
            Effect::Disconnect => {
                let mut protocol_output = runtime::Output::default();
                if let Some(agent) = &mut self.agent {
                    agent.protocol.control_hub(Control::Disconnect, &mut protocol_output);
                }
                let at = self.now();
                self.apply_protocol_output(protocol_output, at, after).await;
            }
            // The log tells it, unless it has no number.
            Effect::Order(order) if self.machine.is_told_by_log() && is_numbered(&order) => {}
            Effect::Order(order) => {
                let order = with_content(self.sessions.log(), order).await?;
                let mut protocol_output = runtime::Output::default();
                if let Some(agent) = &mut self.agent {
                    agent.protocol.order(&order, &mut protocol_output);
                }
                let at = self.now();
                self.apply_protocol_output(protocol_output, at, after).await;
            }
            Effect::StoreRule { rule, scope: _, by, ask_id, at } => {
                let chosen = Chosen { by: by.clone(), at, session_id: self.id.clone() };
                match self.sessions.0.rules.always().add(&rule, &chosen.note()) {
                    Ok(_) => self.sessions.rule_stored(by, ask_id),
                    // The answer stands for this once, and the next equal call asks again.
                    Err(error) => tracing::error!(session = %self.id, %error, "a rule could not be kept"),
                }
            }
            Effect::Delegate(start) => self.sessions.delegate(self.id.clone(), *start),
            Effect::TellChild { child, message_id, text } => {
                self.sessions.tell_child(self.id.clone(), child, message_id, text);
            }
            Effect::StopChildren(children) => self.sessions.stop_children(&self.id, children),
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

    async fn start(&mut self, mut opening: Opening, after: &mut Output) {
        let sessions = self.sessions.clone();
        let loan = self.lend_token(&mut opening);
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
                self.agent = Some(RunningAgent { process: agent, protocol, silent: false, _held: held, _loan: loan });
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
pub(super) async fn with_content(log: &Log, mut order: Order) -> Result<Order, Error> {
    let messages: Vec<&mut runtime::Prompt> = match &mut order {
        Order::Prompt { messages, .. } => messages.iter_mut().collect(),
        Order::Steer { message, .. } => vec![message],
        Order::Interrupt { .. }
        | Order::Answer { .. }
        | Order::Verdict { .. }
        | Order::SetModel { .. }
        | Order::SetMode { .. }
        | Order::Compact { .. }
        | Order::StopBackground { .. }
        | Order::Configure { .. }
        | Order::State { .. }
        | Order::Callback(_)
        | Order::HostResult { .. }
        | Order::HostTools(_)
        | Order::Rollback(_)
        | Order::Close { .. } => return Ok(order),
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
