//! `cargo xtask kernel`: the kernel's own arrays on modelled drives, beside the modelled layer.
//!
//! ```text
//!   serve model:DRIVE --slower N, four times --NBD--> guest: md --> drivelab run --> rates x N
//!   run model:4xDRIVE/raidL                                                       --> rates
//!
//!   serve model:DISK and model:FLASH         --NBD--> guest: bcache, dm-... ----> rates, hits
//!   run model:DISK/bcache:ssd=FLASH                                               --> rates
//! ```
//!
//! The guest's processor is emulated: it costs some tenth of a millisecond a request, which is
//! nothing beside drives whose time is slowed by enough.

mod caches;

use crate::guest::{self, Kernel, Setup};
use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

/// `SECONDS` stands for a cell's time, `OPS` and `BLOCKS` for lists.
const ARRAYS: &str = include_str!("kernel/arrays.toml");
const SCRIPT: &str = include_str!("kernel/arrays.sh");
const MEMBERS: usize = 4;
const OPS: [&str; 2] = ["read", "write"];
const BLOCKS: [&str; 3] = ["4KiB", "64KiB", "1MiB"];

/// A level of md's, and the modelled layer that stands for it.
struct Level {
    name: &'static str,
    /// More words for mdadm.
    words: &'static str,
    layer: &'static str,
}

const LEVELS: &[Level] = &[
    Level { name: "0", words: "--chunk=64", layer: "raid0:chunk=64K" },
    Level { name: "1", words: "--bitmap=none", layer: "raid1" },
    Level { name: "5", words: "--chunk=64 --bitmap=none", layer: "raid5:chunk=64K" },
    Level { name: "6", words: "--chunk=64 --bitmap=none", layer: "raid6:chunk=64K" },
    Level { name: "10", words: "--chunk=64 --bitmap=none", layer: "raid10:chunk=64K" },
];

/// How an array stands while it is measured.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// All members are there.
    Whole,
    /// The first member is missing.
    Degraded,
    /// The first member is being rebuilt, at md's pace beside requests, in the drives' time.
    Rebuild,
}

impl State {
    /// The layer's settings, which follow the others.
    const fn settings(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::Degraded => "degraded=0",
            Self::Rebuild => "degraded=0,rebuild=on",
        }
    }
}

impl Level {
    fn layer(&self, state: State) -> String {
        match (state.settings(), self.layer.contains(':')) {
            ("", _) => self.layer.to_owned(),
            (settings, true) => format!("{},{settings}", self.layer),
            (settings, false) => format!("{}:{settings}", self.layer),
        }
    }
}

/// Options that no cache has.
const ARRAYS_ALONE: [&str; 8] =
    ["level", "drive", "queue_depth", "state", "stripe_cache", "seconds", "op", "block"];

/// What is compared.
#[derive(clap::Args)]
pub struct Options {
    /// The drive of the catalog that the arrays are made of.
    #[arg(long, value_name = "NAME", default_value = "mtron-pro-32")]
    drive: String,
    /// How many times slower the served drives' time passes.
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    slower: u32,
    /// How many commands the kernel gives a drive at once: 1 without NCQ, 32 with it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=32))]
    queue_depth: u8,
    /// These levels of md's: 0, 1, 5, 6, 10; all unless named.
    #[arg(long, value_name = "LEVEL", value_parser = ["0", "1", "5", "6", "10"])]
    level: Vec<String>,
    /// How the array stands meanwhile.
    #[arg(long, value_enum, default_value_t = State::Whole)]
    state: State,
    /// Stripes of 4 KiB of each member that md keeps in memory for RAID-5 and 6 (md(4),
    /// stripe_cache_size); its own 256 unless said.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(17..=32768))]
    stripe_cache: Option<u32>,
    /// How long a cell takes in the guest, seconds; in the drives' time it is that over N.
    #[arg(long, value_name = "SECONDS", default_value_t = 12)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// These operations: read, write; both unless named.
    #[arg(long, value_name = "OP", value_parser = OPS)]
    op: Vec<String>,
    /// These sizes: 4KiB, 64KiB, 1MiB; all unless named.
    #[arg(long, value_name = "SIZE", value_parser = BLOCKS)]
    block: Vec<String>,
    /// These caches of the kernel's in place of arrays: bcache, dm-cache, dm-writecache.
    #[arg(long, value_name = "NAME", value_parser = ["bcache", "dm-cache", "dm-writecache"])]
    #[arg(conflicts_with_all = ARRAYS_ALONE)]
    cache: Vec<String>,
    /// Operations that a cache gets before the 2,000 that tell what it is like then.
    #[arg(long, value_name = "COUNT", default_value_t = 4000)]
    #[arg(value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    #[arg(conflicts_with_all = ARRAYS_ALONE)]
    cold: u32,
    /// The guest's Linux: 6.1 or 6.12.
    #[arg(long, default_value = "6.12", value_parser = Kernel::named)]
    kernel: Kernel,
    /// This binary instead of one that is built.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// How long one level or cache may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    limit: u64,
}

/// Operations a second, by cell.
type Rates = BTreeMap<String, f64>;

/// Compares, level by level.
pub fn run(options: &Options) -> Result<()> {
    let Some(setup) = guest::setup(options.kernel, options.program.as_deref())? else {
        return Ok(());
    };
    if !options.cache.is_empty() {
        return options.cache.iter().try_for_each(|cache| caches::compare(options, &setup, cache));
    }
    println!(
        "Linux {}, {MEMBERS} x {}, time {} times slower: operations a second of the drives' time",
        setup.version(),
        options.drive,
        options.slower
    );
    let is_chosen = |level: &&Level| {
        let is_named =
            options.level.is_empty() || options.level.iter().any(|name| name == level.name);
        // Without redundancy there is no such state.
        is_named && (level.name != "0" || options.state == State::Whole)
    };
    let chosen: Vec<&Level> = LEVELS.iter().filter(is_chosen).collect();
    ensure!(!chosen.is_empty(), "RAID-0 is not {:?}: it has no redundancy", options.state);
    let text = ARRAYS.replace("OPS", &list(&options.op, &OPS));
    let text = text.replace("BLOCKS", &list(&options.block, &BLOCKS));
    let lasting = |seconds: f64| text.replace("SECONDS", &seconds.to_string());
    let seconds = f64::from(options.seconds);
    // Both for the same time of the drives: what one cell leaves them to do is a part of the next.
    let arrays = lasting(seconds);
    let in_drives_time = lasting(seconds / f64::from(options.slower));
    for level in chosen {
        let began = Instant::now();
        let kernel = in_guest(options, &setup, level, &arrays)
            .with_context(|| format!("md {}", level.name))?;
        let layer = level.layer(options.state);
        let stack = format!("model:{MEMBERS}x{}/{layer}", options.drive);
        let (rates, _) = modelled(&setup, &stack, &in_drives_time)?;
        let table = table((level.name, &layer), options.slower, &kernel, &rates)?;
        println!("{table}{:.0} s", began.elapsed().as_secs_f64());
    }
    Ok(())
}

/// What was named, or all, as a list of TOML's.
fn list(named: &[String], all: &[&str]) -> String {
    match named {
        [] => format!("{all:?}"),
        named => format!("{named:?}"),
    }
}

/// The kernel's array, in a guest with four drives that are served here.
fn in_guest(options: &Options, setup: &Setup, level: &Level, method: &str) -> Result<Rates> {
    let servers = Servers::start(setup, &[&*options.drive; MEMBERS], options.slower)?;
    let (name, words, depth) = (level.name, level.words, options.queue_depth);
    let (state, slower) = (format!("{:?}", options.state).to_lowercase(), options.slower);
    let stripes = options.stripe_cache.map_or_else(String::new, |count| count.to_string());
    let script = format!(
        "LEVEL={name} DEPTH={depth} STATE={state} SLOWER={slower} STRIPES={stripes} \
         MORE='{words}'\n{SCRIPT}"
    );
    let trial = guest::Trial {
        script: &script,
        files: &[("guest/arrays.toml", method.as_bytes())],
        served: servers.drives(),
        limit: Duration::from_secs(options.limit),
    };
    let said = said_in_guest(setup, &trial)?;
    if let Some(how_far) = said.lines().find(|line| line.starts_with("rebuild: ")) {
        println!("{how_far}");
    }
    let slower = f64::from(slower);
    let rates = rates(&said);
    ensure!(!rates.is_empty(), "the guest measured nothing:\n{said}");
    Ok(rates.into_iter().map(|(cell, rate)| (cell, rate * slower)).collect())
}

/// What a script says in a guest of its own.
fn said_in_guest(setup: &Setup, trial: &guest::Trial<'_>) -> Result<String> {
    let mut said = String::new();
    let ended = setup.command(trial, |line| said += &(line + "\n"));
    ended.with_context(|| format!("the guest said:\n{said}"))?;
    Ok(said)
}

/// The layer, in virtual time: its rates, and its record.
fn modelled(setup: &Setup, stack: &str, text: &str) -> Result<(Rates, String)> {
    let method = setup.place().join("method.toml");
    fs::write(&method, text).context("the method")?;
    let json = setup.place().join("layer.json");
    let words = ["--quiet", "--yes", "--json"];
    let mut run = setup.drivelab();
    run.args(["run", stack, "--seed", "1", "--method"]).arg(&method).args(words).arg(&json);
    ensure!(run.status()?.success(), "drivelab run {stack} did not end well");
    let output = setup.drivelab().arg("export").arg(&json).args(["--as", "csv"]).output()?;
    ensure!(output.status.success(), "drivelab export did not end well");
    let record = fs::read_to_string(&json).context("the layer's record")?;
    Ok((rates(&String::from_utf8_lossy(&output.stdout)), record))
}

/// All operations of each cell over all of its time, of a table in long form
/// (docs/reference/report-formats.md). A headline would leave a fast start out where a cell has
/// ticks enough to show it, and in the guest it has N times as many. Of the fields only the target,
/// the third, may have commas.
fn rates(csv: &str) -> Rates {
    let seconds: Rates = values(csv, "seconds").collect();
    let rate = |(cell, operations): (String, f64)| {
        let rate = operations / seconds.get(&cell)?;
        Some((cell, rate))
    };
    values(csv, "operations").filter_map(rate).collect()
}

/// A metric of each cell.
fn values<'c>(csv: &'c str, wanted: &'c str) -> impl Iterator<Item = (String, f64)> + use<'c> {
    csv.lines().filter_map(move |line| {
        let fields: Vec<&str> = line.trim().split(',').collect();
        let [.., cell, _, _, _, _, _, _, _, _, pass, metric, value, _, _, _, _, _] = fields[..]
        else {
            return None;
        };
        let is_it = pass.is_empty() && metric == wanted;
        is_it.then(|| Some((cell.to_owned(), value.parse().ok()?))).flatten()
    })
}

fn table(
    (level, stack): (&str, &str),
    slower: u32,
    kernel: &Rates,
    layer: &Rates,
) -> Result<String> {
    let mut text = format!(
        "\n## RAID-{level}\n\n| cell | md, x {slower} | `{stack}` | layer / md |\n\
         |---|---|---|---|\n"
    );
    let mut ratios = Vec::new();
    for (cell, md) in kernel {
        let ours = layer.get(cell).with_context(|| format!("the layer has no cell {cell}"))?;
        ratios.push(ours / md);
        writeln!(text, "| {cell} | {md:.0} | {ours:.0} | {:.2} |", ours / md)?;
    }
    ratios.sort_by(f64::total_cmp);
    let middle = ratios.get(ratios.len() / 2).context("no cell was measured")?;
    let far = ratios.iter().filter(|ratio| (**ratio - 1.0).abs() > 0.15).count();
    writeln!(text, "\nMedian {middle:.2}; {far} of {} cells beyond 15 %.", ratios.len())?;
    Ok(text)
}

/// Drives that are served, each by a process of its own, until this is dropped.
struct Servers {
    all: Vec<(String, PathBuf, Child)>,
}

impl Servers {
    /// `M0`, `M1`, ... of these names of the catalog.
    fn start(setup: &Setup, drives: &[&str], slower: u32) -> Result<Self> {
        let mut servers = Self { all: Vec::new() };
        for (number, drive) in drives.iter().enumerate() {
            let socket = setup.place().join(format!("m{number}"));
            let mut command = setup.drivelab();
            command.arg("serve").arg(format!("model:{drive}"));
            command.args(["--slower", &slower.to_string(), "--quiet", "--nbd"]);
            command.arg(format!("unix:{}", socket.display())).stdout(Stdio::null());
            let child = command.spawn().context("drivelab serve")?;
            servers.all.push((format!("M{number}"), socket, child));
        }
        for (name, socket, child) in &mut servers.all {
            wait_for(socket, child).with_context(|| format!("the server of {name}"))?;
        }
        Ok(servers)
    }

    /// Serial numbers and sockets.
    fn drives(&self) -> Vec<(&str, &Path)> {
        self.all.iter().map(|(name, socket, _)| (name.as_str(), socket.as_path())).collect()
    }
}

fn wait_for(socket: &Path, server: &mut Child) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(60);
    while UnixStream::connect(socket).is_err() {
        ensure!(server.try_wait()?.is_none(), "it ended");
        ensure!(Instant::now() < until, "it does not listen after a minute");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

impl Drop for Servers {
    fn drop(&mut self) {
        for (_, socket, child) in &mut self.all {
            // What it served is gone with it in any case.
            let _ = child.kill();
            let _ = child.wait();
            let _ = fs::remove_file(socket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One second of four had ten times the rate of the rest: the headline was that of the rest in
    /// the guest, and that of all in the layer, whose cell had too few ticks to tell.
    #[test]
    fn a_rate_is_that_of_the_whole_cell_with_its_fast_start() {
        let csv = "run,method,target,cell,op,pattern,block_bytes,threads,queue_depth,engine,io,\
            coordinates,pass,metric,value,unit,ci95_low,ci95_high,n,flags\n\
            a,b,\"c:d,e\",read-4K,read,random,4096,1,1,sync,direct,,,iops,100,1/s,20,30,1,burst\n\
            a,b,c,read-4K,read,random,4096,1,1,sync,direct,,,operations,1300,,,,1,burst\n\
            a,b,\"c:d,e\",read-4K,read,random,4096,1,1,sync,direct,,,seconds,4,s,,,1,burst\n\
            a,b,c,read-4K,read,random,4096,1,1,sync,direct,,0,operations,1,,,,1,burst\n";
        assert_eq!(rates(csv), Rates::from([("read-4K".to_owned(), 325.0)]));
        assert_eq!(rates("mdadm: no such thing\n"), Rates::new());
    }

    #[test]
    fn a_table_says_how_many_cells_are_far() {
        let of = |rates: &[(&str, f64)]| -> Rates {
            rates.iter().map(|(cell, rate)| ((*cell).to_owned(), *rate)).collect()
        };
        let md = of(&[("a", 100.0), ("b", 100.0), ("c", 100.0)]);
        let layer = of(&[("a", 100.0), ("b", 110.0), ("c", 120.0)]);
        let text = table(("0", "raid0"), 20, &md, &layer).expect("all are there");
        assert!(text.ends_with("Median 1.10; 1 of 3 cells beyond 15 %.\n"), "{text}");
        assert!(table(("0", "raid0"), 20, &md, &of(&[])).is_err());
    }
}
