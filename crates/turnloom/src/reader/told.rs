//! One fact and what its turn says of it, for those who are told of facts one by one. Nothing is kept: the log is read where the fact stands, and back to
//! where its turn began.

use std::ops::ControlFlow;
use std::sync::Arc;

use turnloom_core::event::Envelope;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::webhook::payload::TurnFacts;

use super::Reader;
use crate::log::{Error, ReadRange, SessionRow};

/// Facts that are read back at a time.
const PAGE: usize = 256;

/// A fact with what is around it.
#[derive(Debug)]
pub struct ToldFact {
    pub envelope: Arc<Envelope>,
    pub turn: TurnFacts,
    pub session: SessionRow,
}

impl Reader {
    /// The fact at a position; nothing if its session is gone, or it cannot be read.
    pub async fn fact(&self, id: &SessionId, seq: Seq) -> Result<Option<ToldFact>, Error> {
        let log = &self.0.log;
        let Some(session) = log.session(id).await? else { return Ok(None) };
        let range = ReadRange::After { after: Seq(seq.0.saturating_sub(1)), limit: 1 };
        let found = match log.read(id, range).await {
            Err(Error::NotFound(_)) => return Ok(None),
            found => found?,
        };
        let Some(envelope) = found.first().filter(|record| record.seq == seq).and_then(|record| record.decode().ok())
        else {
            return Ok(None);
        };
        let mut turn = TurnFacts::default();
        let mut before = seq;
        loop {
            let page = log.read(id, ReadRange::Before { before, limit: PAGE }).await?;
            let Some(first) = page.first() else { break };
            before = first.seq;
            let decoded = page.iter().rev().filter_map(|record| record.decode().ok());
            let looked = decoded.into_iter().try_for_each(|one| turn.look_back(&envelope, &one));
            if looked == ControlFlow::Break(()) || before <= Seq(1) {
                break;
            }
        }
        Ok(Some(ToldFact { envelope, turn, session }))
    }
}
