//! The tools of agents and what they do. The list is data: `tools.toml`.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::act::{Act, Command, Kind};
use super::call::{Call, World};
use super::matching::resolved;
use super::paths::{self, Base, Known};
use super::shell::{self, ScriptContext};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    names: Vec<String>,
    does: Option<Kind>,
    /// Fields that hold a script for a shell, or the words of a command.
    #[serde(default)]
    script: Vec<String>,
    /// Fields that hold paths.
    #[serde(default)]
    paths: Vec<String>,
    /// Fields that hold addresses.
    #[serde(default)]
    addresses: Vec<String>,
    /// Fields that hold a patch which names its files.
    #[serde(default)]
    patch: Vec<String>,
    /// Fields that hold a list of files, each with what happens to it.
    #[serde(default)]
    changes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tool: Vec<Tool>,
}

static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the table is part of the program, and a test reads it")]
    let file: File = toml::from_str(include_str!("tools.toml")).expect("the table of tools is right");
    file.tool
});

/// What a call would do: one entry for each simple command, or one for another tool.
pub fn acts(call: &Call<'_>, world: &dyn World) -> Vec<Command> {
    let workspace = resolved(world, call.workspace);
    let directory = resolved(world, call.directory);
    let one = |acts: Vec<Act>| vec![Command { words: Vec::new(), inside: Vec::new(), acts }];
    if let Some(rest) = call.tool.strip_prefix("mcp__") {
        let server = rest.split_once("__").map_or(rest, |(server, _)| server);
        return one(vec![Act { server: Some(server.to_owned()), ..Act::of(Kind::Mcp) }]);
    }
    let Some(tool) = TOOLS.iter().find(|tool| tool.names.iter().any(|name| name == call.tool)) else {
        return one(vec![Act::because(Kind::Tool, call.tool)]);
    };
    let around = ScriptContext { world, workspace: &workspace, directory: &directory };
    if !tool.script.is_empty() {
        let here = field(call.input, &["workdir", "cwd", "directory"]).and_then(Value::as_str);
        let here = here.map(|here| {
            resolved(world, &if here.starts_with('/') { here.to_owned() } else { format!("{directory}/{here}") })
        });
        let around = ScriptContext { directory: here.as_deref().unwrap_or(&directory), ..around };
        return match field(call.input, &tool.script).and_then(script) {
            Some(script) => shell::read(&script, around).commands,
            None => one(vec![Act::because(Kind::Opaque, "there is no command in it")]),
        };
    }
    let place = |path: &str| {
        let path = super::matching::expand_home(path, world.home().as_deref());
        paths::place(&path, &Base::At(directory.clone()), Known::All, false, &workspace, world)
    };
    let kind = tool.does.unwrap_or(Kind::Tool);
    let mut found: Vec<Act> = Vec::new();
    for name in &tool.paths {
        found.extend(call.input.get(name).and_then(Value::as_str).map(|path| Act::at(kind, place(path))));
    }
    for name in &tool.addresses {
        let host = call.input.get(name).and_then(Value::as_str).map(shell::host_of);
        found.extend(host.map(|host| Act { host: Some(host), ..Act::of(kind) }));
    }
    if !tool.patch.is_empty() {
        let text = field(call.input, &tool.patch).and_then(Value::as_str).unwrap_or_default();
        found.extend(patched(text).into_iter().map(|(kind, path)| Act::at(kind, place(path))));
        if found.is_empty() {
            found.push(Act::because(Kind::Opaque, "the patch names no file"));
        }
    }
    if let Some(changes) = field(call.input, &tool.changes) {
        let changed = changed(changes);
        if changed.is_empty() {
            found.push(Act::because(Kind::Opaque, "the change names no file"));
        }
        found.extend(changed.into_iter().map(|(kind, path)| Act::at(kind, place(path))));
    }
    if found.is_empty() {
        found.push(if tool.paths.is_empty() { Act::of(kind) } else { Act::at(kind, place(".")) });
    }
    one(found)
}

fn field<'v, N: AsRef<str>>(input: &'v Value, names: &[N]) -> Option<&'v Value> {
    names.iter().find_map(|name| input.get(name.as_ref()))
}

/// A script, or words that no shell looks at.
fn script(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
            Some(words?.into_iter().map(quoted).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

/// The files in a list of changes. A file that moves is gone from where it was. Nothing if one of the changes names no file.
fn changed(changes: &Value) -> Vec<(Kind, &str)> {
    let mut files = Vec::new();
    for change in changes.as_array().into_iter().flatten() {
        let Some(path) = text_in(change, "path").filter(|path| !path.is_empty()) else { return Vec::new() };
        let to = text_in(change, "to");
        let is_gone = to.is_some() || text_in(change, "kind") == Some("delete");
        files.push((if is_gone { Kind::Delete } else { Kind::Write }, path));
        files.extend(to.map(|to| (Kind::Write, to)));
    }
    files
}

fn text_in<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

/// The files that a patch names.
pub(crate) fn patched_files(text: &str) -> impl Iterator<Item = &str> {
    patched(text).into_iter().map(|(_, path)| path)
}

fn patched(text: &str) -> Vec<(Kind, &str)> {
    const MARKS: &[(&str, Kind)] = &[
        ("*** Add File: ", Kind::Write),
        ("*** Update File: ", Kind::Write),
        ("*** Move to: ", Kind::Write),
        ("*** Delete File: ", Kind::Delete),
    ];
    let named = |line: &'_ str| {
        MARKS.iter().find_map(|(mark, kind)| line.trim().strip_prefix(mark).map(|_| (*kind, mark.len())))
    };
    text.lines()
        .filter_map(|line| named(line).and_then(|(kind, at)| line.trim().get(at..).map(|path| (kind, path.trim()))))
        .collect()
}
