//! What bytes survive. A [`Media`] is one drive's medium and the volatile cache in front of it;
//! models decide *when* a request is done, the media what it left behind.
//!
//! ```text
//!   begin_write          complete_write             complete_flush, or FUA, or the cache is full
//!   in flight  ------->  newest version in cache  ------->  the medium
//!      |                    |  read sees it                    |  survives whatever comes
//!      +--------------------+-------- power_cut ---------------+
//!            any of these, for each sector by itself
//! ```
//!
//! What is assumed of a drive, and what is not, is written down in `docs/reference/fault-model.md`.
//! The unit is the *sector*, which a power cut keeps or loses whole; a drive may be told to do so
//! with larger writes.

mod cells;
mod cut;
mod rig;

pub use cut::{Choices, Grain, Loss};
pub use rig::Rig;

use block::{Durability, Extent, IoError, Payload, Rng};
use cells::Cells;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    mem,
    ops::Range,
    sync::Arc,
};

/// What a medium keeps of every sector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contents {
    /// Its bytes; transfers carry [`Payload::Bytes`].
    Bytes,
    /// The stamp of the write that put it there, 0 if none; transfers carry [`Payload::Stamp`].
    /// Every sector of a write gets the write's stamp.
    Stamps,
    /// Nothing but damage: timing-only runs with faults. Transfers carry [`Payload::None`].
    Nothing,
}

/// What becomes of a completed write when the power goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteCache {
    /// It may be lost until it is flushed.
    Volatile {
        /// Beyond this the oldest completed writes have reached the medium, in the order of their
        /// completion. `u64::MAX`: none does before a flush.
        bytes_max: u64,
    },
    /// It survives: no write cache, or one that capacitors or a battery protect.
    Protected,
}

/// What a drive makes of being told to put what it acknowledged on the medium: by a flush, or by a
/// write with FUA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flushes {
    /// It does so, then answers.
    Honoured,
    /// It answers first: what a flush covered is on the medium once the next flush is answered.
    Early,
    /// It answers, and does nothing: what is in a volatile cache leaves it only when that is full.
    Ignored,
}

impl Flushes {
    /// Each with its name, in the order of how much is lost.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Honoured, "honoured"), (Self::Early, "early"), (Self::Ignored, "ignored")];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// What such a drive does, where that is a fault.
    pub fn fault(self) -> Option<&'static str> {
        match self {
            Self::Honoured => None,
            Self::Early => Some("answers flushes too early"),
            Self::Ignored => Some("ignores flushes"),
        }
    }

    /// The one of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(flushes, _)| *flushes)
    }
}

/// What a read of several sectors answers when their stamps differ. No write may carry it.
pub const MIXED_STAMPS: u64 = u64::MAX;

/// A write or discard that has begun and not ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct WriteId(u64);

/// What a flush covers: the writes that had completed when it was submitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlushMark(u64);

/// One drive's medium and its volatile cache. A clone costs the maps, not the bytes.
#[derive(Clone, Debug)]
pub struct Media {
    capacity_bytes: u64,
    sector_bytes: u32,
    contents: Contents,
    cache: WriteCache,
    flushes: Flushes,
    /// A write of at most so many bytes that crosses no multiple of them is not torn.
    atomic_bytes: u64,
    /// What the last flush covered, where that is answered early.
    owed: u64,
    /// What is on the medium.
    durable: Cells,
    /// Sectors of the medium that cannot be read until they are written.
    damaged: BTreeSet<u64>,
    /// Completed writes that the medium may lack, oldest first, numbered without gaps.
    cached: VecDeque<Cached>,
    /// `(sector, number of the cached write)` of every version that is still in the cache.
    versions: BTreeSet<(u64, u64)>,
    cached_bytes: u64,
    next_cached: u64,
    in_flight: BTreeMap<u64, Change>,
    next_write: u64,
    revision: u64,
}

/// What a write or discard puts where.
#[derive(Clone, Debug)]
struct Change {
    sectors: Range<u64>,
    value: Value,
    durability: Durability,
}

#[derive(Clone, Debug)]
struct Cached {
    number: u64,
    /// Sectors of which this is still a version. What FUA overtook is none.
    live: u64,
    change: Change,
}

/// The cells of a change.
#[derive(Clone, Debug)]
enum Value {
    Zero,
    Stamp([u8; 8]),
    Bytes(Arc<[u8]>),
}

static ZEROES: [u8; 4096] = [0; 4096];

impl Change {
    /// What it puts into `sector`, which it covers.
    fn cell(&self, sector: u64, cell_bytes: usize) -> &[u8] {
        match &self.value {
            Value::Zero => &ZEROES[..cell_bytes],
            Value::Stamp(stamp) => stamp,
            Value::Bytes(bytes) => {
                let start = (sector - self.sectors.start) as usize * cell_bytes;
                &bytes[start..start + cell_bytes]
            }
        }
    }
}

impl Media {
    /// A medium of zeroes behind an unlimited volatile cache.
    ///
    /// # Panics
    /// Unless sectors are of 512 or 4,096 B and fill the capacity.
    pub fn new(capacity_bytes: u64, sector_bytes: u32, contents: Contents) -> Self {
        assert!(matches!(sector_bytes, 512 | 4096), "sectors of {sector_bytes} B");
        let whole = capacity_bytes.is_multiple_of(u64::from(sector_bytes));
        assert!(capacity_bytes > 0 && whole, "{capacity_bytes} B in sectors of {sector_bytes} B");
        let cell_bytes = if contents == Contents::Bytes { sector_bytes as usize } else { 8 };
        Self {
            capacity_bytes,
            sector_bytes,
            contents,
            cache: WriteCache::Volatile { bytes_max: u64::MAX },
            flushes: Flushes::Honoured,
            atomic_bytes: u64::from(sector_bytes),
            owed: 0,
            durable: Cells::new(cell_bytes),
            damaged: BTreeSet::new(),
            cached: VecDeque::new(),
            versions: BTreeSet::new(),
            cached_bytes: 0,
            next_cached: 0,
            in_flight: BTreeMap::new(),
            next_write: 0,
            revision: 0,
        }
    }

    /// The same behind this cache.
    #[must_use]
    pub fn with_cache(mut self, cache: WriteCache) -> Self {
        assert!(self.cached.is_empty(), "a cache is chosen before the first write");
        self.cache = cache;
        self
    }

    /// The same in a drive that makes this of flushes.
    #[must_use]
    pub fn with_flushes(mut self, flushes: Flushes) -> Self {
        assert!(self.cached.is_empty(), "that is chosen before the first write");
        self.flushes = flushes;
        self
    }

    /// The same in a drive that stores a write of at most `bytes`, which crosses no multiple of
    /// them, whole or not at all.
    ///
    /// # Panics
    /// Unless they are a power of two of sectors, and before the first write.
    #[must_use]
    pub fn with_atomic_writes(mut self, bytes: u64) -> Self {
        assert!(self.cached.is_empty(), "that is chosen before the first write");
        let sectors = bytes / u64::from(self.sector_bytes);
        assert!(bytes.is_power_of_two() && sectors > 0, "writes of {bytes} B, not torn");
        self.atomic_bytes = bytes;
        self
    }

    /// What the drive makes of flushes.
    pub fn flushes(&self) -> Flushes {
        self.flushes
    }

    /// Size in bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// The unit that a power cut keeps or loses whole, bytes.
    pub fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    /// What is kept.
    pub fn contents(&self) -> Contents {
        self.contents
    }

    /// Memory taken by what is on the medium, bytes.
    pub fn resident_bytes(&self) -> u64 {
        self.durable.resident_bytes()
    }

    /// Grows whenever what a power cut may leave can have changed: two looks at one revision are
    /// looks at one state.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// What a read of `sector` would see, where it lies; none if it cannot be read.
    pub fn sector(&self, sector: u64) -> Option<&[u8]> {
        let lost = self.damaged.contains(&sector) && self.newest(sector).is_none();
        (!lost).then(|| self.visible(sector))
    }

    /// Fills `into` with what reads from `sector` on would see, nothing being cached or in flight:
    /// several times faster than sector by sector. Whether all of it can be read.
    ///
    /// # Panics
    /// When something is, or of a part of a sector.
    pub fn read_settled(&self, sector: u64, into: &mut [u8]) -> bool {
        assert!(!self.is_at_risk(), "after a power cut");
        let count = (into.len() / self.durable.cell_bytes()) as u64;
        self.durable.read(sector, into);
        self.damaged.range(sector..sector + count).next().is_none()
    }

    /// Whether a read of any sector gives the same of both, nothing being cached or in flight.
    ///
    /// # Panics
    /// When something is.
    pub fn holds_same(&self, other: &Self) -> bool {
        assert!(!self.is_at_risk() && !other.is_at_risk(), "after a power cut");
        self.damaged == other.damaged && self.durable == other.durable
    }

    /// How many writes and discards have begun and not ended.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether some completed write could be lost, or some write is in flight.
    pub fn is_at_risk(&self) -> bool {
        !self.versions.is_empty() || !self.in_flight.is_empty()
    }

    /// A write reaches the drive: from now on a power cut may leave any of its sectors on the
    /// medium. Copies what it needs of `from`.
    ///
    /// # Panics
    /// If the extent or the payload is not as the medium's contents ask.
    pub fn begin_write(&mut self, at: Extent, from: &Payload, durability: Durability) -> WriteId {
        self.assert_fits(from, at.bytes);
        let value = match from {
            Payload::Bytes(buffer) => Value::Bytes(buffer.bytes()[..at.bytes as usize].into()),
            Payload::Stamp(stamp) => {
                assert!(*stamp != MIXED_STAMPS, "that stamp means several");
                Value::Stamp(stamp.to_le_bytes())
            }
            Payload::None => Value::Zero,
        };
        let sectors = self.sectors(at.offset, u64::from(at.bytes));
        self.begin(Change { sectors, value, durability })
    }

    /// A discard reaches the drive. Once completed the range reads as zeroes; it is durable with
    /// the next flush, as a write is.
    ///
    /// # Panics
    /// If the range is not of whole sectors on the medium.
    pub fn begin_discard(&mut self, offset: u64, len: u64) -> WriteId {
        let sectors = self.sectors(offset, len);
        self.begin(Change { sectors, value: Value::Zero, durability: Durability::Cached })
    }

    fn begin(&mut self, change: Change) -> WriteId {
        let id = self.next_write;
        self.next_write += 1;
        self.revision += 1;
        self.in_flight.insert(id, change);
        WriteId(id)
    }

    /// The write or discard is acknowledged: reads see it, and it is the newest version of its
    /// sectors.
    ///
    /// # Panics
    /// If it is not in flight.
    pub fn complete_write(&mut self, id: WriteId) {
        let change = self.in_flight.remove(&id.0).expect("the write is in flight");
        self.revision += 1;
        if self.contents == Contents::Nothing {
            remove_range(&mut self.damaged, change.sectors);
        } else {
            self.land(change);
        }
    }

    fn land(&mut self, change: Change) {
        let is_forced = change.durability == Durability::Fua && self.flushes == Flushes::Honoured;
        if is_forced || self.cache == WriteCache::Protected {
            self.write_through(&change);
        } else {
            self.write_back(change);
        }
    }

    /// The write or discard failed: each of its sectors holds the old or the new, as `rng` draws.
    ///
    /// # Panics
    /// If it is not in flight.
    pub fn fail_write(&mut self, id: WriteId, rng: &mut Rng) {
        let change = self.in_flight.remove(&id.0).expect("the write is in flight");
        self.revision += 1;
        if self.contents == Contents::Nothing {
            return;
        }
        for sector in self.touched(&change) {
            if rng.below(2) == 1 {
                let part = change.cell(sector, self.durable.cell_bytes()).into();
                let (sectors, durability) = (sector..sector + 1, Durability::Cached);
                self.land(Change { sectors, value: Value::Bytes(part), durability });
            }
        }
    }

    /// A flush reaches the drive.
    pub fn begin_flush(&self) -> FlushMark {
        FlushMark(self.next_cached)
    }

    /// The flush is acknowledged: what had completed before it began is on the medium, unless the
    /// drive makes something else of flushes.
    pub fn complete_flush(&mut self, mark: FlushMark) {
        let covered = match self.flushes {
            Flushes::Honoured => mark.0,
            Flushes::Early => {
                let newest = self.owed.max(mark.0);
                mem::replace(&mut self.owed, newest)
            }
            Flushes::Ignored => 0,
        };
        while self.cached.front().is_some_and(|oldest| oldest.number < covered) {
            self.revision += 1;
            self.destage_oldest();
        }
    }

    /// Fills `into` with what the drive holds now.
    ///
    /// # Errors
    /// [`IoError::Medium`] if one of the sectors is damaged and not rewritten; `into` is left
    /// alone.
    ///
    /// # Panics
    /// As [`Media::begin_write`].
    pub fn read(&self, at: Extent, into: &mut Payload) -> Result<(), IoError> {
        self.assert_fits(into, at.bytes);
        let sectors = self.sectors(at.offset, u64::from(at.bytes));
        if self.damaged.range(sectors.clone()).any(|&sector| self.newest(sector).is_none()) {
            return Err(IoError::Medium);
        }
        match into {
            Payload::None => {}
            Payload::Stamp(stamp) => *stamp = self.stamp_of(sectors),
            Payload::Bytes(buffer) => {
                let cells = buffer.bytes_mut().chunks_exact_mut(self.sector_bytes as usize);
                for (cell, sector) in cells.zip(sectors) {
                    cell.copy_from_slice(self.visible(sector));
                }
            }
        }
        Ok(())
    }

    fn stamp_of(&self, mut sectors: Range<u64>) -> u64 {
        let stamp = |sector| {
            let cell = self.visible(sector).try_into().expect("a stamp has eight bytes");
            u64::from_le_bytes(cell)
        };
        let first = stamp(sectors.start);
        if sectors.all(|sector| stamp(sector) == first) { first } else { MIXED_STAMPS }
    }

    /// A latent error: the sectors of `at` cannot be read until they are written again. What the
    /// cache held of them has been destaged and is lost with the rest.
    pub fn damage(&mut self, at: Extent) {
        self.revision += 1;
        for sector in self.sectors(at.offset, u64::from(at.bytes)) {
            self.forget_versions(sector);
            self.damaged.insert(sector);
        }
    }

    /// Puts `sector` durably to what `of` of another medium durably holds, which must have sectors
    /// of the same size and the same contents. For taking apart and putting together what an array
    /// holds.
    ///
    /// # Panics
    /// If they differ in that, or if either sector is damaged or has versions in a cache.
    pub fn copy_sector(&mut self, sector: u64, from: &Self, of: u64) {
        assert_eq!((self.sector_bytes, self.contents), (from.sector_bytes, from.contents));
        let settled = |medium: &Self, sector| {
            medium.newest(sector).is_none() && !medium.damaged.contains(&sector)
        };
        assert!(settled(self, sector) && settled(from, of), "sectors {sector} and {of} at risk");
        self.revision += 1;
        self.durable.copy(sector, &from.durable, of);
    }

    /// Bit rot: one bit of the sector at `offset`, as `rng` draws, is no longer what it was; nobody
    /// is told.
    pub fn rot(&mut self, offset: u64, rng: &mut Rng) {
        let sector = self.sectors(offset, u64::from(self.sector_bytes)).start;
        self.revision += 1;
        if self.contents == Contents::Nothing {
            return;
        }
        let mut cell = self.visible(sector).to_vec();
        let bit = rng.below(cell.len() as u64 * 8);
        cell[(bit / 8) as usize] ^= 1 << (bit % 8);
        self.forget_versions(sector);
        self.durable.set(sector, &cell);
    }

    /// Whether `payload` is what the contents ask for.
    fn assert_fits(&self, payload: &Payload, bytes: u32) {
        let fits = match (self.contents, payload) {
            (Contents::Bytes, Payload::Bytes(buffer)) => buffer.bytes().len() >= bytes as usize,
            (Contents::Stamps, Payload::Stamp(_)) | (Contents::Nothing, Payload::None) => true,
            _ => false,
        };
        assert!(fits, "a medium of {:?} got {payload:?} for {bytes} B", self.contents);
    }

    fn sectors(&self, offset: u64, len: u64) -> Range<u64> {
        let sector_bytes = u64::from(self.sector_bytes);
        let aligned = offset.is_multiple_of(sector_bytes) && len.is_multiple_of(sector_bytes);
        let end = offset.checked_add(len).expect("an extent ends below 2^64");
        assert!(
            len > 0 && aligned && end <= self.capacity_bytes,
            "{len} B at {offset} of {} B in sectors of {sector_bytes} B",
            self.capacity_bytes
        );
        offset / sector_bytes..end / sector_bytes
    }

    /// The newest cached write of `sector`.
    fn newest(&self, sector: u64) -> Option<u64> {
        let of_sector = (sector, 0)..=(sector, u64::MAX);
        self.versions.range(of_sector).next_back().map(|&(_, number)| number)
    }

    /// What a read of `sector` sees.
    fn visible(&self, sector: u64) -> &[u8] {
        match self.newest(sector) {
            Some(number) => self.version(sector, number),
            None => self.durable.get(sector),
        }
    }

    fn version(&self, sector: u64, number: u64) -> &[u8] {
        let cached = &self.cached[self.index_of(number)];
        cached.change.cell(sector, self.durable.cell_bytes())
    }

    fn index_of(&self, number: u64) -> usize {
        let oldest = self.cached.front().expect("a version's write is cached").number;
        (number - oldest) as usize
    }

    /// The sectors whose contents `change` could change. A discard may span a drive that holds
    /// little: of it, those that hold or may hold something.
    fn touched(&self, change: &Change) -> Vec<u64> {
        let sectors = change.sectors.clone();
        if !matches!(change.value, Value::Zero) {
            return sectors.collect();
        }
        let mut touched: BTreeSet<u64> = self.durable.resident(sectors.clone()).collect();
        touched.extend(self.damaged.range(sectors.clone()));
        let versions = self.versions.range((sectors.start, 0)..(sectors.end, 0));
        touched.extend(versions.map(|&(sector, _)| sector));
        touched.into_iter().collect()
    }

    fn write_back(&mut self, change: Change) {
        let number = self.next_cached;
        self.next_cached += 1;
        let touched = self.touched(&change);
        let live = touched.len() as u64;
        self.versions.extend(touched.into_iter().map(|sector| (sector, number)));
        self.cached.push_back(Cached { number, live, change });
        self.cached_bytes += live * u64::from(self.sector_bytes);
        let WriteCache::Volatile { bytes_max } = self.cache else { return };
        while self.cached_bytes > bytes_max
            || self.cached.front().is_some_and(|oldest| oldest.live == 0)
        {
            self.destage_oldest();
        }
    }

    fn write_through(&mut self, change: &Change) {
        for sector in self.touched(change) {
            self.forget_versions(sector);
            self.settle(sector, change);
        }
    }

    /// The oldest cached write reaches the medium, as far as nothing newer got there before it.
    fn destage_oldest(&mut self) {
        let Cached { number, live, change } = self.cached.pop_front().expect("something is cached");
        self.cached_bytes -= live * u64::from(self.sector_bytes);
        if live == 0 {
            return;
        }
        let sectors = (change.sectors.start, 0)..(change.sectors.end, 0);
        let versions = self.versions.range(sectors).filter(|version| version.1 == number);
        for version in versions.copied().collect::<Vec<_>>() {
            self.versions.remove(&version);
            self.settle(version.0, &change);
        }
    }

    /// `sector` of the medium takes the change's cell.
    fn settle(&mut self, sector: u64, change: &Change) {
        self.durable.set(sector, change.cell(sector, self.durable.cell_bytes()));
        self.damaged.remove(&sector);
    }

    fn forget_versions(&mut self, sector: u64) {
        while let Some(number) = self.newest(sector) {
            self.versions.remove(&(sector, number));
            self.cached_bytes -= u64::from(self.sector_bytes);
            let index = self.index_of(number);
            self.cached[index].live -= 1;
        }
    }
}

fn remove_range(set: &mut BTreeSet<u64>, range: Range<u64>) {
    let inside: Vec<u64> = set.range(range).copied().collect();
    for item in inside {
        set.remove(&item);
    }
}
