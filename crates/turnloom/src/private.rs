//! Files that only their owner can read, whatever the directory and the umask are.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

const MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// A file to write to; one that was there is emptied.
pub fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(MODE).open(path)?;
    // The mode counts for new files only. A pipe or a terminal has an owner of its own.
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(MODE))?;
    }
    Ok(file)
}

/// A file without a name in a directory. It is gone when it is closed.
pub fn unnamed(directory: &Path) -> io::Result<File> {
    let path = directory.join(format!("unnamed-{}", uuid::Uuid::new_v4()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(MODE).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// A folder that is ours alone, made if it is not there. In a place that everybody can write to, somebody else may have put something under its name.
pub fn folder(path: &Path) -> io::Result<OwnedFd> {
    match fs::DirBuilder::new().mode(FOLDER_MODE).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    let found = rustix::fs::fstat(&folder)?;
    if found.st_uid != rustix::process::getuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} is somebody else's", path.display())));
    }
    if found.st_mode & 0o077 != 0 {
        rustix::fs::fchmod(&folder, Mode::RWXU)?;
    }
    Ok(folder)
}

pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    create(path)?.write_all(content)
}

/// Puts a file in the place of another; nobody ever sees half of it.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    write(&fresh, content)?;
    fs::rename(&fresh, path)
}

/// The same, and it stands there also after a power cut.
pub fn replace_durably(path: &Path, content: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file = create(&fresh)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Makes a file that others fill, if it is not there, and closes one that is there to everybody else.
pub fn ensure(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(MODE).open(path)?;
    restrict(path)
}

/// Closes a file to everybody else, if it is there.
pub fn restrict(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() && found.permissions().mode() & 0o077 != 0 => {
            fs::set_permissions(path, Permissions::from_mode(MODE))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_open_to_others_is_closed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        for make in [
            |path: &Path| write(path, b"new"),
            |path: &Path| replace(path, b"new"),
            |path: &Path| replace_durably(path, b"new"),
            ensure,
        ] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
            make(&path).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, MODE);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "old", "what others fill is left as it is");
        let mut kept = unnamed(place.path()).unwrap();
        kept.write_all(b"kept").unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nobody finds it");
        restrict(&place.path().join("nothing")).unwrap();
        let (own, linked) = (place.path().join("own"), place.path().join("linked"));
        fs::create_dir(&own).unwrap();
        fs::set_permissions(&own, Permissions::from_mode(0o755)).unwrap();
        folder(&own).unwrap();
        folder(&place.path().join("fresh")).unwrap();
        for name in ["own", "fresh"] {
            assert_eq!(fs::metadata(place.path().join(name)).unwrap().permissions().mode() & 0o777, FOLDER_MODE);
        }
        std::os::unix::fs::symlink(&own, &linked).unwrap();
        assert!(folder(&linked).is_err());
        write(Path::new("/dev/null"), b"x").unwrap();
    }
}
