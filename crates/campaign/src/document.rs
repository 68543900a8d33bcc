//! A campaign as a report: what `report::html` makes a page of.

use crate::{
    Campaign, CampaignError, Survey, Task,
    fleet::{self, By, Compared},
    summary::{self, Row},
};
use report::{
    chart::{Axis, BarSeries, Bars, Chart, Column, Entry, Figure, Table, Unit, Value},
    document::{Block, Document, Section},
    number::counted,
};
use std::collections::BTreeMap;

/// Treatments that a chart shows: more bars are nothing to look at.
const BARS_MAX: usize = 60;

/// Everything that was found.
///
/// # Errors
/// The list of tasks cannot be read.
pub fn document(campaign: &Campaign, survey: &Survey) -> Result<Document, CampaignError> {
    let tasks = campaign.tasks()?;
    let rows = summary::rows(&tasks, survey.answers());
    let mut sections = charts(&rows);
    sections.push(Section {
        title: "All treatments and cells".to_owned(),
        sheet: "Cells",
        blocks: vec![Block::Table(cells(&rows))],
    });
    sections.extend(fleets(&tasks, survey));
    let text = std::fs::read_to_string(campaign.path("campaign.toml"))
        .map_err(|error| CampaignError::io("read", campaign.path("campaign.toml"), error))?;
    sections.push(Section {
        title: "What was asked for".to_owned(),
        sheet: "Campaign",
        blocks: vec![Block::Verbatim { title: "campaign.toml".to_owned(), text }],
    });
    let counts = survey.counts();
    let summary = format!(
        "{} of {} complete, {} failed, {} to do.",
        counts.complete,
        counted(counts.tasks as u64, "task"),
        counts.failed,
        counts.open() + counts.running,
    );
    Ok(Document {
        title: format!("Campaign {}", campaign.head.name),
        origin: format!("made {}", campaign.head.created),
        summary: vec![summary],
        highlights: Vec::new(),
        doubts: None,
        sections,
    })
}

/// A chart a cell: its rate on every treatment.
fn charts(rows: &[Row]) -> Vec<Section> {
    let mut by_cell: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    rows.iter().for_each(|row| by_cell.entry(&row.cell).or_default().push(row));
    let several = by_cell.into_iter().filter(|(_, rows)| (2..=BARS_MAX).contains(&rows.len()));
    let figure = |(number, (cell, rows)): (usize, (&str, Vec<&Row>))| {
        let unit = if rows[0].is_bandwidth { Unit::BytesPerS } else { Unit::Iops };
        let value = |row: &&Row| {
            let (value, ci95) = (row.rate.median, row.rate.ci95);
            Some(Value { value, ci95, note: String::new() })
        };
        let values: Vec<Option<Value>> = rows.iter().map(value).collect();
        let scale =
            report::chart::Scale::Linear.fit(values.iter().flatten().map(|value| value.value));
        Figure {
            id: format!("cell-{number}"),
            title: cell.to_owned(),
            note: "Median over repetitions, with its 95 % interval.".to_owned(),
            chart: Chart::Bars(Bars {
                group_title: "treatment".to_owned(),
                groups: rows.iter().map(|row| row.label()).collect(),
                value: Axis::new("rate", unit, scale),
                series: vec![BarSeries { values, ..BarSeries::default() }],
            }),
        }
    };
    let figures = several.enumerate().map(figure);
    let blocks: Vec<Block> = figures.map(|figure| Block::Figure(Box::new(figure))).collect();
    let section = Section { title: "Cell by cell".to_owned(), sheet: "Charts", blocks };
    if section.blocks.is_empty() { Vec::new() } else { vec![section] }
}

fn cells(rows: &[Row]) -> Table {
    let columns = vec![
        Column::text("target and settings"),
        Column::text("method"),
        Column::text("cell"),
        Column::number("n", Unit::Number),
        Column::number("rate", Unit::Iops),
        Column::number("bandwidth", Unit::BytesPerS),
        Column::number("± %", Unit::Percent),
        Column::number("p99", Unit::Ns),
    ];
    let row = |row: &Row| {
        let rate = Some(row.rate.median);
        vec![
            Entry::text(&row.label()),
            Entry::text(&row.method),
            Entry::text(&row.cell),
            Entry::Number(row.rate.n as f64),
            Entry::number(rate.filter(|_| !row.is_bandwidth)),
            Entry::number(rate.filter(|_| row.is_bandwidth)),
            Entry::number(row.half_width_relative().map(|share| share * 100.0)),
            Entry::number(row.p99_ns.map(|ns| ns as f64)),
        ]
    };
    Table { title: String::new(), columns, rows: rows.iter().map(row).collect() }
}

fn fleets(tasks: &[Task], survey: &Survey) -> Vec<Section> {
    let answers: Vec<_> = survey.answers().collect();
    let section = |by: By| {
        let compared = fleet::compared(tasks, &answers, by);
        let row = |it: &Compared| {
            vec![
                Entry::text(&it.model),
                Entry::text(&it.who),
                Entry::text(&it.against),
                Entry::Number(it.n as f64),
                Entry::Number(it.found.ratio),
                Entry::number(it.found.ci95.map(|[low, _]| low)),
                Entry::number(it.found.ci95.map(|[_, high]| high)),
                Entry::text(fleet::word(it.found.verdict)),
            ]
        };
        let columns = vec![
            Column::text("model"),
            Column::text("which"),
            Column::text("against"),
            Column::number("n", Unit::Number),
            Column::number("ratio", Unit::Ratio),
            Column::number("95 % from", Unit::Ratio),
            Column::number("to", Unit::Ratio),
            Column::text("verdict"),
        ];
        let rows: Vec<_> = compared.iter().map(row).collect();
        let table = Table { title: String::new(), columns, rows };
        (!compared.is_empty()).then(|| Section {
            title: by.title().to_owned(),
            sheet: "Fleet",
            blocks: vec![Block::Table(table)],
        })
    };
    By::ALL.into_iter().filter_map(section).collect()
}
