//! `turnloom token`: makes a token for somebody else, or revokes one.

use std::process::ExitCode;

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;
use turnloom_core::time::Timestamp;

use super::Context;
use super::failure::Failure;
use crate::client::escape;
use crate::session::now;

/// Make a token for an agent, a script or a person, or revoke one
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Make a token; it is shown once
    New {
        /// What the log calls whoever has it
        name: String,
        /// What it opens: agent:NAME, emit:SESSION, read:SESSION, use:SESSION (or * for all sessions), full; may be given more than once
        #[arg(long = "scope", value_name = "SCOPE", required = true)]
        scopes: Vec<String>,
        /// When it ends: 90d, 12h or 30m from now; never, if not given
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// Revoke a token; what was opened with it is closed
    Revoke {
        /// As `turnloom tokens` lists it
        id: String,
    },
}

#[derive(Deserialize)]
struct Made {
    token_id: String,
    token: String,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    match args.action {
        Action::New { name, scopes, expires } => {
            let expires_at = expires.as_deref().map(from_now).transpose()?;
            let mut body = json!({ "name": name, "scopes": scopes });
            if let (Some(at), Some(body)) = (expires_at, body.as_object_mut()) {
                body.insert("expires_at".to_owned(), json!(at));
            }
            let Made { token_id, token } = client.post("/api/tokens", &body).await?;
            context.terminal.data(&format!("{token}\n"))?;
            let revoke = format!("It is not shown again. Revoke it with `turnloom token revoke {token_id}`.\n");
            context.terminal.talk(&revoke);
        }
        Action::Revoke { id } => {
            client.delete::<()>(&format!("/api/tokens/{}", escape(&id))).await?;
            context.terminal.talk("It is revoked.\n");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// `90d`, `12h` or `30m` from now.
fn from_now(text: &str) -> Result<Timestamp> {
    let ms = duration_ms(text).ok_or_else(|| {
        Failure::new(format!("{text:?} is not a length of time"), "give days, hours or minutes: 90d, 12h, 30m")
    })?;
    Ok(now().plus_millis(ms))
}

fn duration_ms(text: &str) -> Option<i64> {
    let minute: i64 = 60_000;
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "m" => minute,
        "h" => 60 * minute,
        "d" => 24 * 60 * minute,
        _ => return None,
    };
    number.parse::<i64>().ok().filter(|number| *number > 0)?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        for (text, expected) in [
            ("90d", Some(7_776_000_000)),
            ("12h", Some(43_200_000)),
            ("30m", Some(1_800_000)),
            ("", None),
            ("d", None),
            ("0d", None),
            ("-1d", None),
            ("1y", None),
            ("9é", None),
            ("99999999999999999d", None),
        ] {
            assert_eq!(duration_ms(text), expected, "{text:?}");
        }
    }
}
