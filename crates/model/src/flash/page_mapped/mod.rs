//! A drive that maps 4 KiB at a time, as every SSD since 2008 does: a random write goes wherever
//! flash is free, and a cleaner makes space behind it.
//!
//! ```text
//!   host stage    serial: command, link; streams read ahead           host.rs
//!   read          may be looked up later, while its word of the map    ahead.rs
//!                 is on its way
//!   write buffer  acknowledges, drains into flash                     nand.rs
//!   SLC cache     in front of the rest                                slc.rs
//!   log           superblocks over all planes, cleaner                log.rs, victims.rs, wear.rs
//!   map           logical to physical units, and back                 map.rs, contents.rs
//!   map memory    which pages of the map need not be read from flash   map_memory.rs
//!   planes        and channels, each a pair of dates                  nand.rs, lane.rs
//!   chance        what a read is tried again, or a command takes longer  chance.rs
//!   pauses        in which nothing is programmed                        pause.rs
//!   throttle      when writes are let in                                throttle.rs
//!   steady state  planted from a small drive that was aged for real   plant.rs, planted.rs
//! ```
//!
//! Completions are computed when a request arrives, or before the next event at the latest; the
//! only events are the completions themselves.
//! The model knows no bad blocks, no read disturb, no refresh and no thermal limit, and its planes
//! work independently of each other.

mod ahead;
mod chance;
#[cfg(test)]
mod consistency;
mod contents;
mod divider;
mod host;
mod lane;
mod log;
mod map;
mod map_memory;
mod nand;
mod params;
mod pause;
mod plant;
mod planted;
mod slc;
mod throttle;
mod victims;
mod wear;
mod work;

pub use params::{
    BadParams, Cleaning, PageMappedParams, Pause, PowerLoss, ReadRetry, SlcCache, State, Suspend,
    Throttle, Transfer, UNIT_BYTES,
};
pub use wear::Wear;
pub use work::Counters;

use crate::{Cached, FastCache, Outbox, WriteCaching};
use ahead::{Ahead, PutOff};
use block::{
    Command, Completion, Data, Drive, Durability, Effects, Extent, Geometry, Instant, Machine,
    Payload, Request, Tag,
};
use chance::Tail;
use host::{CommandQueue, HostStage, ReadAtHost, WriteAtHost};
use log::{Log, Shape};
use map_memory::MapMemory;
use nand::Nand;
use work::Untimed;

/// What the host addresses: a sector.
const SECTOR_BYTES: u32 = 512;
/// The most that one command moves: 65,536 sectors (ATA8-ACS, READ DMA EXT and WRITE DMA EXT).
const TRANSFER_BYTES_MAX: u32 = 65_536 * SECTOR_BYTES;

/// The drive.
#[derive(Debug)]
pub struct PageMapped {
    geometry: Geometry,
    durable_by: DurableBy,
    buffer_is_durable: bool,
    flush_ns: u64,
    write_through_ns: u64,
    endurance_cycles: u32,
    queue: CommandQueue,
    host: HostStage,
    log: Log,
    /// A past that nobody has looked at yet.
    past: Option<Past>,
    nand: Nand,
    /// `None`: all of the map is in memory.
    map_memory: Option<MapMemory>,
    ahead: Ahead,
    tail: Tail,
    outbox: Outbox,
}

/// What was done to a drive before time 0: these units were overwritten at random.
#[derive(Clone, Copy, Debug)]
struct Past {
    used: u32,
    seed: u64,
}

/// Which writes wait for flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DurableBy {
    /// Those that ask for it.
    Request,
    /// All: the write cache is off.
    Always,
}

impl PageMapped {
    /// Built from `params`, for at most `queue_depth` requests at a time. The drive's past, if it
    /// has one, is drawn from `seed`, when the drive is asked for something the first time: until
    /// then it takes neither time nor memory.
    ///
    /// # Errors
    /// [`BadParams`] says what of the parameters cannot be.
    pub fn new(params: &PageMappedParams, queue_depth: u32, seed: u64) -> Result<Self, BadParams> {
        params.check()?;
        let past = match params.state {
            State::Fresh => None,
            State::Steady { used_per_mille } => {
                let used = params.units() * u64::from(used_per_mille) / 1000;
                Some(Past { used: used as u32, seed })
            }
        };
        Ok(Self {
            geometry: Geometry {
                capacity_bytes: params.capacity_bytes,
                block_bytes: SECTOR_BYTES,
                transfer_bytes_max: TRANSFER_BYTES_MAX,
                queue_depth,
                data: Data::TimingOnly,
            },
            durable_by: match params.write_cache {
                WriteCaching::On => DurableBy::Request,
                WriteCaching::Off => DurableBy::Always,
            },
            buffer_is_durable: params.power_loss == PowerLoss::Protected,
            flush_ns: params.flush_ns,
            write_through_ns: params.write_through_ns,
            endurance_cycles: params.endurance_cycles,
            queue: CommandQueue::new(params.command_queue, queue_depth),
            host: HostStage::new(params),
            log: Log::new(shape(params)),
            past,
            nand: Nand::new(params),
            map_memory: params
                .map_memory_bytes
                .and_then(|bytes| MapMemory::new(bytes, params.units())),
            ahead: Ahead::default(),
            tail: Tail::new(params.latency_tail_ns),
            outbox: Outbox::new(queue_depth),
        })
    }

    /// Writes `len` bytes from `offset` in order and in no time: what the drive held before a run.
    ///
    /// # Panics
    /// Beyond the capacity, or not in multiples of 4 KiB.
    pub fn fill(&mut self, offset: u64, len: u64) {
        let unit = u64::from(UNIT_BYTES);
        assert!(offset.is_multiple_of(unit) && len.is_multiple_of(unit), "a fill splits a unit");
        assert!(offset + len <= self.geometry.capacity_bytes, "a fill beyond the capacity");
        let (first, end) = (offset / unit, (offset + len) / unit);
        self.plant();
        self.log.write(first as u32, end as u32, &mut Untimed);
    }

    /// The drive's past is in its log from now on.
    #[inline]
    fn plant(&mut self) {
        if let Some(Past { used, seed }) = self.past.take() {
            plant::steady_state(&mut self.log, used, seed);
        }
    }

    /// What was written so far, the drive's planted past not counted.
    pub fn counters(&self) -> Counters {
        let units_per_page = 1 << self.log.shape.page_shift;
        Counters { folded_units: self.nand.folded_pages() * units_per_page, ..self.log.counters }
    }

    /// Erase counts.
    pub fn wear(&mut self) -> Wear {
        self.plant();
        self.log.wear.summary()
    }

    /// Share of the rated erases that the drive has used up, on average over its blocks.
    pub fn life_used(&mut self) -> f64 {
        self.wear().mean / f64::from(self.endurance_cycles.max(1))
    }

    /// Mapped bytes.
    pub fn mapped_bytes(&mut self) -> u64 {
        self.plant();
        self.log.mapped() * u64::from(UNIT_BYTES)
    }

    /// Valid units of each superblock that is full, in no order.
    pub fn valid_counts(&mut self) -> Vec<u32> {
        self.plant();
        self.log.victims.iter().map(|number| self.log.valid_in[number as usize]).collect()
    }

    /// A read that came at `now` and is looked at at `at`.
    #[inline]
    fn on_read(&mut self, now: Instant, at: u64, tag: Tag, extent: Extent, payload: Payload) {
        let host = self.host.read(at, extent.offset, extent.bytes);
        let (first, end) = units_touched(extent);
        let later = PutOff { tag, issued: now, host, logical: first, payload };
        if let Some(read_ahead) = host.read_ahead {
            self.catch_up();
            let finished = read_ahead.max(host.start + host.link_ns);
            return self.answer(tag, now, finished, later.payload);
        }
        if end - first > 1 {
            self.catch_up();
            let finished = self.read_many(host, first, end);
            return self.answer(tag, now, finished, later.payload);
        }
        if self.outbox.next() > later.earliest() || self.queue.is_limited() {
            self.catch_up();
            return self.read_one(later);
        }
        if self.ahead.is_full() {
            self.catch_up_one();
        }
        self.log.prefetch(first);
        self.ahead.push(later);
    }

    /// Does all that was put off.
    #[inline]
    fn catch_up(&mut self) {
        self.catch_up_until(Instant::NEVER);
    }

    /// Does what was put off and may be done before or at `until`.
    #[inline]
    fn catch_up_until(&mut self, until: Instant) {
        while let Some(read) = self.ahead.pop_until(until) {
            self.read_one(read);
        }
    }

    fn catch_up_one(&mut self) {
        let read = self.ahead.pop_until(Instant::NEVER).expect("some were put off");
        self.read_one(read);
    }

    #[inline]
    fn read_one(&mut self, read: PutOff) {
        let PutOff { tag, issued, host, logical, payload } = read;
        let start = self.map_is_there(logical, logical + 1, host.start);
        let ready = match self.log.find(logical) {
            Some(physical) => self.sense(physical, start),
            None => start,
        };
        self.answer(tag, issued, ready + host.link_ns, payload);
    }

    /// The answer to a request of `issued`, at `finished`.
    #[inline]
    fn answer(&mut self, tag: Tag, issued: Instant, finished: u64, payload: Payload) {
        // A drive without any cost would answer at once, and time would stand still.
        let finished = Instant(finished.max(issued.0 + 1) + self.tail.next());
        self.queue.occupy(finished.0);
        self.outbox.put(Completion { tag, issued, finished, result: Ok(()), payload });
    }

    /// A read of several units: they are asked of flash together, and the link starts with the
    /// first that is there and ends with the last.
    fn read_many(&mut self, host: ReadAtHost, first: u32, end: u32) -> u64 {
        let (mut first_ready, mut last_ready) = (u64::MAX, host.start);
        // A page that holds several of the units is sensed once.
        let (mut page_at_hand, mut ready) = (u32::MAX, 0);
        let start = self.map_is_there(first, end, host.start);
        for logical in first..end {
            let Some(physical) = self.log.find(logical) else { continue };
            let page = physical >> self.log.shape.page_shift;
            ready = if page == page_at_hand {
                self.nand.another_of(page, ready)
            } else {
                self.sense(physical, start)
            };
            page_at_hand = page;
            first_ready = first_ready.min(ready);
            last_ready = last_ready.max(ready);
        }
        if first_ready == u64::MAX {
            return start + host.link_ns;
        }
        (first_ready + host.link_ns).max(last_ready + self.host.link_time_of(UNIT_BYTES))
    }

    /// When it is known where the units from `first` to before `end` lie: at once, unless pages of
    /// the map are read first.
    #[inline]
    fn map_is_there(&mut self, first: u32, end: u32, at: u64) -> u64 {
        let Some(memory) = &mut self.map_memory else { return at };
        let missing = MapMemory::pages_of(first, end).filter(|page| memory.misses(*page));
        missing.map(|page| self.nand.read_map(page, at)).max().unwrap_or(at)
    }

    /// A write takes its pages of the map along: those that are not in memory are read while it
    /// goes on, for the buffer answers it.
    #[inline]
    fn take_map_along(&mut self, first: u32, end: u32) {
        let Some(memory) = &mut self.map_memory else { return };
        for page in MapMemory::pages_of(first, end).filter(|page| memory.misses(*page)) {
            self.nand.read_map_beside(page);
        }
    }

    /// When a unit's page is in the controller: at once if it never left.
    #[inline]
    fn sense(&mut self, physical: u32, at: u64) -> u64 {
        let page = physical >> self.log.shape.page_shift;
        match self.log.pages_since(physical) {
            Some(pages) if self.nand.is_buffered(pages, at) => at,
            _ => self.nand.read_for_host(page, at),
        }
    }

    /// When a write that came at `at` is done.
    #[inline]
    fn write(&mut self, at: u64, extent: Extent, durability: Durability) -> u64 {
        let WriteAtHost { arrived, answered } = self.host.write(at, extent.offset, extent.bytes);
        let (first, end) = units_touched(extent);
        self.nand.begin_write(arrived, end - first, self.log.mapped());
        self.take_map_along(first, end);
        self.merge_ends(extent, first, end);
        self.log.write(first, end, &mut self.nand);
        let beside = self.host.write_latency_ns();
        if durability == Durability::Cached && self.durable_by == DurableBy::Request {
            return self.nand.end_write().accepted.max(answered) + beside;
        }
        if self.buffer_is_durable || self.write_through_ns > 0 {
            let accepted = self.nand.end_write().accepted.max(answered);
            return accepted + self.write_through_ns + beside;
        }
        self.log.pad(&mut self.nand);
        self.nand.end_write().programmed.max(answered) + beside
    }

    /// A write that begins or ends within a unit reads what it leaves as it is.
    #[inline]
    fn merge_ends(&mut self, extent: Extent, first: u32, end: u32) {
        let unit = u64::from(UNIT_BYTES);
        let splits_first = !extent.offset.is_multiple_of(unit);
        let splits_last = !(extent.offset + u64::from(extent.bytes)).is_multiple_of(unit);
        if splits_first || splits_last && end - first == 1 {
            self.merge(first);
        }
        if splits_last && end - first > 1 {
            self.merge(end - 1);
        }
    }

    #[cold]
    fn merge(&mut self, logical: u32) {
        if let Some(physical) = self.log.find(logical) {
            self.nand.read_to_merge(physical >> self.log.shape.page_shift);
        }
    }

    fn flush(&mut self, at: u64) -> u64 {
        let start = self.host.command(at);
        if self.buffer_is_durable || self.durable_by == DurableBy::Always {
            return start + self.flush_ns;
        }
        self.nand.begin_write(start, 0, self.log.mapped());
        self.log.pad(&mut self.nand);
        start.max(self.nand.drained()) + self.flush_ns
    }

    /// Unmaps the units that lie in the range as a whole.
    fn discard(&mut self, at: u64, offset: u64, len: u64) -> u64 {
        let unit = u64::from(UNIT_BYTES);
        let last = offset + len;
        let end =
            if last == self.geometry.capacity_bytes { last.div_ceil(unit) } else { last / unit };
        let first = offset.div_ceil(unit);
        if first < end {
            self.log.discard(first as u32, end as u32);
        }
        self.host.command(at)
    }
}

fn shape(params: &PageMappedParams) -> Shape {
    Shape {
        exported: params.units() as u32,
        superblocks: params.superblocks() as u32,
        pages_per_block: params.pages_per_block,
        planes: params.planes(),
        page_shift: (params.nand_page_bytes / UNIT_BYTES).trailing_zeros(),
        reserve: params.reserve_superblocks,
        cleaning: params.cleaning,
        wear_spread: params.wear_leveling_threshold,
    }
}

/// The units of which an extent holds at least a part: from the first to before the second.
#[inline]
fn units_touched(extent: Extent) -> (u32, u32) {
    let shift = UNIT_BYTES.trailing_zeros();
    let last = extent.offset + u64::from(extent.bytes) - 1;
    ((extent.offset >> shift) as u32, (last >> shift) as u32 + 1)
}

impl Cached for PageMapped {
    fn fast_caches(&self, now: Instant) -> Vec<FastCache> {
        self.nand.fast_caches(now.0)
    }
}

impl Machine for PageMapped {
    fn geometry(&self, _: Drive) -> Geometry {
        self.geometry
    }

    #[inline]
    fn on_request(&mut self, now: Instant, request: Request, _: &mut Effects) {
        let Request { tag, command, .. } = request;
        self.plant();
        let admitted = self.queue.admit(now.0);
        if let Command::Read { at, into } = command {
            self.assert_fits(at.offset, u64::from(at.bytes));
            return self.on_read(now, admitted, tag, at, into);
        }
        self.catch_up();
        let finished = match &command {
            Command::Read { .. } => unreachable!("reads were told apart"),
            Command::Write { at, durability, .. } => {
                self.assert_fits(at.offset, u64::from(at.bytes));
                self.write(admitted, *at, *durability)
            }
            Command::Flush => self.flush(admitted),
            Command::Discard { offset, len } => {
                self.assert_fits(*offset, *len);
                self.discard(admitted, *offset, *len)
            }
        };
        self.answer(tag, now, finished, command.into_payload());
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("a drive has nothing below it");
    }

    #[inline]
    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.catch_up_until(now);
        self.outbox.release(now, effects);
        // What is due next is known again: nothing that was put off comes before it.
        self.catch_up_until(self.outbox.next());
    }

    #[inline]
    fn next_wakeup(&self) -> Instant {
        self.outbox.next()
    }
}

impl PageMapped {
    #[inline]
    fn assert_fits(&self, offset: u64, bytes: u64) {
        let sector = u64::from(SECTOR_BYTES);
        assert!(
            (offset | bytes) & (sector - 1) == 0 && bytes > 0,
            "offset {offset}, {bytes} bytes: not whole sectors"
        );
        assert!(
            offset.saturating_add(bytes) <= self.geometry.capacity_bytes,
            "offset {offset}, {bytes} bytes: beyond the capacity"
        );
    }
}
