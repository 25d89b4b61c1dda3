//! Where rules come from, and which layers may loosen the rules of others.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decide::Scope;
use super::rules::{Effect, Error, Rule, RulesFile};

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RuleLayer")]
pub enum Layer {
    /// Holds in every mode and cannot be beaten.
    Absolute,
    /// A mode that ships, or one of the user's own.
    Mode,
    User,
    /// What a person has answered *always* to. Counts like the user's own.
    Always,
    /// Tightens only, and only where the user trusts the project.
    Project,
    /// Tightens only.
    Session,
}

impl Layer {
    /// How far a rule of this layer reaches.
    pub fn scope(self, rule: &Rule) -> Scope {
        match self {
            Self::Absolute => Scope::Absolute,
            Self::Mode => Scope::Mode,
            Self::Project => Scope::Project,
            Self::Session => Scope::Session,
            Self::User | Self::Always => rule.scope(),
        }
    }
}

/// The modes that ship.
pub const MODES: &[&str] = &["plan", "implement", "ask", "bypass"];

#[derive(Debug, Clone)]
pub(crate) struct Mode {
    pub(crate) about: Option<String>,
    pub(crate) default: Option<Effect>,
    pub(crate) reason: Option<String>,
    pub(crate) extends: Option<String>,
    pub(crate) rules: Vec<Rule>,
}

/// All rules that count, ready to be asked.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(crate) absolute: Vec<Rule>,
    pub(crate) modes: BTreeMap<String, Mode>,
    pub(crate) user: Vec<Rule>,
    pub(crate) always: Vec<Rule>,
    pub(crate) project: Vec<Rule>,
    pub(crate) session: Vec<Rule>,
    trusted: Vec<String>,
}

/// What an agent is told about the mode that its session is in.
pub fn mode_instructions(mode: &str) -> String {
    let about = Policy::shipped().about(mode).map_or_else(|| ".".to_owned(), |about| format!(": {about}"));
    format!(
        "Rules judge every tool call before it runs. The session is in `{mode}` mode{about} A call that is denied says why: \
         find another way instead of trying it again."
    )
}

/// What an agent is told when the mode of its session changes.
pub fn mode_note(mode: &str, is_ruled: bool) -> String {
    if is_ruled { mode_instructions(mode) } else { format!("The session is in `{mode}` mode now.") }
}

impl Default for Policy {
    fn default() -> Self {
        Self::shipped()
    }
}

impl Policy {
    /// What ships, and nothing else.
    pub fn shipped() -> Self {
        #[expect(clippy::expect_used, reason = "these files are part of the program, and a test reads them")]
        let read = |name: &str, text: &str| RulesFile::read(name, text).expect("the rules that ship are right");
        let modes = [
            ("plan", include_str!("modes/plan.toml")),
            ("implement", include_str!("modes/implement.toml")),
            ("ask", include_str!("modes/ask.toml")),
            ("bypass", include_str!("modes/bypass.toml")),
        ];
        Self {
            absolute: read("absolute.toml", include_str!("absolute.toml")).rules,
            modes: modes.iter().map(|(name, text)| ((*name).to_owned(), Mode::of(read(name, text)))).collect(),
            user: Vec::new(),
            always: Vec::new(),
            project: Vec::new(),
            session: Vec::new(),
            trusted: Vec::new(),
        }
    }

    /// The user's own rules. They may allow what a mode would ask about.
    pub fn with_user(mut self, file: &str, text: &str) -> Result<Self, Error> {
        let read = RulesFile::read(file, text)?;
        not_a_mode(&read, file)?;
        self.trusted = read.trusted_projects;
        self.user = read.rules;
        Ok(self)
    }

    /// What people have answered *always* to.
    pub fn with_always(mut self, file: &str, text: &str) -> Result<Self, Error> {
        let read = RulesFile::read(file, text)?;
        not_a_mode(&read, file)?;
        self.always = read.rules;
        Ok(self)
    }

    /// A mode of the user's own, or another for one that ships.
    pub fn with_mode(mut self, name: &str, file: &str, text: &str) -> Result<Self, Error> {
        let mode = RulesFile::read(file, text)?;
        if let Some(parent) =
            mode.extends.as_deref().filter(|parent| *parent != name && !self.modes.contains_key(*parent))
        {
            return Err(Error {
                file: file.to_owned(),
                line: 1,
                what: format!("there is no mode {parent:?} to extend"),
            });
        }
        self.modes.insert(name.to_owned(), Mode::of(mode));
        Ok(self)
    }

    /// The rules of a project. The caller must have checked the project with [`Policy::trusts`].
    pub fn with_project(mut self, file: &str, text: &str) -> Result<Self, Error> {
        self.project = tightening(file, text, "a project")?;
        Ok(self)
    }

    /// The rules of a session.
    pub fn with_session(mut self, file: &str, text: &str) -> Result<Self, Error> {
        self.session = tightening(file, text, "a session")?;
        Ok(self)
    }

    /// Rules that cannot be read may forbid anything, so nothing is allowed by the others until they can.
    #[must_use]
    pub fn asking_about_everything(mut self, error: &str) -> Self {
        self.user.push(Rule {
            id: "broken-rules".to_owned(),
            effect: Effect::Ask,
            reason: Some(format!("a file of rules is wrong ({error})")),
            about: super::rules::About::default(),
            except: Vec::new(),
            beats: Vec::new(),
            expiry: None,
            line: 0,
        });
        self
    }

    /// Whether the user trusts a project. Both are absolute and normal; `~` is the home that is given.
    pub fn trusts(&self, project: &str, home: Option<&str>) -> bool {
        self.trusted.iter().any(|trusted| super::matching::expand_home(trusted, home) == project)
    }

    /// All rules outside modes, each with its layer.
    pub fn rules(&self) -> impl Iterator<Item = (Layer, &Rule)> {
        let layers = [
            (Layer::Absolute, &self.absolute),
            (Layer::User, &self.user),
            (Layer::Always, &self.always),
            (Layer::Project, &self.project),
            (Layer::Session, &self.session),
        ];
        layers.into_iter().flat_map(|(layer, rules)| rules.iter().map(move |rule| (layer, rule)))
    }

    /// The rules of a mode and of those that it extends, each with the mode it stands in.
    pub fn rules_of<'p>(&'p self, mode: &'p str) -> impl Iterator<Item = (&'p str, &'p Rule)> {
        self.chain(mode).into_iter().flat_map(|(name, mode)| mode.rules.iter().map(move |rule| (name, rule)))
    }

    /// What becomes of what no rule of a mode is about.
    pub fn default_of(&self, mode: &str) -> Option<Effect> {
        self.chain(mode).into_iter().find_map(|(_, mode)| mode.default)
    }

    /// What a mode is for, in a sentence.
    pub fn about(&self, mode: &str) -> Option<&str> {
        self.modes.get(mode).and_then(|mode| mode.about.as_deref())
    }

    /// The mode that ships which a mode stands on.
    pub fn base_of(&self, mode: &str) -> Option<&'static str> {
        let chain = self.chain(mode);
        chain.iter().find_map(|(name, _)| MODES.iter().find(|shipped| *shipped == name).copied())
    }

    /// Whether a rule holds in one session only, so that equal calls of two sessions may be decided differently.
    pub(crate) fn names_sessions(&self) -> bool {
        self.rules().any(|(_, rule)| !rule.about.session.is_empty())
    }

    pub fn has_mode(&self, name: &str) -> bool {
        self.modes.contains_key(name)
    }

    pub fn modes(&self) -> impl Iterator<Item = &str> {
        self.modes.keys().map(String::as_str)
    }

    /// A mode and those that it extends.
    pub(crate) fn chain<'p>(&'p self, name: &'p str) -> Vec<(&'p str, &'p Mode)> {
        let mut chain: Vec<(&str, &Mode)> = Vec::new();
        let mut next = Some(name);
        while let Some((name, mode)) = next.and_then(|name| self.modes.get_key_value(name)) {
            if chain.iter().any(|(known, _)| known == name) {
                break;
            }
            chain.push((name, mode));
            next = mode.extends.as_deref();
        }
        chain
    }
}

impl Mode {
    fn of(file: RulesFile) -> Self {
        Self { about: file.about, default: file.default, reason: file.reason, extends: file.extends, rules: file.rules }
    }
}

fn not_a_mode(file: &RulesFile, name: &str) -> Result<(), Error> {
    if file.default.is_some() || file.extends.is_some() {
        let what = "`default` and `extends` belong into a mode's file".to_owned();
        return Err(Error { file: name.to_owned(), line: 1, what });
    }
    Ok(())
}

/// Rules that make things stricter, and no others.
fn tightening(file: &str, text: &str, who: &str) -> Result<Vec<Rule>, Error> {
    let read = RulesFile::read(file, text)?;
    not_a_mode(&read, file)?;
    let wrong = |line: usize, what: String| Error { file: file.to_owned(), line, what };
    if !read.trusted_projects.is_empty() {
        return Err(wrong(1, format!("{who} cannot say whom the user trusts")));
    }
    for rule in &read.rules {
        let loosens = rule.effect == Effect::Allow || rule.expiry.is_some_and(|expiry| expiry.allows);
        if loosens || !rule.beats.is_empty() {
            return Err(wrong(
                rule.line,
                format!("{who} may only tighten: use `deny` or `ask`, and put what you allow into your own rules"),
            ));
        }
    }
    Ok(read.rules)
}
