//! Crash campaigns for as long as one likes: every seed a volume of its own, every violation with
//! the command that replays it.

mod tasks;

use anyhow::{Context, Result, bail};
use crash::{Pace, Prologue, Scenario, Tally, campaign, sequences};
use std::{
    cell::RefCell,
    panic,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Crash points of one seed: a few thousand, so that a replay takes seconds.
const POINTS: u64 = 4_000;
/// How often the tally is printed while it grows.
const REPORT_EVERY: Duration = Duration::from_secs(60);

/// What is tried, and for how long.
#[derive(clap::Args)]
pub struct Options {
    /// For how many minutes.
    #[arg(value_name = "MINUTES")]
    #[arg(required_unless_present_any = ["replay", "sequences", "campaign"])]
    minutes: Option<f64>,
    /// The first seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How many seeds run side by side.
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// One seed again, alone, until it panics where it did.
    #[arg(long, value_name = "SEED", conflicts_with_all = ["minutes", "sequences"])]
    replay: Option<u64>,
    /// All sequences of up to N operations (4 takes minutes), one by one and all in flight
    /// together, on a bare drive and with a synchronous ring, cut at every event in every way.
    #[arg(long, value_name = "N", conflicts_with = "minutes")]
    sequences: Option<u32>,
    /// The seeds of a campaign: its file with `[soak]`, or its directory. All that are to be done,
    /// by so many threads; it ends when they are.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["minutes", "sequences", "replay"])]
    campaign: Option<PathBuf>,
    /// Only this task of it.
    #[arg(long, value_name = "K", requires = "campaign")]
    task: Option<u32>,
    /// And every N-th one after it.
    #[arg(long, value_name = "N", requires = "task")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    every: Option<u32>,
    /// Those of it that failed once more.
    #[arg(long, requires = "campaign")]
    again: bool,
}

/// What all threads have come to.
#[derive(Default)]
struct Found {
    tally: Tally,
    /// The commands that replay them.
    violations: Vec<String>,
}

/// `cargo xtask soak`.
pub fn run(options: &Options) -> Result<()> {
    if let Some(seed) = options.replay {
        let scenario = Scenario::of(seed);
        println!("{scenario}");
        println!("{}\nNo violation.", campaign(&scenario, POINTS));
        return Ok(());
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [libc::SIGINT, libc::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("signal handler")?;
    }
    if let Some(place) = &options.campaign {
        let task = options.task.map(|first| (first, options.every));
        let (again, threads) = (options.again, options.threads.into());
        return tasks::run(&tasks::Asked { place, task, again, threads }, &stop);
    }
    let minutes = options.minutes.unwrap_or(f64::INFINITY);
    let sequences = options.sequences.map(all_sequences);
    let begun = Instant::now();
    let first = if sequences.is_some() { 0 } else { options.seed };
    let (next, found) = (AtomicU64::new(first), Mutex::new(Found::default()));
    let is_over = |number: u64| {
        let is_last = sequences.as_ref().is_some_and(|all| number >= all.len() as u64);
        is_last || begun.elapsed().as_secs_f64() >= minutes * 60.0 || stop.load(Ordering::Relaxed)
    };
    keep_panics_quiet();
    let work = || {
        let prologues = [Prologue::default(), Prologue::with_ring()];
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if is_over(number) {
                return;
            }
            match &sequences {
                None => try_seed(number, &found),
                Some(all) => try_sequence(&prologues, all[number as usize], &found),
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads).map(|_| scope.spawn(work)).collect();
        let mut reported = Instant::now();
        while !workers.iter().all(|worker| worker.is_finished()) {
            thread::sleep(Duration::from_millis(200));
            if reported.elapsed() >= REPORT_EVERY {
                reported = Instant::now();
                let found = found.lock().expect("no worker panics with it");
                let (points, violations) = (found.tally.total(), found.violations.len());
                let seconds = begun.elapsed().as_secs();
                println!("{seconds} s: {points} crash points, {violations} violations");
            }
        }
    });
    let found = found.into_inner().expect("no worker panics with it");
    let tried = next.into_inner() - first - options.threads as u64;
    let seconds = begun.elapsed().as_secs_f64();
    match &sequences {
        None => println!("seeds {first} to {}, {seconds:.0} s", first + tried - 1),
        Some(all) => println!("{tried} of {} sequences, {seconds:.0} s", all.len()),
    }
    println!("{}\n{} violations", found.tally, found.violations.len());
    match found.violations.first() {
        Some(violation) => bail!("a violation; replay it with `{violation}`"),
        None => Ok(()),
    }
}

/// A sequence of operations by its length and its number.
#[derive(Clone, Copy)]
struct Sequence {
    length: u32,
    number: u64,
    pace: Pace,
    variant: Variant,
}

/// With the ring or without; also its place in the list of prologues.
#[derive(Clone, Copy, Debug)]
enum Variant {
    Bare,
    Ring,
}

/// Sequences of one operation, of two, ...
fn all_sequences(length: u32) -> Vec<Sequence> {
    let mut all = Vec::new();
    for length in 1..=length {
        for number in 0..sequences(length) {
            for pace in [Pace::OneByOne, Pace::Together] {
                let on = |variant| Sequence { length, number, pace, variant };
                all.extend([Variant::Bare, Variant::Ring].map(on));
            }
        }
    }
    all
}

fn try_sequence(prologues: &[Prologue; 2], of: Sequence, found: &Mutex<Found>) {
    let Sequence { length, number, pace, variant } = of;
    let prologue = &prologues[variant as usize];
    let outcome = panic::catch_unwind(|| prologue.sequence(length, number, pace));
    let name = format!("sequence {number} of {length} operations, {pace:?}, {variant:?}");
    settle(outcome, &name, &format!("cargo xtask soak --sequences {length}"), found);
}

fn try_seed(seed: u64, found: &Mutex<Found>) {
    let scenario = Scenario::of(seed);
    let outcome = panic::catch_unwind(|| campaign(&scenario, POINTS));
    settle(outcome, &scenario.to_string(), &format!("cargo xtask soak --replay {seed}"), found);
}

fn settle(outcome: thread::Result<Tally>, name: &str, replay: &str, found: &Mutex<Found>) {
    let mut found = found.lock().expect("no worker panics with it");
    match outcome {
        Ok(tally) => found.tally.add(&tally),
        Err(_) => {
            println!("VIOLATION, {name}\n  {}\n  replay it with: {replay}", COMPLAINT.take());
            found.violations.push(replay.to_owned());
        }
    }
}

thread_local! {
    static COMPLAINT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A violation is a panic: kept, and told with its seed.
fn keep_panics_quiet() {
    panic::set_hook(Box::new(|info| COMPLAINT.set(info.to_string())));
}
