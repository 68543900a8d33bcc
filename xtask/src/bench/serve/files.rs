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
//! of the better of the other two, or of what the log's own arithmetic leaves of it:
//!
//! ```text
//!   a write   WA times as long as the better one takes, and the cleaner's reads beside it
//!   a read    as long as the better one takes, or as long as its pieces take
//! ```
//!
//! WA is what the server wrote (/proc/PID/io) for what the client did; reads of the drive are what
//! the volume counts (its metrics); one takes what a random read of 4 KiB at depth 64 of the plain
//! file takes for each, measured in the same round.
//!
//! What no client flushes the others leave in the disk's cache. A volume cannot: each checkpoint
//! flushes it. So a column says how it does beside the plain file where that is flushed as often,
//! and the disk is flushed before each turn: a volume's flush was found to take a third of a
//! second, in which the disk wrote what the others had left.

use super::{Flushes, Job, Load, Options, Pool, Seen, Server, fio};
use crate::bench::{
    child,
    sample::median,
    scratch::{Scratch, write_file},
};
use anyhow::{Context, Result, ensure};
use std::{
    fs,
    io::{Read, Write},
    os::unix::net::UnixStream,
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
const DRIVE_READS: &str = "drivelab_volume_drive_reads_total ";
const CHECKPOINTS: &str = "drivelab_volume_checkpoints_total ";
const SHARE: f64 = 0.8;
const WAIT_MAX: f64 = 10.0;

const LOADS: [(Load, &str, &str, Flushes); 3] = [
    (Load::Read, "read", "randread", Flushes::None),
    (Load::Write, "write", "randwrite", Flushes::None),
    (Load::WriteFlush, "write+flush", "randwrite", Flushes::After(1)),
];

/// What a piece of a fragmented read, or of the cleaner's, is measured by.
const PIECE: Job<'static> = Job {
    load: "randread",
    bytes: 4 << 10,
    depth: 64,
    flushes: Flushes::None,
    span_bytes: SPAN_BYTES,
    seconds: Some(1),
};

impl Pool {
    /// The drive that has it.
    fn file(self) -> &'static str {
        match self {
            Self::Full => "roomy",
            Self::UsedUp => "tight",
        }
    }
}

/// Where everything is.
struct Place<'a> {
    drivelab: &'a Path,
    sockets: &'a Path,
    directory: &'a Path,
}

/// Measures and prints.
pub fn run(drivelab: &Path, scratch: &Scratch, sockets: &Path, order: &Options) -> Result<()> {
    let place = Place { drivelab, sockets, directory: scratch.path() };
    let short = order.short;
    let seconds = order.seconds.unwrap_or(SECONDS);
    let rounds = order.rounds.map(usize::from).unwrap_or(if short { 1 } else { ROUNDS });
    let (depths, sizes): (&[u32], &[u64]) = match order.short {
        false => (&[1, 16, 64], &[4 << 10, 64 << 10, 1 << 20]),
        true => (&[1, 16], &[4 << 10, 1 << 20]),
    };
    println!("\nWriting files in {} ...", place.directory.display());
    let others = place.others()?;
    for (pool, bytes) in [(Pool::Full, ROOMY_BYTES), (Pool::UsedUp, TIGHT_BYTES)] {
        write_file(&place.file(pool.file()), bytes)?;
    }
    print_legend(order, rounds, seconds);
    for pool in [Pool::Full, Pool::UsedUp] {
        if order.pool.is_some_and(|only| only != pool) {
            continue;
        }
        let title = match pool {
            Pool::Full => "clean pool full",
            Pool::UsedUp => "clean pool used up",
        };
        println!(
            "\n{title}\n{:<12}{:>4}{:>6}{:>8}{:>8}{:>8}{:>8}{:>8}{:>6}{:>6}{:>6}{:>7}{:>5}{:>8}",
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
            "reads",
            "wanted",
            "wait",
            "durable"
        );
        let mut volume = match pool {
            Pool::Full => None,
            Pool::UsedUp => Some(place.used_up()?),
        };
        for (what, name, load, flushes) in LOADS {
            for (&bytes, &depth) in sizes.iter().flat_map(|b| depths.iter().map(move |d| (b, d))) {
                if !order.wants(what, bytes, depth) {
                    continue;
                }
                if pool == Pool::Full {
                    if let Some(old) = volume.take() {
                        old.stop()?;
                    }
                    volume = Some(place.full()?);
                }
                let span_bytes = SPAN_BYTES;
                let job = Job { load, bytes, depth, flushes, span_bytes, seconds: Some(seconds) };
                let volume = volume.as_ref().expect("it was started");
                let cell = Cell::measure(job, &place, volume, pool, &others, rounds)?;
                cell.print(name, job, order.processor);
            }
        }
        if let Some(volume) = volume {
            volume.stop()?;
        }
    }
    Ok(())
}

/// What the columns are.
fn print_legend(order: &Options, rounds: usize, seconds: u64) {
    let shown = match order.processor {
        true => "the server's processor time for each I/O in microseconds",
        false => "I/Os a second",
    };
    println!(
        "A lone client over {} MiB: {rounds} rounds of {seconds} s, {shown}, medians. `ratio` is \
         that of the volume to the better of qemu-nbd and nbdkit, `WA` its write amplification, \
         `reads` what it reads of the drive for each I/O, `wanted` 0.8 of what these leave, \
         `wait` its longest wait by that of the plain file, `durable` its ratio to the plain file \
         where that is flushed as often as the volume's checkpoints flush.",
        SPAN_BYTES >> 20
    );
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
        serve.arg("serve").arg(format!("flash:{}", path.display()));
        serve.arg("--metrics").arg(format!("unix:{}", self.metrics(name).display())).arg("--nbd");
        let socket = self.sockets.join(format!("{name}.sock"));
        let server = Server::start("drivelab", &mut serve, socket, "unix:")?;
        fio(&server, FILL)?;
        Ok(server)
    }

    /// Whatever was written to the disk is on it, and nothing left in its cache.
    fn flush_disk(&self) -> Result<()> {
        Ok(fs::File::open(self.file(Pool::Full.file()))?.sync_data()?)
    }

    fn metrics(&self, name: &str) -> PathBuf {
        self.sockets.join(format!("{name}.metrics"))
    }

    /// What a volume's metrics have counted since it is served.
    fn counted(&self, pool: Pool) -> Result<Counted> {
        let socket = self.metrics(pool.file());
        let mut stream = UnixStream::connect(&socket).context("the volume's metrics")?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: drivelab\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        let count = |name: &str| -> Result<f64> {
            let line = page.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|count| count.trim().parse().ok()).with_context(|| name.to_owned())
        };
        Ok(Counted { drive_reads: count(DRIVE_READS)?, checkpoints: count(CHECKPOINTS)? })
    }

    fn full(&self) -> Result<Server> {
        self.volume(Pool::Full.file())
    }

    fn used_up(&self) -> Result<Server> {
        let server = self.volume(Pool::UsedUp.file())?;
        for _ in 0..OVERWRITTEN_SPANS {
            fio(&server, OVERWRITE)?;
        }
        Ok(server)
    }
}

/// How often a volume has read its drive, and flushed it for itself.
struct Counted {
    drive_reads: f64,
    checkpoints: f64,
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
    /// Processor time of theirs for each I/O, us.
    processor_us: [f64; 5],
    /// To the better of qemu-nbd and nbdkit, round by round.
    ratio: f64,
    amplification: Option<f64>,
    /// Of the drive, for each I/O of the client's.
    reads: f64,
    /// Of the better of qemu-nbd and nbdkit, what the log's own arithmetic leaves.
    limit: f64,
    /// The longest wait by that of the plain file.
    wait: f64,
    /// To the plain file that is flushed as often, where nobody else flushes.
    durable: Option<f64>,
}

impl Cell {
    fn measure(
        job: Job<'_>,
        place: &Place<'_>,
        volume: &Server,
        pool: Pool,
        others: &[Server; 4],
        rounds: usize,
    ) -> Result<Self> {
        let servers = [volume, &others[0], &others[1], &others[2], &others[3]];
        let mut rates: [Vec<f64>; 5] = Default::default();
        let mut processor_us: [Vec<f64>; 5] = Default::default();
        let (mut ratios, mut amplifications, mut waits) = (Vec::new(), Vec::new(), Vec::new());
        let (mut reads, mut limits, mut durable) = (Vec::new(), Vec::new(), Vec::new());
        let writes = job.load.ends_with("write");
        for round in 0..rounds {
            let mut seen = [Seen::default(); 5];
            let mut checkpoints = 0.0;
            for turn in 0..servers.len() {
                let who = (round + turn) % servers.len();
                if who == 0 && writes && pool == Pool::UsedUp {
                    fio(volume, OVERWRITE)?;
                }
                place.flush_disk()?;
                if who > 0 {
                    seen[who] = fio(servers[who], job)?;
                    continue;
                }
                let (written, before) = (volume.written_bytes()?, place.counted(pool)?);
                seen[who] = fio(volume, job)?;
                let after = place.counted(pool)?;
                reads.push((after.drive_reads - before.drive_reads) / seen[who].ios);
                checkpoints = after.checkpoints - before.checkpoints;
                if writes {
                    let written = volume.written_bytes()? - written;
                    amplifications.push(written / (seen[who].ios * job.bytes as f64));
                }
            }
            if writes && job.flushes == Flushes::None && checkpoints > 0.0 {
                let flushes = Flushes::After((seen[0].ios / checkpoints).ceil() as u64);
                place.flush_disk()?;
                durable.push(seen[0].rate / fio(&others[0], Job { flushes, ..job })?.rate);
            }
            let better = seen[2].rate.max(seen[3].rate);
            let pieces = reads[round] * better / fio(&others[0], PIECE)?.rate;
            limits.push(match amplifications.get(round) {
                Some(amplification) => 1.0 / (amplification.max(1.0) + pieces),
                None if reads[round] > 1.0 => (1.0 / pieces).min(1.0),
                None => 1.0,
            });
            rates.iter_mut().zip(seen).for_each(|(rates, seen)| rates.push(seen.rate));
            let all = processor_us.iter_mut().zip(seen);
            all.for_each(|(times, seen)| times.push(seen.cpu_ns / 1e3));
            ratios.push(seen[0].rate / better);
            waits.push(seen[0].wait_ns / seen[1].wait_ns);
        }
        Ok(Self {
            rates: std::array::from_fn(|who| median(&rates[who])),
            processor_us: std::array::from_fn(|who| median(&processor_us[who])),
            ratio: median(&ratios),
            amplification: (!amplifications.is_empty()).then(|| median(&amplifications)),
            reads: median(&reads),
            limit: median(&limits),
            wait: median(&waits),
            durable: (!durable.is_empty()).then(|| median(&durable)),
        })
    }

    fn print(&self, name: &str, job: Job<'_>, processor: bool) {
        let shown = if processor { self.processor_us } else { self.rates };
        let [volume, plain, qemu, nbdkit, cached] = shown;
        let wanted = SHARE * self.limit;
        let amplification = self.amplification.map_or("-".to_owned(), |wa| format!("{wa:.2}"));
        let durable = self.durable.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        let missed = |is_missed: bool| if is_missed { "!" } else { " " };
        println!(
            "{name:<12}{:>4}{:>6}{volume:>8.0}{plain:>8.0}{qemu:>8.0}{nbdkit:>8.0}{cached:>8.0}\
             {:>6.2}{}{amplification:>5}{:>6.1}{wanted:>7.2}{:>5.1}{}{durable:>7}",
            job.bytes >> 10,
            job.depth,
            self.ratio,
            missed(self.ratio < wanted),
            self.reads,
            self.wait,
            missed(self.wait > WAIT_MAX),
        );
    }
}
