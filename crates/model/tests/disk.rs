//! A modelled disk against what its physics says: seek curve, revolution and zone rate are computed here,
//! from the parameters alone.

use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, IoError, Payload,
    Request, Rng, Tag,
};
use model::{Disk, DiskParams, Shingling, Sim, Witness, WriteCaching};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A 7,200 rpm SATA disk of 1 TB as of 2008.
fn sata_7200() -> DiskParams {
    DiskParams {
        capacity_bytes: 1_000_204_886_016,
        sector_bytes: 512,
        rpm: 7200,
        surfaces: 6,
        outer_bytes_per_s: 107_000_000,
        inner_bytes_per_s: 55_000_000,
        zones: 16,
        track_to_track_ns: 800_000,
        average_seek_ns: 8_900_000,
        full_stroke_ns: 18_000_000,
        settle_ns: None,
        write_settle_ns: 500_000,
        command_ns: 10_000,
        link_bytes_per_s: 300_000_000,
        command_queue_depth: 1,
        age_limit_ns: 1_000_000_000,
        read_segments: 16,
        read_segment_bytes: 1 << 20,
        prefetch_min_bytes: 0,
        write_caching: WriteCaching::On,
        write_cache_bytes: 16 << 20,
        write_cache_commands: 32,
        shingling: None,
    }
}

const REVOLUTION_NS: f64 = 60e9 / 7200.0;

fn read(offset: u64, bytes: u32) -> Command {
    Command::Read { at: Extent { offset, bytes }, into: Payload::None }
}

fn write(offset: u64, bytes: u32) -> Command {
    let (at, from) = (Extent { offset, bytes }, Payload::None);
    Command::Write { at, from, durability: Durability::Cached }
}

fn submit(engine: &mut impl Engine, tag: u64, command: Command) {
    engine.submit(Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command });
}

/// Keeps `depth` requests outstanding until `count` have completed; says how long that took, ns.
fn run(
    engine: &mut impl Engine,
    depth: u64,
    count: u64,
    mut next: impl FnMut(u64) -> Command,
) -> f64 {
    let (start, mut done) = (engine.now(), Vec::new());
    let (mut submitted, mut completed) = (0, 0);
    while completed < count {
        while submitted < count && submitted - completed < depth {
            submit(engine, submitted, next(submitted));
            submitted += 1;
        }
        engine.wait(Instant::NEVER, &mut done);
        for Completion { issued, finished, result, .. } in done.drain(..) {
            assert!(result.is_ok() && issued < finished);
            completed += 1;
        }
    }
    engine.now().since(start) as f64
}

fn sim(params: &DiskParams) -> Sim<Disk> {
    Sim::new(Disk::new(params.clone(), 1024))
}

fn random(seed: u64, span: u64, bytes: u32) -> impl FnMut(u64) -> u64 {
    let mut rng = Rng::new(seed, 0);
    move |_| rng.below(span / u64::from(bytes)) * u64::from(bytes)
}

fn assert_near(seen: f64, expected: f64, percent: f64, what: &str) {
    let error = (seen / expected - 1.0) * 100.0;
    println!("{what}: {seen:.1}, expected {expected:.1}, {error:+.2} %");
    assert!(error.abs() <= percent, "{what}: {seen} for {expected}, {error:+.2} %");
}

/// Mean seek between two random cylinders of `span` of `cylinders`, ns: the curve over the triangular density
/// of distances, 2 (n - d) / n^2.
fn mean_seek_ns(params: &DiskParams, cylinders: f64, span: f64) -> f64 {
    let stroke = cylinders - 1.0;
    let knee = stroke / 3.0;
    let (next, average) = (params.track_to_track_ns as f64, params.average_seek_ns as f64);
    let full = params.full_stroke_ns as f64;
    let slope = (average - next) / (knee.sqrt() - 1.0);
    let seek = |distance: f64| {
        if distance < knee {
            next + slope * (distance.sqrt() - 1.0)
        } else {
            average + (full - average) * (distance - knee) / (stroke - knee)
        }
    };
    let count = span as u64;
    (1..count).map(|d| 2.0 * (span - d as f64) / (span * span) * seek(d as f64)).sum::<f64>()
        + next / span
}

/// One zone and no read-ahead: cylinders are equally likely and nothing is remembered.
fn plain() -> DiskParams {
    DiskParams { inner_bytes_per_s: 107_000_000, zones: 1, read_segments: 0, ..sata_7200() }
}

fn cylinder_bytes(params: &DiskParams) -> f64 {
    let skew_ns = (params.track_to_track_ns + params.write_settle_ns) as f64;
    let track = params.outer_bytes_per_s as f64 * (REVOLUTION_NS + skew_ns) / 1e9;
    track * f64::from(params.surfaces)
}

fn random_reads_take_seek_and_half_a_revolution(params: &DiskParams, span: u64, bytes: u32) {
    let count = 20_000;
    let mut offset = random(3, span, bytes);
    let seen = run(&mut sim(params), 1, count, |n| read(offset(n), bytes)) / count as f64;
    let cylinder = cylinder_bytes(params);
    let cylinders = params.capacity_bytes as f64 / cylinder;
    let seek = mean_seek_ns(params, cylinders, (span as f64 / cylinder).round());
    // The sustained rate: now and then a track ends within the transfer.
    let transfer = f64::from(bytes) / params.outer_bytes_per_s as f64 * 1e9;
    let expected = params.command_ns as f64 + seek + REVOLUTION_NS / 2.0 + transfer;
    assert_near(seen, expected, 2.0, &format!("{bytes} B over {} GiB", span / GIB));
}

#[test]
fn random_reads_take_a_mean_seek_half_a_revolution_and_the_transfer() {
    let params = plain();
    for span in [params.capacity_bytes, 4 * GIB, 64 * GIB] {
        for bytes in [4096, 65_536] {
            random_reads_take_seek_and_half_a_revolution(&params, span, bytes);
        }
    }
}

#[test]
fn sequential_transfers_run_at_the_rate_of_the_zone_whatever_their_size() {
    let params = sata_7200();
    let last_zone = params.capacity_bytes - 2 * GIB;
    for (start, rate) in [(0, params.outer_bytes_per_s), (last_zone, params.inner_bytes_per_s)] {
        for bytes in [4096, 65_536, 1 << 20] {
            let count = 512 * MIB / u64::from(bytes);
            let at = |n| start + n * u64::from(bytes);
            let expected = 512.0 * MIB as f64 / rate as f64 * 1e9;
            let seen = run(&mut sim(&params), 1, count, |n| read(at(n), bytes));
            assert_near(seen, expected, 1.0, &format!("read {bytes} B from {start}"));
            let mut engine = sim(&params);
            let seen = run(&mut engine, 1, count, |n| write(at(n), bytes))
                + run(&mut engine, 1, 1, |_| Command::Flush);
            assert_near(seen, expected, 1.0, &format!("write {bytes} B from {start}"));
        }
    }
}

#[test]
fn sequential_reads_in_a_queue_run_at_the_same_rate() {
    let params = DiskParams { command_queue_depth: 32, ..sata_7200() };
    for depth in [2, 8, 64] {
        let count = 256 * MIB / 65_536;
        let seen = run(&mut sim(&params), depth, count, |n| read(n * 65_536, 65_536));
        let expected = 256.0 * MIB as f64 / params.outer_bytes_per_s as f64 * 1e9;
        assert_near(seen, expected, 1.0, &format!("{depth} outstanding"));
    }
}

#[test]
fn a_reader_that_rests_loses_a_revolution_not_its_stream() {
    let mut engine = sim(&sata_7200());
    run(&mut engine, 1, 64, |n| read(n * 65_536, 65_536));
    let (mut done, later) = (Vec::new(), engine.now().after(10_000_000_000));
    engine.wait(later, &mut done);
    // A segment is in memory; the rest begins when the platter has come round.
    let count = 256 * MIB / 65_536;
    let seen = run(&mut engine, 1, count, |n| read((64 + n) * 65_536, 65_536));
    let media = (256.0 * MIB as f64 - 1e6) / 107e6 * 1e9;
    assert!((media..media * 1.01 + REVOLUTION_NS).contains(&seen), "{seen} for {media}");
}

#[test]
fn a_slow_link_is_what_a_sequential_reader_sees() {
    let params = DiskParams { link_bytes_per_s: 60_000_000, command_ns: 1000, ..sata_7200() };
    let count = 128 * MIB / 65_536;
    let seen = run(&mut sim(&params), 1, count, |n| read(n * 65_536, 65_536));
    let expected = count as f64 * (1000.0 + 65_536.0 / 0.06);
    assert_near(seen, expected, 1.0, "a link slower than the medium");
}

#[test]
fn rewriting_a_sector_without_a_cache_takes_a_revolution() {
    let params = DiskParams { write_caching: WriteCaching::Off, ..sata_7200() };
    let mut engine = sim(&params);
    run(&mut engine, 1, 1, |_| write(5 * GIB, 512));
    let seen = run(&mut engine, 1, 600, |_| write(5 * GIB, 512)) / 600.0;
    assert_near(seen, REVOLUTION_NS, 0.001, "the same sector");
    let forced = |offset| {
        let (at, from) = (Extent { offset, bytes: 512 }, Payload::None);
        Command::Write { at, from, durability: Durability::Fua }
    };
    let mut engine = sim(&sata_7200());
    run(&mut engine, 1, 1, |_| forced(5 * GIB));
    let seen = run(&mut engine, 1, 600, |_| forced(5 * GIB)) / 600.0;
    assert_near(seen, REVOLUTION_NS, 0.001, "forced past the cache");
}

#[test]
fn writes_at_the_front_and_in_the_middle_in_turn_take_two_seeks_and_a_revolution() {
    // A log in the middle of the disk, as XFS places it: 30 ms a synchronous write on the WD1002FBYS ("SSD
    // Latency Experiments"). The data sector comes round only every whole revolution, but the log's
    // angle drifts against it, so that on average the two seeks are rounded up by one.
    let params = DiskParams { write_caching: WriteCaching::Off, ..plain() };
    let middle = params.capacity_bytes / 2 / 4096 * 4096;
    let mut engine = sim(&params);
    let pairs = 4_000;
    let seen = run(&mut engine, 1, 2 * pairs, |n| {
        if n.is_multiple_of(2) {
            write(n / 2 * 512, 512)
        } else {
            write(middle + n / 2 * 4096, 4096)
        }
    }) / pairs as f64;
    let (average, full) = (params.average_seek_ns as f64, params.full_stroke_ns as f64);
    let half_stroke = average + (full - average) * (1.0 / 2.0 - 1.0 / 3.0) / (2.0 / 3.0);
    let expected = 2.0 * (half_stroke + params.write_settle_ns as f64) + REVOLUTION_NS;
    assert_near(seen, expected, 3.0, "front and middle");
}

#[test]
fn a_synchronous_write_of_the_next_sector_misses_a_revolution_with_the_cache_or_without() {
    let off = DiskParams { write_caching: WriteCaching::Off, ..sata_7200() };
    let mut engine = sim(&off);
    run(&mut engine, 1, 1, |_| write(0, 512));
    let seen = run(&mut engine, 1, 500, |n| write((n + 1) * 512, 512)) / 500.0;
    assert_near(seen, REVOLUTION_NS, 0.2, "cache off");
    let mut engine = sim(&sata_7200());
    run(&mut engine, 1, 2, |n| if n == 0 { write(0, 512) } else { Command::Flush });
    let one_and_flush =
        |n: u64| if n.is_multiple_of(2) { write((n / 2 + 1) * 512, 512) } else { Command::Flush };
    let seen = run(&mut engine, 1, 1000, one_and_flush) / 500.0;
    assert_near(seen, REVOLUTION_NS, 0.2, "cache on and flush");
}

#[test]
fn large_sequential_writes_without_a_cache_miss_a_revolution_each() {
    let params = DiskParams { write_caching: WriteCaching::Off, ..sata_7200() };
    let (count, bytes) = (2560, 512 << 10);
    let seen = run(&mut sim(&params), 1, count, |n| write(n * u64::from(bytes), bytes));
    let transfer = f64::from(bytes) / params.outer_bytes_per_s as f64 * 1e9;
    assert_near(seen / count as f64, transfer + REVOLUTION_NS, 1.0, "512 KiB");
    let mb_per_s = (count * u64::from(bytes)) as f64 / seen * 1e3;
    assert_near(mb_per_s, 39.7, 3.0, "WD1002FBYS, cache off, MB/s (SSD Latency Experiments)");
}

/// Mean time of a random read when the nearest of `candidates` comes first: arm, platter and choice played with
/// dice, in floating point, over uniform cylinders.
fn nearest_first_ns(params: &DiskParams, candidates: usize) -> f64 {
    let cylinders = params.capacity_bytes as f64 / cylinder_bytes(params);
    let (knee, stroke) = (cylinders / 3.0, cylinders);
    let (next, average) = (params.track_to_track_ns as f64, params.average_seek_ns as f64);
    let full = params.full_stroke_ns as f64;
    let seek = |distance: f64| {
        if distance < knee {
            next + (average - next) * (distance.max(1.0).sqrt() - 1.0) / (knee.sqrt() - 1.0)
        } else {
            average + (full - average) * (distance - knee) / (stroke - knee)
        }
    };
    let mut rng = Rng::new(21, 0);
    let mut place = move || (rng.unit() * cylinders, rng.unit() * REVOLUTION_NS);
    let mut queue: Vec<_> = (0..candidates).map(|_| place()).collect();
    let (mut now, mut arm, rounds) = (0.0, 0.0, 20_000);
    for _ in 0..rounds {
        let begin = |&(cylinder, angle): &(f64, f64)| {
            let arrival: f64 = now + seek(f64::abs(cylinder - arm));
            arrival + (angle - arrival).rem_euclid(REVOLUTION_NS)
        };
        let begins = queue.iter().map(begin).enumerate();
        let (at, first) = begins.min_by(|a, b| a.1.total_cmp(&b.1)).expect("candidates");
        arm = std::mem::replace(&mut queue[at], place()).0;
        now = first + 4096.0 / params.outer_bytes_per_s as f64 * 1e9;
    }
    now / f64::from(rounds)
}

#[test]
fn the_deeper_the_queue_the_shorter_the_way_to_the_next_read() {
    let mut previous = f64::MAX;
    for depth in [2, 4, 8, 16, 32] {
        let params = DiskParams { command_queue_depth: depth, ..plain() };
        let mut offset = random(7, params.capacity_bytes, 4096);
        let count = 10_000;
        let seen = run(&mut sim(&params), u64::from(depth), count, |n| read(offset(n), 4096));
        // When a read ends, the host has not sent the next: the drive chooses among one less.
        let expected = nearest_first_ns(&params, depth as usize - 1);
        assert_near(seen / count as f64, expected, 3.0, &format!("{depth} reads queued"));
        assert!(seen < previous, "depth {depth}");
        previous = seen;
    }
}

#[test]
fn no_command_waits_far_beyond_the_age_limit() {
    let params = DiskParams { command_queue_depth: 32, age_limit_ns: 400_000_000, ..sata_7200() };
    let mut engine = sim(&params);
    let (mut offset, mut done, mut worst) = (random(9, 8 * GIB, 4096), Vec::new(), 0);
    for tag in 0..31 {
        submit(&mut engine, tag, read(offset(tag), 4096));
    }
    // One at the far end, which the shortest way would never pick.
    submit(&mut engine, 31, read(params.capacity_bytes - 4096, 4096));
    for tag in 32..2_000 {
        while done.is_empty() {
            engine.wait(Instant::NEVER, &mut done);
        }
        let Completion { issued, finished, .. } = done.pop().expect("one is done");
        worst = worst.max(finished.since(issued));
        submit(&mut engine, tag, read(offset(tag), 4096));
    }
    println!("longest wait {} ms", worst / 1_000_000);
    assert!((400_000_000..600_000_000).contains(&worst), "{worst} ns");
}

#[test]
fn a_flush_waits_for_what_was_written_before_it() {
    let mut engine = sim(&sata_7200());
    let mut offset = random(11, 4 * GIB, 4096);
    let cached = run(&mut engine, 1, 32, |n| write(offset(n), 4096));
    assert!(cached < 2e6, "thirty-two writes taken in: {cached} ns");
    let flush = run(&mut engine, 1, 1, |_| Command::Flush);
    assert!((32.0 * 0.1 * REVOLUTION_NS..32.0 * 2.0 * REVOLUTION_NS).contains(&flush), "{flush}");
    let idle = run(&mut engine, 1, 1, |_| Command::Flush);
    assert_eq!(idle, 10_000.0, "nothing is left to flush");
}

#[test]
fn a_read_of_cached_data_comes_from_memory() {
    let mut engine = sim(&sata_7200());
    run(&mut engine, 1, 1, |_| write(GIB, 4096));
    let seen = run(&mut engine, 1, 1, |_| read(GIB, 4096));
    assert!(seen < 100_000.0, "{seen} ns");
    let seen = run(&mut engine, 1, 1, |_| read(3 * GIB, 4096));
    assert!(seen > 1_000_000.0, "{seen} ns");
}

#[test]
fn the_least_prefetch_is_added_to_every_random_read() {
    let prefetch_min_bytes = 256 << 10;
    let without = DiskParams { read_segments: 2, ..plain() };
    let with = DiskParams { prefetch_min_bytes, ..without.clone() };
    let mean = |params: &DiskParams| {
        let mut offset = random(13, 4 * GIB, 4096);
        run(&mut sim(params), 1, 10_000, |n| read(offset(n), 4096)) / 10_000.0
    };
    let extra = mean(&with) - mean(&without);
    assert_near(extra, prefetch_min_bytes as f64 / 107e6 * 1e9, 3.0, "least prefetch");
}

#[test]
fn a_read_beyond_the_end_is_short_and_the_payload_comes_back() {
    let params = sata_7200();
    let mut engine = sim(&params);
    let at = Extent { offset: params.capacity_bytes - 512, bytes: 1024 };
    submit(&mut engine, 1, Command::Read { at, into: Payload::Stamp(77) });
    let mut done = Vec::new();
    engine.wait(Instant::NEVER, &mut done);
    assert_eq!(done[0].result, Err(IoError::Short));
    assert!(matches!(done[0].payload, Payload::Stamp(77)));
}

#[test]
fn the_same_requests_complete_at_the_same_times() {
    let hash = || {
        let params = DiskParams { command_queue_depth: 32, ..sata_7200() };
        let mut engine = Witness::new(sim(&params));
        let (mut offset, mut rng) = (random(15, 100 * GIB, 4096), Rng::new(15, 1));
        run(&mut engine, 64, 5_000, |n| match rng.below(20) {
            0 => Command::Flush,
            1..10 => write(offset(n), 4096),
            _ => read(offset(n), 4096),
        });
        (engine.hash(), engine.count())
    };
    assert_eq!(hash(), hash());
}

#[test]
fn a_flushed_stream_of_large_writes_loses_little_to_the_flushes() {
    // dd bs=128M oflag=direct,sync: 107 MB/s with the cache on on the WD1002FBYS ("SSD Latency Experiments").
    let params = sata_7200();
    let (mut engine, bytes) = (sim(&params), 512 << 10);
    let mut block = 0;
    let seen: f64 = (0..10)
        .map(|_| {
            let first = block;
            block += 256;
            run(&mut engine, 1, 256, |n| write((first + n) * u64::from(bytes), bytes))
                + run(&mut engine, 1, 1, |_| Command::Flush)
        })
        .sum();
    let transfer = 1280.0 * MIB as f64 / params.outer_bytes_per_s as f64 * 1e9;
    assert!(seen > transfer, "faster than the medium");
    assert_near(seen, transfer + 10.0 * REVOLUTION_NS, 1.0, "ten times 128 MiB and a flush");
}

#[test]
fn whatever_is_asked_in_whatever_order_is_answered_once_and_takes_time() {
    let small = DiskParams { write_cache_bytes: 256 << 10, read_segments: 2, ..sata_7200() };
    let variants = [
        sata_7200(),
        DiskParams { write_caching: WriteCaching::Off, ..sata_7200() },
        DiskParams { write_cache_commands: 1, prefetch_min_bytes: 64 << 10, ..small.clone() },
        DiskParams { command_queue_depth: 32, age_limit_ns: 50_000_000, ..small },
        DiskParams { command_queue_depth: 8, sector_bytes: 4096, ..shingled() },
    ];
    for (seed, params) in (1..).zip(variants) {
        let (mut engine, mut rng) = (sim(&params), Rng::new(seed, 2));
        let mut answered = vec![false; 6_000];
        let (mut done, mut outstanding) = (Vec::new(), 0);
        for tag in 0..answered.len() as u64 {
            // Near each other, so that streams, caches and overlaps all meet; the last GiB to meet the end.
            let start = [0, 8 * GIB, params.capacity_bytes - GIB][rng.below(3) as usize];
            let offset = start + rng.below(4 * MIB / 4096) * 4096;
            let bytes = 4096 << rng.below(8);
            let command = match rng.below(40) {
                0 => Command::Flush,
                1 => Command::Discard { offset, len: 4096 },
                2 => read(params.capacity_bytes - 4096, bytes),
                3..20 => write(offset, bytes),
                _ => read(offset, bytes),
            };
            submit(&mut engine, tag, command);
            outstanding += 1;
            let limit = rng.below(64);
            while outstanding > limit {
                engine.wait(Instant::NEVER, &mut done);
                for Completion { tag, issued, finished, .. } in done.drain(..) {
                    assert!(issued < finished, "seed {seed}: no time for {tag:?}");
                    assert!(!std::mem::replace(&mut answered[tag.0 as usize], true));
                    outstanding -= 1;
                }
            }
        }
        while outstanding > 0 {
            engine.wait(Instant::NEVER, &mut done);
            outstanding -= done.len() as u64;
            done.drain(..).for_each(|answer| answered[answer.tag.0 as usize] = true);
        }
        assert!(answered.iter().all(|&answered| answered), "seed {seed}");
    }
}

/// What a file system's elevator sends down: 128 requests at a time, sorted, cached by the drive.
fn sorted_writes_ns(params: &DiskParams, bytes: u32) -> f64 {
    let (mut engine, mut offset) = (sim(params), random(17, 4 * GIB, bytes));
    let (batches, mut queue) = (40, Vec::new());
    let count = batches * 128;
    let next = |n: u64| {
        if n.is_multiple_of(128) {
            queue = (0..128).map(&mut offset).collect();
            queue.sort_unstable();
        }
        write(queue[(n % 128) as usize], bytes)
    };
    let seen = run(&mut engine, u64::from(params.command_queue_depth), count, next)
        + run(&mut engine, 1, 1, |_| Command::Flush);
    seen / count as f64
}

#[test]
fn the_write_cache_shortens_sorted_writes_to_a_settle_and_a_fraction_of_a_revolution() {
    let mut previous = f64::MAX;
    for write_cache_commands in [2, 3, 4, 8, 16, 32] {
        let params = DiskParams { write_cache_commands, ..sata_7200() };
        let seen = sorted_writes_ns(&params, 4096);
        let settle = (params.track_to_track_ns + params.write_settle_ns) as f64;
        let fraction = (seen - settle) / REVOLUTION_NS;
        println!("{write_cache_commands} cached: {:.2} ms, {fraction:.2} revolution", seen / 1e6);
        if write_cache_commands <= 4 {
            // Neighbours in order of address are all a settle away; of n - 1 random angles (one more is
            // being written) the first comes after an n-th of a revolution.
            let expected = settle + REVOLUTION_NS / f64::from(write_cache_commands);
            assert_near(seen, expected, 5.0, "a settle and an n-th of a revolution");
        }
        assert!(seen < previous, "{write_cache_commands} cached");
        previous = seen;
    }
}

/// 256 MiB zones and a media cache of 1 GiB on a disk of 64 GiB.
fn shingled() -> DiskParams {
    let shingling =
        Shingling { zone_bytes: 256 * MIB, media_cache_bytes: GIB, idle_clean_ns: 1_000_000_000 };
    let capacity_bytes = 64 * GIB;
    DiskParams { shingling: Some(shingling), capacity_bytes, ..plain() }
}

#[test]
fn a_shingled_disk_takes_random_writes_fast_until_its_media_cache_is_full() {
    let params = shingled();
    let mut engine = sim(&params);
    let mut offset = random(19, params.capacity_bytes, 65_536);
    let room = params.shingling.expect("shingled").media_cache_bytes / 65_536;
    let mut burst = |engine: &mut Sim<Disk>, count| {
        run(engine, 1, count, |n| write(offset(n), 65_536)) / count as f64
    };
    let fast = burst(&mut engine, room / 2);
    assert_near(fast, 65_536.0 / 107e6 * 1e9, 2.0, "into the log");
    burst(&mut engine, room * 2);
    let slow = burst(&mut engine, room * 4);
    // The oldest of 256 zones has collected twice what the average one has, when zones are cleaned in
    // turn: it frees a 128th of the log, for two passes over 256 MiB.
    let zone_ns = 2.0 * 256.0 * MIB as f64 / 107e6 * 1e9;
    assert_near(slow, zone_ns / (room as f64 / 128.0), 5.0, "cleaning");
    engine.wait(engine.now().after(3_600_000_000_000), &mut Vec::new());
    let rested = burst(&mut engine, room / 2);
    assert_near(rested, fast, 2.0, "after an hour of cleaning");
}

#[test]
fn a_shingled_disk_streams_whole_zones_in_place() {
    let params = shingled();
    let mut engine = sim(&params);
    let count = 4 * GIB / 65_536;
    let seen = run(&mut engine, 1, count, |n| write(n * 65_536, 65_536))
        + run(&mut engine, 1, 1, |_| Command::Flush);
    assert_near(seen, 4.0 * GIB as f64 / 107e6 * 1e9, 1.0, "four times its media cache");
}
