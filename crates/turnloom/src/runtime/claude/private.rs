//! Files for one process and nobody else: what it is started with may hold secrets, which do not belong into a command line. They are in memory,
//! without a name in any folder, and gone with whoever holds them, however that ends.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;

use rustix::fs::{MemfdFlags, memfd_create};
use serde_json::Value;

#[derive(Debug)]
pub(super) struct PrivateFiles(Vec<(&'static str, File)>);

impl PrivateFiles {
    pub(super) fn of(files: &[(&'static str, Value)]) -> io::Result<Self> {
        let file = |(flag, content): &(&'static str, Value)| -> io::Result<(&'static str, File)> {
            let mut file = File::from(memfd_create("turnloom", MemfdFlags::CLOEXEC)?);
            file.write_all(content.to_string().as_bytes())?;
            Ok((*flag, file))
        };
        files.iter().map(file).collect::<io::Result<_>>().map(Self)
    }

    /// Each flag, and where its file is for a process of the same user.
    pub(super) fn args(&self) -> impl Iterator<Item = String> {
        let own = std::process::id();
        self.0.iter().flat_map(move |(flag, file)| [(*flag).to_owned(), format!("/proc/{own}/fd/{}", file.as_raw_fd())])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::PrivateFiles;

    #[test]
    fn the_content_is_in_the_file_and_not_in_the_arguments() {
        let files = PrivateFiles::of(&[("--settings", json!({ "token": "secret" }))]).unwrap();
        let args: Vec<String> = files.args().collect();
        assert!(args[0] == "--settings" && !args[1].contains("secret"), "{args:?}");
        assert_eq!(std::fs::read_to_string(&args[1]).unwrap(), r#"{"token":"secret"}"#);
        let path = args[1].clone();
        drop(files);
        assert!(std::fs::read_to_string(path).is_err(), "it is gone");
    }
}
