//! The synchronous ring's records: what a flush had covered before its chunk was closed. What of them counts is said in
//! `docs/flash-format.md`, and is newer than all chunks that count.

use super::survey::{ChunkAt, RecordAt, Remains};
use crate::{
    format::{Superblock, block_crc},
    layout::{BLOCK_BYTES, Layout},
    tools::{ToolError, scan::Reader},
    volume::Stream,
};
use std::ops::ControlFlow;

/// The records that count, in the order of their numbers. `checkpoint` is the C of a root that can be trusted. Where
/// neither root nor superblock say which epoch is the newest, it is the highest of a record's or a chunk of the host's.
pub(super) fn counted(
    reader: &mut Reader,
    remains: &Remains,
    superblock: Option<&Superblock>,
    chunks: &[ChunkAt],
    checkpoint: Option<u64>,
    end: u64,
) -> Result<Vec<RecordAt>, ToolError> {
    let classes = [Stream::Host(0).number(), Stream::Host(1).number()];
    let told = checkpoint.is_some();
    let hosts = chunks.iter().filter(|chunk| !told && classes.contains(&chunk.header.stream));
    let highest = hosts
        .map(|chunk| chunk.header.epoch)
        .chain(remains.records.iter().map(|record| record.header.epoch))
        .max();
    let epoch = superblock.map(|superblock| superblock.epoch).or(highest);
    if superblock.is_some_and(|superblock| superblock.clean) {
        return Ok(Vec::new());
    }
    let of_epoch = remains.records.iter().filter(|record| Some(record.header.epoch) == epoch);
    let mut records: Vec<RecordAt> = of_epoch.cloned().collect();
    records.sort_unstable_by_key(|record| record.header.number);
    let Some(newest) = records.last().map(|record| record.header.number) else {
        return Ok(records);
    };
    if !is_whole(reader, records.last().expect("there is one"))? {
        // The ring's torn tail.
        records.pop();
    }
    let first = records.last().map_or(newest, |record| record.header.first);
    records.retain(|record| {
        record.header.number >= first
            && (checkpoint.unwrap_or(0)..=end).contains(&record.header.after)
    });
    for record in &mut records {
        record.void_what_chunks_hold(chunks);
    }
    Ok(records)
}

fn is_whole(reader: &mut Reader, record: &RecordAt) -> Result<bool, ToolError> {
    let data = record.entries.iter().filter(|(_, entry)| entry.kind.has_data());
    let ranges = data.zip(record.location + 1..).map(|((_, entry), location)| {
        (*entry, Layout::offset(location)..Layout::offset(location) + BLOCK_BYTES)
    });
    let mut whole = true;
    let ranges: Vec<_> = ranges.collect();
    reader.scan(ranges.into_iter(), &mut |entry, _, read| {
        whole &= read.is_ok_and(|data| block_crc(entry.block, data) == entry.crc);
        ControlFlow::Continue(())
    })?;
    Ok(whole)
}

impl RecordAt {
    /// Entries that a later chunk of their stream holds, or was there to hold, do not count. Their places stay: the
    /// others' data lie behind them.
    fn void_what_chunks_hold(&mut self, chunks: &[ChunkAt]) {
        for (stream, _) in &mut self.entries {
            let after = self.header.after;
            let held = chunks.iter().rev().take_while(|chunk| chunk.header.seq > after);
            let epoch = self.header.epoch;
            let of_stream =
                |chunk: &ChunkAt| chunk.header.stream == *stream && chunk.header.epoch == epoch;
            if held.into_iter().any(of_stream) {
                *stream = VOID;
            }
        }
    }
}

/// Stands for the stream of an entry that does not count.
pub(super) const VOID: u8 = u8::MAX;

/// How many entries of a chunk of the host count where no later chunk of its other class is left.
pub(super) fn sure(chunk: &ChunkAt, chunks: &[ChunkAt], newest: Option<&RecordAt>) -> usize {
    let sure = usize::from(chunk.header.sure);
    let Some(RecordAt { header, .. }) = newest else { return sure };
    if header.after >= chunk.header.seq {
        return usize::MAX;
    }
    let between =
        |other: &&ChunkAt| (header.after + 1..chunk.header.seq).contains(&other.header.seq);
    let earlier =
        chunks.iter().filter(between).any(|other| other.header.stream == chunk.header.stream);
    let recorded = header.recorded.get(usize::from(chunk.header.stream)).copied().unwrap_or(0);
    if earlier { sure } else { sure.max(usize::from(recorded)) }
}
