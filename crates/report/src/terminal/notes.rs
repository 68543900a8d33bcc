//! Footnotes: every flag once, in a line, or with what it means, what was seen in this run, and the
//! cure.

mod line;

use super::{
    page::Page,
    style::{Paint, columns_of},
    words,
};
use crate::number::counted;
use record::{Cell, Flag, Record, Warning};
use std::cmp::Reverse;

/// Flags of the run as a whole: those of every cell, when there are several, and those of none. The
/// rest is marked in its cell's row.
pub(super) fn of_the_whole_run(record: &Record) -> Vec<Flag> {
    let mut flags = all_flags(record);
    flags.retain(|flag| {
        let count = record.cells.iter().filter(|cell| cell.flags.contains(flag)).count();
        count == 0 || (count > 1 && count == record.cells.len())
    });
    flags
}

/// Every flag that stands anywhere, once.
fn all_flags(record: &Record) -> Vec<Flag> {
    let of_targets = record.targets.iter().flat_map(|target| &target.flags);
    let of_warnings = every_warning(record).filter_map(|warning| warning.flag.as_ref());
    let of_cells = record.cells.iter().flat_map(|cell| &cell.flags);
    let mut flags: Vec<Flag> =
        record.flags.iter().chain(of_targets).chain(of_warnings).chain(of_cells).copied().collect();
    flags.sort();
    flags.dedup();
    flags
}

/// Lines that brief notes take, so that seven results and their notes fit a screen of 24 lines.
const LINES_MAX: usize = 8;

/// The order in which brief notes come: the gravest first, and of those alike the cells' own.
pub(super) fn by_severity(record: &Record) -> Vec<Flag> {
    let (mut flags, whole) = (all_flags(record), of_the_whole_run(record));
    flags.sort_by_key(|flag| (Reverse(line::of(*flag).severity), whole.contains(flag), *flag));
    flags
}

/// Every flag in a line, then what belongs to none; names alone where they are too many.
pub(super) fn brief(page: &mut Page, record: &Record) {
    let labelled: Vec<(String, Flag)> =
        by_severity(record).into_iter().map(|flag| (page.label(flag), flag)).collect();
    let said = unflagged(record);
    page.gap();
    let room = LINES_MAX - usize::from(!said.is_empty());
    let shown = if labelled.len() > room { room - 1 } else { labelled.len() };
    for (label, flag) in &labelled[..shown] {
        let cure = command(record, *flag)
            .filter(|command| columns_of(&line_of(*flag, label, command)) <= page.style.columns());
        let text = line_of(*flag, label, &cure.unwrap_or_else(|| line::of(*flag).cure.to_owned()));
        page.painted(&page.style.clean(&text), line::of(*flag).severity.paint());
    }
    if shown < labelled.len() {
        let names =
            labelled[shown..].iter().map(|(label, flag)| format!("{} {flag}", label.trim()));
        let names = names.collect::<Vec<_>>().join(", ");
        page.painted(&format!("    and {names}"), Paint::Faint);
    }
    let room = LINES_MAX.saturating_sub(labelled.len()).max(1);
    let shown = if said.len() > room { room - 1 } else { said.len() };
    for text in &said[..shown] {
        page.painted(&page.style.clean(&format!("    {text}")), Paint::Plain);
    }
    if shown < said.len() {
        page.painted(
            &format!("    and {}", counted(said.len() - shown, "more warning")),
            Paint::Faint,
        );
    }
}

/// ` 1 foreign_io: other programs used the drive meanwhile; stop them, run again`.
fn line_of(flag: Flag, label: &str, cure: &str) -> String {
    format!("{label:>3} {flag}: {}; {cure}", line::of(flag).means)
}

/// The command that a flag's warnings name, where it is one.
fn command(record: &Record, flag: Flag) -> Option<String> {
    let warnings = every_warning(record).filter(|warning| warning.flag == Some(flag));
    let quoted = warnings.flat_map(|warning| warning.text.split('`').skip(1).step_by(2));
    let mut commands = quoted.filter(|text| text.starts_with("drivelab "));
    let first = commands.next()?;
    commands.all(|other| other == first).then(|| first.to_owned())
}

/// A paragraph for each flag that the page has marked, then what belongs to none.
pub(super) fn explained(page: &mut Page, record: &Record) {
    let flags = page.take_notes();
    if !flags.is_empty() {
        page.gap();
    }
    for (at, flag) in flags.into_iter().enumerate() {
        let seen = seen(page, record, flag);
        let mut text = format!("{flag}: {}", flag.meaning());
        if !seen.is_empty() {
            text += &format!(" Seen: {seen}.");
        }
        // A command that would do says more.
        if !seen.contains("`drivelab ") {
            text += &format!(" Cure: {}.", flag.cure());
        }
        page.hanging(&format!("{:>2} ", at + 1), &text, line::of(flag).severity.paint());
    }
    let said = unflagged(record);
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

/// The look of a mark for several flags: that of the gravest.
pub(super) fn paint(flags: &[Flag]) -> Paint {
    let gravest = flags.iter().map(|&flag| line::of(flag).severity).max();
    gravest.map_or(Paint::Plain, line::Severity::paint)
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
        text += &format!("; and {}", counted(others, "more cell"));
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
fn unflagged(record: &Record) -> Vec<&str> {
    let mut said: Vec<&str> = Vec::new();
    for warning in every_warning(record).filter(|warning| warning.flag.is_none()) {
        if !said.contains(&warning.text.as_str()) {
            said.push(&warning.text);
        }
    }
    said
}
