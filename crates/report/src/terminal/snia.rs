//! Rounds, their verdict, and the matrix of read/write mix by block size, after the SNIA Solid
//! State Storage Performance Test Specification (PTS) 2.0.
//!
//! A round is a pass of a cell, or a cell of its own that carries the coordinate `round`.

use super::{list, page::Page, table::Table, words};
use crate::number::{self, counted};
use record::{Cell, Rounds};
use std::collections::BTreeMap;

/// Rounds that steady state is judged over (PTS 2.0, "Steady State").
const WINDOW: usize = 5;
/// Largest minus smallest value in the window, over the average.
const EXCURSION_MAX: f64 = 0.20;
/// Change along the fitted line over the window, over the average.
const SLOPE_MAX: f64 = 0.10;

/// One column of the rounds table: a mix and a block size, and its rate by round.
struct Column {
    mix: String,
    /// In percent, or minus one for what is no mix: sorts last.
    reads: i64,
    block_bytes: u64,
    rounds: BTreeMap<u64, f64>,
}

pub(super) fn render(page: &mut Page, cells: &[&Cell]) {
    let columns = columns(cells);
    if columns.is_empty() {
        return;
    }
    page.heading("IOPS by round, reads/writes in percent and block size");
    rounds_table(page, &columns);
    page.gap();
    verdict(page, &columns);
    page.heading("IOPS by mix and block size, average of the last five rounds");
    matrix(page, &columns);
    page.heading("Cells");
    list::render(page, cells);
}

/// What the method itself decided by: its tracked cell.
pub(super) fn tracked(page: &mut Page, rounds: &Rounds) {
    let (name, count) = (&rounds.tracked, rounds.rates.len());
    page.line(&match rounds.steady_at_round {
        Some(round) => format!("Steady state, by {name}: reached in round {round} of {count}"),
        None => format!("Steady state, by {name}: not reached in {}", counted(count, "round")),
    });
}

fn columns(cells: &[&Cell]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for cell in cells {
        let reads = words::read_percent(cell).map_or(-1, |percent| percent.round() as i64);
        let mix = if reads < 0 { cell.op.clone() } else { format!("{reads}/{}", 100 - reads) };
        let same = columns
            .iter()
            .position(|column| column.mix == mix && column.block_bytes == cell.block_bytes);
        let at = same.unwrap_or_else(|| {
            let (block_bytes, rounds) = (cell.block_bytes, BTreeMap::new());
            columns.push(Column { mix, reads, block_bytes, rounds });
            columns.len() - 1
        });
        let rounds = &mut columns[at].rounds;
        match words::coordinate_number(cell, "round") {
            Some(round) => drop(rounds.insert(round as u64, cell.iops)),
            None => {
                rounds.extend(cell.passes.iter().map(|pass| (u64::from(pass.pass) + 1, pass.iops)));
            }
        }
    }
    columns.sort_by_key(|column| (-column.reads, column.block_bytes));
    columns
}

fn rounds_table(page: &mut Page, columns: &[Column]) {
    let names: Vec<String> = columns
        .iter()
        .map(|column| {
            page.style.clean(&format!("{} {}", column.mix, number::size(column.block_bytes)))
        })
        .collect();
    let mut table = Table::of_numbers("round", names.iter().map(String::as_str));
    let mut rounds: Vec<u64> =
        columns.iter().flat_map(|column| column.rounds.keys().copied()).collect();
    rounds.sort_unstable();
    rounds.dedup();
    for round in rounds {
        let value = |column: &Column| {
            column.rounds.get(&round).map_or_else(String::new, |&iops| number::iops(iops))
        };
        table.row([round.to_string()].into_iter().chain(columns.iter().map(value)).collect());
    }
    page.table(&table);
}

/// What the last five rounds of a column say; nothing with fewer.
fn last_window(column: &Column) -> Option<(f64, f64, f64)> {
    let values: Vec<f64> = column.rounds.values().copied().collect();
    let window = values.len().checked_sub(WINDOW).map(|start| &values[start..])?;
    let average = window.iter().sum::<f64>() / WINDOW as f64;
    let low = window.iter().copied().fold(f64::INFINITY, f64::min);
    let high = window.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Least squares over rounds -2 to 2: the sum of their squares is 10, and the line spans 4 of
    // them.
    let slope =
        window.iter().zip(-2i32..).map(|(value, x)| value * f64::from(x)).sum::<f64>() / 10.0;
    Some((average, (high - low) / average, (slope * 4.0).abs() / average))
}

fn verdict(page: &mut Page, columns: &[Column]) {
    for column in columns {
        let name = format!("{} {}", column.mix, number::size(column.block_bytes));
        let text = match last_window(column) {
            None => format!("{name}: not judged, {} of {WINDOW} rounds", column.rounds.len()),
            Some((_, excursion, slope)) => {
                let steady = excursion <= EXCURSION_MAX && slope <= SLOPE_MAX;
                let (excursion, slope) = (number::percent(excursion), number::percent(slope));
                let word = if steady { "steady" } else { "not steady" };
                format!(
                    "{name}: {word}, spread {excursion} (limit 20 %), drift {slope} (limit 10 %)"
                )
            }
        };
        page.line(&text);
    }
}

fn matrix(page: &mut Page, columns: &[Column]) {
    let mut blocks: Vec<u64> = columns.iter().map(|column| column.block_bytes).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let mut mixes: Vec<&str> = columns.iter().map(|column| column.mix.as_str()).collect();
    mixes.dedup();
    let names: Vec<String> = mixes.iter().map(|mix| page.style.clean(mix)).collect();
    let mut table = Table::of_numbers("block", names.iter().map(String::as_str));
    for block_bytes in blocks {
        let value = |mix: &&str| {
            let column = columns
                .iter()
                .find(|column| column.mix == **mix && column.block_bytes == block_bytes);
            column.map_or_else(String::new, |column| number::iops(recent_average(column)))
        };
        table.row([number::size(block_bytes)].into_iter().chain(mixes.iter().map(value)).collect());
    }
    page.table(&table);
}

/// Over the last five rounds, or as many as there are.
fn recent_average(column: &Column) -> f64 {
    let recent: Vec<f64> = column.rounds.values().rev().take(WINDOW).copied().collect();
    recent.iter().sum::<f64>() / recent.len() as f64
}
