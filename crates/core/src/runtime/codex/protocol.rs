//! The conversation as a whole: dispatches each line to the code that handles it.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use super::asks::Asks;
use super::gate::Gate;
use super::ignored::is_ignored;
use super::rollout::Rollout;
use super::settings::Settings;
use super::terminals::{Key, ListPurpose};
use super::threads::{HoldOutcome, Subagents};
use super::turn::Turn;
use super::wire::{Page, TargetIds, Terminal, ThreadResponse, TurnError, TurnNotification, TurnResponse};
use super::work::ThreadWork;
use crate::client_tools::ClientTools;
use crate::event::{Failure, ModelChoice, Origin};
use crate::host_tools::HostTool;
use crate::id::{MessageId, TurnId};
use crate::runtime::jsonrpc::{self, Flavor, Incoming, Peer, Received};
use crate::runtime::{Beginning, Line, Opening, Order, Output, Protocol, Report, unparsed};

/// How many lines are held until the session knows that its agent is ready.
const MAX_EARLY: usize = 1_024;

/// The calls whose answers we wait for.
#[derive(Debug)]
pub(super) enum Call {
    Initialize,
    Models,
    OwnSettings,
    Open,
    /// The thread hears in which sandbox it works.
    Sandbox,
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
    /// Which commands run.
    Terminals {
        thread_id: String,
        why: ListPurpose,
        /// Commands in the background of which the list is to tell whether they run.
        unverified: Vec<Key>,
        /// Those of the pages before.
        found: Vec<Terminal>,
    },
    /// A command in the background is to end.
    EndOne {
        thread_id: String,
        key: Key,
    },
    /// Where the file of a thread ends.
    RolloutEnd {
        path: String,
    },
    /// What is new in it at the end of a turn.
    Rollout {
        thread_id: String,
        turn_id: String,
    },
    /// Which hooks the thread has.
    Hooks,
    /// The answer is ignored.
    Ignore,
}

/// Speaks with `codex app-server` for one session.
#[derive(Debug)]
pub struct CodexProtocol {
    pub(super) peer: Peer<Call>,
    profile: Map<String, Value>,
    pub(super) settings: Settings,
    pub(super) client_tools: ClientTools,
    pub(super) beginning: Beginning,
    /// The tools that the session carries out.
    pub(super) own_tools: Vec<HostTool>,
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
    pub(super) ended: VecDeque<String>,
    /// The end of a turn that came while ours had no name yet. If that is its name, it was the end of ours.
    pub(super) unnamed_end: Option<TurnNotification>,
    /// Ends of turns, by thread, that wait to hear which of their open commands go on, or which calls they made without an item.
    pub(super) ending: BTreeMap<String, TurnNotification>,
    /// Where calls without an item are found, if Codex does not tell of them itself.
    pub(super) rollout: Option<Rollout>,
    /// How many turns a rollback is to take back.
    pub(super) turns_to_roll_back: usize,
    pub(super) main: ThreadWork,
    pub(super) subagents: Subagents,
    pub(super) asks: Asks,
    pub(super) gate: Gate,
    /// A call of the running turn went round the gate.
    pub(super) gate_failure: Option<Failure>,
    /// What the agent has to hear of a mode that has changed.
    pub(super) mode_note: Option<String>,
    pub(super) failed: Option<TurnError>,
    /// What the model said in this turn instead of an answer.
    pub(super) refused: Option<String>,
    pub(super) warned: Vec<String>,
}

impl Default for CodexProtocol {
    fn default() -> Self {
        Self {
            peer: Peer::new(Flavor::Plain),
            profile: Map::new(),
            settings: Settings::default(),
            client_tools: ClientTools::default(),
            beginning: Beginning::Fresh,
            own_tools: Vec::new(),
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
            ending: BTreeMap::new(),
            rollout: None,
            turns_to_roll_back: 0,
            main: ThreadWork::default(),
            subagents: Subagents::default(),
            asks: Asks::default(),
            gate: Gate::None,
            gate_failure: None,
            mode_note: None,
            failed: None,
            refused: None,
            warned: Vec::new(),
        }
    }
}

impl Protocol for CodexProtocol {
    fn open(&mut self, opening: &Opening, out: &mut Output) {
        self.settings = Settings::of(opening, &self.profile);
        if let Some(params) = opening.params.as_object() {
            self.client_tools.configure(params);
        }
        self.beginning = opening.beginning.clone();
        self.own_tools.clone_from(&opening.host_tools);
        let title = opening.params.get("title").and_then(Value::as_str).map(str::to_owned);
        self.title = title.filter(|_| opening.beginning == Beginning::Fresh);
        self.send_initialize(out);
    }

    fn order(&mut self, order: &Order, out: &mut Output) {
        self.carry_out(order, out);
    }

    fn line(&mut self, line: Line<'_>, out: &mut Output) {
        match self.peer.receive(line) {
            Received::Nothing => {}
            Received::Unreadable(error) => out.report(unparsed("codex/stdout", &error, line)),
            Received::Response { call, result } => self.answered(call, result, out),
            Received::Request { id, method, params } => {
                let about = TargetIds::of(params);
                if !self.hold_if_early(line) && !self.hold_if_unknown(&about, line, out) {
                    self.join_turn(&about, out);
                    self.asked(&id, &method, params, line, out);
                }
            }
            Received::Notification { method, params } => {
                let about = TargetIds::of(params);
                if is_ignored(&method)
                    || (is_of_turn(&method) && self.hold_if_early(line))
                    || self.hold_if_unknown(&about, line, out)
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
                if let Err(error) = self.notified(&method, params, out) {
                    out.report(unparsed(&format!("codex/{method}"), &error, line));
                }
            }
        }
    }
}

impl CodexProtocol {
    /// With the settings that the session's profile stands for.
    #[must_use]
    pub fn with_profile(profile: Map<String, Value>) -> Self {
        Self { profile, ..Self::default() }
    }

    /// Lets every call be proposed by a hook with this command line.
    #[must_use]
    pub fn with_gate(self, command: String) -> Self {
        Self { gate: Gate::Unconfirmed(command), ..self }
    }

    pub(super) fn call(&mut self, method: &str, params: Value, call: Call, out: &mut Output) {
        let (_, line) = self.peer.request(method, params, call, None);
        out.write_line(&line);
    }

    fn answered(&mut self, call: Call, result: Result<&str, jsonrpc::Error>, out: &mut Output) {
        if result.as_ref().is_err_and(|error| error.code == jsonrpc::Error::GONE) {
            return; // The end of the server follows, and says more.
        }
        match call {
            Call::Initialize => self.initialized(result, out),
            Call::Models => self.models_known(result, out),
            Call::OwnSettings => self.own_settings_read(result, out),
            Call::Open => self.thread_opened(result, out),
            Call::Sandbox => self.sandbox_set(result, out),
            // The turn was over before its beginning was answered.
            Call::StartTurn { turn_id } | Call::Compact { turn_id } if !self.is_running(&turn_id) => {}
            Call::StartTurn { .. } => match result {
                Ok(result) => {
                    self.settings.confirm_changes();
                    let given: TurnResponse = serde_json::from_str(result).unwrap_or_default();
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
                let given = result.ok().and_then(|result| serde_json::from_str::<ThreadResponse>(result).ok());
                let thread = given.map(|given| given.thread).unwrap_or_default();
                self.adopt(&thread_id, thread.agent_nickname, thread.parent_thread_id.as_deref(), out);
            }
            Call::Terminals { thread_id, why, unverified, found } => {
                self.terminals_listed(thread_id, why, unverified, found, result, out);
            }
            Call::EndOne { thread_id, key } => self.end_command_answered(&thread_id, &key, result, out),
            Call::RolloutEnd { path } => self.rollout_found(path, result.ok()),
            Call::Rollout { thread_id, turn_id } => self.rollout_read(&thread_id, &turn_id, result.ok(), out),
            Call::Hooks => self.hooks_listed(result, out),
            Call::Ignore => {}
        }
    }

    // ---- threads ----

    /// The thread's work: the conversation's own, or that of a sub-agent.
    pub(super) fn work(&mut self, thread_id: &str) -> Option<&mut ThreadWork> {
        if self.is_main(thread_id) { Some(&mut self.main) } else { self.subagents.work(thread_id) }
    }

    /// The same, when the thread does something; the log learns of a sub-agent then.
    pub(super) fn start_work(&mut self, thread_id: &str, out: &mut Output) -> Option<&mut ThreadWork> {
        if self.is_main(thread_id) { Some(&mut self.main) } else { self.subagents.start_work(thread_id, out) }
    }

    pub(super) fn is_main(&self, thread_id: &str) -> bool {
        self.thread.as_deref().is_none_or(|main| main == thread_id)
    }

    /// Holds a line of a turn that ran before the session was ready; returns whether the line is held.
    fn hold_if_early(&mut self, line: Line<'_>) -> bool {
        let Line::Text(bytes) = line else { return false };
        let waits = !self.is_ready && self.early.len() < MAX_EARLY;
        if waits {
            self.early.push(bytes.to_vec());
        }
        waits
    }

    /// A turn that was over before the session was there is none of its own: its end must not be that of the turn which the session begins now.
    pub(super) fn forget_early_turns(&mut self) {
        let ended = |line: &Vec<u8>| match jsonrpc::read(Line::Text(line)) {
            Ok(Some(Incoming::Notification { method, params })) if method == "turn/completed" => {
                serde_json::from_str::<TurnNotification>(params).ok().filter(|notice| self.is_main(&notice.thread_id))
            }
            _ => None,
        };
        let ended: Vec<String> = self.early.iter().filter_map(ended).map(|notice| notice.turn.id).collect();
        if !ended.is_empty() {
            self.turn = None;
            self.ended.extend(ended);
        }
    }

    /// The session is ready; handles the lines that were held until then.
    pub(super) fn replay_early_lines(&mut self, out: &mut Output) {
        for line in std::mem::take(&mut self.early) {
            self.line(Line::Text(&line), out);
        }
    }

    /// Holds a line about an unknown thread; returns whether the line is held.
    fn hold_if_unknown(&mut self, about: &TargetIds, line: Line<'_>, out: &mut Output) -> bool {
        let (Some(thread_id), Line::Text(bytes)) = (&about.thread_id, line) else { return false };
        if self.is_main(thread_id) || self.subagents.knows(thread_id) {
            return false;
        }
        match self.subagents.hold(thread_id, bytes) {
            HoldOutcome::New => {
                let params = serde_json::json!({ "threadId": thread_id });
                self.call("thread/read", params, Call::ReadThread { thread_id: thread_id.clone() }, out);
            }
            HoldOutcome::Held => {}
            HoldOutcome::Full => self.adopt(thread_id, None, None, out),
        }
        true
    }

    /// Adopts a thread as a sub-agent and handles its held lines.
    pub(super) fn adopt(&mut self, thread_id: &str, name: Option<String>, parent: Option<&str>, out: &mut Output) {
        for line in self.subagents.adopt(thread_id, name, parent) {
            self.line(Line::Text(&line), out);
        }
    }

    // ---- turns ----

    /// Whether the running turn is this one of ours.
    fn is_running(&self, turn_id: &TurnId) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.ours.as_ref() == Some(turn_id))
    }

    /// Whether something is about a turn of the conversation that has ended.
    fn is_over(&self, about: &TargetIds) -> bool {
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
    fn join_turn(&mut self, about: &TargetIds, out: &mut Output) {
        if let (Some(thread_id), Some(name)) = (&about.thread_id, &about.turn_id)
            && self.turn.as_ref().is_some_and(|turn| turn.joined)
            && self.is_main(thread_id)
        {
            self.name_turn(name, out);
        }
    }

    pub(super) fn turn_started(&mut self, thread_id: &str, name: &str, out: &mut Output) {
        if self.ending.get(thread_id).is_some_and(|end| end.turn.id != name)
            && let Some(end) = self.ending.remove(thread_id)
        {
            // It is not waited for: the answer, when it comes, says what has to be put right.
            self.turn_ends(end, None, out);
        }
        if !self.is_main(thread_id) {
            if let Some(work) = self.subagents.start_work(thread_id, out) {
                work.begin_turn(name, out);
            }
            return;
        }
        if self.has_ended(name) {
            return;
        }
        if self.turn.is_none() {
            self.turn = Some(Turn::default());
            out.report(Report::TurnStarted { origin: Origin::Agent, name: None });
        }
        self.name_turn(name, out);
    }
}

fn is_of_turn(method: &str) -> bool {
    ["turn/", "item/", "serverRequest/", "error"].iter().any(|of_turn| method.starts_with(of_turn))
}

/// What may come of an item after its turn: a command that was left running prints and ends.
fn may_outlive_turn(method: &str) -> bool {
    // What an item is decides the rest.
    let is_item = matches!(method, "item/started" | "item/completed");
    !method.starts_with("item/") || is_item || method.starts_with("item/commandExecution/")
}
