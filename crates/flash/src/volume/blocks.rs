//! Where the blocks of an open volume are: the map and the segments, kept in step.

use super::stream::Stream;
use crate::{
    layout::Layout,
    map::{LOST, Map, UNMAPPED},
    segments::{Segment, Segments},
    shape::BLOCK_BYTES,
};
use block::{Allocation, Data};
use std::collections::BTreeMap;

/// So many mapped blocks, one after the other, are looked at to answer what is allocated: a few
/// microseconds.
const LOOK_BLOCKS_MAX: u32 = 8192;

/// Segments taken since the C of the last checkpoint: by host and cleaner, and by all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opened {
    pub window: u32,
    pub all: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Blocks {
    pub layout: Layout,
    map: Map,
    segments: Segments,
    opened: Opened,
    /// Whose data is at a location: for runs that only time, where no header can be read back.
    owners: Option<Vec<u32>>,
    /// Blocks that recovery found in the ring, where nothing may be appended: they are read from
    /// here.
    kept: BTreeMap<u32, Box<[u8]>>,
}

impl Blocks {
    pub fn new(layout: Layout, map: Map, segments: Segments, opened: Opened, data: Data) -> Self {
        let blocks = layout.segments as usize * layout.segment_blocks as usize;
        let owners = (data == Data::TimingOnly).then(|| vec![0; blocks]);
        Self { layout, map, segments, opened, owners, kept: BTreeMap::new() }
    }

    pub fn map(&self) -> &Map {
        &self.map
    }

    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The segment's entry.
    pub fn segment(&self, segment: u32) -> &Segment {
        self.segments.get(segment)
    }

    pub fn opened(&self) -> Opened {
        self.opened
    }

    /// Where a block is; less than a segment's where it is in none.
    #[inline]
    pub fn location(&self, block: u32) -> u32 {
        self.map.location(block)
    }

    /// Free segments, and those that the next checkpoint may set free.
    pub fn coming(&self) -> usize {
        self.segments.free() + self.segments.prefree()
    }

    /// Whether a range is of whole sectors of the volume.
    pub fn is_inside(&self, offset: u64, bytes: u64) -> bool {
        let end = offset.checked_add(bytes);
        let inside = end.is_some_and(|end| end <= self.layout.shape.exported_bytes);
        inside && bytes > 0 && offset.is_multiple_of(512) && bytes.is_multiple_of(512)
    }

    /// Points a block to new data, or to none. Says which segment lost what it held.
    #[inline]
    pub fn remap(&mut self, block: u32, location: u32, crc: u32) -> Option<u32> {
        assert!(block < self.layout.exported_blocks, "block {block} is beyond the volume's end");
        let before = self.map.set(block, location, crc);
        if location > LOST {
            self.segments.gain(self.layout.segment_of(location));
            self.own(location, block);
        }
        debug_assert_eq!(self.map.location(block), location);
        (before > LOST).then(|| {
            let segment = self.layout.segment_of(before);
            self.segments.lose(segment);
            segment
        })
    }

    /// Data of a block, or a page, were written elsewhere. Whether they still counted.
    pub fn moved(&mut self, what: Moved, from: u32, to: u32) -> bool {
        let counted = match what {
            Moved::Page(page) => self.map.directory()[page as usize].0 == from,
            Moved::Block(block, _) => self.map.get(block).0 == from,
        };
        if counted {
            match what {
                Moved::Page(page) => self.map.page_moved(page, to),
                Moved::Block(block, crc) => {
                    self.map.set(block, to, crc);
                    self.own(to, block);
                }
            }
            self.segments.gain(self.layout.segment_of(to));
            self.segments.lose(self.layout.segment_of(from));
        }
        counted
    }

    /// A page of the map was appended here; at (0, 0) where nothing in it is mapped.
    pub fn page_written(&mut self, page: u32, place: (u32, u32)) {
        if place.0 != 0 {
            self.segments.gain(self.layout.segment_of(place.0));
        }
        let before = self.map.page_written(page, place);
        if before != 0 {
            self.segments.lose(self.layout.segment_of(before));
        }
    }

    /// The next checkpoint writes the page.
    pub fn rewrite_page(&mut self, page: u32) {
        self.map.mark_dirty(page);
    }

    fn own(&mut self, location: u32, block: u32) {
        if let Some(owners) = &mut self.owners {
            owners[(location - self.layout.first_block) as usize] = block;
        }
    }

    /// Whose data were written to a location last, in a run that only times.
    pub fn owner(&self, location: u32) -> u32 {
        let owners = self.owners.as_ref().expect("a run that only times knows the owners");
        owners[(location - self.layout.first_block) as usize]
    }

    /// Until it is unpinned the segment of the location is not set free.
    pub fn pin(&mut self, location: u32) {
        self.segments.pin(self.layout.segment_of(location));
    }

    pub fn unpin(&mut self, location: u32) {
        self.segments.unpin(self.layout.segment_of(location));
    }

    /// The next free segment is opened for a stream.
    pub fn open_segment(&mut self, stream: Stream) -> u32 {
        let segment = self.segments.open(stream.number());
        self.opened.all += 1;
        segment
    }

    /// It counts for the window between checkpoints.
    pub fn count_in_window(&mut self) {
        self.opened.window += 1;
        assert!(self.opened.window <= self.opened.all, "{:?}", self.opened);
    }

    /// A chunk of the segment is open or on its way: it is not set free until
    /// [`release_segment`](Self::release_segment).
    pub fn hold_segment(&mut self, segment: u32) {
        self.segments.hold(segment);
    }

    /// A chunk of the segment has come to its end.
    pub fn release_segment(&mut self, segment: u32) {
        self.segments.release(segment);
    }

    /// A chunk of the segment has its number, and ends before block `end` of it.
    pub fn extend_segment(&mut self, segment: u32, end: u32, seq: u64) {
        let most = self.layout.segment_blocks;
        assert!(end <= most, "a chunk ends at block {end} of a segment of {most}");
        self.segments.extend(segment, end, seq);
    }

    /// Nothing more is appended to the segment.
    pub fn close_segment(&mut self, segment: u32) {
        self.segments.close(segment);
    }

    /// A write to the segment failed.
    pub fn retire_segment(&mut self, segment: u32) {
        self.segments.retire(segment);
    }

    /// The cleaner begins with the segment: nobody uses it again before the cleaner ends.
    pub fn begin_emptying(&mut self, segment: u32) {
        self.segments.begin_emptying(segment);
    }

    /// Everything that lived in the segment is elsewhere.
    pub fn end_emptying(&mut self, segment: u32) {
        self.segments.end_emptying(segment);
    }

    /// Whether the segment is free and the drive is not being told: then somebody does now.
    pub fn begin_discard(&mut self, segment: u32) -> bool {
        self.segments.begin_discard(segment)
    }

    /// The drive has answered the discard of the segment.
    pub fn end_discard(&mut self, segment: u32) {
        self.segments.end_discard(segment);
    }

    /// The scrub is at the segment; at the end of a pass, behind the last one.
    pub fn watch_segment(&mut self, segment: u32) {
        let count = self.layout.segments;
        assert!(segment <= count, "the scrub is at segment {segment} of {count}");
        self.segments.watch(segment);
    }

    /// A checkpoint is durable: what it set free joins the free ones, and recovery begins behind
    /// what was opened before it.
    pub fn checkpointed(&mut self, freed: &[u32], opened: Opened) {
        self.segments.set_free(freed);
        let left = |now: u32, before: u32| now.checked_sub(before).expect("it was counted");
        self.opened = Opened {
            window: left(self.opened.window, opened.window),
            all: left(self.opened.all, opened.all),
        };
    }

    /// A block that only memory holds.
    pub fn kept(&self, block: u32) -> Option<&[u8]> {
        if self.kept.is_empty() {
            return None;
        }
        self.kept.get(&block).map(|data| &**data)
    }

    pub fn keep(&mut self, block: u32, data: Box<[u8]>) {
        self.kept.insert(block, data);
    }

    /// What memory holds of `from..end` counts no more.
    pub fn forget(&mut self, from: u32, end: u32) {
        self.kept.retain(|block, _| !(from..end).contains(block));
    }

    /// Blocks that only memory holds, and the map does not know.
    pub fn kept_new(&self) -> u64 {
        self.kept.keys().filter(|&&block| self.location(block) == UNMAPPED).count() as u64
    }

    /// What is mapped from `offset` on, and for how many of `len` bytes it goes on like this.
    pub fn allocation(&self, offset: u64, len: u64) -> (Allocation, u64) {
        let first = (offset / BLOCK_BYTES) as u32;
        let end = (offset + len).div_ceil(BLOCK_BYTES) as u32;
        let kept = self.kept.range(first..end).next().map(|(&block, _)| block);
        if kept == Some(first) {
            return (Allocation::Data, (BLOCK_BYTES - offset % BLOCK_BYTES).min(len));
        }
        let end = kept.unwrap_or(end);
        let (kind, until) = match self.map.next_mapped(first, end) {
            None => (Allocation::Hole, end),
            Some(mapped) if mapped > first => (Allocation::Hole, mapped),
            Some(_) => {
                let end = end.min(first.saturating_add(LOOK_BLOCKS_MAX));
                let hole = (first..end).find(|&block| self.location(block) == UNMAPPED);
                (Allocation::Data, hole.unwrap_or(end))
            }
        };
        (kind, (u64::from(until) * BLOCK_BYTES - offset).min(len))
    }

    /// Counts everything anew and compares.
    ///
    /// # Panics
    /// If map and segments disagree.
    pub fn audit(&self) {
        self.map.audit();
        self.segments.audit();
        let mut live = vec![0u32; self.layout.segments as usize];
        let blocks = self.map.iter().map(|(_, location)| location);
        let pages = self.map.directory().iter().map(|page| page.0);
        for location in blocks.chain(pages).filter(|&location| location > LOST) {
            live[self.layout.segment_of(location) as usize] += 1;
        }
        for (number, segment) in self.segments.iter() {
            assert_eq!(live[number as usize], segment.live, "live blocks of segment {number}");
        }
        let (mapped, most) = (self.map.mapped(), self.layout.mapped_max);
        assert!(mapped <= most, "{mapped} blocks mapped: more than have room");
    }
}

/// What was written elsewhere: a page of the map, or a block with its checksum.
#[derive(Clone, Copy, Debug)]
pub(super) enum Moved {
    Page(u32),
    Block(u32, u32),
}
