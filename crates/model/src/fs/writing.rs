//! Buffered writes: into the page cache, and out of it by write-back.
//!
//! ```text
//!   dirty pages  0 ........ background ................... limit
//!                           | write-back runs               | writers wait
//! ```

use super::{
    FileSystem, PAGE_BYTES, Syncing, TICK_NS,
    call::Stage,
    queue::Direction,
    transfer::{Owner, Transfer},
};
use block::{Actor, Instant, IoError};

/// The thread that writes back; layers that charge a thread's cost see it as the first.
const FLUSHER: Actor = Actor(0);
/// A long write looks at the dirty limit this often, bytes (`ratelimit_pages`, at most 4 MiB).
const CHUNK_BYTES: u64 = 4 << 20;

impl FileSystem {
    pub(super) fn step_write(&mut self, now: Instant, slot: u32) {
        loop {
            let call = self.calls.get_mut(slot);
            let (actor, offset, next, end) = (call.actor, call.offset, call.next, call.end);
            call.result = call.result.and(self.aborted);
            if call.result.is_err() {
                return self.finish(now, slot);
            }
            if next == end {
                return self.end_write(now, slot);
            }
            if let Some(page) = self.page_to_complete(offset, end) {
                return self.fetch(slot, actor, page);
            }
            if self.cache.unwritten() >= self.limit_pages {
                return self.throttled.push_back(slot);
            }
            let stop = end.min((next + CHUNK_BYTES) / PAGE_BYTES * PAGE_BYTES);
            let pages = next / PAGE_BYTES..stop.div_ceil(PAGE_BYTES);
            if self.memory.is_some() {
                let known = self.cache.resident.count_in(pages.clone());
                self.calls.get_mut(slot).new_pages += pages.end - pages.start - known;
            }
            self.dirty(now, pages.start, pages.end);
            self.wrote(now, stop);
            self.calls.get_mut(slot).next = stop;
        }
    }

    /// The data is in memory; with `O_SYNC` that is not enough.
    fn end_write(&mut self, now: Instant, slot: u32) {
        let call = self.calls.get_mut(slot);
        if call.syncing == Syncing::None {
            self.finish(now, slot);
        } else {
            call.stage = Stage::Draining;
            self.begin_sync(now, slot);
        }
    }

    /// The first or last page of a write, if the write covers it in part, the file has bytes in the
    /// rest of it, and they are not in memory.
    fn page_to_complete(&self, offset: u64, end: u64) -> Option<u64> {
        let lacks = |page: u64| {
            let (from, to) = (page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
            let kept = from < offset || end < to.min(self.length_bytes);
            kept && from < self.length_bytes && !self.cache.resident.contains(page)
        };
        let (first, last) = (offset / PAGE_BYTES, (end - 1) / PAGE_BYTES);
        if lacks(first) { Some(first) } else { lacks(last).then_some(last) }
    }

    /// Reads one page for a write that needs the rest of it.
    fn fetch(&mut self, slot: u32, actor: Actor, page: u64) {
        if !self.cache.reading.contains(page) {
            if !self.queue.has_room(Direction::Read) {
                return self.starved_readers.push_back(slot);
            }
            self.read_pages(actor, page, page + 1);
        }
        self.readers.push(slot);
    }

    fn dirty(&mut self, now: Instant, first: u64, end: u64) {
        if self.cache.dirty.count() == 0 {
            self.dirty_since = Some(now);
        }
        self.order.note(&self.cache, first, end);
        self.cache.make_dirty(first, end);
    }

    /// Bytes up to `end` were written, into memory or to the drive: what that changes in the inode.
    pub(super) fn wrote(&mut self, now: Instant, end: u64) {
        if self.last_tick != now.0 / TICK_NS {
            self.last_tick = now.0 / TICK_NS;
            self.changes.times = true;
        }
        if end > self.length_bytes {
            self.changes.blocks |= end.div_ceil(PAGE_BYTES) > self.file_pages();
            self.changes.size = true;
            self.length_bytes = end;
        }
        let joins = self.changes.any() || self.syncs.is_ordered();
        if joins && self.transaction_since.is_none() && self.journal.exists() {
            self.transaction_since = Some(now);
        }
    }

    fn wants_write_back(&self) -> bool {
        let dirty = self.cache.dirty.count();
        dirty > self.background_pages
            || (dirty > 0 && (!self.throttled.is_empty() || self.syncs.is_draining()))
    }

    /// Moves dirty pages into the queue while it has room and there is a reason to.
    pub(super) fn write_back(&mut self) {
        while self.wants_write_back() && self.queue.has_room(Direction::Write) {
            let (layout, request_bytes) = (self.layout, self.request_bytes);
            let pages_max = |first| {
                let (_, contiguous) = layout.place(first * PAGE_BYTES);
                request_bytes.min(contiguous) / PAGE_BYTES
            };
            let pages = self.file_pages();
            let Some((first, end)) = self.order.next(&self.cache, pages, pages_max) else { break };
            self.cache.begin_writeback(first, end);
            let owner = Owner::WriteBack { first, end, epoch: self.syncs.begin_transfer() };
            let (offset, bytes) = (layout.place(first * PAGE_BYTES).0, (end - first) * PAGE_BYTES);
            self.enqueue(Direction::Write, Transfer::new(owner, FLUSHER, offset, bytes));
            self.syncs.note_progress(&self.order, &self.cache);
        }
    }

    /// Dirty pages have reached the drive: writers that waited for it go on.
    pub(super) fn end_write_back(
        &mut self,
        now: Instant,
        pages: (u64, u64),
        failed: Option<IoError>,
    ) {
        self.cache.end_writeback(pages.0, pages.1);
        self.write_error = self.write_error.or(failed);
        while self.cache.unwritten() < self.limit_pages
            && let Some(slot) = self.throttled.pop_front()
        {
            self.step(now, slot);
        }
    }
}
