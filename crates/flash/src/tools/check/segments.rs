//! Segments with live blocks, read from their first block to their last: chunk after chunk, header
//! against map and data against checksum. What no header speaks of is read once more and held
//! against the map alone.

use super::{BLOCK, CheckReport, Finding, places};
use crate::{
    format::{Entry, Kind, block_crc, decode_chunk},
    layout::Layout,
    map::LOST,
    segments::State,
    tools::{Progress, ToolError, Watch, bits::Bits, scan::Reader},
    volume::Look,
};
use block::IoError;
use std::ops::Range;

/// Segments being read, one after the other.
pub(super) struct Segments<'a> {
    look: &'a Look,
    report: &'a mut CheckReport,
    /// Live locations that a header spoke of.
    known: Bits,
}

/// Where in a segment the reading is.
struct Walk {
    segment: u32,
    /// The next block is expected here.
    at: u32,
    /// Blocks of a header gathered so far, from `at` backwards.
    header: Vec<u8>,
    /// What follows: the data of the chunk's entries, and where it ends.
    entries: std::vec::IntoIter<Entry>,
    end: u32,
    /// A damaged header was met, and none since.
    searching: bool,
}

impl<'a> Segments<'a> {
    pub fn new(look: &'a Look, report: &'a mut CheckReport) -> Self {
        Self { look, report, known: places(&look.layout) }
    }

    pub fn read(&mut self, reader: &mut Reader, watch: &mut Watch) -> Result<(), ToolError> {
        let layout = self.look.layout;
        let ranges: Vec<(u32, Range<u64>)> = self
            .look
            .segments
            .iter()
            .filter(|(_, segment)| segment.live > 0)
            .map(|(number, segment)| {
                let first = layout.location(number);
                let blocks =
                    if segment.blocks == 0 { layout.segment_blocks } else { segment.blocks };
                (number, Layout::offset(first)..Layout::offset(first + blocks))
            })
            .collect();
        let total = ranges.iter().map(|(_, range)| range.end - range.start).sum();
        self.report.segments_read = ranges.len() as u64;
        let mut walk = Walk::new(u32::MAX);
        reader.scan(ranges.into_iter(), &mut |&segment, offset, read| {
            if walk.segment != segment {
                walk = Walk::new(segment);
            }
            let read_bytes = self.piece(&mut walk, offset, read);
            self.report.bytes_read += read_bytes;
            let done = self.report.bytes_read;
            watch(Progress { doing: "reading live segments", done, total })
        })?;
        self.read_unknown(reader, watch)
    }

    /// A piece of the segment, or a block of it that cannot be read.
    fn piece(&mut self, walk: &mut Walk, offset: u64, read: Result<&[u8], IoError>) -> u64 {
        match read {
            Ok(bytes) => {
                bytes.chunks_exact(BLOCK).for_each(|block| self.block(walk, Ok(block)));
                bytes.len() as u64
            }
            Err(error) => {
                debug_assert_eq!(offset, Layout::offset(self.location(walk)));
                self.block(walk, Err(error));
                BLOCK as u64
            }
        }
    }

    fn location(&self, walk: &Walk) -> u32 {
        self.look.layout.location(walk.segment) + walk.at
    }

    /// The next block of the segment: of a header, of data, or of padding.
    fn block(&mut self, walk: &mut Walk, read: Result<&[u8], IoError>) {
        let location = self.location(walk);
        walk.at += 1;
        if walk.at <= walk.end {
            if let Some(entry) = walk.entries.next() {
                self.data(&entry, location, read);
            }
            return;
        }
        match read {
            Ok(block) => walk.header.extend_from_slice(block),
            // What cannot be read is no header.
            Err(_) => walk.header.extend_from_slice(&[0; BLOCK]),
        }
        if walk.header.len() == self.look.layout.header_blocks as usize * BLOCK {
            self.header(walk);
        }
    }

    fn header(&mut self, walk: &mut Walk) {
        let layout = &self.look.layout;
        let first = self.location(walk) - layout.header_blocks;
        let at = walk.at - layout.header_blocks;
        let offset = Layout::offset(first);
        let chunk = decode_chunk(self.look.superblock.id, offset, &walk.header).filter(
            |(header, entries)| {
                let data = entries.iter().filter(|entry| entry.kind.has_data()).count() as u32;
                header.blocks >= layout.header_blocks + data
                    && header.blocks <= layout.segment_blocks - at
            },
        );
        if let Some((header, entries)) = chunk {
            walk.header.clear();
            walk.end = at + header.blocks;
            let with_data = entries.into_iter().filter(|entry| entry.kind.has_data());
            walk.entries = with_data.collect::<Vec<_>>().into_iter();
            walk.searching = false;
            self.report.chunks_verified += 1;
            return;
        }
        // A segment is retired because a chunk did not arrive.
        if !walk.searching && self.look.segments.get(walk.segment).state != State::Retired {
            self.report.find(Finding::Header { offset });
        }
        walk.searching = true;
        let step = layout.append_blocks.min(layout.header_blocks);
        walk.header.drain(..step as usize * BLOCK);
        walk.end = (at + layout.append_blocks).max(walk.at);
        walk.entries = Vec::new().into_iter();
    }

    /// The data of an entry: of interest if the map means them.
    fn data(&mut self, entry: &Entry, location: u32, read: Result<&[u8], IoError>) {
        let Look { layout, map, root, .. } = self.look;
        let page = entry.kind == Kind::Page;
        let (live, crc) = if page {
            let meant = root.directory.get(entry.block as usize);
            (meant.is_some_and(|page| page.0 == location), meant.map(|page| page.1))
        } else if entry.block < layout.exported_blocks {
            let (meant, crc) = map.get(entry.block);
            (meant == location, crc)
        } else {
            (false, None)
        };
        let told = page && self.look.pages_lost.contains(&entry.block);
        if !live || told {
            return;
        }
        self.known.insert(location);
        let verified = self.verify(entry.block, location, Some(entry.crc), read)
            && crc.is_none_or(|crc| crc == entry.crc);
        self.count(entry.block, location, page, verified, read.is_ok());
    }

    fn count(&mut self, block: u32, location: u32, page: bool, verified: bool, was_read: bool) {
        match (page, verified) {
            (true, true) => self.report.pages_verified += 1,
            (false, true) => self.report.blocks_verified += 1,
            (_, false) if was_read => {
                let (blocks, offset) = (block..block + 1, Layout::offset(location));
                self.report.find(Finding::Checksum { blocks, offset });
            }
            (_, false) => {}
        }
    }

    /// Whether the data are what they should be; says so if they cannot be read.
    fn verify(
        &mut self,
        block: u32,
        location: u32,
        crc: Option<u32>,
        read: Result<&[u8], IoError>,
    ) -> bool {
        match read {
            Ok(data) => crc.is_none_or(|crc| block_crc(block, data) == crc),
            Err(error) => {
                let (blocks, offset) = (block..block + 1, Layout::offset(location));
                self.report.find(Finding::Unreadable { blocks, offset, error });
                false
            }
        }
    }

    /// Live blocks of which no header spoke.
    fn read_unknown(&mut self, reader: &mut Reader, watch: &mut Watch) -> Result<(), ToolError> {
        let look = self.look;
        let unknown: Vec<(u32, u32)> = look
            .map
            .iter()
            .filter(|&(_, location)| location > LOST && !self.known.contains(location))
            .collect();
        let total = unknown.len() as u64;
        let ranges = unknown.into_iter().zip(1..).map(|((block, location), number)| {
            ((block, location, number), Layout::offset(location)..Layout::offset(location + 1))
        });
        reader.scan(ranges, &mut |&(block, location, done), _, read| {
            let (_, crc) = look.map.get(block);
            let verified = self.verify(block, location, crc, read);
            if verified && crc.is_none() {
                let (blocks, offset) = (block..block + 1, Layout::offset(location));
                self.report.find(Finding::Unverified { blocks, offset });
            } else {
                self.count(block, location, false, verified, read.is_ok());
            }
            watch(Progress { doing: "reading what no header speaks of", done, total })
        })
    }
}

impl Walk {
    fn new(segment: u32) -> Self {
        let (header, entries) = (Vec::new(), Vec::new().into_iter());
        Self { segment, at: 0, header, entries, end: 0, searching: false }
    }
}
