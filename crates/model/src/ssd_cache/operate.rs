//! Requests cut into pieces, pieces that begin and end, and reads.

use super::{
    DISKS, FLASH, Job, Kind, Parent, Piece, Sent, Slot, SsdCache, Step, Takes, WriteMode, bits,
    locks::Hold,
};
use block::{Actor, Command, Drive, Durability, Effects, Extent, Instant, IoError, Payload};
use cache::Access;

impl SsdCache {
    /// Cuts a transfer into pieces, each within a block, and begins those whose block is free.
    pub(super) fn cut(&mut self, parent: u32) {
        let block = u64::from(self.params.block_bytes);
        let Parent { offset, bytes, kind, .. } = *self.parents.get_mut(parent);
        let stream = self.streams.take(offset, bytes);
        let bypasses = self.params.bypass_bytes > 0 && stream >= self.params.bypass_bytes;
        let is_around = self.params.mode == WriteMode::Around && kind != Kind::Read;
        // A block that is there is read from flash all the same.
        let is_left = self.params.takes == Takes::WritesAlone && kind == Kind::Read;
        let bypasses = bypasses || is_left;
        self.parents.get_mut(parent).bypasses = bypasses || is_around;
        let (first, last) = (offset / block, (offset + bytes - 1) / block);
        let job = if kind == Kind::Read { Job::Read } else { Job::Write };
        let is_apart = |block| self.find(block).is_none() && self.locks.is_free(block);
        if (bypasses || is_around) && (first..=last).all(is_apart) {
            self.begin(Some(parent), job, (first, last), (offset, bytes));
            return;
        }
        // All are counted before one of them can end.
        for number in first..=last {
            let from = offset.max(number * block);
            let to = (offset + bytes).min((number + 1) * block);
            self.begin(Some(parent), job, (number, number), (from, to - from));
        }
    }

    /// A new piece takes its lock and begins, or waits.
    pub(super) fn begin(
        &mut self,
        parent: Option<u32>,
        job: Job,
        (first, last): (u64, u64),
        (offset, bytes): (u64, u64),
    ) {
        if let Some(parent) = parent {
            self.parents.get_mut(parent).outstanding += 1;
        }
        let piece = self.pieces.insert(Piece {
            parent,
            job,
            first,
            last,
            offset,
            bytes,
            slot: None,
            step: Step::Queued,
            outstanding: 0,
            error: None,
            units: 0,
            dirties: false,
            carried: Vec::new(),
        });
        let joins = job == Job::Read
            && first == last
            && self.locks.takes_a_reader(first)
            && self.is_held_whole(first, offset, bytes);
        let hold = if joins { Hold::Shared } else { Hold::Alone };
        let mut is_granted = true;
        for block in first..=last {
            is_granted &= self.locks.acquire(block, hold, piece);
        }
        if is_granted {
            self.run(piece);
        }
    }

    fn is_held_whole(&self, block: u64, offset: u64, bytes: u64) -> bool {
        let units = self.units_touched(block, offset, bytes);
        self.find(block).is_some_and(|slot| self.slots[slot as usize].valid & units == units)
    }

    /// Units of a block that a range touches.
    pub(super) fn units_touched(&self, block: u64, offset: u64, bytes: u64) -> u64 {
        let start = block * u64::from(self.params.block_bytes);
        let (from, to) = (offset - start, offset - start + bytes);
        bits(from / self.unit_bytes, to.div_ceil(self.unit_bytes))
    }

    /// Units of a block that lie wholly within a range.
    pub(super) fn units_within(&self, block: u64, offset: u64, bytes: u64) -> u64 {
        let start = block * u64::from(self.params.block_bytes);
        let (from, to) = (offset - start, offset - start + bytes);
        bits(from.div_ceil(self.unit_bytes), to / self.unit_bytes)
    }

    /// A piece has its lock.
    pub(super) fn run(&mut self, piece: u32) {
        let running = self.pieces.get_mut(piece);
        if running.step == Step::Third {
            return self.commit.idle.push(piece);
        }
        running.step = Step::First;
        match running.job {
            Job::Read => self.run_read(piece),
            Job::Write => self.run_write(piece),
            Job::Clean { .. } => self.run_clean(piece),
            Job::Fill => self.run_fill(piece),
        }
    }

    /// Where a piece's block lies on flash; a new place if it is to have one.
    pub(super) fn place(&mut self, piece: u32) -> Option<u32> {
        let Piece { first, last, parent, .. } = *self.pieces.get_mut(piece);
        if first != last {
            return None;
        }
        if let Some(slot) = self.find(first) {
            // One that is about to leave is used for the last time.
            if self.policy.holds(first) {
                self.policy.access(first);
            }
            return Some(slot);
        }
        if parent.is_some_and(|parent| self.parents.get_mut(parent).bypasses) {
            return None;
        }
        // All of it waits to be written back, or twice as much as may: nothing leaves before.
        let is_crowded = self.dirty.len() as u64 >= 2 * self.dirty_max();
        let is_full = is_crowded || self.policy.len() >= self.shape.blocks;
        if is_full && self.params.takes == Takes::WritesAlone {
            return None;
        }
        let answer = self.policy.access(first);
        if let Some(gone) = answer.evicted() {
            let start = gone * u64::from(self.params.block_bytes);
            self.begin(None, Job::Clean { leaves: true }, (gone, gone), (start, 0));
        }
        if matches!(answer, Access::Passed { .. }) {
            return None;
        }
        let Some(slot) = self.free.pop() else {
            self.policy.remove(first);
            return None;
        };
        self.table.insert(first, slot);
        self.slots[slot as usize] = Slot { block: first, valid: 0, dirty: 0 };
        if self.params.takes == Takes::WholeBlocks {
            self.fill_later(first);
        }
        Some(slot)
    }

    fn run_read(&mut self, piece: u32) {
        let slot = self.place(piece);
        let Piece { first, offset, bytes, .. } = *self.pieces.get_mut(piece);
        self.pieces.get_mut(piece).slot = slot;
        self.tally.add(|sum| sum.read_bytes += bytes);
        let Some(slot) = slot else {
            self.tally.add(|sum| sum.bypassed_bytes += bytes);
            return self.transfer(piece, DISKS, (offset, bytes), Payload::None);
        };
        let valid = self.slots[slot as usize].valid;
        self.pieces.get_mut(piece).units = match self.params.takes {
            Takes::ReadsAndWrites | Takes::WholeBlocks => {
                self.units_within(first, offset, bytes) & !valid
            }
            Takes::WritesAlone => 0,
        };
        for (is_there, from, to) in self.runs(first, offset, bytes, valid) {
            self.tally.add(|sum| match is_there {
                true => sum.hit_bytes += to - from,
                false => sum.missed_bytes += to - from,
            });
            let drive = if is_there { FLASH } else { DISKS };
            self.transfer(piece, drive, (from, to - from), Payload::None);
        }
    }

    /// A range of a block, cut where units that are in `mask` meet units that are not.
    pub(super) fn runs(
        &self,
        block: u64,
        offset: u64,
        bytes: u64,
        mask: u64,
    ) -> Vec<(bool, u64, u64)> {
        let start = block * u64::from(self.params.block_bytes);
        let mut runs: Vec<(bool, u64, u64)> = Vec::new();
        let (mut from, end) = (offset, offset + bytes);
        while from < end {
            let unit = (from - start) / self.unit_bytes;
            let to = end.min(start + (unit + 1) * self.unit_bytes);
            let is_in = mask >> unit & 1 == 1;
            match runs.last_mut() {
                Some((before, _, until)) if *before == is_in => *until = to,
                _ => runs.push((is_in, from, to)),
            }
            from = to;
        }
        runs
    }

    /// Where the byte at `offset` of the volume lies on flash.
    pub(super) fn on_flash(&self, slot: u32, offset: u64) -> u64 {
        let block = u64::from(self.params.block_bytes);
        self.shape.data_at + u64::from(slot) * block + offset % block
    }

    /// Reads or writes a range of the volume for a piece, on one of the two drives: it writes what
    /// `from` carries, or its own part of the request where there is one to be written.
    pub(super) fn transfer(
        &mut self,
        piece: u32,
        drive: Drive,
        (offset, bytes): (u64, u64),
        from: Payload,
    ) {
        let own = self.pieces.get_mut(piece);
        own.outstanding += 1;
        let (slot, parent) = (own.slot, own.parent);
        let is_write = match own.job {
            Job::Write => true,
            Job::Read | Job::Clean { .. } | Job::Fill => own.step == Step::Second,
        };
        let place = match slot {
            Some(slot) if drive == FLASH => self.on_flash(slot, offset),
            _ => offset,
        };
        let extent = Extent { offset: place, bytes: bytes as u32 };
        let (mut actor, mut durability) = (Actor(u16::MAX), Durability::Cached);
        let mut at = 0;
        if let Some(parent) = parent {
            let parent = self.parents.get_mut(parent);
            (actor, at) = (parent.actor, offset - parent.offset);
            if let Kind::Write(asked) = parent.kind {
                durability = asked;
            }
        }
        let command = if is_write {
            let from = match from {
                Payload::None => self.copy_down(parent, at, bytes),
                carried => carried,
            };
            Command::Write { at: extent, from, durability }
        } else {
            Command::Read { at: extent, into: self.buffer(bytes) }
        };
        let at = if parent.is_some() { at } else { offset };
        self.send(drive, actor, command, Sent::Piece { piece, at, bytes });
    }

    /// A request's bytes, in memory of their own.
    pub(super) fn copy_down(&mut self, parent: Option<u32>, at: u64, bytes: u64) -> Payload {
        let mut copy = self.buffer(bytes);
        if let (Some(parent), Payload::Bytes(to)) = (parent, &mut copy)
            && let Payload::Bytes(from) = &self.parents.get_mut(parent).payload
        {
            let (at, bytes) = (at as usize, bytes as usize);
            to.bytes_mut()[..bytes].copy_from_slice(&from.bytes()[at..at + bytes]);
        }
        copy
    }

    /// A command of a piece has come back.
    #[allow(clippy::too_many_arguments)] // What a completion says, each part once.
    pub(super) fn came_back(
        &mut self,
        now: Instant,
        piece: u32,
        (at, bytes): (u64, u64),
        side: usize,
        result: Result<(), IoError>,
        payload: Payload,
        effects: &mut Effects,
    ) {
        let own = self.pieces.get_mut(piece);
        own.outstanding -= 1;
        own.error = own.error.or(result.err());
        let (job, step, parent) = (own.job, own.step, own.parent);
        match (job, step, parent) {
            (Job::Read, Step::First, Some(parent)) => {
                if let (Payload::Bytes(from), Payload::Bytes(to)) =
                    (&payload, &mut self.parents.get_mut(parent).payload)
                {
                    let (at, bytes) = (at as usize, bytes as usize);
                    to.bytes_mut()[at..at + bytes].copy_from_slice(&from.bytes()[..bytes]);
                }
                self.give_back(payload);
            }
            (Job::Clean { .. } | Job::Fill, Step::First, _) => {
                let extent = Extent { offset: at, bytes: bytes as u32 };
                self.pieces.get_mut(piece).carried.push((extent, payload));
            }
            _ => self.give_back(payload),
        }
        debug_assert!(side < 2);
        if self.pieces.get_mut(piece).outstanding == 0 {
            self.step(now, piece, effects);
        }
    }

    /// All commands of a step are back.
    fn step(&mut self, now: Instant, piece: u32, effects: &mut Effects) {
        let own = self.pieces.get_mut(piece);
        match (own.job, own.step) {
            (Job::Read, Step::First) => self.after_read(now, piece, effects),
            (Job::Read | Job::Fill, Step::Second) => self.is_on_flash(now, piece, effects),
            (Job::Write, _) => self.after_write(now, piece, effects),
            (Job::Clean { .. } | Job::Fill, Step::First) => {
                self.after_gathering(now, piece, effects);
            }
            (Job::Clean { .. }, _) => self.is_on_disks(now, piece, effects),
            (Job::Read | Job::Fill, Step::Queued | Step::Third) => {
                unreachable!("it waits for its lock")
            }
        }
    }

    /// What came from the disks is there from now on.
    pub(super) fn is_on_flash(&mut self, now: Instant, piece: u32, effects: &mut Effects) {
        let Piece { slot, units, error, .. } = *self.pieces.get_mut(piece);
        if let (Some(slot), None) = (slot, error) {
            self.slots[slot as usize].valid |= units;
        }
        self.end(now, piece, effects);
    }

    /// The asker has its bytes; what came from the disks goes onto flash.
    fn after_read(&mut self, now: Instant, piece: u32, effects: &mut Effects) {
        let Piece { first, offset, bytes, slot, units, error, .. } = *self.pieces.get_mut(piece);
        if slot.is_some() && units != 0 && error.is_none() {
            self.pieces.get_mut(piece).step = Step::Second;
            for (is_new, from, to) in self.runs(first, offset, bytes, units) {
                if is_new {
                    self.transfer(piece, FLASH, (from, to - from), Payload::None);
                }
            }
            self.tell_parent(now, piece, None, effects);
        } else {
            self.end(now, piece, effects);
        }
    }

    fn tell_parent(
        &mut self,
        now: Instant,
        piece: u32,
        error: Option<IoError>,
        effects: &mut Effects,
    ) {
        if let Some(parent) = self.pieces.get_mut(piece).parent.take() {
            let waiting = self.parents.get_mut(parent);
            waiting.error = waiting.error.or(error);
            self.one_less(now, parent, effects);
        }
    }

    /// A piece is done: its request hears of it, and who waited for the block goes on.
    pub(super) fn end(&mut self, now: Instant, piece: u32, effects: &mut Effects) {
        let error = self.pieces.get_mut(piece).error;
        self.tell_parent(now, piece, error, effects);
        let Piece { first, last, .. } = self.pieces.remove(piece);
        for block in first..=last {
            if let Some(next) = self.locks.release(block) {
                self.run(next);
            }
        }
    }
}
