//! A drive that knows nothing but time: every request takes a drawn latency, so answers overtake
//! each other.

use block::{
    Command, Completion, Data, Drive, Effects, Engine, Extent, Geometry, Instant, Machine, Payload,
    Request, Rng, Tag,
};
use model::Outbox;

pub const DEPTH: u32 = 16;

pub struct Shuffling {
    capacity_bytes: u64,
    outbox: Outbox,
    rng: Rng,
}

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
        assert_eq!(request.drive, Drive(0));
        let finished = now.after(10_000 + self.rng.below(90_000));
        let payload = request.command.into_payload();
        assert!(matches!(payload, Payload::None), "the machine below only times");
        self.outbox.put(Completion {
            tag: request.tag,
            issued: now,
            finished,
            result: Ok(()),
            payload,
        });
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

pub fn request(tag: u64, drive: Drive, command: Command) -> Request {
    Request { tag: Tag(tag), actor: block::Actor(0), drive, command }
}

/// Submits one command and waits for its answer, which must be the only one.
pub fn ask(engine: &mut impl Engine, command: Command) -> Completion {
    block::submit_and_wait(engine, command)
}

pub fn sectors(first: u64, count: u64) -> Extent {
    Extent { offset: first * 512, bytes: count as u32 * 512 }
}
