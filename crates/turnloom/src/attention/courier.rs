//! Tells devices. What is due is decided anew whenever something has changed; what a device was told is written down once its service has taken it, so a
//! crash in between tells it again, under the same name, which takes the place of the first. Each device has one request on its way, so a slow one delays
//! nobody else.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use turnloom_core::attention::{Decision, Item, Notice, Told, decide, notice, sort};
use turnloom_core::time::Timestamp;
use turnloom_core::webhook::backoff::pause_ms;

use super::devices::secret_name;
use super::documents::{self, ToldByDevice};
use super::push::{self, Vapid};
use super::service::{self, Request};
use super::{Attention, Device, Reached, Way};
use crate::log;
use crate::outgoing::{self, Answer};
use crate::session::now;

/// How long a push service keeps a message for a browser that is away, in seconds.
const NEEDS_YOU_TTL: u32 = 24 * 3600;
const NEWS_TTL: u32 = 6 * 3600;

/// How long nothing is looked at, if nothing happens: the clock of the machine may be set.
const LOOK_AT_LEAST: Duration = Duration::from_mins(10);

/// What is sent.
#[derive(Debug, Clone)]
enum Message {
    Show { notice: Notice, told: Told },
    Withdraw,
}

/// One request that is done.
struct Sent {
    device: Device,
    item: String,
    message: Message,
    result: Result<Answer, String>,
}

struct Courier {
    attention: Attention,
    told: ToldByDevice,
    busy: HashSet<String>,
    /// How often something failed in a row, and when it is tried again.
    failed: HashMap<(String, String), (u32, Timestamp)>,
    sending: JoinSet<Sent>,
}

/// Works until the daemon ends.
pub(super) async fn run(attention: Attention) {
    let closing = attention.0.closing.clone();
    let work = async {
        let mut known = attention.0.position.subscribe();
        // Before everything is known, everything looks settled.
        if known.wait_for(Option::is_some).await.is_err() {
            return Ok(());
        }
        let told = documents::told(&attention.0.log).await?;
        let (busy, failed, sending) = (HashSet::new(), HashMap::new(), JoinSet::new());
        Courier { attention: attention.clone(), told, busy, failed, sending }.work().await
    };
    match closing.run_until_cancelled(work).await {
        None | Some(Ok(())) => {}
        Some(Err(error)) => tracing::debug!(%error, "devices are not told any more"),
    }
}

/// Tells a device something that means nothing.
pub(super) async fn test(attention: &Attention, device: &Device) -> Reached {
    let notice = Notice {
        title: "Turnloom reaches you".to_owned(),
        body: "This is how a session would ask for you.".to_owned(),
        path: "/#/asks".to_owned(),
        needs_you: true,
    };
    let started = Instant::now();
    let result = send(attention, device, "test", &Message::Show { notice, told: Told::default() }).await;
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    match result {
        Ok(answer) if is_taken(&answer) => {
            Reached { delivered: true, status: Some(answer.status), error: None, milliseconds }
        }
        Ok(answer) => {
            let said = String::from_utf8_lossy(&answer.body).chars().take(300).collect::<String>();
            Reached { delivered: false, status: Some(answer.status), error: Some(said), milliseconds }
        }
        Err(error) => Reached { delivered: false, status: None, error: Some(error), milliseconds },
    }
}

impl Courier {
    async fn work(&mut self) -> Result<(), log::Error> {
        let mut revision = self.attention.watch();
        loop {
            revision.borrow_and_update();
            self.forget_removed();
            let look_at = self.send_due();
            let wait = look_at.map_or(LOOK_AT_LEAST, |at| {
                let left = at.millis().saturating_sub(now().millis()).max(1);
                Duration::from_millis(u64::try_from(left).unwrap_or_default()).min(LOOK_AT_LEAST)
            });
            tokio::select! {
                changed = revision.changed() => if changed.is_err() { return Ok(()) },
                Some(sent) = self.sending.join_next() => if let Ok(sent) = sent { self.take(sent).await? },
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    fn forget_removed(&mut self) {
        let known: HashSet<String> = self.attention.0.state.lock().devices.keys().cloned().collect();
        self.told.retain(|device, _| known.contains(device));
        self.failed.retain(|(device, _), _| known.contains(device));
    }

    /// Begins what is due, and says when to look again.
    fn send_due(&mut self) -> Option<Timestamp> {
        let at = now();
        let mut look_at: Option<Timestamp> = None;
        let mut sooner = |at: Timestamp| look_at = Some(look_at.map_or(at, |known| known.min(at)));
        let (items, decisions) = self.decide(at);
        for (device, decision) in decisions {
            if let Some(at) = decision.look_at {
                sooner(at);
            }
            if self.busy.contains(&device.device_id) {
                continue;
            }
            let withdrawn = decision.withdraw.into_iter().map(|item| (item, Message::Withdraw));
            let told = decision.tell.into_iter().filter_map(|(id, told)| {
                let item = items.iter().find(|item| item.item_id == id)?;
                Some((id, Message::Show { notice: notice(item), told }))
            });
            for (item, message) in withdrawn.chain(told) {
                match self.failed.get(&(device.device_id.clone(), item.clone())) {
                    Some((_, again)) if *again > at => sooner(*again),
                    _ => {
                        self.busy.insert(device.device_id.clone());
                        let attention = self.attention.clone();
                        self.sending.spawn(async move {
                            let result = send(&attention, &device, &item, &message).await;
                            Sent { device, item, message, result }
                        });
                        break;
                    }
                }
            }
        }
        look_at
    }

    fn decide(&self, at: Timestamp) -> (Vec<Item>, Vec<(Device, Decision)>) {
        let state = self.attention.0.state.lock();
        if state.devices.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let mut items: Vec<Item> = state.sessions.values().flatten().cloned().collect();
        sort(&mut items, at);
        let nothing = BTreeMap::new();
        let decide = |device: &Device| {
            let told = self.told.get(&device.device_id).unwrap_or(&nothing);
            let settings = (&state.settings, device.done);
            (device.clone(), decide(&items, &state.marks, settings, (device.created_at, told), at))
        };
        let decisions = state.devices.values().map(decide).collect();
        (items, decisions)
    }

    async fn take(&mut self, sent: Sent) -> Result<(), log::Error> {
        let Sent { device, item, message, result } = sent;
        let id = device.device_id;
        self.busy.remove(&id);
        let key = (id.clone(), item.clone());
        let (wait, why) = match result {
            Ok(answer) if is_taken(&answer) => return self.settled(key, &message).await,
            // The browser is gone, or does not want to hear of us.
            Ok(answer) if matches!(device.way, Way::Push(_)) && matches!(answer.status, 404 | 410) => {
                tracing::info!(device = id, status = answer.status, "a browser is not reached any more and is removed");
                // Who has removed it meanwhile has done it.
                return match self.attention.remove_device(&id).await {
                    Err(super::Error::Log(error)) => Err(error),
                    Ok(()) | Err(_) => Ok(()),
                };
            }
            // It does not know how to take something back.
            Ok(answer) if matches!(message, Message::Withdraw) && (400..500).contains(&answer.status) => {
                return self.settled(key, &message).await;
            }
            Ok(answer) => (answer.retry_after, format!("answered {}", answer.status)),
            Err(error) => (None, error),
        };
        let failed = self.failed.get(&key).map_or(1, |(failed, _)| failed + 1);
        tracing::debug!(device = id, failed, why, "a device was not told");
        let asked = wait.and_then(|seconds| i64::try_from(seconds).ok()).unwrap_or_default() * 1000;
        match pause_ms(&format!("{id}/{item}"), failed) {
            Some(pause) => {
                self.failed.insert(key, (failed, now().plus_millis(pause.max(asked))));
                Ok(())
            }
            // It was tried for days.
            None => self.settled(key, &message).await,
        }
    }

    /// Nothing more is to be said of it for now.
    async fn settled(&mut self, (device, item): (String, String), message: &Message) -> Result<(), log::Error> {
        let told = match message {
            Message::Show { told, .. } => Some(*told),
            Message::Withdraw => None,
        };
        documents::keep_told(&self.attention.0.log, &device, &item, told).await?;
        let of_device = self.told.entry(device.clone()).or_default();
        match told {
            Some(told) => of_device.insert(item.clone(), told),
            None => of_device.remove(&item),
        };
        self.failed.remove(&(device, item));
        Ok(())
    }
}

fn is_taken(answer: &Answer) -> bool {
    (200..300).contains(&answer.status)
}

async fn send(attention: &Attention, device: &Device, tag: &str, message: &Message) -> Result<Answer, String> {
    let settings = attention.settings();
    let sender = &attention.0.sender;
    match &device.way {
        Way::Push(subscription) => {
            let (content, ttl, urgency) = match message {
                Message::Show { notice, .. } if notice.needs_you => (shown(tag, notice), NEEDS_YOU_TTL, "high"),
                Message::Show { notice, .. } => (shown(tag, notice), NEWS_TTL, "normal"),
                Message::Withdraw => (json!({ "type": "withdraw", "tag": tag }), NEEDS_YOU_TTL, "normal"),
            };
            let vapid = Vapid::open(&attention.0.secrets).map_err(|error| error.to_string())?;
            let target = sender.check(&subscription.endpoint).map_err(|error| error.to_string())?;
            let signed = vapid.authorization(&target, settings.contact.as_deref(), now());
            let signed = signed.ok_or("the request cannot be signed")?;
            let body = push::encrypt(&subscription.keys, content.to_string().as_bytes());
            let body = body.ok_or("the message cannot be encrypted")?;
            let headers = [
                ("content-type", "application/octet-stream".to_owned()),
                ("content-encoding", "aes128gcm".to_owned()),
                ("ttl", ttl.to_string()),
                ("urgency", urgency.to_owned()),
                // What was not delivered yet is replaced.
                ("topic", tag.to_owned()),
                ("authorization", signed),
            ];
            told(sender.post(&subscription.endpoint, &headers, body).await)
        }
        Way::Service { webhook, token } => {
            let page = settings.page_url.as_deref();
            let request = match message {
                Message::Show { notice, .. } => service::show(webhook.preset, &webhook.url, tag, notice, page),
                Message::Withdraw => service::withdraw(webhook.preset, &webhook.url, tag),
            };
            let mut headers = vec![("content-type", "application/json".to_owned())];
            if let Some(source) = token {
                let token = attention.0.secrets.find(&secret_name(&device.device_id), source);
                headers.push(("authorization", format!("Bearer {}", token.ok_or("the service's token is not there")?)));
            }
            told(match request {
                Request::Post { url, body } => sender.post(&url, &headers, body.to_string()).await,
                Request::Delete { url } => sender.delete(&url, &headers).await,
            })
        }
    }
}

fn shown(tag: &str, notice: &Notice) -> Value {
    let Notice { title, body, path, needs_you } = notice;
    json!({ "type": "show", "tag": tag, "title": title, "body": body, "path": path, "needs_you": needs_you })
}

fn told(result: Result<Answer, outgoing::Error>) -> Result<Answer, String> {
    result.map_err(|error| error.to_string())
}
