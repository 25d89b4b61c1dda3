//! The rules that people have answered *always* with: a file of rules like any other, which the daemon writes.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use sha2::{Digest as _, Sha256};
use turnloom_core::event::RuleScope;
use turnloom_core::id::SessionId;
use turnloom_core::policy::{Error, RulesFile};
use turnloom_core::time::Timestamp;

use crate::sync::Locked;

const HEAD: &str =
    "# What was answered with \"always\". The daemon adds to it; you may remove rules, or move them to policy.toml.\n";

/// Rules that may be kept. A person who answers this often wants a mode of their own.
const MAX_RULES: usize = 2000;

/// One rule that somebody chose.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredRule {
    pub id: String,
    /// How far it reaches.
    pub scope: RuleScope,
    /// The rule, in TOML.
    pub rule: String,
    /// What it is about, in words. Names and patterns stand between backticks.
    #[serde(default)]
    pub says: String,
    /// Who chose it, and when.
    pub note: Option<String>,
    /// The same, where the note is as the daemon wrote it.
    pub chosen: Option<Chosen>,
    /// Where it stands in the file, from 1.
    #[serde(default)]
    pub line: usize,
}

/// Who said *always*, when, and in which session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ChosenRule")]
pub struct Chosen {
    pub by: String,
    pub at: Timestamp,
    pub session_id: SessionId,
}

impl Chosen {
    /// As it stands in the file.
    pub fn note(&self) -> String {
        format!("{}, {}, in session {}", self.by, self.at, self.session_id)
    }

    /// A client may call itself anything, so it is read from its end.
    fn read(note: &str) -> Option<Self> {
        let (rest, session) = note.rsplit_once(", in session ")?;
        let (by, at) = rest.rsplit_once(", ")?;
        let at = serde_json::from_value(serde_json::Value::from(at)).ok()?;
        Some(Self { by: by.to_owned(), at, session_id: SessionId::parse(session).ok()? })
    }
}

#[derive(Debug)]
pub struct Always {
    path: PathBuf,
    /// Held while the file is changed.
    writing: Locked<()>,
}

impl Always {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, writing: Locked::default() }
    }

    /// Adds a rule in TOML without an id. The same rule twice is one.
    pub fn add(&self, rule: &str, note: &str) -> std::io::Result<String> {
        let _writing = self.writing.lock();
        let id = id_of(rule);
        let text = self.text()?;
        let parts = split(&text);
        if parts.iter().any(|part| part.contains(&format!("id = \"{id}\""))) {
            return Ok(id);
        }
        if parts.len() > MAX_RULES {
            return Err(std::io::Error::other(format!(
                "there are {MAX_RULES} rules already; remove some with `turnloom rules`"
            )));
        }
        let block = format!("[[rule]]\nid = \"{id}\"\n# {}\n{rule}\n", note.replace('\n', " "));
        // What cannot be read again must not get in.
        RulesFile::read("always.toml", &block).map_err(|error| std::io::Error::other(error.to_string()))?;
        let text = if text.is_empty() { HEAD.to_owned() } else { text };
        crate::private::replace(&self.path, format!("{}\n\n{block}", text.trim_end()).as_bytes())?;
        Ok(id)
    }

    /// Takes a rule out. Says whether it was there.
    pub fn remove(&self, id: &str) -> std::io::Result<bool> {
        let _writing = self.writing.lock();
        let text = self.text()?;
        let parts = split(&text);
        let kept: Vec<&str> = parts.iter().copied().filter(|part| !part.contains(&format!("id = \"{id}\""))).collect();
        if kept.len() == parts.len() {
            return Ok(false);
        }
        crate::private::replace(&self.path, kept.concat().as_bytes())?;
        Ok(true)
    }

    pub fn list(&self) -> Result<Vec<StoredRule>, Error> {
        let name = self.path.display().to_string();
        let text = self.text().map_err(|error| Error { file: name.clone(), line: 1, what: error.to_string() })?;
        let file = RulesFile::read(&name, &text)?;
        let parts = split(&text);
        let stored = file.rules.iter().map(|rule| {
            let part = parts.iter().find(|part| part.contains(&format!("id = \"{}\"", rule.id)));
            let lines = || part.into_iter().flat_map(|part| part.lines());
            let body = lines().filter(|line| !line.starts_with(['#', '[']) && !line.starts_with("id = "));
            let note = lines().find_map(|line| line.strip_prefix("# "));
            StoredRule {
                id: rule.id.clone(),
                scope: rule.scope(),
                rule: body.collect::<Vec<_>>().join("\n").trim().to_owned(),
                says: rule.words(),
                note: note.map(str::to_owned),
                chosen: note.and_then(Chosen::read),
                line: rule.line,
            }
        });
        Ok(stored.collect())
    }

    fn text(&self) -> std::io::Result<String> {
        match std::fs::read_to_string(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            read => read,
        }
    }
}

/// The head of the file, then each rule from its first line on.
fn split(text: &str) -> Vec<&str> {
    let starts: Vec<usize> = text.match_indices("[[rule]]").map(|(at, _)| at).collect();
    let from = std::iter::once(0).chain(starts.iter().copied());
    let to = starts.iter().copied().chain(std::iter::once(text.len()));
    from.zip(to).filter_map(|(from, to)| text.get(from..to)).filter(|part| !part.is_empty()).collect()
}

/// The same rule has the same id.
fn id_of(rule: &str) -> String {
    let hash = turnloom_core::blob::hex(&Sha256::digest(rule));
    hash.get(..12).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_added_once_listed_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let always = Always::new(folder.path().join("always.toml"));
        assert_eq!(always.list().unwrap(), []);
        let rule = "effect = \"allow\"\ncommand = \"git push *\"\nproject = \"/code/app\"";
        let id = always.add(rule, "chosen by workbench").unwrap();
        assert_eq!(always.add(rule, "chosen by somebody else").unwrap(), id);
        let other = always.add("effect = \"allow\"\ntool = \"WebFetch\"", "chosen by a terminal").unwrap();
        let listed = always.list().unwrap();
        let expected = StoredRule {
            id: id.clone(),
            scope: RuleScope::Project,
            rule: rule.to_owned(),
            says: "runs `git push *` in `/code/app`".to_owned(),
            note: Some("chosen by workbench".to_owned()),
            chosen: None,
            line: 3,
        };
        assert_eq!(listed.first(), Some(&expected));
        assert_eq!(listed.len(), 2);
        assert!(always.remove(&id).unwrap());
        assert!(!always.remove(&id).unwrap());
        assert_eq!(always.list().unwrap().first().map(|rule| rule.id.clone()), Some(other));
    }

    #[test]
    fn who_chose_a_rule_is_read_from_its_note() {
        let chosen = Chosen {
            by: "ann, at home".to_owned(),
            at: Timestamp::from_millis(1_800_000_000_000),
            session_id: SessionId::trusted("s-1"),
        };
        assert_eq!(Chosen::read(&chosen.note()), Some(chosen));
        assert_eq!(Chosen::read("moved here by hand"), None);
    }

    #[test]
    fn what_could_not_be_read_again_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let always = Always::new(folder.path().join("always.toml"));
        assert!(always.add("effect = \"allow\"", "it would allow everything").is_err());
        assert!(always.add("effect = \"perhaps\"", "no such effect").is_err());
        assert_eq!(always.list().unwrap(), []);
    }
}
