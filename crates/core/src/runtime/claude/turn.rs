//! When a turn begins and ends. The program's turns are not the session's: it folds messages into a running turn, answers several with one result,
//! and begins turns by itself. What counts is which messages it has begun with.

use std::collections::{BTreeMap, HashMap};

use super::failure::{self, ApiError};
use super::wire::{ApiUsage, ModelUsage, RateLimit, TurnResult};
use crate::event::{CompactionTrigger, Origin, Outcome, Usage};
use crate::id::MessageId;
use crate::runtime::{Output, Report};

#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The session has a turn that the agent works on, or will.
    open: bool,
    /// The program works.
    running: bool,
    /// It says of each message when it begins with it. An older one does not.
    reports_lifecycle: bool,
    /// Messages of this turn, and those of them that the program has not begun with.
    ours: Vec<String>,
    unstarted: Vec<String>,
    /// Messages for the running turn that it has not taken in.
    steers: Vec<(String, MessageId)>,
    /// Steers of a turn that is over: the program has them, and the session will send them again.
    left_over: HashMap<String, LeftOver>,
    /// The agent began this turn by itself.
    unasked: bool,
    /// The model would not answer.
    refused: bool,
    /// A person wanted a compaction that did not work; why.
    compaction_failure: Option<String>,
    /// Where the conversation stands. A turn that the program never began with leaves it where it was.
    anchor: Option<String>,
    api_error: Option<ApiError>,
    limit: Option<RateLimit>,
    context_used: Option<u64>,
    /// The bill so far, where it is known.
    billed: Option<f64>,
    meter: Meter,
}

/// What the session's turn has used so far: the results that it has had, and the requests since, each by its name.
#[derive(Debug, Default)]
struct Meter {
    had: Usage,
    requests: BTreeMap<String, ApiUsage>,
}

impl Meter {
    fn so_far(&self) -> Usage {
        let mut usage = self.had.clone();
        for request in self.requests.values() {
            usage.input_tokens += request.context() - request.output_tokens;
            usage.output_tokens += request.output_tokens;
            let cached = usage.cached_tokens.unwrap_or(0) + request.cache_read_input_tokens;
            let written = usage.cache_write_tokens.unwrap_or(0) + request.cache_creation_input_tokens;
            (usage.cached_tokens, usage.cache_write_tokens) = (Some(cached), Some(written));
        }
        // What these cost is known when there is a result.
        if !self.requests.is_empty() {
            usage.cost_usd = None;
        }
        usage
    }

    /// A result says what everything since the one before has used.
    fn add(&mut self, result: &Usage) -> Usage {
        let sum = |a: Option<u64>, b: Option<u64>| a.map_or(b, |a| Some(a + b.unwrap_or(0)));
        let had = std::mem::take(&mut self.had);
        self.requests.clear();
        self.had = Usage {
            input_tokens: had.input_tokens + result.input_tokens,
            output_tokens: had.output_tokens + result.output_tokens,
            cached_tokens: sum(had.cached_tokens, result.cached_tokens),
            cache_write_tokens: sum(had.cache_write_tokens, result.cache_write_tokens),
            reasoning_tokens: sum(had.reasoning_tokens, result.reasoning_tokens),
            cost_usd: had.cost_usd.map_or(result.cost_usd, |before| result.cost_usd.map(|cost| before + cost)),
            ..result.clone()
        };
        self.had.clone()
    }
}

/// Requests to the model of one turn that are told apart.
const MAX_REQUESTS: usize = 4_096;

/// How far the program is with a message that was left over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOver {
    Queued,
    Started,
    Done,
}

impl Turn {
    /// `fresh`: the conversation is new, so nothing was billed before.
    pub(super) fn new(fresh: bool) -> Self {
        Self { billed: fresh.then_some(0.0), ..Self::default() }
    }

    /// The session begins a turn with this message. Whether it has to be written: the program may have it already.
    pub(super) fn prompt(&mut self, uuid: &str) -> bool {
        self.ours = vec![uuid.to_owned()];
        self.unasked = false;
        match self.left_over.remove(uuid) {
            Some(LeftOver::Done) => return false,
            Some(LeftOver::Started) => {}
            Some(LeftOver::Queued) => self.unstarted.push(uuid.to_owned()),
            None => {
                self.unstarted.push(uuid.to_owned());
                self.open = true;
                return true;
            }
        }
        self.open = true;
        false
    }

    pub(super) fn steer(&mut self, uuid: String, message_id: MessageId) {
        self.steers.push((uuid, message_id));
    }

    /// Whether the agent began the turn by itself.
    pub(super) fn began_by_itself(&self) -> bool {
        self.unasked
    }

    /// The model would not answer.
    pub(super) fn refused(&mut self) {
        self.refused = true;
    }

    /// One that the agent wanted itself is no failure of the turn: it goes on without.
    pub(super) fn compaction_failed(&mut self, trigger: CompactionTrigger, why: Option<&str>) {
        if trigger == CompactionTrigger::Manual {
            self.compaction_failure = Some(why.unwrap_or("it did not say why").to_owned());
        }
    }

    /// Whether there is something to interrupt.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn lifecycle(&mut self, uuid: &str, state: &str, out: &mut Output) {
        self.reports_lifecycle = true;
        match state {
            "started" => {
                self.begin(out);
                self.taken_in(uuid, out);
            }
            "completed" | "cancelled" => self.settled(uuid, state == "completed", out),
            _ => {}
        }
    }

    /// The program took this message in.
    pub(super) fn taken_in(&mut self, uuid: &str, out: &mut Output) {
        if let Some(at) = self.unstarted.iter().position(|known| known == uuid) {
            self.unstarted.remove(at);
            self.move_anchor(uuid);
        }
        if let Some(at) = self.steers.iter().position(|(known, _)| known == uuid) {
            let (_, message_id) = self.steers.remove(at);
            out.report(Report::SteerDelivered { message_id });
        }
        if let Some(left_over) = self.left_over.get_mut(uuid) {
            *left_over = LeftOver::Started;
        }
    }

    /// The program is done with a message. If no turn of it runs, it did nothing about it.
    pub(super) fn settled(&mut self, uuid: &str, answered: bool, out: &mut Output) {
        self.steers.retain(|(known, _)| known != uuid);
        self.unstarted.retain(|known| known != uuid);
        if self.open && !self.running && self.ours.iter().any(|known| known == uuid) {
            let (outcome, reason) = if answered {
                self.move_anchor(uuid);
                (Outcome::Completed, "the agent had answered this message before")
            } else {
                (Outcome::Interrupted, "the agent was interrupted before it began")
            };
            self.end(outcome, Some(reason.to_owned()), None, out);
        }
    }

    /// A turn of the program begins.
    pub(super) fn init(&mut self, out: &mut Output) {
        self.begin(out);
        if !self.reports_lifecycle {
            self.anchor = self.unstarted.pop().or(self.anchor.take());
            self.unstarted.clear();
        }
    }

    fn begin(&mut self, out: &mut Output) {
        self.running = true;
        if !self.open {
            (self.open, self.unasked) = (true, true);
            out.report(Report::TurnStarted { origin: Origin::Agent, name: None });
        }
    }

    /// The conversation ended here before this process.
    pub(super) fn set_anchor(&mut self, entry: Option<String>) {
        self.anchor = entry;
    }

    /// The conversation has this entry now.
    pub(super) fn move_anchor(&mut self, entry: &str) {
        self.anchor = Some(entry.to_owned());
    }

    pub(super) fn used(&mut self, usage: &ApiUsage) {
        self.context_used = Some(usage.context()).filter(|used| *used > 0);
    }

    /// What a request to the model has used, as far as it is known: the answer may still go on.
    pub(super) fn requested(&mut self, request: &str, usage: &ApiUsage, out: &mut Output) {
        if !self.open || usage.context() == 0 {
            return;
        }
        if self.meter.requests.len() >= MAX_REQUESTS && !self.meter.requests.contains_key(request) {
            self.meter.had = self.meter.so_far();
            self.meter.requests.clear();
        }
        let known = self.meter.requests.entry(request.to_owned()).or_default();
        let before = known.context();
        known.input_tokens = known.input_tokens.max(usage.input_tokens);
        known.output_tokens = known.output_tokens.max(usage.output_tokens);
        known.cache_read_input_tokens = known.cache_read_input_tokens.max(usage.cache_read_input_tokens);
        known.cache_creation_input_tokens = known.cache_creation_input_tokens.max(usage.cache_creation_input_tokens);
        if known.context() > before {
            out.report(Report::Used(Box::new(Usage { context_used: self.context_used, ..self.meter.so_far() })));
        }
    }

    pub(super) fn failed(&mut self, error: ApiError) {
        self.api_error = Some(error);
    }

    pub(super) fn limited(&mut self, limit: RateLimit) {
        self.limit = Some(limit);
    }

    /// The end of a turn of the program.
    pub(super) fn result(&mut self, result: &TurnResult, out: &mut Output) {
        self.running = false;
        if !self.reports_lifecycle {
            self.unstarted.clear();
        }
        for left_over in self.left_over.values_mut().filter(|left_over| **left_over == LeftOver::Started) {
            *left_over = LeftOver::Done;
        }
        let usage = self.usage(result);
        if self.open {
            let usage = self.meter.add(&usage);
            out.report(usage);
        }
        let error = self.api_error.take();
        let refused = std::mem::take(&mut self.refused);
        let compaction_failure = self.compaction_failure.take();
        let interrupted = result.interrupted();
        if self.open && !self.unstarted.is_empty() {
            // The program had begun a turn of its own; the session's message is still to come.
            return;
        }
        let (outcome, failure) = match () {
            () if interrupted => (Outcome::Interrupted, None),
            () if compaction_failure.is_some() => {
                (Outcome::Failed, compaction_failure.as_deref().map(failure::of_compaction))
            }
            () if refused && result.is_error => (Outcome::Failed, Some(failure::of_refusal(result))),
            () if result.is_error => (Outcome::Failed, Some(failure::of_turn(result, error, self.limit.as_ref()))),
            () => (Outcome::Completed, None),
        };
        let text = result.result.clone().unwrap_or_default();
        let structured_output = result.structured_output.clone().filter(|output| !output.is_null());
        if outcome == Outcome::Completed && (!text.is_empty() || structured_output.is_some()) {
            out.report(crate::event::TurnResult { text, structured_output });
        }
        let reason = interrupted.then(|| "the agent was interrupted".to_owned());
        self.end(outcome, reason, failure, out);
    }

    fn end(
        &mut self,
        outcome: Outcome,
        reason: Option<String>,
        failure: Option<crate::event::Failure>,
        out: &mut Output,
    ) {
        if let Some(anchor) = &self.anchor {
            out.report(Report::Anchor(anchor.clone()));
        }
        self.open = false;
        self.meter = Meter::default();
        // The session takes them back and sends them again; the program has them already.
        for (uuid, _) in self.steers.drain(..) {
            self.left_over.insert(uuid, LeftOver::Queued);
        }
        out.report(Report::TurnEnded { outcome, reason, failure });
    }

    /// What this turn used. The program's own sums go over the whole conversation.
    fn usage(&mut self, result: &TurnResult) -> Usage {
        let window = result.model_usage.values().filter_map(|usage| usage.context_window).max();
        let billed = result.total_cost_usd;
        let before = self.billed;
        self.billed = billed.or(before);
        let mut usage = Usage { context_used: self.context_used, context_window: window, ..Usage::default() };
        if let Some(models) = &result.model_usage_since_last_result {
            let sum = |part: fn(&ModelUsage) -> u64| models.values().map(part).sum::<u64>();
            usage.cached_tokens = Some(sum(|model| model.cache_read_input_tokens));
            usage.input_tokens =
                sum(|model| model.input_tokens + model.cache_read_input_tokens + model.cache_creation_input_tokens);
            usage.output_tokens = sum(|model| model.output_tokens);
            usage.reasoning_tokens = Some(sum(|model| model.thinking_tokens)).filter(|tokens| *tokens > 0);
            // From zero on: the sum of nothing would be minus zero.
            usage.cost_usd = Some(models.values().fold(0.0, |sum, model| sum + model.cost_usd));
        } else {
            let turn = result.usage.clone().unwrap_or_default();
            usage.cached_tokens = Some(turn.cache_read_input_tokens);
            usage.input_tokens = turn.input_tokens + turn.cache_read_input_tokens + turn.cache_creation_input_tokens;
            usage.output_tokens = turn.output_tokens;
            // After `/clear` the bill begins anew, so it may be smaller than before.
            usage.cost_usd = before.zip(billed).map(|(before, now)| if now < before { now } else { now - before });
        }
        usage
    }
}
