//! Which devices are told what, and what is taken back. The decision is made anew whenever something has changed: it is a function of what is in the
//! inbox, of what each device was told, and of the time.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Item, Kind, Mark, QuietHours};
use crate::event::Hold;
use crate::time::Timestamp;

/// How long it is waited, unless somebody says otherwise: who looks at the page has seen it by then.
const DELAY_SECONDS: u32 = 5;
const MAX_DELAY_SECONDS: u32 = 3600;

/// How much of a text is told.
const TITLE_CHARS: usize = 120;
const BODY_CHARS: usize = 300;

/// Which turns that ended are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DoneChoice {
    None,
    /// Those that failed.
    #[default]
    Failed,
    All,
}

/// What is told, and when. What waits for a person is always told.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "NotificationSettings")]
pub struct Settings {
    /// Which turns that ended.
    pub done: DoneChoice,
    /// When nothing is told; what still waits is told afterwards.
    pub quiet: Option<QuietHours>,
    /// How long something is there before it is told: whoever sees it meanwhile is not disturbed elsewhere.
    pub delay_seconds: u32,
    /// Where people find the workbench, for links in messages of services such as ntfy.
    pub page_url: Option<String>,
    /// Whom the operator of a push service may write to: `mailto:...` or `https://...`.
    pub contact: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { done: DoneChoice::default(), quiet: None, delay_seconds: DELAY_SECONDS, page_url: None, contact: None }
    }
}

impl Settings {
    /// What is wrong with them.
    pub fn check(&self) -> Result<(), String> {
        if let Some(quiet) = &self.quiet {
            quiet.check()?;
        }
        if self.delay_seconds > MAX_DELAY_SECONDS {
            return Err(format!("`delay_seconds` is at most {MAX_DELAY_SECONDS}"));
        }
        if let Some(url) = &self.page_url {
            crate::webhook::address::Target::parse(url).map_err(|error| format!("`page_url`: {error}"))?;
        }
        match &self.contact {
            Some(contact) if !contact.starts_with("mailto:") && !contact.starts_with("https://") => {
                Err("`contact` begins with mailto: or https://".to_owned())
            }
            Some(contact) if contact.len() > 200 || !contact.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err("`contact` has at most 200 characters of an address".to_owned())
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// What a device was told of an item.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    /// When it came back from a snooze, if it did: it is told anew then.
    pub occasion: Option<Timestamp>,
}

/// Whether an item is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling {
    Now(Told),
    /// Then, if it is still there. What was told of it before stands, or is taken back.
    Later {
        at: Timestamp,
        stands: bool,
    },
    Never,
}

/// Whether an item is told, by somebody's choice.
pub fn telling(item: &Item, mark: Mark, (settings, done): (&Settings, DoneChoice), now: Timestamp) -> Telling {
    let is_chosen = match item.kind {
        Kind::Failed => done != DoneChoice::None,
        Kind::Finished => done == DoneChoice::All,
        // Who stops a turn and holds the queue knows that it waits.
        Kind::Held => !matches!(item.held, Some(Hold::Stopped | Hold::Archived)),
        // A call of a client's own tool waits for a program.
        Kind::Ask => item.ask.as_ref().is_none_or(|ask| ask.client_call().is_none()),
        Kind::Budget | Kind::LostAsk => true,
    };
    if mark.read_at.is_some() || !is_chosen {
        return Telling::Never;
    }
    if let Some(at) = mark.snoozed_until.filter(|until| now < *until) {
        return Telling::Later { at, stands: false };
    }
    let told = Told { occasion: mark.snoozed_until };
    // Nobody has to wait for what they wanted to be reminded of.
    let due = told.occasion.unwrap_or_else(|| item.since.plus_millis(i64::from(settings.delay_seconds) * 1000));
    if now < due {
        return Telling::Later { at: due, stands: true };
    }
    let quiet = settings.quiet.as_ref().filter(|quiet| !(quiet.except_needs_you && item.kind.needs_you()));
    match quiet.and_then(|quiet| quiet.until(now)) {
        Some(at) => Telling::Later { at, stands: true },
        None => Telling::Now(told),
    }
}

/// What a device has to be told next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// Items to be told, in the order of the inbox.
    pub tell: Vec<(String, Told)>,
    /// Ids that are taken back.
    pub withdraw: Vec<String>,
    /// When to look again, if nothing happens.
    pub look_at: Option<Timestamp>,
}

/// What one device has to be told: it knows of everything before it was added.
pub fn decide(
    items: &[Item],
    marks: &BTreeMap<String, Mark>,
    (settings, done): (&Settings, Option<DoneChoice>),
    (added_at, told): (Timestamp, &BTreeMap<String, Told>),
    now: Timestamp,
) -> Decision {
    let mut decision = Decision::default();
    let mut standing = BTreeSet::new();
    let choice = (settings, done.unwrap_or(settings.done));
    for item in items {
        let mark = marks.get(&item.item_id).copied().unwrap_or_default();
        let before = told.get(&item.item_id);
        let telling = telling(item, mark, choice, now);
        if matches!(telling, Telling::Now(_) | Telling::Later { stands: true, .. }) {
            standing.insert(item.item_id.as_str());
        }
        match telling {
            Telling::Now(telling) if before != Some(&telling) => {
                // A reminder is new, whatever it is about.
                if item.since >= added_at || telling.occasion.is_some_and(|at| at >= added_at) {
                    decision.tell.push((item.item_id.clone(), telling));
                }
            }
            Telling::Later { at, .. } => {
                decision.look_at = Some(decision.look_at.map_or(at, |known| known.min(at)));
            }
            Telling::Now(_) | Telling::Never => {}
        }
    }
    decision.withdraw = told.keys().filter(|id| !standing.contains(id.as_str())).cloned().collect();
    decision
}

/// What a device shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub title: String,
    pub body: String,
    /// Where in the workbench it leads.
    pub path: String,
    pub needs_you: bool,
}

/// An item in words.
pub fn notice(item: &Item) -> Notice {
    let name = if item.session_title.is_empty() { "A session" } else { item.session_title.as_str() };
    let title = match item.kind {
        Kind::Ask => format!("{name} needs you"),
        Kind::Budget => format!("{name} has reached its budget"),
        Kind::LostAsk => format!("{name} could not wait for you"),
        Kind::Held => format!("{name} waits to go on"),
        Kind::Failed => format!("{name} failed"),
        Kind::Finished => format!("{name} is done"),
    };
    let needs_you = item.kind.needs_you();
    let path = format!("/#/s/{}", item.session_id);
    Notice { title: cut(&title, TITLE_CHARS), body: cut(&item.title, BODY_CHARS), path, needs_you }
}

fn cut(text: &str, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= chars {
        return line;
    }
    let beginning: String = line.chars().take(chars.saturating_sub(1)).collect();
    format!("{beginning}…")
}
