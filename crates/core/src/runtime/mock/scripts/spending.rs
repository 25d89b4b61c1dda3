//! Scripts that spend: for budgets, and for turns that run away. Every call is proposed, as an agent with a gate does it.

use serde_json::{Value, json};

use super::super::agent::{Step, Stream, StreamText};
use super::super::wire::{AgentMessage, AskAnswer};
use super::steps::{ConcatSteps as _, result, say, start};
use super::words_in;
use crate::event::{Event, Usage};
use crate::id::BlockId;

/// Uses so many tokens, then makes a call; so many times.
pub(super) fn spend(t: &str, tokens: u64, rounds: u64) -> Vec<Step> {
    round(t.to_owned(), 1, rounds, Script::Spend { tokens })
}

/// The same call with the same result.
pub(super) fn circle(t: &str, rounds: u64) -> Vec<Step> {
    round(t.to_owned(), 1, rounds, Script::Circle)
}

/// Uses so many tokens, and talks on without a call.
pub(super) fn burn(t: &str, tokens: u64) -> Vec<Step> {
    let stream = Stream {
        block: BlockId::trusted(format!("{t}-burn")),
        left: 12_000,
        sent: 0,
        bytes: 16,
        per_second: Some(20),
        text: StreamText::Counted,
    };
    vec![used(tokens), Step::Stream(stream)]
}

#[derive(Clone, Copy)]
enum Script {
    Spend { tokens: u64 },
    Circle,
}

fn round(t: String, number: u64, rounds: u64, script: Script) -> Vec<Step> {
    if number > rounds {
        return words_in(&t, "spent", "That was all.");
    }
    let id = format!("{t}-round-{number}");
    let (before, input) = match script {
        Script::Spend { tokens } => (Some(used(tokens * number)), json!({ "command": format!("echo {number}") })),
        Script::Circle => (None, json!({ "command": "cat loom.toml" })),
    };
    let command = input.get("command").and_then(Value::as_str).map(str::to_owned);
    let started = start(&id, "Bash", input.clone(), |start| start.command = command);
    let proposal = AgentMessage::Propose { key: id.clone(), by: None, tool: "Bash".to_owned(), input };
    let then = move |given: &AskAnswer| {
        let ended = match given {
            AskAnswer::Denied { reason } => {
                let denied = result(&id, reason, |result| (result.is_error, result.denied) = (true, Some(true)));
                return [vec![denied], words_in(&t, "denied", &format!("I may not: {reason}."))].concat_steps();
            }
            _ => result(&id, "warp = 120\n", |result| result.exit_code = Some(0)),
        };
        [vec![ended], round(t, number + 1, rounds, script)].concat_steps()
    };
    before.into_iter().chain([started, Step::Ask { say: proposal, then: Box::new(then) }]).collect()
}

/// What the turn has used so far. It says nothing of what that costs.
fn used(tokens: u64) -> Step {
    let usage =
        Usage { input_tokens: tokens, context_used: Some(tokens), context_window: Some(200_000), ..Usage::default() };
    say(&Event::from(usage))
}
