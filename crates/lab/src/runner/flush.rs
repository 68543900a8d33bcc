//! What a flush costs, after a write and after none: one that has nothing to do after a write
//! either was eaten on its way.

use super::{
    Job, RunError, Runner,
    durable::{is_durable, is_mix},
};
use crate::{
    method::{CellBound, CellSpec},
    target::{Access, OpenEngine, Time, WorkerEngines},
    workload::{Area, Caching, Contents, EngineChoice, OnError, Pattern},
};
use record::TargetInfo;
use stats::Histogram;
use std::{panic::resume_unwind, thread};

/// Writes of the probe, and as many flushes after none.
const PROBE_WRITES: u64 = 64;
/// In so many parts, by turns.
const ROUNDS: u64 = 8;
/// Flushes take so much longer after a write than after none, or the write left nothing to flush.
const AFTER_WRITE_MIN: f64 = 1.3;
/// A medium takes so much longer than a cache, or the flush did not wait for one.
const OVER_WRITE_MIN: f64 = 1.3;

/// The percentile that is compared: a busy host makes some of the rest slower, and none faster.
const QUICK: f64 = 0.25;

/// A quarter of the times are shorter, ns.
#[derive(Clone, Copy, Debug)]
pub struct FlushCost {
    pub(super) write_ns: u64,
    pub(super) after_write_ns: u64,
    pub(super) after_none_ns: u64,
}

impl FlushCost {
    /// Whether there was nothing left to flush after a write.
    pub(super) fn is_free(&self) -> bool {
        let after = self.after_write_ns as f64;
        after < AFTER_WRITE_MIN * self.after_none_ns as f64
            && after < OVER_WRITE_MIN * self.write_ns as f64
    }
}

impl Runner<'_> {
    /// Asks a real target that will be asked for durable writes past the page cache.
    pub(super) fn probe_flush(&mut self, target: usize) -> Result<Option<FlushCost>, RunError> {
        match self.flush_cost(target) {
            // What fails here fails its cell.
            Err(RunError::Failed(_)) if self.plan.on_error != OnError::Stop => Ok(None),
            known => known,
        }
    }

    fn flush_cost(&mut self, target: usize) -> Result<Option<FlushCost>, RunError> {
        let offer = self.target(target).offer();
        let asks = |cell: &CellSpec| {
            let durable = cell.streams.iter().any(|stream| {
                (is_durable(stream) || stream.flush_every > 0)
                    && !is_mix(stream)
                    && stream.io.caching == Caching::Direct
            });
            durable && cell.tree.is_none()
        };
        let block = u64::from(offer.block_bytes).max(4096);
        let area = Area { offset: 0, bytes: self.plan.span_bytes / block * block };
        let is_asked = self.plan.cells.iter().any(asks)
            && offer.time == Time::Wall
            && offer.access == Access::ReadWrite
            && offer.direct.is_ok()
            && is_flushed(self.target(target).info());
        let bytes = PROBE_WRITES * block;
        // What is bound by bytes needs what may still be written.
        let with_cells = bytes.saturating_add(super::fill::reserved_bytes(self.plan));
        if !is_asked || area.bytes == 0 || !self.allowance.allows(target, with_cells) {
            return Ok(None);
        }
        let mut spec = super::fill::writer(self.plan, &offer, block, Contents::Random);
        spec.bound = CellBound::Operations(PROBE_WRITES / ROUNDS);
        let stream = &mut spec.streams[0];
        (stream.pattern, stream.flush_every) = (Pattern::Random, 1);
        (stream.engine, stream.queue_depth) = (EngineChoice::Sync, 1);
        stream.io.caching = Caching::Direct;
        self.allowance.spend(target, bytes);
        let seed = self.plan.seed ^ 0xf1_054;
        let [mut writes, mut after_write, mut after_none] = [(); 3].map(|()| Histogram::new());
        // In turn: what slows the host for a moment slows both.
        for round in 0..ROUNDS {
            let seed = seed ^ round;
            let areas = vec![area];
            let job = Job { target, spec: &spec, areas, seed, written_max: bytes, errors_max: 0 };
            let done = self.pass(job, |_, _| {})?;
            writes.merge(&done.streams[0].latencies);
            after_write.merge(&done.streams[0].flushes);
            after_none.merge(&self.flushes_after_none(target, &spec)?);
        }
        let quick = |of: &Histogram| of.percentile(QUICK);
        let all = (quick(&writes), quick(&after_write), quick(&after_none));
        let (Some(write_ns), Some(after_write_ns), Some(after_none_ns)) = all else {
            return Ok(None);
        };
        Ok(Some(FlushCost { write_ns, after_write_ns, after_none_ns }))
    }

    /// One flush after the other, with nothing in between.
    fn flushes_after_none(
        &mut self,
        target: usize,
        spec: &CellSpec,
    ) -> Result<Histogram, RunError> {
        let mut all = Histogram::new();
        let WorkerEngines::Threads(openers) = self.target(target).open(&spec.streams)? else {
            return Ok(all);
        };
        // An engine is opened on a thread of its own, which keeps to itself what it opens. Taken on
        // this one, the file stayed open in other threads, and no mount could be taken down
        // afterwards.
        let flushes = |open: OpenEngine| -> Result<Histogram, RunError> {
            let mut times = Histogram::new();
            let mut engine = open()?;
            let failed = |error| RunError::Failed(format!("a flush failed: {error:?}"));
            let mut before = engine.flush().map_err(failed)?;
            for _ in 0..PROBE_WRITES / ROUNDS {
                let finished = engine.flush().map_err(failed)?;
                times.record(finished.since(before));
                before = finished;
            }
            Ok(times)
        };
        for open in openers {
            let times = thread::scope(|scope| scope.spawn(|| flushes(open)).join());
            all.merge(&times.unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(all)
    }
}

/// Whether the system passes flushes on: it does not where a drive says that it has nothing to
/// flush.
fn is_flushed(target: &TargetInfo) -> bool {
    let mut caches =
        target.stack.iter().filter_map(|layer| layer.queue.as_ref()?.write_cache.as_deref());
    !caches.any(|cache| cache == "write through")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that ate its flushes made 11.3 k commits a second by O_DIRECT and fdatasync instead
    /// of 5.3 k, and was believed: its flushes took longer than the 20 us below which one is a lie.
    #[test]
    fn a_flush_is_free_where_a_write_leaves_nothing_to_flush() {
        let cost = |write_us: u64, after_write_us: u64, after_none_us: u64| FlushCost {
            write_ns: 1000 * write_us,
            after_write_ns: 1000 * after_write_us,
            after_none_ns: 1000 * after_none_us,
        };
        assert!(cost(45, 43, 42).is_free(), "eaten: each is one round trip");
        assert!(!cost(45, 143, 142).is_free(), "slow whatever there is to flush");
        assert!(!cost(45, 55, 20).is_free(), "a fast medium");
        assert!(!cost(60, 900, 80).is_free(), "a drive with a cache");
    }
}
