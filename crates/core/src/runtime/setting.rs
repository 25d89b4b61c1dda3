//! Which settings of an agent may change while its session lives, and which values are valid. An unknown value is refused: otherwise a person who
//! meant to restrict an agent would believe that it was restricted.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Setting {
    pub name: &'static str,
    pub takes: Takes,
    /// The words to choose from.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub choices: &'static [&'static str],
}

/// What a setting may be set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Takes {
    /// One of the choices.
    Choice,
    /// One of the choices, or a list of them.
    Choices,
    /// One of the choices, or an object as the agent describes it.
    ChoiceOrObject,
    /// Any text; the choices are the usual ones.
    Text,
    /// A whole number.
    Number,
    /// A number, whole or not.
    Decimal,
    /// `true` or `false`.
    Flag,
    /// A list of texts, or one text with commas between them.
    Texts,
    /// An object, as the agent describes it.
    Object,
}

/// More than this is a mistake, whatever is counted.
const LARGEST_NUMBER: u64 = 1_000_000_000;

impl Setting {
    /// Says why a value is not for this setting.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let chosen = || value.as_str().is_some_and(|word| self.choices.iter().any(|choice| same(choice, word)));
        let (fits, wanted) = match self.takes {
            Takes::Choice => (chosen(), format!("one of {}", self.choices.join(", "))),
            Takes::Choices => {
                let words = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
                let is_known = |word: &Value| word.as_str().is_some_and(|word| self.choices.contains(&word));
                (words.iter().all(is_known), format!("one of {}, or a list of them", self.choices.join(", ")))
            }
            Takes::ChoiceOrObject => {
                (chosen() || value.is_object(), format!("one of {}, or an object", self.choices.join(", ")))
            }
            Takes::Text => (value.as_str().is_some_and(|text| !text.is_empty()), "a text".to_owned()),
            Takes::Number => {
                let fits = value.as_u64().is_some_and(|number| number <= LARGEST_NUMBER);
                (fits, format!("a whole number up to {LARGEST_NUMBER}"))
            }
            Takes::Decimal => (value.as_f64().is_some_and(|number| number >= 0.0), "a number".to_owned()),
            Takes::Flag => (value.is_boolean(), "true or false".to_owned()),
            Takes::Texts => (value.is_string() || is_texts(value), "a list of texts".to_owned()),
            Takes::Object => (value.is_object(), "an object".to_owned()),
        };
        if fits { Ok(()) } else { Err(format!("must be {wanted}; {value} is not")) }
    }
}

/// Whether a value of a setting lets an agent do everything without asking anybody. Only a person of this machine may choose that.
pub fn skips_approvals(name: &str, value: &Value) -> bool {
    // An object says for each kind of call whether somebody is asked.
    if name == "approval_policy" && value.is_object() {
        return true;
    }
    let words: &[&str] = match name {
        "sandbox" => &["danger-full-access"],
        "approval_policy" => &["never"],
        "mode" => &["full-access", "bypass", "bypass-permissions"],
        _ => &[],
    };
    value.as_str().is_some_and(|value| words.iter().any(|word| same(word, value)))
}

/// What takes the place of a value that [skips approvals](skips_approvals), where nobody of this machine has chosen it.
pub fn guarded(name: &str) -> Option<&'static str> {
    match name {
        "sandbox" => Some("read-only"),
        "approval_policy" => Some("on-request"),
        "mode" => Some("default"),
        _ => None,
    }
}

/// What a parameter that [takes texts](Takes::Texts) holds.
pub fn texts_of(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => {
            text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
        }
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn is_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
}

/// Agents spell one word in several ways: `read-only`, `readOnly`, `read_only`.
fn same(one: &str, other: &str) -> bool {
    let letters = |word: &str| word.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect();
    let (one, other): (String, String) = (letters(one), letters(other));
    one == other
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Setting, Takes};

    #[test]
    fn only_what_fits_is_taken() {
        let cases: [(Takes, &[Value], &[Value]); 9] = [
            (
                Takes::Choices,
                &[json!("never"), json!([]), json!(["never", "read-only"])],
                &[json!("ever"), json!(["never", "ever"]), json!({}), json!(null), json!(true)],
            ),
            (Takes::Choice, &[json!("read-only"), json!("readOnly")], &[json!("readonly!"), json!(""), json!({})]),
            (
                Takes::ChoiceOrObject,
                &[json!("never"), json!({ "granular": {} })],
                &[json!("ever"), json!([]), json!(1)],
            ),
            (Takes::Text, &[json!("low"), json!("of its own")], &[json!(""), json!(null), json!(3)]),
            (
                Takes::Number,
                &[json!(0), json!(8000)],
                &[json!(-1), json!(1.5), json!("8000"), json!(null), json!(u64::MAX)],
            ),
            (Takes::Decimal, &[json!(0), json!(1.5)], &[json!(-1), json!("1.5"), json!(null)]),
            (Takes::Flag, &[json!(true), json!(false)], &[json!("true"), json!(1), json!(null)]),
            (Takes::Texts, &[json!([]), json!(["a", "b"]), json!("a,b")], &[json!([1]), json!({}), json!(null)]),
            (Takes::Object, &[json!({}), json!({ "a": [] })], &[json!([]), json!("{}"), json!(null)]),
        ];
        for (takes, good, bad) in cases {
            let setting = Setting { name: "it", takes, choices: &["read-only", "never"] };
            for value in good {
                assert_eq!(setting.check(value), Ok(()), "{takes:?}");
            }
            for value in bad {
                assert!(setting.check(value).is_err(), "{takes:?} takes {value}");
            }
        }
    }
}
