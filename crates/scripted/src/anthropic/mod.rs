//! The Messages API: how a request is read, how a reply is written, how it refuses. Not here: sockets.

mod frames;
mod read;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub(crate) use self::frames::{frames, whole};
pub(crate) use self::read::read;
use crate::script::Refusal;

/// The body of an error.
pub(crate) fn error(refusal: &Refusal) -> Value {
    let code = refusal.code.as_deref().unwrap_or_else(|| error_type(refusal.status));
    json!({"type": "error", "error": {"type": code, "message": refusal.message}, "request_id": null})
}

fn error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500..=599 => "api_error",
        _ => "invalid_request_error",
    }
}

/// The list of models.
pub(crate) fn models() -> Value {
    let id = "scripted";
    json!({
        "data": [{"type": "model", "id": id, "display_name": "Scripted model", "created_at": "2025-01-01T00:00:00Z"}],
        "has_more": false, "first_id": id, "last_id": id,
    })
}
