//! From an event to the changes it makes.

mod surfaces;
mod text;
mod tools;

use std::collections::HashMap;

use serde_json::{Value, json};

use self::text::content_of;
use super::block;
use super::fields::{Fields, fields};
use super::tree::{Node, Op, Path, Window};
use crate::event::{Done, Envelope, Event, Part, ToolResult, ToolStart, UserMessage};
use crate::id::{Seq, TurnId};
use crate::shared;
use crate::summary::first_line;

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
    /// Whether somebody wants to know what changes.
    told: bool,
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
        let empty = || Value::Array(Vec::new());
        let fields = fields! {
            "session": json!({}), "asks": empty(), "queue": empty(), "steers": empty(), "components": empty(), "background": empty(),
            "state": Value::Null, "plan": Value::Null, "activity": Value::Null,
        };
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
            told: true,
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
        let mut snapshot = self.root.snapshot(window);
        if let Value::Object(fields) = &mut snapshot {
            fields.insert("seq".to_owned(), json!(self.seq));
        }
        snapshot
    }

    /// Takes the next event and says what it changed.
    pub fn step(&mut self, envelope: &Envelope) -> Vec<Op> {
        self.told = true;
        self.take(envelope);
        std::mem::take(&mut self.ops)
    }

    /// Takes the next event for nobody in particular: the same, for about half the price.
    pub fn skip(&mut self, envelope: &Envelope) {
        self.told = false;
        self.take(envelope);
    }

    /// Passes over an event that cannot be read; one bad record must not hold up all that follow.
    pub fn miss(&mut self, seq: Seq) {
        self.seq = seq;
    }

    fn take(&mut self, envelope: &Envelope) {
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
                    self.set(&key, fields! { "fraction": fraction });
                }
            }
            Event::ToolResult(result) => self.tool_result(envelope, result),
            Event::TurnResult(result) => self.final_text(envelope, &result.text),
            Event::Usage(usage) => {
                let usage = json!(usage);
                self.set_root("usage", usage.clone());
                let path = vec![self.agent_message(envelope)];
                self.change(Op::Set { path, fields: fields! { "usage": usage } });
            }
            Event::Failure(failure) => {
                self.insert(envelope, |id| block::error(id, envelope, failure));
            }
            _ => self.take_rest(envelope),
        }
    }

    fn take_rest(&mut self, envelope: &Envelope) {
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
                let state = self.root.fields.get("state").unwrap_or(&Value::Null);
                // A patch that does not fit changes nothing; the log keeps it.
                if let Ok(state) = shared::patched(state, &delta.patch) {
                    self.set_root("state", state);
                }
            }
            Event::PlanUpdated(plan) => {
                self.set_root("plan", json!(plan));
                self.one_per_message(envelope, "plan", Fields::of(plan));
            }
            Event::DiffUpdated(diff) => self.one_per_message(envelope, "diff", Fields::of(diff)),
            Event::ArtifactCreated(_)
            | Event::ArtifactUpdated(_)
            | Event::ArtifactVersion(_)
            | Event::ArtifactRemoved(_) => self.artifact(envelope),
            Event::CompactionStart(start) => {
                let fields = fields! { "trigger": start.trigger, "status": "running" };
                let path = self.insert(envelope, |id| block::block(id, "compaction", envelope, fields));
                self.places.insert(Key::Only(String::new(), "compaction"), path);
            }
            Event::CompactionEnd(end) => {
                let mut fields = Fields::of(end);
                fields.insert("status", json!(if end.failed == Some(true) { "failed" } else { "done" }));
                fields.insert("ended_at", json!(envelope.ts));
                self.set(&Key::Only(String::new(), "compaction"), fields);
            }
            _ => self.session_fact(envelope),
        }
    }

    // ---- messages ----

    fn user_message(&mut self, envelope: &Envelope, message: &UserMessage) {
        self.close_agent_message(envelope);
        self.system = None;
        self.name_after(&message.content);
        let id = message.message_id.to_string();
        let fields = fields! {
            "role": "user", "turn_id": envelope.turn_id, "done": true, "origin": message.origin, "started_at": envelope.ts, "ended_at": envelope.ts,
        };
        let mut node = Node::new(id.clone(), fields.known());
        let parts = message.content.iter().enumerate();
        node.children = parts.map(|(n, part)| block::part(&format!("{id}.{n}"), envelope, part)).collect();
        let content = content_of(&node);
        node.fields.insert("content", Value::from(content));
        self.change(Op::Insert { path: Vec::new(), node });
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
            fields! { "role": "agent", "turn_id": turn_id, "done": false, "content": "", "started_at": envelope.ts },
        );
        self.change(Op::Insert { path: Vec::new(), node });
        self.agent = Some(id.clone());
        id
    }

    fn system_message(&mut self, envelope: &Envelope) -> String {
        if let Some(id) = &self.system {
            return id.clone();
        }
        let id = format!("system.{}", envelope.seq);
        let fields = fields! { "role": "system", "done": true, "content": "", "started_at": envelope.ts };
        self.change(Op::Insert { path: Vec::new(), node: Node::new(id.clone(), fields) });
        self.system = Some(id.clone());
        id
    }

    fn close_agent_message(&mut self, envelope: &Envelope) {
        if let Some(id) = self.agent.take() {
            self.change(Op::Set { path: vec![id], fields: fields! { "done": true, "ended_at": envelope.ts } });
        }
    }

    fn done(&mut self, envelope: &Envelope, done: &Done) {
        let id = self.agent_message(envelope);
        let fields = fields! { "outcome": done.outcome, "reason": done.reason, "exit_code": done.exit_code };
        self.change(Op::Set { path: vec![id], fields: fields.known() });
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
        self.change(Op::Insert { path: inside.clone(), node });
        let mut path = inside;
        path.push(id);
        path
    }

    fn set(&mut self, key: &Key, fields: Fields) {
        if let Some(path) = self.places.get(key).cloned() {
            self.change(Op::Set { path, fields });
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(path) = self.places.remove(key) {
            self.change(Op::Remove { path });
        }
    }

    fn set_root(&mut self, name: &'static str, value: Value) {
        let fields = Fields::from_iter([(name.into(), value)]);
        self.change(Op::Set { path: Vec::new(), fields });
    }

    /// A session without a title has that of the first message, here as in a list.
    fn name_after(&mut self, content: &[Part]) {
        let session = self.root.fields.get("session");
        let title = session.and_then(|session| session.get("title")).and_then(Value::as_str).unwrap_or_default();
        if title.is_empty() {
            let line = first_line(content);
            self.set_session("title", if line.is_empty() { Value::Null } else { line.into() });
        }
    }

    fn set_session(&mut self, name: &str, value: Value) {
        let mut session = self.root.fields.take("session");
        if let Value::Object(known) = &mut session {
            if value.is_null() {
                known.remove(name);
            } else {
                known.insert(name.to_owned(), value);
            }
        }
        self.set_root("session", session);
    }

    fn set_list(&mut self, name: &'static str, change: impl FnOnce(&mut Vec<Value>)) {
        let mut list = self.root.fields.take(name);
        if let Value::Array(members) = &mut list {
            change(members);
        }
        self.set_root(name, list);
    }

    /// The only way the tree changes: by what is also sent.
    fn change(&mut self, op: Op) {
        if self.told {
            self.ops.push(op.clone());
        }
        self.root.apply(op);
    }
}

/// Whether a member of a JSON object is this text.
fn is(json: &Value, name: &str, text: &str) -> bool {
    json.get(name).and_then(Value::as_str) == Some(text)
}
