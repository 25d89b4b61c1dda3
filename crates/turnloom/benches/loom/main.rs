//! How fast the loom is, and how far from what the machine itself can do. Each measure runs on real parts (the database on disk, sockets on loopback,
//! the real program) and has its raw floor beside it, measured in the same run.
//!
//! `cargo bench -p turnloom --bench loom [-- --smoke] [NAME...]`; see `docs/benchmarks.md`.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a benchmark prints, does arithmetic on measurements, starts programs, and has nobody to hand an error to"
)]

mod agent;
mod append;
mod codex;
#[path = "../../../../tests/external/agent.rs"]
#[allow(clippy::pedantic, clippy::unwrap_used, dead_code, reason = "the tests' own, and checked with them")]
mod connected;
mod dialects;
mod external;
mod fan_out;
mod floor;
mod latency;
mod loom;
mod memory;
mod open;
mod policy;
mod real;
mod replay;
mod startup;
#[path = "../../../../tests/support/mod.rs"]
#[allow(clippy::pedantic, reason = "the tests' own, and checked with them")]
mod support;
mod table;
mod wire;

use std::process::ExitCode;

use table::Table;

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// Only to see that it works.
    pub(crate) smoke: bool,
}

impl Scale {
    pub(crate) fn of(self, whole: usize, smoke: usize) -> usize {
        if self.smoke { smoke } else { whole }
    }

    /// How often something is measured; the machine may be busy with something else.
    pub(crate) fn rounds(self) -> usize {
        self.of(7, 1)
    }
}

type Measure = fn(Scale, &mut Table);

const MEASURES: &[(&str, Measure)] = &[
    ("append", append::measure),
    ("latency", latency::measure),
    ("fan-out", fan_out::measure),
    ("replay", replay::measure),
    ("dialects", dialects::measure),
    ("open", open::measure),
    ("startup", startup::measure),
    ("memory", memory::measure),
    ("policy", policy::measure),
    ("agents", real::measure),
    ("codex", codex::measure),
    ("external", external::measure),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // The daemon takes this program for its own, and starts it in these roles.
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["guard", instance] => return turnloom::process::guard::run(instance),
        ["mock-agent"] => return agent::main(),
        ["stamp", program, args @ ..] => return real::stamp_lines(program, args),
        _ => {}
    }
    // Cargo says `--bench` when it is to be measured; without it, somebody runs every target there is.
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let scale = Scale { smoke: has("--smoke") || !has("--bench") };
    let wanted: Vec<&str> = args.iter().map(String::as_str).filter(|arg| !arg.starts_with("--")).collect();
    if let Some(unknown) = wanted.iter().find(|name| !MEASURES.iter().any(|(known, _)| known == *name)) {
        let known: Vec<&str> = MEASURES.iter().map(|(name, _)| *name).collect();
        eprintln!("there is no measure {unknown:?}; there are {}", known.join(", "));
        return ExitCode::FAILURE;
    }
    let mut table = Table::default();
    for (name, measure) in MEASURES.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name)) {
        eprintln!("measuring {name}");
        measure(scale, &mut table);
    }
    println!("{table}");
    ExitCode::SUCCESS
}
