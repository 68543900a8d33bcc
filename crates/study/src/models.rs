//! A study's cells on modelled drives: every trial, in parallel, and what follows from them.

use crate::{
    Book, Cell, Dossier, Effort, Printed, Setup, Trial,
    dossier::{Derivation, Gaps, derive},
    expression::Coordinates,
    setup, trial,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};
use target::catalog::Catalog;

/// What the models say of a study.
#[derive(Clone, Debug)]
pub struct Models {
    /// Beside each cell: the modelled value, or why there is none. `None` where nothing stands for
    /// the cell, and
    /// where all that it follows from is printed.
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
        let batches: Vec<Batch> = batches(dossier);
        let outcomes = in_parallel(&batches, threads, progress, Batch::cells, |batch| {
            batch.measure(dossier, catalog)
        });
        let mut values = vec![None; dossier.cells.len()];
        for (at, outcome) in outcomes.into_iter().flatten() {
            values[at] = Some(outcome);
        }
        bandwidths(&dossier.cells, &mut values);
        let book = book(dossier, &values);
        let derived = derive(&dossier.file, &dossier.cells, &book, Gaps::Wrong);
        let derived = derived.expect("the printed book derives");
        let has_model: BTreeSet<&Coordinates> = {
            let cells = dossier.cells.iter().zip(&values);
            cells.filter(|(_, value)| value.is_some()).map(|(cell, _)| &cell.at).collect()
        };
        // What follows from printed figures alone is computed, and no model's.
        let is_modelled: Vec<bool> = derived
            .iter()
            .map(|one| match one {
                Some(Ok(one)) => one.from.iter().any(|at| has_model.contains(at)),
                _ => true,
            })
            .collect();
        let mut all = values.clone();
        for (value, derived) in all.iter_mut().zip(derived) {
            let number = |one: Result<Derivation, String>| one.map(|one| one.number);
            *value = value.take().or(derived.map(number));
        }
        let book = self::book(dossier, &all);
        let own = values.into_iter().zip(all).zip(is_modelled);
        let values = own.map(|((own, all), is)| own.or(all.filter(|_| is))).collect();
        Self { book, values }
    }
}

/// Trials that are done on one stack.
struct Batch {
    stack: String,
    /// Each trial with the cells that it gives, of one unit.
    trials: BTreeMap<(Trial, String), Vec<usize>>,
}

/// Every cell in one batch: trials that several tables share are done once, and those that leave a stack as they found
/// it share that.
fn batches(dossier: &Dossier) -> Vec<Batch> {
    let mut batches: BTreeMap<(String, Option<Trial>), Batch> = BTreeMap::new();
    for (at, cell) in dossier.cells.iter().enumerate() {
        if cell.printed == Printed::Blank || cell.figure.study != dossier.study {
            continue;
        }
        let Some(setup) = setup(cell) else { continue };
        let metric = cell.figure.metric.clone();
        let own = !trial::leaves_as_found(&setup) || metric != "iops";
        let batch = batches.entry((setup.stack.clone(), own.then_some(setup.trial)));
        let batch = batch.or_insert_with(|| Batch { stack: setup.stack, trials: BTreeMap::new() });
        batch.trials.entry((setup.trial, metric)).or_default().push(at);
    }
    batches.into_values().collect()
}

impl Batch {
    /// How many cells it gives.
    fn cells(&self) -> usize {
        self.trials.values().map(Vec::len).sum()
    }

    /// The cells by their numbers, and what the model says of each.
    fn measure(&self, dossier: &Dossier, catalog: &Catalog) -> Vec<(usize, Result<f64, String>)> {
        let trials: Vec<Trial> = self.trials.keys().map(|(trial, _)| *trial).collect();
        let values: Result<Vec<f64>, _> = match trials[..] {
            [trial] => {
                let setup = Setup { stack: self.stack.clone(), trial };
                let first = self.trials.values().flatten().next().expect("a batch has cells");
                let figure = &dossier.cells[*first].figure;
                let outcome = trial::measure(&setup, figure, catalog, Effort::REPORT);
                outcome.map(|outcome| vec![outcome.value])
            }
            _ => trial::measure_together(&self.stack, &trials, catalog, Effort::REPORT),
        };
        let value = |number: usize| match &values {
            Ok(values) => Ok(values[number]),
            Err(error) => Err(error.to_string()),
        };
        let cells = self.trials.values().enumerate();
        cells
            .flat_map(|(number, at)| at.iter().map(move |&at| (at, number)))
            .map(|(at, number)| (at, value(number)))
            .collect()
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

/// `work` on every item, in the items' order whoever does it; `progress` hears the weight that is done, and of all.
pub fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    progress: &(dyn Fn(usize, usize) + Sync),
    weight: impl Fn(&T) -> usize + Sync,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let all: usize = items.iter().map(&weight).sum();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let take = || {
        let mut mine = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return mine };
            mine.push((at, work(item)));
            progress(done.fetch_add(weight(item), Ordering::Relaxed) + weight(item), all);
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
