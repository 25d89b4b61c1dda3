//! Which deliveries a channel wants: rules over what a payload says.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use super::Headers;
use super::template::{is_pointer, text_of};

/// One condition on a delivery. What is not there is in no list and contains nothing.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ChannelRule")]
pub struct Rule {
    /// A JSON pointer into the payload.
    pub at: Option<String>,
    /// Or the name of a header.
    pub header: Option<String>,
    /// It is one of these.
    #[serde(rename = "in")]
    pub is_in: Option<Vec<String>>,
    /// It is none of these.
    pub not_in: Option<Vec<String>>,
    /// It contains this.
    pub contains: Option<String>,
    /// It is there, or it is not.
    pub exists: Option<bool>,
}

impl Rule {
    pub(super) fn check(&self) -> Result<(), String> {
        match (&self.at, &self.header) {
            (Some(at), None) if is_pointer(at) => {}
            (Some(at), None) => return Err(format!("{at:?} is no JSON pointer such as `/action`")),
            (None, Some(header)) if !header.is_empty() => {}
            _ => return Err("a rule has `at` or `header`, one of them".to_owned()),
        }
        let says = self.is_in.is_some() || self.not_in.is_some() || self.contains.is_some() || self.exists.is_some();
        if says { Ok(()) } else { Err("a rule has `in`, `not_in`, `contains` or `exists`".to_owned()) }
    }

    pub(super) fn holds(&self, payload: &Value, headers: &Headers) -> bool {
        let found = match (&self.at, &self.header) {
            (Some(at), _) => payload.pointer(at).and_then(text_of),
            (None, Some(header)) => headers.get(header).map(Cow::Borrowed),
            (None, None) => None,
        };
        let listed = |list: &[String]| found.as_deref().is_some_and(|found| list.iter().any(|one| one == found));
        self.is_in.as_deref().is_none_or(listed)
            && !self.not_in.as_deref().is_some_and(listed)
            && self.contains.as_deref().is_none_or(|part| found.as_deref().is_some_and(|found| found.contains(part)))
            && self.exists.is_none_or(|exists| exists == found.is_some())
    }
}
