//! The cleaner: dirty blocks go to the disks, those that leave the cache at once, others when there
//! are too many. And the way back: what flash lacks of a block comes from the disks.

use super::{DISKS, FLASH, Job, Piece, SsdCache, Step};
use block::{Effects, Instant, Payload};

/// Blocks that are written back at a time.
const CLEANING_MAX: u32 = 16;

impl SsdCache {
    /// How many blocks may be dirty.
    pub(super) fn dirty_max(&self) -> u64 {
        self.shape.blocks as u64 * u64::from(self.params.dirty_per_mille) / 1000
    }

    /// Begins to write back what is too much, by place, going round: until so little is left as is
    /// left then.
    pub(super) fn clean_some(&mut self) {
        let share = |per_mille: u32| self.shape.blocks as u64 * u64::from(per_mille) / 1000;
        let left = share(self.params.clean_per_mille);
        self.cleans_down |= self.dirty.len() as u64 > self.dirty_max();
        self.cleans_down &= self.dirty.len() as u64 > left;
        while self.cleans_down && self.cleaning < CLEANING_MAX {
            let next = self.dirty.range(self.sweep..).next().or_else(|| self.dirty.first());
            let Some(&block) = next else { return };
            self.sweep = block + 1;
            self.cleaning += 1;
            let start = block * u64::from(self.params.block_bytes);
            self.begin(None, Job::Clean { leaves: false }, (block, block), (start, 0));
        }
    }

    /// Reads what is dirty.
    pub(super) fn run_clean(&mut self, piece: u32) {
        let block = self.pieces.get_mut(piece).first;
        let slot = self.find(block);
        let dirty = slot.map_or(0, |slot| self.slots[slot as usize].dirty);
        let own = self.pieces.get_mut(piece);
        (own.slot, own.units) = (slot, dirty);
        let (start, bytes) = (own.offset, u64::from(self.params.block_bytes));
        if dirty == 0 {
            // Nothing to wait for; but who called may hold what this would release.
            return self.commit.idle.push(piece);
        }
        for (is_dirty, from, to) in self.runs(block, start, bytes, dirty) {
            if is_dirty {
                self.transfer(piece, FLASH, (from, to - from), Payload::None);
            }
        }
    }

    /// The rest of a block that has a new place comes there, once who asked for it is done.
    pub(super) fn fill_later(&mut self, block: u64) {
        let bytes = u64::from(self.params.block_bytes);
        let start = block * bytes;
        let end = (start + bytes).min(self.geometry.capacity_bytes);
        self.begin(None, Job::Fill, (block, block), (start, end - start));
    }

    /// Reads what is not there.
    pub(super) fn run_fill(&mut self, piece: u32) {
        let Piece { first, offset, bytes, .. } = *self.pieces.get_mut(piece);
        let slot = self.find(first).filter(|_| self.policy.holds(first));
        let valid = slot.map_or(u64::MAX, |slot| self.slots[slot as usize].valid);
        let missing = self.units_touched(first, offset, bytes) & !valid;
        let own = self.pieces.get_mut(piece);
        (own.slot, own.units) = (slot, missing);
        if missing == 0 {
            // As above.
            return self.commit.idle.push(piece);
        }
        for (is_missing, from, to) in self.runs(first, offset, bytes, missing) {
            if is_missing {
                self.transfer(piece, DISKS, (from, to - from), Payload::None);
            }
        }
    }

    /// Pieces that had nothing to wait for come to their end.
    pub(super) fn end_idle(&mut self, now: Instant, effects: &mut Effects) {
        while let Some(piece) = self.commit.idle.pop() {
            self.carried_over(now, piece, effects);
        }
    }

    /// Writes what was read of one side to the other.
    pub(super) fn after_gathering(&mut self, now: Instant, piece: u32, effects: &mut Effects) {
        let own = self.pieces.get_mut(piece);
        if own.error.is_some() {
            return self.carried_over(now, piece, effects);
        }
        own.step = Step::Second;
        let to = if own.job == Job::Fill { FLASH } else { DISKS };
        for (at, payload) in std::mem::take(&mut own.carried) {
            if to == DISKS {
                self.counters.cleaned_bytes += u64::from(at.bytes);
            }
            self.transfer(piece, to, (at.offset, u64::from(at.bytes)), payload);
        }
    }

    fn carried_over(&mut self, now: Instant, piece: u32, effects: &mut Effects) {
        match self.pieces.get_mut(piece).job {
            Job::Fill => self.is_on_flash(now, piece, effects),
            _ => self.after_cleaning(now, piece, effects),
        }
    }

    pub(super) fn after_cleaning(&mut self, now: Instant, piece: u32, effects: &mut Effects) {
        let own = self.pieces.get_mut(piece);
        let Piece { first, slot, units, error, job, .. } = *own;
        let Job::Clean { leaves } = job else { unreachable!("it cleans") };
        if let (Some(slot), None) = (slot, error) {
            let place = &mut self.slots[slot as usize];
            place.dirty &= !units;
            if place.dirty == 0 {
                self.dirty.remove(&first);
            }
            if units != 0 {
                self.commit.changed(slot);
            }
            if leaves {
                place.valid = 0;
                self.table.remove(first, slot);
                self.retire(slot);
            }
        }
        // What cannot be written back stays where it is.
        self.cleaning -= u32::from(!leaves);
        self.end(now, piece, effects);
        self.clean_some();
    }
}
