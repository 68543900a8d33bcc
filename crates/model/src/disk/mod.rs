//! Rotating magnetic disks: zoned recording, a seek curve, a platter that really turns, caches and
//! a command queue. What a request costs follows from where arm and platter are when its turn
//! comes.

mod heads;
mod layout;
mod mechanism;
mod order;
mod params;
mod queue;
mod read_cache;
mod seek;
mod shingle;
mod spans;
mod write_cache;

pub use params::{DiskParams, Shingling, WriteCaching};

use crate::{Cached, FastCache, Outbox, nanoseconds_for};
use block::{
    Command, Completion, Data, Drive, Durability, Effects, Extent, Geometry, Instant, IoError,
    Machine, Payload, Request, Tag,
};
use layout::{Place, Remembered};
use mechanism::{Action, Mechanism, Span};
use order::Turn;
use queue::Queue;
use read_cache::{Join, ReadCache};
use shingle::Translation;
use std::collections::VecDeque;
use write_cache::WriteCache;

/// Largest transfer: the sixteen bits of an ATA command's COUNT field, at 512 B (ACS-3).
const TRANSFER_BYTES_MAX: u32 = 65_536 * 512;

/// A disk. Budget: half a microsecond a request, and 50 ns for each command or cached write that
/// its scheduler looks at.
#[derive(Debug)]
pub struct Disk {
    params: DiskParams,
    queue_depth: u32,
    mechanism: Mechanism,
    /// Where the heads were left, and when they are free.
    head: Place,
    free_at: u64,
    controller_free: u64,
    link_free: u64,
    reads: ReadCache,
    writes: WriteCache,
    translation: Option<Translation>,
    /// Cached data are written in pieces of this many sectors, so that memory is freed and reads
    /// get their turn.
    destage_sectors: u64,
    /// In front of the drive: beyond its command queue.
    waiting: VecDeque<(Instant, Request)>,
    /// In the command queue, for the heads.
    pending: Queue,
    /// In the command queue, for room in the write cache.
    blocked: VecDeque<Held>,
    /// In the command queue, until the write cache's generation is on the medium.
    flushes: VecDeque<(u64, Held)>,
    /// In the command queue, done but for the time.
    outbox: Outbox,
    /// How the next one is chosen.
    turn: Turn,
    alarm: Instant,
}

/// A command that the drive has taken.
#[derive(Debug)]
struct Held {
    tag: Tag,
    issued: Instant,
    action: Action,
    span: Span,
    start: Remembered,
    /// When the controller has understood it, ns.
    ready: u64,
    /// When a write's bytes have been received, ns.
    received: u64,
    payload: Payload,
}

impl Disk {
    /// Builds the disk and its tables. At most `queue_depth` requests may be outstanding; the drive
    /// itself looks at [`DiskParams::command_queue_depth`] of them, the others wait in front of it.
    ///
    /// # Panics
    /// Where the parameters contradict each other.
    pub fn new(params: DiskParams, queue_depth: u32) -> Self {
        params.check();
        assert!(queue_depth > 0, "a disk that takes no request");
        let sectors = |bytes: u64| bytes / u64::from(params.sector_bytes);
        let log_sectors = params.shingling.map_or(0, |it| sectors(it.media_cache_bytes));
        // A shingled disk's last zone may be cut short by the capacity, but not by the platter.
        let zone_sectors = params.shingling.map_or(1, |it| sectors(it.zone_bytes));
        let end = log_sectors + sectors(params.capacity_bytes).next_multiple_of(zone_sectors);
        let mechanism = Mechanism::new(&params, end);
        let translation =
            params.shingling.map(|it| Translation::new(zone_sectors, log_sectors, it.map_pieces));
        let cache_sectors = match params.write_caching {
            WriteCaching::On => sectors(params.write_cache_bytes),
            WriteCaching::Off => 0,
        };
        let depth = params.command_queue_depth;
        Self {
            head: mechanism.layout.place(0),
            free_at: 0,
            controller_free: 0,
            link_free: 0,
            reads: ReadCache::new(
                params.read_segments,
                sectors(params.read_segment_bytes),
                sectors(params.prefetch_min_bytes),
                end,
            ),
            writes: WriteCache::new(
                cache_sectors,
                params.write_cache_commands,
                mechanism.layout.clone(),
            ),
            translation,
            destage_sectors: mechanism.layout.track_sectors_max().min(cache_sectors / 4).max(1),
            waiting: VecDeque::with_capacity(queue_depth as usize),
            pending: Queue::new(depth),
            blocked: VecDeque::with_capacity(depth as usize),
            flushes: VecDeque::with_capacity(depth as usize),
            outbox: Outbox::new(depth),
            turn: Turn::ByAge,
            alarm: Instant::NEVER,
            mechanism,
            queue_depth,
            params,
        }
    }

    fn in_command_queue(&self) -> usize {
        self.outbox.len() + self.pending.len() + self.blocked.len() + self.flushes.len()
    }

    /// Fills the command queue.
    fn admit(&mut self, now: u64) {
        while self.in_command_queue() < self.params.command_queue_depth as usize
            && let Some((issued, request)) = self.waiting.pop_front()
        {
            self.start(now, issued, request);
        }
    }

    fn start(&mut self, now: u64, issued: Instant, request: Request) {
        let ready = now.max(self.controller_free) + self.params.command_ns;
        self.controller_free = ready;
        let Request { tag, command, .. } = request;
        let held = |action, span, payload| {
            let received = ready;
            let start = Remembered::default();
            Held { tag, issued, action, span, start, ready, received, payload }
        };
        let nowhere = Span { first: 0, end: 0 };
        match command {
            Command::Read { at, into } => match self.span(at) {
                Some(span) => self.start_read(held(Action::Read, span, into)),
                None => self.answer(held(Action::Read, nowhere, into), ready, Err(IoError::Short)),
            },
            Command::Write { at, from, durability } => match self.span(at) {
                Some(span) => self.start_write(held(Action::Write, span, from), durability),
                None => self.answer(held(Action::Write, nowhere, from), ready, Err(IoError::Short)),
            },
            Command::Flush => {
                let generation = self.writes.close_generation();
                let flush = held(Action::Write, nowhere, Payload::None);
                self.flushes.push_back((generation, flush));
                self.answer_flushes(ready);
            }
            // Sectors are rewritten in place: there is nothing to gain from knowing them unused.
            Command::Discard { offset, len } => {
                let ends =
                    offset.checked_add(len).is_some_and(|end| end <= self.params.capacity_bytes);
                let result = if ends { Ok(()) } else { Err(IoError::Short) };
                self.answer(held(Action::Write, nowhere, Payload::None), ready, result);
            }
        }
    }

    fn start_read(&mut self, held: Held) {
        match self.read_from_memory(held.ready, held, Join::IfCheapest) {
            Ok(()) => self.take_along(),
            Err(held) => self.pending.push(held),
        }
    }

    /// Answers the reads that wait for the heads and lie where the stream is going.
    fn take_along(&mut self) {
        let mut at = 0;
        while at < self.pending.len() {
            let &Held { action, span, .. } = self.pending.get(at);
            if action == Action::Read && self.reads.can_join(self.place(span)) {
                let held = self.pending.remove(at);
                if let Err(held) = self.read_from_memory(held.ready, held, Join::IfCheapest) {
                    self.pending.insert(at, held);
                    at += 1;
                }
            } else {
                at += 1;
            }
        }
    }

    fn start_write(&mut self, mut held: Held, durability: Durability) {
        if durability == Durability::Fua || !self.writes.takes(held.span) {
            held.received = self.over_link(held.ready, held.span);
            self.pending.push(held);
        } else {
            self.blocked.push_back(held);
            // Those before it were looked at when room was last made.
            if self.blocked.len() == 1 {
                self.unblock(0);
            }
        }
    }

    /// Answers a read out of the caches, or gives it back.
    fn read_from_memory(&mut self, now: u64, held: Held, join: Join) -> Result<(), Held> {
        let place = self.place(held.span);
        if self.writes.holds(held.span) {
            let finished = self.over_link(now, held.span);
            self.answer(held, finished, Ok(()));
        } else if self.is_scattered(held.span) {
            return Err(held);
        } else if (join == Join::Chosen
            || self.reads.can_join(place) && self.may_stream(now, &held))
            && let Some(passed) = self.reads.join(&self.mechanism, place, now)
        {
            let release = self.reads.release_at(&self.mechanism, place);
            self.free_at = self.free_at.max(passed).max(release);
            let finished = self.over_link(now, place).max(passed);
            self.answer(held, finished, Ok(()));
        } else if self.reads.holds(&self.mechanism, place, now) {
            let finished = self.over_link(now, place);
            self.answer(held, finished, Ok(()));
        } else {
            return Err(held);
        }
        Ok(())
    }

    /// Takes cached writes in, in their order, as far as there is room.
    fn unblock(&mut self, now: u64) {
        while let Some(first) = self.blocked.front()
            && self.writes.has_room(first.span)
        {
            let held = self.blocked.pop_front().expect("a front just seen");
            let received = self.over_link(held.ready.max(now), held.span);
            let place = self.place_at_home(held.span);
            self.reads.forget(place);
            self.writes.insert(held.span, received);
            self.answer(held, received, Ok(()));
        }
    }

    fn answer_flushes(&mut self, now: u64) {
        while let Some(&(generation, _)) = self.flushes.front()
            && !self.writes.is_dirty(generation)
        {
            let (_, held) = self.flushes.pop_front().expect("a front just seen");
            let finished = held.ready.max(now);
            self.answer(held, finished, Ok(()));
        }
    }

    fn answer(&mut self, held: Held, finished: u64, result: Result<(), IoError>) {
        let Held { tag, issued, payload, .. } = held;
        let finished = Instant(finished);
        self.outbox.put(Completion { tag, issued, finished, result, payload });
    }

    /// The generation that the last flush waits for.
    fn flushing(&self) -> Option<u64> {
        self.flushes.back().map(|&(generation, _)| generation)
    }

    fn link_ns(&self, span: Span) -> u64 {
        let bytes = span.sectors() * u64::from(self.params.sector_bytes);
        nanoseconds_for(bytes, self.params.link_bytes_per_s)
    }

    /// When the span has been transferred between host and memory, one transfer after the other.
    fn over_link(&mut self, ready: u64, span: Span) -> u64 {
        self.link_free = self.link_free.max(ready) + self.link_ns(span);
        self.link_free
    }

    /// Where a read finds the span on the platter.
    fn place(&self, home: Span) -> Span {
        self.translation.as_ref().map_or(home, |it| it.place(home))
    }

    /// Whether the heads have to go to several places for it.
    fn is_scattered(&self, home: Span) -> bool {
        self.translation.as_ref().is_some_and(|it| it.is_scattered(home))
    }

    /// Where a write would put it.
    fn target(&self, home: Span) -> Span {
        self.translation.as_ref().map_or(home, |it| it.target(home))
    }

    fn place_at_home(&self, home: Span) -> Span {
        self.translation.as_ref().map_or(home, |it| it.at_home(home))
    }

    /// The sectors of an extent, if the disk has them all.
    fn span(&self, at: Extent) -> Option<Span> {
        let sector_bytes = u64::from(self.params.sector_bytes);
        let end = at.offset.checked_add(u64::from(at.bytes))?;
        let span = Span { first: at.offset / sector_bytes, end: end / sector_bytes };
        (end <= self.params.capacity_bytes).then_some(span)
    }

    fn assert_whole_sectors(&self, command: &Command) {
        let (Command::Read { at, .. } | Command::Write { at, .. }) = command else { return };
        let sector_bytes = self.params.sector_bytes;
        assert!(
            at.offset.is_multiple_of(u64::from(sector_bytes))
                && at.bytes.is_multiple_of(sector_bytes),
            "{} B at {} split a sector",
            at.bytes,
            at.offset
        );
        assert!((1..=TRANSFER_BYTES_MAX).contains(&at.bytes), "a transfer of {} B", at.bytes);
    }

    fn set_alarm(&mut self) {
        self.alarm = self.outbox.next().min(Instant(self.next_decision()));
    }
}

impl Cached for Disk {
    fn fast_caches(&self, now: Instant) -> Vec<FastCache> {
        let sector_bytes = u64::from(self.params.sector_bytes);
        let memory = self.writes.stands(sector_bytes);
        let cleaned = self.cleanable_while_idle(now.0);
        let media = self.translation.as_ref().map(|it| it.stands(sector_bytes, &cleaned.zones));
        media.into_iter().chain([memory]).collect()
    }
}

impl Machine for Disk {
    fn geometry(&self, _: Drive) -> Geometry {
        Geometry {
            capacity_bytes: self.params.capacity_bytes,
            block_bytes: self.params.sector_bytes,
            transfer_bytes_max: TRANSFER_BYTES_MAX,
            queue_depth: self.queue_depth,
            data: Data::TimingOnly,
        }
    }

    fn on_request(&mut self, now: Instant, request: Request, _: &mut Effects) {
        self.assert_whole_sectors(&request.command);
        let outstanding = self.waiting.len() + self.in_command_queue();
        assert!(outstanding < self.queue_depth as usize, "queue depth exceeded");
        self.waiting.push_back((now, request));
        self.admit(now.0);
        self.set_alarm();
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("a disk has nothing below it");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        while self.alarm <= now {
            while self.next_decision() <= now.0 {
                self.decide(now.0);
            }
            self.outbox.release(now, effects);
            self.admit(now.0);
            self.set_alarm();
        }
    }

    #[inline]
    fn next_wakeup(&self) -> Instant {
        self.alarm
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A 7,200 rpm SATA disk of 1 TB as of 2008.
    pub fn params() -> DiskParams {
        DiskParams {
            capacity_bytes: 1_000_204_886_016,
            sector_bytes: 512,
            rpm: 7200,
            surfaces: 6,
            outer_bytes_per_s: 110_000_000,
            inner_bytes_per_s: 55_000_000,
            zones: 16,
            track_to_track_ns: 800_000,
            average_seek_ns: 8_900_000,
            full_stroke_ns: 18_000_000,
            settle_ns: None,
            write_settle_ns: 500_000,
            command_ns: 10_000,
            link_bytes_per_s: 300_000_000,
            command_queue_depth: 32,
            age_limit_ns: 1_000_000_000,
            forecast_error_ns: 0,
            age_weight_ppm: 0,
            read_segments: 16,
            read_segment_bytes: 1 << 20,
            prefetch_min_bytes: 0,
            write_caching: WriteCaching::On,
            write_cache_bytes: 16 << 20,
            write_cache_commands: 32,
            shingling: None,
        }
    }
}
