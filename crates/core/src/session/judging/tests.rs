use serde_json::{Value, json};

use crate::command::{AfterAnswer, Answer, ClientCommand, Command, Message, Refusal, Reply, When};
use crate::event::{
    Envelope, Event, Origin, Part, PermissionOption, PermissionReply, PermissionRequest, PolicyEffect, RuleScope,
};
use crate::id::{AskId, IdSource, SessionId, ToolUseId};
use crate::laws::{self, Ending};
use crate::policy::{self, Call, Judgement, Plain, Policy};
use crate::runtime::{AskRequest, Order, ProposedCall, Ready, Report, Verdict};
use crate::session::{Effect, Input, Limits, Machine, Output, Setup, State};
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A session with a turn, its log, and what it wanted to be done last.
struct Bench {
    machine: Machine,
    log: Vec<Envelope>,
    effects: Vec<Effect>,
}

impl Bench {
    fn new() -> Self {
        let setup = Setup {
            session_id: SessionId::trusted("s"),
            runtime: "fake".into(),
            params: json!({}),
            capabilities: crate::runtime::claude::CAPABILITIES,
            limits: Limits::default(),
            ids: IdSource::seeded(1),
        };
        let mut bench = Self { machine: Machine::new(setup, State::default()), log: Vec::new(), effects: Vec::new() };
        let mut out = Output::default();
        bench.machine.create(NOW, &mut out);
        bench.log.extend(out.facts);
        let content = vec![Part::Text { text: "go".into() }];
        let message = Message { id: None, content, origin: Origin::User };
        bench.command(Command::Send { message, when: When::Queue });
        bench.input(Input::Report(Report::Ready(Box::<Ready>::default())));
        bench
    }

    fn input(&mut self, input: Input) {
        let mut out = Output::default();
        self.machine.handle(input, NOW, &mut out);
        self.log.extend(out.facts);
        self.effects = out.effects;
        assert_eq!(laws::check(&self.log, Ending::Live), []);
    }

    fn command(&mut self, command: Command) {
        self.input(Input::Command { command: ClientCommand { by: "tester".into(), command }, reply_to: 1 });
    }

    /// The agent proposes a command, and the rules of a mode judge it.
    fn propose(&mut self, mode: &str, id: &str, command: &str) -> Option<Verdict> {
        let input = json!({ "command": command });
        let call = ProposedCall { tool_use_id: id_of(id), tool: "Bash".into(), input: input.clone(), directory: None };
        let report = Report::Propose { key: format!("hook-{id}"), subagent_id: None, call };
        self.input(Input::Judged { report, judgement: judgement(mode, &input) });
        self.effects.iter().find_map(|effect| match effect {
            Effect::Order(Order::Verdict { verdict, .. }) => Some(verdict.clone()),
            _ => None,
        })
    }

    /// The agent asks about a command itself.
    fn ask(&mut self, id: &str, command: &str) {
        let tool_input = json!({ "command": command });
        let option = |reply, label: &str| PermissionOption { reply, label: label.into(), rule: None, scope: None };
        let request = PermissionRequest {
            tool_name: "Bash".into(),
            tool_input,
            tool_use_id: Some(id_of(id)),
            options: vec![option(PermissionReply::Once, "Allow"), option(PermissionReply::Reject, "Reject")],
            ..PermissionRequest::default()
        };
        let report =
            Report::Ask { key: format!("ask-{id}"), subagent_id: None, request: AskRequest::Permission(request) };
        self.input(Input::Report(report));
    }

    fn asked(&self) -> Option<PermissionRequest> {
        self.log.iter().rev().find_map(|envelope| match &envelope.event {
            Event::PermissionRequest(request) => Some(request.clone()),
            _ => None,
        })
    }

    fn decisions(&self) -> Vec<(PolicyEffect, String)> {
        let of = |envelope: &Envelope| match &envelope.event {
            Event::ToolDecided(decided) => Some((decided.judged.effect, decided.judged.rule.clone())),
            _ => None,
        };
        self.log.iter().filter_map(of).collect()
    }

    fn answers(&self) -> Vec<(String, PermissionReply)> {
        let of = |effect: &Effect| match effect {
            Effect::Order(Order::Answer { key, answer: Answer::Permission { reply, .. } }) => {
                Some((key.clone(), *reply))
            }
            _ => None,
        };
        self.effects.iter().filter_map(of).collect()
    }
}

fn id_of(id: &str) -> ToolUseId {
    ToolUseId::trusted(id)
}

fn judgement(mode: &str, input: &Value) -> Judgement {
    let world = Plain { home: Some("/home/user".to_owned()) };
    let call = match mode {
        "" => Call { mode: policy::Mode::Agent(""), ..Call::new("Bash", input, "", "/code/app") },
        mode => Call::new("Bash", input, mode, "/code/app"),
    };
    policy::judge(&Policy::shipped(), &Call { session: "s", ..call }, &world)
}

#[test]
fn a_verdict_is_written_down_before_it_is_told() {
    let mut bench = Bench::new();
    assert_eq!(bench.propose("implement", "t1", "ls"), Some(Verdict::Allow));
    let Some(Verdict::Deny { reason }) = bench.propose("plan", "t2", "touch a.txt") else { panic!("it is denied") };
    assert!(reason.contains("plan mode only reads"), "{reason}");
    assert!(matches!(bench.propose("implement", "t3", "curl https://example.com"), Some(Verdict::Ask { .. })));
    let decisions = bench.decisions();
    let expected = [
        (PolicyEffect::Allow, "implement/read"),
        (PolicyEffect::Deny, "plan/only-reads"),
        (PolicyEffect::Ask, "implement/default"),
    ];
    assert_eq!(decisions, expected.map(|(effect, rule)| (effect, rule.to_owned())));
}

#[test]
fn in_a_mode_of_the_agents_own_only_rules_speak() {
    let mut bench = Bench::new();
    assert_eq!(bench.propose("", "t1", "touch a.txt"), Some(Verdict::UpToAgent));
    assert!(matches!(bench.propose("", "t2", "rm -rf /"), Some(Verdict::Deny { .. })));
    assert_eq!(bench.decisions(), [(PolicyEffect::Deny, "absolute/vital-trees".to_owned())]);
}

#[test]
fn an_agent_that_asks_all_the_same_is_answered_by_the_rules() {
    let mut bench = Bench::new();
    bench.propose("implement", "t1", "ls");
    bench.ask("t1", "ls");
    assert_eq!(bench.answers(), [("ask-t1".to_owned(), PermissionReply::Once)]);
    bench.propose("plan", "t2", "touch a");
    bench.ask("t2", "touch a");
    assert_eq!(bench.answers(), [("ask-t2".to_owned(), PermissionReply::Reject)]);
    assert_eq!(bench.asked(), None, "nobody was asked");
}

#[test]
fn what_was_judged_is_not_what_somebody_else_made_of_it() {
    let mut bench = Bench::new();
    bench.propose("implement", "t1", "ls");
    let tool_input = json!({ "command": "curl https://example.com" });
    let request = PermissionRequest {
        tool_name: "Bash".into(),
        tool_input: tool_input.clone(),
        tool_use_id: Some(id_of("t1")),
        ..PermissionRequest::default()
    };
    let report = Report::Ask { key: "ask".into(), subagent_id: None, request: AskRequest::Permission(request) };
    assert!(bench.machine.to_judge(&report).is_some(), "another input is judged again");
    bench.input(Input::Judged { report, judgement: judgement("implement", &tool_input) });
    assert_eq!(bench.asked().unwrap().tool_input, tool_input);
    assert_eq!(bench.answers(), []);
}

#[test]
fn an_ask_shows_what_the_call_would_do_and_which_rules_always_could_store() {
    let mut bench = Bench::new();
    bench.propose("implement", "t1", "ls && npm publish --tag next");
    bench.ask("t1", "ls && npm publish --tag next");
    let asked = bench.asked().unwrap();
    let judged = asked.judged.unwrap();
    assert_eq!(judged.rule, "implement/default");
    let parts: Vec<Option<&str>> = judged.parts.iter().map(|part| part.command.as_deref()).collect();
    assert_eq!(parts, [Some("ls"), Some("npm publish --tag next")]);
    assert_eq!(judged.parts[1].acts[0].decides, Some(true));
    let labels: Vec<(Option<RuleScope>, &str)> =
        asked.options.iter().map(|option| (option.scope, option.label.as_str())).collect();
    assert_eq!(
        labels,
        [
            (None, "Allow"),
            (Some(RuleScope::Session), "Always run `npm publish --tag next` in this session"),
            (Some(RuleScope::Project), "Always run `npm publish --tag next` in this project"),
            (Some(RuleScope::User), "Always run `npm publish --tag next` everywhere"),
            (Some(RuleScope::Session), "Always run `npm publish *` in this session"),
            (Some(RuleScope::Project), "Always run `npm publish *` in this project"),
            (Some(RuleScope::User), "Always run `npm publish *` everywhere"),
            (None, "Reject"),
        ]
    );
}

#[test]
fn always_stores_the_rule_that_was_shown_and_the_agent_only_hears_yes() {
    let mut bench = Bench::new();
    bench.propose("implement", "t1", "npm publish");
    bench.ask("t1", "npm publish");
    let asked = bench.asked().unwrap();
    let chosen = asked.options.iter().find(|option| option.scope == Some(RuleScope::Project)).unwrap();
    let rule = chosen.rule.clone().unwrap();
    assert_eq!(rule, "effect = \"allow\"\ncommand = \"npm publish\"\nproject = \"/code/app\"");
    let answer = |rule: &str| Command::Answer {
        ask_id: asked.ask_id.clone(),
        answer: Answer::Permission {
            reply: PermissionReply::Always,
            updated_input: None,
            message: None,
            rule: Some(rule.to_owned()),
            and_then: AfterAnswer::GoOn,
        },
    };
    bench.command(answer("effect = \"allow\"\ntool = \"Bash\""));
    assert!(
        matches!(bench.effects.as_slice(), [Effect::Reply { outcome: Err(Refusal::Invalid(_)), .. }]),
        "only what was offered can be chosen"
    );
    bench.command(answer(&rule));
    assert!(matches!(bench.effects.first(), Some(Effect::StoreRule { rule: stored, .. }) if *stored == rule));
    assert_eq!(bench.answers(), [("ask-t1".to_owned(), PermissionReply::Once)]);
    assert!(matches!(bench.effects.last(), Some(Effect::Reply { outcome: Ok(Reply::Resolved { .. }), .. })));
    let resolved = bench.log.iter().rev().find_map(|envelope| match &envelope.event {
        Event::PermissionResolved(resolved) => Some((resolved.reply, resolved.rule.clone())),
        _ => None,
    });
    assert_eq!(resolved, Some((PermissionReply::Always, Some(rule))));
}

#[test]
fn opaque_calls_can_be_allowed_once_but_not_always() {
    let mut bench = Bench::new();
    bench.propose("ask", "t1", "eval \"$X\"");
    bench.ask("t1", "eval \"$X\"");
    assert!(bench.asked().unwrap().options.iter().all(|option| option.reply != PermissionReply::Always));
}

#[test]
fn choices_of_the_agents_own_are_for_a_person() {
    let bench = Bench::new();
    let option =
        PermissionOption { reply: PermissionReply::Always, label: "Yes".into(), ..PermissionOption::default() };
    let request = PermissionRequest {
        ask_id: AskId::trusted("plan"),
        tool_name: "ExitPlanMode".into(),
        options: vec![option],
        ..PermissionRequest::default()
    };
    let report = Report::Ask { key: "plan".into(), subagent_id: None, request: AskRequest::Permission(request) };
    assert!(bench.machine.to_judge(&report).is_none());
}
