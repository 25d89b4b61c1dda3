//! What is done with deliveries that were accepted: each becomes a message of its session, and what its turn came to goes back. Deliveries of one session
//! go one after the other, and so do their answers; a service that takes no answers holds up no turn.
//!
//! Every step is written down before the next, and every step can be done twice: a message has an id that follows from its delivery, and an answer is
//! read from the log again.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use turnloom_core::awaited::NoTurnReason;
use turnloom_core::channel::answer::{Answer, AwaitedAnswer};
use turnloom_core::channel::{Delivery, Kind, Reply, Verdict, judge, parts, request};
use turnloom_core::command::{ClientCommand, Command, Message, Refusal, Reply as SessionReply, When};
use turnloom_core::event::{MessageSource, Origin, Outcome, Part};
use turnloom_core::id::Seq;
use turnloom_core::webhook::backoff::pause_ms;

use super::entry::{Entry, token_name};
use super::lanes::Lane;
use super::record::{DeliveryState, Record};
use super::{Channels, Error};
use crate::log;
use crate::reader::{PAGE, SourceEvent};
use crate::session::{self, NewSession, now};

/// How long is waited before something is tried again that failed because of us, not because of others.
const PAUSE: Duration = Duration::from_secs(1);

/// What people have to answer: while they do, other turns may run.
const ASKS: [&str; 3] = ["permission_request", "question_request", "interrupt"];

/// Why a delivery is not done with.
enum Stop {
    /// The daemon ends, or the channel is removed; what is written down tells how far it is.
    Leave,
    /// It comes to nothing, because of this.
    Fail(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        tracing::debug!(%error, "a delivery cannot be written down");
        Self::Leave
    }
}

impl From<log::Error> for Stop {
    fn from(error: log::Error) -> Self {
        Error::Log(error).into()
    }
}

impl Channels {
    /// Puts a delivery into its lane.
    pub(super) fn begin(&self, entry: &Arc<Entry>, record: &Record) {
        let (session, id) = (record.delivery.session_id.clone(), record.delivery.delivery_id.clone());
        if entry.work.lock().turns.push(&session, id) == Lane::Busy {
            return;
        }
        let (channels, entry) = (self.clone(), Arc::clone(entry));
        self.0.tracker.spawn(async move {
            loop {
                let Some(delivery) = entry.work.lock().turns.next(&session) else { return };
                let working = channels.run_turn(&entry, &delivery);
                if !channels.until_ended(&entry, working).await {
                    return;
                }
            }
        });
    }

    fn begin_reply(&self, entry: &Arc<Entry>, record: &Record) {
        let (session, id) = (record.delivery.session_id.clone(), record.delivery.delivery_id.clone());
        if entry.work.lock().replies.push(&session, id) == Lane::Busy {
            return;
        }
        let (channels, entry) = (self.clone(), Arc::clone(entry));
        self.0.tracker.spawn(async move {
            loop {
                let Some(delivery) = entry.work.lock().replies.next(&session) else { return };
                let working = channels.run_reply(&entry, &delivery);
                if !channels.until_ended(&entry, working).await {
                    return;
                }
            }
        });
    }

    /// Works until the daemon ends or the channel is removed; false then.
    async fn until_ended(&self, entry: &Entry, working: impl Future<Output = ()>) -> bool {
        tokio::select! {
            biased;
            () = self.0.closing.cancelled() => false,
            () = entry.ended.cancelled() => false,
            () = working => true,
        }
    }

    /// From what is written down to the end of the turn.
    async fn run_turn(&self, entry: &Arc<Entry>, delivery: &str) {
        let name = entry.stored().channel.name.clone();
        let Ok(Some(mut record)) = self.record(&name, delivery).await else { return };
        match self.turn(entry, &name, &mut record).await {
            Ok(Some(answer)) => self.hand_back(entry, &name, record, &answer).await,
            // It was taken long before.
            Ok(None) => self.finish(entry, &name, record, DeliveryState::Done, None).await,
            Err(Stop::Leave) => {}
            Err(Stop::Fail(why)) => self.finish(entry, &name, record, DeliveryState::Failed, Some(why)).await,
        }
    }

    async fn turn(&self, entry: &Entry, name: &str, record: &mut Record) -> Result<Option<Answer>, Stop> {
        let running = Arc::clone(&entry.running.lock());
        let permit = running.acquire_owned().await.map_err(|_| Stop::Leave)?;
        if record.state != DeliveryState::Answered {
            let is_first = record.state == DeliveryState::Accepted;
            if is_first {
                let head = self.session(entry, &record.delivery).await?;
                record.after = Some(head);
                record.state = DeliveryState::Running;
                self.write_record(name, entry, record).await?;
            }
            let is_new = self.send(name, entry.stored().channel.kind, &record.delivery).await?;
            if is_first && !is_new {
                return Ok(None);
            }
        }
        let answer = self.answer(record, Some(permit)).await?;
        record.turn_id = Some(answer.turn_id.clone());
        record.outcome = Some(answer.outcome);
        Ok(Some(answer))
    }

    /// The head of the delivery's session, which is made if it is not there.
    async fn session(&self, entry: &Entry, delivery: &Delivery) -> Result<Seq, Stop> {
        let stored = entry.stored();
        let mut params = stored.channel.session_params();
        if let Some(title) = &delivery.title {
            params.entry("title").or_insert_with(|| Value::from(title.as_str()));
        }
        let id = delivery.session_id.clone();
        let new = NewSession { id: Some(id.clone()), runtime: stored.channel.runtime.clone(), params };
        loop {
            match self.0.sessions.row(&id).await {
                Ok(row) => return Ok(row.head),
                Err(session::Error::Log(log::Error::NotFound(_))) => {}
                Err(error) => return Err(Stop::Fail(error.to_string())),
            }
            let new = NewSession { id: new.id.clone(), runtime: new.runtime.clone(), params: new.params.clone() };
            match self.0.sessions.create(new).await {
                Ok((row, _)) => return Ok(row.head),
                // Somebody else was quicker.
                Err(session::Error::Conflict(_)) => {}
                Err(session::Error::Overloaded) => tokio::time::sleep(PAUSE).await,
                Err(session::Error::ShuttingDown | session::Error::Log(_)) => return Err(Stop::Leave),
                Err(error) => return Err(Stop::Fail(error.to_string())),
            }
        }
    }

    /// Hands the message to its session. False if the session had it already.
    async fn send(&self, name: &str, kind: Kind, delivery: &Delivery) -> Result<bool, Stop> {
        let source = MessageSource {
            channel: name.to_owned(),
            kind: Some(kind),
            delivery: delivery.delivery_id.clone(),
            sender: delivery.sender.clone(),
        };
        let command = |command| ClientCommand { by: format!("channel {name}"), command };
        let id = &delivery.session_id;
        loop {
            let message = Message {
                id: Some(delivery.message_id.clone()),
                content: vec![Part::Text { text: delivery.text.clone() }],
                origin: Origin::Webhook,
                source: Some(source.clone()),
            };
            let again = match self.0.sessions.execute(id, command(Command::Send { message, when: When::Queue })).await {
                Ok(SessionReply::Accepted { is_new, .. }) => return Ok(is_new),
                Ok(_) => return Err(Stop::Fail("the session answered something else".to_owned())),
                // Who writes in a conversation goes on with it.
                Err(session::Error::Refused(Refusal::Archived)) => Some(Command::Unarchive),
                Err(session::Error::Refused(Refusal::Ended)) => Some(Command::Resume { provider_session_id: None }),
                Err(session::Error::Refused(Refusal::QueueFull(_)) | session::Error::Overloaded) => None,
                Err(session::Error::ShuttingDown | session::Error::Refused(Refusal::ShuttingDown)) => {
                    return Err(Stop::Leave);
                }
                Err(error) => return Err(Stop::Fail(error.to_string())),
            };
            match again {
                None => tokio::time::sleep(PAUSE).await,
                Some(again) => {
                    let done = self.0.sessions.execute(id, command(again)).await;
                    done.map_err(|error| Stop::Fail(error.to_string()))?;
                }
            }
        }
    }

    /// Waits for the end of the turn. A turn that waits for a person takes no other's place.
    async fn answer(&self, record: &Record, permit: Option<OwnedSemaphorePermit>) -> Result<Answer, Stop> {
        let mut permit = permit;
        let following = loop {
            match self.0.reader.admit() {
                Ok(following) => break following,
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        };
        let mut source =
            self.0.reader.source(&record.delivery.session_id, record.after.unwrap_or(Seq::ZERO), following);
        let mut awaited = AwaitedAnswer::new(record.delivery.message_id.clone());
        loop {
            match source.next(PAGE, None).await {
                SourceEvent::Records(records) => {
                    for record in &records {
                        if ASKS.contains(&record.kind()) {
                            drop(permit.take());
                        }
                        if let Ok(envelope) = record.decode() {
                            awaited.step(&envelope);
                        }
                    }
                }
                SourceEvent::Heartbeat | SourceEvent::Due => {}
                SourceEvent::Closing => return Err(Stop::Leave),
                SourceEvent::Ended(error) => return Err(Stop::Fail(format!("its session is gone: {error}"))),
            }
            if let Some(answer) = awaited.answer() {
                return Ok(answer.clone());
            }
            if source.cursor() >= source.head() {
                match awaited.no_turn_reason() {
                    None => {}
                    // Somebody stopped the session and will let it go on.
                    Some(NoTurnReason::Held) => drop(permit.take()),
                    Some(why) => return Err(Stop::Fail(why.to_string())),
                }
            }
        }
    }

    /// The turn has ended: its answer goes to the request that waits for it, or back to the service.
    async fn hand_back(&self, entry: &Arc<Entry>, name: &str, mut record: Record, answer: &Answer) {
        let waiter = entry.work.lock().waiters.remove(&record.delivery.delivery_id);
        let was_told = waiter.is_some_and(|waiter| waiter.send(answer.text.clone()).is_ok());
        if was_told {
            self.count_reply(entry, name, "sent");
        }
        if was_told || record.delivery.reply_to.is_none() {
            return self.finish(entry, name, record, DeliveryState::Done, None).await;
        }
        record.state = DeliveryState::Answered;
        if self.write_record(name, entry, &record).await.is_ok() {
            self.begin_reply(entry, &record);
        }
    }

    async fn run_reply(&self, entry: &Arc<Entry>, delivery: &str) {
        let name = entry.stored().channel.name.clone();
        let Ok(Some(mut record)) = self.record(&name, delivery).await else { return };
        match self.reply(entry, &name, &mut record).await {
            Ok(()) => {
                self.count_reply(entry, &name, "sent");
                self.finish(entry, &name, record, DeliveryState::Done, None).await;
            }
            Err(Stop::Leave) => {}
            Err(Stop::Fail(why)) => {
                self.count_reply(entry, &name, "failed");
                self.finish(entry, &name, record, DeliveryState::Failed, Some(why)).await;
            }
        }
    }

    /// Posts what is left of an answer, until the service has taken it.
    async fn reply(&self, entry: &Entry, name: &str, record: &mut Record) -> Result<(), Stop> {
        let answer = self.answer(record, None).await?;
        loop {
            let stored = entry.stored();
            let (Some(reply), Some(to)) = (&stored.channel.reply, record.delivery.reply_to.clone()) else {
                return Ok(());
            };
            let texts = texts(reply, record, &answer);
            let Some(text) = texts.get(record.sent) else { return Ok(()) };
            let wait = record.next_at.map_or(0, |at| at.millis().saturating_sub(now().millis()));
            tokio::time::sleep(Duration::from_millis(u64::try_from(wait).unwrap_or(0))).await;
            let token = stored.reply_token.as_ref().and_then(|token| self.0.secrets.find(&token_name(name), token));
            let about = json!({
                "part": record.sent + 1,
                "parts": texts.len(),
                "session_id": record.delivery.session_id,
                "turn_id": answer.turn_id,
                "outcome": answer.outcome,
                "conversation": record.delivery.conversation,
                "delivery_id": record.delivery.delivery_id,
            });
            let outgoing = request(reply, &to, text, token.as_deref(), &about);
            let verdict = match self.0.sender.post(&outgoing.url, &outgoing.headers, outgoing.body).await {
                Ok(said) => judge(reply.to, said.status, said.retry_after, &said.body),
                Err(error) => Verdict::Again { why: error.to_string(), after_seconds: None },
            };
            match verdict {
                Verdict::Taken => {
                    record.sent += 1;
                    (record.attempts, record.next_at, record.error) = (0, None, None);
                }
                Verdict::Never { why } => return Err(Stop::Fail(why)),
                Verdict::Again { why, after_seconds } => {
                    record.attempts += 1;
                    let key = record.delivery.message_id.as_str();
                    let Some(pause) = pause_ms(key, record.attempts) else { return Err(Stop::Fail(why)) };
                    let asked = after_seconds.map_or(0, |seconds| i64::try_from(seconds * 1000).unwrap_or(i64::MAX));
                    record.next_at = Some(now().plus_millis(pause.max(asked)));
                    record.error = Some(why);
                }
            }
            self.write_record(name, entry, record).await?;
        }
    }

    async fn finish(&self, entry: &Entry, name: &str, mut record: Record, state: DeliveryState, why: Option<String>) {
        drop(entry.work.lock().waiters.remove(&record.delivery.delivery_id));
        if let Some(why) = &why {
            tracing::warn!(channel = name, delivery = record.delivery.delivery_id, why, "a delivery failed");
        }
        (record.state, record.error, record.next_at) = (state, why, None);
        if let Err(error) = self.write_record(name, entry, &record).await {
            tracing::debug!(channel = name, %error, "the end of a delivery is not written down");
        }
    }

    fn count_reply(&self, entry: &Entry, name: &str, result: &'static str) {
        let mut counts = entry.counts.lock();
        match result {
            "sent" => counts.replied += 1,
            _ => counts.reply_failed += 1,
        }
        drop(counts);
        self.noted();
        self.0.metrics.channel_reply(name, result);
    }
}

/// The messages that an answer becomes.
fn texts(reply: &Reply, record: &Record, answer: &Answer) -> Vec<String> {
    let outcome = match answer.outcome {
        Outcome::Completed => "completed",
        Outcome::Stopped => "stopped",
        Outcome::Interrupted => "interrupted",
        Outcome::Failed => "failed",
    };
    let names = [
        ("answer", answer.text.as_str()),
        ("outcome", outcome),
        ("session_id", record.delivery.session_id.as_str()),
        ("turn_id", answer.turn_id.as_str()),
        ("delivery_id", record.delivery.delivery_id.as_str()),
    ];
    parts(reply, &names)
}
