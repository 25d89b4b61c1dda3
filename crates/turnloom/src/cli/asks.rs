//! `turnloom asks`: lists what waits for a person, over all sessions.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use serde_json::value::RawValue;
use turnloom_core::event::{PermissionOption, PermissionReply, PermissionRequest};
use turnloom_core::id::SessionId;
use turnloom_core::summary::{AskKind, AskRequest, PendingAsk};

use super::Context;
use super::render::{Ink, Look, age, duration, one_line};
use super::rules::in_one_line;
use crate::client::Client;
use crate::session::now;

/// List what waits for an answer, the oldest first
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

/// An ask and where it is asked.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SessionAsk {
    pub(super) session_id: SessionId,
    pub(super) session_title: String,
    #[serde(flatten)]
    pub(super) ask: PendingAsk,
}

#[derive(Deserialize)]
struct Asks {
    asks: Vec<Box<RawValue>>,
}

pub(super) async fn list(client: &Client) -> Result<Vec<SessionAsk>> {
    let Asks { asks } = client.get("/api/asks").await?;
    Ok(asks.iter().map(|ask| serde_json::from_str(ask.get())).collect::<Result<_, _>>()?)
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    if args.json {
        let Asks { asks } = client.get("/api/asks").await?;
        let lines: Vec<String> = asks.iter().map(|ask| format!("{}\n", ask.get())).collect();
        context.terminal.data(&lines.concat())?;
        return Ok(ExitCode::SUCCESS);
    }
    let asks = list(&client).await?;
    if asks.is_empty() {
        context.terminal.talk("Nothing waits for you.\n");
        return Ok(ExitCode::SUCCESS);
    }
    let look = context.terminal.out;
    let shown: Vec<String> = asks.iter().map(|ask| show(ask, now().millis(), look)).collect();
    context.terminal.data(&shown.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The rules that *always* may store, in the order of their numbers.
pub(super) fn rules_of(ask: &PendingAsk) -> impl Iterator<Item = &PermissionOption> {
    let options = match &ask.request {
        AskRequest::Permission(request) => request.options.as_slice(),
        AskRequest::Question(_) | AskRequest::Interrupt(_) => &[],
    };
    options.iter().filter(|option| option.reply == PermissionReply::Always)
}

/// What is asked, where, and the command that answers it.
fn show(asked: &SessionAsk, now: i64, look: Look) -> String {
    let SessionAsk { session_id, session_title, ask } = asked;
    let kind = match ask.kind {
        AskKind::Permission => "permission",
        AskKind::Question => "question",
        AskKind::Interrupt => "value",
    };
    let since = age(now - ask.asked_at.millis());
    let mut text =
        format!("{}  {}  {since}\n", look.paint(Ink::Yellow, kind), look.paint(Ink::Bold, &one_line(&ask.title)));
    if !session_title.is_empty() {
        text.push_str(&look.paint(Ink::Dim, &format!("  in {}", one_line(session_title))));
        text.push('\n');
    }
    if let Some(subagent_id) = &ask.subagent_id {
        let name = ask.subagent_name.as_deref().unwrap_or(subagent_id.as_str());
        text.push_str(&look.paint(Ink::Dim, &format!("  by the sub-agent {}", one_line(name))));
        text.push('\n');
    }
    if let AskRequest::Permission(PermissionRequest { expiry: Some(expiry), .. }) = &ask.request {
        let then = if expiry.allowed { "allowed" } else { "denied" };
        let left = duration((expiry.at.millis() - now).max(0));
        text.push_str(&look.paint(Ink::Dim, &format!("  {then} in {left}, if nobody answers")));
        text.push('\n');
    }
    let mut how = match ask.kind {
        AskKind::Permission if rules_of(ask).nth(1).is_some() => "--once | --always [--rule N] | --reject".to_owned(),
        AskKind::Permission => "--once | --always | --reject".to_owned(),
        AskKind::Question => vec!["--answer TEXT"; ask.questions().len().max(1)].join(" "),
        AskKind::Interrupt => "--value JSON".to_owned(),
    };
    let several = rules_of(ask).nth(1).is_some();
    // What is numbered is listed.
    for (at, option) in rules_of(ask).enumerate().filter(|(_, option)| several || option.scope.is_some()) {
        let rule = option.rule.as_deref().map(in_one_line).unwrap_or_default();
        let _ = writeln!(text, "  {}  {}  {}", at + 1, one_line(&option.label), look.paint(Ink::Dim, &rule));
    }
    for question in ask.questions() {
        let labels: Vec<String> = question.options.iter().map(|option| one_line(&option.label)).collect();
        let _ = writeln!(text, "  {}  {}", one_line(&question.prompt), look.paint(Ink::Dim, &labels.join(" | ")));
    }
    how = format!("  turnloom answer {session_id} {} {how}\n", ask.ask_id);
    text.push_str(&how);
    text
}
