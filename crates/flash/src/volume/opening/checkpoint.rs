//! The steps from the superblock to the map as the checkpoint left it: the root, the pages.
//!
//! Where the newest root is damaged, the one before it is tried. What it means may have been freed
//! by the newest one and used again since. It is still as good if all its pages are whole and no
//! chunk behind its C is missing, wherever these are: everything that the newest checkpoint's map
//! knows is said in those chunks.

use super::{OpenError, Opening, Step};
use crate::{
    broken::{Rule, broken},
    format::{Root, RootStream, SegmentRecord, root_block_generation},
    layout::Layout,
    map::Map,
    segments::Segment,
    shape::{BLOCK_BYTES, STREAMS},
};

/// Of a root, what is read at once.
const ROOT_PART_BYTES: u64 = 1 << 20;

impl Opening {
    /// Part after part, so that a superblock which claims a huge root takes no more memory than
    /// there is root.
    pub(super) fn ask_root(&mut self) {
        let (id, generation) = (self.superblock().id, self.superblock().root_generation);
        let bytes_max = self.layout().root_bytes_max();
        self.root_stream = RootStream::new(id, self.root_area(), generation, bytes_max);
        self.ask_root_part(0);
    }

    /// Where the root is that is being read.
    fn root_area(&self) -> u64 {
        // The area of the one before is that of the one that would come next.
        let older = u64::from(self.report.root_damaged.is_some());
        self.layout().root_offset(self.superblock().root_generation + older)
    }

    fn root_part_bytes(&self, start: u64) -> u64 {
        let most = ROOT_PART_BYTES.min(self.layout().shape.chunk_bytes);
        most.min(self.layout().root_bytes - start)
    }

    fn ask_root_part(&mut self, start: u64) {
        let offset = self.root_area() + start;
        self.send_read(start, offset, self.root_part_bytes(start));
    }

    pub(super) fn root_on(&mut self, start: u64) {
        let read = self.take_read(start);
        let bytes = self.root_part_bytes(start);
        // What cannot be read is no root.
        let mut part = read.as_ref().map_or(&[][..], |buffer| &buffer.bytes()[..bytes as usize]);
        if start == 0 && self.report.root_damaged.is_some() && !self.find_older_root(part) {
            part = &[];
        }
        self.root_stream.take(part);
        self.give_back(read);
        let next = start + bytes;
        if self.root_stream.goes_on() && next < self.layout().root_bytes {
            self.ask_root_part(next);
        }
    }

    /// Whether a root before the newest begins there: then that is the one to be read.
    fn find_older_root(&mut self, part: &[u8]) -> bool {
        let (id, newest, offset) =
            (self.superblock().id, self.superblock().root_generation, self.root_area());
        let first = part.get(..BLOCK_BYTES as usize);
        let generation = first.and_then(|block| root_block_generation(offset, block));
        // A newer one is of a checkpoint that was cut: what it means need not be durable.
        let Some(generation) = generation.filter(|&before| before < newest) else { return false };
        let bytes_max = self.layout().root_bytes_max();
        self.root_stream = RootStream::new(id, offset, generation, bytes_max);
        true
    }

    pub(super) fn take_root(&mut self) -> Result<Step, OpenError> {
        self.refuse_offline()?;
        let (layout, offset) = (*self.layout(), self.root_area());
        let damaged = self.report.root_damaged;
        match std::mem::take(&mut self.root_stream).end() {
            // Whole and impossible: whoever wrote that is not to be trusted with the one before
            // either.
            Ok(root) if !is_sane(&root, &layout) => Err(OpenError::Root { offset }),
            Ok(root) => {
                self.durable_seq = self.durable_seq.max(root.seq);
                self.root = root;
                Ok(Step::Pages)
            }
            Err(offset) if damaged.is_some() || broken(Rule::OlderRoot) => {
                Err(OpenError::Root { offset: damaged.unwrap_or(offset) })
            }
            Err(offset) => {
                self.report.root_damaged = Some(offset);
                Ok(Step::Root)
            }
        }
    }

    pub(super) fn ask_pages(&mut self) {
        let mut map = Map::new(self.layout());
        map.set_directory(&self.root.directory);
        for (page, &(location, _)) in (0..).zip(&self.root.directory.clone()) {
            if location != 0 {
                self.send_read(page, Layout::offset(location), BLOCK_BYTES);
            }
        }
        self.map = Some(map);
    }

    /// A page has come: the map takes it in at once.
    pub(super) fn page_on(&mut self, key: u64) {
        let (layout, page) = (*self.layout(), key as u32);
        let read = self.take_read(key);
        let map = self.map.as_mut().expect("the pages were asked for");
        self.report.pages_read += 1;
        let good = read.as_ref().is_ok_and(|buffer| map.decode(&layout, page, buffer.bytes()));
        if !good {
            self.report.pages_lost += 1;
            self.pages_lost.push(page);
            if !broken(Rule::LostPages) {
                map.lose(page, layout.exported_blocks);
            }
        }
        self.give_back(read);
    }

    pub(super) fn take_pages(&mut self) -> Result<Step, OpenError> {
        self.refuse_offline()?;
        self.pages_lost.sort_unstable();
        match self.report.root_damaged {
            Some(offset) if self.report.pages_lost > 0 => Err(OpenError::Root { offset }),
            _ => Ok(Step::Walk),
        }
    }
}

/// Whether the root says what can be.
fn is_sane(root: &Root, layout: &Layout) -> bool {
    let possible = |record: &SegmentRecord| {
        Segment::from_record(record).is_some_and(|segment| {
            segment.blocks <= layout.segment_blocks && usize::from(segment.stream) < STREAMS
        })
    };
    let known = |&segment: &u32| segment < layout.segments;
    let open = || root.open.iter().filter(|(segment, _)| *segment != u32::MAX);
    let mut listed: Vec<u32> = open().map(|place| place.0).chain(root.free.clone()).collect();
    let all = listed.len();
    listed.sort_unstable();
    listed.dedup();
    root.directory.len() == layout.pages as usize
        && root.segments.len() == layout.segments as usize
        && root.segments.iter().all(possible)
        && root.open.len() == STREAMS
        && listed.len() == all
        && listed.iter().all(known)
        && open().all(|&(_, at)| at <= layout.segment_blocks)
        && root.directory.iter().all(|page| page.0 == 0 || layout.contains(page.0))
}
