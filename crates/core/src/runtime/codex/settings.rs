//! The settings of a thread: all of them when it is opened, later only what has changed.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::config::{config_of, put};
use crate::policy;
use crate::runtime::{Beginning, Opening, texts_of};

#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
    effort: Option<String>,
    sandbox: Option<String>,
    /// Folders besides the working directory that a sandbox leaves writable.
    add_dirs: Vec<String>,
    /// Whether commands in a sandbox may use the network, if the session says so.
    network_access: Option<bool>,
    approval_policy: Option<Value>,
    /// The sandbox of a mode with rules, while the session is in one. Codex asks about everything then, and rules answer.
    ruled: Option<String>,
    /// `plan`, or `default` once it was something else.
    collaboration: Option<String>,
    /// What the last message of each turn has to look like.
    output_schema: Option<Value>,
    /// The rest, as it goes into `thread/start`.
    fixed: Map<String, Value>,
    /// What Codex's own settings say, with what the session changes of them.
    own: OwnSettings,
    changed: BTreeSet<&'static str>,
    /// Changes that were sent with a turn, until the turn has begun.
    sent_changes: BTreeSet<&'static str>,
}

/// What is used of Codex's own settings.
#[derive(Debug, Default)]
struct OwnSettings {
    approval_policy: Option<Value>,
    approvals_reviewer: Option<Value>,
    sandbox_mode: Option<String>,
    /// A profile of permissions that takes the place of a sandbox mode.
    default_permissions: Option<String>,
    workspace_write: WorkspaceWrite,
    /// The names of the MCP servers.
    mcp_servers: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WorkspaceWrite {
    writable_roots: Vec<String>,
    network_access: bool,
    exclude_tmpdir_env_var: bool,
    exclude_slash_tmp: bool,
}

/// Codex's own modes, and the words of others for its usual one. Each is a way to work together, or a policy and a sandbox that belong together.
/// Any other mode is one with rules, and so is `plan` where rules hold.
pub const MODES: &[&str] =
    &["plan", "default", "read-only", "auto", "full-access", "build", "code", "acceptEdits", "bypassPermissions"];

/// Whether rules decide in a mode. Of Codex's own modes only planning has rules too.
pub(super) fn is_ruled(mode: &str) -> bool {
    mode == "plan" || !MODES.contains(&mode)
}

/// The policy with which Codex asks about every command, every patch and every tool that changes something.
const ASKS_ALWAYS: &str = "untrusted";

/// What Codex has to be told when a mode with rules begins or ends.
const OF_RULES: [&str; 3] = ["approval_policy", "approvals_reviewer", "sandbox"];

impl Settings {
    /// `profile`: the settings of Codex that the session's profile stands for.
    pub(super) fn of(opening: &Opening, profile: &Map<String, Value>) -> Self {
        let mut settings = Self {
            cwd: opening.cwd.clone(),
            model: opening.model.clone(),
            add_dirs: texts_of(opening.params.get("add_dirs")),
            network_access: opening.params.get("network_access").and_then(Value::as_bool),
            output_schema: opening.params.get("output_schema").filter(|schema| schema.is_object()).cloned(),
            ..Self::default()
        };
        let mut fixed = |name: &str, value: Option<Value>| {
            if let Some(value) = value.filter(|value| !value.is_null()) {
                settings.fixed.insert(name.to_owned(), value);
            }
        };
        let given = |name: &str| opening.params.get(name).cloned();
        fixed("baseInstructions", given("custom_system_prompt"));
        let about_mode = opening.mode.as_deref().filter(|mode| is_ruled(mode)).map(policy::mode_instructions);
        let instructions: Vec<String> = opening.system_prompt.clone().into_iter().chain(about_mode).collect();
        fixed("developerInstructions", (!instructions.is_empty()).then(|| instructions.join("\n\n").into()));
        fixed("modelProvider", given("model_provider"));
        let reviewer = given("approvals_reviewer");
        let reviewer = reviewer.as_ref().and_then(Value::as_str).map(|name| kebab(name).replace('-', "_"));
        fixed("approvalsReviewer", reviewer.map(Value::from));
        fixed("config", Some(config_of(opening, profile)).filter(|config| !config.is_empty()).map(Value::from));
        // The wider word first: what is said in particular overrides it.
        if let Some(mode) = given("permission_mode").as_ref().and_then(Value::as_str) {
            settings.set_own_mode(if mode == "bypass" { "bypassPermissions" } else { mode });
        }
        if let Some(mode) = &opening.mode {
            settings.set_mode(mode);
        }
        for setting in super::SETTINGS {
            if let Some(value) = given(setting.name) {
                settings.set(setting.name, &value);
            }
        }
        settings.changed.clear();
        if settings.collaboration.is_some() {
            // There is no other way to say this than with a turn.
            settings.changed.insert("collaboration");
        }
        if settings.effort.is_some() {
            settings.changed.insert("effort");
        }
        settings
    }

    /// Changes one of the runtime's own settings.
    pub(super) fn set(&mut self, name: &str, value: &Value) {
        let text = value.as_str().map(str::to_owned);
        match name {
            "effort" => (self.effort, _) = (text, self.changed.insert("effort")),
            "sandbox" => {
                self.sandbox = text.map(|name| kebab(&name));
                if self.ruled.is_some() && self.sandbox.is_some() {
                    self.ruled.clone_from(&self.sandbox);
                }
                self.changed.insert("sandbox");
            }
            "approval_policy" => {
                self.approval_policy = Some(text.map_or_else(|| value.clone(), |name| kebab(&name).into()));
                self.changed.insert("approval_policy");
            }
            _ => {}
        }
    }

    /// The sandbox. Plan mode without a sandbox setting means read-only.
    pub(super) fn sandbox(&self) -> Option<&str> {
        let plans = self.collaboration.as_deref() == Some("plan");
        self.sandbox.as_deref().or(plans.then_some("read-only"))
    }

    pub(super) fn add_dirs(&self) -> &[String] {
        &self.add_dirs
    }

    /// All that goes into Codex's own settings where there is no other way to say it.
    pub(super) fn exec_config(&self, instructions: Option<&str>) -> Map<String, Value> {
        let mut config = self.fixed.get("config").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut set =
            |path: &[&str], value: Option<Value>| value.into_iter().for_each(|value| put(&mut config, path, value));
        set(&["model_reasoning_effort"], self.effort.clone().map(Value::from));
        set(&["developer_instructions"], instructions.map(Value::from));
        set(&["sandbox_workspace_write", "network_access"], self.network_access.map(Value::from));
        config
    }

    /// What takes the place of Codex's own instructions.
    pub(super) fn base_instructions(&self) -> Option<&str> {
        self.fixed.get("baseInstructions").and_then(Value::as_str)
    }

    pub(super) fn output_schema(&self) -> Option<&Value> {
        self.output_schema.as_ref()
    }

    /// An answer as a value, if it is to have a shape of its own.
    pub(super) fn structured(&self, answer: &str) -> Option<Value> {
        self.output_schema.as_ref().and_then(|_| serde_json::from_str(answer).ok())
    }

    pub(super) fn set_model(&mut self, model: &str) {
        self.model = Some(model.to_owned());
        self.changed.insert("model");
    }

    /// Changes the way to work together.
    pub(super) fn set_mode(&mut self, mode: &str) {
        if !is_ruled(mode) {
            if self.ruled.take().is_some() {
                self.changed.extend(OF_RULES);
            }
            return self.set_own_mode(mode);
        }
        let sandbox = match mode {
            "plan" => "read-only",
            "bypass" => "danger-full-access",
            _ => "workspace-write",
        };
        self.ruled = Some(sandbox.to_owned());
        self.changed.extend(OF_RULES);
        self.set_collaboration(if mode == "plan" { mode } else { "default" });
    }

    fn set_own_mode(&mut self, mode: &str) {
        let (policy, sandbox) = match mode {
            "read-only" => ("on-request", "read-only"),
            "auto" | "acceptEdits" => ("on-request", "workspace-write"),
            "full-access" | "bypassPermissions" => ("never", "danger-full-access"),
            other => return self.set_collaboration(if other == "plan" { other } else { "default" }),
        };
        self.set("approval_policy", &policy.into());
        self.set("sandbox", &sandbox.into());
        if self.collaboration.as_deref() == Some("plan") {
            self.set_collaboration("default");
        }
    }

    /// Whether rules decide about every call.
    pub(super) fn is_ruled(&self) -> bool {
        self.ruled.is_some()
    }

    fn set_collaboration(&mut self, mode: &str) {
        if mode != "default" || self.collaboration.is_some() {
            self.collaboration = Some(mode.to_owned());
            self.changed.insert("collaboration");
        }
    }

    /// Takes over Codex's own settings. What the session changes, through a profile or itself, overrides them.
    pub(super) fn set_own(&mut self, mut own: Map<String, Value>) {
        let config = self.fixed.get("config").and_then(Value::as_object);
        let changed = |name: &str| config?.get(name).filter(|value| !value.is_null());
        if changed("sandbox_mode").is_some() {
            // Of the two ways to say it, the one that was said last holds.
            own.remove("default_permissions");
        }
        for name in
            ["approval_policy", "approvals_reviewer", "sandbox_mode", "default_permissions", "sandbox_workspace_write"]
        {
            if let Some(value) = changed(name) {
                put(&mut own, &[name], value.clone());
            }
        }
        let text = |name: &str| own.get(name).and_then(Value::as_str).map(str::to_owned);
        let table = own.get("sandbox_workspace_write").cloned().unwrap_or_default();
        let said = |name: &str| own.get(name).filter(|value| !value.is_null()).cloned();
        self.own = OwnSettings {
            approval_policy: said("approval_policy"),
            approvals_reviewer: said("approvals_reviewer"),
            sandbox_mode: text("sandbox_mode"),
            default_permissions: text("default_permissions"),
            workspace_write: serde_json::from_value(table).unwrap_or_default(),
            mcp_servers: names_in(own.get("mcp_servers")),
        };
    }

    /// For `thread/start`, `thread/resume` and `thread/fork`: all of it, because a sandbox is not remembered.
    ///
    /// A thread that starts in a sandbox that may write makes Codex mark the project as trusted in the user's own settings, and load whatever the
    /// project brings along. So it starts reading only, and is [told](Self::sandbox_after_opening) of its sandbox afterwards.
    pub(super) fn thread_params(&self, beginning: &Beginning) -> Map<String, Value> {
        let mut params = self.fixed.clone();
        let sandbox = match beginning {
            Beginning::Fresh if self.is_writable() => Some("read-only".to_owned()),
            _ => self.chosen_sandbox().map(str::to_owned),
        };
        let known = [
            ("cwd", self.cwd.clone().map(Value::from)),
            ("model", self.model.clone().map(Value::from)),
            ("sandbox", sandbox.map(Value::from)),
            ("approvalPolicy", if self.is_ruled() { Some(ASKS_ALWAYS.into()) } else { self.approval_policy.clone() }),
            ("approvalsReviewer", self.is_ruled().then(|| "user".into())),
            ("config", Some(self.thread_config().into())),
        ];
        params.extend(known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        params
    }

    /// What Codex does without proposing it to the gate is off: in every mode what is typed into a terminal, because the mode may change while one is
    /// open; where rules decide, searches that the model's provider makes. Tools of MCP servers that call themselves harmless ask there too: two gates
    /// are better than one.
    fn thread_config(&self) -> Map<String, Value> {
        let mut config = self.fixed.get("config").and_then(Value::as_object).cloned().unwrap_or_default();
        put(&mut config, &["features", "unified_exec_tty"], false.into());
        if self.is_ruled() {
            put(&mut config, &["web_search"], "disabled".into());
            for server in self.own.mcp_servers.iter().cloned().chain(names_in(config.get("mcp_servers"))) {
                put(&mut config, &["mcp_servers", &server, "default_tools_approval_mode"], "prompt".into());
            }
        }
        config
    }

    /// For `thread/settings/update`, when a mode begins: what it says of asks and of the sandbox.
    pub(super) fn mode_params(&self) -> Map<String, Value> {
        OF_RULES
            .iter()
            .filter(|name| self.changed.contains(*name))
            .filter_map(|name| self.turn_param(name, None))
            .collect()
    }

    /// For `thread/settings/update`, when the thread is open: the sandbox, with all that belongs to it. `chosen` is the one that the thread has.
    pub(super) fn sandbox_after_opening(&self, chosen: &Value) -> Option<Map<String, Value>> {
        let (name, value) = match self.permissions() {
            Some(profile) => ("permissions", profile.into()),
            None => ("sandboxPolicy", self.sandbox_policy().or_else(|| self.adjusted_sandbox(chosen))?),
        };
        Some(Map::from_iter([(name.to_owned(), value)]))
    }

    /// A warning that names the parameters that have no effect, and why.
    pub(super) fn ignored_params(&self) -> Option<String> {
        let profile = self.permissions().filter(|_| self.adjusts_sandbox())?;
        Some(format!("`add_dirs` and `network_access` change nothing: Codex's permissions {profile} say all of it"))
    }

    /// The sandbox that the mode or the session has chosen.
    fn chosen_sandbox(&self) -> Option<&str> {
        self.ruled.as_deref().or(self.sandbox.as_deref())
    }

    /// The profile of permissions that takes the place of a sandbox.
    fn permissions(&self) -> Option<&str> {
        self.own.default_permissions.as_deref().filter(|_| self.chosen_sandbox().is_none())
    }

    /// Whether the session says more of its sandbox than which it is.
    fn adjusts_sandbox(&self) -> bool {
        !self.add_dirs.is_empty() || self.network_access.is_some()
    }

    /// A sandbox that Codex has chosen by itself, with what the session says of it.
    fn adjusted_sandbox(&self, chosen: &Value) -> Option<Value> {
        let mut policy = chosen.as_object().filter(|_| self.adjusts_sandbox())?.clone();
        let kind = policy.get("type").and_then(Value::as_str)?.to_owned();
        if let Some(network) = self.network_access.filter(|_| matches!(kind.as_str(), "readOnly" | "workspaceWrite")) {
            policy.insert("networkAccess".to_owned(), network.into());
        }
        if kind == "workspaceWrite" {
            let known = texts_of(policy.get("writableRoots"));
            let roots = known.into_iter().chain(self.add_dirs.iter().cloned()).collect::<BTreeSet<_>>();
            policy.insert("writableRoots".to_owned(), json!(roots));
        }
        Some(Value::Object(policy))
    }

    /// The sandbox mode that holds: the session's, or that of Codex's own settings.
    fn sandbox_mode(&self) -> Option<String> {
        self.chosen_sandbox().map(str::to_owned).or_else(|| self.own.sandbox_mode.as_deref().map(kebab))
    }

    fn is_writable(&self) -> bool {
        self.permissions().is_some() || self.sandbox_mode().is_some_and(|mode| mode != "read-only")
    }

    fn sandbox_policy(&self) -> Option<Value> {
        let mode = self.sandbox_mode()?;
        let own = &self.own.workspace_write;
        Some(match mode.as_str() {
            "read-only" => match self.network_access {
                Some(network) => json!({ "type": "readOnly", "networkAccess": network }),
                None => json!({ "type": "readOnly" }),
            },
            "workspace-write" => json!({
                "type": "workspaceWrite",
                "writableRoots": own.writable_roots.iter().chain(&self.add_dirs).collect::<BTreeSet<_>>(),
                "networkAccess": self.network_access.unwrap_or(own.network_access),
                "excludeTmpdirEnvVar": own.exclude_tmpdir_env_var,
                "excludeSlashTmp": own.exclude_slash_tmp,
            }),
            "danger-full-access" => json!({ "type": "dangerFullAccess" }),
            _ => return None,
        })
    }

    /// For `turn/start`: what has changed since it was last said.
    pub(super) fn turn_params(&mut self, model: Option<&str>) -> Map<String, Value> {
        self.sent_changes = std::mem::take(&mut self.changed);
        let mut params: Map<String, Value> =
            self.sent_changes.iter().filter_map(|name| self.turn_param(name, model)).collect();
        // The only one that holds for a single turn.
        params.extend(self.output_schema.clone().map(|schema| ("outputSchema".to_owned(), schema)));
        params
    }

    /// One setting as Codex wants it. What a mode with rules has changed goes back to what the session says, what Codex's own settings say, or to
    /// what Codex does by itself.
    fn turn_param(&self, name: &str, model: Option<&str>) -> Option<(String, Value)> {
        let (name, value) = match name {
            "effort" => ("effort", self.effort.clone().map(Value::from)),
            "model" => ("model", self.model.clone().map(Value::from)),
            "approval_policy" if self.is_ruled() => ("approvalPolicy", Some(ASKS_ALWAYS.into())),
            "approval_policy" => {
                let policy = self.approval_policy.clone().or_else(|| self.own.approval_policy.clone());
                ("approvalPolicy", policy.or_else(|| Some("on-request".into())))
            }
            "approvals_reviewer" => {
                let given = self.fixed.get("approvalsReviewer").or(self.own.approvals_reviewer.as_ref());
                let reviewer = given.filter(|_| !self.is_ruled()).cloned();
                ("approvalsReviewer", reviewer.or_else(|| Some("user".into())))
            }
            "sandbox" => match self.permissions() {
                Some(profile) => ("permissions", Some(profile.into())),
                None => ("sandboxPolicy", self.sandbox_policy().or_else(|| Some(json!({ "type": "readOnly" })))),
            },
            _ => ("collaborationMode", self.collaboration_mode(model)),
        };
        value.map(|value| (name.to_owned(), value))
    }

    /// A turn was started with the changes; they are in force from now on.
    pub(super) fn confirm_changes(&mut self) {
        self.sent_changes.clear();
    }

    /// The turn was refused; the next one has to send the changes again.
    pub(super) fn restore_changes(&mut self) {
        self.changed.append(&mut self.sent_changes);
    }

    /// Whether there is a model that Codex has not been told of.
    pub(super) fn has_unsent_model(&self) -> bool {
        self.changed.contains("model")
    }

    fn collaboration_mode(&self, model: Option<&str>) -> Option<Value> {
        let (mode, model) = (self.collaboration.as_deref()?, self.model.as_deref().or(model)?);
        Some(json!({
            "mode": mode,
            "settings": { "model": model, "reasoning_effort": self.effort, "developer_instructions": null },
        }))
    }
}

fn names_in(table: Option<&Value>) -> Vec<String> {
    table.and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned().collect()
}

/// `workspaceWrite` as `workspace-write`.
fn kebab(name: &str) -> String {
    let mut kebab = String::with_capacity(name.len() + 2);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.push(if c == '_' { '-' } else { c.to_ascii_lowercase() });
    }
    kebab
}
