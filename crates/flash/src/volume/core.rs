//! The open volume: what it holds, how answers leave it, and the order in which its parts move.

use super::{
    attest::{Attest, Attesting},
    checkpoint::Checkpoint,
    classes::Lifespan,
    cleaner::{Cleaner, Cleaning},
    discards::Announcements,
    flushes::{Answered, Flushes, Mark},
    log::{Log, Stream},
    opening::OpenReport,
    pacing::Pacer,
    reads::{Pieces, ReadOp},
    ring::{Replay, Ring},
    scrub::Scrub,
    writes::WriteOp,
};
use crate::{
    buffers::Buffers,
    down::{Down, Reach},
    format::{Before, Superblock},
    layout::{BLOCK_BYTES, Layout},
    lifetime::Lifetime,
    map::Map,
    predict,
    segments::{Segments, State},
};
use block::{
    Command, Completion, Data, Effects, Geometry, Instant, IoError, Payload, Request, Slots, Tag,
};
use std::collections::{BTreeSet, VecDeque};

/// What is chosen each time a volume is opened.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Requests that may be outstanding.
    pub queue_depth: u32,
    /// No answer comes sooner after its request: the host's cost of a request in virtual time, and
    /// 1 on a real drive, so that a stack of answers from memory does not keep it from being
    /// polled.
    pub answer_ns: u64,
    /// Chunks on their way; at least 4. Each stream has one more in memory that is filling.
    pub chunks: u32,
    /// How victims are chosen.
    pub cleaning: Cleaning,
    /// Most that the cleaner copies, B/s; as fast as the host's writes need it where there is none.
    /// With a cap, writes wait for it once the clean pool is used up.
    pub copy_bytes_per_s_max: Option<u64>,
    /// Cleaning while the host is quiet.
    pub idle: Option<IdleCleaning>,
    /// When it is written down that the last flush is durable.
    pub attesting: Attesting,
    /// How often a day the whole drive may be written; the host's writes wait where there would be
    /// more.
    pub drive_writes_per_day: Option<f64>,
    /// Whether the drive is told what is free.
    pub discards: Discards,
    /// The cleaner reads a hole between live blocks along where it is no longer: what the drive
    /// reads, once it reads, in the time that one more request costs it. 4 KiB is right for flash
    /// (on a Mtron PRO of 2007 a request costs 44 us and 4 KiB 32 us; 1 M requests/s and 7 GB/s are
    /// 7 KB), a track for disks.
    pub hole_bytes: u64,
}

/// Cleaning while the host is quiet, so that its next burst finds a pool of free segments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IdleCleaning {
    /// Quiet is no request for so long, ns.
    pub after_ns: u64,
    /// It ends when so much of the spare, 0 to 1, is free: the rest would cost more copies than it
    /// is worth.
    pub free_share: f64,
}

impl Default for IdleCleaning {
    /// After a second, until half of the spare is free: at a random fill up to there victims are
    /// emptier than the average, so every block moved frees one or more.
    fn default() -> Self {
        Self { after_ns: 1_000_000_000, free_share: 0.5 }
    }
}

/// Whether segments that became free are discarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discards {
    /// The drive learns nothing: for drives without the command.
    Kept,
    /// It is told, where nobody waits for the segment. Only a hint: nothing here relies on zeroes.
    Sent,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            queue_depth: 256,
            answer_ns: 1,
            chunks: 8,
            cleaning: Cleaning::Greedy,
            copy_bytes_per_s_max: None,
            idle: None,
            attesting: Attesting::default(),
            drive_writes_per_day: None,
            discards: Discards::Kept,
            hole_bytes: BLOCK_BYTES,
        }
    }
}

impl Settings {
    pub(super) fn check(&self) {
        assert!(self.queue_depth > 0 && self.answer_ns > 0 && self.chunks >= 4, "{self:?}");
        assert!(
            self.copy_bytes_per_s_max != Some(0),
            "cleaning at 0 B/s would never free anything"
        );
        assert!(self.drive_writes_per_day.is_none_or(|writes| writes > 0.0), "{self:?}");
        let share = self.idle.map_or(0.0, |idle| idle.free_share);
        assert!((0.0..=1.0).contains(&share), "{self:?}");
    }

    /// Chunks of victims that are read at the same time: half of those on their way, so that copies
    /// of one are written while the next are read.
    pub(crate) fn victim_chunks(&self) -> u32 {
        self.chunks / 2
    }
}

/// What a volume has done since it was opened, and how it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Blocks that the host wrote, zeroes not counted.
    pub host_blocks: u64,
    /// Blocks that the cleaner copied.
    pub copied_blocks: u64,
    /// Pages of the map written.
    pub page_blocks: u64,
    /// Headers of chunks, in blocks.
    pub header_blocks: u64,
    /// Padding, in blocks.
    pub padding_blocks: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Segments that the cleaner emptied.
    pub cleaned: u64,
    /// Chunks written elsewhere after a failure.
    pub relocated: u64,
    /// Blocks whose data did not fit their checksum, each time they were met.
    pub checksum_errors: u64,
    /// Writes found nothing left to wait for: too many segments are bad.
    pub stuck: u64,
    /// Records written to the ring.
    pub records: u64,
    /// Their blocks.
    pub record_blocks: u64,
    /// Records whose entries are in durable chunks.
    pub absorbed: u64,
    /// Flushes of the drive for those who waited for them; checkpoints have their own.
    pub flushes: u64,
    /// Superblocks that were written to say what the last flush covered; checkpoints have their
    /// own.
    pub attests: u64,
    /// Blocks of zeroes that were not written.
    pub zero_blocks: u64,
    /// Blocks mapped now.
    pub mapped_blocks: u64,
    /// Segments free now.
    pub free_segments: u64,
    /// Segments that the next checkpoint may set free.
    pub prefree_segments: u64,
    /// Bytes that the host may still write before cleaning has to begin.
    pub clean_pool_bytes: u64,
    /// What the cleaner copies, B/s, over the last second or longer.
    pub copy_bytes_per_s: u64,
    /// Reads of victims' live blocks.
    pub victim_reads: u64,
    /// Blocks that these read, with the holes between.
    pub victim_read_blocks: u64,
    /// Requests that read the drive, for clients and for the cleaner.
    pub drive_reads: u64,
    /// What these read.
    pub drive_read_bytes: u64,
    /// Longest that a write waited for room, ns.
    pub write_wait_ns_max: u64,
    /// All that writes waited for room, ns.
    pub write_wait_ns: u64,
    /// Of it, for the endurance budget.
    pub budget_wait_ns: u64,
    /// What the endurance budget allows to be written at once.
    pub budget_bytes: u64,
    /// Segments that the drive was told are free.
    pub discarded_segments: u64,
    /// Segments with pages of the map.
    pub meta_segments: u64,
    /// Chunks appended: the last sequence number.
    pub last_seq: u64,
    /// Every chunk up to this one is durable.
    pub durable_seq: u64,
}

/// Why a request was sent down.
#[derive(Debug)]
pub(super) enum Why {
    /// A read that needs no more than its own buffer.
    Whole {
        op: u32,
        location: u32,
    },
    /// A part of a read.
    Piece {
        op: u32,
        piece: u32,
    },
    /// What a block held that a write splits.
    Old {
        op: u32,
        at: u32,
        location: u32,
    },
    /// The chunk of this sequence number.
    Chunk(u64),
    /// A record of the ring.
    Record(u64),
    /// A flush that covers every chunk and record up to these.
    Flush(Mark),
    /// A part of the root.
    Root,
    RootFlush,
    /// A copy of the superblock.
    Super,
    /// A copy of one that only attests.
    Attest,
    /// The header of a chunk of the victim.
    VictimHeader {
        segment: u32,
    },
    /// A segment that is free.
    Discard {
        segment: u32,
    },
    /// The header of a chunk, to be scrubbed.
    ScrubHeader {
        location: u32,
    },
    /// Blocks to be scrubbed, from this one on.
    ScrubPiece {
        location: u32,
    },
    /// Live blocks of the victim.
    VictimRun {
        piece: u32,
        run: u32,
    },
}

#[derive(Debug)]
pub(super) enum Op {
    Read(ReadOp),
    Write(WriteOp),
    Flush {
        tag: Tag,
        issued: Instant,
    },
    /// Being worked on right now.
    Busy,
}

/// Whether requests may change anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gate {
    Open,
    /// Recovery found what it could not make sense of, or it was opened so. The drive is only read.
    ReadOnly,
    /// Stopping or stopped.
    ShutDown,
    /// A flush, or what cannot be done again, failed: nothing more is acknowledged.
    Latched(IoError),
}

impl Gate {
    fn reach(self) -> Reach {
        if self == Self::ReadOnly { Reach::Read } else { Reach::Change }
    }
}

#[derive(Debug)]
pub(super) struct Core {
    pub layout: Layout,
    pub settings: Settings,
    pub data: Data,
    pub superblock: Superblock,
    /// Generation of the root that comes next.
    pub next_root: u64,
    /// What was made of the log before this epoch.
    pub before: Before,
    pub report: OpenReport,
    pub gate: Gate,
    pub map: Map,
    pub segments: Segments,
    pub log: Log,
    pub flushes: Flushes,
    /// When writes are answered.
    pub answered: Answered,
    pub ring: Ring,
    pub checkpoint: Option<Checkpoint>,
    pub attest: Attest,
    pub cleaner: Cleaner,
    pub lifespan: Lifespan,
    pub announcements: Announcements,
    pub pacer: Pacer,
    pub scrub: Scrub,
    /// What [`Cleaning::Auto`] comes to.
    pub automatic: Cleaning,
    pub ops: Slots<Op>,
    pub spare_pieces: Vec<Pieces>,
    /// Memory of the pieces that are being read, B.
    pub piece_bytes: u64,
    /// Reads in pieces that wait for memory, with the time of their request.
    pub short_reads: VecDeque<(Instant, u32)>,
    /// Writes that wait for room in a chunk, in their order.
    pub stalled: VecDeque<u32>,
    /// Writes that wait for a block that another one locked, and whatever waits for a chunk on its
    /// way.
    pub parked: VecDeque<u32>,
    /// Blocks whose other half is being read.
    pub locked: BTreeSet<u32>,
    /// New mappings of writes that have begun.
    pub promised: u32,
    /// Whose data is at a location: for runs that only time, where no header can be read back.
    pub owners: Option<Vec<u32>>,
    /// Segments taken since the C of the last checkpoint: by host and cleaner, and by all.
    pub opened: Opened,
    /// The checkpoint that ends recovery is not done.
    pub settling: bool,
    pub buffers: Buffers,
    pub down: Down<Why>,
    pub counters: Counters,
    /// Of every chunk that has its number.
    pub lifetime: Lifetime,
    pub now: Instant,
    answers: VecDeque<Completion>,
    up: Vec<Completion>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opened {
    pub window: u32,
    pub all: u32,
}

/// What recovery, or creation, hands over.
#[derive(Debug)]
pub(super) struct Start {
    pub layout: Layout,
    pub superblock: Superblock,
    pub map: Map,
    pub segments: Segments,
    pub log: Log,
    pub gate: Gate,
    pub report: OpenReport,
    pub opened: Opened,
    pub lifetime: Lifetime,
    pub needs_checkpoint: bool,
    /// Generation of the root that comes next.
    pub next_root: u64,
    /// What was made of the log before this epoch.
    pub before: Before,
    /// What the ring held, newer than the log.
    pub replays: Vec<Replay>,
}

impl Core {
    pub fn new(below: Geometry, settings: Settings, now: Instant, start: Start) -> Self {
        let Start { layout, superblock, map, segments, log, gate, report, opened, .. } = start;
        let blocks = layout.segments as usize * layout.segment_blocks as usize;
        let pacer = Pacer::new(&layout, &settings, start.lifetime.drive_blocks, now);
        let mut core = Self {
            layout,
            settings,
            data: below.data,
            superblock,
            next_root: start.next_root,
            before: start.before,
            report,
            gate,
            map,
            segments,
            log,
            flushes: Flushes::default(),
            answered: Answered::default(),
            ring: Ring::new(start.replays),
            checkpoint: None,
            attest: Attest::default(),
            cleaner: Cleaner::default(),
            lifespan: Lifespan::default(),
            announcements: Announcements::default(),
            pacer,
            scrub: Scrub::new(),
            automatic: Cleaning::Greedy,
            ops: Slots::new(settings.queue_depth),
            spare_pieces: Vec::new(),
            piece_bytes: 0,
            short_reads: VecDeque::new(),
            stalled: VecDeque::new(),
            parked: VecDeque::new(),
            locked: BTreeSet::new(),
            promised: 0,
            owners: (below.data == Data::TimingOnly).then(|| vec![0; blocks]),
            opened,
            settling: start.needs_checkpoint && gate == Gate::Open,
            buffers: Buffers::new(below.data, predict::dram(&layout, &settings).buffer_bytes()),
            down: Down::new(below.queue_depth, gate.reach()),
            counters: Counters::default(),
            lifetime: start.lifetime,
            now,
            answers: VecDeque::new(),
            up: Vec::new(),
        };
        if gate == Gate::ReadOnly {
            core.keep_replays();
        }
        core.segments.list_victims();
        core.choose_policy();
        core.tick_pacer();
        core.flushes.durable_seq = superblock.durable_seq.min(core.log.last_seq);
        core.attest.superblock_written(&superblock);
        if core.settling && core.ring.replays.is_empty() {
            core.begin_checkpoint();
        }
        core
    }

    pub fn is_settling(&self) -> bool {
        self.settling && self.gate == Gate::Open
    }

    pub fn counters(&self) -> Counters {
        Counters {
            mapped_blocks: u64::from(self.map.mapped()) + self.kept_new_blocks(),
            free_segments: self.segments.queue.len() as u64,
            prefree_segments: self.segments.prefree.len() as u64,
            meta_segments: self.segments.of_stream(Stream::Meta.number()),
            clean_pool_bytes: self.clean_pool_bytes(),
            drive_reads: self.down.reads,
            drive_read_bytes: self.down.read_bytes,
            copy_bytes_per_s: self.pacer.copy_bytes_per_s(self.now),
            write_wait_ns_max: self.pacer.write_wait_ns_max,
            write_wait_ns: self.pacer.write_wait_ns,
            budget_wait_ns: self.pacer.budget_wait_ns,
            budget_bytes: self.pacer.budget_bytes(),
            last_seq: self.log.last_seq,
            durable_seq: self.flushes.durable_seq,
            ..self.counters
        }
    }

    /// Over the volume's whole life.
    pub fn lifetime(&self) -> Lifetime {
        self.with_errors(self.lifetime)
    }

    /// The errors met since the volume was opened, added to those of before.
    pub fn with_errors(&self, lifetime: Lifetime) -> Lifetime {
        let checksum_errors = self.lifetime.checksum_errors + self.counters.checksum_errors;
        Lifetime { checksum_errors, ..lifetime }
    }

    pub fn shut_down(&mut self) {
        if self.gate == Gate::Open {
            self.gate = Gate::ShutDown;
        }
    }

    /// Nothing more is acknowledged: what waits, and all writes, trims and flushes to come, fail.
    pub fn latch(&mut self, error: IoError) {
        if !matches!(self.gate, Gate::Latched(_)) {
            self.gate = Gate::Latched(error);
        }
    }

    /// Why nothing may be changed.
    pub fn refusal(&self) -> Option<IoError> {
        match self.gate {
            Gate::Open => None,
            Gate::ReadOnly => Some(IoError::Os(30)), // EROFS
            Gate::ShutDown => Some(IoError::Os(108)), // ESHUTDOWN
            Gate::Latched(error) => Some(error),
        }
    }

    pub fn accept(&mut self, now: Instant, request: Request) {
        self.now = now;
        self.pacer.requested(now);
        let Request { tag, command, .. } = request;
        match command {
            Command::Read { at, into } => self.accept_read(tag, at, into),
            Command::Write { at, from, durability } => {
                self.accept_write(tag, at.offset, u64::from(at.bytes), Some(from), durability);
            }
            Command::Discard { offset, len } => {
                self.accept_write(tag, offset, len, None, block::Durability::Cached);
            }
            Command::Flush => {
                let slot = self.ops.insert(Op::Flush { tag, issued: now });
                self.accept_flush(slot);
            }
        }
    }

    pub fn on_completion(&mut self, now: Instant, completion: Completion) {
        self.now = now;
        let why = self.down.take(&completion);
        let Completion { result, payload, .. } = completion;
        match why {
            Why::Whole { op, location } => self.whole_read(op, location, result, payload),
            Why::Piece { op, piece } => self.piece_read(op, piece, result, payload),
            Why::Old { op, at, location } => self.old_read(op, at, location, result, payload),
            Why::Chunk(seq) => self.chunk_written(seq, result, payload),
            Why::Record(number) => self.record_written(number, result, payload),
            Why::Flush(mark) => self.flushed(mark, result),
            Why::Root => self.root_written(result, payload),
            Why::RootFlush => self.root_flushed(result),
            Why::Super => self.superblock_written(result, payload),
            Why::Attest => self.attest_written(result, payload),
            Why::Discard { segment } => self.discarded(segment, result),
            Why::ScrubHeader { location } => self.scrub_header_read(location, result, payload),
            Why::ScrubPiece { location } => self.scrub_piece_read(location, result, payload),
            Why::VictimHeader { segment } => self.victim_header_read(segment, result, payload),
            Why::VictimRun { piece, run } => self.victim_run_read(piece, run, result, payload),
        }
    }

    /// Everything that can move, moves. What one part gives back may be what another waits for.
    pub fn pump(&mut self, now: Instant) {
        self.now = now;
        loop {
            self.tick_pacer();
            let before = self.progress();
            self.pump_replays();
            self.pump_relocation();
            self.pump_parked();
            self.pump_short_reads();
            self.pump_stalled();
            self.pump_checkpoint();
            self.pump_cleaner();
            self.pump_discards();
            self.pump_flushes();
            self.pump_attest();
            if self.progress() == before && !self.is_stuck() {
                self.pump_scrub();
                self.set_alarm();
                return;
            }
        }
    }

    /// Writes wait, and nothing is under way that they could wait for: too many segments were
    /// retired. What was promised cannot be kept.
    fn is_stuck(&mut self) -> bool {
        let waiting = !self.stalled.is_empty() || !self.ring.replays.is_empty();
        let stuck = waiting && self.down.is_idle() && !self.pacer.waits_for_time(self.now);
        if stuck {
            self.counters.stuck += 1;
            self.latch(IoError::Os(5));
        }
        stuck
    }

    /// Differs whenever something has moved.
    fn progress(&self) -> [u64; 6] {
        [
            self.log.appended,
            self.ops.len() as u64,
            self.segments.queue.len() as u64 | (self.segments.prefree.len() as u64) << 32,
            self.checkpoint.as_ref().map_or(0, Checkpoint::progress),
            self.cleaner.progress,
            self.log.sent,
        ]
    }

    /// Answers an operation: now, or when the time that every request takes has passed.
    pub fn answer(
        &mut self,
        tag: Tag,
        issued: Instant,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        let due = issued.after(self.settings.answer_ns);
        let finished = due.max(self.now);
        let completion = Completion { tag, issued, finished, result, payload };
        if due <= self.now {
            self.up.push(completion);
        } else {
            let after = self.answers.iter().rposition(|other| other.finished <= finished);
            self.answers.insert(after.map_or(0, |at| at + 1), completion);
        }
    }

    pub fn next_wakeup(&self) -> Instant {
        let answer = self.answers.front().map_or(Instant::NEVER, |answer| answer.finished);
        answer.min(self.pacer.alarm).min(self.attest_due()).min(self.scrub.alarm)
    }

    pub fn drain_into(&mut self, effects: &mut Effects) {
        self.down.drain_into(effects);
        effects.up.append(&mut self.up);
        while self.answers.front().is_some_and(|answer| answer.finished <= self.now) {
            effects.up.extend(self.answers.pop_front());
        }
    }

    /// Counts everything anew and compares.
    pub fn audit(&self) {
        let mut live = vec![0u32; self.layout.segments as usize];
        let mut mapped = 0;
        for (_, location) in self.map.iter() {
            mapped += 1;
            if location > crate::map::LOST {
                live[self.layout.segment_of(location) as usize] += 1;
            }
        }
        for &(location, _) in self.map.directory.iter().filter(|page| page.0 != 0) {
            live[self.layout.segment_of(location) as usize] += 1;
        }
        assert_eq!(mapped, self.map.mapped(), "blocks mapped");
        assert!(mapped <= self.layout.mapped_max, "{mapped} blocks mapped: more than have room");
        for (number, segment) in (0..).zip(&self.segments.table) {
            assert_eq!(live[number as usize], segment.live, "live blocks of segment {number}");
            let queued = self.segments.queue.contains(&number);
            assert_eq!(queued, segment.state == State::Free, "segment {number} in the queue");
            let listed = self.segments.prefree.contains(&number);
            assert_eq!(listed, segment.state == State::Prefree, "segment {number} prefree");
        }
    }
}
