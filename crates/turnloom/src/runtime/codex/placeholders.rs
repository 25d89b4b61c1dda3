//! Empty folders that Codex's sandbox puts into each folder that a command may write to, so that the command cannot make them itself. Codex takes
//! them away when the command ends, but not when it is ended by force; then a workspace looks like a repository that it is not.

use std::path::{Path, PathBuf};

use crate::runtime::program::Environment;

const NAMES: [&str; 4] = [".git", ".codex", ".agents", ".aws"];

/// Those that were not there before Codex came.
#[derive(Debug)]
pub(super) struct Placeholders {
    missing: Vec<PathBuf>,
}

impl Placeholders {
    pub(super) fn missing_in(workspace: &Path) -> Self {
        Self::missing_in_all([workspace])
    }

    /// In the folders for temporary files, where a sandbox lets everybody write.
    pub(super) fn missing_in_common(environment: &Environment) -> Self {
        let own = environment.path("TMPDIR");
        Self::missing_in_all([Some(Path::new("/tmp")), own.as_deref()].into_iter().flatten())
    }

    fn missing_in_all<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Self {
        let paths = folders.into_iter().flat_map(|folder| NAMES.iter().map(|name| folder.join(name)));
        Self { missing: paths.filter(|path| path.symlink_metadata().is_err()).collect() }
    }

    /// Removes them. What has something in it is not a placeholder, and stays.
    pub(super) fn remove(&self) {
        for path in &self.missing {
            drop(std::fs::remove_dir(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Placeholders;

    #[test]
    fn only_what_is_empty_and_new_is_removed() {
        let workspace = tempfile::tempdir().unwrap();
        let path = |name: &str| workspace.path().join(name);
        fs::create_dir(path(".agents")).unwrap();
        let placeholders = Placeholders::missing_in(workspace.path());
        fs::create_dir(path(".git")).unwrap();
        fs::create_dir_all(path(".codex/agents")).unwrap();
        placeholders.remove();
        assert!(path(".agents").exists(), "it was there before");
        assert!(path(".codex").exists(), "somebody uses it");
        assert!(!path(".git").exists());
    }
}
