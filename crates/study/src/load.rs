//! Latency under load, of drives of today: requests at random places, so many at a time, or writes
//! at a set rate with a probe beside them.

use crate::{Effort, Figure, Op, TrialError, pass::SEED};
use lab::load::{Demand, LoadLength, LoadOp, LoadSeen, LoadStream, load};
use target::{
    catalog::{Catalog, DriveEntry, DriveKind, Value},
    stack::{self, Opened},
};

/// To this size a drive is made smaller, bytes, with at least so many superblocks.
const SMALL_BYTES: f64 = 32e9;
/// See [`SMALL_BYTES`].
const SUPERBLOCKS_MIN: f64 = 128.0;
/// Requests a second of the probe, half of them reads (SSD-iq).
const PROBES_PER_S: f64 = 10_000.0;
/// Threads of each of its streams. The source does not say how many it had; the model is the same
/// with more.
const THREADS: u16 = 16;
/// Up to so many at a time the effort's operations are enough; of more that many times more are
/// looked at, for whoever waits in a long queue waits as those around it do.
const DEPTH_ENOUGH: u64 = 50;
/// Of a drive that decides once a turn how it lets writes in, so many turns are looked at, after
/// half as many.
const TURNS: f64 = 4.0;
/// Share of the load that is written.
const LOAD_WRITES: f64 = 0.99;

/// A load.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Load {
    /// Of what the latency is asked.
    pub op: Op,
    /// Bytes a request.
    pub block_bytes: u32,
    /// How much of it.
    pub demand: LoadDemand,
    /// Over how much of it.
    pub span: LoadSpan,
}

/// Over how much of a drive requests are spread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LoadSpan {
    /// All of it.
    Whole,
    /// The half that is in use.
    Half,
    /// A file of 5 GiB.
    File,
}

/// How much is asked of a drive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LoadDemand {
    /// So many requests at a time.
    Depth {
        /// So many.
        requests: u16,
        /// Of so many threads, each with the same depth.
        threads: u16,
    },
    /// Writes at random times, and a probe that is not counted among them.
    Writes {
        /// Requests a second.
        per_s: u32,
        /// No more at a time.
        outstanding_max: u16,
    },
}

/// What was seen under a load.
#[derive(Clone, PartialEq, Debug)]
pub struct LoadOutcome {
    /// Of the operation that is asked about.
    seen: LoadSeen,
    /// Requests a second; under a probe, writes of the load.
    iops: f64,
    /// What a thread needs to hand a request to its port, ns.
    handed_over_ns: u64,
    /// Hash of everything that completed on the drive so far.
    pub hash: u64,
}

/// Does the loads one after the other on one drive, which they leave in its steady state. Loads
/// that differ in the operation alone are done once.
///
/// # Errors
/// When the stack cannot be built, or fails.
pub fn run_loads(
    stack: &str,
    loads: &[Load],
    catalog: &Catalog,
    effort: Effort,
) -> Result<Vec<LoadOutcome>, TrialError> {
    let (mut opened, _) = opened_small(stack, catalog, Buffer::Whole)?;
    let handed_over_ns = handed_over_ns(stack, catalog)?;
    let effort = Effort { operations: effort.operations.max(turns(stack, catalog)?), ..effort };
    let mut beside: Option<(Load, Vec<LoadSeen>)> = None;
    let mut outcomes = Vec::with_capacity(loads.len());
    for load in loads {
        let seen = match beside.take() {
            Some((other, seen)) if other.is_beside(load) => seen,
            // With the seed of the load before, the same blocks would be written again.
            _ => load.run(&mut opened, effort, SEED + outcomes.len() as u64)?,
        };
        let outcome = load.outcome(&seen, opened.engine.hash());
        outcomes.push(LoadOutcome { handed_over_ns, ..outcome });
        beside = Some((*load, seen));
    }
    Ok(outcomes)
}

/// Requests of the probe's one stream in the turns of a drive that has any.
fn turns(stack: &str, catalog: &Catalog) -> Result<u64, TrialError> {
    let stack: stack::Stack = stack.parse()?;
    let drive = catalog.drive(&stack.members[0].drive.name).expect("the cases name drives");
    let every_ns = drive.entry.parameters.get("throttle_every").map_or(0.0, |it| it.base());
    Ok((TURNS * every_ns / 1e9 * PROBES_PER_S / 2.0) as u64)
}

/// What a thread needs to hand a request of 4 KiB to the port that a stack names, ns.
fn handed_over_ns(stack: &str, catalog: &Catalog) -> Result<u64, TrialError> {
    let stack: stack::Stack = stack.parse()?;
    let drive = &stack.members[0].drive;
    let named = drive.settings.iter().find(|(key, _)| key == "port").map(|(_, port)| port);
    let own = catalog.drive(&drive.name).map(|entry| &entry.port);
    let port = named.or(own).and_then(|name| catalog.port(name)).expect("the cases name ports");
    let port = port.port(None);
    Ok(port.own_ns + port.driver_ns + 4 * port.own_ns_per_kib)
}

/// What becomes of the write buffer of a drive that is made smaller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Buffer {
    /// It stays: what is asked is how long it covers a pause of flash.
    Whole,
    /// It is made smaller as well: what is asked is how much the drive takes at which rate.
    Share,
}

/// The stack with its drive made smaller, and how many times smaller it is.
pub(crate) fn opened_small(
    stack: &str,
    catalog: &Catalog,
    buffer: Buffer,
) -> Result<(Opened, u64), TrialError> {
    let stack: stack::Stack = stack.parse()?;
    let mut catalog = catalog.clone();
    let name = &stack.members[0].drive.name;
    let drive = catalog.drive_mut(name).expect("the cases name drives");
    let times_smaller = match drive.kind {
        DriveKind::PageMapped => make_smaller(drive, buffer),
        _ => 1,
    };
    Ok((stack::open(&stack, &catalog, SEED)?, times_smaller))
}

impl Load {
    /// Whether both are seen in one load, which has reads and writes.
    fn is_beside(&self, other: &Self) -> bool {
        let is_open = matches!(self.demand, LoadDemand::Writes { .. });
        is_open && Self { op: other.op, ..*self } == *other
    }

    fn run(
        &self,
        opened: &mut Opened,
        effort: Effort,
        seed: u64,
    ) -> Result<Vec<LoadSeen>, TrialError> {
        let capacity_bytes = opened.contract().capacity_bytes / 4096 * 4096;
        let span_bytes = match self.span {
            LoadSpan::Whole => capacity_bytes,
            LoadSpan::Half => capacity_bytes / 2,
            LoadSpan::File => (capacity_bytes / 2).min(5 << 30),
        };
        let stream = |op: Op, demand, threads| LoadStream {
            op: match op {
                Op::Read => LoadOp::Read,
                Op::Write => LoadOp::Write,
            },
            block_bytes: self.block_bytes,
            span_bytes,
            demand,
            threads,
        };
        let streams = match self.demand {
            LoadDemand::Depth { requests, threads } => {
                vec![stream(self.op, Demand::Depth(requests.into()), threads)]
            }
            LoadDemand::Writes { per_s, outstanding_max } => {
                let at = |share: f64, per_s: f64, outstanding_max: u16| Demand::Arrivals {
                    per_s: per_s * share,
                    outstanding_max: outstanding_max.into(),
                };
                let (load, threads) = (f64::from(per_s), THREADS);
                vec![
                    stream(Op::Read, at(0.5, PROBES_PER_S, 512), threads),
                    stream(Op::Write, at(0.5, PROBES_PER_S, 512), threads),
                    stream(Op::Write, at(LOAD_WRITES, load, outstanding_max), threads),
                    stream(Op::Read, at(1.0 - LOAD_WRITES, load, 512), threads),
                ]
            }
        };
        // A buffer is filled before its steady rate is felt.
        let counted = match self.demand {
            LoadDemand::Depth { requests, .. } => {
                effort.operations.max(effort.operations * u64::from(requests) / DEPTH_ENOUGH)
            }
            LoadDemand::Writes { .. } => effort.operations,
        };
        let length = LoadLength { before: effort.operations / 2, counted };
        Ok(load(opened.as_engine(), &streams, seed, length)?)
    }

    /// What is asked of what the streams saw: of the probe, where there is one.
    fn outcome(&self, seen: &[LoadSeen], hash: u64) -> LoadOutcome {
        let (asked, iops) = match (seen, self.op) {
            // The rate is that of the load's writes: 99 % of what was asked for is printed.
            ([reads, _, load, ..], Op::Read) => (reads, load.iops()),
            ([_, writes, load, ..], Op::Write) => (writes, load.iops()),
            ([only, ..], _) => (only, only.iops()),
            ([], _) => unreachable!("a load has streams"),
        };
        LoadOutcome { seen: asked.clone(), iops, handed_over_ns: 0, hash }
    }
}

impl LoadOutcome {
    /// What a figure says, in its unit.
    ///
    /// # Errors
    /// On a metric that no load has.
    pub fn value(&self, figure: &Figure) -> Result<f64, TrialError> {
        let Self { seen, iops, handed_over_ns, .. } = self;
        // fio-plot's mean is fio's `lat_ns`, its percentiles are of `clat_ns`, which begins when a
        // request has been handed over: on a saturated drive the mean lies above p99.
        let before_ns = if figure.table == "sata" { *handed_over_ns as f64 } else { 0.0 };
        let quantile = |share| Ok((seen.quantile_ns(share) - before_ns) / 1000.0);
        match figure.metric.as_str() {
            "iops" => Ok(*iops),
            "mean_us" => Ok(seen.mean_ns() / 1000.0),
            "p50_us" => quantile(0.5),
            "p99_us" => quantile(0.99),
            "p99.9_us" => quantile(0.999),
            metric => Err(TrialError::Unit(metric.to_owned())),
        }
    }
}

/// Makes the drive smaller, and says how many times. What decides in the steady state is the ratio
/// of spare to used, that there are many superblocks, and for the tail how long a plane is away.
fn make_smaller(drive: &mut DriveEntry, buffer: Buffer) -> u64 {
    let of = |name: &str| drive.entry.parameters[name].base();
    let planes = of("channels") * of("dies_per_channel") * of("planes_per_die");
    let row_bytes = planes * of("nand_page");
    let superblock_bytes = row_bytes * of("pages_per_block");
    let by = (drive.capacity_bytes as f64 / SMALL_BYTES).max(1.0).ceil();
    let small_bytes = drive.capacity_bytes as f64 / by;
    let by_rows = (superblock_bytes * SUPERBLOCKS_MIN / small_bytes).max(1.0).log2().ceil().exp2();
    let by_rows = by_rows.min(of("pages_per_block") / 4.0);
    // The reserve is a larger part of a small drive: it must not come out of the spare.
    let reserve = drive.entry.parameters.get("reserve").map_or(2.0, |it| it.base());
    let part = |superblock_bytes: f64, bytes: f64| 100.0 * reserve * superblock_bytes / bytes;
    let more_spare = part(superblock_bytes / by_rows, small_bytes)
        - part(superblock_bytes, drive.capacity_bytes as f64);
    // Enough to keep all planes busy.
    let buffer_scale = match buffer {
        Buffer::Whole => 1.0,
        Buffer::Share => (1.0 / by).max(2.0 * row_bytes / of("write_buffer")).min(1.0),
    };

    drive.capacity_bytes = small_bytes as u64 / 4096 * 4096;
    set(drive, "over_provisioning", |percent| percent + more_spare);
    set(drive, "pages_per_block", |count| count / by_rows);
    // What was one block is erased at one go as before.
    set(drive, "erase", |time| time / by_rows);
    set(drive, "erase_group", |count| count * by_rows);
    set(drive, "slc_cache", |size| size / by);
    set(drive, "slc_dynamic", |size| size / by);
    set(drive, "write_buffer", |size| size * buffer_scale);
    by as u64
}

fn set(drive: &mut DriveEntry, name: &str, value: impl Fn(f64) -> f64) {
    let parameter = drive.entry.parameters.get(name).map(|parameter| &parameter.value);
    if let Some(&Value::Number(number)) = parameter {
        drive.entry.set(name, value(number)).expect("it is there");
    }
}
