//! The user's own rules as a file that clients read and change: a rule is added, or the whole text is replaced. What would be wrong afterwards is not
//! written, and nobody ever sees half of it. Not here: when the file is read again for judging.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use turnloom_core::policy::{Error, Policy, RulesFile};

use super::source::MAX_BYTES;
use crate::sync::Locked;

/// Letters of the hash in the id of a rule that came without one.
const ID_LETTERS: usize = 8;

#[derive(Debug)]
pub struct Own {
    path: PathBuf,
    /// Held while the file is changed.
    writing: Locked<()>,
}

/// The file as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnText {
    pub text: String,
    /// Names this text, so that a change can say what it was made from.
    pub sha256: String,
    pub is_there: bool,
}

/// A rule that stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRule {
    pub id: String,
    pub line: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error(transparent)]
    Rules(#[from] Error),
    #[error("give one rule in TOML, without `[[rule]]` and without anything else")]
    NotOneRule,
    #[error("the rules have changed in the meantime; look at them again")]
    Changed,
    #[error("the rules cannot be written: {0}")]
    Io(#[from] io::Error),
}

impl Own {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, writing: Locked::default() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn read(&self) -> io::Result<OwnText> {
        let found = match std::fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            read => Some(read?),
        };
        let is_there = found.is_some();
        let text = found.unwrap_or_default();
        Ok(OwnText { sha256: turnloom_core::blob::hex(&Sha256::digest(&text)), text, is_there })
    }

    /// Adds a rule in TOML at the end. One that is there already is not added again.
    pub fn add(&self, rule: &str, note: &str) -> Result<OwnRule, ChangeError> {
        let _writing = self.writing.lock();
        let block = block(rule, note)?;
        let old = self.read()?.text;
        let wanted = only_rule(&self.name(), &block)?;
        let known = RulesFile::read(&self.name(), &old)?.rules.into_iter();
        if let Some(same) = known.into_iter().find(|known| known.to_toml() == wanted.to_toml()) {
            return Ok(OwnRule { id: same.id, line: same.line });
        }
        let before = old.trim_end();
        let text = if before.is_empty() { block } else { format!("{before}\n\n{block}") };
        let rules = self.write(&text)?;
        let added = rules.into_iter().find(|rule| rule.id == wanted.id).ok_or(ChangeError::NotOneRule)?;
        Ok(added)
    }

    /// Puts other rules in the place of all, if the file is still what `was` names.
    pub fn replace(&self, text: &str, was: &str) -> Result<OwnText, ChangeError> {
        let _writing = self.writing.lock();
        if self.read()?.sha256 != was {
            return Err(ChangeError::Changed);
        }
        self.write(text)?;
        Ok(self.read()?)
    }

    /// Writes what is right, and says which rules it has.
    fn write(&self, text: &str) -> Result<Vec<OwnRule>, ChangeError> {
        if text.len() as u64 > MAX_BYTES {
            return Err(io::Error::other(format!("they are larger than {MAX_BYTES} bytes")).into());
        }
        drop(Policy::shipped().with_user(&self.name(), text)?);
        let rules = RulesFile::read(&self.name(), text)?.rules;
        // A link leads to where the person keeps the file.
        let target = std::fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        crate::private::replace_durably(&target, text.as_bytes())?;
        Ok(rules.into_iter().map(|rule| OwnRule { id: rule.id, line: rule.line }).collect())
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// A rule as it stands in the file. One without an id gets one: a decision names it, and a line would move.
fn block(rule: &str, note: &str) -> Result<String, ChangeError> {
    let rule = rule.trim();
    let bare = format!("[[rule]]\n{rule}\n");
    only_rule("rule", &bare)?;
    let has_id = toml::from_str::<toml::Table>(rule).is_ok_and(|table| table.contains_key("id"));
    let note = note.replace(['\n', '\r'], " ");
    if has_id {
        return Ok(format!("# {note}\n{bare}"));
    }
    let hash = turnloom_core::blob::hex(&Sha256::digest(rule));
    let id = format!("added-{}", hash.get(..ID_LETTERS).unwrap_or_default());
    Ok(format!("# {note}\n[[rule]]\nid = \"{id}\"\n{rule}\n"))
}

/// The rule in a text that must be one rule and nothing else.
fn only_rule(name: &str, text: &str) -> Result<turnloom_core::policy::Rule, ChangeError> {
    let file = RulesFile::read(name, text)?;
    let is_plain = file.trusted_projects.is_empty() && file.default.is_none() && file.extends.is_none();
    let mut rules = file.rules;
    match (rules.pop(), rules.is_empty()) {
        (Some(rule), true) if is_plain => Ok(rule),
        _ => Err(ChangeError::NotOneRule),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    const RULE: &str = "effect = \"allow\"\ncommand = \"git push *\"";

    fn own() -> (tempfile::TempDir, Own) {
        let folder = tempfile::tempdir().unwrap();
        let own = Own::new(folder.path().join("policy.toml"));
        (folder, own)
    }

    #[test]
    fn a_rule_is_added_once_and_the_rest_stays_as_it_was() {
        let (_folder, own) = own();
        assert_eq!((own.read().unwrap().text.as_str(), own.read().unwrap().is_there), ("", false));
        let mine =
            "# mine\ntrusted_projects = [\"~/app\"]\n\n[[rule]]\nid = \"x\"\neffect = \"deny\"\ncommand = \"x *\"\n";
        std::fs::write(own.path(), mine).unwrap();
        let added = own.add(RULE, "added by web").unwrap();
        let text = own.read().unwrap().text;
        assert!(text.starts_with(mine.trim_end()), "{text}");
        assert_eq!(text.lines().nth(added.line - 1), Some("[[rule]]"), "{text}");
        assert_eq!(own.add(RULE, "again").unwrap(), added);
        assert_eq!(own.read().unwrap().text, text);
        assert_eq!(std::fs::metadata(own.path()).unwrap().mode() & 0o777, 0o600);
        let named = own.add("id = \"mine\"\neffect = \"ask\"\ntool = \"WebFetch\"", "named").unwrap();
        assert_eq!(named.id, "mine");
    }

    #[test]
    fn what_would_be_wrong_is_refused_with_its_line_and_changes_nothing() {
        let (_folder, own) = own();
        std::fs::write(own.path(), "[[rule]]\nid = \"x\"\neffect = \"deny\"\ncommand = \"x *\"\n").unwrap();
        let before = own.read().unwrap();
        let twice = own.add("id = \"x\"\neffect = \"ask\"\ntool = \"WebFetch\"", "the id is taken");
        assert!(matches!(&twice, Err(ChangeError::Rules(Error { line: 7, .. }))), "{twice:?}");
        for wrong in [
            "effect = \"allow\"",
            "effect = \"perhaps\"\ntool = \"x\"",
            "tool = ",
            "effect = \"ask\"\ntool = \"a\"\n[[rule]]\neffect = \"ask\"\ntool = \"b\"",
        ] {
            assert!(own.add(wrong, "wrong").is_err(), "{wrong}");
        }
        assert_eq!(own.read().unwrap(), before);
        std::fs::write(own.path(), "[[rule]]\neffect = 1\n").unwrap();
        let broken = own.add(RULE, "to a file that is wrong");
        assert!(matches!(&broken, Err(ChangeError::Rules(Error { line: 1, .. }))), "{broken:?}");
    }

    #[test]
    fn only_what_was_seen_is_replaced() {
        let (folder, own) = own();
        let empty = own.read().unwrap().sha256;
        let rules = format!("[[rule]]\n{RULE}\n");
        let written = own.replace(&rules, &empty).unwrap();
        assert_eq!(written.text, rules);
        assert!(matches!(own.replace("", &empty), Err(ChangeError::Changed)));
        assert!(matches!(own.replace("nonsense", &written.sha256), Err(ChangeError::Rules(_))));
        assert_eq!(own.read().unwrap(), written);
        // Where it is a link, what it leads to is written.
        let kept = folder.path().join("kept.toml");
        std::fs::rename(own.path(), &kept).unwrap();
        symlink(&kept, own.path()).unwrap();
        own.replace("", &written.sha256).unwrap();
        assert!(own.path().is_symlink());
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "");
    }
}
