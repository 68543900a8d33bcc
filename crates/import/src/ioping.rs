//! ioping: its text, its `-B` line and its `-J` document. The rate is that of the requests alone,
//! without the pauses between them; the request for warm-up is not counted.

use crate::{
    ImportError,
    draft::{CellDraft, Draft, PassDraft, kept},
    number,
};
use record::{Latency, Percentile};
use serde_json::Value;

pub(crate) fn is(text: &str) -> bool {
    text.contains(" ioping statistics ---") || document(text).is_some() || batch(text).is_some()
}

pub(crate) fn read(text: &str) -> Result<Draft, ImportError> {
    let mut draft = Draft::new("ioping");
    if let Some(entries) = document(text) {
        json(&mut draft, &entries)?;
    } else if text.contains(" ioping statistics ---") {
        printed(&mut draft, text)?;
    } else {
        for fields in text.lines().filter_map(raw) {
            draft.add(of_raw(&fields));
        }
        draft.note("an ioping -B line tells neither what was asked nor of what: absent");
    }
    draft.note("rates are of the requests alone, without ioping's pauses between them");
    Ok(draft)
}

fn document(text: &str) -> Option<Vec<Value>> {
    let start = text.find("[{")?;
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    let entries = values.next()?.ok()?.as_array()?.clone();
    entries.iter().any(|entry| entry.get("load").is_some()).then_some(entries)
}

fn batch(text: &str) -> Option<Vec<f64>> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = raw(lines.next()?)?;
    lines.all(|line| raw(line).is_some()).then_some(first)
}

/// Requests, ns of all, requests a second, bytes a second, min, mean, max, deviation in ns,
/// requests with the warm-up, ns with the pauses.
fn raw(line: &str) -> Option<Vec<f64>> {
    let fields: Vec<f64> =
        line.split_whitespace().map(number::plain).collect::<Option<Vec<f64>>>()?;
    (fields.len() == 10).then_some(fields)
}

fn cell(op: &'static str, block_bytes: u64) -> CellDraft {
    CellDraft { name: op.to_owned(), op, block_bytes, threads: 1, depth: 1, ..CellDraft::default() }
}

fn of_raw(fields: &[f64]) -> CellDraft {
    let block = if fields[2] > 0.0 { (fields[3] / fields[2] / 512.0).round() * 512.0 } else { 0.0 };
    let mut cell = cell("read", block as u64);
    cell.op = "request";
    cell.name = "request".to_owned();
    let seconds = fields[1] / 1e9;
    if seconds > 0.0 {
        cell.check("the rate against requests and time", fields[2], fields[0] / seconds);
    }
    ordered(&mut cell, fields[4], fields[5], fields[6]);
    cell.passes.push(PassDraft {
        iops: fields[2],
        bytes_per_s: fields[3],
        operations: fields[0] as u64,
        bytes: (fields[3] * seconds) as u64,
        seconds,
        errors: 0,
        latency: Some(summary(fields[0] as u64, fields[4], fields[5], fields[6])),
    });
    cell.check_block();
    cell
}

fn ordered(cell: &mut CellDraft, min: f64, mean: f64, max: f64) {
    if min > mean || mean > max {
        let note = "the file contradicts itself in latencies: look at it before you use them";
        cell.notes.push(note.to_owned());
    }
}

fn summary(n: u64, min: f64, mean: f64, max: f64) -> Latency {
    Latency { n, mean_ns: mean, min_ns: min as u64, max_ns: max as u64, ..Latency::default() }
}

fn json(draft: &mut Draft, entries: &[Value]) -> Result<(), ImportError> {
    let wrong = |what: &str| ImportError::Damaged { line: 1, what: what.to_owned() };
    let last = entries.last().ok_or_else(|| wrong("there is no entry"))?;
    let stat = last.get("stat").ok_or_else(|| {
        wrong("the last entry has no `stat`: the document is not whole, take all of it")
    })?;
    let field = |key: &str| stat[key].as_f64().filter(|value| *value >= 0.0);
    let figures: Option<Vec<f64>> = ["count", "size", "time", "iops", "bps", "min", "avg", "max"]
        .into_iter()
        .map(field)
        .collect();
    let figures = figures.ok_or_else(|| wrong("`stat` lacks a figure: take the whole document"))?;
    let &[count, size, time, iops, bps, min, avg, max] = figures.as_slice() else {
        return Err(wrong("`stat` lacks a figure"));
    };
    let requests: Vec<&Value> = entries.iter().filter_map(|entry| entry.get("io")).collect();
    let op = match requests.first().and_then(|io| io["operation"].as_str()) {
        Some("read") => "read",
        Some("write") => "write",
        _ => "request",
    };
    let block = requests.first().and_then(|io| io["size"].as_u64());
    let mut cell = cell(op, block.unwrap_or(0));
    let first = &entries[0];
    draft.started = first["timestamp"].as_f64().and_then(number::since_1970);
    if let Some(path) = first["target"]["path"].as_str() {
        cell.target = draft.target(path);
    }
    if time > 0.0 {
        cell.check("the rate against requests and time", iops, count / (time / 1e9));
        cell.check("bytes a second against bytes and time", bps, size / (time / 1e9));
    }
    ordered(&mut cell, min, avg, max);
    let counted = |io: &&&Value| io["ignored"].as_bool() != Some(true);
    let times: Vec<f64> =
        requests.iter().filter(counted).filter_map(|io| io["time"].as_f64()).collect();
    let latency = latency(times, count as u64, summary(count as u64, min, avg, max), &mut cell);
    cell.passes.push(PassDraft {
        iops,
        bytes_per_s: bps,
        operations: count as u64,
        bytes: size as u64,
        seconds: time / 1e9,
        errors: 0,
        latency: Some(latency),
    });
    draft.add(cell);
    Ok(())
}

/// Percentiles, where every request is listed.
fn latency(mut times: Vec<f64>, n: u64, plain: Latency, cell: &mut CellDraft) -> Latency {
    if times.len() as u64 != n || times.is_empty() {
        return plain;
    }
    times.sort_by(f64::total_cmp);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    cell.check("the mean against the requests listed", plain.mean_ns, mean);
    let at = |percent: f64| {
        let rank = ((times.len() as f64 * percent / 100.0).ceil() as usize).clamp(1, times.len());
        Percentile { percent, ns: times[rank - 1] as u64 }
    };
    let percentiles = [50.0, 90.0, 95.0, 99.0, 99.9].map(at).to_vec();
    Latency { percentiles: kept(n, percentiles), ..plain }
}

fn printed(draft: &mut Draft, text: &str) -> Result<(), ImportError> {
    let (mut op, mut block, mut times) = ("request", 0, Vec::new());
    let mut place = String::new();
    let mut totals = None;
    for (at, line) in text.lines().enumerate() {
        let wrong = || ImportError::Damaged {
            line: at + 1,
            what: format!("`{line}` is not a whole line of ioping's: take it as printed"),
        };
        if let Some((size, arrow)) = line
            .split_once(" <<< ")
            .map(|(size, _)| (size, "read"))
            .or_else(|| line.split_once(" >>> ").map(|(size, _)| (size, "write")))
        {
            (op, block) = (arrow, number::binary(size).ok_or_else(wrong)?);
            let time = line.split_once(" time=").ok_or_else(wrong)?.1;
            if !time.contains("(warmup)") {
                let time = time.split(" (").next().unwrap_or(time);
                times.push(number::duration_ns(time).ok_or_else(wrong)?);
            }
        } else if line.starts_with("--- ") && line.ends_with(" ioping statistics ---") {
            let words = line.trim_start_matches("--- ");
            place = words.split(" (").next().unwrap_or(words).to_owned();
        } else if line.contains(" requests completed in ") {
            totals = Some(completed(line).ok_or_else(wrong)?);
        } else if let Some(figures) = line.strip_prefix("min/avg/max/mdev = ") {
            let figures: Option<Vec<f64>> = figures.split(" / ").map(number::duration_ns).collect();
            let figures = figures.filter(|figures| figures.len() == 4).ok_or_else(wrong)?;
            let totals = totals.take().ok_or_else(wrong)?;
            let mut cell = cell(op, block);
            cell.target = draft.target(&place);
            one(&mut cell, totals, &figures, std::mem::take(&mut times));
            draft.add(cell);
        }
    }
    Ok(())
}

struct Totals {
    n: f64,
    seconds: f64,
    bytes: f64,
    iops: f64,
    bytes_per_s: f64,
    /// That the number of requests is rounded: `12.1 k`.
    rounded: bool,
    op: &'static str,
}

/// `4 requests completed in 801.6 us, 16 KiB read, 4.99 k iops, 19.5 MiB/s`
fn completed(line: &str) -> Option<Totals> {
    let (n, rest) = line.split_once(" requests completed in ")?;
    let parts: Vec<&str> = rest.split(", ").collect();
    let [time, moved, iops, rate] = parts.as_slice() else { return None };
    let (size, op) = moved.rsplit_once(' ')?;
    Some(Totals {
        n: thousands(n)?,
        seconds: number::duration_ns(time)? / 1e9,
        bytes: number::binary(size)? as f64,
        iops: thousands(iops.strip_suffix(" iops")?)?,
        bytes_per_s: number::binary(rate.strip_suffix("/s")?)? as f64,
        rounded: n.contains(' '),
        op: match op {
            "read" => "read",
            "written" => "write",
            _ => "request",
        },
    })
}

/// `12.1 k`: ioping's large counts are of thousands.
fn thousands(text: &str) -> Option<f64> {
    match text.trim().split_once(' ') {
        None => number::plain(text),
        Some((value, "k")) => Some(number::plain(value)? * 1e3),
        Some((value, "M")) => Some(number::plain(value)? * 1e6),
        Some(_) => None,
    }
}

fn one(cell: &mut CellDraft, totals: Totals, figures: &[f64], times: Vec<f64>) {
    cell.op = if cell.op == "request" { totals.op } else { cell.op };
    cell.name = cell.op.to_owned();
    let listed = times.len() as f64 == totals.n;
    if cell.block_bytes == 0 && totals.n > 0.0 {
        cell.block_bytes = ((totals.bytes / totals.n / 512.0).round() * 512.0) as u64;
        cell.notes.push("the block size is bytes over requests, to the nearest 512 B".to_owned());
    }
    // Three digits are printed; the listed times have more.
    let exact = if listed { times.iter().sum::<f64>() / 1e9 } else { totals.seconds };
    cell.check("the rate against requests and time", totals.iops, totals.n / totals.seconds);
    if listed {
        cell.check("the time against the requests listed", totals.seconds, exact);
    }
    ordered(cell, figures[0], figures[1], figures[2]);
    if totals.rounded {
        cell.notes.push("ioping prints counts of three digits: so is the rate".to_owned());
    }
    let summary = summary(totals.n as u64, figures[0], figures[1], figures[2]);
    let latency = latency(times, totals.n as u64, summary, cell);
    let iops = if listed && exact > 0.0 { totals.n / exact } else { totals.iops };
    cell.passes.push(PassDraft {
        iops,
        bytes_per_s: if listed { iops * cell.block_bytes as f64 } else { totals.bytes_per_s },
        operations: totals.n as u64,
        bytes: totals.bytes as u64,
        seconds: exact,
        errors: 0,
        latency: Some(latency),
    });
    cell.check_block();
}
