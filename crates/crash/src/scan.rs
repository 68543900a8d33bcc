//! The map as a full scan of the medium finds it, for comparison with what opening makes of a few
//! segments.
//!
//! It trusts nothing but the superblock, the root and its pages: every append unit of every segment
//! is looked at for a chunk, wherever the free queue says that chunks may be; the data of every
//! chunk that counts are held against their checksums; and every location in the map must lie in a
//! whole chunk that says so.

use super::{
    chunk::{Chunk, bytes_at, crc_at},
    scan_ring,
};
use flash::{
    BLOCK_BYTES, Checksums, Layout,
    testing::{
        Entry, Found, Kind, LOST, Superblock, UNMAPPED, block_crc, copies, decode_chunk,
        decode_root,
    },
};
use model::Media;
use std::collections::BTreeMap;

/// What the drive holds, where transfers do not matter.
const TRANSFER_BYTES_MAX: u64 = 1 << 30;

/// What a scan makes of a medium.
pub struct Scan {
    /// Of every mapped or lost block, in order, its location.
    pub map: Vec<(u32, u32)>,
    /// Sequence numbers up to D that are nowhere.
    pub missing: u64,
    /// Blocks whose newest data only the ring has: opening moves them into the log.
    ring: Vec<u32>,
    pub layout: Layout,
}

impl Scan {
    /// Whether an open volume has everything where the scan found it. What only the ring had is in
    /// the log by now.
    pub fn agrees_with(&self, mappings: impl Iterator<Item = (u32, u32)>) -> bool {
        let moved = |block: u32, location: u32| self.ring.contains(&block) && location > LOST;
        let mut found = self.map.iter();
        let same = mappings.into_iter().all(|(block, location)| {
            found.next().is_some_and(|&(expected, place)| {
                expected == block && (place == location || moved(block, location))
            })
        });
        same && found.next().is_none()
    }
}

/// Looks at a medium that nobody is writing to.
///
/// # Errors
/// What cannot be, in words.
pub fn scan(medium: &Media) -> Result<Scan, String> {
    let (superblock, layout) = newest(medium)?;
    let bytes = |offset: u64, length: u64| bytes_at(medium, offset, length);
    let offset = layout.root_offset(superblock.root_generation);
    let image = bytes(offset, layout.root_bytes).ok_or("the root cannot be read")?;
    let root = decode_root(superblock.id, offset, superblock.root_generation, &image)
        .map_err(|place| format!("no root at {place}"))?;
    let chunks = chunks(medium, &superblock, &layout);
    let mut map = vec![(UNMAPPED, None); layout.exported_blocks as usize];
    for (page, &(location, crc)) in (0..).zip(&root.directory) {
        if location != 0 {
            let page_bytes = bytes(Layout::offset(location), BLOCK_BYTES);
            let good = page_bytes.filter(|bytes| block_crc(page, bytes) == crc);
            let good = good.ok_or_else(|| format!("page {page} is not at {location}"))?;
            take_page(&layout, page, &good, &mut map);
        }
    }
    let (mut missing, mut ring) = (0, Vec::new());
    if !superblock.clean {
        let records = scan_ring::records(medium, &superblock, &layout);
        let told = records.iter().map(|record| record.header.durable_seq).max().unwrap_or(0);
        let durable_seq = superblock.durable_seq.max(root.seq).max(told);
        let (counted, gaps) = roll(medium, &superblock, &layout, root.seq, durable_seq, &chunks);
        missing = gaps;
        let end = counted.last().map_or(root.seq, |chunk| chunk.header.seq);
        let records = scan_ring::counted(records, root.seq, end)?;
        for (chunk, entries) in with_what_is_sure(&counted, &records) {
            replay(&layout, chunk, entries, &mut map);
        }
        hold_against_chunks(medium, &layout, &chunks, &map)?;
        ring = scan_ring::replay(&records, &counted, &mut map);
    }
    let mapped = (0..).zip(&map).filter(|(_, (location, _))| *location != UNMAPPED);
    let scanned: Vec<(u32, u32)> =
        mapped.map(|(block, &(location, _))| (block, location)).collect();
    if ring.is_empty() {
        hold_against_chunks(medium, &layout, &chunks, &map)?;
    }
    Ok(Scan { map: scanned, missing, ring, layout })
}

/// The superblock of the highest generation, and where that puts everything.
pub(super) fn newest(medium: &Media) -> Result<(Superblock, Layout), String> {
    let mut newest: Option<Superblock> = None;
    for round in 0..2 {
        let unit = newest.map_or(BLOCK_BYTES, |superblock| superblock.shape.unit_bytes());
        let device = newest.map_or(medium.capacity_bytes(), |found| found.shape.device_bytes);
        for offset in copies(device, unit) {
            let Some(bytes) = bytes_at(medium, offset, BLOCK_BYTES) else { continue };
            if let Found::Valid(found) = Superblock::decode(offset, &bytes)
                && newest.is_none_or(|newest| found.generation > newest.generation)
            {
                newest = Some(found);
            }
        }
        if newest.is_none() {
            return Err(format!("no superblock in round {round}"));
        }
    }
    let superblock = newest.expect("it was just found");
    let layout =
        Layout::with_root_areas(superblock.shape, superblock.root_bytes, TRANSFER_BYTES_MAX)
            .map_err(|refusal| format!("the superblock makes no sense: {refusal}"))?;
    Ok((superblock, layout))
}

/// Every whole header in any segment, by location.
fn chunks(medium: &Media, superblock: &Superblock, layout: &Layout) -> BTreeMap<u32, Chunk> {
    let mut chunks = BTreeMap::new();
    let sectors = BLOCK_BYTES / u64::from(medium.sector_bytes());
    for segment in 0..layout.segments {
        let first = layout.location(segment);
        for place in (first..first + layout.segment_blocks).step_by(layout.append_blocks as usize) {
            let start = medium.sector(u64::from(place) * sectors);
            if start.is_none_or(|bytes| bytes[..4] != *b"DLch") {
                continue;
            }
            let offset = Layout::offset(place);
            let header_bytes = u64::from(layout.header_blocks) * BLOCK_BYTES;
            let Some(bytes) = bytes_at(medium, offset, header_bytes) else { continue };
            if let Some((header, entries)) = decode_chunk(superblock.id, offset, &bytes) {
                chunks.insert(place, Chunk { header, entries, place });
            }
        }
    }
    chunks
}

fn take_page(layout: &Layout, page: u32, bytes: &[u8], map: &mut [(u32, Option<u32>)]) {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let first = (page * layout.page_entries) as usize;
    for (entry, at) in map.iter_mut().skip(first).take(layout.page_entries as usize).zip(0..) {
        *entry = match layout.shape.checksums {
            Checksums::OnRead => (word(at * 8), Some(word(at * 8 + 4))),
            Checksums::OnCleaning => (word(at * 4), None),
        };
    }
}

/// The chunks behind C that count, in their order, and how many are missing.
fn roll<'a>(
    medium: &Media,
    superblock: &Superblock,
    layout: &Layout,
    checkpoint_seq: u64,
    mut durable_seq: u64,
    chunks: &'a BTreeMap<u32, Chunk>,
) -> (Vec<&'a Chunk>, u64) {
    let mut behind: BTreeMap<u64, &Chunk> = BTreeMap::new();
    for chunk in chunks.values() {
        let header = &chunk.header;
        if header.epoch != superblock.epoch || header.seq <= checkpoint_seq {
            continue;
        }
        durable_seq = durable_seq.max(header.durable_seq);
        let other = behind.get(&header.seq);
        if other.is_none_or(|other| other.header.attempt < header.attempt) {
            behind.insert(header.seq, chunk);
        }
    }
    let (mut counted, mut missing) = (Vec::new(), 0);
    for seq in checkpoint_seq + 1.. {
        match behind.get(&seq) {
            Some(chunk) if seq <= durable_seq || is_whole(medium, layout, chunk) => {
                counted.push(*chunk);
            }
            _ if seq > durable_seq => break,
            _ => missing += 1,
        }
    }
    (counted, missing)
}

/// The host's two streams fill side by side: of a chunk with no chunk of the other behind it, only
/// those entries count that are sure.
fn with_what_is_sure<'a>(
    counted: &[&'a Chunk],
    records: &[scan_ring::Found],
) -> Vec<(&'a Chunk, &'a [Entry])> {
    let entries = |(at, chunk): (usize, &&'a Chunk)| {
        let other = match chunk.header.stream {
            0 => 1,
            1 => 0,
            _ => return (*chunk, &chunk.entries[..]),
        };
        let followed = counted[at..].iter().any(|later| later.header.stream == other);
        let recorded = scan_ring::sure(records, chunk, counted);
        let sure = usize::from(chunk.header.sure).max(recorded).min(chunk.entries.len());
        (*chunk, if followed { &chunk.entries[..] } else { &chunk.entries[..sure] })
    };
    counted.iter().enumerate().map(entries).collect()
}

/// Entries with data, each with its location.
fn placed<'a>(layout: &Layout, chunk: &'a Chunk) -> impl Iterator<Item = (u32, &'a Entry)> {
    let with_data = chunk.entries.iter().filter(|entry| entry.kind.has_data());
    (chunk.place + layout.header_blocks..).zip(with_data)
}

fn is_whole(medium: &Media, layout: &Layout, chunk: &Chunk) -> bool {
    placed(layout, chunk)
        .all(|(location, entry)| crc_at(medium, location, entry.block) == Some(entry.crc))
}

fn replay(layout: &Layout, chunk: &Chunk, entries: &[Entry], map: &mut [(u32, Option<u32>)]) {
    let mut location = chunk.place + layout.header_blocks;
    for entry in entries {
        let at = entry.block as usize;
        match entry.kind {
            Kind::Write => map[at] = (location, Some(entry.crc)),
            Kind::Copy if map[at].0 == entry.argument => map[at] = (location, Some(entry.crc)),
            Kind::Lost if map[at].0 == entry.argument => map[at] = (LOST, None),
            Kind::Trim => map[at..at + entry.argument as usize].fill((UNMAPPED, None)),
            Kind::Copy | Kind::Lost | Kind::Page => {}
        }
        location += u32::from(entry.kind.has_data());
    }
}

/// What the map points to must be in a chunk that says it is that block, with the data that it had.
fn hold_against_chunks(
    medium: &Media,
    layout: &Layout,
    chunks: &BTreeMap<u32, Chunk>,
    map: &[(u32, Option<u32>)],
) -> Result<(), String> {
    for (block, &(location, crc)) in (0..).zip(map).filter(|(_, (location, _))| *location > LOST) {
        let chunk = chunks.range(..location).next_back().map(|(_, chunk)| chunk);
        let found = chunk.and_then(|chunk| {
            placed(layout, chunk).find(|(place, entry)| *place == location && entry.block == block)
        });
        let Some((_, entry)) = found else {
            return Err(format!("block {block} is mapped to {location}, where no chunk has it"));
        };
        let seen = crc_at(medium, location, block);
        if seen != Some(entry.crc) || crc.is_some_and(|crc| crc != entry.crc) {
            return Err(format!("block {block} at {location}: {seen:?}, {crc:?}, {entry:?}"));
        }
    }
    Ok(())
}

/// The first word of each sector of the volume, read from where the map has it.
pub fn values(medium: &Media, scan: &Scan) -> Vec<u64> {
    let sectors = scan.layout.shape.exported_bytes / 512;
    let mut values = vec![0; sectors as usize];
    for &(block, location) in &scan.map {
        assert!(location > LOST, "block {block} is lost");
        let first = block as usize * 8;
        let of_block = BLOCK_BYTES / u64::from(medium.sector_bytes());
        let sectors = u64::from(location) * of_block..(u64::from(location) + 1) * of_block;
        let bytes = sectors.map(|sector| medium.sector(sector).expect("the scan has read it"));
        let words = bytes.flat_map(|bytes| bytes.chunks(512));
        for (value, word) in values[first..].iter_mut().zip(words) {
            *value = u64::from_le_bytes(word[..8].try_into().expect("eight bytes"));
        }
    }
    values
}

/// The superblock's epoch, and the highest of any chunk.
pub fn epochs(medium: &Media) -> (u32, u32) {
    let (superblock, layout) = newest(medium).expect("there is a superblock");
    let chunks = chunks(medium, &superblock, &layout);
    let highest = chunks.values().map(|chunk| chunk.header.epoch).max();
    (superblock.epoch, highest.unwrap_or(0))
}

/// Offsets of the segments that the newest checkpoint has in its free queue.
pub fn free_segments(medium: &Media) -> Vec<u64> {
    let (superblock, layout) = newest(medium).expect("there is a superblock");
    let offset = layout.root_offset(superblock.root_generation);
    let image = bytes_at(medium, offset, layout.root_bytes).expect("healthy");
    let root = decode_root(superblock.id, offset, superblock.root_generation, &image);
    let free = root.expect("healthy").free.into_iter();
    free.map(|segment| Layout::offset(layout.location(segment))).collect()
}

/// Where the chunks of the superblock's epoch are, and their numbers.
pub fn chunks_of_epoch(medium: &Media) -> Vec<(u64, u64)> {
    let (superblock, layout) = newest(medium).expect("there is a superblock");
    let chunks = chunks(medium, &superblock, &layout).into_values();
    let of_epoch = chunks.filter(|chunk| chunk.header.epoch == superblock.epoch);
    of_epoch.map(|chunk| (Layout::offset(chunk.place), chunk.header.seq)).collect()
}

/// Chunks behind the newest checkpoint in the order of their numbers: where each is, and how many
/// blocks from there are its header and data.
pub fn chunks_behind_checkpoint(medium: &Media) -> Vec<(u64, u64)> {
    let (superblock, layout) = newest(medium).expect("there is a superblock");
    let offset = layout.root_offset(superblock.root_generation);
    let image = bytes_at(medium, offset, layout.root_bytes).expect("healthy");
    let root = decode_root(superblock.id, offset, superblock.root_generation, &image);
    let chunks = chunks(medium, &superblock, &layout);
    let (counted, _) = roll(medium, &superblock, &layout, root.expect("healthy").seq, 0, &chunks);
    let blocks =
        |chunk: &Chunk| u64::from(layout.header_blocks) + placed(&layout, chunk).count() as u64;
    counted.iter().map(|chunk| (Layout::offset(chunk.place), blocks(chunk))).collect()
}

/// Where the pages of the newest checkpoint's map are.
pub fn pages(medium: &Media) -> Vec<u32> {
    let (superblock, layout) = newest(medium).expect("there is a superblock");
    let offset = layout.root_offset(superblock.root_generation);
    let image = bytes_at(medium, offset, layout.root_bytes).expect("healthy");
    let root = decode_root(superblock.id, offset, superblock.root_generation, &image);
    let directory = root.expect("healthy").directory.into_iter();
    directory.map(|(location, _)| location).filter(|&location| location != 0).collect()
}
