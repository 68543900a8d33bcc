//! What the user measured of a study: tables with the user's column beside the published drives, claims judged on it, for the
//! terminal and for a page.

use super::{claims, on::Part, tables};
use report::{
    chart::{Column, Entry, Table},
    document::{Block, Document, Section},
    number,
    terminal::{Page, Paint, put_table},
};
use study::{Dossier, Printed, TableFile, Yours, yours::Value};

/// The coordinates that tell rows of printed tables apart, in the order of their names.
const ROWS: [&str; 7] = ["op", "block", "threads", "tool", "fs", "wc", "trim"];
/// Those that tell the columns of a table of the user's own apart.
const COLUMNS: [&str; 4] = ["fs", "mount", "mkfs", "config"];

/// All parts of a study, in its words.
pub fn of(dossier: &Dossier, parts: &[Part]) -> Yours {
    let runs: Vec<_> = parts.iter().map(|part| (part.on, part.record())).collect();
    Yours::of(dossier, &runs)
}

/// Everything for a terminal.
pub fn print(page: &mut Page, dossier: &Dossier, parts: &[Part], store: &str) {
    let yours = of(dossier, parts);
    page.heading(&format!("Yours: {}", parts[0].place()));
    for part in parts {
        let (id, method) = (&part.record().id, &part.on.method);
        page.line(&format!(
            "run {id}, method {method}: `drivelab show {id}{store}` prints it whole"
        ));
    }
    for text in left_out(parts) {
        page.hanging("left out: ", text, Paint::Alert);
    }
    let tables = tables(dossier, parts, &yours);
    if tables.is_empty() {
        page.line("None of its cells compares with a printed one.");
    }
    for table in &tables {
        page.gap();
        put_table(page, table);
    }
    legend(parts).iter().for_each(|line| page.line(line));
    if let Some(table) = judged(dossier, &yours) {
        page.gap();
        put_table(page, &table);
    }
}

fn legend(parts: &[Part]) -> Vec<&'static str> {
    let mut lines =
        vec!["yours: median of passes and half of its 95 % interval; the others as printed."];
    if parts.iter().any(|part| !part.left_out.is_empty()) {
        lines.push("Where a setting was left out, one value of yours stands in every row of it.");
    }
    lines
}

/// What was left out, each reason once.
fn left_out<'p>(parts: &'p [Part<'_>]) -> Vec<&'p str> {
    let mut seen: Vec<&str> = Vec::new();
    for text in parts.iter().flat_map(|part| &part.left_out) {
        if !seen.contains(&text.as_str()) {
            seen.push(text);
        }
    }
    seen
}

/// The same as a page.
pub fn document(dossier: &Dossier, parts: &[Part]) -> Document {
    let yours = of(dossier, parts);
    let file = &dossier.file;
    let mut summary = vec![file.asks.clone()];
    summary.push(format!("Measured by drivelab on {}.", parts[0].place()));
    for part in parts {
        summary.push(format!("Method {}: run {}.", part.on.method, part.record().id));
    }
    summary.extend(left_out(parts).iter().map(|text| format!("Left out: {text}.")));
    let mut blocks: Vec<Block> =
        tables(dossier, parts, &yours).into_iter().map(Block::Table).collect();
    blocks.extend(legend(parts).iter().map(|line| Block::Text((*line).to_owned())));
    let mut sections =
        vec![Section { title: "Yours beside the study's".to_owned(), sheet: "Yours", blocks }];
    if let Some(table) = judged(dossier, &yours) {
        let (title, blocks) = ("Claims".to_owned(), vec![Block::Table(table)]);
        sections.push(Section { title, sheet: "Claims", blocks });
    }
    for part in parts {
        let Some(matrix) = part.matrix() else { continue };
        let titled = |section: &Section| Section {
            title: format!("{}: {}", part.on.method, section.title),
            ..section.clone()
        };
        sections.extend(matrix.document.sections.iter().map(titled));
    }
    Document {
        title: format!("{}, on a target of yours", file.title),
        origin: format!("drivelab {}", env!("CARGO_PKG_VERSION")),
        summary,
        sections,
        ..Document::default()
    }
}

/// One for each metric of what was measured beside printed tables, of what follows from it in others, and of the user's own tables.
fn tables(dossier: &Dossier, parts: &[Part], yours: &Yours) -> Vec<Table> {
    let mut groups: Vec<Vec<&TableFile>> = Vec::new();
    let measured = |table: &TableFile| {
        let beside = |part: &&Part| table.published.is_some() && part.on.tables.contains(&table.id);
        parts.iter().position(|part| beside(&part))
    };
    let mut group_of: Vec<Option<usize>> = vec![None; parts.len()];
    for table in &dossier.file.tables {
        // Tables that a method fills together have the same rows, each with devices of its own.
        match measured(table) {
            Some(part) => match group_of[part] {
                Some(group) => groups[group].push(table),
                None => {
                    group_of[part] = Some(groups.len());
                    groups.push(vec![table]);
                }
            },
            None => groups.push(vec![table]),
        }
    }
    groups.iter().flat_map(|group| of_group(dossier, group, yours)).collect()
}

fn of_group(dossier: &Dossier, group: &[&TableFile], yours: &Yours) -> Vec<Table> {
    let values = || group.iter().flat_map(|table| yours.of_table(&table.id));
    let mut metrics: Vec<&str> = Vec::new();
    for value in values() {
        let metric = value.at["metric"].as_str();
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    let one = |metric: &&str| {
        let of_metric: Vec<&Value> = values().filter(|one| one.at["metric"] == **metric).collect();
        let titles: Vec<&str> = group.iter().map(|table| table.title.as_str()).collect();
        let title = format!("{} ({})", titles.join("; "), dossier.word("metric", metric));
        match group[0].published {
            Some(_) => beside_printed(dossier, title, &of_metric),
            None => Some(by_configuration(dossier, group[0], title, &of_metric)),
        }
    };
    metrics.iter().filter_map(one).collect()
}

/// Rows by what was done, columns by device.
fn beside_printed(dossier: &Dossier, title: String, values: &[&Value]) -> Option<Table> {
    let place = |at: usize| ROWS.map(|key| dossier.cells[at].coordinate(key));
    let all = || values.iter().flat_map(|value| value.beside.iter().map(move |at| (*value, *at)));
    let (mut rows, mut devices) = (Vec::new(), Vec::new());
    for (_, at) in all() {
        let device = dossier.cells[at].coordinate("device").expect("cells have devices");
        if !rows.contains(&place(at)) {
            rows.push(place(at));
        }
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
    let mut columns = ["", "yours", "+-"].map(Column::text).to_vec();
    columns.extend(devices.iter().map(|device| Column::text(&dossier.word("device", device))));
    let row = |row: &[Option<&str>; ROWS.len()]| {
        let mut here = all().filter(|(_, at)| place(*at) == *row);
        // Of several readings that fit a printed row the first: the others differ in what the study does not tell of.
        let (value, at) = here.next().expect("a row has a value");
        let cell = &dossier.cells[at];
        let table = cell.coordinate("table").and_then(|id| dossier.file.table(id));
        let table = table.expect("cells stand in tables");
        let mut line = vec![Entry::text(&name(dossier, &ROWS, row))];
        line.push(Entry::text(&tables::text(table, cell, value.number)));
        line.push(Entry::text(&half_width(value)));
        line.extend(devices.iter().map(|device| {
            let of_row = all().map(|(_, at)| at).filter(|at| place(*at) == *row);
            let mut cells = of_row.map(|at| &dossier.cells[at]);
            let printed = cells.find_map(|cell| match &cell.printed {
                Printed::Figure(_, text) if cell.coordinate("device") == Some(device) => Some(text),
                _ => None,
            });
            Entry::text(printed.map_or("-", String::as_str))
        }));
        line
    };
    let rows: Vec<Vec<Entry>> = rows.iter().map(row).collect();
    (!rows.is_empty()).then_some(Table { title, columns, rows })
}

/// Rows by what was done, columns by file system and options: what the study drew and did not print.
fn by_configuration(
    dossier: &Dossier,
    table: &TableFile,
    title: String,
    values: &[&Value],
) -> Table {
    let of_column = |value: &Value| COLUMNS.map(|key| value.at.get(key).cloned());
    let (mut ops, mut columns): (Vec<&str>, Vec<_>) = (Vec::new(), Vec::new());
    for value in values {
        let (op, column) = (value.at["op"].as_str(), of_column(value));
        if !ops.contains(&op) {
            ops.push(op);
        }
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let head = |column: &[Option<String>; 4]| {
        let name = name(dossier, &COLUMNS, &column.each_ref().map(Option::as_deref));
        Column::text(if name.is_empty() { "yours" } else { &name })
    };
    let row = |op: &&str| {
        let mut row = vec![Entry::text(&dossier.word("op", op))];
        row.extend(columns.iter().map(|column| {
            let here = |value: &&&Value| value.at["op"] == **op && of_column(value) == *column;
            let text = |value: &&Value| {
                let number = format!("{:.*}", table.decimals, value.number);
                match half_width(value) {
                    half if half.is_empty() => number,
                    half => format!("{number} +-{half}"),
                }
            };
            Entry::text(&values.iter().find(here).map_or("-".to_owned(), text))
        }));
        row
    };
    let heads = [Column::text("")].into_iter().chain(columns.iter().map(head)).collect();
    let rows: Vec<Vec<Entry>> = ops.iter().map(row).collect();
    Table { title, columns: heads, rows }
}

fn half_width(value: &Value) -> String {
    value
        .interval
        .map_or_else(String::new, |[low, high]| number::percent((high - low) / 2.0 / value.number))
}

fn name<const N: usize>(dossier: &Dossier, keys: &[&str; N], values: &[Option<&str>; N]) -> String {
    let word = |(key, value): (&&str, &Option<&str>)| match (*key, *value) {
        ("threads", Some("1")) | (_, None) => None,
        ("threads", Some(count)) => Some(format!("{count} threads")),
        (key, Some(value)) => Some(dossier.word(key, value)),
    };
    keys.iter().zip(values).filter_map(word).collect::<Vec<_>>().join(" ")
}

/// The claims that say something of any drive, judged by the user's values.
fn judged(dossier: &Dossier, yours: &Yours) -> Option<Table> {
    let row = |claim: &study::Claim| {
        let judgement = claim.judge_yours(&yours.book)?;
        let because = claims::because(dossier, &judgement);
        let fields = [claim.file.text.as_str(), judgement.verdict.name(), &because];
        Some(fields.map(Entry::text).to_vec())
    };
    let rows: Vec<Vec<Entry>> = dossier.claims.iter().filter_map(row).collect();
    let columns = ["claim", "on yours", "why"].map(Column::text).to_vec();
    let title = "What the study says, judged by your medians".to_owned();
    (!rows.is_empty()).then_some(Table { title, columns, rows })
}
