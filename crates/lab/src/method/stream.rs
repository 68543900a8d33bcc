//! One stream, resolved from what a method says of it.

use super::{
    CellFile,
    choice::{one_of, unknown},
    value::{BLOCK_BYTES_MAX, DEPTH_MAX, THREADS_MAX, count, required, size},
};
use crate::workload::{
    BlockMix, Contents, EngineChoice, Io, Moves, Op, Pattern, Rate, Reach, Stream, StreamPlace,
    Think,
};
use block::display_bytes;

/// Nobody waits longer than a day.
const SECONDS_MAX: f64 = 86_400.0;

/// The stream that a written cell, or one of its streams, says.
pub(super) fn stream(cell: &CellFile) -> Result<Stream, String> {
    let op_text = required("op", &cell.op)?;
    let op = Op::parse(op_text).ok_or_else(|| unknown("op", op_text, Op::NAMES))?;
    if let Op::Tree(op) = op {
        return Err(format!(
            "{} works on a file tree, which a cell does by itself: give it a cell of its own",
            op.name()
        ));
    }
    let pattern_text = required("pattern", &cell.pattern)?;
    let pattern = Pattern::parse(pattern_text)
        .ok_or_else(|| unknown("pattern", pattern_text, Pattern::NAMES))?;
    let (block_bytes, mix) = block(required("block", &cell.block)?, op)?;
    let threads = count("threads", &cell.threads, THREADS_MAX)?;
    let queue_depth = count("depth", &cell.depth, DEPTH_MAX)?;
    let engine = one_of("engine", &cell.engine, EngineChoice::parse, EngineChoice::NAMES)?;
    if queue_depth > 1 && (engine == EngineChoice::Sync || engine.is_stdio()) {
        return Err(format!(
            "depth = {queue_depth}: this engine keeps one operation in flight; use --engine uring, \
             or threads = {queue_depth} at depth = 1"
        ));
    }
    let part = cell.part.unwrap_or((0.0, 1.0));
    if !(0.0 <= part.0 && part.0 < part.1 && part.1 <= 1.0) {
        return Err(format!("part = [{}, {}]: a start below an end, 0 to 1", part.0, part.1));
    }
    let stream = Stream {
        name: cell.name.clone().unwrap_or_default(),
        threads: threads as u16,
        queue_depth: queue_depth as u32,
        engine,
        io: one_of("io", &cell.io, Io::parse, Io::NAMES)?,
        flush_every: cell.flush_every.unwrap_or(0),
        rate: cell.rate.as_ref().map(|rate| Rate::parse(&rate.0)).transpose()?,
        think: think(cell)?,
        start_after_s: start_after_s(cell)?,
        sequential_percent: sequential_percent(cell, pattern)?,
        offset_increment_bytes: optional_size("offset_increment", &cell.offset_increment)?,
        moves: moves(cell, pattern)?,
        part,
        place: place(cell)?,
        shift_bytes: optional_size("shift", &cell.shift)?,
        contents: one_of("data", &cell.data, Contents::parse, Contents::NAMES)?,
        mix,
        ..Stream::new(op, pattern, block_bytes)
    };
    refuse_contradictions(&stream)?;
    Ok(stream)
}

/// The largest block, and the mix where there is one.
fn block(text: &str, op: Op) -> Result<(u32, Option<BlockMix>), String> {
    // What carries nothing takes no memory.
    let most = if op.carries_nothing() { u64::from(u32::MAX) } else { BLOCK_BYTES_MAX };
    if text.contains([':', ',']) {
        let mix = BlockMix::parse(text, most)?;
        return Ok((mix.largest(), Some(mix)));
    }
    let bytes = size("block", text)?;
    if !(1..=most).contains(&bytes) {
        return Err(format!("block = {bytes}: blocks go from 1 B to {}", display_bytes(most)));
    }
    Ok((bytes as u32, None))
}

fn optional_size(key: &str, text: &Option<String>) -> Result<u64, String> {
    text.as_deref().map_or(Ok(0), |text| size(key, text))
}

/// The part it works on, where that is said to the byte.
fn place(cell: &CellFile) -> Result<Option<StreamPlace>, String> {
    if cell.start.is_none() && cell.length.is_none() {
        return Ok(None);
    }
    if cell.part.is_some() {
        return Err("`part` and `start` or `length` say the same: leave one out".to_owned());
    }
    let reach = |key: &str, text: &Option<String>, otherwise: Reach| match text {
        None => Ok(otherwise),
        Some(text) => Reach::parse(text)
            .ok_or_else(|| format!("{key} = `{text}`: such as `10GiB`, `25%` or `25%+1MiB`")),
    };
    let length = reach("length", &cell.length, Reach { share: 1.0, bytes: 0 })?;
    if length == Reach::default() {
        return Err("length = 0: nothing to work on".to_owned());
    }
    Ok(Some(StreamPlace { start: reach("start", &cell.start, Reach::default())?, length }))
}

fn think(cell: &CellFile) -> Result<Option<Think>, String> {
    let Some(us) = cell.think_time_us else {
        return match cell.think_every {
            Some(_) => Err("think_every says how often: say how long with think_time_us".into()),
            None => Ok(None),
        };
    };
    let every = cell.think_every.unwrap_or(1);
    if us > SECONDS_MAX as u64 * 1_000_000 {
        return Err(format!("think_time_us = {us}: microseconds, up to a day"));
    }
    if every == 0 {
        return Err("think_every = 0: a pause comes after 1 operation or more".into());
    }
    Ok((us > 0).then_some(Think { time_ns: us * 1000, every }))
}

fn start_after_s(cell: &CellFile) -> Result<f64, String> {
    match cell.start_after.unwrap_or(0.0) {
        seconds if (0.0..=SECONDS_MAX).contains(&seconds) => Ok(seconds),
        seconds => Err(format!("start_after = {seconds}: seconds, 0 to {SECONDS_MAX}")),
    }
}

fn sequential_percent(cell: &CellFile, pattern: Pattern) -> Result<f64, String> {
    let percent = cell.sequential_share.unwrap_or(0.0);
    if !(0.0..=100.0).contains(&percent) {
        return Err(format!("sequential_share = {percent}: percent, 0 to 100"));
    }
    let mixes = matches!(
        pattern,
        Pattern::Random | Pattern::Zipf { .. } | Pattern::HotCold { .. } | Pattern::Zones(_)
    );
    if percent > 0.0 && !mixes {
        return Err(format!(
            "sequential_share = {percent}: among accesses at random only; use pattern = `random`, \
             `zipf` or `hot_cold` in place of `{pattern}`"
        ));
    }
    Ok(percent)
}

fn moves(cell: &CellFile, pattern: Pattern) -> Result<Option<Moves>, String> {
    let Some(text) = &cell.moves_every else { return Ok(None) };
    if !matches!(pattern, Pattern::Zipf { .. } | Pattern::HotCold { .. }) {
        return Err(format!(
            "moves_every = {}: `{pattern}` has no hot spot that could move; use pattern = `zipf` \
             or `hot_cold`",
            text.0
        ));
    }
    Moves::parse(&text.0).map(Some)
}

fn refuse_contradictions(stream: &Stream) -> Result<(), String> {
    if stream.op.carries_nothing() && stream.engine.is_stdio() {
        return Err(format!(
            "op = `{}` with engine = stdio: the C library has no such call; use engine = `auto`",
            stream.op
        ));
    }
    if stream.mix.is_some() && stream.pattern == Pattern::Permutation {
        return Err("pattern = `permutation` visits each block once, and blocks of several sizes \
                    overlap; use pattern = `random`, or one block size"
            .into());
    }
    if stream.rate.is_some() && stream.think.is_some() {
        return Err("rate and think_time_us: a schedule does not wait for a pause, which would \
                    count as latency; set one of them"
            .into());
    }
    Ok(())
}
