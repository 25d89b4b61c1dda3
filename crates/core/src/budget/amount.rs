//! Amounts, and what they are for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{BudgetMeasure, Usage};

const NANOS: f64 = 1e9;
const MINUTE_MS: f64 = 60_000.0;

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// All that the model read and wrote, also what it read from a cache.
    pub tokens: u64,
    /// Billionths of a dollar.
    pub nano_usd: u64,
    pub turns: u64,
    /// Milliseconds of work, without those in which a person was waited for.
    pub worked_ms: u64,
}

impl Spent {
    pub fn of(self, measure: BudgetMeasure) -> u64 {
        match measure {
            BudgetMeasure::Tokens => self.tokens,
            BudgetMeasure::Usd => self.nano_usd,
            BudgetMeasure::Turns => self.turns,
            BudgetMeasure::Minutes => self.worked_ms,
            BudgetMeasure::Repeats | BudgetMeasure::Compactions | BudgetMeasure::Silence => 0,
        }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            nano_usd: self.nano_usd.saturating_add(other.nano_usd),
            turns: self.turns.saturating_add(other.turns),
            worked_ms: self.worked_ms.saturating_add(other.worked_ms),
        }
    }

    /// With one part of it replaced by another: what a turn has used is said again and again, each time as a whole.
    #[must_use]
    pub fn replacing(self, before: Self, after: Self) -> Self {
        let replace = |sum: u64, before: u64, after: u64| sum.saturating_add(after).saturating_sub(before);
        Self {
            tokens: replace(self.tokens, before.tokens, after.tokens),
            nano_usd: replace(self.nano_usd, before.nano_usd, after.nano_usd),
            turns: replace(self.turns, before.turns, after.turns),
            worked_ms: replace(self.worked_ms, before.worked_ms, after.worked_ms),
        }
    }

    /// The same turn after this was said of it.
    #[must_use]
    pub fn used(self, usage: &Usage) -> Self {
        Self {
            tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            nano_usd: usage.cost_usd.map_or(self.nano_usd, |usd| from_units(BudgetMeasure::Usd, usd)),
            worked_ms: usage.worked_ms.unwrap_or(self.worked_ms),
            ..self
        }
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// An amount in the units of people: dollars, minutes.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub fn in_units(measure: BudgetMeasure, amount: u64) -> f64 {
    match measure {
        BudgetMeasure::Usd => amount as f64 / NANOS,
        BudgetMeasure::Minutes | BudgetMeasure::Silence => amount as f64 / MINUTE_MS,
        BudgetMeasure::Tokens | BudgetMeasure::Turns | BudgetMeasure::Repeats | BudgetMeasure::Compactions => {
            amount as f64
        }
    }
}

/// The amount that so many units are.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast to an integer keeps within its bounds"
)]
pub fn from_units(measure: BudgetMeasure, units: f64) -> u64 {
    let each = match measure {
        BudgetMeasure::Usd => NANOS,
        BudgetMeasure::Minutes | BudgetMeasure::Silence => MINUTE_MS,
        BudgetMeasure::Tokens | BudgetMeasure::Turns | BudgetMeasure::Repeats | BudgetMeasure::Compactions => 1.0,
    };
    (units * each).round().max(0.0) as u64
}

/// An amount as people say it.
pub(crate) fn in_words(measure: BudgetMeasure, amount: u64) -> String {
    let units = in_units(measure, amount);
    match measure {
        BudgetMeasure::Usd if amount < 10_000_000 => format!("${units:.4}"),
        BudgetMeasure::Usd => format!("${units:.2}"),
        BudgetMeasure::Tokens => plural(&grouped(amount), amount, "token"),
        BudgetMeasure::Turns => plural(&grouped(amount), amount, "turn"),
        BudgetMeasure::Repeats => plural(&grouped(amount), amount, "equal call"),
        BudgetMeasure::Compactions => plural(&grouped(amount), amount, "compaction"),
        BudgetMeasure::Minutes | BudgetMeasure::Silence if amount < 60_000 => {
            let seconds = amount.div_ceil(1000);
            plural(&seconds.to_string(), seconds, "second")
        }
        BudgetMeasure::Minutes | BudgetMeasure::Silence => {
            let text = format!("{units:.1}");
            format!("{} minutes", text.strip_suffix(".0").unwrap_or(&text))
        }
    }
}

fn plural(number: &str, amount: u64, word: &str) -> String {
    format!("{number} {word}{}", if amount == 1 { "" } else { "s" })
}

/// `1234567` as `1,234,567`.
fn grouped(amount: u64) -> String {
    let digits = amount.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
