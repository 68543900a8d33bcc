//! Arm and platter: seeks, revolutions, and revolutions missed.

use super::rig::*;
use block::{Command, Durability, Extent, Payload};
use model::{DiskParams, WriteCaching};

/// Mean seek between two random cylinders of `span` of `cylinders`, ns: the curve over the
/// triangular density of distances, 2 (n - d) / n^2.
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
    // A log in the middle of the disk, as XFS places it: 30 ms a synchronous write on the
    // WD1002FBYS ("SSD Latency Experiments"). The data sector comes round only every whole
    // revolution, but the log's angle drifts against it, so that on average the two seeks are
    // rounded up by one.
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
