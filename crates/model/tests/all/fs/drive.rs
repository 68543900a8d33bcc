//! A drive that writes down what it is asked, and closed loops that ask.

use block::{
    Actor, Command, Completion, Data, Drive, Durability, Effects, Engine, Extent, Geometry,
    Instant, IoError, Machine, Payload, Request, Stack, Tag,
};
use model::{
    Bank, Cost, FileSystem, FileSystemParams, Outbox, Sim,
    fs::{Caching, Kernel, Kind, Placement, Syncing},
};
use std::{cell::RefCell, rc::Rc};

/// What the drive was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    Read { offset: u64, bytes: u32 },
    Write { offset: u64, bytes: u32 },
    Flush,
    Discard { offset: u64, len: u64 },
}

/// Everything it was asked, in order.
pub type Log = Rc<RefCell<Vec<Asked>>>;

/// One request at a time, each `T(s) = fixed + s / rate`; a flush and a discard take the fixed
/// time.
pub struct Drawn {
    geometry: Geometry,
    cost: Cost,
    free: Instant,
    outbox: Outbox,
    log: Log,
    /// Writes below this offset fail, and reads from the other on.
    pub bad_below: u64,
    pub unreadable_from: u64,
}

impl Machine for Drawn {
    fn geometry(&self, _: Drive) -> Geometry {
        self.geometry
    }

    fn on_request(&mut self, now: Instant, request: Request, _: &mut Effects) {
        let mut result = Ok(());
        let (asked, bytes) = match request.command {
            Command::Read { at: Extent { offset, bytes }, .. } => {
                if offset >= self.unreadable_from {
                    result = Err(IoError::Medium);
                }
                (Asked::Read { offset, bytes }, bytes)
            }
            Command::Write { at: Extent { offset, bytes }, .. } => {
                if offset < self.bad_below {
                    result = Err(IoError::Medium);
                }
                (Asked::Write { offset, bytes }, bytes)
            }
            Command::Flush => (Asked::Flush, 0),
            Command::Discard { offset, len } => (Asked::Discard { offset, len }, 0),
        };
        self.log.borrow_mut().push(asked);
        self.free = self.free.max(now).after(self.cost.of(u64::from(bytes)));
        let (tag, finished, payload) = (request.tag, self.free, Payload::None);
        self.outbox.put(Completion { tag, issued: now, finished, result, payload });
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("nothing lies below a drive");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.outbox.release(now, effects);
    }

    fn next_wakeup(&self) -> Instant {
        self.outbox.next()
    }
}

/// A file system on such a drive, under the virtual clock.
pub type Bench = Stack<FileSystem, Sim<Drawn>>;

pub const MIB: u64 = 1 << 20;

/// 100 us a request, 100 MB/s.
pub const COST: Cost = Cost { fixed_ns: 100_000, bytes_per_s: 100_000_000 };

pub fn params(kind: Kind, ram_bytes: u64) -> FileSystemParams {
    FileSystemParams::of(Kernel::Linux2_6, kind, ram_bytes)
}

/// A file system on two such drives, and what each was asked.
pub type TwoDrives = (Stack<FileSystem, Sim<Bank<Drawn>>>, [Log; 2]);

/// On two such drives, of which the second has nothing.
pub fn bench_of_none(params: FileSystemParams, drive_bytes: u64, cost: Cost) -> TwoDrives {
    let logs = [Log::default(), Log::default()];
    let drives: Vec<Box<Drawn>> =
        logs.iter().map(|log| Box::new(drawn(drive_bytes, cost, log))).collect();
    let machine = FileSystem::new(params, drives[0].geometry, 64);
    (Stack::new(machine, Sim::new(Bank::new(drives))), logs)
}

/// On two such drives, of which the second has its journal.
pub fn bench_of_two(params: FileSystemParams, drive_bytes: u64, cost: Cost) -> TwoDrives {
    let placement = Placement { journal: true, ..Placement::default() };
    bench_placed(placement, params, drive_bytes, cost)
}

/// On two such drives, of which the second has what `placement` says.
pub fn bench_placed(
    placement: Placement,
    params: FileSystemParams,
    drive_bytes: u64,
    cost: Cost,
) -> TwoDrives {
    let logs = [Log::default(), Log::default()];
    let drive = |log| Box::new(drawn(drive_bytes, cost, log));
    let drives: Vec<Box<Drawn>> = logs.iter().map(drive).collect();
    let geometry = drives[0].geometry;
    let machine = FileSystem::with_second(geometry, placement, params, geometry, 64);
    (Stack::new(machine, Sim::new(Bank::new(drives))), logs)
}

/// `params` on a drive of that size.
pub fn bench(params: FileSystemParams, drive_bytes: u64, cost: Cost) -> (Bench, Log) {
    let log = Log::default();
    let drive = drawn(drive_bytes, cost, &log);
    (Stack::new(FileSystem::new(params, drive.geometry, 64), Sim::new(drive)), log)
}

fn drawn(drive_bytes: u64, cost: Cost, log: &Log) -> Drawn {
    let geometry = Geometry {
        capacity_bytes: drive_bytes,
        block_bytes: 512,
        transfer_bytes_max: 1 << 20,
        queue_depth: 64,
        data: Data::TimingOnly,
    };
    let (free, outbox) = (Instant(0), Outbox::new(64));
    Drawn {
        geometry,
        cost,
        free,
        outbox,
        log: Rc::clone(log),
        bad_below: 0,
        unreadable_from: u64::MAX,
    }
}

pub fn read(offset: u64, bytes: u32) -> Command {
    Command::Read { at: Extent { offset, bytes }, into: Payload::None }
}

pub fn write(offset: u64, bytes: u32) -> Command {
    let at = Extent { offset, bytes };
    Command::Write { at, from: Payload::None, durability: Durability::Cached }
}

/// One command after the other, by one actor, all well: how long it took, ns.
pub fn run<E: Engine>(
    engine: &mut E,
    actor: u16,
    commands: impl IntoIterator<Item = Command>,
) -> u64 {
    let start = engine.now();
    assert_eq!(try_run(engine, actor, commands), Ok(()));
    engine.now().since(start)
}

/// One command after the other, by one actor: the first error.
pub fn try_run<E: Engine>(
    engine: &mut E,
    actor: u16,
    commands: impl IntoIterator<Item = Command>,
) -> Result<(), IoError> {
    let (mut done, mut result) = (Vec::with_capacity(1), Ok(()));
    for command in commands {
        engine.submit(Request { tag: Tag(7), actor: Actor(actor), drive: Drive(0), command });
        while done.is_empty() {
            engine.wait(Instant::NEVER, &mut done);
        }
        let completion = done.pop().expect("one was asked for");
        assert!(completion.tag == Tag(7) && completion.issued < completion.finished);
        assert!(completion.finished <= engine.now());
        result = result.and(completion.result);
    }
    result
}

/// Bytes per second that went by.
pub fn rate(bytes: u64, ns: u64) -> f64 {
    bytes as f64 / ns as f64 * 1e9
}

pub fn open(bench: &mut Bench, caching: Caching, syncing: Syncing) {
    bench.machine.set_open(Actor(0), caching, syncing);
}
