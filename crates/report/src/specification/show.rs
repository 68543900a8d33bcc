//! Findings as a table for reports and as text for terminals.

use super::{Finding, Metric, Promise, Reading, Specification, Verdict, judge::operation};
use crate::{
    chart::{Column, Entry, Table, Unit},
    document::{Block, Section},
    number::{self, counted},
    terminal::{self, Align, Page, Paint, Style},
};

/// What is promised, in words: `random read 4 KiB, 32 in flight, up to`.
pub fn promise(finding: &Finding<'_>) -> String {
    let entry = finding.entry;
    let mut text = match entry.metric {
        Metric::Iops | Metric::Bandwidth => operation(entry),
        Metric::Latency => match entry.percentile {
            Some(percent) => format!("{percent} % of {} within", operation(entry)),
            None => format!("mean latency of {}", operation(entry)),
        },
        Metric::AccessTime => "access time".to_owned(),
        Metric::Capacity => "capacity".to_owned(),
        Metric::Power => "power".to_owned(),
        Metric::Endurance => "endurance".to_owned(),
    };
    text +=
        &entry.block_bytes.map_or_else(String::new, |bytes| format!(" {}", number::size(bytes)));
    text += &match (entry.depth, entry.threads) {
        (Some(depth), Some(threads)) => {
            format!(", {}, {depth} deep each", counted(threads, "thread"))
        }
        (Some(depth), None) => format!(", {depth} in flight"),
        (None, Some(threads)) => format!(", {}", counted(threads, "thread")),
        (None, None) => String::new(),
    };
    text +=
        &entry.span_bytes.map_or_else(String::new, |b| format!(", {} in use", number::capacity(b)));
    text += &entry.state.map_or_else(String::new, |state| format!(", {}", state.name()));
    match entry.promise {
        Promise::UpTo => text + ", up to",
        Promise::Always => text,
    }
}

/// `231 MB/s +-0.4 %`
fn measured(metric: Metric, reading: Reading, plus_minus: &str) -> String {
    let value = metric.text(reading.value);
    match reading.ci95 {
        Some([low, high]) if high > low && reading.value > 0.0 => {
            let half = (high - low) / 2.0 / reading.value;
            format!("{value} {plus_minus}{}", number::percent(half))
        }
        _ => value,
    }
}

/// `the 95 % interval holds the figure: raise --grade`
fn remark(finding: &Finding<'_>) -> String {
    match (finding.because.as_str(), finding.cure.as_str()) {
        (because, "") => because.to_owned(),
        (because, cure) => format!("{because}: {cure}"),
    }
}

/// All findings for a terminal: a table, then a line for each that is open.
pub fn text(specification: &Specification, findings: &[Finding<'_>], style: &Style) -> String {
    let mut page = Page::new(style);
    let source = match specification.source.as_str() {
        "" => String::new(),
        source => format!(" ({source})"),
    };
    page.heading(&format!("Data sheet: {}{source}", specification.name));
    let mut table = terminal::Table::new(&[
        ("promised", Align::Left),
        ("figure", Align::Right),
        ("measured", Align::Right),
        ("verdict", Align::Left),
    ]);
    let mut remarks = Vec::new();
    for finding in findings {
        let paint = match finding.verdict {
            Verdict::Pass => Paint::Good,
            Verdict::Fail => Paint::Alert,
            Verdict::Inconclusive | Verdict::NotComparable => Paint::Faint,
        };
        let remark = remark(finding);
        let mark = if remark.is_empty() {
            String::new()
        } else {
            remarks.push(remark);
            format!(" ({})", remarks.len())
        };
        let plus_minus = style.plus_minus();
        let reading = finding.measured.map_or_else(
            || "-".to_owned(),
            |reading| measured(finding.entry.metric, reading, plus_minus),
        );
        table.painted_row(vec![
            (style.clean(&promise(finding)), Paint::Plain),
            (style.clean(&finding.entry.printed), Paint::Plain),
            (reading, Paint::Plain),
            (format!("{}{mark}", finding.verdict.name()), paint),
        ]);
    }
    page.table(&table);
    for (at, remark) in remarks.iter().enumerate() {
        page.hanging(&format!("({}) ", at + 1), remark, Paint::Plain);
    }
    page.finish()
}

/// The same for a report; `of` names the target where there are several.
pub fn section(specification: &Specification, findings: &[Finding<'_>], of: &str) -> Section {
    let columns = vec![
        Column::text("promised"),
        Column::text("figure"),
        Column::text("measured"),
        Column::number("measured, plain", Unit::Number),
        Column::number("95 % from", Unit::Number),
        Column::number("to", Unit::Number),
        Column::text("cell"),
        Column::text("verdict"),
        Column::text("because"),
    ];
    let row = |finding: &Finding<'_>| {
        let metric = finding.entry.metric;
        let reading = finding.measured.map(|reading| measured(metric, reading, "\u{b1}"));
        let ends = finding.measured.and_then(|reading| reading.ci95);
        vec![
            Entry::text(&promise(finding)),
            Entry::text(&finding.entry.printed),
            Entry::text(reading.as_deref().unwrap_or("")),
            Entry::number(finding.measured.map(|reading| reading.value)),
            Entry::number(ends.map(|[low, _]| low)),
            Entry::number(ends.map(|[_, high]| high)),
            Entry::text(finding.cell.as_deref().unwrap_or("")),
            Entry::text(finding.verdict.name()),
            Entry::text(&remark(finding)),
        ]
    };
    let rows = findings.iter().map(row).collect();
    let name = &specification.name;
    let title = if of.is_empty() { name.clone() } else { format!("{of} against {name}") };
    let table = Table { title, columns, rows }.without_empty_columns();
    let source = format!("Promised by: {}.", specification.source.trim_end_matches('.'));
    Section {
        title: "Data sheet".to_owned(),
        sheet: "Compared",
        blocks: vec![Block::Text(source), Block::Table(table)],
    }
}
