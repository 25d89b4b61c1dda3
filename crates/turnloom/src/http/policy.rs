//! Rules: which count where, what is wrong with their files, and what people always allow. Not here: trying rules, and changing the user's own.

pub(super) mod own;
pub(super) mod trying;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use turnloom_core::event::{PolicyEffect, RuleScope};
use turnloom_core::id::SessionId;
use turnloom_core::policy::{self, Layer, Policy, Rule, World as _};

use super::App;
use super::extract::{Query, path};
use super::problem::Problem;
use crate::log::SessionRow;
use crate::policy::{Rules, StoredRule, ThisMachine};
use crate::runtime::program::default_directory;
use crate::session::ModeChoice;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyQuery {
    /// A session, whose working directory counts.
    session: Option<SessionId>,
    /// A working directory; absolute.
    cwd: Option<String>,
}

/// All rules that count in a working directory.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Policy")]
pub(super) struct PolicyView {
    cwd: String,
    /// The mode of the session that was asked about. One that is not among `modes` is the agent's own.
    mode: Option<String>,
    /// The modes that the session could have, those with rules first.
    choices: Option<Vec<ModeChoice>>,
    modes: Vec<ModeView>,
    /// The rules outside modes.
    rules: Vec<RuleView>,
    /// What people always allow, here and elsewhere.
    always: Vec<StoredRule>,
    /// The user trusts this project, so its own rules count.
    is_trusted: bool,
    /// The files that rules outside modes are in, or would be.
    files: Vec<FileView>,
    /// What is wrong with files of rules. Each counts as it was when it was last right; while one never was, everything asks.
    problems: Vec<FileProblem>,
}

/// A mode with rules.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PolicyMode")]
struct ModeView {
    name: String,
    /// What it is for, in a sentence.
    about: Option<String>,
    /// What becomes of what no rule is about.
    default: PolicyEffect,
    /// Its rules and those of the modes that it extends.
    rules: Vec<RuleView>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PolicyRule")]
struct RuleView {
    /// As decisions name it.
    name: String,
    layer: Layer,
    scope: RuleScope,
    effect: PolicyEffect,
    reason: Option<String>,
    /// What it is about, in words. Names and patterns stand between backticks.
    says: String,
    /// All of it, in TOML.
    rule: String,
    /// Where it stands. What ships with the program has no file.
    file: Option<String>,
    /// From 1.
    line: Option<usize>,
    /// It is about another project or another session.
    elsewhere: Option<bool>,
}

/// A file of rules.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PolicyFile")]
struct FileView {
    layer: Layer,
    file: String,
    is_there: bool,
    /// Its rules count. Those of a project that is not trusted do not.
    counts: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PolicyProblem")]
struct FileProblem {
    file: String,
    /// From 1.
    line: usize,
    message: String,
}

impl From<policy::Error> for FileProblem {
    fn from(policy::Error { file, line, what }: policy::Error) -> Self {
        Self { file, line, message: what }
    }
}

/// Whose rules are asked for.
struct Asked {
    /// Absolute and without links.
    cwd: String,
    session: Option<SessionRow>,
}

async fn asked(app: &App, PolicyQuery { session, cwd }: PolicyQuery) -> Result<Asked, Problem> {
    let (cwd, session) = match (session, cwd) {
        (Some(_), Some(_)) => return Err(Problem::invalid("give `session` or `cwd`, not both")),
        (Some(id), None) => {
            let row = app.sessions.row(&id).await?;
            (row.summary.cwd.clone(), Some(row))
        }
        (None, cwd) => (cwd, None),
    };
    let cwd = cwd.unwrap_or_else(|| default_directory().display().to_string());
    if !cwd.starts_with('/') {
        return Err(Problem::invalid("`cwd` must be an absolute path"));
    }
    Ok(Asked { cwd: ThisMachine.resolve(&cwd).unwrap_or(cwd), session })
}

/// Tells of rules, with the files that they stand in.
struct Telling<'a> {
    files: &'a Rules,
    cwd: &'a str,
    session: Option<&'a str>,
    home: Option<String>,
}

impl Telling<'_> {
    fn rule(&self, layer: Layer, place: &str, rule: &Rule) -> RuleView {
        let file = self.files.file_of(layer, place, self.cwd).filter(|_| rule.line > 0);
        let holds = rule.holds_in(self.cwd, self.session, self.home.as_deref());
        RuleView {
            name: format!("{place}/{}", rule.id),
            layer,
            scope: layer.scope(rule),
            effect: rule.effect.into(),
            reason: rule.reason.clone(),
            says: rule.words(),
            rule: rule.to_toml(),
            line: file.is_some().then_some(rule.line),
            file: file.map(|file| file.display().to_string()),
            elsewhere: (!holds).then_some(true),
        }
    }

    fn modes(&self, rules: &Policy) -> Vec<ModeView> {
        let mode = |name: &str| ModeView {
            name: name.to_owned(),
            about: rules.about(name).map(str::to_owned),
            default: rules.default_of(name).unwrap_or(policy::Effect::Ask).into(),
            rules: rules.rules_of(name).map(|(place, rule)| self.rule(Layer::Mode, place, rule)).collect(),
        };
        rules.modes().map(mode).collect()
    }

    fn files(&self, is_trusted: bool) -> Vec<FileView> {
        let file = |layer: Layer| {
            let file = self.files.file_of(layer, "", self.cwd)?;
            let counts = layer != Layer::Project || is_trusted;
            Some(FileView { layer, is_there: file.exists(), file: file.display().to_string(), counts })
        };
        [Layer::User, Layer::Always, Layer::Project].into_iter().filter_map(file).collect()
    }
}

/// The rules of a session or of a directory.
pub(super) async fn show(
    State(app): State<App>,
    Query(query): Query<PolicyQuery>,
) -> Result<Json<PolicyView>, Problem> {
    let Asked { cwd, session } = asked(&app, query).await?;
    let files = app.sessions.rules();
    let rules = files.of(&cwd);
    let home = ThisMachine.home();
    let is_trusted = rules.trusts(&cwd, home.as_deref());
    let telling = Telling { files, cwd: &cwd, session: session.as_ref().map(|row| row.id.as_str()), home };
    let listed = rules.rules().map(|(layer, rule)| {
        let place = match layer {
            Layer::Absolute => "absolute",
            Layer::Mode => "mode",
            Layer::User => "user",
            Layer::Always => "always",
            Layer::Project => "project",
            Layer::Session => "session",
        };
        telling.rule(layer, place, rule)
    });
    Ok(Json(PolicyView {
        // An agent that this program does not know has none.
        choices: session.as_ref().map(|row| app.sessions.mode_choices(row).unwrap_or_default()),
        modes: telling.modes(&rules),
        rules: listed.collect(),
        // One that cannot be read is among the problems.
        always: files.always().list().unwrap_or_default(),
        is_trusted,
        files: telling.files(is_trusted),
        problems: files.problems_in(&cwd).into_iter().map(Into::into).collect(),
        mode: session.and_then(|row| row.summary.mode),
        cwd,
    }))
}

/// What is wrong with files of rules.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PolicyProblems")]
pub(super) struct Problems {
    problems: Vec<FileProblem>,
}

pub(super) async fn problems(
    State(app): State<App>,
    Query(query): Query<PolicyQuery>,
) -> Result<Json<Problems>, Problem> {
    let cwd = asked(&app, query).await?.cwd;
    let problems = app.sessions.rules().problems_in(&cwd).into_iter().map(Into::into).collect();
    Ok(Json(Problems { problems }))
}

/// What people always allow.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StoredRules {
    rules: Vec<StoredRule>,
}

pub(super) async fn list(State(app): State<App>) -> Result<Json<StoredRules>, Problem> {
    let listed = app.sessions.rules().always().list();
    let broken = |error: policy::Error| Problem::new(StatusCode::CONFLICT, "rules_broken", error.to_string());
    Ok(Json(StoredRules { rules: listed.map_err(broken)? }))
}

/// The rule a path names.
pub(super) struct RuleId(String);

#[derive(Deserialize)]
struct RulePath {
    id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for RuleId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let axum::extract::Path(RulePath { id }) = path(parts, state).await?;
        Ok(Self(id))
    }
}

pub(super) async fn remove(State(app): State<App>, RuleId(id): RuleId) -> Result<StatusCode, Problem> {
    let failed = |error: std::io::Error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "rules_failed", format!("the rules cannot be written: {error}"))
    };
    if app.sessions.rules().always().remove(&id).map_err(failed)? {
        return Ok(StatusCode::NO_CONTENT);
    }
    let detail = format!("there is no rule {id:?}; it may have been removed already");
    Err(Problem::new(StatusCode::NOT_FOUND, "rule_not_found", detail))
}
