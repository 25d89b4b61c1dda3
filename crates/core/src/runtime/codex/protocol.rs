//! The conversation as a whole: which line goes where.

use std::collections::VecDeque;

use serde_json::Value;

use super::asks::Asks;
use super::failure;
use super::ignored::is_ignored;
use super::settings::Settings;
use super::threads::{Family, Stranger};
use super::turn::Turn;
use super::wire::{About, Item, Page, Terminals, ThreadGiven, TurnError, TurnGiven, TurnIs};
use super::work::Work;
use crate::client_tools::ClientTools;
use crate::event::{ModelChoice, Origin, Outcome, TurnResult, WorkStatus};
use crate::id::{MessageId, TurnId};
use crate::runtime::jsonrpc::{self, Flavor, Heard, Peer};
use crate::runtime::{Beginning, Line, Opening, Order, Output, Protocol, Report, unparsed};

/// How many turns are remembered by Codex's name for them.
const MAX_TURN_NAMES: usize = 4_096;

/// How many lines may wait until the session knows that its agent is there.
const MAX_EARLY: usize = 1_024;
/// How many turns are remembered that are over, so that what still comes of them is not taken for another one's.
const MAX_ENDED: usize = 64;

/// What an answer is the answer to.
#[derive(Debug)]
pub(super) enum Call {
    Initialize,
    Models,
    Open,
    StartTurn {
        turn_id: TurnId,
    },
    Steer {
        message_id: MessageId,
    },
    Interrupt {
        name: String,
    },
    Compact {
        turn_id: TurnId,
    },
    Turns {
        to: Option<String>,
        oldest: Option<String>,
    },
    Revert,
    Rollback,
    ReadThread {
        thread_id: String,
    },
    /// What still runs after a turn was interrupted.
    Terminals {
        thread_id: String,
        turn_id: String,
    },
    /// Whatever comes of it, nothing follows.
    Quiet,
}

/// Speaks with `codex app-server` for one session.
#[derive(Debug)]
pub struct CodexProtocol {
    pub(super) peer: Peer<Call>,
    pub(super) settings: Settings,
    pub(super) client_tools: ClientTools,
    pub(super) beginning: Beginning,
    pub(super) serves_ask_user: bool,
    pub(super) title: Option<String>,
    pub(super) version: Option<String>,
    pub(super) models: Option<Vec<ModelChoice>>,
    /// Something came of asking for them.
    pub(super) asked_models: bool,
    pub(super) opened: bool,
    pub(super) is_ready: bool,
    early: Vec<Vec<u8>>,
    pub(super) resumed: bool,
    pub(super) not_resumed: Option<String>,
    pub(super) thread: Option<String>,
    pub(super) model: Option<String>,
    pub(super) turn: Option<Turn>,
    pub(super) turn_names: Vec<(TurnId, String)>,
    /// What Codex called the turns that are over.
    ended: VecDeque<String>,
    /// The end of a turn that came while ours had no name yet. If that is its name, it was the end of ours.
    unnamed_end: Option<TurnIs>,
    /// How many turns a rollback is to take back.
    pub(super) taking_back: usize,
    pub(super) main: Work,
    pub(super) family: Family,
    pub(super) asks: Asks,
    pub(super) failed: Option<TurnError>,
    pub(super) warned: Vec<String>,
}

impl Default for CodexProtocol {
    fn default() -> Self {
        Self {
            peer: Peer::new(Flavor::Plain),
            settings: Settings::default(),
            client_tools: ClientTools::default(),
            beginning: Beginning::Fresh,
            serves_ask_user: true,
            title: None,
            version: None,
            models: None,
            asked_models: false,
            opened: false,
            is_ready: false,
            early: Vec::new(),
            resumed: false,
            not_resumed: None,
            thread: None,
            model: None,
            turn: None,
            turn_names: Vec::new(),
            ended: VecDeque::new(),
            unnamed_end: None,
            taking_back: 0,
            main: Work::default(),
            family: Family::default(),
            asks: Asks::default(),
            failed: None,
            warned: Vec::new(),
        }
    }
}

impl Protocol for CodexProtocol {
    fn open(&mut self, opening: &Opening, out: &mut Output) {
        self.settings = Settings::of(opening);
        if let Some(params) = opening.params.as_object() {
            self.client_tools.configure(params);
        }
        self.beginning = opening.beginning.clone();
        self.serves_ask_user = opening.params.get("ask_user").and_then(Value::as_bool) != Some(false);
        let title = opening.params.get("title").and_then(Value::as_str).map(str::to_owned);
        self.title = title.filter(|_| opening.beginning == Beginning::Fresh);
        self.shake_hands(out);
    }

    fn order(&mut self, order: &Order, out: &mut Output) {
        self.carry_out(order, out);
    }

    fn line(&mut self, line: Line<'_>, out: &mut Output) {
        match self.peer.hear(line) {
            Heard::Nothing => {}
            Heard::Unreadable(error) => out.report(unparsed("codex/stdout", &error, line)),
            Heard::Response { call, result } => self.answered(call, result, out),
            Heard::Request { id, method, params } => {
                let about = About::of(params);
                if !self.is_early(line) && !self.held_back(&about, line, out) {
                    self.join_turn(&about, out);
                    self.asked(&id, &method, params, line, out);
                }
            }
            Heard::Notification { method, params } => {
                let about = About::of(params);
                if is_ignored(&method)
                    || (is_of_turn(&method) && self.is_early(line))
                    || self.held_back(&about, line, out)
                {
                    return;
                }
                if self.is_over(&about) && !may_outlive_turn(&method) {
                    return out.report(unparsed(&format!("codex/{method}"), &"said after the end of its turn", line));
                }
                // The end of an item may be that of a command which an earlier turn left running.
                if method.starts_with("item/") && method != "item/completed" {
                    self.join_turn(&about, out);
                }
                if let Err(error) = self.told(&method, params, out) {
                    out.report(unparsed(&format!("codex/{method}"), &error, line));
                }
            }
        }
    }
}

impl CodexProtocol {
    pub(super) fn call(&mut self, method: &str, params: Value, call: Call, out: &mut Output) {
        let (_, line) = self.peer.request(method, params, call, None);
        out.write_line(&line);
    }

    fn answered(&mut self, call: Call, result: Result<&str, jsonrpc::Error>, out: &mut Output) {
        if result.as_ref().is_err_and(|error| error.code == jsonrpc::Error::GONE) {
            return; // The end of the server follows, and says more.
        }
        match call {
            Call::Initialize => self.shook_hands(result, out),
            Call::Models => self.models_known(result, out),
            Call::Open => self.thread_opened(result, out),
            // The turn was over before its beginning was answered.
            Call::StartTurn { turn_id } | Call::Compact { turn_id } if !self.is_running(&turn_id) => {}
            Call::StartTurn { .. } => match result {
                Ok(result) => {
                    self.settings.said();
                    let given: TurnGiven = serde_json::from_str(result).unwrap_or_default();
                    self.name_turn(&given.turn.id, out);
                    if let Some(end) = self.unnamed_end.take_if(|end| end.turn.id == given.turn.id) {
                        self.turn_completed(end, out);
                    }
                }
                Err(error) => self.turn_refused("the message", &error, out),
            },
            Call::Compact { .. } => {
                if let Err(error) = result {
                    self.turn_refused("to compact", &error, out);
                }
            }
            // That it is taken is not yet that the model has it: the item of the message says that.
            Call::Steer { message_id } => {
                if let Err(error) = result {
                    out.report(Report::SteerRejected { message_id, reason: error.message });
                }
            }
            Call::Interrupt { name } => {
                if let Err(error) = result {
                    self.not_interrupted(&name, &error, out);
                }
            }
            Call::Turns { to, oldest } => {
                let page = result.map_err(|error| error.message);
                let page = page.and_then(|page| serde_json::from_str::<Page>(page).map_err(|error| error.to_string()));
                self.turns_listed(page, to, oldest, out);
            }
            Call::Revert => match result {
                Ok(_) => self.rolled_back(Ok(()), out),
                Err(error) => self.not_reverted(error, out),
            },
            Call::Rollback => self.rolled_back(result.map(|_| ()), out),
            Call::ReadThread { thread_id } => {
                let given = result.ok().and_then(|result| serde_json::from_str::<ThreadGiven>(result).ok());
                let thread = given.map(|given| given.thread).unwrap_or_default();
                self.adopt(&thread_id, thread.agent_nickname, thread.parent_thread_id.as_deref(), out);
            }
            Call::Terminals { thread_id, turn_id } => {
                let listed = result.ok().and_then(|result| serde_json::from_str::<Terminals>(result).ok());
                self.end_terminals(&thread_id, &turn_id, listed.unwrap_or_default(), out);
            }
            Call::Quiet => {}
        }
    }

    // ---- threads ----

    /// The thread's work: the conversation's own, or that of a sub-agent.
    pub(super) fn work(&mut self, thread_id: &str) -> Option<&mut Work> {
        if self.is_main(thread_id) { Some(&mut self.main) } else { self.family.work(thread_id) }
    }

    /// The same, when the thread does something; the log learns of a sub-agent then.
    pub(super) fn working(&mut self, thread_id: &str, out: &mut Output) -> Option<&mut Work> {
        if self.is_main(thread_id) { Some(&mut self.main) } else { self.family.working(thread_id, out) }
    }

    pub(super) fn is_main(&self, thread_id: &str) -> bool {
        self.thread.as_deref().is_none_or(|main| main == thread_id)
    }

    /// Whether a line has to wait because the session does not know yet that its agent is there: of a turn that ran before it came.
    fn is_early(&mut self, line: Line<'_>) -> bool {
        let Line::Text(bytes) = line else { return false };
        let waits = !self.is_ready && self.early.len() < MAX_EARLY;
        if waits {
            self.early.push(bytes.to_vec());
        }
        waits
    }

    /// The session knows; it hears what has waited for that.
    pub(super) fn hear_early(&mut self, out: &mut Output) {
        for line in std::mem::take(&mut self.early) {
            self.line(Line::Text(&line), out);
        }
    }

    /// Whether a line is about a thread that is not known yet, and has to wait.
    fn held_back(&mut self, about: &About, line: Line<'_>, out: &mut Output) -> bool {
        let (Some(thread_id), Line::Text(bytes)) = (&about.thread_id, line) else { return false };
        if self.is_main(thread_id) || self.family.knows(thread_id) {
            return false;
        }
        match self.family.hold(thread_id, bytes) {
            Stranger::New => {
                let params = serde_json::json!({ "threadId": thread_id });
                self.call("thread/read", params, Call::ReadThread { thread_id: thread_id.clone() }, out);
            }
            Stranger::Held => {}
            Stranger::Full => self.adopt(thread_id, None, None, out),
        }
        true
    }

    /// Takes a thread in and listens to what it had to say.
    pub(super) fn adopt(&mut self, thread_id: &str, name: Option<String>, parent: Option<&str>, out: &mut Output) {
        for line in self.family.adopt(thread_id, name, parent) {
            self.line(Line::Text(&line), out);
        }
    }

    // ---- turns ----

    /// Whether the running turn is this one of ours.
    fn is_running(&self, turn_id: &TurnId) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.ours.as_ref() == Some(turn_id))
    }

    /// Whether something is about a turn of the conversation that has ended.
    fn is_over(&self, about: &About) -> bool {
        let of_main = about.thread_id.as_deref().is_some_and(|thread_id| self.is_main(thread_id));
        of_main && about.turn_id.as_deref().is_some_and(|name| self.has_ended(name))
    }

    pub(super) fn has_ended(&self, name: &str) -> bool {
        self.ended.iter().any(|known| known == name)
    }

    pub(super) fn name_turn(&mut self, name: &str, out: &mut Output) {
        if !self.has_ended(name)
            && let Some(turn) = &mut self.turn
            && turn.named(name)
        {
            self.main.begin_turn(name, out);
            self.turn_named(out);
        }
    }

    /// A turn that ran before this session came to it: what goes on in it says its name.
    fn join_turn(&mut self, about: &About, out: &mut Output) {
        if let (Some(thread_id), Some(name)) = (&about.thread_id, &about.turn_id)
            && self.turn.as_ref().is_some_and(|turn| turn.joined)
            && self.is_main(thread_id)
        {
            self.name_turn(name, out);
        }
    }

    pub(super) fn turn_started(&mut self, thread_id: &str, name: &str, out: &mut Output) {
        if !self.is_main(thread_id) {
            if let Some(work) = self.family.working(thread_id, out) {
                work.begin_turn(name, out);
            }
            return;
        }
        if self.has_ended(name) {
            return;
        }
        if self.turn.is_none() {
            self.turn = Some(Turn::default());
            out.report(Report::TurnStarted { origin: Origin::Agent });
        }
        self.name_turn(name, out);
    }

    pub(super) fn turn_completed(&mut self, is: TurnIs, out: &mut Output) {
        let TurnIs { thread_id, turn } = is;
        if !self.is_main(&thread_id) {
            let (outcome, status) = match turn.status.as_str() {
                "completed" => ("completed", WorkStatus::Completed),
                "failed" => ("failed", WorkStatus::Failed),
                _ => ("interrupted", WorkStatus::Interrupted),
            };
            self.end_work(&thread_id, outcome, out);
            return self.family.ended(&thread_id, status, out);
        }
        let Some(running) = &self.turn else { return };
        if self.has_ended(&turn.id) {
            return;
        }
        if running.names.is_empty() && !running.joined {
            // One of ours that has no name yet has not begun, as far as is known: this is the end of another one.
            self.unnamed_end = Some(TurnIs { thread_id, turn });
            return;
        }
        if self.main.answer.is_none()
            && let Some(Item::AgentMessage { text, .. }) =
                turn.items.last().and_then(|item| serde_json::from_value(item.clone()).ok())
        {
            self.main.answer = Some((true, text));
        }
        if !turn.id.is_empty() {
            let anchor = turn.id.clone();
            if let Some(turn_id) = running.ours.clone() {
                if self.turn_names.len() >= MAX_TURN_NAMES {
                    self.turn_names.remove(0);
                }
                self.turn_names.push((turn_id, anchor.clone()));
            }
            out.report(Report::Anchor(anchor));
        }
        self.finish_turn(&turn.status, turn.error, out);
    }

    /// Ends the running turn in the log.
    pub(super) fn finish_turn(&mut self, status: &str, error: Option<TurnError>, out: &mut Output) {
        for stranger in self.family.strangers() {
            self.adopt(&stranger, None, None, out);
        }
        self.unnamed_end = None;
        for name in self.turn.take().into_iter().flat_map(|turn| turn.names) {
            if self.ended.len() >= MAX_ENDED {
                self.ended.pop_front();
            }
            self.ended.push_back(name);
        }
        if let Some((_, text)) = self.main.answer.take().filter(|_| status == "completed") {
            out.report(TurnResult { text });
        }
        let thread_id = self.thread.clone().unwrap_or_default();
        self.end_work(&thread_id, status, out);
        self.main.compaction_wanted = false;
        if let Some(usage) = self.main.spending.settle(self.family.spent()) {
            out.report(usage);
        }
        let failed = error.or(self.failed.take());
        let (outcome, reason, failure) = match status {
            "completed" => (Outcome::Completed, None, None),
            "failed" => {
                let error = failed.unwrap_or_else(|| TurnError {
                    message: "Codex did not say why".to_owned(),
                    ..TurnError::default()
                });
                (Outcome::Failed, None, Some(failure::of_turn(&error)))
            }
            _ => (Outcome::Interrupted, Some("Codex interrupted the turn".to_owned()), None),
        };
        self.failed = None;
        out.report(Report::TurnEnded { outcome, reason, failure });
    }

    /// Closes what a thread's turn leaves open, also on the side of Codex.
    pub(super) fn end_work(&mut self, thread_id: &str, status: &str, out: &mut Output) {
        for id in self.asks.forget(thread_id) {
            self.peer.withdraw(&id);
        }
        let Some(work) = self.work(thread_id) else { return };
        let turn_id = work.turn.clone().unwrap_or_default();
        work.end_turn(status, out);
        if status == "interrupted" {
            // It leaves commands running, also such as it has not told of yet; whoever stops a turn wants them stopped.
            let params = serde_json::json!({ "threadId": thread_id });
            let call = Call::Terminals { thread_id: thread_id.to_owned(), turn_id };
            self.call("thread/backgroundTerminals/list", params, call, out);
        }
    }

    fn end_terminals(&mut self, thread_id: &str, turn_id: &str, listed: Terminals, out: &mut Output) {
        for terminal in listed.data {
            let Some(work) = self.work(thread_id) else { return };
            // Left running on purpose, or begun by a turn that came after.
            if work.is_background(&terminal.item_id) || work.tools.contains_key(&terminal.item_id) {
                continue;
            }
            work.settle((turn_id.to_owned(), terminal.item_id));
            let params = serde_json::json!({ "threadId": thread_id, "processId": terminal.process_id });
            self.call("thread/backgroundTerminals/terminate", params, Call::Quiet, out);
        }
    }
}

fn is_of_turn(method: &str) -> bool {
    ["turn/", "item/", "serverRequest/", "error"].iter().any(|of_turn| method.starts_with(of_turn))
}

/// What may come of an item after its turn: a command that was left running prints and ends.
fn may_outlive_turn(method: &str) -> bool {
    !method.starts_with("item/") || method == "item/completed" || method.starts_with("item/commandExecution/")
}
