//! How many accesses go on where a recent one ended.

use crate::access::Access;

/// So many streams are remembered, of reads and of writes each: what a drive or a page cache tells
/// apart at best.
pub const RECENT_STREAMS: usize = 64;

/// How sequential the accesses of one kind are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sequential {
    /// Accesses.
    pub accesses: u64,
    /// Of them, those that begin where one of the recent streams ended.
    pub continuing: u64,
}

impl Sequential {
    /// The share that goes on; 0 of none.
    pub fn share(&self) -> f64 {
        self.continuing as f64 / self.accesses.max(1) as f64
    }
}

/// Ends of recent streams, the latest one last.
#[derive(Default)]
pub(super) struct Streams {
    ends: Vec<(u32, u64)>,
    seen: Sequential,
}

impl Streams {
    pub fn add(&mut self, access: &Access) {
        self.seen.accesses += 1;
        let begins = (access.volume, access.offset);
        if let Some(at) = self.ends.iter().rposition(|end| *end == begins) {
            self.ends.remove(at);
            self.seen.continuing += 1;
        } else if self.ends.len() == RECENT_STREAMS {
            self.ends.remove(0);
        }
        self.ends.push((access.volume, access.end()));
    }

    pub fn seen(&self) -> Sequential {
        self.seen
    }
}
