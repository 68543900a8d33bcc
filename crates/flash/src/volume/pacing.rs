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

use super::core::Core;
use crate::broken::{Rule, broken};
use crate::layout::{BLOCK_BYTES, Layout, Levels};
use block::Instant;

const SECOND_NS: u64 = 1_000_000_000;
/// The budget's bucket holds an hour's share, so no day is written more than 25/24 of it.
const BUCKET_HOURS: f64 = 1.0;
/// However low the pool, the host gets half of what the cleaner frees: it must not wait for a whole
/// victim.
const WEIGHT_MIN: f64 = 0.5;
const DAY_NS: f64 = 86_400e9;

/// What the host and the cleaner may still do.
#[derive(Debug)]
pub(super) struct Pacer {
    pub levels: Levels,
    /// Blocks that the host may append before the cleaner has to go on.
    allowance: f64,
    copies: Rate,
    copy_bucket: Bucket,
    budget: Bucket,
    /// Blocks on the drive that the budget was charged with.
    charged_blocks: u64,
    pub last_request: Instant,
    /// Since when the next write waits for room, and whether it is for the budget.
    waiting: Option<(Instant, bool)>,
    pub write_wait_ns_max: u64,
    pub write_wait_ns: u64,
    /// Of these, waiting for the endurance budget.
    pub budget_wait_ns: u64,
    /// When something becomes possible by the passing of time alone.
    pub alarm: Instant,
}

/// Blocks in a second.
#[derive(Debug, Default)]
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
#[derive(Debug)]
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
            let ns = now.since(self.filled) as f64;
            self.bytes = (self.bytes + rate * ns / SECOND_NS as f64).min(self.bytes_max);
            self.filled = now;
        }
    }

    fn take(&mut self, bytes: u64) {
        self.bytes -= bytes as f64;
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
    pub fn new(
        layout: &Layout,
        settings: &super::Settings,
        charged_blocks: u64,
        now: Instant,
    ) -> Self {
        let copy_rate = settings.copy_bytes_per_s_max.map(|rate| rate as f64);
        let day_bytes =
            settings.drive_writes_per_day.map(|times| times * layout.shape.device_bytes as f64);
        let hour_bytes = day_bytes.map_or(0.0, |bytes| bytes * BUCKET_HOURS / 24.0);
        let budget_rate = day_bytes.map(|bytes| bytes * SECOND_NS as f64 / DAY_NS);
        Self {
            levels: layout.levels(0),
            allowance: 0.0,
            copies: Rate::default(),
            copy_bucket: Bucket::new(copy_rate, layout.shape.chunk_bytes as f64, now),
            budget: Bucket::new(budget_rate, hour_bytes, now),
            charged_blocks,
            last_request: now,
            waiting: None,
            write_wait_ns_max: 0,
            write_wait_ns: 0,
            budget_wait_ns: 0,
            alarm: Instant::NEVER,
        }
    }

    pub fn copied(&mut self, now: Instant) {
        self.copies.count(now);
        self.copy_bucket.take(BLOCK_BYTES);
    }

    pub fn copy_bytes_per_s(&self, now: Instant) -> u64 {
        self.copies.bytes_per_s(now)
    }

    /// What the endurance budget has left; 0 where it is overdrawn.
    pub fn budget_bytes(&self) -> u64 {
        self.budget.bytes.max(0.0) as u64
    }

    /// Whether something becomes possible later that is not now.
    pub fn waits_for_time(&self, now: Instant) -> bool {
        self.budget.refilled_at(now).min(self.copy_bucket.refilled_at(now)) < Instant::NEVER
    }

    pub fn requested(&mut self, now: Instant) {
        self.last_request = now;
    }
}

impl Core {
    /// Segments that are free, or will be after the next checkpoint.
    fn coming(&self) -> usize {
        self.segments.queue.len() + self.segments.prefree.len()
    }

    /// Cleans while fewer segments are free, or will be, than the host can use until the next
    /// checkpoint.
    fn is_paced(&self) -> bool {
        let Levels { floor, interval, margin } = self.pacer.levels;
        self.coming() < floor + interval + margin
    }

    /// Brings levels and buckets up to the time, and the alarm.
    pub fn tick_pacer(&mut self) {
        self.pacer.levels = self.layout.levels(self.map.mapped());
        self.pacer.copy_bucket.fill(self.now);
        self.pacer.budget.fill(self.now);
        let written = self.lifetime.drive_blocks;
        let new = written - self.pacer.charged_blocks;
        if self.settings.drive_writes_per_day.is_some() {
            self.pacer.budget.take(new * BLOCK_BYTES);
        }
        self.pacer.charged_blocks = written;
    }

    /// When time alone makes something possible that waits for it.
    pub fn set_alarm(&mut self) {
        let pacer = &self.pacer;
        let budget = match self.stalled.is_empty() {
            true => Instant::NEVER,
            false => pacer.budget.refilled_at(self.now),
        };
        let wanted = self.is_paced() || self.is_idle_cleaning();
        let cap = if wanted { pacer.copy_bucket.refilled_at(self.now) } else { Instant::NEVER };
        let quiet = match self.settings.idle {
            Some(idle)
                if self.ops.is_empty() && self.coming() < self.idle_limit(idle.free_share) =>
            {
                let at = pacer.last_request.after(idle.after_ns);
                if at > self.now { at } else { Instant::NEVER }
            }
            _ => Instant::NEVER,
        };
        self.pacer.alarm = budget.min(cap).min(quiet);
    }

    /// Whether the cleaner may read and copy now.
    pub fn may_clean(&self) -> bool {
        (self.is_paced() || self.is_idle_cleaning()) && !self.pacer.copy_bucket.is_empty()
    }

    fn is_idle_cleaning(&self) -> bool {
        self.settings.idle.is_some_and(|idle| {
            self.ops.is_empty()
                && self.now.since(self.pacer.last_request) >= idle.after_ns
                && self.coming() < self.idle_limit(idle.free_share)
        })
    }

    /// Segments that idle cleaning keeps free at most.
    fn idle_limit(&self, free_share: f64) -> usize {
        let spare = self.layout.spare_segments(self.map.mapped());
        (spare as f64 * free_share) as usize
    }

    /// Whether a victim should be emptied now. While nobody waits, only one that is emptier than
    /// the volume is on average: the others are not worth their copies yet.
    pub fn is_worth_it(&self, segment: u32) -> bool {
        if self.is_paced() {
            return true;
        }
        let all = u64::from(self.layout.segments) * u64::from(self.layout.data_blocks());
        let live = u64::from(self.segments.get(segment).live);
        live * all < u64::from(self.map.mapped()) * u64::from(self.layout.data_blocks())
    }

    /// Whether the host may append a block now.
    pub fn may_write(&mut self) -> bool {
        if self.pacer.budget.is_empty() {
            return false;
        }
        if !self.is_paced() || broken(Rule::Reserve) {
            // What it may write in one go when pacing begins.
            self.pacer.allowance = f64::from(self.layout.chunk_blocks);
            return true;
        }
        self.pacer.allowance >= 1.0 || !self.cleaner.is_busy()
    }

    pub fn host_appended(&mut self) {
        self.pacer.allowance -= 1.0;
    }

    /// The cleaner has come nearer to freeing so many blocks.
    pub fn credit_host(&mut self, blocks: f64) {
        let Levels { floor, interval, margin } = self.pacer.levels;
        let left = self.coming().saturating_sub(floor + interval) as f64;
        let weight = (2.0 * left / margin as f64).clamp(WEIGHT_MIN, 2.0);
        let most = f64::from(self.layout.segment_blocks);
        self.pacer.allowance = (self.pacer.allowance.max(0.0) + blocks * weight).min(most);
    }

    /// A write waits for room, or goes on.
    pub fn write_waits(&mut self, waits: bool) {
        let over_budget = self.pacer.budget.is_empty();
        let pacer = &mut self.pacer;
        match (pacer.waiting, waits) {
            (None, true) => pacer.waiting = Some((self.now, over_budget)),
            (Some((since, over_budget)), false) => {
                let ns = self.now.since(since);
                pacer.waiting = None;
                pacer.write_wait_ns += ns;
                pacer.budget_wait_ns += if over_budget { ns } else { 0 };
                pacer.write_wait_ns_max = pacer.write_wait_ns_max.max(ns);
            }
            _ => {}
        }
    }

    /// Bytes that the host may still append before cleaning begins.
    pub fn clean_pool_bytes(&self) -> u64 {
        let Levels { floor, interval, margin } = self.pacer.levels;
        let segments = self.coming().saturating_sub(floor + interval + margin) as u64;
        segments * u64::from(self.layout.data_blocks()) * BLOCK_BYTES
    }
}
