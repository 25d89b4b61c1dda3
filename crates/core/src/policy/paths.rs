//! Resolves paths: `..`, links, wildcards, and whether a path is inside the workspace.

use super::act::{Location, Place};
use super::call::World;

/// An absolute path without `.`, `..` and double slashes.
pub fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a path is a directory or lies in it. Both are normal.
pub(crate) fn is_in(path: &str, directory: &str) -> bool {
    directory == "/" || path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Where relative paths begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Base {
    At(String),
    /// A `cd` went where nobody can say.
    Unknown,
}

/// What is known of the place of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    All,
    /// Another command of the same script has found it.
    Found,
    /// A part of it is known only when it runs.
    Part,
}

/// The place that a path names.
pub(crate) fn place(text: &str, base: &Base, known: Known, glob: bool, workspace: &str, world: &dyn World) -> Place {
    let absolute = match base {
        _ if text.starts_with('/') => text.to_owned(),
        Base::At(base) => format!("{base}/{text}"),
        Base::Unknown => {
            let path = normal(&format!("/{text}"));
            return Place { path, location: Location::Unknown, glob, contents: false };
        }
    };
    // Links can be followed only as far as names are known.
    let (fixed, pattern) = if glob { split_pattern(&absolute) } else { (absolute.as_str(), "") };
    let resolved = world.resolve(fixed);
    let path = normal(&format!("{}/{pattern}", resolved.as_deref().unwrap_or(fixed)));
    let location = match (known, &resolved) {
        (Known::Part, _) | (_, None) => Location::Unknown,
        (Known::Found, _) => Location::Found,
        _ if leads_out(pattern) => Location::Unknown,
        _ if is_in(&path, workspace) => Location::Inside,
        _ => Location::Outside,
    };
    match path.rsplit_once('/') {
        Some((parent, name)) if glob && is_everything(name) => {
            let parent = if parent.is_empty() { "/" } else { parent };
            Place { path: parent.to_owned(), location, glob, contents: true }
        }
        _ => Place { path, location, glob, contents: false },
    }
}

/// The directories without wildcards, and the rest.
fn split_pattern(path: &str) -> (&str, &str) {
    let first = path.find(['*', '?', '[']).unwrap_or(path.len());
    let cut = path.get(..first).and_then(|fixed| fixed.rfind('/')).map_or(0, |slash| slash + 1);
    path.split_at_checked(cut).unwrap_or((path, ""))
}

/// `*/../..` leads out of wherever it began.
fn leads_out(pattern: &str) -> bool {
    pattern.split('/').any(|part| part == ".." || part.starts_with(".*") || part.starts_with(".?"))
}

fn is_everything(name: &str) -> bool {
    !name.is_empty() && name.contains('*') && name.bytes().all(|byte| matches!(byte, b'*' | b'.' | b'?'))
}

#[cfg(test)]
mod tests {
    use super::super::call::Plain;
    use super::*;

    #[test]
    fn places() {
        let world = Plain::default();
        let base = Base::At("/code/app/src".to_owned());
        for (text, path, location, contents) in [
            ("a.rs", "/code/app/src/a.rs", Location::Inside, false),
            ("../x", "/code/app/x", Location::Inside, false),
            ("../..", "/code", Location::Outside, false),
            ("/code/app/../apple", "/code/apple", Location::Outside, false),
            ("/code/apple", "/code/apple", Location::Outside, false),
            ("/*", "/", Location::Outside, true),
            ("/etc/.*", "/etc", Location::Unknown, true),
            ("*", "/code/app/src", Location::Inside, true),
            ("*.rs", "/code/app/src/*.rs", Location::Inside, false),
            ("*/../../..", "/code", Location::Unknown, false),
        ] {
            let found = place(text, &base, Known::All, text.contains('*'), "/code/app", &world);
            assert_eq!((found.path.as_str(), found.location, found.contents), (path, location, contents), "{text}");
        }
    }
}
