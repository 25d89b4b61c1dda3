//! What a call gives to the component that shows it: first its input, then its result.

use serde_json::{Map, Value};

use super::merge::{bounded, over};
use super::{MAX_PROPS_BYTES, MAX_PROPS_DEPTH};
use crate::event::{ToolComponent, ToolMapping, ToolResult, ToolStart};
use crate::nesting;
use crate::shared;

/// What a component says whose result cannot be shown.
pub(super) const TOO_LARGE: &str = "the result is too large to be shown here";

/// What a component shows of an input; nothing if it is too much.
pub fn start_props(start: &ToolStart) -> Option<Map<String, Value>> {
    let input = start.input.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
    bounded(input).ok()
}

/// What a result brings to a component: an object, to be laid over what is there. Nothing if it is too much, or if not all of it is here.
pub fn result_props(result: &ToolResult, into: Option<&str>) -> Option<Map<String, Value>> {
    if let Some(props) = &result.props {
        return Some(props.clone());
    }
    let whole = match &result.structured {
        Some(structured) => structured.clone(),
        None if result.blob.is_some() => return None,
        None => read(&result.output),
    };
    let key = |usual: &str| into.unwrap_or(usual).to_owned();
    let props = match whole {
        Value::Object(props) => props,
        Value::Array(list) => Map::from_iter([(key("items"), Value::Array(list))]),
        Value::String(text) => Map::from_iter([(key("raw"), Value::String(text))]),
        other => Map::from_iter([(key("raw"), Value::String(other.to_string()))]),
    };
    bounded(props).ok()
}

/// An output as JSON; as text, if it is none, or none that could be kept.
fn read(output: &str) -> Value {
    let is_nested = |value: &Value| value.is_object() || value.is_array();
    let json: Option<Value> = serde_json::from_str(output).ok();
    // One level is the object around it.
    json.filter(|json| is_nested(json) && nesting::fits(json, MAX_PROPS_DEPTH - 1))
        .unwrap_or_else(|| Value::String(output.to_owned()))
}

/// The props of a component once the result is there; nothing if that would be too much.
pub(super) fn finished(
    known: &Map<String, Value>,
    call: &ToolComponent,
    result: &ToolResult,
) -> Option<Map<String, Value>> {
    match call.result {
        ToolMapping::Input => Some(known.clone()),
        ToolMapping::Output => result_props(result, call.into.as_deref()),
        ToolMapping::Merge => {
            let props = over(known.clone(), &result_props(result, call.into.as_deref())?);
            (shared::size(&Value::Object(props.clone())) <= MAX_PROPS_BYTES).then_some(props)
        }
    }
}
