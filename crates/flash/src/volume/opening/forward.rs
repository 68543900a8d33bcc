//! Rolling forward: what was appended behind the checkpoint, as far as it is whole.

use super::{Candidate, OpenError, Opening, Purpose, Step, Tail, TailCause, Walk};
use crate::volume::stream::Stream;
use crate::{
    broken::{Rule, broken},
    format::{
        Before, Entry, Header, Kind, RecordMark, RingMark, Superblock, block_crc, count_chunk,
        decode_chunk,
    },
    layout::Layout,
    map::{LOST, Map, UNMAPPED},
    shape::{BLOCK_BYTES, STREAMS},
};
use block::{Buf, is_zero};
use std::{collections::BTreeSet, ops::Range};

/// Segments that are followed at a time.
const WALKS: usize = 64;

impl Opening {
    /// The next header of each segment that may have been appended to; and when all of them have
    /// been followed to their ends, the segments that may have lost their first.
    pub(super) fn ask_heads(&mut self) {
        let older = self.report.root_damaged.is_some();
        if self.superblock().clean && !older {
            return;
        }
        if !self.walks.is_empty() {
            return self.search_doubtful();
        }
        // Behind an older root streams may have come through all of its queue, and into what the
        // newest one freed.
        let bound = if older { usize::MAX } else { self.layout().scan_bound() as usize };
        let free = self.root.free.iter().take(bound).map(|&segment| (segment, 0, false));
        let open = self.root.open.iter().filter(|(segment, _)| *segment != u32::MAX);
        self.starts = free.chain(open.map(|&(segment, at)| (segment, at, true))).collect();
        if older {
            let listed: BTreeSet<u32> = self.starts.iter().map(|start| start.0).collect();
            let others = (0..self.layout().segments).filter(|segment| !listed.contains(segment));
            self.starts.extend(others.map(|segment| (segment, 0, false)));
        }
        (0..WALKS).for_each(|_| self.start_walk());
    }

    /// Follows one more segment, if there is one left.
    fn start_walk(&mut self) {
        while let Some((segment, at, known)) = self.starts.pop_front() {
            self.report.segments_walked += 1;
            let walk = Walk { at, known, searching: false, doubtful: false, unreadable: false };
            self.walks.insert(segment, walk);
            if self.ask_next(segment) {
                return;
            }
        }
    }

    /// Segments whose first header is damaged, as far as streams may have come: they take them in
    /// the order of the queue, so no more than one for each stream lie behind the last that is
    /// known to be begun.
    fn doubtful(&self) -> Vec<u32> {
        if self.report.root_damaged.is_some() {
            let doubtful = self.walks.iter().filter(|(_, walk)| walk.doubtful && !walk.known);
            return doubtful.map(|(&segment, _)| segment).collect();
        }
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
            (walk.at, walk.known) = (append_blocks, true);
            (walk.searching, walk.doubtful) = (true, false);
            self.ask_next(segment);
        }
    }

    /// Asks for what comes next in the segment, if there is room for a header.
    fn ask_next(&mut self, segment: u32) -> bool {
        let layout = *self.layout();
        let walk = &self.walks[&segment];
        let rest = layout.segment_blocks - walk.at.min(layout.segment_blocks);
        let header = layout.header_blocks;
        if rest <= header {
            return false;
        }
        let blocks = if walk.searching { layout.chunk_blocks.min(rest) } else { header };
        let offset = Layout::offset(layout.location(segment) + walk.at);
        self.send_read(u64::from(segment), offset, u64::from(blocks) * BLOCK_BYTES);
        true
    }

    /// A header of the segment, or a stretch to be searched for one, has come.
    pub(super) fn walk_on(&mut self, key: u64) {
        let segment = key as u32;
        let read = self.take_read(key);
        let layout = *self.layout();
        let walk = &self.walks[&segment];
        let (at, searching, known) = (walk.at, walk.searching, walk.known);
        let stretch = if searching { layout.chunk_blocks } else { 1 };
        let end = (at + stretch).min(layout.segment_blocks);
        let unreadable = read.is_err() && !searching;
        let doubtful =
            !known && read.as_ref().map_or(true, |buffer| self.is_damaged(segment, buffer));
        let found = read.as_ref().ok().and_then(|buffer| {
            let mut places = (at..end).step_by(layout.append_blocks as usize);
            places.find_map(|place| {
                let start = (place - at) as usize * BLOCK_BYTES as usize;
                let length = layout.header_blocks as usize * BLOCK_BYTES as usize;
                let bytes = buffer.bytes().get(start..start + length)?;
                Some((place, self.header_at(segment, place, bytes)?))
            })
        });
        self.give_back(read);
        self.report.headers_read += 1;
        let walk = self.walks.get_mut(&segment).expect("the segment is walked");
        walk.unreadable |= unreadable;
        match found {
            Some((place, (header, entries))) => {
                walk.at = place + header.blocks.max(1);
                (walk.known, walk.searching) = (true, false);
                self.take_chunk(segment, place, header, entries);
            }
            // Behind a damaged header there may be good ones; in a segment never begun there are
            // none.
            None if !known => {
                walk.doubtful = doubtful;
                return self.start_walk();
            }
            None if searching => walk.at = end.next_multiple_of(layout.append_blocks),
            None => {
                walk.searching = true;
                walk.at += layout.append_blocks;
            }
        }
        if !self.ask_next(segment) {
            self.start_walk();
        }
    }

    /// Whether the block at a segment's front is something else than zeroes or the header of an
    /// earlier use.
    fn is_damaged(&self, segment: u32, buffer: &Buf) -> bool {
        let offset = Layout::offset(self.layout().location(segment));
        let length = self.layout().header_blocks as usize * BLOCK_BYTES as usize;
        let bytes = &buffer.bytes()[..length];
        !is_zero(bytes) && decode_chunk(self.superblock().id, offset, bytes).is_none()
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
        let of_epoch = match self.report.root_damaged {
            None => header.epoch == superblock.epoch,
            // The epoch may have begun behind the older root.
            Some(_) if header.seq < superblock.first_seq => match superblock.before.is_known() {
                true => header.epoch == superblock.before.epoch,
                false => header.epoch < superblock.epoch,
            },
            Some(_) => header.epoch == superblock.epoch,
        };
        let of_epoch = of_epoch || broken(Rule::Epoch);
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
        if header.seq < self.superblock().first_seq {
            self.epochs_before.insert(header.epoch);
        }
        // Only behind an older root are there several epochs.
        let order = |header: &Header| (header.epoch, header.attempt);
        let newer = self
            .candidates
            .get(&header.seq)
            .is_none_or(|other| order(&other.header) < order(&header));
        if newer {
            self.candidates.insert(header.seq, Candidate { header, entries, segment, at });
        }
    }

    pub(super) fn take_walks(&mut self) -> Result<Step, OpenError> {
        self.refuse_offline()?;
        if !self.doubtful().is_empty() {
            return Ok(Step::Walk);
        }
        self.refuse_several_epochs()?;
        // Where a chunk may have been that a flush covered, nobody can say whether there was one.
        let unreadable = self.walks.values().filter(|walk| walk.known && walk.unreadable).count();
        if !broken(Rule::UnreadableTail) {
            self.report.tail_unreadable += unreadable as u64;
        }
        Ok(Step::Ring)
    }

    /// Where the superblock does not say whose chunks counted before its epoch, as older code left
    /// it: if there are those of several epochs, some are of a tail that was cut, or of a recovery
    /// that was, and nobody knows which.
    fn refuse_several_epochs(&self) -> Result<(), OpenError> {
        match self.report.root_damaged {
            Some(offset) if self.epochs_before.len() > 1 => Err(OpenError::Root { offset }),
            _ => Ok(()),
        }
    }

    /// The data of what no flush is known to cover, as far as the numbers have no gap. What cannot
    /// be read chunk by chunk is read block by block.
    pub(super) fn ask_tail(&mut self) {
        let layout = *self.layout();
        let seqs: Vec<u64> = match self.in_parts.is_empty() {
            false => self.in_parts.iter().copied().collect(),
            true => {
                let tail = self.candidates.range(self.durable_seq + 1..).map(|(&seq, _)| seq);
                let tail = tail.zip(self.durable_seq + 1..);
                tail.take_while(|(seq, expected)| seq == expected).map(|(seq, _)| seq).collect()
            }
        };
        for seq in seqs {
            let chunk = &self.candidates[&seq];
            if self.in_parts.contains(&seq) {
                let blocks = chunk.data(&layout);
                let blocks: Vec<(u32, u32, u32)> =
                    blocks.map(|(entry, location)| (location, entry.block, entry.crc)).collect();
                for (location, block, crc) in blocks {
                    self.parts.insert(u64::from(location), (block, crc));
                    self.send_read(u64::from(location), Layout::offset(location), BLOCK_BYTES);
                }
            } else {
                let place = layout.location(chunk.segment) + chunk.at;
                let bytes = u64::from(chunk.header.blocks) * BLOCK_BYTES;
                self.send_read(seq, Layout::offset(place), bytes);
            }
        }
    }

    /// The data of a chunk, or of a block of one that could not be read as a whole, have come: what
    /// is kept of them is whether they are whole.
    pub(super) fn verify_on(&mut self, key: u64) {
        let layout = *self.layout();
        let (block, header_blocks) = (BLOCK_BYTES as usize, layout.header_blocks as usize);
        let read = self.take_read(key);
        if let Some((number, crc)) = self.parts.remove(&key) {
            let whole = read
                .as_ref()
                .is_ok_and(|buffer| block_crc(number, &buffer.bytes()[..block]) == crc);
            if !whole {
                self.unreadable.insert(key as u32);
            }
        } else {
            let chunk = &self.candidates[&key];
            let whole = read.as_ref().map(|buffer| {
                let data = buffer.bytes().chunks_exact(block).skip(header_blocks);
                let mut entries = chunk.data(&layout).zip(data);
                entries.all(|((entry, _), data)| block_crc(entry.block, data) == entry.crc)
            });
            self.verified.insert(key, whole.map_err(|error| *error));
        }
        self.give_back(read);
    }

    /// Where the log ends: before the first number beyond D that is missing or damaged. One that
    /// cannot be read is no torn tail: it may be what was flushed last, and a power cut leaves old
    /// data or new ones. It counts, and what of it cannot be read or does not fit is lost.
    pub(super) fn take_tail(&mut self) -> Result<Step, OpenError> {
        self.refuse_offline()?;
        if !self.in_parts.is_empty() {
            self.report.tail_unreadable += self.in_parts.len() as u64;
            return self.end_log();
        }
        self.log_end = self.durable_seq;
        for (seq, whole) in std::mem::take(&mut self.verified) {
            match whole {
                Err(_) if broken(Rule::UnreadableTail) => break,
                Err(_) => _ = self.in_parts.insert(seq),
                Ok(false) if !broken(Rule::TornTail) => break,
                Ok(_) => {}
            }
            self.log_end = seq;
        }
        if !self.in_parts.is_empty() {
            return Ok(Step::Verify);
        }
        self.end_log()
    }

    /// Behind `log_end` nothing counts.
    fn end_log(&mut self) -> Result<Step, OpenError> {
        let mut end = self.log_end;
        if broken(Rule::NoCutBelowDurable) {
            let first = self.root.seq + 1;
            let gap = (first..).find(|seq| !self.candidates.contains_key(seq));
            end = end.min(gap.expect("numbers end") - 1);
        }
        self.report.first_seq = end + 1;
        let cut = self.candidates.split_off(&(end + 1));
        self.report.chunks_cut = cut.len() as u64;
        self.report.tail = cut.last_key_value().map(|(&last_seq, _)| Tail {
            first_seq: end + 1,
            last_seq,
            chunks: cut.len() as u64,
            blocks: cut.values().flat_map(|chunk| &chunk.entries).map(blocks_of_host).sum(),
            cause: match cut.contains_key(&(end + 1)) {
                true => TailCause::Torn,
                false => TailCause::Missing,
            },
        });
        if self.purpose == Purpose::Look {
            self.cut = cut.into_values().flat_map(|chunk| chunk.entries).collect();
        }
        let counting = self.root.seq + 1..end + 1;
        self.last_missing =
            counting.rev().find(|seq| !self.candidates.contains_key(seq)).unwrap_or(0);
        let behind = end - self.root.seq.min(end);
        self.report.chunks_missing = behind - self.candidates.len() as u64;
        match self.report.root_damaged {
            // What is missing may have said where a block went that others copied on, or that it
            // was trimmed.
            Some(offset) if self.report.chunks_missing > 0 && !broken(Rule::OlderRootWhole) => {
                Err(OpenError::Root { offset })
            }
            _ => Ok(Step::Records),
        }
    }

    /// Where the last chunk of one of the host's classes is gone, what the other holds of later
    /// writes goes too: what is left must be as it was at one moment. Behind an older root the
    /// opening that began the epoch has done so once: what it cut must stay so, though by now there
    /// are later chunks of the other class.
    pub(super) fn cut_unsure(&mut self) -> Result<(), OpenError> {
        let Superblock { epoch, first_seq, before, .. } = *self.superblock();
        let was_cut = self.cut_within(0..first_seq, before.record);
        // Records of then may have made more of them sure.
        let unknown = was_cut > 0 && !before.is_known() && self.layout().ring_slots > 0;
        if let Some(offset) = self.report.root_damaged.filter(|_| unknown) {
            return Err(OpenError::Root { offset });
        }
        let record = self.newest_record_mark();
        self.report.entries_cut += self.cut_within(first_seq..u64::MAX, record);
        self.before = Before { epoch, record };
        Ok(())
    }

    /// Cuts chunks of a range, at the end of which the log ended. How many entries.
    fn cut_within(&mut self, range: Range<u64>, record: Option<RecordMark>) -> u64 {
        if broken(Rule::CutBefore) && range.start == 0 {
            return 0;
        }
        let last = self.last_host_chunks(range.end);
        let chunks = self.candidates.range(range.clone());
        let sure: Vec<usize> = chunks.map(|(&seq, _)| self.sure(seq, record)).collect();
        let mut count = 0;
        for ((&seq, chunk), sure) in self.candidates.range_mut(range).zip(sure) {
            let other = match chunk.header.stream {
                0 => last[1],
                1 => last[0],
                _ => continue,
            };
            if other < seq && sure < chunk.entries.len() {
                count += (chunk.entries.len() - sure) as u64;
                chunk.entries.truncate(sure);
            }
        }
        count
    }

    /// The last chunk before `end` of each of the host's classes, 0 for none behind the checkpoint.
    pub(super) fn last_host_chunks(&self, end: u64) -> [u64; 2] {
        [0, 1].map(|class| {
            let stream = Stream::Host(class).number();
            let mut of_class = self.candidates.range(..end).rev();
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
            count_chunk(&mut self.root.lifetime, &chunk.entries, header_blocks, blocks);
            let mut location = layout.location(chunk.segment) + chunk.at + layout.header_blocks;
            for entry in &chunk.entries {
                let lost = entry.kind.has_data() && self.unreadable.contains(&location);
                apply(map, &layout, entry, if lost { LOST } else { location });
                location += u32::from(entry.kind.has_data());
            }
        }
        match self.purpose {
            Purpose::Look => return Ok(Step::Open),
            Purpose::Read => return self.read_only(),
            Purpose::Use => {}
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
            volume.superblock.ring = RingMark::default();
            // Behind an older root chunks are rolled forward: until that is done, they are of this
            // epoch.
            if self.report.root_damaged.is_none() {
                (volume.superblock.epoch, volume.superblock.first_seq) =
                    (epoch, self.report.first_seq);
                volume.superblock.before = self.before;
            }
        }
        if self.report.root_damaged.is_some() {
            self.report.is_cramped = !self.has_room_to_settle();
        }
        if self.damaged() { self.read_only() } else { Ok(Step::Epoch) }
    }

    /// Whether the checkpoint that ends recovery finds segments that an older root, which is needed
    /// until then, has free: for the pages, and for a chunk of each stream.
    fn has_room_to_settle(&self) -> bool {
        let layout = self.layout();
        let begun: BTreeSet<u32> = self.candidates.values().map(|chunk| chunk.segment).collect();
        let free = self.root.free.iter().filter(|segment| !begun.contains(segment)).count();
        free as u32 >= layout.map_segments + layout.shape.classes.streams()
    }

    pub(super) fn damaged(&self) -> bool {
        self.report.is_doubtful() && !broken(Rule::ReadOnlyOnDoubt)
    }

    /// On doubt, and where that was asked for, nothing is written at all.
    pub(super) fn read_only(&mut self) -> Result<Step, OpenError> {
        self.hand_over();
        Ok(Step::Replay)
    }
}

impl Candidate {
    /// The entries that have data, with the locations of these.
    fn data(&self, layout: &Layout) -> impl Iterator<Item = (&Entry, u32)> {
        let with_data = self.entries.iter().filter(|entry| entry.kind.has_data());
        with_data.zip(layout.location(self.segment) + self.at + layout.header_blocks..)
    }
}

impl Opening {
    /// Blocks that something younger speaks of than whatever is missing: the others may have been
    /// in that.
    pub(super) fn known_since_gap(&self) -> Vec<Range<u32>> {
        let range = |entry: &Entry| {
            let count = if entry.kind == Kind::Trim { entry.argument } else { 1 };
            entry.block..entry.block.saturating_add(count)
        };
        let by_host = |entry: &&Entry| matches!(entry.kind, Kind::Write | Kind::Trim);
        let (chunk, record) = (self.last_missing, self.last_missing_record);
        let from = chunk.max(record.map_or(0, |(_, after)| after)) + 1;
        let chunks = self.candidates.range(from..).flat_map(|(_, chunk)| &chunk.entries);
        let mut known: Vec<Range<u32>> = chunks.filter(by_host).map(range).collect();
        let records = self.records_since(record.map_or(0, |(number, _)| number) + 1, chunk);
        known.extend(records.map(range));
        known
    }
}

/// How many blocks of the volume the host changed with it.
fn blocks_of_host(entry: &Entry) -> u64 {
    match entry.kind {
        Kind::Write => 1,
        Kind::Trim => u64::from(entry.argument),
        Kind::Copy | Kind::Lost | Kind::Page => 0,
    }
}

/// What an entry does to the map. Entries with data have them at `location`, or lost.
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
