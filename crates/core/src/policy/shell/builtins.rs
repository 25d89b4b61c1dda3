//! Commands of the shell itself: what they change for the commands after them.

use tree_sitter::Node;

use super::lex::{Lexer, Within};
use super::parse::{children, substitutions, text_of};
use super::word::{Doubt, Word};
use super::{Input, Reader};
use crate::policy::act::{Act, Kind, Location};
use crate::policy::paths::Base;
use crate::policy::programs;

impl Reader<'_> {
    /// `x=1`, `export x=1`, `declare`, `unset`: what the grammar has nodes of its own for.
    pub(super) fn declaration(&mut self, node: Node<'_>, source: &str) {
        if node.kind() == "variable_assignment" {
            let (name, values) = self.assignment(node, source);
            self.variable_matters(&name, &values);
            self.assign(&name, values);
            self.note(Act::of(Kind::Session));
            self.record(&[]);
            return;
        }
        let mut nodes = Vec::new();
        let mut words = Vec::new();
        for child in children(node) {
            match child.kind() {
                "variable_assignment" => {
                    let (name, values) = self.assignment(child, source);
                    self.variable_matters(&name, &values);
                    self.assign(&name, values);
                    words.push(Word::plain(text_of(child, source)));
                }
                _ if child.is_error() || child.is_missing() => self.misread(text_of(child, source)),
                _ => nodes.push(child),
            }
        }
        let mut all = self.words(&nodes, source);
        let name = all.first().map(|word| word.text.clone()).unwrap_or_default();
        all.extend(words);
        let mut acts = vec![Act::of(Kind::Session)];
        let rest = all.get(1..).unwrap_or_default().to_vec();
        self.names_may_be_code(&name, &rest);
        if name == "unset" || name == "unsetenv" {
            self.unset(&rest, &mut acts);
        } else if node.kind() == "declaration_command" {
            // `declare -n` makes a name for another variable; `-i` makes numbers of texts, and numbers can be code.
            if rest.iter().any(|word| word.text.starts_with('-') && word.text.contains(['n', 'i'])) && name != "export"
            {
                acts.push(Act::because(Kind::Opaque, "what the variable holds depends on others"));
            }
            if rest.iter().any(|word| word.hidden) {
                acts.push(Act::because(Kind::Opaque, "which variable is set is hidden"));
            }
        }
        let at = self.record(&all);
        self.attach(at, acts);
    }

    pub(super) fn export(&mut self, words: &[Word], acts: &mut Vec<Act>) {
        acts.push(Act::of(Kind::Session));
        for word in words {
            if let Some((name, _)) = word.text.split_once('=') {
                let name = name.trim_end_matches('+').to_owned();
                let value = word.without(name.len() + 1);
                self.variable_matters(&name, std::slice::from_ref(&value));
                self.assign(&name, vec![value]);
            } else if !word.is_known() {
                acts.push(Act::because(Kind::Opaque, "which variable is set is hidden"));
            }
        }
    }

    pub(super) fn unset(&mut self, words: &[Word], acts: &mut Vec<Act>) {
        acts.push(Act::of(Kind::Session));
        for word in words.iter().filter(|word| !word.text.starts_with('-')) {
            self.scope.variables.insert(word.text.clone(), vec![Word::unknown(Doubt::Free, "")]);
            if let Some(function) = self.scope.functions.get_mut(&word.text) {
                function.certain = false;
            }
        }
    }

    pub(super) fn cd(&mut self, words: &[Word], acts: &mut Vec<Act>) {
        acts.push(Act::of(Kind::Session));
        let target = words.iter().find(|word| !word.text.starts_with('-') || word.text == "-");
        let target = match target {
            Some(word) => word.clone(),
            None => self.lookup("HOME").into_iter().next().unwrap_or_default(),
        };
        let target = &target;
        let before = self.scope.bases.clone();
        let known =
            target.is_known() && !target.glob && target.text != "-" && !self.scope.variables.contains_key("CDPATH");
        let mut found = Vec::new();
        for place in self.places(target) {
            found.push(if known && matches!(place.location, Location::Inside | Location::Outside) {
                Base::At(place.path)
            } else {
                Base::Unknown
            });
        }
        found.dedup();
        // It may fail, and then everything stays as it was.
        self.scope.bases = found;
        self.scope.bases.retain(|base| !before.contains(base));
        self.scope.add_bases(before);
    }

    pub(super) fn eval(&mut self, words: &[Word], input: &Input, acts: &mut Vec<Act>) {
        let mut code = Word::default();
        for (index, word) in words.iter().enumerate() {
            if index > 0 {
                code.text.push(' ');
            }
            code.absorb(word, false);
        }
        acts.push(Act::of(Kind::Compute));
        if words.iter().any(|word| word.hidden || !word.is_known()) {
            acts.push(Act::because(Kind::Opaque, "what is evaluated is hidden"));
        }
        let kept = std::mem::take(&mut self.pending);
        self.via("eval", |reader| reader.script(&code.text, input));
        self.pending.splice(0..0, kept);
    }

    pub(super) fn source(&mut self, words: &[Word], acts: &mut Vec<Act>) {
        let Some(file) = words.iter().find(|word| word.text != "--") else { return };
        self.script_file(file, None, acts);
    }

    pub(super) fn exec(&mut self, words: &[Word], input: &Input, acts: &mut Vec<Act>) {
        let mut rest = words;
        while let Some((first, more)) = rest.split_first() {
            match first.text.as_str() {
                "-a" => rest = more.get(1..).unwrap_or_default(),
                text if text.starts_with('-') && text.len() > 1 => rest = more,
                _ => break,
            }
        }
        self.nested("exec".to_owned(), rest, input, acts);
    }

    pub(super) fn trap(&mut self, words: &[Word], acts: &mut Vec<Act>) {
        acts.push(Act::of(Kind::Session));
        let operands: Vec<&Word> =
            words.iter().filter(|word| !word.text.starts_with('-') || word.text == "-").collect();
        if let [code, _, ..] = operands.as_slice()
            && code.text != "-"
        {
            self.code("trap", code, acts);
        }
    }

    pub(super) fn alias(&mut self, words: &[Word], acts: &mut Vec<Act>) {
        acts.push(Act::of(Kind::Session));
        for word in words.iter().filter(|word| word.text.contains('=')) {
            acts.push(Act::because(Kind::Opaque, "an alias changes what later commands mean"));
            let name = word.text.split('=').next().unwrap_or_default().to_owned();
            let code = word.without(name.len() + 1);
            self.code(&format!("alias {name}"), &code, acts);
            self.scope.functions.insert(
                name,
                super::scope::Function { body: format!("{} \"$@\"", code.text), certain: false, called: true },
            );
        }
    }

    /// `read x`, `mapfile x`, `getopts`: variables from outside.
    pub(super) fn read_into(&mut self, name: &str, words: &[Word], input: &Input, acts: &mut Vec<Act>) {
        acts.push(Act::of(Kind::Session));
        let takes =
            |text: &str| matches!(text, "-p" | "-d" | "-n" | "-N" | "-t" | "-u" | "-i" | "-s" | "-O" | "-c" | "-C");
        let mut skipping = false;
        let mut names = Vec::new();
        for word in words {
            let is_value = std::mem::take(&mut skipping);
            if is_value {
                continue;
            }
            skipping =
                takes(&word.text) && !(name == "read" && word.text == "-s") && !(name != "read" && word.text == "-t");
            if word.text == "-C" || word.text == "-c" {
                acts.push(Act::because(Kind::Opaque, "it runs code for each line"));
            }
            if !word.text.starts_with('-') {
                names.push(word.text.clone());
            }
        }
        if names.is_empty() {
            names.push(if name == "read" { "REPLY" } else { "MAPFILE" }.to_owned());
        }
        let text = input.text.clone().unwrap_or_default();
        let guess = text.trim_end_matches('\n');
        let last = names.len().saturating_sub(1);
        let mut parts = guess.split_whitespace();
        for (index, name) in names.iter().enumerate() {
            let part = if index == last {
                parts.by_ref().collect::<Vec<_>>().join(" ")
            } else {
                parts.next().unwrap_or_default().to_owned()
            };
            let values = vec![Word::unknown(Doubt::Free, part)];
            self.variable_matters(name, &values);
            self.assign(name, values);
        }
    }

    pub(super) fn set(&mut self, words: &[Word], acts: &mut Vec<Act>) {
        acts.push(Act::of(Kind::Session));
        if let Some(at) = words.iter().position(|word| word.text == "--") {
            self.scope.arguments = Some(words.get(at + 1..).unwrap_or_default().to_vec());
        } else if words.iter().any(|word| !word.text.starts_with(['-', '+'])) {
            let operands = words.iter().filter(|word| !word.text.starts_with(['-', '+']));
            self.scope.arguments = Some(operands.cloned().collect());
        }
    }

    /// A file that a shell reads as a script.
    pub(super) fn script_file(&mut self, file: &Word, content: Option<&str>, acts: &mut Vec<Act>) {
        let piped = file.pipe.clone().and_then(|pipe| pipe.holds);
        if let Some(text) = content.map(str::to_owned).or(piped) {
            acts.push(Act::because(Kind::Opaque, "a script is made while it runs"));
            let kept = std::mem::take(&mut self.pending);
            self.via("script", |reader| reader.script(&text, &Input::default()));
            self.pending.splice(0..0, kept);
            return;
        }
        let stream = file.pipe.is_some()
            || file.text.starts_with("/dev/")
            || file.text.starts_with("/proc/")
            || file.text == "-";
        if stream || !file.is_known() {
            acts.push(Act::because(Kind::Opaque, "which script runs is hidden"));
            return;
        }
        for place in self.places(file) {
            let act = if self.scope.written.contains(&place.path) {
                Act::because(Kind::Opaque, "it runs what it has just written")
            } else if place.location == Location::Inside && !place.glob {
                Act::at(Kind::Build, place)
            } else {
                Act::at(Kind::Run, place)
            };
            acts.push(act);
        }
    }

    /// Whether `[ ... ]` holds plain words only. The grammar takes `[ a > b ]` for a comparison; the shell writes a file.
    pub(super) fn is_plain_test(&mut self, node: Node<'_>, source: &str) -> bool {
        let inner = substitutions(node);
        let text = text_of(node, source);
        let mut at = node.start_byte();
        let end = node.end_byte();
        if !text.starts_with("[ ") || !text.ends_with(" ]") {
            return false;
        }
        // Words are separated by blanks; a substitution is passed over.
        let mut begin = at;
        let mut quote: Option<char> = None;
        let mut plain = true;
        while at <= end {
            if let Some(node) = inner.iter().find(|node| node.start_byte() == at) {
                at = node.end_byte();
                continue;
            }
            let c = source.get(at..end).and_then(|rest| rest.chars().next());
            let ends = quote.is_none() && c.is_none_or(|c| c == ' ' || c == '\t');
            if ends {
                let inside: Vec<Node<'_>> = Vec::new();
                let part = source.get(begin..at).unwrap_or_default();
                let has_inner = inner.iter().any(|node| node.start_byte() >= begin && node.end_byte() <= at);
                if !has_inner && !matches!(part, "!" | "==" | "=" | "[" | "]") {
                    let mut lexer = Lexer { source, at: begin, end: at, inner: &inside };
                    plain &= lexer.pieces(self, Within::Word).is_ok();
                }
                begin = at + 1;
            }
            match (quote, c) {
                (_, None) => break,
                (None | Some('"'), Some('\\')) => at += 1,
                (None, Some(c @ ('\'' | '"'))) => quote = Some(c),
                (Some(open), Some(c)) if open == c => quote = None,
                _ => {}
            }
            at += c.map_or(1, char::len_utf8);
        }
        plain && quote.is_none()
    }

    pub(super) fn printf(&mut self, words: &[Word]) -> Option<String> {
        let (variable, rest) = match words {
            [option, name, rest @ ..] if option.text == "-v" => (Some(name.text.clone()), rest),
            [option, rest @ ..] if option.text == "--" => (None, rest),
            rest => (None, rest),
        };
        let said = super::output::printf(rest);
        if let Some(name) = variable {
            let doubt = if rest.iter().all(Word::is_known) { Doubt::None } else { Doubt::Free };
            let value = Word { doubt, hidden: true, ..Word::plain(said.clone().unwrap_or_default()) };
            self.variable_matters(&name, std::slice::from_ref(&value));
            self.assign(&name, vec![value]);
            return Some(String::new());
        }
        said
    }

    /// Whether a word names a program that is known.
    pub(super) fn is_program(word: &str) -> bool {
        programs::table().find(programs::name_of(word)).is_some()
    }
}
