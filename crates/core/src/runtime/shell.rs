//! What a shell command reads, where that can be known without running it. Only plain words prove something: whatever a shell would expand,
//! redirect or run in the background proves nothing. This is for showing, never for deciding what may run.

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
}

/// What stays of `/bin/bash -lc 'ls -la'` without the shell around it.
pub fn without_shell(command: &str) -> String {
    let script = split(command).and_then(|words| {
        let words: Vec<&str> = words.iter().map(Word::as_str).collect();
        match words.as_slice() {
            [shell, flags, script] if is_shell(shell) && flags.starts_with('-') && flags.ends_with('c') => {
                Some((*script).to_owned())
            }
            _ => None,
        }
    });
    script.unwrap_or_else(|| command.to_owned())
}

/// What a script reads, if reading is all it does.
pub fn read_action(script: &str) -> Option<ReadAction> {
    let mut steps = sequence(&split(script)?)?;
    let mut directory = None;
    // `cd there && cat file` reads `there/file`.
    if let Some([first, _]) = steps.first_chunk::<2>()
        && let Some([program, place]) = simple(first).as_deref()
        && program == "cd"
    {
        directory = Some(place.clone());
        steps.remove(0);
    }
    let [pipeline] = steps.as_slice() else { return None };
    let mut stages = pipeline.split(|word| *word == Word::Operator("|"));
    let found = classify(&plain(stages.next()?)?)?;
    stages.all(|stage| plain(stage).is_some_and(|words| is_filter(&words))).then_some(())?;
    Some(match directory {
        Some(directory) => found.inside(&directory),
        None => found,
    })
}

impl ReadAction {
    pub(crate) fn inside(self, directory: &str) -> Self {
        let join = |path: String| if path.starts_with('/') { path } else { format!("{directory}/{path}") };
        let place = |path: Option<String>| Some(path.map_or_else(|| directory.to_owned(), join));
        match self {
            ReadAction::File { path } => ReadAction::File { path: join(path) },
            ReadAction::List { path } => ReadAction::List { path: place(path) },
            ReadAction::Search { pattern, path } => ReadAction::Search { pattern, path: place(path) },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Text(String),
    Operator(&'static str),
}

impl Word {
    fn as_str(&self) -> &str {
        match self {
            Word::Text(text) => text,
            Word::Operator(operator) => operator,
        }
    }
}

/// Splits as a shell would, without expanding anything. Nothing when a shell would expand, or does not end.
fn split(script: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = script.trim().chars().peekable();
    while let Some(c) = rest.next() {
        let operator = match c {
            ' ' | '\t' => Some(None),
            '|' if rest.next_if_eq(&'|').is_some() => Some(Some("||")),
            '|' => Some(Some("|")),
            '&' if rest.next_if_eq(&'&').is_some() => Some(Some("&&")),
            ';' => Some(Some(";")),
            '>' if matches!(word.as_deref(), Some("1" | "2")) => {
                // Only where the output vanishes or goes with the rest is it still plain.
                let target: String = std::iter::from_fn(|| rest.next_if(|c| !c.is_whitespace() && *c != '|')).collect();
                if target != "&1" && target != "/dev/null" {
                    return None;
                }
                word = None;
                continue;
            }
            '&' | '<' | '>' | '(' | ')' | '{' | '}' | '\n' | '`' | '!' | '#' => return None,
            _ => None,
        };
        if let Some(operator) = operator {
            words.extend(word.take().map(Word::Text));
            words.extend(operator.map(Word::Operator));
            continue;
        }
        let word = word.get_or_insert_default();
        match c {
            '\'' => quoted(&mut rest, word)?,
            '"' => double_quoted(&mut rest, word)?,
            '\\' => word.push(rest.next()?),
            '$' => return None,
            c => word.push(c),
        }
    }
    words.extend(word.map(Word::Text));
    Some(words)
}

fn quoted(rest: &mut impl Iterator<Item = char>, word: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            '\'' => return Some(()),
            c => word.push(c),
        }
    }
}

fn double_quoted(rest: &mut impl Iterator<Item = char>, word: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            '"' => return Some(()),
            '\\' => match rest.next()? {
                c @ ('"' | '\\' | '$' | '`') => word.push(c),
                c => word.extend(['\\', c]),
            },
            '$' | '`' => return None,
            c => word.push(c),
        }
    }
}

/// The commands between `&&` and `;`. Nothing where one runs only if another failed.
fn sequence(words: &[Word]) -> Option<Vec<Vec<Word>>> {
    if words.contains(&Word::Operator("||")) {
        return None;
    }
    let steps = words.split(|word| matches!(word, Word::Operator("&&" | ";")));
    Some(steps.filter(|step| !step.is_empty()).map(<[Word]>::to_vec).collect())
}

fn simple(step: &[Word]) -> Option<Vec<String>> {
    (!step.contains(&Word::Operator("|"))).then(|| plain(step))?
}

fn plain(words: &[Word]) -> Option<Vec<String>> {
    let text = |word: &Word| match word {
        Word::Text(text) => Some(text.clone()),
        Word::Operator(_) => None,
    };
    words.iter().map(text).collect()
}

fn is_shell(program: &str) -> bool {
    matches!(name_of(program), "sh" | "bash" | "zsh" | "dash" | "ash")
}

fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Programs that only pass on, shorten or count what they are given.
pub(crate) fn is_filter(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let inputs = operands(arguments, &["-n", "-c", "-k", "-t", "-d", "-f", "-e", "-m", "-A", "-B", "-C"]);
    match name_of(program) {
        "wc" | "cut" | "tr" | "nl" | "cat" | "less" | "more" | "column" | "rev" | "tac" => true,
        "head" | "tail" => inputs.is_empty(),
        "sort" | "uniq" => inputs.is_empty() && !arguments.iter().any(|argument| argument.starts_with("-o")),
        "grep" | "rg" => true,
        "sed" => prints_only(arguments).is_some(),
        _ => false,
    }
}

pub(crate) fn classify(words: &[String]) -> Option<ReadAction> {
    let (program, arguments) = words.split_first()?;
    let file = |flags_with_value: &[&str]| match operands(arguments, flags_with_value).as_slice() {
        [path] => Some(ReadAction::File { path: path.clone() }),
        // Which of several is meant, nobody can say.
        _ => None,
    };
    match name_of(program) {
        "cat" | "bat" | "less" | "more" | "nl" | "tac" | "wc" | "stat" | "file" => file(&[]),
        "head" | "tail" if !arguments.iter().any(|argument| argument == "-f" || argument == "-F") => {
            file(&["-n", "-c"])
        }
        "sed" => match prints_only(arguments)?.as_slice() {
            [path] => Some(ReadAction::File { path: path.clone() }),
            _ => None,
        },
        "ls" | "tree" | "du" => list(&operands(arguments, &["-L", "-I", "-P"])),
        "find" | "fd" => find(arguments),
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" => search(name_of(program), arguments),
        "git" => match arguments.split_first() {
            Some((command, rest)) if command == "grep" => search("grep", rest),
            Some((command, rest)) if command == "ls-files" => list(&operands(rest, &[])),
            Some((command, rest)) if command == "show" => match operands(rest, &[]).as_slice() {
                [object] => object.split_once(':').map(|(_, path)| ReadAction::File { path: path.to_owned() }),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The arguments that are not flags. `with_value` are the flags that take the next word.
fn operands(arguments: &[String], with_value: &[&str]) -> Vec<String> {
    let mut operands = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--" => operands.extend(rest.by_ref().cloned()),
            flag if with_value.contains(&flag) => drop(rest.next()),
            flag if flag.len() > 1 && flag.starts_with('-') => {}
            _ => operands.push(argument.clone()),
        }
    }
    operands
}

fn list(places: &[String]) -> Option<ReadAction> {
    match places {
        [] => Some(ReadAction::List { path: None }),
        [path] => Some(ReadAction::List { path: Some(path.clone()) }),
        _ => None,
    }
}

/// `find` that neither runs nor removes nor writes.
fn find(arguments: &[String]) -> Option<ReadAction> {
    let acts = |argument: &String| {
        ["-exec", "-ok", "-delete", "-fprint", "-fls", "-x"].iter().any(|act| argument.starts_with(act))
    };
    if arguments.iter().any(acts) {
        return None;
    }
    let place = arguments.first().filter(|argument| !argument.starts_with(['-', '(', '!'])).cloned();
    let named = arguments.iter().position(|argument| matches!(argument.as_str(), "-name" | "-iname" | "-path"));
    match named.and_then(|at| arguments.get(at + 1)) {
        Some(pattern) => Some(ReadAction::Search { pattern: pattern.clone(), path: place }),
        None => Some(ReadAction::List { path: place }),
    }
}

fn search(program: &str, arguments: &[String]) -> Option<ReadAction> {
    if arguments.iter().any(|argument| argument.starts_with("--pre") || argument.starts_with("--replace")) {
        return None;
    }
    let with_value =
        ["-A", "-B", "-C", "-m", "-g", "-t", "-T", "--glob", "--type", "--include", "--exclude", "-M", "-j"];
    if program == "rg" && arguments.iter().any(|argument| argument == "--files") {
        return list(&operands(arguments, &with_value));
    }
    let expression = arguments.iter().position(|argument| matches!(argument.as_str(), "-e" | "--regexp"));
    let mut places = operands(arguments, &[with_value.as_slice(), &["-e", "--regexp"]].concat());
    let pattern = match expression.and_then(|at| arguments.get(at + 1)) {
        Some(pattern) => pattern.clone(),
        None if places.is_empty() => return None,
        None => places.remove(0),
    };
    match places.as_slice() {
        [] => Some(ReadAction::Search { pattern, path: None }),
        [path] => Some(ReadAction::Search { pattern, path: Some(path.clone()) }),
        _ => Some(ReadAction::Search { pattern, path: None }),
    }
}

/// `sed -n` that prints lines by number, with the files it reads. Nothing for any other `sed`.
fn prints_only(arguments: &[String]) -> Option<Vec<String>> {
    let quiet = arguments.iter().any(|argument| argument == "-n" || argument == "--quiet");
    let mut operands = operands(arguments, &[]).into_iter();
    let script = operands.next()?;
    let lines = script.strip_suffix('p')?;
    let by_number = !lines.is_empty() && lines.chars().all(|c| c.is_ascii_digit() || ",$;p ".contains(c));
    (quiet && by_number).then(|| operands.collect())
}

#[cfg(test)]
mod tests {
    use super::{ReadAction, read_action, without_shell};

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
            ("cat a.rs &", None),
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
            ("git grep needle", search("needle", None)),
            ("git status", None),
            ("sort -o b a", None),
            ("touch a", None),
            ("echo \"unfinished", None),
            ("", None),
        ] {
            assert_eq!(read_action(script), expected, "{script}");
        }
    }
}
