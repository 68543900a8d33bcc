//! `cargo xtask bench bonnie`: drivelab's method `bonnie` beside Bonnie++, on one loop ext4, taking
//! turns.
//!
//! ```text
//!   a really written file -> loop device, once                    host::Ledger, put back at the end
//!   for each round, in alternating order, each on an ext4 just made:
//!     bonnie++ -y p     asks before each phase: the cache is emptied there, as the method does
//!     drivelab run      --method bonnie, same bytes, same files
//!   medians, ratios with intervals
//! ```
//!
//! The method is drivelab's own but for the number of seeks. Both sides go through the page cache,
//! so that a file smaller than memory is read from it unless it is emptied of the file before a
//! phase that reads; Bonnie++'s way, a file of twice the memory, takes an hour here.

use super::{
    build, child, machine,
    sample::{Ratio, median},
    scratch::{Scratch, drop_from_cache, write_file},
};
use anyhow::{Context, Result, ensure};
use host::{
    Directory, Ledger, Program, Roots,
    ledger::{Mark, Mounting},
};
use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// The method, and its name with more seeks.
const BONNIE: &str = include_str!("../../../methods/bonnie.toml");
const METHOD: &str = "bonnie-seeks.toml";
/// Of the file that is written and read.
const SIZE_MIB: u64 = 1024;
/// Of 1,024 files: as many as it takes for `stat` to last half a second, below which Bonnie++
/// prints no number.
const KILO_FILES: u64 = 640;
/// Of each of the five seekers, together ten times Bonnie++'s own 8,192: those are over in a
/// quarter of a second at 33,000 a second.
const SEEKS: u64 = 16_384;
const SEEKERS: u64 = 5;
const ROUNDS: u16 = 5;
/// What ext4 takes for itself beside the data: inodes of 256 B, names, journal.
const ROOM_MIB: u64 = 1536;

/// A phase under both names.
struct Phase {
    /// Field of Bonnie++'s CSV (format 1.98) that has its rate: KiB or operations a second.
    field: usize,
    /// Cell of the method.
    cell: &'static str,
    unit: Unit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    KibPerSecond,
    OperationsPerSecond,
}

const PHASES: [Phase; 12] = {
    use Unit::{KibPerSecond as Kib, OperationsPerSecond as Operations};
    const fn phase(field: usize, cell: &'static str, unit: Unit) -> Phase {
        Phase { field, cell, unit }
    }
    [
        phase(9, "put-byte", Kib),
        phase(11, "put-block", Kib),
        phase(13, "rewrite", Kib),
        phase(15, "get-byte", Kib),
        phase(17, "get-block", Kib),
        phase(19, "seeks", Operations),
        phase(26, "sequential-create", Operations),
        phase(28, "sequential-stat", Operations),
        phase(30, "sequential-delete", Operations),
        phase(32, "random-create", Operations),
        phase(34, "random-stat", Operations),
        phase(36, "random-delete", Operations),
    ]
};

/// Bonnie++'s numbers of the phases that read the file: rewrite, bytes, blocks, seeks. It asks
/// under these before each.
const READING: [&str; 4] = ["2", "3", "4", "5"];

/// Rates of the phases, `None` where a phase was too short to say.
type Rates = [Option<f64>; PHASES.len()];

/// What both do, where, and how often.
#[derive(clap::Args)]
pub struct Options {
    /// Where the loop device's file is made; below the target directory if it is not said.
    #[arg(value_name = "DIRECTORY")]
    parent: Option<PathBuf>,
    /// Size of the large file, MiB.
    #[arg(long, value_name = "N", default_value_t = SIZE_MIB)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=4096))]
    size_mib: u64,
    /// Number of small files, in units of 1,024.
    #[arg(long, value_name = "N", default_value_t = KILO_FILES)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=4096))]
    kilo_files: u64,
    /// Turns of each.
    #[arg(long, value_name = "N", default_value_t = ROUNDS)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=4096))]
    rounds: u16,
}

/// Measures, prints, asserts nothing.
pub fn run(options: &Options) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "loop devices and mounts need root");
    ensure!(
        Program::new(["bonnie++"]).is_installed(),
        "bonnie++ is not installed: apt-get install bonnie++"
    );
    child::catch_signals()?;
    let drivelab = build()?;
    let built = drivelab.parent().and_then(Path::parent).context("the target directory")?;
    let scratch = Scratch::create(options.parent.as_deref().unwrap_or(built))?;
    let command = "cargo xtask bench bonnie";
    let ledger = Ledger::create(&Ledger::directory(), command, &Roots::default(), |step| {
        println!("  {step}");
    })?;
    fs::write(scratch.path().join(METHOD), with_more_seeks(BONNIE)?)?;
    let mut volume = LoopFileSystem::new(ledger, &scratch, options)?;
    let outcome = compare(&drivelab, &scratch, &mut volume, options);
    volume.put_back(Mark::START)?;
    outcome
}

/// The method with [`SEEKS`] of each seeker.
fn with_more_seeks(method: &str) -> Result<String> {
    let (own, wanted) = ("\nbound = 1638\n", format!("\nbound = {SEEKS}\n"));
    ensure!(method.matches(own).count() == 1, "the method's seekers have another bound");
    Ok(method.replace(own, &wanted))
}

/// A file system on a loop device, made anew for each turn.
struct LoopFileSystem {
    ledger: Ledger,
    /// With room for either's files.
    device: PathBuf,
    inodes: u64,
    /// Where the mount point is made.
    directory: Directory,
    at: PathBuf,
}

impl LoopFileSystem {
    /// A loop device over a file that was really written: else whoever comes first would pay for
    /// its blocks.
    fn new(mut ledger: Ledger, scratch: &Scratch, options: &Options) -> Result<Self> {
        let (image, at) = (scratch.path().join("image"), scratch.path().join("mount"));
        let mib = options.size_mib + options.kilo_files + ROOM_MIB;
        println!("Writing {mib} MiB in {} ...", scratch.path().display());
        write_file(&image, mib << 20)?;
        let file = OpenOptions::new().read(true).write(true).open(&image)?;
        let device = ledger.loop_device(&file, &image, None)?;
        let directory = Directory::open(scratch.path())?;
        let inodes = options.kilo_files * 1024 + 10_000;
        Ok(Self { ledger, device, inodes, directory, at })
    }

    /// A turn on an ext4 just made, always the same: on one that lives on, each would get the
    /// blocks that the other left, and they need not be as fast. Nothing is discarded, so that the
    /// image keeps its blocks.
    fn turn(&mut self, run: impl FnOnce(&Path) -> Result<Rates>) -> Result<Rates> {
        let (device, inodes) = (self.device.display().to_string(), self.inodes.to_string());
        let eager = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        Program::new(["mkfs.ext4", "-q", "-F", "-E", eager, "-N", &inodes, &device]).run()?;
        let before = self.ledger.mark();
        let how = Mounting { fs: "ext4".to_owned(), options: String::new() };
        let name = self.at.file_name().expect("the mount point has a name");
        self.ledger.new_directory(&self.directory, name)?;
        self.ledger.mount(&self.device, &self.at, &how)?;
        let outcome = run(&self.at);
        self.put_back(before)?;
        outcome
    }

    fn put_back(&mut self, mark: Mark) -> Result<()> {
        let failures = self.ledger.put_back_to(mark);
        ensure!(failures.is_empty(), "{}; then `drivelab restore`", failures[0]);
        Ok(())
    }
}

fn compare(
    drivelab: &Path,
    scratch: &Scratch,
    volume: &mut LoopFileSystem,
    options: &Options,
) -> Result<()> {
    println!(
        "\nA file of {} MiB, {} files, {} rounds. Load {}\n",
        options.size_mib,
        options.kilo_files * 1024,
        options.rounds,
        machine::load()
    );
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        let mut their_turn = |volume: &mut LoopFileSystem| -> Result<()> {
            theirs.push(volume.turn(|at| bonnie(at, options))?);
            Ok(())
        };
        if round % 2 == 0 {
            their_turn(volume)?;
        }
        ours.push(volume.turn(|at| method(drivelab, scratch, at, options))?);
        if round % 2 == 1 {
            their_turn(volume)?;
        }
        println!("\nAfter {} of {} rounds; load {}", round + 1, options.rounds, machine::load());
        print(&ours, &theirs);
    }
    Ok(())
}

fn print(ours: &[Rates], theirs: &[Rates]) {
    println!(
        "{:<20}{:>14}{:>14}{:>8}{:>16}  each round",
        "phase", "drivelab", "bonnie++", "ratio", "95 %"
    );
    for (at, phase) in PHASES.iter().enumerate() {
        let pairs = ours.iter().zip(theirs).filter_map(|(our, their)| our[at].zip(their[at]));
        let (our, their): (Vec<f64>, Vec<f64>) = pairs.unzip();
        if our.is_empty() {
            println!("{:<20}{:>14}{:>14}", phase.cell, "too short", "too short");
            continue;
        }
        let ratio = Ratio::of(&our, &their);
        let unit = if phase.unit == Unit::KibPerSecond { "KiB/s" } else { "/s" };
        let each = our.iter().zip(&their).map(|(our, their)| format!("{:.2}", our / their));
        println!(
            "{:<20}{:>14}{:>14}{:>8.2}{:>16}  {}",
            phase.cell,
            format!("{:.0} {unit}", median(&our)),
            format!("{:.0} {unit}", median(&their)),
            ratio.mean,
            format!("{:.2}-{:.2}", ratio.low, ratio.high),
            each.collect::<Vec<_>>().join(" ")
        );
    }
}

/// One turn of drivelab.
fn method(drivelab: &Path, scratch: &Scratch, at: &Path, options: &Options) -> Result<Rates> {
    let json = scratch.path().join("record.json");
    let mut command = Command::new(drivelab);
    command.args(["run", "--quiet", "--passes", "1", "--yes", "--method"]);
    command.arg(scratch.path().join(METHOD));
    command.arg(format!("--size={}M", options.size_mib));
    command.arg(format!("--set=files={}", options.kilo_files * 1024));
    command.arg(format!("--json={}", json.display()));
    command.arg(format!("--store={}", scratch.path().join("store").display()));
    let status = child::wait_for(command.arg(at).stdout(Stdio::null()))?;
    ensure!(status.success(), "drivelab run ended with {status}");
    let record: serde_json::Value = serde_json::from_reader(File::open(&json)?)?;
    rates_of_record(&record)
}

fn rates_of_record(record: &serde_json::Value) -> Result<Rates> {
    let cells = record["cells"].as_array().context("a record has cells")?;
    let mut rates = [None; PHASES.len()];
    for (rate, phase) in rates.iter_mut().zip(&PHASES) {
        let cell = cells.iter().find(|cell| cell["name"] == phase.cell);
        let cell = cell.with_context(|| format!("no cell {}", phase.cell))?;
        *rate = match phase.unit {
            Unit::KibPerSecond => cell["bytes_per_s"].as_f64().map(|bytes| bytes / 1024.0),
            Unit::OperationsPerSecond => cell["iops"].as_f64(),
        };
    }
    Ok(rates)
}

/// One turn of Bonnie++.
fn bonnie(at: &Path, options: &Options) -> Result<Rates> {
    child::go_on()?;
    let mut command = Command::new("bonnie++");
    // It wants to be told twice that root is meant, and half the size as the memory.
    command.args(["-q", "-y", "p", "-u", "root"]).arg("-d").arg(at);
    let size = format!("{}:8192:{}:{SEEKERS}", options.size_mib, SEEKS * SEEKERS);
    command.args(["-s", &size, "-r", &(options.size_mib / 2).to_string()]);
    command.args(["-n", &options.kilo_files.to_string()]);
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("bonnie++ could not be started")?;
    let printed = converse(&mut process, at);
    if printed.is_err() {
        let _ = process.kill();
    }
    let status = process.wait()?;
    child::go_on()?;
    let printed = printed?;
    ensure!(status.success(), "bonnie++ ended with {status}");
    rates_of_csv(&printed.context("bonnie++ printed no line of CSV")?)
}

/// Answers Bonnie++'s questions to its end; its line of CSV.
fn converse(process: &mut Child, at: &Path) -> Result<Option<String>> {
    let mut answers = process.stdin.take().expect("it is piped");
    let mut printed = None;
    for line in BufReader::new(process.stdout.take().expect("it is piped")).lines() {
        let line = line?;
        if let Some(phase) = line.strip_suffix(':') {
            if READING.contains(&phase) {
                empty_cache(at)?;
            }
            answers.write_all(b"\n")?;
            answers.flush()?;
        } else if line.starts_with("1.98,") {
            printed = Some(line);
        }
    }
    Ok(printed)
}

/// Takes Bonnie++'s files out of the page cache; it flushed them before it asked.
fn empty_cache(at: &Path) -> Result<()> {
    for entry in fs::read_dir(at)? {
        let path = entry?.path();
        if path.is_file() {
            drop_from_cache(&path)?;
        }
    }
    Ok(())
}

/// `+++++` is a phase of under half a second.
fn rates_of_csv(line: &str) -> Result<Rates> {
    let fields: Vec<&str> = line.split(',').collect();
    let mut rates = [None; PHASES.len()];
    for (rate, phase) in rates.iter_mut().zip(&PHASES) {
        let field = fields.get(phase.field).copied().unwrap_or_default();
        *rate = match field {
            "+++++" => None,
            number => Some(number.parse().with_context(|| format!("{} in {line}", phase.cell))?),
        };
    }
    Ok(rates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rate_of_bonnies_line_is_found_under_its_phase() {
        // As Bonnie++ 2.00a prints it, with the number of directories a field late.
        let line = "1.98,2.00a,vm,1,1795339716,1G,,8192,5,1274,74,800000,24,109277,24,2529,22,300000,30,9581,111,\
                    640,,,,,30001,1,+++++,+++,30003,3,30004,4,30005,5,30006,6,1017ms,310us,3155us,984ms,5214us,12782us,\
                    5263us,4221us,2655us,5504us,4708us,3862us";
        let rates = rates_of_csv(line).expect("a line");
        let expected = [
            Some(1274.0),
            Some(800_000.0),
            Some(109_277.0),
            Some(2529.0),
            Some(300_000.0),
            Some(9581.0),
            Some(30001.0),
            None,
            Some(30003.0),
            Some(30004.0),
            Some(30005.0),
            Some(30006.0),
        ];
        assert_eq!(rates, expected);
        assert!(rates_of_csv("1.98,2.00a,vm").is_err());
    }

    #[test]
    fn the_method_seeks_more_and_is_the_same_else() {
        let more = with_more_seeks(BONNIE).expect("it has seekers");
        let changed = BONNIE.lines().zip(more.lines()).filter(|(own, other)| own != other);
        assert_eq!(changed.collect::<Vec<_>>(), [("bound = 1638", "bound = 16384")]);
    }
}
