//! Options and operands, as programs read them: `-rf`, `-ofile`, `--output=file`, `--outp file`, `--`.

use super::word::Word;
use crate::policy::programs::Program;

#[derive(Debug, Clone)]
pub(super) struct GivenOption {
    /// `-r`, `--output`; long ones as they are written.
    pub(super) name: String,
    pub(super) value: Option<Word>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    pub(super) given: Vec<GivenOption>,
    pub(super) operands: Vec<Word>,
    /// A word that is not known stands where an option may stand.
    pub(super) doubtful: bool,
}

impl Options {
    /// Whether one of these options is there. A long one may be shortened, as most programs allow.
    pub(super) fn has(&self, names: &[String], harmless: &[String]) -> bool {
        self.values(names, harmless).next().is_some()
    }

    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        self.given.iter().any(|given| names.iter().any(|name| is_same(&given.name, name)))
    }

    /// Those that are there, with their values.
    pub(super) fn values<'a>(
        &'a self,
        names: &'a [String],
        harmless: &'a [String],
    ) -> impl Iterator<Item = &'a GivenOption> + 'a {
        self.given
            .iter()
            .filter(move |given| !harmless.contains(&given.name) && names.iter().any(|name| is_same(&given.name, name)))
    }

    pub(super) fn value_of(&self, names: &[&str]) -> Option<&Word> {
        let is_one = |given: &&GivenOption| names.iter().any(|name| is_same(&given.name, name));
        self.given.iter().find(is_one).and_then(|given| given.value.as_ref())
    }
}

/// Whether an option that was given is this one, perhaps shortened. Two letters are the least.
fn is_same(given: &str, name: &str) -> bool {
    given == name || (name.starts_with("--") && given.len() > 3 && given.starts_with("--") && name.starts_with(given))
}

/// How the words of a program are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Options may stand anywhere.
    Mixed,
    /// What follows the first operand belongs to it: another command, a script.
    UpToOperand,
}

pub(super) fn read(words: &[Word], program: &Program, order: Order) -> Options {
    let mut options = Options::default();
    let mut rest = words.iter();
    let takes = |name: &str| {
        let lists = [&program.values, &program.reads, &program.writes, &program.code];
        let is_one = |known: &String| known == name || (known.starts_with("--") && is_same(name, known));
        lists.iter().any(|list| list.iter().any(is_one))
    };
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if word.lead && !word.is_known() {
            options.doubtful = true;
        }
        if text == "--" {
            options.operands.extend(rest.cloned());
            break;
        }
        let is_option = text.len() > 1 && text.starts_with('-');
        if !is_option {
            options.operands.push(word.clone());
            if order == Order::UpToOperand {
                options.operands.extend(rest.cloned());
                break;
            }
        } else if text.starts_with("--") || program.one_dash {
            let (name, value) = match text.split_once('=') {
                Some((name, _)) => (name, Some(word.without(name.len() + 1))),
                None if takes(text) => (text, rest.next().cloned()),
                None => (text, None),
            };
            options.given.push(GivenOption { name: name.to_owned(), value });
        } else {
            cluster(word, &takes, &mut rest, &mut options);
        }
    }
    options
}

/// `-rf`, `-ofile`.
fn cluster<'w>(
    word: &Word,
    takes: &impl Fn(&str) -> bool,
    rest: &mut impl Iterator<Item = &'w Word>,
    options: &mut Options,
) {
    for (at, letter) in word.text.char_indices().skip(1) {
        let name = format!("-{letter}");
        if takes(&name) {
            let after = at + letter.len_utf8();
            let value = if after < word.text.len() { Some(word.without(after)) } else { rest.next().cloned() };
            options.given.push(GivenOption { name, value });
            return;
        }
        options.given.push(GivenOption { name, value: None });
    }
}
