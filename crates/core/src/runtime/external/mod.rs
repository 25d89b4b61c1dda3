//! Agents that others write. They speak one language, over a WebSocket (`Framing::Numbered`) or over the pipes of a program that the daemon starts
//! (`Framing::Plain`): orders become lines here, and lines become reports. `orders` writes, `reports` reads.
//!
//! Not here: sockets, who is connected and whose a session is (the hub in the other crate), and which orders there are to send again (`session::orders`).

mod capabilities;
mod control;
mod orders;
mod reports;
#[cfg(test)]
mod scenes;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use self::capabilities::{CAPABILITY_NAMES, capabilities, limited};
pub use self::control::Control;
use super::{Line, Opening, Order, Output, Protocol, Report, unparsed};
use crate::event::Event;
use crate::id::{SessionId, TurnId};

/// The version of the language.
pub const PROTOCOL: u64 = 1;

/// The longest name of an agent.
const MAX_NAME_BYTES: usize = 48;

/// Whether this can be the name of an agent.
pub fn is_agent_name(text: &str) -> bool {
    let spelled = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && text.bytes().all(spelled)
}

/// How lines are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// A pipe loses nothing and repeats nothing.
    Plain,
    /// A connection may break: what the agent says has `n`, what it is told has `o`, each from 1 in every epoch.
    Numbered,
}

/// How far an agent that is numbered has been heard. It stands beside the log, and is written in the same transaction as the facts that it said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cursor {
    /// How often the agent was opened.
    pub epoch: u64,
    /// The process that has the session.
    pub instance: String,
    /// The last that it said, in this epoch.
    pub said: u64,
    /// It has the session: it was ready and has not been told to let go.
    pub open: bool,
}

/// Speaks with an agent that somebody else wrote.
#[derive(Debug)]
pub struct ExternalProtocol {
    agent: String,
    framing: Framing,
    session_id: SessionId,
    epoch: u64,
    instance: String,
    /// The last number that was taken from it.
    said: u64,
    /// The turn that it works on, as far as it was told.
    turn: Option<TurnId>,
}

impl ExternalProtocol {
    pub fn new(agent: &str, framing: Framing, session_id: SessionId) -> Self {
        let agent = agent.to_owned();
        Self { agent, framing, session_id, epoch: 0, instance: String::new(), said: 0, turn: None }
    }

    /// For one that has the session already, and may come back.
    pub fn resumed(agent: &str, session_id: SessionId, cursor: &Cursor) -> Self {
        let Cursor { epoch, instance, said, .. } = cursor.clone();
        Self { epoch, instance, said, ..Self::new(agent, Framing::Numbered, session_id) }
    }

    /// Writes one message; every message names its session.
    fn write(&self, out: &mut Output, kind: &str, mut message: Value) {
        if let Some(fields) = message.as_object_mut() {
            fields.insert("type".to_owned(), json!(kind));
            fields.insert("session_id".to_owned(), json!(self.session_id));
        }
        out.write_line(&message);
    }

    fn refuse(&self, location: &str, error: &str, line: Line<'_>, out: &mut Output) {
        out.report(unparsed(location, &error, line));
        if self.framing == Framing::Numbered {
            self.write(out, "refused", json!({ "n": self.said, "error": error }));
        }
    }

    fn location(&self, what: &str) -> String {
        format!("{}/{what}", self.agent)
    }

    /// Whether a line is the next one. What was said before is not heard twice.
    fn is_next(&mut self, n: Option<u64>, line: Line<'_>, out: &mut Output) -> bool {
        if self.framing == Framing::Plain {
            return true;
        }
        match n {
            Some(n) if n == self.said.saturating_add(1) => {
                self.said = n;
                true
            }
            Some(n) if n <= self.said => false,
            // The hub lets no gap through; whoever gets here is not numbered at all.
            Some(_) | None => {
                out.report(unparsed(&self.location("number"), &"`n` is not the next number", line));
                false
            }
        }
    }
}

impl Protocol for ExternalProtocol {
    fn open(&mut self, opening: &Opening, out: &mut Output) {
        self.epoch = opening.epoch;
        let message = orders::open(opening, self.framing);
        self.write(out, "open", message);
    }

    fn order(&mut self, order: &Order, out: &mut Output) {
        self.tell(None, order, out);
    }

    fn numbered(&mut self, number: u64, order: &Order, out: &mut Output) {
        self.tell(Some(number), order, out);
    }

    fn line(&mut self, line: Line<'_>, out: &mut Output) {
        let bytes = match line {
            Line::Text(bytes) if bytes.trim_ascii().is_empty() => return,
            Line::Text(bytes) => bytes,
            Line::TooLong { size, .. } => {
                let error = format!("a line of {size} bytes is over the limit");
                return self.refuse(&self.location("line"), &error, line, out);
            }
        };
        if self.framing == Framing::Numbered
            && let Some(control) = Control::parse(bytes)
        {
            return self.control(control, out);
        }
        let message = match serde_json::from_slice::<reports::Message<'_>>(bytes) {
            Ok(message) => message,
            Err(error) => return self.refuse(&self.location("line"), &error.to_string(), line, out),
        };
        if message.session_id.as_deref().is_some_and(|named| named != self.session_id.as_str()) {
            return self.refuse(&self.location("session"), "this is about another session", line, out);
        }
        if !self.is_next(message.n, line, out) {
            return;
        }
        match reports::report(&message, self.turn.as_ref()) {
            Ok(Some(report)) => {
                let report = match message.turn_id.as_deref().filter(|_| !matches!(report, Report::TurnStarted { .. }))
                {
                    Some(turn) => Report::OfTurn { turn: turn.to_owned(), report: Box::new(report) },
                    None => report,
                };
                out.report(report);
            }
            // Types of other versions are nothing to us.
            Ok(None) => {}
            Err(error) => self.refuse(&self.location(&message.kind), &error, line, out),
        }
    }

    fn cursor(&self) -> Option<Cursor> {
        let Self { epoch, instance, said, .. } = self;
        (self.framing == Framing::Numbered).then(|| Cursor {
            epoch: *epoch,
            instance: instance.clone(),
            said: *said,
            open: false,
        })
    }

    fn committed(&mut self, said: u64, out: &mut Output) {
        if self.framing == Framing::Numbered {
            self.write(out, "ack", json!({ "n": said }));
        }
    }

    fn control_hub(&mut self, control: Control, out: &mut Output) {
        if self.framing == Framing::Numbered {
            out.bytes.extend(control.line());
        }
    }
}

impl ExternalProtocol {
    /// What the hub says beside the agent's own lines.
    fn control(&mut self, control: Control, out: &mut Output) {
        match control {
            Control::Instance(instance) => self.instance = instance,
            Control::Waiting => out.report(Report::NotConnected),
            Control::NobodyCame { message, fix } => {
                let code = "agent_not_connected".to_owned();
                out.report(Report::StartFailed(super::StartFailure { message, code, fix: Some(fix) }));
            }
            Control::Away => out.report(Report::Away),
            Control::Back { connection, heard } => out.report(Report::Back { connection, heard }),
            // These go the other way.
            Control::Live { .. } | Control::Disconnect => {}
        }
    }
}

/// The types of events that an agent may say. The daemon has its own word for what it cannot read.
pub fn may_say(event: &Event) -> bool {
    event.author() == crate::event::EventAuthor::Agent && !matches!(event, Event::AgentUnparsed(_))
}
