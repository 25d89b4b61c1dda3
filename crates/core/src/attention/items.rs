//! Which things of a session are for a person.

use sha2::{Digest, Sha256};

use super::{Item, Kind};
use crate::event::{Hold, Origin, Outcome};
use crate::id::{Seq, SessionId, TurnId};
use crate::session::BUDGET_TOOL;
use crate::summary::{AskRequest, PendingAsk, Summary, TurnEnd};
use crate::time::Timestamp;

/// What is known of a session beside its log.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    pub id: &'a SessionId,
    pub runtime: &'a str,
    pub created_at: Timestamp,
    pub summary: &'a Summary,
}

/// The name of an item: at most 32 characters that may stand in an address, because push services take no longer topics.
pub fn item_id(session: &SessionId, kind: Kind, thing: &str) -> String {
    let hash = Sha256::digest(format!("{session} {} {thing}", kind.as_str()).as_bytes());
    let hex: String = crate::blob::hex(&hash).chars().take(28).collect();
    format!("in_{hex}")
}

/// What of a session is for a person, whoever has seen it.
pub fn items_of(session: Session<'_>) -> Vec<Item> {
    let summary = session.summary;
    if summary.archived {
        return Vec::new();
    }
    let mut items: Vec<Item> = summary.asks.iter().map(|ask| asked(session, ask)).collect();
    if let Some(lost) = &summary.lost_ask {
        let item = Item {
            lost_ask: Some(lost.clone()),
            // What waited then waits now for somebody to begin again.
            ..item(session, Kind::LostAsk, lost.ask_id.as_str(), &lost.title, lost.lost_at, Seq::ZERO, 1)
        };
        items.push(item);
    }
    // While a turn runs, somebody is at it.
    if let Some(held) = summary.held_since.as_ref().filter(|_| summary.turn.is_none()) {
        let title = match summary.held {
            1 => "1 message waits in the queue".to_owned(),
            count => format!("{count} messages wait in the queue"),
        };
        let thing = held.seq.to_string();
        let held_item = item(session, Kind::Held, &thing, &title, held.at, held.seq, count(summary.held));
        items.push(Item { held: Some(held.why), ..held_item });
    }
    items.extend(summary.last_end.as_ref().and_then(|end| ended(session, end)));
    items
}

fn asked(session: Session<'_>, ask: &PendingAsk) -> Item {
    let is_budget = matches!(&ask.request, AskRequest::Permission(request) if request.tool_name == BUDGET_TOOL);
    let kind = if is_budget { Kind::Budget } else { Kind::Ask };
    let blocks = count(session.summary.queued).saturating_add(1);
    let item = item(session, kind, ask.ask_id.as_str(), &ask.title, ask.asked_at, ask.seq, blocks);
    Item { turn_id: ask.turn_id.clone(), ask: Some(ask.clone()), ..item }
}

fn ended(session: Session<'_>, end: &TurnEnd) -> Option<Item> {
    // Who delegated it hears of it, and what was copied or imported ended elsewhere.
    if end.origin == Origin::Delegation || end.at < session.created_at {
        return None;
    }
    let problem = session.summary.problem.clone();
    let (kind, title) = match end.outcome {
        Outcome::Completed => (Kind::Finished, end.line.clone().unwrap_or_else(|| "Done".to_owned())),
        Outcome::Failed | Outcome::Interrupted => {
            let why = problem.as_ref().map(|problem| problem.message.clone()).or_else(|| end.reason.clone());
            (Kind::Failed, why.unwrap_or_else(|| "The turn failed".to_owned()))
        }
        // Somebody did it, and knows.
        Outcome::Stopped => return None,
    };
    // A lost ask says already that the turn ended, and why.
    if kind == Kind::Failed && session.summary.lost_ask.is_some() {
        return None;
    }
    let item = item(session, kind, &end.seq.to_string(), &title, end.at, end.seq, 0);
    let problem = problem.filter(|_| kind == Kind::Failed);
    Some(Item { turn_id: end.turn_id.clone(), origin: Some(end.origin), problem, ..item })
}

fn item(session: Session<'_>, kind: Kind, thing: &str, title: &str, since: Timestamp, seq: Seq, blocks: u32) -> Item {
    Item {
        item_id: item_id(session.id, kind, thing),
        kind,
        session_id: session.id.clone(),
        session_title: session.summary.title.clone(),
        runtime: session.runtime.to_owned(),
        title: title.to_owned(),
        since,
        seq,
        blocks,
        turn_id: None::<TurnId>,
        origin: None,
        ask: None,
        lost_ask: None,
        problem: None,
        held: None::<Hold>,
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
