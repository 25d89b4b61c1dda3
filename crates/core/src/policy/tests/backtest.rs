//! Recorded calls, judged again.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{DIRECTORY, world};
use crate::event::{Envelope, Event, Record};
use crate::id::{Seq, SessionId, SubagentId};
use crate::policy::{BackTest, Policy, RulesFile, Setting, Suggester, Suggestion, WouldBe};
use crate::time::Timestamp;

fn record(seq: u64, kind: &str, data: &Value) -> Record {
    Envelope {
        seq: Seq(seq),
        ts: Timestamp::from_millis(i64::try_from(seq).unwrap() * 1000),
        session_id: SessionId::trusted("s"),
        turn_id: None,
        subagent_id: data["by_subagent"].as_str().map(SubagentId::trusted),
        event: Event::from_value(kind, data),
    }
    .encode()
}

fn call(seq: u64, command: &str) -> Record {
    let id = format!("t{seq}");
    record(seq, "tool_start", &json!({ "tool_use_id": id, "tool": "Bash", "input": { "command": command } }))
}

fn mode(seq: u64, mode: &str) -> Record {
    record(seq, "mode_changed", &json!({ "mode": mode }))
}

fn setting() -> Setting {
    Setting::new(&SessionId::trusted("s"), "mock", DIRECTORY)
}

fn test(proposed: &str, since: Option<Timestamp>, records: &[Record]) -> crate::policy::Report {
    let old = Arc::new(Policy::shipped());
    let new = Arc::new(Policy::shipped().with_user("proposed.toml", proposed).unwrap());
    let mut test = BackTest::new(world(), since);
    test.begin(setting(), old, new);
    for record in records {
        test.take(record);
    }
    test.finish()
}

const NO_PUSH: &str = "[[rule]]\nid = 'no-push'\neffect = 'deny'\ncommand = 'git push *'\n";

#[test]
fn what_would_change_is_counted_and_named() {
    let log = [
        mode(1, "implement"),
        call(2, "git push"),
        call(3, "git push --force"),
        call(4, "ls"),
        mode(5, "plan"),
        call(6, "git push"),
        mode(7, "bypass"),
        call(8, "git push"),
        call(9, "git push"),
        // A mode of the agent's own.
        mode(10, "acceptEdits"),
        call(11, "git push"),
        call(12, "ls"),
    ];
    let report = test(NO_PUSH, None, &log);
    assert_eq!((report.calls, report.not_judged), (8, 0));
    let counts: Vec<_> = report.counts.iter().map(|count| (count.old, count.new, count.calls)).collect();
    assert_eq!(
        counts,
        [(WouldBe::Allow, WouldBe::Deny, 3), (WouldBe::Ask, WouldBe::Deny, 1), (WouldBe::Agent, WouldBe::Deny, 1),]
    );
    let changed: Vec<_> = report.changed.iter().map(|call| (call.seq.0, call.new_rule.as_str())).collect();
    assert_eq!(changed, [2, 3, 8, 9, 11].map(|seq| (seq, "user/no-push")));
    let first = &report.changed[0];
    assert_eq!((first.what.as_str(), first.mode.as_deref()), ("git push", Some("implement")));
}

#[test]
fn only_calls_that_the_agent_made_since_then_count() {
    let log = [
        mode(1, "bypass"),
        call(2, "git push"),
        record(
            3,
            "tool_start",
            &json!({ "tool_use_id": "c", "tool": "Bash", "client_tool": true, "input": { "command": "git push" } }),
        ),
        call(4, "git push"),
    ];
    let report = test(NO_PUSH, Some(Timestamp::from_millis(3000)), &log);
    assert_eq!((report.calls, report.changed.len()), (1, 1));
    assert_eq!(report.changed[0].seq, Seq(4));
}

#[test]
fn equal_calls_of_sub_agents_and_other_sessions_are_not_confused() {
    let sub_agents = "[[rule]]\nid = 'main-only'\neffect = 'deny'\ntool = 'Bash'\ncaller = 'sub-agent'\n";
    let input = json!({ "tool_use_id": "x", "tool": "Bash", "input": { "command": "ls" }, "by_subagent": "a" });
    let log = [mode(1, "bypass"), call(2, "ls"), record(3, "tool_start", &input)];
    let report = test(sub_agents, None, &log);
    assert_eq!(report.changed.iter().map(|call| call.seq.0).collect::<Vec<_>>(), [3]);

    let one_session = "[[rule]]\nid = 'not-here'\neffect = 'deny'\ncommand = 'ls *'\nsession = 'other'\n";
    let (old, new) = (Policy::shipped(), Policy::shipped().with_user("proposed.toml", one_session).unwrap());
    let (old, new) = (Arc::new(old), Arc::new(new));
    let mut test = BackTest::new(world(), None);
    for session in ["s", "other"] {
        let setting = Setting::new(&SessionId::trusted(session), "mock", DIRECTORY);
        test.begin(setting, Arc::clone(&old), Arc::clone(&new));
        test.take(&mode(1, "bypass"));
        test.take(&call(2, "ls"));
    }
    assert_eq!(test.finish().counts.iter().map(|count| count.calls).sum::<u64>(), 1);
}

fn asked(seq: u64, command: &str, allowed: Option<bool>) -> Vec<Record> {
    let ask = format!("ask-{seq}");
    let request = json!({ "ask_id": ask, "tool_name": "Bash", "tool_input": { "command": command }, "options": [] });
    let mut records = vec![record(seq, "permission_request", &request)];
    records.extend(allowed.map(|allowed| {
        let reply = if allowed { "once" } else { "reject" };
        let answer = json!({ "ask_id": ask, "tool_name": "Bash", "allowed": allowed, "reply": reply, "by": "ann" });
        record(seq + 1, "permission_resolved", &answer)
    }));
    records
}

fn suggest(records: &[Record]) -> Vec<Suggestion> {
    let mut suggester = Suggester::new(world(), None);
    suggester.begin(setting(), Arc::new(Policy::shipped()));
    suggester.take(&mode(1, "implement"));
    for record in records {
        suggester.take(record);
    }
    suggester.finish(3)
}

#[test]
fn what_people_keep_answering_becomes_a_rule() {
    let pushes = [
        asked(10, "git push --force origin a", Some(true)),
        asked(20, "git push --force origin b", Some(true)),
        asked(30, "git push --force origin b", Some(true)),
    ];
    let suggestions = suggest(&pushes.concat());
    let first = &suggestions[0];
    assert_eq!(first.calls.iter().map(|call| call.seq.0).collect::<Vec<_>>(), [10, 20, 30]);
    assert!(first.rule.contains("command = \"git push *\""), "{}", first.rule);
    // It can be read, and it answers.
    let text = format!("[[rule]]\n{}\n", first.rule);
    RulesFile::read("suggested.toml", &text).unwrap();
    let policy = Policy::shipped().with_user("suggested.toml", &text).unwrap();
    assert_eq!(super::effect(&policy, "implement", "git push --force origin c"), crate::policy::Effect::Allow);
}

#[test]
fn refusals_become_denials_and_mixed_answers_nothing() {
    let refused = [10, 20, 30].map(|seq| asked(seq, "npm publish", Some(false)));
    let suggestions = suggest(&refused.concat());
    assert!(suggestions[0].rule.starts_with("effect = \"deny\""), "{}", suggestions[0].rule);
    RulesFile::read("suggested.toml", &format!("[[rule]]\n{}\n", suggestions[0].rule)).unwrap();
    let mixed = [(10, Some(true)), (20, Some(true)), (30, Some(true)), (40, Some(false)), (50, None)];
    let mixed = mixed.map(|(seq, allowed)| asked(seq, "npm publish", allowed));
    assert_eq!(suggest(&mixed.concat()), []);
    assert_eq!(suggest(&asked(10, "npm publish", Some(true))), []);
}
