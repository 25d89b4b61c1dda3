//! Parses text into a syntax tree within limits, and checks that the tree covers the whole text.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::Reader;

/// How often the parser may report that it is still at work. It does so every few hundred steps.
const MAX_PARSER_REPORTS: u32 = 20_000;

impl Reader<'_> {
    pub(super) fn parse(&mut self, text: &str) -> Option<Tree> {
        if self.parser.is_none() {
            let mut parser = Parser::new();
            parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
            self.parser = Some(parser);
        }
        let parser = self.parser.as_mut()?;
        let mut reports = 0_u32;
        let mut bounded = |_: &tree_sitter::ParseState| {
            reports += 1;
            if reports > MAX_PARSER_REPORTS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let bytes = text.as_bytes();
        let options = ParseOptions::new().progress_callback(&mut bounded);
        let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
        if tree.is_none() {
            parser.reset();
        }
        tree
    }
}

pub(super) fn text_of<'t>(node: Node<'_>, source: &'t str) -> &'t str {
    source.get(node.byte_range()).unwrap_or_default()
}

pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

/// Whether only blanks stand between the nodes below one: nothing was passed over.
pub(super) fn is_whole(node: Node<'_>, children: &[Node<'_>], source: &str) -> bool {
    let mut at = node.start_byte();
    for child in children {
        if !is_blank(source.get(at..child.start_byte()).unwrap_or("?")) && child.start_byte() >= at {
            return false;
        }
        at = at.max(child.end_byte());
    }
    children.is_empty() || is_blank(source.get(at..node.end_byte()).unwrap_or_default())
}

fn is_blank(text: &str) -> bool {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n']);
        match rest.strip_prefix("\\\n") {
            Some(after) => rest = after,
            None => return rest.is_empty(),
        }
    }
}

/// A comment begins a word, and ends with its line.
pub(super) fn is_comment(node: Node<'_>, source: &str) -> bool {
    let text = text_of(node, source);
    let before = source.get(..node.start_byte()).and_then(|before| before.chars().next_back());
    let begins = before.is_none_or(|c| " \t\n;&|()".contains(c));
    // An escaped blank is a part of a word.
    let escaped = source.get(..node.start_byte()).is_some_and(|before| {
        let bare = before.trim_end_matches([' ', '\t']);
        bare.len() + 1 == before.len() && bare.ends_with('\\')
    });
    text.starts_with('#') && begins && !escaped && !text.contains('\n')
}

/// The substitutions below a node, in order, and not those inside them.
pub(super) fn substitutions(node: Node<'_>) -> Vec<Node<'_>> {
    let mut found = Vec::new();
    if node.child_count() == 0 {
        return found;
    }
    let mut cursor = node.walk();
    loop {
        let here = cursor.node();
        let is_one = matches!(here.kind(), "command_substitution" | "process_substitution");
        if is_one {
            found.push(here);
        }
        if !is_one && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() || cursor.node() == node {
                return found;
            }
        }
    }
}
