//! The machine of a schedule: what it may do, how long things may take, and which rules it has, by the schedule's seed.

use std::sync::Arc;

use serde_json::json;

use super::QUEUE;
use crate::component::{ComponentId, Rules, StateRule, ToolRule};
use crate::event::{Surface, ToolMapping};
use crate::id::{IdSource, SessionId};
use crate::runtime::{Capabilities, Hearing};
use crate::session::{Limits, Machine, Setup, State};
use crate::{budget, delegation};

/// Some schedules have budgets, and all of those are small.
fn budgets(seed: u64) -> budget::Rules {
    if !seed.is_multiple_of(3) {
        return budget::Rules::default();
    }
    let tokens = |tokens| budget::Limits { tokens: Some(tokens), ..budget::Limits::default() };
    budget::Rules {
        turn: budget::Limits { minutes: Some(0.05), ..tokens(500.0) },
        session: budget::Limits { turns: Some(6.0), ..tokens(900.0) },
        day: tokens(1_000.0),
        runaway: budget::RunawayLimits { repeats: 3, compactions: 2, silent_minutes: 0.02 },
        counts_time: true,
        hold_ms: 300,
        ..budget::Rules::default()
    }
}

/// One component for each call, one for all calls of a tool, and parts of the state.
fn component_rules() -> Rules {
    let rule = |tool: &str, component: &str, id| ToolRule {
        tool: tool.to_owned(),
        runtime: None,
        component: component.to_owned(),
        surface: None,
        result: ToolMapping::Merge,
        into: None,
        id,
    };
    let state = |pointer: &str, surface| StateRule {
        pointer: pointer.to_owned(),
        component: "progress".to_owned(),
        surface: Some(surface),
        id: None,
        as_key: None,
        edits: true,
    };
    let find = ToolRule { surface: Some(Surface::Panel), ..rule("find", "table", ComponentId::Tool) };
    Rules {
        tools: vec![rule("get_*", "weather", ComponentId::Call), find],
        state: vec![state("/k0", Surface::Sidebar), state("/k1", Surface::Chat)],
        ..Rules::default()
    }
}

/// The machine of a schedule, in one of its lives.
pub(super) fn machine(seed: u64, life: u64, state: State) -> Machine {
    let hearing = if seed.is_multiple_of(2) { Hearing::Messages } else { Hearing::Orders };
    let setup = Setup {
        session_id: SessionId::trusted("simulated"),
        runtime: "fake".into(),
        params: if seed.is_multiple_of(9) {
            json!({ "state_wakes": true, "budget_group": { "id": "g", "limits": { "tokens": 600 } } })
        } else {
            json!({ "state_wakes": seed.is_multiple_of(3) })
        },
        capabilities: Capabilities {
            steer: true,
            resume: true,
            rollback: true,
            compact: true,
            set_model: true,
            set_mode: true,
            components: true,
            state: true,
            gate: seed.is_multiple_of(2),
            ..Capabilities::default()
        },
        limits: Limits {
            start_ms: 900,
            interrupt_ms: 500,
            terminate_ms: 500,
            idle_ms: 700,
            inline_bytes: 64,
            queue: QUEUE,
            hold_ms: seed.is_multiple_of(5).then_some(600),
        },
        ids: IdSource::seeded(seed ^ (life << 40)),
        components: Arc::new(component_rules()),
        budgets: Arc::new(budgets(seed)),
        delegation: delegation::Rules { allowed: true, total: 20, ..delegation::Rules::default() },
    };
    Machine::new(setup, state).hearing_by(hearing)
}
