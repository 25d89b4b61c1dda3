//! `turnloom sign-ins`: lists the browsers that are signed in, and signs them out.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use turnloom_core::time::Timestamp;

use super::Context;
use super::render::{Ink, age, count, one_line};
use crate::client::escape;
use crate::session::now;

/// List the browsers that are signed in, or sign them out
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Sign this one out
    #[arg(long, value_name = "ID", conflicts_with = "end_all")]
    end: Option<String>,
    /// Sign all of them out
    #[arg(long)]
    end_all: bool,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct List<T> {
    sign_ins: Vec<T>,
}

#[derive(Deserialize)]
struct SignIn {
    id: String,
    browser: String,
    seen_at: Timestamp,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    if args.end_all {
        client.delete::<()>("/api/sign-ins").await?;
        context.terminal.talk("No browser is signed in any more.\n");
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(id) = args.end {
        client.delete::<()>(&format!("/api/sign-ins/{}", escape(&id))).await?;
        context.terminal.talk("It is signed out.\n");
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        let List { sign_ins } = client.get::<List<serde_json::Value>>("/api/sign-ins").await?;
        let lines: Vec<String> = sign_ins.iter().map(|sign_in| format!("{sign_in}\n")).collect();
        context.terminal.data(&lines.concat())?;
        return Ok(ExitCode::SUCCESS);
    }
    let List { sign_ins } = client.get::<List<SignIn>>("/api/sign-ins").await?;
    let look = context.terminal.out;
    let mut table = String::new();
    for SignIn { id, browser, seen_at } in &sign_ins {
        let seen = look.paint(Ink::Dim, &format!("{:>4}", age(now().millis() - seen_at.millis())));
        let _ = writeln!(table, "{id}  {seen}  {}", one_line(browser));
    }
    context.terminal.data(&table)?;
    if sign_ins.is_empty() {
        context.terminal.talk("No browser is signed in. `turnloom open` prints a link for one.\n");
    } else {
        let all = count(sign_ins.len(), "browser");
        context.terminal.talk(&format!("{all} signed in; sign one out with --end ID.\n"));
    }
    Ok(ExitCode::SUCCESS)
}
