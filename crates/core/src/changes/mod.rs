//! The files that a session has changed, each with a diff against its state before the session first changed it. This is a fold of the edits that
//! agents report. Changes that commands make to files are only known if an agent reports them as a diff.

mod net;
#[cfg(test)]
mod tests;
mod unified;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::net::Net;
use self::unified::FilePatch;
use crate::event::{DiffUpdated, Envelope, Event, FileChange};
use crate::id::TurnId;

/// A file that is different now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedFile {
    /// From the session's folder, where it is inside.
    pub path: String,
    pub kind: FileChange,
    pub added: usize,
    pub removed: usize,
    /// Whether `diff` is the one difference. Otherwise something else has changed the file in between, and the diffs stand one after the other.
    pub exact: bool,
    pub diff: String,
}

/// All of them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Changes {
    cwd: Option<String>,
    files: BTreeMap<String, File>,
    /// What was told, to begin again without the turns that were taken back.
    told: Vec<ReportedChange>,
    /// Counts changes, so that the newest can stand first.
    count: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ReportedChange {
    turn: Option<TurnId>,
    patches: Vec<FilePatch>,
    /// The change of the turn as a whole, instead of one more.
    whole_turn: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct File {
    net: Net,
    /// Differences from before somebody else changed the file.
    earlier: Vec<net::Difference>,
    /// It was not there at first.
    is_new: bool,
    /// It is not there now.
    is_gone: bool,
    renamed: bool,
    newest: usize,
    /// How it was when a turn began to change it.
    before_turn: Option<(Option<TurnId>, Option<Box<File>>)>,
}

impl Changes {
    /// Nothing was changed.
    pub const NONE: Self = Self { cwd: None, files: BTreeMap::new(), told: Vec::new(), count: 0 };

    /// Whether an event can have something to say here.
    pub fn concerns(event: &Event) -> bool {
        match event {
            Event::SessionReady(_) | Event::DiffUpdated(_) => true,
            Event::ToolResult(result) => result.diff.is_some() && !result.is_error,
            Event::Rollback(rollback) => rollback.files_restored,
            _ => false,
        }
    }

    /// Takes the next event; says whether something changed.
    pub fn step(&mut self, envelope: &Envelope) -> bool {
        let (diffs, whole_turn) = match &envelope.event {
            Event::SessionReady(ready) => {
                self.cwd = self.cwd.take().or_else(|| ready.cwd.clone());
                return false;
            }
            Event::ToolResult(result) => match &result.diff {
                Some(diff) if !result.is_error => (unified::parse(diff), false),
                Some(_) | None => return false,
            },
            Event::DiffUpdated(DiffUpdated { files }) => {
                (files.iter().flat_map(|file| unified::parse(&file.diff)).collect(), true)
            }
            Event::Rollback(rollback) if rollback.files_restored => {
                let told = std::mem::take(&mut self.told);
                self.files.clear();
                let stays =
                    |told: &ReportedChange| told.turn.as_ref().is_none_or(|turn| !rollback.turn_ids.contains(turn));
                told.into_iter().filter(stays).for_each(|told| self.take(told));
                return true;
            }
            _ => return false,
        };
        if diffs.is_empty() && !whole_turn {
            return false;
        }
        self.take(ReportedChange { turn: envelope.turn_id.clone(), patches: diffs, whole_turn });
        true
    }

    /// The newest change first. Without those that are as they were.
    pub fn files(&self) -> Vec<ChangedFile> {
        let mut files: Vec<(usize, ChangedFile)> =
            self.files.iter().filter_map(|(path, file)| Some((file.newest, file.shown(path)?))).collect();
        files.sort_by_key(|(newest, _)| std::cmp::Reverse(*newest));
        files.into_iter().map(|(_, file)| file).collect()
    }

    pub fn file(&self, path: &str) -> Option<ChangedFile> {
        self.files.get(path).and_then(|file| file.shown(path))
    }

    fn take(&mut self, told: ReportedChange) {
        self.count += 1;
        if told.whole_turn {
            self.before_turn(told.turn.as_ref());
        }
        for patch in &told.patches {
            self.patch(patch, told.turn.as_ref());
        }
        self.told.push(told);
    }

    /// Puts all files back to where they were when this turn began.
    fn before_turn(&mut self, turn: Option<&TurnId>) {
        let of_turn = |file: &File| file.before_turn.as_ref().is_some_and(|(of, _)| of.as_ref() == turn);
        let paths: Vec<String> =
            self.files.iter().filter(|(_, file)| of_turn(file)).map(|(path, _)| path.clone()).collect();
        for path in paths {
            if let Some((_, Some(before))) = self.files.remove(&path).and_then(|file| file.before_turn) {
                self.files.insert(path, *before);
            }
        }
    }

    fn patch(&mut self, patch: &FilePatch, turn: Option<&TurnId>) {
        let (from, to) = (patch.from.as_ref().map(|path| self.inside(path)), patch.to.as_ref().map(|p| self.inside(p)));
        let Some(name) = to.clone().or_else(|| from.clone()) else { return };
        let moved = from.as_ref().filter(|from| to.is_some() && **from != name);
        let before = self.files.remove(moved.unwrap_or(&name));
        let known_turn =
            before.as_ref().and_then(|file| file.before_turn.as_ref()).is_some_and(|(of, _)| of.as_ref() == turn);
        let mut file = before.clone().unwrap_or_else(|| File { is_new: patch.from.is_none(), ..File::default() });
        if !known_turn {
            let before = before.map(|file| Box::new(File { before_turn: None, ..file }));
            file.before_turn = Some((turn.cloned(), before));
        }
        file.renamed |= moved.is_some() && !file.is_new;
        file.is_gone = patch.to.is_none();
        file.newest = self.count;
        let mut net = file.net.clone();
        if net.apply(&patch.hunks).is_err() {
            file.earlier.push(file.net.difference());
            net = Net::default();
            // The hunks of one diff speak of one file, so they fit what nobody knows.
            let _fits = net.apply(&patch.hunks);
        }
        file.net = net;
        self.files.insert(name, file);
    }

    /// As it is called from the session's folder.
    fn inside(&self, path: &str) -> String {
        let cwd = self.cwd.as_deref().map(|cwd| cwd.trim_end_matches('/')).filter(|cwd| !cwd.is_empty());
        // A diff may leave out the slash that an absolute path begins with.
        let relative = cwd.and_then(|cwd| {
            let rest = path.strip_prefix(cwd).or_else(|| path.strip_prefix(cwd.trim_start_matches('/')))?;
            rest.strip_prefix('/')
        });
        relative.unwrap_or(path).to_owned()
    }
}

impl File {
    fn shown(&self, path: &str) -> Option<ChangedFile> {
        let last = self.net.difference();
        let differences = || self.earlier.iter().chain([&last]);
        let kind = match (self.is_new, self.is_gone) {
            (true, true) => return None,
            (true, false) => FileChange::Added,
            (false, true) => FileChange::Deleted,
            (false, false) if self.renamed => FileChange::Renamed,
            (false, false) if differences().all(|difference| difference.hunks.is_empty()) => return None,
            (false, false) => FileChange::Modified,
        };
        let from = if self.is_new { "/dev/null".to_owned() } else { format!("a/{path}") };
        let to = if self.is_gone { "/dev/null".to_owned() } else { format!("b/{path}") };
        let hunks: String = differences().map(|difference| difference.hunks.as_str()).collect();
        Some(ChangedFile {
            path: path.to_owned(),
            kind,
            added: differences().map(|difference| difference.added).sum(),
            removed: differences().map(|difference| difference.removed).sum(),
            exact: self.earlier.is_empty(),
            diff: format!("--- {from}\n+++ {to}\n{hunks}"),
        })
    }
}
