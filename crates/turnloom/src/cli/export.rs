//! `turnloom export`: a session in a file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde_json::Value;
use turnloom_core::blob::{Blob, BlobId};
use turnloom_core::event::Envelope;
use turnloom_core::id::Seq;
use turnloom_core::summary::SessionStatus;

use super::connect::{self, Purpose, Session};
use super::{Context, events};
use crate::archive::{FORMAT, Header, blob_line, blobs_of};
use crate::client::Client;

/// Write a session to a file, with everything it needs to be read elsewhere
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session: its id, the beginning of its id, or `last`
    id: String,
    /// Where to [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let connection = context.target.connect(Purpose::Read).await?;
    let exported = async {
        let session = connect::session(&connection.client, &args.id).await?;
        Ok::<_, anyhow::Error>((export(&connection.client, &session).await?, session))
    }
    .await;
    connection.finish().await?;
    let (file, session) = exported?;
    match &args.output {
        None => context.terminal.data_bytes(&file)?,
        Some(path) => {
            std::fs::write(path, &file).with_context(|| format!("cannot write {}", path.display()))?;
            let size = super::render::bytes(file.len() as u64);
            context.terminal.talk(&format!("Wrote {size} to {}.\n", path.display()));
        }
    }
    if matches!(session.status, SessionStatus::Running | SessionStatus::Waiting | SessionStatus::Stopping) {
        context
            .terminal
            .hint("the session is at work, so the file can be read but not imported; export it again when it rests");
    }
    Ok(ExitCode::SUCCESS)
}

async fn export(client: &Client, session: &Session) -> Result<Vec<u8>> {
    let events = events::all(client, &session.session_id).await?;
    let mut blobs: BTreeMap<BlobId, String> = BTreeMap::new();
    let mut head = Seq::ZERO;
    for event in &events {
        let envelope = Envelope::decode(event).context("the log holds something unreadable")?;
        head = envelope.seq;
        blobs.extend(blobs_of(&envelope.event).into_iter().map(|blob| (blob.id.clone(), blob.media_type.clone())));
    }
    let header = Header {
        turnloom_session: FORMAT,
        session_id: session.session_id.clone(),
        runtime: session.runtime.clone(),
        params: params(session),
        created_at: session.created_at,
        head,
    };
    let mut file = serde_json::to_vec(&header)?;
    file.push(b'\n');
    for event in &events {
        file.extend_from_slice(event);
        file.push(b'\n');
    }
    for (id, media_type) in blobs {
        let content = client.get_bytes(&format!("/api/blobs/{id}")).await?;
        file.extend_from_slice(blob_line(&Blob { id, media_type, content }).as_bytes());
        file.push(b'\n');
    }
    Ok(file)
}

/// What of a session's settings the daemon shows, and so may leave it: never its environment.
fn params(session: &Session) -> Value {
    let text = [
        ("title", Some(&session.title)),
        ("cwd", session.cwd.as_ref()),
        ("model", session.model.as_ref()),
        ("mode", session.mode.as_ref()),
    ];
    let set = text
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.filter(|value| !value.is_empty())?.clone().into())));
    Value::Object(set.collect())
}
