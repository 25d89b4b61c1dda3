use serde_json::{Value, json};

use super::{ClientTool, ClientTools, RUN_TOOLS, SESSION_TOOLS, read, servable};

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "d", "input_schema": { "type": "object" } })
}

#[test]
fn names_schemas_and_sizes_are_checked() {
    let fine = json!([tool("get_weather"), { "name": "b-2" }]);
    assert_eq!(read(&fine).unwrap().len(), 2);
    let wrong = [
        (json!({}), "sequence"),
        (json!([{ "description": "nameless" }]), "name"),
        (json!([{ "name": "a", "colour": 1 }]), "colour"),
        (json!([tool("")]), "name"),
        (json!([tool("two words")]), "two words"),
        (json!([tool(&"x".repeat(49))]), "xxx"),
        (json!([tool("ask_user")]), "taken"),
        (json!([tool("a"), tool("a")]), "twice"),
        (json!([{ "name": "a", "input_schema": [] }]), "map"),
        (json!([{ "name": "a", "input_schema": { "type": "string" } }]), "object"),
        (json!([{ "name": "a", "description": "d".repeat(5_000) }]), "description"),
        (json!([{ "name": "a", "input_schema": { "x": "x".repeat(40_000) } }]), "schema"),
        (Value::Array((0..65).map(|n| tool(&format!("t{n}"))).collect()), "64"),
    ];
    for (list, named) in wrong {
        let error = read(&list).expect_err(named);
        assert!(error.contains(named), "{error:?} should name {named:?}");
    }
}

#[test]
fn an_offer_is_taken_as_far_as_it_can_be_served() {
    let offered = ["good", "not good", "good", "better"].map(|name| ClientTool {
        name: name.into(),
        description: String::new(),
        input_schema: super::anything(),
    });
    let names: Vec<String> = servable(offered).into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["good", "better"]);
}

#[test]
fn a_run_adds_to_what_the_session_has_and_takes_nothing_away() {
    let mut tools = ClientTools::default();
    let settings = |name: &str, list: Value| serde_json::Map::from_iter([(name.to_owned(), list)]);
    assert!(tools.configure(&settings(SESSION_TOOLS, json!([tool("a")]))));
    assert!(!tools.configure(&settings(SESSION_TOOLS, json!([tool("a")]))), "the same again is no change");
    assert!(tools.configure(&settings(RUN_TOOLS, json!([tool("a"), tool("b")]))));
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(tools.configure(&settings(RUN_TOOLS, json!([]))));
    assert!(tools.contains("a") && !tools.contains("b"));
}
