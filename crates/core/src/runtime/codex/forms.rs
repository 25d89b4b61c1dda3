//! Questions in the forms Codex has for them, and the answers in theirs: its own questions, forms of MCP servers, and the host's `ask_user`.

use serde_json::{Map, Value, json};

use super::wire::{AskedQuestion, Elicitation};
use crate::event::{Question, QuestionOption};

/// What of a form must be known to fill it in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    name: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Boolean,
    List,
}

pub(super) fn of_codex(asked: &AskedQuestion) -> Question {
    let options = asked.options.clone().unwrap_or_default();
    let free_text = asked.is_other || options.is_empty();
    Question {
        prompt: asked.question.clone(),
        header: asked.header.clone(),
        options: options.into_iter().map(|option| choice(option.label, option.description)).collect(),
        multiple: false,
        free_text,
    }
}

/// `{"answers":{"<question id>":{"answers":["text"]}}}`
pub(super) fn to_codex(ids: &[String], answers: Option<&[Vec<String>]>) -> Value {
    let given = answers.unwrap_or_default();
    let one = |(id, answers): (&String, &Vec<String>)| (id.clone(), json!({ "answers": answers }));
    json!({ "answers": ids.iter().zip(given).map(one).collect::<Map<_, _>>() })
}

/// Questions and answers as a text, and whether there are answers.
pub(super) fn as_text(prompts: &[String], answers: Option<&[Vec<String>]>) -> (String, bool) {
    match answers {
        Some(answers) => {
            let line = |(prompt, answers): (&String, &Vec<String>)| format!("{prompt}\n{}", answers.join(", "));
            (prompts.iter().zip(answers).map(line).collect::<Vec<_>>().join("\n\n"), true)
        }
        None => ("The person did not answer.".to_owned(), false),
    }
}

/// A form as questions, one per field.
pub(super) fn of_form(ask: &Elicitation) -> (Vec<Question>, Vec<Field>) {
    let properties = ask.requested_schema.get("properties").and_then(Value::as_object);
    let is_alone = properties.is_some_and(|properties| properties.len() == 1);
    let (mut questions, mut fields) = (Vec::new(), Vec::new());
    for (name, schema) in properties.into_iter().flatten() {
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        let list = |schema: &Value| {
            let named = schema.get("enum").or(schema.get("examples")).and_then(Value::as_array).cloned();
            let titled = schema.get("oneOf").or(schema.get("anyOf")).and_then(Value::as_array);
            let of_title = |one: &Value| one.get("const").cloned();
            named.or_else(|| titled.map(|list| list.iter().filter_map(of_title).collect())).unwrap_or_default()
        };
        // The only question there is, is the message.
        let message = Some(ask.message.as_str()).filter(|text| !text.is_empty() && is_alone);
        let items = schema.get("items");
        let (kind, choices) = match text("type") {
            Some("boolean") => (Kind::Boolean, vec![json!("yes"), json!("no")]),
            Some("number" | "integer") => (Kind::Number, list(schema)),
            Some("array") => (Kind::List, items.map(list).unwrap_or_default()),
            _ => (Kind::Text, list(schema)),
        };
        let label = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let options: Vec<_> = choices.iter().map(|value| choice(label(value), None)).collect();
        questions.push(Question {
            prompt: text("description").or(message).or(text("title")).unwrap_or(name).to_owned(),
            header: Some(text("title").unwrap_or(name).to_owned()),
            free_text: options.is_empty(),
            multiple: kind == Kind::List,
            options,
        });
        fields.push(Field { name: name.clone(), kind });
    }
    if questions.is_empty() {
        let prompt = match &ask.url {
            Some(url) => format!("{}\n{url}", ask.message),
            None => ask.message.clone(),
        };
        let options = vec![choice("Continue".to_owned(), None)];
        questions.push(Question { prompt, options, ..Question::default() });
    }
    (questions, fields)
}

pub(super) fn to_form(fields: &[Field], answers: Option<&[Vec<String>]>) -> Value {
    let Some(answers) = answers else { return json!({ "action": "decline", "content": null, "_meta": null }) };
    let value = |field: &Field, given: &[String]| {
        let first = given.first().cloned();
        match field.kind {
            Kind::List => json!(given),
            Kind::Boolean => json!(first.is_some_and(|text| matches!(text.as_str(), "yes" | "true"))),
            Kind::Number => {
                first.map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text))).unwrap_or_default()
            }
            Kind::Text => json!(first),
        }
    };
    let filled = fields.iter().zip(answers).filter(|(_, given)| !given.is_empty());
    let content: Map<String, Value> = filled.map(|(field, given)| (field.name.clone(), value(field, given))).collect();
    let content = if fields.is_empty() { Value::Null } else { Value::Object(content) };
    json!({ "action": "accept", "content": content, "_meta": null })
}

fn choice(label: String, description: Option<String>) -> QuestionOption {
    QuestionOption { label, description }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{of_form, to_form};
    use crate::runtime::codex::wire::Elicitation;

    #[test]
    fn a_form_is_filled_in_with_the_right_types() {
        let requested_schema = json!({ "type": "object", "properties": {
            "env": { "type": "string", "enum": ["dev", "prod"], "title": "Environment" },
            "count": { "type": "integer" },
            "force": { "type": "boolean", "description": "Even if it hurts?" },
            "tags": { "type": "array", "items": { "enum": ["a", "b"] } },
        } });
        let (questions, fields) = of_form(&Elicitation { requested_schema, ..Elicitation::default() });
        let prompts: Vec<_> =
            questions.iter().map(|question| (question.prompt.as_str(), question.options.len())).collect();
        assert_eq!(prompts, [("Environment", 2), ("count", 0), ("Even if it hurts?", 2), ("tags", 2)]);
        let answers =
            [vec!["dev".to_owned()], vec!["3".to_owned()], vec!["yes".to_owned()], vec!["a".into(), "b".into()]];
        assert_eq!(
            to_form(&fields, Some(&answers)),
            json!({ "action": "accept", "content": { "env": "dev", "count": 3, "force": true, "tags": ["a", "b"] }, "_meta": null })
        );
        assert_eq!(to_form(&fields, None)["action"], "decline");
    }
}
