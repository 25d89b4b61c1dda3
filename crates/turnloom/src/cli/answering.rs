//! Asks and their answers, as a person types them. Pure: what to ask next, what a line means, what the daemon is to be told.

use serde_json::{Value, json};
use turnloom_core::event::{Event, PermissionReply, Question};
use turnloom_core::id::AskId;

use super::render::one_line;
use crate::client::escape;

/// Something that waits for this person, and what of it has been answered.
#[derive(Debug)]
pub(super) struct Interview {
    pub(super) ask_id: AskId,
    what: What,
    answers: Vec<Vec<String>>,
}

#[derive(Debug)]
enum What {
    /// With the rules that `always` may store.
    Permission(Vec<Option<String>>),
    Questions(Vec<Question>),
    Value,
}

/// What the daemon is told: a path below the session's, and a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) path: String,
    pub(super) body: Value,
}

/// What a line led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// That was all.
    Reply(Reply),
    /// There is another question.
    More,
    /// It was not an answer, and this is why.
    Unclear(String),
}

impl Interview {
    /// What an event asks, if it asks something.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let (ask_id, what) = match event {
            Event::PermissionRequest(request) => {
                let always = request.options.iter().filter(|option| option.reply == PermissionReply::Always);
                (&request.ask_id, What::Permission(always.map(|option| option.rule.clone()).collect()))
            }
            Event::QuestionRequest(request) => (&request.ask_id, What::Questions(request.questions.clone())),
            Event::Interrupt(request) => (&request.interrupt_id, What::Value),
            _ => return None,
        };
        Some(Self { ask_id: ask_id.clone(), what, answers: Vec::new() })
    }

    /// What to say before the next line is read.
    pub(super) fn prompt(&self) -> String {
        match &self.what {
            What::Permission(rules) if rules.len() > 1 => {
                format!("Allow? a once, A to A{} always, r reject: ", rules.len())
            }
            What::Permission(_) => "Allow? a once, A always, r reject: ".to_owned(),
            What::Questions(questions) => {
                let question = questions.get(self.answers.len());
                let name = question.map(|question| question.header.as_ref().unwrap_or(&question.prompt));
                let several = question.is_some_and(|question| question.multiple);
                let how = if several { " (numbers, with commas)" } else { "" };
                format!("{}{how}: ", name.map(|name| one_line(name)).unwrap_or_default())
            }
            What::Value => "Value: ".to_owned(),
        }
    }

    /// Takes a line that the person typed.
    pub(super) fn take(&mut self, line: &str) -> Taken {
        let line = line.trim();
        match &self.what {
            What::Permission(rules) => match permission_reply(line, rules) {
                Some(reply) => Taken::Reply(permission(&self.ask_id, reply)),
                None => Taken::Unclear("type a, A or r; after r you may say why".to_owned()),
            },
            What::Questions(questions) => {
                if let Some(question) = questions.get(self.answers.len()) {
                    match choose(question, line) {
                        Ok(answer) => self.answers.push(answer),
                        Err(why) => return Taken::Unclear(why),
                    }
                }
                if self.answers.len() < questions.len() {
                    return Taken::More;
                }
                Taken::Reply(answers(&self.ask_id, &std::mem::take(&mut self.answers)))
            }
            What::Value => Taken::Reply(value(&self.ask_id, &as_value(line))),
        }
    }

    /// The answer of somebody who says yes to everything: allowed once, and the first of each choice.
    pub(super) fn yes(&self) -> Reply {
        let first = |question: &Question| {
            vec![question.options.first().map_or_else(|| "yes".to_owned(), |option| option.label.clone())]
        };
        match &self.what {
            What::Permission(_) => permission(&self.ask_id, Permission::Once),
            What::Questions(questions) => answers(&self.ask_id, &questions.iter().map(first).collect::<Vec<_>>()),
            What::Value => value(&self.ask_id, &Value::Null),
        }
    }

    /// The answer where nobody is there to answer.
    pub(super) fn no(&self, why: &str) -> Reply {
        match &self.what {
            What::Permission(_) => permission(&self.ask_id, Permission::Reject { message: Some(why) }),
            What::Questions(_) => reject_question(&self.ask_id),
            What::Value => value(&self.ask_id, &Value::Null),
        }
    }
}

/// What a person says to a permission.
#[derive(Debug, Clone, Copy)]
pub(super) enum Permission<'a> {
    Once,
    /// By which of the offered rules; the first, if not said.
    Always {
        rule: Option<&'a str>,
    },
    Reject {
        message: Option<&'a str>,
    },
}

pub(super) fn permission(ask_id: &AskId, reply: Permission<'_>) -> Reply {
    let body = match reply {
        Permission::Once => json!({ "reply": "once" }),
        Permission::Always { rule: None } => json!({ "reply": "always" }),
        Permission::Always { rule } => json!({ "reply": "always", "rule": rule }),
        Permission::Reject { message: None } => json!({ "reply": "reject" }),
        Permission::Reject { message } => json!({ "reply": "reject", "message": message }),
    };
    Reply { path: format!("/permissions/{}", escape(ask_id.as_str())), body }
}

pub(super) fn answers(ask_id: &AskId, answers: &[Vec<String>]) -> Reply {
    Reply { path: format!("/questions/{}", escape(ask_id.as_str())), body: json!({ "answers": answers }) }
}

pub(super) fn reject_question(ask_id: &AskId) -> Reply {
    Reply { path: format!("/questions/{}/reject", escape(ask_id.as_str())), body: json!({}) }
}

pub(super) fn value(ask_id: &AskId, value: &Value) -> Reply {
    Reply { path: format!("/interrupt/{}", escape(ask_id.as_str())), body: json!({ "value": value }) }
}

/// JSON if it is JSON, and otherwise a text.
pub(super) fn as_value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// `A` is the first rule, `A2` the second.
fn permission_reply<'a>(line: &'a str, rules: &'a [Option<String>]) -> Option<Permission<'a>> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let message = Some(rest.trim()).filter(|rest| !rest.is_empty());
    match (word, message) {
        ("a" | "y" | "yes" | "once", None) => Some(Permission::Once),
        ("A" | "always", None) => Some(Permission::Always { rule: None }),
        ("r" | "n" | "no" | "reject", message) => Some(Permission::Reject { message }),
        (word, None) => {
            let number: usize = word.strip_prefix('A')?.parse().ok()?;
            Some(Permission::Always { rule: rules.get(number.checked_sub(1)?)?.as_deref() })
        }
        (_, Some(_)) => None,
    }
}

/// What a person chose: numbers or labels of the options, or their own words where those are welcome.
pub(super) fn choose(question: &Question, line: &str) -> Result<Vec<String>, String> {
    let option = |word: &str| {
        let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let by_number = number.and_then(|at| question.options.get(at));
        let by_label = || question.options.iter().find(|option| option.label.eq_ignore_ascii_case(word));
        by_number.or_else(by_label).map(|option| option.label.clone())
    };
    if line.is_empty() {
        return Err("type an answer".to_owned());
    }
    // A label may hold a comma itself.
    if let Some(one) = option(line) {
        return Ok(vec![one]);
    }
    if question.multiple {
        let words = line.split(',').map(str::trim).filter(|word| !word.is_empty());
        if let Some(chosen) = words.map(option).collect::<Option<Vec<_>>>() {
            return Ok(chosen);
        }
    }
    if question.free_text || question.options.is_empty() {
        return Ok(vec![line.to_owned()]);
    }
    let several = if question.multiple { ", several with commas between them" } else { "" };
    Err(format!("type a number from 1 to {}{several}", question.options.len()))
}

#[cfg(test)]
mod tests {
    use turnloom_core::event::{PermissionOption, PermissionRequest, QuestionOption, QuestionRequest};

    use super::*;

    fn question(multiple: bool, free_text: bool) -> Question {
        let option = |label: &str| QuestionOption { label: label.to_owned(), description: None };
        let options = vec![option("Wool"), option("Silk, raw"), option("Linen")];
        Question { prompt: "Which?".to_owned(), header: None, options, multiple, free_text }
    }

    #[test]
    fn choices_are_numbers_labels_or_words() {
        for (multiple, free, line, expected) in [
            (false, false, "1", Some(vec!["Wool"])),
            (false, false, "linen", Some(vec!["Linen"])),
            (false, false, "silk, raw", Some(vec!["Silk, raw"])),
            (false, false, "4", None),
            (false, false, "0", None),
            (false, false, "1,3", None),
            (true, false, "1, 3", Some(vec!["Wool", "Linen"])),
            (true, false, "wool,2", Some(vec!["Wool", "Silk, raw"])),
            (true, false, "1,9", None),
            (false, true, "hemp", Some(vec!["hemp"])),
            (true, true, "1, hemp", Some(vec!["1, hemp"])),
            (false, true, "", None),
        ] {
            let chosen = choose(&question(multiple, free), line).ok();
            assert_eq!(chosen, expected.map(|labels| labels.into_iter().map(str::to_owned).collect()), "{line:?}");
        }
    }

    #[test]
    fn permissions_are_letters_and_a_reason() {
        for (line, expected) in [
            ("a", Some(json!({ "reply": "once" }))),
            ("A", Some(json!({ "reply": "always" }))),
            ("A1", Some(json!({ "reply": "always", "rule": "Bash(rm x)" }))),
            ("A2", Some(json!({ "reply": "always", "rule": "Bash(rm:*)" }))),
            ("A3", None),
            ("A0", None),
            ("A2 please", None),
            ("r", Some(json!({ "reply": "reject" }))),
            ("r not today", Some(json!({ "reply": "reject", "message": "not today" }))),
            ("a really", None),
            ("", None),
        ] {
            let always = |rule: &str| PermissionOption {
                reply: PermissionReply::Always,
                label: "Always".to_owned(),
                rule: Some(rule.to_owned()),
                scope: None,
            };
            let options = vec![always("Bash(rm x)"), always("Bash(rm:*)")];
            let ask_id = AskId::trusted("ask/1");
            let event = Event::from(PermissionRequest { ask_id, options, ..PermissionRequest::default() });
            match (Interview::of(&event).unwrap().take(line), expected) {
                (Taken::Reply(reply), Some(body)) => {
                    assert_eq!(reply, Reply { path: "/permissions/ask%2F1".to_owned(), body });
                }
                (Taken::Unclear(_), None) => {}
                (taken, expected) => panic!("{line:?}: {taken:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn every_question_is_asked_in_turn() {
        let questions = vec![question(false, false), question(true, false)];
        let request = QuestionRequest { ask_id: AskId::trusted("q"), questions, ..QuestionRequest::default() };
        let mut interview = Interview::of(&request.into()).unwrap();
        assert!(matches!(interview.take("nine"), Taken::Unclear(_)));
        assert_eq!(interview.take("1"), Taken::More);
        let Taken::Reply(reply) = interview.take("1,3") else { panic!("that was all") };
        assert_eq!(reply.body, json!({ "answers": [["Wool"], ["Wool", "Linen"]] }));
    }

    #[test]
    fn values_are_json_or_text() {
        assert_eq!(as_value("12"), json!(12));
        assert_eq!(as_value("2026-01-01"), json!("2026-01-01"));
        assert_eq!(as_value("{\"a\":1}"), json!({ "a": 1 }));
    }
}
