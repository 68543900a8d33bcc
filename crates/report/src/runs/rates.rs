//! Bars: cells that stand by themselves, bandwidth of large blocks apart from operations of small
//! ones.

use super::{Kind, Parts, Subject, bytes_per_s, figure, iops};
use crate::{
    chart::{Axis, BarSeries, Bars, Chart, Figure, Unit, Value},
    terminal::{Characters, Style, words},
};
use record::Cell;

/// Groups in one chart: more would be a scroll of many pages.
const GROUPS_MAX: usize = 60;

/// Names without limits of a terminal.
const STYLE: Style = Style { characters: Characters::Unicode, ..Style::PLAIN };

pub(super) fn figures(subjects: &[Subject<'_>], parts: &Parts) -> Vec<Figure> {
    let all: Vec<Vec<&Cell>> =
        subjects.iter().map(|subject| parts.cells(subject, Kind::Bars)).collect();
    let large = bars(subjects, &all, "Bandwidth of large blocks", Unit::BytesPerS, |cell| {
        cell.is_large_block().then(|| bytes_per_s(cell))
    });
    let small = bars(subjects, &all, "Operations of small blocks", Unit::Iops, |cell| {
        (!cell.is_large_block()).then(|| iops(cell))
    });
    large.into_iter().chain(small).collect()
}

fn bars(
    subjects: &[Subject<'_>],
    all: &[Vec<&Cell>],
    title: &str,
    unit: Unit,
    value: impl Fn(&Cell) -> Option<Value>,
) -> Option<Figure> {
    let mut names: Vec<&str> = Vec::new();
    let mut examples: Vec<&Cell> = Vec::new();
    for cell in all.iter().flatten().filter(|cell| value(cell).is_some()) {
        if !names.contains(&cell.name.as_str()) {
            names.push(&cell.name);
            examples.push(cell);
        }
    }
    if names.is_empty() {
        return None;
    }
    let of_all = names.len();
    names = super::thinned(names, GROUPS_MAX);
    examples = super::thinned(examples, GROUPS_MAX);
    let series = subjects.iter().zip(all).map(|(subject, cells)| BarSeries {
        name: subject.name.clone(),
        values: names
            .iter()
            .map(|name| cells.iter().filter(|cell| cell.name == *name).find_map(|cell| value(cell)))
            .collect(),
        ..BarSeries::default()
    });
    let has_values = |series: &BarSeries| series.values.iter().any(Option::is_some);
    let chart = Chart::Bars(Bars {
        group_title: "cell".to_owned(),
        groups: cell_names(&examples),
        value: Axis::linear("rate", unit),
        series: series.filter(has_values).collect(),
    });
    let mut note =
        "Each bar is the median of a cell's passes, the line across it the 95 % interval."
            .to_owned();
    if names.len() < of_all {
        note += &format!(
            " {} of {of_all} cells are drawn, evenly chosen; the table of all cells has the others.",
            names.len()
        );
    }
    Some(figure(title.to_owned(), &note, chart))
}

/// Names in words that tell the cells apart.
pub(super) fn cell_names(cells: &[&Cell]) -> Vec<String> {
    words::distinct_names(cells, &STYLE)
}
