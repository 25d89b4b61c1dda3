//! The state of a shell while its script is read: variables, functions, working directory, written files.

use std::collections::BTreeMap;

use super::Reader;
use super::word::{Doubt, Word};
use crate::policy::paths::{self, Base};

/// Values that are kept of one variable.
const MAX_VALUES: usize = 16;
/// Directories that the shell may be in.
const MAX_BASES: usize = 4;

#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) body: String,
    /// It is there for sure when it is called.
    pub(super) certain: bool,
    pub(super) called: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Scope {
    /// Each with the values that it may have.
    pub(super) variables: BTreeMap<String, Vec<Word>>,
    pub(super) functions: BTreeMap<String, Function>,
    /// `$1` and so on, where they are known.
    pub(super) arguments: Option<Vec<Word>>,
    /// The directories that the shell may be in.
    pub(super) bases: Vec<Base>,
    /// Files that this script has written.
    pub(super) written: Vec<String>,
    /// Links that this script has made: from, to.
    pub(super) links: Vec<(String, String)>,
    /// `$_`.
    pub(super) last: Option<Word>,
    /// How many conditions stand around what is read.
    pub(super) maybe: u32,
}

impl Scope {
    pub(super) fn new(base: Base) -> Self {
        Self {
            variables: BTreeMap::new(),
            functions: BTreeMap::new(),
            arguments: None,
            bases: vec![base],
            written: Vec::new(),
            links: Vec::new(),
            last: None,
            maybe: 0,
        }
    }

    pub(super) fn add_bases(&mut self, more: Vec<Base>) {
        for base in more {
            if !self.bases.contains(&base) {
                self.bases.push(base);
            }
        }
        if self.bases.len() > MAX_BASES {
            self.bases = vec![Base::Unknown];
        }
    }

    /// Where a path leads through links that this script has made, if it does. Absolute and normal.
    pub(super) fn through_links(&self, path: &str) -> Option<String> {
        let mut changed: Option<String> = None;
        // A link to itself must not go on for ever.
        for _ in 0..4 {
            let text = changed.as_deref().unwrap_or(path);
            let Some((from, to)) = self.links.iter().find(|(from, _)| paths::is_in(text, from)) else { break };
            let rest = text.get(from.len()..).unwrap_or_default();
            changed = Some(paths::normal(&format!("{to}/{rest}")));
        }
        changed
    }
}

impl Reader<'_> {
    /// What a variable may hold.
    pub(super) fn lookup(&mut self, name: &str) -> Vec<Word> {
        if let Some(values) = self.scope.variables.get(name) {
            return values.iter().map(|word| Word { hidden: true, ..word.clone() }).collect();
        }
        let free = |guess: &str| vec![Word::unknown(Doubt::Free, guess)];
        let of_world = |text: String| vec![Word { hidden: true, ..Word::plain(text) }];
        let around = self.around.world;
        match name {
            "HOME" => around.variable("HOME").or_else(|| around.home()).map_or_else(|| free("/root"), of_world),
            "PWD" => match self.scope.bases.as_slice() {
                [Base::At(base)] => of_world(base.clone()),
                _ => free(""),
            },
            "IFS" => {
                self.opaque("$IFS hides where words end");
                of_world(" ".to_owned())
            }
            "@" | "*" => match &self.scope.arguments {
                Some(words) => words.clone(),
                None => free(""),
            },
            "#" | "?" | "$" | "!" | "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID" | "BASHPID"
            | "EPOCHSECONDS" => {
                vec![Word { many: false, ..Word::unknown(Doubt::Derived, "1") }]
            }
            "_" => match &self.scope.last {
                Some(word) => vec![Word { doubt: word.doubt.max(Doubt::Derived), hidden: true, ..word.clone() }],
                None => free(""),
            },
            "0" | "BASH" | "SHELL" => free("/bin/bash"),
            "PATH" => free("/usr/local/bin:/usr/bin:/bin"),
            _ => match (name.parse::<usize>(), &self.scope.arguments) {
                (Ok(number), Some(words)) if number > 0 => {
                    words.get(number - 1).map_or_else(Vec::new, |word| vec![Word { hidden: true, ..word.clone() }])
                }
                _ => around.variable(name).map_or_else(|| free(""), of_world),
            },
        }
    }

    pub(super) fn assign(&mut self, name: &str, values: Vec<Word>) {
        let values = if values.len() > MAX_VALUES { vec![Word::unknown(Doubt::Free, "")] } else { values };
        self.scope.variables.insert(name.to_owned(), values);
    }

    /// It may hold this, or still what it held before.
    pub(super) fn assign_maybe(&mut self, name: &str, values: Vec<Word>) {
        let mut all = self.lookup(name);
        for value in values {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        if all.len() > MAX_VALUES {
            // The first guesses stay: they are what denials look at.
            all.truncate(MAX_VALUES);
            for word in &mut all {
                (word.doubt, word.lead, word.many) = (Doubt::Free, true, true);
            }
        }
        self.scope.variables.insert(name.to_owned(), all);
    }
}
