//! An entry against the cells of one target: which of them have its conditions, and what they say.

use super::{
    DriveState, Entry, Metric, Promise, Reading, Specification, metric::Better, reading::of_cell,
};
use crate::{
    number::{self, counted},
    runs::{self, Subject},
    terminal::words::{coordinate_number, read_percent},
};
use record::{Cell, Flag, Record, TargetInfo, TargetKind};

/// What a run says of a promise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The whole interval falls short.
    Fail,
    /// The interval, or a flag, leaves it open.
    Inconclusive,
    /// The whole interval reaches it.
    Pass,
    /// No cell has the sheet's conditions.
    NotComparable,
}

impl Verdict {
    /// The words in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::Pass => "pass",
            Self::NotComparable => "not comparable",
        }
    }
}

/// What became of one entry.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding<'s> {
    /// The promise.
    pub entry: &'s Entry,
    /// What the run says of it.
    pub verdict: Verdict,
    /// The figure that decided.
    pub measured: Option<Reading>,
    /// The name of the cell that it comes from; none for what is no cell's.
    pub cell: Option<String>,
    /// Why it is open or not comparable, or which of several cells decided; may be empty.
    pub because: String,
    /// What would settle it: options of `drivelab run`, or a flag's cure; may be empty.
    pub cure: String,
}

/// A fail with one of these is not the drive's.
const EXCUSES: [Flag; 5] =
    [Flag::CpuLimited, Flag::EngineLimited, Flag::LinkLimited, Flag::ForeignIo, Flag::Steal];
/// A pass with one of these is not the drive's.
const BORROWED: [Flag; 6] = [
    Flag::CacheServed,
    Flag::FitsInMemory,
    Flag::SparseFile,
    Flag::UnwrittenExtents,
    Flag::DeallocatedBlocks,
    Flag::MemoryBacked,
];
/// Largest block of an access time: what a sheet means by a small random operation.
const ACCESS_BYTES_MAX: u64 = 4096;

/// A finding for each entry, in the order of the sheet.
pub fn judge<'s>(specification: &'s Specification, subject: &Subject<'_>) -> Vec<Finding<'s>> {
    specification.entries.iter().map(|entry| one(entry, subject)).collect()
}

fn one<'s>(entry: &'s Entry, subject: &Subject<'_>) -> Finding<'s> {
    let open = |because: String, cure: String| Finding {
        entry,
        verdict: Verdict::NotComparable,
        measured: None,
        cell: None,
        because,
        cure,
    };
    let target = subject.record.targets.get(subject.target);
    match entry.metric {
        Metric::Power => {
            let cure = "it serves the table of IOPS per watt";
            return open("drivelab does not measure power".to_owned(), cure.to_owned());
        }
        Metric::Capacity => {
            return exact(entry, target.and_then(capacity), "its size is not known");
        }
        Metric::Endurance => {
            let rated = target.and_then(rated_endurance);
            return exact(entry, rated, "no tool could read the drive's own rating");
        }
        Metric::Iops | Metric::Bandwidth | Metric::Latency | Metric::AccessTime => {}
    }
    let candidates: Vec<&Cell> =
        subject.cells.iter().filter(|cell| is_of_kind(entry, cell)).copied().collect();
    if candidates.is_empty() {
        let what = format!("no cell measured {}", operation(entry));
        return open(what, options(entry, &Missing::all()));
    }
    let missing = |cell: &Cell| Missing::between(entry, cell, subject);
    let mut fitting: Vec<&Cell> =
        candidates.iter().filter(|cell| missing(cell).is_empty()).copied().collect();
    if entry.metric == Metric::AccessTime {
        let smallest = fitting.iter().map(|cell| cell.block_bytes).min();
        fitting.retain(|cell| Some(cell.block_bytes) == smallest);
    }
    if fitting.is_empty() {
        let nearest =
            candidates.iter().map(|cell| missing(cell)).min_by_key(|missing| missing.0.len());
        let nearest = nearest.expect("there are candidates");
        return open(nearest.in_words(), options(entry, &nearest));
    }
    let judged: Vec<(Finding<'_>, f64)> = fitting
        .iter()
        .filter_map(|cell| of_cell(entry, cell).map(|reading| of_reading(entry, cell, reading)))
        .collect();
    decide(entry, judged).unwrap_or_else(|| {
        open(
            "the cell has too few operations for this figure".to_owned(),
            "raise --max-time".to_owned(),
        )
    })
}

/// Of several cells the best or the worst, as the sheet promises.
fn decide<'s>(entry: &Entry, judged: Vec<(Finding<'s>, f64)>) -> Option<Finding<'s>> {
    let several = judged.len();
    let rank = |(finding, goodness): &(Finding<'_>, f64), (other, than): &(Finding<'_>, f64)| {
        finding.verdict.cmp(&other.verdict).then(goodness.total_cmp(than))
    };
    let (mut finding, _) = match entry.promise {
        Promise::UpTo => judged.into_iter().max_by(rank),
        Promise::Always => judged.into_iter().min_by(rank),
    }?;
    if several > 1 {
        let which = match entry.promise {
            Promise::UpTo => "best",
            Promise::Always => "worst",
        };
        let which = format!("the {which} of {several} cells that fit");
        finding.because = match finding.because.as_str() {
            "" => which,
            because => format!("{which}; {because}"),
        };
    }
    Some(finding)
}

/// The verdict of one cell, and how good its figure is: more is better.
fn of_reading<'s>(entry: &'s Entry, cell: &Cell, reading: Reading) -> (Finding<'s>, f64) {
    let (verdict, because, cure) = match weigh(entry, reading) {
        Verdict::Inconclusive => {
            let (because, cure) = match reading.ci95 {
                Some(_) => ("the 95 % interval holds the figure", "raise --grade"),
                None => ("one pass gave no interval", "add --passes 3"),
            };
            (Verdict::Inconclusive, because.to_owned(), cure.to_owned())
        }
        verdict => match doubt(verdict, cell) {
            Some(flag) => {
                let because = format!("a {} with {flag}", verdict.name());
                (Verdict::Inconclusive, because, flag.cure().to_owned())
            }
            None => (verdict, String::new(), String::new()),
        },
    };
    let goodness = match entry.metric.better() {
        Better::More => reading.value,
        Better::Less => -reading.value,
    };
    let (measured, cell) = (Some(reading), Some(cell.name.clone()));
    (Finding { entry, verdict, measured, cell, because, cure }, goodness)
}

/// Where the interval lies against the figure.
fn weigh(entry: &Entry, reading: Reading) -> Verdict {
    let Some([low, high]) = reading.ci95 else { return Verdict::Inconclusive };
    let (worst, best, wanted) = match entry.metric.better() {
        Better::More => (low, high, entry.value - entry.granted),
        Better::Less => (-high, -low, -(entry.value + entry.granted)),
    };
    if worst >= wanted {
        Verdict::Pass
    } else if best < wanted {
        Verdict::Fail
    } else {
        Verdict::Inconclusive
    }
}

/// A flag by which the verdict is not the drive's.
fn doubt(verdict: Verdict, cell: &Cell) -> Option<Flag> {
    let doubts = match verdict {
        Verdict::Fail => &EXCUSES[..],
        Verdict::Pass => &BORROWED[..],
        Verdict::Inconclusive | Verdict::NotComparable => &[],
    };
    cell.flags.iter().copied().find(|flag| doubts.contains(flag))
}

/// What is counted, not measured.
fn exact<'s>(entry: &'s Entry, value: Option<f64>, missing: &str) -> Finding<'s> {
    let measured = value.map(Reading::exact);
    let verdict = measured.map_or(Verdict::NotComparable, |reading| weigh(entry, reading));
    let because = if measured.is_some() { String::new() } else { missing.to_owned() };
    Finding { entry, verdict, measured, cell: None, because, cure: String::new() }
}

/// The drive's size; the volume's where several drives lie under it.
pub fn capacity(target: &TargetInfo) -> Option<f64> {
    let bytes = match &runs::drives(target)[..] {
        [only] if only.count == 1 => only.bytes,
        // A directory's free space is nobody's capacity.
        [] if target.kind == TargetKind::Directory => return None,
        _ => target.capacity_bytes,
    };
    (bytes > 0).then_some(bytes as f64)
}

fn rated_endurance(target: &TargetInfo) -> Option<f64> {
    let drive = target.stack.iter().find_map(|layer| layer.drive.as_ref())?;
    drive.rated_endurance_bytes.map(|bytes| bytes as f64)
}

/// Whether the cell does what the entry is about, whatever its size and depth.
fn is_of_kind(entry: &Entry, cell: &Cell) -> bool {
    if entry.metric == Metric::AccessTime {
        let op = entry.op.as_deref().unwrap_or("read");
        return cell.op == op && is_random(cell) && cell.block_bytes <= ACCESS_BYTES_MAX;
    }
    let pattern = entry.pattern.as_deref();
    let is_pattern = match pattern {
        Some("random") => is_random(cell),
        pattern => pattern == Some(&cell.pattern),
    };
    let is_share = entry.read_percent.is_none_or(|percent| read_percent(cell) == Some(percent));
    entry.op.as_deref() == Some(&cell.op) && is_pattern && is_share
}

/// Each block once, in random order, is random too.
fn is_random(cell: &Cell) -> bool {
    cell.pattern == "random" || cell.pattern == "permutation"
}

/// `random read`
pub(crate) fn operation(entry: &Entry) -> String {
    let pattern = match entry.pattern.as_deref().unwrap_or("random") {
        "seq" => "sequential",
        pattern => pattern,
    };
    let op = match (entry.op.as_deref().unwrap_or("read"), entry.read_percent) {
        ("mixed", Some(percent)) => format!("{percent:.0}/{:.0} read/write", 100.0 - percent),
        (op, _) => op.to_owned(),
    };
    format!("{pattern} {op}")
}

/// A condition of the sheet that a cell does not have.
#[derive(Clone, PartialEq, Debug)]
enum Condition {
    Block(String),
    Threads(String),
    Depth(String),
    Span(String),
    State(String),
    Io(String),
}

/// All conditions that a cell does not have.
struct Missing(Vec<Condition>);

impl Missing {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Everything that an entry can ask for.
    fn all() -> Self {
        let said = String::new;
        Self(vec![
            Condition::Block(said()),
            Condition::Threads(said()),
            Condition::Depth(said()),
            Condition::Span(said()),
            Condition::State(said()),
        ])
    }

    fn between(entry: &Entry, cell: &Cell, subject: &Subject<'_>) -> Self {
        let mut missing = Vec::new();
        if let Some(bytes) = entry.block_bytes.filter(|bytes| *bytes != cell.block_bytes) {
            let (ours, theirs) = (number::size(cell.block_bytes), number::size(bytes));
            missing.push(Condition::Block(format!("blocks of {ours}, not {theirs}")));
        }
        let in_flight = u64::from(cell.threads) * u64::from(cell.queue_depth);
        if let Some(threads) = entry.threads.filter(|threads| *threads != cell.threads) {
            missing.push(Condition::Threads(format!(
                "{}, not {threads}",
                counted(cell.threads, "thread")
            )));
        }
        let ours = match entry.threads {
            Some(_) => u64::from(cell.queue_depth),
            None => in_flight,
        };
        let wanted = match entry.metric {
            Metric::AccessTime => Some(1),
            _ => entry.depth,
        };
        if let Some(depth) = wanted.filter(|depth| u64::from(*depth) != ours) {
            missing.push(Condition::Depth(format!("{ours} in flight, not {depth}")));
        }
        let area = area_bytes(cell, subject.record);
        if let Some(bytes) = entry.span_bytes.filter(|bytes| area > *bytes) {
            let (ours, theirs) = (number::size(area), number::capacity(bytes));
            missing.push(Condition::Span(format!("an area of {ours}, more than {theirs}")));
        }
        if let Some(wanted) = entry.state {
            let found = state(subject.record, subject.target);
            if found != Some(wanted) {
                let found = found.map_or("not known to be", |found| match found {
                    DriveState::Fresh => "fresh, not",
                    DriveState::Steady => "steady, not",
                });
                missing.push(Condition::State(format!("the drive was {found} {}", wanted.name())));
            }
        }
        if !["direct", "direct,hugepages"].contains(&cell.io.as_str()) {
            missing.push(Condition::Io(format!("the cell's I/O is {}, not direct", cell.io)));
        }
        Self(missing)
    }

    fn in_words(&self) -> String {
        let words = self.0.iter().map(|condition| match condition {
            Condition::Block(said)
            | Condition::Threads(said)
            | Condition::Depth(said)
            | Condition::Span(said)
            | Condition::State(said)
            | Condition::Io(said) => said.as_str(),
        });
        words.collect::<Vec<_>>().join("; ")
    }
}

/// The options of `drivelab run` that give a cell of the entry's conditions.
fn options(entry: &Entry, missing: &Missing) -> String {
    let mut words = Vec::new();
    let op = match (entry.op.as_deref().unwrap_or("read"), entry.read_percent) {
        ("mixed", Some(percent)) => format!("mixed:{percent}"),
        (op, _) => op.to_owned(),
    };
    words.push(format!("--set op={op}"));
    words.push(format!("--set pattern={}", entry.pattern.as_deref().unwrap_or("random")));
    // What is set changes every cell, so all conditions are set, whichever of them was missing.
    let default_block = (entry.metric == Metric::AccessTime).then_some(ACCESS_BYTES_MAX);
    words.extend(
        entry.block_bytes.or(default_block).map(|bytes| format!("--set block={}", size(bytes))),
    );
    let depth = if entry.metric == Metric::AccessTime { Some(1) } else { entry.depth };
    words.extend(depth.map(|depth| format!("--set depth={depth}")));
    let threads = entry.threads.or(depth.map(|_| 1));
    words.extend(threads.map(|threads| format!("--set threads={threads}")));
    let io = missing.0.iter().any(|condition| matches!(condition, Condition::Io(_)));
    words.extend(io.then(|| "--io direct".to_owned()));
    words.extend(entry.span_bytes.map(|bytes| format!("--size {}", size(bytes))));
    let state = missing.0.iter().any(|condition| matches!(condition, Condition::State(_)));
    words.extend(entry.state.filter(|_| state).map(|state| match state {
        DriveState::Fresh => "--purge".to_owned(),
        DriveState::Steady => "--method snia-iops".to_owned(),
    }));
    format!("drivelab run TARGET {}", words.join(" "))
}

/// A size as the command line reads it, exactly.
fn size(bytes: u64) -> String {
    let units = [
        ("GiB", 1u64 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("KiB", 1 << 10),
        ("kB", 1000),
    ];
    let unit = units.into_iter().find(|(_, each)| bytes.is_multiple_of(*each));
    unit.map_or_else(|| bytes.to_string(), |(name, each)| format!("{}{name}", bytes / each))
}

/// Bytes that the cell worked on.
fn area_bytes(cell: &Cell, record: &Record) -> u64 {
    let file = coordinate_number(cell, "file_bytes").filter(|bytes| *bytes > 0.0);
    file.map_or(record.method.span_bytes, |bytes| bytes as u64)
}

/// What is known to have been done to the drive before its cells.
fn state(record: &Record, target: usize) -> Option<DriveState> {
    let is_steady = record.rounds.as_ref().is_some_and(|rounds| rounds.steady_at_round.is_some());
    let target = record.targets.get(target)?;
    let is_model = target.kind == TargetKind::Model;
    if is_steady || (is_model && target.text.contains("state=steady")) {
        Some(DriveState::Steady)
    } else if is_model || record.method.options.contains_key("purge") {
        Some(DriveState::Fresh)
    } else {
        None
    }
}
