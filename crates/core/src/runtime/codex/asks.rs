//! Requests of the server that a person has to answer. Each stays open until it is answered or withdrawn. A request that is not understood is refused
//! at once, otherwise the turn would hang.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::changes;
use super::forms::{self, Field};
use super::opening::ASK_USER;
use super::protocol::{Call, CodexProtocol};
use super::wire::{ChangeAsk, Command, CommandAsk, Elicitation, GrantAsk, InputAsk, Resolved, ToolAsk};
use super::work::ToolKind;
use crate::client_tools::text_of;
use crate::command::{AfterAnswer, Answer};
use crate::event::{Interrupt, PermissionOption, PermissionReply, PermissionRequest, QuestionRequest};
use crate::id::{SubagentId, ToolUseId};
use crate::runtime::jsonrpc::{Error, Id};
use crate::runtime::shell;
use crate::runtime::{AskRequest, Line, Output, Report, unparsed};

/// The open ones, by the name that the session knows.
#[derive(Debug, Default)]
pub(super) struct Asks {
    open: BTreeMap<String, Open>,
}

const REQUEST_PERMISSIONS: &str = "request_permissions";

/// What is left of a question that was taken back.
const WITHDRAWN: &str = "Codex does not wait for it any more";

/// What the model reads of a call that no client has run.
const NOT_RUN: &str = "No client ran this tool.";

#[derive(Debug)]
struct Open {
    id: Id,
    thread_id: String,
    item_id: Option<String>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A command or a change, with the decisions that rules stand for.
    Decision {
        rules: Vec<(String, Value)>,
    },
    Grant {
        permissions: Map<String, Value>,
    },
    McpTool {
        rules: Vec<(String, &'static str)>,
    },
    Input {
        ids: Vec<String>,
        prompts: Vec<String>,
    },
    Form {
        fields: Vec<Field>,
    },
    AskUser {
        prompts: Vec<String>,
    },
    /// A call of a tool that a client runs.
    ClientTool,
}

impl Open {
    fn new(id: &Id, thread_id: &str, item_id: Option<&str>, kind: Kind) -> Self {
        Self { id: id.clone(), thread_id: thread_id.to_owned(), item_id: item_id.map(str::to_owned), kind }
    }
}

impl Asks {
    /// What belongs to a thread whose turn is over is not waited for any more.
    pub(super) fn forget(&mut self, thread_id: &str) -> Vec<Id> {
        let gone: Vec<String> =
            self.open.iter().filter(|(_, open)| open.thread_id == thread_id).map(|(key, _)| key.clone()).collect();
        gone.iter().filter_map(|key| self.open.remove(key)).map(|open| open.id).collect()
    }
}

impl CodexProtocol {
    pub(super) fn asked(&mut self, id: &Id, method: &str, params: &str, line: Line<'_>, out: &mut Output) {
        let understood = match method {
            "item/commandExecution/requestApproval" => read(params).map(|ask| self.command_asked(id, &ask, out)),
            "item/fileChange/requestApproval" => read(params).map(|ask| self.change_asked(id, &ask, out)),
            "item/permissions/requestApproval" => read(params).map(|ask| self.grant_asked(id, ask, out)),
            "item/tool/requestUserInput" => read(params).map(|ask| self.input_asked(id, &ask, out)),
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

    fn respond(&mut self, id: &Id, result: Value, out: &mut Output) {
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
        let script = shell::without_shell(ask.command.as_deref().unwrap_or_default());
        let mut options = vec![option(PermissionReply::Once, "Allow once", None)];
        let mut rules = vec![(format!("{script} in this session"), json!("acceptForSession"))];
        if let Some(words) = ask.proposed_execpolicy_amendment.as_ref().filter(|words| !words.is_empty()) {
            let decision = json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": words } });
            // Codex keeps this one among its own rules, and what a rule of its own allows runs without a sandbox.
            let words = words.join(" ");
            rules.push((
                format!("commands that begin with {words} in every session of Codex, outside the sandbox"),
                decision,
            ));
        }
        options.extend(
            rules.iter().map(|(rule, _)| option(PermissionReply::Always, &format!("Always allow {rule}"), Some(rule))),
        );
        options.push(option(PermissionReply::Reject, "Reject", None));
        let mut input = Map::new();
        input.insert("command".to_owned(), json!(script));
        input.extend(ask.cwd.as_ref().map(|cwd| ("cwd".to_owned(), json!(cwd))));
        input.extend(ask.reason.as_ref().map(|reason| ("reason".to_owned(), json!(reason))));
        input.extend(ask.network_approval_context.as_ref().map(|network| ("network".to_owned(), network.clone())));
        let request = PermissionRequest {
            tool_name: "Bash".to_owned(),
            tool_input: Value::Object(input),
            title: ask.reason.clone(),
            options,
            ..PermissionRequest::default()
        };
        self.ask_permission(
            Open::new(id, &ask.thread_id, ask.item_id.as_deref(), Kind::Decision { rules }),
            request,
            out,
        );
    }

    fn change_asked(&mut self, id: &Id, ask: &ChangeAsk, out: &mut Output) {
        // The request does not say what changes; the item that was started before it does.
        let item = ask.item_id.as_deref().and_then(|item_id| self.work(&ask.thread_id)?.tools.get(item_id));
        let changes = match item.map(|tool| &tool.kind) {
            Some(ToolKind::Change { changes }) => changes.clone(),
            Some(ToolKind::Command { .. } | ToolKind::Mcp { .. } | ToolKind::Picture { .. } | ToolKind::Other)
            | None => Vec::new(),
        };
        let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        let rule = format!("changes of {} in this session", paths.join(", "));
        let mut input = Map::new();
        input.insert("changes".to_owned(), changes::described(&changes));
        input.extend(changes::diff_of(&changes).map(|diff| ("diff".to_owned(), json!(diff))));
        input.extend(ask.reason.as_ref().map(|reason| ("reason".to_owned(), json!(reason))));
        input.extend(ask.grant_root.as_ref().map(|root| ("grant_root".to_owned(), json!(root))));
        let request = PermissionRequest {
            tool_name: "Edit".to_owned(),
            tool_input: Value::Object(input),
            title: ask.reason.clone(),
            options: vec![
                option(PermissionReply::Once, "Allow once", None),
                option(PermissionReply::Always, &format!("Always allow {rule}"), Some(&rule)),
                option(PermissionReply::Reject, "Reject", None),
            ],
            ..PermissionRequest::default()
        };
        let kind = Kind::Decision { rules: vec![(rule, json!("acceptForSession"))] };
        self.ask_permission(Open::new(id, &ask.thread_id, ask.item_id.as_deref(), kind), request, out);
    }

    fn grant_asked(&mut self, id: &Id, ask: GrantAsk, out: &mut Output) {
        let rule = "these permissions in this session".to_owned();
        let tool_input = json!({ "permissions": ask.permissions, "cwd": ask.cwd, "reason": ask.reason });
        self.call_made(&ask.thread_id, ask.item_id.as_deref(), REQUEST_PERMISSIONS, tool_input.clone(), out);
        let request = PermissionRequest {
            tool_name: REQUEST_PERMISSIONS.to_owned(),
            tool_input,
            title: ask.reason,
            options: vec![
                option(PermissionReply::Once, "Allow for this turn", None),
                option(PermissionReply::Always, &format!("Always allow {rule}"), Some(&rule)),
                option(PermissionReply::Reject, "Reject", None),
            ],
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
                PermissionReply::Once => ("allowed for this turn".to_owned(), true, false),
                PermissionReply::Always => ("allowed in this session".to_owned(), true, false),
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
        let questions = if ask.tool == ASK_USER { forms::of_tool(&ask.arguments) } else { Vec::new() };
        if questions.is_empty() {
            let text = match ask.tool.as_str() {
                ASK_USER => "`questions` must hold at least one question".to_owned(),
                other => format!("this host has no tool {other}"),
            };
            return self.respond(id, tool_result(&text, false), out);
        }
        let prompts = questions.iter().map(|question| question.prompt.clone()).collect();
        let request = QuestionRequest { questions, ..QuestionRequest::default() };
        self.ask_question(
            Open::new(id, &ask.thread_id, ask.call_id.as_deref(), Kind::AskUser { prompts }),
            request,
            out,
        );
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
        let persist = meta("persist").and_then(Value::as_array).cloned().unwrap_or_default();
        let kept = |word: &str| persist.iter().any(|value| value.as_str() == Some(word));
        let mut rules = Vec::new();
        if kept("session") {
            rules.push((format!("{tool} of {} in this session", ask.server_name), "session"));
        }
        if kept("always") {
            // It goes into Codex's own settings.
            rules.push((format!("{tool} of {} in every session of Codex", ask.server_name), "always"));
        }
        let always =
            |(rule, _): &(String, _)| option(PermissionReply::Always, &format!("Always allow {rule}"), Some(rule));
        let mut options = vec![option(PermissionReply::Once, "Allow once", None)];
        options.extend(rules.iter().map(always));
        options.push(option(PermissionReply::Reject, "Reject", None));
        let request = PermissionRequest {
            tool_name: format!("mcp__{}__{tool}", ask.server_name),
            tool_input: meta("tool_params").cloned().unwrap_or_default(),
            title: Some(ask.message.clone()),
            options,
            ..PermissionRequest::default()
        };
        self.ask_permission(Open::new(id, &ask.thread_id, item_id.as_deref(), Kind::McpTool { rules }), request, out);
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
        let request = AskRequest::Permission(PermissionRequest { tool_use_id, ..request });
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
    fn may_ask(&self, thread_id: &str) -> bool {
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

fn rejection(kind: &Kind) -> Answer {
    match kind {
        Kind::Decision { .. } | Kind::Grant { .. } | Kind::McpTool { .. } => Answer::Permission {
            reply: PermissionReply::Reject,
            updated_input: None,
            message: None,
            rule: None,
            and_then: AfterAnswer::GoOn,
        },
        Kind::Input { .. } | Kind::Form { .. } | Kind::AskUser { .. } => Answer::Question { answers: None },
        Kind::ClientTool => Answer::ToolFailed { output: NOT_RUN.into() },
    }
}

/// The answer in the form that the request wants, and a word for the model if there is one.
fn answer_of(kind: &Kind, answer: &Answer) -> (Value, Option<String>) {
    match answer {
        Answer::Permission { reply, message, rule, and_then, .. } => {
            let stop = matches!(and_then, AfterAnswer::Stop(_));
            let word = message.clone().filter(|_| *reply == PermissionReply::Reject && !stop);
            (permission_of(kind, *reply, rule.as_deref(), stop), word)
        }
        Answer::Question { answers } => {
            let answers = answers.as_deref();
            let result = match kind {
                Kind::Input { ids, .. } => forms::to_codex(ids, answers),
                Kind::Form { fields } => forms::to_form(fields, answers),
                Kind::AskUser { prompts } => forms::to_tool(prompts, answers),
                Kind::Decision { .. } | Kind::Grant { .. } | Kind::McpTool { .. } | Kind::ClientTool => {
                    permission_of(kind, PermissionReply::Reject, None, false)
                }
            };
            (result, None)
        }
        Answer::Interrupt { value } if matches!(kind, Kind::ClientTool) => (tool_result(&text_of(value), true), None),
        Answer::ToolFailed { output } if matches!(kind, Kind::ClientTool) => {
            (tool_result(&text_of(output), false), None)
        }
        Answer::Interrupt { .. } | Answer::ToolFailed { .. } => {
            (permission_of(kind, PermissionReply::Reject, None, false), None)
        }
    }
}

fn permission_of(kind: &Kind, reply: PermissionReply, rule: Option<&str>, stop: bool) -> Value {
    match kind {
        Kind::Decision { rules } => {
            let decision = match reply {
                PermissionReply::Once => json!("accept"),
                PermissionReply::Always => {
                    let chosen = rules.iter().find(|(known, _)| Some(known.as_str()) == rule);
                    chosen.map_or(json!("acceptForSession"), |(_, decision)| decision.clone())
                }
                PermissionReply::Reject if stop => json!("cancel"),
                PermissionReply::Reject => json!("decline"),
            };
            json!({ "decision": decision })
        }
        Kind::Grant { permissions } => match reply {
            PermissionReply::Once => json!({ "permissions": permissions, "scope": "turn" }),
            PermissionReply::Always => json!({ "permissions": permissions, "scope": "session" }),
            PermissionReply::Reject => json!({ "permissions": {}, "scope": "turn" }),
        },
        Kind::McpTool { rules } => {
            let (action, kept) = match reply {
                PermissionReply::Once => ("accept", None),
                PermissionReply::Always => {
                    let chosen = rules.iter().find(|(known, _)| Some(known.as_str()) == rule);
                    ("accept", Some(chosen.map_or("session", |(_, word)| word)))
                }
                PermissionReply::Reject if stop => ("cancel", None),
                PermissionReply::Reject => ("decline", None),
            };
            json!({ "action": action, "content": null, "_meta": kept.map(|kept| json!({ "persist": kept })) })
        }
        Kind::Input { ids, .. } => forms::to_codex(ids, None),
        Kind::Form { fields } => forms::to_form(fields, None),
        Kind::AskUser { prompts } => forms::to_tool(prompts, None),
        Kind::ClientTool => tool_result(NOT_RUN, false),
    }
}

fn tool_result(text: &str, success: bool) -> Value {
    json!({ "contentItems": [{ "type": "inputText", "text": text }], "success": success })
}

fn option(reply: PermissionReply, label: &str, rule: Option<&str>) -> PermissionOption {
    PermissionOption { reply, label: label.to_owned(), rule: rule.map(str::to_owned), scope: None }
}

fn read<T: DeserializeOwned>(params: &str) -> Result<T, String> {
    serde_json::from_str(params).map_err(|error| error.to_string())
}
