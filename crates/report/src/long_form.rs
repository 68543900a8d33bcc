//! All numbers of records in long form, one row a value, described in
//! `docs/reference/report-formats.md`; as CSV here; the room `columns` writes
//! them as Parquet.
//!
//! Numbers are written as they are recorded, in the shortest form that reads back as the same
//! double.

use crate::chart::{Entry, Table, Unit};
use record::{Cell, Latency, Record};

/// The first row, by which a file of ours is known.
pub const HEAD: &str = "run,method,target,cell,op,pattern,block_bytes,threads,queue_depth,engine,io,coordinates,pass,metric,value,unit,ci95_low,ci95_high,n,flags";

/// One value of a cell, with all that says what it is of.
#[derive(Clone, PartialEq, Debug)]
struct Row<'r> {
    of: Of<'r>,
    pass: Option<u32>,
    metric: String,
    value: f64,
    unit: &'static str,
    ci95: Option<[f64; 2]>,
    n: Option<u64>,
}

/// What is the same in all rows of a cell.
#[derive(Clone, PartialEq, Debug)]
struct Of<'r> {
    /// Run, method, target, cell, op, pattern.
    names: [&'r str; 6],
    /// Block bytes, threads, queue depth.
    numbers: [u64; 3],
    /// Engine and I/O.
    ways: [&'r str; 2],
    coordinates: String,
    flags: String,
}

/// Every value of every cell, in the order of the records.
fn rows<'r>(records: &[&'r Record]) -> Vec<Row<'r>> {
    let mut all = Vec::new();
    for record in records {
        for cell in &record.cells {
            of_cell(&mut Rows { all: &mut all, of: Of::new(record, cell) }, cell);
        }
    }
    all
}

/// The rows as CSV.
pub fn csv(records: &[&Record]) -> String {
    let mut text = format!("{HEAD}\n");
    for row in rows(records) {
        text += &row.line();
        text.push('\n');
    }
    text
}

/// What stands in one column.
#[derive(Clone, PartialEq, Debug)]
pub enum Column {
    /// Text.
    Words(Vec<Option<String>>),
    /// Whole numbers.
    Counts(Vec<Option<i64>>),
    /// Numbers of passes.
    Passes(Vec<Option<i32>>),
    /// Numbers with a fraction.
    Numbers(Vec<Option<f64>>),
}

/// The columns of the CSV table, in its order, each with its type. What is an empty field in CSV is
/// `None`.
pub fn columns(records: &[&Record]) -> Vec<(&'static str, Column)> {
    let rows = rows(records);
    let words = |of: &dyn Fn(&Row<'_>) -> String| {
        let or_null = |text: String| (!text.is_empty()).then_some(text);
        Column::Words(rows.iter().map(|row| or_null(of(row))).collect())
    };
    let name = |at: usize| words(&|row| row.of.names[at].to_owned());
    let count = |of: &dyn Fn(&Row<'_>) -> Option<u64>| {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        Column::Counts(rows.iter().map(|row| of(row).map(signed)).collect())
    };
    let number =
        |of: &dyn Fn(&Row<'_>) -> Option<f64>| Column::Numbers(rows.iter().map(of).collect());
    let pass = |row: &Row<'_>| row.pass.map(|pass| i32::try_from(pass).unwrap_or(i32::MAX));
    vec![
        ("run", name(0)),
        ("method", name(1)),
        ("target", name(2)),
        ("cell", name(3)),
        ("op", name(4)),
        ("pattern", name(5)),
        ("block_bytes", count(&|row| Some(row.of.numbers[0]))),
        ("threads", count(&|row| Some(row.of.numbers[1]))),
        ("queue_depth", count(&|row| Some(row.of.numbers[2]))),
        ("engine", words(&|row| row.of.ways[0].to_owned())),
        ("io", words(&|row| row.of.ways[1].to_owned())),
        ("coordinates", words(&|row| row.of.coordinates.clone())),
        ("pass", Column::Passes(rows.iter().map(pass).collect())),
        ("metric", words(&|row| row.metric.clone())),
        ("value", number(&|row| Some(row.value))),
        ("unit", words(&|row| row.unit.to_owned())),
        ("ci95_low", number(&|row| row.ci95.map(|[low, _]| low))),
        ("ci95_high", number(&|row| row.ci95.map(|[_, high]| high))),
        ("n", count(&|row| row.n)),
        ("flags", words(&|row| row.of.flags.clone())),
    ]
}

/// A derived table as further rows: `metric` is the table's name and the column's, what is neither
/// target nor cell stands under `coordinates`.
pub fn derived(name: &str, table: &Table) -> String {
    table.rows.iter().map(|row| derived_row(name, table, row)).collect()
}

fn derived_row(name: &str, table: &Table, row: &[Entry]) -> String {
    let (mut target, mut cell, mut others) = (String::new(), String::new(), Vec::new());
    for (column, entry) in table.columns.iter().zip(row) {
        match (column.name.as_str(), entry) {
            ("target", Entry::Text(text)) => target = field(text),
            ("cell" | "cells", Entry::Text(text)) => cell = field(text),
            (key, Entry::Text(text)) => others.push(format!("{key}={text}")),
            _ => {}
        }
    }
    let number = |at: usize, wanted: &str| match (table.columns.get(at), row.get(at)) {
        (Some(column), Some(Entry::Number(value))) if column.name == wanted => value.to_string(),
        _ => String::new(),
    };
    let mut text = String::new();
    for (at, (column, entry)) in table.columns.iter().zip(row).enumerate() {
        let Entry::Number(value) = entry else { continue };
        if INTERVAL.contains(&column.name.as_str()) {
            continue;
        }
        let metric = field(&format!("{name}: {}", column.name));
        let unit = field(column.unit.as_ref().map_or("", Unit::name));
        let others = field(&others.join(";"));
        let [low, high] = [number(at + 1, INTERVAL[0]), number(at + 2, INTERVAL[1])];
        text +=
            &format!(",,{target},{cell},,,,,,,,{others},,{metric},{value},{unit},{low},{high},,\n");
    }
    text
}

/// The columns behind a value that hold its interval.
const INTERVAL: [&str; 2] = ["95 % from", "to"];

impl<'r> Of<'r> {
    fn new(record: &'r Record, cell: &'r Cell) -> Self {
        let target = record.targets.get(cell.target).map_or("", |target| target.text.as_str());
        let coordinates = cell.coordinates.iter().map(|(key, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{key}={value}")
        });
        let flags = cell.flags.iter().map(|flag| flag.name());
        Self {
            names: [&record.id, &record.method.name, target, &cell.name, &cell.op, &cell.pattern],
            numbers: [cell.block_bytes, u64::from(cell.threads), u64::from(cell.queue_depth)],
            ways: [&cell.engine, &cell.io],
            coordinates: coordinates.collect::<Vec<_>>().join(";"),
            flags: flags.collect::<Vec<_>>().join(";"),
        }
    }
}

impl Row<'_> {
    /// As a line of CSV.
    fn line(&self) -> String {
        let [low, high] = self.ci95.map_or([None, None], |[low, high]| [Some(low), Some(high)]);
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let mut fields: Vec<String> = self.of.names.map(field).into();
        fields.extend(self.of.numbers.map(|number| number.to_string()));
        fields.extend(self.of.ways.map(field));
        fields.extend([
            field(&self.of.coordinates),
            self.pass.map(|pass| pass.to_string()).unwrap_or_default(),
            self.metric.clone(),
            self.value.to_string(),
            self.unit.to_owned(),
            number(low),
            number(high),
            self.n.map(|n| n.to_string()).unwrap_or_default(),
            self.of.flags.clone(),
        ]);
        fields.join(",")
    }
}

/// Text as one field: quoted where it must be (RFC 4180), and never a formula: a spreadsheet would
/// carry out what begins with one of `=+-@`, so an apostrophe stands before it.
pub fn field(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

struct Rows<'a, 'r> {
    all: &'a mut Vec<Row<'r>>,
    of: Of<'r>,
}

/// A number with what it is called and measured in.
struct Value<'v> {
    metric: &'v str,
    value: f64,
    unit: &'static str,
    ci95: Option<[f64; 2]>,
    n: Option<u64>,
}

impl Rows<'_, '_> {
    fn push(&mut self, pass: Option<u32>, of: Value<'_>) {
        let Value { metric, value, unit, ci95, n } = of;
        let metric = metric.to_owned();
        self.all.push(Row { of: self.of.clone(), pass, metric, value, unit, ci95, n });
    }

    /// A number without interval.
    fn plain(&mut self, metric: &str, value: f64, unit: &'static str, n: Option<u64>) {
        self.push(None, Value { metric, value, unit, ci95: None, n });
    }
}

fn of_cell(rows: &mut Rows<'_, '_>, cell: &Cell) {
    let passes = Some(cell.passes.len() as u64);
    let headlines = [
        ("iops", cell.iops, "1/s", cell.iops_ci95),
        ("bytes_per_s", cell.bytes_per_s, "B/s", cell.bytes_per_s_ci95),
    ];
    for (metric, value, unit, ci95) in headlines {
        rows.push(None, Value { metric, value, unit, ci95, n: passes });
    }
    rows.plain("iops_mean", cell.iops_mean, "1/s", passes);
    if let Some(deviation) = cell.iops_stddev {
        rows.plain("iops_stddev", deviation, "1/s", passes);
    }
    for (name, latency) in [("latency", &cell.latency), ("flush_latency", &cell.flush_latency)] {
        if let Some(latency) = latency {
            of_latency(rows, name, latency);
        }
    }
    if let Some(depth) = cell.depth_achieved {
        rows.plain("depth_achieved", depth, "", passes);
    }
    if let Some(cpu) = cell.cpu {
        rows.plain("cpu_per_operation", cpu.ns_per_operation, "ns", passes);
        rows.plain("cpu_busy", cpu.busy, "", passes);
    }
    let total = cell.total;
    let counts =
        [("operations", total.operations), ("bytes", total.bytes), ("errors", total.errors)];
    for (metric, count) in counts {
        rows.plain(metric, count as f64, if metric == "bytes" { "B" } else { "" }, passes);
    }
    rows.plain("seconds", total.seconds, "s", passes);
    for pass in &cell.passes {
        let n = Some(pass.total.operations);
        let around = |value: f64| {
            pass.half_width_relative.map(|half| [value * (1.0 - half), value * (1.0 + half)])
        };
        for (metric, value, unit) in
            [("iops", pass.iops, "1/s"), ("bytes_per_s", pass.bytes_per_s, "B/s")]
        {
            let ci95 = around(value);
            rows.push(Some(pass.pass), Value { metric, value, unit, ci95, n });
        }
    }
}

fn of_latency(rows: &mut Rows<'_, '_>, name: &str, latency: &Latency) {
    let n = Some(latency.n);
    rows.plain(&format!("{name}_mean"), latency.mean_ns, "ns", n);
    rows.plain(&format!("{name}_min"), latency.min_ns as f64, "ns", n);
    for at in &latency.percentiles {
        rows.plain(&format!("{name}_p{}", at.percent), at.ns as f64, "ns", n);
    }
    rows.plain(&format!("{name}_max"), latency.max_ns as f64, "ns", n);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Record {
        let text = include_str!("../../record/tests/example.json");
        Record::from_json(text, "example.json").expect("a record")
    }

    #[test]
    fn every_row_has_as_many_fields_as_the_head_and_numbers_are_not_rounded() {
        let text = csv(&[&example()]);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(HEAD));
        let columns = HEAD.split(',').count();
        assert!(lines.clone().count() > 30);
        for line in lines {
            assert_eq!(line.split(',').count(), columns, "{line}");
        }
        let row = "0badcafe,quick,/mnt/a,random-read-4K-t1-q32,read,random,4096,1,32,";
        let rate = text.lines().find(|line| line.starts_with(row)).expect("the cell is there");
        assert!(rate.contains(",,iops,52109.4,1/s,51340.2,52878.6,"), "{rate}");
        assert!(text.contains(",latency_p99,1523712,ns,,,"), "{text}");
    }

    #[test]
    fn a_derived_table_adds_rows_of_the_same_form() {
        use crate::chart::Column;
        let unit = Unit::Other("USD per IOPS".to_owned());
        let numbers = ["price", "95 % from", "to"].map(|name| Column::number(name, unit.clone()));
        let columns = [vec![Column::text("target"), Column::text("as")], numbers.to_vec()].concat();
        let row = vec![
            Entry::text("a,b"),
            Entry::text("RAID-5"),
            Entry::Number(0.2),
            Entry::Number(0.1),
            Entry::Number(0.3),
        ];
        let table = Table { title: String::new(), columns, rows: vec![row] };
        let text = derived("price", &table);
        assert_eq!(text, ",,\"a,b\",,,,,,,,,as=RAID-5,,price: price,0.2,USD per IOPS,0.1,0.3,,\n");
        assert_eq!(text.replace("\"a,b\"", "x").matches(',').count(), HEAD.matches(',').count());
    }

    #[test]
    fn what_a_user_types_is_neither_a_further_field_nor_a_formula() {
        assert_eq!(field("plain"), "plain");
        assert_eq!(field("a,b \"c\"\nd"), "\"a,b \"\"c\"\"\nd\"");
        assert_eq!(field("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
        assert_eq!(field("@x,y"), "\"'@x,y\"");
    }
}
