//! What the configuration and a session say of budgets, and what holds for a session because of both.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::amount::from_units;
use crate::event::{BudgetMeasure, Usage};

/// The parameter, and setting, of every runtime: the limits of one session.
pub const OWN: &str = "budget";

/// The parameter, and setting, of every runtime: a name that several sessions have, and what they may spend together.
pub const GROUP: &str = "budget_group";

/// The longest name of a group.
const MAX_GROUP_BYTES: usize = 128;

/// Nobody means more than this, whatever is counted.
const MOST: f64 = 1e12;

/// What may be spent. What is not given is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// All that the model reads and writes, also what it reads from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// Dollars: what the agent says, or what `budgets.prices` makes of its tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<f64>,
    /// Minutes of work, without those in which a person is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<f64>,
}

impl Limits {
    /// What is limited, and to what amount.
    pub(crate) fn each(&self) -> impl Iterator<Item = (BudgetMeasure, u64)> {
        let given = [
            (BudgetMeasure::Tokens, self.tokens),
            (BudgetMeasure::Usd, self.usd),
            (BudgetMeasure::Turns, self.turns),
            (BudgetMeasure::Minutes, self.minutes),
        ];
        given.into_iter().filter_map(|(measure, limit)| Some((measure, from_units(measure, limit?))))
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is wrong with it.
    pub fn problem(&self, of_turn: bool) -> Option<String> {
        let given = [("tokens", self.tokens), ("usd", self.usd), ("turns", self.turns), ("minutes", self.minutes)];
        let wrong = given.iter().find(|(_, limit)| limit.is_some_and(|limit| !is_amount(limit)));
        if let Some((name, _)) = wrong {
            return Some(format!("`{name}` must be a number above 0"));
        }
        (of_turn && self.turns.is_some()).then(|| "`turns` is no limit of one turn".to_owned())
    }
}

fn is_amount(number: f64) -> bool {
    number.is_finite() && number > 0.0 && number <= MOST
}

/// Dollars for a million tokens of one model.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// What is read from a cache; as `input`, if not given.
    pub cache_read: Option<f64>,
    /// What is written to a cache; as `input`, if not given.
    pub cache_write: Option<f64>,
}

impl Price {
    /// What this much costs, in dollars.
    #[expect(clippy::cast_precision_loss, reason = "a price is no exact number")]
    pub fn of(&self, usage: &Usage) -> f64 {
        let (read, written) = (usage.cached_tokens.unwrap_or(0), usage.cache_write_tokens.unwrap_or(0));
        let fresh = usage.input_tokens.saturating_sub(read).saturating_sub(written);
        let cost = fresh as f64 * self.input
            + read as f64 * self.cache_read.unwrap_or(self.input)
            + written as f64 * self.cache_write.unwrap_or(self.input)
            + usage.output_tokens as f64 * self.output;
        cost / 1e6
    }

    pub fn is_sane(&self) -> bool {
        let all = [Some(self.input), Some(self.output), self.cache_read, self.cache_write];
        all.into_iter().flatten().all(|price| price.is_finite() && (0.0..=MOST).contains(&price))
    }
}

/// When a turn is taken for one that runs away. Zero is never.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunawayLimits {
    /// Equal calls with equal results, while no call brings anything new.
    pub repeats: u32,
    /// Compactions while no call brings anything new.
    pub compactions: u32,
    /// Minutes of work without a word of the agent.
    pub silent_minutes: f64,
}

impl Default for RunawayLimits {
    fn default() -> Self {
        Self { repeats: 20, compactions: 4, silent_minutes: 60.0 }
    }
}

impl RunawayLimits {
    /// Nothing is taken for a runaway.
    pub const OFF: Self = Self { repeats: 0, compactions: 0, silent_minutes: 0.0 };

    /// What is wrong with it.
    pub fn problem(&self) -> Option<String> {
        let is_wrong = !self.silent_minutes.is_finite() || !(0.0..=MOST).contains(&self.silent_minutes);
        is_wrong.then(|| "`silent_minutes` must be a number, and not below 0".to_owned())
    }
}

/// What the configuration says.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    pub turn: Limits,
    pub session: Limits,
    pub day: Limits,
    pub daemon: Limits,
    /// By model: its name, the beginning of it, or `*` for all others.
    pub prices: BTreeMap<String, Price>,
    pub runaway: RunawayLimits,
    /// From how many hundredths of a limit on a fact warns.
    pub warn_percent: u32,
    /// How many hundredths of a limit a person adds who lets the work go on.
    pub raise_percent: u32,
    /// Whether turns say how long they worked. Recordings are played without.
    pub counts_time: bool,
    /// How long an agent that is to be held may go on before its turn is interrupted, in milliseconds.
    pub hold_ms: i64,
}

impl Default for Rules {
    /// Nothing is limited, and nothing is noticed.
    fn default() -> Self {
        Self {
            turn: Limits::default(),
            session: Limits::default(),
            day: Limits::default(),
            daemon: Limits::default(),
            prices: BTreeMap::new(),
            runaway: RunawayLimits::OFF,
            warn_percent: 80,
            raise_percent: 50,
            counts_time: false,
            hold_ms: 10_000,
        }
    }
}

impl Rules {
    /// The price of a model: under its name, under the longest beginning of it, or that of all others.
    pub fn price(&self, model: Option<&str>) -> Option<&Price> {
        let model = model.unwrap_or_default();
        let begins = self.prices.iter().filter(|(name, _)| model.starts_with(name.as_str()) && !name.is_empty());
        let longest = begins.max_by_key(|(name, _)| name.len()).map(|(_, price)| price);
        longest.or_else(|| self.prices.get("*"))
    }

    /// What holds for a session with these parameters. They were checked when they were given.
    pub fn plan(&self, own: Option<&Value>, group: Option<&Value>) -> Plan {
        let own = own.and_then(|own| Own::deserialize(own).ok()).unwrap_or_default();
        let runaway = RunawayLimits {
            repeats: own.runaway.repeats.unwrap_or(self.runaway.repeats),
            compactions: own.runaway.compactions.unwrap_or(self.runaway.compactions),
            silent_minutes: own.runaway.silent_minutes.unwrap_or(self.runaway.silent_minutes),
        };
        Plan {
            turn: own.turn.over(self.turn),
            session: own.session.over(self.session),
            group: group.and_then(|group| Group::deserialize(group).ok()),
            day: self.day,
            daemon: self.daemon,
            runaway,
        }
    }
}

/// What holds for one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub turn: Limits,
    pub session: Limits,
    pub group: Option<Group>,
    pub day: Limits,
    pub daemon: Limits,
    pub runaway: RunawayLimits,
}

impl Plan {
    /// Whether what a turn uses has to be known while it runs.
    pub fn limits_anything(&self) -> bool {
        let group = self.group.as_ref().is_some_and(|group| !group.limits.is_empty());
        let own = !self.turn.is_empty() || !self.session.is_empty();
        own || group || !self.day.is_empty() || !self.daemon.is_empty()
    }

    /// Whether money is limited.
    pub fn limits_money(&self) -> bool {
        let group = self.group.as_ref().and_then(|group| group.limits.usd);
        [self.turn.usd, self.session.usd, self.day.usd, self.daemon.usd, group].iter().any(Option::is_some)
    }

    /// Whether it matters what other sessions spend.
    pub fn is_shared(&self) -> bool {
        self.group.is_some() || !self.day.is_empty() || !self.daemon.is_empty()
    }
}

/// Sessions that spend together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Whoever starts sessions chooses it: a schedule, a channel, the root of a tree of delegations.
    pub id: String,
    /// What all sessions of the group may spend together.
    #[serde(default)]
    pub limits: Limits,
}

/// What a session says itself: a number in the place of the configuration's, or null for no limit.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Own {
    turn: Overrides,
    session: Overrides,
    runaway: RunawayOverrides,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::option_option, reason = "null is another thing than nothing")]
struct Overrides {
    #[serde(deserialize_with = "given")]
    tokens: Option<Option<f64>>,
    #[serde(deserialize_with = "given")]
    usd: Option<Option<f64>>,
    #[serde(deserialize_with = "given")]
    turns: Option<Option<f64>>,
    #[serde(deserialize_with = "given")]
    minutes: Option<Option<f64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RunawayOverrides {
    repeats: Option<u32>,
    compactions: Option<u32>,
    silent_minutes: Option<f64>,
}

/// Tells null from what is not there.
#[expect(clippy::option_option, reason = "null is another thing than nothing")]
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<f64>>, D::Error> {
    Option::<f64>::deserialize(deserializer).map(Some)
}

impl Overrides {
    fn over(&self, defaults: Limits) -> Limits {
        Limits {
            tokens: self.tokens.unwrap_or(defaults.tokens),
            usd: self.usd.unwrap_or(defaults.usd),
            turns: self.turns.unwrap_or(defaults.turns),
            minutes: self.minutes.unwrap_or(defaults.minutes),
        }
    }
}

/// Refuses a budget that is not right, with its name and why.
pub fn check_params(params: &Map<String, Value>) -> Result<(), (&'static str, String)> {
    if let Some(own) = params.get(OWN) {
        let own = Own::deserialize(own).map_err(|error| (OWN, error.to_string()))?;
        let none = Limits::default();
        let within = |name: &str, problem: Option<String>| problem.map(|problem| format!("`{name}`: {problem}"));
        let runaway =
            RunawayLimits { silent_minutes: own.runaway.silent_minutes.unwrap_or_default(), ..RunawayLimits::OFF };
        let problem = within("turn", own.turn.over(none).problem(true))
            .or_else(|| within("session", own.session.over(none).problem(false)))
            .or_else(|| within("runaway", runaway.problem()));
        problem.map_or(Ok(()), |problem| Err((OWN, problem)))?;
    }
    if let Some(group) = params.get(GROUP).filter(|group| !group.is_null()) {
        let group = Group::deserialize(group).map_err(|error| (GROUP, error.to_string()))?;
        if group.id.is_empty() || group.id.len() > MAX_GROUP_BYTES || group.id.chars().any(char::is_control) {
            return Err((GROUP, format!("`id` has 1 to {MAX_GROUP_BYTES} bytes, and no control characters")));
        }
        group.limits.problem(false).map_or(Ok(()), |problem| Err((GROUP, format!("`limits`: {problem}"))))?;
    }
    Ok(())
}
