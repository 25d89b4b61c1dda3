//! A conversation in the terminal: what `run` and `chat` share. It shows what happens, takes what is typed, answers what is asked, and stops
//! what is to be stopped. How things look is in `render`, what an answer means in `answering`.

mod asking;

use std::collections::{HashMap, HashSet, VecDeque};
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Interval, MissedTickBehavior};
use turnloom_core::command::Receipt;
use turnloom_core::event::{Envelope, Event, Outcome, QueueItem};
use turnloom_core::id::{MessageId, SessionId, TurnId};
use turnloom_core::summary::SessionStatus;

use super::answering::Interview;
use super::connect::{Session, Target, path};
use super::follow::{Follow, Followed, ReconnectLimit};
use super::keyboard::Keyboard;
use super::render::{Medium, Renderer};
use super::terminal::Terminal;
use crate::client::Error;
use crate::session::now;

/// How long a daemon may be gone in the middle of a turn.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// How often the line that moves moves.
const TICK: Duration = Duration::from_millis(100);

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// How the agent's questions are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    Person,
    /// Allowed once, and the first of each choice.
    Yes,
}

/// How a conversation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Well,
    Badly,
    /// By Ctrl-C, in order.
    Stopped,
    /// By a second Ctrl-C, at once.
    Left,
}

pub(super) struct Conversation<'a> {
    terminal: &'a mut Terminal,
    session: SessionId,
    follow: Follow,
    renderer: Renderer,
    asking: Asking,
    person: bool,
    keyboard: Keyboard,
    interviews: VecDeque<Interview>,
    /// A question stands on the screen, and the cursor behind it.
    prompted: bool,
    /// Messages sent from here, and the turns they led to.
    sent: HashMap<MessageId, Option<TurnId>>,
    /// Of these: what does not go on by itself.
    held: HashSet<MessageId>,
    running: Option<TurnId>,
    stopping: Option<Stopping>,
    interrupts: u32,
    interrupt: Signal,
    terminate: Signal,
    tick: Interval,
    ticks: usize,
}

/// A call that is answered when the turn is settled.
type Stopping = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// What happened next.
enum Next {
    Followed(Result<Followed>),
    Line(Option<String>),
    Interrupt,
    Stopped(Result<(), Error>),
    Tick,
}

/// Whether the person still sees what they typed. What had to wait is shown again when its turn comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnWords {
    Seen,
    Shown,
}

/// Which events are shown, and when it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DisplayMode {
    Once,
    Many,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(
        target: &Target,
        client: &crate::client::Client,
        session: &Session,
        asking: Asking,
        terminal: &'a mut Terminal,
    ) -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            session: session.session_id.clone(),
            follow: Follow::new(
                target,
                client,
                &session.session_id,
                session.head,
                ReconnectLimit::Limited(RECONNECT_TIMEOUT),
            ),
            renderer: Renderer::new(terminal.out, terminal.err),
            terminal,
            asking,
            person: Keyboard::is_person(),
            keyboard: Keyboard::default(),
            interviews: VecDeque::new(),
            prompted: false,
            sent: HashMap::new(),
            held: HashSet::new(),
            running: session.turn.clone().filter(|_| session.status != SessionStatus::Idle),
            stopping: None,
            interrupts: 0,
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            tick,
            ticks: 0,
        })
    }

    /// Sends one message and shows its turn.
    pub(super) async fn once(&mut self, prompt: &str) -> Result<Ended> {
        let message_id = self.send(prompt, OwnWords::Shown).await?;
        loop {
            let next = self.next(!self.interviews.is_empty()).await;
            match next {
                Next::Followed(followed) => {
                    let Some(envelope) = self.followed(followed?)? else { continue };
                    let ours = envelope.turn_id.is_some() && self.sent.get(&message_id) == Some(&envelope.turn_id);
                    if ours && let Some(outcome) = self.show(&envelope, DisplayMode::Once).await? {
                        return Ok(match outcome {
                            Outcome::Completed => Ended::Well,
                            Outcome::Stopped if self.interrupts > 0 => Ended::Stopped,
                            Outcome::Stopped | Outcome::Interrupted | Outcome::Failed => Ended::Badly,
                        });
                    }
                }
                Next::Line(line) => self.answer_line(line).await?,
                Next::Interrupt if self.interrupts > 1 => return Ok(Ended::Left),
                Next::Interrupt => {
                    if self.sent.get(&message_id) == Some(&None) && self.unqueue(&message_id).await? {
                        return Ok(Ended::Stopped);
                    }
                    self.stop();
                }
                Next::Stopped(stopped) => stopped?,
                Next::Tick => self.draw(),
            }
        }
    }

    /// Sends each line as it is typed, and shows everything.
    pub(super) async fn many(&mut self) -> Result<Ended> {
        self.terminal.talk(&format!(
            "Session {}. /stop stops a turn, /continue lets go on what waits, /quit leaves.\n",
            self.session
        ));
        let mut open = true;
        loop {
            let busy = self.running.is_some() || self.sent.len() > self.held.len();
            if !open && !busy {
                return Ok(Ended::Well);
            }
            if open && !busy {
                self.prompt_for_message();
            }
            match self.next(open || !self.interviews.is_empty()).await {
                Next::Followed(followed) => {
                    if let Some(envelope) = self.followed(followed?)? {
                        self.show(&envelope, DisplayMode::Many).await?;
                    }
                }
                Next::Line(None) => {
                    open = false;
                    self.answer_line(None).await?;
                }
                Next::Line(Some(line)) if !self.interviews.is_empty() => self.answer_line(Some(line)).await?,
                Next::Line(Some(line)) => {
                    self.prompted = false;
                    match line.trim() {
                        "" => {}
                        "/quit" | "/exit" => {
                            if self.running.is_some() {
                                self.stop();
                            }
                            self.finish_stopping().await?;
                            return Ok(Ended::Well);
                        }
                        "/stop" => self.stop(),
                        "/continue" => {
                            let path = path(&self.session, "/continue");
                            self.follow.client().post::<serde_json::Value>(&path, &json!({})).await?;
                        }
                        text => {
                            let own = if self.person { OwnWords::Seen } else { OwnWords::Shown };
                            self.send(text, own).await?;
                        }
                    }
                }
                Next::Interrupt if busy && self.interrupts < 2 => self.stop(),
                Next::Interrupt => {
                    self.terminal.talk("\n");
                    return Ok(Ended::Stopped);
                }
                Next::Stopped(stopped) => {
                    stopped?;
                    self.interrupts = 0;
                }
                Next::Tick => self.draw(),
            }
        }
    }

    async fn next(&mut self, listen: bool) -> Next {
        // At a prompt nothing moves, and without a screen nothing can.
        let moves = self.terminal.err.medium == Medium::Screen && !self.prompted;
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => {
                self.interrupts += 1;
                Next::Interrupt
            }
            _ = self.terminate.recv() => {
                self.interrupts += 1;
                Next::Interrupt
            }
            stopped = settled(&mut self.stopping) => {
                self.stopping = None;
                Next::Stopped(stopped)
            }
            followed = self.follow.next() => Next::Followed(followed),
            line = self.keyboard.line(), if listen => Next::Line(line),
            _ = self.tick.tick(), if moves => Next::Tick,
        }
    }

    async fn send(&mut self, text: &str, own: OwnWords) -> Result<MessageId> {
        let message_id = MessageId::trusted(format!("msg_{}", uuid::Uuid::new_v4()));
        let body = json!({ "message": text, "message_id": message_id });
        let receipt: Receipt = self.follow.client().post(&path(&self.session, "/message"), &body).await?;
        if receipt.queued {
            let position = receipt.position.unwrap_or(1);
            self.terminal.talk(&format!("It waits for the running turn, at place {position}.\n"));
        } else if own == OwnWords::Seen {
            self.renderer.saw(message_id.clone());
        }
        self.sent.insert(message_id.clone(), receipt.turn_id);
        Ok(message_id)
    }

    /// Keeps track of turns; the event comes back to be shown.
    fn followed(&mut self, followed: Followed) -> Result<Option<Envelope>> {
        let event = match followed {
            Followed::Event(event) => event,
            Followed::Lost => {
                self.terminal.talk("The daemon went away; waiting for it.\n");
                return Ok(None);
            }
        };
        let envelope = Envelope::decode(&event.json).context("the daemon sent something unreadable")?;
        match &envelope.event {
            Event::UserMessage(message) => {
                if let Some(turn) = self.sent.get_mut(&message.message_id) {
                    turn.clone_from(&envelope.turn_id);
                }
            }
            Event::TurnStarted(_) => self.running.clone_from(&envelope.turn_id),
            Event::QueueChanged(changed) => self.note_held(&changed.queue),
            _ => {}
        }
        Ok(Some(envelope))
    }

    fn note_held(&mut self, queue: &[QueueItem]) {
        let own = queue.iter().filter(|item| item.held.is_some() && self.sent.contains_key(&item.message_id));
        let held: HashSet<MessageId> = own.map(|item| item.message_id.clone()).collect();
        let waiting = match held.len() {
            1 => "1 message waits".to_owned(),
            many => format!("{many} messages wait"),
        };
        if !held.is_empty() && self.held.is_empty() {
            self.terminal
                .talk(&format!("{waiting} until you say /continue (or `turnloom continue {}`).\n", self.session));
        }
        self.held = held;
    }

    /// Shows an event and does what it asks for. Gives the outcome of a turn that is done.
    async fn show(&mut self, envelope: &Envelope, display_mode: DisplayMode) -> Result<Option<Outcome>> {
        let pieces = self.renderer.event(envelope);
        if !pieces.is_empty() {
            if std::mem::take(&mut self.prompted) {
                self.terminal.talk("\n");
            }
            self.terminal.pieces(&pieces)?;
        }
        if let Some(interview) = Interview::of(&envelope.event) {
            self.asked(interview).await?;
        }
        match &envelope.event {
            Event::PermissionResolved(resolved) => self.settled(&resolved.ask_id),
            Event::QuestionResolved(resolved) => self.settled(&resolved.ask_id),
            Event::InterruptResolved(resolved) => self.settled(&resolved.interrupt_id),
            Event::Done(done) => {
                self.running = None;
                if display_mode == DisplayMode::Many {
                    self.sent.retain(|_, turn| turn.is_none() || *turn != envelope.turn_id);
                }
                return Ok(Some(done.outcome));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Takes back a message whose turn has not begun: the turn that runs is somebody else's. False if it has begun meanwhile.
    async fn unqueue(&mut self, message_id: &MessageId) -> Result<bool> {
        let path = path(&self.session, &format!("/queue/{message_id}"));
        match self.follow.client().delete::<serde_json::Value>(&path).await {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Some("not_queued") => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Begins to stop the turn. What happens meanwhile is still shown.
    fn stop(&mut self) {
        if self.stopping.is_some() {
            return;
        }
        let (client, path) = (self.follow.client().clone(), path(&self.session, "/stop"));
        self.stopping = Some(Box::pin(async move {
            client.post::<serde_json::Value>(&path, &json!({ "then": "hold" })).await.map(drop)
        }));
    }

    async fn finish_stopping(&mut self) -> Result<()> {
        match self.stopping.take() {
            Some(stopping) => Ok(stopping.await?),
            None => Ok(()),
        }
    }

    /// The line that moves.
    fn draw(&mut self) {
        if self.renderer.is_mid_line() {
            return;
        }
        match self.renderer.waiting(now()) {
            Some(doing) => {
                self.ticks += 1;
                let frame = FRAMES.get(self.ticks % FRAMES.len()).copied().unwrap_or_default();
                self.terminal.draw(&format!("  {frame} {doing}"));
            }
            None => self.terminal.undraw(),
        }
    }
}

async fn settled(stopping: &mut Option<Stopping>) -> Result<(), Error> {
    match stopping {
        Some(stopping) => stopping.await,
        None => std::future::pending().await,
    }
}
