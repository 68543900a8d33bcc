//! What the shape of the rates says: over block sizes, between patterns, between reads and writes.

use super::{Evidence, Figure, Lack, Rows, fit, is_random, name, named, or_lack};
use crate::{
    chart::{Column, Entry, Table, Unit},
    number,
    runs::Subject,
    terminal::words::read_percent,
};
use record::Cell;

/// Everything that makes two cells alike but for operation, pattern and block: threads, depth, kind
/// of I/O, coordinates.
fn setting(cell: &Cell) -> String {
    // The name of IOzone's test says operation and pattern once more.
    let others = cell.coordinates.iter().filter(|(key, _)| *key != "test");
    let others: Vec<String> = others.map(|(key, value)| format!("{key} {value}")).collect();
    format!("{} {} {} {}", cell.threads, cell.queue_depth, cell.io, others.join(" "))
}

/// `random read, 10 threads`
fn kind(cell: &Cell) -> String {
    let pattern = if cell.pattern == "seq" { "sequential" } else { cell.pattern.as_str() };
    let mut text = format!("{pattern} {}", cell.op);
    if cell.threads > 1 {
        text += &format!(", {} threads", cell.threads);
    }
    if cell.queue_depth > 1 {
        text += &format!(", {} deep", cell.queue_depth);
    }
    text
}

/// STFC 2009, Tables 2 and 3: random over sequential at the same block size.
pub(super) fn random(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let title = "Random as percent of sequential, same block size";
    let mut rows = Rows::new(title, &["target", "cell"], "share", Unit::Percent);
    for subject in &evidence.subjects {
        for (cell, cell_name) in named(subject).into_iter().filter(|(cell, _)| is_random(cell)) {
            let alike = |other: &&&Cell| {
                other.pattern == "seq"
                    && other.op == cell.op
                    && other.block_bytes == cell.block_bytes
                    && setting(other) == setting(cell)
            };
            let Some(sequential) = subject.cells.iter().find(alike) else { continue };
            if let Some(share) = Figure::iops(cell).over(Figure::iops(sequential)) {
                rows.push(&[name(evidence, subject), &cell_name], share.times(100.0));
            }
        }
    }
    let lack = "no block size was measured both at random and in order: such methods are iozone-cmu and iozone-stfc";
    or_lack([rows.table()], lack)
}

/// Cells of a subject that differ in their block size alone, three at least, the smallest block
/// first.
fn sweeps<'r>(subject: &Subject<'r>) -> Vec<Vec<&'r Cell>> {
    let mut sweeps: Vec<(String, Vec<&'r Cell>)> = Vec::new();
    for cell in subject.cells.iter().copied().filter(|cell| cell.iops > 0.0) {
        let key = {
            let test = cell.coordinates.get("test");
            format!("{} {} {} {test:?}", cell.op, cell.pattern, setting(cell))
        };
        match sweeps.iter_mut().find(|(known, _)| *known == key) {
            Some((_, cells)) => cells.push(cell),
            None => sweeps.push((key, vec![cell])),
        }
    }
    let mut sweeps: Vec<Vec<&Cell>> = sweeps.into_iter().map(|(_, cells)| cells).collect();
    for cells in &mut sweeps {
        cells.sort_by_key(|cell| cell.block_bytes);
        cells.dedup_by_key(|cell| cell.block_bytes);
    }
    sweeps.retain(|cells| cells.len() >= 3);
    sweeps
}

/// The time of one operation, alone, over its size: what it takes before the first byte is the
/// access time. Rates are known to a share of themselves, so that a point weighs as one over its
/// time squared.
pub(super) fn access_time(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let mut columns = vec![Column::text("target"), Column::text("cells")];
    columns.extend(["access time", "95 % from", "to"].map(|name| Column::number(name, Unit::Ns)));
    columns.push(Column::number("then", Unit::BytesPerS));
    columns.push(Column::number("sizes", Unit::Number));
    let mut rows = Vec::new();
    for subject in &evidence.subjects {
        let alone = |cell: &Cell| cell.threads == 1 && cell.queue_depth == 1 && is_random(cell);
        for cells in sweeps(subject).into_iter().filter(|cells| alone(cells[0])) {
            let points: Vec<[f64; 3]> = cells
                .iter()
                .map(|cell| [cell.block_bytes as f64, 1e9 / cell.iops, cell.iops.powi(2)])
                .collect();
            let Some(line) = fit(&points) else { continue };
            let half = line.intercept_half_width;
            rows.push(vec![
                Entry::text(name(evidence, subject)),
                Entry::text(&kind(cells[0])),
                Entry::Number(line.intercept),
                Entry::number(half.map(|half| line.intercept - half)),
                Entry::number(half.map(|half| line.intercept + half)),
                Entry::number((line.slope > 0.0).then(|| 1e9 / line.slope)),
                Entry::Number(line.n as f64),
            ]);
        }
    }
    let title = "Access time: intercept of the time of an operation over its size".to_owned();
    let table = Table { title, columns, rows };
    let table = (!table.rows.is_empty()).then(|| table.without_empty_columns());
    let lack = "three block sizes at random, one operation at a time, are needed: --method bm-flash measures them";
    or_lack([table], lack)
}

/// Shares of reads in a mix, in percent: EasyCo 2007 prints 100, 90 and 50.
const SHARES: [f64; 4] = [100.0, 90.0, 70.0, 50.0];

/// Operations a second when the share `reads` (0 to 1) of them are reads, each kind at its own
/// rate: 1 / (f/R + (1-f)/W). One operation waits for the other, as on a drive without a queue.
pub fn mix(read: Figure, write: Figure, reads: f64) -> Figure {
    let [read_part, write_part] = [reads / read.value, (1.0 - reads) / write.value];
    let value = 1.0 / (read_part + write_part);
    // Of the mix's relative error each rate's is the share of the time that it takes.
    let end = |at: usize| {
        let error = |figure: Figure, part: f64| {
            let end = figure.ci95.map(|ends| (ends[at] / figure.value - 1.0) * part * value);
            if part > 0.0 { end } else { Some(0.0) }
        };
        Some(error(read, read_part)?.hypot(error(write, write_part)?))
    };
    let ci95 =
        end(0).zip(end(1)).map(|(down, up)| [value * (1.0 - down).max(0.0), value * (1.0 + up)]);
    Figure { value, ci95 }
}

/// EasyCo 2007's table of mixes, from random reads and writes of one block size; a mix that was
/// measured stands beside it.
pub(super) fn mixes(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let title = "Mixes of random reads and writes: 1 / (f/R + (1-f)/W)";
    let labels = ["target", "block", "reads", "measured"];
    let mut rows = Rows::new(title, &labels, "computed", Unit::Iops);
    for subject in &evidence.subjects {
        let is = |op: &'static str| {
            move |cell: &&&Cell| cell.op == op && is_random(cell) && cell.iops > 0.0
        };
        for read in subject.cells.iter().filter(is("read")) {
            let alike = |cell: &&&Cell| {
                cell.block_bytes == read.block_bytes && setting(cell) == setting(read)
            };
            let Some(write) = subject.cells.iter().filter(is("write")).find(alike) else {
                continue;
            };
            for share in SHARES {
                let same_share = |cell: &&&Cell| {
                    cell.op == "mixed"
                        && is_random(cell)
                        && cell.block_bytes == read.block_bytes
                        && cell.threads == read.threads
                        && cell.queue_depth == read.queue_depth
                        && read_percent(cell) == Some(share)
                };
                let measured = subject.cells.iter().find(same_share);
                let measured = measured.map(|cell| format!("{} IOPS", number::iops(cell.iops)));
                let computed = mix(Figure::iops(read), Figure::iops(write), share / 100.0);
                let [block, reads] = [block(read), format!("{share:.0} %")];
                let measured = measured.unwrap_or_default();
                rows.push(&[name(evidence, subject), &block, &reads, &measured], computed);
            }
        }
    }
    let lack = "random reads and random writes of one block size are needed: most methods measure them, unless --reads-only";
    or_lack([rows.table()], lack)
}

/// `4 KiB, 32 deep, 4 threads`
fn block(cell: &Cell) -> String {
    let mut text = number::size(cell.block_bytes);
    if cell.queue_depth > 1 {
        text += &format!(", {} deep", cell.queue_depth);
    }
    if cell.threads > 1 {
        text += &format!(", {} threads", cell.threads);
    }
    text
}

/// Share of the best bandwidth that counts as the plateau, and below which a larger block is a
/// trough.
const PLATEAU: f64 = 0.9;

/// Martin 2008's advice, from the numbers: from which block size on bandwidth is as good as it
/// gets, and which sizes to avoid.
pub(super) fn plateau(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let columns = vec![
        Column::text("target"),
        Column::text("cells"),
        Column::number("best", Unit::BytesPerS),
        Column::number("90 % from", Unit::Bytes),
        Column::text("troughs"),
    ];
    let mut rows = Vec::new();
    for subject in &evidence.subjects {
        for cells in sweeps(subject) {
            let best = cells.iter().map(|cell| cell.bytes_per_s).fold(0.0, f64::max);
            let first = cells.iter().find(|cell| cell.bytes_per_s >= PLATEAU * best);
            rows.push(vec![
                Entry::text(name(evidence, subject)),
                Entry::text(&kind(cells[0])),
                Entry::Number(best),
                Entry::number(first.map(|cell| cell.block_bytes as f64)),
                Entry::text(&troughs(&cells)),
            ]);
        }
    }
    let title = "Smallest block that reaches 90 % of the best bandwidth".to_owned();
    let table = Table { title, columns, rows };
    let table = (!table.rows.is_empty()).then(|| table.without_empty_columns());
    or_lack(
        [table],
        "three block sizes of one kind are needed: --method bm-flash or --set block=4K..1M",
    )
}

/// Blocks whose bandwidth lies below 90 % of a smaller block's, beyond doubt where both have an
/// interval.
fn troughs(cells: &[&Cell]) -> String {
    let mut words = Vec::new();
    let mut best = cells[0];
    for cell in &cells[1..] {
        let share = cell.bytes_per_s / best.bytes_per_s;
        let apart = match (cell.bytes_per_s_ci95, best.bytes_per_s_ci95) {
            (Some([_, high]), Some([low, _])) => high < low,
            _ => true,
        };
        if share < PLATEAU && apart {
            let (at, of) = (number::size(cell.block_bytes), number::size(best.block_bytes));
            words.push(format!("{at}: {} of {of}", number::percent(share)));
        }
        if cell.bytes_per_s > best.bytes_per_s {
            best = cell;
        }
    }
    words.join("; ")
}
