//! How recordings of other hosts are read: what the host wanted, and how its names for requests correspond to ours.

use std::collections::{BTreeSet, HashMap, VecDeque};

use serde_json::{Value, json};

use super::history::part;
use super::{CAPABILITIES, CodexProtocol, EXEC_CAPABILITIES, ExecProtocol, rollout};
use crate::command::{AfterAnswer, Answer, Message, Update};
use crate::event::{AfterStop, Origin, Part, PermissionReply};
use crate::id::MessageId;
use crate::replay::{Direction, Entry, HostAction, NewAgent, Recorded};
use crate::runtime::{Beginning, Capabilities, Protocol};

/// Codex in a recording of its app-server. Of several conversations in one recording, the first is played.
#[derive(Debug, Default)]
pub struct RecordedCodex {
    /// Requests of the host that have no counterpart of ours yet, and the other way round: by what they ask.
    hosts: Vec<(String, Value)>,
    ours: Vec<(String, Value)>,
    names: HashMap<String, Value>,
    /// Commands that ended after their turn, so that it left them running.
    outlived: Vec<String>,
    /// Answers that the recording lacks, because the host did not ask.
    made_up: Vec<Value>,
    /// Threads that the host looked at itself.
    read: BTreeSet<String>,
    thread: Option<String>,
    /// Conversations that are not played.
    others: BTreeSet<String>,
    opening: Option<String>,
    turn: Option<String>,
    turns: Vec<String>,
    sent: VecDeque<(String, Vec<Part>)>,
    asked: HashMap<String, String>,
    messages: u64,
    processes: u64,
}

impl Recorded for RecordedCodex {
    fn runtime(&self) -> &'static str {
        "codex"
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn begin(&mut self, entries: &[Entry]) -> (Box<dyn Protocol>, Beginning) {
        self.outlived = outlived(entries);
        let host = entries.iter().filter(|entry| entry.direction == Direction::In).map(|entry| &entry.line);
        let mut beginning = None;
        for line in host {
            match text(line, "/method") {
                Some("thread/start") => _ = beginning.get_or_insert(Beginning::Fresh),
                Some("thread/resume") => {
                    let provider_session_id = text(line, "/params/threadId").unwrap_or_default().to_owned();
                    beginning.get_or_insert(Beginning::Resume { provider_session_id, wanted: true });
                }
                Some("thread/read") => self.read.extend(text(line, "/params/threadId").map(str::to_owned)),
                _ => {}
            }
        }
        (Box::new(CodexProtocol::default()), beginning.unwrap_or(Beginning::Fresh))
    }

    fn wrote(&mut self, line: &Value) {
        let (Some(id), Some(method)) = (line.get("id"), text(line, "/method")) else { return };
        let refusal = json!({ "id": id, "error": { "code": 0, "message": "not recorded" } });
        match method {
            "model/list" | "config/read" | rollout::METHOD => self.made_up.push(refusal),
            "thread/backgroundTerminals/list" => {
                let running: Vec<Value> = self.outlived.iter().map(|item| json!({ "itemId": item })).collect();
                self.made_up.push(json!({ "id": id, "result": { "data": running } }));
            }
            "thread/read" if !text(line, "/params/threadId").is_some_and(|id| self.read.contains(id)) => {
                self.made_up.push(refusal);
            }
            _ => {
                self.ours.push((key_of(line), id.clone()));
                self.pair();
            }
        }
    }

    fn host(&mut self, line: &Value) -> Vec<HostAction> {
        let mut acts: Vec<HostAction> = self.made_up.drain(..).map(HostAction::AgentLine).collect();
        match (text(line, "/method"), line.get("id")) {
            (Some(method), Some(_)) => acts.extend(self.request(method, line)),
            (None, Some(id)) => acts.extend(self.response(id, line)),
            _ => {}
        }
        acts
    }

    fn agent(&mut self, line: &Value) -> Vec<Value> {
        let mut lines: Vec<Value> = self.made_up.drain(..).collect();
        lines.extend(self.agent_line(line));
        lines
    }
}

impl RecordedCodex {
    fn pair(&mut self) {
        let pairs = |ours: &[(String, Value)], key: &str| ours.iter().position(|(known, _)| known == key);
        let mut at = 0;
        while let Some((key, host)) = self.hosts.get(at) {
            match pairs(&self.ours, key) {
                Some(found) => {
                    self.names.insert(host.to_string(), self.ours.remove(found).1);
                    self.hosts.remove(at);
                }
                None => at += 1,
            }
        }
    }

    fn request(&mut self, method: &str, line: &Value) -> Vec<HostAction> {
        let of = |name: &str| text(line, &format!("/params/{name}")).map(str::to_owned);
        let ours = of("threadId").is_none() || self.thread.is_none() || of("threadId") == self.thread;
        let running = |turn: Option<String>| turn.is_some() && turn == self.turn;
        let acts = match method {
            "initialize" => {
                self.processes += 1;
                if self.processes > 1 {
                    // Another process, or another connection: ours would be a new agent as well.
                    (self.names, self.hosts, self.ours) = Default::default();
                    self.turn = None;
                    let beginning = match self.thread.clone() {
                        Some(provider_session_id) => Beginning::Resume { provider_session_id, wanted: true },
                        None => Beginning::Fresh,
                    };
                    vec![HostAction::Restart(NewAgent { protocol: Box::new(CodexProtocol::default()), beginning })]
                } else {
                    Vec::new()
                }
            }
            "thread/start" | "thread/fork" if self.thread.is_some() || self.opening.is_some() => {
                // Another conversation. Its answer tells its name.
                self.names.remove(&line["id"].to_string());
                return Vec::new();
            }
            "thread/start" => {
                self.opening = Some(line["id"].to_string());
                Vec::new()
            }
            // Also of a sub-agent's thread.
            "thread/read" => Vec::new(),
            _ if !ours => return Vec::new(),
            "turn/start" => {
                let input = line.pointer("/params/input").and_then(Value::as_array).cloned().unwrap_or_default();
                self.send(input.iter().map(part).collect(), of("clientUserMessageId"))
            }
            "turn/steer" if running(of("expectedTurnId")) => {
                let input = line.pointer("/params/input").and_then(Value::as_array).cloned().unwrap_or_default();
                self.send(input.iter().map(part).collect(), of("clientUserMessageId"))
            }
            "review/start" => self.send(vec![Part::Text { text: "/review".to_owned() }], None),
            "turn/interrupt" if running(of("turnId")) => vec![HostAction::Stop],
            "turn/steer" | "turn/interrupt" => return Vec::new(),
            "thread/compact/start" => vec![HostAction::Compact],
            "thread/settings/update" => {
                let effort = of("effort").map(|effort| ("effort".to_owned(), json!(effort)));
                let settings = effort.into_iter().collect();
                vec![HostAction::Update(Update { model: of("model"), settings, ..Update::default() })]
            }
            "thread/revert" => {
                let at = of("beforeTurnId").and_then(|turn| self.turns.iter().position(|known| *known == turn));
                let count = at.map(|at| self.turns.split_off(at).len());
                count.map(HostAction::Rollback).into_iter().collect()
            }
            _ => Vec::new(),
        };
        self.hosts.push((key_of(line), line["id"].clone()));
        self.pair();
        acts
    }

    fn send(&mut self, content: Vec<Part>, id: Option<String>) -> Vec<HostAction> {
        self.messages += 1;
        let id = id.unwrap_or_else(|| format!("message-{}", self.messages));
        self.sent.push_back((id.clone(), content.clone()));
        vec![HostAction::Send(Message {
            id: Some(MessageId::trusted(id)),
            content,
            origin: Origin::User,
            source: None,
        })]
    }

    fn response(&self, id: &Value, line: &Value) -> Option<HostAction> {
        let key = id.to_string();
        let given = line.get("result").cloned().unwrap_or_default();
        let question = |answers: Option<Vec<Vec<String>>>| Answer::Question { answers };
        let answer = match self.asked.get(&key)?.as_str() {
            "item/tool/requestUserInput" => {
                let answers = given.get("answers").and_then(Value::as_object);
                let one = |answer: &Value| {
                    let texts = answer.get("answers").and_then(Value::as_array).into_iter().flatten();
                    texts.filter_map(Value::as_str).map(str::to_owned).collect()
                };
                question(answers.map(|answers| answers.values().map(one).collect()))
            }
            "mcpServer/elicitation/request" => {
                let content = given.get("content").and_then(Value::as_object).cloned().unwrap_or_default();
                let one = |value: &Value| vec![value.as_str().map_or_else(|| value.to_string(), str::to_owned)];
                let accepted = text(&given, "/action") == Some("accept");
                question(accepted.then(|| content.values().map(one).collect()))
            }
            _ => permission(&given),
        };
        Some(HostAction::Answer { key, answer })
    }

    fn agent_line(&mut self, line: &Value) -> Option<Value> {
        let mut line = line.clone();
        let Some(method) = text(&line, "/method").map(str::to_owned) else { return self.answered(line) };
        let thread = text(&line, "/params/threadId").or(text(&line, "/params/thread/id")).map(str::to_owned);
        if thread.is_some_and(|thread| self.others.contains(&thread)) {
            return None;
        }
        if let Some(id) = line.get("id") {
            self.asked.insert(id.to_string(), method.clone());
        }
        let main = text(&line, "/params/threadId") == self.thread.as_deref();
        match method.as_str() {
            "turn/started" if main => {
                self.turn = text(&line, "/params/turn/id").map(str::to_owned);
                self.turns.extend(self.turn.clone());
            }
            "turn/completed" if main => self.turn = None,
            "item/started" | "item/completed" if main && text(&line, "/params/item/type") == Some("userMessage") => {
                self.name_message(&mut line, method == "item/completed");
            }
            _ => {}
        }
        Some(line)
    }

    /// The host gave its message no name, but we would have.
    fn name_message(&mut self, line: &mut Value, last: bool) {
        let said: Option<Vec<Part>> = line
            .pointer("/params/item/content")
            .and_then(Value::as_array)
            .map(|content| content.iter().map(part).collect());
        let Some(at) = self.sent.iter().position(|(_, content)| Some(content) == said.as_ref()) else { return };
        let Some((id, _)) = self.sent.get(at) else { return };
        if let Some(name) = line.pointer_mut("/params/item/clientId") {
            *name = json!(id);
        }
        if last {
            self.sent.remove(at);
        }
    }

    fn answered(&mut self, mut line: Value) -> Option<Value> {
        let host = line.get("id").map(ToString::to_string).unwrap_or_default();
        let thread = text(&line, "/result/thread/id").map(str::to_owned);
        let Some(ours) = self.names.get(&host) else {
            // An answer about another conversation.
            let is_new = line.pointer("/result/thread/turns").is_some() && thread != self.thread;
            let is_child = line.pointer("/result/thread/parentThreadId").is_some_and(|parent| !parent.is_null());
            self.others.extend(thread.filter(|_| is_new && !is_child && self.thread.is_some()));
            return None;
        };
        if self.thread.is_none() {
            self.thread = thread;
        }
        if let Some(id) = line.get_mut("id") {
            id.clone_from(ours);
        }
        Some(line)
    }
}

/// The items that end after the turn in which they began.
fn outlived(entries: &[Entry]) -> Vec<String> {
    let mut ended = BTreeSet::new();
    let mut outlived = Vec::new();
    for line in entries.iter().filter(|entry| entry.direction == Direction::Out).map(|entry| &entry.line) {
        match text(line, "/method") {
            Some("turn/completed") => ended.extend(text(line, "/params/turn/id")),
            Some("item/completed") if text(line, "/params/turnId").is_some_and(|turn| ended.contains(turn)) => {
                outlived.extend(text(line, "/params/item/id").map(str::to_owned));
            }
            _ => {}
        }
    }
    outlived
}

/// What a request asks for, independent of the host that sent it.
fn key_of(line: &Value) -> String {
    let method = text(line, "/method").unwrap_or_default();
    match method {
        // A message into a running turn may be sent in two ways.
        "turn/start" | "turn/steer" => "turn".to_owned(),
        "thread/read" => format!("{method} {}", text(line, "/params/threadId").unwrap_or_default()),
        _ => method.to_owned(),
    }
}

fn permission(given: &Value) -> Answer {
    let mut and_then = AfterAnswer::GoOn;
    let granted = given.get("permissions").and_then(Value::as_object).is_some_and(|granted| !granted.is_empty());
    let reply = match given.get("decision") {
        Some(Value::String(word)) => match word.as_str() {
            // What the program itself kept is not ours.
            "accept" | "acceptForSession" => PermissionReply::Once,
            "cancel" => {
                and_then = AfterAnswer::Stop(AfterStop::Continue);
                PermissionReply::Reject
            }
            _ => PermissionReply::Reject,
        },
        // A rule of the program for good.
        Some(_) => PermissionReply::Once,
        None if granted => PermissionReply::Once,
        None => PermissionReply::Reject,
    };
    Answer::Permission { reply, updated_input: None, message: None, rule: None, and_then }
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// `codex exec` in a recording: the host writes messages, one per process.
#[derive(Debug, Default)]
pub struct RecordedExec {
    messages: u64,
}

impl Recorded for RecordedExec {
    fn runtime(&self) -> &'static str {
        "codex-exec"
    }

    fn capabilities(&self) -> Capabilities {
        EXEC_CAPABILITIES
    }

    fn begin(&mut self, _entries: &[Entry]) -> (Box<dyn Protocol>, Beginning) {
        (Box::new(ExecProtocol::default()), Beginning::Fresh)
    }

    fn wrote(&mut self, _line: &Value) {}

    fn host(&mut self, line: &Value) -> Vec<HostAction> {
        self.messages += 1;
        let id = Some(MessageId::trusted(format!("message-{}", self.messages)));
        let text = line.as_str().unwrap_or_default().to_owned();
        vec![HostAction::Send(Message { id, content: vec![Part::Text { text }], origin: Origin::User, source: None })]
    }

    fn agent(&mut self, line: &Value) -> Vec<Value> {
        vec![line.clone()]
    }
}
