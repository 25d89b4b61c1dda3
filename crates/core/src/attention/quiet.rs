//! Quiet hours: a part of the day, by the clock on the wall of a zone. Where that clock is set, the hours are as it shows them.

use jiff::civil::{DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, ToSpan as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// A time of day, as people write it: `22:30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String", extend("pattern" = "^([01][0-9]|2[0-3]):[0-5][0-9]$"))]
pub struct TimeOfDay(Time);

impl TimeOfDay {
    pub fn parse(text: &str) -> Option<Self> {
        let (hours, minutes) = text.split_once(':')?;
        let number = |text: &str| {
            let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse::<i8>().ok()).flatten()
        };
        Time::new(number(hours)?, number(minutes)?, 0, 0).ok().map(Self)
    }
}

impl Serialize for TimeOfDay {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:02}:{:02}", self.0.hour(), self.0.minute()))
    }
}

impl<'de> Deserialize<'de> for TimeOfDay {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom(format!("{text:?} is not a time of day such as 22:30"));
        Self::parse(&text).ok_or_else(wrong)
    }
}

/// When devices are told nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuietHours {
    /// `22:00`
    pub from: TimeOfDay,
    /// `07:00`, perhaps on the next day. The same as `from` is the whole day.
    pub to: TimeOfDay,
    /// A name from the time zone database, such as `Europe/Berlin`.
    pub zone: String,
    /// What waits for a person is told all the same.
    #[serde(default)]
    pub except_needs_you: bool,
}

impl QuietHours {
    /// What is wrong with them.
    pub fn check(&self) -> Result<(), String> {
        zone(&self.zone).map(drop).ok_or_else(|| format!("there is no time zone {:?}", self.zone))
    }

    /// Until when it is quiet; nothing if it is not.
    pub fn until(&self, now: Timestamp) -> Option<Timestamp> {
        let zone = zone(&self.zone)?;
        let moment = jiff::Timestamp::from_millisecond(now.millis()).ok()?;
        let here = zone.to_datetime(moment);
        if !self.covers(here.time()) {
            return None;
        }
        // It ends when the clock comes to the end, or jumps over it.
        let days = (0..=2).filter_map(|days| here.date().checked_add(days.days()).ok());
        let ends = days.flat_map(|day| moments(&zone, day.to_datetime(self.to.0)));
        let limit = moment.checked_add(SignedDuration::from_hours(72)).ok()?;
        let jumps = zone.following(moment).map(|jump| jump.timestamp()).take_while(|at| *at <= limit);
        let is_end = |at: &jiff::Timestamp| *at > moment && !self.covers(zone.to_datetime(*at).time());
        let end = ends.chain(jumps.take(4)).filter(is_end).min();
        // A whole day ends never: tomorrow is as quiet.
        let end = end.unwrap_or(limit);
        Some(Timestamp::from_millis(end.as_millisecond()))
    }

    pub(super) fn covers(&self, time: Time) -> bool {
        let (from, to) = (self.from.0, self.to.0);
        if from < to { (from..to).contains(&time) } else { time >= from || time < to }
    }
}

pub(super) fn zone(name: &str) -> Option<TimeZone> {
    if name == "UTC" { Some(TimeZone::UTC) } else { TimeZone::get(name).ok() }
}

/// When the clock shows this: once, twice, or never.
fn moments(zone: &TimeZone, shown: DateTime) -> Vec<jiff::Timestamp> {
    let offsets = match zone.to_ambiguous_timestamp(shown).offset() {
        AmbiguousOffset::Unambiguous { offset } => vec![offset],
        AmbiguousOffset::Gap { .. } => Vec::new(),
        AmbiguousOffset::Fold { before, after } => vec![before, after],
    };
    offsets.into_iter().filter_map(|offset| offset.to_timestamp(shown).ok()).collect()
}
