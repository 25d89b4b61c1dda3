//! The state of one side: the calls that wait for an answer, and the requests that it has to answer.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::message::{Error, Id, Incoming, read};
use crate::runtime::Line;
use crate::time::Timestamp;

/// How many requests of the other side may be unanswered. A peer that asks without end must not fill the memory.
const MAX_UNANSWERED: usize = 4_096;

/// Whether what we send carries `"jsonrpc": "2.0"`. What we read may carry it or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    Versioned,
    Plain,
}

/// One side of a conversation. `C` is what the owner wants to remember of a call until it ends.
#[derive(Debug)]
pub struct Peer<C> {
    flavor: Flavor,
    next_id: i64,
    waiting: BTreeMap<i64, Waiting<C>>,
    unanswered: BTreeSet<Id>,
    close_reason: Option<String>,
}

#[derive(Debug)]
struct Waiting<C> {
    call: C,
    deadline: Option<Timestamp>,
}

/// What a line turned out to be.
#[derive(Debug)]
pub enum Received<'a, C> {
    /// A call of ours has ended.
    Response {
        call: C,
        result: Result<&'a str, Error>,
    },
    /// The other side wants something and waits for [`Peer::respond`].
    Request {
        id: Id,
        method: Cow<'a, str>,
        params: &'a str,
    },
    Notification {
        method: Cow<'a, str>,
        params: &'a str,
    },
    /// An empty line, or an answer that nobody waits for: to a call that was cancelled or is over.
    Nothing,
    /// The reason why the line could not be read.
    Unreadable(String),
}

impl<C> Peer<C> {
    pub fn new(flavor: Flavor) -> Self {
        Self { flavor, next_id: 1, waiting: BTreeMap::new(), unanswered: BTreeSet::new(), close_reason: None }
    }

    /// A line that calls a method, and the id to cancel it by. The call ends in [`peer.receive`](Self::peer.receive), [`expire`](Self::expire) or
    /// [`close`](Self::close); once.
    pub fn request(&mut self, method: &str, params: Value, call: C, deadline: Option<Timestamp>) -> (i64, Value) {
        let id = self.next_id;
        self.next_id += 1;
        self.waiting.insert(id, Waiting { call, deadline });
        (id, self.line([("method", json!(method)), ("id", json!(id)), ("params", params)]))
    }

    /// A line that tells the other side something. Without `params`, there are none on the wire.
    pub fn notification(&self, method: &str, params: Option<Value>) -> Value {
        let params = params.map(|params| ("params", params));
        self.line([Some(("method", json!(method))), params].into_iter().flatten())
    }

    /// A line that answers; nothing when the other side does not wait for this.
    pub fn respond(&mut self, id: &Id, result: Result<Value, Error>) -> Option<Value> {
        let result = match result {
            Ok(result) => ("result", result),
            Err(error) => ("error", json!(error)),
        };
        self.unanswered.remove(id).then(|| self.line([("id", json!(id)), result]))
    }

    /// Whether the other side waits for an answer to this.
    pub fn awaits_response(&self, id: &Id) -> bool {
        self.unanswered.contains(id)
    }

    /// The other side no longer wants an answer.
    pub fn withdraw(&mut self, id: &Id) -> bool {
        self.unanswered.remove(id)
    }

    /// Whether a call has no answer yet.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Stops waiting. An answer that still comes is nothing.
    pub fn cancel(&mut self, id: i64) -> Option<C> {
        self.waiting.remove(&id).map(|waiting| waiting.call)
    }

    pub fn receive<'a>(&mut self, line: Line<'a>) -> Received<'a, C> {
        match read(line) {
            Ok(None) => Received::Nothing,
            Ok(Some(Incoming::Notification { method, params })) => Received::Notification { method, params },
            Ok(Some(Incoming::Request { id, method, params })) => {
                if self.unanswered.len() >= MAX_UNANSWERED {
                    return Received::Unreadable(format!("more than {MAX_UNANSWERED} requests wait for an answer"));
                }
                self.unanswered.insert(id.clone());
                Received::Request { id, method, params }
            }
            Ok(Some(Incoming::Response { id, result })) => {
                let number = match id {
                    Some(Id::Number(number)) => Some(number),
                    // Some peers give numbers back as text.
                    Some(Id::Text(text)) => text.parse().ok(),
                    None => None,
                };
                match number.and_then(|number| self.waiting.remove(&number)) {
                    Some(waiting) => Received::Response { call: waiting.call, result },
                    None => Received::Nothing,
                }
            }
            Err(error) => Received::Unreadable(error),
        }
    }

    /// When [`expire`](Self::expire) is wanted next.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.waiting.values().filter_map(|waiting| waiting.deadline).min()
    }

    /// The calls whose time limit has passed.
    pub fn expire(&mut self, now: Timestamp) -> Vec<(C, Error)> {
        let late = |waiting: &Waiting<C>| waiting.deadline.is_some_and(|deadline| deadline <= now);
        let ids: Vec<i64> = self.waiting.iter().filter(|(_, waiting)| late(waiting)).map(|(id, _)| *id).collect();
        let ended = ids.into_iter().filter_map(|id| self.waiting.remove(&id));
        ended.map(|waiting| (waiting.call, Error::new(Error::TIMED_OUT, "no answer came in time"))).collect()
    }

    /// The other side is gone: everything that waits ends with an error, and nothing is owed any more.
    pub fn close(&mut self, reason: &str) -> Vec<(C, Error)> {
        self.unanswered.clear();
        self.close_reason = Some(reason.to_owned());
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_values().map(|waiting| (waiting.call, Error::new(Error::GONE, reason))).collect()
    }

    /// Why nothing will come any more, once [`close`](Self::close) was called.
    pub fn close_reason(&self) -> Option<&str> {
        self.close_reason.as_deref()
    }

    pub fn waiting(&self) -> impl Iterator<Item = &C> {
        self.waiting.values().map(|waiting| &waiting.call)
    }

    fn line<'a>(&self, members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
        let version = (self.flavor == Flavor::Versioned).then(|| ("jsonrpc", json!("2.0")));
        let members = version.into_iter().chain(members);
        Value::Object(members.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
    }
}
