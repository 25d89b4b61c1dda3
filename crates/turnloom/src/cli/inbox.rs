//! `turnloom inbox`: what waits for a person over all sessions, what failed and what finished unread; and what is said of it.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};
use turnloom_core::attention::{Item, Kind};
use turnloom_core::summary::AskKind;
use turnloom_core::time::Timestamp;

use super::Context;
use super::failure::Failure;
use super::render::{Ink, Look, age, one_line};
use crate::client::{Client, escape};
use crate::session::now;

/// List what needs you over all sessions, what failed, and what finished unread
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
    /// Also what somebody has read
    #[arg(long)]
    all: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Mark something as read; devices are not told of it any more
    Read {
        /// Its number in the list, its id, or `all` for every turn that ended
        item: String,
    },
    /// Take a read mark back
    Unread {
        /// Its id
        item: String,
    },
    /// Take something out of the way for a while
    Snooze {
        /// Its number in the list, or its id
        item: String,
        /// For how long: 30m, 2h, 1d
        #[arg(default_value = "1h")]
        time: String,
    },
    /// Bring something back that was snoozed
    Unsnooze {
        /// Its id
        item: String,
    },
    /// Tell a service such as ntfy when something needs you, or list who is told
    Notify(Notify),
}

#[derive(Debug, clap::Args)]
struct Notify {
    /// The address of an ntfy topic; the devices are listed, if it is left out
    #[arg(value_name = "URL")]
    topic: Option<String>,
    /// Post one JSON object instead of what ntfy understands
    #[arg(long)]
    plain_json: bool,
    /// A name for people
    #[arg(long)]
    name: Option<String>,
    /// The variable in the daemon's environment that holds the service's token
    #[arg(long, value_name = "VARIABLE")]
    token_env: Option<String>,
    /// Which turns that ended are told: none, failed, all
    #[arg(long, value_name = "WHICH")]
    done: Option<String>,
    /// Remove this device
    #[arg(long, value_name = "DEVICE", conflicts_with = "topic")]
    remove: Option<String>,
    /// Send a test to this device
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["topic", "remove"])]
    test: Option<String>,
}

#[derive(Deserialize)]
struct Inbox<T> {
    items: Vec<T>,
    snoozed: Vec<T>,
}

#[derive(Deserialize)]
struct Listed {
    #[serde(flatten)]
    item: Item,
    read: bool,
    snoozed_until: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Notifications {
    devices: Vec<ToldDevice>,
}

#[derive(Deserialize)]
struct ToldDevice {
    device_id: String,
    name: String,
    kind: String,
    host: String,
}

#[derive(Deserialize)]
struct Tried {
    delivered: bool,
    status: Option<u16>,
    error: Option<String>,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    let Some(action) = args.action else {
        let path = if args.all { "/api/inbox?all=true" } else { "/api/inbox" };
        if args.json {
            let Inbox { items, snoozed } = client.get::<Inbox<Value>>(path).await?;
            let lines: Vec<String> = items.iter().chain(&snoozed).map(|item| format!("{item}\n")).collect();
            context.terminal.data(&lines.concat())?;
            return Ok(ExitCode::SUCCESS);
        }
        let Inbox { items, snoozed } = client.get::<Inbox<Listed>>(path).await?;
        let (look, at) = (context.terminal.out, now().millis());
        let numbered = items.iter().chain(&snoozed).enumerate();
        let shown: Vec<String> = numbered.map(|(index, item)| show(index + 1, item, at, look)).collect();
        context.terminal.data(&shown.join("\n"))?;
        if items.is_empty() {
            context.terminal.talk("Nothing needs you.\n");
        }
        return Ok(ExitCode::SUCCESS);
    };
    match action {
        Action::Read { item } if item == "all" => {
            client.post::<Value>("/api/inbox/read", &json!({})).await?;
            context.terminal.talk("Everything that ended is read.\n");
        }
        Action::Read { item } => {
            let id = named(&client, item).await?;
            client.post::<()>(&format!("/api/inbox/{}/read", escape(&id)), &json!({})).await?;
            context.terminal.talk(&format!("Read. `turnloom inbox unread {id}` takes it back.\n"));
        }
        Action::Unread { item } => {
            client.post::<()>(&format!("/api/inbox/{}/unread", escape(&item)), &json!({})).await?;
            context.terminal.talk("It is unread.\n");
        }
        Action::Snooze { item, time } => {
            let minutes = minutes(&time)
                .ok_or_else(|| Failure::new(format!("{time:?} is not a time"), "say it as 30m, 2h or 1d"))?;
            let id = named(&client, item).await?;
            let body = json!({ "minutes": minutes });
            client.post::<Value>(&format!("/api/inbox/{}/snooze", escape(&id)), &body).await?;
            context.terminal.talk(&format!("It comes back. `turnloom inbox unsnooze {id}` does it now.\n"));
        }
        Action::Unsnooze { item } => {
            client.post::<()>(&format!("/api/inbox/{}/unsnooze", escape(&item)), &json!({})).await?;
            context.terminal.talk("It is back.\n");
        }
        Action::Notify(notify) => notify_devices(&client, notify, context).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn notify_devices(client: &Client, notify: Notify, context: &mut Context) -> Result<()> {
    let of = |id: &str| format!("/api/notifications/devices/{}", escape(id));
    if let Some(id) = notify.remove {
        client.delete::<()>(&of(&id)).await?;
        context.terminal.talk("It is told nothing more.\n");
    } else if let Some(id) = notify.test {
        let Tried { delivered, status, error } = client.post(&format!("{}/test", of(&id)), &json!({})).await?;
        if !delivered {
            let said = status.map(|status| format!("status {status} ")).unwrap_or_default();
            let what = format!("it was not reached: {said}{}", one_line(&error.unwrap_or_default()));
            return Err(Failure::new(what, "look at its address, and at its token").into());
        }
        context.terminal.talk("It was told.\n");
    } else if let Some(url) = notify.topic {
        let preset = if notify.plain_json { "json" } else { "ntfy" };
        let mut body = json!({ "service": { "url": url, "preset": preset } });
        if let Some(members) = body.as_object_mut() {
            members.extend(notify.name.map(|name| ("name".to_owned(), json!(name))));
            members.extend(notify.done.map(|done| ("done".to_owned(), json!(done))));
            members.extend(notify.token_env.map(|env| ("token".to_owned(), json!({ "env": env }))));
        }
        let device: ToldDevice = client.post("/api/notifications/devices", &body).await?;
        context.terminal.data(&format!("{}\n", device.device_id))?;
        context.terminal.talk("It is told when something needs you.\n");
    } else {
        let Notifications { devices } = client.get("/api/notifications").await?;
        for ToldDevice { device_id, name, kind, host } in &devices {
            context.terminal.data(&format!("{device_id}  {kind}  {}  {}\n", one_line(name), one_line(host)))?;
        }
        if devices.is_empty() {
            context.terminal.talk("No device is told. The workbench adds browsers, this command an ntfy topic.\n");
        }
    }
    Ok(())
}

/// The id of what is meant: a number is a place in the list.
async fn named(client: &Client, item: String) -> Result<String> {
    let Ok(number) = item.parse::<usize>() else { return Ok(item) };
    let Inbox { items, snoozed } = client.get::<Inbox<Listed>>("/api/inbox").await?;
    let found = items.into_iter().chain(snoozed).nth(number.wrapping_sub(1));
    let missing = || Failure::new(format!("there is no number {number}"), "`turnloom inbox` lists what there is");
    Ok(found.map(|listed| listed.item.item_id).ok_or_else(missing)?)
}

fn minutes(text: &str) -> Option<u32> {
    let unit = text.chars().last()?;
    let number: u32 = text.strip_suffix(unit)?.parse().ok()?;
    match unit {
        'm' => Some(number),
        'h' => number.checked_mul(60),
        'd' => number.checked_mul(24 * 60),
        _ => None,
    }
}

/// What it is, where, since when, and the command that settles it.
fn show(number: usize, Listed { item, read, snoozed_until }: &Listed, now: i64, look: Look) -> String {
    let (ink, word) = match item.kind {
        Kind::Ask => (Ink::Yellow, "needs you"),
        Kind::Budget => (Ink::Yellow, "budget"),
        Kind::LostAsk => (Ink::Yellow, "lost ask"),
        Kind::Held => (Ink::Yellow, "held"),
        Kind::Failed => (Ink::Red, "failed"),
        Kind::Finished => (Ink::Green, "done"),
    };
    let since = age(now - item.since.millis());
    let title = look.paint(Ink::Bold, &one_line(&item.title));
    let mut text = format!("{number:>2}  {}  {title}  {since}\n", look.paint(ink, word));
    let mut about = format!("in {}", one_line(&item.session_title));
    if item.blocks > 1 {
        let _ = write!(about, ", {} wait behind it", item.blocks - 1);
    }
    if *read {
        about.push_str(", read");
    }
    if let Some(until) = snoozed_until {
        let _ = write!(about, ", snoozed until {until}");
    }
    let _ = writeln!(text, "    {}", look.paint(Ink::Dim, &about));
    let session = &item.session_id;
    let how = match (item.kind, &item.ask) {
        (_, Some(ask)) => {
            let how = match ask.kind {
                AskKind::Permission => "--once | --always | --reject",
                AskKind::Question => "--answer TEXT",
                AskKind::Interrupt => "--value JSON",
            };
            format!("turnloom answer {session} {} {how}", ask.ask_id)
        }
        (Kind::Held, None) => format!("turnloom continue {session}"),
        (_, None) => format!("turnloom inbox read {}", item.item_id),
    };
    let _ = writeln!(text, "    {how}");
    text
}
