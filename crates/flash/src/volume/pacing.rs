//! When the cleaner works, and how fast: spread over the host's writes, so that none waits for a
//! whole victim; on its own while the host is quiet, up to a limit; never faster than a cap. And
//! how much may be written a day.
//!
//! ```text
//!   free and soon free segments
//!   |  floor  |  interval  |    margin    |        clean pool        |
//!   0         |            |               |                         all of the spare
//!             host stops   host is paced   cleaning begins           idle cleaning ends before
//! ```
//!
//! In the margin the host may append as many blocks as the copies of the victim free, twice as many
//! at its upper end and half as many at its lower one. So the pool settles within it, wherever
//! cleaning costs more or less than was reckoned.

use super::{
    counters::Counters,
    log::Log,
    requests::Requests,
    settings::{IdleCleaning, Settings},
};
use crate::broken::{Rule, broken};
use crate::{layout::Levels, shape::BLOCK_BYTES};
use block::Instant;

const SECOND_NS: u64 = 1_000_000_000;
/// The budget's bucket holds an hour's share, so no day is written more than 25/24 of it.
const BUCKET_HOURS: f64 = 1.0;
/// However low the pool, the host gets half of what the cleaner frees: it must not wait for a whole
/// victim.
const WEIGHT_MIN: f64 = 0.5;
const DAY_NS: f64 = 86_400e9;

/// What the host and the cleaner may still do.
#[derive(Clone, Debug)]
pub(super) struct Pacer {
    levels: Levels,
    /// With so many blocks mapped.
    levels_of: u32,
    idle: Option<IdleCleaning>,
    /// Whether a segment is being emptied.
    cleaning: bool,
    /// Blocks that the host may append before the cleaner has to go on.
    allowance: f64,
    copies: Rate,
    copy_bucket: Bucket,
    budget: Bucket,
    /// Blocks on the drive that the budget was charged with.
    charged_blocks: u64,
    /// Since when the next write waits for room, and whether it is for the budget.
    waiting: Option<(Instant, bool)>,
    write_wait_ns_max: u64,
    write_wait_ns: u64,
    /// Of these, waiting for the endurance budget.
    budget_wait_ns: u64,
    /// When something becomes possible by the passing of time alone.
    alarm: Instant,
}

/// Blocks in a second.
#[derive(Clone, Debug, Default)]
struct Rate {
    since: Instant,
    blocks: u64,
    last_bytes_per_s: u64,
}

impl Rate {
    fn count(&mut self, now: Instant) {
        self.blocks += 1;
        if now.since(self.since) >= SECOND_NS {
            self.last_bytes_per_s = self.bytes_per_s(now);
            (self.since, self.blocks) = (now, 0);
        }
    }

    /// Over the last whole second; over a longer time where nothing was counted since.
    fn bytes_per_s(&self, now: Instant) -> u64 {
        let ns = now.since(self.since);
        match ns < SECOND_NS {
            true => self.last_bytes_per_s,
            false => {
                (u128::from(self.blocks * BLOCK_BYTES) * u128::from(SECOND_NS) / u128::from(ns))
                    as u64
            }
        }
    }
}

/// Fills by time and is emptied by use; may be overdrawn once.
#[derive(Clone, Debug)]
struct Bucket {
    bytes_per_s: Option<f64>,
    bytes_max: f64,
    bytes: f64,
    filled: Instant,
}

impl Bucket {
    fn new(bytes_per_s: Option<f64>, bytes_max: f64, now: Instant) -> Self {
        Self { bytes_per_s, bytes_max, bytes: bytes_max, filled: now }
    }

    fn fill(&mut self, now: Instant) {
        if let Some(rate) = self.bytes_per_s {
            assert!(now >= self.filled, "the time goes back: {self:?}");
            let ns = now.since(self.filled) as f64;
            self.bytes = (self.bytes + rate * ns / SECOND_NS as f64).min(self.bytes_max);
            self.filled = now;
        }
    }

    fn take(&mut self, bytes: u64) {
        self.bytes -= bytes as f64;
        debug_assert!(self.bytes <= self.bytes_max, "{self:?}");
    }

    fn is_empty(&self) -> bool {
        self.bytes_per_s.is_some() && self.bytes <= 0.0
    }

    /// When it is not empty any more.
    fn refilled_at(&self, now: Instant) -> Instant {
        match self.bytes_per_s {
            Some(rate) if self.bytes <= 0.0 => {
                let ns = (1.0 - self.bytes) / rate * SECOND_NS as f64;
                now.after((ns as u64).saturating_add(1))
            }
            _ => Instant::NEVER,
        }
    }
}

impl Pacer {
    pub fn new(log: &Log, settings: &Settings) -> Self {
        let (layout, now) = (&log.blocks.layout, log.io.now());
        let copy_rate = settings.copy_bytes_per_s_max.map(|rate| rate as f64);
        let day_bytes =
            settings.drive_writes_per_day.map(|times| times * layout.shape.device_bytes as f64);
        let hour_bytes = day_bytes.map_or(0.0, |bytes| bytes * BUCKET_HOURS / 24.0);
        let budget_rate = day_bytes.map(|bytes| bytes * SECOND_NS as f64 / DAY_NS);
        Self {
            levels: layout.levels(log.blocks.map().mapped()),
            levels_of: log.blocks.map().mapped(),
            idle: settings.idle,
            cleaning: false,
            allowance: 0.0,
            copies: Rate::default(),
            copy_bucket: Bucket::new(copy_rate, layout.shape.chunk_bytes as f64, now),
            budget: Bucket::new(budget_rate, hour_bytes, now),
            charged_blocks: log.io.lifetime().drive_blocks,
            waiting: None,
            write_wait_ns_max: 0,
            write_wait_ns: 0,
            budget_wait_ns: 0,
            alarm: Instant::NEVER,
        }
    }

    /// How much is kept free for whom.
    pub fn levels(&self) -> Levels {
        self.levels
    }

    /// Whether a segment is being emptied.
    pub fn is_cleaning(&self) -> bool {
        self.cleaning
    }

    /// A segment is being emptied, or none.
    pub fn set_cleaning(&mut self, cleaning: bool) {
        self.cleaning = cleaning;
    }

    /// A block was copied.
    pub fn copied(&mut self, log: &Log) {
        self.copies.count(log.io.now());
        self.copy_bucket.take(BLOCK_BYTES);
    }

    /// Whether something becomes possible later that is not now.
    pub fn waits_for_time(&self, log: &Log) -> bool {
        let now = log.io.now();
        self.budget.refilled_at(now).min(self.copy_bucket.refilled_at(now)) < Instant::NEVER
    }

    /// Cleans while fewer segments are free, or will be, than the host can use until the next
    /// checkpoint.
    fn is_paced(&self, log: &Log) -> bool {
        let Levels { floor, interval, margin } = self.levels;
        log.blocks.coming() < floor + interval + margin
    }

    /// Brings levels and buckets up to the time.
    pub fn tick(&mut self, log: &Log) {
        let now = log.io.now();
        let mapped = log.blocks.map().mapped();
        if self.levels_of != mapped {
            (self.levels, self.levels_of) = (log.blocks.layout.levels(mapped), mapped);
        }
        self.copy_bucket.fill(now);
        self.budget.fill(now);
        let written = log.io.lifetime().drive_blocks;
        let new = written.checked_sub(self.charged_blocks).expect("what is written only grows");
        if self.budget.bytes_per_s.is_some() {
            self.budget.take(new * BLOCK_BYTES);
        }
        self.charged_blocks = written;
    }

    /// Sets when time alone makes something possible that waits for it.
    pub fn set_alarm(&mut self, log: &Log, requests: &Requests) {
        let now = log.io.now();
        let budget = match self.waiting {
            None => Instant::NEVER,
            Some(_) => self.budget.refilled_at(now),
        };
        let wanted = self.is_paced(log) || self.is_idle_cleaning(log, requests);
        let cap = if wanted { self.copy_bucket.refilled_at(now) } else { Instant::NEVER };
        let quiet = match self.idle {
            Some(idle)
                if requests.is_quiet()
                    && log.blocks.coming() < idle_limit(log, idle.free_share) =>
            {
                let at = requests.last_at().after(idle.after_ns);
                if at > now { at } else { Instant::NEVER }
            }
            _ => Instant::NEVER,
        };
        self.alarm = budget.min(cap).min(quiet);
    }

    /// When time alone makes something possible.
    pub fn alarm(&self) -> Instant {
        self.alarm
    }

    /// Whether the cleaner may read and copy now.
    pub fn may_clean(&self, log: &Log, requests: &Requests) -> bool {
        (self.is_paced(log) || self.is_idle_cleaning(log, requests)) && !self.copy_bucket.is_empty()
    }

    fn is_idle_cleaning(&self, log: &Log, requests: &Requests) -> bool {
        self.idle.is_some_and(|idle| {
            requests.is_quiet()
                && log.io.now().since(requests.last_at()) >= idle.after_ns
                && log.blocks.coming() < idle_limit(log, idle.free_share)
        })
    }

    /// Whether a victim should be emptied now. While nobody waits, only one that is emptier than
    /// the volume is on average: the others are not worth their copies yet.
    pub fn is_worth_it(&self, log: &Log, segment: u32) -> bool {
        if self.is_paced(log) {
            return true;
        }
        let data_blocks = u64::from(log.blocks.layout.data_blocks());
        let all = u64::from(log.blocks.layout.segments) * data_blocks;
        let live = u64::from(log.blocks.segment(segment).live);
        live * all < u64::from(log.blocks.map().mapped()) * data_blocks
    }

    /// Whether the host may append a block now.
    pub fn may_write(&mut self, log: &Log) -> bool {
        if self.budget.is_empty() {
            return false;
        }
        if !self.is_paced(log) || broken(Rule::Reserve) {
            // What it may write in one go when pacing begins.
            self.allowance = f64::from(log.blocks.layout.chunk_blocks);
            return true;
        }
        self.allowance >= 1.0 || !self.cleaning
    }

    /// It has.
    pub fn host_appended(&mut self) {
        self.allowance -= 1.0;
    }

    /// The cleaner has come nearer to freeing so many blocks.
    pub fn credit_host(&mut self, log: &Log, blocks: f64) {
        assert!(blocks >= 0.0, "{blocks} blocks freed");
        let Levels { floor, interval, margin } = self.levels;
        let left = log.blocks.coming().saturating_sub(floor + interval) as f64;
        let weight = (2.0 * left / margin as f64).clamp(WEIGHT_MIN, 2.0);
        let most = f64::from(log.blocks.layout.segment_blocks);
        self.allowance = (self.allowance.max(0.0) + blocks * weight).min(most);
    }

    /// A write waits for room, or goes on.
    pub fn write_waits(&mut self, now: Instant, waits: bool) {
        match (self.waiting, waits) {
            (None, true) => self.waiting = Some((now, self.budget.is_empty())),
            (Some((since, over_budget)), false) => {
                let ns = now.since(since);
                self.waiting = None;
                self.write_wait_ns += ns;
                self.budget_wait_ns += if over_budget { ns } else { 0 };
                self.write_wait_ns_max = self.write_wait_ns_max.max(ns);
            }
            _ => {}
        }
    }

    /// Bytes that the host may still append before cleaning begins.
    fn clean_pool_bytes(&self, log: &Log) -> u64 {
        let Levels { floor, interval, margin } = self.levels;
        let segments = log.blocks.coming().saturating_sub(floor + interval + margin) as u64;
        segments * u64::from(log.blocks.layout.data_blocks()) * BLOCK_BYTES
    }

    pub fn count(&self, log: &Log, counters: &mut Counters) {
        counters.clean_pool_bytes = self.clean_pool_bytes(log);
        counters.copy_bytes_per_s = self.copies.bytes_per_s(log.io.now());
        counters.write_wait_ns_max = self.write_wait_ns_max;
        counters.write_wait_ns = self.write_wait_ns;
        counters.budget_wait_ns = self.budget_wait_ns;
        // 0 where it is overdrawn.
        counters.budget_bytes = self.budget.bytes.max(0.0) as u64;
    }

    /// # Panics
    /// If something was counted twice, or a bucket holds more than it can.
    pub fn audit(&self, log: &Log) {
        let most = f64::from(log.blocks.layout.segment_blocks.max(log.blocks.layout.chunk_blocks));
        assert!(self.allowance <= most, "{} blocks allowed, {most} at most", self.allowance);
        for bucket in [&self.copy_bucket, &self.budget] {
            assert!(bucket.bytes <= bucket.bytes_max, "{bucket:?}");
        }
        assert!(self.budget_wait_ns <= self.write_wait_ns, "{self:?}");
        assert!(self.write_wait_ns_max <= self.write_wait_ns, "{self:?}");
    }
}

/// Segments that idle cleaning keeps free at most.
fn idle_limit(log: &Log, free_share: f64) -> usize {
    let spare = log.blocks.layout.spare_segments(log.blocks.map().mapped());
    (spare as f64 * free_share) as usize
}
