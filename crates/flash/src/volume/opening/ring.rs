//! The synchronous ring: what a flush had covered before its chunk was closed. It is newer than every chunk of the
//! host's that counts, and is appended to the log before the checkpoint that ends recovery.

use super::{OpenError, Opening, Step};
use crate::{
    broken::{Rule, broken},
    format::{Entry, Kind, RecordHeader, block_crc, decode_record},
    layout::BLOCK_BYTES,
    volume::ring::Replay,
};
use block::{Buf, IoError};

/// A record that was found.
#[derive(Debug)]
pub(super) struct Record {
    header: RecordHeader,
    /// Each with the number of its stream.
    entries: Vec<(u8, Entry)>,
}

impl Opening {
    pub(super) fn ask_ring(&mut self) {
        if self.superblock().clean {
            return;
        }
        for slot in 0..u64::from(self.layout().ring_slots) {
            let offset = self.layout().slot_offset(slot);
            self.send_read(slot, offset, BLOCK_BYTES);
        }
    }

    /// The records of the superblock's epoch. The newest one says which must be there.
    pub(super) fn take_ring(&mut self) -> Result<Step, OpenError> {
        let (superblock, layout) = (*self.superblock(), *self.layout());
        for (slot, read) in std::mem::take(&mut self.read) {
            let buffer = match read {
                Err(IoError::Offline) => return Err(OpenError::Io(IoError::Offline)),
                Err(_) => continue,
                Ok(buffer) => buffer,
            };
            let offset = layout.slot_offset(slot);
            let Some((header, entries)) = decode_record(superblock.id, offset, buffer.bytes())
            else {
                continue;
            };
            let of_epoch = header.epoch == superblock.epoch || broken(Rule::RecordEpoch);
            // Of those that are needed together no two are in one slot.
            let before = header.number.checked_sub(header.first);
            let possible = before.is_some_and(|before| before < u64::from(layout.ring_slots))
                && header.blocks <= layout.append_blocks;
            if possible && of_epoch && layout.slot_offset(header.number) == offset {
                self.durable_seq = self.durable_seq.max(header.durable_seq);
                self.newest_record = self.newest_record.max(header.number);
                self.records.insert(header.number, Record { header, entries });
            }
        }
        Ok(Step::Verify)
    }

    /// The data of what no chunk before the log's end holds.
    pub(super) fn ask_records(&mut self) {
        self.count_missing_records();
        let (c, end) = (self.root.seq, self.report.first_seq - 1);
        // Those before are in durable chunks, and may be half overwritten.
        let first = self.records.values().next_back().map_or(0, |newest| newest.header.first);
        self.records
            .retain(|&number, record| number >= first && (c..=end).contains(&record.header.after));
        for (number, blocks) in self
            .records
            .values()
            .map(|record| (record.header.number, record.header.blocks))
            .collect::<Vec<_>>()
        {
            let offset = self.layout().slot_offset(number);
            self.send_read(number, offset, u64::from(blocks) * BLOCK_BYTES);
        }
    }

    /// Every record before the newest one was durable, and from its `first` on they were needed when it was written.
    /// Those that chunks hold since then are not missed.
    fn count_missing_records(&mut self) {
        let Some((&newest, record)) = self.records.last_key_value() else { return };
        let classes = usize::from(self.layout().shape.classes.host);
        let last = self.last_host_chunks();
        let held = last[..classes].iter().copied().min().expect("there is a class");
        let is_held = |after: u64| after < held.max(self.root.seq);
        let missing = (record.header.first..newest).filter(|number| {
            let mut later = self.records.range(number..);
            let held = later.next().is_some_and(|(_, record)| is_held(record.header.after));
            !held && !self.records.contains_key(number)
        });
        let missing = missing.count() as u64;
        if !broken(Rule::RecordMissing) {
            self.report.records_missing = missing;
        }
    }

    pub(super) fn take_records(&mut self) -> Result<Step, OpenError> {
        let last = self.last_host_chunks();
        let mut replays = Vec::new();
        for (number, read) in std::mem::take(&mut self.read) {
            if read.as_ref().is_err_and(|error| *error == IoError::Offline) {
                return Err(OpenError::Io(IoError::Offline));
            }
            let record = &self.records[&number];
            let data: Vec<Option<Box<[u8]>>> = record.data(read.ok().as_ref());
            let torn = data.iter().any(Option::is_none) && !broken(Rule::RecordTorn);
            if number == self.newest_record && torn {
                self.records.remove(&number);
                self.report.records_cut += 1;
                continue;
            }
            let mut data = data.into_iter();
            let before = replays.len();
            for &(stream, entry) in &record.entries {
                let data = entry.kind.has_data().then(|| data.next().flatten());
                let held = last.get(usize::from(stream)).is_some_and(|&s| s > record.header.after);
                if held && !broken(Rule::ReplayAbsorbed) {
                    continue;
                }
                replays.extend(self.replay_of(&entry, data));
            }
            self.report.records_replayed += u64::from(replays.len() > before);
        }
        let lost = replays.iter().filter(|replay| matches!(replay, Replay::Lost(_)));
        self.report.record_blocks_lost = lost.count() as u64;
        self.replays = replays;
        self.cut_unsure();
        Ok(Step::Replay)
    }

    /// `data` is none for a trim, and the data or that they are damaged otherwise.
    fn replay_of(&self, entry: &Entry, data: Option<Option<Box<[u8]>>>) -> Option<Replay> {
        let exported = self.layout().exported_blocks;
        let block = Some(entry.block).filter(|&block| block < exported)?;
        Some(match (entry.kind, data) {
            (Kind::Write, Some(Some(data))) => Replay::Write(block, data),
            (Kind::Write, _) => Replay::Lost(block),
            _ => Replay::Trim(block, block.saturating_add(entry.argument).min(exported)),
        })
    }

    /// How many entries of a chunk count even where no later chunk of the host's other class is left: those that its
    /// header says, and what records have made durable together with the other class's.
    pub(super) fn sure(&self, seq: u64) -> usize {
        let chunk = &self.candidates[&seq];
        let stream = chunk.header.stream;
        let sure = usize::from(chunk.header.sure);
        let Some((_, newest)) = self.records.last_key_value() else { return sure };
        if newest.header.after >= seq {
            return chunk.entries.len();
        }
        let mut earlier = self.candidates.range(newest.header.after + 1..seq);
        let of_this = earlier.all(|(_, other)| other.header.stream != stream);
        let recorded = newest.header.recorded.get(usize::from(stream)).copied().unwrap_or(0);
        let counts = of_this && !broken(Rule::RecordedSure);
        if counts { sure.max(usize::from(recorded)) } else { sure }
    }
}

impl Record {
    /// The data of each entry that has some; none where they are damaged.
    fn data(&self, read: Option<&Buf>) -> Vec<Option<Box<[u8]>>> {
        let with_data = self.entries.iter().filter(|(_, entry)| entry.kind.has_data());
        let data = |(number, (_, entry)): (usize, &(u8, Entry))| {
            let start = number * BLOCK_BYTES as usize;
            let data = read?.bytes().get(start..start + BLOCK_BYTES as usize)?;
            (block_crc(entry.block, data) == entry.crc).then(|| data.into())
        };
        (1..).zip(with_data).map(data).collect()
    }
}
