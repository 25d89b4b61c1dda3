//! Ids of messages, calls and responses: counted, so that a run can be repeated. Nothing here is random; a caller who starts a server again for
//! the same agent gives another prefix, because an agent that resumes must not see an id twice.

use std::collections::BTreeMap;

/// Between an id and the number of the reply that made the call.
const CALLER: &str = "_r";

/// The number of the reply that made a call with this id.
pub(crate) fn caller(id: &str) -> Option<usize> {
    id.rsplit_once(CALLER)?.1.parse().ok()
}

#[derive(Debug, Default)]
pub(crate) struct Ids {
    prefix: String,
    counted: BTreeMap<&'static str, u64>,
}

impl Ids {
    /// Agents accept letters, digits, `-` and `_` in an id; whatever else a prefix has is left out.
    pub(crate) fn new(prefix: &str) -> Self {
        let prefix = prefix.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        Self { prefix, counted: BTreeMap::new() }
    }

    pub(crate) fn next(&mut self, kind: &'static str) -> String {
        let number = self.counted.entry(kind).and_modify(|last| *last += 1).or_insert(1);
        if self.prefix.is_empty() { format!("{kind}_{number}") } else { format!("{kind}_{}_{number}", self.prefix) }
    }

    /// An id of a call that says which reply made it, so that its result can be told to belong to that reply, after a restart too.
    pub(crate) fn next_call(&mut self, kind: &'static str, reply: usize) -> String {
        format!("{}{CALLER}{reply}", self.next(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::{Ids, caller};

    #[test]
    fn ids_are_counted_by_kind() {
        let mut ids = Ids::new("");
        assert_eq!([ids.next("msg"), ids.next("toolu"), ids.next("msg")], ["msg_1", "toolu_1", "msg_2"]);
        assert_eq!(Ids::new("a/7 \u{e9}").next("msg"), "msg_a7_1");
    }

    #[test]
    fn a_call_remembers_its_reply() {
        let mut ids = Ids::new("x");
        assert_eq!(ids.next_call("toolu", 12), "toolu_x_1_r12");
        for (id, reply) in
            [("toolu_x_1_r12", Some(12)), ("toolu_1_r3", Some(3)), ("toolu_9", None), ("call_ragged", None)]
        {
            assert_eq!(caller(id), reply, "{id}");
        }
    }
}
