//! Crash campaigns for as long as one likes: every seed a volume of its own, every violation with the command that
//! replays it.

use anyhow::{Context, Result, bail, ensure};
use flash::crash::{Scenario, Tally, campaign};
use std::{
    cell::RefCell,
    panic,
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

struct Options {
    minutes: f64,
    seed: u64,
    threads: usize,
    replay: Option<u64>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { minutes: 0.0, seed: 1, threads: 1, replay: None };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut number = |what: &str| {
                let text = words.next().with_context(|| format!("{what} needs a number"))?;
                text.parse::<u64>().with_context(|| format!("{what} {text} is not a whole number"))
            };
            match word.as_str() {
                "--seed" => options.seed = number("--seed")?,
                "--threads" => options.threads = number("--threads")?.max(1) as usize,
                "--replay" => options.replay = Some(number("--replay")?),
                minutes => {
                    options.minutes = minutes.parse().with_context(|| {
                        format!("`{minutes}` is neither an option nor a number of minutes")
                    })?;
                }
            }
        }
        ensure!(
            options.replay.is_some() || options.minutes > 0.0,
            "say for how many minutes: cargo xtask soak 10"
        );
        Ok(options)
    }
}

/// What all threads have come to.
#[derive(Default)]
struct Found {
    tally: Tally,
    /// Seeds, and what their volumes did that they must not.
    violations: Vec<(u64, String)>,
}

/// `cargo xtask soak`.
pub fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
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
    let begun = Instant::now();
    let end = begun + Duration::from_secs_f64(options.minutes * 60.0);
    let (next, found) = (AtomicU64::new(options.seed), Mutex::new(Found::default()));
    let is_over = || Instant::now() >= end || stop.load(Ordering::Relaxed);
    keep_panics_quiet();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads)
            .map(|_| {
                scope.spawn(|| {
                    while !is_over() {
                        try_seed(next.fetch_add(1, Ordering::Relaxed), &found);
                    }
                })
            })
            .collect();
        let mut reported = begun;
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
    let last = next.into_inner();
    println!("seeds {} to {}, {:.0} s", options.seed, last - 1, begun.elapsed().as_secs_f64());
    println!("{}", found.tally);
    println!("{} violations", found.violations.len());
    match found.violations.first() {
        Some((seed, _)) => bail!("a violation; replay it with `cargo xtask soak --replay {seed}`"),
        None => Ok(()),
    }
}

fn try_seed(seed: u64, found: &Mutex<Found>) {
    let scenario = Scenario::of(seed);
    let outcome = panic::catch_unwind(|| campaign(&scenario, POINTS));
    let mut found = found.lock().expect("no worker panics with it");
    match outcome {
        Ok(tally) => found.tally.add(&tally),
        Err(_) => {
            let complaint = COMPLAINT.take();
            println!("VIOLATION, {scenario}\n  {complaint}");
            println!("  replay it with: cargo xtask soak --replay {seed}");
            found.violations.push((seed, complaint));
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
