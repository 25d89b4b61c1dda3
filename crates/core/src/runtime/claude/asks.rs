//! Requests that a person has to answer: permissions, questions, plans, forms of MCP servers; and calls of the host's own tools. Each is a request of the
//! program that stays open until it is answered or withdrawn; neither side has a time limit.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::wire::{CanUseTool, Elicitation};
use crate::client_tools::text_of;
use crate::command::{AfterAnswer, Answer};
use crate::event::{
    Interrupt, PermissionOption, PermissionReply, PermissionRequest, Question, QuestionOption, QuestionRequest,
};
use crate::id::{SubagentId, ToolUseId};
use crate::runtime::{AskRequest, HostCall, Output, Report};

const REJECTED: &str = "The user rejected this tool call.";
const DISMISSED: &str = "The user did not answer.";

#[derive(Debug, Default)]
pub(super) struct Asks {
    open: HashMap<String, Open>,
    /// Tool calls that were never allowed, so they did not run.
    refused: BTreeSet<String>,
}

/// What must be known to answer.
#[derive(Debug)]
enum Open {
    Permission {
        input: Value,
        rules: Vec<(String, Value)>,
        call: Option<String>,
    },
    Question {
        input: Value,
    },
    Form {
        fields: Vec<Field>,
    },
    /// A call of a tool of the session's own, with the id that its answer must carry.
    HostTool {
        id: Value,
    },
    /// A call of a tool that a client runs.
    ClientTool {
        id: Value,
    },
}

/// A call of a tool that a client runs.
#[derive(Debug)]
pub(super) struct ClientCall<'a> {
    pub(super) tool: &'a str,
    pub(super) input: &'a Value,
    pub(super) tool_use_id: Option<&'a str>,
    pub(super) owner: Option<SubagentId>,
}

#[derive(Debug)]
struct Field {
    name: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Number,
    Integer,
    Boolean,
}

impl Asks {
    pub(super) fn can_use_tool(&mut self, key: String, ask: CanUseTool, out: &mut Output) {
        let subagent_id = ask.agent_id.as_ref().map(SubagentId::trusted);
        let tool_use_id = ask.tool_use_id.as_ref().map(ToolUseId::trusted);
        if ask.tool_name == "AskUserQuestion" {
            let questions = questions_of(&ask.input);
            self.open.insert(key.clone(), Open::Question { input: ask.input });
            let request = QuestionRequest { questions, tool_use_id, title: ask.title, ..QuestionRequest::default() };
            return out.report(Report::Ask { key, subagent_id, request: AskRequest::Question(request) });
        }
        let (options, rules) = options_of(&ask);
        let title = ask.title.or_else(|| title_of(&ask.tool_name, ask.description, ask.decision_reason));
        let request = PermissionRequest {
            tool_name: ask.tool_name,
            tool_input: ask.input.clone(),
            tool_use_id,
            title,
            options,
            ..PermissionRequest::default()
        };
        self.open.insert(key.clone(), Open::Permission { input: ask.input, rules, call: ask.tool_use_id });
        out.report(Report::Ask { key, subagent_id, request: AskRequest::Permission(request) });
    }

    pub(super) fn elicitation(&mut self, key: String, ask: Elicitation, owner: Option<SubagentId>, out: &mut Output) {
        let mut questions = Vec::new();
        let mut fields = Vec::new();
        let properties = ask.requested_schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let names =
            if ask.property_order.is_empty() { properties.keys().cloned().collect() } else { ask.property_order };
        for name in names {
            let Some(schema) = properties.get(&name) else { continue };
            let (kind, question) = field_of(&name, schema);
            fields.push(Field { name, kind });
            questions.push(question);
        }
        if questions.is_empty() {
            let options = vec![option("Yes", None), option("No", None)];
            questions.push(Question { prompt: ask.message.clone(), options, ..Question::default() });
        }
        let server = ask.mcp_server_name.map(|server| format!("{server}: "));
        let title = Some(format!("{}{}", server.unwrap_or_default(), ask.message));
        self.open.insert(key.clone(), Open::Form { fields });
        let request = AskRequest::Question(QuestionRequest { questions, title, ..QuestionRequest::default() });
        out.report(Report::Ask { key, subagent_id: owner, request });
    }

    /// The agent calls a tool that the session carries out.
    pub(super) fn host_tool(&mut self, id: Value, call: HostCall, out: &mut Output) {
        self.open.insert(call.key.clone(), Open::HostTool { id });
        out.report(Report::HostCall(Box::new(call)));
    }

    /// What to send back for the result of such a call. Nothing, when the program no longer waits for one.
    pub(super) fn host_result(&mut self, key: &str, output: &str, is_error: bool) -> Option<Value> {
        match self.open.remove(key)? {
            Open::HostTool { id } => Some(tool_answer(&id, output, is_error)),
            other => {
                self.open.insert(key.to_owned(), other);
                None
            }
        }
    }

    /// The agent calls a tool that a client runs.
    pub(super) fn client_tool(&mut self, key: String, id: Value, call: ClientCall<'_>, out: &mut Output) {
        self.open.insert(key.clone(), Open::ClientTool { id });
        let request = AskRequest::Interrupt(Interrupt {
            component_name: call.tool.to_owned(),
            props: call.input.clone(),
            tool_use_id: call.tool_use_id.map(ToolUseId::trusted),
            ..Interrupt::default()
        });
        out.report(Report::Ask { key, subagent_id: call.owner, request });
    }

    pub(super) fn withdrawn(&mut self, key: &str, out: &mut Output) {
        if let Some(open) = self.open.remove(key) {
            if let Open::Permission { call, .. } = open {
                self.refused.extend(call);
            }
            out.report(Report::AskWithdrawn { key: key.to_owned(), reason: "the agent no longer waits".to_owned() });
        }
    }

    /// A call of a host's tool, by the id of its request, was called off.
    pub(super) fn call_withdrawn(&mut self, id: &Value, out: &mut Output) {
        let is_it = |open: &Open| match open {
            Open::HostTool { id: known } | Open::ClientTool { id: known } => known == id,
            Open::Permission { .. } | Open::Question { .. } | Open::Form { .. } => false,
        };
        let found = self.open.iter().find(|(_, open)| is_it(open));
        if let Some(key) = found.map(|(key, _)| key.clone()) {
            self.withdrawn(&key, out);
        }
    }

    /// A rule has denied this call.
    pub(super) fn refuse(&mut self, call: Option<String>) {
        self.refused.extend(call);
    }

    /// Whether this call was never allowed.
    pub(super) fn was_refused(&mut self, call: &str) -> bool {
        self.refused.remove(call)
    }

    /// What to send back for an answer. Nothing, when the program no longer waits for one.
    pub(super) fn answer(&mut self, key: &str, answer: &Answer) -> Option<Value> {
        let open = self.open.remove(key)?;
        Some(match (open, answer) {
            (
                Open::Permission { input, rules, call },
                Answer::Permission { reply, updated_input, message, rule, and_then },
            ) => match reply {
                PermissionReply::Reject => {
                    self.refused.extend(call);
                    deny(message.as_deref().unwrap_or(REJECTED), *and_then)
                }
                PermissionReply::Once => allow(updated_input.as_ref().unwrap_or(&input), None),
                PermissionReply::Always => {
                    let chosen = rules.iter().find(|(name, _)| Some(name) == rule.as_ref());
                    allow(updated_input.as_ref().unwrap_or(&input), chosen.map(|(_, update)| update))
                }
            },
            (Open::Question { input }, Answer::Question { answers: Some(answers) }) => {
                allow(&answered(&input, answers), None)
            }
            (Open::Question { .. }, _) => deny(DISMISSED, AfterAnswer::GoOn),
            (Open::Form { fields }, Answer::Question { answers: Some(answers) }) => filled(&fields, answers),
            (Open::Form { .. }, _) => json!({ "action": "decline" }),
            // Its result comes in another way.
            (Open::HostTool { id }, _) => tool_answer(&id, DISMISSED, true),
            (Open::ClientTool { id }, Answer::Interrupt { value }) => tool_answer(&id, &text_of(value), false),
            (Open::ClientTool { id }, Answer::ToolFailed { output }) => tool_answer(&id, &text_of(output), true),
            (Open::ClientTool { id }, _) => tool_answer(&id, DISMISSED, true),
            (Open::Permission { .. }, _) => deny(REJECTED, AfterAnswer::GoOn),
        })
    }
}

fn allow(input: &Value, update: Option<&Value>) -> Value {
    match update {
        Some(update) => json!({ "behavior": "allow", "updatedInput": input, "updatedPermissions": [update] }),
        None => json!({ "behavior": "allow", "updatedInput": input }),
    }
}

fn deny(message: &str, and_then: AfterAnswer) -> Value {
    match and_then {
        AfterAnswer::GoOn => json!({ "behavior": "deny", "message": message }),
        AfterAnswer::Stop(_) => json!({ "behavior": "deny", "message": message, "interrupt": true }),
    }
}

fn tool_answer(id: &Value, text: &str, is_error: bool) -> Value {
    let result = json!({ "content": [{ "type": "text", "text": text }], "isError": is_error });
    json!({ "mcp_response": { "jsonrpc": "2.0", "id": id, "result": result } })
}

/// The answers that may be given, and what each rule would store.
fn options_of(ask: &CanUseTool) -> (Vec<PermissionOption>, Vec<(String, Value)>) {
    let choice = |reply, label: &str, rule| PermissionOption { reply, label: label.to_owned(), rule, scope: None };
    if ask.tool_name == "ExitPlanMode" {
        let rule = "session: mode acceptEdits".to_owned();
        let update = json!({ "type": "setMode", "mode": "acceptEdits", "destination": "session" });
        let options = vec![
            choice(PermissionReply::Once, "Yes, and ask before each edit", None),
            choice(PermissionReply::Always, "Yes, and accept edits", Some(rule.clone())),
            choice(PermissionReply::Reject, "No, keep planning", None),
        ];
        return (options, vec![(rule, update)]);
    }
    // What *always* stores is a rule of the session's host, which adds it. The program's own rules would be no gate.
    (
        vec![choice(PermissionReply::Once, "Allow once", None), choice(PermissionReply::Reject, "Reject", None)],
        Vec::new(),
    )
}

fn title_of(tool: &str, description: Option<String>, reason: Option<String>) -> Option<String> {
    match tool {
        "ExitPlanMode" => Some("Approve this plan?".to_owned()),
        _ => description.filter(|text| !text.is_empty()).or(reason),
    }
}

fn questions_of(input: &Value) -> Vec<Question> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let option = |value: &Value| option(&text(value, "label").unwrap_or_default(), text(value, "description"));
    let question = |value: &Value| Question {
        prompt: text(value, "question").unwrap_or_default(),
        header: text(value, "header"),
        options: value.get("options").and_then(Value::as_array).into_iter().flatten().map(option).collect(),
        multiple: value.get("multiSelect").and_then(Value::as_bool).unwrap_or(false),
        free_text: true,
    };
    input.get("questions").and_then(Value::as_array).into_iter().flatten().map(question).collect()
}

fn option(label: &str, description: Option<String>) -> QuestionOption {
    QuestionOption { label: label.to_owned(), description }
}

/// The input of the question tool with the answers in it, by the text of each question.
fn answered(input: &Value, answers: &[Vec<String>]) -> Value {
    let prompts = questions_of(input);
    let given = prompts.iter().zip(answers).filter(|(_, answer)| !answer.is_empty());
    let by_prompt: Map<String, Value> =
        given.map(|(question, answer)| (question.prompt.clone(), answer.join(", ").into())).collect();
    let questions = input.get("questions").cloned().unwrap_or_default();
    json!({ "questions": questions, "answers": by_prompt })
}

fn field_of(name: &str, schema: &Value) -> (Kind, Question) {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = match schema.get("type").and_then(Value::as_str) {
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        _ => Kind::Text,
    };
    let mut labels = super::wire::texts(schema.get("enum"));
    if matches!(kind, Kind::Boolean) {
        labels = vec!["true".to_owned(), "false".to_owned()];
    }
    let question = Question {
        prompt: text("description").or_else(|| text("title")).unwrap_or_else(|| name.to_owned()),
        header: text("title"),
        free_text: labels.is_empty(),
        options: labels.iter().map(|label| option(label, None)).collect(),
        multiple: false,
    };
    (kind, question)
}

fn filled(fields: &[Field], answers: &[Vec<String>]) -> Value {
    if fields.is_empty() {
        let yes = answers.first().and_then(|answer| answer.first()).is_some_and(|answer| answer == "Yes");
        return if yes { json!({ "action": "accept", "content": {} }) } else { json!({ "action": "decline" }) };
    }
    let mut content = Map::new();
    for (field, answer) in fields.iter().zip(answers) {
        let Some(text) = answer.first() else { continue };
        let value = match field.kind {
            Kind::Text => Some(Value::from(text.as_str())),
            Kind::Integer => text.trim().parse::<i64>().ok().map(Value::from),
            Kind::Number => text.trim().parse::<f64>().ok().map(Value::from),
            Kind::Boolean => text.trim().parse::<bool>().ok().map(Value::from),
        };
        // What does not fit is passed on as it is: the server says best what it wants.
        content.insert(field.name.clone(), value.unwrap_or_else(|| text.as_str().into()));
    }
    json!({ "action": "accept", "content": content })
}
