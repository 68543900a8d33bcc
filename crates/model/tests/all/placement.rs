//! Flash beside disks, each byte in one place: what is asked for comes back while extents move, and
//! what a power cut leaves.

use crate::flash_beside::{DISK_SECTORS, Drives, Layer, SECTOR, World};
use block::{Actor, Command, Drive, Engine, Instant, Machine, Request, Rng};
use model::{BadMap, Pin, PinParams, Tier, TierCounters, TierParams};

const DISK_BYTES: u64 = DISK_SECTORS * SECTOR;

impl Layer for TierParams {
    type Machine = Tier;
    const HOT_MOVES: bool = true;

    fn flash_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn sectors(&self) -> u64 {
        let (disks, flash) = self.places(DISK_BYTES);
        (disks + flash - 1) * self.extent_bytes / SECTOR
    }

    /// What is written to the map, and the flushes of flash.
    fn may_fail(&self, request: &Request) -> bool {
        let is_own = request.actor == Actor(u16::MAX) && request.drive == Drive(1);
        is_own
            && match request.command {
                Command::Write { at, .. } => at.offset < self.data_at(DISK_BYTES),
                Command::Flush => true,
                _ => false,
            }
    }

    fn open(&self, engine: &mut Drives) -> Tier {
        Tier::open(*self, engine).unwrap_or_else(|bad| panic!("{bad}"))
    }
}

impl Layer for PinParams {
    type Machine = Pin;
    const HOT_MOVES: bool = true;

    fn flash_bytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn sectors(&self) -> u64 {
        DISK_SECTORS
    }

    fn may_fail(&self, _: &Request) -> bool {
        false
    }

    fn open(&self, engine: &mut Drives) -> Pin {
        Pin::new(self.clone(), engine.geometry(Drive(0)), engine.geometry(Drive(1)))
    }
}

fn tier(seed: u64) -> TierParams {
    let mut rng = Rng::new(seed, 3);
    let extent_bytes = [16 << 10, 32 << 10, 64 << 10][rng.below(3) as usize];
    TierParams {
        size_bytes: extent_bytes * (6 + rng.below(20)) + (64 << 10),
        extent_bytes,
        epoch_ns: 500_000 + rng.below(2_000_000),
    }
}

fn and(sum: TierCounters, more: TierCounters) -> TierCounters {
    TierCounters {
        flash_bytes: sum.flash_bytes + more.flash_bytes,
        disks_bytes: sum.disks_bytes + more.disks_bytes,
        promoted: sum.promoted + more.promoted,
        demoted: sum.demoted + more.demoted,
        moved_bytes: sum.moved_bytes + more.moved_bytes,
        failed_moves: sum.failed_moves + more.failed_moves,
    }
}

/// Three lives, each ended by a power cut; how many sectors were lost.
fn three_lives(seed: u64, one_in: Option<u64>) -> (usize, TierCounters) {
    let params = tier(seed);
    let mut world = World::new(params, seed, None, one_in);
    let (mut lost, mut counters) = (0, TierCounters::default());
    for life in 0..3 {
        let batches = 5 + world.rng.below(60);
        (0..batches).for_each(|_| world.live(false));
        world.live(true);
        counters = and(counters, world.engine.machine.counters());
        let (next, missing) = world.cut(seed << 2 | life);
        (world, lost) = (next, lost + missing);
    }
    (lost, counters)
}

/// Every read of these lives is compared with the latest write, sector by sector.
#[test]
fn what_was_written_is_read_while_extents_move() {
    let mut sum = TierCounters::default();
    for seed in 0..60 {
        let mut world = World::new(tier(seed), seed, None, None);
        (0..250).for_each(|_| world.live(false));
        sum = and(sum, world.engine.machine.counters());
    }
    assert!(sum.promoted > 500 && sum.demoted > 500, "{sum:?}");
    assert!(sum.flash_bytes > 1 << 20 && sum.disks_bytes > 1 << 20, "{sum:?}");
    assert_eq!(sum.failed_moves, 0);
}

#[test]
fn no_flushed_write_is_lost_by_power_cuts_while_extents_move() {
    let mut sum = TierCounters::default();
    for seed in 0..300 {
        let (lost, counters) = three_lives(seed, None);
        assert_eq!(lost, 0, "seed {seed}");
        sum = and(sum, counters);
    }
    assert!(sum.promoted > 500 && sum.demoted > 300, "{sum:?}");
}

/// A record that fails may be on flash or not: the old place counts, and a power cut finds the
/// right bytes in whichever place the map names.
#[test]
fn no_flushed_write_is_lost_when_records_of_moves_fail() {
    let mut sum = TierCounters::default();
    for seed in 0..300 {
        let (lost, counters) = three_lives(seed, Some(3));
        assert_eq!(lost, 0, "seed {seed}");
        sum = and(sum, counters);
    }
    assert!(sum.failed_moves > 500 && sum.promoted > 200, "{sum:?}");
}

/// `cargo test -p drivelab-model --release -- --ignored a_hundred_thousand_power_cuts`.
#[test]
#[ignore = "minutes"]
fn no_flushed_write_is_lost_from_a_tier_by_a_hundred_thousand_power_cuts() {
    for seed in 1_000..18_000 {
        for one_in in [None, Some(3)] {
            let (lost, _) = three_lives(seed, one_in);
            assert_eq!(lost, 0, "seed {seed}, {one_in:?}");
        }
    }
}

#[test]
fn a_move_whose_record_fails_does_not_happen_and_is_counted() {
    let mut world = World::new(tier(1), 1, None, Some(1));
    (0..200).for_each(|_| world.live(false));
    let seen = world.engine.machine.counters();
    assert!(seen.failed_moves > 10, "{seen:?}");
    assert_eq!((seen.promoted, seen.demoted), (0, 0), "{seen:?}");
}

#[test]
fn a_pinned_range_lies_on_flash_and_the_rest_on_the_disks() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed, 3);
        let first = rng.below(DISK_SECTORS / 2) * SECTOR;
        let range = first..first + (1 + rng.below(DISK_SECTORS / 2)) * SECTOR;
        let mut world = World::new(PinParams { range }, seed, None, None);
        let mut lost = 0;
        for life in 0..2 {
            (0..40).for_each(|_| world.live(false));
            world.live(true);
            let (next, missing) = world.cut(seed << 1 | life);
            (world, lost) = (next, lost + missing);
        }
        assert_eq!(lost, 0, "seed {seed}");
    }
}

/// Nobody asks for anything: no epoch goes on, and no alarm rings for ever.
#[test]
fn an_idle_tier_comes_to_rest() {
    let mut world = World::new(tier(2), 2, None, None);
    (0..100).for_each(|_| world.live(false));
    let mut rings = 0;
    while world.engine.machine.next_wakeup() != Instant::NEVER {
        let next = world.engine.machine.next_wakeup();
        world.engine.wait(next, &mut Vec::new());
        rings += 1;
        assert!(rings < 3, "an alarm after the last epoch");
    }
}

/// The same media under a tier of another size: its map is not taken for this one's.
#[test]
fn another_tiers_map_is_refused() {
    let params = tier(3);
    let world = World::new(params, 3, None, None);
    let mut drives = world.engine.engine.inner;
    let other = TierParams { size_bytes: params.size_bytes - params.extent_bytes, ..params };
    assert_eq!(Tier::open(other, &mut drives).err(), Some(BadMap::Other));
    assert!(Tier::open(params, &mut drives).is_ok());
}
