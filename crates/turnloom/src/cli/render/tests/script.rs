//! Logs made of a few words, for tests.

use serde_json::json;
use turnloom_core::event::*;
use turnloom_core::id::{AskId, BlockId, MessageId, Seq, SessionId, SubagentId, ToolUseId, TurnId};
use turnloom_core::time::Timestamp;

use crate::cli::render::{Channel, Look, Renderer};

/// A log, half a second from event to event.
#[derive(Default)]
pub(super) struct Script(pub(super) Vec<Envelope>);

impl Script {
    pub(super) fn turn() -> Self {
        Self::default().then(TurnStarted::default())
    }

    pub(super) fn then(self, event: impl Into<Event>) -> Self {
        self.push(event.into(), None)
    }

    pub(super) fn by(self, subagent: &str, event: impl Into<Event>) -> Self {
        self.push(event.into(), Some(SubagentId::trusted(subagent)))
    }

    pub(super) fn push(mut self, event: Event, subagent_id: Option<SubagentId>) -> Self {
        let at = self.0.len() as u64;
        self.0.push(Envelope {
            seq: Seq(at + 1),
            ts: Timestamp::from_millis(1_800_000_000_000 + i64::try_from(at).unwrap() * 500),
            session_id: SessionId::trusted("s"),
            turn_id: Some(TurnId::trusted("turn")),
            subagent_id,
            event,
        });
        self
    }

    pub(super) fn done(self) -> Self {
        self.then(Done::default())
    }

    /// Both channels as one, as a screen shows them.
    pub(super) fn show(&self, look: Look) -> String {
        let mut renderer = Renderer::new(look, look);
        let pieces = self.0.iter().flat_map(|envelope| renderer.event(envelope));
        // Escapes are made readable.
        pieces.map(|piece| piece.text).collect::<String>().replace("\u{1b}[0m", "</>").replace('\u{1b}', "<")
    }

    pub(super) fn channel(&self, channel: Channel) -> String {
        let mut renderer = Renderer::new(Look::PLAIN, Look::PLAIN);
        let pieces = self.0.iter().flat_map(|envelope| renderer.event(envelope));
        pieces.filter(|piece| piece.channel == channel).map(|piece| piece.text).collect()
    }
}

pub(super) fn message(text: &str) -> UserMessage {
    let content = vec![Part::Text { text: text.to_owned() }];
    UserMessage { message_id: MessageId::trusted("m"), content, origin: Origin::User, source: None }
}

pub(super) fn delta(block: &str, text: &str) -> Delta {
    Delta { block_id: BlockId::trusted(block), text: text.to_owned(), ..Delta::default() }
}

pub(super) fn thinking(text: &str, done: bool) -> Thinking {
    Thinking { block_id: BlockId::trusted("think"), text: text.to_owned(), done: Some(done), interrupted: false }
}

pub(super) fn command(id: &str, command: &str) -> ToolStart {
    let (tool_use_id, command) = (ToolUseId::trusted(id), Some(command.to_owned()));
    ToolStart { tool_use_id, tool: "Bash".to_owned(), command, ..ToolStart::default() }
}

pub(super) fn result(id: &str, output: &str) -> ToolResult {
    ToolResult { tool_use_id: ToolUseId::trusted(id), output: output.to_owned(), ..ToolResult::default() }
}

pub(super) fn plan(current: usize) -> PlanUpdated {
    let status = |at: usize| match at.cmp(&current) {
        std::cmp::Ordering::Less => StepStatus::Done,
        std::cmp::Ordering::Equal => StepStatus::Running,
        std::cmp::Ordering::Greater => StepStatus::Pending,
    };
    let steps = ["Look", "Weave"].iter().enumerate();
    let steps = steps.map(|(at, text)| PlanStep { text: (*text).to_owned(), status: status(at) }).collect();
    PlanUpdated { steps, explanation: None }
}

pub(super) fn permission() -> PermissionRequest {
    let option = |reply, label: &str, rule: Option<&str>| PermissionOption {
        reply,
        label: label.to_owned(),
        rule: rule.map(str::to_owned),
        scope: None,
    };
    PermissionRequest {
        ask_id: AskId::trusted("p"),
        tool_name: "Bash".to_owned(),
        tool_input: json!({ "command": "rm -rf build" }),
        options: vec![
            option(PermissionReply::Once, "Allow once", None),
            option(PermissionReply::Always, "Always", Some("Bash(rm -rf build)")),
            option(PermissionReply::Reject, "Reject", None),
        ],
        ..PermissionRequest::default()
    }
}

pub(super) fn transcript() -> Script {
    let diff = "--- a/loom.rs\n+++ b/loom.rs\n@@ -1,2 +1,2 @@\n fn weave() {\n-    slowly();\n+    quickly();\n";
    let edit =
        ToolStart { file_path: Some("loom.rs".to_owned()), command: None, tool: "Edit".to_owned(), ..command("e", "") };
    let read = ToolStart {
        file_path: Some("loom.rs".to_owned()),
        is_file_read: Some(true),
        command: None,
        ..command("r", "")
    };
    let failed = ToolResult { is_error: true, exit_code: Some(1), ..result("f", "cat: x: No such file\n") };
    let changed = ToolResult { diff: Some(diff.to_owned()), ..result("e", "done") };
    let usage = Usage { input_tokens: 1_830, output_tokens: 412, cost_usd: Some(0.1234), ..Usage::default() };
    let allowed = PermissionResolved {
        ask_id: AskId::trusted("p"),
        allowed: true,
        by: "cli".to_owned(),
        ..PermissionResolved::default()
    };
    Script::default()
        .then(message("weave faster\nplease"))
        .then(TurnStarted::default())
        .then(thinking("", false))
        .then(thinking("The loom is slow, and the person wants it to be quick. ", false))
        .then(thinking("", true))
        .then(delta("a", "I will look at the **loom** first, and "))
        .then(delta("a", "then run `make` to see that it works."))
        .then(plan(0))
        .then(read)
        .then(result("r", "one\ntwo\n"))
        .then(edit)
        .then(changed)
        .then(command("f", "cat x"))
        .then(failed)
        .then(plan(1))
        .then(command("b", "rm -rf build"))
        .then(permission())
        .then(allowed)
        .then(result("b", ""))
        .then(delta("z", "It is quick now."))
        .then(usage)
        .done()
}
