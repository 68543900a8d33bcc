//! Footnotes: every flag once, with what it means, what was seen in this run, and the cure.

use super::{page::Page, style::Paint, words};
use record::{Cell, Flag, Record, Warning};

/// Flags of the run as a whole: those of every cell, when there are several, and those of none. The rest is marked in
/// its cell's row.
pub(super) fn of_the_whole_run(record: &Record) -> Vec<Flag> {
    let of_targets = record.targets.iter().flat_map(|target| &target.flags);
    let of_warnings = every_warning(record).filter_map(|warning| warning.flag.as_ref());
    let of_cells = record.cells.iter().flat_map(|cell| &cell.flags);
    let mut flags: Vec<Flag> =
        record.flags.iter().chain(of_targets).chain(of_warnings).chain(of_cells).copied().collect();
    flags.sort();
    flags.dedup();
    flags.retain(|flag| {
        let count = record.cells.iter().filter(|cell| cell.flags.contains(flag)).count();
        count == 0 || (count > 1 && count == record.cells.len())
    });
    flags
}

/// One paragraph for each flag that the page has marked.
pub(super) fn footnotes(page: &mut Page, record: &Record) {
    let flags = page.take_notes();
    if flags.is_empty() {
        return;
    }
    page.gap();
    for (at, flag) in flags.into_iter().enumerate() {
        let seen = seen(page, record, flag);
        let seen = if seen.is_empty() { seen } else { format!(" Seen: {seen}.") };
        let text = format!("{flag}: {}{seen} Cure: {}.", flag.meaning(), flag.cure());
        page.hanging(&format!("{:>2} ", at + 1), &text, Paint::Plain);
    }
}

/// What raised the flag: on the targets or, when nothing was seen there, in a cell or two.
fn seen(page: &Page, record: &Record, flag: Flag) -> String {
    let of_targets = record.targets.iter().flat_map(|target| &target.warnings);
    let mut findings: Vec<String> = Vec::new();
    for warning in record.warnings.iter().chain(of_targets).filter(|w| w.flag == Some(flag)) {
        let finding = finding(warning, flag);
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    if findings.is_empty() { in_cells(page, record, flag) } else { findings.join("; ") }
}

/// `after 12.0 s the interval was +-9.6 % (random read 4 KiB), and 3 more cells`.
fn in_cells(page: &Page, record: &Record, flag: Flag) -> String {
    let mut findings: Vec<(String, &Cell)> = Vec::new();
    let mut others = 0;
    for cell in &record.cells {
        let Some(warning) = cell.warnings.iter().find(|w| w.flag == Some(flag)) else { continue };
        let finding = finding(warning, flag);
        if findings.iter().all(|(earlier, _)| *earlier != finding) {
            findings.push((finding, cell));
        } else {
            others += 1;
        }
    }
    // What all say alike needs no name.
    if let [(finding, _)] = &findings[..]
        && others > 0
    {
        return finding.clone();
    }
    let shown = if findings.len() > 2 { 1 } else { findings.len() };
    others += findings.len() - shown;
    let named = findings.into_iter().take(shown).map(|(finding, cell)| {
        let target = if record.targets.len() > 1 {
            format!(", target {}", cell.target)
        } else {
            String::new()
        };
        format!("{finding} ({}{target})", words::name(cell, page.style))
    });
    let mut text = named.collect::<Vec<_>>().join("; ");
    if others > 0 {
        text += &format!("; and {others} more {}", if others == 1 { "cell" } else { "cells" });
    }
    text
}

/// A warning's sentence without the cure, which the footnote gives.
fn finding(warning: &Warning, flag: Flag) -> String {
    let text = warning.text.trim_end_matches('.');
    let text = text.strip_suffix(flag.cure()).unwrap_or(text);
    text.trim_end_matches([':', ' ', '.', ';']).to_owned()
}

fn every_warning(record: &Record) -> impl Iterator<Item = &Warning> {
    let of_targets = record.targets.iter().flat_map(|target| &target.warnings);
    let of_cells = record.cells.iter().flat_map(|cell| &cell.warnings);
    record.warnings.iter().chain(of_targets).chain(of_cells)
}

/// More sentences than this are left to the record.
const WARNINGS_MAX: usize = 20;

/// Sentences that belong to no flag, each once.
pub(super) fn warnings(page: &mut Page, record: &Record) {
    let mut said: Vec<&str> = Vec::new();
    for warning in every_warning(record).filter(|warning| warning.flag.is_none()) {
        if !said.contains(&warning.text.as_str()) {
            said.push(&warning.text);
        }
    }
    if said.is_empty() {
        return;
    }
    page.heading("Warnings");
    for text in said.iter().take(WARNINGS_MAX) {
        page.hanging("  ", text, Paint::Plain);
    }
    if said.len() > WARNINGS_MAX {
        let rest = said.len() - WARNINGS_MAX;
        page.hanging("  ", &format!("and {rest} more in the record"), Paint::Plain);
    }
}
