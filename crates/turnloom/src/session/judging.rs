//! Asks the rules about calls. Which rule decides is `turnloom_core::policy`; what follows is the machine's.

use turnloom_core::command::{ClientCommand, Command};
use turnloom_core::event::PermissionReply;
use turnloom_core::id::AskId;
use turnloom_core::policy::{self, Call, Judgement, Mode, World as _};
use turnloom_core::runtime;
use turnloom_core::session::{Input, Output, ToJudge};
use turnloom_core::time::Timestamp;

use super::actor::Session;
use super::together::{RuleStored, allowed_or_not};
use crate::policy::ThisMachine;

impl Session {
    /// What the rules say about a call that the agent wants to make, if it wants to make one.
    pub(super) fn judge(&self, report: &runtime::Report) -> Option<Judgement> {
        self.judge_call(self.machine.to_judge(report)?)
    }

    /// Lets the calls go on that wait for a person and that the rules allow by now.
    pub(super) fn settle_allowed(&mut self, stored: Option<RuleStored>, at: Timestamp, out: &mut Output) {
        let Some(RuleStored { by, ask_id: with }) = stored else { return };
        let allowed = |call| self.judge_call(call).is_some_and(|judged| judged.effect == Some(policy::Effect::Allow));
        let waiting = self.machine.waiting_calls();
        let settled: Vec<AskId> =
            waiting.into_iter().filter(|(_, call)| allowed(*call)).map(|(ask_id, _)| ask_id).collect();
        for ask_id in settled {
            let answer = allowed_or_not(PermissionReply::Once, None);
            let command = Command::AnswerAlong { ask_id, answer, with: with.clone() };
            let command = ClientCommand { by: by.clone(), command };
            // Nobody waits for the reply.
            let reply_to = self.next_reply;
            self.next_reply += 1;
            self.machine.handle(Input::Command { command, reply_to }, at, out);
        }
    }

    pub(super) fn judge_call(&self, call: ToJudge<'_>) -> Option<Judgement> {
        let workspace = self.workspace();
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
}
