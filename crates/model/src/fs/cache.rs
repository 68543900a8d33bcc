//! The page cache: which pages of the file are in memory, and in which state. Contents are nobody's
//! business here.
//!
//! ```text
//!             read through               write back
//!   absent ---> reading ---> resident ---> dirty ---> writeback ---> resident
//!      ^                        |                                       |
//!      +------ evicted, clean pages only, when memory is full ----------+
//! ```
//!
//! A page used twice is spared once by the hand of a clock; a page used once is not (the kernel's
//! `PG_referenced`), so that a long sequential read leaves in the order in which it came.

use super::{PAGE_BYTES, bitmap::Bitmap};

#[derive(Debug)]
pub(super) struct PageCache {
    /// Readable now, dirty and in write-back included.
    pub resident: Bitmap,
    /// Must be written.
    pub dirty: Bitmap,
    /// Being written.
    pub writeback: Bitmap,
    /// Being read.
    pub reading: Bitmap,
    used: Bitmap,
    used_again: Bitmap,
    capacity_pages: u64,
    hand: u64,
    /// Pages that the maps have room for, and that they may ever need.
    pages: u64,
    pages_max: u64,
}

impl PageCache {
    /// Empty, in `ram_bytes` of memory, for a file of at most `file_bytes_max`.
    pub fn new(ram_bytes: u64, file_bytes_max: u64) -> Self {
        Self {
            resident: Bitmap::default(),
            dirty: Bitmap::default(),
            writeback: Bitmap::default(),
            reading: Bitmap::default(),
            used: Bitmap::default(),
            used_again: Bitmap::default(),
            capacity_pages: ram_bytes / PAGE_BYTES,
            hand: 0,
            pages: 0,
            pages_max: file_bytes_max.div_ceil(PAGE_BYTES),
        }
    }

    /// Makes room for the state of pages below `end`. Doubles, so that a growing file is no burden.
    #[inline]
    pub fn reach(&mut self, end: u64) {
        if end > self.pages {
            assert!(end <= self.pages_max, "page {end} of a file of {}", self.pages_max);
            self.pages = end.max(2 * self.pages).max(4096).min(self.pages_max);
            let maps = [&mut self.resident, &mut self.dirty, &mut self.writeback];
            maps.into_iter().for_each(|map| map.grow(self.pages));
            let maps = [&mut self.reading, &mut self.used, &mut self.used_again];
            maps.into_iter().for_each(|map| map.grow(self.pages));
        }
    }

    /// Pages that are dirty or on their way to the drive: what the dirty limit counts.
    #[inline]
    pub fn unwritten(&self) -> u64 {
        self.dirty.count() + self.writeback.count()
    }

    /// The first page of `first..end` that is neither there nor on its way, `end` if there is none.
    pub fn next_missing(&self, first: u64, end: u64) -> u64 {
        let mut at = first;
        loop {
            let absent = self.resident.next_absent(at, end);
            at = self.reading.next_absent(absent, end);
            if at == absent || at == end {
                return at;
            }
        }
    }

    /// How far from `first`, itself missing, pages are missing, up to `end`.
    pub fn missing_until(&self, first: u64, end: u64) -> u64 {
        let end = self.resident.next(first, end).unwrap_or(end);
        self.reading.next(first, end).unwrap_or(end)
    }

    /// A read of missing pages has begun.
    pub fn begin_read(&mut self, first: u64, end: u64) {
        self.reading.insert(first, end);
        self.make_room();
    }

    /// It brought them.
    pub fn end_read(&mut self, first: u64, end: u64) {
        self.reading.remove(first, end);
        self.resident.insert(first, end);
    }

    /// Somebody used pages that are resident.
    #[inline]
    pub fn touch(&mut self, first: u64, end: u64) {
        for (word, mask) in super::bitmap::masks(first, end) {
            let again = self.used.word(word) & mask;
            self.used_again.insert_mask(word, again);
            self.used.insert_mask(word, mask);
        }
    }

    /// Pages have new contents.
    #[inline]
    pub fn make_dirty(&mut self, first: u64, end: u64) {
        self.dirty.insert(first, end);
        self.resident.insert(first, end);
        self.make_room();
    }

    /// Dirty pages are on their way to the drive.
    pub fn begin_writeback(&mut self, first: u64, end: u64) {
        self.dirty.remove(first, end);
        self.writeback.insert(first, end);
    }

    /// They have arrived.
    pub fn end_writeback(&mut self, first: u64, end: u64) {
        self.writeback.remove(first, end);
    }

    /// Drops pages whatever their state, but for transfers under way.
    pub fn forget(&mut self, first: u64, end: u64) {
        let end = end.min(self.pages);
        self.dirty.remove(first, end);
        self.drop_clean(first, end);
    }

    /// Drops every page that need not be written.
    pub fn forget_clean(&mut self) {
        self.drop_clean(0, self.pages);
    }

    /// Drops everything and all that is known of transfers under way.
    pub fn clear(&mut self) {
        let maps = [&mut self.resident, &mut self.dirty, &mut self.writeback];
        maps.into_iter().for_each(Bitmap::clear);
        let maps = [&mut self.reading, &mut self.used, &mut self.used_again];
        maps.into_iter().for_each(Bitmap::clear);
        self.hand = 0;
    }

    fn drop_clean(&mut self, first: u64, end: u64) {
        for (word, mask) in super::bitmap::masks(first, end) {
            let needed = self.dirty.word(word) | self.writeback.word(word);
            self.evict(word, mask & !needed & self.resident.word(word));
        }
    }

    #[inline]
    fn make_room(&mut self) {
        let held = self.resident.count() + self.reading.count();
        if held > self.capacity_pages {
            self.turn_hand(held - self.capacity_pages);
        }
    }

    /// Evicts up to `wanted` clean pages, the first that the hand meets without a mark; marks are
    /// wiped as it passes. Two rounds at most: with all memory dirty there is nothing to evict.
    fn turn_hand(&mut self, mut wanted: u64) {
        let mut rounds = 0;
        while wanted > 0 {
            let Some(page) = self.resident.next(self.hand, self.pages) else {
                self.hand = 0;
                rounds += 1;
                if rounds > 2 {
                    return;
                }
                continue;
            };
            let word = (page / 64) as usize;
            let ahead = self.resident.word(word) & (u64::MAX << (page % 64));
            let clean = ahead & !self.dirty.word(word) & !self.writeback.word(word);
            let spared = clean & self.used_again.word(word);
            let (victims, passed) = lowest(clean & !spared, wanted);
            self.used_again.remove_mask(word, spared & passed);
            self.used.remove_mask(word, spared & passed);
            self.evict(word, victims);
            wanted -= u64::from(victims.count_ones());
            self.hand = word as u64 * 64 + u64::from(64 - passed.leading_zeros());
        }
    }

    fn evict(&mut self, word: usize, mask: u64) {
        if mask != 0 {
            self.resident.remove_mask(word, mask);
            self.used.remove_mask(word, mask);
            self.used_again.remove_mask(word, mask);
        }
    }
}

/// The lowest `wanted` bits of `mask`, and all bits that a hand passes to get there: the whole word
/// if it takes every bit.
fn lowest(mask: u64, wanted: u64) -> (u64, u64) {
    if u64::from(mask.count_ones()) <= wanted {
        return (mask, u64::MAX);
    }
    let mut rest = mask;
    for _ in 0..wanted {
        rest &= rest - 1;
    }
    let taken = mask & !rest;
    (taken, u64::MAX >> taken.leading_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(pages: u64) -> PageCache {
        let mut cache = PageCache::new(pages * PAGE_BYTES, 1 << 30);
        cache.reach(10_000);
        cache
    }

    fn read(cache: &mut PageCache, first: u64, end: u64) {
        cache.begin_read(first, end);
        cache.end_read(first, end);
        cache.touch(first, end);
    }

    #[test]
    fn pages_read_once_leave_in_the_order_in_which_they_came() {
        let mut cache = cache(100);
        for page in 0..250 {
            read(&mut cache, page, page + 1);
        }
        assert_eq!(cache.resident.count(), 100);
        assert_eq!(
            (cache.resident.next(0, 10_000), cache.resident.next_absent(150, 999)),
            (Some(150), 250)
        );
        // Read again from the start, more than memory holds: never a hit, as with any LRU.
        for page in 0..250 {
            assert!(!cache.resident.contains(page), "page {page}");
            read(&mut cache, page, page + 1);
        }
    }

    #[test]
    fn a_page_used_twice_outlives_pages_used_once() {
        let mut cache = cache(100);
        (0..100).for_each(|page| read(&mut cache, page, page + 1));
        cache.touch(0, 10);
        (100..150).for_each(|page| read(&mut cache, page, page + 1));
        assert_eq!(cache.resident.next_absent(0, 100), 10);
    }

    #[test]
    fn dirty_pages_and_pages_in_write_back_are_never_evicted() {
        let mut cache = cache(100);
        cache.make_dirty(0, 60);
        cache.begin_writeback(0, 30);
        for page in 100..400 {
            read(&mut cache, page, page + 1);
        }
        assert_eq!(cache.resident.next_absent(0, 100), 60);
        assert_eq!((cache.resident.count(), cache.unwritten()), (100, 60));
        cache.forget_clean();
        assert_eq!(cache.resident.count(), 60);
    }
}
