//! The command line and the environment of the program. Whatever a newer program takes as a flag and an older one does not know is in the
//! handshake instead: an unknown flag ends the program, an unknown field does not.

use serde_json::{Value, json};

use super::host_tools::SERVER;
use crate::host_tools::{HOST_TOOLS_SETTING, STATE_WAKES_SETTING};
use crate::runtime::{Beginning, Opening, Setting, Takes, texts_of};

/// Parameters of a session that only this runtime understands.
pub const PARAMS: &[Setting] = &[
    EFFORT,
    takes("project_instructions", Takes::Flag),
    takes("trust_project", Takes::Flag),
    takes("custom_system_prompt", Takes::Text),
    takes("output_schema", Takes::Object),
    takes("add_dirs", Takes::Texts),
    takes("tools", Takes::Texts),
    takes("allowed_tools", Takes::Texts),
    takes("disallowed_tools", Takes::Texts),
    takes("agents", Takes::Object),
    takes("output_style", Takes::Text),
    takes("plugin_dirs", Takes::Texts),
    takes("config", Takes::Object),
    SOURCES,
    takes("max_turns", Takes::Number),
    takes("max_budget_usd", Takes::Decimal),
    MAX_THINKING_TOKENS,
    takes("fallback_model", Takes::Text),
    takes("cross_session", Takes::Flag),
    takes("allow_bypass", Takes::Flag),
    HOST_TOOLS_SETTING,
    STATE_WAKES_SETTING,
];

/// Those that may change later.
pub const SETTINGS: &[Setting] = &[EFFORT, MAX_THINKING_TOKENS, HOST_TOOLS_SETTING, STATE_WAKES_SETTING];

const EFFORT: Setting =
    Setting { name: "effort", takes: Takes::Choice, choices: &["low", "medium", "high", "xhigh", "max"] };
const MAX_THINKING_TOKENS: Setting = takes("max_thinking_tokens", Takes::Number);
/// An empty text is none of them, so this cannot be a choice.
const SOURCES: Setting =
    Setting { name: "setting_sources", takes: Takes::Texts, choices: &["user", "project", "local"] };

const fn takes(name: &'static str, takes: Takes) -> Setting {
    Setting { name, takes, choices: &[] }
}

/// What is decided outside.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A new name for the conversation, if one is needed: a version 4 or 7 UUID.
    pub new_conversation: String,
    /// The program no longer has the conversation; why, in words for a person.
    pub conversation_missing: Option<String>,
    /// The program has the conversation, but its end is missing; why, in words for a person.
    pub end_missing: Option<String>,
    /// What the project's folders above the working directory say to agents.
    pub instructions: Option<String>,
    /// The folder in whose folders the program keeps its conversations.
    pub conversations: String,
}

/// How the program is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub args: Vec<String>,
    /// Flags whose value is a file with this content: it may hold secrets, and everybody can read a command line.
    pub files: Vec<(&'static str, Value)>,
    pub env: Vec<(String, String)>,
    /// What the conversation will be called.
    pub conversation: String,
}

/// The modes of the program, and the words of others for its usual one.
pub const MODES: &[&str] = &["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto", "build", "code"];

/// The program's word for a mode. Where rules decide, the program works as usual unless told otherwise, by `permission_mode` for instance: its own
/// modes are a second opinion behind the rules.
pub(super) fn mode(opening: &Opening, wanted: Option<&str>) -> String {
    let given = opening.params.get("permission_mode").and_then(Value::as_str);
    let given = given.map(|mode| if mode == "bypass" { "bypassPermissions" } else { mode });
    let wanted = wanted.filter(|mode| is_own(mode)).or(given).unwrap_or("default");
    match wanted {
        // Whoever wrote it down: a session that may not skip permissions does not.
        "bypassPermissions" if may_have_mode(wanted, &opening.params).is_err() => "default",
        own if is_own(own) => own,
        _ => "default",
    }
    .to_owned()
}

/// Says why a session may not have a mode: one that skips permissions has to be allowed first.
pub fn may_have_mode(mode: &str, params: &Value) -> Result<(), String> {
    let allowed = params.get("allow_bypass").and_then(Value::as_bool) == Some(true);
    if mode == "bypassPermissions" && !allowed {
        return Err("needs `params.allow_bypass` to be true when the session is created".to_owned());
    }
    Ok(())
}

/// Whether the program has to be given what the project says to agents: it would not read it by itself.
pub fn gives_instructions(opening: &Opening) -> bool {
    let wanted = opening.params.get("project_instructions").and_then(Value::as_bool) != Some(false);
    wanted && !sources(&opening.params).split(',').any(|source| source == "project")
}

/// Whose settings count.
fn sources(params: &Value) -> String {
    match params.get("setting_sources") {
        Some(given) => texts_of(Some(given)).join(","),
        None if params.get("trust_project").and_then(Value::as_bool) == Some(true) => "user,project,local".to_owned(),
        None => "user".to_owned(),
    }
}

/// Whether rules decide in a mode. Of the program's own modes only planning has rules too.
pub(super) fn is_ruled(mode: &str) -> bool {
    mode == "plan" || !MODES.contains(&mode)
}

/// Whether the program itself knows a mode.
fn is_own(mode: &str) -> bool {
    MODES.contains(&mode) && !USUAL.contains(&mode)
}

const USUAL: &[&str] = &["build", "code"];

pub fn launch(opening: &Opening, options: &Options) -> Launch {
    let mut line = CommandLine {
        args: COMMON_ARGS.iter().map(|arg| (*arg).to_owned()).collect(),
        files: Vec::new(),
        env: environment(),
        params: &opening.params,
        is_ruled: opening.mode.as_deref().is_some_and(is_ruled),
        reads_project: sources(&opening.params).split(',').any(|source| matches!(source, "project" | "local")),
    };
    line.flag("--permission-mode", &mode(opening, opening.mode.as_deref()));
    let conversation = line.conversation(opening, options);
    if let Some(model) = &opening.model {
        line.flag("--model", model);
    }
    let sources = sources(&opening.params);
    line.flag("--setting-sources", &sources);
    line.tools_and_settings();
    line.instructions(opening);
    for (name, param) in [
        ("--max-turns", "max_turns"),
        ("--max-budget-usd", "max_budget_usd"),
        ("--fallback-model", "fallback_model"),
        ("--effort", "effort"),
    ] {
        match opening.params.get(param) {
            Some(Value::String(value)) => line.flag(name, value),
            Some(Value::Number(value)) => line.flag(name, &value.to_string()),
            _ => {}
        }
    }
    if let Some(servers) = opening.params.get("mcp_servers").filter(|servers| servers.is_object()) {
        line.files.push(("--mcp-config", json!({ "mcpServers": servers })));
    }
    if sources.is_empty() {
        line.switch("--strict-mcp-config");
    }
    if matches!(opening.beginning, Beginning::Fork { .. }) && options.conversation_missing.is_none() {
        line.switch("--fork-session");
    }
    if line.flag_param("allow_bypass") == Some(true) {
        line.switch("--allow-dangerously-skip-permissions");
    }
    let CommandLine { args, files, env, .. } = line;
    Launch { args, files, env, conversation }
}

const COMMON_ARGS: &[&str] = &[
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--replay-user-messages",
    "--permission-prompt-tool",
    "stdio",
];

/// What becomes the command line, while it is put together from a session's parameters.
struct CommandLine<'a> {
    args: Vec<String>,
    files: Vec<(&'static str, Value)>,
    env: Vec<(String, String)>,
    params: &'a Value,
    is_ruled: bool,
    /// Settings of the project count.
    reads_project: bool,
}

impl CommandLine<'_> {
    fn flag(&mut self, name: &str, value: &str) {
        self.args.extend([name.to_owned(), value.to_owned()]);
    }

    fn switch(&mut self, name: &str) {
        self.args.push(name.to_owned());
    }

    fn texts(&self, name: &str) -> Vec<String> {
        texts_of(self.params.get(name))
    }

    fn flag_param(&self, name: &str) -> Option<bool> {
        self.params.get(name).and_then(Value::as_bool)
    }

    /// Which conversation the program goes on with, or begins.
    fn conversation(&mut self, opening: &Opening, options: &Options) -> String {
        match &opening.beginning {
            Beginning::Resume { provider_session_id, .. } if options.conversation_missing.is_none() => {
                self.flag("--resume", provider_session_id);
                return provider_session_id.clone();
            }
            Beginning::Fork { provider_session_id, at } if options.conversation_missing.is_none() => {
                self.flag("--resume", provider_session_id);
                self.flag("--session-id", &options.new_conversation);
                if let Some(at) = at {
                    self.flag("--resume-session-at", at);
                }
            }
            Beginning::Fresh | Beginning::Resume { .. } | Beginning::Fork { .. } => {
                self.flag("--session-id", &options.new_conversation);
            }
        }
        options.new_conversation.clone()
    }

    fn tools_and_settings(&mut self) {
        // All tools that this host serves: the session's own change nothing here, and a client may refuse to run its tool.
        let mut allowed = vec![format!("mcp__{SERVER}")];
        allowed.extend(self.texts("allowed_tools"));
        self.flag("--allowedTools", &allowed.join(","));
        let mut disallowed = self.texts("disallowed_tools");
        let mut settings = self.params.get("config").and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(style) = self.params.get("output_style").and_then(Value::as_str) {
            settings.insert("outputStyle".to_owned(), style.into());
        }
        if self.is_ruled {
            // Commands in files of skills would run without any verdict.
            settings.entry("disableSkillShellExecution").or_insert(true.into());
            if self.reads_project {
                // A hook of the project may change what was judged. So what is asked is what will run, and it is judged again.
                let permissions = settings.entry("permissions").or_insert_with(|| json!({}));
                if let Some(permissions) = permissions.as_object_mut() {
                    permissions.insert("ask".to_owned(), json!(["*"]));
                }
            }
        }
        if self.flag_param("cross_session") != Some(true) {
            // Sessions of one user could otherwise start turns in each other, and nobody would be asked.
            disallowed.extend(["ListAgents", "SendMessage"].map(str::to_owned));
            settings.insert("crossSessionInbound".to_owned(), "refuse".into());
        }
        if !disallowed.is_empty() {
            self.flag("--disallowedTools", &disallowed.join(","));
        }
        if !settings.is_empty() {
            self.files.push(("--settings", Value::Object(settings)));
        }
        for (name, param) in [("--add-dir", "add_dirs"), ("--plugin-dir", "plugin_dirs")] {
            for dir in self.texts(param) {
                self.flag(name, &dir);
            }
        }
        if self.params.get("tools").is_some() {
            self.flag("--tools", &self.texts("tools").join(","));
        }
    }

    /// What the project says to agents is read; what it would have them run is not.
    fn instructions(&mut self, opening: &Opening) {
        let mut set = |name: &str| self.env.push((name.to_owned(), "1".to_owned()));
        if self.params.get("project_instructions").and_then(Value::as_bool) == Some(false) {
            set("CLAUDE_CODE_DISABLE_CLAUDE_MDS");
        } else if let Some(cwd) = opening.cwd.as_deref().filter(|_| gives_instructions(opening)) {
            set("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD");
            self.flag("--add-dir", cwd);
        }
    }
}

fn environment() -> Vec<(String, String)> {
    let set = [
        // Nothing leaves the machine but requests to the model.
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "turnloom"),
        // Files can be put back when turns are taken back.
        ("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "1"),
        // The agent keeps a to-do list that people can see.
        ("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1"),
    ];
    set.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}
