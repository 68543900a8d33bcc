//! Throughput over time drawn in text, and the cliff in words.

use super::{
    page::Page,
    style::{Characters, columns_of},
    words,
};
use crate::number;
use record::{Cell, Pass, Transition};

/// Rows of the picture.
const HEIGHT: usize = 8;
/// Eighths of a row, from one to eight.
const EIGHTHS: [char; 8] = [
    '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}',
];

pub(super) fn render(page: &mut Page, cells: &[&Cell]) {
    for cell in cells {
        page.heading(&words::name(cell, page.style));
        for pass in &cell.passes {
            if cell.passes.len() > 1 {
                page.line(&format!("pass {}", pass.pass + 1));
            }
            picture(page, cell, pass);
            cliffs(page, pass);
        }
        let (rate, interval) =
            (number::rate(cell.bytes_per_s), words::bracketed_interval(cell, page.style));
        page.line(&format!("rate {}: {rate} {interval}", judged_time(&cell.passes)));
        let marks = page.marks(&cell.flags);
        if !marks.is_empty() {
            page.line(&format!("notes {marks}"));
        }
    }
}

/// A column a stretch of time, high as its mean rate; the highest rate is written beside the top.
fn picture(page: &mut Page, cell: &Cell, pass: &Pass) {
    let ticks = &pass.series.operations;
    let tick_s = pass.series.tick_ns as f64 / 1e9;
    if ticks.is_empty() || tick_s <= 0.0 {
        page.line("(no series was kept)");
        return;
    }
    let rates = |operations: f64| operations * cell.block_bytes as f64 / tick_s;
    let peak_label_columns = "9999 MB/s".len();
    let columns = (page.style.columns() - peak_label_columns - 3).min(ticks.len());
    let means: Vec<f64> = stretches(ticks, columns);
    let peak = means.iter().copied().fold(0.0, f64::max);
    for row in (0..HEIGHT).rev() {
        let label = match row {
            _ if row == HEIGHT - 1 => number::rate(rates(peak)),
            0 => "0".to_owned(),
            _ => String::new(),
        };
        let bars: String =
            means.iter().map(|&mean| bar(mean, peak, row, page.style.characters)).collect();
        page.drawn(&format!("{label:>peak_label_columns$} |{bars}"));
    }
    let span = number::duration_ns(ticks.len() as f64 * pass.series.tick_ns as f64);
    let axis = page.style.rule().repeat(columns);
    page.drawn(&format!("{:peak_label_columns$} +{axis}", ""));
    let gap = columns.saturating_sub(1 + columns_of(&span)).max(1);
    page.drawn(&format!("{:peak_label_columns$}  0{}{span}", "", " ".repeat(gap)));
}

/// Means over `columns` equal stretches of the ticks.
fn stretches(ticks: &[u64], columns: usize) -> Vec<f64> {
    (0..columns)
        .map(|column| {
            let [start, end] = [column, column + 1].map(|edge| edge * ticks.len() / columns);
            let stretch = &ticks[start..end.max(start + 1)];
            stretch.iter().map(|&tick| tick as f64).sum::<f64>() / stretch.len() as f64
        })
        .collect()
}

/// What a column shows in `row`, counted from the bottom.
fn bar(value: f64, peak: f64, row: usize, characters: Characters) -> char {
    let eighths =
        if peak > 0.0 { (value / peak * (HEIGHT * 8) as f64).round() as usize } else { 0 };
    match (eighths.saturating_sub(row * 8), characters) {
        (0, _) => ' ',
        (filled, Characters::Unicode) => EIGHTHS[filled.min(8) - 1],
        (1..4, Characters::Ascii) => '.',
        (4..8, Characters::Ascii) => ':',
        (_, Characters::Ascii) => '#',
    }
}

/// What the headline speaks of: the warm-up is not in it, and a fast cache may be all of that.
fn judged_time(passes: &[Pass]) -> String {
    match passes {
        passes if passes.iter().all(|pass| pass.warm_up_s == 0.0) => "of the whole".to_owned(),
        [pass] => format!("after the first {} s", number::significant(pass.warm_up_s)),
        passes => format!("after the warm-up, median of {} passes", passes.len()),
    }
}

fn cliffs(page: &mut Page, pass: &Pass) {
    if pass.transitions.is_empty() {
        let bytes = number::capacity(pass.total.bytes);
        page.line(&format!("no lasting change of the rate within {bytes}"));
    }
    for transition in &pass.transitions {
        page.line(&in_words(transition));
    }
}

fn in_words(transition: &Transition) -> String {
    let Transition { at_s, at_bytes, before_bytes_per_s, after_bytes_per_s } = *transition;
    let (what, change) =
        if after_bytes_per_s < before_bytes_per_s { ("cliff", "fell") } else { ("rise", "rose") };
    let (bytes, seconds) = (number::capacity(at_bytes), number::significant(at_s));
    let [before, after] = [before_bytes_per_s, after_bytes_per_s].map(number::rate);
    let share = after_bytes_per_s / before_bytes_per_s;
    let share = number::percent(share);
    format!(
        "{what} after {bytes} ({seconds} s): the rate {change} from {before} to {after}, {share} of it"
    )
}
