//! `turnloom schedule`: prompts that are sent by themselves.

mod add;
mod show;

use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};
use turnloom_core::schedule::Run;

use self::show::{in_full, run_line, summary};
use super::Context;
use crate::client::escape;
use crate::schedules::ScheduleView;

/// Send prompts by themselves: every night, every hour, or once
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Add(Box<add::Args>),
    /// List the schedules
    List {
        /// One JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show a schedule and when it runs next
    Show {
        /// The schedule's id
        id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Let nothing of a schedule run until it is resumed
    Pause {
        /// The schedule's id
        id: String,
    },
    /// Let a schedule that was paused go on; what was due meanwhile is not made up for
    Resume {
        /// The schedule's id
        id: String,
    },
    /// Run a schedule now
    Run {
        /// The schedule's id
        id: String,
    },
    /// Remove a schedule and its history; its sessions stay
    Remove {
        /// The schedule's id
        id: String,
    },
    /// List the runs of a schedule, newest first
    Runs {
        /// The schedule's id
        id: String,
        /// How many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
        /// One JSON object per line
        #[arg(long)]
        json: bool,
    },
}

#[derive(Deserialize)]
struct List<T> {
    schedules: Vec<T>,
}

#[derive(Deserialize)]
struct Runs<T> {
    runs: Vec<T>,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    let path = |id: &str| format!("/api/schedules/{}", escape(id));
    let look = context.terminal.out;
    match args.action {
        Action::Add(args) => {
            let made: ScheduleView = client.post("/api/schedules", &args.body()?).await?;
            context.terminal.data(&format!("{}\n", made.schedule_id))?;
            context.terminal.talk(&in_full(&made, look));
        }
        Action::List { json: true } => {
            let List { schedules } = client.get::<List<Value>>("/api/schedules").await?;
            context.terminal.data(&lines(&schedules))?;
        }
        Action::List { json: false } => {
            let List { schedules } = client.get::<List<ScheduleView>>("/api/schedules").await?;
            let table: String = schedules.iter().map(|schedule| summary(schedule, look)).collect();
            context.terminal.data(&table)?;
            if schedules.is_empty() {
                context.terminal.talk("There are none. `turnloom schedule add --help` says how to make one.\n");
            }
        }
        Action::Show { id, json: true } => {
            let schedule: Value = client.get(&path(&id)).await?;
            context.terminal.data(&format!("{schedule}\n"))?;
        }
        Action::Show { id, json: false } => {
            let schedule: ScheduleView = client.get(&path(&id)).await?;
            context.terminal.data(&in_full(&schedule, look))?;
        }
        Action::Pause { id } => {
            client.patch::<Value>(&path(&id), &json!({ "paused": true })).await?;
            context.terminal.talk("It is paused.\n");
        }
        Action::Resume { id } => {
            let schedule: ScheduleView = client.patch(&path(&id), &json!({ "paused": false })).await?;
            let next = schedule.next.first().map_or_else(|| "never".to_owned(), ToString::to_string);
            context.terminal.talk(&format!("It goes on; the next run is due {next}.\n"));
        }
        Action::Run { id } => {
            let run: Run = client.post(&format!("{}/run", path(&id)), &json!({})).await?;
            context.terminal.data(&format!("{}\n", run.run_id))?;
            if let Some(session) = &run.session_id {
                context.terminal.talk(&format!("Watch it with `turnloom events {session} --follow`.\n"));
            }
        }
        Action::Remove { id } => {
            client.delete::<()>(&path(&id)).await?;
            context.terminal.talk("It is removed. What its runs said is in their sessions.\n");
        }
        Action::Runs { id, limit, json } => {
            let path = format!("{}/runs?limit={limit}", path(&id));
            if json {
                let Runs { runs } = client.get::<Runs<Value>>(&path).await?;
                context.terminal.data(&lines(&runs))?;
                return Ok(ExitCode::SUCCESS);
            }
            let Runs { runs } = client.get::<Runs<Run>>(&path).await?;
            let table: String = runs.iter().map(|run| run_line(run, look)).collect();
            context.terminal.data(&table)?;
            if runs.is_empty() {
                context.terminal.talk("It has not run yet.\n");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(values: &[Value]) -> String {
    values.iter().flat_map(|value| [value.to_string(), "\n".to_owned()]).collect()
}
