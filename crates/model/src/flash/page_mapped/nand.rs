//! When flash is done: planes and channels, and the write buffer that drains into them.

use super::{
    PageMappedParams,
    chance::{drawn, spread},
    divider::Divider,
    lane::Lane,
    params::{ReadRetry, Suspend, UNIT_BYTES},
    pause::Pauses,
    slc::{Placed, Slc},
    throttle::{Gate, Given},
    work::{Origin, Work},
};
use crate::{FastCache, FastCacheKind, nanoseconds_for};

/// Planes and channels as timelines, with the buffer in front of them.
#[derive(Debug)]
pub struct Nand {
    planes: Vec<Lane>,
    channels: Vec<Lane>,
    channel_of: Vec<u16>,
    plane_count: Divider,
    read_ns: u64,
    /// How far the quickest and the slowest page are from `read_ns`, thousandths of it.
    read_spread: u64,
    retry: Option<ReadRetry>,
    /// Host's reads so far: what decides which of them are read again.
    reads: u64,
    program_ns: u64,
    erase_ns: u64,
    /// Blocks that a plane erases at one go, and how many of them each still leaves.
    erase_group: u32,
    erases_due: Vec<u32>,
    suspend: Option<Suspend>,
    pauses: Pauses,
    gate: Gate,
    /// What all planes were given to do for writes so far, ns.
    busy_ns: u64,
    /// A unit, and a whole NAND page, on a channel.
    unit_transfer_ns: u64,
    page_transfer_ns: u64,
    /// When each of the latest NAND pages left the buffer: the oldest makes room for the next.
    buffer: Vec<u64>,
    page_bytes: u64,
    /// Pages that were ever handed to the buffer.
    handed_over: u64,
    oldest: usize,
    slc: Option<Slc>,
    /// The page that the cleaner read last.
    cleaned: u32,
    /// When the write at hand reached the drive.
    arrived: u64,
    /// When the buffer had room for all of it.
    accepted: u64,
    /// When flash holds all that the write at hand programmed.
    programmed: u64,
    /// When flash holds everything.
    drained: u64,
}

/// Chances have nothing to do with each other, nor with the places of pages.
const READ_AGAIN: u64 = 0x5bf0_3635_dea4_1cb5;
/// See [`READ_AGAIN`].
const SET_ASIDE: u64 = 0xc2b2_ae3d_27d4_eb4f;
/// See [`READ_AGAIN`].
const HOW_LONG: u64 = 0x27d4_eb2f_1656_67c5;

/// See [`READ_AGAIN`].
const OF_THE_MAP: u64 = 0x1656_67c5_9e37_79b1;

/// What a write waited for.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// The buffer has all of it.
    pub accepted: u64,
    /// Flash has all of it.
    pub programmed: u64,
}

impl Nand {
    /// Idle, with an empty buffer.
    pub fn new(params: &PageMappedParams) -> Self {
        let planes = params.planes();
        let page_bytes = u64::from(params.nand_page_bytes);
        let transfer = |bytes| nanoseconds_for(bytes, params.channel_bytes_per_s);
        let slc = params.slc_cache.map(|cache| {
            let of_units = |units: u64| units * u64::from(UNIT_BYTES) / page_bytes;
            let physical = of_units(params.superblocks() * params.units_per_superblock());
            let rest_ns = params.read_ns + params.program_ns;
            Slc::new(cache, page_bytes, physical, of_units(params.units()), rest_ns)
        });
        Self {
            planes: vec![Lane::default(); planes as usize],
            channels: vec![Lane::default(); params.channels as usize],
            channel_of: (0..planes).map(|plane| (plane % params.channels) as u16).collect(),
            plane_count: Divider::new(planes),
            read_ns: params.read_ns,
            read_spread: u64::from(params.read_spread_per_mille),
            retry: params.read_retry,
            reads: 0,
            program_ns: params.program_ns,
            suspend: params.suspend,
            pauses: Pauses::new(params.pause),
            gate: Gate::new(
                params.throttle,
                planes,
                params.write_buffer_bytes / page_bytes * params.program_ns / u64::from(planes),
            ),
            busy_ns: 0,
            erase_ns: params.erase_ns,
            erase_group: params.erase_group,
            // Planes take turns.
            erases_due: (0..planes).map(|plane| 1 + plane % params.erase_group).collect(),
            unit_transfer_ns: transfer(u64::from(UNIT_BYTES)),
            page_transfer_ns: transfer(page_bytes),
            buffer: vec![0; (params.write_buffer_bytes / page_bytes) as usize],
            page_bytes,
            handed_over: 0,
            oldest: 0,
            slc,
            cleaned: u32::MAX,
            arrived: 0,
            accepted: 0,
            programmed: 0,
            drained: 0,
        }
    }

    /// Reads a page for the host, and sends one unit of it to the controller.
    #[inline]
    pub fn read_for_host(&mut self, page: u32, at: u64) -> u64 {
        let plane = self.plane_count.remainder(page) as usize;
        let read_ns = self.sensing_time(page);
        let suspend = self.suspend;
        let aside = suspend.is_some_and(|it| self.is_drawn(SET_ASIDE, it.per_mille * 1000));
        let lane = &mut self.planes[plane];
        let sensed = match suspend {
            _ if self.pauses.lasts(at) => lane.read_in_pause(at, read_ns),
            Some(Suspend { ns, spread_per_mille, .. }) if aside => {
                let ns = spread(self.reads ^ HOW_LONG, ns, spread_per_mille);
                lane.read_suspending(at, read_ns, self.program_ns, ns)
            }
            _ => lane.read(at, read_ns, self.program_ns),
        };
        self.transfer_for_host(plane, sensed)
    }

    /// Reads a page of the map, which lies anywhere; when the controller has it.
    pub fn read_map(&mut self, page: u32, at: u64) -> u64 {
        let plane = self.plane_of_map(page);
        let sensed = self.planes[plane].read(at, self.read_ns, self.program_ns);
        self.transfer_for_host(plane, sensed)
    }

    /// The same for a write, which does not wait for it.
    pub fn read_map_beside(&mut self, page: u32) {
        let plane = self.plane_of_map(page);
        self.planes[plane].queue(self.arrived, self.read_ns);
        self.channels[usize::from(self.channel_of[plane])]
            .queue(self.arrived, self.unit_transfer_ns);
    }

    fn plane_of_map(&self, page: u32) -> usize {
        drawn(u64::from(page) ^ OF_THE_MAP, self.planes.len() as u64) as usize
    }

    /// Whether chance, `per_million` in a million, is for it this time.
    #[inline]
    fn is_drawn(&mut self, what: u64, per_million: u32) -> bool {
        self.reads += 1;
        drawn(self.reads ^ what, 1_000_000) < u64::from(per_million)
    }

    /// How long the array needs for this page, this time. A page is always as quick as it is: which
    /// of its cells' bits it is made of decides that. Which reads are tried again is chance.
    #[inline]
    fn sensing_time(&mut self, page: u32) -> u64 {
        let mut read_ns = self.read_ns;
        if self.read_spread > 0 {
            let most = read_ns * self.read_spread / 1000;
            read_ns = read_ns - most + drawn(u64::from(page), 2 * most);
        }
        if let Some(retry) = self.retry {
            // One in four of those that are read again is read once more, and so on.
            let mut per_million = retry.per_million;
            while self.is_drawn(READ_AGAIN, per_million) {
                read_ns += spread(self.reads ^ HOW_LONG, retry.ns, retry.spread_per_mille);
                per_million = 250_000;
            }
        }
        read_ns
    }

    /// Sends another unit of a page that the plane still holds.
    #[inline]
    pub fn another_of(&mut self, page: u32, sensed: u64) -> u64 {
        self.transfer_for_host(self.plane_count.remainder(page) as usize, sensed)
    }

    #[inline]
    fn transfer_for_host(&mut self, plane: usize, sensed: u64) -> u64 {
        let channel = usize::from(self.channel_of[plane]);
        self.channels[channel].read(sensed, self.unit_transfer_ns, self.page_transfer_ns)
    }

    /// Whether the buffer, at `at`, still holds a page that was handed over `pages` pages before
    /// the latest; the one that is being filled, at `u32::MAX`, it does.
    #[inline]
    pub fn is_buffered(&self, pages: u32, at: u64) -> bool {
        if pages as usize >= self.buffer.len() {
            return pages == u32::MAX;
        }
        // The latest stands before the oldest, in a ring.
        let back = pages as usize + 1;
        let wrap = if back > self.oldest { self.buffer.len() } else { 0 };
        self.buffer[self.oldest + wrap - back] > at
    }

    /// A write of so many units has reached the drive.
    #[inline]
    pub fn begin_write(&mut self, arrived: u64, units: u32, mapped_units: u64) {
        if self.slc.is_some() {
            self.fold_until(arrived, mapped_units);
        }
        let given = Given { busy_ns: self.busy_ns, has_room: self.buffer[self.oldest] };
        let arrived = self.gate.admit(arrived, units, given);
        (self.arrived, self.accepted, self.programmed) = (arrived, arrived, arrived);
    }

    /// All of it has been handed over.
    #[inline]
    pub fn end_write(&mut self) -> Written {
        Written { accepted: self.accepted, programmed: self.programmed }
    }

    /// When flash holds everything that was handed over.
    pub fn drained(&self) -> u64 {
        self.drained
    }

    /// NAND pages folded out of the SLC cache.
    pub fn folded_pages(&self) -> u64 {
        self.slc.as_ref().map_or(0, Slc::folded)
    }

    /// The part of a unit that a write leaves as it is must be read first.
    pub fn read_to_merge(&mut self, page: u32) {
        let plane = self.plane_count.remainder(page) as usize;
        self.arrived = self.planes[plane].read(self.arrived, self.read_ns, self.program_ns);
    }

    /// How many pages an idle drive could fold until `now`.
    fn foldable_until(&self, now: u64) -> u64 {
        let Some(slc) = &self.slc else { return 0 };
        let idle_ns = now.saturating_sub(self.drained);
        (idle_ns / slc.fold_ns).saturating_mul(self.planes.len() as u64)
    }

    /// The SLC cache and the buffer in front of all.
    pub fn fast_caches(&self, now: u64) -> Vec<FastCache> {
        let slc = self.slc.as_ref().map(|slc| FastCache {
            kind: FastCacheKind::Slc,
            capacity_bytes: slc.capacity() * self.page_bytes,
            held_bytes: slc.used().saturating_sub(self.foldable_until(now)) * self.page_bytes,
            taken_bytes: slc.taken() * self.page_bytes,
        });
        let buffered = self.buffer.iter().filter(|&&done| done > now).count() as u64;
        let memory = FastCache {
            kind: FastCacheKind::Memory,
            capacity_bytes: self.buffer.len() as u64 * self.page_bytes,
            held_bytes: buffered * self.page_bytes,
            taken_bytes: self.handed_over * self.page_bytes,
        };
        slc.into_iter().chain([memory]).collect()
    }

    /// What an idle drive did since it had nothing to do: pages read from the SLC cache and
    /// programmed, on all planes at once.
    #[cold]
    fn fold_until(&mut self, now: u64, mapped_units: u64) {
        let foldable = self.foldable_until(now);
        let slc = self.slc.as_mut().expect("the caller saw it");
        slc.set_mapped(mapped_units * u64::from(UNIT_BYTES) / self.page_bytes);
        slc.fold(foldable);
        self.drained = self.drained.max(now);
    }

    /// How long this page's program takes: the SLC cache takes what comes from the host while it
    /// has room.
    #[inline]
    fn program_time(&mut self, origin: Origin) -> u64 {
        match &mut self.slc {
            Some(slc) if origin == Origin::Host => match slc.place() {
                Placed::Cached => slc.program_ns,
                Placed::Direct => self.program_ns,
                Placed::AfterFold => slc.program_ns + slc.fold_ns,
            },
            _ => self.program_ns,
        }
    }
}

impl Work for Nand {
    /// The cleaner reads ahead of the programs that follow, so that they need not wait for it. It
    /// takes all that is valid in a page at one read.
    #[inline]
    fn read(&mut self, page: u32) {
        let plane = self.plane_count.remainder(page) as usize;
        if page != self.cleaned {
            self.cleaned = page;
            self.planes[plane].queue(self.arrived, self.read_ns);
            self.busy_ns += self.read_ns;
        }
        let channel = usize::from(self.channel_of[plane]);
        self.channels[channel].queue(self.arrived, self.unit_transfer_ns);
    }

    #[inline]
    fn program(&mut self, page: u32, origin: Origin) {
        let plane = self.plane_count.remainder(page) as usize;
        let channel = usize::from(self.channel_of[plane]);
        let has_room = self.buffer[self.oldest];
        self.accepted = self.accepted.max(has_room);
        let start = self.pauses.over(self.arrived.max(has_room));
        let loaded = self.channels[channel].queue(start, self.page_transfer_ns);
        let program_ns = self.program_time(origin);
        let begins = self.pauses.over(self.planes[plane].next(loaded));
        let done = self.planes[plane].queue(begins, program_ns);
        self.busy_ns += program_ns;
        self.buffer[self.oldest] = done;
        self.handed_over += 1;
        self.oldest += 1;
        if self.oldest == self.buffer.len() {
            self.oldest = 0;
        }
        self.programmed = self.programmed.max(done);
        self.drained = self.drained.max(done);
    }

    fn erase(&mut self, plane: u32) {
        let plane = plane as usize;
        self.erases_due[plane] -= 1;
        if self.erases_due[plane] == 0 {
            self.erases_due[plane] = self.erase_group;
            let together_ns = self.erase_ns * u64::from(self.erase_group);
            self.planes[plane].queue(self.arrived, together_ns);
            self.busy_ns += together_ns;
        }
    }
}
