//! The two outputs. Data goes to stdout, talk to stderr; nothing else in this program writes to either.

use std::io::{self, Write as _};
use std::os::fd::AsFd;

use super::render::{Channel, Color, DEFAULT_WIDTH, Ink, Look, Medium, Piece, cut};

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(super) enum ColorWhen {
    /// On a screen, unless `NO_COLOR` is set
    #[default]
    Auto,
    Always,
    Never,
}

/// What the process writes to, and what each side can show.
#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) out: Look,
    pub(super) err: Look,
    /// A line that will be drawn over.
    drawn: bool,
}

impl Terminal {
    pub(super) fn new(color: ColorWhen) -> Self {
        Self { out: look(&io::stdout(), color), err: look(&io::stderr(), color), drawn: false }
    }

    /// Data: it is there when this returns.
    pub(super) fn data(&mut self, text: &str) -> io::Result<()> {
        self.data_bytes(text.as_bytes())
    }

    pub(super) fn data_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.undraw();
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Talk. Nobody is there to hear that it failed.
    pub(super) fn talk(&mut self, text: &str) {
        self.undraw();
        drop(io::stderr().lock().write_all(text.as_bytes()));
    }

    pub(super) fn pieces(&mut self, pieces: &[Piece]) -> io::Result<()> {
        for piece in pieces {
            match piece.channel {
                Channel::Answer => self.data(&piece.text)?,
                Channel::Activity => self.talk(&piece.text),
            }
        }
        Ok(())
    }

    /// One line that stays only until something else is written. Nothing where nothing may move.
    pub(super) fn draw(&mut self, text: &str) {
        if self.err.medium == Medium::Screen {
            let text = cut(text, self.err.width.saturating_sub(1));
            let line = format!("\r\u{1b}[2K{}", self.err.paint(Ink::Dim, &text));
            let mut err = io::stderr().lock();
            drop(err.write_all(line.as_bytes()));
            drop(err.flush());
            self.drawn = true;
        }
    }

    pub(super) fn undraw(&mut self) {
        if std::mem::take(&mut self.drawn) {
            drop(io::stderr().lock().write_all(b"\r\x1b[2K"));
        }
    }

    /// What went wrong, and what to do about it.
    pub(super) fn failed(&mut self, error: &str, hint: Option<&str>) {
        let name = self.err.paint(Ink::Red, "error:");
        self.talk(&format!("{name} {error}\n"));
        if let Some(hint) = hint {
            self.hint(hint);
        }
    }

    pub(super) fn hint(&mut self, hint: &str) {
        let name = self.err.paint(Ink::Cyan, "hint:");
        self.talk(&format!("{name} {hint}\n"));
    }
}

fn look(stream: &(impl AsFd + io::IsTerminal), color: ColorWhen) -> Look {
    let screen = stream.is_terminal();
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let colored = match color {
        ColorWhen::Auto => screen && !set("NO_COLOR") && !dumb,
        ColorWhen::Always => true,
        ColorWhen::Never => false,
    };
    let width =
        rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
    Look {
        color: if colored { Color::On } else { Color::Off },
        medium: if screen && !dumb { Medium::Screen } else { Medium::Pipe },
        width: width.unwrap_or(DEFAULT_WIDTH),
    }
}
