//! Empty folders that Codex's sandbox puts into each folder that a command may write to, so that the command cannot make them itself. Codex takes
//! them away when the command ends, but not when it is ended by force; then a workspace looks like a repository that it is not.

use std::path::{Path, PathBuf};

use crate::process::{Spawner, WatchedFolders};
use crate::runtime::program::Environment;

const NAMES: [&str; 4] = [".git", ".codex", ".agents", ".aws"];

/// Those that were not there before Codex came. Should the daemon be killed, its guard removes them.
#[derive(Debug)]
pub(super) struct Placeholders(WatchedFolders);

impl Placeholders {
    pub(super) async fn missing_in(workspace: &Path, spawner: &Spawner) -> Self {
        Self(spawner.watch(missing([workspace])).await)
    }

    /// In the folders for temporary files, where a sandbox lets everybody write.
    pub(super) async fn missing_in_common(environment: &Environment, spawner: &Spawner) -> Self {
        let own = environment.path("TMPDIR");
        Self(spawner.watch(missing([Some(Path::new("/tmp")), own.as_deref()].into_iter().flatten())).await)
    }

    #[cfg(test)]
    pub(super) async fn none(spawner: &Spawner) -> Self {
        Self(spawner.watch(Vec::new()).await)
    }

    pub(super) fn remove(&self) {
        remove_empty(self.0.folders());
    }
}

fn missing<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Vec<PathBuf> {
    let paths = folders.into_iter().flat_map(|folder| NAMES.iter().map(|name| folder.join(name)));
    paths.filter(|path| path.symlink_metadata().is_err()).collect()
}

/// What has something in it is not a placeholder, and stays.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        drop(std::fs::remove_dir(folder));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{missing, remove_empty};

    #[test]
    fn only_what_is_empty_and_new_is_removed() {
        let workspace = tempfile::tempdir().unwrap();
        let path = |name: &str| workspace.path().join(name);
        fs::create_dir(path(".agents")).unwrap();
        let placeholders = missing([workspace.path()]);
        fs::create_dir(path(".git")).unwrap();
        fs::create_dir_all(path(".codex/agents")).unwrap();
        remove_empty(&placeholders);
        assert!(path(".agents").exists(), "it was there before");
        assert!(path(".codex").exists(), "somebody uses it");
        assert!(!path(".git").exists());
    }
}
