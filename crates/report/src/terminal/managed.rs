//! Where a managed flash volume lay below: whether a cell's rate was a burst's or the sustained
//! one.

use super::{page::Page, style::Paint, words};
use crate::number;
use record::{Cell, ManagedPass, Pass};

/// For every cell that wrote: the clean pool before its first pass and after its last, and what
/// each byte became.
pub(super) fn gauge(page: &mut Page, cells: &[&Cell]) {
    let mut groups: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for cell in cells {
        // Streams that ran together share what the volume did.
        if groups.contains(&cell.group.as_str()) {
            continue;
        }
        groups.push(&cell.group);
        lines.extend(line(cell).map(|line| (words::name(cell, page.style), line)));
    }
    if lines.is_empty() {
        return;
    }
    page.heading("Managed flash meanwhile");
    for (name, line) in lines {
        page.hanging("  ", &format!("{name}: {line}"), Paint::Plain);
    }
}

/// `clean pool 2.5 GiB, then 1.1 GiB: a burst; write amplification 1.02`; nothing for a cell that
/// wrote nothing.
fn line(cell: &Cell) -> Option<String> {
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
