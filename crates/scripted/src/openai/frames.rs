//! A reply in the words of the Responses API: a stream of events, or one response. Not here: what the reply says.

use serde_json::{Value, json};

use crate::frame::Frame;
use crate::ids::Ids;
use crate::plan::{Act, Block, Break, Call, Ending, Input, Pause, Speech};
use crate::script::{StreamError, TextKind};

/// Agents send it back and never look into it.
const ENCRYPTED: &str = "c2NyaXB0ZWQ=";

/// The reply as server-sent events.
pub(crate) fn frames(speech: &Speech, model: &str, ids: &mut Ids) -> Vec<Frame> {
    let mut stream = Stream::new(ids.next("resp"), model);
    stream.response("response.created", "in_progress", &json!({}));
    stream.response("response.in_progress", "in_progress", &json!({}));
    let mut calls_left = speech.acts.iter().filter(|act| matches!(act, Act::Begin(Block::Call(_)))).count();
    for act in &speech.acts {
        match act {
            Act::Begin(block) => {
                calls_left -= usize::from(matches!(block, Block::Call(_)));
                let phase = if calls_left > 0 { "commentary" } else { "final_answer" };
                stream.begin(block.clone(), phase, speech.reply, ids);
            }
            Act::Piece(piece) => stream.piece(piece),
            Act::End => stream.end(),
            Act::Pause(pause) => stream.frames.push(pause.clone().into()),
            Act::Fail(error) => {
                stream.response("response.failed", "failed", &json!({"error": stream_error(error)}));
                return stream.frames;
            }
            Act::Cut => {
                stream.frames.push(Frame::Cut);
                return stream.frames;
            }
        }
    }
    let end = json!({"usage": usage(speech)});
    match speech.ending {
        Ending::Done | Ending::Calls => stream.response("response.completed", "completed", &end),
        Ending::MaxTokens => stream.incomplete("max_output_tokens", speech),
        Ending::Refusal => stream.incomplete("content_filter", speech),
        Ending::ContextWindow => {
            let message = "Your input exceeds the context window of this model.";
            let error = json!({"code": "context_length_exceeded", "message": message});
            stream.response("response.failed", "failed", &json!({"error": error}));
        }
    }
    stream.frames
}

/// The reply as one response, after everything that is waited for: the last thing its stream would say.
pub(crate) fn whole(speech: &Speech, model: &str, ids: &mut Ids) -> (Vec<Pause>, Result<Value, Break>) {
    let mut pauses = Vec::new();
    for act in &speech.acts {
        match act {
            Act::Pause(pause) => pauses.push(pause.clone()),
            Act::Fail(error) => return (pauses, Err(Break::Fail(error.clone()))),
            Act::Cut => return (pauses, Err(Break::Cut)),
            Act::Begin(_) | Act::Piece(_) | Act::End => {}
        }
    }
    let last = frames(speech, model, ids).pop();
    let data = match &last {
        Some(Frame::Send(event)) => event.split_once("data: ").map(|(_, data)| data),
        _ => None,
    };
    let mut event: Value = data.and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
    (pauses, Ok(event.get_mut("response").map(Value::take).unwrap_or_default()))
}

struct Stream<'a> {
    id: String,
    model: &'a str,
    frames: Vec<Frame>,
    sequence: u64,
    /// What has been said, as items.
    output: Vec<Value>,
    open: Option<Open>,
}

/// The item that is being said.
struct Open {
    id: String,
    block: Block,
    /// As it was when it began.
    item: Value,
    text: String,
}

impl<'a> Stream<'a> {
    fn new(id: String, model: &'a str) -> Self {
        Self { id, model, frames: Vec::new(), sequence: 0, output: Vec::new(), open: None }
    }

    fn incomplete(&mut self, reason: &str, speech: &Speech) {
        let end = json!({"usage": usage(speech), "incomplete_details": {"reason": reason}});
        self.response("response.incomplete", "incomplete", &end);
    }

    fn begin(&mut self, block: Block, phase: &str, reply: usize, ids: &mut Ids) {
        let (id, item) = begun(&block, phase, reply, ids);
        self.event("response.output_item.added", &json!({"output_index": self.output.len(), "item": item}));
        let part = match &block {
            Block::Said(TextKind::Text) => Some(("response.content_part.added", "content_index", text_part(""))),
            Block::Said(TextKind::Thinking) => {
                Some(("response.reasoning_summary_part.added", "summary_index", summary_part("")))
            }
            Block::Said(TextKind::RawThinking) | Block::Call(_) => None,
        };
        if let Some((name, index, part)) = part {
            self.item_event(name, &id, &json!({index: 0, "part": part}));
        }
        self.open = Some(Open { id, block, item, text: String::new() });
    }

    fn piece(&mut self, piece: &str) {
        let Some(mut open) = self.open.take() else { return };
        open.text.push_str(piece);
        let (name, index) = names(&open.block);
        let mut fields = json!({"delta": piece});
        if let Some(index) = index {
            set(&mut fields, index, 0.into());
        }
        self.item_event(&format!("{name}.delta"), &open.id, &fields);
        self.open = Some(open);
    }

    fn end(&mut self) {
        let Some(Open { id, block, mut item, text }) = self.open.take() else { return };
        let (name, index) = names(&block);
        let mut fields = json!({});
        set(&mut fields, if let Block::Call(call) = &block { input_key(call) } else { "text" }, text.clone().into());
        if let Some(index) = index {
            set(&mut fields, index, 0.into());
        }
        self.item_event(&format!("{name}.done"), &id, &fields);
        match &block {
            Block::Said(TextKind::Text) => {
                self.item_event(
                    "response.content_part.done",
                    &id,
                    &json!({"content_index": 0, "part": text_part(&text)}),
                );
                set(&mut item, "content", json!([text_part(&text)]));
            }
            Block::Said(TextKind::Thinking) => {
                let part = json!({"summary_index": 0, "part": summary_part(&text)});
                self.item_event("response.reasoning_summary_part.done", &id, &part);
                set(&mut item, "summary", json!([summary_part(&text)]));
            }
            Block::Said(TextKind::RawThinking) => {
                set(&mut item, "content", json!([{"type": "reasoning_text", "text": text}]));
            }
            Block::Call(call) => set(&mut item, input_key(call), text.into()),
        }
        if !matches!(block, Block::Said(TextKind::Thinking | TextKind::RawThinking)) {
            set(&mut item, "status", "completed".into());
        }
        self.event("response.output_item.done", &json!({"output_index": self.output.len(), "item": item}));
        self.output.push(item);
    }

    /// An event about the whole response.
    fn response(&mut self, name: &str, status: &str, more: &Value) {
        let mut response = json!({
            "id": self.id, "object": "response", "created_at": 0, "status": status, "model": self.model,
            "output": self.output, "error": null, "incomplete_details": null, "usage": null,
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            set(&mut response, key, value.clone());
        }
        self.event(name, &json!({"response": response}));
    }

    /// An event about the item that is being said.
    fn item_event(&mut self, name: &str, item_id: &str, more: &Value) {
        let mut fields = json!({"item_id": item_id, "output_index": self.output.len()});
        for (key, value) in more.as_object().into_iter().flatten() {
            set(&mut fields, key, value.clone());
        }
        self.event(name, &fields);
    }

    fn event(&mut self, name: &str, fields: &Value) {
        let mut data = json!({"type": name, "sequence_number": self.sequence});
        for (key, value) in fields.as_object().into_iter().flatten() {
            set(&mut data, key, value.clone());
        }
        self.sequence += 1;
        self.frames.push(Frame::event(name, &data));
    }
}

/// An item before anything is in it.
fn begun(block: &Block, phase: &str, reply: usize, ids: &mut Ids) -> (String, Value) {
    let (id, mut item) = match block {
        Block::Said(TextKind::Text) => {
            let item =
                json!({"type": "message", "role": "assistant", "status": "in_progress", "phase": phase, "content": []});
            (ids.next("msg"), item)
        }
        Block::Said(TextKind::Thinking | TextKind::RawThinking) => {
            (ids.next("rs"), json!({"type": "reasoning", "summary": [], "encrypted_content": ENCRYPTED}))
        }
        Block::Call(call) => {
            let (kind, prefix) = match call.input {
                Input::Object(_) => ("function_call", "fc"),
                Input::Text(_) => ("custom_tool_call", "ctc"),
            };
            let mut item = json!({"type": kind, "status": "in_progress", "call_id": ids.next_call("call", reply), "name": call.name});
            set(&mut item, input_key(call), "".into());
            if let Some(namespace) = &call.namespace {
                set(&mut item, "namespace", namespace.as_str().into());
            }
            (ids.next(prefix), item)
        }
    };
    set(&mut item, "id", id.as_str().into());
    (id, item)
}

/// What an item's pieces are called, and the index they carry.
fn names(block: &Block) -> (&'static str, Option<&'static str>) {
    match block {
        Block::Said(TextKind::Text) => ("response.output_text", Some("content_index")),
        Block::Said(TextKind::Thinking) => ("response.reasoning_summary_text", Some("summary_index")),
        Block::Said(TextKind::RawThinking) => ("response.reasoning_text", Some("content_index")),
        Block::Call(Call { input: Input::Object(_), .. }) => ("response.function_call_arguments", None),
        Block::Call(Call { input: Input::Text(_), .. }) => ("response.custom_tool_call_input", None),
    }
}

fn input_key(call: &Call) -> &'static str {
    match call.input {
        Input::Object(_) => "arguments",
        Input::Text(_) => "input",
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn summary_part(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

fn usage(speech: &Speech) -> Value {
    let spent = speech.usage;
    let input = spent.input.saturating_add(spent.cached);
    json!({
        "input_tokens": input, "input_tokens_details": {"cached_tokens": spent.cached},
        "output_tokens": spent.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input.saturating_add(spent.output),
    })
}

fn stream_error(error: &StreamError) -> Value {
    json!({"code": error.code.as_deref().unwrap_or("server_error"), "message": error.message})
}
