//! The socket on which the hooks of one app-server propose calls. It only moves lines: each connection brings one call and waits for one verdict. A
//! connection that is dropped is a call that does not run.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::hub::HubMessage;
use crate::private;

/// The largest call that is judged. Larger than any that Codex reads from a model.
pub(super) const MAX_CALL_BYTES: u64 = 64 << 20;

/// Calls that may wait at once. The next is not read before one of them has its verdict.
const MAX_WAITING: usize = 256;

/// How long a hook may take to say what it is about. It has all of it before it connects.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// What sockets are called in the folder that all daemons of a user share.
const PREFIX: &str = "gate-";

/// A socket that listens. Its file is gone with it.
#[derive(Debug)]
pub(super) struct Gate {
    listener: UnixListener,
    file: Arc<SocketFile>,
}

#[derive(Debug)]
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

impl Gate {
    /// Makes a socket that only this user can reach, and takes away those that earlier daemons have left.
    pub(super) fn open() -> io::Result<Self> {
        let user = rustix::process::getuid().as_raw();
        Self::open_in(&std::env::temp_dir().join(format!("turnloom-{user}")))
    }

    fn open_in(folder: &Path) -> io::Result<Self> {
        drop(private::folder(folder)?);
        sweep(folder);
        let name = uuid::Uuid::new_v4().simple().to_string();
        let path = folder.join(format!("{PREFIX}{}", name.get(..12).unwrap_or(&name)));
        let listener = UnixListener::bind(&path)?;
        let file = Arc::new(SocketFile(path));
        fs::set_permissions(&file.0, fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, file })
    }

    /// The command line of the hook. Codex takes a hook that could not be started, or was killed, for none; the shell makes a no of it.
    pub(super) fn command(&self) -> io::Result<String> {
        self.command_of(&std::env::current_exe()?)
    }

    fn command_of(&self, program: &Path) -> io::Result<String> {
        let no = "{ echo 'Turnloom could not judge this call, so it does not run' >&2; exit 2; }";
        Ok(format!("{} gate {} || {no}", quoted(program)?, quoted(&self.file.0)?))
    }

    /// Serves until the hub is gone. It does not keep the hub: one without sessions has to end.
    pub(super) async fn serve(self, hub: mpsc::WeakSender<HubMessage>, gone: CancellationToken) {
        let next = AtomicU64::new(1);
        let mut calls = JoinSet::new();
        loop {
            tokio::select! {
                () = gone.cancelled() => return,
                Some(_) = calls.join_next() => {}
                accepted = self.listener.accept(), if calls.len() < MAX_WAITING => match accepted {
                    Ok((stream, _)) => {
                        calls.spawn(one_call(stream, next.fetch_add(1, Ordering::Relaxed), hub.clone()));
                    }
                    Err(error) => {
                        // There are no descriptors left, perhaps. Nothing runs meanwhile.
                        tracing::warn!(%error, "a hook of codex could not be heard");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
    }
}

async fn one_call(stream: UnixStream, number: u64, hub: mpsc::WeakSender<HubMessage>) {
    let (input, mut output) = stream.into_split();
    let mut input = BufReader::new(input.take(MAX_CALL_BYTES + 2));
    let mut call = Vec::new();
    let read = tokio::time::timeout(READ_TIMEOUT, input.read_until(b'\n', &mut call)).await;
    if !matches!(read, Ok(Ok(_))) || call.pop() != Some(b'\n') {
        return;
    }
    let (answer, mut answered) = oneshot::channel();
    tell(&hub, HubMessage::Propose { number, call, answer }).await;
    let mut more = [0];
    tokio::select! {
        verdict = &mut answered => if let Ok(verdict) = verdict {
            drop(output.write_all(format!("{verdict}\n").as_bytes()).await);
        },
        // The hook was ended: it says nothing more, whatever it may say.
        _ = input.read(&mut more) => tell(&hub, HubMessage::ProposalGone { number }).await,
    }
}

async fn tell(hub: &mpsc::WeakSender<HubMessage>, message: HubMessage) {
    if let Some(hub) = hub.upgrade() {
        // Where the hub has ended, the message is dropped, and with it the answer.
        drop(hub.send(message).await);
    }
}

/// Sockets on which nobody listens belong to daemons that were killed.
fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let is_socket = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
        let is_dead = |path: &Path| {
            std::os::unix::net::UnixStream::connect(path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        };
        if is_socket && is_dead(&path) {
            drop(fs::remove_file(&path));
        }
    }
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> io::Result<String> {
    let text = path.to_str().ok_or_else(|| io::Error::other(format!("{} is not a text", path.display())))?;
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, Write as _};

    use super::*;

    /// What a hook hears on a socket.
    fn hook(path: &Path, call: &str) -> String {
        let mut stream = std::os::unix::net::UnixStream::connect(path).unwrap();
        stream.write_all(call.as_bytes()).unwrap();
        let mut verdict = String::new();
        std::io::BufReader::new(stream).read_line(&mut verdict).unwrap();
        verdict
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_call_is_passed_on_and_its_verdict_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let gate = Gate::open_in(&folder.path().join("private")).unwrap();
        let path = gate.file.0.clone();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        let (hub, mut messages) = mpsc::channel(4);
        let gone = CancellationToken::new();
        let mut serving = JoinSet::new();
        serving.spawn(gate.serve(hub.downgrade(), gone.clone()));
        let asked = path.clone();
        let heard = tokio::task::spawn_blocking(move || hook(&asked, "{\"session_id\":\"t\"}\n"));
        let Some(HubMessage::Propose { call, answer, .. }) = messages.recv().await else { panic!("it is proposed") };
        assert_eq!(call, b"{\"session_id\":\"t\"}");
        answer.send(serde_json::json!({ "no": 1 })).unwrap();
        assert_eq!(heard.await.unwrap(), "{\"no\":1}\n");
        // One that nobody answers hears nothing, which is no verdict.
        let asked = path.clone();
        let heard = tokio::task::spawn_blocking(move || hook(&asked, "{}\n"));
        let Some(HubMessage::Propose { answer, .. }) = messages.recv().await else { panic!("it is proposed") };
        drop(answer);
        assert_eq!(heard.await.unwrap(), "");
        // One that ends is told of.
        let stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
        (&stream).write_all(b"{}\n").unwrap();
        let Some(HubMessage::Propose { number, answer: _kept, .. }) = messages.recv().await else {
            panic!("it is proposed")
        };
        drop(stream);
        assert!(matches!(messages.recv().await, Some(HubMessage::ProposalGone { number: gone }) if gone == number));
        gone.cancel();
        serving.join_all().await;
        assert!(!path.exists(), "its file is gone with it");
    }

    #[tokio::test]
    async fn what_a_killed_daemon_has_left_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let (dead, other) = (folder.path().join("gate-dead"), folder.path().join("codex-x.lock"));
        drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
        fs::write(&other, "").unwrap();
        let alive = Gate::open_in(folder.path()).unwrap();
        let second = Gate::open_in(folder.path()).unwrap();
        assert!(!dead.exists() && other.exists() && alive.file.0.exists() && second.file.0.exists());
    }

    /// Codex takes what exits with another code than 2, or without a text, for no opinion.
    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "the line is run as Codex runs it")]
    async fn a_hook_that_cannot_be_run_says_no() {
        let folder = tempfile::tempdir().unwrap();
        let gate = Gate::open_in(folder.path()).unwrap();
        let killed = folder.path().join("killed");
        fs::write(&killed, "#!/bin/sh\nkill -9 $$\n").unwrap();
        fs::set_permissions(&killed, fs::Permissions::from_mode(0o700)).unwrap();
        for program in [Path::new("/nowhere/turnloom"), Path::new("/bin/false"), &killed] {
            let command = gate.command_of(program).unwrap();
            let ran = std::process::Command::new("sh").arg("-c").arg(command).output().unwrap();
            assert_eq!(ran.status.code(), Some(2), "{}", program.display());
            assert!(String::from_utf8_lossy(&ran.stderr).contains("could not judge"), "{ran:?}");
            assert!(ran.stdout.is_empty());
        }
    }

    #[test]
    fn a_path_is_one_word_whatever_is_in_it() {
        assert_eq!(quoted(Path::new("/a b/it's")).unwrap(), r"'/a b/it'\''s'");
    }
}
