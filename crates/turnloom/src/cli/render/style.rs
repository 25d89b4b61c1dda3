//! How text may look: colours where they are wanted, and a width. Whether they are wanted is not decided here.

/// What carries a colour. Each also has a word or a sign beside it, so that nothing is lost without colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Plain,
    Dim,
    Bold,
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Ink {
    fn code(self) -> Option<&'static str> {
        match self {
            Ink::Plain => None,
            Ink::Dim => Some("2"),
            Ink::Bold => Some("1"),
            Ink::Red => Some("31"),
            Ink::Green => Some("32"),
            Ink::Yellow => Some("33"),
            Ink::Cyan => Some("36"),
        }
    }
}

/// Whether colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    On,
    Off,
}

/// What the text goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// A person watches: lines are broken to fit, and one line may move.
    Screen,
    /// A file or a program reads: lines stay whole, nothing moves.
    Pipe,
}

/// One output and what it can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub color: Color,
    pub medium: Medium,
    pub width: usize,
}

impl Look {
    /// What a file gets.
    pub const PLAIN: Look = Look { color: Color::Off, medium: Medium::Pipe, width: DEFAULT_WIDTH };

    pub fn paint(self, ink: Ink, text: &str) -> String {
        match (self.color, ink.code()) {
            (Color::On, Some(code)) if !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            _ => text.to_owned(),
        }
    }
}

/// Where nobody says how wide it is.
pub const DEFAULT_WIDTH: usize = 100;
