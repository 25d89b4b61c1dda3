//! The conversation's running turn, and what turns use.

use super::wire::{TokenUsage, Tokens};
use crate::event::Usage;
use crate::id::TurnId;
use crate::runtime::Prompt;

/// The running turn of the conversation itself.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Ours. Nothing for a turn that nobody sent a message for.
    pub(super) ours: Option<TurnId>,
    /// What Codex calls it. A review has two names, and they come one by one.
    pub(super) names: Vec<String>,
    /// It ran before this session came to it.
    pub(super) joined: bool,
    /// A person wants it to stop, but its name is not known yet.
    pub(super) interrupt: bool,
    /// Messages for it that came before its name.
    pub(super) steers: Vec<Prompt>,
}

impl Turn {
    pub(super) fn name(&self) -> Option<&str> {
        self.names.first().map(String::as_str)
    }

    /// Learns a name; true for the first one.
    pub(super) fn named(&mut self, name: &str) -> bool {
        if name.is_empty() || self.names.iter().any(|known| known == name) {
            return false;
        }
        self.names.push(name.to_owned());
        self.names.len() == 1
    }
}

/// What a thread has used: Codex counts from its beginning, the log counts per turn.
#[derive(Debug, Default)]
pub(super) struct UsageMeter {
    total: Tokens,
    /// What the thread had used when the turn began, if that is known.
    before: Option<Tokens>,
    context: Option<u64>,
    window: Option<u64>,
    in_turn: bool,
}

impl UsageMeter {
    pub(super) fn update(&mut self, usage: &TokenUsage, in_turn: bool) {
        (self.total, self.context) = (usage.total, Some(usage.last.total));
        self.window = usage.model_context_window.or(self.window);
        if !in_turn {
            // A thread that is resumed says where it stands.
            self.before = Some(usage.total);
        } else if self.before.is_none() {
            self.before = Some(minus(usage.total, usage.last));
        }
        self.in_turn |= in_turn;
    }

    /// Turns were rolled back, so the earlier total no longer counts. The thread reports its new total later.
    pub(super) fn reset_baseline(&mut self) {
        self.before = None;
    }

    /// How full the context is.
    pub(super) fn context(&self) -> Option<u64> {
        self.context
    }

    /// What was used since this was last asked, if anything was.
    pub(super) fn take_used(&mut self) -> Option<Tokens> {
        if !std::mem::take(&mut self.in_turn) {
            return None;
        }
        let used = minus(self.total, self.before.unwrap_or_default());
        self.before = Some(self.total);
        Some(used)
    }

    /// The same, without taking it.
    pub(super) fn used(&self) -> Option<Tokens> {
        self.in_turn.then(|| minus(self.total, self.before.unwrap_or_default()))
    }

    /// What the turn used, once, with what its sub-agents used: Codex counts each thread for itself.
    pub(super) fn turn_usage(&mut self, subagents: Option<Tokens>) -> Option<Usage> {
        let own = self.take_used();
        self.usage(own, subagents)
    }

    /// What the turn has used so far.
    pub(super) fn usage_so_far(&self, subagents: Option<Tokens>) -> Option<Usage> {
        self.usage(self.used(), subagents)
    }

    fn usage(&self, own: Option<Tokens>, subagents: Option<Tokens>) -> Option<Usage> {
        let used = match (own, subagents) {
            (Some(own), Some(theirs)) => plus(own, theirs),
            (own, theirs) => own.or(theirs)?,
        };
        Some(Usage {
            input_tokens: used.input,
            output_tokens: used.output,
            cached_tokens: Some(used.cached),
            reasoning_tokens: Some(used.reasoning),
            cost_usd: None,
            context_used: self.context,
            context_window: self.window,
            ..Usage::default()
        })
    }
}

pub(super) fn plus(a: Tokens, b: Tokens) -> Tokens {
    Tokens {
        total: a.total.saturating_add(b.total),
        input: a.input.saturating_add(b.input),
        cached: a.cached.saturating_add(b.cached),
        output: a.output.saturating_add(b.output),
        reasoning: a.reasoning.saturating_add(b.reasoning),
    }
}

fn minus(a: Tokens, b: Tokens) -> Tokens {
    Tokens {
        total: a.total.saturating_sub(b.total),
        input: a.input.saturating_sub(b.input),
        cached: a.cached.saturating_sub(b.cached),
        output: a.output.saturating_sub(b.output),
        reasoning: a.reasoning.saturating_sub(b.reasoning),
    }
}

#[cfg(test)]
mod tests {
    use super::UsageMeter;
    use crate::runtime::codex::wire::{TokenUsage, Tokens};

    fn usage(total: u64, last: u64) -> TokenUsage {
        let tokens = |input| Tokens { input, total: input, ..Tokens::default() };
        TokenUsage { total: tokens(total), last: tokens(last), model_context_window: Some(1000) }
    }

    #[test]
    fn each_turn_has_its_own_usage() {
        let mut usage_meter = UsageMeter::default();
        // A thread that was used before, without a word of how much.
        usage_meter.update(&usage(500, 100), true);
        usage_meter.update(&usage(650, 150), true);
        let used = usage_meter.turn_usage(None).unwrap();
        assert_eq!((used.input_tokens, used.context_used), (250, Some(150)));
        assert_eq!(usage_meter.turn_usage(None), None);
        usage_meter.update(&usage(700, 50), true);
        assert_eq!(usage_meter.turn_usage(None).unwrap().input_tokens, 50);
        // Turns are taken back, and Codex counts as if they had never been.
        usage_meter.reset_baseline();
        usage_meter.update(&usage(560, 60), true);
        assert_eq!(usage_meter.turn_usage(None).unwrap().input_tokens, 60);
        // Another thread goes on where it stood.
        let mut usage_meter = UsageMeter::default();
        usage_meter.update(&usage(900, 300), false);
        usage_meter.update(&usage(940, 40), true);
        assert_eq!(usage_meter.turn_usage(None).unwrap().input_tokens, 40);
    }

    #[test]
    fn a_turn_pays_for_its_sub_agents() {
        let (mut own, mut theirs) = (UsageMeter::default(), UsageMeter::default());
        own.update(&usage(100, 100), true);
        theirs.update(&usage(30, 30), true);
        let used = own.turn_usage(theirs.take_used()).unwrap();
        assert_eq!((used.input_tokens, used.context_used), (130, Some(100)));
        // One of them went on after the turn: the next one has that.
        theirs.update(&usage(50, 20), true);
        assert_eq!(own.turn_usage(theirs.take_used()).unwrap().input_tokens, 20);
        assert_eq!(own.turn_usage(theirs.take_used()), None);
    }
}
