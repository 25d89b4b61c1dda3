//! The sessions that work for the simulated one: as far as it hears of them. News come late, twice, and not at all when the daemon dies.

use super::Dice;
use crate::delegation::{ChildNews, Heard, News, TurnEnd};
use crate::event::{DelegationState, Origin};
use crate::id::{Seq, SessionId, TurnId};

#[derive(Debug, Default)]
pub(super) struct Children(Vec<Other>);

#[derive(Debug)]
struct Other {
    id: SessionId,
    seq: u64,
    turns: u64,
    /// What was said of it.
    said: Vec<News>,
}

impl Children {
    /// One is there.
    pub(super) fn made(&mut self, id: SessionId) {
        self.0.push(Other { id, seq: 1, turns: 0, said: Vec::new() });
    }

    /// Something new of one of them, or something old.
    pub(super) fn news(&mut self, dice: &mut Dice) -> Option<ChildNews> {
        let at = dice.below(self.0.len());
        let other = self.0.get_mut(at)?;
        let again = dice.below(other.said.len().max(1));
        let news = match other.said.get(again).cloned().filter(|_| dice.one_in(3)) {
            Some(old) => old,
            None => other.next(dice),
        };
        Some(ChildNews { child: other.id.clone(), news, heard: Heard::AsItHappens })
    }

    /// What the next daemon finds in the log of this one.
    pub(super) fn found(&mut self, id: &SessionId, dice: &mut Dice) -> ChildNews {
        let reason = "it was never made".to_owned();
        let other = self.0.iter_mut().find(|other| other.id == *id);
        let news = other.map_or(News::NotStarted { message_id: None, reason }, |other| other.ends(dice));
        ChildNews { child: id.clone(), news, heard: Heard::AfterRestart }
    }
}

impl Other {
    fn next(&mut self, dice: &mut Dice) -> News {
        self.seq += 1;
        let seq = Seq(self.seq);
        match dice.below(6) {
            0 => News::Started,
            1 => News::Changed {
                state: DelegationState::Running,
                activity: Some(seq.to_string()),
                asks: Vec::new(),
                seq,
            },
            2 if dice.one_in(6) => News::Removed,
            _ => self.ends(dice),
        }
    }

    fn ends(&mut self, dice: &mut Dice) -> News {
        (self.seq, self.turns) = (self.seq + 1, self.turns + 1);
        let state = dice.pick([DelegationState::Completed, DelegationState::Failed, DelegationState::Interrupted]);
        let news = News::Ended(Box::new(TurnEnd {
            turn_id: Some(TurnId::trusted(format!("turn_{}", self.turns))),
            origin: Origin::Delegation,
            message_ids: Vec::new(),
            state,
            text: Some("Woven.".to_owned()),
            reason: None,
            seq: Seq(self.seq),
        }));
        self.said.push(news.clone());
        news
    }
}
