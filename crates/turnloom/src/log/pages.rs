//! Whole logs, or long parts of them, page by page.
//!
//! Not here: waiting for more. Followers do that.

use std::ops::ControlFlow;

use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};

use super::{Error, Log, ReadRange};

/// Records that are read at a time, unless they are as large as a page may be before that.
const PAGE: usize = 4_096;

/// What is left of a part of a log.
#[derive(Debug)]
pub struct Pages {
    log: Log,
    id: SessionId,
    after: Seq,
    upto: Seq,
}

impl Log {
    /// The records after one position and up to another.
    pub fn pages(&self, id: &SessionId, after: Seq, upto: Seq) -> Pages {
        Pages { log: self.clone(), id: id.clone(), after, upto }
    }

    /// Hands over each record after one position and up to another, until there are no more or somebody has seen enough.
    pub async fn scan(
        &self,
        id: &SessionId,
        after: Seq,
        upto: Seq,
        mut take: impl FnMut(Record) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut pages = self.pages(id, after, upto);
        while let Some(page) = pages.next().await? {
            if page.into_iter().try_for_each(&mut take).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Folds the records after one position and up to another, a page at a time, until there are no more or one does not fit.
    pub async fn fold<E: From<Error>>(
        &self,
        id: &SessionId,
        after: Seq,
        upto: Seq,
        mut apply: impl FnMut(&[Record]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut pages = self.pages(id, after, upto);
        while let Some(page) = pages.next().await? {
            apply(&page)?;
        }
        Ok(())
    }
}

impl Pages {
    /// The next page; nothing at the end, also where the log ends before it should.
    pub async fn next(&mut self) -> Result<Option<Vec<Record>>, Error> {
        self.next_of(PAGE).await
    }

    /// The same, of so many records at most.
    pub async fn next_of(&mut self, limit: usize) -> Result<Option<Vec<Record>>, Error> {
        if self.after >= self.upto {
            return Ok(None);
        }
        let mut page = self.log.read(&self.id, ReadRange::After { after: self.after, limit }).await?;
        page.truncate(page.partition_point(|record| record.seq <= self.upto));
        let Some(last) = page.last() else { return Ok(None) };
        self.after = last.seq;
        Ok(Some(page))
    }
}
