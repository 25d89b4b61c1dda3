//! A model of the app-server, as far as sessions can see: threads, turns, items, requests. It is as good or as bad as the dice say.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::session::simulation::Dice;

#[derive(Debug, Default)]
pub(super) struct Server {
    threads: BTreeMap<String, Thread>,
    /// Everything has a number.
    made: u64,
    /// Its own requests that wait: whose turn, and for which item.
    asked: BTreeMap<u64, (String, String)>,
    requests: u64,
    /// Answers that are on their way.
    late: Vec<Value>,
    /// Some call was never answered.
    pub(super) dropped: bool,
    /// Every text that was said to its end, and in which conversation.
    pub(super) said: BTreeMap<String, String>,
}

#[derive(Debug, Default)]
struct Thread {
    parent: Option<String>,
    /// Somebody listens.
    subscribed: bool,
    turn: Option<Turn>,
    /// Commands that run, and the turn that began them.
    commands: BTreeMap<String, String>,
}

#[derive(Debug)]
struct Turn {
    id: String,
    /// A message that is being written: its name, all of it, and how much is out.
    message: Option<(String, String, usize)>,
}

impl Server {
    fn number(&mut self, of: &str) -> String {
        self.made += 1;
        format!("{of}{}", self.made)
    }

    fn root(&self, thread_id: &str) -> String {
        let mut root = thread_id.to_owned();
        while let Some(parent) = self.threads.get(&root).and_then(|thread| thread.parent.clone()) {
            root = parent;
        }
        root
    }

    /// What it tells of a thread, if anybody listens.
    fn tell(&self, thread_id: &str, method: &str, params: &Value, out: &mut Vec<Value>) {
        if self.threads.get(&self.root(thread_id)).is_some_and(|thread| thread.subscribed) {
            let mut params = params.clone();
            params["threadId"] = json!(thread_id);
            out.push(json!({ "method": method, "params": params }));
        }
    }

    fn item(&self, thread_id: &str, turn_id: &str, method: &str, item: &Value, out: &mut Vec<Value>) {
        self.tell(thread_id, method, &json!({ "turnId": turn_id, "item": item }), out);
    }

    /// One of the answers that are late, whichever.
    pub(super) fn late(&mut self, dice: &mut Dice) -> Option<Value> {
        let at = dice.below(self.late.len());
        (at < self.late.len()).then(|| self.late.remove(at))
    }

    /// It is killed. What is stored stays.
    pub(super) fn die(&mut self) {
        for thread in self.threads.values_mut() {
            (thread.turn, thread.subscribed) = (None, false);
            thread.commands.clear();
        }
        self.late.clear();
        self.asked.clear();
        self.requests = 0;
        // Whoever waited has heard that it is gone.
        self.dropped = false;
    }

    pub(super) fn runs(&self) -> bool {
        self.threads.values().any(|thread| thread.turn.is_some() || !thread.commands.is_empty())
    }

    // ---- what it is told ----

    pub(super) fn hears(&mut self, line: &Value, dice: &mut Dice) -> Vec<Value> {
        let mut out = Vec::new();
        let (Some(id), Some(method)) = (line.get("id"), line["method"].as_str()) else {
            self.answered(line, dice, &mut out);
            return out;
        };
        let thread = line["params"]["threadId"].as_str().unwrap_or_default().to_owned();
        let mut after = Vec::new();
        let result = self.does(method, &thread, &line["params"], dice, &mut after);
        let answer = match result {
            Ok(result) => json!({ "id": id, "result": result }),
            Err(message) => json!({ "id": id, "error": { "code": -32600, "message": message } }),
        };
        // What begins a turn is answered at some time, or nobody could know what to stop.
        let must = matches!(method, "initialize" | "turn/start" | "review/start");
        match dice.below(60) {
            0 if !must => self.dropped = true,
            1..=12 => self.late.push(answer),
            _ => out.push(answer),
        }
        out.extend(after);
        out
    }

    fn does(
        &mut self,
        method: &str,
        thread_id: &str,
        params: &Value,
        dice: &mut Dice,
        out: &mut Vec<Value>,
    ) -> Result<Value, String> {
        let known = self.threads.contains_key(thread_id);
        let running = self.threads.get(thread_id).and_then(|thread| Some(thread.turn.as_ref()?.id.clone()));
        if dice.one_in(50)
            && !matches!(
                method,
                "initialize" | "turn/interrupt" | "thread/unsubscribe" | "thread/backgroundTerminals/clean"
            )
        {
            return Err("not now".to_owned());
        }
        match method {
            "initialize" => Ok(json!({ "userAgent": "turnloom/0.166.0 (x)" })),
            "thread/start" | "thread/fork" => {
                let id = self.number("t");
                self.threads.insert(id.clone(), Thread { subscribed: true, ..Thread::default() });
                Ok(json!({ "thread": { "id": id, "forkedFromId": params["threadId"] }, "cwd": "/w" }))
            }
            "thread/resume" if !known => Err(format!("no rollout found for thread id {thread_id}")),
            "thread/resume" => {
                if let Some(thread) = self.threads.get_mut(thread_id) {
                    thread.subscribed = true;
                }
                let status = if running.is_some() { "active" } else { "idle" };
                Ok(json!({ "thread": { "id": thread_id, "status": { "type": status } }, "cwd": "/w" }))
            }
            "thread/unsubscribe" => {
                if let Some(thread) = self.threads.get_mut(thread_id) {
                    thread.subscribed = false;
                }
                Ok(json!({}))
            }
            "thread/read" => {
                let parent = self.threads.get(thread_id).and_then(|thread| thread.parent.clone());
                Ok(json!({ "thread": { "id": thread_id, "parentThreadId": parent } }))
            }
            "turn/start" | "review/start" | "thread/compact/start" => {
                let id = running.unwrap_or_else(|| self.begins(thread_id, out));
                let message =
                    json!({ "type": "userMessage", "id": self.number("i"), "clientId": params["clientUserMessageId"] });
                self.item(thread_id, &id, "item/started", &message, out);
                if method == "thread/compact/start" {
                    let item = json!({ "type": "contextCompaction", "id": self.number("i") });
                    self.item(thread_id, &id, "item/started", &item, out);
                    self.item(thread_id, &id, "item/completed", &item, out);
                }
                Ok(json!({ "turn": { "id": id } }))
            }
            "turn/steer" => match running {
                Some(id) if params["expectedTurnId"] == id.as_str() => {
                    let message = json!({ "type": "userMessage", "id": self.number("i"), "clientId": params["clientUserMessageId"] });
                    self.item(thread_id, &id, "item/started", &message, out);
                    if let Some(turn) = self.threads.get_mut(thread_id).and_then(|thread| thread.turn.as_mut()) {
                        turn.message = None;
                    }
                    Ok(json!({ "turnId": id }))
                }
                _ => Err("no active turn to steer".to_owned()),
            },
            "turn/interrupt" => match running {
                Some(id) if params["turnId"] == id.as_str() => {
                    self.completes(thread_id, "interrupted", out);
                    Ok(json!({}))
                }
                Some(id) => Err(format!("expected active turn id {} but found {id}", params["turnId"])),
                None => Err("no active turn to interrupt".to_owned()),
            },
            "thread/backgroundTerminals/list" => {
                let commands = self.threads.get(thread_id).map(|thread| thread.commands.keys().cloned().collect());
                let commands: Vec<String> = commands.unwrap_or_default();
                Ok(
                    json!({ "data": commands.iter().map(|id| json!({ "itemId": id, "processId": id })).collect::<Vec<_>>() }),
                )
            }
            "thread/backgroundTerminals/terminate" => {
                self.command_ends(thread_id, params["processId"].as_str().unwrap_or_default(), "failed", out);
                Ok(json!({}))
            }
            "thread/backgroundTerminals/clean" => {
                let commands = self.threads.get(thread_id).map(|thread| thread.commands.clone()).unwrap_or_default();
                for id in commands.into_keys() {
                    self.command_ends(thread_id, &id, "failed", out);
                }
                Ok(json!({}))
            }
            _ => Ok(json!({ "data": [] })),
        }
    }

    /// Somebody has answered a request.
    fn answered(&mut self, line: &Value, dice: &mut Dice, out: &mut Vec<Value>) {
        let Some((thread_id, item_id)) = line["id"].as_u64().and_then(|id| self.asked.remove(&id)) else { return };
        self.tell(&thread_id, "serverRequest/resolved", &json!({ "requestId": line["id"] }), out);
        let decision = line["result"]["decision"].as_str().unwrap_or_default();
        if decision == "cancel" {
            self.command_ends(&thread_id, &item_id, "declined", out);
            self.completes(&thread_id, "interrupted", out);
        } else if decision == "decline" || line.get("error").is_some() || dice.one_in(2) {
            self.command_ends(&thread_id, &item_id, if decision == "decline" { "declined" } else { "completed" }, out);
        }
    }

    // ---- what it does ----

    fn begins(&mut self, thread_id: &str, out: &mut Vec<Value>) -> String {
        let id = self.number("u");
        if let Some(thread) = self.threads.get_mut(thread_id) {
            thread.turn = Some(Turn { id: id.clone(), message: None });
        }
        self.tell(thread_id, "thread/status/changed", &json!({ "status": { "type": "active" } }), out);
        self.tell(thread_id, "turn/started", &json!({ "turn": { "id": id } }), out);
        id
    }

    fn completes(&mut self, thread_id: &str, status: &str, out: &mut Vec<Value>) {
        let Some(turn) = self.threads.get_mut(thread_id).and_then(|thread| thread.turn.take()) else { return };
        self.tell(thread_id, "thread/status/changed", &json!({ "status": { "type": "idle" } }), out);
        self.tell(thread_id, "turn/completed", &json!({ "turn": { "id": turn.id, "status": status } }), out);
        let open: Vec<u64> =
            self.asked.iter().filter(|(_, (thread, _))| thread == thread_id).map(|(id, _)| *id).collect();
        for id in open {
            // A command that nobody allowed does not run on.
            if let Some((_, item_id)) = self.asked.remove(&id)
                && let Some(thread) = self.threads.get_mut(thread_id)
            {
                thread.commands.remove(&item_id);
            }
            self.tell(thread_id, "serverRequest/resolved", &json!({ "requestId": id }), out);
        }
    }

    fn command_ends(&mut self, thread_id: &str, id: &str, status: &str, out: &mut Vec<Value>) {
        let Some(turn_id) = self.threads.get_mut(thread_id).and_then(|thread| thread.commands.remove(id)) else {
            return;
        };
        let item = json!({ "type": "commandExecution", "id": id, "command": "make", "status": status, "exitCode": 0 });
        self.item(thread_id, &turn_id, "item/completed", &item, out);
    }

    /// Ends all that goes on, as if the model had nothing more to say.
    pub(super) fn finishes(&mut self) -> Vec<Value> {
        let mut out = Vec::new();
        let threads: Vec<String> = self.threads.keys().cloned().collect();
        for thread_id in &threads {
            if !self.asked.values().any(|(thread, _)| thread == thread_id) {
                self.completes(thread_id, "completed", &mut out);
            }
        }
        out
    }

    /// Does something by itself.
    pub(super) fn speaks(&mut self, dice: &mut Dice) -> Vec<Value> {
        let mut out = Vec::new();
        let working: Vec<String> =
            self.threads.iter().filter(|(_, thread)| thread.turn.is_some()).map(|(id, _)| id.clone()).collect();
        let threads: Vec<String> = self.threads.keys().cloned().collect();
        if let Some(thread_id) = working.get(dice.below(working.len().max(1))) {
            self.works(thread_id, dice, &mut out);
        } else if let Some(thread_id) = threads.get(dice.below(threads.len().max(1))) {
            let command = self.threads.get(thread_id).and_then(|thread| thread.commands.keys().next().cloned());
            match command {
                Some(id) => self.command_ends(thread_id, &id, "completed", &mut out),
                // A turn that nobody asked for.
                None if dice.one_in(20) && self.threads[thread_id].subscribed => {
                    self.begins(thread_id, &mut out);
                }
                None => {}
            }
        }
        if dice.one_in(40) {
            let stray = self.number("stray");
            out.push(json!({ "method": "turn/started", "params": { "threadId": stray, "turn": { "id": "x" } } }));
        }
        if dice.one_in(12)
            && let Some(last) = out.last().cloned()
        {
            out.push(last);
        }
        out
    }

    fn works(&mut self, thread_id: &str, dice: &mut Dice, out: &mut Vec<Value>) {
        let root = self.root(thread_id);
        let Some(turn) = self.threads.get_mut(thread_id).and_then(|thread| thread.turn.as_mut()) else { return };
        let turn_id = turn.id.clone();
        match dice.below(14) {
            0..=4 => match turn.message.take() {
                None => {
                    let id = self.number("i");
                    let text = format!("{root} says {id} and more");
                    let item = json!({ "type": "agentMessage", "id": id, "text": "" });
                    self.item(thread_id, &turn_id, "item/started", &item, out);
                    self.message_is(thread_id, (id, text, 0));
                }
                Some((id, text, sent)) if sent + 3 < text.len() && !dice.one_in(4) => {
                    let piece = json!({ "turnId": turn_id, "itemId": id, "delta": &text[sent..sent + 3] });
                    self.tell(thread_id, "item/agentMessage/delta", &piece, out);
                    self.message_is(thread_id, (id, text, sent + 3));
                }
                Some((id, text, _)) => {
                    let text = if dice.one_in(6) { format!("{text}, in other words") } else { text };
                    let item = json!({ "type": "agentMessage", "id": id, "text": text });
                    self.item(thread_id, &turn_id, "item/completed", &item, out);
                    self.said.insert(text, root);
                }
            },
            5 | 6 => {
                let id = self.number("i");
                let item = json!({ "type": "commandExecution", "id": id, "command": "make", "status": "inProgress" });
                self.item(thread_id, &turn_id, "item/started", &item, out);
                if let Some(thread) = self.threads.get_mut(thread_id) {
                    thread.commands.insert(id.clone(), turn_id.clone());
                }
                if dice.one_in(2) {
                    let params = json!({ "turnId": turn_id, "itemId": id, "command": "make" });
                    self.asks(thread_id, &id, "item/commandExecution/requestApproval", &params, out);
                }
            }
            7 => {
                let asked = |id: &String| self.asked.values().any(|(_, item)| item == id);
                let commands = self.threads.get(thread_id).map(|thread| thread.commands.keys());
                if let Some(id) = commands.and_then(|mut ids| ids.find(|id| !asked(id)).cloned()) {
                    self.tell(
                        thread_id,
                        "item/commandExecution/outputDelta",
                        &json!({ "turnId": turn_id, "itemId": id, "delta": "." }),
                        out,
                    );
                    self.command_ends(thread_id, &id, "completed", out);
                }
            }
            8 => {
                let id = self.number("i");
                let params =
                    json!({ "turnId": turn_id, "itemId": id, "questions": [{ "id": "q", "question": "Which?" }] });
                self.asks(thread_id, &id, "item/tool/requestUserInput", &params, out);
            }
            9 => {
                turn.message = None;
                let error =
                    json!({ "turnId": turn_id, "error": { "message": "Reconnecting... 1/2" }, "willRetry": true });
                self.tell(thread_id, "error", &error, out);
            }
            10 => {
                let tokens = json!({ "totalTokens": self.made, "inputTokens": self.made });
                let usage = json!({ "turnId": turn_id, "tokenUsage": { "total": tokens, "last": tokens } });
                self.tell(thread_id, "thread/tokenUsage/updated", &usage, out);
                self.tell(
                    thread_id,
                    "turn/diff/updated",
                    &json!({ "turnId": turn_id, "diff": "diff --git a/x b/x\n" }),
                    out,
                );
            }
            11 if self.threads.len() < 24 => {
                let child = self.number("c");
                self.threads.insert(child.clone(), Thread { parent: Some(thread_id.to_owned()), ..Thread::default() });
                self.begins(&child, out);
            }
            _ => {
                let status = dice.pick(["completed", "completed", "completed", "failed"]);
                self.completes(thread_id, status, out);
            }
        }
    }

    fn message_is(&mut self, thread_id: &str, message: (String, String, usize)) {
        if let Some(turn) = self.threads.get_mut(thread_id).and_then(|thread| thread.turn.as_mut()) {
            turn.message = Some(message);
        }
    }

    fn asks(&mut self, thread_id: &str, item_id: &str, method: &str, params: &Value, out: &mut Vec<Value>) {
        if self.threads.get(&self.root(thread_id)).is_some_and(|root| root.subscribed) {
            let mut params = params.clone();
            params["threadId"] = json!(thread_id);
            self.requests += 1;
            self.asked.insert(self.requests, (thread_id.to_owned(), item_id.to_owned()));
            out.push(json!({ "method": method, "id": self.requests, "params": params }));
        }
    }
}
