//! `cargo xtask bench campaign`: campaigns on modelled drives, as a user starts them.
//!
//! ```text
//!   tasks    200 short tasks by one worker and by two, in turns: cost beyond the work, speed-up
//!   sweep    10,000 configurations once: time, memory, the directory, how fast it is read
//!   merged   sixteen targets as one load: percentiles of all, beside their averages
//! ```
//!
//! The cost of a task beyond its work is what the clock on the wall says: workers times seconds,
//! less what the runner took, over the number of tasks. So the start of the program, the campaign's
//! directory, the answers' way to the drive and the printed result are all in it.

use super::{
    build,
    child::{self, Took},
    machine,
    sample::median,
    scratch::Scratch,
};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Two cells, some milliseconds of work.
const METHOD: &str = "name = \"short\"\ntitle = \"a read and a write cell\"\nabout = \"A bench.\"\n\
                      order = \"fixed\"\nspan = \"16MiB\"\nfill = 1\ngrade = \"quick\"\n\
                      ask_above = 1e9\n[[cell]]\nname = \"reads\"\nop = \"read\"\n\
                      pattern = \"random\"\nblock = \"4KiB\"\n[[cell]]\nname = \"writes\"\n\
                      op = \"write\"\npattern = \"random\"\nblock = \"4KiB\"\n";
/// Ten treatments, twenty times.
const TASKS: &str = "targets = [\"model:{drive}\"]\nmethods = [\"short.toml\"]\nrepetitions = 20\n\
                     [vary]\ndrive = [\"intel-x25e-32\", \"mtron-pro-32\"]\n\
                     [set]\ndepth = [1, 2, 4, 8, 16]\n[run]\nmax_time = \"0.5s\"\n";
/// 100 arrays x 10 depths x 10 block sizes.
const SWEEP: &str = "targets = [\"model:{n}x{drive}/raid0:chunk={chunk}\"]\n\
                     methods = [\"short.toml\"]\n[vary]\nn = [2, 3, 4, 5, 6]\n\
                     drive = [\"intel-x25e-32\", \"mtron-pro-32\", \"intel-x25m-80\", \
                     \"hdd-7200-cmr\"]\nchunk = [\"16K\", \"32K\", \"64K\", \"128K\", \"256K\"]\n\
                     [set]\ndepth = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]\n\
                     block = [\"4K\", \"8K\", \"12K\", \"16K\", \"20K\", \"24K\", \"28K\", \
                     \"32K\", \"48K\", \"64K\"]\n[run]\nmax_time = \"0.5s\"\n";
/// Sixteen targets that begin together, one of them a disk.
const MERGED: &str = "targets = [\"model:{drive}\"]\nmethods = [\"short.toml\"]\n\
                      together = true\n[vary]\ndrive = [\"intel-x25e-32\", \"intel-x25e-64\", \
                      \"samsung-850pro-256\", \"samsung-860pro-512\", \"samsung-980-1000\", \
                      \"samsung-980pro-1000\", \"samsung-960evo-500\", \"samsung-pm9a3-960\", \
                      \"micron-7450pro-960\", \"micron-7450max-800\", \"intel-p4510-1000\", \
                      \"kioxia-cm7r-3840\", \"crucial-mx300-1050\", \"intel-s4610-480\", \
                      \"nvme-tlc\", \"hdd-7200-cmr\"]\n[run]\nmax_time = \"0.5s\"\n";

/// What is measured, and how often.
#[derive(clap::Args)]
pub struct Options {
    /// All three if it is not said.
    #[arg(value_enum)]
    part: Option<Part>,
    /// Rounds of one worker and two.
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// This program instead of the release build.
    #[arg(long, value_name = "FILE")]
    drivelab: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// One worker and two on 200 tasks.
    Tasks,
    /// Ten thousand configurations.
    Sweep,
    /// Sixteen targets as one load.
    Merged,
}

/// Measures, prints, asserts nothing.
pub fn run(options: &Options) -> Result<()> {
    child::catch_signals()?;
    let drivelab = match &options.drivelab {
        Some(named) => fs::canonicalize(named).with_context(|| named.display().to_string())?,
        None => build()?,
    };
    let parent = drivelab.parent().and_then(Path::parent).context("the target directory")?;
    let scratch = Scratch::create(parent)?;
    let bench = Bench { drivelab, place: scratch.path().to_owned() };
    bench.file("short.toml", METHOD)?;
    let is_wanted = |part: Part| options.part.is_none_or(|asked| asked == part);
    println!("Load {}", machine::load());
    if is_wanted(Part::Tasks) {
        tasks(&bench, options.rounds)?;
    }
    if is_wanted(Part::Sweep) {
        sweep(&bench)?;
    }
    if is_wanted(Part::Merged) {
        merged(&bench)?;
    }
    println!("\nLoad {}", machine::load());
    Ok(())
}

struct Bench {
    drivelab: PathBuf,
    place: PathBuf,
}

/// What the tasks of a campaign came to.
struct Campaign {
    took: Took,
    tasks: f64,
    work_seconds: f64,
}

impl Bench {
    fn file(&self, name: &str, text: &str) -> Result<()> {
        fs::write(self.place.join(name), text).with_context(|| name.to_owned())
    }

    /// Runs drivelab; what it prints goes where `stdout` says.
    fn call(&self, words: &[&str], stdout: Stdio) -> Result<Took> {
        let mut command = Command::new(&self.drivelab);
        command.arg("campaign").args(words).current_dir(&self.place).stdout(stdout);
        let (status, took) = child::measured(&mut command)?;
        ensure!(status.success(), "drivelab campaign {} ended with {status}", words.join(" "));
        Ok(took)
    }

    /// A campaign of a file, in `c.campaign`, which stays until the next one.
    fn campaign(&self, file: &str, workers: u16) -> Result<Campaign> {
        let directory = self.place.join("c.campaign");
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        let workers = workers.to_string();
        let words = [file, "--directory", "c.campaign", "--workers", &workers, "--quiet"];
        let took = self.call(&words, Stdio::null())?;
        let (mut tasks, mut work_seconds) = (0.0, 0.0);
        for entry in fs::read_dir(directory.join("results"))? {
            let answer: Value = serde_json::from_str(&fs::read_to_string(entry?.path())?)?;
            work_seconds += answer["work_seconds"].as_f64().context("an answer's work")?;
            tasks += 1.0;
        }
        Ok(Campaign { took, tasks, work_seconds })
    }
}

impl Campaign {
    fn beyond_ms(&self, workers: u16) -> f64 {
        (self.took.seconds * f64::from(workers) - self.work_seconds) / self.tasks * 1e3
    }
}

fn tasks(bench: &Bench, rounds: u16) -> Result<()> {
    bench.file("tasks.toml", TASKS)?;
    println!("\n200 tasks of two short cells, {rounds} rounds in turns\n");
    println!(
        "{:<10}{:>9}{:>10}{:>10}{:>13}{:>10}",
        "workers", "s", "tasks/s", "work ms", "beyond ms", "CPU ms"
    );
    let mut seen: [Vec<Campaign>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for workers in [1, 2] {
            seen[usize::from(workers) - 1].push(bench.campaign("tasks.toml", workers)?);
        }
    }
    let of = |workers: u16, what: &dyn Fn(&Campaign) -> f64| {
        let values: Vec<f64> = seen[usize::from(workers) - 1].iter().map(what).collect();
        median(&values)
    };
    for workers in [1, 2] {
        println!(
            "{workers:<10}{:>9.2}{:>10.1}{:>10.2}{:>13.2}{:>10.2}",
            of(workers, &|it| it.took.seconds),
            of(workers, &|it| it.tasks / it.took.seconds),
            of(workers, &|it| it.work_seconds / it.tasks * 1e3),
            of(workers, &|it| it.beyond_ms(workers)),
            of(workers, &|it| it.took.cpu_seconds / it.tasks * 1e3),
        );
    }
    let pairs = seen[0].iter().zip(&seen[1]);
    let ratios: Vec<f64> = pairs.map(|(one, two)| one.took.seconds / two.took.seconds).collect();
    println!("\nTwo workers are {:.2} times as fast as one (median of pairs).", median(&ratios));
    Ok(())
}

fn sweep(bench: &Bench) -> Result<()> {
    bench.file("sweep.toml", SWEEP)?;
    println!("\n10,000 configurations of modelled arrays, two workers\n");
    let planned = bench.call(&["sweep.toml", "--dry-run"], Stdio::null())?;
    println!("{:<26}{:>10.2} s{:>10.0} MiB", "plan", planned.seconds, planned.resident_mib);
    let run = bench.campaign("sweep.toml", 2)?;
    ensure!(run.tasks == 10_000.0, "{} tasks have a result", run.tasks);
    let shown = |name: &str, took: &Took| {
        println!("{name:<26}{:>10.2} s{:>10.0} MiB", took.seconds, took.resident_mib);
    };
    shown("all tasks", &run.took);
    println!(
        "{:<26}{:>9.2} ms, {:.2} ms beyond it",
        "a task's work",
        run.work_seconds / run.tasks * 1e3,
        run.beyond_ms(2)
    );
    let html = bench.place.join("page.html").display().to_string();
    let reads: [(&str, &[&str]); 4] = [
        ("status", &["status", "c.campaign"]),
        ("result", &["result", "c.campaign"]),
        ("result, a page", &["result", "c.campaign", "--html", &html]),
        ("resume, nothing to do", &["resume", "c.campaign", "--quiet"]),
    ];
    for (name, words) in reads {
        shown(name, &bench.call(words, Stdio::null())?);
    }
    let (files, bytes, used) = size(&bench.place.join("c.campaign"))?;
    println!(
        "{:<26}{files} files, {:.1} MB, {:.1} MB on the drive",
        "its directory",
        bytes as f64 / 1e6,
        used as f64 / 1e6
    );
    Ok(())
}

/// Files below a directory, their bytes, and those of the blocks that they take up.
fn size(place: &Path) -> Result<(u64, u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let mut sum = (0, 0, 0);
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        if meta.is_dir() {
            let below = size(&entry.path())?;
            sum = (sum.0 + below.0, sum.1 + below.1, sum.2 + below.2);
        }
        sum.2 += meta.blocks() * 512;
        if meta.is_file() {
            sum = (sum.0 + 1, sum.1 + meta.len(), sum.2);
        }
    }
    Ok(sum)
}

fn merged(bench: &Bench) -> Result<()> {
    bench.file("merged.toml", MERGED)?;
    println!("\nSixteen modelled targets as one load\n");
    bench.campaign("merged.toml", 2)?;
    bench.call(&["result", "c.campaign", "--merged"], Stdio::inherit())?;
    Ok(())
}
