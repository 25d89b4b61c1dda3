//! Git: options before the sub-command, and sub-commands whose meaning depends on the position of words.

use super::options::{self, Options, Order};
use super::word::Word;
use super::{Input, Reader};
use crate::policy::act::{Act, Kind, Location};
use crate::policy::glob;
use crate::policy::programs::Program;

/// Settings that change how things look, and nothing else.
const HARMLESS_SETTINGS: &[&str] = &[
    "user.name",
    "user.email",
    "color.*",
    "core.quotepath",
    "core.quotePath",
    "core.autocrlf",
    "core.abbrev",
    "advice.*",
    "commit.gpgsign",
    "tag.gpgsign",
    "init.defaultbranch",
    "init.defaultBranch",
    "log.*",
    "diff.renames",
    "diff.algorithm",
    "diff.context",
    "diff.noprefix",
    "merge.conflictstyle",
    "merge.conflictStyle",
    "safe.directory",
    "pull.rebase",
    "pull.ff",
    "fetch.prune",
    "gc.auto",
    "column.ui",
    "status.*",
];

impl Reader<'_> {
    pub(super) fn git(&mut self, program: &Program, words: &[Word], input: &Input, acts: &mut Vec<Act>) {
        let options = options::read(words, program, Order::UpToOperand);
        self.options(program, &options, acts);
        let bases = self.scope.bases.clone();
        for given in &options.given {
            let Some(value) = given.value.clone() else { continue };
            match given.name.as_str() {
                "-c" | "--config-env" => self.git_setting(&value, acts),
                "-C" => {
                    self.settings_of(&value, acts);
                    self.cd(&[value], acts);
                    self.scope.bases.truncate(1);
                }
                "--git-dir" | "--work-tree" => {
                    self.settings_of(&value, acts);
                    self.touch(Kind::Read, &[value], true, acts);
                }
                _ => {}
            }
        }
        if options.doubtful {
            acts.push(Act::because(Kind::Opaque, "which command of git runs is hidden"));
        }
        if let Some((command, rest)) = options.operands.split_first() {
            self.git_command(program, command, rest, input, acts);
        }
        self.scope.bases = bases;
    }

    /// A repository's own settings name programs that run, also when it is only looked at. Those of the project are the project's.
    fn settings_of(&mut self, directory: &Word, acts: &mut Vec<Act>) {
        for place in self.places(directory) {
            if place.location != Location::Inside {
                let why = "settings of another repository may run programs".to_owned();
                acts.push(Act { why: Some(why), ..Act::at(Kind::Run, place) });
            }
        }
    }

    fn git_setting(&mut self, setting: &Word, acts: &mut Vec<Act>) {
        let (name, value) = setting.text.split_once('=').unwrap_or((&setting.text, ""));
        let harmless = HARMLESS_SETTINGS.iter().any(|known| glob::text_matches(known, name));
        let off = matches!(value, "" | "false" | "0" | "cat" | "true") && !name.starts_with("alias.");
        if setting.is_known() && (harmless || off) {
            return;
        }
        acts.push(Act::because(Kind::Opaque, format!("the setting {name} may run programs")));
        let code = Word::plain(value.trim_start_matches('!'));
        self.code("git -c", &code, acts);
    }

    fn git_command(&mut self, program: &Program, command: &Word, rest: &[Word], input: &Input, acts: &mut Vec<Act>) {
        if !command.is_known() || command.hidden {
            acts.push(Act::because(Kind::Opaque, "which command of git runs is hidden"));
        }
        let Some(sub) = program.sub.iter().find(|sub| sub.names.contains(&command.text)) else {
            acts.push(Act::because(Kind::Run, format!("`git {}` is not known; it may be an alias", command.text)));
            return;
        };
        if sub.special.is_some() || !sub.sub.is_empty() {
            return self.sub_command("git", program, &[std::slice::from_ref(command), rest].concat(), input, acts);
        }
        let options = options::read(rest, sub, Order::Mixed);
        self.by_table(sub, rest, input, acts);
        self.by_position(&command.text, &options, rest, acts);
    }

    /// Where words that are no options make the difference.
    fn by_position(&mut self, command: &str, options: &Options, rest: &[Word], acts: &mut Vec<Act>) {
        let operands: Vec<&str> = options.operands.iter().map(|word| word.text.as_str()).collect();
        let hidden = options.operands.iter().any(|word| !word.is_known());
        let dashes = rest.iter().position(|word| word.text == "--");
        let everything = |text: &&str| matches!(*text, "." | "./" | "*" | ":/" | ":" | ".." | "-A");
        match command {
            "push" => {
                if operands.iter().any(|refspec| refspec.starts_with('+') || refspec.starts_with(':')) {
                    acts.push(Act::because(Kind::VcsForce, "a refspec overwrites or removes"));
                }
                if hidden {
                    acts.push(Act::because(Kind::Opaque, "what is pushed is hidden"));
                }
                self.address(operands.first().copied(), acts);
            }
            "fetch" | "pull" | "ls-remote" => self.address(operands.first().copied(), acts),
            "checkout" | "restore" if operands.iter().any(everything) && !options.has_any(&["--staged", "-S"]) => {
                acts.push(Act::because(Kind::VcsDiscard, "what was not committed is lost"));
            }
            "checkout" => {
                if let Some(at) = dashes {
                    let files = rest.get(at + 1..).unwrap_or_default().to_vec();
                    self.touch(Kind::Write, &files, false, acts);
                }
            }
            "restore" if !options.has_any(&["--staged", "-S"]) => {
                self.touch(Kind::Write, &options.operands, false, acts);
            }
            "reset" => {
                let is_commit = |text: &&str| {
                    let hash = text.len() >= 7 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                    hash || text.contains(['~', '^', '@'])
                        || text.starts_with("origin/")
                        || text.starts_with("upstream/")
                };
                let before_dashes = operands.first().filter(|_| dashes != Some(0));
                if before_dashes.is_some_and(is_commit) || hidden {
                    acts.push(Act::because(Kind::VcsRewrite, "commits are taken back"));
                }
            }
            "init" => self.touch(Kind::Write, &options.operands, true, acts),
            "rm" => self.touch(Kind::Delete, &options.operands, true, acts),
            "mv" => self.touch(Kind::Write, &options.operands, false, acts),
            "clone" => {
                for word in options.operands.iter().take(1) {
                    acts.push(Act { host: Some(super::apply::host_of(&word.text)), ..Act::of(Kind::Network) });
                    self.address(Some(&word.text), acts);
                }
                let target: Vec<Word> = options.operands.get(1..2).unwrap_or_default().to_vec();
                self.touch(Kind::Write, &target, true, acts);
            }
            _ => {}
        }
    }

    /// Another repository than one that has a name here.
    fn address(&mut self, remote: Option<&str>, acts: &mut Vec<Act>) {
        let Some(remote) = remote else { return };
        if let Some((_, code)) = remote.split_once("ext::") {
            let code = Word::plain(code);
            acts.push(Act::because(Kind::Opaque, "the address runs a program"));
            self.code("git ext::", &code, acts);
        } else if remote.contains(':') && (remote.contains("//") || remote.contains('@')) {
            acts.push(Act { host: Some(super::apply::host_of(remote)), ..Act::of(Kind::Network) });
        } else if remote.starts_with(['/', '.', '~']) {
            acts.push(Act::because(Kind::Network, "another repository"));
        }
    }
}
