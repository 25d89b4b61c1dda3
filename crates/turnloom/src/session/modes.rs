//! Which modes a session may have: those with rules, where the rules hold, and the agent's own.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;
use turnloom_core::policy::MODES;

use super::{Error, Sessions};
use crate::log::SessionRow;
use crate::runtime::Runtime;

/// A mode that a session could be in.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModeChoice {
    pub name: String,
    /// Rules decide in it. Without them it is the agent's own.
    pub has_rules: bool,
    /// What it is for, in a sentence.
    pub about: Option<String>,
    /// Why this session cannot have it.
    pub refused: Option<String>,
}

impl Sessions {
    /// The modes that a session of a runtime may have: the agent's own, and those with rules where the rules hold. None, if it takes any word.
    pub fn modes_of(&self, runtime: &dyn Runtime) -> Vec<String> {
        let own = runtime.modes().iter().map(|mode| (*mode).to_owned());
        if !runtime.capabilities().gate || runtime.modes().is_empty() {
            return own.collect();
        }
        let rules = self.0.rules.of("/");
        let with_rules: Vec<String> = rules.modes().map(str::to_owned).collect();
        let own: Vec<String> = own.filter(|mode| !with_rules.contains(mode)).collect();
        [with_rules, own].concat()
    }

    /// The modes to choose from in a session, those with rules first: also those that it cannot have, with the reason.
    pub fn mode_choices(&self, row: &SessionRow) -> Result<Vec<ModeChoice>, Error> {
        let runtime = self.runtime(&row.runtime)?;
        let is_own = |mode: &str| runtime.modes().contains(&mode);
        let rules = self.0.rules.of("/");
        // A mode of an agent that cannot be held to rules may have the name of one with rules.
        let is_ruled = |mode: &str| rules.has_mode(mode) && (runtime.capabilities().gate || !is_own(mode));
        let choice = |mode: &str| ModeChoice {
            name: mode.to_owned(),
            has_rules: is_ruled(mode),
            about: rules.about(mode).filter(|_| is_ruled(mode)).map(str::to_owned),
            refused: self.check_mode(runtime, "mode", mode, &row.params).err().map(|error| error.to_string()),
        };
        // In the order in which they ship; those of the user after them.
        let users = rules.modes().filter(|mode| !MODES.contains(mode));
        let with_rules = MODES.iter().copied().chain(users).filter(|mode| is_ruled(mode));
        let agents = runtime.modes().iter().copied().filter(|mode| !is_ruled(mode));
        let present = row.summary.mode.as_deref().filter(|mode| !is_ruled(mode) && !is_own(mode));
        Ok(with_rules.chain(agents).chain(present).map(choice).collect())
    }

    /// A mode that nobody knows would leave the agent in another than the one somebody believes it to be in.
    pub(super) fn check_known_mode(&self, runtime: &dyn Runtime, name: &str, mode: &str) -> Result<(), Error> {
        let known = self.modes_of(runtime);
        if known.is_empty() || known.iter().any(|known| known == mode) {
            return Ok(());
        }
        if !runtime.capabilities().gate && self.0.rules.of("/").has_mode(mode) {
            let (runtime, known) = (runtime.id(), known.join(", "));
            let message = format!("`{name}`: {mode} has rules, and {runtime} cannot be held to them; it has {known}");
            return Err(Error::Invalid(message));
        }
        Err(Error::Invalid(format!("`{name}` must be one of {}; {mode:?} is not", known.join(", "))))
    }

    /// Nor must somebody believe in a mode that a session with these parameters cannot have.
    pub(super) fn check_mode(
        &self,
        runtime: &dyn Runtime,
        name: &str,
        mode: &str,
        params: &Value,
    ) -> Result<(), Error> {
        self.check_known_mode(runtime, name, mode)?;
        runtime.may_have_mode(mode, params).map_err(|why| Error::Invalid(format!("`{name}`: {mode} {why}")))
    }
}
