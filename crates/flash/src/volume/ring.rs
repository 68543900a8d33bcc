//! The synchronous ring: where a little data goes that a flush cannot wait to see in a whole
//! stripe.
//!
//! ```text
//!   open chunk  | header | a | b | c | d | ...     goes on filling, and closes the usual way
//!   ring        ... | hdr a        | hdr b c      |  next  | ...    one record a stripe
//! ```
//!
//! A record holds what no earlier record of the open chunks does. When a chunk has closed and is
//! durable, it has *absorbed* the records of its entries: their slots may be used again. Record n
//! is begun when record n-1 and all chunks before that one are durable, so that at most one record
//! on the drive was never acknowledged.

use super::{
    chunk::Chunk,
    counters::Counters,
    io::{Mark, Why},
    log::Log,
};
use crate::broken::{Rule, broken};
use crate::{
    buffers::bytes,
    format::{RECORD_ENTRIES, RecordHeader, RingMark, encode_record},
    shape::BLOCK_BYTES,
};
use block::{Command, Durability, Extent, IoError, Payload};
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub(super) struct Ring {
    /// The last record that was begun, the last that is on the drive, the last that is durable
    /// there.
    last: u64,
    written: u64,
    durable: u64,
    /// The last chunk that had its number when the last record was begun.
    after: u64,
    /// The last record that is durable in its slot, and the last chunk that had its number when
    /// that was begun. Of a record that failed, a chunk has taken the place.
    whole: u64,
    whole_after: u64,
    durability: Option<Durability>,
    /// The last records, as far as no durable chunks hold their entries.
    needed: VecDeque<Needed>,
    /// A record failed: none is written before the chunk that took its place is durable.
    resume_seq: u64,
    blocks: u64,
    absorbed: u64,
}

#[derive(Clone, Debug)]
struct Needed {
    /// Bit by bit, the streams whose open chunk holds entries of it.
    open: u8,
    /// The last chunk that held some and was closed.
    seq: u64,
}

/// How a flush makes durable what is in open chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Close,
    Record,
    /// By a record, once the one before it is durable.
    Wait,
}

impl Ring {
    /// The last record that was begun.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The last one on the drive, flushed or not.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The last durable one.
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// Every record up to this one is durable.
    pub fn made_durable(&mut self, number: u64) {
        assert!(number <= self.written, "record {number} is durable, {} written", self.written);
        if number > self.durable {
            self.durable = number;
            // None is begun before the one before it is durable: this is the last.
            (self.whole, self.whole_after) = (number, self.after);
        }
    }

    /// What a superblock says of it.
    pub fn mark(&self) -> RingMark {
        let needed = self.needed.len() as u64;
        let first = (self.last - needed + 1).min(self.whole + 1);
        RingMark { last: self.whole, first, after: self.whole_after }
    }

    /// Lets go of the records that durable chunks hold.
    fn absorb(&mut self, log: &mut Log) {
        for (class, seq) in (0..).zip(log.take_sealed()) {
            let Some(seq) = seq else { continue };
            // Every record that holds entries of the class was written before: of this chunk.
            for record in self.needed.iter_mut().filter(|record| record.open & 1 << class > 0) {
                (record.open, record.seq) = (record.open & !(1 << class), record.seq.max(seq));
            }
        }
        let before = self.needed.len();
        let absorbed = |record: &Needed| {
            record.open == 0 && (record.seq <= log.durable_seq() || broken(Rule::Absorbed))
        };
        while self.needed.front().is_some_and(absorbed) {
            self.needed.pop_front();
        }
        self.absorbed += (before - self.needed.len()) as u64;
    }

    /// Whether open chunks hold anything that would be lost with them, or decide about what a
    /// closed one holds.
    pub fn lacks(&self, log: &Log) -> bool {
        let unsure = log.unsure_seq() > self.after;
        log.open_host_chunks().any(|chunk| unsure || chunk.recorded.entries < chunk.entries.len())
    }

    /// Whether what is in open chunks goes into a record.
    ///
    /// Closing wastes the padding of each chunk and the header of the next one. A record is written
    /// in addition, and in RAID-5 each block of it costs four transfers: old data and old parity
    /// read, both written. A block of padding costs one and its part of the parity, 1 + 1/n on n
    /// data drives. So padding must be 4 / (1 + 1/n) times the record, which is three times for n =
    /// 3, and between 2.7 and 4 for any other.
    pub fn way_down(&mut self, log: &mut Log) -> Way {
        let layout = log.blocks.layout;
        let slots = layout.ring_slots as usize;
        if slots == 0 {
            return Way::Close;
        }
        self.absorb(log);
        let (mut entries, mut blocks, mut waste) = (0, 1, 0);
        for chunk in log.open_host_chunks() {
            let used = layout.header_blocks + chunk.data;
            entries += chunk.entries.len() - chunk.recorded.entries;
            blocks += chunk.data - chunk.recorded.data;
            waste += used.next_multiple_of(layout.append_blocks) - used;
            waste += layout.header_blocks;
        }
        // The slot after the last one may be half written when the power fails.
        let full = self.needed.len() + 1 >= slots;
        let reached = if broken(Rule::RecordOrder) { self.written } else { self.durable };
        if full || entries > RECORD_ENTRIES || 3 * blocks > waste {
            Way::Close
        } else if reached < self.last || log.durable_seq() < self.resume_seq {
            Way::Wait
        } else {
            Way::Record
        }
    }

    /// Writes a record with what no earlier one holds. Where all chunks are durable, it needs no
    /// flush.
    pub fn write_record(&mut self, log: &mut Log) {
        let number = self.last + 1;
        let in_order = self.durable == self.last || broken(Rule::RecordOrder);
        assert!(in_order, "record {number} before {} is durable", self.last);
        let header = self.header(log, number);
        let layout = &log.blocks.layout;
        assert!(header.blocks <= layout.append_blocks, "a record fits its slot: {header:?}");
        let at = Extent {
            offset: layout.slot_offset(number),
            bytes: header.blocks * BLOCK_BYTES as u32,
        };
        let alone = log.durable_seq() == log.last_seq();
        let durability = if alone { Durability::Fua } else { Durability::Cached };
        let mut from = log.io.take(u64::from(at.bytes));
        if let Some(record) = crate::buffers::bytes_mut(&mut from) {
            fill_record(log, at.offset, &header, record);
        }
        self.needed.push_back(Needed { open: log.mark_recorded(), seq: 0 });
        assert!(self.needed.len() < log.blocks.layout.ring_slots as usize, "each has a slot");
        (self.last, self.after) = (number, header.after);
        log.persisted.record_sent(number, header.durable_seq);
        self.durability = Some(durability);
        self.blocks += u64::from(header.blocks);
        log.io.count_blocks(u64::from(header.blocks));
        log.io.step();
        log.io.send(Why::Record(number), Command::Write { at, from, durability });
    }

    fn header(&self, log: &Log, number: u64) -> RecordHeader {
        let data_blocks: u32 =
            log.open_host_chunks().map(|chunk| chunk.data - chunk.recorded.data).sum();
        let mut recorded = [0; 2];
        for chunk in log.open_host_chunks() {
            recorded[usize::from(chunk.stream.number())] = chunk.entries.len() as u16;
        }
        RecordHeader {
            number,
            after: log.last_seq(),
            first: number - self.needed.len() as u64,
            durable_seq: log.durable_seq(),
            recorded,
            epoch: log.epoch(),
            blocks: 1 + data_blocks,
        }
    }

    /// The drive has answered. Where the record failed, says what takes its place.
    pub fn record_written(
        &mut self,
        log: &mut Log,
        number: u64,
        result: Result<(), IoError>,
        payload: Payload,
    ) -> Option<Mark> {
        log.io.give(payload);
        log.io.step();
        assert!(number > self.written && number <= self.last, "record {number}: {self:?}");
        match result {
            Ok(()) => {
                self.written = number;
                if self.durability == Some(Durability::Fua) {
                    self.made_durable(number);
                }
                None
            }
            Err(IoError::Offline) => {
                log.mode.latch(IoError::Offline);
                None
            }
            Err(_) => {
                // A chunk takes its place. Whether the slot holds the record is not known, and does
                // not matter.
                log.close_host_chunks();
                self.resume_seq = log.last_seq();
                (self.written, self.durable) = (number, number);
                Some(Mark { seq: log.last_seq(), record: number })
            }
        }
    }

    pub fn count(&self, counters: &mut Counters) {
        counters.records = self.last;
        counters.record_blocks = self.blocks;
        counters.absorbed = self.absorbed;
    }

    /// # Panics
    /// If its numbers are out of order.
    pub fn audit(&self, log: &Log) {
        let in_order = self.whole <= self.durable
            && self.durable <= self.written
            && self.written <= self.last
            && self.whole_after <= self.after
            && self.after <= log.last_seq();
        assert!(in_order, "{self:?}");
        let slots = log.blocks.layout.ring_slots as usize;
        assert!(self.needed.len() < slots.max(1), "{} records in {slots} slots", self.needed.len());
    }
}

/// What of the host's open chunks no earlier record holds.
fn fill_record(log: &Log, offset: u64, header: &RecordHeader, record: &mut [u8]) {
    let entries = log.open_host_chunks().flat_map(|chunk| {
        let entries = &chunk.entries[chunk.recorded.entries..];
        entries.iter().map(|entry| (chunk.stream.number(), entry))
    });
    encode_record(log.id(), offset, header, entries, record);
    let header_blocks = log.blocks.layout.header_blocks;
    let mut at = BLOCK_BYTES as usize;
    for chunk in log.open_host_chunks() {
        let data = unrecorded(chunk, header_blocks);
        record[at..at + data.len()].copy_from_slice(data);
        at += data.len();
    }
}

/// Its data that no record holds.
fn unrecorded(chunk: &Chunk, header_blocks: u32) -> &[u8] {
    let block = |count: u32| (header_blocks + count) as usize * BLOCK_BYTES as usize;
    let data = bytes(&chunk.buffer).expect("a run that stores has bytes");
    &data[block(chunk.recorded.data)..block(chunk.data)]
}
