use serde_json::json;

use super::{IMPORTED, TOOL};
use crate::command::{AfterAnswer, Answer, Callback, ClientCommand, Command, Files, Message, Refusal, Reply, When};
use crate::event::{
    AfterStop, Envelope, Event, Origin, Outcome, Part, PermissionReply, PermissionRequest, PermissionResolved,
};
use crate::id::{AskId, IdSource, Seq, SessionId};
use crate::laws::{self, Ending};
use crate::session::{Effect, Input, Limits, Machine, Output, Setup, State};
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A session whose first events came from a file.
struct Imported {
    machine: Machine,
    log: Vec<Envelope>,
}

impl Imported {
    /// With these facts of the file's own.
    fn with(facts: Vec<Event>) -> Self {
        let (session_id, ts) = (SessionId::trusted("s"), NOW);
        let ready = crate::event::SessionReady { mode: Some("bypassPermissions".into()), ..Default::default() };
        let facts = std::iter::once(Event::from(ready)).chain(facts);
        let envelope = |(seq, event)| {
            let session_id = session_id.clone();
            Envelope { seq: Seq(seq), ts, session_id, turn_id: None, subagent_id: None, event }
        };
        let log: Vec<Envelope> = (1..).zip(facts).map(envelope).collect();
        let mut state = State::default();
        for envelope in &log {
            state.apply(envelope);
        }
        let setup = Setup {
            session_id,
            runtime: "fake".into(),
            params: json!({ IMPORTED: log.len() }),
            capabilities: crate::runtime::claude::CAPABILITIES,
            limits: Limits::default(),
            ids: IdSource::seeded(1),
            components: std::sync::Arc::default(),
            budgets: std::sync::Arc::default(),
            delegation: crate::delegation::Rules::default(),
        };
        Self { machine: Machine::new(setup, state), log }
    }

    fn command(&mut self, command: Command) -> Vec<Effect> {
        let mut out = Output::default();
        let command = ClientCommand { by: "ann".into(), command };
        self.machine.handle(Input::Command { command, reply_to: 1 }, NOW, &mut out);
        self.log.extend(out.facts);
        assert_eq!(laws::check(&self.log, Ending::Live), []);
        out.effects
    }

    fn say(&mut self) -> Vec<Effect> {
        let content = vec![Part::Text { text: "go on".to_owned() }];
        self.command(Command::Send {
            message: Message { id: None, content, origin: Origin::User, source: None },
            when: When::Queue,
        })
    }

    fn asked(&self) -> PermissionRequest {
        let mut asks = self.log.iter().filter_map(|fact| match &fact.event {
            Event::PermissionRequest(request) if request.tool_name == TOOL => Some(request.clone()),
            _ => None,
        });
        asks.next_back().expect("it asks")
    }

    fn answer(&mut self, reply: PermissionReply) -> Vec<Effect> {
        let ask_id = self.asked().ask_id;
        let (updated_input, message, rule, and_then) = (None, None, None, AfterAnswer::GoOn);
        self.command(Command::Answer {
            ask_id,
            answer: Answer::Permission { reply, updated_input, message, rule, and_then },
        })
    }
}

fn starts(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Start(_)))
}

#[test]
fn an_imported_session_asks_before_its_agent_runs() {
    let mut session = Imported::with(Vec::new());
    assert!(!starts(&session.say()));
    assert_eq!(session.asked().tool_input["mode"], "bypassPermissions", "with all of it on the table");
    assert!(!starts(&session.say()), "what comes meanwhile waits");
    assert!(starts(&session.answer(PermissionReply::Once)));
    assert!(!session.machine.needs_consent(), "it asks once");
}

#[test]
fn who_says_no_is_heard() {
    let mut session = Imported::with(Vec::new());
    session.say();
    session.say();
    assert!(!starts(&session.answer(PermissionReply::Reject)));
    let done =
        session.log.iter().filter_map(|fact| if let Event::Done(done) = &fact.event { Some(done) } else { None });
    assert_eq!(done.map(|done| done.outcome).collect::<Vec<_>>(), [Outcome::Stopped]);
    assert_eq!(session.machine.state().queue_items().len(), 1, "what was accepted is not lost");
    let asked = session.asked().ask_id;
    session.say();
    assert_ne!(session.asked().ask_id, asked, "the next message asks again");
}

#[test]
fn an_answer_in_the_file_is_nobodys() {
    let (ask_id, tool_name) = (AskId::trusted("a"), TOOL.to_owned());
    let request = PermissionRequest { ask_id: ask_id.clone(), tool_name: tool_name.clone(), ..Default::default() };
    let forged = PermissionResolved { ask_id, tool_name, allowed: true, by: "ann".into(), ..Default::default() };
    let mut session = Imported::with(vec![request.into(), forged.into()]);
    assert!(!starts(&session.say()));
    assert!(starts(&session.answer(PermissionReply::Once)));
}

#[test]
fn one_that_had_ended_takes_messages_again_and_asks_then() {
    let mut session = Imported::with(vec![crate::event::SessionEnded::default().into()]);
    let effects = session.command(Command::Resume { provider_session_id: Some("another".into()) });
    assert!(matches!(effects.as_slice(), [Effect::Reply { outcome: Err(Refusal::NotAgreed), .. }]), "{effects:?}");
    let effects = session.command(Command::Resume { provider_session_id: None });
    assert!(matches!(effects.as_slice(), [Effect::Reply { outcome: Ok(Reply::Done), .. }]), "{effects:?}");
    assert!(!starts(&session.say()));
    assert!(starts(&session.answer(PermissionReply::Once)));
}

#[test]
fn nothing_else_starts_it() {
    let mut session = Imported::with(Vec::new());
    let effects = session.command(Command::Resume { provider_session_id: None });
    assert!(matches!(effects.as_slice(), [Effect::Reply { outcome: Err(Refusal::NotAgreed), .. }]), "{effects:?}");
    // Its agent may show components, or not: it is not asked before somebody has agreed.
    let callback = Callback { component_id: "c".into(), action: "press".into(), payload: json!({}), callback_id: None };
    for command in [Command::Rollback { turns: 1, files: Files::Keep }, Command::CallBack(callback)] {
        let effects = session.command(command);
        assert!(matches!(effects.as_slice(), [Effect::Reply { outcome: Err(Refusal::NotAgreed), .. }]), "{effects:?}");
    }
    assert!(!starts(&session.command(Command::Compact)), "this is a turn, and waits like one");
    assert!(!starts(&session.answer(PermissionReply::Reject)));
    session.say();
    assert!(!starts(&session.command(Command::Stop { turn_id: None, then: AfterStop::Continue })));
    assert!(session.machine.state().at_rest());
}
