//! One pass over one cell: workers open their engines, start together, and stop when the rule says
//! so.
//!
//! ```text
//!   thread a worker:  open -> ready -> (start) -> drive ... drain -> last one flushes -> end
//!   this thread:              wait for all  | parts -> Board -> look -> stop flag | join
//! ```

mod ending;
mod replaying;
mod shared_tree;
mod threads;
mod worker;

use super::board::{Board, Wait};
use crate::{
    method::{CellBound, CellSpec, FinalFlush},
    target::{Drivable, OpenEngine, OpenTree, TargetError, WorkerEngines},
    workload::{
        Area, Budget, ErrorLog, Failure, Recorder, Share, Stream, TickPart, Worker, WorkerPlan,
        replay::{Replayed, StreamReplayed},
        tree::{SharedTree, TreeBudget, TreeCell, TreeWorkerPlan},
    },
};
use block::{Actor, Instant, IoError};
use ending::finish;
use record::{Burst, FastCachePass};
use shared_tree::shared_tree;
use stats::{
    Assessment, Change, Delta, Drained, Histogram, Looks, Stop, StopRule, TICK_NS, Tick, drained,
};
use std::{
    num::NonZeroU32,
    sync::{
        atomic::AtomicBool,
        mpsc::{Receiver, Sender, channel},
    },
    time::{Duration, Instant as WallInstant},
};
use threads::{Assignment, threads};

/// So often it is asked whether a rate fell for good: once a second.
const DRAIN_LOOK_TICKS: usize = 10;
/// So many ticks at the rate that lasts are enough, and a fifth of those before them.
const DRAINED_TICKS: usize = 100;

/// Whether the rate fell for good, and what lasts has been seen for long enough.
fn is_drained(ticks: &[Tick]) -> bool {
    let operations: Vec<u64> = ticks.iter().map(|tick| tick.operations).collect();
    let enough = |seen: Drained| ticks.len() - seen.at >= DRAINED_TICKS.max(seen.at / 5);
    drained(&operations).is_some_and(enough)
}

/// What a pass is given.
pub(super) struct PassOrder<'a> {
    pub cell: &'a CellSpec,
    pub areas: Vec<Area>,
    pub rule: StopRule,
    /// Most bytes each writing stream of a time-bounded cell writes.
    pub written_max: u64,
    /// So many operations of a worker may fail before it gives up.
    pub errors_max: u64,
    pub seed: u64,
    /// Of names and sizes in a tree.
    pub tree_seed: u64,
    /// The target's block, bytes.
    pub grain: u32,
    /// How many times slower than this machine's its time passes.
    pub slower: NonZeroU32,
    pub cpu_clock: fn() -> u64,
}

/// What one stream did in one pass.
pub(super) struct StreamPass {
    pub ticks: Vec<Tick>,
    pub assessment: Assessment,
    /// Where the rate changed for good, in order of time.
    pub changes: Vec<Change>,
    /// `None` for a pass that the rule does not end.
    pub stop: Option<Stop>,
    /// Whether its bytes were spent before the rule was satisfied or its time was over.
    pub spent: bool,
    pub seconds: f64,
    pub operations: u64,
    pub bytes: u64,
    pub latencies: Histogram,
    /// The same by the tick in which operations ended, warm-up included.
    pub by_tick: Vec<(usize, Delta)>,
    pub flushes: Histogram,
    pub services: Histogram,
    /// Operations that failed, and how long they took.
    pub errors: ErrorLog,
    pub failed: Histogram,
    /// What a replay did besides.
    pub replayed: Option<StreamReplayed>,
    /// The longest that any request waited.
    pub longest: Option<Wait>,
    pub cpu_ns: u64,
    pub flush_seconds: Option<f64>,
    /// Whether it was a burst, as far as the caches and the ticks tell.
    pub burst: Option<Burst>,
}

/// What one pass did.
pub(super) struct PassDone {
    pub streams: Vec<StreamPass>,
    /// From its start to its end.
    pub seconds: f64,
    /// What the caches of modelled drives did.
    pub fast_caches: Vec<FastCachePass>,
    /// Processor time over wall time of the busiest worker.
    pub busy: f64,
    /// Engine names and features, one a stream.
    pub engines: Vec<(String, Vec<String>)>,
}

/// Why a pass has no result.
#[derive(Debug)]
pub(super) enum PassError {
    /// The user wants to stop.
    Interrupted,
    /// The target could not be opened.
    Target(TargetError),
    /// Operations failed.
    Failed(Box<Failed>),
}

/// Operations that ended a pass.
#[derive(Debug)]
pub(super) struct Failed {
    /// The one that did.
    pub failure: Failure,
    /// All of them, and how long they took.
    pub errors: ErrorLog,
    pub latencies: Histogram,
}

/// A rate seen while a pass runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Live {
    /// Seconds since the pass began.
    pub seconds: f64,
    /// Operations per second over the last second, all streams.
    pub iops: f64,
    /// Bytes per second over the last second, all streams.
    pub bytes_per_s: f64,
    /// Seconds since something was last answered.
    pub silent_s: f64,
    /// Operations that failed so far, all streams.
    pub errors: u64,
}

/// How a worker ended.
struct End {
    failure: Option<Failure>,
    errors: ErrorLog,
    finished: Instant,
    flush: Option<(usize, Result<u64, IoError>)>,
    engine: (String, Vec<String>),
    replayed: Option<Replayed>,
}

impl PassOrder<'_> {
    fn plans(&self) -> Vec<(usize, WorkerPlan)> {
        let mut plans = Vec::new();
        for (index, stream) in self.cell.streams.iter().enumerate() {
            for worker in 0..u64::from(stream.threads) {
                let share = Share { worker, of: u64::from(stream.threads) };
                plans.push((
                    index,
                    WorkerPlan {
                        stream: stream.clone(),
                        area: self.areas[index],
                        share,
                        actor: Actor(plans.len() as u16),
                        budget: self.budget(stream, self.areas[index], share),
                        seed: self.seed ^ (index as u64) << 48,
                        errors_max: self.errors_max,
                        ramp_s: self.cell.quiet_s() + self.rule.seconds_max - stream.start_after_s,
                    },
                ));
            }
        }
        plans
    }

    fn tree_plan(&self, tree: &TreeCell, worker: u64, of: u64) -> TreeWorkerPlan {
        TreeWorkerPlan {
            cell: tree.clone(),
            share: Share { worker, of },
            budget: match self.cell.bound {
                CellBound::Time | CellBound::Exhaust | CellBound::Drain => TreeBudget::Endless,
                CellBound::Once => TreeBudget::Once,
                CellBound::Operations(count) => TreeBudget::Operations(count),
            },
            seed: self.seed,
            tree_seed: self.tree_seed,
            errors_max: self.errors_max,
        }
    }

    /// What each worker's thread opens, with the worker's plan.
    fn assignments(
        &self,
        engines: WorkerEngines,
        sink: &Sender<TickPart>,
    ) -> Result<Vec<Assignment>, NotThreads> {
        let recorder =
            |stream, number| Recorder::new(stream, number, TICK_NS, sink.clone(), self.cpu_clock);
        Ok(match (engines, &self.cell.tree) {
            (WorkerEngines::Shared(engine), _) => return Err(NotThreads::Shared(engine)),
            (WorkerEngines::SharedTree(tree), _) => return Err(NotThreads::SharedTree(tree)),
            (WorkerEngines::Threads(openers), _) if self.cell.replay.is_some() => {
                vec![self.replaying(openers, sink)?]
            }
            (WorkerEngines::Threads(openers), _) => {
                let plans = self.plans();
                assert_eq!(plans.len(), openers.len(), "an engine for every worker");
                let assignment = |((stream, plan), opener): ((usize, WorkerPlan), OpenEngine)| {
                    let recorder = recorder(stream, usize::from(plan.actor.0));
                    Assignment { stream, open: worker::on_engine(opener, plan, recorder) }
                };
                plans.into_iter().zip(openers).map(assignment).collect()
            }
            (WorkerEngines::Trees(openers), Some(tree)) => {
                let of = openers.len() as u64;
                assert_eq!(
                    of,
                    u64::from(self.cell.streams[0].threads),
                    "an engine for every worker"
                );
                let assignment = |(worker, opener): (u64, OpenTree)| {
                    let recorder = recorder(0, worker as usize);
                    Assignment {
                        stream: 0,
                        open: worker::on_tree(opener, self.tree_plan(tree, worker, of), recorder),
                    }
                };
                (0..).zip(openers).map(assignment).collect()
            }
            (WorkerEngines::Trees(_), None) => unreachable!("only a cell with a tree asks for one"),
        })
    }

    fn budget(&self, stream: &Stream, area: Area, share: Share) -> Budget {
        let block = u64::from(stream.block_bytes);
        let end = |all: u64, worker| u128::from(all) * u128::from(worker) / u128::from(share.of);
        let part = |all: u64| (end(all, share.worker + 1) - end(all, share.worker)) as u64;
        if stream.mix.is_some() {
            return match self.cell.bound {
                CellBound::Once => Budget::Bytes(part(stream.bytes_once(area))),
                CellBound::Operations(count) => Budget::Operations(count),
                _ if stream.op.stores() => Budget::Bytes(part(self.written_max)),
                _ => Budget::Endless,
            };
        }
        match self.cell.bound {
            CellBound::Once => Budget::Operations(part(stream.operations_once(area))),
            CellBound::Operations(count) => Budget::Operations(count),
            CellBound::Time | CellBound::Exhaust | CellBound::Drain => match stream.op.stores() {
                true => Budget::Operations(part(self.written_max / block)),
                false => Budget::Endless,
            },
        }
    }
}

/// Runs one pass. `watch` is called at least ten times a second with the live rate and says whether
/// to go on.
pub(super) fn run(
    order: &PassOrder<'_>,
    engines: WorkerEngines,
    watch: &mut dyn FnMut(Live) -> bool,
) -> Result<PassDone, PassError> {
    let (sink, parts) = channel();
    let blocks: Vec<u32> = order.cell.streams.iter().map(|stream| stream.block_bytes).collect();
    let workers: u32 = order.cell.streams.iter().map(|stream| u32::from(stream.threads)).sum();
    let mut progress = Progress {
        board: Board::new(&blocks, workers as usize),
        looks: vec![Looks::new(order.rule, TICK_NS); blocks.len()],
        stops: vec![None; blocks.len()],
        looked: 0,
        judged: None,
        spent: false,
        rule: order.rule,
        bound: order.cell.bound,
        timed: is_timed(order.cell),
        quiet: quiet_ticks(order.cell),
        is_ramp: order.cell.is_ramp(),
        heard: Some(WallInstant::now() + first_start(order.cell) * order.slower.get()),
    };
    let (start, ends) = match order.assignments(engines, &sink) {
        Ok(assignments) => {
            drop(sink);
            threads(order, assignments, &parts, &mut progress, watch)?
        }
        Err(NotThreads::Target(error)) => return Err(PassError::Target(error)),
        Err(NotThreads::SharedTree(tree)) => {
            progress.heard = None;
            let cell = order.cell.tree.as_ref().expect("only a cell with a tree asks for one");
            shared_tree(order, (cell, tree), sink, &parts, &mut progress, watch)?
        }
        Err(NotThreads::Shared(engine)) => {
            // Its ticks tell: the wall knows nothing of virtual time.
            progress.heard = None;
            match &order.cell.replay {
                Some(_) => order.replay_shared(engine, &sink, &parts, &mut progress, watch)?,
                None => shared(order, order.plans(), engine, sink, &parts, &mut progress, watch)?,
            }
        }
    };
    finish(order, progress, start, &replaying::a_stream_each(ends))
}

/// Why a pass has no threads of its own workers.
enum NotThreads {
    /// One engine drives them all.
    Shared(Box<dyn Drivable>),
    /// They share one tree.
    SharedTree(Box<dyn SharedTree>),
    /// They cannot work.
    Target(TargetError),
}

/// Whether the stop rule and the bytes allowed end a cell's passes, not a number of operations.
pub(super) fn is_timed(cell: &CellSpec) -> bool {
    !matches!(cell.bound, CellBound::Once | CellBound::Operations(_))
}

/// Ticks of a timed pass before all of its streams have started: they are of another load.
fn quiet_ticks(cell: &CellSpec) -> usize {
    match is_timed(cell) {
        true => (cell.quiet_s() * 1e9 / TICK_NS as f64).ceil() as usize,
        false => 0,
    }
}

/// How long after the start of a pass its first stream starts.
fn first_start(cell: &CellSpec) -> Duration {
    let starts = cell.streams.iter().map(|stream| stream.start_after_s);
    Duration::from_secs_f64(starts.fold(f64::MAX, f64::min))
}

/// The parts and the looks at them.
struct Progress {
    board: Board,
    looks: Vec<Looks>,
    stops: Vec<Option<Stop>>,
    looked: usize,
    /// Ticks that counted when a timed pass was told to stop: what comes later was not asked for
    /// any more.
    judged: Option<usize>,
    /// Whether it was told so because a worker had used up its bytes.
    spent: bool,
    rule: StopRule,
    bound: CellBound,
    timed: bool,
    /// Ticks at the start that no look sees.
    quiet: usize,
    /// Whether a rate changes over the pass: then only time ends it.
    is_ramp: bool,
    /// When workers on threads of their own last had an answer.
    heard: Option<WallInstant>,
}

impl Progress {
    /// Takes in what a worker saw.
    fn take(&mut self, part: TickPart) {
        let answered = [&part.latencies, &part.flushes, &part.failed];
        if answered.iter().any(|answers| answers.count() > 0) {
            self.heard = self.heard.map(|_| WallInstant::now());
        }
        self.board.add(part);
    }

    /// Looks at every tick that became complete; whether the stop rule is satisfied, or the time is
    /// over.
    fn look(&mut self) -> bool {
        let complete = self.board.complete_ticks();
        if !self.timed || complete == self.looked || complete <= self.quiet {
            return false;
        }
        self.looked = complete;
        let judged = complete - self.quiet;
        let elapsed_ns = judged as u64 * TICK_NS;
        for (index, looks) in self.looks.iter_mut().enumerate() {
            let ticks = self.board.stream(index).ticks(self.quiet..complete);
            let stop = match looks.look(elapsed_ns, &ticks) {
                // Two good looks in a row guard against stopping at a lucky one. Here time is over,
                // whatever was seen, so that one is enough: where the shortest time is the longest,
                // there is no other.
                Some(Stop::NotConverged)
                    if looks.assessment().is_some_and(|seen| seen.satisfies(&self.rule)) =>
                {
                    Some(Stop::Converged)
                }
                stop => stop,
            };
            self.stops[index] = stop.or(self.stops[index]);
        }
        let time_is_over = elapsed_ns as f64 >= self.rule.seconds_max * 1e9;
        // Where what is looked for may come late, a steady rate is no reason to stop.
        if self.bound == CellBound::Drain && judged.is_multiple_of(DRAIN_LOOK_TICKS) {
            let seen = |index| self.board.stream(index).ticks(self.quiet..complete);
            let is_drained = |index| is_drained(&seen(index));
            if (0..self.looks.len()).all(is_drained) {
                return true;
            }
        }
        let may_converge = self.bound == CellBound::Time && !self.is_ramp;
        self.stops.iter().all(Option::is_some) && (may_converge || time_is_over)
    }

    /// Whether the pass is over: by the rule, or because a worker of a timed pass has used up its
    /// bytes and the others would go on without it, with less in flight than was asked for.
    fn is_over(&mut self, someone_is_spent: bool) -> bool {
        let satisfied = self.look();
        let over = satisfied || (self.timed && someone_is_spent);
        if over && self.timed {
            self.spent = !satisfied;
            self.judged = Some(self.board.common_ticks());
        }
        over
    }

    /// Whether the pass ended for want of bytes: some worker's, or all workers' at once.
    fn is_spent(&self) -> bool {
        self.bound == CellBound::Time && (self.spent || self.judged.is_none())
    }

    /// How many ticks make up the pass.
    fn ticks(&self) -> usize {
        match self.judged {
            Some(ticks) => ticks,
            None if self.timed => self.board.common_ticks(),
            None => self.board.complete_ticks(),
        }
    }

    fn live(&self) -> Live {
        let complete = self.board.complete_ticks();
        let window = complete.min(10);
        let per_second = 1e9 / (window.max(1) as u64 * TICK_NS) as f64;
        let (mut iops, mut bytes_per_s) = (0.0, 0.0);
        for index in 0..self.looks.len() {
            for tick in self.board.stream(index).ticks(complete - window..complete) {
                iops += tick.operations as f64 * per_second;
                bytes_per_s += tick.bytes as f64 * per_second;
            }
        }
        let tick_s = TICK_NS as f64 / 1e9;
        Live {
            seconds: complete as f64 * tick_s,
            iops,
            bytes_per_s,
            silent_s: match self.heard {
                Some(heard) => heard.elapsed().as_secs_f64(),
                None => self.board.silent_ticks() as f64 * tick_s,
            },
            errors: self.board.errors(),
        }
    }
}

type Ended = (Instant, Vec<End>);

/// One engine drives all workers, a tick at a time, on this thread: its processor time is the first
/// worker's.
fn shared(
    order: &PassOrder<'_>,
    plans: Vec<(usize, WorkerPlan)>,
    mut engine: Box<dyn Drivable>,
    sink: Sender<TickPart>,
    parts: &Receiver<TickPart>,
    progress: &mut Progress,
    watch: &mut dyn FnMut(Live) -> bool,
) -> Result<Ended, PassError> {
    let stop = AtomicBool::new(false);
    let mut workers: Vec<Worker> = Vec::new();
    for (stream, plan) in &plans {
        let number = usize::from(plan.actor.0);
        let cpu_clock = if number == 0 { order.cpu_clock } else { || 0 };
        let recorder = Recorder::new(*stream, number, TICK_NS, sink.clone(), cpu_clock);
        workers.push(engine.worker(plan, recorder));
    }
    let start = engine.now();
    workers.iter_mut().for_each(|worker| worker.start(start));
    let mut finished = start;
    for tick in 1.. {
        let until = start.after(tick * TICK_NS);
        engine.drive(&mut workers, until, &stop);
        let now = engine.reached();
        finished = now.min(until);
        workers.iter_mut().for_each(|worker| worker.turn_to(now));
        parts.try_iter().for_each(|part| progress.board.add(part));
        let failed = workers.iter().any(|worker| worker.failure().is_some());
        let spent = now < until;
        if !watch(progress.live()) {
            return Err(PassError::Interrupted);
        }
        if progress.is_over(workers.iter().any(Worker::is_spent)) || failed || spent {
            break;
        }
    }
    let in_flight = workers.iter().any(|worker| worker.in_flight() > 0);
    engine.drain(&mut workers);
    // What ends after the time is over counts among the operations, so its time counts, too.
    if in_flight {
        finished = finished.max(engine.now());
    }
    let flush = (order.cell.flush != FinalFlush::None && order.cell.writes()).then(|| {
        let before = engine.now();
        (0, engine.flush().map(|done| done.since(before)))
    });
    let mut flush = flush;
    let mut ends = Vec::new();
    for worker in &mut workers {
        worker.finish();
        let (failure, errors) = (worker.failure(), worker.errors().clone());
        let (flush, engine) = (flush.take(), engine.describe());
        ends.push(End { failure, errors, finished, flush, engine, replayed: None });
    }
    parts.try_iter().for_each(|part| progress.board.add(part));
    Ok((start, ends))
}
