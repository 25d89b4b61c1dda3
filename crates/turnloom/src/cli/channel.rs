//! `turnloom channel`: how other services talk to agents.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Context;
use super::render::{Ink, one_line};
use crate::client::escape;

/// Let other services talk to agents: GitHub, Slack, Telegram, or anything that posts JSON
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the channels
    List {
        /// One JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Add a channel; the service delivers to /hooks/NAME
    Add(Box<Settings>),
    /// Change a channel: what is given, the rest stays
    Set(Box<Settings>),
    /// Show a channel as JSON
    Show { name: String },
    /// Remove a channel; its sessions stay
    Remove { name: String },
    /// List the newest deliveries of a channel
    Deliveries {
        name: String,
        /// One JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Try a delivery again that failed
    Retry {
        name: String,
        /// As `turnloom channel deliveries` lists it
        delivery: String,
    },
}

#[derive(Debug, clap::Args)]
struct Settings {
    /// Small letters, digits and '-'
    name: String,
    /// How deliveries are verified and read: github, slack, telegram, hmac, bearer or standard
    #[arg(long)]
    kind: Option<String>,
    /// Which agent answers
    #[arg(long)]
    runtime: Option<String>,
    /// Where the agent works
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The mode of its sessions, such as plan
    #[arg(long)]
    mode: Option<String>,
    /// The variable in the daemon's environment that holds the service's secret
    #[arg(long, value_name = "VARIABLE", group = "secret_from")]
    secret_env: Option<String>,
    /// A file that holds the service's secret; `-` reads it from stdin and stores it
    #[arg(long, value_name = "FILE", group = "secret_from")]
    secret_file: Option<PathBuf>,
    /// Only these events, such as issues.opened; may be given more than once
    #[arg(long = "event", value_name = "EVENT")]
    events: Vec<String>,
    /// Only of this sender; may be given more than once
    #[arg(long = "sender", value_name = "SENDER")]
    senders: Vec<String>,
    /// What the agent is told, with places such as {/issue/title}
    #[arg(long, value_name = "TEMPLATE")]
    message: Option<String>,
    /// What makes deliveries one session, such as {/thread}
    #[arg(long, value_name = "TEMPLATE")]
    conversation: Option<String>,
    /// Where answers go: github, slack, telegram or an address
    #[arg(long, value_name = "WHERE")]
    reply: Option<String>,
    /// Another address of the service
    #[arg(long, value_name = "URL", requires = "reply")]
    reply_base_url: Option<String>,
    /// The variable in the daemon's environment that holds the token for answers
    #[arg(long, value_name = "VARIABLE", group = "token_from")]
    reply_token_env: Option<String>,
    /// A file that holds the token for answers
    #[arg(long, value_name = "FILE", group = "token_from")]
    reply_token_file: Option<PathBuf>,
    /// Wait so many seconds for the answer and send it as the response
    #[arg(long, value_name = "SECONDS")]
    respond_seconds: Option<u32>,
    /// Refuse deliveries for now (true), or take them again (false)
    #[arg(long, value_name = "BOOL")]
    paused: Option<bool>,
    /// A JSON file with everything else that a channel can have
    #[arg(long = "settings", value_name = "FILE")]
    rest: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Channels {
    channels: Vec<Value>,
}

#[derive(Deserialize)]
struct Deliveries {
    deliveries: Vec<Value>,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    let of = |name: &str| format!("/api/channels/{}", escape(name));
    match args.action {
        Action::List { json } => {
            let Channels { channels } = client.get("/api/channels").await?;
            let text = if json { lines(&channels) } else { table(&channels, context) };
            context.terminal.data(&text)?;
            if channels.is_empty() {
                context
                    .terminal
                    .talk("There are none. `turnloom channel add NAME --kind KIND --runtime RUNTIME` makes one.\n");
            }
        }
        Action::Add(settings) => {
            let made: Value = client.post("/api/channels", &settings.body()?).await?;
            let path = made.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
            context.terminal.data(&format!("{}{path}\n", client.url()))?;
            context.terminal.talk("The service delivers there. It must reach the daemon; see docs/remote-access.md.\n");
        }
        Action::Set(settings) => {
            let mut body = settings.body()?;
            if let Some(body) = body.as_object_mut() {
                body.remove("name");
            }
            client.patch::<Value>(&of(&settings.name), &body).await?;
            context.terminal.talk("Changed.\n");
        }
        Action::Show { name } => {
            let channel: Value = client.get(&of(&name)).await?;
            context.terminal.data(&format!("{channel:#}\n"))?;
        }
        Action::Remove { name } => {
            client.delete::<()>(&of(&name)).await?;
            context.terminal.talk("Removed. Its sessions are still there.\n");
        }
        Action::Deliveries { name, json } => {
            let Deliveries { deliveries } = client.get(&format!("{}/deliveries", of(&name))).await?;
            let text = if json { lines(&deliveries) } else { delivery_table(&deliveries, context) };
            context.terminal.data(&text)?;
        }
        Action::Retry { name, delivery } => {
            let path = format!("{}/deliveries/{}/retry", of(&name), escape(&delivery));
            client.post::<Value>(&path, &json!({})).await?;
            context.terminal.talk("It is tried again.\n");
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn lines(values: &[Value]) -> String {
    let lines: Vec<String> = values.iter().map(|value| format!("{value}\n")).collect();
    lines.concat()
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn table(channels: &[Value], context: &Context) -> String {
    let look = context.terminal.out;
    let mut table = String::new();
    for channel in channels {
        let count = |pointer: &str| channel.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
        let refused: u64 = channel
            .pointer("/counts/refused")
            .and_then(Value::as_object)
            .map(|codes| codes.values().filter_map(Value::as_u64).sum())
            .unwrap_or_default();
        let state = if channel.get("paused") == Some(&Value::Bool(true)) { "  paused" } else { "" };
        let counts =
            format!("{} accepted, {refused} refused, {} waiting", count("/counts/accepted"), count("/waiting"));
        let (name, kind, runtime) = (word(channel, "name"), word(channel, "kind"), word(channel, "runtime"));
        let _ = writeln!(table, "{name}  {kind}  {runtime}  {}{state}", look.paint(Ink::Dim, &counts));
    }
    table
}

fn delivery_table(deliveries: &[Value], context: &Context) -> String {
    let look = context.terminal.out;
    let mut table = String::new();
    for delivery in deliveries {
        let error = delivery.get("error").and_then(Value::as_str).map(|error| format!("  {}", one_line(error)));
        let about = format!("{}  {}", word(delivery, "event"), word(delivery, "sender"));
        let _ = writeln!(
            table,
            "{}  {}  {}  {}{}",
            word(delivery, "delivery_id"),
            word(delivery, "state"),
            word(delivery, "session_id"),
            look.paint(Ink::Dim, one_line(&about).trim()),
            error.unwrap_or_default(),
        );
    }
    table
}

impl Settings {
    /// What the API is sent.
    fn body(&self) -> Result<Value> {
        let mut body = match &self.rest {
            None => Map::new(),
            Some(path) => {
                let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
                serde_json::from_str(&text).with_context(|| format!("{} is not a JSON object", path.display()))?
            }
        };
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                body.insert(name.to_owned(), value);
            }
        };
        let text = |value: &Option<String>| value.as_ref().map(|value| json!(value));
        let list = |values: &[String]| (!values.is_empty()).then(|| json!(values));
        set("name", Some(json!(self.name)));
        set("kind", text(&self.kind));
        set("runtime", text(&self.runtime));
        set("message", text(&self.message));
        set("conversation", text(&self.conversation));
        set("events", list(&self.events));
        set("senders", list(&self.senders));
        set("respond_seconds", self.respond_seconds.map(|seconds| json!(seconds)));
        set("paused", self.paused.map(|paused| json!(paused)));
        set("secret", secret(self.secret_env.as_ref(), self.secret_file.as_ref())?);
        set("reply_token", secret(self.reply_token_env.as_ref(), self.reply_token_file.as_ref())?);
        set("reply", self.reply.as_ref().map(|to| reply(to, self.reply_base_url.as_deref())));
        self.params(&mut body)?;
        Ok(body.into())
    }

    fn params(&self, body: &mut Map<String, Value>) -> Result<()> {
        let mut given = Map::new();
        if let Some(cwd) = &self.cwd {
            let cwd = std::path::absolute(cwd).with_context(|| format!("cannot find {}", cwd.display()))?;
            given.insert("cwd".to_owned(), json!(cwd));
        }
        if let Some(mode) = &self.mode {
            given.insert("mode".to_owned(), json!(mode));
        }
        if let (false, Some(params)) =
            (given.is_empty(), body.entry("params").or_insert_with(|| json!({})).as_object_mut())
        {
            params.extend(given);
        }
        if body.get("params").is_some_and(|params| *params == json!({})) {
            body.remove("params");
        }
        Ok(())
    }
}

/// Where a secret is, as the API takes it. One from stdin is stored.
pub(super) fn secret(env: Option<&String>, file: Option<&PathBuf>) -> Result<Option<Value>> {
    Ok(match (env, file) {
        (Some(env), _) => Some(json!({ "env": env })),
        (None, Some(file)) if file.as_os_str() == "-" => {
            let text = std::io::read_to_string(std::io::stdin()).context("cannot read the secret from stdin")?;
            Some(json!({ "value": text.trim() }))
        }
        (None, Some(file)) => Some(json!({ "file": std::path::absolute(file)? })),
        (None, None) => None,
    })
}

fn reply(to: &str, base_url: Option<&str>) -> Value {
    let mut reply = match to {
        "github" | "slack" | "telegram" => json!({ "to": to }),
        url => json!({ "to": "post", "url": url }),
    };
    if let (Some(base_url), Some(reply)) = (base_url, reply.as_object_mut()) {
        reply.insert("base_url".to_owned(), json!(base_url));
    }
    reply
}
