//! The agent side: decides what to do next from what the host sent. It plays scripts; the scripts are in `scripts`.

use std::collections::VecDeque;

use serde_json::Value;

use super::scripts;
use super::wire::{AgentMessage, AskAnswer, HostCommand};
use crate::event::Outcome;
use crate::id::BlockId;

/// How fast it talks, unless told otherwise: one word in this many milliseconds.
const PACE_MS: u64 = 12;

/// What the process around the agent shall do.
#[derive(Debug, PartialEq, Eq)]
pub enum NextAction {
    /// Write this, which ends with a newline unless it is garbage.
    Write(Vec<u8>),
    /// Let time pass, unless something is heard before.
    Sleep {
        ms: u64,
    },
    /// Do nothing until something is heard.
    Listen,
    /// Ignore everything but SIGKILL from here on.
    IgnoreSignals,
    /// Leave a process behind that is in a session of its own.
    LeaveChild,
    Exit {
        code: u8,
    },
}

/// How a script goes on, given an answer.
type Continuation = Box<dyn FnOnce(&AskAnswer) -> Vec<Step> + Send>;

/// One thing in a script.
pub(super) enum Step {
    Send(AgentMessage),
    Raw(Vec<u8>),
    Sleep {
        ms: u64,
    },
    /// One word's worth of time.
    Pause,
    /// Ask, and go on according to the answer.
    Ask {
        say: AgentMessage,
        then: Continuation,
    },
    /// The same, while another ask waits. What follows comes when all are answered.
    AlsoAsk {
        say: AgentMessage,
        then: Continuation,
    },
    Stream(Stream),
    Hang,
    IgnoreSignals,
    LeaveChild,
    /// For when the turn is over and nobody has begun another.
    Later(Vec<Step>),
    Exit {
        code: u8,
    },
}

/// Many pieces of text, made one by one.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    pub(super) block: BlockId,
    pub(super) left: u64,
    pub(super) sent: u64,
    pub(super) bytes: usize,
    pub(super) per_second: Option<u64>,
    pub(super) text: StreamText,
}

/// What a stream is made of.
#[derive(Debug, Clone, Copy)]
pub(super) enum StreamText {
    /// Each piece begins with its number.
    Counted,
    /// Markdown as agents write it, over and over.
    Prose,
}

/// An agent that plays scripts.
#[derive(Default)]
pub struct MockAgent {
    steps: VecDeque<Step>,
    later: VecDeque<Step>,
    /// The asks that the script waits for, and how it goes on after each.
    asking: Vec<(String, Continuation)>,
    in_turn: bool,
    hangs: bool,
    ignores_input: bool,
    closing: bool,
    /// What the turn's blocks and tools are named after.
    name: String,
    pace_ms: u64,
    host_state: HostState,
}

/// What it was told besides messages.
#[derive(Debug, Default)]
pub(super) struct HostState {
    /// The shared state, as a client left it.
    pub(super) state: Option<Value>,
    /// The tools that clients run.
    pub(super) tools: Vec<String>,
}

impl std::fmt::Debug for MockAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MockAgent")
            .field("in_turn", &self.in_turn)
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}

impl MockAgent {
    /// Takes one line from the host.
    pub fn receive(&mut self, line: &[u8]) {
        match serde_json::from_slice(line) {
            Ok(order) if !self.ignores_input => self.handle_command(order),
            Ok(_) | Err(_) => {}
        }
    }

    /// The host closed our input: what is being said is finished, nothing new will come.
    pub fn input_closed(&mut self) {
        self.closing = true;
        self.hangs &= self.ignores_input;
    }

    pub fn next_action(&mut self) -> NextAction {
        let asks_more = matches!(self.steps.front(), Some(Step::AlsoAsk { .. }));
        if self.hangs || (!self.asking.is_empty() && !asks_more) {
            return NextAction::Listen;
        }
        let step = self.steps.pop_front().or_else(|| if self.in_turn { None } else { self.later.pop_front() });
        match step {
            None if self.in_turn => self.end_turn(Outcome::Completed),
            None if self.closing => NextAction::Exit { code: 0 },
            None => NextAction::Listen,
            Some(Step::Send(say)) => {
                match &say {
                    AgentMessage::TurnEnd { .. } => self.in_turn = false,
                    AgentMessage::TurnStart {} => {
                        self.in_turn = true;
                        self.steps.extend(self.later.drain(..));
                    }
                    _ => {}
                }
                write(&say)
            }
            Some(Step::Later(steps)) => {
                self.later.extend(steps);
                self.next_action()
            }
            Some(Step::Raw(bytes)) => NextAction::Write(bytes),
            Some(Step::Sleep { ms }) => NextAction::Sleep { ms },
            Some(Step::Pause) => NextAction::Sleep { ms: self.pace_ms },
            Some(Step::Ask { say, then } | Step::AlsoAsk { say, then }) => {
                if let AgentMessage::Ask { key, .. }
                | AgentMessage::Propose { key, .. }
                | AgentMessage::HostCall { key, .. } = &say
                {
                    self.asking.push((key.clone(), then));
                }
                write(&say)
            }
            Some(Step::Stream(stream)) => self.stream(stream),
            Some(Step::Hang) => {
                self.hangs = true;
                NextAction::Listen
            }
            Some(Step::IgnoreSignals) => {
                (self.hangs, self.ignores_input) = (true, true);
                NextAction::IgnoreSignals
            }
            Some(Step::LeaveChild) => NextAction::LeaveChild,
            Some(Step::Exit { code }) => NextAction::Exit { code },
        }
    }

    fn handle_command(&mut self, order: HostCommand) {
        match order {
            HostCommand::Open { session, resume, fork, pace_ms, greet, tools } => {
                self.host_state.tools = tools;
                self.pace_ms = pace_ms.unwrap_or(PACE_MS);
                if greet == Some(true) && resume.is_none() && fork.is_none() {
                    self.later.extend(scripts::welcome());
                }
                self.steps.push_back(Step::Send(ready(&session, resume, fork)));
            }
            HostCommand::Prompt { turn, text } => {
                self.in_turn = true;
                // The end of the turn's id is random, so what is named after it is unique in the session.
                self.name = turn.as_str().chars().rev().take(8).collect::<String>().chars().rev().collect();
                self.steps.extend(scripts::play(&text, &self.name, &self.host_state));
            }
            HostCommand::Steer { message, text } => {
                let mut steps = scripts::words(&format!("{}-{message}", self.name), &format!("Understood: {text}"));
                steps.insert(0, Step::Send(AgentMessage::Steered { message }));
                // It is heard at once, before what is still to be said, and it ends a wait, also one that has not begun.
                self.steps.retain(|step| !matches!(step, Step::Hang));
                steps.into_iter().rev().for_each(|step| self.steps.push_front(step));
                self.hangs = false;
            }
            HostCommand::Interrupt {} => {
                self.steps.clear();
                self.asking.clear();
                self.hangs = false;
                if std::mem::take(&mut self.in_turn) {
                    self.steps.push_back(Step::Send(AgentMessage::TurnEnd {
                        outcome: Outcome::Stopped,
                        reason: None,
                        error: None,
                    }));
                }
            }
            HostCommand::Answer { key, answer }
            | HostCommand::Verdict { key, verdict: answer }
            | HostCommand::HostResult { key, result: answer } => {
                if let Some(at) = self.asking.iter().position(|(asked, _)| *asked == key) {
                    let (_, then) = self.asking.swap_remove(at);
                    then(&answer).into_iter().rev().for_each(|step| self.steps.push_front(step));
                }
            }
            HostCommand::SetModel { .. } | HostCommand::SetMode { .. } => {}
            HostCommand::Compact {} => {
                self.in_turn = true;
                self.steps.extend(scripts::compaction());
            }
            HostCommand::Configure { tools, pace_ms } => {
                self.host_state.tools = tools.unwrap_or(std::mem::take(&mut self.host_state.tools));
                self.pace_ms = pace_ms.unwrap_or(self.pace_ms);
            }
            HostCommand::State { state } => self.host_state.state = Some(state),
            HostCommand::Callback { component, action, payload } => {
                // It is shown at once, before what is still to be said.
                self.steps.push_front(scripts::pressed(&component, &action, &payload));
            }
            HostCommand::StopBackground { id } => {
                self.later.clear();
                if !self.in_turn {
                    self.hangs = false;
                }
                self.steps.push_back(scripts::background_stopped(&id));
            }
            HostCommand::Rollback { .. } => self.steps.push_back(Step::Send(AgentMessage::RolledBack {})),
            HostCommand::Close {} => self.input_closed(),
        }
    }

    fn stream(&mut self, stream: Stream) -> NextAction {
        let Stream { block, left, sent, bytes, per_second, text: kind } = stream;
        if left == 0 {
            return self.next_action();
        }
        let text = match kind {
            StreamText::Counted => {
                let number = format!("{sent} ");
                let rest = bytes.saturating_sub(number.len());
                number + &"x".repeat(rest)
            }
            StreamText::Prose => {
                let prose = scripts::PROSE;
                let start = usize::try_from(sent).unwrap_or(0).wrapping_mul(bytes) % prose.len();
                prose.chars().cycle().skip(start).take(bytes).collect()
            }
        };
        self.steps.push_front(Step::Stream(Stream {
            block: block.clone(),
            left: left - 1,
            sent: sent + 1,
            bytes,
            per_second,
            text: kind,
        }));
        if let Some(ms) = per_second.and_then(|rate| pause_before(sent + 1, rate)) {
            self.steps.push_front(Step::Sleep { ms });
        }
        write(&AgentMessage::Text { block, text })
    }

    fn end_turn(&mut self, outcome: Outcome) -> NextAction {
        self.in_turn = false;
        write(&AgentMessage::TurnEnd { outcome, reason: None, error: None })
    }
}

/// How long to wait before the nth piece, so that whole milliseconds give the wanted rate.
fn pause_before(n: u64, per_second: u64) -> Option<u64> {
    let due = |n: u64| n * 1000 / per_second.max(1);
    Some(due(n) - due(n - 1)).filter(|ms| *ms > 0)
}

fn ready(session: &str, resume: Option<String>, fork: Option<String>) -> AgentMessage {
    let conversation = format!("mock-{session}");
    match (resume, fork) {
        (Some(wanted), _) if wanted.starts_with("mock-") => {
            AgentMessage::Ready { conversation: wanted, resumed: true, reason: None }
        }
        (Some(wanted), _) => {
            let reason = Some(format!("there is no conversation {wanted}"));
            AgentMessage::Ready { conversation, resumed: false, reason }
        }
        (None, fork) => AgentMessage::Ready { conversation, resumed: fork.is_some(), reason: None },
    }
}

fn write(say: &AgentMessage) -> NextAction {
    let mut line = serde_json::to_vec(say).unwrap_or_default();
    line.push(b'\n');
    NextAction::Write(line)
}
