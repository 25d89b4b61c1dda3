use serde_json::{Value, json};

use super::{HOST_TOOLS_SETTING, NAMES, is_offered, media_type_of, offered, place_in, with_plain_schemas};
use crate::component::{Registry, Source, read_entries};

fn names(params: &Value) -> Vec<String> {
    offered(params, &Registry::builtin()).into_iter().map(|tool| tool.name).collect()
}

#[test]
fn every_tool_that_ships_can_be_read() {
    assert_eq!(names(&json!({ "delegation": true })), NAMES);
    for tool in offered(&json!({ "delegation": true }), &Registry::builtin()) {
        assert_eq!(tool.annotations["readOnlyHint"], true, "{}", tool.name);
        assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
        assert!(!tool.description.contains('{') || tool.name == "render_component", "{}", tool.description);
    }
}

#[test]
fn a_session_says_which_are_offered() {
    assert_eq!(names(&json!({ "host_tools": "all", "delegation": true })), NAMES);
    assert_eq!(names(&json!({ "host_tools": "all" })), NAMES[..8], "delegating has to be allowed");
    assert_eq!(names(&json!({ "host_tools": ["delegate", "get_state"] })), ["get_state"]);
    assert_eq!(names(&json!({ "host_tools": "ask" })), ["ask_user"]);
    assert_eq!(names(&json!({ "host_tools": "none" })), [""; 0]);
    assert_eq!(names(&json!({ "host_tools": [] })), [""; 0]);
    assert_eq!(names(&json!({ "host_tools": ["get_state", "ask"] })), ["ask_user", "get_state"]);
    assert!(!is_offered(&json!({ "ask_user": false }), "ask_user"));
    assert!(!is_offered(&json!({}), "rm"));
    for (value, fits) in [
        (json!("all"), true),
        (json!(["patch_state", "get_state"]), true),
        (json!("some"), false),
        (json!(["all", "rm"]), false),
        (json!(true), false),
    ] {
        assert_eq!(HOST_TOOLS_SETTING.check(&value).is_ok(), fits, "{value}");
    }
}

#[test]
fn models_hear_of_the_components_there_are() {
    let brought = read_entries(&json!([{
        "name": "seating_plan", "description": "Who sits\nwhere",
        "props": { "type": "object", "properties": { "seats": { "type": "array" }, "room": {} }, "required": ["seats"] },
    }]));
    let registry = Registry::builtin().with(brought.unwrap(), Source::Session);
    let tools = offered(&json!({}), &registry);
    let render = &tools[0].description;
    assert!(render.contains("seating_plan(seats, room?): Who sits where; "), "{render}");
    assert!(render.contains("chart(type: bar|line|area|pie|scatter, data, "), "{render}");
    assert!(registry.entries().all(|entry| render.contains(&format!("{}(", entry.name))), "{render}");
    // All of it is in every request of an agent.
    let size = json!(offered(&json!({}), &Registry::builtin())).to_string().len();
    assert!(size < 7_000, "{size} bytes");
    let many = |n: usize| json!({ "name": format!("c{n}"), "description": "d".repeat(500) });
    let many = read_entries(&(0..64).map(many).collect::<Value>()).unwrap();
    let render = offered(&json!({}), &Registry::builtin().with(many, Source::Session)).remove(0).description;
    assert!(render.len() < 9_500 && render.contains(" more"), "{}", render.len());
}

#[test]
fn schemas_say_anything_as_every_host_understands_it() {
    let schema = json!({
        "type": "object",
        "properties": {
            "any": true, "list": { "type": "array" }, "inner": { "type": "array", "items": true },
            "choice": { "anyOf": [true, { "type": "array" }] }, "true": { "enum": [true] },
        },
        "additionalProperties": true,
    });
    let plain = json!({
        "type": "object",
        "properties": {
            "any": {}, "list": { "type": "array", "items": {} }, "inner": { "type": "array", "items": {} },
            "choice": { "anyOf": [{}, { "type": "array", "items": {} }] }, "true": { "enum": [true] },
        },
        "additionalProperties": true,
    });
    assert_eq!(with_plain_schemas(&schema), plain);
    for tool in offered(&json!({}), &Registry::builtin()) {
        assert_eq!(with_plain_schemas(&tool.input_schema), tool.input_schema, "{} is plain as it is", tool.name);
    }
}

#[test]
fn a_path_leads_into_the_folder_or_nowhere() {
    let folders = ["/srv/work", "/mnt/work/"];
    for (path, inside) in [
        ("a.md", "a.md"),
        ("./sub//a.md", "sub/a.md"),
        ("sub/../a.md", "a.md"),
        ("/srv/work/a.md", "a.md"),
        ("/srv/./work/sub/../a.md", "a.md"),
        ("/mnt/work/a.md", "a.md"),
    ] {
        assert_eq!(place_in(&folders, path).as_deref(), Ok(inside), "{path}");
    }
    for path in [
        "",
        ".",
        "..",
        "../a",
        "a/../../b",
        "/",
        "/etc/passwd",
        "/srv/workshop/a",
        "/srv/work",
        "/srv/work/../b",
        "a\0",
    ] {
        assert!(place_in(&folders, path).is_err(), "{path:?}");
    }
    assert_eq!(place_in(&["/"], "/etc/hosts").as_deref(), Ok("etc/hosts"));
}

#[test]
fn a_file_is_what_it_looks_like() {
    for (path, content, kind) in [
        ("a.md", &b"x"[..], "text/markdown"),
        ("A.HTML", b"x", "text/html"),
        ("a.b/c", b"x", "text/plain"),
        ("a", &[0xff, 0xfe], "application/octet-stream"),
        ("a.txt", b"\x89PNG....", "image/png"),
        ("a.pdf", b"%PDF", "application/pdf"),
    ] {
        assert_eq!(media_type_of(path, content), kind, "{path}");
    }
}
