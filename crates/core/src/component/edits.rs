//! What people change in a component that shows a part of the shared state: not a callback, but a patch of that state.

use serde_json::{Map, Value, json};

use crate::event::Bind;

/// Whether these people's actions are edits, where a component lets them be.
const EDITS: &[&str] = &["reorder_steps", "edit_step", "add_step", "remove_step", "change"];

/// More steps are not put into another order: each is looked for among all.
const MAX_STEPS: usize = 2_000;

/// The state is not what the edit was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outdated;

/// The patch that an action comes to: it tests for what was there and puts the new value in its place. Nothing if the action is no edit.
pub fn edited(bind: &Bind, state: &Value, action: &str, payload: &Value) -> Option<Result<Value, Outdated>> {
    if bind.edits != Some(true) || !EDITS.contains(&action) {
        return None;
    }
    Some(patch(bind, state, action, payload).ok_or(Outdated))
}

fn patch(bind: &Bind, state: &Value, action: &str, payload: &Value) -> Option<Value> {
    let value = state.pointer(&bind.pointer)?;
    let key = if action == "change" { "values" } else { "steps" };
    // An object has what is edited among its members; everything else is it.
    let (path, old) = match value {
        Value::Object(members) => (format!("{}/{key}", bind.pointer), members.get(key)),
        other => (bind.pointer.clone(), Some(other)),
    };
    let new = if action == "change" {
        payload.get("values").cloned()?
    } else {
        Value::Array(steps(old?.as_array()?, action, payload)?)
    };
    Some(match old {
        Some(old) => {
            json!([{ "op": "test", "path": path, "value": old }, { "op": "replace", "path": path, "value": new }])
        }
        None => json!([{ "op": "add", "path": path, "value": new }]),
    })
}

/// The steps after an edit; nothing if it was made of other steps.
fn steps(old: &[Value], action: &str, payload: &Value) -> Option<Vec<Value>> {
    let at = || usize::try_from(payload.get("step_index")?.as_u64()?).ok();
    let mut steps = old.to_vec();
    match action {
        "reorder_steps" => {
            let wanted = payload.get("steps")?.as_array()?.clone();
            if wanted.len() > MAX_STEPS {
                return None;
            }
            // The same steps in another order, or somebody has changed them meanwhile.
            let mut left = steps;
            for step in &wanted {
                let at = left.iter().position(|known| known == step)?;
                left.remove(at);
            }
            return left.is_empty().then_some(wanted);
        }
        "edit_step" => describe(steps.get_mut(at()?)?, payload.get("description")?.as_str()?),
        "add_step" => {
            let at = at().filter(|at| *at <= steps.len())?;
            let description = payload.get("description")?.as_str()?;
            let mut step = match steps.first() {
                Some(Value::Object(first)) => Value::Object(Map::from_iter([(words_key(first), Value::Null)])),
                _ => Value::String(String::new()),
            };
            describe(&mut step, description);
            steps.insert(at, step);
        }
        _ => {
            let at = at().filter(|at| *at < steps.len())?;
            steps.remove(at);
        }
    }
    Some(steps)
}

/// Where a step has its words: under `description`, or under `text` where that is what it has.
fn words_key(step: &Map<String, Value>) -> String {
    let has_text = step.contains_key("text") && !step.contains_key("description");
    if has_text { "text" } else { "description" }.to_owned()
}

fn describe(step: &mut Value, words: &str) {
    let words = Value::String(words.to_owned());
    match step {
        Value::Object(members) => drop(members.insert(words_key(members), words)),
        other => *other = words,
    }
}
