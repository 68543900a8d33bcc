//! What the performance costs, for subjects whose price is known.

use super::{Subject, figure, rates};
use crate::chart::{Axis, BarSeries, Bars, Chart, Figure, Line, Lines, Point, Stroke, Unit, Value};
use record::{Cell, Money};
use std::collections::BTreeSet;

/// Behind a currency: when the prices in it were asked, as far as that is known.
pub(crate) fn asked<'p>(prices: impl IntoIterator<Item = &'p Money>) -> String {
    let dates: BTreeSet<Option<&str>> =
        prices.into_iter().map(|price| price.date.as_deref()).collect();
    let known: Vec<&str> = dates.iter().copied().flatten().collect();
    let given = if dates.contains(&None) { " or as given" } else { "" };
    match known[..] {
        [] => String::new(),
        [only] => format!(" of {only}{given}"),
        [first, .., last] => format!(" of {first} to {last}{given}"),
    }
}

/// For every currency: performance against price, and operations for a unit of money.
pub(super) fn figures(subjects: &[Subject<'_>]) -> Vec<Figure> {
    let mut currencies: Vec<&str> = Vec::new();
    for price in subjects.iter().filter_map(|subject| subject.price.as_ref()) {
        if !currencies.contains(&price.currency.as_str()) {
            currencies.push(&price.currency);
        }
    }
    let mut figures = Vec::new();
    for currency in currencies {
        let priced: Vec<(&Subject<'_>, f64)> = subjects
            .iter()
            .filter_map(|subject| {
                let price = subject.price.as_ref()?;
                (price.currency == currency && price.amount > 0.0)
                    .then_some((subject, price.amount))
            })
            .collect();
        let asked = asked(priced.iter().filter_map(|(subject, _)| subject.price.as_ref()));
        let money = [currency, &asked];
        figures.extend(telling(&priced).iter().map(|cell| scatter(&priced, cell, money)));
        figures.extend(per_money(&priced, money));
    }
    figures
}

/// Cells that every subject has: the first of large blocks and the last random one of small blocks,
/// which is the deepest in most methods.
fn telling<'c>(priced: &[(&Subject<'c>, f64)]) -> Vec<&'c Cell> {
    let Some(((first, _), others)) = priced.split_first() else { return Vec::new() };
    let is_common = |cell: &&Cell| {
        others.iter().all(|(other, _)| other.cells.iter().any(|theirs| theirs.name == cell.name))
    };
    let common: Vec<&Cell> = first.cells.iter().copied().filter(is_common).collect();
    let large = common.iter().find(|cell| cell.is_large_block());
    let small = common.iter().rfind(|cell| cell.block_bytes == 4096 && cell.op == "read");
    large.into_iter().chain(small).copied().collect()
}

fn rate(cell: &Cell) -> Value {
    if cell.is_large_block() { super::bytes_per_s(cell) } else { super::iops(cell) }
}

fn of<'c>(subject: &Subject<'c>, name: &str) -> Option<&'c Cell> {
    subject.cells.iter().find(|cell| cell.name == name).copied()
}

fn scatter(priced: &[(&Subject<'_>, f64)], cell: &Cell, [currency, asked]: [&str; 2]) -> Figure {
    let line = |(subject, price): &(&Subject<'_>, f64)| {
        let value = rate(of(subject, &cell.name)?);
        let points = vec![Point { x: *price, y: value }];
        Some(Line { points, ..Line::new(&subject.name, Stroke::Points) })
    };
    let unit = if cell.is_large_block() { Unit::BytesPerS } else { Unit::Iops };
    let chart = Chart::Lines(Lines {
        x: Axis::linear("price", Unit::Other(currency.to_owned())),
        y: Axis::log("rate", unit),
        series: priced.iter().filter_map(line).collect(),
        bands: Vec::new(),
    });
    let name = rates::cell_names(&[cell]).concat();
    let note = format!(
        "Better is up and to the left. The price is that of the drives alone, in {currency}{asked}."
    );
    figure(format!("Performance against price: {name}"), &note, chart)
}

/// Operations of every small-block cell for one unit of money.
fn per_money(priced: &[(&Subject<'_>, f64)], [currency, asked]: [&str; 2]) -> Option<Figure> {
    let mut cells: Vec<&Cell> = Vec::new();
    for cell in priced.iter().flat_map(|(subject, _)| &subject.cells) {
        if cell.block_bytes == 4096 && !cells.iter().any(|known| known.name == cell.name) {
            cells.push(cell);
        }
    }
    if cells.is_empty() {
        return None;
    }
    let value = |subject: &Subject<'_>, price: f64, cell: &Cell| {
        let cell = of(subject, &cell.name)?;
        let ci95 = cell.iops_ci95.map(|ends| ends.map(|end| end / price));
        Some(Value { value: cell.iops / price, ci95, note: super::flags(cell) })
    };
    let series = priced.iter().map(|(subject, price)| BarSeries {
        name: subject.name.clone(),
        values: cells.iter().map(|cell| value(subject, *price, cell)).collect(),
        ..BarSeries::default()
    });
    let chart = Chart::Bars(Bars {
        group_title: "cell".to_owned(),
        groups: rates::cell_names(&cells),
        value: Axis::linear("rate for the money", Unit::Other(format!("IOPS per {currency}"))),
        series: series.collect(),
    });
    let note = "Operations of 4 KiB a second that one unit of money buys.";
    Some(figure(format!("Operations for the money, {currency}{asked}"), note, chart))
}
