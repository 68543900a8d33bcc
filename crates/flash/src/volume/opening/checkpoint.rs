//! The steps from the superblock to the map as the checkpoint left it: the root, the pages.

use super::{OpenError, Opening, Step};
use crate::{
    broken::{Rule, broken},
    format::{SegmentRecord, decode_root},
    layout::{BLOCK_BYTES, Layout, STREAMS},
    map::Map,
    segments::Segment,
};

impl Opening {
    pub(super) fn ask_root(&mut self) {
        let (offset, bytes) = {
            let layout = self.layout();
            (layout.root_offset(self.superblock().root_generation), layout.root_bytes)
        };
        let part = self.layout().shape.chunk_bytes;
        for start in (0..bytes).step_by(part as usize) {
            self.send_read(start, offset + start, part.min(bytes - start));
        }
    }

    pub(super) fn take_root(&mut self) -> Result<Step, OpenError> {
        let (superblock, layout) = (*self.superblock(), *self.layout());
        let offset = layout.root_offset(superblock.root_generation);
        let mut image = vec![0; layout.root_bytes as usize];
        for (start, read) in std::mem::take(&mut self.read) {
            // What cannot be read stays zero, which is no root.
            if let Ok(buffer) = read {
                let start = start as usize;
                let length = buffer.bytes().len().min(image.len() - start);
                image[start..start + length].copy_from_slice(&buffer.bytes()[..length]);
            }
        }
        let root = decode_root(superblock.id, offset, superblock.root_generation, &image)
            .map_err(|offset| OpenError::Root { offset })?;
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
        let sane = root.directory.len() == layout.pages as usize
            && root.segments.len() == layout.segments as usize
            && root.segments.iter().all(possible)
            && root.open.len() == STREAMS
            && listed.len() == all
            && listed.iter().all(known)
            && open().all(|&(_, at)| at <= layout.segment_blocks)
            && root.directory.iter().all(|page| page.0 == 0 || layout.contains(page.0));
        if !sane {
            return Err(OpenError::Root { offset });
        }
        self.durable_seq = self.durable_seq.max(root.seq);
        self.root = root;
        Ok(Step::Pages)
    }

    pub(super) fn ask_pages(&mut self) {
        let mut map = Map::new(self.layout());
        map.directory = self.root.directory.clone();
        for (page, &(location, _)) in (0..).zip(&self.root.directory.clone()) {
            if location != 0 {
                self.send_read(page, Layout::offset(location), BLOCK_BYTES);
            }
        }
        self.map = Some(map);
    }

    pub(super) fn take_pages(&mut self) -> Result<Step, OpenError> {
        let layout = *self.layout();
        let map = self.map.as_mut().expect("the pages were asked for");
        for (page, read) in std::mem::take(&mut self.read) {
            let page = page as u32;
            self.report.pages_read += 1;
            let good = read.is_ok_and(|buffer| map.decode(&layout, page, buffer.bytes()));
            if !good {
                self.report.pages_lost += 1;
                self.pages_lost.push(page);
                if !broken(Rule::LostPages) {
                    map.lose(page, layout.exported_blocks);
                }
            }
        }
        Ok(Step::Walk)
    }
}
