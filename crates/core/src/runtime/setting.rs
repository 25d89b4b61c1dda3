//! What of an agent may be changed while its session lives, and which values make sense there. A word that is not known must not be taken: who
//! meant to narrow what an agent may do would believe that it was done.

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
    /// One of the choices, or an object as the agent describes it.
    ChoiceOrObject,
    /// Any text; the choices are the usual ones.
    Text,
    /// A whole number.
    Number,
}

impl Setting {
    /// Says why a value is not for this setting.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let chosen = || value.as_str().is_some_and(|word| self.choices.iter().any(|choice| same(choice, word)));
        let (fits, wanted) = match self.takes {
            Takes::Choice => (chosen(), format!("one of {}", self.choices.join(", "))),
            Takes::ChoiceOrObject => {
                (chosen() || value.is_object(), format!("one of {}, or an object", self.choices.join(", ")))
            }
            Takes::Text => (value.as_str().is_some_and(|text| !text.is_empty()), "a text".to_owned()),
            Takes::Number => (value.is_u64(), "a whole number".to_owned()),
        };
        if fits { Ok(()) } else { Err(format!("must be {wanted}; {value} is not")) }
    }
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
        let cases: [(Takes, &[Value], &[Value]); 4] = [
            (Takes::Choice, &[json!("read-only"), json!("readOnly")], &[json!("readonly!"), json!(""), json!({})]),
            (
                Takes::ChoiceOrObject,
                &[json!("never"), json!({ "granular": {} })],
                &[json!("ever"), json!([]), json!(1)],
            ),
            (Takes::Text, &[json!("low"), json!("of its own")], &[json!(""), json!(null), json!(3)]),
            (Takes::Number, &[json!(0), json!(8000)], &[json!(-1), json!(1.5), json!("8000"), json!(null)]),
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
