//! What was judged lately: a cut that leaves the same bytes with the same promises due needs no
//! second look.
//!
//! Draws in one operation often agree: a write that is under way alone is there, torn or lost. Of
//! what stood on the media the bytes are compared, not a sum of them.

use record::PowerCutRound;
use std::collections::VecDeque;
use target::replayed::Remains;

/// So many are remembered. Later ones rarely agree with earlier ones: the log goes on.
const KEPT: usize = 48;

/// The latest cuts that were looked at.
#[derive(Default)]
pub struct Judged(VecDeque<(Remains, PowerCutRound)>);

impl Judged {
    /// What was found of the same.
    pub fn find(&self, remains: &Remains, due: u64) -> Option<&PowerCutRound> {
        let same = |(known, found): &&(Remains, PowerCutRound)| {
            found.promises.made == due && known.holds_same(remains)
        };
        self.0.iter().rev().find(same).map(|(_, found)| found)
    }

    /// Remembers what was found.
    pub fn keep(&mut self, remains: Remains, found: &PowerCutRound) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back((remains, found.clone()));
    }
}
