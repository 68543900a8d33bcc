//! How often a block was asked for, roughly: a counting Bloom filter, whose counts are halved now
//! and then, so that old fame fades.
//!
//! Ten places a block among 14.4 counts for each that the cache holds: an error of a thousandth for
//! as many different blocks (Bloom, 1970). All ten are raised, as in libCacheSim's program; raising
//! the lowest alone would err less where many blocks come once. Where far more blocks come than
//! there are counts for, it is mostly chance who wins; the hash and its seeds are that program's,
//! so that even then a cache here misses what it misses there.

const PLACES: u32 = 10;
/// -ln(0.001) / ln(2)^2.
const COUNTS_A_BLOCK: f64 = 14.377_6;

const SEEDS: [u64; 2] = [0x1234_5678, 0x1234_4321];

#[derive(Debug)]
pub(crate) struct Sketch {
    counts: Vec<u32>,
    hits: u64,
    hits_max: u64,
}

impl Sketch {
    /// For a cache of `capacity` blocks: counts are halved every 32 hits a block of it.
    pub fn new(capacity: usize) -> Self {
        let len = (capacity as f64 * COUNTS_A_BLOCK).ceil() as usize;
        Self {
            counts: vec![0; len.max(2 * PLACES as usize)],
            hits: 0,
            hits_max: 32 * capacity as u64,
        }
    }

    /// Where a block's counts lie.
    #[inline]
    fn places(&self, block: u64) -> impl Iterator<Item = usize> + use<> {
        let (start, step) = (xxh64(block, SEEDS[0]) as u32, xxh64(block, SEEDS[1]) as u32);
        let len = self.counts.len() as u32;
        (0..PLACES)
            .map(move |number| (start.wrapping_add(number.wrapping_mul(step)) % len) as usize)
    }

    /// How often, or somewhat more.
    pub fn estimate(&self, block: u64) -> u32 {
        self.places(block).map(|place| self.counts[place]).min().expect("there are places")
    }

    pub fn add(&mut self, block: u64) {
        for place in self.places(block) {
            self.counts[place] = self.counts[place].saturating_add(1);
        }
    }

    /// Counts a hit towards the next halving.
    pub fn age(&mut self) {
        self.hits += 1;
        if self.hits >= self.hits_max {
            self.hits = 0;
            self.counts.iter_mut().for_each(|count| *count /= 2);
        }
    }
}

/// XXH64 of a number's eight bytes (Collet, xxHash's specification 0.1.1).
fn xxh64(number: u64, seed: u64) -> u64 {
    const PRIMES: [u64; 5] = [
        0x9e37_79b1_85eb_ca87,
        0xc2b2_ae3d_27d4_eb4f,
        0x1656_67b1_9e37_79f9,
        0x85eb_ca77_c2b2_ae63,
        0x27d4_eb2f_1656_67c5,
    ];
    let lane = number.wrapping_mul(PRIMES[1]).rotate_left(31).wrapping_mul(PRIMES[0]);
    let mut hash = seed.wrapping_add(PRIMES[4]).wrapping_add(8) ^ lane;
    hash = hash.rotate_left(27).wrapping_mul(PRIMES[0]).wrapping_add(PRIMES[3]);
    hash = (hash ^ hash >> 33).wrapping_mul(PRIMES[1]);
    hash = (hash ^ hash >> 29).wrapping_mul(PRIMES[2]);
    hash ^ hash >> 32
}
