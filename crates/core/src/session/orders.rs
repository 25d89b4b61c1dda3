//! The orders of an agent that may lose its connection, as a fold of the log: what is sent again is what was sent, and the o-th order is the same
//! whoever computes it, and when. The orders of an epoch are counted from the `session_ready` that began it.
//!
//! Not here: `open`, `close` and `rollback`, which have no number, and everything that is told to agents on a pipe.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::open::OpenAsk;
use super::state::State;
use crate::budget;
use crate::command::{AfterAnswer, Answer};
use crate::event::{
    AGENT, Activity, Budget, BudgetHold, BudgetState, Envelope, Event, Origin, PermissionReply, PermissionResolved,
    SessionReady, SteerState, Unanswered,
};
use crate::id::AskId;
use crate::runtime::{Answered, AskRequest, CallbackOrder, Order, Prompt};
use crate::shared;

/// How many callbacks are kept for an agent that is not there. The oldest go first.
pub(super) const MAX_WAITING_CALLBACKS: usize = 100;

/// What of the state is about orders.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Outbox {
    /// How often an agent was ready that is told by the log; never, for all others.
    pub(super) epoch: u64,
    /// The orders of this epoch.
    pub(super) sent: u64,
    /// What was done in components while no agent was there.
    pub(super) callbacks: Vec<CallbackOrder>,
    /// The messages of the turn that is open, or about to begin.
    pub(super) prompt: Vec<Prompt>,
}

/// What waiting has decided is an answer to the agent like any other; what nobody wants to know any more is none.
fn is_answer(unanswered: Option<Unanswered>) -> bool {
    matches!(unanswered, None | Some(Unanswered::Expired))
}

/// Whether a turn's message goes to the agent with this.
fn lets_message_go(budget: &Budget) -> bool {
    budget.state == BudgetState::Raised && budget.how == Some(BudgetHold::Message)
}

/// An order and its number in its epoch.
pub type Numbered = (u64, Order);

impl State {
    /// Folds a fact, and says what the agent has to be told of it.
    pub fn apply_and_order(&mut self, envelope: &Envelope) -> Vec<Numbered> {
        let orders = self.orders_of(envelope);
        self.fold(envelope);
        self.outbox.apply(envelope);
        let before = self.outbox.sent;
        self.outbox.sent += orders.len() as u64;
        (before + 1..).zip(orders).collect()
    }

    /// How often an agent was ready that is told by the log, and how many orders it was told since.
    pub fn told(&self) -> (u64, u64) {
        (self.outbox.epoch, self.outbox.sent)
    }

    fn orders_of(&self, envelope: &Envelope) -> Vec<Order> {
        if let Event::SessionReady(SessionReady { epoch: Some(_), .. }) = &envelope.event {
            return self.orders_at_ready();
        }
        if self.outbox.epoch == 0 {
            return Vec::new();
        }
        let told = |by: Option<&str>| by.is_some_and(|by| by != AGENT);
        match &envelope.event {
            // It hears of it when a person has said that it may go over a budget.
            Event::TurnStarted(started) if started.waits == Some(true) => Vec::new(),
            Event::Budget(budget) if self.ledger.holds_message() && lets_message_go(budget) => self.prompt_again(),
            Event::TurnStarted(started) if !matches!(started.origin, Origin::Agent | Origin::Import) => {
                let Some(turn_id) = envelope.turn_id.clone() else { return Vec::new() };
                if started.message_ids.is_empty() {
                    return vec![Order::Compact { turn_id }];
                }
                let is_its = |prompt: &&Prompt| started.message_ids.contains(&prompt.message_id);
                let messages = self.outbox.prompt.iter().filter(is_its).cloned().collect();
                vec![Order::Prompt { turn_id, messages }]
            }
            Event::Steer(steer) if steer.state == SteerState::Accepted && !self.ledger.holds_message() => {
                let Some(turn_id) = envelope.turn_id.clone() else { return Vec::new() };
                let content = steer.content.clone().unwrap_or_default();
                let origin = steer.origin.unwrap_or_default();
                vec![Order::Steer {
                    turn_id,
                    message: Prompt { message_id: steer.message_id.clone(), content, origin },
                }]
            }
            // A stop is said once, however many steps it takes.
            Event::Status(status) if status.state == Activity::Stopping && !self.stopping && self.turn.is_some() => {
                vec![Order::Interrupt { turn_id: self.turn.clone() }]
            }
            Event::PermissionResolved(resolved) if is_answer(resolved.unanswered) => self.permission(resolved),
            Event::QuestionResolved(resolved) if resolved.unanswered.is_none() => {
                self.answer_order(&resolved.ask_id, &resolved.by, |_| Answer::Question {
                    answers: resolved.answers.clone(),
                })
            }
            Event::InterruptResolved(resolved) if resolved.unanswered.is_none() => {
                let value = resolved.value.clone().unwrap_or_default();
                self.answer_order(&resolved.interrupt_id, &resolved.by, |_| match resolved.is_error {
                    Some(true) => Answer::ToolFailed { output: value },
                    Some(false) | None => Answer::Interrupt { value },
                })
            }
            Event::ComponentCallback(callback) if callback.waits.is_none() && callback.settles.is_none() => {
                vec![Order::Callback(CallbackOrder::of(callback))]
            }
            Event::StateDelta(delta) if told(Some(&delta.by)) => match shared::patched(&self.shared, &delta.patch) {
                Ok(state) => {
                    vec![Order::State { state, patch: Some(delta.patch.clone()), by: Some(delta.by.clone()) }]
                }
                Err(_) => Vec::new(),
            },
            Event::ModelChanged(changed) if told(changed.by.as_deref()) => {
                vec![Order::SetModel { model: changed.model.clone() }]
            }
            Event::ModeChanged(changed) if told(changed.by.as_deref()) => {
                vec![Order::SetMode { mode: changed.mode.clone() }]
            }
            Event::SessionUpdated(updated) if told(Some(&updated.by)) => {
                let mut settings: Option<Map<String, Value>> = updated.settings.clone();
                // What it may spend is not the agent's affair.
                if let Some(settings) = &mut settings {
                    settings.retain(|name, _| ![budget::OWN, budget::GROUP].contains(&name.as_str()));
                }
                settings
                    .filter(|settings| !settings.is_empty())
                    .into_iter()
                    .map(|settings| Order::Configure { settings })
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// What an agent that has just become ready does not know.
    fn orders_at_ready(&self) -> Vec<Order> {
        let mut orders = Vec::new();
        if !self.shared.is_null() {
            orders.push(Order::State { state: self.shared.clone(), patch: None, by: None });
        }
        orders.extend(self.outbox.callbacks.iter().cloned().map(Order::Callback));
        if !self.ledger.holds_message() {
            orders.extend(self.prompt_again());
        }
        orders
    }

    /// What the turn is about, and what was said into it.
    fn prompt_again(&self) -> Vec<Order> {
        let Some(turn_id) = self.turn.clone() else { return Vec::new() };
        let messages = self.outbox.prompt.clone();
        let began = turn_id.clone();
        let mut orders = vec![if messages.is_empty() {
            Order::Compact { turn_id: began }
        } else {
            Order::Prompt { turn_id: began, messages }
        }];
        orders.extend(self.steers.iter().map(|steer| {
            let (message_id, content) = (steer.message_id.clone(), steer.content.clone());
            Order::Steer { turn_id: turn_id.clone(), message: Prompt { message_id, content, origin: steer.origin } }
        }));
        orders
    }

    fn permission(&self, resolved: &PermissionResolved) -> Vec<Order> {
        self.answer_order(&resolved.ask_id, &resolved.by, |ask| {
            let (mut reply, rule) = (resolved.reply, resolved.rule.clone());
            let options = match &ask.pending.request {
                AskRequest::Permission(request) => request.options.as_slice(),
                AskRequest::Question(_) | AskRequest::Interrupt(_) => &[],
            };
            // A rule of ours is kept here; the agent only hears that it may.
            if options.iter().any(|option| option.rule == rule && option.scope.is_some()) && rule.is_some() {
                reply = PermissionReply::Once;
            }
            Answer::Permission {
                reply,
                updated_input: resolved.updated_input.clone(),
                message: resolved.reason.clone(),
                rule,
                and_then: AfterAnswer::GoOn,
            }
        })
    }

    fn answer_order(&self, ask_id: &AskId, by: &str, answer: impl FnOnce(&OpenAsk) -> Answer) -> Vec<Order> {
        let asked = self.open.asks.get(ask_id).and_then(|ask| Some((ask, ask.key()?.to_owned())));
        let Some((ask, key)) = asked else { return Vec::new() };
        let about =
            Answered { ask_id: ask_id.clone(), by: by.to_owned(), is_tool: ask.pending.client_call().is_some() };
        vec![Order::Answer { key, answer: answer(ask), about: Some(Box::new(about)) }]
    }
}

impl Outbox {
    fn apply(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::SessionReady(SessionReady { epoch: Some(epoch), .. }) => {
                (self.epoch, self.sent) = (*epoch, 0);
                self.callbacks.clear();
            }
            Event::ComponentCallback(callback) if callback.waits == Some(true) => {
                if self.callbacks.len() >= MAX_WAITING_CALLBACKS {
                    self.callbacks.remove(0);
                }
                self.callbacks.push(CallbackOrder::of(callback));
            }
            Event::Done(_) => self.prompt.clear(),
            _ => {}
        }
    }

    /// A message that a turn is about to begin with.
    pub(super) fn expect(&mut self, message: &crate::event::UserMessage) {
        let crate::event::UserMessage { message_id, content, origin, .. } = message;
        self.prompt.push(Prompt { message_id: message_id.clone(), content: content.clone(), origin: *origin });
    }
}
