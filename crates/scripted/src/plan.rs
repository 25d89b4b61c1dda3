//! Turns a reply into blocks, pieces and pauses, for either API. The tools are already the agent's own; `frames` writes the bytes of each API.

use serde_json::Value;

use crate::frame::Frame;
use crate::request::ModelRequest;
use crate::script::{Pace, Refusal, Reply, Step, Stop, StreamError, TextKind, Usage};
use crate::{speech, tools};

/// Rough, and known to be: four characters are a token.
const CHARACTERS_PER_TOKEN: usize = 4;

/// A reply, made for one request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Plan {
    Refuse {
        /// What is waited for before.
        first: Vec<Pause>,
        refusal: Refusal,
    },
    Speak(Speech),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Speech {
    /// The number of the reply it is made of.
    pub(crate) reply: usize,
    pub(crate) acts: Vec<Act>,
    pub(crate) usage: TokenCounts,
    pub(crate) ending: Ending,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    Begin(Block),
    Piece(String),
    End,
    Pause(Pause),
    Fail(StreamError),
    Cut,
}

/// Why a reply has no end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Break {
    Fail(StreamError),
    Cut,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pause {
    Ms(u64),
    Gate(String),
}

impl From<Pause> for Frame {
    fn from(pause: Pause) -> Self {
        match pause {
            Pause::Ms(ms) => Self::Wait { ms },
            Pause::Gate(name) => Self::Gate { name },
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    Said(TextKind),
    Call(Call),
}

/// One call of a tool, as this agent knows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) input: Input,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    Object(Value),
    Text(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenCounts {
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) output: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    Calls,
    MaxTokens,
    Refusal,
    ContextWindow,
}

pub(crate) fn plan(reply: &Reply, asked: &ModelRequest) -> Plan {
    let mut writer = Writer { asked, acts: Vec::new(), open: None, said: 0, called: false };
    for step in &reply.steps {
        match step {
            Step::Say { voice, text, pace } => writer.say(*voice, &fill(text, asked), *pace),
            Step::Call { tool, pace } => writer.call(tool, *pace),
            Step::WaitMs(ms) => writer.acts.push(Act::Pause(Pause::Ms(*ms))),
            Step::WaitFor(name) => writer.acts.push(Act::Pause(Pause::Gate(name.clone()))),
            Step::Refuse(refusal) => {
                let pauses = writer.acts.into_iter().filter_map(|act| match act {
                    Act::Pause(pause) => Some(pause),
                    _ => None,
                });
                return Plan::Refuse { first: pauses.collect(), refusal: refusal.clone() };
            }
            Step::StreamError(error) => writer.break_off(Act::Fail(error.clone())),
            Step::Cut => writer.break_off(Act::Cut),
        }
    }
    writer.close();
    Plan::Speak(Speech {
        reply: reply.number,
        usage: spent(reply.usage, writer.said),
        ending: match reply.stop {
            Stop::MaxTokens => Ending::MaxTokens,
            Stop::Refusal => Ending::Refusal,
            Stop::ContextWindow => Ending::ContextWindow,
            Stop::Natural if writer.called => Ending::Calls,
            Stop::Natural => Ending::Done,
        },
        acts: writer.acts,
    })
}

struct Writer<'a> {
    asked: &'a ModelRequest,
    acts: Vec<Act>,
    /// The block that is being said: what is said in the same voice goes on in it, whatever was waited for in between.
    open: Option<TextKind>,
    said: usize,
    called: bool,
}

impl Writer<'_> {
    fn say(&mut self, voice: TextKind, text: &str, pace: Pace) {
        if self.open != Some(voice) {
            self.close();
            self.acts.push(Act::Begin(Block::Said(voice)));
            self.open = Some(voice);
        }
        let pieces = pace.pieces.map_or_else(|| speech::by_words(text), |count| speech::by_count(text, count));
        self.pieces(pieces, pace);
    }

    fn call(&mut self, tool: &crate::script::Tool, pace: Pace) {
        let Some(mut call) = tools::call(tool, self.asked) else {
            self.say(TextKind::Text, "(The script has no such call for this agent.)", pace);
            return;
        };
        self.close();
        if let Input::Object(value) = &mut call.input {
            fill_inside(value, self.asked);
        }
        let input = match &call.input {
            Input::Object(value) => value.to_string(),
            Input::Text(text) => text.clone(),
        };
        self.acts.push(Act::Begin(Block::Call(call)));
        let pieces = pace.pieces.map_or_else(|| speech::by_input(&input), |count| speech::by_count(&input, count));
        self.pieces(pieces, pace);
        self.acts.push(Act::End);
        self.called = true;
    }

    fn pieces(&mut self, pieces: Vec<String>, pace: Pace) {
        for (index, piece) in pieces.into_iter().enumerate() {
            if index > 0 && pace.every_ms > 0 {
                self.acts.push(Act::Pause(Pause::Ms(pace.every_ms)));
            }
            self.said += piece.chars().count();
            self.acts.push(Act::Piece(piece));
        }
    }

    fn close(&mut self) {
        if self.open.take().is_some() {
            self.acts.push(Act::End);
        }
    }

    /// In the middle of a block, if there is one: that is what makes it a break.
    fn break_off(&mut self, act: Act) {
        self.open = None;
        self.acts.push(act);
    }
}

/// A reply may repeat what it heard.
fn fill(text: &str, asked: &ModelRequest) -> String {
    if !text.contains("{{") {
        return text.to_owned();
    }
    let heard = |part: &Option<String>| part.as_deref().unwrap_or_default().trim().to_owned();
    text.replace("{{user}}", &heard(&asked.user)).replace("{{tool_result}}", &heard(&asked.tool_result))
}

/// The same in the texts of an input.
fn fill_inside(value: &mut Value, asked: &ModelRequest) {
    match value {
        Value::String(text) => *text = fill(text, asked),
        Value::Array(items) => items.iter_mut().for_each(|item| fill_inside(item, asked)),
        Value::Object(members) => members.values_mut().for_each(|member| fill_inside(member, asked)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn spent(usage: Usage, said: usize) -> TokenCounts {
    let guess = u64::try_from(said.div_ceil(CHARACTERS_PER_TOKEN)).unwrap_or(u64::MAX);
    TokenCounts { input: usage.input, cached: usage.cached, output: usage.output.unwrap_or(guess) }
}

/// How many tokens a text may be.
pub(crate) fn tokens(text: &[u8]) -> usize {
    text.len().div_ceil(CHARACTERS_PER_TOKEN)
}
