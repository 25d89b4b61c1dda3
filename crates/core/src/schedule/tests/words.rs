//! Rules as people read them.

use super::*;

fn said(when: &serde_json::Value) -> String {
    let when: When = serde_json::from_value(when.clone()).unwrap();
    words(&when, &Times::new(&when, "Europe/Berlin", Timestamp::default()).unwrap())
}

#[test]
fn expressions_are_said_in_words() {
    let known = [
        ("0 3 * * *", "at 03:00 every day"),
        ("30 9,17 * * MON-FRI", "at 09:30 and 17:30, Monday to Friday"),
        ("0 8 * * 1,3,7", "at 08:00, on Monday, Wednesday and Sunday"),
        ("*/15 * * * *", "every 15 minutes"),
        ("* * * * *", "every minute"),
        ("0 * * * *", "every hour"),
        ("5,35 * * * *", "every hour at :05 and :35"),
        ("0 */6 * * *", "every 6 hours"),
        ("20 */2 * * SAT", "every 2 hours at :20, on Saturday"),
        ("0 0 1 * *", "at 00:00, on day 1 of the month"),
        ("0 12 L * *", "at 12:00, on the last day of the month"),
        ("0 0 1,15 JAN,jul *", "at 00:00, on days 1 and 15 of the month, in January and July"),
        ("0 0 13 * 5", "at 00:00, on day 13 of the month, and on Friday"),
        ("0 30 7 * * *", "at 07:30 every day"),
        ("@daily", "at 00:00 every day"),
        ("@hourly", "every hour"),
        ("@weekly", "at 00:00, on Sunday"),
        ("*/5 * * 12 *", "every 5 minutes, in December"),
    ];
    for (expression, words) in known {
        assert_eq!(said(&json!({ "type": "cron", "expression": expression })), words, "{expression}");
    }
}

#[test]
fn what_is_unusual_is_said_too() {
    for expression in ["0 12 * * MON#2", "*/10 * * * * *", "0 0-23 * * *", "7-50/3 * * * *", "0 0 15W * *"] {
        let words = said(&json!({ "type": "cron", "expression": expression }));
        assert!(words.len() > 5 && words != expression, "{expression}: {words:?}");
    }
}

#[test]
fn intervals_and_moments_are_said_in_words() {
    let interval = |every: &str| said(&json!({ "type": "interval", "every": every }));
    assert_eq!(interval("15m"), "every 15 minutes");
    assert_eq!(interval("1h"), "every hour");
    assert_eq!(interval("1h 30m"), "every 1 hour and 30 minutes");
    assert_eq!(interval("PT36H"), "every 1 day and 12 hours");
    assert_eq!(interval("250ms"), "every 250 milliseconds");
    assert_eq!(said(&json!({ "type": "once", "at": "2027-01-01T00:00:00Z" })), "once, on 2027-01-01 at 01:00");
}
