//! Where the workers' tick parts come together into one series a stream.

use crate::workload::TickPart;
use stats::{Delta, Histogram, Tick};
use std::ops::Range;

/// The ticks of one pass of one cell, as they arrive.
pub(super) struct Board {
    streams: Vec<StreamBoard>,
    workers: Vec<WorkerLine>,
    errors: u64,
}

/// One stream's parts.
pub(super) struct StreamBoard {
    block_bytes: u64,
    ticks: Vec<Tick>,
    latencies: Vec<(usize, Delta)>,
    flushes: Histogram,
    services: Histogram,
    failed: Histogram,
    longest: Option<Wait>,
    operations: u64,
    bytes: u64,
    cpu_ns: u64,
}

/// How long one request waited for its answer, failed or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wait {
    pub ns: u64,
    /// The tick in which it was answered.
    pub tick: usize,
}

impl Wait {
    /// The same where so many ticks at the start do not count; `None` if it was among them.
    pub fn later_than(self, quiet: usize) -> Option<Self> {
        Some(Self { tick: self.tick.checked_sub(quiet)?, ..self })
    }
}

#[derive(Clone, Copy)]
struct WorkerLine {
    next_tick: usize,
    done: bool,
    cpu_ns: u64,
}

impl Board {
    /// For streams of these block sizes and this many workers in all.
    pub fn new(block_bytes: &[u32], workers: usize) -> Self {
        let stream = |&bytes: &u32| StreamBoard {
            block_bytes: u64::from(bytes),
            ticks: Vec::new(),
            latencies: Vec::new(),
            flushes: Histogram::new(),
            services: Histogram::new(),
            failed: Histogram::new(),
            longest: None,
            operations: 0,
            bytes: 0,
            cpu_ns: 0,
        };
        let line = WorkerLine { next_tick: 0, done: false, cpu_ns: 0 };
        let streams = block_bytes.iter().map(stream).collect();
        Self { streams, workers: vec![line; workers], errors: 0 }
    }

    /// Takes one part.
    pub fn add(&mut self, part: TickPart) {
        let line = &mut self.workers[part.worker];
        line.cpu_ns += part.cpu_ns;
        line.done |= part.last;
        self.errors += part.failed.count();
        let stream = &mut self.streams[part.stream];
        let operations = part.latencies.count();
        let bytes = part.bytes.unwrap_or(operations * stream.block_bytes);
        stream.operations += operations;
        stream.bytes += bytes;
        stream.cpu_ns += part.cpu_ns;
        stream.flushes.add_delta(&part.flushes);
        stream.services.add_delta(&part.services);
        stream.failed.add_delta(&part.failed);
        for ns in part.latencies.max().into_iter().chain(part.failed.max()) {
            if stream.longest.is_none_or(|longest| ns > longest.ns) {
                stream.longest = Some(Wait { ns, tick: part.tick });
            }
        }
        if !part.last {
            // The last part covers a tick cut short: it counts in totals and latencies, not as a
            // tick.
            line.next_tick = part.tick + 1;
            if stream.ticks.len() <= part.tick {
                stream.ticks.resize(part.tick + 1, Tick { operations: 0, bytes: 0 });
            }
            let tick = &mut stream.ticks[part.tick];
            tick.operations += operations;
            tick.bytes += bytes;
        }
        if operations > 0 {
            stream.latencies.push((part.tick, part.latencies));
        }
    }

    /// Ticks that every worker has reported.
    pub fn complete_ticks(&self) -> usize {
        let longest = self.streams.iter().map(|stream| stream.ticks.len()).max().unwrap_or(0);
        let going = self.workers.iter().filter(|line| !line.done);
        going.map(|line| line.next_tick).min().unwrap_or(longest)
    }

    /// Ticks during all of which every worker was at work.
    pub fn common_ticks(&self) -> usize {
        self.workers.iter().map(|line| line.next_tick).min().unwrap_or(0)
    }

    /// Whether some worker is done already.
    pub fn any_done(&self) -> bool {
        self.workers.iter().any(|line| line.done)
    }

    /// Whether no worker is at work any more.
    pub fn all_done(&self) -> bool {
        self.workers.iter().all(|line| line.done)
    }

    /// Processor time of the busiest worker, ns.
    pub fn busiest_ns(&self) -> u64 {
        self.workers.iter().map(|line| line.cpu_ns).max().unwrap_or(0)
    }

    /// Operations that failed, all streams.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Ticks before the last complete one in which nothing was answered, up to the first in which
    /// something was.
    pub fn silent_ticks(&self) -> usize {
        let complete = self.complete_ticks();
        let is_silent = |tick: &usize| {
            let mut streams = self.streams.iter();
            streams.all(|stream| stream.ticks.get(*tick).is_none_or(|tick| tick.operations == 0))
        };
        (0..complete).rev().take_while(is_silent).count()
    }

    /// One stream's latencies by the tick in which operations ended; it then has none any more.
    pub fn take_latencies(&mut self, index: usize) -> Vec<(usize, Delta)> {
        std::mem::take(&mut self.streams[index].latencies)
    }

    /// One stream's side.
    pub fn stream(&self, index: usize) -> &StreamBoard {
        &self.streams[index]
    }
}

impl StreamBoard {
    /// These ticks, and no others are looked at: whoever watches asks for the last ones at every
    /// tick. A stream that ended before has empty ones.
    pub fn ticks(&self, wanted: Range<usize>) -> Vec<Tick> {
        wanted.map(|tick| self.ticks.get(tick).copied().unwrap_or_default()).collect()
    }

    /// Latencies from tick `first` on.
    pub fn latencies_from(&self, first: usize) -> Histogram {
        let mut histogram = Histogram::new();
        for (_, delta) in self.latencies.iter().filter(|(tick, _)| *tick >= first) {
            histogram.add_delta(delta);
        }
        histogram
    }

    /// Latencies of flushes.
    pub fn flushes(&self) -> &Histogram {
        &self.flushes
    }

    /// Latencies from submission, of an open loop.
    pub fn services(&self) -> &Histogram {
        &self.services
    }

    /// Latencies of operations that failed.
    pub fn failed(&self) -> &Histogram {
        &self.failed
    }

    /// The longest that any request waited.
    pub fn longest(&self) -> Option<Wait> {
        self.longest
    }

    /// Completed operations.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Bytes they moved.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Processor time of all workers, ns.
    pub fn cpu_ns(&self) -> u64 {
        self.cpu_ns
    }
}
