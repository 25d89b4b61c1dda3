//! What went wrong, sorted: a code that programs can act on, and what a person can do about it.

use serde_json::{Value, json};

use super::wire::TurnError;
use crate::event::{Activity, Failure, Status};
use crate::runtime::jsonrpc;

/// A turn that failed.
pub(super) fn of_turn(error: &TurnError) -> Failure {
    let (code, retryable, fix) = sort(error);
    let message = plain(&error.message);
    Failure { message, code: code.to_owned(), retryable, fix: Some(fix.to_owned()) }
}

/// A request that was refused.
pub(super) fn of_refusal(what: &str, error: &jsonrpc::Error) -> Failure {
    let info = error.data.as_ref().and_then(|data| data.get("codexErrorInfo")).cloned().unwrap_or_default();
    let known = TurnError { message: error.message.clone(), codex_error_info: info, additional_details: None };
    let (code, retryable, fix) = match sort(&known) {
        ("model_error", ..) => {
            ("agent_refused", true, "send the message again; if that does not help, start a new session")
        }
        sorted => sorted,
    };
    Failure {
        message: format!("Codex refused {what}: {}", error.message),
        code: code.to_owned(),
        retryable,
        fix: Some(fix.to_owned()),
    }
}

/// Codex tries again by itself.
pub(super) fn retrying(error: &TurnError) -> Status {
    let (code, ..) = sort(error);
    let attempt = error.message.split_whitespace().find_map(|word| word.split_once('/')?.0.parse().ok());
    let detail = match &error.additional_details {
        Some(reason) => json!({ "code": code, "reason": reason }),
        None => json!({ "code": code }),
    };
    Status { state: Activity::Retrying, label: Some(plain(&error.message)), attempt, detail: Some(detail) }
}

fn sort(error: &TurnError) -> (&'static str, bool, &'static str) {
    let (name, status) = info(&error.codex_error_info);
    let said = [Some(error.message.as_str()), error.additional_details.as_deref()];
    let says = |words: &str| said.into_iter().flatten().any(|text| text.contains(words));
    // `codex exec` has only the words.
    let status = status.or_else(|| said.into_iter().flatten().find_map(status_in));
    match (name, status) {
        ("unauthorized", _) => NOT_LOGGED_IN,
        (_, Some(401 | 403)) => KEY_REFUSED,
        ("usageLimitExceeded" | "sessionBudgetExceeded", _) | (_, Some(402)) => QUOTA,
        ("rateLimitExceeded", _) | (_, Some(429)) => RATE,
        ("serverOverloaded" | "flexUnavailable" | "policyCapacityUnavailable", _) | (_, Some(503 | 529)) => OVERLOADED,
        ("contextWindowExceeded", _) => CONTEXT,
        ("modelNotFound", _) | (_, Some(404)) => {
            ("model_not_found", false, "choose another model; the session's list of models says which there are")
        }
        ("sandboxError", _) => (
            "sandbox_failed",
            false,
            "check the sandbox of this machine with `codex sandbox`, or choose another sandbox mode",
        ),
        ("cyberPolicy" | "misalignmentPolicyViolation", _) => {
            ("refused_by_policy", false, "say what you want in another way")
        }
        ("tooManyDenials", _) => ("too_many_denials", false, "allow what is needed, or ask for something else"),
        ("activeTurnNotSteerable", _) => ("busy", true, "wait until the running turn has ended"),
        (_, Some(500..)) | ("internalServerError", _) => ("model_error", true, "send the message again in a while"),
        (_, Some(400..)) | ("badRequest", _) => MODEL,
        _ if says("Missing environment variable") || says("not logged in") || says("codex login") => NOT_LOGGED_IN,
        _ if says("rate limit") => RATE,
        ("httpConnectionFailed" | "responseStreamConnectionFailed" | "responseStreamDisconnected", None) => CONNECTION,
        _ if says("error sending request") || says("stream disconnected") => CONNECTION,
        ("responseTooManyFailedAttempts", _) => ("model_error", true, "send the message again in a while"),
        _ if says("high demand") || says("at capacity") => OVERLOADED,
        _ if says("Quota exceeded") || says("usage limit") => QUOTA,
        _ if says("context window") => CONTEXT,
        _ => MODEL,
    }
}

type Sorted = (&'static str, bool, &'static str);

const NOT_LOGGED_IN: Sorted = (
    "not_logged_in",
    false,
    "run `codex login`, or put the API key into the daemon's environment, then send the message again",
);
const KEY_REFUSED: Sorted = (
    "key_refused",
    false,
    "the service does not accept the key: check it, or run `codex login`, then send the message again",
);
const QUOTA: Sorted =
    ("quota_exhausted", false, "check plan and billing of the account, or wait until the limit is reset");
const RATE: Sorted = ("rate_limited", true, "wait a while, then send the message again");
const OVERLOADED: Sorted = ("overloaded", true, "send the message again in a while, or choose another model");
const CONTEXT: Sorted = ("context_too_long", false, "compact the conversation, or start a new session");
const CONNECTION: Sorted =
    ("connection_failed", true, "check the network and the address of the model provider, then send the message again");
const MODEL: Sorted = ("model_error", false, "the model did not accept the request; the message says why");

/// The name of what went wrong, and the HTTP status behind it. A name, or an object with one member that is the name.
fn info(info: &Value) -> (&str, Option<u64>) {
    match info {
        Value::String(name) => (name, None),
        Value::Object(members) => match members.iter().next() {
            Some((name, more)) => (name, more.get("httpStatusCode").and_then(Value::as_u64)),
            None => ("", None),
        },
        _ => ("", None),
    }
}

/// The HTTP status in `unexpected status 401 Unauthorized: ...` or `exceeded retry limit, last status: 429 Too Many Requests`.
fn status_in(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("unexpected status ").or_else(|| text.split_once("last status: "))?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Some errors are the body of an HTTP answer; what it says is inside.
fn plain(message: &str) -> String {
    let body: Option<Value> = serde_json::from_str(message).ok();
    let inside = body.as_ref().and_then(|body| body.pointer("/error/message")).and_then(Value::as_str);
    inside.unwrap_or(message).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{of_turn, retrying};
    use crate::runtime::codex::wire::TurnError;

    #[test]
    fn errors_are_sorted() {
        for (info, message, code, retryable) in [
            (json!("unauthorized"), "", "not_logged_in", false),
            (json!("other"), "Missing environment variable: `KEY`.", "not_logged_in", false),
            (json!({ "httpConnectionFailed": { "httpStatusCode": 401 } }), "", "key_refused", false),
            (json!("usageLimitExceeded"), "", "quota_exhausted", false),
            (json!({ "responseTooManyFailedAttempts": { "httpStatusCode": 429 } }), "", "rate_limited", true),
            (json!({ "responseStreamDisconnected": {} }), "rate limit exceeded", "rate_limited", true),
            (json!("serverOverloaded"), "", "overloaded", true),
            (json!("contextWindowExceeded"), "", "context_too_long", false),
            (json!("internalServerError"), "", "model_error", true),
            (json!({ "httpConnectionFailed": { "httpStatusCode": null } }), "", "connection_failed", true),
            (json!({ "responseStreamDisconnected": {} }), "", "connection_failed", true),
            (Value::Null, "unexpected status 401 Unauthorized: Incorrect API key provided", "key_refused", false),
            (Value::Null, "exceeded retry limit, last status: 429 Too Many Requests", "rate_limited", true),
            (Value::Null, "Quota exceeded. Check your plan and billing details.", "quota_exhausted", false),
            (Value::Null, "Codex ran out of room in the model's context window.", "context_too_long", false),
            (json!("somethingNew"), "", "model_error", false),
            (Value::Null, "", "model_error", false),
        ] {
            let error = TurnError { message: message.into(), codex_error_info: info, ..TurnError::default() };
            let failure = of_turn(&error);
            assert_eq!((failure.code.as_str(), failure.retryable), (code, retryable), "{error:?}");
            assert!(failure.fix.is_some());
        }
    }

    #[test]
    fn a_retry_says_which() {
        let error = TurnError { message: "Reconnecting... 2/5".into(), ..TurnError::default() };
        assert_eq!(retrying(&error).attempt, Some(2));
    }
}
