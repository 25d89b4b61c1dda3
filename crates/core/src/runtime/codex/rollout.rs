//! The file that Codex keeps of a thread, its rollout. Codex tells of calls without an item only in the process in which a thread began (see
//! `unlisted`); of a thread that goes on in another one they are read from there, when a turn ends. Here is what is asked of whoever carries the
//! lines of a session, and how the lines of the file are read. Opening files is not here.

use serde::Deserialize;
use serde_json::{Value, json};

use super::protocol::{Call, CodexProtocol};
use super::turn::Turn;
use super::wire::{RawItemNotification, RolloutRead, TurnNotification};
use crate::runtime::jsonrpc::{self, Incoming};
use crate::runtime::{Line, Output};

/// Not Codex's word: it is for whoever carries the lines, and never reaches Codex.
pub(super) const METHOD: &str = "host/rollout/read";

/// It holds a path and two names.
const MAX_REQUEST: usize = 16 * 1024;
/// A longer line is not looked at: no call that failed is as long.
const MAX_LINE: usize = 1024 * 1024;
/// How much of what was found is passed on.
const MAX_ITEMS: usize = 4 * 1024 * 1024;

/// The calls of a model and what came of them, as a rollout has them.
const CALLS: [&str; 4] = ["custom_tool_call", "function_call", "custom_tool_call_output", "function_call_output"];

/// What a session wants to know of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutRequest {
    pub path: String,
    /// Where to begin, in bytes. Nothing to learn only where the file ends.
    pub from: Option<u64>,
    /// The turn whose calls are meant.
    #[serde(default)]
    pub turn_id: String,
}

impl RolloutRequest {
    /// The request in a line of a session, with what its answer has to be called; nothing if the line is something else.
    pub fn of(line: &[u8]) -> Option<(Value, Self)> {
        if line.len() > MAX_REQUEST {
            return None;
        }
        match jsonrpc::read(Line::Text(line)) {
            Ok(Some(Incoming::Request { id, method, params })) if method == METHOD => {
                Some((json!(id), serde_json::from_str(params).ok()?))
            }
            _ => None,
        }
    }
}

/// Finds the calls of one turn in the lines of a rollout.
#[derive(Debug)]
pub struct RolloutCalls {
    /// Nothing for those of all turns.
    turn_id: Option<String>,
    /// The turn in which the file stands.
    here: Option<String>,
    items: Vec<Value>,
    size: usize,
}

impl RolloutCalls {
    pub fn of_turn(turn_id: &str) -> Self {
        Self { turn_id: Some(turn_id.to_owned()), ..Self::of_all() }
    }

    pub fn of_all() -> Self {
        Self { turn_id: None, here: None, items: Vec::new(), size: 0 }
    }

    /// The next line of the file.
    pub fn line(&mut self, line: &[u8]) {
        let Some(Entry { kind, payload }) = Some(line)
            .filter(|line| line.len() <= MAX_LINE)
            .and_then(|line| serde_json::from_slice::<Entry>(line).ok())
        else {
            return;
        };
        let text = |name: &str| payload.pointer(name).and_then(Value::as_str);
        match kind.as_str() {
            "turn_context" => self.here = text("/turn_id").map(str::to_owned),
            "response_item" if text("/type").is_some_and(|kind| CALLS.contains(&kind)) => {
                let turn = text("/internal_chat_message_metadata_passthrough/turn_id").or(self.here.as_deref());
                let is_meant = self.turn_id.is_none() || turn == self.turn_id.as_deref();
                if is_meant && self.size + line.len() <= MAX_ITEMS {
                    self.size += line.len();
                    self.items.push(payload);
                }
            }
            _ => {}
        }
    }

    pub fn into_items(self) -> Vec<Value> {
        self.items
    }

    /// The answer to a [`RolloutRequest`]. `end`: up to where the file was read.
    pub fn answer(self, id: &Value, end: u64) -> Value {
        json!({ "id": id, "result": { "end": end, "items": self.items } })
    }
}

#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    payload: Value,
}

/// The rollout of a thread that began in another process.
#[derive(Debug)]
pub(super) struct Rollout {
    path: String,
    /// What stands before this is known.
    known: u64,
}

impl CodexProtocol {
    /// From here on, what is new in this file is told.
    pub(super) fn follow_rollout(&mut self, path: &str, out: &mut Output) {
        self.call(METHOD, json!({ "path": path }), Call::RolloutEnd { path: path.to_owned() }, out);
    }

    pub(super) fn rollout_found(&mut self, path: String, result: Option<&str>) {
        let read = result.and_then(|result| serde_json::from_str::<RolloutRead>(result).ok());
        self.rollout = read.map(|read| Rollout { path, known: read.end });
    }

    /// Asks for the calls of a turn that is about to end, if they are known in no other way. The turn ends with the answer, which whoever carries
    /// the lines gives within moments, whatever became of the file.
    pub(super) fn reads_rollout(&mut self, notice: &TurnNotification, out: &mut Output) -> bool {
        let TurnNotification { thread_id, turn } = notice;
        // A turn that another one may follow before the answer must not wait: one that the session did not begin, or to which a message is on its way.
        let is_settled = |turn: &Turn| turn.ours.is_some() && turn.names.len() == 1 && !self.peer.is_waiting();
        let may_wait = self.is_main(thread_id) && self.turn.as_ref().is_some_and(is_settled);
        let Some(Rollout { path, known }) = self.rollout.as_ref().filter(|_| may_wait) else {
            return false;
        };
        let params = json!({ "path": path, "from": known, "turnId": turn.id });
        let call = Call::Rollout { thread_id: thread_id.clone(), turn_id: turn.id.clone() };
        self.ending.insert(thread_id.clone(), notice.clone());
        self.call(METHOD, params, call, out);
        true
    }

    pub(super) fn rollout_read(&mut self, thread_id: &str, turn_id: &str, result: Option<&str>, out: &mut Output) {
        let read = result.and_then(|result| serde_json::from_str::<RolloutRead>(result).ok()).unwrap_or_default();
        if let Some(rollout) = &mut self.rollout {
            rollout.known = rollout.known.max(read.end);
        }
        let (thread_id, turn_id) = (thread_id.to_owned(), turn_id.to_owned());
        for item in read.items {
            let notice = RawItemNotification { thread_id: thread_id.clone(), turn_id: turn_id.clone(), item };
            self.raw_item(&notice, out);
        }
        // It may have ended without this: another turn began, or somebody stopped it.
        if self.ending.get(&thread_id).is_some_and(|end| end.turn.id == turn_id)
            && let Some(end) = self.ending.remove(&thread_id)
        {
            self.turn_told(end, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{RolloutCalls, RolloutRequest};

    #[test]
    fn calls_of_one_turn_are_found_among_everything_else() {
        let call = |kind: &str, id: &str, turn: Option<&str>| {
            let about = json!({ "turn_id": turn });
            let payload = json!({ "type": kind, "call_id": id, "internal_chat_message_metadata_passthrough": about });
            json!({ "type": "response_item", "payload": payload }).to_string()
        };
        let context = |turn: &str| json!({ "type": "turn_context", "payload": { "turn_id": turn } }).to_string();
        let lines = [
            context("u1"),
            call("function_call", "a", None),
            context("u2"),
            call("custom_tool_call", "b", None),
            call("custom_tool_call_output", "b", Some("u2")),
            call("function_call_output", "a", Some("u1")),
            call("message", "m", Some("u2")),
            json!({ "type": "event_msg", "payload": { "type": "task_complete" } }).to_string(),
            "half a li".to_owned(),
        ];
        let found = |mut calls: RolloutCalls| -> Vec<String> {
            for line in &lines {
                calls.line(line.as_bytes());
            }
            calls.into_items().iter().map(|item| item["call_id"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(found(RolloutCalls::of_turn("u2")), ["b", "b"]);
        assert_eq!(found(RolloutCalls::of_all()), ["a", "b", "b", "a"]);
    }

    #[test]
    fn only_what_is_meant_for_the_host_is_taken() {
        let line =
            json!({ "id": 7, "method": "host/rollout/read", "params": { "path": "/r", "from": 3, "turnId": "u" } });
        let (id, request) = RolloutRequest::of(line.to_string().as_bytes()).unwrap();
        assert_eq!((id, request.from, request.turn_id.as_str()), (json!(7), Some(3), "u"));
        assert_eq!(RolloutRequest::of(b"{\"id\":1,\"method\":\"thread/read\",\"params\":{}}"), None);
        assert_eq!(
            RolloutCalls::of_all().answer(&Value::from(7), 9),
            json!({ "id": 7, "result": { "end": 9, "items": [] } })
        );
    }
}
