//! The adapter side: orders to lines, lines to reports.

use super::wire::{AgentMessage, AskAnswer, AskPayload, HostCommand};
use crate::client_tools::ClientTools;
use crate::command::Answer;
use crate::event::{Event, Origin, Part};
use crate::id::ToolUseId;
use crate::runtime::{
    AskRequest, Beginning, CallbackOrder, HostCall, Line, Opening, Order, Output, Prompt, ProposedCall, Protocol,
    Ready, Report, StreamedText, Verdict, unparsed,
};

/// Speaks with a mock agent.
#[derive(Debug, Default)]
pub struct MockProtocol {
    text: StreamedText,
    client_tools: ClientTools,
}

impl Protocol for MockProtocol {
    fn open(&mut self, opening: &Opening, out: &mut Output) {
        let (resume, fork) = match &opening.beginning {
            Beginning::Fresh => (None, None),
            Beginning::Resume { provider_session_id, .. } => (Some(provider_session_id.clone()), None),
            Beginning::Fork { provider_session_id, .. } => (None, Some(provider_session_id.clone())),
        };
        let greet = opening.params.get("greet").and_then(serde_json::Value::as_bool);
        let pace_ms = opening.params.get("pace_ms").and_then(serde_json::Value::as_u64);
        if let Some(params) = opening.params.as_object() {
            self.client_tools.configure(params);
        }
        let (session, tools) = (opening.session_id.to_string(), self.tool_names());
        write_command(out, &HostCommand::Open { session, resume, fork, pace_ms, greet, tools });
    }

    fn order(&mut self, order: &Order, out: &mut Output) {
        let order = match order {
            Order::Prompt { turn_id, messages } => HostCommand::Prompt {
                turn: turn_id.clone(),
                text: messages.iter().map(text_of).collect::<Vec<_>>().join("\n"),
            },
            Order::Steer { message, .. } => {
                HostCommand::Steer { message: message.message_id.clone(), text: text_of(message) }
            }
            Order::Interrupt { .. } => HostCommand::Interrupt {},
            Order::Answer { key, answer, .. } => HostCommand::Answer { key: key.clone(), answer: given(answer) },
            Order::Verdict { key, verdict } => {
                HostCommand::Verdict { key: key.clone(), verdict: verdict_answer(verdict) }
            }
            Order::HostResult { key, output, is_error } => {
                let result = AskAnswer::Served { output: output.clone(), is_error: *is_error };
                HostCommand::HostResult { key: key.clone(), result }
            }
            // It plays what it is told, whether it is offered or not.
            Order::HostTools(_) => return,
            Order::SetModel { model } => HostCommand::SetModel { model: model.clone() },
            Order::SetMode { mode } => HostCommand::SetMode { mode: mode.clone() },
            Order::Compact { .. } => HostCommand::Compact {},
            Order::Configure { settings } => {
                let tools = self.client_tools.configure(settings).then(|| self.tool_names());
                HostCommand::Configure { tools, pace_ms: settings.get("pace_ms").and_then(serde_json::Value::as_u64) }
            }
            Order::State { state, .. } => HostCommand::State { state: state.clone() },
            Order::Callback(CallbackOrder { component_id, action, payload, .. }) => HostCommand::Callback {
                component: component_id.clone(),
                action: action.clone(),
                payload: payload.clone(),
            },
            Order::StopBackground { id } => HostCommand::StopBackground { id: id.clone() },
            Order::Rollback(order) => HostCommand::Rollback { turns: order.turn_ids.len() },
            Order::Close { .. } => HostCommand::Close {},
        };
        write_command(out, &order);
    }

    fn line(&mut self, line: Line<'_>, out: &mut Output) {
        let said = match line {
            Line::Text([]) => return,
            Line::Text(bytes) => serde_json::from_slice(bytes).map_err(|error| error.to_string()),
            Line::TooLong { size, .. } => Err(format!("a line of {size} bytes is over the limit")),
        };
        match said {
            Ok(said) => self.handle_message(said, out),
            Err(error) => out.report(unparsed("mock/stdout", &error, line)),
        }
    }
}

impl MockProtocol {
    fn tool_names(&self) -> Vec<String> {
        self.client_tools.iter().map(|tool| tool.name.clone()).collect()
    }

    fn handle_message(&mut self, said: AgentMessage, out: &mut Output) {
        match said {
            AgentMessage::Ready { conversation, resumed, reason } => {
                let ready = Ready { provider_session_id: Some(conversation), resumed, reason, ..Ready::default() };
                out.report(Report::Ready(Box::new(ready)));
            }
            AgentMessage::Text { block, text } => out.report(self.text.delta(&block, text)),
            AgentMessage::TextEnd { block, text } => {
                self.text.finish(&block, &text).into_iter().for_each(|event| out.report(event));
            }
            AgentMessage::Event { kind, data, by } => {
                out.report(Report::Fact { subagent_id: by, event: Event::from_value(&kind, &data) });
            }
            AgentMessage::Ask { key, by, request } => {
                let request = match request {
                    AskPayload::Permission(request) => AskRequest::Permission(request),
                    AskPayload::Question(request) => AskRequest::Question(request),
                    AskPayload::Interrupt(request) => AskRequest::Interrupt(request),
                };
                out.report(Report::Ask { key, subagent_id: by, request });
            }
            AgentMessage::Propose { key, by, tool, input } => {
                let call = ProposedCall { tool_use_id: ToolUseId::trusted(key.clone()), tool, input, directory: None };
                out.report(Report::Propose { key, subagent_id: by, call });
            }
            AgentMessage::HostCall { key, by, tool, input } => {
                let tool_use_id = Some(ToolUseId::trusted(key.clone()));
                let call = HostCall { key, name: tool, input, tool_use_id, subagent_id: by, file: None };
                out.report(Report::HostCall(Box::new(call)));
            }
            AgentMessage::Steered { message } => out.report(Report::SteerDelivered { message_id: message }),
            AgentMessage::RolledBack {} => out.report(Report::RolledBack { files_restored: false, branched: false }),
            AgentMessage::TurnStart {} => out.report(Report::TurnStarted { origin: Origin::Agent, name: None }),
            AgentMessage::TurnEnd { outcome, reason, error } => {
                self.text.clear();
                out.report(Report::TurnEnded { outcome, reason, failure: error });
            }
            AgentMessage::SessionEnd { reason } => out.report(Report::SessionEnded { reason, message: None }),
        }
    }
}

fn write_command(out: &mut Output, order: &HostCommand) {
    // Orders have string keys only, so this always encodes.
    out.write_line(&serde_json::to_value(order).unwrap_or_default());
}

fn text_of(message: &Prompt) -> String {
    let describe = |part: &Part| match part {
        Part::Text { text } => text.clone(),
        Part::Image { media_type, .. } => format!("[image {media_type}]"),
        Part::File { path } => format!("[file {path}]"),
    };
    message.content.iter().map(describe).collect::<Vec<_>>().join("\n")
}

/// It has no mode of its own that could ask, so what is up to it is allowed.
fn verdict_answer(verdict: &Verdict) -> AskAnswer {
    match verdict.clone() {
        Verdict::Allow | Verdict::UpToAgent => AskAnswer::Allowed {},
        Verdict::Deny { reason } => AskAnswer::Denied { reason },
        Verdict::Ask { reason } => AskAnswer::MustAsk { reason },
    }
}

fn given(answer: &Answer) -> AskAnswer {
    match answer.clone() {
        Answer::Permission { reply, updated_input, message, .. } => {
            AskAnswer::Permission { reply, updated_input, message }
        }
        Answer::Question { answers } => AskAnswer::Question { answers },
        Answer::Interrupt { value } => AskAnswer::Interrupt { value },
        Answer::ToolFailed { output } => AskAnswer::ToolFailed { output },
    }
}
