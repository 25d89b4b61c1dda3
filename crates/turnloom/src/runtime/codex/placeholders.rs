//! Empty folders that Codex's sandbox puts into a workspace while a command runs, so that the command cannot make them itself. Codex takes them away
//! when the command ends, but not when it is ended by force; then a workspace looks like a repository that it is not.

use std::path::{Path, PathBuf};

const NAMES: [&str; 4] = [".git", ".codex", ".agents", ".aws"];

/// Those that were not there before Codex came.
#[derive(Debug)]
pub(super) struct Placeholders {
    missing: Vec<PathBuf>,
}

impl Placeholders {
    pub(super) fn missing_in(workspace: &Path) -> Self {
        let paths = NAMES.iter().map(|name| workspace.join(name));
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
