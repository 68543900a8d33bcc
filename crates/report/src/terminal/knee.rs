//! Searches for a rate: the highest that holds a latency, and the curve of latency over rate.

use super::{
    notes,
    page::Page,
    style::Paint,
    table::{Align, Table},
    words,
};
use crate::{
    knee::{curve, limited, sentence},
    number,
};
use record::{Cell, Knee, KneeVerdict, Record};

/// Of one target: what was found for each cell, and its curve; cells of no search as a list.
pub(super) fn render(page: &mut Page, record: &Record, target: usize) {
    let cells: Vec<&Cell> = record.cells.iter().filter(|cell| cell.target == target).collect();
    let names = names(page, &record.knees, &cells);
    for (knee, name) in record.knees.iter().zip(&names).filter(|(it, _)| it.target == target) {
        let curve = curve(knee, &cells);
        page.line(&format!("{name}: {}", sentence(knee)));
        let table = table(page, knee, &curve);
        page.table(&table);
        page.gap();
    }
}

/// What the searched cells do, told apart.
fn names(page: &Page, knees: &[Knee], cells: &[&Cell]) -> Vec<String> {
    let own = |knee: &Knee| cells.iter().copied().find(|cell| cell.name == knee.cell);
    let known: Vec<&Cell> = knees.iter().filter_map(own).collect();
    let named = words::distinct_names(&known, page.style);
    let name = |knee: &Knee| {
        let at = known.iter().position(|cell| cell.name == knee.cell);
        at.map_or_else(|| page.style.clean(&knee.cell), |at| named[at].clone())
    };
    knees.iter().map(name).collect()
}

/// The curve: a row a rate, then the closed loop.
fn table(page: &mut Page, knee: &Knee, curve: &[(f64, &Cell)]) -> Table {
    let own = limited(knee);
    let has_own = !["p50", "p99"].contains(&own.as_str());
    let mut heads = vec![("asked for", Align::Right), ("done", Align::Right)];
    heads.extend([("p50", Align::Right), ("p99", Align::Right)]);
    heads.extend(has_own.then_some((own.as_str(), Align::Right)));
    heads.push(("holds", Align::Left));
    let marks: Vec<String> = curve.iter().map(|(_, cell)| page.marks(&cell.flags)).collect();
    let any_marks = marks.iter().any(|mark| !mark.is_empty());
    heads.extend(any_marks.then_some(("notes", Align::Left)));
    let mut table = Table::new(&heads);
    for ((rate, cell), mark) in curve.iter().zip(marks) {
        let latency = cell.latency.as_ref();
        let asked = match *rate {
            0.0 => "closed loop".to_owned(),
            rate => format!("{} IOPS", number::iops(rate)),
        };
        let mut row = vec![
            (asked, Paint::Plain),
            (words::headline(cell), Paint::Strong),
            (words::percentile(latency, 50.0), Paint::Plain),
            (words::percentile(latency, 99.0), Paint::Plain),
        ];
        row.extend(has_own.then(|| (seen(knee, *rate), Paint::Plain)));
        row.push((holds(knee, *rate), Paint::Plain));
        row.extend(any_marks.then(|| (mark, notes::paint(&cell.flags))));
        table.painted_row(row);
    }
    table
}

/// The latency that is limited, of the last pass at this rate.
fn seen(knee: &Knee, rate: f64) -> String {
    let last = knee.probes.iter().rev().find(|probe| probe.rate == rate);
    let ns = last.and_then(|probe| probe.latency_ns);
    ns.map_or_else(|| "-".to_owned(), number::duration_ns)
}

/// How the passes at this rate came out: `yes`, `no`, `2 of 3`.
fn holds(knee: &Knee, rate: f64) -> String {
    let passes: Vec<KneeVerdict> =
        knee.probes.iter().filter(|it| it.rate == rate).map(|it| it.verdict).collect();
    let count = |wanted| passes.iter().filter(|verdict| **verdict == wanted).count();
    let overload = knee.probes.iter().any(|probe| probe.rate == rate && probe.overload);
    match (count(KneeVerdict::Holds), count(KneeVerdict::Fails), passes.len()) {
        (_, _, 0) => String::new(),
        (yes, _, all) if yes == all => "yes".to_owned(),
        (_, no, all) if no == all && overload => "no: a queue grows".to_owned(),
        (_, no, all) if no == all => "no".to_owned(),
        (0, 0, _) => "unsure".to_owned(),
        (yes, _, all) => format!("{yes} of {all} passes"),
    }
}
