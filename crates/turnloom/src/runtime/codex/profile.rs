//! Settings of Codex in files of their own: the profiles that a person has, and one that `codex exec` reads for a single run. What is in them is
//! not looked into here.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use turnloom_core::nesting;
use turnloom_core::runtime::StartFailure;

/// How the names of files begin that are read once.
const PRIVATE_PREFIX: &str = "turnloom-";
const PROFILE_SUFFIX: &str = ".config.toml";

/// Enough for 80 tables inside each other whose names have 80 parts each, which is as deep as TOML goes.
const STACK: usize = 128 * 1024 * 1024;

/// The settings that a session's `profile` stands for; none, if it has none.
pub(super) fn of_session(home: Option<&Path>, params: &Value) -> Result<Map<String, Value>, StartFailure> {
    let Some(name) = params.get("profile").and_then(Value::as_str) else { return Ok(Map::new()) };
    let wrong = |message: String| StartFailure {
        message,
        code: "agent_config_invalid".to_owned(),
        fix: Some("make the file, or choose another `profile`".to_owned()),
    };
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let file = home.filter(|_| is_plain).map(|home| home.join(format!("{name}{PROFILE_SUFFIX}")));
    let file = file.ok_or_else(|| wrong(format!("{name:?} is not the name of a profile")))?;
    let text = fs::read_to_string(&file)
        .map_err(|error| wrong(format!("the profile {} cannot be read: {error}", file.display())))?;
    read(&text).map_err(|error| wrong(format!("{} {error}", file.display())))
}

/// Reads settings of Codex, or says what is wrong with the file. TOML bounds each of its names and its tables, but not what they are together.
pub(super) fn read(text: &str) -> Result<Map<String, Value>, String> {
    let read = || {
        let settings: Map<String, Value> =
            toml::from_str(text).map_err(|error| format!("is not TOML: {}", error.message()))?;
        let fits = settings.values().all(|value| nesting::fits(value, nesting::MAX_DEPTH));
        if fits { Ok(settings) } else { Err("is nested too deep".to_owned()) }
    };
    std::thread::scope(|scope| {
        let reading = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, read);
        reading.map_err(|error| error.to_string())?.join().unwrap_or_else(|_| Err("cannot be read".to_owned()))
    })
}

/// A profile that one process reads at its start. Only its owner can read it, and it is gone when this is dropped.
#[derive(Debug)]
pub(super) struct PrivateProfile {
    name: String,
    path: PathBuf,
}

impl PrivateProfile {
    /// Writes it. Also takes away what a daemon that was killed has left.
    pub(super) fn write(home: &Path, config: &Map<String, Value>) -> std::io::Result<Self> {
        fs::create_dir_all(home)?;
        sweep(home);
        let text = toml::to_string(&without_nulls(config)).map_err(std::io::Error::other)?;
        let name = format!("{PRIVATE_PREFIX}{}-{}", std::process::id(), uuid::Uuid::new_v4());
        let path = home.join(format!("{name}{PROFILE_SUFFIX}"));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let profile = Self { name, path };
        file.write_all(text.as_bytes())?;
        Ok(profile)
    }

    /// What `--profile` is told.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for PrivateProfile {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}

fn sweep(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let inside = name.to_str().and_then(|name| name.strip_prefix(PRIVATE_PREFIX)?.strip_suffix(PROFILE_SUFFIX));
        let process = inside.and_then(|inside| inside.split('-').next()?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// TOML has no word for nothing.
fn without_nulls(config: &Map<String, Value>) -> Map<String, Value> {
    let kept = config.iter().filter(|(_, value)| !value.is_null());
    kept.map(|(name, value)| match value {
        Value::Object(fields) => (name.clone(), Value::Object(without_nulls(fields))),
        value => (name.clone(), value.clone()),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_private_profile_is_read_once_by_its_owner() {
        let home = tempfile::tempdir().unwrap();
        let stale = home.path().join("turnloom-4000000000-x.config.toml");
        let own = home.path().join("work.config.toml");
        fs::write(&stale, "").unwrap();
        fs::write(&own, "model = \"m\"\n").unwrap();
        let config =
            json!({ "mcp_servers": { "a b": { "command": "x", "cwd": null, "env": { "KEY": "it's \"secret\"" } } } });
        let profile = PrivateProfile::write(home.path(), config.as_object().unwrap()).unwrap();
        let path = home.path().join(format!("{}.config.toml", profile.name()));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let read: Value = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read["mcp_servers"]["a b"], json!({ "command": "x", "env": { "KEY": "it's \"secret\"" } }));
        drop(profile);
        assert!(!path.exists() && !stale.exists() && own.exists());
    }

    #[test]
    fn a_profile_is_a_plain_name_of_a_file_that_is_there() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("work.config.toml"), "model = \"m\"\n[tools]\nweb_search = false\n").unwrap();
        fs::write(home.path().join("bad.config.toml"), "model = [").unwrap();
        let of = |name: &str| of_session(Some(home.path()), &json!({ "profile": name }));
        assert_eq!(Value::Object(of("work").unwrap()), json!({ "model": "m", "tools": { "web_search": false } }));
        for name in ["../work", "", "missing", "bad"] {
            assert_eq!(of(name).unwrap_err().code, "agent_config_invalid", "{name}");
        }
        assert_eq!(of_session(Some(home.path()), &json!({})), Ok(Map::new()));
    }

    #[test]
    fn a_profile_may_be_as_deep_as_it_likes_and_hurts_nobody() {
        let name = |parts: usize| vec!["a"; parts].join(".");
        let inside = |text: String| format!("{{ {} = {text} }}", name(79));
        let deep = (0..79).fold("1".to_owned(), |text, _| inside(text));
        let headed = format!("[{}]\n{} = 1\n", name(60), name(60));
        for text in [format!("{} = 1", name(200_000)), format!("[{}]", name(200_000)), format!("a = {deep}"), headed] {
            assert!(read(&text).is_err());
        }
        assert!(read(&format!("{} = 1", name(60))).is_ok());
    }
}
