//! Commands that are open when their turn ends: those that go on, those that were dropped, and those that somebody ends.

use serde_json::{Value, json};

use super::late::{begin, command, completed, ends, started, unparsed};
use super::orders::Bench;
use crate::command::{AfterAnswer, Answer};
use crate::event::{BackgroundEnded, Event, PermissionReply, WorkStatus};
use crate::runtime::{Beginning, Order, Report};

/// What became of commands: those that ended, and those that are said to run in the background, or not to any more.
fn fates(bench: &Bench) -> Vec<(&'static str, String)> {
    let fate = |report: &Report| match report {
        Report::Fact { event: Event::ToolResult(result), .. } => Some(("ended", result.output.clone())),
        Report::Fact { event: Event::BackgroundStarted(started), .. } => Some(("background", started.label.clone())),
        Report::Fact { event: Event::BackgroundEnded(ended), .. } => {
            Some(("background ended", ended.output.clone().unwrap_or_default()))
        }
        _ => None,
    };
    bench.reports.iter().filter_map(fate).collect()
}

const DROPPED: &str = "Codex dropped this call and did not run it";
const UNKNOWN: &str = "Codex has not told how this command ended";

/// Somebody is asked about a command.
fn ask(bench: &mut Bench, id: u64, item: &str) {
    let ask = json!({ "threadId": "t", "turnId": "u1", "itemId": item, "command": "sleep 9" });
    bench.hear(&json!({ "method": "item/commandExecution/requestApproval", "id": id, "params": ask }));
}

fn answer(bench: &mut Bench, id: u64, reply: PermissionReply) {
    let and_then = AfterAnswer::GoOn;
    let answer = Answer::Permission { reply, updated_input: None, message: None, rule: None, and_then };
    bench.order(&Order::Answer { key: id.to_string(), answer, about: None });
}

#[test]
fn a_command_that_was_dropped_is_not_in_the_background() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    started(&mut bench, "u1", &command("c", "inProgress"));
    bench.complete("u1", "completed");
    bench.complete("u1", "completed");
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [] }));
    assert_eq!(fates(&bench), [("ended", UNKNOWN.to_owned())]);
    assert_eq!(ends(&bench), 1);
    // It is not believed to have run after all.
    completed(&mut bench, "u1", &command("c", "completed"));
    assert_eq!((fates(&bench).len(), unparsed(&bench)), (1, 1));
}

#[test]
fn a_command_that_ends_while_its_turn_does_has_its_own_result() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    started(&mut bench, "u1", &command("c", "inProgress"));
    bench.complete("u1", "completed");
    completed(&mut bench, "u1", &command("c", "completed"));
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [] }));
    assert_eq!(fates(&bench), [("ended", "out".to_owned())]);
    assert_eq!((ends(&bench), unparsed(&bench)), (1, 0));
}

#[test]
fn a_turn_does_not_wait_for_the_list_when_the_next_one_begins() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    started(&mut bench, "u1", &command("c", "inProgress"));
    bench.complete("u1", "completed");
    bench.tell("turn/started", &json!({ "threadId": "t", "turn": { "id": "u2" } }));
    assert_eq!((ends(&bench), fates(&bench).len()), (1, 1), "it may run, as far as is known");
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [] }));
    assert_eq!(fates(&bench)[1], ("background ended", UNKNOWN.to_owned()));
    bench.complete("u2", "completed");
    assert_eq!(ends(&bench), 2);
}

#[test]
fn a_turn_that_waits_to_end_does_not_end_the_next_one() {
    // It ran before the session came, and the session has a message for it.
    let beginning = Beginning::Resume { provider_session_id: "t".into(), wanted: false };
    let mut bench = Bench::open(beginning, json!({}));
    bench.reply("thread/resume", &json!({ "thread": { "id": "t", "status": { "type": "active" } }, "cwd": "/w" }));
    started(&mut bench, "u1", &command("c", "inProgress"));
    bench.tell("item/agentMessage/delta", &json!({ "threadId": "t", "turnId": "u1", "itemId": "m", "delta": "half" }));
    bench.complete("u1", "completed");
    bench.prompt("one", "hello");
    assert!(
        bench.has(|report| matches!(report, Report::Fact { event: Event::Retracted(_), .. })),
        "it was never finished"
    );
    bench.reply("turn/start", &json!({ "turn": { "id": "u2" } }));
    bench.tell("turn/started", &json!({ "threadId": "t", "turn": { "id": "u2" } }));
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [] }));
    assert_eq!(ends(&bench), 0);
    assert_eq!(fates(&bench), [("background", "sleep 9".to_owned()), ("background ended", UNKNOWN.to_owned())]);
    bench.complete("u2", "completed");
    assert_eq!(ends(&bench), 1);
}

#[test]
fn a_list_that_cannot_be_had_leaves_a_command_in_the_background() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    started(&mut bench, "u1", &command("c", "inProgress"));
    bench.complete("u1", "completed");
    bench.refuse("thread/backgroundTerminals/list", "not now");
    assert_eq!(fates(&bench), [("background", "sleep 9".to_owned())]);
    // Somebody stops a turn whose end is not known.
    begin(&mut bench, "two", "u2");
    started(&mut bench, "u2", &command("d", "inProgress"));
    bench.complete("u2", "completed");
    bench.order(&Order::Interrupt { turn_id: None });
    bench.refuse("turn/interrupt", "no active turn to interrupt");
    assert_eq!(ends(&bench), 2);
}

#[test]
fn the_next_list_settles_what_one_that_failed_has_left_open() {
    let mut bench = Bench::ready(json!({}));
    let turn = |bench: &mut Bench, turn: &str, item: &str| {
        begin(bench, turn, turn);
        started(bench, turn, &command(item, "inProgress"));
        bench.complete(turn, "completed");
    };
    turn(&mut bench, "u1", "c");
    bench.refuse("thread/backgroundTerminals/list", "not now");
    turn(&mut bench, "u2", "d");
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [{ "itemId": "d", "processId": "7" }] }));
    let fates = fates(&bench);
    assert_eq!(
        fates.iter().map(|(what, _)| *what).collect::<Vec<_>>(),
        ["background", "background ended", "background"]
    );
    // One that is known to run tells its own end.
    turn(&mut bench, "u3", "e");
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [{ "itemId": "e", "processId": "8" }] }));
    completed(&mut bench, "u2", &command("d", "completed"));
    let status = |report: &Report| match report {
        Report::Fact { event: Event::BackgroundEnded(ended), .. } => Some(ended.status),
        _ => None,
    };
    let ended: Vec<_> = bench.reports.iter().filter_map(status).collect();
    assert_eq!(ended, [WorkStatus::Interrupted, WorkStatus::Completed]);
}

#[test]
fn the_commands_of_a_sub_agent_are_asked_for_too() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    bench.tell("turn/started", &json!({ "threadId": "child", "turn": { "id": "v1" } }));
    bench.reply("thread/read", &json!({ "thread": { "id": "child", "parentThreadId": "t" } }));
    bench.tell("item/started", &json!({ "threadId": "child", "turnId": "v1", "item": command("c", "inProgress") }));
    bench.tell("turn/completed", &json!({ "threadId": "child", "turn": { "id": "v1", "status": "completed" } }));
    assert_eq!(bench.last("thread/backgroundTerminals/list")["params"]["threadId"], "child");
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [] }));
    assert_eq!(fates(&bench), [("ended", UNKNOWN.to_owned())]);
    assert!(bench.has(|report| matches!(report, Report::Fact { event: Event::SubagentEnded(_), .. })));
}

#[test]
fn a_command_that_was_allowed_may_outlive_its_turn() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    // It has no process before it is allowed.
    started(&mut bench, "u1", &command("c", "inProgress"));
    ask(&mut bench, 0, "c");
    answer(&mut bench, 0, PermissionReply::Once);
    bench.complete("u1", "completed");
    assert_eq!(ends(&bench), 0, "whether it runs is not known yet");
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [{ "itemId": "c", "processId": "7" }] }));
    assert!(bench.has(|report| matches!(report, Report::Fact { event: Event::BackgroundStarted(_), .. })));
    assert_eq!(ends(&bench), 1);
    completed(&mut bench, "u1", &command("c", "completed"));
    assert!(bench.has(|report| matches!(report, Report::Fact { event: Event::BackgroundEnded(_), .. })));
    assert_eq!(unparsed(&bench), 0);
}

#[test]
fn only_what_cannot_have_run_is_said_not_to_have_run() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    for (id, item) in ["early", "rejected", "late", "loud"].into_iter().enumerate() {
        started(&mut bench, "u1", &command(item, "inProgress"));
        ask(&mut bench, id as u64, item);
    }
    let (yes, no) = (PermissionReply::Once, PermissionReply::Reject);
    for (id, reply) in [(0, yes), (1, no), (2, yes), (3, yes)] {
        answer(&mut bench, id, reply);
    }
    completed(&mut bench, "u1", &command("rejected", "declined"));
    let print = json!({ "threadId": "t", "turnId": "u1", "itemId": "loud", "delta": "a line" });
    bench.tell("item/commandExecution/outputDelta", &print);
    let before = fates(&bench).len();
    bench.complete("u1", "completed");
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [] }));
    let ended = |output: &str| ("ended", output.to_owned());
    assert_eq!(fates(&bench)[before..], [ended(UNKNOWN), ended(DROPPED), ended(UNKNOWN)], "early, late, loud");
}

#[test]
fn a_list_is_read_to_its_end() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    started(&mut bench, "u1", &command("c", "inProgress"));
    bench.complete("u1", "completed");
    let other = json!([{ "itemId": "other", "processId": "6" }]);
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": other, "nextCursor": "more" }));
    assert_eq!(bench.last("thread/backgroundTerminals/list")["params"], json!({ "threadId": "t", "cursor": "more" }));
    assert_eq!(ends(&bench), 0, "it may be on the next page");
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [{ "itemId": "c", "processId": "7" }] }));
    assert_eq!(fates(&bench), [("background", "sleep 9".to_owned())]);
    // One that never ends, or is broken off, says nothing of what is not on it.
    for (turn, name, refused) in [("two", "u2", false), ("three", "u3", true)] {
        begin(&mut bench, turn, name);
        started(&mut bench, name, &command("d", "inProgress"));
        bench.complete(name, "completed");
        bench.reply("thread/backgroundTerminals/list", &json!({ "data": other, "nextCursor": "more" }));
        if refused {
            bench.refuse("thread/backgroundTerminals/list", "not now");
        } else {
            bench.reply("thread/backgroundTerminals/list", &json!({ "data": [], "nextCursor": "more" }));
        }
    }
    assert_eq!((ends(&bench), fates(&bench).len()), (3, 3));
    // All of it counts for an interrupted turn as well.
    begin(&mut bench, "four", "u4");
    bench.complete("u4", "interrupted");
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": other, "nextCursor": "more" }));
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [{ "itemId": "e", "processId": "9" }] }));
    let ended = |line: &&Value| line["method"] == "thread/backgroundTerminals/terminate";
    let ended: Vec<_> = bench.wrote.iter().filter(ended).map(|line| line["params"]["processId"].clone()).collect();
    assert_eq!(ended, ["6", "9"]);
}

/// A command that a turn has left running.
fn left_running(id: &str) -> Bench {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    started(&mut bench, "u1", &command(id, "inProgress"));
    bench.complete("u1", "completed");
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [{ "itemId": id, "processId": "7" }] }));
    bench
}

fn background_end(bench: &Bench) -> Option<&BackgroundEnded> {
    bench.reports.iter().find_map(|report| match report {
        Report::Fact { event: Event::BackgroundEnded(ended), .. } => Some(ended),
        _ => None,
    })
}

fn warned(bench: &Bench) -> bool {
    bench.has(
        |report| matches!(report, Report::Fact { event: Event::EvidenceChanged(said), .. } if said.kind == "warning"),
    )
}

#[test]
fn one_command_in_the_background_is_ended() {
    let stop = Order::StopBackground { id: "u1:c".into() };
    let runs = json!({ "data": [{ "itemId": "d", "processId": "6" }, { "itemId": "c", "processId": "7" }] });
    let mut bench = left_running("c");
    bench.order(&stop);
    bench.reply("thread/backgroundTerminals/list", &runs);
    let end = bench.last("thread/backgroundTerminals/terminate")["params"].clone();
    assert_eq!(end, json!({ "threadId": "t", "processId": "7" }), "this one and no other");
    bench.reply("thread/backgroundTerminals/terminate", &json!({ "terminated": true }));
    assert!(background_end(&bench).is_none(), "Codex tells its end");
    let mut item = command("c", "failed");
    item["exitCode"] = json!(-1);
    completed(&mut bench, "u1", &item);
    let ended = background_end(&bench).unwrap();
    assert_eq!((ended.status, ended.exit_code), (WorkStatus::Interrupted, None));
    assert_eq!((ended.output.as_deref(), ended.reason.as_deref()), (Some("out"), Some("it was stopped")));
    bench.order(&stop);
    assert_eq!((unparsed(&bench), warned(&bench)), (0, false), "there is nothing left to end");

    // It does not run any more, and nobody has told its end.
    let mut bench = left_running("c");
    bench.order(&stop);
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [] }));
    assert_eq!(background_end(&bench).unwrap().status, WorkStatus::Interrupted);
    assert_eq!(fates(&bench)[1], ("background ended", UNKNOWN.to_owned()));

    // It ends by itself before it can be ended.
    let mut bench = left_running("c");
    bench.order(&stop);
    completed(&mut bench, "u1", &command("c", "completed"));
    bench.reply("thread/backgroundTerminals/list", &runs);
    assert_eq!(background_end(&bench).unwrap().status, WorkStatus::Completed);
    assert!(!bench.wrote.iter().any(|line| line["method"] == "thread/backgroundTerminals/terminate"));
}

#[test]
fn a_command_that_cannot_be_ended_goes_on() {
    let stop = Order::StopBackground { id: "u1:c".into() };
    let twice = json!({ "data": [{ "itemId": "c", "processId": "6" }, { "itemId": "c", "processId": "7" }] });
    let refusals: [fn(&mut Bench, &Value); 3] = [
        |bench, _| bench.refuse("thread/backgroundTerminals/list", "not now"),
        |bench, twice| bench.reply("thread/backgroundTerminals/list", twice),
        |bench, _| {
            bench.reply("thread/backgroundTerminals/list", &json!({ "data": [{ "itemId": "c", "processId": "7" }] }));
            bench.refuse("thread/backgroundTerminals/terminate", "not now");
        },
    ];
    for refuse in refusals {
        let mut bench = left_running("c");
        bench.order(&stop);
        refuse(&mut bench, &twice);
        assert!(warned(&bench) && background_end(&bench).is_none());
        completed(&mut bench, "u1", &command("c", "completed"));
        assert_eq!(background_end(&bench).unwrap().status, WorkStatus::Completed, "as if nobody had asked");
    }
}

#[test]
fn one_sub_agent_is_ended_with_those_that_work_for_it() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    for (thread, parent) in [("child", "t"), ("grandchild", "child"), ("other", "t")] {
        bench.tell("turn/started", &json!({ "threadId": thread, "turn": { "id": format!("turn of {thread}") } }));
        bench.reply("thread/read", &json!({ "thread": { "id": thread, "parentThreadId": parent } }));
    }
    bench.order(&Order::StopBackground { id: "child".into() });
    let stopped = |line: &&Value| line["method"] == "turn/interrupt";
    let stopped: Vec<_> = bench.wrote.iter().filter(stopped).map(|line| line["params"]["threadId"].clone()).collect();
    assert_eq!(stopped, ["child", "grandchild"]);
    for thread in ["child", "grandchild"] {
        let turn = json!({ "id": format!("turn of {thread}"), "status": "interrupted" });
        bench.tell("turn/completed", &json!({ "threadId": thread, "turn": turn }));
    }
    let ended = |report: &&Report| matches!(report, Report::Fact { event: Event::SubagentEnded(ended), .. } if ended.status == WorkStatus::Interrupted);
    assert_eq!(bench.reports.iter().filter(ended).count(), 2);
    // Nor does anybody else end with what a sub-agent has left running.
    bench.tell(
        "item/started",
        &json!({ "threadId": "other", "turnId": "turn of other", "item": command("c", "inProgress") }),
    );
    let turn = json!({ "id": "turn of other", "status": "completed" });
    bench.tell("turn/completed", &json!({ "threadId": "other", "turn": turn }));
    bench.reply("thread/backgroundTerminals/list", &json!({ "data": [{ "itemId": "c", "processId": "7" }] }));
    bench.order(&Order::StopBackground { id: "turn of other:c".into() });
    assert_eq!(bench.last("thread/backgroundTerminals/list")["params"]["threadId"], "other");
}
