//! What one worker saw, cut into ticks and sent to the runner.
//!
//! Completions fall into the tick in which they *finished*: a request that stalled for three ticks
//! leaves two empty ones behind it. Per operation this costs one histogram record and one compare.

use block::Instant;
use stats::{Delta, Histogram};
use std::sync::mpsc::Sender;

/// What one worker completed within one tick.
#[derive(Clone, Debug)]
pub struct TickPart {
    /// Index of the stream in its cell.
    pub stream: usize,
    /// The worker's number over all streams of the cell.
    pub worker: usize,
    /// Index of the tick, from the start of the pass.
    pub tick: usize,
    /// Latencies of the operations; their count is the number of operations.
    pub latencies: Delta,
    /// Latencies of the stream's own flushes.
    pub flushes: Delta,
    /// Latencies of an open loop's operations from their submission, which hide the wait for a
    /// slot.
    pub services: Delta,
    /// Latencies of operations that failed.
    pub failed: Delta,
    /// Bytes they moved where operations differ in size; `None` where each moves the stream's
    /// block.
    pub bytes: Option<u64>,
    /// Processor time the worker used since its last part, ns.
    pub cpu_ns: u64,
    /// The worker's last part: no more will come.
    pub last: bool,
}

/// Collects one worker's latencies and sends a [`TickPart`] a tick.
pub struct Recorder {
    latencies: Histogram,
    flushes: Option<Histogram>,
    services: Option<Histogram>,
    failed: Option<Histogram>,
    bytes: Option<u64>,
    tick_end: Instant,
    tick_ns: u64,
    tick: usize,
    stream: usize,
    worker: usize,
    sink: Sender<TickPart>,
    cpu_clock: fn() -> u64,
    cpu_ns: u64,
}

impl Recorder {
    /// For worker `worker` of stream `stream`; `cpu_clock` reads the calling thread's processor
    /// time.
    pub fn new(
        stream: usize,
        worker: usize,
        tick_ns: u64,
        sink: Sender<TickPart>,
        cpu_clock: fn() -> u64,
    ) -> Self {
        assert!(tick_ns > 0, "a tick takes time");
        Self {
            latencies: Histogram::new(),
            flushes: None,
            services: None,
            failed: None,
            bytes: None,
            tick_end: Instant::NEVER,
            tick_ns,
            tick: 0,
            stream,
            worker,
            sink,
            cpu_clock,
            cpu_ns: 0,
        }
    }

    /// The pass begins at `start`, on the worker's own thread.
    pub fn start(&mut self, start: Instant) {
        self.tick_end = start.after(self.tick_ns);
        self.cpu_ns = (self.cpu_clock)();
    }

    /// One operation finished.
    #[inline]
    pub fn record(&mut self, latency_ns: u64, finished: Instant) {
        if finished >= self.tick_end {
            self.turn_to(finished);
        }
        self.latencies.record(latency_ns);
    }

    /// One operation of a size of its own finished. All of a worker's operations are told so, or
    /// none.
    #[inline]
    pub fn record_moved(&mut self, latency_ns: u64, finished: Instant, bytes: u64) {
        self.record(latency_ns, finished);
        *self.bytes.get_or_insert(0) += bytes;
    }

    /// One flush of the stream's own finished.
    pub fn record_flush(&mut self, latency_ns: u64, finished: Instant) {
        if finished >= self.tick_end {
            self.turn_to(finished);
        }
        self.flushes.get_or_insert_with(Histogram::new).record(latency_ns);
    }

    /// One operation failed.
    #[cold]
    pub fn record_failed(&mut self, latency_ns: u64, finished: Instant) {
        if finished >= self.tick_end {
            self.turn_to(finished);
        }
        self.failed.get_or_insert_with(Histogram::new).record(latency_ns);
    }

    /// An open loop's operation took this long from its submission. Call before [`Self::record`].
    pub fn record_service(&mut self, latency_ns: u64) {
        self.services.get_or_insert_with(Histogram::new).record(latency_ns);
    }

    /// Sends every tick that ended before `now`.
    #[cold]
    pub fn turn_to(&mut self, now: Instant) {
        while now >= self.tick_end {
            self.send(false);
            self.tick += 1;
            self.tick_end = self.tick_end.after(self.tick_ns);
        }
    }

    /// Sends what is left, as the worker's last part.
    pub fn finish(&mut self) {
        self.send(true);
    }

    fn send(&mut self, last: bool) {
        let cpu_now = (self.cpu_clock)();
        let mut part = TickPart {
            stream: self.stream,
            worker: self.worker,
            tick: self.tick,
            latencies: Delta::new(),
            flushes: Delta::new(),
            services: Delta::new(),
            failed: Delta::new(),
            bytes: self.bytes.as_mut().map(std::mem::take),
            cpu_ns: cpu_now.saturating_sub(self.cpu_ns),
            last,
        };
        self.cpu_ns = cpu_now;
        self.latencies.drain_delta(&mut part.latencies);
        if let Some(flushes) = &mut self.flushes {
            flushes.drain_delta(&mut part.flushes);
        }
        if let Some(services) = &mut self.services {
            services.drain_delta(&mut part.services);
        }
        if let Some(failed) = &mut self.failed {
            failed.drain_delta(&mut part.failed);
        }
        // The runner hangs up when it has given a stuck pass up; then nobody wants the part.
        let _ = self.sink.send(part);
    }
}
