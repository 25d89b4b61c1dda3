//! Which reply answers which request.

use super::{ScriptPlayer, nothing};
use crate::plan::{Act, Plan, plan};
use crate::request::{Api, Delivery, InputForm, Kind, ModelRequest, Offered};
use crate::script::Script;

fn asked() -> ModelRequest {
    ModelRequest {
        api: Api::Anthropic,
        kind: Kind::Turn,
        model: "claude-opus".to_owned(),
        delivery: Delivery::Stream,
        user: Some("Say hello".to_owned()),
        heard: Vec::new(),
        tool_result: None,
        after: Vec::new(),
        system: "You are an agent".to_owned(),
        effort: None,
        schema: None,
        tools: vec![Offered { name: "Bash".to_owned(), namespace: None, input: InputForm::Object }],
        directory: None,
    }
}

fn chosen(playing: &mut ScriptPlayer, asked: &ModelRequest) -> Option<String> {
    playing.choose(asked).map(|reply| reply.name.clone())
}

fn play(text: &str) -> ScriptPlayer {
    ScriptPlayer::new(Script::parse(text).expect("parses"))
}

#[test]
fn every_condition_must_hold() {
    let with_result =
        ModelRequest { user: None, tool_result: Some("Exit code 0".to_owned()), after: vec![7, 1], ..asked() };
    for (when, asked, answers) in [
        ("", asked(), true),
        ("user = 'HELLO'", asked(), true),
        ("user = ''", asked(), true),
        ("user = 'bye'", asked(), false),
        ("user = ''", with_result.clone(), false),
        ("tool_result = ''", asked(), false),
        ("tool_result = 'code 0'", with_result.clone(), true),
        ("after = 'reply 1'", with_result, true),
        ("after = 'reply 1'", asked(), false),
        ("user = 'hello', system = 'nobody'", asked(), false),
        ("user = 'hello', system = 'agent'", asked(), true),
        ("tool = 'Bash'", asked(), true),
        ("tool = 'bash'", asked(), false),
        ("model = 'opus'", asked(), true),
        ("model = 'haiku'", asked(), false),
        ("api = 'anthropic'", asked(), true),
        ("api = 'openai'", asked(), false),
        ("", ModelRequest { kind: Kind::Compact, ..asked() }, false),
        ("kind = 'compact'", ModelRequest { kind: Kind::Compact, ..asked() }, true),
        ("kind = 'side'", asked(), false),
    ] {
        let mut playing = play(&format!("[[reply]]\nwhen = {{ {when} }}\nstep = [{{ text = 'x' }}]"));
        assert_eq!(chosen(&mut playing, &asked).is_some(), answers, "{when}: {asked:?}");
    }
}

#[test]
fn the_first_that_still_may_answers() {
    let mut playing = play(
        "[[reply]]\nname = 'one'\nstep = [{ text = 'x' }]\n[[reply]]\nname = 'two'\ntimes = 2\nstep = [{ text = 'x' }]\n\
         [[reply]]\nname = 'rest'\nalways = true\nstep = [{ text = 'x' }]",
    );
    let names: Vec<_> = (0..5).filter_map(|_| chosen(&mut playing, &asked())).collect();
    assert_eq!(names, ["one", "two", "two", "rest", "rest"]);
}

#[test]
fn a_request_that_does_not_match_uses_nothing_up() {
    let mut playing = play("[[reply]]\nwhen = { user = 'hello' }\nstep = [{ text = 'x' }]");
    let side = ModelRequest { kind: Kind::Side, ..asked() };
    assert_eq!(chosen(&mut playing, &side), None);
    assert!(chosen(&mut playing, &asked()).is_some());
    assert_eq!(chosen(&mut playing, &asked()), None);
}

#[test]
fn nothing_is_said_in_a_fixed_sentence() {
    let Plan::Speak(speech) = plan(&nothing(Kind::Turn), &asked()) else { panic!("refused") };
    let text: String = speech
        .acts
        .iter()
        .filter_map(|act| if let Act::Piece(piece) = act { Some(piece.as_str()) } else { None })
        .collect();
    assert_eq!(text, "The script has nothing for this message.");
}

#[test]
fn a_reply_repeats_what_it_heard() {
    let mut playing = play("[[reply]]\nstep = [{ text = 'You said {{user}}, I heard {{tool_result}}.', pieces = 1 }]");
    let asked = ModelRequest { tool_result: Some(" ok\n".to_owned()), ..asked() };
    let Plan::Speak(speech) = plan(playing.choose(&asked).expect("a reply"), &asked) else { panic!("refused") };
    assert!(speech.acts.contains(&Act::Piece("You said Say hello, I heard ok.".to_owned())), "{speech:?}");
}
