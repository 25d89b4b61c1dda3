//! Prompts with places to fill in: `{{name}}`. `\{{` stands for two braces.

use std::collections::BTreeMap;

use super::Error;

/// The longest prompt before it is filled in.
pub(super) const MAX_TEMPLATE_BYTES: usize = 16 * 1024;

/// The longest prompt when it is filled in: a run that says more fails.
pub(super) const MAX_PROMPT_BYTES: usize = 32 * 1024;

/// How much of what the last run said is kept for the next one.
pub const MAX_RESULT_BYTES: usize = 4 * 1024;

const MAX_NAME: usize = 64;

/// Names that every schedule has.
const KNOWN: [&str; 4] = ["date", "time", "last_result", "run_id"];

/// A prompt, read once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Name(String),
}

/// What is put in.
#[derive(Debug, Clone, Default)]
pub struct Words<'a> {
    pub date: String,
    pub time: String,
    pub last_result: &'a str,
    pub run_id: &'a str,
    pub variables: Option<&'a BTreeMap<String, String>>,
}

impl Template {
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            if let Some(before) = before.strip_suffix('\\') {
                plain.push_str(before);
                plain.push_str("{{");
                rest = after;
                continue;
            }
            plain.push_str(before);
            let unclosed = || Error::Template("`{{` is not closed; write `\\{{` for two braces".to_owned());
            let (name, after) = after.split_once("}}").ok_or_else(unclosed)?;
            let name = name.trim();
            if !is_name(name) {
                let why = format!("`{{{{{name}}}}}` is no name of letters, digits and `_`; write `\\{{{{` for braces");
                return Err(Error::Template(why));
            }
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(Piece::Name(name.to_owned()));
            rest = after;
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        Ok(Self(pieces))
    }

    /// Refuses names that nobody gives a value.
    pub(super) fn check<'a>(&self, variables: impl Iterator<Item = &'a str> + Clone) -> Result<(), Error> {
        for name in variables.clone() {
            if !is_name(name) || KNOWN.contains(&name) {
                let why = format!("{name:?} is no name for a variable, or is taken");
                return Err(Error::Field { field: "variables", why });
            }
        }
        let is_known = |name: &str| KNOWN.contains(&name) || variables.clone().any(|variable| variable == name);
        let unknown = self.0.iter().find_map(|piece| match piece {
            Piece::Name(name) if !is_known(name) => Some(name),
            Piece::Name(_) | Piece::Text(_) => None,
        });
        match unknown {
            None => Ok(()),
            Some(name) => {
                let known: Vec<&str> = KNOWN.into_iter().chain(variables).collect();
                let known = known.join(", ");
                Err(Error::Template(format!("`{{{{{name}}}}}` has no value; there are {known}")))
            }
        }
    }

    pub fn fill(&self, words: &Words<'_>) -> String {
        let value = |name: &str| match name {
            "date" => words.date.as_str(),
            "time" => words.time.as_str(),
            "last_result" => words.last_result,
            "run_id" => words.run_id,
            name => words.variables.and_then(|variables| variables.get(name)).map_or("", String::as_str),
        };
        let said = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Name(name) => value(name),
        });
        said.collect()
    }
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
