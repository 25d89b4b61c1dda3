//! What the modes that ship promise, and what each sort of act needs.

use serde_json::json;

use super::{DIRECTORY, bash, world};
use crate::policy::{Call, Effect, Kind, MODES, Policy, decide};

#[test]
fn the_modes_that_ship_are_there() {
    let policy = Policy::shipped();
    for mode in MODES {
        assert!(policy.has_mode(mode));
    }
    // A mode that nobody knows asks, and denies what is absolute.
    assert_eq!(bash(&policy, "nobody", "ls").effect, Effect::Ask);
    assert_eq!(bash(&policy, "nobody", "rm -rf /").effect, Effect::Deny);
}

#[test]
fn a_decision_says_who_decided_and_why() {
    let policy = Policy::shipped();
    let decision = bash(&policy, "plan", "ls && touch a.txt");
    assert_eq!(decision.effect, Effect::Deny);
    assert_eq!(decision.rule.to_string(), "plan/only-reads");
    assert_eq!(decision.reason, "plan mode only reads and searches: `touch a.txt` writes /code/app/a.txt");
    assert_eq!(decision.commands.len(), 2);
    assert_eq!(decision.decided_by.0, 1);
    let written = serde_json::to_value(&decision).unwrap();
    assert_eq!(
        written["commands"][1],
        json!({"words": ["touch", "a.txt"], "acts": [{"does": "write", "path": "/code/app/a.txt", "location": "inside"}]})
    );
    assert_eq!(written["rule"], json!({"id": "only-reads", "layer": "mode", "mode": "plan", "scope": "mode"}));
}

#[test]
fn tools_of_agents() {
    let policy = Policy::shipped();
    for (tool, input, [plan, implement, ask, bypass]) in [
        ("Read", json!({"file_path": "src/a.rs"}), ["allow", "allow", "allow", "allow"]),
        ("Read", json!({"file_path": "/home/user/.ssh/id_rsa"}), ["ask", "ask", "ask", "allow"]),
        ("Grep", json!({"pattern": "x"}), ["allow", "allow", "allow", "allow"]),
        ("Write", json!({"file_path": "src/a.rs"}), ["deny", "allow", "ask", "allow"]),
        ("Edit", json!({"file_path": "../a.rs"}), ["deny", "ask", "ask", "allow"]),
        ("Edit", json!({"file_path": ".turnloom/policy.toml"}), ["deny", "ask", "ask", "allow"]),
        ("Write", json!({"file_path": "/etc/passwd"}), ["deny", "deny", "deny", "deny"]),
        ("Edit", json!({"changes": [{"path": "src/a.rs", "kind": "update"}]}), ["deny", "allow", "ask", "allow"]),
        (
            "Edit",
            json!({"changes": [{"path": "src/a.rs", "kind": "add"}, {"path": "../a.rs", "kind": "add"}]}),
            ["deny", "ask", "ask", "allow"],
        ),
        (
            "Edit",
            json!({"changes": [{"path": "src/a.rs", "kind": "update", "to": "/etc/passwd"}]}),
            ["deny", "deny", "deny", "deny"],
        ),
        ("Edit", json!({"changes": [{"path": "src/a.rs"}], "grant_root": "/srv"}), ["deny", "ask", "ask", "allow"]),
        ("Edit", json!({"changes": []}), ["deny", "ask", "ask", "allow"]),
        ("Edit", json!({"changes": [{"kind": "add"}]}), ["deny", "ask", "ask", "allow"]),
        ("WebFetch", json!({"url": "https://docs.example/x"}), ["ask", "ask", "ask", "allow"]),
        ("WebSearch", json!({"query": "x"}), ["allow", "allow", "allow", "allow"]),
        ("mcp__db__query", json!({}), ["ask", "ask", "ask", "allow"]),
        ("Agent", json!({"prompt": "x"}), ["allow", "allow", "allow", "allow"]),
        ("TodoWrite", json!({}), ["allow", "allow", "allow", "allow"]),
        ("write_stdin", json!({"chars": "rm"}), ["deny", "ask", "ask", "allow"]),
        ("Frobnicate", json!({}), ["ask", "ask", "ask", "allow"]),
        ("Bash", json!({}), ["deny", "ask", "ask", "allow"]),
    ] {
        for (mode, expected) in [("plan", plan), ("implement", implement), ("ask", ask), ("bypass", bypass)] {
            let decision = decide(&policy, &Call::new(tool, &input, mode, DIRECTORY), &world());
            assert_eq!(decision.effect.as_str(), expected, "{tool} {input} in {mode}: {}", decision.reason);
        }
    }
}

#[test]
fn every_sort_of_act_has_a_name() {
    let decision = bash(&Policy::shipped(), "implement", "git push -f");
    assert!(decision.commands[0].acts.iter().any(|act| act.kind == Kind::VcsForce));
    assert_eq!(serde_json::to_value(Kind::VcsForce).unwrap(), json!("vcs-force"));
}
