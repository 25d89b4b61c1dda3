//! Scripts that wait for a person, and go on according to the answer.

use serde_json::{Value, json};

use super::super::agent::Step;
use super::super::wire::{Given, Say, Wanted};
use super::steps::{ConcatSteps as _, result, start};
use super::words_in;
use crate::event::{
    Interrupt, PermissionOption, PermissionReply, PermissionRequest, Question, QuestionOption, QuestionRequest, Surface,
};
use crate::id::ToolUseId;

pub(super) fn permission(t: &str) -> Vec<Step> {
    let id = format!("{t}-permission");
    let command = "rm -rf build";
    let asked = PermissionRequest {
        tool_name: "Bash".to_owned(),
        tool_input: json!({ "command": command }),
        tool_use_id: Some(ToolUseId::trusted(id.clone())),
        title: Some(format!("Run {command}")),
        options: vec![
            PermissionOption { reply: PermissionReply::Once, label: "Allow once".to_owned(), rule: None },
            PermissionOption {
                reply: PermissionReply::Always,
                label: "Always".to_owned(),
                rule: Some("Bash(rm -rf build)".to_owned()),
            },
            PermissionOption { reply: PermissionReply::Reject, label: "Reject".to_owned(), rule: None },
        ],
        ..PermissionRequest::default()
    };
    let t = t.to_owned();
    vec![
        start(&id, "Bash", json!({ "command": command }), |start| start.command = Some(command.to_owned())),
        Step::Ask {
            say: Say::Ask { key: id.clone(), by: None, request: Wanted::Permission(asked) },
            then: Box::new(move |given| after_permission(&t, &id, given)),
        },
    ]
}

fn after_permission(t: &str, id: &str, given: &Given) -> Vec<Step> {
    let Given::Permission { reply, updated_input, message } = given else { return Vec::new() };
    let said = message.as_deref().unwrap_or("no reason given");
    let (result, text) = match reply {
        PermissionReply::Reject => (
            result(id, &format!("rejected: {said}"), |result| {
                result.is_error = true;
                result.denied = Some(true);
            }),
            format!("I did not run it: {said}."),
        ),
        PermissionReply::Once | PermissionReply::Always => {
            let command = updated_input.as_ref().and_then(|input| input.get("command")).and_then(Value::as_str);
            let text = command.map_or_else(
                || "Done, with your permission.".to_owned(),
                |command| format!("Done, with your `{command}`."),
            );
            (result(id, "", |result| result.exit_code = Some(0)), text)
        }
    };
    [vec![result], words_in(t, "permitted", &text)].concat_steps()
}

pub(super) fn question(t: &str) -> Vec<Step> {
    let option =
        |label: &str, what: &str| QuestionOption { label: label.to_owned(), description: Some(what.to_owned()) };
    let asked = QuestionRequest {
        questions: vec![
            Question {
                prompt: "Which thread shall I use?".to_owned(),
                header: Some("Thread".to_owned()),
                options: vec![
                    option("Wool", "warm and forgiving"),
                    option("Silk", "fine and strong"),
                    option("Linen", "plain"),
                ],
                multiple: false,
                free_text: true,
            },
            Question {
                prompt: "Which colours?".to_owned(),
                header: Some("Colours".to_owned()),
                options: vec![option("Indigo", "deep blue"), option("Madder", "red"), option("Weld", "yellow")],
                multiple: true,
                free_text: false,
            },
        ],
        ..QuestionRequest::default()
    };
    let t = t.to_owned();
    vec![Step::Ask {
        say: Say::Ask { key: format!("{t}-question"), by: None, request: Wanted::Question(asked) },
        then: Box::new(move |given| {
            let text = match given {
                Given::Question { answers: Some(answers) } => {
                    let answers: Vec<String> = answers.iter().map(|answers| answers.join(" and ")).collect();
                    format!("You chose {}.", answers.join("; "))
                }
                Given::Question { answers: None } => "Then I will choose myself.".to_owned(),
                Given::Permission { .. } | Given::Interrupt { .. } => String::new(),
            };
            words_in(&t, "answered", &text)
        }),
    }]
}

pub(super) fn interrupt(t: &str) -> Vec<Step> {
    let asked = Interrupt {
        component_name: "DatePicker".to_owned(),
        props: json!({ "label": "When shall the cloth be ready?", "min": "2026-01-01" }),
        surface: Surface::Chat,
        ..Interrupt::default()
    };
    let t = t.to_owned();
    vec![Step::Ask {
        say: Say::Ask { key: format!("{t}-interrupt"), by: None, request: Wanted::Interrupt(asked) },
        then: Box::new(move |given| {
            let value = if let Given::Interrupt { value } = given { value.clone() } else { Value::Null };
            words_in(&t, "picked", &format!("You gave me {value}."))
        }),
    }]
}
