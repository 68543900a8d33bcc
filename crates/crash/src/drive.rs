//! A drive that knows nothing but time: every request takes a drawn latency, so answers overtake
//! each other.

use block::{Completion, Data, Drive, Effects, Geometry, Instant, Machine, Payload, Request, Rng};
use model::Outbox;

pub struct Shuffling {
    capacity_bytes: u64,
    outbox: Outbox,
    rng: Rng,
}

/// Enough for an array on top.
pub const DEPTH: u32 = 1024;

impl Shuffling {
    pub fn new(capacity_bytes: u64, seed: u64) -> Self {
        Self { capacity_bytes, outbox: Outbox::new(DEPTH), rng: Rng::new(seed, 1) }
    }
}

impl Machine for Shuffling {
    fn geometry(&self, _: Drive) -> Geometry {
        Geometry {
            capacity_bytes: self.capacity_bytes,
            block_bytes: 512,
            transfer_bytes_max: 1 << 20,
            queue_depth: DEPTH,
            data: Data::TimingOnly,
        }
    }

    fn on_request(&mut self, now: Instant, request: Request, _: &mut Effects) {
        let finished = now.after(10_000 + self.rng.below(90_000));
        let payload = request.command.into_payload();
        assert!(matches!(payload, Payload::None), "the machine below only times");
        let (tag, issued, result) = (request.tag, now, Ok(()));
        self.outbox.put(Completion { tag, issued, finished, result, payload });
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("a drive has nothing below it");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.outbox.release(now, effects);
    }

    fn next_wakeup(&self) -> Instant {
        self.outbox.next()
    }
}
