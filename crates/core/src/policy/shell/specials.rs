//! Programs that need code of their own because the table cannot describe them.

use super::apply::host_of;
use super::options::{self, Order};
use super::word::{Doubt, Word};
use super::{Input, Reader};
use crate::policy::act::{Act, Kind};
use crate::policy::programs::{self, Program, Special};

/// What makes a search pick some files instead of all.
const FIND_FILTERS: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-empty",
    "-newer",
    "-mtime",
    "-mmin",
    "-size",
    "-user",
    "-inum",
];

impl Reader<'_> {
    pub(super) fn special(
        &mut self,
        special: Special,
        name: &str,
        program: &Program,
        words: &[Word],
        input: &Input,
        acts: &mut Vec<Act>,
    ) -> Option<String> {
        match special {
            Special::Shell => self.shell(program, words, input, acts),
            Special::Interpreter => self.interpreter(name, program, words, input, acts),
            Special::Env => self.env(program, words, input, acts),
            Special::Xargs => self.xargs(program, words, input, acts),
            Special::Find => self.find(words, input, acts),
            Special::Git => self.git(program, words, input, acts),
            Special::Sed => return self.sed(program, words, input, acts),
            Special::Awk => self.awk(program, words, acts),
            Special::Dd => self.dd(words, acts),
            Special::Tar => self.tar(program, words, acts),
            Special::Archive => self.archive(program, words, acts),
            Special::Kill => kill(words, acts),
            Special::Ssh => self.ssh(program, words, acts),
            Special::Rsync => self.rsync(program, words, acts),
            Special::Curl => self.curl(name, program, words, acts),
            Special::Make => self.make(program, words, input, acts),
            Special::PackageManager => self.package_manager(name, program, words, input, acts),
            Special::Printf => return self.printf(words),
            Special::Cd => self.cd(words, acts),
            Special::Eval => self.eval(words, input, acts),
            Special::Source => self.source(words, acts),
            Special::Exec => self.exec(words, input, acts),
            Special::Trap => self.trap(words, acts),
            Special::Alias => self.alias(words, acts),
            Special::ReadInto => self.read_into(name, words, input, acts),
            Special::Set => self.set(words, acts),
            Special::Export => self.export(words, acts),
            Special::Unset => self.unset(words, acts),
            Special::Unknown => {
                acts.push(Act::because(Kind::Opaque, format!("`{name}` changes what later commands mean")));
            }
        }
        None
    }

    fn find(&mut self, words: &[Word], input: &Input, acts: &mut Vec<Act>) {
        let is_expression = |word: &Word| word.text.starts_with(['-', '(', '!']) || word.text == ",";
        let roots_end =
            words.iter().position(|word| is_expression(word) && !matches!(word.text.as_str(), "-H" | "-L" | "-P"));
        let (roots, expression) = words.split_at_checked(roots_end.unwrap_or(words.len())).unwrap_or((words, &[]));
        let roots: Vec<Word> = roots.iter().filter(|word| !word.text.starts_with('-')).cloned().collect();
        let roots = if roots.is_empty() { vec![Word::plain(".")] } else { roots };
        if words.iter().any(|word| word.lead && !word.is_known()) {
            acts.push(Act::because(Kind::Opaque, "a word that is not known may be an option"));
        }
        self.touch(Kind::Read, &roots, false, acts);
        let picks = picks_some(expression);
        let named = expression.iter().position(|word| matches!(word.text.as_str(), "-name" | "-iname"));
        let named =
            named.and_then(|at| expression.get(at + 1)).filter(|word| word.is_known()).map(|word| word.text.clone());
        let found = picked(&roots, picks.then(|| named.unwrap_or_default()));
        let mut rest = expression.iter();
        while let Some(word) = rest.next() {
            match word.text.as_str() {
                "-delete" => self.touch(Kind::Delete, &found, true, acts),
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let command: Vec<Word> =
                        rest.by_ref().take_while(|word| !matches!(word.text.as_str(), ";" | "+")).cloned().collect();
                    let program =
                        command.first().and_then(|word| programs::table().find(programs::name_of(&word.text)));
                    let takes_code = program.and_then(|program| program.special).is_some_and(|special| {
                        !matches!(special, Special::Sed | Special::Printf | Special::Archive | Special::Dd)
                    });
                    if takes_code && command.iter().any(|word| word.text.contains("{}")) {
                        acts.push(Act::because(Kind::Opaque, "names of files become code"));
                    }
                    let command = fill(&command, "{}", &found);
                    self.nested("find".to_owned(), &command, input, acts);
                }
                "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                    let file: Vec<Word> = rest.next().cloned().into_iter().collect();
                    self.touch(Kind::Write, &file, false, acts);
                }
                "-files0-from" => acts.push(Act::because(Kind::Opaque, "where it looks is in a file")),
                _ => {}
            }
        }
    }

    fn xargs(&mut self, program: &Program, words: &[Word], input: &Input, acts: &mut Vec<Act>) {
        let options = options::read(words, program, Order::UpToOperand);
        let mut command = options.operands.clone();
        if options.doubtful {
            acts.push(Act::because(Kind::Opaque, "a word that is not known may be an option"));
        }
        if command.is_empty() {
            command.push(Word::plain("echo"));
        }
        let guess = input.text.clone().unwrap_or_default();
        // What stands before it in the pipe is judged itself.
        let doubt = if input.piped { Doubt::Derived } else { Doubt::Free };
        let given: Vec<Word> = if guess.trim().is_empty() {
            vec![Word::unknown(doubt, "")]
        } else {
            let plain = guess.replace(['\'', '"', '\0'], " ");
            plain.split_whitespace().take(32).map(|text| Word { many: false, ..Word::unknown(doubt, text) }).collect()
        };
        let given: Vec<Word> = given
            .into_iter()
            .map(|word| Word { lead: word.text.starts_with('-') || word.text.is_empty(), ..word })
            .collect();
        let mark = options.value_of(&["-I", "--replace"]).map(|word| word.text.clone());
        let mark = mark.or_else(|| options.has_any(&["-i"]).then(|| "{}".to_owned()));
        let command = match mark {
            Some(mark) if !mark.is_empty() => fill(&command, &mark, &given),
            _ => [command, given].concat(),
        };
        if let Some(files) = options.value_of(&["-a", "--arg-file"]) {
            let files = files.clone();
            self.touch(Kind::Read, &[files], false, acts);
        }
        // What it is given can be anything, also an option or a script.
        let first = command.first().map(|word| word.text.clone()).unwrap_or_default();
        let table = crate::policy::programs::table();
        let only_reads = table.find(crate::policy::programs::name_of(&first)).is_some_and(|program| {
            program.special.is_none()
                && program.code.is_empty()
                && program.opaque.is_empty()
                && program.writes.is_empty()
        });
        if !only_reads {
            acts.push(Act::because(Kind::Opaque, "what it is given decides what it does"));
        }
        self.nested("xargs".to_owned(), &command, &Input::default(), acts);
    }

    fn dd(&mut self, words: &[Word], acts: &mut Vec<Act>) {
        for word in words {
            let (kind, file) = match word.text.split_once('=') {
                Some(("of", _)) => (Kind::Write, word.without(3)),
                Some(("if", _)) => (Kind::Read, word.without(3)),
                _ if word.is_known() => continue,
                _ => (Kind::Write, word.clone()),
            };
            self.touch(kind, &[file], false, acts);
        }
        acts.push(Act::of(Kind::Compute));
    }

    fn tar(&mut self, program: &Program, words: &[Word], acts: &mut Vec<Act>) {
        // The oldest way to write options has no dash.
        let mut words = words.to_vec();
        if let Some(first) = words.first_mut()
            && !first.text.starts_with('-')
            && first.is_known()
        {
            first.text.insert(0, '-');
        }
        let options = options::read(&words, program, Order::Mixed);
        self.options(program, &options, acts);
        if options.doubtful {
            acts.push(Act::because(Kind::Opaque, "a word that is not known may be an option"));
        }
        let file = options.value_of(&["-f", "--file"]).cloned().unwrap_or_else(|| Word::plain("-"));
        let into = options.value_of(&["-C", "--directory"]).cloned().unwrap_or_else(|| Word::plain("."));
        let files: Vec<Word> = [file].into_iter().filter(|file| file.text != "-").collect();
        if options.has_any(&["-x", "--extract", "--get"]) {
            self.touch(Kind::Read, &files, false, acts);
            self.touch(Kind::Write, &[into], true, acts);
        } else if options.has_any(&["-t", "--list"]) {
            self.touch(Kind::Read, &files, false, acts);
        } else {
            self.touch(Kind::Write, &files, false, acts);
            self.touch(Kind::Read, &options.operands, true, acts);
        }
        if options.has_any(&["--remove-files"]) {
            self.touch(Kind::Delete, &options.operands, true, acts);
        }
    }

    /// `unzip`, `gunzip` and others that write beside what they read.
    fn archive(&mut self, program: &Program, words: &[Word], acts: &mut Vec<Act>) {
        let options = options::read(words, program, Order::Mixed);
        self.options(program, &options, acts);
        if options.has_any(&["-l", "--list", "-t", "--test", "-Z", "-c", "--stdout", "-p", "-v"]) {
            self.touch(Kind::Read, &options.operands, false, acts);
            return;
        }
        let first: Vec<Word> = options.operands.iter().take(1).cloned().collect();
        self.touch(Kind::Read, &first, false, acts);
        let into = options.value_of(&["-d"]).cloned();
        let targets = into.map_or_else(|| vec![Word::plain(".")], |into| vec![into]);
        self.touch(Kind::Write, &targets, true, acts);
        self.touch(Kind::Write, &options.operands, false, acts);
    }

    fn ssh(&mut self, program: &Program, words: &[Word], acts: &mut Vec<Act>) {
        let options = options::read(words, program, Order::UpToOperand);
        self.options(program, &options, acts);
        for word in options.values(&["-o".to_owned()], &[]).filter_map(|given| given.value.clone()).collect::<Vec<_>>()
        {
            let lower = word.text.to_lowercase();
            if lower.contains("command") {
                let code = word.text.split_once(['=', ' ']).map_or(0, |(name, _)| name.len() + 1);
                self.code("ssh -o", &word.without(code), acts);
                acts.push(Act::because(Kind::Opaque, "an option of ssh runs a program"));
            }
        }
        let Some((target, rest)) = options.operands.split_first() else { return };
        acts.push(Act { host: Some(host_of(&target.text)), ..Act::of(Kind::Remote) });
        // What is destroyed elsewhere is destroyed too.
        if !rest.is_empty() {
            let text: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
            self.code("ssh", &Word { hidden: true, ..Word::plain(text.join(" ")) }, acts);
        }
    }

    fn rsync(&mut self, program: &Program, words: &[Word], acts: &mut Vec<Act>) {
        let options = options::read(words, program, Order::Mixed);
        self.options(program, &options, acts);
        let is_remote = |word: &Word| word.text.split_once(':').is_some_and(|(host, _)| !host.contains('/'));
        let Some((target, sources)) = options.operands.split_last() else { return };
        for word in options.operands.iter().filter(|word| is_remote(word)) {
            acts.push(Act { host: Some(host_of(&word.text)), ..Act::of(Kind::Remote) });
        }
        let local: Vec<Word> = sources.iter().filter(|word| !is_remote(word)).cloned().collect();
        self.touch(Kind::Read, &local, true, acts);
        if !is_remote(target) {
            let removes = options.given.iter().any(|given| given.name.starts_with("--del"));
            self.touch(if removes { Kind::Delete } else { Kind::Write }, std::slice::from_ref(target), true, acts);
        }
        if options.has_any(&["--remove-source-files"]) {
            self.touch(Kind::Delete, &local, true, acts);
        }
    }

    fn curl(&mut self, name: &str, program: &Program, words: &[Word], acts: &mut Vec<Act>) {
        let options = options::read(words, program, Order::Mixed);
        self.options(program, &options, acts);
        if options.doubtful {
            acts.push(Act::because(Kind::Opaque, "a word that is not known may be an option"));
        }
        let url = options.value_of(&["--url"]).cloned();
        for address in options.operands.iter().chain(url.iter()) {
            let host = if address.is_known() { host_of(&address.text) } else { "?".to_owned() };
            if address.text.starts_with("file:") {
                let path = address.text.trim_start_matches("file:").trim_start_matches("//").to_owned();
                self.touch(Kind::Read, &[Word { text: format!("/{path}"), ..address.clone() }], false, acts);
            }
            acts.push(Act { host: Some(host), ..Act::of(Kind::Network) });
        }
        // Both can save under the name that the other side has.
        if options.has_any(&["-O", "--remote-name", "-J", "--remote-name-all"])
            || (name == "wget" && !options.has_any(&["-O", "--output-document", "--spider"]))
        {
            let saved: Vec<Word> = options
                .operands
                .iter()
                .map(|word| {
                    let file = word.text.split(['?', '#']).next().unwrap_or_default();
                    Word { text: crate::policy::programs::name_of(file).to_owned(), ..word.clone() }
                })
                .collect();
            self.touch(Kind::Write, &saved, false, acts);
        }
    }
}

/// Whether whatever a search does, it does to some files only. Each alternative counts on its own, and what is left out picks nothing.
fn picks_some(expression: &[Word]) -> bool {
    let does = |word: &Word| word.text == "-delete" || word.text.starts_with("-exec") || word.text.starts_with("-ok");
    let is_filter = |pair: &[Word]| match pair {
        [not, filter] => !matches!(not.text.as_str(), "!" | "-not") && FIND_FILTERS.contains(&filter.text.as_str()),
        _ => false,
    };
    let picks = |part: &[Word]| {
        part.first().is_some_and(|first| FIND_FILTERS.contains(&first.text.as_str())) || part.windows(2).any(is_filter)
    };
    let parts: Vec<&[Word]> = expression.split(|word| matches!(word.text.as_str(), "-o" | "-or" | ",")).collect();
    parts.iter().any(|part| picks(part)) && parts.iter().filter(|part| part.iter().any(does)).all(|part| picks(part))
}

/// What a search would find below its roots: all, or what has a name.
fn picked(roots: &[Word], name: Option<String>) -> Vec<Word> {
    let name = name.filter(|name| !name.is_empty()).map_or_else(|| "**".to_owned(), |name| format!("**/{name}"));
    let below =
        |word: &Word| Word { text: format!("{}/{name}", word.text.trim_end_matches('/')), glob: true, ..word.clone() };
    roots.iter().map(below).collect()
}

/// A command with a mark replaced, also in the middle of words.
fn fill(command: &[Word], mark: &str, values: &[Word]) -> Vec<Word> {
    let mut filled = Vec::new();
    for word in command {
        if word.text == mark {
            filled.extend(values.iter().cloned());
        } else if word.text.contains(mark) {
            // In the middle of code it is code.
            for value in values {
                let text = word.text.replace(mark, &value.text);
                filled.push(Word { text, doubt: value.doubt.max(Doubt::Derived), hidden: true, ..word.clone() });
            }
        } else {
            filled.push(word.clone());
        }
    }
    filled
}

fn kill(words: &[Word], acts: &mut Vec<Act>) {
    let mut targets = words.iter().map(|word| word.text.as_str()).filter(|text| !text.is_empty());
    let mut all = false;
    let mut first = true;
    let mut after_signal = false;
    while let Some(text) = targets.next() {
        match text {
            "-s" | "-n" | "--signal" => {
                targets.next();
                after_signal = true;
            }
            "-l" | "-L" | "--list" | "--table" => return acts.push(Act::of(Kind::Compute)),
            // The first word with a dash is a signal, the next one is everybody.
            "-1" => all |= !first || after_signal,
            "--" => after_signal = true,
            _ => {}
        }
        first = false;
    }
    acts.push(if all { Act::because(Kind::KillAll, "-1 is every process") } else { Act::of(Kind::Process) });
}
