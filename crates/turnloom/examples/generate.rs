//! Writes the generated files of `docs/reference`, or with `--check` says which of them are not current. Run by `cargo xtask gen`.

#![expect(clippy::print_stderr, reason = "this talks to the person who runs it")]

use std::path::Path;
use std::process::ExitCode;

use turnloom::{cli, config, http};

fn main() -> ExitCode {
    let check = std::env::args().any(|arg| arg == "--check");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let json = |value: &serde_json::Value| format!("{value:#}\n");
    let files = [
        ("openapi.json", json(&http::openapi())),
        ("asyncapi.json", json(&http::asyncapi())),
        ("events.schema.json", json(&turnloom_core::event::schema())),
        ("events.md", turnloom_core::event::samples_page()),
        ("config.schema.json", json(schemars::schema_for!(config::Config).as_value())),
        ("cli.md", cli::reference()),
    ];
    let mut stale = false;
    for (name, content) in files {
        let path = folder.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|current| current == content) {
            continue;
        }
        if check {
            stale = true;
            eprintln!("docs/reference/{name} is not current; run `cargo xtask gen` and commit it");
        } else if let Err(error) = std::fs::write(&path, content) {
            stale = true;
            eprintln!("cannot write docs/reference/{name}: {error}");
        } else {
            eprintln!("wrote docs/reference/{name}");
        }
    }
    if stale { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
