//! The loop that everything else is measured by: one worker keeps `queue_depth` operations in
//! flight.
//!
//! Budget per operation at depth 1, engine included: 50 ns. So: one clock read (the engine's), one
//! histogram record, no allocation, no lock, no formatting; failures and tick ends are cold paths.
//!
//! A real run gives every worker its own engine and thread; on a virtual clock one call drives all.

mod counted;
mod drive;
mod pacer;
mod place;

pub use counted::{Counted, Length, Pace, once};
pub use drive::{drain, drive};

use super::{
    Area, Contents, ErrorLog, Offsets, Op, Recorder, Share, Stream, Syncing, is_stamped, mix::Sizes,
};
use block::{
    Actor, Command, Completion, Data, Drive, Durability, Engine, Extent, Instant, IoError, Payload,
    Request, Rng, Tag,
};
use pacer::Pacer;
use std::mem;

/// How much a worker does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Budget {
    /// Until it is told to stop.
    Endless,
    /// This many operations.
    Operations(u64),
    /// No more than this many bytes, of a stream whose operations differ in size.
    Bytes(u64),
}

/// Everything that makes one worker.
#[derive(Clone, Debug)]
pub struct WorkerPlan {
    /// What it does.
    pub stream: Stream,
    /// Where.
    pub area: Area,
    /// Its place in the stream.
    pub share: Share,
    /// Its number over all streams of the cell.
    pub actor: Actor,
    /// How much of it.
    pub budget: Budget,
    /// Where all its random choices come from.
    pub seed: u64,
    /// So many of its requests may fail before it gives up.
    pub errors_max: u64,
    /// How long a rate takes from its start to its end, seconds.
    pub ramp_s: f64,
}

/// An operation that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// `read`, `write`, `trim`, `write_zeroes` or `flush`; or the operation on a tree.
    pub operation: &'static str,
    /// Byte offset on the target; of an operation on a tree the file's number.
    pub offset: u64,
    /// Length of the operation, bytes.
    pub bytes: u32,
    /// The cause.
    pub error: IoError,
}

/// How a call of [`drive`] ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finish {
    /// Time is up, or the stop flag was raised; operations may still be in flight.
    Stopped,
    /// Every worker's budget is spent, and nothing is in flight.
    Spent,
    /// A worker failed.
    Failed,
}

/// What a slot waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The one transfer of a simple operation.
    Transfer,
    /// A read whose bytes are looked at.
    ReadToCheck,
    /// The first half of a read-modify-write.
    ReadToModify,
    /// The first half of a commit.
    WriteToCommit,
    /// A flush that ends a commit.
    CommitFlush,
    /// A flush of the stream's own, every n writes.
    Flush,
}

#[derive(Debug)]
struct Slot {
    phase: Phase,
    /// When an open loop meant to start the operation; `None` in a closed loop.
    due: Option<Instant>,
    /// When the drive first could have seen the operation's first part; `None` until that is done.
    issued: Option<Instant>,
    offset: u64,
    bytes: u32,
    is_write: bool,
    /// The memory of a slot that has nothing in flight, or only a flush.
    payload: Payload,
}

/// One worker: a stream's operations on one engine.
pub struct Worker {
    op: Op,
    /// What a slot that reads waits for.
    read: Phase,
    block_bytes: u32,
    durability: Durability,
    flush_every: u32,
    contents: Contents,
    actor: Actor,
    offsets: Offsets,
    /// Where operations differ in size.
    sizes: Option<Box<Sizes>>,
    rng: Rng,
    recorder: Recorder,
    slots: Vec<Slot>,
    idle: Vec<u16>,
    left: u64,
    writes_since_flush: u32,
    pacer: Option<Box<Pacer>>,
    /// Why it gave up.
    failure: Option<Failure>,
    errors: ErrorLog,
}

impl Worker {
    /// Makes a worker for `engine`: allocates its slots and takes its buffers from the engine's
    /// pool.
    pub fn new<E: Engine + ?Sized>(plan: &WorkerPlan, recorder: Recorder, engine: &mut E) -> Self {
        let stream = &plan.stream;
        let depth = usize::try_from(stream.queue_depth).expect("a depth fits usize");
        assert!(depth >= 1 && depth <= usize::from(u16::MAX), "depth {depth}");
        let mut rng = Rng::new(plan.seed, 0x5eed_0000 + u64::from(plan.actor.0));
        let mut buffers = match engine.geometry(Drive(0)).data {
            Data::Stored if stream.op.carries_nothing() => Vec::new(),
            Data::Stored => engine.pool(depth, stream.block_bytes as usize, stream.io.pages),
            Data::TimingOnly => Vec::new(),
        };
        buffers.iter_mut().for_each(|buffer| stream.contents.fill(buffer.bytes_mut(), &mut rng));
        let mut buffers = buffers.into_iter();
        let slots = (0..depth)
            .map(|_| Slot {
                phase: Phase::Transfer,
                due: None,
                issued: None,
                offset: 0,
                bytes: 0,
                is_write: false,
                payload: buffers.next().map_or(Payload::None, Payload::Bytes),
            })
            .collect();
        Self {
            op: stream.op,
            read: match stream.contents {
                Contents::Stamped => Phase::ReadToCheck,
                _ => Phase::Transfer,
            },
            block_bytes: stream.block_bytes,
            // `O_SYNC` and `O_DSYNC` are set when the file is opened; on a model they become FUA.
            durability: match (engine.geometry(Drive(0)).data, stream.io.syncing) {
                (Data::TimingOnly, Syncing::Dsync | Syncing::Sync) => Durability::Fua,
                _ => Durability::Cached,
            },
            flush_every: stream.flush_every,
            contents: stream.contents,
            actor: plan.actor,
            offsets: plan.offsets(),
            rng,
            recorder,
            slots,
            idle: (0..depth as u16).rev().collect(),
            left: operations(plan),
            sizes: sizes(plan),
            writes_since_flush: 0,
            pacer: Pacer::new(stream, plan.ramp_s),
            failure: None,
            errors: ErrorLog::new(plan.errors_max),
        }
    }

    /// Every write is durable before it counts as done, as if the file had been opened with
    /// `O_DSYNC`.
    pub fn write_durably(&mut self) {
        self.durability = Durability::Fua;
    }

    /// The pass begins: ticks and an open loop's schedule count from `start`.
    pub fn start(&mut self, start: Instant) {
        self.recorder.start(start);
        if let Some(pacer) = &mut self.pacer {
            pacer.start(start, &mut self.rng);
        }
    }

    /// Why it gave up, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Its requests that failed, whether it gave up or not.
    pub fn errors(&self) -> &ErrorLog {
        &self.errors
    }

    /// Whether its budget is used up, with nothing in flight.
    pub fn is_spent(&self) -> bool {
        self.left == 0 && self.in_flight() == 0
    }

    /// Sends ticks that ended before `now` without a completion in them.
    pub fn turn_to(&mut self, now: Instant) {
        self.recorder.turn_to(now);
    }

    /// The pass is over: sends the last part.
    pub fn finish(&mut self) {
        self.recorder.finish();
    }

    /// Operations begun and not ended.
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.idle.len()
    }

    /// When this worker wants to be called even though nothing completed.
    fn next_due(&self) -> Instant {
        match &self.pacer {
            Some(pacer) if !self.idle.is_empty() && self.left > 0 => pacer.next_due(),
            _ => Instant::NEVER,
        }
    }

    /// Issues whatever idle slots allow now.
    fn fill<E: Engine + ?Sized>(&mut self, engine: &mut E, worker: usize) {
        let now = engine.now();
        while let Some(&slot) = self.idle.last() {
            if self.left == 0 || self.next_due_is_after(now) {
                break;
            }
            self.idle.pop();
            self.issue_idle(engine, worker, slot);
        }
    }

    fn next_due_is_after(&self, now: Instant) -> bool {
        self.pacer.as_ref().is_some_and(|pacer| pacer.next_due() > now)
    }

    /// Starts the next operation in a slot that holds its memory itself.
    #[inline(never)]
    fn issue_idle<E: Engine + ?Sized>(&mut self, engine: &mut E, worker: usize, slot: u16) {
        let payload = self.take_payload(slot);
        self.issue(engine, worker, slot, payload);
    }

    /// Starts the next operation in a free slot.
    #[inline(always)]
    fn issue<E: Engine + ?Sized>(
        &mut self,
        engine: &mut E,
        worker: usize,
        slot: u16,
        payload: Payload,
    ) {
        self.left -= 1;
        let due = match &self.pacer {
            None => None,
            Some(pacer) => {
                let now = pacer.is_moving().then(|| engine.now());
                self.paced(now)
            }
        };
        let (offset, bytes) = match &self.sizes {
            None => (self.offsets.next(), self.block_bytes),
            Some(_) => self.sized(),
        };
        let (phase, is_write) = match self.op {
            Op::Read => (self.read, false),
            Op::Write | Op::Trim | Op::WriteZeroes => (Phase::Transfer, true),
            Op::Mixed { read_percent } => {
                let is_write = self.rng.unit() * 100.0 >= read_percent;
                (if is_write { Phase::Transfer } else { self.read }, is_write)
            }
            Op::ReadModifyWrite => (Phase::ReadToModify, false),
            Op::Commit => (Phase::WriteToCommit, true),
            Op::ReadDirty { dirty_percent } if self.rng.unit() * 100.0 < dirty_percent => {
                (Phase::ReadToModify, false)
            }
            Op::ReadDirty { .. } => (Phase::Transfer, false),
            Op::Tree(_) => unreachable!("trees have workers of their own"),
        };
        let entry = &mut self.slots[usize::from(slot)];
        (entry.phase, entry.is_write, entry.offset) = (phase, is_write, offset);
        (entry.due, entry.issued, entry.bytes) = (due, None, bytes);
        if is_write {
            self.write(engine, worker, slot, payload);
        } else {
            let at = Extent { offset, bytes };
            self.submit(engine, worker, slot, Command::Read { at, into: payload });
        }
    }

    /// Where the next operation of a mix goes, and its bytes.
    #[inline(never)]
    fn sized(&mut self) -> (u64, u32) {
        let sizes = self.sizes.as_mut().expect("only a stream of several sizes asks");
        let bytes = sizes.draw();
        if sizes.is_spent() {
            self.left = 0;
        }
        (self.offsets.next_of(u64::from(bytes)), bytes)
    }

    /// An operation of a worker with a pacer starts; when it was due, where it has a schedule.
    #[inline(never)]
    fn paced(&mut self, now: Option<Instant>) -> Option<Instant> {
        let pacer = self.pacer.as_mut()?;
        if let Some(moved) = now.and_then(|now| pacer.moved(now)) {
            self.offsets.move_to(moved);
        }
        pacer.issue()
    }

    #[inline(always)]
    fn write<E: Engine + ?Sized>(
        &mut self,
        engine: &mut E,
        worker: usize,
        slot: u16,
        mut payload: Payload,
    ) {
        let &Slot { offset, bytes, .. } = &self.slots[usize::from(slot)];
        if self.op.carries_nothing() {
            let len = u64::from(bytes);
            return self.submit(engine, worker, slot, Command::Discard { offset, len });
        }
        if let Payload::Bytes(buffer) = &mut payload {
            let bytes = &mut buffer.bytes_mut()[..bytes as usize];
            self.contents.refresh(bytes, offset, &mut self.rng);
        }
        let at = Extent { offset, bytes };
        let durability = self.durability;
        self.submit(engine, worker, slot, Command::Write { at, from: payload, durability });
    }

    fn flush<E: Engine + ?Sized>(
        &mut self,
        engine: &mut E,
        worker: usize,
        slot: u16,
        phase: Phase,
    ) {
        self.slots[usize::from(slot)].phase = phase;
        self.submit(engine, worker, slot, Command::Flush);
    }

    #[inline(always)]
    fn submit<E: Engine + ?Sized>(
        &self,
        engine: &mut E,
        worker: usize,
        slot: u16,
        command: Command,
    ) {
        let tag = Tag((worker as u64) << 16 | u64::from(slot));
        engine.submit(Request { tag, actor: self.actor, drive: Drive(0), command });
    }

    fn take_payload(&mut self, slot: u16) -> Payload {
        mem::replace(&mut self.slots[usize::from(slot)].payload, Payload::None)
    }

    /// One completion came back for this worker. Issues what follows from it.
    ///
    /// Only the plain way is inlined, from one completed transfer to the next request: then both
    /// stay in registers, where a copy through memory would cost more than all the rest.
    #[inline(always)]
    fn complete<E: Engine + ?Sized>(
        &mut self,
        engine: &mut E,
        worker: usize,
        completion: Completion,
        stopping: bool,
    ) {
        let Completion { tag, issued, finished, result, payload } = completion;
        let slot = tag.0 as u16;
        let entry = &mut self.slots[usize::from(slot)];
        if result.is_err() || entry.phase != Phase::Transfer {
            let completion = Completion { tag, issued, finished, result, payload };
            return self.complete_part(engine, worker, completion, stopping);
        }
        let issued = entry.issued.unwrap_or(issued);
        self.writes_since_flush += u32::from(entry.is_write);
        self.record(slot, issued, finished);
        if stopping || self.must_pause(engine.now()) {
            self.slots[usize::from(slot)].payload = payload;
            self.pause(engine, worker, slot, stopping);
        } else {
            self.issue(engine, worker, slot, payload);
        }
    }

    /// A completion that is not the end of a plain transfer: a failure, a flush, the first half of
    /// a compound operation.
    #[inline(never)]
    fn complete_part<E: Engine + ?Sized>(
        &mut self,
        engine: &mut E,
        worker: usize,
        completion: Completion,
        stopping: bool,
    ) {
        let slot = completion.tag.0 as u16;
        let entry = &mut self.slots[usize::from(slot)];
        if let Payload::Bytes(_) = completion.payload {
            entry.payload = completion.payload;
        }
        let issued = *entry.issued.get_or_insert(completion.issued);
        match (completion.result, entry.phase) {
            (Err(error), _) => {
                if self.fail(slot, error, issued, completion.finished) {
                    return;
                }
            }
            (Ok(()), Phase::Transfer) => unreachable!("a plain transfer takes the plain way"),
            (Ok(()), Phase::ReadToCheck) => {
                let is_wrong = match &entry.payload {
                    Payload::Bytes(buffer) => {
                        let bytes = &buffer.bytes()[..entry.bytes as usize];
                        !is_stamped(bytes, entry.offset)
                    }
                    Payload::None | Payload::Stamp(_) => false,
                };
                if !is_wrong {
                    self.record(slot, issued, completion.finished);
                } else if self.fail(slot, IoError::Altered, issued, completion.finished) {
                    return;
                }
            }
            (Ok(()), Phase::ReadToModify) => {
                (entry.phase, entry.is_write) = (Phase::Transfer, true);
                let payload = self.take_payload(slot);
                return self.write(engine, worker, slot, payload);
            }
            (Ok(()), Phase::WriteToCommit) => {
                return self.flush(engine, worker, slot, Phase::CommitFlush);
            }
            (Ok(()), Phase::CommitFlush) => self.record(slot, issued, completion.finished),
            (Ok(()), Phase::Flush) => {
                let latency_ns = completion.finished.since(completion.issued);
                self.recorder.record_flush(latency_ns, completion.finished);
            }
        }
        if stopping || self.must_pause(engine.now()) {
            self.pause(engine, worker, slot, stopping);
        } else {
            self.issue_idle(engine, worker, slot);
        }
    }

    /// An operation is done, all parts of it.
    #[inline(always)]
    fn record(&mut self, slot: u16, issued: Instant, finished: Instant) {
        let &Slot { due, bytes, .. } = &self.slots[usize::from(slot)];
        if due.is_some() {
            self.recorder.record_service(finished.since(issued));
        }
        let latency_ns = finished.since(due.unwrap_or(issued));
        match &self.sizes {
            None => self.recorder.record(latency_ns, finished),
            Some(_) => self.recorder.record_moved(latency_ns, finished, u64::from(bytes)),
        }
    }

    /// Whether something else comes before the next operation.
    #[inline]
    fn must_pause(&self, now: Instant) -> bool {
        self.flush_is_due() || self.left == 0 || self.next_due_is_after(now)
    }

    #[inline]
    fn flush_is_due(&self) -> bool {
        self.flush_every > 0 && self.writes_since_flush >= self.flush_every
    }

    /// What a slot does instead of the next operation: the flush that is due, or nothing.
    #[inline(never)]
    fn pause<E: Engine + ?Sized>(
        &mut self,
        engine: &mut E,
        worker: usize,
        slot: u16,
        stopping: bool,
    ) {
        if !stopping && self.flush_is_due() {
            self.writes_since_flush = 0;
            self.flush(engine, worker, slot, Phase::Flush);
        } else {
            self.idle.push(slot);
            if let Some(pacer) = &mut self.pacer
                && self.idle.len() == self.slots.len()
            {
                pacer.quiet(engine.now());
            }
        }
    }

    /// An operation failed; whether the worker gives up.
    #[cold]
    fn fail(&mut self, slot: u16, error: IoError, issued: Instant, finished: Instant) -> bool {
        let entry = &self.slots[usize::from(slot)];
        let operation = match entry.phase {
            Phase::CommitFlush | Phase::Flush => "flush",
            _ if self.op.carries_nothing() => self.op.name(),
            _ if entry.is_write => "write",
            _ => "read",
        };
        let failure = Failure { operation, offset: entry.offset, bytes: entry.bytes, error };
        self.recorder.record_failed(finished.since(entry.due.unwrap_or(issued)), finished);
        if !self.errors.add(failure) && self.failure.is_none() {
            return false;
        }
        self.failure.get_or_insert(failure);
        self.left = 0;
        self.idle.push(slot);
        true
    }
}

/// Operations that a worker may ask for.
fn operations(plan: &WorkerPlan) -> u64 {
    match plan.budget {
        Budget::Endless => u64::MAX,
        Budget::Operations(count) => count,
        Budget::Bytes(bytes) if bytes < u64::from(plan.stream.block_bytes) => 0,
        Budget::Bytes(_) => u64::MAX,
    }
}

/// The worker's draws of sizes, where its operations differ in them.
fn sizes(plan: &WorkerPlan) -> Option<Box<Sizes>> {
    let left_bytes = match plan.budget {
        Budget::Bytes(bytes) => bytes,
        Budget::Endless | Budget::Operations(_) => u64::MAX,
    };
    let mix = plan.stream.mix.as_ref()?;
    Some(Box::new(Sizes::new(mix, plan.seed, plan.share.worker, left_bytes)))
}
