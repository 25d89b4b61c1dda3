use super::logs;
use crate::dialect::text::{PlainText, Scope};
use crate::dialect::{Frames, Projection as _};
use crate::event::{Envelope, PermissionReply};
use crate::id::Seq;

fn read(dialect: &mut PlainText, log: &[Envelope]) -> String {
    let mut frames = Frames::default();
    for envelope in log {
        dialect.apply(envelope, &mut frames);
    }
    frames.iter().map(|frame| String::from_utf8_lossy(frame.body).into_owned()).collect()
}

#[test]
fn the_text_of_an_answer_is_told_and_nothing_else() {
    for (script, text) in [
        ("echo one two", "one two\n"),
        ("tool", "Three tools worked and one did not.\n"),
        ("permission", "Done, with your permission.\n"),
        ("error", "This will not end well.\nerror: The model refused the request (401).\n"),
        ("subagent", ""),
    ] {
        let log = logs::played(&["echo before", script], PermissionReply::Once);
        let mut dialect = PlainText::new(Scope::Answer(logs::said(&log).pop().unwrap()));
        assert_eq!(read(&mut dialect, &log), text, "{script}");
        assert!(dialect.is_done());
    }
}

#[test]
fn from_any_position_comes_the_rest() {
    let played = logs::played(&["echo first", "demo", "echo last"], PermissionReply::Once);
    for (name, log) in logs::recorded().into_iter().chain([("played".to_owned(), played)]) {
        let whole = read(&mut PlainText::new(Scope::After(Seq::ZERO)), &log);
        for cut in 0..=log.len() {
            let seq = Seq(cut as u64);
            let before = read(&mut PlainText::new(Scope::After(Seq::ZERO)), &log[..cut]);
            let after = read(&mut PlainText::new(Scope::After(seq)), &log);
            assert_eq!(before + &after, whole, "{name} from {cut}");
        }
    }
}

#[test]
fn an_answer_is_the_same_whenever_a_client_comes_for_it() {
    for (name, log) in logs::recorded() {
        for message in logs::said(&log) {
            let answer = |head: usize| {
                let mut dialect = PlainText::new(Scope::Answer(message.clone()));
                let before = read(&mut dialect, &log[..head]);
                dialect.caught_up(&mut Frames::default());
                let after = read(&mut dialect, &log[head..]);
                (before + &after, dialect.is_done())
            };
            let live = answer(0);
            (1..=log.len()).for_each(|head| assert_eq!(answer(head), live, "{name} {message} from {head}"));
        }
    }
}
