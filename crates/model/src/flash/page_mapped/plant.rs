//! The steady state, without the years that lead to it.
//!
//! What random overwriting leaves behind is told by two things: how many valid units each
//! superblock has, by its age, and that everything else is random. The first is taken from a small
//! twin of the drive, with the same cleaner and the same spare, that is aged for real; the second
//! is computed whenever it is asked for ([`Planted`]), so that a drive of any size is planted at
//! once.

use super::{
    log::{Log, Shape},
    planted::Planted,
    work::Untimed,
};
use block::Rng;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Units of a twin: some tenths of a second of ageing at most.
const TWIN_UNITS_MAX: u64 = 1 << 19;
/// Superblocks of a twin: enough to be more than a few, few enough that each holds many units.
const TWIN_SUPERBLOCKS_MAX: u32 = 512;
/// How often the twin's used space is overwritten after the closed form has been laid out on it.
const TWIN_OVERWRITES: u64 = 2;

/// Used units up to which the layout is written out at once: some tenths of a second, and then a
/// look at a table is quicker than computing.
const WRITTEN_OUT_MAX: u32 = 1 << 22;

/// Twins of which it is known what ageing made of them, most of them 8 KiB or less.
const KNOWN_MAX: usize = 256;

const AGEING: u64 = 0x6167_6569;

/// A closed superblock, as a share of the drive it comes from.
#[derive(Clone, Copy, Debug)]
struct Closed {
    /// Valid share of its units.
    valid: f64,
    /// Units placed on the drive since it was closed, as a multiple of a superblock.
    age: f64,
}

/// What the closed superblocks of a twin hold, oldest first.
type Profile = Arc<[Closed]>;

/// Makes a fresh `log` look as if its first `used` units had been overwritten at random for long.
///
/// # Panics
/// If the log was written to.
#[cold]
pub fn steady_state(log: &mut Log, used: u32, seed: u64) {
    assert!(log.placed == 0, "the past is planted into a fresh drive");
    if used == 0 {
        return;
    }
    let writing = if used <= WRITTEN_OUT_MAX { WriteOut::All } else { WriteOut::Nothing };
    steady_state_as(writing, log, used, seed);
}

/// The same, and how the layout is kept.
pub(super) fn steady_state_as(writing: WriteOut, log: &mut Log, used: u32, seed: u64) {
    let shape = twin_shape(&log.shape);
    // The same share of what holds data, so that the cleaner meets the same victims.
    let share = f64::from(used) / net_units(&log.shape);
    // Two at least: one may lie in the open superblock, of which the profile says nothing.
    let twin_used = ((share * net_units(&shape)) as u32).max(2);
    lay_out(writing, log, &aged(Shape { exported: twin_used, ..shape }, seed), used, seed);
}

/// What a twin that is full holds once it has been aged. A drive that is planted again and again,
/// as for a question that compares many arrays of it, has its twin aged once.
fn aged(shape: Shape, seed: u64) -> Profile {
    static KNOWN: Mutex<BTreeMap<(Shape, u64), Profile>> = Mutex::new(BTreeMap::new());
    // A thread that panicked has left no entry half made.
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(profile) = known().get(&(shape, seed)) {
        return Arc::clone(profile);
    }
    let used = shape.exported;
    let mut twin = Log::new(shape);
    lay_out(WriteOut::All, &mut twin, &closed_form(&shape, used), used, seed);
    age(&mut twin, used, seed);
    let profile = Profile::from(profile(&twin));
    let mut known = known();
    if known.len() >= KNOWN_MAX {
        known.clear();
    }
    known.insert((shape, seed), Arc::clone(&profile));
    profile
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
        let logical = rng.below(u64::from(used)) as u32;
        twin.write(logical, logical + 1, &mut Untimed);
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
fn lay_out(writing: WriteOut, log: &mut Log, profile: &[Closed], used: u32, seed: u64) {
    let shape = log.shape;
    let count = shape.superblocks - shape.reserve;
    let counts = counts(&shape, profile, used);
    let scale = f64::from(count) / profile.len() as f64;
    log.placed = 2 * u64::from(shape.superblocks) * u64::from(shape.units());
    for (number, &valid) in (0..count).zip(&counts) {
        let like = profile[number as usize * profile.len() / count as usize];
        log.valid_in[number as usize] = valid;
        let age = (like.age * scale * f64::from(shape.units())) as u64;
        log.closed_at[number as usize] = log.placed - age.min(log.placed);
        log.victims.insert(number, valid);
        log.wear.erased(number);
    }
    for number in count..shape.superblocks {
        log.wear.erased(number);
    }
    log.free = (count + 1..shape.superblocks).collect();
    log.next = count * shape.units();
    log.end = log.next + shape.units();
    log.mapped = u64::from(used);
    let planted = Planted::new(&counts, shape.units(), seed);
    assert!(planted.used() == used, "{} of {used} units were planted", planted.used());
    match writing {
        WriteOut::All => write_out(log, &planted),
        WriteOut::Nothing => {
            planted.superblocks().for_each(|superblock| log.contents.plant(superblock));
            log.map.plant(planted);
        }
    }
}

/// How a layout is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WriteOut {
    /// In tables.
    All,
    /// It is computed.
    Nothing,
}

fn write_out(log: &mut Log, planted: &Planted) {
    log.map.expect_no_order(planted.used());
    for superblock in planted.superblocks() {
        let start = superblock * log.shape.units();
        for (at, logical) in log.contents.write_out(superblock, planted) {
            log.map.set(logical, start + at);
        }
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
