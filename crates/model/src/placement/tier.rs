//! Flash and disks as one volume: extents that are asked for often move to flash, and others give
//! way.
//!
//! An extent lies in one place, on the disks or on flash, and the map says in which. Anew, the
//! extents of the disks lie where they would without the layer, and flash is the end of the volume.
//! One place is always free: it is what a move needs.
//!
//! **What a power cut leaves.** The map on flash says of an extent that it lies in a new place only
//! when a whole copy is durable there, and nothing is written to either place between the copy and
//! the record's flush. So whichever record a power cut leaves, its place has every flushed write.

use super::{
    FLASH,
    carrier::{Asked, Carrier, Goes},
    heat::Heat,
    map::{self, BadMap, ENTRIES, PAGE_BYTES},
    moves::{Held, Mover},
    params::TierParams,
    shape::Shape,
};
use crate::kind::Kind;
use block::{
    Buf, Command, Completion, Data, Drive, Durability, Effects, Engine, Extent, Geometry, Instant,
    IoError, Machine, Payload, Request,
};

/// Most pages of a new map that are written with one command, both copies of each.
const PAGES_AT_ONCE: u32 = 16;

/// What a tier has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TierCounters {
    /// Bytes that were asked for and lay on flash.
    pub flash_bytes: u64,
    /// Bytes that were asked for and lay on the disks.
    pub disks_bytes: u64,
    /// Extents that moved to flash.
    pub promoted: u64,
    /// Extents that moved to the disks.
    pub demoted: u64,
    /// Bytes that were copied for it.
    pub moved_bytes: u64,
    /// Moves that did not happen because a command failed.
    pub failed_moves: u64,
}

/// The tier, a machine over disks and flash. Budget: 300 ns a request, and at the end of an epoch
/// 5 ns an extent.
#[derive(Debug)]
pub struct Tier {
    pub(super) params: TierParams,
    pub(super) shape: Shape,
    /// Where each extent lies.
    pub(super) places: Vec<u32>,
    pub(super) carrier: Carrier,
    pub(super) heat: Heat,
    pub(super) mover: Mover,
    pub(super) counters: TierCounters,
    /// While nobody asks for anything, no epoch goes on.
    epoch_ends: Instant,
}

impl Tier {
    /// A new tier. `disks` and `flash` are the contracts of drive 0 and 1 below.
    ///
    /// # Panics
    /// When it does not fit on `flash`, or one of the two stores bytes and the other does not.
    pub fn new(params: TierParams, disks: Geometry, flash: Geometry) -> Self {
        let shape = params.shape(&disks, &flash);
        let extents = shape.extents();
        Self {
            places: (0..extents).collect(),
            carrier: Carrier::new(disks, flash, u64::from(extents) * params.extent_bytes),
            heat: Heat::new(extents),
            mover: Mover::new(extents, shape.pages),
            counters: TierCounters::default(),
            epoch_ends: Instant::NEVER,
            params,
            shape,
        }
    }

    /// A tier as its map on flash says: after a power cut, the restart. On flash without a map one
    /// is made.
    ///
    /// # Errors
    /// When flash does not answer, or its map is another tier's or damaged.
    ///
    /// # Panics
    /// As [`Tier::new`].
    pub fn open<E: Engine>(params: TierParams, engine: &mut E) -> Result<Self, BadMap> {
        let (disks, flash) = (engine.geometry(Drive(0)), engine.geometry(FLASH));
        let mut new = Self::new(params, disks, flash);
        if flash.data == Data::TimingOnly {
            return Ok(new);
        }
        match new.has_head(engine)? {
            true => new.recover(engine)?,
            false => new.make(engine).map_err(BadMap::Io)?,
        }
        Ok(new)
    }

    /// What it has done so far.
    pub fn counters(&self) -> TierCounters {
        self.counters
    }

    /// Whether flash has the map of this tier.
    fn has_head<E: Engine>(&self, engine: &mut E) -> Result<bool, BadMap> {
        let mut has = false;
        for copy in 0..2 {
            let bytes = read(engine, copy * PAGE_BYTES)?;
            match map::is_head_of(&bytes, self.params.extent_bytes, &self.shape) {
                Some(true) => has = true,
                Some(false) => return Err(BadMap::Other),
                None => {}
            }
        }
        Ok(has)
    }

    /// Writes a new map: its pages, and once they are durable its head.
    fn make<E: Engine>(&self, engine: &mut E) -> Result<(), IoError> {
        let transfer_max = engine.geometry(FLASH).transfer_bytes_max;
        let at_once = (transfer_max / (2 * PAGE_BYTES as u32)).clamp(1, PAGES_AT_ONCE);
        let mut page = 0;
        while page < self.shape.pages {
            let end = (page + at_once).min(self.shape.pages);
            let mut bytes = Buf::zeroed(((end - page) * 2) as usize * PAGE_BYTES as usize);
            for (copy, page) in bytes.bytes_mut().chunks_exact_mut(PAGE_BYTES as usize).zip(
                // Each twice.
                (2 * page..2 * end).map(|copy| copy / 2),
            ) {
                let first = (page * ENTRIES as u32) as usize;
                let places = &self.places[first.min(self.places.len())..];
                map::encode(copy, page, 0, places);
            }
            write(engine, map::place(page, 0), bytes)?;
            page = end;
        }
        ask(engine, Command::Flush)?;
        let mut head = Buf::zeroed(2 * PAGE_BYTES as usize);
        for copy in head.bytes_mut().chunks_exact_mut(PAGE_BYTES as usize) {
            map::encode_head(copy, self.params.extent_bytes, &self.shape);
        }
        write(engine, 0, head)?;
        ask(engine, Command::Flush).map(|_| ())
    }

    /// Reads the map.
    fn recover<E: Engine>(&mut self, engine: &mut E) -> Result<(), BadMap> {
        let mut is_taken = vec![false; (self.shape.disks + self.shape.flash) as usize];
        for page in 0..self.shape.pages {
            let mut newest: Option<(u64, Vec<u32>)> = None;
            for copy in 0..2 {
                let bytes = read(engine, map::place(page, copy))?;
                if let Some(found) = map::decode(&bytes, page)
                    && newest.as_ref().is_none_or(|newest| newest.0 < found.0)
                {
                    newest = Some(found);
                }
            }
            let (sequence, places) = newest.ok_or(BadMap::Page(page))?;
            self.mover.sequences[page as usize] = sequence;
            let first = page * ENTRIES as u32;
            for (extent, place) in (first..self.shape.extents()).zip(places) {
                match is_taken.get_mut(place as usize) {
                    Some(is_taken) if !*is_taken => *is_taken = true,
                    _ => return Err(BadMap::Place(extent)),
                }
                self.places[extent as usize] = place;
            }
        }
        let free = is_taken.iter().position(|is_taken| !is_taken);
        self.mover.free = free.expect("one place more than extents") as u32;
        Ok(())
    }

    /// Cuts a range into parts, each on one drive, and sends them down; what is to be written where
    /// an extent moves waits.
    pub(super) fn cut(&mut self, parent: u32, range: (u64, u64), asked_bytes: u64, changes: bool) {
        let (mut at, end) = range;
        let extent_bytes = self.params.extent_bytes;
        while at < end {
            let extent = (at / extent_bytes) as u32;
            let whole = (u64::from(extent) + 1) * extent_bytes;
            if changes && self.mover.holds(extent) {
                let range = (at, whole.min(end));
                self.mover.held.push(Held { parent, range, asked_bytes });
                self.carrier.hold(parent);
                at = range.1;
                continue;
            }
            let also = self.mover.also(extent).filter(|_| changes);
            let until = if also.is_some() { whole } else { self.run_end(extent, end, changes) };
            let from = at;
            let bytes = until.min(end) - from;
            let is_whole = bytes == asked_bytes && also.is_none();
            for place in [Some(self.places[extent as usize]), also].into_iter().flatten() {
                let (drive, range) = self.locate(place);
                let offset = range.start + from % extent_bytes;
                self.carrier.carry(parent, Goes { from, bytes, drive, offset, is_whole });
                if drive == FLASH {
                    self.counters.flash_bytes += bytes;
                } else {
                    self.counters.disks_bytes += bytes;
                }
            }
            at += bytes;
        }
    }

    /// Up to where the extents from this one on lie one after the other.
    fn run_end(&self, first: u32, end: u64, changes: bool) -> u64 {
        let extent_bytes = self.params.extent_bytes;
        let place = self.places[first as usize];
        let mut next = first + 1;
        while u64::from(next) * extent_bytes < end {
            let follows = place + (next - first);
            let is_apart = changes && (self.mover.holds(next) || self.mover.also(next).is_some());
            if self.places[next as usize] != follows || follows == self.shape.disks || is_apart {
                break;
            }
            next += 1;
        }
        u64::from(next) * extent_bytes
    }
}

impl Machine for Tier {
    fn geometry(&self, _: Drive) -> Geometry {
        self.carrier.geometry
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        let Asked { parent, kind, offset, bytes } = self.carrier.accept(now, request);
        if matches!(kind, Kind::Read | Kind::Write(_)) {
            self.heat.count(offset, bytes, self.params.extent_bytes);
            if self.epoch_ends == Instant::NEVER {
                self.epoch_ends = now.after(self.params.epoch_ns);
            }
        }
        if kind != Kind::Flush {
            self.cut(parent, (offset, offset + bytes), bytes, kind != Kind::Read);
        }
        self.carrier.pump(effects);
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        if let Some((result, payload)) = self.carrier.came_back(now, completion, effects) {
            self.move_went_on(result, payload);
        }
        self.drain();
        self.carrier.pump(effects);
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        if self.epoch_ends <= now {
            self.epoch_ends = Instant::NEVER;
            self.plan_moves();
            self.carrier.pump(effects);
        }
    }

    fn next_wakeup(&self) -> Instant {
        self.epoch_ends
    }
}

fn ask<E: Engine>(engine: &mut E, command: Command) -> Result<Payload, IoError> {
    let answer = block::submit_to_and_wait(engine, FLASH, command);
    answer.result.map(|()| answer.payload)
}

/// A page of flash. One that cannot be read is no torn one: which of two copies is the newer one is
/// not known then.
fn read<E: Engine>(engine: &mut E, offset: u64) -> Result<Vec<u8>, BadMap> {
    let at = Extent { offset, bytes: PAGE_BYTES as u32 };
    let into = Payload::Bytes(Buf::zeroed(PAGE_BYTES as usize));
    match ask(engine, Command::Read { at, into }).map_err(BadMap::Io)? {
        Payload::Bytes(buffer) => Ok(buffer.bytes().to_vec()),
        _ => unreachable!("flash keeps bytes"),
    }
}

fn write<E: Engine>(engine: &mut E, offset: u64, bytes: Buf) -> Result<(), IoError> {
    let at = Extent { offset, bytes: bytes.bytes().len() as u32 };
    let (from, durability) = (Payload::Bytes(bytes), Durability::Cached);
    ask(engine, Command::Write { at, from, durability }).map(|_| ())
}
