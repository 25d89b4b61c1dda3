//! The rules that *always* could store for a call that asks: narrow ones and wide ones, for a session, a project or everywhere. An offer is made only
//! if it would allow an equal call, so *always* never asks again about the same thing.

use std::collections::BTreeSet;

use super::act::{Act, Command, Kind};
use super::call::{Call, World};
use super::decide::{Decision, Scope, decide};
use super::layers::{Layer, Policy};
use super::matching::resolved;
use super::programs;
use super::rules::Effect;

/// One rule that a person may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub scope: Scope,
    /// What it would allow, for people: ``run `git push *` ``.
    pub label: String,
    /// The rule itself, in TOML, without an id.
    pub rule: String,
}

/// Commands whose second word says what they do.
const WITH_SUBCOMMANDS: &[&str] = &[
    "git",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "cargo",
    "go",
    "docker",
    "podman",
    "kubectl",
    "pip",
    "uv",
    "poetry",
    "gh",
    "brew",
    "apt",
    "apt-get",
    "systemctl",
    "terraform",
    "make",
    "gradle",
    "mvn",
    "rails",
    "rake",
    "composer",
    "dotnet",
    "flutter",
];

/// What a rule would be about: words for people, lines of TOML.
struct Draft {
    label: String,
    lines: Vec<String>,
}

pub fn offers(policy: &Policy, call: &Call<'_>, world: &dyn World, decision: &Decision) -> Vec<Offer> {
    if decision.opaque || decision.effect != Effect::Ask {
        return Vec::new();
    }
    let beats = match decision.rule.layer {
        // A rule that asks is overruled by name. A default is not a rule.
        Layer::Mode | Layer::User | Layer::Always if !matches!(decision.rule.id.as_str(), "default" | "agent") => {
            Some(format!("beats = {}", list(std::slice::from_ref(&decision.rule.id))))
        }
        _ => None,
    };
    let workspace = resolved(world, call.workspace);
    let mut offers: Vec<Offer> = Vec::new();
    for draft in drafts(policy, call, world, decision) {
        for scope in [Scope::Session, Scope::Project, Scope::User] {
            let holds_in = match scope {
                Scope::Session if call.session.is_empty() => continue,
                Scope::Session => Some(format!("session = {}", list(&[call.session.to_owned()]))),
                Scope::Project => Some(format!("project = {}", list(std::slice::from_ref(&workspace)))),
                Scope::Absolute | Scope::Mode | Scope::User => None,
            };
            let mut lines = vec!["effect = \"allow\"".to_owned()];
            lines.extend(draft.lines.iter().cloned().chain(holds_in).chain(beats.clone()));
            let rule = lines.join("\n");
            if !offers.iter().any(|offer| offer.rule == rule) && allows(policy, call, world, &rule) {
                offers.push(Offer { scope, label: draft.label.clone(), rule });
            }
        }
    }
    offers
}

/// Whether a rule would let an equal call pass.
fn allows(policy: &Policy, call: &Call<'_>, world: &dyn World, rule: &str) -> bool {
    let text = format!("[[rule]]\nid = \"offered\"\n{rule}\n");
    let Ok(file) = super::rules::RulesFile::read("offered", &text) else { return false };
    let mut policy = policy.clone();
    policy.always.extend(file.rules);
    decide(&policy, call, world).effect == Effect::Allow
}

/// From narrow to wide.
fn drafts(policy: &Policy, call: &Call<'_>, world: &dyn World, decision: &Decision) -> Vec<Draft> {
    if call.tool.starts_with("mcp__") {
        let mut drafts = vec![by_tool(call.tool)];
        let server = decision.commands.iter().flat_map(|command| &command.acts).find_map(|act| act.server.clone());
        drafts.extend(server.map(|server| Draft {
            label: format!("use every tool of the MCP server {server}"),
            lines: vec!["does = \"mcp\"".to_owned(), format!("server = {}", quoted(&server))],
        }));
        return drafts;
    }
    // Only what would not be allowed anyway has to be.
    let asking: Vec<&Command> =
        decision.commands.iter().filter(|command| !is_allowed(policy, call, world, decision, command)).collect();
    if asking.iter().any(|command| !command.words.is_empty()) {
        return by_command(&asking);
    }
    let acts: Vec<&Act> = asking.iter().flat_map(|command| &command.acts).collect();
    let by_place = by_place(&acts);
    let by_host = by_host(&acts);
    let drafts: Vec<Draft> = by_place.into_iter().chain(by_host).collect();
    if drafts.is_empty() { vec![by_tool(call.tool)] } else { drafts }
}

/// Whether the rest of a call would pass without one of its commands: found by judging that command alone.
fn is_allowed(policy: &Policy, call: &Call<'_>, world: &dyn World, decision: &Decision, command: &Command) -> bool {
    let only = decision.commands.len() == 1;
    !only && super::decide::effect_of(policy, call, world, command) == Effect::Allow
}

fn by_tool(tool: &str) -> Draft {
    Draft { label: format!("use {tool}"), lines: vec![format!("tool = {}", quoted(tool))] }
}

fn by_command(commands: &[&Command]) -> Vec<Draft> {
    let exact: BTreeSet<String> = commands.iter().map(|command| exact(&command.words)).collect();
    let wide: BTreeSet<String> = commands.iter().map(|command| wide(&command.words)).collect();
    let draft = |patterns: &BTreeSet<String>| {
        let patterns: Vec<String> = patterns.iter().cloned().collect();
        let told: Vec<String> = patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
        Draft { label: format!("run {}", told.join(" and ")), lines: vec![format!("command = {}", list(&patterns))] }
    };
    vec![draft(&exact), draft(&wide)]
}

/// A pattern that fits these words. A pattern is split at blanks, so a blank in a word stands for any one character.
fn exact(words: &[String]) -> String {
    let escaped = |word: &String| {
        let characters = word.chars().map(|c| match c {
            '*' => "[*]".to_owned(),
            '?' => "[?]".to_owned(),
            '[' => "[[]".to_owned(),
            c if c.is_whitespace() => "?".to_owned(),
            c => c.to_string(),
        });
        characters.collect::<String>()
    };
    words.iter().map(escaped).collect::<Vec<_>>().join(" ")
}

/// The program with any arguments; of one with subcommands, that subcommand.
fn wide(words: &[String]) -> String {
    let program = words.first().map(String::as_str).unwrap_or_default();
    let named = words.get(1).filter(|word| {
        WITH_SUBCOMMANDS.contains(&programs::name_of(program)) && !word.starts_with('-') && !word.contains('/')
    });
    let kept = words.get(..if named.is_some() { 2 } else { 1 }).unwrap_or_default();
    format!("{} *", exact(kept))
}

fn by_place(acts: &[&Act]) -> Vec<Draft> {
    let kinds: BTreeSet<Kind> = acts.iter().map(|act| act.kind).collect();
    let paths: BTreeSet<String> =
        acts.iter().filter_map(|act| act.place.as_ref()).map(|place| place.path.clone()).collect();
    if paths.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = kinds.iter().filter_map(|kind| word(*kind)).collect();
    let does = format!("does = {}", list(&names));
    let verb = names.join(" and ");
    let files: Vec<String> = paths.iter().cloned().collect();
    let folders: BTreeSet<String> = paths
        .iter()
        .filter_map(|path| path.rsplit_once('/').map(|(folder, _)| folder))
        .filter(|folder| !folder.is_empty())
        .map(|folder| format!("{folder}/**"))
        .collect();
    let folders: Vec<String> = folders.into_iter().collect();
    let draft = |paths: &[String]| Draft {
        label: format!("{verb} {}", paths.join(" and ")),
        lines: vec![does.clone(), format!("path = {}", list(paths))],
    };
    let mut drafts = vec![draft(&files)];
    if !folders.is_empty() {
        drafts.push(draft(&folders));
    }
    drafts
}

fn by_host(acts: &[&Act]) -> Option<Draft> {
    let hosts: BTreeSet<String> = acts.iter().filter_map(|act| act.host.clone()).collect();
    let hosts: Vec<String> = hosts.into_iter().collect();
    let kinds: BTreeSet<Kind> = acts.iter().map(|act| act.kind).collect();
    let names: Vec<String> = kinds.iter().filter_map(|kind| word(*kind)).collect();
    (!hosts.is_empty()).then(|| Draft {
        label: format!("talk to {}", hosts.join(" and ")),
        lines: vec![format!("does = {}", list(&names)), format!("host = {}", list(&hosts))],
    })
}

fn word(kind: Kind) -> Option<String> {
    serde_json::to_value(kind).ok()?.as_str().map(str::to_owned)
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn list(texts: &[String]) -> String {
    match texts {
        [one] => quoted(one),
        many => format!("[{}]", many.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ")),
    }
}
