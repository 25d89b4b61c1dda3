use proptest::prelude::*;
use serde_json::json;

use super::{
    Delta, Durability, Envelope, Event, EventAuthor, Large, Placement, Record, SubagentStarted, UNREADABLE, readdress,
    samples, schema,
};
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
fn there_is_a_sample_of_every_event_and_it_is_one() {
    let samples = samples();
    let kinds: Vec<&str> = samples.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, Event::KINDS, "a new type needs a sample in `samples.rs`");
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for sample in samples {
        let errors: Vec<String> = validator.iter_errors(&sample).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{sample}: {errors:?}");
        let read = Envelope::decode(sample.to_string().as_bytes()).unwrap();
        assert!(!matches!(read.event, Event::Unknown(_)), "{sample}");
        let written: serde_json::Value = serde_json::from_str(text(&read.encode())).unwrap();
        assert_eq!(written, sample, "nothing in it is lost, and nothing is left out that would be written");
    }
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
    let record = Record::new(Seq(3), json);
    let copy = readdress(&record, &SessionId::trusted("c")).unwrap();
    assert_eq!(text(&copy), json.replace(r#""session_id":"a""#, r#""session_id":"c""#));
}

#[test]
fn what_somebody_else_wrote_gets_our_form() {
    let text_of = "a \\\" { : } b\\\\";
    let spaced = format!(
        r#"{{ "data" : {{ "text" : "{text_of}",  "block_id": "b" }}, "session_id": "a",
             "type" : "delta", "ts": "2026-01-01T00:00:00.000Z", "seq": 3 }}"#
    );
    let record = Record::new(Seq(3), spaced);
    assert_eq!(record.kind(), "delta", "also as it came");
    let ours = readdress(&record, &SessionId::trusted("a")).unwrap();
    let expected = format!(
        r#"{{"seq":3,"ts":"2026-01-01T00:00:00.000Z","type":"delta","session_id":"a","data":{{"text":"{text_of}","block_id":"b"}}}}"#
    );
    assert_eq!(text(&ours), expected);
}

#[test]
fn what_cannot_be_read_is_said_as_such() {
    let record = Record::unreadable(Seq(7), &SessionId::trusted("a"), "expected value", b"{\"seq\":\xff\n");
    assert!(record.is_unreadable());
    let envelope = record.decode().unwrap();
    assert_eq!((envelope.seq, envelope.event.kind()), (Seq(7), "unreadable"));
    assert!(!Event::KINDS.contains(&envelope.event.kind()));
}

/// Every type, once, in the JSON that clients rely on. A change here is a change of the contract.
#[test]
fn every_payload_decodes_from_its_own_schema_name() {
    let schema = schema();
    let branches = schema["oneOf"].as_array().unwrap();
    let kinds: Vec<&str> = branches.iter().map(|branch| branch["title"].as_str().unwrap()).collect();
    assert_eq!(kinds, [Event::KINDS, &[UNREADABLE]].concat(), "and what stands where one cannot be read");
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
    let unreadable = Record::unreadable(Seq(1), &SessionId::trusted("s"), "no", b"x");
    assert!(validator.is_valid(&serde_json::from_slice(&unreadable.json).unwrap()));
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
        drop(Record::new(Seq(1), bytes).kind().to_owned());
    }
}

#[test]
fn what_the_table_says_of_every_type_fits_together() {
    let mut seen = std::collections::BTreeSet::new();
    for sample in samples::samples() {
        let kind = sample["type"].as_str().unwrap();
        let event = Event::from_value(kind, &sample["data"]);
        assert_eq!(event.kind(), kind);
        let (author, stands, durability) = (event.author(), Event::placement(kind), event.durability());
        let asks = ["_request", "_resolved"].iter().any(|end| kind.ends_with(end)) || kind == "interrupt";
        if asks {
            let expected = (EventAuthor::Session, Placement::InTurn, Durability::Synced);
            assert_eq!((author, stands, durability), expected, "{kind}: what a person was asked is never lost");
        }
        if durability == Durability::Synced {
            assert_eq!(author, EventAuthor::Session, "{kind}: an agent does not decide when the disk is waited for");
        }
        if ["session_ended", "forked", "rollback"].contains(&kind) {
            assert_eq!(author, EventAuthor::Session, "{kind}: nobody says this for the session");
        }
        if sample.get("turn_id").is_none() {
            assert_eq!(stands, Placement::Anywhere, "{kind}: it stands outside turns");
        }
        seen.insert(kind.to_owned());
    }
    assert_eq!(seen.len(), Event::KINDS.len(), "every type has a sample");
    let nobody_knows = Event::from_value("of_another_version", &json!({}));
    let expected = (EventAuthor::Session, Placement::Anywhere, Durability::Grouped);
    assert_eq!((nobody_knows.author(), Event::placement("of_another_version"), nobody_knows.durability()), expected);
}

#[test]
fn what_has_become_a_blob_is_named_among_the_blobs_of_its_event() {
    let mut spilled = 0;
    for sample in samples::samples() {
        let mut event = Event::from_value(sample["type"].as_str().unwrap(), &sample["data"]);
        event.each_large(&mut |large| match large {
            Large::Text(text, _) => *text = "x".repeat(100),
            Large::Json(value, _) => *value = json!("x".repeat(100)),
            Large::Image(image) => (image.data, image.blob) = (Some("eA==".to_owned()), None),
            Large::Part(super::Part::Image { data, blob, .. }) => (*data, *blob) = (Some("x".repeat(100)), None),
            Large::Part(_) => {}
        });
        let blobs: Vec<_> = crate::blob::spill(&mut event, 50).into_iter().map(|blob| blob.id).collect();
        let mut named = Vec::new();
        event.each_blob(&mut |blob| named.push(blob.id.clone()));
        assert_eq!(named, blobs, "{}", event.kind());
        spilled += blobs.len();
    }
    assert!(spilled > 4, "{spilled}");
}
