//! The slash commands that each runtime's agent last reported, so that a session that has not started yet can offer them. They are kept in memory;
//! after a restart they are looked up in the newest sessions.

use std::collections::HashMap;

use serde_json::Value;
use turnloom_core::event::{Envelope, Event, SlashCommand};
use turnloom_core::id::Seq;
use turnloom_core::session::IMPORTED;

use super::{Error, Sessions};
use crate::log::{SessionQuery, SessionRow};
use crate::sync::Locked;

/// How many sessions are looked at for a runtime, and how far into each: an agent says what it understands as it starts, which is early.
const SESSIONS: usize = 4;
const EVENTS: u64 = 64;

type Known = HashMap<String, Vec<SlashCommand>>;

#[derive(Debug, Default)]
pub(super) struct SlashCommands(Locked<Known>);

impl SlashCommands {
    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock()
    }

    /// Remembers what an agent has said of itself.
    pub(super) fn remember(&self, runtime: &str, facts: &[Envelope]) {
        if let Some(commands) = facts.iter().rev().find_map(|fact| commands_in(&fact.event)) {
            self.lock().insert(runtime.to_owned(), commands.to_vec());
        }
    }
}

fn commands_in(event: &Event) -> Option<&[SlashCommand]> {
    match event {
        Event::SessionReady(ready) => ready.commands.as_deref().filter(|commands| !commands.is_empty()),
        _ => None,
    }
}

impl Sessions {
    /// The commands that an agent of this runtime told last; none if it has never told any.
    pub async fn slash_commands(&self, runtime: &str) -> Result<Vec<SlashCommand>, Error> {
        if let Some(known) = self.0.slash_commands.lock().get(runtime) {
            return Ok(known.clone());
        }
        let query = SessionQuery { runtime: Some(runtime.to_owned()), limit: SESSIONS, ..SessionQuery::default() };
        let mut found = Vec::new();
        for row in self.log().sessions(query).await?.sessions {
            found = self.slash_commands_of(&row).await?;
            if !found.is_empty() {
                break;
            }
        }
        // What an agent has said meanwhile is newer.
        Ok(self.0.slash_commands.lock().entry(runtime.to_owned()).or_insert(found).clone())
    }

    /// What the agent of a session told. What came from a file was told by somebody else's.
    async fn slash_commands_of(&self, row: &SessionRow) -> Result<Vec<SlashCommand>, Error> {
        let after = Seq(row.params.get(IMPORTED).and_then(Value::as_u64).unwrap_or_default());
        let upto = Seq(after.0.saturating_add(EVENTS));
        let records = self.log().pages(&row.id, after, upto).next().await?.unwrap_or_default();
        let mut facts = records.iter().rev().filter_map(|record| record.decode().ok());
        Ok(facts.find_map(|fact| commands_in(&fact.event).map(<[_]>::to_vec)).unwrap_or_default())
    }
}
