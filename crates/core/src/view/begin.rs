//! Blocks as they first appear.

use super::block::{
    ArtifactBlock, Block, Decision, DelegationBlock, ErrorBlock, ImageBlock, InterruptBlock, PermissionBlock,
    QuestionBlock, SubagentBlock, TextBlock, ToolBlock, ToolStatus,
};
use super::mask::mask;
use super::summary;
use crate::event::{
    ArtifactCreated, DelegationStarted, Failure, Interrupt, Part, PermissionRequest, QuestionRequest, SubagentStarted,
    ToolResult, ToolStart,
};
use crate::time::Timestamp;

/// What every block has from the beginning.
pub(super) struct NewBlock {
    pub(super) id: String,
    pub(super) at: Timestamp,
}

/// One part of a person's message.
pub(super) fn part(NewBlock { id, at: started_at }: NewBlock, part: &Part) -> Block {
    match part {
        Part::Text { text } => {
            TextBlock { id, started_at, text: text.clone(), done: true, ..TextBlock::default() }.into()
        }
        Part::Image { media_type, data, blob } => {
            let (media_type, data, blob) = (media_type.clone(), data.clone(), blob.clone());
            ImageBlock { id, started_at, media_type, data, blob, ..ImageBlock::default() }.into()
        }
        Part::File { path } => ArtifactBlock {
            id,
            started_at,
            title: path.clone(),
            path: Some(path.clone()),
            media_type: "text/plain".to_owned(),
            ..ArtifactBlock::default()
        }
        .into(),
    }
}

pub(super) fn delegation(NewBlock { id, at: started_at }: NewBlock, started: &DelegationStarted) -> Block {
    DelegationBlock {
        id,
        started_at,
        child_session_id: started.child_session_id.clone(),
        runtime: started.runtime.clone(),
        title: started.title.clone(),
        cwd: started.cwd.clone(),
        tool_use_id: started.tool_use_id.clone(),
        waits: started.waits,
        by: started.by.clone(),
        ..DelegationBlock::default()
    }
    .into()
}

pub(super) fn tool(
    NewBlock { id, at: started_at }: NewBlock,
    start: &ToolStart,
    decision: Option<Decision>,
    covered_by: Option<String>,
) -> Block {
    ToolBlock {
        id,
        started_at,
        tool_use_id: start.tool_use_id.clone(),
        tool: start.tool.clone(),
        summary: summary::running(start),
        input: start.input.clone(),
        input_blob: start.blob.clone(),
        command: start.command.clone(),
        file_path: start.file_path.clone(),
        pattern: start.pattern.clone(),
        is_file_read: start.is_file_read,
        subagent_name: start.subagent_name.clone(),
        client_tool: start.client_tool,
        decision,
        covered_by,
        ..ToolBlock::default()
    }
    .into()
}

impl ToolBlock {
    /// Takes what came of the call.
    pub(super) fn finish(&mut self, start: &ToolStart, result: &ToolResult, at: Timestamp) {
        self.status = match result {
            result if result.denied == Some(true) => ToolStatus::Denied,
            result if result.interrupted == Some(true) => ToolStatus::Interrupted,
            result if result.is_error => ToolStatus::Failed,
            _ => ToolStatus::Done,
        };
        self.summary = summary::finished(start, result);
        self.exit_code = result.exit_code;
        self.ended_at = Some(at);
        self.take_output(result);
        self.clear_progress();
    }

    pub(super) fn take_output(&mut self, result: &ToolResult) {
        self.output = Some(result.output.clone());
        self.diff.clone_from(&result.diff);
        self.blob.clone_from(&result.blob);
        self.images.clone_from(&result.images);
    }

    pub(super) fn clear_progress(&mut self) {
        self.live = None;
        self.fraction = None;
    }
}

pub(super) fn permission(NewBlock { id, at: started_at }: NewBlock, request: &PermissionRequest) -> Block {
    let title = request.title.clone().unwrap_or_else(|| format!("Allow {}", request.tool_name));
    PermissionBlock {
        id,
        started_at,
        ask_id: request.ask_id.clone(),
        tool_name: request.tool_name.clone(),
        tool_input: request.tool_input.clone(),
        tool_use_id: request.tool_use_id.clone(),
        title: mask(&title),
        options: request.options.clone(),
        judged: request.judged.clone(),
        fixed_input: request.fixed_input,
        expiry: request.expiry.clone(),
        ..PermissionBlock::default()
    }
    .into()
}

pub(super) fn question(NewBlock { id, at: started_at }: NewBlock, request: &QuestionRequest) -> Block {
    QuestionBlock {
        id,
        started_at,
        ask_id: request.ask_id.clone(),
        questions: request.questions.clone(),
        title: request.title.clone(),
        ..QuestionBlock::default()
    }
    .into()
}

pub(super) fn interrupt(NewBlock { id, at: started_at }: NewBlock, request: &Interrupt) -> Block {
    InterruptBlock {
        id,
        started_at,
        ask_id: request.interrupt_id.clone(),
        component_name: request.component_name.clone(),
        tool_use_id: request.tool_use_id.clone(),
        props: request.props.clone(),
        surface: request.surface,
        component_id: request.component_id.clone(),
        actions: request.actions.clone(),
        title: request.title.clone(),
        value_schema: request.value_schema.clone(),
        ..InterruptBlock::default()
    }
    .into()
}

pub(super) fn subagent(NewBlock { id, at: started_at }: NewBlock, started: &SubagentStarted) -> Block {
    SubagentBlock {
        id,
        started_at,
        subagent_id: started.subagent_id.clone(),
        name: started.name.clone(),
        background: started.background,
        parent_tool_use_id: started.parent_tool_use_id.clone(),
        ..SubagentBlock::default()
    }
    .into()
}

pub(super) fn artifact(NewBlock { id, at: started_at }: NewBlock, created: &ArtifactCreated) -> Block {
    let (artifact_id, media_type) = (Some(created.artifact_id.clone()), created.media_type.clone());
    let (path, content, blob) = (created.path.clone(), created.content.clone(), created.blob.clone());
    let version = Some(1);
    if media_type.starts_with("image/") {
        let title = Some(created.title.clone());
        let image = ImageBlock::default();
        ImageBlock { id, started_at, media_type, artifact_id, title, path, content, blob, version, ..image }.into()
    } else {
        let title = created.title.clone();
        let artifact = ArtifactBlock::default();
        ArtifactBlock { id, started_at, artifact_id, title, media_type, path, content, blob, version, ..artifact }
            .into()
    }
}

pub(super) fn error(NewBlock { id, at: started_at }: NewBlock, failure: &Failure) -> Block {
    ErrorBlock {
        id,
        started_at,
        message: failure.message.clone(),
        code: failure.code.clone(),
        retryable: failure.retryable,
        fix: failure.fix.clone(),
        ..ErrorBlock::default()
    }
    .into()
}
