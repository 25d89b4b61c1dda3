//! The rules on this machine: where their files are, when they are read again, what is wrong with them, and the rules that people have answered
//! *always* with. What rules mean is in `turnloom_core::policy`; which calls are judged is decided by sessions.

mod always;
mod history;
mod machine;
mod own;
mod source;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnloom_core::policy::{Error, Layer, Policy, World as _};

pub use self::always::{Always, Chosen, StoredRule};
pub use self::history::{HistoryError, Stretch};
pub use self::machine::ThisMachine;
pub use self::own::{ChangeError, Own};
use self::source::Source;
use crate::sync::Locked;

/// Below the data directory: the user's own rules, the modes of their own, and what was answered *always*.
const USER: &str = "policy.toml";
const MODES: &str = "modes";
const ALWAYS: &str = "always.toml";
/// Below a working directory.
const PROJECT: &str = ".turnloom/policy.toml";

/// Projects whose rules are kept ready. Of more, the rules are put together again for each call.
const MAX_PROJECTS: usize = 256;

/// All files of rules, read again when they change. A file that is wrong counts as it was when it was last right.
#[derive(Debug)]
pub struct Rules {
    data: PathBuf,
    always: Always,
    own: Own,
    known: Locked<Known>,
}

#[derive(Debug, Default)]
struct Known {
    files: HashMap<PathBuf, Source>,
    /// The rules of each project, and the versions of the files that they were made from.
    made: HashMap<String, (Vec<u64>, Arc<Policy>)>,
}

impl Rules {
    pub fn open(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
            always: Always::new(data.join(ALWAYS)),
            own: Own::new(data.join(USER)),
            known: Locked::default(),
        }
    }

    /// What people have answered *always* with.
    pub fn always(&self) -> &Always {
        &self.always
    }

    /// The user's own rules, as a file.
    pub fn own(&self) -> &Own {
        &self.own
    }

    /// The file that rules of a layer stand in, if they stand in one. Of a layer of modes, `place` is the mode.
    pub fn file_of(&self, layer: Layer, place: &str, directory: &str) -> Option<PathBuf> {
        match layer {
            Layer::User => Some(self.data.join(USER)),
            Layer::Always => Some(self.data.join(ALWAYS)),
            Layer::Project => Some(Path::new(directory).join(PROJECT)),
            Layer::Mode => {
                let named = |file: &PathBuf| file.file_stem().is_some_and(|stem| stem == place);
                self.modes().into_iter().find(named)
            }
            Layer::Absolute | Layer::Session => None,
        }
    }

    /// The rules that count in a directory, which is absolute and without links.
    pub fn of(&self, directory: &str) -> Arc<Policy> {
        let mut known = self.known.lock();
        let mut files = vec![self.data.join(USER), self.data.join(ALWAYS)];
        files.extend(self.modes());
        files.push(Path::new(directory).join(PROJECT));
        let versions: Vec<u64> = files
            .iter()
            .map(|file| known.files.entry(file.clone()).or_insert_with(|| Source::new(file.clone())).look())
            .collect();
        if let Some((made_from, policy)) = known.made.get(directory)
            && *made_from == versions
        {
            return Arc::clone(policy);
        }
        let policy = Arc::new(self.make(&mut known, &files, directory));
        if known.made.len() >= MAX_PROJECTS {
            known.made.clear();
        }
        known.made.insert(directory.to_owned(), (versions, Arc::clone(&policy)));
        policy
    }

    /// What is wrong now with files that count in a directory.
    pub fn problems_in(&self, directory: &str) -> Vec<Error> {
        drop(self.of(directory));
        let project = Path::new(directory).join(PROJECT);
        let counts = |file: &Path| file.starts_with(&self.data) || file == project;
        self.problems().into_iter().filter(|problem| counts(Path::new(&problem.file))).collect()
    }

    /// What is wrong with files that are there now.
    pub fn problems(&self) -> Vec<Error> {
        // Whoever asks wants to know of the files as they are.
        drop(self.of("/"));
        let known = self.known.lock();
        let mut problems: Vec<Error> = known.files.values().filter_map(Source::problem).cloned().collect();
        problems.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        problems
    }

    /// The files of modes, in order.
    fn modes(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.data.join(MODES)).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .collect();
        files.sort();
        files
    }

    /// Puts all files together. Each is taken as it was when it was last right.
    fn make(&self, known: &mut Known, files: &[PathBuf], directory: &str) -> Policy {
        let mut policy = Policy::shipped();
        let mut broken: Option<String> = None;
        for file in files {
            let Some(source) = known.files.get_mut(file) else { continue };
            if *file == Path::new(directory).join(PROJECT) && !policy.trusts(directory, ThisMachine.home().as_deref()) {
                source.is_ignored();
                continue;
            }
            let taken = source.take(|name, text| {
                let next = policy.clone();
                match () {
                    () if *file == self.data.join(USER) => next.with_user(name, text),
                    () if *file == self.data.join(ALWAYS) => next.with_always(name, text),
                    () if *file == Path::new(directory).join(PROJECT) => next.with_project(name, text),
                    () => {
                        let mode = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                        next.with_mode(&mode, name, text)
                    }
                }
            });
            match taken {
                Ok(Some(next)) => policy = next,
                Ok(None) => {}
                Err(error) => broken = Some(error.to_string()),
            }
        }
        match broken {
            // Nobody knows what it forbids.
            Some(error) => policy.asking_about_everything(&error),
            None => policy,
        }
    }
}
