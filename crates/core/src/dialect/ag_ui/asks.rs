//! Asks as interrupts: what a client needs to know to answer one.

use serde_json::{Map, Value, json};

use crate::event::{Interrupt, PermissionRequest, QuestionRequest};

/// What waits for an answer.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    Interrupt(Value),
    /// A call of a tool that the client runs; its result is the answer.
    ClientTool(String),
}

impl Ask {
    pub(super) fn interrupt(&self) -> Option<&Value> {
        match self {
            Ask::Interrupt(interrupt) => Some(interrupt),
            Ask::ClientTool(_) => None,
        }
    }

    pub(super) fn call(&self) -> Option<&String> {
        match self {
            Ask::Interrupt(_) => None,
            Ask::ClientTool(call) => Some(call),
        }
    }
}

/// Permission for a call. The schema is what common front ends know how to draw buttons for, and nothing beyond it.
pub(super) fn permission(request: &PermissionRequest, call: &str, by: Option<&str>) -> Ask {
    let schema = json!({
        "type": "object",
        "properties": { "approved": { "type": "boolean" }, "reason": { "type": "string" } },
        "required": ["approved"],
    });
    let message = request.title.clone().unwrap_or_else(|| format!("Allow {}?", request.tool_name));
    let metadata = json!({ "toolName": request.tool_name, "input": request.tool_input, "options": request.options });
    Ask::Interrupt(tagged(
        json!({
            "id": request.ask_id, "reason": "tool_call", "toolCallId": call, "message": message, "responseSchema": schema, "metadata": metadata,
        }),
        by,
    ))
}

pub(super) fn question(request: &QuestionRequest, by: Option<&str>) -> Ask {
    let (schema, message) = if let [question] = request.questions.as_slice() {
        let mut answer = Map::from_iter([("type".to_owned(), json!("string"))]);
        if !question.free_text && !question.options.is_empty() {
            let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
            answer.insert("enum".to_owned(), json!(labels));
        }
        let answer = if question.multiple { json!({ "type": "array", "items": answer }) } else { json!(answer) };
        (json!({ "answer": answer }), question.prompt.clone())
    } else {
        let answers = json!({ "type": "array", "items": { "type": "array", "items": { "type": "string" } } });
        let prompts: Vec<&str> = request.questions.iter().map(|question| question.prompt.as_str()).collect();
        (json!({ "answers": answers }), prompts.join("\n"))
    };
    let required: Vec<&String> = schema.as_object().map(|schema| schema.keys().collect()).unwrap_or_default();
    let schema = json!({ "type": "object", "properties": schema, "required": required });
    let metadata = json!({ "questions": request.questions });
    Ask::Interrupt(tagged(
        json!({
            "id": request.ask_id, "reason": "input_required", "message": message, "responseSchema": schema, "metadata": metadata,
        }),
        by,
    ))
}

pub(super) fn component(request: &Interrupt, by: Option<&str>) -> Ask {
    let metadata = json!({ "component": request.component_name, "props": request.props, "surface": request.surface });
    let reason = format!("turnloom:{}", request.component_name);
    Ask::Interrupt(tagged(json!({ "id": request.interrupt_id, "reason": reason, "metadata": metadata }), by))
}

/// A call of a tool that this client does not have; another one may, or a person answers in its place.
pub(super) fn client_tool(request: &Interrupt, call: &str, by: Option<&str>) -> Ask {
    let mut ask = component(request, by);
    if let Ask::Interrupt(Value::Object(interrupt)) = &mut ask {
        interrupt.insert("toolCallId".to_owned(), json!(call));
    }
    ask
}

fn tagged(mut interrupt: Value, by: Option<&str>) -> Value {
    if let (Some(by), Some(interrupt)) = (by, interrupt.as_object_mut()) {
        interrupt.insert("subagentRunId".to_owned(), json!(by));
    }
    interrupt
}
