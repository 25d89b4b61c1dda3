//! Running text as it is streamed: broken at words to fit the screen, with a little of its Markdown shown. In a pipe it is left as it came.

use super::style::{Color, Ink, Look, Medium};
use super::text::{Cleaner, char_width, width};

/// A word that grows longer than this is shown before it ends.
const LONGEST_WORD: usize = 160;

/// One stretch of text. It ends where its block ends.
#[derive(Debug)]
pub(super) struct Prose {
    look: Look,
    ink: Ink,
    /// What stands before each line, and its width.
    margin: String,
    margin_width: usize,
    cleaner: Cleaner,
    word: String,
    spaces: usize,
    column: usize,
    line: Line,
    /// How far a broken line of a list is set in.
    hang: usize,
    in_fence: bool,
    strong: bool,
    code: bool,
}

/// What kind of line this is, as its first word tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Nothing of it has been seen.
    Start,
    Text,
    Heading,
    /// Code and tables: never broken, never changed.
    Fixed,
    /// The marks around code.
    Fence,
}

impl Prose {
    pub(super) fn new(look: Look, ink: Ink, margin: &str, margin_width: usize) -> Self {
        Self {
            look,
            ink,
            margin: margin.to_owned(),
            margin_width,
            cleaner: Cleaner::default(),
            word: String::new(),
            spaces: 0,
            column: 0,
            line: Line::Start,
            hang: 0,
            in_fence: false,
            strong: false,
            code: false,
        }
    }

    /// Whether the line is not over.
    pub(super) fn is_mid_line(&self) -> bool {
        self.column > 0 || !self.word.is_empty()
    }

    pub(super) fn push(&mut self, text: &str) -> String {
        let text = self.cleaner.push(text);
        let mut out = String::new();
        for c in text.chars() {
            match c {
                '\n' => self.end_line(&mut out),
                ' ' | '\t' if self.look.medium == Medium::Screen && self.line != Line::Fixed => {
                    self.end_word(&mut out);
                    self.spaces += char_width(c);
                }
                _ => self.word.push(c),
            }
        }
        if self.look.medium == Medium::Pipe || self.line == Line::Fixed || self.word.len() > LONGEST_WORD {
            self.end_word(&mut out);
        }
        out
    }

    /// Ends the last line, if it has not ended.
    pub(super) fn end(&mut self) -> String {
        let mut out = String::new();
        self.end_word(&mut out);
        if self.column > 0 {
            out.push('\n');
            self.column = 0;
        }
        self.spaces = 0;
        self.line = Line::Start;
        out
    }

    fn end_line(&mut self, out: &mut String) {
        self.end_word(out);
        out.push('\n');
        self.column = 0;
        self.spaces = 0;
        self.hang = 0;
        self.line = Line::Start;
    }

    fn end_word(&mut self, out: &mut String) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return;
        }
        if self.look.medium == Medium::Pipe {
            self.margin_if_needed(out);
            self.column += 1;
            out.push_str(&self.look.paint(self.ink, &word));
            return;
        }
        let first = self.line == Line::Start;
        if first {
            self.begin_line(&word);
        }
        let wide = width(&word);
        let room = self.look.width.saturating_sub(1);
        let breaks = matches!(self.line, Line::Text | Line::Heading)
            && self.column > 0
            && self.column + self.spaces + wide > room
            && self.margin_width + self.hang + wide <= room;
        if breaks {
            out.push('\n');
            self.column = 0;
            self.spaces = self.hang;
        }
        self.margin_if_needed(out);
        out.extend(std::iter::repeat_n(' ', self.spaces));
        self.column += self.spaces + wide;
        self.spaces = 0;
        let styled = self.styled(&word);
        out.push_str(&styled);
    }

    fn margin_if_needed(&mut self, out: &mut String) {
        if self.column == 0 {
            out.push_str(&self.margin);
            self.column = self.margin_width;
        }
    }

    fn begin_line(&mut self, word: &str) {
        self.line = match word {
            _ if word.starts_with("```") => {
                self.in_fence = !self.in_fence;
                Line::Fence
            }
            _ if self.in_fence || word.starts_with('|') => Line::Fixed,
            _ if word.len() <= 6 && word.bytes().all(|byte| byte == b'#') => Line::Heading,
            _ => Line::Text,
        };
        let numbered = word.strip_suffix('.').is_some_and(|n| n.bytes().all(|byte| byte.is_ascii_digit()));
        self.hang =
            if matches!(word, "-" | "*" | ">") || numbered { self.spaces + word.len() + 1 } else { self.spaces };
        (self.strong, self.code) = (false, false);
    }

    /// The word as it is shown. Bold loses its stars only where bold can be seen; code keeps its marks.
    fn styled(&mut self, word: &str) -> String {
        if self.look.color == Color::Off {
            return word.to_owned();
        }
        match self.line {
            Line::Fence => return self.look.paint(Ink::Dim, word),
            Line::Fixed => return self.look.paint(if self.in_fence { Ink::Cyan } else { self.ink }, word),
            Line::Heading => return self.look.paint(Ink::Bold, word),
            Line::Start | Line::Text => {}
        }
        let mut out = String::new();
        let mut run = String::new();
        let mut rest = word;
        while let Some(c) = rest.chars().next() {
            if !self.code
                && let Some(after) = rest.strip_prefix("**")
            {
                out.push_str(&self.look.paint(self.word_ink(), &std::mem::take(&mut run)));
                self.strong = !self.strong;
                rest = after;
                continue;
            }
            if c == '`' {
                if self.code {
                    run.push(c);
                }
                out.push_str(&self.look.paint(self.word_ink(), &std::mem::take(&mut run)));
                if !self.code {
                    run.push(c);
                }
                self.code = !self.code;
            } else {
                run.push(c);
            }
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
        out.push_str(&self.look.paint(self.word_ink(), &run));
        out
    }

    fn word_ink(&self) -> Ink {
        match () {
            () if self.code => Ink::Cyan,
            () if self.strong => Ink::Bold,
            () => self.ink,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(look: Look, pieces: &[&str]) -> String {
        let mut prose = Prose::new(look, Ink::Plain, "  ", 2);
        let mut out: String = pieces.iter().map(|piece| prose.push(piece)).collect();
        out.push_str(&prose.end());
        out
    }

    const SCREEN: Look = Look { color: Color::Off, medium: Medium::Screen, width: 20 };

    #[test]
    fn lines_break_at_words_on_a_screen_only() {
        let pieces = ["a line that is ", "longer than the ", "screen"];
        assert_eq!(show(SCREEN, &pieces), "  a line that is\n  longer than the\n  screen\n");
        assert_eq!(show(Look::PLAIN, &pieces), "  a line that is longer than the screen\n");
    }

    #[test]
    fn lists_hang_and_code_stays() {
        let text = "- one two three four\n```\nlet a_long_line = of_code();\n```\n| a | table | too wide |\n";
        assert_eq!(
            show(SCREEN, &[text]),
            "  - one two three\n    four\n  ```\n  let a_long_line = of_code();\n  ```\n  | a | table | too wide |\n"
        );
    }

    #[test]
    fn markdown_is_shown_where_it_can_be_seen() {
        let look = Look { color: Color::On, width: 80, ..SCREEN };
        assert_eq!(
            show(look, &["**bo", "ld** and `co", "de` end"]),
            "  \u{1b}[1mbold\u{1b}[0m and \u{1b}[36m`code`\u{1b}[0m end\n"
        );
        assert_eq!(show(look, &["# Head\ntext"]), "  \u{1b}[1m#\u{1b}[0m \u{1b}[1mHead\u{1b}[0m\n  text\n");
    }

    #[test]
    fn a_word_without_end_is_shown_all_the_same() {
        let mut prose = Prose::new(SCREEN, Ink::Plain, "", 0);
        assert!(!prose.push(&"x".repeat(LONGEST_WORD + 1)).is_empty());
    }

    #[test]
    fn empty_lines_have_no_margin() {
        assert_eq!(show(Look::PLAIN, &["a\n\nb"]), "  a\n\n  b\n");
        assert_eq!(show(SCREEN, &["a\n\nb"]), "  a\n\n  b\n");
    }
}
