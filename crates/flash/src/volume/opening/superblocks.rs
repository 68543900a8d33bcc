//! The newest superblock: where the first and the last copy should be, at the places that these
//! name for the two others, and, if both are gone, wherever the two others may be. All that are
//! found there must be of one volume: of two nobody can say which is meant. What an earlier volume
//! of another shape left elsewhere is not looked at, and creation removes it.

use super::{Located, OpenError, Opening, Step};
use crate::{
    broken::{Rule, broken},
    format::{Found, Superblock, VolumeId},
    layout::{Layout, copies},
    shape::BLOCK_BYTES,
};
use block::{Durability, IoError};

/// How many pieces are being searched at a time.
const LANES: u64 = 8;
/// The largest unit that is searched for: a zone of a present-day shingled disk or zoned SSD.
const UNIT_BYTES_MAX: u64 = 256 << 20;
/// No drive can have fewer units: two superblocks and a root area at the front twice each, two at
/// the end, and the least number of segments.
const UNITS_MIN: u64 = 15;

/// In the key of a read: it is of a single block.
const SINGLE: u64 = 1 << 63;

/// How one of the four copies of the superblock was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CopyState {
    /// Whole, and of the generation that it should have.
    #[default]
    Good,
    /// Whole, and of an earlier generation: the writing of the newest was cut. The next one
    /// replaces it.
    Older,
    /// It cannot be read, or is none. The next one replaces it.
    Damaged,
}

impl Opening {
    pub(super) fn ask_superblocks(&mut self) {
        let places = match self.newest() {
            None => {
                // Of the four only these are where they are whatever the unit is.
                let [first, second, third, last] = copies(self.below.capacity_bytes, BLOCK_BYTES);
                let all = broken(Rule::OwnPlaces);
                [Some(first), Some(second).filter(|_| all), Some(third).filter(|_| all), Some(last)]
            }
            Some(Superblock { shape, .. }) => {
                copies(shape.device_bytes, shape.unit_bytes()).map(Some)
            }
        };
        let places = places.into_iter().flatten();
        let whole = self.below.capacity_bytes / BLOCK_BYTES * BLOCK_BYTES;
        for offset in places {
            if offset < whole
                && !self.found.contains_key(&offset)
                && !self.read.contains_key(&offset)
            {
                self.found.insert(offset, Found::Nothing);
                self.send_read(offset, offset, BLOCK_BYTES);
            }
        }
    }

    pub(super) fn newest(&self) -> Option<Superblock> {
        let valid = self.found.values().filter_map(|found| match found {
            Found::Valid(superblock) => Some(*superblock),
            _ => None,
        });
        valid.max_by_key(|superblock| superblock.generation)
    }

    pub(super) fn take_superblocks(&mut self) -> Result<Step, OpenError> {
        let news = !self.read.is_empty();
        for (offset, read) in std::mem::take(&mut self.read) {
            let found = match read {
                Ok(buffer) => Superblock::decode(offset, buffer.bytes()),
                Err(IoError::Offline) => return Err(OpenError::Io(IoError::Offline)),
                Err(_) => Found::Nothing,
            };
            self.found.insert(offset, found);
        }
        if news && self.newest().is_some() {
            // Now that the unit is known, the other two are.
            return Ok(Step::Superblocks);
        }
        if let [first, second, ..] = self.ids()[..]
            && !broken(Rule::OwnPlaces)
        {
            return Err(OpenError::TwoVolumes { ids: [first, second] });
        }
        let unknown = self.found.values().find_map(|found| match found {
            Found::Unknown { version, features } => {
                Some(OpenError::Unknown { version: *version, features: *features })
            }
            _ => None,
        });
        let Some(superblock) = self.newest() else {
            return match unknown {
                Some(error) => Err(error),
                None if self.step == Step::Superblocks => Ok(Step::Probe),
                None => Err(OpenError::NoVolume),
            };
        };
        let (created_bytes, bytes) = (superblock.shape.device_bytes, self.below.capacity_bytes);
        if bytes < created_bytes {
            return Err(OpenError::Shrunk { created_bytes, bytes });
        }
        let transfer_bytes_max = u64::from(self.below.transfer_bytes_max);
        let layout =
            Layout::with_root_areas(superblock.shape, superblock.root_bytes, transfer_bytes_max)
                .map_err(OpenError::Shape)?;
        for ((copy, offset), state) in (0..).zip(layout.copies()).zip(&mut self.report.superblocks)
        {
            let odd = (superblock.generation + copy) % 2;
            let generation = superblock.generation.saturating_sub(odd);
            *state = match self.found.get(&offset) {
                Some(Found::Valid(found)) if found.generation == generation => CopyState::Good,
                Some(Found::Valid(_)) => CopyState::Older,
                _ => CopyState::Damaged,
            };
        }
        let damaged = self.report.superblocks.iter().filter(|&&copy| copy != CopyState::Good);
        self.report.superblocks_damaged = damaged.count() as u32;
        let next = layout.copies_of(superblock.generation + 1);
        let found = |offset: &u64| matches!(self.found.get(offset), Some(Found::Valid(_)));
        // A power cut leaves a sector old or new, and of each copy all but one sector are zeroes.
        self.report.generation_lost = !next.iter().any(found) && !broken(Rule::LostGeneration);
        self.report.clean = superblock.clean;
        self.durable_seq = superblock.durable_seq;
        self.volume = Some(Located { superblock, layout });
        Ok(Step::Root)
    }

    /// Copy 1 is one unit from the front and copy 2 two to three from the end, for a unit that
    /// nobody knows.
    pub(super) fn ask_probe(&mut self) {
        for lane in 0..LANES {
            self.probe_piece(lane);
        }
    }

    /// Where the nth piece of the search is, and its length.
    fn piece(&self, number: u64) -> Option<(u64, u64)> {
        let whole = self.below.capacity_bytes / BLOCK_BYTES * BLOCK_BYTES;
        let transfer_bytes = u64::from(self.below.transfer_bytes_max).min(1 << 20);
        let piece_bytes = transfer_bytes / BLOCK_BYTES * BLOCK_BYTES;
        let unit_bytes_max = (whole / UNITS_MIN).min(UNIT_BYTES_MAX) / BLOCK_BYTES * BLOCK_BYTES;
        let ranges = [0..unit_bytes_max + BLOCK_BYTES, whole - 3 * unit_bytes_max..whole];
        let mut before = 0;
        for range in ranges {
            let end = range.end.min(whole);
            let pieces = (end - range.start).div_ceil(piece_bytes);
            if number < before + pieces {
                let offset = range.start + (number - before) * piece_bytes;
                return Some((offset, piece_bytes.min(end - offset)));
            }
            before += pieces;
        }
        None
    }

    fn probe_piece(&mut self, number: u64) {
        if let Some((offset, bytes)) = self.piece(number) {
            self.send_read(number, offset, bytes);
        }
    }

    /// A piece has come, or a block of one that could not be read as a whole.
    pub(super) fn probe_on(&mut self, key: u64) {
        let read = self.read.remove(&key).expect("it was just read");
        if key & SINGLE == SINGLE {
            if let Ok(buffer) = read {
                self.probe_block(key ^ SINGLE, &buffer.bytes()[..BLOCK_BYTES as usize]);
            }
            return;
        }
        let (start, bytes) = self.piece(key).expect("it was asked for");
        let places = (start..start + bytes).step_by(BLOCK_BYTES as usize);
        match read {
            Ok(buffer) => places
                .zip(buffer.bytes().chunks_exact(BLOCK_BYTES as usize))
                .for_each(|(offset, block)| self.probe_block(offset, block)),
            Err(_) => {
                places.for_each(|offset| self.send_read(SINGLE | offset, offset, BLOCK_BYTES));
            }
        }
        self.probe_piece(key + LANES);
    }

    /// Takes in whatever is a superblock in a place where one should be.
    fn probe_block(&mut self, offset: u64, block: &[u8]) {
        let found = Superblock::decode(offset, block);
        let in_place = match found {
            Found::Nothing => false,
            _ if self.step == Step::CreateSearch => true,
            Found::Valid(Superblock { shape, .. }) => {
                copies(shape.device_bytes, shape.unit_bytes()).contains(&offset)
            }
            Found::Unknown { .. } => true,
        };
        if in_place {
            self.found.insert(offset, found);
        }
    }

    pub(super) fn take_probe(&mut self) -> Result<Step, OpenError> {
        match self.ids()[..] {
            [first, second, ..] => Err(OpenError::TwoVolumes { ids: [first, second] }),
            // What the one that was found says of the other three places.
            [_] => Ok(Step::Superblocks),
            [] => self.take_superblocks(),
        }
    }

    /// Of the volumes whose superblocks were found, each once.
    fn ids(&self) -> Vec<VolumeId> {
        let mut ids: Vec<VolumeId> = Vec::new();
        for found in self.found.values() {
            if let Found::Valid(superblock) = found
                && !ids.contains(&superblock.id)
            {
                ids.push(superblock.id);
            }
        }
        ids
    }

    /// Of a creation: what an earlier volume left where opening may ever look for a superblock is
    /// gone before there is a new one. Its blocks are overwritten with zeroes, and nothing else.
    pub(super) fn wipe_superblocks(&mut self) {
        let stale = std::mem::take(&mut self.found);
        for &offset in stale.keys().filter(|_| !broken(Rule::Wiped)) {
            self.send_write(offset, &[0; BLOCK_BYTES as usize], Durability::Cached);
        }
        self.found = stale;
    }
}
