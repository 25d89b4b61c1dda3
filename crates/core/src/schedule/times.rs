//! When runs of a schedule are due. Expressions are read by `croner`, which knows dates and no zones; the zones are those that jiff brings along, the same
//! on every machine, and what their changes mean is said here.
//!
//! A time of day without `*` and `/` that does not exist runs when the clock has jumped, one that exists twice runs the first time. What repeats
//! (`*/15 * * * *`) runs whenever the clock shows it: not in the hour that is left out, and in both of the hours that exist twice.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Zoned};

use super::{Error, When};
use crate::time::Timestamp;

const MIN_INTERVAL_MS: i64 = 100;
const MAX_INTERVAL_MS: i64 = 366 * DAY_MS;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// No zone sets its clock back further these days.
const FURTHEST_BACK: SignedDuration = SignedDuration::from_hours(3);

/// The moments at which runs are due.
#[derive(Debug, Clone)]
pub struct Times {
    rule: Rule,
    zone: TimeZone,
}

#[derive(Debug, Clone)]
enum Rule {
    Cron(Box<Clock>),
    Interval { from: i64, every: i64 },
    Once(i64),
}

/// A cron expression in a zone.
#[derive(Debug, Clone)]
struct Clock {
    cron: Cron,
    /// Whether it names times of day, instead of what repeats.
    is_fixed: bool,
}

impl Times {
    /// `created_at` is what intervals are counted from, if they do not say so themselves.
    pub fn new(when: &When, zone: &str, created_at: Timestamp) -> Result<Self, Error> {
        let zone = TimeZone::get(zone).map_err(|_| Error::Zone(zone.to_owned()))?;
        let rule = match when {
            When::Cron { expression } => Rule::Cron(Box::new(Clock::parse(expression)?)),
            When::Interval { every, from } => {
                Rule::Interval { from: from.unwrap_or(created_at).millis(), every: interval(every)? }
            }
            When::Once { at } => Rule::Once(at.millis()),
        };
        Ok(Self { rule, zone })
    }

    /// The first one after a moment.
    pub fn after(&self, moment: Timestamp) -> Option<Timestamp> {
        let moment = moment.millis();
        let due = match &self.rule {
            Rule::Cron(clock) => clock.after(self.at(moment)?)?.as_millisecond(),
            Rule::Interval { from, every } => {
                // The first is one interval after the beginning.
                let passed = moment.saturating_sub(*from).max(0) / every;
                from.checked_add(passed.checked_add(1)?.checked_mul(*every)?)?
            }
            Rule::Once(at) => *at,
        };
        (due > moment).then_some(Timestamp::from_millis(due))
    }

    /// The last one before a moment, or at it.
    pub fn until(&self, moment: Timestamp) -> Option<Timestamp> {
        let moment = moment.millis();
        let due = match &self.rule {
            Rule::Cron(clock) => clock.until(self.at(moment)?)?.as_millisecond(),
            Rule::Interval { from, every } => {
                let passed = moment.checked_sub(*from)? / every;
                if passed < 1 {
                    return None;
                }
                from + passed * every
            }
            Rule::Once(at) => *at,
        };
        (due <= moment).then_some(Timestamp::from_millis(due))
    }

    /// The date and the time of day at a moment, in the schedule's zone.
    pub fn date_and_time(&self, moment: Timestamp) -> (String, String) {
        let zoned = self.at(moment.millis()).unwrap_or_default();
        (zoned.strftime("%Y-%m-%d").to_string(), zoned.strftime("%H:%M").to_string())
    }

    /// An expression in words of the parser's own.
    pub(super) fn described(&self) -> Option<String> {
        let Rule::Cron(clock) = &self.rule else { return None };
        let said = clock.cron.describe();
        Some(said.trim_end_matches('.').to_owned()).filter(|said| !said.is_empty())
    }

    /// The length of an interval.
    pub(super) fn every_ms(&self) -> Option<i64> {
        match self.rule {
            Rule::Interval { every, .. } => Some(every),
            Rule::Cron(_) | Rule::Once(_) => None,
        }
    }

    /// A moment in the schedule's zone, in whole seconds: expressions know nothing smaller.
    fn at(&self, millis: i64) -> Option<Zoned> {
        let second = jiff::Timestamp::from_second(millis.div_euclid(1000)).ok()?;
        Some(second.to_zoned(self.zone.clone()))
    }
}

impl Clock {
    fn parse(expression: &str) -> Result<Self, Error> {
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let wrong = |why: String| Error::Cron { expression: expression.to_owned(), why };
        let cron = parser.parse(expression).map_err(|error| wrong(error.to_string()))?;
        let fields: Vec<&str> = expression.split_whitespace().collect();
        let of_day = fields.get(..fields.len().saturating_sub(3)).unwrap_or_default();
        let repeats = of_day.iter().any(|field| field.contains(['*', '/'])) || expression.trim() == "@hourly";
        Ok(Self { cron, is_fixed: !repeats })
    }

    fn next(&self, start: DateTime, inclusive: bool) -> Option<DateTime> {
        self.cron.find_next_occurrence(&start, inclusive).ok()
    }

    fn previous(&self, start: DateTime) -> Option<DateTime> {
        self.cron.find_previous_occurrence(&start, true).ok()
    }

    fn after(&self, start: Zoned) -> Option<jiff::Timestamp> {
        if self.is_fixed {
            let mut civil = self.next(start.datetime(), false)?;
            loop {
                let due = moment_of(civil, start.time_zone())?;
                if due > start.timestamp() {
                    return Some(due);
                }
                civil = self.next(civil, false)?;
            }
        }
        // Between two changes of the zone, moments and what the clock shows are one and the same.
        let zone = start.time_zone().clone();
        let (mut from, mut inclusive) = (start, false);
        loop {
            let civil = self.next(from.datetime(), inclusive)?;
            let due = from.offset().to_timestamp(civil).ok()?;
            let change = zone.following(from.timestamp()).next().map(|change| change.timestamp());
            match change {
                Some(change) if due >= change => (from, inclusive) = (change.to_zoned(zone.clone()), true),
                Some(_) | None => return Some(due),
            }
        }
    }

    fn until(&self, end: Zoned) -> Option<jiff::Timestamp> {
        if self.is_fixed {
            let mut civil = self.previous(end.datetime().checked_add(FURTHEST_BACK).ok()?)?;
            loop {
                let due = moment_of(civil, end.time_zone())?;
                if due <= end.timestamp() {
                    return Some(due);
                }
                civil = self.previous(civil.checked_sub(SignedDuration::from_secs(1)).ok()?)?;
            }
        }
        let zone = end.time_zone().clone();
        let second = SignedDuration::from_secs(1);
        let mut to = end;
        loop {
            let civil = self.previous(to.datetime())?;
            let due = to.offset().to_timestamp(civil).ok()?;
            let next = to.timestamp().checked_add(second).ok()?;
            let change = zone.preceding(next).next().map(|change| change.timestamp());
            match change {
                Some(change) if due < change => to = change.checked_sub(second).ok()?.to_zoned(zone.clone()),
                Some(_) | None => return Some(due),
            }
        }
    }
}

/// The moment for a time of day: the first, if the clock shows it twice; when the clock has jumped, if it does not show it.
fn moment_of(civil: DateTime, zone: &TimeZone) -> Option<jiff::Timestamp> {
    let found = zone.to_ambiguous_zoned(civil);
    match found.offset() {
        AmbiguousOffset::Gap { .. } => {
            let behind = found.compatible().ok()?.timestamp().checked_add(SignedDuration::from_secs(1)).ok()?;
            zone.preceding(behind).next().map(|change| change.timestamp())
        }
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => Some(found.earlier().ok()?.timestamp()),
    }
}

fn interval(text: &str) -> Result<i64, Error> {
    let wrong = |why: &str| Error::Interval { every: text.to_owned(), why: why.to_owned() };
    let every: SignedDuration =
        text.trim().parse().map_err(|_| wrong("is no length of time; write 15m, 1h 30m or PT6H"))?;
    let millis = i64::try_from(every.as_millis()).map_err(|_| wrong("is too long"))?;
    if !(MIN_INTERVAL_MS..=MAX_INTERVAL_MS).contains(&millis) {
        return Err(wrong("must be between 100 ms and 366 days"));
    }
    Ok(millis)
}
