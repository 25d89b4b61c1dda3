//! Messages: checks the text or the parts of a message and passes it to its session.

use std::borrow::Cow;
use std::fmt;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use turnloom_core::command::{ClientCommand, Command, Edit, Message, Receipt, Refusal, Reply, When};
use turnloom_core::event::{Origin, Part};
use turnloom_core::id::{MessageId, SessionId};

use super::App;
use super::extract::{Body, Client, Session};
use super::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Send {
    message: Content,
    /// Chosen by the client: the same id again is the same message, and is not sent twice.
    message_id: Option<String>,
    /// What to do when a turn is running.
    #[serde(default)]
    when: When,
    /// Whose words they are.
    #[serde(default)]
    origin: Words,
}

/// Whose words a client sends.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MessageOrigin")]
pub(super) enum Words {
    /// Those of the person.
    #[default]
    User,
    /// Those of a component's page, which the person has let through.
    Component,
}

/// A text, or a list of parts.
#[derive(Debug)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<InputPart>),
}

/// One piece of a message, as clients send it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum InputPart {
    Text {
        text: String,
    },
    /// `data` is base64.
    Image {
        media_type: String,
        data: String,
    },
    File {
        path: String,
    },
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrParts;
        impl<'de> Visitor<'de> for TextOrParts {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`message` as a text or a list of parts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
                let mut content = Vec::new();
                while let Some(part) = parts.next_element()? {
                    content.push(part);
                }
                Ok(Content::Parts(content))
            }
        }
        deserializer.deserialize_any(TextOrParts)
    }
}

impl JsonSchema for Content {
    fn schema_name() -> Cow<'static, str> {
        "MessageContent".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let part = generator.subschema_for::<InputPart>();
        json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": part }] })
    }
}

impl Content {
    /// What it says, if this session's agent can take it.
    fn check(self, app: &App, runtime: &str) -> Result<Vec<Part>, Problem> {
        let capabilities =
            app.sessions.runtimes().get(runtime).map(crate::runtime::Runtime::capabilities).unwrap_or_default();
        let parts = match self {
            Content::Text(text) => vec![InputPart::Text { text }],
            Content::Parts(parts) => parts,
        };
        let mut content = Vec::with_capacity(parts.len());
        for part in parts {
            content.push(match part {
                InputPart::Text { text } => Part::Text { text },
                InputPart::Image { .. } if !capabilities.images => {
                    return Err(Refusal::Unsupported { what: "take images" }.into());
                }
                InputPart::Image { media_type, data } => Part::Image { media_type, data: Some(data), blob: None },
                InputPart::File { .. } if !capabilities.files => {
                    return Err(Refusal::Unsupported { what: "take files" }.into());
                }
                InputPart::File { path } => Part::File { path },
            });
        }
        let says_something = content.iter().any(|part| !matches!(part, Part::Text { text } if text.trim().is_empty()));
        if !says_something {
            return Err(Problem::invalid("`message` must say something"));
        }
        Ok(content)
    }

    /// What it makes of a message that waits.
    pub(super) fn into_edit(self, app: &App, runtime: &str) -> Result<Edit, Problem> {
        match self {
            Content::Text(text) => Ok(Edit::Words(text)),
            Content::Parts(_) => self.check(app, runtime).map(Edit::All),
        }
    }
}

impl Send {
    fn check(self, app: &App, runtime: &str) -> Result<(Message, When), Problem> {
        let parse =
            |text: String| MessageId::parse(&text).map_err(|error| Problem::invalid(format!("`message_id`: {error}")));
        let id = self.message_id.map(parse).transpose()?;
        let content = self.message.check(app, runtime)?;
        let origin = match self.origin {
            Words::User => Origin::User,
            Words::Component => Origin::Component,
        };
        Ok((Message { id, content, origin, source: None }, self.when))
    }
}

pub(super) async fn send(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
    Body(send): Body<Send>,
) -> Result<Response, Problem> {
    let receipt = accept(&app, &id, by, send).await?;
    Ok((StatusCode::ACCEPTED, Json(receipt)).into_response())
}

/// Hands a message to its session; when this returns, it is durable.
pub(super) async fn accept(app: &App, id: &SessionId, by: String, send: Send) -> Result<Receipt, Problem> {
    let row = app.sessions.row(id).await?;
    let (message, when) = send.check(app, &row.runtime)?;
    match app.sessions.execute(id, ClientCommand { by, command: Command::Send { message, when } }).await? {
        Reply::Accepted { receipt, .. } => Ok(receipt),
        Reply::Stopped { .. }
        | Reply::Resolved { .. }
        | Reply::Done
        | Reply::Queue(_)
        | Reply::Queued(_)
        | Reply::State { .. }
        | Reply::Inherited(_)
        | Reply::Noted { .. } => Err(Problem::unexpected("a message")),
    }
}
