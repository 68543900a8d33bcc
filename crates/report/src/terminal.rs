//! A record as text for a terminal, a pipe or a file: never wider than asked.

mod bm_flash;
mod dd;
mod head;
mod iozone;
mod list;
mod managed;
mod meaning;
mod notes;
mod oltp;
mod page;
mod plain;
mod saturation;
mod snia;
pub(crate) mod style;
mod table;
pub(crate) mod words;

pub use head::left_out;
pub use page::Page;
pub use plain::put_table;
pub use style::{Characters, Color, Paint, Style, WIDTH_MIN};
pub use table::{Align, Table};

use crate::number;
use record::{Cell, Flag, Headline, Record, RunSummary, State};
use style::shorten;

/// The whole run: header, results in the layout that the method names, verdicts, footnotes, warnings, and what was
/// not measured. An unknown layout is shown as a list. Ends with a line feed.
pub fn run(record: &Record, style: &Style) -> String {
    let mut page = Page::new(style);
    page.set_whole_run(notes::of_the_whole_run(record));
    head::header(&mut page, record);
    results(&mut page, record);
    head::paired(&mut page, record);
    head::left_out(&mut page, record);
    page.whole_run_marks();
    notes::footnotes(&mut page, record);
    notes::warnings(&mut page, record);
    let not_measured = record.method.not_measured.as_ref().filter(|_| !record.cells.is_empty());
    if let Some(not_measured) = not_measured {
        page.gap();
        page.line(not_measured);
    }
    page.finish()
}

fn results(page: &mut Page, record: &Record) {
    let layout = match record.method.layout.as_str() {
        "bm-flash" => bm_flash::render,
        "iozone" => iozone::render,
        "iozone-cmu" => iozone::render_cmu,
        "dd" => dd::render,
        "oltp" => oltp::render,
        "snia" => snia::render,
        "saturation" => saturation::render,
        _ => list::render,
    };
    if record.cells.is_empty() {
        page.gap();
        page.line("No cell was measured.");
    }
    let mut targets: Vec<usize> = record.cells.iter().map(|cell| cell.target).collect();
    targets.sort_unstable();
    targets.dedup();
    for &target in &targets {
        let cells: Vec<&Cell> = record.cells.iter().filter(|cell| cell.target == target).collect();
        page.gap();
        if targets.len() > 1 {
            let text = record.targets.get(target).map_or("", |target| target.text.as_str());
            page.heading(&format!("Target {target}: {text}"));
        }
        layout(page, &cells);
        meaning::legend(page, &cells, shown(&record.method.layout));
        managed::gauge(page, &cells);
    }
    if let Some(rounds) = &record.rounds {
        page.gap();
        snia::tracked(page, rounds);
    }
}

/// Where the layout's table says what its rates are of.
fn shown(layout: &str) -> meaning::Shown {
    match layout {
        "iozone" => meaning::Shown::Letters,
        "bm-flash" | "dd" | "oltp" | "snia" | "saturation" => meaning::Shown::Nowhere,
        _ => meaning::Shown::Words,
    }
}

/// One finished cell in one line without a line feed, for a run in progress:
/// `random read 4 KiB, 32 deep: 52.1k IOPS +-1.5 %, p50 598 us, p99 1.52 ms [drifting]`. Flags that the reader knows
/// already, such as the target's, are left out.
pub fn cell_line(cell: &Cell, known: &[Flag], style: &Style) -> String {
    let mut text = format!("{}: {}", words::name(cell, style), words::headline(cell));
    if words::half_width(cell).is_some() {
        text += &format!(" {}", words::interval(cell, style));
    }
    if let Some(means) = &cell.means {
        text += &format!(", {means}");
    }
    let news: Vec<Flag> = cell.flags.iter().copied().filter(|flag| !known.contains(flag)).collect();
    let room = |text: &str| style.columns().saturating_sub(style::columns_of(text));
    // That there are flags matters more than a percentile.
    let least = flags_within(&news, 0).len();
    for percent in [50.0, 99.0] {
        let latency = cell.latency.as_ref();
        if latency.and_then(|latency| latency.percentile(percent)).is_some() {
            let piece = format!(", p{percent:.0} {}", words::percentile(latency, percent));
            if piece.len() + least <= room(&text) {
                text += &piece;
            }
        }
    }
    let flags = flags_within(&news, room(&text));
    shorten(&(text + &flags), style.columns())
}

/// What a cell does, in words: `random read 4 KiB, 32 deep`.
pub fn cell_title(cell: &Cell) -> String {
    words::name(cell, &Style::PLAIN)
}

/// Half of its 95 % interval: `±1.5 %`, `-` where it has none.
pub fn cell_interval(cell: &Cell, style: &Style) -> String {
    words::interval(cell, style)
}

/// ` [insufficient, drifting]`, or as many of them as fit and the number of the others.
fn flags_within(flags: &[Flag], columns: usize) -> String {
    let shown = |count: usize| {
        let names: Vec<&str> = flags[..count].iter().map(|flag| flag.name()).collect();
        let others = flags.len() - count;
        let others = if others == 0 { String::new() } else { format!(" +{others}") };
        format!(" [{}{others}]", names.join(", "))
    };
    let fitting = (1..=flags.len()).rev().map(shown).find(|text| text.len() <= columns);
    match fitting {
        Some(text) => text,
        None if flags.is_empty() => String::new(),
        None => format!(" [+{}]", flags.len()),
    }
}

/// The history as a table, in the order given.
pub fn history(runs: &[RunSummary], style: &Style) -> String {
    let mut page = Page::new(style);
    if runs.is_empty() {
        page.line("No runs yet: `drivelab run .` makes one.");
        return page.finish();
    }
    let full = history_table(runs, style, headline);
    let fits = full.natural_columns() <= style.columns();
    page.table(&if fits { full } else { history_table(runs, style, short_headline) });
    page.finish()
}

fn history_table(runs: &[RunSummary], style: &Style, headline: fn(&[Headline]) -> String) -> Table {
    let mut table = Table::new(&[
        ("run", Align::Left),
        ("started", Align::Left),
        ("method", Align::Left),
        ("state", Align::Left),
        ("target", Align::Left),
        ("headline", Align::Left),
    ]);
    for run in runs {
        let paint = match run.state {
            State::Complete => Paint::Plain,
            State::Running => Paint::Good,
            State::Interrupted | State::Failed => Paint::Alert,
        };
        let labels = run.labels.values().cloned().collect::<Vec<_>>().join(", ");
        let labels = if labels.is_empty() { labels } else { format!(" ({labels})") };
        let clean = |text: &str| (style.clean(text), Paint::Plain);
        table.painted_row(vec![
            clean(&run.id),
            clean(&short_time(&run.started)),
            clean(&run.method),
            (run.state.name().to_owned(), paint),
            clean(&format!("{}{labels}", run.targets.join(" "))),
            clean(&headline(&run.headline)),
        ]);
    }
    table
}

/// `2026-11-21 20:15` of an RFC 3339 time stamp.
pub(crate) fn short_time(started: &str) -> String {
    started.chars().take(16).map(|letter| if letter == 'T' { ' ' } else { letter }).collect()
}

/// `seq read 1 MiB 275 MB/s, random read 4 KiB 52.1k IOPS`.
pub(crate) fn headline(headlines: &[Headline]) -> String {
    let each = |headline: &Headline| {
        let Headline { pattern, op, block_bytes, .. } = headline;
        format!("{pattern} {op} {} {}", number::size(*block_bytes), headline_rate(headline))
    };
    headlines.iter().map(each).collect::<Vec<_>>().join(", ")
}

/// `read 275 MB/s, 52.1k IOPS`: the unit tells large blocks from small ones.
fn short_headline(headlines: &[Headline]) -> String {
    let mut text = String::new();
    let mut op = "";
    for headline in headlines {
        if !text.is_empty() {
            text += ", ";
        }
        if headline.op != op {
            op = &headline.op;
            text += &format!("{op} ");
        }
        text += &headline_rate(headline);
    }
    text
}

fn headline_rate(headline: &Headline) -> String {
    if headline.block_bytes >= record::LARGE_BLOCK_BYTES {
        number::rate(headline.bytes_per_s)
    } else {
        format!("{} IOPS", number::iops(headline.iops))
    }
}

#[cfg(test)]
pub(crate) mod tests;
