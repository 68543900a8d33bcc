//! Members that are not there, and rows that cannot be read.

use super::layout::Members;

/// More members are missing than the level can do without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lost;

/// What one operation cannot read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing<'a> {
    pub(super) absent: Absent,
    /// Rows at which it found members unreadable.
    pub(super) unreadable: &'a [(u64, Members)],
}

/// Members that are not there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Absent {
    /// At every row.
    pub(super) always: Members,
    /// A member being rebuilt and the first row it does not hold yet.
    pub(super) rebuilding: Option<(u64, u64)>,
}

impl Absent {
    /// At `row`.
    pub(super) fn at(&self, row: u64) -> Members {
        match self.rebuilding {
            Some((member, first)) if row >= first => self.always | 1 << member,
            _ => self.always,
        }
    }
}

impl Missing<'_> {
    /// At `row`.
    pub(super) fn at(&self, row: u64) -> Members {
        let found = self.unreadable.iter().filter(|&&(at, _)| at == row);
        found.fold(self.absent.at(row), |all, &(_, members)| all | members)
    }
}
