//! From TOML to a script. First the shape (serde, which refuses keys it does not know), then what a shape cannot say.

use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::{
    NamedCall, Pace, PlanItem, PlanState, Question, Refusal, Reply, Script, ScriptError, Step, Stop, StreamError,
    TextKind, Tool, Usage, When,
};
use crate::request::{Api, Kind};
use crate::speech;

/// A stream is made before it is sent, so its length has a bound.
const MAX_WORDS: usize = 100_000;
/// Longer than any test or agent waits.
const MAX_WAIT_MS: u64 = 3_600_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    #[serde(default)]
    every_ms: u64,
    #[serde(default)]
    reply: Vec<Spanned<RawReply>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReply {
    name: Option<String>,
    #[serde(default)]
    when: RawWhen,
    once: Option<bool>,
    times: Option<u64>,
    always: Option<bool>,
    #[serde(default)]
    step: Vec<Spanned<RawStep>>,
    #[serde(default)]
    usage: RawUsage,
    #[serde(default)]
    stop: Stop,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawWhen {
    user: Option<String>,
    tool_result: Option<String>,
    after: Option<Spanned<String>>,
    system: Option<String>,
    tool: Option<String>,
    model: Option<String>,
    api: Option<Api>,
    #[serde(default)]
    kind: Kind,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawUsage {
    input: Option<u64>,
    cached: Option<u64>,
    output: Option<u64>,
}

/// Exactly one of the verbs, and how fast.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    text: Option<String>,
    thinking: Option<String>,
    raw_thinking: Option<String>,
    words: Option<usize>,
    run: Option<String>,
    read: Option<String>,
    write: Option<RawWrite>,
    edit: Option<RawEdit>,
    ask: Option<RawAsk>,
    plan: Option<Vec<RawPlanItem>>,
    tool: Option<RawTool>,
    wait_ms: Option<u64>,
    wait_for: Option<String>,
    error: Option<RawRefusal>,
    stream_error: Option<RawStreamError>,
    cut: Option<bool>,

    pieces: Option<usize>,
    every_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWrite {
    path: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEdit {
    path: String,
    old: String,
    new: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAsk {
    question: String,
    header: Option<String>,
    options: Vec<String>,
    #[serde(default)]
    several: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlanItem {
    text: String,
    #[serde(default)]
    state: PlanState,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTool {
    name: Option<String>,
    input: Option<Value>,
    anthropic: Option<RawNamed>,
    openai: Option<RawNamed>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNamed {
    name: String,
    input: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRefusal {
    status: u16,
    message: Option<String>,
    code: Option<String>,
    retry_after: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStreamError {
    message: String,
    code: Option<String>,
}

/// What is wrong, before it is known where.
struct Wrong(&'static str, String);

fn wrong<T>(code: &'static str, message: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong(code, message.into()))
}

/// Enough for 80 tables inside each other whose names have 80 parts each, which is as deep as TOML goes.
const STACK: usize = 128 * 1024 * 1024;

/// Does something where the stack is large: TOML bounds each of its names and its tables, but not what they are together.
fn with_room<T: Send>(read: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, read).ok()?.join().ok()
    })
}

/// How many tables and lists may stand inside each other.
const MAX_DEPTH: usize = 64;

fn fits(value: &toml::Value, levels: usize) -> bool {
    let inside = |value: &toml::Value| levels > 0 && fits(value, levels - 1);
    match value {
        toml::Value::Table(table) => table.values().all(inside),
        toml::Value::Array(list) => list.iter().all(inside),
        _ => true,
    }
}

pub(super) fn script(text: &str) -> Result<Script, ScriptError> {
    let bad = |error: toml::de::Error| ScriptError::at(text, error.span(), "bad_toml", error.message());
    let raw = with_room(|| {
        let whole: toml::Table = toml::from_str(text).map_err(bad)?;
        if !whole.values().all(|value| fits(value, MAX_DEPTH)) {
            return Err(ScriptError::at(text, None, "bad_toml", "it is nested too deep"));
        }
        toml::from_str::<RawScript>(text).map_err(bad)
    });
    let raw = raw.unwrap_or_else(|| Err(ScriptError::at(text, None, "bad_toml", "it cannot be read")))?;
    let names = names(text, &raw.reply)?;
    let replies = (1..).zip(raw.reply).map(|(number, raw_reply)| reply(text, raw_reply, number, &names, raw.every_ms));
    Ok(Script { replies: replies.collect::<Result<_, _>>()? })
}

/// What each reply is called; no two are called the same.
fn names(text: &str, replies: &[Spanned<RawReply>]) -> Result<Vec<String>, ScriptError> {
    let mut names: Vec<String> = Vec::new();
    for (number, reply) in (1..).zip(replies) {
        let name = reply.get_ref().name.clone().unwrap_or_else(|| format!("reply {number}"));
        if names.contains(&name) {
            let message = format!("there is another reply named {name:?}");
            return Err(ScriptError::at(text, Some(reply.span()), "bad_reply", message));
        }
        names.push(name);
    }
    Ok(names)
}

fn reply(
    text: &str,
    raw: Spanned<RawReply>,
    number: usize,
    names: &[String],
    every_ms: u64,
) -> Result<Reply, ScriptError> {
    let at = |span: Range<usize>| move |Wrong(code, message)| ScriptError::at(text, Some(span), code, message);
    let span = raw.span();
    let raw = raw.into_inner();
    let uses = uses(&raw).map_err(at(span.clone()))?;
    if raw.step.is_empty() {
        return wrong("bad_reply", "a reply needs at least one step").map_err(at(span));
    }
    let mut steps: Vec<Step> = Vec::new();
    for spanned in raw.step {
        let span = spanned.span();
        let added = step(spanned.into_inner(), every_ms).and_then(|step| in_order(&steps, &step).map(|()| step));
        steps.push(added.map_err(at(span))?);
    }
    let RawWhen { user, tool_result, after, system, tool, model, api, kind } = raw.when;
    let number_of = |name: Spanned<String>| {
        let number = (1..).zip(names).find(|(_, other)| *other == name.get_ref()).map(|(number, _)| number);
        let message = || format!("no reply is named {:?}", name.get_ref());
        number.ok_or_else(|| at(name.span())(Wrong("bad_reply", message())))
    };
    let after = after.map(number_of).transpose()?;
    let default = Usage::default();
    Ok(Reply {
        number,
        name: names.get(number - 1).cloned().unwrap_or_default(),
        when: When { user, tool_result, after, system, tool, model, api, kind },
        uses,
        steps,
        usage: Usage {
            input: raw.usage.input.unwrap_or(default.input),
            cached: raw.usage.cached.unwrap_or(default.cached),
            output: raw.usage.output,
        },
        stop: raw.stop,
    })
}

fn uses(raw: &RawReply) -> Result<Option<u64>, Wrong> {
    match (raw.once, raw.times, raw.always) {
        (None | Some(true), None, None) => Ok(Some(1)),
        (None, Some(times), None) if times > 0 => Ok(Some(times)),
        (None, None, Some(true)) => Ok(None),
        _ => wrong(
            "bad_uses",
            "say one of `once = true`, `times = N` with N over 0, `always = true`; without any it is once",
        ),
    }
}

/// What ends a reply is its last step, and an error is not said after a word.
fn in_order(before: &[Step], step: &Step) -> Result<(), Wrong> {
    if matches!(before.last(), Some(Step::Refuse(_) | Step::StreamError(_) | Step::Cut)) {
        return wrong("bad_order", "nothing can follow `error`, `stream_error` or `cut`");
    }
    let only_waits = before.iter().all(|step| matches!(step, Step::WaitMs(_) | Step::WaitFor(_)));
    if matches!(step, Step::Refuse(_)) && !only_waits {
        return wrong(
            "bad_order",
            "`error` is a whole answer: only waits can be before it; in a stream it is `stream_error`",
        );
    }
    Ok(())
}

fn step(raw: RawStep, every_ms: u64) -> Result<Step, Wrong> {
    if raw.pieces == Some(0) {
        return wrong("bad_value", "`pieces` is at least 1");
    }
    let paced = raw.pieces.is_some() || raw.every_ms.is_some();
    let pace = Pace { pieces: raw.pieces, every_ms: within(raw.every_ms.unwrap_or(every_ms), "every_ms")? };
    let mut found = Vec::new();
    let mut say = |voice, text| found.push(Step::Say { voice, text, pace });
    raw.text.into_iter().for_each(|text| say(TextKind::Text, text));
    raw.thinking.into_iter().for_each(|text| say(TextKind::Thinking, text));
    raw.raw_thinking.into_iter().for_each(|text| say(TextKind::RawThinking, text));
    if let Some(count) = raw.words {
        if count == 0 || count > MAX_WORDS {
            return wrong("bad_value", format!("`words` is from 1 to {MAX_WORDS}"));
        }
        say(TextKind::Text, speech::words(count));
    }
    let mut call = |tool| found.push(Step::Call { tool, pace });
    raw.run.into_iter().for_each(|command| call(Tool::Run { command }));
    raw.read.into_iter().for_each(|path| call(Tool::Read { path }));
    raw.write.into_iter().for_each(|RawWrite { path, text }| call(Tool::Write { path, text }));
    raw.edit.into_iter().for_each(|RawEdit { path, old, new }| call(Tool::Edit { path, old, new }));
    raw.ask.map(question).transpose()?.into_iter().for_each(|question| call(Tool::Ask(question)));
    if let Some(items) = raw.plan {
        call(Tool::Plan(items.into_iter().map(|RawPlanItem { text, state }| PlanItem { text, state }).collect()));
    }
    raw.tool.map(named).transpose()?.into_iter().for_each(call);
    found.extend(raw.wait_ms.map(|ms| within(ms, "wait_ms")).transpose()?.map(Step::WaitMs));
    found.extend(raw.wait_for.map(gate).transpose()?.map(Step::WaitFor));
    found.extend(raw.error.map(refusal).transpose()?.map(Step::Refuse));
    found.extend(
        raw.stream_error.map(|RawStreamError { message, code }| Step::StreamError(StreamError { message, code })),
    );
    if let Some(cut) = raw.cut {
        if !cut {
            return wrong("bad_step", "leave `cut` out instead of `cut = false`");
        }
        found.push(Step::Cut);
    }
    let one = <[Step; 1]>::try_from(found);
    match one {
        Ok([step]) if paced && !matches!(step, Step::Say { .. } | Step::Call { .. }) => {
            wrong("bad_step", "`pieces` and `every_ms` are for what is said and for calls")
        }
        Ok([step]) => Ok(step),
        Err(found) if found.is_empty() => wrong("bad_step", "a step says one thing, for example `text = \"...\"`"),
        Err(_) => wrong("bad_step", "a step says one thing; make several steps of it"),
    }
}

fn within(ms: u64, name: &str) -> Result<u64, Wrong> {
    if ms > MAX_WAIT_MS { wrong("bad_value", format!("`{name}` is at most {MAX_WAIT_MS}")) } else { Ok(ms) }
}

/// It stands in a URL.
fn gate(name: String) -> Result<String, Wrong> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(fits) {
        return wrong("bad_value", "a name to wait for has letters, digits, '-' and '_'");
    }
    Ok(name)
}

fn question(raw: RawAsk) -> Result<Question, Wrong> {
    if !(2..=4).contains(&raw.options.len()) {
        return wrong("bad_value", "a question has 2 to 4 `options`; more and fewer are refused by agents");
    }
    let header = raw.header.unwrap_or_else(|| "Question".to_owned());
    Ok(Question { header, text: raw.question, options: raw.options, several: raw.several })
}

fn named(raw: RawTool) -> Result<Tool, Wrong> {
    let call = |name: String, input: Option<Value>| match input.unwrap_or_else(|| Value::Object(serde_json::Map::new()))
    {
        input @ (Value::Object(_) | Value::String(_)) => Ok(NamedCall { name, input }),
        _ => wrong("bad_value", "`input` of a call is a table, or a text for tools that take free text"),
    };
    let of = |raw: Option<RawNamed>| raw.map(|raw| call(raw.name, raw.input)).transpose();
    match raw {
        RawTool { name: Some(name), input, anthropic: None, openai: None } => {
            let call = call(name, input)?;
            Ok(Tool::Named { anthropic: Some(call.clone()), openai: Some(call) })
        }
        RawTool { name: None, input: None, anthropic: None, openai: None } => {
            wrong("bad_value", "which tool? say its `name`")
        }
        RawTool { name: None, input: None, anthropic, openai } => {
            Ok(Tool::Named { anthropic: of(anthropic)?, openai: of(openai)? })
        }
        _ => wrong("bad_value", "`tool` has `name` and `input`, or `anthropic` and `openai` with theirs"),
    }
}

fn refusal(raw: RawRefusal) -> Result<Refusal, Wrong> {
    if !(400..=599).contains(&raw.status) {
        return wrong("bad_value", format!("an error's `status` is from 400 to 599, not {}", raw.status));
    }
    let message = raw.message.unwrap_or_else(|| "The script says so.".to_owned());
    Ok(Refusal { status: raw.status, message, code: raw.code, retry_after: raw.retry_after })
}
