//! What a thread is told about itself: at its beginning all of it, later what has changed.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::runtime::Opening;

#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
    effort: Option<String>,
    sandbox: Option<String>,
    approval_policy: Option<Value>,
    /// `plan`, or `default` once it was something else.
    collaboration: Option<String>,
    /// The rest, as it goes into `thread/start`.
    fixed: Map<String, Value>,
    changed: BTreeSet<&'static str>,
    /// What a turn was asked to begin with, until it has begun.
    saying: BTreeSet<&'static str>,
}

/// The modes a session may have, and the words of others for them. Each is a way to work together, or a policy and a sandbox that belong together.
pub const MODES: &[&str] = &[
    "plan",
    "default",
    "read-only",
    "auto",
    "full-access",
    "implement",
    "build",
    "code",
    "acceptEdits",
    "bypass",
    "bypassPermissions",
];

impl Settings {
    pub(super) fn of(opening: &Opening) -> Self {
        let mut settings = Self { cwd: opening.cwd.clone(), model: opening.model.clone(), ..Self::default() };
        let mut fixed = |name: &str, value: Option<Value>| {
            if let Some(value) = value.filter(|value| !value.is_null()) {
                settings.fixed.insert(name.to_owned(), value);
            }
        };
        let given = |name: &str| opening.params.get(name).cloned();
        fixed("developerInstructions", opening.system_prompt.clone().map(Value::from));
        fixed("modelProvider", given("model_provider"));
        fixed("approvalsReviewer", given("approvals_reviewer"));
        fixed("config", Some(config_of(opening)).filter(|config| !config.is_empty()).map(Value::from));
        // The wider word first: what is said in particular overrides it.
        for mode in
            [given("permission_mode").as_ref().and_then(Value::as_str), opening.mode.as_deref()].into_iter().flatten()
        {
            drop(settings.set_mode(mode));
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
            "sandbox" => (self.sandbox, _) = (text.map(|name| kebab(&name)), self.changed.insert("sandbox")),
            "approval_policy" => {
                self.approval_policy = Some(text.map_or_else(|| value.clone(), |name| kebab(&name).into()));
                self.changed.insert("approval_policy");
            }
            _ => {}
        }
    }

    pub(super) fn effort(&self) -> Option<&str> {
        self.effort.as_deref()
    }

    /// Where nobody can be asked to plan only, to read only is as much.
    pub(super) fn sandbox(&self) -> Option<&str> {
        let plans = self.collaboration.as_deref() == Some("plan");
        self.sandbox.as_deref().or(plans.then_some("read-only"))
    }

    /// What goes into Codex's own settings.
    pub(super) fn config(&self) -> Option<&Map<String, Value>> {
        self.fixed.get("config").and_then(Value::as_object)
    }

    pub(super) fn set_model(&mut self, model: &str) {
        self.model = Some(model.to_owned());
        self.changed.insert("model");
    }

    /// Changes the way to work together, or says why not.
    pub(super) fn set_mode(&mut self, mode: &str) -> Result<(), String> {
        let (policy, sandbox) = match mode {
            "plan" | "default" | "implement" | "build" | "code" => {
                self.collaborate(if mode == "plan" { mode } else { "default" });
                return Ok(());
            }
            "read-only" => ("on-request", "read-only"),
            "auto" | "acceptEdits" => ("on-request", "workspace-write"),
            "full-access" | "bypass" | "bypassPermissions" => ("never", "danger-full-access"),
            other => return Err(format!("Codex has no mode {other:?}; it has {}", MODES.join(", "))),
        };
        self.set("approval_policy", &policy.into());
        self.set("sandbox", &sandbox.into());
        if self.collaboration.as_deref() == Some("plan") {
            self.collaborate("default");
        }
        Ok(())
    }

    fn collaborate(&mut self, mode: &str) {
        if mode != "default" || self.collaboration.is_some() {
            self.collaboration = Some(mode.to_owned());
            self.changed.insert("collaboration");
        }
    }

    /// For `thread/start`, `thread/resume` and `thread/fork`: all of it, because a sandbox is not remembered.
    pub(super) fn of_thread(&self) -> Map<String, Value> {
        let mut params = self.fixed.clone();
        let known = [
            ("cwd", self.cwd.clone().map(Value::from)),
            ("model", self.model.clone().map(Value::from)),
            ("sandbox", self.sandbox.clone().map(Value::from)),
            ("approvalPolicy", self.approval_policy.clone()),
        ];
        params.extend(known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        params
    }

    /// For `turn/start`: what has changed since it was last said.
    pub(super) fn of_turn(&mut self, model: Option<&str>) -> Map<String, Value> {
        self.saying = std::mem::take(&mut self.changed);
        let mut params = Map::new();
        for name in &self.saying {
            let (name, value) = match *name {
                "effort" => ("effort", self.effort.clone().map(Value::from)),
                "model" => ("model", self.model.clone().map(Value::from)),
                "approval_policy" => ("approvalPolicy", self.approval_policy.clone()),
                "sandbox" => ("sandboxPolicy", self.sandbox.as_deref().and_then(sandbox_policy)),
                _ => ("collaborationMode", self.collaboration_mode(model)),
            };
            params.extend(value.map(|value| (name.to_owned(), value)));
        }
        params
    }

    /// A turn was started with it: it holds from now on.
    pub(super) fn said(&mut self) {
        self.saying.clear();
    }

    /// The turn was refused: the next one has to say it again.
    pub(super) fn not_said(&mut self) {
        self.changed.append(&mut self.saying);
    }

    /// Whether there is a model that Codex has not been told of.
    pub(super) fn wants_model(&self) -> bool {
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

fn config_of(opening: &Opening) -> Map<String, Value> {
    let mut config = Map::new();
    if let Some(Value::Object(servers)) = opening.params.get("mcp_servers") {
        config.extend(servers.iter().map(|(name, server)| (format!("mcp_servers.{name}"), server.clone())));
    }
    if let Some(Value::Object(env)) = opening.params.get("env") {
        // The server has it too, but what it passes on to commands it chooses by name.
        config.insert("shell_environment_policy.set".to_owned(), Value::Object(env.clone()));
    }
    if let Some(Value::Object(more)) = opening.params.get("config") {
        config.extend(more.clone());
    }
    config
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

fn sandbox_policy(sandbox: &str) -> Option<Value> {
    let kind = match sandbox {
        "read-only" => "readOnly",
        "workspace-write" => "workspaceWrite",
        "danger-full-access" => "dangerFullAccess",
        _ => return None,
    };
    Some(json!({ "type": kind }))
}
