//! The synchronous ring: where a little data goes that a flush cannot wait to see in a whole
//! stripe.
//!
//! ```text
//!   open chunk  | header | a | b | c | d | ...                 goes on filling, and closes the usual way
//!   ring        ... | hdr a        | hdr b c      |  next  | ...    one record a stripe
//! ```
//!
//! A record holds what no earlier record of the open chunks does. When a chunk has closed and is
//! durable, it has *absorbed* the records of its entries: their slots may be used again. Record n
//! is begun when record n-1 and all chunks before that one are durable, so that at most one record
//! on the drive was never acknowledged.

use super::core::{Core, Gate, Why};
use super::flushes::Mark;
use super::log::{NoRoom, Stream};
use crate::broken::{Rule, broken};
use crate::{
    buffers::{bytes, bytes_mut},
    format::{Entry, Kind, RECORD_ENTRIES, RecordHeader, RingMark, encode_record},
    layout::BLOCK_BYTES,
    map::{LOST, UNMAPPED},
};
use block::{Command, Durability, Extent, IoError, Payload};
use std::collections::{BTreeMap, VecDeque};

#[derive(Debug, Default)]
pub(super) struct Ring {
    /// The last record that was begun, the last that is on the drive, the last that is durable
    /// there.
    pub last: u64,
    pub written: u64,
    pub durable: u64,
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
    /// What recovery found, to be appended before anything else.
    pub replays: VecDeque<Replay>,
    /// Blocks that recovery found in records, where nothing may be appended: they are read from
    /// here.
    pub kept: BTreeMap<u32, Box<[u8]>>,
}

#[derive(Debug)]
struct Needed {
    /// Bit by bit, the streams whose open chunk holds entries of it.
    open: u8,
    /// The last chunk that held some and was closed.
    seq: u64,
}

/// What an entry of a record does that no chunk holds.
#[derive(Debug)]
pub(super) enum Replay {
    Write(u32, Box<[u8]>),
    /// From a block up to another.
    Trim(u32, u32),
    /// The record's data are damaged.
    Lost(u32),
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
    pub fn new(replays: Vec<Replay>) -> Self {
        Self { replays: replays.into(), ..Self::default() }
    }

    /// The stream's chunk was closed under this number.
    pub fn sealed(&mut self, stream: Stream, seq: u64) {
        let bit = 1 << stream.number();
        for record in self.needed.iter_mut().filter(|record| record.open & bit > 0) {
            (record.open, record.seq) = (record.open & !bit, seq);
        }
    }

    /// Every record up to this one is durable.
    pub fn made_durable(&mut self, number: u64) {
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

    /// Lets go of the records that durable chunks hold. How many.
    fn absorb(&mut self, durable_seq: u64) -> u64 {
        let before = self.needed.len();
        let absorbed = |record: &Needed| {
            record.open == 0 && (record.seq <= durable_seq || broken(Rule::Absorbed))
        };
        while self.needed.front().is_some_and(absorbed) {
            self.needed.pop_front();
        }
        (before - self.needed.len()) as u64
    }
}

impl Core {
    /// Whether open chunks hold anything that would be lost with them, or decide about what a
    /// closed one holds.
    pub fn has_unrecorded(&self) -> bool {
        let unsure = self.log.unsure_seq > self.ring.after;
        self.log
            .open_host_chunks()
            .any(|chunk| unsure || chunk.recorded.entries < chunk.entries.len())
    }

    /// Whether what is in open chunks goes into a record.
    ///
    /// Closing wastes the padding of each chunk and the header of the next one. A record is written
    /// in addition, and in RAID-5 each block of it costs four transfers: old data and old parity
    /// read, both written. A block of padding costs one and its part of the parity, 1 + 1/n on n
    /// data drives. So padding must be 4 / (1 + 1/n) times the record, which is three times for n =
    /// 3, and between 2.7 and 4 for any other.
    pub fn way_down(&mut self) -> Way {
        let slots = self.layout.ring_slots as usize;
        if slots == 0 {
            return Way::Close;
        }
        self.counters.absorbed += self.ring.absorb(self.flushes.durable_seq);
        let (mut entries, mut blocks, mut waste) = (0, 1, 0);
        for chunk in self.log.open_host_chunks() {
            let used = self.layout.header_blocks + chunk.data;
            entries += chunk.entries.len() - chunk.recorded.entries;
            blocks += chunk.data - chunk.recorded.data;
            waste += used.next_multiple_of(self.layout.append_blocks) - used;
            waste += self.layout.header_blocks;
        }
        // The slot after the last one may be half written when the power fails.
        let full = self.ring.needed.len() + 1 >= slots;
        let Ring { written, durable, .. } = self.ring;
        let reached = if broken(Rule::RecordOrder) { written } else { durable };
        if full || entries > RECORD_ENTRIES || 3 * blocks > waste {
            Way::Close
        } else if reached < self.ring.last || self.flushes.durable_seq < self.ring.resume_seq {
            Way::Wait
        } else {
            Way::Record
        }
    }

    /// Writes a record with what no earlier one holds. Where all chunks are durable, it needs no
    /// flush.
    pub fn write_record(&mut self) {
        let number = self.ring.last + 1;
        let offset = self.layout.slot_offset(number);
        let data_blocks: u32 =
            self.log.open_host_chunks().map(|chunk| chunk.data - chunk.recorded.data).sum();
        let mut recorded = [0; 2];
        for chunk in self.log.open_host_chunks() {
            recorded[usize::from(chunk.stream.number())] = chunk.entries.len() as u16;
        }
        let header = RecordHeader {
            number,
            after: self.log.last_seq,
            first: number - self.ring.needed.len() as u64,
            durable_seq: self.flushes.durable_seq,
            recorded,
            epoch: self.log.epoch,
            blocks: 1 + data_blocks,
        };
        assert!(header.blocks <= self.layout.append_blocks, "a record fits its slot: {header:?}");
        let length = header.blocks * BLOCK_BYTES as u32;
        let mut from = self.buffers.take(u64::from(length));
        if let Some(record) = bytes_mut(&mut from) {
            let entries = self.log.open_host_chunks().flat_map(|chunk| {
                let entries = &chunk.entries[chunk.recorded.entries..];
                entries.iter().map(|entry| (chunk.stream.number(), entry))
            });
            encode_record(self.superblock.id, offset, &header, entries, record);
            let mut at = BLOCK_BYTES as usize;
            for chunk in self.log.open_host_chunks() {
                let block = |count: u32| (self.layout.header_blocks + count) as usize * 4096;
                let data = bytes(&chunk.buffer).expect("a run that stores has bytes");
                let data = &data[block(chunk.recorded.data)..block(chunk.data)];
                record[at..at + data.len()].copy_from_slice(data);
                at += data.len();
            }
        }
        self.ring.needed.push_back(Needed { open: self.log.mark_recorded(), seq: 0 });
        (self.ring.last, self.ring.after) = (number, header.after);
        self.attest.record_sent(number, header.durable_seq);
        let alone = self.flushes.durable_seq == self.log.last_seq;
        let durability = if alone { Durability::Fua } else { Durability::Cached };
        self.ring.durability = Some(durability);
        self.counters.records += 1;
        self.counters.record_blocks += u64::from(header.blocks);
        self.lifetime.drive_blocks += u64::from(header.blocks);
        self.log.sent += 1;
        let at = Extent { offset, bytes: length };
        self.down.send(Why::Record(number), Command::Write { at, from, durability });
    }

    pub fn record_written(&mut self, number: u64, result: Result<(), IoError>, payload: Payload) {
        self.buffers.give(payload);
        self.log.sent += 1;
        match result {
            Ok(()) => {
                self.ring.written = number;
                if self.ring.durability == Some(Durability::Fua) {
                    self.ring.made_durable(number);
                }
            }
            Err(IoError::Offline) => self.latch(IoError::Offline),
            Err(_) => {
                // A chunk takes its place. Whether the slot holds the record is not known, and does
                // not matter.
                self.close_host_chunks();
                self.ring.resume_seq = self.log.last_seq;
                self.flushes.wait_for_chunks(Mark { seq: self.log.last_seq, record: number });
                (self.ring.written, self.ring.durable) = (number, number);
            }
        }
    }

    /// Where nothing may be written, what recovery found in the ring stays in memory and answers
    /// reads.
    pub fn keep_replays(&mut self) {
        for replay in std::mem::take(&mut self.ring.replays) {
            match replay {
                Replay::Write(block, data) => _ = self.ring.kept.insert(block, data),
                Replay::Lost(block) => {
                    self.ring.kept.remove(&block);
                    self.remap(block, LOST, 0);
                }
                Replay::Trim(from, end) => {
                    self.ring.kept.retain(|block, _| !(from..end).contains(block));
                    self.unmap(from, end);
                }
            }
        }
    }

    /// Blocks that only memory holds, and the map does not know.
    pub fn kept_new_blocks(&self) -> u64 {
        let unmapped = |block: &&u32| self.map.get(**block).0 == UNMAPPED;
        self.ring.kept.keys().filter(unmapped).count() as u64
    }

    /// Appends what recovery found in the ring; then comes the checkpoint that ends recovery.
    pub fn pump_replays(&mut self) {
        if matches!(self.gate, Gate::Latched(_)) {
            self.ring.replays.clear();
        }
        while let Some(replay) = self.ring.replays.pop_front() {
            if let Err(NoRoom) = self.replay(&replay) {
                return self.ring.replays.push_front(replay);
            }
            if self.ring.replays.is_empty() && self.settling {
                self.begin_checkpoint();
            }
        }
    }

    fn replay(&mut self, replay: &Replay) -> Result<(), NoRoom> {
        match *replay {
            Replay::Lost(block) => self.remap(block, LOST, 0),
            Replay::Write(block, ref data) => {
                let stream = self.stream_of_write(block);
                let entry = Entry { block, kind: Kind::Write, argument: 0, crc: 0 };
                let fill = |into: &mut [u8]| into.copy_from_slice(data);
                let (location, crc) = self.append(stream, entry, fill)?;
                self.remap(block, location, crc);
            }
            Replay::Trim(from, end) => self.append_trim(from, end)?,
        }
        Ok(())
    }
}
