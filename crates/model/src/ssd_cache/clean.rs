//! The cleaner: dirty blocks go to the disks, those that leave the cache at once, others when there
//! are too many. And the way back: what flash lacks of a block comes from the disks.

use super::{DISKS, FLASH, Job, Piece, SsdCache, Step, Takes, locks::Hold};
use block::{Effects, Instant, Payload};
use std::collections::BTreeSet;

/// Blocks that are written back at a time; of a cache of writes alone as many as dm-writecache
/// takes in one go, its WRITEBACK_LATENCY.
const CLEANING_MAX: u32 = 16;
const CLEANING_OF_WRITES_MAX: u32 = 64;

impl SsdCache {
    /// How many blocks may be dirty.
    pub(super) fn dirty_max(&self) -> u64 {
        self.shape.blocks as u64 * u64::from(self.params.dirty_per_mille) / 1000
    }

    /// A block has something that the disks lack.
    pub(super) fn became_dirty(&mut self, block: u64) {
        if self.dirty.insert(block) && self.params.takes == Takes::WritesAlone {
            // What discards left behind goes before it is more than all blocks.
            if self.by_age.len() >= 2 * self.shape.slots as usize {
                let mut known = BTreeSet::new();
                self.by_age.retain(|old| self.dirty.contains(old) && known.insert(*old));
            }
            self.by_age.push_back(block);
        }
    }

    /// Who is written back next: by place, going round; of a cache of writes alone, who has been
    /// dirty longest.
    fn next_dirty(&mut self) -> Option<u64> {
        if self.params.takes == Takes::WritesAlone {
            while let Some(block) = self.by_age.pop_front() {
                if self.dirty.contains(&block) {
                    return Some(block);
                }
            }
            return None;
        }
        let next = self.dirty.range(self.sweep..).next().or_else(|| self.dirty.first());
        let block = *next?;
        self.sweep = block + 1;
        Some(block)
    }

    /// Whether writes that found no room keep the cleaner waiting.
    fn is_paused(&self, now: Instant) -> bool {
        let is_under_way = self.params.pause_ns > 0 && self.passing > 0;
        is_under_way || self.pause_ends.is_some_and(|ends| now < ends)
    }

    /// A block loses its place.
    pub(super) fn give_up(&mut self, slot: u32) {
        let place = &mut self.slots[slot as usize];
        debug_assert!(place.dirty == 0, "the disks lack some of it");
        place.valid = 0;
        let block = place.block;
        self.table.remove(block, slot);
        self.policy.remove(block);
        self.retire(slot);
    }

    /// A cache of writes alone holds nothing that is on the disks.
    pub(super) fn leave_if_clean(&mut self, slot: u32) {
        if self.params.takes == Takes::WritesAlone && self.slots[slot as usize].dirty == 0 {
            self.give_up(slot);
        }
    }

    /// Begins to write back what is too much, until so little is left as is left then.
    pub(super) fn clean_some(&mut self, now: Instant) {
        let share = |per_mille: u32| self.shape.blocks as u64 * u64::from(per_mille) / 1000;
        let left = share(self.params.clean_per_mille);
        self.cleans_down |= self.dirty.len() as u64 > self.dirty_max();
        self.cleans_down &= self.dirty.len() as u64 > left;
        if self.is_paused(now) {
            return;
        }
        let most = match self.params.takes {
            Takes::WritesAlone => CLEANING_OF_WRITES_MAX,
            Takes::ReadsAndWrites | Takes::WholeBlocks => CLEANING_MAX,
        };
        while self.cleans_down && self.cleaning < most {
            let Some(block) = self.next_dirty() else { return };
            self.cleaning += 1;
            let start = block * u64::from(self.params.block_bytes);
            self.begin(None, Job::Clean { leaves: false }, (block, block), (start, 0));
        }
    }

    /// Reads what is dirty.
    pub(super) fn run_clean(&mut self, piece: u32) {
        let block = self.pieces.get_mut(piece).first;
        let slot = self.find(block);
        // Who is on its way already need not go twice.
        let dirty = match slot {
            Some(slot) if !self.open.contains_key(&block) => self.slots[slot as usize].dirty,
            _ => 0,
        };
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
                self.tally.add(|sum| sum.cleaned_bytes += u64::from(at.bytes));
            }
            self.transfer(piece, to, (at.offset, u64::from(at.bytes)), payload);
        }
        // dm-writecache has a new place for what is written meanwhile. Here it is the old one, and
        // what was written stays dirty.
        let Piece { first, job, .. } = *self.pieces.get_mut(piece);
        if job == (Job::Clean { leaves: false }) && self.params.takes == Takes::WritesAlone {
            self.open.insert(first, false);
            if let Some(next) = self.locks.release(first) {
                self.run(next);
            }
        }
    }

    /// What was read of flash is on the disks.
    pub(super) fn is_on_disks(&mut self, now: Instant, piece: u32, effects: &mut Effects) {
        let first = self.pieces.get_mut(piece).first;
        if self.open.contains_key(&first) {
            self.pieces.get_mut(piece).step = Step::Third;
            if !self.locks.acquire(first, Hold::Alone, piece) {
                return;
            }
        }
        self.after_cleaning(now, piece, effects);
    }

    fn carried_over(&mut self, now: Instant, piece: u32, effects: &mut Effects) {
        match self.pieces.get_mut(piece).job {
            Job::Fill => self.is_on_flash(now, piece, effects),
            _ => self.after_cleaning(now, piece, effects),
        }
    }

    fn after_cleaning(&mut self, now: Instant, piece: u32, effects: &mut Effects) {
        let own = self.pieces.get_mut(piece);
        let Piece { first, slot, units, error, job, step, .. } = *own;
        let Job::Clean { leaves } = job else { unreachable!("it cleans") };
        let gives_up_clean = self.params.takes == Takes::WritesAlone;
        let was_written = step == Step::Third && self.open.remove(&first) == Some(true);
        if let (Some(slot), None, false) = (slot, error, was_written) {
            let place = &mut self.slots[slot as usize];
            place.dirty &= !units;
            if place.dirty == 0 {
                self.dirty.remove(&first);
            }
            if units != 0 {
                self.commit.changed(slot);
            }
            if leaves || gives_up_clean && place.dirty == 0 {
                self.give_up(slot);
            }
        }
        // What cannot be written back stays where it is.
        if (error.is_some() || was_written) && gives_up_clean {
            self.by_age.push_back(first);
        }
        self.cleaning -= u32::from(!leaves);
        self.end(now, piece, effects);
        self.clean_some(now);
    }
}
