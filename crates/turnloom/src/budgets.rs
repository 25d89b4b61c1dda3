//! What all sessions spend: the sums over days, groups and everything, folded from the feed. They are kept in a file together with the position up to
//! which they go, so a restart goes on from there and counts nothing twice. What a limit means is decided in `turnloom_core`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use turnloom_core::budget::{self, Ledger, Plan, Shared, Sums, from_units, shared_levels};
use turnloom_core::event::{BudgetMeasure, BudgetScope, BudgetState, Event, Record};
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::time::Timestamp;

use crate::log::{self, Change, Commit, Log, Position};
use crate::private;
use crate::reader::Commits;
use crate::sync::Locked;

/// Raised with every change to what is kept. Another one is not read, and everything is counted again.
const VERSION: u32 = 1;

/// How long what has changed may be kept in memory only. A crash loses no spending: it is read again from the feed.
const SAVE_AFTER: Duration = Duration::from_secs(5);

/// Warnings that are remembered, so that of several sessions one warns.
const MAX_WARNED: usize = 4_096;

/// The sums. Cloning shares them.
#[derive(Debug, Clone)]
pub struct Budgets(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rules: Arc<budget::Rules>,
    zone: TimeZone,
    path: PathBuf,
    state: Locked<State>,
    /// How far in the feed it is.
    position: watch::Sender<Position>,
    /// Counts how often something was spent.
    changed: watch::Sender<u64>,
    closing: CancellationToken,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    version: u32,
    position: u64,
    /// The zone in which the days are counted.
    zone: String,
    sums: Sums,
    warned: Vec<Warned>,
}

/// A limit that some session has warned of, or will.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Warned {
    scope: BudgetScope,
    id: Option<String>,
    measure: BudgetMeasure,
    limit: u64,
}

/// The zone of a name. None, if this machine does not know it.
pub fn zone(name: &str) -> Option<TimeZone> {
    if name == "UTC" { Some(TimeZone::UTC) } else { TimeZone::get(name).ok() }
}

impl Budgets {
    /// Goes on from where an earlier daemon was, and follows the feed until this one ends.
    pub fn start(
        log: &Log,
        path: PathBuf,
        (rules, zone_name): (Arc<budget::Rules>, &str),
        tracker: &TaskTracker,
        closing: CancellationToken,
    ) -> Self {
        let state = read(&path, zone_name, log.feed().head().position);
        let position = Position(state.position);
        let commits = Commits::new(log, position, closing.clone());
        let budgets = Self(Arc::new(Inner {
            rules,
            zone: zone(zone_name).unwrap_or(TimeZone::UTC),
            path,
            state: Locked::new(state),
            position: watch::Sender::new(position),
            changed: watch::Sender::new(0),
            closing,
        }));
        tracker.spawn(budgets.clone().follow(commits));
        budgets
    }

    pub fn rules(&self) -> &Arc<budget::Rules> {
        &self.0.rules
    }

    /// To wait until something is spent.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// The day on which something happens.
    pub fn day(&self, at: Timestamp) -> String {
        let time = jiff::Timestamp::from_millisecond(at.millis()).unwrap_or_default();
        time.to_zoned(self.0.zone.clone()).date().to_string()
    }

    pub fn today(&self) -> String {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.day(Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Looks at the sums, once everything is in them that was committed before.
    pub async fn read<T>(&self, log: &Log, look: impl FnOnce(&Sums) -> T) -> T {
        let head = log.feed().head().position;
        let mut reached = self.0.position.subscribe();
        let waits = reached.wait_for(|reached| *reached >= head);
        self.0.closing.run_until_cancelled(async { drop(waits.await) }).await;
        look(&self.0.state.lock().sums)
    }

    /// What a session has to know. If its turn runs, it may be the one that warns.
    pub fn shared(&self, session: &SessionId, plan: &Plan, in_turn: bool) -> Shared {
        let today = self.today();
        let mut state = self.0.state.lock();
        let group = plan.group.as_ref().map(|group| group.id.as_str());
        let mut shared = state.sums.shared(session, &today, group);
        if in_turn {
            let percent = self.0.rules.warn_percent;
            for level in shared_levels(plan, &shared, &Ledger::default(), 0) {
                let (scope, measure, limit) = (level.scope, level.measure, level.limit);
                let warned = Warned { scope, id: level.id.clone(), measure, limit };
                if level.is_near(percent) && !level.is_reached() && !state.warned.contains(&warned) {
                    state.warn(warned);
                    shared.warns.push((scope, measure));
                }
            }
        }
        shared
    }

    async fn follow(self, mut commits: Commits) {
        if let Err(error) = self.take_all(&mut commits).await {
            tracing::debug!(%error, "what is spent is not followed any more");
        }
        self.save();
    }

    async fn take_all(&self, commits: &mut Commits) -> Result<(), log::Error> {
        let (mut saved, mut is_saved) = (Instant::now(), true);
        while let Some((commit, records)) = commits.next().await? {
            let changed = self.take(&commit, &records);
            is_saved &= !changed;
            if changed {
                self.0.changed.send_modify(|count| *count += 1);
            }
            if let Some(reached) = commits.reached() {
                self.0.position.send_replace(reached);
            }
            if !is_saved && saved.elapsed() >= SAVE_AFTER {
                self.save();
                (saved, is_saved) = (Instant::now(), true);
            }
        }
        Ok(())
    }

    /// Whether anything was spent.
    fn take(&self, commit: &Commit, records: &[Record]) -> bool {
        let facts: Vec<_> = match commit.change {
            // What a session begins with is copied, or nothing: it spends when it runs.
            Change::Appended { after, .. } if after == Seq::ZERO => Vec::new(),
            Change::Appended { .. } => {
                let known = records.iter().filter(|record| Sums::reads(record.kind()));
                known.filter_map(|record| record.decode().ok()).collect()
            }
            Change::Removed => Vec::new(),
        };
        let days: Vec<String> = facts.iter().map(|fact| self.day(fact.ts)).collect();
        let mut state = self.0.state.lock();
        state.position = commit.position.0;
        if commit.change == Change::Removed {
            state.sums.removed(&commit.session);
        }
        for (fact, day) in facts.iter().zip(&days) {
            state.sums.apply(fact, day);
            if let Event::Budget(said) = &fact.event
                && said.state == BudgetState::Warned
            {
                let limit = from_units(said.measure, said.limit);
                state.warn(Warned { scope: said.scope, id: said.id.clone(), measure: said.measure, limit });
            }
        }
        !facts.is_empty()
    }

    fn save(&self) {
        let bytes = serde_json::to_vec(&*self.0.state.lock()).unwrap_or_default();
        if let Err(error) = private::replace(&self.0.path, &bytes) {
            tracing::warn!(%error, "what was spent could not be kept; it will be counted again from the log");
        }
    }
}

impl State {
    fn warn(&mut self, warned: Warned) {
        let is_shared = !matches!(warned.scope, BudgetScope::Turn | BudgetScope::Session);
        if is_shared && !self.warned.contains(&warned) {
            if self.warned.len() >= MAX_WARNED {
                self.warned.remove(0);
            }
            self.warned.push(warned);
        }
    }
}

/// What an earlier daemon kept; nothing, if it is not of this store, or counts other days.
fn read(path: &Path, zone: &str, head: Position) -> State {
    let kept: Option<State> = std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let fits = |state: &State| state.version == VERSION && state.position <= head.0 && state.zone == zone;
    kept.filter(fits).unwrap_or_else(|| State { version: VERSION, zone: zone.to_owned(), ..State::default() })
}
