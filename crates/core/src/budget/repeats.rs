//! A turn that goes round in circles: the same calls with the same results, and nothing new. A fold of the turn's calls.
//!
//! A call whose input or result was not there before in its turn is something new, and everything is counted from there. So polling something that
//! changes is no circle, and neither is running the same tests after another edit.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::event::{Envelope, Event, ToolResult, ToolStart};
use crate::id::ToolUseId;

/// Calls of one turn that are remembered. Of more, all are forgotten, and the counting begins again.
const MAX_SEEN: usize = 2048;

/// What was called with what, and how it ended: the beginning of a hash.
type Print = u64;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeats {
    /// Calls that run.
    open: BTreeMap<ToolUseId, Print>,
    /// Calls of this turn, with their results.
    seen: BTreeSet<Print>,
    /// How often each came since there was something new.
    counts: BTreeMap<Print, u64>,
    compactions: u64,
}

impl Repeats {
    /// How often the call came that came most often since there was something new.
    pub fn most(&self) -> u64 {
        self.counts.values().copied().max().unwrap_or(0)
    }

    /// Compactions since there was something new.
    pub fn compactions(&self) -> u64 {
        self.compactions
    }

    /// Another turn has begun.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// A person has looked at it, and lets it go on.
    pub(super) fn count_again(&mut self) {
        self.counts.clear();
        self.compactions = 0;
    }

    pub(super) fn apply(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::ToolStart(start) => {
                if self.open.len() >= MAX_SEEN {
                    self.open.clear();
                }
                self.open.insert(start.tool_use_id.clone(), of_call(envelope, start));
            }
            Event::ToolResult(result) => {
                if let Some(call) = self.open.remove(&result.tool_use_id) {
                    self.ended(of_result(call, result));
                }
            }
            Event::CompactionEnd(_) => self.compactions += 1,
            _ => {}
        }
    }

    fn ended(&mut self, print: Print) {
        if self.seen.len() >= MAX_SEEN {
            self.seen.clear();
        }
        if self.seen.insert(print) {
            self.count_again();
        }
        *self.counts.entry(print).or_default() += 1;
    }
}

fn of_call(envelope: &Envelope, start: &ToolStart) -> Print {
    let by = envelope.subagent_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let input = start.input.as_ref().map(ToString::to_string).unwrap_or_default();
    // Of a large input the event has the ends, and the name of the whole.
    let blob = start.blob.as_ref().map(|blob| blob.id.to_string()).unwrap_or_default();
    print(&[&by, &start.tool, &input, start.command.as_deref().unwrap_or_default(), &blob])
}

fn of_result(call: Print, result: &ToolResult) -> Print {
    let blob = result.blob.as_ref().map(|blob| blob.id.to_string()).unwrap_or_default();
    let pictures: Vec<String> =
        result.images.iter().flatten().filter_map(|image| Some(image.blob.as_ref()?.id.to_string())).collect();
    let ended = format!("{:?} {} {}", result.exit_code, result.is_error, pictures.join(" "));
    print(&[&call.to_string(), &result.output, &blob, &ended])
}

fn print(parts: &[&str]) -> Print {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let bytes = hash.finalize();
    bytes.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}
