use std::collections::BTreeMap;

use proptest::prelude::*;

use super::quiet::zone;
use super::*;
use crate::event::{Outcome, PermissionRequest};
use crate::id::AskId;
use crate::summary::{AskKind, AskRequest, HeldSince, LostAsk, Summary, TurnEnd};

const NOON: i64 = 1_793_000_000_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn item(name: &str, kind: Kind, since: i64, blocks: u32) -> Item {
    Item {
        item_id: item_id(&SessionId::trusted(name), kind, "1"),
        kind,
        session_id: SessionId::trusted(name),
        session_title: name.to_owned(),
        runtime: "mock".to_owned(),
        title: "?".to_owned(),
        since: at(since),
        seq: Seq(1),
        blocks,
        turn_id: None,
        origin: None,
        ask: None,
        lost_ask: None,
        problem: None,
        held: None,
    }
}

fn names(items: &[Item]) -> Vec<&str> {
    items.iter().map(|item| item.session_title.as_str()).collect()
}

// ---- what is in it ----

fn ask(id: &str, tool: &str) -> PendingAsk {
    let request = PermissionRequest { tool_name: tool.to_owned(), ..PermissionRequest::default() };
    PendingAsk {
        ask_id: AskId::trusted(id),
        kind: AskKind::Permission,
        turn_id: None,
        seq: Seq(7),
        asked_at: at(NOON),
        title: "Run tests?".to_owned(),
        request: AskRequest::Permission(request),
        subagent_id: None,
        subagent_name: None,
    }
}

fn end(outcome: Outcome, origin: Origin) -> TurnEnd {
    let line = Some("All green".to_owned());
    TurnEnd { turn_id: None, seq: Seq(9), at: at(NOON), outcome, origin, reason: None, line }
}

fn kinds(summary: &Summary) -> Vec<(Kind, u32)> {
    let id = SessionId::trusted("s");
    let session = Session { id: &id, runtime: "mock", created_at: at(NOON - 1), summary };
    items_of(session).iter().map(|item| (item.kind, item.blocks)).collect()
}

#[test]
fn what_waits_what_failed_and_what_is_done_is_in_it() {
    let waiting =
        Summary { asks: vec![ask("a", "Bash"), ask("b", "Go over the budget")], queued: 2, ..Summary::default() };
    assert_eq!(kinds(&waiting), [(Kind::Ask, 3), (Kind::Budget, 3)], "the turn, and two messages behind it");
    let held = HeldSince { seq: Seq(3), at: at(NOON), why: Hold::Restarted };
    let held = Summary { held: 4, held_since: Some(held), ..Summary::default() };
    assert_eq!(kinds(&held), [(Kind::Held, 4)]);
    for (outcome, expected) in [
        (Outcome::Completed, vec![(Kind::Finished, 0)]),
        (Outcome::Failed, vec![(Kind::Failed, 0)]),
        (Outcome::Interrupted, vec![(Kind::Failed, 0)]),
        (Outcome::Stopped, vec![]),
    ] {
        let summary = Summary { last_end: Some(end(outcome, Origin::User)), ..Summary::default() };
        assert_eq!(kinds(&summary), expected, "{outcome:?}");
    }
}

#[test]
fn what_somebody_else_hears_of_is_not_in_it() {
    let delegated = Summary { last_end: Some(end(Outcome::Completed, Origin::Delegation)), ..Summary::default() };
    assert_eq!(kinds(&delegated), []);
    let archived = Summary { archived: true, asks: vec![ask("a", "Bash")], ..Summary::default() };
    assert_eq!(kinds(&archived), []);
    let copied = TurnEnd { at: at(NOON - 2), ..end(Outcome::Completed, Origin::User) };
    assert_eq!(
        kinds(&Summary { last_end: Some(copied), ..Summary::default() }),
        [],
        "it ended before the session was made"
    );
    let lost = LostAsk {
        ask_id: AskId::trusted("a"),
        kind: AskKind::Permission,
        title: "Run tests?".to_owned(),
        asked_at: at(NOON),
        lost_at: at(NOON),
        reason: "the daemon was restarted".to_owned(),
    };
    let interrupted = Some(end(Outcome::Interrupted, Origin::User));
    let summary = Summary { lost_ask: Some(lost), last_end: interrupted, ..Summary::default() };
    assert_eq!(kinds(&summary), [(Kind::LostAsk, 1)], "one thing, not two");
}

#[test]
fn an_id_follows_from_what_it_is_about_and_fits_a_topic() {
    let (one, other) = (SessionId::trusted("one"), SessionId::trusted("other"));
    assert_eq!(item_id(&one, Kind::Ask, "a"), item_id(&one, Kind::Ask, "a"));
    for different in [item_id(&other, Kind::Ask, "a"), item_id(&one, Kind::LostAsk, "a"), item_id(&one, Kind::Ask, "b")]
    {
        assert_ne!(item_id(&one, Kind::Ask, "a"), different);
        assert!(different.len() <= 32 && different.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
    }
}

// ---- its order ----

#[test]
fn what_blocks_more_overtakes_what_waits_longer() {
    let mut items = vec![
        item("done", Kind::Finished, NOON + 50, 0),
        item("young", Kind::Ask, NOON + 30_000, 4),
        item("broken", Kind::Failed, NOON, 0),
        item("old", Kind::Ask, NOON, 1),
    ];
    let now = at(NOON + 35_000);
    sort(&mut items, now);
    assert_eq!(names(&items), ["old", "young", "broken", "done"]);
    let change = next_change(&items, now).unwrap();
    assert_eq!(change, at(NOON + 40_001), "four times ten seconds are more than once forty");
    sort(&mut items, change);
    assert_eq!(names(&items), ["young", "old", "broken", "done"]);
    assert_eq!(next_change(&items, change), None);
}

fn some_items() -> impl Strategy<Value = Vec<Item>> {
    let kind = prop_oneof![
        4 => Just(Kind::Ask), 1 => Just(Kind::Budget), 1 => Just(Kind::LostAsk), 1 => Just(Kind::Held),
        1 => Just(Kind::Failed), 1 => Just(Kind::Finished),
    ];
    let one = (kind, -300_i64..300, 0_u32..6);
    proptest::collection::vec(one, 0..12).prop_map(|all| {
        let named = all.into_iter().enumerate();
        named.map(|(index, (kind, since, blocks))| item(&format!("s{index}"), kind, NOON + since, blocks)).collect()
    })
}

proptest! {
    #[test]
    fn the_order_does_not_depend_on_how_they_came(items in some_items(), seed in any::<u64>(), now in -100_i64..2_000) {
        let mut sorted = items.clone();
        sort(&mut sorted, at(NOON + now));
        let mut shuffled = items;
        let length = shuffled.len().max(1);
        shuffled.rotate_left(usize::try_from(seed % 97).unwrap() % length);
        sort(&mut shuffled, at(NOON + now));
        prop_assert_eq!(names(&sorted), names(&shuffled));
        let needs: Vec<bool> = sorted.iter().map(|item| item.kind.needs_you()).collect();
        prop_assert!(needs.is_sorted_by(|above, below| above >= below), "what waits for a person comes first");
    }

    #[test]
    fn between_two_changes_the_order_stays(items in some_items(), now in -100_i64..1_500) {
        let (mut sorted, now) = (items, NOON + now);
        sort(&mut sorted, at(now));
        let change = next_change(&sorted, at(now)).map_or(i64::MAX, Timestamp::millis);
        prop_assert!(change > now);
        // Every moment up to the change, and the change itself.
        for moment in now + 1..=change.min(now + 3_000) {
            let mut then = sorted.clone();
            sort(&mut then, at(moment));
            prop_assert_eq!(names(&then) == names(&sorted), moment < change, "at {} of {}", moment - now, change - now);
        }
    }
}

// ---- quiet hours ----

fn quiet(from: &str, to: &str, zone: &str) -> QuietHours {
    let time = |text| TimeOfDay::parse(text).unwrap();
    QuietHours { from: time(from), to: time(to), zone: zone.to_owned(), except_needs_you: false }
}

fn utc(text: &str) -> Timestamp {
    at(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
}

#[test]
fn a_night_is_as_long_as_the_clock_says() {
    let nights = quiet("22:00", "07:00", "Europe/Berlin");
    for (now, end) in [
        ("2026-01-10T21:30:00Z", Some("2026-01-11T06:00:00Z")),
        ("2026-01-10T20:59:59Z", None),
        ("2026-01-11T06:00:00Z", None),
        // The night in which the clock is set forward, and the one in which it is set back.
        ("2026-03-28T21:30:00Z", Some("2026-03-29T05:00:00Z")),
        ("2026-10-24T20:30:00Z", Some("2026-10-25T06:00:00Z")),
    ] {
        assert_eq!(nights.until(utc(now)), end.map(utc), "{now}");
    }
    // It should end at a time that does not exist: then it ends when the clock jumps.
    let jumped = quiet("22:00", "02:30", "Europe/Berlin");
    assert_eq!(jumped.until(utc("2026-03-29T00:30:00Z")), Some(utc("2026-03-29T01:00:00Z")));
    // And at one that exists twice: at the first, and it is quiet again in what is shown again.
    assert_eq!(jumped.until(utc("2026-10-25T00:10:00Z")), Some(utc("2026-10-25T00:30:00Z")));
    assert_eq!(jumped.until(utc("2026-10-25T00:40:00Z")), None);
    assert_eq!(jumped.until(utc("2026-10-25T01:10:00Z")), Some(utc("2026-10-25T01:30:00Z")));
}

#[test]
fn times_of_day_are_written_as_people_write_them() {
    for wrong in ["", "7", "7:00", "24:00", "12:60", "12:5", "12:00:00", "+1:00", "ab:cd", "１２:00"] {
        assert_eq!(TimeOfDay::parse(wrong), None, "{wrong}");
    }
    let json = serde_json::to_value(quiet("06:05", "23:59", "UTC")).unwrap();
    assert_eq!(json["from"], "06:05");
    assert!(quiet("06:05", "23:59", "Mars/Olympus").check().is_err());
}

proptest! {
    /// The end of quiet hours is the first minute at which the clock on the wall does not show them.
    #[test]
    fn quiet_hours_end_when_the_clock_says_so(
        from in 0_i8..24, from_minute in 0_i8..4, to in 0_i8..24, to_minute in 0_i8..4,
        place in 0_usize..5, day in 0_i64..365, minute in 0_i64..1440,
    ) {
        let zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"];
        let text = |hour: i8, quarter: i8| format!("{hour:02}:{:02}", quarter * 15);
        let hours = quiet(&text(from, from_minute), &text(to, to_minute), zones[place]);
        let zone = zone(zones[place]).unwrap();
        let now = utc("2026-01-01T00:00:00Z").plus_millis((day * 1440 + minute) * 60_000);
        let covers = |moment: Timestamp| {
            let moment = jiff::Timestamp::from_millisecond(moment.millis()).unwrap();
            hours.covers(zone.to_datetime(moment).time())
        };
        let expected = covers(now).then(|| {
            let ends = (1..=72 * 60).map(|minutes| now.plus_millis(minutes * 60_000)).find(|moment| !covers(*moment));
            ends.unwrap_or_else(|| now.plus_millis(72 * 60 * 60_000))
        });
        prop_assert_eq!(hours.until(now), expected);
    }
}

// ---- what devices are told ----

type Marks = BTreeMap<String, Mark>;
type ToldOf = BTreeMap<String, Told>;

fn apply(decision: &Decision, told: &mut ToldOf) {
    for (id, what) in &decision.tell {
        told.insert(id.clone(), *what);
    }
    for id in &decision.withdraw {
        told.remove(id);
    }
}

fn settings() -> Settings {
    Settings { delay_seconds: 0, ..Settings::default() }
}

#[test]
fn a_thing_is_told_once_and_taken_back_when_it_is_settled() {
    let asked = item("s", Kind::Ask, NOON, 1);
    let (items, id, mut told) = (vec![asked.clone()], asked.item_id, ToldOf::new());
    let settings = Settings { delay_seconds: 5, ..Settings::default() };
    let look = |items: &[Item], marks: &Marks, told: &ToldOf, now| {
        decide(items, marks, (&settings, None), (at(0), told), at(now))
    };
    let early = look(&items, &Marks::new(), &told, NOON + 1_000);
    assert_eq!(
        early,
        Decision { look_at: Some(at(NOON + 5_000)), ..Decision::default() },
        "perhaps somebody looks at it"
    );
    let due = look(&items, &Marks::new(), &told, NOON + 5_000);
    assert_eq!(due.tell, [(id.clone(), Told::default())]);
    apply(&due, &mut told);
    assert_eq!(look(&items, &Marks::new(), &told, NOON + 9_000), Decision::default(), "once");
    assert_eq!(look(&[], &Marks::new(), &told, NOON + 9_000).withdraw, std::slice::from_ref(&id), "answered elsewhere");
    let read = Marks::from([(id.clone(), Mark { read_at: Some(at(NOON)), ..Mark::default() })]);
    assert_eq!(look(&items, &read, &told, NOON + 9_000).withdraw, std::slice::from_ref(&id), "seen elsewhere");
    assert_eq!(look(&items, &read, &ToldOf::new(), NOON + 9_000), Decision::default(), "seen before it was told here");
}

#[test]
fn what_was_snoozed_is_taken_back_and_told_again() {
    let asked = item("s", Kind::Ask, NOON, 1);
    let (items, id) = (vec![asked.clone()], asked.item_id);
    let marks = Marks::from([(id.clone(), Mark { snoozed_until: Some(at(NOON + 60_000)), ..Mark::default() })]);
    let told = ToldOf::from([(id.clone(), Told::default())]);
    let settings = settings();
    let look = |told: &ToldOf, now| decide(&items, &marks, (&settings, None), (at(0), told), at(now));
    let asleep = look(&told, NOON + 10);
    assert_eq!((asleep.withdraw, asleep.look_at), (vec![id.clone()], Some(at(NOON + 60_000))));
    let again = (id.clone(), Told { occasion: Some(at(NOON + 60_000)) });
    assert_eq!(look(&ToldOf::new(), NOON + 60_000).tell, std::slice::from_ref(&again));
    assert_eq!(look(&told, NOON + 60_000).tell, std::slice::from_ref(&again), "also when nobody came to take it back");
    assert_eq!(look(&ToldOf::from([again]), NOON + 90_000), Decision::default());
}

#[test]
fn what_ended_is_told_by_choice_and_what_was_there_before_the_device_is_not() {
    let items = vec![item("f", Kind::Failed, NOON, 0), item("d", Kind::Finished, NOON, 0)];
    let settings = settings();
    let told = |done, added| {
        let decision = decide(&items, &Marks::new(), (&settings, done), (at(added), &ToldOf::new()), at(NOON + 1));
        decision.tell.len()
    };
    assert_eq!(told(None, 0), 1, "what failed, if nobody chose");
    assert_eq!(told(Some(DoneChoice::None), 0), 0);
    assert_eq!(told(Some(DoneChoice::All), 0), 2);
    assert_eq!(told(Some(DoneChoice::All), NOON + 1), 0);
    let stopped = Item { held: Some(Hold::Stopped), ..item("h", Kind::Held, NOON, 1) };
    let restarted = Item { held: Some(Hold::Restarted), ..item("r", Kind::Held, NOON, 1) };
    let decision =
        decide(&[stopped, restarted.clone()], &Marks::new(), (&settings, None), (at(0), &ToldOf::new()), at(NOON));
    assert_eq!(decision.tell, [(restarted.item_id, Told::default())], "who held it knows");
}

#[test]
fn what_happens_at_night_is_told_in_the_morning() {
    let hours = quiet("22:00", "07:00", "Europe/Berlin");
    let night = utc("2026-01-10T23:00:00Z");
    let items = vec![item("s", Kind::Ask, night.millis(), 1), item("f", Kind::Failed, night.millis(), 0)];
    let quiet = Settings { quiet: Some(hours.clone()), ..settings() };
    let at_night = decide(&items, &Marks::new(), (&quiet, None), (at(0), &ToldOf::new()), night);
    assert_eq!((at_night.tell.len(), at_night.look_at), (0, Some(utc("2026-01-11T06:00:00Z"))));
    let morning = decide(&items, &Marks::new(), (&quiet, None), (at(0), &ToldOf::new()), utc("2026-01-11T06:00:00Z"));
    assert_eq!(morning.tell.len(), 2);
    let except = Settings { quiet: Some(QuietHours { except_needs_you: true, ..hours }), ..settings() };
    let at_night = decide(&items, &Marks::new(), (&except, None), (at(0), &ToldOf::new()), night);
    assert_eq!(at_night.tell, [(items[0].item_id.clone(), Told::default())]);
    // What was told in the evening is not taken back by the night.
    let told = ToldOf::from([(items[0].item_id.clone(), Told::default())]);
    assert_eq!(decide(&items, &Marks::new(), (&quiet, None), (at(0), &told), night).withdraw, [""; 0]);
}

fn some_marks(items: usize) -> impl Strategy<Value = Vec<(bool, Option<i64>)>> {
    proptest::collection::vec((any::<bool>(), proptest::option::of(-300_i64..600)), items..=items)
}

proptest! {
    /// However often it is looked, and whenever it was interrupted, a device ends up with the same notices: those that stand.
    #[test]
    fn looking_again_tells_nothing_twice(
        items in some_items(), said in some_marks(12), delay in 0_u32..2, looks in proptest::collection::vec(0_i64..900, 1..8),
    ) {
        let mut items = items;
        sort(&mut items, at(NOON));
        let marks: Marks = items.iter().zip(said).map(|(item, (read, snooze))| {
            let mark = Mark { read_at: read.then_some(at(NOON)), snoozed_until: snooze.map(|ms| at(NOON + ms)) };
            (item.item_id.clone(), mark)
        }).collect();
        let settings = Settings { delay_seconds: delay, done: DoneChoice::All, ..Settings::default() };
        let look = |told: &ToldOf, now| decide(&items, &marks, (&settings, None), (at(0), told), at(now));
        let (mut told, mut now, mut sent) = (ToldOf::new(), NOON, Vec::new());
        for pause in looks {
            now += pause;
            let decision = look(&told, now);
            sent.extend(decision.tell.iter().map(|(id, what)| (id.clone(), what.occasion)));
            apply(&decision, &mut told);
            let again = look(&told, now);
            prop_assert!(again.tell.is_empty() && again.withdraw.is_empty(), "{again:?}");
            prop_assert!(again.look_at.is_none_or(|later| later > at(now)));
        }
        let count = sent.len();
        sent.sort();
        sent.dedup();
        prop_assert_eq!(sent.len(), count, "each occasion once");
        // Who looks only once, at the end, has the same.
        let mut late = ToldOf::new();
        apply(&look(&late, now), &mut late);
        prop_assert_eq!(late, told);
        for (id, _) in &look(&ToldOf::new(), now).tell {
            prop_assert!(marks.get(id).is_none_or(|mark| mark.read_at.is_none() && !mark.is_snoozed(at(now))));
        }
    }
}
