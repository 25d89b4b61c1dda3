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
            && let Some(at) = words.iter().position(|word| word.text == "-m")
            && words.iter().take(at).all(|word| word.text.starts_with('-') && !word.text.contains('c'))
        {
            let module = words.get(at + 1..).unwrap_or_default().to_vec();
            return self.nested(format!("{name} -m"), &module, input, acts);
        }
        let options = options::read(words, program, Order::UpToOperand);
        self.options(program, &options, acts);
        if options.doubtful {
            acts.push(Act::because(Kind::Opaque, "a word that is not known may be code"));
        }
        match options.operands.first() {
            _ if options.has(&program.opaque, &program.harmless) => {}
            Some(file) if file.text != "-" => self.script_file(file, None, acts),
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
