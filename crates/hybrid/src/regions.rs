//! Where on the disks a trace asks, counted by regions of one size: for the range that is worth
//! pinning.
//!
//! Nothing is sampled. When a trace reaches further than the regions do, each two become one, so
//! that the memory is bounded and the regions are as small as the room allows.

use std::ops::Range;
use trace::{Access, Op};

/// Most regions: some 8 MB.
const REGIONS_MAX: usize = 1 << 18;

/// What was asked of one region. A request over several regions is shared out by its bytes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Region {
    reads: f64,
    writes: f64,
    written_bytes: f64,
    /// Requests that are no part of a long stream.
    hot: f64,
}

impl Region {
    fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.written_bytes += other.written_bytes;
        self.hot += other.hot;
    }
}

/// Counts of all regions.
#[derive(Clone, PartialEq, Debug)]
pub struct Regions {
    region_bytes: u64,
    regions: Vec<Region>,
}

/// A range, and what of a trace it is asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct Busiest {
    /// Bytes of the disks.
    pub range: Range<u64>,
    /// Reads in it.
    pub reads: f64,
    /// Writes in it.
    pub writes: f64,
    /// Bytes of them.
    pub written_bytes: f64,
}

impl Regions {
    /// Of this size, a power of two, or larger.
    pub fn new(region_bytes: u64) -> Self {
        assert!(region_bytes.is_power_of_two(), "{region_bytes} bytes");
        Self { region_bytes, regions: Vec::new() }
    }

    /// Counts a read or a write that moves bytes.
    pub fn add(&mut self, access: &Access, is_long: bool) {
        let last = access.end() - 1;
        while last / self.region_bytes >= REGIONS_MAX as u64 {
            self.halve();
        }
        let of = |at: u64| at / self.region_bytes;
        let needed = of(last) as usize + 1;
        if self.regions.len() < needed {
            self.regions.resize(needed, Region::default());
        }
        for at in of(access.offset)..=of(last) {
            let from = access.offset.max(at * self.region_bytes);
            let bytes = last.min((at + 1).saturating_mul(self.region_bytes) - 1) + 1 - from;
            let part = bytes as f64 / access.bytes as f64;
            let writes = access.op == Op::Write;
            self.regions[at as usize].add(&Region {
                reads: if writes { 0.0 } else { part },
                writes: if writes { part } else { 0.0 },
                written_bytes: if writes { bytes as f64 } else { 0.0 },
                hot: if is_long { 0.0 } else { part },
            });
        }
    }

    /// Each two become one.
    fn halve(&mut self) {
        let pair = |pair: &[Region]| {
            let mut both = pair[0];
            pair[1..].iter().for_each(|other| both.add(other));
            both
        };
        self.regions = self.regions.chunks(2).map(pair).collect();
        self.region_bytes *= 2;
    }

    /// The range of at most these bytes, below `end`, that most requests ask for; long streams do
    /// not count, for disks are good at them. Nothing where no region is so small, or where it is
    /// asked for nothing.
    pub fn busiest(&self, bytes: u64, end: u64) -> Option<Busiest> {
        let below = usize::try_from(end / self.region_bytes).unwrap_or(usize::MAX);
        let regions = &self.regions[..self.regions.len().min(below)];
        let count = usize::try_from(bytes / self.region_bytes).unwrap_or(usize::MAX);
        let count = count.min(regions.len());
        if count == 0 {
            return None;
        }
        let mut hot: f64 = regions[..count].iter().map(|region| region.hot).sum();
        let (mut best, mut first) = (hot, 0);
        for at in count..regions.len() {
            hot += regions[at].hot - regions[at - count].hot;
            // What is left of a subtraction is no request.
            if hot > best + 1e-6 {
                (best, first) = (hot, at + 1 - count);
            }
        }
        let mut sum = Region::default();
        regions[first..first + count].iter().for_each(|region| sum.add(region));
        let start = first as u64 * self.region_bytes;
        let range = start..start.saturating_add(count as u64 * self.region_bytes);
        let Region { reads, writes, written_bytes, .. } = sum;
        (best > 1e-6).then_some(Busiest { range, reads, writes, written_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::tests::access;

    const REGION: u64 = 65_536;

    #[test]
    fn the_range_is_where_most_requests_are() {
        let mut regions = Regions::new(REGION);
        for (region, count) in [(0, 3), (5, 4), (6, 1), (7, 4), (20, 6)] {
            for _ in 0..count {
                regions.add(&access(0, Op::Write, region * REGION, 4096), false);
            }
        }
        let found = regions.busiest(3 * REGION, u64::MAX).expect("a range");
        assert_eq!(found.range, 5 * REGION..8 * REGION);
        assert_eq!((found.reads, found.writes, found.written_bytes), (0.0, 9.0, 9.0 * 4096.0));
        let one = regions.busiest(REGION + 1, u64::MAX).expect("a range");
        assert_eq!(one.range, 20 * REGION..21 * REGION);
        let below = regions.busiest(REGION, 20 * REGION).expect("a range");
        assert_eq!(below.range, 5 * REGION..6 * REGION);
        assert_eq!(regions.busiest(REGION - 1, u64::MAX), None);
    }

    #[test]
    fn a_long_stream_is_no_reason_to_pin_and_is_counted_where_it_lies() {
        let mut regions = Regions::new(REGION);
        (0..9).for_each(|_| regions.add(&access(0, Op::Read, 0, REGION), true));
        assert_eq!(regions.busiest(REGION, u64::MAX), None);
        regions.add(&access(0, Op::Read, REGION / 2, REGION), false);
        let found = regions.busiest(2 * REGION, u64::MAX).expect("a range");
        assert!((found.reads - 10.0).abs() < 1e-9 && found.range == (0..2 * REGION), "{found:?}");
    }

    #[test]
    fn regions_grow_with_the_room_and_lose_no_request() {
        let mut regions = Regions::new(4096);
        (0..1000).for_each(|at| regions.add(&access(0, Op::Read, at * 4096, 4096), false));
        regions.add(&access(0, Op::Write, 1 << 40, 4096), false);
        assert!(regions.regions.len() <= REGIONS_MAX);
        let found = regions.busiest(1 << 30, u64::MAX).expect("a range");
        assert_eq!((found.range.start, found.reads, found.writes), (0, 1000.0, 0.0));
        let all = regions.busiest(1 << 41, u64::MAX).expect("a range");
        assert_eq!((all.reads, all.writes), (1000.0, 1.0));
    }
}
