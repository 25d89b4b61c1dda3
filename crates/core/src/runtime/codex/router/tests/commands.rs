//! Commands that are ended by force, and the directories that they leave.

use serde_json::json;

use super::World;
use crate::runtime::codex::Routed;

#[test]
fn a_directory_is_deserted_when_the_last_one_at_work_there_is_ended() {
    let mut world = World::new();
    let (one, other) = (world.client(), world.client());
    for client in [one, other] {
        world.says(client, &json!({ "method": "thread/start", "id": 2, "params": { "cwd": "/w" } }));
    }
    world.server_says(&json!({ "method": "turn/started", "params": { "threadId": "t2", "turn": { "id": "u" } } }));
    let end = json!({ "method": "thread/backgroundTerminals/terminate", "id": 3, "params": { "threadId": "t1" } });
    world.says(one, &end);
    assert_eq!(world.idle_dirs, [""; 0], "the other one is at work");
    world.server_says(&json!({ "method": "turn/completed", "params": { "threadId": "t2", "turn": { "id": "u" } } }));
    world.says(one, &end);
    assert_eq!(world.idle_dirs, ["/w"]);
    assert!(world.router.has_thread_in("/w") && world.router.is_settled());
    let mut out = Routed::default();
    world.router.disconnect(one, &mut out);
    world.router.disconnect(other, &mut out);
    assert!(!world.router.is_settled(), "what they had running is being ended");
    world.settle(out);
    assert!(world.router.is_settled() && !world.router.has_thread_in("/w"));
    assert_eq!(world.idle_dirs, ["/w", "/w", "/w"]);
}

#[test]
fn a_directory_in_which_a_turn_left_commands_running_is_not_deserted() {
    let mut world = World::new();
    let client = world.client();
    world.says(client, &json!({ "method": "thread/start", "id": 2, "params": { "cwd": "/w" } }));
    let list = json!({ "method": "thread/backgroundTerminals/list", "id": 3, "params": { "threadId": "t1" } });
    for (status, idle_dirs) in [("completed", 0), ("interrupted", 1), ("failed", 1)] {
        let turn = json!({ "id": "u", "status": status });
        world.server_says(&json!({ "method": "turn/completed", "params": { "threadId": "t1", "turn": turn } }));
        world.says(client, &list);
        assert_eq!(world.idle_dirs.len(), idle_dirs, "{status}");
    }
}

#[test]
fn a_directory_in_which_another_command_runs_is_not_deserted() {
    let mut world = World::new();
    let client = world.client();
    world.says(client, &json!({ "method": "thread/start", "id": 2, "params": { "cwd": "/w" } }));
    let says = |method: &str, params: serde_json::Value| json!({ "method": method, "id": 3, "params": params });
    let list = says("thread/backgroundTerminals/list", json!({ "threadId": "t1" }));
    let next = says("thread/backgroundTerminals/list", json!({ "threadId": "t1", "cursor": "more" }));
    let end = says("thread/backgroundTerminals/terminate", json!({ "threadId": "t1", "processId": "7" }));
    world.server.commands = 1;
    world.says(client, &list);
    world.says(client, &next);
    world.says(client, &end);
    assert_eq!(world.idle_dirs, [""; 0], "the other one needs what its sandbox has put there");
    world.says(client, &end);
    assert_eq!(world.idle_dirs, ["/w"]);
    // Nor is it when an interrupted turn has left one that an earlier turn began.
    let turn = json!({ "id": "u", "status": "interrupted" });
    world.server_says(&json!({ "method": "turn/completed", "params": { "threadId": "t1", "turn": turn } }));
    world.says(client, &list);
    assert_eq!(world.idle_dirs.len(), 1);
}
