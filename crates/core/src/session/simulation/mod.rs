//! A deterministic world around one machine: an agent that says anything, clients that ask for anything, a clock, and crashes at every step. One seed
//! is one schedule. After each the laws must hold, and everything that was accepted must be accounted for.

mod agent;
mod checks;
mod children;
mod machines;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use self::agent::FakeAgent;
use self::checks::{wrongly_delegated, wrongly_expired, wrongly_paused, wrongly_told};
use self::children::Children;
use self::machines::machine;
use super::{Effect, Input, Machine, Output, ReplyTo, State};
use crate::budget::{self, Shared, SharedSum, Spent};
use crate::command::{
    self, AfterAnswer, Answer, Callback, ClientCommand, Command, Edit, Files, Message, Refusal, Reply, Update, When,
};
use crate::event::{
    AfterStop, BudgetMeasure, BudgetScope, Envelope, Event, Origin, Outcome, Part, PermissionReply, Record,
};
use crate::id::{AskId, MessageId, Seq, ToolUseId};
use crate::laws::{self, Ending};
use crate::runtime::{Order, Verdict};
use crate::summary::{AskKind, Summary};
use crate::time::Timestamp;

/// Where the simulated session's facts are kept. A write is all or nothing, and only a write that returned is kept across a crash.
pub trait SimulatedLog {
    fn append(&mut self, expected_head: Seq, records: Vec<Record>, summary: &Summary);
    fn read(&mut self) -> Vec<Record>;
}

/// The simplest log there is.
#[derive(Debug, Default)]
pub struct VecLog(Vec<Record>);

impl SimulatedLog for VecLog {
    fn append(&mut self, expected_head: Seq, records: Vec<Record>, _summary: &Summary) {
        assert_eq!(
            self.0.last().map_or(Seq::ZERO, |record| record.seq),
            expected_head,
            "an append must follow the head"
        );
        self.0.extend(records);
    }

    fn read(&mut self) -> Vec<Record> {
        self.0.clone()
    }
}

/// Messages that may wait.
const QUEUE: usize = 5;

/// A small random generator, so that a schedule depends on its seed and nothing else.
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % sides.max(1) as u64).unwrap_or(0)
    }

    /// One of these.
    pub fn pick<T: Copy, const N: usize>(&mut self, choices: [T; N]) -> T {
        let at = self.below(N);
        choices.into_iter().cycle().nth(at).unwrap_or_else(|| unreachable!("there is at least one choice"))
    }

    pub fn one_in(&mut self, sides: usize) -> bool {
        self.below(sides) == 0
    }
}

/// Runs one schedule and panics, naming the seed, when a law breaks.
#[expect(clippy::panic, reason = "this is a test harness")]
pub fn run(seed: u64, steps: usize, log: impl SimulatedLog) {
    let mut world = World::new(seed, log);
    for _ in 0..steps {
        world.step();
    }
    world.settle();
    let broken = world.verify();
    if !broken.is_empty() {
        let log: Vec<String> =
            world.log.read().iter().map(|record| String::from_utf8_lossy(&record.json).into_owned()).collect();
        panic!("seed {seed} breaks the laws:\n{}\n\nits log:\n{}", broken.join("\n"), log.join("\n"));
    }
}

/// What a client remembers of a command it made.
#[derive(Debug)]
enum Asked {
    Send(Option<MessageId>),
    Answer(AskId),
    Other,
}

struct World<L> {
    seed: u64,
    lives: u64,
    dice: Dice,
    now: Timestamp,
    log: L,
    machine: Machine,
    agent: FakeAgent,
    children: Children,
    next_reply: ReplyTo,
    waiting: BTreeMap<ReplyTo, Asked>,
    /// What clients were told, and what must therefore be true of the log.
    accepted: BTreeMap<MessageId, command::Receipt>,
    unqueued: BTreeSet<MessageId>,
    won: BTreeMap<AskId, usize>,
    complaints: Vec<String>,
}

impl<L: SimulatedLog> World<L> {
    fn new(seed: u64, log: L) -> Self {
        let mut dice = Dice(seed);
        let agent = FakeAgent::new(&mut dice);
        let mut world = Self {
            seed,
            lives: 0,
            now: Timestamp::from_millis(1_800_000_000_000),
            machine: machine(seed, 0, State::default()),
            log,
            agent,
            children: Children::default(),
            dice,
            next_reply: 0,
            waiting: BTreeMap::new(),
            accepted: BTreeMap::new(),
            unqueued: BTreeSet::new(),
            won: BTreeMap::new(),
            complaints: Vec::new(),
        };
        let mut out = Output::default();
        world.machine.create(world.now, &mut out);
        world.commit(&out);
        world
    }

    fn step(&mut self) {
        self.now = self.now.plus_millis(i64::try_from(self.dice.below(400)).unwrap_or(0));
        let mut out = Output::default();
        // Several inputs may share one append, as they do when the disk is slow.
        for _ in 0..=self.dice.below(3) {
            if let Some(input) = self.input() {
                self.machine.handle(input, self.now, &mut out);
            }
        }
        self.carry_out(out);
        if self.machine.can_unload() && self.dice.one_in(4) {
            self.reload();
        }
    }

    fn input(&mut self) -> Option<Input> {
        match self.dice.below(10) {
            0..=2 => {
                let (command, asked) = self.command()?;
                let reply_to = self.next_reply;
                self.next_reply += 1;
                self.waiting.insert(reply_to, asked);
                Some(Input::Command {
                    command: ClientCommand { by: format!("client {}", self.dice.below(3)), command },
                    reply_to,
                })
            }
            3 if self.dice.one_in(3) => Some(self.shared()),
            4 if self.dice.one_in(3) => self.child_news(),
            3..=8 => self.agent.speak(&mut self.dice),
            _ => {
                // Time passes, sometimes to just where it matters.
                if let Some(deadline) = self.machine.next_deadline().filter(|_| self.dice.one_in(2)) {
                    self.now = self.now.max(deadline);
                }
                Some(Input::Tick)
            }
        }
    }

    /// What has become of a session that works for this one.
    fn child_news(&mut self) -> Option<Input> {
        let news = self.children.news(&mut self.dice)?;
        let reply_to = self.next_reply;
        self.next_reply += 1;
        self.waiting.insert(reply_to, Asked::Other);
        let command = ClientCommand { by: "delegation".to_owned(), command: Command::Child(Box::new(news)) };
        Some(Input::Command { command, reply_to })
    }

    /// What other sessions have spent by now, and what people have said there.
    fn shared(&mut self) -> Input {
        let sum = |dice: &mut Dice, id: Option<&str>| SharedSum {
            id: id.map(str::to_owned),
            spent: Spent { tokens: dice.below(900) as u64, ..Spent::default() },
            raised: if dice.one_in(4) { vec![(BudgetMeasure::Tokens, 1_500)] } else { Vec::new() },
        };
        let day = if self.dice.one_in(8) { "2027-01-16" } else { "2027-01-15" };
        Input::Shared(Box::new(Shared {
            day: sum(&mut self.dice, Some(day)),
            group: Some(sum(&mut self.dice, Some("g"))),
            warns: vec![(BudgetScope::Day, BudgetMeasure::Tokens)],
            ..Shared::default()
        }))
    }

    fn command(&mut self) -> Option<(Command, Asked)> {
        Some(match self.dice.below(20) {
            0..=4 => {
                // Few ids, so that the same one often comes again.
                let id = (!self.dice.one_in(3)).then(|| MessageId::trusted(format!("m{}", self.dice.below(12))));
                let text = "x".repeat(self.dice.below(80));
                let message =
                    Message { id: id.clone(), content: vec![Part::Text { text }], origin: Origin::User, source: None };
                let when = self.dice.pick([When::Queue, When::Steer, When::Reject]);
                (Command::Send { message, when }, Asked::Send(id))
            }
            5 => {
                let then = self.dice.pick([AfterStop::Continue, AfterStop::Hold]);
                match self.machine.state().summary().turn.filter(|_| self.dice.one_in(4)) {
                    Some(turn_id) => (Command::ForceStop { turn_id }, Asked::Other),
                    None => (Command::Stop { turn_id: None, then }, Asked::Other),
                }
            }
            6..=8 => {
                let open: Vec<_> = self.machine.state().summary().asks;
                let settled = self.won.keys().next().cloned();
                let (ask_id, kind) = match open.get(self.dice.below(open.len().max(1))) {
                    Some(ask) => (ask.ask_id.clone(), ask.kind),
                    None => (settled?, AskKind::Permission),
                };
                let answer = self.answer(kind);
                // Now and then it is the answer to another one, which may be gone.
                let command = if self.dice.one_in(3) {
                    let with = AskId::trusted(format!("other-{}", self.dice.below(2)));
                    Command::AnswerAlong { ask_id: ask_id.clone(), answer, with }
                } else {
                    Command::Answer { ask_id: ask_id.clone(), answer }
                };
                (command, Asked::Answer(ask_id))
            }
            9 => (Command::Rollback { turns: self.dice.below(3), files: Files::Keep }, Asked::Other),
            10 => (Command::Compact, Asked::Other),
            11 => {
                let command = match self.dice.below(6) {
                    5 => {
                        let tokens = self.dice.below(4) * 400 + 200;
                        let budget = json!({ "session": { "tokens": tokens } });
                        let settings = serde_json::Map::from_iter([(budget::OWN.to_owned(), budget)]);
                        Command::Update(Update { settings, ..Update::default() })
                    }
                    0 => Command::Archive,
                    1 | 2 => Command::Unarchive,
                    3 => Command::Update(Update {
                        title: Some("t".into()),
                        model: Some("m".into()),
                        ..Update::default()
                    }),
                    _ => {
                        let other = self.dice.one_in(2).then(|| format!("conversation {}", self.dice.below(3)));
                        Command::Resume { provider_session_id: other }
                    }
                };
                (command, Asked::Other)
            }
            12 => {
                let message_id = self.machine.state().queue_items().first()?.message_id.clone();
                // From here on it may be gone, whether or not the client hears so.
                self.unqueued.insert(message_id.clone());
                (Command::Unqueue { message_id }, Asked::Other)
            }
            13..=15 => (self.write(), Asked::Other),
            16 => (Command::Continue, Asked::Other),
            17 => {
                let message_id = self.machine.state().queue_items().last()?.message_id.clone();
                let edit = Edit::Words("y".repeat(self.dice.below(3)));
                (Command::EditQueued { message_id, edit }, Asked::Other)
            }
            _ => {
                let order = self.machine.state().queue_items().into_iter().rev().map(|item| item.message_id).collect();
                (Command::Reorder { order }, Asked::Other)
            }
        })
    }

    /// What a client writes besides messages and answers: what fits, and what does not.
    fn write(&mut self) -> Command {
        let (path, value) = (format!("/k{}", self.dice.below(3)), self.dice.below(3));
        if self.dice.one_in(3) {
            let tool_use_id = ToolUseId::trusted(format!("t{}", self.dice.below(6)));
            return Command::ToolResult { tool_use_id, answer: self.answer(AskKind::Interrupt) };
        }
        if self.dice.one_in(3) {
            let component_id = match self.dice.below(5) {
                0 => "state.k0".to_owned(),
                1 => "mcp__maps__find".to_owned(),
                n => format!("c{}", n - 2),
            };
            let action = self.dice.pick(["press", "press", "change", "edit_step"]).to_owned();
            let payload = json!({ "values": value, "step_index": value, "description": "d" });
            let callback_id = self.dice.one_in(2).then(|| format!("cb{}", self.dice.below(20)));
            return Command::CallBack(Callback { component_id, action, payload, callback_id });
        }
        let op = self.dice.pick(["add", "add", "replace", "remove", "test"]);
        Command::PatchState { patch: json!([{ "op": op, "path": path, "value": value }]) }
    }

    fn answer(&mut self, kind: AskKind) -> Answer {
        match kind {
            AskKind::Permission => Answer::Permission {
                reply: self.dice.pick([PermissionReply::Once, PermissionReply::Always, PermissionReply::Reject]),
                updated_input: None,
                message: None,
                rule: None,
                and_then: if self.dice.one_in(4) { AfterAnswer::Stop(AfterStop::Hold) } else { AfterAnswer::GoOn },
            },
            AskKind::Question => Answer::Question { answers: self.dice.one_in(2).then(|| vec![vec!["yes".into()]]) },
            AskKind::Interrupt if self.dice.one_in(4) => Answer::ToolFailed { output: json!("no") },
            AskKind::Interrupt => Answer::Interrupt { value: json!(1) },
        }
    }

    /// Does what the shell does, and dies at any point of it.
    fn carry_out(&mut self, out: Output) {
        if self.dice.one_in(60) {
            return self.crash(); // before the commit
        }
        self.commit(&out);
        for effect in out.effects {
            if self.dice.one_in(120) {
                return self.crash(); // between the commit and what follows from it
            }
            match effect {
                Effect::Reply { to, outcome } => self.replied(to, outcome),
                Effect::Order(
                    order @ (Order::Prompt { .. } | Order::Steer { .. } | Order::Answer { .. } | Order::Compact { .. }),
                ) if self.machine.is_paused() => {
                    self.complaints.push(format!("the agent hears {order:?} while a person is asked about its budget"));
                }
                Effect::Order(Order::Verdict { verdict: Verdict::Allow | Verdict::UpToAgent, .. })
                    if self.machine.is_paused() =>
                {
                    self.complaints.push("a call runs while a person is asked about the budget".to_owned());
                }
                Effect::Delegate(start) => self.children.made(start.child),
                effect => self.agent.receive(effect, &mut self.dice),
            }
        }
    }

    fn commit(&mut self, out: &Output) {
        let Some(first) = out.facts.first() else { return };
        let records: Vec<Record> = out.facts.iter().map(Envelope::encode).collect();
        if self.seed.is_multiple_of(16) {
            self.compare_with_stored(&out.facts, &records);
        }
        let summary = self.machine.state().summary();
        self.log.append(Seq(first.seq.0 - 1), records, &summary);
    }

    fn replied(&mut self, to: ReplyTo, outcome: command::Outcome) {
        let Some(asked) = self.waiting.remove(&to) else {
            return self.complaints.push(format!("reply {to} was given twice, or to nobody"));
        };
        match (asked, outcome) {
            (Asked::Send(id), Ok(Reply::Accepted { receipt, .. })) => {
                if id.is_some_and(|id| id != receipt.message_id) {
                    self.complaints.push(format!("{} was accepted under another id", receipt.message_id));
                }
                let first = self.accepted.entry(receipt.message_id.clone()).or_insert_with(|| receipt.clone());
                if *first != receipt {
                    self.complaints.push(format!(
                        "a retry of {} got another receipt: {first:?} then {receipt:?}",
                        receipt.message_id
                    ));
                }
            }
            (Asked::Answer(ask_id), Ok(_)) => *self.won.entry(ask_id).or_default() += 1,
            (Asked::Answer(ask_id), Err(Refusal::AlreadyResolved { by, .. })) if by.is_empty() => {
                self.complaints.push(format!("nobody is named as the winner of {ask_id}"));
            }
            _ => {}
        }
    }

    /// The daemon dies: what was not committed never happened, nobody hears back, and the agent is swept away.
    fn crash(&mut self) {
        self.waiting.clear();
        self.reload();
        let mut out = Output::default();
        for (child, _, _) in self.machine.unsettled_children() {
            // Where nothing is found, it goes on.
            if self.dice.one_in(2) {
                let news = self.children.found(&child, &mut self.dice);
                let command = ClientCommand { by: "delegation".to_owned(), command: Command::Child(Box::new(news)) };
                self.machine.handle(Input::Command { command, reply_to: ReplyTo::MAX }, self.now, &mut out);
            }
        }
        // Nobody waits for these.
        out.effects.retain(|effect| !matches!(effect, Effect::Reply { to: ReplyTo::MAX, .. }));
        self.machine.recover(self.now, &mut out);
        if !out.effects.is_empty() || out.facts.iter().any(|fact| matches!(fact.event, Event::TurnStarted(_))) {
            self.complaints.push(format!("something runs by surprise after a restart: {out:?}"));
        }
        // Recovery may crash as well.
        self.carry_out(out);
    }

    /// Live readers are handed the facts themselves, later ones what the bytes say: they must not differ.
    fn compare_with_stored(&mut self, facts: &[Envelope], records: &[Record]) {
        for (fact, record) in facts.iter().zip(records) {
            let (live, stored) = (format!("{fact:?}"), record.decode().map(|envelope| format!("{envelope:?}")));
            if stored.as_ref().ok() != Some(&live) {
                self.complaints.push(format!("a stored fact differs:\n  live {live}\n  stored {stored:?}"));
            }
        }
    }

    fn reload(&mut self) {
        self.agent = FakeAgent::new(&mut self.dice);
        self.lives += 1;
        let mut state = State::default();
        let records = self.log.read();
        // Somewhere on the way it was stored.
        let stored_at = records.len() - usize::try_from(self.lives).unwrap_or(0).min(records.len());
        for (at, record) in records.into_iter().enumerate() {
            if at == stored_at {
                state = self.stored_and_loaded(state);
            }
            match record.decode() {
                Ok(envelope) => state.apply(&envelope),
                Err(error) => self.complaints.push(format!("{}: {error}", record.seq)),
            }
        }
        let before = self.machine.state();
        if before.head == state.head && *before != state {
            self.complaints.push(format!("a reloaded session differs:\n  live {before:?}\n  read {state:?}"));
        }
        self.machine = machine(self.seed, self.lives, state);
    }

    fn stored_and_loaded(&mut self, state: State) -> State {
        match state.store().and_then(|stored| State::load(&stored)) {
            Ok(loaded) if loaded == state => loaded,
            loaded => {
                self.complaints.push(format!("a stored state differs:\n  stored {state:?}\n  loaded {loaded:?}"));
                state
            }
        }
    }

    /// Ends the schedule as a daemon ends: politely, with an agent that may not be.
    fn settle(&mut self) {
        let mut out = Output::default();
        self.machine.handle(Input::Shutdown, self.now, &mut out);
        self.carry_out(out);
        for _ in 0..200 {
            if self.machine.can_unload() {
                break;
            }
            let mut out = Output::default();
            if let Some(deadline) = self.machine.next_deadline() {
                self.now = self.now.max(deadline);
            }
            self.machine.handle(Input::Tick, self.now, &mut out);
            if let Some(input) = self.agent.speak(&mut self.dice) {
                self.machine.handle(input, self.now, &mut out);
            }
            self.carry_out(out);
            if !self.machine.is_shutting_down() {
                // It crashed on the way.
                let mut out = Output::default();
                self.machine.handle(Input::Shutdown, self.now, &mut out);
                self.carry_out(out);
            }
        }
    }

    fn verify(&mut self) -> Vec<String> {
        let mut broken = std::mem::take(&mut self.complaints);
        let log: Vec<Envelope> =
            self.log.read().iter().filter_map(|record| Envelope::decode(&record.json).ok()).collect();
        broken.extend(laws::check(&log, Ending::AtRest).iter().map(ToString::to_string));
        if !self.machine.can_unload() {
            broken.push(format!("the session never came to rest: {:?}", self.machine));
        }
        if !self.waiting.is_empty() {
            broken.push(format!("somebody never got a reply: {:?}", self.waiting));
        }
        broken.extend(
            self.won.iter().filter(|(_, wins)| **wins > 1).map(|(ask_id, wins)| format!("{ask_id} had {wins} winners")),
        );
        broken.extend(wrongly_expired(&log));
        let has_room = self.machine.state().queue_items().len() < QUEUE;
        broken.extend(wrongly_told(&log, has_room));
        broken.extend(wrongly_paused(&log));
        broken.extend(wrongly_delegated(&log));
        let sent: BTreeSet<&MessageId> = log
            .iter()
            .filter_map(|envelope| match &envelope.event {
                Event::UserMessage(message) => Some(&message.message_id),
                _ => None,
            })
            .collect();
        let queued: BTreeSet<MessageId> =
            self.machine.state().queue_items().into_iter().map(|item| item.message_id).collect();
        let lost = |id: &&MessageId| !sent.contains(id) && !queued.contains(*id) && !self.unqueued.contains(*id);
        broken.extend(self.accepted.keys().filter(lost).map(|id| format!("{id} was accepted and is nowhere")));
        let crashed = log
            .iter()
            .filter(|envelope| matches!(&envelope.event, Event::Done(done) if done.outcome == Outcome::Completed));
        for done in crashed {
            if matches!(&done.event, Event::Done(done) if done.reason.as_deref().is_some_and(|reason| reason.contains("daemon")))
            {
                broken.push(format!("{}: a turn that the daemon left is completed", done.seq));
            }
        }
        broken
    }
}
