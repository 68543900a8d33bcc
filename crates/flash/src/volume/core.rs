//! The open volume: its parts, which of them a request or a completion is for, and the order in
//! which they move.

use super::{
    attest::Attest,
    blocks::Blocks,
    checkpoint::{Checkpoints, Host},
    cleaner::Cleaner,
    counters::Counters,
    discards::Announcements,
    flushes::{Answered, Flushes, Waiter},
    io::{Io, Why},
    log::{Log, LogStart},
    memory::dram,
    mode::Mode,
    opening::{OpenReport, Start},
    pacing::Pacer,
    placement::Placement,
    reads::Reads,
    replays::Replays,
    requests::{Parked, Requests},
    ring::Ring,
    scrub::{Scrub, ScrubReport, Scrubbing},
    settings::Settings,
    writes::{WriteRequest, Writes},
};
use crate::{buffers::Buffers, layout::Layout, lifetime::Lifetime};
use block::{
    Allocation, Command, Completion, Durability, Effects, Geometry, Instant, IoError, Payload,
    Request,
};

#[derive(Clone, Debug)]
pub(super) struct Core {
    report: OpenReport,
    log: Log,
    requests: Requests,
    reads: Reads,
    writes: Writes,
    flushes: Flushes,
    ring: Ring,
    replays: Replays,
    checkpoints: Checkpoints,
    attest: Attest,
    placement: Placement,
    cleaner: Cleaner,
    pacer: Pacer,
    announcements: Announcements,
    scrub: Scrub,
    /// Writes found nothing left to wait for.
    stuck: u64,
    /// When a block of the host was last taken, or none waited.
    last_gain: Gain,
}

/// What cleaning has to show for itself.
#[derive(Clone, Copy, Default, Debug)]
struct Gain {
    /// Blocks taken from the host so far.
    host_blocks: u64,
    /// Segments emptied so far.
    cleaned: u64,
}

/// Cleaning that empties each segment so often while a write waits, and takes none of the host's
/// blocks, gains nothing: what it empties it fills again.
const CLEANED_IN_VAIN: u64 = 4;

impl Core {
    pub fn new(below: Geometry, settings: &Settings, now: Instant, start: Start) -> Self {
        let Start { layout, superblock, map, segments, report, opened, lifetime, .. } = start;
        let mode = Mode::new(start.state, start.needs_checkpoint);
        let buffer_bytes = dram(&layout, settings).buffer_bytes();
        let buffers = Buffers::new(below.data, settings.pages, buffer_bytes);
        let io = Io::new(below, mode.reach(), buffers, lifetime, now);
        let blocks = Blocks::new(layout, map, segments, opened, below.data);
        let begin = LogStart {
            id: superblock.id,
            epoch: superblock.epoch_reserved,
            last_seq: start.last_seq,
            durable_seq: superblock.durable_seq,
            places: start.places,
        };
        let mut log = Log::new(io, blocks, mode, settings.chunks, &begin);
        let mut replays = Replays::new(start.replays);
        if log.mode.is_read_only() {
            replays.keep(&mut log);
        }
        let mut core = Self {
            report,
            requests: Requests::new(settings.queue_depth, settings.answer_ns, now),
            reads: Reads::new(settings.queue_depth),
            writes: Writes::new(settings.queue_depth),
            flushes: Flushes::default(),
            ring: Ring::default(),
            replays,
            checkpoints: Checkpoints::new(start.next_root, start.before, report.first_seq),
            attest: Attest::new(settings.attesting, superblock, &mut log),
            placement: Placement::new(settings.cleaning, &log),
            cleaner: Cleaner::new(settings),
            pacer: Pacer::new(&log, settings),
            announcements: Announcements::new(settings.discards),
            scrub: Scrub::new(&mut log),
            stuck: 0,
            last_gain: Gain::default(),
            log,
        };
        if core.log.mode.is_recovering() && core.replays.are_done() {
            core.begin_checkpoint();
        }
        core
    }

    pub fn is_settling(&self) -> bool {
        self.log.mode.is_settling()
    }

    pub fn is_read_only(&self) -> bool {
        self.log.mode.is_read_only()
    }

    pub fn is_cleaning(&self) -> bool {
        self.cleaner.is_busy()
    }

    pub fn is_checkpointing(&self) -> bool {
        self.checkpoints.is_under_way()
    }

    pub fn report(&self) -> &OpenReport {
        &self.report
    }

    pub fn layout(&self) -> &Layout {
        &self.log.blocks.layout
    }

    pub fn id(&self) -> crate::format::VolumeId {
        self.log.id()
    }

    /// Over the volume's whole life.
    pub fn lifetime(&self) -> Lifetime {
        self.log.io.lifetime()
    }

    /// What the next checkpoint writes at most, B.
    pub fn checkpoint_bytes(&self) -> u64 {
        self.checkpoints.bytes(&self.log, self.replays.left())
    }

    pub fn mappings(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.log.blocks.map().iter()
    }

    pub fn allocation(&self, offset: u64, len: u64) -> (Allocation, u64) {
        self.log.blocks.allocation(offset, len)
    }

    pub fn counters(&self) -> Counters {
        let mut counters = Counters { stuck: self.stuck, ..Counters::default() };
        self.log.count(&mut counters);
        self.writes.count(&mut counters);
        self.flushes.count(&mut counters);
        self.ring.count(&mut counters);
        self.checkpoints.count(&mut counters);
        self.attest.count(&mut counters);
        self.cleaner.count(&mut counters);
        self.pacer.count(&self.log, &mut counters);
        self.announcements.count(&mut counters);
        counters
    }

    pub fn shut_down(&mut self) {
        self.log.mode.shut_down();
    }

    pub fn set_answered(&mut self, answered: Answered) {
        self.writes.set_answered(answered);
    }

    pub fn set_scrubbing(&mut self, plan: Option<Scrubbing>) {
        self.scrub.set(self.log.io.now(), plan);
    }

    pub fn scrub_report(&self) -> Option<ScrubReport> {
        self.scrub.report(&self.log)
    }

    #[cfg(feature = "testing")]
    pub fn ask_for_cleaning(&mut self) {
        self.cleaner.ask();
    }

    #[cfg(feature = "testing")]
    pub fn refused(&self) -> impl Iterator<Item = block::Tag> {
        self.requests.refused()
    }

    pub fn begin_checkpoint(&mut self) {
        self.checkpoints.begin(&mut self.log, &mut self.attest);
    }

    pub fn accept(&mut self, now: Instant, request: Request) {
        self.log.io.set_now(now);
        self.requests.accept(now);
        let (log, requests) = (&mut self.log, &mut self.requests);
        let Request { tag, command, .. } = request;
        match command {
            Command::Read { at, into } => self.reads.accept(log, requests, tag, at, into),
            Command::Write { at, from, durability } => {
                let (offset, len) = (at.offset, u64::from(at.bytes));
                let write = WriteRequest { tag, offset, len, from: Some(from), durability };
                self.writes.accept(log, requests, write);
            }
            Command::Discard { offset, len } => {
                let durability = Durability::Cached;
                let trim = WriteRequest { tag, offset, len, from: None, durability };
                self.writes.accept(log, requests, trim);
            }
            Command::Flush => self.flushes.accept(log, requests, tag),
        }
    }

    pub fn on_completion(&mut self, now: Instant, completion: Completion) {
        self.log.io.set_now(now);
        let why = self.log.io.take_why(&completion);
        let (log, requests) = (&mut self.log, &mut self.requests);
        let Completion { result, payload, .. } = completion;
        match why {
            Why::Whole { op, location } => {
                self.reads.whole_read(log, requests, (op, location), result, payload);
            }
            Why::Piece { op, piece } => {
                self.reads.piece_read(log, requests, (op, piece), result, payload);
            }
            Why::Old { op, at, location } => {
                self.writes.old_read(log, (op, at), location, result, payload);
            }
            Why::Chunk(seq) => log.chunk_written(seq, result, payload),
            Why::Record(number) => self.record_written(number, result, payload),
            Why::Flush(mark) => self.flushes.flushed(log, &mut self.ring, mark, result),
            Why::Root => self.checkpoints.root_written(log, result, payload),
            Why::RootFlush => {
                self.checkpoints.root_flushed(log, &self.ring, &self.attest, result);
            }
            Why::Super => self.checkpoints.superblock_written(log, result, payload),
            Why::Attest => self.attest.written(log, result, payload),
            Why::Discard { segment } => self.announcements.discarded(log, segment, result),
            Why::ScrubHeader { location } => {
                self.scrub.header_read(log, location, result, payload);
            }
            Why::ScrubPiece { location } => self.scrub.piece_read(log, location, result, payload),
            Why::VictimHeader { segment } => {
                self.cleaner.header_read(log, segment, result, payload);
            }
            Why::VictimRun { piece, run } => {
                self.cleaner.run_read(log, (piece, run), result, payload);
            }
        }
    }

    fn record_written(&mut self, number: u64, result: Result<(), IoError>, payload: Payload) {
        if let Some(mark) = self.ring.record_written(&mut self.log, number, result, payload) {
            self.flushes.record_failed(mark);
        }
    }

    /// Everything that can move, moves. What one part gives back may be what another waits for.
    pub fn pump(&mut self, now: Instant) {
        self.log.io.set_now(now);
        loop {
            self.pacer.tick(&self.log);
            let before = self.progress();
            self.pump_parts();
            if self.progress() == before && !self.is_stuck() {
                self.scrub.pump(&mut self.log, &self.requests);
                self.pacer.set_alarm(&self.log, &self.requests);
                return;
            }
        }
    }

    fn pump_parts(&mut self) {
        if self.replays.pump(&mut self.log, &self.placement) && self.log.mode.is_recovering() {
            self.begin_checkpoint();
        }
        self.log.pump_relocation();
        self.pump_parked();
        let (log, requests) = (&mut self.log, &mut self.requests);
        self.reads.pump_short(log, requests);
        let (placement, pacer) = (&self.placement, &mut self.pacer);
        self.writes.pump(log, requests, placement, pacer, &mut self.flushes);
        self.pump_checkpoint();
        let (log, requests) = (&mut self.log, &mut self.requests);
        self.cleaner.pump(log, requests, &self.placement, &mut self.pacer);
        self.announcements.pump(log, &self.pacer);
        self.flushes.pump(log, &mut self.ring);
        self.end_flushes();
        self.attest.pump(&mut self.log, &self.ring);
    }

    /// Begins again what waited for another operation.
    fn pump_parked(&mut self) {
        for _ in 0..self.requests.parked() {
            let (log, requests) = (&mut self.log, &mut self.requests);
            match requests.unpark() {
                Some(Parked::Read(slot)) => self.reads.begin(log, requests, slot),
                Some(Parked::Write(slot)) => self.writes.begin(log, requests, slot),
                None => return,
            }
        }
    }

    fn pump_checkpoint(&mut self) {
        if !self.replays.are_done() {
            return;
        }
        let quiet = self.writes.are_quiet() && self.requests.parked() == 0;
        let host = if quiet { Host::Quiet } else { Host::Writing };
        let (log, attest) = (&mut self.log, &mut self.attest);
        let Some(ended) = self.checkpoints.pump(log, attest, &self.pacer, host) else { return };
        self.announcements.free(&ended.freed);
        self.placement.choose_policy(&self.log);
        if self.log.mode.is_stopped() {
            self.flushes.stopped();
            self.end_flushes();
        }
    }

    /// Answers whoever waited for a flush.
    fn end_flushes(&mut self) {
        while let Some((waiter, result)) = self.flushes.next_done() {
            let (log, requests) = (&mut self.log, &mut self.requests);
            match waiter {
                Waiter::Write(slot) => self.writes.end(log, requests, slot, result),
                Waiter::Flush { tag, issued } => {
                    requests.answer(log.io.now(), tag, issued, result, Payload::None);
                }
            }
        }
    }

    /// Writes wait, and nothing is under way that they could wait for, or cleaning goes round and
    /// gains nothing: too many segments were retired. What was promised cannot be kept.
    fn is_stuck(&mut self) -> bool {
        let waiting = self.writes.are_stalled() || !self.replays.are_done();
        let now = Gain { host_blocks: self.writes.host_blocks(), cleaned: self.cleaner.cleaned() };
        if !waiting || now.host_blocks != self.last_gain.host_blocks {
            self.last_gain = now;
        }
        let segments = u64::from(self.log.blocks.layout.segments);
        let in_vain = now.cleaned - self.last_gain.cleaned > CLEANED_IN_VAIN * segments;
        let nothing_moves = self.log.io.is_idle() && !self.pacer.waits_for_time(&self.log);
        let stuck = waiting && (nothing_moves || in_vain);
        if stuck {
            self.stuck += 1;
            self.log.mode.latch(IoError::Os(5));
        }
        stuck
    }

    /// Differs whenever something has moved.
    fn progress(&self) -> [u64; 6] {
        let segments = self.log.blocks.segments();
        [
            self.log.appended(),
            self.requests.outstanding() as u64,
            segments.free() as u64 | (segments.prefree() as u64) << 32,
            self.checkpoints.progress(),
            self.cleaner.progress(),
            self.log.io.steps(),
        ]
    }

    pub fn next_wakeup(&self) -> Instant {
        let answer = self.requests.next_wakeup();
        let alarm = self.pacer.alarm().min(self.scrub.alarm());
        answer.min(alarm).min(self.attest.due(&self.log))
    }

    pub fn drain_into(&mut self, effects: &mut Effects) {
        self.log.io.drain_into(effects);
        self.requests.drain_into(self.log.io.now(), effects);
    }

    /// Every part counts anew what it holds and compares.
    ///
    /// # Panics
    /// If the accounts disagree.
    pub fn audit(&self) {
        self.log.audit();
        self.reads.audit();
        self.writes.audit(&self.log);
        self.ring.audit(&self.log);
        self.attest.audit(&self.log);
        self.cleaner.audit(&self.log);
        self.pacer.audit(&self.log);
        self.announcements.audit(&self.log);
    }
}
