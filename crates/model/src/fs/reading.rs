//! Buffered reads: through the page cache, with read-ahead.

use super::{
    FileSystem, PAGE_BYTES,
    call::CallKind,
    queue::Direction,
    transfer::{Owner, Transfer},
};
use block::{Actor, Instant, IoError};

impl FileSystem {
    pub(super) fn step_read(&mut self, now: Instant, slot: u32) {
        let call = self.calls.get_mut(slot);
        let (actor, first, mut page) =
            (call.actor, call.offset / PAGE_BYTES, call.next / PAGE_BYTES);
        let end = call.end.div_ceil(PAGE_BYTES);
        if call.end > self.length_bytes {
            call.result = Err(IoError::Short);
            return self.finish(now, slot);
        }
        while page < end && self.calls.get_mut(slot).result.is_ok() {
            if self.cache.resident.contains(page) {
                let stop = self.cache.resident.next_absent(page, end);
                self.meet_marker(actor, page, stop);
                self.cache.touch(page, stop);
                page = stop;
                self.open(actor).window.advance(page);
            } else if self.cache.reading.contains(page) {
                self.meet_marker(actor, page, page + 1);
                self.calls.get_mut(slot).next = page * PAGE_BYTES;
                return self.readers.push(slot);
            } else if self.queue.has_room(Direction::Read) {
                let max = self.read_ahead_pages;
                let window = &mut self.open(actor).window;
                if page > first {
                    window.advance(page); // The rest of a read is sequential to its start.
                }
                let (from, to) = window.on_miss(page, end - page, max);
                self.read_pages(actor, from, to);
                if !self.cache.reading.contains(page) {
                    self.read_pages(actor, page, end);
                }
            } else {
                self.calls.get_mut(slot).next = page * PAGE_BYTES;
                return self.starved_readers.push_back(slot);
            }
        }
        self.finish(now, slot);
    }

    /// Requests the next window if the marker lies in `first..end`. A full queue lets it lapse, as
    /// the kernel does on a congested device; the reader then misses at the window's end.
    fn meet_marker(&mut self, actor: Actor, first: u64, end: u64) {
        let max = self.read_ahead_pages;
        let has_room = self.queue.has_room(Direction::Read);
        let window = &mut self.open(actor).window;
        if has_room && window.marker().is_some_and(|marker| (first..end).contains(&marker)) {
            let (from, to) = window.on_marker(max);
            self.read_pages(actor, from, to);
        }
    }

    /// Requests what is missing of `first..end`, up to the end of the file and as far as the queue
    /// has room.
    pub(super) fn read_pages(&mut self, actor: Actor, first: u64, end: u64) {
        let end = end.min(self.file_pages());
        self.cache.reach(end);
        let mut page = self.cache.next_missing(first, end);
        while page < end && self.queue.has_room(Direction::Read) {
            let stop = self.cache.missing_until(page, end);
            let (offset, contiguous) = self.layout.place(page * PAGE_BYTES);
            let bytes = ((stop - page) * PAGE_BYTES).min(self.request_bytes).min(contiguous);
            let stop = page + bytes / PAGE_BYTES;
            self.cache.begin_read(page, stop);
            let owner = Owner::Pages { first: page, end: stop };
            self.enqueue(Direction::Read, Transfer::new(owner, actor, offset, bytes));
            page = self.cache.next_missing(stop, end);
        }
    }

    /// Pages have arrived, or not: who waits for them goes on.
    pub(super) fn end_read(&mut self, now: Instant, first: u64, end: u64, failed: Option<IoError>) {
        match failed {
            None => self.cache.end_read(first, end),
            Some(_) => self.cache.reading.remove(first, end),
        }
        let mut waiting = std::mem::take(&mut self.scratch);
        waiting.append(&mut self.readers);
        for slot in waiting.drain(..) {
            let call = self.calls.get_mut(slot);
            // A reader waits for its next page, a writer for the first or the last that it touches.
            let wanted = match call.kind {
                CallKind::BufferedWrite => call.offset / PAGE_BYTES..call.end.div_ceil(PAGE_BYTES),
                _ => call.next / PAGE_BYTES..call.next / PAGE_BYTES + 1,
            };
            if let Some(error) = failed
                && first < wanted.end
                && wanted.start < end
            {
                call.result = Err(error);
            }
            self.step(now, slot);
        }
        self.scratch = waiting;
    }
}
