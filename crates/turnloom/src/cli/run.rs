//! `turnloom run`: one turn in the terminal.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use super::connect::{self, Purpose, Session};
use super::failure::Failure;
use super::record::Recording;
use super::talk::{Asking, Conversation, Ended};
use super::{Context, interrupted};
use crate::client::Client;

/// Run one turn and show what happens
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Starts a daemon of its own if none runs. The answer goes to stdout, everything else to stderr.
Ctrl-C stops the turn; a second one leaves at once.")]
pub(super) struct Args {
    #[command(flatten)]
    with: With,
    /// Write what the session and its agent say to each other to a file, until the session is idle; see `replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// What to say; `-` reads it from stdin
    prompt: String,
}

/// Whom to talk to, and how.
#[derive(Debug, clap::Args)]
pub(super) struct With {
    /// The kind of agent [default: mock]
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    runtime: Option<String>,
    /// Where the agent works [default: here]
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    cwd: Option<PathBuf>,
    /// Go on with a session: its id, the beginning of its id, or `last`
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The model
    #[arg(long)]
    model: Option<String>,
    /// The mode, such as plan
    #[arg(long)]
    mode: Option<String>,
    /// A parameter of the session, such as effort=low or `trust_project=true`; may be given several times
    #[arg(long = "param", value_name = "KEY=VALUE", value_parser = param, conflicts_with = "session")]
    params: Vec<(String, Value)>,
    /// Allow what is asked, once each, and choose the first of each choice
    #[arg(long, short)]
    yes: bool,
}

impl With {
    pub(super) fn asking(&self) -> Asking {
        if self.yes { Asking::Yes } else { Asking::Person }
    }

    /// The session that was named, or a new one.
    pub(super) async fn session(&self, client: &Client) -> Result<Session> {
        let mut wanted: Map<String, Value> = Map::new();
        wanted.extend(self.model.clone().map(|model| ("model".to_owned(), model.into())));
        wanted.extend(self.mode.clone().map(|mode| ("mode".to_owned(), mode.into())));
        if let Some(name) = &self.session {
            let session = connect::session(client, name).await?;
            if !wanted.is_empty() {
                return Ok(client.patch(&connect::path(&session.session_id, ""), &wanted).await?);
            }
            return Ok(session);
        }
        let here = std::env::current_dir().context("cannot tell which directory this is")?;
        let cwd = self.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
        wanted.insert("cwd".to_owned(), cwd.to_string_lossy().into());
        wanted.extend(self.params.iter().cloned());
        let runtime = self.runtime.as_deref().unwrap_or("mock");
        Ok(client.post("/api/sessions", &json!({ "runtime": runtime, "params": wanted })).await?)
    }
}

/// `key=value`: a value that is JSON is what it says, any other is a text.
pub(super) fn param(given: &str) -> Result<(String, Value), String> {
    let (key, value) = given.split_once('=').ok_or("a parameter is written KEY=VALUE")?;
    let key = key.trim();
    if key.is_empty() {
        return Err("a parameter is written KEY=VALUE".to_owned());
    }
    Ok((key.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| value.into())))
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let prompt = prompt(args.prompt)?;
    let connection = context.target.connect(Purpose::Work).await?;
    let ended = async {
        let session = args.with.session(&connection.client).await?;
        // Before the message, so that the agent has not been started yet.
        let recording = match &args.record {
            Some(path) => Some(Recording::begin(&connection.client, &session.session_id, path).await?),
            None => None,
        };
        let mut conversation = Conversation::new(
            &context.target,
            &connection.client,
            &session,
            args.with.asking(),
            &mut context.terminal,
        )?;
        match recording {
            Some(recording) => recording.beside(conversation.once(&prompt)).await,
            None => conversation.once(&prompt).await,
        }
    }
    .await;
    if matches!(ended, Ok(Ended::Left)) {
        // At once means at once; whatever runs is ended by its guard.
        return Ok(interrupted());
    }
    connection.finish().await?;
    Ok(match ended? {
        Ended::Well => ExitCode::SUCCESS,
        Ended::Badly => ExitCode::FAILURE,
        Ended::Stopped | Ended::Left => interrupted(),
    })
}

fn prompt(given: String) -> Result<String> {
    let mut prompt = given;
    if prompt == "-" {
        prompt.clear();
        std::io::stdin().read_to_string(&mut prompt).context("cannot read the prompt from stdin")?;
    }
    if prompt.trim().is_empty() {
        return Err(Failure::new("the prompt is empty", "say something: `turnloom run \"demo\"`").into());
    }
    Ok(prompt)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::param;

    #[test]
    fn a_parameter_is_json_or_a_text() {
        for (given, value) in [
            ("effort=low", json!("low")),
            ("max_turns=3", json!(3)),
            ("trust_project=true", json!(true)),
            ("config={\"a\":1}", json!({ "a": 1 })),
            ("tools=Read,Bash", json!("Read,Bash")),
            ("custom_system_prompt=a=b", json!("a=b")),
            ("output_style=", json!("")),
        ] {
            assert_eq!(param(given).map(|(_, value)| value), Ok(value), "{given}");
        }
        assert!(param("effort").is_err() && param("=low").is_err());
    }
}
