//! One message, read without understanding what it is about: ids, methods and the raw text of the rest.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::runtime::Line;

/// What a request is called by the side that sent it. Each side counts for itself, so the two may use the same ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    Number(i64),
    Text(String),
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Number(number) => number.fmt(f),
            Id::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// Why a call did not succeed: the other side's words, or ours when the other side will not say any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    #[serde(default)]
    pub code: i64,
    #[serde(default)]
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl Error {
    pub const METHOD_NOT_FOUND: i64 = -32_601;
    /// Ours, from the range that is free: the time limit passed.
    pub const TIMED_OUT: i64 = -32_050;
    /// Ours: the other side is gone.
    pub const GONE: i64 = -32_051;

    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub fn method_not_found(method: &str) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, format!("there is no method {method}"))
    }
}

/// A message from the other side. `params` and `result` are the text as it came, `null` where there was none.
#[derive(Debug)]
pub enum Incoming<'a> {
    Request { id: Id, method: Cow<'a, str>, params: &'a str },
    Notification { method: Cow<'a, str>, params: &'a str },
    Response { id: Option<Id>, result: Result<&'a str, Error> },
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default, borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

/// Reads a line. `Ok(None)` for an empty one; the error says why a line is no message.
pub fn read(line: Line<'_>) -> Result<Option<Incoming<'_>>, String> {
    let bytes = match line {
        Line::Text(bytes) if bytes.trim_ascii().is_empty() => return Ok(None),
        // The reader of structures would take a list for one as well.
        Line::Text(bytes) if bytes.trim_ascii_start().first() != Some(&b'{') => {
            return Err("not a JSON object".to_owned());
        }
        Line::Text(bytes) => bytes,
        Line::TooLong { size, .. } => return Err(format!("a line of {size} bytes is over the limit")),
    };
    let wire: Wire<'_> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let id = match wire.id {
        None => None,
        Some(Value::String(text)) => Some(Id::Text(text)),
        Some(Value::Number(number)) => {
            Some(number.as_i64().map(Id::Number).ok_or_else(|| format!("{number} is not an id"))?)
        }
        Some(other) => return Err(format!("{other} is not an id")),
    };
    let incoming = match (wire.method, id) {
        (Some(method), Some(id)) => Incoming::Request { id, method, params: wire.params.map_or("null", RawValue::get) },
        (Some(method), None) => Incoming::Notification { method, params: wire.params.map_or("null", RawValue::get) },
        (None, id) => {
            let result = match wire.error {
                // Whatever shape an error has, the call has failed.
                Some(error) => Err(serde_json::from_str(error.get())
                    .unwrap_or_else(|_| Error::new(0, format!("an error that cannot be read: {}", error.get())))),
                None if wire.result.is_none() && id.is_none() => {
                    return Err("neither a request, nor a notification, nor a response".to_owned());
                }
                None => Ok(wire.result.map_or("null", RawValue::get)),
            };
            Incoming::Response { id, result }
        }
    };
    Ok(Some(incoming))
}
