//! What events look like. One test per behaviour; what is printed stands in `snapshots`.

mod script;

use serde_json::json;
use turnloom_core::blob::BlobRef;
use turnloom_core::event::*;
use turnloom_core::id::{AskId, BackgroundId, BlockId, MessageId, SubagentId, ToolUseId};
use turnloom_core::time::Timestamp;

use self::script::{Script, command, delta, message, permission, result, thinking, transcript};
use super::*;

const SCREEN: Look = Look { color: Color::Off, medium: Medium::Screen, width: 60 };
const COLORED: Look = Look { color: Color::On, ..SCREEN };

#[test]
fn a_turn_on_a_screen() {
    insta::assert_snapshot!(transcript().show(SCREEN));
}

#[test]
fn a_turn_in_colour() {
    insta::assert_snapshot!(transcript().show(COLORED));
}

#[test]
fn a_turn_in_a_pipe() {
    insta::assert_snapshot!(transcript().show(Look::PLAIN));
}

#[test]
fn the_answer_alone_goes_to_its_channel() {
    let answer = "I will look at the **loom** first, and then run `make` to see that it works.\n\nIt is quick now.\n";
    assert_eq!(transcript().channel(Channel::Answer), answer);
    assert!(!transcript().channel(Channel::Activity).contains("quick now"));
}

#[test]
fn what_steers_a_terminal_never_gets_out() {
    let evil = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}2J\u{8}";
    let evil_permission =
        PermissionRequest { title: Some(evil.to_owned()), tool_name: evil.to_owned(), ..permission() };
    let failure = Failure { message: evil.to_owned(), fix: Some(evil.to_owned()), ..Failure::default() };
    let plan =
        PlanUpdated { steps: vec![PlanStep { text: evil.to_owned(), ..PlanStep::default() }], explanation: None };
    let artifact =
        ArtifactCreated { title: evil.to_owned(), media_type: evil.to_owned(), ..ArtifactCreated::default() };
    let subagent = SubagentStarted { name: evil.to_owned(), ..SubagentStarted::default() };
    let script = Script::turn()
        .then(message(evil))
        .then(thinking(evil, true))
        .then(delta("a", "cut \u{1b}"))
        .then(delta("a", "[31m here"))
        .then(command("t", evil))
        .then(ToolResult { is_error: true, diff: Some(format!("+{evil}")), ..result("t", evil) })
        .then(evil_permission)
        .then(plan)
        .then(artifact)
        .then(subagent)
        .then(StateSnapshot { state: json!({ "k": evil }) })
        .then(failure)
        .then(Done { reason: Some(evil.to_owned()), ..Done::default() });
    let shown = script.show(SCREEN);
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
    assert!(!shown.contains('<'), "{shown:?}");
    assert!(shown.contains("cut  here"));
}

#[test]
fn questions_and_values_stand_in_a_frame() {
    let option =
        |label: &str, what: &str| QuestionOption { label: label.to_owned(), description: Some(what.to_owned()) };
    let question = |prompt: &str, multiple, free_text| Question {
        prompt: prompt.to_owned(),
        header: None,
        options: vec![option("Wool", "warm"), option("Silk", "fine and strong")],
        multiple,
        free_text,
    };
    let questions = vec![question("Which thread?", false, true), question("Which others?", true, false)];
    let ask_id = AskId::trusted("q");
    let answered = QuestionResolved {
        ask_id: ask_id.clone(),
        answers: Some(vec![vec!["Wool".to_owned()], vec!["Wool".to_owned(), "Silk".to_owned()]]),
        by: "web".to_owned(),
        ..QuestionResolved::default()
    };
    let interrupt = Interrupt {
        interrupt_id: AskId::trusted("i"),
        component_name: "DatePicker".to_owned(),
        props: json!({ "label": "When?", "min": "2026-01-01" }),
        surface: Surface::Chat,
        ..Interrupt::default()
    };
    let given =
        InterruptResolved { interrupt_id: AskId::trusted("i"), by: "cli".to_owned(), ..InterruptResolved::default() };
    let script = Script::turn()
        .then(QuestionRequest { ask_id: ask_id.clone(), questions, ..QuestionRequest::default() })
        .then(answered)
        .then(interrupt)
        .then(InterruptResolved { value: Some(json!("2026-02-02")), ..given })
        .then(permission())
        .then(PermissionResolved {
            by: "policy".to_owned(),
            reason: Some("never".to_owned()),
            ..PermissionResolved::default()
        })
        .then(QuestionResolved { ask_id, rejected: Some(true), by: "web".to_owned(), ..QuestionResolved::default() });
    insta::assert_snapshot!(script.show(SCREEN));
}

#[test]
fn sub_agents_are_set_in() {
    let started = |id: &str, parent: Option<&str>| SubagentStarted {
        subagent_id: SubagentId::trusted(id),
        name: format!("Helper {id}"),
        parent_subagent_id: parent.map(SubagentId::trusted),
        parent_tool_use_id: Some(ToolUseId::trusted("spawn")),
        ..SubagentStarted::default()
    };
    let ended = |id: &str, status| SubagentEnded {
        subagent_id: SubagentId::trusted(id),
        status,
        tool_calls: 2,
        file_changes: 1,
    };
    let spawn = ToolStart { subagent_spawn: Some(true), command: None, ..command("spawn", "") };
    let search = ToolStart {
        pattern: Some("knot".to_owned()),
        search_path: Some("src".to_owned()),
        command: None,
        ..command("g", "")
    };
    let script = Script::turn()
        .then(delta("a", "I ask others."))
        .then(spawn)
        .then(started("1", None))
        .by("1", search)
        .by("1", result("g", "a\nb\n"))
        .by("1", delta("x", "Two knots, both harmless, and a line that is long enough to be broken."))
        .then(started("2", Some("1")))
        .by("2", command("c", "ls"))
        .by("2", result("c", "file"))
        .then(ended("2", WorkStatus::Failed))
        .then(ended("1", WorkStatus::Completed))
        .then(result("spawn", "all"))
        .then(delta("b", "They are back."))
        .done();
    insta::assert_snapshot!(script.show(SCREEN));
}

#[test]
fn changes_are_shown_and_long_ones_cut() {
    let long = (0..60).map(|line| format!("+line {line}")).collect::<Vec<_>>().join("\n");
    let file = |path: &str, kind, diff: &str| FileDiff { path: path.to_owned(), kind, diff: diff.to_owned() };
    let files = vec![
        file("weave.txt", FileChange::Modified, "--- a\n+++ b\n@@ -1 +1 @@\n-under\n+over\n"),
        file("long.txt", FileChange::Added, &long),
    ];
    insta::assert_snapshot!(Script::turn().then(DiffUpdated { files }).show(SCREEN));
}

#[test]
fn every_ending_says_how_long_and_why() {
    let failure = Failure {
        message: "The model refused (401)".to_owned(),
        code: "auth".to_owned(),
        retryable: false,
        fix: Some("Sign in again".to_owned()),
    };
    let done = |outcome, reason: &str| Done { outcome, reason: Some(reason.to_owned()), ..Done::default() };
    let script = Script::turn()
        .then(failure)
        .then(done(Outcome::Failed, "The model refused (401)"))
        .then(TurnStarted::default())
        .then(done(Outcome::Stopped, "stopped by cli"))
        .then(TurnStarted::default())
        .then(done(Outcome::Interrupted, "the daemon ended"));
    insta::assert_snapshot!(script.show(SCREEN));
}

#[test]
fn small_things_take_a_line_each() {
    let blob = BlobRef { size: 2_500_000, ..BlobRef::default() };
    let retrying = Status { state: Activity::Retrying, label: None, attempt: Some(1), detail: None };
    let background = BackgroundId::trusted("bg");
    let script = Script::turn()
        .then(command("watch", "make watch"))
        .then(BackgroundStarted {
            background_id: background.clone(),
            tool_use_id: Some(ToolUseId::trusted("watch")),
            label: "make watch".to_owned(),
            ..BackgroundStarted::default()
        })
        .then(BackgroundEnded { background_id: background, exit_code: Some(0), ..BackgroundEnded::default() })
        .then(ComponentUpdate {
            component_id: "c".to_owned(),
            name: "BarChart".to_owned(),
            props: json!({ "values": [1, 2] }),
            ..ComponentUpdate::default()
        })
        .then(ComponentRemove { component_id: "c".to_owned(), ..ComponentRemove::default() })
        .then(StateDelta {
            patch: json!([{ "op": "add", "path": "/rows", "value": 1 }]),
            by: "agent".to_owned(),
            ..StateDelta::default()
        })
        .then(ArtifactCreated {
            artifact_id: "a".to_owned(),
            title: "Pattern".to_owned(),
            media_type: "text/plain".to_owned(),
            blob: Some(blob),
            ..ArtifactCreated::default()
        })
        .then(ArtifactVersion { artifact_id: "a".to_owned(), version: 2, label: None, ..ArtifactVersion::default() })
        .then(retrying)
        .then(CompactionEnd { tokens_before: Some(91_000), tokens_after: Some(8_200), ..CompactionEnd::default() })
        .then(AgentUnparsed { error: "expected value".to_owned(), ..AgentUnparsed::default() })
        .then(delta("r", "I was going to"))
        .then(Retracted { block_id: BlockId::trusted("r"), reason: None })
        .then(delta("s", "I said it anew."))
        .done();
    insta::assert_snapshot!(script.show(SCREEN));
}

#[test]
fn long_tool_lines_fit() {
    let script = Script::turn()
        .then(command("l", &"cargo test --workspace ".repeat(9)))
        .then(result("l", &"many tests passed and ".repeat(9)))
        .then(command("i", "sleep 1000"))
        .then(ToolResult { interrupted: Some(true), is_error: true, ..result("i", "") });
    let shown = script.show(SCREEN);
    assert!(shown.lines().all(|line| width(line) < SCREEN.width), "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn while_nothing_happens_it_says_what_is_waited_for() {
    let mut renderer = Renderer::new(SCREEN, SCREEN);
    let now = |seconds: i64| Timestamp::from_millis(1_800_000_000_000 + seconds * 1000);
    assert_eq!(renderer.waiting(now(0)), None);
    let script =
        Script::turn().then(thinking("", false)).then(command("a", "make")).then(command("b", "cargo test")).then(
            ToolProgress {
                tool_use_id: ToolUseId::trusted("b"),
                text: Some("one\ntest 2 of 3\n".to_owned()),
                fraction: None,
                ..ToolProgress::default()
            },
        );
    let waiting: Vec<Option<String>> = script
        .0
        .iter()
        .map(|envelope| {
            assert!(renderer.event(envelope).is_empty());
            renderer.waiting(now(12))
        })
        .collect();
    let texts = [
        "Working  12 s",
        "Thinking  12 s",
        "Run make  11 s",
        "Run cargo test  and 1 tool more  10 s",
        "Run cargo test  test 2 of 3  and 1 tool more  10 s",
    ];
    assert_eq!(waiting, texts.map(|text| Some(text.to_owned())));
}

#[test]
fn what_the_person_typed_is_not_repeated() {
    let mut renderer = Renderer::new(SCREEN, SCREEN);
    renderer.saw(MessageId::trusted("m"));
    assert!(Script::default().then(message("hi")).0.iter().all(|envelope| renderer.event(envelope).is_empty()));
}

#[test]
fn one_line_per_event() {
    let script = transcript()
        .then(Status::default())
        .by("helper", command("x", "ls"))
        .then(AgentUnparsed { raw: "line\nbreak\u{1b}[31m".to_owned(), ..AgentUnparsed::default() });
    let lines: Vec<String> =
        script.0.iter().map(|envelope| line(envelope, Look { width: 80, ..Look::PLAIN })).collect();
    assert!(lines.iter().all(|line| width(line) <= 80 && !line.contains(char::is_control)));
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_plan_is_a_document_and_other_inputs_stand_by_their_fields() {
    let ask = |tool: &str, input| PermissionRequest { tool_name: tool.to_owned(), tool_input: input, ..permission() };
    let plan = format!(
        "# Weave the border\n\n1. **Measure** the warp, {}\n\n| side | {} |\n",
        "and again ".repeat(8),
        "threads ".repeat(12)
    );
    let settings = json!({ "runtime": "mock", "cwd": "/home/user/loom", "mode": null, "settings": { "pace_ms": 1 } });
    let shown = Script::turn()
        .then(ask("ExitPlanMode", json!({ "plan": plan })))
        .then(ask("Run an imported session", settings))
        .show(SCREEN);
    let whole = shown.replace("\n  │ ", "");
    assert_eq!((whole.matches("again").count(), whole.matches("threads").count()), (8, 12), "{shown}");
    insta::assert_snapshot!(shown);
}
