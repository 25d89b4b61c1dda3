//! Calls of tools, and asks about them.

use serde_json::{Value, json};

use super::asks::{self, Ask};
use super::frame::Frame;
use super::messages::{Body, Outcome};
use super::{AgUi, text_id};
use crate::client_tools::text_of;
use crate::dialect::{Frames, keep_tail, name};
use crate::event::{Envelope, Event, ToolResult, ToolStart};
use crate::id::SubagentId;

/// How much of what a running tool has said is shown.
const PROGRESS_BYTES: usize = 2_000;

impl AgUi {
    // ---- calls ----

    pub(super) fn tool_start(&mut self, envelope: &Envelope, start: &ToolStart, out: &mut Frames) {
        let id = name(start.tool_use_id.as_str());
        let known = self.calls.get(id).and_then(|call| self.messages.get(call));
        if known.is_some_and(|message| message.turn == envelope.turn_id) {
            return;
        }
        let input = start.input.clone().unwrap_or_else(|| json!({}));
        self.show_call(envelope, id, &start.tool, &input, out);
    }

    /// Shows a call, and says what it is called here: some agents count anew in each turn.
    fn show_call(&mut self, envelope: &Envelope, id: &str, tool: &str, input: &Value, out: &mut Frames) -> String {
        let mut call = id.to_owned();
        if self.messages.contains(&call) {
            call = text_id(envelope, id);
        }
        let by = envelope.subagent_id.as_ref().map(ToString::to_string);
        let arguments = input.to_string();
        for frame in &Frame::call(&call, name(tool), &arguments, by.as_deref()) {
            out.push(frame);
        }
        let body = Body::Call { name: name(tool).to_owned(), arguments, result: None };
        self.messages.add(&call, envelope.turn_id.clone(), by, body);
        self.calls.insert(id.to_owned(), call.clone());
        call
    }

    pub(super) fn progress(&mut self, envelope: &Envelope, call: &str, text: &str, out: &mut Frames) {
        let known = self.messages.get(&format!("tool_progress:{call}")).and_then(|message| match &message.body {
            Body::Activity { content, .. } => content.get("text").and_then(Value::as_str).map(str::to_owned),
            _ => None,
        });
        let mut shown = known.unwrap_or_default();
        keep_tail(&mut shown, text, PROGRESS_BYTES);
        self.activity(envelope, "tool_progress", call, json!({ "toolCallId": call, "text": shown }), out);
    }

    pub(super) fn tool_result(&mut self, result: &ToolResult, out: &mut Frames) {
        let Some(call) = self.calls.get(name(result.tool_use_id.as_str())).cloned() else { return };
        let mut content = result.output.clone();
        if let Some(blob) = &result.blob {
            content = format!("{content}\n[all {} bytes: /api/blobs/{}]", blob.size, blob.id);
        }
        let is_error = result.is_error || result.denied == Some(true) || result.interrupted == Some(true);
        self.settle(&call, Outcome { content, is_error }, out);
    }

    fn settle(&mut self, call: &str, outcome: Outcome, out: &mut Frames) {
        let Some(message) = self.messages.get(call) else { return };
        let Body::Call { result: result @ None, .. } = &mut message.body else { return };
        out.push(&Frame::result(&format!("{call}:result"), call, &outcome, message.by.as_deref()));
        *result = Some(outcome);
    }

    // ---- asks ----

    pub(super) fn ask(&mut self, envelope: &Envelope, out: &mut Frames) {
        let by = envelope.subagent_id.as_ref().map(SubagentId::as_str);
        if let Event::Interrupt(request) = &envelope.event {
            self.asked_of_clients.insert(request.component_name.clone());
        }
        match &envelope.event {
            Event::PermissionRequest(request) => {
                let tool = request.tool_use_id.as_ref().map_or(request.ask_id.as_str(), |id| id.as_str());
                let call = match self.calls.get(name(tool)).cloned() {
                    Some(call) => call,
                    None => self.show_call(envelope, name(tool), &request.tool_name, &request.tool_input, out),
                };
                self.asks.insert(request.ask_id.clone(), asks::permission(request, &call, by));
            }
            Event::QuestionRequest(request) => {
                self.asks.insert(request.ask_id.clone(), asks::question(request, by));
            }
            Event::Interrupt(request) if request.tool_use_id.is_some() => {
                let tool = request.tool_use_id.as_ref().map_or("", |id| id.as_str());
                let call = match self.calls.get(name(tool)).cloned() {
                    Some(call) => call,
                    None => self.show_call(envelope, name(tool), &request.component_name, &request.props, out),
                };
                let runs_it = self.run.tools.contains(&request.component_name);
                let ask = if runs_it { Ask::ClientTool(call) } else { asks::client_tool(request, &call, by) };
                self.asks.insert(request.interrupt_id.clone(), ask);
            }
            Event::Interrupt(request) if self.run.tools.contains(&request.component_name) => {
                let id = name(request.interrupt_id.as_str());
                let call = self.show_call(envelope, id, &request.component_name, &request.props, out);
                self.asks.insert(request.interrupt_id.clone(), Ask::ClientTool(call));
            }
            Event::Interrupt(request) => {
                self.asks.insert(request.interrupt_id.clone(), asks::component(request, by));
            }
            Event::PermissionResolved(resolved) => {
                self.asks.remove(&resolved.ask_id);
                // A call that was made up for the ask ends with it.
                if let Some(call) = self.calls.get(resolved.ask_id.as_str()).cloned() {
                    let content = if resolved.allowed { "allowed" } else { "not allowed" }.to_owned();
                    self.settle(&call, Outcome { content, is_error: !resolved.allowed }, out);
                }
            }
            Event::QuestionResolved(resolved) => drop(self.asks.remove(&resolved.ask_id)),
            Event::InterruptResolved(resolved) => {
                if let Some(Ask::ClientTool(call)) = self.asks.remove(&resolved.interrupt_id) {
                    let content = match &resolved.value {
                        Some(value) => text_of(value),
                        None => resolved.reason.clone().unwrap_or_else(|| "not answered".to_owned()),
                    };
                    let is_error = resolved.value.is_none() || resolved.is_error == Some(true);
                    self.settle(&call, Outcome { content, is_error }, out);
                }
            }
            _ => {}
        }
    }
}
