//! Redirections: files that are read and written, and what a command is given to read.

use tree_sitter::Node;

use super::expand;
use super::lex::{Lexer, Within};
use super::parse::{children, is_whole, substitutions, text_of};
use super::word::Word;
use super::{Input, Reader};
use crate::policy::act::{Act, Kind};

/// What the redirections of a command come to.
#[derive(Debug, Default)]
pub(super) struct Redirects {
    pub(super) input: Option<Input>,
    /// Words that the grammar has put behind a redirection though they belong to the command.
    pub(super) words: Vec<Word>,
    pub(super) acts: Vec<Act>,
    /// Its output goes to a file.
    pub(super) output: bool,
}

impl Reader<'_> {
    /// A statement with redirections behind it.
    pub(super) fn redirected(&mut self, below: &[Node<'_>], source: &str, input: &Input) -> Option<String> {
        let mut redirects = Redirects::default();
        let mut after: Vec<Node<'_>> = Vec::new();
        let mut pipes: Vec<Node<'_>> = Vec::new();
        let mut body = None;
        for child in below {
            match child.kind() {
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    self.redirect(*child, source, &mut redirects, &mut pipes, &mut after);
                }
                _ if child.is_named() && body.is_none() => body = Some(*child),
                _ => self.misread(text_of(*child, source)),
            }
        }
        let given = redirects.input.take().unwrap_or_else(|| input.clone());
        let to_file = redirects.output;
        let output = match body {
            Some(command) if command.kind() == "command" => {
                let parts = children(command);
                if !is_whole(command, &parts, source) {
                    self.misread(text_of(command, source));
                }
                self.pending.append(&mut redirects.acts);
                self.command(&parts, redirects.words, source, &given)
            }
            Some(statement) => {
                if !redirects.words.is_empty() {
                    self.misread(text_of(statement, source));
                }
                self.redirection_alone(redirects.acts);
                self.walk(statement, source, &given)
            }
            // `> file` makes it empty.
            None => {
                self.redirection_alone(redirects.acts);
                given.text.clone()
            }
        };
        let mut output = output.filter(|_| !to_file);
        for pipe in pipes {
            let stages = children(pipe);
            output = self.deeper(|reader| reader.pipeline(&stages, source, Input::of(output)));
        }
        for statement in after {
            self.walk(statement, source, &Input::default());
        }
        output
    }

    /// What only redirects is a command too.
    fn redirection_alone(&mut self, acts: Vec<Act>) {
        if !acts.is_empty() {
            self.pending.extend(acts);
            self.record(&[]);
        }
    }

    pub(super) fn redirect<'t>(
        &mut self,
        node: Node<'t>,
        source: &str,
        found: &mut Redirects,
        pipes: &mut Vec<Node<'t>>,
        after: &mut Vec<Node<'t>>,
    ) {
        match node.kind() {
            "file_redirect" => self.file_redirect(node, source, found),
            "herestring_redirect" => {
                let words: Vec<Node<'_>> = children(node).into_iter().filter(Node::is_named).collect();
                let text = self.words(&words, source).into_iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
                found.input = Some(Input::of(Some(format!("{text}\n"))));
            }
            _ => self.here_document(node, source, found, pipes, after),
        }
    }

    fn file_redirect(&mut self, node: Node<'_>, source: &str, found: &mut Redirects) {
        let below = children(node);
        let operator = below.iter().find(|child| !child.is_named() && child.kind().contains(['<', '>']));
        let operator = operator.map_or("", |operator| text_of(*operator, source));
        let mut cursor = node.walk();
        let targets: Vec<Node<'_>> = node.children_by_field_name("destination", &mut cursor).collect();
        let strange = below.iter().any(|child| child.is_error() || child.is_missing());
        if strange || !is_whole(node, &below, source) {
            self.misread(text_of(node, source));
        }
        let mut words = self.words(&targets, source).into_iter();
        let Some(target) = words.next() else {
            // `>&-` closes.
            if !operator.ends_with("&-") && !operator.ends_with('-') {
                self.misread(text_of(node, source));
            }
            return;
        };
        found.words.extend(words);
        let is_number =
            !target.text.is_empty() && target.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        match operator {
            "<&" | ">&" if is_number && target.is_known() => {}
            "<" | "<&" => {
                found.acts.extend(self.file_acts(Kind::Read, &target).into_iter().map(aside));
                found.input = Some(Input::of(target.pipe.clone().and_then(|pipe| pipe.holds)));
            }
            ">" | ">>" | ">|" | "&>" | "&>>" | ">&" => {
                found.acts.extend(self.file_acts(Kind::Write, &target).into_iter().map(aside));
                // Errors may go elsewhere and leave the output as it is.
                found.output |= !text_of(node, source).starts_with('2');
            }
            _ => self.misread(text_of(node, source)),
        }
    }

    /// Reading or writing a file. Some files are none.
    pub(super) fn file_acts(&mut self, kind: Kind, word: &Word) -> Vec<Act> {
        const NOTHING: &[&str] = &[
            "/dev/null",
            "/dev/stdin",
            "/dev/stdout",
            "/dev/stderr",
            "/dev/tty",
            "/dev/zero",
            "/dev/urandom",
            "/dev/random",
        ];
        if word.is_known() && (NOTHING.contains(&word.text.as_str()) || word.text.starts_with("/dev/fd/")) {
            return Vec::new();
        }
        if let Some(rest) = word.text.strip_prefix("/dev/tcp/").or_else(|| word.text.strip_prefix("/dev/udp/")) {
            let host = rest.split('/').next().unwrap_or_default().to_owned();
            return vec![Act { host: Some(host), ..Act::because(Kind::Network, "the shell opens a connection") }];
        }
        let places = self.places(word);
        if kind == Kind::Write {
            self.scope.written.extend(places.iter().map(|place| place.path.clone()));
        }
        places.into_iter().map(|place| Act::at(kind, place)).collect()
    }

    fn here_document<'t>(
        &mut self,
        node: Node<'t>,
        source: &str,
        found: &mut Redirects,
        pipes: &mut Vec<Node<'t>>,
        after: &mut Vec<Node<'t>>,
    ) {
        let mut start = "";
        let mut body: Option<Node<'t>> = None;
        let mut ended = false;
        for (index, child) in children(node).into_iter().enumerate() {
            let field = node.field_name_for_child(u32::try_from(index).unwrap_or(u32::MAX));
            match child.kind() {
                "heredoc_start" => start = text_of(child, source),
                "heredoc_body" => body = Some(child),
                "heredoc_end" => ended = true,
                "file_redirect" | "herestring_redirect" => self.redirect(child, source, found, pipes, after),
                "pipeline" => pipes.push(child),
                _ if field == Some("argument") => {
                    let words = self.words(&[child], source);
                    found.words.extend(words);
                }
                _ if field == Some("right") => after.push(child),
                _ if child.is_named() || child.is_missing() => self.misread(text_of(node, source)),
                "<<" | "<<-" | "&&" | "||" | "|" | "|&" | "\n" | ";" | "&" => {}
                _ => self.misread(text_of(node, source)),
            }
        }
        let text = body.map(|body| text_of(body, source)).unwrap_or_default();
        let quoted = start.contains(['\'', '"', '\\']);
        let mark: String = start.chars().filter(|c| !"'\"\\".contains(*c)).collect();
        let tabs = text_of(node, source).starts_with("<<-");
        let ends = |line: &str| (if tabs { line.trim_start_matches('\t') } else { line }) == mark;
        if !ended || mark.is_empty() || start.contains(['$', '`', ' ']) || text.lines().any(ends) {
            self.misread(text_of(node, source));
        }
        let given = match body {
            Some(body) if !quoted => {
                let inner = substitutions(body);
                let mut lexer = Lexer { source, at: body.start_byte(), end: body.end_byte(), inner: &inner };
                let read = lexer.pieces(self, Within::Text).map(expand::values);
                if let Ok(Ok(words)) = read {
                    words.into_iter().next().map(|word| word.text).unwrap_or_default()
                } else {
                    self.misread(text);
                    text.to_owned()
                }
            }
            _ => text.to_owned(),
        };
        found.input = Some(Input::of(Some(given)));
    }
}

fn aside(act: Act) -> Act {
    Act { aside: true, ..act }
}
