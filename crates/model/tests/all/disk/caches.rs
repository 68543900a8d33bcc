//! Read-ahead and cached writes.

use super::rig::*;
use block::{Command, Engine};
use model::DiskParams;

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
fn a_slow_link_is_what_a_sequential_reader_or_writer_sees() {
    let params = DiskParams { link_bytes_per_s: 60_000_000, command_ns: 1000, ..sata_7200() };
    let count = 128 * MIB / 65_536;
    let expected = count as f64 * (1000.0 + 65_536.0 / 0.06);
    let seen = run(&mut sim(&params), 1, count, |n| read(n * 65_536, 65_536));
    assert_near(seen, expected, 1.0, "reading over a slow link");
    let seen = run(&mut sim(&params), 1, count, |n| write(n * 65_536, 65_536));
    assert_near(seen, expected, 1.0, "writing over a slow link");
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
fn a_flushed_stream_of_large_writes_loses_little_to_the_flushes() {
    // dd bs=128M oflag=direct,sync: 107 MB/s with the cache on on the WD1002FBYS ("SSD Latency
    // Experiments").
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
            // Neighbours in order of address are all a settle away; of n - 1 random angles (one
            // more is being written) the first comes after an n-th of a revolution.
            let expected = settle + REVOLUTION_NS / f64::from(write_cache_commands);
            assert_near(seen, expected, 5.0, "a settle and an n-th of a revolution");
        }
        assert!(seen < previous, "{write_cache_commands} cached");
        previous = seen;
    }
}

/// A cache of 128 writes at 13 ms each outlasts an age limit of a second: all was old, nothing
/// was sorted, and random writes came to 78 a second where disks take 150.
#[test]
fn the_write_cache_is_sorted_whatever_the_age_limit() {
    let rate = |age_limit_ns: u64| {
        let params = DiskParams { age_limit_ns, write_cache_commands: 128, ..sata_7200() };
        let mut offset = random(23, params.capacity_bytes, 4096);
        let count = 4_000;
        count as f64 / run(&mut sim(&params), 1, count, |n| write(offset(n), 4096)) * 1e9
    };
    let [short, long] = [rate(1_000_000), rate(3_600_000_000_000)];
    assert_near(short, long, 0.1, "an age limit of 1 ms, and of an hour");
    assert!(long > 200.0, "128 to choose from: {long} a second");
}
