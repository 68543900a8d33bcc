//! The quota of a volume, from a run of `--method quota`.
//!
//! ```text
//!   cells of the run                                  quota
//!   reads until the rate falls (burst-*)         ->   burst, credit, what lasts
//!   reads of six sizes                           ->   operations or bytes, and sizes  exchange.rs
//!   writes, sequential reads                     ->   what a write counts, merging
//!   a rest, and reads until the rate falls again ->   refill
//!   open loops at 95 and 105 %                   ->   latency, whether the rate is right
//! ```

mod exchange;
mod page;

use super::NoProposal;
use exchange::{Exchange, Step};
use lab::{Drained, drained, level};
use record::{Cell, Pass, Record, TargetKind};

/// A number, and by how much it may be off either way: 95 %.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Measured {
    value: f64,
    half: f64,
}

impl Measured {
    fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, half: self.half * factor }
    }
}

/// What a bucket was seen to do, in the unit that it counts in.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Bucket {
    sustained: Measured,
    /// Where the credit lasted long enough to see it.
    burst: Option<f64>,
    /// Found at the beginning or, where that was more, after a rest.
    credit: Option<Measured>,
    refill: Refill,
}

/// What a rest gave back.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Refill {
    /// A second.
    Seen(Measured),
    /// The bucket was full again: so much a second at least.
    AtLeast(f64),
    /// No fall came after the rest.
    NotSeen,
}

/// A check at a share of the rate.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Check {
    mean_ns: f64,
    /// The queue grew until the end.
    grows: bool,
}

/// All that the run says.
struct Seen<'r> {
    record: &'r Record,
    exchange: Exchange,
    operations: Option<Bucket>,
    bandwidth: Option<Bucket>,
    /// What a write counts of a read.
    write_cost: Option<f64>,
    /// A mix of 4 KiB reads and writes against what one pool would give.
    pools: Option<f64>,
    /// Sequential reads against random ones of 4 KiB.
    merging: Option<f64>,
    /// Whether any fall was seen.
    has_credit: bool,
    within: Option<Check>,
    over: Option<Check>,
    /// Of reads and writes that nothing held up: mean, and the spread around it.
    read_latency: Option<(f64, f64)>,
    write_latency: Option<(f64, f64)>,
}

/// Whether the run's cells are those of the method.
pub(super) fn is_measured(record: &Record) -> bool {
    ["burst-4K", "read-4K"].iter().all(|name| record.cells.iter().any(|cell| cell.name == *name))
}

/// A file for the catalog, with what was found as comments in front.
pub(super) fn propose(record: &Record) -> Result<String, NoProposal> {
    let [target] = &record.targets[..] else {
        return Err(NoProposal::TwoTargets { run: record.id.clone() });
    };
    if matches!(target.kind, TargetKind::Memory | TargetKind::Null) {
        let (run, target, what) = (record.id.clone(), target.text.clone(), "no drive");
        return Err(NoProposal::NotOneDrive { run, target, what });
    }
    Ok(page::text(&Seen::of(record)?))
}

fn named<'r>(record: &'r Record, name: &str) -> Option<&'r Cell> {
    record.cells.iter().find(|cell| cell.name == name && cell.iops > 0.0)
}

fn last(cell: &Cell) -> Option<&Pass> {
    cell.passes.last()
}

/// The fall of a cell's rate, and ticks a second.
fn fall(cell: &Cell) -> Option<(Drained, f64)> {
    let series = &last(cell)?.series;
    drained(&series.operations).map(|seen| (seen, 1e9 / series.tick_ns as f64))
}

/// Operations a second that last: after the fall, if there was one.
fn lasting(cell: &Cell) -> Measured {
    if let Some((seen, per_second)) = fall(cell) {
        return Measured { value: seen.after, half: 2.0 * seen.after_error }.times(per_second);
    }
    match last(cell) {
        Some(pass) if pass.series.operations.len() >= 10 => {
            let (value, error) = level(&pass.series.operations);
            let per_second = 1e9 / pass.series.tick_ns as f64;
            Measured { value, half: 2.0 * error }.times(per_second)
        }
        _ => Measured { value: cell.iops, half: 0.1 * cell.iops },
    }
}

/// Operations beyond the rate that lasts. Where the levels part is known to a tick.
fn excess(seen: &Drained) -> Measured {
    let half = 2.0 * seen.after_error * seen.spent_at as f64 + seen.after;
    Measured { value: seen.excess, half }
}

/// The burst's rate in operations a second, where it can be seen: without the ticks at its ends,
/// which are only in part of it.
fn burst(cell: &Cell) -> Option<f64> {
    let (seen, per_second) = fall(cell)?;
    let inner = last(cell)?.series.operations.get(1..seen.at.checked_sub(1)?)?;
    let sum: u64 = inner.iter().sum();
    (inner.len() >= 3).then(|| sum as f64 / inner.len() as f64 * per_second)
}

/// Seconds between the end of the pass before and the beginning of this one.
fn idle_s(record: &Record, cell: &Cell) -> Option<f64> {
    let begun = last(cell)?.started_s;
    let ends = record.cells.iter().filter_map(|cell| {
        let pass = last(cell)?;
        Some(pass.started_s + pass.total.seconds)
    });
    let before = ends
        .filter(|&end| end <= begun + 1e-6)
        .fold(None, |most, end| Some(most.map_or(end, |most: f64| most.max(end))));
    before.map(|end| begun - end)
}

/// What a rest gave back a second: what was had beyond the lasting rate after it. What the check
/// below the rate did not ask for is a rest, too, and so is the time before it.
fn refill(record: &Record, name: &str, unused_s: f64, credit: Option<f64>) -> Refill {
    let Some(cell) = named(record, name) else { return Refill::NotSeen };
    let (Some((seen, _)), Some(idle_s)) = (fall(cell), idle_s(record, cell)) else {
        return Refill::NotSeen;
    };
    let gained = excess(&seen);
    let seen = gained.times(1.0 / (idle_s + unused_s));
    match credit.is_some_and(|credit| gained.value > FULL_AGAIN * credit) {
        true => Refill::AtLeast(seen.value),
        false => Refill::Seen(seen),
    }
}

/// A bucket that has this share of its credit again was full.
const FULL_AGAIN: f64 = 0.95;

/// Seconds' worth of the lasting rate that the check at 95 % and the pause before it did not ask
/// for.
fn unused_s(record: &Record) -> f64 {
    let (Some(read), Some(within)) = (named(record, "read-4K"), named(record, "within-4K")) else {
        return 0.0;
    };
    let seconds = last(within).map_or(0.0, |pass| pass.total.seconds);
    let pause_s = idle_s(record, within).unwrap_or(0.0);
    pause_s + (1.0 - within.iops / lasting(read).value).max(0.0) * seconds
}

fn check(record: &Record, name: &str) -> Option<Check> {
    let cell = named(record, name)?;
    let mean_ns = cell.latency.as_ref()?.mean_ns;
    let seconds = last(cell)?.total.seconds;
    // At 105 % the backlog at the end is 5 % of what was asked for: 2.4 % of the time on average.
    Some(Check { mean_ns, grows: mean_ns > GROWS * seconds * 1e9 })
}

/// A mean latency above this share of the pass is that of a queue that grew all the time.
const GROWS: f64 = 0.01;

fn latency(record: &Record, name: &str) -> Option<(f64, f64)> {
    let check = check(record, name).filter(|check| !check.grows)?;
    let latency = named(record, name)?.latency.as_ref()?;
    // Evenly spread around the mean, 80 % of the way to the slowest is the 90th percentile.
    let p90 = latency.percentile(90.0).map_or(check.mean_ns, |ns| ns as f64);
    Some((check.mean_ns, ((p90 / check.mean_ns - 1.0) / 0.8).clamp(0.0, 1.0)))
}

/// A pair of cells that drain the bucket, one at first and one after a rest.
struct Drains {
    first: &'static str,
    again: &'static str,
    /// What one of their operations takes out of the bucket.
    tokens: f64,
    /// Seconds before the rest in which nothing was asked for, together.
    unused_s: f64,
}

impl Drains {
    fn look(&self, record: &Record, sustained: Measured) -> Bucket {
        let found = |name: &str| Some(excess(&fall(named(record, name)?)?.0));
        let more = |one: Measured, two: Measured| if two.value > one.value { two } else { one };
        let first = found(self.first);
        let credit = [first, found(self.again)].into_iter().flatten().reduce(more);
        let lasting = [self.first, self.again].map(|name| named(record, name).and_then(burst));
        let refill = refill(record, self.again, self.unused_s, first.map(|first| first.value));
        Bucket {
            sustained,
            burst: lasting.into_iter().flatten().reduce(f64::max).map(|rate| rate * self.tokens),
            credit: credit.map(|credit| credit.times(self.tokens)),
            refill: match refill {
                Refill::Seen(seen) => Refill::Seen(seen.times(self.tokens)),
                Refill::AtLeast(least) => Refill::AtLeast(least * self.tokens),
                Refill::NotSeen => Refill::NotSeen,
            },
        }
    }
}

impl<'r> Seen<'r> {
    fn of(record: &'r Record) -> Result<Self, NoProposal> {
        let steps: Vec<Step> = record
            .cells
            .iter()
            .filter(|cell| cell.iops > 0.0 && cell.name.starts_with("read-"))
            .map(|cell| Step { bytes: cell.block_bytes as f64, rate: lasting(cell) })
            .collect();
        if steps.len() < 3 {
            let what = "direct reads of three sizes";
            return Err(NoProposal::Missing { run: record.id.clone(), what });
        }
        let exchange = Exchange::through(&steps);
        let small = Drains {
            first: "burst-4K",
            again: "refill-4K",
            tokens: 1.0,
            unused_s: unused_s(record),
        };
        let tokens = f64::from(1 << 20);
        let large = Drains { first: "burst-1M", again: "refill-1M", tokens, unused_s: 0.0 };
        let operations = exchange.operations.map(|rate| small.look(record, rate));
        let bandwidth = exchange.bandwidth.map(|rate| {
            let own = large.look(record, rate);
            match exchange.operations {
                Some(_) if exchange.is_bandwidth_at(tokens) => own,
                Some(_) => Bucket { burst: None, credit: None, refill: Refill::NotSeen, ..own },
                // One bucket, which the small reads found full.
                None => one_of(Drains { tokens: 4096.0, ..small }.look(record, rate), own),
            }
        });
        let cells = ["burst-4K", "burst-1M", "refill-4K", "refill-1M"];
        let has_credit = cells.iter().any(|name| named(record, name).and_then(fall).is_some());
        let ratio = |one: &str, two: &str| {
            let [one, two] = [one, two].map(|name| named(record, name).map(lasting));
            Some(one?.value / two?.value)
        };
        let merging = exchange.operations.and_then(|_| ratio("sequential-read-4K", "read-4K"));
        Ok(Self {
            record,
            exchange,
            operations,
            bandwidth,
            write_cost: ratio("read-4K", "write-4K"),
            pools: pools(record),
            merging,
            has_credit,
            within: check(record, "within-4K"),
            over: check(record, "over-4K"),
            read_latency: latency(record, "within-4K"),
            write_latency: latency(record, "within-write-4K"),
        })
    }
}

/// Of half reads and half writes out of one pool the rate is the harmonic mean of both rates.
fn pools(record: &Record) -> Option<f64> {
    let rate = |name: &str| named(record, name).map(|cell| lasting(cell).value);
    let (read, write, mixed) = (rate("read-4K")?, rate("write-4K")?, rate("mixed-4K")?);
    Some(mixed * (1.0 / read + 1.0 / write) / 2.0)
}

/// What two sizes of reads saw of one bucket of bytes.
fn one_of(small: Bucket, large: Bucket) -> Bucket {
    let credits = [small.credit, large.credit].into_iter().flatten();
    Bucket {
        sustained: large.sustained,
        burst: match (large.burst, large.credit) {
            // Large reads spent it too soon to see a limit.
            (None, Some(_)) => None,
            _ => [small.burst, large.burst].into_iter().flatten().reduce(f64::max),
        },
        credit: credits.reduce(|one, two| if two.value > one.value { two } else { one }),
        refill: match (small.refill, large.refill) {
            (Refill::NotSeen, other) | (other, _) => other,
        },
    }
}
