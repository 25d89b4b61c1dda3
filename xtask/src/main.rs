//! Every developer command: `cargo xtask <command>`. What is checked is decided here; how a thing works is not.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this talks to the person who runs it")]

mod agents;
mod browser;
mod clients;
mod debian;
mod node;
mod python;
mod readme;
mod sdk;
mod steps;
mod tidy;
mod web;

use std::process::ExitCode;

use anyhow::{Result, bail};
use steps::{Steps, cargo};

const HELP: &str = "\
cargo xtask <command>

  test          every check and every test; what CI runs
  check         the quick part of it: format, lints, tidiness
  gen           write the generated files in docs/reference, and the types of the SDKs from them
  gen --check   fail if they are not current
  agents        install the real agents that tests use, outside the checkout
  web           build the workbench into the folder that is committed
  bench         measure against the raw floor (see docs/benchmarks.md)
  clients       the clients of other protocols against the daemon
  docs          every block of the documentation, and what else it names
  sdk           the TypeScript SDK: generated types, build, tests against the daemon
  python        the Python SDK: checks, tests against the daemon
  examples      the examples in a browser
  bench-page    measure the workbench in a browser
  sim [SEED]    run the simulator long, or replay one seed
  fuzz [SEED]   wrap dangerous commands a million times, or replay one try
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test(),
        ["check"] => check(&mut Steps::default()),
        ["gen"] => cargo(GENERATE).and_then(|()| sdk::generate()).and_then(|()| python::generate()),
        ["gen", "--check"] => generated_is_current(),
        ["agents"] => agents::install().map(|home| println!("the agents are in {}", home.display())),
        ["web"] => web::build(),
        ["bench", rest @ ..] => cargo(&[&["bench", "-p", "turnloom", "--bench", "loom", "--"], rest].concat()),
        ["clients"] => clients::check(),
        ["docs"] => sdk::build().and_then(|()| clients::check_docs()),
        ["sdk"] => sdk::check(),
        ["python"] => python::check(),
        ["examples"] => sdk::prepare_and_check_examples(),
        ["bench-page"] => browser::bench(),
        ["sim"] => simulate(None),
        ["sim", seed] => simulate(Some(seed)),
        ["fuzz"] => fuzz(None),
        ["fuzz", seed] => fuzz(Some(seed)),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        other => Err(anyhow::anyhow!("there is no command {other:?}\n\n{HELP}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

const GENERATE: &[&str] = &["run", "--quiet", "-p", "turnloom", "--all-features", "--example", "generate"];
pub(crate) const ALL_TESTS: &[&str] = &["test", "--workspace", "--all-features"];

/// Cheapest and most likely to fail first.
fn test() -> Result<()> {
    let mut steps = Steps::default();
    let outcome = check(&mut steps).and_then(|()| {
        // Every step builds the same packages with the same features, so that what one has built serves the next.
        steps.run("unit tests: model, laws, simulator, log", || cargo(&[ALL_TESTS, &["--lib"]].concat()))?;
        steps.run("generated files are current", generated_is_current)?;
        steps.run("workbench: types, lints, tests, build, budget", web::check)?;
        steps.run("the real agents are installed", || agents::install().map(drop))?;
        steps.run("tests: processes, HTTP, command line, crashes, load", || {
            cargo(&[ALL_TESTS, &["--bins", "--test", "*"]].concat())
        })?;
        steps.run("the workbench in a browser", browser::check)?;
        steps.run("clients of other protocols", clients::check)?;
        steps.run("the SDK", sdk::check)?;
        steps.run("the Python SDK", python::check)?;
        steps.run("what the documentation shows", clients::check_docs)?;
        steps.run("the examples in a browser", sdk::check_examples)?;
        steps.run("documentation", || {
            steps::cargo_with(
                &["doc", "--workspace", "--no-deps", "--document-private-items"],
                &[("RUSTDOCFLAGS", "-D warnings")],
            )
        })?;
        steps.run("the README's commands", readme::check)?;
        steps.run("benchmarks run", || {
            cargo(&[
                "bench",
                "-p",
                "turnloom",
                "--all-features",
                "--bench",
                "loom",
                "--profile",
                "dev",
                "--",
                "--smoke",
            ])
        })
    });
    steps.report();
    outcome
}

fn check(steps: &mut Steps) -> Result<()> {
    steps.run("tidy", tidy::check)?;
    steps.run("format", || cargo(&["fmt", "--all", "--check"]))?;
    // Also builds everything that the later steps run.
    steps.run("lints", || cargo(&[ALL_TESTS, &["--all-targets", "--no-run"]].concat()))
}

fn generated_is_current() -> Result<()> {
    cargo(&[GENERATE, &["--", "--check"]].concat())?;
    python::generated_is_current()
}

fn fuzz(seed: Option<&str>) -> Result<()> {
    let test = ["test", "--release", "-p", "turnloom-core", "--lib", "no_wrapping_makes_danger_allowed"];
    match seed {
        Some(seed) if seed.parse::<u64>().is_err() => bail!("a seed is a number, not {seed:?}"),
        Some(seed) => steps::cargo_with(&test, &[("TURNLOOM_SEED", seed)]),
        None => steps::cargo_with(&test, &[("TURNLOOM_TRIES", "1000000")]),
    }
}

fn simulate(seed: Option<&str>) -> Result<()> {
    let test = ["test", "--release", "-p", "turnloom-core", "--lib", "the_laws_hold_in_every_schedule"];
    match seed {
        Some(seed) if seed.parse::<u64>().is_err() => bail!("a seed is a number, not {seed:?}"),
        Some(seed) => steps::cargo_with(&test, &[("TURNLOOM_SEED", seed)]),
        None => steps::cargo_with(&test, &[("TURNLOOM_SCHEDULES", "200000")]),
    }
}
