//! Codex, the real program.

mod asks;
mod failures;
mod gate;
mod history;
mod oldest;
mod policy;
mod projects;
mod stopping;
mod talking;

use serde_json::{Value, json};

use crate::place::Place;
use crate::support::eventually;

/// Every message is answered with its own words.
const ECHO: &str = r#"
    [[reply]]
    when = { user = "" }
    always = true
    step = [{ text = "You said: {{user}}" }]
"#;

/// A place with one session in it that may do everything and asks nobody.
fn session(script: &str) -> (Place, String) {
    let mut place = Place::codex(script);
    let id = place.session("codex", free("never"));
    (place, id)
}

/// No sandbox, so that the tests do not depend on what the kernel allows.
fn free(policy: &str) -> Value {
    json!({ "approval_policy": policy, "sandbox": "danger-full-access" })
}

/// One process serves everybody. It may have others at work for a moment, which look like it before they are something else.
fn one_server(place: &Place) {
    until_servers(place, 1);
}

/// Waits until there are as many servers. Each may have others at work for a moment, which look like it before they are something else.
fn until_servers(place: &Place, count: usize) -> Vec<u32> {
    let is_server = |pid: &u32| {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|word| word == b"app-server"))
    };
    let servers = || place.agents().into_iter().filter(is_server).collect::<Vec<_>>();
    eventually("servers", || Some(servers()).filter(|servers| servers.len() == count))
}
