//! What was measured, as one table.

use std::fmt;
use std::time::Duration;

/// What a number counts, and so whether more of it is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    PerSecond,
    Millis,
    Mib,
    Kib,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Unit::PerSecond if value >= 1e6 => format!("{:.2} M/s", value / 1e6),
            Unit::PerSecond if value >= 1e5 => format!("{:.0} k/s", value / 1e3),
            Unit::PerSecond => format!("{:.1} k/s", value / 1e3),
            Unit::Millis if value < 0.1 => format!("{value:.3} ms"),
            Unit::Millis if value < 10.0 => format!("{value:.2} ms"),
            Unit::Millis => format!("{value:.1} ms"),
            Unit::Mib => format!("{value:.1} MiB"),
            Unit::Kib => format!("{value:.1} KiB"),
        }
    }
}

/// The same thing, measured several times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rounds(Vec<f64>);

impl Rounds {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn push_millis(&mut self, value: Duration) {
        self.push(value.as_secs_f64() * 1e3);
    }

    pub(crate) fn push_rate(&mut self, count: usize, took: Duration) {
        self.push(count as f64 / took.as_secs_f64());
    }

    pub(crate) fn plus(&self, other: &Rounds) -> Rounds {
        Rounds(self.0.iter().zip(&other.0).map(|(a, b)| a + b).collect())
    }

    fn best(&self, unit: Unit) -> f64 {
        let sorted = self.sorted();
        let best = if unit == Unit::PerSecond { sorted.last() } else { sorted.first() };
        best.copied().unwrap_or_default()
    }

    fn median(&self) -> f64 {
        percentile(&self.sorted(), 0.5)
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

/// Of sorted values.
pub(crate) fn percentile(sorted: &[f64], part: f64) -> f64 {
    let at = ((sorted.len().saturating_sub(1)) as f64 * part).round() as usize;
    sorted.get(at).copied().unwrap_or_default()
}

#[derive(Debug)]
struct Row {
    what: String,
    unit: Unit,
    value: Rounds,
    floor: Option<Rounds>,
}

#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Row>);

impl Table {
    pub(crate) fn row(&mut self, what: impl Into<String>, unit: Unit, value: Rounds, floor: Option<Rounds>) {
        let row = Row { what: what.into(), unit, value, floor };
        eprintln!("  {row}");
        self.0.push(row);
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { what, unit, value, floor } = self;
        let (best, median) = (value.best(*unit), value.median());
        write!(f, "| {what} | {} | {} |", unit.show(best), unit.show(median))?;
        let Some(floor) = floor else { return write!(f, " | | |") };
        let (floor_best, floor_median) = (floor.best(*unit), floor.median());
        let times = if *unit == Unit::PerSecond { floor_median / median } else { median / floor_median };
        write!(f, " {} | {} | {times:.1} |", unit.show(floor_best), unit.show(floor_median))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| measure | best | median | floor, best | floor, median | times the floor |")?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|")?;
        self.0.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}
