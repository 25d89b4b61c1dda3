//! Every labelled command in every mode.

use super::bash;
use crate::policy::{Effect, MODES, Policy};

pub(super) const SAFE: &str = include_str!("../corpus/safe.txt");
pub(super) const DANGEROUS: &str = include_str!("../corpus/dangerous.txt");
pub(super) const ABSOLUTE: &str = include_str!("../corpus/absolute.txt");
pub(super) const OPAQUE: &str = include_str!("../corpus/opaque.txt");

/// The commands of a file: a line each, or several lines between `<<<` and `>>>`.
pub(super) fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block: Option<Vec<&str>> = None;
    for line in text.lines() {
        match (&mut block, line) {
            (None, "<<<") => block = Some(Vec::new()),
            (Some(lines), ">>>") => {
                found.push(lines.join("\n"));
                block = None;
            }
            (Some(lines), line) => lines.push(line),
            (None, line) if line.is_empty() || line.starts_with("# ") => {}
            (None, line) => found.push(line.to_owned()),
        }
    }
    found
}

fn told(policy: &Policy, mode: &str, command: &str) -> String {
    let decision = bash(policy, mode, command);
    format!("{mode} {} {} [{}]  {command:?}", decision.effect.as_str(), decision.rule, decision.reason)
}

fn none(what: &str, wrong: &[String]) {
    assert!(wrong.is_empty(), "{what}: {} commands\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn there_are_enough() {
    let all: Vec<String> = [SAFE, DANGEROUS, ABSOLUTE, OPAQUE].into_iter().flat_map(commands).collect();
    assert!(all.len() >= 800, "{}", all.len());
    let mut once = all.clone();
    once.sort();
    let twice: Vec<String> = once.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone()).collect();
    none("there twice", &twice);
}

#[test]
fn what_is_safe_needs_no_question() {
    let policy = Policy::shipped();
    let safe = commands(SAFE);
    let asked: Vec<String> = safe
        .iter()
        .filter(|command| bash(&policy, "implement", command).effect != Effect::Allow)
        .map(|command| told(&policy, "implement", command))
        .collect();
    assert!(asked.len() * 20 < safe.len(), "{} of {} need a question\n{}", asked.len(), safe.len(), asked.join("\n"));
    // Those that do are known, so that a new one is noticed.
    none("asked", &asked);
}

#[test]
fn what_is_dangerous_is_never_allowed() {
    let policy = Policy::shipped();
    let wrong: Vec<String> = commands(DANGEROUS)
        .iter()
        .chain(&commands(ABSOLUTE))
        .flat_map(|command| ["plan", "implement", "ask"].map(|mode| (mode, command.clone())))
        .filter(|(mode, command)| bash(&policy, mode, command).effect == Effect::Allow)
        .map(|(mode, command)| told(&policy, mode, &command))
        .collect();
    none("allowed", &wrong);
}

#[test]
fn what_is_absolute_is_denied_in_every_mode() {
    let policy = Policy::shipped();
    let wrong: Vec<String> = commands(ABSOLUTE)
        .iter()
        .flat_map(|command| MODES.iter().map(|mode| (*mode, command.clone())))
        .filter(|(mode, command)| bash(&policy, mode, command).effect != Effect::Deny)
        .map(|(mode, command)| told(&policy, mode, &command))
        .collect();
    none("not denied", &wrong);
}

#[test]
fn what_is_dangerous_or_safe_is_not_absolute() {
    let policy = Policy::shipped();
    let wrong: Vec<String> = commands(SAFE)
        .iter()
        .chain(&commands(DANGEROUS))
        .filter(|command| bash(&policy, "bypass", command).effect != Effect::Allow)
        .map(|command| told(&policy, "bypass", command))
        .collect();
    none("denied in bypass", &wrong);
}

#[test]
fn what_is_opaque_is_said_to_be_and_never_allowed() {
    let policy = Policy::shipped();
    let wrong: Vec<String> = commands(OPAQUE)
        .iter()
        .flat_map(|command| ["plan", "implement", "ask"].map(|mode| (mode, command.clone())))
        .filter(|(mode, command)| {
            let decision = bash(&policy, mode, command);
            !decision.opaque || decision.effect == Effect::Allow
        })
        .map(|(mode, command)| told(&policy, mode, &command))
        .collect();
    none("not opaque", &wrong);
}
