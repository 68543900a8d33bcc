//! Copying out: block after block of the volume, as far as each fits its checksum.

use super::{Destination, RescueReport, Survey, count::headers};
use crate::{
    format::block_crc,
    layout::Layout,
    map::{LOST, Map},
    shape::BLOCK_BYTES,
    tools::{Progress, ToolError, Watch, scan::Reader},
};
use block::IoError;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{ControlFlow, Range},
};

const BLOCK: usize = BLOCK_BYTES as usize;

/// Blocks and locations that go on together.
type Run = (u32, u32, u32);

struct Out<'a> {
    destination: &'a mut Destination<'a>,
    exported_bytes: u64,
    failed: Option<IoError>,
}

impl Out<'_> {
    /// The last block of a volume may end within it.
    fn put(&mut self, block: u32, data: &[u8]) -> ControlFlow<()> {
        let offset = u64::from(block) * BLOCK_BYTES;
        let length = (self.exported_bytes - offset).min(BLOCK_BYTES) as usize;
        match (self.destination)(offset, &data[..length]) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// A break came from here or from whoever watches.
    fn outcome(&mut self, result: Result<(), ToolError>) -> Result<(), ToolError> {
        self.failed.take().map_or(result, |error| Err(ToolError::Io(error)))
    }
}

pub(super) fn copy_out(
    survey: Survey,
    reader: &mut Reader,
    destination: &mut Destination,
    watch: &mut Watch,
) -> Result<RescueReport, ToolError> {
    let Survey { id, exported_bytes, rebuilt, mut report } = survey;
    let mut out = Out { destination, exported_bytes, failed: None };
    let map = &rebuilt.map;
    let (mut done, total) = (0, u64::from(map.mapped()));
    let known_lost = map.iter().filter(|&(_, location)| location == LOST).map(|(block, _)| block);
    let mut lost: BTreeSet<u32> = known_lost.collect();
    let ranges = runs(map.iter().filter(|&(_, location)| location > LOST)).into_iter();
    let ranges = ranges.map(|run| {
        let (_, location, count) = run;
        (run, Layout::offset(location)..Layout::offset(location + count))
    });
    let copied = reader.scan(ranges, &mut |&(first, location, count), offset, read| {
        let block = first + (offset / BLOCK_BYTES) as u32 - location;
        let Ok(bytes) = read else {
            // Beyond the end of the drive the rest comes in one piece.
            let is_beyond = offset >= Layout::offset(rebuilt.device_blocks);
            lost.extend(block..if is_beyond { first + count } else { block + 1 });
            return ControlFlow::Continue(());
        };
        for (data, block) in bytes.chunks_exact(BLOCK).zip(block..) {
            let (_, crc) = map.get(block);
            if !rebuilt.unverified.contains(block) && crc != Some(block_crc(block, data)) {
                lost.insert(block);
                continue;
            }
            let doubtful = rebuilt.doubtful.contains(block);
            push(if doubtful { &mut report.doubtful } else { &mut report.recovered }, block);
            out.put(block, data)?;
        }
        done += (bytes.len() / BLOCK) as u64;
        watch(Progress { doing: "copying out", done, total })
    });
    out.outcome(copied)?;
    if !lost.is_empty() {
        let older = older_versions(reader, id, &rebuilt, &lost)?;
        let put = try_older(reader, older, &mut |block, data| {
            lost.remove(&block);
            report.doubtful.push(block..block + 1);
            out.put(block, data)
        });
        out.outcome(put)?;
    }
    for blocks in rebuilt.doubtful.ranges().flat_map(|blocks| unmapped(map, blocks)) {
        push_all(&mut report.doubtful, blocks);
    }
    report.doubtful.sort_unstable_by_key(|range| range.start);
    join(&mut report.doubtful);
    lost.into_iter().for_each(|block| push(&mut report.lost, block));
    Ok(report)
}

/// Where other versions of the blocks are, the newest first: number, location, checksum.
type Versions = BTreeMap<u32, Vec<(u64, u32, u32)>>;

fn older_versions(
    reader: &mut Reader,
    id: crate::format::VolumeId,
    rebuilt: &super::Rebuilt,
    lost: &BTreeSet<u32>,
) -> Result<Versions, ToolError> {
    let mut versions = Versions::new();
    let header_blocks = rebuilt.counted.header_blocks;
    headers(reader, id, header_blocks, &rebuilt.counted.chunks, &mut |chunk, entries| {
        let with_data = entries.iter().filter(|entry| entry.kind.has_data());
        for (entry, location) in with_data.zip(chunk.location + header_blocks..) {
            if entry.kind.is_of_host()
                && lost.contains(&entry.block)
                && rebuilt.map.get(entry.block).0 != location
            {
                let version = (chunk.header.seq, location, entry.crc);
                versions.entry(entry.block).or_default().push(version);
            }
        }
    })?;
    versions
        .values_mut()
        .for_each(|versions| versions.sort_unstable_by_key(|v| std::cmp::Reverse(v.0)));
    Ok(versions)
}

/// The newest version of each that can be read and fits its checksum.
fn try_older(
    reader: &mut Reader,
    versions: Versions,
    put: &mut dyn FnMut(u32, &[u8]) -> ControlFlow<()>,
) -> Result<(), ToolError> {
    let mut found = BTreeSet::new();
    let ranges = versions.iter().flat_map(|(&block, versions)| {
        versions.iter().map(move |&(_, location, crc)| {
            ((block, crc), Layout::offset(location)..Layout::offset(location + 1))
        })
    });
    reader.scan(ranges, &mut |&(block, crc), _, read| match read {
        Ok(data) if !found.contains(&block) && block_crc(block, data) == crc => {
            found.insert(block);
            put(block, data)
        }
        _ => ControlFlow::Continue(()),
    })
}

/// The blocks among these that are not mapped. A superblock may say terabytes: pages without a
/// mapped block take no time for each of theirs.
fn unmapped(map: &Map, blocks: Range<u32>) -> impl Iterator<Item = Range<u32>> {
    let mut from = blocks.start;
    std::iter::from_fn(move || {
        while from < blocks.end {
            let (first, mapped) = (from, map.next_mapped(from, blocks.end));
            let end = mapped.unwrap_or(blocks.end);
            from = end.saturating_add(1);
            if first < end {
                return Some(first..end);
            }
        }
        None
    })
}

/// Joins what goes on in block and location: first block, its location, how many.
fn runs(mappings: impl Iterator<Item = (u32, u32)>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (block, location) in mappings {
        match runs.last_mut() {
            Some((first, place, count))
                if *first + *count == block && *place + *count == location =>
            {
                *count += 1;
            }
            _ => runs.push((block, location, 1)),
        }
    }
    runs
}

/// Adds a block behind all others.
fn push(ranges: &mut Vec<Range<u32>>, block: u32) {
    push_all(ranges, block..block + 1);
}

fn push_all(ranges: &mut Vec<Range<u32>>, blocks: Range<u32>) {
    match ranges.last_mut() {
        Some(range) if range.end == blocks.start => range.end = blocks.end,
        _ => ranges.push(blocks),
    }
}

/// Joins ranges that touch; they are in order.
fn join(ranges: &mut Vec<Range<u32>>) {
    ranges.dedup_by(|next, range| {
        let touches = next.start == range.end;
        if touches {
            range.end = next.end;
        }
        touches
    });
}
