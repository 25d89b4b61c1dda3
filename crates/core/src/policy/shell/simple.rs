//! One simple command: its words, what stands before them, and which program it is.

use tree_sitter::Node;

use super::expand;
use super::lex::{Lexer, Piece, Within};
use super::parse::{substitutions, text_of};
use super::redirects::Redirects;
use super::word::{Doubt, Word};
use super::{Input, Reader};
use crate::policy::act::{Act, Command, Kind, Location};
use crate::policy::paths;
use crate::policy::programs::{self, Setting};

/// Words that are no programs. Where the grammar takes one for a program it has misread something.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "select", "in",
    "function", "{", "}", "!", "[[", "]]", "]",
];

impl Reader<'_> {
    /// The words that nodes become. Nodes that touch are one word.
    pub(super) fn words(&mut self, nodes: &[Node<'_>], source: &str) -> Vec<Word> {
        let mut words = Vec::new();
        let mut at = 0;
        while let Some(first) = nodes.get(at) {
            let (start, mut end) = (first.start_byte(), first.end_byte());
            let mut inner = substitutions(*first);
            at += 1;
            // A line that goes on in the middle of a word is the same word.
            let touches = |next: &&Node<'_>, end: usize| {
                source.get(end..next.start_byte()).is_some_and(|gap| gap.replace("\\\n", "").is_empty())
            };
            while let Some(next) = nodes.get(at).filter(|next| touches(next, end)) {
                end = next.end_byte();
                inner.extend(substitutions(*next));
                at += 1;
            }
            if self.step().is_none() {
                return words;
            }
            let mut lexer = Lexer { source, at: start, end, inner: &inner };
            let fields = lexer.pieces(self, Within::Word).map(expand::fields);
            if let Ok(Ok(fields)) = fields {
                words.extend(fields);
            } else {
                let text = source.get(start..end).unwrap_or_default();
                self.misread(text);
                words.push(Word::unknown(Doubt::Free, text));
            }
        }
        words
    }

    /// Pieces as one word.
    pub(super) fn joined(pieces: Vec<Piece>) -> Word {
        let Ok(words) = expand::values(pieces) else { return Word::unknown(Doubt::Free, "") };
        words.into_iter().next().unwrap_or_default()
    }

    pub(super) fn command(
        &mut self,
        below: &[Node<'_>],
        more: Vec<Word>,
        source: &str,
        input: &Input,
    ) -> Option<String> {
        let mut redirects = Redirects::default();
        let (mut pipes, mut after) = (Vec::new(), Vec::new());
        let mut nodes = Vec::new();
        let mut settings = Vec::new();
        for child in below {
            match child.kind() {
                "variable_assignment" => settings.push(self.assignment(*child, source)),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    self.redirect(*child, source, &mut redirects, &mut pipes, &mut after);
                }
                _ if child.is_missing() || child.is_error() => self.misread(text_of(*child, source)),
                _ => nodes.push(*child),
            }
        }
        let mut words = self.words(&nodes, source);
        words.append(&mut redirects.words);
        words.extend(more);
        self.pending.append(&mut redirects.acts);
        let given = redirects.input.unwrap_or_else(|| input.clone());
        let reads_words = words.first().is_some_and(|word| word.text == "read");
        for (name, values) in &settings {
            // `IFS= read` splits nothing else.
            if !(reads_words && name == "IFS") {
                self.variable_matters(name, values);
            }
        }
        if words.is_empty() {
            // All of it vanished, or there was nothing but a redirection.
            self.record(&[]);
            return None;
        }
        // They hold for this command only, and not yet for its own words.
        let mut before = Vec::new();
        for (name, values) in settings {
            before.push((name.clone(), self.scope.variables.get(&name).cloned()));
            self.assign(&name, values);
        }
        let output = self.run(&words, &given).filter(|_| !redirects.output);
        for (name, values) in before {
            match values {
                Some(values) => self.scope.variables.insert(name, values),
                None => self.scope.variables.remove(&name),
            };
        }
        for statement in pipes.into_iter().chain(after) {
            self.walk(statement, source, &Input::default());
        }
        output
    }

    /// A command whose words are known, also one that another command runs.
    pub(super) fn run(&mut self, words: &[Word], input: &Input) -> Option<String> {
        self.deeper(|reader| reader.run_words(words, input))
    }

    fn run_words(&mut self, words: &[Word], input: &Input) -> Option<String> {
        let first = words.first()?.clone();
        self.doubts(&first, words);
        let at = self.record(words);
        self.scope.last = words.last().cloned();
        let function = self.scope.functions.get(&first.text).cloned();
        let mut output = None;
        let mut is_function = false;
        if let Some(function) = function {
            self.call(&first.text, words, input);
            is_function = function.certain;
        }
        let name = programs::name_of(&first.text).to_owned();
        let program = programs::table().find(&name);
        self.names_may_be_code(&name, words.get(1..).unwrap_or_default());
        let mut acts = Vec::new();
        match program {
            _ if is_function && program.is_none() => acts.push(Act::of(Kind::Compute)),
            Some(program) if programs::is_standard(&first.text) => {
                output = self.apply(&name, program, words.get(1..).unwrap_or_default(), input, &mut acts);
            }
            _ => {
                // What looks like a known program may be another one; denials look at both.
                if let Some(program) = program {
                    self.apply(&name, program, words.get(1..).unwrap_or_default(), input, &mut acts);
                }
                acts.extend(self.foreign(&first));
            }
        }
        if acts.iter().any(|act| act.kind == Kind::Build) {
            acts.extend(self.code_elsewhere(words.get(1..).unwrap_or_default()));
        }
        // It may run its words, and nobody knows how.
        if acts.iter().any(|act| matches!(act.kind, Kind::Build | Kind::Run | Kind::Opaque)) {
            self.scan_words(words.get(1..).unwrap_or_default());
        }
        if acts.is_empty() {
            acts.push(Act::of(Kind::Compute));
        }
        self.attach(at, acts);
        output
    }

    /// What makes the very program doubtful.
    fn doubts(&mut self, first: &Word, words: &[Word]) {
        if first.hidden || first.glob || !first.is_known() {
            self.opaque("which program runs is hidden");
        }
        if first.text.is_empty() {
            self.opaque("no program is named");
        }
        if RESERVED.contains(&first.text.as_str()) && !first.quoted {
            self.opaque("it cannot be read for sure");
            let rest: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            self.scan_for_destruction(&rest.join(" "));
        }
        let looks_like_option = |word: &&Word| word.one_of && word.text.starts_with('-');
        if words.iter().skip(1).any(|word| looks_like_option(&word)) {
            self.opaque("which options it gets depends on a variable");
        }
    }

    fn call(&mut self, name: &str, words: &[Word], input: &Input) {
        let Some(function) = self.scope.functions.get_mut(name) else { return };
        function.called = true;
        let body = function.body.clone();
        let label = format!("function {name}");
        if self.inside.contains(&label) {
            self.note(Act::because(Kind::Opaque, format!("`{name}` calls itself")));
            return;
        }
        let arguments = words.get(1..).unwrap_or_default().iter().map(|word| Word { hidden: true, ..word.clone() });
        let before = self.scope.arguments.replace(arguments.collect());
        let kept = std::mem::take(&mut self.pending);
        self.via(label, |reader| reader.script(&body, input));
        self.pending.splice(0..0, kept);
        self.scope.arguments = before;
    }

    /// A program that the table does not have, or that stands where programs of the system do not.
    fn foreign(&mut self, first: &Word) -> Vec<Act> {
        if !first.text.contains('/') {
            return vec![Act::because(Kind::Run, format!("`{}` is not a program that is known", first.text))];
        }
        let places = self.places(first);
        if places.iter().any(|place| self.scope.written.contains(&place.path)) {
            return vec![Act::because(Kind::Opaque, "it runs what it has just written")];
        }
        let kind = |location| if location == Location::Inside { Kind::Build } else { Kind::Run };
        places.into_iter().map(|place| Act::at(kind(place.location), place)).collect()
    }

    /// Builds and tests run what they are pointed at: `make -C /tmp`, `pytest /tmp/x`, `java -cp /tmp`. Elsewhere is not the project.
    fn code_elsewhere(&self, words: &[Word]) -> Vec<Act> {
        const OF_THE_SYSTEM: &[&str] = &["/usr", "/lib", "/lib64", "/opt"];
        let mut found = Vec::new();
        for word in words.iter().filter(|word| !word.text.contains("://")) {
            let value = word.text.split_once('=').map_or(word.text.as_str(), |(_, value)| value);
            // `-C/tmp`, `-I../x`
            let from = if value.starts_with('-') { value.find(['/', '.', '~']).unwrap_or(value.len()) } else { 0 };
            for path in value.get(from..).unwrap_or_default().split([':', ',']) {
                // `@file` holds more options.
                let path = path.strip_prefix('@').filter(|path| path.starts_with(['/', '.', '~'])).unwrap_or(path);
                let leads_out =
                    path.starts_with(['/', '~']) || path.contains("..") || (path.contains('/') && word.is_known());
                if !leads_out || path.starts_with("/dev/") {
                    continue;
                }
                for place in self.places(&Word { text: path.to_owned(), ..word.clone() }) {
                    let of_the_system = OF_THE_SYSTEM.iter().any(|known| paths::is_in(&place.path, known));
                    if place.location != Location::Inside && !of_the_system {
                        found.push(Act { why: Some("code from elsewhere".to_owned()), ..Act::at(Kind::Run, place) });
                    }
                }
            }
        }
        found
    }

    /// Puts a command on the list, with what was found while its words were read.
    pub(super) fn record(&mut self, words: &[Word]) -> usize {
        let acts = std::mem::take(&mut self.pending);
        let shown = |word: &Word| match word.doubt {
            Doubt::None => word.text.clone(),
            Doubt::Derived | Doubt::Free if word.text.is_empty() => "?".to_owned(),
            Doubt::Derived | Doubt::Free => format!("{}?", word.text),
        };
        if !words.is_empty() || !acts.is_empty() {
            self.commands.push(Command { words: words.iter().map(shown).collect(), inside: self.inside.clone(), acts });
        }
        self.commands.len().saturating_sub(1)
    }

    pub(super) fn attach(&mut self, at: usize, acts: Vec<Act>) {
        let pending = std::mem::take(&mut self.pending);
        if let Some(command) = self.commands.get_mut(at) {
            for act in acts.into_iter().chain(pending) {
                if !command.acts.contains(&act) {
                    command.acts.push(act);
                }
            }
        }
    }

    /// `x=1`, `x+=1`, `x=(a b)`: the name, and the values that it gets.
    pub(super) fn assignment(&mut self, node: Node<'_>, source: &str) -> (String, Vec<Word>) {
        self.step();
        let name = node.child_by_field_name("name").map(|name| text_of(name, source)).unwrap_or_default();
        let indexed = name.contains('[');
        if indexed {
            self.arithmetic_text(name);
        }
        let bare = name.split('[').next().unwrap_or_default().to_owned();
        let adds = text_of(node, source).get(name.len()..).is_some_and(|rest| rest.starts_with("+="));
        let values = match node.child_by_field_name("value") {
            None => vec![Word::default()],
            Some(value) if value.kind() == "array" => {
                let below = super::parse::children(value);
                let parts: Vec<Node<'_>> = below.into_iter().filter(Node::is_named).collect();
                self.words(&parts, source)
            }
            Some(value) => {
                let inner = substitutions(value);
                // All of it, also what the grammar has left out.
                let mut lexer = Lexer { source, at: value.start_byte(), end: node.end_byte(), inner: &inner };
                let read = lexer.pieces(self, Within::Assignment).map(expand::values);
                if let Ok(Ok(values)) = read {
                    values
                } else {
                    self.misread(text_of(node, source));
                    vec![Word::unknown(Doubt::Free, "")]
                }
            }
        };
        if !adds && !indexed {
            return (bare, values);
        }
        let old = self.scope.variables.get(&bare).cloned().unwrap_or_default();
        let mut all = old.clone();
        all.extend(values.iter().cloned());
        for old in &old {
            for new in &values {
                let mut word = old.clone();
                word.absorb(new, false);
                all.push(word);
            }
        }
        (bare, all)
    }

    /// Variables that decide which code runs.
    pub(super) fn variable_matters(&mut self, name: &str, values: &[Word]) {
        self.values_may_be_code(values);
        match programs::table().setting(name) {
            Setting::Harmless => {}
            Setting::Flags => {
                if values.iter().any(|value| !value.is_known() || names_a_program(&value.text)) {
                    self.opaque(format!("{name} may name another program"));
                }
            }
            Setting::Opaque => self.opaque(format!("{name} decides what programs do")),
            Setting::Code => {
                for value in values {
                    if !value.is_known() {
                        self.opaque(format!("{name} is run as a command"));
                    }
                    let kept = std::mem::take(&mut self.pending);
                    self.via(format!("{name}="), |reader| reader.script(&value.text, &Input::default()));
                    self.pending.splice(0..0, kept);
                }
            }
        }
    }
}

/// Whether options for a compiler bring along programs or code.
fn names_a_program(flags: &str) -> bool {
    ["linker", "-wrapper", "-fplugin", "-specs", "-B", "@", "plugin", "/"].iter().any(|part| flags.contains(part))
}
