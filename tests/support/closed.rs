//! Documents as strict as tests want them: an object has the members that its schema names, and no others. Clients must take more than they know, so the
//! documents themselves say nothing of the kind.

use serde_json::{Map, Value, json};

/// Where the schemas stand that are only a part of another one, which says for all its parts that there is no more.
const PARTS: &str = "#/components/parts/";
const WHOLE: &str = "#/components/schemas/";

/// The schemas of a document, closed, and beside them the same ones as parts.
pub fn components(components: &Value) -> Value {
    let schemas = components["schemas"].as_object().expect("schemas");
    let each = |close: fn(&Value) -> Value| -> Map<String, Value> {
        schemas.iter().map(|(name, schema)| (name.clone(), close(schema))).collect()
    };
    json!({ "schemas": each(whole), "parts": each(part) })
}

/// A schema that describes all of a value.
pub fn whole(schema: &Value) -> Value {
    let Some(members) = schema.as_object() else { return schema.clone() };
    let is_object = members.contains_key("properties");
    // What stands beside members, or beside each other, tells a part of the value.
    if is_object || members.contains_key("allOf") {
        let mut closed = part(schema);
        let is_said = members.contains_key("additionalProperties") || members.contains_key("unevaluatedProperties");
        if names_members(schema) && !is_said {
            closed["unevaluatedProperties"] = json!(false);
        }
        return closed;
    }
    each_member(members, &|name, member| match (name, member) {
        ("oneOf" | "anyOf", Value::Array(forms)) => forms.iter().map(whole).collect(),
        _ => inner(name, member),
    })
}

/// A schema that describes a part of a value: it is open, and what is inside of it is not.
fn part(schema: &Value) -> Value {
    let Some(members) = schema.as_object() else { return schema.clone() };
    each_member(members, &|name, member| match (name, member) {
        ("oneOf" | "anyOf" | "allOf", Value::Array(forms)) => forms.iter().map(part).collect(),
        ("$ref", Value::String(path)) => path.replacen(WHOLE, PARTS, 1).into(),
        // Another part may name more.
        _ => inner(name, member),
    })
}

/// What stands in a schema and describes values of their own.
fn inner(name: &str, member: &Value) -> Value {
    match (name, member) {
        ("properties" | "patternProperties", Value::Object(named)) => each_member(named, &|_, member| whole(member)),
        ("items" | "additionalProperties", schema) => whole(schema),
        ("prefixItems", Value::Array(items)) => items.iter().map(whole).collect(),
        _ => member.clone(),
    }
}

fn each_member(members: &Map<String, Value>, change: &dyn Fn(&str, &Value) -> Value) -> Value {
    Value::Object(members.iter().map(|(name, member)| (name.clone(), change(name, member))).collect())
}

/// One without is an object of which nothing is known.
fn names_members(schema: &Value) -> bool {
    let of = |name: &str| schema.get(name).and_then(Value::as_array).into_iter().flatten();
    schema.get("properties").and_then(Value::as_object).is_some_and(|members| !members.is_empty())
        || of("allOf").any(|form| form.get("$ref").is_some() || names_members(form))
}
