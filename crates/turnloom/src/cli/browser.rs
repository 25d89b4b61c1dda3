//! Opening a page in the person's browser, where there is one.

use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The programs that open a page, and those that only work with a screen of their own.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// The program that opens pages, or why there is none.
pub(super) fn opener() -> Result<PathBuf, &'static str> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if set("SSH_CONNECTION") || set("SSH_TTY") {
        return Err("this is a remote session");
    }
    if !cfg!(target_os = "macos") && !set("DISPLAY") && !set("WAYLAND_DISPLAY") {
        return Err("there is no screen");
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).map(|path| path.join(OPENER)).find(|path| path.is_file());
    found.ok_or(if cfg!(target_os = "macos") { "there is no open" } else { "there is no xdg-open" })
}

/// Opens a page. That it did not work is seen soon enough, and the address stands on the screen.
pub(super) fn open(opener: &Path, url: &str) {
    #[expect(clippy::disallowed_methods, reason = "a browser is not an agent: it is to outlive the daemon")]
    let mut command = std::process::Command::new(opener);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    drop(command.spawn());
}
