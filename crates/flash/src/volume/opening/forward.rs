//! Rolling forward: what was appended behind the checkpoint, as far as it is whole.

use super::{Candidate, OpenError, Opening, Purpose, Step, Walk};
use crate::volume::log::Stream;
use crate::{
    broken::{Rule, broken},
    format::{Entry, Header, Kind, block_crc, decode_chunk},
    layout::{BLOCK_BYTES, Layout, STREAMS},
    map::{LOST, Map, UNMAPPED},
};
use block::{Buf, IoError};

impl Opening {
    /// The next header of each segment that may have been appended to; and when all of them have been followed to their
    /// ends, the segments that may have lost their first.
    pub(super) fn ask_heads(&mut self) {
        if self.superblock().clean {
            return;
        }
        if !self.walks.is_empty() {
            return self.search_doubtful();
        }
        let bound = self.layout().scan_bound() as usize;
        let mut starts: Vec<(u32, u32, bool)> =
            self.root.free.iter().take(bound).map(|&segment| (segment, 0, false)).collect();
        let open = self.root.open.iter().filter(|(segment, _)| *segment != u32::MAX);
        starts.extend(open.map(|&(segment, at)| (segment, at, true)));
        for (segment, at, known) in starts {
            self.report.segments_walked += 1;
            let walk = Walk { at, known, searching: false, doubtful: false };
            self.walks.insert(segment, walk);
            self.ask_next(segment);
        }
    }

    /// Segments whose first header is damaged, as far as streams may have come: they take them in the order of the
    /// queue, so no more than one for each stream lie behind the last that is known to be begun.
    fn doubtful(&self) -> Vec<u32> {
        let front = self.root.free.iter().take(self.layout().scan_bound() as usize);
        let walks: Vec<(u32, &Walk)> =
            front.filter_map(|segment| Some((*segment, self.walks.get(segment)?))).collect();
        let begun = walks.iter().rposition(|(_, walk)| walk.known).map_or(0, |last| last + 1);
        let reach = begun + self.layout().shape.classes.streams() as usize;
        let doubtful = walks.iter().take(reach).filter(|(_, walk)| walk.doubtful && !walk.known);
        doubtful.map(|(segment, _)| *segment).collect()
    }

    fn search_doubtful(&mut self) {
        for segment in self.doubtful() {
            let append_blocks = self.layout().append_blocks;
            let walk = self.walks.get_mut(&segment).expect("it was walked");
            *walk = Walk { at: append_blocks, known: true, searching: true, doubtful: false };
            self.ask_next(segment);
        }
    }

    pub(super) fn ask_next(&mut self, segment: u32) {
        let layout = *self.layout();
        let walk = &self.walks[&segment];
        let rest = layout.segment_blocks - walk.at.min(layout.segment_blocks);
        let header = layout.header_blocks;
        if rest <= header {
            return;
        }
        let blocks = if walk.searching { layout.chunk_blocks.min(rest) } else { header };
        let offset = Layout::offset(layout.location(segment) + walk.at);
        self.send_read(u64::from(segment), offset, u64::from(blocks) * BLOCK_BYTES);
    }

    /// A header of the segment, or a stretch to be searched for one, has come.
    pub(super) fn walk_on(&mut self, key: u64) {
        let segment = key as u32;
        let read = self.read.remove(&key).expect("it was just read");
        let layout = *self.layout();
        let walk = &self.walks[&segment];
        let (at, searching, known) = (walk.at, walk.searching, walk.known);
        let stretch = if searching { layout.chunk_blocks } else { 1 };
        let end = (at + stretch).min(layout.segment_blocks);
        let read = read.ok();
        let doubtful =
            !known && read.as_ref().is_none_or(|buffer| self.is_damaged(segment, buffer));
        let found = read.and_then(|buffer| {
            let mut places = (at..end).step_by(layout.append_blocks as usize);
            places.find_map(|place| {
                let start = (place - at) as usize * BLOCK_BYTES as usize;
                let length = layout.header_blocks as usize * BLOCK_BYTES as usize;
                let bytes = buffer.bytes().get(start..start + length)?;
                Some((place, self.header_at(segment, place, bytes)?))
            })
        });
        self.report.headers_read += 1;
        let walk = self.walks.get_mut(&segment).expect("the segment is walked");
        match found {
            Some((place, (header, entries))) => {
                walk.at = place + header.blocks.max(1);
                (walk.known, walk.searching) = (true, false);
                self.take_chunk(segment, place, header, entries);
            }
            // Behind a damaged header there may be good ones; in a segment never begun there are none.
            None if !known => {
                walk.doubtful = doubtful;
                return;
            }
            None if searching => walk.at = end.next_multiple_of(layout.append_blocks),
            None => {
                walk.searching = true;
                walk.at += layout.append_blocks;
            }
        }
        self.ask_next(segment);
    }

    /// Whether the block at a segment's front is something else than zeroes or the header of an earlier use.
    fn is_damaged(&self, segment: u32, buffer: &Buf) -> bool {
        let offset = Layout::offset(self.layout().location(segment));
        let length = self.layout().header_blocks as usize * BLOCK_BYTES as usize;
        let bytes = &buffer.bytes()[..length];
        let blank = bytes.iter().all(|&byte| byte == 0);
        !blank && decode_chunk(self.superblock().id, offset, bytes).is_none()
    }

    /// The chunk there, if it is one that was appended behind the checkpoint.
    pub(super) fn header_at(
        &self,
        segment: u32,
        at: u32,
        bytes: &[u8],
    ) -> Option<(Header, Vec<Entry>)> {
        let (superblock, layout) = (self.superblock(), self.layout());
        let offset = Layout::offset(layout.location(segment) + at);
        let (header, entries) = decode_chunk(superblock.id, offset, bytes)?;
        let fits = header.blocks <= layout.segment_blocks - at
            && usize::from(header.stream) < STREAMS
            && entries.iter().filter(|entry| entry.kind.has_data()).count() as u32
                + layout.header_blocks
                <= header.blocks;
        let of_epoch = header.epoch == superblock.epoch || broken(Rule::Epoch);
        let counts = of_epoch && header.seq > self.root.seq;
        (fits && counts).then_some((header, entries))
    }

    pub(super) fn take_chunk(
        &mut self,
        segment: u32,
        at: u32,
        header: Header,
        entries: Vec<Entry>,
    ) {
        self.durable_seq = self.durable_seq.max(header.durable_seq);
        let newer = self
            .candidates
            .get(&header.seq)
            .is_none_or(|other| other.header.attempt < header.attempt);
        if newer {
            self.candidates.insert(header.seq, Candidate { header, entries, segment, at });
        }
    }

    pub(super) fn take_walks(&mut self) -> Result<Step, OpenError> {
        let offline = self.read.values().any(|read| matches!(read, Err(IoError::Offline)));
        self.read.clear();
        if offline {
            return Err(OpenError::Io(IoError::Offline));
        }
        Ok(if self.doubtful().is_empty() { Step::Ring } else { Step::Walk })
    }

    /// The data of what no flush is known to cover, as far as the numbers have no gap.
    pub(super) fn ask_tail(&mut self) {
        let layout = *self.layout();
        let tail: Vec<(u64, u64, u32)> = self
            .candidates
            .range(self.durable_seq + 1..)
            .zip(self.durable_seq + 1..)
            .take_while(|((seq, _), expected)| *seq == expected)
            .map(|((&seq, chunk), _)| {
                let place = layout.location(chunk.segment) + chunk.at;
                (seq, Layout::offset(place), chunk.header.blocks)
            })
            .collect();
        for (seq, offset, blocks) in tail {
            self.send_read(seq, offset, u64::from(blocks) * BLOCK_BYTES);
        }
    }

    /// Where the log ends: before the first number beyond D that is missing or damaged.
    pub(super) fn take_tail(&mut self) -> Result<Step, OpenError> {
        let header_blocks = self.layout().header_blocks as usize;
        let mut end = self.durable_seq;
        for (seq, read) in std::mem::take(&mut self.read) {
            let chunk = &self.candidates[&seq];
            let whole = read.is_ok_and(|buffer| {
                let data = buffer.bytes().chunks_exact(BLOCK_BYTES as usize).skip(header_blocks);
                let entries = chunk.entries.iter().filter(|entry| entry.kind.has_data());
                entries.zip(data).all(|(entry, data)| block_crc(entry.block, data) == entry.crc)
            });
            if !whole && !broken(Rule::TornTail) {
                break;
            }
            end = seq;
        }
        if broken(Rule::NoCutBelowDurable) {
            let first = self.root.seq + 1;
            let gap = (first..).find(|seq| !self.candidates.contains_key(seq));
            end = end.min(gap.expect("numbers end") - 1);
        }
        self.report.first_seq = end + 1;
        let cut = self.candidates.split_off(&(end + 1));
        self.report.chunks_cut = cut.len() as u64;
        let behind = end - self.root.seq.min(end);
        self.report.chunks_missing = behind - self.candidates.len() as u64;
        Ok(Step::Records)
    }

    /// Where the last chunk of one of the host's classes is gone, what the other holds of later writes goes too:
    /// what is left must be as it was at one moment.
    pub(super) fn cut_unsure(&mut self) {
        let last = self.last_host_chunks();
        let sure: Vec<usize> = self.candidates.keys().map(|&seq| self.sure(seq)).collect();
        for ((&seq, chunk), sure) in self.candidates.iter_mut().zip(sure) {
            let other = match chunk.header.stream {
                0 => last[1],
                1 => last[0],
                _ => continue,
            };
            if other < seq && sure < chunk.entries.len() {
                self.report.entries_cut += (chunk.entries.len() - sure) as u64;
                chunk.entries.truncate(sure);
            }
        }
    }

    /// The last chunk of each of the host's classes, 0 for none behind the checkpoint.
    pub(super) fn last_host_chunks(&self) -> [u64; 2] {
        [0, 1].map(|class| {
            let stream = Stream::Host(class).number();
            let mut of_class = self.candidates.iter().rev();
            of_class.find(|(_, chunk)| chunk.header.stream == stream).map_or(0, |(&seq, _)| seq)
        })
    }

    pub(super) fn replay(&mut self) -> Result<Step, OpenError> {
        let layout = *self.layout();
        let map = self.map.as_mut().expect("the pages were read");
        for chunk in self.candidates.values() {
            self.report.chunks_replayed += 1;
            self.report.entries_replayed += chunk.entries.len() as u64;
            let (header_blocks, blocks) = (layout.header_blocks, chunk.header.blocks);
            self.root.lifetime.count_chunk(&chunk.entries, header_blocks, blocks);
            let mut location = layout.location(chunk.segment) + chunk.at + layout.header_blocks;
            for entry in &chunk.entries {
                apply(map, &layout, entry, location);
                location += u32::from(entry.kind.has_data());
            }
        }
        if self.purpose == Purpose::Look {
            return Ok(Step::Open);
        }
        let volume = self.volume.as_mut().expect("the superblock was read");
        let epoch = match broken(Rule::EpochReserved) {
            false => volume.superblock.epoch_reserved + 1,
            true => volume.superblock.epoch + 1,
        };
        volume.superblock.epoch_reserved = epoch;
        volume.superblock.generation += 1;
        if volume.superblock.clean {
            volume.superblock.clean = false;
            (volume.superblock.epoch, volume.superblock.first_seq) = (epoch, self.report.first_seq);
        }
        if self.damaged() { self.read_only() } else { Ok(Step::Epoch) }
    }

    pub(super) fn damaged(&self) -> bool {
        self.report.is_doubtful() && !broken(Rule::ReadOnlyOnDoubt)
    }

    /// On doubt nothing is written at all.
    pub(super) fn read_only(&mut self) -> Result<Step, OpenError> {
        self.hand_over();
        Ok(Step::Replay)
    }
}

/// What an entry does to the map. Entries with data have them at `location`.
fn apply(map: &mut Map, layout: &Layout, entry: &Entry, location: u32) {
    if entry.kind == Kind::Page || entry.block >= layout.exported_blocks {
        return;
    }
    match entry.kind {
        Kind::Write => {
            map.set(entry.block, location, entry.crc);
        }
        Kind::Copy if map.get(entry.block).0 == entry.argument || broken(Rule::CompareAndSet) => {
            map.set(entry.block, location, entry.crc);
        }
        Kind::Lost if map.get(entry.block).0 == entry.argument => {
            map.set(entry.block, LOST, 0);
        }
        Kind::Trim => {
            let end = entry.block.saturating_add(entry.argument).min(layout.exported_blocks);
            let mut next = map.next_mapped(entry.block, end);
            while let Some(block) = next {
                map.set(block, UNMAPPED, 0);
                next = map.next_mapped(block + 1, end);
            }
        }
        Kind::Copy | Kind::Lost | Kind::Page => {}
    }
}
