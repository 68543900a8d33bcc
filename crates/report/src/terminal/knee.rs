//! Searches for a rate: the highest that holds a latency, and the curve of latency over rate.

use super::{
    notes,
    page::Page,
    style::Paint,
    table::{Align, Table},
    words,
};
use crate::{number, runs::knee};
use record::{Cell, Knee, KneeOutcome, KneeVerdict, Record};

/// Of one target: what was found for each cell, and its curve; cells of no search as a list.
pub(super) fn render(page: &mut Page, record: &Record, target: usize) {
    let cells: Vec<&Cell> = record.cells.iter().filter(|cell| cell.target == target).collect();
    let names = names(page, &record.knees, &cells);
    for (knee, name) in record.knees.iter().zip(&names).filter(|(it, _)| it.target == target) {
        let curve = knee::curve(knee, &cells);
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

/// What was found.
pub(crate) fn sentence(knee: &Knee) -> String {
    let condition = condition(knee);
    let rate = knee.iops.map(|iops| format!("{} IOPS", number::iops(iops)));
    let Some(outcome) = knee.outcome else {
        return match rate {
            Some(rate) => format!("{condition} holds up to {rate} so far; the search goes on"),
            None => format!("the search for the highest rate with {condition} has not ended"),
        };
    };
    let between = knee.iops_ci95.map_or_else(
        || ", without an interval: passes near it came out either way".to_owned(),
        |[low, high]| format!(" (95 %: {} to {})", number::iops(low), number::iops(high)),
    );
    match (outcome, rate) {
        (KneeOutcome::Latency, Some(rate)) => format!("{condition} holds up to {rate}{between}"),
        (KneeOutcome::Capacity, Some(rate)) => format!(
            "{condition} holds up to {rate}{between}: at every rate that the target keeps up with"
        ),
        (KneeOutcome::AllHold, Some(rate)) => {
            format!("{condition} holds at every rate that was tried, up to {rate}: no knee was met")
        }
        _ => {
            let least = knee.probes.iter().min_by(|a, b| a.rate.total_cmp(&b.rate));
            let seen = least.map_or_else(String::new, |probe| {
                let rate = number::iops(probe.rate);
                match probe.latency_ns {
                    Some(ns) => {
                        let (what, ns) = (limited(knee), number::duration_ns(ns));
                        format!(": at {rate} IOPS, the lowest tried, {what} is {ns}")
                    }
                    None => format!(", down to {rate} IOPS"),
                }
            });
            format!("no rate holds {condition}{seen}{}", cut_short(knee))
        }
    }
}

/// Why no lower rate was tried, where the time forbade it: a search goes down to a 4,096th of the
/// closed loop.
fn cut_short(knee: &Knee) -> &'static str {
    let lowest = knee.probes.iter().map(|probe| probe.rate).fold(f64::INFINITY, f64::min);
    match knee.closed_loop_iops {
        Some(closed_loop) if lowest > closed_loop / 2048.0 => {
            "; lower rates have too few operations in the time that a pass may take"
        }
        _ => "",
    }
}

/// `p99 < 1 ms`.
pub(crate) fn condition(knee: &Knee) -> String {
    format!("{} < {}", limited(knee), limit(knee.limit_ns as f64))
}

/// As short as it was typed.
fn limit(ns: f64) -> String {
    let units = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
    let (unit, factor) = units.into_iter().find(|it| ns >= it.1).unwrap_or(("ns", 1.0));
    format!("{} {unit}", ns / factor)
}

/// `p99`, `mean`.
pub(crate) fn limited(knee: &Knee) -> String {
    knee.percent.map_or_else(|| "mean".to_owned(), |percent| format!("p{percent}"))
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
