//! Items: messages, thoughts and tool calls. Each begins once and ends once.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::wire::{Action, Content, DeltaData, Item, ItemData, ItemId, Kind, Role, Status};
use super::{By, Universal};
use crate::dialect::{Frames, name};
use crate::event::{Activity, Envelope, Event, FileChange, Part, StepStatus, ToolResult, ToolStart, WorkStatus};

/// A stretch of text that is being said.
#[derive(Debug, Clone)]
pub(super) struct OpenText {
    id: ItemId,
    parent: Option<ItemId>,
    text_kind: TextKind,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Text,
    Reasoning,
}

/// A call that has not ended.
#[derive(Debug, Clone)]
pub(super) struct OpenTool {
    id: ItemId,
    parent: Option<ItemId>,
    name: String,
    arguments: String,
}

/// The half of an item that does not change between its beginning and its end.
#[derive(Debug, Clone, Copy)]
struct Frame<'a> {
    id: ItemId,
    native: &'a str,
    parent: Option<ItemId>,
    kind: Kind,
    role: Role,
}

impl Universal {
    pub(super) fn item(&mut self, envelope: &Envelope, out: &mut Frames) {
        match &envelope.event {
            Event::Delta(delta) => {
                let last = delta.done.then_some(if delta.interrupted { Status::Failed } else { Status::Completed });
                self.say(envelope, TextKind::Text, (delta.block_id.as_str(), &delta.text), last, out);
            }
            Event::Thinking(thinking) => {
                let ended = if thinking.interrupted { Status::Failed } else { Status::Completed };
                let last = (thinking.done == Some(true)).then_some(ended);
                self.say(envelope, TextKind::Reasoning, (thinking.block_id.as_str(), &thinking.text), last, out);
            }
            Event::Retracted(retracted) => match self.texts.remove(retracted.block_id.as_str()) {
                Some(mut open) => {
                    open.text.clear();
                    self.end_text(envelope, retracted.block_id.as_str(), &open, Status::Failed, out);
                }
                None => self.note(envelope, "Retracted", retracted.reason.as_deref(), None, out),
            },
            Event::ToolStart(start) => self.tool_start(envelope, start, out),
            Event::ToolProgress(progress) => {
                let native = progress.tool_use_id.as_str();
                if let (Some(tool), Some(text)) = (self.tools.get(native), &progress.text) {
                    let data = DeltaData { item_id: tool.id, native_item_id: name(native), delta: text };
                    self.emit(envelope, By::Agent, "item.delta", &data, out);
                }
            }
            Event::ToolResult(result) => self.tool_result(envelope, result, out),
            Event::Status(status) => {
                // That an agent starts or is stopped is the daemon's business; these clients show what the agent says of itself.
                let own = !matches!(status.state, Activity::Accepted | Activity::Starting | Activity::Stopping);
                if let (true, Some(label)) = (own, &status.label) {
                    let detail = status.detail.as_ref().map(text_of);
                    self.note(envelope, label, detail.as_deref(), None, out);
                }
            }
            _ => self.note_of(envelope, out),
        }
    }

    /// What is neither text nor a tool nor a status of the agent's own.
    fn note_of(&mut self, envelope: &Envelope, out: &mut Frames) {
        match &envelope.event {
            Event::SubagentStarted(started) => {
                let parent = started.parent_tool_use_id.as_ref().and_then(|id| self.tools.get(id.as_str()));
                if let Some(parent) = parent.map(|tool| tool.id) {
                    self.lanes.insert(started.subagent_id.to_string(), parent);
                }
                self.note(envelope, "Sub-agent started", Some(&started.name), None, out);
            }
            Event::SubagentEnded(ended) => {
                self.lanes.remove(ended.subagent_id.as_str());
                self.note(envelope, "Sub-agent ended", Some(work(ended.status)), None, out);
            }
            Event::BackgroundStarted(started) => {
                self.note(envelope, "Background work started", Some(&started.label), None, out);
            }
            Event::BackgroundEnded(ended) => {
                self.note(envelope, "Background work ended", Some(work(ended.status)), None, out);
            }
            // This protocol cannot take back what was sent; a client can at least learn that it no longer counts.
            Event::Rollback(rollback) => self.note(envelope, "Taken back", None, Some(json!(rollback)), out),
            Event::CompactionStart(_) => self.note(envelope, "Compacting", None, None, out),
            Event::CompactionEnd(end) => self.note(envelope, "Compacted", None, Some(json!(end)), out),
            Event::PlanUpdated(plan) => {
                let mark = |status| match status {
                    StepStatus::Pending => "[ ]",
                    StepStatus::Running => "[>]",
                    StepStatus::Done => "[x]",
                };
                let lines: Vec<String> =
                    plan.steps.iter().map(|step| format!("{} {}", mark(step.status), step.text)).collect();
                self.note(envelope, "Plan", Some(&lines.join("\n")), Some(json!(plan)), out);
            }
            Event::DiffUpdated(diff) => {
                let action = |kind| if kind == FileChange::Added { Action::Write } else { Action::Patch };
                let mut content = vec![Content::Status { label: "Files changed", detail: None }];
                content.extend(diff.files.iter().map(|file| Content::FileRef {
                    path: &file.path,
                    action: action(file.kind),
                    diff: Some(&file.diff),
                }));
                let native = format!("diff:{}", envelope.seq);
                let frame = self.frame(envelope, &native, Kind::Status, Role::Assistant);
                self.whole(envelope, frame, &content, out);
            }
            Event::ArtifactCreated(artifact) => {
                let mime = artifact.media_type.as_str();
                let text = Content::Text { text: &artifact.title };
                let shown = match (&artifact.blob, &artifact.content, &artifact.path) {
                    (Some(blob), _, _) if mime.starts_with("image/") => {
                        Content::Image { path: format!("/api/blobs/{}", blob.id), mime: Some(mime) }
                    }
                    (None, Some(content), _) if mime.starts_with("image/") => {
                        Content::Image { path: format!("data:{mime};base64,{content}"), mime: Some(mime) }
                    }
                    (_, content, Some(path)) => {
                        Content::FileRef { path, action: Action::Write, diff: content.as_deref() }
                    }
                    _ => Content::Json { json: json!(artifact) },
                };
                let native = name(&artifact.artifact_id).to_owned();
                let frame = self.frame(envelope, &native, Kind::Message, Role::Assistant);
                self.whole(envelope, frame, &[text, shown], out);
            }
            // What has no counterpart is shown as it is.
            Event::ArtifactUpdated(_)
            | Event::ArtifactVersion(_)
            | Event::ArtifactRemoved(_)
            | Event::EvidenceChanged(_)
            | Event::ComponentUpdate(_)
            | Event::ComponentRemove(_)
            | Event::Unknown(_) => {
                let content = [Content::Json { json: json!({ envelope.event.kind(): envelope.event.data() }) }];
                let native = format!("{}:{}", envelope.event.kind(), envelope.seq);
                let frame = self.frame(envelope, &native, Kind::Unknown, Role::Assistant);
                self.whole(envelope, frame, &content, out);
            }
            _ => {}
        }
    }

    /// What somebody said to the agent.
    pub(super) fn user(&mut self, envelope: &Envelope, native: &str, parts: &[Part], out: &mut Frames) {
        let content: Vec<Content<'_>> = parts
            .iter()
            .map(|part| match part {
                Part::Text { text } => Content::Text { text },
                Part::Image { media_type, data, blob } => {
                    let path = match (blob, data) {
                        (Some(blob), _) => format!("/api/blobs/{}", blob.id),
                        (None, Some(data)) => format!("data:{media_type};base64,{data}"),
                        (None, None) => String::new(),
                    };
                    Content::Image { path, mime: Some(media_type) }
                }
                Part::File { path } => Content::FileRef { path, action: Action::Read, diff: None },
            })
            .collect();
        let frame = self.frame(envelope, name(native), Kind::Message, Role::User);
        self.whole(envelope, frame, &content, out);
    }

    // ---- text ----

    fn say(
        &mut self,
        envelope: &Envelope,
        text_kind: TextKind,
        (block, text): (&str, &str),
        last: Option<Status>,
        out: &mut Frames,
    ) {
        if !self.open(text_kind).contains_key(block) {
            if text.is_empty() && (last.is_some() || text_kind == TextKind::Text) {
                return;
            }
            let frame = self.frame(envelope, name(block), Kind::Message, Role::Assistant);
            self.started(envelope, frame, &[], out);
            let open = OpenText { id: frame.id, parent: frame.parent, text_kind, text: String::new() };
            self.open(text_kind).insert(block.to_owned(), open);
        }
        if let Some(open) = self.open(text_kind).get_mut(block).filter(|_| !text.is_empty()) {
            open.text.push_str(text);
            let data = DeltaData { item_id: open.id, native_item_id: name(block), delta: text };
            self.emit(envelope, By::Agent, "item.delta", &data, out);
        }
        if let Some(status) = last {
            for text_kind in [TextKind::Reasoning, TextKind::Text] {
                if let Some(open) = self.open(text_kind).remove(block) {
                    self.end_text(envelope, block, &open, status, out);
                }
            }
        }
    }

    /// An agent may give a thought and a text the same name.
    fn open(&mut self, text_kind: TextKind) -> &mut HashMap<String, OpenText> {
        match text_kind {
            TextKind::Text => &mut self.texts,
            TextKind::Reasoning => &mut self.thoughts,
        }
    }

    fn end_text(&mut self, envelope: &Envelope, native: &str, open: &OpenText, status: Status, out: &mut Frames) {
        let content = match open.text_kind {
            TextKind::Text => Content::Text { text: &open.text },
            TextKind::Reasoning => Content::Reasoning { text: &open.text, visibility: "public" },
        };
        let frame = Frame {
            id: open.id,
            native: name(native),
            parent: open.parent,
            kind: Kind::Message,
            role: Role::Assistant,
        };
        self.completed(envelope, frame, &[content], status, out);
    }

    // ---- tools ----

    fn tool_start(&mut self, envelope: &Envelope, start: &ToolStart, out: &mut Frames) {
        let native = start.tool_use_id.as_str();
        let arguments = start.input.as_ref().map_or_else(|| "{}".to_owned(), Value::to_string);
        let frame = self.frame(envelope, name(native), Kind::ToolCall, Role::Assistant);
        let tool = name(&start.tool);
        let content = [Content::ToolCall { name: tool, arguments: &arguments, call_id: name(native) }];
        self.started(envelope, frame, &content, out);
        let open = OpenTool { id: frame.id, parent: frame.parent, name: tool.to_owned(), arguments };
        self.tools.insert(native.to_owned(), open);
    }

    fn tool_result(&mut self, envelope: &Envelope, result: &ToolResult, out: &mut Frames) {
        let native = result.tool_use_id.as_str();
        let status = if result.is_error { Status::Failed } else { Status::Completed };
        let call = self.tools.remove(native);
        let parent = call.as_ref().map(|tool| tool.id);
        if let Some(tool) = call {
            self.end_call(envelope, native, &tool, Status::Completed, out);
        }
        let mut content = vec![Content::ToolResult { call_id: name(native), output: &result.output }];
        if let Some(path) = result.file_path.as_deref() {
            let action = match (result.is_file_read, &result.diff) {
                (Some(true), _) => Action::Read,
                (_, Some(_)) => Action::Patch,
                (_, None) => Action::Write,
            };
            content.push(Content::FileRef { path, action, diff: result.diff.as_deref() });
        }
        if let Some(blob) = &result.blob {
            // The output shows both ends of it.
            content
                .push(Content::Json { json: json!({ "size": blob.size, "url": format!("/api/blobs/{}", blob.id) }) });
        }
        let own = format!("{}:result", name(native));
        let mut frame = self.frame(envelope, &own, Kind::ToolResult, Role::Tool);
        frame.parent = parent.or(frame.parent);
        self.started(envelope, frame, &content, out);
        self.completed(envelope, frame, &content, status, out);
    }

    fn end_call(&mut self, envelope: &Envelope, native: &str, tool: &OpenTool, status: Status, out: &mut Frames) {
        let content = [Content::ToolCall { name: &tool.name, arguments: &tool.arguments, call_id: name(native) }];
        let frame = Frame {
            id: tool.id,
            native: name(native),
            parent: tool.parent,
            kind: Kind::ToolCall,
            role: Role::Assistant,
        };
        self.completed(envelope, frame, &content, status, out);
    }

    // ---- the rest ----

    /// One line for a person, perhaps with what it is made of.
    fn note(&mut self, envelope: &Envelope, label: &str, detail: Option<&str>, json: Option<Value>, out: &mut Frames) {
        let mut content = vec![Content::Status { label, detail }];
        content.extend(json.map(|json| Content::Json { json }));
        let native = format!("status:{}", envelope.seq);
        let frame = self.frame(envelope, &native, Kind::Status, Role::Assistant);
        self.whole(envelope, frame, &content, out);
    }

    fn frame<'a>(&mut self, envelope: &Envelope, native: &'a str, kind: Kind, role: Role) -> Frame<'a> {
        self.items += 1;
        let parent = envelope.subagent_id.as_ref().and_then(|id| self.lanes.get(id.as_str())).copied();
        Frame { id: ItemId(self.items), native, parent, kind, role }
    }

    /// An item that begins and ends at once.
    fn whole(&mut self, envelope: &Envelope, frame: Frame<'_>, content: &[Content<'_>], out: &mut Frames) {
        self.started(envelope, frame, content, out);
        self.completed(envelope, frame, content, Status::Completed, out);
    }

    fn started(&mut self, envelope: &Envelope, frame: Frame<'_>, content: &[Content<'_>], out: &mut Frames) {
        let data = ItemData { item: frame.item(content, Status::InProgress) };
        self.emit(envelope, By::Agent, "item.started", &data, out);
    }

    fn completed(
        &mut self,
        envelope: &Envelope,
        frame: Frame<'_>,
        content: &[Content<'_>],
        status: Status,
        out: &mut Frames,
    ) {
        let data = ItemData { item: frame.item(content, status) };
        self.emit(envelope, By::Agent, "item.completed", &data, out);
    }
}

impl<'a> Frame<'a> {
    fn item(self, content: &'a [Content<'a>], status: Status) -> Item<'a> {
        let Frame { id, native, parent, kind, role } = self;
        Item { id, native_item_id: native, parent_id: parent, kind, role, content, status }
    }
}

fn work(status: WorkStatus) -> &'static str {
    match status {
        WorkStatus::Completed => "completed",
        WorkStatus::Failed => "failed",
        WorkStatus::Interrupted => "interrupted",
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
