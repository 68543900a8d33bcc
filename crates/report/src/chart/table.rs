//! A chart's numbers as rows: the text alternative of a picture, and what is downloaded.

use super::{Bars, Chart, Figure, Grid, Lines, Unit};

/// Rows of text and numbers under heads with units.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// One line; may be empty where a figure's title stands above.
    pub title: String,
    /// The heads.
    pub columns: Vec<Column>,
    /// Every row has an entry for every column.
    pub rows: Vec<Vec<Entry>>,
}

/// The head of a column.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// In words.
    pub name: String,
    /// Of its numbers; none for text.
    pub unit: Option<Unit>,
}

/// A field of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Entry {
    /// Nothing was measured.
    Empty,
    /// Words.
    Text(String),
    /// In the column's unit, not rounded.
    Number(f64),
}

impl Column {
    /// A column of words.
    pub fn text(name: &str) -> Self {
        Self { name: name.to_owned(), unit: None }
    }

    /// A column of numbers.
    pub fn number(name: &str, unit: Unit) -> Self {
        Self { name: name.to_owned(), unit: Some(unit) }
    }

    /// The name with the unit of the plain numbers below it: `rate, B/s`.
    pub fn name_with_unit(&self) -> String {
        match self.unit.as_ref().map(Unit::name) {
            Some(unit) if !unit.is_empty() => format!("{}, {unit}", self.name),
            _ => self.name.clone(),
        }
    }
}

impl Entry {
    /// Words, or nothing when there are none.
    pub fn text(text: &str) -> Self {
        if text.is_empty() { Self::Empty } else { Self::Text(text.to_owned()) }
    }

    /// A number, or nothing.
    pub fn number(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::Number)
    }
}

impl Table {
    /// Without the columns in which nothing stands.
    pub(crate) fn without_empty_columns(mut self) -> Self {
        let is_used = |at: &usize| self.rows.iter().any(|row| row[*at] != Entry::Empty);
        let kept: Vec<usize> = (0..self.columns.len()).filter(is_used).collect();
        self.columns = kept.iter().map(|&at| self.columns[at].clone()).collect();
        for row in &mut self.rows {
            *row = kept.iter().map(|&at| row[at].clone()).collect();
        }
        self
    }
}

/// All numbers of a figure.
pub(super) fn of(figure: &Figure) -> Table {
    let (columns, mut rows) = match &figure.chart {
        Chart::Bars(bars) => of_bars(bars),
        Chart::Lines(lines) => of_lines(lines),
        Chart::Grid(grid) => return of_grid(figure, grid),
    };
    // The name of a single series stands above the figure.
    if let Some(at) = columns.iter().position(|column| column.name == "series")
        && rows.windows(2).all(|pair| pair[0][at] == pair[1][at])
    {
        rows.iter_mut().for_each(|row| row[at] = Entry::Empty);
    }
    Table { title: figure.title.clone(), columns, rows }.without_empty_columns()
}

fn value_columns(name: &str, unit: &Unit) -> [Column; 4] {
    [
        Column::number(name, unit.clone()),
        Column::number("95 % from", unit.clone()),
        Column::number("to", unit.clone()),
        Column::text("notes"),
    ]
}

fn value_entries(value: &super::Value) -> [Entry; 4] {
    [
        Entry::Number(value.value),
        Entry::number(value.ci95.map(|[low, _]| low)),
        Entry::number(value.ci95.map(|[_, high]| high)),
        Entry::text(&value.note),
    ]
}

fn of_bars(bars: &Bars) -> (Vec<Column>, Vec<Vec<Entry>>) {
    let mut columns = [bars.group_title.as_str(), "series", "source"].map(Column::text).to_vec();
    columns.extend(value_columns(&bars.value.title, &bars.value.unit));
    let mut rows = Vec::new();
    for (at, group) in bars.groups.iter().enumerate() {
        for series in &bars.series {
            let Some(value) = series.values.get(at).and_then(Option::as_ref) else { continue };
            let mut row =
                [group, &series.name, &series.source].map(|text| Entry::text(text)).to_vec();
            row.extend(value_entries(value));
            rows.push(row);
        }
    }
    (columns, rows)
}

fn of_lines(lines: &Lines) -> (Vec<Column>, Vec<Vec<Entry>>) {
    let mut columns = ["series", "source"].map(Column::text).to_vec();
    columns.push(Column::number(&lines.x.title, lines.x.unit.clone()));
    columns.extend(value_columns(&lines.y.title, &lines.y.unit));
    let mut rows = Vec::new();
    for line in &lines.series {
        for point in &line.points {
            let mut row = [&line.name, &line.source].map(|text| Entry::text(text)).to_vec();
            row.push(Entry::Number(point.x));
            row.extend(value_entries(&point.y));
            rows.push(row);
        }
    }
    (columns, rows)
}

/// As it is drawn: `ys` down, `xs` across.
fn of_grid(figure: &Figure, grid: &Grid) -> Table {
    let corner = format!("{} \\ {}", grid.y.title, grid.x.title);
    let mut columns = vec![Column::number(&corner, grid.y.unit.clone())];
    let head = |x: &f64| Column::number(&grid.x.unit.text(*x), grid.value.unit.clone());
    columns.extend(grid.xs.iter().map(head));
    let mut rows = Vec::new();
    for (y, values) in grid.ys.iter().zip(&grid.values) {
        let mut row = vec![Entry::Number(*y)];
        row.extend(values.iter().map(|value| Entry::number(value.as_ref().map(|v| v.value))));
        rows.push(row);
    }
    Table { title: figure.title.clone(), columns, rows }
}

#[cfg(test)]
mod tests {
    use super::super::*;

    #[test]
    fn a_table_lists_every_value_that_is_drawn() {
        let value = |value: f64, note: &str| Some(Value { note: note.to_owned(), ..value.into() });
        let chart = Chart::Bars(Bars {
            group_title: "drive".to_owned(),
            groups: vec!["a".to_owned(), "b".to_owned()],
            value: Axis::linear("rate", Unit::Iops),
            series: vec![
                BarSeries {
                    name: "read".to_owned(),
                    values: vec![value(1.0, ""), None],
                    ..BarSeries::default()
                },
                BarSeries {
                    name: "write".to_owned(),
                    values: vec![value(2.0, "odd"), value(3.0, "")],
                    ..BarSeries::default()
                },
            ],
        });
        let (id, title, note) = ("f".to_owned(), "t".to_owned(), String::new());
        let figure = Figure { id, title, note, chart };
        let table = figure.table();
        assert_eq!((figure.values(), table.rows.len()), (3, 3));
        // No value has an interval: those columns are gone.
        let heads: Vec<String> = table.columns.iter().map(Column::name_with_unit).collect();
        assert_eq!(heads, ["drive", "series", "rate, IOPS", "notes"]);
        assert_eq!(
            table.rows[1],
            [Entry::text("a"), Entry::text("write"), Entry::Number(2.0), Entry::text("odd")]
        );
    }
}
