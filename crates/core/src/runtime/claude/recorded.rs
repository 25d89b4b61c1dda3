//! How recordings of other hosts are read: what the host wanted, and how its names for requests correspond to ours.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::launch::Options;
use super::prompt::is_uuid;
use super::{CAPABILITIES, ClaudeProtocol};
use crate::command::{AfterAnswer, Answer, Message, Update};
use crate::event::{AfterStop, Origin, Part, PermissionReply};
use crate::id::MessageId;
use crate::replay::{Direction, Entry, HostAction, Recorded};
use crate::runtime::{Beginning, Capabilities, Protocol};

/// Claude Code in a recording.
#[derive(Debug, Default)]
pub struct RecordedClaude {
    /// Requests of the host that have no counterpart of ours yet, and the other way round: by subtype.
    hosts: Vec<(String, String)>,
    ours: Vec<(String, String)>,
    names: HashMap<String, String>,
    questions: HashMap<String, Value>,
    /// Plans that wait for approval, whose choices are the program's own.
    plans: HashSet<String>,
    initialized: bool,
    messages: u64,
}

impl Recorded for RecordedClaude {
    fn runtime(&self) -> &'static str {
        "claude"
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn begin(&mut self, entries: &[Entry]) -> (Box<dyn Protocol>, Beginning) {
        let said =
            |entry: &&Entry| entry.direction == Direction::Out && entry.line.get("subtype") == Some(&json!("init"));
        let conversation =
            entries.iter().find(said).and_then(|entry| entry.line.get("session_id")).and_then(Value::as_str);
        let options = Options { new_conversation: conversation.unwrap_or("unknown").to_owned(), ..Options::default() };
        (Box::new(ClaudeProtocol::new(options)), Beginning::Fresh)
    }

    fn wrote(&mut self, line: &Value) {
        let (Some(id), Some(subtype)) = (text(line, "/request_id"), text(line, "/request/subtype")) else { return };
        self.ours.push((subtype.to_owned(), id.to_owned()));
        self.pair(subtype);
    }

    fn host(&mut self, line: &Value) -> Vec<HostAction> {
        match text(line, "/type") {
            Some("user") => self.message(line),
            Some("control_request") => self.request(line),
            Some("control_response") => self.response(line).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn agent(&mut self, line: &Value) -> Vec<Value> {
        if text(line, "/request/tool_name") == Some("AskUserQuestion")
            && let Some(id) = text(line, "/request_id")
        {
            self.questions.insert(id.to_owned(), line.pointer("/request/input").cloned().unwrap_or_default());
        }
        if text(line, "/request/tool_name") == Some("ExitPlanMode") {
            self.plans.extend(text(line, "/request_id").map(str::to_owned));
        }
        let mut line = line.clone();
        if let Some(Value::String(id)) = line.pointer_mut("/response/request_id")
            && let Some(ours) = self.names.get(id)
        {
            id.clone_from(ours);
            self.initialized = true;
        }
        vec![line]
    }
}

impl RecordedClaude {
    /// Joins a request of the host with the same one of ours.
    fn pair(&mut self, subtype: &str) {
        let at = |list: &[(String, String)]| list.iter().position(|(known, _)| known == subtype);
        while let (Some(host), Some(ours)) = (at(&self.hosts), at(&self.ours)) {
            self.names.insert(self.hosts.remove(host).1, self.ours.remove(ours).1);
        }
    }

    fn message(&mut self, line: &Value) -> Vec<HostAction> {
        let mut acts = Vec::new();
        if !self.initialized {
            // The host did without a handshake, or did not wait for it.
            self.initialized = true;
            if let Some(at) = self.ours.iter().position(|(subtype, _)| subtype == "initialize") {
                let response = json!({ "subtype": "success", "request_id": self.ours.remove(at).1, "response": {} });
                acts.push(HostAction::AgentLine(json!({ "type": "control_response", "response": response })));
            }
        }
        let content = line.pointer("/message/content").cloned().unwrap_or_default();
        if text(line, "/message/role") != Some("user") {
            return acts;
        }
        self.messages += 1;
        let id = text(line, "/uuid").filter(|uuid| is_uuid(uuid)).map(str::to_owned);
        let id = MessageId::trusted(id.unwrap_or_else(|| format!("message-{}", self.messages)));
        match &content {
            Value::String(command) if command.starts_with("/compact") => acts.push(HostAction::Compact),
            content => {
                acts.push(HostAction::Send(Message {
                    id: Some(id),
                    content: parts(content),
                    origin: Origin::User,
                    source: None,
                }));
            }
        }
        acts
    }

    fn request(&mut self, line: &Value) -> Vec<HostAction> {
        let (Some(id), Some(subtype)) = (text(line, "/request_id"), text(line, "/request/subtype")) else {
            return Vec::new();
        };
        self.hosts.push((subtype.to_owned(), id.to_owned()));
        self.pair(subtype);
        let wanted = |name: &str| text(line, &format!("/request/{name}")).map(str::to_owned);
        match subtype {
            "interrupt" => vec![HostAction::Stop],
            "set_model" => vec![HostAction::Update(Update { model: wanted("model"), ..Update::default() })],
            "set_permission_mode" => vec![HostAction::Update(Update { mode: wanted("mode"), ..Update::default() })],
            _ => Vec::new(),
        }
    }

    fn response(&self, line: &Value) -> Option<HostAction> {
        let key = text(line, "/response/request_id")?.to_owned();
        let given = line.pointer("/response/response").cloned().unwrap_or_default();
        let allowed = text(&given, "/behavior") == Some("allow");
        let answer = match (self.questions.get(&key), text(&given, "/action")) {
            (Some(asked), _) => Answer::Question { answers: allowed.then(|| answers(asked, &given)) },
            (None, Some(action)) => {
                let content = given.get("content").and_then(Value::as_object).cloned().unwrap_or_default();
                let texts = content.values().map(|value| vec![value.as_str().map_or(value.to_string(), str::to_owned)]);
                Answer::Question { answers: (action == "accept").then(|| texts.collect()) }
            }
            (None, None) => Answer::Permission {
                reply: match (allowed, given.get("updatedPermissions")) {
                    (false, _) => PermissionReply::Reject,
                    (true, Some(_)) if self.plans.contains(&key) => PermissionReply::Always,
                    // Rules that the program itself stored are not ours.
                    (true, Some(_)) => PermissionReply::Once,
                    (true, None) => PermissionReply::Once,
                },
                updated_input: given.get("updatedInput").cloned(),
                message: text(&given, "/message").map(str::to_owned),
                rule: None,
                and_then: if given.get("interrupt").and_then(Value::as_bool) == Some(true) {
                    AfterAnswer::Stop(AfterStop::Continue)
                } else {
                    AfterAnswer::GoOn
                },
            },
        };
        Some(HostAction::Answer { key, answer })
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

pub(super) fn parts(content: &Value) -> Vec<Part> {
    let part = |block: &Value| match text(block, "/type") {
        Some("image") => Part::Image {
            media_type: text(block, "/source/media_type").unwrap_or_default().to_owned(),
            data: text(block, "/source/data").map(str::to_owned),
            blob: None,
        },
        _ => Part::Text { text: text(block, "/text").unwrap_or_default().to_owned() },
    };
    match content {
        Value::String(text) => vec![Part::Text { text: text.clone() }],
        Value::Array(blocks) => blocks.iter().map(part).collect(),
        _ => Vec::new(),
    }
}

fn answers(asked: &Value, given: &Value) -> Vec<Vec<String>> {
    let questions = asked.get("questions").and_then(Value::as_array).into_iter().flatten();
    questions
        .map(|question| {
            let prompt = text(question, "/question").unwrap_or_default();
            let answer = given.pointer("/updatedInput/answers").and_then(|all| all.get(prompt)).and_then(Value::as_str);
            answer.map(|answer| vec![answer.to_owned()]).unwrap_or_default()
        })
        .collect()
}
