//! Direct transfers: past the page cache, through the queue; and discards, which go that way too.

use super::{
    Discard, FileSystem, PAGE_BYTES, Syncing,
    call::{CallKind, Stage},
    queue::Direction,
    transfer::{Owner, Transfer},
};
use block::{Actor, Instant, IoError};

impl FileSystem {
    pub(super) fn step_direct(&mut self, now: Instant, slot: u32) {
        let call = self.calls.get_mut(slot);
        let (first, end) = (call.offset / PAGE_BYTES, call.end.div_ceil(PAGE_BYTES));
        let writes = call.kind == CallKind::DirectWrite;
        if call.stage == Stage::DrainFirst {
            call.stage = Stage::Moving;
            call.result = if writes { self.aborted } else { Ok(()) };
            if !writes && call.end > self.length_bytes {
                call.result = Err(IoError::Short);
            }
            if call.result.is_err() {
                return self.finish(now, slot);
            }
            let cached =
                self.cache.dirty.next(first, end).or(self.cache.writeback.next(first, end));
            if cached.is_some() {
                return self.drain_for(slot);
            }
        }
        self.move_directly(slot);
        let call = self.calls.get_mut(slot);
        if call.next < call.end || call.pending > 0 {
            return;
        }
        let (end_bytes, result, syncing) = (call.end, call.result, call.syncing);
        if writes && result.is_ok() {
            self.cache.forget(first, end);
            self.wrote(now, end_bytes);
            if syncing != Syncing::None {
                return self.join_commit(now, slot);
            }
        }
        self.finish(now, slot);
    }

    /// Queues what the queue has room for.
    fn move_directly(&mut self, slot: u32) {
        let call = self.calls.get_mut(slot);
        let (actor, mut next, end) = (call.actor, call.next, call.end);
        let direction = match call.kind {
            CallKind::DirectWrite => Direction::Write,
            _ => Direction::Read,
        };
        let asked = next < end;
        while next < end && self.queue.has_room(direction) {
            let (offset, contiguous) = self.layout.place(next);
            let bytes = (end - next).min(self.request_bytes).min(contiguous);
            let owner = Owner::Call { slot, direction };
            self.enqueue(direction, Transfer::new(owner, actor, offset, bytes));
            self.calls.get_mut(slot).pending += 1;
            next += bytes;
        }
        self.calls.get_mut(slot).next = next;
        if asked && next < end {
            match direction {
                Direction::Read => self.starved_readers.push_back(slot),
                Direction::Write => self.starved_writers.push_back(slot),
            }
        }
    }

    /// One of a call's own transfers has ended.
    pub(super) fn end_direct(&mut self, now: Instant, slot: u32, result: Result<(), IoError>) {
        let call = self.calls.get_mut(slot);
        call.pending -= 1;
        call.result = call.result.and(result);
        // A call with more to ask for waits for room and is not to be asked twice.
        if call.next == call.end {
            match call.kind {
                CallKind::Discard if call.pending == 0 => self.finish(now, slot),
                CallKind::Discard => {}
                _ => self.step_direct(now, slot),
            }
        }
    }

    /// A hole is punched: whole pages leave the cache, and with discard the drive is told.
    pub(super) fn step_discard(&mut self, now: Instant, slot: u32) {
        let call = self.calls.get_mut(slot);
        let (actor, offset, end) = (call.actor, call.offset, call.end);
        call.next = end;
        self.cache.forget(offset.div_ceil(PAGE_BYTES), end / PAGE_BYTES);
        if self.params.discard == Discard::On && offset < end {
            let pieces = self.discard(actor, Some(slot), offset, end);
            self.calls.get_mut(slot).pending = pieces;
        } else {
            self.finish(now, slot);
        }
    }

    /// Tells the drive of a truncated file's blocks, one truncation at a time.
    pub(super) fn tell_of_freed(&mut self, actor: Actor) {
        if self.freed_bytes > 0 && self.truncations == 0 {
            let freed = std::mem::take(&mut self.freed_bytes);
            self.truncations = self.discard(actor, None, 0, freed.next_multiple_of(PAGE_BYTES));
        }
    }

    fn discard(&mut self, actor: Actor, call: Option<u32>, mut offset: u64, end: u64) -> u32 {
        let mut pieces = 0;
        while offset < end {
            let (at, contiguous) = self.layout.place(offset);
            let bytes = (end - offset).min(contiguous);
            self.enqueue_urgent(Transfer::new(Owner::Discard { call }, actor, at, bytes));
            offset += bytes;
            pieces += 1;
        }
        pieces
    }
}
