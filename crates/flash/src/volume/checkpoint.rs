//! Checkpoints: the map's dirty pages through the log, then a root, a flush, and two copies of the
//! superblock.
//!
//! ```text
//!   pages -> drain -> root -> flush -> superblock -> free
//!   with C      all open chunks          two copies,    what was prefree
//!   noted       closed and written       FUA            joins the queue
//! ```

use super::core::{Core, Gate, Opened, Why};
use super::log::Stream;
use crate::broken::{Rule, broken};
use crate::{
    buffers::bytes_mut,
    format::{Entry, Kind, Root, Superblock, encode_root},
    layout::{BLOCK_BYTES, Levels, STREAMS},
    lifetime::Lifetime,
};
use block::{Command, Durability, Extent, IoError, Payload};

/// The next attempt may succeed; a third one will hardly.
const ATTEMPTS: u32 = 3;

#[derive(Debug)]
pub(super) struct Checkpoint {
    stage: Stage,
    /// C.
    seq: u64,
    /// Of C.
    places: Vec<(u32, u32)>,
    free: Vec<u32>,
    opened: Opened,
    lifetime: Lifetime,
    pages: Vec<u32>,
    next_page: usize,
    /// A chunk moved: pages may point to where it was.
    restart: bool,
    /// Every chunk that a page may know of.
    last_seq: u64,
    freed: Vec<u32>,
    root: Vec<u8>,
    left: u32,
    failed: Option<IoError>,
    attempts: u32,
    superblock: Option<Superblock>,
    clean: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stage {
    Pages,
    Drain,
    Root,
    Flush,
    Superblock,
    Done,
}

impl Checkpoint {
    pub fn progress(&self) -> u64 {
        1 + self.next_page as u64 * 8 + self.stage as u64
    }

    pub fn restart(&mut self) {
        self.restart = true;
    }
}

impl Core {
    /// Begins one if the window is half used, if enough free segments wait for it, or if the volume
    /// stops.
    fn checkpoint_is_due(&self) -> bool {
        let Levels { floor, interval, margin } = self.pacer.levels;
        let (free, waiting) = (self.segments.queue.len(), self.segments.prefree.len());
        let used = self.opened.window >= self.layout.window.div_ceil(2);
        let worth_it = waiting >= interval.div_ceil(2) || !self.cleaner.is_busy();
        let starved = free <= floor + 1 && waiting > 0 && worth_it
            || free <= floor + margin && waiting >= interval;
        used || starved || self.gate == Gate::ShutDown && self.ops_are_quiet()
    }

    /// Whether nothing of the host's is under way but flushes that wait for the end.
    fn ops_are_quiet(&self) -> bool {
        self.stalled.is_empty() && self.parked.is_empty() && self.locked.is_empty()
    }

    /// What the checkpoint that is under way, or the next one, writes at most, with what recovery
    /// found in the ring, B.
    pub fn checkpoint_bytes(&self) -> u64 {
        let dirty = (0..self.map.pages()).filter(|&page| self.map.is_dirty(page)).count();
        let pages = self.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.pages.len());
        let blocks = dirty.max(pages) as u64 + self.ring.replays.len() as u64;
        // Headers and padding, a chunk that each stream may close early, both root areas, four
        // superblocks.
        let chunks = blocks.div_ceil(u64::from(self.layout.chunk_blocks)) + STREAMS as u64;
        let headers = chunks * u64::from(self.layout.header_blocks + self.layout.append_blocks);
        (blocks + headers + 4) * BLOCK_BYTES + 2 * self.layout.root_bytes_max()
    }

    pub fn begin_checkpoint(&mut self) {
        let clean = self.gate == Gate::ShutDown;
        self.compact_meta();
        let pages = (0..self.map.pages()).filter(|&page| self.map.is_dirty(page)).collect();
        self.checkpoint = Some(Checkpoint {
            stage: Stage::Pages,
            seq: self.log.last_seq,
            places: self.log.places(),
            free: self.segments.queue.iter().copied().collect(),
            opened: self.opened,
            lifetime: self.lifetime,
            pages,
            next_page: 0,
            restart: false,
            last_seq: 0,
            freed: Vec::new(),
            root: Vec::new(),
            left: 0,
            failed: None,
            attempts: 0,
            superblock: None,
            clean,
        });
    }

    /// Pages in the emptiest meta segments are written anew, so that no more of these are full or
    /// half full than a whole map needs.
    fn compact_meta(&mut self) {
        let open = self.log.open_segment(Stream::Meta);
        let mut meta: Vec<(u32, u32)> = (0..)
            .zip(&self.segments.table)
            .filter(|(number, entry)| {
                entry.stream == Stream::Meta.number() && entry.live > 0 && Some(*number) != open
            })
            .map(|(number, entry)| (entry.live, number))
            .collect();
        meta.sort_unstable();
        let excess = meta.len().saturating_sub(self.layout.map_segments as usize);
        for &(_, segment) in &meta[..excess] {
            for page in 0..self.map.pages() {
                let location = self.map.directory[page as usize].0;
                if location != 0 && self.layout.segment_of(location) == segment {
                    self.map.mark_dirty(page);
                }
            }
        }
    }

    pub fn pump_checkpoint(&mut self) {
        if matches!(self.gate, Gate::Latched(_) | Gate::ReadOnly) {
            self.settling = false;
            return;
        }
        // Two superblocks are never on their way at the same time.
        if !self.ring.replays.is_empty() || self.attest.is_flying() {
            return;
        }
        if self.checkpoint.is_none() {
            if !self.checkpoint_is_due() || self.log.is_relocating() || self.is_stopped() {
                return;
            }
            self.begin_checkpoint();
        }
        let Some(mut checkpoint) = self.checkpoint.take() else { return };
        if checkpoint.restart && checkpoint.stage <= Stage::Drain {
            // Pages already written are not dirty any more unless they changed: nothing is lost.
            if !self.log.is_relocating() {
                self.begin_checkpoint();
            } else {
                self.checkpoint = Some(checkpoint);
            }
            return;
        }
        match checkpoint.stage {
            Stage::Pages => self.pump_pages(&mut checkpoint),
            Stage::Drain if self.log.completed() >= checkpoint.last_seq => {
                self.write_root(&mut checkpoint);
            }
            Stage::Done => return self.end_checkpoint(checkpoint),
            _ => {}
        }
        self.checkpoint = Some(checkpoint);
    }

    /// When all pages are appended: closes what they may know of.
    fn pump_pages(&mut self, checkpoint: &mut Checkpoint) {
        if self.write_pages(checkpoint) {
            Stream::ALL.into_iter().for_each(|stream| self.close_chunk(stream));
            checkpoint.last_seq = self.log.last_seq;
            // What is emptied from now on is so by chunks that this flush may not cover.
            checkpoint.freed = self.segments.freed_by(checkpoint.seq);
            checkpoint.stage = Stage::Drain;
        }
    }

    /// Appends the pages one by one, as they are now. Whether all are appended.
    fn write_pages(&mut self, checkpoint: &mut Checkpoint) -> bool {
        while let Some(&page) = checkpoint.pages.get(checkpoint.next_page) {
            let mut image = self.buffers.take(BLOCK_BYTES);
            let mapped = match bytes_mut(&mut image) {
                Some(bytes) => self.map.encode(page, bytes),
                None => self.map.encode(page, &mut []),
            };
            let mut here = (0, 0);
            if mapped {
                let entry = Entry { block: page, kind: Kind::Page, argument: 0, crc: 0 };
                let fill = |into: &mut [u8]| {
                    let image = crate::buffers::bytes(&image).expect("a run that stores has bytes");
                    into.copy_from_slice(&image[..into.len()]);
                };
                let appended = self.append(Stream::Meta, entry, fill);
                self.buffers.give(image);
                let Ok(place) = appended else { return false };
                here = place;
                self.counters.page_blocks += 1;
                self.segments.gain(self.layout.segment_of(here.0));
            } else {
                self.buffers.give(image);
            }
            let before = std::mem::replace(&mut self.map.directory[page as usize], here);
            if before.0 != 0 {
                self.segments.lose(self.layout.segment_of(before.0));
            }
            self.map.mark_clean(page);
            checkpoint.next_page += 1;
        }
        true
    }

    fn write_root(&mut self, checkpoint: &mut Checkpoint) {
        if broken(Rule::FreedBeforeDrain) {
            checkpoint.freed = self.segments.freed_by(checkpoint.seq);
        }
        if checkpoint.clean && self.log.last_seq == checkpoint.last_seq {
            // Nothing but pages came after C: there will be nothing to roll forward.
            checkpoint.seq = checkpoint.last_seq;
            checkpoint.places = self.log.places();
            checkpoint.free = self.segments.queue.iter().copied().collect();
            checkpoint.opened = self.opened;
            checkpoint.lifetime = self.lifetime;
            checkpoint.freed = self.segments.freed_by(checkpoint.seq);
        }
        let mut root = Root {
            seq: checkpoint.seq,
            lifetime: self.with_errors(checkpoint.lifetime),
            directory: self.map.directory.clone(),
            segments: self.segments.records(&checkpoint.freed),
            open: checkpoint.places.clone(),
            free: checkpoint.free.iter().chain(&checkpoint.freed).copied().collect(),
        };
        // With the superblock that follows, in two copies.
        let written = root.blocks() + 2;
        root.lifetime.drive_blocks += written;
        self.lifetime.drive_blocks += written;
        let generation = self.next_root;
        let offset = self.layout.root_offset(generation);
        checkpoint.root = encode_root(self.superblock.id, offset, generation, &root);
        assert!(checkpoint.root.len() as u64 <= self.layout.root_bytes, "the root fits its area");
        checkpoint.stage = Stage::Root;
        self.send_root(checkpoint);
    }

    fn send_root(&mut self, checkpoint: &mut Checkpoint) {
        let offset = self.layout.root_offset(self.next_root);
        let part_bytes = self.layout.shape.chunk_bytes as usize;
        let parts = checkpoint.root.chunks(part_bytes);
        checkpoint.left = parts.len() as u32;
        for (part, number) in parts.zip(0u64..) {
            let mut from = self.buffers.take(part.len() as u64);
            if let Some(bytes) = bytes_mut(&mut from) {
                bytes[..part.len()].copy_from_slice(part);
            }
            let offset = offset + number * part_bytes as u64;
            let at = Extent { offset, bytes: part.len() as u32 };
            let durability = Durability::Cached;
            self.down.send(Why::Root, Command::Write { at, from, durability });
        }
    }

    pub fn root_written(&mut self, result: Result<(), IoError>, payload: Payload) {
        self.buffers.give(payload);
        let Some(mut checkpoint) = self.checkpoint.take() else { return };
        checkpoint.left -= 1;
        checkpoint.failed = checkpoint.failed.or(result.err());
        match checkpoint.failed {
            _ if checkpoint.left > 0 => {}
            Some(error) => self.try_again(&mut checkpoint, error),
            None => {
                checkpoint.stage = Stage::Flush;
                self.down.send(Why::RootFlush, Command::Flush);
            }
        }
        self.checkpoint = Some(checkpoint);
    }

    fn try_again(&mut self, checkpoint: &mut Checkpoint, error: IoError) {
        checkpoint.attempts += 1;
        checkpoint.failed = None;
        if checkpoint.attempts == ATTEMPTS || error == IoError::Offline {
            self.latch(error);
        } else if checkpoint.stage == Stage::Root {
            self.send_root(checkpoint);
        } else {
            self.send_superblock(checkpoint);
        }
    }

    pub fn root_flushed(&mut self, result: Result<(), IoError>) {
        let Some(mut checkpoint) = self.checkpoint.take() else { return };
        match result {
            Err(error) => self.latch(error),
            Ok(()) => {
                let durable = self.flushes.durable_seq.max(checkpoint.last_seq);
                self.flushes.durable_seq = durable;
                checkpoint.stage = Stage::Superblock;
                checkpoint.superblock = Some(Superblock {
                    generation: self.next_generation(),
                    epoch: self.log.epoch,
                    epoch_reserved: self.log.epoch,
                    first_seq: self.report.first_seq,
                    root_generation: self.next_root,
                    durable_seq: durable,
                    ring: self.ring.mark(),
                    before: self.before,
                    clean: checkpoint.clean && checkpoint.seq == self.log.last_seq,
                    ..self.superblock
                });
                self.send_superblock(&mut checkpoint);
            }
        }
        self.checkpoint = Some(checkpoint);
    }

    fn send_superblock(&mut self, checkpoint: &mut Checkpoint) {
        let superblock = checkpoint.superblock.expect("it was made before");
        checkpoint.left = 2;
        for offset in self.layout.copies_of(superblock.generation) {
            let mut from = self.buffers.take(BLOCK_BYTES);
            if let Some(bytes) = bytes_mut(&mut from) {
                superblock.encode(offset, bytes);
            }
            let at = Extent { offset, bytes: BLOCK_BYTES as u32 };
            self.down.send(Why::Super, Command::Write { at, from, durability: Durability::Fua });
        }
    }

    pub fn superblock_written(&mut self, result: Result<(), IoError>, payload: Payload) {
        self.buffers.give(payload);
        let Some(mut checkpoint) = self.checkpoint.take() else { return };
        checkpoint.left -= 1;
        checkpoint.failed = checkpoint.failed.or(result.err());
        match checkpoint.failed {
            _ if checkpoint.left > 0 => {}
            Some(error) => self.try_again(&mut checkpoint, error),
            None => checkpoint.stage = Stage::Done,
        }
        self.checkpoint = Some(checkpoint);
    }

    /// It is durable in two copies: what it frees may be used, and recovery begins at its C.
    fn end_checkpoint(&mut self, checkpoint: Checkpoint) {
        self.superblock = checkpoint.superblock.expect("it was written");
        self.next_root = self.superblock.root_generation + 1;
        self.attest.superblock_written(&self.superblock);
        self.segments.set_free(&checkpoint.freed);
        self.announce_free(&checkpoint.freed);
        self.opened.all -= checkpoint.opened.all;
        self.opened.window -= checkpoint.opened.window;
        self.counters.checkpoints += 1;
        self.choose_policy();
        self.settling = false;
        if self.superblock.clean {
            self.stopped();
        }
    }

    /// Nothing is acknowledged any more that could be missing.
    pub fn is_stopped(&self) -> bool {
        self.superblock.clean
    }
}
