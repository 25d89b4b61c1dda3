//! Commands that are still open when their turn ends, and commands that outlive their turn. Only Codex knows which of them run; it returns a list in
//! pages. A command that is missing from the list has ended, or was dropped with the script that called it.

use std::collections::BTreeSet;

use serde_json::json;

use super::protocol::{Call, CodexProtocol};
use super::wire::{Terminal, Terminals};
use super::work::{ThreadWork, Tool, ToolKind};
use crate::event::{BackgroundEnded, BackgroundStarted, WorkStatus};
use crate::id::{BackgroundId, ToolUseId};
use crate::runtime::{Output, jsonrpc};

/// How many commands of one thread are looked at. Nobody has as many; a list without an end would be read for ever.
const MAX_TERMINALS: usize = 4_096;

/// What came of a command that Codex began to tell of and never ran.
const DROPPED: &str = "Codex dropped this call and did not run it";
/// What came of one that may have run.
const UNKNOWN: &str = "Codex has not told how this command ended";

/// A command is known by its turn and its item.
pub(super) type Key = (String, String);

/// Why it is asked which commands run.
#[derive(Debug)]
pub(super) enum ListPurpose {
    /// This turn ends, and may have left some running.
    AfterTurn(String),
    /// This turn was interrupted, and its commands are to end with it.
    EndAll(String),
    /// Somebody wants this one ended.
    EndOne(Key),
}

/// A command that was left running.
#[derive(Debug)]
pub(super) struct Background {
    id: BackgroundId,
    /// It was called beside one that was rejected, see [`Tool`].
    may_never_run: bool,
    /// Somebody wanted it to end.
    stopped: bool,
    /// Codex has not said yet whether it runs.
    unverified: bool,
}

impl CodexProtocol {
    pub(super) fn list_terminals(&mut self, thread_id: &str, why: ListPurpose, out: &mut Output) {
        let params = json!({ "threadId": thread_id });
        let unverified = self.work(thread_id).map(|work| work.unverified()).unwrap_or_default();
        let call = Call::Terminals { thread_id: thread_id.to_owned(), why, unverified, found: Vec::new() };
        self.call("thread/backgroundTerminals/list", params, call, out);
    }

    /// A page of the list. What it is for is done after the last one.
    pub(super) fn terminals_listed(
        &mut self,
        thread_id: String,
        why: ListPurpose,
        unverified: Vec<Key>,
        mut found: Vec<Terminal>,
        result: Result<&str, jsonrpc::Error>,
        out: &mut Output,
    ) {
        let page = result.map_err(|error| error.message);
        let page = page.and_then(|page| serde_json::from_str::<Terminals>(page).map_err(|error| error.to_string()));
        let whole = page.and_then(|page| {
            let is_empty = page.data.is_empty();
            found.extend(page.data);
            match page.next_cursor {
                Some(_) if is_empty || found.len() >= MAX_TERMINALS => Err("their list has no end".to_owned()),
                next => Ok(next),
            }
        });
        let whole = match whole {
            Ok(Some(cursor)) => {
                let params = json!({ "threadId": thread_id, "cursor": cursor });
                let call = Call::Terminals { thread_id, why, unverified, found };
                return self.call("thread/backgroundTerminals/list", params, call, out);
            }
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if whole.is_ok()
            && let Some(work) = self.work(&thread_id)
        {
            let running = found.iter().map(|terminal| terminal.item_id.clone()).collect();
            work.drop_background(|key| unverified.contains(key), &running, out);
        }
        match why {
            ListPurpose::AfterTurn(turn_id) => {
                let running = whole.is_ok().then(|| found.into_iter().map(|terminal| terminal.item_id).collect());
                self.left_running(&thread_id, &turn_id, running, out);
            }
            ListPurpose::EndAll(turn_id) => self.end_terminals(&thread_id, &turn_id, found, out),
            ListPurpose::EndOne(key) => self.end_one(&thread_id, key, &found, whole, out),
        }
    }

    /// Ends what an interrupted turn has left running.
    fn end_terminals(&mut self, thread_id: &str, turn_id: &str, found: Vec<Terminal>, out: &mut Output) {
        for terminal in found {
            let Some(work) = self.work(thread_id) else { return };
            // Left running on purpose, or begun by a turn that came after.
            if work.is_background(&terminal.item_id) || work.tools.contains_key(&terminal.item_id) {
                continue;
            }
            work.settle((turn_id.to_owned(), terminal.item_id));
            let params = json!({ "threadId": thread_id, "processId": terminal.process_id });
            self.call("thread/backgroundTerminals/terminate", params, Call::Ignore, out);
        }
    }

    /// Ends one thing in the background: a sub-agent with all that work for it, or a command.
    pub(super) fn stop_background(&mut self, id: &str, out: &mut Output) {
        if self.subagents.is_open(id) {
            let running = self.subagents.running_for(id);
            if running.is_empty() {
                return self.subagents.ended(id, WorkStatus::Interrupted, out);
            }
            for (thread_id, turn_id) in running {
                let params = json!({ "threadId": thread_id, "turnId": turn_id });
                self.call("turn/interrupt", params, Call::Ignore, out);
            }
            return;
        }
        let main = self.thread.iter().map(|thread_id| (thread_id, &self.main));
        let found = main.chain(self.subagents.all_work()).find_map(|(thread_id, work)| {
            let (key, _) = work.background.iter().find(|(_, background)| background.id.as_str() == id)?;
            Some((thread_id.clone(), key.clone()))
        });
        if let Some((thread_id, key)) = found {
            self.list_terminals(&thread_id, ListPurpose::EndOne(key), out);
        }
    }

    fn end_one(&mut self, thread_id: &str, key: Key, found: &[Terminal], whole: Result<(), String>, out: &mut Output) {
        let Some(work) = self.work(thread_id).filter(|work| work.background.contains_key(&key)) else { return };
        let mut named = found.iter().filter(|terminal| terminal.item_id == key.1);
        match (named.next(), named.next(), whole) {
            (Some(terminal), None, _) => {
                work.mark_stopping(&key, true);
                let params = json!({ "threadId": thread_id, "processId": terminal.process_id });
                let call = Call::EndOne { thread_id: thread_id.to_owned(), key };
                self.call("thread/backgroundTerminals/terminate", params, call, out);
            }
            (None, _, Ok(())) => work.background_lost(&key, out),
            (Some(_), Some(_), _) => self.end_command_failed("another one has the same name", out),
            (None, _, Err(reason)) => self.end_command_failed(&reason, out),
        }
    }

    /// Codex has heard that one is to end. That it has ended, it tells by itself.
    pub(super) fn end_command_answered(
        &mut self,
        thread_id: &str,
        key: &Key,
        result: Result<&str, jsonrpc::Error>,
        out: &mut Output,
    ) {
        if let Err(error) = result {
            if let Some(work) = self.work(thread_id) {
                work.mark_stopping(key, false);
            }
            self.end_command_failed(&error.message, out);
        }
    }

    fn end_command_failed(&mut self, reason: &str, out: &mut Output) {
        self.warn(format!("a command in the background could not be ended: {reason}"), out);
    }
}

impl ThreadWork {
    /// Whether a command of this turn has begun and not ended, and nobody has to allow it first.
    pub(super) fn has_open_commands(&self) -> bool {
        self.tools.values().any(|tool| !tool.held && matches!(tool.kind, ToolKind::Command { .. }))
    }

    /// Whether a command was left running on purpose.
    pub(super) fn is_background(&self, item_id: &str) -> bool {
        self.background.keys().any(|(_, known)| known == item_id)
    }

    /// A command goes on when its turn is over.
    pub(super) fn leave_running(&mut self, key: Key, tool: Tool, label: String, out: &mut Output) {
        let id = BackgroundId::trusted(format!("{}:{}", key.0, key.1));
        let background =
            Background { id: id.clone(), may_never_run: tool.may_never_run, stopped: false, unverified: true };
        self.background.insert(key, background);
        let tool_use_id: Option<ToolUseId> = Some(tool.id);
        self.say(BackgroundStarted { background_id: id, tool_use_id, label, ..Default::default() }, out);
    }

    /// Settles the commands that are open and do not run: when a script of Codex fails, because one of its calls was rejected, it drops the others
    /// without a word.
    pub(super) fn drop_commands(&mut self, running: &BTreeSet<String>, out: &mut Output) {
        let dropped = |(item_id, tool): (&String, &Tool)| {
            let is_command = matches!(tool.kind, ToolKind::Command { .. });
            (is_command && !tool.held && !running.contains(item_id))
                .then(|| (item_id.clone(), lost_command_message(tool.may_never_run)))
        };
        let dropped: Vec<_> = self.tools.iter().filter_map(dropped).collect();
        for (item_id, message) in dropped {
            self.call_completed(&item_id, message.to_owned(), true, false, out);
        }
    }

    /// The same, for those that were believed to be left running when their turn ended, because Codex had not said which of them are.
    pub(super) fn drop_background(
        &mut self,
        is_meant: impl Fn(&Key) -> bool,
        running: &BTreeSet<String>,
        out: &mut Output,
    ) {
        let mut dropped = Vec::new();
        for (key, background) in self.background.iter_mut().filter(|(key, _)| is_meant(key)) {
            if std::mem::take(&mut background.unverified) && !running.contains(&key.1) {
                dropped.push(key.clone());
            }
        }
        for key in dropped {
            self.background_lost(&key, out);
        }
    }

    fn unverified(&self) -> Vec<Key> {
        self.background.iter().filter(|(_, background)| background.unverified).map(|(key, _)| key.clone()).collect()
    }

    /// Codex has said that all of these run.
    pub(super) fn verified(&mut self, running: &BTreeSet<String>) {
        for (_, background) in self.background.iter_mut().filter(|((_, item_id), _)| running.contains(item_id)) {
            background.unverified = false;
        }
    }

    /// A command in the background does not run, and nobody has told its end.
    fn background_lost(&mut self, key: &Key, out: &mut Output) {
        let Some(Background { id, may_never_run, .. }) = self.background.remove(key) else { return };
        self.settle(key.clone());
        let (status, output) = (WorkStatus::Interrupted, Some(lost_command_message(may_never_run).to_owned()));
        self.say(BackgroundEnded { background_id: id, status, output, ..Default::default() }, out);
    }

    fn mark_stopping(&mut self, key: &Key, stopped: bool) {
        if let Some(background) = self.background.get_mut(key) {
            background.stopped = stopped;
        }
    }

    /// The end of a command in the background, as far as that is known without its own words.
    pub(super) fn background_ended(&mut self, key: &Key, failed: bool) -> Option<BackgroundEnded> {
        let Background { id, stopped, .. } = self.background.remove(key)?;
        let status = match (stopped, failed) {
            (true, _) => WorkStatus::Interrupted,
            (false, true) => WorkStatus::Failed,
            (false, false) => WorkStatus::Completed,
        };
        let reason = stopped.then(|| "it was stopped".to_owned());
        Some(BackgroundEnded { background_id: id, status, reason, ..Default::default() })
    }

    // ---- whether they have run ----

    /// A call that waits to be allowed does not run.
    pub(super) fn hold(&mut self, item_id: &str) {
        if let Some(tool) = self.tools.get_mut(item_id) {
            tool.held = true;
        }
    }

    pub(super) fn allow(&mut self, item_id: &str) {
        if let Some(tool) = self.tools.get_mut(item_id) {
            tool.held = false;
        }
    }

    /// A call was rejected. Should it be one of a script, then what still waits is not run any more, whatever is said of it.
    pub(super) fn rejected(&mut self) {
        for tool in self.tools.values_mut().filter(|tool| tool.held) {
            tool.may_never_run = true;
        }
    }

    /// A command has printed something, so it runs.
    pub(super) fn mark_running(&mut self, item_id: &str) {
        if let Some(tool) = self.tools.get_mut(item_id) {
            tool.may_never_run = false;
        }
        for (_, background) in self.background.iter_mut().filter(|((_, known), _)| known == item_id) {
            background.may_never_run = false;
        }
    }
}

fn lost_command_message(may_never_run: bool) -> &'static str {
    if may_never_run { DROPPED } else { UNKNOWN }
}
