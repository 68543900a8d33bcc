//! What flash below did while a cell ran: a managed volume, whether the rate was a burst's or the
//! sustained one; a cache in front of disks, what it had.

use super::{page::Page, style::Paint, words};
use crate::number;
use record::{Cell, ManagedPass, Pass, SsdCachePass};

/// For every cell that wrote: the clean pool before its first pass and after its last, and what
/// each byte became. For every cell with a cache: what of its bytes flash had.
pub(super) fn gauge(page: &mut Page, cells: &[&Cell]) {
    section(page, cells, "Managed flash meanwhile", managed);
    section(page, cells, "Cache on flash meanwhile", cached);
}

fn section(page: &mut Page, cells: &[&Cell], title: &str, line: fn(&Cell) -> Option<String>) {
    let mut groups: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for (cell, name) in cells.iter().zip(words::distinct_names(cells, page.style)) {
        // Streams that ran together share what it did.
        if groups.contains(&cell.group.as_str()) {
            continue;
        }
        groups.push(&cell.group);
        lines.extend(line(cell).map(|line| (name, line)));
    }
    if lines.is_empty() {
        return;
    }
    page.heading(title);
    for (name, line) in lines {
        page.hanging("  ", &format!("{name}: {line}"), Paint::Plain);
    }
}

/// `clean pool 2.5 GiB, then 1.1 GiB: a burst; write amplification 1.02`; nothing for a cell that
/// wrote nothing.
fn managed(cell: &Cell) -> Option<String> {
    let mut passes: Vec<&Pass> = cell.passes.iter().collect();
    passes.sort_by_key(|pass| pass.order);
    let seen: Vec<ManagedPass> = passes.iter().filter_map(|pass| pass.managed_flash).collect();
    let sum = |of: fn(&ManagedPass) -> u64| seen.iter().map(of).sum::<u64>();
    let (host, copied) = (sum(|pass| pass.host_bytes), sum(|pass| pass.copied_bytes));
    let (first, last) = (seen.first()?, seen.last()?);
    if host == 0 {
        return None;
    }
    let kind = match seen.iter().map(|pass| pass.clean_pool_after_bytes).min() {
        Some(0) if copied > 0 => "used up, the cleaner at work",
        Some(0) => "used up",
        _ => "a burst",
    };
    let amplification = (host + copied + sum(|pass| pass.metadata_bytes)) as f64 / host as f64;
    let [before, after] =
        [first.clean_pool_before_bytes, last.clean_pool_after_bytes].map(number::size);
    Some(format!(
        "clean pool {before}, then {after}: {kind}; write amplification {amplification:.2}"
    ))
}

/// `41.2 % of the bytes read were on flash; flash was written 12 MiB`; what was written has a share
/// where something was.
fn cached(cell: &Cell) -> Option<String> {
    let seen: Vec<SsdCachePass> = cell.passes.iter().filter_map(|pass| pass.ssd_cache).collect();
    let sum = |of: fn(&SsdCachePass) -> u64| seen.iter().map(of).sum::<u64>();
    let share = |hit: u64, all: u64, words: &str| {
        let share = hit as f64 / all as f64;
        (all > 0).then(|| format!("{} {words}", number::percent(share)))
    };
    let reads = "of the bytes read were on flash";
    let writes = "of the bytes written were to blocks of which it had some";
    let mut parts: Vec<String> = [
        share(sum(|pass| pass.read_hit_bytes), sum(|pass| pass.read_bytes), reads),
        share(sum(|pass| pass.write_hit_bytes), sum(|pass| pass.written_bytes), writes),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        return None;
    }
    parts.push(format!("flash was written {}", number::size(sum(|pass| pass.flash_written_bytes))));
    let back = sum(|pass| pass.written_back_bytes);
    parts.extend((back > 0).then(|| format!("{} went back to the disks", number::size(back))));
    Some(parts.join("; "))
}
