//! Claude Code, the real program.

mod asks;
mod background;
mod client_tools;
mod failures;
mod history;
mod outputs;
mod parameters;
mod policy;
mod stopping;
mod talking;

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::place::Place;

/// A whole MCP server: a picture, a large text, a call that takes a while and says how far it is, and a secret it was started with.
const LOOM_SERVER: &str = r#"#!/bin/sh
PIXEL='{"type":"image","mimeType":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}'
say() { printf '%s\n' "$1"; }
text() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"$2\"}]}}"; }
tool() { printf '{"name":"%s","description":"%s","inputSchema":{"type":"object","properties":{}},"_meta":{"anthropic/alwaysLoad":true}}' "$1" "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"method":"initialize"'*)
        say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"loom\",\"version\":\"1.0.0\"}}}" ;;
    *'"method":"tools/list"'*)
        say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[$(tool picture),$(tool large),$(tool slow),$(tool secret)]}}" ;;
    *'"name":"picture"'*)
        say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"one pixel\"},$PIXEL]}}" ;;
    *'"name":"large"'*) text "$id" "$(seq 1 40000 | sed 's/$/ threads/' | tr '\n' ' ')" ;;
    *'"name":"secret"'*) text "$id" "$LOOM_SECRET" ;;
    *'"name":"slow"'*)
        token=$(printf '%s' "$line" | sed -n 's/.*"progressToken":\([0-9]*\).*/\1/p')
        call=$id
        ( while [ ! -e "$LOOM_GATE" ]; do
            say "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$token,\"progress\":2,\"total\":5,\"message\":\"second row\"}}"
            sleep 0.2
        done
        say "{\"jsonrpc\":\"2.0\",\"id\":$call,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"five rows woven\"},$PIXEL]}}" ) & ;;
    *'"id":'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}" ;;
    esac
done
"#;

/// The server's description for `mcp_servers`. Its slow call ends when the file `gate` is there.
fn loom_server(place: &Place) -> serde_json::Value {
    let program = place.home.path().join("loom-server");
    std::fs::write(&program, LOOM_SERVER).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let gate = place.home.path().join("gate");
    json!({ "loom": { "command": program, "env": { "LOOM_SECRET": SECRET, "LOOM_GATE": gate } } })
}

const SECRET: &str = "warp-and-weft-4711";

/// A place with one session in it.
fn session(script: &str) -> (Place, String) {
    let mut place = Place::claude(script);
    let id = place.session("claude", json!({}));
    (place, id)
}
