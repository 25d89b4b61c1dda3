//! What a shell script would do, read without running it. Every simple command counts, wherever it stands; what cannot be read is opaque.
//!
//! The grammar is tree-sitter's. It is not believed blindly: words are read again here (`lex`), and what stands between the nodes must be blank.
//! Guesses serve denials, never permissions: a value that is only guessed is marked as doubtful.

mod apply;
mod builtins;
mod code;
mod expand;
mod git;
mod interpreters;
mod lex;
mod looks;
mod options;
mod output;
mod parse;
mod redirects;
mod scope;
mod simple;
mod specials;
mod subscripts;
mod walk;
pub(crate) mod word;
mod wrappers;

pub(crate) use self::apply::host_of;
pub(crate) use self::looks::{is_shell, look, passes_on};
use self::scope::Scope;
use self::word::{Doubt, Word};
use super::act::{Act, Command, Kind, Place};
use super::call::World;
use super::paths::{self, Base, Known};

/// The longest script that is looked at, in bytes. Scripts inside it count again.
const MAX_SCRIPT_BYTES: usize = 64 * 1024;
const MAX_TOTAL_BYTES: usize = 4 * MAX_SCRIPT_BYTES;
/// Nodes, words and commands that are looked at.
const MAX_STEPS: u32 = 20_000;
/// How deep things may stand inside each other.
const MAX_DEPTH: u32 = 40;
/// Acts that are kept of one script. Nobody reads more, and each is judged.
const MAX_COMMANDS: usize = 4_000;

/// What a script comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptReading {
    pub(crate) commands: Vec<Command>,
}

/// Where a script runs.
#[derive(Clone, Copy)]
pub(crate) struct ScriptContext<'w> {
    pub(crate) world: &'w dyn World,
    /// What counts as inside. Resolved.
    pub(crate) workspace: &'w str,
    pub(crate) directory: &'w str,
}

pub(crate) fn read(script: &str, around: ScriptContext<'_>) -> ScriptReading {
    let mut reader = Reader {
        around,
        parser: None,
        steps: 0,
        bytes: 0,
        depth: 0,
        scope: Scope::new(Base::At(around.directory.to_owned())),
        inside: Vec::new(),
        commands: Vec::new(),
        pending: Vec::new(),
        misread: false,
        guesses: 0,
        guessing: 0,
        exceeded: None,
    };
    reader.script(script, &Input::default());
    reader.leftover_functions();
    reader.finish()
}

/// What a command is given to read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Input {
    /// It is not what the shell itself was given.
    pub(crate) piped: bool,
    /// What it holds, as far as that is known.
    pub(crate) text: Option<String>,
}

impl Input {
    pub(crate) fn of(text: Option<String>) -> Self {
        Self { piped: true, text }
    }
}

pub(crate) struct Reader<'w> {
    around: ScriptContext<'w>,
    parser: Option<tree_sitter::Parser>,
    steps: u32,
    bytes: usize,
    depth: u32,
    scope: Scope,
    /// What brought about the commands that are read now.
    inside: Vec<String>,
    commands: Vec<Command>,
    /// Found while the words of the next command were read.
    pending: Vec<Act>,
    /// The grammar was not to be believed in this script.
    misread: bool,
    /// Guesses at text that could not be read, and how deep they stand in each other.
    guesses: usize,
    guessing: usize,
    /// The bound that was met.
    exceeded: Option<&'static str>,
}

impl Reader<'_> {
    fn finish(mut self) -> ScriptReading {
        if let Some(why) = self.exceeded {
            self.pending.push(Act::because(Kind::TooMuch, why));
        }
        if !self.pending.is_empty() {
            let acts = std::mem::take(&mut self.pending);
            self.commands.push(Command { words: Vec::new(), inside: Vec::new(), acts });
        }
        ScriptReading { commands: self.commands }
    }

    /// One more step. Nothing when there were too many.
    fn step(&mut self) -> Option<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.commands.len() > MAX_COMMANDS {
            self.exceeded.get_or_insert("the script is too long to be judged");
        }
        self.exceeded.is_none().then_some(())
    }

    /// Goes one level deeper for the time of a call.
    fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.exceeded.get_or_insert("commands stand too deep inside each other to be judged");
        }
        self.step()?;
        self.depth += 1;
        let done = work(self);
        self.depth -= 1;
        done
    }

    /// The same, and what is found there is said to come from it.
    fn via<T>(&mut self, what: impl Into<String>, work: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.inside.push(what.into());
        let done = self.deeper(work);
        self.inside.pop();
        done
    }

    /// What is found next cannot be told for sure.
    pub(crate) fn opaque(&mut self, why: impl Into<String>) {
        self.note(Act::because(Kind::Opaque, why));
    }

    fn note(&mut self, act: Act) {
        if !self.pending.contains(&act) {
            self.pending.push(act);
        }
    }

    /// Every place that a word may name.
    fn places(&self, word: &Word) -> Vec<Place> {
        let known = match word.doubt {
            Doubt::None => Known::All,
            Doubt::Derived => Known::Found,
            Doubt::Free => Known::Part,
        };
        let mut places: Vec<Place> = Vec::new();
        for base in &self.scope.bases {
            let text = self.linked(&word.text, base).unwrap_or_else(|| word.text.clone());
            let place = paths::place(&text, base, known, word.glob, self.around.workspace, self.around.world);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// A path that leads through a link which this script makes.
    fn linked(&self, text: &str, base: &Base) -> Option<String> {
        if self.scope.links.is_empty() {
            return None;
        }
        let Base::At(base) = base else { return None };
        let absolute = if text.starts_with('/') { text.to_owned() } else { format!("{base}/{text}") };
        self.scope.through_links(&paths::normal(&absolute))
    }
}
