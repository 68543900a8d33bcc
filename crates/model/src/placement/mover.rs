//! Extents move, one after the other, each into the one place that is free.
//!
//! ```text
//!   Draining   until no write is under way where it lies, and nothing where it goes
//!   Reading, Writing      the copy; whoever reads the extent meanwhile reads the old place,
//!                         whoever writes it waits
//!   Settling   flush of the drive with the copy
//!   Recording  its page of the map, on flash
//!   Sealing    flush of flash: from here on the new place counts, and the old one is free
//!   Doubtful   the record failed: the old place counts, and the map on flash may say otherwise.
//!              Both places are written until the old record is written again
//! ```
//!
//! With one place free, an exchange is two moves: the hot extent to flash, then the cold one to
//! where the hot one lay. What was free on flash before is free again.

use super::{
    DISKS, FLASH,
    map::{self, ENTRIES, PAGE_BYTES},
    moves::{Move, Stage},
    tier::Tier,
};
use block::{Drive, Extent, IoError, Payload};
use std::ops::Range;

impl Tier {
    /// An epoch has ended: who moves now.
    pub(super) fn plan_moves(&mut self) {
        let (places, shape) = (&self.places, &self.shape);
        let is_on_flash = |extent: u32| shape.is_flash(places[extent as usize]);
        if !shape.is_flash(self.mover.free) && self.mover.owed.is_none() {
            self.mover.owed = self.heat.coldest(is_on_flash);
        }
        self.mover.pairs = self.heat.exchanges(is_on_flash).into();
        match &mut self.mover.under_way {
            Some(own) if own.stage == Stage::Doubtful => {
                own.stage = Stage::Recording;
                self.record();
            }
            Some(_) => {}
            None => self.next_move(),
        }
    }

    fn next_move(&mut self) {
        let is_on_flash = |extent: u32| self.shape.is_flash(self.places[extent as usize]);
        let mover = &mut self.mover;
        // Since they were chosen a move may have ended.
        let (extent, partner) = if self.shape.is_flash(mover.free) {
            let mut next = std::iter::from_fn(|| mover.pairs.pop_front());
            match next.find(|(hot, cold)| !is_on_flash(*hot) && is_on_flash(*cold)) {
                Some((hot, cold)) => (hot, Some(cold)),
                None => return,
            }
        } else {
            match mover.owed.take().filter(|cold| is_on_flash(*cold)) {
                Some(cold) => (cold, None),
                None => return,
            }
        };
        let (to, stage) = (mover.free, Stage::Draining);
        mover.under_way = Some(Move { extent, to, partner, stage, copied: 0, is_undone: false });
        self.drain();
    }

    /// A drive and a range of it.
    pub(super) fn locate(&self, place: u32) -> (Drive, Range<u64>) {
        let bytes = self.params.extent_bytes;
        let (drive, start) = match place.checked_sub(self.shape.disks) {
            None => (DISKS, u64::from(place) * bytes),
            Some(slot) => (FLASH, self.shape.data_at + u64::from(slot) * bytes),
        };
        (drive, start..start + bytes)
    }

    /// Begins the copy once nobody is in its way.
    pub(super) fn drain(&mut self) {
        let Some(own) = self.mover.under_way.filter(|own| own.stage == Stage::Draining) else {
            return;
        };
        let (drive, from) = self.locate(self.places[own.extent as usize]);
        let (other, to) = self.locate(own.to);
        let is_free =
            !self.carrier.touches(drive, &from, true) && !self.carrier.touches(other, &to, false);
        if is_free {
            self.read_on();
        }
    }

    fn set(&mut self, stage: Stage) {
        self.mover.under_way.as_mut().expect("a move is under way").stage = stage;
    }

    /// What is copied in one command.
    fn step_of(&self, place: u32, copied: u64) -> (Drive, Extent) {
        let (drive, range) = self.locate(place);
        let offset = range.start + copied;
        let bytes = u64::from(self.carrier.geometry.transfer_bytes_max).min(range.end - offset);
        (drive, Extent { offset, bytes: bytes as u32 })
    }

    fn read_on(&mut self) {
        self.set(Stage::Reading);
        let own = self.mover.under_way.expect("a move is under way");
        let (drive, at) = self.step_of(self.places[own.extent as usize], own.copied);
        let into = self.carrier.buffer(at.bytes.into());
        self.carrier.transfer(drive, at, into, false);
    }

    /// A command of the move has come back.
    pub(super) fn move_went_on(&mut self, result: Result<(), IoError>, payload: Payload) {
        let own = self.mover.under_way.expect("a move is under way");
        if result.is_err() {
            return self.move_failed(own);
        }
        match own.stage {
            Stage::Reading => {
                self.set(Stage::Writing);
                let (drive, at) = self.step_of(own.to, own.copied);
                self.carrier.transfer(drive, at, payload, true);
            }
            Stage::Writing => {
                let bytes = u64::from(self.step_of(own.to, own.copied).1.bytes);
                self.counters.moved_bytes += bytes;
                self.mover.under_way = Some(Move { copied: own.copied + bytes, ..own });
                if own.copied + bytes < self.params.extent_bytes {
                    return self.read_on();
                }
                self.set(Stage::Settling);
                self.carrier.flush(self.locate(own.to).0);
            }
            Stage::Settling => {
                self.set(Stage::Recording);
                self.record();
            }
            Stage::Recording => {
                self.set(Stage::Sealing);
                self.carrier.flush(FLASH);
            }
            Stage::Sealing => self.move_done(own),
            Stage::Draining | Stage::Doubtful => unreachable!("nothing was asked for"),
        }
    }

    /// Writes the extent's page, with the new place or, of a move that is undone, the old one. What
    /// is undone goes over the record that failed, not over the good one.
    fn record(&mut self) {
        let own = self.mover.under_way.expect("a move is under way");
        let page = own.extent / ENTRIES as u32;
        let first = (page * ENTRIES as u32) as usize;
        let end = (first + ENTRIES as usize).min(self.places.len());
        let sequence = self.mover.sequences[page as usize] + 1;
        let mut from = self.carrier.buffer(PAGE_BYTES);
        if let Payload::Bytes(buffer) = &mut from {
            let mut places = self.places[first..end].to_vec();
            if !own.is_undone {
                places[own.extent as usize - first] = own.to;
            }
            map::encode(buffer.bytes_mut(), page, sequence, &places);
        }
        let at = Extent { offset: map::place(page, sequence), bytes: PAGE_BYTES as u32 };
        self.carrier.transfer(FLASH, at, from, true);
    }

    fn move_failed(&mut self, own: Move) {
        self.counters.failed_moves += 1;
        if matches!(own.stage, Stage::Recording | Stage::Sealing) {
            let (stage, is_undone) = (Stage::Doubtful, true);
            self.mover.under_way = Some(Move { stage, is_undone, ..own });
            return self.release_held();
        }
        self.mover.under_way = None;
        self.release_held();
        self.next_move();
    }

    fn move_done(&mut self, own: Move) {
        self.mover.under_way = None;
        self.mover.sequences[(own.extent / ENTRIES as u32) as usize] += 1;
        if own.is_undone {
            // Its free place stays free.
            return self.next_move();
        }
        let from = std::mem::replace(&mut self.places[own.extent as usize], own.to);
        self.mover.free = from;
        if self.shape.is_flash(own.to) {
            self.counters.promoted += 1;
            self.mover.owed = own.partner;
        } else {
            self.counters.demoted += 1;
        }
        self.release_held();
        self.next_move();
    }

    /// Those who waited go on.
    fn release_held(&mut self) {
        for held in std::mem::take(&mut self.mover.held) {
            self.cut(held.parent, held.range, held.asked_bytes, true);
            self.carrier.release(held.parent);
        }
    }
}
