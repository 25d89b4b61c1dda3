//! A store that lets the hub see what was committed. It keeps nothing and changes nothing.

use std::sync::Arc;

use turnloom_core::blob::BlobId;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};

use super::hub::Hub;
use crate::log::{
    Answer, Append, BlobRange, BlobSlice, Claim, Created, NewSession, ReadRange, SessionPage, SessionQuery, SessionRow,
    Store,
};

/// A store and who is told of its commits.
#[derive(Debug)]
pub struct Observed {
    store: Arc<dyn Store>,
    hub: Hub,
}

impl Observed {
    pub fn new(store: Arc<dyn Store>, hub: Hub) -> Self {
        Self { store, hub }
    }
}

impl Store for Observed {
    fn create(&self, new: NewSession) -> Answer<'_, Created> {
        self.store.create(new)
    }

    fn claim(&self, id: &SessionId) -> Answer<'_, Claim> {
        self.store.claim(id)
    }

    fn append(&self, append: Append) -> Answer<'_, Seq> {
        let session = append.session.clone();
        let records: Vec<Record> = append.records.iter().filter(|record| self.hub.wants(record)).cloned().collect();
        let appended = self.store.append(append);
        if records.is_empty() {
            return appended;
        }
        Box::pin(async move {
            let head = appended.await?;
            self.hub.committed(&session, &records);
            Ok(head)
        })
    }

    fn read(&self, id: &SessionId, range: ReadRange) -> Answer<'_, Vec<Record>> {
        self.store.read(id, range)
    }

    fn session(&self, id: &SessionId) -> Answer<'_, Option<SessionRow>> {
        self.store.session(id)
    }

    fn sessions(&self, query: SessionQuery) -> Answer<'_, SessionPage> {
        self.store.sessions(query)
    }

    fn unsettled(&self) -> Answer<'_, Vec<SessionId>> {
        self.store.unsettled()
    }

    fn waiting(&self) -> Answer<'_, Vec<SessionRow>> {
        self.store.waiting()
    }

    fn delete(&self, id: &SessionId) -> Answer<'_, bool> {
        let (id, deleted) = (id.clone(), self.store.delete(id));
        Box::pin(async move {
            let was_there = deleted.await?;
            self.hub.forget(&id);
            Ok(was_there)
        })
    }

    fn blob(&self, id: &BlobId, range: BlobRange) -> Answer<'_, Option<BlobSlice>> {
        self.store.blob(id, range)
    }

    fn close(&self) -> Answer<'_, ()> {
        self.store.close()
    }
}
