//! How a conversation begins: the handshake, then a thread is started, resumed or forked, and the result is verified.

use serde_json::{Value, json};

use super::gate::add_hook;
use super::protocol::{Call, CodexProtocol};
use super::turn::Turn;
use super::wire::{ConfigRead, Initialized, Models, ThreadOpened};
use crate::client_tools::ClientTool;
use crate::event::{ModelChoice, Origin, SlashCommand};
use crate::host_tools::{HostTool, with_plain_schemas};
use crate::runtime::jsonrpc;
use crate::runtime::{Beginning, Output, Ready, Report, StartFailure};

/// Notifications that we opt out of: there are too many of them, or they are about something that is not shown.
const OPT_OUT_METHODS: &[&str] = &[
    "account/rateLimits/updated",
    "thread/readState/changed",
    "remoteControl/status/changed",
    "rawResponse/completed",
];

impl CodexProtocol {
    pub(super) fn send_initialize(&mut self, out: &mut Output) {
        let client = json!({ "name": "turnloom", "title": "Turnloom", "version": env!("CARGO_PKG_VERSION") });
        let capabilities = json!({ "experimentalApi": true, "optOutNotificationMethods": OPT_OUT_METHODS });
        let params = json!({ "clientInfo": client, "capabilities": capabilities });
        self.call("initialize", params, Call::Initialize, out);
    }

    pub(super) fn initialized(&mut self, result: Result<&str, jsonrpc::Error>, out: &mut Output) {
        match result {
            Ok(result) => {
                let hello: Initialized = serde_json::from_str(result).unwrap_or_default();
                // `turnloom/0.166.0 (Debian 12; x86_64) ...`
                let version = hello.user_agent.split_once('/').and_then(|(_, rest)| rest.split_whitespace().next());
                self.version = version.map(str::to_owned);
                out.write_line(&self.peer.notification("initialized", None));
                self.call("model/list", json!({}), Call::Models, out);
                self.call("config/read", json!({ "cwd": self.settings.cwd }), Call::OwnSettings, out);
            }
            Err(error) => Self::start_failed(&error, out),
        }
    }

    /// What Codex's own settings are decides how the thread is opened. Where they cannot be had, Codex says more when it is.
    pub(super) fn own_settings_read(&mut self, result: Result<&str, jsonrpc::Error>, out: &mut Output) {
        let read = result.ok().and_then(|result| serde_json::from_str::<ConfigRead>(result).ok());
        self.settings.set_own(read.map(|read| read.config).unwrap_or_default());
        self.open_thread(out);
    }

    fn open_thread(&mut self, out: &mut Output) {
        let mut params = self.settings.thread_params(&self.beginning);
        if let (Some(command), Some(Value::Object(config))) = (self.gate.command(), params.get_mut("config")) {
            add_hook(config, command);
        }
        let method = match &self.beginning {
            Beginning::Fresh => {
                let own = self.own_tools.iter().map(own_tool);
                let tools: Vec<Value> = own.chain(self.client_tools.iter().map(dynamic_tool)).collect();
                if !tools.is_empty() {
                    params.insert("dynamicTools".to_owned(), json!(tools));
                }
                // Some of what happens has no item: see `unlisted`.
                params.insert("experimentalRawEvents".to_owned(), json!(true));
                "thread/start"
            }
            Beginning::Resume { provider_session_id, .. } => {
                params.insert("threadId".to_owned(), json!(provider_session_id));
                params.insert("excludeTurns".to_owned(), json!(true));
                "thread/resume"
            }
            Beginning::Fork { provider_session_id, at } => {
                params.insert("threadId".to_owned(), json!(provider_session_id));
                params.insert("excludeTurns".to_owned(), json!(true));
                if let Some(at) = at {
                    params.insert("lastTurnId".to_owned(), json!(at));
                }
                "thread/fork"
            }
        };
        self.call(method, Value::Object(params), Call::Open, out);
    }

    pub(super) fn thread_opened(&mut self, result: Result<&str, jsonrpc::Error>, out: &mut Output) {
        let opened: Result<ThreadOpened, String> = match result {
            Ok(result) => serde_json::from_str(result).map_err(|error| error.to_string()),
            Err(error) if self.must_open() || is_open_elsewhere(&error) => {
                return Self::start_failed(&error, out);
            }
            Err(error) => Err(error.message),
        };
        let opened = match opened {
            Ok(opened) if !opened.thread.id.is_empty() => opened,
            other => {
                let reason = other.err().unwrap_or_else(|| "Codex did not name the thread".to_owned());
                if self.must_open() {
                    return Self::start_failed(&jsonrpc::Error::new(0, reason), out);
                }
                if matches!(self.beginning, Beginning::Resume { wanted: true, .. }) {
                    return out.report(Report::StartFailed(StartFailure {
                        message: format!("Codex does not have this thread: {reason}"),
                        code: "conversation_not_found".to_owned(),
                        fix: Some("check the id; `turnloom adopt codex` lists the threads there are".to_owned()),
                    }));
                }
                // It does not have the conversation. A new one is better than none, and the log says so.
                (self.beginning, self.not_resumed) = (Beginning::Fresh, Some(reason));
                return self.open_thread(out);
            }
        };
        self.verify(&opened);
        self.thread = Some(opened.thread.id.clone());
        self.model = self.settings.model.clone().or(opened.model).or(opened.thread.model);
        if let Some(title) = self.title.take() {
            self.call("thread/name/set", json!({ "threadId": opened.thread.id, "name": title }), Call::Ignore, out);
        }
        if let Some(warning) = self.settings.ignored_params() {
            self.warn(warning, out);
        }
        if let Some(mut params) = self.settings.sandbox_after_opening(&opened.sandbox) {
            params.insert("threadId".to_owned(), json!(opened.thread.id));
            self.call("thread/settings/update", Value::Object(params), Call::Sandbox, out);
        }
        if let Some(path) = opened.thread.path.as_deref().filter(|_| self.beginning != Beginning::Fresh) {
            self.follow_rollout(path, out);
        }
        self.opened = true;
        self.confirm_gate(&opened.thread.id, out);
        if opened.thread.status.kind == "active" {
            // The server outlived the session process that began this turn; the rest of the turn is handled from here on.
            self.turn = Some(Turn { joined: true, ..Turn::default() });
        }
        self.maybe_ready(out);
    }

    /// Nobody should believe that a sandbox holds which Codex has refused.
    pub(super) fn sandbox_set(&mut self, result: Result<&str, jsonrpc::Error>, out: &mut Output) {
        if let Err(error) = result {
            self.warn(format!("Codex works in another sandbox than the session wants: {}", error.message), out);
        }
    }

    /// Whether nothing else will do: there is no conversation to go on with, or a person asked for this very one.
    fn must_open(&self) -> bool {
        matches!(self.beginning, Beginning::Fresh | Beginning::Resume { wanted: true, .. })
    }

    /// What was asked for must be what came.
    fn verify(&mut self, opened: &ThreadOpened) {
        let other_cwd = match (&self.settings.cwd, opened.cwd.as_ref().or(opened.thread.cwd.as_ref())) {
            (Some(wanted), Some(given)) if wanted.trim_end_matches('/') != given.trim_end_matches('/') => Some(given),
            _ => None,
        };
        self.resumed = match &self.beginning {
            Beginning::Fresh => false,
            Beginning::Resume { provider_session_id, .. } => opened.thread.id == *provider_session_id,
            Beginning::Fork { provider_session_id, .. } => {
                opened.thread.forked_from_id.as_ref() == Some(provider_session_id)
            }
        };
        if self.beginning != Beginning::Fresh && !self.resumed {
            self.not_resumed = Some(format!("Codex went on with the thread {} instead", opened.thread.id));
        }
        if let Some(cwd) = other_cwd {
            let reason = format!("Codex works in {cwd}");
            self.not_resumed =
                Some(self.not_resumed.take().map_or(reason.clone(), |known| format!("{known}; {reason}")));
        }
    }

    pub(super) fn models_known(&mut self, result: Result<&str, jsonrpc::Error>, out: &mut Output) {
        let models: Option<Models> = result.ok().and_then(|result| serde_json::from_str(result).ok());
        let choices = models.map(|models| {
            let shown = models.data.into_iter().filter(|model| !model.hidden && !model.id.is_empty());
            shown
                .map(|model| ModelChoice { id: model.id, name: model.display_name, description: model.description })
                .collect()
        });
        (self.models, self.asked_models) = (choices, true);
        self.maybe_ready(out);
    }

    pub(super) fn maybe_ready(&mut self, out: &mut Output) {
        if !self.opened || !self.asked_models || self.awaits_gate() || self.is_ready {
            return;
        }
        self.is_ready = true;
        let ready = Ready {
            provider_session_id: self.thread.clone(),
            resumed: self.resumed,
            reason: self.not_resumed.take(),
            model: self.model.clone(),
            mode: None,
            version: self.version.clone(),
            commands: Some(commands()),
            models: self.models.take(),
        };
        out.report(Report::Ready(Box::new(ready)));
        self.forget_early_turns();
        if self.turn.is_some() {
            out.report(Report::TurnStarted { origin: Origin::Agent, name: None });
        }
        self.replay_early_lines(out);
    }

    fn start_failed(error: &jsonrpc::Error, out: &mut Output) {
        let (code, fix) = if is_open_elsewhere(error) {
            (
                "conversation_in_use",
                "close the other program that has this conversation open, then send the message again",
            )
        } else if error.message.contains("not found") || error.message.contains("no rollout") {
            ("conversation_not_found", "check the id; `turnloom adopt codex` lists the conversations there are")
        } else if error.message.contains("load configuration") {
            ("agent_config_invalid", "mend Codex's own settings where the message says, then send the message again")
        } else {
            ("agent_start_failed", "run `turnloom doctor`, then send the message again")
        };
        out.report(Report::StartFailed(StartFailure {
            message: format!("Codex could not open the conversation: {}", error.message),
            code: code.to_owned(),
            fix: Some(fix.to_owned()),
        }));
    }
}

/// Another process writes this thread. A copy would split the conversation in two.
fn is_open_elsewhere(error: &jsonrpc::Error) -> bool {
    error.message.contains("active writer")
}

fn commands() -> Vec<SlashCommand> {
    let command = |name: &str, description: &str, hint: Option<&str>| SlashCommand {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        hint: hint.map(str::to_owned),
    };
    vec![
        command("review", "Review the changes that are not committed", Some("what to look at")),
        command("compact", "Make the conversation shorter", None),
    ]
}

/// A tool that a client runs. Codex takes them when a thread starts, and keeps them with it.
fn dynamic_tool(tool: &ClientTool) -> Value {
    let ClientTool { name, description, input_schema } = tool;
    let schema = with_plain_schemas(&Value::Object(input_schema.clone()));
    json!({ "type": "function", "name": name, "description": description, "inputSchema": schema })
}

/// A tool that the session carries out.
fn own_tool(tool: &HostTool) -> Value {
    let schema = with_plain_schemas(&tool.input_schema);
    json!({ "type": "function", "name": tool.name, "description": tool.description, "inputSchema": schema })
}
