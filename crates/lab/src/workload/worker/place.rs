//! Where one worker of a stream works, and in which order.

use super::WorkerPlan;
use crate::workload::{Area, Moves, Offsets, Pattern, Share, Stream};
use block::Rng;

/// Marks the seeds of workers that have an area each.
const OWN_AREA: u64 = 1 << 42;

impl WorkerPlan {
    /// The worker's walk.
    pub(super) fn offsets(&self) -> Offsets {
        let (stream, worker) = (&self.stream, self.share.worker);
        let (area, share, seed) = match stream.offset_increment_bytes {
            0 => (self.area, self.share, self.seed),
            _ => {
                let own = Rng::new(self.seed, OWN_AREA | worker).next();
                let alone = Share { worker: 0, of: 1 };
                (own_area(stream, self.area, worker), alone, own)
            }
        };
        let block_bytes = u64::from(stream.align_bytes());
        let mut offsets = Offsets::new(stream.pattern, area, block_bytes, share, seed);
        if let Some(moves) = stream.moves {
            let every = match moves {
                Moves::Operations(count) => count.div_ceil(u64::from(stream.threads)),
                Moves::Seconds(_) => u64::MAX,
            };
            offsets = offsets.moving(seed, every);
        }
        if stream.sequential_percent > 0.0 {
            offsets = offsets.partly_sequential(stream.sequential_percent, seed, share.worker);
        }
        offsets
    }
}

/// The area of a worker of a stream whose workers have one each: all are of the same length, and
/// each begins `offset_increment_bytes` after the one before it.
fn own_area(stream: &Stream, area: Area, worker: u64) -> Area {
    Area {
        offset: area.offset + stream.offset_increment_bytes * worker,
        bytes: own_bytes(stream, area),
    }
}

fn own_bytes(stream: &Stream, area: Area) -> u64 {
    let others = u64::from(stream.threads.saturating_sub(1));
    area.bytes.saturating_sub(stream.offset_increment_bytes.saturating_mul(others))
}

impl Stream {
    /// Bytes that one worker works on: all of the area, unless each has its own.
    pub fn worker_bytes(&self, area: Area) -> u64 {
        match self.offset_increment_bytes {
            0 => area.bytes,
            _ => own_bytes(self, area),
        }
    }

    /// Bytes that must hold one block: what a worker works on, or its slice of it where blocks of
    /// several sizes go in sequence.
    pub fn room_bytes(&self, area: Area) -> u64 {
        let sliced = matches!(
            self.pattern,
            Pattern::Sequential | Pattern::Backward | Pattern::Strided { .. }
        );
        match self.mix.is_some() && sliced && self.offset_increment_bytes == 0 {
            true => {
                let unit = u64::from(self.align_bytes());
                area.bytes / unit / u64::from(self.threads) * unit
            }
            false => self.worker_bytes(area),
        }
    }

    /// Operations of all workers together after which every block of the area had its turn.
    pub fn operations_once(&self, area: Area) -> u64 {
        let blocks = match &self.mix {
            None => self.worker_bytes(area) / u64::from(self.block_bytes),
            Some(mix) => (self.worker_bytes(area) as f64 / mix.mean()) as u64,
        };
        blocks * self.walks()
    }

    /// Bytes that all workers together ask for until every block of the area had its turn.
    pub fn bytes_once(&self, area: Area) -> u64 {
        match &self.mix {
            None => self.operations_once(area) * u64::from(self.block_bytes),
            Some(_) => self.worker_bytes(area) * self.walks(),
        }
    }

    /// How often an area is gone over: once by all workers, or once by each in its own.
    fn walks(&self) -> u64 {
        match self.offset_increment_bytes {
            0 => 1,
            _ => u64::from(self.threads),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Op;

    #[test]
    fn areas_of_workers_are_alike_and_end_with_the_streams() {
        let stream = Stream {
            threads: 4,
            offset_increment_bytes: 1 << 20,
            ..Stream::new(Op::Read, Pattern::Sequential, 4096)
        };
        let area = Area { offset: 4096, bytes: 5 << 20 };
        let own: Vec<_> = (0..4).map(|worker| own_area(&stream, area, worker)).collect();
        assert!(own.iter().all(|own| own.bytes == 2 << 20));
        assert_eq!(own[3].offset + own[3].bytes, area.offset + area.bytes);
        assert_eq!(stream.operations_once(area), 4 * (2 << 20) / 4096);
    }
}
