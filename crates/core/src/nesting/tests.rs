use serde_json::{Value, json};

use super::{MAX_DEPTH, MAX_EVENT_DEPTH, bound, fits, text_fits};
use crate::event::{Envelope, Event, ToolStart, schema};
use crate::id::{Seq, SessionId};
use crate::time::Timestamp;

/// A value of so many levels, made without a parser.
fn nested(levels: usize) -> Value {
    (0..levels)
        .fold(json!("the innermost"), |inner, n| if n % 2 == 0 { json!([inner]) } else { json!({ "in": inner }) })
}

#[test]
fn levels_are_counted_alike_in_values_and_text() {
    for (value, levels) in [(json!(1), 0), (json!([]), 1), (json!({ "a": [1, { "b": "]}[{" }] }), 3), (nested(90), 90)]
    {
        let text = value.to_string();
        assert!(fits(&value, levels) && text_fits(text.as_bytes(), levels), "{text}");
        assert!(levels == 0 || !fits(&value, levels - 1) && !text_fits(text.as_bytes(), levels - 1), "{text}");
    }
    assert!(text_fits(br#""[[[\"[[[""#, 0), "a string has no levels");
    assert!(!text_fits(&b"[".repeat(1_000_000), 64), "text that is not even JSON ends the count");
}

#[test]
fn what_an_agent_says_too_deep_is_kept_as_text() {
    let mut event = Event::from(ToolStart { input: Some(nested(100)), ..ToolStart::default() });
    bound(&mut event);
    let Event::ToolStart(start) = &event else { panic!("{event:?}") };
    let input = start.input.clone().unwrap();
    assert!(fits(&input, MAX_DEPTH));
    assert!(input.to_string().contains("the innermost"), "nothing of it is lost");
}

/// Every field of an event that may hold any JSON at all is bounded, those that are added later too.
#[test]
fn no_event_is_deeper_than_can_be_read_again() {
    let schema = schema();
    let mut tried = 0;
    for branch in schema["oneOf"].as_array().unwrap() {
        let kind = branch["title"].as_str().unwrap();
        let name = branch["properties"]["data"]["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        let payload = &schema["$defs"][name];
        let any = |field: &Value| {
            *field == json!(true)
                || field.get("type").is_none()
                    && field.get("$ref").is_none()
                    && field.get("anyOf").is_none()
                    && field.get("enum").is_none()
                    && field.get("oneOf").is_none()
        };
        for (field, of) in payload["properties"].as_object().into_iter().flatten() {
            let map = of["additionalProperties"] == json!(true);
            if !any(of) && !map {
                continue;
            }
            tried += 1;
            let mut data = json!({});
            for required in payload["required"].as_array().into_iter().flatten() {
                let required = required.as_str().unwrap();
                data[required] = example(&schema, &payload["properties"][required]);
            }
            data[field] = if map { json!({ "any": nested(100) }) } else { nested(100) };
            let mut event = Event::from_value(kind, &data);
            assert!(!matches!(event, Event::Unknown(_)), "{kind}.{field}: {data}");
            bound(&mut event);
            let (session_id, ts) = (SessionId::trusted("s"), Timestamp::from_millis(0));
            let record = Envelope { seq: Seq(1), ts, session_id, turn_id: None, subagent_id: None, event }.encode();
            assert!(text_fits(&record.json, MAX_EVENT_DEPTH), "{kind}.{field} is not bounded");
            assert!(!matches!(record.decode().unwrap().event, Event::Unknown(_)), "{kind}.{field}");
        }
    }
    assert!(tried >= 10, "only {tried} fields were found");
}

/// Something that a schema allows.
fn example(schema: &Value, of: &Value) -> Value {
    if let Some(name) = of["$ref"].as_str() {
        return example(schema, &schema["$defs"][name.rsplit('/').next().unwrap()]);
    }
    if let Some(choice) = of["oneOf"].as_array().or(of["anyOf"].as_array()).and_then(|choices| choices.first()) {
        return example(schema, choice);
    }
    if let Some(word) = of["enum"].as_array().and_then(|words| words.first()).or(of.get("const")) {
        return word.clone();
    }
    match of["type"].as_str() {
        Some("string") => json!("x"),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("integer" | "number") => json!(1),
        _ => json!({}),
    }
}
