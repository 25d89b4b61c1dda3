//! Which projects Codex trusts. `codex exec` marks one as trusted by itself when its sandbox may write, and from then on starts the programs that
//! the project names. So it hears that a project of which nobody has said anything is not trusted; then it does not read the project's instructions
//! either, and they are given to it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use turnloom_core::runtime::codex::Run;

use super::profile;
use crate::runtime::instructions;
use crate::runtime::program::project_of;

/// In each folder the first of these counts.
const INSTRUCTIONS: [&str; 2] = ["AGENTS.override.md", "AGENTS.md"];

/// Changes a run so that it does not make Codex trust a project by itself.
pub(super) fn prevent_auto_trust(run: &mut Run, cwd: &Path, home: Option<&Path>) {
    let Some(project) = project_of(cwd).filter(|_| run.thread.is_none()) else { return };
    let own = home.and_then(|home| fs::read_to_string(home.join("config.toml")).ok());
    let own = own.and_then(|text| profile::read(&text).ok()).unwrap_or_default();
    if !may_write(run, &own) || [&own, &run.config].iter().any(|has| knows_project(has, cwd, project)) {
        return;
    }
    let wanted = run.config.get("project_doc_max_bytes").and_then(Value::as_u64) != Some(0);
    let table = |config: &mut Map<String, Value>, name: &str| -> Map<String, Value> {
        config.remove(name).and_then(|value| value.as_object().cloned()).unwrap_or_default()
    };
    let mut projects = table(&mut run.config, "projects");
    projects.insert(cwd.display().to_string(), json!({ "trust_level": "untrusted" }));
    run.config.insert("projects".to_owned(), Value::Object(projects));
    let given = run.config.get("developer_instructions").and_then(Value::as_str).unwrap_or_default();
    let mut all: Vec<String> = [given.to_owned()].into_iter().filter(|text| !text.is_empty()).collect();
    if wanted {
        let said =
            |(folder, text): (PathBuf, String)| format!("# AGENTS.md instructions for {}\n\n{text}", folder.display());
        all.extend(instructions::of_project(project, cwd, &INSTRUCTIONS).into_iter().map(said));
    }
    let all = all.join("\n\n");
    if !all.is_empty() {
        run.config.insert("developer_instructions".to_owned(), all.into());
    }
}

/// What the session says counts before Codex's own settings; of the two ways to say it, permissions before a sandbox.
fn may_write(run: &Run, own: &Map<String, Value>) -> bool {
    let said = |settings: &Map<String, Value>| {
        let sandbox = || Some(settings.get("sandbox_mode")?.as_str()? != "read-only");
        settings.get("default_permissions").and_then(Value::as_str).map(|_| true).or_else(sandbox)
    };
    let sandbox = run.sandbox.as_deref().map(|sandbox| sandbox != "read-only");
    sandbox.or_else(|| said(&run.config)).or_else(|| said(own)).unwrap_or_default()
}

fn knows_project(settings: &Map<String, Value>, cwd: &Path, project: &Path) -> bool {
    let known = |folder: &Path| {
        let entry = settings.get("projects").and_then(|projects| projects.get(folder.to_str()?));
        entry.is_some_and(|entry| entry.get("trust_level").is_some())
    };
    known(cwd) || known(project)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(sandbox: Option<&str>, config: &Value) -> Run {
        let config = config.as_object().unwrap().clone();
        Run {
            args: Vec::new(),
            prompt: String::new(),
            config,
            instructions: None,
            output_schema: None,
            sandbox: sandbox.map(str::to_owned),
            thread: None,
        }
    }

    #[test]
    fn a_project_that_nobody_has_spoken_of_stays_so() {
        let (place, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (project, cwd) = (place.path().join("p"), place.path().join("p/inner"));
        fs::create_dir_all(&cwd).unwrap();
        fs::create_dir(project.join(".git")).unwrap();
        fs::write(project.join("AGENTS.md"), "weave\n").unwrap();
        fs::write(cwd.join("AGENTS.override.md"), "dye\n").unwrap();
        fs::write(cwd.join("AGENTS.md"), "not read\n").unwrap();
        let after = |mut run: Run| {
            prevent_auto_trust(&mut run, &cwd, Some(home.path()));
            Value::Object(run.config)
        };
        let name = cwd.to_str().unwrap();
        let changed = after(run(Some("workspace-write"), &json!({ "developer_instructions": "be brief" })));
        assert_eq!(changed["projects"][name]["trust_level"], "untrusted");
        let said = changed["developer_instructions"].as_str().unwrap();
        assert!(said.starts_with("be brief\n\n# AGENTS.md"), "{said}");
        assert!(said.find("weave") < said.find("dye") && !said.contains("not read"), "{said}");
        let silent = after(run(Some("danger-full-access"), &json!({ "project_doc_max_bytes": 0 })));
        assert!(silent.get("projects").is_some() && silent.get("developer_instructions").is_none());
        // Nothing is to be done where nothing would be written, or where somebody has spoken.
        assert_eq!(after(run(Some("read-only"), &json!({}))), json!({}));
        assert_eq!(after(run(None, &json!({}))), json!({}));
        let trusted = json!({ "projects": { name: { "trust_level": "trusted" } } });
        assert_eq!(after(run(Some("workspace-write"), &trusted)), trusted);
        assert_eq!(after(Run { thread: Some("t".to_owned()), ..run(Some("workspace-write"), &json!({})) }), json!({}));
        let own = format!(
            "sandbox_mode = \"workspace-write\"\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n",
            project.display()
        );
        fs::write(home.path().join("config.toml"), own).unwrap();
        assert_eq!(after(run(None, &json!({}))), json!({}), "its own settings know the project");
        fs::write(home.path().join("config.toml"), "sandbox_mode = \"workspace-write\"\n").unwrap();
        assert!(after(run(None, &json!({}))).get("projects").is_some());
        // The session may have said otherwise, in either way.
        let narrow = json!({ "sandbox_mode": "read-only" });
        assert_eq!(after(run(None, &narrow)), narrow);
        fs::write(home.path().join("config.toml"), "sandbox_mode = \"read-only\"\n").unwrap();
        let wide = run(None, &json!({ "default_permissions": ":workspace" }));
        assert!(after(wide).get("projects").is_some(), "permissions go before a sandbox that was said before them");
        assert_eq!(project_of(&cwd), Some(project.as_path()));
    }
}
