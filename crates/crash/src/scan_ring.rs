//! What the synchronous ring holds that no chunk does, as a scan of all its slots finds it.

use super::chunk::{Chunk, bytes_at, crc_at};
use flash::{
    BLOCK_BYTES, Layout,
    testing::{Entry, Kind, RecordHeader, Superblock, UNMAPPED, decode_record},
};
use model::Media;
use std::collections::BTreeMap;

/// A record, its entries with their stream and the location of their data.
pub struct Found {
    pub header: RecordHeader,
    entries: Vec<(u8, Entry, u32)>,
    whole: bool,
}

/// The records of the superblock's epoch, in order.
pub fn records(medium: &Media, superblock: &Superblock, layout: &Layout) -> Vec<Found> {
    let mut found = BTreeMap::new();
    for slot in 0..u64::from(layout.ring_slots) {
        let offset = layout.slot_offset(slot);
        let Some(bytes) = bytes_at(medium, offset, BLOCK_BYTES) else { continue };
        let Some((header, entries)) = decode_record(superblock.id, offset, &bytes) else {
            continue;
        };
        let here = header.number % u64::from(layout.ring_slots) == slot;
        if header.epoch != superblock.epoch || !here {
            continue;
        }
        let mut location = (offset / BLOCK_BYTES) as u32 + 1;
        let place = |(stream, entry): (u8, Entry)| {
            let here = location;
            location += u32::from(entry.kind.has_data());
            (stream, entry, here)
        };
        let entries: Vec<_> = entries.into_iter().map(place).collect();
        let whole = entries
            .iter()
            .filter(|(_, entry, _)| entry.kind.has_data())
            .all(|(_, entry, location)| crc_at(medium, *location, entry.block) == Some(entry.crc));
        found.insert(header.number, Found { header, entries, whole });
    }
    found.into_values().collect()
}

/// Those that count behind a checkpoint at C, where the log ends at `end`: of those that the newest
/// says are needed, all but itself must be whole. The others may be half overwritten.
pub fn counted(mut records: Vec<Found>, c: u64, end: u64) -> Result<Vec<Found>, String> {
    let first = records.last().map_or(0, |newest| newest.header.first);
    records.retain(|record| record.header.number >= first);
    if records.last().is_some_and(|newest| !newest.whole) {
        records.pop();
    }
    records.retain(|record| (c..=end).contains(&record.header.after));
    match records.iter().find(|record| !record.whole) {
        Some(record) => Err(format!("record {} is not whole", record.header.number)),
        None => Ok(records),
    }
}

/// Entries of the chunk that count because a record was written after them.
pub fn sure(records: &[Found], chunk: &Chunk, chunks: &[&Chunk]) -> usize {
    let (stream, seq) = (chunk.header.stream, chunk.header.seq);
    match records.last().map(|record| &record.header) {
        None => 0,
        Some(newest) if newest.after >= seq => chunk.entries.len(),
        Some(newest) => {
            let between = newest.after + 1..seq;
            let is_other = |other: &&Chunk| {
                other.header.stream == stream && between.contains(&other.header.seq)
            };
            let other = chunks.iter().copied().any(|other| is_other(&other));
            if other { 0 } else { usize::from(newest.recorded[usize::from(stream)]) }
        }
    }
}

/// What no chunk holds goes into the map, which then points into the ring. Which blocks these are.
pub fn replay(records: &[Found], chunks: &[&Chunk], map: &mut [(u32, Option<u32>)]) -> Vec<u32> {
    let mut blocks = Vec::new();
    for record in records {
        for &(stream, entry, location) in &record.entries {
            let held = |chunk: &&&Chunk| {
                chunk.header.stream == stream && chunk.header.seq > record.header.after
            };
            if chunks.iter().find(held).is_some() {
                continue;
            }
            let at = entry.block as usize;
            match entry.kind {
                Kind::Write => map[at] = (location, Some(entry.crc)),
                _ => map[at..at + entry.argument as usize].fill((UNMAPPED, None)),
            }
            blocks.push(entry.block);
        }
    }
    blocks.retain(|&block| map[block as usize].0 != UNMAPPED);
    blocks
}
