//! Flash beside disks: which way of putting them together does most for the workload of a trace.
//!
//! ```text
//!   a method's cells -> TraceFile                                           method.rs
//!   TraceFile -> Seen: what it is like, and a sample of its blocks          seen.rs
//!   Question {disks, flash, prices} -> ways: disks, flash, both             way.rs
//!     cache -> probe: what goes to flash and to the disks, without time     probe.rs
//!     pinned range -> regions: the same, counted                            regions.rs
//!     disks, flash -> advice::steady: what each does alone
//!       -> Reckoned: operations a second, how long flash lasts              reckon.rs
//!     the first, or all -> Checked: the trace replayed on each, whole      check.rs
//!       -> verdict: what to do, and where it breaks even                    verdict.rs
//!       -> page, JSON, a document with the miss-ratio curves                page.rs, json.rs
//!   a method on files -> the same for parts of a file system                tree.rs
//! ```
//!
//! `docs/guide/hybrid.md` has the formulas. It knows no option of a command line.
#![forbid(unsafe_code)]

mod all_flash;
mod check;
mod curve;
mod error;
pub mod json;
pub mod method;
mod mode;
pub mod page;
mod probe;
mod reckon;
mod regions;
mod seen;
pub mod tree;
mod verdict;
mod way;

pub use all_flash::AllFlash;
pub use check::Checked;
pub use curve::{Curve, curves};
pub use error::HybridError;
pub use mode::Mode;
pub use probe::{Loads, Shape};
pub use reckon::{Lasts, Reckoned};
pub use regions::Busiest;
pub use seen::Seen;
pub use way::{Kind, Way};

use advice::Traced;
use cache::Policy;
use run::{MeasuredBy, TraceFile};
use std::{collections::BTreeMap, sync::atomic::AtomicBool, thread};
use target::{catalog::Catalog, stack::Stack};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The workload.
    pub trace: TraceFile,
    /// The disks, with their array.
    pub disks: Stack,
    /// Flash drives of the catalog.
    pub ssds: Vec<String>,
    /// Requests in flight.
    pub depth: u16,
    /// Bytes of a cache's block, a power of two.
    pub block_bytes: u64,
    /// The only size of a cache; several by what the trace touches where it is not said.
    pub size_bytes: Option<u64>,
    /// The only policy; the best one of each size where it is not said.
    pub policy: Option<Policy>,
    /// What may become of writes.
    pub modes: Vec<Mode>,
    /// What drives cost.
    pub prices: Prices,
    /// How many of the first are checked by a whole replay; where it is not said, all that replay
    /// a million requests together, and three at least.
    pub checks: Option<usize>,
    /// Where all random choices come from.
    pub seed: u64,
}

/// What drives cost, in one currency.
#[derive(Clone, PartialEq, Debug)]
pub struct Prices {
    /// What was said of one drive, by its name; the catalog's prices need not be said.
    pub given: BTreeMap<String, f64>,
    /// Three letters.
    pub currency: String,
}

impl Prices {
    /// What one drive of this name costs.
    fn of(&self, name: &str, catalog: &Catalog) -> Option<f64> {
        self.given.get(name).copied().or_else(|| {
            let printed = catalog.drive(name)?.price.as_ref()?.usd;
            printed.filter(|_| self.currency == "USD")
        })
    }

    /// What the drives of a stack cost, where all of them have a price.
    fn of_all(&self, stack: &Stack, catalog: &Catalog) -> Option<f64> {
        let members = stack.members.iter();
        let each = members
            .map(|member| Some(self.of(&member.drive.name, catalog)? * f64::from(member.count)));
        each.sum()
    }
}

/// One way with all that is known of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// The way.
    pub way: Way,
    /// What was reckoned.
    pub reckoned: Reckoned,
    /// What a whole replay found, of the first ones.
    pub checked: Option<Checked>,
}

impl Found {
    /// Operations a second: as checked, else as reckoned; 0 of what only a replay tells, before it.
    pub fn iops(&self) -> f64 {
        self.checked.map(|checked| checked.iops).or(self.reckoned.iops).unwrap_or(0.0)
    }
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What was asked.
    pub question: Question,
    /// What the trace is like.
    pub seen: Seen,
    /// All ways, the fastest first.
    pub found: Vec<Found>,
    /// What the price of the disks buys of each flash drive, where prices are known.
    pub all_flash: Vec<AllFlash>,
}

/// What is going on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Going {
    /// The trace is read.
    Reading,
    /// Drives are modelled by themselves.
    Modelling {
        /// So many are done.
        done: usize,
        /// Of so many.
        of: usize,
    },
    /// The first are replayed whole.
    Checking {
        /// So many are done.
        done: usize,
        /// Of so many.
        of: usize,
    },
}

/// Checks that are made of however long a trace.
const CHECKS_MIN: usize = 3;
/// Requests that are replayed unasked: some tens of seconds.
const REPLAYED_MAX: f64 = 1e6;

impl Answer {
    /// Answers; `progress` hears how far it is, `stop` ends it.
    ///
    /// # Errors
    /// What cannot be read or modelled, in a sentence with the cure.
    pub fn new(
        question: Question,
        catalog: &Catalog,
        by: &MeasuredBy,
        progress: &(dyn Fn(Going) + Sync),
        stop: &AtomicBool,
    ) -> Result<Self, HybridError> {
        let ssds = way::check(&question.disks, &question.ssds, question.seed, catalog)?;
        progress(Going::Reading);
        let Question { trace, disks, depth, seed, .. } = &question;
        let mut order = check::order(trace, disks, *depth, *seed);
        if question.checks == Some(0) {
            order.kept_max = 0;
        }
        let (seen, surveyed) = Seen::read(&order, question.block_bytes)?;
        let traced = Traced::new(&seen.like, &seen.subject)?;
        let all_flash = all_flash::all(&question, &seen, catalog, &ssds);
        let mut ways = way::all(&question, &seen, catalog, &ssds, &all_flash)?;
        let workload = traced.workload(question.depth);
        let modelling = |done, of| progress(Going::Modelling { done, of });
        let rates =
            reckon::Rates::measure(&question, &workload, &seen, &ways, catalog, &modelling)?;
        if question.checks != Some(0) {
            let disks_iops = rates.of(&question.disks).mixed;
            ways.extend(way::tiers(&question, &seen, catalog, &ssds, disks_iops)?);
        }
        let found = ways.into_iter().map(|way| {
            let reckoned = way.reckon(&question, &seen, &rates, catalog)?;
            Ok(Found { way, reckoned, checked: None })
        });
        let mut found: Vec<Found> = found.collect::<Result<_, HybridError>>()?;
        found.sort_by(|a, b| b.iops().total_cmp(&a.iops()));
        let checks = to_check(&question, &seen, &found);
        let checked = if checks.is_empty() {
            Vec::new()
        } else {
            let replays = check::Checks::new(order.run_of(surveyed)?, &seen, by, stop);
            replayed(&replays, &found, &checks, progress)?
        };
        for (at, checked) in checks.iter().zip(checked) {
            let found = &mut found[*at];
            found.checked = Some(checked);
            if let (Kind::Tier { .. }, Some(bytes)) = (&found.way.kind, checked.flash_bytes) {
                found.reckoned.lasts = found.way.lasts(bytes, &seen, catalog);
            }
        }
        found.sort_by(|a, b| b.iops().total_cmp(&a.iops()));
        Ok(Self { question, seen, found, all_flash })
    }

    /// The disks without flash.
    pub fn disks(&self) -> &Found {
        let disks = self.found.iter().find(|found| found.way.kind == Kind::Disks);
        disks.expect("they are always a way")
    }
}

/// Which ways are replayed: the first, all of which nothing is reckoned, and the disks, with which
/// all others are compared. The slowest come first: they take longest, and no processor is to wait
/// for the last of them.
fn to_check(question: &Question, seen: &Seen, found: &[Found]) -> Vec<usize> {
    let fitting = || CHECKS_MIN.max((REPLAYED_MAX / seen.requests()) as usize);
    let first = question.checks.unwrap_or_else(fitting).min(found.len());
    let is_wanted = |at: &usize| {
        let Found { way, reckoned, .. } = &found[*at];
        *at < first || first > 0 && (reckoned.iops.is_none() || way.kind == Kind::Disks)
    };
    (0..found.len()).rev().filter(is_wanted).collect()
}

/// The whole trace on each of these ways, in their order.
fn replayed(
    replays: &check::Checks<'_>,
    found: &[Found],
    checks: &[usize],
    progress: &(dyn Fn(Going) + Sync),
) -> Result<Vec<Checked>, HybridError> {
    progress(Going::Checking { done: 0, of: checks.len() });
    let checking = |done, of| progress(Going::Checking { done, of });
    let one = |at: &usize| replays.replay(&found[*at].way);
    study::in_parallel(checks, threads(), &checking, |_| 1, one).into_iter().collect()
}

/// As many as there are processors.
fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
