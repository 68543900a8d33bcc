//! Carries out a plan: prepares the targets, runs every pass, and keeps the record complete at
//! every moment, so that whatever stops the run, what was measured stays.

mod allowance;
mod board;
mod burst;
mod cache;
mod calibrate;
mod cause;
mod durable;
mod events;
mod expectation;
mod failure;
mod fill;
mod flush;
mod fold;
mod knee;
mod limiter;
mod over_time;
mod pass;
mod remedy;
mod rest;
mod settle;
mod stall;
mod traps;

pub use allowance::written_by_cells;
pub use calibrate::engine_cost_ns;
pub use events::{Event, Observer, RunError};
pub use flush::FlushCost;
pub use pass::Live;
pub use settle::{conclude, flags_of};

pub use crate::compression_probe::probe_bytes;

pub(crate) use knee::planned;

use crate::{
    method::{CacheState, CellSpec, FileState},
    plan::{Plan, Step},
    target::{Access, Need, Observation, Reset, Target, TargetErrorKind, Time, Writes},
    workload::{
        Area, OnError,
        tree::{TreeCell, TreeState},
    },
};
use allowance::{Allowance, written_bytes};
use failure::{Halt, Unfinished, unfinished};
use fold::Place;
use pass::{PassError, PassOrder};
use record::{
    CachePass, Cell, Condition, FailedCell, IoErrors, LeftOut, ManagedPass, Record, TargetKind,
    Warning,
};
use remedy::Remedy;
use settle::{all_measured, is_done, pair, rounds_are_over};
use stats::Host;
use std::{borrow::Cow, collections::BTreeMap, time::Instant as WallInstant};

/// Carries out `plan` on `targets`, adding to `record`. Passes that the record holds already (of a
/// resumed run) are not repeated.
///
/// # Errors
/// [`RunError`]; the record's state and error say the same.
pub fn run(
    plan: &Plan,
    targets: &mut [Box<dyn Target>],
    record: &mut Record,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    let resumed = !record.cells.is_empty();
    let mut runner = Runner::new(plan, Bench::All(targets), record, observer);
    let outcome = runner.run(record).and_then(|()| all_measured(record));
    for (info, target) in record.targets.iter_mut().zip(targets.iter()) {
        // A resumed run's own completions are not all of its record's.
        info.completions = target.completions().filter(|_| !resumed);
        info.managed_flash = target.managed_flash();
    }
    record.paired = pair(record, plan);
    conclude(plan, record, &outcome);
    outcome
}

/// Carries out one pass on one of the plan's targets, which is there for this turn alone and was
/// made ready by the caller: a file system just made, a cache just switched. The tested area is
/// filled first. When all turns are over, or one failed, [`conclude`] closes the record.
///
/// `flush_cost` is what an earlier turn found of the same drive under settings that treat flushes
/// alike. Without, it is asked where durable writes need it, and left there for the next turn.
///
/// # Errors
/// [`RunError`].
///
/// # Panics
/// When the method runs in rounds: their number is not known before.
pub fn run_turn(
    plan: &Plan,
    turn: Turn,
    target: &mut dyn Target,
    record: &mut Record,
    observer: &mut dyn Observer,
    flush_cost: &mut Option<FlushCost>,
) -> Result<(), RunError> {
    assert!(plan.method.file.rounds.is_none(), "rounds decide by themselves when they end");
    let bench = Bench::One { index: turn.target, target };
    let mut runner = Runner::new(plan, bench, record, observer);
    runner.flush_costs.extend(flush_cost.map(|known| (turn.target, known)));
    runner.make_ready(record, turn.target)?;
    *flush_cost = runner.flush_costs.get(&turn.target).copied();
    for (order, step) in plan.steps.iter().enumerate() {
        if step.target == turn.target && step.pass == turn.pass && !is_done(record, plan, *step) {
            runner.step_or_stop(record, order, *step)?;
        }
    }
    Ok(())
}

/// A target's turn: one pass over all cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// Index into the record's targets.
    pub target: usize,
    /// Which pass, from 0.
    pub pass: u32,
}

/// Rounds that must agree for SNIA's steady state, and whose rates are then the result.
const STEADY_ROUNDS: usize = 5;

/// The targets that are there.
enum Bench<'a> {
    All(&'a mut [Box<dyn Target>]),
    One { index: usize, target: &'a mut dyn Target },
}

struct Runner<'a> {
    plan: &'a Plan,
    bench: Bench<'a>,
    observer: &'a mut dyn Observer,
    started: WallInstant,
    /// When the passes that the record holds already had ended, in seconds of the run.
    earlier_s: f64,
    /// Seconds that all passes took together: the run's time on a virtual clock.
    virtual_s: f64,
    allowance: Allowance,
    /// What flushes of each target cost, where that was asked.
    flush_costs: BTreeMap<usize, FlushCost>,
    /// What failed while each target's area was filled.
    fill_errors: BTreeMap<usize, IoErrors>,
}

/// One pass to be made.
struct Job<'s> {
    target: usize,
    spec: &'s CellSpec,
    areas: Vec<Area>,
    seed: u64,
    written_max: u64,
    /// So many operations of a worker may fail.
    errors_max: u64,
}

impl<'a> Bench<'a> {
    fn target(&mut self, wanted: usize) -> &mut dyn Target {
        match self {
            Self::All(targets) => targets[wanted].as_mut(),
            Self::One { index, target } => {
                assert_eq!(*index, wanted, "only one target is there");
                *target
            }
        }
    }
}

impl<'a> Runner<'a> {
    fn new(
        plan: &'a Plan,
        bench: Bench<'a>,
        record: &Record,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self {
            plan,
            bench,
            observer,
            started: WallInstant::now(),
            earlier_s: ended_s(record),
            virtual_s: 0.0,
            allowance: Allowance::new(plan, record),
            flush_costs: BTreeMap::new(),
            fill_errors: BTreeMap::new(),
        }
    }

    fn target(&mut self, wanted: usize) -> &mut dyn Target {
        self.bench.target(wanted)
    }

    fn run(&mut self, record: &mut Record) -> Result<(), RunError> {
        for target in 0..record.targets.len() {
            self.make_ready(record, target)?;
        }
        self.rebuild_files(record)?;
        for (order, step) in self.plan.steps.iter().enumerate() {
            if !is_done(record, self.plan, *step) {
                self.step_or_stop(record, order, *step)?;
            }
            // A run may have been killed between its last round and this question.
            if rounds_are_over(record, self.plan, order) {
                break;
            }
        }
        Ok(())
    }

    /// Prepares a target, fills it, and looks at what the written area shows.
    fn make_ready(&mut self, record: &mut Record, target: usize) -> Result<(), RunError> {
        self.prepare(record, target).map_err(|error| self.or_gone(target, error))
    }

    fn prepare(&mut self, record: &mut Record, target: usize) -> Result<(), RunError> {
        let fills = if self.plan.fill > 0 { Writes::InOrder } else { Writes::Nothing };
        let cells = self.plan.cells.iter().map(CellSpec::written).max();
        let writes = fills.max(cells.unwrap_or(Writes::Nothing));
        let span_bytes = match self.plan.fill {
            0 => self.plan.span_bytes,
            _ => self.plan.fill_span_bytes,
        };
        let need = Need { span_bytes, writes };
        self.target(target).prepare(&need)?;
        record.targets[target].renew(self.target(target).info().clone());
        self.observer.save(record);
        if self.target(target).offer().access == Access::ReadWrite {
            (0..self.plan.fill).try_for_each(|round| self.fill(target, round))?;
        }
        let probed = self.probe_compression(target)?;
        if !self.flush_costs.contains_key(&target)
            && let Some(cost) = self.probe_flush(target)?
        {
            self.flush_costs.insert(target, cost);
        }
        self.observer.event(Event::Inspect { target });
        let mut seen = match self.target(target).inspect() {
            // A sector that cannot be read fails the cells that read it.
            Err(error) if self.plan.on_error != OnError::Stop && !self.is_gone(target) => {
                let text = format!("what the tested area holds could not be seen: {error}");
                vec![Warning { flag: None, text }]
            }
            seen => seen?,
        };
        seen.extend(probed);
        seen.extend(self.fill_errors.remove(&target).map(|errors| fill::hole(&errors)));
        record.targets[target].flags.extend(seen.iter().filter_map(|warning| warning.flag));
        record.targets[target].warnings.extend(seen);
        Ok(())
    }

    /// One pass of one cell, unless the user wants to stop.
    fn step_or_stop(
        &mut self,
        record: &mut Record,
        order: usize,
        step: Step,
    ) -> Result<(), RunError> {
        if self.observer.interrupted() {
            return Err(RunError::Interrupted);
        }
        self.step(record, order, step)?;
        self.observer.save(record);
        Ok(())
    }

    /// A resumed run may stand in the middle of a chain of cells on one growing file: the chain's
    /// writes so far are done again, unrecorded, so that the next cell finds the file it would have
    /// found.
    fn rebuild_files(&mut self, record: &Record) -> Result<(), RunError> {
        let plan = self.plan;
        for target in 0..record.targets.len() {
            let own = || plan.steps.iter().filter(|step| step.target == target);
            let Some(next) = own().position(|step| !is_done(record, plan, *step)) else { continue };
            let is_new = |step: &&Step| {
                let cell = &plan.cells[step.cell];
                let plants = |tree: &TreeCell| tree.tree == TreeState::New;
                cell.file == FileState::New || cell.tree.as_ref().is_some_and(plants)
            };
            if own().nth(next).is_some_and(|step| is_new(&step)) {
                continue;
            }
            let done: Vec<&Step> = own().take(next).collect();
            let Some(first) = done.iter().rposition(is_new) else { continue };
            for step in &done[first..] {
                self.repeat_writes(**step)?;
            }
        }
        Ok(())
    }

    /// Does what a cell's pass did to the file, and measures nothing.
    fn repeat_writes(&mut self, step: Step) -> Result<(), RunError> {
        let (plan, spec) = (self.plan, &self.plan.cells[step.cell]);
        if !spec.writes() {
            return Ok(());
        }
        let areas: Vec<Area> = spec.streams.iter().map(|stream| plan.area(spec, stream)).collect();
        self.reset(step.target, spec)?;
        // Like a fill, it is done anew when a run goes on, and does not count against its
        // allowance.
        let written_max = plan.written_max_of(spec);
        let (target, seed) = (step.target, seed_of(plan, step));
        let errors_max = fill::errors_max(plan.on_error);
        let job = Job { target, spec, areas, seed, written_max, errors_max };
        Ok(self.pass(job, |_, _| {}).map(drop)?)
    }

    /// One pass of one cell. That it failed stands in the record, and ends the run only where that
    /// is asked for, or where nothing can follow.
    fn step(&mut self, record: &mut Record, order: usize, step: Step) -> Result<(), RunError> {
        let name = &self.plan.cells[step.cell].name;
        let is_this = |failed: &FailedCell| {
            (failed.target, failed.pass, &failed.name) == (step.target, step.pass, name)
        };
        record.failed.retain(|failed| !is_this(failed));
        let Err(halt) = self.measure(record, order, step) else { return Ok(()) };
        let goes_on = self.plan.on_error != OnError::Stop;
        let unfinished = match halt {
            Halt::Cell(unfinished) => unfinished,
            // What the system could not do for one cell it may do for the next.
            Halt::Run(RunError::Target(error)) if goes_on && error.kind == TargetErrorKind::Io => {
                let (reason, errors) = (error.message, IoErrors::default());
                Box::new(Unfinished { reason, errors, is_last: false })
            }
            Halt::Run(error) => return Err(self.or_gone(step.target, error)),
        };
        let Unfinished { reason, errors, is_last } = *unfinished;
        let (target, pass, name) = (step.target, step.pass, name.clone());
        let gone = self.gone_soon(target);
        let failed = FailedCell { target, name, pass, reason: reason.clone(), errors };
        self.observer.event(Event::Failed(&failed));
        record.failed.push(failed);
        match gone {
            Some(gone) => Err(RunError::Failed(gone)),
            None if is_last || !goes_on => Err(RunError::Failed(reason)),
            None => Ok(()),
        }
    }

    fn measure(&mut self, record: &mut Record, order: usize, step: Step) -> Result<(), Halt> {
        let cell = &self.plan.cells[step.cell];
        let spec = match self.plan.until {
            Some(_) => knee::spec(self.plan, record, step).map(Cow::Owned),
            None => rest::with_rate(cell, step, record),
        };
        match spec {
            Ok(spec) => self.measure_as(record, order, step, &spec),
            Err(left_out) => {
                rest::leave_out(record, &left_out);
                Ok(())
            }
        }
    }

    fn measure_as(
        &mut self,
        record: &mut Record,
        order: usize,
        step: Step,
        spec: &CellSpec,
    ) -> Result<(), Halt> {
        let plan = self.plan;
        let steps = plan.steps.len();
        self.observer.event(Event::Begin { step: order, steps, of: step, cell: spec });
        let areas: Vec<Area> = spec.streams.iter().map(|stream| plan.area(spec, stream)).collect();
        let Some(written_max) = self.allowance.of_pass(plan, step.target, spec, &areas) else {
            leave_out(record, spec);
            return Ok(());
        };
        self.rest(step.target, spec)?;
        self.reset(step.target, spec)?;
        let time = self.target(step.target).offer().time;
        let started_s = self.now_s(time);
        let hull = cache::hull(&areas);
        let before = self.target(step.target).watch(hull.clone());
        let volume_before = self.target(step.target).managed_flash();
        let caches_before = self.target(step.target).fast_caches();
        let seed = seed_of(plan, step);
        let conditions_before = self.target(step.target).conditions();
        let show = |observer: &mut dyn Observer, live| observer.event(Event::Live(live));
        let (target, errors_max) = (step.target, plan.on_error.errors_max());
        let job = Job { target, spec, areas: areas.clone(), seed, written_max, errors_max };
        let mut done = self.pass(job, show)?;
        let conditions = [conditions_before, self.target(step.target).conditions()];
        let after = self.target(step.target).watch(hull);
        let volume_after = self.target(step.target).managed_flash();
        let managed_flash = volume_before
            .zip(volume_after)
            .map(|(before, after)| ManagedPass::between(&before, &after));
        let caches_after = self.target(step.target).fast_caches();
        let written = |seen: &Observation| seen.drive_written_bytes.unwrap_or(0);
        let caches = burst::Caches {
            drives: &burst::between(&caches_before, &caches_after),
            drive_written_bytes: written(&after).saturating_sub(written(&before)),
            volume: managed_flash,
        };
        burst::look(&spec.streams, &mut done, &caches);
        self.count_written(step.target, spec, &done);
        let page_cache =
            cache::look(spec, &record.targets[step.target], &areas, &done, (before, after));
        let seen = Seen { cell: spec, watched: [before, after], conditions: &conditions };
        let mut found = self.find(record, step, &areas, &done, seen, &page_cache);
        judge(plan, record, step, spec, &done, &mut found);
        let place = Place {
            target: step.target,
            pass: step.pass,
            order: order as u32,
            started_s,
            window: if plan.method.file.rounds.is_some() { STEADY_ROUNDS } else { usize::MAX },
            host: if time == Time::Wall { Host::Real } else { Host::Virtual },
            managed_flash,
            ssd_cache: after.cached_since(&before),
        };
        fold::add_pass(&mut record.cells, spec, place, &done, found, &page_cache);
        let cells: Vec<&Cell> = record
            .cells
            .iter()
            .filter(|cell| cell.group == spec.name && cell.target == step.target)
            .collect();
        self.observer.event(Event::End { cells: &cells, watched: &[before, after] });
        Ok(())
    }

    fn reset(&mut self, target: usize, spec: &CellSpec) -> Result<(), RunError> {
        if let Some(tree) = spec.tree.as_ref().filter(|tree| tree.tree == TreeState::New) {
            self.target(target).plant(&tree.layout)?;
        }
        match spec.file {
            FileState::AsIs => {}
            FileState::Flushed => self.target(target).reset(Reset::Flush)?,
            FileState::New => self.target(target).reset(Reset::NewFile)?,
        }
        if let CacheState::Dropped(means) = spec.cache {
            self.target(target).reset(Reset::DropCache(means))?;
        }
        Ok(())
    }

    fn pass(
        &mut self,
        job: Job<'_>,
        mut show: impl FnMut(&mut dyn Observer, Live),
    ) -> Result<pass::PassDone, Halt> {
        let Job { target, spec, areas, seed, written_max, errors_max } = job;
        let order = PassOrder {
            cell: spec,
            areas,
            rule: self.plan.rule_of(spec),
            written_max,
            errors_max,
            seed,
            tree_seed: self.plan.tree_seed(),
            grain: self.target(target).offer().block_bytes,
            slower: self.plan.slower,
            cpu_clock: self.target(target).cpu_clock(),
        };
        let engines = match &spec.tree {
            Some(_) => self.target(target).open_tree(spec.streams[0].threads)?,
            // The streams of a replay are one worker's.
            None if spec.replay.is_some() => self.target(target).open(&spec.streams[..1])?,
            None => self.target(target).open(&spec.streams)?,
        };
        let (observer, bench) = (&mut *self.observer, &mut self.bench);
        let (mut gone, mut looked_at) = (None, (0, 0));
        let mut watch = |live: Live| {
            show(observer, live);
            // Both are cheap, and yet once for each new error, and each second of silence, will do.
            let seen = (live.errors, (live.silent_s / SILENT_S) as u64);
            if seen != std::mem::replace(&mut looked_at, seen) {
                gone = bench.target(target).vanished();
            }
            gone.is_none() && !observer.interrupted()
        };
        let outcome = pass::run(&order, engines, &mut watch);
        if let Some(gone) = gone {
            return Err(Halt::Run(RunError::Failed(gone)));
        }
        let done = outcome.map_err(|error| match error {
            PassError::Interrupted => Halt::Run(RunError::Interrupted),
            PassError::Target(error) => Halt::from(error),
            PassError::Failed(failed) => {
                Halt::Cell(Box::new(unfinished(&failed, &self.target(target).info().text)))
            }
        })?;
        self.virtual_s += done.seconds;
        Ok(done)
    }

    fn count_written(&mut self, target: usize, spec: &CellSpec, done: &pass::PassDone) {
        for (stream, pass) in spec.streams.iter().zip(&done.streams) {
            self.allowance.spend(target, written_bytes(stream, pass.bytes));
        }
    }

    fn find(
        &mut self,
        record: &Record,
        step: Step,
        areas: &[Area],
        done: &pass::PassDone,
        seen: Seen<'_>,
        page_cache: &[Option<CachePass>],
    ) -> Vec<Vec<Warning>> {
        let [before, after] = seen.watched;
        let offer = self.target(step.target).offer();
        let cell = seen.cell;
        // A model's seconds are not those that the engine's cost was measured in.
        let engine_ns = match offer.time {
            Time::Wall => record.calibration.first().map_or(0.0, |cost| cost.ns_per_operation),
            Time::Virtual => 0.0,
        } / f64::from(self.plan.slower.get());
        let flush_cost = self.flush_costs.get(&step.target).copied();
        let scene = |index: usize| traps::Scene {
            flush_cost,
            target: &record.targets[step.target],
            cell,
            stream: &cell.streams[index],
            area: areas[index],
            pass: &done.streams[index],
            before,
            after,
            conditions: seen.conditions,
            moved: cache::moved(cell, done),
            page_cache: page_cache[index],
            busy: done.busy,
            engine_ns,
            memory_bytes: match record.targets[step.target].kind {
                TargetKind::Model => offer.memory_bytes,
                _ => record.environment.host.memory_usable_bytes(),
            },
            pass_name: (self.plan.passes > 1 && self.plan.until.is_none())
                .then(|| format!("in pass {} of {}", step.pass + 1, self.plan.passes)),
            remedy: Remedy { record, plan: self.plan },
        };
        (0..cell.streams.len()).map(|index| traps::find(&scene(index))).collect()
    }
}

/// What was seen of the target before a pass and after it.
#[derive(Clone, Copy)]
struct Seen<'s> {
    /// The cell with the rate that it ran at.
    cell: &'s CellSpec,
    watched: [Observation; 2],
    conditions: &'s [Vec<Condition>; 2],
}

/// After so many seconds without an answer it is asked whether the target is there.
const SILENT_S: f64 = 2.0;

/// When the last pass of a record had ended: a run that goes on, and each turn of a matrix, counts
/// on from there, as if no time had passed in between.
fn ended_s(record: &Record) -> f64 {
    let passes = record.cells.iter().flat_map(|cell| &cell.passes);
    passes.map(|pass| pass.started_s + pass.total.seconds).fold(0.0, f64::max)
}

fn leave_out(record: &mut Record, spec: &CellSpec) {
    let reason = "the bytes that may still be written do not suffice for all its passes: raise --max-written";
    rest::leave_out(record, &LeftOut { name: spec.name.clone(), reason: reason.to_owned() });
}

/// What a record's cells of `spec` are before any of them ran: one a stream, without numbers.
pub fn cells_of(spec: &CellSpec) -> Vec<Cell> {
    let cell = |stream| fold::fresh(spec, stream, 0, &fold::stream_name(spec, stream));
    spec.streams.iter().map(cell).collect()
}

/// The seed of one pass of one cell: the same on every target and in every repetition.
fn seed_of(plan: &Plan, step: Step) -> u64 {
    plan.seed ^ (u64::from(step.pass) << 32) ^ (step.cell as u64) << 16
}

/// What a pass says of latencies that are limited: by a search, or by what the method expects.
fn judge(
    plan: &Plan,
    record: &mut Record,
    step: Step,
    spec: &CellSpec,
    done: &pass::PassDone,
    found: &mut [Vec<Warning>],
) {
    knee::without_expected(plan, step, found);
    knee::note(plan, record, step, done);
    expectation::note(plan, record, step, spec, done);
}
