//! The Responses API: how a request is read, how a reply is written, how it refuses. Not here: sockets.

mod frames;
mod read;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub(crate) use self::frames::{frames, whole};
pub(crate) use self::read::{METADATA, read};
use crate::script::Refusal;

/// The body of an error.
pub(crate) fn error(refusal: &Refusal) -> Value {
    let (kind, code) = match &refusal.code {
        // Which of the two an agent looks at depends on the error, so both say it.
        Some(code) => (code.as_str(), Some(code.as_str())),
        None => error_type(refusal.status),
    };
    json!({"error": {"message": refusal.message, "type": kind, "param": null, "code": code}})
}

fn error_type(status: u16) -> (&'static str, Option<&'static str>) {
    match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        403 => ("invalid_request_error", Some("permission_denied")),
        404 => ("invalid_request_error", Some("not_found")),
        429 => ("requests", Some("rate_limit_exceeded")),
        500..=599 => ("server_error", None),
        _ => ("invalid_request_error", None),
    }
}

/// The list of models.
pub(crate) fn models() -> Value {
    json!({"object": "list", "data": [{"id": "scripted", "object": "model", "created": 0, "owned_by": "turnloom"}]})
}
