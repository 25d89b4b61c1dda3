//! Asks that are settled by the answer to another one: equal ones in all sessions, and those that a rule allows which somebody has just stored. Each has
//! one outcome: its session settles it, and whoever came first has won.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnloom_core::command::{AfterAnswer, Answer, ClientCommand, Command, Refusal, Reply};
use turnloom_core::event::PermissionReply;
use turnloom_core::id::{AskId, Seq, SessionId};
use turnloom_core::policy;
use turnloom_core::summary::{AskRequest, PendingAsk};

use super::{Error, Sessions};

/// An ask that was settled along with another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettledAlong {
    pub session_id: SessionId,
    pub ask_id: AskId,
    /// Where its log says so.
    pub seq: Seq,
}

/// Somebody has answered *always*.
#[derive(Debug, Clone)]
pub(super) struct RuleStored {
    pub(super) by: String,
    /// Which ask was answered so.
    pub(super) ask_id: AskId,
}

impl Sessions {
    /// Answers an ask, and so every other that waits for the same: the same tool with the same input, whichever session asks.
    pub async fn answer_equal(
        &self,
        id: &SessionId,
        ask_id: AskId,
        answer: Answer,
        by: String,
    ) -> Result<(Seq, Vec<SettledAlong>), Error> {
        let waiting = self.waiting_asks().await?;
        let same = waiting.iter().find(|(session_id, ask)| session_id == id && ask.ask_id == ask_id);
        let wanted = same.and_then(|(_, ask)| identity(ask));
        let along = along(&answer);
        let command = Command::Answer { ask_id: ask_id.clone(), answer };
        let Reply::Resolved { seq } = self.execute(id, ClientCommand { by: by.clone(), command }).await? else {
            return Err(Error::Invalid("this is not answered so".to_owned()));
        };
        let (Some(wanted), Some(along)) = (wanted, along) else { return Ok((seq, Vec::new())) };
        let mut settled = Vec::new();
        // Looked for again: some were asked meanwhile, others answered.
        for (session_id, ask) in self.waiting_asks().await? {
            if identity(&ask).as_ref() != Some(&wanted) {
                continue;
            }
            let command =
                Command::AnswerAlong { ask_id: ask.ask_id.clone(), answer: along.clone(), with: ask_id.clone() };
            match self.execute(&session_id, ClientCommand { by: by.clone(), command }).await {
                Ok(Reply::Resolved { seq }) => settled.push(SettledAlong { session_id, ask_id: ask.ask_id, seq }),
                // Somebody was quicker.
                Err(Error::Refused(Refusal::AlreadyResolved { .. } | Refusal::AskNotFound(_))) => {}
                Ok(_) => {}
                Err(error) => tracing::warn!(session = %session_id, %error, "an equal ask could not be answered"),
            }
        }
        Ok((seq, settled))
    }

    async fn waiting_asks(&self) -> Result<Vec<(SessionId, PendingAsk)>, Error> {
        let rows = self.log().waiting().await?;
        Ok(rows
            .into_iter()
            .flat_map(|row| row.summary.asks.into_iter().map(move |ask| (row.id.clone(), ask)))
            .collect())
    }

    /// There is one more rule: every session looks whether it allows what waits there.
    pub(super) fn rule_stored(&self, by: String, ask_id: AskId) {
        self.0.rule_stored.send_replace(Some(RuleStored { by, ask_id }));
    }
}

/// What two equal asks have in common. Only permissions of calls can be equal.
fn identity(ask: &PendingAsk) -> Option<(String, String)> {
    let AskRequest::Permission(request) = &ask.request else { return None };
    let judged = request.judged.as_ref().map(|judged| judged.input_sha256.clone());
    Some((request.tool_name.clone(), judged.unwrap_or_else(|| policy::digest(&request.tool_input))))
}

/// The same answer for another ask. A rule is stored once, and only the turn that was meant is ended.
fn along(answer: &Answer) -> Option<Answer> {
    let Answer::Permission { reply, message, .. } = answer else { return None };
    let reply = if *reply == PermissionReply::Reject { PermissionReply::Reject } else { PermissionReply::Once };
    Some(allowed_or_not(reply, message.clone()))
}

pub(super) fn allowed_or_not(reply: PermissionReply, message: Option<String>) -> Answer {
    Answer::Permission { reply, message, updated_input: None, rule: None, and_then: AfterAnswer::GoOn }
}
