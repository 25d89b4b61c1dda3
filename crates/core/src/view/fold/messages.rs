//! Messages of people and of the agent, and the beginnings and ends of turns.

use super::{Key, Step, tell};
use crate::event::{Done, Part, Usage, UserMessage};
use crate::id::TurnId;
use crate::summary::first_line;
use crate::view::begin::{self, NewBlock};
use crate::view::block::PlanBlock;
use crate::view::nodes::{Message, PlanStep, PlanStepStatus, Role, Session};

impl Step<'_> {
    pub(super) fn user_message(&mut self, message: &UserMessage) {
        self.close_agent_message();
        self.fold.open.system = None;
        self.name_after(&message.content);
        let (id, at) = (message.message_id.to_string(), self.envelope.ts);
        let parts = message.content.iter().enumerate();
        self.push_message(Message {
            role: Role::User,
            turn_id: self.envelope.turn_id.clone(),
            done: true,
            origin: Some(message.origin),
            started_at: at,
            ended_at: Some(at),
            blocks: parts.map(|(n, part)| begin::part(NewBlock { id: format!("{id}.{n}"), at }, part)).collect(),
            id,
            ..Message::default()
        });
    }

    pub(super) fn turn_started(&mut self) {
        let turn = self.envelope.turn_id.clone();
        self.fold.open.turn.clone_from(&turn);
        self.fold.open.agent = None;
        self.fold.open.system = None;
        self.session(|session| session.turn = turn);
    }

    pub(super) fn done(&mut self, done: &Done) {
        let id = self.agent_message();
        self.edit_message(&id, |message| {
            message.outcome = Some(done.outcome);
            message.reason.clone_from(&done.reason);
            message.exit_code = done.exit_code;
        });
        self.leave_plan();
        self.close_agent_message();
        self.fold.open.turn = None;
        self.session(|session| session.turn = None);
        self.fold.view.activity = None;
        tell!(self, activity);
        self.fold.settle();
    }

    /// The agent's message that is being written, begun if there is none.
    pub(super) fn agent_message(&mut self) -> String {
        if let Some(id) = &self.fold.open.agent {
            return id.clone();
        }
        let Some(turn_id) = self.fold.open.turn.clone() else { return self.system_message() };
        // Short, because it is sent with every piece of text; and no client can give a message of its own such a name.
        let id = format!("@{}", self.envelope.seq);
        let (turn_id, started_at) = (Some(turn_id), self.envelope.ts);
        self.push_message(Message { id: id.clone(), role: Role::Agent, turn_id, started_at, ..Message::default() });
        self.fold.open.agent = Some(id.clone());
        id
    }

    pub(super) fn system_message(&mut self) -> String {
        if let Some(id) = &self.fold.open.system {
            return id.clone();
        }
        let (id, started_at) = (format!("system.{}", self.envelope.seq), self.envelope.ts);
        self.push_message(Message { id: id.clone(), done: true, started_at, ..Message::default() });
        self.fold.open.system = Some(id.clone());
        id
    }

    fn close_agent_message(&mut self) {
        if let Some(id) = self.fold.open.agent.take() {
            let at = self.envelope.ts;
            self.edit_message(&id, |message| {
                message.done = true;
                message.ended_at = Some(at);
            });
        }
    }

    pub(super) fn usage(&mut self, usage: &Usage) {
        self.fold.view.usage = Some(usage.clone());
        tell!(self, usage);
        let id = self.agent_message();
        self.edit_message(&id, |message| message.usage = Some(usage.clone()));
    }

    pub(super) fn rollback(&mut self, turn_ids: &[TurnId]) {
        let is_gone = |message: &&Message| message.turn_id.as_ref().is_some_and(|turn| turn_ids.contains(turn));
        let gone: Vec<String> =
            self.fold.view.messages.iter().filter(is_gone).map(|message| message.id.clone()).collect();
        for id in gone {
            self.remove_message(&id);
        }
    }

    /// A session without a title has that of the first message, here as in a list.
    pub(super) fn name_after(&mut self, content: &[Part]) {
        if self.fold.view.session.title.as_deref().unwrap_or_default().is_empty() {
            let line = first_line(content);
            self.session(|session| session.title = Some(line).filter(|line| !line.is_empty()));
        }
    }

    pub(super) fn session(&mut self, change: impl FnOnce(&mut Session)) {
        change(&mut self.fold.view.session);
        tell!(self, session);
    }

    /// What was begun and not finished when the turn ended is not being done any more.
    fn leave_plan(&mut self) {
        let leave = |steps: &mut [PlanStep]| {
            for step in steps.iter_mut().filter(|step| step.status == PlanStepStatus::Running) {
                step.status = PlanStepStatus::Unfinished;
            }
        };
        let is_running = |step: &PlanStep| step.status == PlanStepStatus::Running;
        let Some(plan) = &mut self.fold.view.plan else { return };
        if !plan.steps.iter().any(is_running) {
            return;
        }
        leave(&mut plan.steps);
        tell!(self, plan);
        if let Some(message) = self.fold.open.agent.clone() {
            self.edit(&Key::Plan(message), |plan: &mut PlanBlock| leave(&mut plan.steps));
        }
    }
}
