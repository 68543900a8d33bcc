//! Which chunks count, and where the log ends.

use super::{
    ring,
    survey::{ChunkAt, HEADER_BLOCKS_MAX, Remains},
};
use crate::{
    format::{
        ENTRY_BYTES, Entry, HEADER_BYTES, RecordMark, Root, Superblock, VolumeId, block_crc,
        decode_chunk,
    },
    layout::Layout,
    shape::BLOCK_BYTES,
    tools::{ToolError, scan::Reader},
    volume::Stream,
};
use std::{collections::BTreeMap, ops::ControlFlow};

const BLOCK: usize = BLOCK_BYTES as usize;

/// Eight times as many chunks tell how long a header is.
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
    pub suspect: BTreeMap<u64, usize>,
    /// Behind the last number that is missing everything is there.
    pub gapless_from: u64,
    /// The last number that counts, whether it is there or not.
    pub end: u64,
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

impl Counted {
    pub fn new(
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

    /// How many have a later number than this.
    pub fn behind(&self, seq: u64) -> u64 {
        (self.chunks.len() - self.chunks.partition_point(|chunk| chunk.header.seq <= seq)) as u64
    }

    /// Whether none is missing behind this number.
    pub fn is_whole_behind(&self, seq: u64) -> bool {
        self.behind(seq) == self.end.saturating_sub(seq)
    }

    /// First location, length in blocks and number of each chunk, by place.
    pub fn places(&self) -> Vec<(u32, u32, u64)> {
        let place = |chunk: &ChunkAt| (chunk.location, chunk.header.blocks, chunk.header.seq);
        let mut places: Vec<_> = self.chunks.iter().map(place).collect();
        places.sort_unstable();
        places
    }

    /// Of a chunk of one of the host's two streams behind which none of the other is left only the
    /// sure entries count, if that is not because its segment was used again: then a number would
    /// be missing.
    pub fn mark_unsure(&mut self, newest: Option<RecordMark>) {
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
    pub fn mark_cut(&mut self, superblock: Option<&Superblock>) {
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
