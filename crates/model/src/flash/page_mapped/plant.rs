//! The steady state, without the years that lead to it.
//!
//! What random overwriting leaves behind is told by two things: how many valid units each
//! superblock has, by its age, and that everything else is random. The first is taken from a small
//! twin of the drive, with the same cleaner and the same spare, that is aged for real; the second
//! is drawn.

use super::{
    log::{Log, Shape},
    work::Untimed,
};
use block::Rng;

/// Units of a twin: some tenths of a second of ageing at most.
const TWIN_UNITS_MAX: u64 = 1 << 19;
/// Superblocks of a twin: enough to be more than a few, few enough that each holds many units.
const TWIN_SUPERBLOCKS_MAX: u32 = 512;
/// How often the twin's used space is overwritten after the closed form has been laid out on it.
const TWIN_OVERWRITES: u64 = 2;

const PLACES: u64 = 0x706c_6163;
const VALID: u64 = 0x7661_6c69;
const AGEING: u64 = 0x6167_6569;

/// A closed superblock, as a share of the drive it comes from.
#[derive(Clone, Copy, Debug)]
struct Closed {
    /// Valid share of its units.
    valid: f64,
    /// Units placed on the drive since it was closed, as a multiple of a superblock.
    age: f64,
}

/// Makes a fresh `log` look as if its first `used` units had been overwritten at random for long.
///
/// # Panics
/// If the log was written to.
pub fn steady_state(log: &mut Log, used: u32, seed: u64) {
    assert!(log.placed == 0, "the past is planted into a fresh drive");
    if used == 0 {
        return;
    }
    let shape = twin_shape(&log.shape);
    // The same share of what holds data, so that the cleaner meets the same victims.
    let share = f64::from(used) / net_units(&log.shape);
    // Two at least: one may lie in the open superblock, of which the profile says nothing.
    let twin_used = ((share * net_units(&shape)) as u32).max(2);
    let mut twin = Log::new(Shape { exported: twin_used, ..shape });
    lay_out(&mut twin, &closed_form(&shape, twin_used), twin_used, seed);
    age(&mut twin, twin_used, seed);
    lay_out(log, &profile(&twin), used, seed);
}

fn net_units(shape: &Shape) -> f64 {
    f64::from(shape.superblocks - shape.reserve) * f64::from(shape.units())
}

/// Fewer superblocks if there are many, smaller ones if they are large.
fn twin_shape(shape: &Shape) -> Shape {
    let superblocks = shape.superblocks.min(TWIN_SUPERBLOCKS_MAX.max(8 * shape.reserve));
    let units = u64::from(shape.units()).min(TWIN_UNITS_MAX / u64::from(superblocks)).max(32);
    Shape {
        superblocks,
        pages_per_block: units as u32,
        planes: 1,
        page_shift: 0,
        wear_spread: u32::MAX,
        ..*shape
    }
}

/// The steady state of FIFO cleaning under uniform random overwriting, oldest first: a unit placed
/// a share x of the log ago is still valid with probability exp(-a (1 - u) x), where a = physical /
/// used and u solves u = exp(-a (1 - u)) (Desnoyers, "Analytic models of SSD write performance",
/// 2014).
fn closed_form(shape: &Shape, used: u32) -> Vec<Closed> {
    let alpha = net_units(shape) / f64::from(used);
    let mut valid_at_end = 0.0;
    // It converges by a factor of alpha u a round, slowest at the smallest spare: to 1e-8 at 1 %.
    for _ in 0..2000 {
        valid_at_end = f64::exp(-alpha * (1.0 - valid_at_end));
    }
    let rate = alpha * (1.0 - valid_at_end);
    let count = shape.superblocks - shape.reserve;
    (0..count)
        .map(|number| {
            let newer = f64::from(count - 1 - number);
            let x = (newer + 0.5) / f64::from(count);
            Closed { valid: f64::exp(-rate * x), age: newer }
        })
        .collect()
}

/// Overwrites the twin at random, to the moment at which a superblock has just been opened.
fn age(twin: &mut Log, used: u32, seed: u64) {
    let mut rng = Rng::new(seed, AGEING);
    let least = TWIN_OVERWRITES * u64::from(used);
    let mut written = 0;
    // A drive with little in it takes long to fill its log once: the profile is there already.
    let units = twin.shape.units();
    while written < least || twin.next != twin.end - units + 1 {
        twin.write(rng.below(u64::from(used)) as u32, &mut Untimed);
        written += 1;
    }
}

/// What the twin's closed superblocks hold, oldest first.
fn profile(twin: &Log) -> Vec<Closed> {
    let units = f64::from(twin.shape.units());
    let mut closed: Vec<u32> = twin.victims.iter().collect();
    closed.sort_unstable_by_key(|&number| twin.closed_at[number as usize]);
    closed
        .into_iter()
        .map(|number| Closed {
            valid: f64::from(twin.valid_in[number as usize]) / units,
            age: (twin.placed - twin.closed_at[number as usize]) as f64 / units,
        })
        .collect()
}

/// Fills all superblocks but the reserve with `used` units, as `profile` says, oldest first.
fn lay_out(log: &mut Log, profile: &[Closed], used: u32, seed: u64) {
    let shape = log.shape;
    let count = shape.superblocks - shape.reserve;
    let counts = counts(&shape, profile, used);
    let places = Permutation::new(used, seed);
    let mut rng = Rng::new(seed, VALID);
    let scale = f64::from(count) / profile.len() as f64;
    log.placed = 2 * u64::from(shape.superblocks) * u64::from(shape.units());
    let mut next = 0;
    for (number, &valid) in (0..count).zip(&counts) {
        let like = profile[number as usize * profile.len() / count as usize];
        place(log, number, next..next + valid, &places, &mut rng);
        next += valid;
        let age = (like.age * scale * f64::from(shape.units())) as u64;
        log.closed_at[number as usize] = log.placed - age.min(log.placed);
        log.victims.insert(number, valid);
        log.wear.erased(number);
    }
    assert!(next == used, "{next} of {used} units were planted");
    for number in count..shape.superblocks {
        log.wear.erased(number);
    }
    log.free = (count + 1..shape.superblocks).collect();
    log.next = count * shape.units();
    log.end = log.next + shape.units();
    log.count_mapped();
}

/// Puts the units with these ranks into one superblock, at places drawn by selection sampling
/// (Knuth, "The Art of Computer Programming", volume 2, algorithm 3.4.2 S).
fn place(
    log: &mut Log,
    number: u32,
    ranks: std::ops::Range<u32>,
    places: &Permutation,
    rng: &mut Rng,
) {
    let units = log.shape.units();
    let start = number * units;
    log.valid_in[number as usize] = ranks.len() as u32;
    let mut ranks = ranks;
    for at in 0..units {
        if rng.below(u64::from(units - at)) >= ranks.len() as u64 {
            continue;
        }
        let logical = places.of(ranks.next().expect("some are left"));
        let physical = start + at;
        log.physical_of[logical as usize] = physical + 1;
        log.logical_of[physical as usize] = logical;
        log.valid[(physical / 64) as usize] |= 1 << (physical % 64);
    }
}

/// How many valid units each superblock gets, so that all together make `used`.
fn counts(shape: &Shape, profile: &[Closed], used: u32) -> Vec<u32> {
    let count = (shape.superblocks - shape.reserve) as usize;
    let units = shape.units();
    let like = |number: usize| profile[number * profile.len() / count].valid;
    let sum: f64 = (0..count).map(like).sum();
    let scale = f64::from(used) / sum;
    let (mut due, mut counts) = (0.0, Vec::with_capacity(count));
    let mut given = 0u32;
    for number in 0..count {
        due += like(number) * scale;
        let valid = ((due.round() as u32).saturating_sub(given)).min(units);
        given += valid;
        counts.push(valid);
    }
    // What a full superblock could not take goes to those that can.
    for valid in counts.iter_mut().rev() {
        let more = (used - given).min(units - *valid);
        *valid += more;
        given += more;
    }
    counts
}

/// Numbers below a bound in random order, without a table: four rounds of a Feistel network on the
/// next even number of bits, walked until it lands inside (Black and Rogaway, "Ciphers with
/// arbitrary finite domains", 2002).
struct Permutation {
    bound: u32,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    fn new(bound: u32, seed: u64) -> Self {
        let mut rng = Rng::new(seed, PLACES);
        let bits = (u32::BITS - (bound - 1).leading_zeros()).max(2);
        Self { bound, half_bits: bits.div_ceil(2), keys: std::array::from_fn(|_| rng.next()) }
    }

    fn of(&self, rank: u32) -> u32 {
        let mut at = u64::from(rank);
        loop {
            at = self.shuffled(at);
            if at < u64::from(self.bound) {
                return at as u32;
            }
        }
    }

    fn shuffled(&self, at: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (at >> self.half_bits, at & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32;
            (left, right) = (right, left ^ (mixed & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_names_every_number_once() {
        for bound in [1, 2, 3, 64, 1000, 4097] {
            let permutation = Permutation::new(bound, 9);
            let mut seen: Vec<u32> = (0..bound).map(|rank| permutation.of(rank)).collect();
            assert!(bound < 64 || seen.windows(2).any(|pair| pair[0] > pair[1]));
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..bound), "{bound}");
        }
    }
}
