//! Calls that the rules were asked about: what is written down, and what the agent and people hear. Which rule decides is found outside
//! ([`crate::policy::judge`]), because that needs to look at files.

use std::collections::HashMap;

use super::machine::{Effect, Machine, Output};
use crate::command::{AfterAnswer, Answer};
use crate::event::{Origin, PermissionOption, PermissionReply, PermissionRequest, RuleScope, ToolDecided};
use crate::id::{SubagentId, ToolUseId};
use crate::policy::{self, Judgement, Offer};
use crate::runtime::{AskRequest, Order, ProposedCall, Report, Verdict};
use crate::time::Timestamp;

/// Judgements that are remembered until their calls have ended. An agent that leaves more open is judged again.
const MAX_REMEMBERED: usize = 1024;

/// What was decided about calls that have not ended.
#[derive(Debug, Default)]
pub(super) struct Judgements(HashMap<ToolUseId, Judgement>);

impl Judgements {
    /// What was decided about this very call: the same name and the same input.
    fn of(&self, tool_use_id: Option<&ToolUseId>, input_sha256: &str) -> Option<&Judgement> {
        self.0.get(tool_use_id?).filter(|judgement| judgement.judged.input_sha256 == input_sha256)
    }

    fn remember(&mut self, tool_use_id: ToolUseId, judgement: Judgement) {
        if self.0.len() >= MAX_REMEMBERED {
            self.0.clear();
        }
        self.0.insert(tool_use_id, judgement);
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
            _ => return None,
        };
        let caller = if subagent_id.is_some() { policy::Caller::SubAgent } else { policy::Caller::Main };
        let origin = match self.origin {
            Origin::User | Origin::Api | Origin::Import => policy::Origin::User,
            Origin::Schedule => policy::Origin::Scheduled,
            Origin::Webhook | Origin::Delegation => policy::Origin::Delegated,
            Origin::Agent => policy::Origin::Agent,
        };
        Some(ToJudge { tool, input, directory, caller, origin })
    }

    /// Goes on with a report whose call was judged.
    pub(super) fn judged(&mut self, report: Report, judgement: Judgement, at: Timestamp, out: &mut Output) {
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
            }
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
        self.judgements.remember(call.tool_use_id, judgement);
        out.order(Order::Verdict { key, verdict });
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
                offer(&mut request.options, &judgement.offers);
                return self.ask(key, subagent_id, AskRequest::Permission(request), at, out);
            }
        };
        let (reply, message) = settled;
        let answer =
            Answer::Permission { reply, message, updated_input: None, rule: None, and_then: AfterAnswer::GoOn };
        out.order(Order::Answer { key, answer });
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
            out.effects.push(Effect::StoreRule { rule: rule.clone(), scope, by: by.to_owned(), at });
            *reply = PermissionReply::Once;
        }
    }
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
