//! One cell, resolved: streams with every setting known.

use super::{
    Axis, CellFile,
    choice::unknown,
    rule::{WrittenRule, written_rule},
    stream::stream,
    tree,
    value::{THREADS_MAX, count, only, size},
};
use crate::{
    target::Writes,
    workload::{BlockMix, Op, Pattern, Rate, Stream, replay::ReplayCell, tree::TreeCell},
};
use block::{display_bytes, parse_bytes};
use record::CacheDrop;
use std::collections::BTreeMap;

/// Writes of so many bytes are long pieces, wherever they lie.
const LONG_BYTES: u32 = 128 << 10;

/// One or more streams that run at the same time.
#[derive(Clone, PartialEq, Debug)]
pub struct CellSpec {
    /// Unique in the method.
    pub name: String,
    /// What runs.
    pub streams: Vec<Stream>,
    /// How a pass of it ends.
    pub bound: CellBound,
    /// The file it works on, when not the whole span.
    pub file_bytes: Option<u64>,
    /// Whether a fresh, empty file is needed first.
    pub file: FileState,
    /// Whether the page cache is emptied first.
    pub cache: CacheState,
    /// The flush at the end.
    pub flush: FinalFlush,
    /// Most bytes that each writing stream writes in one pass that only time bounds, when not the
    /// method's.
    pub written_max: Option<u64>,
    /// The same as a multiple of the tested area; a plan makes bytes of it.
    pub written_spans: Option<f64>,
    /// Longest time of one pass, seconds, when not the method's.
    pub seconds_max: Option<f64>,
    /// Further coordinates for the table.
    pub coordinates: BTreeMap<String, String>,
    /// Its rate as a share of another cell's, which ran before it.
    pub rate_of: Option<RateOf>,
    /// Seconds in which nothing is asked for, before it.
    pub rest_s: f64,
    /// How long it takes, or at most where its bound ends it sooner; when not the method's.
    pub seconds: Option<f64>,
    /// The file tree it works on, when it does not work on blocks; it then has one stream.
    pub tree: Option<TreeCell>,
    /// What it replays, when its operations come from a trace; it then has a stream for reads, for
    /// writes and for trims, as far as there are any, which share one queue.
    pub replay: Option<ReplayCell>,
}

/// A rate that is known when another cell was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct RateOf {
    /// Of that cell's rate.
    pub share: f64,
    /// Which cell, by its name.
    pub cell: String,
}

impl RateOf {
    /// Reads `95 % of read-4K`.
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("rate_of = `{text}`: such as `95 % of read-4K`, 1 to 1000 %");
        let (percent, cell) = text.split_once(" of ").ok_or_else(wrong)?;
        let percent = percent.trim().strip_suffix('%').ok_or_else(wrong)?.trim();
        let percent: f64 = percent.parse().map_err(|_| wrong())?;
        let is_right = (1.0..=1000.0).contains(&percent) && !cell.trim().is_empty();
        let cell = cell.trim().to_owned();
        is_right.then_some(Self { share: percent / 100.0, cell }).ok_or_else(wrong)
    }
}

/// How a pass of a cell ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellBound {
    /// By the stop rule.
    Time,
    /// When every block of the area had its turn.
    Once,
    /// After this many operations of each worker.
    Operations(u64),
    /// When the bytes or the seconds allowed are spent, however steady the rate is: what is looked
    /// for may come late.
    Exhaust,
    /// The same, but soon after its rate fell for good: what was to be used up is.
    Drain,
}

/// What a cell needs of its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileState {
    /// As the cell before left it.
    AsIs,
    /// The same, and what was written to it is on the drive: nobody writes it back while this cell
    /// runs.
    Flushed,
    /// New and empty: writes make it grow.
    New,
}

/// What a cell needs of the page cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheState {
    /// As the cell before left it.
    AsIs,
    /// Without this file, by this means.
    Dropped(CacheDrop),
}

/// The flush at the end of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FinalFlush {
    /// None.
    None,
    /// Done, and its time counts as the cell's.
    Timed,
    /// Done and its time shown apart.
    Untimed,
}

impl CellSpec {
    /// Streams and nothing else: on what the target holds, ended by `bound`, then flushed apart.
    pub fn of_streams(name: &str, streams: Vec<Stream>, bound: CellBound) -> Self {
        Self {
            name: name.to_owned(),
            streams,
            bound,
            file_bytes: None,
            file: FileState::AsIs,
            cache: CacheState::AsIs,
            flush: FinalFlush::Untimed,
            written_max: None,
            written_spans: None,
            seconds_max: None,
            coordinates: BTreeMap::new(),
            rate_of: None,
            rest_s: 0.0,
            seconds: None,
            tree: None,
            replay: None,
        }
    }

    /// Whether the target's bytes change.
    pub fn writes(&self) -> bool {
        self.streams.iter().any(|stream| stream.op.writes())
    }

    /// Seconds from the start of a pass until its last stream has started.
    pub fn quiet_s(&self) -> f64 {
        self.streams.iter().map(|stream| stream.start_after_s).fold(0.0, f64::max)
    }

    /// Whether a rate changes over its passes, which then take all of their time.
    pub fn is_ramp(&self) -> bool {
        self.streams.iter().any(|stream| stream.rate.is_some_and(Rate::is_ramp))
    }

    /// How its writes lie.
    pub fn written(&self) -> Writes {
        let each = self.streams.iter().map(|stream| {
            let follows = stream.pattern == Pattern::Sequential && stream.threads == 1;
            match stream.op.writes() {
                false => Writes::Nothing,
                true if follows || stream.block_bytes >= LONG_BYTES => Writes::InOrder,
                true => Writes::Scattered,
            }
        });
        each.max().unwrap_or(Writes::Nothing)
    }

    /// Whether reads need data that was written before.
    pub fn reads(&self) -> bool {
        self.tree.is_none() && self.streams.iter().any(|stream| reads(stream.op))
    }
}

/// Whether an operation needs data that are there.
fn reads(op: Op) -> bool {
    op != Op::Trim && (op.written_share() < 1.0 || op == Op::ReadModifyWrite)
}

/// The axes whose values multiply into cells, outermost first.
const AXES: &[&str] = &["file", "op", "pattern", "block", "threads", "depth", "bound"];

/// What a value of an axis adds to the name of a cell that has one: `t8`, `q32`, `f4G`, `8K`.
pub(super) fn suffix(axis: &str, value: &str) -> String {
    let size = || parse_bytes(value).map_or_else(|_| value.to_owned(), short);
    match axis {
        "threads" => format!("t{value}"),
        "depth" => format!("q{value}"),
        "file" => format!("f{}", size()),
        "block" => size(),
        _ => value.to_owned(),
    }
}

/// Turns one written cell into as many cells as its axes' values multiply to.
pub(super) fn expand(written: &CellFile) -> Result<Vec<CellSpec>, String> {
    let mut single = vec![written.clone()];
    for axis in AXES {
        single = single.into_iter().flat_map(|cell| along(cell, axis)).collect();
    }
    single.iter().map(resolve).collect()
}

fn axis_of<'a>(cell: &'a mut CellFile, name: &str) -> &'a mut Option<Axis> {
    match name {
        "file" => &mut cell.file,
        "op" => &mut cell.op,
        "pattern" => &mut cell.pattern,
        "block" => &mut cell.block,
        "threads" => &mut cell.threads,
        "depth" => &mut cell.depth,
        "bound" => &mut cell.bound,
        other => unreachable!("`{other}` is not in AXES"),
    }
}

fn along(mut cell: CellFile, name: &str) -> Vec<CellFile> {
    let Some(Axis(values)) = axis_of(&mut cell, name).take() else { return vec![cell] };
    let several = values.len() > 1;
    values
        .into_iter()
        .map(|value| {
            let mut one = cell.clone();
            if let Some(given) = one.name.as_mut().filter(|_| several) {
                *given += &format!("-{}", suffix(name, &value));
            }
            *axis_of(&mut one, name) = Some(Axis(vec![value]));
            one
        })
        .collect()
}

fn resolve(cell: &CellFile) -> Result<CellSpec, String> {
    match tree::tree_cell(cell)? {
        Some(tree) => of_tree(cell, tree),
        None => of_blocks(cell),
    }
}

fn of_tree(cell: &CellFile, tree: TreeCell) -> Result<CellSpec, String> {
    let threads = count("threads", &cell.threads, THREADS_MAX)? as u16;
    let written = cell.bound.as_ref().map(|axis| bound(Some(axis))).transpose()?;
    Ok(CellSpec {
        name: cell.name.clone().unwrap_or_else(|| tree::name_of(&tree, threads)),
        streams: vec![tree::stream(&tree, String::new(), threads)],
        bound: tree::bound(&tree, written)?,
        file_bytes: None,
        file: FileState::AsIs,
        cache: CacheState::AsIs,
        flush: final_flush(cell)?,
        written_max: None,
        written_spans: None,
        seconds_max: seconds_max(cell)?,
        coordinates: cell.coordinates.clone().unwrap_or_default(),
        rate_of: None,
        rest_s: rest_s(cell)?,
        seconds: seconds(cell)?,
        tree: Some(tree),
        replay: None,
    })
}

fn seconds_max(cell: &CellFile) -> Result<Option<f64>, String> {
    match cell.seconds_max {
        Some(seconds) if !(0.1..=86_400.0).contains(&seconds) => {
            Err(format!("seconds_max = {seconds}: from 0.1 to 86400"))
        }
        seconds => Ok(seconds),
    }
}

fn final_flush(cell: &CellFile) -> Result<FinalFlush, String> {
    match cell.flush.as_deref() {
        None | Some("none") => Ok(FinalFlush::None),
        Some("timed") => Ok(FinalFlush::Timed),
        Some("untimed") => Ok(FinalFlush::Untimed),
        Some(other) => Err(format!("flush = `{other}`: there are none, timed, untimed")),
    }
}

fn of_blocks(cell: &CellFile) -> Result<CellSpec, String> {
    let mut own = cell.clone();
    own.streams.clear();
    let written: Vec<CellFile> = if cell.streams.is_empty() {
        own.name = None;
        vec![own]
    } else {
        cell.streams.iter().map(|stream| own.overlaid(stream)).collect()
    };
    let streams = written.iter().map(stream).collect::<Result<Vec<_>, _>>()?;
    let file_bytes =
        cell.file.as_ref().map(|axis| size("file", only("file", axis)?)).transpose()?;
    let before = cell.before.clone().unwrap_or_default();
    let has = |wanted: &str| before.iter().any(|word| word == wanted);
    if let Some(wrong) =
        before.iter().find(|word| !["new_file", "flush", "drop_cache"].contains(&word.as_str()))
    {
        return Err(format!("before = `{wrong}`: there are `new_file`, `flush` and `drop_cache`"));
    }
    let written = cell.written_max.as_deref().map(|text| written_rule(Some(text))).transpose()?;
    let (written_max, written_spans) = match written {
        None => (None, None),
        Some(WrittenRule::Bytes(bytes)) => (Some(bytes), None),
        Some(WrittenRule::Spans(spans)) => (None, Some(spans)),
    };
    let spec = CellSpec {
        name: cell.name.clone().unwrap_or_else(|| name_of(&streams[0], file_bytes)),
        bound: bound(cell.bound.as_ref())?,
        file_bytes,
        file: match (has("new_file"), has("flush")) {
            (true, _) => FileState::New,
            (false, true) => FileState::Flushed,
            (false, false) => FileState::AsIs,
        },
        cache: cache_state(cell.drop_cache.as_deref(), &before)?,
        flush: final_flush(cell)?,
        written_max,
        written_spans,
        seconds_max: seconds_max(cell)?,
        coordinates: cell.coordinates.clone().unwrap_or_default(),
        rate_of: cell.rate_of.as_deref().map(RateOf::parse).transpose()?,
        rest_s: rest_s(cell)?,
        seconds: seconds(cell)?,
        tree: None,
        replay: None,
        streams,
    };
    if spec.rate_of.is_some() && (spec.streams.len() > 1 || cell.rate.is_some()) {
        return Err("rate_of is the rate of one stream, in place of `rate`".to_owned());
    }
    if spec.rate_of.is_some() && spec.streams[0].think.is_some() {
        return Err("rate_of and think_time_us: a schedule does not wait for a pause; set one of \
                    them"
            .to_owned());
    }
    refuse_ramps_without_end(&spec)?;
    Ok(spec)
}

/// Rates change over the time of a pass, which must be known.
fn refuse_ramps_without_end(spec: &CellSpec) -> Result<(), String> {
    let is_ramp = |stream: &Stream| stream.rate.is_some_and(Rate::is_ramp);
    match spec.streams.iter().find(|stream| is_ramp(stream)).and_then(|stream| stream.rate) {
        Some(rate) if spec.bound != CellBound::Time => Err(format!(
            "rate = \"{rate}\" changes over the time of a pass, which this bound ends sooner or \
             later: use bound = `time`, and `seconds` for how long"
        )),
        _ => Ok(()),
    }
}

/// A day of nothing is more than anybody waits for.
const REST_S_MAX: f64 = 86_400.0;

fn rest_s(cell: &CellFile) -> Result<f64, String> {
    match cell.rest.unwrap_or(0.0) {
        rest if (0.0..=REST_S_MAX).contains(&rest) => Ok(rest),
        rest => Err(format!("rest = {rest}: seconds, 0 to {REST_S_MAX}")),
    }
}

fn seconds(cell: &CellFile) -> Result<Option<f64>, String> {
    match cell.seconds {
        Some(seconds) if !(seconds > 0.0 && seconds <= REST_S_MAX) => {
            Err(format!("seconds = {seconds}: above 0, to {REST_S_MAX}"))
        }
        seconds => Ok(seconds),
    }
}

fn cache_state(written: Option<&str>, before: &[String]) -> Result<CacheState, String> {
    Ok(match written {
        None if before.iter().any(|word| word == "drop_cache") => {
            CacheState::Dropped(CacheDrop::File)
        }
        None | Some("no") => CacheState::AsIs,
        Some("file") => CacheState::Dropped(CacheDrop::File),
        Some("machine") => CacheState::Dropped(CacheDrop::Machine),
        Some("remount") => CacheState::Dropped(CacheDrop::Remount),
        Some(other) => {
            return Err(unknown("drop_cache", other, &["no", "file", "machine", "remount"]));
        }
    })
}

fn bound(written: Option<&Axis>) -> Result<CellBound, String> {
    let Some(axis) = written else { return Ok(CellBound::Time) };
    match only("bound", axis)? {
        "time" => Ok(CellBound::Time),
        "once" => Ok(CellBound::Once),
        "exhaust" => Ok(CellBound::Exhaust),
        "drain" => Ok(CellBound::Drain),
        text => match text.parse() {
            Ok(count) if count > 0 => Ok(CellBound::Operations(count)),
            _ => Err(format!(
                "bound = `{text}`: `time`, `once`, `exhaust`, `drain` or a number of operations"
            )),
        },
    }
}

/// `random-read-4K-t1-q32`, with the file's size where the method varies it.
fn name_of(stream: &Stream, file_bytes: Option<u64>) -> String {
    let mut name = format!(
        "{}-{}-{}-t{}-q{}",
        stream.pattern,
        stream.op,
        stream
            .mix
            .as_ref()
            .map_or_else(|| short(u64::from(stream.block_bytes)), BlockMix::to_string),
        stream.threads,
        stream.queue_depth
    );
    if let Some(bytes) = file_bytes {
        name += &format!("-f{}", short(bytes));
    }
    if stream.shift_bytes > 0 {
        name += &format!("-s{}", short(stream.shift_bytes));
    }
    name
}

/// `4K`, `512B`, `1.50M`.
fn short(bytes: u64) -> String {
    display_bytes(bytes).replace(' ', "").replace("iB", "")
}
