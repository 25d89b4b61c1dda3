//! The table of known programs. What is in it is data: `programs.toml`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer};

use super::act::Kind;

/// What the words that are no options are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Operands {
    /// Nothing that matters.
    #[default]
    Nothing,
    /// Files that are read.
    Read,
    /// A pattern, then files that are read.
    Pattern,
    Write,
    Delete,
    /// The last one is written, the others are read.
    Copy,
    /// The last one is written, the others are taken away.
    Move,
    /// A mode or an owner, then files.
    Permissions,
    /// A file that the second one points to.
    Link,
    /// A command with its own words.
    Command,
    /// All words together are a script for a shell.
    Script,
    /// Addresses.
    Hosts,
}

/// What needs to be looked at by code, because a table cannot say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Special {
    Shell,
    Interpreter,
    Env,
    Xargs,
    Find,
    Git,
    Sed,
    Awk,
    Dd,
    Tar,
    Kill,
    Ssh,
    Make,
    Printf,
    Cd,
    Eval,
    Source,
    Exec,
    Trap,
    Alias,
    ReadInto,
    Set,
    Export,
    Unset,
    Unknown,
    Rsync,
    Curl,
    PackageManager,
    Archive,
}

/// What a call is about that only looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shows {
    /// The content of a file.
    File,
    /// The names in a directory.
    Names,
    /// The places of a pattern.
    Places,
}

/// Options that change what a program does.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Changes {
    #[serde(deserialize_with = "words")]
    pub(crate) options: Vec<String>,
    pub(crate) does: Kind,
}

/// A program or one of its sub-commands.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Program {
    #[serde(deserialize_with = "words")]
    pub(crate) names: Vec<String>,
    /// What it does by itself, besides what its operands say.
    pub(crate) does: Option<Kind>,
    pub(crate) operands: Operands,
    /// Operands before those that count.
    pub(crate) skip: usize,
    /// Without operands it is about the working directory.
    pub(crate) here: bool,
    /// It goes down into directories by itself.
    pub(crate) deep: bool,
    /// Options that take the next word.
    #[serde(deserialize_with = "words")]
    pub(crate) values: Vec<String>,
    /// Options whose value is a file that is read.
    #[serde(deserialize_with = "words")]
    pub(crate) reads: Vec<String>,
    /// Options whose value is a file or a directory that is written.
    #[serde(deserialize_with = "words")]
    pub(crate) writes: Vec<String>,
    /// Options whose value is run by a shell.
    #[serde(deserialize_with = "words")]
    pub(crate) code: Vec<String>,
    /// Options that make it impossible to tell what it does.
    #[serde(deserialize_with = "words")]
    pub(crate) opaque: Vec<String>,
    /// Options that go down into directories.
    #[serde(deserialize_with = "words")]
    pub(crate) tree: Vec<String>,
    /// Options that look like a shorter form of another and are harmless.
    #[serde(deserialize_with = "words")]
    pub(crate) harmless: Vec<String>,
    pub(crate) changes: Vec<Changes>,
    /// Its options have one dash and many letters.
    pub(crate) one_dash: bool,
    pub(crate) special: Option<Special>,
    /// What a person is shown of a call that only looks.
    pub(crate) shows: Option<Shows>,
    /// It only passes on what it is given, whatever its words are.
    pub(crate) filter: bool,
    /// Sub-commands. One that is not here makes it a program that is not known.
    pub(crate) sub: Vec<Program>,
}

impl Default for Program {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            does: None,
            operands: Operands::Nothing,
            skip: 0,
            here: false,
            deep: false,
            values: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            code: Vec::new(),
            opaque: Vec::new(),
            tree: Vec::new(),
            harmless: Vec::new(),
            changes: Vec::new(),
            one_dash: false,
            special: None,
            shows: None,
            filter: false,
            sub: Vec::new(),
        }
    }
}

/// What a variable of the environment means to programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    Harmless,
    /// Options for compilers.
    Flags,
    /// Its value is run.
    Code,
    Opaque,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variables {
    #[serde(deserialize_with = "words")]
    code: Vec<String>,
    #[serde(deserialize_with = "words")]
    flags: Vec<String>,
    #[serde(deserialize_with = "words")]
    opaque: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    variables: Variables,
    program: Vec<Program>,
}

#[derive(Debug)]
pub(crate) struct Table {
    programs: Vec<Program>,
    by_name: HashMap<String, usize>,
    code: Vec<String>,
    flags: Vec<String>,
    opaque: Vec<String>,
}

/// A list may be written as one text.
fn words<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    Ok(String::deserialize(input)?.split_whitespace().map(str::to_owned).collect())
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the table is part of the program, and a test reads it")]
    let file: File = toml::from_str(include_str!("programs.toml")).expect("the table of programs is right");
    let names = |(index, program): (usize, &Program)| {
        program.names.iter().map(move |name| (name.clone(), index)).collect::<Vec<_>>()
    };
    let by_name = file.program.iter().enumerate().flat_map(names).collect();
    let Variables { code, flags, opaque } = file.variables;
    Table { by_name, programs: file.program, code, flags, opaque }
});

pub(crate) fn table() -> &'static Table {
    &TABLE
}

/// The last part of a path.
pub(crate) fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a program is found where the system keeps its own.
pub(crate) fn is_standard(program: &str) -> bool {
    const PLACES: &[&str] = &[
        "/bin",
        "/usr/bin",
        "/usr/local/bin",
        "/sbin",
        "/usr/sbin",
        "/usr/local/sbin",
        "/opt/homebrew/bin",
        "/lib64",
        "/lib",
    ];
    match program.rsplit_once('/') {
        None => true,
        Some((place, _)) => PLACES.contains(&place),
    }
}

impl Table {
    pub(crate) fn find(&self, name: &str) -> Option<&Program> {
        let exact = self.by_name.get(name);
        // `python3.12`, `mkfs.ext4`, `gcc-13`: what stands before the number or the dot.
        let family = || {
            let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
            self.by_name.get(bare).filter(|_| !bare.is_empty())
        };
        let kind = || {
            name.split_once('.')
                .and_then(|(bare, _)| self.by_name.get(bare).filter(|_| bare == "mkfs" || bare == "fsck"))
        };
        exact.or_else(family).or_else(kind).and_then(|index| self.programs.get(*index))
    }

    pub(crate) fn setting(&self, name: &str) -> Setting {
        let is = |list: &[String]| list.iter().any(|known| super::glob::text_matches(known, name));
        if is(&self.code) {
            Setting::Code
        } else if is(&self.flags) {
            Setting::Flags
        } else if is(&self.opaque) {
            Setting::Opaque
        } else {
            Setting::Harmless
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_program_is_there_twice() {
        fn once(programs: &[Program]) {
            let mut names: Vec<&String> = programs.iter().flat_map(|program| &program.names).collect();
            names.sort();
            let twice: Vec<&[&String]> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
            assert!(twice.is_empty(), "{twice:?}");
            for program in programs {
                once(&program.sub);
            }
        }
        once(&table().programs);
    }

    #[test]
    fn versions_belong_to_their_program() {
        for (name, known) in
            [("python3.12", "python"), ("mkfs.ext4", "mkfs"), ("gcc-13", "gcc"), ("sh", "sh"), ("git", "git")]
        {
            assert!(table().find(name).is_some_and(|program| program.names.iter().any(|name| name == known)), "{name}");
        }
        assert!(table().find("frobnicate").is_none());
    }
}
