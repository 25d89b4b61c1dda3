//! Splits the text of a word into pieces. The syntax tree says where substitutions are. Everything else is read here by the shell's own rules, so
//! that a word that the grammar misread is noticed.

use tree_sitter::Node;

use super::Reader;
use super::word::{Doubt, Pipe, Word};

#[derive(Debug, Clone)]
pub(super) enum Piece {
    Text {
        text: String,
        quoted: bool,
    },
    Glob(char),
    /// `{`, `,` or `}`, not quoted.
    Brace(char),
    /// What an expansion may come to: one of these, or all for a list.
    Value {
        words: Vec<Word>,
        quoted: bool,
    },
}

/// Where a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    Word,
    /// The right side of `x=`.
    Assignment,
    /// A here-document, or what stands in `${x:-...}` between double quotes: only `$` and backticks mean something.
    Text,
}

pub(super) struct Lexer<'a, 't> {
    pub(super) source: &'t str,
    pub(super) at: usize,
    pub(super) end: usize,
    /// The substitutions in it, in order.
    pub(super) inner: &'a [Node<'t>],
}

/// The grammar and the shell do not agree about a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Misread;

impl<'t> Lexer<'_, 't> {
    fn rest(&self) -> &'t str {
        self.source.get(self.at..self.end).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn substitution(&self) -> Option<Node<'t>> {
        self.inner.iter().find(|node| node.start_byte() == self.at).copied()
    }

    pub(super) fn pieces(&mut self, reader: &mut Reader<'_>, within: Within) -> Result<Vec<Piece>, Misread> {
        let mut pieces = Vec::new();
        let begin = self.at;
        while let Some(next) = self.peek() {
            if let Some(node) = self.substitution() {
                pieces.push(self.substituted(node, reader, within == Within::Text)?);
                continue;
            }
            let starts = self.at == begin
                || (within == Within::Assignment && self.source.get(..self.at).is_some_and(|s| s.ends_with(':')));
            match next {
                '$' => self.dollar(reader, within == Within::Text, &mut pieces)?,
                '`' => return Err(Misread),
                '\\' if within == Within::Text => self.escaped_in_text(&mut pieces),
                _ if within == Within::Text => self.text(&mut pieces),
                '\\' => self.escaped(&mut pieces),
                '\'' => self.single(&mut pieces)?,
                '"' => self.double(reader, &mut pieces)?,
                '~' if starts => self.tilde(reader, &mut pieces),
                '*' | '?' | '[' if within == Within::Word => pieces.extend(self.next().map(Piece::Glob)),
                '{' | '}' | ',' if within == Within::Word => pieces.extend(self.next().map(Piece::Brace)),
                ';' | '&' | '|' | '<' | '>' | '(' | ')' | ' ' | '\t' | '\n' => return Err(Misread),
                _ => self.text(&mut pieces),
            }
        }
        Ok(pieces)
    }

    fn text(&mut self, pieces: &mut Vec<Piece>) {
        if let Some(next) = self.next() {
            match pieces.last_mut() {
                Some(Piece::Text { text, quoted: false }) => text.push(next),
                _ => pieces.push(Piece::Text { text: next.to_string(), quoted: false }),
            }
        }
    }

    fn escaped(&mut self, pieces: &mut Vec<Piece>) {
        self.next();
        match self.next() {
            // A line that goes on.
            Some('\n') => {}
            Some(next) => pieces.push(Piece::Text { text: next.to_string(), quoted: true }),
            None => pieces.push(Piece::Text { text: "\\".to_owned(), quoted: true }),
        }
    }

    fn escaped_in_text(&mut self, pieces: &mut Vec<Piece>) {
        self.next();
        let text = match self.peek() {
            Some('\n') => String::new(),
            Some(next @ ('$' | '`' | '\\' | '"')) => next.to_string(),
            _ => return pieces.push(Piece::Text { text: "\\".to_owned(), quoted: true }),
        };
        self.next();
        pieces.push(Piece::Text { text, quoted: true });
    }

    fn single(&mut self, pieces: &mut Vec<Piece>) -> Result<(), Misread> {
        self.next();
        let text = self.rest().split_once('\'').ok_or(Misread)?.0;
        self.at += text.len() + 1;
        pieces.push(Piece::Text { text: text.to_owned(), quoted: true });
        Ok(())
    }

    fn double(&mut self, reader: &mut Reader<'_>, pieces: &mut Vec<Piece>) -> Result<(), Misread> {
        self.next();
        let mut text = String::new();
        loop {
            if let Some(node) = self.substitution() {
                pieces.push(Piece::Text { text: std::mem::take(&mut text), quoted: true });
                pieces.push(self.substituted(node, reader, true)?);
                continue;
            }
            match self.peek().ok_or(Misread)? {
                '"' => break,
                '`' => return Err(Misread),
                '$' => {
                    pieces.push(Piece::Text { text: std::mem::take(&mut text), quoted: true });
                    self.dollar(reader, true, pieces)?;
                }
                '\\' => {
                    self.next();
                    match self.next().ok_or(Misread)? {
                        '\n' => {}
                        next @ ('$' | '`' | '"' | '\\') => text.push(next),
                        next => text.extend(['\\', next]),
                    }
                }
                next => {
                    self.next();
                    text.push(next);
                }
            }
        }
        self.next();
        pieces.push(Piece::Text { text, quoted: true });
        Ok(())
    }

    fn tilde(&mut self, reader: &mut Reader<'_>, pieces: &mut Vec<Piece>) {
        self.next();
        let name: String =
            self.rest().chars().take_while(|c| c.is_ascii_alphanumeric() || "_-+.".contains(*c)).collect();
        let follows = self.rest().get(name.len()..).unwrap_or_default();
        // A tilde that is followed by a quoted part is not expanded, and neither is one in the middle.
        let ends = follows.is_empty() || follows.starts_with(['/', ':', ',', '}']);
        let words = match name.as_str() {
            _ if !ends => return pieces.push(Piece::Text { text: "~".to_owned(), quoted: false }),
            "" => reader.lookup("HOME"),
            "+" => reader.lookup("PWD"),
            "root" => vec![Word::plain("/root")],
            "-" => vec![Word::unknown(Doubt::Free, "")],
            name => vec![Word::plain(format!("/home/{name}"))],
        };
        self.at += name.len();
        pieces.push(Piece::Value { words, quoted: true });
    }

    fn substituted(&mut self, node: Node<'t>, reader: &mut Reader<'_>, quoted: bool) -> Result<Piece, Misread> {
        self.at = node.end_byte();
        if self.at > self.end {
            return Err(Misread);
        }
        if node.kind() == "process_substitution" {
            let content = reader.substitution(node, self.source);
            let word = Word {
                text: "/dev/fd/63".to_owned(),
                pipe: Some(Pipe { holds: content }),
                hidden: true,
                ..Word::default()
            };
            return Ok(Piece::Value { words: vec![word], quoted: true });
        }
        let output = reader.substitution(node, self.source).unwrap_or_default();
        let word = Word::unknown(Doubt::Derived, output.trim_end_matches('\n'));
        Ok(Piece::Value { words: vec![word], quoted })
    }

    fn dollar(&mut self, reader: &mut Reader<'_>, quoted: bool, pieces: &mut Vec<Piece>) -> Result<(), Misread> {
        self.next();
        let words = match self.peek() {
            Some('\'') if !quoted => {
                let text = self.ansi()?;
                pieces.push(Piece::Text { text, quoted: true });
                return Ok(());
            }
            Some('"') if !quoted => return self.double(reader, pieces),
            Some('{') => self.braced(reader, quoted)?,
            Some('(') if self.rest().starts_with("((") => self.arithmetic(reader)?,
            Some('(' | '[') => return Err(Misread),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name: String = self.rest().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                self.at += name.len();
                reader.lookup(&name)
            }
            Some(c @ ('0'..='9' | '@' | '*' | '#' | '?' | '-' | '$' | '!')) => {
                self.next();
                reader.lookup(&c.to_string())
            }
            _ => {
                pieces.push(Piece::Text { text: "$".to_owned(), quoted: true });
                return Ok(());
            }
        };
        pieces.push(Piece::Value { words, quoted });
        Ok(())
    }

    /// `$((...))`: a number. The substitutions in it run.
    fn arithmetic(&mut self, reader: &mut Reader<'_>) -> Result<Vec<Word>, Misread> {
        let begin = self.at;
        let mut open = 0_u32;
        loop {
            if let Some(node) = self.substitution() {
                reader.substitution(node, self.source);
                self.at = node.end_byte();
                continue;
            }
            match self.next().ok_or(Misread)? {
                '(' => open += 1,
                ')' if open == 1 => break,
                ')' => open -= 1,
                '`' => return Err(Misread),
                _ => {}
            }
        }
        reader.arithmetic_text(self.source.get(begin..self.at).unwrap_or_default());
        Ok(vec![Word { many: false, ..Word::unknown(Doubt::Derived, "1") }])
    }

    /// `${...}`. What it does to a value is worked out where that is simple.
    fn braced(&mut self, reader: &mut Reader<'_>, quoted: bool) -> Result<Vec<Word>, Misread> {
        self.next();
        let begin = self.at;
        let end = self.closing_brace()?;
        let inside = self.source.get(begin..end).ok_or(Misread)?;
        self.at = end + 1;
        let (length, inside_name) = match inside.strip_prefix('#') {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, inside),
        };
        let special = inside_name.starts_with(['@', '*', '?', '-', '$', '!', '#']);
        let name: String = if special {
            inside_name.chars().take(1).collect()
        } else {
            inside_name.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
        };
        if length {
            return Ok(vec![Word::unknown(Doubt::Derived, "1")]);
        }
        // `${!x}` is what the variable named by x holds.
        let indirect = special && name == "!" && inside_name.len() > 1;
        let mut after = inside_name.get(name.len()..).unwrap_or_default();
        if indirect {
            let value = reader.lookup(after);
            let words =
                value.iter().flat_map(|word| reader.lookup(&word.text)).map(|word| Word { doubt: Doubt::Free, ..word });
            return Ok(words.collect());
        }
        let mut offset = begin + inside.len() - after.len();
        if after.starts_with('[') {
            let Some((index, rest)) = after.split_once(']') else { return Err(Misread) };
            if index.contains(['$', '`']) {
                reader.arithmetic_text(index);
            }
            offset += index.len() + 1;
            after = rest;
        }
        if after.starts_with('@') {
            reader.opaque("a value is run as a prompt or as code");
        }
        let operand_at = offset + if after.starts_with(':') { 2 } else { 1 };
        let operator: String = after.chars().take(if after.starts_with(':') { 2 } else { 1 }).collect();
        let value = reader.lookup(&name);
        let unset = value.iter().all(|word| word.doubt == Doubt::Free && word.text.is_empty());
        match operator.as_str() {
            "" => Ok(value),
            ":-" | "-" | ":=" | "=" | ":+" | "+" | ":?" | "?" => {
                let other = self.part(reader, operand_at.min(end), end, quoted)?;
                let other = Reader::joined(other);
                if operator.ends_with('=') {
                    reader.assign_maybe(&name, vec![other.clone()]);
                }
                Ok(match operator.trim_start_matches(':') {
                    "?" => value.into_iter().map(|word| Word { text: word.text, ..word }).collect(),
                    // Which of both it is depends on what is not known here.
                    "+" => vec![
                        Word { one_of: true, hidden: true, ..other },
                        Word { one_of: true, hidden: true, ..Word::default() },
                    ],
                    _ if unset => vec![Word { doubt: Doubt::Free, hidden: true, ..other }],
                    _ => value,
                })
            }
            _ => {
                let operand = self.part(reader, offset.min(end), end, quoted)?;
                let operand = Reader::joined(operand);
                Ok(value.into_iter().map(|word| changed(word, &operand)).collect())
            }
        }
    }

    fn part(&self, reader: &mut Reader<'_>, from: usize, to: usize, quoted: bool) -> Result<Vec<Piece>, Misread> {
        let mut inner = Lexer { source: self.source, at: from, end: to, inner: self.inner };
        let text = inner.rest();
        let has_quotes = text.contains(['"', '\'']);
        // Spaces and operators are as good as letters here.
        if has_quotes && !quoted && !text.contains([' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')']) {
            return inner.pieces(reader, Within::Assignment);
        }
        inner.pieces(reader, Within::Text)
    }

    fn closing_brace(&self) -> Result<usize, Misread> {
        let mut look = Lexer { source: self.source, at: self.at, end: self.end, inner: self.inner };
        let mut open = 1_u32;
        loop {
            if let Some(node) = look.substitution() {
                look.at = node.end_byte();
                continue;
            }
            let at = look.at;
            match look.next().ok_or(Misread)? {
                '\\' => drop(look.next()),
                '\'' => {
                    let skipped = look.rest().find('\'').ok_or(Misread)?;
                    look.at += skipped + 1;
                }
                '`' => return Err(Misread),
                '$' if look.eat("{") => open += 1,
                '$' if look.rest().starts_with('(') && !look.rest().starts_with("((") => return Err(Misread),
                '}' if open == 1 => return Ok(at),
                '}' => open -= 1,
                _ => {}
            }
        }
    }

    /// `$'...'`.
    fn ansi(&mut self) -> Result<String, Misread> {
        self.next();
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let next = self.next().ok_or(Misread)?;
            if next == '\'' {
                break;
            }
            if next != '\\' {
                bytes.extend(next.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            let code = self.next().ok_or(Misread)?;
            let byte = match code {
                'n' => b'\n',
                't' => b'\t',
                'r' => b'\r',
                'a' => 7,
                'b' => 8,
                'e' | 'E' => 27,
                'f' => 12,
                'v' => 11,
                '\\' | '\'' | '"' | '?' => u8::try_from(code).unwrap_or(b'?'),
                'x' => u8::try_from(self.digits(2, 16).unwrap_or(0) & 0xff).unwrap_or(0),
                'u' | 'U' => {
                    let code = self.digits(if code == 'u' { 4 } else { 8 }, 16).and_then(char::from_u32).unwrap_or('?');
                    bytes.extend(code.encode_utf8(&mut [0; 4]).as_bytes());
                    continue;
                }
                'c' => u8::try_from(u32::from(self.next().ok_or(Misread)?) & 0x1f).unwrap_or(0),
                '0'..='7' => {
                    self.at -= 1;
                    u8::try_from(self.digits(3, 8).unwrap_or(0) & 0xff).unwrap_or(0)
                }
                other => {
                    bytes.push(b'\\');
                    bytes.extend(other.encode_utf8(&mut [0; 4]).as_bytes());
                    continue;
                }
            };
            // The shell ends the text there.
            if byte == 0 {
                let skipped = self.rest().find('\'').ok_or(Misread)?;
                self.at += skipped + 1;
                break;
            }
            bytes.push(byte);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn digits(&mut self, most: usize, radix: u32) -> Option<u32> {
        let digits: String = self.rest().chars().take(most).take_while(|c| c.is_digit(radix)).collect();
        self.at += digits.len();
        u32::from_str_radix(&digits, radix).ok()
    }
}

/// What is left of a value after `${x:0:1}`, `${x%y}`, `${x^^}`.
fn changed(word: Word, operation: &Word) -> Word {
    let text = word.text.as_str();
    let operation_text = operation.text.as_str();
    let plain = |pattern: &str| !pattern.contains(['*', '?', '[']) && operation.is_known();
    let done = match operation_text.as_bytes() {
        [b':', ..] => slice(text, operation_text),
        [b'%', ..] => {
            let pattern = operation_text.trim_start_matches('%');
            plain(pattern).then(|| text.strip_suffix(pattern).unwrap_or(text).to_owned())
        }
        [b'#', ..] => {
            let pattern = operation_text.trim_start_matches('#');
            plain(pattern).then(|| text.strip_prefix(pattern).unwrap_or(text).to_owned())
        }
        [b'^', b'^'] => Some(text.to_uppercase()),
        [b',', b','] => Some(text.to_lowercase()),
        [b'/', ..] => {
            let all = operation_text.starts_with("//");
            let (from, to) = operation_text
                .trim_start_matches('/')
                .split_once('/')
                .unwrap_or((operation_text.trim_start_matches('/'), ""));
            let replaced = || if all { text.replace(from, to) } else { text.replacen(from, to, 1) };
            (plain(from) && !from.is_empty()).then(replaced)
        }
        _ => None,
    };
    match done {
        Some(text) => Word { text, hidden: true, ..word },
        None => Word { doubt: word.doubt.max(Doubt::Derived), lead: true, many: true, hidden: true, ..word },
    }
}

fn slice(text: &str, operation: &str) -> Option<String> {
    let mut numbers = operation.split(':').skip(1).map(|number| number.trim().parse::<i64>().ok());
    let length = i64::try_from(text.len()).ok()?;
    let from = numbers.next()??;
    let from = if from < 0 { (length + from).max(0) } else { from.min(length) };
    let to = match numbers.next() {
        Some(count) => {
            let count = count?;
            if count < 0 { length + count } else { from.saturating_add(count).min(length) }
        }
        None => length,
    };
    text.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?).map(str::to_owned)
}
