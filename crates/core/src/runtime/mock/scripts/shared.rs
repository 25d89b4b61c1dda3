//! What the agent shares with its clients: a note with a button, and the shared state. Other components are in `components`.

use serde_json::{Value, json};

use super::super::agent::{HostState, Step};
use super::steps::say;
use super::words_in;
use crate::event::{ComponentUpdate, Event, StateDelta, StateSnapshot};

/// How the id of the note with a button ends.
pub(super) const BUTTONS: &str = "-buttons";

/// A note with a button.
pub(super) fn buttons(t: &str) -> Vec<Step> {
    let props = json!({
        "title": "Shuttle",
        "text": "Nothing was pressed yet.",
        "actions": [{ "action": "throw", "name": "throw", "label": "Throw it", "payload": { "rows": 1 } }],
    });
    let (component_id, name) = (format!("{t}{BUTTONS}"), "markdown".to_owned());
    vec![say(&Event::from(ComponentUpdate { component_id, name, props, ..ComponentUpdate::default() }))]
}

pub(super) fn state(t: &str, host_state: &HostState) -> Vec<Step> {
    if let Some(state) = &host_state.state {
        return add_row(t, state);
    }
    let patch = json!([{ "op": "replace", "path": "/rows", "value": 2 }, { "op": "add", "path": "/colours/-", "value": "weld" }]);
    let mut steps = vec![
        say(&Event::from(StateSnapshot { state: json!({ "rows": 1, "colours": ["indigo"] }) })),
        Step::Sleep { ms: 40 },
        say(&Event::from(StateDelta { patch, by: "agent".to_owned(), ..StateDelta::default() })),
    ];
    steps.extend(words_in(t, "state", "The shared state has two rows now."));
    steps
}

/// What it does with a state that a client has written to.
fn add_row(t: &str, state: &Value) -> Vec<Step> {
    let rows = state.get("rows").and_then(Value::as_u64).unwrap_or(0) + 1;
    let patch = json!([{ "op": "add", "path": "/rows", "value": rows }]);
    let mut steps = vec![say(&Event::from(StateDelta { patch, by: "agent".to_owned(), ..StateDelta::default() }))];
    steps.extend(words_in(t, "state", &format!("I was told {state}; there is one row more now.")));
    steps
}
