//! The first ways as they stand: the whole trace, replayed on each as fast as it goes.

use crate::{HybridError, seen::Seen, way::Way};
use lab::{
    method::SpanRule,
    plan::Options,
    runner::{Event, Observer},
    workload::replay::Speed,
};
use record::{Calibration, Record};
use run::{MeasuredBy, Prepared, ReplayOrder, RunOrder, TraceFile, Wear};
use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering},
};
use target::{TargetText, stack::Stack};

/// Areas are whole multiples of this.
const AREA_GRAIN: u64 = 1 << 20;
/// Operations of a trace that are kept in memory for all replays: 400 MB of them.
const KEPT_MAX: usize = 1 << 24;

/// What a replay found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Checked {
    /// Operations a second.
    pub iops: f64,
    /// 99th percentile of the latency, ns.
    pub p99_ns: Option<u64>,
    /// Bytes that flash beside disks was written, a request: fills, moves and maps among them.
    pub flash_bytes: Option<f64>,
}

/// Replays of one trace on many ways.
pub struct Checks<'q> {
    /// All of it but the target.
    order: RunOrder,
    seen: &'q Seen,
    trials: Trials<'q>,
}

/// A replay of a trace, as fast as it goes.
pub fn order(trace: &TraceFile, disks: &Stack, queue_depth: u16, seed: u64) -> ReplayOrder {
    ReplayOrder {
        trace: trace.clone(),
        targets: vec![TargetText::Model(disks.clone())],
        speed: Speed::Max,
        queue_depth: u32::from(queue_depth),
        trace_seconds_max: None,
        options: Options { seed, passes: Some(1), ..Options::default() },
        labels: Default::default(),
        consent: Default::default(),
        wear: Wear::AgreedTo,
        kept_max: KEPT_MAX,
    }
}

impl<'q> Checks<'q> {
    /// Replays of what was read. Where the trace asks is where the modelled drives are asked: none
    /// of it is filled, and no place of it is another's.
    pub fn new(
        mut order: RunOrder,
        seen: &'q Seen,
        by: &'q MeasuredBy,
        stop: &'q AtomicBool,
    ) -> Self {
        let room_bytes = seen.like.room_bytes.next_multiple_of(AREA_GRAIN);
        order.method.method.span = SpanRule::AtMost(room_bytes);
        order.method.method.file.fill = Some(0);
        Self { order, seen, trials: Trials::new(by, stop) }
    }

    /// Replays the trace on a way.
    ///
    /// # Errors
    /// A stack that fails, or the user stops it.
    pub fn replay(&self, way: &Way) -> Result<Checked, HybridError> {
        let targets = vec![TargetText::Model(way.stack.clone())];
        let ran = self.trials.run(RunOrder { targets, ..self.order.clone() }, &way.stack)?;
        Ok(found(&ran, self.seen))
    }
}

fn found(ran: &Ran, seen: &Seen) -> Checked {
    let cells = &ran.record.cells;
    let iops = cells.iter().map(|cell| cell.iops).sum();
    let slowest = cells.iter().filter_map(|cell| cell.latency.as_ref()?.percentile(99.0));
    let flash_bytes = ran.flash_bytes.map(|bytes| bytes as f64 / seen.requests());
    Checked { iops, p99_ns: slowest.max(), flash_bytes }
}

/// Runs on modelled stacks that are kept in no history.
pub struct Trials<'q> {
    by: &'q MeasuredBy,
    /// The same for all ways: measured for each it was 40 % of the processor's time.
    calibration: OnceLock<Calibration>,
    stop: &'q AtomicBool,
}

/// What a run left.
pub struct Ran {
    /// Its record.
    pub record: Record,
    /// Bytes that flash beside disks was written; `None` without such a drive.
    pub flash_bytes: Option<u64>,
}

impl<'q> Trials<'q> {
    /// None has run.
    pub fn new(by: &'q MeasuredBy, stop: &'q AtomicBool) -> Self {
        Self { by, calibration: OnceLock::new(), stop }
    }

    /// Carries an order out, whose target is `stack`.
    ///
    /// # Errors
    /// A stack that cannot be opened or fails, or the user stops it.
    pub fn run(&self, order: RunOrder, stack: &Stack) -> Result<Ran, HybridError> {
        let mut prepared = Prepared::new(order)?;
        let calibration = self.calibration.get_or_init(|| prepared.calibrate()).clone();
        let mut record = prepared.record_as("hybrid".to_owned(), self.by, calibration);
        let mut watcher = Watcher { stop: self.stop, flash_bytes: None };
        let outcome = prepared.carry_out(&mut record, &mut watcher);
        outcome.map_err(|error| match self.stop.load(Ordering::Relaxed) {
            true => HybridError::Stopped,
            false => HybridError::Check { stack: stack.to_string(), reason: error.to_string() },
        })?;
        Ok(Ran { record, flash_bytes: watcher.flash_bytes })
    }
}

/// Stops when the user wants to, and sees what flash beside disks was written.
struct Watcher<'s> {
    stop: &'s AtomicBool,
    /// Bytes, in all cells.
    flash_bytes: Option<u64>,
}

impl Observer for Watcher<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Event::End { watched: [before, after], .. } = event {
            let both = after.beside_written_bytes.zip(before.beside_written_bytes);
            if let Some((after, before)) = both {
                *self.flash_bytes.get_or_insert(0) += after - before;
            }
        }
    }

    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn save(&mut self, _: &Record) {}
}
