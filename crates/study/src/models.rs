//! A study's cells on modelled drives: every trial, in parallel, and what follows from them.

use crate::{
    Book, Cell, Dossier, Effort, Printed, Setup, dossier::derive, expression::Coordinates, setup,
    trial,
};
use std::{
    collections::BTreeMap,
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};
use target::catalog::Catalog;

/// What the models say of a study.
#[derive(Clone, Debug)]
pub struct Models {
    /// Beside each cell: the modelled value, or why there is none. `None` where nothing stands for the cell.
    pub values: Vec<Option<Result<f64, String>>>,
    /// The same, for expressions.
    pub book: Book,
}

impl Models {
    /// Runs the trials of all cells on `threads` threads; `progress` hears how many of how many are done. The
    /// values do not depend on the number of threads.
    pub fn run(
        dossier: &Dossier,
        catalog: &Catalog,
        threads: usize,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Self {
        let setups: Vec<(usize, Setup)> = dossier
            .cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| {
                cell.printed != Printed::Blank && cell.figure.study == dossier.study
            })
            .filter_map(|(at, cell)| setup(cell).map(|setup| (at, setup)))
            .collect();
        let outcomes = in_parallel(&setups, threads, progress, |(at, setup)| {
            let figure = &dossier.cells[*at].figure;
            let outcome = trial::measure(setup, figure, catalog, Effort::REPORT);
            outcome.map(|outcome| outcome.value).map_err(|error| error.to_string())
        });
        let mut values = vec![None; dossier.cells.len()];
        for ((at, _), outcome) in setups.iter().zip(outcomes) {
            values[*at] = Some(outcome);
        }
        bandwidths(&dossier.cells, &mut values);
        let book = book(dossier, &values);
        let derived = derive(&dossier.file, &dossier.cells, &book);
        for (value, derived) in values.iter_mut().zip(derived.expect("the printed book derives")) {
            *value = value.take().or(derived);
        }
        Self { book: self::book(dossier, &values), values }
    }
}

/// A bandwidth is its neighbour's operations times their size.
fn bandwidths(cells: &[Cell], values: &mut [Option<Result<f64, String>>]) {
    let place = |cell: &Cell| {
        let mut at: Coordinates = cell.at.clone();
        at.remove("metric");
        at
    };
    let is = |cell: &Cell, metric: &str| cell.coordinate("metric") == Some(metric);
    let mut rates = BTreeMap::new();
    for (cell, value) in cells.iter().zip(values.iter()).filter(|(cell, _)| is(cell, "iops")) {
        rates.insert(place(cell), value.clone());
    }
    let blocks = cells.iter().map(|cell| cell.figure.block_bytes);
    for ((cell, value), block) in cells.iter().zip(values.iter_mut()).zip(blocks) {
        if let (true, Some(block), Some(Some(rate))) = (
            is(cell, "bytes_per_s") && cell.printed != Printed::Blank,
            block,
            rates.get(&place(cell)),
        ) {
            *value = Some(rate.clone().map(|rate| rate * block as f64));
        }
    }
}

fn book(dossier: &Dossier, values: &[Option<Result<f64, String>>]) -> Book {
    let mut book = Book::new(&dossier.file);
    for (cell, value) in dossier.cells.iter().zip(values) {
        if cell.printed == Printed::Blank {
            continue;
        }
        // What nothing stands for - advertised rates, prices, prose - is taken as printed.
        let as_printed = || match &cell.printed {
            Printed::Figure(number, _) => Ok(*number),
            _ => Err("no model stands for it".to_owned()),
        };
        book.put(cell.at.clone(), value.clone().unwrap_or_else(as_printed));
    }
    book
}

/// `work` on every item, in the items' order whoever does it.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    progress: &(dyn Fn(usize, usize) + Sync),
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let take = || {
        let mut mine = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return mine };
            mine.push((at, work(item)));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, items.len());
        }
    };
    let mut results = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(take)).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .flat_map(|mine| mine.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect::<Vec<_>>()
    });
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
