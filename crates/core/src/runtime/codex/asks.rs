//! Requests of the server that a person has to answer. Each stays open until it is answered or withdrawn. A request that is not understood is refused
//! at once, otherwise the turn would hang.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::changes;
use super::forms::{self, Field};
use super::gate::{Passage, denial};
use super::protocol::{Call, CodexProtocol};
use super::router::PROPOSE;
use super::wire::{ChangeAsk, Command, CommandAsk, Elicitation, GrantAsk, InputAsk, Resolved, ToolAsk};
use super::work::ToolKind;
use crate::client_tools::text_of;
use crate::command::{AfterAnswer, Answer};
use crate::event::{Interrupt, PermissionOption, PermissionReply, PermissionRequest, QuestionRequest};
use crate::host_tools::is_host_tool;
use crate::id::{SubagentId, ToolUseId};
use crate::policy;
use crate::runtime::jsonrpc::{Error, Id};
use crate::runtime::{AskRequest, HostCall, Line, Output, ProposedCall, Report, unparsed};

/// The open ones, by the name that the session knows.
#[derive(Debug, Default)]
pub(super) struct Asks {
    open: BTreeMap<String, Open>,
}

pub(super) const REQUEST_PERMISSIONS: &str = "request_permissions";

/// What is left of a question that was taken back.
pub(super) const WITHDRAWN: &str = "Codex does not wait for it any more";

/// What the model reads of a call that no client has run.
const NOT_RUN: &str = "No client ran this tool.";

#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: Id,
    pub(super) thread_id: String,
    pub(super) item_id: Option<String>,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// A call that has not begun. `asked`: a person is asked about it.
    Proposal {
        call: ProposedCall,
        asked: bool,
    },
    /// A command or a change.
    Decision,
    Grant {
        permissions: Map<String, Value>,
    },
    McpTool,
    Input {
        ids: Vec<String>,
        prompts: Vec<String>,
    },
    Form {
        fields: Vec<Field>,
    },
    /// A call of a tool that the session carries out.
    HostTool,
    /// A call of a tool that a client runs.
    ClientTool,
}

impl Open {
    pub(super) fn new(id: &Id, thread_id: &str, item_id: Option<&str>, kind: Kind) -> Self {
        Self { id: id.clone(), thread_id: thread_id.to_owned(), item_id: item_id.map(str::to_owned), kind }
    }
}

impl Asks {
    /// What belongs to a thread whose turn is over is not waited for any more.
    pub(super) fn forget(&mut self, thread_id: &str) -> Vec<Open> {
        let gone: Vec<String> =
            self.open.iter().filter(|(_, open)| open.thread_id == thread_id).map(|(key, _)| key.clone()).collect();
        gone.iter().filter_map(|key| self.open.remove(key)).collect()
    }

    pub(super) fn insert(&mut self, key: String, open: Open) {
        self.open.insert(key, open);
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Open> {
        self.open.get_mut(key)
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Open> {
        self.open.remove(key)
    }
}

impl CodexProtocol {
    pub(super) fn asked(&mut self, id: &Id, method: &str, params: &str, line: Line<'_>, out: &mut Output) {
        let understood = match method {
            "item/commandExecution/requestApproval" => read(params).map(|ask| self.command_asked(id, &ask, out)),
            "item/fileChange/requestApproval" => read(params).map(|ask| self.change_asked(id, &ask, out)),
            "item/permissions/requestApproval" => read(params).map(|ask| self.grant_asked(id, ask, out)),
            "item/tool/requestUserInput" => read(params).map(|ask| self.input_asked(id, &ask, out)),
            PROPOSE => match read(params) {
                Ok(proposal) => return self.proposed(id, proposal, out),
                // Nothing may run that nobody could read.
                Err(error) => return self.respond(id, denial(&format!("the call could not be read: {error}")), out),
            },
            "item/tool/call" => read(params).map(|ask| self.tool_asked(id, &ask, out)),
            "mcpServer/elicitation/request" => read(params).map(|ask| self.elicitation_asked(id, &ask, out)),
            // Known, and of no use without a clock, a key store or an account of this host.
            "currentTime/read" | "attestation/generate" | "account/chatgptAuthTokens/refresh" => {
                return self.refuse(id, Error::method_not_found(method), out);
            }
            _ => Err("a request that is not known".to_owned()),
        };
        if let Err(error) = understood {
            out.report(unparsed(&format!("codex/{method}"), &error, line));
            self.refuse(id, Error::method_not_found(method), out);
        }
    }

    fn refuse(&mut self, id: &Id, error: Error, out: &mut Output) {
        if let Some(line) = self.peer.respond(id, Err(error)) {
            out.write_line(&line);
        }
    }

    pub(super) fn respond(&mut self, id: &Id, result: Value, out: &mut Output) {
        if let Some(line) = self.peer.respond(id, Ok(result)) {
            out.write_line(&line);
        }
    }

    fn command_asked(&mut self, id: &Id, ask: &CommandAsk, out: &mut Output) {
        // In a turn that ran before this session came to it, nobody has told of the command.
        if let (Some(item_id), Some(line)) = (&ask.item_id, &ask.command)
            && self.may_ask(&ask.thread_id)
            && let Some(work) = self.start_work(&ask.thread_id, out)
        {
            let (id, line, cwd) = (item_id.clone(), line.clone(), ask.cwd.clone());
            work.command_started(&Command { id, line, cwd, ..Command::default() }, out);
        }
        let mut input = Map::new();
        // Without a command nothing must be judged as if it did nothing.
        let script = ask.command.as_deref().map(policy::without_shell).filter(|script| !script.trim().is_empty());
        input.extend(script.map(|script| ("command".to_owned(), json!(script))));
        input.extend(ask.cwd.as_ref().map(|cwd| ("cwd".to_owned(), json!(cwd))));
        input.extend(ask.reason.as_ref().map(|reason| ("reason".to_owned(), json!(reason))));
        let network = ask.network_approval_context.as_ref();
        input.extend(network.map(|network| ("network".to_owned(), network.clone())));
        let host = network.and_then(|network| network.get("host")).and_then(Value::as_str);
        input.extend(host.map(|host| ("url".to_owned(), json!(format!("https://{host}")))));
        let tool_name = match host {
            _ if ask.kind == "writeStdin" => "write_stdin",
            // The command was asked about before; now it is about where it connects.
            Some(_) => "web_fetch",
            None => "Bash",
        };
        let open = Open::new(id, &ask.thread_id, ask.item_id.as_deref(), Kind::Decision);
        let script = input.get("command").and_then(Value::as_str).filter(|_| tool_name == "Bash");
        let clears =
            |passage: &Passage| script.is_some_and(|script| passage.clears_command(script, ask.cwd.as_deref()));
        if self.accept_if_cleared(&open, clears, out) {
            return;
        }
        let request = PermissionRequest {
            tool_name: tool_name.to_owned(),
            tool_input: Value::Object(input),
            title: ask.reason.clone(),
            options: options("Allow once"),
            ..PermissionRequest::default()
        };
        self.ask_permission(open, request, out);
    }

    fn change_asked(&mut self, id: &Id, ask: &ChangeAsk, out: &mut Output) {
        // The request does not say what changes; the item that was started before it does.
        let item = ask.item_id.as_deref().and_then(|item_id| self.work(&ask.thread_id)?.tools.get(item_id));
        let changes = match item.map(|tool| &tool.kind) {
            Some(ToolKind::Change { changes }) => changes.clone(),
            Some(ToolKind::Command { .. } | ToolKind::Mcp { .. } | ToolKind::Other) | None => Vec::new(),
        };
        let open = Open::new(id, &ask.thread_id, ask.item_id.as_deref(), Kind::Decision);
        // Who wants to write in a whole folder wants more than this patch.
        let clears = |passage: &Passage| ask.grant_root.is_none() && passage.clears_changes(&changes);
        if self.accept_if_cleared(&open, clears, out) {
            return;
        }
        let mut input = Map::new();
        input.insert("changes".to_owned(), changes::described(&changes));
        input.extend(changes::diff_of(&changes).map(|diff| ("diff".to_owned(), json!(diff))));
        input.extend(ask.reason.as_ref().map(|reason| ("reason".to_owned(), json!(reason))));
        input.extend(ask.grant_root.as_ref().map(|root| ("grant_root".to_owned(), json!(root))));
        let request = PermissionRequest {
            tool_name: "Edit".to_owned(),
            tool_input: Value::Object(input),
            title: ask.reason.clone(),
            options: options("Allow once"),
            ..PermissionRequest::default()
        };
        self.ask_permission(open, request, out);
    }

    fn grant_asked(&mut self, id: &Id, ask: GrantAsk, out: &mut Output) {
        let tool_input = json!({ "permissions": ask.permissions, "cwd": ask.cwd, "reason": ask.reason });
        self.call_made(&ask.thread_id, ask.item_id.as_deref(), REQUEST_PERMISSIONS, tool_input.clone(), out);
        let request = PermissionRequest {
            tool_name: REQUEST_PERMISSIONS.to_owned(),
            tool_input,
            title: ask.reason,
            options: options("Allow for this turn"),
            ..PermissionRequest::default()
        };
        let kind = Kind::Grant { permissions: ask.permissions };
        self.ask_permission(Open::new(id, &ask.thread_id, ask.item_id.as_deref(), kind), request, out);
    }

    fn input_asked(&mut self, id: &Id, ask: &InputAsk, out: &mut Output) {
        let questions: Vec<_> = ask.questions.iter().map(forms::of_codex).collect();
        let prompts: Vec<_> = questions.iter().map(|question| question.prompt.clone()).collect();
        let ids = ask.questions.iter().map(|question| question.id.clone()).collect();
        let input = json!({ "questions": prompts });
        self.call_made(&ask.thread_id, ask.item_id.as_deref(), "request_user_input", input, out);
        let request = QuestionRequest { questions, ..QuestionRequest::default() };
        let open = Open::new(id, &ask.thread_id, ask.item_id.as_deref(), Kind::Input { ids, prompts });
        self.ask_question(open, request, out);
    }

    /// Codex has no item for some calls; that the model made them is a fact all the same.
    fn call_made(&mut self, thread_id: &str, item_id: Option<&str>, tool: &str, input: Value, out: &mut Output) {
        if let Some(item_id) = item_id.filter(|_| self.may_ask(thread_id))
            && let Some(work) = self.start_work(thread_id, out)
        {
            work.call_started(item_id, tool, input, ToolKind::Other, out);
        }
    }

    /// What came of such a call.
    fn call_answered(&mut self, open: &Open, answer: Option<&Answer>, out: &mut Output) {
        let (said, answered, denied) = match (&open.kind, answer) {
            (Kind::Input { prompts, .. }, Some(Answer::Question { answers })) => {
                let (said, answered) = forms::as_text(prompts, answers.as_deref());
                (said, answered, false)
            }
            (Kind::Grant { .. }, Some(Answer::Permission { reply, .. })) => match reply {
                PermissionReply::Once | PermissionReply::Always => ("allowed for this turn".to_owned(), true, false),
                PermissionReply::Reject => ("not allowed".to_owned(), false, true),
            },
            (Kind::Input { .. } | Kind::Grant { .. }, _) => (WITHDRAWN.to_owned(), false, false),
            _ => return,
        };
        if let Some(item_id) = &open.item_id
            && let Some(work) = self.work(&open.thread_id)
        {
            work.call_completed(item_id, said, !answered, denied, out);
        }
    }

    fn tool_asked(&mut self, id: &Id, ask: &ToolAsk, out: &mut Output) {
        if self.client_tools.contains(&ask.tool) {
            return self.client_tool_asked(id, ask, out);
        }
        if !is_host_tool(&ask.tool) {
            return self.respond(id, tool_result(&format!("this host has no tool {}", ask.tool), false), out);
        }
        if !self.may_ask(&ask.thread_id) {
            return self.respond(id, tool_result("no turn is running", false), out);
        }
        let open = Open::new(id, &ask.thread_id, ask.call_id.as_deref(), Kind::HostTool);
        let (subagent_id, tool_use_id) = self.place(&open, out);
        let key = id.to_string();
        // After a new connection, what is open is asked again.
        if self.asks.open.insert(key.clone(), open).is_none() {
            let (name, input) = (ask.tool.clone(), ask.arguments.clone());
            let call = HostCall { key, name, input, tool_use_id, subagent_id, file: None };
            out.report(Report::HostCall(Box::new(call)));
        }
    }

    /// The session has carried out a call of its tool.
    pub(super) fn host_result(&mut self, key: &str, output: &str, is_error: bool, out: &mut Output) {
        if self.asks.get_mut(key).is_some_and(|open| matches!(open.kind, Kind::HostTool))
            && let Some(open) = self.asks.take(key)
        {
            self.respond(&open.id, tool_result(output, !is_error), out);
        }
    }

    fn elicitation_asked(&mut self, id: &Id, ask: &Elicitation, out: &mut Output) {
        let meta = |name: &str| ask.meta.get(name);
        // It does not say for which call: it is one of that server's, best one with the same input that nobody was asked about.
        let call = self.work(&ask.thread_id).and_then(|work| {
            let calls = work.tools.iter().filter_map(|(item_id, call)| match &call.kind {
                ToolKind::Mcp { server, tool, arguments } if *server == ask.server_name => {
                    Some(((meta("tool_params") != Some(arguments), call.held), (item_id.clone(), tool.clone())))
                }
                _ => None,
            });
            calls.min_by_key(|(distance, _)| *distance).map(|(_, call)| call)
        });
        let (item_id, called) = call.unzip();
        if meta("codex_approval_kind").and_then(Value::as_str) != Some("mcp_tool_call") {
            let (questions, fields) = forms::of_form(ask);
            let title = Some(format!("{}: {}", ask.server_name, ask.message));
            let request = QuestionRequest { questions, title, ..QuestionRequest::default() };
            return self.ask_question(
                Open::new(id, &ask.thread_id, item_id.as_deref(), Kind::Form { fields }),
                request,
                out,
            );
        }
        let tool = meta("tool_name").or(meta("tool")).and_then(Value::as_str);
        let tool = tool.or(called.as_deref()).unwrap_or("tool");
        let (tool_name, tool_input) =
            (format!("mcp__{}__{tool}", ask.server_name), meta("tool_params").cloned().unwrap_or_default());
        let open = Open::new(id, &ask.thread_id, item_id.as_deref(), Kind::McpTool);
        if self.accept_if_cleared(&open, |passage| passage.clears_call(&tool_name, &tool_input), out) {
            return;
        }
        let request = PermissionRequest {
            tool_name,
            tool_input,
            title: Some(ask.message.clone()),
            options: options("Allow once"),
            ..PermissionRequest::default()
        };
        self.ask_permission(open, request, out);
    }

    fn client_tool_asked(&mut self, id: &Id, ask: &ToolAsk, out: &mut Output) {
        let open = Open::new(id, &ask.thread_id, ask.call_id.as_deref(), Kind::ClientTool);
        let (subagent_id, tool_use_id) = self.place(&open, out);
        let request = AskRequest::Interrupt(Interrupt {
            component_name: ask.tool.clone(),
            props: ask.arguments.clone(),
            tool_use_id,
            ..Interrupt::default()
        });
        self.ask(open, subagent_id, request, out);
    }

    fn ask_permission(&mut self, open: Open, request: PermissionRequest, out: &mut Output) {
        let (subagent_id, tool_use_id) = self.place(&open, out);
        if let (Some(item_id), Some(work)) = (&open.item_id, self.work(&open.thread_id)) {
            work.hold(item_id);
        }
        // An approval is a yes or a no.
        let request = PermissionRequest { tool_use_id, fixed_input: Some(true), ..request };
        let request = AskRequest::Permission(request);
        self.ask(open, subagent_id, request, out);
    }

    fn ask_question(&mut self, open: Open, request: QuestionRequest, out: &mut Output) {
        let (subagent_id, tool_use_id) = self.place(&open, out);
        let request = AskRequest::Question(QuestionRequest { tool_use_id, ..request });
        self.ask(open, subagent_id, request, out);
    }

    /// Who asks, and about which tool call.
    fn place(&mut self, open: &Open, out: &mut Output) -> (Option<SubagentId>, Option<ToolUseId>) {
        let work = self.subagents.start_work(&open.thread_id, out);
        let work = work.unwrap_or(&mut self.main);
        (work.owner.clone(), open.item_id.as_deref().and_then(|item_id| work.tool_id(item_id)))
    }

    /// Nobody can be asked between turns.
    pub(super) fn may_ask(&self, thread_id: &str) -> bool {
        self.turn.is_some() || !self.is_main(thread_id)
    }

    fn ask(&mut self, open: Open, subagent_id: Option<SubagentId>, request: AskRequest, out: &mut Output) {
        if !self.may_ask(&open.thread_id) {
            let (answer, _) = answer_of(&open.kind, &rejection(&open.kind));
            return self.respond(&open.id, answer, out);
        }
        let key = open.id.to_string();
        // After a new connection, what is open is asked again.
        if self.asks.open.insert(key.clone(), open).is_none() {
            out.report(Report::Ask { key, subagent_id, request });
        }
    }

    pub(super) fn answer(&mut self, key: &str, answer: &Answer, out: &mut Output) {
        if let Some(Open { kind: Kind::Proposal { .. }, .. }) = self.asks.open.get(key) {
            return self.proposal_answered(key, answer, out);
        }
        let Some(open) = self.asks.open.remove(key) else { return };
        let (result, word) = answer_of(&open.kind, answer);
        self.respond(&open.id, result, out);
        if let (Answer::Permission { reply, .. }, Some(work)) = (answer, self.work(&open.thread_id)) {
            match (reply, &open.item_id) {
                (PermissionReply::Reject, _) => work.rejected(),
                (PermissionReply::Once | PermissionReply::Always, Some(item_id)) => work.allow(item_id),
                (PermissionReply::Once | PermissionReply::Always, None) => {}
            }
        }
        self.call_answered(&open, Some(answer), out);
        // Codex has no place for a reason; the model shall hear it all the same.
        if let Some(word) = word
            && let Some(name) = self.work(&open.thread_id).and_then(|work| work.turn.clone())
        {
            let input = json!([{ "type": "text", "text": word }]);
            let params = json!({ "threadId": open.thread_id, "expectedTurnId": name, "input": input });
            self.call("turn/steer", params, Call::Ignore, out);
        }
    }

    /// The server does not wait any more. If nobody has answered, it took the question back.
    pub(super) fn resolved(&mut self, resolved: &Resolved, out: &mut Output) {
        let Ok(id) = serde_json::from_value::<Id>(resolved.request_id.clone()) else { return };
        self.peer.withdraw(&id);
        let key = id.to_string();
        if let Some(open) = self.asks.open.remove(&key) {
            out.report(Report::AskWithdrawn { key, reason: WITHDRAWN.to_owned() });
            self.call_answered(&open, None, out);
        }
    }
}

impl Kind {
    /// The answer that allows it.
    pub(super) fn accepted(&self) -> Value {
        permission_of(self, PermissionReply::Once, false)
    }
}

fn rejection(kind: &Kind) -> Answer {
    match kind {
        Kind::Proposal { .. } | Kind::Decision | Kind::Grant { .. } | Kind::McpTool => Answer::Permission {
            reply: PermissionReply::Reject,
            updated_input: None,
            message: None,
            rule: None,
            and_then: AfterAnswer::GoOn,
        },
        Kind::Input { .. } | Kind::Form { .. } => Answer::Question { answers: None },
        Kind::ClientTool | Kind::HostTool => Answer::ToolFailed { output: NOT_RUN.into() },
    }
}

/// The answer in the form that the request wants, and a word for the model if there is one.
fn answer_of(kind: &Kind, answer: &Answer) -> (Value, Option<String>) {
    match answer {
        Answer::Permission { reply, message, and_then, .. } => {
            let stop = matches!(and_then, AfterAnswer::Stop(_));
            let word = message.clone().filter(|_| *reply == PermissionReply::Reject && !stop);
            (permission_of(kind, *reply, stop), word)
        }
        Answer::Question { answers } => {
            let answers = answers.as_deref();
            let result = match kind {
                Kind::Input { ids, .. } => forms::to_codex(ids, answers),
                Kind::Form { fields } => forms::to_form(fields, answers),
                Kind::Proposal { .. }
                | Kind::Decision
                | Kind::Grant { .. }
                | Kind::McpTool
                | Kind::ClientTool
                | Kind::HostTool => permission_of(kind, PermissionReply::Reject, false),
            };
            (result, None)
        }
        Answer::Interrupt { value } if matches!(kind, Kind::ClientTool) => (tool_result(&text_of(value), true), None),
        Answer::ToolFailed { output } if matches!(kind, Kind::ClientTool) => {
            (tool_result(&text_of(output), false), None)
        }
        Answer::Interrupt { .. } | Answer::ToolFailed { .. } => {
            (permission_of(kind, PermissionReply::Reject, false), None)
        }
    }
}

/// What Codex would keep by itself is never chosen: what is always allowed is a rule of ours.
fn permission_of(kind: &Kind, reply: PermissionReply, stop: bool) -> Value {
    let allowed = matches!(reply, PermissionReply::Once | PermissionReply::Always);
    let word = match (allowed, stop) {
        (true, _) => "accept",
        (false, true) => "cancel",
        (false, false) => "decline",
    };
    match kind {
        Kind::Proposal { .. } if allowed => json!({}),
        Kind::Proposal { .. } => denial(""),
        Kind::Decision => json!({ "decision": word }),
        Kind::Grant { permissions } if allowed => json!({ "permissions": permissions, "scope": "turn" }),
        Kind::Grant { .. } => json!({ "permissions": {}, "scope": "turn" }),
        Kind::McpTool => json!({ "action": word, "content": null, "_meta": null }),
        Kind::Input { ids, .. } => forms::to_codex(ids, None),
        Kind::Form { fields } => forms::to_form(fields, None),
        Kind::ClientTool | Kind::HostTool => tool_result(NOT_RUN, false),
    }
}

fn tool_result(text: &str, success: bool) -> Value {
    json!({ "contentItems": [{ "type": "inputText", "text": text }], "success": success })
}

/// The choices that are Codex's. Those of *always* are added where the rules are known.
pub(super) fn options(once: &str) -> Vec<PermissionOption> {
    let option = |reply, label: &str| PermissionOption { reply, label: label.to_owned(), rule: None, scope: None };
    vec![option(PermissionReply::Once, once), option(PermissionReply::Reject, "Reject")]
}

fn read<T: DeserializeOwned>(params: &str) -> Result<T, String> {
    serde_json::from_str(params).map_err(|error| error.to_string())
}
