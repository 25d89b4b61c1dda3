//! Whether a value fits a JSON Schema, as far as the daemon looks: `type properties required enum items prefixItems anyOf $ref minItems maxItems
//! minLength maxLength minimum maximum pattern additionalProperties`. Other keywords are kept and not checked.
//!
//! Schemas come from clients, so depth and work are bounded here; patterns run in linear time.

use std::collections::HashMap;
use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

/// How deep schemas lead into each other, with and without the value.
const MAX_DEPTH: usize = 128;

/// Schemas that are applied in one check.
const MAX_WORK: usize = 500_000;

/// What a compiled pattern may take, in bytes.
const MAX_PATTERN_BYTES: usize = 256 * 1024;

/// The first thing that does not fit, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", if pointer.is_empty() { "the value" } else { pointer })]
pub struct Misfit {
    /// JSON Pointer into the value.
    pub pointer: String,
    pub why: String,
}

/// Checks a value. The error names the first misfit.
pub fn check(schema: &Value, value: &Value) -> Result<(), Misfit> {
    let mut checker = Checker { root: schema, pointer: String::new(), work: 0, patterns: HashMap::new() };
    checker.check(schema, value, 0)
}

struct Checker<'a> {
    root: &'a Value,
    /// Where it looks.
    pointer: String,
    work: usize,
    /// Those that cannot be compiled are not checked.
    patterns: HashMap<&'a str, Option<Regex>>,
}

impl<'a> Checker<'a> {
    fn misfit(&self, why: impl Into<String>) -> Misfit {
        Misfit { pointer: self.pointer.clone(), why: why.into() }
    }

    fn check(&mut self, schema: &'a Value, value: &Value, depth: usize) -> Result<(), Misfit> {
        self.work += 1;
        if self.work > MAX_WORK || depth > MAX_DEPTH {
            return Err(self.misfit("this is too much to check"));
        }
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(false) => return Err(self.misfit("nothing may stand here")),
            _ => return Ok(()),
        };
        if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|name| self.target(name)) {
            self.check(target, value, depth + 1)?;
        }
        self.kind(schema, value)?;
        if let Some(choices) = schema.get("enum").and_then(Value::as_array)
            && !choices.iter().any(|choice| same(choice, value))
        {
            let choices: Vec<String> = choices.iter().take(20).map(Value::to_string).collect();
            return Err(self.misfit(format!("must be one of {}", choices.join(", "))));
        }
        if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
            self.any_of(choices, value, depth)?;
        }
        match value {
            Value::Object(members) => self.object(schema, members, depth),
            Value::Array(items) => self.array(schema, items, depth),
            Value::String(text) => self.text(schema, text),
            Value::Number(_) => self.number(schema, value),
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }

    /// What `#/$defs/…` stands for.
    fn target(&self, name: &str) -> Option<&'a Value> {
        name.strip_prefix('#').filter(|pointer| pointer.starts_with("/$defs/")).and_then(|at| self.root.pointer(at))
    }

    fn kind(&self, schema: &Map<String, Value>, value: &Value) -> Result<(), Misfit> {
        let wanted: Vec<&str> = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => return Ok(()),
        };
        if wanted.iter().any(|kind| is_kind(kind, value)) {
            return Ok(());
        }
        Err(self.misfit(format!("must be {}, not {}", wanted.join(" or "), kind_of(value))))
    }

    fn any_of(&mut self, choices: &'a [Value], value: &Value, depth: usize) -> Result<(), Misfit> {
        let mut furthest: Option<Misfit> = None;
        for choice in choices {
            let at = self.pointer.len();
            match self.check(choice, value, depth + 1) {
                Ok(()) => return Ok(()),
                Err(misfit) => {
                    self.pointer.truncate(at);
                    // The choice that came furthest is the one that was meant.
                    if furthest.as_ref().is_none_or(|known| misfit.pointer.len() > known.pointer.len()) {
                        furthest = Some(misfit);
                    }
                }
            }
        }
        furthest.map_or(Ok(()), Err)
    }

    fn object(
        &mut self,
        schema: &'a Map<String, Value>,
        members: &Map<String, Value>,
        depth: usize,
    ) -> Result<(), Misfit> {
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        if let Some(name) = required.filter_map(Value::as_str).find(|name| !members.contains_key(*name)) {
            return Err(self.misfit(format!("`{name}` is missing")));
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        // What a pattern names is not additional, and such patterns are not read here.
        let others = schema.get("additionalProperties").filter(|_| !schema.contains_key("patternProperties"));
        for (name, member) in members {
            let known = properties.and_then(|properties| properties.get(name));
            if let Some(schema) = known.or(others) {
                self.inside(name, schema, member, depth)?;
            }
        }
        Ok(())
    }

    fn array(&mut self, schema: &'a Map<String, Value>, items: &[Value], depth: usize) -> Result<(), Misfit> {
        self.length(schema, "minItems", "maxItems", items.len(), "items")?;
        let first = schema.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let others = schema.get("items");
        for (at, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(at).or(others) {
                self.inside(&at.to_string(), schema, item, depth)?;
            }
        }
        Ok(())
    }

    fn inside(&mut self, name: &str, schema: &'a Value, value: &Value, depth: usize) -> Result<(), Misfit> {
        let at = self.pointer.len();
        // Writing to a text cannot fail.
        let _ = write!(self.pointer, "/{}", name.replace('~', "~0").replace('/', "~1"));
        self.check(schema, value, depth + 1)?;
        self.pointer.truncate(at);
        Ok(())
    }

    fn text(&mut self, schema: &'a Map<String, Value>, text: &str) -> Result<(), Misfit> {
        if schema.contains_key("minLength") || schema.contains_key("maxLength") {
            self.length(schema, "minLength", "maxLength", text.chars().count(), "characters")?;
        }
        let Some(pattern) = schema.get("pattern").and_then(Value::as_str) else { return Ok(()) };
        let compile = || RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build().ok();
        let fits =
            self.patterns.entry(pattern).or_insert_with(compile).as_ref().is_none_or(|known| known.is_match(text));
        if fits { Ok(()) } else { Err(self.misfit(format!("must fit the pattern {pattern}"))) }
    }

    fn length(
        &self,
        schema: &Map<String, Value>,
        least: &str,
        most: &str,
        found: usize,
        what: &str,
    ) -> Result<(), Misfit> {
        let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
        #[allow(clippy::cast_precision_loss, reason = "no list is so long")]
        let length = found as f64;
        match (bound(least), bound(most)) {
            (Some(least), _) if length < least => Err(self.misfit(format!("needs at least {least} {what}"))),
            (_, Some(most)) if length > most => Err(self.misfit(format!("has at most {most} {what}, not {found}"))),
            _ => Ok(()),
        }
    }

    fn number(&self, schema: &Map<String, Value>, value: &Value) -> Result<(), Misfit> {
        let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
        let Some(number) = value.as_f64() else { return Ok(()) };
        match (bound("minimum"), bound("maximum")) {
            (Some(least), _) if number < least => Err(self.misfit(format!("must be at least {least}"))),
            (_, Some(most)) if number > most => Err(self.misfit(format!("must be at most {most}"))),
            _ => Ok(()),
        }
    }
}

fn is_kind(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether two values are the same as JSON Schema sees it: 1 is 1.0.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64().is_some_and(|a| Some(a) == b.as_f64()),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => one == other,
    }
}
