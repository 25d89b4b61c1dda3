//! How deep JSON may be nested. Whatever reads, compares, copies, writes or drops a value goes as deep as the value does, and a stack has an end.
//! Text is bounded by its parser (128 levels); values that are made here are bounded here, well below that, so that what was written can be read
//! again with everything around it.
//!
//! What clients send too deep is refused. What agents say is kept: the part that is too deep becomes text.

use serde_json::Value;

use crate::command::{Answer, Command};
use crate::event::Event;

#[cfg(test)]
mod tests;

/// The levels of one value: parameters, an input, the shared state.
pub const MAX_DEPTH: usize = 64;

/// The levels of an event: a value, and the payload around it.
pub const MAX_EVENT_DEPTH: usize = MAX_DEPTH + 8;

/// Sub-agents that stand inside each other in a view. Those further down stand beside the last of them.
pub const MAX_SUBAGENTS: usize = 16;

/// Whether a value has at most so many levels. It looks no deeper than that.
pub fn fits(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| fits(item, levels - 1)),
        Value::Object(members) => levels > 0 && members.values().all(|member| fits(member, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Whether JSON text has at most so many levels. The text need not be valid.
pub fn text_fits(json: &[u8], levels: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > levels {
            return false;
        }
    }
    true
}

/// Whether everything a client sends with a command can be kept.
pub fn command_fits(command: &Command) -> bool {
    let answer_fits = |answer: &Answer| match answer {
        Answer::Permission { updated_input, .. } => updated_input.iter().all(|input| fits(input, MAX_DEPTH)),
        Answer::Interrupt { value } | Answer::ToolFailed { output: value } => fits(value, MAX_DEPTH),
        Answer::Question { .. } => true,
    };
    match command {
        Command::Answer { answer, .. } | Command::AnswerAlong { answer, .. } | Command::ToolResult { answer, .. } => {
            answer_fits(answer)
        }
        Command::Update(update) => update.settings.values().all(|value| fits(value, MAX_DEPTH - 1)),
        Command::PatchState { patch } => fits(patch, MAX_DEPTH),
        Command::CallBack(callback) => fits(&callback.payload, MAX_DEPTH),
        Command::Emit(emit) => emit.events.iter().all(|event| fits(&event.data(), MAX_DEPTH)),
        Command::Send { .. }
        | Command::Stop { .. }
        | Command::ForceStop { .. }
        | Command::Resume { .. }
        | Command::Rollback { .. }
        | Command::Compact
        | Command::StopBackground { .. }
        | Command::Archive
        | Command::Unarchive
        | Command::Unqueue { .. }
        | Command::Reorder { .. }
        | Command::EditQueued { .. }
        | Command::ReadQueued { .. }
        | Command::AddChild(_)
        | Command::Child(_)
        | Command::Continue => true,
    }
}

/// Makes the values of an event fit.
pub fn bound(event: &mut Event) {
    event.each_value(&mut bound_value);
}

fn bound_value(value: &mut Value) {
    if !fits(value, MAX_DEPTH) {
        cut(value, MAX_DEPTH);
    }
}

/// Turns what is deeper than so many levels into text.
fn cut(value: &mut Value, levels: usize) {
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => *value = Value::String(value.to_string()),
        Value::Array(items) => items.iter_mut().for_each(|item| cut(item, levels - 1)),
        Value::Object(members) => members.values_mut().for_each(|member| cut(member, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
