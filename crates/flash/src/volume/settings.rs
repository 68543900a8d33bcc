//! What is chosen each time a volume is opened.

use crate::shape::BLOCK_BYTES;
use block::Pages;

/// What is chosen each time a volume is opened.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Requests that may be outstanding.
    pub queue_depth: u32,
    /// No answer comes sooner after its request: the host's cost of a request in virtual time, and
    /// 1 on a real drive, so that a stack of answers from memory does not keep it from being
    /// polled.
    pub answer_ns: u64,
    /// What pages the volume's own memory comes in: huge ones let a real drive take a chunk in one
    /// piece.
    pub pages: Pages,
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

/// How the next victim is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cleaning {
    /// The one that was filled first. For comparison with the closed form.
    Fifo,
    /// The one with the fewest live blocks.
    Greedy,
    /// The one with the most free space by age for the cost of reading and writing it: (1-u) age /
    /// (1+u) (Rosenblum and Ousterhout 1992).
    CostBenefit,
    /// By cost and benefit, and with classes by age: where the volume has them, writes of
    /// short-lived blocks go apart, and so do copies (Wang et al., SepBIT, FAST 2022).
    SepBit,
    /// SepBIT, or greedy without classes while a write amplification below 1.2 is predicted. Victim
    /// choice and separation change together: either alone gains nothing.
    Auto,
}

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
            pages: Pages::Usual,
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
