//! What the mock can play. Each command is a list of steps; `demo` is several of them in a row.

mod asks;
mod components;
mod limits;
mod parallel;
mod proposals;
mod shared;
mod spending;
mod steps;

use serde_json::json;

use self::asks::{
    client_tool, clients_tools, interrupt, parallel_permission, permission, permissions, plan_approval, question,
    questions, subagent_permission,
};
pub(super) use self::components::pressed;
use self::parallel::parallel;
use self::proposals::host_tool;
use self::shared::{buttons, state};
use self::steps::{ConcatSteps as _, progress, result, say, start, thinking, turn_end, usage};
use super::agent::{HostState, Step, Stream, StreamText};
use super::wire::AgentMessage;
use crate::event::{
    Activity, ArtifactCreated, ArtifactUpdated, ArtifactVersion, BackgroundEnded, BackgroundKind, BackgroundStarted,
    CompactionEnd, CompactionReason, CompactionStart, CompactionTrigger, Delta, DiffUpdated, EndReason, Event,
    EvidenceChanged, Failure, FileChange, FileDiff, Outcome, PlanStep, PlanUpdated, Status, StepStatus, SubagentEnded,
    SubagentStarted, Surface, TurnResult, WorkStatus,
};
use crate::id::{BackgroundId, BlockId, SubagentId, ToolUseId};

/// Every command, as `help` lists them.
const HELP: &[(&str, &str)] = &[
    ("demo", "a walk through everything a user interface must show"),
    ("markdown", "headings, lists, a table, code"),
    ("tool", "reads, edits and runs; one call fails, and a file is new"),
    ("parallel", "three calls at once"),
    ("status [MS]", "two retries, MS apart, then an answer"),
    ("image", "a small picture"),
    ("permission", "asks before it runs a command"),
    ("permissions", "asks for two things at once"),
    ("bash COMMAND", "a command that the rules decide about; nothing is run"),
    ("call TOOL INPUT", "the same with any tool; INPUT is JSON or a path"),
    ("spend TOKENS [TIMES]", "says that it has used TOKENS, then makes a call; so many times"),
    ("burn TOKENS", "says that it has used TOKENS, then talks on without a call"),
    ("circle TIMES", "makes the same call with the same result, so many times"),
    ("parallel permission", "asks while another call runs"),
    ("question", "asks you two questions"),
    ("questions", "asks twice at once"),
    ("plan", "a plan whose steps get done"),
    ("plan approval", "a plan that waits for your approval"),
    ("diff", "a change to two files"),
    ("subagent", "starts a helper with tools of its own"),
    ("subagent permission", "starts a helper that asks before it runs a command"),
    ("background", "starts work that ends after the turn, and then speaks unasked"),
    ("background forever", "starts work that goes on until it is stopped"),
    ("component", "a chart that grows"),
    ("components [NAME]", "every component that ships, or one, in all its states"),
    ("weather", "a call that a component shows"),
    ("research", "a component that finds more and more"),
    ("plan editor", "a plan beside the conversation that waits for your approval"),
    ("approval [all]", "waits for your approval above the conversation, or on every surface in turn"),
    ("mover", "a component that goes from place to place"),
    ("bound", "a component that shows the shared state"),
    ("buttons", "a note with a button, which says what you pressed"),
    ("interrupt", "a form that waits for your value"),
    ("client", "says which tools clients run for it"),
    ("client TOOL [INPUT]", "calls one of them"),
    ("host TOOL [INPUT]", "calls a tool that the session serves"),
    ("state", "shared state, then a patch to it"),
    ("artifact", "a document in two versions"),
    ("compaction", "compacts its history"),
    ("retract", "takes back what it streamed"),
    ("unknown", "something that most user interfaces have no shape for"),
    ("error", "a turn that fails, and a line that cannot be read"),
    ("end", "ends the session"),
    ("echo TEXT", "says TEXT; so does any other text"),
    ("stream N [BYTES] [PER_SECOND]", "N pieces of text"),
    ("prose N [BYTES] [PER_SECOND]", "the same, as an agent writes: headings, lists, code"),
    ("sleep MS", "waits"),
    ("big BYTES", "one tool with a large output"),
    ("crash", "the agent dies in the middle of the turn"),
    ("hang", "never ends until stopped"),
    ("stubborn", "never ends until killed"),
    ("linger", "leaves a process behind in a session of its own, then hangs"),
    ("garbage, unparsed", "a line that is not JSON"),
    ("garbage utf8", "a line that is not UTF-8"),
    ("garbage BYTES", "one very long line"),
];

/// What `prose` says: one of everything that costs a page something to draw.
pub(super) const PROSE: &str = "## What I found\n\nThe log is written by **one thread** that groups what waits, so a slow disk makes the \
groups larger and not the queue longer. A reader holds a `cursor` and nothing else.\n\n1. commit\n2. publish\n3. answer\n\n\
```rust\nfn publish(&self, records: &[Record]) {\n    for record in records {\n        self.ring.push(record.clone());\n    }\n}\n\
```\n\n| step | cost |\n|---|---:|\n| commit | 0.2 ms |\n| publish | 2 us |\n\n> A slow reader never blocks anyone.\n\n";

/// The steps for a prompt; what they open is named after `t`.
pub(super) fn play(prompt: &str, t: &str, host_state: &HostState) -> Vec<Step> {
    let words: Vec<&str> = prompt.split_whitespace().collect();
    let number = |at: usize| words.get(at).and_then(|word| limits::number(word));
    let size = |at: usize| number(at).and_then(|n| usize::try_from(n).ok());
    if let Some(limit) = limits::exceeded(&words) {
        return limits::number_too_large(prompt, limit);
    }
    match words.as_slice() {
        ["help"] => help(t),
        ["demo"] => demo(t),
        ["markdown"] => markdown(t),
        ["tool" | "tools" | "tooling"] => [calls(t), added(), called(t)].concat_steps(),
        ["parallel"] => parallel(t),
        ["parallel", "permission"] => parallel_permission(t),
        ["subagent", "permission"] => subagent_permission(t),
        ["status"] => status(t, RETRY_MS),
        ["status", _] if number(1).is_some() => status(t, number(1).unwrap_or(0)),
        ["image"] => image(t),
        ["permission"] => permission(t),
        ["permissions"] => permissions(t),
        ["bash", _, ..] => proposals::bash(t, prompt.trim_start().strip_prefix("bash").unwrap_or(prompt).trim()),
        ["call", tool, _, ..] => proposals::call(t, tool, prompt),
        ["spend", _] | ["spend", _, _] if number(1).is_some() => {
            spending::spend(t, number(1).unwrap_or(0), number(2).unwrap_or(1))
        }
        ["burn", _] if number(1).is_some() => spending::burn(t, number(1).unwrap_or(0)),
        ["circle", _] if number(1).is_some() => spending::circle(t, number(1).unwrap_or(0)),
        ["question"] => question(t),
        ["questions"] => questions(t),
        ["plan"] => plan(t),
        ["plan", "approval"] => plan_approval(t),
        ["diff"] => diff(t),
        ["subagent"] => subagent(t),
        ["background"] => background(t),
        ["background", "forever"] => background_forever(t),
        ["component"] => components::chart(t),
        ["components"] => components::gallery(t, None),
        ["components", name] => components::gallery(t, Some(name)),
        ["weather"] => components::weather(t),
        ["research"] => components::research(t),
        ["plan", "editor"] => components::plan_editor(t),
        ["approval"] => components::approval(t, &[Surface::Overlay]),
        ["approval", "all"] => components::approval(t, Surface::ALL),
        ["mover"] => components::mover(t),
        ["bound"] => components::bound(t),
        ["buttons"] => buttons(t),
        ["interrupt"] => interrupt(t),
        ["state"] => state(t, host_state),
        ["client"] => clients_tools(t, host_state),
        ["client", tool, ..] => client_tool(t, tool, prompt, host_state),
        ["host", tool, ..] => host_tool(t, tool, prompt),
        ["artifact"] => artifact(t),
        ["compaction"] => compaction(),
        ["retract"] => retract(t),
        ["unknown"] => unknown(t),
        ["error"] => error(t),
        ["end" | "ended" | "session.end"] => end(t),
        ["crash"] => [words_in(t, "crash", "I am about to"), vec![Step::Exit { code: 3 }]].concat_steps(),
        ["hang"] => [words_in(t, "hang", "Waiting."), vec![Step::Hang]].concat_steps(),
        ["stubborn"] => vec![Step::IgnoreSignals],
        ["linger"] => {
            [vec![Step::LeaveChild], words_in(t, "linger", "Somebody is still there."), vec![Step::Hang]].concat_steps()
        }
        ["garbage" | "unparsed"] => [vec![not_json()], words_in(t, "after", "I said something odd.")].concat_steps(),
        ["garbage", "utf8"] => {
            [vec![Step::Raw(b"{\"say\":\"\xff\xfe\"}\n".to_vec())], words_in(t, "after", "That was not UTF-8.")]
                .concat_steps()
        }
        ["garbage", _] if number(1).is_some() => {
            let mut line = vec![b'x'; size(1).unwrap_or(0)];
            line.push(b'\n');
            [vec![Step::Raw(line)], words_in(t, "after", "That was a long line.")].concat_steps()
        }
        ["sleep", _] if number(1).is_some() => {
            [vec![Step::Sleep { ms: number(1).unwrap_or(0) }], words_in(t, "slept", "Good morning.")].concat_steps()
        }
        ["big", _] if number(1).is_some() => big(t, size(1).unwrap_or(0)),
        ["stream" | "prose", _, ..] if number(1).is_some() => vec![Step::Stream(Stream {
            block: BlockId::trusted(format!("{t}-stream")),
            left: number(1).unwrap_or(0),
            sent: 0,
            bytes: size(2).unwrap_or(16),
            per_second: number(3),
            text: if words.first() == Some(&"prose") { StreamText::Prose } else { StreamText::Counted },
        })],
        ["echo", ..] => echo(t, prompt.trim_start().strip_prefix("echo").unwrap_or(prompt).trim()),
        _ => echo(t, prompt),
    }
}

/// Text, word by word, then whole.
pub(super) fn words(block: &str, text: &str) -> Vec<Step> {
    let block = BlockId::trusted(block);
    let mut steps = Vec::new();
    for piece in text.split_inclusive(' ') {
        steps.push(Step::Send(AgentMessage::Text { block: block.clone(), text: piece.to_owned() }));
        steps.push(Step::Pause);
    }
    steps.push(Step::Send(AgentMessage::TextEnd { block, text: text.to_owned() }));
    steps
}

pub(super) fn compaction() -> Vec<Step> {
    vec![
        say(&Event::from(CompactionStart { trigger: CompactionTrigger::Manual })),
        Step::Sleep { ms: 60 },
        say(&Event::from(CompactionEnd {
            removed: Some(42),
            kept: Some(6),
            tokens_before: Some(91_000),
            tokens_after: Some(8_200),
            reason: CompactionReason::Manual,
            failed: None,
        })),
    ]
}

/// What a session begins with that was made for somebody who has not typed anything yet.
pub(super) fn welcome() -> Vec<Step> {
    let look = "welcome-look";
    let mut steps = vec![
        Step::Send(AgentMessage::TurnStart {}),
        start(look, "Read", json!({ "file_path": "loom.toml" }), |start| {
            start.file_path = Some("loom.toml".to_owned());
            start.is_file_read = Some(true);
        }),
        Step::Sleep { ms: 40 },
        result(look, "warp = 120\nweft = 96\n", |result| result.is_file_read = Some(true)),
    ];
    steps.extend(words(
        "welcome",
        "Hello. I am the mock agent: I need no key and no network. Send `demo` and I will show you everything a turn can hold, or `help` for the list.",
    ));
    steps
}

fn words_in(t: &str, name: &str, text: &str) -> Vec<Step> {
    words(&format!("{t}-{name}"), text)
}

fn help(t: &str) -> Vec<Step> {
    let list: Vec<String> = HELP.iter().map(|(command, what)| format!("- `{command}`: {what}")).collect();
    words_in(
        t,
        "help",
        &format!("I am the mock agent. I need no key and no network. Try one of these:\n\n{}", list.join("\n")),
    )
}

fn echo(t: &str, text: &str) -> Vec<Step> {
    let mut steps = thinking(t, "Somebody said something. I will say it too.");
    steps.extend(words_in(t, "echo", text));
    steps.push(say(&Event::from(TurnResult { text: text.to_owned(), structured_output: None })));
    steps.push(usage(12, text.len() as u64));
    steps
}

fn demo(t: &str) -> Vec<Step> {
    let mut steps = thinking(t, "The person wants to see everything. I will start with a plan and go through it.");
    steps.extend(words_in(
        t,
        "intro",
        "I will show you **everything** a user interface must be able to draw. First a plan.",
    ));
    steps.extend(plan_at(1));
    steps.extend(calls(t));
    steps.extend(called(t));
    steps.extend(plan_at(2));
    steps.extend(markdown(t));
    steps.extend(diff(t));
    steps.extend(subagent(t));
    steps.extend(plan_at(3));
    steps.extend(components::chart(t));
    steps.extend(state(t, &HostState::default()));
    steps.extend(image(t));
    steps.extend(artifact(t));
    steps.extend(status(t, RETRY_MS));
    steps.extend(compaction());
    steps.extend(permission(t));
    steps.extend(question(t));
    steps.extend(plan_at(4));
    steps.extend(words_in(t, "outro", "That was all. Send `help` for the single commands."));
    steps.push(say(&Event::from(TurnResult { text: "The demo is over.".to_owned(), structured_output: None })));
    steps.push(usage(1_830, 412));
    steps
}

fn markdown(t: &str) -> Vec<Step> {
    words_in(
        t,
        "markdown",
        "# Weaving\n\nA loom holds *threads* under **tension**.\n\n1. warp\n2. weft\n   - over\n   - under\n\n| thread | count |\n|---|---:|\n| \
         warp | 120 |\n| weft | 96 |\n\n```rust\nfn main() {\n    println!(\"one log, many views\");\n}\n```\n\n> Everything else is a \
         fold.\n\nSee [the docs](/api/docs).\n",
    )
}

/// Calls of all kinds.
fn calls(t: &str) -> Vec<Step> {
    let path = "src/loom.rs";
    let diff =
        "--- a/src/loom.rs\n+++ b/src/loom.rs\n@@ -1,3 +1,3 @@\n fn weave() {\n-    slowly();\n+    quickly();\n }\n";
    let (read, edit, run, fails) = (format!("{t}-read"), format!("{t}-edit"), format!("{t}-run"), format!("{t}-fails"));
    let mut steps = vec![
        start(&read, "Read", json!({ "file_path": path }), |start| {
            start.file_path = Some(path.to_owned());
            start.is_file_read = Some(true);
        }),
        Step::Sleep { ms: 40 },
        result(&read, "fn weave() {\n    slowly();\n}\n", |result| {
            result.file_path = Some(path.to_owned());
            result.is_file_read = Some(true);
        }),
        start(&edit, "Edit", json!({ "file_path": path, "old_string": "slowly", "new_string": "quickly" }), |start| {
            start.file_path = Some(path.to_owned());
        }),
        Step::Sleep { ms: 40 },
        result(&edit, "The file was changed.", |result| {
            result.file_path = Some(path.to_owned());
            result.diff = Some(diff.to_owned());
        }),
        start(&run, "Bash", json!({ "command": "cargo test" }), |start| start.command = Some("cargo test".to_owned())),
    ];
    for done in 1..=3_u8 {
        steps.push(Step::Sleep { ms: 50 });
        steps.push(progress(&run, &format!("test {done} of 3\n"), f64::from(done) / 3.0));
    }
    steps.extend([
        result(&run, "\u{1b}[32mok\u{1b}[0m 3 passed, 0 failed\n", |result| result.exit_code = Some(0)),
        start(&fails, "Bash", json!({ "command": "cat missing.txt" }), |start| {
            start.command = Some("cat missing.txt".to_owned());
            start.file_path = Some("missing.txt".to_owned());
            start.is_file_read = Some(true);
        }),
        Step::Sleep { ms: 30 },
        result(&fails, "cat: missing.txt: No such file or directory\n", |result| {
            result.is_error = true;
            result.exit_code = Some(1);
        }),
    ]);
    steps
}

fn called(t: &str) -> Vec<Step> {
    words_in(t, "tools", "Three tools worked and one did not.")
}

/// A file that was not there before.
fn added() -> Vec<Step> {
    let diff = "--- /dev/null\n+++ b/notes.md\n@@ -0,0 +1,2 @@\n+# Notes\n+Tight.\n".to_owned();
    let files = vec![FileDiff { path: "notes.md".to_owned(), kind: FileChange::Added, diff }];
    vec![say(&Event::from(DiffUpdated { files }))]
}

fn not_json() -> Step {
    Step::Raw(b"this is { not JSON\n".to_vec())
}

fn unknown(t: &str) -> Vec<Step> {
    let found = EvidenceChanged {
        evidence_id: format!("{t}-evidence"),
        kind: "source".to_owned(),
        title: "A book about weaving".to_owned(),
        status: "found".to_owned(),
        detail: None,
        ..EvidenceChanged::default()
    };
    [vec![say(&Event::from(found))], words_in(t, "found", "I found something.")].concat_steps()
}

/// How long it waits before it tries again, where nobody says.
const RETRY_MS: u64 = 80;

/// It says what agents say of a retry: which one of how many it is, and how long it waits before it.
fn status(t: &str, ms: u64) -> Vec<Step> {
    let retrying = |attempt: u32| {
        let label = Some(format!("Retrying, attempt {attempt}"));
        let detail = Some(json!({ "max_retries": 3, "retry_delay_ms": ms }));
        say(&Event::from(Status { state: Activity::Retrying, label, attempt: Some(attempt), detail }))
    };
    let mut steps = vec![retrying(1), Step::Sleep { ms }, retrying(2), Step::Sleep { ms }];
    steps.extend(words_in(t, "status", "The model answered at the third try."));
    steps
}

/// A piece of cloth, 144 by 72.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAJAAAABIBAMAAADrBWHJAAAAD1BMVEUmK15ET8mapf/y7+bJajv482ueAAAAy0lEQVR42t1Y2w2AIBA7nUA3MK\
     7ACuw/kxgSH5fwbL/6c0RoGu3BldPW8zCzZd+asY68l2OM6aEZ60hxIo7YQ+gaMoSQhiemZTdTig6pTEQTG0n5L/1D71+J4kQcsaGUu7M2vQn9\
     zlYloomNpPyLtNEiX0KKE3HEBn2x6GvTlUSZiCY26ovO1/BKIk7EERv0xRcJOvWDVCaiiY03D0Vfm7MDcSKO2ITmwZ01sJIoE9HExpuHjDS8nc\
     lIcSKO2JQ/LF0Xrc4vVSZiiX0BEOb3sCoK8TcAAAAASUVORK5CYII=";

fn image(t: &str) -> Vec<Step> {
    let picture = ArtifactCreated {
        artifact_id: format!("{t}-picture"),
        title: "Plain weave".to_owned(),
        media_type: "image/png".to_owned(),
        content: Some(PICTURE.to_owned()),
        ..ArtifactCreated::default()
    };
    vec![say(&Event::from(picture))]
}

const PLAN: [&str; 3] = ["Look at the tools", "Write and delegate", "Ask the person"];

/// The plan while its nth step is being done.
fn plan_at(current: usize) -> Vec<Step> {
    let status = |number: usize| match number.cmp(&current) {
        std::cmp::Ordering::Less => StepStatus::Done,
        std::cmp::Ordering::Equal => StepStatus::Running,
        std::cmp::Ordering::Greater => StepStatus::Pending,
    };
    let steps =
        (1..).zip(PLAN).map(|(number, text)| PlanStep { text: text.to_owned(), status: status(number) }).collect();
    vec![say(&Event::from(PlanUpdated { steps, explanation: None }))]
}

fn plan(t: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for current in 1..=PLAN.len() + 1 {
        steps.extend(plan_at(current));
        steps.push(Step::Sleep { ms: 60 });
    }
    steps.extend(words_in(t, "planned", "All steps are done."));
    steps
}

fn diff(t: &str) -> Vec<Step> {
    let changed = "--- a/weave.txt\n+++ b/weave.txt\n@@ -1,2 +1,3 @@\n over\n-under\n+under twice\n+over\n";
    let added = "--- /dev/null\n+++ b/notes.md\n@@ -0,0 +1,2 @@\n+# Notes\n+Tight.\n";
    let files = vec![
        FileDiff { path: "weave.txt".to_owned(), kind: FileChange::Modified, diff: changed.to_owned() },
        FileDiff { path: "notes.md".to_owned(), kind: FileChange::Added, diff: added.to_owned() },
    ];
    [vec![say(&Event::from(DiffUpdated { files }))], words_in(t, "changed", "Two files changed.")].concat_steps()
}

fn subagent(t: &str) -> Vec<Step> {
    let id = SubagentId::trusted(format!("{t}-helper"));
    let (call, search) = (format!("{t}-agent"), format!("{t}-search"));
    let started = SubagentStarted {
        subagent_id: id.clone(),
        name: "Explorer".to_owned(),
        parent_tool_use_id: Some(ToolUseId::trusted(call.clone())),
        ..SubagentStarted::default()
    };
    let block = BlockId::trusted(format!("{t}-found"));
    vec![
        start(&call, "Agent", json!({ "prompt": "Find every knot." }), |start| {
            start.subagent_spawn = Some(true);
            start.subagent_name = Some("Explorer".to_owned());
        }),
        say(&Event::from(started)),
        start(&search, "Grep", json!({ "pattern": "knot", "path": "src" }), |start| {
            start.pattern = Some("knot".to_owned());
            start.search_path = Some("src".to_owned());
        })
        .by(&id),
        Step::Sleep { ms: 60 },
        result(&search, "src/loom.rs:3: // a knot\nsrc/weft.rs:9: // another knot\n", |_| {}).by(&id),
        say(&Event::from(Delta {
            block_id: block,
            text: "Two knots, both harmless.".to_owned(),
            done: true,
            interrupted: false,
        }))
        .by(&id),
        say(&Event::from(SubagentEnded {
            subagent_id: id,
            status: WorkStatus::Completed,
            tool_calls: 1,
            file_changes: 0,
        })),
        result(&call, "Two knots, both harmless.", |_| {}),
    ]
}

fn background(t: &str) -> Vec<Step> {
    let mut steps = background_started(t);
    let ended = BackgroundEnded {
        background_id: BackgroundId::trusted(format!("{t}-bg")),
        status: WorkStatus::Completed,
        output: Some("finished\n".to_owned()),
        exit_code: Some(0),
        ..BackgroundEnded::default()
    };
    let mut later = vec![Step::Sleep { ms: 150 }, say(&Event::from(ended)), Step::Send(AgentMessage::TurnStart {})];
    later.extend(words_in(t, "unasked", "The background work has ended well."));
    steps.push(Step::Later(later));
    steps
}

fn background_forever(t: &str) -> Vec<Step> {
    let mut steps = background_started(t);
    steps.push(Step::Later(vec![Step::Hang]));
    steps
}

/// What is left to say of background work that was stopped.
pub(super) fn background_stopped(id: &str) -> Step {
    let background_id = BackgroundId::trusted(id);
    let reason = Some("it was stopped".to_owned());
    say(&Event::from(BackgroundEnded { background_id, status: WorkStatus::Interrupted, reason, ..Default::default() }))
}

fn background_started(t: &str) -> Vec<Step> {
    let call = format!("{t}-watch");
    let started = BackgroundStarted {
        background_id: BackgroundId::trusted(format!("{t}-bg")),
        kind: BackgroundKind::Command,
        tool_use_id: Some(ToolUseId::trusted(call.clone())),
        label: "cargo watch".to_owned(),
    };
    let mut steps = vec![
        start(&call, "Bash", json!({ "command": "cargo watch", "background": true }), |start| {
            start.command = Some("cargo watch".to_owned());
        }),
        say(&Event::from(started)),
    ];
    steps.extend(words_in(t, "handed", "It runs in the background; I will tell you."));
    steps
}

fn artifact(t: &str) -> Vec<Step> {
    let artifact_id = format!("{t}-pattern");
    let created = ArtifactCreated {
        artifact_id: artifact_id.clone(),
        title: "Pattern".to_owned(),
        media_type: "text/markdown".to_owned(),
        content: Some("# Pattern\n\nover, under\n".to_owned()),
        ..ArtifactCreated::default()
    };
    let content = Some("# Pattern\n\nover, under, over\n".to_owned());
    let updated = ArtifactUpdated {
        artifact_id: artifact_id.clone(),
        title: None,
        content,
        blob: None,
        ..ArtifactUpdated::default()
    };
    vec![
        say(&Event::from(created)),
        Step::Sleep { ms: 40 },
        say(&Event::from(updated)),
        say(&Event::from(ArtifactVersion {
            artifact_id,
            version: 2,
            label: Some("tighter".to_owned()),
            ..ArtifactVersion::default()
        })),
    ]
}

fn retract(t: &str) -> Vec<Step> {
    let block = BlockId::trusted(format!("{t}-retracted"));
    vec![
        Step::Send(AgentMessage::Text { block: block.clone(), text: "This is what I was going to".to_owned() }),
        Step::Sleep { ms: 60 },
        Step::Send(AgentMessage::TextEnd { block, text: "I said it differently in the end.".to_owned() }),
    ]
}

fn error(t: &str) -> Vec<Step> {
    let failure = Failure {
        message: "The model refused the request (401).".to_owned(),
        code: "authentication_failed".to_owned(),
        retryable: false,
        fix: Some("This is only the mock; a real agent would say how to sign in.".to_owned()),
    };
    let said = words_in(t, "error", "This will not end well.");
    [said, vec![say(&Event::from(failure)), not_json(), turn_end(Outcome::Failed, None)]].concat_steps()
}

fn end(t: &str) -> Vec<Step> {
    let mut steps = words_in(t, "end", "Goodbye.");
    steps.push(turn_end(Outcome::Completed, None));
    steps.push(Step::Send(AgentMessage::SessionEnd { reason: EndReason::Completed }));
    steps
}

fn big(t: &str, bytes: usize) -> Vec<Step> {
    let id = format!("{t}-big");
    let line = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n";
    let output: String = line.chars().cycle().take(bytes).collect();
    vec![
        start(&id, "Bash", json!({ "command": "cat big.log" }), |start| start.command = Some("cat big.log".to_owned())),
        result(&id, &output, |result| result.exit_code = Some(0)),
    ]
}
