//! Runs as figures: which charts a set of records gives, by what their cells have in common.
//!
//! ```text
//!   cells with file and record sizes   files.rs    heat map and surface a test
//!   cells along a quantity             sweeps.rs   rate and latency over block size, depth, threads...
//!   all other cells                    rates.rs    bars
//!   searches for a rate                knee.rs     latency over rate, the knee
//!   histograms                         latency.rs  percentiles and distribution
//!   percentiles over time              latency_time.rs
//!   rates over time, rounds            time.rs     series with the judged window
//!   with prices                        price.rs    performance against price
//! ```

mod document;
mod doubts;
mod facts;
mod files;
mod highlights;
pub(crate) mod knee;
mod latency;
mod latency_time;
pub(crate) mod price;
mod rates;
mod subject;
mod sweeps;
mod time;

pub use document::{document, document_against, environment, origin};
pub use doubts::doubts;
pub(crate) use facts::differing;
pub use record::Money;
pub use subject::{Drives, Run, Subject, drives, subjects};

use crate::chart::{Figure, Value, slug};
use record::Cell;
use std::collections::BTreeMap;

/// Runs of the same method together, in the order of their first; each group's targets as subjects.
pub fn by_method<'r>(runs: &[Run<'r>]) -> Vec<Vec<Subject<'r>>> {
    let mut methods: Vec<&str> = Vec::new();
    for run in runs {
        if !methods.contains(&run.record.method.name.as_str()) {
            methods.push(&run.record.method.name);
        }
    }
    let of_method = |method: &&str| {
        let runs = runs.iter().filter(|run| run.record.method.name == *method).cloned();
        subjects(&runs.collect::<Vec<_>>())
    };
    methods.iter().map(of_method).collect()
}

/// What a method's runs have to show, by kind of question.
#[derive(Clone, PartialEq, Debug)]
pub struct Figures {
    /// How fast.
    pub rates: Vec<Figure>,
    /// How long an operation takes.
    pub latency: Vec<Figure>,
    /// How the rate went.
    pub time: Vec<Figure>,
    /// What it costs.
    pub price: Vec<Figure>,
}

impl Figures {
    /// All of them, in the order of a report.
    pub fn all(&self) -> impl Iterator<Item = &Figure> {
        [&self.rates, &self.latency, &self.time, &self.price].into_iter().flatten()
    }
}

/// The figures of runs of one method. Ids begin with the method's name and are unique.
pub fn figures(subjects: &[Subject<'_>]) -> Figures {
    let knees = knee::figures(subjects);
    let subjects = &knee::without_probes(subjects);
    let parts = Parts::of(subjects);
    let mut figures = Figures {
        rates: [
            files::figures(subjects, &parts),
            sweeps::rates(subjects, &parts),
            rates::figures(subjects, &parts),
        ]
        .concat(),
        latency: [knees, sweeps::latency(subjects, &parts), latency::figures(subjects)].concat(),
        time: [time::rounds(subjects), time::series(subjects), latency_time::figures(subjects)]
            .concat(),
        price: price::figures(subjects),
    };
    let method = subjects.first().map_or("", |subject| subject.record.method.name.as_str());
    let mut taken = BTreeMap::<String, u32>::new();
    let lists = [&mut figures.rates, &mut figures.latency, &mut figures.time, &mut figures.price];
    for figure in lists.into_iter().flatten() {
        let id = slug(&format!("{method} {}", figure.title));
        let count = taken.entry(id.clone()).or_default();
        *count += 1;
        figure.id = if *count == 1 { id } else { format!("{id}-{count}") };
    }
    figures
}

/// Which kind of chart each cell belongs to.
struct Parts {
    kinds: BTreeMap<String, Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Files,
    Sweep,
    Bars,
}

impl Parts {
    fn of(subjects: &[Subject<'_>]) -> Self {
        let mut cells: Vec<&Cell> =
            subjects.iter().flat_map(|subject| &subject.cells).copied().collect();
        let mut kinds = BTreeMap::new();
        let mut settle = |cells: &mut Vec<&Cell>, names: Vec<String>, kind| {
            cells.retain(|cell| !names.contains(&cell.name));
            kinds.extend(names.into_iter().map(|name| (name, kind)));
        };
        let files = files::names(&cells);
        settle(&mut cells, files, Kind::Files);
        let swept = sweeps::names(&cells);
        settle(&mut cells, swept, Kind::Sweep);
        let rest = cells.iter().map(|cell| cell.name.clone()).collect();
        settle(&mut cells, rest, Kind::Bars);
        Self { kinds }
    }

    fn cells<'c>(&self, subject: &Subject<'c>, kind: Kind) -> Vec<&'c Cell> {
        let is_of_kind = |cell: &&&Cell| self.kinds.get(&cell.name) == Some(&kind);
        subject.cells.iter().filter(is_of_kind).copied().collect()
    }
}

/// A cell's rate with its interval and flags.
fn iops(cell: &Cell) -> Value {
    Value { value: cell.iops, ci95: cell.iops_ci95, note: flags(cell) }
}

/// A cell's bandwidth with its interval and flags.
fn bytes_per_s(cell: &Cell) -> Value {
    Value { value: cell.bytes_per_s, ci95: cell.bytes_per_s_ci95, note: flags(cell) }
}

fn flags(cell: &Cell) -> String {
    cell.flags.iter().map(|flag| flag.name()).collect::<Vec<_>>().join(", ")
}

/// At most `most` of these, as evenly as they come, the first and the last among them.
fn thinned<T>(mut items: Vec<T>, most: usize) -> Vec<T> {
    assert!(most > 1, "the first and the last");
    let count = items.len();
    if count > most {
        let kept: Vec<usize> = (0..most).map(|at| at * (count - 1) / (most - 1)).collect();
        let mut at = 0;
        items.retain(|_| {
            at += 1;
            kept.contains(&(at - 1))
        });
    }
    items
}

/// A figure without an id: [`figures`] gives it one.
fn figure(title: String, note: &str, chart: crate::chart::Chart) -> Figure {
    Figure { id: String::new(), title, note: note.to_owned(), chart }
}
