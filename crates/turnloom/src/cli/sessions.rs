//! `turnloom sessions`: lists the sessions.

use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use serde_json::value::RawValue;
use turnloom_core::summary::SessionStatus;

use super::Context;
use super::connect::{Purpose, Session};
use super::render::{Ink, Look, Medium, age, cut, one_line, width};
use crate::client::{Client, escape};
use crate::session::now;

/// List sessions, the latest activity first
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only archived ones, instead of only the others
    #[arg(long)]
    archived: bool,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
    /// Only those with this in their title or id
    #[arg(short, value_name = "TEXT")]
    q: Option<String>,
}

#[derive(Deserialize)]
struct Page {
    sessions: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let connection = context.target.connect(Purpose::Read).await?;
    let listed = list(&connection.client, &args).await;
    connection.finish().await?;
    let sessions = listed?;
    if args.json {
        let lines: Vec<String> = sessions.iter().map(|session| format!("{}\n", session.get())).collect();
        context.terminal.data(&lines.concat())?;
        return Ok(ExitCode::SUCCESS);
    }
    let sessions: Vec<Session> =
        sessions.iter().map(|session| serde_json::from_str(session.get())).collect::<Result<_, _>>()?;
    if sessions.is_empty() {
        context.terminal.talk("There are no sessions. Make one with `turnloom run \"demo\"`.\n");
        return Ok(ExitCode::SUCCESS);
    }
    let look = context.terminal.out;
    context.terminal.data(&table(&sessions, now().millis(), look))?;
    Ok(ExitCode::SUCCESS)
}

async fn list(client: &Client, args: &Args) -> Result<Vec<Box<RawValue>>> {
    let mut sessions = Vec::new();
    let mut cursor = String::new();
    loop {
        let q = args.q.as_ref().map(|q| format!("&q={}", escape(q))).unwrap_or_default();
        let path = format!("/api/sessions?limit=500&archived={}{q}{cursor}", args.archived);
        let page: Page = client.get(&path).await?;
        sessions.extend(page.sessions);
        let Some(next) = page.next_cursor else { return Ok(sessions) };
        cursor = format!("&cursor={}", escape(&next));
    }
}

fn table(sessions: &[Session], now: i64, look: Look) -> String {
    let header = ["ID", "STATUS", "RUNTIME", "AGE", "TITLE"].map(str::to_owned);
    let row = |session: &Session| {
        let title = if session.title.is_empty() { "–".to_owned() } else { one_line(&session.title) };
        let (id, runtime) = (session.session_id.to_string(), one_line(&session.runtime));
        [id, status(session), runtime, age(now - session.updated_at.millis()), title]
    };
    let rows: Vec<[String; 5]> = std::iter::once(header).chain(sessions.iter().map(row)).collect();
    let mut widths = [0; 5];
    for row in &rows {
        widths.iter_mut().zip(row).for_each(|(widest, cell)| *widest = width(cell).max(*widest));
    }
    let before_title: usize = widths.iter().take(4).map(|width| width + 2).sum();
    let mut table = String::new();
    for (at, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, (cell, widest)) in row.iter().zip(widths).enumerate() {
            let ink = match (at, column) {
                (0, _) | (_, 2 | 3) => Ink::Dim,
                (_, 1) => status_ink(cell),
                _ => Ink::Plain,
            };
            let room = if look.medium == Medium::Screen && column == 4 {
                look.width.saturating_sub(before_title).max(10)
            } else {
                usize::MAX
            };
            let cell = cut(cell, room);
            line.push_str(&look.paint(ink, &cell));
            if column < 4 {
                line.extend(std::iter::repeat_n(' ', widest - width(&cell) + 2));
            }
        }
        table.push_str(line.trim_end());
        table.push('\n');
    }
    table
}

/// The status, and what stands behind it.
fn status(session: &Session) -> String {
    let status = session.status.as_str();
    match (session.status, session.queued) {
        (SessionStatus::Archived, _) => status.to_owned(),
        _ if session.held > 0 => format!("{status} ({} held)", session.held),
        _ if session.lost_ask.is_some() => format!("{status} (unanswered)"),
        (SessionStatus::Waiting, _) => format!("{status} ({})", session.asks),
        (_, 0) => status.to_owned(),
        (_, queued) => format!("{status} (+{queued})"),
    }
}

fn status_ink(status: &str) -> Ink {
    match status.split(' ').next() {
        Some("running" | "stopping") => Ink::Green,
        Some("waiting") => Ink::Yellow,
        Some("failed") => Ink::Red,
        _ => Ink::Plain,
    }
}
