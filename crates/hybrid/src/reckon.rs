//! Operations a second of a way, from what its drives do alone.
//!
//! ```text
//!   D(disks) = reads there / R + (writes there + written back) / W      seconds a request
//!   D(flash) = (hits + written back) / R + (writes + fills) / W
//!   rate     = 1 / (larger D + smaller D / depth)
//! ```
//!
//! With one request in flight both wait for each other: the times add up. With many the busier one
//! is always busy, and the rate is its own (asymptotic bounds of a closed network; Lazowska and
//! others, Quantitative System Performance, 1984, chapter 5).

use crate::{
    HybridError, Question,
    probe::Loads,
    seen::Seen,
    way::{Kind, Way},
};
use advice::steady::{Bench, Rating, Workload, rating};
use std::collections::BTreeMap;
use target::{catalog::Catalog, stack::Stack};

/// Days of a year.
const DAYS: f64 = 365.0;
/// Seconds of a day.
const DAY_SECONDS: f64 = 86_400.0;

/// What drives do alone, operations of the trace's lengths a second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Alone {
    /// When all read.
    pub read: f64,
    /// When all write.
    pub write: f64,
    /// When they are mixed as in the trace.
    pub mixed: f64,
}

/// What a way does.
#[derive(Clone, PartialEq, Debug)]
pub struct Reckoned {
    /// Operations a second.
    pub iops: f64,
    /// What goes where; nothing of a way that is no cache.
    pub loads: Option<Loads>,
    /// Whether the disks are what it waits for.
    pub waits_for_disks: bool,
    /// How long the flash lasts at the trace's own rate, years.
    pub lasts: Lasts,
}

/// How long flash lasts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Lasts {
    /// There is none, or nothing wears it.
    NoWear,
    /// Nobody says what it takes, or the trace has no time.
    Unknown,
    /// Years.
    Years(f64),
}

/// What the question's drives do alone.
pub struct Rates {
    known: BTreeMap<String, Alone>,
}

impl Rates {
    /// Models the disks and each way's flash, all in parallel.
    ///
    /// # Errors
    /// A stack that cannot be modelled.
    pub fn measure(
        question: &Question,
        workload: &Workload,
        seen: &Seen,
        ways: &[Way],
        catalog: &Catalog,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Self, HybridError> {
        let mut wanted: BTreeMap<String, (Stack, u64)> = BTreeMap::new();
        let room = seen.like.room_bytes;
        for way in ways {
            let stack = way.alone()?;
            let bytes = way.shape().map_or(room, |(_, shape)| shape.size_bytes);
            // A drive that is a cache is full of it, whatever the trace's room.
            let known = wanted.entry(stack.to_string()).or_insert((stack, bytes));
            known.1 = known.1.max(bytes);
        }
        let wanted: Vec<(String, (Stack, u64))> = wanted.into_iter().collect();
        let bench = Bench { catalog, workload: workload.clone(), seed: question.seed };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let measured = study::in_parallel(
            &wanted,
            threads,
            progress,
            |_| 1,
            |(_, (stack, bytes))| bench.bare(stack, Some(*bytes)),
        );
        let mut known = BTreeMap::new();
        for ((name, _), rates) in wanted.into_iter().zip(measured) {
            let rates = rates.map_err(|error| HybridError::Trial { stack: name.clone(), error })?;
            let alone = Alone { read: rates.read, write: rates.write, mixed: rates.mixed };
            known.insert(name, alone);
        }
        Ok(Self { known })
    }

    fn of(&self, stack: &Stack) -> Alone {
        self.known[&stack.to_string()]
    }
}

impl Way {
    /// Its flash alone, or the disks where it has none.
    fn alone(&self) -> Result<Stack, HybridError> {
        match &self.kind {
            Kind::Disks | Kind::Flash { .. } => Ok(self.stack.clone()),
            Kind::Cache { ssd, .. } => Ok(ssd.parse()?),
        }
    }

    /// What it does.
    ///
    /// # Errors
    /// None that its stack had not before.
    pub fn reckon(
        &self,
        question: &Question,
        seen: &Seen,
        rates: &Rates,
        catalog: &Catalog,
    ) -> Result<Reckoned, HybridError> {
        let own = rates.of(&self.alone()?);
        let (ssd, bytes_a_request) = match &self.kind {
            Kind::Disks => (None, 0.0),
            Kind::Flash { ssd, .. } => (Some(ssd), written_a_request(seen)),
            Kind::Cache { ssd, .. } => (Some(ssd), 0.0),
        };
        let Kind::Cache { shape, .. } = &self.kind else {
            let lasts = ssd.map_or(Lasts::NoWear, |ssd| {
                lasts(ssd, self.flash_count(), bytes_a_request, seen, catalog)
            });
            let waits_for_disks = ssd.is_none();
            return Ok(Reckoned { iops: own.mixed, loads: None, waits_for_disks, lasts });
        };
        let disks = rates.of(&question.disks);
        let loads = shape.loads(seen);
        let on_disks =
            loads.disk_reads / disks.read + (loads.disk_writes + loads.written_back) / disks.write;
        let on_flash = (loads.flash_reads + loads.written_back) / own.read
            + (loads.flash_writes + loads.fills) / own.write;
        let (more, less) = (on_disks.max(on_flash), on_disks.min(on_flash));
        Ok(Reckoned {
            iops: 1.0 / (more + less / f64::from(question.depth)),
            loads: Some(loads),
            waits_for_disks: on_disks >= on_flash,
            lasts: ssd.map_or(Lasts::NoWear, |ssd| lasts(ssd, 1, loads.flash_bytes, seen, catalog)),
        })
    }

    fn flash_count(&self) -> u16 {
        match self.kind {
            Kind::Flash { count, .. } => count,
            _ => 1,
        }
    }
}

fn written_a_request(seen: &Seen) -> f64 {
    seen.like.of(trace::Op::Write).bytes as f64 / seen.requests()
}

/// At the trace's own rate, all its hours like these.
fn lasts(ssd: &str, count: u16, bytes_a_request: f64, seen: &Seen, catalog: &Catalog) -> Lasts {
    let Some(drive) = catalog.drive(ssd) else { return Lasts::Unknown };
    let Some(a_second) = seen.like.per_second(seen.like.transfers()) else { return Lasts::Unknown };
    let bytes = match rating(drive) {
        Rating::Unbounded => return Lasts::NoWear,
        Rating::Unknown => return Lasts::Unknown,
        Rating::Written { bytes } => bytes,
        Rating::Cycles { cycles, .. } => cycles * drive.capacity_bytes as f64,
    };
    let a_day = a_second * bytes_a_request * DAY_SECONDS;
    match a_day > 0.0 {
        true => Lasts::Years(bytes * f64::from(count) / a_day / DAYS),
        false => Lasts::NoWear,
    }
}
