//! Tools, the steps they stand in, and asks.
//!
//! A client sends an answer only after the response has ended, and its helpers look at the last step alone: every tool there must be finished or
//! answered. So a call that might ask is not shown beside one that runs (it is held until it does something), and an ask beside a running call
//! gets a step of its own.

use serde_json::{Value, json};

use super::chunk::{Chunk, Flag};
use super::{AiSdk, Profile, name};
use crate::client_tools::text_of;
use crate::dialect::{Frames, keep_tail};
use crate::event::{
    Envelope, Event, Interrupt, PermissionRequest, PermissionResolved, QuestionRequest, ToolProgress, ToolResult,
    ToolStart,
};
use crate::id::AskId;

/// How much of what a running tool has said is shown.
const PROGRESS_BYTES: usize = 2_000;

/// The step that is open, and the calls shown in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Step {
    open: bool,
    calls: Vec<String>,
}

/// One call of this turn.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    pub(super) state: ToolState,
    /// Whether the agent runs it; what it does not run, the client does.
    agent: bool,
    progress: String,
    /// A person was asked about it, and said no.
    refused: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolState {
    Held,
    Running,
    Asking,
    Done,
}

/// An ask without an answer.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    /// The call it is about.
    tool: String,
    /// The call was made up for the ask.
    own_tool: bool,
    told: bool,
}

/// Whose step a call may join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepPlacement {
    Anything,
    /// Not beside what runs.
    NothingThatRuns,
}

impl AiSdk {
    // ---- steps ----

    fn start_step(&mut self, out: &mut Frames) {
        self.end_step(out);
        out.push(&Chunk::StartStep);
        self.step.open = true;
        self.client_step = false;
    }

    /// A turn is over. If its last step has calls that the client answered, a helper of the client would take it for what is to be sent, for ever;
    /// so there is a last step with nothing in it.
    pub(super) fn end_last_step(&mut self, out: &mut Frames) {
        self.end_step(out);
        if self.client_step {
            self.start_step(out);
            self.end_step(out);
        }
    }

    pub(super) fn end_step(&mut self, out: &mut Frames) {
        if self.step.open {
            out.push(&Chunk::FinishStep);
        }
        self.step = Step::default();
    }

    fn step_has(&self, is: impl Fn(ToolState) -> bool) -> bool {
        self.step.calls.iter().filter_map(|id| self.tools.get(id)).any(|tool| is(tool.state))
    }

    /// Whether a call of the last step runs.
    pub(super) fn step_runs(&self) -> bool {
        self.step_has(|state| state == ToolState::Running)
    }

    fn step_is_busy(&self) -> bool {
        self.step_has(|state| matches!(state, ToolState::Running | ToolState::Asking))
    }

    /// What follows the results of tools is a step of its own.
    pub(super) fn step_for_text(&mut self, out: &mut Frames) {
        if !self.step.open || (!self.step.calls.is_empty() && !self.step_is_busy()) {
            self.start_step(out);
        }
    }

    // ---- calls ----

    pub(super) fn tool_start(&mut self, start: &ToolStart, out: &mut Frames) {
        let id = name(start.tool_use_id.as_str());
        if self.tools.contains_key(id) {
            return;
        }
        if start.client_tool == Some(true) {
            // It is shown when the client is asked to run it.
            self.client_calls.insert(id.to_owned(), start.clone());
            return;
        }
        // Whatever step it stands in: where a response ended must not decide what the next one shows.
        if self.open_calls > 0 {
            let held = Tool { state: ToolState::Held, agent: true, progress: String::new(), refused: false };
            self.tools.insert(id.to_owned(), held);
            self.held.push(start.clone());
        } else {
            self.show_call(id, &start.tool, &as_object(start.input.as_ref()), StepPlacement::Anything, out);
        }
    }

    /// Shows a call that the agent runs.
    fn show_call(&mut self, id: &str, tool_name: &str, input: &Value, beside: StepPlacement, out: &mut Frames) {
        self.place(id, true, beside, out);
        let (dynamic, provider_executed) = (Some(true), Some(true));
        let tool_name = name(tool_name);
        out.push(&Chunk::ToolInputAvailable { tool_call_id: id, tool_name, input, dynamic, provider_executed });
    }

    /// Shows a call that the client runs. One that has its answer is told piece by piece, because a client runs what is told whole.
    fn show_client_call(&mut self, id: &str, tool_name: &str, input: &Value, answered: bool, out: &mut Frames) {
        self.place(id, false, StepPlacement::NothingThatRuns, out);
        self.client_step = true;
        let tool_name = name(tool_name);
        if answered {
            let text = input.to_string();
            out.push(&Chunk::ToolInputStart { tool_call_id: id, tool_name });
            out.push(&Chunk::ToolInputDelta { tool_call_id: id, input_text_delta: &text });
        } else {
            let (dynamic, provider_executed) = (None, None);
            out.push(&Chunk::ToolInputAvailable { tool_call_id: id, tool_name, input, dynamic, provider_executed });
        }
    }

    fn place(&mut self, id: &str, agent: bool, beside: StepPlacement, out: &mut Frames) {
        self.end_text(out);
        let joins = match beside {
            StepPlacement::Anything => self.step.calls.is_empty() || self.step_is_busy(),
            StepPlacement::NothingThatRuns => self.step.calls.is_empty() || (self.step_is_busy() && !self.step_runs()),
        };
        if !self.step.open || !joins {
            self.start_step(out);
        }
        self.step.calls.push(id.to_owned());
        let state = if agent { ToolState::Running } else { ToolState::Asking };
        self.tools.insert(id.to_owned(), Tool { state, agent, progress: String::new(), refused: false });
        self.open_calls += 1;
    }

    /// Shows a call that was held.
    fn release(&mut self, id: &str, beside: StepPlacement, out: &mut Frames) {
        if let Some(at) = self.held.iter().position(|start| name(start.tool_use_id.as_str()) == id) {
            let start = self.held.remove(at);
            self.show_call(id, &start.tool, &as_object(start.input.as_ref()), beside, out);
        }
    }

    fn flags(&self, id: &str) -> (Flag, Flag) {
        let agent = self.tools.get(id).is_some_and(|tool| tool.agent);
        (agent.then_some(true), agent.then_some(true))
    }

    pub(super) fn is_running(&self, id: &str) -> bool {
        self.tools.get(id).is_some_and(|tool| tool.state != ToolState::Done)
    }

    pub(super) fn is_shown(&self, id: &str) -> bool {
        self.tools.get(id).is_some_and(|tool| tool.state != ToolState::Held)
    }

    pub(super) fn tool_progress(&mut self, progress: &ToolProgress, out: &mut Frames) {
        let id = name(progress.tool_use_id.as_str());
        let Some(text) = progress.text.as_ref().filter(|_| self.is_running(id)) else { return };
        self.release(id, StepPlacement::Anything, out);
        let Some(tool) = self.tools.get_mut(id) else { return };
        keep_tail(&mut tool.progress, text, PROGRESS_BYTES);
        let output = Value::from(tool.progress.as_str());
        self.preliminary(id, &output, out);
    }

    /// What a running call has so far.
    pub(super) fn preliminary(&mut self, id: &str, output: &Value, out: &mut Frames) {
        self.release(id, StepPlacement::Anything, out);
        let (dynamic, provider_executed) = self.flags(id);
        let preliminary = Some(true);
        out.push(&Chunk::ToolOutputAvailable { tool_call_id: id, output, preliminary, dynamic, provider_executed });
    }

    pub(super) fn tool_result(&mut self, result: &ToolResult, out: &mut Frames) {
        let id = name(result.tool_use_id.as_str());
        if let Some(start) = self.client_calls.remove(id) {
            // Nobody was asked to run it; it is told like any other.
            self.show_call(id, &start.tool, &as_object(start.input.as_ref()), StepPlacement::Anything, out);
        }
        if !self.is_running(id) {
            return;
        }
        self.release(id, StepPlacement::Anything, out);
        // A call that was refused and one that failed are different states, and only one of them goes with the answer.
        let refused = self.tools.get(id).is_some_and(|tool| tool.refused);
        if refused && self.profile >= Profile::V6 {
            out.push(&Chunk::ToolOutputDenied { tool_call_id: id });
            self.settle(id, out);
        } else if result.is_error || result.denied == Some(true) || result.interrupted == Some(true) {
            let text = if result.output.is_empty() { "it did not finish" } else { &result.output };
            self.fail(id, text, out);
        } else {
            let output = match &result.blob {
                None => Value::from(result.output.as_str()),
                Some(blob) => json!({
                    "text": result.output, "size": blob.size, "mediaType": blob.media_type, "url": format!("/api/blobs/{}", blob.id),
                }),
            };
            self.output(id, &output, out);
        }
    }

    fn output(&mut self, id: &str, output: &Value, out: &mut Frames) {
        let (dynamic, provider_executed) = self.flags(id);
        let preliminary = None;
        out.push(&Chunk::ToolOutputAvailable { tool_call_id: id, output, preliminary, dynamic, provider_executed });
        self.settle(id, out);
    }

    fn fail(&mut self, id: &str, error_text: &str, out: &mut Frames) {
        let (dynamic, provider_executed) = self.flags(id);
        out.push(&Chunk::ToolOutputError { tool_call_id: id, error_text, dynamic, provider_executed });
        self.settle(id, out);
    }

    /// A call has ended; when nothing else is open, the next that was held is shown.
    fn settle(&mut self, id: &str, out: &mut Frames) {
        self.set(id, ToolState::Done);
        if self.open_calls == 0
            && let Some(next) = self.held.first().map(|start| name(start.tool_use_id.as_str()).to_owned())
        {
            self.release(&next, StepPlacement::Anything, out);
        }
    }

    fn set(&mut self, id: &str, state: ToolState) {
        if let Some(tool) = self.tools.get_mut(id).filter(|tool| tool.state != ToolState::Done) {
            tool.state = state;
            if state == ToolState::Done {
                self.open_calls = self.open_calls.saturating_sub(1);
            }
        }
    }

    // ---- asks ----

    /// Whether an ask has its answer further on in what is being told again.
    fn is_answered(&self, ask_id: &AskId) -> bool {
        !self.arrived && self.seq > self.after && !self.pending.contains(ask_id)
    }

    pub(super) fn ask(&mut self, envelope: &Envelope, out: &mut Frames) {
        match &envelope.event {
            Event::PermissionRequest(request) => self.permission(request, out),
            Event::QuestionRequest(request) => self.question(request, out),
            Event::Interrupt(request) => self.interrupt(request, out),
            _ => {}
        }
    }

    /// The call that a client answers an open ask with.
    pub(super) fn call_of(&self, ask_id: &AskId) -> Option<&str> {
        self.asks.get(ask_id).map(|ask| ask.tool.as_str())
    }

    fn permission(&mut self, request: &PermissionRequest, out: &mut Frames) {
        let answered = self.is_answered(&request.ask_id);
        // A call has room for one approval. What is asked about it besides has a call of its own.
        let call = request.tool_use_id.as_ref().map(|id| name(id.as_str()));
        let call = call.filter(|call| !self.asks.values().any(|ask| ask.tool == *call));
        let own_tool = call.is_none();
        let id = call.unwrap_or_else(|| name(request.ask_id.as_str())).to_owned();
        match self.tools.get(&id).map(|tool| tool.state) {
            None => {
                let input = as_object(Some(&request.tool_input));
                self.show_call(&id, &request.tool_name, &input, StepPlacement::NothingThatRuns, out);
            }
            Some(ToolState::Held) => self.release(&id, StepPlacement::NothingThatRuns, out),
            Some(_) => {}
        }
        self.end_text(out);
        self.set(&id, ToolState::Asking);
        let approval_id = name(request.ask_id.as_str());
        let title = request.title.as_deref();
        match self.profile {
            Profile::V5 => {
                let mut input = json!({
                    "toolCallId": id, "toolName": request.tool_name, "input": request.tool_input, "options": request.options,
                });
                if let (Some(title), Some(input)) = (title, input.as_object_mut()) {
                    input.insert("title".to_owned(), json!(title));
                }
                self.show_client_call(approval_id, "approve_tool", &input, answered, out);
            }
            Profile::V6 if !answered => {
                out.push(&Chunk::ToolApprovalRequest { approval_id, tool_call_id: &id, reason: None });
            }
            Profile::V7 if !answered => {
                out.push(&Chunk::ToolApprovalRequest { approval_id, tool_call_id: &id, reason: title });
            }
            Profile::V6 | Profile::V7 => {}
        }
        self.asks.insert(request.ask_id.clone(), Ask { tool: id, own_tool, told: !answered });
    }

    fn question(&mut self, request: &QuestionRequest, out: &mut Frames) {
        let answered = self.is_answered(&request.ask_id);
        let id = name(request.ask_id.as_str()).to_owned();
        let mut input = json!({ "questions": request.questions });
        if let Some(input) = input.as_object_mut() {
            if let Some(title) = &request.title {
                input.insert("title".to_owned(), json!(title));
            }
            // The usual case, for an application that knows one question at a time.
            if let [question] = request.questions.as_slice() {
                let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
                input.insert("question".to_owned(), json!(question.prompt));
                input.insert("options".to_owned(), json!(labels));
            }
        }
        self.show_client_call(&id, "ask_user", &input, answered, out);
        self.asks.insert(request.ask_id.clone(), Ask { tool: id, own_tool: true, told: !answered });
    }

    fn interrupt(&mut self, request: &Interrupt, out: &mut Frames) {
        let answered = self.is_answered(&request.interrupt_id);
        let call = request.tool_use_id.as_ref().map_or(request.interrupt_id.as_str(), |id| id.as_str());
        let id = name(call).to_owned();
        self.client_calls.remove(&id);
        let input = as_object(Some(&request.props));
        self.show_client_call(&id, &request.component_name, &input, answered, out);
        self.asks.insert(request.interrupt_id.clone(), Ask { tool: id, own_tool: true, told: !answered });
    }

    pub(super) fn answer(&mut self, envelope: &Envelope, out: &mut Frames) {
        match &envelope.event {
            Event::PermissionResolved(resolved) => {
                if let Some(ask) = self.asks.remove(&resolved.ask_id) {
                    self.permitted(&ask, resolved, out);
                }
            }
            Event::QuestionResolved(resolved) => {
                let Some(ask) = self.asks.remove(&resolved.ask_id) else { return };
                match &resolved.answers {
                    Some(answers) => {
                        let mut output = json!({ "answers": answers });
                        if let ([answer], Some(output)) = (answers.as_slice(), output.as_object_mut()) {
                            output.insert("answer".to_owned(), json!(answer.join(", ")));
                        }
                        self.output(&ask.tool, &output, out);
                    }
                    None => self.fail(&ask.tool, resolved.reason.as_deref().unwrap_or("not answered"), out),
                }
            }
            Event::InterruptResolved(resolved) => {
                let Some(ask) = self.asks.remove(&resolved.interrupt_id) else { return };
                match &resolved.value {
                    Some(value) if resolved.is_error == Some(true) => self.fail(&ask.tool, &text_of(value), out),
                    Some(value) => self.output(&ask.tool, value, out),
                    None => self.fail(&ask.tool, resolved.reason.as_deref().unwrap_or("not answered"), out),
                }
            }
            _ => {}
        }
    }

    fn permitted(&mut self, ask: &Ask, resolved: &PermissionResolved, out: &mut Frames) {
        let (approval_id, approved) = (name(resolved.ask_id.as_str()), resolved.allowed);
        if let Some(tool) = self.tools.get_mut(&ask.tool) {
            tool.refused = !approved;
        }
        let reason = resolved.reason.as_deref();
        match self.profile {
            Profile::V5 => {
                let mut output = json!({ "approved": approved });
                if let (Some(reason), Some(output)) = (reason, output.as_object_mut()) {
                    output.insert("reason".to_owned(), json!(reason));
                }
                self.output(approval_id, &output, out);
            }
            Profile::V6 => {}
            Profile::V7 => {
                if !ask.told {
                    out.push(&Chunk::ToolApprovalRequest { approval_id, tool_call_id: &ask.tool, reason: None });
                }
                out.push(&Chunk::ToolApprovalResponse { approval_id, approved, reason });
            }
        }
        match (ask.own_tool, approved) {
            (false, _) => self.set(&ask.tool, ToolState::Running),
            (true, true) => self.output(&ask.tool, &json!({ "allowed": true }), out),
            (true, false) if self.profile >= Profile::V6 => {
                out.push(&Chunk::ToolOutputDenied { tool_call_id: &ask.tool });
                self.settle(&ask.tool, out);
            }
            (true, false) => self.fail(&ask.tool, reason.unwrap_or("not allowed"), out),
        }
    }
}

/// The input of a call is an object in these clients.
fn as_object(input: Option<&Value>) -> Value {
    match input {
        None | Some(Value::Null) => json!({}),
        Some(Value::Object(object)) => Value::Object(object.clone()),
        Some(other) => json!({ "input": other }),
    }
}
