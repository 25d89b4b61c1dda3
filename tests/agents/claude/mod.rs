//! Claude Code, the real program.

mod asks;
mod client_tools;
mod failures;
mod history;
mod stopping;
mod talking;

use serde_json::json;

use crate::place::Place;

/// A place with one session in it.
fn session(script: &str) -> (Place, String) {
    let mut place = Place::claude(script);
    let id = place.session("claude", json!({}));
    (place, id)
}
