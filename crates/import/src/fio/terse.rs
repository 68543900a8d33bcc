//! `fio --output-format=terse`: one line a job, no options. Versions 3, 4 (and trims) and 5 (and
//! samples counted). Times are in us.

use crate::{
    ImportError,
    draft::{CellDraft, Draft, PassDraft, kept},
    number,
};
use record::{Latency, Percentile};

/// Fields before those of the reads.
const HEAD: usize = 5;
const PERCENTILES: usize = 20;

pub(crate) fn is(text: &str) -> bool {
    text.lines().any(is_line)
}

fn is_line(line: &str) -> bool {
    let mut fields = line.split(';');
    let version = fields.next().unwrap_or_default();
    ["2", "3", "4", "5"].contains(&version)
        && fields.next().is_some_and(|tool| tool.starts_with("fio-"))
}

pub(crate) fn read(text: &str) -> Result<Draft, ImportError> {
    let mut draft = Draft::new("fio");
    for (at, line) in text.lines().enumerate().filter(|(_, line)| is_line(line)) {
        job(&mut draft, line).map_err(|what| ImportError::Damaged { line: at + 1, what })?;
    }
    draft.note("fio's terse form tells neither pattern nor depth nor threads: they are absent");
    draft.note("latencies are fio's clat, from submission to completion");
    Ok(draft)
}

fn job(draft: &mut Draft, line: &str) -> Result<(), String> {
    let fields: Vec<&str> = line.trim_end().split(';').collect();
    let (length, directions) = match fields[0] {
        "3" => (41, 2),
        "4" => (41, 3),
        "5" => (47, 3),
        other => {
            return Err(format!("terse version {other} is not read: have fio write JSON"));
        }
    };
    // Behind the directions stand 5 of the processor, depths and latencies.
    if fields.len() < HEAD + length * directions + 5 + 7 + 10 + 12 {
        return Err(format!(
            "{} fields, which is not a whole line of terse version {}: take the whole line",
            fields.len(),
            fields[0]
        ));
    }
    draft.version = fields[1].trim_start_matches("fio-").to_owned();
    let name = fields[2];
    let mut done = 0;
    for (at, op) in ["read", "write", "trim"].into_iter().take(directions).enumerate() {
        let own = &fields[HEAD + at * length..HEAD + (at + 1) * length];
        if let Some(cell) = direction(own, name, op)? {
            draft.add(cell);
            done += 1;
        }
    }
    if done == 0 {
        draft.leave_out(name, &format!("it did nothing; fio's error is {}", fields[4]));
    }
    Ok(())
}

fn direction(fields: &[&str], name: &str, op: &'static str) -> Result<Option<CellDraft>, String> {
    let field = |at: usize| {
        number::plain(fields[at])
            .ok_or_else(|| format!("`{}` is no number: take the line as fio wrote it", fields[at]))
    };
    let (kib, kib_per_s, iops, ms) = (field(0)?, field(1)?, field(2)?, field(3)?);
    if kib == 0.0 && iops == 0.0 {
        return Ok(None);
    }
    let (min, max, mean) = (field(8)?, field(9)?, field(10)?);
    let operations = (iops * ms / 1e3).round() as u64;
    let mut percentiles = Vec::new();
    for text in &fields[12..12 + PERCENTILES] {
        let wrong = || format!("`{text}` is no percentile: take the line as fio wrote it");
        let (percent, us) = text.split_once("%=").ok_or_else(wrong)?;
        let percent = number::plain(percent).filter(|p| *p <= 100.0).ok_or_else(wrong)?;
        let us = number::plain(us).ok_or_else(wrong)?;
        if percent > 0.0 {
            percentiles.push(Percentile { percent, ns: (us * 1e3) as u64 });
        }
    }
    let mut cell = CellDraft {
        name: format!("{name}-{op}"),
        group: name.to_owned(),
        op,
        block_bytes: block(kib_per_s * 1024.0, iops),
        ..CellDraft::default()
    };
    if cell.block_bytes > 0 {
        let note = "the block size is bytes over operations, to the nearest 512 B";
        cell.notes.push(note.to_owned());
    }
    let rising = percentiles.windows(2).all(|pair| pair[0].ns <= pair[1].ns);
    if !rising || min > mean + 1.0 || mean > max + 1.0 {
        cell.notes.push(
            "the file contradicts itself in latencies: look at it before you use them".to_owned(),
        );
    }
    if ms > 0.0 {
        cell.check("KiB a second against KiB and time", kib_per_s, kib / ms * 1e3);
    }
    cell.passes.push(PassDraft {
        iops,
        bytes_per_s: kib_per_s * 1024.0,
        operations,
        bytes: (kib * 1024.0) as u64,
        seconds: ms / 1e3,
        errors: 0,
        latency: Some(Latency {
            n: operations,
            mean_ns: mean * 1e3,
            min_ns: (min * 1e3) as u64,
            max_ns: (max * 1e3) as u64,
            percentiles: kept(operations, percentiles),
            ..Latency::default()
        }),
    });
    Ok(Some(cell))
}

/// Bytes of an operation, where they are near enough to a multiple of 512; 0 for a mix.
fn block(bytes_per_s: f64, iops: f64) -> u64 {
    let exact = if iops > 0.0 { bytes_per_s / iops } else { return 0 };
    let near = (exact / 512.0).round() * 512.0;
    if near > 0.0 && !number::differ(exact, near, 0.01) { near as u64 } else { 0 }
}
