//! How the props of a change meet those that are there.

use serde_json::{Map, Value};

use super::{MAX_PATCH_OPERATIONS, MAX_PROPS_BYTES, MAX_PROPS_DEPTH};
use crate::event::{ComponentUpdate, MergeMode};
use crate::nesting;
use crate::shared;

/// Why a change of props changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unmergeable {
    #[error("`props` must be an object")]
    NoObject,
    #[error("the mode `patch` needs a `patch`")]
    NoPatch,
    #[error("{0}")]
    Patch(shared::Error),
    #[error("a patch of props has at most {MAX_PATCH_OPERATIONS} operations")]
    TooManyOperations,
    #[error("the props would be larger than {MAX_PROPS_BYTES} bytes")]
    TooLarge,
    #[error("the props would be nested deeper than {MAX_PROPS_DEPTH} levels")]
    TooDeep,
}

/// How an update merges.
pub fn mode_of(update: &ComponentUpdate) -> MergeMode {
    let told = if update.merge { MergeMode::Shallow } else { MergeMode::Replace };
    update.mode.unwrap_or(told)
}

/// The props after an update: all of it, or an error and none of it.
pub(super) fn merged(known: &Map<String, Value>, update: &ComponentUpdate) -> Result<Map<String, Value>, Unmergeable> {
    let none = Map::new();
    let new = match &update.props {
        Value::Object(props) => props,
        Value::Null => &none,
        _ => return Err(Unmergeable::NoObject),
    };
    let props = match mode_of(update) {
        MergeMode::Replace => new.clone(),
        MergeMode::Shallow => over(known.clone(), new),
        MergeMode::Deep => {
            let mut document = Value::Object(known.clone());
            json_patch::merge(&mut document, &Value::Object(new.clone()));
            object(document)?
        }
        MergeMode::Append => appended(known.clone(), new),
        MergeMode::Patch => patched(known, update.patch.as_ref().ok_or(Unmergeable::NoPatch)?)?,
    };
    bounded(props)
}

/// Key by key; `null` is a value.
pub(super) fn over(mut known: Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    known.extend(new.clone());
    known
}

/// Lists and texts are continued, all else is replaced.
fn appended(mut known: Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    for (key, value) in new {
        match (known.get_mut(key), value) {
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more.iter().cloned()),
            (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
            _ => drop(known.insert(key.clone(), value.clone())),
        }
    }
    known
}

fn patched(known: &Map<String, Value>, patch: &Value) -> Result<Map<String, Value>, Unmergeable> {
    if patch.as_array().is_some_and(|operations| operations.len() > MAX_PATCH_OPERATIONS) {
        return Err(Unmergeable::TooManyOperations);
    }
    object(shared::patched(&Value::Object(known.clone()), patch).map_err(Unmergeable::Patch)?)
}

fn object(value: Value) -> Result<Map<String, Value>, Unmergeable> {
    match value {
        Value::Object(props) => Ok(props),
        _ => Err(Unmergeable::NoObject),
    }
}

/// Refuses props that are too much to be kept.
pub(super) fn bounded(props: Map<String, Value>) -> Result<Map<String, Value>, Unmergeable> {
    let props = Value::Object(props);
    if !nesting::fits(&props, MAX_PROPS_DEPTH) {
        return Err(Unmergeable::TooDeep);
    }
    if shared::size(&props) > MAX_PROPS_BYTES {
        return Err(Unmergeable::TooLarge);
    }
    object(props)
}
