//! Says in words what a rule is about, for people who read lists of rules. Names and patterns stand between backticks.

use super::act::Location;
use super::call::{Caller, Origin};
use super::decide::verb;
use super::rules::{About, Rule};

/// Names of one list that are told; of the others only how many there are.
const MAX_NAMED: usize = 4;

impl Rule {
    /// What it is about: ``runs `git push *` in `~/src/app` ``.
    pub fn words(&self) -> String {
        let exceptions: Vec<String> = self.except.iter().map(what_it_does).collect();
        let mut text = what_it_does(&self.about);
        if !exceptions.is_empty() {
            text = format!("{text}; not where it {}", exceptions.join(", or "));
        }
        if !self.beats.is_empty() {
            text = format!("{text}; counts before {}", named(&self.beats));
        }
        text
    }

    /// Whether it can be about calls of a session in a directory. Both rules and directories are absolute; `~` is the home that is given.
    pub fn holds_in(&self, directory: &str, session: Option<&str>, home: Option<&str>) -> bool {
        let About { project, session: sessions, .. } = &self.about;
        let is_around = |project: &String| super::paths::is_in(directory, &super::matching::expand_home(project, home));
        (sessions.is_empty() || session.is_none_or(|id| sessions.iter().any(|named| named == id)))
            && (project.is_empty() || project.iter().any(is_around))
    }
}

fn what_it_does(about: &About) -> String {
    let mut does: Vec<String> = Vec::new();
    if !about.does.is_empty() {
        does.push(either(&about.does.iter().map(|kind| verb(*kind).to_owned()).collect::<Vec<_>>()));
    }
    if !about.command.is_empty() {
        does.push(format!("runs {}", named(&about.command)));
    }
    if !about.tool.is_empty() {
        does.push(format!("uses the tool {}", named(&about.tool)));
    }
    if does.is_empty() {
        let touches = !about.path.is_empty() || !about.location.is_empty();
        does.push(if touches { "touches" } else { "does anything" }.to_owned());
    }
    format!("{}{}", does.join(" and "), circumstances(about))
}

/// Where, with whom and when: what is given of it.
fn circumstances(about: &About) -> String {
    fn each<T: Copy>(list: &[T], words: fn(T) -> &'static str) -> String {
        either(&list.iter().map(|one| words(*one).to_owned()).collect::<Vec<_>>())
    }
    let tree = if about.tree == Some(true) { "with all that is below" } else { "" };
    let told = [
        ("", named(&about.path)),
        ("", tree.to_owned()),
        ("", each(&about.location, where_it_lies)),
        ("with ", named(&about.host)),
        ("of the MCP server ", named(&about.server)),
        ("", each(&about.caller, who_calls)),
        ("", each(&about.origin, what_began)),
        ("by ", named(&about.runtime)),
        ("in the mode ", named(&about.mode)),
        ("in ", named(&about.project)),
        ("in the session ", named(&about.session)),
    ];
    let given = told.iter().filter(|(_, words)| !words.is_empty());
    given.fold(String::new(), |text, (before, words)| text + " " + before + words)
}

fn where_it_lies(location: Location) -> &'static str {
    match location {
        Location::Inside => "in the working directory",
        Location::Outside => "outside of the working directory",
        Location::Found => "where another command of the script says",
        Location::Unknown => "where nobody knows before it runs",
    }
}

fn who_calls(caller: Caller) -> &'static str {
    match caller {
        Caller::Main => "as the main agent",
        Caller::SubAgent => "as a sub-agent",
    }
}

fn what_began(origin: Origin) -> &'static str {
    match origin {
        Origin::User => "in a turn that a person began",
        Origin::Scheduled => "in a scheduled turn",
        Origin::Delegated => "in a turn that another program began",
        Origin::Agent => "in a turn that the agent began",
    }
}

fn named(names: &[String]) -> String {
    let told: Vec<String> = names.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
    match names.len().checked_sub(MAX_NAMED) {
        None | Some(0) => either(&told),
        Some(more) => format!("{} or {more} more", told.join(", ")),
    }
}

fn either(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
