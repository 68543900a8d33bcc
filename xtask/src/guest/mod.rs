//! `cargo xtask guest`: drivelab before real kernels and all kinds of drives, in a guest.
//!
//! ```text
//!   table -> Scenario... --archive--> the guest: run.sh: prepare, command, after, undo
//!                                          | ttyS1, line by line
//!   known, failed, ok <- Seen::faults <- Seen
//! ```
//!
//! All scenarios run in one guest, one after the other, each on drives that are blank at its
//! beginning. docs/guest.md says how to add one.

mod contents;
mod cpio;
mod kernel;
mod machine;
mod scenario;
mod table;

use crate::check::root;
use anyhow::{Context, Result, bail, ensure};
use kernel::Kernel;
use machine::Machine;
use rustix::fs::{FlockOperation, flock};
use scenario::{Scenario, Seen};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
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

struct Options {
    kernel: Kernel,
    only: Vec<String>,
    list: bool,
    program: Option<PathBuf>,
    limit: Duration,
    verbose: bool,
    /// Run this instead of the scenarios.
    command: Option<String>,
}

/// Runs the scenarios in a guest; says why where that cannot be done.
pub fn run(arguments: &[String]) -> Result<()> {
    let options = parse(arguments)?;
    let chosen = chosen(&options)?;
    if options.list {
        for scenario in &chosen {
            let known = scenario.fails_today.map(|point| format!("  fails today: {point}"));
            let (drives, known) = (scenario.drives().join(" "), known.unwrap_or_default());
            println!("{:<34}  {drives}{known}", scenario.name);
        }
        println!("{} scenarios", chosen.len());
        return Ok(());
    }
    let missing: Vec<_> =
        NEEDED.iter().filter(|(program, _)| contents::found(program).is_none()).collect();
    if let Some((program, package)) = missing.first() {
        return skipped(&format!("no {program}: install {package}"));
    }
    fs::create_dir_all(place()).with_context(|| place().display().to_string())?;
    let lock = fs::File::create(place().join("lock")).context("the lock of the guest")?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)
        .context("another `cargo xtask guest` runs here: one after the other")?;
    let package = match options.kernel.fetched() {
        Ok(package) => package,
        Err(error) => return skipped(&format!("no kernel {}: {error:#}", options.kernel.name())),
    };
    let program = match &options.program {
        Some(program) => fs::canonicalize(program).context("--program")?,
        None => built()?,
    };
    let run = place().join("run");
    if run.exists() {
        fs::remove_dir_all(&run).with_context(|| run.display().to_string())?;
    }
    fs::create_dir(&run).with_context(|| run.display().to_string())?;
    let outcome = match &options.command {
        Some(command) => one_command(&package, &program, &options, command),
        None => all(&package, &program, &options, chosen),
    };
    fs::remove_dir_all(&run).with_context(|| run.display().to_string())?;
    outcome
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

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options {
        kernel: Kernel::Six12,
        only: Vec::new(),
        list: false,
        program: None,
        limit: Duration::from_secs(1800),
        verbose: false,
        command: None,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
        match word.as_str() {
            "--kernel" => options.kernel = Kernel::named(value()?)?,
            "--only" => options.only.push(value()?.clone()),
            "--list" => options.list = true,
            "--verbose" => options.verbose = true,
            "--program" => options.program = Some(PathBuf::from(value()?)),
            "--limit" => {
                let seconds = value()?.parse().context("--limit is a number of seconds")?;
                options.limit = Duration::from_secs(seconds);
            }
            "--" => {
                options.command = Some(words.by_ref().cloned().collect::<Vec<_>>().join(" "));
            }
            _ => bail!("`{word}` is unknown; `cargo xtask help` has it"),
        }
    }
    Ok(options)
}

/// Those named, or of which a word is a part of the name; all but the very long without words.
fn chosen(options: &Options) -> Result<Vec<&'static Scenario>> {
    let all = table::all();
    if options.only.is_empty() {
        let is_chosen = |scenario: &&Scenario| options.list || !scenario.by_name;
        return Ok(all.into_iter().filter(is_chosen).collect());
    }
    for only in &options.only {
        let known = all.iter().any(|scenario| scenario.name.contains(only.as_str()));
        ensure!(known, "no scenario's name has `{only}`; `cargo xtask guest --list` has them");
    }
    let is_chosen = |scenario: &&Scenario| {
        options.only.iter().any(|only| match scenario.by_name {
            true => scenario.name == only,
            false => scenario.name.contains(only.as_str()),
        })
    };
    Ok(all.into_iter().filter(is_chosen).collect())
}

fn one_command(
    package: &kernel::Package,
    program: &Path,
    options: &Options,
    command: &str,
) -> Result<()> {
    let archive = place().join("run/root");
    contents::write(&archive, package, program, &[], Some(command))?;
    let mut machine = Machine::start(package, &archive, options.limit, None)?;
    let mut code = None;
    while let Some(line) = machine.line()? {
        match line.strip_prefix("@@ exit ") {
            Some(text) => code = text.trim().parse::<i32>().ok(),
            None => println!("{line}"),
        }
    }
    ensure!(code == Some(0), "the command ended with {code:?}");
    Ok(())
}

#[derive(Default)]
struct Tally {
    ok: usize,
    known: usize,
    mended: Vec<&'static str>,
    failed: Vec<&'static str>,
    skipped: Vec<&'static str>,
}

fn all(
    package: &kernel::Package,
    program: &Path,
    options: &Options,
    chosen: Vec<&'static Scenario>,
) -> Result<()> {
    let began = Instant::now();
    let mut tally = Tally::default();
    let mut scenarios = Vec::new();
    for scenario in chosen {
        match scenario.missing(options.kernel) {
            None => scenarios.push(scenario),
            Some(why) => {
                println!("skipped {}: {why}", scenario.name);
                // What another kernel has is nobody's to install.
                if !why.starts_with("it is for") {
                    tally.skipped.push(scenario.name);
                }
            }
        }
    }
    let archive = place().join("run/root");
    contents::write(&archive, package, program, &scenarios, None)?;
    let mut machine = Machine::start(package, &archive, options.limit, None)?;
    let mut drives = BTreeMap::new();
    let mut waiting = scenarios.iter();
    let mut current: Option<(&Scenario, Seen)> = None;
    let ended = loop {
        let line = match machine.line() {
            Ok(Some(line)) => line,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        if let Some(text) = line.strip_prefix("@@ drive ") {
            let (name, path) = text.split_once('=').unwrap_or((text, ""));
            drives.insert(name.to_owned(), path.to_owned());
        } else if line.starts_with("@@ begin ") {
            if drives.len() < machine::drives().count() && current.is_none() {
                println!("note: of the drives only {} are there", drives.len());
            }
            current = waiting.next().map(|scenario| (*scenario, Seen::default()));
        } else if line == "@@ cut" {
            let number = scenarios.len() - waiting.len() - 1;
            let left = machine.cut();
            machine = Machine::start(package, &archive, left, Some(number))?;
            drives.clear();
        } else if let Some((scenario, seen)) = &mut current
            && seen.take(&line)
        {
            judge(scenario, seen, &drives, options, &mut tally);
        }
    };
    let left = waiting.len();
    if let Err(error) = &ended {
        let during = current.map_or("the start", |(scenario, _)| scenario.name);
        println!("FAILED  in `{during}`: {error:#}");
        tally.failed.push(during);
    }
    println!(
        "{} ok, {} known to fail, {} failed, {} not run; kernel {}, {:.0} s",
        tally.ok,
        tally.known,
        tally.failed.len(),
        left + tally.skipped.len(),
        package.version,
        began.elapsed().as_secs_f64()
    );
    if !tally.mended.is_empty() {
        println!("mended, so take the mark `fails_today` away: {}", tally.mended.join(", "));
    }
    ensure!(tally.failed.is_empty() && left == 0, "failed: {}", tally.failed.join(", "));
    if !tally.skipped.is_empty() {
        skipped(&format!("tools are missing for {}", tally.skipped.join(", ")))?;
    }
    Ok(())
}

fn judge(
    scenario: &Scenario,
    seen: &Seen,
    drives: &BTreeMap<String, String>,
    options: &Options,
    tally: &mut Tally,
) {
    let faults = seen.faults(scenario, drives);
    let seconds = seen.seconds;
    match (faults.is_empty(), scenario.fails_today) {
        (true, None) => {
            println!("ok      {}  {seconds:.1} s", scenario.name);
            tally.ok += 1;
        }
        (true, Some(point)) => {
            println!("mended  {}  {seconds:.1} s, was known to fail: {point}", scenario.name);
            tally.mended.push(scenario.name);
        }
        (false, Some(point)) if !seen.unprepared => {
            println!("known   {}  {seconds:.1} s, fails today: {point}", scenario.name);
            tally.known += 1;
        }
        (false, _) => {
            println!("FAILED  {}  {seconds:.1} s", scenario.name);
            tally.failed.push(scenario.name);
        }
    }
    let is_wrong = tally.failed.last() == Some(&scenario.name);
    if is_wrong || options.verbose {
        for fault in &faults {
            println!("        {fault}");
        }
        for line in &seen.log {
            println!("        | {line}");
        }
    }
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
