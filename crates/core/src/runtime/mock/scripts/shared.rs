//! What the agent shares with its clients: components that are shown and pressed, and the shared state.

use serde_json::{Value, json};

use super::super::agent::{HostState, Step};
use super::steps::say;
use super::words_in;
use crate::event::{ComponentUpdate, Event, StateDelta, StateSnapshot, Surface};

pub(super) fn component(t: &str) -> Vec<Step> {
    let update = |props: Value, merge: bool| {
        let (component_id, name) = (format!("{t}-chart"), "BarChart".to_owned());
        say(&Event::from(ComponentUpdate { component_id, name, surface: Surface::Chat, props, merge }))
    };
    vec![
        update(json!({ "title": "Threads", "values": [3, 5] }), false),
        Step::Sleep { ms: 80 },
        update(json!({ "values": [3, 5, 8] }), true),
    ]
}

/// A note with a button.
pub(super) fn buttons(t: &str) -> Vec<Step> {
    let props = json!({
        "title": "Shuttle",
        "text": "Nothing was pressed yet.",
        "actions": [{ "name": "throw", "label": "Throw it", "payload": { "rows": 1 } }],
    });
    vec![note(format!("{t}-buttons"), props, false)]
}

/// What it shows when something was pressed.
pub(in super::super) fn pressed(component_id: String, action: &str, payload: &Value) -> Step {
    note(component_id, json!({ "text": format!("You pressed {action}, with {payload}.") }), true)
}

fn note(component_id: String, props: Value, merge: bool) -> Step {
    let (name, surface) = ("Note".to_owned(), Surface::Chat);
    say(&Event::from(ComponentUpdate { component_id, name, surface, props, merge }))
}

pub(super) fn state(t: &str, host_state: &HostState) -> Vec<Step> {
    if let Some(state) = &host_state.state {
        return add_row(t, state);
    }
    let patch = json!([{ "op": "replace", "path": "/rows", "value": 2 }, { "op": "add", "path": "/colours/-", "value": "weld" }]);
    let mut steps = vec![
        say(&Event::from(StateSnapshot { state: json!({ "rows": 1, "colours": ["indigo"] }) })),
        Step::Sleep { ms: 40 },
        say(&Event::from(StateDelta { patch, by: "agent".to_owned() })),
    ];
    steps.extend(words_in(t, "state", "The shared state has two rows now."));
    steps
}

/// What it does with a state that a client has written to.
fn add_row(t: &str, state: &Value) -> Vec<Step> {
    let rows = state.get("rows").and_then(Value::as_u64).unwrap_or(0) + 1;
    let patch = json!([{ "op": "add", "path": "/rows", "value": rows }]);
    let mut steps = vec![say(&Event::from(StateDelta { patch, by: "agent".to_owned() }))];
    steps.extend(words_in(t, "state", &format!("I was told {state}; there is one row more now.")));
    steps
}
