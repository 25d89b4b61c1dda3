//! What went wrong, in words that a person can act on, with a code that a program can.

use serde_json::Value;

use super::wire::{RateLimit, TurnResult};
use crate::event::Failure;
use crate::runtime::StartFailure;

/// What the program said in place of an answer.
#[derive(Debug, Default)]
pub(super) struct ApiError {
    pub(super) kind: String,
    pub(super) status: Option<u16>,
    pub(super) text: String,
}

/// Why a turn failed.
pub(super) fn of_turn(result: &TurnResult, said: Option<ApiError>, limit: Option<&RateLimit>) -> Failure {
    let said = said.unwrap_or_default();
    let status = result.api_error_status.or(said.status);
    let status = status.or_else(|| result.api_error_type.as_deref().and_then(status_of));
    let reason = result.terminal_reason.as_deref().unwrap_or_default();
    let text = [said.text, result.result.clone().unwrap_or_default(), errors_of(result)];
    let text = text.into_iter().find(|text| !text.is_empty());
    let says = |words: &str| text.as_deref().is_some_and(|text| text.to_lowercase().contains(words));
    if result.stop_reason.as_deref() == Some("refusal") {
        return of_refusal(result);
    }
    let rejected = limit.is_some_and(|limit| limit.status == "rejected");
    let (code, retryable, fix) = match (reason, said.kind.as_str(), status) {
        ("prompt_too_long", ..) | (.., Some(413)) => CONTEXT,
        (_, "max_output_tokens", _) if says("context window") => CONTEXT,
        (_, "max_output_tokens", _) => (
            "output_limit",
            true,
            "ask for less at a time, or send a message to go on; CLAUDE_CODE_MAX_OUTPUT_TOKENS in `env` changes the limit",
        ),
        ("api_error", _, None | Some(400)) if says("content filter") => {
            ("content_filtered", false, "say what you want in another way; a filter of the model's service blocked it")
        }
        (_, "model_not_found", _) => {
            ("model_not_found", false, "choose another model; the session's list of models says which there are")
        }
        ("max_turns", ..) => ("max_turns", true, "send a message to go on, or give the session more turns"),
        ("budget_exhausted", ..) => ("budget_exhausted", false, "give the session a larger budget"),
        (_, "authentication_failed", None) => {
            ("not_logged_in", false, "log in with `claude` in a terminal, or set ANTHROPIC_API_KEY for the daemon")
        }
        (_, "authentication_failed", _) | (.., Some(401 | 403)) => {
            ("key_refused", false, "check the key or the login of Claude Code, then send the message again")
        }
        (_, "billing_error", _) | (.., Some(402)) => {
            ("quota_exhausted", false, "add credit to the account, then send the message again")
        }
        (_, "rate_limit", _) | (.., Some(429)) if rejected => {
            ("quota_exhausted", true, "wait until the limit is reset, then send the message again")
        }
        (_, "rate_limit", _) | (.., Some(429)) => ("rate_limited", true, "wait a moment, then send the message again"),
        (.., Some(529)) => ("overloaded", true, "the model is overloaded; send the message again in a while"),
        (.., Some(400..=499)) => ("request_refused", false, "change the message or the model, then send it again"),
        (.., Some(_)) => ("model_error", true, "send the message again; if it goes on, check the model's service"),
        ("api_error", "unknown" | "server_error" | "", None) => {
            ("connection_failed", true, "check the network and the address of the model, then send the message again")
        }
        _ => ("agent_failed", true, "send the message again"),
    };
    Failure {
        message: text.unwrap_or_else(|| format!("Claude Code ended the turn with {reason:?}")),
        code: code.to_owned(),
        retryable,
        fix: Some(fix.to_owned()),
    }
}

/// The status that stands for a kind of error of the model's service.
fn status_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

type Classified = (&'static str, bool, &'static str);

const CONTEXT: Classified =
    ("context_too_long", false, "compact the session, or take back some turns, then send the message again");

/// The model would not answer.
pub(super) fn of_refusal(result: &TurnResult) -> Failure {
    Failure {
        message: result.result.clone().unwrap_or_else(|| "the model would not answer".to_owned()),
        code: "refused_by_policy".to_owned(),
        retryable: false,
        fix: Some("say what you want in another way, or choose another model".to_owned()),
    }
}

/// A compaction that was asked for did not work.
pub(super) fn of_compaction(why: &str) -> Failure {
    Failure {
        message: format!("Claude Code could not compact the conversation: {why}"),
        code: "compaction_failed".to_owned(),
        retryable: true,
        fix: Some("try again, take back some turns, or go on in a new session".to_owned()),
    }
}

/// Why the program ended before it was ready, when it said so in a result.
pub(super) fn of_start(result: &TurnResult) -> StartFailure {
    let message = errors_of(result);
    let (code, fix) = if message.contains("No conversation found") {
        ("conversation_not_found", "check the id; `turnloom adopt` lists the conversations there are")
    } else if message.contains("No message found") {
        ("turn_not_found", "the conversation does not have that turn any more; fork or roll back to another one")
    } else {
        ("agent_start_failed", "run `turnloom doctor`")
    };
    StartFailure {
        message: format!("Claude Code did not start: {message}"),
        code: code.to_owned(),
        fix: Some(fix.to_owned()),
    }
}

fn errors_of(result: &TurnResult) -> String {
    // Its own diagnostics are for its own makers.
    let texts = result.errors.iter().filter_map(Value::as_str).filter(|text| !text.starts_with("[ede_diagnostic]"));
    texts.collect::<Vec<_>>().join("; ")
}
