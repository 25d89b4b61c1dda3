//! Walks through the statements of a script that may run.

use tree_sitter::Node;

use super::parse::{children, is_comment, is_whole, substitutions, text_of};
use super::scope::Function;
use super::word::{Doubt, Word};
use super::{Input, MAX_SCRIPT_BYTES, MAX_TOTAL_BYTES, Reader};
use crate::policy::act::{Act, Kind};

impl Reader<'_> {
    /// Reads a whole script. What it writes to its output, as far as that is known.
    pub(super) fn script(&mut self, text: &str, input: &Input) -> Option<String> {
        self.deeper(|reader| {
            reader.bytes = reader.bytes.saturating_add(text.len());
            if text.len() > MAX_SCRIPT_BYTES || reader.bytes > MAX_TOTAL_BYTES {
                reader.exceeded.get_or_insert("the script is too long to be judged");
                return None;
            }
            // The shell drops these, so that `r\0m` is `rm`.
            if text.contains('\0') {
                reader.opaque("there are zero bytes in it");
                let bare = text.replace('\0', "");
                return reader.script(&bare, input);
            }
            let Some(tree) = reader.parse(text) else {
                reader.exceeded.get_or_insert("the script takes too long to be read");
                return None;
            };
            let root = tree.root_node();
            let before = std::mem::replace(&mut reader.misread, root.has_error());
            if root.has_error() {
                reader.opaque("it cannot be parsed");
                reader.scan_for_destruction(text);
                // What is no number is a substitution with a subshell in it. The shell tries both.
                if text.contains("$((") && reader.guessing == 0 {
                    let other = text.replace("$((", "$( (");
                    reader.via("$((", |reader| reader.script(&other, input));
                }
            }
            let output = reader.walk(root, text, input);
            if std::mem::replace(&mut reader.misread, before) {
                reader.parse_line_by_line(text);
            }
            output
        })
    }

    pub(super) fn walk(&mut self, node: Node<'_>, source: &str, input: &Input) -> Option<String> {
        self.deeper(|reader| reader.statement(node, source, input))
    }

    fn statement(&mut self, node: Node<'_>, source: &str, input: &Input) -> Option<String> {
        let below = children(node);
        if !is_whole(node, &below, source) {
            self.misread(text_of(node, source));
        }
        match node.kind() {
            "command" => self.command(&below, Vec::new(), source, input),
            "program" | "do_group" => self.sequence(&below, source, input),
            "compound_statement" if text_of(node, source).starts_with("((") => {
                self.arithmetic(node, source);
                Some(String::new())
            }
            "compound_statement" => self.sequence(&below, source, input),
            "subshell" => self.in_subshell(|reader| reader.sequence(&below, source, input)),
            "list" => self.list(&below, source, input),
            "pipeline" => self.pipeline(&below, source, input.clone()),
            "redirected_statement" => self.redirected(&below, source, input),
            "variable_assignment" | "variable_assignments" | "declaration_command" | "unset_command" => {
                self.declaration(node, source);
                Some(String::new())
            }
            "negated_command" => {
                self.sequence(&below, source, input);
                None
            }
            "if_statement" => self.conditional(&below, source, input),
            "elif_clause" | "else_clause" => self.conditional(&below, source, input),
            "while_statement" => self.repeated(|reader| {
                for child in &below {
                    reader.child(*child, source, input);
                }
            }),
            "for_statement" => self.for_each(node, &below, source, input),
            "c_style_for_statement" => self.counted(node, &below, source, input),
            "case_statement" => self.case(node, &below, source, input),
            "function_definition" => self.define(node, source),
            "test_command" => self.test(node, source),
            "comment" => {
                if !is_comment(node, source) {
                    self.misread(text_of(node, source));
                }
                Some(String::new())
            }
            kind => {
                let what = if node.is_error() { "it cannot be parsed" } else { "its grammar is not known" };
                self.opaque(format!("{what}: {kind}"));
                self.scan_for_destruction(text_of(node, source));
                for child in &below {
                    if child.is_named() {
                        self.walk(*child, source, input);
                    }
                }
                None
            }
        }
    }

    /// The grammar is not to be believed here.
    pub(super) fn misread(&mut self, text: &str) {
        self.misread = true;
        self.opaque("it cannot be read for sure");
        self.scan_for_destruction(text);
    }

    fn child(&mut self, child: Node<'_>, source: &str, input: &Input) -> Option<String> {
        if child.is_missing() {
            self.opaque("it cannot be parsed: something is missing");
            return None;
        }
        if child.is_named() {
            return self.walk(child, source, input);
        }
        if child.kind().starts_with(";;") && child.parent().is_none_or(|parent| parent.kind() != "case_item") {
            self.misread(text_of(child, source));
        }
        Some(String::new())
    }

    pub(super) fn sequence(&mut self, below: &[Node<'_>], source: &str, input: &Input) -> Option<String> {
        let mut output = Some(String::new());
        for child in below {
            let said = self.child(*child, source, input);
            output = output.zip(said).map(|(so_far, said)| so_far + &said);
        }
        output
    }

    /// A shell of its own: what it sets is gone after it. What it writes is not.
    fn in_subshell<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.scope.clone();
        let done = work(self);
        let after = std::mem::replace(&mut self.scope, before);
        (self.scope.written, self.scope.links) = (after.written, after.links);
        for (name, function) in after.functions {
            if function.called
                && let Some(known) = self.scope.functions.get_mut(&name)
            {
                known.called = true;
            } else if !function.called {
                let leftover = Function { certain: false, ..function };
                self.scope.functions.entry(name).or_insert(leftover);
            }
        }
        done
    }

    /// What may run or not: afterwards things are as before, or as it left them.
    fn maybe<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let (variables, bases) = (self.scope.variables.clone(), self.scope.bases.clone());
        self.scope.maybe += 1;
        let done = work(self);
        self.scope.maybe -= 1;
        let after = std::mem::replace(&mut self.scope.variables, variables);
        for (name, values) in after {
            if self.scope.variables.get(&name) != Some(&values) {
                self.assign_maybe(&name, values);
            }
        }
        self.scope.add_bases(bases);
        done
    }

    fn list(&mut self, below: &[Node<'_>], source: &str, input: &Input) -> Option<String> {
        let both = below.iter().any(|child| child.kind() == "&&");
        let before = self.scope.bases.clone();
        let mut output = None;
        for (index, child) in below.iter().enumerate() {
            if index == 0 {
                output = self.child(*child, source, input);
                // What follows runs only if it went there.
                if both && self.scope.bases != before && self.scope.bases.ends_with(&before) {
                    let kept = self.scope.bases.len() - before.len();
                    self.scope.bases.truncate(kept);
                }
            } else if child.is_named() || child.is_missing() {
                let more = self.maybe(|reader| reader.child(*child, source, input));
                output = output.zip(more).map(|(so_far, more)| so_far + &more).filter(|_| both);
            }
        }
        self.scope.add_bases(before);
        output
    }

    pub(super) fn pipeline(&mut self, below: &[Node<'_>], source: &str, input: Input) -> Option<String> {
        let mut input = input;
        for child in below {
            if child.is_missing() {
                self.opaque("it cannot be parsed: something is missing");
            }
            if child.is_named() {
                let output = self.in_subshell(|reader| reader.child(*child, source, &input));
                input = Input::of(output);
            }
        }
        input.text
    }

    /// The first statement is asked, the others may follow.
    fn conditional(&mut self, below: &[Node<'_>], source: &str, input: &Input) -> Option<String> {
        self.maybe(|reader| {
            for child in below {
                reader.child(*child, source, input);
            }
        });
        None
    }

    /// What is set in one round is seen in the next.
    fn repeated(&mut self, mut round: impl FnMut(&mut Self)) -> Option<String> {
        let (variables, bases) = (self.scope.variables.clone(), self.scope.bases.clone());
        self.maybe(&mut round);
        if self.scope.variables != variables || self.scope.bases != bases {
            let first = self.commands.len();
            self.maybe(&mut round);
            self.drop_duplicates(first);
        }
        None
    }

    /// Takes away what was found again.
    fn drop_duplicates(&mut self, from: usize) {
        let later = self.commands.split_off(from.min(self.commands.len()));
        for command in later {
            if !self.commands.contains(&command) {
                self.commands.push(command);
            }
        }
    }

    fn for_each(&mut self, node: Node<'_>, below: &[Node<'_>], source: &str, input: &Input) -> Option<String> {
        let name = node.child_by_field_name("variable").map(|name| text_of(name, source)).unwrap_or_default();
        let mut cursor = node.walk();
        let values: Vec<Node<'_>> = node.children_by_field_name("value", &mut cursor).collect();
        let words = if values.is_empty() { self.lookup("@") } else { self.words(&values, source) };
        let words: Vec<Word> = words.into_iter().map(|word| Word { hidden: true, ..word }).collect();
        self.variable_matters(name, &words);
        self.scope.variables.remove(name);
        self.assign(name, words);
        let body: Vec<Node<'_>> = below
            .iter()
            .filter(|child| child.kind() == "do_group" || child.kind() == "compound_statement")
            .copied()
            .collect();
        self.repeated(|reader| {
            reader.sequence(&body, source, input);
        })
    }

    fn counted(&mut self, node: Node<'_>, below: &[Node<'_>], source: &str, input: &Input) -> Option<String> {
        for part in below.iter().filter(|child| child.is_named() && child.kind() != "do_group") {
            self.substitutions_in(*part, source);
            let names = text_of(*part, source).split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            for name in names.filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic())) {
                self.assign(name, vec![Word { many: false, ..Word::unknown(Doubt::Derived, "1") }]);
            }
        }
        let header = node.child_by_field_name("body").map_or(node.end_byte(), |body| body.start_byte());
        self.arithmetic_text(source.get(node.start_byte()..header).unwrap_or_default());
        let body: Vec<Node<'_>> = below
            .iter()
            .filter(|child| child.kind() == "do_group" || child.kind() == "compound_statement")
            .copied()
            .collect();
        self.repeated(|reader| {
            reader.sequence(&body, source, input);
        })
    }

    fn case(&mut self, node: Node<'_>, below: &[Node<'_>], source: &str, input: &Input) -> Option<String> {
        if let Some(value) = node.child_by_field_name("value") {
            self.words(&[value], source);
        }
        for item in below.iter().filter(|child| child.kind() == "case_item") {
            let parts = children(*item);
            if !is_whole(*item, &parts, source) {
                self.misread(text_of(*item, source));
            }
            self.maybe(|reader| {
                for (index, part) in parts.iter().enumerate() {
                    let field = item.field_name_for_child(u32::try_from(index).unwrap_or(u32::MAX));
                    if field == Some("value") {
                        reader.substitutions_in(*part, source);
                    } else {
                        reader.child(*part, source, input);
                    }
                }
            });
        }
        let known = |kind: &str| matches!(kind, "case" | "in" | "esac" | "case_item" | ";" | "\n" | "comment");
        if below.iter().any(|child| !known(child.kind()) && Some(*child) != node.child_by_field_name("value")) {
            self.misread(text_of(node, source));
        }
        None
    }

    fn define(&mut self, node: Node<'_>, source: &str) -> Option<String> {
        let name = node.child_by_field_name("name").map(|name| text_of(name, source)).unwrap_or_default().to_owned();
        let Some(body) = node.child_by_field_name("body") else {
            self.misread(text_of(node, source));
            return None;
        };
        // Redirections of the body belong to it.
        let text = source.get(body.start_byte()..node.end_byte()).unwrap_or_default();
        if Self::is_fork_bomb(&name, text_of(body, source)) {
            self.note(Act::because(Kind::ForkBomb, format!("`{name}` starts itself again and again")));
        }
        let certain = self.scope.maybe == 0 && !self.scope.functions.contains_key(&name);
        self.scope.functions.insert(name, Function { body: text.to_owned(), certain, called: false });
        Some(String::new())
    }

    /// A function that starts itself in the background or twice.
    fn is_fork_bomb(name: &str, body: &str) -> bool {
        let words = body.split(|c: char| c.is_whitespace() || "|&;(){}`$".contains(c));
        let calls = words.filter(|word| *word == name).count();
        calls > 1 || (calls == 1 && body.replace("&&", "").replace("2>&1", "").contains('&'))
    }

    /// Functions that nobody has called yet may be called later.
    pub(super) fn leftover_functions(&mut self) {
        let functions = self.scope.functions.clone();
        for (name, function) in functions.into_iter().filter(|(_, function)| !function.called) {
            self.scope.arguments = None;
            self.via(format!("function {name}"), |reader| reader.script(&function.body, &Input::default()));
        }
    }

    fn arithmetic(&mut self, node: Node<'_>, source: &str) {
        self.substitutions_in(node, source);
        self.arithmetic_text(text_of(node, source));
    }

    /// Numbers are evaluated again and again: `a[$(rm x)]` runs, also from within a variable.
    pub(super) fn arithmetic_text(&mut self, text: &str) {
        let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let values = names.filter_map(|name| self.scope.variables.get(name)).flatten();
        let trap = |text: &str| text.contains(['`', '[']) || text.contains("$(");
        if values.into_iter().any(|word| trap(&word.text)) || (text.contains('\'') && trap(text)) {
            self.opaque("a number in it is code");
            self.scan_for_destruction(text);
        }
    }

    fn substitutions_in(&mut self, node: Node<'_>, source: &str) {
        for inner in substitutions(node) {
            self.substitution(inner, source);
        }
    }

    /// `$(...)`, backticks and `<(...)`: what runs there, and what it writes.
    pub(super) fn substitution(&mut self, node: Node<'_>, source: &str) -> Option<String> {
        let kept = std::mem::take(&mut self.pending);
        let output = self.deeper(|reader| {
            let text = text_of(node, source);
            // Backslashes mean something else between backticks.
            if let Some(inner) = text.strip_prefix('`') {
                let inner = inner.strip_suffix('`').unwrap_or(inner);
                if inner.contains('\\') {
                    let bare = inner.replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\");
                    return reader.in_subshell(|reader| reader.script(&bare, &Input::default()));
                }
            }
            let below = children(node);
            if !is_whole(node, &below, source) {
                reader.misread(text);
            }
            // `$(< file)` is what the file holds.
            reader.in_subshell(|reader| reader.sequence(&below, source, &Input::default()))
        });
        let found = std::mem::replace(&mut self.pending, kept);
        for act in found {
            self.note(act);
        }
        output
    }

    /// `[ ... ]` is a command, whatever the grammar says; `[[ ... ]]` is not.
    fn test(&mut self, node: Node<'_>, source: &str) -> Option<String> {
        let text = text_of(node, source);
        self.substitutions_in(node, source);
        self.quoted_names_may_be_code(text);
        if text.starts_with("((") {
            self.arithmetic_text(text);
        } else if text.starts_with("[[") {
            if text.contains('\'') {
                self.arithmetic_text(text);
            }
        } else if !self.is_plain_test(node, source) {
            self.misread(text);
        }
        None
    }
}
