//! Handles each notification of the server, by its method.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::items::{PARAGRAPH, raw};
use super::protocol::CodexProtocol;
use super::router::{PROPOSAL_GONE, UNREADABLE};
use super::wire::{
    DiffNotification, ErrorNotification, Interaction, Item, ItemNotification, NameNotification, Piece,
    PlanNotification, ProgressNotification, ProposalGone, Rerouted, Resolved, Review, ReviewNotification,
    ServerNotification, SettingsNotification, StatusNotification, TargetIds, TurnNotification, UnreadableNotification,
    UsageNotification, WarningNotification,
};
use super::work::ThreadWork;
use super::{changes, failure, orders};
use crate::event::{
    AgentUnparsed, EndReason, EvidenceChanged, ModelChanged, PlanStep, PlanUpdated, SessionUpdated, StepStatus,
    WorkStatus,
};
use crate::id::MessageId;
use crate::policy;
use crate::runtime::{Output, Report, TextKind};

/// How many different warnings are shown.
const MAX_WARNINGS: usize = 64;

impl CodexProtocol {
    pub(super) fn notified(&mut self, method: &str, params: &str, out: &mut Output) -> Result<(), String> {
        match method {
            "item/agentMessage/delta" | "item/plan/delta" => self.piece(params, TextKind::Text, out),
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" | "item/reasoning/summaryPartAdded" => {
                self.thought(method, params, out)
            }
            "item/commandExecution/outputDelta" | "item/fileChange/outputDelta" => {
                let piece: Piece = read(params)?;
                if let Some(work) = self.start_work(&piece.thread_id, out) {
                    work.printed(&piece.item_id, piece.delta, out);
                }
                Ok(())
            }
            "item/started" => self.item(params, Stage::Started, out),
            "item/completed" => self.item(params, Stage::Completed, out),
            "turn/started" => {
                let notice: TurnNotification = read(params)?;
                self.turn_started(&notice.thread_id, &notice.turn.id, out);
                Ok(())
            }
            "turn/completed" => {
                self.turn_completed(read(params)?, out);
                Ok(())
            }
            "thread/tokenUsage/updated" => {
                let notice: UsageNotification = read(params)?;
                if let Some(work) = self.work(&notice.thread_id) {
                    let in_turn = work.turn.as_deref() == Some(&notice.turn_id);
                    work.usage_meter.update(&notice.token_usage, in_turn);
                }
                let so_far = self.main.usage_meter.usage_so_far(self.subagents.used());
                if let Some(usage) = so_far.filter(|_| self.turn.is_some()) {
                    out.report(Report::Used(Box::new(usage)));
                }
                Ok(())
            }
            "serverRequest/resolved" => {
                let resolved: Resolved = read(params)?;
                self.resolved(&resolved, out);
                Ok(())
            }
            "error" => {
                self.error_reported(read(params)?, out);
                Ok(())
            }
            _ => self.notified_of_work(method, params, out),
        }
    }

    fn notified_of_work(&mut self, method: &str, params: &str, out: &mut Output) -> Result<(), String> {
        match method {
            "turn/diff/updated" => {
                let notice: DiffNotification = read(params)?;
                if let Some(work) = self.start_work(&notice.thread_id, out)
                    && work.diff != notice.diff
                {
                    let event = changes::of_turn(&notice.diff);
                    work.diff = notice.diff;
                    work.say(event, out);
                }
            }
            "turn/plan/updated" => {
                let notice: PlanNotification = read(params)?;
                let status = |word: &str| match word {
                    "completed" => StepStatus::Done,
                    "inProgress" | "in_progress" => StepStatus::Running,
                    _ => StepStatus::Pending,
                };
                let steps =
                    notice.plan.into_iter().map(|step| PlanStep { status: status(&step.status), text: step.step });
                let plan = PlanUpdated { steps: steps.collect(), explanation: notice.explanation };
                if let Some(work) = self.start_work(&notice.thread_id, out) {
                    work.close_waiting_block(out);
                    work.say(plan, out);
                }
            }
            "item/commandExecution/terminalInteraction" => {
                let notice: Interaction = read(params)?;
                if let Some(work) = self.start_work(&notice.thread_id, out) {
                    work.progressed(&notice.item_id, &format!("> {}", notice.stdin), out);
                }
            }
            "item/mcpToolCall/progress" => {
                let notice: ProgressNotification = read(params)?;
                if let Some(work) = self.start_work(&notice.thread_id, out) {
                    work.progressed(&notice.item_id, &notice.message, out);
                }
            }
            "rawResponseItem/completed" => self.raw_item(&read(params)?, out),
            "item/autoApprovalReview/completed" => self.reviewed(&read(params)?, out),
            _ => return self.notified_of_thread(method, params, out),
        }
        Ok(())
    }

    fn notified_of_thread(&mut self, method: &str, params: &str, out: &mut Output) -> Result<(), String> {
        match method {
            "thread/status/changed" => {
                let notice: StatusNotification = read(params)?;
                if notice.status.kind == "notLoaded" && self.subagents.is_open(&notice.thread_id) {
                    self.end_work(&notice.thread_id, "interrupted", out);
                    self.subagents.ended(&notice.thread_id, WorkStatus::Interrupted, out);
                }
            }
            "thread/name/updated" => {
                let notice: NameNotification = read(params)?;
                if self.is_main(&notice.thread_id)
                    && let Some(title) = notice.thread_name
                {
                    let by = "codex".to_owned();
                    out.report(SessionUpdated { title: Some(title), by, ..SessionUpdated::default() });
                }
            }
            "thread/settings/updated" => {
                let notice: SettingsNotification = read(params)?;
                if self.is_main(&notice.thread_id)
                    && let Some(model) = notice.thread_settings.model
                {
                    self.model_reported(model, out);
                }
            }
            "model/rerouted" => {
                let notice: Rerouted = read(params)?;
                if self.is_main(&notice.thread_id) {
                    self.model_reported(notice.to_model, out);
                }
            }
            UNREADABLE => {
                let UnreadableNotification { error, raw, size, sha256 } = read(params)?;
                let location = "codex/stdout".to_owned();
                out.report(AgentUnparsed { location, error, raw, size: Some(size), sha256 });
            }
            "hook/completed" => self.hook_ended(&read(params)?, out),
            PROPOSAL_GONE => {
                let ProposalGone { proposal } = read(params)?;
                if let Ok(id) = serde_json::from_value(proposal) {
                    self.proposal_gone(&id, out);
                }
            }
            "warning" => {
                let notice: WarningNotification = read(params)?;
                self.warn(notice.message, out);
            }
            "mcpServer/startupStatus/updated" => {
                let notice: ServerNotification = read(params)?;
                if notice.status == "failed" {
                    let why = notice.error.or(notice.failure_reason).unwrap_or_default();
                    self.warn(format!("the MCP server {} did not start: {why}", notice.name), out);
                }
            }
            "thread/closed" | "thread/deleted" => {
                let about: TargetIds = read(params)?;
                if self.thread.is_some() && self.thread == about.thread_id {
                    let message = Some(format!("{method}: Codex does not have the conversation open any more"));
                    let reason = if method == "thread/deleted" { EndReason::Terminated } else { EndReason::Completed };
                    out.report(Report::SessionEnded { reason, message });
                }
            }
            _ => return Err("a notification that is not known".to_owned()),
        }
        Ok(())
    }

    fn model_reported(&mut self, model: String, out: &mut Output) {
        // Of a command that it has not heard yet, it cannot speak.
        if self.model.as_ref() != Some(&model) && !self.settings.has_unsent_model() {
            out.report(ModelChanged { model: model.clone(), by: Some("codex".to_owned()) });
            self.model = Some(model);
        }
    }

    /// Once per text: Codex repeats some of them with every turn.
    pub(super) fn warn(&mut self, message: String, out: &mut Output) {
        if self.warned.len() < MAX_WARNINGS && !self.warned.contains(&message) {
            out.report(orders::warning(self.warned.len() + 1, &message));
            self.warned.push(message);
        }
    }

    fn reviewed(&mut self, notice: &ReviewNotification, out: &mut Output) {
        let what = notice.action.command.as_deref().map(policy::without_shell);
        let tool_use_id = self.work(&notice.thread_id).and_then(|work| work.tool_id(notice.target_item_id.as_deref()?));
        let Review { status, risk_level, rationale } = &notice.review;
        let evidence = EvidenceChanged {
            evidence_id: notice.review_id.clone(),
            kind: "approval_review".to_owned(),
            title: format!("Automatic review of {}", what.as_deref().unwrap_or(&notice.action.kind)),
            status: status.clone(),
            detail: Some(json!({ "risk": risk_level, "rationale": rationale, "tool_use_id": tool_use_id })),
            ..EvidenceChanged::default()
        };
        if let Some(work) = self.start_work(&notice.thread_id, out) {
            work.say(evidence, out);
        }
    }

    fn piece(&mut self, params: &str, kind: TextKind, out: &mut Output) -> Result<(), String> {
        let piece: Piece = read(params)?;
        if let Some(work) = self.start_work(&piece.thread_id, out)
            && !work.has_finished(&piece.item_id)
        {
            work.piece(&piece.item_id, kind, piece.delta, out);
        }
        Ok(())
    }

    fn thought(&mut self, method: &str, params: &str, out: &mut Output) -> Result<(), String> {
        let piece: Piece = read(params)?;
        let Some(work) = self.start_work(&piece.thread_id, out).filter(|work| !work.has_finished(&piece.item_id))
        else {
            return Ok(());
        };
        match method {
            "item/reasoning/textDelta" => {
                let item_id = raw(&piece.item_id);
                if work.next_part(&item_id, piece.content_index) {
                    work.piece(&item_id, TextKind::Thinking, PARAGRAPH.to_owned(), out);
                }
                work.piece(&item_id, TextKind::Thinking, piece.delta, out);
            }
            "item/reasoning/summaryPartAdded" if piece.summary_index == 0 => {}
            "item/reasoning/summaryPartAdded" => {
                work.piece(&piece.item_id, TextKind::Thinking, PARAGRAPH.to_owned(), out);
            }
            _ => work.piece(&piece.item_id, TextKind::Thinking, piece.delta, out),
        }
        Ok(())
    }

    fn error_reported(&mut self, notice: ErrorNotification, out: &mut Output) {
        if notice.will_retry {
            if let Some(work) = self.work(&notice.thread_id) {
                work.retract_open("the connection to the model was lost; Codex tries again", None, out);
            }
            if self.is_main(&notice.thread_id) && self.turn.is_some() {
                out.report(failure::retrying(&notice.error));
            }
        } else if self.is_main(&notice.thread_id) && self.turn.is_some() {
            self.failed = Some(notice.error);
        } else if self.is_main(&notice.thread_id) {
            // No turn fails by it.
            self.warn(notice.error.message, out);
        }
    }

    // ---- items ----

    fn item(&mut self, params: &str, stage: Stage, out: &mut Output) -> Result<(), String> {
        let notice: ItemNotification = read(params)?;
        let id = notice.item.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let item: Item = serde_json::from_value(notice.item).map_err(|error| error.to_string())?;
        let over = self.is_main(&notice.thread_id) && self.has_ended(&notice.turn_id);
        // A sub-agent may end at any time, and that is told in the turn that began it.
        if over && stage == Stage::Started && !matches!(item, Item::SubAgentActivity { .. }) {
            return Err("said after the end of its turn".to_owned());
        }
        match &item {
            Item::UserMessage { client_id, .. } => {
                if stage == Stage::Started && self.is_main(&notice.thread_id) {
                    // A message that comes while another one is written cuts it off.
                    self.main.retract_open("a new message came in", Some(TextKind::Text), out);
                    if let Some(id) = client_id {
                        out.report(Report::SteerDelivered { message_id: MessageId::trusted(id.as_str()) });
                    }
                }
                return Ok(());
            }
            Item::SubAgentActivity { kind, agent_thread_id, agent_path } => {
                if !self.subagents.knows(agent_thread_id) && !agent_thread_id.is_empty() {
                    let name = agent_path.rsplit('/').next().map(str::to_owned);
                    self.adopt(agent_thread_id, name, Some(&notice.thread_id), out);
                }
                if kind == "completed" || kind == "interrupted" {
                    let completed = kind == "completed";
                    let status = if completed { WorkStatus::Completed } else { WorkStatus::Interrupted };
                    self.subagents.ended(agent_thread_id, status, out);
                }
                return Ok(());
            }
            Item::CollabAgentToolCall(call) if call.tool == "spawnAgent" => {
                if let Some(id) = self.work(&notice.thread_id).and_then(|work| work.tool_id(&call.id)) {
                    call.receiver_thread_ids.iter().for_each(|child| self.subagents.spawned(child, id.clone()));
                }
            }
            _ => {}
        }
        let joined = self.turn.as_ref().is_some_and(|turn| turn.joined) && !matches!(item, Item::CommandExecution(_));
        if self.is_main(&notice.thread_id) && (stage == Stage::Started || joined) {
            self.name_turn(&notice.turn_id, out);
        }
        let Some(work) = self.work(&notice.thread_id) else { return Ok(()) };
        let late = stage == Stage::Completed && work.is_late(&notice.turn_id, &item);
        if stage == Stage::Completed {
            let in_background = work.background.contains_key(&(notice.turn_id.clone(), id.clone()));
            if work.was_settled(&notice.turn_id, &id) {
                return Ok(());
            }
            if over && !in_background {
                return Err("said after the end of its turn".to_owned());
            }
            if !in_background && !work.item_ended(&id) {
                return Ok(());
            }
        } else {
            work.item_started(&id);
        }
        let work = if late { self.work(&notice.thread_id) } else { self.start_work(&notice.thread_id, out) };
        let Some(work) = work else { return Ok(()) };
        match stage {
            Stage::Started => work.started(&item, out),
            Stage::Completed => work.completed(&item, &notice.turn_id, out),
        }
        if stage == Stage::Started {
            match &item {
                // What somebody types at a shell of Codex's own is no call.
                Item::CommandExecution(command) if command.source != "userShell" => {
                    self.check_passage(&notice.thread_id, &id, "a command", out);
                }
                Item::FileChange { .. } => self.check_passage(&notice.thread_id, &id, "a change of files", out),
                Item::McpToolCall { .. } => self.check_passage(&notice.thread_id, &id, "a tool of an MCP server", out),
                _ => {}
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Started,
    Completed,
}

fn item_id(item: &Item) -> &str {
    match item {
        Item::CommandExecution(command) => &command.id,
        Item::FileChange { id, .. } | Item::McpToolCall { id, .. } | Item::DynamicToolCall { id, .. } => id,
        _ => "",
    }
}

impl ThreadWork {
    /// Whether an item ends after the turn it belongs to.
    fn is_late(&self, turn_id: &str, item: &Item) -> bool {
        !self.tools.contains_key(item_id(item)) && self.turn.as_deref() != Some(turn_id)
    }
}

fn read<T: DeserializeOwned>(params: &str) -> Result<T, String> {
    serde_json::from_str(params).map_err(|error| error.to_string())
}
