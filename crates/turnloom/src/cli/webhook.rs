//! `turnloom webhook`: tells other programs what happens in sessions.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Context;
use super::channel::{lines, secret};
use super::failure::Failure;
use super::render::{Ink, one_line};
use crate::client::escape;

/// Tell other programs what happens in sessions, by signed requests
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the webhooks
    List {
        /// One JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Add a webhook; its secret is shown once
    Add {
        /// Where to send: https://...
        url: String,
        #[command(flatten)]
        filter: Filter,
    },
    /// Change a webhook: what is given, the rest stays
    Set {
        id: String,
        /// Where to send
        #[arg(long)]
        url: Option<String>,
        #[command(flatten)]
        filter: Filter,
        /// Send nothing for now (true), or go on (false)
        #[arg(long, value_name = "BOOL")]
        paused: Option<bool>,
    },
    /// Remove a webhook
    Remove { id: String },
    /// List what was sent, what waits and what nobody took
    Deliveries {
        id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Send an event again
    Redeliver {
        id: String,
        /// As `turnloom webhook deliveries` lists it
        delivery: String,
    },
    /// Send a test event at once, and say what the receiver answered
    Test { id: String },
}

#[derive(Debug, clap::Args)]
struct Filter {
    /// Only these events, such as turn.completed; may be given more than once
    #[arg(long = "event", value_name = "EVENT")]
    events: Vec<String>,
    /// Only of this session; may be given more than once
    #[arg(long = "session", value_name = "SESSION")]
    sessions: Vec<String>,
    /// Only of sessions with this runtime; may be given more than once
    #[arg(long = "runtime", value_name = "RUNTIME")]
    runtimes: Vec<String>,
    /// Only of turns that came about so: user, schedule, webhook, ...; may be given more than once
    #[arg(long = "origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// The variable in the daemon's environment that holds the secret; one is made, if none is given
    #[arg(long, value_name = "VARIABLE")]
    secret_env: Option<String>,
    /// A file that holds the secret
    #[arg(long, value_name = "FILE", conflicts_with = "secret_env")]
    secret_file: Option<PathBuf>,
}

impl Filter {
    fn body(&self) -> Result<Map<String, Value>> {
        let mut body = Map::new();
        let lists = [
            ("events", &self.events),
            ("sessions", &self.sessions),
            ("runtimes", &self.runtimes),
            ("origins", &self.origins),
        ];
        for (name, list) in lists {
            if !list.is_empty() {
                body.insert(name.to_owned(), json!(list));
            }
        }
        if let Some(secret) = secret(self.secret_env.as_ref(), self.secret_file.as_ref())? {
            body.insert("secret".to_owned(), secret);
        }
        Ok(body)
    }
}

#[derive(Deserialize)]
struct Webhooks {
    webhooks: Vec<Value>,
}

#[derive(Deserialize)]
struct Made {
    webhook: Value,
    secret: Option<String>,
}

#[derive(Deserialize)]
struct Tested {
    delivered: bool,
    status: Option<u16>,
    error: Option<String>,
    milliseconds: u64,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    let of = |id: &str| format!("/api/webhooks/{}", escape(id));
    match args.action {
        Action::List { json } => {
            let Webhooks { webhooks } = client.get("/api/webhooks").await?;
            let text = if json { lines(&webhooks) } else { table(&webhooks, context) };
            context.terminal.data(&text)?;
            if webhooks.is_empty() {
                context.terminal.talk("There are none. `turnloom webhook add URL` makes one.\n");
            }
        }
        Action::Add { url, filter } => {
            let mut body = filter.body()?;
            body.insert("url".to_owned(), json!(url));
            let Made { webhook, secret } = client.post("/api/webhooks", &Value::from(body)).await?;
            let id = webhook.get("webhook_id").and_then(Value::as_str).unwrap_or_default();
            context.terminal.data(&format!("{id}\n"))?;
            if let Some(secret) = secret {
                context.terminal.data(&format!("{secret}\n"))?;
                context.terminal.talk("The second line is the secret of its signatures. It is not shown again.\n");
            }
        }
        Action::Set { id, url, filter, paused } => {
            let mut body = filter.body()?;
            if let Some(url) = url {
                body.insert("url".to_owned(), json!(url));
            }
            if let Some(paused) = paused {
                body.insert("paused".to_owned(), json!(paused));
            }
            client.patch::<Value>(&of(&id), &Value::from(body)).await?;
            context.terminal.talk("Changed.\n");
        }
        Action::Remove { id } => {
            client.delete::<()>(&of(&id)).await?;
            context.terminal.talk("Removed.\n");
        }
        Action::Deliveries { id, json } => {
            let deliveries: Value = client.get(&format!("{}/deliveries", of(&id))).await?;
            let text = if json { format!("{deliveries:#}\n") } else { delivery_table(&deliveries, context) };
            context.terminal.data(&text)?;
        }
        Action::Redeliver { id, delivery } => {
            let body = json!({ "delivery_id": delivery });
            client.post::<()>(&format!("{}/redeliver", of(&id)), &body).await?;
            context.terminal.talk("It is sent again.\n");
        }
        Action::Test { id } => {
            let tested: Tested = client.post(&format!("{}/test", of(&id)), &json!({})).await?;
            let Tested { delivered, status, error, milliseconds } = tested;
            let said = status.map_or_else(|| error.unwrap_or_default(), |status| format!("status {status}"));
            if !delivered {
                let what = format!("the receiver did not take it: {said}");
                return Err(Failure::new(what, "it must answer with a status from 200 to 299").into());
            }
            context.terminal.data(&format!("{said}, {milliseconds} ms\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn table(webhooks: &[Value], context: &Context) -> String {
    let look = context.terminal.out;
    let mut table = String::new();
    for webhook in webhooks {
        let word = |name: &str| webhook.get(name).and_then(Value::as_str).unwrap_or_default();
        let count = |name: &str| webhook.get(name).and_then(Value::as_u64).unwrap_or_default();
        let paused = if webhook.get("paused") == Some(&Value::Bool(true)) { "  paused" } else { "" };
        let counts =
            format!("{} delivered, {} failed, {} waiting", count("delivered"), count("failed"), count("waiting"));
        let _ = writeln!(table, "{}  {}  {}{paused}", word("webhook_id"), word("url"), look.paint(Ink::Dim, &counts));
    }
    table
}

fn delivery_table(deliveries: &Value, context: &Context) -> String {
    let look = context.terminal.out;
    let mut table = String::new();
    for (name, list) in [("recent", "recent"), ("waiting", "waiting"), ("dead", "dead letters")] {
        let items = deliveries.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for item in items {
            let word = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
            let error = item.get("last_error").and_then(Value::as_str).map(|error| format!("  {}", one_line(error)));
            let place = look.paint(Ink::Dim, list);
            let (id, event, session) = (word("id"), word("type"), word("session_id"));
            let _ = writeln!(table, "{id}  {event}  {session}  {place}{}", error.unwrap_or_default());
        }
    }
    table
}
