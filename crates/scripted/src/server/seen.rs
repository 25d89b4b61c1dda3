//! The requests so far, for tests. Whole requests are not kept: they are large and full of the agent's own prompts.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::request::{Api, Delivery, Kind, ModelRequest};

/// More than any test looks at; older ones are forgotten.
const MAX_SEEN: usize = 10_000;
/// What is kept of a text.
const MAX_TEXT: usize = 4_096;

/// One request, as far as it was understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// From 1, in order of arrival.
    pub number: u64,
    pub method: String,
    pub path: String,
    /// The status it was answered with.
    pub status: u16,
    pub api: Option<Api>,
    pub kind: Option<Kind>,
    pub model: Option<String>,
    /// Whether a stream was wanted.
    pub stream: Option<bool>,
    /// What the user said, if the conversation ended with it.
    pub user: Option<String>,
    /// Everything the user said in the conversation, oldest first.
    pub heard: Vec<String>,
    /// What the tools said, if the conversation ended with it.
    pub tool_result: Option<String>,
    /// What the agent told the model about itself, its work and its instructions.
    pub system: String,
    /// How much the model was to think, in its API's words.
    pub effort: Option<String>,
    /// The shape that the answer was to have, as JSON.
    pub schema: Option<String>,
    /// The tools that were offered.
    pub tools: Vec<String>,
    /// The reply that answered; none if no reply of the script did.
    pub reply: Option<String>,
    /// A turn for which the script had nothing.
    pub miss: bool,
}

impl Seen {
    pub(super) fn new(method: &str, path: &str, status: u16) -> Self {
        Self {
            number: 0,
            method: method.to_owned(),
            path: path.to_owned(),
            status,
            api: None,
            kind: None,
            model: None,
            stream: None,
            user: None,
            heard: Vec::new(),
            tool_result: None,
            system: String::new(),
            effort: None,
            schema: None,
            tools: Vec::new(),
            reply: None,
            miss: false,
        }
    }

    pub(super) fn of(path: &str, status: u16, asked: &ModelRequest, reply: Option<String>) -> Self {
        Self {
            api: Some(asked.api),
            kind: Some(asked.kind),
            model: Some(asked.model.clone()),
            stream: Some(asked.delivery == Delivery::Stream),
            user: asked.user.as_deref().map(beginning),
            heard: asked.heard.iter().map(|text| beginning(text)).collect(),
            tool_result: asked.tool_result.as_deref().map(beginning),
            effort: asked.effort.clone(),
            schema: asked.schema.as_deref().map(beginning),
            system: asked.system.chars().take(MAX_SYSTEM).collect(),
            tools: asked.tools.iter().map(|tool| tool.name.clone()).collect(),
            miss: reply.is_none() && asked.kind == Kind::Turn,
            reply,
            ..Self::new("POST", path, status)
        }
    }
}

/// Long enough for the system prompts of the agents, and bounded all the same.
const MAX_SYSTEM: usize = 100_000;
/// They are large, so only the last requests keep theirs.
const SYSTEMS: usize = 64;

fn beginning(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

#[derive(Debug, Default)]
pub(super) struct SeenList(Mutex<(u64, VecDeque<Seen>)>);

impl SeenList {
    pub(super) fn add(&self, mut seen: Seen) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.0 += 1;
        seen.number = list.0;
        if list.1.len() >= MAX_SEEN {
            list.1.pop_front();
        }
        list.1.push_back(seen);
        if let Some(older) = list.1.iter_mut().rev().nth(SYSTEMS) {
            older.system.clear();
        }
    }

    pub(super) fn list(&self) -> Vec<Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.iter().cloned().collect()
    }
}
