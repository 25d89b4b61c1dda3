//! What a script may say, and what is said to whom it may not.

use proptest::prelude::*;

use super::{Script, Step, TextKind, Tool};
use crate::DEMO;

fn step(text: &str) -> String {
    format!("[[reply]]\nstep = [\n  {text},\n]\n")
}

#[test]
fn the_demo_is_a_script() {
    let script = Script::parse(DEMO).expect("the demo parses");
    assert!(script.replies.iter().all(|reply| reply.uses.is_none()), "a demo does not run out");
}

#[test]
fn what_is_not_said_has_a_default() {
    let script = Script::parse("[[reply]]\n[[reply.step]]\ntext = \"hi\"\n").expect("parses");
    let reply = &script.replies[0];
    assert_eq!((reply.name.as_str(), reply.number, reply.uses), ("reply 1", 1, Some(1)));
    assert!(matches!(&reply.steps[..], [Step::Say { voice: TextKind::Text, text, .. }] if text == "hi"));
    assert_eq!(Script::parse("").expect("an empty script is one").replies, []);
}

#[test]
fn a_call_may_differ_by_api() {
    let script = Script::parse(&step(
        r#"{ tool = { anthropic = { name = "Glob", input = { pattern = "*" } }, openai = { name = "exec", input = "1" } } }"#,
    ));
    let script = script.expect("parses");
    let [Step::Call { tool: Tool::Named { anthropic: Some(one), openai: Some(other) }, .. }] =
        &script.replies[0].steps[..]
    else {
        panic!("{:?}", script.replies)
    };
    assert_eq!((one.name.as_str(), other.name.as_str()), ("Glob", "exec"));
    assert_eq!((one.input["pattern"].as_str(), other.input.as_str()), (Some("*"), Some("1")));
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, code, line, part) in [
        ("[[reply]", "bad_toml", 1, ""),
        ("\n\nreplies = 1", "bad_toml", 3, "unknown field"),
        ("[[reply]]\nstep = [{ txt = \"a\" }]", "bad_toml", 2, "unknown field"),
        ("[[reply]]\nstep = [{ text = 5 }]", "bad_toml", 2, "string"),
        ("[[reply]]\nwhen = { api = \"other\" }\nstep = [{ text = \"a\" }]", "bad_toml", 2, "anthropic"),
        ("\n[[reply]]\nname = \"x\"", "bad_reply", 2, "at least one step"),
        (
            "[[reply]]\nname = \"x\"\nstep = [{ cut = true }]\n[[reply]]\nname = \"x\"\nstep = [{ cut = true }]",
            "bad_reply",
            4,
            "another",
        ),
        ("[[reply]]\nwhen = { after = \"y\" }\nstep = [{ cut = true }]", "bad_reply", 2, "no reply is named"),
        ("[[reply]]\ntimes = 0\nstep = [{ cut = true }]", "bad_uses", 1, "times"),
        ("[[reply]]\ntimes = 2\nalways = true\nstep = [{ cut = true }]", "bad_uses", 1, "say one of"),
        (&step("{ }"), "bad_step", 3, "one thing"),
        (&step("{ text = \"a\", run = \"b\" }"), "bad_step", 3, "several steps"),
        (&step("{ cut = false }"), "bad_step", 3, "leave"),
        (&step("{ wait_ms = 1, pieces = 2 }"), "bad_step", 3, "pieces"),
        (&step("{ cut = true }, { text = \"a\" }"), "bad_order", 3, "nothing can follow"),
        (&step("{ text = \"a\" },\n { error = { status = 500 } }"), "bad_order", 4, "whole answer"),
        (&step("{ error = { status = 200 } }"), "bad_value", 3, "400 to 599"),
        (&step("{ words = 0 }"), "bad_value", 3, "words"),
        (&step("{ words = 1000000 }"), "bad_value", 3, "words"),
        (&step("{ wait_ms = 999999999 }"), "bad_value", 3, "wait_ms"),
        (&step("{ wait_for = \"a b\" }"), "bad_value", 3, "letters"),
        (&step("{ ask = { question = \"?\", options = [\"one\"] } }"), "bad_value", 3, "options"),
        (&step("{ tool = { } }"), "bad_value", 3, "which tool"),
        (&step("{ tool = { name = \"a\", openai = { name = \"b\" } } }"), "bad_value", 3, "or `anthropic`"),
        (&step("{ tool = { name = \"a\", input = 4 } }"), "bad_value", 3, "table"),
    ] {
        let error = Script::parse(text).expect_err(text);
        assert_eq!((error.code, error.line), (code, line), "{text}\n{error}");
        assert!(error.message.contains(part), "{error}");
    }
}

#[test]
fn an_error_reads_like_a_compilers() {
    let error = Script::parse(&step("{ words = 0 }")).expect_err("too few");
    assert_eq!(error.to_string(), "line 3, column 3: `words` is from 1 to 100000");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_is_too_strange(text in "\\PC*") {
        let _ = Script::parse(&text).is_ok();
    }

    /// Closer to a script: the demo with a stretch taken out and another put in.
    #[test]
    fn no_accident_is_too_strange(from in 0..DEMO.len(), length in 0_usize..80, put in "[\\[\\]{}=\"'\\n a-z0-9,]{0,12}") {
        let mut bytes = DEMO.as_bytes().to_vec();
        let to = (from + length).min(bytes.len());
        bytes.splice(from..to, put.bytes());
        let _ = Script::parse(&String::from_utf8_lossy(&bytes)).is_ok();
    }
}

#[test]
fn a_script_may_be_as_deep_as_it_likes_and_hurts_nobody() {
    let name = |parts: usize| vec!["a"; parts].join(".");
    let deep = (0..70).fold("1".to_owned(), |text, _| format!("{{ {} = {text} }}", name(79)));
    let input = step(&format!("{{ tool = {{ name = \"x\", input = {deep} }} }}"));
    for text in [input, format!("a = {deep}"), format!("[[reply]]\nstep = [{deep}]"), format!("{} = 1", name(200_000))]
    {
        assert!(Script::parse(&text).is_err());
    }
}
