//! One interface to both APIs, so that the server has a single code path.

use axum::http::{HeaderMap, HeaderValue};
use serde_json::Value;

use crate::frame::Frame;
use crate::ids::Ids;
use crate::plan::{Break, Pause, Speech};
use crate::request::{Api, Malformed, ModelRequest};
use crate::script::Refusal;
use crate::{anthropic, openai};

impl Api {
    pub(crate) fn read(self, body: &[u8], headers: &HeaderMap) -> Result<ModelRequest, Malformed> {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Openai => openai::read(body, headers.get(openai::METADATA).map(HeaderValue::as_bytes)),
        }
    }

    pub(crate) fn frames(self, speech: &Speech, asked: &ModelRequest, ids: &mut Ids) -> Vec<Frame> {
        match self {
            Self::Anthropic => anthropic::frames(speech, &asked.model, ids),
            Self::Openai => openai::frames(speech, &asked.model, ids),
        }
    }

    /// The reply in one piece, and what is waited for before.
    pub(crate) fn whole(
        self,
        speech: &Speech,
        asked: &ModelRequest,
        ids: &mut Ids,
    ) -> (Vec<Pause>, Result<Value, Break>) {
        match self {
            Self::Anthropic => anthropic::whole(speech, &asked.model, ids),
            Self::Openai => openai::whole(speech, &asked.model, ids),
        }
    }

    pub(crate) fn error(self, refusal: &Refusal) -> Value {
        match self {
            Self::Anthropic => anthropic::error(refusal),
            Self::Openai => openai::error(refusal),
        }
    }

    pub(crate) fn models(self) -> Value {
        match self {
            Self::Anthropic => anthropic::models(),
            Self::Openai => openai::models(),
        }
    }
}
