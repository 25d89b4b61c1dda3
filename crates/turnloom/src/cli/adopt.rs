//! `turnloom adopt`: conversations that an agent has stored by itself, as sessions.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::json;
use turnloom_core::time::Timestamp;

use super::Context;
use super::connect::{Purpose, Session};
use super::render::{Ink, Look, age, one_line};
use crate::client::{Client, escape};
use crate::session::now;

/// List the conversations an agent has stored, or make a session of one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without an id it lists the conversations that were held in a directory, the newest first.
With an id it prints the id of the new session, whose log begins with what was said before. The agent goes on where it was.")]
pub(super) struct Args {
    /// The kind of agent
    runtime: String,
    /// The conversation to make a session of
    id: Option<String>,
    /// Where the conversations were held [default: here]; where the session works [default: where the conversation was held]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Listed {
    conversations: Vec<Conversation>,
}

#[derive(Deserialize)]
struct Conversation {
    id: String,
    title: String,
    updated_at: Timestamp,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let here = std::env::current_dir().context("cannot tell which directory this is")?;
    let cwd = args.cwd.as_ref().map(|cwd| here.join(cwd).to_string_lossy().into_owned());
    let connection = context.target.connect(Purpose::Read).await?;
    let look = context.terminal.out;
    let text = if let Some(id) = &args.id {
        adopt(&connection.client, &args.runtime, id, cwd).await
    } else {
        let cwd = cwd.unwrap_or_else(|| here.to_string_lossy().into_owned());
        list(&connection.client, &args.runtime, &cwd, look).await
    };
    connection.finish().await?;
    match text? {
        Some(text) => context.terminal.data(&text)?,
        None => context.terminal.talk("There are no conversations of that directory. Name another with --cwd.\n"),
    }
    Ok(ExitCode::SUCCESS)
}

async fn adopt(client: &Client, runtime: &str, id: &str, cwd: Option<String>) -> Result<Option<String>> {
    let params = cwd.map_or_else(|| json!({}), |cwd| json!({ "cwd": cwd }));
    let body = json!({ "runtime": runtime, "adopt": id, "params": params });
    let session: Session = client.post("/api/sessions", &body).await?;
    Ok(Some(format!("{}\n", session.session_id)))
}

async fn list(client: &Client, runtime: &str, cwd: &str, look: Look) -> Result<Option<String>> {
    let path = format!("/api/agents/{}/conversations?cwd={}", escape(runtime), escape(cwd));
    let Listed { conversations } = client.get(&path).await?;
    let widest = conversations.iter().map(|conversation| conversation.id.len()).max();
    let Some(widest) = widest else { return Ok(None) };
    let line = |id: &str, age: &str, title: &str| format!("{id:<widest$}  {age:<8}  {title}");
    let mut text = look.paint(Ink::Dim, &line("ID", "AGE", "TITLE"));
    text.push('\n');
    for Conversation { id, title, updated_at } in &conversations {
        let title = if title.is_empty() { "–".to_owned() } else { one_line(title) };
        text.push_str(&line(&one_line(id), &age(now().millis() - updated_at.millis()), &title));
        text.push('\n');
    }
    Ok(Some(text))
}
