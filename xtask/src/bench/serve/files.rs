//! A managed volume in a file, served, beside the plain file: by drivelab and qemu-nbd past the
//! page cache, and by nbdkit's file plugin, once with `cache=none` and once through the page cache.
//! The last one (`cached`) is shown and not judged by: its reads, and its writes until a flush, are
//! copies in memory.
//!
//! A lone client asks each of them in turns, an order that rotates; all files lie in one directory
//! of a real disk and were written before. Half of the cells find a clean pool that is full: the
//! volume is made and filled anew for each; the other half finds one that is used up: the span is
//! all that the volume exports, and was overwritten at random until the cleaner has to work for
//! every write. Idle cleaning refills it while others have their turns, so that it is overwritten
//! again right before each turn that writes; the write amplification says what a cell really found.
//!
//! What is wanted: no cell waits longer than ten times what the plain file takes, and reaches 0.8
//! of the better of the other two, divided by the volume's write amplification, which is what the
//! server wrote (/proc/PID/io) for what the client did.

use super::{Extent, Flushes, Job, Order, Seen, Server, fio};
use crate::bench::{
    child,
    sample::median,
    scratch::{Scratch, write_file},
};
use anyhow::{Context, Result, ensure};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const SECONDS: u64 = 1;
const ROUNDS: usize = 3;
/// What clients use of every export.
const SPAN_BYTES: u64 = 512 << 20;
/// The drive whose clean pool is full: what three rounds write fits into it.
const ROOMY_BYTES: u64 = 6 << 30;
/// The drive whose clean pool is used up; the usual spare leaves some 1.4 times the span beside it.
const TIGHT_BYTES: u64 = 768 << 20;
/// What is overwritten of it at random beforehand, in spans.
const OVERWRITTEN_SPANS: u64 = 3;
const SHARE: f64 = 0.8;
const WAIT_MAX: f64 = 10.0;

const LOADS: [(&str, &str, Flushes); 3] = [
    ("read", "randread", Flushes::None),
    ("write", "randwrite", Flushes::None),
    ("write+flush", "randwrite", Flushes::Each),
];

/// How the volume's clean pool is before a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pool {
    Full,
    UsedUp,
}

/// Where everything is.
struct Place<'a> {
    drivelab: &'a Path,
    sockets: &'a Path,
    directory: &'a Path,
}

/// Measures and prints.
pub fn run(drivelab: &Path, scratch: &Scratch, sockets: &Path, order: Order) -> Result<()> {
    let place = Place { drivelab, sockets, directory: scratch.path() };
    let short = order.extent == Extent::Short;
    let seconds = order.seconds.unwrap_or(SECONDS);
    let rounds = order.rounds.unwrap_or(if short { 1 } else { ROUNDS });
    let (depths, sizes): (&[u32], &[u64]) = match order.extent {
        Extent::Whole => (&[1, 16, 64], &[4 << 10, 64 << 10, 1 << 20]),
        Extent::Short => (&[1, 16], &[4 << 10, 1 << 20]),
    };
    println!("\nWriting files in {} ...", place.directory.display());
    let others = place.others()?;
    for (name, bytes) in [("roomy", ROOMY_BYTES), ("tight", TIGHT_BYTES)] {
        write_file(&place.directory.join(name), bytes)?;
    }
    println!(
        "A lone client over {} MiB: {rounds} rounds of {seconds} s, I/Os a second, medians. `ratio` is that \
         of the volume to the better of qemu-nbd and nbdkit, `WA` its write amplification, `wait` its longest \
         wait by that of the plain file.",
        SPAN_BYTES >> 20
    );
    for pool in [Pool::Full, Pool::UsedUp] {
        let title = match pool {
            Pool::Full => "clean pool full",
            Pool::UsedUp => "clean pool used up",
        };
        println!(
            "\n{title}\n{:<12}{:>4}{:>6}{:>8}{:>8}{:>8}{:>8}{:>8}{:>6}{:>6}{:>7}{:>5}",
            "load",
            "KiB",
            "depth",
            "volume",
            "plain",
            "qemu",
            "nbdkit",
            "cached",
            "ratio",
            "WA",
            "wanted",
            "wait"
        );
        let mut volume = match pool {
            Pool::Full => None,
            Pool::UsedUp => Some(place.used_up()?),
        };
        for (name, load, flushes) in LOADS {
            for (&bytes, &depth) in sizes.iter().flat_map(|b| depths.iter().map(move |d| (b, d))) {
                if pool == Pool::Full {
                    if let Some(old) = volume.take() {
                        old.stop()?;
                    }
                    volume = Some(place.full()?);
                }
                let span_bytes = SPAN_BYTES;
                let job = Job { load, bytes, depth, flushes, span_bytes, seconds: Some(seconds) };
                let volume = volume.as_ref().expect("it was started");
                Cell::measure(job, volume, pool, &others, rounds)?.print(name, job);
            }
        }
        if let Some(volume) = volume {
            volume.stop()?;
        }
    }
    Ok(())
}

impl Place<'_> {
    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Our plain file, qemu-nbd, nbdkit and nbdkit cached, each with a file of its own.
    fn others(&self) -> Result<[Server; 4]> {
        let file = |name: &str| -> Result<PathBuf> {
            let path = self.file(name);
            write_file(&path, SPAN_BYTES)?;
            Ok(path)
        };
        let (plain, qemu) = (file("plain")?, file("qemu")?);
        let (nbdkit, cached) = (file("nbdkit")?, file("cached")?);
        let mut ours = Command::new(self.drivelab);
        ours.arg("serve").arg(&plain).arg("--destroy").arg(&plain).arg("--nbd");
        let mut theirs = Command::new("qemu-nbd");
        theirs.args(["--cache=none", "--aio=io_uring", "--format=raw", "--persistent"]);
        theirs.arg(&qemu).arg("--socket");
        let mut kit = Command::new("nbdkit");
        kit.args(["--foreground", "file", "cache=none", "fadvise=random"]);
        kit.arg(&nbdkit).arg("--unix");
        let mut cached_kit = Command::new("nbdkit");
        cached_kit.args(["--foreground", "file"]).arg(&cached).arg("--unix");
        Ok([
            Server::start("drivelab", &mut ours, self.sockets.join("plain.sock"), "unix:")?,
            Server::start("qemu-nbd", &mut theirs, self.sockets.join("qemu.sock"), "")?,
            Server::start("nbdkit", &mut kit, self.sockets.join("nbdkit.sock"), "")?,
            Server::start("nbdkit", &mut cached_kit, self.sockets.join("cached.sock"), "")?,
        ])
    }

    /// A new volume in one of the files, with the span written once.
    fn volume(&self, name: &str) -> Result<Server> {
        child::go_on()?;
        let path = self.file(name);
        let mut create = Command::new(self.drivelab);
        create.args(["flash", "create"]).arg(&path).arg("--destroy").arg(&path);
        let status = create.stdout(Stdio::null()).status().context("drivelab")?;
        ensure!(status.success(), "drivelab flash create {}: {status}", path.display());
        let mut serve = Command::new(self.drivelab);
        serve.arg("serve").arg(format!("flash:{}", path.display())).arg("--nbd");
        let socket = self.sockets.join(format!("{name}.sock"));
        let server = Server::start("drivelab", &mut serve, socket, "unix:")?;
        fio(&server, FILL)?;
        Ok(server)
    }

    fn full(&self) -> Result<Server> {
        self.volume("roomy")
    }

    fn used_up(&self) -> Result<Server> {
        let server = self.volume("tight")?;
        for _ in 0..OVERWRITTEN_SPANS {
            fio(&server, OVERWRITE)?;
        }
        Ok(server)
    }
}

/// The span, once.
const FILL: Job<'static> = Job {
    load: "write",
    bytes: 1 << 20,
    depth: 8,
    flushes: Flushes::None,
    span_bytes: SPAN_BYTES,
    seconds: None,
};

/// The span once more, at random.
const OVERWRITE: Job<'static> = Job { load: "randwrite", bytes: 4 << 10, ..FILL };

/// One row: medians over the rounds.
struct Cell {
    /// Of the volume, the plain file, qemu-nbd, nbdkit and nbdkit cached.
    rates: [f64; 5],
    /// To the better of qemu-nbd and nbdkit, round by round.
    ratio: f64,
    amplification: Option<f64>,
    /// The longest wait by that of the plain file.
    wait: f64,
}

impl Cell {
    fn measure(
        job: Job<'_>,
        volume: &Server,
        pool: Pool,
        others: &[Server; 4],
        rounds: usize,
    ) -> Result<Self> {
        let servers = [volume, &others[0], &others[1], &others[2], &others[3]];
        let mut rates: [Vec<f64>; 5] = Default::default();
        let (mut ratios, mut amplifications, mut waits) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            let mut seen = [Seen::default(); 5];
            for turn in 0..servers.len() {
                let who = (round + turn) % servers.len();
                let writes = job.load.ends_with("write");
                if who == 0 && writes && pool == Pool::UsedUp {
                    fio(volume, OVERWRITE)?;
                }
                let before = servers[who].written_bytes()?;
                seen[who] = fio(servers[who], job)?;
                if who == 0 && writes {
                    let written = servers[who].written_bytes()? - before;
                    amplifications.push(written / (seen[who].ios * job.bytes as f64));
                }
            }
            rates.iter_mut().zip(seen).for_each(|(rates, seen)| rates.push(seen.rate));
            ratios.push(seen[0].rate / seen[2].rate.max(seen[3].rate));
            waits.push(seen[0].wait_ns / seen[1].wait_ns);
        }
        Ok(Self {
            rates: std::array::from_fn(|who| median(&rates[who])),
            ratio: median(&ratios),
            amplification: (!amplifications.is_empty()).then(|| median(&amplifications)),
            wait: median(&waits),
        })
    }

    fn print(&self, name: &str, job: Job<'_>) {
        let [volume, plain, qemu, nbdkit, cached] = self.rates;
        let wanted = SHARE / self.amplification.unwrap_or(1.0).max(1.0);
        let amplification = self.amplification.map_or("-".to_owned(), |wa| format!("{wa:.2}"));
        let missed = |is_missed: bool| if is_missed { "!" } else { " " };
        println!(
            "{name:<12}{:>4}{:>6}{volume:>8.0}{plain:>8.0}{qemu:>8.0}{nbdkit:>8.0}{cached:>8.0}\
             {:>6.2}{}{amplification:>5}{wanted:>7.2}{:>5.1}{}",
            job.bytes >> 10,
            job.depth,
            self.ratio,
            missed(self.ratio < wanted),
            self.wait,
            missed(self.wait > WAIT_MAX),
        );
    }
}
