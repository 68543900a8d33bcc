//! Tests of the log from inside: after anything that may happen to it, all its tables tell the
//! same.

use super::{
    log::{Log, Shape},
    params::Cleaning,
    plant::{WriteOut, steady_state, steady_state_as},
    work::{Origin, Untimed, Work},
};
use block::Rng;
use std::collections::BTreeMap;

const POLICIES: [Cleaning; 3] = [Cleaning::Fifo, Cleaning::Greedy, Cleaning::CostBenefit];

/// 40 superblocks of an odd number of units, not a multiple of 64.
fn shape(cleaning: Cleaning) -> Shape {
    Shape {
        exported: 3_000,
        superblocks: 40,
        pages_per_block: 9,
        planes: 5,
        page_shift: 1,
        reserve: 2,
        cleaning,
        wear_spread: 20,
    }
}

/// Every logical unit's place, having checked that all tables agree on it.
fn places(log: &Log) -> BTreeMap<u32, u32> {
    let units = log.shape.units();
    let mut places = BTreeMap::new();
    let mut valid_in = vec![0; log.shape.superblocks as usize];
    for logical in 0..log.shape.exported {
        let Some(physical) = log.find(logical) else { continue };
        let (superblock, at) = (physical / units, physical % units);
        assert_eq!(log.contents.logical_or_planted(superblock, at, &log.map), logical);
        assert!(log.map.is_at(logical, physical));
        valid_in[superblock as usize] += 1;
        places.insert(logical, physical);
    }
    assert_eq!(valid_in, log.valid_in);
    // The places of the open superblock that are still to be filled hold nothing yet.
    let open = log.next.saturating_sub(1) / units;
    let known = |superblock: &u32| *superblock != open && !log.contents.is_planted(*superblock);
    for superblock in (0..log.shape.superblocks).filter(known) {
        let words = (0..units).step_by(64);
        let found = words.map(|at| log.contents.still_there(superblock, at, &log.map).count_ones());
        assert_eq!(found.sum::<u32>(), valid_in[superblock as usize], "no other place is valid");
    }
    assert_eq!(log.mapped(), places.len() as u64);
    assert!(log.free.iter().all(|&free| log.valid_in[free as usize] == 0));
    places
}

/// Everything that was asked of flash, in order.
#[derive(Default)]
struct Told(Vec<(&'static str, u32)>);

impl Work for Told {
    fn read(&mut self, page: u32) {
        self.0.push(("read", page));
    }

    fn program(&mut self, page: u32, origin: Origin) {
        self.0.push((if origin == Origin::Host { "host" } else { "cleaner" }, page));
    }

    fn erase(&mut self, plane: u32) {
        self.0.push(("erase", plane));
    }
}

/// A step of a user, the same on every log.
#[derive(Clone, Copy)]
enum Step {
    Write(u32, u32),
    Discard(u32, u32),
    Pad,
}

impl Step {
    /// Mostly random writes, or mostly long ones in order.
    fn drawn(rng: &mut Rng, exported: u32, longest: u64) -> Self {
        let first = rng.below(u64::from(exported)) as u32;
        let end = (first + 1 + rng.below(longest) as u32).min(exported);
        match rng.below(60) {
            0 => Self::Discard(first, (first + rng.below(300) as u32).min(exported)),
            1 => Self::Pad,
            2 if rng.below(20) == 0 => Self::Discard(0, exported),
            _ => Self::Write(first, end),
        }
    }

    fn take(self, log: &mut Log, work: &mut impl Work) {
        match self {
            Self::Write(first, end) => log.write(first, end, work),
            Self::Discard(first, end) => log.discard(first, end),
            Self::Pad => log.pad(work),
        }
    }
}

/// Two logs that must not be told apart take the same steps.
fn stay_alike(
    mut logs: [Log; 2],
    steps: usize,
    mut rng: Rng,
    other: impl Fn(Step, &mut Log, &mut Told),
) {
    for step in 0..steps {
        // Epochs of long writes in order, and of short ones.
        let longest = if step / 500 % 2 == 0 { 1 } else { 400 };
        let next = Step::drawn(&mut rng, logs[0].shape.exported, longest);
        let mut told = [Told::default(), Told::default()];
        next.take(&mut logs[0], &mut told[0]);
        other(next, &mut logs[1], &mut told[1]);
        assert_eq!(told[0].0, told[1].0, "step {step}");
        if step % 500 == 0 {
            assert_eq!(places(&logs[0]), places(&logs[1]), "step {step}");
        }
    }
    assert_eq!(logs[0].counters, logs[1].counters);
    assert_eq!(logs[0].wear.summary(), logs[1].wear.summary());
    assert_eq!(places(&logs[0]), places(&logs[1]));
}

#[test]
fn units_written_as_one_run_are_as_if_written_one_by_one() {
    for cleaning in POLICIES {
        let logs = [0; 2].map(|_| Log::new(shape(cleaning)));
        stay_alike(logs, 8_000, Rng::new(4, 0), |step, log, told| match step {
            Step::Write(first, end) => {
                (first..end).for_each(|logical| log.write(logical, logical + 1, told));
            }
            step => step.take(log, told),
        });
    }
}

#[test]
fn a_layout_that_is_computed_is_the_one_that_is_written_out() {
    for cleaning in POLICIES {
        for used in [1, 700, 1_024, 2_500, 3_000] {
            let logs = [WriteOut::Nothing, WriteOut::All].map(|writing| {
                let mut log = Log::new(shape(cleaning));
                steady_state_as(writing, &mut log, used, 6);
                log
            });
            stay_alike(logs, 4_000, Rng::new(5, 0), |step, log, told| step.take(log, told));
        }
    }
}

#[test]
fn writing_trimming_and_padding_keep_all_tables_in_step() {
    for cleaning in POLICIES {
        let (mut log, mut rng) = (Log::new(shape(cleaning)), Rng::new(8, 0));
        let mut mapped = vec![false; 3_000];
        for step in 0..60_000 {
            let logical = rng.below(3_000) as u32;
            match rng.below(40) {
                0 => {
                    let end = (logical + rng.below(40) as u32).min(3_000);
                    log.discard(logical, end);
                    mapped[logical as usize..end as usize].fill(false);
                }
                1 => log.pad(&mut Untimed),
                _ => {
                    log.write(logical, logical + 1, &mut Untimed);
                    mapped[logical as usize] = true;
                }
            }
            if step % 1_000 == 0 {
                let places = places(&log);
                assert!((0..3_000).all(|unit| places.contains_key(&unit) == mapped[unit as usize]));
            }
        }
    }
}

#[test]
fn the_last_place_given_is_where_a_unit_lies() {
    let (mut log, mut rng) = (Log::new(shape(Cleaning::Greedy)), Rng::new(2, 0));
    for _ in 0..20_000 {
        let logical = rng.below(3_000) as u32;
        log.write(logical, logical + 1, &mut Untimed);
        assert_eq!(log.find(logical), Some(log.next - 1));
    }
}

#[test]
fn a_planted_log_is_in_step_at_any_share_of_use() {
    for cleaning in POLICIES {
        for used in [0, 1, 2, 7, 89, 90, 500, 1_500, 2_999, 3_000] {
            let mut log = Log::new(shape(cleaning));
            steady_state(&mut log, used, 6);
            let planted = places(&log);
            assert!(planted.into_keys().eq(0..used), "the first {used} units");
            let mut rng = Rng::new(3, 0);
            for _ in 0..10_000 {
                let logical = rng.below(3_000) as u32;
                log.write(logical, logical + 1, &mut Untimed);
            }
            places(&log);
        }
    }
}
