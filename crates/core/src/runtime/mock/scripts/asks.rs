//! Scripts that wait for a person, and go on according to the answer.

use serde_json::{Value, json};

use super::super::agent::{HostState, Step};
use super::super::wire::{AgentMessage, AskAnswer, AskPayload};
use super::steps::{ConcatSteps as _, result, say, start};
use super::words_in;
use crate::client_tools::text_of;
use crate::event::{
    Event, Interrupt, PermissionOption, PermissionReply, PermissionRequest, Question, QuestionOption, QuestionRequest,
    SubagentEnded, SubagentStarted, Surface, WorkStatus,
};
use crate::id::{SubagentId, ToolUseId};

pub(super) fn permission(t: &str) -> Vec<Step> {
    let id = format!("{t}-permission");
    let command = "rm -rf build";
    let asked = asked(&id, command);
    let t = t.to_owned();
    vec![
        start(&id, "Bash", json!({ "command": command }), |start| start.command = Some(command.to_owned())),
        Step::Ask {
            say: AgentMessage::Ask { key: id.clone(), by: None, request: AskPayload::Permission(asked) },
            then: Box::new(move |given| after_permission(&t, &id, given)),
        },
    ]
}

/// Two things that need permission, asked for at once: a command, and a change to a file.
pub(super) fn permissions(t: &str) -> Vec<Step> {
    let (run, edit) = (format!("{t}-permission"), format!("{t}-permission-edit"));
    let (command, path) = ("rm -rf build", "weave.txt");
    let input = json!({ "file_path": path, "old_string": "under", "new_string": "over" });
    let change = PermissionRequest {
        tool_name: "Edit".to_owned(),
        tool_input: input.clone(),
        title: Some(format!("Change {path}")),
        ..asked(&edit, command)
    };
    let ask = |id: &str, request| AgentMessage::Ask {
        key: id.to_owned(),
        by: None,
        request: AskPayload::Permission(request),
    };
    let (say_run, say_edit) = (ask(&run, asked(&run, command)), ask(&edit, change));
    let steps = vec![
        start(&run, "Bash", json!({ "command": command }), |start| start.command = Some(command.to_owned())),
        start(&edit, "Edit", input, |start| start.file_path = Some(path.to_owned())),
        Step::Ask { say: say_run, then: Box::new(move |given| vec![permitted(&run, given)]) },
        Step::AlsoAsk { say: say_edit, then: Box::new(move |given| vec![permitted(&edit, given)]) },
    ];
    [steps, words_in(t, "permitted", "Both are settled.")].concat_steps()
}

fn permitted(id: &str, given: &AskAnswer) -> Step {
    let denied = matches!(given, AskAnswer::Permission { reply: PermissionReply::Reject, .. });
    result(id, if denied { "rejected" } else { "" }, |result| {
        result.is_error = denied;
        result.denied = denied.then_some(true);
    })
}

/// Two questions that are asked at once and answered each by itself.
pub(super) fn questions(t: &str) -> Vec<Step> {
    let ask = |name: &str, prompt: &str, labels: [&str; 2]| {
        let option = |label: &str| QuestionOption { label: label.to_owned(), description: None };
        let question = Question {
            prompt: prompt.to_owned(),
            header: None,
            options: labels.into_iter().map(option).collect(),
            multiple: false,
            free_text: false,
        };
        let request = AskPayload::Question(QuestionRequest { questions: vec![question], ..QuestionRequest::default() });
        AgentMessage::Ask { key: format!("{t}-{name}"), by: None, request }
    };
    let steps = vec![
        Step::Ask { say: ask("question", "Which colour?", ["Indigo", "Madder"]), then: Box::new(|_| Vec::new()) },
        Step::AlsoAsk { say: ask("question-too", "Shall I begin?", ["Yes", "No"]), then: Box::new(|_| Vec::new()) },
    ];
    [steps, words_in(t, "answered", "Both are settled.")].concat_steps()
}

/// Two calls at once: one runs while the other asks.
pub(super) fn parallel_permission(t: &str) -> Vec<Step> {
    let (read, run) = (format!("{t}-beside"), format!("{t}-permission"));
    let command = "rm -rf build";
    let asked = asked(&run, command);
    let t = t.to_owned();
    vec![
        start(&read, "Read", json!({ "file_path": "loom.toml" }), |start| {
            start.file_path = Some("loom.toml".to_owned());
        }),
        start(&run, "Bash", json!({ "command": command }), |start| start.command = Some(command.to_owned())),
        Step::Ask {
            say: AgentMessage::Ask { key: run.clone(), by: None, request: AskPayload::Permission(asked) },
            then: Box::new(move |given| {
                [vec![result(&read, "warp = 120\n", |_| {})], after_permission(&t, &run, given)].concat_steps()
            }),
        },
    ]
}

/// A helper that may not do everything.
pub(super) fn subagent_permission(t: &str) -> Vec<Step> {
    let id = SubagentId::trusted(format!("{t}-careful"));
    let (call, run) = (format!("{t}-agent"), format!("{t}-inner"));
    let command = "rm -rf knots";
    let started = SubagentStarted {
        subagent_id: id.clone(),
        name: "Cleaner".to_owned(),
        parent_tool_use_id: Some(ToolUseId::trusted(call.clone())),
        ..SubagentStarted::default()
    };
    let asked = asked(&run, command);
    let steps = vec![
        start(&call, "Agent", json!({ "prompt": "Remove every knot." }), |start| {
            start.subagent_spawn = Some(true);
            start.subagent_name = Some("Cleaner".to_owned());
        }),
        say(&Event::from(started)),
        start(&run, "Bash", json!({ "command": command }), |start| start.command = Some(command.to_owned())).by(&id),
    ];
    let t = t.to_owned();
    let ask = Step::Ask {
        say: AgentMessage::Ask { key: run.clone(), by: Some(id.clone()), request: AskPayload::Permission(asked) },
        then: Box::new(move |given| {
            let denied = matches!(given, AskAnswer::Permission { reply: PermissionReply::Reject, .. });
            let ended = SubagentEnded {
                subagent_id: id.clone(),
                status: WorkStatus::Completed,
                tool_calls: 1,
                file_changes: 0,
            };
            let result_of_run = result(&run, if denied { "rejected" } else { "removed" }, |result| {
                result.is_error = denied;
                result.denied = denied.then_some(true);
            });
            let done =
                vec![result_of_run.by(&id), say(&Event::from(ended)), result(&call, "The helper has ended.", |_| {})];
            [done, words_in(&t, "cleaned", "The helper is done.")].concat_steps()
        }),
    };
    [steps, vec![ask]].concat_steps()
}

/// A plan as it is shown for approval.
const PLAN: &str = "# Weave the border\n\n1. **Measure** the warp in `loom.toml`\n2. Add two threads on each side\n3. Run the tests\n\n\
> Nothing is cut before the tests have run.\n\n| side | threads |\n|---|---:|\n| left | 2 |\n| right | 2 |\n";

/// Shows its plan, and goes on according to the choice.
pub(super) fn plan_approval(t: &str) -> Vec<Step> {
    let id = format!("{t}-plan");
    let choice = |reply, label: &str, rule: Option<&str>| option(reply, label, rule.map(str::to_owned));
    let input = json!({ "plan": PLAN });
    let asked = PermissionRequest {
        tool_name: "ExitPlanMode".to_owned(),
        tool_input: input.clone(),
        tool_use_id: Some(ToolUseId::trusted(id.clone())),
        title: Some("Approve this plan?".to_owned()),
        options: vec![
            choice(PermissionReply::Once, "Yes, and ask before each edit", None),
            choice(PermissionReply::Always, "Yes, and accept edits", Some("session: mode acceptEdits")),
            choice(PermissionReply::Reject, "No, keep planning", None),
        ],
        ..PermissionRequest::default()
    };
    let t = t.to_owned();
    vec![
        start(&id, "ExitPlanMode", input, |_| {}),
        Step::Ask {
            say: AgentMessage::Ask { key: id.clone(), by: None, request: AskPayload::Permission(asked) },
            then: Box::new(move |given| {
                let AskAnswer::Permission { reply, message, .. } = given else { return Vec::new() };
                let rejected = *reply == PermissionReply::Reject;
                let done = result(
                    &id,
                    if rejected { "The plan was not approved." } else { "The plan is approved." },
                    |result| {
                        result.is_error = rejected;
                        result.denied = rejected.then_some(true);
                    },
                );
                let words = match (reply, message) {
                    (PermissionReply::Reject, Some(message)) => format!("I will plan again: {message}."),
                    (PermissionReply::Reject, None) => "I will plan again.".to_owned(),
                    (PermissionReply::Once, _) => "I begin, and ask before each edit.".to_owned(),
                    (PermissionReply::Always, _) => "I begin, and edit without asking.".to_owned(),
                };
                [vec![done], words_in(&t, "approved", &words)].concat_steps()
            }),
        },
    ]
}

pub(super) fn option(reply: PermissionReply, label: &str, rule: Option<String>) -> PermissionOption {
    PermissionOption { reply, label: label.to_owned(), rule, scope: None }
}

fn asked(id: &str, command: &str) -> PermissionRequest {
    PermissionRequest {
        tool_name: "Bash".to_owned(),
        tool_input: json!({ "command": command }),
        tool_use_id: Some(ToolUseId::trusted(id)),
        title: Some(format!("Run {command}")),
        options: vec![
            option(PermissionReply::Once, "Allow once", None),
            option(PermissionReply::Always, "Always", Some(format!("Bash({command})"))),
            option(
                PermissionReply::Always,
                "Always, also with other arguments",
                command.split(' ').next().map(|program| format!("Bash({program}:*)")),
            ),
            option(PermissionReply::Reject, "Reject", None),
        ],
        ..PermissionRequest::default()
    }
}

pub(super) fn after_permission(t: &str, id: &str, given: &AskAnswer) -> Vec<Step> {
    let AskAnswer::Permission { reply, updated_input, message } = given else { return Vec::new() };
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
        say: AgentMessage::Ask { key: format!("{t}-question"), by: None, request: AskPayload::Question(asked) },
        then: Box::new(move |given| {
            let text = match given {
                AskAnswer::Question { answers: Some(answers) } => {
                    let answers: Vec<String> = answers.iter().map(|answers| answers.join(" and ")).collect();
                    format!("You chose {}.", answers.join("; "))
                }
                AskAnswer::Question { answers: None } => "Then I will choose myself.".to_owned(),
                _ => String::new(),
            };
            words_in(&t, "answered", &text)
        }),
    }]
}

pub(super) fn interrupt(t: &str) -> Vec<Step> {
    let asked = Interrupt {
        component_name: "form".to_owned(),
        props: json!({
            "title": "When shall the cloth be ready?",
            "schema": { "type": "object", "properties": { "date": { "type": "string", "format": "date" } }, "required": ["date"] },
        }),
        // Whatever a client can give: not all of them draw forms.
        value_schema: Some(json!({})),
        surface: Surface::Chat,
        ..Interrupt::default()
    };
    let t = t.to_owned();
    vec![Step::Ask {
        say: AgentMessage::Ask { key: format!("{t}-interrupt"), by: None, request: AskPayload::Interrupt(asked) },
        then: Box::new(move |given| {
            let value = if let AskAnswer::Interrupt { value } = given { value.clone() } else { Value::Null };
            words_in(&t, "picked", &format!("You gave me {value}."))
        }),
    }]
}

pub(super) fn clients_tools(t: &str, host_state: &HostState) -> Vec<Step> {
    let text = match host_state.tools.as_slice() {
        [] => "No client runs tools for me.".to_owned(),
        tools => format!("Clients run these for me: {}.", tools.join(", ")),
    };
    words_in(t, "tools", &text)
}

/// Calls a tool that a client runs; what follows its name is the input.
pub(super) fn client_tool(t: &str, tool: &str, prompt: &str, host_state: &HostState) -> Vec<Step> {
    if !host_state.tools.iter().any(|known| known == tool) {
        return clients_tools(t, host_state);
    }
    let text = prompt.split_once(tool).map_or("", |(_, rest)| rest.trim());
    let input = match serde_json::from_str(text) {
        Ok(input @ Value::Object(_)) => input,
        Ok(_) | Err(_) if text.is_empty() => json!({}),
        Ok(_) | Err(_) => json!({ "text": text }),
    };
    let id = format!("{t}-{tool}");
    let asked = Interrupt {
        component_name: tool.to_owned(),
        props: input.clone(),
        tool_use_id: Some(ToolUseId::trusted(id.clone())),
        ..Interrupt::default()
    };
    let t = t.to_owned();
    vec![
        start(&id, tool, input, |start| start.client_tool = Some(true)),
        Step::Ask {
            say: AgentMessage::Ask { key: id.clone(), by: None, request: AskPayload::Interrupt(asked) },
            then: Box::new(move |given| {
                let (output, failed) = match given {
                    AskAnswer::Interrupt { value } => (text_of(value), false),
                    AskAnswer::ToolFailed { output } => (text_of(output), true),
                    _ => (String::new(), true),
                };
                let text = if failed { format!("It failed: {output}") } else { format!("The client says: {output}") };
                let result = result(&id, &output, |result| result.is_error = failed);
                [vec![result], words_in(&t, "told", &text)].concat_steps()
            }),
        },
    ]
}
