//! Every fold whose result is stored as a snapshot, and the check that recomputes all of them. A new kind of snapshot must be added to the list here.
//!
//! Not here: how each is kept and used; that is its owner's.

use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::projection::{Muted as _, Projection};
use turnloom_core::session::State;
use turnloom_core::view::{Fold, Ops, Part};

use crate::log::{self, Log, SessionQuery, SnapshotName};
use crate::{reader, session};

/// How many sessions are listed at a time.
const PAGE: usize = 1_024;

/// A fold that is done once more.
trait Refold: Send {
    fn apply(&mut self, id: &SessionId, records: &[Record]) -> Result<(), session::Error>;

    /// What should be kept as this part.
    fn part(&mut self, part: u32) -> Option<Vec<u8>>;
}

struct Kind {
    name: &'static str,
    version: u32,
    begin: fn() -> Box<dyn Refold>,
}

const KINDS: &[Kind] = &[
    Kind { name: session::STATE, version: State::VERSION, begin: || Box::<State>::default() },
    Kind { name: reader::VIEW, version: Fold::VERSION, begin: || Box::<Fold>::default() },
];

impl Refold for State {
    fn apply(&mut self, id: &SessionId, records: &[Record]) -> Result<(), session::Error> {
        session::fold(self, id, records)
    }

    fn part(&mut self, part: u32) -> Option<Vec<u8>> {
        self.store().ok().filter(|_| part == 0)
    }
}

impl Refold for Fold {
    fn apply(&mut self, _id: &SessionId, records: &[Record]) -> Result<(), session::Error> {
        for record in records {
            match record.decode() {
                Ok(envelope) => Projection::apply(self, &envelope, &mut Ops::muted()),
                Err(_) => self.miss(record.seq),
            }
        }
        Ok(())
    }

    fn part(&mut self, part: u32) -> Option<Vec<u8>> {
        self.store(Part::from_number(part))
    }
}

/// What a check has found.
#[derive(Debug, Default)]
pub struct Report {
    /// Those that are what the log says.
    pub right: usize,
    /// Those of another version, which are made anew when their session is opened.
    pub outdated: usize,
    /// Those that are not what the log says. They are gone now.
    pub wrong: Vec<Wrong>,
    /// Logs that cannot be folded, so that nothing can be said of what is kept beside them.
    pub unreadable: Vec<String>,
}

/// A snapshot that was not what its log says.
#[derive(Debug)]
pub struct Wrong {
    pub session: SessionId,
    pub kind: String,
    pub seq: Seq,
}

/// Recomputes every snapshot and compares. A wrong one is removed; it is made again when it is needed.
pub async fn check(log: &Log) -> Result<Report, log::Error> {
    let mut report = Report::default();
    for archived in [false, true] {
        let mut cursor = None;
        loop {
            let query = SessionQuery { archived, limit: PAGE, cursor, ..SessionQuery::default() };
            let page = log.sessions(query).await?;
            for row in page.sessions {
                check_session(log, &row.id, &mut report).await?;
            }
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
    }
    Ok(report)
}

async fn check_session(log: &Log, id: &SessionId, report: &mut Report) -> Result<(), log::Error> {
    let names = log.snapshots(id).await?;
    for kind in KINDS {
        let (mut kept, outdated): (Vec<SnapshotName>, Vec<SnapshotName>) =
            names.iter().filter(|name| name.kind == kind.name).cloned().partition(|name| name.version == kind.version);
        report.outdated += outdated.len();
        kept.sort_by_key(|name| name.seq);
        match wrong_one(log, id, (kind.begin)(), &kept).await? {
            Verdict::Right => report.right += kept.len(),
            Verdict::Wrong(seq) => {
                log.forget(id, kind.name).await?;
                report.wrong.push(Wrong { session: id.clone(), kind: kind.name.to_owned(), seq });
            }
            Verdict::Unreadable(error) => report.unreadable.push(error.to_string()),
        }
    }
    report.outdated += names.iter().filter(|name| KINDS.iter().all(|kind| kind.name != name.kind)).count();
    Ok(())
}

enum Verdict {
    Right,
    Wrong(Seq),
    Unreadable(session::Error),
}

/// Folds a log and looks at each of these as soon as the fold is where it was made.
async fn wrong_one(
    log: &Log,
    id: &SessionId,
    mut fold: Box<dyn Refold>,
    kept: &[SnapshotName],
) -> Result<Verdict, log::Error> {
    let mut at = Seq::ZERO;
    for name in kept {
        let after = at;
        let apply = |records: &[Record]| {
            at = records.last().map_or(at, |last| last.seq);
            fold.apply(id, records)
        };
        match log.fold(id, after, name.seq, apply).await {
            Ok(()) => {}
            Err(session::Error::Log(error)) => return Err(error),
            Err(error) => return Ok(Verdict::Unreadable(error)),
        }
        if at < name.seq {
            // It says that it is of more than there is.
            return Ok(Verdict::Wrong(name.seq));
        }
        let found = log.snapshot(id, &name.kind, name.part).await?.map(|kept| kept.bytes);
        if found.as_deref().is_none_or(|found| fold.part(name.part).as_deref() != Some(found)) {
            return Ok(Verdict::Wrong(name.seq));
        }
    }
    Ok(Verdict::Right)
}
