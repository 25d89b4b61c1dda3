//! Asks that ended without an answer. Older logs have no field for this; they only show that the daemon settled the ask.

use super::{InterruptResolved, PermissionResolved, QuestionResolved, Unanswered};

/// How the daemon signs what nobody else did.
pub const DAEMON: &str = "turnloom";

/// Who did it, when an agent that others write did.
pub const AGENT: &str = "agent";

impl PermissionResolved {
    /// Why nobody answered, if nobody did.
    pub fn why_unanswered(&self) -> Option<Unanswered> {
        self.unanswered.or_else(|| by_nobody(&self.by).filter(|_| !self.allowed))
    }
}

impl QuestionResolved {
    /// Why nobody answered, if nobody did.
    pub fn why_unanswered(&self) -> Option<Unanswered> {
        self.unanswered.or_else(|| by_nobody(&self.by).filter(|_| self.answers.is_none()))
    }
}

impl InterruptResolved {
    /// Why nobody answered, if nobody did.
    pub fn why_unanswered(&self) -> Option<Unanswered> {
        self.unanswered.or_else(|| by_nobody(&self.by).filter(|_| self.value.is_none()))
    }
}

/// What came between is not known, but its reason was written down.
fn by_nobody(by: &str) -> Option<Unanswered> {
    (by == DAEMON).then_some(Unanswered::Interrupted)
}
