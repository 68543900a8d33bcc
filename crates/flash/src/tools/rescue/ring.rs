//! The synchronous ring's records: what a flush had covered before its chunk was closed. What of
//! them counts is said in `docs/reference/flash-format.md`, and is newer than all chunks that
//! count.

use super::survey::{ChunkAt, RecordAt, Remains};
use crate::{
    format::{MissingRecords, RecordMark, RingMark, Superblock, block_crc},
    layout::Layout,
    shape::BLOCK_BYTES,
    tools::{ToolError, scan::Reader},
    volume::Stream,
};
use std::ops::ControlFlow;

/// What the ring still has.
pub(super) struct Records {
    /// In the order of their numbers.
    pub counted: Vec<RecordAt>,
    pub missing: MissingRecords,
}

/// The records that count, in the order of their numbers. `checkpoint` is the C of a root that can
/// be trusted. Where neither root nor superblock say which epoch is the newest, it is the highest
/// of a record's or a chunk of the host's.
pub(super) fn counted(
    reader: &mut Reader,
    remains: &Remains,
    superblock: Option<&Superblock>,
    chunks: &[ChunkAt],
    checkpoint: Option<u64>,
    end: u64,
) -> Result<Records, ToolError> {
    let classes = [Stream::Host(0).number(), Stream::Host(1).number()];
    let told = checkpoint.is_some();
    let hosts = chunks.iter().filter(|chunk| !told && classes.contains(&chunk.header.stream));
    let highest = hosts
        .map(|chunk| chunk.header.epoch)
        .chain(remains.records.iter().map(|record| record.header.epoch))
        .max();
    let epoch = superblock.map(|superblock| superblock.epoch).or(highest);
    if superblock.is_some_and(|superblock| superblock.clean) {
        return Ok(Records { counted: Vec::new(), missing: MissingRecords::default() });
    }
    let mark = superblock.map(|superblock| superblock.ring).unwrap_or_default();
    let of_epoch = remains.records.iter().filter(|record| Some(record.header.epoch) == epoch);
    let mut records: Vec<RecordAt> = of_epoch.cloned().collect();
    records.sort_unstable_by_key(|record| record.header.number);
    let newest = records.last().map_or(0, |record| record.header.number);
    if let Some(last) = records.last()
        && last.header.number > mark.last
        && !is_whole(reader, last)?
    {
        // The ring's torn tail.
        records.pop();
    }
    let missing = missing(&records, mark, chunks, checkpoint.unwrap_or(0));
    let first = records.last().map_or(newest, |record| record.header.first);
    records.retain(|record| {
        record.header.number >= first
            && (checkpoint.unwrap_or(0)..=end).contains(&record.header.after)
    });
    for record in &mut records {
        record.void_what_chunks_hold(chunks);
    }
    Ok(Records { counted: records, missing })
}

/// As at an opening: those that the newest one needed, and those that the superblock attests.
fn missing(
    records: &[RecordAt],
    mark: RingMark,
    chunks: &[ChunkAt],
    checkpoint: u64,
) -> MissingRecords {
    let (newest, first) = match records.last() {
        Some(RecordAt { header, .. }) if mark.last > header.number => {
            (header.number, header.first.min(mark.first))
        }
        Some(RecordAt { header, .. }) => (header.number, header.first),
        None => (0, mark.first),
    };
    let classes = [Stream::Host(0).number(), Stream::Host(1).number()];
    let last_of = |stream: u8| {
        let mut of_stream = chunks.iter().rev().filter(|chunk| chunk.header.stream == stream);
        of_stream.next().map(|chunk| chunk.header.seq)
    };
    // A volume with one class has no chunk of the other.
    let held = classes.into_iter().filter_map(last_of).min().unwrap_or(0).max(checkpoint);
    let records = records.iter().map(|RecordAt { header, .. }| (header.number, header.after));
    MissingRecords::between(records, first, newest.max(mark.last + 1), mark.after, held)
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
    /// Entries that a later chunk of their stream holds, or was there to hold, do not count. Their
    /// places stay: the others' data lie behind them.
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
pub(super) fn sure(chunk: &ChunkAt, chunks: &[ChunkAt], newest: Option<RecordMark>) -> usize {
    let sure = usize::from(chunk.header.sure);
    let Some(RecordMark { after, recorded }) = newest else { return sure };
    if after >= chunk.header.seq {
        return usize::MAX;
    }
    let between = |other: &&ChunkAt| (after + 1..chunk.header.seq).contains(&other.header.seq);
    let earlier =
        chunks.iter().filter(between).any(|other| other.header.stream == chunk.header.stream);
    let recorded = recorded.get(usize::from(chunk.header.stream)).copied().unwrap_or(0);
    if earlier { sure } else { sure.max(usize::from(recorded)) }
}
