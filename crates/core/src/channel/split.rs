//! Splits a text into pieces that a service takes. A piece ends where a paragraph, a line or a word ends, if one does; a fenced block of code that goes
//! on in the next piece is closed and opened again.

/// How a service counts what a text takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Characters,
    /// What languages with 16-bit strings count.
    Utf16,
    /// As characters, where `&`, `<` and `>` are written as entities.
    Escaped,
}

/// One piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Opens the block that the piece before had to close.
    opens: Option<Fence<'a>>,
    /// What it is of the text; the pieces together are all of it.
    pub text: &'a str,
    /// Closes the block that goes on in the next piece.
    closes: Option<Fence<'a>>,
}

/// The line that opens a fenced block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence<'a> {
    line: &'a str,
    mark: char,
    length: usize,
}

/// The smallest limit that is kept: a fence at both ends must leave room for text.
pub const MIN_LIMIT: usize = 64;

/// A fence that is longer than this (what a block is, in words) is opened again without words.
const MAX_FENCE: usize = 16;

impl Measure {
    fn of(self, c: char) -> usize {
        match self {
            Self::Characters => 1,
            Self::Utf16 => c.len_utf16(),
            Self::Escaped => match c {
                '&' => "&amp;".len(),
                '<' | '>' => "&lt;".len(),
                _ => 1,
            },
        }
    }

    pub fn text(self, text: &str) -> usize {
        text.chars().map(|c| self.of(c)).sum()
    }
}

/// The pieces of a text, in order; none for an empty one.
pub fn split(text: &str, limit: usize, measure: Measure) -> Vec<Piece<'_>> {
    let limit = limit.max(MIN_LIMIT);
    let (mut pieces, mut rest, mut open) = (Vec::new(), text, None::<Fence<'_>>);
    while !rest.is_empty() {
        let opens = open;
        let head = opens.map_or(0, |fence| measure.text(&fence.opening()));
        if head + measure.text(rest) + closing_room(rest, opens) <= limit {
            pieces.push(Piece { opens, text: rest, closes: fence_after(rest, opens) });
            break;
        }
        // Room for the line that closes whatever is open then.
        let room = limit - head - MAX_FENCE - 1;
        let end = cut_at(rest, room, measure);
        let (piece, after) = rest.split_at(end);
        open = fence_after(piece, opens);
        pieces.push(Piece { opens, text: piece, closes: open });
        rest = after;
    }
    pieces
}

impl Piece<'_> {
    /// The piece as it is sent.
    pub fn render(&self) -> String {
        let mut text = self.opens.map_or_else(String::new, |fence| fence.opening());
        text.push_str(self.text);
        if let Some(fence) = self.closes {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.extend(std::iter::repeat_n(fence.mark, fence.length));
        }
        text
    }
}

impl<'a> Fence<'a> {
    /// The fence that a line is.
    fn of(line: &'a str) -> Option<Self> {
        let trimmed = line.trim_start_matches(' ');
        if line.len() - trimmed.len() > 3 {
            return None;
        }
        let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = trimmed.chars().take_while(|c| *c == mark).count();
        let words = trimmed.trim_start_matches(mark);
        let is_fence = (3..=MAX_FENCE).contains(&length) && !(mark == '`' && words.contains('`'));
        is_fence.then_some(Self { line: trimmed.trim_end(), mark, length })
    }

    fn closes(&self, line: &str) -> bool {
        Fence::of(line).is_some_and(|fence| {
            fence.mark == self.mark && fence.length >= self.length && fence.line.chars().all(|c| c == self.mark)
        })
    }

    fn opening(&self) -> String {
        let marks: String = std::iter::repeat_n(self.mark, self.length).collect();
        let fits = self.line.chars().all(|c| !matches!(c, '&' | '<' | '>')) && self.line.chars().count() <= MAX_FENCE;
        format!("{}\n", if fits { self.line } else { &marks })
    }
}

/// What closing the block costs that is open at the end of a text.
fn closing_room(text: &str, open: Option<Fence<'_>>) -> usize {
    fence_after(text, open).map_or(0, |fence| fence.length + 1)
}

/// The block that is open after a text.
fn fence_after<'a>(text: &'a str, mut open: Option<Fence<'a>>) -> Option<Fence<'a>> {
    for line in text.lines() {
        open = match open {
            Some(fence) if fence.closes(line) => None,
            Some(fence) => Some(fence),
            None => Fence::of(line),
        };
    }
    open
}

/// Where the longest beginning ends that fits: after a paragraph, a line, a word, or wherever it must.
fn cut_at(text: &str, room: usize, measure: Measure) -> usize {
    let mut used = 0;
    let fitting = text.char_indices().find_map(|(at, c)| {
        used += measure.of(c);
        (used > room).then_some(at)
    });
    let end = fitting.unwrap_or(text.len());
    let window = text.get(..end).unwrap_or(text);
    // A cut that leaves less than half is worse than one in a less pretty place.
    let after = |pattern: &str| window.rfind(pattern).map(|at| at + pattern.len()).filter(|at| *at * 2 >= end);
    let whole_lines = after("\n\n").or_else(|| after("\n"));
    whole_lines.or_else(|| after(" ")).unwrap_or_else(|| keep_marks_together(window))
}

/// A run of fence marks that is cut in two would be two fences: the cut is made before it.
fn keep_marks_together(window: &str) -> usize {
    let before = window.trim_end_matches(['`', '~']);
    if before.is_empty() { window.len() } else { before.len() }
}

#[cfg(test)]
mod tests;
