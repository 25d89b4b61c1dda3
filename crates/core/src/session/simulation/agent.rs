//! A badly behaved agent: it sends what fits, what does not fit, the same thing twice, and nothing at all.

use serde_json::json;

use super::Dice;
use crate::event::{
    BackgroundEnded, BackgroundStarted, Bind, CompactionEnd, CompactionStart, ComponentRemove, ComponentStatus,
    ComponentUpdate, Delta, EndReason, Event, Failure, Interrupt, Judged, MergeMode, Origin, Outcome,
    PermissionRequest, Question, QuestionRequest, Retracted, StateDelta, StateSnapshot, SubagentEnded, SubagentStarted,
    Surface, Thinking, ToolResult, ToolStart, TurnStarted, Usage, WorkStatus,
};
use crate::id::{BackgroundId, BlockId, MessageId, SubagentId, ToolUseId};
use crate::policy::{Effect as Ruling, Expiry, Judgement, digest};
use crate::runtime::{AskRequest, HostCall, Order, ProposedCall, Ready, Report, StartFailure};
use crate::session::{Effect, Input};

/// What it takes to stop this agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopBehavior {
    Obedient,
    /// Exits only on SIGTERM.
    NeedsTerminate,
    /// Exits only on SIGKILL.
    NeedsKill,
}

#[derive(Debug)]
pub(super) struct FakeAgent {
    stop_behavior: StopBehavior,
    started: bool,
    ready: bool,
    in_turn: bool,
    ending: bool,
    asks: Vec<String>,
    steers: Vec<MessageId>,
    rollback: bool,
    compacting: bool,
    spoken: usize,
    used: u64,
}

impl FakeAgent {
    pub(super) fn new(dice: &mut Dice) -> Self {
        Self {
            stop_behavior: dice.pick([
                StopBehavior::Obedient,
                StopBehavior::Obedient,
                StopBehavior::NeedsTerminate,
                StopBehavior::NeedsKill,
            ]),
            started: false,
            ready: false,
            in_turn: false,
            ending: false,
            asks: Vec::new(),
            steers: Vec::new(),
            rollback: false,
            compacting: false,
            spoken: 0,
            used: 0,
        }
    }

    pub(super) fn receive(&mut self, effect: Effect, dice: &mut Dice) {
        match effect {
            Effect::Start(_) => *self = Self { started: true, ..Self::new(dice) },
            Effect::Terminate => self.ending |= self.stop_behavior != StopBehavior::NeedsKill,
            Effect::Kill => self.ending = true,
            Effect::Reply { .. } | Effect::StoreRule { .. } | Effect::Attach | Effect::Disconnect => {}
            Effect::Delegate(_) | Effect::TellChild { .. } | Effect::StopChildren(_) => {}
            Effect::Order(order) => match order {
                Order::Prompt { .. } => (self.in_turn, self.used) = (true, 0),
                Order::Compact { .. } => (self.in_turn, self.compacting) = (true, true),
                Order::Steer { message, .. } => self.steers.push(message.message_id),
                Order::Interrupt { .. } => self.in_turn &= self.stop_behavior != StopBehavior::Obedient,
                Order::Answer { key, .. } => self.asks.retain(|known| *known != key),
                Order::HostResult { key, .. } => self.asks.retain(|known| *known != key),
                Order::Rollback(_) => self.rollback = true,
                Order::Close { .. } => self.ending |= self.stop_behavior == StopBehavior::Obedient,
                Order::SetModel { .. }
                | Order::SetMode { .. }
                | Order::StopBackground { .. }
                | Order::Configure { .. }
                | Order::State { .. }
                | Order::Verdict { .. }
                | Order::HostTools(_)
                | Order::Callback(_) => {}
            },
        }
    }

    pub(super) fn speak(&mut self, dice: &mut Dice) -> Option<Input> {
        if !self.started {
            return None;
        }
        if self.ending || dice.one_in(80) {
            *self = Self::new(dice);
            return Some(Input::Exited { exit_code: Some(1), description: "it left".into() });
        }
        if !self.ready {
            if dice.one_in(12) {
                *self = Self::new(dice);
                return Some(Input::StartFailed(StartFailure { message: "no".into(), code: "no".into(), fix: None }));
            }
            self.ready = !dice.one_in(5);
            let ready = Ready {
                provider_session_id: Some(format!("conversation {}", dice.below(3))),
                resumed: dice.one_in(2),
                ..Ready::default()
            };
            return self.ready.then_some(Input::Report(Report::Ready(Box::new(ready))));
        }
        let report = self.report(dice)?;
        // Whatever is said about a call may be judged; what is about none is taken as it is.
        Some(if dice.one_in(2) { Input::Judged { report, judgement: judgement(dice) } } else { Input::Report(report) })
    }

    fn report(&mut self, dice: &mut Dice) -> Option<Report> {
        self.spoken += 1;
        if self.rollback {
            self.rollback = false;
            let refused = Report::RollbackRefused { reason: "no".into() };
            return Some(if dice.one_in(3) {
                refused
            } else {
                Report::RolledBack { files_restored: false, branched: dice.one_in(3) }
            });
        }
        if let Some(message_id) = self.steers.pop().filter(|_| dice.one_in(2)) {
            let rejected = Report::SteerRejected { message_id: message_id.clone(), reason: "no".into() };
            return Some(if dice.one_in(4) { rejected } else { Report::SteerDelivered { message_id } });
        }
        if self.in_turn && dice.one_in(6) {
            self.in_turn = false;
            let outcome = dice.pick([Outcome::Completed, Outcome::Completed, Outcome::Failed, Outcome::Stopped]);
            let failure = (outcome == Outcome::Failed).then(|| Failure { code: "model".into(), ..Failure::default() });
            return Some(Report::TurnEnded { outcome, reason: None, failure });
        }
        if !self.in_turn && dice.one_in(12) {
            self.in_turn = true;
            return Some(Report::TurnStarted { origin: Origin::Agent, name: None });
        }
        if dice.one_in(20) {
            let provider_session_id = format!("conversation {}", dice.below(3));
            let renamed = Report::Renamed { provider_session_id, reason: "cleared".into() };
            return Some(if dice.one_in(2) { Report::Anchor("here".into()) } else { renamed });
        }
        if dice.one_in(40) {
            return Some(Report::SessionEnded { reason: EndReason::Completed, message: None });
        }
        // Mostly in a turn, and now and then where nothing may be said.
        if self.in_turn || dice.one_in(8) { Some(self.work(dice)) } else { None }
    }

    fn work(&mut self, dice: &mut Dice) -> Report {
        // Few names, so that they collide.
        let tool_use_id = ToolUseId::trusted(format!("t{}", dice.below(6)));
        let block_id = BlockId::trusted(format!("b{}-{}", self.spoken / 10, dice.below(3)));
        let sub = |n: usize| SubagentId::trusted(format!("s{n}"));
        // As agents do it, a name is not given again once its turn was taken back.
        let background_id = BackgroundId::trusted(format!("bg{}-{}", self.spoken / 10, dice.below(2)));
        let subagent_id = dice.one_in(4).then(|| sub(dice.below(3)));
        if dice.one_in(8) {
            self.used += dice.below(300) as u64;
            let usage = Usage { input_tokens: self.used, ..Usage::default() };
            return if dice.one_in(2) { Report::Used(Box::new(usage)) } else { usage.into() };
        }
        let event: Event = match dice.below(21) {
            0..=2 => Delta { block_id, text: "word ".repeat(dice.below(30)), done: dice.one_in(4), interrupted: false }
                .into(),
            3 => Thinking { block_id, text: "hm".into(), done: Some(dice.one_in(3)), interrupted: false }.into(),
            4 => Retracted { block_id, reason: None }.into(),
            5 | 6 => {
                // Some tools have a component of their own, some share one.
                let tool = dice.pick(["Bash", "get_weather", "mcp__maps__find"]).to_owned();
                let input = Some(json!({ "city": "x".repeat(dice.below(60)) }));
                ToolStart { tool_use_id, tool, input, command: Some("ls".into()), ..ToolStart::default() }.into()
            }
            7 | 8 => {
                let output = match dice.below(3) {
                    0 => json!({ "temperature": dice.below(40), "text": "o".repeat(dice.below(300)) }).to_string(),
                    1 => json!(["a", "b"]).to_string(),
                    _ => "o".repeat(dice.below(200)),
                };
                let structured = dice.one_in(5).then(|| json!({ "humidity": dice.below(100) }));
                ToolResult { tool_use_id, output, structured, is_error: dice.one_in(5), ..ToolResult::default() }.into()
            }
            9 => SubagentStarted {
                subagent_id: sub(dice.below(3)),
                name: "helper".into(),
                background: Some(dice.one_in(2)),
                parent_tool_use_id: None,
                parent_subagent_id: dice.one_in(3).then(|| sub(dice.below(3))),
            }
            .into(),
            10 => {
                SubagentEnded { subagent_id: sub(dice.below(3)), status: WorkStatus::Completed, ..Default::default() }
                    .into()
            }
            11 => BackgroundStarted {
                background_id,
                tool_use_id: dice.one_in(2).then_some(tool_use_id),
                label: "sleep".into(),
                ..Default::default()
            }
            .into(),
            12 => BackgroundEnded { background_id, ..BackgroundEnded::default() }.into(),
            13 if self.compacting || dice.one_in(2) => {
                self.compacting = !self.compacting;
                if self.compacting { CompactionStart::default().into() } else { CompactionEnd::default().into() }
            }
            14 => TurnStarted::default().into(), // not for an agent to say
            15 => StateSnapshot { state: json!({ "k0": dice.below(3) }) }.into(),
            16 => {
                let patch = json!([{ "op": "replace", "path": format!("/k{}", dice.below(3)), "value": 7 }]);
                StateDelta { patch, by: "agent".into(), ..StateDelta::default() }.into()
            }
            17 => {
                let component_id = format!("c{}", dice.below(3));
                if dice.one_in(3) {
                    ComponentRemove { component_id, ..ComponentRemove::default() }.into()
                } else {
                    component_update(dice, component_id)
                }
            }
            18 | 19 => return self.host_call(dice, tool_use_id, subagent_id),
            _ => return self.ask(dice, subagent_id),
        };
        Report::Fact { subagent_id, event }
    }

    /// A call of one of the session's tools: some that fit, and some that do not.
    fn host_call(&mut self, dice: &mut Dice, call: ToolUseId, subagent_id: Option<SubagentId>) -> Report {
        let key = format!("h{}", self.spoken);
        let id = format!("c{}", dice.below(3));
        let surface = dice.pick(["chat", "sidebar", "overlay", "nowhere"]);
        let path = format!("/k{}", dice.below(3));
        let (name, input) = match dice.below(12) {
            9 | 10 => ("delegate", json!({ "runtime": "other", "prompt": id, "wait": dice.one_in(2) })),
            11 => ("delegate_status", json!({})),
            0 => ("render_component", json!({ "name": "progress", "component_id": id, "surface": surface })),
            1 => ("render_component", json!({ "name": "chart", "props": { "type": "bar" }, "status": "loading" })),
            2 => ("update_component", json!({ "component_id": id, "mode": "append", "props": { "label": "more" } })),
            3 => ("remove_component", json!({ "component_id": id })),
            4 => ("ask_user", json!({ "question": "Which?" })),
            5 => ("wait_for_user", json!({ "name": "approval", "props": { "action": "go" }, "surface": surface })),
            6 => ("wait_for_user", json!({ "component_id": id, "actions": ["press"] })),
            7 => ("patch_state", json!({ "patch": [{ "op": "add", "path": path, "value": dice.below(3) }] })),
            _ => {
                ("publish_artifact", json!({ "title": "t", "content": "x".repeat(dice.below(200)), "artifact_id": id }))
            }
        };
        if matches!(name, "ask_user" | "wait_for_user") {
            self.asks.push(key.clone());
        }
        // Who delegates is always known by its call.
        let tool_use_id = (dice.one_in(2) || name == "delegate").then_some(call);
        let call = HostCall { key, name: name.to_owned(), input, tool_use_id, subagent_id, file: None };
        Report::HostCall(Box::new(call))
    }

    fn ask(&mut self, dice: &mut Dice, subagent_id: Option<SubagentId>) -> Report {
        if let Some(key) = self.asks.pop().filter(|_| dice.one_in(3)) {
            return Report::AskWithdrawn { key, reason: "never mind".into() };
        }
        let key = format!("k{}", self.spoken);
        self.asks.push(key.clone());
        if dice.one_in(3) {
            let (tool_use_id, tool) = (ToolUseId::trusted(format!("t{}", dice.below(6))), "Bash".into());
            let call = ProposedCall { tool_use_id, tool, input: json!({}), directory: None };
            return Report::Propose { key, subagent_id, call };
        }
        let request = match dice.below(3) {
            0 => AskRequest::Permission(PermissionRequest {
                tool_name: "Bash".into(),
                tool_input: json!({}),
                ..Default::default()
            }),
            1 => AskRequest::Question(QuestionRequest {
                questions: vec![Question { prompt: "?".into(), free_text: true, ..Question::default() }],
                ..QuestionRequest::default()
            }),
            _ => AskRequest::Interrupt(Interrupt {
                component_name: "Form".into(),
                // Now and then it is a client's tool, whose result may come from anywhere.
                tool_use_id: dice.one_in(2).then(|| ToolUseId::trusted(format!("t{}", dice.below(6)))),
                surface: dice.pick([Surface::Chat, Surface::Overlay]),
                component_id: dice.one_in(3).then(|| format!("c{}", dice.below(3))),
                actions: dice.one_in(2).then(|| vec!["press".to_owned()]),
                ..Interrupt::default()
            }),
        };
        Report::Ask { key, subagent_id, request }
    }
}

/// Any change of a component, some of which no session can take.
fn component_update(dice: &mut Dice, component_id: String) -> Event {
    if dice.one_in(8) {
        // Only what is different: the rest is what stands.
        let data = json!({ "component_id": component_id, "mode": "append", "props": { "text": "more" } });
        return Event::from_value("component_update", &data);
    }
    let mode =
        dice.pick([MergeMode::Replace, MergeMode::Shallow, MergeMode::Deep, MergeMode::Append, MergeMode::Patch]);
    let patch = json!([{ "op": "replace", "path": "/text", "value": "patched" }]);
    let pointer = format!("/k{}", dice.below(3));
    let bind = dice.one_in(4).then(|| Box::new(Bind { pointer, ..Bind::default() }));
    ComponentUpdate {
        component_id,
        name: dice.pick(["chart", "table", ""]).to_owned(),
        surface: dice.pick([Surface::Chat, Surface::Chat, Surface::Sidebar, Surface::Canvas]),
        props: json!({ "text": "t", "data": [dice.below(3)] }),
        mode: dice.one_in(2).then_some(mode),
        patch: (mode == MergeMode::Patch).then_some(patch),
        status: dice.pick([None, None, Some(ComponentStatus::Loading), Some(ComponentStatus::Error)]),
        bind,
        ..ComponentUpdate::default()
    }
    .into()
}

fn judgement(dice: &mut Dice) -> Judgement {
    let effect = dice.pick([None, Some(Ruling::Allow), Some(Ruling::Ask), Some(Ruling::Deny)]);
    let opaque = dice.one_in(4);
    let judged = Judged { rule: "user/rule".into(), opaque, input_sha256: digest(&json!({})), ..Judged::default() };
    let expiry = dice.one_in(2).then(|| Expiry { seconds: 1, allows: dice.one_in(2) });
    Judgement { effect, judged, expiry, offers: Vec::new() }
}
