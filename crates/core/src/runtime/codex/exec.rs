//! `codex exec --json`: one process per turn, which reads its message from its input and ends with the turn. Nobody can be asked, nothing can be said
//! meanwhile. The processes are started by a runner in the `turnloom` crate; this tells it what to run and reads what it passes on.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::failure;
use super::settings::Settings;
use super::unlisted::Items;
use super::wire::{Item, Tokens, TurnError};
use super::work::ThreadWork;
use crate::event::{Failure, Outcome, Part, TurnResult, Usage};
use crate::runtime::{Beginning, Line, Opening, Order, Output, Protocol, Ready, Report, unparsed};

/// What the runner is told, one object per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunnerCommand {
    Run(Box<Run>),
    /// Stop the process that runs.
    Interrupt {},
    /// Nothing more will be run.
    Exit {},
}

/// One process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub args: Vec<String>,
    /// What it reads.
    pub prompt: String,
    /// What is changed of Codex's own settings. There may be secrets in it, and what a process is called with is there for everybody to read.
    pub config: Map<String, Value>,
    /// What takes the place of Codex's own instructions.
    pub instructions: Option<String>,
    /// The shape of the last message.
    pub output_schema: Option<Value>,
    /// The sandbox, if the session says which.
    pub sandbox: Option<String>,
    /// The thread that it goes on with, if Codex has one.
    pub thread: Option<String>,
}

/// What the runner says when a process has ended, beside what the process said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunEnd {
    pub code: Option<i32>,
    /// The last it wrote to stderr.
    #[serde(default)]
    pub stderr: String,
}

impl RunEnd {
    /// As a line for the protocol.
    pub fn line(&self) -> Value {
        serde_json::json!({ "type": "run.ended", "code": self.code, "stderr": self.stderr })
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum ExecEvent {
    #[serde(rename = "thread.started")]
    ThreadStarted {
        #[serde(default)]
        thread_id: String,
    },
    #[serde(rename = "turn.started")]
    TurnStarted {},
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        #[serde(default)]
        usage: Option<Tokens>,
    },
    #[serde(rename = "turn.failed")]
    TurnFailed {
        #[serde(default)]
        error: Option<TurnError>,
    },
    #[serde(rename = "item.started")]
    ItemStarted { item: Value },
    #[serde(rename = "item.updated")]
    ItemUpdated { item: Value },
    #[serde(rename = "item.completed")]
    ItemCompleted { item: Value },
    #[serde(rename = "error")]
    Error {
        #[serde(default)]
        message: String,
    },
    /// Not Codex's word: the runner has found it in the file of the thread.
    #[serde(rename = "rollout.item")]
    RolloutItem { item: Value },
    #[serde(rename = "run.ended")]
    RunEnded(RunEnd),
}

/// Speaks with `codex exec` through a runner.
#[derive(Debug, Default)]
pub struct ExecProtocol {
    profile: Map<String, Value>,
    settings: Settings,
    instructions: Option<String>,
    thread: Option<String>,
    work: ThreadWork,
    running: bool,
    /// Processes whose end was not told yet: that of one turn may come after the beginning of the next.
    running_processes: u64,
    interrupted: bool,
    warnings: usize,
    /// What the thread had used before this turn. Not known of a thread that is resumed, until a turn has ended.
    used_before: Option<Tokens>,
    failed: Option<String>,
}

impl Protocol for ExecProtocol {
    fn open(&mut self, opening: &Opening, out: &mut Output) {
        self.settings = Settings::of(opening, &self.profile);
        self.instructions.clone_from(&opening.system_prompt);
        (self.thread, self.used_before) = match &opening.beginning {
            Beginning::Fresh => (None, Some(Tokens::default())),
            Beginning::Resume { provider_session_id, .. } | Beginning::Fork { provider_session_id, .. } => {
                (Some(provider_session_id.clone()), None)
            }
        };
        // There is nothing to wait for. A conversation that Codex does not have makes the turn fail; it never begins a new one in silence.
        let (provider_session_id, resumed) = (self.thread.clone(), self.thread.is_some());
        out.report(Report::Ready(Box::new(Ready { provider_session_id, resumed, ..Ready::default() })));
    }

    fn order(&mut self, order: &Order, out: &mut Output) {
        match order {
            Order::Prompt { messages, turn_id } => {
                let texts = messages.iter().flat_map(|message| &message.content).map(text_of);
                let prompt = texts.collect::<Vec<_>>().join("\n\n");
                self.running_processes += 1;
                (self.running, self.interrupted, self.failed) = (true, false, None);
                self.work.begin_turn(turn_id.as_str(), out);
                write_command(&RunnerCommand::Run(Box::new(self.run(prompt))), out);
            }
            Order::Interrupt { .. } => {
                self.interrupted = true;
                write_command(&RunnerCommand::Interrupt {}, out);
            }
            Order::SetModel { model } => self.settings.model = Some(model.clone()),
            Order::Configure { settings } => settings.iter().for_each(|(name, value)| self.settings.set(name, value)),
            Order::Rollback(_) => {
                out.report(Report::RollbackRefused { reason: "`codex exec` cannot go back".to_owned() });
            }
            Order::Close { .. } => write_command(&RunnerCommand::Exit {}, out),
            Order::Steer { message, .. } => {
                let reason = "`codex exec` hears nothing while it runs".to_owned();
                out.report(Report::SteerRejected { message_id: message.message_id.clone(), reason });
            }
            Order::Compact { .. } => self.end(Outcome::Failed, Some("`codex exec` cannot compact".to_owned()), out),
            Order::Answer { .. }
            | Order::Verdict { .. }
            | Order::SetMode { .. }
            | Order::StopBackground { .. }
            | Order::State { .. }
            | Order::HostResult { .. }
            | Order::HostTools(_)
            | Order::Callback(_) => {}
        }
    }

    fn line(&mut self, line: Line<'_>, out: &mut Output) {
        let said = match line {
            Line::Text(bytes) if bytes.trim_ascii().is_empty() => return,
            Line::Text(bytes) => serde_json::from_slice::<ExecEvent>(bytes).map_err(|error| error.to_string()),
            Line::TooLong { size, .. } => Err(format!("a line of {size} bytes is over the limit")),
        };
        if let Err(error) = said.and_then(|said| self.handle_event(said, out)) {
            out.report(unparsed("codex-exec/stdout", &error, line));
        }
    }
}

impl ExecProtocol {
    /// With the settings that the session's profile stands for.
    #[must_use]
    pub fn with_profile(profile: Map<String, Value>) -> Self {
        Self { profile, ..Self::default() }
    }

    fn run(&self, prompt: String) -> Run {
        let mut args: Vec<String> = ["exec", "--json", "--skip-git-repo-check"].map(str::to_owned).to_vec();
        let mut add = |flag: &str, value: Option<&str>| {
            args.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value.to_owned()]));
        };
        add("-C", self.settings.cwd.as_deref());
        add("-m", self.settings.model.as_deref());
        add("-s", self.settings.sandbox());
        self.settings.add_dirs().iter().for_each(|folder| add("--add-dir", Some(folder)));
        args.extend(self.thread.iter().flat_map(|thread| ["resume".to_owned(), thread.clone()]));
        args.push("-".to_owned());
        Run {
            args,
            prompt,
            config: self.settings.exec_config(self.instructions.as_deref()),
            instructions: self.settings.base_instructions().map(str::to_owned),
            output_schema: self.settings.output_schema().cloned(),
            sandbox: self.settings.sandbox().map(str::to_owned),
            thread: self.thread.clone(),
        }
    }

    fn handle_event(&mut self, said: ExecEvent, out: &mut Output) -> Result<(), String> {
        match said {
            ExecEvent::ThreadStarted { thread_id } => {
                if self.thread.as_ref() != Some(&thread_id) && !thread_id.is_empty() {
                    self.thread = Some(thread_id.clone());
                    let reason = "Codex has named the conversation".to_owned();
                    out.report(Report::Renamed { provider_session_id: thread_id, reason });
                }
            }
            ExecEvent::TurnStarted {} => {}
            ExecEvent::ItemStarted { item } | ExecEvent::ItemUpdated { item } => self.work.started(&read(item)?, out),
            ExecEvent::ItemCompleted { item } => {
                let item: Item = read(item)?;
                if let Item::Error { message } = &item {
                    self.warnings += 1;
                    out.report(super::orders::warning(self.warnings, message));
                }
                self.work.completed(&item, "", out);
            }
            ExecEvent::RolloutItem { item } => {
                if self.running {
                    self.work.raw_call(&item, Items::Counted, out);
                }
            }
            ExecEvent::TurnCompleted { usage } => {
                if let Some(usage) = usage {
                    let before = self.used_before.replace(usage);
                    out.reports.extend(before.map(|before| Report::from(used(usage, before))));
                }
                self.end(Outcome::Completed, None, out);
            }
            ExecEvent::TurnFailed { error } => {
                let message = error.map(|error| error.message).or(self.failed.take());
                self.end(Outcome::Failed, message, out);
            }
            ExecEvent::Error { message } if message.starts_with("Reconnecting") => {
                if self.running {
                    out.report(failure::retrying(&TurnError { message, ..TurnError::default() }));
                }
            }
            ExecEvent::Error { message } => self.failed = Some(message),
            ExecEvent::RunEnded(end) => {
                self.running_processes = self.running_processes.saturating_sub(1);
                if self.running_processes > 0 {
                    return Ok(());
                }
                let stderr = end.stderr.trim();
                let why = if stderr.is_empty() {
                    format!("codex exec ended with code {:?}", end.code)
                } else {
                    stderr.to_owned()
                };
                let message = self.failed.take().unwrap_or(why);
                self.end(Outcome::Failed, Some(message), out);
            }
        }
        Ok(())
    }

    /// Ends the running turn, if there is one: the end of the process comes after the end of the turn.
    fn end(&mut self, outcome: Outcome, message: Option<String>, out: &mut Output) {
        if !std::mem::take(&mut self.running) {
            return;
        }
        let outcome = if outcome == Outcome::Failed && self.interrupted { Outcome::Interrupted } else { outcome };
        if let Some((_, text)) = self.work.answer.take().filter(|_| outcome == Outcome::Completed) {
            let structured_output = self.settings.structured(&text);
            out.report(TurnResult { text, structured_output });
        }
        // Its commands end with the process.
        self.work.tools.clear();
        self.work.end_turn(if outcome == Outcome::Completed { "completed" } else { "interrupted" }, out);
        let failure = (outcome == Outcome::Failed).then(|| {
            let message = message.unwrap_or_else(|| "codex exec did not say why".to_owned());
            let failure = failure::of_turn(&TurnError { message, ..TurnError::default() });
            // What could not be sorted may have been the process, and not the model.
            Failure { retryable: failure.retryable || failure.code == "model_error", ..failure }
        });
        out.report(Report::TurnEnded { outcome, reason: None, failure });
    }
}

fn used(now: Tokens, before: Tokens) -> Usage {
    Usage {
        input_tokens: now.input.saturating_sub(before.input),
        output_tokens: now.output.saturating_sub(before.output),
        cached_tokens: Some(now.cached.saturating_sub(before.cached)),
        reasoning_tokens: Some(now.reasoning.saturating_sub(before.reasoning)),
        ..Usage::default()
    }
}

fn read(item: Value) -> Result<Item, String> {
    serde_json::from_value(item).map_err(|error| error.to_string())
}

fn write_command(order: &RunnerCommand, out: &mut Output) {
    // Strings only, so this always encodes.
    out.write_line(&serde_json::to_value(order).unwrap_or_default());
}

fn text_of(part: &Part) -> String {
    match part {
        Part::Text { text } => text.clone(),
        Part::Image { media_type, .. } => format!("[an image, {media_type}, that could not be passed on]"),
        Part::File { path } => format!("[file {path}]"),
    }
}
