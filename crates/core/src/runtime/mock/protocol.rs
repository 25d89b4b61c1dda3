//! The adapter side: orders to lines, lines to reports.

use super::wire::{Do, Given, Say, Wanted};
use crate::client_tools::ClientTools;
use crate::command::{Answer, Callback};
use crate::event::{Event, Origin, Part};
use crate::id::ToolUseId;
use crate::runtime::{
    AskRequest, Beginning, Line, Opening, Order, Output, Prompt, ProposedCall, Protocol, Ready, Report, StreamedText,
    Verdict, unparsed,
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
        tell(out, &Do::Open { session, resume, fork, pace_ms, greet, tools });
    }

    fn order(&mut self, order: &Order, out: &mut Output) {
        let order = match order {
            Order::Prompt { turn_id, messages } => {
                Do::Prompt { turn: turn_id.clone(), text: messages.iter().map(text_of).collect::<Vec<_>>().join("\n") }
            }
            Order::Steer { message, .. } => Do::Steer { message: message.message_id.clone(), text: text_of(message) },
            Order::Interrupt => Do::Interrupt {},
            Order::Answer { key, answer } => Do::Answer { key: key.clone(), answer: given(answer) },
            Order::Verdict { key, verdict } => Do::Verdict { key: key.clone(), verdict: heard(verdict) },
            Order::SetModel { model } => Do::SetModel { model: model.clone() },
            Order::SetMode { mode } => Do::SetMode { mode: mode.clone() },
            Order::Compact { .. } => Do::Compact {},
            Order::Configure { settings } => {
                let tools = self.client_tools.configure(settings).then(|| self.tool_names());
                Do::Configure { tools, pace_ms: settings.get("pace_ms").and_then(serde_json::Value::as_u64) }
            }
            Order::State { state } => Do::State { state: state.clone() },
            Order::Callback(Callback { component_id, action, payload }) => {
                Do::Callback { component: component_id.clone(), action: action.clone(), payload: payload.clone() }
            }
            Order::StopBackground { id } => Do::StopBackground { id: id.clone() },
            Order::Rollback(order) => Do::Rollback { turns: order.turn_ids.len() },
            Order::Close => Do::Close {},
        };
        tell(out, &order);
    }

    fn line(&mut self, line: Line<'_>, out: &mut Output) {
        let said = match line {
            Line::Text([]) => return,
            Line::Text(bytes) => serde_json::from_slice(bytes).map_err(|error| error.to_string()),
            Line::TooLong { size, .. } => Err(format!("a line of {size} bytes is over the limit")),
        };
        match said {
            Ok(said) => self.said(said, out),
            Err(error) => out.report(unparsed("mock/stdout", &error, line)),
        }
    }
}

impl MockProtocol {
    fn tool_names(&self) -> Vec<String> {
        self.client_tools.iter().map(|tool| tool.name.clone()).collect()
    }

    fn said(&mut self, said: Say, out: &mut Output) {
        match said {
            Say::Ready { conversation, resumed, reason } => {
                let ready = Ready { provider_session_id: Some(conversation), resumed, reason, ..Ready::default() };
                out.report(Report::Ready(Box::new(ready)));
            }
            Say::Text { block, text } => out.report(self.text.delta(&block, text)),
            Say::TextEnd { block, text } => {
                self.text.finish(&block, &text).into_iter().for_each(|event| out.report(event));
            }
            Say::Event { kind, data, by } => {
                out.report(Report::Fact { subagent_id: by, event: Event::from_value(&kind, &data) });
            }
            Say::Ask { key, by, request } => {
                let request = match request {
                    Wanted::Permission(request) => AskRequest::Permission(request),
                    Wanted::Question(request) => AskRequest::Question(request),
                    Wanted::Interrupt(request) => AskRequest::Interrupt(request),
                };
                out.report(Report::Ask { key, subagent_id: by, request });
            }
            Say::Propose { key, by, tool, input } => {
                let call = ProposedCall { tool_use_id: ToolUseId::trusted(key.clone()), tool, input, directory: None };
                out.report(Report::Propose { key, subagent_id: by, call });
            }
            Say::Steered { message } => out.report(Report::SteerDelivered { message_id: message }),
            Say::RolledBack {} => out.report(Report::RolledBack { files_restored: false, branched: false }),
            Say::TurnStart {} => out.report(Report::TurnStarted { origin: Origin::Agent }),
            Say::TurnEnd { outcome, reason, error } => {
                self.text.clear();
                out.report(Report::TurnEnded { outcome, reason, failure: error });
            }
            Say::SessionEnd { reason } => out.report(Report::SessionEnded { reason, message: None }),
        }
    }
}

fn tell(out: &mut Output, order: &Do) {
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
fn heard(verdict: &Verdict) -> Given {
    match verdict.clone() {
        Verdict::Allow | Verdict::UpToAgent => Given::Allowed {},
        Verdict::Deny { reason } => Given::Denied { reason },
        Verdict::Ask { reason } => Given::MustAsk { reason },
    }
}

fn given(answer: &Answer) -> Given {
    match answer.clone() {
        Answer::Permission { reply, updated_input, message, .. } => Given::Permission { reply, updated_input, message },
        Answer::Question { answers } => Given::Question { answers },
        Answer::Interrupt { value } => Given::Interrupt { value },
        Answer::ToolFailed { output } => Given::ToolFailed { output },
    }
}
