//! Templates: text with places that a payload fills.
//!
//! `{/issue/title}` is what a JSON pointer leads to, `{answer}` a value that has a name, `{header.x-github-event}` a header. `{/a|/b}` is the first that is
//! there, and with a `?` at the end of a place nothing at all is right too. `{{` and `}}` are braces.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Headers;

/// The longest template, and how much comes of one.
const MAX_TEMPLATE_BYTES: usize = 16 * 1024;
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

const HEADER: &str = "header.";

/// What stands at the end of a text that was cut.
const CUT: &str = "\n[cut]";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Place { sources: Vec<Source>, optional: bool },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Pointer(String),
    Header(String),
    Name(String),
}

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("a template has at most {MAX_TEMPLATE_BYTES} bytes")]
    TooLong,
    #[error("`{0}` is not closed; write `{{{{` for a brace")]
    Open(String),
    #[error("a `}}` closes nothing; write `}}}}` for a brace")]
    Stray,
    #[error("`{{{0}}}` is no place: write a JSON pointer such as `/issue/title`, `header.NAME` or the name of a value")]
    NoPlace(String),
    #[error("there is no value `{0}` here; there are {1}")]
    UnknownName(String, String),
}

/// A place that nothing fills.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{{{0}}}` leads nowhere in this payload")]
pub struct Nowhere(pub String);

/// What fills the places.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    pub payload: &'a Value,
    pub headers: &'a Headers,
    pub names: &'a [(&'a str, &'a str)],
}

impl Template {
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_TEMPLATE_BYTES {
            return Err(Error::TooLong);
        }
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = from.strip_prefix("{{") {
                plain.push('{');
                rest = after;
            } else if let Some(after) = from.strip_prefix("}}") {
                plain.push('}');
                rest = after;
            } else if let Some(inside) = from.strip_prefix('{') {
                let (place, after) = inside.split_once('}').ok_or_else(|| Error::Open(from.to_owned()))?;
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(parse_place(place)?);
                rest = after;
            } else {
                return Err(Error::Stray);
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self { text: text.to_owned(), pieces })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it says the same of every payload.
    pub fn is_fixed(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(_)))
    }

    /// Refuses names that nobody fills.
    pub fn check_names(&self, known: &[&str]) -> Result<(), Error> {
        let sources = self.pieces.iter().flat_map(|piece| match piece {
            Piece::Text(_) => &[],
            Piece::Place { sources, .. } => sources.as_slice(),
        });
        for source in sources {
            if let Source::Name(name) = source
                && !known.contains(&name.as_str())
            {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(Error::UnknownName(name.clone(), known));
            }
        }
        Ok(())
    }

    /// The text with everything in its place. What is too long is cut.
    pub fn render(&self, scope: Scope<'_>) -> Result<String, Nowhere> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Place { sources, optional } => match sources.iter().find_map(|source| source.find(scope)) {
                    Some(found) => text.push_str(&found),
                    None if *optional => {}
                    None => {
                        let sources: Vec<String> = sources.iter().map(Source::to_string).collect();
                        return Err(Nowhere(sources.join("|")));
                    }
                },
            }
        }
        Ok(cut(text))
    }
}

fn parse_place(place: &str) -> Result<Piece, Error> {
    let wrong = || Error::NoPlace(place.to_owned());
    let (inside, optional) = place.strip_suffix('?').map_or((place, false), |inside| (inside, true));
    let sources = inside.split('|').map(|source| {
        let is_word = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        match source.strip_prefix(HEADER) {
            _ if is_pointer(source) => Ok(Source::Pointer(source.to_owned())),
            Some(name) if is_word(name) => Ok(Source::Header(name.to_ascii_lowercase())),
            None if is_word(source) => Ok(Source::Name(source.to_owned())),
            Some(_) | None => Err(wrong()),
        }
    });
    Ok(Piece::Place { sources: sources.collect::<Result<_, _>>()?, optional })
}

/// RFC 6901, and not the whole document: nobody wants to read that.
pub(super) fn is_pointer(text: &str) -> bool {
    let escapes = text.match_indices('~').all(|(at, _)| matches!(text.as_bytes().get(at + 1), Some(b'0' | b'1')));
    text.starts_with('/') && escapes
}

impl Source {
    fn find<'a>(&self, scope: Scope<'a>) -> Option<Cow<'a, str>> {
        match self {
            Self::Pointer(pointer) => text_of(scope.payload.pointer(pointer)?),
            Self::Header(name) => scope.headers.get(name).map(Cow::Borrowed),
            Self::Name(name) => {
                let found = scope.names.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| Cow::Borrowed(*value))
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pointer(pointer) => f.write_str(pointer),
            Self::Header(name) => write!(f, "{HEADER}{name}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// A value as text: strings as they are, the rest as JSON. `null` is nothing.
pub(super) fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(Cow::Owned(value.to_string())),
    }
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES - CUT.len()));
        text.push_str(CUT);
    }
    text
}

impl TryFrom<String> for Template {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::parse(&text)
    }
}

impl From<Template> for String {
    fn from(template: Template) -> Self {
        template.text
    }
}

impl JsonSchema for Template {
    fn schema_name() -> Cow<'static, str> {
        "Template".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": MAX_TEMPLATE_BYTES,
            "description": "Text with places that a payload fills: `{/issue/title}`, `{header.x-github-event}`, `{/a|/b}`, `{/a?}`."
        })
    }
}

#[cfg(test)]
mod tests;
