//! One word of a command: what it says, and how much of that is known.

/// How much of a word is not known before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Doubt {
    #[default]
    None,
    /// It comes from a command of the same script, which is judged itself.
    Derived,
    /// It comes from anywhere: the environment, a file, the keyboard.
    Free,
}

/// A file that a command writes while it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pipe {
    /// What it holds, as far as that is known.
    pub(crate) holds: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Word {
    /// What it says, as far as that is known. A guess where there is doubt.
    pub(crate) text: String,
    pub(crate) doubt: Doubt,
    /// Its beginning is in doubt: it may be an option.
    pub(crate) lead: bool,
    /// It may be any number of words.
    pub(crate) many: bool,
    /// It is one of several that a variable may hold.
    pub(crate) one_of: bool,
    /// Wildcards in it are at work.
    pub(crate) glob: bool,
    /// Something of it was quoted or escaped.
    pub(crate) quoted: bool,
    /// A variable or a substitution made some of it.
    pub(crate) hidden: bool,
    /// It is a pipe, `<(...)`.
    pub(crate) pipe: Option<Pipe>,
}

impl Word {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// What only the running tells, with a guess.
    pub(crate) fn unknown(doubt: Doubt, guess: impl Into<String>) -> Self {
        Self { text: guess.into(), doubt, lead: true, many: true, hidden: true, ..Self::default() }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.doubt == Doubt::None
    }

    /// The same word without its first bytes.
    pub(crate) fn without(&self, bytes: usize) -> Self {
        Self { text: self.text.get(bytes..).unwrap_or_default().to_owned(), ..self.clone() }
    }

    /// Takes on what is unsure about another that becomes a part of it.
    pub(crate) fn absorb(&mut self, other: &Self, splits: bool) {
        if other.doubt > Doubt::None {
            self.lead |= self.text.is_empty() && (other.lead || other.text.is_empty());
            self.many |= splits;
        }
        self.doubt = self.doubt.max(other.doubt);
        self.one_of |= other.one_of;
        self.hidden = true;
        self.text.push_str(&other.text);
    }
}
