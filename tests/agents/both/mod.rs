//! What every agent has to do in the same way: one test for each of them.

mod asks;
mod budgets;
mod components;
mod delegation;
mod failures;
mod guide;
mod history;
mod stopping;
mod talking;
mod view;

use serde_json::{Value, json};

use crate::place::{Place, Turn};

/// What differs between the agents.
struct Agent {
    runtime: &'static str,
    place: fn(&str) -> Place,
    /// Parameters with which commands run without asking anybody.
    free: fn() -> Value,
    /// With which they are asked about.
    asking: fn() -> Value,
    /// With which the model may ask a person.
    inquiring: fn() -> Value,
    /// A step of a script that hands "make it" on to a sub-agent.
    delegate: &'static str,
    /// What a version that is too old says of itself.
    old: &'static str,
}

const CLAUDE: Agent = Agent {
    runtime: "claude",
    place: Place::claude,
    free: || json!({ "allowed_tools": ["Bash"] }),
    asking: || json!({}),
    inquiring: || json!({}),
    delegate: r#"{ tool = { name = "Agent", input = { description = "Make", prompt = "make it", subagent_type = "general-purpose" } } }"#,
    old: "1.0.3 (Claude Code)",
};

const CODEX: Agent = Agent {
    runtime: "codex",
    place: Place::codex,
    // No sandbox, so that the tests do not depend on what the kernel allows.
    free: || json!({ "approval_policy": "never", "sandbox": "danger-full-access" }),
    asking: || json!({ "approval_policy": "untrusted", "sandbox": "danger-full-access" }),
    inquiring: || json!({ "mode": "plan" }),
    delegate: r#"{ tool = { name = "multi_agent_v1.spawn_agent", input = { message = "make it" } } }"#,
    old: "codex-cli 0.98.0",
};

impl Agent {
    /// A place with one session that asks nobody.
    fn session(&self, script: &str) -> (Place, String) {
        let mut place = (self.place)(script);
        let id = place.session(self.runtime, (self.free)());
        (place, id)
    }

    /// A place with one session that asks.
    fn asking_session(&self, script: &str) -> (Place, String) {
        let mut place = (self.place)(script);
        let id = place.session(self.runtime, (self.asking)());
        (place, id)
    }
}

/// Makes a test of each function, for each agent.
macro_rules! for_each_agent {
    ($($test:ident)*) => {
        mod claude {
            $(#[test] fn $test() { super::$test(&super::super::CLAUDE); })*
        }
        mod codex {
            $(#[test] fn $test() { super::$test(&super::super::CODEX); })*
        }
    };
}
use for_each_agent;

/// Every message is answered with its own words.
const ECHO: &str = r#"
    [[reply]]
    when = { user = "" }
    always = true
    step = [{ text = "You said: {{user}}" }]
"#;

/// The end of the last turn, which says that it was stopped.
fn stopped(place: &Place, id: &str) -> Turn {
    place.stop(id);
    let turn = place.last_turn(id);
    assert_eq!(turn.outcome(), "stopped", "{turn:?}");
    turn
}
