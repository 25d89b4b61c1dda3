//! `turnloom emit`: adds facts to a session, for scripts and tools that an agent runs.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Context;
use super::failure::Failure;
use crate::client::escape;

/// Add facts to a session: a component that people see, or events from a file
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
    /// The session
    #[arg(long, global = true, env = "TURNLOOM_SESSION", hide_env_values = true)]
    session: Option<String>,
    /// A name of your own: the same one again is taken once
    #[arg(long, global = true, value_name = "ID")]
    id: Option<String>,
    /// Refuse if this turn is not open any more
    #[arg(long, global = true, value_name = "TURN")]
    turn: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Show a component, or change it
    Component {
        /// Which one it is, in this session
        component_id: String,
        /// Its props, as JSON; - is the standard input
        file: PathBuf,
        /// What sort of component it is [default: the file's name]
        #[arg(long)]
        name: Option<String>,
        /// Where it is shown: chat, sidebar, panel, overlay or canvas
        #[arg(long, default_value = "chat")]
        surface: String,
        /// Put the props over those that are there
        #[arg(long)]
        merge: bool,
    },
    /// Add events: a JSON list of {"type", "data"}
    Events {
        /// The list; - is the standard input
        file: PathBuf,
    },
}

#[derive(Deserialize)]
struct Accepted {
    accepted: usize,
    seq: u64,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let Args { what, session, id, turn } = args;
    let session =
        session.ok_or_else(|| Failure::new("no session is named", "give --session, or set TURNLOOM_SESSION"))?;
    let events = match what {
        What::Component { component_id, file, name, surface, merge } => {
            let stem = file.file_stem().and_then(|stem| stem.to_str()).filter(|stem| *stem != "-");
            let name = name.or_else(|| stem.map(str::to_owned)).ok_or_else(|| {
                Failure::new("what sort of component is it?", "give --name, since the standard input has none")
            })?;
            let props = read(&file)?;
            let data = json!({ "component_id": component_id, "name": name, "surface": surface, "props": props, "merge": merge });
            json!([{ "type": "component_update", "data": data }])
        }
        What::Events { file } => read(&file)?,
    };
    let mut body = json!({ "events": events });
    for (name, value) in [("id", id), ("turn_id", turn)] {
        if let (Some(value), Some(body)) = (value, body.as_object_mut()) {
            body.insert(name.to_owned(), json!(value));
        }
    }
    let client = context.target.running().await?;
    let Accepted { accepted, seq } = client.post(&format!("/api/sessions/{}/emit", escape(&session)), &body).await?;
    context.terminal.talk(&format!("{accepted} added, up to {seq}.\n"));
    Ok(ExitCode::SUCCESS)
}

fn read(file: &Path) -> Result<Value> {
    let text = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read the standard input")?;
        text
    } else {
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?
    };
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file.display()))
}
