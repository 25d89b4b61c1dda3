use super::simulation::{self, VecLog};

/// How many schedules the test command runs.
const SCHEDULES: u64 = 4_000;
const STEPS: usize = 120;

/// `TURNLOOM_SEED=n` replays one schedule.
#[test]
fn the_laws_hold_in_every_schedule() {
    let seed = std::env::var("TURNLOOM_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in seed.map_or(0..SCHEDULES, |seed| seed..seed + 1) {
        simulation::run(seed, STEPS, VecLog::default());
    }
}
