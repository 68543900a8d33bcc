//! The catalog's disks beside what others measured on real ones. Published figures: fio-plot
//! (louwrentius), benchmark_data, and perfscripts (jshook), historic.

#[path = "disks/load.rs"]
mod load;

use load::{Op, Order, Seen, Stream, run};
use model::DiskParams;
use target::catalog::{Catalog, DriveSettings};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;
const BLOCK: u64 = 4096;

/// HGST HTS72101, 7,200 rpm, on AHCI: random reads of 4 KiB a second, by depth (fio-plot,
/// HPMICROSERVERG10).
const HGST_READS: [(u64, f64); 6] =
    [(1, 58.58), (2, 59.83), (4, 64.73), (8, 72.21), (16, 77.38), (32, 82.23)];
/// The same for random writes.
const HGST_WRITES: [(u64, f64); 3] = [(1, 43.88), (4, 43.38), (32, 45.65)];
/// WD740GD, 10,000 rpm, the runs without commands that timed out (fio-plot, RUN1); up to 32 of more
/// jobs are in the drive's queue.
const RAPTOR_READS: [(u64, f64); 5] =
    [(1, 122.97), (4, 124.33), (16, 160.41), (32, 179.04), (64, 182.90)];
const RAPTOR_WRITES: [(u64, f64); 3] = [(1, 228.08), (2, 221.19), (32, 221.87)];
/// Toshiba P300: random reads a second at depth 10 in a file of 5 GiB, by size (perfscripts).
const P300_READS: [(u64, f64); 6] = [
    (4096, 306.12),
    (16_384, 298.73),
    (65_536, 262.22),
    (262_144, 178.81),
    (524_288, 127.02),
    (4_194_304, 26.08),
];
/// Toshiba P300: requests a second of random reads of 1 to 4 KiB, of a stream of reads
/// and of one of
/// writes of 1 MiB side by side, each at depth 10; by the streams' limits, MiB/s, 0: none.
const P300_MIXED: [(u64, [f64; 3]); 4] = [
    (10, [208.40, 10.00, 10.01]),
    (20, [138.98, 19.98, 19.98]),
    (40, [36.92, 39.86, 39.81]),
    (0, [33.43, 41.92, 37.20]),
];

fn disk(name: &str) -> DiskParams {
    let catalog = Catalog::built_in().expect("a catalog");
    let drive = catalog.drive(name).expect("a drive of the catalog");
    drive.disk(&DriveSettings::default()).expect("a disk")
}

fn random(op: Op, depth: u64, bytes: u64, span: u64) -> Stream {
    let span = span / bytes * bytes;
    Stream { order: Order::Random, op, depth, bytes, first: 0, span, cap: 0.0 }
}

fn alone(params: &DiskParams, stream: Stream, seconds: u64) -> Seen {
    run(params, &[stream], 10, seconds).remove(0)
}

/// Random reads or writes of 4 KiB over the whole disk, a second.
fn rate(params: &DiskParams, op: Op, depth: u64) -> f64 {
    alone(params, random(op, depth, BLOCK, params.capacity_bytes), 200).rate
}

/// Random reads of 4 KiB beside two streams of 1 MiB, in three parts of 5 GiB.
fn beside_streams(params: &DiskParams, limit_mib: u64) -> [Seen; 3] {
    let stream = |op, first| Stream {
        order: Order::Sequential,
        first,
        cap: (limit_mib * MIB) as f64,
        ..random(op, 10, MIB, 5 * GIB)
    };
    let streams = [
        random(Op::Read, 10, BLOCK, 5 * GIB),
        stream(Op::Read, 5 * GIB),
        stream(Op::Write, 10 * GIB),
    ];
    let seen = run(params, &streams, 10, 60);
    seen.try_into().unwrap_or_else(|_| unreachable!("three streams"))
}

/// Prints what was published and what is modelled; the error, a part.
fn beside(what: &str, published: f64, modelled: f64) -> f64 {
    let error = modelled / published - 1.0;
    println!("{what:44} {published:9.2} {modelled:9.2} {:+6.1} %", error * 100.0);
    error
}

fn mean_size(errors: &[f64]) -> f64 {
    errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len() as f64
}

/// Random reads and writes of 4 KiB by depth; the errors.
fn by_depth(name: &str, reads: &[(u64, f64)], writes: &[(u64, f64)]) -> Vec<f64> {
    let params = disk(name);
    let all = reads.iter().map(|&it| (Op::Read, "read", it));
    all.chain(writes.iter().map(|&it| (Op::Write, "write", it)))
        .map(|(op, word, (depth, published))| {
            let what = format!("{name}, random {word}, depth {depth}");
            beside(&what, published, rate(&params, op, depth))
        })
        .collect()
}

/// The generic disk wrote 78 blocks a second at random where disks write 150, read 0.5 a second
/// beside streams where they read 25 to 45, and gained more than twice what they gain from a queue.
#[test]
fn the_generic_disk_writes_sorts_and_reads_beside_streams_as_disks_do() {
    let params = disk("hdd-7200-cmr");
    for depth in [1, 8, 32] {
        let writes = rate(&params, Op::Write, depth);
        println!("random writes, depth {depth}: {writes:.1} a second");
        assert!((120.0..=180.0).contains(&writes), "depth {depth}: {writes}");
    }
    for limit_mib in [40, 0] {
        let [reads, ..] = beside_streams(&params, limit_mib);
        println!("reads beside streams of {limit_mib} MiB/s: {:.1} a second", reads.rate);
        assert!(limit_mib > 0 || (20.0..=60.0).contains(&reads.rate), "{}", reads.rate);
        assert!(reads.quantile_ms(0.999) < 1000.0, "{} ms", reads.quantile_ms(0.999));
    }
    let alone = rate(&params, Op::Read, 1);
    for (depth, published) in HGST_READS.into_iter().filter(|(depth, _)| [4, 8, 32].contains(depth))
    {
        let gain = rate(&params, Op::Read, depth) / alone;
        let error = beside(&format!("gain at depth {depth}"), published / HGST_READS[0].1, gain);
        assert!(error.abs() <= 0.15, "depth {depth}: {gain}");
    }
}

#[test]
fn disks_measured_by_depth_read_and_write_as_they_were_seen_to() {
    let errors = by_depth("hgst-7k100-100", &HGST_READS, &HGST_WRITES);
    assert!(mean_size(&errors) <= 0.05, "{errors:?}");
    let errors = by_depth("wd-raptor-740gd", &RAPTOR_READS, &RAPTOR_WRITES);
    assert!(mean_size(&errors) <= 0.08, "{errors:?}");
}

#[test]
fn the_p300_reads_alone_and_beside_streams_as_it_was_seen_to() {
    let params = disk("toshiba-p300-3000");
    let mut errors: Vec<f64> = P300_READS
        .into_iter()
        .map(|(bytes, published)| {
            let seen = alone(&params, random(Op::Read, 10, bytes, 5 * GIB), 100);
            beside(&format!("toshiba-p300-3000, reads of {bytes} B"), published, seen.rate)
        })
        .collect();
    for (limit_mib, published) in P300_MIXED {
        let seen = beside_streams(&params, limit_mib);
        let names = ["random reads", "stream of reads", "stream of writes"];
        for ((name, published), seen) in names.into_iter().zip(published).zip(seen) {
            let what = format!("toshiba-p300-3000, {limit_mib} MiB/s: {name}");
            errors.push(beside(&what, published, seen.rate));
        }
    }
    assert!(mean_size(&errors) <= 0.15, "{errors:?}");
}

/// The shingled disk took 45,500 scattered writes a second. What is published: a backup that begins
/// at 100 MB/s (AnandTech 10335, Seagate Innov8 8 TB), and 3 writes a second with the media cache
/// full (storj/storj issue 3854, the drive is not named).
#[test]
fn a_shingled_disk_takes_scattered_writes_as_disks_do_before_its_cliff_and_after() {
    let params = disk("hdd-smr");
    let large = random(Op::Write, 8, MIB, params.capacity_bytes);
    let before = run(&params, &[large], 2, 60).remove(0).rate * MIB as f64 / 1e6;
    beside("scattered writes of 1 MiB, MB/s", 100.0, before);
    assert!((50.0..=200.0).contains(&before), "{before} MB/s");
    let small = random(Op::Write, 8, BLOCK, params.capacity_bytes);
    let first = run(&params, &[small], 2, 60).remove(0).rate;
    println!("scattered writes of 4 KiB: {first:.0} a second at first");
    assert!(first < 3_000.0, "{first}: not at the rate of a stream");
    let pieces = params.shingling.expect("it is shingled").map_pieces;
    let after = run(&params, &[small], pieces / first as u64 * 3 / 2, 900).remove(0).rate;
    beside("scattered writes of 4 KiB, cache full", 3.0, after);
    assert!((1.5..=6.0).contains(&after), "{after} a second");
}
