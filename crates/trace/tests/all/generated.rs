//! A trace that was made to be so and so is told to be so and so.

use block::Rng;
use trace::{Access, Analysis, Characterisation, Op};

/// What a trace is made of.
struct Made {
    read_share: f64,
    /// Share of the accesses that go on where the last one of their kind ended.
    sequential: f64,
    /// Share of the accesses of 4 KiB; the others have 64 KiB.
    small: f64,
    /// Share of the writes that go to the first tenth of the blocks.
    hot: f64,
    blocks: u64,
    rate: f64,
}

fn generate(made: &Made, count: u64) -> Characterisation {
    let mut rng = Rng::new(7, 1);
    let (mut analysis, mut at, mut ends) = (Analysis::default(), 0.0, [0u64; 2]);
    for _ in 0..count {
        at += -(1.0 - rng.unit()).ln() / made.rate;
        let op = if rng.unit() < made.read_share { Op::Read } else { Op::Write };
        let bytes = if rng.unit() < made.small { 4096 } else { 65_536 };
        let end = &mut ends[usize::from(op == Op::Write)];
        let area = match op {
            Op::Write if rng.unit() < made.hot => 0..made.blocks / 10,
            Op::Write => made.blocks / 10..made.blocks,
            _ => 0..made.blocks,
        };
        let drawn = area.start + (rng.unit() * (area.end - area.start) as f64) as u64;
        let offset = if rng.unit() < made.sequential { *end } else { drawn * 4096 };
        *end = offset + bytes;
        let at_ns = (at * 1e9) as u64;
        analysis.add(&Access { at_ns, op, volume: 0, offset, bytes });
    }
    analysis.conclude()
}

fn near(found: f64, made: f64, within: f64, what: &str) {
    assert!((found - made).abs() <= within, "{what}: {found}, and it was made {made}");
}

#[test]
fn mix_sizes_rate_and_sequentiality_are_those_it_was_made_with() {
    let made = Made {
        read_share: 0.7,
        sequential: 0.4,
        small: 0.8,
        hot: 0.1,
        blocks: 200_000,
        rate: 5000.0,
    };
    let seen = generate(&made, 100_000);
    let all = seen.operations() as f64;
    near(seen.of(Op::Read).operations as f64 / all, 0.7, 0.01, "reads");
    for sizes in &seen.sizes {
        let small = sizes.counts.iter().find(|size| size.bytes == 4096).expect("4 KiB");
        near(small.count as f64 / sizes.total() as f64, 0.8, 0.01, "4 KiB");
        assert_eq!((sizes.percentile(50.0), sizes.percentile(99.0)), (Some(4096), Some(65_536)));
    }
    for sequential in seen.sequential {
        near(sequential.share(), 0.4, 0.01, "sequential");
    }
    near(seen.per_second(seen.operations()).expect("it takes time"), 5000.0, 50.0, "rate");
    assert_eq!(seen.aligned, 100_000);
}

/// Independent arrivals have an index of dispersion of 1 at every width.
#[test]
fn independent_arrivals_have_a_dispersion_of_one_and_bursts_have_more() {
    let even = Made {
        read_share: 1.0,
        sequential: 0.0,
        small: 1.0,
        hot: 0.0,
        blocks: 1000,
        rate: 20_000.0,
    };
    let seen = generate(&even, 400_000);
    near(seen.bursts[0].dispersion, 1.0, 0.05, "dispersion at 1 ms");
    near(seen.bursts[1].dispersion, 1.0, 0.3, "dispersion at 100 ms");
    // 100 at once, every second: in bins of 1 ms one of a thousand holds all.
    let mut analysis = Analysis::default();
    for second in 0..100 {
        for _ in 0..100 {
            let (at_ns, op) = (second * 1_000_000_000, Op::Read);
            analysis.add(&Access { at_ns, op, volume: 0, offset: 0, bytes: 512 });
        }
    }
    let burst = analysis.conclude().bursts;
    near(burst[0].peak_over_mean, 1000.0, 1e-6, "busiest 1 ms");
    near(burst[2].peak_over_mean, 1.0, 1e-9, "busiest second");
    assert!(burst[0].dispersion > 95.0 && burst[2].dispersion == 0.0, "{burst:?}");
}

/// Nine of ten writes to a tenth of the blocks.
#[test]
fn skewed_writes_are_found_skewed() {
    let made =
        Made { read_share: 0.0, sequential: 0.0, small: 1.0, hot: 0.9, blocks: 2000, rate: 1000.0 };
    let seen = generate(&made, 300_000);
    let [_, ten, twenty] = seen.blocks.hot_writes.expect("it writes");
    near(ten, 0.9, 0.01, "the hottest tenth");
    assert!(twenty > ten && twenty < 0.94, "{twenty}");
    near(seen.blocks.written, 2000.0, 0.0, "blocks written");
    assert_eq!(seen.blocks.read, 0.0);
}

#[test]
fn the_footprint_counts_reads_and_writes_apart() {
    let mut analysis = Analysis::default();
    let access = |op, offset, bytes| Access { at_ns: 0, op, volume: 0, offset, bytes };
    analysis.add(&access(Op::Read, 0, 65_536));
    analysis.add(&access(Op::Write, 32_768, 65_536));
    // Half a block at either end touches both.
    analysis.add(&access(Op::Write, (1 << 30) + 2048, 4096));
    analysis.add(&access(Op::Trim, 0, 1 << 40));
    analysis.add(&access(Op::Flush, 0, 0));
    let seen = analysis.conclude();
    assert_eq!((seen.blocks.read, seen.blocks.written, seen.blocks.unique), (16.0, 18.0, 26.0));
    assert_eq!(seen.end_bytes, 1 << 40);
    assert_eq!((seen.aligned, seen.transfers(), seen.of(Op::Trim).bytes), (2, 3, 1 << 40));
}

/// Volumes have blocks of the same numbers, which are others.
#[test]
fn blocks_of_two_volumes_are_two() {
    let mut analysis = Analysis::default();
    for volume in [0, 1, 0, 1] {
        analysis.add(&Access { at_ns: 0, op: Op::Read, volume, offset: 0, bytes: 4096 });
    }
    assert_eq!(analysis.conclude().blocks.unique, 2.0);
}

/// Slices are joined in pairs when there are too many: nothing is lost.
#[test]
fn the_rate_over_time_holds_every_access() {
    let mut analysis = Analysis::default();
    for at in 0..10_000u64 {
        let (at_ns, op) = (at * at * 1000, Op::Read);
        analysis.add(&Access { at_ns, op, volume: 0, offset: 0, bytes: 512 });
    }
    let over_time = analysis.conclude().over_time;
    assert!(over_time.slices.len() <= 512, "{}", over_time.slices.len());
    assert_eq!(over_time.slices.iter().map(|slice| slice.reads).sum::<u64>(), 10_000);
}
