//! What docs/scripted-model.md says of pointing an agent at the model, word for word.

use serde_json::{Map, Value, json};

use super::{CODEX, ECHO};
use crate::place::Place;

const GUIDE: &str = include_str!("../../../docs/scripted-model.md");

/// The block that begins so, for a model at this address.
fn block(beginning: &str, url: &str) -> String {
    let from = GUIDE.find(beginning).expect("the guide has the block");
    let rest = &GUIDE[from..];
    let end = rest.find("```").expect("blocks end");
    rest[..end].replace("http://127.0.0.1:8080", url)
}

#[test]
fn claude_code_with_the_variables_of_the_guide() {
    let mut place = Place::claude_with(ECHO, "", &[("ANTHROPIC_BASE_URL", ""), ("ANTHROPIC_API_KEY", "")]);
    let shown = block("$ export ANTHROPIC_BASE_URL", &place.model.server().url());
    let pairs = shown.split_whitespace().filter_map(|word| word.split_once('='));
    let env: Map<String, Value> = pairs.map(|(name, value)| (name.to_owned(), value.into())).collect();
    assert!(env.len() > 2, "{env:?}");
    let id = place.session("claude", json!({ "env": env }));
    assert_eq!(place.turn(&id, "hello").completed().text(), "You said: hello");
    place.end();
}

#[test]
fn codex_with_the_settings_of_the_guide() {
    let mut place = Place::codex(ECHO);
    place.configure_codex(&block("model = \"gpt-5.5\"", &place.model.server().url()));
    let id = place.session("codex", (CODEX.free)());
    assert_eq!(place.turn(&id, "hello").completed().text(), "You said: hello");
    place.end();
}
