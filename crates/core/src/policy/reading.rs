//! Finds the file or pattern that a read-only command is about, so that a view can show it. It uses the same parser as the decision.

use super::act::{Act, Kind};
use super::call::Plain;
use super::shell::{self, ScriptContext};
use crate::runtime::shell::{ReadAction, classify, is_filter};

/// What a script reads, if reading is all it does.
pub fn reading(script: &str) -> Option<ReadAction> {
    let world = Plain::default();
    // A place of its own, so that what lies in it can be told from what does not.
    let around = ScriptContext { world: &world, workspace: "/here", directory: "/here" };
    let commands = shell::read(script, around).commands;
    let looks = |act: &Act| matches!(act.kind, Kind::Compute | Kind::Read | Kind::Session);
    if !commands.iter().all(|command| command.inside.is_empty() && command.acts.iter().all(looks)) {
        return None;
    }
    let mut directory: Option<&str> = None;
    let mut found: Option<ReadAction> = None;
    for command in commands.iter().filter(|command| !command.words.is_empty()) {
        let doubtful = command.words.iter().any(|word| word.ends_with('?'));
        match command.words.as_slice() {
            _ if doubtful => return None,
            [cd, place] if cd == "cd" && found.is_none() && directory.is_none() => directory = Some(place),
            words if found.is_none() => found = Some(classify(words)?),
            words => is_filter(words).then_some(())?,
        }
    }
    match directory {
        Some(directory) => found.map(|found| found.inside(directory)),
        None => found,
    }
}
