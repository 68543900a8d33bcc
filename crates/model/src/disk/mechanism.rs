//! Arm and platter: when an access begins and when it ends.

use super::{
    layout::{Layout, Place, REVOLUTION, Remembered, Start, Turn},
    params::DiskParams,
    seek::SeekCurve,
};
use std::sync::Arc;

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
    pub layout: Arc<Layout>,
    seeks: SeekCurve,
    write_settle_ns: u64,
}

impl Mechanism {
    pub fn new(params: &DiskParams, sectors: u64) -> Self {
        let layout = Layout::new(params, sectors);
        let seeks = SeekCurve::new(params, layout.cylinders());
        let layout = Arc::new(layout);
        Self { layout, seeks, write_settle_ns: params.write_settle_ns }
    }

    /// When the head that is over `from` at `now` meets the beginning of `sector`, ns; not before
    /// `not_before`.
    pub fn begin(
        &self,
        from: Place,
        now: u64,
        sector: u64,
        action: Action,
        not_before: u64,
    ) -> u64 {
        let Start { place, angle } = self.layout.start(sector);
        let arrival = (now + self.way_ns(from, place, action)).max(not_before);
        let earliest = arrival.saturating_sub(ROUNDING_NS);
        let wait = ahead(self.layout.phase_at(earliest), angle);
        // Not rounded up to `arrival`: the platter tells the time, or the roundings would add up.
        earliest + self.layout.nanoseconds(wait)
    }

    /// The head, for a scheduler that compares many ways from here.
    pub fn head(&self, from: Place, now: u64) -> Head<'_> {
        let since = now.saturating_sub(ROUNDING_NS);
        let phase = self.layout.phase_at(since);
        let revolution_ns = self.layout.revolution_ns();
        Head { mechanism: self, from, now, since, phase, turn: Turn::of(phase), revolution_ns }
    }

    /// How long the arm takes to the place, ns.
    #[inline]
    fn way_ns(&self, from: Place, to: Place, action: Action) -> u64 {
        if to.track == from.track {
            return 0;
        }
        let settle_ns = if action == Action::Write { self.write_settle_ns } else { 0 };
        self.seeks.of(to.cylinder.abs_diff(from.cylinder)) + settle_ns
    }

    /// How long the heads take over the span, from the beginning of its first sector, ns.
    #[inline]
    pub fn transfer_ns(&self, span: Span) -> u64 {
        let phases = self.layout.path_before(span.end) - self.layout.path(span.first);
        self.layout.nanoseconds(phases)
    }
}

/// The head over a place at a time.
pub(super) struct Head<'m> {
    mechanism: &'m Mechanism,
    pub from: Place,
    now: u64,
    /// From then on it may meet a sector of its own track, and the phase of the platter then.
    since: u64,
    phase: u64,
    turn: Turn,
    revolution_ns: u64,
}

impl Head<'_> {
    /// No more than [`Mechanism::begin`] says of a sector at this turn: with an arm that is there
    /// at once.
    #[inline]
    pub fn begin_at_least(&self, turn: Turn) -> u64 {
        let ahead = u64::from(turn.ahead_at_least(self.turn));
        self.since + ((ahead * self.revolution_ns) >> u32::BITS)
    }

    /// What [`Mechanism::begin`] says of the sector whose start is remembered, unless that is after
    /// `latest`. Of many ways few are the shortest so far: nothing here divides.
    #[inline(always)]
    pub fn begin_by(
        &self,
        sector: u64,
        remembered: &Remembered,
        action: Action,
        latest: u64,
    ) -> Option<u64> {
        if self.since > latest {
            return None;
        }
        let layout = &self.mechanism.layout;
        let Start { place, angle } = remembered.start(layout, sector);
        // With an arm that is there at once: most are too late already.
        let ahead = ahead(self.phase, angle);
        if self.since + layout.nanoseconds_at_least(ahead) > latest {
            return None;
        }
        let arrival = self.now + self.mechanism.way_ns(self.from, place, action);
        let earliest = arrival.saturating_sub(ROUNDING_NS);
        if earliest > latest {
            return None;
        }
        let wait = coming_round(ahead, layout.phases(earliest - self.since));
        if earliest + layout.nanoseconds_at_least(wait) > latest {
            return None;
        }
        let begin = earliest + layout.nanoseconds(wait);
        (begin <= latest).then_some(begin)
    }
}

/// What is left of `ahead` phases when others have passed: as often as it went by meanwhile, it is
/// a revolution more.
#[inline(always)]
fn coming_round(ahead: u64, passed: u64) -> u64 {
    let mut left = ahead as i64 - passed as i64;
    // Most arms are there within two revolutions: these are no branches.
    for _ in 0..2 {
        left += if left < 0 { REVOLUTION as i64 } else { 0 };
    }
    while left < 0 {
        left += REVOLUTION as i64;
    }
    left as u64
}

/// Phases from one angle on to another.
#[inline]
fn ahead(from: u64, to: u64) -> u64 {
    if to < from { to + REVOLUTION - from } else { to - from }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::params;

    #[test]
    fn a_scheduler_is_told_what_will_happen_or_that_it_is_too_late() {
        let params = params();
        let sectors = params.capacity_bytes / u64::from(params.sector_bytes);
        let mechanism = Mechanism::new(&params, sectors);
        let mut rng = block::Rng::new(3, 0);
        let remembered = Remembered::default();
        for round in 0..200_000 {
            let from = mechanism.layout.place(rng.below(sectors));
            let now = if round < 1000 { round / 50 } else { rng.below(1 << 50) };
            let sector = rng.below(sectors);
            let action = if rng.below(2) == 0 { Action::Read } else { Action::Write };
            let begin = mechanism.begin(from, now, sector, action, 0);
            let head = mechanism.head(from, now);
            let by = |latest| head.begin_by(sector, &remembered, action, latest);
            assert_eq!(by(u64::MAX), Some(begin));
            let turn = Turn::of(mechanism.layout.start(sector).angle);
            assert!(head.begin_at_least(turn) <= begin, "{from:?} {now} {sector}");
            assert_eq!(by(begin), Some(begin));
            for earlier in [1, 1 + rng.below(20_000_000)] {
                assert_eq!(begin.checked_sub(earlier).and_then(by), None);
            }
        }
    }
}
