//! What a run of method `characterise` measured, in the words of the model.

use super::{NoProposal, curve::Curve};
use record::{Cell, Record, TargetInfo};

/// A cell that writes for long, and what was before it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct LongWrite {
    /// What was written, over time.
    pub curve: Curve,
    /// Bytes written.
    pub bytes: u64,
    /// Since the long write before it ended, seconds.
    pub idle_s: f64,
}

/// Readers beside writers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Beside {
    /// Of the reads.
    pub mean_ns: f64,
    /// Of the reads; 0 where there were too few.
    pub p99_ns: f64,
    /// Reads before those that count, and those.
    pub reads: (u64, u64),
}

/// Everything that the fit uses.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Figures {
    /// What the drive holds, bytes.
    pub capacity_bytes: u64,
    /// The tested area.
    pub span_bytes: u64,
    /// Random reads that keep a depth: the cell's name and operations per second.
    pub reads: Vec<(String, f64)>,
    /// Random reads over all of the area, one at a time, ns.
    pub wide_ns: Option<f64>,
    /// Sequential reads: the cell's name and operations per second.
    pub streams: Vec<(String, f64)>,
    /// Writes that the memory takes: bytes of each and ns.
    pub paced: Vec<(f64, f64)>,
    /// A write that returns when it is durable, ns.
    pub durable_ns: Option<f64>,
    /// `fill`.
    pub fill: LongWrite,
    /// `burst-20` and `burst-60`.
    pub bursts: Vec<LongWrite>,
    /// `scattered`.
    pub scattered: Option<LongWrite>,
    /// `beside`.
    pub beside: Option<Beside>,
    /// `mixed`, operations per second.
    pub mixed: Option<f64>,
}

impl Figures {
    /// What `record` has of them.
    pub fn of(record: &Record, target: &TargetInfo) -> Result<Self, NoProposal> {
        let missing = |what| NoProposal::NotWhole { run: record.id.clone(), what };
        let cell = |name: &str| {
            let of = |cell: &&Cell| cell.name == name && cell.iops > 0.0;
            record.cells.iter().find(of)
        };
        let mean = |name: &str| Some(cell(name)?.latency.as_ref()?.mean_ns);
        let starting = |with: &str| -> Vec<(String, f64)> {
            let of = |cell: &&Cell| cell.name.starts_with(with) && cell.iops > 0.0;
            record.cells.iter().filter(of).map(|cell| (cell.name.clone(), cell.iops)).collect()
        };
        let mut ended_s = None;
        let mut long = |name: &str| {
            let found = cell(name)?;
            let pass = found.passes.first()?;
            let idle_s = ended_s.map_or(0.0, |ended: f64| (pass.started_s - ended).max(0.0));
            ended_s = Some(pass.started_s + pass.total.seconds);
            Some(LongWrite { curve: Curve::of(found)?, bytes: pass.total.bytes, idle_s })
        };
        let fill = long("fill").ok_or_else(|| missing("fill"))?;
        let bursts = ["burst-20", "burst-60"].into_iter().filter_map(&mut long).collect();
        let scattered = long("scattered");
        let paced = ["paced-4K", "paced-64K", "paced-256K", "paced-1M"].into_iter();
        let paced: Vec<(f64, f64)> =
            paced.filter_map(|name| Some((cell(name)?.block_bytes as f64, mean(name)?))).collect();
        let reads = [starting("size-"), starting("depth-")].concat();
        if reads.len() < 6 || cell("size-4K").is_none() {
            return Err(missing("size and depth"));
        }
        if paced.len() < 2 {
            return Err(missing("paced"));
        }
        let beside = cell("beside/reads").and_then(|cell| {
            let latency = cell.latency.as_ref()?;
            let p99_ns = latency.percentile(99.0).unwrap_or(0) as f64;
            let before = cell.total.operations.saturating_sub(latency.n);
            Some(Beside { mean_ns: latency.mean_ns, p99_ns, reads: (before, latency.n) })
        });
        let drive = target.stack.iter().rev().find(|layer| layer.drive.is_some());
        Ok(Self {
            capacity_bytes: drive.map_or(target.capacity_bytes, |layer| layer.bytes),
            span_bytes: record.method.span_bytes,
            reads,
            wide_ns: mean("wide"),
            streams: starting("stream-read"),
            paced,
            durable_ns: mean("durable"),
            fill,
            bursts,
            scattered,
            beside,
            mixed: cell("mixed").map(|cell| cell.iops),
        })
    }

    /// Operations per second of a read cell.
    pub fn read(&self, name: &str) -> Option<f64> {
        let of = |(own, _): &&(String, f64)| own == name;
        Some(self.reads.iter().chain(&self.streams).find(of)?.1)
    }
}
