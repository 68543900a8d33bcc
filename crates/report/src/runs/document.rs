//! Runs as a report: the summary first, the differences, the figures, all cells, environment and method.

use super::{Run, Subject, by_method, facts, figures, rates, subject::typed};
use crate::{
    chart::{Column, Entry, Figure, Table, Unit},
    document::{Block, Document, Doubt, Highlight, Section},
    number,
    terminal::words,
};
use record::{Cell, Flag, PairedVerdict, Record, State};

/// Highlights of one subject.
const HIGHLIGHTS_MAX: usize = 8;
/// Rows of the table of all cells: more than a megabyte of a page.
const ROWS_MAX: usize = 2500;
/// Cells that a doubt names one by one.
const PLACES_MAX: usize = 6;

/// The report of one or more runs.
pub fn document(runs: &[Run<'_>]) -> Document {
    let groups = by_method(runs);
    let subjects: Vec<&Subject<'_>> = groups.iter().flatten().collect();
    let mut sections = Vec::new();
    sections.extend(facts::differences(runs));
    for group in &groups {
        sections.extend(of_method(group, groups.len() > 1));
    }
    sections.push(environment(runs));
    let bare = runs.iter().filter(|run| run.record.cells.is_empty());
    let of_bare = bare.map(|run| of_record(run.record));
    let doubts = doubts(runs, subjects.len() > 1);
    // Where nothing was measured nothing was checked: no flags are no good sign.
    let is_checked = !subjects.is_empty() || !doubts.is_empty();
    Document {
        title: title(&subjects, runs),
        origin: origin(runs),
        summary: groups.iter().flat_map(|group| summary(group)).chain(of_bare).collect(),
        highlights: highlights(&subjects),
        doubts: is_checked.then_some(doubts),
        sections,
    }
}

fn title(subjects: &[&Subject<'_>], runs: &[Run<'_>]) -> String {
    let mut names: Vec<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
    names.dedup();
    let what = match names[..] {
        [] => runs.first().map_or("no run", |run| run.record.id.as_str()).to_owned(),
        [one] => one.to_owned(),
        [one, other] => format!("{one} and {other}"),
        [one, ..] => format!("{one} and {} others", names.len() - 1),
    };
    let mut methods: Vec<&str> = runs.iter().map(|run| run.record.method.name.as_str()).collect();
    methods.sort_unstable();
    methods.dedup();
    format!("{what}: {}", methods.join(", "))
}

fn origin(runs: &[Run<'_>]) -> String {
    let run = |run: &Run<'_>| format!("run {} of {}", run.record.id, day(&run.record.started));
    let tool = runs.first().map_or(String::new(), |run| {
        format!("; {} {}", run.record.tool.name, run.record.tool.version)
    });
    runs.iter().map(run).collect::<Vec<_>>().join(", ") + &tool
}

fn day(started: &str) -> String {
    started.chars().take(16).map(|letter| if letter == 'T' { ' ' } else { letter }).collect()
}

/// What was measured, how, and how it ended.
fn summary(group: &[Subject<'_>]) -> Vec<String> {
    let mut paragraphs = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for subject in group {
        let record = subject.record;
        if seen.contains(&record.id.as_str()) {
            continue;
        }
        seen.push(&record.id);
        paragraphs.push(of_record(record));
        paragraphs.extend(paired(record));
    }
    if group.len() > 1 && seen.len() > 1 {
        paragraphs.push(
            "These runs were made apart: what changed on the machine between them is part of their difference. \
             `drivelab run A B` measures two targets in turn."
                .to_owned(),
        );
    }
    paragraphs
}

fn of_record(record: &Record) -> String {
    let targets: Vec<&str> = record.targets.iter().map(typed).collect();
    let method = &record.method;
    let passes = if method.passes == 1 {
        "one pass".to_owned()
    } else {
        format!("{} passes", method.passes)
    };
    let several = targets.len() > 1;
    let mut text = format!(
        "{} {} measured with the method {} (grade {}, {passes}) over {}: {}.",
        targets.join(" and "),
        if several { "were" } else { "was" },
        method.name,
        method.grade,
        number::size(method.span_bytes),
        count(record.cells.len(), "cell")
    );
    if record.time == "virtual" {
        text += if several { " They are models: their" } else { " It is a model: its" };
        text += " seconds are virtual, and the same seed gives the same numbers on any machine.";
    }
    match (record.state, &record.error) {
        (State::Complete, _) => {}
        (state, Some(error)) => {
            text += &format!(" The run is {}: {}.", state.name(), error.trim_end_matches('.'))
        }
        (state, None) => text += &format!(" The run is {}: cells are missing.", state.name()),
    }
    if !record.left_out.is_empty() {
        let were = if record.left_out.len() == 1 { "was" } else { "were" };
        text += &format!(" {} {were} left out.", count(record.left_out.len(), "cell"));
    }
    text
}

/// `1 cell`, `2 cells`.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn paired(record: &Record) -> Option<String> {
    if record.paired.is_empty() {
        return None;
    }
    let count = |verdict| record.paired.iter().filter(|pair| pair.verdict == verdict).count();
    let name = |at: usize| record.targets.get(at).map_or("", |target| target.text.as_str());
    Some(format!(
        "In turn, cell by cell, {} against {}: faster in {}, slower in {}, the same within 2 % in {}, undecided in {}.",
        name(1),
        name(0),
        count(PairedVerdict::Faster),
        count(PairedVerdict::Slower),
        count(PairedVerdict::Same),
        count(PairedVerdict::Undecided)
    ))
}

/// For every operation and pattern: the largest bandwidth, and the most operations of about 4 KiB.
fn highlights(subjects: &[&Subject<'_>]) -> Vec<Highlight> {
    let mut highlights = Vec::new();
    for subject in subjects {
        let mut chosen: Vec<&Cell> = Vec::new();
        let kinds = words::in_order(&subject.cells, |cell| {
            (cell.op.clone(), cell.pattern.clone(), cell.io.clone())
        });
        for kind in kinds {
            let of_kind = subject
                .cells
                .iter()
                .filter(|cell| (&cell.op, &cell.pattern, &cell.io) == (&kind.0, &kind.1, &kind.2));
            let large = of_kind.clone().filter(|cell| cell.is_large_block());
            let largest = large.max_by(|one, other| one.bytes_per_s.total_cmp(&other.bytes_per_s));
            let small = of_kind.filter(|cell| cell.block_bytes == 4096);
            let most = small.max_by(|one, other| one.iops.total_cmp(&other.iops));
            chosen.extend(most.into_iter().chain(largest).copied());
        }
        if chosen.is_empty() {
            chosen.extend(subject.cells.first());
        }
        chosen.truncate((HIGHLIGHTS_MAX / subjects.len().min(4)).max(2));
        let names = rates::cell_names(&chosen);
        for (cell, name) in chosen.iter().zip(names) {
            let name = if subjects.len() > 1 { format!("{}: {name}", subject.name) } else { name };
            let half =
                words::half_width(cell).map(|share| format!("\u{b1}{}", number::percent(share)));
            let p99 = cell.latency.as_ref().and_then(|latency| latency.percentile(99.0));
            let p99 = p99.map(|ns| format!("p99 {}", number::duration_ns(ns as f64)));
            let note = half.into_iter().chain(p99).collect::<Vec<_>>().join(", ");
            highlights.push(Highlight { name, value: words::headline(cell), note });
        }
    }
    highlights
}

/// Every flag that stands anywhere, with its meaning and where.
fn doubts(runs: &[Run<'_>], several: bool) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    for &flag in Flag::ALL {
        let mut places = Vec::new();
        for run in runs {
            let record = run.record;
            let of_target = record.targets.iter().any(|target| target.flags.contains(&flag));
            let cells: Vec<&Cell> =
                record.cells.iter().filter(|cell| cell.flags.contains(&flag)).collect();
            if !of_target && cells.is_empty() && !record.flags.contains(&flag) {
                continue;
            }
            let where_in = if of_target || cells.len() == record.cells.len() {
                "all cells".to_owned()
            } else if cells.is_empty() {
                "the run as a whole".to_owned()
            } else if cells.len() > PLACES_MAX {
                format!("{} of {} cells", cells.len(), record.cells.len())
            } else {
                rates::cell_names(&cells).join("; ")
            };
            places.push(if several { format!("run {}: {where_in}", record.id) } else { where_in });
        }
        if !places.is_empty() {
            places.dedup();
            let (name, meaning) = (flag.name().to_owned(), flag.meaning().to_owned());
            doubts.push(Doubt {
                name,
                meaning,
                cure: flag.cure().to_owned(),
                places: places.join(". "),
            });
        }
    }
    doubts
}

fn of_method(group: &[Subject<'_>], several: bool) -> Vec<Section> {
    let figures = figures(group);
    let method = group.first().map_or("", |subject| subject.record.method.name.as_str());
    let titled =
        |title: &str| if several { format!("{method}: {title}") } else { title.to_owned() };
    let mut sections = Vec::new();
    let parts: [(&str, Vec<Figure>); 4] = [
        ("Rates", figures.rates),
        ("Latency", figures.latency),
        ("Over time", figures.time),
        ("Price", figures.price),
    ];
    for (title, figures) in parts {
        if !figures.is_empty() {
            let blocks = figures.into_iter().map(Box::new).map(Block::Figure).collect();
            sections.push(Section { title: titled(title), blocks });
        }
    }
    let mut seen: Vec<&str> = Vec::new();
    for subject in group {
        if !seen.contains(&subject.record.id.as_str()) {
            seen.push(&subject.record.id);
            sections.extend(
                verdicts(subject.record)
                    .map(|blocks| Section { title: titled("Verdicts"), blocks }),
            );
        }
    }
    sections.push(Section { title: titled("All cells"), blocks: all_cells(group) });
    sections
}

fn verdicts(record: &Record) -> Option<Vec<Block>> {
    if record.paired.is_empty() {
        return None;
    }
    let columns = vec![
        Column::text("cell"),
        Column::number("rate of target 1 over target 0", Unit::Number),
        Column::number("95 % from", Unit::Number),
        Column::number("to", Unit::Number),
        Column::number("pairs", Unit::Number),
        Column::text("target 1 is"),
    ];
    let row = |pair: &record::Paired| {
        let word = match pair.verdict {
            PairedVerdict::Faster => "faster",
            PairedVerdict::Slower => "slower",
            PairedVerdict::Same => "the same within 2 %",
            PairedVerdict::Undecided => "undecided",
        };
        vec![
            Entry::text(&pair.name),
            Entry::Number(pair.ratio),
            Entry::number(pair.ratio_ci95.map(|[low, _]| low)),
            Entry::number(pair.ratio_ci95.map(|[_, high]| high)),
            Entry::Number(f64::from(pair.n)),
            Entry::text(word),
        ]
    };
    let rows = record.paired.iter().map(row).collect();
    Some(vec![Block::Table(Table { title: "Target 1 against target 0".to_owned(), columns, rows })])
}

/// The table of all cells; of very many, each subject's first.
fn all_cells(group: &[Subject<'_>]) -> Vec<Block> {
    let of_all: usize = group.iter().map(|subject| subject.cells.len()).sum();
    let most = (ROWS_MAX / group.len().max(1)).max(1);
    let table = Block::Table(cells_table(group, most));
    if of_all <= ROWS_MAX {
        return vec![table];
    }
    let text = format!(
        "The first {most} cells of each target, of {of_all} in all: `drivelab report ... --csv FILE` writes every one."
    );
    vec![Block::Text(text), table]
}

fn cells_table(group: &[Subject<'_>], most: usize) -> Table {
    let columns = vec![
        Column::text("target"),
        Column::text("cell"),
        Column::number("rate", Unit::Iops),
        Column::number("bandwidth", Unit::BytesPerS),
        Column::number("95 %, \u{b1}", Unit::Percent),
        Column::number("passes", Unit::Number),
        Column::number("p50", Unit::Ns),
        Column::number("p99", Unit::Ns),
        Column::number("p99.9", Unit::Ns),
        Column::number("depth reached", Unit::Number),
        Column::text("rate of"),
        Column::text("flags"),
    ];
    let mut rows = Vec::new();
    for subject in group {
        let names = rates::cell_names(&subject.cells);
        for (cell, name) in subject.cells.iter().zip(&names).take(most) {
            let at = |percent| {
                let ns = cell.latency.as_ref().and_then(|latency| latency.percentile(percent));
                Entry::number(ns.map(|ns| ns as f64))
            };
            rows.push(vec![
                if group.len() > 1 { Entry::text(&subject.name) } else { Entry::Empty },
                Entry::text(name),
                Entry::Number(cell.iops),
                Entry::Number(cell.bytes_per_s),
                Entry::number(words::half_width(cell).map(|share| share * 100.0)),
                Entry::Number(cell.passes.len() as f64),
                at(50.0),
                at(99.0),
                at(99.9),
                Entry::number(cell.depth_achieved),
                Entry::text(cell.means.as_deref().unwrap_or_default()),
                Entry::text(&super::flags(cell)),
            ]);
        }
    }
    Table { title: String::new(), columns, rows }.without_empty_columns()
}

fn environment(runs: &[Run<'_>]) -> Section {
    let mut blocks = vec![Block::Table(facts::table(runs))];
    let mut methods: Vec<&str> = Vec::new();
    for run in runs {
        let method = &run.record.method;
        if let Some(text) = method.not_measured.as_ref().filter(|text| !text.is_empty()) {
            blocks.push(Block::Text(format!("{}: {text}", method.name)));
        }
        if !methods.contains(&method.text.as_str()) {
            methods.push(&method.text);
            let title = format!("The method {}, as it was run", method.name);
            blocks.push(Block::Verbatim { title, text: method.text.clone() });
        }
        let warnings = record_warnings(run.record);
        if !warnings.is_empty() {
            let title = format!("Warnings of run {}", run.record.id);
            blocks.push(Block::Verbatim { title, text: warnings.join("\n") });
        }
    }
    Section { title: "Environment and method".to_owned(), blocks }
}

fn record_warnings(record: &Record) -> Vec<String> {
    let of_targets = record.targets.iter().flat_map(|target| &target.warnings);
    let of_cells = record.cells.iter().flat_map(|cell| &cell.warnings);
    let mut texts: Vec<String> = Vec::new();
    for warning in record.warnings.iter().chain(of_targets).chain(of_cells) {
        if !texts.contains(&warning.text) {
            texts.push(warning.text.clone());
        }
    }
    texts.extend(
        record.left_out.iter().map(|cell| format!("Left out: {}: {}", cell.name, cell.reason)),
    );
    texts
}
