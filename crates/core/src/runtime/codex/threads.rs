//! Sub-agents. Each is a thread of its own that is not announced: the first sign of it is a notification about an unknown thread. The lines of such
//! an unclaimed thread are held until its parent is known. A sub-agent may outlive the turn that started it, so the log shows it as background work.

use std::collections::BTreeMap;

use super::turn::plus;
use super::wire::Tokens;
use super::work::ThreadWork;
use crate::event::{SubagentEnded, SubagentStarted, WorkStatus};
use crate::id::{SubagentId, ToolUseId};
use crate::runtime::{Output, Report};

/// How many lines of one unclaimed thread are held before it is taken for a child of the conversation itself.
const MAX_HELD_LINES: usize = 256;
/// How many unclaimed threads there may be. Further ones are adopted at once.
const MAX_UNCLAIMED: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Subagents {
    children: BTreeMap<String, Subagent>,
    unclaimed: BTreeMap<String, Vec<Vec<u8>>>,
    /// Which tool call started a thread.
    spawned_by: BTreeMap<String, ToolUseId>,
}

#[derive(Debug)]
struct Subagent {
    work: ThreadWork,
    name: String,
    parent: Option<SubagentId>,
    /// It is at work, so the log knows it.
    open: bool,
    /// How its own work has ended, while one of its own sub-agents still runs. In the log, the end of a sub-agent ends its sub-agents too.
    ending: Option<WorkStatus>,
}

/// What happened to a line of an unknown thread.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HoldOutcome {
    /// The first line of this thread: ask the server for its parent.
    New,
    Held,
    /// The limit is reached: adopt the thread without knowing its parent.
    Full,
}

impl Subagents {
    pub(super) fn knows(&self, thread_id: &str) -> bool {
        self.children.contains_key(thread_id)
    }

    /// Whether it is at work.
    pub(super) fn is_open(&self, thread_id: &str) -> bool {
        self.children.get(thread_id).is_some_and(|child| child.open)
    }

    pub(super) fn hold(&mut self, thread_id: &str, line: &[u8]) -> HoldOutcome {
        let many = self.unclaimed.len() >= MAX_UNCLAIMED;
        if let Some(held) = self.unclaimed.get_mut(thread_id) {
            held.push(line.to_vec());
            return if held.len() >= MAX_HELD_LINES { HoldOutcome::Full } else { HoldOutcome::Held };
        }
        self.unclaimed.insert(thread_id.to_owned(), vec![line.to_vec()]);
        if many { HoldOutcome::Full } else { HoldOutcome::New }
    }

    pub(super) fn unclaimed(&self) -> Vec<String> {
        self.unclaimed.keys().cloned().collect()
    }

    pub(super) fn spawned(&mut self, thread_id: &str, by: ToolUseId) {
        self.spawned_by.insert(thread_id.to_owned(), by);
    }

    /// Adopts a thread as a sub-agent and returns its held lines.
    pub(super) fn adopt(&mut self, thread_id: &str, name: Option<String>, parent: Option<&str>) -> Vec<Vec<u8>> {
        let held = self.unclaimed.remove(thread_id).unwrap_or_default();
        let parent = parent.filter(|parent| self.knows(parent) && *parent != thread_id).map(SubagentId::trusted);
        let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "agent".to_owned());
        let known = self.children.contains_key(thread_id);
        if !known {
            let work = ThreadWork::of_subagent(thread_id);
            self.children.insert(thread_id.to_owned(), Subagent { work, name, parent, open: false, ending: None });
        }
        held
    }

    pub(super) fn work(&mut self, thread_id: &str) -> Option<&mut ThreadWork> {
        self.children.get_mut(thread_id).map(|child| &mut child.work)
    }

    /// The work of a thread that does something, after the log has heard of it.
    pub(super) fn start_work(&mut self, thread_id: &str, out: &mut Output) -> Option<&mut ThreadWork> {
        let parent_tool_use_id = self.spawned_by.get(thread_id).cloned();
        let child = self.children.get_mut(thread_id)?;
        child.ending = None;
        if !child.open {
            child.open = true;
            let started = SubagentStarted {
                subagent_id: SubagentId::trusted(thread_id),
                name: child.name.clone(),
                background: Some(true),
                parent_tool_use_id,
                parent_subagent_id: child.parent.clone(),
            };
            out.report(Report::Fact { subagent_id: child.parent.clone(), event: started.into() });
        }
        Some(&mut child.work)
    }

    /// Its work is over. If sub-agents of its own still run, the end is reported when the last of them has ended.
    pub(super) fn ended(&mut self, thread_id: &str, status: WorkStatus, out: &mut Output) {
        // One after the other and not inside each other: nobody knows how many there are.
        let mut next = Some((thread_id.to_owned(), status));
        while let Some((thread_id, status)) = next.take() {
            let is_theirs = |child: &Subagent| child.parent.as_ref().is_some_and(|parent| parent.as_str() == thread_id);
            let has_helpers = self.children.values().any(|child| child.open && is_theirs(child));
            let Some(child) = self.children.get_mut(&thread_id).filter(|child| child.open) else { return };
            child.work.turn = None;
            if has_helpers {
                child.ending = Some(status);
                return;
            }
            (child.open, child.ending) = (false, None);
            let parent = child.parent.clone();
            let subagent_id = SubagentId::trusted(thread_id);
            out.report(SubagentEnded { subagent_id, status, tool_calls: 0, file_changes: 0 });
            next = parent.and_then(|parent| {
                let status = self.children.get(parent.as_str())?.ending?;
                Some((parent.to_string(), status))
            });
        }
    }

    /// What all of them used since this was last asked.
    pub(super) fn take_used(&mut self) -> Option<Tokens> {
        self.children.values_mut().filter_map(|child| child.work.usage_meter.take_used()).reduce(plus)
    }

    /// The same, without taking it.
    pub(super) fn used(&self) -> Option<Tokens> {
        self.children.values().filter_map(|child| child.work.usage_meter.used()).reduce(plus)
    }

    /// Threads that have a turn, with its name.
    pub(super) fn running(&self) -> Vec<(String, String)> {
        let turn = |(id, child): (&String, &Subagent)| Some((id.clone(), child.work.turn.clone()?));
        self.children.iter().filter_map(turn).collect()
    }

    /// Those of them that are this thread, or work for it.
    pub(super) fn running_for(&self, thread_id: &str) -> Vec<(String, String)> {
        // An adopted thread has a parent that was adopted before it, so this loop ends.
        let parent = |id: &String| self.children.get(id)?.parent.as_ref().map(SubagentId::to_string);
        let works_for = |id: &String| std::iter::successors(Some(id.clone()), parent).any(|id| id == thread_id);
        self.running().into_iter().filter(|(id, _)| works_for(id)).collect()
    }

    pub(super) fn all_work(&self) -> impl Iterator<Item = (&String, &ThreadWork)> {
        self.children.iter().map(|(id, child)| (id, &child.work))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_of_helpers_may_be_many() {
        const MANY: usize = 2_000;
        let all_end = || {
            let (mut subagents, mut out) = (Subagents::default(), Output::default());
            let name = |number: usize| format!("{number:04}");
            for number in 0..MANY {
                let parent = number.checked_sub(1).map(name);
                subagents.adopt(&name(number), None, parent.as_deref());
                subagents.start_work(&name(number), &mut out);
            }
            for number in 0..MANY {
                subagents.ended(&name(number), WorkStatus::Completed, &mut out);
            }
            let ended =
                |report: &&Report| matches!(report, Report::Fact { event: crate::event::Event::SubagentEnded(_), .. });
            out.reports.iter().filter(ended).count()
        };
        // As little room as a thread can have.
        let small = std::thread::Builder::new().stack_size(128 * 1024).spawn(all_end).unwrap();
        assert_eq!(small.join().unwrap(), MANY);
    }
}
