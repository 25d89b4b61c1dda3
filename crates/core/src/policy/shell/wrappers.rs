//! Programs that run other programs and need more than the table.

use super::options::{self, Order};
use super::word::Word;
use super::{Input, Reader};
use crate::policy::act::{Act, Kind};
use crate::policy::programs::Program;

impl Reader<'_> {
    /// `env X=1 command`, `env -S "command"`, `sudo X=1 command`.
    pub(super) fn env(&mut self, program: &Program, words: &[Word], input: &Input, acts: &mut Vec<Act>) {
        let options = options::read(words, program, Order::UpToOperand);
        self.options(program, &options, acts);
        if let Some(kind) = program.does {
            acts.push(Act::of(kind));
        }
        if options.doubtful {
            acts.push(Act::because(Kind::Opaque, "a word that is not known may be an option"));
        }
        let mut rest = options.operands.as_slice();
        let mut before = Vec::new();
        // `env -` is `env -i`.
        while let Some((first, more)) = rest.split_first() {
            if first.text == "-" {
                rest = more;
                continue;
            }
            let Some((name, _)) = first.text.split_once('=') else { break };
            let (name, value) = (name.to_owned(), first.without(name.len() + 1));
            self.variable_matters(&name, std::slice::from_ref(&value));
            before.push(name);
            rest = more;
        }
        // `-S` is split into words, and the rest follows them.
        if let Some(text) = options.value_of(&["-S", "--split-string"]) {
            let quoted: Vec<String> = rest.iter().map(|word| word.text.clone()).collect();
            let code = Word { text: format!("{} {}", text.text, quoted.join(" ")), ..text.clone() };
            self.code("env -S", &code, acts);
            return;
        }
        let directory = options.value_of(&["-C", "--chdir", "-D"]).cloned();
        let bases = self.scope.bases.clone();
        if let Some(directory) = directory {
            self.cd(&[directory], acts);
        }
        if rest.is_empty() {
            acts.push(Act::of(Kind::Compute));
        }
        let label = program.names.first().cloned().unwrap_or_default();
        self.nested(label, rest, input, acts);
        self.scan_words(words);
        self.scope.bases = bases;
    }

    /// Builds by rules in a file of the project. Rules from elsewhere are code.
    pub(super) fn make(&mut self, program: &Program, words: &[Word], input: &Input, acts: &mut Vec<Act>) {
        let options = options::read(words, program, Order::Mixed);
        self.options(program, &options, acts);
        if options.doubtful {
            acts.push(Act::because(Kind::Opaque, "a word that is not known may be an option"));
        }
        for file in options.values(&program.reads, &[]).filter_map(|given| given.value.clone()).collect::<Vec<_>>() {
            if file.text == "-" {
                acts.push(Act::because(Kind::Opaque, "its rules come from a pipe"));
                self.scan_for_destruction(&input.text.clone().unwrap_or_default());
            } else {
                self.script_file(&file, None, acts);
            }
        }
        let names_a_program = |word: &&Word| {
            word.text.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
        };
        for word in options.operands.iter().filter(names_a_program) {
            let (name, value) = word.text.split_once('=').unwrap_or_default();
            if matches!(name, "SHELL" | "MAKEFLAGS") || value.contains(['$', '`', ';', '|', '&']) {
                acts.push(Act::because(Kind::Opaque, format!("{name} decides what is run")));
                self.scan_for_destruction(&word.text.clone());
            }
        }
        acts.push(Act::of(Kind::Build));
    }

    /// `npm install` brings what the project has already chosen; with a name it brings something new.
    pub(super) fn package_manager(
        &mut self,
        name: &str,
        program: &Program,
        words: &[Word],
        input: &Input,
        acts: &mut Vec<Act>,
    ) {
        let order = if matches!(name, "exec" | "x" | "dlx" | "run") { Order::UpToOperand } else { Order::Mixed };
        let options = options::read(words, program, order);
        // Its own options count wherever they stand before `--`.
        self.options(program, &options::read(words, program, Order::Mixed), acts);
        if options.has_any(&[
            "-g",
            "--global",
            "--system",
            "--user",
            "--break-system-packages",
            "--target",
            "--prefix",
            "--root",
        ]) {
            acts.push(Act::of(Kind::SystemInstall));
        }
        if matches!(name, "exec" | "x" | "dlx" | "run") {
            let inner = options.operands.clone();
            let known = inner.first().is_some_and(|word| Self::is_program(&word.text) || word.text.starts_with("./"));
            // Scripts of the project are run by their name.
            if name == "run" && !known {
                acts.push(Act::of(Kind::Build));
                return;
            }
            return self.nested(name.to_owned(), &inner, input, acts);
        }
        let local = |word: &Word| {
            matches!(word.text.as_str(), "." | "./") || word.text.starts_with(".[") || word.text.starts_with("./")
        };
        let foreign = options.operands.iter().any(|word| !local(word)) || options.doubtful;
        acts.push(Act::of(if foreign { Kind::Install } else { Kind::Build }));
    }
}
