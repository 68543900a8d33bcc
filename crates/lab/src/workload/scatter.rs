//! A permutation of `0..n` that needs no memory: every number has one place, and all places differ.

/// A keyed bijection on `k` bits (xor-shifts and odd multiplications, each invertible), walked
/// until it falls into `0..n`: on average under two steps, because `2^k < 2n`.
#[derive(Clone, Copy, Debug)]
pub struct Scatter {
    count: u64,
    mask: u64,
    shift: u32,
    key: u64,
}

impl Scatter {
    /// The permutation of `0..count` that `key` names.
    pub fn new(count: u64, key: u64) -> Self {
        assert!(count > 0 && count <= 1 << 62, "a permutation of {count}");
        let bits = count.next_power_of_two().trailing_zeros().max(1);
        Self { count, mask: (1 << bits) - 1, shift: bits.div_ceil(2), key }
    }

    /// Where `number` goes.
    #[inline]
    pub fn place(&self, number: u64) -> u64 {
        debug_assert!(number < self.count, "{number} of {}", self.count);
        let mut place = self.mix(number);
        // The walk stays on one cycle of a bijection that holds `number < count`: it must come back
        // below `count`, so it ends.
        while place >= self.count {
            place = self.mix(place);
        }
        place
    }

    #[inline]
    fn mix(&self, number: u64) -> u64 {
        let mut word = number ^ (self.key & self.mask);
        word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15) & self.mask;
        word ^= word >> self.shift;
        word = word.wrapping_add(self.key >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9) & self.mask;
        word ^= word >> self.shift;
        word = word.wrapping_mul(0x94d0_49bb_1331_11eb) & self.mask;
        word ^ (word >> self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_place_and_all_places_differ() {
        for count in [1, 2, 3, 4, 5, 31, 32, 33, 1000, 4096, 5000] {
            let scatter = Scatter::new(count, 0x1234_5678_9abc_def0);
            let mut places: Vec<_> = (0..count).map(|number| scatter.place(number)).collect();
            places.sort_unstable();
            assert!(places.iter().copied().eq(0..count), "{count}");
        }
    }

    #[test]
    fn neighbours_do_not_stay_neighbours() {
        let count = 1 << 20;
        let scatter = Scatter::new(count, 99);
        let near = (0..100_000u64)
            .filter(|&number| scatter.place(number).abs_diff(scatter.place(number + 1)) < 1024)
            .count();
        // By chance: 2 * 1024 / 2^20 of them, about 195.
        assert!(near < 400, "{near} of 100,000 neighbours stayed near");
    }
}
