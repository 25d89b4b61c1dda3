//! The command line and the environment of the program. Whatever a newer program takes as a flag and an older one does not know is in the
//! handshake instead: an unknown flag ends the program, an unknown field does not.

use serde_json::{Value, json};

use super::host_tools::SERVER;
use crate::runtime::{Beginning, Opening, Setting, Takes};

/// Parameters of a session that only this runtime understands.
pub const PARAMS: &[&str] = &[
    "setting_sources",
    "allowed_tools",
    "disallowed_tools",
    "add_dirs",
    "max_turns",
    "max_budget_usd",
    "max_thinking_tokens",
    "fallback_model",
    "cross_session",
    "allow_bypass",
];

/// Those that may change later.
pub const SETTINGS: &[Setting] = &[Setting { name: "max_thinking_tokens", takes: Takes::Number, choices: &[] }];

/// What is decided outside.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A new name for the conversation, if one is needed: a version 4 or 7 UUID.
    pub new_conversation: String,
    /// The program no longer has the conversation; why, in words for a person.
    pub lost: Option<String>,
}

/// How the program is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    /// What the conversation will be called.
    pub conversation: String,
}

/// The modes of the program, and the words of others for them.
pub const MODES: &[&str] =
    &["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto", "implement", "build", "code", "bypass"];

/// The program's word for a mode. To build is how it works unless told otherwise, by `permission_mode` for instance.
pub(super) fn mode(opening: &Opening, wanted: Option<&str>) -> String {
    let given = opening.params.get("permission_mode").and_then(Value::as_str);
    let wanted = wanted.filter(|mode| !BUILDING.contains(mode)).or(given).unwrap_or("default");
    match wanted {
        "bypass" => "bypassPermissions",
        building if BUILDING.contains(&building) => "default",
        own => own,
    }
    .to_owned()
}

const BUILDING: &[&str] = &["implement", "build", "code"];

pub fn launch(opening: &Opening, options: &Options) -> Launch {
    let mut args: Vec<String> = [
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
    ]
    .map(str::to_owned)
    .into();
    let mut flag = |name: &str, value: &str| args.extend([name.to_owned(), value.to_owned()]);
    flag("--permission-mode", &mode(opening, opening.mode.as_deref()));
    let conversation = match &opening.beginning {
        Beginning::Resume { provider_session_id, .. } if options.lost.is_none() => {
            flag("--resume", provider_session_id);
            provider_session_id.clone()
        }
        Beginning::Fork { provider_session_id, at } if options.lost.is_none() => {
            flag("--resume", provider_session_id);
            flag("--session-id", &options.new_conversation);
            if let Some(at) = at {
                flag("--resume-session-at", at);
            }
            options.new_conversation.clone()
        }
        Beginning::Fresh | Beginning::Resume { .. } | Beginning::Fork { .. } => {
            flag("--session-id", &options.new_conversation);
            options.new_conversation.clone()
        }
    };
    if let Some(model) = &opening.model {
        flag("--model", model);
    }
    let texts = |name: &str| super::wire::texts(opening.params.get(name));
    let text = |name: &str| opening.params.get(name).and_then(Value::as_str);
    flag("--setting-sources", text("setting_sources").unwrap_or_default());
    // All that this host serves: `ask_user` asks by itself, and a client's tool is run by whoever may refuse to.
    let mut allowed = vec![format!("mcp__{SERVER}")];
    allowed.extend(texts("allowed_tools"));
    flag("--allowedTools", &allowed.join(","));
    let mut disallowed = texts("disallowed_tools");
    let cross_session = opening.params.get("cross_session").and_then(Value::as_bool) == Some(true);
    if !cross_session {
        // Sessions of one user could otherwise start turns in each other, and nobody would be asked.
        disallowed.extend(["ListAgents", "SendMessage"].map(str::to_owned));
        flag("--settings", &json!({ "crossSessionInbound": "refuse" }).to_string());
    }
    if !disallowed.is_empty() {
        flag("--disallowedTools", &disallowed.join(","));
    }
    for dir in texts("add_dirs") {
        flag("--add-dir", &dir);
    }
    for (name, param) in
        [("--max-turns", "max_turns"), ("--max-budget-usd", "max_budget_usd"), ("--fallback-model", "fallback_model")]
    {
        match opening.params.get(param) {
            Some(Value::String(value)) => flag(name, value),
            Some(Value::Number(value)) => flag(name, &value.to_string()),
            _ => {}
        }
    }
    if let Some(servers) = opening.params.get("mcp_servers").filter(|servers| servers.is_object()) {
        flag("--mcp-config", &json!({ "mcpServers": servers }).to_string());
    }
    args.push("--strict-mcp-config".to_owned());
    if matches!(opening.beginning, Beginning::Fork { .. }) && options.lost.is_none() {
        args.push("--fork-session".to_owned());
    }
    if opening.params.get("allow_bypass").and_then(Value::as_bool) == Some(true) {
        args.push("--allow-dangerously-skip-permissions".to_owned());
    }
    Launch { args, env: environment(), conversation }
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
