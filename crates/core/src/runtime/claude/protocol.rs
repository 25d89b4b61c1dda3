//! The conversation as a whole: the handshake, orders written as lines, and the dispatch of each line.

mod notices;

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::asks::Asks;
use super::blocks::Blocks;
use super::failure::{self, ApiError};
use super::gate::{self, Gate};
use super::host_tools::{self, Host};
use super::launch::{self, Options};
use super::prompt::{content_of, is_command, is_compact_command, is_uuid, with_note, write_message};
use super::schedule::Lifecycle;
use super::tools::{BackgroundState, CallContext, ResultLine, Tools};
use super::turn::Turn;
use super::wire::{
    Block, CanUseTool, ControlResponse, Elicitation, Initialized, Message, OutputLine, StreamEvent, TurnResult,
};
use crate::client_tools::ClientTools;
use crate::command::Files;
use crate::event::{Activity, CompactionStart, CompactionTrigger, Failure, ModelChoice, SlashCommand, Status};
use crate::host_tools::HostTool;
use crate::policy;
use crate::runtime::{
    Beginning, Line, Opening, Order, Output, Prompt, Protocol, Ready, Report, RollbackOrder, TextKind, unparsed,
};
use crate::time::Timestamp;

/// Speaks with Claude Code.
#[derive(Debug)]
pub struct ClaudeProtocol {
    options: Options,
    session: String,
    opening: Option<Opening>,
    conversation: String,
    /// What was asked of the program, by the id of the request.
    asked: HashMap<String, Asked>,
    requests: u64,
    ready: bool,
    turn: Turn,
    blocks: Blocks,
    tools: Tools,
    background: BackgroundState,
    asks: Asks,
    gate: Gate,
    mode: String,
    /// Rules decide in the session's mode.
    is_ruled: bool,
    /// What the agent has to hear of a mode that has changed.
    mode_note: Option<String>,
    model: Option<String>,
    /// The session chose a model, so the next one seen is no news.
    model_chosen: bool,
    compaction: Option<CompactionTrigger>,
    /// A person typed that it shall compact.
    compacts_by_hand: bool,
    interrupting: bool,
    /// The request to the model whose answer streams.
    request_id: String,
    servers: BTreeMap<String, String>,
    client_tools: ClientTools,
    /// The tools that the session carries out.
    own_tools: Vec<HostTool>,
}

/// A request of ours that waits for its answer.
#[derive(Debug)]
enum Asked {
    Initialize,
    Interrupt,
    Rewind,
    SetMode(String),
    Other,
}

impl ClaudeProtocol {
    pub fn new(options: Options) -> Self {
        Self {
            options,
            session: String::new(),
            opening: None,
            conversation: String::new(),
            asked: HashMap::new(),
            requests: 0,
            ready: false,
            turn: Turn::default(),
            blocks: Blocks::default(),
            tools: Tools::default(),
            background: BackgroundState::default(),
            asks: Asks::default(),
            gate: Gate::default(),
            mode: String::new(),
            is_ruled: false,
            mode_note: None,
            model: None,
            model_chosen: false,
            compaction: None,
            compacts_by_hand: false,
            interrupting: false,
            request_id: String::new(),
            servers: BTreeMap::new(),
            client_tools: ClientTools::default(),
            own_tools: Vec::new(),
        }
    }

    fn request(&mut self, asked: Asked, request: &Value, out: &mut Output) {
        self.requests += 1;
        let id = format!("turnloom-{}", self.requests);
        out.write_line(&json!({ "type": "control_request", "request_id": id, "request": request }));
        self.asked.insert(id, asked);
    }

    /// The name of a message in the agent's conversation. The same message has the same name for ever, so a second copy of it is not run.
    fn uuid(&self, message_id: &str) -> String {
        if is_uuid(message_id) {
            return message_id.to_owned();
        }
        let hash = Sha256::digest(format!("{}/{message_id}", self.session));
        let hex = crate::blob::hex(&hash);
        let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
        format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
    }

    fn prompt(&mut self, messages: &[Prompt], out: &mut Output) {
        // Several at once are one message to the agent, under the first one's name.
        let Some(first) = messages.first() else { return };
        let uuid = self.uuid(first.message_id.as_str());
        self.compacts_by_hand = is_compact_command(messages);
        if self.turn.prompt(&uuid) {
            let mut content = content_of(messages);
            // Behind another text a command of the program would be none; the note waits for the next message.
            if !is_command(messages)
                && let Some(note) = self.mode_note.take()
            {
                content = with_note(&note, content);
            }
            write_message(&uuid, &content, out);
        }
    }

    fn rollback(&mut self, order: &RollbackOrder, out: &mut Output) {
        if order.kept > 0 && order.to.is_none() {
            let reason = "the turn before was cut off, so there is no place to go back to".to_owned();
            return out.report(Report::RollbackRefused { reason });
        }
        match (&order.first_message, order.files) {
            (Some(message_id), Files::Restore) => {
                let uuid = self.uuid(message_id.as_str());
                self.request(Asked::Rewind, &json!({ "subtype": "rewind_files", "user_message_id": uuid }), out);
            }
            _ => out.report(Report::RolledBack { files_restored: false, branched: true }),
        }
    }

    fn configure(&mut self, settings: &serde_json::Map<String, Value>, out: &mut Output) {
        if let Some(tokens) = settings.get("max_thinking_tokens") {
            let request = json!({ "subtype": "set_max_thinking_tokens", "max_thinking_tokens": tokens });
            self.request(Asked::Other, &request, out);
        }
        if let Some(effort) = settings.get("effort").filter(|_| self.ready) {
            let settings = json!({ "effortLevel": effort });
            self.request(Asked::Other, &json!({ "subtype": "apply_flag_settings", "settings": settings }), out);
        }
        if self.client_tools.configure(settings) {
            self.request(Asked::Other, &host_tools::list_changed(), out);
        }
    }

    // ---- what the program says ----

    fn handle_line(&mut self, said: OutputLine, line: Line<'_>, out: &mut Output) {
        match said {
            OutputLine::System(system) => self.system(&system, line, out),
            // Only the main conversation streams.
            OutputLine::StreamEvent { parent_tool_use_id: Some(_), .. } => {}
            OutputLine::StreamEvent { event, abandoned_blocks, .. } => {
                self.stream(event, out);
                // What an interrupt cuts off stays, half written.
                if let Some(abandoned) = abandoned_blocks.filter(|_| !self.interrupting) {
                    self.blocks.abandoned(&abandoned, out);
                }
            }
            OutputLine::Assistant(message) => self.assistant(&message, out),
            OutputLine::User(message) => self.user(&message, out),
            OutputLine::Result(result) => self.result(&result, out),
            OutputLine::ControlRequest { request_id, request } => self.requested(request_id, &request, out),
            OutputLine::ControlResponse { response } => self.answered(response, out),
            OutputLine::ControlCancelRequest { request_id } => {
                self.gate.withdrawn(&request_id);
                self.asks.withdrawn(&request_id, out);
            }
            OutputLine::CommandLifecycle { command_uuid: uuid, state, wakeup_source, scheduled_for } => {
                self.turn.lifecycle(&uuid, &state, out);
                let wakeup_source = wakeup_source.as_deref();
                let with = Lifecycle { uuid: &uuid, state: &state, wakeup_source, scheduled_for };
                self.background.schedule.lifecycle_changed(&with, out);
            }
            OutputLine::ToolProgress { tool_use_id, parent_tool_use_id, elapsed_time_seconds } => {
                // A heartbeat has a name of its own, and that of the call in the place of a parent.
                let id = parent_tool_use_id.unwrap_or(tool_use_id);
                self.tools.progress(&id, elapsed_time_seconds, out);
            }
            OutputLine::RateLimitEvent { rate_limit_info } => self.rate_limit(rate_limit_info, out),
            OutputLine::ConversationReset {} | OutputLine::KeepAlive {} => {}
            OutputLine::Unknown => out.report(unparsed("claude/stdout", &"a line of an unknown type", line)),
        }
    }

    fn stream(&mut self, event: StreamEvent, out: &mut Output) {
        match event {
            StreamEvent::MessageStart { message } => {
                if let Some(usage) = &message.usage {
                    self.turn.requested(&message.id, usage, out);
                }
                self.request_id.clone_from(&message.id);
                self.blocks.message_started(message.id, out);
            }
            StreamEvent::ContentBlockStart { index, content_block } => {
                match content_block.get("type").and_then(Value::as_str) {
                    Some("text") => self.blocks.block_started(index, TextKind::Text),
                    Some("thinking") => self.blocks.block_started(index, TextKind::Thinking),
                    Some("tool_use") => {
                        // Its input may take a while; the call itself is told when the input is whole.
                        let tool = content_block.get("name").and_then(Value::as_str).unwrap_or("a tool");
                        let tool = host_tools::client_tool(tool).unwrap_or(tool);
                        let label = Some(format!("Preparing {tool}"));
                        out.report(Status { state: Activity::Tool, label, ..Status::default() });
                    }
                    _ => {}
                }
            }
            StreamEvent::ContentBlockDelta { index, delta } => self.blocks.piece(index, delta, out),
            StreamEvent::MessageDelta { usage } => {
                let usage = usage.unwrap_or_default();
                self.turn.used(&usage);
                self.turn.requested(&self.request_id, &usage, out);
            }
            StreamEvent::Other => {}
        }
    }

    fn assistant(&mut self, line: &Message, out: &mut Output) {
        self.set_time(line);
        let message = line.message.id.as_deref().unwrap_or_default();
        let subagent_id = self.background.tasks.subagent_of(line);
        if let (None, Some(uuid)) = (&subagent_id, &line.uuid) {
            self.turn.move_anchor(uuid);
        }
        if let Some(kind) = &line.error {
            let text = super::output::text_of(&line.message.content);
            // A sub-agent that failed says so to the agent.
            if subagent_id.is_none() {
                self.turn.failed(ApiError { kind: kind.clone(), status: line.api_error_status, text });
            }
            return;
        }
        if let (Some(request), Some(usage)) = (&line.message.id, &line.message.usage) {
            self.turn.requested(request, usage, out);
        }
        for block in line.message.blocks() {
            let (kind, whole) = match block {
                Block::Text { text } => (TextKind::Text, text),
                Block::Thinking { thinking } => (TextKind::Thinking, thinking),
                Block::ToolUse { id, name, input } => {
                    self.tools.called(&id, &name, input, subagent_id.clone(), out);
                    continue;
                }
                Block::ToolResult { .. } | Block::Other => continue,
            };
            match &subagent_id {
                Some(subagent) => self.blocks.finish_subagent_block(subagent, message, kind, &whole, out),
                None => self.blocks.finish_block(message, kind, &whole, line.aborted, out),
            }
        }
    }

    fn set_time(&mut self, line: &Message) {
        if let Some(now) = line.timestamp.as_ref().and_then(|time| Timestamp::deserialize(time).ok()) {
            self.background.schedule.set_time(now);
        }
    }

    fn user(&mut self, line: &Message, out: &mut Output) {
        self.set_time(line);
        let subagent_id = self.background.tasks.subagent_of(line);
        if line.is_replay {
            if let Some(uuid) = &line.uuid {
                self.turn.taken_in(uuid, out);
            }
            return;
        }
        if let (None, Some(uuid), false) = (&subagent_id, &line.uuid, line.is_synthetic) {
            self.turn.move_anchor(uuid);
        }
        for block in line.message.blocks() {
            if let Block::ToolResult { tool_use_id: id, content, is_error } = block {
                if self.is_ruled && !self.gate.let_through(&id) && is_error != Some(true) {
                    self.gate_is_off(&id, out);
                }
                let refused = self.asks.was_refused(&id);
                let context =
                    CallContext { refused, interrupting: self.interrupting, conversation: &self.conversation };
                let returned = ResultLine { id, content, is_error };
                self.tools.returned(&returned, line, context, subagent_id.clone(), &mut self.background, out);
            }
        }
    }

    /// A call ran that nobody judged: whatever the reason, the rules do not hold, so nothing more may run.
    fn gate_is_off(&mut self, call: &str, out: &mut Output) {
        out.report(Failure {
            message: format!("Claude Code ran the call {call} without asking the rules, so the turn is stopped"),
            code: "gate_off".to_owned(),
            retryable: false,
            fix: Some("update Claude Code, or choose a mode of the agent's own".to_owned()),
        });
        self.interrupting = self.turn.is_open();
        self.request(Asked::Interrupt, &json!({ "subtype": "interrupt", "cancel_queued": true }), out);
    }

    fn result(&mut self, result: &TurnResult, out: &mut Output) {
        if !self.ready {
            return out.report(Report::StartFailed(failure::of_start(result)));
        }
        // What was never said whole must be settled before the turn is.
        self.blocks.turn_ended(result.interrupted(), out);
        let unexplained = result.origin.is_none() && self.turn.began_by_itself();
        self.background.schedule.turn_ended(unexplained, out);
        self.compaction = None;
        self.compacts_by_hand = false;
        self.interrupting = false;
        self.turn.result(result, out);
    }

    fn requested(&mut self, id: String, request: &Value, out: &mut Output) {
        let subtype = request.get("subtype").and_then(Value::as_str).unwrap_or_default();
        let answer = match subtype {
            "can_use_tool" => match CanUseTool::deserialize(request) {
                // It reads nothing but what the session has judged, and changes nothing on this machine.
                Ok(ask) if host_tools::is_own(&ask.tool_name) => {
                    Ok(json!({ "behavior": "allow", "updatedInput": ask.input }))
                }
                Ok(ask) => return self.asks.can_use_tool(id, ask, out),
                Err(error) => Err(error.to_string()),
            },
            "elicitation" => match Elicitation::deserialize(request) {
                Ok(ask) => {
                    // The request does not name the sub-agent; it is known if exactly one call of this server waits.
                    let owner = ask.mcp_server_name.as_deref().and_then(|server| self.tools.owner_at_server(server));
                    return self.asks.elicitation(id, ask, owner, out);
                }
                Err(error) => Err(error.to_string()),
            },
            "mcp_message" => {
                let server = request.get("server_name").and_then(Value::as_str).unwrap_or_default();
                let message = request.get("message").unwrap_or(&Value::Null);
                let (tools, own) = (&self.client_tools, self.own_tools.as_slice());
                let mut host = Host { tools, own, asks: &mut self.asks, calls: &self.tools };
                match host_tools::message(id.clone(), server, message, &mut host, out) {
                    Some(answer) => Ok(answer),
                    None => return,
                }
            }
            "hook_callback" => {
                let is_served = |tool: &str| host_tools::is_served(tool, &self.client_tools);
                match self.gate.proposed(id.clone(), request, is_served, out) {
                    Some(answer) => Ok(answer),
                    None => return,
                }
            }
            "request_user_dialog" => Ok(json!({ "behavior": "cancelled" })),
            other => Err(format!("{other} is not served here")),
        };
        respond(&id, answer, out);
    }

    fn answered(&mut self, response: ControlResponse, out: &mut Output) {
        let succeeded = response.subtype == "success";
        match self.asked.remove(&response.request_id) {
            Some(Asked::Initialize) if succeeded => self.initialized(&response.response, out),
            Some(Asked::Initialize) => {
                let message = response.error.unwrap_or_default();
                out.report(Report::StartFailed(crate::runtime::StartFailure {
                    message: format!("Claude Code refused the handshake: {message}"),
                    code: "agent_start_failed".to_owned(),
                    fix: Some("run `turnloom doctor`".to_owned()),
                }));
            }
            Some(Asked::Interrupt) => {
                for uuid in super::wire::texts(response.response.get("cancelled")) {
                    self.turn.settled(&uuid, false, out);
                }
            }
            Some(Asked::Rewind) => {
                let restored = succeeded && response.response.get("canRewind").and_then(Value::as_bool) != Some(false);
                out.report(Report::RolledBack { files_restored: restored, branched: true });
            }
            // The session believed that it had changed.
            Some(Asked::SetMode(before)) if !succeeded => self.mode_reported(Some(&before), out),
            Some(Asked::SetMode(_)) => {}
            Some(Asked::Other) | None => {}
        }
    }

    /// What the program does not have of the conversation.
    fn missing_history(&self) -> Option<&String> {
        self.options.conversation_missing.as_ref().or(self.options.end_missing.as_ref())
    }

    fn initialized(&mut self, answer: &Value, out: &mut Output) {
        let info = Initialized::deserialize(answer).unwrap_or_default();
        let beginning = self.opening.as_ref().map_or(&Beginning::Fresh, |opening| &opening.beginning);
        let missing_history = self.missing_history();
        let resumed = *beginning != Beginning::Fresh && missing_history.is_none();
        let commands = info.commands.into_iter().map(|command| SlashCommand {
            name: command.name,
            description: command.description.filter(|text| !text.is_empty()).map(|text| first_words(&text)),
            hint: command.argument_hint.filter(|text| !text.is_empty()),
        });
        let models = info.models.into_iter().map(|model| ModelChoice {
            id: model.value,
            name: model.display_name,
            description: model.description,
        });
        if let Some(mode) = &info.current_permission_mode {
            self.mode.clone_from(mode);
        }
        self.ready = true;
        out.report(Report::Ready(Box::new(Ready {
            provider_session_id: Some(self.conversation.clone()),
            resumed,
            reason: self.missing_history().cloned(),
            model: None,
            mode: info.current_permission_mode,
            version: info.claude_code_version,
            commands: Some(commands.collect()),
            models: Some(models.collect()),
        })));
    }
}

impl Protocol for ClaudeProtocol {
    fn open(&mut self, opening: &Opening, out: &mut Output) {
        let launch = launch::launch(opening, &self.options);
        self.session = opening.session_id.to_string();
        self.conversation = launch.conversation;
        self.mode = launch::mode(opening, opening.mode.as_deref());
        self.is_ruled = opening.mode.as_deref().is_some_and(launch::is_ruled);
        self.model_chosen = opening.model.is_some();
        self.turn = Turn::new(opening.beginning == Beginning::Fresh || self.options.conversation_missing.is_some());
        self.background.tasks.set_conversations_folder(self.options.conversations.clone());
        if matches!(opening.beginning, Beginning::Resume { .. }) && self.missing_history().is_none() {
            self.turn.set_anchor(opening.anchor.clone());
        }
        let none = serde_json::Map::new();
        let params = opening.params.as_object().unwrap_or(&none);
        self.client_tools.configure(params);
        self.own_tools.clone_from(&opening.host_tools);
        let mut request = json!({
            "subtype": "initialize",
            "forwardSubagentText": true,
            "perTaskStopAffordance": true,
            "hooks": gate::hooks(),
            "sdkMcpServers": [host_tools::SERVER],
            "sdkMcpServerManifests": { host_tools::SERVER: host_tools::manifest(&self.own_tools, &self.client_tools) },
        });
        if let Some(fields) = request.as_object_mut() {
            let given = |name: &str| params.get(name).cloned();
            let own_prompt = given("custom_system_prompt").map(|prompt| json!([prompt]));
            let about_mode = opening.mode.as_deref().filter(|_| self.is_ruled).map(policy::mode_instructions);
            let added = [opening.system_prompt.as_deref(), self.options.instructions.as_deref(), about_mode.as_deref()];
            let added: Vec<&str> = added.into_iter().flatten().collect();
            for (name, value) in [
                ("appendSystemPrompt", (!added.is_empty()).then(|| added.join("\n\n").into())),
                ("systemPrompt", own_prompt),
                ("agents", given("agents")),
                ("jsonSchema", given("output_schema")),
            ] {
                fields.extend(value.map(|value| (name.to_owned(), value)));
            }
        }
        self.request(Asked::Initialize, &request, out);
        self.configure(params, out);
        self.opening = Some(opening.clone());
    }

    fn order(&mut self, order: &Order, out: &mut Output) {
        match order {
            Order::Prompt { messages, .. } => self.prompt(messages, out),
            Order::Steer { message, .. } => {
                let uuid = self.uuid(message.message_id.as_str());
                self.turn.steer(uuid.clone(), message.message_id.clone());
                let content = content_of(std::slice::from_ref(message));
                write_message(&uuid, &content, out);
            }
            Order::Interrupt { .. } => {
                self.interrupting = self.turn.is_open();
                self.request(Asked::Interrupt, &json!({ "subtype": "interrupt", "cancel_queued": true }), out);
            }
            Order::Answer { key, answer, .. } => {
                if let Some(answer) = self.asks.answer(key, answer) {
                    respond(key, Ok(answer), out);
                }
            }
            Order::Verdict { key, verdict } => {
                if let Some((answer, refused)) = self.gate.answer(key, verdict) {
                    self.asks.refuse(refused);
                    respond(key, Ok(answer), out);
                }
            }
            Order::SetModel { model } => {
                self.model_chosen = true;
                self.request(Asked::Other, &json!({ "subtype": "set_model", "model": model }), out);
            }
            Order::SetMode { mode } => {
                let Some(opening) = &self.opening else { return };
                self.is_ruled = launch::is_ruled(mode);
                self.mode_note = Some(policy::mode_note(mode, self.is_ruled));
                let mode = launch::mode(opening, Some(mode));
                let before = std::mem::replace(&mut self.mode, mode.clone());
                self.request(Asked::SetMode(before), &json!({ "subtype": "set_permission_mode", "mode": mode }), out);
            }
            Order::Compact { turn_id } => {
                let uuid = self.uuid(turn_id.as_str());
                self.compaction = Some(CompactionTrigger::Manual);
                out.report(CompactionStart { trigger: CompactionTrigger::Manual });
                if self.turn.prompt(&uuid) {
                    write_message(&uuid, &"/compact".into(), out);
                }
            }
            Order::StopBackground { id } => {
                self.request(Asked::Other, &json!({ "subtype": "stop_task", "task_id": id }), out);
            }
            Order::Configure { settings } => self.configure(settings, out),
            Order::HostResult { key, output, is_error } => {
                if let Some(answer) = self.asks.host_result(key, output, *is_error) {
                    respond(key, Ok(answer), out);
                }
            }
            Order::HostTools(tools) => {
                self.own_tools.clone_from(tools);
                self.request(Asked::Other, &host_tools::list_changed(), out);
            }
            Order::Rollback(order) => self.rollback(order, out),
            // It hears of these by messages.
            Order::State { .. } | Order::Callback(_) => {}
            Order::Close { .. } => self.request(Asked::Other, &json!({ "subtype": "end_session" }), out),
        }
    }

    fn line(&mut self, line: Line<'_>, out: &mut Output) {
        let said = match line {
            Line::Text([]) => return,
            Line::Text(bytes) => serde_json::from_slice(bytes).map_err(|error| error.to_string()),
            Line::TooLong { size, .. } => Err(format!("a line of {size} bytes is over the limit")),
        };
        match said {
            Ok(said) => self.handle_line(said, line, out),
            Err(error) => out.report(unparsed("claude/stdout", &error, line)),
        }
    }
}

/// Enough of a description for a menu. Some are pages long, and they come with every start.
fn first_words(text: &str) -> String {
    const CHARS: usize = 100;
    match text.char_indices().nth(CHARS) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}

fn respond(id: &str, answer: Result<Value, String>, out: &mut Output) {
    let response = match answer {
        Ok(answer) => json!({ "subtype": "success", "request_id": id, "response": answer }),
        Err(error) => json!({ "subtype": "error", "request_id": id, "error": error }),
    };
    out.write_line(&json!({ "type": "control_response", "response": response }));
}
