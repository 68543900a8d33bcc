//! Every block of the drive looked at: what is a superblock, a block of a root, the header of a
//! chunk. Each of these says itself where it belongs, so nothing needs to be known beforehand.

use crate::{
    format::{
        Entry, Found, Header, RecordHeader, Superblock, VolumeId, decode_chunk, decode_record,
        root_block_generation,
    },
    layout::Layout,
    shape::BLOCK_BYTES,
    tools::{Progress, ToolError, Watch, scan::Reader},
};
use block::{Drive, Engine};
use std::collections::BTreeMap;

const BLOCK: usize = BLOCK_BYTES as usize;
/// Headers are no longer: enough for a chunk of 16 MiB.
pub(super) const HEADER_BLOCKS_MAX: u64 = 16;

/// A chunk, wherever it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkAt {
    pub header: Header,
    /// Its first block on the drive.
    pub location: u32,
}

/// A record of the ring, wherever it is.
#[derive(Clone, Debug)]
pub(super) struct RecordAt {
    pub header: RecordHeader,
    /// Each with the number of its stream.
    pub entries: Vec<(u8, Entry)>,
    /// Its first block on the drive.
    pub location: u32,
}

/// What is left of one volume.
#[derive(Default, Debug)]
pub(super) struct Remains {
    pub superblocks: Vec<Superblock>,
    pub chunks: Vec<ChunkAt>,
    pub records: Vec<RecordAt>,
    /// The highest block that an entry with data names, and 1.
    pub blocks: u32,
}

/// What is on the drive.
#[derive(Default, Debug)]
pub(super) struct Debris {
    /// By volume id.
    pub volumes: BTreeMap<[u8; 16], Remains>,
    /// First blocks of roots, and their generation.
    pub roots: Vec<(u64, u64)>,
    pub bytes_unreadable: u64,
    /// Offsets of headers that went beyond what was at hand.
    long: Vec<u64>,
}

pub(super) fn survey(source: &mut dyn Engine, watch: &mut Watch) -> Result<Debris, ToolError> {
    let total = source.geometry(Drive(0)).capacity_bytes / BLOCK_BYTES * BLOCK_BYTES;
    let mut reader = Reader::new(source);
    let mut debris = Debris::default();
    reader.scan(std::iter::once(((), 0..total)), &mut |(), offset, read| {
        let mut done = offset + BLOCK_BYTES;
        match read {
            Ok(bytes) => {
                done = offset + bytes.len() as u64;
                (0..bytes.len()).step_by(BLOCK).for_each(|at| {
                    debris.take(offset + at as u64, &bytes[at..]);
                });
            }
            Err(_) => debris.bytes_unreadable += BLOCK_BYTES,
        }
        watch(Progress { doing: "looking for what is left", done, total })
    })?;
    let long = std::mem::take(&mut debris.long);
    let ranges = long
        .into_iter()
        .map(|offset| (offset, offset..(offset + HEADER_BLOCKS_MAX * BLOCK_BYTES).min(total)));
    let mut gathered = (0, Vec::new());
    reader.scan(ranges, &mut |&start, _, read| {
        if gathered.0 != start {
            gathered = (start, Vec::new());
        }
        if let Ok(bytes) = read {
            gathered.1.extend_from_slice(bytes);
            debris.take_chunk(start, &gathered.1);
        }
        std::ops::ControlFlow::Continue(())
    })?;
    for remains in debris.volumes.values_mut() {
        remains.chunks.sort_unstable_by_key(|chunk| (chunk.location, chunk.header.seq));
        remains.chunks.dedup_by_key(|chunk| chunk.location);
    }
    Ok(debris)
}

impl Debris {
    /// The block at `offset`; `bytes` may hold some of those behind it.
    fn take(&mut self, offset: u64, bytes: &[u8]) {
        if let Found::Valid(superblock) = Superblock::decode(offset, bytes)
            && Layout::with_root_areas(superblock.shape, superblock.root_bytes, u64::MAX).is_ok()
        {
            self.of(superblock.id).superblocks.push(superblock);
        } else if let Some(generation) = root_block_generation(offset, &bytes[..BLOCK]) {
            self.roots.push((offset, generation));
        } else if !self.take_record(offset, bytes)
            && !self.take_chunk(offset, bytes)
            && bytes.starts_with(b"DLch")
            && bytes.len() < (HEADER_BLOCKS_MAX * BLOCK_BYTES) as usize
        {
            self.long.push(offset);
        }
    }

    fn take_record(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let id = VolumeId(bytes[8..24].try_into().expect("16 bytes"));
        let Some((header, entries)) = decode_record(id, offset, bytes) else { return false };
        let remains = self.of(id);
        let named = entries.iter().filter(|(_, entry)| entry.kind.is_of_host());
        remains.blocks =
            named.map(|(_, entry)| entry.block.saturating_add(1)).fold(remains.blocks, u32::max);
        let location = (offset / BLOCK_BYTES) as u32;
        remains.records.push(RecordAt { header, entries, location });
        true
    }

    fn take_chunk(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let id = VolumeId(bytes[8..24].try_into().expect("16 bytes"));
        let Some((header, entries)) = decode_chunk(id, offset, bytes) else { return false };
        let remains = self.of(id);
        let named = entries.iter().filter(|entry| entry.kind.is_of_host());
        remains.blocks =
            named.map(|entry| entry.block.saturating_add(1)).fold(remains.blocks, u32::max);
        remains.chunks.push(ChunkAt { header, location: (offset / BLOCK_BYTES) as u32 });
        true
    }

    fn of(&mut self, id: VolumeId) -> &mut Remains {
        self.volumes.entry(id.0).or_default()
    }
}

impl Remains {
    /// The newest superblock, wherever it was found.
    pub fn superblock(&self) -> Option<&Superblock> {
        self.superblocks.iter().max_by_key(|superblock| superblock.generation)
    }
}
