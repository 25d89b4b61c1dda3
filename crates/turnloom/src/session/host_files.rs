//! Reads a file that an agent wants to publish: one in its working directory, whatever links say. Which path that is, is decided in
//! `turnloom_core::host_tools`; the kernel makes sure that it leads nowhere else.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use tokio::time::{Instant, timeout_at};
use turnloom_core::host_tools::{MAX_FILE_BYTES, place_in};
use turnloom_core::runtime::HostFile;

/// What is in the file, or why there is nothing, for the agent.
pub(super) async fn read(workspace: &str, path: &str, deadline: Instant) -> HostFile {
    let (folder, wanted) = (workspace.to_owned(), path.to_owned());
    let reading = tokio::task::spawn_blocking(move || read_now(&folder, &wanted));
    let outcome = match timeout_at(deadline, reading).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) | Err(_) => Err(format!("{path:?} was not read in time")),
    };
    outcome.map_or_else(HostFile::Unreadable, HostFile::Content)
}

fn read_now(folder: &str, path: &str) -> Result<Vec<u8>, String> {
    let resolved = std::fs::canonicalize(folder).ok().map(|folder| folder.display().to_string());
    let folders: Vec<&str> = std::iter::once(folder).chain(resolved.as_deref()).collect();
    let inside = place_in(&folders, path)?;
    let bytes = open_beneath(Path::new(folder), &inside).and_then(|file| {
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    let bytes = bytes.map_err(|error| match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::XDEV | Errno::LOOP) => format!("{path:?} leads out of the working directory by a link"),
        _ => format!("{path:?} cannot be read: {error}"),
    })?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("{path:?} is larger than {MAX_FILE_BYTES} bytes"));
    }
    Ok(bytes)
}

/// Opens a file below a folder. A link on the way may lead to another place below it, and nowhere else; a pipe or a device is refused without waiting.
fn open_beneath(folder: &Path, inside: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let folder = rustix::fs::open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let file = File::from(rustix::fs::openat2(&folder, inside, flags, Mode::empty(), beneath)?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file")) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;

    async fn read_in(folder: &Path, path: &str) -> HostFile {
        read(folder.to_str().unwrap(), path, Instant::now() + Duration::from_secs(30)).await
    }

    fn why(file: HostFile) -> String {
        match file {
            HostFile::Unreadable(why) => why,
            HostFile::Content(bytes) => panic!("it was read: {bytes:?}"),
        }
    }

    #[tokio::test]
    async fn a_file_of_the_folder_is_read_by_any_name() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("work");
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(folder.join("sub/a.txt"), "woven").unwrap();
        symlink("sub", folder.join("link")).unwrap();
        symlink(&folder, above.path().join("other-name")).unwrap();
        let absolute = folder.join("sub/a.txt");
        for path in ["sub/a.txt", "./sub/../sub/a.txt", "link/a.txt", absolute.to_str().unwrap()] {
            assert_eq!(read_in(&folder, path).await, HostFile::Content(b"woven".to_vec()), "{path}");
        }
        let linked = above.path().join("other-name");
        assert_eq!(read_in(&linked, absolute.to_str().unwrap()).await, HostFile::Content(b"woven".to_vec()));
    }

    #[tokio::test]
    async fn nothing_leads_out_of_the_folder() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("work");
        std::fs::create_dir(&folder).unwrap();
        let secret = above.path().join("secret");
        std::fs::write(&secret, "hidden").unwrap();
        symlink("../secret", folder.join("up")).unwrap();
        symlink(&secret, folder.join("away")).unwrap();
        symlink("..", folder.join("folder")).unwrap();
        symlink("/proc/self/root", folder.join("root")).unwrap();
        for path in ["../secret", "x/../../secret", secret.to_str().unwrap(), "/etc/passwd"] {
            assert!(why(read_in(&folder, path).await).contains("is not in the working directory"), "{path}");
        }
        for path in ["up", "away", "folder/secret", "root/etc/passwd"] {
            assert!(why(read_in(&folder, path).await).contains("by a link"), "{path}");
        }
        for path in ["", ".", "no.txt", "a\0b"] {
            why(read_in(&folder, path).await);
        }
        rustix::fs::mknodat(rustix::fs::CWD, folder.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(why(read_in(&folder, "pipe").await).contains("not a file"));
    }

    #[tokio::test]
    async fn a_file_that_is_too_large_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let large = File::create(folder.path().join("large")).unwrap();
        large.set_len(MAX_FILE_BYTES + 1).unwrap();
        assert!(why(read_in(folder.path(), "large").await).contains("is larger than"));
        large.set_len(MAX_FILE_BYTES).unwrap();
        assert!(matches!(read_in(folder.path(), "large").await, HostFile::Content(_)));
    }
}
