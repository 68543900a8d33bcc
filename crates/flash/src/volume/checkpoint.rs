//! Checkpoints: the map's dirty pages through the log, then a root, a flush, and two copies of the
//! superblock.
//!
//! ```text
//!   pages -> drain -> root -> flush -> superblock -> free
//!   with C      all open chunks          two copies,    what was prefree
//!   noted       closed and written       FUA            joins the queue
//! ```

use super::{
    attest::{Attest, send_copies},
    blocks::Opened,
    counters::Counters,
    io::Why,
    log::Log,
    pacing::Pacer,
    ring::Ring,
    stream::Stream,
};
use crate::broken::{Rule, broken};
use crate::{
    buffers::{bytes, bytes_mut},
    format::{Before, Entry, Kind, Root, Superblock, encode_root},
    layout::Levels,
    lifetime::Lifetime,
    shape::{BLOCK_BYTES, STREAMS},
};
use block::{Durability, Extent, IoError, Payload};

/// The next attempt may succeed; a third one will hardly.
const ATTEMPTS: u32 = 3;

/// Whether the host's writes are under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Host {
    Writing,
    /// Nothing is but flushes that wait for the end.
    Quiet,
}

/// What is new once a checkpoint is durable.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// Segments that it set free.
    pub freed: Vec<u32>,
}

/// The one that is under way, and what the next one needs to know.
#[derive(Clone, Debug)]
pub(super) struct Checkpoints {
    under_way: Option<Checkpoint>,
    /// Generation of the root that comes next.
    next_root: u64,
    /// What was made of the log before this epoch.
    before: Before,
    /// The first chunk of this epoch.
    first_seq: u64,
    count: u64,
    page_blocks: u64,
}

#[derive(Clone, Debug)]
struct Checkpoint {
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
    /// How often a segment had been retired. If one was since, a chunk moved: pages may point to
    /// where it was.
    retired: u64,
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
    /// A part of the root, or a copy of the superblock, was written. Whether all of them are, and
    /// how that went.
    fn part_written(
        &mut self,
        stage: Stage,
        result: Result<(), IoError>,
    ) -> Option<Result<(), IoError>> {
        assert_eq!(self.stage, stage, "what is written belongs to the stage");
        self.left = self.left.checked_sub(1).expect("each part is answered once");
        self.failed = self.failed.or(result.err());
        (self.left == 0).then(|| self.failed.take().map_or(Ok(()), Err))
    }
}

impl Checkpoints {
    pub fn new(next_root: u64, before: Before, first_seq: u64) -> Self {
        Self { under_way: None, next_root, before, first_seq, count: 0, page_blocks: 0 }
    }

    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Differs whenever the one under way has moved.
    pub fn progress(&self) -> u64 {
        let progress =
            |checkpoint: &Checkpoint| 1 + checkpoint.next_page as u64 * 8 + checkpoint.stage as u64;
        self.under_way.as_ref().map_or(0, progress)
    }

    /// What the checkpoint that is under way, or the next one, writes at most, with so many entries
    /// that recovery found in the ring, B.
    pub fn bytes(&self, log: &Log, replays: usize) -> u64 {
        let dirty = dirty_pages(log).count();
        let pages = self.under_way.as_ref().map_or(0, |checkpoint| checkpoint.pages.len());
        let blocks = dirty.max(pages) as u64 + replays as u64;
        let layout = &log.blocks.layout;
        // Headers and padding, a chunk that each stream may close early, both root areas, four
        // superblocks.
        let chunks = blocks.div_ceil(u64::from(layout.chunk_blocks)) + STREAMS as u64;
        let headers = chunks * u64::from(layout.header_blocks + layout.append_blocks);
        (blocks + headers + 4) * BLOCK_BYTES + 2 * layout.root_bytes_max()
    }

    /// Begins one if the window is half used, if enough free segments wait for it, or if the volume
    /// stops.
    fn is_due(log: &Log, pacer: &Pacer, host: Host) -> bool {
        let Levels { floor, interval, margin } = pacer.levels();
        let segments = log.blocks.segments();
        let (free, waiting) = (segments.free(), segments.prefree());
        let used = log.blocks.opened().window >= log.blocks.layout.window.div_ceil(2);
        let worth_it = waiting >= interval.div_ceil(2) || !pacer.is_cleaning();
        let starved = free <= floor + 1 && waiting > 0 && worth_it
            || free <= floor + margin && waiting >= interval;
        used || starved || log.mode.is_shut_down() && host == Host::Quiet
    }

    /// Notes C and which pages are to be written.
    pub fn begin(&mut self, log: &mut Log, attest: &mut Attest) {
        attest.leave_to_checkpoint();
        compact_meta(log);
        self.under_way = Some(Checkpoint {
            stage: Stage::Pages,
            seq: log.last_seq(),
            places: log.places(),
            free: log.blocks.segments().free_list(),
            opened: log.blocks.opened(),
            lifetime: log.io.lifetime(),
            pages: dirty_pages(log).collect(),
            next_page: 0,
            retired: log.retired(),
            last_seq: 0,
            freed: Vec::new(),
            root: Vec::new(),
            left: 0,
            failed: None,
            attempts: 0,
            superblock: None,
            clean: log.mode.is_shut_down(),
        });
    }

    /// Begins one where it is due, and goes on with it. Says when it has ended.
    pub fn pump(
        &mut self,
        log: &mut Log,
        attest: &mut Attest,
        pacer: &Pacer,
        host: Host,
    ) -> Option<Ended> {
        // Two superblocks are never on their way at the same time.
        if log.mode.latched().is_some() || log.mode.is_read_only() || attest.is_flying() {
            return None;
        }
        if self.under_way.is_none() {
            let may = !log.is_relocating() && !log.mode.is_stopped();
            if !may || !Self::is_due(log, pacer, host) {
                return None;
            }
            self.begin(log, attest);
        }
        let checkpoint = self.under_way.as_mut()?;
        if checkpoint.retired != log.retired() && checkpoint.stage <= Stage::Drain {
            // Pages already written are not dirty any more unless they changed: nothing is lost.
            if !log.is_relocating() {
                self.begin(log, attest);
            }
            return None;
        }
        match checkpoint.stage {
            Stage::Pages => self.write_pages(log),
            Stage::Drain if log.completed() >= checkpoint.last_seq => self.write_root(log),
            Stage::Done => return Some(self.end(log, attest)),
            _ => {}
        }
        None
    }

    fn under_way(&mut self) -> &mut Checkpoint {
        self.under_way.as_mut().expect("a checkpoint is under way")
    }

    /// Appends the pages one by one, as they are now. When all are appended: closes what they may
    /// know of.
    fn write_pages(&mut self, log: &mut Log) {
        let checkpoint = self.under_way.as_mut().expect("a checkpoint is under way");
        while let Some(&page) = checkpoint.pages.get(checkpoint.next_page) {
            match append_page(log, page) {
                None => return,
                Some(blocks) => self.page_blocks += blocks,
            }
            checkpoint.next_page += 1;
        }
        Stream::ALL.into_iter().for_each(|stream| log.close_chunk(stream));
        checkpoint.last_seq = log.last_seq();
        // What is emptied from now on is so by chunks that this flush may not cover.
        checkpoint.freed = log.blocks.segments().freed_by(checkpoint.seq);
        checkpoint.stage = Stage::Drain;
    }

    fn write_root(&mut self, log: &mut Log) {
        let generation = self.next_root;
        let checkpoint = self.under_way();
        if broken(Rule::FreedBeforeDrain) {
            checkpoint.freed = log.blocks.segments().freed_by(checkpoint.seq);
        }
        if checkpoint.clean && log.last_seq() == checkpoint.last_seq {
            // Nothing but pages came after C: there will be nothing to roll forward.
            checkpoint.seq = checkpoint.last_seq;
            checkpoint.places = log.places();
            checkpoint.free = log.blocks.segments().free_list();
            checkpoint.opened = log.blocks.opened();
            checkpoint.lifetime = log.io.lifetime();
            checkpoint.freed = log.blocks.segments().freed_by(checkpoint.seq);
        }
        let checksum_errors = log.io.lifetime().checksum_errors;
        let mut root = Root {
            seq: checkpoint.seq,
            lifetime: Lifetime { checksum_errors, ..checkpoint.lifetime },
            directory: log.blocks.map().directory().to_vec(),
            segments: log.blocks.segments().records(&checkpoint.freed),
            open: checkpoint.places.clone(),
            free: checkpoint.free.iter().chain(&checkpoint.freed).copied().collect(),
        };
        // With the superblock that follows, in two copies.
        let written = root.blocks() + 2;
        root.lifetime.drive_blocks += written;
        log.io.count_blocks(written);
        let layout = &log.blocks.layout;
        let offset = layout.root_offset(generation);
        checkpoint.root = encode_root(log.id(), offset, generation, &root);
        assert!(checkpoint.root.len() as u64 <= layout.root_bytes, "the root fits its area");
        checkpoint.stage = Stage::Root;
        self.send_root(log);
    }

    fn send_root(&mut self, log: &mut Log) {
        let offset = log.blocks.layout.root_offset(self.next_root);
        let part_bytes = log.blocks.layout.shape.chunk_bytes as usize;
        let checkpoint = self.under_way();
        let parts = checkpoint.root.chunks(part_bytes);
        checkpoint.left = parts.len() as u32;
        for (part, number) in parts.zip(0u64..) {
            let offset = offset + number * part_bytes as u64;
            let at = Extent { offset, bytes: part.len() as u32 };
            log.io.write(Why::Root, at, Durability::Cached, |bytes| {
                bytes[..part.len()].copy_from_slice(part);
            });
        }
    }

    pub fn root_written(&mut self, log: &mut Log, result: Result<(), IoError>, payload: Payload) {
        log.io.give(payload);
        match self.under_way().part_written(Stage::Root, result) {
            None => {}
            Some(Err(error)) => self.try_again(log, error),
            Some(Ok(())) => {
                self.under_way().stage = Stage::Flush;
                log.io.send(Why::RootFlush, block::Command::Flush);
            }
        }
    }

    fn try_again(&mut self, log: &mut Log, error: IoError) {
        let checkpoint = self.under_way();
        checkpoint.attempts += 1;
        if checkpoint.attempts == ATTEMPTS || error == IoError::Offline {
            log.mode.latch(error);
        } else if checkpoint.stage == Stage::Root {
            self.send_root(log);
        } else {
            self.send_superblock(log);
        }
    }

    pub fn root_flushed(
        &mut self,
        log: &mut Log,
        ring: &Ring,
        attest: &Attest,
        result: Result<(), IoError>,
    ) {
        if let Err(error) = result {
            return log.mode.latch(error);
        }
        let (root_generation, before, first_seq) = (self.next_root, self.before, self.first_seq);
        let checkpoint = self.under_way();
        assert_eq!(checkpoint.stage, Stage::Flush, "what is flushed belongs to the stage");
        log.made_durable(checkpoint.last_seq);
        checkpoint.stage = Stage::Superblock;
        checkpoint.superblock = Some(Superblock {
            generation: attest.next_generation(),
            epoch: log.epoch(),
            epoch_reserved: log.epoch(),
            first_seq,
            root_generation,
            durable_seq: log.durable_seq(),
            ring: ring.mark(),
            before,
            clean: checkpoint.clean && checkpoint.seq == log.last_seq(),
            ..*attest.superblock()
        });
        self.send_superblock(log);
    }

    fn send_superblock(&mut self, log: &mut Log) {
        let checkpoint = self.under_way();
        checkpoint.left = 2;
        let superblock = checkpoint.superblock.expect("it was made before");
        send_copies(log, &superblock, || Why::Super);
    }

    pub fn superblock_written(
        &mut self,
        log: &mut Log,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        log.io.give(payload);
        match self.under_way().part_written(Stage::Superblock, result) {
            None => {}
            Some(Err(error)) => self.try_again(log, error),
            Some(Ok(())) => self.under_way().stage = Stage::Done,
        }
    }

    /// It is durable in two copies: what it frees may be used, and recovery begins at its C.
    fn end(&mut self, log: &mut Log, attest: &mut Attest) -> Ended {
        let checkpoint = self.under_way.take().expect("a checkpoint is under way");
        let superblock = checkpoint.superblock.expect("it was written");
        assert_eq!(superblock.root_generation, self.next_root, "a root belongs to its superblock");
        self.next_root += 1;
        attest.checkpointed(log, superblock);
        log.blocks.checkpointed(&checkpoint.freed, checkpoint.opened);
        log.mode.recovered();
        if superblock.clean {
            log.mode.stopped();
        }
        self.count += 1;
        Ended { freed: checkpoint.freed }
    }

    pub fn count(&self, counters: &mut Counters) {
        counters.checkpoints = self.count;
        counters.page_blocks = self.page_blocks;
    }
}

fn dirty_pages(log: &Log) -> impl Iterator<Item = u32> {
    let map = log.blocks.map();
    (0..map.pages()).filter(|&page| map.is_dirty(page))
}

/// Pages in the emptiest meta segments are written anew, so that no more of these are full or half
/// full than a whole map needs.
fn compact_meta(log: &mut Log) {
    let open = log.open_segment(Stream::Meta);
    let segments = log.blocks.segments().iter();
    let of_meta = segments.filter(|(number, entry)| {
        entry.stream == Stream::Meta.number() && entry.live > 0 && Some(*number) != open
    });
    let mut meta: Vec<(u32, u32)> = of_meta.map(|(number, entry)| (entry.live, number)).collect();
    meta.sort_unstable();
    let excess = meta.len().saturating_sub(log.blocks.layout.map_segments as usize);
    for &(_, segment) in &meta[..excess] {
        for page in 0..log.blocks.map().pages() {
            let location = log.blocks.map().directory()[page as usize].0;
            if location != 0 && log.blocks.layout.segment_of(location) == segment {
                log.blocks.rewrite_page(page);
            }
        }
    }
}

/// Appends a page as it is now, unless nothing in it is mapped. How many blocks that took; none
/// where there is no room.
fn append_page(log: &mut Log, page: u32) -> Option<u64> {
    let mut image = log.io.take(BLOCK_BYTES);
    let mapped = log.blocks.map().encode(page, bytes_mut(&mut image).unwrap_or(&mut []));
    let mut place = Some((0, 0));
    if mapped {
        let entry = Entry { block: page, kind: Kind::Page, argument: 0, crc: 0 };
        let fill = |into: &mut [u8]| {
            let image = bytes(&image).expect("a run that stores has bytes");
            into.copy_from_slice(&image[..into.len()]);
        };
        place = log.append(Stream::Meta, entry, fill).ok();
    }
    log.io.give(image);
    log.blocks.page_written(page, place?);
    Some(u64::from(mapped))
}
