//! Role files: what an agent tells its sub-agents to be. A workspace in which agents are to build something gets a few to begin with, and whatever is
//! there already is left alone. What a role does is the agent's own matter.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rust_embed::Embed;
use schemars::JsonSchema;
use serde::Deserialize;

/// The mode in which agents build, so that they may need help.
pub const MODE: &str = "implement";

/// The roles that come with the program: a folder for each kind of agent.
#[derive(Embed)]
#[folder = "roles/"]
struct Templates;

/// Where role files come from.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RolesConfig {
    /// A folder with `claude/*.md` and `codex/*.toml` that stand in for the roles that come with the program.
    pub templates: Option<PathBuf>,
    /// Leave workspaces as they are.
    pub off: bool,
}

/// Why a workspace could not be prepared.
#[derive(Debug, thiserror::Error)]
#[error("cannot put role files into {}: {cause}", folder.display())]
pub struct Error {
    folder: PathBuf,
    cause: std::io::Error,
}

/// The kinds of agents that have role files: the folder of the templates, and where they belong in a workspace.
pub const KINDS: &[(&str, &str)] = &[("claude", ".claude/agents"), ("codex", ".codex/agents")];

/// Copies the roles for one kind of agent into a workspace, where they are missing. Gives back what was written.
pub fn prepare(config: &RolesConfig, kind: &str, workspace: &Path) -> Result<Vec<PathBuf>, Error> {
    // A runtime may be a variant, such as `codex-exec`.
    let kind = kind.split_once('-').map_or(kind, |(kind, _)| kind);
    let Some((_, place)) = KINDS.iter().find(|(known, _)| *known == kind) else { return Ok(Vec::new()) };
    let folder = workspace.join(place);
    let failed = |cause| Error { folder: folder.clone(), cause };
    let templates = templates(config, kind).map_err(failed)?;
    if templates.is_empty() {
        return Ok(Vec::new());
    }
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let mut written = Vec::new();
    for (name, content) in templates {
        let path = folder.join(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(&content).map_err(failed)?;
                written.push(path);
            }
            // Somebody's own, even if it is only a link to nowhere.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(failed(cause)),
        }
    }
    Ok(written)
}

/// Names and contents, in order of their names.
fn templates(config: &RolesConfig, kind: &str) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    if let Some(folder) = &config.templates {
        let entries = match std::fs::read_dir(folder.join(kind)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                found.push((entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())?));
            }
        }
    } else {
        for path in Templates::iter() {
            let name = path.strip_prefix(kind).and_then(|rest| rest.strip_prefix('/'));
            if let (Some(name), Some(file)) = (name, Templates::get(&path)) {
                found.push((name.to_owned(), file.data.into_owned()));
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_left_alone_and_what_is_missing_is_added() {
        let workspace = tempfile::tempdir().unwrap();
        let own = workspace.path().join(".claude/agents/reviewer.md");
        std::fs::create_dir_all(own.parent().unwrap()).unwrap();
        std::fs::write(&own, "mine").unwrap();
        let written = prepare(&RolesConfig::default(), "claude", workspace.path()).unwrap();
        let names: Vec<_> = written.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["scout.md", "tester.md"]);
        assert_eq!(std::fs::read_to_string(own).unwrap(), "mine");
        assert!(prepare(&RolesConfig::default(), "claude", workspace.path()).unwrap().is_empty(), "once is enough");
        assert!(!workspace.path().join(".codex").exists());
    }

    #[test]
    fn the_roles_of_codex_are_toml_and_say_the_same() {
        let workspace = tempfile::tempdir().unwrap();
        for path in prepare(&RolesConfig::default(), "codex", workspace.path()).unwrap() {
            let role: toml::Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert_eq!(role.get("name").and_then(toml::Value::as_str), Some(name));
            let told = role.get("developer_instructions").and_then(toml::Value::as_str).unwrap();
            let other = Templates::get(&format!("claude/{name}.md")).unwrap();
            assert!(String::from_utf8_lossy(&other.data).ends_with(&format!("{}\n", told.trim())));
        }
    }

    #[test]
    fn other_templates_stand_in_for_ours() {
        let (templates, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(templates.path().join("claude")).unwrap();
        std::fs::write(templates.path().join("claude/weaver.md"), "weave").unwrap();
        let config = RolesConfig { templates: Some(templates.path().to_owned()), off: false };
        let written = prepare(&config, "claude", workspace.path()).unwrap();
        assert_eq!(written, [workspace.path().join(".claude/agents/weaver.md")]);
        assert!(prepare(&config, "codex", workspace.path()).unwrap().is_empty());
    }

    #[test]
    fn a_kind_without_roles_and_a_workspace_that_cannot_be_written() {
        assert!(prepare(&RolesConfig::default(), "mock", Path::new("/nowhere")).unwrap().is_empty());
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = prepare(&RolesConfig::default(), "claude", file.path()).unwrap_err();
        assert!(error.to_string().starts_with("cannot put role files into"));
    }
}
