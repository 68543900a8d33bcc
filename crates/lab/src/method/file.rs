//! A method as its author writes it: TOML, every key checked. `docs/reference/methodology.md`
//! explains the keys.

use super::{Axis, Scalar, TreeFile, tree::TREE_KEYS};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A whole method file.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodFile {
    /// What `--method` calls it.
    pub name: String,
    /// One line for lists.
    #[serde(default = "own_title")]
    pub title: String,
    /// What it does and where it comes from.
    #[serde(default)]
    pub about: String,
    /// How the results are printed: `list`, `bm-flash`, `iozone`, `iozone-cmu`, `dd`, `oltp`,
    /// `snia`, `saturation`.
    #[serde(default = "list_layout")]
    pub layout: String,
    /// `random`: cells in random order within a pass. `fixed`: as written.
    #[serde(default)]
    pub order: Order,
    /// The tested area: a size, or `2x memory`, `capacity`, `0.5x capacity`, `largest file`.
    #[serde(default = "one_gib")]
    pub span: String,
    /// How often the whole area is written before the first cell: 0 for not at all, which is also
    /// what happens when it is absent, unless [`super::Method::fill_what_is_new`] was called.
    #[serde(default)]
    pub fill: Option<u32>,
    /// `fill x 3`: all that the target offers, and not the tested area alone, is written so often
    /// before the first cell; in place of `fill`.
    #[serde(default)]
    pub precondition: Option<String>,
    /// `quick`, `normal` or `publish` unless the user says otherwise.
    #[serde(default)]
    pub grade: Option<String>,
    /// Passes over the method; the grade's number when absent.
    #[serde(default)]
    pub passes: Option<u32>,
    /// Longest time of one cell, seconds; the grade's when absent.
    #[serde(default)]
    pub seconds_max: Option<f64>,
    /// Shortest time of one cell, seconds; the grade's when absent.
    #[serde(default)]
    pub seconds_min: Option<f64>,
    /// Most bytes that each writing stream writes in one pass that nothing else bounds: a size (of
    /// which a quarter of the span is always allowed) or `2x span`; `4x span` when absent.
    #[serde(default)]
    pub written_max: Option<String>,
    /// Most bytes that all time-bound cells of a run at grade quick write to something that wears,
    /// fills apart, unless the user says otherwise: a size. No bound when absent.
    #[serde(default)]
    pub run_written_max: Option<String>,
    /// More than this many times the span of writes needs `--yes`.
    #[serde(default = "default_ask_above")]
    pub ask_above: f64,
    /// SNIA rounds: passes go on until the rounds are steady.
    #[serde(default)]
    pub rounds: Option<RoundsFile>,
    /// Sentences about what became of it where it was translated from another tool's file; kept in
    /// the record.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What latencies of its cells must hold, for what it is named after.
    #[serde(default)]
    pub expect: Vec<ExpectFile>,
    /// What it does not measure, printed at the end. `{cost}` becomes what that would cost.
    #[serde(default)]
    pub not_measured: Option<String>,
    /// Settings of every cell that does not say otherwise.
    #[serde(default)]
    pub defaults: CellFile,
    /// Leaves out records under 64 KiB for files above 16 MiB, as IOzone does, unless `--set block`
    /// names records.
    #[serde(default)]
    pub skip_small_records: bool,
    /// Axes around the whole list of cells, outermost first: `file`, `op`, `pattern`,
    /// `block`, `threads`, `depth`.
    #[serde(default)]
    pub axes: BTreeMap<String, Axis>,
    /// The cells.
    #[serde(rename = "cell")]
    pub cells: Vec<CellFile>,
}

fn own_title() -> String {
    "a method of your own".to_owned()
}

fn one_gib() -> String {
    "1GiB".to_owned()
}

fn list_layout() -> String {
    "list".to_owned()
}

fn default_ask_above() -> f64 {
    32.0
}

/// Order of the cells within a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Shuffled anew in every pass, so that no cell always follows the same one.
    #[default]
    Random,
    /// As written: later cells need what earlier ones did.
    Fixed,
}

/// Rounds after the SNIA performance test specification.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundsFile {
    /// Most rounds.
    pub max: u32,
    /// Seconds of each cell in a round.
    pub seconds: f64,
    /// The cell whose rates decide about steady state: its name, or as much of it as tells it from
    /// the others (`random-write-4K`).
    pub tracked: String,
}

/// A limit on the latency of a cell, with what it means and where it comes from.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectFile {
    /// The cell or stream: its name in the record, or as much of it as cells share that are meant;
    /// every cell when absent.
    #[serde(default)]
    pub cell: Option<String>,
    /// Such as `p99 < 10 ms`.
    pub limit: String,
    /// What follows where it is not held.
    pub meaning: String,
    /// Who says so.
    pub source: String,
}

/// One cell, or one stream of a cell.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellFile {
    /// Name of the cell; made from its settings when absent.
    pub name: Option<String>,
    /// `read`, `write`, `mixed:70`, `read_modify_write`, `commit`.
    pub op: Option<Axis>,
    /// `seq`, `random`, `permutation`, `zipf:0.99`, `hot_cold:20/80`, `backward`, `strided:17`,
    /// `rewrite`.
    pub pattern: Option<Axis>,
    /// Bytes of one operation.
    pub block: Option<Axis>,
    /// Workers.
    pub threads: Option<Axis>,
    /// Operations each worker keeps in flight.
    pub depth: Option<Axis>,
    /// Bytes of the file the cell works on, when not the whole span.
    pub file: Option<Axis>,
    /// `auto`, `sync`, `uring`, `stdio`.
    pub engine: Option<String>,
    /// `direct`, `buffered`, `direct,dsync`, `direct,hugepages`...
    pub io: Option<String>,
    /// `random`, `zeros`, `compressible:50`.
    pub data: Option<String>,
    /// A flush after this many writes of a worker.
    pub flush_every: Option<u32>,
    /// Operations per second of the stream (open loop): `1000`, `1000..5000`, `1000..5000 in 5
    /// steps`.
    pub rate: Option<Scalar>,
    /// A pause of each worker, microseconds (fio: `thinktime`).
    pub think_time_us: Option<u64>,
    /// After so many operations of it (fio: `thinktime_blocks`).
    pub think_every: Option<u32>,
    /// The stream starts so many seconds after the pass (fio: `startdelay`).
    pub start_after: Option<f64>,
    /// Percent of the operations that follow the one before (fio: 100 - `percentage_random`).
    pub sequential_share: Option<f64>,
    /// Each worker's area starts so many bytes after the one before (fio: `offset_increment`).
    pub offset_increment: Option<String>,
    /// How often the hot spot of a skewed pattern moves: operations, or `5 s`.
    pub moves_every: Option<Scalar>,
    /// The same as a share of another cell's rate: `95 % of read-4K`.
    pub rate_of: Option<String>,
    /// Seconds in which nothing is asked for, before the cell.
    pub rest: Option<f64>,
    /// How long the cell takes, or at most where its bound ends it sooner; else the method's.
    pub seconds: Option<f64>,
    /// Start and end of the part of the area it works on, 0 to 1.
    pub part: Option<(f64, f64)>,
    /// First byte of the part it works on, in place of `part`: `10GiB`, `25%`, `25%+1MiB`.
    pub start: Option<String>,
    /// Bytes of it, in the same way; to the end when absent.
    pub length: Option<String>,
    /// All offsets are moved up by so many bytes, to measure what misalignment costs.
    pub shift: Option<String>,
    /// Most bytes that each writing stream writes in one pass that only time bounds: a size, or
    /// `0.25x span`; the method's when absent.
    pub written_max: Option<String>,
    /// Longest time of the cell, seconds; the method's when absent.
    pub seconds_max: Option<f64>,
    /// `time`, `once` (the area once), `exhaust` (until its bytes or seconds are spent) or a number
    /// of operations of each worker.
    pub bound: Option<Axis>,
    /// What the end of the cell does: `none`, `timed` or `untimed` flush.
    pub flush: Option<String>,
    /// What happens before it: any of `new_file`, `flush`, `drop_cache`.
    pub before: Option<Vec<String>>,
    /// How its file is put out of the page cache before it: `no`, `file`, `machine`, `remount`.
    /// When absent, `file` where `before` has `drop_cache`.
    pub drop_cache: Option<String>,
    /// Further coordinates for the table.
    pub coordinates: Option<BTreeMap<String, String>>,
    /// The file tree of an operation on trees.
    pub tree: Option<TreeFile>,
    /// Several streams at the same time; they inherit the cell's settings.
    #[serde(default, rename = "stream")]
    pub streams: Vec<CellFile>,
}

impl CellFile {
    /// This cell with `over`'s settings in place of its own where `over` has any.
    pub fn overlaid(&self, over: &Self) -> Self {
        let Self { name, op, pattern, block, threads, depth, file, engine, .. } = over.clone();
        let Self { io, data, flush_every, rate, part, bound, flush, before, .. } = over.clone();
        let Self { shift, written_max, seconds_max, drop_cache, rate_of, rest, seconds, .. } =
            over.clone();
        let Self { start, length, .. } = over.clone();
        let Self { think_time_us, think_every, start_after, sequential_share, .. } = over.clone();
        let Self { offset_increment, moves_every, .. } = over.clone();
        let coordinates = match (&self.coordinates, &over.coordinates) {
            (Some(under), Some(over)) => {
                Some(under.clone().into_iter().chain(over.clone()).collect())
            }
            (under, over) => over.clone().or_else(|| under.clone()),
        };
        let under = self.clone();
        let tree = match (under.tree, over.tree.clone()) {
            (Some(under), Some(over)) => Some(under.overlaid(over)),
            (under, over) => over.or(under),
        };
        Self {
            tree,
            name: name.or(under.name),
            op: op.or(under.op),
            pattern: pattern.or(under.pattern),
            block: block.or(under.block),
            threads: threads.or(under.threads),
            depth: depth.or(under.depth),
            file: file.or(under.file),
            engine: engine.or(under.engine),
            io: io.or(under.io),
            data: data.or(under.data),
            flush_every: flush_every.or(under.flush_every),
            rate: rate.or(under.rate),
            rate_of: rate_of.or(under.rate_of),
            think_time_us: think_time_us.or(under.think_time_us),
            think_every: think_every.or(under.think_every),
            start_after: start_after.or(under.start_after),
            sequential_share: sequential_share.or(under.sequential_share),
            offset_increment: offset_increment.or(under.offset_increment),
            moves_every: moves_every.or(under.moves_every),
            rest: rest.or(under.rest),
            seconds: seconds.or(under.seconds),
            part: part.or(under.part),
            start: start.or(under.start),
            length: length.or(under.length),
            shift: shift.or(under.shift),
            written_max: written_max.or(under.written_max),
            seconds_max: seconds_max.or(under.seconds_max),
            bound: bound.or(under.bound),
            flush: flush.or(under.flush),
            before: before.or(under.before),
            drop_cache: drop_cache.or(under.drop_cache),
            coordinates,
            streams: if over.streams.is_empty() { under.streams } else { over.streams.clone() },
        }
    }

    /// Sets `key` from the text a user typed (`--set key=value`) or a method's axis.
    ///
    /// # Errors
    /// A sentence that names the keys there are, or what is wrong with the value.
    pub fn set(&mut self, key: &str, value: Axis) -> Result<(), String> {
        let one = || match value.0.as_slice() {
            [one] => Ok(one.clone()),
            _ => Err(format!("`{key}` takes one value")),
        };
        let number =
            |text: String| text.parse::<f64>().map_err(|_| format!("`{key}={text}`: not a number"));
        let count = |text: String| {
            text.parse::<u32>().map_err(|_| format!("`{key}={text}`: a whole number, 0 for none"))
        };
        match key {
            "op" => self.op = Some(value),
            "pattern" => self.pattern = Some(value),
            "block" => self.block = Some(value),
            "threads" => self.threads = Some(value),
            "depth" => self.depth = Some(value),
            "file" => self.file = Some(value),
            "bound" => self.bound = Some(value),
            "engine" => self.engine = Some(one()?),
            "io" => self.io = Some(one()?),
            "data" => self.data = Some(one()?),
            "flush" => self.flush = Some(one()?),
            "shift" => self.shift = Some(one()?),
            "drop_cache" => self.drop_cache = Some(one()?),
            "rate" => self.rate = Some(Scalar(one()?)),
            "flush_every" => self.flush_every = Some(count(one()?)?),
            "think_time_us" => self.think_time_us = Some(count(one()?)?.into()),
            "think_every" => self.think_every = Some(count(one()?)?),
            "start_after" => self.start_after = Some(number(one()?)?),
            "sequential_share" => self.sequential_share = Some(number(one()?)?),
            "offset_increment" => self.offset_increment = Some(one()?),
            "moves_every" => self.moves_every = Some(Scalar(one()?)),
            _ if TREE_KEYS.contains(&key) => {
                self.tree.get_or_insert_default().set(key, one()?)?;
            }
            _ => {
                let near = super::fio_words::key_here(key, SET_KEYS.iter().copied());
                return Err(format!("`{key}` cannot be set.{near} Keys: {}.", SET_KEYS.join(", ")));
            }
        }
        Ok(())
    }
}

/// The keys that [`CellFile::set`] knows.
pub const SET_KEYS: &[&str] = &[
    "op",
    "pattern",
    "block",
    "threads",
    "depth",
    "file",
    "bound",
    "engine",
    "io",
    "data",
    "flush",
    "rate",
    "flush_every",
    "think_time_us",
    "think_every",
    "start_after",
    "sequential_share",
    "offset_increment",
    "moves_every",
    "shift",
    "drop_cache",
    "files",
    "file_size",
    "directories",
    "levels",
    "names",
    "sync",
];
