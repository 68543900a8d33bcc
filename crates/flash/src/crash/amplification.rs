//! Write amplification under uniform random overwriting, against the closed form.

use super::drive::Shuffling;
use block::{
    Actor, Command, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng, Stack, Tag,
};
use flash::{
    BLOCK_BYTES, Checksums, Classes, Cleaning, Counters, Parity, Settings, Shape, Volume, VolumeId,
    predict::write_amplification,
};
use model::Sim;

struct Measured {
    counters: Counters,
    /// Blocks of the segments that hold data: not free, not held for a checkpoint, no pages of the map.
    in_use: f64,
}

/// Which blocks are overwritten.
#[derive(Clone, Copy, Debug)]
enum Skew {
    Uniform,
    /// So many per cent of the blocks take the rest of the writes: 20 take 80.
    Hot(u64),
}

impl Skew {
    fn draw(self, rng: &mut Rng, blocks: u64) -> u64 {
        let Self::Hot(share) = self else { return rng.below(blocks) };
        let hot = blocks * share / 100;
        if rng.below(100) >= share { rng.below(hot) } else { hot + rng.below(blocks - hot) }
    }
}

/// Overwrites everything at random, on a drive that only times, and counts in the steady state.
fn overwrite(cleaning: Cleaning, exported_bytes: u64, skew: Skew) -> Measured {
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
        classes: Classes::TWO,
    };
    let settings =
        Settings { queue_depth: 32, answer_ns: 500, chunks: 12, cleaning, ..Settings::default() };
    let sim = Sim::new(Shuffling::new(shape.device_bytes, 1));
    let below = sim.geometry(Drive(0));
    let volume = Volume::create(below, shape, VolumeId([7; 16]), settings).expect("it fits");
    let mut stack = Stack::new(volume, sim);
    let blocks = exported_bytes / BLOCK_BYTES;
    let (mut rng, mut done) = (Rng::new(1, 1), Vec::new());
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
    (0..blocks * 5).for_each(|_| write(&mut stack, skew.draw(&mut rng, blocks)));
    let before = stack.machine.counters().expect("it is open");
    let layout = *stack.machine.layout().expect("it is open");
    let (mut idle, samples) = (0.0, 64);
    for _ in 0..samples {
        (0..blocks * 3 / samples).for_each(|_| write(&mut stack, skew.draw(&mut rng, blocks)));
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
    let segments = f64::from(layout.segments) - idle - 1.0;
    let in_use = segments * f64::from(layout.segment_blocks) * share;
    Measured { counters, in_use }
}

#[test]
fn cleaning_costs_what_the_closed_form_says() {
    for exported_mib in [128u64, 176, 200] {
        let [fifo, greedy, cost_benefit] =
            [Cleaning::Fifo, Cleaning::Greedy, Cleaning::CostBenefit].map(|cleaning| {
                let measured = overwrite(cleaning, exported_mib << 20, Skew::Uniform);
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

/// With the cleaner's blocks apart. The reference values were simulated without a format: 1.89 where 20 % of
/// the blocks take 80 % of the writes, 1.51 where 10 % take 90 %, at a spare of 28 %.
#[test]
fn under_skew_cost_benefit_with_the_cleaners_blocks_apart_beats_one_stream() {
    for (share, reference) in [(20, 1.89), (10, 1.51)] {
        let measured = overwrite(Cleaning::CostBenefit, 176 << 20, Skew::Hot(share));
        let Counters { host_blocks, copied_blocks, mapped_blocks, .. } = measured.counters;
        let seen = 1.0 + copied_blocks as f64 / host_blocks as f64;
        let spare = 1.0 - mapped_blocks as f64 / measured.in_use;
        eprintln!("{share} % hot, spare {spare:.3}: {seen:.3}, reference {reference}");
        assert!(seen < reference * 1.05, "{share} % hot, spare {spare:.3}: {seen:.3}");
    }
}
