//! Rich components: every one that ships, in each of its states; those that show calls and shared state; those that move, grow and wait.

use serde_json::{Value, json};

use super::super::agent::Step;
use super::super::wire::{AgentMessage, AskAnswer, AskPayload};
use super::steps::{ConcatSteps as _, result, say, start};
use super::words_in;
use crate::event::{
    Bind, ComponentRemove, ComponentStatus, ComponentUpdate, Event, Interrupt, MergeMode, StateDelta, StateSnapshot,
    Surface, ToolComponent,
};

/// The examples that fit, of all components: each is shown as it loads, as it is and as it failed.
const EXAMPLES: &str = include_str!("../../../component/examples.jsonl");

/// How long something is looked at before it changes.
const MOMENT_MS: u64 = 80;

/// A component that is new.
fn show(component_id: String, name: &str, surface: Surface, props: Value) -> ComponentUpdate {
    ComponentUpdate { component_id, name: name.to_owned(), surface, props, ..ComponentUpdate::default() }
}

/// More of what one shows.
fn change(known: &ComponentUpdate, mode: MergeMode, props: Value) -> ComponentUpdate {
    ComponentUpdate { props, mode: Some(mode), merge: true, ..known.clone() }
}

fn tell(update: ComponentUpdate) -> Step {
    say(&Event::from(update))
}

fn moments(updates: impl IntoIterator<Item = ComponentUpdate>) -> Vec<Step> {
    updates.into_iter().flat_map(|update| [tell(update), Step::Sleep { ms: MOMENT_MS }]).collect()
}

/// The first example of each component that fits, with its name.
fn examples() -> Vec<(String, Value)> {
    let mut found: Vec<(String, Value)> = Vec::new();
    for example in EXAMPLES.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let name = example.get("name").and_then(Value::as_str).unwrap_or_default();
        if example.get("misfit").is_none() && found.iter().all(|(known, _)| known != name) {
            found.push((name.to_owned(), example.get("props").cloned().unwrap_or_default()));
        }
    }
    found
}

/// Every component, or one of them: while it loads, with what it shows, and with what went wrong.
pub(super) fn gallery(t: &str, wanted: Option<&str>) -> Vec<Step> {
    let chosen: Vec<(String, Value)> =
        examples().into_iter().filter(|(name, _)| wanted.is_none_or(|wanted| wanted == name)).collect();
    if chosen.is_empty() {
        return words_in(t, "components", "There is no such component; `components` shows all of them.");
    }
    let mut steps = Vec::new();
    for (name, props) in chosen {
        let of = |state: &str| format!("{t}-{name}-{state}");
        let with = |state: &str, status, error: Option<&str>, props| ComponentUpdate {
            status: Some(status),
            error: error.map(str::to_owned),
            ..show(of(state), &name, Surface::Chat, props)
        };
        steps.extend(moments([
            with("loading", ComponentStatus::Loading, None, json!({})),
            with("ready", ComponentStatus::Ready, None, props.clone()),
            with("error", ComponentStatus::Error, Some("the thread broke"), props),
        ]));
    }
    steps.extend(words_in(t, "components", "Each of them as it loads, as it is, and as it failed."));
    steps
}

/// A call that a component shows.
pub(super) fn weather(t: &str) -> Vec<Step> {
    let id = format!("{t}-weather");
    let component_id = format!("get_weather-{id}");
    let component = ToolComponent { component_id, name: "weather".to_owned(), ..ToolComponent::default() };
    let found = json!({
        "temperature": 11, "unit": "C", "condition": "rain", "humidity": 88,
        "forecast": [{ "label": "Tue", "high": 12, "low": 7, "condition": "cloudy" }, { "label": "Wed", "high": 14, "low": 8, "condition": "clear" }],
    });
    let mut steps = vec![
        start(&id, "get_weather", json!({ "location": "Ghent" }), |start| start.component = Some(Box::new(component))),
        Step::Sleep { ms: 2 * MOMENT_MS },
        result(&id, &found.to_string(), |_| {}),
    ];
    steps.extend(words_in(t, "weather", "It rains in Ghent."));
    steps
}

/// A chart that grows.
pub(super) fn chart(t: &str) -> Vec<Step> {
    let chart = show(
        format!("{t}-chart"),
        "chart",
        Surface::Chat,
        json!({ "data": [3, 5], "title": "Threads", "type": "bar" }),
    );
    let more = change(&chart, MergeMode::Append, json!({ "data": [8] }));
    vec![tell(chart), Step::Sleep { ms: MOMENT_MS }, tell(more)]
}

/// Research that finds more and more.
pub(super) fn research(t: &str) -> Vec<Step> {
    let id = format!("{t}-research");
    let begun = show(
        id,
        "research_progress",
        Surface::Chat,
        json!({ "title": "Looms", "queries": [], "status": "searching", "progress": 0.0, "findings": [] }),
    );
    let more = |queries: Value, findings: Value| {
        change(&begun, MergeMode::Append, json!({ "queries": queries, "findings": findings }))
    };
    let told = |props: Value| change(&begun, MergeMode::Shallow, props);
    let steps = moments([
        begun.clone(),
        more(json!(["hand looms", "power looms"]), json!([])),
        told(json!({ "progress": 0.4, "results_count": 7 })),
        more(json!(["jacquard"]), json!(["Cards came before programs."])),
        told(json!({ "progress": 1.0, "results_count": 12, "status": "done" })),
    ]);
    [steps, words_in(t, "research", "Twelve results, one finding.")].concat_steps()
}

/// A plan in the sidebar, which waits until somebody approves it.
pub(super) fn plan_editor(t: &str) -> Vec<Step> {
    let plan = show(
        PLAN.to_owned(),
        "plan_editor",
        Surface::Sidebar,
        json!({
            "title": "Plan", "editable": true, "current_step": 0,
            "steps": [{ "id": "1", "description": "Warp the loom" }, { "id": "2", "description": "Throw the shuttle" }, { "id": "3", "description": "Cut the cloth" }],
        }),
    );
    let asked = Interrupt {
        component_name: "plan_editor".to_owned(),
        component_id: Some(PLAN.to_owned()),
        actions: Some(vec!["approve_plan".to_owned()]),
        title: Some("Approve the plan?".to_owned()),
        surface: Surface::Sidebar,
        ..Interrupt::default()
    };
    [vec![tell(plan)], wait(t, "plan", asked)].concat_steps()
}

const PLAN: &str = "plan";

/// Something that waits for an approval, on one surface after the other.
pub(super) fn approval(t: &str, surfaces: &[Surface]) -> Vec<Step> {
    let ask = |surface: &Surface| {
        let asked = Interrupt {
            component_name: "approval".to_owned(),
            props: json!({ "action": "Publish the report", "details": "It goes to **everybody**.", "danger": true, "allow_message": true }),
            title: Some("Publish the report?".to_owned()),
            surface: *surface,
            ..Interrupt::default()
        };
        wait(t, &format!("approval-{surface:?}").to_lowercase(), asked)
    };
    surfaces.iter().flat_map(ask).collect()
}

fn wait(t: &str, name: &str, asked: Interrupt) -> Vec<Step> {
    let (t, name) = (t.to_owned(), name.to_owned());
    vec![Step::Ask {
        say: AgentMessage::Ask { key: format!("{t}-{name}"), by: None, request: AskPayload::Interrupt(asked) },
        then: Box::new(move |given| {
            let value = if let AskAnswer::Interrupt { value } = given { value.clone() } else { Value::Null };
            words_in(&t, &name, &format!("You gave me {value}."))
        }),
    }]
}

/// One that goes from place to place, and away.
pub(super) fn mover(t: &str) -> Vec<Step> {
    let id = format!("{t}-mover");
    let begun = show(id.clone(), "progress", Surface::Chat, json!({ "label": "I move", "value": 0, "max": 5 }));
    let to = |surface, value: u8| ComponentUpdate {
        surface,
        ..change(&begun, MergeMode::Shallow, json!({ "value": value }))
    };
    let mut steps = moments([
        begun.clone(),
        to(Surface::Sidebar, 1),
        to(Surface::Panel, 2),
        to(Surface::Canvas, 3),
        to(Surface::Overlay, 4),
        to(Surface::Chat, 5),
    ]);
    let gone = show(format!("{t}-gone"), "markdown", Surface::Chat, json!({ "text": "I am not here for long." }));
    steps.extend(moments([gone.clone()]));
    steps.push(say(&Event::from(ComponentRemove { component_id: gone.component_id, ..ComponentRemove::default() })));
    steps.extend(words_in(t, "mover", "It is back, and the other one is gone."));
    steps
}

/// One that shows a part of the shared state, which people may change.
pub(super) fn bound(t: &str) -> Vec<Step> {
    let bind = Bind { pointer: "/plan".to_owned(), as_key: Some("steps".to_owned()), edits: Some(true) };
    let props = json!({ "title": "Shared plan", "editable": true });
    let component = ComponentUpdate {
        bind: Some(Box::new(bind)),
        ..show("shared-plan".to_owned(), "plan_editor", Surface::Sidebar, props)
    };
    let patch = json!([{ "op": "add", "path": "/plan/-", "value": "Cut the cloth" }]);
    let mut steps = vec![
        say(&Event::from(StateSnapshot { state: json!({ "plan": ["Warp the loom", "Throw the shuttle"] }) })),
        tell(component),
        Step::Sleep { ms: MOMENT_MS },
        say(&Event::from(StateDelta { patch, by: "agent".to_owned(), ..StateDelta::default() })),
    ];
    steps.extend(words_in(t, "bound", "The plan beside us is shared: change it as you like."));
    steps
}

/// What it does when something was pressed in a component. What is not said stays as it is.
pub(in super::super) fn pressed(component_id: &str, action: &str, payload: &Value) -> Step {
    let (mode, props, patch) = match action {
        "reorder_steps" => ("shallow", json!({ "steps": payload.get("steps") }), Value::Null),
        "approve_step" => {
            let at = payload.get("step_index").and_then(Value::as_u64).unwrap_or(0);
            let path = format!("/steps/{at}/approved");
            ("patch", json!({}), json!([{ "op": "add", "path": path, "value": true }]))
        }
        _ => {
            let text = format!("You pressed {action}, with {payload}.");
            // A note has its words elsewhere.
            let key = if component_id.ends_with(super::shared::BUTTONS) { "text" } else { "description" };
            ("shallow", json!({ key: text }), Value::Null)
        }
    };
    let mut data = json!({ "component_id": component_id, "mode": mode, "props": props });
    if let (false, Some(data)) = (patch.is_null(), data.as_object_mut()) {
        data.insert("patch".to_owned(), patch);
    }
    Step::Send(AgentMessage::Event { kind: "component_update".to_owned(), data, by: None })
}
