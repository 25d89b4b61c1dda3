//! Real agents from the command line, without having any: what is said when they are missing, the model that plays a script, adoption.

use std::fs;
use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::Value;

use crate::home::{Home, Running, line_with};

const STORED: &str = include_str!("../stored/claude.jsonl");
const CONVERSATION: &str = "7d1f4a52-5c0e-4f0b-9a3e-2f6f0c1d8e11";

#[test]
fn a_scripted_model_says_how_to_use_it() {
    let home = Home::new();
    let mut child = home.command(&["scripted", "--demo"]).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let running = Running(child);
    let line = line_with(&mut out, "Scripted model");
    let url = line.split_whitespace().last().unwrap().to_owned();
    for told in [format!("ANTHROPIC_BASE_URL={url}"), format!("base_url = \"{url}/v1\"")] {
        line_with(&mut out, &told);
    }
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("A scripted model."), "{answer}");
    line_with(&mut out, "/_scripted/requests"); // the last it says
    running.signal(Signal::INT);
    running.end().code(0);
    // It has nothing to do with a data directory.
    assert_eq!(home.data(), Vec::<String>::new());
}

#[test]
fn a_script_that_is_wrong_is_told() {
    let home = Home::new();
    let file = home.0.path().join("wrong.toml");
    fs::write(&file, "[[reply]]\nstep = [{ shout = \"hello\" }]\n").unwrap();
    home.run(&["scripted", "--script", file.to_str().unwrap()]).code(1).says("is not a script").says("hint: docs/");
    home.run(&["scripted", "--script", "/nowhere/at/all"]).code(1).says("cannot read /nowhere/at/all");
    home.run(&["scripted"]).code(2).says("--script");
}

#[test]
fn the_demo_needs_claude_code_and_the_daemon_does_not() {
    let home = Home::new();
    fs::write(home.0.path().join("config.toml"), "[claude]\nprogram = \"/nowhere/claude\"\n").unwrap();
    let mut child = home.command(&["up", "--port", "0", "--no-open", "--demo-claude"]).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let running = Running(child);
    line_with(&mut out, "chat --session try-me");
    home.await_event("try-me", "done"); // of its greeting
    running.signal(Signal::TERM);
    let ran = running.end().code(0).says("there is no demo with Claude Code: Claude Code is not at /nowhere/claude");
    ran.says("hint: install it with");
}

#[test]
fn the_demo_is_a_session_that_comes_back() {
    let home = Home::new();
    let bin = home.0.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let program = bin.join("claude");
    fs::write(&program, "#!/bin/sh\necho '2.1.325 (Claude Code)'\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let listed = || {
        let mut command = home.command(&["up", "--port", "0", "--no-open", "--demo-claude"]);
        let mut child = command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let running = Running(child);
        line_with(&mut out, "chat --session");
        let listed = home.run(&["sessions", "--json"]).code(0).out();
        running.signal(Signal::TERM);
        running.end().code(0);
        listed
    };
    let first = listed();
    let session: Value = serde_json::from_str(&first).unwrap();
    assert_eq!((&session["runtime"], &session["title"]), (&"claude".into(), &"Claude Code, scripted".into()));
    let folder = home.0.path().join("demo/work");
    assert_eq!(session["cwd"].as_str(), folder.to_str());
    assert!(folder.join("README.md").is_file());
    // Somebody may have taken its port meanwhile; then there is a second one beside it.
    assert!(listed().contains("claude-scripted"));
}

#[test]
fn a_stored_conversation_becomes_a_session() {
    let home = Home::new();
    let place = home.0.path().join("weaving");
    let name: String =
        place.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = home.0.path().join(".claude/projects").join(name);
    for folder in [&folder, &place] {
        fs::create_dir_all(folder).unwrap();
    }
    let stored = STORED.replace("/srv/weaving", place.to_str().unwrap());
    fs::write(folder.join(format!("{CONVERSATION}.jsonl")), stored).unwrap();

    let listed = home.run(&["adopt", "claude", "--cwd", place.to_str().unwrap()]).code(0).out();
    assert!(listed.contains(CONVERSATION) && listed.contains("Knots"), "{listed}");
    home.run(&["adopt", "claude", "--cwd", "/nobody/was/here"]).code(0).says("There are no conversations");
    let id = home.run(&["adopt", "claude", CONVERSATION]).code(0).out();
    let log = home.run(&["events", id.trim()]).code(0).out();
    assert!(log.contains("Count the knots") && log.contains("There are twelve.") && !log.contains("Cut"), "{log}");
    home.run(&["adopt", "claude", "nobody"]).code(1).says("there is no conversation \"nobody\"").says("hint: ");
    home.run(&["adopt", "mock"]).code(1).says("cannot adopt conversations");
}
