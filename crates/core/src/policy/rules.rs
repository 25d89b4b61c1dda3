//! Parses rule files: TOML in, checked rules out. Errors name the line.

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::act::{Kind, Location};
use super::call::{Caller, Origin};
use super::expiry::Expiry;
use crate::event::{PolicyEffect, RuleScope};

/// What a rule says. The stricter one wins, wherever it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    Allow,
    Ask,
    Deny,
}

impl Effect {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl From<Effect> for PolicyEffect {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Allow => Self::Allow,
            Effect::Ask => Self::Ask,
            Effect::Deny => Self::Deny,
        }
    }
}

/// A list that may also be written as its only entry.
fn many<'de, D, T>(input: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let values = match toml::Value::deserialize(input)? {
        toml::Value::Array(values) => values,
        value => vec![value],
    };
    let read = |value: toml::Value| value.try_into::<T>().map_err(|error| D::Error::custom(error.message()));
    values.into_iter().map(read).collect()
}

/// What a rule is about. All that is given must fit; of each list one entry.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct About {
    /// The sort of act.
    #[serde(deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    pub does: Vec<Kind>,
    /// Where its path lies.
    #[serde(rename = "where", deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    pub location: Vec<Location>,
    /// Its path: absolute, from `~`, or from the working directory; with `*` and `**`.
    #[serde(deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The command, word by word, with `*`; at the end `*` is any further words.
    #[serde(deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    #[serde(deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    pub tool: Vec<String>,
    #[serde(deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<String>,
    /// The MCP server.
    #[serde(deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<String>,
    #[serde(deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    pub runtime: Vec<String>,
    #[serde(deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    pub mode: Vec<String>,
    #[serde(deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    pub origin: Vec<Origin>,
    /// The main agent or a sub-agent.
    #[serde(deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    pub caller: Vec<Caller>,
    /// Working directories in which it holds.
    #[serde(deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    pub project: Vec<String>,
    /// Sessions in which it holds.
    #[serde(deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    pub session: Vec<String>,
    /// Only what goes down into directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<bool>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub id: String,
    pub effect: Effect,
    /// What the agent and the person read.
    pub reason: Option<String>,
    pub about: About,
    pub except: Vec<About>,
    /// Rules that do not count where this one fits.
    pub beats: Vec<String>,
    /// Of a rule that asks: when the ask ends by itself, and how.
    pub expiry: Option<Expiry>,
    /// Where it stands in its file.
    pub line: usize,
}

impl Rule {
    /// The rule in TOML, without its id.
    pub fn to_toml(&self) -> String {
        let Self { effect, reason, about, except, beats, expiry, .. } = self;
        let allows = |expiry: Expiry| if expiry.allows { Effect::Allow } else { Effect::Deny };
        let written = Written {
            effect: *effect,
            reason: reason.as_deref(),
            expires: expiry.map(Expiry::written),
            default: expiry.map(allows),
            beats,
            about,
            except,
        };
        // Texts and lists of them always encode.
        toml::to_string(&written).unwrap_or_default().trim_end().to_owned()
    }

    /// How far a rule of the user's reaches.
    pub fn scope(&self) -> RuleScope {
        match () {
            () if !self.about.session.is_empty() => RuleScope::Session,
            () if !self.about.project.is_empty() => RuleScope::Project,
            () => RuleScope::User,
        }
    }
}

/// A rule as people read it.
#[derive(Serialize)]
struct Written<'a> {
    effect: Effect,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<Effect>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    beats: &'a [String],
    #[serde(flatten)]
    about: &'a About,
    #[serde(skip_serializing_if = "<[About]>::is_empty")]
    except: &'a [About],
}

#[derive(Debug, Deserialize)]
struct RawRule {
    id: Option<String>,
    effect: Effect,
    reason: Option<String>,
    expires: Option<String>,
    default: Option<Effect>,
    #[serde(default)]
    except: Vec<About>,
    #[serde(default, deserialize_with = "many")]
    beats: Vec<String>,
    #[serde(flatten)]
    about: toml::Table,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawFile {
    about: Option<String>,
    default: Option<Effect>,
    reason: Option<String>,
    extends: Option<String>,
    #[serde(deserialize_with = "many")]
    trusted_projects: Vec<String>,
    rule: Vec<Spanned<toml::Table>>,
}

/// A file of rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RulesFile {
    /// What it is for, in a sentence.
    pub about: Option<String>,
    /// Of a mode: what becomes of acts that no rule is about.
    pub default: Option<Effect>,
    /// Of a mode: why.
    pub reason: Option<String>,
    /// Of a mode: another one, whose rules hold too.
    pub extends: Option<String>,
    /// Of the user's file: projects whose own rules count.
    pub trusted_projects: Vec<String>,
    pub rules: Vec<Rule>,
}

/// What is wrong with a file of rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct Error {
    pub file: String,
    /// From 1.
    pub line: usize,
    pub what: String,
}

impl RulesFile {
    /// Reads a file. `name` is what errors call it.
    pub fn read(name: &str, text: &str) -> Result<Self, Error> {
        let line_of = |at: usize| text.get(..at).unwrap_or(text).matches('\n').count() + 1;
        let wrong = |at: usize, what: String| Error { file: name.to_owned(), line: line_of(at), what };
        let told = |error: &toml::de::Error, base: usize| {
            wrong(error.span().map_or(base, |span| span.start), error.message().to_owned())
        };
        let raw: RawFile = toml::from_str(text).map_err(|error| told(&error, 0))?;
        let mut rules: Vec<Rule> = Vec::new();
        for table in raw.rule {
            let at = table.span().start;
            let fail = |error: toml::de::Error| wrong(at, format!("in this rule: {}", error.message()));
            let rule: RawRule = table.into_inner().try_into().map_err(fail)?;
            let about: About = rule.about.try_into().map_err(fail)?;
            let line = line_of(at);
            let id = rule.id.unwrap_or_else(|| format!("line-{line}"));
            if about == About::default() && rule.effect == Effect::Allow {
                return Err(wrong(at, "this rule would allow everything; say what it is about".to_owned()));
            }
            if rules.iter().any(|other| other.id == id) {
                return Err(wrong(at, format!("there are two rules with the id {id:?}")));
            }
            if rule.effect == Effect::Deny && !rule.beats.is_empty() {
                return Err(wrong(at, "a rule that denies needs not beat others".to_owned()));
            }
            for list in [&about.command].into_iter().chain(rule.except.iter().map(|except| &except.command)) {
                if list.iter().any(|pattern| pattern.trim().is_empty() || pattern.trim() == "*") {
                    return Err(wrong(at, "a command must name its program".to_owned()));
                }
            }
            let expiry =
                Expiry::read(rule.effect, rule.expires.as_deref(), rule.default).map_err(|what| wrong(at, what))?;
            rules.push(Rule {
                id,
                effect: rule.effect,
                reason: rule.reason,
                about,
                except: rule.except,
                beats: rule.beats,
                expiry,
                line,
            });
        }
        Ok(Self {
            about: raw.about,
            default: raw.default,
            reason: raw.reason,
            extends: raw.extends,
            trusted_projects: raw.trusted_projects,
            rules,
        })
    }
}
