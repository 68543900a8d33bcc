//! The synchronous ring: what a flush had covered before its chunk was closed. It is newer than
//! every chunk of the host's that counts, and is appended to the log before the checkpoint that
//! ends recovery.

use super::{OpenError, Opening, Step};
use crate::{
    broken::{Rule, broken},
    format::{
        Entry, Kind, MissingRecords, RecordHeader, RecordMark, RingMark, block_crc, decode_record,
    },
    shape::BLOCK_BYTES,
    volume::replays::Replay,
};
use block::{Buf, IoError};

/// How many slots are being looked at at a time.
const LANES: u64 = 64;

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
        for slot in 0..LANES {
            self.ask_slot(slot);
        }
    }

    fn ask_slot(&mut self, slot: u64) {
        if slot < u64::from(self.layout().ring_slots) {
            self.send_read(slot, self.layout().slot_offset(slot), BLOCK_BYTES);
        }
    }

    /// The front of a slot has come: if a record of the superblock's epoch begins there, it is
    /// kept.
    pub(super) fn slot_on(&mut self, slot: u64) {
        let (superblock, layout) = (*self.superblock(), *self.layout());
        let offset = layout.slot_offset(slot);
        let read = self.take_read(slot);
        let record = read.as_ref().ok().and_then(|buffer| {
            decode_record(superblock.id, offset, &buffer.bytes()[..BLOCK_BYTES as usize])
        });
        if read.is_err() {
            self.unreadable_slots.push(offset);
        }
        self.give_back(read);
        if let Some((header, entries)) = record {
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
        self.ask_slot(slot + LANES);
    }

    /// All records are known. The newest one says which must be there.
    pub(super) fn take_ring(&mut self) -> Result<Step, OpenError> {
        self.refuse_offline()?;
        let (superblock, layout) = (*self.superblock(), *self.layout());
        // Those before are known to be missing. The next one may have been flushed.
        let next = layout.ring_slots > 0 && {
            let next = self.newest_record.max(superblock.ring.last) + 1;
            self.unreadable_slots.contains(&layout.slot_offset(next))
        };
        if next && !broken(Rule::UnreadableTail) {
            self.report.tail_unreadable += 1;
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

    /// Every record before the newest one was durable, and from its `first` on they were needed
    /// when it was written; and so says the superblock of the last one that it knows. Those that
    /// chunks hold since then are not missed.
    fn count_missing_records(&mut self) {
        if self.superblock().clean {
            return;
        }
        let classes = usize::from(self.layout().shape.classes.host);
        let last = self.last_host_chunks(u64::MAX);
        let held = last[..classes].iter().copied().min().expect("there is a class");
        let RingMark { last: marked, first: marked_first, after: marked_after } =
            self.superblock().ring;
        let newest = self.records.last_key_value().map(|(&number, record)| {
            let first = record.header.first;
            (number, if marked > number { first.min(marked_first) } else { first })
        });
        let (newest, first) = newest.unwrap_or((0, marked_first));
        let records = self.records.iter().map(|(&number, record)| (number, record.header.after));
        let (end, held) = (newest.max(marked + 1), held.max(self.root.seq));
        let missing = MissingRecords::between(records, first, end, marked_after, held);
        self.last_missing_record = (missing.count > 0).then_some((missing.last, missing.after));
        if !broken(Rule::RecordMissing) {
            self.report.records_missing = missing.count;
        }
    }

    /// What records say from that number on, of those begun when a chunk had its number.
    pub(super) fn records_since(&self, number: u64, chunk: u64) -> impl Iterator<Item = &Entry> {
        let records = self.records.range(number..).map(|(_, record)| record);
        let younger = records.filter(move |record| record.header.after >= chunk);
        younger.flat_map(|record| record.entries.iter().map(|(_, entry)| entry))
    }

    pub(super) fn take_records(&mut self) -> Result<Step, OpenError> {
        let last = self.last_host_chunks(u64::MAX);
        let mut replays = Vec::new();
        for (number, read) in std::mem::take(&mut self.read) {
            if read.as_ref().is_err_and(|error| *error == IoError::Offline) {
                return Err(OpenError::Io(IoError::Offline));
            }
            // Damaged it may be the torn tail; unreadable it may be what was flushed last.
            let newest = number == self.newest_record && number > self.superblock().ring.last;
            let unreadable = read.is_err() && newest && !broken(Rule::UnreadableTail);
            self.report.tail_unreadable += u64::from(unreadable);
            let record = &self.records[&number];
            let data: Vec<Option<Box<[u8]>>> = record.data(read.ok().as_ref());
            let torn = data.iter().any(Option::is_none) && !broken(Rule::RecordTorn);
            if newest && torn && !unreadable {
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
        self.cut_unsure()?;
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

    /// What the newest record says of chunks.
    pub(super) fn newest_record_mark(&self) -> Option<RecordMark> {
        let (_, Record { header, .. }) = self.records.last_key_value()?;
        Some(RecordMark { after: header.after, recorded: header.recorded })
    }

    /// How many entries of a chunk count even where no later chunk of the host's other class is
    /// left: those that its header says, and what records, of which this is the newest, have made
    /// durable together with the other class's.
    pub(super) fn sure(&self, seq: u64, record: Option<RecordMark>) -> usize {
        let chunk = &self.candidates[&seq];
        let stream = chunk.header.stream;
        let sure = usize::from(chunk.header.sure);
        let Some(newest) = record else { return sure };
        if newest.after >= seq {
            return chunk.entries.len();
        }
        let mut earlier = self.candidates.range(newest.after + 1..seq);
        let of_this = earlier.all(|(_, other)| other.header.stream != stream);
        let recorded = newest.recorded.get(usize::from(stream)).copied().unwrap_or(0);
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
