//! `[budgets]`: what may be spent, what it costs, and when a turn is taken for one that runs away.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use turnloom_core::budget::{Limits, Price, Rules, RunawayLimits};

use super::BadValue;
use crate::budgets::zone;

/// What may be spent. Nothing is limited unless it is said here, or by a session.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetsConfig {
    /// The zone in which a day begins and ends, such as `Europe/Vienna`.
    pub zone: String,
    /// What one turn may spend, in every session that does not say otherwise.
    pub turn: Limits,
    /// What one session may spend, unless it says otherwise.
    pub session: Limits,
    /// What all sessions may spend in a day.
    pub day: Limits,
    /// What all sessions may spend.
    pub daemon: Limits,
    /// From how many hundredths of a limit on a fact warns.
    pub warn_percent: u32,
    /// How many hundredths of a limit a person adds who lets the work go on.
    pub raise_percent: u32,
    /// Seconds that an agent over its limit may go on before its turn is interrupted; one with a gate is held when it comes to its next call.
    pub hold_seconds: u32,
    /// Dollars for a million tokens, by model: its name, the beginning of it, or `*` for all others.
    pub prices: BTreeMap<String, Price>,
    /// When a turn is taken for one that runs away.
    pub runaway: RunawayLimits,
}

impl Default for BudgetsConfig {
    fn default() -> Self {
        Self {
            zone: "UTC".to_owned(),
            turn: Limits::default(),
            session: Limits::default(),
            day: Limits::default(),
            daemon: Limits::default(),
            warn_percent: 80,
            raise_percent: 50,
            hold_seconds: 10,
            prices: BTreeMap::new(),
            runaway: RunawayLimits::default(),
        }
    }
}

impl BudgetsConfig {
    /// What sessions need of this.
    pub fn rules(&self) -> Rules {
        Rules {
            turn: self.turn,
            session: self.session,
            day: self.day,
            daemon: self.daemon,
            prices: self.prices.clone(),
            runaway: self.runaway,
            warn_percent: self.warn_percent,
            raise_percent: self.raise_percent,
            counts_time: true,
            hold_ms: i64::from(self.hold_seconds) * 1000,
        }
    }

    /// The first setting that makes no sense, and why.
    pub(super) fn problem(&self) -> Option<BadValue> {
        let wrong = |setting: &str, why: String| Some(BadValue::Budget { setting: setting.to_owned(), why });
        if zone(&self.zone).is_none() {
            return wrong(
                "zone",
                format!("{:?} is not a zone of this machine; name one such as Europe/Vienna", self.zone),
            );
        }
        let limits = [("turn", &self.turn), ("session", &self.session), ("day", &self.day), ("daemon", &self.daemon)];
        for (name, limits) in limits {
            if let Some(why) = limits.problem(name == "turn") {
                return wrong(name, why);
            }
        }
        for (name, percent, most) in
            [("warn_percent", self.warn_percent, 100), ("raise_percent", self.raise_percent, 10_000)]
        {
            if !(1..=most).contains(&percent) {
                return wrong(name, format!("must be between 1 and {most}, and {percent} is not"));
            }
        }
        if let Some((model, _)) = self.prices.iter().find(|(_, price)| !price.is_sane()) {
            return wrong(&format!("prices.{model}"), "a price is a number, and not below 0".to_owned());
        }
        self.runaway.problem().and_then(|why| wrong("runaway", why))
    }
}
