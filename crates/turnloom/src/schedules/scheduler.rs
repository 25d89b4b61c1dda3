//! The task that owns all schedules. It sleeps until something is due, by a clock that nobody sets, and looks at the wall clock often enough to notice
//! when somebody sets that. What becomes of runs it hears from the feed of all sessions.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use turnloom_core::event::Record;
use turnloom_core::id::{IdSource, RunId, ScheduleId, SessionId};
use turnloom_core::schedule::{
    self, Definition, Effect, End, Machine, Output, Reason, Run, RunFold, RunState, Started, Target,
};
use turnloom_core::time::Timestamp;

use super::start::{self, Outcome, Start};
use super::{Created, Edit, Error, MAX_SCHEDULES, ScheduleView, documents};
use crate::automation::{Changes, Part};
use crate::log::{self, Change, Commit, Log, Position};
use crate::reader::Commits;
use crate::session::{Sessions, now, seed};

/// How long the task sleeps at most while there are schedules: so much later it notices that the wall clock was set, or that the machine slept.
const MAX_SLEEP: Duration = Duration::from_secs(10);

/// Should a time be due that cannot be decided, nobody spins.
const MIN_SLEEP: Duration = Duration::from_millis(5);

/// While runs go on, how far the feed was read is written down so often. What was read since is read again after a crash.
const SAVE_POSITION: Duration = Duration::from_secs(30);

type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// What others ask of the task.
pub(super) enum Request {
    /// Let what is due run.
    Begin,
    Create {
        id: Option<ScheduleId>,
        definition: Box<Definition>,
        reply: Reply<(ScheduleView, Created)>,
    },
    Edit {
        id: String,
        edit: Edit,
        reply: Reply<ScheduleView>,
    },
    Remove {
        id: String,
        reply: Reply<()>,
    },
    RunNow {
        id: String,
        reply: Reply<Run>,
    },
    Show {
        id: String,
        reply: Reply<ScheduleView>,
    },
    List {
        reply: Reply<Vec<ScheduleView>>,
    },
}

/// Something that was done beside the task.
enum Job {
    Started { schedule: ScheduleId, run: RunId, outcome: Outcome },
    Stopped,
}

/// A run whose session is followed.
#[derive(Debug)]
struct Followed {
    schedule: ScheduleId,
    run: RunId,
    /// Nothing while it is being started: who starts it reads the log first.
    fold: Option<Box<RunFold>>,
}

pub(super) struct Scheduler {
    sessions: Sessions,
    changes: Changes,
    log: Log,
    machines: BTreeMap<ScheduleId, Machine>,
    followed: HashMap<SessionId, Vec<Followed>>,
    commits: Commits,
    /// How far the feed was read, and how far that is written down.
    position: Position,
    saved: (Position, Instant),
    jobs: JoinSet<Job>,
    requests: mpsc::Receiver<Request>,
    has_begun: bool,
    closing: CancellationToken,
}

impl Scheduler {
    pub(super) async fn load(
        (sessions, changes): (Sessions, Changes),
        requests: mpsc::Receiver<Request>,
        closing: CancellationToken,
    ) -> Result<Self, log::Error> {
        let log = sessions.log().clone();
        let machines = documents::load(&log).await?;
        let machines: BTreeMap<ScheduleId, Machine> =
            machines.into_iter().map(|machine| (machine.schedule().schedule_id.clone(), machine)).collect();
        let has_open = machines.values().any(|machine| machine.open().next().is_some());
        let written = if has_open { documents::position(&log).await? } else { None };
        let position = written.unwrap_or_else(|| log.feed().head().position);
        let commits = Commits::new(&log, position, closing.clone());
        let saved = (position, Instant::now());
        let (followed, jobs) = (HashMap::new(), JoinSet::new());
        let has_begun = false;
        Ok(Self {
            sessions,
            changes,
            log,
            machines,
            followed,
            commits,
            position,
            saved,
            jobs,
            requests,
            has_begun,
            closing,
        })
    }

    pub(super) async fn run(mut self) {
        if let Err(error) = self.work().await
            && !self.closing.is_cancelled()
        {
            tracing::error!(%error, "schedules have stopped until the daemon is started again");
        }
        // What is being started is named by its run: the next daemon finds it.
        self.jobs.shutdown().await;
    }

    async fn work(&mut self) -> Result<(), log::Error> {
        loop {
            if self.has_begun {
                self.tick().await?;
            }
            let sleep = self.sleep();
            let is_following = !self.followed.is_empty();
            let followed = &self.followed;
            tokio::select! {
                biased;
                () = self.closing.cancelled() => return Ok(()),
                Some(done) = self.jobs.join_next(), if !self.jobs.is_empty() => match done {
                    Ok(job) => self.take_job(job).await?,
                    Err(error) => tracing::error!(%error, "a run could not be started"),
                },
                request = self.requests.recv() => match request {
                    Some(request) => self.answer(request).await?,
                    None => return Ok(()),
                },
                commit = self.commits.next_of(|session| followed.contains_key(session)), if is_following => {
                    let Some((commit, records)) = commit? else { return Ok(()) };
                    self.take_commit(&commit, &records).await?;
                }
                () = tokio::time::sleep(sleep) => {}
            }
            self.save_position().await?;
        }
    }

    async fn begin(&mut self) -> Result<(), log::Error> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Ok(());
        }
        let ids: Vec<ScheduleId> = self.machines.keys().cloned().collect();
        for id in &ids {
            self.step(id, Machine::recover).await?;
        }
        Ok(())
    }

    /// Until the next time that something may be due.
    fn sleep(&self) -> Duration {
        let next = self.machines.values().filter_map(Machine::wake_at).min();
        let left = next.map(|at| at.millis().saturating_sub(now().millis()).max(0).unsigned_abs());
        // Where nothing will be due, only a request can change that.
        left.filter(|_| self.has_begun)
            .map_or(Duration::from_hours(1), |left| Duration::from_millis(left).clamp(MIN_SLEEP, MAX_SLEEP))
    }

    async fn tick(&mut self) -> Result<(), log::Error> {
        let now = now();
        let is_due = |machine: &Machine| {
            // Also what lies far ahead: the clock may have stood wrong.
            machine.wake_at().is_some_and(|at| at <= now) || machine.schedule().progress.decided > now
        };
        let due = self.machines.iter().filter(|(_, machine)| is_due(machine)).map(|(id, _)| id.clone());
        for id in due.collect::<Vec<_>>() {
            self.step(&id, Machine::tick).await?;
        }
        Ok(())
    }

    /// One step of a schedule: decided, written, done.
    async fn step(
        &mut self,
        id: &ScheduleId,
        step: impl FnOnce(&mut Machine, Timestamp, &mut Output),
    ) -> Result<(), log::Error> {
        let Some(machine) = self.machines.get_mut(id) else { return Ok(()) };
        let mut out = Output::default();
        step(machine, now(), &mut out);
        self.carry_out(id, out).await
    }

    async fn carry_out(&mut self, id: &ScheduleId, out: Output) -> Result<(), log::Error> {
        let Some(machine) = self.machines.get_mut(id) else { return Ok(()) };
        if out.changed {
            documents::save(&self.log, machine, &out.runs, self.position).await?;
            self.saved = (self.position, Instant::now());
            self.changes.note(Part::Schedules);
        }
        for effect in out.effects {
            match effect {
                Effect::Start(run) => self.start(id, &run),
                Effect::Stop(run) => self.stop(id, &run),
            }
        }
        Ok(())
    }

    fn start(&mut self, id: &ScheduleId, run: &RunId) {
        let Some(machine) = self.machines.get(id) else { return };
        let Some(run) = machine.run(run).cloned() else { return };
        let (schedule, session) = (machine.schedule().clone(), run.session_id.clone());
        if self.followed.is_empty() {
            // Nobody was followed: what was committed meanwhile matters to nobody. What is from here on is heard, and what was before is read.
            let is_behind = self.position < self.log.feed().head().position;
            if is_behind && run.state == RunState::Starting {
                self.position = self.log.feed().head().position;
                self.commits = Commits::new(&self.log, self.position, self.closing.clone());
            }
        }
        let session = session.unwrap_or_else(|| SessionId::trusted(run.run_id.as_str()));
        let followed = Followed { schedule: id.clone(), run: run.run_id.clone(), fold: None };
        self.followed.entry(session).or_default().push(followed);
        let start =
            Start { schedule: id.clone(), definition: schedule.definition, run, shared: schedule.progress.session };
        let sessions = self.sessions.clone();
        self.jobs.spawn(async move {
            let outcome = start::start(&sessions, &start).await;
            Job::Started { schedule: start.schedule, run: start.run.run_id, outcome }
        });
    }

    fn stop(&mut self, id: &ScheduleId, run: &RunId) {
        let Some(run) = self.machines.get(id).and_then(|machine| machine.run(run)).cloned() else { return };
        let sessions = self.sessions.clone();
        self.jobs.spawn(async move {
            start::stop(&sessions, &run).await;
            Job::Stopped
        });
    }

    async fn take_job(&mut self, job: Job) -> Result<(), log::Error> {
        let Job::Started { schedule, run, outcome } = job else { return Ok(()) };
        match outcome {
            Outcome::Later => Ok(()),
            Outcome::Failed(reason) => self.end(&schedule, &run, End::failed(now(), reason)).await,
            Outcome::Started(mut started, mut fold) => {
                // What came since the log was read and was heard of already.
                match start::read_on(&self.log, &started.session_id, started.after, &mut fold).await {
                    Err(log::Error::NotFound(_)) => return self.end(&schedule, &run, removed()).await,
                    read => read?,
                }
                started.turn_id = fold.turn().cloned();
                self.step(&schedule, |machine, _, out| machine.started(&run, started, out)).await?;
                self.keep_fold(&schedule, &run, fold).await
            }
        }
    }

    /// Goes on with what is known of a run, or ends it.
    async fn keep_fold(&mut self, schedule: &ScheduleId, run: &RunId, fold: Box<RunFold>) -> Result<(), log::Error> {
        if let Some(end) = fold.end() {
            return self.end(schedule, run, end).await;
        }
        let mut all = self.followed.values_mut().flatten();
        if let Some(followed) = all.find(|followed| followed.run == *run) {
            followed.fold = Some(fold);
        }
        Ok(())
    }

    async fn end(&mut self, schedule: &ScheduleId, run: &RunId, end: End) -> Result<(), log::Error> {
        self.unfollow(|followed| followed.run == *run);
        self.step(schedule, |machine, now, out| machine.ended(run, end, now, out)).await
    }

    fn unfollow(&mut self, is_over: impl Fn(&Followed) -> bool) {
        self.followed.retain(|_, runs| {
            runs.retain(|followed| !is_over(followed));
            !runs.is_empty()
        });
    }

    async fn take_commit(&mut self, commit: &Commit, records: &[Record]) -> Result<(), log::Error> {
        self.position = commit.position;
        let runs = self.followed.get_mut(&commit.session);
        let mut told: Vec<(ScheduleId, RunId, Option<Started>, Option<End>)> = Vec::new();
        for Followed { schedule, run, fold } in runs.into_iter().flatten() {
            let Some(fold) = fold else { continue };
            let had_turn = fold.turn().is_some();
            for record in records {
                start::step(fold, record);
            }
            let end = if commit.change == Change::Removed { Some(removed()) } else { fold.end() };
            let turn_id = fold.turn().filter(|_| !had_turn).cloned();
            let session_id = commit.session.clone();
            let started = turn_id.map(|turn| Started { session_id, turn_id: Some(turn), after: fold.seq() });
            if started.is_some() || end.is_some() {
                told.push((schedule.clone(), run.clone(), started, end));
            }
        }
        for (schedule, run, started, end) in told {
            if let Some(started) = started {
                self.step(&schedule, |machine, _, out| machine.started(&run, started, out)).await?;
            }
            if let Some(end) = end {
                self.end(&schedule, &run, end).await?;
            }
        }
        Ok(())
    }

    async fn save_position(&mut self) -> Result<(), log::Error> {
        let (position, at) = self.saved;
        if !self.followed.is_empty() && position < self.position && at.elapsed() > SAVE_POSITION {
            documents::save_position(&self.log, self.position).await?;
            self.saved = (self.position, Instant::now());
        }
        Ok(())
    }

    /// Fails only where the log does: then nothing can go on.
    async fn answer(&mut self, request: Request) -> Result<(), log::Error> {
        // A caller that left is not told.
        match request {
            Request::Begin => self.begin().await?,
            Request::Create { id, definition, reply } => {
                drop(reply.send(passed_on(self.create(id, *definition).await)?));
            }
            Request::Edit { id, edit, reply } => drop(reply.send(passed_on(self.edit(&id, edit).await)?)),
            Request::Remove { id, reply } => drop(reply.send(passed_on(self.remove(&id).await)?)),
            Request::RunNow { id, reply } => drop(reply.send(passed_on(self.run_now(&id).await)?)),
            Request::Show { id, reply } => drop(reply.send(self.view(&id))),
            Request::List { reply } => {
                let now = now();
                drop(reply.send(Ok(self.machines.values().map(|machine| ScheduleView::of(machine, now)).collect())));
            }
        }
        Ok(())
    }

    async fn create(
        &mut self,
        id: Option<ScheduleId>,
        definition: Definition,
    ) -> Result<(ScheduleView, Created), Error> {
        let now = now();
        let id = id.unwrap_or_else(|| ScheduleId::fresh(&mut IdSource::seeded(seed()), now));
        if let Some(machine) = self.machines.get(&id) {
            if machine.schedule().definition != definition {
                return Err(Error::Exists(id));
            }
            return Ok((ScheduleView::of(machine, now), Created::Before));
        }
        if self.machines.len() >= MAX_SCHEDULES {
            return Err(Error::TooMany);
        }
        let machine = Machine::create(id.clone(), definition, now)?;
        self.check_target(&machine.schedule().definition).await?;
        self.machines.insert(id.clone(), machine);
        let out = Output { changed: true, ..Output::default() };
        if let Err(error) = self.carry_out(&id, out).await {
            self.machines.remove(&id);
            return Err(error.into());
        }
        Ok((self.view(id.as_str())?, Created::New))
    }

    async fn edit(&mut self, id: &str, edit: Edit) -> Result<ScheduleView, Error> {
        let before = self.machine(id)?.clone();
        let definition = edit(before.schedule().definition.clone());
        let mut machine = before.clone();
        machine.edit(definition, now())?;
        let target = |machine: &Machine| {
            let Definition { runtime, params, session, .. } = machine.schedule().definition.clone();
            (runtime, params, session)
        };
        // What is not touched may be gone: a schedule without its directory can be paused all the same.
        if target(&machine) != target(&before) {
            self.check_target(&machine.schedule().definition).await?;
        }
        let id = before.schedule().schedule_id.clone();
        self.machines.insert(id.clone(), machine);
        let out = Output { changed: true, ..Output::default() };
        if let Err(error) = self.carry_out(&id, out).await {
            self.machines.insert(id, before);
            return Err(error.into());
        }
        self.view(id.as_str())
    }

    async fn remove(&mut self, id: &str) -> Result<(), Error> {
        let id = self.machine(id)?.schedule().schedule_id.clone();
        documents::remove(&self.log, &id).await?;
        self.machines.remove(&id);
        self.changes.note(Part::Schedules);
        self.unfollow(|followed| followed.schedule == id);
        Ok(())
    }

    async fn run_now(&mut self, id: &str) -> Result<Run, Error> {
        let id = self.machine(id)?.schedule().schedule_id.clone();
        let Some(machine) = self.machines.get_mut(&id) else { return Err(Error::NotFound(id.to_string())) };
        let mut out = Output::default();
        let run = machine.run_now(now(), &mut out)?;
        let told = out.runs.iter().find(|told| told.run_id == run).cloned();
        self.carry_out(&id, out).await?;
        told.ok_or_else(|| Error::NotFound(run.to_string()))
    }

    fn machine(&self, id: &str) -> Result<&Machine, Error> {
        self.machines.get(id).ok_or_else(|| Error::NotFound(id.to_owned()))
    }

    fn view(&self, id: &str) -> Result<ScheduleView, Error> {
        self.machine(id).map(|machine| ScheduleView::of(machine, now()))
    }

    /// Whether what its runs need is there now. Should it go later, the runs say so.
    async fn check_target(&self, definition: &Definition) -> Result<(), Error> {
        let session = match &definition.session {
            Target::New | Target::Same { session_id: None } => {
                let runtime = definition.runtime.as_deref().unwrap_or_default();
                return Ok(self.sessions.check_params(runtime, &definition.params)?);
            }
            Target::Same { session_id: Some(session) } | Target::Fork { session_id: session } => session,
        };
        let row = self.log.session(session).await?;
        let row = row.ok_or_else(|| schedule::Error::NoSession(session.clone()))?;
        if let Target::Fork { .. } = &definition.session {
            self.sessions.check_fork(&row)?;
        }
        Ok(())
    }
}

fn removed() -> End {
    End::failed(now(), Reason::new("session_removed", "its session was removed"))
}

/// What the log could not do ends the task; all else is the caller's.
fn passed_on<T>(result: Result<T, Error>) -> Result<Result<T, Error>, log::Error> {
    match result {
        Err(Error::Log(error @ (log::Error::Closed | log::Error::Failed { .. }))) => Err(error),
        result => Ok(result),
    }
}
