//! What is measured: a log or a whole daemon on a fresh directory, and events to put into it.

use std::path::Path;

use tempfile::TempDir;
use tokio::runtime::Runtime;
use turnloom::config::Config;
use turnloom::daemon::{Daemon, Options, Token};
use turnloom::log::{Append, CrashSafety, Durability, Epoch, Log, NewSession};
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::summary::Summary;
use turnloom_core::time::Timestamp;

use super::support::Client;

/// The size of an event: a few words of text and what stands around them.
pub(crate) const EVENT_BYTES: usize = 200;

/// A directory on the disk that the build is on; the system's temporary one may be memory.
pub(crate) fn directory() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory")
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime")
}

pub(crate) fn open_log(data: &Path) -> Log {
    Log::open(data, CrashSafety::Power).expect("a log")
}

/// A daemon in this process, which asks nobody for a token.
pub(crate) struct Served {
    pub(crate) daemon: Daemon,
    pub(crate) client: Client,
    pub(crate) runtime: Runtime,
    /// Gone with it, if it is its own.
    _data: Option<TempDir>,
}

impl Served {
    pub(crate) fn start() -> Self {
        Self::start_with(|_| {})
    }

    pub(crate) fn start_with(set: impl FnOnce(&mut Config)) -> Self {
        let data = directory();
        let served = Self::start_at(data.path(), set);
        Self { _data: Some(data), ..served }
    }

    /// A daemon on a directory that somebody else keeps.
    pub(crate) fn start_in(data: &Path) -> Self {
        Self::start_at(data, |_| {})
    }

    fn start_at(data: &Path, set: impl FnOnce(&mut Config)) -> Self {
        let runtime = runtime();
        let mut config = Config { port: 0, ..Config::default() };
        set(&mut config);
        let options = Options {
            config,
            data: data.to_owned(),
            token: Token::None,
            program: std::env::current_exe().expect("this program"),
        };
        let daemon = runtime.block_on(Daemon::start(options)).expect("a daemon");
        let client = Client::new(&daemon.address.to_string(), None);
        Self { daemon, client, runtime, _data: None }
    }

    pub(crate) fn log(&self) -> &Log {
        self.daemon.sessions.log()
    }

    pub(crate) fn stop(self) {
        self.runtime.block_on(self.daemon.stop()).expect("it stops");
    }
}

/// The one who writes a session's log.
pub(crate) struct Writer {
    pub(crate) id: SessionId,
    epoch: Epoch,
    head: Seq,
}

impl Writer {
    pub(crate) async fn create(log: &Log, name: &str) -> Self {
        let id = SessionId::trusted(name);
        let new = NewSession {
            id: id.clone(),
            runtime: "mock".to_owned(),
            params: serde_json::json!({}),
            created_at: Timestamp::from_millis(0),
            records: Vec::new(),
            blobs: Vec::new(),
            summary: summary(),
            share_blobs_of: None,
        };
        log.create(new).await.expect("a session");
        let claim = log.claim(&id).await.expect("a claim");
        Self { id, epoch: claim.epoch, head: claim.head }
    }

    /// The next append, of so many events.
    pub(crate) fn next(&mut self, events: usize) -> Append {
        let head = self.head;
        self.append((1..=events as u64).map(|n| record(&self.id, Seq(head.0 + n))).collect())
    }

    /// An append of these records, which stand right after the last ones.
    pub(crate) fn append(&mut self, records: Vec<Record>) -> Append {
        let expected_head = self.head;
        self.head = Seq(expected_head.0 + records.len() as u64);
        Append {
            session: self.id.clone(),
            epoch: self.epoch,
            expected_head,
            records,
            blobs: Vec::new(),
            summary: summary(),
            at: Timestamp::from_millis(i64::try_from(self.head.0).unwrap_or_default()),
            durability: Durability::Grouped,
            agent: None,
        }
    }
}

fn summary() -> Summary {
    Summary { title: "What a session is called".to_owned(), at_rest: true, ..Summary::default() }
}

fn record(session: &SessionId, seq: Seq) -> Record {
    let mut json = format!(
        r#"{{"seq":{seq},"ts":"2026-11-15T12:00:00.123Z","type":"delta","session_id":"{session}","turn_id":"t","data":{{"block_id":"b","text":""#
    );
    let room = EVENT_BYTES.saturating_sub(json.len() + 3);
    json.extend(std::iter::repeat_n('x', room));
    json.push_str("\"}}");
    Record::new(seq, json)
}
