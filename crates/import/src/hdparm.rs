//! `hdparm -t` and `-T`. It reads 2 MiB at a time, one after the other, and its MB are MiB
//! (hdparm.c, TIMING_BUF_MB).

use crate::{
    ImportError,
    draft::{CellDraft, Draft, PassDraft},
    number,
};

const BLOCK: u64 = 2 << 20;
const MIB: f64 = 1_048_576.0;

pub(crate) fn is(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("Timing ") && line.contains(" reads:"))
}

pub(crate) fn read(text: &str) -> Result<Draft, ImportError> {
    let mut draft = Draft::new("hdparm");
    let mut device = String::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_suffix(':').filter(|name| name.starts_with("/dev/")) {
            device = name.to_owned();
        } else if line.starts_with("Timing ") {
            let cell = timing(&mut draft, line, &device).ok_or_else(|| ImportError::Damaged {
                line: at + 1,
                what: format!("`{line}` is not a whole line of hdparm's: take it as printed"),
            })?;
            draft.add(cell);
        }
    }
    Ok(draft)
}

/// `Timing buffered disk reads:  64 MB in  0.09 seconds = 710.80 MB/sec`
fn timing(draft: &mut Draft, line: &str, device: &str) -> Option<CellDraft> {
    let (what, figures) = line.strip_prefix("Timing ")?.split_once(" reads:")?;
    let (amount, rest) = figures.split_once(" MB in ")?;
    let (seconds, rest) = rest.split_once(" seconds = ")?;
    let (rate, unit) = rest.trim().split_once(' ')?;
    let scale = match unit {
        "MB/sec" => MIB,
        "kB/sec" => 1024.0,
        _ => return None,
    };
    let (mib, seconds) = (number::plain(amount)?, number::plain(seconds)?);
    let bytes_per_s = number::plain(rate)? * scale;
    let mut cell = CellDraft {
        name: format!("{} reads", what.trim()).replace(' ', "-"),
        op: "read",
        pattern: "seq".to_owned(),
        block_bytes: BLOCK,
        threads: 1,
        depth: 1,
        engine: "sync".to_owned(),
        io: if what.contains("O_DIRECT") { "direct" } else { "buffered" }.to_owned(),
        ..CellDraft::default()
    };
    if what.contains("cached") {
        cell.notes.push("memory's rate, not the drive's: hdparm -T reads the cache".to_owned());
    }
    if !device.is_empty() {
        cell.target = draft.target(device);
    }
    // Two digits behind the point, of a hundredth of a second: a few percent.
    let again = mib * MIB / seconds.max(0.005);
    if number::differ(bytes_per_s, again, 0.01 + 0.006 / seconds.max(0.005)) {
        cell.check("the rate against MB and seconds", bytes_per_s, again);
    }
    cell.passes.push(PassDraft {
        iops: bytes_per_s / BLOCK as f64,
        bytes_per_s,
        operations: (mib * MIB / BLOCK as f64) as u64,
        bytes: (mib * MIB) as u64,
        seconds,
        ..PassDraft::default()
    });
    Some(cell)
}
