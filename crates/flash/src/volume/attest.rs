//! Attesting: what a flush covered is recorded in a superblock, soon after the flush.
//!
//! ```text
//!   flush answered --> quiet for a while --> superblock: D, the ring's last record
//!                `--> the next chunk or record, durable, says it --> nothing to do
//! ```
//!
//! Recovery tells a torn tail from corruption by D, the last chunk that a flush is known to have
//! covered. A chunk says what was durable when it was written, so that the last flush is known by
//! nothing but a later chunk. Where none follows, a superblock of the next generation says it: two
//! writes of a block each, with FUA, no more often than
//! [`Attesting::every_ns`], and none where nothing was flushed since.
//!
//! It also keeps the newest superblock and gives out the generations, to checkpoints too.

use super::{
    counters::Counters,
    io::{Mark, Why},
    log::Log,
    ring::Ring,
    settings::Attesting,
};
use crate::broken::{Rule, broken};
use crate::{format::Superblock, shape::BLOCK_BYTES};
use block::{Durability, Extent, Instant, IoError, Payload};

/// A superblock that could not be written so often in a row is left to the next checkpoint.
const ATTEMPTS: u32 = 3;

#[derive(Clone, Debug)]
pub(super) struct Attest {
    every: Attesting,
    /// The newest that is durable in two copies.
    superblock: Superblock,
    /// What was durable when that was last looked at, and since when.
    seen: Mark,
    seen_at: Instant,
    /// The oldest that the drive does not record yet, and since when.
    unattested: Option<(Mark, Instant)>,
    /// A checkpoint is under way, and will write a superblock of its own.
    left_to_checkpoint: bool,
    /// On its way: two copies.
    flying: Option<Superblock>,
    left: u32,
    failed: Option<IoError>,
    failures: u32,
    /// Generations of which one copy may have been written: none is given twice.
    skipped: u64,
    begun: Option<Instant>,
    count: u64,
}

impl Attest {
    pub fn new(every: Attesting, superblock: Superblock, log: &mut Log) -> Self {
        let mut attest = Self {
            every,
            superblock,
            seen: Mark::default(),
            seen_at: Instant(0),
            unattested: None,
            left_to_checkpoint: false,
            flying: None,
            left: 0,
            failed: None,
            failures: 0,
            skipped: 0,
            begun: None,
            count: 0,
        };
        attest.take_over(log, superblock);
        attest
    }

    /// The newest superblock.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    pub fn is_flying(&self) -> bool {
        self.flying.is_some()
    }

    /// The generation of the next superblock.
    pub fn next_generation(&self) -> u64 {
        self.superblock.generation + 1 + self.skipped
    }

    /// A checkpoint has begun.
    pub fn leave_to_checkpoint(&mut self) {
        self.left_to_checkpoint = true;
    }

    /// The superblock of a checkpoint is durable in two copies.
    pub fn checkpointed(&mut self, log: &mut Log, superblock: Superblock) {
        assert!(superblock.generation > self.superblock.generation, "generations rise");
        self.left_to_checkpoint = false;
        self.take_over(log, superblock);
    }

    fn take_over(&mut self, log: &mut Log, superblock: Superblock) {
        let on_drive = Mark { seq: superblock.durable_seq, record: superblock.ring.last };
        log.persisted.superblock_written(on_drive);
        self.superblock = superblock;
        (self.failures, self.skipped) = (0, 0);
    }

    /// What of the log and the ring is durable.
    fn durable(log: &Log, ring: &Ring) -> Mark {
        let seq = match broken(Rule::AttestDurable) {
            false => log.durable_seq(),
            true => log.last_seq(),
        };
        Mark { seq, record: ring.mark().last }
    }

    /// Takes in what is durable now.
    fn look(&mut self, log: &mut Log, durable: Mark) {
        log.persisted.look(durable);
        let (on_drive, now) = (log.persisted.mark(), log.io.now());
        if self.seen != durable {
            (self.seen, self.seen_at) = (durable, now);
        }
        self.unattested = match self.unattested {
            Some((mark, since)) if !on_drive.covers(mark) => Some((mark, since)),
            _ if on_drive.covers(durable) => None,
            _ => Some((durable, now)),
        };
    }

    /// Sends the next superblock where it is due.
    pub fn pump(&mut self, log: &mut Log, ring: &Ring) {
        let durable = Self::durable(log, ring);
        self.look(log, durable);
        if self.due(log) > log.io.now() {
            return;
        }
        let superblock = Superblock {
            generation: self.next_generation(),
            durable_seq: durable.seq,
            ring: ring.mark(),
            ..self.superblock
        };
        self.begun = Some(log.io.now());
        self.flying = Some(superblock);
        self.left = 2;
        self.count += 1;
        log.io.count_blocks(2);
        log.io.step();
        send_copies(log, &superblock, || Why::Attest);
    }

    /// When the next superblock that only attests is due. A checkpoint writes one of its own.
    pub fn due(&self, log: &Log) -> Instant {
        let may = log.mode.is_open()
            && !log.mode.is_recovering()
            && !self.left_to_checkpoint
            && !self.is_flying()
            && !broken(Rule::Attest);
        let Some((_, since)) = self.unattested.filter(|_| may && self.failures < ATTEMPTS) else {
            return Instant::NEVER;
        };
        let quiet = self.seen_at.after(self.every.quiet_ns).min(since.after(self.every.every_ns));
        self.begun.map_or(quiet, |begun| quiet.max(begun.after(self.every.every_ns)))
    }

    pub fn written(&mut self, log: &mut Log, result: Result<(), IoError>, payload: Payload) {
        log.io.give(payload);
        log.io.step();
        self.left = self.left.checked_sub(1).expect("each copy is answered once");
        self.failed = self.failed.or(result.err());
        if self.left > 0 {
            return;
        }
        let superblock = self.flying.take().expect("it was on its way");
        if self.failed.take().is_some() {
            // One copy may say so and the other not. The next one goes over both, under a number of
            // its own, and the pair of the generation before stays as it is.
            self.failures += 1;
            self.skipped += 2;
        } else {
            self.take_over(log, superblock);
        }
    }

    pub fn count(&self, counters: &mut Counters) {
        counters.attests = self.count;
    }

    /// # Panics
    /// If the superblock says more than there is.
    pub fn audit(&self, log: &Log) {
        // Where the log's end is missing, it says more than was found.
        let attested = self.superblock.durable_seq.min(log.last_seq());
        let is_so = attested <= log.durable_seq() || broken(Rule::AttestDurable);
        assert!(is_so, "{attested} attested, {} durable", log.durable_seq());
        assert_eq!(self.left > 0, self.is_flying(), "copies on their way");
    }
}

/// Both copies of a superblock.
pub(super) fn send_copies(log: &mut Log, superblock: &Superblock, why: impl Fn() -> Why) {
    for offset in log.blocks.layout.copies_of(superblock.generation) {
        let at = Extent { offset, bytes: BLOCK_BYTES as u32 };
        log.io.write(why(), at, Durability::Fua, |bytes| superblock.encode(offset, bytes));
    }
}
