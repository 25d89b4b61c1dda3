//! Several sessions, their protocols, the router between them, and an app-server that answers late, in another order or not at all, says things
//! twice, and dies. One seed is one schedule; after each the laws must hold, nobody may wait for ever, and nobody may hear what is another's.

mod server;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

use self::server::Server;
use crate::command::{AfterAnswer, Answer, ClientCommand, Command, Files, Message, Update, When};
use crate::event::{AfterStop, Envelope, Event, Origin, Part, PermissionReply};
use crate::id::{BlockId, IdSource, SessionId};
use crate::laws::{self, Ending};
use crate::runtime::codex::{CAPABILITIES, ClientId, CodexProtocol, Routed, Router};
use crate::runtime::{self, Line, Protocol as _};
use crate::session::simulation::Dice;
use crate::session::{Effect, Input, Limits, Machine, Output, Setup, State};
use crate::summary::AskKind;
use crate::time::Timestamp;

/// How many schedules the test command runs.
const SCHEDULES: u64 = 400;
const STEPS: usize = 220;

/// `TURNLOOM_SEED=n` replays one schedule, `TURNLOOM_SCHEDULES=n` runs more of them.
#[test]
fn the_laws_hold_with_every_server() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("TURNLOOM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("TURNLOOM_SCHEDULES").unwrap_or(SCHEDULES),
    };
    for seed in seeds {
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            world.step();
        }
        world.come_to_rest();
        let mut broken = world.waits_for_nothing();
        world.end();
        broken.extend(world.verify());
        if !broken.is_empty() {
            let facts = world.sessions.iter().flat_map(|session| &session.log).map(|fact| format!("{fact:?}"));
            panic!("seed {seed}:\n{}\n\n{}", broken.join("\n"), facts.collect::<Vec<_>>().join("\n"));
        }
    }
}

struct Session {
    machine: Machine,
    protocol: CodexProtocol,
    client: Option<ClientId>,
    log: Vec<Envelope>,
    waiting: BTreeSet<u64>,
    replies: u64,
}

/// What is on its way.
enum Moving {
    ToServer(Value),
    FromServer(Value),
    ToClient(ClientId, Vec<u8>),
    Left(ClientId),
}

struct World {
    dice: Dice,
    now: Timestamp,
    router: Router,
    server: Server,
    sessions: Vec<Session>,
    moving: VecDeque<Moving>,
}

impl World {
    fn new(seed: u64) -> Self {
        let now = Timestamp::from_millis(1_800_000_000_000);
        let session = |number: u64| {
            let setup = Setup {
                session_id: SessionId::trusted(format!("s{number}")),
                runtime: "codex".into(),
                params: json!({ "cwd": "/w" }),
                capabilities: CAPABILITIES,
                limits: Limits {
                    start_ms: 900,
                    interrupt_ms: 500,
                    terminate_ms: 500,
                    idle_ms: 900,
                    ..Limits::default()
                },
                ids: IdSource::seeded(seed ^ (number << 40)),
                components: std::sync::Arc::default(),
                budgets: std::sync::Arc::default(),
                delegation: crate::delegation::Rules::default(),
            };
            let mut machine = Machine::new(setup, State::default());
            let mut out = Output::default();
            machine.create(now, &mut out);
            Session {
                machine,
                protocol: CodexProtocol::default(),
                client: None,
                log: out.facts,
                waiting: BTreeSet::new(),
                replies: 0,
            }
        };
        Self {
            dice: Dice::seeded(seed),
            now,
            router: Router::default(),
            server: Server::default(),
            sessions: (0..3).map(session).collect(),
            moving: VecDeque::new(),
        }
    }

    fn step(&mut self) {
        self.now = self.now.plus_millis(i64::try_from(self.dice.below(60)).unwrap_or(0));
        let at = self.dice.below(self.sessions.len());
        match self.dice.below(40) {
            0..=8 => {
                if let Some(command) = self.command(at) {
                    self.sessions[at].replies += 1;
                    let reply_to = self.sessions[at].replies;
                    self.sessions[at].waiting.insert(reply_to);
                    self.input(
                        at,
                        Input::Command { command: ClientCommand { by: "somebody".into(), command }, reply_to },
                    );
                }
            }
            9..=32 => {
                let lines = self.server.speaks(&mut self.dice);
                self.moving.extend(lines.into_iter().map(Moving::FromServer));
            }
            33..=36 => {
                let late = self.server.late(&mut self.dice);
                self.moving.extend(late.map(Moving::FromServer));
            }
            37 | 38 => {
                // Time passes, sometimes to just where it matters.
                if let Some(deadline) = self.sessions[at].machine.next_deadline().filter(|_| self.dice.one_in(2)) {
                    self.now = self.now.max(deadline);
                }
                self.input(at, Input::Tick);
                self.retry_refused();
            }
            _ => {
                if self.dice.one_in(4) {
                    self.server_dies();
                }
            }
        }
        self.pump();
    }

    fn command(&mut self, at: usize) -> Option<Command> {
        let message = |dice: &mut Dice| {
            let text = dice.pick(["go", "go on", "/compact", "/review"]).to_owned();
            Message { id: None, content: vec![Part::Text { text }], origin: Origin::User, source: None }
        };
        Some(match self.dice.below(12) {
            0..=4 => {
                let when = self.dice.pick([When::Queue, When::Steer]);
                Command::Send { message: message(&mut self.dice), when }
            }
            5 => Command::Stop { turn_id: None, then: AfterStop::Continue },
            6..=8 => return self.answer(at),
            9 => Command::Rollback { turns: 1, files: Files::Keep },
            10 => Command::Compact,
            _ => Command::Update(Update { title: Some("t".into()), model: Some("m".into()), ..Update::default() }),
        })
    }

    fn answer(&mut self, at: usize) -> Option<Command> {
        let open = self.sessions[at].machine.state().summary().asks;
        let ask = open.get(self.dice.below(open.len().max(1)))?;
        let answer = match ask.kind {
            AskKind::Permission => Answer::Permission {
                reply: self.dice.pick([PermissionReply::Once, PermissionReply::Always, PermissionReply::Reject]),
                updated_input: None,
                message: self.dice.one_in(3).then(|| "no".to_owned()),
                rule: None,
                and_then: if self.dice.one_in(4) { AfterAnswer::Stop(AfterStop::Continue) } else { AfterAnswer::GoOn },
            },
            AskKind::Question => Answer::Question { answers: self.dice.one_in(2).then(|| vec![vec!["yes".into()]]) },
            AskKind::Interrupt => Answer::Interrupt { value: json!(1) },
        };
        Some(Command::Answer { ask_id: ask.ask_id.clone(), answer })
    }

    // ---- what the daemon does ----

    fn input(&mut self, at: usize, input: Input) {
        let mut out = Output::default();
        self.sessions[at].machine.handle(input, self.now, &mut out);
        self.carry_out(at, out);
    }

    fn carry_out(&mut self, at: usize, out: Output) {
        self.sessions[at].log.extend(out.facts);
        for effect in out.effects {
            let mut said = runtime::Output::default();
            match effect {
                Effect::Start(opening) => {
                    self.sessions[at].client = Some(self.router.connect());
                    self.sessions[at].protocol = CodexProtocol::default();
                    self.sessions[at].protocol.open(&opening, &mut said);
                }
                Effect::Order(order) => self.sessions[at].protocol.order(&order, &mut said),
                Effect::Terminate | Effect::Kill => {
                    if let Some(client) = self.sessions[at].client.take() {
                        let mut routed = Routed::default();
                        self.router.disconnect(client, &mut routed);
                        self.take(routed);
                    }
                    let description = "it was told to".to_owned();
                    self.input(at, Input::Exited { exit_code: Some(0), description });
                }
                Effect::StoreRule { .. } | Effect::Attach | Effect::Disconnect => {}
                Effect::Delegate(_) | Effect::TellChild { .. } | Effect::StopChildren(_) => {}
                Effect::Reply { to, .. } => {
                    assert!(self.sessions[at].waiting.remove(&to), "replied twice, or to nobody");
                }
            }
            self.pass_on(at, said);
        }
    }

    fn pass_on(&mut self, at: usize, said: runtime::Output) {
        if let Some(client) = self.sessions[at].client {
            let mut routed = Routed::default();
            for line in said.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                self.router.from_client(client, line, &mut routed);
            }
            self.take(routed);
        }
        let mut out = Output::default();
        for report in said.reports {
            self.sessions[at].machine.handle(Input::Report(report), self.now, &mut out);
        }
        if !out.facts.is_empty() || !out.effects.is_empty() {
            self.carry_out(at, out);
        }
    }

    fn take(&mut self, routed: Routed) {
        let lines = routed.to_server.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let lines = lines.map(|line| Moving::ToServer(serde_json::from_slice(line).unwrap()));
        self.moving.extend(lines);
        self.moving.extend(routed.to_clients.into_iter().map(|(client, line)| Moving::ToClient(client, line)));
        self.moving.extend(routed.left.into_iter().map(Moving::Left));
    }

    /// Moves what is on its way until nothing is.
    fn pump(&mut self) {
        while let Some(moving) = self.moving.pop_front() {
            match moving {
                Moving::ToServer(line) => {
                    let lines = self.server.hears(&line, &mut self.dice);
                    self.moving.extend(lines.into_iter().map(Moving::FromServer));
                }
                Moving::FromServer(line) => {
                    let mut routed = Routed::default();
                    self.router.from_server(Line::Text(line.to_string().as_bytes()), &mut routed);
                    self.take(routed);
                }
                Moving::ToClient(client, line) => {
                    if let Some(at) = self.sessions.iter().position(|session| session.client == Some(client)) {
                        let mut said = runtime::Output::default();
                        self.sessions[at].protocol.line(Line::Text(line.trim_ascii_end()), &mut said);
                        self.pass_on(at, said);
                    }
                }
                Moving::Left(client) => {
                    if let Some(at) = self.sessions.iter().position(|session| session.client == Some(client)) {
                        self.sessions[at].client = None;
                        let description = "its pipe ended".to_owned();
                        self.input(at, Input::Exited { exit_code: Some(1), description });
                    }
                }
            }
        }
    }

    /// What the hub does after a pause, also when nobody is there any more.
    fn retry_refused(&mut self) {
        let mut routed = Routed::default();
        self.router.retry_refused(&mut routed);
        self.take(routed);
    }

    fn server_dies(&mut self) {
        let mut routed = Routed::default();
        self.router.server_closed("it crashed", &mut routed);
        self.server.die();
        // What was on its way to the old one never arrives.
        self.take(Routed { to_server: Vec::new(), ..routed });
    }

    // ---- the end ----

    /// The server does all it owes, and people answer; no deadline passes.
    fn come_to_rest(&mut self) {
        for _ in 0..300 {
            self.retry_refused();
            while let Some(late) = self.server.late(&mut self.dice) {
                self.moving.push_back(Moving::FromServer(late));
            }
            self.pump();
            for at in 0..self.sessions.len() {
                if let Some(command) = self.answer(at) {
                    self.sessions[at].replies += 1;
                    let reply_to = self.sessions[at].replies;
                    self.sessions[at].waiting.insert(reply_to);
                    self.input(
                        at,
                        Input::Command { command: ClientCommand { by: "somebody".into(), command }, reply_to },
                    );
                }
            }
            self.pump();
            let lines = self.server.finishes();
            self.moving.extend(lines.into_iter().map(Moving::FromServer));
            self.pump();
        }
    }

    /// Where every call was answered in the end, no turn waits for anything.
    fn waits_for_nothing(&self) -> Vec<String> {
        if self.server.dropped {
            return Vec::new();
        }
        let mut broken = Vec::new();
        for session in &self.sessions {
            let count = |wanted: fn(&Event) -> bool| session.log.iter().filter(|fact| wanted(&fact.event)).count();
            let (begun, done) =
                (count(|event| matches!(event, Event::TurnStarted(_))), count(|event| matches!(event, Event::Done(_))));
            if begun != done {
                broken.push(format!("{} waits in a turn: {:?}", session.machine.session_id(), session.protocol));
            }
            if !session.waiting.is_empty() {
                broken.push(format!("somebody waits for {}: {:?}", session.machine.session_id(), session.waiting));
            }
        }
        broken
    }

    fn end(&mut self) {
        for at in 0..self.sessions.len() {
            self.input(at, Input::Shutdown);
        }
        for _ in 0..100 {
            self.retry_refused();
            self.pump();
            while let Some(late) = self.server.late(&mut self.dice) {
                self.moving.push_back(Moving::FromServer(late));
            }
            self.pump();
            for at in 0..self.sessions.len() {
                if let Some(deadline) = self.sessions[at].machine.next_deadline() {
                    self.now = self.now.max(deadline);
                }
                self.input(at, Input::Tick);
            }
        }
    }

    fn verify(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for session in &self.sessions {
            let id = session.machine.session_id();
            let violations = laws::check(&session.log, Ending::AtRest);
            broken.extend(violations.iter().map(|violation| format!("{id}: {violation}")));
            if !session.machine.can_unload() {
                broken.push(format!("{id} never came to rest: {:?}", session.machine));
            }
            if !session.waiting.is_empty() {
                broken.push(format!("{id}: somebody never got a reply: {:?}", session.waiting));
            }
            broken.extend(self.texts(session).into_iter().map(|text| format!("{id}: {text}")));
        }
        if !self.router.is_empty() {
            broken.push("somebody is still there".to_owned());
        }
        if !self.server.dropped && (!self.router.is_settled() || self.server.runs()) {
            broken.push(format!("everybody has left, and something runs: {:?}\n{:?}", self.server, self.router));
        }
        broken
    }

    /// What was said to the end was said once and by this session's agent, in the words of the server.
    fn texts(&self, session: &Session) -> Vec<String> {
        let mut threads = BTreeSet::new();
        let mut blocks: BTreeMap<BlockId, String> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut broken = Vec::new();
        for fact in &session.log {
            match &fact.event {
                Event::SessionReady(ready) => threads.extend(ready.provider_session_id.clone()),
                Event::Retracted(retracted) => drop(blocks.remove(&retracted.block_id)),
                Event::Delta(delta) => {
                    let text = blocks.entry(delta.block_id.clone()).or_default();
                    text.push_str(&delta.text);
                    if !delta.done || delta.interrupted {
                        continue;
                    }
                    let text = blocks.remove(&delta.block_id).unwrap_or_default();
                    match self.server.said.get(&text) {
                        Some(root) if !threads.contains(root) => broken.push(format!("{text:?} is another's")),
                        Some(_) if !seen.insert(text.clone()) => broken.push(format!("{text:?} was said twice")),
                        Some(_) => {}
                        None => broken.push(format!("nobody has said {text:?}")),
                    }
                }
                _ => {}
            }
        }
        broken
    }
}
