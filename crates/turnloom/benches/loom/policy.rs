//! How long it takes to judge a call, and to judge all recorded ones again.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::policy::{BackTest, Call, Plain, Policy, Setting, decide};

use super::Scale;
use super::table::{Rounds, Table, Unit, percentile};

/// What agents run all day, and the longest of it: messages, files and chains of 4 KiB.
fn commands() -> Vec<(&'static str, Vec<String>)> {
    let corpus = [
        include_str!("../../../core/src/policy/corpus/safe.txt"),
        include_str!("../../../core/src/policy/corpus/dangerous.txt"),
        include_str!("../../../core/src/policy/corpus/absolute.txt"),
        include_str!("../../../core/src/policy/corpus/opaque.txt"),
    ];
    let lines = corpus.iter().flat_map(|text| text.lines());
    let short = lines.filter(|line| !line.is_empty() && !line.starts_with("# ")).map(str::to_owned).collect();
    let message = format!("git commit -m '{}'", "a word, ".repeat(505));
    let file = format!("cat > src/a.rs <<'EOF'\n{}EOF", "    let x = \"$(foo)\"; // y\n".repeat(150));
    let step = "grep -rn 'a pattern of some length' crates/turnloom/src/session/registry.rs | head -n 20";
    let chain = [step; 44].join(" && ");
    vec![("the corpus", short), ("4 KiB", vec![message, file, chain])]
}

pub(crate) fn measure(scale: Scale, table: &mut Table) {
    let policy = Policy::shipped();
    let world = Plain { home: Some("/home/user".to_owned()) };
    for (name, commands) in commands() {
        let inputs: Vec<_> = commands.iter().map(|command| json!({ "command": command })).collect();
        let times = scale.of(if inputs.len() < 10 { 300 } else { 3 }, 1);
        let (mut middle, mut worst) = (Rounds::default(), Rounds::default());
        for _ in 0..scale.rounds() {
            let mut took: Vec<f64> = Vec::new();
            for input in inputs.iter().cycle().take(inputs.len() * times) {
                let call = Call::new("Bash", input, "implement", "/code/app");
                let started = Instant::now();
                std::hint::black_box(decide(&policy, &call, &world));
                took.push(started.elapsed().as_secs_f64() * 1e3);
            }
            took.sort_by(f64::total_cmp);
            middle.push(percentile(&took, 0.5));
            worst.push(percentile(&took, 0.99));
        }
        table.row(format!("judging a command, {name}, p50"), Unit::Millis, middle, None);
        table.row(format!("judging a command, {name}, p99"), Unit::Millis, worst, None);
    }
    back_test(scale, table);
}

/// A million recorded calls, as logs have them: some thousand different ones in several projects.
fn back_test(scale: Scale, table: &mut Table) {
    const PROJECTS: usize = 8;
    let calls = scale.of(1_000_000, 1_000);
    let proposed = "[[rule]]\neffect = 'deny'\ncommand = ['git push *', 'npm publish *']\n";
    let old = Arc::new(Policy::shipped());
    let Ok(new) = Policy::shipped().with_user("proposed.toml", proposed).map(Arc::new) else { return };
    let records: Vec<Record> = commands()
        .into_iter()
        .flat_map(|(_, commands)| commands)
        .zip(1..)
        .map(|(command, seq)| {
            let data = json!({ "tool_use_id": format!("t{seq}"), "tool": "Bash", "input": { "command": command } });
            let head =
                format!("\"seq\":{seq},\"ts\":\"2026-01-01T00:00:00Z\",\"type\":\"tool_start\",\"session_id\":\"s\"");
            Record::new(Seq(seq), format!("{{{head},\"data\":{data}}}"))
        })
        .collect();
    let mode =
        r#"{"seq":1,"ts":"2026-01-01T00:00:00Z","type":"mode_changed","session_id":"s","data":{"mode":"implement"}}"#;
    let mode = Record::new(Seq(1), mode);
    let mut took = Rounds::default();
    for _ in 0..scale.of(3, 1) {
        let started = Instant::now();
        let mut test = BackTest::new(Plain { home: Some("/home/user".to_owned()) }, None);
        for project in 0..PROJECTS {
            let setting = Setting::new(&SessionId::trusted("s"), "mock", &format!("/code/app{project}"));
            test.begin(setting, Arc::clone(&old), Arc::clone(&new));
            test.take(&mode);
            for record in records.iter().cycle().take(calls / PROJECTS) {
                test.take(record);
            }
        }
        let report = std::hint::black_box(test.finish());
        assert_eq!(report.calls, (calls / PROJECTS * PROJECTS) as u64, "every call is judged");
        took.push(started.elapsed().as_secs_f64() * 1e3);
    }
    table.row(format!("back-testing {calls} recorded calls"), Unit::Millis, took, None);
}
