//! What is kept beside logs: it is there after a long session, found when it is wrong, and made anew when it is old.

use bytes::Bytes;
use rustix::process::Signal;
use turnloom::log::{CrashSafety, Log, Snapshot};
use turnloom::reader::VIEW;
use turnloom::session::STATE;
use turnloom_core::id::SessionId;
use turnloom_core::session::State;

use super::home::{Home, eventually};

/// A session with enough in it that its state is worth keeping.
fn long_session() -> (Home, SessionId) {
    let home = Home::new();
    let id = streamed(&home, 400);
    (home, id)
}

/// Has an agent say this many pieces of text in a new session.
fn streamed(home: &Home, pieces: usize) -> SessionId {
    home.run(&["run", &format!("stream {pieces} 20")]).code(0);
    let first = home.run(&["events", "last", "--json", "--types", "user_message"]).code(0).out();
    let first: serde_json::Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    SessionId::parse(first.get("session_id").unwrap().as_str().unwrap()).unwrap()
}

fn with_log<T>(home: &Home, work: impl AsyncFnOnce(&Log) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let log = Log::open(home.0.path(), CrashSafety::Power).unwrap();
        let done = work(&log).await;
        log.close().await.unwrap();
        done
    })
}

fn kept(home: &Home, id: &SessionId) -> Option<Snapshot> {
    with_log(home, async |log| log.snapshot(id, STATE, 0).await.unwrap())
}

fn plant(home: &Home, snapshot: Snapshot) {
    with_log(home, async |log| log.save(vec![snapshot]).await.unwrap());
}

/// One that can be read and says something else.
fn wrong(right: &Snapshot) -> Snapshot {
    let text = String::from_utf8(right.bytes.to_vec()).unwrap();
    let other = text.replacen(r#""title":""#, r#""title":"not "#, 1);
    assert_ne!(text, other);
    Snapshot { bytes: Bytes::from(other), ..right.clone() }
}

#[test]
fn doctor_finds_what_is_wrong_beside_a_log() {
    let (home, id) = long_session();
    let deep = || home.run(&["doctor", "--deep"]);
    let well = deep().out();
    assert!(well.contains("✓ snapshots") && well.contains("1 made again and the same"), "{well}");
    let right = kept(&home, &id).unwrap();
    plant(&home, wrong(&right));
    let ill = deep().code(1).out();
    let said = format!("the state of {id} after event {} was not what its log says, and is removed", right.seq);
    assert!(ill.contains("✗ snapshots") && ill.contains(&said), "{ill}");
    assert_eq!(kept(&home, &id), None);
    let mended = deep().out();
    assert!(mended.contains("0 made again and the same") && !mended.contains("✗ snapshots"), "{mended}");

    plant(&home, Snapshot { version: State::VERSION + 1, ..right.clone() });
    let older = deep().out();
    assert!(older.contains("0 made again and the same, 1 of another version"), "{older}");
    plant(&home, right);
    let up = home.up(&[]);
    let beside = deep().out();
    assert!(beside.contains("– snapshots") && beside.contains("fix: stop the daemon, then"), "{beside}");
    drop(up);
}

#[test]
fn what_cannot_be_used_is_made_anew() {
    let (home, id) = long_session();
    let right = kept(&home, &id).unwrap();
    let title = |snapshot: &Snapshot| State::load(&snapshot.bytes).unwrap().summary().title;
    let useless = [
        // What another version wrote may look like one of ours, and mean something else.
        Snapshot { version: State::VERSION + 1, ..wrong(&right) },
        Snapshot { bytes: Bytes::from_static(b"{\"head\":1}"), ..right.clone() },
    ];
    let mut seq = right.seq;
    for planted in useless {
        with_log(&home, async |log| log.forget(&id, STATE).await.unwrap());
        plant(&home, planted);
        let ran = home.run(&["run", "--session", id.as_str(), "echo once more"]).code(0);
        assert_eq!(ran.out(), "once more\n");
        let anew = kept(&home, &id).unwrap();
        assert_eq!((anew.version, title(&anew)), (State::VERSION, title(&right)));
        assert!(anew.seq > seq, "the session went on");
        assert!(home.run(&["doctor", "--deep"]).out().contains("1 made again and the same"));
        seq = anew.seq;
    }
}

#[test]
fn a_session_that_goes_on_keeps_its_state_now_and_then() {
    let home = Home::new();
    let up = home.up(&["--no-sample"]);
    let session = streamed(&home, 5_000);
    let database = home.0.path().join("turnloom.db");
    let kept_at = |kind: &str| {
        let connection = rusqlite::Connection::open(&database).ok()?;
        let query = "SELECT seq FROM snapshot WHERE kind = ?1 AND part = 0";
        connection.query_row(query, [kind], |row| row.get::<_, u32>(0)).ok()
    };
    let seq = eventually("a state is kept", || kept_at(STATE));
    assert!((4_096..5_000).contains(&seq), "while it went on, and not at its end: {seq}");
    // Nobody has looked at it, and its view is kept all the same: its head, and what was changed in files.
    let view = eventually("a view is kept", || kept_at(VIEW));
    assert!(view >= 4_096, "{view}");
    up.running.signal(Signal::KILL);
    drop(up);
    assert_eq!(kept(&home, &session).map(|kept| kept.seq.0), Some(seq.into()));
    assert!(home.run(&["doctor", "--deep"]).out().contains("3 made again and the same"));
    let ran = home.run(&["run", "--session", session.as_str(), "echo once more"]).code(0);
    assert_eq!(ran.out(), "once more\n");
}
