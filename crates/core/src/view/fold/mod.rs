//! From an event to the changes it makes.

mod surfaces;
mod text;
mod tools;

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use self::text::content_of;
use super::block::{self, object};
use super::tree::{Node, Op, Path, Window};
use crate::event::{Done, Envelope, Event, ToolResult, ToolStart, UserMessage};
use crate::id::{Seq, TurnId};

/// A view and what is needed to bring it forward. All of it comes from the log.
#[derive(Debug)]
pub struct Fold {
    root: Node,
    seq: Seq,
    turn: Option<TurnId>,
    /// The agent's message that is being written.
    agent: Option<String>,
    /// How many messages the agent has written in this turn.
    written: usize,
    /// A message for what happens between turns, as long as nothing else comes.
    system: Option<String>,
    /// Where things are that later events speak of.
    places: HashMap<Key, Path>,
    /// Calls that have no result yet, and results that had no call yet.
    calls: HashMap<String, ToolStart>,
    early: HashMap<String, (Envelope, ToolResult)>,
    ops: Vec<Op>,
}

/// What later events call a block.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// Agents name blocks anew in each turn; a background sub-agent's belong to none.
    Text(Option<TurnId>, String),
    Tool(String),
    Ask(String),
    Subagent(String),
    Component(String),
    Artifact(String),
    /// One of a kind in a message.
    Only(String, &'static str),
}

impl Default for Fold {
    fn default() -> Self {
        let fields = json!({
            "session": {}, "asks": [], "queue": [], "steers": [], "components": [], "background": [], "state": null, "plan": null, "activity": null,
        });
        Self {
            root: Node::new("", fields),
            seq: Seq::ZERO,
            turn: None,
            agent: None,
            written: 0,
            system: None,
            places: HashMap::new(),
            calls: HashMap::new(),
            early: HashMap::new(),
            ops: Vec::new(),
        }
    }
}

impl Fold {
    pub fn seq(&self) -> Seq {
        self.seq
    }

    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The view as it is sent.
    pub fn snapshot(&self, window: &Window) -> Value {
        let mut json = object(self.root.snapshot(window));
        json.insert("seq".to_owned(), json!(self.seq));
        Value::Object(json)
    }

    /// Takes the next event and says what it changed.
    pub fn step(&mut self, envelope: &Envelope) -> Vec<Op> {
        self.seq = envelope.seq;
        match &envelope.event {
            Event::UserMessage(message) => self.user_message(envelope, message),
            Event::TurnStarted(_) => {
                self.turn.clone_from(&envelope.turn_id);
                self.agent = None;
                self.system = None;
                self.written = 0;
                self.set_session("turn", json!(envelope.turn_id));
            }
            Event::Done(done) => self.done(envelope, done),
            Event::Status(_) => self.status(envelope),
            Event::Delta(delta) => self.delta(envelope, delta),
            Event::Thinking(thinking) => self.thinking(envelope, thinking),
            Event::Retracted(retracted) => self.retracted(envelope, retracted.block_id.as_str()),
            Event::ToolStart(start) => self.tool_start(envelope, start),
            Event::ToolProgress(progress) => {
                let key = Key::Tool(progress.tool_use_id.to_string());
                if let (Some(text), Some(path)) = (&progress.text, self.places.get(&key).cloned()) {
                    self.change(Op::Append { path, field: "live".to_owned(), text: text.clone() });
                }
                if let Some(fraction) = progress.fraction {
                    self.set(&key, json!({ "fraction": fraction }));
                }
            }
            Event::ToolResult(result) => self.tool_result(envelope, result),
            Event::TurnResult(result) => self.final_text(envelope, &result.text),
            Event::Usage(usage) => {
                let usage = json!(usage);
                self.change(Op::Set { path: Vec::new(), fields: object(json!({ "usage": usage })) });
                let path = vec![self.agent_message(envelope)];
                self.change(Op::Set { path, fields: object(json!({ "usage": usage })) });
            }
            Event::Failure(failure) => {
                self.insert(envelope, |id| block::error(id, envelope, failure));
            }
            _ => self.step_rest(envelope),
        }
        std::mem::take(&mut self.ops)
    }

    fn step_rest(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::PermissionRequest(_)
            | Event::QuestionRequest(_)
            | Event::Interrupt(_)
            | Event::PermissionResolved(_)
            | Event::QuestionResolved(_)
            | Event::InterruptResolved(_) => self.ask(envelope),
            Event::SubagentStarted(_)
            | Event::SubagentEnded(_)
            | Event::BackgroundStarted(_)
            | Event::BackgroundEnded(_) => self.work(envelope),
            Event::ComponentUpdate(update) => self.component(envelope, update),
            Event::ComponentRemove(removed) => {
                self.remove(&Key::Component(removed.component_id.clone()));
                self.set_list("components", |list| {
                    list.retain(|known| !is(known, "component_id", &removed.component_id));
                });
            }
            Event::StateSnapshot(snapshot) => self.set_root("state", snapshot.state.clone()),
            Event::StateDelta(delta) => {
                let mut state = self.root.fields.get("state").cloned().unwrap_or_default();
                // A patch that does not fit changes nothing; the log keeps it.
                if let Ok(patch) = serde_json::from_value::<json_patch::Patch>(delta.patch.clone())
                    && json_patch::patch(&mut state, &patch).is_ok()
                {
                    self.set_root("state", state);
                }
            }
            Event::PlanUpdated(plan) => {
                let plan = json!(plan);
                self.set_root("plan", plan.clone());
                self.one_per_message(envelope, "plan", plan);
            }
            Event::DiffUpdated(diff) => self.one_per_message(envelope, "diff", json!(diff)),
            Event::ArtifactCreated(_)
            | Event::ArtifactUpdated(_)
            | Event::ArtifactVersion(_)
            | Event::ArtifactRemoved(_) => self.artifact(envelope),
            Event::CompactionStart(start) => {
                let fields = json!({ "trigger": start.trigger, "status": "running" });
                let path = self.insert(envelope, |id| block::block(id, "compaction", envelope, fields));
                self.places.insert(Key::Only(String::new(), "compaction"), path);
            }
            Event::CompactionEnd(end) => {
                let mut fields = object(json!(end));
                fields.insert("status".to_owned(), json!(if end.failed == Some(true) { "failed" } else { "done" }));
                fields.insert("ended_at".to_owned(), json!(envelope.ts));
                self.set(&Key::Only(String::new(), "compaction"), Value::Object(fields));
            }
            _ => self.session_fact(envelope),
        }
    }

    // ---- messages ----

    fn user_message(&mut self, envelope: &Envelope, message: &UserMessage) {
        self.close_agent_message(envelope);
        self.system = None;
        let id = message.message_id.to_string();
        let mut node = Node::new(
            id.clone(),
            json!({ "role": "user", "turn_id": envelope.turn_id, "done": true, "origin": message.origin, "started_at": envelope.ts, "ended_at": envelope.ts }),
        );
        node.fields.retain(|_, value| !value.is_null());
        let parts = message.content.iter().enumerate();
        node.children = parts.map(|(n, part)| block::part(&format!("{id}.{n}"), envelope, part)).collect();
        let content = content_of(&node);
        node.fields.insert("content".to_owned(), Value::from(content));
        self.change(Op::Insert { path: Vec::new(), node: node.to_json() });
    }

    /// The agent's message that is being written, begun if there is none.
    fn agent_message(&mut self, envelope: &Envelope) -> String {
        if let Some(id) = &self.agent {
            return id.clone();
        }
        let Some(turn_id) = self.turn.clone() else { return self.system_message(envelope) };
        self.written += 1;
        let id = format!("{turn_id}.{}", self.written);
        let node = Node::new(
            id.clone(),
            json!({ "role": "agent", "turn_id": turn_id, "done": false, "content": "", "started_at": envelope.ts }),
        );
        self.change(Op::Insert { path: Vec::new(), node: node.to_json() });
        self.agent = Some(id.clone());
        id
    }

    fn system_message(&mut self, envelope: &Envelope) -> String {
        if let Some(id) = &self.system {
            return id.clone();
        }
        let id = format!("system.{}", envelope.seq);
        let fields = json!({ "role": "system", "done": true, "content": "", "started_at": envelope.ts });
        self.change(Op::Insert { path: Vec::new(), node: Node::new(id.clone(), fields).to_json() });
        self.system = Some(id.clone());
        id
    }

    fn close_agent_message(&mut self, envelope: &Envelope) {
        if let Some(id) = self.agent.take() {
            self.change(Op::Set { path: vec![id], fields: object(json!({ "done": true, "ended_at": envelope.ts })) });
        }
    }

    fn done(&mut self, envelope: &Envelope, done: &Done) {
        let id = self.agent_message(envelope);
        let fields = json!({ "outcome": done.outcome, "reason": done.reason, "exit_code": done.exit_code });
        let fields = object(fields).into_iter().filter(|(_, value)| !value.is_null()).collect();
        self.change(Op::Set { path: vec![id], fields });
        self.close_agent_message(envelope);
        self.turn = None;
        self.set_session("turn", Value::Null);
        self.set_root("activity", Value::Null);
    }

    // ---- changes ----

    /// Where a new block goes: into the sub-agent who made it, or into the message.
    fn inside(&mut self, envelope: &Envelope) -> Path {
        let subagent =
            envelope.subagent_id.as_ref().and_then(|id| self.places.get(&Key::Subagent(id.to_string())).cloned());
        match subagent {
            Some(path) => path,
            None if envelope.turn_id.is_some() && envelope.turn_id == self.turn => vec![self.agent_message(envelope)],
            None => vec![self.system_message(envelope)],
        }
    }

    fn insert(&mut self, envelope: &Envelope, make: impl FnOnce(&str) -> Node) -> Path {
        let inside = self.inside(envelope);
        self.insert_in(inside, envelope, make)
    }

    fn insert_as(&mut self, envelope: &Envelope, key: Key, make: impl FnOnce(&str) -> Node) -> Path {
        let path = self.insert(envelope, make);
        self.places.insert(key, path.clone());
        path
    }

    fn insert_in(&mut self, inside: Path, envelope: &Envelope, make: impl FnOnce(&str) -> Node) -> Path {
        let id = format!("b{}", envelope.seq);
        let node = make(&id);
        self.change(Op::Insert { path: inside.clone(), node: node.to_json() });
        let mut path = inside;
        path.push(id);
        path
    }

    fn set(&mut self, key: &Key, fields: Value) {
        if let Some(path) = self.places.get(key).cloned() {
            self.change(Op::Set { path, fields: object(fields) });
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(path) = self.places.remove(key) {
            self.change(Op::Remove { path });
        }
    }

    fn set_root(&mut self, name: &str, value: Value) {
        let mut fields = Map::new();
        fields.insert(name.to_owned(), value);
        self.change(Op::Set { path: Vec::new(), fields });
    }

    fn set_session(&mut self, name: &str, value: Value) {
        let mut session = self.root.fields.get("session").and_then(Value::as_object).cloned().unwrap_or_default();
        if value.is_null() {
            session.remove(name);
        } else {
            session.insert(name.to_owned(), value);
        }
        self.set_root("session", Value::Object(session));
    }

    fn set_list(&mut self, name: &str, change: impl FnOnce(&mut Vec<Value>)) {
        let mut list = self.root.fields.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        change(&mut list);
        self.set_root(name, Value::Array(list));
    }

    /// The only way the tree changes: by what is also sent.
    fn change(&mut self, op: Op) {
        self.root.apply(&op);
        self.ops.push(op);
    }
}

/// Whether a member of a JSON object is this text.
fn is(json: &Value, name: &str, text: &str) -> bool {
    json.get(name).and_then(Value::as_str) == Some(text)
}
