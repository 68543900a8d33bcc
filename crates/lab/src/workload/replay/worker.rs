//! The worker of a replay: one thread, one engine, as many slots as may be in flight.
//!
//! With times kept the loop is open: an operation begins when it is due, and where every slot is
//! taken it begins late, which is seen and counted. The next ones keep their own times.

use super::{Asked, Feed, Fitting, Speed, What};
use crate::workload::{Contents, ErrorLog, Failure, Recorder};
use block::{
    Actor, Command, Completion, Data, Drive, Durability, Engine, Extent, Instant, IoError, Pages,
    Payload, Request, Rng, Tag,
};
use stats::Histogram;
use std::{
    mem,
    sync::atomic::{AtomicBool, Ordering},
};

/// Everything that makes one.
pub struct ReplayerPlan {
    /// Where the operations come from.
    pub feed: Box<dyn Feed>,
    /// How fast.
    pub speed: Speed,
    /// Onto which places.
    pub fitting: Fitting,
    /// Most operations in flight.
    pub queue_depth: u32,
    /// The longest read or write.
    pub transfer_bytes_max: u32,
    /// What is written.
    pub contents: Contents,
    /// Which stream of the cell has the operations of each [`What`]; without one they are left out.
    pub streams: [Option<usize>; 4],
    /// Where random contents come from.
    pub seed: u64,
    /// So many of its requests may fail before it gives up.
    pub errors_max: u64,
}

/// What a replay did, a stream each.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// In the order of the cell's streams.
    pub streams: Vec<StreamReplayed>,
}

/// What one stream of it did.
#[derive(Clone, Debug, Default)]
pub struct StreamReplayed {
    /// How long after its time each operation began.
    pub lateness: Histogram,
    /// Operations that were moved into the area.
    pub wrapped: u64,
    /// Operations that were put on whole blocks.
    pub aligned: u64,
    /// Requests that failed.
    pub errors: ErrorLog,
}

struct Slot {
    due: Option<Instant>,
    stream: usize,
    what: What,
    offset: u64,
    bytes: u64,
    payload: Payload,
}

/// The worker.
pub struct Replayer {
    plan: ReplayerPlan,
    recorders: Vec<Recorder>,
    replayed: Vec<StreamReplayed>,
    slots: Vec<Slot>,
    idle: Vec<u16>,
    start: Instant,
    /// Read from the feed, and not begun.
    next: Option<(Asked, usize)>,
    rng: Rng,
    failure: Option<Failure>,
    durability: Durability,
}

impl Replayer {
    /// Takes its buffers from the engine's pool; a recorder a stream.
    pub fn new<E: Engine + ?Sized>(
        plan: ReplayerPlan,
        recorders: Vec<Recorder>,
        engine: &mut E,
    ) -> Self {
        let depth = plan.queue_depth as usize;
        assert!(depth >= 1 && depth <= usize::from(u16::MAX), "depth {depth}");
        assert!(plan.streams.iter().flatten().all(|stream| *stream < recorders.len()));
        let mut rng = Rng::new(plan.seed, 0x5eed_0000);
        let mut buffers = match engine.geometry(Drive(0)).data {
            Data::Stored => engine.pool(depth, plan.transfer_bytes_max as usize, Pages::Usual),
            Data::TimingOnly => Vec::new(),
        };
        buffers.iter_mut().for_each(|buffer| plan.contents.fill(buffer.bytes_mut(), &mut rng));
        let mut buffers = buffers.into_iter();
        let slot = |_| Slot {
            due: None,
            stream: 0,
            what: What::Flush,
            offset: 0,
            bytes: 0,
            payload: buffers.next().map_or(Payload::None, Payload::Bytes),
        };
        let fresh = || StreamReplayed {
            errors: ErrorLog::new(plan.errors_max),
            ..StreamReplayed::default()
        };
        Self {
            slots: (0..depth).map(slot).collect(),
            idle: (0..depth as u16).rev().collect(),
            replayed: recorders.iter().map(|_| fresh()).collect(),
            start: Instant(0),
            next: None,
            rng,
            failure: None,
            durability: Durability::Cached,
            recorders,
            plan,
        }
    }

    /// The pass begins: the first operation is due at `start`.
    pub fn start(&mut self, start: Instant) {
        self.start = start;
        self.recorders.iter_mut().for_each(|recorder| recorder.start(start));
        self.read_on();
    }

    /// Why it gave up, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Whether nothing is left, and nothing is in flight.
    pub fn is_spent(&self) -> bool {
        self.next.is_none() && self.in_flight() == 0
    }

    /// Sends ticks that ended before `now`.
    pub fn turn_to(&mut self, now: Instant) {
        self.recorders.iter_mut().for_each(|recorder| recorder.turn_to(now));
    }

    /// The pass is over: sends the last parts.
    pub fn finish(&mut self) {
        self.recorders.iter_mut().for_each(Recorder::finish);
    }

    /// What it did.
    pub fn replayed(&self) -> Replayed {
        Replayed { streams: self.replayed.clone() }
    }

    fn in_flight(&self) -> usize {
        self.slots.len() - self.idle.len()
    }

    /// Takes the next operation that some stream has.
    fn read_on(&mut self) {
        self.next = None;
        while self.failure.is_none() {
            match self.plan.feed.next() {
                Ok(None) => return,
                Ok(Some(asked)) => {
                    if let Some(stream) = self.plan.streams[asked.what as usize] {
                        self.next = Some((asked, stream));
                        return;
                    }
                }
                // It was read to its end before: whoever changed it meanwhile ends the replay.
                Err(_) => {
                    let (operation, error) = ("trace", IoError::Short);
                    self.failure = Some(Failure { operation, offset: 0, bytes: 0, error });
                }
            }
        }
    }

    /// When the next operation is due; never where none is left, always now without times.
    fn next_due(&self) -> Instant {
        match (&self.next, self.plan.speed) {
            (None, _) => Instant::NEVER,
            (Some(_), Speed::Max) => Instant(0),
            (Some((asked, _)), Speed::Times(1.0)) => self.start.after(asked.after_ns),
            (Some((asked, _)), Speed::Times(times)) => {
                self.start.after((asked.after_ns as f64 / times) as u64)
            }
        }
    }

    /// When it wants to be called though nothing completed.
    fn alarm(&self) -> Instant {
        if self.idle.is_empty() { Instant::NEVER } else { self.next_due() }
    }

    /// Begins everything that is due and has a slot.
    fn fill<E: Engine + ?Sized>(&mut self, engine: &mut E) {
        let now = engine.now();
        while self.next_due() <= now {
            let Some(slot) = self.idle.pop() else { break };
            let Some((asked, stream)) = self.next else { break };
            let due = self.next_due();
            self.begin(engine, slot, asked, stream, due);
            self.read_on();
        }
    }

    fn begin<E: Engine + ?Sized>(
        &mut self,
        engine: &mut E,
        number: u16,
        asked: Asked,
        stream: usize,
        due: Instant,
    ) {
        let fitted = self.plan.fitting.fit(&asked);
        let seen = &mut self.replayed[stream];
        if asked.what != What::Flush {
            seen.wrapped += u64::from(fitted.wrapped);
            seen.aligned += u64::from(fitted.aligned);
            if fitted.bytes == 0 {
                self.idle.push(number);
                return;
            }
        }
        let slot = &mut self.slots[usize::from(number)];
        slot.due = matches!(self.plan.speed, Speed::Times(_)).then_some(due);
        (slot.stream, slot.what) = (stream, asked.what);
        (slot.offset, slot.bytes) = (fitted.offset, fitted.bytes);
        let mut payload = match asked.what {
            What::Read | What::Write => mem::replace(&mut slot.payload, Payload::None),
            What::Flush | What::Trim => Payload::None,
        };
        if let (What::Write, Payload::Bytes(buffer)) = (asked.what, &mut payload) {
            let bytes = &mut buffer.bytes_mut()[..fitted.bytes as usize];
            self.plan.contents.refresh(bytes, fitted.offset, &mut self.rng);
        }
        let at = Extent { offset: fitted.offset, bytes: fitted.bytes as u32 };
        let command = match asked.what {
            What::Read => Command::Read { at, into: payload },
            What::Write => Command::Write { at, from: payload, durability: self.durability },
            What::Flush => Command::Flush,
            What::Trim => Command::Discard { offset: fitted.offset, len: fitted.bytes },
        };
        let tag = Tag(u64::from(number));
        engine.submit(Request { tag, actor: Actor(0), drive: Drive(0), command });
    }

    fn complete(&mut self, completion: Completion) {
        let Completion { tag, issued, finished, result, payload } = completion;
        let slot = &mut self.slots[tag.0 as usize];
        if let Payload::Bytes(_) = payload {
            slot.payload = payload;
        }
        self.idle.push(tag.0 as u16);
        let due = slot.due.unwrap_or(issued);
        let (recorder, seen) = (&mut self.recorders[slot.stream], &mut self.replayed[slot.stream]);
        if slot.due.is_some() {
            seen.lateness.record(issued.since(due));
        }
        let latency_ns = finished.since(due);
        if let Err(error) = result {
            let operation = match slot.what {
                What::Read => "read",
                What::Write => "write",
                What::Flush => "flush",
                What::Trim => "trim",
            };
            let bytes = slot.bytes.min(u64::from(u32::MAX)) as u32;
            let failure = Failure { operation, offset: slot.offset, bytes, error };
            recorder.record_failed(latency_ns, finished);
            if seen.errors.add(failure) {
                self.failure.get_or_insert(failure);
                self.next = None;
            }
            return;
        }
        match slot.what {
            What::Flush => recorder.record_flush(latency_ns, finished),
            what => {
                if slot.due.is_some() {
                    recorder.record_service(finished.since(issued));
                }
                let moved = if what == What::Trim { 0 } else { slot.bytes };
                recorder.record_moved(latency_ns, finished, moved);
            }
        }
    }
}

/// Replays on `engine` until `until`, until `stop` is raised, until it fails, or until nothing is
/// left. May be called again to go on; operations stay in flight in between.
pub fn replay<E: Engine + ?Sized>(
    engine: &mut E,
    replayer: &mut Replayer,
    until: Instant,
    stop: &AtomicBool,
) {
    let mut done = Vec::with_capacity(replayer.slots.len());
    replayer.fill(engine);
    loop {
        if replayer.is_spent() {
            return;
        }
        engine.wait(until.min(replayer.alarm()), &mut done);
        done.drain(..).for_each(|completion| replayer.complete(completion));
        let now = engine.now();
        if replayer.failure.is_some() || now >= until || stop.load(Ordering::Relaxed) {
            return;
        }
        replayer.fill(engine);
    }
}

/// Lets everything in flight finish, and begins nothing more.
pub fn drain_replay<E: Engine + ?Sized>(engine: &mut E, replayer: &mut Replayer) {
    let mut done = Vec::new();
    while replayer.in_flight() > 0 {
        engine.wait(Instant::NEVER, &mut done);
        done.drain(..).for_each(|completion| replayer.complete(completion));
    }
}
