//! One schedule: what is due becomes runs, and runs go from queued to ended. Inputs come in as values; what is to be written and done comes out.
//!
//! Whatever changes is written first, all of it at once; effects follow. So each of them may have to be repeated after a crash, and can be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use sha2::{Digest as _, Sha256};

use super::decide::{Lateness, MissedRange, decide};
use super::run::{Cause, Reason, Run, RunOutcome, RunState};
use super::template::{MAX_PROMPT_BYTES, Template, Words};
use super::{Definition, End, Error, Overlap, Target, Times, words};
use crate::id::{RunId, ScheduleId, Seq, SessionId, TurnId};
use crate::time::Timestamp;

/// How many runs of one schedule may wait.
pub const MAX_QUEUED: usize = 100;

/// How many runs of one schedule are remembered.
pub const MAX_HISTORY: u32 = 500;

/// One schedule, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    pub schedule_id: ScheduleId,
    pub definition: Definition,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub progress: Progress,
}

/// How far a schedule has come.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Everything that was due until here is decided.
    pub decided: Timestamp,
    /// What intervals are counted from.
    pub counted_from: Timestamp,
    /// The runs that have not ended.
    pub open: Vec<RunId>,
    /// How many runs are remembered.
    pub kept: u32,
    /// Where all runs take place, once the first one has made it.
    pub session: Option<SessionId>,
    pub last_result: Option<String>,
    /// What was missed and no session has been told.
    pub untold: Option<MissedRange>,
    /// The last one that ended, without what it was told and said.
    pub last_run: Option<Box<Run>>,
}

/// What a step of the machine asks for.
#[derive(Debug, Default)]
pub struct Output {
    /// Whether there is anything to write.
    pub changed: bool,
    /// The runs that are new or different.
    pub runs: Vec<Run>,
    /// What is to be done once that is written.
    pub effects: Vec<Effect>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Make its session and send its message, as far as that is not done; follow it.
    Start(RunId),
    /// End its turn.
    Stop(RunId),
}

/// That a run's message is in its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    pub session_id: SessionId,
    pub turn_id: Option<TurnId>,
    /// Where in the session's log the run begins.
    pub after: Seq,
}

/// Why there is no run now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotNow {
    #[error("run {0} has not ended, and this schedule leaves out what overlaps; stop it first, or let runs queue")]
    Active(RunId),
    #[error("{MAX_QUEUED} runs wait already")]
    Full,
}

/// A schedule with its open runs.
#[derive(Debug, Clone)]
pub struct Machine {
    schedule: Schedule,
    times: Times,
    runs: BTreeMap<RunId, Run>,
}

impl Machine {
    /// A new schedule. Nothing was due before it was there.
    pub fn create(schedule_id: ScheduleId, definition: Definition, now: Timestamp) -> Result<Self, Error> {
        let times = definition.check(now, now)?;
        let progress = Progress { decided: now, counted_from: now, ..Progress::default() };
        let schedule = Schedule { schedule_id, definition, created_at: now, updated_at: now, progress };
        Ok(Self { schedule, times, runs: BTreeMap::new() })
    }

    /// A schedule as it was written, with the runs that it calls open.
    pub fn load(schedule: Schedule, runs: Vec<Run>) -> Result<Self, Error> {
        let times = schedule.definition.times(schedule.progress.counted_from)?;
        let open = runs.into_iter().filter(|run| run.state != RunState::Ended);
        let runs = open.map(|run| (run.run_id.clone(), run)).collect();
        Ok(Self { schedule, times, runs })
    }

    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The runs that have not ended, the oldest first.
    pub fn open(&self) -> impl Iterator<Item = &Run> {
        self.runs.values()
    }

    pub fn run(&self, id: &RunId) -> Option<&Run> {
        self.runs.get(id)
    }

    /// Goes on with what an earlier daemon has begun.
    pub fn recover(&mut self, now: Timestamp, out: &mut Output) {
        let active = self.runs.values().filter(|run| run.is_active());
        out.effects.extend(active.map(|run| Effect::Start(run.run_id.clone())));
        self.admit(now, out);
    }

    /// Makes runs of what is due by now.
    pub fn tick(&mut self, now: Timestamp, out: &mut Output) {
        if self.schedule.definition.paused {
            return;
        }
        let (rule, decided) = (self.schedule.definition.missed, self.schedule.progress.decided);
        let decision = decide(&self.times, self.offset(), rule, decided, now);
        if decision.decided == decided {
            return;
        }
        self.schedule.progress.decided = decision.decided;
        out.changed = true;
        if let Some(missed) = decision.missed {
            self.note_missed(missed, now, out);
        }
        for due in decision.runs {
            let cause = match due.lateness {
                Lateness::OnTime => Cause::Due,
                Lateness::Late => Cause::Late,
            };
            self.add(Run::new(&self.schedule.schedule_id, due.at, cause), now, out);
        }
        self.admit(now, out);
    }

    /// A run that somebody wants now, also while the schedule is paused.
    pub fn run_now(&mut self, now: Timestamp, out: &mut Output) -> Result<RunId, NotNow> {
        let open = self.runs.keys().next();
        if let (Overlap::Skip, Some(open)) = (self.schedule.definition.overlap, open) {
            return Err(NotNow::Active(open.clone()));
        }
        if self.queued() >= MAX_QUEUED {
            return Err(NotNow::Full);
        }
        let mut run = Run::new(&self.schedule.schedule_id, now, Cause::Manual);
        while self.runs.contains_key(&run.run_id) {
            run = Run::new(&self.schedule.schedule_id, run.due_at.plus_millis(1), Cause::Manual);
        }
        let id = run.run_id.clone();
        self.add(run, now, out);
        self.admit(now, out);
        Ok(id)
    }

    /// When runs are due, as people say it.
    pub fn words(&self) -> String {
        words(&self.schedule.definition.when, &self.times)
    }

    /// Takes another definition. What was due while it was paused, or by the times before, is not made up for.
    pub fn edit(&mut self, definition: Definition, now: Timestamp) -> Result<(), Error> {
        let before = &self.schedule.definition;
        let other_times = definition.when != before.when || definition.zone != before.zone;
        let progress = &mut self.schedule.progress;
        if other_times {
            self.times = definition.check(now, now)?;
            (progress.decided, progress.counted_from) = (now, now);
        } else {
            definition.check_words()?;
            if before.paused && !definition.paused {
                progress.decided = progress.decided.max(now);
            }
        }
        if definition.session != before.session {
            progress.session = None;
        }
        self.schedule.definition = definition;
        self.schedule.updated_at = now;
        Ok(())
    }

    /// Its message is in its session.
    pub fn started(&mut self, id: &RunId, started: Started, out: &mut Output) {
        let Some(run) = self.runs.get_mut(id) else { return };
        let Started { session_id, turn_id, after } = started;
        let turn_id = turn_id.or_else(|| run.turn_id.clone());
        if run.state == RunState::Running && run.turn_id == turn_id {
            return;
        }
        if let Target::Same { session_id: None } = self.schedule.definition.session {
            self.schedule.progress.session = Some(session_id.clone());
        }
        run.state = RunState::Running;
        run.session_id = Some(session_id);
        run.turn_id = turn_id;
        run.after = run.after.or(Some(after));
        out.changed = true;
        out.runs.push(run.clone());
    }

    pub fn ended(&mut self, id: &RunId, end: End, now: Timestamp, out: &mut Output) {
        let Some(run) = self.runs.remove(id) else { return };
        let End { at, outcome, reason, usage, result } = end;
        if let (RunOutcome::Completed, Some(result)) = (outcome, &result) {
            self.schedule.progress.last_result = Some(result.clone());
        }
        let duration_ms = run.started_at.map(|started| (at.millis() - started.millis()).max(0));
        self.close(Run { ended_at: Some(at), duration_ms, reason, usage, result, ..run }, outcome, out);
        self.admit(now, out);
    }

    /// So many of its runs are not remembered any more.
    pub fn forgotten(&mut self, runs: u32) {
        self.schedule.progress.kept = self.schedule.progress.kept.saturating_sub(runs);
    }

    /// When there is something to decide.
    pub fn wake_at(&self) -> Option<Timestamp> {
        if self.schedule.definition.paused {
            return None;
        }
        self.times.after(self.schedule.progress.decided).map(|due| due.plus_millis(self.offset()))
    }

    /// When the next runs start.
    pub fn next(&self, count: usize, now: Timestamp) -> Vec<Timestamp> {
        if self.schedule.definition.paused {
            return Vec::new();
        }
        let from = self.schedule.progress.decided.max(now.plus_millis(-self.offset()));
        let due = std::iter::successors(self.times.after(from), |due| self.times.after(*due));
        due.take(count).map(|due| due.plus_millis(self.offset())).collect()
    }

    /// How much later than due its runs start: always the same, and another for another schedule.
    fn offset(&self) -> i64 {
        offset(&self.schedule.schedule_id, self.schedule.definition.jitter_seconds)
    }

    fn queued(&self) -> usize {
        self.runs.values().filter(|run| run.state == RunState::Queued).count()
    }

    fn note_missed(&mut self, missed: MissedRange, now: Timestamp, out: &mut Output) {
        let run = Run::new(&self.schedule.schedule_id, missed.last, Cause::Due);
        self.schedule.progress.kept += 1;
        let untold = self.schedule.progress.untold;
        self.schedule.progress.untold = Some(untold.map_or(missed, |before| before.and(missed)));
        let reason = Some(Reason::new("missed", "the daemon was off, or asleep"));
        self.close(Run { missed: Some(missed), reason, ended_at: Some(now), ..run }, RunOutcome::Missed, out);
    }

    /// Takes a run in, or leaves it out because of an earlier one.
    fn add(&mut self, run: Run, now: Timestamp, out: &mut Output) {
        self.schedule.progress.kept += 1;
        let skip = |run: Run, code: &str, message: String| Run {
            reason: Some(Reason::new(code, message)),
            ended_at: Some(now),
            ..run
        };
        // What makes up for others waits for its turn, or there would be no use in it.
        let overlap = if run.cause == Cause::Late { Overlap::Queue } else { self.schedule.definition.overlap };
        match overlap {
            Overlap::Skip if !self.runs.is_empty() => {
                let earlier = self.runs.keys().next().map(ToString::to_string).unwrap_or_default();
                let skipped = skip(run, "overlap", format!("run {earlier} had not ended"));
                return self.close(skipped, RunOutcome::Skipped, out);
            }
            Overlap::Queue if self.queued() >= MAX_QUEUED => {
                let skipped = skip(run, "queue_full", format!("{MAX_QUEUED} runs waited already"));
                return self.close(skipped, RunOutcome::Skipped, out);
            }
            Overlap::Stop => {
                let waiting = self.runs.extract_if(.., |_, run| run.state == RunState::Queued);
                let waiting: Vec<Run> = waiting.map(|(_, run)| run).collect();
                for replaced in waiting {
                    let skipped = skip(replaced, "replaced", format!("run {} took its place", run.run_id));
                    self.close(skipped, RunOutcome::Skipped, out);
                }
                out.effects.extend(self.runs.keys().cloned().map(Effect::Stop));
            }
            Overlap::Skip | Overlap::Queue => {}
        }
        out.changed = true;
        out.runs.push(run.clone());
        self.runs.insert(run.run_id.clone(), run);
        self.note_open();
    }

    /// Starts the oldest run that waits, if none goes on.
    fn admit(&mut self, now: Timestamp, out: &mut Output) {
        if self.runs.values().any(Run::is_active) {
            return;
        }
        let Some(id) = self.runs.keys().next().cloned() else { return };
        let (prompt, session_id) = (self.prompt(&id), self.session_of(&id));
        if prompt.len() > MAX_PROMPT_BYTES {
            let message = format!("what was put into the prompt makes it longer than {MAX_PROMPT_BYTES} bytes");
            return self.ended(&id, End::failed(now, Reason::new("prompt_too_long", message)), now, out);
        }
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.state = RunState::Starting;
        run.started_at = Some(now);
        run.prompt = Some(prompt);
        run.session_id = Some(session_id);
        run.missed_before = self.schedule.progress.untold.take();
        out.changed = true;
        out.runs.retain(|before| before.run_id != id);
        out.runs.push(run.clone());
        out.effects.push(Effect::Start(id));
    }

    fn prompt(&self, id: &RunId) -> String {
        let definition = &self.schedule.definition;
        let due = self.runs.get(id).map_or(self.schedule.progress.decided, |run| run.due_at);
        let (date, time) = self.times.date_and_time(due);
        let words = Words {
            date,
            time,
            last_result: self.schedule.progress.last_result.as_deref().unwrap_or_default(),
            run_id: id.as_str(),
            variables: Some(&definition.variables),
        };
        // It was checked when it was given.
        Template::parse(&definition.prompt).map_or_else(|_| definition.prompt.clone(), |prompt| prompt.fill(&words))
    }

    /// Where a run takes place.
    fn session_of(&self, id: &RunId) -> SessionId {
        let own = || SessionId::trusted(id.as_str());
        match &self.schedule.definition.session {
            Target::New | Target::Fork { .. } => own(),
            Target::Same { session_id: Some(session) } => session.clone(),
            Target::Same { session_id: None } => self.schedule.progress.session.clone().unwrap_or_else(own),
        }
    }

    fn close(&mut self, run: Run, outcome: RunOutcome, out: &mut Output) {
        let run = Run { state: RunState::Ended, outcome: Some(outcome), ..run };
        let brief = Run { prompt: None, result: None, ..run.clone() };
        self.schedule.progress.last_run = Some(Box::new(brief));
        self.note_open();
        out.changed = true;
        out.runs.retain(|before| before.run_id != run.run_id);
        out.runs.push(run);
    }

    fn note_open(&mut self) {
        self.schedule.progress.open = self.runs.keys().cloned().collect();
    }
}

/// Between nothing and the jitter, by the schedule's name.
pub(super) fn offset(schedule: &ScheduleId, jitter_seconds: u32) -> i64 {
    let digest = Sha256::digest(schedule.as_str().as_bytes());
    let seed = digest.iter().take(8).fold(0_u64, |seed, byte| seed << 8 | u64::from(*byte));
    i64::try_from(seed % (u64::from(jitter_seconds) * 1000 + 1)).unwrap_or_default()
}
