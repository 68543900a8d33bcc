//! `fio --output-format=json` and `json+`: every direction of a job that did something is a cell.
//!
//! fio 3 counts latencies in ns under `clat_ns`, fio 2 in us under `clat`; `io_bytes` is in KiB
//! before fio 3, which has `io_kbytes` beside it.

use crate::{
    ImportError,
    draft::{CellDraft, Draft, PassDraft, kept, width},
    number,
};
use record::{Latency, Percentile};
use serde_json::{Map, Value, json};

/// fio's own default of `bs`.
const BLOCK_DEFAULT: u64 = 4096;

pub(crate) fn is(text: &str) -> bool {
    text.contains("\"fio version\"")
}

/// All documents in a text, with whatever stands around them.
pub(crate) fn read(text: &str) -> Result<Draft, ImportError> {
    let mut draft = Draft::new("fio");
    let mut rest = 0;
    while let Some(start) = opening(text, rest) {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) if value.get("fio version").is_some() => {
                document(&mut draft, &value);
                rest = start + values.byte_offset();
            }
            Some(Ok(_)) => rest = start + values.byte_offset(),
            Some(Err(error)) if text[start..].contains("\"fio version\"") => {
                let line = text[..start].matches('\n').count() + error.line();
                let what = format!("fio's JSON is not whole ({error}): take the whole output");
                return Err(ImportError::Damaged { line, what });
            }
            _ => rest = start + 1,
        }
    }
    for line in text.lines().filter(|line| line.starts_with("fio: ")) {
        draft.note(&format!("fio said: {line}"));
    }
    Ok(draft)
}

/// The next `{` that opens a line.
fn opening(text: &str, from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    if from == 0 && rest.trim_start().starts_with('{') {
        return rest.find('{');
    }
    rest.find("\n{").map(|at| from + at + 1)
}

fn document(draft: &mut Draft, value: &Value) {
    let version = value["fio version"].as_str().unwrap_or_default();
    draft.version = version.trim_start_matches("fio-").to_owned();
    let started = number(&value["timestamp"]).and_then(number::since_1970);
    // What drivelab has exported says it in words.
    let said = value["time"].as_str().and_then(number::rfc_3339);
    draft.started = draft.started.take().or(started).or(said);
    let none = Map::new();
    let global = value["global options"].as_object().unwrap_or(&none);
    let empty = Vec::new();
    // A client prints what its servers said.
    let key = if value["client_stats"].is_array() { "client_stats" } else { "jobs" };
    let jobs = value[key].as_array().unwrap_or(&empty);
    let names: Vec<&str> = jobs.iter().map(name_of).collect();
    for (at, job) in jobs.iter().enumerate() {
        let name = names[at];
        if key == "client_stats" && name == "All clients" {
            draft.leave_out(name, "it is the sum of the others");
            continue;
        }
        // Without group_reporting each of numjobs is listed by itself.
        let alike = names.iter().filter(|other| **other == name).count();
        let number = names[..at].iter().filter(|other| **other == name).count() + 1;
        let own = job["job options"].as_object().unwrap_or(&none);
        let options = Options { own, global };
        self::job(draft, job, &options, (name, alike, number));
    }
}

fn name_of(job: &Value) -> &str {
    job["jobname"].as_str().unwrap_or("job")
}

/// What was asked for: a job's own before what holds for all.
struct Options<'a> {
    own: &'a Map<String, Value>,
    global: &'a Map<String, Value>,
}

impl Options<'_> {
    fn get(&self, names: &[&str]) -> Option<&str> {
        names
            .iter()
            .find_map(|name| self.own.get(*name))
            .or_else(|| names.iter().find_map(|name| self.global.get(*name)))
            .and_then(Value::as_str)
    }

    fn count(&self, names: &[&str]) -> Option<u32> {
        self.get(names)?.parse().ok()
    }

    fn is_on(&self, name: &str) -> bool {
        match self.get(&[name]) {
            Some(text) => text != "0",
            None => self.own.contains_key(name) || self.global.contains_key(name),
        }
    }

    /// The block size of a direction: `a,b,c` are read, write and trim; one missing is the one
    /// before.
    fn block(&self, direction: usize) -> Option<u64> {
        if self.own.contains_key("bssplit") || self.own.contains_key("bsrange") {
            return None;
        }
        let Some(text) = self.get(&["bs", "blocksize"]) else { return Some(BLOCK_DEFAULT) };
        let parts: Vec<&str> = text.split(',').collect();
        let at = direction.min(parts.len() - 1);
        number::binary(parts[..=at].iter().rev().find(|part| !part.is_empty())?)
    }
}

const DIRECTIONS: [(&str, &str); 3] = [("read", "read"), ("write", "write"), ("trim", "trim")];

fn job(draft: &mut Draft, job: &Value, options: &Options<'_>, named: (&str, usize, usize)) {
    let (name, alike, number) = named;
    let error = self::number(&job["error"]).unwrap_or(0.0) as i64;
    let done = |direction: &Value| self::number(&direction["total_ios"]).unwrap_or(0.0) > 0.0;
    let mixed = job.get("mixed").filter(|value| done(value)).map(|value| (0, "mixed", value));
    let apart = DIRECTIONS.iter().enumerate().filter_map(|(at, (key, op))| {
        let value = job.get(*key).filter(|value| done(value))?;
        Some((at, *op, value))
    });
    let parts: Vec<_> = mixed.into_iter().chain(apart).collect();
    if parts.is_empty() {
        let reason = match error {
            0 => "it did nothing".to_owned(),
            error => format!("fio ended it with error {error}"),
        };
        draft.leave_out(name, &reason);
        return;
    }
    let several = parts.len() > 1;
    for (direction, op, value) in parts {
        let mut cell = cell(options, direction, op);
        let clone = if alike > 1 { format!(".{number}") } else { String::new() };
        let suffix = if several { format!("-{op}") } else { String::new() };
        cell.name = format!("{name}{clone}{suffix}");
        cell.group = name.to_owned();
        // Each of several entries is one of numjobs.
        cell.threads = if alike > 1 { 1 } else { options.count(&["numjobs"]).unwrap_or(1) };
        let host = job["hostname"].as_str();
        if let Some(host) = host {
            cell.coordinates.insert("host".to_owned(), json!(host));
        }
        let place = options.get(&["filename"]).or_else(|| options.get(&["directory"]));
        cell.target = place.map_or(0, |place| draft.target(place));
        if error != 0 {
            cell.notes.push(format!("fio ended the job with error {error}"));
        }
        let sync = job.get("sync").filter(|_| op == "write").and_then(|sync| sync.get("lat_ns"));
        cell.flush_latency = sync.and_then(|value| latency(value, 1.0, 0, &mut cell.notes));
        let pass = pass(draft, value, &mut cell.notes);
        figures(&mut cell, pass, value);
        draft.add(cell);
    }
}

fn cell(options: &Options<'_>, direction: usize, op: &'static str) -> CellDraft {
    let rw = options.get(&["rw", "readwrite"]).unwrap_or("read").to_owned();
    let random = rw.starts_with("rand") || rw == "trimwrite";
    let pattern = match options.get(&["random_distribution"]) {
        Some(text) if random && !text.starts_with("random") => {
            text.split(':').next().unwrap_or(text).to_owned()
        }
        _ if random => "random".to_owned(),
        _ => "seq".to_owned(),
    };
    let mut io = if options.is_on("direct") { "direct" } else { "buffered" }.to_owned();
    match options.get(&["sync"]) {
        Some("dsync") => io += ",dsync",
        Some(text) if text != "0" && text != "none" => io += ",sync",
        _ => {}
    }
    let mut cell = CellDraft {
        op,
        pattern,
        io,
        block_bytes: options.block(direction).unwrap_or(0),
        depth: options.count(&["iodepth"]).unwrap_or(1),
        engine: options.get(&["ioengine"]).unwrap_or_default().to_owned(),
        ..CellDraft::default()
    };
    for key in ["fsync", "fdatasync", "rate_iops", "rate", "rwmixread", "size", "bssplit"] {
        if let Some(value) = options.get(&[key]) {
            cell.coordinates.insert(key.to_owned(), json!(value));
        }
    }
    cell.bounded_by_bytes = options.get(&["time_based"]).is_none() && !options.is_on("runtime");
    cell
}

fn pass(draft: &mut Draft, value: &Value, notes: &mut Vec<String>) -> PassDraft {
    let field = |key: &str| number(&value[key]).unwrap_or(0.0);
    let since_3 = value.get("io_kbytes").is_some() || value.get("bw_bytes").is_some();
    let bytes = field("io_bytes") * if since_3 { 1.0 } else { 1024.0 };
    let bytes_per_s = number(&value["bw_bytes"]).unwrap_or_else(|| field("bw") * 1024.0);
    let new = [("lat_ns", 1.0), ("clat_ns", 1.0)];
    let old = [("lat", 1e3), ("clat", 1e3)];
    // Percentiles stand where the job asked for them; the whole latency is nearer to ours.
    let found = new.iter().chain(&old).find_map(|(key, scale)| {
        let times = value.get(*key)?;
        times.get("percentile").map(|_| (*key, times, *scale))
    });
    let plain = || {
        let of = |(key, scale): &(&'static str, f64)| Some((*key, value.get(*key)?, *scale));
        new.iter().chain(&old).filter_map(of).find(|(_, times, _)| number(&times["N"]) != Some(0.0))
    };
    let latency = found.or_else(plain).and_then(|(key, times, scale)| {
        if key.starts_with('c') {
            draft.note("latencies are fio's clat, from submission to completion");
        }
        self::latency(times, scale, field("total_ios") as u64, notes)
    });
    PassDraft {
        iops: field("iops"),
        bytes_per_s,
        operations: field("total_ios") as u64,
        bytes: bytes as u64,
        seconds: field("runtime") / 1e3,
        errors: 0,
        latency,
    }
}

/// Puts the pass in, and holds what fio printed twice against each other.
fn figures(cell: &mut CellDraft, pass: PassDraft, value: &Value) {
    if pass.seconds > 0.0 {
        let per_second = |count: u64| count as f64 / pass.seconds;
        cell.check("the rate against operations and time", pass.iops, per_second(pass.operations));
        cell.check(
            "bytes a second against bytes and time",
            pass.bytes_per_s,
            per_second(pass.bytes),
        );
    }
    let kbytes = number(&value["io_kbytes"]).map(|count| count * 1024.0);
    if let Some(kbytes) = kbytes.filter(|kbytes| *kbytes > 1e6) {
        cell.check("bytes against KiB", pass.bytes as f64, kbytes);
    }
    if let Some(bw) = number(&value["bw"]).filter(|bw| *bw > 1e3) {
        cell.check("bytes a second against KiB a second", pass.bytes_per_s, bw * 1024.0);
    }
    if let Some(n) = pass.latency.as_ref().map(|latency| latency.n)
        && n > 0
        && number(&value["short_ios"]) == Some(0.0)
        && number(&value["drop_ios"]) == Some(0.0)
    {
        cell.check("latencies counted against operations", n as f64, pass.operations as f64);
    }
    let mean = pass.bytes.checked_div(pass.operations).unwrap_or(0);
    if cell.block_bytes == 0 {
        cell.block_bytes = mean;
        cell.notes.push("the block size is the mean of the mix".to_owned());
    }
    cell.passes.push(pass);
    cell.check_block();
}

/// `operations` stands for the number of latencies, which fio 2 does not print.
fn latency(value: &Value, scale: f64, operations: u64, notes: &mut Vec<String>) -> Option<Latency> {
    let field = |key: &str| number(&value[key]).map(|number| number * scale);
    let none = Map::new();
    let bins = value["bins"].as_object().unwrap_or(&none);
    let mut histogram: Vec<[u64; 2]> = bins
        .iter()
        .filter_map(|(ns, count)| {
            let middle = ns.parse::<u64>().ok()?;
            // fio names a bucket by its middle.
            Some([middle / width(middle) * width(middle), count.as_u64().filter(|&n| n > 0)?])
        })
        .collect();
    histogram.sort_unstable();
    histogram.dedup_by(|next, before| {
        let same = next[0] == before[0];
        before[1] += if same { next[1] } else { 0 };
        same
    });
    let binned = histogram.iter().fold(0_u64, |sum, [_, count]| sum.saturating_add(*count));
    let n = number(&value["N"]).map_or(binned.max(operations), |n| n as u64);
    let (min, mean, max) = (field("min")?, field("mean")?, field("max")?);
    if n == 0 {
        return None;
    }
    let mut percentiles: Vec<Percentile> = value["percentile"]
        .as_object()
        .unwrap_or(&none)
        .iter()
        .filter_map(|(percent, ns)| {
            let percent = number::plain(percent).filter(|percent| *percent <= 100.0)?;
            Some(Percentile { percent, ns: (number(ns)? * scale) as u64 })
        })
        .collect();
    percentiles.sort_by(|a, b| a.percent.total_cmp(&b.percent));
    let rising = percentiles.windows(2).all(|pair| pair[0].ns <= pair[1].ns);
    let within = |ns: u64| ns as f64 >= min * 0.98 - 1e3 && ns as f64 <= max * 1.02 + 1e3;
    let inside = percentiles.iter().all(|at| at.ns == 0 || within(at.ns));
    let ordered = min <= mean * 1.0001 + 1.0 && mean <= max * 1.0001 + 1.0;
    let counted = histogram.is_empty() || !number::differ(binned as f64, n as f64, 0.01);
    if !(rising && inside && ordered && counted) {
        notes.push(
            "the file contradicts itself in latencies: look at it before you use them".to_owned(),
        );
    }
    Some(Latency {
        n,
        mean_ns: mean,
        min_ns: min as u64,
        max_ns: max as u64,
        percentiles: kept(n, percentiles),
        histogram,
        ..Latency::default()
    })
}

/// A number, 0 or more.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite() && *number >= 0.0)
}
