//! Sessions that work for other sessions: made, told, stopped, and looked at when a daemon ended in between. What a session makes of it is decided in
//! `turnloom_core::session`; what happens in those that are awake is heard by `delegations`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};
use turnloom_core::command::{ClientCommand, Command, Message, Refusal, Reply, When};
use turnloom_core::delegation::{
    self, ChildNews, Heard, Inherited, NewChild, News, Start, TurnEnd, TurnFold, is_looser, looseness,
};
use turnloom_core::event::{AfterStop, DelegationState, Event, Origin, Part, Record};
use turnloom_core::id::{AskId, IdSource, MessageId, Seq, SessionId};
use turnloom_core::runtime::skips_approvals;
use turnloom_core::session::{Input, Output, asks_for_parent};

use super::actor::Session;
use super::create::seed;
use super::{Error, NewSession, Sessions, now};
use crate::log::{self, Created, SessionRow};
use crate::runtime::Runtime;
use crate::runtime::program::default_directory;

/// What the log says of who told a session what to do.
const BY: &str = "delegation";

/// How long it is waited for a session to have settled what an earlier daemon left, before the one that it works for goes on.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a session that is too busy is told again, and how long after.
const TRIES: u32 = 30;
const PAUSE: Duration = Duration::from_secs(1);

/// How far the line of those who work for each other is followed, whatever the rows say.
const MAX_LINE: usize = 64;

impl Sessions {
    /// Creates a session that works for another one, or finds the one that an earlier try of the same request made.
    pub async fn create_for(
        &self,
        parent: &SessionId,
        new: NewSession,
        by: String,
    ) -> Result<(SessionRow, Created), Error> {
        let NewSession { id, runtime, mut params } = new;
        let parent_row = self.row(parent).await?;
        let id = id.unwrap_or_else(|| SessionId::fresh(&mut IdSource::seeded(seed()), now()));
        self.check_new_child(&id, parent).await?;
        if let Some(cwd) = parent_row.summary.cwd.filter(|_| !params.contains_key("cwd")) {
            params.insert("cwd".to_owned(), cwd.into());
        }
        let mode = parent_row.summary.mode;
        let given = ["mode", "permission_mode"].iter().find_map(|name| params.get(*name).and_then(Value::as_str));
        match given {
            Some(given) => check_looseness(given, mode.as_deref())?,
            None => self.give_mode(&runtime, mode.as_deref(), &mut params)?,
        }
        let skips = params.iter().find(|(name, value)| skips_approvals(name, value));
        if let Some((name, value)) = skips.filter(|_| looseness(mode.as_deref()) != looseness(Some("bypass"))) {
            let message = format!("`params.{name}`: {value} is looser than the mode of session {parent}");
            return Err(Error::Invalid(message));
        }
        self.check_params(&runtime, &params)?;
        let text = |name: &str| params.get(name).and_then(Value::as_str).map(str::to_owned);
        let (title, cwd) = (text("title").unwrap_or_default(), text("cwd"));
        let new = NewChild { child: id.clone(), runtime: runtime.clone(), title, cwd };
        let command = Command::AddChild(Box::new(new));
        let Reply::Inherited(inherited) = self.execute(parent, ClientCommand { by, command }).await? else {
            return Err(Error::Invalid("the session that it would work for does not answer".to_owned()));
        };
        let Inherited { delegated, params: of_parent, .. } = *inherited;
        for (name, value) in of_parent {
            // Whoever works for another spends what that one may spend.
            if name == turnloom_core::budget::GROUP || !params.contains_key(&name) {
                params.insert(name, value);
            }
        }
        let created = self.create_as(NewSession { id: Some(id.clone()), runtime, params }, Some(delegated)).await;
        let news = match &created {
            Ok(_) => News::Started,
            Err(error) => News::NotStarted { message_id: None, reason: error.to_string() },
        };
        self.tell_parent(parent, id, news, Heard::AsItHappens).await;
        created
    }

    /// A name that stands for another session already, or for one that this one would work for.
    async fn check_new_child(&self, id: &SessionId, parent: &SessionId) -> Result<(), Error> {
        let mut above = Some(parent.clone());
        for _ in 0..MAX_LINE {
            let Some(session) = above.take() else { break };
            if session == *id {
                return Err(Refusal::DelegationCycle(session).into());
            }
            above = self.log().session(&session).await?.and_then(|row| row.summary.parent_session_id);
        }
        match self.log().session(id).await? {
            Some(row) if row.summary.parent_session_id.as_ref() != Some(parent) => Err(Error::Conflict(id.clone())),
            _ => Ok(()),
        }
    }

    /// The mode of a session that works for one in this mode: the same where there is such a one, or the loosest that is not looser.
    fn give_mode(&self, runtime: &str, mode: Option<&str>, params: &mut Map<String, Value>) -> Result<(), Error> {
        let Some(mode) = mode else { return Ok(()) };
        let found = self.runtime(runtime)?;
        let known = self.modes_of(found);
        let has_rules = self.rules().of("/").has_mode(mode);
        if known.is_empty() && has_rules && !found.capabilities().gate {
            let message = format!("{runtime} cannot be held to the rules of the mode {mode:?}; choose another runtime");
            return Err(Error::Invalid(message));
        }
        let all = Value::Object(params.clone());
        let may_have = |candidate: &&String| {
            !is_looser(Some(candidate.as_str()), Some(mode)) && found.may_have_mode(candidate, &all).is_ok()
        };
        let same = known.iter().find(|known| *known == mode).filter(may_have);
        let chosen = match same {
            Some(same) => same.clone(),
            None if known.is_empty() => mode.to_owned(),
            None => {
                let loosest = known.iter().filter(may_have).max_by_key(|mode| looseness(Some(mode.as_str())));
                let none = || Error::Invalid(format!("{runtime} has no mode that is not looser than {mode:?}"));
                loosest.ok_or_else(none)?.clone()
            }
        };
        params.insert("mode".to_owned(), chosen.into());
        Ok(())
    }

    /// Refuses a mode that is looser than that of the session which this one works for.
    pub(super) async fn check_not_looser(&self, mode: &str, parent: &SessionId) -> Result<(), Error> {
        match self.log().session(parent).await? {
            Some(row) => check_looseness(mode, row.summary.mode.as_deref()),
            None => Ok(()),
        }
    }

    /// Who settles an ask: the session itself, or one that works for it.
    pub async fn session_of_ask(&self, id: &SessionId, ask_id: &AskId) -> Result<SessionId, Error> {
        let row = self.row(id).await?;
        let below = row.summary.delegated_asks.iter().find(|asked| asked.ask.ask_id == *ask_id);
        Ok(below.map_or_else(|| id.clone(), |asked| asked.session_id.clone()))
    }

    /// The session that this one works for, if it was awake.
    pub fn parent_of(&self, id: &SessionId) -> Option<SessionId> {
        self.0.parents.lock().get(id).cloned()
    }

    /// Whether anybody wants to hear of this session.
    pub fn works_for_another(&self, id: &SessionId) -> bool {
        self.0.parents.lock().contains_key(id)
    }

    pub(super) fn works_for(&self, id: &SessionId, parent: &SessionId) {
        self.0.parents.lock().insert(id.clone(), parent.clone());
    }

    /// It is not there any more.
    pub fn forget_child(&self, id: &SessionId) {
        self.0.parents.lock().remove(id);
    }

    /// Makes a session that works for another one and tells it what to do. Nobody waits for it: that one hears what came of it.
    pub(super) fn delegate(&self, parent: SessionId, start: Start) {
        let sessions = self.clone();
        self.0.tracker.spawn(async move {
            let news = match sessions.start_child(&start).await {
                Ok(()) => News::Started,
                Err(error) => {
                    News::NotStarted { message_id: Some(start.message_id.clone()), reason: error.to_string() }
                }
            };
            sessions.tell_parent(&parent, start.child, news, Heard::AsItHappens).await;
        });
    }

    async fn start_child(&self, start: &Start) -> Result<(), Error> {
        let Start { child, runtime, prompt, cwd, message_id, inherited } = start;
        self.check_installed(self.runtime(runtime)?).await?;
        let mut params = inherited.params.clone();
        if let Some(cwd) = cwd {
            self.check_folder(cwd, inherited.cwd.as_deref())?;
            params.insert("cwd".to_owned(), json!(cwd));
        }
        self.give_mode(runtime, inherited.mode.as_deref(), &mut params)?;
        let new = NewSession { id: Some(child.clone()), runtime: runtime.clone(), params };
        self.create_as(new, Some(inherited.delegated.clone())).await?;
        self.say_to_child(child, message_id, prompt).await
    }

    async fn check_installed(&self, runtime: &dyn Runtime) -> Result<(), Error> {
        let info = runtime.info(self.launch_context()).await;
        if info.installed {
            return Ok(());
        }
        let what = info.problem.unwrap_or_else(|| format!("{} is not installed on this machine", info.name));
        let fix = info.fix.map(|fix| format!("; a person can mend it: {fix}")).unwrap_or_default();
        Err(Error::Invalid(format!("{what}{fix}; choose another runtime, or do it yourself")))
    }

    /// An agent has others work where it works itself, or where the configuration says.
    fn check_folder(&self, wanted: &str, own: Option<&str>) -> Result<(), Error> {
        let missing =
            |_| Error::Invalid(format!("the folder {wanted:?} is not there; name one that is, or leave it out"));
        let found = std::fs::canonicalize(wanted).map_err(missing)?;
        if !found.is_dir() {
            return Err(Error::Invalid(format!("{wanted:?} is not a folder")));
        }
        let own = own.map_or_else(default_directory, PathBuf::from);
        let more = self.0.config.delegation.folders.iter().map(PathBuf::as_path);
        let mut allowed = std::iter::once(own.as_path()).chain(more);
        let is_inside = |folder: &Path| std::fs::canonicalize(folder).is_ok_and(|folder| found.starts_with(folder));
        if allowed.any(is_inside) {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "{wanted:?} is not in your working directory; a person can allow it in `delegation.folders` of the configuration"
        )))
    }

    pub(super) fn tell_child(&self, parent: SessionId, child: SessionId, message_id: MessageId, text: String) {
        let sessions = self.clone();
        self.0.tracker.spawn(async move {
            let news = match sessions.say_to_child(&child, &message_id, &text).await {
                Ok(()) => News::Started,
                Err(error) => News::NotStarted { message_id: Some(message_id), reason: error.to_string() },
            };
            sessions.tell_parent(&parent, child, news, Heard::AsItHappens).await;
        });
    }

    async fn say_to_child(&self, child: &SessionId, message_id: &MessageId, text: &str) -> Result<(), Error> {
        let content = vec![Part::Text { text: text.to_owned() }];
        let message = Message { id: Some(message_id.clone()), content, origin: Origin::Delegation, source: None };
        let command = Command::Send { message, when: When::Queue };
        self.execute(child, ClientCommand { by: BY.to_owned(), command }).await.map(drop)
    }

    /// Stops what works for a session. That it has ended is heard from its log; where nothing ran, it is looked at.
    pub(super) fn stop_children(&self, parent: &SessionId, children: Vec<SessionId>) {
        for child in children {
            let (sessions, parent) = (self.clone(), parent.clone());
            self.0.tracker.spawn(async move {
                let command = Command::Stop { turn_id: None, then: AfterStop::Hold };
                let stopped = sessions.execute(&child, ClientCommand { by: BY.to_owned(), command }).await;
                // One that is still being made is stopped when it is there.
                let is_there = !matches!(stopped, Err(Error::Log(log::Error::NotFound(_))));
                if matches!(stopped, Ok(Reply::Stopped { stopped: true, .. })) || !is_there {
                    return;
                }
                let news = sessions.news_of(&parent, &child, Seq::ZERO, &BTreeSet::new()).await;
                for news in news.unwrap_or_default() {
                    sessions.tell_parent(&parent, child.clone(), news, Heard::AsItHappens).await;
                }
                let reason = "it was stopped before it began".to_owned();
                let not_started = News::NotStarted { message_id: None, reason };
                sessions.tell_parent(&parent, child, not_started, Heard::AsItHappens).await;
            });
        }
    }

    /// Wakes a session, which settles what was left open in it.
    fn settle(&self, id: SessionId) -> tokio::task::JoinHandle<()> {
        let sessions = self.clone();
        self.0.tracker.spawn(async move {
            // Nothing is asked of it: that it answers is that it is awake.
            let nothing = Command::ReadQueued { message_id: MessageId::trusted("-") };
            drop(sessions.execute(&id, ClientCommand { by: BY.to_owned(), command: nothing }).await);
        })
    }

    /// Tells a session what has become of one that works for it. If the daemon ends, the next one looks by itself.
    pub async fn tell_parent(&self, parent: &SessionId, child: SessionId, news: News, heard: Heard) {
        let command = Command::Child(Box::new(ChildNews { child: child.clone(), news, heard }));
        for _ in 0..TRIES {
            let told = self.execute(parent, ClientCommand { by: BY.to_owned(), command: command.clone() }).await;
            match told {
                Err(Error::Overloaded) => tokio::time::sleep(PAUSE).await,
                Err(Error::ShuttingDown | Error::Refused(Refusal::ShuttingDown)) | Ok(_) => return,
                // It was removed, and whoever worked for it goes on alone.
                Err(Error::Log(log::Error::NotFound(_))) => return self.forget_child(&child),
                Err(error) => {
                    return tracing::warn!(session = %parent, %error, "a session did not hear of one that works for it");
                }
            }
        }
    }

    /// What has become of a session since the one that it works for last heard of it.
    async fn news_of(
        &self,
        parent: &SessionId,
        child: &SessionId,
        known: Seq,
        expected: &BTreeSet<MessageId>,
    ) -> Result<Vec<News>, Error> {
        let row = self.log().session(child).await?;
        let Some(row) = row.filter(|row| row.summary.parent_session_id.as_ref() == Some(parent)) else {
            let reason = "the daemon ended before it was there; delegate again".to_owned();
            let gone = News::NotStarted { message_id: None, reason };
            return Ok(vec![if known == Seq::ZERO { gone } else { News::Removed }]);
        };
        let read = self.read_turns(child).await?;
        let ends = read.ends.into_iter().filter(|end| end.seq > known && end.origin == Origin::Delegation);
        let mut news: Vec<News> = ends.map(|end| News::Ended(Box::new(end))).collect();
        let lost = expected.iter().find(|id| !read.messages.contains(*id));
        if let Some(lost) = lost {
            let reason = "the daemon ended before it was told; say it again with delegate_message".to_owned();
            news.push(News::NotStarted { message_id: Some(lost.clone()), reason });
        } else if read.is_open || news.is_empty() {
            news.push(changed(&row, read.is_open, None, read.seq));
        }
        Ok(news)
    }

    async fn read_turns(&self, id: &SessionId) -> Result<Turns, Error> {
        let mut turns = Turns::default();
        let take = |record: Record| {
            turns.step(&record);
            ControlFlow::Continue(())
        };
        self.log().scan(id, Seq::ZERO, Seq(u64::MAX), take).await?;
        Ok(turns)
    }

    /// The turn that runs in a session, as far as its log had come before a position.
    pub async fn turn_before(&self, id: &SessionId, end: Seq) -> Result<TurnFold, Error> {
        let mut turns = Turns::default();
        let take = |record: Record| {
            turns.step(&record);
            ControlFlow::Continue(())
        };
        self.log().scan(id, Seq::ZERO, Seq(end.0.saturating_sub(1)), take).await?;
        Ok(turns.fold)
    }
}

impl Session {
    /// Looks what has become of those that work for this session while no daemon was there, before it settles what was left open.
    pub(super) async fn look_at_children(&mut self, heard: Heard, out: &mut Output) -> Result<(), Error> {
        if heard == Heard::AsItHappens {
            return Ok(());
        }
        for (child, known, expected) in self.machine.unsettled_children() {
            // What it had open is settled first.
            drop(tokio::time::timeout(SETTLE_TIMEOUT, self.sessions.settle(child.clone())).await);
            for news in self.sessions.news_of(&self.id, &child, known, &expected).await? {
                let command = Command::Child(Box::new(ChildNews { child: child.clone(), news, heard }));
                let (command, at) = (ClientCommand { by: BY.to_owned(), command }, self.now());
                // Nobody waits for a reply.
                let reply_to = self.next_reply;
                self.next_reply += 1;
                self.machine.handle(Input::Command { command, reply_to }, at, out);
            }
        }
        Ok(())
    }
}

/// The turns of a log, as far as somebody else wants to know.
#[derive(Debug, Default)]
struct Turns {
    fold: TurnFold,
    ends: Vec<TurnEnd>,
    messages: BTreeSet<MessageId>,
    is_open: bool,
    seq: Seq,
}

impl Turns {
    fn step(&mut self, record: &Record) {
        self.seq = record.seq;
        let kind = record.kind();
        if !delegation::KINDS.contains(&kind) && !["user_message", "queue_changed"].contains(&kind) {
            return;
        }
        let Ok(envelope) = record.decode() else { return };
        match &envelope.event {
            Event::TurnStarted(_) => self.is_open = true,
            Event::Done(_) => self.is_open = false,
            Event::UserMessage(message) => drop(self.messages.insert(message.message_id.clone())),
            Event::QueueChanged(changed) => {
                self.messages.extend(changed.added.iter().map(|added| added.message_id.clone()));
            }
            _ => {}
        }
        self.ends.extend(self.fold.step(&envelope));
    }
}

/// How a session stands, for the one that it works for.
pub(crate) fn changed(row: &SessionRow, is_in_turn: bool, activity: Option<String>, seq: Seq) -> News {
    let asks = asks_for_parent(&row.id, &row.summary.asks, &row.summary.delegated_asks);
    let state = match (is_in_turn, asks.is_empty()) {
        (true, true) => DelegationState::Running,
        (true, false) => DelegationState::Waiting,
        (false, _) => DelegationState::Idle,
    };
    News::Changed { state, activity: activity.filter(|_| is_in_turn), asks, seq }
}

fn check_looseness(mode: &str, parent: Option<&str>) -> Result<(), Error> {
    if !is_looser(Some(mode), parent) {
        return Ok(());
    }
    let parent = parent.unwrap_or("its agent's usual one");
    Err(Error::Invalid(format!(
        "the mode {mode:?} is looser than that of the session which this one works for ({parent})"
    )))
}
