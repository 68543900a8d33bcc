//! The scripted drive itself: an engine on a virtual clock whose every service time is a function
//! of what a test wants to happen.
//!
//! ```text
//!   submit -> first free of `parallelism` servers -> Script::service(&Service) ns later -> completion
//! ```
//!
//! Clock and counters live in [`Life`], which outlasts the engines of single passes, so that a
//! drive can remember what was written to it. All randomness is [`Service::luck`], drawn from the
//! script's seed.

use block::{
    Command, Completion, Data, Drive, Durability, Engine, Extent, Geometry, Instant, IoError,
    Payload, Request, Rng,
};
use std::{cell::Cell, cell::RefCell, collections::BTreeMap, os::fd::BorrowedFd, rc::Rc};

/// Size of every scripted drive.
pub const CAPACITY_BYTES: u64 = 64 << 30;

thread_local! {
    /// Processor time that the engine pretends to have used on this thread, ns.
    static CPU_NS: Cell<u64> = const { Cell::new(0) };
}

/// The pretended processor clock of this thread.
pub fn cpu_ns() -> u64 {
    CPU_NS.get()
}

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Read,
    Write,
    Trim,
    Flush,
}

/// One request at the moment the drive begins to serve it.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    pub kind: Kind,
    /// Where; zero bytes for a flush.
    pub offset: u64,
    pub bytes: u32,
    /// A write that must be durable before it is answered.
    pub is_fua: bool,
    /// The payload is nothing but zeroes; only a drive that stores data can see it.
    pub is_zero: bool,
    /// Nanoseconds since the drive was made.
    pub life_ns: u64,
    /// Nanoseconds since this engine was opened: the time within a pass.
    pub pass_ns: u64,
    /// How many engines were opened before this one.
    pub pass: u64,
    /// Requests of all kinds before this one, over the drive's life.
    pub number: u64,
    /// Bytes written before this one, over the drive's life.
    pub written_bytes: u64,
    /// Bytes written before this one since this engine was opened.
    pub pass_written_bytes: u64,
    /// Requests that were waiting or being served when this one arrived.
    pub in_flight: usize,
    /// Uniform in 0..1, from the script's seed.
    pub luck: f64,
}

impl Service {
    /// `ns`, give or take up to a tenth.
    pub fn about(&self, ns: u64) -> u64 {
        (ns as f64 * (0.9 + 0.2 * self.luck)) as u64
    }
}

/// How long a request takes, ns.
pub type ServiceTime = dyn Fn(&Service) -> u64;
/// Whether a request fails, and with what.
pub type Failure = dyn Fn(&Service) -> Option<IoError>;

/// How a drive behaves.
#[derive(Clone)]
pub struct Script {
    /// How long a request is served, ns; never 0, or virtual time would stand still.
    pub service: Rc<ServiceTime>,
    /// Requests that are answered with an error.
    pub failure: Rc<Failure>,
    /// Requests served at once.
    pub parallelism: usize,
    /// From when on a request counts as issued.
    pub admission: Admission,
    /// Processor time a request costs the worker, ns.
    pub cpu_ns: u64,
    /// Whether requests carry memory.
    pub data: Data,
    /// Where luck comes from.
    pub seed: u64,
}

/// From when on a request counts as issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// As soon as it is submitted: the drive keeps the queue.
    AtOnce,
    /// When it is its turn: something above the drive lets in no more than are served.
    InTurn,
}

/// What outlasts a pass.
#[derive(Default)]
pub struct Life {
    pub now: Instant,
    pub opened: u64,
    pub requests: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Every request since the drive was made, in the order of submission.
    pub log: Vec<Logged>,
}

/// One request, after the fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Logged {
    pub pass: u64,
    pub actor: u16,
    pub kind: Kind,
    pub offset: u64,
    pub bytes: u32,
    pub issued: Instant,
    pub finished: Instant,
    pub is_zero: bool,
}

/// A drive opened for one pass.
pub struct ScriptedEngine {
    script: Script,
    life: Rc<RefCell<Life>>,
    opened: Instant,
    pass: u64,
    pass_written_bytes: u64,
    servers: Vec<Instant>,
    /// By time of completion, equal times by sequence.
    pending: BTreeMap<(Instant, u64), Completion>,
    luck: Rng,
    queue_depth: u32,
}

impl ScriptedEngine {
    pub fn open(script: &Script, life: &Rc<RefCell<Life>>, queue_depth: u32) -> Self {
        let (opened, pass) = {
            let mut life = life.borrow_mut();
            life.opened += 1;
            (life.now, life.opened - 1)
        };
        Self {
            script: script.clone(),
            life: Rc::clone(life),
            opened,
            pass,
            pass_written_bytes: 0,
            servers: vec![opened; script.parallelism],
            pending: BTreeMap::new(),
            luck: Rng::new(script.seed, pass),
            queue_depth,
        }
    }

    fn advance(&self, to: Instant) {
        let mut life = self.life.borrow_mut();
        life.now = life.now.max(to);
    }
}

fn is_zero(payload: &Payload) -> bool {
    match payload {
        Payload::Bytes(buffer) => buffer.bytes()[..4096].iter().all(|&byte| byte == 0),
        Payload::None | Payload::Stamp(_) => false,
    }
}

/// Kind, extent, durability and emptiness of a command.
fn read_command(command: &Command) -> (Kind, Extent, bool, bool) {
    match command {
        Command::Read { at, .. } => (Kind::Read, *at, false, false),
        Command::Write { at, from, durability } => {
            (Kind::Write, *at, *durability == Durability::Fua, is_zero(from))
        }
        Command::Flush => (Kind::Flush, Extent { offset: 0, bytes: 0 }, true, false),
        Command::Discard { offset, len } => {
            (Kind::Trim, Extent { offset: *offset, bytes: *len as u32 }, false, false)
        }
    }
}

impl Engine for ScriptedEngine {
    fn geometry(&self, _: Drive) -> Geometry {
        Geometry {
            capacity_bytes: CAPACITY_BYTES,
            block_bytes: 512,
            transfer_bytes_max: 1 << 24,
            queue_depth: self.queue_depth,
            data: self.script.data,
        }
    }

    fn now(&self) -> Instant {
        self.life.borrow().now
    }

    fn submit(&mut self, request: Request) {
        assert!(self.pending.len() < self.queue_depth as usize, "the depth is a contract");
        CPU_NS.set(CPU_NS.get() + self.script.cpu_ns);
        let (kind, at, is_fua, is_zero) = read_command(&request.command);
        assert!(at.offset + u64::from(at.bytes) <= CAPACITY_BYTES, "{at:?} lies beyond the drive");
        let mut life = self.life.borrow_mut();
        let server = self.servers.iter_mut().min().expect("a drive serves something");
        let start = life.now.max(*server);
        let service = Service {
            kind,
            offset: at.offset,
            bytes: at.bytes,
            is_fua,
            is_zero,
            life_ns: start.0,
            pass_ns: start.since(self.opened),
            pass: self.pass,
            number: life.requests,
            written_bytes: life.written_bytes,
            pass_written_bytes: self.pass_written_bytes,
            in_flight: self.pending.len(),
            luck: self.luck.unit(),
        };
        let took_ns = (self.script.service)(&service);
        assert!(took_ns > 0, "a request that takes no time stops the clock");
        let finished = start.after(took_ns);
        let issued = match self.script.admission {
            Admission::AtOnce => life.now,
            Admission::InTurn => start,
        };
        *server = finished;
        match kind {
            Kind::Read => life.read_bytes += u64::from(at.bytes),
            Kind::Write => {
                life.written_bytes += u64::from(at.bytes);
                self.pass_written_bytes += u64::from(at.bytes);
            }
            Kind::Trim | Kind::Flush => {}
        }
        life.log.push(Logged {
            pass: self.pass,
            actor: request.actor.0,
            kind,
            offset: at.offset,
            bytes: at.bytes,
            issued,
            finished,
            is_zero,
        });
        let completion = Completion {
            tag: request.tag,
            issued,
            finished,
            result: (self.script.failure)(&service).map_or(Ok(()), Err),
            payload: request.command.into_payload(),
        };
        self.pending.insert((finished, life.requests), completion);
        life.requests += 1;
    }

    fn start(&mut self) {}

    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        let next = self.pending.first_key_value().map(|(key, _)| key.0);
        let now = match next {
            Some(at) if at <= until.max(self.now()) => at,
            _ => until,
        };
        assert!(now != Instant::NEVER, "nothing outstanding: nothing could ever happen");
        self.advance(now);
        let now = self.now();
        while let Some(entry) = self.pending.first_entry()
            && entry.key().0 <= now
        {
            done.push(entry.remove());
        }
    }

    fn next_wakeup(&self) -> Instant {
        self.pending.first_key_value().map_or(Instant::NEVER, |(key, _)| key.0)
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
