//! From what a call is for to the tool this agent has for it, chosen by what the request offers. Nothing is run here: agents do that.

use serde_json::{Value, json};

use crate::plan::{Call, Input};
use crate::request::{Api, InputForm, ModelRequest};
use crate::script::{NamedCall, PlanItem, Question, Tool};

/// The tool that runs code, in which the other tools are functions.
const CODE: &str = "exec";

/// The call, or nothing if the script has none for this API.
pub(crate) fn call(tool: &Tool, asked: &ModelRequest) -> Option<Call> {
    match asked.api {
        Api::Anthropic => anthropic(tool, asked),
        Api::Openai => openai(tool, asked),
    }
}

fn anthropic(tool: &Tool, asked: &ModelRequest) -> Option<Call> {
    let path = |path: &str| absolute(path, asked);
    let (name, input) = match tool {
        Tool::Run { command } => ("Bash", json!({"command": command, "description": "Run a scripted command"})),
        Tool::Read { path: file } => ("Read", json!({"file_path": path(file)})),
        Tool::Write { path: file, text } => ("Write", json!({"file_path": path(file), "content": text})),
        Tool::Edit { path: file, old, new } => {
            ("Edit", json!({"file_path": path(file), "old_string": old, "new_string": new}))
        }
        Tool::Ask(question) => (
            "AskUserQuestion",
            json!({"questions": [{
                "question": question.text,
                "header": question.header,
                "multiSelect": question.several,
                "options": options(question),
            }]}),
        ),
        Tool::Plan(items) => ("TodoWrite", json!({"todos": items.iter().map(todo).collect::<Vec<_>>()})),
        // This API has no tools that take free text.
        Tool::Named { anthropic, .. } => match anthropic.as_ref()? {
            NamedCall { name, input: Value::String(text) } => (name.as_str(), json!({"input": text})),
            NamedCall { name, input } => (name.as_str(), input.clone()),
        },
    };
    Some(Call { name: name.to_owned(), namespace: None, input: Input::Object(input) })
}

fn todo(item: &PlanItem) -> Value {
    json!({"content": item.text, "activeForm": item.text, "status": item.state.as_str()})
}

fn openai(tool: &Tool, asked: &ModelRequest) -> Option<Call> {
    Some(match tool {
        Tool::Run { command } => shell(command, asked),
        Tool::Read { path } => shell(&format!("cat {}", quoted(path)), asked),
        Tool::Write { path, text } => patch(&format!("*** Add File: {path}\n{}", marked('+', text)), asked),
        Tool::Edit { path, old, new } => {
            patch(&format!("*** Update File: {path}\n@@\n{}{}", marked('-', old), marked('+', new)), asked)
        }
        Tool::Ask(question) => function(
            asked,
            "request_user_input",
            json!({"questions": [{
                "id": "question",
                "header": question.header,
                "question": question.text,
                "options": options(question),
            }]}),
        ),
        Tool::Plan(items) => {
            let steps = items.iter().map(|item| json!({"step": item.text, "status": item.state.as_str()}));
            function(asked, "update_plan", json!({"plan": steps.collect::<Vec<_>>()}))
        }
        Tool::Named { openai, .. } => as_offered(openai.as_ref()?, asked),
    })
}

/// Codex has had several shells; which one it offers depends on the model it believes to talk to.
fn shell(command: &str, asked: &ModelRequest) -> Call {
    if asked.offers("shell_command") {
        function(asked, "shell_command", json!({"command": command}))
    } else if asked.offers("shell") {
        function(asked, "shell", json!({"command": ["bash", "-lc", command]}))
    } else {
        function(asked, "exec_command", json!({"cmd": command}))
    }
}

fn patch(hunk: &str, asked: &ModelRequest) -> Call {
    let patch = format!("*** Begin Patch\n{hunk}*** End Patch\n");
    match asked.tools.iter().find(|tool| tool.name == "apply_patch").map(|tool| tool.input) {
        Some(InputForm::Object) => function(asked, "apply_patch", json!({"input": patch})),
        Some(InputForm::Text) => text(asked, "apply_patch", patch),
        None if asked.offers(CODE) => text(asked, "apply_patch", patch),
        None => shell(&format!("apply_patch <<'END_OF_PATCH'\n{patch}END_OF_PATCH"), asked),
    }
}

fn as_offered(call: &NamedCall, asked: &ModelRequest) -> Call {
    match &call.input {
        Value::String(input) => text(asked, &call.name, input.clone()),
        input => function(asked, &call.name, input.clone()),
    }
}

fn function(asked: &ModelRequest, name: &str, input: Value) -> Call {
    in_code(asked, name, &input).unwrap_or_else(|| offered(asked, name, Input::Object(input)))
}

fn text(asked: &ModelRequest, name: &str, input: String) -> Call {
    in_code(asked, name, &json!(input)).unwrap_or_else(|| offered(asked, name, Input::Text(input)))
}

/// Some models get one tool that runs JavaScript, in which the others are functions. JSON is JavaScript.
fn in_code(asked: &ModelRequest, name: &str, input: &Value) -> Option<Call> {
    let hidden = asked.offers(CODE) && !asked.offers(name);
    let code = || format!("const said = await tools.{name}({input});\ntext(said?.output ?? said);\n");
    hidden.then(|| offered(asked, CODE, Input::Text(code())))
}

fn offered(asked: &ModelRequest, name: &str, input: Input) -> Call {
    if let Some(tool) = asked.tools.iter().find(|tool| tool.name == name) {
        return Call { name: name.to_owned(), namespace: tool.namespace.clone(), input };
    }
    // What is not listed can be called all the same by who knows its namespace.
    match name.split_once('.') {
        Some((namespace, name)) => Call { name: name.to_owned(), namespace: Some(namespace.to_owned()), input },
        None => Call { name: name.to_owned(), namespace: None, input },
    }
}

fn options(question: &Question) -> Value {
    question.options.iter().map(|label| json!({"label": label, "description": label})).collect()
}

fn absolute(path: &str, asked: &ModelRequest) -> String {
    match &asked.directory {
        Some(directory) if !path.starts_with('/') => format!("{}/{path}", directory.trim_end_matches('/')),
        _ => path.to_owned(),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Every line with a mark in front, as in a patch.
fn marked(mark: char, text: &str) -> String {
    text.lines().flat_map(|line| [mark].into_iter().chain(line.chars()).chain(['\n'])).collect()
}

#[cfg(test)]
mod tests;
