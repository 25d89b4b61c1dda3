//! Shells and other interpreters: code in an option, in a file, in a pipe.

use super::options::{self, Order};
use super::word::Word;
use super::{Input, Reader};
use crate::policy::act::{Act, Kind};
use crate::policy::programs::Program;

impl Reader<'_> {
    pub(super) fn shell(&mut self, program: &Program, words: &[Word], input: &Input, acts: &mut Vec<Act>) {
        let options = options::read(words, program, Order::UpToOperand);
        self.options(program, &options, acts);
        if options.doubtful {
            acts.push(Act::because(Kind::Opaque, "a word that is not known may be code"));
        }
        acts.push(Act::of(Kind::Compute));
        let plain_plus = |word: &Word| word.text.starts_with('+');
        let operands: Vec<Word> = options.operands.iter().filter(|word| !plain_plus(word)).cloned().collect();
        if options.has_any(&["-c"]) {
            let Some((code, rest)) = operands.split_first() else { return };
            // `sh -c code name $1 $2`
            let arguments = rest.get(1..).unwrap_or_default().to_vec();
            let before = self.scope.clone();
            self.scope.arguments = Some(arguments);
            self.code("sh -c", code, acts);
            let written = std::mem::replace(&mut self.scope, before).written;
            self.scope.written = written;
            return;
        }
        match operands.first() {
            Some(file) if !options.has_any(&["-s"]) && file.text != "-" => {
                if matches!(file.text.as_str(), "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") {
                    self.script_file(file, input.text.as_deref(), acts);
                } else {
                    self.script_file(file, None, acts);
                }
            }
            _ => self.piped_code(input, acts),
        }
    }

    /// A shell that reads its commands from a pipe, or from whoever types.
    fn piped_code(&mut self, input: &Input, acts: &mut Vec<Act>) {
        let why = if input.piped { "a shell runs what a pipe brings" } else { "a shell waits for commands" };
        acts.push(Act::because(Kind::Opaque, why));
        if let Some(text) = &input.text {
            let kept = std::mem::take(&mut self.pending);
            self.via("pipe", |reader| reader.script(text, &Input::default()));
            self.pending.splice(0..0, kept);
        }
    }

    pub(super) fn interpreter(
        &mut self,
        name: &str,
        program: &Program,
        words: &[Word],
        input: &Input,
        acts: &mut Vec<Act>,
    ) {
        // `python -m module ...` is the module's affair.
        if name.starts_with("py")
            && let Some(module) = module_of(words)
        {
            return self.nested(format!("{name} -m"), &module, input, acts);
        }
        let options = options::read(words, program, Order::UpToOperand);
        self.options(program, &options, acts);
        if options.doubtful {
            acts.push(Act::because(Kind::Opaque, "a word that is not known may be code"));
        }
        match options.operands.first() {
            _ if options.has(&program.opaque, &program.harmless) => {}
            Some(file) if file.text != "-" => {
                self.script_file(file, None, acts);
                let does = |word: &Word| matches!(word.text.as_str(), "install" | "develop" | "upload");
                if file.text.ends_with("setup.py") && options.operands.iter().any(does) {
                    acts.push(Act::because(Kind::Install, "it installs the project for everybody"));
                }
            }
            _ if options.has_any(&["-v", "-V", "--version", "-h", "--help", "--test"]) => {
                acts.push(Act::of(Kind::Build));
            }
            _ => {
                acts.push(Act::because(Kind::Opaque, "it runs what a pipe or a person types"));
                self.scan_for_destruction(&input.text.clone().unwrap_or_default());
            }
        }
    }
}

/// `-m module ...`, also as `-mmodule` and behind other letters: `-Im module`.
fn module_of(words: &[Word]) -> Option<Vec<Word>> {
    let at = words.iter().position(|word| !is_flag(&word.text))?;
    let option = words.get(at)?;
    let letters = option.text.strip_prefix('-')?;
    let before = letters.find('m').filter(|at| letters.get(..*at).is_some_and(is_letters_of_flags))?;
    let rest = words.get(at + 1..).unwrap_or_default();
    // The dash and the letters up to the module.
    let module = option.without(before + 2);
    Some(if module.text.is_empty() { rest.to_vec() } else { [&[module], rest].concat() })
}

fn is_flag(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|letters| !letters.is_empty() && is_letters_of_flags(letters))
}

/// Options of Python that take no value.
fn is_letters_of_flags(letters: &str) -> bool {
    letters.chars().all(|letter| "bBdEiIOPqsSuvVx".contains(letter))
}
