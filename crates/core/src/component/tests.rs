use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::merge::merged;
use super::{
    Entry, MAX_PROPS_BYTES, Registry, Rules, Shown, Source, ToolRule, Unmergeable, check, read_entries, read_rules,
};
use crate::event::{Bind, ComponentUpdate, Envelope, Event, ToolStart};
use crate::id::{Seq, SessionId, ToolUseId};
use crate::time::Timestamp;

/// Props that fit their component, and props that do not, with where.
const EXAMPLES: &str = include_str!("examples.jsonl");

fn examples() -> Vec<Value> {
    EXAMPLES.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn everything_that_ships_is_read() {
    let names: Vec<String> = Registry::builtin().entries().map(|entry| entry.name.clone()).collect();
    let lines: Vec<Value> =
        include_str!("builtin.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(names, lines.iter().map(|line| line["name"].as_str().unwrap()).collect::<Vec<_>>());
    for entry in Registry::builtin().entries() {
        assert_eq!((entry.problem(), entry.source), (None, Source::Builtin), "{}", entry.name);
        for schema in [Some(&entry.served().props), entry.resolves.as_ref()].into_iter().flatten() {
            assert!(jsonschema::meta::is_valid(schema), "{}", entry.name);
        }
    }
}

#[test]
fn examples_fit_or_do_not_as_a_validator_says() {
    let registry = Registry::builtin();
    for example in examples() {
        let entry = registry.get(example["name"].as_str().unwrap()).unwrap().served();
        let fits = check(&entry.props, &example["props"]);
        let expected = example["misfit"].as_str();
        assert_eq!(fits.as_ref().err().map(|misfit| misfit.pointer.as_str()), expected, "{example}");
        assert_eq!(jsonschema::is_valid(&entry.props, &example["props"]), expected.is_none(), "{example}");
    }
    let fitting = |name: &str| examples().iter().any(|e| e["name"] == name && e["misfit"].is_null());
    assert!(registry.entries().all(|entry| fitting(&entry.name)), "one of each");
}

#[test]
fn the_checker_says_what_does_not_fit_and_where() {
    for (schema, value, expected) in [
        (json!({ "type": "object" }), json!([]), "the value: must be object, not array"),
        (json!({ "required": ["a"] }), json!({}), "the value: `a` is missing"),
        (json!({ "items": { "type": "integer" } }), json!([1, 1.5]), "/1: must be integer, not number"),
        (
            json!({ "properties": { "a/b": { "enum": [1, "x"] } } }),
            json!({ "a/b": 2 }),
            "/a~1b: must be one of 1, \"x\"",
        ),
        (json!({ "additionalProperties": false }), json!({ "a": 1 }), "/a: nothing may stand here"),
        (json!({ "maxItems": 1 }), json!([1, 2]), "the value: has at most 1 items, not 2"),
        (json!({ "minLength": 2 }), json!("é"), "the value: needs at least 2 characters"),
        (json!({ "maximum": 3 }), json!(4), "the value: must be at most 3"),
        (json!({ "pattern": "^a+$" }), json!("ab"), "the value: must fit the pattern ^a+$"),
        (
            json!({ "prefixItems": [{ "type": "string" }], "items": false }),
            json!(["a", 1]),
            "/1: nothing may stand here",
        ),
        (
            json!({ "anyOf": [{ "type": "string" }, { "properties": { "a": { "type": "string" } } }] }),
            json!({ "a": 1 }),
            "/a: must be string, not number",
        ),
        (
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } }),
            json!(1),
            "the value: this is too much to check",
        ),
    ] {
        assert_eq!(check(&schema, &value).map_err(|misfit| misfit.to_string()), Err(expected.to_owned()));
    }
    for (schema, value) in [
        (json!(true), json!(1)),
        (json!({ "type": ["string", "null"] }), json!(null)),
        (json!({ "type": "integer" }), json!(2.0)),
        (json!({ "enum": [1] }), json!(1.0)),
        (json!({ "pattern": "(?<=look)behind" }), json!("not checked")),
        (json!({ "oneOf": [false], "const": 1 }), json!("not checked")),
        (json!({ "$ref": "https://example.com/other" }), json!("not checked")),
    ] {
        assert_eq!(check(&schema, &value), Ok(()), "{schema}");
    }
}

/// One that looks at everything twice at every level would take for ever.
#[test]
fn a_schema_that_is_all_choices_is_given_up() {
    let choice = json!({ "$ref": "#/$defs/a" });
    let schema = json!({ "$ref": "#/$defs/a", "$defs": { "a": {
        "anyOf": [{ "items": choice, "minItems": 2 }, { "items": choice, "minItems": 3 }, { "items": choice, "minItems": 4 }],
    } } });
    let value = (0..60).fold(json!([]), |inner, _| json!([inner.clone()]));
    assert!(check(&schema, &value).is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(3)),
        Just(json!(-1.5)),
        Just(json!("object")),
        Just(json!("^a*$")),
        Just(json!("#/$defs/a")),
        Just(json!(["a"])),
        Just(json!(["string", "array"])),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        let key = prop_oneof![
            Just("type"),
            Just("properties"),
            Just("required"),
            Just("enum"),
            Just("items"),
            Just("prefixItems"),
            Just("anyOf"),
            Just("$ref"),
            Just("$defs"),
            Just("minItems"),
            Just("maxLength"),
            Just("pattern"),
            Just("additionalProperties"),
            Just("a"),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            proptest::collection::vec((key, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

proptest! {
    /// Whatever is called a schema, and whatever is held against it.
    #[test]
    fn the_checker_never_panics(schema in any_json(), value in any_json()) {
        drop(check(&schema, &value));
    }
}

#[expect(clippy::needless_pass_by_value, reason = "written where it is said")]
fn update(mode: &str, props: Value, patch: Value) -> ComponentUpdate {
    let data = json!({ "component_id": "c", "name": "chart", "surface": "chat", "props": props, "merge": false, "mode": mode, "patch": patch });
    serde_json::from_value(data).unwrap()
}

#[test]
fn props_are_merged_in_five_ways() {
    let base = json!({ "type": "bar", "data": [1], "opts": { "a": 1, "b": 2 }, "text": "Hel" });
    let with = |changes: Value| {
        let mut result = base.as_object().unwrap().clone();
        result.extend(changes.as_object().unwrap().clone());
        Value::Object(result)
    };
    let add = json!([{ "op": "add", "path": "/data/-", "value": 2 }]);
    for (mode, props, patch, expected) in [
        ("replace", json!({ "data": [2] }), Value::Null, json!({ "data": [2] })),
        (
            "shallow",
            json!({ "data": [2], "opts": { "c": 3 } }),
            Value::Null,
            with(json!({ "data": [2], "opts": { "c": 3 } })),
        ),
        ("shallow", json!({ "text": null }), Value::Null, with(json!({ "text": null }))),
        ("deep", json!({ "opts": { "b": null, "c": 3 } }), Value::Null, with(json!({ "opts": { "a": 1, "c": 3 } }))),
        (
            "append",
            json!({ "data": [2, 3], "text": "lo", "type": 1 }),
            Value::Null,
            with(json!({ "data": [1, 2, 3], "text": "Hello", "type": 1 })),
        ),
        ("patch", json!({}), add, with(json!({ "data": [1, 2] }))),
    ] {
        let found = merged(base.as_object().unwrap(), &update(mode, props, patch));
        assert_eq!(found.map(Value::Object), Ok(expected), "{mode}");
    }
    let merge = |mode, props, patch| merged(&Map::new(), &update(mode, props, patch));
    assert_eq!(merge("append", json!({ "data": [1] }), Value::Null).map(Value::Object), Ok(json!({ "data": [1] })));
    assert!(matches!(
        merge("patch", json!({}), json!([{ "op": "remove", "path": "/no" }])),
        Err(Unmergeable::Patch(_))
    ));
    assert_eq!(merge("patch", json!({}), Value::Null), Err(Unmergeable::NoPatch));
    assert_eq!(
        merge("patch", json!({}), json!([{ "op": "replace", "path": "", "value": 1 }])),
        Err(Unmergeable::NoObject)
    );
    assert_eq!(merge("replace", json!([]), Value::Null), Err(Unmergeable::NoObject));
    let many: Vec<Value> = (0..257).map(|_| json!({ "op": "add", "path": "/a", "value": 1 })).collect();
    assert_eq!(merge("patch", json!({}), json!(many)), Err(Unmergeable::TooManyOperations));
    assert_eq!(merge("replace", json!({ "a": "x".repeat(MAX_PROPS_BYTES) }), Value::Null), Err(Unmergeable::TooLarge));
    let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(merge("replace", json!({ "a": deep }), Value::Null), Err(Unmergeable::TooDeep));
}

fn start(tool: &str) -> ToolStart {
    ToolStart { tool_use_id: ToolUseId::trusted("t1"), tool: tool.to_owned(), ..ToolStart::default() }
}

#[test]
fn the_first_rule_that_fits_decides() {
    let rule = |tool: &str, component: &str, runtime: Option<&str>| -> ToolRule {
        serde_json::from_value(json!({ "tool": tool, "component": component, "runtime": runtime })).unwrap()
    };
    let rules = Rules {
        tools: vec![
            rule("get_*", "weather", None),
            rule("search", "search_results", Some("claude")),
            rule("a*b*c", "table", None),
        ],
        ..Rules::default()
    };
    let registry = Registry::builtin();
    let found = |tool: &str, runtime: &str, session: &[ToolRule]| {
        rules.for_call(&start(tool), runtime, session, &registry).map(|found| (found.component_id, found.name))
    };
    let some = |id: &str, name: &str| Some((id.to_owned(), name.to_owned()));
    assert_eq!(found("get_weather", "mock", &[]), some("get_weather-t1", "weather"));
    assert_eq!(found("mcp__maps__get_route", "mock", &[]), some("mcp__maps__get_route-t1", "weather"));
    assert_eq!(found("get_weather", "mock", &[rule("*", "json", None)]), some("get_weather-t1", "json"));
    assert_eq!((found("search", "claude", &[]).is_some(), found("search", "mock", &[])), (true, None));
    assert_eq!((found("a-b-c", "mock", &[]).is_some(), found("a-c-b", "mock", &[])), (true, None));
    let (id, _) = found("get_weather/now at", "mock", &[]).unwrap();
    assert!(super::is_id(&id), "{id}");
    let entries: Vec<Entry> =
        read_entries(&json!([{ "name": "sky", "tools": ["look_up"], "surfaces": ["panel"] }])).unwrap();
    let registry = registry.with(entries, Source::Session);
    let found = rules.for_call(&start("look_up"), "mock", &[], &registry).unwrap();
    assert_eq!((found.name.as_str(), found.surface), ("sky", crate::event::Surface::Panel));
}

#[test]
fn what_a_session_brings_is_checked() {
    for (value, part) in [
        (json!([{ "name": "Big Name" }]), "lower-case"),
        (json!([{ "name": "a", "props": 1 }]), "JSON Schema"),
        (json!([{ "name": "a", "view": { "url": "/x" } }]), "no `view`"),
        (json!([{ "name": "a", "colour": 1 }]), "unknown field"),
        (json!({}), "sequence"),
        (json!((0..65).map(|n| json!({ "name": format!("n{n}") })).collect::<Vec<_>>()), "64"),
    ] {
        let error = read_entries(&value).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    assert!(read_rules(&json!([{ "tool": "x" }])).is_err());
    assert!(read_rules(&json!([{ "tool": "", "component": "chart" }])).is_err());
    assert_eq!(read_rules(&json!([{ "tool": "x", "component": "chart", "id": "tool" }])).unwrap().len(), 1);
}

#[test]
fn edits_are_patches_of_the_state() {
    let bind = Bind { pointer: "/plan".to_owned(), edits: Some(true), ..Bind::default() };
    let state = json!({ "plan": [{ "text": "a" }, { "text": "b" }], "form": { "values": { "x": 1 } } });
    let edit = |action: &str, payload: Value| super::edited(&bind, &state, action, &payload);
    let after = |action: &str, payload: Value| {
        let patch = edit(action, payload).unwrap().unwrap();
        assert_eq!(patch[0]["op"], "test");
        crate::shared::patched(&state, &patch).unwrap()["plan"].clone()
    };
    assert_eq!(
        after("reorder_steps", json!({ "steps": [{ "text": "b" }, { "text": "a" }] })),
        json!([{ "text": "b" }, { "text": "a" }])
    );
    assert_eq!(
        after("edit_step", json!({ "step_index": 1, "description": "c" })),
        json!([{ "text": "a" }, { "text": "c" }])
    );
    assert_eq!(
        after("add_step", json!({ "step_index": 2, "description": "c" })),
        json!([{ "text": "a" }, { "text": "b" }, { "text": "c" }])
    );
    assert_eq!(after("remove_step", json!({ "step_index": 0 })), json!([{ "text": "b" }]));
    for (action, payload) in [
        ("reorder_steps", json!({ "steps": [{ "text": "a" }] })),
        ("reorder_steps", json!({ "steps": [{ "text": "a" }, { "text": "z" }] })),
        ("edit_step", json!({ "step_index": 2, "description": "c" })),
        ("remove_step", json!({})),
    ] {
        assert_eq!(edit(action, payload), Some(Err(super::Outdated)), "{action}");
    }
    assert_eq!(edit("approve_plan", json!({})), None);
    assert_eq!(
        super::edited(&Bind { edits: None, ..bind.clone() }, &state, "remove_step", &json!({ "step_index": 0 })),
        None
    );
    let form = Bind { pointer: "/form".to_owned(), edits: Some(true), ..Bind::default() };
    let patch = super::edited(&form, &state, "change", &json!({ "values": { "x": 2 } })).unwrap().unwrap();
    assert_eq!(crate::shared::patched(&state, &patch).unwrap()["form"], json!({ "values": { "x": 2 } }));
}

fn folded(events: &[(&str, Value)]) -> Shown {
    let mut shown = Shown::default();
    for (seq, (kind, data)) in (1..).zip(events) {
        let event = Event::from_value(kind, data);
        assert!(!matches!(event, Event::Unknown(_)), "{kind} {data}");
        let (ts, session_id) = (Timestamp::from_millis(0), SessionId::trusted("s"));
        shown.step(&Envelope { seq: Seq(seq), ts, session_id, turn_id: None, subagent_id: None, event });
    }
    shown
}

#[test]
fn a_result_is_laid_over_the_input_as_the_rule_says() {
    let result = |mapping: &str, into: Value, data: Value| {
        let component =
            json!({ "component_id": "c", "name": "table", "surface": "chat", "result": mapping, "into": into });
        let mut ended = json!({ "tool_use_id": "t", "output": "", "is_error": false });
        ended.as_object_mut().unwrap().extend(data.as_object().unwrap().clone());
        let shown = folded(&[
            (
                "tool_start",
                json!({ "tool_use_id": "t", "tool": "find", "input": { "q": "x" }, "component": component }),
            ),
            ("tool_result", ended),
        ]);
        shown.get("c", &Value::Null).unwrap().props
    };
    let output = |text: &str| json!({ "output": text });
    assert_eq!(result("merge", Value::Null, output("{\"n\":1}")), json!({ "q": "x", "n": 1 }));
    assert_eq!(result("output", Value::Null, output("{\"n\":1}")), json!({ "n": 1 }));
    assert_eq!(result("input", Value::Null, output("{\"n\":1}")), json!({ "q": "x" }));
    assert_eq!(result("merge", Value::Null, output("[1]")), json!({ "q": "x", "items": [1] }));
    assert_eq!(result("merge", json!("rows"), output("[1]")), json!({ "q": "x", "rows": [1] }));
    assert_eq!(result("merge", Value::Null, output("42")), json!({ "q": "x", "raw": "42" }));
    assert_eq!(result("merge", Value::Null, output("words")), json!({ "q": "x", "raw": "words" }));
    assert_eq!(
        result("merge", Value::Null, json!({ "output": "words", "structured": { "n": 2 } })),
        json!({ "q": "x", "n": 2 })
    );
    let blob = json!({ "id": "0".repeat(64), "size": 1, "media_type": "", "head": "", "tail": "" });
    assert_eq!(
        result("merge", Value::Null, json!({ "output": "{…", "blob": blob, "props": { "n": 3 } })),
        json!({ "q": "x", "n": 3 })
    );
    assert_eq!(
        result("merge", Value::Null, json!({ "output": "{…", "blob": blob })),
        json!({ "q": "x" }),
        "it is too large"
    );
}

#[test]
fn one_component_of_a_tool_shows_the_newest_call() {
    let call = |id: &str| {
        let component = json!({ "component_id": "find", "name": "table", "surface": "panel", "result": "merge" });
        ("tool_start", json!({ "tool_use_id": id, "tool": "find", "input": { "q": id }, "component": component }))
    };
    let ended = |id: &str| {
        ("tool_result", json!({ "tool_use_id": id, "output": format!("{{\"found\":\"{id}\"}}"), "is_error": false }))
    };
    let shown = folded(&[call("1"), call("2"), ended("1")]);
    assert_eq!(shown.get("find", &Value::Null).unwrap().props, json!({ "q": "2" }), "an older result changes nothing");
    let shown = folded(&[call("1"), call("2"), ended("1"), ended("2")]);
    assert_eq!(shown.get("find", &Value::Null).unwrap().props, json!({ "q": "2", "found": "2" }));
    assert_eq!(shown.covers("find", &Value::Null).map(ToolUseId::as_str), Some("2"));
}
