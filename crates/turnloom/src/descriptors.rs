//! Raises the limit of open files and sockets of this process. Every follower needs one, so the limit that a shell sets is soon too low.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Config;

/// Reserved for the log, for agents (three pipes each) and for requests that do not follow.
const RESERVE: u64 = 1_024;

/// There are not enough for what is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this process may open {allowed} files and sockets, and {needed} are needed for `max_followers`; raise the hard limit (`ulimit -Hn`, `LimitNOFILE` of systemd), or lower `max_followers`"
)]
pub struct TooFew {
    pub allowed: u64,
    pub needed: u64,
}

/// The limit that this process was given, if it was raised since.
static ORIGINAL_LIMIT: OnceLock<Rlimit> = OnceLock::new();

/// The limit that agents get: the one that the daemon itself was started with. With a large limit some programs iterate over every descriptor number.
pub fn original_limit() -> Option<Rlimit> {
    ORIGINAL_LIMIT.get().copied()
}

/// Raises the soft limit as far as it is needed and allowed.
pub fn raise(config: &Config) -> Result<(), TooFew> {
    let needed = needed(config);
    let original_limit = getrlimit(Resource::Nofile);
    let Rlimit { current, maximum } = original_limit;
    // No limit is enough for everybody.
    let Some(soft) = current.filter(|soft| *soft < needed) else { return Ok(()) };
    let wanted = maximum.map_or(needed, |maximum| maximum.min(needed));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    if raised.is_ok() {
        ORIGINAL_LIMIT.get_or_init(|| original_limit);
    }
    let allowed = if raised.is_ok() { wanted } else { soft };
    if allowed < needed { Err(TooFew { allowed, needed }) } else { Ok(()) }
}

fn needed(config: &Config) -> u64 {
    let sockets = config.max_followers.saturating_add(config.max_strangers);
    u64::try_from(sockets).unwrap_or(u64::MAX).saturating_add(RESERVE)
}
