use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::logs;
use crate::dialect::agent_ui::AgentUi;
use crate::dialect::{Frame, Frames, Projection as _};
use crate::event::{ArtifactRemoved, Envelope, PermissionReply};
use crate::id::{MessageId, Seq};

fn document() -> Value {
    serde_json::from_str(include_str!("../../../../../tests/clients/golden/agent-ui-event.schema.json")).unwrap()
}

fn schema() -> jsonschema::Validator {
    jsonschema::validator_for(&document()).unwrap()
}

/// The classes of the standard.
fn classes() -> BTreeSet<String> {
    let document = document();
    let classes = document.pointer("/properties/type/enum").unwrap().as_array().unwrap();
    classes.iter().map(|class| class.as_str().unwrap().to_owned()).collect()
}

/// The classes that the guide lists as never sent, or only in reads.
fn not_streamed() -> BTreeSet<String> {
    let guide = include_str!("../../../../../docs/dialects.md");
    let line = guide.lines().find(|line| line.contains("Never sent")).unwrap();
    line.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// What a client is sent that has everything up to a position, and comes when `head` facts are there.
fn sent(log: &[Envelope], after: Seq, head: usize) -> Frames {
    let mut dialect = AgentUi::new(after);
    let mut frames = Frames::default();
    for (at, envelope) in log.iter().enumerate() {
        if at == head {
            dialect.caught_up(&mut frames);
        }
        dialect.apply(envelope, &mut frames);
    }
    frames
}

fn client(log: &[Envelope]) -> Vec<Value> {
    let frames = sent(log, Seq::ZERO, 0);
    frames.iter().map(|frame| serde_json::from_slice(frame.body).unwrap()).collect()
}

/// What is final is what was streamed.
fn finals_reconcile(events: &[Value]) {
    // A name is that of one part at a time; it may be given again when that has ended.
    let mut open: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for event in events {
        let (kind, payload) = (event["type"].as_str().unwrap(), &event["payload"]);
        let Some(part) = event["partId"].as_str() else { continue };
        match kind {
            "text.delta" | "reasoning.delta" => {
                let streamed = open.entry((&kind[..4], part)).or_default();
                streamed.push_str(payload["delta"].as_str().unwrap());
            }
            "text.final" | "reasoning.summary" => {
                let streamed = open.remove(&(&kind[..4], part)).unwrap_or_default();
                assert!(payload["retracted"] == true || payload["text"] == streamed.as_str(), "{streamed:?}: {event}");
            }
            _ => {}
        }
    }
}

fn every_log() -> Vec<Vec<Envelope>> {
    let played = logs::SCRIPTS.iter().map(|script| logs::played(&[script], PermissionReply::Once));
    let simulated = (0..40).map(|seed| logs::simulated(seed, 60));
    let recorded = logs::recorded().into_iter().map(|(_, log)| log);
    played.chain(simulated).chain(recorded).chain([logs::sample(), with_removed_artifact()]).collect()
}

/// What no agent that was recorded has done.
fn with_removed_artifact() -> Vec<Envelope> {
    let mut log = logs::sample();
    let last = log.last().unwrap().clone();
    let event = ArtifactRemoved { artifact_id: "report".to_owned(), ..ArtifactRemoved::default() }.into();
    log.push(Envelope { seq: last.seq.next(), turn_id: None, subagent_id: None, event, ..last });
    log
}

#[test]
fn the_schema_judges_as_the_recordings_say() {
    let schema = schema();
    for line in include_str!("../../../../../tests/clients/golden/agent-ui-schema-0.6.1.jsonl").lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(schema.is_valid(&line["event"]), line["verdict"] == "valid", "{line}");
    }
}

#[test]
fn every_event_is_valid_and_has_what_its_class_needs() {
    let schema = schema();
    let mut seen = BTreeSet::new();
    for log in every_log() {
        let mut before = 0;
        let events = client(&log);
        finals_reconcile(&events);
        for event in events {
            let errors: Vec<String> = schema.iter_errors(&event).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{errors:?}: {event}");
            assert!(event.as_object().unwrap().values().all(|value| !value.is_null()), "{event}");
            let mut payload = event["payload"].as_object().into_iter().flat_map(|payload| payload.values());
            assert!(payload.all(|value| !value.is_null()), "{event}");
            let sequence = event["sequence"].as_u64().unwrap();
            assert!(sequence >= before, "order is kept");
            before = sequence;
            let kind = event["type"].as_str().unwrap();
            let needed: &[&str] = match kind.split('.').next().unwrap() {
                "run" | "plan" => &["sessionId", "runId", "turnId"],
                "text" | "reasoning" => &["messageId"],
                "tool" => &["toolCallId"],
                "action" => &["actionId"],
                "artifact" => &["artifactId", "artifactStatus"],
                "agent" => &["agentId"],
                "task" => &["taskId"],
                "metric" => &["metricName"],
                "evidence" => &["evidenceId"],
                _ => &["sessionId"],
            };
            assert!(needed.iter().all(|name| event[*name].is_string()), "{event}");
            seen.insert(kind.to_owned());
        }
    }
    // Each class is either sent, or the guide says that it is not.
    let listed = not_streamed();
    let both: Vec<&String> = seen.intersection(&listed).collect();
    assert!(both.is_empty(), "docs/dialects.md says that these are not sent: {both:?}");
    let told: BTreeSet<String> = seen.union(&listed).cloned().collect();
    assert_eq!(told, classes());
}

#[test]
fn what_a_person_says_is_told_with_the_run_that_answers_it() {
    for log in every_log() {
        let events = client(&log);
        let mut told: Vec<&str> = Vec::new();
        for event in &events {
            let payload = &event["payload"];
            match event["type"].as_str().unwrap() {
                "run.started" => {
                    let said = payload["userMessages"].as_array().unwrap();
                    told.extend(said.iter().map(|message| message["id"].as_str().unwrap()));
                }
                "queue.changed" if payload["steer"]["state"] == "delivered" => {
                    assert!(payload["steer"]["text"].is_string(), "{event}");
                    told.push(payload["steer"]["id"].as_str().unwrap());
                }
                _ => {}
            }
        }
        let said = logs::said(&log);
        assert_eq!(told, said.iter().map(MessageId::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn the_sample_has_the_events_of_the_recording() {
    let golden = include_str!("../../../../../tests/clients/golden/agent-ui-schema-0.6.1.jsonl");
    let golden: Vec<Value> = golden.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    let recorded = golden.iter().filter(|line| line["verdict"] == "valid" && line.get("note").is_none());
    let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
    recorded.for_each(|line| *wanted.entry(line["event"]["type"].as_str().unwrap().to_owned()).or_default() += 1);
    let ours = client(&logs::sample());
    for (kind, times) in wanted {
        let given = ours.iter().filter(|event| event["type"] == kind.as_str()).count();
        // Ours tells a helper's end twice, once for the roster and once for the reader; and progress is text.
        assert!(given >= times || kind == "tool.progress" || kind == "plan.delta", "{kind}: {given} of {times}");
    }
}

#[test]
fn whenever_a_client_comes_it_holds_the_same() {
    for log in every_log() {
        let all = sent(&log, Seq::ZERO, 0);
        let position = |frame: &Frame<'_>| serde_json::from_slice::<Value>(frame.body).unwrap()["sequence"].as_u64();
        let positions: Vec<u64> = all.iter().map(|frame| position(&frame).unwrap()).collect();
        for head in 0..=log.len() {
            let has = positions.partition_point(|position| *position <= head as u64);
            let rest = sent(&log, Seq(head as u64), head);
            assert!(rest.iter().eq(all.iter().skip(has)), "cut at {head} of {}", log.len());
        }
    }
}

#[test]
fn an_artifact_that_is_named_like_a_file_has_an_address() {
    let session = crate::id::SessionId::trusted("s");
    let address = crate::dialect::agent_ui::artifact_address(&session, "src/a b?.md");
    assert_eq!(address, "/agent-ui/sessions/s/artifacts/src%2Fa%20b%3F.md/content");
}
