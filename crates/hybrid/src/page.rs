//! The answer on a terminal, and as a document with the miss-ratio curves.

use crate::{
    Answer, Found,
    curve::{Curve, POLICIES, curves},
};
use block::display_bytes;
use report::{
    chart::{
        self, Axis, BarSeries, Bars, Chart, Column, Entry, Figure, Line, Lines, Point, Stroke,
        Unit, Value,
    },
    document::{Block, Document, Section},
    number,
    terminal::{Align, Page, Paint, Style, Table},
};
use std::mem::discriminant;

/// Ways that are printed, unless there are more sorts of them.
const WAYS: usize = 6;

/// What is printed besides the ways.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct More {
    /// All ways, the miss ratios by size, what goes where.
    pub details: bool,
    /// How the best way with disks and flash is set up.
    pub commands: Vec<Commands>,
}

/// A comment, then what to type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commands {
    /// What they set up, and what else differs from what was reckoned.
    pub about: String,
    /// Lines of a shell.
    pub lines: Vec<String>,
}

/// The answer.
pub fn page(answer: &Answer, more: &More, style: &Style) -> String {
    let mut page = Page::new(style);
    page.heading(&format!("{}: {}", workload(answer), question(answer)));
    page.gap();
    ways(&mut page, answer, more.details);
    page.gap();
    for sentence in answer.verdict() {
        page.hanging("- ", &sentence, Paint::Plain);
    }
    if more.details {
        loads(&mut page, answer);
        left(&mut page, answer);
        sizes(&mut page, answer);
    }
    set_up(&mut page, &more.commands);
    page.finish()
}

/// The trace by its title; of a method there is no file, and so no format.
fn workload(answer: &Answer) -> String {
    match answer.question.trace.made {
        Some(_) => answer.seen.subject.name.clone(),
        None => answer.seen.subject.title(),
    }
}

/// `65 % reads; 12.3 GiB are touched; 4xhdd/raid5, 32 in flight`
fn question(answer: &Answer) -> String {
    let seen = &answer.seen;
    let reads = seen.like.of(trace::Op::Read).operations as f64 / seen.requests();
    format!(
        "{} requests, {} reads, {} touched; {}, {} in flight",
        number::count(seen.like.transfers()),
        number::percent(reads),
        number::size(seen.footprint_bytes()),
        answer.question.disks,
        answer.question.depth
    )
}

fn ways(page: &mut Page<'_>, answer: &Answer, all: bool) {
    let currency = answer.question.prices.currency.as_str();
    let per_iops = format!("{currency}/IOPS");
    let mut table = Table::new(&[
        ("way", Align::Left),
        ("IOPS", Align::Right),
        ("p99", Align::Right),
        (currency, Align::Right),
        (per_iops.as_str(), Align::Right),
        ("lasts", Align::Right),
    ]);
    let shown = if all { (0..answer.found.len()).collect() } else { first(&answer.found) };
    for &at in &shown {
        let found = &answer.found[at];
        let paint = if at == 0 { Paint::Strong } else { Paint::Plain };
        let price = found.way.price;
        let row = [
            page.style.clean(&found.way.name()),
            told(found),
            found
                .checked
                .and_then(|checked| checked.p99_ns)
                .map_or_else(|| "-".to_owned(), |ns| number::duration_ns(ns as f64)),
            price.map_or_else(|| "?".to_owned(), |price| format!("{price:.0}")),
            found.price_per_iops().map_or_else(|| "?".to_owned(), number::three_digits),
            found.lasts(),
        ];
        table.painted_row(row.into_iter().map(|field| (field, paint)).collect());
    }
    page.table(&table);
    match answer.found.len() - shown.len() {
        0 => {}
        1 => page.line("and one other way"),
        others => page.line(&format!("and {others} other ways")),
    }
}

/// The fastest of each sort, then the next ones up to [`WAYS`], in order.
fn first(found: &[Found]) -> Vec<usize> {
    let sort = |at: usize| discriminant(&found[at].way.kind);
    let is_first = |at: &usize| (0..*at).all(|before| sort(before) != sort(*at));
    let (mut shown, others): (Vec<usize>, Vec<usize>) = (0..found.len()).partition(is_first);
    let room = WAYS.saturating_sub(shown.len());
    shown.extend(others.into_iter().take(room));
    shown.sort_unstable();
    shown
}

/// Operations a second; `~` before what was reckoned and not replayed.
fn told(found: &Found) -> String {
    let mark = if found.checked.is_some() { "" } else { "~" };
    format!("{mark}{}", number::iops(found.iops()))
}

/// What goes where.
fn loads(page: &mut Page<'_>, answer: &Answer) {
    page.heading("Of 100 requests: to flash and to the disks");
    let heads = ["reckoned", "hits", "misses", "fills", "written", "on disks", "back", "waits for"];
    let mut table = Table::of_numbers("way", heads.into_iter());
    for found in &answer.found {
        let Some(loads) = found.reckoned.loads else { continue };
        let waits = if found.reckoned.waits_for_disks == Some(true) { "disks" } else { "flash" };
        let mut row = vec![page.style.clean(&found.way.name())];
        row.push(found.reckoned.iops.map_or_else(|| "-".to_owned(), number::iops));
        row.extend(
            [
                loads.flash_reads,
                loads.disk_reads,
                loads.fills,
                loads.flash_writes,
                loads.disk_writes,
                loads.written_back,
            ]
            .map(|load| format!("{:.1}", load * 100.0)),
        );
        row.push(waits.to_owned());
        table.row(row);
    }
    page.table(&table);
}

/// What is left after a power cut and without the flash drive, a line for each sort of way.
fn left(page: &mut Page<'_>, answer: &Answer) {
    page.heading("What is left");
    let heads = [("way", Align::Left), ("after a power cut", Align::Left)];
    let mut table = Table::new(&[heads[0], heads[1], ("without the SSD", Align::Left)]);
    let mut told = Vec::new();
    for Found { way, .. } in &answer.found {
        let row = [way.kind.word(), way.kind.after_power_cut(), way.kind.without_ssd()];
        if !told.contains(&row[0]) {
            told.push(row[0]);
            table.row(row.map(str::to_owned).into());
        }
    }
    page.table(&table);
}

/// Miss ratios by size and policy.
fn sizes(page: &mut Page<'_>, answer: &Answer) {
    let curves = curves(&answer.seen);
    page.heading("Misses of caches by size, share of all blocks asked for");
    let heads = POLICIES.iter().map(|policy| policy.name()).chain(["least"]);
    let mut table = Table::of_numbers("size", heads);
    for Curve { cache_bytes, misses, least } in &curves {
        let mut row = vec![display_bytes(*cache_bytes)];
        row.extend(misses.iter().chain([least]).map(|missed| number::percent(*missed)));
        table.row(row);
    }
    page.table(&table);
    page.line("least: the bound of all policies, which would have to know the future (Belady).");
}

/// What to type.
pub(crate) fn set_up(page: &mut Page<'_>, commands: &[Commands]) {
    for commands in commands {
        page.gap();
        page.hanging("# ", &format!("{}.", commands.about), Paint::Plain);
        for line in &commands.lines {
            page.command(line);
        }
    }
}

/// The same with charts; `origin` is when and by what it was made.
pub fn document(answer: &Answer, origin: &str) -> Document {
    let figure = |id: &str, title: &str, note: &str, chart| {
        let [id, title, note] = [id, title, note].map(str::to_owned);
        Block::Figure(Box::new(Figure { id, title, note, chart }))
    };
    let section = |title: &str, block| Section {
        title: title.to_owned(),
        sheet: "Hybrid",
        blocks: vec![block],
    };
    let checked = "As checked by a whole replay where there is one, else as reckoned.";
    let misses = "least: the bound of all policies, which would have to know the future.";
    Document {
        title: format!("{}: {}", workload(answer), question(answer)),
        origin: origin.to_owned(),
        summary: answer.verdict(),
        highlights: Vec::new(),
        doubts: None,
        sections: vec![
            section("Ways", figure("ways", "Operations a second", checked, rates(answer))),
            section("All ways", Block::Table(all_ways(answer))),
            section("Sizes", figure("misses", "Misses by size", misses, missed(answer))),
        ],
    }
}

fn all_ways(answer: &Answer) -> chart::Table {
    let currency = &answer.question.prices.currency;
    let columns = vec![
        Column::text("way"),
        Column::number("replayed", Unit::Iops),
        Column::number("reckoned", Unit::Iops),
        Column::number("p99", Unit::Ns),
        Column::number(&format!("price, {currency}"), Unit::Number),
        Column::number(&format!("{currency}/IOPS"), Unit::Number),
        Column::text("flash lasts"),
        Column::text("after a power cut"),
        Column::text("without the SSD"),
    ];
    let row = |found: &Found| {
        let checked = found.checked;
        vec![
            Entry::text(&found.way.name()),
            Entry::number(checked.map(|checked| checked.iops)),
            Entry::number(found.reckoned.iops),
            Entry::number(checked.and_then(|checked| checked.p99_ns).map(|ns| ns as f64)),
            Entry::number(found.way.price),
            Entry::number(found.price_per_iops()),
            Entry::text(&found.lasts()),
            Entry::text(found.way.kind.after_power_cut()),
            Entry::text(found.way.kind.without_ssd()),
        ]
    };
    let rows = answer.found.iter().map(row).collect();
    chart::Table { title: String::new(), columns, rows }
}

fn rates(answer: &Answer) -> Chart {
    let values = answer.found.iter().map(|found| Some(Value::from(found.iops()))).collect();
    Chart::Bars(Bars {
        group_title: "way".to_owned(),
        groups: answer.found.iter().map(|found| found.way.name()).collect(),
        value: Axis::linear("rate", Unit::Iops),
        series: vec![BarSeries { name: "rate".to_owned(), source: String::new(), values }],
    })
}

fn missed(answer: &Answer) -> Chart {
    let curves = curves(&answer.seen);
    let line = |name: &str, of: &dyn Fn(&Curve) -> f64| {
        let point = |curve: &Curve| Point {
            x: curve.cache_bytes as f64,
            y: Value::from(of(curve) * 100.0),
        };
        Line { points: curves.iter().map(point).collect(), ..Line::new(name, Stroke::Plain) }
    };
    let mut series: Vec<Line> = POLICIES
        .iter()
        .enumerate()
        .map(|(at, policy)| line(policy.name(), &|curve| curve.misses[at]))
        .collect();
    series.push(line("least", &|curve| curve.least));
    Chart::Lines(Lines {
        x: Axis::log("size of the cache", Unit::Bytes),
        y: Axis::linear("misses", Unit::Percent),
        series,
        bands: Vec::new(),
    })
}
