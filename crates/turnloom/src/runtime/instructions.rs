//! What a project says to agents, in files of its folders. Read here where an agent that does not trust the project would not read it itself.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::regular_file;

/// How much of a project's instructions is read, as Codex itself does.
const MAX_BYTES: usize = 32 * 1024;

/// The instructions in the folders from the project down to this one: each folder that has some, and their text. In each folder the first of the
/// names counts.
pub(super) fn of_project(project: &Path, down_to: &Path, names: &[&str]) -> Vec<(PathBuf, String)> {
    let mut folders: Vec<&Path> = down_to.ancestors().take_while(|folder| folder.starts_with(project)).collect();
    folders.reverse();
    let mut left = MAX_BYTES;
    let read = |folder: &Path| {
        let file = names.iter().map(|name| folder.join(name)).find(|file| file.is_file())?;
        let mut bytes = Vec::new();
        regular_file::open(&file).ok()?.take(left as u64).read_to_end(&mut bytes).ok()?;
        left -= bytes.len();
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        (!text.is_empty()).then(|| (folder.to_owned(), text))
    };
    folders.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_folder_is_read_from_the_project_down_within_a_bound() {
        let place = tempfile::tempdir().unwrap();
        let (project, inner) = (place.path().join("p"), place.path().join("p/a/b"));
        fs::create_dir_all(&inner).unwrap();
        fs::write(place.path().join("SAY.md"), "above the project").unwrap();
        fs::write(project.join("SAY.md"), "weave\n").unwrap();
        fs::write(inner.join("SAY.md"), "not read").unwrap();
        fs::write(inner.join("SAY.own.md"), "dye").unwrap();
        let said = || of_project(&project, &inner, &["SAY.own.md", "SAY.md"]);
        assert_eq!(said(), [(project.clone(), "weave".to_owned()), (inner.clone(), "dye".to_owned())]);
        fs::write(project.join("SAY.md"), "x".repeat(MAX_BYTES - 1)).unwrap();
        assert_eq!(said().last().unwrap().1, "d");
        assert!(of_project(&inner, &project, &["SAY.md"]).is_empty(), "the project is not above");
    }
}
