//! Text of agents made safe and fitting: without what steers a terminal, in one line, cut to a width. And numbers as people read them.

/// The longest terminal string (a title, a link) that is swallowed; after it, text counts as text again.
const MAX_SWALLOWED: usize = 4096;

/// Takes out what would steer a terminal. It remembers where it is, because a stream may be cut inside a sequence.
#[derive(Debug, Clone, Default)]
pub(super) struct Cleaner {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Text,
    /// After an escape.
    Escape,
    /// In `ESC [ ... letter`.
    Sequence,
    /// In a string that ends with BEL or `ESC \`; how much of it has gone.
    Swallow(usize),
    SwallowEscape(usize),
    /// After a carriage return, which is a line end unless one follows.
    Return,
}

impl Cleaner {
    pub(super) fn push(&mut self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        for c in text.chars() {
            self.state = self.step(c, &mut clean);
        }
        clean
    }

    /// A carriage return at the very end was a line end after all.
    pub(super) fn end(&mut self) -> &'static str {
        match std::mem::take(&mut self.state) {
            State::Return => "\n",
            State::Text | State::Escape | State::Sequence | State::Swallow(_) | State::SwallowEscape(_) => "",
        }
    }

    fn step(&self, c: char, clean: &mut String) -> State {
        match (self.state, c) {
            (State::Return, '\n') => {
                clean.push('\n');
                State::Text
            }
            (State::Return, _) => {
                clean.push('\n');
                ground(c, clean)
            }
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::Swallow(0),
            // An intermediate byte: the sequence goes on.
            (State::Escape, ' '..='/') => State::Escape,
            (State::Escape, '[') | (State::Sequence, ' '..='?') => State::Sequence,
            (State::Escape, '0'..='~')
            | (State::Sequence, '@'..='~')
            | (State::Swallow(_) | State::SwallowEscape(_), '\u{7}' | '\u{9c}')
            | (State::SwallowEscape(_), '\\') => State::Text,
            // A string that runs over a line or on and on would hide what comes after it.
            (State::Swallow(n) | State::SwallowEscape(n), _) if c != '\n' && n <= MAX_SWALLOWED => {
                if c == '\u{1b}' {
                    State::SwallowEscape(n + 1)
                } else {
                    State::Swallow(n + 1)
                }
            }
            (State::Text | State::Escape | State::Sequence | State::Swallow(_) | State::SwallowEscape(_), _) => {
                ground(c, clean)
            }
        }
    }
}

fn ground(c: char, clean: &mut String) -> State {
    match c {
        '\n' | '\t' => clean.push(c),
        '\r' => return State::Return,
        '\u{1b}' => return State::Escape,
        '\u{9b}' => return State::Sequence,
        '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => return State::Swallow(0),
        // A picture of the control character.
        '\0'..='\u{1f}' => clean.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
        '\u{7f}' => clean.push('\u{2421}'),
        // The last of these turn the direction of text, and can make it read as something else.
        '\u{80}'..='\u{9f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => clean.push('\u{fffd}'),
        _ => clean.push(c),
    }
    State::Text
}

/// All of a text, made safe.
pub fn clean(text: &str) -> String {
    let mut cleaner = Cleaner::default();
    let mut clean = cleaner.push(text);
    clean.push_str(cleaner.end());
    clean
}

/// A text in one line, made safe: runs of white space become one space.
pub fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The cells a character takes. Wide scripts and pictures take two, marks on other characters none.
pub(super) fn char_width(c: char) -> usize {
    match u32::from(c) {
        0x09 => 4,
        0x0300..=0x036f | 0x200b..=0x200f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1f6ff
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

pub fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// As much of a line as fits, with a sign that there was more.
pub fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(1);
    let fits = |c: &char| {
        let width = char_width(*c);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

/// `40 ms`, `4.2 s`, `12 s`, `3 min 5 s`, `2 h 4 min`.
pub fn duration(millis: i64) -> String {
    let millis = millis.max(0);
    let (seconds, minutes) = (millis / 1000, millis / 60_000);
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..10_000 => format!("{seconds}.{} s", millis % 1000 / 100),
        10_000..60_000 => format!("{seconds} s"),
        60_000..3_600_000 if seconds % 60 == 0 => format!("{minutes} min"),
        60_000..3_600_000 => format!("{minutes} min {} s", seconds % 60),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// How long ago, in one unit.
pub fn age(millis: i64) -> String {
    let minutes = millis.max(0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1440 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1440),
    }
}

/// A number with thin spaces between its thousands.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 line`, `3 lines`.
pub fn count(n: usize, one: &str) -> String {
    let number = number(n as u64);
    if n == 1 { format!("{number} {one}") } else { format!("{number} {one}s") }
}

/// `118 B`, `16 kB`, `1.2 MB`.
pub fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{} kB", n / 1_000),
        _ => format!("{}.{} MB", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_steers_a_terminal_is_taken_out() {
        for (text, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[32mok\u{1b}[0m", "ok"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}(Bcharset", "charset"),
            ("\u{9b}31mred", "red"),
            ("a\r\nb\rc", "a\nb\nc"),
            ("end\r", "end\n"),
            ("bell\u{7}null\0del\u{7f}", "bell␇null␀del␡"),
            ("c1\u{85}", "c1\u{fffd}"),
            ("turned\u{202e}txt", "turned\u{fffd}txt"),
            ("\u{1b}]never ended\nvisible", "\nvisible"),
            ("\u{1b}[2", ""),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_are_cut_by_what_is_seen() {
        for (text, room, expected) in [
            ("short", 10, "short"),
            ("exactly", 7, "exactly"),
            ("too long", 6, "too l…"),
            ("布布布布", 5, "布布…"),
            ("", 0, ""),
        ] {
            assert_eq!(cut(text, room), expected);
        }
    }

    #[test]
    fn numbers_read_well() {
        let durations = [0, 999, 4_250, 12_900, 60_000, 185_000, 7_440_000].map(duration);
        assert_eq!(durations, ["0 ms", "999 ms", "4.2 s", "12 s", "1 min", "3 min 5 s", "2 h 4 min"]);
        let numbers = [7, 1_830, 12_345_678].map(number);
        assert_eq!(numbers, ["7", "1\u{202f}830", "12\u{202f}345\u{202f}678"]);
        assert_eq!([0, 118, 16_400, 1_250_000].map(bytes), ["0 B", "118 B", "16 kB", "1.2 MB"]);
        assert_eq!([0, 90_000, 7_200_000, 200_000_000].map(age), ["now", "1 min", "2 h", "2 d"]);
        assert_eq!([count(1, "line"), count(0, "line")], ["1 line", "0 lines"]);
    }

    proptest! {
        #[test]
        fn nothing_that_steers_gets_through(text in "[\\x00-\\x9f\u{202a}-\u{202e}a\\[\\];]{0,40}", cut in 0_usize..40) {
            let at = text.floor_char_boundary(cut.min(text.len()));
            let mut cleaner = Cleaner::default();
            let mut pieces = cleaner.push(&text[..at]);
            pieces.push_str(&cleaner.push(&text[at..]));
            pieces.push_str(cleaner.end());
            prop_assert_eq!(&pieces, &clean(&text));
            prop_assert!(pieces.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
        }
    }
}
