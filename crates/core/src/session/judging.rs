//! Calls that the rules were asked about: what is written down, and what the agent and people hear. Which rule decides is found outside
//! ([`crate::policy::judge`]), because that needs to look at files.

use std::collections::HashMap;

use super::host_calls::{delegates, reading_path, refuse_host_call, ruled};
use super::machine::{Effect, Machine, Output, ReplyTo};
use crate::command::{AfterAnswer, Answer, ClientCommand, Command, Refusal};
use crate::event::{AskExpiry, PermissionOption, PermissionReply, PermissionRequest, RuleScope, ToolDecided};
use crate::id::{AskId, SubagentId, ToolUseId};
use crate::policy::{self, Judgement, Offer};
use crate::runtime::{AskRequest, HostCall, Order, ProposedCall, Report, Verdict};
use crate::time::Timestamp;

/// Judgements that are remembered until their calls have ended. An agent that leaves more open is judged again.
const MAX_REMEMBERED: usize = 1024;

/// What was decided about calls that have not ended.
#[derive(Debug, Default)]
pub(super) struct Judgements(HashMap<ToolUseId, Remembered>);

#[derive(Debug)]
struct Remembered {
    judgement: Judgement,
    /// Where the call runs, if the agent has said so.
    directory: Option<String>,
}

impl Judgements {
    /// What was decided about this very call: the same name and the same input.
    fn of(&self, tool_use_id: Option<&ToolUseId>, input_sha256: &str) -> Option<&Judgement> {
        self.remembered(tool_use_id, input_sha256).map(|known| &known.judgement)
    }

    fn remembered(&self, tool_use_id: Option<&ToolUseId>, input_sha256: &str) -> Option<&Remembered> {
        self.0.get(tool_use_id?).filter(|known| known.judgement.judged.input_sha256 == input_sha256)
    }

    fn remember(&mut self, tool_use_id: ToolUseId, judgement: Judgement, directory: Option<String>) {
        if self.0.len() >= MAX_REMEMBERED {
            self.0.clear();
        }
        self.0.insert(tool_use_id, Remembered { judgement, directory });
    }

    pub(super) fn forget(&mut self, tool_use_id: &ToolUseId) {
        self.0.remove(tool_use_id);
    }
}

/// A call that needs a judgement before the session can go on with what its agent said.
#[derive(Debug, Clone, Copy)]
pub struct ToJudge<'a> {
    pub tool: &'a str,
    pub input: &'a serde_json::Value,
    pub directory: Option<&'a str>,
    pub caller: policy::Caller,
    pub origin: policy::Origin,
}

impl Machine {
    /// The call in a report that the rules have to be asked about, if there is one.
    pub fn to_judge<'a>(&self, report: &'a Report) -> Option<ToJudge<'a>> {
        let (tool, input, directory, subagent_id) = match report {
            Report::Propose { call, subagent_id, .. } => {
                (&call.tool, &call.input, call.directory.as_deref(), subagent_id)
            }
            Report::Ask { request: AskRequest::Permission(request), subagent_id, .. } if !has_own_choices(request) => {
                let judged = self.judgements.of(request.tool_use_id.as_ref(), &policy::digest(&request.tool_input));
                match judged {
                    Some(_) => return None,
                    None => (&request.tool_name, &request.tool_input, None, subagent_id),
                }
            }
            // What it reads, it must be allowed to read; and what it has done by others, to have done.
            Report::HostCall(_) => {
                let call = ruled(report)?;
                (&call.name, &call.input, None, &call.subagent_id)
            }
            Report::OfTurn { turn, report } if self.is_open_turn(turn) => return self.to_judge(report),
            _ => return None,
        };
        let caller = if subagent_id.is_some() { policy::Caller::SubAgent } else { policy::Caller::Main };
        Some(ToJudge { tool, input, directory, caller, origin: self.origin.into() })
    }

    /// The calls that wait for a person because a rule asks, each with what has to be judged again when there are more rules. One whose judgement is
    /// not remembered is left to the person.
    pub fn waiting_calls(&self) -> Vec<(AskId, ToJudge<'_>)> {
        let mut waiting = Vec::new();
        for (ask_id, ask) in &self.state.open.asks {
            let AskRequest::Permission(request) = &ask.pending.request else { continue };
            let digest = policy::digest(&request.tool_input);
            let Some(known) = self.judgements.remembered(request.tool_use_id.as_ref(), &digest) else { continue };
            let caller = if ask.owner.is_some() { policy::Caller::SubAgent } else { policy::Caller::Main };
            let (tool, input, directory) = (&request.tool_name, &request.tool_input, known.directory.as_deref());
            waiting.push((ask_id.clone(), ToJudge { tool, input, directory, caller, origin: self.origin.into() }));
        }
        waiting
    }

    /// The call as a person would have it run, if the command is an answer that changes its input. Whoever edits a call has not seen what the rules say of it.
    pub fn edited_call<'a>(&'a self, command: &'a Command) -> Option<ToJudge<'a>> {
        let (request, subagent_id, input) = self.edit_of(command)?;
        let known = self.judgements.remembered(request.tool_use_id.as_ref(), &policy::digest(&request.tool_input));
        let directory = known.and_then(|known| known.directory.as_deref());
        let caller = if subagent_id.is_some() { policy::Caller::SubAgent } else { policy::Caller::Main };
        Some(ToJudge { tool: &request.tool_name, input, directory, caller, origin: self.origin.into() })
    }

    /// Carries out an answer whose edited call was judged. A person may allow what a rule asks about, and never what one denies.
    pub(super) fn answer_with_edit(
        &mut self,
        command: ClientCommand,
        judgement: &Judgement,
        reply_to: ReplyTo,
        at: Timestamp,
        out: &mut Output,
    ) {
        let edit = self.edit_of(&command.command).map(|(request, owner, _)| (request.clone(), owner.cloned()));
        let Some((request, owner)) = edit else { return self.execute(command, reply_to, at, out) };
        if judgement.effect == Some(policy::Effect::Deny) {
            return out.reply(reply_to, Err(Refusal::DeniedByRule(judgement.judged.reason.clone())));
        }
        self.execute(command, reply_to, at, out);
        let is_settled = !self.state.open.asks.contains_key(&request.ask_id);
        if is_settled && judgement.effect.is_some() {
            self.decided(request.tool_use_id.as_ref(), &request.tool_name, judgement, owner.as_ref(), at, out);
        }
    }

    /// The ask that is answered with an edited input, whose it is, and that input.
    fn edit_of<'a>(
        &'a self,
        command: &'a Command,
    ) -> Option<(&'a PermissionRequest, Option<&'a SubagentId>, &'a serde_json::Value)> {
        let Command::Answer { ask_id, answer: Answer::Permission { updated_input: Some(input), .. } } = command else {
            return None;
        };
        let ask = self.state.open.asks.get(ask_id)?;
        let AskRequest::Permission(request) = &ask.pending.request else { return None };
        Some((request, ask.owner.as_ref(), input))
    }

    /// Goes on with a report whose call was judged.
    pub(super) fn judged(&mut self, report: Report, judgement: Judgement, at: Timestamp, out: &mut Output) {
        if matches!(report, Report::Propose { .. }) {
            self.hold_if_reached(at, out);
            if self.is_paused() && self.stop.is_none() {
                return self.hold_call(report, Some(judgement), out);
            }
        }
        match report {
            Report::Propose { key, subagent_id, call } => {
                self.proposed(key, subagent_id.as_ref(), call, judgement, at, out);
            }
            Report::Ask { key, subagent_id, request: AskRequest::Permission(request) } => {
                let call = request.tool_use_id.clone();
                if judgement.effect.is_some() {
                    self.decided(call.as_ref(), &request.tool_name, &judgement, subagent_id.as_ref(), at, out);
                }
                self.settle_or_ask(key, subagent_id, request, &judgement, at, out);
                // For as long as the ask is open.
                if let Some(call) = call.filter(|_| judgement.effect == Some(policy::Effect::Ask)) {
                    self.judgements.remember(call, judgement, None);
                }
            }
            Report::HostCall(call) => self.host_call_judged(*call, &judgement, at, out),
            Report::OfTurn { report, .. } => self.judged(*report, judgement, at, out),
            other => self.report(other, at, out),
        }
    }

    fn proposed(
        &mut self,
        key: String,
        subagent_id: Option<&SubagentId>,
        call: ProposedCall,
        judgement: Judgement,
        at: Timestamp,
        out: &mut Output,
    ) {
        let reason = judgement.judged.reason.clone();
        let verdict = match judgement.effect {
            _ if self.stop.is_some() => Verdict::Deny { reason: "the turn is being stopped".to_owned() },
            Some(policy::Effect::Allow) => Verdict::Allow,
            Some(policy::Effect::Ask) => Verdict::Ask { reason },
            Some(policy::Effect::Deny) => Verdict::Deny { reason },
            None => Verdict::UpToAgent,
        };
        if judgement.effect.is_some() {
            self.decided(Some(&call.tool_use_id), &call.tool, &judgement, subagent_id, at, out);
        }
        self.judgements.remember(call.tool_use_id, judgement, call.directory);
        out.order(Order::Verdict { key, verdict });
    }

    /// A call of a tool of the session's own is carried out by the session, so there is nobody who could ask.
    fn host_call_judged(&mut self, call: HostCall, judgement: &Judgement, at: Timestamp, out: &mut Output) {
        let is_ruled = reading_path(&call) || delegates(&call);
        if is_ruled && judgement.effect.is_some() {
            self.decided(call.tool_use_id.as_ref(), &call.name, judgement, call.subagent_id.as_ref(), at, out);
        }
        let reason = &judgement.judged.reason;
        let refused = match judgement.effect {
            Some(policy::Effect::Deny) if delegates(&call) => format!("a rule forbids to delegate: {reason}"),
            Some(policy::Effect::Ask) if delegates(&call) => {
                format!(
                    "a person has to be asked before something is delegated ({reason}), and cannot be asked here; do it yourself"
                )
            }
            Some(policy::Effect::Deny) => format!("a rule forbids to read this file: {reason}"),
            Some(policy::Effect::Ask) => format!(
                "a person has to be asked before this file is read ({reason}); read it with a tool of your own, then give its content"
            ),
            Some(policy::Effect::Allow) | None => return self.host_call(call, at, out),
        };
        if is_ruled { refuse_host_call(call.key, refused, out) } else { self.host_call(call, at, out) }
    }

    /// An agent that asks although the rules have spoken is answered by them.
    pub(super) fn asked_after_verdict(
        &mut self,
        key: &str,
        subagent_id: Option<&SubagentId>,
        request: &PermissionRequest,
        at: Timestamp,
        out: &mut Output,
    ) -> bool {
        let known = self.judgements.of(request.tool_use_id.as_ref(), &policy::digest(&request.tool_input)).cloned();
        let Some(judgement) = known.filter(|_| !has_own_choices(request)) else { return false };
        self.settle_or_ask(key.to_owned(), subagent_id.cloned(), request.clone(), &judgement, at, out);
        true
    }

    fn settle_or_ask(
        &mut self,
        key: String,
        subagent_id: Option<SubagentId>,
        mut request: PermissionRequest,
        judgement: &Judgement,
        at: Timestamp,
        out: &mut Output,
    ) {
        let settled = match judgement.effect {
            Some(policy::Effect::Allow) => (PermissionReply::Once, None),
            Some(policy::Effect::Deny) => (PermissionReply::Reject, Some(judgement.judged.reason.clone())),
            Some(policy::Effect::Ask) | None => {
                request.judged = Some(Box::new(judgement.judged.clone()));
                request.expiry = expiry_at(judgement, at);
                offer(&mut request.options, &judgement.offers);
                self.ask(key, subagent_id, AskRequest::Permission(request), at, out);
                return;
            }
        };
        let (reply, message) = settled;
        if self.is_told_by_log() {
            // What it is told has to be in the log, so what it asked has to be as well.
            return self.settle_by_rule(key, subagent_id, request, reply, message, at, out);
        }
        let answer =
            Answer::Permission { reply, message, updated_input: None, rule: None, and_then: AfterAnswer::GoOn };
        out.order(Order::Answer { key, answer, about: None });
    }

    /// Writes a decision down.
    fn decided(
        &mut self,
        tool_use_id: Option<&ToolUseId>,
        tool: &str,
        judgement: &Judgement,
        subagent_id: Option<&SubagentId>,
        at: Timestamp,
        out: &mut Output,
    ) {
        // A call without a name has no row that the decision could stand at; what is asked about it is written down all the same.
        let Some(tool_use_id) = tool_use_id.cloned() else { return };
        let fact = ToolDecided { tool_use_id, tool: tool.to_owned(), judged: judgement.judged.clone() };
        let owner = subagent_id.filter(|id| self.state.open.is_subagent(id)).cloned();
        let turn_id = self.turn_of(owner.as_ref());
        self.emit_as(at, out, owner, turn_id, fact.into());
    }

    /// Stores the rule that a person chose with *always*, if it is one of ours. The agent then only hears that it may.
    pub(super) fn store_chosen_rule(
        request: &PermissionRequest,
        answer: &mut Answer,
        by: &str,
        at: Timestamp,
        out: &mut Output,
    ) {
        let Answer::Permission { reply: reply @ PermissionReply::Always, rule: Some(rule), .. } = answer else {
            return;
        };
        let chosen = request.options.iter().find(|option| option.rule.as_ref() == Some(rule));
        if let Some(scope) = chosen.and_then(|option| option.scope) {
            let (ask_id, by) = (request.ask_id.clone(), by.to_owned());
            out.effects.push(Effect::StoreRule { rule: rule.clone(), scope, by, ask_id, at });
            *reply = PermissionReply::Once;
        }
    }
}

/// When an ask ends by itself. Whatever a rule says, what cannot be judged is not allowed by waiting.
fn expiry_at(judgement: &Judgement, at: Timestamp) -> Option<AskExpiry> {
    let expiry = judgement.expiry.filter(|_| judgement.effect == Some(policy::Effect::Ask))?;
    let allowed = expiry.allows && !judgement.judged.opaque;
    Some(AskExpiry { at: at.plus_millis(expiry.seconds * 1000), allowed })
}

/// Whether the agent offers choices of its own, as for the approval of a plan: such an ask is for a person and not for rules.
fn has_own_choices(request: &PermissionRequest) -> bool {
    request.options.iter().any(|option| option.reply == PermissionReply::Always)
}

/// Puts what *always* could store between *once* and *reject*.
fn offer(options: &mut Vec<PermissionOption>, offers: &[Offer]) {
    let place = options.iter().position(|option| option.reply == PermissionReply::Reject).unwrap_or(options.len());
    let offered = offers.iter().map(|offer| PermissionOption {
        reply: PermissionReply::Always,
        label: format!("Always {} {}", offer.label, reach(offer.scope)),
        rule: Some(offer.rule.clone()),
        scope: Some(offer.scope),
    });
    options.splice(place..place, offered);
}

fn reach(scope: RuleScope) -> &'static str {
    match scope {
        RuleScope::Session => "in this session",
        RuleScope::Project => "in this project",
        RuleScope::User | RuleScope::Mode | RuleScope::Absolute => "everywhere",
    }
}

#[cfg(test)]
mod tests;
