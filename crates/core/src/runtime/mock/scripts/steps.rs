//! What scripts are made of.

use serde_json::Value;

use super::super::agent::Step;
use super::super::wire::AgentMessage;
use crate::event::{Event, Failure, Outcome, Thinking, ToolProgress, ToolResult, ToolStart, Usage};
use crate::id::{BlockId, SubagentId, ToolUseId};

pub(super) fn thinking(t: &str, text: &str) -> Vec<Step> {
    let block_id = BlockId::trusted(format!("{t}-thinking"));
    let piece = |text: &str, done: bool| {
        let (block_id, text) = (block_id.clone(), text.to_owned());
        say(&Event::from(Thinking { block_id, text, done: Some(done), interrupted: false }))
    };
    let mut steps = vec![piece("", false)];
    for word in text.split_inclusive(' ') {
        steps.push(Step::Pause);
        steps.push(piece(word, false));
    }
    steps.push(piece("", true));
    steps
}

pub(super) fn start(id: &str, tool: &str, input: Value, more: impl FnOnce(&mut ToolStart)) -> Step {
    let mut start = ToolStart {
        tool_use_id: ToolUseId::trusted(id),
        tool: tool.to_owned(),
        input: Some(input),
        ..ToolStart::default()
    };
    more(&mut start);
    say(&Event::from(start))
}

pub(super) fn progress(id: &str, text: &str, fraction: f64) -> Step {
    let (tool_use_id, text) = (ToolUseId::trusted(id), Some(text.to_owned()));
    say(&Event::from(ToolProgress { tool_use_id, text, fraction: Some(fraction), ..ToolProgress::default() }))
}

pub(super) fn result(id: &str, output: &str, more: impl FnOnce(&mut ToolResult)) -> Step {
    let mut result =
        ToolResult { tool_use_id: ToolUseId::trusted(id), output: output.to_owned(), ..ToolResult::default() };
    more(&mut result);
    say(&Event::from(result))
}

pub(super) fn usage(input_tokens: u64, output_tokens: u64) -> Step {
    let usage = Usage {
        input_tokens,
        output_tokens,
        cost_usd: Some(0.0),
        context_used: Some(input_tokens + output_tokens),
        context_window: Some(200_000),
        ..Usage::default()
    };
    say(&Event::from(usage))
}

pub(super) fn turn_end(outcome: Outcome, error: Option<Failure>) -> Step {
    Step::Send(AgentMessage::TurnEnd { outcome, reason: None, error })
}

pub(super) fn say(event: &Event) -> Step {
    Step::Send(AgentMessage::Event { kind: event.kind().to_owned(), data: event.data(), by: None })
}

impl Step {
    /// The same, done by a sub-agent.
    pub(super) fn by(self, subagent: &SubagentId) -> Step {
        match self {
            Step::Send(AgentMessage::Event { kind, data, .. }) => {
                Step::Send(AgentMessage::Event { kind, data, by: Some(subagent.clone()) })
            }
            other => other,
        }
    }
}

pub(super) trait ConcatSteps {
    fn concat_steps(self) -> Vec<Step>;
}

impl<const N: usize> ConcatSteps for [Vec<Step>; N] {
    fn concat_steps(self) -> Vec<Step> {
        self.into_iter().flatten().collect()
    }
}
