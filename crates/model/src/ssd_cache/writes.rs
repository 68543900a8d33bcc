//! What becomes of a write.

use super::{DISKS, FLASH, Piece, SsdCache, WriteMode};
use block::{Effects, Instant, Payload};

impl SsdCache {
    /// To flash, to the disks, or to both, as the mode says and as far as flash can take it.
    pub(super) fn run_write(&mut self, piece: u32) {
        let slot = self.place(piece);
        let Piece { first, offset, bytes, .. } = *self.pieces.get_mut(piece);
        self.pieces.get_mut(piece).slot = slot;
        let all = (offset, bytes);
        self.tally.add(|sum| sum.written_bytes += bytes);
        let Some(slot) = slot else {
            self.tally.add(|sum| sum.bypassed_bytes += bytes);
            self.passing += 1;
            return self.transfer(piece, DISKS, all, Payload::None);
        };
        if let Some(was_written) = self.open.get_mut(&first) {
            *was_written = true;
        }
        let (valid, dirty) = (self.slots[slot as usize].valid, self.slots[slot as usize].dirty);
        if valid != 0 {
            self.tally.add(|sum| sum.write_hit_bytes += bytes);
        }
        let touched = self.units_touched(first, offset, bytes);
        if self.params.mode == WriteMode::Around {
            // What flash has of it is old once this begins.
            self.slots[slot as usize].valid &= !touched;
            return self.transfer(piece, DISKS, all, Payload::None);
        }
        let takes = touched & (self.units_within(first, offset, bytes) | valid);
        let is_crowded = dirty == 0 && self.dirty.len() as u64 >= 2 * self.dirty_max();
        let goes_back = self.params.mode == WriteMode::Back && takes == touched && !is_crowded;
        let own = self.pieces.get_mut(piece);
        (own.units, own.dirties) = (takes, goes_back);
        if goes_back {
            return self.transfer(piece, FLASH, all, Payload::None);
        }
        self.transfer(piece, DISKS, all, Payload::None);
        for (is_taken, from, to) in self.runs(first, offset, bytes, takes) {
            if is_taken {
                self.transfer(piece, FLASH, (from, to - from), Payload::None);
            }
        }
    }

    pub(super) fn after_write(&mut self, now: Instant, piece: u32, effects: &mut Effects) {
        let Piece { first, slot, units, dirties, error, .. } = *self.pieces.get_mut(piece);
        if let Some(slot) = slot {
            let place = &mut self.slots[slot as usize];
            match error {
                None => {
                    place.valid |= units;
                    if dirties {
                        place.dirty |= units;
                        self.became_dirty(first);
                        self.commit.changed(slot);
                    }
                }
                // Flash or the disks have old bytes, new ones, or both: where both ought to be the
                // same, flash is not asked any more.
                Some(_) => place.valid &= !(units & !place.dirty),
            }
            self.leave_if_clean(slot);
        } else {
            self.passing -= 1;
            let pause_ns = self.params.pause_ns;
            self.pause_ends = (pause_ns > 0).then(|| now.after(pause_ns));
        }
        self.end(now, piece, effects);
        self.clean_some(now);
    }
}
