//! What a command that only looks is about: a file, the names in a directory, the places of a pattern. The table says which programs are of which
//! sort; what a table cannot say of `find`, `sed` and `git` is here. Whether a command only looks is not decided here.

use super::options::{self, Options, Order};
use super::word::Word;
use crate::policy::programs::{self, Operands, Program, Shows, Special};
use crate::policy::reading::ReadAction;

/// What a simple command is about.
pub(crate) fn look(words: &[String]) -> Option<ReadAction> {
    let (program, rest) = program_of(words)?;
    match program.special {
        Some(Special::Find) => Some(find(rest)),
        Some(Special::Sed) => one_file(&printed_by_sed(rest)?),
        Some(Special::Git) => git(program, rest),
        _ => by_table(program, &options_of(program, rest)),
    }
}

/// Whether a command only passes on, shortens or counts what it is given.
pub(crate) fn passes_on(words: &[String]) -> bool {
    let Some((program, rest)) = program_of(words) else { return false };
    let operands = options_of(program, rest).operands.len();
    match (program.special, program.operands) {
        _ if program.filter => true,
        (Some(Special::Sed), _) => printed_by_sed(rest).is_some_and(|files| files.is_empty()),
        (None, Operands::Read | Operands::Copy) => operands == 0,
        (None, Operands::Pattern) => operands <= 1,
        _ => false,
    }
}

/// Whether this is a shell.
pub(crate) fn is_shell(program: &str) -> bool {
    let known = programs::table().find(programs::name_of(program));
    known.is_some_and(|program| program.special == Some(Special::Shell))
}

fn program_of(words: &[String]) -> Option<(&'static Program, &[String])> {
    let (name, rest) = words.split_first()?;
    Some((programs::table().find(programs::name_of(name))?, rest))
}

fn options_of(program: &Program, words: &[String]) -> Options {
    let words: Vec<Word> = words.iter().map(Word::plain).collect();
    options::read(&words, program, Order::Mixed)
}

fn texts(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| word.text.clone()).collect()
}

fn by_table(program: &Program, options: &Options) -> Option<ReadAction> {
    let mut operands = texts(&options.operands);
    match program.shows? {
        // What goes on for ever is not read.
        Shows::File if options.has_any(&["-f", "-F", "--follow"]) => None,
        Shows::File => one_file(&operands),
        Shows::Names => names(&operands),
        Shows::Places if options.has_any(&["--files"]) => names(&operands),
        Shows::Places => {
            // To `fd` it is how a name ends.
            let is_pattern = !program.values.iter().any(|option| option == "--extension");
            let pattern = match options.value_of(&["-e", "--regexp"]).filter(|_| is_pattern) {
                Some(pattern) => pattern.text.clone(),
                None if operands.is_empty() => return None,
                None => operands.remove(0),
            };
            let path = if let [path] = operands.as_slice() { Some(path.clone()) } else { None };
            Some(ReadAction::Search { pattern, path })
        }
    }
}

/// Which of several is meant, nobody can say.
fn one_file(files: &[String]) -> Option<ReadAction> {
    let [path] = files else { return None };
    Some(ReadAction::File { path: path.clone() })
}

fn names(places: &[String]) -> Option<ReadAction> {
    match places {
        [] => Some(ReadAction::List { path: None }),
        [path] => Some(ReadAction::List { path: Some(path.clone()) }),
        _ => None,
    }
}

fn find(words: &[String]) -> ReadAction {
    let path = words.first().filter(|word| !word.starts_with(['-', '(', '!'])).cloned();
    let named = words.iter().position(|word| matches!(word.as_str(), "-name" | "-iname" | "-path"));
    match named.and_then(|at| words.get(at + 1)) {
        Some(pattern) => ReadAction::Search { pattern: pattern.clone(), path },
        None => ReadAction::List { path },
    }
}

/// The files of a `sed -n` that prints lines by number. Nothing for any other `sed`.
fn printed_by_sed(words: &[String]) -> Option<Vec<String>> {
    let quiet = words.iter().any(|word| word == "-n" || word == "--quiet");
    let mut operands = words.iter().filter(|word| !word.starts_with('-')).cloned();
    let script = operands.next()?;
    let lines = script.strip_suffix('p')?;
    let by_number = !lines.is_empty() && lines.chars().all(|c| c.is_ascii_digit() || ",$;p ".contains(c));
    (quiet && by_number).then(|| operands.collect())
}

fn git(program: &Program, words: &[String]) -> Option<ReadAction> {
    let (name, rest) = words.split_first()?;
    let sub = program.sub.iter().find(|sub| sub.names.contains(name))?;
    let options = options_of(sub, rest);
    if name != "show" {
        return by_table(sub, &options);
    }
    let [object] = options.operands.as_slice() else { return None };
    let (_, path) = object.text.split_once(':')?;
    Some(ReadAction::File { path: path.to_owned() })
}
