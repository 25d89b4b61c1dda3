//! `turnloom answer`: answers an ask.

use std::process::ExitCode;

use anyhow::Result;
use turnloom_core::id::AskId;
use turnloom_core::summary::AskKind;

use super::Context;
use super::answering::{self, Permission, Reply};
use super::asks::{self, SessionAsk};
use super::connect::{self, path};
use super::failure::Failure;

/// Answer something that waits
#[derive(Debug, clap::Args)]
#[command(
    after_help = "--answer is given once for each question, in their order; several choices have commas between them.",
    group = clap::ArgGroup::new("what").required(true)
)]
pub(super) struct Args {
    /// The session: its id, the beginning of its id, or `last`
    session: String,
    /// The ask: its id, the beginning of its id, or `last`
    ask: String,
    /// Allow it this time
    #[arg(long, group = "what")]
    once: bool,
    /// Allow it from now on
    #[arg(long, group = "what")]
    always: bool,
    /// By which of the rules that the ask offers: its number in `turnloom asks`, or the rule itself; the first, if not given
    #[arg(long, value_name = "RULE", requires = "always")]
    rule: Option<String>,
    /// Answer every equal ask in the same way, in all sessions: the same tool with the same input
    #[arg(long, conflicts_with_all = ["answer", "value"])]
    all_equal: bool,
    /// Do not allow it, or do not answer
    #[arg(long, group = "what")]
    reject: bool,
    /// Why it is rejected, for the agent to read
    #[arg(long, value_name = "TEXT", requires = "reject")]
    message: Option<String>,
    /// The answer to a question: a label, a number, or your own words
    #[arg(long, value_name = "TEXT", group = "what")]
    answer: Vec<String>,
    /// The value that is waited for: JSON, or a text
    #[arg(long, value_name = "JSON", group = "what")]
    value: Option<String>,
}

/// What the daemon says to an answer.
#[derive(Debug, serde::Deserialize)]
struct Answered {
    /// Equal ones that were settled with it.
    #[serde(default)]
    also: Vec<serde::de::IgnoredAny>,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<ExitCode> {
    let client = context.target.running().await?;
    let session = connect::session(&client, &args.session).await?.session_id;
    let mut waiting = asks::list(&client).await?;
    waiting.retain(|asked| asked.session_id == session);
    let asked = find(&waiting, &args.ask)?;
    let mut reply = reply(&args, asked)?;
    if args.all_equal {
        if asked.is_some_and(|asked| asked.ask.kind != AskKind::Permission) {
            return Err(Failure::new("only permissions can be equal", "answer it without --all-equal").into());
        }
        if let Some(body) = reply.body.as_object_mut() {
            body.insert("also".to_owned(), "equal".into());
        }
    }
    let answered: Answered = client.post(&path(&session, &reply.path), &reply.body).await?;
    context.terminal.talk(&match answered.also.len() {
        0 => "Answered.\n".to_owned(),
        1 => "Answered, and one equal ask with it.\n".to_owned(),
        many => format!("Answered, and {many} equal asks with it.\n"),
    });
    Ok(ExitCode::SUCCESS)
}

/// The ask a person means, if it still waits.
fn find<'a>(waiting: &'a [SessionAsk], name: &str) -> Result<Option<&'a SessionAsk>> {
    if name == "last" {
        let none = || Failure::new("nothing waits in this session", "list what waits with `turnloom asks`");
        return Ok(Some(waiting.last().ok_or_else(none)?));
    }
    let id = |asked: &SessionAsk| asked.ask.ask_id.to_string();
    if let Some(exact) = waiting.iter().find(|asked| id(asked) == name) {
        return Ok(Some(exact));
    }
    let begins = |asked: &&SessionAsk| id(asked).starts_with(name) || id(asked).starts_with(&format!("ask_{name}"));
    let matching: Vec<&SessionAsk> = waiting.iter().filter(begins).collect();
    match matching.as_slice() {
        [one] => Ok(Some(one)),
        [] => Ok(None),
        many => {
            let what = format!("{name:?} is the beginning of {} asks", many.len());
            Err(Failure::new(what, "give more of it; `turnloom asks` lists them").into())
        }
    }
}

/// The rule that was chosen, by its number or in its own words.
fn rule<'a>(args: &'a Args, asked: Option<&'a SessionAsk>) -> Result<Option<&'a str>> {
    let Some(chosen) = args.rule.as_deref() else { return Ok(None) };
    let (Some(asked), Ok(number)) = (asked, chosen.parse::<usize>()) else { return Ok(Some(chosen)) };
    let option = number.checked_sub(1).and_then(|at| asks::rules_of(&asked.ask).nth(at));
    let missing = || Failure::new(format!("there is no rule {number} to choose"), "`turnloom asks` lists them");
    Ok(option.ok_or_else(missing)?.rule.as_deref())
}

fn reply(args: &Args, asked: Option<&SessionAsk>) -> Result<Reply> {
    // One that no longer waits is sent all the same: the daemon knows who answered it, and how.
    let ask_id = asked.map_or_else(|| AskId::trusted(args.ask.clone()), |asked| asked.ask.ask_id.clone());
    let kind = asked.map(|asked| asked.ask.kind);
    let fits = |wanted: AskKind, how: &str| match kind {
        Some(kind) if kind != wanted => {
            let takes = match kind {
                AskKind::Permission => "--once, --always or --reject",
                AskKind::Question => "--answer or --reject",
                AskKind::Interrupt => "--value",
            };
            Err(Failure::new(format!("{how} does not answer this"), format!("it takes {takes}")))
        }
        _ => Ok(()),
    };
    if args.once || args.always {
        fits(AskKind::Permission, if args.once { "--once" } else { "--always" })?;
        let always = Permission::Always { rule: rule(args, asked)? };
        return Ok(answering::permission(&ask_id, if args.once { Permission::Once } else { always }));
    }
    if args.reject {
        if kind == Some(AskKind::Question) {
            return Ok(answering::reject_question(&ask_id));
        }
        fits(AskKind::Permission, "--reject")?;
        return Ok(answering::permission(&ask_id, Permission::Reject { message: args.message.as_deref() }));
    }
    if let Some(value) = &args.value {
        fits(AskKind::Interrupt, "--value")?;
        return Ok(answering::value(&ask_id, &answering::as_value(value)));
    }
    fits(AskKind::Question, "--answer")?;
    let questions = asked.map(|asked| asked.ask.questions()).unwrap_or_default();
    if asked.is_some() && questions.len() != args.answer.len() {
        let what = format!("there are {} questions, and {} answers", questions.len(), args.answer.len());
        return Err(Failure::new(what, "give --answer once for each question, in their order").into());
    }
    let mut answers = Vec::new();
    for (at, text) in args.answer.iter().enumerate() {
        answers.push(match questions.get(at) {
            Some(question) => answering::choose(question, text)
                .map_err(|why| Failure::new(format!("{text:?} is not an answer to {:?}", question.prompt), why))?,
            None => vec![text.clone()],
        });
    }
    Ok(answering::answers(&ask_id, &answers))
}
