use std::collections::BTreeSet;

use serde_json::json;

use super::bench::Bench;
use crate::command::{Command, Message, When};
use crate::event::{AfterStop, Event, Origin, Outcome, Part};
use crate::laws::Ending;

#[test]
fn every_command_keeps_the_laws() {
    for command in [
        "help",
        "demo",
        "markdown",
        "tool",
        "parallel",
        "parallel permission",
        "subagent permission",
        "status",
        "status 5",
        "image",
        "permission",
        "permissions",
        "question",
        "questions",
        "unknown",
        "unparsed",
        "plan",
        "diff",
        "subagent",
        "background",
        "component",
        "interrupt",
        "state",
        "artifact",
        "compaction",
        "retract",
        "error",
        "end",
        "echo hello",
        "anything else",
        "stream 30 20",
        "prose 30 20",
        "sleep 5",
        "big 50000",
        "crash",
        "garbage",
        "garbage utf8",
        "garbage 300",
        "",
    ] {
        let mut bench = Bench::new();
        bench.say(command);
        bench.play();
        bench.assert_lawful(Ending::AtRest);
        assert!(!bench.outcomes().is_empty(), "{command}");
    }
}

#[test]
fn two_asks_wait_at_once_and_the_turn_goes_on_when_both_are_answered() {
    for command in ["permissions", "questions"] {
        let mut bench = Bench::new();
        bench.say(command);
        bench.play();
        let kinds: Vec<&str> = bench.log.iter().map(|envelope| envelope.event.kind()).collect();
        let places =
            |end: &'static str| kinds.iter().enumerate().filter(move |(_, kind)| kind.ends_with(end)).map(|(at, _)| at);
        let (asked, settled): (Vec<usize>, Vec<usize>) = (places("_request").collect(), places("_resolved").collect());
        assert_eq!((asked.len(), settled.len()), (2, 2), "{command}: {kinds:?}");
        assert!(asked[1] < settled[0], "{command}: the second does not wait for the first: {kinds:?}");
    }
}

#[test]
fn the_demo_shows_almost_every_type() {
    let mut bench = Bench::new();
    for command in ["demo", "interrupt", "background", "retract", "error", "garbage", "end"] {
        bench.say(command);
        bench.play();
    }
    let shown: BTreeSet<&str> = bench.log.iter().map(|envelope| envelope.event.kind()).collect();
    let missing: Vec<&&str> = Event::KINDS.iter().filter(|kind| !shown.contains(**kind)).collect();
    // What is left is not an agent's to show: it is done to a session by its clients.
    assert_eq!(
        missing,
        [
            &"session_updated",
            &"mode_changed",
            &"model_changed",
            &"steer",
            // It needs a limit.
            &"budget",
            &"schedule_missed",
            // It needs rules.
            &"tool_decided",
            &"subagent_updated",
            // Delegating has to be allowed.
            &"delegated",
            &"delegation_started",
            &"delegation_updated",
            &"component_remove",
            &"component_callback",
            &"artifact_removed",
            &"evidence_changed",
            &"rollback",
            &"forked",
            &"queue_changed"
        ]
    );
}

#[test]
fn text_is_never_doubled() {
    let mut bench = Bench::new();
    bench.say("echo once and only once");
    bench.play();
    assert_eq!(bench.text(), "once and only once");
    bench.say("retract");
    bench.play();
    assert!(bench.text().ends_with("I said it differently in the end."));
    assert!(bench.log.iter().any(|envelope| matches!(envelope.event, Event::Retracted(_))));
}

#[test]
fn it_greets_whoever_has_not_said_anything() {
    let mut bench = Bench::with(&json!({ "greet": true }));
    bench.command(Command::Resume { provider_session_id: None });
    bench.play();
    assert!(bench.text().starts_with("Hello."));
    assert_eq!(bench.outcomes(), [Outcome::Completed]);
    bench.assert_lawful(Ending::AtRest);
}

#[test]
fn a_steer_is_heard_in_the_running_turn() {
    let mut bench = Bench::new();
    bench.say("hang");
    bench.play();
    let message =
        Message { id: None, content: vec![Part::Text { text: "go left".into() }], origin: Origin::User, source: None };
    bench.command(Command::Send { message, when: When::Steer });
    bench.play();
    assert_eq!(bench.text(), "Waiting.Understood: go left");
    assert_eq!(bench.outcomes(), [Outcome::Completed]);
    bench.assert_lawful(Ending::AtRest);
}

#[test]
fn a_stop_ends_a_turn_that_hangs() {
    let mut bench = Bench::new();
    bench.say("hang");
    bench.play();
    bench.command(Command::Stop { turn_id: None, then: AfterStop::Continue });
    bench.play();
    assert_eq!(bench.outcomes(), [Outcome::Stopped]);
    bench.assert_lawful(Ending::AtRest);
}

#[test]
fn a_crash_is_an_interrupted_turn_and_says_why() {
    let mut bench = Bench::new();
    bench.say("crash");
    bench.play();
    assert_eq!(bench.outcomes(), [Outcome::Interrupted]);
    assert!(
        bench
            .log
            .iter()
            .any(|envelope| matches!(&envelope.event, Event::Failure(failure) if failure.code == "agent_exited"))
    );
}

#[test]
fn what_cannot_be_read_is_kept() {
    let mut bench = Bench::new();
    bench.say("garbage");
    bench.play();
    let kept = bench.log.iter().find_map(|envelope| match &envelope.event {
        Event::AgentUnparsed(unparsed) => Some(unparsed.raw.clone()),
        _ => None,
    });
    assert_eq!(kept.as_deref(), Some("this is { not JSON"));
    assert_eq!(bench.outcomes(), [Outcome::Completed]);
}

#[test]
fn a_large_output_becomes_a_blob() {
    let mut bench = Bench::new();
    bench.say("big 100000");
    bench.play();
    let result = bench.log.iter().find_map(|envelope| match &envelope.event {
        Event::ToolResult(result) => Some(result.clone()),
        _ => None,
    });
    let result = result.unwrap();
    let blob = result.blob.unwrap();
    assert_eq!(blob.size, 100_000);
    assert!(result.output.starts_with("0123456789abcdef") && result.output.contains("bytes left out"));
    assert!(result.output.len() < 5_000);
}
