//! The `turnloom` program: the daemon, its command line, and the small roles it plays for itself: guard, gate and mock agent.

use std::process::ExitCode;

use turnloom::{cli, process, runtime};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // These start for every agent or for every call, so they start before anything else is built up.
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["guard", instance] => process::guard::run(instance),
        ["gate", socket] => runtime::codex::hook::run(socket),
        ["mock-agent"] => runtime::mock::main(),
        ["mock-agent", "--linger"] => runtime::mock::linger(),
        _ => cli::main(),
    }
}
