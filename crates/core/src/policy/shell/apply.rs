//! Applies the table of programs: turns the words of a known program into acts.

use super::options::{self, Options, Order};
use super::word::Word;
use super::{Input, Reader};
use crate::policy::act::{Act, Kind};
use crate::policy::programs::{Operands, Program};

impl Reader<'_> {
    /// The acts of a program. What it writes to its output, as far as that is known.
    pub(super) fn apply(
        &mut self,
        name: &str,
        program: &Program,
        words: &[Word],
        input: &Input,
        acts: &mut Vec<Act>,
    ) -> Option<String> {
        if asks_only(words) {
            acts.push(Act::of(Kind::Compute));
            return None;
        }
        if let Some(special) = program.special {
            return self.special(special, name, program, words, input, acts);
        }
        if program.sub.is_empty() {
            self.by_table(program, words, input, acts);
        } else {
            self.sub_command(name, program, words, input, acts);
        }
        self.output(name, words, input)
    }

    pub(super) fn sub_command(
        &mut self,
        name: &str,
        program: &Program,
        words: &[Word],
        input: &Input,
        acts: &mut Vec<Act>,
    ) {
        let options = options::read(words, program, Order::UpToOperand);
        self.options(program, &options, acts);
        let Some((first, rest)) = options.operands.split_first() else {
            acts.push(Act::of(program.does.unwrap_or(Kind::Compute)));
            return;
        };
        if options.doubtful || !first.is_known() {
            acts.push(Act::because(Kind::Opaque, format!("which command of {name} runs is hidden")));
        }
        match program.sub.iter().find(|sub| sub.names.contains(&first.text)) {
            Some(_) if asks_only(rest) => acts.push(Act::of(Kind::Compute)),
            Some(sub) if !sub.sub.is_empty() => self.sub_command(&first.text, sub, rest, input, acts),
            Some(sub) if sub.special.is_some() => {
                if let Some(special) = sub.special {
                    self.special(special, &first.text, sub, rest, input, acts);
                }
            }
            Some(sub) => self.by_table(sub, rest, input, acts),
            None => acts.push(Act::because(Kind::Run, format!("`{name} {}` is not known", first.text))),
        }
    }

    pub(super) fn by_table(&mut self, program: &Program, words: &[Word], input: &Input, acts: &mut Vec<Act>) {
        let order = match program.operands {
            Operands::Command | Operands::Script => Order::UpToOperand,
            _ => Order::Mixed,
        };
        let options = options::read(words, program, order);
        self.options(program, &options, acts);
        if let Some(kind) = program.does {
            acts.push(Act::of(kind));
        }
        let runs = matches!(program.operands, Operands::Command | Operands::Script);
        if runs {
            self.doubt_program(program, &options, words, acts);
        }
        let risky = runs
            || !program.opaque.is_empty()
            || !program.writes.is_empty()
            || !program.code.is_empty()
            || !program.changes.is_empty();
        if options.doubtful && risky {
            acts.push(Act::because(Kind::Opaque, "a word that is not known may be an option"));
        }
        self.operands(program, &options, input, acts);
    }

    /// What options do by themselves.
    pub(super) fn options(&mut self, program: &Program, options: &Options, acts: &mut Vec<Act>) {
        for given in options.values(&program.reads, &program.harmless) {
            acts.extend(given.value.iter().flat_map(|word| self.file_acts(Kind::Read, word)).collect::<Vec<_>>());
        }
        for given in options.values(&program.writes, &program.harmless) {
            acts.extend(given.value.iter().flat_map(|word| self.file_acts(Kind::Write, word)).collect::<Vec<_>>());
        }
        for given in options.values(&program.code, &program.harmless) {
            let code = given.value.clone().unwrap_or_default();
            self.code(&given.name, &code, acts);
        }
        for given in options.values(&program.opaque, &program.harmless) {
            acts.push(Act::because(Kind::Opaque, format!("{} runs what cannot be told", given.name)));
            if let Some(value) = &given.value {
                self.scan_for_destruction(&value.text.clone());
            }
        }
        for change in &program.changes {
            if let Some(given) = options.values(&change.options, &program.harmless).next() {
                acts.push(Act::because(change.does, given.name.clone()));
            }
        }
    }

    /// A text that a shell will run.
    pub(super) fn code(&mut self, what: &str, code: &Word, acts: &mut Vec<Act>) {
        if !code.is_known() || code.glob {
            acts.push(Act::because(Kind::Opaque, format!("the code of {what} is hidden")));
        }
        let text = code.text.clone();
        let kept = std::mem::take(&mut self.pending);
        self.via(what, |reader| reader.script(&text, &Input::default()));
        self.pending.splice(0..0, kept);
    }

    fn operands(&mut self, program: &Program, options: &Options, input: &Input, acts: &mut Vec<Act>) {
        let operands = options.operands.get(program.skip..).unwrap_or_default();
        let tree = program.deep || options.has(&program.tree, &program.harmless);
        let here = [Word::plain(".")];
        let operands = if operands.is_empty() && program.here { &here } else { operands };
        match program.operands {
            Operands::Nothing => {}
            Operands::Read => self.touch(Kind::Read, operands, tree, acts),
            Operands::Write => self.touch(Kind::Write, operands, tree, acts),
            Operands::Delete => self.touch(Kind::Delete, operands, tree, acts),
            Operands::Pattern => {
                let given = options.has_any(&["-e", "--regexp", "-f", "--file", "--files"]);
                let files = operands.get(usize::from(!given)..).unwrap_or_default();
                self.touch(Kind::Read, if files.is_empty() && program.here { &here } else { files }, tree, acts);
            }
            Operands::Permissions => {
                let given = options.has_any(&["--reference"]);
                self.touch(Kind::Permissions, operands.get(usize::from(!given)..).unwrap_or_default(), tree, acts);
            }
            Operands::Copy | Operands::Move | Operands::Link => {
                self.transfer(program.operands, options, operands, acts);
            }
            Operands::Command => {
                let label = program.names.first().cloned().unwrap_or_default();
                self.nested(label, operands, input, acts);
            }
            Operands::Script => self.joined_script(operands, program, acts),
            Operands::Hosts => {
                for word in operands {
                    acts.push(Act { host: Some(host_of(&word.text)), ..Act::of(Kind::Network) });
                }
            }
        }
    }

    /// What was taken for the value of an option may be the program that runs, if the table is wrong about the option.
    fn doubt_program(&mut self, program: &Program, options: &Options, words: &[Word], acts: &mut Vec<Act>) {
        let values = options.given.iter().filter_map(|given| given.value.as_ref());
        let skipped = options.operands.iter().take(program.skip);
        if values.chain(skipped).any(|word| Self::is_program(&word.text)) {
            acts.push(Act::because(Kind::Opaque, "which of its words is the program cannot be told"));
        }
        self.scan_words(words);
    }

    fn joined_script(&mut self, operands: &[Word], program: &Program, acts: &mut Vec<Act>) {
        if operands.is_empty() {
            return;
        }
        let mut joined = Word::default();
        for word in operands {
            joined.text.push(' ');
            let hidden = joined.hidden;
            joined.absorb(word, false);
            joined.hidden = hidden | word.hidden;
        }
        self.code(&program.names.first().cloned().unwrap_or_default(), &joined, acts);
    }

    /// Another command runs this one.
    pub(super) fn nested(&mut self, label: String, words: &[Word], input: &Input, acts: &mut Vec<Act>) {
        match words {
            [] => return acts.push(Act::of(Kind::Compute)),
            [option, code, ..] if option.text == "-c" => return self.code(&label, &code.clone(), acts),
            _ => {}
        }
        let kept = std::mem::take(&mut self.pending);
        self.via(label, |reader| reader.run(words, input));
        self.pending.splice(0..0, kept);
    }

    pub(super) fn touch(&mut self, kind: Kind, words: &[Word], tree: bool, acts: &mut Vec<Act>) {
        for word in words {
            if self.step().is_none() {
                return;
            }
            let found = self.file_acts(kind, word);
            acts.extend(found.into_iter().map(|act| Act { tree, ..act }));
        }
    }

    /// `cp a b there`, `mv`, `ln`.
    fn transfer(&mut self, sort: Operands, options: &Options, operands: &[Word], acts: &mut Vec<Act>) {
        let into = options.value_of(&["-t", "--target-directory"]).cloned();
        let (target, sources) = match (&into, operands.split_last()) {
            (Some(target), _) => (Some(target.clone()), operands),
            (None, Some((one, []))) if sort == Operands::Link => (Some(Word::plain(".")), std::slice::from_ref(one)),
            (None, Some((last, sources))) => (Some(last.clone()), sources),
            (None, None) => (None, operands),
        };
        let symbolic = options.has_any(&["-s", "--symbolic"]);
        match sort {
            Operands::Move => self.touch(Kind::Delete, sources, true, acts),
            Operands::Link => {
                for source in sources {
                    for place in self.places(source) {
                        acts.push(Act { tree: symbolic, ..Act::at(Kind::Link, place) });
                    }
                }
            }
            _ => self.touch(Kind::Read, sources, true, acts),
        }
        let Some(target) = target else { return };
        self.touch(Kind::Write, std::slice::from_ref(&target), false, acts);
        if sort == Operands::Link {
            self.remember_links(sources, &target);
        }
        // Each file in a directory is a file that was written, whatever it is called there.
        for source in sources {
            let name = crate::policy::programs::name_of(source.text.trim_end_matches('/'));
            let inside = Word { text: format!("{}/{name}", target.text), ..target.clone() };
            let written: Vec<String> = self.places(&inside).into_iter().map(|place| place.path).collect();
            self.scope.written.extend(written);
        }
    }

    fn remember_links(&mut self, sources: &[Word], target: &Word) {
        for source in sources {
            let name = crate::policy::programs::name_of(source.text.trim_end_matches('/')).to_owned();
            let to = self.places(source).into_iter().next().map(|place| place.path);
            let inside = Word { text: format!("{}/{name}", target.text), ..target.clone() };
            let is_directory = matches!(target.text.as_str(), "." | "..") || target.text.ends_with('/');
            let itself = if is_directory { Vec::new() } else { self.places(target) };
            for from in itself.into_iter().chain(self.places(&inside)) {
                if let Some(to) = &to {
                    self.scope.links.push((from.path, to.clone()));
                }
            }
        }
    }
}

/// Programs that are only asked what they are.
fn asks_only(words: &[Word]) -> bool {
    matches!(words, [one] if one.is_known() && matches!(one.text.as_str(), "--version" | "--help"))
}

/// The host in an address.
pub(crate) fn host_of(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    match rest.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default().to_owned(),
        None => rest.split(':').next().unwrap_or_default().to_lowercase(),
    }
}
