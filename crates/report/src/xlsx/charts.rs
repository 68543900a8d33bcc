//! Figures on a sheet: their charts side by side on top, the numbers that the charts point to
//! below.

use super::sheet::{Sheet, cleaned};
use crate::{
    chart::{Axis, Bars, Chart, Figure, Grid, Lines, Scale, Stroke, Unit, Value},
    document::{Block, Section},
};
use rust_xlsxwriter::{
    Chart as NativeChart, ChartErrorBars, ChartErrorBarsType, ChartLegendPosition, ChartLine,
    ChartRange, ChartType, ConditionalFormat3ColorScale, XlsxError,
};

/// What Excel draws at most.
const SERIES_MAX: usize = 255;
/// Size of a chart and the room around it, pixels.
const WIDTH: u32 = 620;
const HEIGHT: u32 = 340;
const GAP: u32 = 20;
/// Charts side by side: as wide as a page.
const ACROSS: usize = 2;
/// Height of a row that nobody has set, pixels.
const ROW: u32 = 20;

/// The charts of a sheet, hung above the numbers.
pub(super) struct Board {
    /// By figure: the row and the column of the board, and its height in pixels.
    places: Vec<(u32, usize, u32)>,
    charts: Vec<Option<NativeChart>>,
    rows: u32,
    sheet: String,
}

impl Board {
    /// Room for every chart of these sections.
    pub(super) fn of(sections: &[&Section], sheet: &Sheet<'_>) -> Self {
        let figures: Vec<&Figure> = sections
            .iter()
            .flat_map(|section| &section.blocks)
            .filter_map(|block| match block {
                Block::Figure(figure) => Some(figure.as_ref()),
                _ => None,
            })
            .collect();
        let (mut places, mut row) = (Vec::new(), 0);
        for pair in figures.chunks(ACROSS) {
            let heights = pair.iter().map(|figure| chart_height(figure));
            let tallest = heights.clone().max().unwrap_or(0);
            places.extend(heights.enumerate().map(|(column, height)| (row, column, height)));
            row += (tallest + GAP).div_ceil(ROW);
        }
        Self { places, charts: Vec::new(), rows: row, sheet: sheet.name.clone() }
    }

    /// Rows that it takes.
    pub(super) fn rows(&self) -> u32 {
        self.rows
    }

    /// The numbers of the next figure, below what is there.
    pub(super) fn numbers(
        &mut self,
        sheet: &mut Sheet<'_>,
        figure: &Figure,
    ) -> Result<(), XlsxError> {
        sheet.heading(&figure.title)?;
        if !figure.note.is_empty() {
            sheet.paragraph(&figure.note)?;
        }
        let chart = match &figure.chart {
            Chart::Bars(bars) => of_bars(sheet, bars, figure.scale())?,
            Chart::Lines(lines) => of_lines(sheet, lines, figure.scale())?,
            Chart::Grid(grid) => of_grid(sheet, grid)?,
        };
        sheet.gap();
        let (_, _, height) = self.places[self.charts.len()];
        self.charts.push(chart.map(|mut chart| {
            chart.title().set_name(&spoken(&figure.title)).set_overlay(false);
            chart.legend().set_position(ChartLegendPosition::Bottom);
            chart.set_width(WIDTH);
            chart.set_height(height);
            chart
        }));
        Ok(())
    }

    /// Puts the charts into their places, once the columns have their widths.
    pub(super) fn hang(self, sheet: &mut Sheet<'_>) -> Result<(), XlsxError> {
        assert_eq!(self.sheet, sheet.name, "charts point to the sheet that they are on");
        for ((row, column, _), chart) in self.places.iter().zip(&self.charts) {
            let Some(chart) = chart else { continue };
            let left = (WIDTH + GAP) * *column as u32;
            sheet.worksheet.insert_chart_with_offset(*row, 0, chart, left, 4)?;
        }
        Ok(())
    }
}

/// Lying bars need room for each of them.
fn chart_height(figure: &Figure) -> u32 {
    match &figure.chart {
        Chart::Bars(bars) => {
            let rows = bars.groups.len() * bars.series.len().max(1);
            HEIGHT.max(120 + 22 * u32::try_from(rows).unwrap_or(100).min(100))
        }
        _ => HEIGHT,
    }
}

type Placed = Option<NativeChart>;

/// The factor and the name of the unit that all values share.
fn scale<'v>(axis: &Axis, values: impl Iterator<Item = &'v Value>) -> (f64, String) {
    let sizes = values.map(|value| value.value.abs()).filter(|size| size.is_finite());
    axis.unit.common(sizes.fold(0.0, f64::max))
}

/// A name in a chart, where `=` at the beginning or `!` would make it a reference to fields.
fn spoken(text: &str) -> String {
    let text = cleaned(text).replace('!', "\u{ff01}");
    if text.starts_with('=') { format!("'{text}") } else { text }
}

fn titled(axis: &Axis, unit: &str) -> String {
    cleaned(&if unit.is_empty() { axis.title.clone() } else { format!("{}, {unit}", axis.title) })
}

/// How far the interval reaches to either side: what error bars are made of.
fn reach(value: &Value) -> Option<[f64; 2]> {
    let [low, high] = value.ci95?;
    Some([value.value - low, high - value.value])
}

/// Lines that do not compete with the data.
fn pale() -> ChartLine {
    let mut line = ChartLine::new();
    line.set_color(0x00D9_DEE6).set_width(0.75);
    line
}

fn range(sheet: &Sheet<'_>, rows: (u32, u32), column: u16) -> ChartRange {
    ChartRange::new_from_range(&sheet.name, rows.0, column, rows.1, column)
}

fn error_bars(minus: &ChartRange, plus: &ChartRange) -> ChartErrorBars {
    let mut bars = ChartErrorBars::new();
    bars.set_type(ChartErrorBarsType::Custom(plus.clone(), minus.clone()));
    bars
}

/// Groups down; for each series value, and distance to the ends of its interval.
fn of_bars(sheet: &mut Sheet<'_>, bars: &Bars, spacing: Scale) -> Result<Placed, XlsxError> {
    let values = || bars.series.iter().flat_map(|series| &series.values).flatten();
    let (factor, unit) = scale(&bars.value, values());
    let has_intervals = values().any(|value| value.ci95.is_some());
    let step: u16 = if has_intervals { 3 } else { 1 };
    let mut heads = vec![bars.group_title.clone()];
    for series in &bars.series {
        heads.push(titled(&Axis { title: series.full_name(), ..bars.value.clone() }, &unit));
        if has_intervals {
            heads.extend(["95 % below".to_owned(), "95 % above".to_owned()]);
        }
    }
    sheet.head(&heads.iter().map(String::as_str).collect::<Vec<_>>())?;
    let first = sheet.row;
    for (at, group) in bars.groups.iter().enumerate() {
        sheet.text(sheet.row, 0, group)?;
        for (series, column) in bars.series.iter().zip((1u16..).step_by(step as usize)) {
            let Some(value) = series.values.get(at).and_then(Option::as_ref) else { continue };
            sheet.number(sheet.row, column, value.value / factor)?;
            if let (true, Some([below, above])) = (has_intervals, reach(value)) {
                sheet.number(sheet.row, column + 1, below / factor)?;
                sheet.number(sheet.row, column + 2, above / factor)?;
            }
        }
        sheet.row += 1;
    }
    if bars.groups.is_empty() || !(1..=SERIES_MAX).contains(&bars.series.len()) {
        return Ok(None);
    }
    let rows = (first, sheet.row - 1);
    let mut chart = NativeChart::new(ChartType::Bar);
    for (series, column) in bars.series.iter().zip((1u16..).step_by(step as usize)) {
        let [values, below, above] = [0, 1, 2].map(|offset| range(sheet, rows, column + offset));
        let added = chart.add_series();
        added
            .set_name(&spoken(&series.full_name()))
            .set_categories(&range(sheet, rows, 0))
            .set_values(&values);
        if has_intervals {
            // Lying bars: what is measured goes along x.
            added.set_x_error_bars(&error_bars(&below, &above));
        }
    }
    // As in the table: the first group on top. The upright axis is y here, though the groups stand
    // along it.
    chart.y_axis().set_reverse();
    chart.x_axis().set_name(&spoken(&titled(&bars.value, &unit)));
    chart.x_axis().set_major_gridlines_line(&pale());
    if spacing == Scale::Log {
        chart.x_axis().set_log_base(10);
    }
    if bars.series.len() == 1 {
        chart.legend().set_hidden();
    }
    Ok(Some(chart))
}

/// Points down, series after series.
fn of_lines(sheet: &mut Sheet<'_>, lines: &Lines, spacing: Scale) -> Result<Placed, XlsxError> {
    let values = || lines.series.iter().flat_map(|line| &line.points).map(|point| &point.y);
    let (y_factor, y_unit) = scale(&lines.y, values());
    let largest_x = lines.series.iter().flat_map(|line| &line.points).map(|point| point.x.abs());
    let (x_factor, x_unit) =
        lines.x.unit.common(largest_x.filter(|x| x.is_finite()).fold(0.0, f64::max));
    let [x_title, y_title] = [titled(&lines.x, &x_unit), titled(&lines.y, &y_unit)];
    sheet.head(&["series", &x_title, &y_title, "95 % below", "95 % above", "notes"])?;
    let is_few =
        lines.series.iter().all(|line| matches!(line.stroke, Stroke::Marked | Stroke::Points));
    let kind = match lines.series.iter().all(|line| line.stroke == Stroke::Points) {
        true => ChartType::Scatter,
        false if is_few => ChartType::ScatterStraightWithMarkers,
        false => ChartType::ScatterStraight,
    };
    let mut chart = NativeChart::new(kind);
    let mut drawn = 0;
    for line in &lines.series {
        let first = sheet.row;
        for point in &line.points {
            sheet.text(sheet.row, 0, &line.full_name())?;
            sheet.number(sheet.row, 1, point.x / x_factor)?;
            sheet.number(sheet.row, 2, point.y.value / y_factor)?;
            if let Some([below, above]) = reach(&point.y) {
                sheet.number(sheet.row, 3, below / y_factor)?;
                sheet.number(sheet.row, 4, above / y_factor)?;
            }
            sheet.text(sheet.row, 5, &point.y.note)?;
            sheet.row += 1;
        }
        if line.points.is_empty() || drawn == SERIES_MAX {
            continue;
        }
        drawn += 1;
        let rows = (first, sheet.row - 1);
        let added = chart.add_series();
        added
            .set_name(&spoken(&line.full_name()))
            .set_categories(&range(sheet, rows, 1))
            .set_values(&range(sheet, rows, 2));
        if line.points.iter().any(|point| point.y.ci95.is_some()) {
            added.set_y_error_bars(&error_bars(&range(sheet, rows, 3), &range(sheet, rows, 4)));
        }
    }
    if drawn == 0 {
        return Ok(None);
    }
    chart.x_axis().set_name(&spoken(&x_title));
    chart.y_axis().set_name(&spoken(&y_title));
    chart.y_axis().set_major_gridlines_line(&pale());
    end_at_the_whole(&mut chart, lines);
    match lines.x.scale {
        Scale::Binary => drop(chart.x_axis().set_log_base(2)),
        Scale::Log => drop(chart.x_axis().set_log_base(10)),
        _ => {}
    }
    if spacing == Scale::Log {
        chart.y_axis().set_log_base(10);
    } else if values().all(|value| value.value >= 0.0) {
        // Lengths are compared, as in a page.
        chart.y_axis().set_min(0);
    }
    if drawn == 1 {
        chart.legend().set_hidden();
    }
    Ok(Some(chart))
}

/// Nothing is more than the whole: axes of percent end there.
fn end_at_the_whole(chart: &mut NativeChart, lines: &Lines) {
    for (axis, is_x) in [(&lines.x, true), (&lines.y, false)] {
        let values = lines.series.iter().flat_map(|line| &line.points);
        let mut values = values.map(|point| if is_x { point.x } else { point.y.value });
        if axis.unit == Unit::Percent && values.all(|value| (0.0..=100.0).contains(&value)) {
            let native = if is_x { chart.x_axis() } else { chart.y_axis() };
            native.set_max(100);
        }
    }
}

/// As a heat map, the fields coloured by the spreadsheet, and as lines, one a row.
fn of_grid(sheet: &mut Sheet<'_>, grid: &Grid) -> Result<Placed, XlsxError> {
    let (factor, unit) = scale(&grid.value, grid.values.iter().flatten().flatten());
    let corner = format!("{} \\ {} ({})", grid.y.title, grid.x.title, titled(&grid.value, &unit));
    let mut heads = vec![corner];
    heads.extend(grid.xs.iter().map(|x| grid.x.unit.text(*x)));
    sheet.head(&heads.iter().map(String::as_str).collect::<Vec<_>>())?;
    let first = sheet.row;
    for (y, values) in grid.ys.iter().zip(&grid.values) {
        sheet.text(sheet.row, 0, &grid.y.unit.text(*y))?;
        for (column, value) in (1u16..).zip(values) {
            if let Some(value) = value {
                sheet.number(sheet.row, column, value.value / factor)?;
            }
        }
        sheet.row += 1;
    }
    let last_column = grid.xs.len() as u16;
    if grid.ys.is_empty() || grid.xs.is_empty() || grid.ys.len() > SERIES_MAX {
        return Ok(None);
    }
    let last = sheet.row - 1;
    // Viridis, lightened: the numbers in the fields are black whatever their colour.
    let colors = ConditionalFormat3ColorScale::new()
        .set_minimum_color(0x00D9_C6E3)
        .set_midpoint_color(0x0096_D2CE)
        .set_maximum_color(0x00FD_E725);
    sheet.worksheet.add_conditional_format(first, 1, last, last_column, &colors)?;
    let mut chart = NativeChart::new(ChartType::Line);
    for (row, y) in (first..).zip(&grid.ys) {
        chart
            .add_series()
            .set_name(&spoken(&grid.y.unit.text(*y)))
            .set_categories((sheet.name.as_str(), first - 1, 1, first - 1, last_column))
            .set_values((sheet.name.as_str(), row, 1, row, last_column));
    }
    chart.x_axis().set_name(&spoken(&grid.x.title));
    chart.y_axis().set_name(&spoken(&titled(&grid.value, &unit)));
    chart.y_axis().set_major_gridlines_line(&pale());
    Ok(Some(chart))
}
