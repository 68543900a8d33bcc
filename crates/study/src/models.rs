//! A study's cells on modelled drives: every trial, in parallel, and what follows from them.

use crate::{
    Basis, Before, Beside, Book, Cell, Dossier, Effort, ErrorSummary, Figure, Load, Printed, Setup,
    TableFile, Trial, basis,
    dossier::{Gaps, derive},
    expression::{Coordinates, Expression, Value},
    relative_error, run_loads, setup, trial,
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};
use target::catalog::Catalog;

/// Why an expression finds no value in a table that was not asked for.
const NOT_MODELLED: &str = "its table was not modelled";

/// Trials on copies of one stack that was filled; more are cut, so that threads have something to
/// share.
const COPIES_MAX: usize = 7;

/// What the models say of a study.
#[derive(Clone, Debug)]
pub struct Models {
    /// Beside each cell: the modelled value, or why there is none. `None` where nothing stands for
    /// the cell.
    pub values: Vec<Option<Result<f64, String>>>,
    /// Beside each cell: whether its modelled value was fitted on what is printed, or rests on
    /// values that were. `None` where nothing was modelled, or something of ours that is no model
    /// of the study's.
    pub bases: Vec<Option<Basis>>,
    /// The same, for expressions.
    pub book: Book,
}

impl Models {
    /// Runs the trials that `tables` need on `threads` threads; `progress` hears how many cells of
    /// how many are done. A value depends neither on the number of threads nor on the tables that
    /// are asked for. In the book, cells of other tables have no value.
    pub fn run(
        dossier: &Dossier,
        catalog: &Catalog,
        tables: &[&TableFile],
        threads: usize,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Self {
        let needed = needed(tables);
        let batches: Vec<Batch> = batches(dossier, &needed);
        let outcomes = in_parallel(&batches, threads, progress, Batch::cells, |batch| {
            batch.measure(dossier, catalog)
        });
        let mut values = vec![None; dossier.cells.len()];
        for (at, outcome) in outcomes.into_iter().flatten() {
            values[at] = Some(outcome);
        }
        let cells = dossier.cells.iter().zip(&values);
        let mut bases: Vec<Option<Basis>> =
            cells.map(|(cell, value)| value.as_ref().and_then(|_| basis(cell))).collect();
        bandwidths(&dossier.cells, &mut values, &mut bases);
        let book = book(dossier, &values, &needed);
        let derived = derive(&dossier.file, &dossier.cells, &book, Gaps::Wrong);
        let derived = derived.expect("the printed book derives");
        let places = dossier.cells.iter().zip(&bases);
        let places: BTreeMap<Coordinates, Basis> =
            places.filter_map(|(cell, basis)| Some((cell.at.clone(), basis.clone()?))).collect();
        for (at, derived) in derived.into_iter().enumerate() {
            if values[at].is_none() && is_of(&dossier.cells[at], &needed) {
                bases[at] =
                    derived.as_ref().and_then(|value| rests_on(value.as_ref().ok()?, &places));
                values[at] = derived.map(|value| value.map(|value| value.number));
            }
        }
        Self { book: self::book(dossier, &values, &needed), values, bases }
    }

    /// How far the models are from the study's own printed figures: those that they were fitted on,
    /// and those that they predict. Only what a trial gives counts: a bandwidth that follows from
    /// its row's operations, a percentage or a price would count one figure twice.
    pub fn errors(&self, dossier: &Dossier, is_fitted: bool) -> Option<ErrorSummary> {
        let error = |(at, cell): (usize, &Cell)| {
            let Printed::Figure(published, _) = cell.printed else { return None };
            let table = dossier.file.table(cell.coordinate("table")?)?;
            let is_own = table.beside == Beside::Model && table.of.is_none();
            let is_fit = basis(cell)? != Basis::Predicted;
            let counts = is_own && is_fit == is_fitted;
            let modelled = self.values[at].as_ref()?.as_ref().ok()?;
            counts.then(|| relative_error(*modelled, published))
        };
        let errors: Vec<f64> = dossier.cells.iter().enumerate().filter_map(error).collect();
        ErrorSummary::of(&errors)
    }
}

/// Predicted, if any of the figures is that the value was made of.
fn rests_on(value: &Value, places: &BTreeMap<Coordinates, Basis>) -> Option<Basis> {
    let mut modelled = value.from.iter().filter_map(|at| places.get(at));
    let first = modelled.next()?;
    let predicted = modelled.find(|basis| **basis == Basis::Predicted);
    Some(predicted.unwrap_or(first).clone())
}

/// The ids of the tables, and of those from which they are derived.
fn needed(tables: &[&TableFile]) -> BTreeSet<String> {
    let mut needed = BTreeSet::new();
    for table in tables {
        needed.insert(table.id.clone());
        for rule in &table.derived {
            let expression: Expression = rule.value.parse().expect("the dossier has read it");
            let read = expression.selections().into_iter().flat_map(|selection| &selection.tables);
            needed.extend(read.cloned());
        }
    }
    needed
}

/// Whether the cell stands in one of the tables.
fn is_of(cell: &Cell, tables: &BTreeSet<String>) -> bool {
    cell.coordinate("table").is_some_and(|table| tables.contains(table))
}

/// Trials that are done on one stack.
struct Batch {
    stack: String,
    /// Each trial with the cells that it gives, of one unit.
    trials: BTreeMap<(Trial, String), Vec<usize>>,
}

/// Every cell that `tables` need in one batch: trials that several tables share are done once, and
/// those that leave a stack as they found it share that.
fn batches(dossier: &Dossier, tables: &BTreeSet<String>) -> Vec<Batch> {
    let mut batches: BTreeMap<(String, Option<(Trial, String)>), Batch> = BTreeMap::new();
    for (at, cell) in dossier.cells.iter().enumerate() {
        if cell.printed == Printed::Blank || cell.figure.study != dossier.study {
            continue;
        }
        let Some(setup) = setup(cell) else { continue };
        let metric = cell.figure.metric.clone();
        let is_load = matches!(setup.trial, Trial::Load(_));
        let own = !is_load && (!trial::leaves_as_found(&setup) || metric != "iops");
        let alone = own.then(|| (setup.trial, metric.clone()));
        let batch = batches.entry((setup.stack.clone(), alone));
        let batch = batch.or_insert_with(|| Batch { stack: setup.stack, trials: BTreeMap::new() });
        batch.trials.entry((setup.trial, metric)).or_default().push(at);
    }
    let is_needed = |at: &usize| is_of(&dossier.cells[*at], tables);
    let batches = batches.into_values().filter_map(|batch| batch.up_to_last(is_needed));
    let mut batches = share_fills(batches);
    // What takes longest is begun first, so that nobody waits for it alone at the end.
    batches.sort_by_key(|batch| Reverse(batch.effort()));
    batches
}

/// Joins trials that are each done on a copy of the same filled stack, as many as one batch may
/// have.
fn share_fills(batches: impl Iterator<Item = Batch>) -> Vec<Batch> {
    let mut joined: Vec<Batch> = Vec::new();
    for mut batch in batches {
        let fits = |last: &&mut Batch| {
            last.trials.len() < COPIES_MAX
                && last.stack == batch.stack
                && last.begins_filled()
                && batch.begins_filled()
        };
        match joined.last_mut().filter(fits) {
            Some(last) => last.trials.append(&mut batch.trials),
            None => joined.push(batch),
        }
    }
    joined
}

impl Batch {
    /// Whether each of its trials can be done on a copy of a filled stack.
    fn begins_filled(&self) -> bool {
        let mut trials = self.trials.keys();
        trials.all(|(trial, metric)| trial::begins_filled(trial) && metric == "iops")
    }

    /// Its trials up to the last that gives a needed cell: those that go before leave the drive in
    /// the state that the next one finds, and the draws of a shared stack go on.
    fn up_to_last(mut self, is_needed: impl Fn(&usize) -> bool) -> Option<Self> {
        let last = self.trials.values().rposition(|cells| cells.iter().any(&is_needed))?;
        while self.trials.len() > last + 1 {
            self.trials.pop_last();
        }
        Some(self)
    }

    /// How long it takes, beside others: most where a volume is written over and over, then where
    /// many trials share a stack, then where a volume or a file is written whole.
    fn effort(&self) -> u8 {
        let of_trial = |trial: &Trial| match trial {
            Trial::Managed { before: Before::Overwritten, .. } => 3,
            _ if self.trials.len() > 1 => 2,
            Trial::Managed { .. } | Trial::File { .. } => 1,
            _ => 0,
        };
        self.trials.keys().map(|(trial, _)| of_trial(trial)).max().unwrap_or(0)
    }

    /// How many cells it gives.
    fn cells(&self) -> usize {
        self.trials.values().map(Vec::len).sum()
    }

    /// The cells by their numbers, and what the model says of each.
    fn measure(&self, dossier: &Dossier, catalog: &Catalog) -> Vec<(usize, Result<f64, String>)> {
        if let Some((Trial::Load(_), _)) = self.trials.keys().next() {
            return self.under_load(dossier, catalog);
        }
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

impl Batch {
    /// The same of loads, which have several metrics.
    fn under_load(
        &self,
        dossier: &Dossier,
        catalog: &Catalog,
    ) -> Vec<(usize, Result<f64, String>)> {
        let loads = self.trials.keys().map(|(trial, _)| match trial {
            Trial::Load(load) => *load,
            _ => unreachable!("loads share a stack with loads alone"),
        });
        let mut loads: Vec<Load> = loads.collect();
        loads.dedup();
        let seen = run_loads(&self.stack, &loads, catalog, Effort::REPORT);
        let value = |trial: &Trial, figure: &Figure| {
            let seen = seen.as_ref().map_err(ToString::to_string)?;
            let at = loads.iter().position(|load| *trial == Trial::Load(*load));
            let outcome = &seen[at.expect("each has been run")];
            outcome.value(figure).map_err(|error| error.to_string())
        };
        let cells =
            self.trials.iter().flat_map(|((trial, _), at)| at.iter().map(move |at| (trial, at)));
        cells.map(|(trial, &at)| (at, value(trial, &dossier.cells[at].figure))).collect()
    }
}

/// A bandwidth is its neighbour's operations times their size.
fn bandwidths(
    cells: &[Cell],
    values: &mut [Option<Result<f64, String>>],
    bases: &mut [Option<Basis>],
) {
    let place = |cell: &Cell| {
        let mut at: Coordinates = cell.at.clone();
        at.remove("metric");
        at
    };
    let is = |cell: &Cell, metric: &str| cell.coordinate("metric") == Some(metric);
    let mut rates = BTreeMap::new();
    for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| is(cell, "iops")) {
        if let Some(rate) = &values[at] {
            rates.insert(place(cell), (rate.clone(), bases[at].clone()));
        }
    }
    for (at, cell) in cells.iter().enumerate() {
        let is_meant = is(cell, "bytes_per_s") && cell.printed != Printed::Blank;
        let rate = rates.get(&place(cell)).filter(|_| is_meant);
        if let (Some(block), Some((rate, basis))) = (cell.figure.block_bytes, rate) {
            values[at] = Some(rate.clone().map(|rate| rate * block as f64));
            bases[at].clone_from(basis);
        }
    }
}

fn book(
    dossier: &Dossier,
    values: &[Option<Result<f64, String>>],
    tables: &BTreeSet<String>,
) -> Book {
    let mut book = Book::new(&dossier.file);
    for (cell, value) in dossier.cells.iter().zip(values) {
        if cell.printed == Printed::Blank {
            continue;
        }
        if !is_of(cell, tables) {
            book.put(cell.at.clone(), Err(NOT_MODELLED.to_owned()));
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

/// `work` on every item, in the items' order whoever does it; `progress` hears the weight that is
/// done, and of all.
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
