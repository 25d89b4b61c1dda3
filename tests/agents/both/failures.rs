//! Programs that are missing, too old, or no such programs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use super::{Agent, ECHO, for_each_agent};
use crate::place::{Model, Place};

for_each_agent! { the_program_is_missing the_program_is_too_old_or_no_such_program }

fn with_program(agent: &Agent, program: &Path) -> Place {
    let config = format!("[{}]\nprogram = \"{}\"\n", agent.runtime, program.display());
    Place::with(&config, &[], Model::start(ECHO))
}

fn the_program_is_missing(agent: &Agent) {
    let mut place = with_program(agent, Path::new("/nowhere/agent"));
    let info = place.agent_info(agent.runtime);
    assert_eq!(info["installed"], false);
    assert!(info["fix"].as_str().unwrap().contains("npm install"), "{info}");
    assert!(place.doctor().contains("npm install"), "{}", place.doctor());
    let id = place.session(agent.runtime, json!({}));
    place.turn(&id, "hello").failed("agent_not_found");
    place.end();
}

fn the_program_is_too_old_or_no_such_program(agent: &Agent) {
    let old = format!("echo '{}'", agent.old);
    for (script, code) in [(old.as_str(), "agent_too_old"), ("echo broken >&2; exit 3", "agent_not_executable")] {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("agent");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut place = with_program(agent, &program);
        assert!(place.agent_info(agent.runtime)["problem"].is_string());
        let id = place.session(agent.runtime, json!({}));
        place.turn(&id, "hello").failed(code);
        assert!(place.doctor().contains(code), "{}", place.doctor());
        place.end();
    }
}
