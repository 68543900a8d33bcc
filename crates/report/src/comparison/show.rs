//! A comparison for terminals and for reports.

use super::{Comparison, Design, Effort, KneeRow, Other, Ratio, word};
use crate::{
    knee::condition,
    number,
    runs::{Subject, price::asked},
    terminal::{self, Align, Page, Paint, Style, words},
};
use record::{Cell, Knee, PairedVerdict, Record};

/// Cells that are named one by one where only one side has them.
const NAMED_MAX: usize = 4;

/// What a paired and an unpaired comparison may say.
pub(super) fn about(other: &Other<'_>) -> &'static str {
    match other.design {
        Design::Paired => {
            "Paired: in one run, passes in turn; what drifted slowly hit both and cancels."
        }
        Design::Unpaired => {
            "Unpaired: the runs were made apart. The interval is the wider for it, and still does not know what changed on \
             the machine between them; `drivelab run A B` measures two targets in turn."
        }
    }
}

fn paint(verdict: PairedVerdict) -> Paint {
    match verdict {
        PairedVerdict::Faster => Paint::Good,
        PairedVerdict::Slower => Paint::Alert,
        PairedVerdict::Same => Paint::Plain,
        PairedVerdict::Undecided => Paint::Faint,
    }
}

fn interval(ratio: Option<Ratio>) -> String {
    let ends = ratio.and_then(|ratio| ratio.ci95);
    ends.map_or_else(|| "-".to_owned(), |[low, high]| format!("{} to {}", three(low), three(high)))
}

/// A ratio to three decimals: 1.02 and 1.023 lie on two sides of the band.
fn three(ratio: f64) -> String {
    if (0.1..100.0).contains(&ratio) { format!("{ratio:.3}") } else { number::significant(ratio) }
}

fn table() -> terminal::Table {
    terminal::Table::new(&[
        ("cell", Align::Left),
        ("baseline", Align::Right),
        ("this", Align::Right),
        ("ratio", Align::Right),
        ("verdict", Align::Left),
        ("95 % interval", Align::Right),
    ])
}

fn put(
    table: &mut terminal::Table,
    name: String,
    [baseline, this]: [String; 2],
    ratio: Option<Ratio>,
    verdict: Option<String>,
) {
    let paint = ratio.map_or(Paint::Faint, |ratio| paint(ratio.verdict));
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let plain = [name, baseline, this, or_none(ratio.map(|ratio| three(ratio.ratio)))];
    let mut fields: Vec<_> = plain.into_iter().map(|text| (text, Paint::Plain)).collect();
    fields.push((or_none(verdict), paint));
    fields.push((interval(ratio), Paint::Plain));
    table.painted_row(fields);
}

/// A table for each limit that rates were sought with.
fn put_knees(page: &mut Page, knees: &[KneeRow<'_>], style: &Style) {
    for of_limit in by_limit(knees) {
        page.line(&format!("{}:", sought(of_limit[0])));
        let cells: Vec<&Cell> = of_limit.iter().map(|row| row.cell).collect();
        let mut table = table();
        for (row, name) in of_limit.iter().zip(words::distinct_names(&cells, style)) {
            let found = |knee: &Knee| {
                let iops = knee.iops.map(|iops| format!("{} IOPS", number::iops(iops)));
                iops.unwrap_or_else(|| "none".to_owned())
            };
            let verdict = row.ratio.map(|ratio| word(ratio.verdict).to_owned());
            put(&mut table, name, [row.baseline, row.other].map(found), row.ratio, verdict);
        }
        page.table(&table);
        page.gap();
    }
}

/// Rows of one limit together, in their order.
pub(super) fn by_limit<'a, 'r>(knees: &'a [KneeRow<'r>]) -> Vec<Vec<&'a KneeRow<'r>>> {
    let mut all: Vec<Vec<&KneeRow<'r>>> = Vec::new();
    for row in knees {
        match all.iter_mut().find(|rows| sought(rows[0]) == sought(row)) {
            Some(rows) => rows.push(row),
            None => all.push(vec![row]),
        }
    }
    all
}

/// `Highest rate with p99 < 1 ms`.
pub(super) fn sought(row: &KneeRow<'_>) -> String {
    format!("Highest rate with {}", condition(row.baseline))
}

/// For a terminal: environment first, then each target's cells.
pub fn text(comparison: &Comparison<'_>, style: &Style) -> String {
    let mut page = Page::new(style);
    page.hanging("baseline ", &comparison.baseline.name, Paint::Plain);
    page.gap();
    if comparison.differences.rows.is_empty() {
        page.line("Environment and method are the same.");
    } else {
        page.heading("What differs around the runs");
        terminal::put_table(&mut page, &comparison.differences);
    }
    for other in &comparison.others {
        page.heading(&format!("{} against {}", other.subject.name, comparison.baseline.name));
        put_knees(&mut page, &other.knees, style);
        let mut table = table();
        let cells: Vec<&Cell> = other.rows.iter().map(|row| row.baseline).collect();
        for (row, name) in other.rows.iter().zip(words::distinct_names(&cells, style)) {
            let rates = [row.baseline, row.other].map(words::headline);
            put(&mut table, name, rates, row.ratio, row.verdict());
        }
        page.table(&table);
        page.gap();
        page.line(about(other));
        if let Some(line) = money(&comparison.baseline, &other.subject) {
            page.line(&line);
        }
        for line in alone(other, &comparison.baseline.name, style) {
            page.line(&line);
        }
        if let Some(effort) = &other.effort {
            page.line(&format!("{}:", takes(effort, comparison.baseline.record)));
            effort.commands.iter().for_each(|command| page.command(command));
        }
    }
    page.gap();
    page.line("Ratio: rate over the baseline's. Same: all of its 95 % interval within 2 %; faster, slower: all of it beyond.");
    page.finish()
}

/// `To tell 5 % apart: 12 passes in turn, about 14 min`.
pub(super) fn takes(effort: &Effort, baseline: &Record) -> String {
    let how = match effort.design {
        Design::Paired => "in turn",
        Design::Unpaired => "of each",
    };
    let time = match (baseline.time.as_str(), effort.design) {
        ("virtual", _) => String::new(),
        (_, Design::Paired) => format!(", about {}", minutes(effort.seconds)),
        (_, Design::Unpaired) => format!(", about {} each", minutes(effort.seconds)),
    };
    match effort.passes {
        1 => format!("To tell 5 % apart: 1 pass {how}{time}"),
        passes => format!("To tell 5 % apart: {passes} passes {how}{time}"),
    }
}

/// Rounded up to minutes, or to hours where they are many.
fn minutes(seconds: f64) -> String {
    let minutes = (seconds / 60.0).ceil();
    if minutes < 120.0 { format!("{minutes:.0} min") } else { format!("{:.1} h", minutes / 60.0) }
}

/// What the prices make of a ratio, where both are known.
fn money(baseline: &Subject<'_>, other: &Subject<'_>) -> Option<String> {
    let (ours, theirs) = (baseline.price.as_ref()?, other.price.as_ref()?);
    if ours.currency != theirs.currency {
        return Some(format!(
            "Prices in {} and {} are not compared: give both in one currency with --price.",
            ours.currency, theirs.currency
        ));
    }
    let factor = ours.amount / theirs.amount;
    Some(format!(
        "{} {}{} against {} {}{}: for the money, every ratio times {}.",
        number::significant(theirs.amount),
        theirs.currency,
        asked([theirs]),
        number::significant(ours.amount),
        ours.currency,
        asked([ours]),
        three(factor)
    ))
}

/// What only one side has.
fn alone(other: &Other<'_>, baseline: &str, style: &Style) -> Vec<String> {
    let line = |cells: &[&Cell], name: &str| {
        let mut names = words::distinct_names(cells, style);
        let more = names.len().saturating_sub(NAMED_MAX);
        names.truncate(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!cells.is_empty()).then(|| format!("Only in {name}: {}{more}.", names.join("; ")))
    };
    let ours = line(&other.only_in_baseline, baseline);
    ours.into_iter().chain(line(&other.only_in_other, &other.subject.name)).collect()
}
