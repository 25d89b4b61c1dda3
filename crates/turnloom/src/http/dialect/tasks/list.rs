//! The turns of all sessions by page, newest first. Nothing is stored for it: turns are folded from the logs of the sessions that were active last, and
//! only as many of these are looked at as the page needs.

use std::collections::{BTreeMap, VecDeque};

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use turnloom_core::dialect::tasks::{Kind, Presence, Status, Task, TaskHistory};
use turnloom_core::event::Origin;
use turnloom_core::id::SessionId;
use turnloom_core::time::Timestamp;

use super::super::super::App;
use super::super::super::extract::Query;
use super::super::super::problem::Problem;
use super::super::super::sessions::page_size;
use super::super::find;
use super::{catch_up, hub};
use crate::log::{self, Log, SessionQuery, SessionRow};

/// Turns on a page, unless asked for another number.
const PAGE: usize = 50;
const MAX_PAGE: usize = 200;

/// Sessions whose logs are folded for one page: who looks for something rare names the session.
const MAX_SESSIONS: usize = 1_000;

/// Sessions that are read at a time.
const ROWS: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ListTasksQuery")]
pub(super) struct ListQuery {
    /// Only turns that are at this.
    status: Option<Status>,
    /// Only turns of this type.
    #[serde(rename = "type")]
    kind: Option<Kind>,
    /// Only turns that somebody is there for, or only others.
    presence: Option<Presence>,
    /// Only turns that began like this.
    origin: Option<Origin>,
    /// Only turns of this session.
    session_id: Option<SessionId>,
    /// Only turns of sessions that this one gave work to.
    parent_session_id: Option<SessionId>,
    /// Turns in a page.
    limit: Option<usize>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TaskList {
    tasks: Vec<ListedTask>,
    next_cursor: Option<String>,
    /// Sessions that were active long ago were not looked at; name one with `session_id`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    incomplete: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedTask {
    #[serde(flatten)]
    task: Task,
    /// The title of its session.
    title: String,
    runtime: String,
}

/// When a turn began, and its name: the order of the list.
type Place = (i64, String);

fn place(task: &Task) -> Place {
    (task.began_at().millis(), task.run_id.to_string())
}

impl ListQuery {
    fn wants(&self, task: &Task) -> bool {
        self.status.is_none_or(|status| status == task.status)
            && self.kind.is_none_or(|kind| kind == task.kind)
            && self.presence.is_none_or(|presence| presence == task.presence)
            && self.origin.is_none_or(|origin| origin == task.origin)
    }

    fn wants_parent(&self, parent: Option<&SessionId>) -> bool {
        self.parent_session_id.is_none() || self.parent_session_id.as_ref() == parent
    }

    fn before(&self) -> Result<Option<Place>, Problem> {
        let parse = |cursor: &str| {
            let (at, run) = cursor.split_once('.')?;
            Some((at.parse().ok()?, run.to_owned()))
        };
        let bad = || Problem::invalid("`cursor` is not one of this list; ask without it for the first page");
        self.cursor.as_deref().map(|cursor| parse(cursor).ok_or_else(bad)).transpose()
    }
}

pub(super) async fn list(State(app): State<App>, Query(query): Query<ListQuery>) -> Result<Json<TaskList>, Problem> {
    let (limit, before) = (page_size(query.limit, PAGE, MAX_PAGE)?, query.before()?);
    catch_up(&app).await;
    let log = app.sessions.log();
    let mut walks = match &query.session_id {
        Some(id) => {
            let row = find(&app, id).await?.ok_or_else(|| log::Error::NotFound(id.clone()))?;
            vec![Walk::one(row)]
        }
        None => vec![Walk::all(false), Walk::all(true)],
    };
    let mut found: BTreeMap<Place, ListedTask> = BTreeMap::new();
    let mut page: Vec<(Place, ListedTask)> = Vec::new();
    let (mut looked_at, mut incomplete) = (0, false);
    // One more than the page holds says whether there is another.
    while page.len() <= limit {
        let next = newest(&mut walks, log).await?;
        let active_at = next.and_then(|walk| walk.rows.front()).map(|row| row.updated_at);
        // A turn began before its session was last active, so what is newer than that comes before all that was not looked at.
        let is_settled = |place: &Place| active_at.is_none_or(|at| place.0 >= at.millis());
        if found.last_key_value().is_some_and(|(place, _)| is_settled(place)) {
            page.extend(found.pop_last());
            continue;
        }
        incomplete = looked_at == MAX_SESSIONS;
        let row = if incomplete { None } else { newest(&mut walks, log).await?.and_then(|walk| walk.rows.pop_front()) };
        let Some(row) = row else {
            page.extend(std::mem::take(&mut found).into_iter().rev().take(limit + 1 - page.len()));
            break;
        };
        looked_at += 1;
        found.extend(tasks_of(&app, &row, &query, before.as_ref(), limit + 1).await?);
    }
    let has_more = page.len() > limit;
    page.truncate(limit);
    let next_cursor = page.last().filter(|_| has_more).map(|((at, run), _)| format!("{at}.{run}"));
    let tasks = page.into_iter().map(|(_, task)| task).collect();
    Ok(Json(TaskList { tasks, next_cursor, incomplete: incomplete && !has_more }))
}

/// The newest turns of one session that are wanted and come before a place.
async fn tasks_of(
    app: &App,
    row: &SessionRow,
    query: &ListQuery,
    before: Option<&Place>,
    most: usize,
) -> Result<Vec<(Place, ListedTask)>, Problem> {
    let parent = hub::parent_in(row);
    if !query.wants_parent(parent.as_ref()) {
        return Ok(Vec::new());
    }
    let wanted = |history: &TaskHistory| {
        let comes = |task: &&Task| query.wants(task) && before.is_none_or(|before| place(task) < *before);
        let mut tasks: Vec<Task> = history.all().filter(comes).cloned().collect();
        tasks.sort_by_cached_key(|task| std::cmp::Reverse(place(task)));
        tasks.truncate(most);
        tasks
    };
    let tasks = app.reader.folds().ask(row, wanted).await?;
    let listed = tasks.into_iter().map(|mut task| {
        if task.status == Status::Running {
            // What is known of it beside its log: whether it is dead.
            task.is_zombie = app.tasks.find(&task.run_id).is_some_and(|task| task.is_zombie);
        }
        if task.kind == Kind::Delegation {
            task.metadata.parent_session_id.clone_from(&parent);
        }
        let listed = ListedTask { title: row.summary.title.clone(), runtime: row.runtime.clone(), task };
        (place(&listed.task), listed)
    });
    Ok(listed.collect())
}

/// Sessions, the latest activity first.
struct Walk {
    archived: bool,
    rows: VecDeque<SessionRow>,
    cursor: Option<String>,
    has_ended: bool,
}

impl Walk {
    fn all(archived: bool) -> Self {
        Self { archived, rows: VecDeque::new(), cursor: None, has_ended: false }
    }

    fn one(row: SessionRow) -> Self {
        Self { archived: false, rows: [row].into(), cursor: None, has_ended: true }
    }

    async fn active_at(&mut self, log: &Log) -> Result<Option<Timestamp>, log::Error> {
        if self.rows.is_empty() && !self.has_ended {
            let query = SessionQuery {
                archived: self.archived,
                limit: ROWS,
                cursor: self.cursor.take(),
                ..SessionQuery::default()
            };
            let page = log.sessions(query).await?;
            self.has_ended = page.next.is_none();
            self.rows.extend(page.sessions);
            self.cursor = page.next;
        }
        Ok(self.rows.front().map(|row| row.updated_at))
    }
}

/// The walk whose next session was active last.
async fn newest<'a>(walks: &'a mut [Walk], log: &Log) -> Result<Option<&'a mut Walk>, log::Error> {
    let mut best: Option<(Timestamp, &'a mut Walk)> = None;
    for walk in walks {
        if let Some(at) = walk.active_at(log).await?
            && best.as_ref().is_none_or(|(best, _)| at > *best)
        {
            best = Some((at, walk));
        }
    }
    Ok(best.map(|(_, walk)| walk))
}
