//! `cargo xtask bench serve`: what is served, beside what others serve.
//!
//! ```text
//!   memory.rs  a managed volume in memory beside nbdkit's memory plugin: 4 KiB, long transfers
//!   files.rs   one in a file beside our own plain file, qemu-nbd and nbdkit's file plugin
//! ```
//!
//! fio's nbd engine asks all, in turns of an order that rotates. The processor time is the server's
//! own (/proc/PID/stat), without fio's.

mod files;
mod memory;

use super::{build, child, machine, scratch::Scratch};
use anyhow::{Context, Result, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// USER_HZ: the unit of times in /proc/PID/stat (proc(5)).
const TICKS_A_SECOND: f64 = 100.0;

/// What of it is measured, and for how long.
#[derive(Clone, Copy, clap::Args)]
pub struct Options {
    /// Both if it is not said.
    #[arg(value_enum)]
    part: Option<Part>,
    /// How long a measurement takes, seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: Option<u64>,
    /// Measurements of each.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=3600))]
    rounds: Option<u16>,
    /// Fewer cells, which show the rest, in fewer rounds; five minutes.
    #[arg(long)]
    short: bool,
    /// Of the files, rows of this load alone.
    #[arg(long, value_enum)]
    load: Option<Load>,
    /// Rows of this size alone.
    #[arg(long, value_name = "N")]
    kib: Option<u64>,
    /// Rows of this depth alone.
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Rows of volumes whose clean pool is so.
    #[arg(long, value_enum)]
    pool: Option<Pool>,
    /// The server's processor time for each I/O, microseconds, where I/Os a second stand.
    #[arg(long)]
    processor: bool,
}

impl Options {
    /// Whether a row is among those that are asked for.
    fn wants(&self, load: Load, bytes: u64, depth: u32) -> bool {
        self.load.is_none_or(|only| only == load)
            && self.kib.is_none_or(|only| only << 10 == bytes)
            && self.depth.is_none_or(|only| only == depth)
    }
}

/// What a client does in a row.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Load {
    Read,
    Write,
    #[value(name = "write+flush")]
    WriteFlush,
}

/// How the volume's clean pool is before a cell.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Pool {
    Full,
    UsedUp,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// A managed volume in memory beside nbdkit's memory plugin; ten minutes.
    Memory,
    /// One in a file beside the plain file, qemu-nbd and nbdkit; half an hour.
    Files,
}

/// Measures, prints, asserts nothing.
pub fn run(order: &Options) -> Result<()> {
    let programs: &[&str] = match order.part {
        Some(Part::Memory) => &["fio", "nbdkit"],
        None | Some(Part::Files) => &["fio", "nbdkit", "qemu-nbd"],
    };
    for program in programs {
        let found = Command::new(program).arg("--version").stdout(Stdio::null()).status();
        ensure!(found.is_ok(), "{program} is not installed: apt-get install {program}");
    }
    child::catch_signals()?;
    let drivelab = build()?;
    let target_directory =
        drivelab.parent().and_then(Path::parent).context("the target directory")?;
    let scratch = Scratch::create(target_directory)?;
    println!("Load {}", machine::load());
    // A server locks its socket's directory for a moment, and the scratch directory is locked
    // already.
    let sockets = scratch.path().join("sockets");
    fs::create_dir(&sockets)?;
    if order.part != Some(Part::Files) {
        memory::run(&drivelab, &sockets, order)?;
    }
    if order.part != Some(Part::Memory) {
        files::run(&drivelab, &scratch, &sockets, order)?;
    }
    println!("Load {}", machine::load());
    Ok(())
}

/// What fio is told to ask for.
#[derive(Clone, Copy)]
struct Job<'a> {
    /// fio's word: `randread`, `randwrite`, `write`.
    load: &'a str,
    bytes: u64,
    depth: u32,
    flushes: Flushes,
    /// Bytes of the export that are used.
    span_bytes: u64,
    /// Without, it goes over the span once.
    seconds: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flushes {
    None,
    /// One after so many writes.
    After(u64),
}

/// What one run of fio saw.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// I/Os a second.
    rate: f64,
    ios: f64,
    /// The server's processor time for each, ns.
    cpu_ns: f64,
    /// The longest that an I/O or a flush waited, ns.
    wait_ns: f64,
}

fn fio(server: &Server, job: Job<'_>) -> Result<Seen> {
    child::go_on()?;
    let before = server.cpu_seconds()?;
    let mut command = Command::new("fio");
    command.args(["--name=serve", "--ioengine=nbd", "--output-format=json"]);
    // Its own choice is the processor's counter. On a machine whose processors' counters differ it
    // ended at once, or never, and told latencies of centuries.
    command.arg("--clocksource=clock_gettime");
    command.arg(format!("--uri=nbd+unix:///?socket={}", server.socket.display()));
    command.arg(format!("--rw={}", job.load)).arg(format!("--bs={}", job.bytes));
    command.arg(format!("--iodepth={}", job.depth)).arg(format!("--size={}", job.span_bytes));
    if let Some(seconds) = job.seconds {
        command.arg("--time_based").arg(format!("--runtime={seconds}"));
    }
    if let Flushes::After(writes) = job.flushes {
        command.arg(format!("--fsync={writes}"));
    }
    let output = command.output().context("fio")?;
    ensure!(output.status.success(), "fio: {}", String::from_utf8_lossy(&output.stderr));
    let cpu_ns = (server.cpu_seconds()? - before) * 1e9;
    // Its nbd engine says something else first.
    let begins = output.stdout.iter().position(|&byte| byte == b'{').unwrap_or(0);
    let told: serde_json::Value =
        serde_json::from_slice(&output.stdout[begins..]).context("fio's JSON")?;
    let told = &told["jobs"][0];
    let side = &told[if job.load.ends_with("read") { "read" } else { "write" }];
    let number = |key: &str| side[key].as_f64().with_context(|| format!("fio says no {key}"));
    let ios = number("total_ios")?;
    let io_ns = side["clat_ns"]["max"].as_f64().context("fio says no longest latency")?;
    let flush_ns = told["sync"]["lat_ns"]["max"].as_f64().unwrap_or(0.0);
    let wait_ns = io_ns.max(flush_ns);
    Ok(Seen { rate: number("iops")?, ios, cpu_ns: cpu_ns / ios, wait_ns })
}

/// A server that is killed when it is dropped.
struct Server {
    name: &'static str,
    child: Child,
    socket: PathBuf,
}

impl Server {
    /// Starts `command`, its socket as the last word, and waits until it is there.
    fn start(
        name: &'static str,
        command: &mut Command,
        socket: PathBuf,
        prefix: &str,
    ) -> Result<Self> {
        command.arg(format!("{prefix}{}", socket.display())).stdout(Stdio::piped());
        let child = command.spawn().with_context(|| name.to_owned())?;
        let mut server = Self { name, child, socket };
        let start = Instant::now();
        while !server.socket.exists() {
            ensure!(server.child.try_wait()?.is_none(), "{name} ended");
            ensure!(start.elapsed() < Duration::from_secs(60), "{name} does not listen");
            sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Processor time so far: utime and stime, fields 14 and 15 of /proc/PID/stat.
    fn cpu_seconds(&self) -> Result<f64> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, behind_name) = text.rsplit_once(')').context("a name in parentheses")?;
        let fields: Vec<&str> = behind_name.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok());
        let (user, system) = ticks(11).zip(ticks(12)).context("fields of stat")?;
        Ok((user + system) / TICKS_A_SECOND)
    }

    /// Bytes that it had written to drives so far (/proc/PID/io).
    fn written_bytes(&self) -> Result<f64> {
        let text = fs::read_to_string(format!("/proc/{}/io", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: "));
        line.and_then(|number| number.parse().ok()).context("write_bytes of /proc/PID/io")
    }

    /// Ends it in order; what it said.
    fn stop(mut self) -> Result<String> {
        use std::io::Read;
        let id = self.child.id().to_string();
        Command::new("kill").args(["-s", "TERM", &id]).status()?;
        let status = self.child.wait()?;
        ensure!(status.success(), "{} ended with {status}", self.name);
        let mut said = String::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut said)?;
        }
        Ok(said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
