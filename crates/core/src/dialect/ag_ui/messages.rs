//! The messages of a session in the order in which the clients' own reducer has them. A result stands right behind its call.

use std::collections::{HashMap, HashSet};

use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::id::TurnId;

/// How much of the messages is told at once: these clients refuse a frame over 10 MB. What is older is left out.
const SNAPSHOT_BYTES: usize = 8 << 20;

#[derive(Debug, Default)]
pub(super) struct Messages {
    list: Vec<Message>,
    places: HashMap<String, usize>,
}

#[derive(Debug)]
pub(super) struct Message {
    id: String,
    pub(super) turn: Option<TurnId>,
    pub(super) by: Option<String>,
    pub(super) body: Body,
    /// Taken back: it keeps its place, so that the places of others stay what they are.
    gone: bool,
}

#[derive(Debug)]
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
        self.list.get_mut(place)
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
        self.list.push(Message { id: id.to_owned(), turn, by, body, gone: false });
        place
    }

    pub(super) fn remove(&mut self, id: &str) {
        if let Some(place) = self.places.remove(id)
            && let Some(message) = self.list.get_mut(place)
        {
            message.gone = true;
        }
    }

    pub(super) fn remove_turns(&mut self, turns: &[TurnId]) {
        for message in &mut self.list {
            if message.turn.as_ref().is_some_and(|turn| turns.contains(turn)) {
                message.gone = true;
                self.places.remove(&message.id);
            }
        }
    }
}

/// All messages, as a snapshot tells them.
#[derive(Debug)]
pub(super) struct Snapshot<'a> {
    /// The newest, as many as fit.
    messages: &'a [Message],
    /// Calls whose result is told after it.
    late: HashSet<&'a str>,
}

impl Messages {
    pub(super) fn snapshot(&self) -> Snapshot<'_> {
        Snapshot { messages: self.newest(), late: HashSet::new() }
    }

    fn newest(&self) -> &[Message] {
        let mut size = 0;
        let fits = |message: &&Message| {
            size += if message.gone { 0 } else { message.size() };
            size <= SNAPSHOT_BYTES
        };
        let count = self.list.iter().rev().take_while(fits).count();
        self.list.get(self.list.len() - count..).unwrap_or_default()
    }

    /// A snapshot for a client that has these. What is new to it comes at its end, where a result would not stand behind its call; so results of calls
    /// that it has are left out, and returned.
    pub(super) fn snapshot_for(&self, known: &HashSet<String>) -> (Snapshot<'_>, Vec<Late<'_>>) {
        let late = |message: &'_ Message| {
            let is_late =
                !message.gone && known.contains(&message.id) && !known.contains(&format!("{}:result", message.id));
            is_late && matches!(message.body, Body::Call { result: Some(_), .. })
        };
        let messages = self.newest();
        let results = messages.iter().filter(|message| late(message)).filter_map(|message| match &message.body {
            Body::Call { result: Some(outcome), .. } => {
                Some(Late { call: &message.id, by: message.by.as_deref(), outcome })
            }
            _ => None,
        });
        let results: Vec<Late<'_>> = results.collect();
        (Snapshot { messages, late: results.iter().map(|late| late.call).collect() }, results)
    }

    /// Messages of nobody. A client that is told only of these lets go of all it has; it would keep its thoughts and activities if there were none
    /// among them. They go themselves with the next snapshot that has some.
    pub(super) fn blank(&self) -> Messages {
        let mut blank = Messages::default();
        let shown = || self.newest().iter().filter(|message| !message.gone);
        if shown().any(|message| matches!(message.body, Body::Reasoning(_))) {
            blank.add("blank:reasoning", None, None, Body::Reasoning(String::new()));
        }
        if shown().any(|message| matches!(message.body, Body::Activity { .. })) {
            let body = Body::Activity { kind: "blank".to_owned(), content: json!({}) };
            blank.add("blank:activity", None, None, body);
        }
        blank
    }
}

impl Snapshot<'_> {
    /// Whether a client that has these, in its order, would have the messages in ours: it leaves what it has where it is, and puts what is new at
    /// its end. Of activities it does not say which it has.
    pub(super) fn keeps_order(&self, of_client: &[String]) -> bool {
        let ids: Vec<String> = self.ids().collect();
        let told: HashSet<&String> = ids.iter().collect();
        let kept: Vec<&String> = of_client.iter().filter(|id| told.contains(id)).collect();
        ids.iter().take(kept.len()).eq(kept)
    }

    fn ids(&self) -> impl Iterator<Item = String> {
        let shown = self.messages.iter().filter(|message| !message.gone);
        let shown = shown.filter(|message| !matches!(message.body, Body::Activity { .. }));
        shown.flat_map(|message| {
            let has_result = matches!(message.body, Body::Call { result: Some(_), .. });
            let result =
                (has_result && !self.late.contains(message.id.as_str())).then(|| format!("{}:result", message.id));
            std::iter::once(message.id.clone()).chain(result)
        })
    }
}

/// A result that came while the client was away.
#[derive(Debug)]
pub(super) struct Late<'a> {
    pub(super) call: &'a str,
    pub(super) by: Option<&'a str>,
    pub(super) outcome: &'a Outcome,
}

impl Serialize for Snapshot<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for message in self.messages.iter().filter(|message| !message.gone) {
            list.serialize_element(&message.to_json())?;
            if let Body::Call { result: Some(outcome), .. } = &message.body
                && !self.late.contains(message.id.as_str())
            {
                list.serialize_element(&message.result_to_json(outcome))?;
            }
        }
        list.end()
    }
}

impl Message {
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
