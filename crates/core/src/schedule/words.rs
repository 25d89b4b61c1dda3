//! A rule as people say it: `0 3 * * 1-5` is *at 03:00, Monday to Friday*. What is not known here is said as croner says it.

use super::{Times, When};

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const MAX_TIMES: usize = 6;

/// When runs are due, in words.
pub fn words(when: &When, times: &Times) -> String {
    match when {
        When::Cron { expression } => {
            of_cron(expression).unwrap_or_else(|| times.described().unwrap_or_else(|| expression.clone()))
        }
        When::Interval { .. } => times.every_ms().map_or_else(String::new, of_interval),
        When::Once { at } => {
            let (date, time) = times.date_and_time(*at);
            format!("once, on {date} at {time}")
        }
    }
}

/// The words of an expression that has nothing unusual.
fn of_cron(expression: &str) -> Option<String> {
    let expression = match expression.trim().to_ascii_lowercase().as_str() {
        "@yearly" | "@annually" => "0 0 1 1 *".to_owned(),
        "@monthly" => "0 0 1 * *".to_owned(),
        "@weekly" => "0 0 * * 0".to_owned(),
        "@daily" | "@midnight" => "0 0 * * *".to_owned(),
        "@hourly" => "0 * * * *".to_owned(),
        other => other.to_owned(),
    };
    let fields: Vec<&str> = expression.split_whitespace().collect();
    let (minute, hour, day, month, weekday) = match fields.as_slice() {
        [minute, hour, day, month, weekday] | ["0", minute, hour, day, month, weekday] => {
            (*minute, *hour, *day, *month, *weekday)
        }
        _ => return None,
    };
    let days = days(day, weekday)?;
    let months = if month == "*" { None } else { Some(format!("in {}", names(month, &MONTHS, 1)?)) };
    let (times, names_time) = times_of_day(minute, hour)?;
    // What comes by the minute or the hour is not said to come every day.
    let days = days.or_else(|| names_time.then(|| "every day".to_owned()));
    let rest: Vec<String> = [days, months].into_iter().flatten().collect();
    Some([vec![times], rest].concat().join(", ").replace(", every day", " every day"))
}

/// The part about minutes and hours, and whether it names times of day.
fn times_of_day(minute: &str, hour: &str) -> Option<(String, bool)> {
    let of = |unit: &str, step: u32| if step == 1 { format!("every {unit}") } else { format!("every {step} {unit}s") };
    match (minute, hour) {
        ("*", "*") => Some((of("minute", 1), false)),
        (_, "*") => match (step(minute), numbers(minute)) {
            (Some(step), _) => Some((of("minute", step), false)),
            (None, Some(minutes)) if minutes == [0] => Some((of("hour", 1), false)),
            (None, Some(minutes)) if minutes.len() <= MAX_TIMES => {
                let at: Vec<String> = minutes.iter().map(|minute| format!(":{minute:02}")).collect();
                Some((format!("every hour at {}", listed(&at)), false))
            }
            _ => None,
        },
        _ => {
            let minutes = numbers(minute)?;
            if let (Some(step), [minute]) = (step(hour), minutes.as_slice()) {
                let at = if *minute == 0 { String::new() } else { format!(" at :{minute:02}") };
                return Some((format!("{}{at}", of("hour", step)), false));
            }
            let hours = numbers(hour)?;
            if hours.len() * minutes.len() > MAX_TIMES {
                return None;
            }
            let each = hours.iter().flat_map(|hour| minutes.iter().map(move |minute| format!("{hour:02}:{minute:02}")));
            Some((format!("at {}", listed(&each.collect::<Vec<_>>())), true))
        }
    }
}

/// The part about days. Every day needs no words; what is unusual has none here.
#[expect(clippy::option_option, reason = "no words are another thing than words that are not known")]
fn days(day: &str, weekday: &str) -> Option<Option<String>> {
    let of_month = |day: &str| {
        if day == "l" {
            return Some("on the last day of the month".to_owned());
        }
        let days = numbers(day)?;
        let word = if days.len() == 1 { "day" } else { "days" };
        let days: Vec<String> = days.iter().map(u32::to_string).collect();
        Some(format!("on {word} {} of the month", listed(&days)))
    };
    Some(match (day, weekday) {
        ("*" | "?", "*" | "?") => None,
        ("*" | "?", weekday) => Some(names(weekday, &DAYS, 0).map(|names| {
            if weekday.contains('-') && !weekday.contains(',') { names } else { format!("on {names}") }
        })?),
        (day, "*" | "?") => Some(of_month(day)?),
        // Either is enough; so cron has it.
        (day, weekday) => Some(format!("{}, and on {}", of_month(day)?, names(weekday, &DAYS, 0)?)),
    })
}

/// `*/15` is 15.
fn step(field: &str) -> Option<u32> {
    field.strip_prefix("*/")?.parse().ok().filter(|step| *step > 0)
}

/// A list of numbers and ranges, written out.
fn numbers(field: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in field.split(',') {
        match part.split_once('-') {
            Some((from, to)) => {
                let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
                all.extend((from..=to).take(60));
            }
            None => all.push(part.parse().ok()?),
        }
    }
    Some(all)
}

/// A list of names and ranges of them.
fn names(field: &str, known: &[&str], first: usize) -> Option<String> {
    let one = |word: &str| -> Option<&str> {
        let index = match word.parse::<usize>() {
            // Sunday is 0 and 7.
            Ok(7) if known.len() == 7 => 0,
            Ok(number) => number.checked_sub(first)?,
            Err(_) => known.iter().position(|name| word.len() == 3 && name.to_ascii_lowercase().starts_with(word))?,
        };
        known.get(index).copied()
    };
    let mut said = Vec::new();
    for part in field.split(',') {
        said.push(match part.split_once('-') {
            Some((from, to)) => format!("{} to {}", one(from)?, one(to)?),
            None => one(part)?.to_owned(),
        });
    }
    Some(listed(&said))
}

fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn of_interval(every_ms: i64) -> String {
    let units = [(86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"), (1, "millisecond")];
    let mut left = every_ms;
    let mut said = Vec::new();
    for (unit, name) in units {
        let count = left / unit;
        left %= unit;
        if count > 0 {
            said.push((count, name));
        }
    }
    if let [(1, name)] = said.as_slice() {
        return format!("every {name}");
    }
    let each = said.iter().map(|(count, name)| format!("{count} {name}{}", if *count == 1 { "" } else { "s" }));
    format!("every {}", listed(&each.collect::<Vec<_>>()))
}
