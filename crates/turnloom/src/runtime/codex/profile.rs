//! Settings of Codex in files of their own: the profiles that a person has, and those files that `codex exec` reads for a single run. What is in
//! them is not looked into here.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use turnloom_core::nesting;
use turnloom_core::runtime::StartFailure;
use turnloom_core::runtime::codex::Run;

/// How the names of files begin that are read once.
const PRIVATE_PREFIX: &str = "turnloom-";
const PROFILE_SUFFIX: &str = ".config.toml";
const INSTRUCTIONS_SUFFIX: &str = ".instructions.md";
const SCHEMA_SUFFIX: &str = ".schema.json";
const SUFFIXES: [&str; 3] = [PROFILE_SUFFIX, INSTRUCTIONS_SUFFIX, SCHEMA_SUFFIX];

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

/// A file that one process reads. Only its owner can read it, and it is gone when this is dropped.
#[derive(Debug)]
pub(super) struct PrivateFile {
    path: PathBuf,
}

impl PrivateFile {
    fn write(home: &Path, suffix: &str, text: &str) -> std::io::Result<Self> {
        let name = format!("{PRIVATE_PREFIX}{}-{}{suffix}", std::process::id(), uuid::Uuid::new_v4());
        let path = home.join(name);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let written = Self { path };
        file.write_all(text.as_bytes())?;
        Ok(written)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What `--profile` is told of it.
    fn profile_name(&self) -> &str {
        let name = self.path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.strip_suffix(PROFILE_SUFFIX).unwrap_or(name)
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}

/// All that a run of `codex exec` reads from files, because it is not for a command line.
#[derive(Debug, Default)]
pub(super) struct RunFiles {
    /// Read at its start.
    pub(super) settings: Vec<PrivateFile>,
    schema: Option<PrivateFile>,
}

impl RunFiles {
    /// Writes them, and names them in the run's arguments. Also takes away what a daemon that was killed has left.
    pub(super) fn write(home: Option<&Path>, run: &mut Run) -> std::io::Result<Self> {
        let mut files = Self::default();
        if run.config.is_empty() && run.instructions.is_none() && run.output_schema.is_none() {
            return Ok(files);
        }
        let home = home.ok_or_else(|| std::io::Error::other("there is no home directory"))?;
        fs::create_dir_all(home)?;
        sweep(home);
        let mut flags = Vec::new();
        if let Some(text) = &run.instructions {
            let file = PrivateFile::write(home, INSTRUCTIONS_SUFFIX, text)?;
            // It counts before a file that Codex's own settings name; instructions in the settings themselves would not.
            run.config.insert("model_instructions_file".to_owned(), file.path().display().to_string().into());
            files.settings.push(file);
        }
        if !run.config.is_empty() {
            let text = toml::to_string(&without_nulls(&run.config)).map_err(std::io::Error::other)?;
            let file = PrivateFile::write(home, PROFILE_SUFFIX, &text)?;
            flags.extend(["--profile".to_owned(), file.profile_name().to_owned()]);
            files.settings.push(file);
        }
        if let Some(schema) = &run.output_schema {
            let file = PrivateFile::write(home, SCHEMA_SUFFIX, &schema.to_string())?;
            flags.extend(["--output-schema".to_owned(), file.path().display().to_string()]);
            files.schema = Some(file);
        }
        // Before the word that says what to do next.
        let at = run.args.len().min(1);
        run.args.splice(at..at, flags);
        Ok(files)
    }
}

fn sweep(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let inside = name.to_str().and_then(|name| {
            let inside = name.strip_prefix(PRIVATE_PREFIX)?;
            SUFFIXES.iter().find_map(|suffix| inside.strip_suffix(suffix))
        });
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

    fn run(config: &Value) -> Run {
        Run {
            args: ["exec", "-"].map(str::to_owned).to_vec(),
            prompt: String::new(),
            config: config.as_object().cloned().unwrap_or_default(),
            instructions: None,
            output_schema: None,
            sandbox: None,
            thread: None,
        }
    }

    #[test]
    fn what_a_run_reads_is_for_its_owner_only_and_goes() {
        let home = tempfile::tempdir().unwrap();
        let stale = ["config.toml", "instructions.md", "schema.json"]
            .map(|end| home.path().join(format!("turnloom-4000000000-x.{end}")));
        let own = home.path().join("work.config.toml");
        for stale in &stale {
            fs::write(stale, "").unwrap();
        }
        fs::write(&own, "model = \"m\"\n").unwrap();
        let config =
            json!({ "mcp_servers": { "a b": { "command": "x", "cwd": null, "env": { "KEY": "it's \"secret\"" } } } });
        let mut run = run(&config);
        (run.instructions, run.output_schema) = (Some("You are a loom.".to_owned()), Some(json!({ "type": "object" })));
        let mut files = RunFiles::write(Some(home.path()), &mut run).unwrap();
        let [exec, flag, name, schema_flag, schema, dash] = run.args.as_slice() else { panic!("{:?}", run.args) };
        let words = [exec, flag, schema_flag, dash].map(String::as_str);
        assert_eq!(words, ["exec", "--profile", "--output-schema", "-"]);
        let profile = home.path().join(format!("{name}.config.toml"));
        let read: Value = toml::from_str(&fs::read_to_string(&profile).unwrap()).unwrap();
        assert_eq!(read["mcp_servers"]["a b"], json!({ "command": "x", "env": { "KEY": "it's \"secret\"" } }));
        let instructions = PathBuf::from(read["model_instructions_file"].as_str().unwrap());
        assert_eq!(fs::read_to_string(&instructions).unwrap(), "You are a loom.");
        let schema = PathBuf::from(schema);
        assert_eq!(fs::read_to_string(&schema).unwrap(), r#"{"type":"object"}"#);
        for file in [&profile, &instructions, &schema] {
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", file.display());
        }
        files.settings.clear();
        assert!(!profile.exists() && !instructions.exists() && schema.exists());
        drop(files);
        assert!(!schema.exists() && own.exists() && !stale.iter().any(|stale| stale.exists()));
    }

    #[test]
    fn only_a_run_with_settings_needs_a_home() {
        let mut plain = run(&json!({}));
        RunFiles::write(None, &mut plain).unwrap();
        assert_eq!(plain.args, ["exec", "-"]);
        RunFiles::write(None, &mut run(&json!({ "model": "m" }))).unwrap_err();
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
