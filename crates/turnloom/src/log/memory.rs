//! An in-memory store in a few maps, for tests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::pin::Pin;

use turnloom_core::blob::{Blob, BlobId};
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};

use super::document::{check, expect};
use super::{
    Answer, Append, BlobOwner, BlobRange, BlobSlice, Change, Claim, Commit, Created, Document, DocumentChange,
    DocumentQuery, Epoch, Error, KeyOrder, NewSession, PAGE_BYTES, PageEnd, Position, ReadRange, Revision, SessionPage,
    SessionQuery, SessionRow, Snapshot, SnapshotName, Stats, Store, Tails, new_head,
};
use crate::sync::Locked;

#[derive(Debug)]
pub(super) struct Memory {
    state: Locked<State>,
    tails: Tails,
    stats: Stats,
}

#[derive(Debug, Default)]
struct State {
    sessions: BTreeMap<SessionId, Entry>,
    blobs: HashMap<BlobId, Blob>,
    keys: i64,
    feed: Vec<Commit>,
    documents: BTreeMap<(&'static str, String), Document>,
    revision: Revision,
    closed: bool,
}

#[derive(Debug)]
struct Entry {
    key: i64,
    row: SessionRow,
    records: Vec<Record>,
    blobs: BTreeSet<BlobId>,
    snapshots: BTreeMap<(String, u32), Snapshot>,
}

impl Memory {
    pub(super) fn new(tails: Tails) -> Self {
        Self { state: Locked::default(), tails, stats: Stats::default() }
    }

    /// Everything happens under one lock, publishing too: the order of commits is the order of publications.
    fn answer<T: Send + 'static>(&self, work: impl FnOnce(&mut State, &Tails) -> Result<T, Error>) -> Answer<'_, T> {
        let mut state = self.state.lock();
        let result = if state.closed { Err(Error::Closed) } else { work(&mut state, &self.tails) };
        Box::pin(std::future::ready(result))
    }
}

impl State {
    /// Adds a commit to the feed.
    fn note(&mut self, id: &SessionId, change: Change) -> Position {
        let position = Position(self.feed.last().map_or(0, |last| last.position.0) + 1);
        self.feed.push(Commit { position, session: id.clone(), change, records: None });
        position
    }

    fn entry(&mut self, id: &SessionId) -> Result<&mut Entry, Error> {
        self.sessions.get_mut(id).ok_or_else(|| Error::NotFound(id.clone()))
    }

    fn keep(&mut self, blobs: Vec<Blob>) -> Vec<BlobId> {
        let ids = blobs.iter().map(|blob| blob.id.clone()).collect();
        for blob in blobs {
            self.blobs.entry(blob.id.clone()).or_insert(blob);
        }
        ids
    }

    fn newest_first(&self, wanted: impl Fn(&SessionRow) -> bool) -> Vec<(PageEnd, SessionRow)> {
        let place = |entry: &Entry| PageEnd { updated_at: entry.row.updated_at.millis(), key: entry.key };
        let entries = self.sessions.values().filter(|entry| wanted(&entry.row));
        let mut rows: Vec<_> = entries.map(|entry| (place(entry), entry.row.clone())).collect();
        rows.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
        rows
    }
}

impl Store for Memory {
    fn create(&self, new: NewSession) -> Answer<'_, Created> {
        self.answer(|state, tails| {
            let head = new_head(&new.id, Seq::ZERO, &new.records)?;
            if let Some(entry) = state.sessions.get(&new.id) {
                return Ok(Created::Exists(Box::new(entry.row.clone())));
            }
            let mut blobs = match &new.share_blobs_of {
                Some(parent) => state.entry(parent)?.blobs.clone(),
                None => BTreeSet::new(),
            };
            blobs.extend(state.keep(new.blobs));
            let row = SessionRow {
                id: new.id.clone(),
                runtime: new.runtime,
                params: new.params,
                head,
                epoch: Epoch::default(),
                created_at: new.created_at,
                updated_at: new.created_at,
                summary: new.summary,
                agent: None,
                damaged: None,
            };
            state.keys += 1;
            let position = state.note(&new.id, Change::Appended { after: Seq::ZERO, head });
            tails.publish(position, &new.id, Seq::ZERO, &new.records);
            state.sessions.insert(
                new.id,
                Entry { key: state.keys, row, records: new.records, blobs, snapshots: BTreeMap::new() },
            );
            Ok(Created::New)
        })
    }

    fn claim(&self, id: &SessionId) -> Answer<'_, Claim> {
        self.answer(|state, _| {
            let row = &mut state.entry(id)?.row;
            row.epoch.0 += 1;
            Ok(Claim { epoch: row.epoch, head: row.head })
        })
    }

    fn append(&self, append: Append) -> Answer<'_, Seq> {
        self.answer(|state, tails| {
            let session = append.session;
            let head = new_head(&session, append.expected_head, &append.records)?;
            let row = &state.entry(&session)?.row;
            if row.epoch != append.epoch {
                return Err(Error::Fenced { session, held: append.epoch, current: row.epoch });
            }
            if row.head != append.expected_head {
                return Err(Error::HeadMoved { session, expected: append.expected_head, actual: row.head });
            }
            let blobs = state.keep(append.blobs);
            let after = append.expected_head;
            let position = state.note(&session, Change::Appended { after, head });
            tails.publish(position, &session, after, &append.records);
            let entry = state.entry(&session)?;
            entry.blobs.extend(blobs);
            entry.records.extend(append.records);
            entry.row = SessionRow {
                head,
                updated_at: append.at,
                summary: append.summary,
                agent: append.agent.or_else(|| entry.row.agent.clone()),
                ..entry.row.clone()
            };
            Ok(head)
        })
    }

    fn read(&self, id: &SessionId, range: ReadRange) -> Answer<'_, Vec<Record>> {
        self.answer(|state, _| {
            let records = &state.entry(id)?.records;
            let mut bytes = 0;
            let fits = |record: &&Record| {
                let fits = bytes < PAGE_BYTES;
                bytes += record.json.len();
                fits
            };
            Ok(match range {
                ReadRange::After { after, limit } => {
                    records.iter().filter(|record| record.seq > after).take(limit).take_while(fits).cloned().collect()
                }
                ReadRange::Before { before, limit } => {
                    let end = records.partition_point(|record| record.seq < before);
                    let mut page: Vec<Record> =
                        records[end.saturating_sub(limit)..end].iter().rev().take_while(fits).cloned().collect();
                    page.reverse();
                    page
                }
            })
        })
    }

    fn session(&self, id: &SessionId) -> Answer<'_, Option<SessionRow>> {
        self.answer(|state, _| Ok(state.sessions.get(id).map(|entry| entry.row.clone())))
    }

    fn sessions(&self, query: SessionQuery) -> Answer<'_, SessionPage> {
        self.answer(|state, _| {
            let end = PageEnd::parse(query.cursor.as_deref())?;
            let q = query.q.unwrap_or_default().to_ascii_lowercase();
            let mut rows = state.newest_first(|row| {
                let found = |text: &str| text.to_ascii_lowercase().contains(&q);
                row.summary.archived == query.archived
                    && query.runtime.as_ref().is_none_or(|runtime| *runtime == row.runtime)
                    && (found(&row.summary.title) || found(row.id.as_str()))
            });
            rows.retain(|(place, _)| *place < end);
            let more = rows.len() > query.limit;
            rows.truncate(query.limit);
            let next = rows.last().filter(|_| more).map(|(place, _)| place.cursor());
            Ok(SessionPage { sessions: rows.into_iter().map(|(_, row)| row).collect(), next })
        })
    }

    fn unsettled(&self) -> Answer<'_, Vec<SessionId>> {
        self.answer(|state, _| {
            let mut open: Vec<_> = state.sessions.values().filter(|entry| !entry.row.summary.at_rest).collect();
            open.sort_by_key(|entry| entry.key);
            Ok(open.into_iter().map(|entry| entry.row.id.clone()).collect())
        })
    }

    fn waiting(&self) -> Answer<'_, Vec<SessionRow>> {
        self.answer(|state, _| {
            let waiting = state.newest_first(|row| !row.summary.asks.is_empty());
            Ok(waiting.into_iter().map(|(_, row)| row).collect())
        })
    }

    fn delete(&self, id: &SessionId) -> Answer<'_, bool> {
        self.answer(|state, tails| {
            let Some(gone) = state.sessions.remove(id) else { return Ok(false) };
            for blob in gone.blobs {
                if !state.sessions.values().any(|entry| entry.blobs.contains(&blob)) {
                    state.blobs.remove(&blob);
                }
            }
            state.feed.retain(|commit| commit.session != *id || commit.change == Change::Removed);
            let position = state.note(id, Change::Removed);
            tails.end(position, id);
            Ok(true)
        })
    }

    fn blob(&self, id: &BlobId, range: BlobRange) -> Answer<'_, Option<BlobSlice>> {
        self.answer(|state, _| {
            Ok(state.blobs.get(id).map(|blob| {
                let size = blob.content.len() as u64;
                let (start, len) = range.within(size);
                let at = |place: u64| usize::try_from(place).unwrap();
                let bytes = blob.content.slice(at(start)..at(start + len));
                BlobSlice { size, media_type: blob.media_type.clone(), start, bytes }
            }))
        })
    }

    fn blob_owners(&self, id: &BlobId) -> Answer<'_, Vec<BlobOwner>> {
        self.answer(|state, _| {
            let owners = state.sessions.values().filter(|entry| entry.blobs.contains(id));
            Ok(owners
                .map(|entry| BlobOwner { session: entry.row.id.clone(), runtime: entry.row.runtime.clone() })
                .collect())
        })
    }

    fn save(&self, snapshots: Vec<Snapshot>) -> Answer<'_, ()> {
        self.answer(|state, _| {
            for snapshot in snapshots.into_iter().filter(Snapshot::fits) {
                let Some(Entry { row, snapshots, .. }) = state.sessions.get_mut(&snapshot.session) else { continue };
                let name = (snapshot.kind.clone(), snapshot.part);
                let replaces = |kept: &Snapshot| snapshot.version != kept.version || snapshot.seq >= kept.seq;
                let is_newer = snapshots.get(&name).is_none_or(replaces);
                if is_newer && snapshot.seq <= row.head {
                    snapshots.insert(name, snapshot);
                }
            }
            Ok(())
        })
    }

    fn snapshot(&self, id: &SessionId, kind: &str, part: u32) -> Answer<'_, Option<Snapshot>> {
        let name = (kind.to_owned(), part);
        self.answer(|state, _| Ok(state.sessions.get(id).and_then(|entry| entry.snapshots.get(&name)).cloned()))
    }

    fn snapshots(&self, id: &SessionId) -> Answer<'_, Vec<SnapshotName>> {
        self.answer(|state, _| {
            let kept = state.sessions.get(id).into_iter().flat_map(|entry| entry.snapshots.values());
            let name = |kept: &Snapshot| SnapshotName {
                kind: kept.kind.clone(),
                part: kept.part,
                version: kept.version,
                seq: kept.seq,
            };
            Ok(kept.map(name).collect())
        })
    }

    fn forget(&self, id: &SessionId, kind: &str) -> Answer<'_, ()> {
        self.answer(|state, _| {
            if let Some(entry) = state.sessions.get_mut(id) {
                entry.snapshots.retain(|(kept, _), _| kept != kind);
            }
            Ok(())
        })
    }

    fn commits(&self, after: Position, limit: usize) -> Answer<'_, Vec<Commit>> {
        self.answer(|state, _| {
            Ok(state.feed.iter().filter(|commit| commit.position > after).take(limit).cloned().collect())
        })
    }

    fn write_documents(&self, changes: Vec<DocumentChange>) -> Answer<'_, Revision> {
        self.answer(|state, _| {
            check(&changes)?;
            for change in &changes {
                let kept = state.documents.get(&(change.kind, change.key.clone()));
                expect(change, kept.map(|document| document.revision))?;
            }
            state.revision.0 += 1;
            let revision = state.revision;
            for DocumentChange { kind, key, json, .. } in changes {
                match json {
                    Some(json) => {
                        state.documents.insert((kind, key.clone()), Document { key, revision, json });
                    }
                    None => {
                        state.documents.remove(&(kind, key));
                    }
                }
            }
            Ok(revision)
        })
    }

    fn document(&self, kind: &'static str, key: &str) -> Answer<'_, Option<Document>> {
        let name = (kind, key.to_owned());
        self.answer(|state, _| Ok(state.documents.get(&name).cloned()))
    }

    fn documents(&self, kind: &'static str, query: DocumentQuery) -> Answer<'_, Vec<Document>> {
        self.answer(|state, _| {
            let of_kind = state.documents.iter().filter(|((of, _), _)| *of == kind).map(|(_, document)| document);
            let mut documents: Vec<&Document> =
                of_kind.filter(|document| document.key.starts_with(&query.prefix)).collect();
            let is_after = |document: &&Document| match (&query.cursor, query.order) {
                (None, _) => true,
                (Some(cursor), KeyOrder::Ascending) => document.key > *cursor,
                (Some(cursor), KeyOrder::Descending) => document.key < *cursor,
            };
            documents.retain(is_after);
            if query.order == KeyOrder::Descending {
                documents.reverse();
            }
            let mut bytes = 0;
            let fits = |document: &&Document| {
                let fits = bytes < PAGE_BYTES;
                bytes += document.json.len();
                fits
            };
            Ok(documents.into_iter().take(query.limit).take_while(fits).cloned().collect())
        })
    }

    fn failed(&self) -> Pin<Box<dyn Future<Output = Error> + Send + '_>> {
        Box::pin(std::future::pending())
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn pending(&self) -> usize {
        0
    }

    fn close(&self) -> Answer<'_, ()> {
        self.state.lock().closed = true;
        Box::pin(std::future::ready(Ok(())))
    }
}
