//! A block-mapped flash drive without a command queue: reads are quick, a random write merges a
//! whole unit.
//!
//! ```text
//!   commands, one at a time
//!        |  write: received             read: command_ns + bytes, past the buffer
//!        v                                 ^
//!   [line][line][line]  write buffer       |
//!        |  destaged in order, each by a merge or by continuing the run (writer.rs)
//!        v                                 |
//!   units of flash ------------------------+
//! ```
//!
//! A write is acknowledged when the buffer has it, so random writes one at a time go as fast as
//! merges go and no faster. Reads neither wait for a merge nor hold it up: it is bound by
//! programming, and leaves the paths to the flash free. EasyCo's array of four shows it: it writes
//! 64 KiB as often as 4 KiB (245 and 248 a second), though every such write is preceded by reads of
//! half a millisecond.
//!
//! What lies in the buffer is not read from there. Writes to one unit are not gathered into one
//! merge: the published sorted writes (CMU, Table V) show one merge each.

mod params;
mod writer;

pub use params::BlockMappedParams;

use crate::{Cached, FastCache, Outbox, WriteCaching, nanoseconds_for};
use block::{
    Command, Completion, Data, Drive, Durability, Effects, Extent, Geometry, Instant, Machine,
    Payload, Request, Tag,
};
use std::collections::VecDeque;
use writer::Writer;

/// The drive. Budget: 100 ns a request.
#[derive(Clone, Debug)]
pub struct BlockMapped {
    params: BlockMappedParams,
    queue_depth: u32,
    writer: Writer,
    outbox: Outbox,
    /// Requests behind the one that holds the interface.
    waiting: VecDeque<(Instant, Request)>,
    /// The command that holds the interface until the buffer has room or is empty.
    held: Option<Held>,
    /// The write buffer in the order of destaging.
    lines: VecDeque<Line>,
    /// When the first line will have been destaged; never with an empty buffer.
    destaged_at: Instant,
    /// When the interface will have served what it has taken.
    interface_free_at: Instant,
    /// Where a read would continue the last one.
    read_next: u64,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    received: Instant,
    destage_ns: u64,
}

#[derive(Clone, Debug)]
struct Held {
    tag: Tag,
    issued: Instant,
    payload: Payload,
    until: Until,
}

#[derive(Clone, Copy, Debug)]
enum Until {
    /// The rest of a write is in the buffer, and then perhaps in flash.
    Received { offset: u64, bytes: u64, durability: Durability },
    /// The buffer is empty.
    Destaged,
}

impl BlockMapped {
    /// A drive that has been written once from end to end. At most `queue_depth` requests may be
    /// outstanding; they are served one at a time, in order.
    ///
    /// # Panics
    /// On parameters that contradict each other.
    pub fn new(params: BlockMappedParams, queue_depth: u32) -> Self {
        params.check();
        assert!(queue_depth > 0, "a drive that takes no request");
        Self {
            queue_depth,
            writer: Writer::new(&params),
            outbox: Outbox::new(queue_depth),
            waiting: VecDeque::with_capacity(queue_depth as usize),
            held: None,
            lines: VecDeque::with_capacity(params.buffer_lines as usize),
            destaged_at: Instant::NEVER,
            interface_free_at: Instant(0),
            read_next: u64::MAX,
            params,
        }
    }

    /// How often each unit has been erased, before any wear levelling.
    pub fn erase_counts(&self) -> &[u32] {
        self.writer.erases()
    }

    /// Begins `request`. The interface is free, or will be after what it has timed already.
    fn begin(&mut self, now: Instant, issued: Instant, request: Request) {
        let tag = request.tag;
        match request.command {
            Command::Read { at, into } => {
                let finished = self.read(now, at);
                self.answer(tag, issued, finished, into);
            }
            Command::Write { at, from, durability } => {
                self.occupy_interface(now, self.params.command_ns);
                let durability = match self.params.write_caching {
                    WriteCaching::On => durability,
                    WriteCaching::Off => Durability::Fua,
                };
                let bytes = u64::from(at.bytes);
                let until = Until::Received { offset: at.offset, bytes, durability };
                self.held = Some(Held { tag, issued, payload: from, until });
                self.resume(now);
            }
            Command::Flush => {
                self.occupy_interface(now, self.params.command_ns);
                let until = Until::Destaged;
                self.held = Some(Held { tag, issued, payload: Payload::None, until });
                self.resume(now);
            }
            Command::Discard { offset, len } => {
                self.occupy_interface(now, self.params.command_ns);
                self.writer.discard(offset, len);
                self.answer(tag, issued, self.interface_free_at, Payload::None);
            }
        }
    }

    /// Times a read and lets a merge wait for it.
    fn read(&mut self, now: Instant, at: Extent) -> Instant {
        let goes_on = at.offset == self.read_next;
        self.read_next = at.offset + u64::from(at.bytes);
        let read_ns = match self.params.stream_read_bytes_per_s {
            Some(rate) if goes_on => nanoseconds_for(u64::from(at.bytes), rate).max(1),
            _ => {
                let bytes = at.bytes.max(self.params.granule_bytes);
                self.params.command_ns
                    + nanoseconds_for(u64::from(bytes), self.params.read_bytes_per_s)
            }
        };
        self.occupy_interface(now, read_ns);
        self.interface_free_at
    }

    fn occupy_interface(&mut self, now: Instant, ns: u64) {
        self.interface_free_at = self.interface_free_at.max(now).after(ns);
    }

    /// Takes the held command as far as the buffer allows.
    fn resume(&mut self, now: Instant) {
        let Some(mut held) = self.held.take() else { return };
        if let Until::Received { offset, bytes, durability } = held.until {
            let received = self.receive(now, offset, bytes);
            held.until = if received < bytes {
                Until::Received { offset: offset + received, bytes: bytes - received, durability }
            } else if durability == Durability::Fua {
                Until::Destaged
            } else {
                return self.answer(held.tag, held.issued, self.interface_free_at, held.payload);
            };
        }
        if matches!(held.until, Until::Destaged) && self.lines.is_empty() {
            let finished = self.interface_free_at.max(now);
            return self.answer(held.tag, held.issued, finished, held.payload);
        }
        self.held = Some(held);
    }

    /// Receives a write line by line while there is room; says how many bytes.
    fn receive(&mut self, now: Instant, offset: u64, bytes: u64) -> u64 {
        let mut received = 0;
        while received < bytes && self.lines.len() < self.params.buffer_lines as usize {
            let line = (bytes - received).min(self.params.merge_free_bytes);
            self.occupy_interface(now, nanoseconds_for(line, self.params.read_bytes_per_s));
            let destage_ns = self.writer.write(offset + received, line);
            self.lines.push_back(Line { received: self.interface_free_at, destage_ns });
            if self.lines.len() == 1 {
                self.begin_destage(now);
            }
            received += line;
        }
        received
    }

    /// Sets the alarm for the first line.
    fn begin_destage(&mut self, now: Instant) {
        self.destaged_at = match self.lines.front() {
            Some(line) => {
                let begun = now.max(line.received);
                begun.after(line.destage_ns.max(1))
            }
            None => Instant::NEVER,
        };
    }

    fn answer(&mut self, tag: Tag, issued: Instant, finished: Instant, payload: Payload) {
        self.outbox.put(Completion { tag, issued, finished, result: Ok(()), payload });
    }

    fn check(&self, command: &Command) {
        let (offset, bytes) = match command {
            Command::Read { at, .. } | Command::Write { at, .. } => {
                (at.offset, u64::from(at.bytes))
            }
            Command::Discard { offset, len } => (*offset, *len),
            Command::Flush => return,
        };
        assert!(bytes > 0 && offset + bytes <= self.params.capacity_bytes, "outside of the drive");
        assert!((offset | bytes).is_multiple_of(512), "a request that splits a sector");
    }
}

impl Cached for BlockMapped {
    /// Its buffer holds a few lines and is full after as many writes.
    fn fast_caches(&self, _: Instant) -> Vec<FastCache> {
        Vec::new()
    }
}

impl Machine for BlockMapped {
    fn geometry(&self, _: Drive) -> Geometry {
        Geometry {
            capacity_bytes: self.params.capacity_bytes,
            block_bytes: 512,
            transfer_bytes_max: 1 << 30,
            queue_depth: self.queue_depth,
            data: Data::TimingOnly,
        }
    }

    fn on_request(&mut self, now: Instant, request: Request, _: &mut Effects) {
        self.check(&request.command);
        if self.held.is_some() {
            assert!(self.waiting.len() < self.queue_depth as usize, "queue depth exceeded");
            self.waiting.push_back((now, request));
        } else {
            self.begin(now, now, request);
        }
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("a drive has nothing below it");
    }

    #[inline]
    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        while self.destaged_at <= now {
            self.lines.pop_front().expect("a line was being destaged");
            self.begin_destage(now);
            self.resume(now);
            while self.held.is_none()
                && let Some((issued, request)) = self.waiting.pop_front()
            {
                self.begin(now, issued, request);
            }
        }
        self.outbox.release(now, effects);
    }

    #[inline]
    fn next_wakeup(&self) -> Instant {
        self.outbox.next().min(self.destaged_at)
    }

    fn copy(&self) -> Option<Box<dyn Machine>> {
        Some(Box::new(self.clone()))
    }
}
