//! A session as its log tells it. [`State::apply`] is total: whatever a log holds, it is folded without complaint.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::children::Children;
use super::host_calls::Waited;
use super::import;
use super::news::News;
use super::open::OpenWork;
use super::orders::Outbox;
use super::screen::Untold;
use crate::budget::Ledger;
use crate::client_tools;
use crate::command::{Files, Receipt};
use crate::component::{self, Shown};
use crate::event::{
    Envelope, Event, Hold, MessageSource, Origin, Outcome, Part, QueueItem, QueueState, SteerState, Unanswered,
};
use crate::id::{AskId, MessageId, Seq, ToolUseId, TurnId};
use crate::runtime::RollbackOrder;
use crate::shared;
use crate::summary::{ContextUse, LostAsk, Problem, SessionStatus, Summary, first_line};

/// What is stored of it is versioned: see [`State::VERSION`].
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    pub head: Seq,
    pub(super) title: String,
    pub(super) archived: bool,
    pub(super) ended: bool,
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
    pub(super) mode: Option<String>,
    pub(super) provider_session_id: Option<String>,
    /// Something was said in that conversation, so the agent has it stored.
    pub(super) conversed: bool,
    /// The conversation that the agent goes on from, until it has said something in a copy of its own.
    pub(super) fork_of: Option<Branch>,
    /// What of the parameters was changed since.
    pub(super) settings: Map<String, Value>,
    pub(super) turn: Option<TurnId>,
    pub(super) stopping: bool,
    pub(super) last_outcome: Option<Outcome>,
    pub(super) problem: Option<Problem>,
    pub(super) open: OpenWork,
    pub(super) queue: VecDeque<Queued>,
    /// Messages for the running turn that the agent has not taken yet.
    pub(super) steers: Vec<Queued>,
    receipts: BTreeMap<MessageId, Accepted>,
    pub(super) settled: BTreeMap<AskId, Settled>,
    /// What was asked last and could not be answered any more, as long as nothing was done since.
    lost_ask: Option<LostAsk>,
    /// Where somebody last agreed that an imported session may run.
    pub(super) agreed_at: Option<Seq>,
    /// What the agent and its clients share, and where it was last changed.
    pub(super) shared: Value,
    pub(super) shared_at: Seq,
    /// Calls that waited for a client, or still do, and their asks.
    pub(super) client_calls: BTreeMap<ToolUseId, AskId>,
    /// The components that are shown.
    pub(super) components: Shown,
    /// Ended turns that were not rolled back, with where each ended.
    turns: Vec<EndedTurn>,
    first_message: Option<MessageId>,
    pub(super) outbox: Outbox,
    /// What people did on the screen that the agent has not heard.
    pub(super) untold: Untold,
    /// How the latest waits for people ended, of which an agent may ask later.
    pub(super) waited: VecDeque<Waited>,
    /// The version of each artifact.
    pub(super) artifacts: BTreeMap<String, u64>,
    /// What was last added from outside, and where each begins.
    pub(super) emitted: VecDeque<(String, Seq)>,
    /// What was spent, and what became of the limits.
    pub(super) ledger: Ledger,
    /// What somebody who was away wants to hear of.
    news: News,
    /// The sessions that work for this one, and the one that it works for.
    pub(super) children: Children,
    context: Option<ContextUse>,
}

/// A place in a conversation of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Branch {
    pub(super) provider_session_id: String,
    pub(super) at: Option<String>,
}

// Of these three there may be tens of thousands. They are stored as rows without names, which derived code reads as well.

#[derive(Debug, PartialEq, Deserialize)]
struct EndedTurn {
    id: TurnId,
    end: Seq,
    anchor: Option<String>,
    first_message: Option<MessageId>,
}

/// What of a receipt is not the same for all.
#[derive(Debug, PartialEq, Deserialize)]
struct Accepted {
    turn_id: Option<TurnId>,
    /// Its place in the queue, if it had to wait.
    position: Option<u64>,
}

/// How an ask ended.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Settled {
    pub(super) by: String,
    pub(super) how: String,
    pub(super) seq: Seq,
}

impl Serialize for EndedTurn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.id, self.end, &self.anchor, &self.first_message).serialize(serializer)
    }
}

impl Serialize for Accepted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.turn_id, self.position).serialize(serializer)
    }
}

impl Serialize for Settled {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.by, &self.how, self.seq).serialize(serializer)
    }
}

/// A message that was accepted and waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Queued {
    pub(super) message_id: MessageId,
    pub(super) content: Vec<Part>,
    pub(super) origin: Origin,
    pub(super) source: Option<MessageSource>,
    pub(super) state: QueueState,
    /// It waits for somebody to say that it may go on.
    pub(super) held: Option<Hold>,
}

impl State {
    pub fn apply(&mut self, envelope: &Envelope) {
        drop(self.apply_and_order(envelope));
    }

    pub(super) fn fold(&mut self, envelope: &Envelope) {
        self.head = envelope.seq;
        self.apply_emitted(envelope);
        self.apply_lost(envelope);
        self.apply_waited(envelope);
        self.untold.apply(envelope);
        self.open.apply(envelope);
        self.components.step(envelope);
        self.ledger.apply(envelope);
        self.news.apply(envelope);
        self.children.apply(envelope);
        ContextUse::fold(&mut self.context, envelope);
        match &envelope.event {
            Event::SessionReady(ready) => {
                self.ended = false;
                let set = |to: &mut Option<String>, from: &Option<String>| {
                    if from.is_some() {
                        to.clone_from(from);
                    }
                };
                set(&mut self.cwd, &ready.cwd);
                set(&mut self.model, &ready.model);
                set(&mut self.mode, &ready.mode);
                if ready.provider_session_id.is_some() && ready.provider_session_id != self.provider_session_id {
                    self.conversed = ready.resumed == Some(true) && self.fork_of.is_none();
                }
                set(&mut self.provider_session_id, &ready.provider_session_id);
                if let Some(title) = &ready.title {
                    self.title.clone_from(title);
                }
            }
            Event::SessionUpdated(updated) => {
                if let Some(title) = &updated.title {
                    self.title.clone_from(title);
                }
                self.archived = updated.archived.unwrap_or(self.archived);
                self.settings.extend(updated.settings.clone().unwrap_or_default());
            }
            Event::ModeChanged(changed) => self.mode = Some(changed.mode.clone()),
            Event::ModelChanged(changed) => self.model = Some(changed.model.clone()),
            Event::SessionEnded(_) => self.ended = true,
            Event::UserMessage(message) => {
                if self.turn.is_none() {
                    self.outbox.expect(message);
                }
                self.apply_message(&message.message_id, envelope.turn_id.as_ref(), &message.content);
            }
            Event::TurnStarted(started) => {
                self.turn.clone_from(&envelope.turn_id);
                (self.problem, self.lost_ask) = (None, None);
                self.first_message = started.message_ids.first().cloned();
            }
            Event::Status(status) => self.stopping = status.state == crate::event::Activity::Stopping,
            Event::Steer(steer) => self.apply_steer(steer, envelope.turn_id.as_ref()),
            Event::Done(done) => {
                if let Some(id) = self.turn.take() {
                    let (anchor, first_message) = (done.anchor.clone(), self.first_message.take());
                    self.turns.push(EndedTurn { id, end: envelope.seq, anchor, first_message });
                }
                if self.provider_session_id.is_some() {
                    (self.conversed, self.fork_of) = (true, None);
                }
                self.stopping = false;
                self.last_outcome = Some(done.outcome);
            }
            Event::Failure(failure) => {
                let (code, message) = (failure.code.clone(), failure.message.clone());
                self.problem = Some(Problem { code, message, fix: failure.fix.clone() });
            }
            Event::QueueChanged(changed) => self.apply_queue(changed),
            Event::Rollback(rollback) => {
                self.turns.retain(|turn| !rollback.turn_ids.contains(&turn.id));
                if rollback.branched == Some(true) {
                    self.branch();
                }
            }
            Event::Forked(_) => self.branch(),
            Event::StateSnapshot(snapshot) => {
                (self.shared, self.shared_at) = (snapshot.state.clone(), envelope.seq);
            }
            Event::StateDelta(delta) => {
                // One that does not fit changes nothing; the log keeps it.
                if let Ok(state) = shared::patched(&self.shared, &delta.patch) {
                    (self.shared, self.shared_at) = (state, envelope.seq);
                }
            }
            Event::ArtifactCreated(created) => drop(self.artifacts.insert(created.artifact_id.clone(), 1)),
            Event::ArtifactVersion(version) => {
                self.artifacts.insert(version.artifact_id.clone(), version.version);
            }
            Event::ArtifactRemoved(removed) => drop(self.artifacts.remove(&removed.artifact_id)),
            Event::Interrupt(request) => {
                if let Some(tool_use_id) = &request.tool_use_id {
                    self.client_calls.insert(tool_use_id.clone(), request.interrupt_id.clone());
                }
            }
            _ => self.apply_settled(envelope),
        }
    }

    /// From here on the agent's conversation is a copy that ends with the last turn there is.
    fn branch(&mut self) {
        let at = self.last_anchor();
        let own = self.provider_session_id.take().filter(|_| self.conversed);
        if let Some(provider_session_id) = own.or_else(|| self.fork_of.take().map(|from| from.provider_session_id)) {
            // Without a turn there is nothing to copy.
            self.fork_of = (!self.turns.is_empty()).then_some(Branch { provider_session_id, at });
        }
        self.conversed = false;
    }

    /// Where the conversation stood at the end of the last turn that stands; of the one before, if that one was cut off.
    pub(super) fn last_anchor(&self) -> Option<String> {
        self.turns.iter().rev().find_map(|turn| turn.anchor.clone())
    }

    /// Where the conversation stood at the end of the last turn; not known, if that one was cut off.
    pub(super) fn end_of_conversation(&self) -> Option<String> {
        self.turns.last().and_then(|turn| turn.anchor.clone())
    }

    fn apply_message(&mut self, message_id: &MessageId, turn_id: Option<&TurnId>, content: &[Part]) {
        if self.title.is_empty() {
            self.title = first_line(content);
        }
        let accepted = || Accepted { turn_id: turn_id.cloned(), position: None };
        self.receipts.entry(message_id.clone()).or_insert_with(accepted);
    }

    fn apply_steer(&mut self, steer: &crate::event::Steer, turn_id: Option<&TurnId>) {
        if steer.state == SteerState::Accepted {
            self.apply_message(&steer.message_id, turn_id, steer.content.as_deref().unwrap_or_default());
            self.steers.push(Queued {
                message_id: steer.message_id.clone(),
                content: steer.content.clone().unwrap_or_default(),
                origin: steer.origin.unwrap_or_default(),
                source: None,
                state: QueueState::Waiting,
                held: None,
            });
        } else {
            self.steers.retain(|queued| queued.message_id != steer.message_id);
        }
    }

    fn apply_queue(&mut self, changed: &crate::event::QueueChanged) {
        let mut known: HashMap<MessageId, Queued> =
            self.queue.drain(..).map(|queued| (queued.message_id.clone(), queued)).collect();
        if let Some(added) = &changed.added {
            let queued = Queued {
                message_id: added.message_id.clone(),
                content: added.content.clone(),
                origin: added.origin,
                source: added.source.clone(),
                state: QueueState::Waiting,
                held: None,
            };
            known.insert(added.message_id.clone(), queued);
            let accepted = || Accepted { turn_id: None, position: Some(added.position) };
            self.receipts.entry(added.message_id.clone()).or_insert_with(accepted);
        }
        self.queue = changed
            .queue
            .iter()
            .filter_map(|item| {
                let queued = known.remove(&item.message_id)?;
                Some(Queued { state: item.state, held: item.held, ..queued })
            })
            .collect();
    }

    /// Before the ask is taken from what is open: there is its title.
    fn apply_lost(&mut self, envelope: &Envelope) {
        let (ask_id, unanswered, reason) = match &envelope.event {
            Event::PermissionResolved(resolved) => (&resolved.ask_id, resolved.unanswered, &resolved.reason),
            Event::QuestionResolved(resolved) => (&resolved.ask_id, resolved.unanswered, &resolved.reason),
            Event::InterruptResolved(resolved) => (&resolved.interrupt_id, resolved.unanswered, &resolved.reason),
            _ => return,
        };
        let ask = self.open.asks.get(ask_id).filter(|_| unanswered == Some(Unanswered::Interrupted));
        if let Some(pending) = ask.map(|ask| &ask.pending).filter(|pending| pending.client_call().is_none()) {
            self.lost_ask = Some(LostAsk {
                ask_id: ask_id.clone(),
                kind: pending.kind,
                title: pending.title.clone(),
                asked_at: pending.asked_at,
                lost_at: envelope.ts,
                reason: reason.clone().unwrap_or_default(),
            });
        }
    }

    fn apply_settled(&mut self, envelope: &Envelope) {
        let (ask_id, by, how) = match &envelope.event {
            Event::PermissionResolved(resolved) => {
                if resolved.allowed && resolved.tool_name == import::TOOL {
                    self.agreed_at = Some(envelope.seq);
                }
                let how = match (resolved.allowed, resolved.reply) {
                    (true, _) if resolved.unanswered == Some(Unanswered::Expired) => "allowed when its time had come",
                    (false, _) if resolved.unanswered == Some(Unanswered::Expired) => "rejected when its time had come",
                    _ if resolved.why_unanswered().is_some() => "withdrawn",
                    (true, crate::event::PermissionReply::Always) => "allowed always",
                    (true, _) => "allowed once",
                    (false, _) => "rejected",
                };
                (&resolved.ask_id, &resolved.by, how)
            }
            Event::QuestionResolved(resolved) => {
                let how = match resolved.rejected {
                    _ if resolved.why_unanswered().is_some() => "withdrawn",
                    Some(true) => "rejected",
                    Some(false) | None => "answered",
                };
                (&resolved.ask_id, &resolved.by, how)
            }
            Event::InterruptResolved(resolved) => {
                let how = match (&resolved.value, resolved.is_error) {
                    (None, _) => "withdrawn",
                    (Some(_), Some(true)) => "failed",
                    (Some(_), _) => "answered",
                };
                (&resolved.interrupt_id, &resolved.by, how)
            }
            _ => return,
        };
        let settled = Settled { by: by.clone(), how: how.to_owned(), seq: envelope.seq };
        self.settled.insert(ask_id.clone(), settled);
    }

    /// What was said when this message was accepted.
    pub(super) fn receipt(&self, message_id: &MessageId) -> Option<Receipt> {
        let Accepted { turn_id, position } = self.receipts.get(message_id)?;
        Some(Receipt {
            accepted: true,
            message_id: message_id.clone(),
            turn_id: turn_id.clone(),
            queued: position.is_some(),
            position: *position,
        })
    }

    /// What the client gave at creation, with what was changed since.
    pub(super) fn params(&self, given: &Value) -> Value {
        let mut params = given.as_object().cloned().unwrap_or_default();
        params.extend(self.settings.clone());
        Value::Object(params)
    }

    /// What a list shows of this session.
    pub fn summary(&self) -> Summary {
        Summary {
            status: self.status(),
            title: self.title.clone(),
            archived: self.archived,
            cwd: self.cwd.clone(),
            model: self.model.clone(),
            mode: self.mode.clone(),
            settings: self.own_settings(),
            provider_session_id: self.provider_session_id.clone(),
            turn: self.turn.clone(),
            asks: self.open.asks.values().map(|ask| ask.pending.clone()).collect(),
            queued: self.queue.len(),
            held: self.queue.iter().filter(|queued| queued.held.is_some()).count(),
            held_since: self.news.held.clone(),
            last_end: self.news.last_end.clone(),
            lost_ask: self.lost_ask.clone(),
            problem: self.problem.clone(),
            shares_state: !self.shared.is_null(),
            has_run_tools: self
                .settings
                .get(client_tools::RUN_TOOLS)
                .and_then(Value::as_array)
                .is_some_and(|tools| !tools.is_empty()),
            agreed_at: self.agreed_at,
            context: self.context,
            spent: self.ledger.tally().map(Box::new),
            parent_session_id: self.children.parent().cloned(),
            delegated_asks: self.children.asks().cloned().collect(),
            // Somebody has to look after a crash what has become of those that work for it.
            at_rest: self.at_rest() && self.children.open().next().is_none(),
        }
    }

    /// Without the tools and components of clients, which are no setting of the agent.
    fn own_settings(&self) -> Map<String, Value> {
        let of_clients = [
            client_tools::SESSION_TOOLS,
            client_tools::RUN_TOOLS,
            component::SESSION_COMPONENTS,
            component::SESSION_RULES,
        ];
        let own = self.settings.iter().filter(|(name, _)| !of_clients.contains(&name.as_str()));
        own.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    pub fn is_archived(&self) -> bool {
        self.archived
    }

    /// Nothing is open, and nothing waits that would go on by itself.
    pub fn at_rest(&self) -> bool {
        self.turn.is_none() && self.open.is_empty() && self.next_queued().is_none() && self.steers.is_empty()
    }

    fn status(&self) -> SessionStatus {
        match () {
            () if self.archived => SessionStatus::Archived,
            () if self.turn.is_some() && self.stopping => SessionStatus::Stopping,
            () if !self.open.asks.is_empty() => SessionStatus::Waiting,
            () if self.turn.is_some() => SessionStatus::Running,
            () if self.last_outcome == Some(Outcome::Failed) => SessionStatus::Failed,
            () => SessionStatus::Idle,
        }
    }

    /// How to take back the last `count` ended turns; `None` when there are not so many.
    pub(super) fn taking_back(&self, count: usize, files: Files) -> Option<RollbackOrder> {
        let kept = self.turns.len().checked_sub(count)?;
        let (stay, go) = self.turns.split_at_checked(kept)?;
        Some(RollbackOrder {
            turn_ids: go.iter().map(|turn| turn.id.clone()).collect(),
            kept,
            to: stay.last().and_then(|turn| turn.anchor.clone()),
            first_message: go.iter().find_map(|turn| turn.first_message.clone()),
            files,
        })
    }

    /// Where a fork may cut: after the named turn, or after the last one that ended. `None` when there is no such turn.
    pub fn fork_point(&self, at_turn: Option<&TurnId>) -> Option<Seq> {
        match at_turn {
            Some(wanted) => self.turns.iter().find(|turn| turn.id == *wanted).map(|turn| turn.end),
            None if self.turn.is_none() => Some(self.head),
            None => Some(self.turns.last().map_or(Seq(1), |turn| turn.end)),
        }
    }

    /// Whether there was a turn of this name that has ended.
    pub(super) fn has_had(&self, turn_id: &TurnId) -> bool {
        self.turns.iter().any(|turn| turn.id == *turn_id)
    }

    /// The message whose turn comes next.
    pub(super) fn next_queued(&self) -> Option<&Queued> {
        self.queue.iter().find(|queued| queued.held.is_none())
    }

    /// What of the parameters was changed since the session was made.
    pub fn settings(&self) -> &Map<String, Value> {
        &self.settings
    }

    pub fn queue_items(&self) -> Vec<QueueItem> {
        self.queue.iter().map(Queued::item).collect()
    }
}

impl Queued {
    pub(super) fn item(&self) -> QueueItem {
        QueueItem {
            message_id: self.message_id.clone(),
            preview: first_line(&self.content),
            state: self.state,
            held: self.held,
        }
    }
}
