//! `turnloom events`: a session's log, to read or to follow.

use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use serde_json::value::RawValue;
use turnloom_core::event::Envelope;
use turnloom_core::id::{Seq, SessionId};

use super::Context;
use super::connect::{self, Purpose, path};
use super::follow::{Follow, Followed, ReconnectLimit};
use super::render::{Look, Medium, line};
use super::terminal::Terminal;
use crate::client::{Client, escape};

/// Show a session's log, one line per event
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session: its id, the beginning of its id, or `last`
    id: String,
    /// Wait for more; goes on when the daemon is restarted
    #[arg(long, short)]
    follow: bool,
    /// Begin after this position
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    after: u64,
    /// The events as they are stored: one JSON object per line
    #[arg(long)]
    json: bool,
    /// Only these types, with commas between them
    #[arg(long, value_name = "A,B")]
    types: Option<String>,
}

/// How an event is shown.
#[derive(Debug, Clone, Copy)]
enum Form {
    Json,
    Line(Look),
}

impl Form {
    fn write(self, json: &[u8], out: &mut Vec<u8>) {
        match self {
            Form::Json => out.extend_from_slice(json),
            Form::Line(look) => match Envelope::decode(json) {
                Ok(envelope) => out.extend_from_slice(line(&envelope, look).as_bytes()),
                Err(error) => out.extend_from_slice(format!("  ? {error}").as_bytes()),
            },
        }
        out.push(b'\n');
    }
}

#[derive(Deserialize)]
struct Page {
    events: Vec<Box<RawValue>>,
    head: Seq,
    /// Where the next page begins; there may be one even if this one is empty.
    next: Seq,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let mut look = context.terminal.out;
    if look.medium == Medium::Pipe {
        // Output in a pipe is usually searched, so lines may be longer than a screen.
        look.width = PIPE_WIDTH;
    }
    let form = if args.json { Form::Json } else { Form::Line(look) };
    if args.follow {
        return follow(&args, form, context).await;
    }
    let connection = context.target.connect(Purpose::Read).await?;
    let shown = async {
        let session = connect::session(&connection.client, &args.id).await?;
        let write = |event: &[u8], out: &mut Vec<u8>| form.write(event, out);
        pages(
            &connection.client,
            &session.session_id,
            Seq(args.after),
            args.types.as_deref(),
            write,
            &mut context.terminal,
        )
        .await
    }
    .await;
    connection.finish().await?;
    shown?;
    Ok(ExitCode::SUCCESS)
}

/// The width of a line in a pipe.
pub(super) const PIPE_WIDTH: usize = 200;

/// Writes the log as it is now, a page at a time.
async fn pages(
    client: &Client,
    session: &SessionId,
    after: Seq,
    types: Option<&str>,
    write: impl Fn(&[u8], &mut Vec<u8>),
    terminal: &mut Terminal,
) -> Result<()> {
    let mut after = after;
    let mut end = None;
    loop {
        let Page { events, head, next } = page(client, session, after, types).await?;
        let end = *end.get_or_insert(head);
        let mut out = Vec::new();
        after = next;
        for event in &events {
            write(event.get().as_bytes(), &mut out);
        }
        terminal.data_bytes(&out)?;
        if after >= end {
            return Ok(());
        }
    }
}

async fn page(client: &Client, session: &SessionId, after: Seq, types: Option<&str>) -> Result<Page> {
    let types = types.map(|types| format!("&types={}", escape(types))).unwrap_or_default();
    Ok(client.get(&path(session, &format!("/events?after={after}&limit=2000{types}"))).await?)
}

async fn follow(args: &Args, form: Form, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    let session = connect::session(&client, &args.id).await?;
    let follow = Follow::new(&context.target, &client, &session.session_id, Seq(args.after), ReconnectLimit::Endless);
    let mut follow = follow.only(args.types.clone());
    loop {
        match follow.next().await? {
            Followed::Event(event) => {
                let mut out = Vec::new();
                form.write(&event.json, &mut out);
                context.terminal.data_bytes(&out)?;
            }
            Followed::Lost => context.terminal.talk("The daemon went away; waiting for it.\n"),
        }
    }
}
