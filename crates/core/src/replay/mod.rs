//! Recorded traffic, replayed through a runtime's protocol and the turn machine as if the agent were there: no process, no clock, no randomness. Not
//! here: where recordings come from and where the events go.

#[cfg(test)]
pub(crate) mod brief;
mod entry;

use serde_json::Value;

pub use self::entry::{Direction, Entry, Error, read};
use crate::command::{Answer, ClientCommand, Command, Files, Message, Update, When};
use crate::event::{AfterStop, Envelope};
use crate::id::{IdSource, SessionId};
use crate::runtime::{self, Beginning, Capabilities, Line, Opening, Protocol};
use crate::session::{Effect, Input, Limits, Machine, Output, Setup, State};
use crate::time::Timestamp;

/// When a replay takes place. Recordings hold only how much later something was.
const BEGINNING: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// What the host of a recording wanted, in the words of a session.
#[derive(Debug)]
pub enum HostAction {
    /// A message: a turn of its own, or into the one that runs.
    Send(Message),
    Stop,
    /// `key` is what the agent called its ask.
    Answer {
        key: String,
        answer: Answer,
    },
    Update(Update),
    Compact,
    /// Take back this many turns.
    Rollback(usize),
    /// The agent's process ends, and another one goes on.
    Restart(NewAgent),
    /// The agent would have said this to us, because we would have asked.
    AgentLine(Value),
}

/// The agent that comes after one that ended.
pub struct NewAgent {
    pub protocol: Box<dyn Protocol>,
    pub beginning: Beginning,
}

impl std::fmt::Debug for NewAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewAgent").field("beginning", &self.beginning).finish_non_exhaustive()
    }
}

/// One runtime's part of a replay. Recordings were made by other hosts than this one, which chose other ids and did other things at other times;
/// this makes the agent's side of the recording fit what our protocol wrote.
pub trait Recorded {
    fn runtime(&self) -> &'static str;

    fn capabilities(&self) -> Capabilities;

    /// The protocol for this recording, and how the conversation in it began.
    fn begin(&mut self, entries: &[Entry]) -> (Box<dyn Protocol>, Beginning);

    /// Our protocol wrote this line.
    fn wrote(&mut self, line: &Value);

    /// The host of the recording wrote this line.
    fn host(&mut self, line: &Value) -> Vec<HostAction>;

    /// The agent said this; it comes back as the agent would have said it to us.
    fn agent(&mut self, line: &Value) -> Vec<Value>;
}

/// Plays a recording to its end, and then the end of the agent.
pub fn play(recorded: &mut dyn Recorded, entries: &[Entry]) -> Vec<Envelope> {
    let mut player = Player::new(recorded, entries);
    for entry in entries {
        player.entry(entry);
    }
    player.end()
}

struct Player<'a> {
    recorded: &'a mut dyn Recorded,
    protocol: Box<dyn Protocol>,
    beginning: Beginning,
    machine: Machine,
    log: Vec<Envelope>,
    at: Timestamp,
    replies: u64,
}

impl<'a> Player<'a> {
    fn new(recorded: &'a mut dyn Recorded, entries: &[Entry]) -> Self {
        let (protocol, beginning) = recorded.begin(entries);
        let setup = Setup {
            session_id: SessionId::trusted("replay"),
            runtime: recorded.runtime().to_owned(),
            params: Value::Null,
            // The recorded host did as it liked; the machine shall not stand in the way.
            capabilities: Capabilities { resume: true, steer: true, compact: true, ..recorded.capabilities() },
            limits: Limits::default(),
            ids: IdSource::seeded(0),
            components: std::sync::Arc::default(),
            budgets: std::sync::Arc::default(),
            delegation: crate::delegation::Rules::default(),
        };
        let machine = Machine::new(setup, State::default());
        let mut player = Self { recorded, protocol, beginning, machine, log: Vec::new(), at: BEGINNING, replies: 0 };
        let mut out = Output::default();
        player.machine.create(player.at, &mut out);
        player.carry_out(out);
        let provider_session_id = match &player.beginning {
            Beginning::Fresh => None,
            Beginning::Resume { provider_session_id, .. } | Beginning::Fork { provider_session_id, .. } => {
                Some(provider_session_id.clone())
            }
        };
        // The recording begins with an agent that runs.
        player.command(Command::Resume { provider_session_id });
        player
    }

    fn entry(&mut self, entry: &Entry) {
        self.at = BEGINNING.plus_millis(i64::try_from(entry.at_ms).unwrap_or(i64::MAX / 4));
        match entry.direction {
            Direction::In => {
                for act in self.recorded.host(&entry.line) {
                    self.act(act);
                }
            }
            Direction::Out => {
                for line in self.recorded.agent(&entry.line) {
                    self.receive(&line);
                }
            }
        }
    }

    fn act(&mut self, act: HostAction) {
        match act {
            HostAction::Send(message) => self.command(Command::Send { message, when: When::Steer }),
            HostAction::Stop => self.command(Command::Stop { turn_id: None, then: AfterStop::Continue }),
            HostAction::Answer { key, answer } => {
                if let Some(ask_id) = self.machine.ask_by_key(&key) {
                    self.command(Command::Answer { ask_id, answer });
                }
            }
            HostAction::Update(update) => self.command(Command::Update(update)),
            HostAction::Compact => self.command(Command::Compact),
            HostAction::Rollback(turns) => self.command(Command::Rollback { turns, files: Files::Keep }),
            HostAction::Restart(NewAgent { protocol, beginning }) => {
                self.input(Input::Exited {
                    exit_code: None,
                    description: "the recording goes on in another process".to_owned(),
                });
                (self.protocol, self.beginning) = (protocol, beginning);
                self.command(Command::Resume { provider_session_id: None });
            }
            HostAction::AgentLine(line) => self.receive(&line),
        }
    }

    fn command(&mut self, command: Command) {
        self.replies += 1;
        let command = ClientCommand { by: "host".to_owned(), command };
        self.input(Input::Command { command, reply_to: self.replies });
    }

    fn receive(&mut self, line: &Value) {
        let bytes = match line {
            Value::String(raw) => raw.clone().into_bytes(),
            line => line.to_string().into_bytes(),
        };
        let mut protocol_output = runtime::Output::default();
        self.protocol.line(Line::Text(&bytes), &mut protocol_output);
        let mut out = Output::default();
        self.apply_protocol_output(protocol_output, &mut out);
        self.carry_out(out);
    }

    fn input(&mut self, input: Input) {
        let mut out = Output::default();
        self.machine.handle(input, self.at, &mut out);
        self.carry_out(out);
    }

    fn apply_protocol_output(&mut self, protocol_output: runtime::Output, out: &mut Output) {
        for line in protocol_output.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if let Ok(line) = serde_json::from_slice(line) {
                self.recorded.wrote(&line);
            }
        }
        for report in protocol_output.reports {
            self.machine.handle(Input::Report(report), self.at, out);
        }
    }

    fn carry_out(&mut self, out: Output) {
        let mut next = Some(out);
        while let Some(out) = next.take() {
            self.log.extend(out.facts);
            let mut after = Output::default();
            for effect in out.effects {
                let mut protocol_output = runtime::Output::default();
                match effect {
                    Effect::Start(opening) => {
                        let opening = Opening { beginning: self.beginning.clone(), ..opening };
                        self.protocol.open(&opening, &mut protocol_output);
                    }
                    Effect::Order(order) => self.protocol.order(&order, &mut protocol_output),
                    Effect::Attach
                    | Effect::Disconnect
                    | Effect::StoreRule { .. }
                    | Effect::Delegate(_)
                    | Effect::TellChild { .. }
                    | Effect::StopChildren(_)
                    | Effect::Terminate
                    | Effect::Kill
                    | Effect::Reply { .. } => {}
                }
                self.apply_protocol_output(protocol_output, &mut after);
            }
            if !after.facts.is_empty() || !after.effects.is_empty() {
                next = Some(after);
            }
        }
    }

    fn end(mut self) -> Vec<Envelope> {
        self.input(Input::Shutdown);
        self.input(Input::Exited { exit_code: None, description: "the recording ends here".to_owned() });
        self.log
    }
}
