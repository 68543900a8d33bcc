//! `cargo xtask guest`: drivelab before real kernels and all kinds of drives, in a guest.
//!
//! ```text
//!   table -> Scenario... --archive--> guests: run.sh: prepare, command, after, undo
//!                                          | ttyS1, line by line
//!   known, failed, ok <- Seen::faults <- Seen
//! ```
//!
//! Guests run side by side and take scenarios from one queue; each scenario has drives that are
//! blank at its beginning. docs/reference/guest.md says how to add one.

mod contents;
mod cpio;
mod guests;
mod kernel;
mod machine;
mod options;
mod outcome;
mod page;
mod scenario;
mod setup;
mod table;

use crate::check::root;
use anyhow::{Context, Result, ensure};
use contents::Errand;
use guests::{News, Queue};
pub use kernel::Kernel;
use machine::Parts;
pub use options::Options;
use outcome::{Tally, Verdict};
use rustix::fs::{FlockOperation, flock};
use scenario::Scenario;
pub use setup::{Setup, Trial, setup};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Instant,
};

/// Programs without which there is no guest, and Debian's packages of them.
const NEEDED: &[(&str, &str)] = &[
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("bash", "bash"),
    ("modprobe", "kmod"),
    ("depmod", "kmod"),
    ("xz", "xz-utils"),
    ("ldd", "libc-bin"),
    ("setpriv", "util-linux"),
    ("apt-get", "apt"),
    ("dpkg", "dpkg"),
];

/// Runs the scenarios in a guest; says why where that cannot be done.
pub fn run(options: &Options) -> Result<()> {
    let chosen = options.chosen()?;
    if options.list {
        for scenario in &chosen {
            let known = scenario.fails_today.map(|point| format!("  fails today: {point}"));
            let (drives, known) = (scenario.drives().join(" "), known.unwrap_or_default());
            println!("{:<34}  {drives}{known}", scenario.name);
        }
        println!("{} scenarios", chosen.len());
        return Ok(());
    }
    if options.fetch {
        let _lock = locked()?;
        let package = options.kernel.fetched();
        let package = package.with_context(|| format!("no kernel {}", options.kernel.name()))?;
        println!("kernel {} is there", package.version);
        return Ok(());
    }
    let Some(setup) = setup(options.kernel, options.program.as_deref())? else { return Ok(()) };
    match options.command() {
        Some(script) => {
            let trial =
                Trial { script: &script, files: &[], served: Vec::new(), limit: options.limit() };
            setup.command(&trial, |line| println!("{line}"))
        }
        None => all(&setup.package, &setup.program, options, chosen),
    }
}

/// Nobody else uses the rig as long as this is open.
fn locked() -> Result<fs::File> {
    fs::create_dir_all(place()).with_context(|| place().display().to_string())?;
    let lock = fs::File::create(place().join("lock")).context("the lock of the guest")?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)
        .context("another `cargo xtask guest` or `kernel` runs here: one after the other")?;
    Ok(lock)
}

/// Where the rig keeps what it fetched and makes.
fn place() -> PathBuf {
    target_directory().join("guest")
}

fn target_directory() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn skipped(why: &str) -> Result<()> {
    ensure!(env::var_os("DRIVELAB_NO_SKIP").is_none(), "the guest cannot be had: {why}");
    println!("skipped: {why}");
    Ok(())
}

/// What so many machines are made of. One alone gets two processors.
fn parts<'a>(
    kernel: &'a kernel::Package,
    archive: &'a Path,
    options: &Options,
    guests: usize,
) -> Vec<Parts<'a>> {
    let ends = Instant::now() + options.limit();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let processors = (cores / guests.max(1)).clamp(1, 2);
    let directory = |guest| place().join(format!("run/{guest}"));
    let of = |guest| {
        let directory = directory(guest);
        Parts { served: Vec::new(), kernel, archive, directory, processors, ends }
    };
    (0..guests).map(of).collect()
}

fn all(
    package: &kernel::Package,
    program: &Path,
    options: &Options,
    chosen: Vec<&'static Scenario>,
) -> Result<()> {
    let began = Instant::now();
    let (mut tally, mut cells) = (Tally::default(), BTreeMap::new());
    let mut scenarios = Vec::new();
    for scenario in chosen {
        if let Some(why) = scenario.not_in(options.kernel) {
            println!("not for this kernel: {}: {why}", scenario.name);
            tally.not_there += 1;
            cells.insert(scenario.name, format!("not there: {why}"));
        } else if let Some(why) = scenario.missing() {
            println!("skipped {}: {why}", scenario.name);
            tally.skipped.push(scenario.name);
        } else {
            scenarios.push(scenario);
        }
    }
    let guests = options.guests().min(scenarios.len());
    let mut left = turn(package, program, options, in_turn(scenarios), &mut tally, &mut cells)?;
    // An emulated processor on a busy machine may be too slow once; what is wrong is not asked
    // twice.
    if options.quick && left == 0 && !tally.late.is_empty() {
        let late = std::mem::take(&mut tally.late);
        let names: Vec<_> = late.iter().map(|scenario| scenario.name).collect();
        println!("out of time, so once more: {}", names.join(", "));
        tally.ended.retain(|(scenario, _)| !names.contains(&scenario.name));
        left = turn(package, program, options, late, &mut tally, &mut cells)?;
    }
    let sum = format!(
        "{}; Linux {}, {guests} guests, {:.0} s",
        tally.sum(left),
        package.version,
        began.elapsed().as_secs_f64()
    );
    println!("{sum}");
    if options.write {
        let version = format!("Linux {}", package.version);
        page::write(&root(), &page::Column { kernel: options.kernel, version, cells })?;
    }
    let mended = tally.names(Verdict::Mended);
    if !mended.is_empty() {
        println!("mended, so take the mark `fails_today` away: {}", mended.join(", "));
    }
    let failed = tally.names(Verdict::Failed);
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    ensure!(tally.lost == 0 && left == 0, "{} guests were lost, {left} not run", tally.lost);
    if !tally.skipped.is_empty() {
        skipped(&format!("tools are missing for {}", tally.skipped.join(", ")))?;
    }
    Ok(())
}

/// Runs scenarios in guests side by side; how many were not begun.
fn turn(
    package: &kernel::Package,
    program: &Path,
    options: &Options,
    scenarios: Vec<&'static Scenario>,
    tally: &mut Tally,
    cells: &mut BTreeMap<&'static str, String>,
) -> Result<usize> {
    let archive = place().join("run/root");
    contents::write(&archive, package, program, &Errand::Scenarios(&scenarios))?;
    let guests = options.guests().min(scenarios.len());
    let queue = Queue::new(scenarios);
    guests::run(&queue, &parts(package, &archive, options, guests), |news| match news {
        News::Note(note) => println!("note: {note}"),
        News::Lost(why) => {
            println!("FAILED  a guest: {why}");
            tally.lost += 1;
        }
        News::Ended { scenario, seen, faults } => {
            let verdict = Verdict::of(scenario, &seen, &faults);
            println!("{}", verdict.line(scenario, &seen));
            if verdict == Verdict::Failed || options.verbose {
                faults.iter().for_each(|fault| println!("        {fault}"));
                seen.log.iter().for_each(|line| println!("        | {line}"));
            }
            if verdict == Verdict::Failed && seen.is_late(scenario) {
                tally.late.push(scenario);
            }
            cells.insert(scenario.name, verdict.cell(scenario, seen.seconds));
            tally.ended.push((scenario, verdict));
        }
    });
    Ok(queue.left())
}

/// The longest first, so that no guest is busy for long after the others; what takes a drive away
/// comes last.
fn in_turn(mut scenarios: Vec<&'static Scenario>) -> Vec<&'static Scenario> {
    scenarios.sort_by_key(|scenario| {
        let takes_a_drive = scenario.drives().contains(&"SPARE");
        (takes_a_drive, std::cmp::Reverse(scenario.limit_s))
    });
    scenarios
}

fn built() -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--package", "drivelab"])
        .current_dir(root())
        .status()
        .context("cargo could not be started")?;
    ensure!(built.success(), "the program is not built");
    Ok(target_directory().join("debug/drivelab"))
}
