//! What the user measured of a study: tables with the user's column beside the published drives,
//! claims judged on it, for the terminal and for a page.

use super::{claims, tables};
use crate::{
    Cell, Dossier, Known, On, Printed, TableFile, Yours,
    expression::Coordinates,
    yours::{SPECIFIED, Value, has_one_file_system},
};
use record::{Flag, Record};
use report::{
    chart::{Column, Entry, Table, Unit},
    document::{Block, Document, Section},
    number,
    terminal::{Page, Paint, put_table},
};

/// The coordinates that tell rows of printed tables apart, in the order of their names.
const ROWS: [&str; 8] = ["config", "op", "block", "threads", "tool", "fs", "wc", "trim"];
/// Those that tell the columns of a table of the user's own apart.
const COLUMNS: [&str; 4] = ["fs", "mount", "mkfs", "config"];

/// What is smaller has five digits behind the point, whatever its table prints.
const SMALL: f64 = 0.1;

/// A row of a printed table.
type Row = [Option<String>; ROWS.len()];

/// A study's methods, as they were measured on the user's target.
pub struct Measured<'m> {
    /// One a method that was begun; never empty.
    pub parts: Vec<Part<'m>>,
    /// What the user says of the drive.
    pub known: &'m Known,
}

/// What was measured for one [`On`].
pub struct Part<'m> {
    /// The method and its settings.
    pub on: &'m On,
    /// What of the study's settings was not to be had, with reasons.
    pub left_out: &'m [String],
    /// What it left.
    pub record: &'m Record,
    /// Where it was measured, in words.
    pub place: &'m str,
    /// Every configuration with pivots and effects, where it was measured under several.
    pub matrix: Option<&'m Document>,
}

/// All parts of a study, in its words.
pub fn of(dossier: &Dossier, measured: &Measured) -> Yours {
    let runs: Vec<_> = measured.parts.iter().map(|part| (part.on, part.record)).collect();
    Yours::of(dossier, &runs, measured.known)
}

/// Everything for a terminal: what was measured first, then what was not and how to read it.
pub fn print(page: &mut Page, dossier: &Dossier, measured: &Measured, store: &str) {
    let (parts, yours) = (&measured.parts, of(dossier, measured));
    page.heading(&format!("Yours: {}", parts[0].place));
    let tables = tables(dossier, parts, &yours);
    if tables.is_empty() {
        page.line("None of its cells compares with a printed one.");
    }
    for (at, table) in tables.iter().enumerate() {
        if at > 0 {
            page.gap();
        }
        put_table(page, table);
    }
    page.gap();
    legend(dossier, measured, &yours).iter().for_each(|line| page.hanging("", line, Paint::Plain));
    if let Some(table) = judged(dossier, &yours) {
        page.gap();
        put_table(page, &table);
    }
    page.gap();
    for text in failed(parts) {
        page.hanging("failed: ", &text, Paint::Wrong);
    }
    for text in cells_left_out(parts).iter().map(String::as_str).chain(left_out(parts)) {
        page.hanging("left out: ", text, Paint::Alert);
    }
    for part in parts {
        let (id, method) = (&part.record.id, &part.on.method);
        page.line(&format!("run {id}, method {method}, whole: `drivelab show {id}{store}`"));
    }
}

/// How to read the tables: what stands in them of the user's, in which words, and what holds for
/// all of it.
fn legend(dossier: &Dossier, measured: &Measured, yours: &Yours) -> Vec<String> {
    let mut lines = vec![
        "yours: median of passes and half of its 95 % interval; the others as printed.".to_owned(),
    ];
    let mut words: Vec<String> = Vec::new();
    for (word, phrase) in yours.values.iter().flat_map(|value| &value.origin.means) {
        let text = format!("{word}: {phrase}");
        if !words.contains(&text) {
            words.push(text);
        }
    }
    if !words.is_empty() {
        lines.push(format!(
            "Rate of: {}. Below a row: the flags of your value in it.",
            words.join("; ")
        ));
    }
    let common = common_flags(yours);
    if !common.is_empty() {
        let meant = |flag: &Flag| format!("{flag}: {}", flag.meaning().trim_end_matches('.'));
        let meant: Vec<String> = common.iter().map(meant).collect();
        lines.push(format!("All that was measured of yours has the flags {}.", meant.join("; ")));
    }
    lines.extend(file_systems(dossier, yours));
    if let Some(price) = &measured.known.price
        && price.currency != "USD"
    {
        let currency = &price.currency;
        lines.push(format!("Your prices are in {currency}; the study's as its tables say."));
    }
    if measured.parts.iter().any(|part| !part.left_out.is_empty()) {
        lines.push(
            "Where a setting was left out, one value of yours stands in every row of it."
                .to_owned(),
        );
    }
    lines
}

/// Which file systems compare, where the study had one and the user another.
fn file_systems(dossier: &Dossier, yours: &Yours) -> Option<String> {
    let mut pairs: Vec<String> = Vec::new();
    for value in
        yours.values.iter().filter(|value| has_one_file_system(dossier, &value.at["table"]))
    {
        let theirs = value.beside.iter().find_map(|at| dossier.cells[*at].coordinate("fs"));
        let (Some(own), Some(theirs)) = (value.at.get("fs"), theirs) else { continue };
        let pair = format!("yours on {own}, the study's on {theirs}");
        if own != theirs && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    (!pairs.is_empty()).then(|| format!("File systems: {}.", pairs.join("; ")))
}

/// Flags of every value that was measured or follows from one.
fn common_flags(yours: &Yours) -> Vec<Flag> {
    let mut values = yours.values.iter().filter(|value| is_measured(value));
    let mut common = values.next().map_or_else(Vec::new, |value| value.origin.flags.clone());
    for value in values {
        common.retain(|flag| value.origin.flags.contains(flag));
    }
    common
}

/// What the user said of the drive has neither.
fn is_measured(value: &Value) -> bool {
    !value.origin.means.is_empty() || !value.origin.flags.is_empty() || value.interval.is_some()
}

/// What was left out, each reason once.
fn left_out<'p>(parts: &'p [Part<'_>]) -> Vec<&'p str> {
    let mut seen: Vec<&str> = Vec::new();
    for text in parts.iter().flat_map(|part| part.left_out) {
        if !seen.contains(&text.as_str()) {
            seen.push(text);
        }
    }
    seen
}

/// What was measured by `run`; a matrix tells below of what failed and what had no room.
fn runs<'p>(parts: &'p [Part<'_>]) -> impl Iterator<Item = &'p Record> {
    parts.iter().filter(|part| part.matrix.is_none()).map(|part| part.record)
}

/// Passes that failed, one a line. The first that failed for a reason is told with its cure.
fn failed(parts: &[Part]) -> Vec<String> {
    let mut told: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for cell in runs(parts).flat_map(|record| &record.failed) {
        let failure = cell.errors.first.first();
        lines.push(match failure.filter(|failure| told.contains(&failure.reason.as_str())) {
            Some(failure) => format!("{}: {failure}", cell.name),
            None => format!("{}: {}", cell.name, cell.reason),
        });
        told.extend(failure.map(|failure| failure.reason.as_str()));
    }
    lines
}

/// Cells that were not to be had, those of one reason together.
fn cells_left_out(parts: &[Part]) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for cell in runs(parts).flat_map(|record| &record.left_out) {
        match groups.iter_mut().find(|(reason, _)| *reason == cell.reason) {
            Some((_, names)) => names.push(&cell.name),
            None => groups.push((&cell.reason, vec![&cell.name])),
        }
    }
    let text = |(reason, names): &(&str, Vec<&str>)| match names[..] {
        [name] => format!("{name}: {reason}"),
        [first, .., last] => format!("{} cells, {first} to {last}: {reason}", names.len()),
        [] => unreachable!("a group has a cell"),
    };
    groups.iter().map(text).collect()
}

/// The same as a page.
pub fn document(dossier: &Dossier, measured: &Measured) -> Document {
    let (parts, yours) = (&measured.parts, of(dossier, measured));
    let file = &dossier.file;
    let mut summary = vec![file.asks.clone()];
    summary.push(format!("Measured by drivelab on {}.", parts[0].place));
    for part in parts {
        summary.push(format!("Method {}: run {}.", part.on.method, part.record.id));
    }
    summary.extend(failed(parts).iter().map(|text| format!("Failed: {text}.")));
    summary.extend(cells_left_out(parts).iter().map(|text| format!("Left out: {text}.")));
    summary.extend(left_out(parts).iter().map(|text| format!("Left out: {text}.")));
    let mut blocks: Vec<Block> =
        tables(dossier, parts, &yours).into_iter().map(Block::Table).collect();
    blocks.extend(legend(dossier, measured, &yours).into_iter().map(Block::Text));
    let mut sections =
        vec![Section { title: "Yours beside the study's".to_owned(), sheet: "Yours", blocks }];
    if let Some(table) = judged(dossier, &yours) {
        let (title, blocks) = ("Claims".to_owned(), vec![Block::Table(table)]);
        sections.push(Section { title, sheet: "Claims", blocks });
    }
    for part in parts {
        let Some(matrix) = part.matrix else { continue };
        let titled = |section: &Section| Section {
            title: format!("{}: {}", part.on.method, section.title),
            ..section.clone()
        };
        sections.extend(matrix.sections.iter().map(titled));
    }
    Document {
        title: format!("{}, on a target of yours", file.title),
        origin: format!("drivelab {}", env!("CARGO_PKG_VERSION")),
        summary,
        sections,
        ..Document::default()
    }
}

/// One for each metric of what was measured beside printed tables, of what follows from it in
/// others, and of the user's own tables.
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
    let common = common_flags(yours);
    let one = |metric: &&str| {
        let of_metric: Vec<&Value> = values().filter(|one| one.at["metric"] == **metric).collect();
        let titles: Vec<&str> = group.iter().map(|table| table.title.as_str()).collect();
        let unit = dossier.word_in(&group[0].id, "metric", metric);
        let title = format!("{} ({unit})", titles.join("; "));
        match group[0].published.is_some() || !group[0].facts.is_empty() {
            true => beside_printed(dossier, group, title, &of_metric, &common),
            false => Some(by_configuration(dossier, group[0], title, &of_metric, &common)),
        }
    };
    metrics.iter().filter_map(one).collect()
}

/// Where a value or a printed cell stands among the rows. The file system tells nothing where
/// there is one only.
fn row_at(at: &Coordinates, one_file_system: bool) -> Row {
    ROWS.map(|key| match (key, at.get(key)) {
        ("fs", _) if one_file_system => None,
        ("config", Some(config)) if config != SPECIFIED => None,
        (_, value) => value.cloned(),
    })
}

/// Rows by what was done, columns by device. What makers specify has rows of its own, in which
/// nothing measured stands.
fn beside_printed(
    dossier: &Dossier,
    group: &[&TableFile],
    title: String,
    values: &[&Value],
    common: &[Flag],
) -> Option<Table> {
    let metric = values.first()?.at["metric"].as_str();
    let is_one = group.iter().all(|table| has_one_file_system(dossier, &table.id));
    let cells: Vec<&Cell> = group
        .iter()
        .flat_map(|table| dossier.of_table(&table.id))
        .map(|at| &dossier.cells[at])
        .filter(|cell| cell.coordinate("metric") == Some(metric))
        .collect();
    let rows = rows_of(dossier, &cells, values, is_one);
    let mut devices: Vec<&str> = Vec::new();
    for device in cells.iter().filter_map(|cell| cell.coordinate("device")) {
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
    let stands = |value: &&&Value, row: &Row| match value.beside.is_empty() {
        true => row_at(&value.at, is_one) == *row,
        false => value.beside.iter().any(|at| row_at(&dossier.cells[*at].at, is_one) == *row),
    };
    let printed_fs: Vec<&str> = cells.iter().filter_map(|cell| cell.coordinate("fs")).collect();
    let line = |row: &Row| {
        // Of several readings that fit a printed row the first: the others differ in what the study
        // does not tell of.
        let value = values.iter().find(|value| stands(value, row));
        let mut line = vec![Entry::text(&named(dossier, row, &printed_fs))];
        let texts = value.map_or(["-".to_owned(), String::new(), String::new()], |value| {
            let table = dossier.file.table(&value.at["table"]).expect("values stand in tables");
            // A price for an operation of a fast drive is a fraction of a cent.
            let text = match value.number.abs() {
                size if size > 0.0 && size < SMALL => format!("{:.5}", value.number),
                _ => tables::text(table, metric, value.number),
            };
            [text, half_width(value), means(value)]
        });
        line.extend(texts.map(Entry::Text));
        line.extend(devices.iter().map(|device| {
            let of_row = cells.iter().filter(|cell| row_at(&cell.at, is_one) == *row);
            let mut of_device = of_row.filter(|cell| cell.coordinate("device") == Some(device));
            let printed = of_device.find_map(|cell| match &cell.printed {
                Printed::Figure(_, text) => Some(text),
                _ => None,
            });
            Entry::text(printed.map_or("-", String::as_str))
        }));
        let flags = value.map(|value| flags(value, common)).filter(|flags| !flags.is_empty());
        let below = flags.map(|flags| {
            let blank = vec![Entry::Text(String::new()); line.len() - 1];
            [vec![Entry::Text(format!("- {flags}"))], blank].concat()
        });
        [line].into_iter().chain(below)
    };
    let lines: Vec<Vec<Entry>> = rows.iter().flat_map(line).collect();
    // Right, so that none of them is cut.
    let number = |name: &str| Column::number(name, Unit::Number);
    let mut columns =
        vec![Column::text(""), number("yours"), number("+-"), Column::text("rate of")];
    columns.extend(devices.iter().map(|device| number(&dossier.word("device", device))));
    Some(without_empty(Table { title, columns, rows: lines }))
}

/// What is printed as specified, then what values stand beside, or are of.
fn rows_of(dossier: &Dossier, cells: &[&Cell], values: &[&Value], is_one: bool) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut put = |row: Row| {
        if !rows.contains(&row) {
            rows.push(row);
        }
    };
    let specified = cells.iter().filter(|cell| cell.coordinate("config") == Some(SPECIFIED));
    specified.for_each(|cell| put(row_at(&cell.at, is_one)));
    for value in values {
        for at in &value.beside {
            put(row_at(&dossier.cells[*at].at, is_one));
        }
        if value.beside.is_empty() {
            put(row_at(&value.at, is_one));
        }
    }
    in_order(&mut rows);
    rows
}

/// What says nothing in any row takes no column.
fn without_empty(mut table: Table) -> Table {
    for at in (1..table.columns.len()).rev() {
        if table.rows.iter().all(|row| row[at] == Entry::Text(String::new())) {
            table.columns.remove(at);
            table.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
    }
    table
}

/// As they came, but sizes ascending.
fn in_order(rows: &mut [Row]) {
    let block = ROWS.iter().position(|key| *key == "block").expect("it is one of them");
    let but_block = |row: &Row| {
        let mut row = row.clone();
        row[block] = None;
        row
    };
    let came: Vec<Row> = rows.iter().map(but_block).collect();
    rows.sort_by_key(|row| {
        let bytes = row[block].as_ref().and_then(|text| text.parse::<u64>().ok());
        (came.iter().position(|one| *one == but_block(row)), bytes)
    });
}

/// What a value is the rate of, in a word or two.
fn means(value: &Value) -> String {
    value.origin.means.iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>().join(", ")
}

/// The flags that not all values have; as words, which a narrow column can wrap.
fn flags(value: &Value, common: &[Flag]) -> String {
    let own = value.origin.flags.iter().filter(|flag| !common.contains(flag));
    own.map(|flag| flag.name().replace('_', " ")).collect::<Vec<_>>().join(", ")
}

/// Rows by what was done, columns by file system and options: what the study drew and did not
/// print.
fn by_configuration(
    dossier: &Dossier,
    table: &TableFile,
    title: String,
    values: &[&Value],
    common: &[Flag],
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
        match (name.is_empty(), columns.len()) {
            (true, _) => Column::text("yours"),
            (false, 1) => Column::text(&format!("yours, {name}")),
            (false, _) => Column::text(&name),
        }
    };
    let row = |op: &&str| {
        let mut row = vec![Entry::text(&dossier.word("op", op))];
        row.extend(columns.iter().map(|column| {
            let here = |value: &&&Value| value.at["op"] == **op && of_column(value) == *column;
            let text = |value: &&Value| {
                let mut text = format!("{:.*}", table.decimals, value.number);
                let half = half_width(value);
                if !half.is_empty() {
                    text += &format!(" +-{half}");
                }
                for words in [means(value), flags(value, common)] {
                    text += if words.is_empty() { "" } else { " " };
                    text += &words;
                }
                text
            };
            Entry::text(&values.iter().find(here).map_or("-".to_owned(), text))
        }));
        row
    };
    let heads = [Column::text("")].into_iter().chain(columns.iter().map(head)).collect();
    let rows: Vec<Vec<Entry>> = ops.iter().map(row).collect();
    Table { title, columns: heads, rows }
}

/// A row's name; a file system that the study does not have is the user's.
fn named(dossier: &Dossier, row: &Row, printed_fs: &[&str]) -> String {
    let own = |fs: &String| match printed_fs.is_empty() || printed_fs.contains(&fs.as_str()) {
        true => dossier.word("fs", fs),
        false => format!("{fs} (yours)"),
    };
    let mut row = row.clone();
    let fs = ROWS.iter().position(|key| *key == "fs").expect("it is one of them");
    row[fs] = row[fs].as_ref().map(own);
    match name(dossier, &ROWS, &row.each_ref().map(Option::as_deref)) {
        name if name.is_empty() => "each drive".to_owned(),
        name => name,
    }
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
    let row = |claim: &crate::Claim| {
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
