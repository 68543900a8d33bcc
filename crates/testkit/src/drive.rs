//! A drive that knows nothing but time: every request takes a drawn latency, so answers overtake
//! each other.

use block::{Completion, Data, Drive, Effects, Geometry, Instant, Machine, Payload, Request, Rng};
use std::collections::BTreeMap;

/// Every request takes 10 to 100 us, drawn from the seed.
pub struct Shuffling {
    capacity_bytes: u64,
    /// By the time of their end; equal times in the order in which they came.
    outstanding: BTreeMap<(Instant, u64), Completion>,
    sequence: u64,
    rng: Rng,
}

/// Requests at a time: enough for an array on top.
const QUEUE_DEPTH: u32 = 1024;

impl Shuffling {
    /// An idle one.
    pub fn new(capacity_bytes: u64, seed: u64) -> Self {
        let (outstanding, rng) = (BTreeMap::new(), Rng::new(seed, 1));
        Self { capacity_bytes, outstanding, sequence: 0, rng }
    }
}

impl Machine for Shuffling {
    fn geometry(&self, _: Drive) -> Geometry {
        Geometry {
            capacity_bytes: self.capacity_bytes,
            block_bytes: 512,
            transfer_bytes_max: 1 << 20,
            queue_depth: QUEUE_DEPTH,
            data: Data::TimingOnly,
        }
    }

    fn on_request(&mut self, now: Instant, request: Request, _: &mut Effects) {
        assert_eq!(request.drive, Drive(0), "there is one drive");
        assert!(self.outstanding.len() < QUEUE_DEPTH as usize, "queue depth exceeded");
        let finished = now.after(10_000 + self.rng.below(90_000));
        let payload = request.command.into_payload();
        assert!(matches!(payload, Payload::None), "the machine below only times");
        let (tag, issued, result) = (request.tag, now, Ok(()));
        let completion = Completion { tag, issued, finished, result, payload };
        self.outstanding.insert((finished, self.sequence), completion);
        self.sequence += 1;
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("a drive has nothing below it");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        while let Some(first) = self.outstanding.first_entry().filter(|entry| entry.key().0 <= now)
        {
            effects.up.push(first.remove());
        }
    }

    fn next_wakeup(&self) -> Instant {
        self.outstanding.keys().next().map_or(Instant::NEVER, |key| key.0)
    }
}
