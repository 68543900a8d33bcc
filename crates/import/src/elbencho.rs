//! `elbencho --csvfile`: columns by name, a row a phase. Of `[first]` and `[last]`, when the first
//! and when the last thread was done, the figures are those of the last.

use crate::{
    ImportError,
    csv::fields,
    draft::{CellDraft, Draft, PassDraft},
    number,
};
use record::Latency;
use serde_json::json;

pub(crate) fn is(text: &str) -> bool {
    text.lines().any(is_head)
}

fn is_head(line: &str) -> bool {
    line.contains("operation") && line.contains("MiB/s [last]") && line.contains("IOPS [last]")
}

pub(crate) fn read(text: &str) -> Result<Draft, ImportError> {
    let mut draft = Draft::new("elbencho");
    let mut head: Vec<String> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if is_head(line) {
            head = fields(line);
        } else if !head.is_empty() && !line.is_empty() {
            let fields = fields(line);
            if fields.len() != head.len() {
                return Err(ImportError::Damaged {
                    line: at + 1,
                    what: format!(
                        "{} fields under {} names: take the file as elbencho wrote it",
                        fields.len(),
                        head.len()
                    ),
                });
            }
            row(&mut draft, &Row { head: &head, fields: &fields });
        }
    }
    draft.note("figures are those at the end of the last thread");
    Ok(draft)
}

struct Row<'a> {
    head: &'a [String],
    fields: &'a [String],
}

impl Row<'_> {
    fn text(&self, name: &str) -> &str {
        let at = self.head.iter().position(|head| head == name);
        at.and_then(|at| self.fields.get(at)).map_or("", |field| field.trim())
    }

    fn number(&self, name: &str) -> Option<f64> {
        number::plain(self.text(name))
    }

    /// Under either of the spellings that versions have.
    fn latency(&self, what: &str) -> Option<f64> {
        self.number(&format!("IO lat us [{what}]"))
            .or_else(|| self.number(&format!("IO lat us {what}")))
    }
}

fn row(draft: &mut Draft, row: &Row<'_>) {
    let operation = row.text("operation");
    let is_files = row.number("IOPS [last]").is_none_or(|iops| iops == 0.0);
    let (op, pattern, engine) = match operation {
        "WRITE" => ("write", "seq", ""),
        "READ" => ("read", "seq", ""),
        name if name.starts_with("RWMIX") => ("mixed", "seq", ""),
        "MKDIRS" => ("mkdir", "creation", "tree"),
        "STAT" => ("stat", "creation", "tree"),
        "RMFILES" => ("unlink", "creation", "tree"),
        "RMDIRS" => ("rmdir", "creation", "tree"),
        other => {
            draft.leave_out(other, "it is no measurement of a drive");
            return;
        }
    };
    if draft.version.is_empty() {
        draft.version = row.text("version").to_owned();
        draft.command = row.text("command").split_whitespace().map(str::to_owned).collect();
        let date = row.text("ISO date");
        let zoned = date.parse::<jiff::Timestamp>().ok().map(|time| time.to_string());
        draft.started = zoned.or_else(|| number::time("%Y-%m-%dT%H:%M:%S", date));
    }
    let random = row.text("random") == "1";
    let mut cell = CellDraft {
        name: operation.to_ascii_lowercase(),
        op,
        pattern: if random && !is_files { "random" } else { pattern }.to_owned(),
        block_bytes: if is_files { 0 } else { number::binary(row.text("block size")).unwrap_or(0) },
        threads: row.text("threads").parse().unwrap_or(0),
        depth: row.text("IO depth").parse().unwrap_or(0),
        engine: engine.to_owned(),
        io: match row.text("direct IO") {
            "1" => "direct",
            "0" => "buffered",
            _ => "",
        }
        .to_owned(),
        bounded_by_bytes: true,
        ..CellDraft::default()
    };
    for name in ["hosts", "dirs", "files", "file size", "label"] {
        let text = row.text(name);
        if !text.is_empty() {
            cell.coordinates.insert(name.replace(' ', "_"), json!(text));
        }
    }
    let place = row.text("paths");
    if !place.is_empty() {
        cell.target = draft.target(place);
    }
    figures(draft, cell, row, is_files);
}

fn figures(draft: &mut Draft, mut cell: CellDraft, row: &Row<'_>, is_files: bool) {
    let iops = row.number(if is_files { "entries/s [last]" } else { "IOPS [last]" });
    let Some(iops) = iops.filter(|iops| *iops > 0.0) else {
        draft.leave_out(&cell.name, "it has no rate");
        return;
    };
    let mib_per_s = row.number("MiB/s [last]").unwrap_or(0.0);
    // Whole MiB of some versions: operations say it better.
    let bytes_per_s =
        if cell.block_bytes > 0 { iops * cell.block_bytes as f64 } else { mib_per_s * 1_048_576.0 };
    if mib_per_s >= 200.0 && cell.block_bytes > 0 {
        let printed = mib_per_s * 1_048_576.0;
        cell.check("MiB/s against operations of this size", printed, bytes_per_s);
    }
    let latency = (!is_files)
        .then(|| {
            let us = |what| row.latency(what);
            let (min, mean, max) = (us("min")?, us("avg")?, us("max")?);
            Some(Latency {
                min_ns: (min * 1e3) as u64,
                mean_ns: mean * 1e3,
                max_ns: (max * 1e3) as u64,
                ..Latency::default()
            })
        })
        .flatten();
    let seconds = row.number("time ms [last]").unwrap_or(0.0) / 1e3;
    cell.passes.push(PassDraft {
        iops,
        bytes_per_s,
        operations: (iops * seconds) as u64,
        bytes: (bytes_per_s * seconds) as u64,
        seconds,
        errors: 0,
        latency,
    });
    draft.add(cell);
}
