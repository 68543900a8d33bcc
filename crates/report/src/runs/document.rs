//! Runs as a report: the summary first, the differences, ratios to the baseline, the figures, all
//! cells, environment and method.

use super::{
    Run, Subject, by_method, doubts::doubts, facts, figures, highlights, rates, subject::typed,
};
use crate::{
    chart::{Column, Entry, Figure, Table, Unit},
    comparison::{self, Comparison, Design, Other},
    document::{Block, Document, Section},
    number::{self, counted},
    power_cuts,
    terminal::words,
};
use record::{Cell, PairedVerdict, Record, State};

/// Rows of the table of all cells: more than a megabyte of a page.
const ROWS_MAX: usize = 2500;
/// Targets of which the summary counts the verdicts: those of more stand in their tables alone.
const COUNTED_MAX: usize = 4;

/// The report of one or more runs; of several targets the first is the baseline.
pub fn document(runs: &[Run<'_>]) -> Document {
    document_against(runs, None)
}

/// The same with another baseline: a record of these runs and the index of one of its targets.
pub fn document_against(runs: &[Run<'_>], baseline: Option<(&Record, usize)>) -> Document {
    let mut groups = by_method(runs);
    if let Some((record, target)) = baseline {
        for group in &mut groups {
            let is_it = |subject: &Subject<'_>| {
                std::ptr::eq(subject.record, record) && subject.target == target
            };
            if let Some(at) = group.iter().position(is_it) {
                group[..=at].rotate_right(1);
            }
        }
    }
    let comparisons = comparisons(&groups);
    let subjects: Vec<&Subject<'_>> = groups.iter().flatten().collect();
    let mut sections = Vec::new();
    sections.extend(facts::differences(runs));
    sections.extend(comparisons.iter().map(|one| {
        let section = comparison::section(one);
        let method = &one.baseline.record.method.name;
        let title = match comparisons.len() {
            1 => section.title,
            _ => format!("{method}: {}", section.title),
        };
        Section { title, ..section }
    }));
    for group in &groups {
        sections.extend(of_method(group, groups.len() > 1));
    }
    sections.extend(runs.iter().filter_map(|run| {
        let table = power_cuts::table(run.record, run.record.power_cuts.as_ref()?);
        let title = format!("Power cuts of run {}", run.record.id);
        Some(Section { title, sheet: "Power cuts", blocks: vec![Block::Table(table)] })
    }));
    sections.push(environment(runs));
    let bare = runs.iter().filter(|run| run.record.cells.is_empty());
    let of_bare = bare.map(|run| of_record(run.record));
    let verdicts = comparisons.iter().flat_map(|comparison| {
        let few = comparison.others.len() <= COUNTED_MAX;
        let others = comparison.others.iter().filter(|other| few && !other.rows.is_empty());
        others.map(|other| verdicts(&comparison.baseline, other)).collect::<Vec<_>>()
    });
    let doubts = doubts(runs);
    // Where nothing was measured nothing was checked: no flags are no good sign.
    let is_checked = !subjects.is_empty() || !doubts.is_empty();
    Document {
        title: title(&subjects, runs),
        origin: origin(runs),
        summary: groups
            .iter()
            .flat_map(|group| summary(group))
            .chain(of_bare)
            .chain(verdicts)
            .collect(),
        highlights: highlights::highlights(&groups),
        doubts: is_checked.then_some(doubts),
        sections,
    }
}

/// Every method's targets against its first; where each method has one target, those against each
/// other.
fn comparisons<'r>(groups: &[Vec<Subject<'r>>]) -> Vec<Comparison<'r>> {
    let of = |mut subjects: Vec<Subject<'r>>| {
        (subjects.len() > 1).then(|| {
            let baseline = subjects.remove(0);
            Comparison::of(baseline, subjects)
        })
    };
    match groups.iter().all(|group| group.len() == 1) {
        true => of(groups.iter().flatten().cloned().collect()).into_iter().collect(),
        false => groups.iter().filter_map(|group| of(group.clone())).collect(),
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

/// Which runs, when, and what made them, in one line.
pub fn origin(runs: &[Run<'_>]) -> String {
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
    if let Some(cuts) = &record.power_cuts {
        let head = power_cuts::head(record, cuts);
        let verdict = power_cuts::verdict(cuts, None);
        return format!("{}. {}.", head.trim_end(), verdict.trim_end().replace('\n', "; "));
    }
    let method = &record.method;
    let passes = match method.passes {
        1 => "one pass".to_owned(),
        passes => format!("{passes} passes"),
    };
    let several = targets.len() > 1;
    let mut text = format!(
        "{} {} measured with the method {} (grade {}, {passes}) over {}: {}.",
        targets.join(" and "),
        if several { "were" } else { "was" },
        method.name,
        method.grade,
        number::size(method.span_bytes),
        counted(record.cells.len(), "cell")
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
        text += &format!(" {} {were} left out.", counted(record.left_out.len(), "cell"));
    }
    if record.failed_cells() > 0 {
        text += &format!(" {} failed.", counted(record.failed_cells(), "cell"));
    }
    text
}

/// How often one target was faster than the baseline, and how often slower.
fn verdicts(baseline: &Subject<'_>, other: &Other<'_>) -> String {
    let count = |verdict| {
        let verdicts = other.rows.iter().filter_map(|row| row.ratio);
        verdicts.filter(|ratio| ratio.verdict == verdict).count()
    };
    format!(
        "{}, {} against {}: faster in {}, slower in {}, the same within 2 % in {}, \
         undecided in {}.",
        match other.design {
            Design::Paired => "In turn, cell by cell",
            Design::Unpaired => "Cell by cell",
        },
        other.subject.name,
        baseline.name,
        count(PairedVerdict::Faster),
        count(PairedVerdict::Slower),
        count(PairedVerdict::Same),
        count(PairedVerdict::Undecided)
    )
}

fn of_method(group: &[Subject<'_>], several: bool) -> Vec<Section> {
    let figures = figures(group);
    let method = group.first().map_or("", |subject| subject.record.method.name.as_str());
    let titled =
        |title: &str| if several { format!("{method}: {title}") } else { title.to_owned() };
    let mut sections = Vec::new();
    let parts: [(&str, &str, Vec<Figure>); 4] = [
        ("Rates", "Rates", figures.rates),
        ("Latency", "Latency", figures.latency),
        ("Over time", "Time", figures.time),
        ("Price", "Price", figures.price),
    ];
    for (title, sheet, figures) in parts {
        if !figures.is_empty() {
            let blocks = figures.into_iter().map(Box::new).map(Block::Figure).collect();
            sections.push(Section { title: titled(title), sheet, blocks });
        }
    }
    let title = titled("All cells");
    sections.push(Section { title, sheet: "Cells", blocks: all_cells(group) });
    sections
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
        Column::number("lasting", Unit::Iops),
        Column::number("lasting bandwidth", Unit::BytesPerS),
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
                lasting(cell, 0),
                if cell.is_large_block() { lasting(cell, 1) } else { Entry::Empty },
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

/// What of a burst lasts: operations or bytes a second, or that it was not seen.
fn lasting(cell: &Cell, which: usize) -> Entry {
    match words::lasting_rates(cell) {
        None => Entry::Empty,
        Some(None) => Entry::text(words::NOT_SEEN),
        Some(Some(rates)) => Entry::Number(rates[which]),
    }
}

/// Where and how runs were made: facts, methods as they were run, warnings.
pub fn environment(runs: &[Run<'_>]) -> Section {
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
    Section { title: "Environment and method".to_owned(), sheet: "Method", blocks }
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
    let failed = record.failed.iter();
    texts.extend(failed.map(|cell| format!("Failed: {}: {}", cell.name, cell.reason)));
    texts
}
