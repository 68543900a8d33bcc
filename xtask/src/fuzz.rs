//! The fuzz targets of `fuzz/`, built by the pinned toolchain and run for a while: what cargo-fuzz
//! does, without a nightly toolchain and without anything installed.
//!
//! ```text
//!   fuzz/Cargo.toml -> all targets in one build, with coverage counters -> target/fuzz
//!   fuzz/corpus/T + files of the repository -> T for N seconds -> target/fuzz/corpus/T: what it
//! learned
//!                                                 a finding -> target/fuzz/artifacts/T-crash-...
//! ```

mod seeds;

use anyhow::{Context, Result, bail, ensure};
use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Seconds that each target runs when nobody says.
const SECONDS: u64 = 10;
/// An input that takes longer is a finding. One that says a volume of terabytes takes seconds on a
/// busy machine: what is compared is counted.
const TIMEOUT_S: u64 = 60;
/// More memory is a finding: what the targets open is small.
const MEMORY_MIB: u64 = 1024;
/// What libFuzzer ends with after a signal (`-interruption_exitcode`).
const INTERRUPTED: i32 = 72;
/// How often a running target is looked at.
const PAUSE: Duration = Duration::from_millis(50);
/// A target that goes on so long after its time hangs where its own watch does not see it.
const PATIENCE: Duration = Duration::from_secs(60);
/// Lines of a target's output that are shown with its finding.
const LINES_SHOWN: usize = 40;

/// Memory that an input gave back is kept for the next one (mallopt(3)). To have it from the kernel
/// again took four fifths of the time of the targets that open a volume for every input.
const KEEP_MEMORY: [(&str, &str); 2] =
    [("MALLOC_MMAP_THRESHOLD_", "33554432"), ("MALLOC_TRIM_THRESHOLD_", "268435456")];

/// What the compiler is told: cargo-fuzz's essentials. They work on a stable toolchain; the address
/// sanitizer does not.
const FLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];
const FLAGS_OF_NIGHTLY: &[&str] = &["-Zsanitizer=address"];

/// What is built, and how long each target runs.
#[derive(clap::Args)]
pub struct Options {
    /// These alone.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// How long each target runs, seconds.
    #[arg(long, value_name = "N", default_value_t = SECONDS)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// How many run side by side.
    #[arg(long, value_name = "N", default_value_t = processors())]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
    /// Runs none.
    #[arg(long)]
    build_only: bool,
    /// Keeps in fuzz/corpus the fewest small inputs that reach what all known ones reach.
    #[arg(long, conflicts_with = "build_only")]
    minimise: bool,
}

fn processors() -> u16 {
    thread::available_parallelism().map_or(1, |count| count.get() as u16)
}

impl Options {
    /// The targets that are named, of `all`; all without a name.
    fn chosen(&self, all: &[String]) -> Result<Vec<String>> {
        if let Some(name) = self.targets.iter().find(|name| !all.contains(name)) {
            bail!("there is no fuzz target `{name}`: there are {}", all.join(", "));
        }
        Ok(if self.targets.is_empty() { all.to_vec() } else { self.targets.clone() })
    }
}

/// Where everything is.
struct Places {
    root: PathBuf,
    /// Of the builds, corpora and findings.
    output: PathBuf,
    triple: String,
}

impl Places {
    fn new(triple: String) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root");
        Self { root: root.to_owned(), output: root.join("target/fuzz"), triple }
    }

    fn manifest(&self) -> PathBuf {
        self.root.join("fuzz/Cargo.toml")
    }

    fn program(&self, target: &str) -> PathBuf {
        self.output.join(&self.triple).join("fuzz").join(target)
    }

    /// The corpus that the repository keeps.
    fn kept(&self, target: &str) -> PathBuf {
        self.root.join("fuzz/corpus").join(target)
    }

    fn learned(&self, target: &str) -> PathBuf {
        self.output.join("corpus").join(target)
    }

    fn seeds(&self, target: &str) -> PathBuf {
        self.output.join("seeds").join(target)
    }

    /// What the name of a finding begins with.
    fn artifacts(&self, target: &str) -> PathBuf {
        self.output.join("artifacts").join(format!("{target}-"))
    }

    fn log(&self, target: &str) -> PathBuf {
        self.output.join("logs").join(format!("{target}.log"))
    }
}

/// `cargo xtask fuzz`.
pub fn run(options: &Options) -> Result<()> {
    let (triple, channel) = compiler()?;
    let places = Places::new(triple);
    let chosen = options.chosen(&targets(&places)?)?;
    build(&places, &chosen, channel)?;
    if options.minimise {
        return chosen.iter().try_for_each(|target| minimise(&places, target));
    }
    if options.build_only { Ok(()) } else { run_all(&places, options, &chosen) }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Channel {
    Stable,
    Nightly,
}

/// The host's triple, and whether the compiler takes flags of a nightly.
fn compiler() -> Result<(String, Channel)> {
    let output = Command::new("rustc").arg("-vV").output().context("cannot run rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let triple = line("host:").context("`rustc -vV` names no host")?.to_owned();
    let release = line("release:").unwrap_or_default();
    let is_nightly = release.contains("nightly") || release.contains("dev");
    Ok((triple, if is_nightly { Channel::Nightly } else { Channel::Stable }))
}

/// The names of all targets, as `fuzz/Cargo.toml` has them.
fn targets(places: &Places) -> Result<Vec<String>> {
    let output = Command::new(cargo())
        .args(["metadata", "--no-deps", "--format-version=1", "--locked", "--manifest-path"])
        .arg(places.manifest())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata of fuzz/Cargo.toml failed");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let binaries = metadata["packages"][0]["targets"].as_array().into_iter().flatten();
    let is_binary = |target: &&serde_json::Value| target["kind"][0] == "bin";
    let name = |target: &serde_json::Value| target["name"].as_str().map(str::to_owned);
    let mut names: Vec<String> = binaries.filter(is_binary).filter_map(name).collect();
    names.sort();
    Ok(names)
}

fn cargo() -> std::ffi::OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// All wanted targets in one call, so that what they share is built once.
fn build(places: &Places, chosen: &[String], channel: Channel) -> Result<()> {
    let mut flags = FLAGS.to_vec();
    if channel == Channel::Nightly {
        flags.extend(FLAGS_OF_NIGHTLY);
    }
    let begun = Instant::now();
    let mut command = Command::new(cargo());
    command.args(["build", "--profile=fuzz", "--locked", "--manifest-path"]);
    command.arg(places.manifest()).arg("--target-dir").arg(&places.output);
    // With a target named, build scripts and macros are not counted.
    command.arg(format!("--target={}", places.triple));
    command.args(chosen.iter().map(|target| format!("--bin={target}")));
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")).env_remove("RUSTFLAGS");
    let status = command.status().context("cannot run cargo build")?;
    ensure!(status.success(), "the fuzz targets do not build");
    println!("built {} fuzz targets in {} s", chosen.len(), begun.elapsed().as_secs());
    Ok(())
}

/// Every target for its seconds, some at a time; all of them, whatever the others find.
fn run_all(places: &Places, options: &Options, chosen: &[String]) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [libc::SIGINT, libc::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("signal handler")?;
    }
    let (next, findings) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..usize::from(options.jobs).min(chosen.len()) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let target = chosen.get(number);
                    let Some(target) = target.filter(|_| !stop.load(Ordering::Relaxed)) else {
                        return;
                    };
                    if let Err(error) = fuzz(places, target, options.seconds, &stop) {
                        let mut findings = findings.lock().expect("no thread panics with it");
                        findings.push(format!("{target}: {error:#}"));
                    }
                }
            });
        }
    });
    let findings = findings.into_inner().expect("no thread panics with it");
    if findings.is_empty() {
        return Ok(());
    }
    bail!("{} of the fuzz targets found something:\n{}", findings.len(), findings.join("\n"))
}

/// One target for so many seconds, from what is known already.
fn fuzz(places: &Places, target: &str, seconds: u64, stop: &AtomicBool) -> Result<()> {
    seeds::write(&places.root, target, &places.seeds(target))?;
    let artifacts = places.artifacts(target);
    let log = places.log(target);
    for directory in [&artifacts, &log].map(|path| path.parent().expect("it was joined")) {
        fs::create_dir_all(directory)?;
    }
    fs::create_dir_all(places.learned(target))?;
    let output = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut command = Command::new(places.program(target));
    // The first is written to, the others are read.
    command.args(corpora(places, target));
    command.arg(format!("-max_total_time={seconds}"));
    command.args([format!("-timeout={TIMEOUT_S}"), format!("-rss_limit_mb={MEMORY_MIB}")]);
    command.args(["-print_final_stats=1", "-reload=0", "-verbosity=1"]);
    command.arg(format!("-artifact_prefix={}", artifacts.display()));
    command.envs(KEEP_MEMORY);
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    let status = wait(&mut command, Duration::from_secs(seconds) + PATIENCE, stop)?;
    let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    if status.success() || (stop.load(Ordering::Relaxed) && status.code() == Some(INTERRUPTED)) {
        println!("{}", summary(target, &text));
        return Ok(());
    }
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n  ");
    let input = artifact(&text).unwrap_or("an input that it did not keep");
    bail!(
        "{status}\n  {tail}\n  artifact: {input}\n  again with: {} {input}\n  log: {}",
        places.program(target).display(),
        log.display()
    )
}

fn corpora(places: &Places, target: &str) -> Vec<PathBuf> {
    let mut directories = vec![places.learned(target), places.seeds(target)];
    directories.extend(Some(places.kept(target)).filter(|kept| kept.is_dir()));
    directories
}

/// Waits for the end, and ends what goes on too long.
fn wait(command: &mut Command, longest: Duration, stop: &AtomicBool) -> Result<ExitStatus> {
    let program = command.get_program().to_owned();
    let mut child = command.spawn().with_context(|| format!("cannot start {program:?}"))?;
    let begun = Instant::now();
    let mut is_told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if begun.elapsed() > longest {
            child.kill()?;
            child.wait()?;
            bail!("it did not end by itself: an input hangs it");
        }
        if stop.load(Ordering::Relaxed) && !is_told {
            // Ctrl-C in a terminal has reached it already; twice does no harm.
            let pid = rustix::process::Pid::from_child(&child);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
            is_told = true;
        }
        thread::sleep(PAUSE);
    }
}

/// Where libFuzzer says that it put the input of a finding.
fn artifact(log: &str) -> Option<&str> {
    log.lines()
        .rev()
        .find_map(|line| line.split_once("Test unit written to "))
        .map(|(_, path)| path)
}

/// `flash_chunk: 12345 inputs, 1234 a second, 812 counters reached, 57 MiB`.
fn summary(target: &str, log: &str) -> String {
    let stat = |key: &str| {
        let line = log.lines().rev().find(|line| line.starts_with(key));
        line.and_then(|line| line.rsplit(' ').next()).unwrap_or("?")
    };
    let reached = log.lines().rev().find_map(|line| line.split_once("cov: "));
    let reached = reached.and_then(|(_, rest)| rest.split(' ').next()).unwrap_or("?");
    format!(
        "{target}: {} inputs, {} a second, {reached} counters reached, {} MiB, no finding",
        stat("stat::number_of_executed_units"),
        stat("stat::average_exec_per_sec"),
        stat("stat::peak_rss_mb")
    )
}

/// Longest input that the repository keeps, and all of a target together, bytes.
const KEPT_BYTES_MAX: usize = 4096;
const KEPT_BYTES_ALL: usize = 48 << 10;

/// The fewest inputs that reach what all reach, the shortest first; those that are seeds are not
/// kept twice.
fn minimise(places: &Places, target: &str) -> Result<()> {
    let (kept, fresh) = (places.kept(target), places.output.join("merged").join(target));
    let _ = fs::remove_dir_all(&fresh);
    fs::create_dir_all(&fresh)?;
    seeds::write(&places.root, target, &places.seeds(target))?;
    let mut command = Command::new(places.program(target));
    command.arg("-merge=1").arg(format!("-timeout={TIMEOUT_S}")).arg(&fresh);
    command.args(corpora(places, target).into_iter().filter(|path| path.is_dir()));
    let status = command.stderr(Stdio::null()).status().context("cannot run the target")?;
    ensure!(status.success(), "{target}: merging failed ({status})");
    let seeds = contents(&places.seeds(target))?;
    let is_seed = |bytes: &[u8]| seeds.iter().any(|(_, seed)| seed == bytes);
    let mut found = contents(&fresh)?;
    found.retain(|(_, bytes)| bytes.len() <= KEPT_BYTES_MAX && !is_seed(bytes));
    found.sort_by_key(|(name, bytes)| (bytes.len(), name.clone()));
    let _ = fs::remove_dir_all(&kept);
    fs::create_dir_all(&kept)?;
    let (mut files, mut total) = (0, 0);
    for (name, bytes) in found {
        if total + bytes.len() > KEPT_BYTES_ALL {
            break;
        }
        fs::write(kept.join(name), &bytes)?;
        (files, total) = (files + 1, total + bytes.len());
    }
    println!("{target}: {files} files, {total} bytes kept in {}", kept.display());
    Ok(())
}

fn contents(directory: &Path) -> Result<Vec<(std::ffi::OsString, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        found.push((entry.file_name(), fs::read(entry.path())?));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libfuzzer_says_is_read() {
        let log = "#2\tINITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 30Mb\n\
                   #4096\tpulse  cov: 812 ft: 900 corp: 40/1Kb lim: 40 exec/s: 1365 rss: 57Mb\n\
                   stat::number_of_executed_units: 4096\nstat::average_exec_per_sec:     1365\n\
                   stat::peak_rss_mb:              57\n";
        assert_eq!(
            summary("words", log),
            "words: 4096 inputs, 1365 a second, 812 counters reached, 57 MiB, no finding"
        );
        let crash = "artifact_prefix='/x/'; Test unit written to /x/words-crash-ab\nBase64: AA==\n";
        assert_eq!(artifact(crash), Some("/x/words-crash-ab"));
        assert_eq!(artifact(log), None);
    }

    #[test]
    fn every_target_has_a_source_and_a_row_in_the_page() {
        let places = Places::new(String::new());
        let page = fs::read_to_string(places.root.join("fuzz/README.md")).expect("a page");
        let names = targets(&places).expect("cargo metadata");
        assert!(names.len() >= 15, "{names:?}");
        for name in names {
            assert!(places.root.join(format!("fuzz/fuzz_targets/{name}.rs")).is_file(), "{name}");
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn unknown_targets_are_refused_with_what_there_is() {
        let all = ["words", "record"].map(str::to_owned);
        let options = |targets: &[&str]| Options {
            targets: targets.iter().map(|&name| name.to_owned()).collect(),
            seconds: 1,
            jobs: 1,
            build_only: false,
            minimise: false,
        };
        assert_eq!(options(&["record"]).chosen(&all).expect("it is there"), ["record"]);
        assert_eq!(options(&[]).chosen(&all).expect("all"), all);
        let error = options(&["recrod"]).chosen(&all).expect_err("mistyped").to_string();
        assert!(error.contains("words, record"), "{error}");
    }
}
