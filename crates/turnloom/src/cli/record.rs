//! `turnloom record`: what a session and its agent write to each other, in a file. What `run --record` needs of it is here too.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use tokio::signal::unix::{SignalKind, signal};
use turnloom_core::id::SessionId;

use super::failure::Failure;
use super::render::count;
use super::talk::Ended;
use super::{Context, connect};
use crate::client::{self, Client, Wire};
use crate::private;
use crate::session::Until;

/// Write what a session and its agent say to each other to a file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Records from now on, until Ctrl-C. To have the beginning too, start before the agent does, or use `turnloom run --record`.
A recording holds everything that is said, in full. `turnloom replay` plays it.")]
pub(super) struct Args {
    /// The session: its id, the beginning of its id, or `last`
    id: String,
    /// Where to [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// End when a turn has ended and nothing waits
    #[arg(long)]
    turn: bool,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    let session = connect::session(&client, &args.id).await?;
    let until = if args.turn { Until::Idle } else { Until::Left };
    let mut wire = Wire::open(&client, &session.session_id, until).await?;
    let mut file = args.out.as_deref().map(create).transpose()?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen to signals")?;
    context.terminal.talk(&format!("Recording {}. Ctrl-C ends it.\n", session.session_id));
    let mut lines = 0;
    loop {
        let piece = tokio::select! {
            piece = wire.next() => piece.map_err(explain)?,
            _ = interrupt.recv() => break,
        };
        let Some(piece) = piece else {
            if until == Until::Idle {
                break;
            }
            let what = format!("the daemon ended after {}", count(lines, "line"));
            return Err(Failure::new(what, "what was recorded until then is whole").into());
        };
        lines += newlines(&piece);
        match (&mut file, &args.out) {
            (Some(file), Some(path)) => write(file, path, &piece)?,
            _ => context.terminal.data_bytes(&piece)?,
        }
    }
    let place = args.out.map(|path| format!(" to {}", path.display())).unwrap_or_default();
    context.terminal.talk(&format!("Recorded {}{place}.\n", count(lines, "line")));
    Ok(ExitCode::SUCCESS)
}

/// A recording that is made beside something else.
pub(super) struct Recording {
    wire: Wire,
    file: File,
    path: PathBuf,
}

impl Recording {
    /// When this returns, no line is missed any more.
    pub(super) async fn begin(client: &Client, session: &SessionId, path: &Path) -> Result<Self> {
        let file = create(path)?;
        Ok(Self { wire: Wire::open(client, session, Until::Idle).await?, file, path: path.to_owned() })
    }

    /// Records while a turn is shown, and on until the session is idle. A turn that was left is not waited for.
    pub(super) async fn beside(mut self, turn: impl Future<Output = Result<Ended>>) -> Result<Ended> {
        let mut recording = Box::pin(self.write_all());
        tokio::pin!(turn);
        let mut recorded = None;
        let ended = loop {
            tokio::select! {
                ended = &mut turn => break ended?,
                end = &mut recording, if recorded.is_none() => recorded = Some(end),
            }
        };
        match (ended, recorded) {
            (Ended::Left, _) => {}
            (_, Some(recorded)) => recorded?,
            (_, None) => tokio::select! {
                recorded = recording => recorded?,
                heard = tokio::signal::ctrl_c() => heard.context("cannot listen to signals")?,
            },
        }
        Ok(ended)
    }

    async fn write_all(&mut self) -> Result<()> {
        while let Some(piece) = self.wire.next().await.map_err(explain)? {
            write(&mut self.file, &self.path, &piece)?;
        }
        Ok(())
    }
}

/// For the owner's eyes only: whatever was said is in it.
fn create(path: &Path) -> Result<File> {
    private::create(path).with_context(|| format!("cannot write {}", path.display()))
}

fn write(file: &mut File, path: &Path, piece: &[u8]) -> Result<()> {
    file.write_all(piece).with_context(|| format!("cannot write {}", path.display()))
}

fn newlines(piece: &[u8]) -> usize {
    piece.split(|byte| *byte == b'\n').count().saturating_sub(1)
}

fn explain(error: client::Error) -> anyhow::Error {
    if error.code() == Some("fell_behind") {
        let hint = "record to a file on a disk that is not busy; what was recorded until then is whole";
        return Failure::new(error.to_string(), hint).into();
    }
    error.into()
}
