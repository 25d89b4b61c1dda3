use super::simulation::{self, VecLog};

/// How many schedules the test command runs.
const SCHEDULES: u64 = 3_000;
const STEPS: usize = 120;

/// `TURNLOOM_SEED=n` replays one schedule, `TURNLOOM_SCHEDULES=n` runs more of them.
#[test]
fn the_laws_hold_in_every_schedule() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("TURNLOOM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("TURNLOOM_SCHEDULES").unwrap_or(SCHEDULES),
    };
    for seed in seeds {
        simulation::run(seed, STEPS, VecLog::default());
    }
}
