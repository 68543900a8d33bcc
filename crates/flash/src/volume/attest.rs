//! Attesting: what a flush covered is said in a place of its own, soon after the flush.
//!
//! ```text
//!   flush answered ----> quiet for a while -------------------------> superblock: D, the ring's last record
//!                  `---> the next chunk or record, durable, says it ----> nothing to do
//! ```
//!
//! Recovery tells a torn tail from corruption by D, the last chunk that a flush is known to have
//! covered. A chunk says what was durable when it was written, so that the last flush is known by
//! nothing but a later chunk. Where none follows, a superblock of the next generation says it: two
//! writes of a block each, with FUA, no more often than
//! [`Attesting::every_ns`], and none where nothing was flushed since.

use super::core::{Core, Gate, Why};
use super::flushes::Mark;
use crate::broken::{Rule, broken};
use crate::{buffers::bytes_mut, format::Superblock, layout::BLOCK_BYTES};
use block::{Command, Durability, Extent, Instant, IoError, Payload};

/// A superblock that could not be written so often in a row is left to the next checkpoint.
const ATTEMPTS: u32 = 3;

/// When a superblock says what the last flush covered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attesting {
    /// When no flush has covered anything new for so long, ns.
    pub quiet_ns: u64,
    /// At most one in so long, ns; and what was flushed is attested no later, if no chunk says it
    /// before.
    pub every_ns: u64,
}

impl Default for Attesting {
    /// After a tenth of a second, and once a second where flushes trickle in.
    fn default() -> Self {
        Self { quiet_ns: 100_000_000, every_ns: 1_000_000_000 }
    }
}

/// A number that is told to the drive in the header of a chunk or record, and is known once that is
/// durable.
#[derive(Clone, Copy, Debug)]
struct Told {
    by: u64,
    durable_seq: u64,
}

#[derive(Debug, Default)]
pub(super) struct Attest {
    /// What is known to be durable by what is on the drive, whatever comes after it.
    said: Mark,
    /// What was durable when that was last looked at, and since when.
    seen: Mark,
    seen_at: Instant,
    /// The oldest that is not said yet, and since when.
    unsaid: Option<(Mark, Instant)>,
    /// By a chunk, and by a record.
    chunk: Option<Told>,
    record: Option<Told>,
    /// On its way: two copies.
    flying: Option<Superblock>,
    left: u32,
    failed: Option<IoError>,
    failures: u32,
    /// Generations of which one copy may have been written: none is given twice.
    pub skipped: u64,
    begun: Option<Instant>,
}

impl Attest {
    pub fn is_flying(&self) -> bool {
        self.flying.is_some()
    }

    /// A chunk goes down with that in its header.
    pub fn chunk_sent(&mut self, seq: u64, durable_seq: u64) {
        if durable_seq > self.said.seq && self.chunk.is_none() {
            self.chunk = Some(Told { by: seq, durable_seq });
        }
    }

    /// A record goes down with that in its header.
    pub fn record_sent(&mut self, number: u64, durable_seq: u64) {
        self.record = Some(Told { by: number, durable_seq });
    }

    /// A superblock is durable in two copies.
    pub fn superblock_written(&mut self, superblock: &Superblock) {
        let said = Mark { seq: superblock.durable_seq, record: superblock.ring.last };
        self.said = self.said.max_of(said);
        (self.failures, self.skipped) = (0, 0);
    }

    /// Takes in what is durable now.
    fn look(&mut self, now: Instant, durable: Mark) {
        if let Some(told) = self.chunk.filter(|told| told.by <= durable.seq) {
            self.said.seq = self.said.seq.max(told.durable_seq);
            self.chunk = None;
        }
        if let Some(told) = self.record.filter(|told| told.by <= durable.record) {
            // A record is begun when the one before it is durable.
            let said = Mark { seq: told.durable_seq, record: told.by - 1 };
            self.said = self.said.max_of(said);
            self.record = None;
        }
        if self.seen != durable {
            (self.seen, self.seen_at) = (durable, now);
        }
        self.unsaid = match self.unsaid {
            Some((mark, since)) if !self.said.covers(mark) => Some((mark, since)),
            _ if self.said.covers(durable) => None,
            _ => Some((durable, now)),
        };
    }

    /// When the next one is due.
    fn due(&self, every: Attesting) -> Instant {
        let Some((_, since)) = self.unsaid.filter(|_| self.failures < ATTEMPTS) else {
            return Instant::NEVER;
        };
        let quiet = self.seen_at.after(every.quiet_ns).min(since.after(every.every_ns));
        self.begun.map_or(quiet, |begun| quiet.max(begun.after(every.every_ns)))
    }
}

impl Core {
    /// What of the log and the ring is durable.
    fn durable(&self) -> Mark {
        let seq = match broken(Rule::AttestDurable) {
            false => self.flushes.durable_seq,
            true => self.log.last_seq,
        };
        Mark { seq, record: self.ring.mark().last }
    }

    pub fn pump_attest(&mut self) {
        let durable = self.durable();
        self.attest.look(self.now, durable);
        if self.attest_due() > self.now {
            return;
        }
        let ring = self.ring.mark();
        let superblock = Superblock {
            generation: self.next_generation(),
            durable_seq: durable.seq,
            ring,
            ..self.superblock
        };
        self.attest.begun = Some(self.now);
        self.attest.flying = Some(superblock);
        self.attest.left = 2;
        self.counters.attests += 1;
        self.lifetime.drive_blocks += 2;
        self.log.sent += 1;
        for offset in self.layout.copies_of(superblock.generation) {
            let mut from = self.buffers.take(BLOCK_BYTES);
            if let Some(bytes) = bytes_mut(&mut from) {
                superblock.encode(offset, bytes);
            }
            let at = Extent { offset, bytes: BLOCK_BYTES as u32 };
            let command = Command::Write { at, from, durability: Durability::Fua };
            self.down.send(Why::Attest, command);
        }
    }

    /// When the next superblock that only attests is due. A checkpoint writes one of its own.
    pub fn attest_due(&self) -> Instant {
        let may = self.gate == Gate::Open
            && !self.settling
            && self.checkpoint.is_none()
            && !self.attest.is_flying()
            && !broken(Rule::Attest);
        if may { self.attest.due(self.settings.attesting) } else { Instant::NEVER }
    }

    /// The generation of the next superblock.
    pub fn next_generation(&self) -> u64 {
        self.superblock.generation + 1 + self.attest.skipped
    }

    pub fn attest_written(&mut self, result: Result<(), IoError>, payload: Payload) {
        self.buffers.give(payload);
        self.log.sent += 1;
        self.attest.left -= 1;
        self.attest.failed = self.attest.failed.or(result.err());
        if self.attest.left > 0 {
            return;
        }
        let superblock = self.attest.flying.take().expect("it was on its way");
        if self.attest.failed.take().is_some() {
            // One copy may say so and the other not. The next one goes over both, under a number of
            // its own, and the pair of the generation before stays as it is.
            self.attest.failures += 1;
            self.attest.skipped += 2;
        } else {
            self.superblock = superblock;
            self.attest.superblock_written(&superblock);
        }
    }
}
