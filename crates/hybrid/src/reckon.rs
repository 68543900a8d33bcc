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
    /// Operations a second; nothing of a tier, which a replay tells of.
    pub iops: Option<f64>,
    /// What goes where, of flash beside disks.
    pub loads: Option<Loads>,
    /// Whether the disks are what it waits for, where that is known.
    pub waits_for_disks: Option<bool>,
    /// How long the flash lasts at the trace's own rate, years.
    pub lasts: Lasts,
}

impl Reckoned {
    /// Nothing is known before a replay.
    pub const REPLAYED_ONLY: Self =
        Self { iops: None, loads: None, waits_for_disks: None, lasts: Lasts::Unknown };
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
        for way in ways {
            let stack = way.alone()?;
            // A drive beside disks is full of what lies on it, whatever the trace's room.
            let bytes = match &way.kind {
                Kind::Cache { shape, .. } => shape.size_bytes,
                Kind::Pin { at, .. } => at.range.end - at.range.start,
                Kind::Tier { size_bytes, .. } => *size_bytes,
                Kind::Disks | Kind::Flash { .. } => seen.like.room_bytes,
            };
            let known = wanted.entry(stack.to_string()).or_insert((stack, bytes));
            known.1 = known.1.max(bytes);
        }
        let wanted: Vec<(String, (Stack, u64))> = wanted.into_iter().collect();
        let bench = Bench { catalog, workload: workload.clone(), seed: question.seed };
        let threads = crate::threads();
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

    /// What a stack does alone that was measured.
    pub fn of(&self, stack: &Stack) -> Alone {
        self.known[&stack.to_string()]
    }
}

impl Way {
    /// Its flash alone, or the disks where it has none.
    fn alone(&self) -> Result<Stack, HybridError> {
        match self.beside() {
            Some(ssd) => Ok(ssd.parse()?),
            None => Ok(self.stack.clone()),
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
        let wears = |bytes| self.lasts(bytes, seen, catalog);
        let loads = match &self.kind {
            Kind::Cache { shape, .. } => shape.loads(seen),
            Kind::Pin { at, .. } => at.loads(seen),
            Kind::Tier { .. } => return Ok(Reckoned::REPLAYED_ONLY),
            Kind::Disks | Kind::Flash { .. } => {
                return Ok(Reckoned {
                    iops: Some(own.mixed),
                    loads: None,
                    waits_for_disks: Some(self.kind == Kind::Disks),
                    lasts: wears(written_a_request(seen)),
                });
            }
        };
        let disks = rates.of(&question.disks);
        let on_disks =
            loads.disk_reads / disks.read + (loads.disk_writes + loads.written_back) / disks.write;
        let on_flash = (loads.flash_reads + loads.written_back) / own.read
            + (loads.flash_writes + loads.fills) / own.write;
        let (more, less) = (on_disks.max(on_flash), on_disks.min(on_flash));
        Ok(Reckoned {
            iops: Some(1.0 / (more + less / f64::from(question.depth))),
            loads: Some(loads),
            waits_for_disks: Some(on_disks >= on_flash),
            lasts: wears(loads.flash_bytes),
        })
    }

    /// How long its flash lasts that is written so many bytes a request.
    pub fn lasts(&self, bytes_a_request: f64, seen: &Seen, catalog: &Catalog) -> Lasts {
        match &self.kind {
            Kind::Disks => Lasts::NoWear,
            Kind::Flash { ssd, count } => lasts(ssd, *count, bytes_a_request, seen, catalog),
            Kind::Cache { ssd, .. } | Kind::Pin { ssd, .. } | Kind::Tier { ssd, .. } => {
                lasts(ssd, 1, bytes_a_request, seen, catalog)
            }
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
