//! Writes and trims: into the host's open chunk, block by block. A request that splits a block
//! reads what it does not write first, and keeps the block locked until then.

use super::{
    counters::Counters,
    flushes::{Answered, Flushes, Waiter},
    io::{Why, extent},
    log::{Log, NoRoom},
    pacing::Pacer,
    placement::Placement,
    reads::{span, within},
    requests::{Parked, Requests},
};
use crate::broken::{Rule, broken};
use crate::{
    buffers::{bytes, bytes_mut},
    format::{Entry, Kind, block_crc},
    map::{LOST, UNMAPPED},
    shape::BLOCK_BYTES,
};
use block::{Command, Durability, Instant, IoError, Payload, Slots, Tag, is_zero};
use std::collections::{BTreeSet, VecDeque};

const EINVAL: IoError = IoError::Os(22);
const ENOSPC: IoError = IoError::Os(28);

#[derive(Clone, Debug)]
struct Write {
    tag: Tag,
    issued: Instant,
    offset: u64,
    len: u64,
    /// None for a trim.
    from: Option<Payload>,
    durability: Durability,
    /// Blocks up to here are done.
    next: u32,
    /// New mappings that were promised room and are not made yet.
    promised: u32,
    /// It has room and locks what it splits. Until then it is parked.
    begun: bool,
    /// Blocks that the request splits: at most its first and its last.
    split: Vec<Split>,
    reading: u32,
    error: Option<IoError>,
}

#[derive(Clone, Debug)]
struct Split {
    block: u32,
    /// What it held.
    old: Payload,
    crc: Option<u32>,
}

/// What a client asks to be written or, without data, trimmed.
#[derive(Clone, Debug)]
pub(super) struct WriteRequest {
    pub tag: Tag,
    pub offset: u64,
    pub len: u64,
    /// None for a trim.
    pub from: Option<Payload>,
    pub durability: Durability,
}

impl Write {
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

    /// Its first and its last block, where it splits them.
    fn edges(&self) -> impl Iterator<Item = u32> + Clone + use<> {
        let (first, last) = (self.first(), self.last());
        let edges = [Some(first), (last > first).then_some(last)];
        edges.map(|edge| edge.filter(|&block| self.splits(block))).into_iter().flatten()
    }

    /// Puts what is written of the block over what it held, if it is split.
    fn merge(&mut self, block: u32) {
        let (from, to) = span(block, self.offset, self.end());
        let within = within(block, self.offset);
        if let Some(split) = self.split.iter_mut().find(|split| split.block == block)
            && let Some(old) = bytes_mut(&mut split.old)
        {
            let part = &mut old[within..within + to - from];
            match self.from.as_ref().and_then(bytes) {
                Some(new) => part.copy_from_slice(&new[from..to]),
                None => part.fill(0),
            }
        }
    }

    /// What the block will hold, once it is merged.
    fn data(&self, block: u32) -> Option<&[u8]> {
        match self.split.iter().find(|split| split.block == block) {
            Some(split) => bytes(&split.old).map(|old| &old[..BLOCK_BYTES as usize]),
            None => {
                let (from, to) = span(block, self.offset, self.end());
                self.from.as_ref().and_then(bytes).map(|new| &new[from..to])
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Writes {
    under_way: Slots<Write>,
    /// Writes that wait for room in a chunk, in their order.
    stalled: VecDeque<u32>,
    /// Blocks whose other half is being read.
    locked: BTreeSet<u32>,
    /// New mappings of writes that have begun.
    promised: u32,
    /// When writes are answered.
    answered: Answered,
    host_blocks: u64,
    zero_blocks: u64,
}

impl Writes {
    pub fn new(queue_depth: u32) -> Self {
        Self {
            under_way: Slots::new(queue_depth),
            stalled: VecDeque::new(),
            locked: BTreeSet::new(),
            promised: 0,
            answered: Answered::default(),
            host_blocks: 0,
            zero_blocks: 0,
        }
    }

    pub fn set_answered(&mut self, answered: Answered) {
        self.answered = answered;
    }

    /// Whether some wait for room.
    pub fn host_blocks(&self) -> u64 {
        self.host_blocks
    }

    pub fn are_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// Whether none is being worked on: flushes may still wait for some.
    pub fn are_quiet(&self) -> bool {
        self.stalled.is_empty() && self.locked.is_empty()
    }

    pub fn accept(&mut self, log: &mut Log, requests: &mut Requests, request: WriteRequest) {
        let WriteRequest { tag, offset, len, from, durability } = request;
        let now = log.io.now();
        let inside = log.blocks.is_inside(offset, len);
        let refusal = if inside { log.mode.refusal() } else { Some(EINVAL) };
        if let Some(error) = refusal {
            let payload = from.unwrap_or(Payload::None);
            return requests.answer(now, tag, now, Err(error), payload);
        }
        let slot = self.under_way.insert(Write {
            tag,
            issued: now,
            offset,
            len,
            from,
            durability,
            next: (offset / BLOCK_BYTES) as u32,
            promised: 0,
            begun: false,
            split: Vec::new(),
            reading: 0,
            error: None,
        });
        self.begin(log, requests, slot);
    }

    /// Locks what it splits and reads it; parks if somebody else has it.
    pub fn begin(&mut self, log: &mut Log, requests: &mut Requests, slot: u32) {
        let write = self.under_way.get(slot);
        let (first, last, edges) = (write.first(), write.last(), write.edges());
        let locked = self.locked.range(first..=last).next().is_some() && !broken(Rule::Locks);
        let unread = || edges.clone().any(|block| log.locate(block).is_none());
        if locked || self.is_behind_another(log, write) || unread() {
            return requests.park(Parked::Write(slot));
        }
        let Some(promised) = self.room_for(log, write) else {
            return self.end(log, requests, slot, Err(ENOSPC));
        };
        self.promised += promised;
        let write = self.under_way.get_mut(slot);
        write.promised = promised;
        write.begun = true;
        for block in edges {
            let is_new = self.locked.insert(block);
            assert!(is_new || broken(Rule::Locks), "block {block} is locked twice");
            fetch_old(log, slot, block, write);
        }
        if write.reading == 0 {
            self.stalled.push_back(slot);
        }
    }

    /// Whether one that has begun is not done with blocks of this write. On a thin volume it may
    /// take a mapping away that this one would count on, and be refused in the middle for.
    fn is_behind_another(&self, log: &Log, write: &Write) -> bool {
        let blocks = write.first()..=write.last();
        let is_before = |other: &Write| {
            other.begun
                && other.error.is_none()
                && other.next <= other.last()
                && other.next <= *blocks.end()
                && *blocks.start() <= other.last()
        };
        is_thin(log) && self.under_way.iter().any(|(_, other)| is_before(other))
    }

    /// The new mappings of the write, where there is room for them; overwriting always has, and so
    /// has everything where the whole volume can be mapped.
    fn room_for(&self, log: &Log, write: &Write) -> Option<u32> {
        let Some(from) = &write.from else { return Some(0) };
        let map = log.blocks.map();
        if !is_thin(log) && !broken(Rule::OverwriteHasRoom) {
            return Some(0);
        }
        let blocks = write.first()..=write.last();
        let overwrites = broken(Rule::OverwriteHasRoom);
        let new = |block: &u32| map.get(*block).0 == UNMAPPED || overwrites;
        let promised = if broken(Rule::Promise) { 0 } else { self.promised };
        let room = room(log).saturating_sub(promised);
        let mut count = blocks.clone().filter(new).count() as u32;
        if count > room {
            // Zeroes need none.
            let zero = |block: u32| {
                let (from_byte, to) = span(block, write.offset, write.end());
                bytes(from).is_some_and(|bytes| is_zero(&bytes[from_byte..to]))
            };
            count = blocks.filter(new).filter(|&block| !zero(block)).count() as u32;
        }
        (count <= room).then_some(count)
    }

    pub fn old_read(
        &mut self,
        log: &mut Log,
        (slot, at): (u32, u32),
        location: u32,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        log.blocks.unpin(location);
        let write = self.under_way.get_mut(slot);
        let split = &mut write.split[at as usize];
        assert!(bytes(&split.old).is_none(), "what block {} held is read once", split.block);
        let damaged = bytes(&payload).zip(split.crc).is_some_and(|(data, crc)| {
            block_crc(split.block, &data[..BLOCK_BYTES as usize]) != crc
        });
        split.old = payload;
        write.reading = write.reading.checked_sub(1).expect("it was asked for");
        match result {
            Err(error) => write.error = Some(error),
            Ok(()) if damaged => {
                log.io.count_checksum_error();
                write.error = Some(IoError::Medium);
            }
            Ok(()) => {}
        }
        if write.reading == 0 {
            self.stalled.push_back(slot);
        }
    }

    /// Appends what waits for it, in order, as far as there is room.
    pub fn pump(
        &mut self,
        log: &mut Log,
        requests: &mut Requests,
        placement: &Placement,
        pacer: &mut Pacer,
        flushes: &mut Flushes,
    ) {
        while let Some(&slot) = self.stalled.front() {
            let write = self.under_way.get(slot);
            assert_eq!(write.reading, 0, "what it splits was read");
            // A volume that stops does not clean: there is no room to wait for.
            let done = match log.mode.refusal().or(write.error) {
                Some(error) => Ok(Err(error)),
                None => self.append(log, placement, pacer, slot).map(|()| self.outcome(slot)),
            };
            pacer.write_waits(log.io.now(), done.is_err());
            let Ok(result) = done else { return };
            self.stalled.pop_front();
            let durable = self.under_way.get(slot).durability == Durability::Fua;
            if result.is_ok() && durable && !broken(Rule::Fua) {
                self.unlock(log, slot);
                flushes.wait_durable(Waiter::Write(slot));
            } else if result.is_ok() && self.answered == Answered::Written {
                self.unlock(log, slot);
                flushes.wait_written(Waiter::Write(slot));
            } else {
                self.end(log, requests, slot, result);
            }
        }
    }

    fn outcome(&self, slot: u32) -> Result<(), IoError> {
        self.under_way.get(slot).error.map_or(Ok(()), Err)
    }

    /// Appends what is left of it, unless it turns out that there is no room for a new block.
    fn append(
        &mut self,
        log: &mut Log,
        placement: &Placement,
        pacer: &mut Pacer,
        slot: u32,
    ) -> Result<(), NoRoom> {
        loop {
            let write = self.under_way.get_mut(slot);
            let block = write.next;
            if block > write.last() || write.error.is_some() {
                return Ok(());
            }
            if write.from.is_none() && !write.splits(block) {
                let whole = (write.end() / BLOCK_BYTES) as u32;
                placement.append_trim(log, block, whole)?;
                write.next = whole;
                continue;
            }
            self.append_block(log, placement, pacer, slot)?;
            self.under_way.get_mut(slot).next += 1;
        }
    }

    fn append_block(
        &mut self,
        log: &mut Log,
        placement: &Placement,
        pacer: &mut Pacer,
        slot: u32,
    ) -> Result<(), NoRoom> {
        let write = self.under_way.get_mut(slot);
        let block = write.next;
        write.merge(block);
        let data = write.data(block);
        if data.is_some_and(is_zero) {
            self.zero_blocks += 1;
            return placement.append_trim(log, block, block + 1);
        }
        let is_new = log.blocks.location(block) == UNMAPPED;
        assert!(
            !is_new || write.promised > 0 || !is_thin(log),
            "block {block} of a write that has begun has room"
        );
        let entry = Entry { block, kind: Kind::Write, argument: 0, crc: 0 };
        let fill =
            |into: &mut [u8]| into.copy_from_slice(data.expect("a run that stores has data"));
        if !pacer.may_write(log) {
            return Err(NoRoom);
        }
        let stream = placement.stream_of_write(log, block);
        let (location, crc) = log.append(stream, entry, fill)?;
        self.host_blocks += 1;
        pacer.host_appended();
        if is_new {
            // From now on it counts as mapped.
            let kept = write.promised.min(1);
            write.promised -= kept;
            self.promised -= kept;
        }
        log.remap(block, location, crc);
        let (mapped, most) = (log.blocks.map().mapped(), log.blocks.layout.mapped_max);
        assert!(mapped <= most, "{mapped} blocks mapped: there is room for {most}");
        Ok(())
    }

    /// Lets others at what the write had to itself.
    fn unlock(&mut self, log: &mut Log, slot: u32) {
        let write = self.under_way.get_mut(slot);
        let promised = std::mem::take(&mut write.promised);
        self.promised = self.promised.checked_sub(promised).expect("what was promised is counted");
        for split in write.split.drain(..) {
            self.locked.remove(&split.block);
            log.io.give(split.old);
        }
    }

    /// It is answered. Writes bring their memory themselves.
    pub fn end(
        &mut self,
        log: &mut Log,
        requests: &mut Requests,
        slot: u32,
        result: Result<(), IoError>,
    ) {
        self.unlock(log, slot);
        let write = self.under_way.remove(slot);
        assert!(result.is_err() || write.next > write.last(), "all of it is appended");
        let payload = write.from.unwrap_or(Payload::None);
        requests.answer(log.io.now(), write.tag, write.issued, result, payload);
    }

    pub fn count(&self, counters: &mut Counters) {
        counters.host_blocks = self.host_blocks;
        counters.zero_blocks = self.zero_blocks;
    }

    /// Counts everything anew and compares.
    ///
    /// # Panics
    /// If promises or locks are not those of the writes under way, or are more than can be kept.
    pub fn audit(&self, log: &Log) {
        let promised: u32 = self.under_way.iter().map(|(_, write)| write.promised).sum();
        assert_eq!(promised, self.promised, "new mappings promised");
        let splits = self.under_way.iter().flat_map(|(_, write)| &write.split);
        let locked: BTreeSet<u32> = splits.map(|split| split.block).collect();
        assert!(locked == self.locked || broken(Rule::Locks), "{locked:?}, not {:?}", self.locked);
        let (mapped, most) = (log.blocks.map().mapped(), log.blocks.layout.mapped_max);
        assert!(
            mapped + promised <= most || broken(Rule::Promise),
            "{mapped} blocks mapped and {promised} promised: there is room for {most}"
        );
    }
}

/// Whether not all blocks can be mapped at once.
fn is_thin(log: &Log) -> bool {
    log.blocks.layout.mapped_max < log.blocks.layout.exported_blocks
}

/// Blocks that may still be mapped, promised ones included.
fn room(log: &Log) -> u32 {
    log.blocks.layout.mapped_max.saturating_sub(log.blocks.map().mapped())
}

/// What a block held that the write splits.
fn fetch_old(log: &mut Log, slot: u32, block: u32, write: &mut Write) {
    let (location, held) = log.locate(block).expect("the caller looked");
    let crc = log.blocks.map().get(block).1;
    let mut old = log.io.take(BLOCK_BYTES);
    match (location, log.held_block(&held)) {
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
            let at = extent(location, 1);
            log.blocks.pin(location);
            write.reading += 1;
            let why = Why::Old { op: slot, at: write.split.len() as u32, location };
            log.io.send(why, Command::Read { at, into });
        }
    }
    write.split.push(Split { block, old, crc });
}
