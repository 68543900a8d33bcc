//! Write amplification under uniform random overwriting, against the closed form.

use block::{
    Actor, Command, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng, Stack, Tag,
};
use flash::{
    BLOCK_BYTES, Checksums, Classes, Cleaning, Counters, Parity, Settings, Shape, Volume, VolumeId,
    predict::write_amplification,
};
use model::Sim;
use testkit::Shuffling;

struct Measured {
    counters: Counters,
    /// Blocks of the segments that hold data: not free, not held for a checkpoint, no pages of the
    /// map.
    in_use: f64,
}

/// Which blocks are overwritten.
#[derive(Clone, Copy, Debug)]
enum Skew {
    Uniform,
    /// So many per cent of the blocks take the rest of the writes: 20 take 80.
    Hot(u64),
    /// The nth block is written in proportion to n^-0.99; n has nothing to do with its place.
    Zipf,
}

/// Draws blocks.
struct Draw {
    skew: Skew,
    blocks: u64,
    rng: Rng,
    /// Of a Zipf distribution: sums of weights, and the block of each rank.
    sums: Vec<f64>,
    ranks: Vec<u64>,
}

impl Draw {
    fn new(skew: Skew, blocks: u64) -> Self {
        let mut draw =
            Self { skew, blocks, rng: Rng::new(1, 1), sums: Vec::new(), ranks: Vec::new() };
        if let Skew::Zipf = skew {
            draw.ranks = (0..blocks).collect();
            for last in (1..blocks).rev() {
                draw.ranks.swap(last as usize, draw.rng.below(last + 1) as usize);
            }
            let weights = (1..=blocks).map(|rank| (rank as f64).powf(-0.99));
            draw.sums = weights
                .scan(0.0, |sum, weight| {
                    Some({
                        *sum += weight;
                        *sum
                    })
                })
                .collect();
        }
        draw
    }

    fn next(&mut self) -> u64 {
        match self.skew {
            Skew::Uniform => self.rng.below(self.blocks),
            Skew::Hot(share) => {
                let hot = self.blocks * share / 100;
                if self.rng.below(100) >= share {
                    self.rng.below(hot)
                } else {
                    hot + self.rng.below(self.blocks - hot)
                }
            }
            Skew::Zipf => {
                let all = self.sums.last().expect("there are blocks");
                let at = self.rng.below(1 << 53) as f64 / (1u64 << 53) as f64 * all;
                self.ranks[self.sums.partition_point(|&sum| sum <= at)]
            }
        }
    }
}

/// Overwrites everything at random, on a drive that only times, and counts in the steady state.
fn overwrite(cleaning: Cleaning, classes: Classes, exported_bytes: u64, skew: Skew) -> Measured {
    let shape = Shape {
        device_bytes: 256 << 20,
        exported_bytes,
        stripe_bytes: 4096,
        erase_unit_bytes: 4096,
        segment_bytes: 512 << 10,
        chunk_bytes: 128 << 10,
        ring_bytes: 0,
        parity: Parity::None,
        checksums: Checksums::OnCleaning,
        classes,
    };
    let settings =
        Settings { queue_depth: 32, answer_ns: 500, chunks: 12, cleaning, ..Settings::default() };
    let sim = Sim::new(Shuffling::new(shape.device_bytes, 1));
    let below = sim.geometry(Drive(0));
    let volume = Volume::create(below, shape, VolumeId([7; 16]), settings).expect("it fits");
    let mut stack = Stack::new(volume, sim);
    let blocks = exported_bytes / BLOCK_BYTES;
    let (mut draw, mut done) = (Draw::new(skew, blocks), Vec::new());
    let mut write = |stack: &mut Stack<Volume, Sim<Shuffling>>, block: u64| {
        let at = Extent { offset: block * BLOCK_BYTES, bytes: BLOCK_BYTES as u32 };
        let durability = Durability::Cached;
        let command = Command::Write { at, from: Payload::None, durability };
        stack.submit(Request { tag: Tag(0), actor: Actor(0), drive: Drive(0), command });
        while done.is_empty() {
            stack.wait(Instant::NEVER, &mut done);
        }
        assert!(done.drain(..).all(|answer| answer.result.is_ok()));
    };
    (0..blocks).for_each(|block| write(&mut stack, block));
    (0..blocks * 5).for_each(|_| write(&mut stack, draw.next()));
    let before = stack.machine.counters().expect("it is open");
    let layout = *stack.machine.layout().expect("it is open");
    let (mut idle, samples) = (0.0, 64);
    for _ in 0..samples {
        (0..blocks * 3 / samples).for_each(|_| write(&mut stack, draw.next()));
        let now = stack.machine.counters().expect("it is open");
        let empty = now.free_segments + now.prefree_segments + now.meta_segments;
        idle += empty as f64 / samples as f64;
    }
    let now = stack.machine.counters().expect("it is open");
    stack.machine.audit();
    let counters = Counters {
        host_blocks: now.host_blocks - before.host_blocks,
        copied_blocks: now.copied_blocks - before.copied_blocks,
        ..now
    };
    // Headers and padding hold nothing; of the two open segments one half is empty on average.
    let appended = |counters: &Counters| {
        let Counters { host_blocks, copied_blocks, page_blocks, .. } = *counters;
        let data = host_blocks + copied_blocks + page_blocks;
        (data as f64, (data + counters.header_blocks + counters.padding_blocks) as f64)
    };
    let ((data, all), (data_before, all_before)) = (appended(&now), appended(&before));
    let share = (data - data_before) / (all - all_before);
    let open = f64::from(classes.streams() - 1) / 2.0;
    let segments = f64::from(layout.segments) - idle - open;
    let in_use = segments * f64::from(layout.segment_blocks) * share;
    Measured { counters, in_use }
}

#[test]
fn cleaning_costs_what_the_closed_form_says() {
    for exported_mib in [128u64, 176, 200] {
        let [fifo, greedy, cost_benefit] =
            [Cleaning::Fifo, Cleaning::Greedy, Cleaning::CostBenefit].map(|cleaning| {
                let measured = overwrite(cleaning, Classes::TWO, exported_mib << 20, Skew::Uniform);
                let mapped = measured.counters.mapped_blocks as f64;
                let expected = write_amplification(1.0 - mapped / measured.in_use);
                let Counters { host_blocks, copied_blocks, .. } = measured.counters;
                let seen = 1.0 + copied_blocks as f64 / host_blocks as f64;
                let spare = 1.0 - mapped / measured.in_use;
                eprintln!("{cleaning:?} spare {spare:.3}: {seen:.3}, closed form {expected:.3}");
                seen / expected
            });
        assert!((0.97..1.03).contains(&fifo), "FIFO {fifo:.3} of the closed form");
        for policy in [greedy, cost_benefit] {
            assert!((0.95..1.05).contains(&policy), "{policy:.3} of the closed form");
            // One run of either: they differ by chance too.
            assert!(policy < fifo * 1.005, "{policy:.3}, FIFO {fifo:.3} of the closed form");
        }
    }
}

/// The reference values were simulated without a format, at a spare of 28 %: one stream 2.31, 2.71
/// and 2.91. Those of the Zipf distribution hold for large volumes, 1.86 and 1.65; on 43,000 blocks
/// the same simulation gives 1.90 and 1.73.
#[test]
fn under_skew_separation_and_choice_by_cost_and_benefit_win_together() {
    let cases = [
        (Skew::Hot(20), Classes::TWO, 1.89),
        (Skew::Hot(20), Classes::SEPBIT, 1.77),
        (Skew::Hot(10), Classes::TWO, 1.51),
        (Skew::Hot(10), Classes::SEPBIT, 1.41),
        (Skew::Zipf, Classes::TWO, 1.90),
        (Skew::Zipf, Classes::SEPBIT, 1.73),
    ];
    for (skew, classes, reference) in cases {
        let exported_mib = if classes == Classes::TWO { 171 } else { 168 };
        let measured = overwrite(Cleaning::Auto, classes, exported_mib << 20, skew);
        let Counters { host_blocks, copied_blocks, mapped_blocks, .. } = measured.counters;
        let seen = 1.0 + copied_blocks as f64 / host_blocks as f64;
        let spare = 1.0 - mapped_blocks as f64 / measured.in_use;
        let line =
            format!("{skew:?} {classes:?} spare {spare:.3}: {seen:.3}, reference {reference}");
        eprintln!("{line}");
        assert!(spare < 0.285 && seen < reference * 1.05, "{line}");
    }
}
