//! A record as text for a terminal, a pipe or a file: never wider than asked.

mod bm_flash;
mod dd;
mod expectation;
mod fleet;
mod head;
mod iozone;
mod knee;
mod label;
mod list;
mod meaning;
mod meanwhile;
mod notes;
mod oltp;
mod page;
mod plain;
mod power_cuts;
mod replay;
mod saturation;
mod snia;
pub(crate) mod style;
mod table;
pub(crate) mod words;

pub use fleet::fleet;
pub use head::{failed, left_out};
pub use label::{bar, hanging};
pub use page::Page;
pub use plain::put_table;
pub use style::{Characters, Color, Paint, Style, WIDTH_MIN, shorten, wrap};
pub use table::{Align, Table};

use crate::number;
use record::{Cell, Flag, Headline, Record, RunSummary, State};
use style::columns_of;

/// How much is said around the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notes<'a> {
    /// A line for each thing.
    Brief {
        /// The command that prints all of it.
        more: &'a str,
    },
    /// All that is known: of each flag what it means, what was seen, and the cure.
    Explained,
}

/// The whole run: header, results in the layout that the method names, verdicts, notes, warnings,
/// and what was not measured. An unknown layout is shown as a list. Ends with a line feed.
pub fn run(record: &Record, style: &Style, notes: Notes<'_>) -> String {
    let mut page = Page::new(style);
    page.set_whole_run(notes::of_the_whole_run(record));
    match notes {
        Notes::Brief { more } => brief(&mut page, record, more),
        Notes::Explained => explained(&mut page, record),
    }
    page.finish()
}

/// What fits one screen, and the command that says more.
fn brief(page: &mut Page, record: &Record, more: &str) {
    // The gravest flag has the first number.
    page.marks(&notes::by_severity(record));
    head::brief(page, record);
    results(page, record);
    expectation::render(page, record, Notes::Brief { more });
    head::paired(page, record);
    head::left_out_briefly(page, record);
    head::failed_briefly(page, record);
    notes::brief(page, record);
    if record.cells.is_empty() {
        return;
    }
    if let Some(not_measured) = &record.method.not_measured {
        // What it would cost to measure is for those who ask.
        let sentence = not_measured.split(". ").next().unwrap_or_default();
        page.painted(&page.style.clean(sentence.trim_end_matches('.')), Paint::Plain);
    }
    let line = page.style.clean(&format!("More: {more}"));
    if columns_of(&line) <= page.style.columns() {
        page.painted(&line, Paint::Faint);
    } else {
        page.painted("More:", Paint::Faint);
        page.command(more);
    }
}

fn explained(page: &mut Page, record: &Record) {
    head::header(page, record);
    results(page, record);
    expectation::render(page, record, Notes::Explained);
    head::paired(page, record);
    head::left_out(page, record);
    head::failed(page, record);
    page.whole_run_marks();
    notes::explained(page, record);
    let not_measured = record.method.not_measured.as_ref().filter(|_| !record.cells.is_empty());
    if let Some(not_measured) = not_measured {
        page.gap();
        page.line(not_measured);
    }
}

fn results(page: &mut Page, record: &Record) {
    let layout = match record.method.layout.as_str() {
        "bm-flash" => bm_flash::render,
        "iozone" => iozone::render,
        "iozone-cmu" => iozone::render_cmu,
        "dd" => dd::render,
        "oltp" => oltp::render,
        "snia" => snia::render,
        "replay" => replay::render,
        "saturation" => saturation::render,
        _ => list::render,
    };
    if let Some(cuts) = &record.power_cuts {
        return power_cuts::render(page, record, cuts);
    }
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
        match record.method.options.contains_key("until") && !record.knees.is_empty() {
            true => knee::render(page, record, target),
            false => layout(page, &cells),
        }
        meaning::legend(page, &cells, shown(&record.method.layout));
        meanwhile::gauge(page, &cells);
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
        "bm-flash" | "dd" | "oltp" | "replay" | "snia" | "saturation" => meaning::Shown::Nowhere,
        _ => meaning::Shown::Words,
    }
}

/// One finished cell under its name in one line without a line feed, for a run in progress:
/// `random read 4 KiB, 32 deep: 52.1k IOPS +-1.5 %, p50 598 us, p99 1.52 ms [drifting]`. Flags that
/// the reader knows already, such as the target's, are left out.
pub fn cell_line(name: &str, cell: &Cell, known: &[Flag], style: &Style) -> String {
    let mut text = format!("{}: {}", style.clean(name), words::headline(cell));
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

/// Names that tell cells apart, as every table has them.
pub fn cell_names(cells: &[Cell], style: &Style) -> Vec<String> {
    words::distinct_names(&cells.iter().collect::<Vec<_>>(), style)
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

/// The history, a line a run, in the order given; `when` says when one was started. What does not
/// fit the style's width is cut, targets first.
pub fn history(runs: &[RunSummary], when: impl Fn(&RunSummary) -> String, style: &Style) -> String {
    let mut page = Page::new(style);
    if runs.is_empty() {
        page.line("No runs yet: `drivelab run .` makes one.");
        return page.finish();
    }
    // A run that is complete needs no word for it.
    let any_state = runs.iter().any(|run| run.state != State::Complete);
    let mut heads = vec![("run", Align::Left), ("started", Align::Left), ("method", Align::Left)];
    heads.extend(any_state.then_some(("state", Align::Left)));
    let mut fixed = Table::new(&heads);
    let rows: Vec<Vec<(String, Paint)>> = runs
        .iter()
        .map(|run| {
            let clean = |text: &str| (style.clean(text), Paint::Plain);
            let mut row = vec![clean(&run.id), clean(&when(run)), clean(&run.method)];
            row.extend(any_state.then(|| state_word(run.state)));
            row
        })
        .collect();
    rows.iter().for_each(|row| fixed.painted_row(row.clone()));
    let room = style.columns().saturating_sub(fixed.natural_columns() + 2 * Table::GAP);
    let ends = history_ends(runs, room, style);
    heads.extend([("target", Align::Left), ("headline", Align::Left)]);
    let mut table = Table::new(&heads);
    for (mut row, (target, headline)) in rows.into_iter().zip(ends) {
        row.extend([(target, Paint::Plain), (headline, Paint::Plain)]);
        table.painted_row(row);
    }
    page.table(&table);
    page.finish()
}

fn state_word(state: State) -> (String, Paint) {
    match state {
        State::Complete => (String::new(), Paint::Plain),
        State::Running => (state.name().to_owned(), Paint::Good),
        State::Interrupted | State::Failed => (state.name().to_owned(), Paint::Alert),
    }
}

/// Each run's targets and headlines, within `room` columns together.
fn history_ends(runs: &[RunSummary], room: usize, style: &Style) -> Vec<(String, String)> {
    let targets: Vec<String> = runs
        .iter()
        .map(|run| {
            let labels = run.labels.values().cloned().collect::<Vec<_>>().join(", ");
            let labels = if labels.is_empty() { labels } else { format!(" ({labels})") };
            style.clean(&format!("{}{labels}", run.targets.join(" ")))
        })
        .collect();
    let widest = |texts: &[String]| texts.iter().map(|text| columns_of(text)).max().unwrap_or(0);
    let of = |headline: fn(&[Headline]) -> String| -> Vec<String> {
        runs.iter()
            .map(|run| style.clean(&broken_rounds(run).unwrap_or_else(|| headline(&run.headline))))
            .collect()
    };
    let (all, wanted) = (of(headline), widest(&targets).max("target".len()));
    let fits = wanted + widest(&all) <= room;
    let headlines = if fits { all } else { of(short_headline) };
    // Of the little that is left, targets leave the rates what they need.
    let least = "headline".len().max(widest(&headlines));
    let target_columns = wanted.min(room.saturating_sub(least)).max(room / 4);
    let cut = |(target, headline): (String, String)| {
        let headline = shorten(&headline, room.saturating_sub(target_columns));
        (shorten(&target, target_columns), headline)
    };
    targets.into_iter().zip(headlines).map(cut).collect()
}

/// `2026-11-21 20:15` of an RFC 3339 time stamp.
pub(crate) fn short_time(started: &str) -> String {
    started.chars().take(16).map(|letter| if letter == 'T' { ' ' } else { letter }).collect()
}

/// `sequential read 1 MiB 275 MB/s, random read 4 KiB 52.1k IOPS`.
pub(crate) fn headline(headlines: &[Headline]) -> String {
    let each = |headline: &Headline| {
        let Headline { op, block_bytes, .. } = headline;
        let pattern = words::pattern(&headline.pattern);
        format!("{pattern} {op} {} {}", number::size(*block_bytes), headline_rate(headline))
    };
    headlines.iter().map(each).collect::<Vec<_>>().join(", ")
}

/// `2 of 40 rounds broke a promise`, of power cuts.
pub(crate) fn broken_rounds(run: &RunSummary) -> Option<String> {
    let [broken, rounds] = run.broken_rounds?;
    Some(format!("{broken} of {} broke a promise", number::counted(rounds, "round")))
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
    let rate = match headline.block_bytes >= record::LARGE_BLOCK_BYTES {
        true => number::rate(headline.bytes_per_s),
        false => format!("{} IOPS", number::iops(headline.iops)),
    };
    match &headline.limit {
        Some(limit) => format!("{rate} at {limit}"),
        None => rate,
    }
}

#[cfg(test)]
pub(crate) mod tests;
