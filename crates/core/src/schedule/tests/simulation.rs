//! A world with a wall clock that is set, a store that keeps what was written whole, sessions that take each message once, and a daemon that dies
//! between any two of its steps. Whatever happens, each due time has one turn, or a record that says why not.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::id::{RunId, Seq};

/// What outlives the daemon.
#[derive(Default)]
struct World {
    schedule: Option<Schedule>,
    runs: BTreeMap<RunId, Run>,
    /// Messages that sessions have, and when their turns end. A message that is there is not taken again.
    turns: BTreeMap<RunId, Timestamp>,
    /// How often each message was new.
    taken: BTreeMap<RunId, u32>,
    /// How often the clock was set back: so that time goes on all the same.
    jumps_back: u32,
}

/// `SplitMix64`, so that a seed that fails can be run again.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn one_in(&mut self, chance: u64) -> bool {
        self.below(chance) == 0
    }
}

impl World {
    fn write(&mut self, machine: &Machine, out: &Output) {
        self.schedule = Some(machine.schedule().clone());
        self.runs.extend(out.runs.iter().map(|run| (run.run_id.clone(), run.clone())));
    }

    fn load(&self) -> Machine {
        let schedule = self.schedule.clone().unwrap();
        let open = schedule.progress.open.iter().map(|id| self.runs[id].clone()).collect();
        Machine::load(schedule, open).unwrap()
    }
}

/// One life of a daemon; it ends when it dies.
fn live(world: &mut World, now: &mut Timestamp, until: Timestamp, random: &mut Random, crash: u64) {
    let mut machine = world.load();
    let mut out = Output::default();
    machine.recover(*now, &mut out);
    loop {
        // Written, then done; it may die before and after each.
        if random.one_in(crash) {
            return;
        }
        if out.changed {
            world.write(&machine, &out);
        }
        if random.one_in(crash) {
            return;
        }
        let effects = std::mem::take(&mut out.effects);
        out = Output::default();
        for effect in effects {
            match effect {
                Effect::Start(run) => {
                    let session_id = machine.run(&run).and_then(|run| run.session_id.clone()).unwrap();
                    if !world.turns.contains_key(&run) {
                        let takes = random.below(4) * 20_000;
                        world.turns.insert(run.clone(), now.plus_millis(i64::try_from(takes).unwrap()));
                        *world.taken.entry(run.clone()).or_default() += 1;
                    }
                    if random.one_in(crash) {
                        return;
                    }
                    machine.started(&run, Started { session_id, turn_id: None, after: Seq::ZERO }, &mut out);
                }
                Effect::Stop(run) => {
                    if let Some(end) = world.turns.get_mut(&run) {
                        *end = (*end).min(*now);
                    }
                }
            }
        }
        let ended: Vec<RunId> = machine
            .open()
            .filter(|run| run.state == RunState::Running && world.turns.get(&run.run_id).is_some_and(|end| end <= now))
            .map(|run| run.run_id.clone())
            .collect();
        for run in ended {
            let end = End { at: *now, outcome: RunOutcome::Completed, reason: None, usage: None, result: None };
            machine.ended(&run, end, *now, &mut out);
        }
        if out.changed || !out.effects.is_empty() {
            continue;
        }
        if *now >= until {
            return;
        }
        // It sleeps until something is due, wakes early, late, or somebody sets the clock.
        let sleep = machine.wake_at().map_or(60_000, |wake| (wake.millis() - now.millis()).clamp(1, 10_000));
        let late = i64::try_from(random.below(2_000)).unwrap();
        *now = now.plus_millis(sleep + if random.one_in(3) { late } else { 0 });
        match random.below(60) {
            0 => *now = now.plus_millis(i64::try_from(random.below(30 * 60_000)).unwrap()),
            1 if world.jumps_back < 2 && crash < u64::MAX => {
                world.jumps_back += 1;
                *now = now.plus_millis(-i64::try_from(random.below(3 * 3_600_000)).unwrap());
            }
            _ => {}
        }
        machine.tick(*now, &mut out);
    }
}

fn check(world: &World, definition: &Definition, begin: Timestamp, seed: u64) {
    for (run, times) in &world.taken {
        assert_eq!(*times, 1, "seed {seed}: {run} has one turn");
    }
    let schedule = world.schedule.as_ref().unwrap();
    let times = definition.times(begin).unwrap();
    let due = between(&times, begin, schedule.progress.decided);
    let mut known = BTreeSet::new();
    for run in world.runs.values() {
        match run.missed {
            Some(missed) => {
                let range = due.iter().filter(|due| (missed.first..=missed.last).contains(due));
                let range: Vec<_> = range.collect();
                assert_eq!(range.len(), missed.count as usize, "seed {seed}: as many as it says");
                for due in range {
                    assert!(known.insert(*due), "seed {seed}: {due} is told twice");
                }
            }
            None => assert!(known.insert(run.due_at), "seed {seed}: {} is told twice", run.due_at),
        }
        let ran = world.taken.contains_key(&run.run_id);
        let is_over = matches!(run.outcome, Some(RunOutcome::Skipped | RunOutcome::Missed));
        assert!(!(ran && is_over), "seed {seed}: {} ran, and says it did not", run.run_id);
        if run.outcome == Some(RunOutcome::Completed) {
            assert!(ran, "seed {seed}: {} says it ran", run.run_id);
        }
    }
    let due: BTreeSet<Timestamp> = due.into_iter().collect();
    assert_eq!(known, due, "seed {seed}: every due time has its record, and nothing else has");
}

#[test]
fn every_due_time_has_one_turn_or_a_record() {
    let begin = at("2026-03-28T23:00:00Z");
    let rules = [MissedRule::Once, MissedRule::Skip, MissedRule::All { at_most: 3 }];
    let overlaps = [Overlap::Skip, Overlap::Queue, Overlap::Stop];
    let whens = [
        json!({ "type": "interval", "every": "45s" }),
        json!({ "type": "cron", "expression": "*/2 * * * *" }),
        json!({ "type": "cron", "expression": "30 2,3 * * *" }),
        json!({ "type": "once", "at": "2026-03-29T00:30:00Z" }),
    ];
    for seed in 0..200_u64 {
        let mut random = Random(seed);
        let pick = |random: &mut Random, count: usize| usize::try_from(random.below(count as u64)).unwrap();
        let definition = Definition {
            zone: "Europe/Berlin".to_owned(),
            missed: rules[pick(&mut random, 3)],
            overlap: overlaps[pick(&mut random, 3)],
            jitter_seconds: [0, 0, 90][pick(&mut random, 3)],
            ..definition(&whens[pick(&mut random, 4)])
        };
        let mut world = World::default();
        let machine = Machine::create(id("s"), definition.clone(), begin).unwrap();
        world.write(&machine, &Output::default());
        let (mut now, until) = (begin, begin.plus_millis(4 * 3_600_000));
        while now < until {
            live(&mut world, &mut now, until, &mut random, 25);
            // Nobody is there for a while.
            now = now.plus_millis(i64::try_from(random.below(5) * random.below(60_000)).unwrap());
        }
        // In the end a daemon lives long enough to finish what was begun.
        let end = now.plus_millis(600_000);
        live(&mut world, &mut now, end, &mut random, u64::MAX);
        check(&world, &definition, begin, seed);
        let ends = world.runs.values().filter(|run| run.state != RunState::Ended).count();
        assert!(ends <= 1 + MAX_QUEUED, "seed {seed}");
    }
}
