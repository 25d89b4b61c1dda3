//! The shapes of answers that are not written by a type of their own, because they are other people's: folds of the log into their protocols. They
//! are read by the document only, and every answer in the tests is compared with them.

#![expect(dead_code, reason = "these are never made; they say what the folds make")]

pub(super) mod dialects;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// An event of the log, as the document describes it.
#[derive(Debug)]
pub(super) struct Event;

impl JsonSchema for Event {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Event".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "$ref": "#/components/schemas/Event" })
    }
}

/// A document that describes something else.
#[derive(Debug)]
pub(super) struct SomeDocument;

impl JsonSchema for SomeDocument {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Document".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": {} })
    }
}
