//! Where the units of a drive in its steady state lie: computed, both ways, and stored nowhere.
//!
//! Every logical unit has a rank, drawn by a keyed permutation. The superblocks take the ranks in
//! order, each as many as it holds valid units; and which of a superblock's places these are is
//! drawn by a permutation of its own.

use block::Rng;
use std::ops::Range;

const RANKS: u64 = 0x706c_6163;
const PLACES: u64 = 0x7661_6c69;

/// A layout.
#[derive(Debug)]
pub struct Planted {
    ranks: Permutation,
    /// The first rank of each superblock, and at the end how many ranks there are.
    first: Vec<u32>,
    /// Units of a superblock.
    units: u32,
    seed: u64,
}

impl Planted {
    /// Superblocks of `units` units, of which so many hold one of the ranks each.
    ///
    /// # Panics
    /// If one holds more than its units.
    pub fn new(counts: &[u32], units: u32, seed: u64) -> Self {
        assert!(counts.iter().all(|&count| count <= units), "more valid units than there are");
        let mut first = Vec::with_capacity(counts.len() + 1);
        let mut used = 0;
        for &count in counts {
            first.push(used);
            used += count;
        }
        first.push(used);
        let ranks = Permutation::new(used, &mut Rng::new(seed, RANKS));
        Self { ranks, first, units, seed }
    }

    /// Logical units that it places: the first so many.
    pub fn used(&self) -> u32 {
        *self.first.last().expect("the end is there without superblocks")
    }

    /// Superblocks that it fills.
    pub fn superblocks(&self) -> Range<u32> {
        0..self.first.len() as u32 - 1
    }

    /// The physical unit of `logical`.
    ///
    /// # Panics
    /// If that is none of the used ones.
    pub fn place_of(&self, logical: u32) -> u32 {
        let rank = self.ranks.rank(logical);
        let after = self.first.partition_point(|&first| first <= rank);
        let superblock = after as u32 - 1;
        superblock * self.units + self.places(superblock).of(rank - self.first[after - 1])
    }

    /// The valid units of `superblock`, by their place in it: that, and the logical one.
    pub fn held(&self, superblock: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let first = self.first[superblock as usize];
        let valid = self.first[superblock as usize + 1] - first;
        let places = self.places(superblock);
        (0..self.units).filter_map(move |at| {
            let rank = places.rank(at);
            (rank < valid).then(|| (at, self.ranks.of(first + rank)))
        })
    }

    fn places(&self, superblock: u32) -> Permutation {
        let mut rng = Rng::new(self.seed ^ u64::from(superblock) << 32, PLACES);
        Permutation::new(self.units, &mut rng)
    }
}

/// Numbers below a bound in random order, without a table: four rounds of a Feistel network on the
/// next number of bits, walked until it lands inside (Black and Rogaway, "Ciphers with arbitrary
/// finite domains", 2002). Its halves differ by a bit where the number of bits is odd.
#[derive(Debug)]
struct Permutation {
    bound: u32,
    /// Of the right half, and of the left one.
    bits: [u32; 2],
    keys: [u64; 4],
}

impl Permutation {
    fn new(bound: u32, rng: &mut Rng) -> Self {
        let bits = (u32::BITS - bound.saturating_sub(1).leading_zeros()).max(2);
        let bits = [bits / 2, bits - bits / 2];
        Self { bound, bits, keys: std::array::from_fn(|_| rng.next()) }
    }

    /// The number of that rank.
    fn of(&self, rank: u32) -> u32 {
        assert!(rank < self.bound, "rank {rank} of {}", self.bound);
        let mut at = rank;
        loop {
            at = self.shuffled(at);
            if at < self.bound {
                return at;
            }
        }
    }

    /// The rank of a number.
    fn rank(&self, number: u32) -> u32 {
        assert!(number < self.bound, "{number} of {}", self.bound);
        let mut at = number;
        loop {
            at = self.unshuffled(at);
            if at < self.bound {
                return at;
            }
        }
    }

    #[inline]
    fn shuffled(&self, at: u32) -> u32 {
        let [right_bits, left_bits] = self.bits;
        let (mut left, mut right) = (at >> right_bits, at & ((1 << right_bits) - 1));
        for keys in self.keys.as_chunks::<2>().0 {
            left ^= mixed(right, keys[0], left_bits);
            right ^= mixed(left, keys[1], right_bits);
        }
        left << right_bits | right
    }

    #[inline]
    fn unshuffled(&self, at: u32) -> u32 {
        let [right_bits, left_bits] = self.bits;
        let (mut left, mut right) = (at >> right_bits, at & ((1 << right_bits) - 1));
        for keys in self.keys.as_chunks::<2>().0.iter().rev() {
            right ^= mixed(left, keys[1], right_bits);
            left ^= mixed(right, keys[0], left_bits);
        }
        left << right_bits | right
    }
}

/// `bits` bits of which each depends on all of `half`.
#[inline]
fn mixed(half: u32, key: u64, bits: u32) -> u32 {
    let mixed = (u64::from(half) ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> (64 - bits)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_names_every_number_once_and_finds_it_again() {
        for bound in [1, 2, 3, 64, 1000, 4097] {
            let permutation = Permutation::new(bound, &mut Rng::new(9, 0));
            let mut seen: Vec<u32> = (0..bound).map(|rank| permutation.of(rank)).collect();
            assert!((0..bound).all(|rank| permutation.rank(seen[rank as usize]) == rank));
            assert!(bound < 64 || seen.windows(2).any(|pair| pair[0] > pair[1]));
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..bound), "{bound}");
        }
    }

    /// Neighbours in rank are not neighbours in place: of 1,000 that follow each other, as many
    /// are in the same sixteenth as chance puts there.
    #[test]
    fn a_permutation_has_no_grain() {
        let permutation = Permutation::new(1 << 20, &mut Rng::new(2, 0));
        for first in [0, 77_777, 1_000_000] {
            let mut seen = [0u32; 16];
            for rank in first..first + 1_600 {
                seen[(permutation.of(rank) >> 16) as usize] += 1;
            }
            // 100 each; the chi-square of 15 degrees of freedom is above 44.3 once in 10,000.
            let chi_square: f64 =
                seen.iter().map(|&count| (f64::from(count) - 100.0).powi(2) / 100.0).sum();
            assert!(chi_square < 44.3, "{chi_square}: {seen:?}");
        }
    }

    #[test]
    fn what_a_superblock_holds_is_where_the_units_are() {
        let counts = [90, 0, 7, 45, 1];
        let planted = Planted::new(&counts, 90, 5);
        let mut placed = Vec::new();
        for superblock in planted.superblocks() {
            let held: Vec<(u32, u32)> = planted.held(superblock).collect();
            assert_eq!(held.len() as u32, counts[superblock as usize]);
            for (at, logical) in held {
                let physical = superblock * 90 + at;
                assert_eq!(planted.place_of(logical), physical);
                placed.push(logical);
            }
        }
        placed.sort_unstable();
        assert!(placed.into_iter().eq(0..143), "every unit once");
    }
}
