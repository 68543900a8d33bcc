//! Arm and platter: when an access begins and when it ends.

use super::{
    layout::{Layout, Place, REVOLUTION, Start},
    params::DiskParams,
    seek::SeekCurve,
};

/// What the heads are to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    Read,
    /// Needs the head settled more finely: off-track reads fail and are retried, off-track writes
    /// destroy.
    Write,
}

/// Sectors `first..end` of the platter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub first: u64,
    pub end: u64,
}

impl Span {
    pub fn sectors(self) -> u64 {
        self.end - self.first
    }

    pub fn holds(self, other: Self) -> bool {
        self.first <= other.first && other.end <= self.end
    }

    pub fn overlaps(self, other: Self) -> bool {
        self.first < other.end && other.first < self.end
    }
}

/// Every path and time is rounded up to the next phase or nanosecond, so a head that goes straight
/// on may seem this late, ns. It costs no revolution.
const ROUNDING_NS: u64 = 8;

/// The moving parts and their constants.
#[derive(Debug)]
pub(super) struct Mechanism {
    pub layout: Layout,
    seeks: SeekCurve,
    write_settle_ns: u64,
}

impl Mechanism {
    pub fn new(params: &DiskParams, sectors: u64) -> Self {
        let layout = Layout::new(params, sectors);
        let seeks = SeekCurve::new(params, layout.cylinders());
        Self { layout, seeks, write_settle_ns: params.write_settle_ns }
    }

    /// When the head that is over `from` at `now` meets the beginning of `sector`, ns; not before
    /// `not_before`.
    #[inline]
    pub fn begin(
        &self,
        from: Place,
        now: u64,
        sector: u64,
        action: Action,
        not_before: u64,
    ) -> u64 {
        let Start { place: to, angle } = self.layout.start(sector);
        let mut arrival = now;
        if to.track != from.track {
            arrival += self.seeks.of(to.cylinder.abs_diff(from.cylinder));
            if action == Action::Write {
                arrival += self.write_settle_ns;
            }
        }
        arrival = arrival.max(not_before);
        let earliest = arrival.saturating_sub(ROUNDING_NS);
        let wait = (angle + REVOLUTION - self.layout.phase_at(earliest)) % REVOLUTION;
        // Not rounded up to `arrival`: the platter tells the time, or the roundings would add up.
        earliest + self.layout.nanoseconds(wait)
    }

    /// How long the heads take over the span, from the beginning of its first sector, ns.
    #[inline]
    pub fn transfer_ns(&self, span: Span) -> u64 {
        let phases = self.layout.path_before(span.end) - self.layout.path(span.first);
        self.layout.nanoseconds(phases)
    }
}
