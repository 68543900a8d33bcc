//! A plan in words and figures, for whoever must agree to it: nothing here prints.

use super::{FAST, Plan, SLOW, forecast};
use crate::duration::in_words;
use crate::{
    method::{CacheState, CellBound, CellSpec, FileState, FinalFlush},
    workload::{
        Caching, EngineChoice, Io, Moves, Op, Pages, Pattern, Stream, Syncing,
        replay::{ReplayCell, Speed, What},
        tree::{TreeCell, TreeOp, TreeOrder, TreeState, TreeSync},
    },
};
use block::{counted, display_bytes};
use record::CacheDrop;

/// What a plan will do and may cost.
#[derive(Clone, PartialEq, Debug)]
pub struct Outline {
    /// The tested area and who chose it: `1 GiB, the method's span`.
    pub span: String,
    /// Passes, rounds or a single pass, in words.
    pub passes: String,
    /// Bytes written to each target before the first cell.
    pub fill_bytes: u64,
    /// Most bytes written to each target, fills included.
    pub written_bytes_max: u64,
    /// Shortest and longest time, seconds, fills included.
    pub seconds: (f64, f64),
    /// What `seconds` assumes; `None` when the clock alone bounds the plan.
    pub assumed: Option<String>,
    /// Every cell, in the method's order.
    pub cells: Vec<CellOutline>,
}

/// One cell of an [`Outline`].
#[derive(Clone, PartialEq, Debug)]
pub struct CellOutline {
    /// The cell's name, for `--set` and records.
    pub name: String,
    /// What it does: `random read 4 KiB, 32 deep`.
    pub title: String,
    /// How a pass of it ends, and what is done before and after.
    pub course: String,
    /// Most bytes that one pass writes.
    pub written_bytes_max: u64,
    /// Its share of what all cells may write, 0 to 1; 0 where none writes.
    pub written_share: f64,
    /// Shortest and longest time of one pass on one target, seconds.
    pub seconds: (f64, f64),
}

impl Plan {
    /// The plan in words and figures.
    pub fn outline(&self) -> Outline {
        let written = |cell: &CellSpec| self.pass_written_max(cell);
        let all = self.cells.iter().fold(0u64, |sum, cell| sum.saturating_add(written(cell)));
        let by_bytes = self.fill > 0 || self.cells.iter().any(|cell| cell.bound != CellBound::Time);
        let cells = self.cells.iter().map(|cell| CellOutline {
            name: cell.name.clone(),
            title: cell_title(cell),
            course: course(cell, self.rule_of(cell).seconds_max),
            written_bytes_max: written(cell),
            written_share: written(cell) as f64 / all.max(1) as f64,
            seconds: forecast::pass(self, cell),
        });
        Outline {
            span: format!("{}, {}", display_bytes(self.span_bytes), self.span_source),
            passes: match (&self.method.file.rounds, self.passes) {
                (_, passes) if self.until.is_some() => {
                    format!("a search of a closed loop and at most {} open ones", passes - 1)
                }
                (Some(_), passes) => {
                    format!("rounds until five in a row are steady, {passes} at most")
                }
                (None, 1) => "one pass".to_owned(),
                (None, passes) => format!("{passes} passes"),
            },
            fill_bytes: self.fill_bytes(),
            written_bytes_max: self.written_bytes_max,
            seconds: self.seconds,
            assumed: by_bytes.then(|| format!("what is bound by bytes: from {FAST}, to {SLOW}")),
            cells: cells.collect(),
        }
    }
}

/// What a stream of a cell does: `random read 4 KiB, 32 deep`.
pub(crate) fn stream_of(cell: &CellSpec, stream: &Stream) -> String {
    if cell.streams.len() > 1 { stream_title(stream) } else { cell_title(cell) }
}

/// What a cell does, all its streams: `random read 4 KiB, 32 deep`.
pub fn cell_title(cell: &CellSpec) -> String {
    if let Some(tree) = &cell.tree {
        return tree_title(tree, cell.streams[0].threads);
    }
    if let Some(replay) = &cell.replay {
        return replay_title(cell, replay);
    }
    let streams: Vec<String> = cell.streams.iter().map(stream_title).collect();
    let mut text = streams.join(" beside ");
    if let Some(bytes) = cell.file_bytes {
        text += &format!(", file of {}", display_bytes(bytes));
    }
    if let Some(rate) = &cell.rate_of {
        text += &format!(", {:.0} % of the rate of {}", 100.0 * rate.share, rate.cell);
    }
    match cell.coordinates.get("test") {
        Some(test) => format!("{test}: {text}"),
        None => text,
    }
}

/// `replay of web.iolog: 6000 reads, 4000 writes, 100 flushes, at 2 times its speed`.
fn replay_title(cell: &CellSpec, replay: &ReplayCell) -> String {
    let survey = &replay.survey;
    let named = [
        (What::Read, "read", "read"),
        (What::Write, "write", "write"),
        (What::Trim, "trim", "trim"),
    ];
    let kept = named
        .into_iter()
        .filter(|(_, _, stream)| cell.streams.iter().any(|known| known.name == *stream));
    let mut parts: Vec<String> =
        kept.map(|(what, noun, _)| counted(survey.operations_of(what), noun)).collect();
    let flushes = survey.operations_of(What::Flush);
    if flushes > 0 {
        parts.push(format!("{flushes} flush{}", if flushes == 1 { "" } else { "es" }));
    }
    let speed = match replay.speed {
        Speed::Times(1.0) => "at its own times".to_owned(),
        Speed::Times(times) => format!("at {times} times its speed"),
        Speed::Max => format!("as fast as it goes, {} deep", cell.streams[0].queue_depth),
    };
    format!("{}: {}, {speed}", survey.name, parts.join(", "))
}

/// `stat as listed, 1000 files of 4 KiB in 10 directories, 4 threads`.
fn tree_title(tree: &TreeCell, threads: u16) -> String {
    let layout = &tree.layout;
    let order = match tree.order {
        TreeOrder::Creation => "in the order of creation",
        TreeOrder::Readdir => "as listed",
        TreeOrder::Random => "in random order",
    };
    let mut text = format!("{} {order}", tree.op.name());
    text += &match tree.op {
        TreeOp::Readdir => format!(", {}", counted(layout.files, "file")),
        TreeOp::Mkdir | TreeOp::Rmdir => format!(", {} empty directories", layout.files),
        _ => format!(", {} of {}", counted(layout.files, "file"), layout.size),
    };
    if layout.directories > 1 {
        text += &format!(" in {} directories", layout.directories);
    }
    if threads > 1 {
        text += &format!(", {threads} threads");
    }
    match tree.sync {
        TreeSync::None => text,
        sync => format!("{text}, fsync: {sync}"),
    }
}

fn stream_title(stream: &Stream) -> String {
    let mut text = match stream.name.as_str() {
        "" => String::new(),
        name => format!("{name}: "),
    };
    let block = stream.block_words();
    text += &format!("{} {} {block}", pattern(stream.pattern), op(stream.op));
    if stream.queue_depth > 1 {
        text += &format!(", {} deep", stream.queue_depth);
    }
    if stream.threads > 1 {
        text += &format!(", {} threads", stream.threads);
    }
    if let Some(rate) = stream.rate {
        text += &format!(", {rate} a second");
    }
    if stream.flush_every > 0 {
        text += &format!(", a flush every {}", stream.flush_every);
    }
    text += &placing(stream);
    let access = access(stream.io, stream.engine);
    if access.is_empty() { text } else { format!("{text}, {access}") }
}

/// What makes a stream ask later, or elsewhere, than its pattern alone.
fn placing(stream: &Stream) -> String {
    let mut words = Vec::new();
    if let Some(think) = stream.think {
        let us = think.time_ns / 1000;
        words.push(format!("{us} us of think time after {}", counted(think.every, "operation")));
    }
    if stream.start_after_s > 0.0 {
        words.push(format!("from {} on", in_words(stream.start_after_s)));
    }
    if stream.sequential_percent > 0.0 {
        words.push(format!("{} % in sequence", stream.sequential_percent));
    }
    if stream.offset_increment_bytes > 0 {
        let apart = display_bytes(stream.offset_increment_bytes);
        words.push(format!("workers {apart} apart"));
    }
    match stream.moves {
        Some(Moves::Operations(count)) => {
            words.push(format!("hot spot moves every {}", counted(count, "operation")));
        }
        Some(Moves::Seconds(seconds)) => words.push(format!("hot spot moves every {seconds} s")),
        None => {}
    }
    words.iter().map(|word| format!(", {word}")).collect()
}

fn pattern(pattern: Pattern) -> String {
    match pattern {
        Pattern::Sequential => "sequential".to_owned(),
        Pattern::Permutation => "random (each block once)".to_owned(),
        Pattern::Rewrite => "same-block".to_owned(),
        Pattern::HotCold { hot_percent, access_percent } => {
            format!("hot/cold ({access_percent} % to {hot_percent} %)")
        }
        other => other.to_string(),
    }
}

fn op(op: Op) -> String {
    match op {
        Op::Mixed { read_percent } => format!("{read_percent}/{} read/write", 100.0 - read_percent),
        Op::ReadModifyWrite => "read-modify-write".to_owned(),
        Op::ReadDirty { dirty_percent } => format!("read ({dirty_percent} % written back)"),
        Op::WriteZeroes => "write zeroes".to_owned(),
        other => other.name().to_owned(),
    }
}

/// Nothing for plain direct I/O.
fn access(io: Io, engine: EngineChoice) -> String {
    let mut words = Vec::new();
    if engine.is_stdio() {
        words.push("through stdio");
    } else if io.caching == Caching::Buffered {
        words.push("buffered");
    }
    words.extend(match io.syncing {
        Syncing::None => None,
        Syncing::Dsync => Some("durable"),
        Syncing::Sync => Some("durable with metadata"),
    });
    words.extend((io.pages == Pages::Huge).then_some("huge pages"));
    words.join(", ")
}

fn course(cell: &CellSpec, seconds_max: f64) -> String {
    let mut words = Vec::new();
    if cell.rest_s > 0.0 {
        words.push(format!("a rest of {} first", in_words(cell.rest_s)));
    }
    words.extend(match cell.file {
        FileState::AsIs => None,
        FileState::Flushed => Some("flushed first".to_owned()),
        FileState::New => Some("a new file".to_owned()),
    });
    words.extend(match cell.cache {
        CacheState::AsIs => None,
        CacheState::Dropped(CacheDrop::File) => Some("cache dropped first".to_owned()),
        CacheState::Dropped(CacheDrop::Machine) => {
            Some("the machine's cache dropped first".to_owned())
        }
        CacheState::Dropped(CacheDrop::Remount) => Some("mounted anew first".to_owned()),
    });
    if cell.tree.as_ref().is_some_and(|tree| tree.tree == TreeState::New) {
        words.push("a new tree".to_owned());
    }
    words.push(match cell.bound {
        CellBound::Time => "until known well enough".to_owned(),
        CellBound::Once if cell.replay.is_some() => "once through".to_owned(),
        CellBound::Once if cell.tree.is_some() => "everything once".to_owned(),
        CellBound::Once => "the area once".to_owned(),
        CellBound::Operations(count) => counted(count, "operation"),
        CellBound::Exhaust => "until its bytes or seconds are spent".to_owned(),
        CellBound::Drain => {
            format!("until its rate falls, {} at most", in_words(seconds_max))
        }
    });
    words.extend(match cell.flush {
        FinalFlush::None => None,
        FinalFlush::Timed if cell.writes() => Some("flush within the time".to_owned()),
        FinalFlush::Untimed if cell.writes() => Some("flush shown apart".to_owned()),
        FinalFlush::Timed | FinalFlush::Untimed => None,
    });
    words.join(", ")
}
