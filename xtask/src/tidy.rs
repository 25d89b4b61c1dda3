//! What a machine can check of how the project is kept: file sizes, direction of dependency, licences, that nothing names the machine it was made on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// A file that does not fit in the head is a smell; over this it is a failure.
const MAX_LINES: usize = 600;

/// What the pure half may not know.
const NOT_IN_CORE: &[&str] = &["tokio", "rusqlite", "axum", "hyper", "tokio-postgres", "rustix", "libc"];

const LICENCES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "CC0-1.0",
    "MPL-2.0",
    "Unlicense",
    "0BSD",
    "BSL-1.0",
    "MIT-0",
];

/// One TLS provider, and none that needs a C build of minutes.
const BANNED: &[&str] = &["openssl", "openssl-sys", "native-tls", "aws-lc-rs", "aws-lc-sys"];

pub(crate) fn check() -> Result<()> {
    let mut wrong = Vec::new();
    check_files(&mut wrong)?;
    check_dependencies(&mut wrong)?;
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(())
}

fn check_files(wrong: &mut Vec<String>) -> Result<()> {
    // Where people keep their checkouts, and where this one is.
    let home = std::env::var("HOME").map(|home| format!("{}/", home.trim_end_matches('/')));
    let places: Vec<String> =
        ["/home/".to_owned()].into_iter().chain(home.ok().filter(|home| home.len() > 1)).collect();
    for path in tracked_files()? {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let name = path.display();
        let code = path
            .extension()
            .is_some_and(|extension| ["rs", "ts", "svelte", "py"].iter().any(|known| extension == *known));
        let lines = text.lines().count();
        if code && lines > MAX_LINES {
            wrong.push(format!("{name} has {lines} lines; split it (at most {MAX_LINES})"));
        }
        if names_the_store(&path, &text) {
            wrong.push(format!("{name} names SQLite; only `log/` knows where logs are kept, ask its `Store`"));
        }
        if path.ends_with("xtask/src/tidy.rs") {
            continue; // it names what it looks for
        }
        for (number, line) in (1..).zip(text.lines()) {
            // What stands for a home in recordings is nobody's.
            let line = &line.replace("/home/user", "");
            if line.contains("\"resolved\": \"http") || places.iter().any(|place| names_a_home(line, place)) {
                wrong.push(format!("{name}:{number} names a place on somebody's machine or a download address"));
            }
        }
    }
    Ok(())
}

/// Whether code of the daemon outside `log/` says where logs are kept. Tests may look into the file.
fn names_the_store(path: &Path, text: &str) -> bool {
    let name = path.to_string_lossy();
    let is_meant = name.starts_with("crates/turnloom/src/") && name.ends_with(".rs");
    let is_excepted = name.contains("/src/log/") || name.contains("/tests/") || name.ends_with("tests.rs");
    let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    is_meant && !is_excepted && code.any(|line| line.to_lowercase().contains("sqlite"))
}

/// `/home/you` in an explanation is fine; a real path has a name behind it.
fn names_a_home(line: &str, place: &str) -> bool {
    line.split(place)
        .skip(1)
        .any(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()) && !rest.starts_with("you"))
}

#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
fn tracked_files() -> Result<Vec<PathBuf>> {
    let output = Command::new("git").args(["ls-files", "-z"]).output().context("cannot run git")?;
    let names = String::from_utf8(output.stdout)?;
    let generated = |name: &&str| ["Cargo.lock", "/assets/", "/generated/"].iter().any(|known| name.contains(known));
    let written = |name: &&str| !name.is_empty() && !generated(name);
    Ok(names.split('\0').filter(written).map(PathBuf::from).filter(|path| path.is_file()).collect())
}

#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
fn check_dependencies(wrong: &mut Vec<String>) -> Result<()> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let text = |package: &Value, name: &str| package.get(name).and_then(Value::as_str).map(str::to_owned);
    for package in metadata.get("packages").and_then(Value::as_array).into_iter().flatten() {
        let name = &text(package, "name").unwrap_or_default();
        let Some(source) = text(package, "source") else {
            if name == "turnloom-core" {
                check_core(package, wrong);
            }
            continue;
        };
        if !source.starts_with("registry+") {
            wrong.push(format!("{name} comes from {source}, not from the registry"));
        }
        if BANNED.contains(&name.as_str()) {
            wrong.push(format!("{name} is not wanted here; see xtask/src/tidy.rs"));
        }
        let licence = text(package, "license").unwrap_or_else(|| "none".to_owned());
        if !is_allowed(&licence) {
            wrong.push(format!("{name} has the licence {licence}"));
        }
    }
    Ok(())
}

fn check_core(package: &Value, wrong: &mut Vec<String>) {
    let dependencies = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
    let at_run_time = dependencies.filter(|dependency| dependency.get("kind").is_none_or(Value::is_null));
    let names: BTreeSet<&str> = at_run_time.filter_map(|dependency| dependency.get("name")?.as_str()).collect();
    for name in NOT_IN_CORE.iter().filter(|name| names.contains(**name)) {
        wrong.push(format!("turnloom-core decides and does nothing: it must not depend on {name}"));
    }
}

/// Every part that is joined by AND, and one of those joined by OR.
fn is_allowed(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], " ").replace('/', " OR ");
    plain.split(" AND ").all(|part| part.split(" OR ").any(|licence| LICENCES.contains(&licence.trim())))
}

/// Where the workspace is, whatever directory the command was typed in.
pub(crate) fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        // Cargo says it to whoever it runs. What was known when this was compiled may have been another checkout with the same target directory.
        let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        Path::new(&package).parent().unwrap_or(Path::new(".")).to_owned()
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{is_allowed, names_a_home, names_the_store};

    #[test]
    fn only_the_log_knows_where_logs_are_kept() {
        for (path, text, wrong) in [
            ("crates/turnloom/src/daemon.rs", "use rusqlite::Connection;", true),
            ("crates/turnloom/src/daemon.rs", "// SQLite keeps it", false),
            ("crates/turnloom/src/log/sqlite/mod.rs", "use rusqlite::Connection;", false),
            ("crates/turnloom/src/reader/view/tests.rs", "rusqlite::Connection::open(path)", false),
        ] {
            assert_eq!(names_the_store(Path::new(path), text), wrong, "{path}: {text}");
        }
    }

    #[test]
    fn licences_are_read_as_expressions() {
        for (expression, allowed) in [
            ("MIT OR Apache-2.0", true),
            ("MIT/Apache-2.0", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("GPL-3.0", false),
            ("MIT AND GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
        ] {
            assert_eq!(is_allowed(expression), allowed, "{expression}");
        }
    }

    #[test]
    fn a_home_is_a_path_with_a_name() {
        assert!(names_a_home("see /home/ann/x", "/home/"));
        assert!(!names_a_home("see /home/you/x", "/home/"));
        assert!(!names_a_home("nothing", "/home/"));
    }
}
