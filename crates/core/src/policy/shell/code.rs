//! Looks for destructive commands in code of other languages, and in text that could not be parsed.

use super::options::{self, Order};
use super::word::Word;
use super::{Input, Reader};
use crate::policy::act::{Act, Command, Kind, Location};
use crate::policy::programs::{self, Program};

/// Programs that destroy. Their names are looked for in code that cannot be read.
const DESTRUCTIVE_PROGRAMS: &[&str] = &[
    "rm",
    "rmdir",
    "dd",
    "mkfs",
    "wipefs",
    "shred",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "init",
    "telinit",
    "systemctl",
    "kill",
    "killall",
    "chmod",
    "chown",
    "mv",
    "find",
    "blkdiscard",
    "sgdisk",
    "parted",
    "fdisk",
    "rsync",
    "truncate",
    "unlink",
    "srm",
    "rmtree",
];
/// Guesses at one call, and the words of each. What is guessed is opaque already.
const MAX_GUESSES: usize = 64;
/// Guesses inside guesses.
const MAX_GUESS_DEPTH: usize = 2;
const MAX_GUESS_WORDS: usize = 10;

impl Reader<'_> {
    /// Looks for destruction in a text that is not understood. What it finds is only ever denied, never allowed.
    pub(super) fn scan_for_destruction(&mut self, text: &str) {
        if text.is_empty() || self.exceeded.is_some() {
            return;
        }
        let separators = |c: char| c.is_whitespace() || "'\"`()[]{},;|&<>!\\".contains(c);
        let tokens: Vec<&str> = text.split(separators).filter(|token| !token.is_empty()).collect();
        for (at, token) in tokens.iter().enumerate() {
            let name = programs::name_of(token.rsplit('=').next().unwrap_or(token));
            let is_destroyer = DESTRUCTIVE_PROGRAMS.contains(&name) || name.starts_with("mkfs.");
            // `shutil.rmtree("/")`
            let is_call = name.ends_with(".rmtree")
                || name.ends_with("rmSync")
                || name.ends_with("rm_rf")
                || name.ends_with("remove_tree");
            if !is_destroyer && !is_call {
                continue;
            }
            if self.guesses > MAX_GUESSES || self.step().is_none() {
                return;
            }
            let mut words: Vec<Word> =
                tokens.iter().skip(at).take(MAX_GUESS_WORDS).map(|token| self.bare(token)).collect();
            // `exec=rm` is about `rm`.
            if let Some(first) = words.first_mut().filter(|first| first.text.contains('=')) {
                name.clone_into(&mut first.text);
            }
            if is_call {
                words.truncate(2);
                words.splice(0..1, [Word::plain("rm"), Word::plain("-rf")]);
            }
            self.guess(|reader| reader.run(&words, &Input::default()));
        }
        if is_fork_bomb(text) {
            self.note(Act::because(Kind::ForkBomb, "a function starts itself again and again"));
        }
    }

    /// The same in the words of a program that may run them.
    pub(super) fn scan_words(&mut self, words: &[Word]) {
        let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        self.scan_for_destruction(&text.join(" "));
    }

    /// Where the grammar has lost its way, a line may still say what it does.
    pub(super) fn parse_line_by_line(&mut self, text: &str) {
        // The grammar takes two pairs of backticks for one.
        if text.contains('`') {
            let other = without_backticks(text);
            self.guess(|reader| reader.script(&other, &Input::default()));
        }
        if text.contains('\n') {
            for line in text.lines().filter(|line| !line.trim().is_empty()).take(MAX_GUESSES) {
                self.guess(|reader| reader.script(line, &Input::default()));
            }
        }
    }

    /// A word as it stands in foreign text.
    fn bare(&mut self, token: &str) -> Word {
        let home = self.lookup("HOME").into_iter().next().unwrap_or_default().text;
        let text = match token.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
            _ => token.replace("$HOME", &home),
        };
        Word { glob: text.contains(['*', '?']), ..Word::plain(text) }
    }

    /// Reads what is only guessed, and keeps of it what destroys something.
    fn guess(&mut self, work: impl FnOnce(&mut Self) -> Option<String>) {
        self.guesses += 1;
        if self.guesses > MAX_GUESSES || self.guessing >= MAX_GUESS_DEPTH {
            return;
        }
        self.guessing += 1;
        let kept = std::mem::take(&mut self.pending);
        let scope = self.scope.clone();
        let first = self.commands.len();
        self.via("text", work);
        self.guessing -= 1;
        let found = self.commands.split_off(first.min(self.commands.len()));
        self.commands.extend(found.into_iter().filter(destroys));
        self.scope = scope;
        self.pending = kept;
    }

    pub(super) fn sed(
        &mut self,
        program: &Program,
        words: &[Word],
        input: &Input,
        acts: &mut Vec<Act>,
    ) -> Option<String> {
        let options = options::read(words, program, Order::Mixed);
        self.options(program, &options, acts);
        if options.doubtful {
            acts.push(Act::because(Kind::Opaque, "a word that is not known may be an option"));
        }
        let given: Vec<Word> = options
            .given
            .iter()
            .filter(|given| matches!(given.name.as_str(), "-e" | "--expression"))
            .filter_map(|given| given.value.clone())
            .collect();
        let from_file = options.has_any(&["-f", "--file"]);
        let (scripts, files) = match options.operands.split_first() {
            Some((script, files)) if given.is_empty() && !from_file => (vec![script.clone()], files),
            _ => (given, options.operands.as_slice()),
        };
        for script in &scripts {
            // What fills a gap could be a command.
            if !script.is_known() && script.text.is_empty() {
                acts.push(Act::because(Kind::Opaque, "the script of sed is hidden"));
            }
            match sed_script(&script.text) {
                Some(found) if script.is_known() => {
                    for (kind, file) in found {
                        self.touch(kind, &[Word::plain(file)], false, acts);
                    }
                }
                _ => {
                    acts.push(Act::because(Kind::Opaque, "the script of sed may run or write something"));
                    self.scan_for_destruction(&script.text.clone());
                }
            }
        }
        let in_place = options
            .given
            .iter()
            .any(|given| given.name == "-i" || given.name.starts_with("--in-place") || given.name == "-I");
        self.touch(if in_place { Kind::Write } else { Kind::Read }, files, false, acts);
        if acts.is_empty() {
            acts.push(Act::of(Kind::Compute));
        }
        // A script that only takes things away can be passed over; what it is given may be code later.
        input.text.clone().filter(|_| files.is_empty())
    }

    pub(super) fn awk(&mut self, program: &Program, words: &[Word], acts: &mut Vec<Act>) {
        let options = options::read(words, program, Order::UpToOperand);
        self.options(program, &options, acts);
        if options.doubtful {
            acts.push(Act::because(Kind::Opaque, "a word that is not known may be an option"));
        }
        let mut files = options.operands.as_slice();
        if let Some(file) = options.value_of(&["-f", "--file"]).cloned() {
            self.script_file(&file, None, acts);
        } else if let Some((code, rest)) = files.split_first() {
            files = rest;
            if !code.is_known() || !is_plain_awk(&code.text) {
                acts.push(Act::because(Kind::Opaque, "the program of awk may run or write something"));
                self.scan_for_destruction(&code.text.clone());
            }
        }
        let files: Vec<Word> =
            files.iter().filter(|word| !word.text.contains('=') || word.text.contains('/')).cloned().collect();
        self.touch(Kind::Read, &files, false, acts);
        if acts.is_empty() {
            acts.push(Act::of(Kind::Compute));
        }
    }
}

/// A script with `$(` and `)` in place of backticks, wherever they stand.
fn without_backticks(text: &str) -> String {
    let mut other = String::new();
    let mut open = false;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some(next @ ('`' | '\\' | '$')) if open => other.push(next),
                Some(next) => other.extend(['\\', next]),
                None => other.push('\\'),
            },
            '`' => {
                other.push_str(if open { "\n)" } else { "$(" });
                open = !open;
            }
            c => other.push(c),
        }
    }
    other
}

fn destroys(command: &Command) -> bool {
    let bad = |act: &Act| match act.kind {
        Kind::Delete | Kind::Permissions | Kind::Write => act
            .place
            .as_ref()
            .is_some_and(|place| act.tree && place.location != Location::Inside || place.path.starts_with("/dev/")),
        Kind::Format | Kind::Power | Kind::KillAll | Kind::ForkBomb => true,
        _ => false,
    };
    command.acts.iter().any(bad)
}

fn is_fork_bomb(text: &str) -> bool {
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let Some((name, rest)) = bare.split_once("(){") else { return false };
    let name = name.rsplit([';', '|', '&', '"', '\'', '(']).next().unwrap_or_default();
    !name.is_empty() && rest.starts_with(&format!("{name}|{name}&"))
}

/// The files that a script of sed touches. Nothing if it runs something, or cannot be read.
fn sed_script(script: &str) -> Option<Vec<(Kind, String)>> {
    let mut found = Vec::new();
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '}']);
        rest = address(rest)?.trim_start();
        if let Some(after) = rest.strip_prefix(',') {
            rest = address(after.trim_start())?.trim_start();
        }
        rest = rest.trim_start_matches(['!', ' ', '\t']);
        let Some(command) = rest.chars().next() else { return Some(found) };
        rest = rest.get(command.len_utf8()..)?;
        let line_end = rest.find('\n').unwrap_or(rest.len());
        match command {
            'p' | 'd' | 'D' | 'P' | 'n' | 'N' | 'h' | 'H' | 'g' | 'G' | 'x' | '=' | 'z' | 'F' | '{' | '}' | ';' => {}
            'q' | 'Q' | 'l' | 'L' => {
                rest = rest.trim_start_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
            }
            'a' | 'i' | 'c' => {
                // A text may go on in the next line.
                let text = rest.get(..line_end)?;
                rest = rest.get(line_end..)?;
                let mut goes_on = text.ends_with('\\');
                while goes_on {
                    let after = rest.strip_prefix('\n')?;
                    let end = after.find('\n').unwrap_or(after.len());
                    goes_on = after.get(..end)?.ends_with('\\');
                    rest = after.get(end..)?;
                }
            }
            'b' | 't' | 'T' | ':' => rest = rest.trim_start_matches(|c: char| c != ';' && c != '\n' && c != '}'),
            'r' | 'R' | 'w' | 'W' => {
                let kind = if command.eq_ignore_ascii_case(&'w') { Kind::Write } else { Kind::Read };
                found.push((kind, rest.get(..line_end)?.trim().to_owned()));
                rest = rest.get(line_end..)?;
            }
            's' | 'y' => {
                let mark = rest.chars().next()?;
                if mark == '\\' || mark == '\n' {
                    return None;
                }
                rest = rest.get(mark.len_utf8()..)?;
                rest = after_mark(rest, mark)?;
                rest = after_mark(rest, mark)?;
                let flags: &str = rest.split(['\n', ';', '}', ' ']).next()?;
                if flags.contains('e') || flags.contains('w') {
                    return None;
                }
                rest = rest.get(flags.len()..)?;
            }
            _ => return None,
        }
    }
}

fn address(text: &str) -> Option<&str> {
    let after = match text.chars().next() {
        Some('0'..='9' | '$' | '+' | '~') => text.trim_start_matches(|c: char| c.is_ascii_digit() || "$~+".contains(c)),
        Some('/') => after_mark(text.get(1..)?, '/')?,
        Some('\\') => {
            let mark = text.chars().nth(1)?;
            after_mark(text.get(1 + mark.len_utf8()..)?, mark)?
        }
        _ => text,
    };
    Some(after.trim_start_matches(['I', 'M']))
}

/// What follows the next mark that is not escaped and not in brackets.
fn after_mark(text: &str, mark: char) -> Option<&str> {
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            c if c == mark => return text.get(at + c.len_utf8()..),
            _ => {}
        }
    }
    None
}

/// Whether a program of awk neither runs nor writes anything. Strings and patterns are passed over.
fn is_plain_awk(code: &str) -> bool {
    let mut bare = String::new();
    let mut rest = code.chars().peekable();
    while let Some(c) = rest.next() {
        let before = bare.trim_end().chars().next_back();
        match c {
            '"' => {
                bare.push_str(" S ");
                while let Some(c) = rest.next() {
                    match c {
                        '\\' => drop(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '/' if before.is_none_or(|c| "(,{};!~&|\n?:".contains(c)) => {
                bare.push_str(" R ");
                while let Some(c) = rest.next() {
                    match c {
                        '\\' => drop(rest.next()),
                        '/' => break,
                        _ => {}
                    }
                }
            }
            '#' => while rest.next_if(|c| *c != '\n').is_some() {},
            c => bare.push(c),
        }
    }
    let words = || bare.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let writes = bare.split([';', '}', '\n', '{']).any(|statement| {
        let statement = statement.trim();
        statement.split_once("print").is_some_and(|(_, rest)| outside_parentheses(rest).contains('>'))
    });
    !words().any(|word| matches!(word, "system" | "getline" | "close" | "fflush"))
        && !bare.contains('@')
        && !bare.replace("||", "").contains('|')
        && !writes
}

fn outside_parentheses(text: &str) -> String {
    let mut open = 0_u32;
    let mut outside = String::new();
    for c in text.chars() {
        match c {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            c if open == 0 => outside.push(c),
            _ => {}
        }
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_sed() {
        for plain in [
            "1,40p",
            "s/a/b/g",
            "$d",
            "/x/,/y/p",
            "s|a|b|;s/c/d/",
            "2q",
            "/a/{p;d}",
            "1~2d",
            "/a/I!d",
            "s/a\\/b/c/",
            "y/abc/def/",
            "a hello",
            "\\,x,p",
        ] {
            assert_eq!(sed_script(plain), Some(Vec::new()), "{plain}");
        }
        for bad in ["e rm -rf x", "1e ls", "s/a/b/e", "s/a/rm/ge", "s/a/b/w out", "s/a/b", "\u{1}", "/x/e", "s/a/b/;e"]
        {
            assert_eq!(sed_script(bad), None, "{bad}");
        }
        assert_eq!(sed_script("/x/w out.txt"), Some(vec![(Kind::Write, "out.txt".to_owned())]));
    }

    #[test]
    fn programs_of_awk() {
        for plain in [
            "{print $1}",
            "/a|b/ {print}",
            "$3 > 5 {print $1}",
            "{ if ($1 > 2 || $2 < 3) print \"a | b > c\" }",
            "BEGIN{FS=\":\"} {s+=$1} END{print s/2}",
            "NR==1",
            "{print ($1 > 2)}",
        ] {
            assert!(is_plain_awk(plain), "{plain}");
        }
        for bad in [
            "{system(\"rm\")}",
            "{print > \"f\"}",
            "{print | \"sh\"}",
            "BEGIN{while((\"ls\"|getline x)>0)print x}",
            "{printf \"%s\", $1 >> \"f\"}",
            "@load \"x\"",
            "{\"id\" | getline}",
        ] {
            assert!(!is_plain_awk(bad), "{bad}");
        }
    }
}
