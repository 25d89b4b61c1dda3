//! A session's events as a person reads them in a terminal. Pure: events in, text out; the time is given, not taken. The screen, the keyboard and
//! the daemon are not known here.
//!
//! What the agent says to the person goes to one channel, what it does to another, so that `turnloom run ... > file` keeps only the answer.

mod asks;
mod line;
mod page;
mod prose;
mod style;
#[cfg(test)]
mod tests;
mod text;
mod tools;
mod work;

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use turnloom_core::event::{
    Activity, Budget, BudgetState, Done, Envelope, Event, Failure, Outcome, Part, PolicyEffect, Status, Steer,
    SteerState, Usage,
};
use turnloom_core::id::{BlockId, MessageId, SubagentId, ToolUseId};
use turnloom_core::time::Timestamp;

pub use self::line::line;
use self::prose::Prose;
pub use self::style::{Color, DEFAULT_WIDTH, Ink, Look, Medium};
pub use self::text::{age, bytes, clean, count, cut, duration, number, one_line, width};
use self::tools::Tool;

/// Where a piece of text belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// What the agent says to the person.
    Answer,
    /// Everything around it.
    Activity,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub channel: Channel,
    pub text: String,
}

/// Folds events into text.
#[derive(Debug)]
pub struct Renderer {
    answer: Look,
    activity: Look,
    pieces: Vec<Piece>,
    open: Option<OpenBlock>,
    last: Section,
    answered: bool,
    /// Messages that the person has before their eyes already.
    seen: HashSet<MessageId>,
    turn_started: Option<Timestamp>,
    usage: Option<Usage>,
    doing: Option<String>,
    tools: HashMap<ToolUseId, Tool>,
    tool_order: Vec<ToolUseId>,
    subagents: HashMap<SubagentId, work::Subagent>,
    plan: Vec<turnloom_core::event::PlanStep>,
    /// Tools whose sub-agent tells everything there is to tell.
    delegated: HashSet<ToolUseId>,
    names: HashMap<String, String>,
    failed_with: Option<String>,
}

#[derive(Debug)]
struct OpenBlock {
    id: BlockId,
    channel: Channel,
    prose: Prose,
}

/// What was printed last, because different things have a blank line between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Nothing,
    Message,
    Text,
    Thinking,
    Lines,
    Box,
    End,
}

/// The margin of everything that is not the answer.
const MARGIN: &str = "  ";

impl Renderer {
    pub fn new(answer: Look, activity: Look) -> Self {
        Self {
            answer,
            activity,
            pieces: Vec::new(),
            open: None,
            last: Section::Nothing,
            answered: false,
            seen: HashSet::new(),
            turn_started: None,
            usage: None,
            doing: None,
            tools: HashMap::new(),
            tool_order: Vec::new(),
            subagents: HashMap::new(),
            plan: Vec::new(),
            delegated: HashSet::new(),
            names: HashMap::new(),
            failed_with: None,
        }
    }

    /// The person typed this and still sees it.
    pub fn saw(&mut self, message_id: MessageId) {
        self.seen.insert(message_id);
    }

    /// Takes an event and gives what is to be printed now.
    pub fn event(&mut self, envelope: &Envelope) -> Vec<Piece> {
        self.draw(envelope);
        std::mem::take(&mut self.pieces)
    }

    /// Whether the last line on the screen is not over, so that nothing may be drawn over it.
    pub fn is_mid_line(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.prose.is_mid_line())
    }

    /// What is being waited for, in one line, while nothing else happens.
    pub fn waiting(&self, now: Timestamp) -> Option<String> {
        let started = self.turn_started?;
        let room = self.activity.width.saturating_sub(6);
        if let Some(tool) = self.tool_order.last().and_then(|id| self.tools.get(id)) {
            return Some(tool.waiting(now, self.tool_order.len() - 1, room));
        }
        let elapsed = now.millis() - started.millis();
        let doing = self.doing.as_deref().unwrap_or("Working");
        Some(cut(&format!("{doing}  {}", whole_seconds(elapsed)), room))
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each type of event")]
    fn draw(&mut self, envelope: &Envelope) {
        let by = envelope.subagent_id.as_ref();
        match &envelope.event {
            Event::UserMessage(message) => {
                if !self.seen.contains(&message.message_id) {
                    self.message(&message.content);
                }
            }
            Event::TurnStarted(_) => {
                self.turn_started = Some(envelope.ts);
                (self.usage, self.failed_with, self.doing) = (None, None, None);
            }
            Event::Status(status) => self.status(status),
            Event::Steer(steer) => self.steer(steer),
            Event::Delta(delta) => self.text(by, &delta.block_id, &delta.text, delta.done),
            Event::Thinking(thinking) => {
                self.doing = Some("Thinking".to_owned());
                self.thinking(by, &thinking.block_id, &thinking.text, thinking.done == Some(true));
            }
            Event::Retracted(retracted) => {
                self.close();
                let reason = retracted.reason.as_deref().map(|reason| format!(": {}", one_line(reason)));
                self.note(by, Ink::Dim, "↶", &format!("Taken back{}", reason.unwrap_or_default()));
            }
            Event::ToolStart(start) => self.tool_started(by, start, envelope.ts),
            Event::ToolProgress(progress) => self.tool_progressed(progress),
            Event::ToolResult(result) => self.tool_ended(result, envelope.ts),
            Event::ToolDecided(decided) => {
                if decided.judged.effect == PolicyEffect::Deny {
                    self.detail(by, &format!("Denied by {}", decided.judged.rule), &one_line(&decided.judged.reason));
                }
            }
            Event::PermissionRequest(request) => self.permission(by, request),
            Event::PermissionResolved(resolved) => self.permission_resolved(by, resolved),
            Event::QuestionRequest(request) => self.question(by, request),
            Event::QuestionResolved(resolved) => self.question_resolved(by, resolved),
            Event::Interrupt(request) => self.interrupt(by, request),
            Event::InterruptResolved(resolved) => self.interrupt_resolved(by, resolved),
            Event::SubagentStarted(started) => self.subagent_started(started),
            Event::SubagentUpdated(updated) => self.subagent_updated(updated),
            Event::SubagentEnded(ended) => self.subagent_ended(ended),
            Event::BackgroundStarted(started) => self.background_started(by, started),
            Event::BackgroundEnded(ended) => self.background_ended(by, ended),
            Event::DelegationStarted(started) => self.delegation_started(by, started),
            Event::DelegationUpdated(updated) => self.delegation_updated(by, updated),
            Event::ComponentUpdate(update) => self.component(by, update),
            Event::ComponentRemove(removed) => {
                let name = self.named(&removed.component_id);
                self.note(by, Ink::Dim, "▪", &format!("Component {name} removed"));
            }
            Event::StateSnapshot(snapshot) => self.detail(by, "State", &snapshot.state.to_string()),
            Event::StateDelta(delta) => self.state_changed(by, &delta.patch),
            Event::PlanUpdated(plan) => self.plan_updated(by, plan),
            Event::DiffUpdated(diff) => self.diff_updated(by, diff),
            Event::ArtifactCreated(artifact) => self.artifact_created(by, artifact),
            Event::ArtifactUpdated(artifact) => {
                let name = self.named(&artifact.artifact_id);
                self.detail(by, &format!("Artifact {name}"), "changed");
            }
            Event::ArtifactVersion(version) => self.artifact_version(by, version),
            Event::ArtifactRemoved(removed) => {
                let name = self.named(&removed.artifact_id);
                self.detail(by, &format!("Artifact {name}"), "removed");
            }
            Event::EvidenceChanged(evidence) => {
                self.detail(by, &one_line(&evidence.title), &one_line(&evidence.status));
            }
            Event::CompactionStart(_) => self.doing = Some("Compacting".to_owned()),
            Event::CompactionEnd(end) => self.compacted(by, end),
            Event::Rollback(rollback) => {
                let turns = count(rollback.turn_ids.len(), "turn");
                self.note(by, Ink::Yellow, "↶", &format!("Took back {turns}"));
            }
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Budget(budget) => self.budget(by, budget),
            Event::ScheduleMissed(missed) => {
                let runs = count(missed.count as usize, "run");
                self.note(by, Ink::Yellow, "!", &format!("{runs} of {} missed", missed.schedule_id));
            }
            Event::Failure(failure) => self.failure(by, failure),
            Event::Done(done) => self.done(done, envelope.ts),
            Event::SessionEnded(ended) => {
                let message = ended.message.as_deref().map(|message| format!(": {}", one_line(message)));
                self.note(by, Ink::Dim, "■", &format!("The session ended{}", message.unwrap_or_default()));
            }
            Event::SessionReady(ready) if ready.resumed == Some(false) => {
                let reason = ready.reason.as_deref().map_or_else(|| "it did not say why".to_owned(), one_line);
                self.note(by, Ink::Yellow, "!", &format!("The agent does not remember the conversation: {reason}"));
            }
            Event::AgentUnparsed(unparsed) => {
                let what = format!("The agent said something unreadable: {}", one_line(&unparsed.error));
                self.note(by, Ink::Yellow, "!", &what);
            }
            Event::ModeChanged(changed) => self.note(by, Ink::Dim, "▪", &format!("Mode {}", one_line(&changed.mode))),
            Event::ModelChanged(changed) => {
                self.note(by, Ink::Dim, "▪", &format!("Model {}", one_line(&changed.model)));
            }
            // These change what a list or a page shows; in a transcript they would only stand in the way.
            Event::SessionReady(_)
            | Event::SessionUpdated(_)
            | Event::TurnResult(_)
            | Event::ComponentCallback(_)
            | Event::Forked(_)
            | Event::Delegated(_)
            | Event::QueueChanged(_)
            | Event::Unknown(_) => {}
        }
    }

    /// What the ask says is not said twice.
    fn budget(&mut self, by: Option<&SubagentId>, budget: &Budget) {
        let reason = budget.reason.as_deref().map(one_line).unwrap_or_default();
        let text = match budget.state {
            BudgetState::Warned => format!("Most of the budget is spent: {reason}"),
            BudgetState::Reached => format!("The budget is spent: {reason}"),
            BudgetState::Interrupted => format!("Interrupted, {reason}"),
            BudgetState::Unmeasured => reason,
            BudgetState::Paused | BudgetState::Raised | BudgetState::Stopped => return,
        };
        self.note(by, Ink::Yellow, "!", &text);
    }

    fn message(&mut self, content: &[Part]) {
        self.section(Section::Message);
        let mut lines = Vec::new();
        for part in content {
            match part {
                Part::Text { text } => lines.extend(clean(text).lines().map(str::to_owned)),
                Part::Image { media_type, .. } => lines.push(format!("[image, {}]", one_line(media_type))),
                Part::File { path } => lines.push(format!("[file {}]", one_line(path))),
            }
        }
        for (at, line) in lines.iter().enumerate() {
            let mark = if at == 0 { "›" } else { " " };
            let line = format!("{} {}", self.activity.paint(Ink::Cyan, mark), self.activity.paint(Ink::Bold, line));
            self.print(Channel::Activity, &format!("{line}\n"));
        }
    }

    fn text(&mut self, by: Option<&SubagentId>, block: &BlockId, text: &str, done: bool) {
        let channel = if by.is_some() { Channel::Activity } else { Channel::Answer };
        self.doing = None;
        self.stream(by, block, text, done, Stream { channel, section: Section::Text, ink: Ink::Plain, label: "" });
    }

    fn thinking(&mut self, by: Option<&SubagentId>, block: &BlockId, text: &str, done: bool) {
        let stream =
            Stream { channel: Channel::Activity, section: Section::Thinking, ink: Ink::Dim, label: "Thinking: " };
        self.stream(by, block, text, done, stream);
    }

    fn stream(&mut self, by: Option<&SubagentId>, block: &BlockId, text: &str, done: bool, stream: Stream) {
        let goes_on = self.open.as_ref().is_some_and(|open| open.id == *block);
        if !goes_on && text.is_empty() {
            return;
        }
        if !goes_on {
            // Among a sub-agent's lines its words are lines as well.
            self.section(if by.is_some() { Section::Lines } else { stream.section });
            let look = self.look(stream.channel);
            let (margin, margin_width) = match stream.channel {
                Channel::Answer => (String::new(), 0),
                Channel::Activity => (self.margin(by), self.margin_width(by)),
            };
            let mut prose = Prose::new(look, stream.ink, &margin, margin_width);
            let label = prose.push(stream.label);
            self.open = Some(OpenBlock { id: block.clone(), channel: stream.channel, prose });
            self.print(stream.channel, &label);
            self.answered |= stream.channel == Channel::Answer;
        }
        if let Some(open) = &mut self.open {
            let shown = open.prose.push(text);
            self.print(stream.channel, &shown);
        }
        if done {
            self.close();
        }
    }

    fn status(&mut self, status: &Status) {
        let word = match status.state {
            Activity::Accepted | Activity::Starting => "Starting",
            Activity::Thinking => "Thinking",
            Activity::Responding => "Responding",
            Activity::Tool => "Working",
            Activity::Waiting => "Waiting for an answer",
            Activity::Retrying => "Retrying",
            Activity::Compacting => "Compacting",
            Activity::Stopping => "Stopping",
        };
        let label = status.label.as_deref().map_or_else(|| word.to_owned(), one_line);
        if status.state == Activity::Retrying {
            self.note(None, Ink::Yellow, "↻", &label);
        }
        self.doing = Some(label);
    }

    fn steer(&mut self, steer: &Steer) {
        match steer.state {
            SteerState::Accepted => {
                if let Some(content) = &steer.content
                    && !self.seen.contains(&steer.message_id)
                {
                    self.message(content);
                }
            }
            SteerState::Delivered => {}
            SteerState::Rejected => self.note(None, Ink::Yellow, "!", "The agent did not take the message"),
            SteerState::Returned => self.note(None, Ink::Dim, "▪", "The message waits for the next turn"),
        }
    }

    fn failure(&mut self, by: Option<&SubagentId>, failure: &Failure) {
        self.note(by, Ink::Red, "✗", &one_line(&failure.message));
        if let Some(fix) = &failure.fix {
            self.line(by, &format!("  hint: {}", one_line(fix)), Ink::Plain);
        }
        self.failed_with = Some(failure.message.clone());
    }

    fn done(&mut self, done: &Done, at: Timestamp) {
        self.section(Section::End);
        let took = self.turn_started.map(|started| duration(at.millis() - started.millis())).unwrap_or_default();
        let (ink, mut text) = match done.outcome {
            Outcome::Completed => (Ink::Dim, format!("Done in {took}")),
            Outcome::Stopped => (Ink::Yellow, format!("Stopped after {took}")),
            Outcome::Interrupted => (Ink::Red, format!("Interrupted after {took}")),
            Outcome::Failed => (Ink::Red, format!("Failed after {took}")),
        };
        // What stands right above is not said again.
        if let Some(reason) = done.reason.as_deref().filter(|reason| self.failed_with.as_deref() != Some(reason)) {
            text.push_str(": ");
            text.push_str(&one_line(reason));
        }
        if let Some(usage) = &self.usage {
            let (input, output) = (number(usage.input_tokens), number(usage.output_tokens));
            let _ = write!(text, " · {input} tokens in, {output} out");
            if let Some(cost) = usage.cost_usd.filter(|cost| *cost > 0.0) {
                let _ = write!(text, " · ${cost:.2}");
            }
        }
        let line = self.activity.paint(ink, &text);
        self.print(Channel::Activity, &format!("{MARGIN}{line}\n"));
        self.turn_started = None;
        self.doing = None;
        self.tools.clear();
        self.tool_order.clear();
        self.plan.clear();
    }
}

/// How a stream of text is shown.
#[derive(Clone, Copy)]
struct Stream {
    channel: Channel,
    section: Section,
    ink: Ink,
    label: &'static str,
}

/// A time that moves only once a second, so that a line that is redrawn does not flicker.
fn whole_seconds(millis: i64) -> String {
    match millis / 1000 {
        0 => String::new(),
        seconds => duration(seconds * 1000).replace(".0 s", " s"),
    }
}
