//! Acts: what a call would do. Rules judge acts, never text.

use serde::{Deserialize, Serialize};

/// The sort of an act. Rules name it in `does`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Touches nothing: `echo`, `date`, `test`.
    Compute,
    /// Changes only the shell it runs in: `cd`, `export`, `set`.
    Session,
    Read,
    Write,
    Delete,
    /// Changes owner or mode of a file.
    Permissions,
    /// Makes a link.
    Link,
    /// Runs the project's own code: builds, tests, scripts in the working directory.
    Build,
    /// Adds what others wrote to the project.
    Install,
    /// Adds programs to the machine.
    SystemInstall,
    /// Runs a program that nobody knows.
    Run,
    /// Changes the repository, and everything can be undone.
    Vcs,
    /// Brings commits from or to another repository, and loses none.
    VcsSync,
    /// Loses work that was not committed.
    VcsDiscard,
    /// Rewrites history.
    VcsRewrite,
    /// Overwrites or removes what others have.
    VcsForce,
    /// Changes how the repository behaves: settings, hooks, aliases.
    VcsConfig,
    /// Talks to another machine.
    Network,
    /// Looks something up in the web.
    WebSearch,
    /// Makes something public.
    Publish,
    /// Acts on another machine.
    Remote,
    /// Runs or changes containers and clusters.
    Container,
    /// Gains rights.
    Privilege,
    /// Changes the machine: services, schedules, mounts, users.
    System,
    /// Ends or changes other processes.
    Process,
    /// Makes a file system or writes a disk.
    Format,
    /// Ends the machine.
    Power,
    /// Ends every process.
    KillAll,
    /// Takes every process that can be had.
    ForkBomb,
    /// Takes away what the machine or the person lives from.
    Destroy,
    /// What it does cannot be told before it runs.
    Opaque,
    /// Goes beyond what is looked at.
    TooMuch,
    /// Gives work to another agent.
    Delegate,
    /// Asks or tells a person, or keeps notes.
    Talk,
    /// A tool of an MCP server.
    Mcp,
    /// A tool that nobody knows.
    Tool,
}

/// Where a path lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Location {
    /// In the working directory.
    Inside,
    Outside,
    /// Another command of the same script names it, which is judged itself.
    Found,
    /// The path is known only when the command runs.
    Unknown,
}

/// A path that an act touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Absolute, without `..` and links. What is not known of it is left out.
    pub path: String,
    pub location: Location,
    /// Wildcards in it stand for more than one file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub glob: bool,
    /// All that is in a directory, rather than the directory.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub contents: bool,
}

/// One thing that a call would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Act {
    #[serde(rename = "does")]
    pub kind: Kind,
    /// It goes down into directories.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tree: bool,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Of an MCP tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// A redirection does it, not the program.
    #[serde(skip)]
    pub aside: bool,
    /// Why it is of this sort, where that is not plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Act {
    pub fn of(kind: Kind) -> Self {
        Self { kind, tree: false, place: None, host: None, server: None, aside: false, why: None }
    }

    pub fn because(kind: Kind, why: impl Into<String>) -> Self {
        Self { why: Some(why.into()), ..Self::of(kind) }
    }

    pub fn at(kind: Kind, place: Place) -> Self {
        Self { place: Some(place), ..Self::of(kind) }
    }

    /// Whether only the running of it would tell what it does.
    pub fn is_opaque(&self) -> bool {
        matches!(self.kind, Kind::Opaque | Kind::TooMuch)
    }
}

/// One simple command of a script, or the whole call of another tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Command {
    /// As a shell would see it after its expansions, as far as they are known. The first word is the program.
    pub words: Vec<String>,
    /// What brought it about: `sh -c`, `xargs`, `function f`. Nothing for what was typed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inside: Vec<String>,
    pub acts: Vec<Act>,
}
