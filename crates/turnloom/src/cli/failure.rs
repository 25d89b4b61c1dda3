//! What the command line says when something did not work: one line with what happened, one with what to do.

use crate::client;

/// An error with its hint.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Failure {
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
    }
}

/// An error as two lines: our own texts say both in one sentence, with a semicolon between them.
pub(super) fn explain(error: &anyhow::Error) -> (String, Option<String>) {
    let text = format!("{error:#}");
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return (text, failure.hint.clone());
    }
    if let Some(hint) = error.downcast_ref::<client::Error>().and_then(hint) {
        return (text, Some(hint));
    }
    match text.rsplit_once("; ") {
        Some((what, hint)) => (what.to_owned(), Some(hint.to_owned())),
        None => (text, None),
    }
}

fn hint(error: &client::Error) -> Option<String> {
    match error {
        client::Error::Problem(problem) => match (&problem.fix, problem.code.as_str()) {
            (Some(fix), _) => Some(fix.clone()),
            (None, "unauthorized") => Some("give its token with --token or TURNLOOM_TOKEN".to_owned()),
            (None, "session_not_found") => Some("list them with `turnloom sessions`".to_owned()),
            (None, "ask_not_found") => Some("list what waits with `turnloom asks`".to_owned()),
            (None, "busy") => {
                Some("wait for the turn, end it with `turnloom stop`, or send with --when queue".to_owned())
            }
            (None, "session_exists") => Some("choose another name".to_owned()),
            (None, _) => None,
        },
        client::Error::Unreachable { .. } => Some("start one with `turnloom up`, or see `turnloom doctor`".to_owned()),
        client::Error::NotOurs { .. } => Some("check --url".to_owned()),
        client::Error::BadUrl(_) | client::Error::Certificates(_) => None,
    }
}

/// Whether the reader of our output has closed the pipe. That is no failure: `head` does it.
pub(super) fn reader_left(error: &anyhow::Error) -> bool {
    let broken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_in_two_lines() {
        let problem = |code: &str, fix: Option<&str>| client::Problem {
            status: 400,
            code: code.to_owned(),
            detail: "it; is so".to_owned(),
            fix: fix.map(str::to_owned),
        };
        for (error, expected) in [
            (Failure::new("a; b", "c").into(), ("a; b", Some("c"))),
            (anyhow::anyhow!("x is wrong; do y"), ("x is wrong", Some("do y"))),
            (anyhow::anyhow!("x is wrong"), ("x is wrong", None)),
            (client::Error::from(problem("other", Some("do z"))).into(), ("it; is so", Some("do z"))),
            (
                client::Error::from(problem("session_not_found", None)).into(),
                ("it; is so", Some("list them with `turnloom sessions`")),
            ),
        ] {
            let (what, hint) = explain(&error);
            assert_eq!((what.as_str(), hint.as_deref()), expected);
        }
    }
}
