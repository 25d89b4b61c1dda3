//! Joins all changes of one file into one difference. Only the lines that the diffs show are known; that is enough to join them.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::unified::{Hunk, Line};

/// Lines around a change that are shown with it.
const CONTEXT: usize = 3;

/// A file from its first change on, as far as it has been seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Net(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Piece {
    /// So many lines that nobody has told of.
    Unseen(u64),
    Same(String),
    /// Was there at first, and is not now.
    Gone(String),
    /// Was not there at first, and is now.
    New(String),
}

/// A hunk speaks of lines that are not there: something else has changed the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DoesNotFit;

/// A diff, and how many lines it adds and takes away.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Difference {
    pub(super) hunks: String,
    pub(super) added: usize,
    pub(super) removed: usize,
}

impl Default for Net {
    fn default() -> Self {
        Self(vec![Piece::Unseen(u64::MAX)])
    }
}

impl Net {
    /// The file after one more change, whose hunks all speak of the file before it.
    pub(super) fn apply(&mut self, hunks: &[Hunk]) -> Result<(), DoesNotFit> {
        let mut rest = std::mem::take(&mut self.0).into_iter();
        let mut pending: Option<Piece> = None;
        let mut done = Vec::new();
        let mut passed = 0;
        let mut next = |pending: &mut Option<Piece>| pending.take().or_else(|| rest.next());
        for hunk in hunks {
            while passed < hunk.skip {
                match next(&mut pending).ok_or(DoesNotFit)? {
                    Piece::Unseen(count) => {
                        let wanted = count.min(hunk.skip - passed);
                        done.push(Piece::Unseen(wanted));
                        pending = (count > wanted).then(|| Piece::Unseen(left(count, wanted)));
                        passed += wanted;
                    }
                    gone @ Piece::Gone(_) => done.push(gone),
                    here @ (Piece::Same(_) | Piece::New(_)) => {
                        done.push(here);
                        passed += 1;
                    }
                }
            }
            for line in &hunk.lines {
                let (text, stays) = match line {
                    Line::New(text) => {
                        done.push(Piece::New(text.clone()));
                        continue;
                    }
                    Line::Same(text) => (text, true),
                    Line::Gone(text) => (text, false),
                };
                let was_new = loop {
                    match next(&mut pending).ok_or(DoesNotFit)? {
                        Piece::Unseen(count) => {
                            pending = (count > 1).then(|| Piece::Unseen(left(count, 1)));
                            break false;
                        }
                        gone @ Piece::Gone(_) => done.push(gone),
                        Piece::Same(known) if known == *text => break false,
                        Piece::New(known) if known == *text => break true,
                        Piece::Same(_) | Piece::New(_) => return Err(DoesNotFit),
                    }
                };
                passed += 1;
                match (stays, was_new) {
                    (true, true) => done.push(Piece::New(text.clone())),
                    (true, false) => done.push(Piece::Same(text.clone())),
                    (false, false) => done.push(Piece::Gone(text.clone())),
                    // It came and went.
                    (false, true) => {}
                }
            }
        }
        done.extend(pending);
        done.extend(rest);
        self.0 = done;
        Ok(())
    }

    /// What is different from how it was at first.
    pub(super) fn difference(&self) -> Difference {
        let mut difference = Difference::default();
        let (mut old, mut new) = (1_u64, 1_u64);
        // Lines without a gap, each with its numbers on both sides.
        let mut run: Vec<(u64, u64, Line)> = Vec::new();
        let pieces = &mut self.0.iter().peekable();
        while let Some(piece) = pieces.next() {
            let (mut gone, mut fresh) = (Vec::new(), Vec::new());
            match piece {
                Piece::Unseen(count) => {
                    difference.write(&run);
                    run.clear();
                    (old, new) = (old.saturating_add(*count), new.saturating_add(*count));
                    continue;
                }
                Piece::Same(text) => {
                    run.push((old, new, Line::Same(text.clone())));
                    (old, new) = (old + 1, new + 1);
                    continue;
                }
                Piece::Gone(text) => gone.push(text.clone()),
                Piece::New(text) => fresh.push(text.clone()),
            }
            while let Some(more) = pieces.next_if(|piece| matches!(piece, Piece::Gone(_) | Piece::New(_))) {
                match more {
                    Piece::Gone(text) => gone.push(text.clone()),
                    Piece::New(text) => fresh.push(text.clone()),
                    Piece::Same(_) | Piece::Unseen(_) => {}
                }
            }
            for line in changed(gone, fresh) {
                let (takes, gives) = match &line {
                    Line::Same(_) => (1, 1),
                    Line::Gone(_) => (1, 0),
                    Line::New(_) => (0, 1),
                };
                run.push((old, new, line));
                (old, new) = (old + takes, new + gives);
            }
        }
        difference.write(&run);
        difference
    }
}

/// The end of a file is not known, so what is left of that stays endless.
fn left(count: u64, taken: u64) -> u64 {
    if count == u64::MAX { count } else { count - taken }
}

/// What went and what came in one place. What is the same at both ends was only written again.
fn changed(mut gone: Vec<String>, mut fresh: Vec<String>) -> Vec<Line> {
    let first = gone.iter().zip(&fresh).take_while(|(gone, fresh)| gone == fresh).count();
    let (gone_rest, fresh_rest) = (gone.split_off(first), fresh.split_off(first));
    let last = gone_rest.iter().rev().zip(fresh_rest.iter().rev()).take_while(|(gone, fresh)| gone == fresh).count();
    let (mut gone_rest, mut fresh_rest) = (gone_rest, fresh_rest);
    gone_rest.truncate(gone_rest.len() - last);
    let tail = fresh_rest.split_off(fresh_rest.len() - last);
    let same = fresh.into_iter().map(Line::Same);
    let gone = gone_rest.into_iter().map(Line::Gone);
    let new = fresh_rest.into_iter().map(Line::New);
    same.chain(gone).chain(new).chain(tail.into_iter().map(Line::Same)).collect()
}

impl Difference {
    /// Adds the hunks of lines that stand together.
    fn write(&mut self, run: &[(u64, u64, Line)]) {
        let changes: Vec<usize> =
            run.iter().enumerate().filter(|(_, (.., line))| !matches!(line, Line::Same(_))).map(|(at, _)| at).collect();
        let mut changes = changes.into_iter().peekable();
        while let Some(first) = changes.next() {
            let mut last = first;
            while let Some(near) = changes.next_if(|at| *at <= last + 2 * CONTEXT + 1) {
                last = near;
            }
            let lines = run.get(first.saturating_sub(CONTEXT)..run.len().min(last + CONTEXT + 1)).unwrap_or_default();
            self.write_hunk(lines);
        }
    }

    fn write_hunk(&mut self, lines: &[(u64, u64, Line)]) {
        let Some((old, new, _)) = lines.first() else { return };
        let count = |is: fn(&Line) -> bool| lines.iter().filter(|(.., line)| is(line)).count();
        let removed = count(|line| matches!(line, Line::Gone(_)));
        let added = count(|line| matches!(line, Line::New(_)));
        let same = lines.len() - removed - added;
        let start = |start: u64, lines: usize| if lines == 0 { start - 1 } else { start };
        let (old_lines, new_lines) = (same + removed, same + added);
        let (old, new) = (start(*old, old_lines), start(*new, new_lines));
        let _ = writeln!(self.hunks, "@@ -{old},{old_lines} +{new},{new_lines} @@");
        for (.., line) in lines {
            let (mark, text) = match line {
                Line::Same(text) => (' ', text),
                Line::Gone(text) => ('-', text),
                Line::New(text) => ('+', text),
            };
            self.hunks.push(mark);
            self.hunks.push_str(text);
            self.hunks.push('\n');
        }
        self.added += added;
        self.removed += removed;
    }
}
