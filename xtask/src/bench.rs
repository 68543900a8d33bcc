//! `cargo xtask bench`: drivelab beside a hand-written loop and fio, in one run, taking turns.
//!
//! It prints what it saw and asserts nothing: on another machine, or a busy one, the numbers
//! differ, and that is no defect. `docs/results/benchmark.md` says how to read them.

mod agreement;
mod bonnie;
mod cache;
mod campaign;
mod case;
mod child;
mod contender;
mod directory;
mod flash;
mod hand;
mod machine;
mod model;
mod paced;
pub mod sample;
mod scratch;
mod serve;

use crate::check::root;
use anyhow::{Context, Result, bail, ensure};
use case::Case;
use contender::{Bench, FILE_BYTES};
use scratch::Scratch;
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// What is measured.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    part: Option<Part>,
    /// a: no device, what one operation costs. b: page cache, pread. c: page cache, io_uring at
    /// depth 32. d: O_DIRECT, depth 1 and 32, rate and processor time. agreement: do drivelab and
    /// fio measure the same? Alternated pairs, read and write. Without a name: a b c d. Needs 3 GiB
    /// free below the target directory and removes what it makes.
    #[arg(value_name = "CASE", value_parser = ["a", "b", "c", "d", "agreement"])]
    cases: Vec<String>,
    /// How long a measurement takes, seconds (2; d and agreement 5).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: Option<u64>,
    /// Measurements of each (7; agreement 12).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=3600))]
    rounds: Option<u16>,
}

/// What is measured apart.
#[derive(clap::Subcommand)]
enum Part {
    /// The method `bonnie` beside Bonnie++ on one loop ext4; as root, ten minutes.
    Bonnie(bonnie::Options),
    /// Accesses a second of the replacement policies of caches, on one core. A minute.
    Cache(cache::Options),
    /// What a task of a campaign on models costs beyond its work, two workers beside one, and a
    /// sweep of ten thousand configurations. Two minutes, and what ten thousand tasks take.
    Campaign(campaign::Options),
    /// Simulated reads and writes per second of a page-mapped drive, its set-up time and its
    /// memory, beside their limits; then the whole method bm-flash on an array of eight drives. Two
    /// minutes.
    Model(model::Options),
    /// Processor time of a managed flash volume in process, on a drive of RAM, beside the drive
    /// alone. Half a minute.
    Flash(flash::Options),
    /// Random writes to a managed volume in a file beside the same to a plain file in the same
    /// directory, by O_DIRECT, in alternated pairs, each with its clean pool. Needs 6 GiB free and
    /// removes what it makes; a minute.
    Directory(directory::Options),
    /// By how much modelled drives on the real clock answer late, at depth 1 and 8.
    Paced(paced::Options),
    /// A served managed volume beside nbdkit and qemu-nbd, under fio's nbd engine.
    Serve(serve::Options),
    /// What the cases start beside drivelab.
    #[command(hide = true)]
    Hand { words: Vec<String> },
}

/// Runs the parts that are named.
pub fn run(options: &Options) -> Result<()> {
    match &options.part {
        Some(Part::Bonnie(options)) => bonnie::run(options),
        Some(Part::Cache(options)) => cache::run(options),
        Some(Part::Campaign(options)) => campaign::run(options),
        Some(Part::Model(options)) => model::run(options),
        Some(Part::Flash(options)) => flash::run(options),
        Some(Part::Directory(options)) => directory::run(options),
        Some(Part::Paced(options)) => paced::run(options),
        Some(Part::Serve(options)) => serve::run(options),
        Some(Part::Hand { words }) => hand::run(words),
        None => run_cases(options),
    }
}

fn run_cases(options: &Options) -> Result<()> {
    child::catch_signals()?;
    let drivelab = build()?;
    let target_directory =
        drivelab.parent().and_then(Path::parent).context("the target directory")?;
    let scratch = Scratch::create(target_directory)?;
    let file = scratch.path().join("written");
    let bench = Bench { file, scratch, drivelab, fio: machine::fio_version() };
    machine::print(&bench)?;
    println!("\nWriting a file of {} MiB ...", FILE_BYTES >> 20);
    scratch::write_file(&bench.file, FILE_BYTES)?;
    for case in options.cases() {
        case.run(&bench, options.seconds.unwrap_or(case.seconds), options.rounds().unwrap_or(7))?;
    }
    if options.cases.iter().any(|name| name == "agreement") {
        agreement::run(&bench, options.seconds.unwrap_or(5), options.rounds().unwrap_or(12))?;
    }
    println!("\nLoad at the end: {}", machine::load());
    Ok(())
}

impl Options {
    /// The cases that are named; all without a name.
    fn cases(&self) -> impl Iterator<Item = &'static Case> {
        let is_wanted = |case: &&Case| {
            self.cases.is_empty() || self.cases.iter().any(|name| name == case.letter)
        };
        case::CASES.iter().filter(is_wanted)
    }

    fn rounds(&self) -> Option<usize> {
        self.rounds.map(usize::from)
    }
}

/// Builds drivelab's release binary; where it is.
fn build() -> Result<PathBuf> {
    println!("cargo build --release --package drivelab");
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(program)
        .args(["build", "--quiet", "--release", "--package", "drivelab"])
        .current_dir(root())
        .status()
        .context("cargo could not be started")?;
    ensure!(status.success(), "drivelab does not build");
    // `target/debug/xtask` took the program beside it, of another profile, for the one just built.
    let own = env::current_exe()?;
    let profile = own.parent().context("the directory of this program")?;
    let drivelab = profile.with_file_name("release").join("drivelab");
    if !drivelab.is_file() {
        bail!("{} is not there: start this by `cargo xtask bench`", drivelab.display());
    }
    Ok(drivelab)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_named_by_letter_and_all_are_meant_by_none() {
        let named = |names: &[&str]| -> Vec<&str> {
            let cases = names.iter().map(|&name| name.to_owned()).collect();
            let options = Options { part: None, cases, seconds: None, rounds: None };
            options.cases().map(|case| case.letter).collect()
        };
        assert_eq!(named(&[]).len(), case::CASES.len());
        assert!(!named(&["b", "agreement"]).is_empty());
        assert!(named(&["b", "agreement"]).iter().all(|&letter| letter == "b"));
        assert!(named(&["agreement"]).is_empty());
    }
}
