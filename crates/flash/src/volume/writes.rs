//! Writes and trims: into the host's open chunk, block by block. A request that splits a block
//! reads what it does not write first, and keeps the block locked until then.

use super::core::{Core, Op, Why};
use super::flushes::Answered;
use super::log::NoRoom;
use super::reads::span;
use crate::broken::{Rule, broken};
use crate::{
    buffers::{bytes, bytes_mut},
    format::{Entry, Kind, block_crc},
    layout::{BLOCK_BYTES, Layout},
    map::{LOST, UNMAPPED},
};
use block::{Command, Durability, Extent, Instant, IoError, Payload, Tag};

const EINVAL: IoError = IoError::Os(22);
const ENOSPC: IoError = IoError::Os(28);

#[derive(Debug)]
pub(super) struct WriteOp {
    tag: Tag,
    issued: Instant,
    offset: u64,
    len: u64,
    /// None for a trim.
    from: Option<Payload>,
    durability: Durability,
    /// Blocks up to here are done.
    next: u32,
    promised: u32,
    /// Blocks that the request splits: at most its first and its last.
    split: Vec<Split>,
    reading: u32,
    error: Option<IoError>,
}

#[derive(Debug)]
struct Split {
    block: u32,
    /// What it held.
    old: Payload,
    crc: Option<u32>,
}

impl WriteOp {
    fn end(&self) -> u64 {
        self.offset + self.len
    }

    fn first(&self) -> u32 {
        (self.offset / BLOCK_BYTES) as u32
    }

    fn last(&self) -> u32 {
        ((self.end() - 1) / BLOCK_BYTES) as u32
    }

    /// Whether only a part of the block is written.
    fn splits(&self, block: u32) -> bool {
        let start = u64::from(block) * BLOCK_BYTES;
        self.offset > start || self.end() < start + BLOCK_BYTES
    }
}

impl Core {
    pub fn accept_write(
        &mut self,
        tag: Tag,
        offset: u64,
        len: u64,
        from: Option<Payload>,
        durability: Durability,
    ) {
        let refusal = if self.is_inside(offset, len) { self.refusal() } else { Some(EINVAL) };
        if let Some(error) = refusal {
            let payload = from.unwrap_or(Payload::None);
            return self.answer(tag, self.now, Err(error), payload);
        }
        let slot = self.ops.insert(Op::Write(WriteOp {
            tag,
            issued: self.now,
            offset,
            len,
            from,
            durability,
            next: (offset / BLOCK_BYTES) as u32,
            promised: 0,
            split: Vec::new(),
            reading: 0,
            error: None,
        }));
        self.begin_write(slot);
    }

    fn take_write(&mut self, slot: u32) -> WriteOp {
        let Op::Write(write) = std::mem::replace(self.ops.get_mut(slot), Op::Busy) else {
            unreachable!("the slot is a write's")
        };
        write
    }

    /// Locks what it splits and reads it; parks if somebody else has it.
    pub fn begin_write(&mut self, slot: u32) {
        let mut write = self.take_write(slot);
        let (first, last) = (write.first(), write.last());
        let edges = [Some(first), (last > first).then_some(last)]
            .map(|edge| edge.filter(|&block| write.splits(block)));
        let locked = self.locked.range(first..=last).next().is_some() && !broken(Rule::Locks);
        if locked || edges.iter().flatten().any(|&block| self.locate(block).is_none()) {
            *self.ops.get_mut(slot) = Op::Write(write);
            self.parked.push_back(slot);
            return;
        }
        if !self.promise(&mut write) {
            *self.ops.get_mut(slot) = Op::Write(write);
            return self.finish(slot, Err(ENOSPC), Payload::None);
        }
        for block in edges.into_iter().flatten() {
            self.locked.insert(block);
            self.fetch_old(slot, block, &mut write);
        }
        let ready = write.reading == 0;
        *self.ops.get_mut(slot) = Op::Write(write);
        if ready {
            self.stalled.push_back(slot);
        }
    }

    /// Sees to it that the new mappings of the write will have room; overwriting always has, and so
    /// has everything where the whole volume can be mapped.
    fn promise(&mut self, write: &mut WriteOp) -> bool {
        let Some(from) = &write.from else { return true };
        let thin = self.layout.mapped_max < self.layout.exported_blocks;
        if !thin && !broken(Rule::OverwriteHasRoom) {
            return true;
        }
        let blocks = write.first()..=write.last();
        let overwrites = broken(Rule::OverwriteHasRoom);
        let new = |block: &u32| self.map.get(*block).0 == UNMAPPED || overwrites;
        let promised = if broken(Rule::Promise) { 0 } else { self.promised };
        let room = self.layout.mapped_max.saturating_sub(self.map.mapped() + promised);
        let mut count = blocks.clone().filter(new).count() as u32;
        if count > room {
            // Zeroes need none.
            let zero = |block: u32| {
                let (from_byte, to) = span(block, write.offset, write.end());
                bytes(from).is_some_and(|bytes| is_zero(&bytes[from_byte..to]))
            };
            count = blocks.filter(new).filter(|&block| !zero(block)).count() as u32;
        }
        if count > room {
            return false;
        }
        write.promised = count;
        self.promised += count;
        true
    }

    /// What a block held that the write splits.
    fn fetch_old(&mut self, slot: u32, block: u32, write: &mut WriteOp) {
        let (location, held) = self.locate(block).expect("the caller looked");
        let mut old = self.buffers.take(BLOCK_BYTES);
        let crc = self.map.get(block).1;
        match (location, self.log.block(&held)) {
            (LOST, _) => write.error = Some(IoError::Medium),
            (UNMAPPED, _) => {
                if let Some(old) = bytes_mut(&mut old) {
                    old[..BLOCK_BYTES as usize].fill(0);
                }
            }
            (_, Some(data)) => {
                if let Some(old) = bytes_mut(&mut old) {
                    old[..BLOCK_BYTES as usize].copy_from_slice(data);
                }
            }
            (_, None) => {
                let into = std::mem::replace(&mut old, Payload::None);
                let at = Extent { offset: Layout::offset(location), bytes: BLOCK_BYTES as u32 };
                self.segments.get_mut(self.layout.segment_of(location)).pins += 1;
                write.reading += 1;
                let why = Why::Old { op: slot, at: write.split.len() as u32, location };
                self.down.send(why, Command::Read { at, into });
            }
        }
        write.split.push(Split { block, old, crc });
    }

    pub fn old_read(
        &mut self,
        slot: u32,
        at: u32,
        location: u32,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        self.unpin(location);
        let Op::Write(write) = self.ops.get_mut(slot) else {
            unreachable!("the slot is a write's")
        };
        let split = &mut write.split[at as usize];
        let damaged = bytes(&payload).zip(split.crc).is_some_and(|(data, crc)| {
            block_crc(split.block, &data[..BLOCK_BYTES as usize]) != crc
        });
        split.old = payload;
        write.reading -= 1;
        match result {
            Err(error) => write.error = Some(error),
            Ok(()) if damaged => {
                self.counters.checksum_errors += 1;
                write.error = Some(IoError::Medium);
            }
            Ok(()) => {}
        }
        if write.reading == 0 {
            self.stalled.push_back(slot);
        }
    }

    /// Appends what waits for it, in order, as far as there is room.
    pub fn pump_stalled(&mut self) {
        while let Some(&slot) = self.stalled.front() {
            let mut write = self.take_write(slot);
            // A volume that stops does not clean: there is no room to wait for.
            let refusal = self.refusal().or(write.error);
            let done = match refusal {
                Some(error) => Ok(Err(error)),
                None => self.append_write(&mut write).map(Ok),
            };
            let durable = write.durability == Durability::Fua;
            *self.ops.get_mut(slot) = Op::Write(write);
            self.write_waits(done.is_err());
            let Ok(result) = done else { return };
            self.stalled.pop_front();
            if result.is_ok() && durable && !broken(Rule::Fua) {
                self.unlock(slot);
                self.wait_durable(slot);
            } else if result.is_ok() && self.answered == Answered::Written {
                self.unlock(slot);
                self.wait_written(slot);
            } else {
                self.finish(slot, result, Payload::None);
            }
        }
    }

    fn append_write(&mut self, write: &mut WriteOp) -> Result<(), NoRoom> {
        while write.next <= write.last() {
            let block = write.next;
            if write.from.is_none() && !write.splits(block) {
                let whole = (write.end() / BLOCK_BYTES) as u32;
                self.append_trim(block, whole)?;
                write.next = whole;
                continue;
            }
            self.append_block(write, block)?;
            write.next += 1;
        }
        Ok(())
    }

    fn append_block(&mut self, write: &mut WriteOp, block: u32) -> Result<(), NoRoom> {
        let (from, to) = span(block, write.offset, write.end());
        let new = write.from.as_ref().and_then(|from| bytes(from));
        let within = ((u64::from(block) * BLOCK_BYTES).max(write.offset) % BLOCK_BYTES) as usize;
        if let Some(split) = write.split.iter_mut().find(|split| split.block == block)
            && let Some(old) = bytes_mut(&mut split.old)
        {
            let part = &mut old[within..within + to - from];
            match new {
                Some(new) => part.copy_from_slice(&new[from..to]),
                None => part.fill(0),
            }
        }
        let merged = write.split.iter().find(|split| split.block == block);
        let data = match merged {
            Some(split) => bytes(&split.old).map(|old| &old[..BLOCK_BYTES as usize]),
            None => new.map(|new| &new[from..to]),
        };
        if data.is_some_and(is_zero) {
            self.counters.zero_blocks += 1;
            return self.append_trim(block, block + 1);
        }
        let entry = Entry { block, kind: Kind::Write, argument: 0, crc: 0 };
        let fill =
            |into: &mut [u8]| into.copy_from_slice(data.expect("a run that stores has data"));
        if !self.may_write() {
            return Err(NoRoom);
        }
        let stream = self.stream_of_write(block);
        let (location, crc) = self.append(stream, entry, fill)?;
        self.counters.host_blocks += 1;
        self.host_appended();
        if self.map.get(block).0 == UNMAPPED {
            // From now on it counts as mapped.
            let kept = write.promised.min(1);
            write.promised -= kept;
            self.promised -= kept;
        }
        self.remap(block, location, crc);
        Ok(())
    }

    /// Unmaps `from..end`, as far as anything of it is mapped.
    pub fn append_trim(&mut self, from: u32, end: u32) -> Result<(), NoRoom> {
        let Some(first) = self.map.next_mapped(from, end) else { return Ok(()) };
        let entry = Entry { block: first, kind: Kind::Trim, argument: end - first, crc: 0 };
        let stream = self.stream_of_trim(first, end);
        self.append(stream, entry, |_| unreachable!("a trim has no data"))?;
        self.unmap(first, end);
        Ok(())
    }

    pub fn unmap(&mut self, from: u32, end: u32) {
        let mut next = self.map.next_mapped(from, end);
        while let Some(block) = next {
            self.remap(block, UNMAPPED, 0);
            next = self.map.next_mapped(block + 1, end);
        }
    }

    /// Lets others at what the write had to itself.
    fn unlock(&mut self, slot: u32) {
        let Op::Write(write) = self.ops.get_mut(slot) else {
            unreachable!("the slot is a write's")
        };
        self.promised -= std::mem::take(&mut write.promised);
        for split in write.split.drain(..) {
            self.locked.remove(&split.block);
            self.buffers.give(split.old);
        }
    }

    pub fn end_write(&mut self, write: WriteOp, result: Result<(), IoError>) {
        self.promised -= write.promised;
        for split in write.split {
            self.locked.remove(&split.block);
            self.buffers.give(split.old);
        }
        let payload = write.from.unwrap_or(Payload::None);
        self.answer(write.tag, write.issued, result, payload);
    }
}

/// Eight bytes at a time.
fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().all(|word| u64::from_ne_bytes(*word) == 0) && rest.iter().all(|&byte| byte == 0)
}
