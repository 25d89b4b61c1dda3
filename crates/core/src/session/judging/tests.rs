use serde_json::{Value, json};

use crate::command::{AfterAnswer, Answer, ClientCommand, Command, Message, Refusal, Reply, When};
use crate::event::{
    AfterStop, AskExpiry, Envelope, Event, Origin, Part, PermissionOption, PermissionReply, PermissionRequest,
    PolicyEffect, RuleScope, Unanswered,
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
            components: std::sync::Arc::default(),
            budgets: std::sync::Arc::default(),
            delegation: crate::delegation::Rules::default(),
        };
        let mut bench = Self { machine: Machine::new(setup, State::default()), log: Vec::new(), effects: Vec::new() };
        let mut out = Output::default();
        bench.machine.create(NOW, &mut out);
        bench.log.extend(out.facts);
        let content = vec![Part::Text { text: "go".into() }];
        let message = Message { id: None, content, origin: Origin::User, source: None };
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
            Effect::Order(Order::Answer { key, answer: Answer::Permission { reply, .. }, .. }) => {
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

/// A rule that asks and does not wait for ever.
fn judged_with_expiry(allows: bool, opaque: bool) -> Judgement {
    let input = json!({ "command": "npm publish" });
    let mut judgement = judgement("implement", &input);
    judgement.expiry = Some(policy::Expiry { seconds: 60, allows });
    judgement.judged.opaque = opaque;
    judgement
}

impl Bench {
    fn ask_that_expires(&mut self, allows: bool, opaque: bool) -> PermissionRequest {
        let request = PermissionRequest {
            tool_name: "Bash".into(),
            tool_input: json!({ "command": "npm publish" }),
            tool_use_id: Some(id_of("t1")),
            ..PermissionRequest::default()
        };
        let report = Report::Ask { key: "ask".into(), subagent_id: None, request: AskRequest::Permission(request) };
        self.input(Input::Judged { report, judgement: judged_with_expiry(allows, opaque) });
        self.asked().unwrap()
    }

    fn tick(&mut self, at: Timestamp) {
        let mut out = Output::default();
        self.machine.handle(Input::Tick, at, &mut out);
        self.log.extend(out.facts);
        self.effects = out.effects;
        assert_eq!(laws::check(&self.log, Ending::Live), []);
    }

    fn resolved(&self) -> Vec<(bool, Option<Unanswered>)> {
        let of = |envelope: &Envelope| match &envelope.event {
            Event::PermissionResolved(resolved) => Some((resolved.allowed, resolved.unanswered)),
            _ => None,
        };
        self.log.iter().filter_map(of).collect()
    }
}

#[test]
fn an_ask_says_when_it_ends_and_ends_then_as_it_said() {
    for (allows, opaque, allowed) in [(false, false, false), (true, false, true), (true, true, false)] {
        let mut bench = Bench::new();
        let asked = bench.ask_that_expires(allows, opaque);
        let at = NOW.plus_millis(60_000);
        assert_eq!(asked.expiry, Some(AskExpiry { at, allowed }));
        assert_eq!(bench.machine.next_deadline(), Some(at));
        bench.tick(NOW.plus_millis(59_999));
        assert_eq!(bench.resolved(), []);
        bench.tick(at);
        assert_eq!(bench.resolved(), [(allowed, Some(Unanswered::Expired))]);
        let reply = if allowed { PermissionReply::Once } else { PermissionReply::Reject };
        assert_eq!(bench.answers(), [("ask".to_owned(), reply)]);
        assert_ne!(bench.machine.next_deadline(), Some(at), "it is over");
        bench.tick(at.plus_millis(60_000));
        assert_eq!(bench.resolved().len(), 1);
    }
}

#[test]
fn whoever_sets_the_clock_does_not_change_how_long_an_ask_waits() {
    let mut bench = Bench::new();
    bench.ask_that_expires(true, false);
    bench.machine.clock_was_set(3_600_000);
    bench.tick(NOW.plus_millis(3_600_000));
    assert_eq!(bench.resolved(), []);
    bench.tick(NOW.plus_millis(3_660_000));
    assert_eq!(bench.resolved(), [(true, Some(Unanswered::Expired))]);
}

#[test]
fn who_answers_in_time_decides_and_nothing_expires_in_a_turn_that_is_stopped() {
    let mut bench = Bench::new();
    let asked = bench.ask_that_expires(true, false);
    let answer = Answer::Permission {
        reply: PermissionReply::Reject,
        updated_input: None,
        message: None,
        rule: None,
        and_then: AfterAnswer::GoOn,
    };
    let with = AskId::trusted("another");
    bench.command(Command::AnswerAlong { ask_id: asked.ask_id.clone(), answer, with: with.clone() });
    bench.tick(NOW.plus_millis(60_000));
    assert_eq!(bench.resolved(), [(false, None)]);
    let along = bench.log.iter().find_map(|envelope| match &envelope.event {
        Event::PermissionResolved(resolved) => resolved.along_with.clone(),
        _ => None,
    });
    assert_eq!(along, Some(with));

    let mut bench = Bench::new();
    bench.ask_that_expires(true, false);
    bench.command(Command::Stop { turn_id: None, then: AfterStop::Hold });
    bench.tick(NOW.plus_millis(60_000));
    assert_eq!(bench.resolved(), [], "the end of the turn settles it, and nothing runs");
}

#[test]
fn calls_that_wait_can_be_judged_again_where_they_run() {
    let mut bench = Bench::new();
    let input = json!({ "command": "npm publish" });
    let call = ProposedCall {
        tool_use_id: id_of("t1"),
        tool: "Bash".into(),
        input: input.clone(),
        directory: Some("/elsewhere".into()),
    };
    let report = Report::Propose { key: "hook".into(), subagent_id: None, call };
    bench.input(Input::Judged { report, judgement: judgement("implement", &input) });
    assert!(bench.machine.waiting_calls().is_empty(), "nobody is asked yet");
    bench.ask("t1", "npm publish");
    let waiting = bench.machine.waiting_calls();
    let of =
        |(_, call): &(AskId, crate::session::ToJudge<'_>)| (call.tool.to_owned(), call.directory.map(str::to_owned));
    assert_eq!(waiting.iter().map(of).collect::<Vec<_>>(), [("Bash".to_owned(), Some("/elsewhere".to_owned()))]);
}

#[test]
fn an_edited_call_is_judged_as_it_would_run() {
    let mut bench = Bench::new();
    bench.propose("implement", "t1", "git push --force origin main");
    bench.ask("t1", "git push --force origin main");
    let ask_id = bench.asked().unwrap().ask_id;
    let edit = |bench: &mut Bench, command: &str| {
        let input = json!({ "command": command });
        let answer = Answer::Permission {
            reply: PermissionReply::Once,
            message: None,
            updated_input: Some(input.clone()),
            rule: None,
            and_then: AfterAnswer::GoOn,
        };
        let command = Command::Answer { ask_id: ask_id.clone(), answer };
        assert_eq!(bench.machine.edited_call(&command).map(|call| call.input.clone()), Some(input.clone()));
        let command = ClientCommand { by: "tester".into(), command };
        bench.input(Input::JudgedEdit { command, judgement: judgement("implement", &input), reply_to: 7 });
    };
    edit(&mut bench, "rm -rf /");
    let refused = bench.effects.iter().any(
        |effect| matches!(effect, Effect::Reply { to: 7, outcome: Err(refusal) } if refusal.code() == "denied_by_rule"),
    );
    assert!(refused && bench.answers().is_empty(), "{:?}", bench.effects);
    edit(&mut bench, "git push --force origin topic");
    assert_eq!(bench.answers(), [("ask-t1".to_owned(), PermissionReply::Once)]);
    let digests: Vec<String> = bench
        .log
        .iter()
        .filter_map(|envelope| match &envelope.event {
            Event::ToolDecided(decided) => Some(decided.judged.input_sha256.clone()),
            _ => None,
        })
        .collect();
    let digest = |command: &str| policy::digest(&json!({ "command": command }));
    assert_eq!(digests, [digest("git push --force origin main"), digest("git push --force origin topic")]);
}
