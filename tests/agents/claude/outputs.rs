//! What tools bring besides a few words: pictures, and more than the agent itself keeps in a message.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::loom_server;
use crate::place::Place;

pub(super) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn call(step: &str) -> String {
    format!(
        "[[reply]]\nname = \"call\"\nwhen = {{ user = \"use it\" }}\nstep = [{step}]\n\
         [[reply]]\nwhen = {{ after = \"call\" }}\nstep = [{{ text = \"I saw it.\" }}]"
    )
}

/// The picture of a result, as a browser gets it.
pub(super) fn picture(place: &Place, result: &Value) -> Vec<u8> {
    let images = result["images"].as_array().unwrap_or_else(|| panic!("no pictures: {result}"));
    assert_eq!((images.len(), &images[0]["media_type"]), (1, &json!("image/png")), "{result}");
    assert!(images[0]["data"].is_null(), "its bytes are not in the log");
    let path = format!("/api/blobs/{}", images[0]["blob"]["id"].as_str().unwrap());
    place.client().get(&path).bytes
}

#[test]
fn a_picture_that_the_agent_reads_is_kept_and_can_be_drawn() {
    let mut place = Place::claude(&call("{ read = \"pixel.png\" }"));
    std::fs::write(place.dir().join("pixel.png"), BASE64_STANDARD.decode(PIXEL).unwrap()).unwrap();
    let id = place.session("claude", json!({}));
    let turn = place.turn(&id, "use it").completed();
    let result = turn.only("tool_result");
    assert_eq!(picture(&place, result), BASE64_STANDARD.decode(PIXEL).unwrap());
    assert_eq!(result["output"], "[image]");
    let view = place.client().get(&format!("/api/sessions/{id}/view")).body;
    assert!(view.contains("\"images\":[{"), "the view has it: {view}");
    place.end();
}

#[test]
fn a_picture_of_an_mcp_server_is_kept() {
    let mut place = Place::claude(&call("{ tool = { name = \"mcp__loom__picture\", input = {} } }"));
    let id = place.session("claude", json!({ "mcp_servers": loom_server(&place), "allowed_tools": ["mcp__loom"] }));
    let turn = place.turn(&id, "use it").completed();
    let result = turn.only("tool_result");
    assert_eq!(picture(&place, result), BASE64_STANDARD.decode(PIXEL).unwrap());
    assert_eq!(result["output"], "one pixel\n[image]", "and nothing of where the agent put it");
    place.end();
}

#[test]
fn output_that_the_agent_cut_is_read_from_where_it_keeps_it() {
    let mut place = Place::claude(&call("{ run = \"seq 1 900000\" }"));
    let id = place.session("claude", json!({ "allowed_tools": ["Bash"] }));
    let turn = place.turn(&id, "use it").completed();
    let blob = turn.only("tool_result")["blob"]["id"].as_str().expect("a blob").to_owned();
    let whole = place.client().get(&format!("/api/blobs/{blob}")).body;
    assert!(whole.starts_with("1\n2\n") && whole.trim_end().ends_with("\n900000"), "{} bytes", whole.len());
    place.end();
}

#[test]
fn so_is_what_an_mcp_server_said_at_length() {
    let mut place = Place::claude(&call("{ tool = { name = \"mcp__loom__large\", input = {} } }"));
    let id = place.session("claude", json!({ "mcp_servers": loom_server(&place), "allowed_tools": ["mcp__loom"] }));
    let turn = place.turn(&id, "use it").completed();
    let blob = turn.only("tool_result")["blob"]["id"].as_str().expect("a blob").to_owned();
    let whole = place.client().get(&format!("/api/blobs/{blob}")).body;
    assert!(whole.starts_with("1 threads") && whole.contains("40000 threads"), "{} bytes", whole.len());
    place.end();
}
