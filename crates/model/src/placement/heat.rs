//! How often each extent is asked for, and which ones are worth an exchange.
//!
//! Three rules, all of them assumptions (docs/reference/cache-layers.md has the reasons): counts
//! are halved at the end of an epoch; a long stream does not count; an extent moves to flash when
//! it was asked for [`GAIN`] times as often as the one that gives way, and [`COST`] times more.

use crate::streams::Streams;

/// How many times as often.
const GAIN: u32 = 2;
/// How many times more: what an exchange costs the disks, in accesses.
const COST: u32 = 8;
/// From this length on a stream is left to the disks, bytes.
const STREAM_BYTES: u64 = 4 << 20;

/// Accesses of every extent.
#[derive(Debug)]
pub(super) struct Heat {
    counts: Vec<u32>,
    streams: Streams,
}

impl Heat {
    pub fn new(extents: u32) -> Self {
        Self { counts: vec![0; extents as usize], streams: Streams::default() }
    }

    /// A request for a range; one for each extent that it touches.
    pub fn count(&mut self, offset: u64, bytes: u64, extent_bytes: u64) {
        if self.streams.take(offset, bytes) >= STREAM_BYTES {
            return;
        }
        for extent in offset / extent_bytes..=(offset + bytes - 1) / extent_bytes {
            let count = &mut self.counts[extent as usize];
            *count = count.saturating_add(1);
        }
    }

    /// An epoch ends: pairs of an extent that goes to flash and one that gives way, those that gain
    /// most first. Then the counts are halved.
    pub fn exchanges(&mut self, is_on_flash: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
        let (mut hot, mut cold) = (Vec::new(), Vec::new());
        for (extent, &count) in (0..).zip(&self.counts) {
            if is_on_flash(extent) {
                cold.push((count, extent));
            } else if count >= COST {
                hot.push((count, extent));
            }
        }
        hot.sort_unstable_by_key(|&(count, extent)| (std::cmp::Reverse(count), extent));
        if hot.len() < cold.len() && !hot.is_empty() {
            cold.select_nth_unstable(hot.len() - 1);
            cold.truncate(hot.len());
        }
        cold.sort_unstable();
        let gains = |hot: u32, cold: u32| {
            hot >= cold.saturating_mul(GAIN) && hot >= cold.saturating_add(COST)
        };
        let pairs = hot.iter().zip(&cold).take_while(|(hot, cold)| gains(hot.0, cold.0));
        let pairs = pairs.map(|(hot, cold)| (hot.1, cold.1)).collect();
        for count in &mut self.counts {
            *count /= 2;
        }
        pairs
    }

    /// Of the extents on flash, the one that is asked for least.
    pub fn coldest(&self, is_on_flash: impl Fn(u32) -> bool) -> Option<u32> {
        let all = (0..).zip(&self.counts).filter(|(extent, _)| is_on_flash(*extent));
        all.min_by_key(|&(extent, count)| (*count, extent)).map(|(extent, _)| extent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Extents 8 and 9 of ten lie on flash.
    fn on_flash(extent: u32) -> bool {
        extent >= 8
    }

    fn heat(counts: [u32; 10]) -> Heat {
        Heat { counts: counts.into(), streams: Streams::default() }
    }

    #[test]
    fn the_hottest_extent_goes_where_the_coldest_was() {
        let mut heat = heat([0, 30, 0, 90, 40, 0, 0, 0, 3, 1]);
        assert_eq!(heat.exchanges(on_flash), [(3, 9), (4, 8)]);
        assert_eq!(heat.counts, [0, 15, 0, 45, 20, 0, 0, 0, 1, 0]);
        assert_eq!(heat.coldest(on_flash), Some(9));
    }

    #[test]
    fn what_gains_too_little_stays() {
        // Not twice as often; twice, and not by what the move costs.
        assert_eq!(heat([0, 50, 0, 0, 0, 0, 0, 0, 26, 26]).exchanges(on_flash), []);
        assert_eq!(heat([0, 9, 0, 0, 0, 0, 0, 0, 2, 2]).exchanges(on_flash), []);
        assert_eq!(heat([0, 52, 0, 0, 0, 0, 0, 0, 26, 26]).exchanges(on_flash), [(1, 8)]);
        assert_eq!(heat([7, 7, 7, 7, 7, 7, 7, 7, 0, 0]).exchanges(on_flash), []);
    }

    #[test]
    fn a_long_stream_heats_nothing_and_its_beginning_does() {
        let mut heat = heat([0; 10]);
        (0..10).for_each(|extent| heat.count(extent << 20, 1 << 20, 1 << 20));
        assert_eq!(heat.counts, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
        heat.count((5 << 20) - 512, 1024, 1 << 20);
        assert_eq!(heat.counts, [1, 1, 1, 0, 1, 1, 0, 0, 0, 0]);
    }
}
