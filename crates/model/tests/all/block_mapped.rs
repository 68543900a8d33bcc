//! A block-mapped drive, one mechanism a test. Expected times are sums of its parameters.

use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Tag,
};
use model::{BlockMapped, BlockMappedParams, Sim, WriteCaching};

const KIB: u64 = 1024;
const MERGE_NS: u64 = 8_000_000;

/// Round numbers: 100 us a command, 1 ns a byte read, 10 ns a byte written, 5 us a KiB copied.
fn params() -> BlockMappedParams {
    BlockMappedParams {
        capacity_bytes: 64 << 20,
        command_ns: 100_000,
        read_bytes_per_s: 1_000_000_000,
        granule_bytes: 8192,
        stream_read_bytes_per_s: Some(500_000_000),
        unit_bytes: 1 << 20,
        merge_ns: MERGE_NS,
        merge_free_bytes: 64 * KIB,
        write_bytes_per_s: 100_000_000,
        saved_from_bytes: 256 * KIB,
        copy_ns_per_kib: 5_000,
        buffer_lines: 8,
        write_caching: WriteCaching::On,
    }
}

struct Bench {
    sim: Sim<BlockMapped>,
    done: Vec<Completion>,
}

impl Bench {
    fn new(params: BlockMappedParams) -> Self {
        Self { sim: Sim::new(BlockMapped::new(params, 64)), done: Vec::new() }
    }

    fn submit(&mut self, tag: u64, command: Command) {
        let (tag, actor) = (Tag(tag), Actor(0));
        self.sim.submit(Request { tag, actor, drive: Drive(0), command });
    }

    /// How long one command takes by itself, ns.
    fn time(&mut self, command: Command) -> u64 {
        let begun = self.sim.now();
        self.submit(0, command);
        self.done.clear();
        self.sim.wait(Instant::NEVER, &mut self.done);
        assert_eq!(self.done.len(), 1);
        assert_eq!((self.done[0].issued, self.done[0].result), (begun, Ok(())));
        self.done[0].finished.since(begun)
    }

    /// Random writes of so many bytes, one at a time, until the buffer is full and merges set the
    /// pace; then the time from one acknowledgement to the next.
    fn sustained_ns(&mut self, bytes: u64) -> u64 {
        let count = 200;
        let mut elapsed = 0;
        for number in 0..2 * count {
            let offset = number * 37 % 60 * (1 << 20) + 4096;
            let ns = self.time(write(offset, bytes));
            elapsed += if number < count { 0 } else { ns };
        }
        elapsed / count
    }
}

fn read(offset: u64, bytes: u64) -> Command {
    Command::Read { at: Extent { offset, bytes: bytes as u32 }, into: Payload::None }
}

fn write(offset: u64, bytes: u64) -> Command {
    let at = Extent { offset, bytes: bytes as u32 };
    Command::Write { at, from: Payload::None, durability: Durability::Cached }
}

fn write_through(offset: u64, bytes: u64) -> Command {
    let at = Extent { offset, bytes: bytes as u32 };
    Command::Write { at, from: Payload::None, durability: Durability::Fua }
}

#[test]
fn a_read_costs_its_command_and_its_bytes_and_at_least_a_granule() {
    let mut bench = Bench::new(params());
    assert_eq!(bench.time(read(1 << 20, 64 * KIB)), 100_000 + 65_536);
    assert_eq!(bench.time(read(9 << 20, 4096)), 100_000 + 8192);
}

#[test]
fn a_read_that_goes_on_costs_its_bytes_alone() {
    let mut bench = Bench::new(params());
    bench.time(read(1 << 20, 4096));
    assert_eq!(bench.time(read((1 << 20) + 4096, 4096)), 2 * 4096);
}

#[test]
fn commands_are_served_one_at_a_time() {
    let mut bench = Bench::new(params());
    (0..3).for_each(|tag| bench.submit(tag, read(tag * (9 << 20), 8192)));
    let mut finished = Vec::new();
    while finished.len() < 3 {
        bench.sim.wait(Instant::NEVER, &mut bench.done);
        finished.extend(bench.done.drain(..).map(|done| (done.tag.0, done.finished.0)));
    }
    assert_eq!(finished, [(0, 108_192), (1, 216_384), (2, 324_576)]);
}

#[test]
fn a_write_is_acknowledged_on_receipt_while_a_line_is_free_and_then_at_the_pace_of_merges() {
    let mut bench = Bench::new(params());
    for line in 0..8 {
        assert_eq!(bench.time(write(line * (1 << 20), 4096)), 100_000 + 4096);
    }
    let ninth = bench.time(write(20 << 20, 4096));
    // The first line was received at 104,096 and is merged 8 ms later; the ninth write comes then.
    assert_eq!(bench.sim.now().0, 104_096 + MERGE_NS + 4096);
    assert!(ninth > 100_000 + 4096);
    assert_eq!(bench.sustained_ns(4096), MERGE_NS);
}

/// The curve of the module's picture, point by point.
#[test]
fn a_run_is_merged_then_programmed_then_saves_copies() {
    let program = |bytes: u64| bytes * 10;
    let cases = [
        (512, MERGE_NS),
        (64 * KIB, MERGE_NS),
        (128 * KIB, MERGE_NS + program(64 * KIB)),
        (256 * KIB, MERGE_NS + program(192 * KIB)),
        (512 * KIB, MERGE_NS + program(448 * KIB) - 256 * 5_000),
        (1024 * KIB, MERGE_NS + program(960 * KIB) - 768 * 5_000),
        // Beyond a unit nothing is left to save.
        (2048 * KIB, MERGE_NS + program(1984 * KIB) - 768 * 5_000),
    ];
    for (bytes, expected) in cases {
        let seen = Bench::new(params()).sustained_ns(bytes);
        assert!(seen.abs_diff(expected) <= 100, "{bytes}: {seen}, expected {expected}");
    }
}

#[test]
fn a_stream_of_writes_goes_at_the_linear_rate() {
    let mut bench = Bench::new(params());
    let mut elapsed = 0;
    for number in 0..512 {
        let ns = bench.time(write(number * 64 * KIB, 64 * KIB));
        elapsed += if number < 256 { 0 } else { ns };
    }
    let expected = 256 * 64 * KIB * 10;
    assert!(elapsed.abs_diff(expected) < expected / 100, "{elapsed}, expected {expected}");
}

#[test]
fn a_flush_waits_until_the_buffer_is_empty() {
    let mut bench = Bench::new(params());
    (0..4).for_each(|line| _ = bench.time(write(line * (1 << 20), 4096)));
    bench.time(Command::Flush);
    assert_eq!(bench.sim.now().0, 104_096 + 4 * MERGE_NS);
    assert_eq!(bench.time(Command::Flush), 100_000);
}

#[test]
fn a_write_through_and_every_write_without_the_cache_wait_for_their_merge() {
    let expected = 100_000 + 4096 + MERGE_NS;
    assert_eq!(Bench::new(params()).time(write_through(1 << 20, 4096)), expected);
    let without = BlockMappedParams { write_caching: WriteCaching::Off, ..params() };
    assert_eq!(Bench::new(without).time(write(1 << 20, 4096)), expected);
}

#[test]
fn reads_pass_the_buffer_but_not_a_write_that_waits_for_room() {
    let mut bench = Bench::new(params());
    (0..8).for_each(|line| _ = bench.time(write(line * (1 << 20), 4096)));
    assert_eq!(bench.time(read(40 << 20, 8192)), 108_192, "lines are full, the interface is free");
    bench.submit(1, write(41 << 20, 4096));
    bench.submit(2, read(42 << 20, 8192));
    bench.done.clear();
    while bench.done.len() < 2 {
        bench.sim.wait(Instant::NEVER, &mut bench.done);
    }
    assert_eq!(bench.done[0].tag, Tag(1));
    assert_eq!(bench.done[1].finished.since(bench.done[0].finished), 108_192);
}

#[test]
fn a_discarded_unit_takes_its_first_write_without_a_merge() {
    let mut bench = Bench::new(params());
    bench.time(Command::Discard { offset: 2 << 20, len: 2 << 20 });
    let programmed = 4096 * 10;
    assert_eq!(bench.time(write_through(2 << 20, 4096)), 100_000 + 4096 + programmed);
    assert_eq!(bench.time(write_through(2 << 20, 4096)), 100_000 + 4096 + MERGE_NS);
}

#[test]
fn every_merge_and_every_unit_that_a_run_enters_is_an_erasure() {
    let mut bench = Bench::new(params());
    (0..3).for_each(|_| _ = bench.time(write(5 << 20, 4096)));
    bench.time(write(8 << 20, 3 << 20));
    let counts = bench.sim.machine.erase_counts();
    assert_eq!((counts[5], &counts[8..12]), (3, [1, 1, 1, 0].as_slice()));
    assert_eq!(counts.iter().sum::<u32>(), 6);
}

#[test]
#[should_panic(expected = "outside of the drive")]
fn a_read_beyond_the_end_is_a_bug_of_the_caller() {
    Bench::new(params()).time(read(64 << 20, 512));
}
