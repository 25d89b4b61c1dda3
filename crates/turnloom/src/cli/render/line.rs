//! One line per event: the log for people who search in it.

use serde_json::Value;
use turnloom_core::event::{Envelope, Event, Part};

use super::style::{Ink, Look};
use super::text::{cut, one_line, width};

/// Wide enough for every type but the longest two.
const KIND_WIDTH: usize = 19;

/// The event in one line, without its end.
pub fn line(envelope: &Envelope, look: Look) -> String {
    let seq = format!("{:>5}", envelope.seq.0);
    // The time of day; the date is rarely what is looked for, and `--json` has it.
    let ts = envelope.ts.to_string();
    let time = ts.get(11..23).unwrap_or(&ts);
    let kind = one_line(envelope.event.kind());
    let pad = " ".repeat(KIND_WIDTH.saturating_sub(width(&kind)));
    let by = envelope.subagent_id.as_ref().map(|id| format!("{}: ", one_line(id.as_str()))).unwrap_or_default();
    let room = look.width.saturating_sub(5 + 2 + 12 + 2 + KIND_WIDTH.max(width(&kind)) + 1);
    let what = cut(&format!("{by}{}", one_line(&summary(&envelope.event))), room);
    let line = format!(
        "{}  {}  {}{pad} {what}",
        look.paint(Ink::Dim, &seq),
        look.paint(Ink::Dim, time),
        look.paint(ink(&envelope.event), &kind)
    );
    line.trim_end().to_owned()
}

fn ink(event: &Event) -> Ink {
    match event {
        Event::UserMessage(_) | Event::Steer(_) => Ink::Cyan,
        Event::TurnStarted(_) | Event::Done(_) => Ink::Bold,
        Event::Failure(_) | Event::AgentUnparsed(_) => Ink::Red,
        Event::PermissionRequest(_) | Event::QuestionRequest(_) | Event::Interrupt(_) => Ink::Yellow,
        Event::ToolResult(result) if result.is_error => Ink::Red,
        Event::ToolStart(_) | Event::ToolResult(_) => Ink::Green,
        _ => Ink::Plain,
    }
}

fn summary(event: &Event) -> String {
    match event {
        Event::UserMessage(message) => parts(&message.content),
        Event::Delta(delta) => quoted(&delta.text, delta.done),
        Event::Thinking(thinking) => quoted(&thinking.text, thinking.done == Some(true)),
        Event::ToolStart(start) => {
            let object = [&start.command, &start.file_path, &start.pattern, &start.subagent_name];
            let object = object.into_iter().flatten().next().cloned();
            let input = || start.input.as_ref().map(Value::to_string).unwrap_or_default();
            format!("{} {}", start.tool, object.unwrap_or_else(input))
        }
        Event::ToolResult(result) => {
            let failed = if result.is_error { "failed " } else { "" };
            let code = result.exit_code.map(|code| format!("exit {code} ")).unwrap_or_default();
            format!("{failed}{code}{}", result.output)
        }
        Event::PermissionRequest(request) => {
            format!("{} {}", request.ask_id, request.title.as_deref().unwrap_or(&request.tool_name))
        }
        Event::QuestionRequest(request) => {
            let prompts: Vec<&str> = request.questions.iter().map(|question| question.prompt.as_str()).collect();
            format!("{} {}", request.ask_id, prompts.join(" "))
        }
        Event::Interrupt(request) => format!("{} {}", request.interrupt_id, request.component_name),
        Event::Failure(failure) => failure.message.clone(),
        Event::TurnResult(result) => result.text.clone(),
        Event::Status(status) => {
            let state = word(&event.data(), "state");
            status.label.as_ref().map_or_else(|| state.clone(), |label| format!("{state}: {label}"))
        }
        Event::Done(done) => {
            let reason = done.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{}{reason}", word(&event.data(), "outcome"))
        }
        Event::PlanUpdated(plan) => plan.steps.iter().map(|step| step.text.as_str()).collect::<Vec<_>>().join(", "),
        Event::DiffUpdated(diff) => diff.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join(", "),
        Event::Unknown(unknown) => unknown.data.get().to_owned(),
        _ => members(&event.data()),
    }
}

fn quoted(text: &str, done: bool) -> String {
    let text = if text.is_empty() { String::new() } else { format!("{text:?}") };
    if done { format!("{text} end") } else { text }
}

fn parts(content: &[Part]) -> String {
    let part = |part: &Part| match part {
        Part::Text { text } => text.clone(),
        Part::Image { media_type, .. } => format!("[image, {media_type}]"),
        Part::File { path } => format!("[file {path}]"),
    };
    content.iter().map(part).collect::<Vec<_>>().join(" ")
}

fn word(data: &Value, name: &str) -> String {
    data.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// `name value` for each member, where nothing better is known.
fn members(data: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let members = data.as_object().map(|members| members.iter().map(|(name, value)| format!("{name} {}", text(value))));
    members.map(|members| members.collect::<Vec<_>>().join(", ")).unwrap_or_default()
}
