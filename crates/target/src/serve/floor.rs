//! A drive that answers every request after the same time: what its clients wait longer is what the
//! way to it takes.

use crate::Pace;
use block::{Completion, Data, Drive, Effects, Engine, Geometry, Instant, Machine, Request};
use model::{Outbox, Paced};

/// Its requests' size, bytes.
pub const BLOCK_BYTES: u32 = 4096;
const QUEUE_DEPTH: u32 = 4;

/// Answers reads of [`BLOCK_BYTES`] after `answer_ns`, at this pace.
pub fn always_after(answer_ns: u64, pace: Pace) -> impl Engine + Send {
    let drive = Always { answer_ns, outbox: Outbox::new(QUEUE_DEPTH) };
    Paced::new(drive, pace)
}

struct Always {
    answer_ns: u64,
    outbox: Outbox,
}

impl Machine for Always {
    fn geometry(&self, _: Drive) -> Geometry {
        Geometry {
            capacity_bytes: 1 << 20,
            block_bytes: BLOCK_BYTES,
            transfer_bytes_max: BLOCK_BYTES,
            queue_depth: QUEUE_DEPTH,
            data: Data::Stored,
        }
    }

    fn on_request(&mut self, now: Instant, request: Request, _: &mut Effects) {
        let finished = now.after(self.answer_ns.max(1));
        let (tag, payload) = (request.tag, request.command.into_payload());
        self.outbox.put(Completion { tag, issued: now, finished, result: Ok(()), payload });
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("it has nothing below it");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.outbox.release(now, effects);
    }

    fn next_wakeup(&self) -> Instant {
        self.outbox.next()
    }
}
