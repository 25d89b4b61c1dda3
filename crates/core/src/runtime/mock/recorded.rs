//! How recordings of the mock are read. It repeats no name of a turn, so little has to be made to fit.

use serde_json::Value;

use super::wire::{AgentMessage, AskAnswer, HostCommand};
use super::{CAPABILITIES, MockProtocol};
use crate::command::{AfterAnswer, Answer, Message, Update};
use crate::event::{Origin, Part};
use crate::id::MessageId;
use crate::replay::{Direction, Entry, HostAction, Recorded};
use crate::runtime::{Beginning, Capabilities, Protocol};

/// The mock in a recording.
#[derive(Debug, Default)]
pub struct RecordedMock;

impl Recorded for RecordedMock {
    fn runtime(&self) -> &'static str {
        "mock"
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn begin(&mut self, entries: &[Entry]) -> (Box<dyn Protocol>, Beginning) {
        let opened =
            entries.iter().filter(|entry| entry.direction == Direction::In).find_map(|entry| read(&entry.line));
        let beginning = match opened {
            Some(HostCommand::Open { resume: Some(provider_session_id), .. }) => {
                Beginning::Resume { provider_session_id, wanted: false }
            }
            Some(HostCommand::Open { fork: Some(provider_session_id), .. }) => {
                Beginning::Fork { provider_session_id, at: None }
            }
            _ => Beginning::Fresh,
        };
        (Box::new(MockProtocol::default()), beginning)
    }

    fn wrote(&mut self, _line: &Value) {}

    fn host(&mut self, line: &Value) -> Vec<HostAction> {
        let send = |id: Option<MessageId>, text: String| {
            HostAction::Send(Message { id, content: vec![Part::Text { text }], origin: Origin::User, source: None })
        };
        let act = match read(line) {
            Some(HostCommand::Prompt { text, .. }) => send(None, text),
            Some(HostCommand::Steer { message, text }) => send(Some(message), text),
            Some(HostCommand::Interrupt {}) => HostAction::Stop,
            Some(HostCommand::Answer { key, answer }) => HostAction::Answer { key, answer: given(answer) },
            Some(HostCommand::SetModel { model }) => {
                HostAction::Update(Update { model: Some(model), ..Update::default() })
            }
            Some(HostCommand::SetMode { mode }) => HostAction::Update(Update { mode: Some(mode), ..Update::default() }),
            Some(HostCommand::Compact {}) => HostAction::Compact,
            // A replay takes nothing back, has no other clients, and ends by itself.
            Some(
                HostCommand::Open { .. }
                | HostCommand::Rollback { .. }
                | HostCommand::Configure { .. }
                | HostCommand::State { .. }
                | HostCommand::Callback { .. }
                | HostCommand::Verdict { .. }
                | HostCommand::HostResult { .. }
                | HostCommand::Close {}
                | HostCommand::StopBackground { .. },
            )
            | None => return Vec::new(),
        };
        vec![act]
    }

    fn agent(&mut self, line: &Value) -> Vec<Value> {
        // The answer to a command that the replay did not have.
        let answers_rollback = matches!(serde_json::from_value(line.clone()), Ok(AgentMessage::RolledBack {}));
        if answers_rollback { Vec::new() } else { vec![line.clone()] }
    }
}

fn read(line: &Value) -> Option<HostCommand> {
    serde_json::from_value(line.clone()).ok()
}

fn given(answer: AskAnswer) -> Answer {
    match answer {
        AskAnswer::Permission { reply, updated_input, message } => {
            Answer::Permission { reply, updated_input, message, rule: None, and_then: AfterAnswer::GoOn }
        }
        AskAnswer::Question { answers } => Answer::Question { answers },
        AskAnswer::Interrupt { value } => Answer::Interrupt { value },
        AskAnswer::ToolFailed { output } => Answer::ToolFailed { output },
        // A verdict is no answer of a person's, and neither is a result.
        AskAnswer::Served { .. } | AskAnswer::Allowed {} | AskAnswer::Denied { .. } | AskAnswer::MustAsk { .. } => {
            Answer::Question { answers: None }
        }
    }
}
