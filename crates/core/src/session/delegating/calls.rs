//! The calls by which an agent delegates, looks, says more and stops: checked, and carried out or held until there is an answer.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Waiting;
use crate::delegation::{Start, fingerprint};
use crate::event::{DelegationStarted, DelegationState, DelegationUpdated, Part};
use crate::id::{MessageId, SessionId};
use crate::runtime::HostCall;
use crate::session::children::Child;
use crate::session::host_calls::{Outcome as Called, Served, read};
use crate::session::machine::{Effect, Machine, Output};
use crate::summary::first_line;
use crate::time::Timestamp;

#[derive(Debug, Deserialize)]
struct Delegate {
    runtime: String,
    prompt: String,
    cwd: Option<String>,
    #[serde(default)]
    wait: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct About {
    session_id: Option<String>,
    #[serde(default)]
    wait: bool,
}

#[derive(Debug, Deserialize)]
struct Say {
    session_id: String,
    message: String,
    #[serde(default)]
    wait: bool,
}

/// Which limits matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    AtOnce,
    /// It does not run yet.
    Any,
}

impl Machine {
    pub(in crate::session) fn delegate(&mut self, call: &HostCall, at: Timestamp, out: &mut Output) -> Called {
        let Delegate { runtime, prompt, cwd, wait } = read(call, &[])?;
        let (wait, prompt) = (wait.unwrap_or(true), prompt.trim().to_owned());
        if prompt.is_empty() {
            return Err("`prompt` must say what is to be done".to_owned());
        }
        if self.hears_later() {
            return Err("nobody would hear how it ends".to_owned());
        }
        self.check_room(Room::AtOnce)?;
        let cwd = self.folder(cwd.as_deref());
        let task = fingerprint(&runtime, cwd.as_deref(), &prompt);
        if self.state.children.delegated.tasks.contains(&task) {
            return Err("this is the very task that was given to you, or to the one who gave it to you: do it yourself, or delegate a part of it".to_owned());
        }
        let child = SessionId::fresh(&mut self.setup.ids, at);
        let message_id = MessageId::fresh(&mut self.setup.ids, at);
        self.share_budget(at, out);
        let inherited = self.inherited(task, call.tool_use_id.clone());
        let for_what = if wait { Waiting::End } else { Waiting::Start };
        self.wait_for_child(&child, call, for_what, at);
        let started = DelegationStarted {
            child_session_id: child.clone(),
            runtime: runtime.clone(),
            title: first_line(&[Part::Text { text: prompt.clone() }]),
            cwd: cwd.clone(),
            message_id: Some(message_id.clone()),
            tool_use_id: call.tool_use_id.clone(),
            waits: wait.then_some(true),
            by: None,
        };
        self.emit_for(call, started, at, out);
        out.effects.push(Effect::Delegate(Box::new(Start { child, runtime, prompt, cwd, message_id, inherited })));
        Ok(Served::Later)
    }

    pub(in crate::session) fn delegate_status(&mut self, call: &HostCall, at: Timestamp) -> Called {
        let About { session_id, wait } = read(call, &[])?;
        let Some(session_id) = session_id else {
            let all: Vec<Value> = self.state.children.all.iter().map(|(id, child)| described(id, child)).collect();
            return Ok(Served::Now(json!({ "sessions": all })));
        };
        let (id, child) = self.child(&session_id)?;
        let (id, is_open) = (id.clone(), child.state.is_open());
        if wait && is_open {
            self.wait_for_child(&id, call, Waiting::End, at);
            return Ok(Served::Later);
        }
        let (id, child) = self.child(&session_id)?;
        Ok(Served::Now(described(id, child)))
    }

    pub(in crate::session) fn delegate_message(&mut self, call: &HostCall, at: Timestamp, out: &mut Output) -> Called {
        let Say { session_id, message, wait } = read(call, &[])?;
        if message.trim().is_empty() {
            return Err("`message` must say something".to_owned());
        }
        let (child, known) = self.child(&session_id)?;
        if known.state == DelegationState::Removed {
            return Err(format!("session {child} is not there any more; delegate again"));
        }
        let (child, is_open) = (child.clone(), known.state.is_open());
        if !is_open {
            self.check_room(Room::AtOnce)?;
        }
        let message_id = MessageId::fresh(&mut self.setup.ids, at);
        let for_what = if wait { Waiting::End } else { Waiting::Start };
        self.wait_for_child(&child, call, for_what, at);
        let update = DelegationUpdated {
            message_id: Some(message_id.clone()),
            tool_use_id: call.tool_use_id.clone().filter(|_| wait),
            ..self.as_it_is(&child, DelegationState::Running)
        };
        self.emit_for(call, update, at, out);
        out.effects.push(Effect::TellChild { child, message_id, text: message });
        Ok(Served::Later)
    }

    pub(in crate::session) fn delegate_stop(&mut self, call: &HostCall, at: Timestamp, out: &mut Output) -> Called {
        let About { session_id, .. } = read(call, &[])?;
        let session_id = session_id.ok_or("`session_id` says which session is to be stopped")?;
        let (id, child) = self.child(&session_id)?;
        if !child.state.is_open() {
            return Ok(Served::Now(described(id, child)));
        }
        let id = id.clone();
        self.wait_for_child(&id, call, Waiting::End, at);
        out.effects.push(Effect::StopChildren(vec![id]));
        Ok(Served::Later)
    }

    fn child(&self, id: &str) -> Result<(&SessionId, &Child), String> {
        let known = &self.state.children.all;
        known.get_key_value(id).ok_or_else(|| {
            let known: Vec<&str> = known.keys().map(SessionId::as_str).collect();
            let known = if known.is_empty() { "nobody".to_owned() } else { known.join(", ") };
            format!("no session {id:?} works for you; {known} does")
        })
    }

    /// The folder in which a session is to work: a place below this one's, unless it is a whole path.
    fn folder(&self, wanted: Option<&str>) -> Option<String> {
        match (wanted.map(str::trim).filter(|wanted| !wanted.is_empty()), self.state.cwd.as_deref()) {
            (None | Some("."), own) => own.map(str::to_owned),
            (Some(wanted), Some(own)) if !wanted.starts_with('/') => {
                Some(format!("{}/{}", own.trim_end_matches('/'), wanted.trim_start_matches("./")))
            }
            (Some(wanted), _) => Some(wanted.to_owned()),
        }
    }

    /// Agents that get their orders by the log cannot be told the result of a call.
    fn hears_later(&self) -> bool {
        self.is_told_by_log()
    }

    pub(super) fn check_room(&self, room: Room) -> Result<(), String> {
        let (rules, children) = (&self.setup.delegation, &self.state.children);
        if children.depth() >= rules.depth {
            return Err(format!(
                "{} sessions stand above this one already, and more than {} may not: do it yourself",
                children.depth(),
                rules.depth
            ));
        }
        let open = children.open().count();
        if room == Room::AtOnce && open >= rules.at_once {
            return Err(format!(
                "{open} sessions work for this one, and no more than {} may at once: wait for one with delegate_status, or stop one",
                rules.at_once
            ));
        }
        if children.total >= rules.total {
            return Err(format!(
                "this session has delegated {} times, and may not more often: say more to one with delegate_message, or do it yourself",
                children.total
            ));
        }
        Ok(())
    }
}

/// What an agent hears of a session that works for it.
fn described(id: &SessionId, child: &Child) -> Value {
    let mut described =
        json!({ "session_id": id, "runtime": child.runtime, "task": child.title, "status": child.state });
    if let Some(fields) = described.as_object_mut() {
        let mut add = |name: &str, value: Option<Value>| {
            fields.extend(value.map(|value| (name.to_owned(), value)));
        };
        add("activity", child.activity.clone().map(Value::from));
        let asks: Vec<&str> = child.asks.iter().map(|asked| asked.ask.title.as_str()).collect();
        add("waits_for_a_person", (!asks.is_empty()).then(|| json!(asks)));
        let end = child.end.as_ref().filter(|_| !child.state.is_open());
        add("result", end.and_then(|end| end.text.clone()).map(Value::from));
        add("reason", end.and_then(|end| end.reason.clone()).map(Value::from));
    }
    described
}
