//! What is due, and when: the one place that knows every deadline of a session. What happens then is in `ending` and in what each deadline is of.

use super::delegating;
use super::machine::{Agent, Machine, Operation, Step};
use crate::time::Timestamp;

impl Machine {
    /// When [`Input::Tick`](super::Input::Tick) is wanted next.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let agent = match &self.agent {
            Agent::Absent | Agent::Closing { step: Step::Killed, .. } => None,
            Agent::Starting { deadline, .. } | Agent::Closing { deadline, .. } => Some(*deadline),
            Agent::Ready { idle_deadline } => *idle_deadline,
            Agent::Away { deadline, say_at } => Some(say_at.map_or(*deadline, |say_at| say_at.min(*deadline))),
        };
        let stop = self.stop.as_ref().filter(|stop| stop.step != Step::Killed).map(|stop| stop.deadline);
        let operation = match &self.pending_operation {
            Some((_, Operation::Rollback { until, .. })) => *until,
            Some((_, Operation::Resume(_))) | None => None,
        };
        let waits = [self.tell_at, self.host_waits.next_deadline(), self.next_child_deadline()];
        let deadlines =
            [agent, stop, operation, self.next_expiry(), self.next_budget_deadline()].into_iter().chain(waits);
        deadlines.flatten().min()
    }

    /// Somebody set the wall clock, ahead by so much or back: what is due in five seconds is still due in five seconds.
    pub fn clock_was_set(&mut self, by_ms: i64) {
        let agent = match &mut self.agent {
            Agent::Absent => None,
            Agent::Starting { deadline, .. } | Agent::Closing { deadline, .. } => Some(deadline),
            Agent::Ready { idle_deadline } => idle_deadline.as_mut(),
            Agent::Away { deadline, say_at } => {
                *say_at = say_at.map(|say_at| say_at.plus_millis(by_ms));
                Some(deadline)
            }
        };
        let stop = self.stop.as_mut().map(|stop| &mut stop.deadline);
        let operation = match &mut self.pending_operation {
            Some((_, Operation::Rollback { until, .. })) => until.as_mut(),
            Some((_, Operation::Resume(_))) | None => None,
        };
        self.spending.clock_was_set(by_ms);
        delegating::clock_was_set(&mut self.child_waits, by_ms);
        let expiries = self.expiries.values_mut().chain(self.host_waits.deadlines());
        for deadline in [agent, stop, operation, self.tell_at.as_mut()].into_iter().flatten().chain(expiries) {
            *deadline = deadline.plus_millis(by_ms);
        }
    }
}
