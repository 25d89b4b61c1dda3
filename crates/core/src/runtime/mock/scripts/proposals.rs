//! Calls that wait for what the rules say, or for the session that carries them out. Of the first nothing is really run; the log is the same as if it
//! had been.

use serde_json::{Value, json};

use super::super::agent::Step;
use super::super::wire::{AgentMessage, AskAnswer, AskPayload};
use super::asks::{after_permission, option};
use super::steps::{ConcatSteps as _, result, start};
use super::words_in;
use crate::event::{PermissionReply, PermissionRequest};
use crate::id::ToolUseId;

/// Proposes a command for a shell.
pub(super) fn bash(t: &str, command: &str) -> Vec<Step> {
    proposal(t, "Bash", json!({ "command": command }))
}

/// Proposes a call of any tool. What is no JSON object is a path.
pub(super) fn call(t: &str, tool: &str, prompt: &str) -> Vec<Step> {
    let given = prompt.split_once(tool).map(|(_, input)| input.trim()).unwrap_or_default();
    let input = serde_json::from_str(given).ok().filter(Value::is_object);
    proposal(t, tool, input.unwrap_or_else(|| json!({ "file_path": given })))
}

/// Calls a tool that the session serves.
pub(super) fn host_tool(t: &str, tool: &str, prompt: &str) -> Vec<Step> {
    let given = prompt.split_once(tool).map(|(_, input)| input.trim()).unwrap_or_default();
    let input = serde_json::from_str(given).unwrap_or_else(|_| json!({}));
    let id = format!("{t}-{tool}");
    let started = start(&id, tool, input.clone(), |_| {});
    let say = AgentMessage::HostCall { key: id.clone(), by: None, tool: tool.to_owned(), input };
    let t = t.to_owned();
    let then = move |given: &AskAnswer| {
        let (output, failed) = match given {
            AskAnswer::Served { output, is_error } => (output.clone(), *is_error),
            _ => (String::new(), true),
        };
        let text = format!("The session says: {output}");
        let result = result(&id, &output, |result| result.is_error = failed);
        [vec![result], words_in(&t, "served", &text)].concat_steps()
    };
    vec![started, Step::Ask { say, then: Box::new(then) }]
}

fn proposal(t: &str, tool: &str, input: Value) -> Vec<Step> {
    let id = format!("{t}-call");
    let text = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
    let (command, path) = (text("command"), text("file_path"));
    let started = start(&id, tool, input.clone(), |start| (start.command, start.file_path) = (command, path));
    let say = AgentMessage::Propose { key: id.clone(), by: None, tool: tool.to_owned(), input: input.clone() };
    let (t, tool) = (t.to_owned(), tool.to_owned());
    vec![started, Step::Ask { say, then: Box::new(move |given| judged(&t, &id, &tool, input, given)) }]
}

fn judged(t: &str, id: &str, tool: &str, input: Value, given: &AskAnswer) -> Vec<Step> {
    match given {
        AskAnswer::Allowed {} => {
            let done = result(id, "", |result| result.exit_code = Some(0));
            [vec![done], words_in(t, "ran", "Done.")].concat_steps()
        }
        AskAnswer::Denied { reason } => {
            let denied = result(id, reason, |result| (result.is_error, result.denied) = (true, Some(true)));
            [vec![denied], words_in(t, "denied", &format!("I may not: {reason}."))].concat_steps()
        }
        AskAnswer::MustAsk { .. } => {
            let command = input.get("command").and_then(Value::as_str);
            let title = command.map_or_else(|| format!("Use {tool}"), |command| format!("Run {command}"));
            let request = PermissionRequest {
                tool_name: tool.to_owned(),
                tool_input: input,
                tool_use_id: Some(ToolUseId::trusted(id)),
                title: Some(title),
                options: vec![
                    option(PermissionReply::Once, "Allow once", None),
                    option(PermissionReply::Reject, "Reject", None),
                ],
                ..PermissionRequest::default()
            };
            let key = format!("{id}-ask");
            let say = AgentMessage::Ask { key, by: None, request: AskPayload::Permission(request) };
            let (t, id) = (t.to_owned(), id.to_owned());
            vec![Step::Ask { say, then: Box::new(move |given| after_permission(&t, &id, given)) }]
        }
        _ => Vec::new(),
    }
}
