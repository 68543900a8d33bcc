//! From a method and a target's offer to what will be done, all of it known before the first byte.

mod bytes;
mod forecast;
mod narrowing;
mod obstacle;
mod outline;
mod seconds;
mod share;
mod until;

pub use forecast::{FAST, Pace, SLOW};
pub use outline::{CellOutline, Outline, cell_title};

pub(crate) use bytes::{bound_bytes, narrowed, tree_written};
pub(crate) use forecast::SECOND_LOOK;
pub(crate) use outline::stream_of;

use narrowing::narrow_places;
use obstacle::obstacle;
use seconds::{shorten, stop_rule};

use crate::{
    compression_probe::probe_bytes,
    knee::{Condition, PROBES_MAX},
    method::{CellSpec, FileState, Method, SpanRule, WrittenRule},
    target::{Access, Offer},
    workload::{Area, Contents, EngineChoice, OnError, Stream},
};
use block::{Rng, display_bytes};
use record::LeftOut;
use stats::{Grade, StopRule};
use std::{fmt, num::NonZeroU32};

/// What the user may change about a method.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Options {
    /// How well to measure.
    pub grade: Option<Grade>,
    /// Size of the tested area.
    pub span_bytes: Option<u64>,
    /// Most bytes the whole run writes.
    pub written_bytes_max: Option<u64>,
    /// Seconds for all cells of the whole run together.
    pub seconds_max: Option<f64>,
    /// Where all random choices come from.
    pub seed: u64,
    /// Write cells are left out rather than refused.
    pub reads_only: bool,
    /// How many passes, whatever the grade says.
    pub passes: Option<u32>,
    /// What a request that failed ends.
    pub on_error: Option<OnError>,
    /// The highest rate that holds this is sought of each cell.
    pub until: Option<Condition>,
    /// The targets' drives are served with `--slower`: all times are theirs, so many times less
    /// than this machine's.
    pub slower: Option<NonZeroU32>,
}

/// One pass over one cell on one target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Which pass, from 0.
    pub pass: u32,
    /// Index into the plan's cells.
    pub cell: usize,
    /// Index into the run's targets.
    pub target: usize,
}

/// The least area whose multiples are counted before a plan asks.
const ASK_AREA_BYTES_MIN: u64 = 1 << 30;
/// Most passes over a method: an interval gains nothing beyond, and every step of them is listed.
const PASSES_MAX: u32 = 1000;
/// A whole target is filled as far as `span = "capacity"` tests it.
const FILL_GRAIN_BYTES: u64 = 1 << 20;

/// An area that is as large as the target allows is whole blocks, of whatever size.
const AT_MOST_GRAIN: u64 = 1 << 20;

/// Everything that will be done.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The method.
    pub method: Method,
    /// How well it is measured.
    pub grade: Grade,
    /// When a cell's pass ends.
    pub rule: StopRule,
    /// Longest time of any cell where the user bounds the whole run, seconds.
    pub seconds_bound: Option<f64>,
    /// Passes over the method (rounds, at most, for an SNIA method).
    pub passes: u32,
    /// Size of the tested area.
    pub span_bytes: u64,
    /// Who chose it.
    pub span_source: SpanSource,
    /// How often `fill_span_bytes` are written before the first cell, on targets that may be
    /// written.
    pub fill: u32,
    /// The tested area, or all that the target offers where the method has a precondition.
    pub fill_span_bytes: u64,
    /// Cells that will run.
    pub cells: Vec<CellSpec>,
    /// Cells that will not, and why.
    pub left_out: Vec<LeftOut>,
    /// Sentences about changes that the target made necessary.
    pub notes: Vec<String>,
    /// In the order of execution.
    pub steps: Vec<Step>,
    /// Most bytes that each writing stream writes in one pass that nothing else bounds.
    pub cell_written_max: u64,
    /// Most bytes the run writes to each target, fills included. A limit that is kept, not a guess.
    pub written_bytes_max: u64,
    /// What that would be if no bound on the whole run cut the cells' shares.
    pub unbounded_bytes: u64,
    /// Shortest and longest time of the whole run, seconds, fills included. What is bound by bytes
    /// takes as long as at the paces [`FAST`] and [`SLOW`]; rounds may end after five.
    pub seconds: (f64, f64),
    /// Where all random choices come from.
    pub seed: u64,
    /// What a request that failed ends.
    pub on_error: OnError,
    /// What latencies must hold, where the highest rate that does is sought: a pass is then one
    /// rate that is tried.
    pub until: Option<Condition>,
    /// How many times slower than this machine's the targets' time passes, which is that of every
    /// pass; `seconds` is this machine's.
    pub slower: NonZeroU32,
}

/// Who chose the size of the tested area.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SpanSource {
    /// The user, with `--size`.
    User,
    /// The method, by this rule.
    Method(SpanRule),
}

impl fmt::Display for SpanSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => formatter.write_str("as asked for"),
            Self::Method(rule) => rule.fmt(formatter),
        }
    }
}

/// A plan that cannot be made: one sentence with the cure.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

/// The same with the time for all cells in the drives' time.
fn in_the_drives_time(options: &Options) -> Options {
    let times = f64::from(options.slower.map_or(1, NonZeroU32::get));
    let seconds_max = options.seconds_max.map(|seconds| seconds / times);
    Options { seconds_max, ..options.clone() }
}

/// Each cell writes no more than its share, where it has one.
fn share_out(cells: &mut [CellSpec], shares: Vec<Option<u64>>) {
    for (cell, share) in cells.iter_mut().zip(shares) {
        cell.written_max = share.or(cell.written_max);
    }
}

/// What is said of figures in another time than this machine's.
fn whose_time(slower: NonZeroU32) -> String {
    format!(
        "its drives' time passes {slower} times slower: rates, latencies and seconds are theirs, \
         the processor time of an operation is this machine's"
    )
}

impl Plan {
    /// Makes the plan for targets with these offers (one, or two to compare).
    ///
    /// # Errors
    /// When the tested area does not fit, or no cell can run.
    pub fn new(mut method: Method, options: &Options, offers: &[Offer]) -> Result<Self, PlanError> {
        assert!(!offers.is_empty(), "a plan without a target");
        one_clock(offers)?;
        let options = &in_the_drives_time(options);
        options.until.map_or(Ok(()), |_| until::adapt(&mut method))?;
        let span_bytes = span(&method, options, offers)?;
        narrow_places(&mut method.cells, method.span, span_bytes);
        let (mut cells, left_out, mut notes) = sort_out(&method, options, offers, span_bytes)?;
        notes.splice(..0, method.file.notes.iter().cloned().chain(options.slower.map(whose_time)));
        let grade = options.grade.unwrap_or(method.grade);
        let passes = allowed(passes(&method, options, grade, offers.len()))?;
        let rule = stop_rule(&method, options, grade, cells.len() * offers.len() * passes as usize);
        if let Some(total) = options.seconds_max {
            let turns = offers.len() as f64 * f64::from(passes.max(1));
            notes.extend(shorten(&mut cells, total / turns, rule.seconds_max));
        }
        let (fill, fill_span_bytes) = fill(&method, offers, span_bytes);
        let cell_written_max = written_max(method.written_max, &mut cells, span_bytes);
        let steps = in_order(&method, options, &cells, passes, offers.len());
        let budget = bytes::Budget {
            cells: &cells,
            span_bytes,
            cell_written_max,
            fill,
            fill_span_bytes,
            // Whether the target compresses matters to writes alone.
            probe_bytes: match !is_checked(&cells) && any_writes_blocks(&cells) {
                true => probe_bytes(grade, fill, span_bytes),
                false => 0,
            },
            passes,
            tree_seed: options.seed,
        };
        let limit = options.written_bytes_max.or_else(|| {
            let most = method.run_written_max.filter(|_| spares(grade, offers));
            most.and_then(|bytes| budget.at_most(bytes))
        });
        let written_bytes_max = budget.written_bytes_max(limit)?;
        let unbounded_bytes = budget.written_bytes_max(None)?;
        // How many rounds there will be nobody knows: the first ones have all they ask for.
        if method.file.rounds.is_none() && written_bytes_max < unbounded_bytes {
            let shares = budget.shares(written_bytes_max);
            share_out(&mut cells, shares);
        }
        let mut plan = Self {
            grade,
            passes,
            span_bytes,
            span_source: span_source(&method, options),
            fill,
            fill_span_bytes,
            cells,
            left_out,
            notes,
            steps,
            cell_written_max,
            written_bytes_max,
            unbounded_bytes,
            seconds: (0.0, 0.0),
            seconds_bound: options.seconds_max.map(|_| rule.seconds_max),
            rule,
            seed: options.seed,
            on_error: options.on_error.unwrap_or_default(),
            until: options.until,
            slower: options.slower.unwrap_or(NonZeroU32::MIN),
            method,
        };
        plan.seconds = forecast::run(&plan, offers.len());
        Ok(plan)
    }

    /// Shortest and longest time of one pass over a cell, in seconds.
    pub fn seconds_of(&self, cell: usize) -> (f64, f64) {
        forecast::pass(self, &self.cells[cell])
    }

    /// Whether it writes so much that the user must agree first: more than the method's multiple of
    /// the tested area, or of the method's own where the user asked for a smaller one. An area
    /// below 1 GiB counts as 1 GiB: what wears a drive is bytes, not multiples of little.
    pub fn must_ask(&self) -> bool {
        let usual_bytes = match self.method.span {
            SpanRule::Bytes(bytes) => bytes,
            _ => 0,
        };
        let area_bytes = self.span_bytes.max(usual_bytes).max(ASK_AREA_BYTES_MIN);
        self.written_bytes_max as f64 > self.method.file.ask_above * area_bytes as f64
    }

    /// Whether what is read is compared with what was written.
    pub fn is_checked(&self) -> bool {
        is_checked(&self.cells)
    }

    /// With which `--max-written` a run whose bound is too low for a cell has `times` the bytes for
    /// every cell: in whole GiB.
    pub fn bound_for(&self, times: f64) -> u64 {
        const GIB: u64 = 1 << 30;
        let fill_bytes = self.fill_bytes();
        let cells = self.written_bytes_max.saturating_sub(fill_bytes) as f64;
        let wanted = fill_bytes.saturating_add((cells * times) as u64);
        (wanted / GIB).saturating_add(1).saturating_mul(GIB)
    }

    /// What is written to each target before the first cell. A plan refuses fills that 64 bits do
    /// not count.
    pub fn fill_bytes(&self) -> u64 {
        self.fill_span_bytes.saturating_mul(u64::from(self.fill))
    }

    /// Most bytes that each writing stream of `cell` writes in one pass that only time bounds.
    pub fn written_max_of(&self, cell: &CellSpec) -> u64 {
        cell.written_max.unwrap_or(self.cell_written_max)
    }

    /// Most bytes that one pass of `cell` writes.
    pub fn pass_written_max(&self, cell: &CellSpec) -> u64 {
        let all = bytes::of_pass(cell, self.span_bytes, self.cell_written_max, self.tree_seed());
        narrowed(all)
    }

    /// The seed of names and sizes in trees: one for the whole run, so that all cells and passes
    /// agree about them.
    pub fn tree_seed(&self) -> u64 {
        self.seed
    }

    /// The part of the tested area that a stream of a cell works on.
    pub fn area(&self, cell: &CellSpec, stream: &Stream) -> Area {
        area(cell, stream, self.span_bytes)
    }
}

/// A model's seconds and a real drive's are not compared.
fn one_clock(offers: &[Offer]) -> Result<(), PlanError> {
    if offers.iter().all(|offer| offer.time == offers[0].time) {
        return Ok(());
    }
    Err(PlanError(
        "one run has one clock: a model's seconds and a real drive's do not pass side by side; run \
         each by itself and put the tables next to each other"
            .to_owned(),
    ))
}

/// So many passes, if a run may have them.
fn allowed(passes: u32) -> Result<u32, PlanError> {
    if passes <= PASSES_MAX {
        return Ok(passes);
    }
    Err(PlanError(format!(
        "{passes} passes are more than the {PASSES_MAX} that a run may have: lower --passes, or \
         the method's `passes` or `rounds.max`"
    )))
}

/// How often the targets are written before the first cell, and how many bytes of them.
fn fill(method: &Method, offers: &[Offer], span_bytes: u64) -> (u32, u64) {
    // A scratch file is filled even where only read cells run: it holds nothing yet.
    let fills = offers.iter().any(|offer| offer.access == Access::ReadWrite);
    let fill = if fills { method.precondition.unwrap_or_else(|| method.fill()) } else { 0 };
    let whole = || smallest(offers) / FILL_GRAIN_BYTES * FILL_GRAIN_BYTES;
    (fill, method.precondition.map_or(span_bytes, |_| whole()).max(span_bytes))
}

/// Most bytes that a stream of a pass writes which nothing else bounds; cells with a rule of their
/// own have it from now on in bytes.
fn written_max(rule: WrittenRule, cells: &mut [CellSpec], span_bytes: u64) -> u64 {
    let spans = |factor: f64| (span_bytes as f64 * factor) as u64;
    for cell in cells {
        cell.written_max = cell.written_spans.map(spans).or(cell.written_max);
    }
    match rule {
        WrittenRule::Bytes(bytes) => bytes.max(span_bytes / 4),
        WrittenRule::Spans(factor) => spans(factor),
    }
}

/// The steps of the search for a rate, or those of the method.
fn in_order(
    method: &Method,
    options: &Options,
    cells: &[CellSpec],
    passes: u32,
    targets: usize,
) -> Vec<Step> {
    match options.until {
        Some(_) => until::steps(cells.len(), passes, targets),
        None => steps(method, cells, passes, targets, options.seed),
    }
}

/// Whether a run is so short, and its targets wear so, that it should write little.
fn spares(grade: Grade, offers: &[Offer]) -> bool {
    grade == Grade::Quick && offers.iter().any(|offer| offer.wears)
}

/// Who chose the size of the tested area.
fn span_source(method: &Method, options: &Options) -> SpanSource {
    options.span_bytes.map_or(SpanSource::Method(method.span), |_| SpanSource::User)
}

/// Whether any of the cells writes blocks, and not files.
fn any_writes_blocks(cells: &[CellSpec]) -> bool {
    cells.iter().any(|cell| cell.writes() && cell.tree.is_none())
}

/// Whether any of the cells reads back what was written.
fn is_checked(cells: &[CellSpec]) -> bool {
    let mut streams = cells.iter().flat_map(|cell| &cell.streams);
    streams.any(|stream| stream.contents == Contents::Stamped)
}

/// Where a stream of a cell works, on a tested area of this size.
pub(crate) fn area(cell: &CellSpec, stream: &Stream, span_bytes: u64) -> Area {
    if cell.tree.is_some() {
        return Area { offset: 0, bytes: 0 };
    }
    let whole = cell.file_bytes.unwrap_or(span_bytes);
    let block = u64::from(stream.block_bytes);
    // The part starts on a multiple of 1 MiB and of the block, so that alignment never depends on
    // it.
    let grain =
        if block > 1 << 20 || !(1u64 << 20).is_multiple_of(block) { block } else { 1 << 20 };
    let at = |share: f64| (whole as f64 * share) as u64 / grain * grain;
    let (start, end) = match stream.place {
        Some(place) => {
            let start = place.start.of(whole, grain).min(whole);
            (start, start + place.length.of(whole, grain).min(whole - start))
        }
        None => (
            at(stream.part.0),
            if stream.part.1 == 1.0 { whole } else { at(stream.part.1).min(whole) },
        ),
    };
    let start = start.saturating_add(stream.shift_bytes).min(end);
    Area { offset: start, bytes: end - start }
}

/// What each of the targets offers at least.
fn smallest(offers: &[Offer]) -> u64 {
    offers.iter().map(|offer| offer.capacity_bytes).min().expect("there is a target")
}

fn span(method: &Method, options: &Options, offers: &[Offer]) -> Result<u64, PlanError> {
    let smallest = smallest(offers);
    let memory = offers.iter().map(|offer| offer.memory_bytes).max().expect("there is a target");
    let wanted = options.span_bytes.unwrap_or(match method.span {
        SpanRule::Bytes(bytes) => bytes,
        SpanRule::Memory(factor) => (memory as f64 * factor) as u64 / (1 << 20) * (1 << 20),
        SpanRule::Capacity(share) => (smallest as f64 * share) as u64 / (1 << 20) * (1 << 20),
        SpanRule::LargestFile => method.largest_file_bytes().unwrap_or(1 << 30),
        SpanRule::AtMost(bytes) => bytes.min(smallest / AT_MOST_GRAIN * AT_MOST_GRAIN),
    });
    let needed = method.largest_file_bytes().unwrap_or(0);
    if wanted < needed {
        return Err(PlanError(format!(
            "the method's largest file is {}, the tested area {}: raise --size, or narrow the files with --set file=",
            display_bytes(needed),
            display_bytes(wanted)
        )));
    }
    if wanted > smallest {
        let cure = match method.smallest_block_bytes() {
            Some(block) if block > smallest => {
                format!("not one block of {} fits; name a larger one", display_bytes(block))
            }
            _ => format!("pass a smaller --size, such as {}", suggestion(smallest)),
        };
        return Err(PlanError(format!(
            "the test needs {}, {} more than the {} that the target offers: {cure}",
            display_bytes(wanted),
            display_bytes(wanted - smallest),
            display_bytes(smallest),
        )));
    }
    Ok(wanted)
}

/// A round size that fits, as one would type it.
fn suggestion(bytes: u64) -> String {
    let power = bytes.max(1).ilog2();
    display_bytes(1 << power).replace(' ', "")
}

type Sorted = (Vec<CellSpec>, Vec<LeftOut>, Vec<String>);

/// Which cells run: those that the targets allow. Says why the others do not.
fn sort_out(
    method: &Method,
    options: &Options,
    offers: &[Offer],
    span_bytes: u64,
) -> Result<Sorted, PlanError> {
    let (mut kept, mut left_out, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for cell in &method.cells {
        let mut cell = cell.clone();
        match offers.iter().find_map(|offer| obstacle(&cell, offer, options, span_bytes)) {
            Some(reason) => left_out.push(LeftOut { name: cell.name, reason }),
            None => {
                for offer in offers {
                    without_uring(&mut cell, offer, &mut notes)?;
                }
                kept.push(cell);
            }
        }
    }
    if kept.is_empty() {
        let reason = left_out.first().map_or("it has no cells", |first| first.reason.as_str());
        return Err(PlanError(format!(
            "nothing of method {} can run here: {reason}",
            method.file.name
        )));
    }
    Ok((kept, left_out, notes))
}

/// Without io_uring, depth becomes threads; whoever asked for it by its name is refused.
fn without_uring(
    cell: &mut CellSpec,
    offer: &Offer,
    notes: &mut Vec<String>,
) -> Result<(), PlanError> {
    let Err(reason) = &offer.uring else { return Ok(()) };
    if cell.replay.is_some() {
        for stream in &mut cell.streams {
            (stream.engine, stream.queue_depth) = (EngineChoice::Sync, 1);
        }
        notes.push(format!(
            "io_uring is not to be had ({reason}): one operation at a time is replayed, and what \
             is due meanwhile is late"
        ));
        return Ok(());
    }
    for stream in &mut cell.streams {
        if stream.engine == EngineChoice::Uring {
            return Err(PlanError(format!(
                "{} asks for engine `uring` by name, and {reason}. `--engine auto` takes as many \
                 threads in its place",
                cell.name
            )));
        }
        if stream.queue_depth == 1 {
            continue;
        }
        if stream.offset_increment_bytes > 0 {
            return Err(PlanError(format!(
                "{} has workers with an area each, of which there would be more in place of a \
                 deep queue, and {reason}: use depth = 1, or leave offset_increment out",
                cell.name
            )));
        }
        let workers = u32::from(stream.threads) * stream.queue_depth;
        stream.engine = EngineChoice::Sync;
        stream.threads = workers.min(1024) as u16;
        stream.queue_depth = 1;
        let note = format!(
            "io_uring is not to be had ({reason}): deep queues are replaced by as many threads of the sync engine"
        );
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    Ok(())
}

fn passes(method: &Method, options: &Options, grade: Grade, targets: usize) -> u32 {
    if options.until.is_some() {
        return PROBES_MAX as u32;
    }
    if let Some(rounds) = &method.file.rounds {
        return options.passes.unwrap_or(rounds.max);
    }
    let own = options.passes.or(if options.grade.is_none() { method.file.passes } else { None });
    let passes = own.unwrap_or_else(|| method.file.passes.unwrap_or(0).max(grade.passes() as u32));
    // A paired verdict needs pairs: four is the fewest whose interval says anything.
    if targets > 1 && options.passes.is_none() { passes.max(4) } else { passes }
}

/// All passes over all cells on all targets. Targets alternate their order from pass to pass, and
/// stand next to each other, so that what drifts hits both.
fn steps(method: &Method, cells: &[CellSpec], passes: u32, targets: usize, seed: u64) -> Vec<Step> {
    let chained = cells.iter().any(|cell| cell.file == FileState::New || cell.tree.is_some());
    let shuffled = method.file.order == crate::method::Order::Random && !chained;
    let mut steps = Vec::new();
    for pass in 0..passes {
        let mut order: Vec<usize> = (0..cells.len()).collect();
        if shuffled {
            Rng::new(seed, 0x0_1de5 + u64::from(pass)).shuffle(&mut order);
        }
        for (position, &cell) in order.iter().enumerate() {
            for turn in 0..targets {
                let flip = (pass as usize + position) % 2 == 1;
                let target = if flip { targets - 1 - turn } else { turn };
                steps.push(Step { pass, cell, target });
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests;
