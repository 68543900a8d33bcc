//! An engine in memory that completes in any order, fails where told to, and loses at a power cut
//! what was not flushed.

use block::{
    Allocation, Command, Completion, Data, Drive, Durability, Engine, Extent, Geometry, Instant,
    IoError, Payload, Request, Rng, is_zero,
};
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex, MutexGuard},
    thread,
    time::Duration,
};

/// What a test sees of the engine while a server has it.
pub struct Inside {
    /// What a read gives.
    pub bytes: Vec<u8>,
    /// What would be left after a power cut.
    pub durable: Vec<u8>,
    /// Commands in the order in which they took effect.
    pub log: Vec<Did>,
    /// Most requests that were outstanding at once.
    pub depth_seen: usize,
    /// Flushes fail from now on.
    pub fail_flushes: Option<IoError>,
    /// Transfers that touch this byte fail.
    pub bad_byte: Option<(u64, IoError)>,
    /// Nothing completes while set.
    pub frozen: bool,
    /// No flush completes while set.
    pub hold_flushes: bool,
    /// Blocks of zeroes are called holes.
    pub sparse: bool,
}

/// A command that took effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Did {
    /// Bytes were read.
    Read(Extent),
    /// Bytes were written.
    Write(Extent, Durability),
    /// Everything became durable.
    Flush,
    /// Bytes became zeroes.
    Discard {
        /// The first of them.
        offset: u64,
        /// How many.
        len: u64,
    },
}

/// A handle on the engine's inside.
#[derive(Clone)]
pub struct View(Arc<Mutex<Inside>>);

impl View {
    /// The inside; the engine waits while it is held.
    pub fn look(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().expect("no thread panicked with it")
    }

    /// How many commands of a kind took effect.
    pub fn count(&self, kind: impl Fn(&Did) -> bool) -> usize {
        self.look().log.iter().filter(|did| kind(did)).count()
    }
}

/// When requests complete.
pub enum Pace {
    /// All at the next poll.
    AtOnce,
    /// A random part at every poll, in random order.
    Shuffled(Rng),
    /// All at the next poll after this long; an eventfd becomes readable then.
    Delayed(Delay),
    /// What was handed over, at once; an eventfd becomes readable then, as io_uring's does.
    Queued(Queue),
}

/// A software queue: what is submitted lies still until it is handed over.
pub struct Queue {
    event: OwnedFd,
    handed_over: usize,
}

impl Queue {
    /// Nothing lies in it.
    pub fn empty() -> Self {
        let event = rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK);
        Self { event: event.expect("an eventfd"), handed_over: 0 }
    }
}

/// An eventfd that a thread makes readable some time after a request was submitted.
pub struct Delay {
    event: Arc<OwnedFd>,
    length: Duration,
    due: Option<std::time::Instant>,
}

impl Delay {
    /// All requests so far complete this long after the first of them.
    pub fn after(length: Duration) -> Pace {
        let event = rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK);
        Pace::Delayed(Self { event: Arc::new(event.expect("an eventfd")), length, due: None })
    }
}

/// An engine whose bytes a test sees and whose failures it chooses.
pub struct FaultyMemory {
    geometry: Geometry,
    inside: View,
    pace: Pace,
    outstanding: Vec<Request>,
    now: Instant,
}

impl FaultyMemory {
    /// All zeroes, and the handle on its inside.
    pub fn new(geometry: Geometry, pace: Pace) -> (Self, View) {
        let capacity = geometry.capacity_bytes as usize;
        let inside = View(Arc::new(Mutex::new(Inside {
            bytes: vec![0; capacity],
            durable: vec![0; capacity],
            log: Vec::new(),
            depth_seen: 0,
            fail_flushes: None,
            bad_byte: None,
            frozen: false,
            hold_flushes: false,
            sparse: false,
        })));
        let engine = Self {
            geometry,
            inside: inside.clone(),
            pace,
            outstanding: Vec::new(),
            now: Instant(0),
        };
        (engine, inside)
    }

    fn perform(&self, command: &mut Command) -> Result<(), IoError> {
        let mut inside = self.inside.look();
        let inside = &mut *inside;
        let hit = |offset: u64, bytes: u64| match inside.bad_byte {
            Some((bad, error)) if (offset..offset + bytes).contains(&bad) => Err(error),
            _ => Ok(()),
        };
        match command {
            Command::Read { at, into: Payload::Bytes(into) } => {
                hit(at.offset, at.bytes.into())?;
                let range = self.range(*at);
                into.bytes_mut()[..at.bytes as usize].copy_from_slice(&inside.bytes[range]);
                inside.log.push(Did::Read(*at));
            }
            Command::Write { at, from: Payload::Bytes(from), durability } => {
                hit(at.offset, at.bytes.into())?;
                let range = self.range(*at);
                let from = &from.bytes()[..at.bytes as usize];
                inside.bytes[range.clone()].copy_from_slice(from);
                if *durability == Durability::Fua {
                    inside.durable[range].copy_from_slice(from);
                }
                inside.log.push(Did::Write(*at, *durability));
            }
            Command::Flush => {
                if let Some(error) = inside.fail_flushes {
                    return Err(error);
                }
                inside.durable.copy_from_slice(&inside.bytes);
                inside.log.push(Did::Flush);
            }
            Command::Discard { offset, len } => {
                hit(*offset, *len)?;
                assert!(offset.is_multiple_of(u64::from(self.geometry.block_bytes)));
                assert!(*len > 0 && len.is_multiple_of(u64::from(self.geometry.block_bytes)));
                inside.bytes[*offset as usize..(*offset + *len) as usize].fill(0);
                inside.log.push(Did::Discard { offset: *offset, len: *len });
            }
            _ => panic!("a transfer without memory"),
        }
        Ok(())
    }

    fn range(&self, at: Extent) -> std::ops::Range<usize> {
        let block = self.geometry.block_bytes;
        assert!(
            at.offset.is_multiple_of(u64::from(block)) && at.bytes.is_multiple_of(block),
            "{at:?} splits a block"
        );
        assert!(at.bytes > 0 && at.bytes <= self.geometry.transfer_bytes_max, "{at:?} is too long");
        at.offset as usize..at.offset as usize + at.bytes as usize
    }

    /// How many complete now.
    fn due(&mut self) -> usize {
        let count = self.outstanding.len();
        match &mut self.pace {
            _ if self.inside.look().frozen => 0,
            Pace::AtOnce => count,
            Pace::Shuffled(rng) => {
                rng.shuffle(&mut self.outstanding);
                rng.below(count as u64 + 1) as usize
            }
            Pace::Delayed(delay) => match delay.due {
                Some(due) if std::time::Instant::now() >= due => {
                    delay.due = None;
                    rustix::io::read(&delay.event, &mut [0u8; 8]).ok();
                    count
                }
                _ => 0,
            },
            Pace::Queued(queue) => {
                rustix::io::read(&queue.event, &mut [0u8; 8]).ok();
                std::mem::take(&mut queue.handed_over)
            }
        }
    }
}

impl Engine for FaultyMemory {
    fn geometry(&self, _: Drive) -> Geometry {
        self.geometry
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn submit(&mut self, request: Request) {
        self.outstanding.push(request);
        let depth = self.outstanding.len();
        assert!(depth <= self.geometry.queue_depth as usize, "queue depth exceeded");
        let mut inside = self.inside.look();
        inside.depth_seen = inside.depth_seen.max(depth);
        if let Pace::Delayed(delay) = &mut self.pace
            && delay.due.is_none()
        {
            delay.due = Some(std::time::Instant::now() + delay.length);
            let (event, delay) = (delay.event.clone(), delay.length);
            thread::spawn(move || {
                thread::sleep(delay);
                rustix::io::write(&event, &1u64.to_ne_bytes()).expect("the eventfd counts");
            });
        }
    }

    fn start(&mut self) {
        let count = self.outstanding.len();
        if let Pace::Queued(queue) = &mut self.pace
            && queue.handed_over < count
        {
            queue.handed_over = count;
            rustix::io::write(&queue.event, &1u64.to_ne_bytes()).expect("the eventfd counts");
        }
    }

    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        self.start();
        self.now = Instant(self.now.0 + 1000);
        let due = self.due();
        let mut held = self.outstanding.split_off(due);
        for request in std::mem::take(&mut self.outstanding) {
            if matches!(request.command, Command::Flush) && self.inside.look().hold_flushes {
                held.push(request);
                continue;
            }
            let Request { tag, mut command, .. } = request;
            let result = self.perform(&mut command);
            let payload = command.into_payload();
            done.push(Completion { tag, issued: self.now, finished: self.now, result, payload });
        }
        self.outstanding = held;
        if until != Instant::NEVER {
            self.now = self.now.max(until);
        }
    }

    fn next_wakeup(&self) -> Instant {
        let busy = !self.outstanding.is_empty() && !self.inside.look().frozen;
        match self.pace {
            Pace::Shuffled(_) | Pace::AtOnce if busy => self.now,
            Pace::Queued(ref queue) if queue.handed_over < self.outstanding.len() => self.now,
            _ => Instant::NEVER,
        }
    }

    fn allocation(&self, _: Drive, offset: u64, len: u64) -> (Allocation, u64) {
        let inside = self.inside.look();
        if !inside.sparse {
            return (Allocation::Data, len);
        }
        let block = u64::from(self.geometry.block_bytes);
        let to_end = (block - offset % block).min(len);
        let rest = &inside.bytes[offset as usize..(offset + to_end) as usize];
        let is_hole = is_zero(rest);
        (if is_hole { Allocation::Hole } else { Allocation::Data }, to_end)
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.pace {
            Pace::Delayed(delay) => Some(delay.event.as_fd()),
            Pace::Queued(queue) => Some(queue.event.as_fd()),
            _ => None,
        }
    }
}

/// 4 KiB blocks, transfers of 64 KiB, 32 at a time.
pub fn geometry(capacity_bytes: u64) -> Geometry {
    Geometry {
        capacity_bytes,
        block_bytes: 4096,
        transfer_bytes_max: 64 << 10,
        queue_depth: 32,
        data: Data::Stored,
    }
}
