//! `[delegation]`: whether agents may have other agents work for them, and how far that goes.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use turnloom_core::delegation::Rules;

/// Sessions that work for other sessions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DelegationConfig {
    /// Whether agents are offered the tools to delegate, unless the session says otherwise with `delegation`.
    pub allow: bool,
    /// How many sessions may stand above each other.
    pub max_depth: usize,
    /// How many may work for one session at once.
    pub max_at_once: usize,
    /// How many one session may have had, in all.
    pub max_total: usize,
    /// Whether stopping a session stops those that work for it.
    pub stop_children: bool,
    /// Folders in which agents may have others work, besides their own.
    pub folders: Vec<PathBuf>,
}

impl Default for DelegationConfig {
    fn default() -> Self {
        let Rules { allowed, depth, at_once, total, stop_children } = Rules::default();
        Self {
            allow: allowed,
            max_depth: depth,
            max_at_once: at_once,
            max_total: total,
            stop_children,
            folders: Vec::new(),
        }
    }
}

impl DelegationConfig {
    /// What sessions need of this.
    pub fn rules(&self) -> Rules {
        Rules {
            allowed: self.allow,
            depth: self.max_depth,
            at_once: self.max_at_once,
            total: self.max_total,
            stop_children: self.stop_children,
        }
    }
}
