//! Accesses in the order of their times. Tracers write what several processors saw a little out of
//! order; that is put right within a window, and counted. What goes back further is an error: a
//! clock was set, or files were put one behind the other.

use crate::{
    access::Access,
    error::{Bad, Kind},
};
use report::number::duration_ns;
use std::collections::VecDeque;

/// How far time may go back and be put in order, ns.
pub(crate) const WINDOW_NS: u64 = 1_000_000_000;
/// Most accesses that wait to be put in order.
const HELD_MAX: usize = 1 << 14;

/// A window over accesses, at most 0.8 MB.
#[derive(Default)]
pub(crate) struct Window {
    /// By time, then in the order of the file. Nearly all accesses come last of all.
    held: VecDeque<Access>,
    newest_ns: u64,
    left_ns: u64,
    /// Accesses that came after a later one.
    pub late: u64,
    /// By how much at most, ns.
    pub late_ns_max: u64,
}

impl Window {
    /// Takes the next access of the file.
    pub fn push(&mut self, access: Access) -> Result<(), Bad> {
        let back_ns = self.newest_ns.saturating_sub(access.at_ns);
        if back_ns > WINDOW_NS || access.at_ns < self.left_ns {
            let message = format!(
                "the time goes back by {}, and only what is out of order by less than {} and \
                 within {HELD_MAX} accesses is put in order: sort the trace by its time",
                duration_ns(back_ns as f64),
                duration_ns(WINDOW_NS as f64)
            );
            return Err(Bad { kind: Kind::Backwards, message });
        }
        self.late += u64::from(back_ns > 0);
        self.late_ns_max = self.late_ns_max.max(back_ns);
        self.newest_ns = self.newest_ns.max(access.at_ns);
        if self.held.back().is_none_or(|last| last.at_ns <= access.at_ns) {
            self.held.push_back(access);
        } else {
            let at = self.held.partition_point(|held| held.at_ns <= access.at_ns);
            self.held.insert(at, access);
        }
        Ok(())
    }

    /// The next access that nothing can precede; with `ended` any that is left.
    pub fn pop(&mut self, ended: bool) -> Option<Access> {
        let first = self.held.front()?;
        let is_old = self.newest_ns - first.at_ns > WINDOW_NS;
        if !ended && !is_old && self.held.len() < HELD_MAX {
            return None;
        }
        self.left_ns = first.at_ns;
        self.held.pop_front()
    }
}
