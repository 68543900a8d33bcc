//! The newest map that can be put together: pages where there are any, then the log over them, in
//! the order of its numbers and by the same rules as at every opening.

use super::{
    Basis, Plan,
    pages::{self, Version},
    ring,
    survey::{ChunkAt, Debris, HEADER_BLOCKS_MAX, RecordAt, Remains},
};
use crate::{
    format::{
        ENTRY_BYTES, Entry, HEADER_BYTES, Kind, MissingRecords, RecordMark, Root, Superblock,
        VolumeId, block_crc, decode_chunk,
    },
    layout::Layout,
    map::{LOST, Map, UNMAPPED},
    shape::{BLOCK_BYTES, Checksums},
    tools::{ToolError, bits::Bits, scan::Reader},
    volume::Stream,
};
use std::{
    collections::BTreeMap,
    ops::{ControlFlow, Range},
};

const BLOCK: usize = BLOCK_BYTES as usize;
/// Pages and blocks of each that are looked at to tell one kind of page from the other.
const SAMPLES: usize = 8;

/// The chunks that count, in order of their numbers.
#[derive(Debug)]
pub(super) struct Counted {
    pub chunks: Vec<ChunkAt>,
    pub header_blocks: u32,
    /// They are of an older epoch than one that begins before them.
    pub void: u64,
    /// Beyond the end of the log.
    pub cut: Vec<ChunkAt>,
    /// Of these numbers only so many entries count, for what was lost with the tail.
    pub unsure: BTreeMap<u64, usize>,
    /// Of these numbers nobody knows whether more than so many entries count.
    suspect: BTreeMap<u64, usize>,
    /// Behind the last number that is missing everything is there.
    pub gapless_from: u64,
    /// The last number that counts, whether it is there or not.
    pub end: u64,
}

/// The map, and what is known of its certainty.
#[derive(Debug)]
pub(super) struct Rebuilt {
    pub map: Map,
    pub basis: Basis,
    pub counted: Counted,
    /// Blocks whose newest version may not be what the map says; of those that are not mapped, that
    /// there is one.
    pub doubtful: Bits,
    /// Blocks of which no checksum is known.
    pub unverified: Bits,
    /// Numbers behind the checkpoint that are nowhere.
    pub missing: u64,
    /// Records of the ring that were flushed and are nowhere.
    pub records_missing: u64,
    /// Pages that were meant and are damaged.
    pub pages_damaged: Vec<u32>,
    /// Trims so far, with their numbers.
    trims: Vec<(Range<u32>, u64)>,
    /// The same chunks by place.
    places: Vec<(u32, u32, u64)>,
    /// The page's version for each page that is known.
    versions: BTreeMap<u32, Version>,
    page_entries: u32,
    /// Of the volume.
    blocks: u32,
    /// Of the drive as it is.
    pub device_blocks: u32,
}

/// Where in the log an entry is.
#[derive(Clone, Copy)]
struct At {
    seq: u64,
    /// Number of the chunk before, in the same stream.
    before: u64,
}

/// Reads the headers of `chunks` again and hands over their entries.
pub(super) fn headers(
    reader: &mut Reader,
    id: VolumeId,
    header_blocks: u32,
    chunks: &[ChunkAt],
    sink: &mut dyn FnMut(&ChunkAt, Vec<Entry>),
) -> Result<(), ToolError> {
    let ranges = chunks.iter().map(|chunk| {
        let start = Layout::offset(chunk.location);
        (*chunk, start..start + u64::from(header_blocks) * BLOCK_BYTES)
    });
    reader.scan(ranges, &mut |chunk, offset, read| {
        let decoded = read.ok().and_then(|bytes| decode_chunk(id, offset, bytes));
        if let Some((_, entries)) = decoded {
            sink(chunk, entries);
        }
        ControlFlow::Continue(())
    })
}

impl Rebuilt {
    pub fn new(
        reader: &mut Reader,
        debris: &Debris,
        id: VolumeId,
        plan: &Plan,
        device_blocks: u32,
    ) -> Result<(Self, u64), ToolError> {
        let remains = &debris.volumes[&id.0];
        let superblock = remains.superblock().copied();
        let root = pages::newest_root(reader, debris, id)?;
        let counted = Counted::new(reader, id, remains, superblock.as_ref(), root.as_ref())?;
        let after = |seq: u64| counted.chunks.partition_point(|chunk| chunk.header.seq <= seq);
        let end = counted.end;
        let whole = |root: &&Root| {
            (counted.chunks.len() - after(root.seq)) as u64 == end.saturating_sub(root.seq)
        };
        let (basis, versions) = match root.as_ref().filter(whole) {
            Some(root) => (Basis::Root, pages::of_root(root)),
            None => {
                let versions = pages::newest(reader, id, &counted, root.as_ref())?;
                (if versions.is_empty() { Basis::Chunks } else { Basis::Pages }, versions)
            }
        };
        let checksums = match superblock {
            Some(superblock) => superblock.shape.checksums,
            None => counted.tell_pages(reader, id, &versions)?,
        };
        let page_entries = match checksums {
            Checksums::OnRead => 512,
            Checksums::OnCleaning => 1024,
        };
        let by_root = root.as_ref().map(|root| {
            u64::from(root.directory.len() as u32) * u64::from(page_entries) * BLOCK_BYTES
        });
        let exported_bytes = plan
            .exported_bytes
            .or(superblock.map(|superblock| superblock.shape.exported_bytes))
            .or(by_root)
            .unwrap_or(u64::from(remains.blocks) * BLOCK_BYTES);
        let blocks = exported_bytes.div_ceil(BLOCK_BYTES).min(u64::from(u32::MAX)) as u32;
        // Behind this number none is missing for any other reason than damage.
        let checkpoint = match basis {
            Basis::Root => root.as_ref().map_or(0, |root| root.seq),
            _ => versions.values().map(|version| version.floor).max().unwrap_or(0),
        };
        let there = (counted.chunks.len() - after(checkpoint)) as u64;
        let mut rebuilt = Self {
            map: Map::for_rescue(blocks),
            basis,
            doubtful: Bits::new(0, blocks as usize),
            unverified: Bits::new(0, blocks as usize),
            missing: end.saturating_sub(checkpoint).saturating_sub(there),
            records_missing: 0,
            pages_damaged: Vec::new(),
            trims: Vec::new(),
            places: Vec::new(),
            versions,
            page_entries,
            blocks,
            device_blocks,
            counted,
        };
        let places = rebuilt.counted.chunks.iter();
        rebuilt.places =
            places.map(|chunk| (chunk.location, chunk.header.blocks, chunk.header.seq)).collect();
        rebuilt.places.sort_unstable();
        rebuilt.load(reader, checksums)?;
        let records = {
            let Counted { chunks, .. } = &rebuilt.counted;
            let behind = (basis == Basis::Root).then_some(checkpoint);
            ring::counted(reader, remains, superblock.as_ref(), chunks, behind, end)?
        };
        let ring::Records { counted: records, missing: records_missing } = records;
        rebuilt.records_missing = records_missing.count;
        let newest = records.last().map(|record| RecordMark {
            after: record.header.after,
            recorded: record.header.recorded,
        });
        rebuilt.counted.mark_unsure(newest);
        rebuilt.counted.mark_cut(superblock.as_ref());
        rebuilt.roll_forward(reader, id)?;
        records.iter().for_each(|record| rebuilt.apply_record(record));
        rebuilt.judge();
        rebuilt.doubt_what_is_missing(&records, records_missing);
        rebuilt.doubt_what_was_cut(reader, id)?;
        Ok((rebuilt, exported_bytes))
    }

    fn load(&mut self, reader: &mut Reader, checksums: Checksums) -> Result<(), ToolError> {
        let Self { map, unverified, versions, blocks, device_blocks, .. } = self;
        let device_blocks = *device_blocks;
        let damaged = pages::read(
            reader,
            versions,
            checksums,
            device_blocks,
            &mut |block, location, crc| {
                if block < *blocks {
                    // What was beyond the end of a drive that was cut short is lost, and not
                    // unmapped.
                    let location = if location < device_blocks { location } else { LOST };
                    map.set(block, location, crc.unwrap_or(0));
                    if crc.is_none() && location != LOST {
                        unverified.insert(block);
                    }
                }
            },
        )?;
        for page in &damaged {
            self.versions.remove(page);
        }
        self.pages_damaged = damaged;
        Ok(())
    }

    fn roll_forward(&mut self, reader: &mut Reader, id: VolumeId) -> Result<(), ToolError> {
        let chunks = self.counted.chunks.clone();
        let mut last = BTreeMap::new();
        let header_blocks = self.counted.header_blocks;
        headers(reader, id, header_blocks, &chunks, &mut |chunk, mut entries| {
            let data = entries.iter().filter(|entry| entry.kind.has_data()).count() as u32;
            if header_blocks + data > chunk.header.blocks {
                return;
            }
            if let Some(&sure) = self.counted.unsure.get(&chunk.header.seq) {
                entries.truncate(sure);
            }
            let before = last.insert(chunk.header.stream, chunk.header.seq).unwrap_or(0);
            let at = At { seq: chunk.header.seq, before };
            let mut location = chunk.location + header_blocks;
            for entry in &entries {
                self.apply(entry, at, location);
                location += u32::from(entry.kind.has_data());
            }
            let suspect = self.counted.suspect.get(&chunk.header.seq);
            for entry in suspect.and_then(|&sure| entries.get(sure..)).unwrap_or(&[]) {
                self.suspect(entry, at.seq);
            }
        })
    }

    /// An opening may have dropped it: its blocks are doubtful, unless a page tells.
    fn suspect(&mut self, entry: &Entry, seq: u64) {
        let count = match entry.kind {
            Kind::Trim => entry.argument,
            Kind::Write => 1,
            Kind::Copy | Kind::Lost | Kind::Page => 0,
        };
        let end = entry.block.saturating_add(count).min(self.blocks);
        for block in entry.block.min(end)..end {
            if seq > self.version(block).0 {
                self.doubtful.insert(block);
            }
        }
    }

    fn apply(&mut self, entry: &Entry, at: At, location: u32) {
        let block = entry.block;
        if entry.kind == Kind::Page || block >= self.blocks {
            return;
        }
        if entry.kind == Kind::Trim {
            let end = block.saturating_add(entry.argument).min(self.blocks);
            return self.trim(block, end, at, location);
        }
        let (meant, _) = self.map.get(block);
        let applies = match entry.kind {
            // The page says so itself; the header knows the checksum.
            Kind::Write | Kind::Copy if meant == location => true,
            Kind::Write => self.is_news(block, at.seq, meant, location),
            _ if at.seq <= self.version(block).0 => false,
            _ if meant == entry.argument => true,
            _ => self.is_orphan(entry, at, meant),
        };
        if !applies {
            return;
        }
        if self.is_doubtful(entry, at, meant) {
            self.doubtful.insert(block);
        } else {
            self.doubtful.remove(block);
        }
        self.unverified.remove(block);
        let lost = entry.kind == Kind::Lost;
        self.map.set(block, if lost { LOST } else { location }, entry.crc);
    }

    /// Whether something younger may be gone that an entry, which applies to `meant`, does not know
    /// of. A write knows all. A copy only knows what came before the last chunk of its stream: it
    /// is as sure as its source is, unless nothing that is younger can be gone.
    fn is_doubtful(&self, entry: &Entry, at: At, meant: u32) -> bool {
        let gapless_from = self.counted.gapless_from;
        let known = self.versions.get(&(entry.block / self.page_entries));
        let returned = known.is_some_and(|page| meant == UNMAPPED && at.seq <= page.seal);
        if entry.kind == Kind::Write {
            return returned;
        }
        let all_there_since = known.map_or(gapless_from - 1, |page| page.seal);
        let old_source = || self.seq_of(meant).is_none_or(|seq| seq < gapless_from);
        at.before < all_there_since
            && (returned || self.doubtful.contains(entry.block) || known.is_none() && old_source())
    }

    fn trim(&mut self, first: u32, end: u32, at: At, location: u32) {
        self.trims.push((first..end, at.seq));
        let mut next = self.map.next_mapped(first, end);
        while let Some(block) = next {
            let (meant, _) = self.map.get(block);
            if self.is_news(block, at.seq, meant, location) {
                self.doubtful.remove(block);
                self.map.set(block, UNMAPPED, 0);
            }
            next = self.map.next_mapped(block + 1, end);
        }
    }

    /// Whether the source of a copy was overwritten since, and nothing is known that came after the
    /// copy. When it was appended, the map pointed to the source: so a write or trim that is
    /// younger got its number after the chunk before, in the copy's own stream.
    fn is_orphan(&self, entry: &Entry, at: At, meant: u32) -> bool {
        let source_is_there = self.seq_of(entry.argument).is_some_and(|seq| seq < at.seq);
        let younger = self.seq_of(meant).is_some_and(|seq| seq > at.before);
        let mut recent = self.trims.iter().rev().take_while(|(_, seq)| *seq > at.before);
        !source_is_there && !younger && !recent.any(|(blocks, _)| blocks.contains(&entry.block))
    }

    /// What a record of the ring says is newer than all chunks.
    fn apply_record(&mut self, record: &RecordAt) {
        let mut location = record.location + 1;
        for &(stream, entry) in &record.entries {
            let here = location;
            location += u32::from(entry.kind.has_data());
            if stream == ring::VOID || entry.block >= self.blocks {
                continue;
            }
            if entry.kind == Kind::Write {
                self.doubtful.remove(entry.block);
                self.unverified.remove(entry.block);
                self.map.set(entry.block, here, entry.crc);
                continue;
            }
            let end = entry.block.saturating_add(entry.argument).min(self.blocks);
            let mut next = self.map.next_mapped(entry.block, end);
            while let Some(block) = next {
                self.doubtful.remove(block);
                self.map.set(block, UNMAPPED, 0);
                next = self.map.next_mapped(block + 1, end);
            }
        }
    }

    /// Floor and seal of what is known of the block's page.
    fn version(&self, block: u32) -> (u64, u64) {
        let version = self.versions.get(&(block / self.page_entries));
        version.map_or((0, 0), |version| (version.floor, version.seal))
    }

    /// Whether an absolute entry of that number is younger than what the map has.
    fn is_news(&self, block: u32, seq: u64, meant: u32, location: u32) -> bool {
        let (floor, seal) = self.version(block);
        match self.seq_of(meant) {
            _ if seq <= floor => false,
            _ if seq > seal => true,
            _ if meant == UNMAPPED => true,
            Some(other) => (other, meant) < (seq, location),
            None => false,
        }
    }

    /// Number of the chunk that a location is in.
    fn seq_of(&self, location: u32) -> Option<u64> {
        let behind = self.places.partition_point(|place| place.0 <= location);
        let &(first, blocks, seq) = self.places.get(behind.checked_sub(1)?)?;
        (location - first < blocks).then_some(seq)
    }

    /// Without a page, an old version may have been trimmed by a chunk that is gone, and what no
    /// chunk speaks of may have been in one that is. And where a page points into a chunk that does
    /// not say so, another block has the place by now.
    fn judge(&mut self) {
        let from = self.counted.gapless_from;
        let mut gone = Vec::new();
        for (block, location) in self.map.iter() {
            let seq = self.seq_of(location);
            let known = self.versions.contains_key(&(block / self.page_entries));
            if self.unverified.contains(block) && seq.is_some() {
                gone.push(block);
            } else if self.unverified.contains(block) || !known && seq.is_none_or(|seq| seq < from)
            {
                self.doubtful.insert(block);
            }
        }
        gone.into_iter().for_each(|block| _ = self.map.set(block, LOST, 0));
        for &page in self.pages_damaged.iter().filter(|_| from > 1) {
            let first = page.saturating_mul(self.page_entries);
            let blocks = first..first.saturating_add(self.page_entries).min(self.blocks);
            let unmapped = blocks.filter(|&block| self.map.get(block).0 == UNMAPPED);
            unmapped.for_each(|block| _ = self.doubtful.insert(block));
        }
    }
}

impl Rebuilt {
    /// Nobody knows which blocks were written or trimmed in chunks and records that are gone. Sure
    /// are only those that something younger speaks of: all others may have been in them, whether
    /// they are mapped or not.
    fn doubt_what_is_missing(&mut self, records: &[RecordAt], gone: MissingRecords) {
        let last_gone = if self.missing > 0 { self.counted.gapless_from - 1 } else { 0 };
        if self.missing == 0 && gone.count == 0 {
            return;
        }
        let known_after = last_gone.max(gone.after);
        let mut sure = Bits::new(0, self.blocks as usize);
        for (block, location) in self.map.iter() {
            if self.written_at(location).is_some_and(|seq| seq > known_after) {
                sure.insert(block);
            }
        }
        for (blocks, _) in self.trims.iter().filter(|(_, seq)| *seq > known_after) {
            let unmapped = blocks.clone().filter(|&block| self.map.get(block).0 == UNMAPPED);
            unmapped.for_each(|block| _ = sure.insert(block));
        }
        let younger = |record: &&RecordAt| {
            record.header.after >= last_gone && record.header.number > gone.last
        };
        for (stream, entry) in records.iter().filter(younger).flat_map(|record| &record.entries) {
            let count = if entry.kind == Kind::Trim { entry.argument } else { 1 };
            let end = entry.block.saturating_add(count).min(self.blocks);
            if *stream != ring::VOID {
                (entry.block.min(end)..end).for_each(|block| _ = sure.insert(block));
            }
        }
        self.doubtful.insert_all_but(&sure);
    }

    /// The number behind which the host has not written the block that lies there: a copy knows
    /// what came before the last chunk of its stream.
    fn written_at(&self, location: u32) -> Option<u64> {
        let seq = self.seq_of(location)?;
        let at = self.counted.chunks.partition_point(|chunk| chunk.header.seq < seq);
        let chunk = self.counted.chunks.get(at)?;
        let hosts = [Stream::Host(0).number(), Stream::Host(1).number()];
        if hosts.contains(&chunk.header.stream) {
            return Some(seq);
        }
        let before = self.counted.chunks[..at].iter().rev();
        let mut before = before.filter(|other| other.header.stream == chunk.header.stream);
        before.next().map(|other| other.header.seq)
    }

    /// A newer version of these blocks lies behind the end of the log. If the end is where a chunk
    /// is damaged, and not where the power went, a flush may have covered it.
    fn doubt_what_was_cut(&mut self, reader: &mut Reader, id: VolumeId) -> Result<(), ToolError> {
        let cut = self.counted.cut.clone();
        headers(reader, id, self.counted.header_blocks, &cut, &mut |_, entries| {
            for entry in entries.iter().filter(|entry| entry.block < self.blocks) {
                if entry.kind == Kind::Trim {
                    let end = entry.block.saturating_add(entry.argument).min(self.blocks);
                    let mut next = self.map.next_mapped(entry.block, end);
                    while let Some(block) = next {
                        self.doubtful.insert(block);
                        next = self.map.next_mapped(block + 1, end);
                    }
                } else if entry.kind.is_of_host() {
                    self.doubtful.insert(entry.block);
                }
            }
        })
    }
}

impl Counted {
    fn new(
        reader: &mut Reader,
        id: VolumeId,
        remains: &Remains,
        superblock: Option<&Superblock>,
        root: Option<&Root>,
    ) -> Result<Self, ToolError> {
        let (mut chunks, void) = of_their_epoch(&remains.chunks, superblock);
        let header_blocks = match superblock {
            Some(superblock) => {
                (superblock.shape.chunk_bytes / BLOCK_BYTES).div_ceil(256).max(1) as u32
            }
            None => tell_header_blocks(reader, id, &chunks)?,
        };
        let by_chunks = chunks.iter().map(|chunk| chunk.header.durable_seq);
        let by_records = remains.records.iter().map(|record| record.header.durable_seq);
        let durable = by_chunks.chain(by_records).max().unwrap_or(0);
        let durable = durable
            .max(superblock.map_or(0, |superblock| superblock.durable_seq))
            .max(root.map_or(0, |root| root.seq));
        let end = end_of_log(reader, id, header_blocks, &chunks, durable)?;
        let kept = chunks.partition_point(|chunk| chunk.header.seq <= end);
        let cut = chunks.split_off(kept);
        let mut gapless_from = end + 1;
        for chunk in chunks.iter().rev().take_while(|chunk| chunk.header.seq <= end) {
            if chunk.header.seq + 1 != gapless_from {
                break;
            }
            gapless_from -= 1;
        }
        Ok(Self {
            chunks,
            header_blocks,
            void,
            cut,
            unsure: BTreeMap::new(),
            suspect: BTreeMap::new(),
            gapless_from,
            end,
        })
    }

    /// Of a chunk of one of the host's two streams behind which none of the other is left only the
    /// sure entries count, if that is not because its segment was used again: then a number would
    /// be missing.
    fn mark_unsure(&mut self, newest: Option<RecordMark>) {
        let classes = [Stream::Host(0).number(), Stream::Host(1).number()];
        let last = classes.map(|stream| {
            let of_class = self.chunks.iter().rev().find(|chunk| chunk.header.stream == stream);
            of_class.map_or(0, |chunk| chunk.header.seq)
        });
        let first = self.chunks.partition_point(|chunk| chunk.header.seq < self.gapless_from);
        for chunk in &self.chunks[first..] {
            let class = classes.iter().position(|&stream| stream == chunk.header.stream);
            if class.is_some_and(|class| last[1 - class] < chunk.header.seq) {
                let sure = ring::sure(chunk, &self.chunks[first..], newest);
                self.unsure.insert(chunk.header.seq, sure);
            }
        }
    }

    /// The same where an epoch ended that is not the last: what its recovery dropped stays so,
    /// though there are later chunks of the other stream by now. Which records of the ring counted
    /// then only the newest superblock says, of the last of these ends; and where numbers are
    /// missing, a chunk of the other stream may have had one of them.
    fn mark_cut(&mut self, superblock: Option<&Superblock>) {
        let epoch = |at: usize| self.chunks[at].header.epoch;
        let ends: Vec<usize> =
            (1..self.chunks.len()).filter(|&at| epoch(at) != epoch(at - 1)).collect();
        for end in ends {
            let (before, next) = (self.chunks[end - 1].header, self.chunks[end].header);
            let record = superblock.and_then(|superblock| match superblock.before {
                _ if superblock.shape.ring_bytes == 0 => Some(None),
                earlier if (earlier.epoch, superblock.epoch) == (before.epoch, next.epoch) => {
                    Some(earlier.record)
                }
                _ => None,
            });
            let (mut follower, mut seen) = (next.seq, [false; 2]);
            let mut gapless = true;
            for at in (0..end).rev() {
                let chunk = self.chunks[at];
                if chunk.header.epoch != before.epoch || seen == [true; 2] {
                    break;
                }
                gapless &= chunk.header.seq + 1 == follower;
                follower = chunk.header.seq;
                let class = usize::from(chunk.header.stream);
                if class >= seen.len() {
                    continue;
                }
                seen[class] = true;
                if seen[1 - class] {
                    continue;
                }
                match record.filter(|_| gapless) {
                    Some(record) => {
                        let sure = ring::sure(&chunk, &self.chunks[..end], record);
                        self.unsure.insert(follower, sure);
                    }
                    None => {
                        self.unsure.remove(&follower);
                        self.suspect.insert(follower, chunk.header.sure.into());
                    }
                }
            }
        }
    }

    /// Whether pages have checksums, by what makes more sense of some of them.
    fn tell_pages(
        &self,
        reader: &mut Reader,
        id: VolumeId,
        versions: &BTreeMap<u32, Version>,
    ) -> Result<Checksums, ToolError> {
        let mut by_place = self.chunks.clone();
        by_place.sort_unstable_by_key(|chunk| chunk.location);
        let mut votes = [0u32; 2];
        let kinds = [Checksums::OnRead, Checksums::OnCleaning];
        let mut samples: Vec<(usize, u32, ChunkAt, u32)> = Vec::new();
        let ranges = versions.iter().filter(|(_, version)| version.location != 0).take(SAMPLES);
        let ranges = ranges.map(|(&page, version)| {
            let offset = Layout::offset(version.location);
            ((page, version.crc), offset..offset + BLOCK_BYTES)
        });
        reader.scan(ranges, &mut |&(page, crc), _, read| {
            let Some(bytes) = read.ok().filter(|bytes| block_crc(page, bytes) == crc) else {
                return ControlFlow::Continue(());
            };
            for (kind, &checksums) in kinds.iter().enumerate() {
                for (block, location, _) in pages::mappings(page, bytes, checksums).take(SAMPLES) {
                    let behind = by_place.partition_point(|chunk| chunk.location <= location);
                    if let Some(chunk) = behind.checked_sub(1).map(|at| by_place[at])
                        && location < chunk.location + chunk.header.blocks
                    {
                        samples.push((kind, block, chunk, location));
                    }
                }
            }
            ControlFlow::Continue(())
        })?;
        for (kind, block, chunk, location) in samples {
            headers(reader, id, self.header_blocks, &[chunk], &mut |chunk, entries| {
                let data = entries.iter().filter(|entry| entry.kind.has_data());
                let mut places = data.zip(chunk.location + self.header_blocks..);
                let says_so = places.any(|(entry, at)| at == location && entry.block == block);
                votes[kind] += u32::from(says_so);
            })?;
        }
        Ok(if votes[1] > votes[0] { Checksums::OnCleaning } else { Checksums::OnRead })
    }
}

/// Without those of an epoch that ended before them: a later one began at their number or before.
/// In order of number, each once; and how many were left out.
fn of_their_epoch(chunks: &[ChunkAt], superblock: Option<&Superblock>) -> (Vec<ChunkAt>, u64) {
    let mut first: BTreeMap<u32, u64> = BTreeMap::new();
    let known = superblock.map(|superblock| (superblock.epoch, superblock.first_seq));
    let seen = chunks.iter().map(|chunk| (chunk.header.epoch, chunk.header.seq));
    for (epoch, seq) in seen.chain(known) {
        let first = first.entry(epoch).or_insert(seq);
        *first = (*first).min(seq);
    }
    let mut ends = BTreeMap::new();
    let mut end = u64::MAX;
    for (&epoch, &first) in first.iter().rev() {
        ends.insert(epoch, end);
        end = end.min(first);
    }
    let mut kept: Vec<ChunkAt> = chunks
        .iter()
        .filter(|chunk| chunk.header.seq < ends[&chunk.header.epoch])
        .copied()
        .collect();
    let void = chunks.len() - kept.len();
    // Of what was written elsewhere after a failure the highest attempt counts.
    kept.sort_unstable_by_key(|chunk| (chunk.header.seq, std::cmp::Reverse(chunk.header.attempt)));
    kept.dedup_by_key(|chunk| chunk.header.seq);
    (kept, void as u64)
}

/// How many blocks a header takes, by where the data of some chunks fit their checksums.
fn tell_header_blocks(
    reader: &mut Reader,
    id: VolumeId,
    chunks: &[ChunkAt],
) -> Result<u32, ToolError> {
    let mut votes = BTreeMap::new();
    for chunk in chunks.iter().rev().take(8 * SAMPLES) {
        let blocks = (HEADER_BLOCKS_MAX + 1).min(u64::from(chunk.header.blocks));
        let start = Layout::offset(chunk.location);
        let mut bytes = Vec::new();
        reader.scan(
            std::iter::once(((), start..start + blocks * BLOCK_BYTES)),
            &mut |(), _, read| {
                match read {
                    Ok(read) => bytes.extend_from_slice(read),
                    Err(_) => bytes.extend_from_slice(&[0; BLOCK]),
                }
                ControlFlow::Continue(())
            },
        )?;
        let Some((_, entries)) = decode_chunk(id, start, &bytes) else { continue };
        let least = (HEADER_BYTES + entries.len() * ENTRY_BYTES).div_ceil(BLOCK);
        let Some(entry) = entries.iter().find(|entry| entry.kind.has_data()) else { continue };
        let fits = bytes.chunks_exact(BLOCK).enumerate().skip(least);
        if let Some((at, _)) =
            fits.into_iter().find(|(_, data)| block_crc(entry.block, data) == entry.crc)
        {
            *votes.entry(at as u32).or_insert(0) += 1;
        }
    }
    let most = votes.into_iter().max_by_key(|&(_, votes)| votes);
    Ok(most.map_or(1, |(blocks, _)| blocks))
}

/// The last number that counts: beyond what is known to be durable, the log ends before the first
/// chunk that is missing or damaged.
fn end_of_log(
    reader: &mut Reader,
    id: VolumeId,
    header_blocks: u32,
    chunks: &[ChunkAt],
    durable: u64,
) -> Result<u64, ToolError> {
    let first = chunks.partition_point(|chunk| chunk.header.seq <= durable);
    let tail = chunks[first..].iter().zip(durable + 1..);
    let tail = tail.take_while(|(chunk, seq)| chunk.header.seq == *seq).map(|(chunk, _)| chunk);
    let mut end = durable;
    for chunk in tail {
        let start = Layout::offset(chunk.location);
        let range = start..start + u64::from(chunk.header.blocks) * BLOCK_BYTES;
        let (mut bytes, mut whole) = (Vec::new(), true);
        reader.scan(std::iter::once(((), range)), &mut |(), _, read| {
            whole &= read.is_ok();
            bytes.extend_from_slice(read.unwrap_or(&[0; BLOCK]));
            ControlFlow::Continue(())
        })?;
        // A header may say that its chunk has no blocks.
        let decoded = if bytes.is_empty() { None } else { decode_chunk(id, start, &bytes) };
        let fits = decoded.is_some_and(|(_, entries)| {
            let data = bytes.chunks_exact(BLOCK).skip(header_blocks as usize);
            let entries = entries.iter().filter(|entry| entry.kind.has_data());
            entries.zip(data).all(|(entry, data)| block_crc(entry.block, data) == entry.crc)
        });
        if !whole || !fits {
            break;
        }
        end = chunk.header.seq;
    }
    Ok(end)
}
