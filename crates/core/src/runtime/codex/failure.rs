//! What went wrong, sorted: a code that programs can act on, and what a person can do about it.

use serde_json::{Value, json};

use super::wire::TurnError;
use crate::event::{Activity, Failure, Status};
use crate::runtime::jsonrpc;

/// A turn that failed.
pub(super) fn of_turn(error: &TurnError) -> Failure {
    let (code, retryable, fix) = classify(error);
    let message = plain(&error.message);
    Failure { message, code: code.to_owned(), retryable, fix: Some(fix.to_owned()) }
}

/// A request that was refused.
pub(super) fn of_refusal(what: &str, error: &jsonrpc::Error) -> Failure {
    let info = error.data.as_ref().and_then(|data| data.get("codexErrorInfo")).cloned().unwrap_or_default();
    let known = TurnError { message: error.message.clone(), codex_error_info: info, additional_details: None };
    let (code, retryable, fix) = match classify(&known) {
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

/// The model did not want to answer.
pub(super) fn of_refused_answer(said: String) -> Failure {
    let (code, retryable, fix) = REFUSED;
    Failure { message: said, code: code.to_owned(), retryable, fix: Some(fix.to_owned()) }
}

/// A compaction that did not come to its end. Where something else has to be mended first, that is said.
pub(super) fn of_compaction(failure: Failure) -> Failure {
    if !matches!(failure.code.as_str(), "model_error" | "context_too_long" | "output_limit" | "connection_failed") {
        return failure;
    }
    Failure {
        message: format!("the conversation could not be made shorter: {}", failure.message),
        code: "compaction_failed".to_owned(),
        retryable: true,
        fix: Some("compact again in a while, go back some turns, or start a new session".to_owned()),
    }
}

/// Codex tries again by itself.
pub(super) fn retrying(error: &TurnError) -> Status {
    let (code, ..) = classify(error);
    let attempt = error.message.split_whitespace().find_map(|word| word.split_once('/')?.0.parse().ok());
    let detail = match &error.additional_details {
        Some(reason) => json!({ "code": code, "reason": reason }),
        None => json!({ "code": code }),
    };
    Status { state: Activity::Retrying, label: Some(plain(&error.message)), attempt, detail: Some(detail) }
}

fn classify(error: &TurnError) -> (&'static str, bool, &'static str) {
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
        ("cyberPolicy" | "misalignmentPolicyViolation", _) => REFUSED,
        ("tooManyDenials", _) => ("too_many_denials", false, "allow what is needed, or ask for something else"),
        ("activeTurnNotSteerable", _) => ("busy", true, "wait until the running turn has ended"),
        // The answer came, and says why it ends: not a matter of the connection, also where Codex calls it one.
        _ if says("reason: max_output_tokens") => OUTPUT_LIMIT,
        _ if says("content_filter") || says("content management policy") || says("content_policy") => FILTERED,
        _ if says("usage policy") || says("usage policies") || says("safety policy") => REFUSED,
        (_, Some(500..)) | ("internalServerError", _) => ("model_error", true, "send the message again in a while"),
        (_, Some(400..)) | ("badRequest", _) => MODEL,
        _ if says("Missing environment variable") || says("not logged in") || says("codex login") => NOT_LOGGED_IN,
        _ if says("rate limit") => RATE,
        ("httpConnectionFailed" | "responseStreamConnectionFailed", None) => CONNECTION,
        _ if says("error sending request") => CONNECTION,
        _ if said.into_iter().flatten().any(is_what_the_model_said) => {
            ("model_error", true, "send the message again in a while")
        }
        ("responseStreamDisconnected", None) => CONNECTION,
        _ if says("stream disconnected") => CONNECTION,
        ("responseTooManyFailedAttempts", _) => ("model_error", true, "send the message again in a while"),
        _ if says("high demand") || says("at capacity") => OVERLOADED,
        _ if says("Quota exceeded") || says("usage limit") => QUOTA,
        _ if says("context window") => CONTEXT,
        _ => MODEL,
    }
}

type Classified = (&'static str, bool, &'static str);

const NOT_LOGGED_IN: Classified = (
    "not_logged_in",
    false,
    "run `codex login`, or put the API key into the daemon's environment, then send the message again",
);
const KEY_REFUSED: Classified = (
    "key_refused",
    false,
    "the service does not accept the key: check it, or run `codex login`, then send the message again",
);
const REFUSED: Classified = ("refused_by_policy", false, "say what you want in another way");
const FILTERED: Classified =
    ("content_filtered", false, "a filter of the model's provider cut the answer off; ask in another way");
const OUTPUT_LIMIT: Classified =
    ("output_limit", true, "the answer was too long for one: ask the agent to go on, or for less at once");
const QUOTA: Classified =
    ("quota_exhausted", false, "check plan and billing of the account, or wait until the limit is reset");
const RATE: Classified = ("rate_limited", true, "wait a while, then send the message again");
const OVERLOADED: Classified = ("overloaded", true, "send the message again in a while, or choose another model");
const CONTEXT: Classified = ("context_too_long", false, "compact the conversation, or start a new session");
const CONNECTION: Classified =
    ("connection_failed", true, "check the network and the address of the model provider, then send the message again");
const MODEL: Classified = ("model_error", false, "the model did not accept the request; the message says why");

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

/// Codex calls it a disconnected stream too when the model says that it failed. Of the stream itself it has a few words only.
fn is_what_the_model_said(text: &str) -> bool {
    const OF_THE_STREAM: &[&str] =
        &["closed", "timeout", "timed out", "network", "ransport", "decoding", "connection", "websocket"];
    let said = text.split_once("stream disconnected before completion: ").map(|(_, said)| said);
    said.is_some_and(|said| !OF_THE_STREAM.iter().any(|word| said.contains(word)))
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
            (json!("other"), "Incomplete response returned, reason: max_output_tokens", "output_limit", true),
            (
                json!("other"),
                "stream disconnected before completion: Incomplete response returned, reason: content_filter",
                "content_filtered",
                false,
            ),
            (
                json!("other"),
                r#"{"error": {"message": "The response was filtered", "code": "content_filter"}}"#,
                "content_filtered",
                false,
            ),
            (json!("cyberPolicy"), "flagged", "refused_by_policy", false),
            (json!("other"), "Your prompt was flagged as violating our usage policy.", "refused_by_policy", false),
            (json!("other"), "stream disconnected before completion: the model is unwell", "model_error", true),
            (
                json!("other"),
                "stream disconnected before completion: stream closed before response.completed",
                "connection_failed",
                true,
            ),
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
