//! Texts that the shell evaluates although they are quoted: it takes `a[$(rm x)]` for a variable, and runs what stands in the brackets to find out which one.
//! Builtins that take names of variables do it, and every number does it with what a variable holds.

use super::Reader;
use super::word::Word;

/// Builtins that take names of variables.
const TAKE_NAMES: &[&str] = &[
    "printf",
    "test",
    "[",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "wait",
    "unset",
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "let",
];

impl Reader<'_> {
    /// Looks at the words of a builtin, after quotes are taken off.
    pub(super) fn names_may_be_code(&mut self, program: &str, words: &[Word]) {
        if TAKE_NAMES.contains(&program) {
            self.values_may_be_code(words);
        }
    }

    /// What a variable gets, it may later be asked for as a number.
    pub(super) fn values_may_be_code(&mut self, words: &[Word]) {
        for word in words.iter().filter(|word| has_code_in_brackets(&word.text)) {
            self.opaque("the shell runs what stands in its brackets");
            self.scan_for_destruction(&word.text.clone());
        }
    }

    /// The same in a `[ ... ]` that the grammar has read, with its quotes.
    pub(super) fn quoted_names_may_be_code(&mut self, text: &str) {
        let mut quoted = text.split('\'').skip(1).step_by(2);
        if quoted.any(has_code) || text.contains("\\$") || text.contains("\\`") {
            self.opaque("the shell may run what is quoted in it");
            self.scan_for_destruction(text);
        }
    }
}

fn has_code_in_brackets(text: &str) -> bool {
    text.find('[').and_then(|at| text.get(at..)).is_some_and(has_code)
}

fn has_code(text: &str) -> bool {
    text.contains("$(") || text.contains('`') || text.contains("${")
}
