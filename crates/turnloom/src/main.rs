//! The `turnloom` program: the daemon, its command line, and the two small roles it plays for itself, guard and mock agent.

use std::process::ExitCode;

use turnloom::{cli, process, runtime};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // These two start for every agent, so they start before anything else is built up.
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["guard", instance] => process::guard::run(instance),
        ["mock-agent"] => runtime::mock::main(),
        ["mock-agent", "--linger"] => runtime::mock::linger(),
        _ => cli::main(),
    }
}
