//! The three that are compared, each started as a process of its own and asked for the same load.
//!
//! ```text
//!   Load -> method file  -> drivelab run --json -   -> Reading
//!        -> arguments    -> fio --output-format=json -> Reading
//!        -> arguments    -> xtask bench hand         -> Reading
//! ```

use super::scratch::Scratch;
use anyhow::{Context, Result, bail, ensure};
pub use block::Caching;
use serde_json::Value;
use std::{
    env, fmt,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

/// Size of the tested file.
pub const FILE_BYTES: u64 = 1 << 30;

/// Who measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contender {
    /// The release binary.
    Drivelab,
    /// A loop of `hand.rs`.
    Hand,
    /// fio with default options.
    Fio,
}

impl fmt::Display for Contender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Drivelab => "drivelab",
            Self::Hand => "hand-written loop",
            Self::Fio => "fio",
        })
    }
}

/// How operations reach the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Not at all.
    Null,
    /// By `pread` and `pwrite`.
    Sync,
    /// By io_uring.
    Uring,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Random reads of 4 KiB.
    Read,
    /// Random writes of 4 KiB.
    Write,
}

/// What all contenders are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// How operations reach the kernel.
    pub way: Way,
    /// Whether the page cache takes part.
    pub caching: Caching,
    /// What is done.
    pub op: Op,
    /// Operations in flight.
    pub depth: u32,
}

/// What one contender measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reading {
    /// Operations per second, as the contender states it.
    pub iops: f64,
    /// Median latency from submission, ns.
    pub p50_ns: f64,
    /// Processor time per operation that the contender's worker counted itself, ns.
    pub cpu_ns_worker: f64,
    /// Processor time per operation of the whole process, start and end included (getrusage), ns.
    pub cpu_ns_process: f64,
}

/// Where programs and files are.
pub struct Bench {
    /// Directory of everything that is made.
    pub scratch: Scratch,
    /// The file that is read.
    pub file: PathBuf,
    /// drivelab's release binary.
    pub drivelab: PathBuf,
    /// fio's version, if it is installed.
    pub fio: Option<String>,
}

impl Bench {
    /// Has `who` carry `load` for `seconds`.
    pub fn measure(&self, who: Contender, load: Load, seconds: u64) -> Result<Reading> {
        match who {
            Contender::Drivelab => self.drivelab(load, seconds),
            Contender::Hand => self.hand(load, seconds),
            Contender::Fio => self.fio(load, seconds),
        }
    }

    fn drivelab(&self, load: Load, seconds: u64) -> Result<Reading> {
        let method = self.scratch.path().join("method.toml");
        fs::write(&method, method_text(load, seconds))?;
        let mut command = Command::new(&self.drivelab);
        command.arg("run").arg(match (load.way, load.op) {
            (Way::Null, _) => Path::new("null:"),
            (_, Op::Read) => &self.file,
            // It never writes to a file that exists: it makes its own.
            (_, Op::Write) => self.scratch.path(),
        });
        command.arg("--method").arg(method);
        command.arg("--store").arg(self.scratch.path().join("history.db"));
        command.args(["--quiet", "--yes", "--json", "-"]);
        let (record, cpu_ns) = self.answer(command)?;
        let cell = &record["cells"][0];
        let operations = number(&cell["total"]["operations"])?;
        let percentiles = cell["latency"]["percentiles"].as_array();
        let median = percentiles.and_then(|all| all.iter().find(|p| p["percent"] == 50.0));
        Ok(Reading {
            iops: number(&cell["iops"])?,
            p50_ns: median.map_or(Ok(f64::NAN), |median| number(&median["ns"]))?,
            cpu_ns_worker: number(&cell["cpu"]["ns_per_operation"])?,
            cpu_ns_process: cpu_ns / operations,
        })
    }

    fn hand(&self, load: Load, seconds: u64) -> Result<Reading> {
        ensure!(load.op == Op::Read, "there is no hand-written loop that writes");
        let mut command = Command::new(env::current_exe()?);
        command.args(["bench", "hand"]);
        let caching = match load.caching {
            Caching::Buffered => "buffered",
            Caching::Direct => "direct",
        };
        match load.way {
            Way::Null => command.args(["null", &seconds.to_string()]),
            Way::Sync => command.args(["pread", &seconds.to_string()]),
            Way::Uring => command.args(["uring", &seconds.to_string()]),
        };
        if load.way != Way::Null {
            command.arg(&self.file).args([caching, &load.depth.to_string()]);
        }
        let (tally, cpu_ns) = self.answer(command)?;
        let operations = number(&tally["operations"])?;
        Ok(Reading {
            iops: operations / number(&tally["seconds"])?,
            p50_ns: number(&tally["p50_ns"])?,
            cpu_ns_worker: number(&tally["cpu_ns"])? / operations,
            cpu_ns_process: cpu_ns / operations,
        })
    }

    fn fio(&self, load: Load, seconds: u64) -> Result<Reading> {
        let mut command = Command::new("fio");
        command.args(["--name=bench", "--bs=4k", "--time_based", "--output-format=json"]);
        command.args([format!("--runtime={seconds}"), format!("--size={FILE_BYTES}")]);
        command.arg(format!("--iodepth={}", load.depth));
        command.arg(match load.way {
            Way::Null => "--ioengine=null",
            Way::Sync => "--ioengine=psync",
            Way::Uring => "--ioengine=io_uring",
        });
        command.arg(if load.op == Op::Write { "--rw=randwrite" } else { "--rw=randread" });
        if load.way != Way::Null {
            // By default it would empty the page cache of the file first.
            command.arg("--invalidate=0").arg("--lat_percentiles=1");
            let name = if load.op == Op::Write { self.fio_file() } else { self.file.clone() };
            command.arg(format!("--filename={}", name.display()));
        }
        if load.caching == Caching::Direct {
            command.arg("--direct=1");
        }
        let (report, cpu_ns) = self.answer(command)?;
        let job = &report["jobs"][0];
        let side = &job[if load.op == Op::Write { "write" } else { "read" }];
        let operations = number(&side["total_ios"])?;
        let busy = (number(&job["usr_cpu"])? + number(&job["sys_cpu"])?) / 100.0;
        let latency = if load.way == Way::Null { "clat_ns" } else { "lat_ns" };
        Ok(Reading {
            iops: number(&side["iops"])?,
            p50_ns: number(&side[latency]["percentile"]["50.000000"])?,
            cpu_ns_worker: busy * number(&side["runtime"])? * 1e6 / operations,
            cpu_ns_process: cpu_ns / operations,
        })
    }

    /// The file that fio writes to.
    pub fn fio_file(&self) -> PathBuf {
        self.scratch.path().join("written-by-fio")
    }

    /// What a program printed as JSON, and the processor time it took, ns.
    fn answer(&self, mut command: Command) -> Result<(Value, f64)> {
        let path = self.scratch.path().join("stdout");
        let complaints = self.scratch.path().join("stderr");
        command.stdout(File::create(&path)?).stderr(File::create(&complaints)?);
        let name = command.get_program().to_string_lossy().into_owned();
        let before_ns = super::child::cpu_ns();
        let status = super::child::wait_for(&mut command).with_context(|| name.clone())?;
        let cpu_ns = super::child::cpu_ns() - before_ns;
        let text = fs::read_to_string(&path)?;
        if !status.success() {
            let complaints = fs::read_to_string(&complaints).unwrap_or_default();
            bail!("{name} ended with {status}: {complaints}{text}");
        }
        // fio may talk before its JSON.
        let start = text.find('{').with_context(|| format!("{name} printed no JSON"))?;
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter();
        let value = values.next().with_context(|| format!("{name} printed no JSON"))??;
        Ok((value, cpu_ns as f64))
    }
}

/// The load as a drivelab method: one cell of exactly `seconds`.
fn method_text(load: Load, seconds: u64) -> String {
    let op = if load.op == Op::Write { "write" } else { "read" };
    let engine = match load.way {
        Way::Null => "auto",
        Way::Sync => "sync",
        Way::Uring => "uring",
    };
    let io = match load.caching {
        Caching::Buffered => "buffered",
        Caching::Direct => "direct",
    };
    // Only a file of its own is filled.
    let fill = u32::from(load.op == Op::Write);
    format!(
        "name = 'bench'\ntitle = 'bench'\nabout = 'one cell of cargo xtask bench'\n\
         span = '{FILE_BYTES}'\nfill = {fill}\npasses = 1\n\
         seconds_min = {seconds}\nseconds_max = {seconds}\nwritten_max = '1PiB'\n\
         [[cell]]\nop = '{op}'\npattern = 'random'\nblock = '4KiB'\ndepth = {depth}\n\
         engine = '{engine}'\nio = '{io}'\n",
        depth = load.depth
    )
}

fn number(value: &Value) -> Result<f64> {
    value.as_f64().with_context(|| format!("a number was expected, not {value}"))
}
