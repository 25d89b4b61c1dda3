//! A decision in the form in which it goes into a log: what was decided, by which rule, about which input, and what a person may answer *always* to.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::act::{Act, Command, Location};
use super::call::{Call, World};
use super::decide::{Decision, Scope, decide, describe};
use super::expiry::Expiry;
use super::layers::Policy;
use super::offers::{Offer, offers};
use super::rules::Effect;
use crate::event::{CallAct, CallPart, Judged, PolicyEffect};

/// Simple commands of one call that are shown, and acts of each: a person reads no more.
const MAX_PARTS: usize = 24;
const MAX_ACTS: usize = 12;

/// Characters of one command, path or reason that are kept.
const MAX_CHARS: usize = 400;

/// What the rules say about a call, ready to be acted upon and written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Nothing where no rule is about the call and the mode is the agent's own.
    pub effect: Option<Effect>,
    pub judged: Judged,
    /// When the ask ends by itself, if it is one.
    pub expiry: Option<Expiry>,
    /// The rules that *always* could store. Each of them would allow an equal call.
    pub offers: Vec<Offer>,
}

/// Judges one call.
pub fn judge(policy: &Policy, call: &Call<'_>, world: &dyn World) -> Judgement {
    let decision = decide(policy, call, world);
    let asks = decision.effect == Effect::Ask;
    let offers = if asks { offers(policy, call, world, &decision) } else { Vec::new() };
    let effect = (!decision.up_to_agent).then_some(decision.effect);
    let judged = Judged {
        effect: effect.map_or(PolicyEffect::Ask, Into::into),
        rule: decision.rule.to_string(),
        scope: decision.rule.scope,
        mode: Some(call.mode.name()).filter(|mode| !mode.is_empty()).map(str::to_owned),
        reason: cut(&decision.reason),
        opaque: decision.opaque,
        input_sha256: digest(call.input),
        parts: parts(&decision),
    };
    Judgement { effect, judged, expiry: decision.expiry, offers }
}

/// Names an input, so that two calls can be compared and one cannot be taken for another.
pub fn digest(input: &Value) -> String {
    crate::blob::hex(&Sha256::digest(input.to_string()))
}

impl Judgement {
    /// A judgement without rules: for calls that nobody could judge.
    pub fn refused(input: &Value, reason: &str) -> Self {
        let judged = Judged {
            effect: PolicyEffect::Deny,
            rule: "absolute/not-judged".to_owned(),
            scope: Scope::Absolute,
            mode: None,
            reason: reason.to_owned(),
            opaque: true,
            input_sha256: digest(input),
            parts: Vec::new(),
        };
        Self { effect: Some(Effect::Deny), judged, expiry: None, offers: Vec::new() }
    }
}

fn parts(decision: &Decision) -> Vec<CallPart> {
    let shown = decision.commands.iter().enumerate().take(MAX_PARTS);
    shown.map(|(at, command)| part(command, |index| decision.decided_by == (at, index))).collect()
}

fn part(command: &Command, decides: impl Fn(usize) -> bool) -> CallPart {
    // The act that decided is among those that are shown, however many there are.
    let (mut deciding, mut others) = (Vec::new(), Vec::new());
    for (index, act) in command.acts.iter().enumerate() {
        let list = if decides(index) { &mut deciding } else { &mut others };
        list.push(shown(act, decides(index)));
    }
    deciding.extend(others.into_iter().take(MAX_ACTS));
    CallPart {
        command: Some(command.words.join(" ")).filter(|words| !words.is_empty()).map(|words| cut(&words)),
        inside: command.inside.clone(),
        acts: deciding,
    }
}

fn shown(act: &Act, decides: bool) -> CallAct {
    let does = serde_json::to_value(act.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
    CallAct {
        does: does.unwrap_or_default(),
        text: cut(&describe(act)),
        path: act.place.as_ref().map(|place| cut(&place.path)),
        outside: act.place.as_ref().map(|place| place.location != Location::Inside),
        host: act.host.clone(),
        decides: decides.then_some(true),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
