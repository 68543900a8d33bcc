//! The newest map that can be put together: pages where there are any, then the log over them, in
//! the order of its numbers and by the same rules as at every opening.

use super::{
    Basis, Plan,
    count::{Counted, headers},
    pages::{self, Version},
    ring,
    survey::{Debris, RecordAt},
};
use crate::{
    format::{Entry, Kind, MissingRecords, RecordMark, Root, VolumeId},
    map::{LOST, Map, UNMAPPED},
    shape::{BLOCK_BYTES, Checksums},
    tools::{ToolError, bits::Bits, scan::Reader},
    volume::Stream,
};
use std::{collections::BTreeMap, ops::Range};

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

/// The pages to begin with: the root's where every chunk behind it is there, else the newest that
/// can be found.
fn basis_of(
    reader: &mut Reader,
    id: VolumeId,
    counted: &Counted,
    root: Option<&Root>,
) -> Result<(Basis, BTreeMap<u32, Version>), ToolError> {
    if let Some(root) = root.filter(|root| counted.is_whole_behind(root.seq)) {
        return Ok((Basis::Root, pages::of_root(root)));
    }
    let versions = pages::newest(reader, id, counted, root)?;
    Ok((if versions.is_empty() { Basis::Chunks } else { Basis::Pages }, versions))
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
        let end = counted.end;
        let (basis, versions) = basis_of(reader, id, &counted, root.as_ref())?;
        let checksums = match superblock {
            Some(superblock) => superblock.shape.checksums,
            None => pages::tell_checksums(reader, id, &counted, &versions)?,
        };
        let page_entries = match checksums {
            Checksums::OnRead => 512,
            Checksums::OnCleaning => 1024,
        };
        let by_superblock = superblock.map(|superblock| superblock.shape.exported_bytes);
        let by_root = root.as_ref().map(|root| {
            u64::from(root.directory.len() as u32) * u64::from(page_entries) * BLOCK_BYTES
        });
        let exported_bytes = plan.exported_bytes.or(by_superblock).or(by_root);
        let exported_bytes = exported_bytes.unwrap_or(u64::from(remains.blocks) * BLOCK_BYTES);
        let blocks = exported_bytes.div_ceil(BLOCK_BYTES).min(u64::from(u32::MAX)) as u32;
        // Behind this number none is missing for any other reason than damage.
        let checkpoint = match basis {
            Basis::Root => root.as_ref().map_or(0, |root| root.seq),
            _ => versions.values().map(|version| version.floor).max().unwrap_or(0),
        };
        let there = counted.behind(checkpoint);
        let mut rebuilt = Self {
            map: Map::for_rescue(blocks),
            basis,
            doubtful: Bits::new(0, blocks as usize),
            unverified: Bits::new(0, blocks as usize),
            missing: end.saturating_sub(checkpoint).saturating_sub(there),
            records_missing: 0,
            pages_damaged: Vec::new(),
            trims: Vec::new(),
            places: counted.places(),
            versions,
            page_entries,
            blocks,
            device_blocks,
            counted,
        };
        rebuilt.load(reader, checksums)?;
        let behind = (basis == Basis::Root).then_some(checkpoint);
        let chunks = &rebuilt.counted.chunks;
        let records = ring::counted(reader, remains, superblock.as_ref(), chunks, behind, end)?;
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
