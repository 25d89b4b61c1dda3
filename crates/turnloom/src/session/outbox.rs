//! What a session tells an agent that may lose its connection: orders from the log, acknowledgements after each commit, and everything again that was
//! not heard when it comes back. Which orders there are is decided in `core::session::orders`.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use serde_json::Value;
use turnloom_core::event::{Envelope, Event};
use turnloom_core::id::Seq;
use turnloom_core::runtime::external::{Control, Cursor};
use turnloom_core::runtime::{self, Opening, Order};
use turnloom_core::session::{Input, Numbered, Output, State};

use super::Error;
use super::actor::{RunningAgent, Session, with_content};
use super::create::EMIT;
use crate::scoped_tokens::Loan;

/// Orders that are kept at hand for an agent that was away for a moment. For one that has missed more, the log is read.
const AT_HAND: usize = 64;

#[derive(Debug)]
pub(super) struct Outbox {
    /// How far the agent has been heard, as it is stored.
    heard: Option<Cursor>,
    /// The last order of this epoch that is durable.
    sent: u64,
    at_hand: VecDeque<Numbered>,
}

impl Outbox {
    pub(super) fn new(heard: Option<Cursor>, sent: u64) -> Self {
        Self { heard, sent, at_hand: VecDeque::new() }
    }
}

/// Whether an order is told by the log. The others are about the agent that is there now.
pub(super) fn is_numbered(order: &Order) -> bool {
    !matches!(order, Order::Close { .. } | Order::Rollback(_))
}

impl Session {
    /// How far the agent has been heard, if that is not what is stored.
    pub(super) fn newly_heard(&self) -> Option<Cursor> {
        let open = self.machine.is_held_by_agent();
        let stored = self.outbox.heard.as_ref();
        let now = match self.agent.as_ref().and_then(|agent| agent.protocol.cursor()) {
            Some(cursor) => Cursor { open, ..cursor },
            // It has the session, and is not waited for yet: a daemon that ends now must not forget that.
            None if open => return None,
            None => Cursor { open: false, ..stored?.clone() },
        };
        let counts = now.open || stored.is_some_and(|stored| stored.open);
        (counts && stored != Some(&now)).then_some(now)
    }

    /// What the agent said is durable, and it may forget it.
    pub(super) fn acknowledge(&mut self, heard: Option<Cursor>) {
        let Some(heard) = heard else { return };
        let before =
            self.outbox.heard.as_ref().filter(|before| before.epoch == heard.epoch).map_or(0, |before| before.said);
        let (said, is_open) = (heard.said, heard.open);
        self.outbox.heard = Some(heard);
        if said > before && is_open {
            let mut protocol_output = runtime::Output::default();
            if let Some(agent) = &mut self.agent {
                agent.protocol.committed(said, &mut protocol_output);
            }
            self.write(&protocol_output.bytes);
        }
    }

    /// Tells the agent what follows from facts that are durable now.
    pub(super) async fn tell(&mut self, orders: Vec<Numbered>, after: &mut Output) -> Result<(), Error> {
        for (number, order) in orders {
            if number == 1 {
                self.outbox.at_hand.clear();
            }
            self.outbox.sent = number;
            self.outbox.at_hand.push_back((number, order.clone()));
            if self.outbox.at_hand.len() > AT_HAND {
                self.outbox.at_hand.pop_front();
            }
            // One that is not there, or not ready, hears it when it is.
            if !self.machine.is_held_by_agent() {
                continue;
            }
            let order = with_content(self.sessions.log(), order).await?;
            let mut protocol_output = runtime::Output::default();
            if let Some(agent) = &mut self.agent {
                agent.protocol.numbered(number, &order, &mut protocol_output);
            }
            let at = self.now();
            self.apply_protocol_output(protocol_output, at, after).await;
        }
        Ok(())
    }

    /// The agent is back: it hears again what it has not heard, and only then something new.
    pub(super) async fn tell_again(&mut self, connection: u64, heard: u64) {
        let orders = match self.missed(heard).await {
            Ok(orders) => orders,
            Err(error) => {
                // Without them it would wait for ever, so it has to come back.
                tracing::error!(session = %self.id, %error, "what an agent missed cannot be read");
                self.agent.iter().for_each(|agent| agent.process.handle.kill());
                return;
            }
        };
        let mut protocol_output = runtime::Output::default();
        if let Some(agent) = &mut self.agent {
            agent.protocol.control_hub(Control::Live { connection }, &mut protocol_output);
            if let Some(said) = self.outbox.heard.as_ref().map(|heard| heard.said).filter(|said| *said > 0) {
                agent.protocol.committed(said, &mut protocol_output);
            }
            for (number, order) in &orders {
                agent.protocol.numbered(*number, order, &mut protocol_output);
            }
        }
        self.write(&protocol_output.bytes);
    }

    /// The orders of this epoch that are durable, after this one.
    async fn missed(&mut self, heard: u64) -> Result<Vec<Numbered>, Error> {
        let sent = self.outbox.sent;
        if heard >= sent {
            return Ok(Vec::new());
        }
        let is_at_hand = self.outbox.at_hand.front().is_some_and(|(first, _)| *first <= heard + 1);
        let mut missed: Vec<Numbered> =
            if is_at_hand { self.outbox.at_hand.iter().cloned().collect() } else { self.orders_in_log().await? };
        missed.retain(|(number, _)| *number > heard && *number <= sent);
        let mut orders = Vec::with_capacity(missed.len());
        for (number, order) in missed {
            orders.push((number, with_content(self.sessions.log(), order).await?));
        }
        Ok(orders)
    }

    async fn orders_in_log(&mut self) -> Result<Vec<Numbered>, Error> {
        let (mut state, mut orders) = (State::default(), Vec::new());
        let take = |record: turnloom_core::event::Record| {
            if let Ok(fact) = Envelope::decode(&record.json) {
                if matches!(&fact.event, Event::SessionReady(ready) if ready.epoch.is_some()) {
                    orders.clear();
                }
                orders.extend(state.apply_and_order(&fact));
            }
            ControlFlow::Continue(())
        };
        self.sessions.log().scan(&self.id, Seq::ZERO, Seq(u64::MAX), take).await?;
        Ok(orders)
    }

    /// Waits for the agent that had the session before this daemon was there.
    pub(super) fn attach(&mut self, after: &mut Output) {
        let runtime = self.sessions.runtime(self.machine.runtime()).ok();
        let heard = self.outbox.heard.clone().unwrap_or_default();
        let running = runtime.and_then(|runtime| runtime.attach(&self.id, &heard, &self.sessions.0.context));
        if let Some(running) = running {
            let (process, protocol, held) = (running.agent, running.protocol, running.held);
            self.agent = Some(RunningAgent { process, protocol, silent: false, _held: held, _loan: None });
        } else {
            let at = self.now();
            let description = "there is no such agent any more".to_owned();
            self.machine.handle(Input::Exited { exit_code: None, description }, at, after);
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let Some(agent) = self.agent.as_mut().filter(|_| !bytes.is_empty()) else { return };
        match agent.process.input.queue(bytes) {
            Ok(()) => self.sessions.0.taps.session_wrote(&self.id, bytes),
            Err(error) => {
                tracing::warn!(session = %self.id, %error, "an agent could not be told something");
                agent.process.handle.kill();
            }
        }
    }

    /// What the agent's scripts need to add facts, if the session is to have it.
    pub(super) fn lend_token(&self, opening: &mut Opening) -> Option<Loan> {
        let params = opening.params.as_object_mut()?;
        if params.get(EMIT) != Some(&Value::Bool(true)) {
            return None;
        }
        let (variables, loan) = self.sessions.0.context.emit_env(self.machine.runtime(), &self.id);
        let env = params.entry("env").or_insert_with(|| Value::Object(serde_json::Map::new()));
        env.as_object_mut()?.extend(variables.into_iter().map(|(name, value)| (name, value.into())));
        Some(loan)
    }
}
