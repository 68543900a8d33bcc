//! Reads: hits, read-ahead, eviction, and direct transfers beside the cache.

use super::drive::{Asked, COST, MIB, bench, open, params, rate, read, run, try_run, write};
use block::{Actor, Command, Drive, Engine, Instant, IoError, Request, Rng, Tag};
use model::{
    FileSystemParams,
    fs::{Caching, Kind, Syncing},
};

const FILE: u64 = 64 * MIB;

fn sequential(record: u64) -> impl Iterator<Item = Command> {
    (0..FILE / record).map(move |at| read(at * record, record as u32))
}

#[test]
fn sequential_reads_run_at_the_rate_of_the_window_whatever_the_record() {
    // Two windows are at the drive at a time, so that it never waits: T = 100 us + 128 KiB / rate
    // each.
    let ideal_ns = COST.of(128 << 10) * (FILE / (128 << 10));
    for record in [4096, 8192, 65_536, 131_072, 1 << 20] {
        let (mut bench, _) = bench(params(Kind::Ext2, 16 * MIB), 1 << 30, COST);
        let ns = run(&mut bench, 0, sequential(record));
        let ratio = ns as f64 / ideal_ns as f64;
        assert!((1.0..1.01).contains(&ratio), "{record} B records: {ratio}");
    }
}

#[test]
fn without_read_ahead_each_read_pays_for_itself() {
    let params = FileSystemParams { read_ahead_bytes: 0, ..params(Kind::Ext2, 16 * MIB) };
    let (mut bench, log) = bench(params, 1 << 30, COST);
    let ns = run(&mut bench, 0, sequential(4096));
    assert_eq!(log.borrow().len() as u64, FILE / 4096);
    let per_read = ns as f64 / (FILE / 4096) as f64 / COST.of(4096) as f64;
    assert!((1.0..1.05).contains(&per_read), "{per_read}");
}

#[test]
fn a_random_read_brings_its_own_pages_and_waits_for_them() {
    let (mut bench, log) = bench(params(Kind::Ext2, 16 * MIB), 1 << 30, COST);
    let mut records: Vec<u64> = (0..FILE / 16_384).collect();
    Rng::new(1, 0).shuffle(&mut records);
    let reads = records.iter().map(|record| read(record * 16_384, 16_384));
    let ns = run(&mut bench, 0, reads);
    let asked: u64 = log
        .borrow()
        .iter()
        .map(|asked| if let Asked::Read { bytes, .. } = asked { u64::from(*bytes) } else { 0 })
        .sum();
    // Now and then the next record is the neighbour, and a window opens.
    assert!((FILE..FILE * 102 / 100).contains(&asked), "{asked}");
    let per_read = ns as f64 / records.len() as f64 / COST.of(16_384) as f64;
    assert!((0.98..1.05).contains(&per_read), "{per_read}");
}

#[test]
fn a_file_that_fits_memory_is_read_from_it_the_second_time_until_the_cache_is_dropped() {
    let (mut bench, log) = bench(params(Kind::Ext2, 80 * MIB), 1 << 30, COST);
    run(&mut bench, 0, sequential(65_536));
    assert_eq!(bench.machine.cached_bytes(0..u64::MAX), FILE);
    log.borrow_mut().clear();
    let ns = run(&mut bench, 0, sequential(65_536));
    assert!(log.borrow().is_empty());
    assert!(rate(FILE, ns) > 1e9, "{} B/s", rate(FILE, ns));
    bench.machine.drop_cache();
    assert_eq!(bench.machine.cached_bytes(0..u64::MAX), 0);
    run(&mut bench, 0, sequential(65_536));
    // The file goes on, and so does read-ahead: by one window.
    assert_eq!(log.borrow().len() as u64, FILE / (128 << 10) + 1);
}

#[test]
fn a_file_of_twice_the_memory_read_again_in_order_never_hits() {
    let (mut bench, log) = bench(params(Kind::Ext2, FILE / 2), 1 << 30, COST);
    run(&mut bench, 0, sequential(65_536));
    let first = log.borrow().len();
    run(&mut bench, 0, sequential(65_536));
    assert_eq!(log.borrow().len(), 2 * first);
}

#[test]
fn random_reads_with_half_of_the_file_in_memory_hit_half_of_the_time() {
    // Reads with repetition: whatever is evicted, half of the file is there.
    let (mut bench, log) = bench(params(Kind::Ext2, FILE / 2), 1 << 30, COST);
    run(&mut bench, 0, sequential(65_536));
    log.borrow_mut().clear();
    let mut rng = Rng::new(2, 0);
    run(&mut bench, 0, (0..20_000).map(|_| read(rng.below(FILE / 4096) * 4096, 4096)));
    let share = log.borrow().len() as f64 / 20_000.0;
    assert!((0.47..0.53).contains(&share), "misses {share}");
}

#[test]
fn dropping_the_cache_keeps_dirty_pages_until_they_are_flushed() {
    let (mut bench, _) = bench(params(Kind::Ext2, 64 * MIB), 1 << 30, COST);
    run(&mut bench, 0, [write(0, 65_536), read(1 << 20, 65_536)]);
    bench.machine.drop_cache();
    assert_eq!(bench.machine.cached_bytes(0..u64::MAX), 65_536);
    run(&mut bench, 0, [Command::Flush]);
    bench.machine.drop_cache();
    assert_eq!(bench.machine.cached_bytes(0..u64::MAX), 0);
}

#[test]
fn a_write_of_part_of_a_page_reads_the_page_first_unless_it_is_new_or_cached() {
    let (mut bench, log) = bench(params(Kind::Ext2, 64 * MIB), 1 << 30, COST);
    run(&mut bench, 0, [write(512, 512)]);
    let start = 1 << 24;
    assert_eq!(*log.borrow(), [Asked::Read { offset: start, bytes: 4096 }]);
    run(&mut bench, 0, [write(1024, 512), write(8192, 4096)]);
    assert_eq!(log.borrow().len(), 1);
    bench.machine.new_file();
    run(&mut bench, 0, (0..100).map(|at| write(at * 512, 512)));
    assert_eq!(log.borrow().len(), 1);
}

#[test]
fn a_page_that_cannot_be_read_fails_who_waits_for_it_and_nobody_else() {
    let (mut bench, _) = bench(params(Kind::Ext2, 64 * MIB), 1 << 30, COST);
    bench.engine.machine.unreadable_from = (1 << 24) + MIB;
    assert_eq!(try_run(&mut bench, 0, [read(MIB - 4096, 4096)]), Ok(()));
    assert_eq!(try_run(&mut bench, 0, [read(MIB, 4096)]), Err(IoError::Medium));
    // Its last page is completed from the drive.
    assert_eq!(try_run(&mut bench, 0, [write(MIB - 4096, 4096 + 512)]), Err(IoError::Medium));
    assert_eq!(try_run(&mut bench, 0, [write(MIB, 4096), read(MIB, 4096)]), Ok(()));
    bench.machine.set_open(Actor(1), Caching::Direct, Syncing::None);
    assert_eq!(try_run(&mut bench, 1, [read(8 * MIB, 4096)]), Err(IoError::Medium));
}

#[test]
fn direct_transfers_pass_through_in_pieces_and_leave_nothing_in_memory() {
    let (mut bench, log) = bench(params(Kind::Ext2, 64 * MIB), 1 << 30, COST);
    open(&mut bench, Caching::Direct, Syncing::None);
    let ns = run(&mut bench, 0, [read(4096, 4096)]);
    assert_eq!(ns, COST.of(4096) + params(Kind::Ext2, 64 * MIB).call_ns);
    run(&mut bench, 0, [write(0, 128 << 20)]);
    assert_eq!(log.borrow().len(), 1 + 256);
    assert!(log.borrow()[1..].iter().all(|a| matches!(a, Asked::Write { bytes: 524_288, .. })));
    assert_eq!(bench.machine.cached_bytes(0..u64::MAX), 0);
}

#[test]
fn a_direct_read_finds_on_the_drive_what_was_written_through_the_cache() {
    let (mut bench, log) = bench(params(Kind::Ext2, 64 * MIB), 1 << 30, COST);
    bench.machine.set_open(Actor(1), Caching::Direct, Syncing::None);
    run(&mut bench, 0, [write(0, 4096)]);
    run(&mut bench, 1, [read(0, 4096)]);
    let offset = 1 << 24;
    let bytes = 4096;
    assert_eq!(*log.borrow(), [Asked::Write { offset, bytes }, Asked::Read { offset, bytes }]);
}

#[test]
fn forty_actors_at_once_are_all_served() {
    let params = FileSystemParams { queued_requests_max: 4, ..params(Kind::Ext4, MIB) };
    let (mut bench, _) = bench(params, 1 << 30, COST);
    let mut rng = Rng::new(9, 0);
    for actor in 0..40 {
        let caching = if actor % 2 == 0 { Caching::Direct } else { Caching::Buffered };
        let syncing = if actor % 5 == 0 { Syncing::Sync } else { Syncing::None };
        bench.machine.set_open(Actor(actor), caching, syncing);
    }
    let (mut left, mut done, mut served) = (4_000, Vec::new(), [0; 40]);
    let mut submit = |bench: &mut super::drive::Bench, actor: u16| {
        let offset = rng.below(FILE / 65_536) * 65_536;
        let command = match rng.below(10) {
            0 => Command::Flush,
            1..=4 => write(offset, 65_536),
            5 => write(offset + 512, 1024),
            _ => read(offset, 65_536),
        };
        let (tag, actor) = (Tag(u64::from(actor)), Actor(actor));
        bench.submit(Request { tag, actor, drive: Drive(0), command });
    };
    (0..40).for_each(|actor| submit(&mut bench, actor));
    while left > 0 {
        bench.wait(Instant::NEVER, &mut done);
        for completion in done.drain(..) {
            assert!(completion.result.is_ok());
            served[completion.tag.0 as usize] += 1;
            left -= 1;
            if left >= 40 {
                submit(&mut bench, completion.tag.0 as u16);
            }
        }
    }
    assert!(served.iter().all(|&count| count > 20), "{served:?}");
}
