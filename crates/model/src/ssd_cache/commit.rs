//! The map becomes durable, and places on flash become free.
//!
//! ```text
//!   changed slots, as they are now  ->  flush disks and flash  ->  their pages  ->  flush flash
//!                                                                    who waited is answered,
//!                                                                    places that left are free
//! ```
//!
//! One at a time; who comes meanwhile waits for the next.

use super::{
    DISKS, FLASH, Kind, MapPlace, Sent, SsdCache, Takes, WriteMode,
    map::{self, Entry, PAGE_BYTES},
    params::Shape,
};
use block::{Actor, Command, Durability, Effects, Engine, Extent, Instant, IoError, Payload};
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Idle,
    Data,
    Pages,
    Map,
}

#[derive(Debug)]
pub(super) struct Commit {
    stage: Stage,
    outstanding: u32,
    error: Option<IoError>,
    /// Who is answered at its end, and who at the next one's.
    now: Vec<u32>,
    next: Vec<u32>,
    /// Slots whose entry may differ from what is written.
    changed: BTreeSet<u32>,
    /// Entries as they were written last, or are being written.
    written: Vec<Entry>,
    sequences: Vec<u64>,
    pages: Vec<u32>,
    /// Places that are free at its end, and at the next one's.
    retired: Vec<u32>,
    retired_next: Vec<u32>,
    /// Of the cleaner: pieces that have nothing to wait for.
    pub idle: Vec<u32>,
}

impl Commit {
    pub fn new(shape: &Shape) -> Self {
        Self {
            stage: Stage::Idle,
            outstanding: 0,
            error: None,
            now: Vec::new(),
            next: Vec::new(),
            changed: BTreeSet::new(),
            written: vec![Entry::default(); shape.slots as usize],
            sequences: vec![0; shape.pages as usize],
            pages: Vec::new(),
            retired: Vec::new(),
            retired_next: Vec::new(),
            idle: Vec::new(),
        }
    }

    pub fn changed(&mut self, slot: u32) {
        self.changed.insert(slot);
    }
}

impl SsdCache {
    /// What tells this cache's pages from another's.
    fn identity(&self) -> u64 {
        u64::from(self.params.block_bytes) << 32 | u64::from(self.shape.slots)
    }

    /// A flush from above.
    pub(super) fn flush(&mut self, parent: u32) {
        if self.keeps_map() {
            self.parents.get_mut(parent).outstanding = 1;
            return self.join_commit(parent);
        }
        let is_back = self.params.mode == WriteMode::Back;
        let waiting = self.parents.get_mut(parent);
        waiting.outstanding = 1 + u32::from(is_back);
        let actor = waiting.actor;
        self.send(DISKS, actor, Command::Flush, Sent::Parent(parent));
        if is_back {
            self.send(FLASH, actor, Command::Flush, Sent::Parent(parent));
        }
    }

    /// A request waits until everything that is written now is durable.
    pub(super) fn join_commit(&mut self, parent: u32) {
        self.commit.next.push(parent);
        self.commit_begin();
    }

    /// Whether places wait for a commit that nobody else has asked for: few are free, or each is
    /// given up only once the disks were flushed.
    fn retires(&self) -> bool {
        let is_short = self.free.len() * 4 < self.shape.slots as usize - self.shape.blocks;
        let is_wanted = is_short || self.params.takes == Takes::WritesAlone;
        is_wanted && !self.commit.retired_next.is_empty()
    }

    /// A place on flash is given up: free at once, unless the map on flash says that it is dirty.
    /// A cache of writes alone flushes the disks first in any case.
    pub(super) fn retire(&mut self, slot: u32) {
        let is_dirty = self.commit.written[slot as usize].dirty != 0;
        let is_flushed = self.params.takes == Takes::WritesAlone;
        if self.keeps_map() && (is_dirty || is_flushed) {
            self.commit.retired_next.push(slot);
        } else if self.commit.stage == Stage::Idle || !self.keeps_map() {
            self.free.push(slot);
        } else {
            // Its entry may be on its way: until then the old one counts.
            self.commit.retired.push(slot);
        }
        if self.retires() {
            self.commit_begin();
        }
    }

    /// Begins a commit that somebody waits for.
    pub(super) fn commit_what_waits(&mut self) {
        if !self.commit.next.is_empty() || self.retires() {
            self.commit_begin();
        }
    }

    /// Not before a discard is over: the map would forget what flash has while the disks still have
    /// what is older.
    fn commit_begin(&mut self) {
        if self.commit.stage != Stage::Idle || self.barrier.is_some() {
            return;
        }
        debug_assert!(self.params.map == MapPlace::Persistent);
        let commit = &mut self.commit;
        commit.now.append(&mut commit.next);
        commit.retired.append(&mut commit.retired_next);
        commit.pages.clear();
        for slot in std::mem::take(&mut commit.changed) {
            let place = &self.slots[slot as usize];
            let block = if place.dirty == 0 { 0 } else { place.block };
            let entry = Entry { block, dirty: place.dirty };
            if commit.written[slot as usize] != entry {
                commit.written[slot as usize] = entry;
                let page = (u64::from(slot) / map::ENTRIES) as u32;
                if commit.pages.last() != Some(&page) {
                    commit.pages.push(page);
                }
            }
        }
        commit.stage = Stage::Data;
        commit.outstanding = 2;
        for drive in [DISKS, FLASH] {
            self.send(drive, Actor(u16::MAX), Command::Flush, Sent::Commit);
        }
    }

    /// One of a commit's commands has come back.
    pub(super) fn commit_went_on(
        &mut self,
        now: Instant,
        result: Result<(), IoError>,
        effects: &mut Effects,
    ) {
        let commit = &mut self.commit;
        commit.outstanding -= 1;
        commit.error = commit.error.or(result.err());
        if commit.outstanding > 0 {
            return;
        }
        match commit.stage {
            _ if commit.error.is_some() => self.commit_end(now, effects),
            Stage::Data if commit.pages.is_empty() => self.commit_end(now, effects),
            Stage::Data => self.write_pages(),
            Stage::Pages => {
                commit.stage = Stage::Map;
                commit.outstanding = 1;
                self.send(FLASH, Actor(u16::MAX), Command::Flush, Sent::Commit);
            }
            Stage::Map => self.commit_end(now, effects),
            Stage::Idle => unreachable!("nothing is under way"),
        }
    }

    fn write_pages(&mut self) {
        self.commit.stage = Stage::Pages;
        let pages = std::mem::take(&mut self.commit.pages);
        self.commit.outstanding = pages.len() as u32;
        for &page in &pages {
            self.commit.sequences[page as usize] += 1;
            let sequence = self.commit.sequences[page as usize];
            let mut from = self.buffer(PAGE_BYTES);
            if let Payload::Bytes(buffer) = &mut from {
                let first = page as usize * map::ENTRIES as usize;
                let end = (first + map::ENTRIES as usize).min(self.commit.written.len());
                let entries = &self.commit.written[first..end];
                map::encode(buffer.bytes_mut(), self.identity(), page, sequence, entries);
            }
            let at = Extent { offset: map::place(page, sequence), bytes: PAGE_BYTES as u32 };
            let command = Command::Write { at, from, durability: Durability::Cached };
            self.send(FLASH, Actor(u16::MAX), command, Sent::Commit);
        }
        self.commit.pages = pages;
    }

    fn commit_end(&mut self, now: Instant, effects: &mut Effects) {
        let commit = &mut self.commit;
        commit.stage = Stage::Idle;
        let error = commit.error.take();
        let retired = std::mem::take(&mut commit.retired);
        if error.is_some() {
            // What is on flash is not known: those slots are written again, and given up later.
            let first = |page: &u32| *page * map::ENTRIES as u32;
            let slots = commit.pages.iter().flat_map(|page| first(page)..first(&(page + 1)));
            let all = self.shape.slots;
            commit.changed.extend(slots.filter(|slot| *slot < all));
            for &slot in &commit.changed {
                commit.written[slot as usize].dirty = u64::MAX;
            }
            commit.retired_next.extend(retired);
        } else {
            self.free.extend(retired);
        }
        for parent in std::mem::take(&mut self.commit.now) {
            let waiting = self.parents.get_mut(parent);
            debug_assert!(matches!(waiting.kind, Kind::Flush | Kind::Write(_)));
            waiting.error = waiting.error.or(error);
            self.one_less(now, parent, effects);
        }
        let is_asked = !self.commit.next.is_empty();
        if is_asked || error.is_none() && self.retires() {
            self.commit_begin();
        }
    }

    /// Reads the map: its dirty blocks are there again.
    pub(super) fn recover<E: Engine>(&mut self, engine: &mut E) -> Result<(), IoError> {
        for page in 0..self.shape.pages {
            let mut newest: Option<map::Page> = None;
            for copy in 0..2 {
                let found = read_page(engine, map::place(page, copy))?;
                let Payload::Bytes(buffer) = &found else { return Ok(()) };
                if let Some(found) = map::decode(buffer.bytes(), self.identity(), page)
                    && newest.as_ref().is_none_or(|newest| newest.sequence < found.sequence)
                {
                    newest = Some(found);
                }
            }
            let Some(newest) = newest else { continue };
            self.commit.sequences[page as usize] = newest.sequence;
            let first = page * map::ENTRIES as u32;
            for (slot, entry) in (first..self.shape.slots).zip(newest.entries) {
                self.take_entry(slot, entry);
            }
        }
        self.free.retain(|slot| self.slots[*slot as usize].dirty == 0);
        Ok(())
    }

    fn take_entry(&mut self, slot: u32, entry: Entry) {
        let is_within =
            entry.block < self.geometry.capacity_bytes.div_ceil(u64::from(self.params.block_bytes));
        if entry.dirty == 0 || !is_within || self.find(entry.block).is_some() {
            return;
        }
        self.commit.written[slot as usize] = entry;
        let Entry { block, dirty } = entry;
        self.slots[slot as usize] = super::Slot { block, valid: dirty, dirty };
        self.table.insert(block, slot);
        self.became_dirty(block);
        self.policy.restore(block);
    }
}

fn read_page<E: Engine>(engine: &mut E, offset: u64) -> Result<Payload, IoError> {
    let at = Extent { offset, bytes: PAGE_BYTES as u32 };
    let into = Payload::Bytes(block::Buf::zeroed(PAGE_BYTES as usize));
    let answer = block::submit_to_and_wait(engine, FLASH, Command::Read { at, into });
    answer.result.map(|()| answer.payload)
}
