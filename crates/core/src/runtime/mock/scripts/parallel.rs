//! Calls that run at the same time.

use serde_json::json;

use super::super::agent::Step;
use super::steps::{progress, result, start};
use super::words_in;

pub(super) fn parallel(t: &str) -> Vec<Step> {
    let (one, two, three) = (format!("{t}-one"), format!("{t}-two"), format!("{t}-three"));
    let mut steps = vec![
        start(&one, "Grep", json!({ "pattern": "knot" }), |start| start.pattern = Some("knot".to_owned())),
        start(&two, "Bash", json!({ "command": "cargo test" }), |start| start.command = Some("cargo test".to_owned())),
        start(&three, "Read", json!({ "file_path": "loom.toml" }), |start| {
            start.file_path = Some("loom.toml".to_owned());
        }),
        Step::Sleep { ms: 30 },
        progress(&two, "test 1 of 2\n", 0.5),
        result(&three, "warp = 120\n", |_| {}),
        Step::Sleep { ms: 30 },
        result(&one, "src/loom.rs:3\n", |_| {}),
        result(&two, "2 passed\n", |result| result.exit_code = Some(0)),
    ];
    steps.extend(words_in(t, "parallel", "All three have ended."));
    steps
}
