//! A controller's cache with a battery, above arrays of drives with volatile caches: what was
//! acknowledged is there, whatever the power does.

mod load;

use crate::array_shelf::Shelf;
use block::{
    Buf, Command, Data, Drive, Durability, Engine, Extent, IoError, Payload, Rng, Stack,
    submit_and_wait,
};
use load::{CHUNK, World, memory};
use model::{
    Array, ArrayParams, BatteryCache, BatteryCacheParams, GatheredRow, Level, Origin, Sim,
};

/// So many lives, each ended by a power cut; at the end all is destaged, and one member is done
/// without. How many sectors hold what they must not, and how many rows have wrong parity.
/// Every other load discards.
fn lives(level: Level, members: u16, seed: u64, keeps: bool) -> (usize, usize) {
    let mut world = World::new(level, members, seed);
    world.discards = seed % 2 == 1;
    let mut lost = 0;
    for life in 0..3 {
        let batches = 3 + world.rng.below(30);
        (0..batches).for_each(|_| world.live(false));
        world.live(true);
        let (next, missing) = world.cut(seed << 2 | life, keeps);
        (world, lost) = (next, lost + missing);
    }
    world.come_to_rest();
    let wrong = world.rows_with_wrong_parity();
    if keeps && level != Level::Raid0 {
        // The write hole: parity that no longer fits is what a lost member would be made of.
        assert!(world.engine.engine.machine.fail((seed % u64::from(members)) as u16));
        lost += world.wrong_sectors();
    }
    (lost, wrong)
}

const ARRAYS: [(Level, u16); 6] = [
    (Level::Raid0, 3),
    (Level::Raid1, 2),
    (Level::Raid10, 4),
    (Level::Raid5, 3),
    (Level::Raid5, 4),
    (Level::Raid5, 6),
];

fn no_acknowledged_write_is_lost(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        for (level, members) in ARRAYS {
            let found = lives(level, members, seed, true);
            assert_eq!(found, (0, 0), "{level:?} of {members}, seed {seed}: sectors, rows");
        }
    }
}

#[test]
fn no_acknowledged_write_is_lost_by_hundreds_of_power_cuts() {
    no_acknowledged_write_is_lost(0..40);
}

/// A power cut in the middle of a discard left a member that had discarded beside one that had not:
/// two copies, or data and parity, differed, and what was written there later was read otherwise
/// when a member was gone. Now the battery remembers the discard, and it is done again.
#[test]
fn a_power_cut_in_a_discard_leaves_copies_and_parity_that_agree() {
    let mut interrupted = 0;
    for seed in 0..40 {
        for (level, members) in ARRAYS {
            let mut world = World::new(level, members, seed);
            world.discards = true;
            (0..6).for_each(|_| world.live(false));
            world.come_to_rest();
            interrupted += u32::from(world.discard_for_moments());
            let (mut world, mut lost) = world.cut(seed, true);
            (0..3).for_each(|_| world.live(false));
            world.come_to_rest();
            assert_eq!(world.rows_with_wrong_parity(), 0, "{level:?} of {members}, seed {seed}");
            if level != Level::Raid0 {
                lost += world.wrong_sectors();
                assert!(world.engine.engine.machine.fail((seed % u64::from(members)) as u16));
                lost += world.wrong_sectors();
            }
            assert_eq!(lost, 0, "{level:?} of {members}, seed {seed}: sectors");
        }
    }
    assert!(interrupted > 60, "{interrupted} of 240 discards");
}

/// `cargo test -p drivelab-model --release -- --ignored battery_cache::`.
#[test]
#[ignore = "minutes"]
fn no_acknowledged_write_is_lost_by_a_hundred_thousand_power_cuts() {
    no_acknowledged_write_is_lost(1_000..6_600);
}

/// The test above can fail: without the battery it finds lost writes and rows whose parity does
/// not fit their data.
#[test]
fn without_the_battery_writes_are_lost_and_the_write_hole_is_open() {
    let (mut lost, mut wrong) = (0, 0);
    for seed in 0..10 {
        let (sectors, rows) = lives(Level::Raid5, 4, seed, false);
        (lost, wrong) = (lost + sectors, wrong + rows);
    }
    assert!(lost > 1_000 && wrong > 0, "{lost} sectors, {wrong} rows");
}

#[test]
fn every_sector_reads_back_under_mixed_load_with_overlapping_writes() {
    let mut seen = model::BatteryCacheCounters::default();
    for (level, members) in ARRAYS {
        for seed in 0..4 {
            let mut world = World::new(level, members, seed);
            world.discards = true;
            (0..150).for_each(|_| world.live(false));
            assert_eq!(world.wrong_sectors(), 0, "{level:?}, out of memory");
            let counters = world.engine.machine.counters();
            seen.waited += counters.waited;
            seen.whole_rows += counters.whole_rows;
            seen.part_rows += counters.part_rows;
            seen.filled_rows += counters.filled_rows;
            world.come_to_rest();
            assert_eq!(world.wrong_sectors(), 0, "{level:?}, from the members");
            assert_eq!(world.rows_with_wrong_parity(), 0, "{level:?} of {members}");
        }
    }
    // The load reaches what it is to test.
    let reached = [seen.waited, seen.whole_rows, seen.part_rows, seen.filled_rows];
    assert!(reached.into_iter().all(|count| count > 20), "{seen:?}");
}

#[test]
fn the_same_load_takes_the_same_time() {
    let ended = |seed| {
        let mut world = World::new(Level::Raid5, 4, seed);
        (0..80).for_each(|_| world.live(false));
        world.come_to_rest();
        (world.engine.now(), world.engine.machine.counters())
    };
    assert_eq!(ended(5), ended(5));
    assert_ne!(ended(5).0, ended(6).0);
}

type Shelved = Stack<BatteryCache, Stack<Array, Sim<Shelf>>>;

/// Four members that log what they are asked for, as RAID-5.
fn shelved(data: Data, set: impl FnOnce(&mut BatteryCacheParams)) -> Shelved {
    let mut shelf = Shelf::new(4, 160 * CHUNK);
    shelf.data = data;
    let sim = Sim::new(shelf);
    let array = ArrayParams { level: Level::Raid5, chunk_bytes: CHUNK as u32 };
    let array = Stack::new(Array::new(array.clone(), &[sim.geometry(Drive(0)); 4]), sim);
    let row = GatheredRow { chunk_bytes: CHUNK, data: 3, parities: 1 };
    let mut params = memory(row);
    set(&mut params);
    let below = array.geometry(Drive(0));
    Stack::new(BatteryCache::new(params, below, Origin::Nothing), array)
}

fn write(offset: u64, bytes: u32) -> Command {
    let from = Payload::Bytes(Buf::zeroed(bytes as usize));
    Command::Write { at: Extent { offset, bytes }, from, durability: Durability::Cached }
}

fn kinds(engine: &Shelved, kind: char) -> usize {
    engine.engine.engine.machine.log.iter().filter(|seen| seen.0 == kind).count()
}

fn rest(engine: &mut Shelved) {
    let mut none = Vec::new();
    while engine.machine.kept().bytes() > 0 {
        let until = engine.now().after(1_000_000);
        engine.wait(until, &mut none);
    }
}

/// The array alone reads before each of these writes.
#[test]
fn sequential_small_writes_become_whole_rows_and_nothing_is_read() {
    let mut engine = shelved(Data::Stored, |_| {});
    let row = 3 * CHUNK;
    for offset in (0..100 * row).step_by(4096) {
        submit_and_wait(&mut engine, write(offset, 4096));
    }
    rest(&mut engine);
    assert_eq!(kinds(&engine, 'r'), 0, "reads of data and parity");
    let counters = engine.machine.counters();
    assert_eq!((counters.whole_rows, counters.part_rows, counters.filled_rows), (100, 0, 0));
    let chunks: u64 = engine.engine.engine.machine.log.iter().map(|seen| u64::from(seen.3)).sum();
    assert_eq!(chunks, 400 * CHUNK, "every chunk and parity once");
}

/// Otherwise a member with a volatile cache could lose what memory has forgotten.
#[test]
fn memory_gives_nothing_up_before_a_flush_of_the_members_has_ended() {
    let mut engine = shelved(Data::Stored, |_| {});
    submit_and_wait(&mut engine, write(0, 3 * CHUNK as u32));
    let mut none = Vec::new();
    while kinds(&engine, 'f') < 4 {
        assert_eq!(engine.machine.kept().bytes(), 3 * CHUNK);
        let until = engine.next_wakeup();
        engine.wait(until, &mut none);
    }
    assert_eq!(kinds(&engine, 'w'), 4);
    rest(&mut engine);
    assert_eq!(engine.machine.counters().flushes, 1);
}

#[test]
fn a_flush_and_a_durable_write_are_answered_from_memory() {
    let mut engine = shelved(Data::Stored, |_| {});
    let at = Extent { offset: 512, bytes: 1024 };
    let from = Payload::Bytes(Buf::zeroed(1024));
    let durable = Command::Write { at, from, durability: Durability::Fua };
    let into = Payload::Bytes(Buf::zeroed(1024));
    for command in [durable, Command::Flush, Command::Read { at, into }] {
        let answer = submit_and_wait(&mut engine, command);
        assert_eq!(answer.result, Ok(()));
        let took = answer.finished.since(answer.issued);
        assert!((10_000..12_000).contains(&took), "{took} ns");
    }
    assert!(engine.engine.engine.machine.log.is_empty(), "the members were asked for something");
}

#[test]
fn what_memory_lacks_of_a_crowded_row_is_read_at_once() {
    let mut engine = shelved(Data::Stored, |_| {});
    // Six lines by themselves would each be read, and their parity, and written.
    for line in [0, 2, 4, 6, 8, 10] {
        submit_and_wait(&mut engine, write(line * 4096, 4096));
    }
    rest(&mut engine);
    assert_eq!((kinds(&engine, 'r'), kinds(&engine, 'w')), (3, 4));
    assert_eq!(engine.machine.counters().filled_rows, 1);
}

/// A controller that cannot write keeps what it has, and lets nobody wait for ever.
#[test]
fn writes_that_will_never_find_room_fail_and_so_does_a_discard() {
    let mut engine = shelved(Data::TimingOnly, |_| {});
    engine.engine.engine.machine.is_gone = vec![true; 4];
    let results: Vec<_> = (0..400)
        .map(|line| {
            let at = Extent { offset: line * 8192, bytes: 4096 };
            let from = Payload::None;
            let command = Command::Write { at, from, durability: Durability::Cached };
            submit_and_wait(&mut engine, command).result
        })
        .collect();
    let lines = memory(GatheredRow { chunk_bytes: CHUNK, data: 3, parities: 1 }).size_bytes / 4096;
    assert!(results[..lines as usize].iter().all(Result::is_ok));
    assert!(results[lines as usize..].iter().all(|result| *result == Err(IoError::Offline)));
    let discard = Command::Discard { offset: 0, len: 3 * CHUNK };
    assert_eq!(submit_and_wait(&mut engine, discard).result, Err(IoError::Offline));
    assert_eq!(submit_and_wait(&mut engine, Command::Flush).result, Ok(()), "the battery has it");
    assert_eq!(engine.machine.kept().bytes(), lines * 4096);
}

/// With room a write takes the controller's time; without it, that of what must be destaged first.
#[test]
fn writes_are_as_fast_as_memory_until_it_is_full() {
    let mut engine = shelved(Data::TimingOnly, |params| params.rows_max = 1);
    let mut rng = Rng::new(4, 4);
    let lines = engine.geometry(Drive(0)).capacity_bytes / 4096;
    let mut took = Vec::new();
    for _ in 0..3_000 {
        let at = Extent { offset: rng.below(lines) * 4096, bytes: 4096 };
        let from = Payload::None;
        let command = Command::Write { at, from, durability: Durability::Cached };
        let answer = submit_and_wait(&mut engine, command);
        took.push(answer.finished.since(answer.issued));
    }
    let mean = |of: &[u64]| of.iter().sum::<u64>() / of.len() as u64;
    let (first, last) = (mean(&took[..100]), mean(&took[2_000..]));
    assert!(first < 15_000 && last > first * 3 / 2, "{first} ns, then {last} ns");
    assert!(engine.machine.counters().waited > 500, "{:?}", engine.machine.counters());
}
