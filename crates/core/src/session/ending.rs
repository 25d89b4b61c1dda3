//! How things end: a stopped turn, an agent that is asked to exit, a daemon that shuts down. Each goes in steps with deadlines, and each step is a
//! fact.

use serde_json::json;

use super::machine::{Agent, Effect, Machine, Operation, Output, ReplyTo, Step, Stop};
use crate::command::Refusal;
use crate::event::{Activity, Hold, Outcome, Status};
use crate::runtime::{CloseReason, Order, StartFailure};
use crate::time::Timestamp;

impl Machine {
    pub fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    /// Whether there is nothing to remember that is not in the log: no agent, no turn, nobody waiting.
    pub fn can_unload(&self) -> bool {
        self.agent == Agent::Absent
            && self.state.turn.is_none()
            && self.pending_operation.is_none()
            && self.tell_at.is_none()
            && (self.state.next_queued().is_none() || self.shutting_down)
    }

    pub(super) fn begin_stop(
        &mut self,
        at: Timestamp,
        out: &mut Output,
        outcome: Outcome,
        reason: String,
        hold: Option<Hold>,
        waiter: Option<ReplyTo>,
    ) {
        // At once: what is sent while the turn ends is meant for after it.
        if let Some(why) = hold {
            self.hold(at, out, why);
        }
        if let Some(stop) = &mut self.stop {
            stop.waiters.extend(waiter);
            stop.hold = stop.hold.or(hold);
            return;
        }
        self.emit_status_if_changed(at, out, Activity::Stopping, None);
        let deadline = at.plus_millis(self.setup.limits.interrupt_ms);
        let told_the_agent = self.undelivered.is_none() && matches!(self.agent, Agent::Ready { .. });
        self.stop = Some(Stop {
            outcome,
            reason: reason.clone(),
            hold,
            step: Step::Asked,
            deadline,
            waiters: waiter.into_iter().collect(),
        });
        if told_the_agent {
            out.order(Order::Interrupt { turn_id: self.state.turn.clone() });
            self.deny_held(out);
        } else {
            // The agent has not heard of this turn, so there is nothing to wait for.
            self.finish_turn(at, out, outcome, Some(reason), None, None);
            self.proceed(at, out);
        }
    }

    /// A stop that is under way takes its next step at once, instead of waiting for the agent.
    pub(super) fn hurry_stop(&mut self, at: Timestamp) {
        if let Some(stop) = &mut self.stop {
            stop.deadline = stop.deadline.min(at);
        }
    }

    pub(super) fn close_agent(&mut self, at: Timestamp, out: &mut Output) {
        let reason = match () {
            () if self.shutting_down => CloseReason::Shutdown,
            () if self.state.archived => CloseReason::Archived,
            () if self.state.ended => CloseReason::Ended,
            () => CloseReason::Idle,
        };
        out.order(Order::Close { reason });
        self.agent = Agent::Closing { deadline: at.plus_millis(self.setup.limits.terminate_ms), step: Step::Asked };
    }

    pub(super) fn tick(&mut self, at: Timestamp, out: &mut Output) {
        let limits = self.setup.limits;
        self.expire_asks(at, out);
        self.tick_host_waits(at, out);
        self.tick_child_waits(at, out);
        self.tick_screen(at, out);
        self.tick_budgets(at, out);
        if self.is_told_by_log() {
            self.end_ignored_stop(at, out);
            self.tick_away(at, out);
        }
        if let Some(stop) = &mut self.stop
            && stop.deadline <= at
            && let Some((next, effect, stage)) = escalate(stop.step)
        {
            stop.step = next;
            stop.deadline = at.plus_millis(limits.terminate_ms);
            let label = Some("The agent does not stop; ending its process".to_owned());
            let detail = Some(json!({ "step": stage }));
            self.emit(at, out, Status { state: Activity::Stopping, label, detail, attempt: None });
            out.effects.push(effect);
        }
        if matches!(&self.pending_operation, Some((_, Operation::Rollback { until: Some(until), .. })) if *until <= at)
            && let Some((to, _)) = self.take_rollback()
        {
            // Whether it has gone back is not known; the next process tells by what it remembers.
            let message = format!("{} did not answer within {} s", self.setup.runtime, limits.start_ms / 1000);
            let fix = Some("look at what the agent remembers, then roll back again".to_owned());
            out.reply(to, Err(Refusal::AgentFailed { message, code: "agent_timeout".to_owned(), fix }));
            if matches!(self.agent, Agent::Ready { .. }) {
                self.close_agent(at, out);
            }
        }
        match &mut self.agent {
            Agent::Starting { deadline, .. } if *deadline <= at => {
                out.effects.push(Effect::Kill);
                let seconds = limits.start_ms / 1000;
                self.start_failed(
                    StartFailure {
                        message: format!("{} did not answer within {seconds} s of its start", self.setup.runtime),
                        code: "agent_start_timeout".to_owned(),
                        fix: Some("run `turnloom doctor`, then send the message again".to_owned()),
                    },
                    at,
                    out,
                );
                self.agent = Agent::Closing { deadline: at, step: Step::Killed };
            }
            Agent::Ready { idle_deadline: Some(deadline) } if *deadline <= at => self.close_agent(at, out),
            Agent::Closing { deadline, step } if *deadline <= at => {
                if let Some((next, effect, _)) = escalate(*step) {
                    *step = next;
                    *deadline = at.plus_millis(limits.terminate_ms);
                    out.effects.push(effect);
                }
            }
            Agent::Absent
            | Agent::Starting { .. }
            | Agent::Ready { .. }
            | Agent::Away { .. }
            | Agent::Closing { .. } => {}
        }
    }

    pub(super) fn shutdown(&mut self, at: Timestamp, out: &mut Output) {
        self.shutting_down = true;
        self.forget_interrupted();
        if let Some((to, _)) = self.pending_operation.take() {
            out.reply(to, Err(Refusal::ShuttingDown));
        }
        if self.is_told_by_log() {
            // The turn goes on where the agent is; the next daemon finds it there.
            return;
        }
        self.queue_untold(at, out);
        self.hold(at, out, Hold::Restarted);
        if self.state.turn.is_some() {
            let reason = "the daemon is shutting down".to_owned();
            self.begin_stop(at, out, Outcome::Interrupted, reason, Some(Hold::Restarted), None);
        } else {
            self.proceed(at, out);
        }
        if matches!(self.agent, Agent::Starting { .. }) {
            out.effects.push(Effect::Kill);
            self.agent = Agent::Closing { deadline: at, step: Step::Killed };
        }
    }
}

fn escalate(step: Step) -> Option<(Step, Effect, &'static str)> {
    match step {
        Step::Asked => Some((Step::Terminated, Effect::Terminate, "terminate")),
        Step::Terminated => Some((Step::Killed, Effect::Kill, "kill")),
        Step::Killed => None,
    }
}
