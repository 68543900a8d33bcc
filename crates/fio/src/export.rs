//! The way back: a method as a job file, for who has fio and not drivelab.

use block::{Caching, Pages, Syncing};
use lab::{
    method::{CacheState, CellBound, CellSpec, FinalFlush, Method, SpanRule},
    workload::{Contents, EngineChoice, Op, Pattern, Rate, Stream},
};
use std::fmt::Write;

/// By which a job file of ours is known.
pub const MARK: &str = "; made by drivelab of method ";

/// A job file, and what of the method it does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobFile {
    /// The file.
    pub text: String,
    /// Cells, each with the reason.
    pub left_out: Vec<String>,
}

/// The method as a job file. `seconds` is how long a cell takes that its own rule would end.
pub fn job_file(method: &Method, seconds: f64) -> JobFile {
    let mut text = format!("{MARK}{}\n", one_line(&method.file.name));
    let _ = writeln!(text, "; {}", one_line(&method.file.title));
    let size = match method.span {
        SpanRule::Bytes(bytes) | SpanRule::AtMost(bytes) => bytes.to_string(),
        SpanRule::LargestFile => method.largest_file_bytes().unwrap_or(1 << 30).to_string(),
        SpanRule::Memory(_) | SpanRule::Capacity(_) => {
            let _ = writeln!(text, "; set SIZE in the environment: {}", method.span);
            "${SIZE}".to_owned()
        }
    };
    text += "[global]\nfilename=drivelab.tmp\n";
    let _ = writeln!(text, "size={size}");
    let mut left_out = Vec::new();
    for cell in &method.cells {
        match sections(cell, seconds) {
            Ok(sections) => text += &sections,
            Err(why) => left_out.push(format!("{}: {why}", cell.name)),
        }
    }
    JobFile { text, left_out }
}

fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

type Lines = Vec<String>;
type Why = &'static str;

fn sections(cell: &CellSpec, seconds: f64) -> Result<String, Why> {
    if cell.tree.is_some() {
        return Err("fio's jobs work on blocks of files, not on file trees");
    }
    if cell.rate_of.is_some() {
        return Err("its rate is a share of another cell's");
    }
    let mut text = String::new();
    for (at, stream) in cell.streams.iter().enumerate() {
        let name = match cell.streams.len() {
            1 => cell.name.clone(),
            _ => format!("{}-{}", cell.name, stream.name),
        };
        let name = one_line(&name).replace(['[', ']', ';', '#', '$'], "_");
        // fio takes a section whose name begins so for defaults, and one without a name for none.
        let mut name = name.trim().to_owned();
        if name.is_empty() || name.to_ascii_lowercase().starts_with("global") {
            name.insert_str(0, "job-");
        }
        let _ = writeln!(text, "\n[{name}]");
        let mut lines = if at == 0 { vec!["stonewall".to_owned()] } else { Lines::new() };
        lines.extend(load(stream)?);
        lines.extend(place(cell, stream));
        lines.extend(course(cell, stream, seconds)?);
        text += &(lines.join("\n") + "\n");
    }
    Ok(text)
}

fn load(stream: &Stream) -> Result<Lines, Why> {
    let (sequential, random) = match stream.op {
        Op::Read => ("read", "randread"),
        Op::Write | Op::Commit => ("write", "randwrite"),
        Op::Mixed { .. } => ("rw", "randrw"),
        Op::Trim => ("trim", "randtrim"),
        _ => return Err("fio has no such operation"),
    };
    let block = u64::from(stream.block_bytes);
    let (rw, more) = match stream.pattern {
        Pattern::Sequential => (sequential.to_owned(), Lines::new()),
        Pattern::Backward => (format!("{sequential}:-{}", 2 * block), Lines::new()),
        Pattern::Strided { stride } => {
            (format!("{sequential}:{}", (stride - 1) * block), Lines::new())
        }
        Pattern::Rewrite => return Err("fio has no pattern that stays in one place"),
        Pattern::Permutation => (random.to_owned(), Lines::new()),
        Pattern::Random => (random.to_owned(), vec!["norandommap".to_owned()]),
        Pattern::Zipf { theta } => (random.to_owned(), skewed(&format!("zipf:{theta}"))),
        Pattern::Zones(zones) => (random.to_owned(), skewed(&format!("zoned:{zones}"))),
        Pattern::HotCold { hot_percent, access_percent } => {
            let (cold, rest) = (100.0 - hot_percent, 100.0 - access_percent);
            let zones = format!("zoned:{access_percent}/{hot_percent}:{rest}/{cold}");
            (random.to_owned(), skewed(&zones))
        }
    };
    if stream.moves.is_some() {
        return Err("fio's hot spots do not move");
    }
    let mut lines = vec![format!("rw={rw}")];
    if let Op::Mixed { read_percent } = stream.op {
        lines.push(format!("rwmixread={}", read_percent.round()));
    }
    match &stream.mix {
        Some(mix) => lines.push(format!("bssplit={}", split(&mix.to_string()))),
        None => lines.push(format!("bs={block}")),
    }
    lines.extend(more);
    lines.push(format!("numjobs={}", stream.threads));
    let engine = match stream.engine {
        EngineChoice::Auto if stream.queue_depth == 1 => "psync",
        EngineChoice::Auto | EngineChoice::Uring => "io_uring",
        EngineChoice::Sync => "psync",
        EngineChoice::Stdio | EngineChoice::StdioBlock => {
            return Err("fio does not go through the C library's buffer");
        }
    };
    lines.push(format!("ioengine={engine}"));
    lines.push(format!("iodepth={}", stream.queue_depth));
    lines.extend(pacing(stream)?);
    lines.extend(data(stream)?);
    Ok(lines)
}

fn skewed(distribution: &str) -> Lines {
    vec!["norandommap".to_owned(), format!("random_distribution={distribution}")]
}

/// `4K:60,64K:40` as fio writes it.
fn split(mix: &str) -> String {
    mix.split(',').map(|part| part.replacen(':', "/", 1)).collect::<Vec<_>>().join(":")
}

fn pacing(stream: &Stream) -> Result<Lines, Why> {
    let mut lines = Lines::new();
    let of_thread = |rate: f64| (rate / f64::from(stream.threads)).round().max(1.0);
    match stream.rate {
        None => {}
        Some(_) if matches!(stream.op, Op::Mixed { .. }) => {
            return Err("fio has a rate for each direction, not for a mix");
        }
        Some(Rate::Constant(rate)) => lines.push(format!("rate_iops={}", of_thread(rate))),
        Some(Rate::Poisson(rate)) => {
            lines.push(format!("rate_iops={}", of_thread(rate)));
            lines.push("rate_process=poisson".to_owned());
        }
        Some(Rate::Ramp { .. }) => return Err("fio's rates do not change"),
    }
    if let Some(think) = stream.think {
        lines.push(format!("thinktime={}us", think.time_ns / 1000));
        lines.push(format!("thinktime_blocks={}", think.every));
    }
    if stream.start_after_s > 0.0 {
        lines.push(format!("startdelay={}ms", (stream.start_after_s * 1000.0).round()));
    }
    if stream.sequential_percent > 0.0 {
        lines.push(format!("percentage_random={}", (100.0 - stream.sequential_percent).round()));
    }
    Ok(lines)
}

fn data(stream: &Stream) -> Result<Lines, Why> {
    let mut lines = vec![match stream.io.caching {
        Caching::Direct => "direct=1".to_owned(),
        Caching::Buffered => "direct=0".to_owned(),
    }];
    if stream.io.pages == Pages::Huge {
        lines.push("iomem=mmaphuge".to_owned());
    }
    match stream.io.syncing {
        Syncing::None => {}
        Syncing::Sync => lines.push("sync=sync".to_owned()),
        Syncing::Dsync => lines.push("sync=dsync".to_owned()),
    }
    let flush_every = if stream.op == Op::Commit { 1 } else { stream.flush_every };
    if flush_every > 0 {
        lines.push(format!("fdatasync={flush_every}"));
    }
    if stream.op.writes() && stream.op != Op::Trim {
        lines.push(match stream.contents {
            Contents::Random => "refill_buffers".to_owned(),
            Contents::Zeros => "zero_buffers".to_owned(),
            Contents::Compressible { percent } => format!("buffer_compress_percentage={percent}"),
            Contents::Stamped => return Err("its data are those that drivelab checks"),
        });
    }
    Ok(lines)
}

fn place(cell: &CellSpec, stream: &Stream) -> Lines {
    let mut lines = Lines::new();
    let percent = |share: f64| (share * 100.0).round();
    match (stream.place, cell.file_bytes) {
        (Some(place), _) if place.start.share == 0.0 && place.length.share == 0.0 => {
            lines.push(format!("offset={}", place.start.bytes + stream.shift_bytes));
            lines.push(format!("size={}", place.length.bytes));
        }
        (Some(place), _) => {
            lines.push(format!("offset={}%", percent(place.start.share)));
            lines.push(format!("size={}%", percent(place.length.share).max(1.0)));
        }
        (None, file_bytes) => {
            if stream.part != (0.0, 1.0) {
                lines.push(format!("offset={}%", percent(stream.part.0)));
                lines.push(format!("size={}%", percent(stream.part.1 - stream.part.0).max(1.0)));
            } else {
                lines.extend(file_bytes.map(|bytes| format!("size={bytes}")));
                if stream.shift_bytes > 0 {
                    lines.push(format!("offset={}", stream.shift_bytes));
                }
            }
        }
    }
    if stream.offset_increment_bytes > 0 {
        lines.push(format!("offset_increment={}", stream.offset_increment_bytes));
    }
    lines
}

fn course(cell: &CellSpec, stream: &Stream, seconds: f64) -> Result<Lines, Why> {
    let mut lines = Lines::new();
    match cell.bound {
        CellBound::Time => {
            let seconds = cell.seconds.or(cell.seconds_max).unwrap_or(seconds);
            lines.push(format!("runtime={}ms", (seconds * 1000.0).round()));
            lines.push("time_based".to_owned());
        }
        CellBound::Once if stream.threads > 1 && stream.offset_increment_bytes == 0 => {
            return Err("all its threads go once over one area together, and fio's each");
        }
        CellBound::Once => {}
        CellBound::Operations(count) => lines.push(format!("number_ios={count}")),
        CellBound::Exhaust | CellBound::Drain => {
            return Err("fio does not end when a rate has fallen or bytes are spent");
        }
    }
    if cell.flush == FinalFlush::Timed {
        lines.push("end_fsync=1".to_owned());
    }
    // fio drops the cache of a file by itself.
    let is_cold = matches!(cell.cache, CacheState::Dropped(_));
    if stream.io.caching == Caching::Buffered && !is_cold {
        lines.push("invalidate=0".to_owned());
    }
    Ok(lines)
}
