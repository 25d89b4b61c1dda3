//! A reply in the words of the Messages API: a stream of events, or one message. Not here: what the reply says.

use serde_json::{Value, json};

use crate::frame::Frame;
use crate::ids::Ids;
use crate::plan::{Act, Block, Break, Call, Ending, Pause, Speech, TokenCounts};
use crate::script::{StreamError, TextKind};

/// Agents send it back and never look into it.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

/// The reply as server-sent events.
pub(crate) fn frames(speech: &Speech, model: &str, ids: &mut Ids) -> Vec<Frame> {
    let mut message = envelope(model, ids);
    set(&mut message, "usage", usage(speech.usage, 1));
    let mut frames = vec![
        Frame::event("message_start", &json!({"type": "message_start", "message": message})),
        Frame::event("ping", &json!({"type": "ping"})),
    ];
    let mut blocks = Blocks::default();
    for act in &speech.acts {
        match act {
            Act::Begin(block) => frames.push(blocks.begin(block, speech.reply, ids)),
            Act::Piece(piece) => frames.push(blocks.delta(piece)),
            Act::End => frames.extend(blocks.end()),
            Act::Pause(pause) => frames.push(pause.clone().into()),
            Act::Fail(error) => {
                frames.push(Frame::event("error", &stream_error(error)));
                return frames;
            }
            Act::Cut => {
                frames.push(Frame::Cut);
                return frames;
            }
        }
    }
    let delta = json!({"stop_reason": stop_reason(speech.ending), "stop_sequence": null});
    let usage = usage(speech.usage, speech.usage.output);
    frames.push(Frame::event("message_delta", &json!({"type": "message_delta", "delta": delta, "usage": usage})));
    frames.push(Frame::event("message_stop", &json!({"type": "message_stop"})));
    frames
}

/// The reply as one message, after everything that is waited for.
pub(crate) fn whole(speech: &Speech, model: &str, ids: &mut Ids) -> (Vec<Pause>, Result<Value, Break>) {
    let mut pauses = Vec::new();
    let mut content = Vec::new();
    let mut text = String::new();
    let mut message = envelope(model, ids);
    for act in &speech.acts {
        match act {
            Act::Begin(block) => {
                text.clear();
                content.push(begun(block, speech.reply, ids));
            }
            Act::Piece(piece) => text.push_str(piece),
            Act::End => content.last_mut().into_iter().for_each(|block| finish(block, &text)),
            Act::Pause(pause) => pauses.push(pause.clone()),
            Act::Fail(error) => return (pauses, Err(Break::Fail(error.clone()))),
            Act::Cut => return (pauses, Err(Break::Cut)),
        }
    }
    set(&mut message, "content", Value::Array(content));
    set(&mut message, "stop_reason", stop_reason(speech.ending).into());
    set(&mut message, "usage", usage(speech.usage, speech.usage.output));
    (pauses, Ok(message))
}

#[derive(Default)]
struct Blocks {
    /// Of the block that is open, or of the next one.
    index: usize,
    voice: Option<TextKind>,
}

impl Blocks {
    fn begin(&mut self, block: &Block, reply: usize, ids: &mut Ids) -> Frame {
        self.voice = match block {
            Block::Said(voice) => Some(*voice),
            Block::Call(_) => None,
        };
        let start =
            json!({"type": "content_block_start", "index": self.index, "content_block": begun(block, reply, ids)});
        Frame::event("content_block_start", &start)
    }

    fn delta(&self, piece: &str) -> Frame {
        self.event(&match self.voice {
            Some(TextKind::Text) => json!({"type": "text_delta", "text": piece}),
            Some(TextKind::Thinking | TextKind::RawThinking) => json!({"type": "thinking_delta", "thinking": piece}),
            None => json!({"type": "input_json_delta", "partial_json": piece}),
        })
    }

    fn end(&mut self) -> Vec<Frame> {
        let thought = matches!(self.voice, Some(TextKind::Thinking | TextKind::RawThinking));
        let signature = thought.then(|| self.event(&json!({"type": "signature_delta", "signature": SIGNATURE})));
        let stop = Frame::event("content_block_stop", &json!({"type": "content_block_stop", "index": self.index}));
        self.index += 1;
        signature.into_iter().chain([stop]).collect()
    }

    fn event(&self, delta: &Value) -> Frame {
        Frame::event(
            "content_block_delta",
            &json!({"type": "content_block_delta", "index": self.index, "delta": delta}),
        )
    }
}

fn envelope(model: &str, ids: &mut Ids) -> Value {
    json!({
        "id": ids.next("msg"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": null,
    })
}

/// A block before anything is in it.
fn begun(block: &Block, reply: usize, ids: &mut Ids) -> Value {
    match block {
        Block::Said(TextKind::Text) => json!({"type": "text", "text": ""}),
        Block::Said(TextKind::Thinking | TextKind::RawThinking) => {
            json!({"type": "thinking", "thinking": "", "signature": ""})
        }
        Block::Call(Call { name, .. }) => {
            json!({"type": "tool_use", "id": ids.next_call("toolu", reply), "name": name, "input": {}})
        }
    }
}

fn finish(block: &mut Value, text: &str) {
    match block.get("type").and_then(Value::as_str) {
        Some("text") => set(block, "text", text.into()),
        Some("thinking") => {
            set(block, "thinking", text.into());
            set(block, "signature", SIGNATURE.into());
        }
        // A call's pieces are its input as JSON; free text is an input this API does not have.
        _ => set(block, "input", serde_json::from_str(text).unwrap_or_else(|_| json!({"input": text}))),
    }
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

fn usage(spent: TokenCounts, output: u64) -> Value {
    json!({
        "input_tokens": spent.input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": spent.cached,
        "output_tokens": output,
    })
}

fn stop_reason(ending: Ending) -> &'static str {
    match ending {
        Ending::Done => "end_turn",
        Ending::Calls => "tool_use",
        Ending::MaxTokens => "max_tokens",
        Ending::Refusal => "refusal",
        Ending::ContextWindow => "model_context_window_exceeded",
    }
}

fn stream_error(error: &StreamError) -> Value {
    let code = error.code.as_deref().unwrap_or("overloaded_error");
    json!({"type": "error", "error": {"type": code, "message": error.message}})
}
