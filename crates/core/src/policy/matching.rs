//! Decides whether a rule applies to an act.

use std::cell::OnceCell;

use super::act::{Act, Command, Kind, Location, Place};
use super::call::{Call, World};
use super::glob;
use super::layers::Layer;
use super::programs;
use super::rules::{About, Effect, Rule};

/// All that a rule may look at.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) call: &'a Call<'a>,
    pub(crate) home: Option<&'a str>,
    /// Resolved.
    pub(crate) workspace: &'a str,
    pub(crate) command: &'a Command,
    pub(crate) act: &'a Act,
}

/// A rule with its paths made absolute, once they are needed.
pub(crate) struct Prepared<'p> {
    pub(crate) rule: &'p Rule,
    pub(crate) layer: Layer,
    pub(crate) mode: Option<&'p str>,
    paths: OnceCell<Vec<String>>,
    except: Vec<OnceCell<Vec<String>>>,
}

impl<'p> Prepared<'p> {
    pub(crate) fn new(rule: &'p Rule, layer: Layer, mode: Option<&'p str>) -> Self {
        Self { rule, layer, mode, paths: OnceCell::new(), except: vec![OnceCell::new(); rule.except.len()] }
    }

    pub(crate) fn is_about(&self, case: Case<'_>) -> bool {
        let effect = self.rule.effect;
        let mut except = self.rule.except.iter().zip(&self.except);
        fits(&self.rule.about, &self.paths, effect, case)
            && !except.any(|(about, paths)| fits(about, paths, opposite(effect), case))
    }
}

/// An exception to a permission is a prohibition, and the other way round: each is read on the safe side.
fn opposite(effect: Effect) -> Effect {
    match effect {
        Effect::Allow => Effect::Deny,
        Effect::Ask | Effect::Deny => Effect::Allow,
    }
}

fn fits(about: &About, paths: &OnceCell<Vec<String>>, effect: Effect, case: Case<'_>) -> bool {
    let Case { call, act, command, .. } = case;
    let text = |patterns: &[String], value: &str| {
        patterns.is_empty() || patterns.iter().any(|pattern| glob::text_matches(pattern, value))
    };
    let optional = |patterns: &[String], value: &Option<String>| {
        patterns.is_empty() || value.as_deref().is_some_and(|value| text(patterns, value))
    };
    (about.does.is_empty() || about.does.contains(&act.kind))
        && (about.location.is_empty()
            || act.place.as_ref().is_some_and(|place| about.location.contains(&place.location)))
        && about.tree.is_none_or(|tree| act.tree == tree)
        && (about.origin.is_empty() || about.origin.contains(&call.origin))
        && (about.caller.is_empty() || about.caller.contains(&call.caller))
        && text(&about.tool, call.tool)
        && text(&about.runtime, call.runtime)
        && text(&about.mode, call.mode.name())
        && (about.session.is_empty() || about.session.iter().any(|session| session == call.session))
        && (about.project.is_empty()
            || about
                .project
                .iter()
                .any(|project| super::paths::is_in(case.workspace, &expand_home(project, case.home))))
        && optional(&about.host, &act.host)
        && optional(&about.server, &act.server)
        && (about.command.is_empty() || about.command.iter().any(|pattern| command_fits(pattern, effect, command, act)))
        && (about.path.is_empty()
            || act
                .place
                .as_ref()
                .is_some_and(|place| path_fits(paths.get_or_init(|| absolute(&about.path, case)), effect, place, act)))
}

/// Word by word. A permission for a command is none for what its redirections do.
fn command_fits(pattern: &str, effect: Effect, command: &Command, act: &Act) -> bool {
    if effect == Effect::Allow && act.aside {
        return false;
    }
    let mut patterns = pattern.split_whitespace().peekable();
    let mut words = command.words.iter();
    let mut first = true;
    while let Some(pattern) = patterns.next() {
        if pattern == "*" && patterns.peek().is_none() && !first {
            return true;
        }
        let Some(word) = words.next() else { return false };
        // A permission for `git` is none for `/tmp/git`.
        let by_name = first && !pattern.contains('/') && (effect != Effect::Allow || programs::is_standard(word));
        let word = if by_name { programs::name_of(word) } else { word };
        if !glob::text_matches(pattern, word) {
            return false;
        }
        first = false;
    }
    words.next().is_none()
}

/// Patterns as they are for this call: `~` and the working directory filled in.
fn absolute(patterns: &[String], case: Case<'_>) -> Vec<String> {
    let full = |pattern: &String| {
        let pattern = expand_home(pattern, case.home);
        if pattern == "." {
            return case.workspace.to_owned();
        }
        if pattern.starts_with('/') || pattern.starts_with("**") {
            pattern
        } else {
            format!("{}/{}", case.workspace.trim_end_matches('/'), pattern.trim_start_matches("./"))
        }
    };
    patterns.iter().map(full).collect()
}

fn path_fits(patterns: &[String], effect: Effect, place: &Place, act: &Act) -> bool {
    patterns.iter().any(|pattern| match effect {
        // What is not known for sure is not allowed.
        Effect::Allow => {
            matches!(place.location, Location::Inside | Location::Outside) && glob::path_matches(pattern, &place.path)
        }
        Effect::Ask | Effect::Deny => {
            let same = glob::path_matches(pattern, &place.path);
            // `/e*c` may be `/etc`.
            let may_be = place.glob && !place.contents && glob::path_matches(&place.path, pattern);
            // What holds for all in a directory holds for the directory.
            let itself =
                pattern.strip_suffix("/**").is_some_and(|directory| glob::path_matches(directory, &place.path));
            same || itself || may_be || covers(place, act, pattern)
        }
    })
}

/// Whether an act goes down to what a pattern names.
fn covers(place: &Place, act: &Act, pattern: &str) -> bool {
    let fixed = pattern.split(['*', '?', '[']).next().unwrap_or_default().trim_end_matches('/');
    let goes_down = matches!(act.kind, Kind::Read | Kind::Delete | Kind::Permissions);
    (act.tree || place.contents) && goes_down && !fixed.is_empty() && super::paths::is_in(fixed, &place.path)
}

/// A path with `~` replaced.
pub(crate) fn expand_home(path: &str, home: Option<&str>) -> String {
    match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => path.to_owned(),
    }
}

/// The home and the working directory, without links.
pub(crate) fn resolved(world: &dyn World, path: &str) -> String {
    world.resolve(path).unwrap_or_else(|| super::paths::normal(path))
}
