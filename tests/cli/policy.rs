//! What rules say about calls, without a daemon.

use std::fs;

use serde_json::{Value, json};

use crate::home::Home;

/// The answers to commands, in a mode.
fn check(home: &Home, mode: &str, commands: &[&str]) -> Vec<Value> {
    let calls = commands.iter().map(|command| json!({"tool": "Bash", "input": {"command": command}}).to_string());
    let ran = home.pipe(&["policy", "check", "--mode", mode, "--json"], &calls.collect::<Vec<_>>().join("\n")).code(0);
    ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn decisions(home: &Home, mode: &str, commands: &[&str]) -> Vec<String> {
    check(home, mode, commands).iter().map(|answer| answer["decision"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn one_line_for_each_call() {
    let home = Home::new();
    let commands = ["ls", "touch a", "git push -f", "python3 -c 1", "rm -rf /", "touch ~/x"];
    for (mode, expected) in [
        ("plan", ["allow", "deny", "deny", "deny", "deny", "deny"]),
        ("implement", ["allow", "allow", "ask", "ask", "deny", "ask"]),
        ("ask", ["allow", "ask", "ask", "ask", "deny", "ask"]),
        ("bypass", ["allow", "allow", "allow", "allow", "deny", "allow"]),
    ] {
        assert_eq!(decisions(&home, mode, &commands), expected, "{mode}");
    }
    let answers = check(&home, "implement", &commands);
    assert_eq!(answers[3]["opaque"], true);
    assert_eq!(answers[4]["rule"], "absolute/vital-trees");
    assert!(answers[2]["reason"].as_str().unwrap().contains("git push -f"), "{answers:?}");
    // Nothing is left behind.
    assert_eq!(home.data(), Vec::<String>::new());
}

#[test]
fn other_tools_are_judged_too() {
    let home = Home::new();
    let inside = home.project().join("a.txt");
    let calls = [
        (json!({"tool": "Write", "input": {"file_path": inside}}), "allow"),
        (json!({"tool": "Write", "input": {"file_path": "/etc/hosts"}}), "ask"),
        (json!({"tool": "Write", "input": {"file_path": ".git/hooks/pre-commit"}}), "ask"),
        (json!({"tool": "Read", "input": {"file_path": "/usr/include/stdio.h"}}), "allow"),
        (json!({"tool": "Read", "input": {"file_path": "~/.ssh/id_rsa"}}), "ask"),
        (json!({"tool": "WebFetch", "input": {"url": "https://evil.example/x"}}), "ask"),
        (json!({"tool": "mcp__github__create_issue", "input": {}}), "ask"),
        (json!({"tool": "apply_patch", "input": {"patch": "*** Begin Patch\n*** Update File: a.txt\n"}}), "allow"),
        (json!({"tool": "apply_patch", "input": {"patch": "*** Begin Patch\n*** Delete File: ../a.txt\n"}}), "ask"),
        (json!({"tool": "shell", "input": {"command": ["bash", "-lc", "git push -f"]}}), "ask"),
        (json!({"tool": "shell", "input": {"command": ["bash", "-lc", "cargo test"]}}), "allow"),
        (json!({"tool": "Nobody", "input": {}}), "ask"),
    ];
    let input: Vec<String> = calls.iter().map(|(call, _)| call.to_string()).collect();
    let out = home.pipe(&["policy", "check", "--mode", "implement", "--json"], &input.join("\n")).code(0).out();
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for ((call, expected), answer) in calls.iter().zip(&answers) {
        assert_eq!(answer["decision"], *expected, "{call} {answer}");
    }
}

#[test]
fn a_line_that_is_no_call_is_said_in_its_place() {
    let home = Home::new();
    let ran = home.pipe(&["policy", "check", "--json"], "{}\nnonsense\n{\"tool\":\"Read\"}\n").code(1);
    let kinds: Vec<bool> = ran.out().lines().map(|line| line.contains("\"error\"")).collect();
    assert_eq!(kinds, [true, true, false]);
}

#[test]
fn explain_shows_each_command() {
    let home = Home::new();
    let ran = home.run(&["policy", "explain", "--tool", "Bash", "--command", "ls; sh -c 'git push -f'"]).code(0);
    let out = ran.out();
    assert!(out.starts_with("ask  implement/default  in implement mode\n"), "{out}");
    assert!(out.contains("\nsh -c > git push -f\n"), "{out}");
    assert!(out.contains("vcs-force  -f  <- decides"), "{out}");
    let json = home.run(&["policy", "explain", "--command", "ls", "--json"]).code(0).out();
    let decision: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&decision["effect"], &decision["commands"][0]["words"]), (&json!("allow"), &json!(["ls"])));
    home.run(&["policy", "explain", "--mode", "nope", "--command", "ls"])
        .code(1)
        .says("no mode \"nope\"")
        .says("bypass");
    home.run(&["policy", "explain"]).code(2);
}

#[test]
fn links_are_followed() {
    let home = Home::new();
    std::os::unix::fs::symlink("/", home.project().join("out")).unwrap();
    std::os::unix::fs::symlink("/nowhere/else", home.project().join("loose")).unwrap();
    let commands = ["touch out/tmp/x", "rm -rf out/", "rm -rf out/etc", "echo a > loose", "touch new/a"];
    assert_eq!(decisions(&home, "implement", &commands), ["ask", "deny", "deny", "ask", "allow"]);
}

#[test]
fn rules_of_the_user_and_of_a_project() {
    let home = Home::new();
    let project = home.project();
    fs::create_dir(project.join(".turnloom")).unwrap();
    fs::write(project.join(".turnloom/policy.toml"), "[[rule]]\nid = 'no-make'\neffect = 'deny'\ncommand = 'make *'\n")
        .unwrap();
    let commands = ["make test", "curl https://docs.example.com/x", "rm -rf /"];
    // Nobody trusts the project yet.
    assert_eq!(decisions(&home, "implement", &commands), ["allow", "ask", "deny"]);
    let trusted = fs::canonicalize(&project).unwrap();
    let allow = "[[rule]]\nid = 'docs'\neffect = 'allow'\ndoes = 'network'\nhost = '*.example.com'\n";
    fs::write(
        home.0.path().join("policy.toml"),
        format!("trusted_projects = [{:?}]\n{allow}", trusted.to_str().unwrap()),
    )
    .unwrap();
    assert_eq!(decisions(&home, "implement", &commands), ["deny", "allow", "deny"]);
    assert_eq!(check(&home, "implement", &["make test"])[0]["rule"], "project/no-make");
    // A mode of one's own.
    fs::create_dir(home.0.path().join("modes")).unwrap();
    fs::write(
        home.0.path().join("modes/careful.toml"),
        "extends = 'implement'\n[[rule]]\neffect = 'ask'\ndoes = 'delete'\n",
    )
    .unwrap();
    assert_eq!(decisions(&home, "careful", &["touch a", "rm a"]), ["allow", "ask"]);
}

#[test]
fn a_broken_file_says_which_line() {
    let home = Home::new();
    for (text, line, what) in [
        ("[[rule]]\neffect = 'allow'\ndoes = 'raed'\n", 1, "raed"),
        ("\n\n[[rule\n", 3, ""),
        ("a = 1\n", 1, "unknown field"),
        ("# rules\n\n[[rule]]\neffect = 'allow'\n", 3, "would allow everything"),
        ("[[rule]]\neffect = 'perhaps'\ntool = 'Bash'\n", 1, "perhaps"),
        ("[[rule]]\nid = 'a'\neffect = 'ask'\n[[rule]]\nid = 'a'\neffect = 'ask'\n", 4, "two rules"),
    ] {
        fs::write(home.0.path().join("policy.toml"), text).unwrap();
        let place = format!("policy.toml:{line}:");
        home.run(&["policy", "explain", "--command", "ls"]).code(1).says(&place).says(what);
        home.pipe(&["policy", "check", "--json"], "{\"tool\":\"Read\"}\n").code(1).says(&place);
    }
}

#[test]
fn a_project_cannot_loosen() {
    let home = Home::new();
    let project = home.project();
    let trusted = fs::canonicalize(&project).unwrap();
    fs::write(home.0.path().join("policy.toml"), format!("trusted_projects = [{:?}]\n", trusted.to_str().unwrap()))
        .unwrap();
    fs::create_dir(project.join(".turnloom")).unwrap();
    fs::write(project.join(".turnloom/policy.toml"), "\n[[rule]]\neffect = 'allow'\ndoes = 'network'\n").unwrap();
    home.run(&["policy", "explain", "--command", "ls"]).code(1).says("policy.toml:2:").says("may only tighten");
}

#[test]
fn rules_are_chosen_listed_and_removed() {
    let home = Home::new();
    let _up = home.up(&["--durability", "process"]);
    home.await_event("try-me", "done"); // of its greeting
    home.run(&["rules"]).code(0).says("Nothing is always allowed");
    home.run(&["run", "--mode", "implement", "echo ready"]).code(0);
    home.run(&["send", "last", "bash git push --force"]).code(0);
    home.await_event("last", "permission_request");
    let asked = home.run(&["asks"]).code(0).out();
    assert!(asked.contains("  2  Always run `git push --force` in this project"), "{asked}");
    assert!(asked.contains("command = \"git push --force\""), "{asked}");
    assert!(asked.contains("--always [--rule N]"), "{asked}");
    home.run(&["answer", "last", "last", "--always", "--rule", "99"]).code(1).says("no rule 99");
    home.run(&["answer", "last", "last", "--always", "--rule", "2"]).code(0);
    home.await_event("last", "tool_result");
    let listed = home.run(&["rules"]).code(0).out();
    assert!(listed.contains("  project  effect = \"allow\", command = \"git push --force\""), "{listed}");
    let rule: Value = serde_json::from_str(&home.run(&["rules", "--json"]).code(0).out()).unwrap();
    let id = rule["id"].as_str().unwrap();
    assert!(listed.starts_with(id), "{listed}");
    home.run(&["rules", "remove", id]).code(0).says("Removed");
    home.run(&["rules", "remove", id]).code(1).says("there is no rule");
    assert_eq!(home.run(&["rules", "--json"]).code(0).out(), "");
}

#[test]
fn equal_asks_are_answered_with_one_command() {
    let home = Home::new();
    fs::write(home.0.path().join("policy.toml"), "[[rule]]\neffect = 'ask'\ncommand = 'git push *'\nexpires = '2h'\n")
        .unwrap();
    let _up = home.up(&["--durability", "process"]);
    home.await_event("try-me", "done"); // of its greeting
    for _ in 0..2 {
        home.run(&["run", "--mode", "implement", "echo ready"]).code(0);
        home.run(&["send", "last", "bash git push --force"]).code(0);
        home.await_event("last", "permission_request");
    }
    let asked = home.run(&["asks"]).code(0).out();
    assert!(asked.contains("denied in 1 h 59 min, if nobody answers"), "{asked}");
    home.run(&["answer", "last", "last", "--value", "1", "--all-equal"]).code(2);
    home.run(&["answer", "last", "last", "--reject", "--all-equal"]).code(0).says("and one equal ask with it");
    home.run(&["asks"]).code(0).says("Nothing waits");
}

#[test]
fn recorded_calls_are_tested_without_a_daemon() {
    let home = Home::new();
    home.run(&["run", "--mode", "bypass", "bash git push"]).code(0);
    let file = home.project().join("stricter.toml");
    fs::write(&file, "[[rule]]\nid = 'no-push'\neffect = 'deny'\ncommand = 'git push *'\n").unwrap();
    let file = file.to_str().unwrap();
    let ran = home.run(&["policy", "test", file]).code(0).says("1 of 1 recorded calls would change");
    let out = ran.out();
    assert!(out.starts_with("allow -> deny  Bash  git push  user/no-push  "), "{out}");
    let report: Value = serde_json::from_str(&home.run(&["policy", "test", file, "--json"]).code(0).out()).unwrap();
    assert_eq!(report["counts"], json!([{ "old": "allow", "new": "deny", "calls": 1 }]));
    home.run(&["policy", "test", file, "--since", "soon"]).code(1).says("is no time");
    fs::write(file, "[[rule]]\neffect = 'deny'\nnonsense = 1\n").unwrap();
    home.run(&["policy", "test", file]).code(1).says("stricter.toml:1:");
    home.run(&["policy", "suggest"]).code(0).says("Nothing was answered");
}

#[test]
fn the_doctor_names_the_line_of_a_broken_file() {
    let home = Home::new();
    fs::write(home.0.path().join("policy.toml"), "\n[[rule]]\neffect = 'perhaps'\n").unwrap();
    let out = home.run(&["doctor"]).code(1).out();
    assert!(out.contains("policy.toml:2: in this rule"), "{out}");
}
