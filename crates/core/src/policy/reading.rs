//! What a command looks at, so that a view can show it, and a shell that only stands around another command. Parser and table are those of the
//! decision, but this decides nothing.

use super::act::{Act, Command, Kind};
use super::call::Plain;
use super::shell::{self, ScriptContext};
use crate::event::ToolStart;

/// What a command does when all it does is look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadAction {
    /// The content of a file.
    File { path: String },
    /// The names in a directory.
    List { path: Option<String> },
    /// The places where a pattern is found.
    Search { pattern: String, path: Option<String> },
}

impl ReadAction {
    /// Says so in the call that runs the command.
    pub fn annotate(self, start: &mut ToolStart) {
        match self {
            ReadAction::File { path } => (start.file_path, start.is_file_read) = (Some(path), Some(true)),
            ReadAction::List { path } => start.search_path = path,
            ReadAction::Search { pattern, path } => (start.pattern, start.search_path) = (Some(pattern), path),
        }
    }

    /// The file whose content is read, if it is one.
    pub fn file(self) -> Option<String> {
        match self {
            ReadAction::File { path } => Some(path),
            ReadAction::List { .. } | ReadAction::Search { .. } => None,
        }
    }

    fn inside(self, directory: &str) -> Self {
        let join = |path: String| if path.starts_with('/') { path } else { format!("{directory}/{path}") };
        let place = |path: Option<String>| Some(path.map_or_else(|| directory.to_owned(), join));
        match self {
            ReadAction::File { path } => ReadAction::File { path: join(path) },
            ReadAction::List { path } => ReadAction::List { path: place(path) },
            ReadAction::Search { pattern, path } => ReadAction::Search { pattern, path: place(path) },
        }
    }
}

/// The commands of a script, wherever it runs.
fn commands_of(script: &str) -> Vec<Command> {
    let world = Plain::default();
    // A place of its own, so that what lies in it can be told from what does not.
    let around = ScriptContext { world: &world, workspace: "/here", directory: "/here" };
    shell::read(script, around).commands
}

/// What a script reads, if reading is all it does. `cd there && cat file` reads `there/file`.
pub fn reading(script: &str) -> Option<ReadAction> {
    let commands = commands_of(script);
    let looks = |act: &Act| matches!(act.kind, Kind::Compute | Kind::Read | Kind::Session);
    if !commands.iter().all(|command| command.inside.is_empty() && command.acts.iter().all(looks)) {
        return None;
    }
    let mut directory: Option<&str> = None;
    let mut found: Option<ReadAction> = None;
    for command in commands.iter().filter(|command| !command.words.is_empty()) {
        let doubtful = command.words.iter().any(|word| word.ends_with('?'));
        match command.words.as_slice() {
            _ if doubtful => return None,
            [cd, place] if cd == "cd" && found.is_none() && directory.is_none() => directory = Some(place),
            words if found.is_none() => found = Some(shell::look(words)?),
            words => shell::passes_on(words).then_some(())?,
        }
    }
    match directory {
        Some(directory) => found.map(|found| found.inside(directory)),
        None => found,
    }
}

/// What stays of `/bin/bash -lc 'ls -la'` without the shell around it.
pub fn without_shell(command: &str) -> String {
    let mut typed = commands_of(command).into_iter().filter(|command| command.inside.is_empty());
    match (typed.next().map(|command| command.words).as_deref(), typed.next()) {
        (Some([program, flags, script]), None)
            if shell::is_shell(program) && flags.starts_with('-') && flags.ends_with('c') =>
        {
            script.clone()
        }
        _ => command.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ReadAction, reading, without_shell};

    #[test]
    fn the_shell_around_a_command_is_taken_off() {
        for (command, script) in [
            ("/bin/bash -lc 'ls | wc -l'", "ls | wc -l"),
            ("bash -c 'echo hi'", "echo hi"),
            (
                "/bin/bash -lc \"printf 'name? '; read x; echo hello \"'$x; sleep 30'",
                "printf 'name? '; read x; echo hello $x; sleep 30",
            ),
            ("ls -la", "ls -la"),
            ("bash -c 'ls' && ls", "bash -c 'ls' && ls"),
            ("/bin/bash -lc 'never ends", "/bin/bash -lc 'never ends"),
            ("bash script.sh", "bash script.sh"),
            ("", ""),
        ] {
            assert_eq!(without_shell(command), script);
        }
    }

    #[test]
    fn commands_that_read() {
        let file = |path: &str| Some(ReadAction::File { path: path.into() });
        let list = |path: Option<&str>| Some(ReadAction::List { path: path.map(str::to_owned) });
        let search = |pattern: &str, path: Option<&str>| {
            Some(ReadAction::Search { pattern: pattern.into(), path: path.map(str::to_owned) })
        };
        for (script, expected) in [
            ("cat src/main.rs", file("src/main.rs")),
            ("cat -n 'a file.txt'", file("a file.txt")),
            ("cat a b", None),
            ("/bin/cat -- -odd", file("-odd")),
            ("head -n 20 a.rs", file("a.rs")),
            ("head -20 a.rs", file("a.rs")),
            ("tail -c 100 a.log 2>/dev/null", file("a.log")),
            ("tail -f a.log", None),
            ("sed -n '1,40p' a.rs", file("a.rs")),
            ("sed -n 5p a.rs", file("a.rs")),
            ("sed -i s/a/b/ a.rs", None),
            ("sed -n 'w out' a.rs", None),
            ("nl -ba a.rs | sed -n '10,20p'", file("a.rs")),
            ("cat a.rs | grep fn | head -5", file("a.rs")),
            ("cat a.rs | tee b.rs", None),
            ("cat a.rs > b.rs", None),
            ("cat a.rs 2> err", None),
            ("cat $HOME/.netrc", None),
            ("cat `which ls`", None),
            ("cat a.rs; rm a.rs", None),
            ("cat a.rs || true", None),
            // Reading is all it does, also in the background.
            ("cat a.rs &", file("a.rs")),
            ("cd src && cat lib.rs", file("src/lib.rs")),
            ("cd src && ls", list(Some("src"))),
            ("ls", list(None)),
            ("ls -la /tmp", list(Some("/tmp"))),
            ("ls | wc -l", list(None)),
            ("tree -L 2 src", list(Some("src"))),
            ("find . -name '*.rs'", search("*.rs", Some("."))),
            ("find src -type f", list(Some("src"))),
            ("find . -name '*.o' -delete", None),
            ("find . -exec rm {} +", None),
            ("grep -rn 'fn main' src", search("fn main", Some("src"))),
            ("grep -e one -r .", search("one", Some("."))),
            ("rg TODO", search("TODO", None)),
            ("rg -g '*.rs' -n TODO src 2>&1", search("TODO", Some("src"))),
            ("rg --files src", list(Some("src"))),
            ("git grep -n needle src", search("needle", Some("src"))),
            ("git ls-files src", list(Some("src"))),
            ("git show HEAD:src/a.rs", file("src/a.rs")),
            ("git show HEAD", None),
            ("fd -e rs weft src", search("weft", Some("src"))),
            ("bat 'a b.txt' | head", file("a b.txt")),
            ("cat a.rs | tr a b | sort | uniq -c", file("a.rs")),
            ("cat a.rs; cat b.rs", None),
            ("cat a.rs; pwd", None),
            ("sh -c 'cat a'", None),
            ("cat $(ls)", None),
            ("git status", None),
            ("sort -o b a", None),
            ("touch a", None),
            ("echo \"unfinished", None),
            ("", None),
        ] {
            assert_eq!(reading(script), expected, "{script}");
        }
    }
}
