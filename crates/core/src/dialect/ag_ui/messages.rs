//! The messages of a session, in the order that the clients' own reducer produces. A result follows directly after its call.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::id::TurnId;

/// How much of the messages is told at once: these clients refuse a frame over 10 MB. What is older is left out.
const SNAPSHOT_BYTES: usize = 8 << 20;

/// Copies share the messages: a copy is made for each reader, and changes few of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Messages {
    list: Vec<Arc<Message>>,
    places: HashMap<String, usize>,
    taken_back: HashSet<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Message {
    id: String,
    pub(super) turn: Option<TurnId>,
    pub(super) by: Option<String>,
    pub(super) body: Body,
    /// Taken back: it keeps its place, so that the places of others stay what they are.
    gone: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    /// A text, or a list of parts.
    User(Value),
    Text(String),
    Reasoning(String),
    Call {
        name: String,
        arguments: String,
        result: Option<Outcome>,
    },
    Activity {
        kind: String,
        content: Value,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) content: String,
    pub(super) is_error: bool,
}

impl Messages {
    pub(super) fn contains(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    pub(super) fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    pub(super) fn at(&mut self, place: usize) -> Option<&mut Message> {
        self.list.get_mut(place).map(Arc::make_mut)
    }

    pub(super) fn all(&self) -> &[Arc<Message>] {
        &self.list
    }

    pub(super) fn get(&mut self, id: &str) -> Option<&mut Message> {
        self.place(id).and_then(|place| self.at(place))
    }

    /// Adds a message at the end, and says where that is. One that is known is left as it is.
    pub(super) fn add(&mut self, id: &str, turn: Option<TurnId>, by: Option<String>, body: Body) -> usize {
        if let Some(place) = self.place(id) {
            return place;
        }
        let place = self.list.len();
        self.places.insert(id.to_owned(), place);
        let message = Message { id: id.to_owned(), turn, by, body, gone: false };
        self.list.push(Arc::new(message));
        place
    }

    pub(super) fn remove(&mut self, id: &str) {
        if let Some(place) = self.places.remove(id)
            && let Some(message) = self.list.get_mut(place)
        {
            Arc::make_mut(message).gone = true;
        }
    }

    pub(super) fn remove_turns(&mut self, turns: &[TurnId]) {
        for message in &mut self.list {
            if message.turn.as_ref().is_some_and(|turn| turns.contains(turn)) {
                Arc::make_mut(message).gone = true;
                self.places.remove(&message.id);
                self.taken_back.insert(message.id.clone());
            }
        }
    }

    /// About how much they take in memory.
    pub(super) fn weight(&self) -> usize {
        self.list.iter().map(|message| message.weight()).sum()
    }

    /// Whether a message of this name was taken back.
    pub(super) fn was_taken_back(&self, id: &str) -> bool {
        self.taken_back.contains(id)
    }
}

/// Messages, as a snapshot tells them.
#[derive(Debug)]
pub(super) struct Snapshot<'a> {
    messages: &'a [Arc<Message>],
    /// Calls whose result is told after it.
    late: HashSet<&'a str>,
    /// What is told as saying nothing.
    empty: HashSet<&'a str>,
}

impl Messages {
    /// All of them, as many as fit.
    pub(super) fn snapshot(&self) -> Snapshot<'_> {
        Snapshot::of(self.newest())
    }

    pub(super) fn newest(&self) -> &[Arc<Message>] {
        let mut size = 0;
        let fits = |message: &&Arc<Message>| {
            size += if message.gone { 0 } else { message.size() };
            size <= SNAPSHOT_BYTES
        };
        let count = self.list.iter().rev().take_while(fits).count();
        self.list.get(self.list.len() - count..).unwrap_or_default()
    }
}

impl<'a> Snapshot<'a> {
    pub(super) fn of(messages: &'a [Arc<Message>]) -> Self {
        Self { messages, late: HashSet::new(), empty: HashSet::new() }
    }

    pub(super) fn emptied(self, empty: HashSet<&'a str>) -> Self {
        Self { empty, ..self }
    }

    fn shown(&self) -> impl Iterator<Item = &'a Message> {
        self.messages.iter().map(Arc::as_ref).filter(|message| !message.gone)
    }

    /// The messages as clients hold them.
    pub(super) fn to_messages(&self) -> impl Iterator<Item = Value> {
        self.shown().flat_map(|message| {
            let mut json = message.to_json();
            if let (true, Some(json)) = (self.empty.contains(message.id()), json.as_object_mut()) {
                json.insert("content".to_owned(), json!(""));
            }
            let result = match &message.body {
                Body::Call { result: Some(outcome), .. } if !self.late.contains(message.id()) => {
                    Some(message.result_to_json(outcome))
                }
                _ => None,
            };
            std::iter::once(json).chain(result)
        })
    }

    /// Calls that a client has without their result. What is new to it comes at its end, where a result would not stand behind its call; so these
    /// results are told by themselves.
    pub(super) fn late_for(&self, known: &HashSet<String>) -> Vec<&'a Message> {
        let is_late = |message: &&Message| {
            let has_call = known.contains(&message.id) && !known.contains(&format!("{}:result", message.id));
            has_call && matches!(message.body, Body::Call { result: Some(_), .. })
        };
        self.shown().filter(is_late).collect()
    }

    /// The snapshot without the results of these calls.
    pub(super) fn without_results(self, calls: &[&'a Message]) -> Self {
        Self { late: calls.iter().map(|message| message.id()).collect(), ..self }
    }

    /// Messages of nobody. A client that is told only of these lets go of all it has; it would keep its thoughts and activities if there were none
    /// among them. They go themselves with the next snapshot that has some.
    pub(super) fn blank(&self) -> Messages {
        let mut blank = Messages::default();
        if self.shown().any(|message| matches!(message.body, Body::Reasoning(_))) {
            blank.add("blank:reasoning", None, None, Body::Reasoning(String::new()));
        }
        if self.shown().any(|message| matches!(message.body, Body::Activity { .. })) {
            let body = Body::Activity { kind: "blank".to_owned(), content: json!({}) };
            blank.add("blank:activity", None, None, body);
        }
        blank
    }

    /// Whether a client that has these, in its order, would have the messages in ours: it leaves what it has where it is, and puts what is new at
    /// its end. Of activities it does not say which it has.
    pub(super) fn keeps_order(&self, of_client: &[String]) -> bool {
        let ids: Vec<String> = self.ids().collect();
        let told: HashSet<&String> = ids.iter().collect();
        let kept: Vec<&String> = of_client.iter().filter(|id| told.contains(id)).collect();
        ids.iter().take(kept.len()).eq(kept)
    }

    fn ids(&self) -> impl Iterator<Item = String> {
        let shown = self.shown().filter(|message| !matches!(message.body, Body::Activity { .. }));
        shown.flat_map(|message| {
            let has_result = matches!(message.body, Body::Call { result: Some(_), .. });
            let result = (has_result && !self.late.contains(message.id())).then(|| format!("{}:result", message.id));
            std::iter::once(message.id.clone()).chain(result)
        })
    }
}

impl Serialize for Snapshot<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.to_messages())
    }
}

impl Message {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether it was taken back.
    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    /// About as much as it takes in memory. It is asked for with every run, so nothing is read for it.
    fn weight(&self) -> usize {
        let body = match &self.body {
            Body::User(Value::String(content)) | Body::Text(content) | Body::Reasoning(content) => content.len(),
            Body::Call { name, arguments, result } => {
                name.len() + arguments.len() + result.as_ref().map_or(0, |outcome| outcome.content.len())
            }
            Body::User(_) | Body::Activity { .. } => 1_024,
        };
        body + 2 * self.id.len() + 150
    }

    /// About as much as it takes in a frame.
    fn size(&self) -> usize {
        let escaped = |byte: u8| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
            0..0x20 => 6,
            _ => 1,
        };
        let text = |text: &str| text.bytes().map(escaped).sum::<usize>();
        let body = match &self.body {
            Body::User(Value::String(content)) | Body::Text(content) | Body::Reasoning(content) => text(content),
            Body::Call { name, arguments, result } => {
                text(name) + text(arguments) + result.as_ref().map_or(0, |outcome| text(&outcome.content))
            }
            Body::User(content) | Body::Activity { content, .. } => content.to_string().len(),
        };
        body + 2 * self.id.len() + 150
    }

    fn to_json(&self) -> Value {
        let id = &self.id;
        let json = match &self.body {
            Body::User(content) => json!({ "id": id, "role": "user", "content": content }),
            Body::Text(content) => json!({ "id": id, "role": "assistant", "content": content }),
            Body::Reasoning(content) => json!({ "id": id, "role": "reasoning", "content": content }),
            Body::Call { name, arguments, .. } => {
                let call =
                    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
                json!({ "id": id, "role": "assistant", "toolCalls": [call] })
            }
            Body::Activity { kind, content } => {
                json!({ "id": id, "role": "activity", "activityType": kind, "content": content })
            }
        };
        self.tagged(json)
    }

    fn result_to_json(&self, outcome: &Outcome) -> Value {
        let (id, call) = (format!("{}:result", self.id), &self.id);
        let mut json = json!({ "id": id, "role": "tool", "toolCallId": call, "content": outcome.content });
        if let (true, Some(json)) = (outcome.is_error, json.as_object_mut()) {
            json.insert("metadata".to_owned(), json!({ "isError": true }));
        }
        self.tagged(json)
    }

    fn tagged(&self, mut json: Value) -> Value {
        if let (Some(by), Some(json)) = (&self.by, json.as_object_mut()) {
            json.insert("subagentRunId".to_owned(), json!(by));
        }
        json
    }
}
