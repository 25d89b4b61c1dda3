//! Which reply answers: the first in the file that still may, and whose conditions hold. Nothing else decides, so a run can be repeated.
//! What the reply says is in `plan`.

use crate::request::{Kind, ModelRequest};
use crate::script::{Reply, Script, Step, Stop, TextKind, Usage, When};

/// A script that is being played.
#[derive(Debug)]
pub(crate) struct ScriptPlayer {
    replies: Vec<(Reply, Option<u64>)>,
}

impl ScriptPlayer {
    pub(crate) fn new(script: Script) -> Self {
        Self { replies: script.replies.into_iter().map(|reply| (reply.clone(), reply.uses)).collect() }
    }

    /// The reply for this request, which has then been used once more; none if the script has nothing.
    pub(crate) fn choose(&mut self, asked: &ModelRequest) -> Option<&Reply> {
        let (reply, left) =
            self.replies.iter_mut().find(|(reply, left)| *left != Some(0) && holds(&reply.when, asked))?;
        if let Some(left) = left {
            *left -= 1;
        }
        Some(reply)
    }
}

fn holds(when: &When, asked: &ModelRequest) -> bool {
    let within = |part: &Option<String>, whole: Option<&String>| {
        part.as_ref().is_none_or(|part| whole.is_some_and(|whole| contains(whole, part)))
    };
    when.kind == asked.kind
        && when.api.is_none_or(|api| api == asked.api)
        && within(&when.user, asked.user.as_ref())
        && within(&when.tool_result, asked.tool_result.as_ref())
        && within(&when.system, Some(&asked.system))
        && within(&when.model, Some(&asked.model))
        && when.after.is_none_or(|reply| asked.after.contains(&reply))
        && when.tool.as_ref().is_none_or(|tool| asked.offers(tool))
}

/// People write "Hello" and "hello".
fn contains(whole: &str, part: &str) -> bool {
    whole.to_lowercase().contains(&part.to_lowercase())
}

/// What is said when the script has nothing: a fixed sentence, so that nobody mistakes it for a reply.
pub(crate) fn nothing(kind: Kind) -> Reply {
    let text = match kind {
        Kind::Turn => "The script has nothing for this message.",
        // Without this tag Claude Code asks once more.
        Kind::Compact => "<summary>The conversation so far was held with a scripted model.</summary>",
        // The form in which Claude Code wants a title.
        Kind::Side => r#"{"title": "Scripted session"}"#,
    };
    Reply {
        number: 0,
        name: String::new(),
        when: When::default(),
        uses: None,
        steps: vec![Step::Say { voice: TextKind::Text, text: text.to_owned(), pace: crate::script::Pace::default() }],
        usage: Usage::default(),
        stop: Stop::Natural,
    }
}

#[cfg(test)]
mod tests;
