use proptest::prelude::*;
use serde_json::json;

use super::{Delta, Envelope, Event, Record, SubagentStarted, readdress, schema};
use crate::id::{BlockId, Seq, SessionId, SubagentId, TurnId};
use crate::time::Timestamp;

fn envelope(event: impl Into<Event>) -> Envelope {
    Envelope {
        seq: Seq(42),
        ts: Timestamp::from_millis(1_763_208_000_123),
        session_id: SessionId::trusted("s1"),
        turn_id: Some(TurnId::trusted("turn_1")),
        subagent_id: None,
        event: event.into(),
    }
}

fn delta(text: &str) -> Delta {
    Delta { block_id: BlockId::trusted("b1"), text: text.to_owned(), ..Delta::default() }
}

fn text(record: &Record) -> &str {
    std::str::from_utf8(&record.json).unwrap()
}

#[test]
fn the_envelope_is_what_the_contract_says() {
    assert_eq!(
        text(&envelope(delta("hi")).encode()),
        r#"{"seq":42,"ts":"2025-11-15T12:00:00.123Z","type":"delta","session_id":"s1","turn_id":"turn_1","data":{"block_id":"b1","text":"hi"}}"#
    );
}

#[test]
fn a_sub_agent_is_named_inside_data() {
    let mut said = envelope(delta("hi"));
    said.subagent_id = Some(SubagentId::trusted("sub"));
    let record = said.encode();
    assert!(text(&record).contains(r#""data":{"subagent_id":"sub","block_id":"b1""#));
    assert_eq!(record.decode().unwrap().subagent_id, said.subagent_id);
}

#[test]
fn a_started_sub_agent_is_not_taken_for_the_one_who_started_it() {
    let started =
        SubagentStarted { subagent_id: SubagentId::trusted("new"), name: "n".into(), ..SubagentStarted::default() };
    assert_eq!(envelope(started).encode().decode().unwrap().subagent_id, None);
}

#[test]
fn what_a_newer_version_wrote_survives() {
    let unknown_type = r#"{"seq":1,"ts":"2026-01-01T00:00:00.000Z","type":"hologram","session_id":"s","data":{"depth":[1,2.50,{"x":null}]}}"#;
    let unknown_shape = r#"{"seq":2,"ts":"2026-01-01T00:00:00.000Z","type":"delta","session_id":"s","data":{"text":["not","a","string"]}}"#;
    for json in [unknown_type, unknown_shape] {
        let record = Envelope::decode(json.as_bytes()).unwrap().encode();
        assert_eq!(text(&record), json);
    }
}

#[test]
fn a_copy_keeps_fields_this_version_does_not_know() {
    let json = r#"{"seq":3,"ts":"2026-01-01T00:00:00.000Z","type":"delta","session_id":"a","data":{"block_id":"b","text":"t","hue":7}}"#;
    let record = Record { seq: Seq(3), json: json.into() };
    let copy = readdress(&record, &SessionId::trusted("c")).unwrap();
    assert_eq!(text(&copy), json.replace(r#""session_id":"a""#, r#""session_id":"c""#));
}

/// Every type, once, in the JSON that clients rely on. A change here is a change of the contract.
#[test]
fn every_payload_decodes_from_its_own_schema_name() {
    let schema = schema();
    let branches = schema["oneOf"].as_array().unwrap();
    let kinds: Vec<&str> = branches.iter().map(|branch| branch["title"].as_str().unwrap()).collect();
    assert_eq!(kinds, Event::KINDS);
    for branch in branches {
        assert!(branch["properties"]["data"]["$ref"].is_string(), "{branch} must refer to a named payload");
    }
}

#[test]
fn what_is_encoded_is_valid_by_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for event in [Event::from(delta("hi")), super::Done::default().into(), super::ToolResult::default().into()] {
        let json: serde_json::Value = serde_json::from_slice(&envelope(event).encode().json).unwrap();
        assert!(validator.is_valid(&json), "{json}");
    }
    let mut wrong: serde_json::Value = serde_json::from_slice(&envelope(delta("hi")).encode().json).unwrap();
    wrong["data"]["text"] = json!(7);
    assert!(!validator.is_valid(&wrong));
}

proptest! {
    #[test]
    fn any_text_comes_back(words in ".*", session in "[a-z\"\\\\]{1,8}", seq in 1u64..u64::MAX / 2) {
        let mut said = envelope(delta(&words));
        said.seq = Seq(seq);
        said.session_id = SessionId::trusted(session);
        let record = said.encode();
        prop_assert_eq!(record.kind(), "delta");
        let back = record.decode().unwrap();
        prop_assert_eq!(&back.session_id, &said.session_id);
        prop_assert_eq!(back.encode(), record);
    }

    #[test]
    fn nothing_makes_decoding_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(Envelope::decode(&bytes));
        drop(Record { seq: Seq(1), json: bytes.into() }.kind().to_owned());
    }
}
