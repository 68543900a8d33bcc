//! `cargo xtask bench serve`: a managed volume in memory, served, beside nbdkit's memory plugin.
//!
//! fio's nbd engine asks both, 4 KiB at depth 32, in turns; a pair is one run of each, and the order alternates. The
//! processor time is the server's own (/proc/PID/stat), without fio's.

use super::{build, child, machine, scratch::Scratch};
use anyhow::{Context, Result, bail, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// What clients use of either export, MiB; all of it is written first.
const SPAN_MIB: u64 = 512;
/// The drive of memory under the managed volume: so large that the span is a quarter of it, and the limit is the
/// server rather than the cleaner.
const DRIVE: &str = "memory:2G/flash";
/// How many spans the drive holds.
const DRIVE_SPANS: u64 = 4;
const PAIRS: usize = 9;
const SECONDS: u64 = 3;
/// USER_HZ: the unit of times in /proc/PID/stat (proc(5)).
const TICKS_A_SECOND: f64 = 100.0;

/// What is asked for, and what the ratios are wanted to be at least.
const LOADS: [(&str, f64); 2] = [("randread", 1.3), ("randwrite", 0.95)];

/// Measures, prints, asserts nothing.
pub fn run(arguments: &[String]) -> Result<()> {
    let (mut seconds, mut pairs) = (SECONDS, PAIRS);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let count =
            words.next().and_then(|text| text.parse().ok()).filter(|n| (1..=3600).contains(n));
        let count: u64 = count.with_context(|| format!("{word}: a whole number, 1 to 3600"))?;
        match word.as_str() {
            "--seconds" => seconds = count,
            "--rounds" => pairs = count as usize,
            _ => bail!("`{word}` is unknown: there are --seconds N and --rounds N"),
        }
    }
    for program in ["fio", "nbdkit"] {
        let found = Command::new(program).arg("--version").stdout(Stdio::null()).status();
        ensure!(found.is_ok(), "{program} is not installed: apt-get install {program}");
    }
    child::catch_signals()?;
    let drivelab = build()?;
    let target_directory =
        drivelab.parent().and_then(Path::parent).context("the target directory")?;
    let scratch = Scratch::create(target_directory)?;
    println!("Load {}", machine::load());
    // A server locks its socket's directory for a moment, and the scratch directory is locked already.
    let sockets = scratch.path().join("sockets");
    fs::create_dir(&sockets)?;
    let ours = Server::start(
        "drivelab",
        Command::new(&drivelab).args(["serve", DRIVE, "--nbd"]),
        sockets.join("ours.sock"),
        "unix:",
    )?;
    let size = format!("{SPAN_MIB}M");
    let theirs = Server::start(
        "nbdkit",
        Command::new("nbdkit").args(["--foreground", "memory", &size, "--unix"]),
        sockets.join("theirs.sock"),
        "",
    )?;
    for server in [&ours, &theirs] {
        // As often as the log needs to go once around its drive: memory touched for the first time costs the kernel's
        // time.
        for _ in 0..DRIVE_SPANS {
            fio(server, "write", "1m", None)?;
        }
    }
    println!(
        "{DRIVE} served by drivelab, and nbdkit's memory plugin; fio's nbd engine, 4 KiB at depth 32 over {SPAN_MIB} MiB \
         that were written before; {pairs} pairs of {seconds} s after one that warms up. Medians.\n"
    );
    println!(
        "{:<10}{:>12}{:>12}{:>8}{:>17}{:>9}{:>12}{:>12}",
        "load", "drivelab/s", "nbdkit/s", "ratio", "least-most", "wanted", "CPU ns", "nbdkit ns"
    );
    for (load, wanted) in LOADS {
        compare(load, wanted, [&ours, &theirs], seconds, pairs)?;
    }
    println!("\nLoad {}", machine::load());
    println!("{}", ours.stop()?.lines().last().unwrap_or_default());
    theirs.stop()?;
    Ok(())
}

fn compare(
    load: &str,
    wanted: f64,
    servers: [&Server; 2],
    seconds: u64,
    pairs: usize,
) -> Result<()> {
    let (mut rates, mut costs) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let mut ratios = Vec::new();
    for pair in 0..=pairs {
        let mut seen = [(0.0, 0.0); 2];
        for turn in 0..2 {
            let who = (pair + turn) % 2;
            seen[who] = fio(servers[who], load, "4k", Some(seconds))?;
        }
        if pair == 0 {
            continue;
        }
        ratios.push(seen[0].0 / seen[1].0);
        for who in 0..2 {
            rates[who].push(seen[who].0);
            costs[who].push(seen[who].1);
        }
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "{load:<10}{:>12.0}{:>12.0}{:>8.2}{:>17}{:>9}{:>12.0}{:>12.0}",
        median(&mut rates[0]),
        median(&mut rates[1]),
        median(&mut ratios),
        format!("{:.2}-{:.2}", ratios[0], ratios[ratios.len() - 1]),
        wanted,
        median(&mut costs[0]),
        median(&mut costs[1]),
    );
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
}

/// One run of fio: I/Os a second, and the server's processor time for each, ns. Without a time it goes over the span
/// once.
fn fio(server: &Server, load: &str, block: &str, seconds: Option<u64>) -> Result<(f64, f64)> {
    child::go_on()?;
    let before = server.cpu_seconds()?;
    let mut command = Command::new("fio");
    command.args(["--name=serve", "--ioengine=nbd", "--iodepth=32", "--output-format=json"]);
    command.arg(format!("--uri=nbd+unix:///?socket={}", server.socket.display()));
    command.arg(format!("--rw={load}")).arg(format!("--bs={block}"));
    command.arg(format!("--size={SPAN_MIB}m"));
    if let Some(seconds) = seconds {
        command.arg("--time_based").arg(format!("--runtime={seconds}"));
    }
    let output = command.output().context("fio")?;
    ensure!(output.status.success(), "fio: {}", String::from_utf8_lossy(&output.stderr));
    let cpu_ns = (server.cpu_seconds()? - before) * 1e9;
    // Its nbd engine says something else first.
    let begins = output.stdout.iter().position(|&byte| byte == b'{').unwrap_or(0);
    let told: serde_json::Value =
        serde_json::from_slice(&output.stdout[begins..]).context("fio's JSON")?;
    let side = &told["jobs"][0][if load.ends_with("read") { "read" } else { "write" }];
    let number = |key: &str| side[key].as_f64().with_context(|| format!("fio says no {key}"));
    Ok((number("iops")?, cpu_ns / number("total_ios")?))
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
