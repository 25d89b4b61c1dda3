//! The decision: each act is judged by every rule, and the strictest verdict is the answer.

use serde::Serialize;

use super::act::{Act, Command, Kind};
use super::call::{Call, Mode, World};
use super::expiry::{self, Expiry};
use super::layers::{Layer, Policy};
use super::matching::{Case, Prepared, resolved};
use super::rules::Effect;
use super::tools::acts;
pub use crate::event::RuleScope as Scope;

/// The rule that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleName {
    /// Of a mode's default: `default`.
    pub id: String,
    pub layer: Layer,
    /// The mode it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    pub scope: Scope,
}

impl RuleName {
    fn of_mode(id: &str, mode: &str) -> Self {
        Self { id: id.to_owned(), layer: Layer::Mode, mode: Some(mode.to_owned()), scope: Scope::Mode }
    }
}

impl std::fmt::Display for RuleName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let layer = match self.layer {
            Layer::Absolute => "absolute",
            Layer::Mode => self.mode.as_deref().unwrap_or("mode"),
            Layer::User => "user",
            Layer::Always => "always",
            Layer::Project => "project",
            Layer::Session => "session",
        };
        write!(f, "{layer}/{}", self.id)
    }
}

/// What becomes of a call, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    pub effect: Effect,
    /// No rule is about it, and the mode is the agent's own: the agent decides whether it asks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub up_to_agent: bool,
    pub rule: RuleName,
    /// For the agent and for people.
    pub reason: String,
    /// Only the running of it would tell what it does.
    pub opaque: bool,
    /// When the ask ends by itself, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Expiry>,
    /// What it consists of.
    pub commands: Vec<Command>,
    /// The command that decided, and which of its acts.
    pub decided_by: (usize, usize),
}

struct Verdict<'p> {
    effect: Effect,
    up_to_agent: bool,
    rule: RuleName,
    reason: Option<&'p str>,
    /// Of all that asks about it.
    expiries: Vec<Option<Expiry>>,
}

impl Verdict<'_> {
    /// What is up to the agent is looser than a rule that asks, and stricter than one that allows.
    fn strictness(&self) -> (Effect, bool) {
        (self.effect, !self.up_to_agent)
    }
}

/// Decides about one call.
pub fn decide(policy: &Policy, call: &Call<'_>, world: &dyn World) -> Decision {
    let commands = acts(call, world);
    let home = world.home();
    let workspace = resolved(world, call.workspace);
    let opaque = commands.iter().flat_map(|command| &command.acts).any(Act::is_opaque);
    let rules = prepare(policy, call.mode.name());
    let mut strictest: Option<(Verdict<'_>, usize, usize)> = None;
    let mut expiries = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        for (index, act) in command.acts.iter().enumerate() {
            let case = Case { call, home: home.as_deref(), workspace: &workspace, command, act };
            let mut verdict = judge(policy, &rules, case);
            expiries.append(&mut verdict.expiries);
            if strictest.as_ref().is_none_or(|(known, ..)| verdict.strictness() > known.strictness()) {
                strictest = Some((verdict, at, index));
            }
        }
    }
    match strictest {
        Some((verdict, at, index)) => {
            let reason = reason(&verdict, call, commands.get(at), index);
            let Verdict { effect, up_to_agent, rule, .. } = verdict;
            let expiry = expiry::combined(&expiries, opaque).filter(|_| effect == Effect::Ask && !up_to_agent);
            Decision { effect, up_to_agent, rule, reason, opaque, expiry, commands, decided_by: (at, index) }
        }
        // An empty command.
        None => Decision {
            effect: Effect::Allow,
            up_to_agent: false,
            rule: RuleName::of_mode("nothing", call.mode.name()),
            reason: "it does nothing".to_owned(),
            opaque,
            expiry: None,
            commands,
            decided_by: (0, 0),
        },
    }
}

/// What becomes of one simple command of a call by itself.
pub(super) fn effect_of(policy: &Policy, call: &Call<'_>, world: &dyn World, command: &Command) -> Effect {
    let home = world.home();
    let workspace = resolved(world, call.workspace);
    let rules = prepare(policy, call.mode.name());
    let judged = command.acts.iter().map(|act| {
        let case = Case { call, home: home.as_deref(), workspace: &workspace, command, act };
        judge(policy, &rules, case).effect
    });
    judged.max().unwrap_or(Effect::Allow)
}

/// All rules that may count for a call.
fn prepare<'p>(policy: &'p Policy, mode: &'p str) -> Vec<Prepared<'p>> {
    let chain = policy.chain(mode);
    let absolute = policy.absolute.iter().map(|rule| Prepared::new(rule, Layer::Absolute, None));
    let of_modes = chain
        .into_iter()
        .flat_map(|(name, mode)| mode.rules.iter().map(move |rule| Prepared::new(rule, Layer::Mode, Some(name))));
    let of_user = policy.user.iter().map(|rule| Prepared::new(rule, Layer::User, None));
    let of_always = policy.always.iter().map(|rule| Prepared::new(rule, Layer::Always, None));
    let of_project = policy.project.iter().map(|rule| Prepared::new(rule, Layer::Project, None));
    let of_session = policy.session.iter().map(|rule| Prepared::new(rule, Layer::Session, None));
    absolute.chain(of_modes).chain(of_user).chain(of_always).chain(of_project).chain(of_session).collect()
}

fn judge<'p>(policy: &'p Policy, rules: &[Prepared<'p>], case: Case<'p>) -> Verdict<'p> {
    let fitting: Vec<&Prepared<'p>> = rules.iter().filter(|rule| rule.is_about(case)).collect();
    // Only the user and the modes can make exceptions to rules, and only to their own and those of modes.
    let beatable = |rule: &Prepared<'_>| matches!(rule.layer, Layer::Mode | Layer::User | Layer::Always);
    let beaten: Vec<&String> = fitting.iter().filter(|rule| beatable(rule)).flat_map(|rule| &rule.rule.beats).collect();
    let counts = |rule: &&&Prepared<'_>| {
        let proven = rule.rule.effect != Effect::Allow || !case.act.is_opaque();
        proven && !(beatable(rule) && beaten.contains(&&rule.rule.id))
    };
    // Of equal ones the first, which is the one that is harder to change.
    let strictest = fitting.iter().filter(counts).fold(None::<&&Prepared<'p>>, |best, next| match best {
        Some(best) if best.rule.effect >= next.rule.effect => Some(best),
        _ => Some(next),
    });
    if let Some(Prepared { rule, layer, mode, .. }) = strictest {
        let asks = fitting.iter().filter(counts).filter(|rule| rule.rule.effect == Effect::Ask);
        let expiries = asks.map(|rule| rule.rule.expiry).filter(|_| rule.effect == Effect::Ask).collect();
        let scope = layer.scope(rule);
        let name = RuleName { id: rule.id.clone(), layer: *layer, mode: mode.map(str::to_owned), scope };
        let (effect, reason) = (rule.effect, rule.reason.as_deref());
        return Verdict { effect, up_to_agent: false, rule: name, reason, expiries };
    }
    let name = match case.call.mode {
        Mode::Rules(name) => name,
        Mode::Agent(name) => {
            let rule = RuleName::of_mode("agent", name);
            return Verdict { effect: Effect::Ask, up_to_agent: true, rule, reason: None, expiries: vec![None] };
        }
    };
    let chain = policy.chain(name);
    // A mode that nobody knows asks about everything.
    let default =
        chain.iter().find_map(|(name, mode)| mode.default.map(|effect| (*name, effect, mode.reason.as_deref())));
    let (name, effect, reason) = default.unwrap_or((name, Effect::Ask, None));
    let expiries = if effect == Effect::Ask { vec![None] } else { Vec::new() };
    Verdict { effect, up_to_agent: false, rule: RuleName::of_mode("default", name), reason, expiries }
}

/// A sentence that names the command and what it would do.
fn reason(verdict: &Verdict<'_>, call: &Call<'_>, command: Option<&Command>, index: usize) -> String {
    let act = command.and_then(|command| command.acts.get(index));
    let what = match command.map(|command| command.words.join(" ")) {
        Some(words) if !words.is_empty() => format!("`{}`", cut(&words)),
        _ => call.tool.to_owned(),
    };
    let does = act.map(describe).unwrap_or_default();
    match (verdict.effect, verdict.reason) {
        (_, Some(reason)) => format!("{reason}: {what} {does}"),
        (Effect::Allow, None) => format!("{what} {does}"),
        (Effect::Ask, None) => format!("a person decides: {what} {does}"),
        (Effect::Deny, None) => format!("not allowed: {what} {does}"),
    }
}

/// How much of a command is told.
const MAX_COMMAND_CHARS: usize = 120;

fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_COMMAND_CHARS {
        return text.to_owned();
    }
    let start: String = text.chars().take(MAX_COMMAND_CHARS).collect();
    format!("{start}…")
}

/// What an act does, in words.
pub(super) fn describe(act: &Act) -> String {
    let mut text = verb(act.kind).to_owned();
    if let Some(place) = &act.place {
        text = format!("{text} {}{}", place.path, if place.contents { "/*" } else { "" });
    }
    if let Some(host) = &act.host {
        text = format!("{text} ({host})");
    }
    if let Some(why) = &act.why {
        text = format!("{text} ({why})");
    }
    text
}

/// What acts of a sort do, in words.
pub(super) fn verb(kind: Kind) -> &'static str {
    match kind {
        Kind::Compute => "touches nothing",
        Kind::Session => "changes the shell",
        Kind::Read => "reads",
        Kind::Write => "writes",
        Kind::Delete => "removes",
        Kind::Permissions => "changes who may use",
        Kind::Link => "links to",
        Kind::Build => "runs code of the project",
        Kind::Install => "adds a dependency",
        Kind::SystemInstall => "installs programs",
        Kind::Run => "runs a program that is not known",
        Kind::Vcs => "changes the repository",
        Kind::VcsSync => "exchanges commits",
        Kind::VcsDiscard => "loses work that is not committed",
        Kind::VcsRewrite => "rewrites history",
        Kind::VcsForce => "overwrites what others have",
        Kind::VcsConfig => "changes the repository's settings",
        Kind::Network => "talks to another machine",
        Kind::WebSearch => "searches the web",
        Kind::Publish => "makes something public",
        Kind::Remote => "acts on another machine",
        Kind::Container => "works with containers",
        Kind::Privilege => "gains rights",
        Kind::System => "changes the machine",
        Kind::Process => "ends processes",
        Kind::Format => "works on disks",
        Kind::Power => "ends the machine",
        Kind::KillAll => "ends every process",
        Kind::ForkBomb => "starts processes without end",
        Kind::Destroy => "destroys",
        Kind::Opaque => "cannot be judged",
        Kind::TooMuch => "is too much to be judged",
        Kind::Delegate => "gives work to another agent",
        Kind::Talk => "talks",
        Kind::Mcp => "calls a tool of an MCP server",
        Kind::Tool => "is a tool that is not known",
    }
}
