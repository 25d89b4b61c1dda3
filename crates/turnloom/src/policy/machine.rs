//! Files as they are here, for whoever judges calls.

use std::path::{Path, PathBuf};

use turnloom_core::policy::{self, World};

/// This machine, as the daemon's user sees it. Variables of the environment are not told: a command gets those of its agent, not ours.
#[derive(Debug, Clone, Copy)]
pub struct ThisMachine;

impl World for ThisMachine {
    fn home(&self) -> Option<String> {
        let home = std::env::var("HOME").ok();
        home.filter(|home| home.starts_with('/')).and_then(|home| self.resolve(&home))
    }

    fn variable(&self, name: &str) -> Option<String> {
        // The one that agents get from us as it is.
        (name == "HOME").then(|| self.home()).flatten()
    }

    /// What exists is resolved; what does not exist yet is taken by its name.
    fn resolve(&self, path: &str) -> Option<String> {
        let mut known = PathBuf::from("/");
        let mut missing = false;
        for part in Path::new(path).components().skip(1) {
            let next = known.join(part);
            if missing {
                known = PathBuf::from(policy::normal(&next.to_string_lossy()));
                continue;
            }
            match std::fs::canonicalize(&next) {
                Ok(real) => known = real,
                // A link to nowhere leads somewhere once it is written through.
                Err(_) if std::fs::symlink_metadata(&next).is_ok() => return None,
                Err(_) => {
                    known = PathBuf::from(policy::normal(&next.to_string_lossy()));
                    missing = true;
                }
            }
        }
        Some(known.to_string_lossy().into_owned())
    }
}
