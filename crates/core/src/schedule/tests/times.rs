use jiff::tz::TimeZone;

use super::*;

fn listed(expression: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
    let times = cron(expression, zone);
    let all = std::iter::successors(times.after(at(from)), |due| times.after(*due));
    all.take(count).map(|due| due.to_string().replace(":00.000Z", "Z")).collect()
}

#[test]
fn a_fixed_time_that_does_not_exist_runs_when_the_clock_has_jumped() {
    // Berlin, 29 March 2026: 02:00 becomes 03:00, which is 01:00 UTC.
    let due = listed("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z", 4);
    assert_eq!(due, ["2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z", "2026-03-31T00:30Z"]);
    // Lord Howe moves by half an hour: 4 October 2026, 02:00 becomes 02:30, which is 15:30 UTC of the day before.
    let due = listed("15 2 * * *", "Australia/Lord_Howe", "2026-10-02T00:00:00Z", 3);
    assert_eq!(due, ["2026-10-02T15:45Z", "2026-10-03T15:30Z", "2026-10-04T15:15Z"]);
}

#[test]
fn a_fixed_time_that_exists_twice_runs_the_first_time() {
    // Berlin, 25 October 2026: 03:00 summer time becomes 02:00, which is 01:00 UTC.
    let due = listed("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2);
    assert_eq!(due, ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]);
    // Several times of day are fixed times as well.
    let due = listed("10,40 1-2 * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", 5);
    assert_eq!(
        due,
        ["2026-10-24T23:10Z", "2026-10-24T23:40Z", "2026-10-25T00:10Z", "2026-10-25T00:40Z", "2026-10-26T00:10Z"]
    );
    let due = listed("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", 2);
    assert_eq!(due, ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]);
}

#[test]
fn what_repeats_within_hours_goes_by_the_hours_that_are_there() {
    let due = listed("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:29:00Z", 4);
    assert_eq!(due, ["2026-03-29T00:30Z", "2026-03-29T01:00Z", "2026-03-29T01:30Z", "2026-03-29T02:00Z"]);
    let due = listed("*/30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 4);
    assert_eq!(due, ["2026-10-25T00:30Z", "2026-10-25T01:00Z", "2026-10-25T01:30Z", "2026-10-25T02:00Z"]);
}

#[test]
fn a_day_that_was_left_out_ends_nothing() {
    // Samoa left out 30 December 2011: what was due then is due when the 31st begins.
    let due = listed("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", 3);
    assert_eq!(due, ["2011-12-29T22:00Z", "2011-12-30T10:00Z", "2011-12-30T22:00Z"]);
}

/// By another way: every minute of four years, its wall clock looked at.
#[test]
fn every_minute_of_years_is_due_or_not() {
    type IsDue = fn(&jiff::Zoned) -> bool;
    let wanted: [(&str, IsDue); 4] = [
        ("*/15 * * * *", |zoned| zoned.minute() % 15 == 0),
        ("7 */6 * * *", |zoned| zoned.minute() == 7 && zoned.hour() % 6 == 0),
        ("*/20 9-17 * * MON-FRI", |zoned| {
            zoned.minute() % 20 == 0 && (9..=17).contains(&zoned.hour()) && zoned.weekday().to_monday_zero_offset() < 5
        }),
        ("*/30 * 1,15 * *", |zoned| zoned.minute() % 30 == 0 && [1, 15].contains(&zoned.day())),
    ];
    let (from, until) = (at("2025-12-31T23:59:59Z"), at("2028-01-01T00:00:00Z"));
    for zone in ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"] {
        let place = TimeZone::get(zone).unwrap();
        for (expression, is_due) in wanted {
            let found = between(&cron(expression, zone), from, until);
            let first = from.millis() / 60_000 + 1;
            let minutes = (first..=until.millis() / 60_000).map(|minute| minute * 60_000);
            let expected: Vec<Timestamp> = minutes
                .filter(|millis| is_due(&jiff::Timestamp::from_millisecond(*millis).unwrap().to_zoned(place.clone())))
                .map(Timestamp::from_millis)
                .collect();
            assert!(found == expected, "{expression} in {zone}: {} and {}", found.len(), expected.len());
        }
    }
}

/// A fixed time of day runs once on each day, whatever the clock does.
#[test]
fn a_fixed_time_runs_once_a_day_for_years() {
    for zone in ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Sao_Paulo"]
    {
        for expression in ["30 2 * * *", "0 0 * * *", "15 1 * * *", "59 23 * * *"] {
            let due = between(&cron(expression, zone), at("2026-01-01T11:00:00Z"), at("2036-01-01T11:00:00Z"));
            let place = TimeZone::get(zone).unwrap();
            let day = |due: &Timestamp| {
                jiff::Timestamp::from_millisecond(due.millis()).unwrap().to_zoned(place.clone()).date()
            };
            let days: Vec<jiff::civil::Date> = due.iter().map(day).collect();
            let gaps = days.windows(2).filter(|pair| pair[0].tomorrow().unwrap() != pair[1]).count();
            assert_eq!((due.len(), gaps), (3652, 0), "{expression} in {zone}");
        }
    }
}

#[test]
fn backwards_is_forwards() {
    for zone in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"] {
        for expression in ["*/20 * * * *", "30 2 * * *", "0 3 * * SUN", "0 0 L * *", "10,40 1-3 * * *"] {
            let times = cron(expression, zone);
            for (from, until) in
                [("2026-03-01T00:00:00Z", "2026-04-12T00:00:00Z"), ("2026-09-25T00:00:00Z", "2026-11-12T00:00:00Z")]
            {
                let forwards = between(&times, at(from), at(until));
                let earlier = |due: &Timestamp| times.until(due.plus_millis(-1));
                let backwards = std::iter::successors(times.until(at(until)), earlier);
                let mut backwards: Vec<Timestamp> = backwards.take_while(|due| *due > at(from)).collect();
                backwards.reverse();
                assert_eq!(forwards, backwards, "{expression} in {zone}");
            }
        }
    }
}

#[test]
fn intervals_stay_on_their_grid() {
    let from = at("2026-01-01T00:00:00Z");
    let every = |every: &str| Times::new(&When::Interval { every: every.to_owned(), from: None }, "UTC", from).unwrap();
    assert_eq!(every("15m").after(from), Some(at("2026-01-01T00:15:00Z")));
    assert_eq!(every("15m").after(at("2026-01-01T00:15:00Z")), Some(at("2026-01-01T00:30:00Z")));
    assert_eq!(every("15m").until(at("2026-01-01T00:29:59.999Z")), Some(at("2026-01-01T00:15:00Z")));
    assert_eq!(every("15m").until(at("2026-01-01T00:14:59.999Z")), None, "the beginning itself is none");
    assert_eq!(every("PT1H").after(at("2020-01-01T00:00:00Z")), Some(at("2026-01-01T01:00:00Z")));
    assert_eq!(every("500 ms").after(at("2026-01-01T00:00:00.500Z")), Some(at("2026-01-01T00:00:01Z")));
    let once = Times::new(&When::Once { at: from }, "UTC", from).unwrap();
    assert_eq!((once.after(from.plus_millis(-1)), once.after(from)), (Some(from), None));
    assert_eq!((once.until(from.plus_millis(-1)), once.until(from.plus_millis(9))), (None, Some(from)));
}

#[test]
fn what_makes_no_sense_is_refused_with_a_word() {
    let now = at("2026-01-01T00:00:00Z");
    let check = |when: serde_json::Value, zone: &str| {
        let definition = Definition { zone: zone.to_owned(), ..definition(&when) };
        definition.check(now, now).map(drop).map_err(|error| error.code())
    };
    let cron = |expression: &str| json!({ "type": "cron", "expression": expression });
    assert_eq!(check(cron("0 3 * * *"), "Europe/Berlin"), Ok(()));
    for expression in ["", "x", "* * * *", "61 * * * *", "0 0 0 0 0", "0 3 * * * * 2030", "* * * * MOO", "*/0 * * * *"]
    {
        assert_eq!(check(cron(expression), "UTC"), Err("invalid_cron"), "{expression}");
    }
    assert_eq!(check(cron("0 0 30 2 *"), "UTC"), Err("never_due"));
    for zone in ["", "Mars/Olympus", "Europe", "+02:00 x"] {
        assert_eq!(check(cron("0 3 * * *"), zone), Err("unknown_zone"), "{zone}");
    }
    for every in ["", "soon", "0s", "99ms", "-5m", "367 days", "9999999999999999h"] {
        let when = json!({ "type": "interval", "every": every });
        assert_eq!(check(when, "UTC"), Err("invalid_interval"), "{every}");
    }
    assert_eq!(check(json!({ "type": "once", "at": "2025-12-31T00:00:00Z" }), "UTC"), Err("in_the_past"));
    assert_eq!(check(json!({ "type": "once", "at": "2026-01-01T00:00:00.001Z" }), "UTC"), Ok(()));
}
